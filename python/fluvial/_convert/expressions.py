"""Expressions become calls that decide at run time: `and`, `or`, `not`, chains, choices, calls."""

from __future__ import annotations

import ast
from typing import Any

from .distances import difference
from .names import dotted, used

#: Functions that look at the frame of their caller; they must not move into a lambda.
#: Functions that read names which no line shows, and what stands in their place.
_UNSEEN = {"globals": "all_globals", "eval": "evaluated", "exec": "evaluated"}
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


def mark_tests(tree: ast.AST) -> None:
    """Marks the conditions of a function: of `and`, `or` and choices there only the truth counts."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
            _mark(node.test)
        elif isinstance(node, ast.comprehension):
            for test in node.ifs:
                _mark(test)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            _mark(node.operand)
        elif isinstance(node, ast.match_case) and node.guard is not None:
            _mark(node.guard)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "bool":
            for part in node.args:
                _mark(part)


def _mark(node: Any) -> None:
    if isinstance(node, ast.BoolOp):
        node._fl_test = True  # type: ignore[attr-defined]
        for part in node.values:
            _mark(part)
    elif isinstance(node, ast.IfExp):
        node._fl_test = True  # type: ignore[attr-defined]
        _mark(node.body)
        _mark(node.orelse)


def is_test(node: ast.AST) -> bool:
    """Whether only the truth of an expression counts."""
    return getattr(node, "_fl_test", False)


class Expressions(ast.NodeTransformer):
    """Rewrites expressions; statements pass through it unchanged."""

    def _at(self, made: ast.expr, like: ast.expr) -> ast.expr:
        return place(made, like)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        moves = can_move(*node.values[1:])
        values = [self.visit(value) for value in node.values]
        if moves and is_test(node) and can_move(node.values[0]):
            name = "all_" if isinstance(node.op, ast.And) else "any_"
            return self._at(call(name, *map(later, values)), node)
        if moves:
            return self._at(call(name, values[0], *map(later, values[1:])), node)
        plain = [self._at(call("plain", value), node) for value in values[:-1]]
        return self._at(ast.BoolOp(node.op, [*plain, values[-1]]), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return self._at(call("not_", operand), node)
        if isinstance(node.op, ast.USub) and not isinstance(operand, ast.Constant):
            return self._at(call("minus", operand), node)
        return self._at(ast.UnaryOp(node.op, operand), node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        constant = node.comparators[0]
        is_known = isinstance(constant, ast.Constant) and constant.value is not None
        is_plain = isinstance(node.ops[0], (ast.Is, ast.IsNot)) and is_known
        if (len(node.ops) == 1 and is_plain) or not can_move(*node.comparators[1:]):
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
        if moves and is_test(node):
            body, other = call("truth", body), call("truth", other)
        if moves:
            return self._at(call("choose", test, later(body), later(other)), node)
        return self._at(ast.IfExp(call("plain", test), body, other), node)

    outside: set[str]
    from_outside: set[str]
    local: set[str]

    def visit_Name(self, node: ast.Name) -> Any:
        own = self.local - self.from_outside
        if not isinstance(node.ctx, ast.Load) or node.id not in self.outside - own:
            return node
        return self._at(call("name", node, ast.Constant(node.id)), node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        is_own = isinstance(node.value, ast.Name) and node.value.id in _FRAME | {"__fl__"}
        if not isinstance(node.ctx, ast.Load) or is_own or node.attr.startswith("__") and node.attr != "__dict__":
            return self.generic_visit(node)
        return self._at(call("field", self.visit(node.value), ast.Constant(node.attr)), node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        return self._at(call("item", self.visit(node.value), self.key(node.slice)), node)

    def key(self, node: ast.expr) -> ast.expr:
        """What stands between brackets, as a value."""
        if isinstance(node, ast.Slice):
            if node.lower is not None and node.upper is not None and node.step is None:
                size = difference(node.upper, node.lower)
                if size is not None:
                    bounds = [self.visit(node.lower), self.visit(node.upper)]
                    return self._at(call("window", *bounds, later(self.visit(size))), node)
            parts = [node.lower, node.upper, node.step]
            bounds = [ast.Constant(None) if part is None else self.visit(part) for part in parts]
            return self._at(call("slice", *bounds), node)
        if isinstance(node, ast.Tuple):
            return self._at(ast.Tuple([self.key(part) for part in node.elts], ast.Load()), node)
        return self.visit(node)

    def _display(self, node: Any) -> Any:
        self.generic_visit(node)
        return node if not isinstance(getattr(node, "ctx", None), (ast.Load, type(None))) else self._at(call("made", node), node)

    visit_List = _display
    visit_Dict = _display
    visit_Set = _display

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        # Lists, dicts and sets are made by these.
        if not isinstance(node.op, (ast.Add, ast.Mult, ast.BitOr, ast.BitAnd, ast.Sub)):
            return node
        return self._at(call("binary", ast.Constant(type(node.op).__name__), node.left, node.right), node)

    def visit_Starred(self, node: ast.Starred) -> Any:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = self._at(call("unpacked", node.value), node.value)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id in _FRAME | {"__fl__"}:
            if node.func.id in _UNSEEN and not node.keywords:
                return self._at(call(_UNSEEN[node.func.id], *map(self.visit, node.args)), node)
            if node.func.id not in ("vars", "dir") or not node.args:
                return self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and dotted(node.func.value) == "__fl__":
            node.args = [self.visit(part) for part in node.args]
            return node
        prints = isinstance(node.func, ast.Name) and node.func.id == "print"
        node.args = [self._text(part) if prints else self.visit(part) for part in node.args]
        node.keywords = [self.visit(part) for part in node.keywords]
        node.func = self._at(call("fn", self.visit(node.func)), node.func)
        return node

    def _text(self, node: ast.expr) -> Any:
        """An argument of `print`: an f-string may have values that only the run knows."""
        if not isinstance(node, ast.JoinedStr):
            return self.visit(node)
        parts: list[ast.expr] = []
        for part in node.values:
            if not isinstance(part, ast.FormattedValue):
                parts.append(part)
                continue
            conversion = ast.Constant("" if part.conversion < 0 else chr(part.conversion))
            spec = self.visit(part.format_spec) if part.format_spec else ast.Constant("")
            parts.append(ast.Tuple([self.visit(part.value), conversion, spec], ast.Load()))
        return self._at(call("text", *parts), node)

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
        if isinstance(node, ast.GeneratorExp):
            return node
        return self._at(call("made", node), node)

    visit_SetComp = _comprehension
    visit_DictComp = _comprehension

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Any:
        self.generic_visit(node)
        node.value = self._at(call("named", node.value), node.value)
        return node


def _targets(target: ast.expr) -> list[str] | None:
    """The names of a target that can be parameters."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, (ast.Tuple, ast.List)):
        names = [part.id for part in target.elts if isinstance(part, ast.Name)]
        if names and len(names) == len(target.elts) == len(set(names)):
            return names
    return None
