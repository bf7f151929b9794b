"""Small functions whose lines mean the same in both modes, by what is hard about them.

A case has lines before the function (`before`), its parameters and lines, the arguments of each call, and lines that change
something between calls or do something with a result. `world` makes the module of it that `random_functions.running` runs.
"""

from __future__ import annotations

import ast
import textwrap
from typing import NamedTuple

HEAD = """import collections
import copy
import dataclasses
import functools
import math

import numpy as np

import fluvial as fl


def world(decorate):
"""


class Case(NamedTuple):
    """A function, and how it is called."""

    body: str
    #: Expressions of the arguments, one for each call.
    calls: tuple[str, ...] = ("fl.tensor([1.0, 2.0])", "fl.tensor([-3.0, 0.5])", "fl.tensor([4.0, 4.0])")
    parameters: str = "x"
    before: str = ""
    change: str = "pass"
    after: str = "pass"
    #: What programs do: "equal" to the lines, or "refused" at the user's line.
    verdict: str = "equal"
    #: A pattern of differences that do not count.
    ignored: str = ""


def world(case: Case) -> str:
    """The text of the module of a case."""
    names = sorted(_bound(case.before))
    lines = [case.before, "@decorate", f"def f({case.parameters}):", _indented(case.body)]
    lines += ["def arguments(call):", f"    return [{', '.join(f'lambda: [{one}]' for one in case.calls)}][call]()"]
    outer = f"nonlocal {', '.join(names)}\n" if names else ""
    lines += ["def change(call):", _indented(outer + case.change)]
    lines += ["def after(result, given):", _indented(case.after)]
    lines += ["def watch():", "    return {" + ", ".join(f"{name!r}: {name}" for name in names) + "}"]
    lines += [f"return f, arguments, change, after, watch, {len(case.calls)}"]
    return HEAD + _indented("\n".join(lines)) + "\n"


def _indented(text: str) -> str:
    return textwrap.indent(textwrap.dedent(text).strip("\n"), "    ")


def _bound(text: str) -> set[str]:
    """The names that lines bind to values."""
    nodes = [node for part in ast.parse(text).body for node in getattr(part, "targets", [])]
    names = [name for node in nodes for name in ast.walk(node) if isinstance(name, ast.Name)]
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}
