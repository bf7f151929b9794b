"""Functions that cannot be one program for all their paths: a program for each path.

Some lines give a branch or a loop no form that one program could have: a key that one branch adds to a dict, an array that a
loop changes, a tensor of which only the run knows who else has it. The tests of such statements are *decided* by the values
of the call that the program is built for. The program is used where they come out the same; a program of its own, which
changes nothing, computes them before each call.
"""

from __future__ import annotations

from . import _core
from ._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._core import Tensor

#: How many tests of one program may be decided.
MAX_DECIDED = 400
#: How often a build that was refused is tried again with more statements decided, before all are.
MAX_TRIES = 4


class Paths:
    """The tests that are decided while a function is built.

    Args:
        places: The files and lines of the statements that are decided; None for all.
    """

    def __init__(self, places: frozenset[str] | None) -> None:
        self.places = places
        self.begin()

    def begin(self) -> None:
        """Forgets the tests of a build that has failed."""
        #: The tests, where they stand, and how they come out.
        self.tests: list[Tensor] = []
        self.lines: list[str] = []
        self.answers: list[Any] = []
        #: Whether it was looked whether calls fail that may.
        self.checks = False
        #: Why there can be no program for the path.
        self.error: Exception | None = None

    def has(self, place: str) -> bool:
        """Whether a statement is decided."""
        return self.places is None or place in self.places

    def answer(self, value: Tensor, place: str, inputs: list[Tensor]) -> Any:
        """What a value of the program being built is for the call at hand.

        Args:
            value: A value without axes, outside of all blocks.
            place: The file and the line that ask.
            inputs: What the program is given in this call.
        """
        from ._convert.errors import Mismatch
        from ._convert.trying import TRIES

        if len(self.tests) >= MAX_DECIDED:
            raise self.ends_with(
                Mismatch,
                f"a program for one path of the function would have more than {MAX_DECIDED} tests",
                "write it so that one program can have all paths: see the first error",
            )
        program = _program_of([value])
        try:
            found = _run(program, inputs).item()
        except Exception as error:
            if TRIES.active:
                raise self.ends_with(
                    Mismatch,
                    f"a test inside of `try` fails in this call, for which a program of one path is built: {error}",
                    "test for the cause with `if`, or catch the exception around the call of the function",
                ) from None
            # The lines compute the same, and fail as well.
            vars(error)["_fl_of_lines"] = True
            raise
        self.tests.append(value)
        self.lines.append(place)
        self.answers.append(found)
        return found

    def ends_with(self, kind: type[Exception], what: str, remedy: str) -> Exception:
        """An error that ends the build, even if a line catches it."""
        self.error = fault(kind, what, remedy)
        return self.error

    def fails(self, inputs: list[Tensor]) -> bool:
        """Whether one of the calls that may fail so far does, in the call at hand."""
        self.checks = True
        program = _program_of([], True)
        try:
            found = _run(program.compile(single=False), inputs)
        except Exception:
            return True
        return not _all_hold(list(program.outputs), found)

    def decided(self) -> Decided | None:
        """What calls have to look at; nothing if no test was decided. It is asked where the program is complete."""
        if self.error is not None:
            raise self.error
        if not self.tests and not self.checks:
            return None
        found = Decided(_program_of(self.tests, self.checks), self.lines, self.answers)
        for test, line, answer in zip(self.tests, self.lines, self.answers):
            # The program may be run from elsewhere, too.
            holds = test == answer
            _core.assert_(holds, f"this program was built for calls in which the test at {line} gives {answer}", [])
        return found


class Decided:
    """The tests of a program for one path."""

    def __init__(self, program: _core.Program, lines: list[str], answers: list[Any]) -> None:
        self._names, self._run = list(program.outputs), program.compile(single=False)
        self._lines, self._answers = lines, answers
        #: The line of the test that came out otherwise last.
        self._other: str | None = None

    def holds(self, inputs: list[Tensor]) -> bool:
        """Whether a call with these inputs takes the path."""
        found = _run(self._run, inputs)
        for value, answer, line in zip(found, self._answers, self._lines):
            if value.item() != answer:
                self._other = line
                return False
        if not _all_hold(self._names, found):
            self._other = None
            return False
        return True

    def why(self) -> str | None:
        """Why the program was not used for the last call that does not take the path."""
        return None if self._other is None else f"the test at {self._other} came out otherwise"


def _program_of(values: list[Tensor], checks: bool = False) -> _core.Program:
    """A program that computes values of the one being built. What may fail in it is not a fault of that one."""
    from ._convert.attempts import at_fault

    _core.on_fault(None)
    try:
        return _core.program_of(values, checks)
    finally:
        _core.on_fault(at_fault)


def _all_hold(names: list[str], found: Any) -> bool:
    """Whether the conditions hold that are among the outputs of a program."""
    return all(value.item() for name, value in zip(names, found) if name.startswith("holds"))


def _run(program: Any, inputs: list[Tensor]) -> Any:
    with _core.imperative(), _core.no_grad():
        return program(*inputs)


def places_of(error: BaseException) -> frozenset[str]:
    """The statements that were traced where a build failed."""
    return getattr(error, "_fl_places", frozenset())


def note_place(error: BaseException, *places: str) -> None:
    """Notes on an error statements that a further build may decide."""
    try:
        vars(error)["_fl_places"] = places_of(error) | frozenset(places)
    except TypeError:
        pass


def can_decide(error: Exception) -> bool:
    """Whether a build that failed so may succeed for one path."""
    return getattr(error, "_fl_tests", False) and not getattr(error, "_fl_of_lines", False)


def by_path(build: Callable[[Paths], Any], known: frozenset[str] | None) -> tuple[Any, frozenset[str] | None]:
    """Builds a program for one path, with as few statements decided as are needed.

    Args:
        build: Builds with some tests decided.
        known: Statements that have to be decided; None for all.

    Returns:
        What was built, and the statements that were decided.
    """
    places = known
    for _ in range(MAX_TRIES):
        if places is None:
            break
        try:
            return build(Paths(places)), places
        except Exception as error:
            if not can_decide(error):
                raise
            more = places | places_of(error)
            places = None if more == places else more
    return build(Paths(None)), None
