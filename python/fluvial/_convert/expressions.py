"""Expressions become calls that decide at run time: `and`, `or`, `not`, chains, choices, calls."""

from __future__ import annotations

import ast
from typing import Any

from .distances import difference
from .names import dotted, used

#: Functions that look at the frame of their caller; they must not move into a lambda.
_FRAME = {"super", "locals", "vars", "dir", "eval", "exec", "globals", "__class__"}


def place(made: Any, like: Any) -> Any:
    """Gives all new nodes the first line of `like`. A node of several lines would make Python
    report the last one."""
    node: Any
    for node in ast.walk(made):
        if "lineno" in node._attributes and not hasattr(node, "lineno"):
            node.lineno = node.end_lineno = like.lineno
            node.col_offset = node.end_col_offset = like.col_offset
    return made


def load(name: str) -> ast.expr:
    """A name that is read."""
    return ast.Name(name, ast.Load())


def call(function: str, *arguments: ast.expr) -> ast.Call:
    """A call of a function of the run time."""
    return ast.Call(ast.Attribute(load("__fl__"), function, ast.Load()), list(arguments), [])


def later(value: ast.expr, *parameters: str) -> ast.expr:
    """A value that is computed when asked for."""
    arguments = [ast.arg(parameter) for parameter in parameters]
    return ast.Lambda(ast.arguments([], arguments, None, [], [], None, []), value)


def can_move(*nodes: ast.expr) -> bool:
    """Whether expressions mean the same inside a lambda."""
    for node in nodes:
        if used(node) & _FRAME:
            return False
        if any(
            isinstance(x, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom))
            for x in ast.walk(node)
        ):
            return False
    return True


class Expressions(ast.NodeTransformer):
    """Rewrites expressions; statements pass through it unchanged."""

    def _at(self, made: ast.expr, like: ast.expr) -> ast.expr:
        return place(made, like)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        moves = can_move(*node.values[1:])
        values = [self.visit(value) for value in node.values]
        if moves:
            return self._at(call(name, values[0], *map(later, values[1:])), node)
        plain = [self._at(call("plain", value), node) for value in values[:-1]]
        return self._at(ast.BoolOp(node.op, [*plain, values[-1]]), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return self._at(call("not_", operand), node)
        return self._at(ast.UnaryOp(node.op, operand), node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        decided = isinstance(node.ops[0], (ast.In, ast.NotIn, ast.Eq, ast.NotEq))
        if (len(node.ops) == 1 and not decided) or not can_move(*node.comparators[1:]):
            return self.generic_visit(node)
        left, first, *others = [self.visit(part) for part in [node.left, *node.comparators]]
        parts: list[ast.expr] = []
        for operator, value in zip(node.ops[1:], others):
            parts += [ast.Constant(type(operator).__name__), later(value)]
        made = call("chain", left, ast.Constant(type(node.ops[0]).__name__), first, *parts)
        return self._at(made, node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        moves = can_move(node.body, node.orelse)
        test, body, other = self.visit(node.test), self.visit(node.body), self.visit(node.orelse)
        if moves:
            return self._at(call("choose", test, later(body), later(other)), node)
        return self._at(ast.IfExp(call("plain", test), body, other), node)

    outside: set[str]
    local: set[str]

    def visit_Name(self, node: ast.Name) -> Any:
        if not isinstance(node.ctx, ast.Load) or node.id not in self.outside - self.local:
            return node
        return self._at(call("name", node, ast.Constant(node.id)), node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        is_field = isinstance(node.value, ast.Name) and node.value.id not in _FRAME | {"__fl__"}
        if not isinstance(node.ctx, ast.Load) or node.attr.startswith("__") or dotted(node.value) == "__fl__":
            return self.generic_visit(node)
        if not is_field:
            return self._at(call("attribute", self.visit(node.value), ast.Constant(node.attr)), node)
        return self._at(call("field", node.value, ast.Constant(node.attr)), node)

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id in _FRAME | {"__fl__"}:
            return self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and dotted(node.func.value) == "__fl__":
            node.args = [self.visit(part) for part in node.args]
            return node
        node.args = [self.visit(part) for part in node.args]
        node.keywords = [self.visit(part) for part in node.keywords]
        if isinstance(node.func, (ast.Attribute, ast.Name)):
            if isinstance(node.func, ast.Attribute):
                node.func.value = self.visit(node.func.value)
        else:
            node.func = self.visit(node.func)
        node.func = self._at(call("fn", node.func), node.func)
        return node

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        return self._listed(node, "listed")

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        return self._listed(node, "generated")

    def _listed(self, node: ast.ListComp | ast.GeneratorExp, function: str) -> Any:
        generator = node.generators[0]
        names = _targets(generator.target)
        whole = can_move(node.elt, *generator.ifs)
        if len(node.generators) > 1 or names is None or not whole or generator.is_async:
            return self._comprehension(node)
        element, source = self.visit(node.elt), self.visit(generator.iter)
        tests = [self.visit(test) for test in generator.ifs]
        star = isinstance(generator.target, (ast.Tuple, ast.List))
        test: ast.expr = ast.Constant(None)
        if tests:
            joined = tests[0] if len(tests) == 1 else call("and_", tests[0], *map(later, tests[1:]))
            test = later(joined, *names)
        made = call(function, source, later(element, *names), test, ast.Constant(star))
        return self._at(made, node)

    def _comprehension(self, node: Any) -> Any:
        self.generic_visit(node)
        for generator in node.generators:
            generator.iter = self._at(call("items", generator.iter), generator.iter)
        return node

    visit_SetComp = _comprehension
    visit_DictComp = _comprehension

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Any:
        self.generic_visit(node)
        node.value = self._at(call("text", node.value), node.value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        return self._at(call("getitem", self.visit(node.value), self.visit(node.slice)), node)

    def visit_Slice(self, node: ast.Slice) -> Any:
        size = None
        if node.lower is not None and node.upper is not None and node.step is None:
            size = difference(node.upper, node.lower)
        made: Any = self.generic_visit(node)
        if size is None:
            return made
        return self._at(call("window", made.lower, made.upper, later(self.visit(size))), node)


def _targets(target: ast.expr) -> list[str] | None:
    """The names of a target that can be parameters."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, (ast.Tuple, ast.List)):
        names = [part.id for part in target.elts if isinstance(part, ast.Name)]
        if names and len(names) == len(target.elts) == len(set(names)):
            return names
    return None
