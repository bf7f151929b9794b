"""Saving and loading: states by name, and models: a program with its states."""

from __future__ import annotations

import os

from . import _core
from ._core import Program, State, Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from ._core import TypeLike

    Path = str | os.PathLike[str]
    Rename = Mapping[str, str] | Callable[[str], str | None]

#: What belongs to a model, as opposed to its training.
_MODEL = ("parameter", "buffer")
_PROGRAM = "fluvial.program"


def save_states(path: Path, roles: Iterable[str] | None = None, *, state: State | None = None) -> None:
    """Writes states to a `.safetensors` file, whole or not at all.

    Args:
        path: The file.
        roles: Which: "parameter", "buffer", "optimizer", "counter", "random"; all by default.
        state: The scope; by default the one of the thread.

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "all.safetensors")
        >>> with fl.State():
        ...     w = fl.parameter("w", (2,), init=1.0)
        ...     fl.save_states(path, roles=["parameter"])
        >>> with fl.State() as other:
        ...     fl.load_states(path)
        Loaded(1 states)
        >>> other["w"].tolist()
        [1.0, 1.0]
    """
    state = State.current() if state is None else state
    wanted = None if roles is None else set(roles)
    found = [name for name in state.names() if wanted is None or state.role(name) in wanted]
    notes = [(f"role:{name}", state.role(name)) for name in found]
    _core.write_safetensors(path, {name: state[name] for name in found}, notes)


class Loaded:
    """What was loaded, and what was not."""

    def __init__(self, names: list[str], missing: list[str], unexpected: list[str]) -> None:
        #: The states that have got a value.
        self.names = names
        #: Those of the scope that the file does not have.
        self.missing = missing
        #: Those of the file that were not wanted.
        self.unexpected = unexpected

    def __repr__(self) -> str:
        parts = [f"{len(self.names)} states"]
        parts += [f"missing: {', '.join(self.missing)}"] if self.missing else []
        parts += [f"unexpected: {', '.join(self.unexpected)}"] if self.unexpected else []
        return f"Loaded({'; '.join(parts)})"


def load_states(
    path: Path,
    *,
    names: Iterable[str] | None = None,
    rename: Rename | None = None,
    strict: bool = True,
    cast: bool = False,
    state: State | None = None,
) -> Loaded:
    """Reads states from a `.safetensors` file: of ours, or of others.

    States of the scope get the values of the file; those that it does not have yet are added. Nothing is changed if
    anything does not fit, and the error tells of everything that does not.

    Args:
        path: The file.
        names: The states that are wanted: those of a program, say. By default all of the file; those
            of the scope that the file lacks keep their value.
        rename: Names in the file to names of states: a dict, or a function, which gives None for what is
            left out.
        strict: Whether wanted states that the file lacks are an error.
        cast: Whether another element type is converted.
        state: The scope; by default the one of the thread.
    """
    state = State.current() if state is None else state
    tensors, notes = _core.read_safetensors(path)
    to_name = _renamed(rename)
    values: dict[str, tuple[str, Tensor]] = {}
    faults = []
    for key, tensor in tensors.items():
        name = to_name(key)
        if name is None:
            continue
        if name in values:
            faults.append(f"`{key}` and `{values[name][0]}` are both to be `{name}`")
        values[name] = (key, tensor)
    wanted = set(values) if names is None else set(names)
    missing = sorted(wanted - values.keys())
    if strict and missing:
        faults += [f"`{name}` is not in the file" for name in missing]
    loaded = {}
    for name in sorted(wanted & values.keys()):
        tensor = values[name][1]
        if name in state:
            known = state[name]
            if known.dtype != tensor.dtype and cast:
                tensor = _core.cast(tensor, known.dtype)
            if known.type_text != tensor.type_text:
                faults.append(f"`{name}` is {known.type_text}, in the file {tensor.type_text}")
        loaded[name] = tensor
    if faults:
        remedy = "rename keys by `rename=`, convert element types by `cast=True`, or load what is there by `strict=False`"
        listed = "\n  ".join(faults)
        raise ValueError(f"`{os.fspath(path)}` does not fit:\n  {listed}\n  remedy: {remedy}")
    for name, tensor in loaded.items():
        role = state.role(name) if name in state else notes.get(f"role:{values[name][0]}", "parameter")
        state.insert(name, tensor.detach(), role)
    return Loaded(sorted(loaded), missing, sorted(values.keys() - wanted))


def _renamed(rename: Rename | None) -> Callable[[str], str | None]:
    if rename is None:
        return lambda key: key
    if callable(rename):
        return rename
    return lambda key: rename.get(key, key)


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
        state = State.current()
        notes = [(f"role:{name}", state.role(name)) for name in main_program.states]
        _core.write_safetensors(path, {name: state[name] for name in main_program.states}, notes)


def load_persistables(dir: Path, main_program: Program | None = None) -> Loaded:
    """Reads what `save_persistables` wrote.

    Args:
        dir: The folder.
        main_program: Only the states of this program, all of which must be there.
    """
    path = os.path.join(os.fspath(dir), "states.safetensors")
    return load_states(path, names=None if main_program is None else list(main_program.states))


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
    to_name = _renamed(rename)
    keys: dict[str | None, str] = {}
    if rename is not None:
        # The names in the file are needed now; its tensors are read by the program.
        keys = {to_name(key): key for key in _core.read_safetensors(path)[0]}
    _core.allow_path(path)
    names = [name for name, role in _core.building_states() if role in _MODEL]
    for name in names:
        known = _core.read_state(name)
        _core.assign_state(name, _core.load(path, keys.get(name, name), known.type_text))


def save_model(dir: Path, program: Program | None = None) -> None:
    """Saves a model.

    While a program is being built, it will write its parameters and buffers to `dir/model.safetensors` whenever it
    passes here. Line by line, those of the state scope are written. Given a program, or after one was built, it goes to `dir/program.flb`, with its inputs and outputs, and its parameters and
    buffers beside it; if `dir` ends in `.safetensors`, both go to this one file.

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
        >>> with fl.State():
        ...     again = fl.load_model(folder)
        ...     bool(again.run(x=[[1.0, 2.0]])["y"] == y)
        True
    """
    where = os.path.normpath(os.fspath(dir))
    single = where.endswith(".safetensors")
    path = where if single else os.path.join(where, "model.safetensors")
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
    if program.is_open:
        program = Program.parse(program.text())
    program.initialise()
    state = State.current()
    names = [name for name in program.states if state.role(name) in _MODEL]
    notes = [(f"role:{name}", state.role(name)) for name in names]
    if single:
        notes.append((_PROGRAM, program.text()))
    else:
        os.makedirs(where, exist_ok=True)
        program.save(os.path.join(where, "program.flb"))
    _core.write_safetensors(path, {name: state[name] for name in names}, notes)


def load_model(
    dir: Path, *, rename: Rename | None = None, cast: bool = False
) -> Program:
    """Loads what `save_model` saved: gives the program, and its states their values.

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
    if os.path.isfile(where):
        notes = _core.read_safetensors(where)[1]
        if _PROGRAM not in notes:
            raise ValueError(
                f"`{where}` has tensors, but no program\n  remedy: load its tensors by `fl.load_states`"
            )
        program = Program.parse(notes[_PROGRAM])
        load_states(where, rename=rename, cast=cast)
        return program
    program = Program.load(os.path.join(where, "program.flb"))
    load_states(os.path.join(where, "model.safetensors"), rename=rename, cast=cast)
    return program


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
