"""Saving and loading: states by name, and models: a program with its states."""

from __future__ import annotations

import json
import os

from . import _core
from ._core import Loaded, Program, Tensor, load_states, save_states
from ._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from ._core import TypeLike

    Path = str | os.PathLike[str]
    Rename = Mapping[str, str] | Callable[[str], str | None]

#: What belongs to a model, as opposed to its training.
_MODEL = ("parameter", "buffer")


def load_safetensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file by name, as `layer.load_state_dict` takes them.

    Args:
        path: The file.

    Example:
        >>> import tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "layer.safetensors")
        >>> layer = fl.nn.Linear(2, 3)
        >>> fl.save_safetensors(layer.state_dict(), path)
        >>> fl.nn.Linear(2, 3).load_state_dict(fl.load_safetensors(path))
        Loaded(missing=[], unexpected=[])
    """
    return _core.read_safetensors(path)


#: What lies beside the arrays in a file of Paddle.
_PADDLES_NAMES = "StructuredToParameterName@@"


def load_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a file or folder of others by name, as `layer.load_state_dict` takes them. Names are those of the file.

    Args:
        path: A `.safetensors`, `.gguf`, `.npz`, `.pdparams`, `.pt`, `.pth` or `.bin` file; or a folder as Hugging Face has
            them, with `model.safetensors` or `pytorch_model.bin`, or several such files and their index. Quantised numbers
            of GGUF files become float32.

    Example:
        >>> import tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "weights.npz")
        >>> np.savez(path, weight=np.ones((3, 2), "float32"), bias=np.zeros(3, "float32"))
        >>> fl.nn.Linear(2, 3).load_state_dict(fl.load_weights(path))
        Loaded(missing=[], unexpected=[])
    """
    from ._torch import load_pickle, load_torch

    name = os.fspath(path)
    if os.path.isdir(name):
        single, index = (os.path.join(name, file) for file in _PICKLED)
        has_tensors = any(os.path.exists(os.path.join(name, file)) for file in _SAFE)
        if has_tensors or not (os.path.exists(single) or os.path.exists(index)):
            return _core.read_weights(name)
        if not os.path.exists(single):
            return _several(name, index)
        name = single
    ending = os.path.splitext(name)[1]
    if ending == ".pdparams":
        found = load_pickle(name) if _is_pickle(name) else _core.read_weights(name)
    elif ending in (".pt", ".pth", ".bin"):
        found = load_torch(name)
    else:
        return _core.read_weights(name)
    if isinstance(found, dict):
        found = {key: value for key, value in found.items() if key != _PADDLES_NAMES}
    if not isinstance(found, dict) or not all(isinstance(value, Tensor) for value in found.values()):
        raise fault(
            ValueError, f"{name} holds something else than tensors by name",
            "`fl.load_torch` gives all of it; hand the part with the weights to `load_state_dict`",
        )  # fmt: skip
    return found


_SAFE = ("model.safetensors", "model.safetensors.index.json")
_PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")


