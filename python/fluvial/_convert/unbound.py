"""Names that may have no value where they are read: in one branch only, or in a loop without a trip.

Such a name gets a flag, which is set and cleared with it. Where a program does not bind the name, zeros
stand for it, and each place that reads it checks the flag as the program runs.
"""

from __future__ import annotations

import ast
import sys
from typing import Any

from .expressions import call, load, place
from .names import bound, used

#: What the names of flags begin with.
FLAG = "_fl_bound_"
#: Functions that may read a name that they do not show.
_HIDDEN = {"locals", "vars", "dir", "eval", "exec"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def unsure(body: list[ast.stmt], local: set[str], arguments: set[str]) -> tuple[set[str], set[str]]:
    """The names of a function that may have no value at a place that reads them, and all names that
    zeros may stand for where they have none, since nobody reads these unchecked."""
    if used(*body) & _HIDDEN:
        return set(), set()
    paths = _Paths(local)
    paths.block(body, set(arguments))
    left_alone = _left_alone(body)
    return paths.found - left_alone, local - left_alone


def _left_alone(body: list[ast.stmt]) -> set[str]:
    """Names that are bound or read where no flag can be set or looked at."""
    found: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                found.update(node.names)
            elif isinstance(node, ast.ExceptHandler) and node.name:
                found.add(node.name)
            elif isinstance(node, (ast.While, ast.For, ast.withitem, *_COMPREHENSIONS, ast.Lambda)):
                found |= _walruses(*_heads(node))
            elif isinstance(node, (ast.ClassDef, ast.AsyncFunctionDef)):
                found |= used(*node.body)
            elif isinstance(node, ast.FunctionDef):
                inner = [part for child in node.body for part in ast.walk(child)]
                if any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in inner):
                    found |= used(*node.body)
    return found


def _heads(node: Any) -> list[ast.AST]:
    """The expressions of a statement that are not statements of their own."""
    if isinstance(node, ast.While):
        return [node.test]
    return [node.iter] if isinstance(node, ast.For) else [node]


class _Paths:
    """Follows the names that are certainly bound; a state is nothing where no path leads."""

    def __init__(self, local: set[str]) -> None:
        self.local = local
        self.found: set[str] = set()
        self.breaks: list[list[set[str]]] = []

    def reads(self, state: set[str], *nodes: ast.AST | None) -> None:
        self.found |= (_read(*nodes) & self.local) - state

    def block(self, body: list[ast.stmt], state: set[str] | None) -> set[str] | None:
        for statement in body:
            if state is None:
                return None
            state = self.statement(statement, set(state))
        return state

    def statement(self, node: Any, state: set[str]) -> set[str] | None:
        if isinstance(node, (ast.Return, ast.Raise)):
            self.reads(state, node)
            return None
        if isinstance(node, ast.Continue):
            return None
        if isinstance(node, ast.Break):
            self.breaks[-1].append(state)
            return None
        if isinstance(node, ast.If):
            self.reads(state | _walruses(node.test), node.test)
            yes, no = _named_by(node.test)
            return _both(self.block(node.body, state | yes), self.block(node.orelse, state | no))
        if isinstance(node, (ast.While, ast.For, ast.AsyncFor)):
            return self.loop(node, state)
        if isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            return self.try_(node, state)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                self.reads(state, item.context_expr)
                state |= set(bound([item.optional_vars])) if item.optional_vars else set()
            return self.block(node.body, state)
        if isinstance(node, ast.Match):
            return self.match(node, state)
        if isinstance(node, ast.AugAssign):
            self.reads(state, node.value, node.target)
            if isinstance(node.target, ast.Name) and node.target.id in self.local - state:
                self.found.add(node.target.id)
            return state | set(bound([node.target]))
        self.reads(state, node)
        if isinstance(node, ast.Delete):
            return state - {part.id for part in node.targets if isinstance(part, ast.Name)}
        return state | set(bound([node]))

    def loop(self, node: Any, state: set[str]) -> set[str] | None:
        endless = False
        deleted = {
            part.id
            for child in node.body
            for part in ast.walk(child)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Del)
        }
        if isinstance(node, ast.While):
            self.reads((state - deleted) | _walruses(node.test), node.test)
            endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
            start = state | _named_by(node.test)[0]
        else:
            self.reads(state, node.iter)
            start = state | set(bound([node.target]))
        self.breaks.append([])
        self.block(node.body, start - deleted)
        left = self.breaks.pop()
        after = None if endless else self.block(node.orelse, state - deleted)
        for other in left:
            after = _both(after, other)
        return after

    def try_(self, node: Any, state: set[str]) -> set[str] | None:
        after = self.block(node.body, set(state))
        if after is not None:
            after = self.block(node.orelse, after)
        for handler in node.handlers:
            self.reads(state, handler.type)
            named = {handler.name} if handler.name else set()
            after = _both(after, self.block(handler.body, state | named))
        final = self.block(node.finalbody, set(state))
        return None if after is None or final is None else after | final

    def match(self, node: ast.Match, state: set[str]) -> set[str] | None:
        self.reads(state, node.subject)
        after: set[str] | None = None
        everything = False
        for case in node.cases:
            self.reads(state, case.pattern)
            named = {
                part.name if isinstance(part, (ast.MatchAs, ast.MatchStar)) else part.rest
                for part in ast.walk(case.pattern)
                if isinstance(part, (ast.MatchAs, ast.MatchStar, ast.MatchMapping))
            } - {None}
            inside = state | {name for name in named if name}
            self.reads(inside, case.guard)
            after = _both(after, self.block(case.body, inside))
            is_open = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
            everything = everything or (is_open and case.guard is None)
        return after if everything else _both(after, state)


