"""How far apart two bounds of a slice are, from their source: `i + 2` and `i`, `(k + 1) * n` and `k * n`."""

from __future__ import annotations

import ast

#: A sum of products of parts: how often each product, a sorted tuple of sources, is added.
_Sum = dict[tuple[str, ...], int]


def difference(upper: ast.expr, lower: ast.expr) -> ast.expr | None:
    """`upper - lower` without what is in both, or nothing if that takes no part away."""
    a, b = _sum(upper), _sum(lower)
    if a is None or b is None:
        return None
    rest = {key: a.get(key, 0) - b.get(key, 0) for key in a | b}
    rest = {key: times for key, times in rest.items() if times}
    names = {name for key in (*a, *b) for name in key}
    if names <= {name for key in rest for name in key}:
        return None
    terms = ["*".join([str(times), *key]) for key, times in sorted(rest.items())]
    made = ast.parse(" + ".join(f"({term})" for term in terms) or "0", mode="eval").body
    for node in ast.walk(made):
        for field in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            if hasattr(node, field):
                setattr(node, field, getattr(upper, field))
    return made


def _sum(node: ast.expr) -> _Sum | None:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return {(): node.value}
    if isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _sum(node.value)):
        return {(ast.unparse(node),): 1}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _sum(node.operand)
        return inner and {key: -times for key, times in inner.items()}
    if not isinstance(node, ast.BinOp):
        return None
    a, b = _sum(node.left), _sum(node.right)
    if a is None or b is None:
        return None
    if isinstance(node.op, (ast.Add, ast.Sub)):
        sign = 1 if isinstance(node.op, ast.Add) else -1
        return {key: a.get(key, 0) + sign * b.get(key, 0) for key in a | b}
    if not isinstance(node.op, ast.Mult):
        return None
    made: _Sum = {}
    for x, n in a.items():
        for y, m in b.items():
            key = tuple(sorted(x + y))
            made[key] = made.get(key, 0) + n * m
    return made