def _several(folder: str, index: str) -> dict[str, Tensor]:
    """The tensors of several files of PyTorch's; the index says which is where."""
    remedy = "the folder must have the index and all files as they were written"
    try:
        with open(index, encoding="utf-8") as file:
            places = json.load(file)["weight_map"]
        files = sorted(set(places.values()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise fault(ValueError, f"{index} is not an index of weights: {error!r}", remedy) from None
    found: dict[str, Tensor] = {}
    for file in files:
        if not isinstance(file, str) or os.path.basename(file) != file or file in ("", ".", ".."):
            raise fault(ValueError, f"{index} names {file!r}, which is not a file of its folder", remedy)
        for key, value in load_weights(os.path.join(folder, file)).items():
            # A tensor that the index expects elsewhere is left to that file.
            if places.get(key, file) == file:
                found[key] = value
    missing = [key for key in places if key not in found]
    if missing:
        raise fault(ValueError, f"{index} lists {missing[0]!r}, which {places[missing[0]]} does not have", remedy)
    return found


def _is_pickle(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(2) != b"PK"


def save_safetensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Writes tensors to a file that every reader of safetensors takes.

    Args:
        tensors: By name, such as `layer.state_dict()`.
        path: The file.
    """
    _core.write_safetensors(path, dict(tensors))


def load(path: Path, name: str | None = None, type: TypeLike | None = None) -> Any:
    """What a file has: the tree that `fl.save` wrote, the tensors of any file of safetensors or of PyTorch's, or the
    program that `expression.save(path)` or `program.save(path)` wrote. With a type, it is the op that reads a tensor
    from a file whenever a program passes here.

    Args:
        path: The file.
        name: The name of the tensor in the file.
        type: The type of the tensor.

    Example:
        >>> import tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "mygraph")
        >>> (fl.Variable("A", shape=("n",)) * 2).save(path)
        >>> fl.compile(fl.load(path))(A=np.ones(2, np.float32)).tolist()
        [2.0, 2.0]
    """
    if type is None and name is None:
        from . import _saved

        if os.path.isfile(path):
            if _saved.is_tensors(path):
                return _saved.read(path)
            if _saved.is_archive(path):
                from ._torch import load_torch

                return load_torch(path)
        return Program.load(path)
    return _core.load(os.fspath(path), name, type)  # type: ignore[arg-type]


def save(value: Any, path: Any, names: Any = None) -> None:
    """Writes tensors, in dicts, lists and tuples of any depth, with numbers and strings, to a file of safetensors, which
    `fl.load` reads. With a path first and tensors second, it is the op that writes them whenever a program passes here.

    Args:
        value: What to write, such as `{"model": net.state_dict(), "step": 3}`.
        path: The file.
        names: The names of tensors, for the op.

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "checkpoint")
        >>> fl.save({"weights": [fl.ones(2), fl.zeros(1)], "step": 3}, path)
        >>> fl.load(path)["weights"][0].tolist(), fl.load(path)["step"]
        ([1.0, 1.0], 3)
    """
    if isinstance(value, (str, os.PathLike)):
        return _core.save(os.fspath(value), path, [] if names is None else names)
    if names is not None:
        raise TypeError("`names` are those of a list of tensors\n  remedy: give the path first")
    from . import _saved

    if _core.is_building():
        from ._fault import fault

        raise fault(
            RuntimeError,
            "a tree cannot be written while a program is built",
            "write it outside, or give the path first, then tensors and their names, as an op of the program",
        )
    _saved.write(value, path)


def save_persistables(dir: Path, main_program: Program | None = None) -> None:
    """Writes everything that persists to `dir/states.safetensors`; a program does so when it passes here.

    Args:
        dir: The folder.
        main_program: Only the states of this program.
    """
    path = os.path.join(os.path.normpath(os.fspath(dir)), "states.safetensors")
    if _core.is_building():
        _save_op(path, None)
    elif main_program is None:
        save_states(path)
    else:
        state = main_program.state
        notes = [(f"role:{name}", state.role(name)) for name in main_program.states]
        _core.write_safetensors(path, {name: state[name] for name in main_program.states}, notes)


def load_persistables(dir: Path, main_program: Program | None = None) -> Loaded:
    """Reads what `save_persistables` wrote.

    Args:
        dir: The folder.
        main_program: Only the states of this program, all of which must be there.
    """
    path = os.path.join(os.fspath(dir), "states.safetensors")
    if main_program is None:
        return load_states(path)
    return load_states(path, names=list(main_program.states), state=main_program.state)


def _save_op(path: str, roles: tuple[str, ...] | None) -> None:
    """Writes the states of the program being built whenever it passes here."""
    names = [
        name for name, role in _core.building_states() if roles is None or role in roles
    ]
    if not names:
        raise RuntimeError(
            "the program has no parameters yet that could be saved\n"
            "  remedy: save after the layers that make them"
        )
    _core.allow_path(path)
    _core.save(path, [_core.read_state(name) for name in names], names)


def _load_op(path: str, rename: Rename | None) -> None:
    """Reads the states of the program being built whenever it passes here."""
    keys: dict[str | None, str] = {}
    if rename is not None:
        to_name = rename if callable(rename) else lambda key: rename.get(key, key)
        # The names in the file are needed now; its tensors are read by the program.
        keys = {to_name(key): key for key in _core.read_safetensors(path)}
    _core.allow_path(path)
    names = [name for name, role in _core.building_states() if role in _MODEL]
    for name in names:
        known = _core.read_state(name)
        _core.assign_state(name, _core.load(path, keys.get(name, name), known.type_text))


def save_model(dir: Path, program: Program | None = None) -> None:
    """Saves a model.

    While a program is being built, it will write its parameters and buffers to `dir/model.safetensors` whenever it
    passes here. Line by line, those of the state scope and of living layers are written. Given a program, or after one
    was built, it goes to `dir/program.flb`, with its inputs and outputs, and its parameters and buffers beside it; if
    `dir` ends in `.safetensors`, both go to this one file.

    Args:
        dir: The folder, or the file.
        program: The program; by default the default main program.

    Example:
        >>> import os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> layer = fl.nn.Linear(2, 1)
        >>> program = fl.build(lambda x: {"y": layer(x)}, {"x": "f32[batch, 2]"})
        >>> y = program.run(x=[[1.0, 2.0]])["y"]
        >>> fl.save_model(folder, program)
        >>> again = fl.load_model(folder)
        >>> bool(again.run(x=[[1.0, 2.0]])["y"] == y)
        True
    """
    where = os.path.normpath(os.fspath(dir))
    path = where if where.endswith(".safetensors") else os.path.join(where, "model.safetensors")
    if _core.is_building() and program is None:
        _save_op(path, _MODEL)
        return
    if program is None:
        from ._modes import default_main_program

        program = default_main_program()
        if not program.states:
            # Line by line there is no program: the parameters are the model.
            save_states(path, _MODEL)
            return
    _core.write_model(where, program)


def load_model(
    dir: Path, *, rename: Rename | None = None, cast: bool = False
) -> Program:
    """Loads what `save_model` saved: a program that owns its states, in every thread and scope. Those that belong to
    the model must be in the file; to load them into layers, call `fl.load_states`.

    While a program is being built, it will read its parameters and buffers from there whenever it passes here; there is
    no other program then.

    Args:
        dir: The folder, or the file.
        rename: As for `load_states`.
        cast: As for `load_states`.
    """
    where = os.path.normpath(os.fspath(dir))
    if _core.is_building():
        single = where.endswith(".safetensors")
        _load_op(where if single else os.path.join(where, "model.safetensors"), rename)
        return None  # type: ignore[return-value]
    return _core.read_model(where, rename, cast)


def save_inference_model(
    dir: Path,
    inputs: Iterable[str] | Mapping[str, TypeLike],
    outputs: Any,
    program: Program | None = None,
) -> Program:
    """Saves what is needed to use a model: no updates, no losses, layers as they are outside of training.

    Args:
        dir: The folder, or the file, as for `save_model`.
        inputs: The names of the inputs that may be needed; for a layer or a function, their types by name.
        outputs: Tensors of the program being built, or the names of its outputs; or a layer or a
            function of the inputs.
        program: The program; by default the default main program.

    Returns:
        The program that was saved.

    Example:
        >>> import tempfile
        >>> layer = fl.nn.Sequential(fl.nn.Linear(2, 2), fl.nn.Dropout(0.5))
        >>> saved = fl.save_inference_model(tempfile.mkdtemp(), {"x": "f32[batch, 2]"}, layer)
        >>> saved.inputs, saved.outputs
        ({'x': 'f32[batch, 2]'}, {'out0': 'f32[batch, 2]'})
    """
    if hasattr(inputs, "items") and callable(outputs):
        from ._program import build

        whole = build(outputs, inputs)  # type: ignore[arg-type]
        names = list(whole.outputs)
    else:
        if program is None:
            from ._modes import default_main_program

            program = default_main_program()
        wanted = outputs if isinstance(outputs, (tuple, list)) else [outputs]
        tensors: dict[str, Any] = {
            f"out{i}": out for i, out in enumerate(wanted) if isinstance(out, Tensor)
        }
        whole = program.snapshot(tensors) if program.is_open and tensors else program
        names = [*tensors, *(name for name in wanted if isinstance(name, str))]
    pruned = whole.for_use(names)
    unknown = sorted(set(pruned.inputs) - set(inputs))
    if unknown:
        raise ValueError(
            f"the outputs need further inputs: {', '.join(unknown)}\n  remedy: list them, or save other outputs"
        )
    save_model(dir, pruned)
    return pruned
