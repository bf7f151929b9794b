"""Jumps become flags: after this pass a body has no `break`, no `continue` and no early `return`.

A jump sets a flag; what follows it in the block is put under a test of the flag, or into the other
branch if one branch of an `if` always jumps. All further passes then see nested blocks only.
"""

from __future__ import annotations

import ast

from .errors import Unconvertible
from .expressions import call, later, place
from .matching import expanded

RETURNED = "_fl_returned"
RESULT = "_fl_result"
RAISED = "_fl_raised"
_TEST = "_fl_test"


def lower_function(body: list[ast.stmt]) -> list[ast.stmt]:
    """The body of a function without jumps; only its last statement returns."""
    jumps = [node for statement in body for node in _jumps(statement)]
    exits = [node for node in jumps if isinstance(node, (ast.Return, ast.Raise))]
    if not exits or (len(exits) == 1 and body[-1] is exits[0]):
        last = [body[-1]] if exits else []
        return _Lower().block(body[: len(body) - len(last)])[0] + last
    lowering = _Lower()
    lowered, _, always = lowering.block(body)
    if not always:
        lowered, _, _ = lowering.block([*body, ast.copy_location(ast.Return(None), body[-1])])
    start = _assign(RETURNED, ast.Constant(False), body[0])
    end = ast.copy_location(ast.Return(ast.Name(RESULT, ast.Load())), body[-1])
    return [start, *lowered, end]


