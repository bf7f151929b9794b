"""Drops statements of a case for as long as the verdict stays."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Any

BODIES = ("body", "orelse", "finalbody")
KEPT = ("arguments", "watch", "nothing")


def minimised(text: str, holds: Callable[[str], bool], n_tries: int = 250) -> str:
    """The shortest text found for which `holds` is true, as it is for `text`."""
    tree = ast.parse(text)
    found = ast.unparse(tree)
    if not holds(found):
        return text
    improved = True
    while improved and n_tries > 0:
        improved, number = False, 0
        while n_tries > 0:
            candidate = _changed(tree, number)
            if candidate is None:
                break
            shorter = ast.unparse(candidate)
            number += 1
            if len(shorter) >= len(found):
                continue
            n_tries -= 1
            if holds(shorter):
                # What stood behind what is gone has its number now.
                tree, found, improved, number = ast.parse(shorter), shorter, True, number - 1
    return found


def _changed(tree: ast.Module, number: int) -> ast.Module | None:
    """The tree with its change of a number made."""
    made = copy.deepcopy(tree)
    for i, change in enumerate(_changes(made)):
        if i == number:
            change()
            return ast.fix_missing_locations(made)
    return None


def _changes(tree: ast.AST) -> Iterator[Callable[[], Any]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in KEPT:
            continue
        for field in BODIES:
            body = getattr(node, field, None)
            if not isinstance(body, list):
                continue
            for i, statement in enumerate(body):
                if isinstance(statement, ast.Return) and getattr(node, "name", "") == "world":
                    continue
                if not isinstance(statement, ast.Pass):
                    yield _replaced(
                        body, i, [] if len(body) > 1 or field != "body" else [ast.Pass()]
                    )
                if isinstance(statement, (ast.If, ast.For, ast.While, ast.Try, ast.With)):
                    yield _replaced(body, i, statement.body)
                    if getattr(statement, "orelse", None):
                        yield _replaced(body, i, statement.orelse)
                value = getattr(statement, "value", None)
                if (
                    isinstance(value, (ast.Tuple, ast.List))
                    and getattr(node, "name", "") != "world"
                ):
                    for part in value.elts:
                        yield _set(statement, "value", part)
                for part in _smaller(value):
                    yield _set(statement, "value", part)
                for part in _smaller(getattr(statement, "test", None)):
                    yield _set(statement, "test", part)


def _smaller(value: Any) -> Iterator[ast.expr]:
    if isinstance(value, ast.IfExp):
        yield from (value.body, value.orelse)
    elif isinstance(value, ast.BoolOp):
        yield from value.values
    elif isinstance(value, ast.BinOp):
        yield from (value.left, value.right)
    elif isinstance(value, ast.UnaryOp):
        yield value.operand


def _replaced(body: list, i: int, by: list) -> Callable[[], Any]:
    return lambda: body.__setitem__(slice(i, i + 1), by)


def _set(node: Any, field: str, value: Any) -> Callable[[], Any]:
    return lambda: setattr(node, field, value)
