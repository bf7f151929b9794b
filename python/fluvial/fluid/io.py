"""Files of variables and models, readers and batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from .. import _core
from .._fault import fault
from ._files import at_end, read_tensor, write_tensor
from .executor import global_scope
from .core import FED_AS
from .framework import Parameter, Program, State, Variable, default_main_program
from .paddle.reader import *
from .paddle import reader as _reader
from .paddle import batch
from .reader import DataLoader, PyReader

__all__ = [
    "save_vars", "save_params", "save_persistables", "load_vars", "load_params", "load_persistables",
    "save_inference_model", "load_inference_model", "batch", "save", "load", "load_program_state", "set_program_state",
    "get_program_parameter", "get_program_persistable_vars", "PyReader", "DataLoader", "is_parameter",
    "is_persistable",
]  # fmt: skip
__all__ += _reader.__all__


def is_parameter(var: Variable) -> bool:
    """Whether a variable is trained."""
    return isinstance(var, Parameter)


def is_persistable(var: Variable) -> bool:
    """Whether a variable keeps its value between runs."""
    return isinstance(var, State)


def is_belong_to_optimizer(var: Variable) -> bool:
    """Whether an optimizer remembers it."""
    return isinstance(var, State) and not isinstance(var, Parameter) and var.role in ("optimizer", "counter")


def get_program_parameter(program: Program) -> list[Variable]:
    """The parameters of a program."""
    return [var for var in program.list_vars() if is_parameter(var)]


def get_program_persistable_vars(program: Program) -> list[Variable]:
    """What a program keeps between runs."""
    return [var for var in program.list_vars() if is_persistable(var)]


def _program(program: Any) -> Program:
    program = getattr(program, "_program", program)
    if program is None:
        return default_main_program()
    if not isinstance(program, Program):
        raise fault(TypeError, f"{program!r} is not a program", "give a `fluid.Program`")
    return program


def _chosen(program: Program, vars: Any, predicate: Any) -> list[str]:
    if vars is not None:
        return [var if isinstance(var, str) else var.name for var in vars]
    chosen = [var for var in program.list_vars() if predicate is None or predicate(var)]
    return list(dict.fromkeys(var.name for var in chosen if isinstance(var, State)))


def _value(name: str) -> Any:
    state = global_scope()._state
    if name not in state:
        raise fault(RuntimeError, f"`{name}` has no value in this scope", "run the startup program first")
    return state[name].numpy()


def save_vars(
    executor: Any,
    dirname: str | None,
    main_program: Any = None,
    vars: Iterable[Any] | None = None,
    predicate: Callable[[Variable], bool] | None = None,
    filename: str | None = None,
) -> Any:
    """Writes variables of the scope in Fluid's format: a file for each, or one for all.

    Args:
        executor: For Fluid's programs.
        dirname: The folder; nothing gives the bytes of one file.
        main_program: The program that they belong to.
        vars: Which; or their names.
        predicate: Says which of the program's.
        filename: The file for all of them.
    """
    import io

    names = _chosen(_program(main_program), vars, predicate)
    if not names:
        raise fault(ValueError, "there is nothing to write", "give `vars` or a program that has parameters")
    if dirname is None:
        buffer = io.BytesIO()
        for name in sorted(names):
            write_tensor(buffer, _value(name))
        return buffer.getvalue()
    os.makedirs(dirname, exist_ok=True)
    if filename is None:
        for name in names:
            path = os.path.join(dirname, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                write_tensor(file, _value(name))
        return None
    with open(os.path.join(dirname, filename), "wb") as file:
        # Names are not in the file: they follow from their order.
        for name in sorted(names):
            write_tensor(file, _value(name))
    return None


def save_params(executor: Any, dirname: str | None, main_program: Any = None, filename: str | None = None) -> Any:
    """Writes what is trained; see `save_vars`."""
    return save_vars(executor, dirname, main_program, None, is_parameter, filename)


def save_persistables(executor: Any, dirname: str | None, main_program: Any = None, filename: str | None = None) -> Any:
    """Writes what persists: parameters, running means, what optimizers remember; see `save_vars`."""
    return save_vars(executor, dirname, main_program, None, is_persistable, filename)


def load_vars(
    executor: Any,
    dirname: str | None,
    main_program: Any = None,
    vars: Iterable[Any] | None = None,
    predicate: Callable[[Variable], bool] | None = None,
    filename: str | None = None,
) -> None:
    """Reads what `save_vars` wrote, or Fluid itself, into the scope.

    Args:
        executor: For Fluid's programs.
        dirname: The folder.
        main_program: The program that they belong to.
        vars: Which; or their names.
        predicate: Says which of the program's.
        filename: The file of all of them.
    """
    import io

    program = _program(main_program)
    names = _chosen(program, vars, predicate)
    if filename is None and dirname is not None:
        for name in names:
            path = os.path.join(dirname, name)
            if not os.path.exists(path):
                raise fault(FileNotFoundError, f"`{name}` has no file in `{dirname}`", "check the folder and the names")
            with open(path, "rb") as file:
                _put(program, name, read_tensor(file)[0])
        return
    is_path = dirname is not None or isinstance(filename, str)
    path = os.path.join(dirname or "", filename or "") if is_path else "the bytes"
    given: Any = filename
    with open(path, "rb") if is_path else io.BytesIO(given) as file:
        for name in sorted(names):
            _put(program, name, read_tensor(file)[0])
        if not at_end(file):
            raise fault(
                ValueError, f"`{path}` has more tensors than the {len(names)} of the program", "load what was saved"
            )


def _put(program: Program, name: str, array: Any) -> None:
    """Gives a variable of the scope a value, of the sizes that the program has."""
    var = program.global_block().vars.get(name)
    role = "buffer"
    if isinstance(var, State):
        role = var.role
        if tuple(array.shape) != var.sizes:
            if array.size == 1 and var.sizes in ((), (1,)):
                array = array.reshape(var.sizes)
            else:
                raise fault(
                    ValueError, f"`{name}` has the sizes {list(var.sizes)}, and the file {list(array.shape)}",
                    "load it into the program that it was saved of",
                )  # fmt: skip
        array = array.astype(var._dtype_name())
    state = global_scope()._state
    if name in state:
        state[name] = _core.tensor(array)
    else:
        state.insert(name, _core.tensor(array), role)


def load_params(executor: Any, dirname: str | None, main_program: Any = None, filename: str | None = None) -> None:
    """Reads what is trained; see `load_vars`."""
    load_vars(executor, dirname, main_program, None, is_parameter, filename)


def load_persistables(executor: Any, dirname: str | None, main_program: Any = None, filename: str | None = None) -> None:
    """Reads what persists; see `load_vars`."""
    load_vars(executor, dirname, main_program, None, is_persistable, filename)


# Models ---------------------------------------------------------------------------------------------

_MODEL = "__model__"
_PARAMS = "__params__"


def write_inference_model(
    dirname: str, program: Any, state: Any, model: str | None = None, params: str | None = None, only: bool = False
) -> None:
    """Writes a program of the core for use, and its states beside it."""
    os.makedirs(dirname, exist_ok=True)
    path = os.path.join(dirname, model or _MODEL)
    program.save(f"{path}.flb")
    os.replace(f"{path}.flb", path)
    if only:
        return
    with open(os.path.join(dirname, params or _PARAMS), "wb") as file:
        for name in sorted(program.states):
            if name not in state:
                raise fault(RuntimeError, f"`{name}` has no value in this scope", "run the startup program first")
            write_tensor(file, state[name].numpy())


def save_inference_model(
    dirname: str,
    feeded_var_names: Any,
    target_vars: Any,
    executor: Any,
    main_program: Any = None,
    model_filename: str | None = None,
    params_filename: str | None = None,
    export_for_deployment: bool = True,
    program_only: bool = False,
) -> list[str]:
    """Writes what is needed to use a model: the part of the program that makes the targets, without updates, with layers
    as they are in use, and its parameters.

    Args:
        dirname: The folder.
        feeded_var_names: The names of what is fed.
        target_vars: What is fetched.
        executor: For Fluid's programs.
        main_program: The program.
        model_filename: The file of the program, `__model__` if nothing is said.
        params_filename: The file of parameters, `__params__` if nothing is said.
        export_for_deployment: Whether the program is cut down to the targets; False is refused.
        program_only: Whether only the program is written.

    Returns:
        The names of the targets.
    """
    if not export_for_deployment:
        raise fault(
            NotImplementedError,
            "`export_for_deployment=False` asks for the whole program, to be trained further",
            "write `fluid.io.save(program, path)`, and build the program anew to load it",
        )
    fed = [feeded_var_names] if isinstance(feeded_var_names, str) else list(feeded_var_names)
    targets = list(target_vars) if isinstance(target_vars, (list, tuple)) else [target_vars]
    program = _program(main_program)
    block = program.global_block()
    names = [target if isinstance(target, str) else target.name for target in targets]
    for name in (*fed, *names):
        if name not in block.vars:
            raise block_error(program, name)
    block._await()
    tensors = program._parts(names)
    whole = block._core.snapshot(tensors).for_use(list(tensors))
    parts = {part for name in fed for part in _parts(block, name)}
    unknown = sorted(set(whole.inputs) - parts)
    if unknown:
        raise fault(
            ValueError, f"the targets need {', '.join(unknown)}, too", "add it to `feeded_var_names`, or save other targets"
        )
    write_inference_model(dirname, whole, global_scope()._state, model_filename, params_filename, program_only)
    with open(os.path.join(dirname, (model_filename or _MODEL) + ".feed"), "w", encoding="utf-8") as file:
        file.write("\n".join(fed))
    return names


def _parts(block: Any, name: str) -> list[str]:
    """The names of the inputs of a variable; none if nothing reads it."""
    value = block._values.get(name)
    others = [label for label in block.vars if label.rpartition(FED_AS)[0] == name]
    if value is None or isinstance(value, _core.Tensor):
        return others if value is None else [name, *others]
    from . import _ragged

    return _ragged.input_names(name, value)


def block_error(program: Program, name: str) -> ValueError:
    """An error to raise: a program has no such variable."""
    return fault(ValueError, f"the program has no variable `{name}`", "check the name, or give `main_program`")


def load_inference_model(
    dirname: str,
    executor: Any,
    model_filename: str | None = None,
    params_filename: str | None = None,
    pserver_endpoints: Any = None,
) -> list[Any]:
    """Reads what `save_inference_model` wrote, here or in Fluid itself; its parameters go to the scope.

    Args:
        dirname: The folder.
        executor: For Fluid's programs.
        model_filename: The file of the program.
        params_filename: The file of parameters.
        pserver_endpoints: Refused.

    Returns:
        The program, the names of what is fed, and the variables that are fetched.
    """
    if pserver_endpoints:
        raise fault(NotImplementedError, "parameter servers are not in this front", "leave `pserver_endpoints` out")
    path = os.path.join(dirname, model_filename or _MODEL)
    with open(path, "rb") as file:
        data = file.read()
    if _core.is_fluid_program(data):
        return _foreign(path, None if params_filename is None else os.path.join(dirname, params_filename))
    try:
        closed = _core.Program.from_bytes(data)
    except Exception as error:
        raise fault(
            ValueError, f"`{path}` is not a program of ours nor of Fluid's ({error})", "give the folder of a saved model"
        ) from error
    program = Program._of(closed)
    program._is_test = True
    where = os.path.join(dirname, params_filename or _PARAMS)
    if closed.states:
        with open(where, "rb") as file:
            for name in sorted(closed.states):
                _put(program, name, read_tensor(file)[0])
    listed = path + ".feed"
    fed = list(closed.inputs)
    if os.path.exists(listed):
        with open(listed, encoding="utf-8") as text:
            fed = [name for name in text.read().split("\n") if name]
    block = program.global_block()
    for name in fed:
        if name not in block.vars:
            # Nothing reads it, so that its type is not known, and does not matter.
            block.declare(name, (-1,), "float32", 0)
    return [program, fed, [block.var(name) for name in closed.outputs if name in block.vars]]


def _foreign(path: str, params: str | None) -> list[Any]:
    """A model of Fluid's own: its program, the names of what is fed, and the variables that are fetched."""
    from .programs import load_inference_model as read

    closed = read(os.path.dirname(path) if os.path.basename(path) == _MODEL else path, params)
    program = Program._of(closed)
    program._is_test = True
    for name in closed.states:
        _put(program, name, closed.state[name].numpy())
    block = program.global_block()
    fed = [name for name in closed.inputs if name in block.vars]
    return [program, fed, [block.var(name) for name in closed.outputs if name in block.vars]]


