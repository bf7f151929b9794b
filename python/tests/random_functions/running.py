"""Runs a case in both modes and compares what can be observed after every call."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import sys
import traceback
import types
from dataclasses import dataclass, field
from typing import Any

import fluvial as fl

from .picture import Fact, Painter, differences

#: The file that the text of a case is said to stand in.
FILE = "/random/case.py"


@dataclass
class Outcome:
    """What one call did."""

    facts: dict[str, Fact]
    before: dict[str, Fact]
    error: str | None = None
    message: str = ""
    line: int | None = None
    #: Whether the error was raised by the user's lines, not by a run of the program.
    in_python: bool = False
    built: bool = True
    printed: str = ""


@dataclass
class Verdict:
    """What is said of a case."""

    #: "equal", "refused", "placeless" (a refusal without the user's line), "dirty" (a refusal after
    #: which objects are changed), "different".
    name: str
    #: The kinds of difference, or the message of the refusal with names and numbers left out.
    groups: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    #: What only the program refuses.
    refusal: str = ""
    #: The error that is raised line by line.
    raised: str = ""


def outcomes(text: str, mode: str, decorate: Any, limit: int = 9) -> list[Outcome]:
    """What each call does, in a world of its own; ends after the first call that raises."""
    file = FILE
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    # Data classes look for their module by its name.
    module = sys.modules["random_case"] = types.ModuleType("random_case")
    found: list[Outcome] = []
    with fl.State() as state, fl.mode(mode):
        fl.seed(7)
        exec(compile(text, file, "exec"), vars(module))
        function, arguments, change, after, watch, n_calls = module.world(decorate)
        for call in range(min(n_calls, limit)):
            try:
                if call:
                    change(call)
                given = arguments(call)
            except Exception:
                # The last call left nothing that can be changed so.
                break
            outcome = Outcome({}, painted(None, given, watch, state))
            found.append(outcome)
            printed = io.StringIO()
            result = later = None
            with contextlib.redirect_stdout(printed):
                try:
                    result = function(*given)
                except Exception as error:
                    note_error(outcome, error, function)
                else:
                    try:
                        later = after(result, given)
                    except Exception as error:
                        note_error(outcome, error, None)
            outcome.printed = printed.getvalue()
            outcome.facts = painted((result, later), given, watch, state)
            if outcome.error is not None:
                break
    return found


def painted(results: tuple | None, given: list, watch: Any, state: Any) -> dict[str, Fact]:
    """The picture of everything there is."""
    painter = Painter()
    painter.paint("arguments", tuple(given))
    for name, value in sorted(watch().items(), key=lambda pair: pair[0]):
        painter.paint(f"closure.{name}", value)
    for name in sorted(state.names()):
        painter.paint(f"state[{name!r}]", state[name])
    if results is not None:
        painter.paint("result", results[0])
        painter.paint("after", results[1])
    return painter.facts


def note_error(outcome: Outcome, error: Exception, function: Any) -> None:
    outcome.error = type(error).__name__
    outcome.message = "\n".join([str(error), *getattr(error, "__notes__", ())])
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == FILE
    ]
    outcome.in_python = bool(lines)
    place = re.search(re.escape(FILE) + r":(\d+)", outcome.message)
    if place is not None and not lines:
        lines = [int(place[1])]
    outcome.line = lines[-1] if lines else None
    outcome.built = bool(getattr(getattr(function, "of", function), "programs", True))


def said(outcome: Outcome) -> str:
    """The message without what names its place."""
    text = re.sub(re.escape(FILE) + r":\d+(:\d+)?: ", "", outcome.message.split("\n")[0])
    text = re.sub(r"^(assertion failed|raise [\w.]+)(: |$)", "", text)
    return text.strip("'\"")


def without_sizes(outcome: Outcome) -> str:
    """The message without the op and its types: a program may not know sizes, and indexes with an op of its own."""
    return re.sub(r"\[[^\]]*\]", "[]", re.sub(r"^\w+\([^)]*\): ", "", said(outcome)))


def general(message: str) -> str:
    """A message with names, numbers and types left out, to count those that are alike."""
    text = message.split("\n")[0].replace(FILE, "FILE")
    text = re.sub(r"`[^`]*`", "`_`", text)
    text = re.sub(r"\b[a-z]+\d+\[[^\]]*\]|bool\[[^\]]*\]", "TYPE", text)
    return re.sub(r"-?\b\d+(\.\d+)?\b", "N", text)


def judged(text: str, program: Any = fl.function, ignored: str = "") -> Verdict:
    """The verdict on a case.

    Args:
        text: The module.
        program: What makes a function one that runs as a program; tests give wrong ones.
        ignored: A pattern of differences that do not count.
    """
    wanted = outcomes(text, "imperative", fl.function)
    got = outcomes(text, "program", program)
    last = wanted[-1]
    raised = f"{last.error}: {general(last.message)}" if last.error else ""
    for call, (one, two) in enumerate(zip(wanted, got)):
        verdict = compared(one, two, ignored)
        if verdict.name != "equal":
            verdict.raised = raised
            verdict.details = [f"call {call}: {line}" for line in verdict.details]
            return verdict
    if len(wanted) != len(got):
        return Verdict("different", ["calls: one world cannot be changed"], raised=raised)
    return Verdict("equal", raised=raised)


def compared(one: Outcome, two: Outcome, ignored: str = "") -> Verdict:
    """The verdict on one call."""
    same_error = one.error == two.error and one.line == two.line
    if two.error is not None and (two.in_python or not two.built) and not same_error:
        return refused(one, two)
    groups, details = [], []

    def differ(group: str, detail: str) -> None:
        if not ignored or not re.search(ignored, group):
            groups.append(group)
            details.append(f"{group}: {detail}")

    if one.error != two.error:
        shown = f"{one.error}: {one.message} (line {one.line}) / {two.error}: {two.message} (line {two.line})"
        what = (
            "not raised"
            if two.error is None
            else "raised"
            if one.error is None
            else "another class"
        )
        differ(f"error: {what} ({one.error} / {two.error})", shown)
    elif one.error is not None:
        if one.line != two.line:
            differ(f"error: line of {one.error}", f"{one.line} / {two.line}: {two.message}")
        if said(one) != said(two) and without_sizes(one) != without_sizes(two):
            differ(f"error: message of {one.error}", f"{one.message!r} / {two.message!r}")
    if one.printed != two.printed:
        differ("printed", f"{one.printed!r} / {two.printed!r}")
    for group, path, shown in differences(one.facts, two.facts):
        differ(group, f"{path}: {shown}")
    return Verdict("different" if groups else "equal", sorted(set(groups)), details)


def refused(one: Outcome, two: Outcome) -> Verdict:
    shown = f"{two.error}: {two.message} (line {two.line}); line by line: {one.error} {one.message}"
    group = f"{two.error}: {general(two.message)}"
    changed = differences(
        two.before, {k: v for k, v in two.facts.items() if k[:6] not in ("result", "after")}
    )
    if two.line is None:
        return Verdict("placeless", [group], [shown], group)
    if changed:
        text = [f"{path}: {both}" for _, path, both in changed]
        return Verdict("dirty", sorted({kind for kind, _, _ in changed}), [shown, *text], group)
    return Verdict("refused", [group], [shown], group)