def _jumps(node: ast.AST):
    """The jumps of a statement that belong to the function it stands in."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        return
    if isinstance(node, (ast.Return, ast.Break, ast.Continue, ast.Raise)):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _jumps(child)


def _assign(name: str, value: ast.expr, like: ast.AST) -> ast.stmt:
    assign = ast.Assign([ast.Name(name, ast.Store())], value)
    return place(assign, like)


def correlated(body: list[ast.stmt]) -> bool:
    """Whether tests of statements without jumps hold together, so that a name may be bound where it
    is read, though not on all paths to there."""
    stores = [node.id for part in body for node in ast.walk(part) if isinstance(node, ast.Name)]
    return any(name.startswith(("_fl_broken", "_fl_skipped", RAISED, RETURNED, _TEST)) for name in stores)


def _hoisted(test: ast.expr) -> tuple[list[ast.stmt], ast.expr]:
    """The test of an `if`; one with `:=` is computed in statements before, as far as it is reached."""
    if not any(isinstance(part, ast.NamedExpr) for part in ast.walk(test)):
        return [], test
    name = f"{_TEST}{test.lineno}_{test.col_offset}"
    turned = lambda value: ast.UnaryOp(ast.Not(), value)  # noqa: E731
    assign = lambda value: _assign(name, turned(turned(value)), value)  # noqa: E731
    if not isinstance(test, ast.BoolOp):
        return [assign(test)], place(ast.Name(name, ast.Load()), test)
    done = [assign(test.values[0])]
    for value in test.values[1:]:
        open_still: ast.expr = ast.Name(name, ast.Load())
        if isinstance(test.op, ast.Or):
            open_still = turned(open_still)
        done.append(place(ast.If(open_still, [assign(value)], []), value))
    return done, place(ast.Name(name, ast.Load()), test)


def clear(flags: set[str], like: ast.AST) -> ast.expr:
    """The test that none of the flags is set."""
    test = call("clear", *[ast.Name(flag, ast.Load()) for flag in sorted(flags)])
    return place(test, like)


def _unless(flags: set[str], body: list[ast.stmt], like: ast.stmt) -> ast.stmt:
    """Statements under the test that no flag is set. Loops among them begin with flags known to be clear."""
    test = clear(flags, like)
    if any(isinstance(node, (ast.For, ast.While)) for part in body for node in ast.walk(part)):
        body = [*(_assign(flag, ast.Constant(False), like) for flag in sorted(flags)), *body]
    return ast.copy_location(ast.If(test, body, []), like)


class _Lower:
    """`block` returns the statements, the flags they may set, and whether they always jump."""

    def __init__(self) -> None:
        self.n_loops = self.n_tries = 0
        self.loops: list[tuple[str, str]] = []
        #: For each `try` with handlers whose body it stands in: the flag that a `raise` sets.
        self.tries: list[str] = []

    def block(self, body: list[ast.stmt]) -> tuple[list[ast.stmt], set[str], bool]:
        done: list[ast.stmt] = []
        flags: set[str] = set()
        body = expanded(body)
        for i, statement in enumerate(body):
            rest = body[i + 1 :]
            if isinstance(statement, ast.If) and rest:
                taken = self._if_with_rest(statement, rest)
                if taken is not None:
                    lowered, more, always = taken
                    return [*done, *lowered], flags | more, always
            lowered, more, always = self.statement(statement)
            done += lowered
            flags |= more
            # A context manager may swallow an exception, so what follows may be reached.
            if always and not (isinstance(statement, ast.With) and rest):
                return done, flags, True
            if more and rest:
                guarded, later, always = self.block(rest)
                done.append(_unless(more, guarded, rest[0]))
                return done, flags | later, always
        return done, flags, False

    def _if_with_rest(self, statement: ast.If, rest: list[ast.stmt]):
        """What follows an `if` with a branch that always jumps goes into the other branch."""
        body_always = self._always(statement.body)
        other_always = self._always(statement.orelse)
        if body_always:
            body, other = statement.body, [*statement.orelse, *([] if other_always else rest)]
        elif other_always:
            body, other = [*statement.body, *rest], statement.orelse
        else:
            return None
        return self.statement(ast.copy_location(ast.If(statement.test, body, other), statement))

    def _always(self, body: list[ast.stmt]) -> bool:
        """Whether statements certainly end in a jump."""
        last = body[-1] if body else None
        if isinstance(last, ast.If):
            return self._always(last.body) and self._always(last.orelse)
        return isinstance(last, (ast.Return, ast.Break, ast.Continue, ast.Raise))

    def statement(self, node: ast.stmt) -> tuple[list[ast.stmt], set[str], bool]:
        if isinstance(node, ast.Return):
            value = node.value or ast.copy_location(ast.Constant(None), node)
            jump = [_assign(RESULT, value, node), _assign(RETURNED, ast.Constant(True), node)]
            return jump, {RETURNED}, True
        if isinstance(node, ast.Raise):
            parts = [later(part) for part in (node.exc or call("current"), node.cause) if part is not None]
            raising = place(ast.Expr(call("raise_", *parts)), node)
            flag = self.tries[-1] if self.tries else RETURNED
            return [raising, _assign(flag, ast.Constant(True), node)], {flag}, True
        if isinstance(node, (ast.Break, ast.Continue)):
            flag = self.loops[-1][isinstance(node, ast.Continue)]
            return [_assign(flag, ast.Constant(True), node)], {flag}, True
        if isinstance(node, ast.If):
            before, test = _hoisted(node.test)
            body, flags, always = self.block(node.body)
            other, more, other_always = self.block(node.orelse)
            lowered = ast.copy_location(ast.If(test, body, other), node)
            return [*before, lowered], flags | more, always and other_always
        if isinstance(node, (ast.While, ast.For)):
            return self.loop(node)
        if isinstance(node, ast.With):
            body, flags, always = self.block(node.body)
            items = [
                ast.withitem(place(call("managed", item.context_expr), node), item.optional_vars)
                for item in node.items
            ]
            return [_replaced(node, items=items, body=body)], flags, always and not flags - {RETURNED}
        if isinstance(node, ast.Try):
            return self.try_(node)
        if isinstance(node, (ast.AsyncFor, ast.AsyncWith)) or type(node).__name__ == "TryStar":
            raise Unconvertible(node, f"`{type(node).__name__}` is not converted")
        return [node], set(), False

    def loop(self, node: ast.While | ast.For):
        self.n_loops += 1
        broken, skipped = f"_fl_broken{self.n_loops}", f"_fl_skipped{self.n_loops}"
        self.loops.append((broken, skipped))
        body, flags, _ = self.block(node.body)
        self.loops.pop()
        if skipped in flags:
            body.insert(0, _assign(skipped, ast.Constant(False), node.body[0]))
        ends = flags - {skipped}
        if ends and isinstance(node, ast.For):
            body = [_unless(ends, body, node.body[0])]
        other, more, always = self.block(node.orelse)
        loop = _replaced(node, body=body, orelse=[])
        loop.flags = sorted(ends)
        done: list[ast.stmt] = (
            [_assign(broken, ast.Constant(False), node)] if broken in flags else []
        )
        done.append(loop)
        if other and ends:
            done.append(_unless(ends, other, other[0]))
        else:
            done += other
        if isinstance(node, ast.While) and isinstance(node.test, ast.Constant):
            # Only a jump ends it.
            always = always or bool(node.test.value)
        return done, (flags - {broken, skipped}) | more, always and broken not in flags

    def try_(self, node: ast.Try):
        if not node.handlers:
            return self.finally_(node)
        if node.finalbody:
            inner = _replaced(node, finalbody=[])
            return self.finally_(_replaced(node, body=[inner], handlers=[], orelse=[]))
        self.n_tries += 1
        raised = f"{RAISED}{self.n_tries}"
        self.tries.append(raised)
        body, flags, always = self.block(node.body)
        self.tries.pop()
        start = [_assign(raised, ast.Constant(False), node)] if raised in flags else []
        other, other_flags, other_always = self.block(node.orelse)
        if other and flags - {raised}:
            other = [_unless(flags - {raised}, other, other[0])]
        handlers, all_always = [], always or other_always
        for handler in node.handlers:
            handled, more, handler_always = self.block(handler.body)
            handlers.append(_replaced(handler, body=handled))
            flags = flags | more
            all_always = all_always and handler_always
        lowered = _replaced(node, body=body, handlers=handlers, orelse=other)
        return [*start, lowered], (flags - {raised}) | other_flags, all_always

    def finally_(self, node: ast.Try):
        body, flags, always = self.block(node.body)
        final, final_flags, _ = self.block(node.finalbody)
        if final_flags:
            raise Unconvertible(node.finalbody[0], "a jump out of `finally` is not converted")
        return [_replaced(node, body=body, finalbody=final)], flags, always


def _replaced(node, **fields):
    """A copy of a node with other fields."""
    old = {field: getattr(node, field, None) for field in node._fields}
    return ast.copy_location(type(node)(**{**old, **fields}), node)
