"""`match`: its cases become an `if` with branches, and its patterns are looked at by the run time."""

from __future__ import annotations

import ast
from typing import Any

from .errors import Unconvertible
from .expressions import can_move, call, later, load, place


def expanded(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements with `if` in the place of `match`."""
    if not any(isinstance(statement, ast.Match) for statement in body):
        return body
    done: list[ast.stmt] = []
    for statement in body:
        done += _chain(statement) if isinstance(statement, ast.Match) else [statement]
    return done


def _chain(node: ast.Match) -> list[ast.stmt]:
    place_text = f"{node.lineno}_{node.col_offset}"
    subject = f"_fl_subject{place_text}"
    rest: list[ast.stmt] = []
    for i, case in reversed(list(enumerate(node.cases))):
        rest = _case(case, subject, f"_fl_match{place_text}_{i}", rest)
    start = ast.Assign([ast.Name(subject, ast.Store())], node.subject)
    return [place(start, node), *rest]


def _case(case: ast.match_case, subject: str, found: str, rest: list[ast.stmt]) -> list[ast.stmt]:
    """A case, with the statements for when it does not fit."""
    names = _captured(case.pattern)
    look = call("match", load(subject), _described(case.pattern))
    start = ast.Assign([ast.Name(found, ast.Store())], look)
    take: list[ast.stmt] = []
    for name in names:
        part = ast.Subscript(ast.Attribute(load(found), "names", ast.Load()), ast.Constant(name), ast.Load())
        take.append(place(ast.Assign([ast.Name(name, ast.Store())], part), case.pattern))
    made: list[ast.stmt] = [place(start, case.pattern)]
    if case.guard is None and _fits_all(case.pattern):
        return [*made, *take, *case.body]
    test: ast.expr = ast.Attribute(load(found), "holds", ast.Load())
    if case.guard is not None:
        if not can_move(case.guard):
            raise Unconvertible(case.guard, "a `:=` in the guard of a case is not converted")
        test = call("guarded", load(found), later(case.guard, *names))
    choice = place(ast.If(test, [*take, *case.body], rest), case.pattern)
    return [*made, choice]


def _fits_all(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchOr):
        return any(map(_fits_all, pattern.patterns))
    return isinstance(pattern, ast.MatchAs) and (pattern.pattern is None or _fits_all(pattern.pattern))


def _captured(pattern: ast.pattern) -> list[str]:
    """The names that a pattern binds."""
    found: list[str] = []
    for node in ast.walk(pattern):
        name = None
        if isinstance(node, (ast.MatchAs, ast.MatchStar)):
            name = node.name
        elif isinstance(node, ast.MatchMapping):
            name = node.rest
        if name is not None and name not in found:
            found.append(name)
    return found


def _described(pattern: Any) -> ast.expr:
    """An expression for what `patterns.match` takes."""
    if isinstance(pattern, ast.MatchValue):
        return _tuple("value", pattern.value)
    if isinstance(pattern, ast.MatchSingleton):
        return _tuple("is", ast.Constant(pattern.value))
    if isinstance(pattern, ast.MatchAs):
        inner = ast.Constant(None) if pattern.pattern is None else _described(pattern.pattern)
        return _tuple("as", inner, ast.Constant(pattern.name))
    if isinstance(pattern, ast.MatchOr):
        return _tuple("or", *map(_described, pattern.patterns))
    if isinstance(pattern, ast.MatchStar):
        return _tuple("star", ast.Constant(pattern.name))
    if isinstance(pattern, ast.MatchSequence):
        return _tuple("sequence", *map(_described, pattern.patterns))
    if isinstance(pattern, ast.MatchMapping):
        parts = _list(map(_described, pattern.patterns))
        return _tuple("mapping", _list(pattern.keys), parts, ast.Constant(pattern.rest))
    if isinstance(pattern, ast.MatchClass):
        names = _list(map(ast.Constant, pattern.kwd_attrs))
        own, by_name = _list(map(_described, pattern.patterns)), _list(map(_described, pattern.kwd_patterns))
        return _tuple("class", pattern.cls, own, names, by_name)
    raise Unconvertible(pattern, f"`{type(pattern).__name__}` is not converted")


def _tuple(kind: str, *parts: ast.expr) -> ast.expr:
    return ast.Tuple([ast.Constant(kind), *parts], ast.Load())


def _list(parts: Any) -> ast.expr:
    return ast.List(list(parts), ast.Load())