def save(program: Any, model_path: str) -> None:
    """Writes parameters to `model_path.pdparams`, what else persists to `.pdopt`, and the program to `.pdmodel`.

    Args:
        program: The program.
        model_path: The files, without their ending.
    """
    import numpy as np

    program = _program(program)
    if not os.path.basename(model_path):
        raise fault(ValueError, f"{model_path!r} names a folder", "give the name of a file in it")
    folder = os.path.dirname(model_path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    states = get_program_persistable_vars(program)
    for ending, chosen in (
        (".pdparams", [var for var in states if is_parameter(var)]),
        (".pdopt", [var for var in states if not is_parameter(var)]),
    ):
        with open(model_path + ending, "wb") as file:
            np.savez(file, **{var.name: _value(var.name) for var in chosen})
    with open(model_path + ".pdmodel", "wb") as file:
        file.write(program.desc.serialize_to_string())


def load_program_state(model_path: str, var_list: Any = None) -> dict[str, Any]:
    """Arrays by name of what `save` wrote, or `save_params` and `save_persistables`.

    Args:
        model_path: The files without their ending, or a folder.
        var_list: Which variables, if all are in one file of Fluid's.
    """
    import numpy as np

    found = _program_state(model_path, var_list)
    # A number is an array of one element, as in Fluid.
    return {name: np.atleast_1d(value) for name, value in found.items()}


def _program_state(model_path: str, var_list: Any) -> dict[str, Any]:
    from .dygraph.checkpoint import read_arrays

    for var in () if var_list is None else var_list:
        if not isinstance(var, Variable):
            raise fault(TypeError, f"`var_list` has {var!r}, which is not a variable", "give variables of the program")
    for ending in (".pdparams", ".pdopt", ".pdmodel"):
        model_path = model_path.removesuffix(ending)
    if os.path.isdir(model_path):
        found: dict[str, Any] = {}
        for base, _, names in os.walk(model_path):
            for name in names:
                path = os.path.join(base, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, model_path)] = read_tensor(file)[0]
        return found
    if os.path.exists(model_path) and not os.path.exists(model_path + ".pdparams"):
        if var_list is None:
            raise fault(ValueError, f"`{model_path}` has tensors without names", "give `var_list`")
        with open(model_path, "rb") as file:
            # Names are not in the file: they follow from their order.
            found = {var.name: read_tensor(file)[0] for var in sorted(var_list, key=lambda var: var.name)}
            if not at_end(file):
                raise fault(
                    RuntimeError, f"`{model_path}` has more tensors than the {len(found)} of `var_list`",
                    "give all variables that were saved",
                )  # fmt: skip
        return found
    if not os.path.exists(model_path + ".pdparams"):
        raise fault(FileNotFoundError, f"there is no `{model_path}.pdparams`", "write it with `fluid.save`")
    found = read_arrays(model_path + ".pdparams")
    if os.path.exists(model_path + ".pdopt"):
        found.update(read_arrays(model_path + ".pdopt"))
    return found


