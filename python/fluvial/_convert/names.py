"""Which names a block binds, and which of them are read later."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

#: Methods that may change the object they are called on: a hint that saves a second trace.
MUTATORS = frozenset(
    "append pop extend insert remove clear update setdefault popitem add discard reverse sort".split()
)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def dotted(node: ast.AST) -> str | None:
    """`x` or `x.y.z` as text, or nothing for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return base and f"{base}.{node.attr}"
    return None


def bound(nodes: Iterable[ast.AST]) -> dict[str, list[int]]:
    """The names that statements bind or delete in their own scope, with their lines."""
    found: dict[str, list[int]] = {}
    for node in nodes:
        _bound(node, found)
    return found


def changed(nodes: Iterable[ast.AST]) -> set[str]:
    """Names of objects that statements seem to change in place: `x[…] = …`, `x.append(…)`."""
    found: set[str] = set()
    for node in nodes:
        for inner in ast.walk(node):
            target: Any = None
            if isinstance(inner, ast.Subscript) and not isinstance(inner.ctx, ast.Load):
                target = inner.value
            elif isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
                target = inner.func.value if inner.func.attr in MUTATORS else None
            if isinstance(target, ast.Name):
                found.add(target.id)
    return found


def _note(found: dict[str, list[int]], name: str | None, line: int) -> None:
    if name and not name.startswith("__fl__"):
        lines = found.setdefault(name, [])
        if line not in lines:
            lines.append(line)


def _bound(node: ast.AST, found: dict[str, list[int]]) -> None:
    line = getattr(node, "lineno", 0)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        _note(found, node.name, line)
        return
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                _note(found, inner.target.id, line)
        return
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        _note(found, node.id, line)
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            _note(found, alias.asname or alias.name.split(".")[0], line)
    elif isinstance(node, ast.ExceptHandler):
        _note(found, node.name, line)
    for child in ast.iter_child_nodes(node):
        _bound(child, found)


def used(*nodes: ast.AST | None) -> set[str]:
    """The names that are read anywhere inside, nested functions included."""
    found: set[str] = set()
    for node in nodes:
        for inner in ast.walk(node) if node is not None else ():
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, (ast.Load, ast.Del)):
                found.add(inner.id)
            elif isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name):
                found.add(inner.target.id)
    return found


def always_live(body: list[ast.stmt]) -> set[str]:
    """Names that code elsewhere may read at any time: captured, global, nonlocal."""
    found: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                found.update(node.names)
            elif isinstance(node, _SCOPES):
                inner = node.body if isinstance(node.body, list) else [node.body]
                found |= used(*inner)
                for part in inner:
                    for declared in ast.walk(part):
                        if isinstance(declared, ast.Nonlocal):
                            found.update(declared.names)
            elif isinstance(node, ast.ClassDef):
                found |= used(*node.body)
    return found


class Liveness:
    """Notes at each `if`, loop and `try` which names are read after it (`live_out`) and which are read by a
    further trip of the loop, or by the handlers (`live_head`). It expects statements without jumps."""

    def __init__(self, always: set[str]) -> None:
        self.always = always

    def block(self, body: list[ast.stmt], live: set[str]) -> set[str]:
        """The names live before the statements, given those live after them."""
        for statement in reversed(body):
            live = self.statement(statement, live)
        return live

    def statement(self, node: Any, live: set[str]) -> set[str]:
        notes = node
        if isinstance(node, ast.If):
            notes.live_out = live | self.always
            return used(node.test) | self.block(node.body, live) | self.block(node.orelse, live)
        if isinstance(node, (ast.While, ast.For)):
            notes.live_out = live | self.always
            head = set(live) | set(notes.flags)
            while True:
                if isinstance(node, ast.While):
                    start = head | used(node.test)
                    before = start | self.block(node.body, start)
                else:
                    inner = self.block(node.body, head)
                    before = head | (inner - _plain_targets([node.target]))
                if before == head:
                    break
                head = before
            notes.live_head = head | self.always
            return head | used(node.iter) if isinstance(node, ast.For) else head
        if isinstance(node, ast.Try):
            reads = used(*node.handlers, *node.orelse, *node.finalbody) | live
            notes.live_out = live | self.always
            notes.live_head = reads | self.always
            outer, self.always = self.always, self.always | reads
            before = self.block(node.body, reads)
            for handler in node.handlers:
                before |= self.block(handler.body, reads)
            self.block(node.orelse, reads)
            self.block(node.finalbody, reads)
            self.always = outer
            return before | reads
        if isinstance(node, ast.With):
            items = {name for item in node.items for name in used(item.context_expr)}
            named = _plain_targets([item.optional_vars for item in node.items if item.optional_vars is not None])
            return items | live | (self.block(node.body, live) - named)
        if isinstance(node, ast.Assign):
            return (live - _plain_targets(node.targets)) | used(node.value, *node.targets)
        if isinstance(node, ast.AugAssign):
            return live | used(node.value, node.target) | set(bound([node.target]))
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            return (live - _plain_targets([node.target])) | used(node.value, node.target)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            return (live - {node.name}) | used(node)
        return live | used(node)


def _plain_targets(targets: list[ast.expr]) -> set[str]:
    """The names that an assignment certainly binds anew."""
    found: set[str] = set()
    for target in targets:
        if isinstance(target, ast.Name):
            found.add(target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            found |= _plain_targets(target.elts)
        elif isinstance(target, ast.Starred):
            found |= _plain_targets([target.value])
    return found
