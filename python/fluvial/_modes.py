"""The two modes, and programs built the way Fluid builds them."""

from __future__ import annotations

import os
import threading

from . import _core
from ._core import Program, Tensor
from ._run import ran
from ._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ._core import DTypeLike, TensorLike

_MODES = ("imperative", "program")


def _checked(name: str) -> str:
    if name not in _MODES:
        raise fault(ValueError, f'there is no mode "{name}"', 'use "imperative" or "program"')
    return name


class _Default:
    """What a whole process starts with: the environment's mode, or none."""

    mode = os.environ.get("FLUVIAL_MODE") or None


if _Default.mode is not None and _Default.mode not in _MODES:
    raise fault(
        ValueError, f'FLUVIAL_MODE is "{_Default.mode}"', 'set it to "imperative" or "program"'
    )


class _Thread(threading.local):
    """What belongs to a thread."""

    mode: str | None = None
    main: Program | None = None
    startup: Program | None = None
    #: The pairs of programs that `program_guard` has put in their place, innermost last.
    guards: tuple[tuple[Program, Program], ...] = ()
    #: Whether `data` has entered the default program, outside any guard.
    entered: bool = False


_thread = _Thread()


def requested_mode() -> str | None:
    """The mode that was asked for, or None if nobody has said anything."""
    return _thread.mode or _Default.mode


def get_mode() -> str:
    """The mode of this thread: "imperative" or "program".

    Example:
        >>> with fl.mode("program"):
        ...     fl.get_mode()
        'program'
    """
    return requested_mode() or "imperative"


def set_mode(name: str) -> None:
    """Chooses how this thread runs from here on.

    In mode "imperative" every op runs at once, also inside `@fl.function`. In mode "program",
    functions under `@fl.function` run compiled, and from the first `fl.data` on, ops are appended to
    `fl.default_main_program()`, which `fl.Executor` runs. The environment variable `FLUVIAL_MODE`
    sets the mode that threads start with.

    Args:
        name: "imperative" or "program".

    Example:
        >>> fl.set_mode("imperative")
    """
    _thread.mode = _checked(name)
    if name == "imperative":
        _leave_default()


class mode:
    """A scope in a mode; the former one is put back at its end.

    Args:
        name: "imperative" or "program".

    Example:
        >>> with fl.mode("imperative"):
        ...     fl.exp(fl.tensor(0.0)).item()
        1.0
    """

    def __init__(self, name: str) -> None:
        self._name = _checked(name)
        self._former: list[tuple[str | None, Any]] = []

    def __enter__(self) -> mode:
        scope = _core.imperative() if self._name == "imperative" and _core.is_building() else None
        self._former.append((_thread.mode, scope))
        if scope is not None:
            scope.__enter__()
        _thread.mode = self._name
        return self

    def __exit__(self, *exception: object) -> None:
        former, scope = self._former.pop()
        if scope is not None:
            scope.__exit__(*exception)
        _thread.mode = former
        if not self._former and get_mode() == "imperative" and not _thread.guards:
            _leave_default()


def _leave_default() -> None:
    if _thread.entered:
        _thread.entered = False
        _core.leave_program()


def _default() -> tuple[Program, Program]:
    if _thread.main is None or _thread.startup is None:
        _thread.main, _thread.startup = Program(), Program()
        _connect(_thread.main, _thread.startup)
    return _thread.main, _thread.startup


def _connect(main: Program, startup: Program) -> None:
    """Notes that running `startup` gives the states of `main` their initial values."""
    mains = getattr(startup, "mains", [])
    if not any(known is main for known in mains):
        startup.mains = [*mains, main]  # type: ignore[attr-defined]


def default_main_program() -> Program:
    """The program that ops are appended to: the one of the innermost guard, or the thread's own."""
    return _thread.guards[-1][0] if _thread.guards else _default()[0]


def default_startup_program() -> Program:
    """The program that gives the states of the main program their initial values."""
    return _thread.guards[-1][1] if _thread.guards else _default()[1]


class program_guard:
    """A scope in which ops are appended to a program.

    Args:
        main: Made by `fl.Program()`. It can be entered again, and goes on then.
        startup: Stands for the initialisers of `main`; `fl.Executor().run(startup)` runs them.

    Example:
        >>> main, startup = fl.Program(), fl.Program()
        >>> with fl.program_guard(main, startup):
        ...     x = fl.data("x", ("n",))
        ...     y = x * 2 + 1
        >>> fl.Executor().run(main, feed={"x": [1.0, 2.0]}, fetch_list=[y])[0].tolist()
        [3.0, 5.0]
    """

    def __init__(self, main: Program, startup: Program | None = None) -> None:
        self._programs = (main, startup if startup is not None else Program())
        _connect(*self._programs)

    def __enter__(self) -> program_guard:
        self._programs[0].enter()
        _thread.guards = (*_thread.guards, self._programs)
        return self

    def __exit__(self, *exception: object) -> None:
        _thread.guards = _thread.guards[:-1]
        _core.leave_program()


