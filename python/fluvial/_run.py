"""Running the program that a script has built."""

from __future__ import annotations

import os
import sys

from . import _core
from ._core import Program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


class _Script:
    """What this process does with the script that it runs."""

    #: Whether the script is run only for the program that it builds.
    building = False
    #: Whether a program was built by the way, and never run.
    waiting = False
    #: Whether the hint at the end is in place.
    hinted = False


class Built(BaseException):
    """Ends a script that is run only for its program."""


def built_by_default() -> None:
    """Notes that the default program was begun by a loop over a reader, which does not run by itself."""
    _Script.waiting = True
    if not _Script.hinted:
        import atexit

        _Script.hinted = True
        atexit.register(_hint)


def _hint() -> None:
    if _Script.waiting and not _Script.building:
        if os.environ.get("FLUVIAL_RUN") == "1":
            run()
            return
        script = os.path.basename(sys.argv[0]) or "the script"
        print(
            f"{script} built a program and did not run it: end it with `fl.run()`, set FLUVIAL_RUN=1, "
            f"or use `fluvial run {script}`",
            file=sys.stderr,
        )


def _built() -> Program:
    """The default main program; that of Fluid's front, if only this one was filled."""
    from ._modes import default_main_program

    program = default_main_program()
    front = sys.modules.get("fluvial.fluid.record_reader")
    if front is None or program.states or program.inputs:
        return program
    return front.loop_program() or program


def ran() -> None:
    """Notes that the default program was run, or taken elsewhere."""
    _Script.waiting = False


def run(
    program: Program | None = None,
    feed: Mapping[str, Any] | None = None,
    fetch: Sequence[str] | None = None,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int | float = 300.0,
    keep: int = 2,
    resume: bool = True,
) -> dict[str, _core.Tensor]:
    """Runs a program, compiled: the one that the script has built so far.

    Args:
        program: By default the default main program.
        feed: The inputs by name.
        fetch: The outputs that are wanted; all by default.
        checkpoint: A folder for checkpoints: everything that the run needs to go on after a stop or a crash, to
            the same bits.
        every: One after so many steps, if it is an int; after so many seconds, if it is a float.
        keep: How many are kept; damaged ones do not count.
        resume: Whether to go on from the latest one, if there is any. Inputs and data must be those that the run
            began with. Without it, a folder with checkpoints is refused.

    Returns:
        The outputs by name.

    Example:
        >>> program = fl.build(lambda x: {"y": x * 2}, {"x": "f32[n]"})
        >>> fl.run(program, {"x": [1.0, 2.0]})["y"].tolist()
        [2.0, 4.0]
    """
    if program is None:
        if _Script.building:
            raise Built
        program = _built()
        ran()
    feed = dict(feed or {})
    if checkpoint is None:
        return program.run(feed, fetch=fetch)
    often = {"steps": every} if isinstance(every, int) else {"seconds": every}
    return program.run_checkpointed(checkpoint, feed, fetch, keep=keep, resume=resume, **often)  # type: ignore[arg-type]


def program_of(script: str | os.PathLike[str], args: Sequence[str] = ()) -> Program:
    """The program that a script builds; the script is run for it, but not the program.

    Args:
        script: The path of the script.
        args: What the script finds in `sys.argv` after its name.
    """
    import runpy

    from . import _modes

    path = os.fspath(script)
    main, startup = Program(), Program()
    former_argv, former_path = sys.argv, sys.path[:]
    former = (_Script.building, _Script.waiting)
    sys.argv = [path, *args]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    _Script.building = True
    try:
        with _modes.default_programs(main, startup):
            _modes.enter_default()
            try:
                runpy.run_path(path, run_name="__main__")
            except Built:
                pass
            found = _built()
            if not (found.states or found.inputs):
                raise RuntimeError(
                    f"`{path}` built no program\n"
                    "  remedy: loop over a reader with `with reader.iterate() as …:`, or use `fl.data`"
                )
            return Program.parse(found.text())
    finally:
        sys.argv, sys.path[:] = former_argv, former_path
        _Script.building, _Script.waiting = former
