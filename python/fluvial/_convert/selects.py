"""`with fl.Select() as s:` becomes the choice of a case, and an `if` with a branch for each.

What the `with` gives may be another object that looks the same: the run time asks, and then the statement is Python's own.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

from .expressions import call, load, place


class Cases:
    """A `with` whose block consists of `with s.case(...)` and `with s.default()`."""

    def __init__(self, node: ast.With, name: str) -> None:
        self.node, self.name = node, name
        self.blocks: list[ast.With] = []
        self.default: ast.With | None = None

    def add(self, block: ast.stmt) -> bool:
        """Whether a statement is a case, which is added then."""
        made = block.items[0].context_expr if isinstance(block, ast.With) and len(block.items) == 1 else None
        if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute):
            return False
        owner, verb = made.func.value, made.func.attr
        if not isinstance(owner, ast.Name) or owner.id != self.name:
            return False
        if verb == "default" and self.default is None and not made.args and not made.keywords:
            self.default = block  # type: ignore[assignment]
            return True
        if verb == "case":
            self.blocks.append(block)  # type: ignore[arg-type]
        return verb == "case"

    def call_of(self, block: ast.With) -> ast.Call:
        """`s.case(...)`."""
        made: Any = block.items[0].context_expr
        return made

    def target(self, block: ast.With) -> ast.expr | None:
        """The tensor that a case receives into, if it names one."""
        made = self.call_of(block)
        given = [keyword.value for keyword in made.keywords if keyword.arg == "value"]
        return made.args[2] if len(made.args) > 2 else next(iter(given), None)


def cases_of(node: ast.stmt) -> Cases | None:
    """The cases of a statement, if it may be a select."""
    if not isinstance(node, ast.With) or len(node.items) != 1:
        return None
    item = node.items[0]
    named = item.optional_vars or item.context_expr
    if not isinstance(named, ast.Name):
        return None
    found = Cases(node, named.id)
    return found if all(map(found.add, node.body)) and found.blocks else None


class Selects(ast.NodeTransformer):
    """Rewrites the selects of a function, and of those inside it."""

    def visit_With(self, node: ast.With) -> Any:
        self.generic_visit(node)
        cases = cases_of(node)
        if cases is None:
            return node
        place_text = f"{node.lineno}_{node.col_offset}"
        made, number = f"_fl_select{place_text}", f"_fl_number{place_text}"
        values, flags = f"_fl_values{place_text}", f"_fl_flags{place_text}"
        start = _assign(_store(made), node.items[0].context_expr)
        other = copy.deepcopy(node)
        other.items[0].context_expr = load(made)
        calls = ast.List([copy.deepcopy(cases.call_of(block)) for block in cases.blocks], ast.Load())
        has_default = ast.Constant(cases.default is not None)
        outcome = ast.Tuple([_store(name) for name in (number, values, flags)], ast.Store())
        take = _assign(outcome, call("selected", load(made), calls, has_default))
        rest = self._default(cases)
        for i, block in reversed(list(enumerate(cases.blocks))):
            body = [*_received(cases, block, i, values, flags), *block.body]
            test = ast.Compare(load(number), [ast.Eq()], [ast.Constant(i)])
            is_last = cases.default is None and i == len(cases.blocks) - 1
            rest = body if is_last else [place(ast.If(test, body, rest), block)]
        bound = [_assign(item, load(made)) for item in (node.items[0].optional_vars,) if item is not None]
        choice = ast.If(call("is_select", load(made)), [*bound, take, *rest], [other])
        return [place(start, node), place(choice, node)]

    def _default(self, cases: Cases) -> list[ast.stmt]:
        if cases.default is None:
            return []
        named = cases.default.items[0].optional_vars
        start = [] if named is None else [_assign(named, ast.Constant(None))]
        return [*start, *cases.default.body]


def _received(cases: Cases, block: ast.With, i: int, values: str, flags: str) -> list[ast.stmt]:
    """What is done with the message of a case before its block."""
    of = lambda name: ast.Subscript(load(name), ast.Constant(i), ast.Load())  # noqa: E731
    done: list[ast.stmt] = []
    target = cases.target(block)
    verb: Any = next(iter(cases.call_of(block).args), None)
    if target is not None and _names(verb) != "channel_send":
        # Only the run knows whether the case sends, if the verb has another name.
        fitting = f"_fl_fitting{block.lineno}_{block.col_offset}"
        looked = _assign(_store(fitting), call("fitting", copy.deepcopy(target), of(values)))
        put = ast.Attribute(copy.deepcopy(target), "copy_", ast.Load())
        into: list[ast.stmt] = [looked, ast.Expr(ast.Call(put, [load(fitting)], []))]
        if _names(verb) != "channel_recv":
            into = [ast.If(ast.Compare(of(values), [ast.IsNot()], [ast.Constant(None)]), into, [])]
        done += [place(part, block) for part in into]
    named = block.items[0].optional_vars
    if named is not None:
        done.append(place(_assign(named, call("message", of(values), of(flags))), block))
    return done


def _names(verb: Any) -> str | None:
    """The last name of `fl.channel_send`."""
    return verb.attr if isinstance(verb, ast.Attribute) else getattr(verb, "id", None)


def _assign(target: ast.expr, value: ast.expr) -> ast.stmt:
    return ast.Assign([target], value)


def _store(name: str) -> ast.expr:
    return ast.Name(name, ast.Store())