class default_programs:
    """A scope in mode "program" with default programs of its own."""

    def __init__(self, main: Program, startup: Program) -> None:
        self._programs = (main, startup)

    def __enter__(self) -> None:
        self._former = (_thread.main, _thread.startup, _thread.mode, _thread.guards, _thread.entered)
        _thread.main, _thread.startup = self._programs
        _connect(*self._programs)
        _thread.mode, _thread.guards, _thread.entered = "program", (), False

    def __exit__(self, *exception: object) -> None:
        _leave_default()
        former = self._former
        _thread.main, _thread.startup, _thread.mode, _thread.guards, _thread.entered = former


def enter_default() -> None:
    """Makes the default main program the one being built, where none is."""
    if not _core.is_building():
        default_main_program().enter()
        _thread.entered = True


def data(
    name: str, shape: Sequence[int | str | None] | int | str, dtype: DTypeLike = "float32"
) -> Tensor:
    """An input of the program being built: the default one, or that of the guard.

    Args:
        name: Its name, by which it is fed.
        shape: Its sizes. A name is a symbol, the same wherever it stands; None or -1 as the first
            size is the symbol `batch`, elsewhere a symbol of its own.
        dtype: The element type.

    Example:
        >>> with fl.program_guard(fl.Program()):
        ...     fl.data("image", (None, 784)).shape
        (batch, 784)
    """
    if isinstance(shape, (int, str)):
        shape = (shape,)

    def symbol(axis: int) -> str:
        return "batch" if axis == 0 else f"{name}{axis}"

    sizes = [symbol(i) if size in (None, -1) else size for i, size in enumerate(shape)]
    if not _core.is_building():
        if get_mode() != "program":
            raise fault(
                RuntimeError,
                f"the input `{name}` belongs to no program: none is being built",
                'call `fl.set_mode("program")`, or use `with fl.program_guard(fl.Program()):`',
            )
        enter_default()
    return _core.program_input(name, dtype, sizes)  # type: ignore[arg-type]


class Executor:
    """Runs programs, compiled, on the state scope of the thread.

    Args:
        place: Where; there is one place, the CPU.

    Example:
        >>> program = fl.build(lambda x: {"y": x * 2}, {"x": "f32[n]"})
        >>> fl.Executor().run(program, {"x": [1.0, 2.0]}, ["y"])
        [array([2., 4.], dtype=float32)]
    """

    def __init__(self, place: object = None) -> None:
        self.place = place

    def run(
        self,
        program: Program | None = None,
        feed: Mapping[str, Any] | None = None,
        fetch_list: Sequence[Tensor | str] | None = None,
        *,
        return_numpy: bool = True,
    ) -> list[Any]:
        """Runs a program.

        Args:
            program: By default the default main program.
            feed: The inputs by name: tensors, arrays, numbers or lists.
            fetch_list: What is wanted: tensors of a program under construction, or names of outputs.
            return_numpy: Whether arrays are returned, rather than tensors.

        Returns:
            What is wanted, in order.
        """
        if program is None:
            program = default_main_program()
        if program is _thread.main:
            ran()
        mains = getattr(program, "mains", None)
        if mains is not None and not fetch_list:
            for main in mains:
                main.initialise()
            return []
        runnable, names = _fetched(program, list(fetch_list or ()))
        outputs = runnable.run(dict(feed or {}), fetch=names)
        found = [outputs[name] for name in names]
        return [x.numpy() for x in found] if return_numpy else found


def _fetched(program: Program, fetch: list[Tensor | str]) -> tuple[Program, list[str]]:
    """The program whose outputs are what is wanted, and their names."""
    tensors: dict[str, TensorLike] = {}
    names = []
    for i, wanted in enumerate(fetch):
        if isinstance(wanted, str):
            names.append(wanted)
        else:
            names.append(f"out{i}")
            tensors[f"out{i}"] = wanted
    if not tensors:
        return program, names
    if not program.is_open:
        raise fault(
            TypeError,
            "a finished program has outputs with names, and no tensors",
            f"fetch by name: {', '.join(program.outputs)}",
        )
    return program.snapshot(tensors), names


def show_config() -> str:
    """Versions, mode, threads and vector instructions, as text for bug reports; it is printed, too.

    Example:
        >>> "mode" in fl.show_config()  # doctest: +ELLIPSIS
        fluvial ...
        True
    """
    import platform
    import sys

    info = _core.build_info()
    rows = {
        "fluvial": info["version"],
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "profile": info["profile"],
        "vector instructions": info["simd"],
        "threads": info["threads"],
        "mode": get_mode() + ("" if requested_mode() else " (by default)"),
        "numpy": getattr(sys.modules.get("numpy"), "__version__", "not imported"),
    }
    text = "\n".join(f"{name:20}{value}" for name, value in rows.items())
    print(text)
    return text