def _both(a: set[str] | None, b: set[str] | None) -> set[str] | None:
    if a is None or b is None:
        return b if a is None else a
    return a & b


def _walruses(*nodes: ast.AST) -> set[str]:
    parts = [part for node in nodes for part in ast.walk(node)]
    return {part.target.id for part in parts if isinstance(part, ast.NamedExpr)}


def _named_by(test: ast.expr) -> tuple[set[str], set[str]]:
    """The names that a test has certainly bound if it holds, and if it does not."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yes, no = _named_by(test.operand)
        return no, yes
    if not isinstance(test, ast.BoolOp):
        return _walruses(test), _walruses(test)
    first, every = _walruses(test.values[0]), _walruses(test)
    return (every, first) if isinstance(test.op, ast.And) else (first, every)


def _read(*nodes: ast.AST | None) -> set[str]:
    """The names of the function that are read, without those that an inner scope has for itself."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Load, ast.Del)):
            found.add(node.id)
        elif node is not None:
            found |= _read(*ast.iter_child_nodes(node)) - own_names(node)
    return found


def own_names(node: Any) -> set[str]:
    """The names that a function or a comprehension has for itself."""
    if isinstance(node, _COMPREHENSIONS):
        return {name for part in node.generators for name in bound([part.target])}
    if not isinstance(node, _FUNCTIONS):
        return set()
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    every += [part for part in (node.args.vararg, node.args.kwarg) if part]
    names = {argument.arg for argument in every}
    if not isinstance(node, ast.Lambda):
        names |= set(bound(node.body))
        for child in node.body:
            for part in ast.walk(child):
                if isinstance(part, (ast.Nonlocal, ast.Global)):
                    names -= set(part.names)
    return names


class Checked(ast.NodeTransformer):
    """Has each place that reads a name look at its flag first."""

    def __init__(self, names: set[str], free: bool = False) -> None:
        self.names, self.free = names, free

    def visit_Name(self, node: ast.Name) -> Any:
        if not isinstance(node.ctx, ast.Load) or node.id not in self.names:
            return node
        return check(node.id, node, self.free)

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node

    def _scope(self, node: Any) -> Any:
        names = self.names - own_names(node)
        # From Python 3.12 on, comprehensions are a part of the function.
        inlined = isinstance(node, _COMPREHENSIONS[:3]) and sys.version_info >= (3, 12)
        return Checked(names, self.free or not inlined).generic_visit(node)

    visit_FunctionDef = visit_Lambda = _scope
    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _scope


def check(name: str, like: ast.AST, free: bool = False) -> ast.expr:
    """The value of a name, if it has one."""
    made = call("bound", load(name), load(FLAG + name), ast.Constant(name), ast.Constant(free))
    return place(made, like)


def flagged(body: list[ast.stmt], names: set[str]) -> list[ast.stmt]:
    """Statements without jumps, with flags for names."""
    reads = Checked(names)
    done: list[ast.stmt] = []
    for node in body:
        done += _flagged(node, names, reads)
    return done


def _flagged(node: Any, names: set[str], reads: Checked) -> list[ast.stmt]:
    if isinstance(node, ast.If):
        node.test = reads.visit(node.test)
        node.body, node.orelse = flagged(node.body, names), flagged(node.orelse, names)
        return [node]
    if isinstance(node, ast.While):
        node.test = reads.visit(node.test)
        node.body = flagged(node.body, names)
        return [node]
    if isinstance(node, ast.For):
        node.iter = reads.visit(node.iter)
        node.body = [*_set(bound([node.target]), names, True, node), *flagged(node.body, names)]
        return [node]
    if isinstance(node, ast.With):
        given = {n for item in node.items if item.optional_vars for n in bound([item.optional_vars])}
        node.items = [reads.visit(item) for item in node.items]
        node.body = [*_set(given, names, True, node), *flagged(node.body, names)]
        return [node]
    if isinstance(node, ast.Try):
        node.body, node.orelse = flagged(node.body, names), flagged(node.orelse, names)
        node.finalbody = flagged(node.finalbody, names)
        for handler in node.handlers:
            handler.type = handler.type and reads.visit(handler.type)
            handler.body = flagged(handler.body, names)
        return [node]
    before: list[ast.stmt] = []
    targets: list[Any] = [node.target] if isinstance(node, ast.AugAssign) else []
    targets = node.targets if isinstance(node, ast.Delete) else targets
    for part in targets:
        if isinstance(part, ast.Name) and part.id in names:
            before.append(place(ast.Expr(check(part.id, node)), node))
    is_deleted = isinstance(node, ast.Delete)
    changed = set(bound([node])) if not is_deleted else {t.id for t in targets if isinstance(t, ast.Name)}
    return [*before, reads.visit(node), *_set(changed, names, not is_deleted, node)]


def _set(changed: Any, names: set[str], value: bool, like: ast.AST) -> list[ast.stmt]:
    flags = [FLAG + name for name in sorted(set(changed) & names)]
    return [place(ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(value)), like) for flag in flags]


def starts(names: set[str], arguments: set[str], like: ast.AST) -> list[ast.stmt]:
    """The flags as the function begins."""
    bound_now = [(FLAG + name, name in arguments) for name in sorted(names)]
    return [
        place(ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(value)), like)
        for flag, value in bound_now
    ]
