"""Files of what layers and optimizers hold."""

from __future__ import annotations

import json
import os
from typing import Any

from ... import _core
from ..._fault import fault
from .._optimizing import Remembered
from ..framework import Variable, dygraph_variable

__all__ = ["save_dygraph", "load_dygraph", "save_persistables", "load_persistables"]

#: What names of files of optimizers begin with.
_OPTIMIZER = "optimizer."

#: The table of names of parameters by their places in a layer, as Fluid calls it.
_TABLE = "StructuredToParameterName@@"


def save_dygraph(state_dict: dict[str, Any], model_path: str) -> None:
    """Writes what `state_dict()` gave: of a layer to `model_path.pdparams`, of an optimizer to `model_path.pdopt`.

    Args:
        state_dict: Values by name.
        model_path: The file, without its ending.
    """
    import numpy as np

    if not os.path.basename(model_path):
        raise fault(ValueError, f"{model_path!r} names a folder", "give the name of a file in it")
    if not state_dict:
        raise fault(ValueError, "there is nothing to write", "call the layer once, so that it has its parameters")
    is_model = all(isinstance(value, Variable) and not isinstance(value, Remembered) for value in state_dict.values())
    arrays: dict[str, Any] = {}
    for name, value in state_dict.items():
        if isinstance(value, dict):
            arrays.update({f"{name}/{key}": np.asarray(part) for key, part in value.items()})
        else:
            arrays[name] = _array(value)
    if is_model:
        table = json.dumps({name: value.name for name, value in state_dict.items()})
        arrays[_TABLE] = np.frombuffer(table.encode(), "uint8")
    folder = os.path.dirname(model_path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    with open(model_path + (".pdparams" if is_model else ".pdopt"), "wb") as file:
        np.savez(file, **arrays)


def _array(value: Any) -> Any:
    """The elements of a variable: its tensor, or, of a program's, what the scope has."""
    import numpy as np

    if isinstance(value, Variable) and value.block is not None:
        from ..executor import global_scope

        found = global_scope().find_var(value.name)
        if found is None:
            raise fault(RuntimeError, f"`{value.name}` has no value in this scope", "run the startup program first")
        return np.array(found.get_tensor())
    if isinstance(value, Remembered):
        # With the sizes that it has there: a number has no axis.
        return value._value().numpy()
    return value.numpy() if hasattr(value, "numpy") else np.asarray(value)


def load_dygraph(model_path: str, keep_name_table: bool = False) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Reads what `save_dygraph` wrote.

    Args:
        model_path: The file, with or without its ending.
        keep_name_table: Whether the names of parameters, by their places in the layer, are among the arrays, as
            "StructuredToParameterName@@".

    Returns:
        Arrays of a layer, and what an optimizer remembered, or None.
    """
    for ending in (".pdparams", ".pdopt"):
        model_path = model_path.removesuffix(ending)
    params, options = model_path + ".pdparams", model_path + ".pdopt"
    if not os.path.exists(params) and not os.path.exists(options):
        raise fault(
            RuntimeError, f"there is neither `{params}` nor `{options}`", "write them with `save_dygraph`"
        )
    found, table = _read(params) if os.path.exists(params) else ({}, None)
    if keep_name_table and table is not None:
        found[_TABLE] = table
    return found, _nested(read_arrays(options)) if os.path.exists(options) else None


def read_arrays(path: str) -> dict[str, Any]:
    """The arrays of a file by name."""
    return _read(path)[0]


def _read(path: str) -> tuple[dict[str, Any], Any]:
    """The arrays of a file by name, and the names of parameters by their places, if it says them."""
    import numpy as np

    with open(path, "rb") as file:
        start = file.read(2)
        if start[:1] == b"\x80":
            # Fluid's own file, of which nothing is run.
            from ..._torch import load_pickle

            held = _as_arrays(load_pickle(path))
            if not isinstance(held, dict):
                raise fault(ValueError, f"`{path}` holds no arrays by name", "give a file that `save_dygraph` wrote")
            return held, held.pop(_TABLE, None)
        if start != b"PK":
            raise fault(ValueError, f"`{path}` is not a file of `save_dygraph`", "write it with `save_dygraph`")
        _check_archive(file, path)
        with np.load(file, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
    table = found.pop(_TABLE, None)
    return found, None if table is None else json.loads(table.tobytes())


def _as_arrays(value: Any) -> Any:
    """What a pickle held, with arrays in place of tensors."""
    if isinstance(value, _core.Tensor):
        return value.numpy()
    return {key: _as_arrays(item) for key, item in value.items()} if isinstance(value, dict) else value


def _check_archive(file: Any, path: str) -> None:
    """Refuses an archive that becomes more than its bytes can be: deflate makes at most 1032 of one."""
    import zipfile

    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
    except zipfile.BadZipFile as error:
        raise fault(ValueError, f"`{path}` is damaged: {error}", "write it again") from None
    file.seek(0)
    if sum(entry.compress_size for entry in entries) > size:
        raise fault(ValueError, f"`{path}` has arrays that overlap", "write it again")
    for entry in entries:
        if entry.file_size > 1032 * entry.compress_size + 1024:
            raise fault(
                ValueError, f"`{path}` is damaged: `{entry.filename}` cannot have {entry.file_size} bytes", "write it again"
            )


def save_persistables(model_dict: dict[str, Any], dirname: str = "save_dir", optimizers: Any = None) -> None:
    """Writes a model and its optimizers to a folder, under names of Fluid 1.5.

    Args:
        model_dict: What `state_dict()` of a layer gave.
        dirname: The folder.
        optimizers: An optimizer, or several.
    """
    os.makedirs(dirname, exist_ok=True)
    save_dygraph({value.name: value for value in model_dict.values()}, os.path.join(dirname, "model"))
    several = [] if optimizers is None else optimizers if isinstance(optimizers, (list, tuple)) else [optimizers]
    for optimizer in several:
        save_dygraph(optimizer.state_dict(), os.path.join(dirname, f"{_OPTIMIZER}{optimizer._name}"))


def load_persistables(dirname: str = "save_dir") -> tuple[dict[str, Any], dict[str, Any]]:
    """Reads what `save_persistables` wrote: a model by the names of parameters, and what optimizers remembered, by the
    names of optimizers.

    Args:
        dirname: The folder.
    """
    params, _ = load_dygraph(os.path.join(dirname, "model"))
    found: dict[str, Any] = {}
    for file in sorted(os.listdir(dirname)):
        if file.startswith(_OPTIMIZER) and file.endswith(".pdopt"):
            name = file.removeprefix(_OPTIMIZER).removesuffix(".pdopt")
            found[name] = _nested(read_arrays(os.path.join(dirname, file)))
    return {name: dygraph_variable(_core.tensor(value), name) for name, value in params.items()}, found


def _nested(arrays: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in arrays.items():
        start, _, key = name.partition("/")
        if start == "LR_Scheduler" and key:
            found.setdefault(start, {})[key] = value
        else:
            found[name] = value
    return found