def set_program_state(program: Any, state_dict: dict[str, Any]) -> None:
    """Gives variables of the scope values.

    Args:
        program: The program that they belong to.
        state_dict: Arrays by name.
    """
    program = _program(program)
    known = {var.name for var in get_program_persistable_vars(program)}
    unused = [name for name in state_dict if name not in known]
    for name, value in state_dict.items():
        if name in known:
            _put(program, name, value)
    if unused:
        import warnings

        warnings.warn(f"the program has no variable {', '.join(unused)}", stacklevel=2)


def load(program: Any, model_path: str, executor: Any = None, var_list: Any = None) -> None:
    """Reads what `save` wrote, or `save_params` and `save_persistables`, into the scope.

    Args:
        program: The program.
        model_path: The files without their ending, or a folder.
        executor: For Fluid's programs.
        var_list: Which variables, if all are in one file of Fluid's.
    """
    program = _program(program)
    values = load_program_state(model_path, var_list)
    wanted = get_program_parameter(program) if var_list is None else var_list
    missing = [var.name for var in wanted if var.name not in values]
    if missing:
        raise fault(RuntimeError, f"the files have no `{missing[0]}`", "load into the program that was saved")
    known = {var.name for var in get_program_persistable_vars(program)}
    for name, value in values.items():
        if name in known:
            _put(program, name, value)


def get_parameter_value(para: Any, executor: Any = None) -> Any:
    """The elements of a parameter in the scope."""
    return _value(para.name)


def get_parameter_value_by_name(name: str, executor: Any = None, program: Any = None) -> Any:
    """The elements of a parameter in the scope."""
    return _value(name)


