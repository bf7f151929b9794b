"""Statements become steps of small state machines that decide at run time.

An `if` is written as a loop that runs once if its test is plain, and once for each branch if the
test is a value of the program being built; the names that the branches bind are handed over at the
head of each pass. Loops are written in the same way. Nothing moves into an inner function, so
scopes, closures, `del` and unbound names stay Python's own.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

from .expressions import Expressions, call, can_move, later, load, place
from .lower import RESULT, RETURNED, correlated, lower_function
from .names import Liveness, always_live, bound, changed, used
from .regions import Meta
from .unbound import flagged, starts, unsure


#: Inside of so many control statements exceptions are followed one by one. Python allows twenty nested blocks.
MAX_TOLD = 3


class Emit(Expressions):
    """Rewrites one function, and the functions inside it."""

    def __init__(self, file: str, local: set[str], metas: list[Meta]) -> None:
        self.file, self.local, self.metas = file, local, metas
        self.n_names = self.n_around = 0
        self.globals: set[str] = set()
        #: Names from outside the function; they may hold tensors that the program has to take in.
        self.outside: set[str] = set()
        #: Those of them that the function binds.
        self.from_outside: set[str] = set()
        #: Names that other functions rebind: any call may change them.
        self.shared: set[str] = set()
        #: Names that the function is called with, and those for which zeros may stand.
        self.arguments: set[str] = set()
        self.filled: set[str] = set()
        #: Names for which zeros may stand where a `try` has not bound them yet.
        self.fillable: set[str] = set()

    def body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The rewritten statements of the function."""
        doc, body = body[: _has_doc(body)], body[_has_doc(body) :]
        if not body:
            return doc
        declared = self._look_at(body)
        own = self.local - self.globals - self.shared
        names, self.fillable = unsure(body, own, self.arguments)
        self.filled = self.fillable
        first = body[0]
        body = lower_function(body)
        if names:
            body = [*starts(names, self.arguments, first), *flagged(body, names)]
        if not correlated(body):
            self.filled = names
        Liveness(always_live(body)).block(body, set())
        return doc + self._declarations(declared, body[0]) + self.block(body)

    def _look_at(self, body: list[ast.stmt]) -> set[str]:
        """Notes which names of a function are not its own, and gives those that it declares to be so."""
        declared = _declared(body)
        self.from_outside = self.outside & declared
        for statement in body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Global):
                    self.globals.update(node.names)
                elif isinstance(node, ast.Nonlocal):
                    self.shared.update(node.names)
        self.shared &= self.local | self.outside
        return declared

    def _declarations(self, names: set[str], like: ast.AST) -> list[ast.stmt]:
        """Notes that the function binds names from outside, before it does."""
        found = sorted(names & self.outside)
        if not found:
            return []
        return [place(ast.Expr(call("binds", *map(ast.Constant, found))), like)]

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for statement in body:
            made = self.visit(statement)
            done += made if isinstance(made, list) else [made]
        return done

    def _inside(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The rewritten statements of a block of a control statement."""
        self.n_around += 1
        done = self.block(body)
        self.n_around -= 1
        return done

    def _name(self, kind: str) -> str:
        self.n_names += 1
        return f"_fl_{kind}{self.n_names}"

    def _meta(self, node: Any, parts: list, **more: Any) -> tuple[int, Meta]:
        lines = [bound(part) for part in parts]
        if self.shared and any(
            isinstance(x, ast.Call) for p in parts for n in p for x in ast.walk(n)
        ):
            for name in self.shared:
                lines[0].setdefault(name, [])
        names = sorted(set().union(*lines))
        live = {name for name in names if name in node.live_out}
        meta = Meta(self.file, node.lineno, tuple(names), frozenset(live), lines, **more)
        meta.fill = frozenset(({RESULT} | self.filled) & set(names))
        meta.globals = frozenset(name for name in names if name in self.globals)
        meta.changes = frozenset(changed(inner for part in parts for inner in part))
        self.metas.append(meta)
        return len(self.metas) - 1, meta

    def _enter(self, step: str, meta: Meta, like: ast.AST) -> list[ast.stmt]:
        """`if step.enter(locals()): a, b = step.values` and the names that are unbound then."""
        scope: list[ast.expr] = [call("locals"), *([call("globals")] if meta.globals else [])]
        entered = ast.Call(ast.Attribute(load(step), "enter", ast.Load()), scope, [])
        if not meta.names:
            return [ast.Expr(entered)]
        targets = [_store(name) for name in meta.names]
        values = ast.Attribute(load(step), "values", ast.Load())
        take: list[ast.stmt] = [ast.Assign([ast.Tuple(targets, ast.Store())], values)]
        for name in meta.names:
            lost = ast.Attribute(load(step), "lost", ast.Load())
            test = ast.Compare(ast.Constant(name), [ast.In()], [lost])
            take.append(ast.If(test, [ast.Delete([_store(name, ast.Del())])], []))
        return [ast.If(entered, take, [])]

    def _loop(self, step: str, make: ast.expr, body: list[ast.stmt], like: ast.AST):
        start = ast.Assign([ast.Name(step, ast.Store())], make)
        loop = ast.While(ast.Constant(True), body, [])
        for made in (start, loop):
            place(made, like)
        return [start, loop]

    def _done(self, step: str) -> ast.stmt:
        return ast.If(ast.Attribute(load(step), "done", ast.Load()), [ast.Break()], [])

    def _told(self, step: str, body: list[ast.stmt]) -> list[ast.stmt]:
        """`try: body`, `except: if not step.failed(): raise`: what raises in a block of the program raises as it runs."""
        if self.n_around > MAX_TOLD:
            return body or [ast.Pass()]
        failed = ast.Call(ast.Attribute(load(step), "failed", ast.Load()), [], [])
        test = ast.UnaryOp(ast.Not(), failed)
        handler = ast.ExceptHandler(None, None, [ast.If(test, [ast.Raise(None, None)], [])])
        return [ast.Try(body or [ast.Pass()], [handler], [], [])]

    def visit_If(self, node: Any):
        index, meta = self._meta(node, [node.body, node.orelse])
        step = self._name("if")
        branch = ast.Attribute(load(step), "branch", ast.Load())
        body, other = self._inside(node.body), self._inside(node.orelse)
        choice = ast.If(branch, body or [ast.Pass()], other)
        passes = [*self._enter(step, meta, node), self._done(step), *self._told(step, [choice])]
        make = call("If", ast.Constant(index), self.visit(node.test))
        return self._loop(step, make, passes, node)

    def visit_While(self, node: Any):
        parts = [[node.test, *node.body]]
        index, meta = self._meta(
            node, parts, head=frozenset(node.live_head), flags=tuple(node.flags)
        )
        meta.hints = _counters(node)
        meta.told = self.n_around <= MAX_TOLD
        step = self._name("while")
        asks = ast.Call(
            ast.Attribute(load(step), "asks", ast.Load()), [load(flag) for flag in node.flags], []
        )
        test = ast.Call(ast.Attribute(load(step), "test", ast.Load()), [self.visit(node.test)], [])
        passes: list[ast.stmt] = [ast.If(asks, [ast.Expr(test)], [])]
        body = self._inside(node.body)
        passes += [*self._enter(step, meta, node), self._done(step), *self._told(step, body)]
        return self._loop(step, call("While", ast.Constant(index)), passes, node)

    def visit_For(self, node: Any):
        target = ast.Assign([node.target], ast.Constant(None))
        parts = [[target, *node.body]]
        index, meta = self._meta(
            node, parts, head=frozenset(node.live_head), flags=tuple(node.flags)
        )
        for name in bound([target]):
            meta.parts[0].setdefault(name, []).append(node.lineno)
        meta.hints = _counters(node)
        meta.told = self.n_around <= MAX_TOLD
        step = self._name("for")
        asks = ast.Call(
            ast.Attribute(load(step), "asks", ast.Load()), [load(flag) for flag in node.flags], []
        )
        item = ast.Call(ast.Attribute(load(step), "item", ast.Load()), [], [])
        passes: list[ast.stmt] = [ast.Expr(asks), *self._enter(step, meta, node), self._done(step)]
        body = [*self.block([place(ast.Assign([node.target], item), node)]), *self._inside(node.body)]
        passes += self._told(step, body)
        make = call("For", ast.Constant(index), self.visit(node.iter))
        return self._loop(step, make, passes, node)

    def visit_Assert(self, node: ast.Assert):
        shown = [later(self.visit(copy.deepcopy(node.msg)))] if node.msg is not None else []
        test = call("check", self.visit(node.test), *shown)
        message = self.visit(node.msg) if node.msg is not None else None
        return place(ast.Assert(test, message), node)

    # Stores --------------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign):
        return self._assigned(node.targets, self.visit(node.value), node)

    def visit_AnnAssign(self, node: ast.AnnAssign):
        if node.value is None:
            return node
        return self._assigned([node.target], self.visit(node.value), node)

    def _assigned(self, targets: list[ast.expr], value: ast.expr, like: ast.AST) -> list[ast.stmt]:
        """`a = b = value`: names are bound, everything else is set by the run time."""
        if len(targets) == 1 and _only_names(targets[0]):
            return self._stored(targets[0], value, like)
        held = self._name("value")
        done: list[ast.stmt] = [place(ast.Assign([_store(held)], value), like)]
        for target in targets:
            done += self._stored(target, load(held), like)
        # A name of ours must not keep what the user's names let go.
        return [*done, place(ast.Delete([_store(held, ast.Del())]), like)]

    def _stored(self, target: Any, value: ast.expr, like: ast.AST) -> list[ast.stmt]:
        if isinstance(target, ast.Attribute):
            made = call("setattr", self.visit(target.value), ast.Constant(target.attr), value)
            return [place(ast.Expr(made), like)]
        if isinstance(target, ast.Subscript):
            made = call("setitem", value, self.visit(target.value), self.key(target.slice))
            return [place(ast.Expr(made), like)]
        if isinstance(target, (ast.Tuple, ast.List)):
            value = call("unpacked", value)
        if _only_names(target):
            starred = [part.value for part in ast.walk(target) if isinstance(part, ast.Starred)]
            done: list[ast.stmt] = [place(ast.Assign([target], value), like)]
            made_lists = [call("made", load(name.id)) for name in starred if isinstance(name, ast.Name)]
            return done + [place(ast.Expr(made), like) for made in made_lists]
        names, later = [], []
        for part in target.elts:
            inner = part.value if isinstance(part, ast.Starred) else part
            held = inner.id if isinstance(inner, ast.Name) else self._name("part")
            store: ast.expr = ast.Name(held, ast.Store())
            names.append(ast.Starred(store, ast.Store()) if inner is not part else store)
            if not isinstance(inner, ast.Name):
                later += self._stored(inner, load(held), like)
                later.append(place(ast.Delete([_store(held, ast.Del())]), like))
        return [place(ast.Assign([ast.Tuple(names, ast.Store())], value), like), *later]

    def visit_AugAssign(self, node: ast.AugAssign):
        target: Any = node.target
        value = ast.Lambda(_no_arguments(), self.visit(node.value))
        if not can_move(node.value):
            held = self._name("value")
            first = place(ast.Assign([ast.Name(held, ast.Store())], value.body), node)
            return [first, self._augmented(target, later(load(held)), node)]
        return self._augmented(target, value, node)

    def _augmented(self, target: Any, value: ast.expr, node: ast.AugAssign) -> ast.stmt:
        operator = ast.Constant(type(node.op).__name__)
        if isinstance(target, ast.Name):
            made = call("aug", operator, self.visit(place(load(target.id), node)), value)
            return place(ast.Assign([target], made), node)
        owner = self.visit(target.value)
        if isinstance(target, ast.Attribute):
            made = call("augattr", operator, owner, ast.Constant(target.attr), value)
        else:
            made = call("augitem", operator, owner, self.key(target.slice), value)
        return place(ast.Expr(made), node)

    def visit_Delete(self, node: ast.Delete):
        done: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                made = call("delattr", self.visit(target.value), ast.Constant(target.attr))
                done.append(place(ast.Expr(made), node))
            elif isinstance(target, ast.Subscript):
                made = call("delitem", self.visit(target.value), self.key(target.slice))
                done.append(place(ast.Expr(made), node))
            else:
                done.append(place(ast.Delete([target]), node))
        return done

    def visit_Try(self, node: Any):
        if not node.handlers:
            return self._finally(node)
        head = frozenset(node.live_head)
        index, meta = self._meta(node, [node.body, node.handlers, node.orelse], head=head)
        meta.live = frozenset(meta.names) & head
        meta.fill |= frozenset(meta.names) & self.fillable
        step, depth = self._name("try"), self._name("depth")
        caught = [copy.deepcopy(handler.type) or load("BaseException") for handler in node.handlers]
        kinds = later(self.visit(ast.Tuple(caught, ast.Load())))
        unwind = call("unwind", load(depth))
        handlers = []
        for handler in node.handlers:
            kind = self.visit(handler.type) if handler.type else None
            body: list[ast.stmt] = [place(ast.Expr(unwind), handler), *self.block(handler.body)]
            handlers.append(ast.copy_location(ast.ExceptHandler(kind, handler.name, body), handler))
        within = ast.With([ast.withitem(load(step), None)], [_if(step, "tries", self.block(node.body))])
        other = [_if(step, "passes", self.block(node.orelse))] if node.orelse else []
        start = ast.Assign([ast.Name(depth, ast.Store())], call("depth"))
        statement = _if(step, "branch", [start, ast.Try([within], handlers, other, [])])
        passes = [*self._enter(step, meta, node), self._done(step), *self._told(step, [statement])]
        make = call("Try", ast.Constant(index), kinds, ast.Constant(bool(node.orelse)))
        return self._loop(step, make, passes, node)

    def _finally(self, node: Any):
        """The body and what follows it stand there twice: for a program that goes on, and as Python's own."""
        head = frozenset(node.live_head)
        index, meta = self._meta(node, [node.body, node.finalbody], head=head)
        meta.live = frozenset(meta.names) & head
        meta.fill |= frozenset(meta.names) & self.fillable
        step = self._name("finally")
        twice = [copy.deepcopy(part) for part in (node.body, node.finalbody)]
        within = [ast.With([ast.withitem(load(step), None)], self.block(body)) for body in (node.body, twice[0])]
        plain = ast.Try([within[0]], [], [], self.block(node.finalbody))
        ends = ast.Expr(ast.Call(ast.Attribute(load(step), "ends", ast.Load()), [], []))
        behind: list[ast.stmt] = [*self.block(twice[1]), ends]
        tried = ast.Attribute(load(step), "attempt", ast.Load())
        goes_on = ast.If(tried, [within[1]], behind)
        choice = ast.If(ast.Attribute(load(step), "is_plain", ast.Load()), [plain], [goes_on])
        passes = [*self._enter(step, meta, node), self._done(step), choice]
        return self._loop(step, call("Finally", ast.Constant(index)), passes, node)

    def visit_With(self, node: ast.With):
        items = [self.visit(item) for item in node.items]
        return ast.copy_location(ast.With(items, self.block(node.body)), node)

    def visit_FunctionDef(self, node: Any):
        node.decorator_list = [self.visit(part) for part in node.decorator_list]
        node.args = self.visit(node.args)
        inner = emit_of(node)(self.file, local_names(node), self.metas)
        inner.globals = set(self.globals)
        # A name that a function around it binds is not from outside.
        inner.outside = self.outside - (self.local - self.from_outside)
        inner.arguments = argument_names(node)
        node.body = [*noted_options(node), *inner.body(node.body)]
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef):
        return node

    def visit_ClassDef(self, node: ast.ClassDef):
        """Methods are converted, except those that Python itself calls, such as `__init__`."""
        own = [x for x in node.body if isinstance(x, ast.FunctionDef) and not x.name.startswith("__")]
        node.body = [self.visit(x) if x in own else x for x in node.body]
        return node


class Plain(Emit):
    """Rewrites a generator: what it reads, calls and changes is followed; its control flow is Python's, since a block of the
    program cannot be left in between."""

    def body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        doc, body = body[: _has_doc(body)], body[_has_doc(body) :]
        if not body:
            return doc
        declared = self._look_at(body)
        return doc + self._declarations(declared, body[0]) + self.block(body)

    def _parts(self, node: Any) -> Any:
        """The statement, with its blocks and expressions rewritten."""
        for name, value in ast.iter_fields(node):
            if name == "iter":
                node.iter = self._at(call("items", self.visit(value)), value)
            elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, name, self.block(value))
            elif isinstance(value, list):
                setattr(node, name, [self.visit(part) if isinstance(part, ast.AST) else part for part in value])
            elif isinstance(value, ast.AST) and name not in ("target", "pattern"):
                setattr(node, name, self.visit(value))
        return node

    def visit_With(self, node: ast.With) -> Any:
        for item in node.items:
            item.context_expr = place(call("managed", item.context_expr), node)
        return super().visit_With(node)

    def _tested(self, node: Any) -> Any:
        node.test = place(call("plain_test", node.test), node.test)
        return self._parts(node)

    visit_If = visit_While = _tested
    visit_For = visit_Try = visit_ExceptHandler = visit_Match = visit_match_case = _parts


def emit_of(node: Any) -> type[Emit]:
    """What rewrites a function."""
    return Plain if is_generator(node) else Emit


def _declared(body: list[ast.stmt]) -> set[str]:
    """The names that a function says are global or those of a function around it."""
    found: set[str] = set()
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            found.update(node.names)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            stack += ast.iter_child_nodes(node)
    return found


def noted_options(node: Any) -> list[ast.stmt]:
    """Notes that the dict of a function's `**options` is new."""
    if node.args.kwarg is None:
        return []
    return [place(ast.Expr(call("made", load(node.args.kwarg.arg))), node)]


def is_generator(node: Any) -> bool:
    """Whether a function yields."""
    stack = list(node.body) if isinstance(node.body, list) else [node.body]
    while stack:
        inner = stack.pop()
        if isinstance(inner, (ast.Yield, ast.YieldFrom, ast.Await)):
            return True
        if not isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            stack += ast.iter_child_nodes(inner)
    return False


def argument_names(node: Any) -> set[str]:
    """The names that a function is called with."""
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [part for part in (arguments.vararg, arguments.kwarg) if part]
    return {argument.arg for argument in every}


def local_names(node: Any) -> set[str]:
    """The names that a function may rebind: arguments, names it binds, nonlocal and global ones."""
    names = argument_names(node)
    for inner in node.body if isinstance(node.body, list) else [node.body]:
        for part in ast.walk(inner):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                names.add(part.id)
            elif isinstance(part, (ast.Global, ast.Nonlocal)):
                names.update(part.names)
            elif isinstance(part, (ast.MatchAs, ast.MatchStar)) and part.name:
                names.add(part.name)
            elif isinstance(part, ast.MatchMapping) and part.rest:
                names.add(part.rest)
    return names


def _counters(node: ast.While | ast.For) -> frozenset[str]:
    """Names whose next value a loop computes from the last one: numbers among them will change."""
    found: set[str] = set()
    for statement in node.body:
        for inner in ast.walk(statement):
            if isinstance(inner, ast.AugAssign):
                found |= set(bound([inner.target]))
            elif isinstance(inner, ast.Assign):
                found |= set(bound(inner.targets)) & used(inner.value)
    return frozenset(found)


def _if(step: str, attribute: str, body: list[ast.stmt]) -> ast.stmt:
    """`if step.attribute: body`."""
    return ast.If(ast.Attribute(load(step), attribute, ast.Load()), body, [])


def _store(name: str, context: ast.expr_context | None = None) -> ast.expr:
    return ast.Name(name, context or ast.Store())


def _only_names(target: ast.expr) -> bool:
    """Whether a target binds names and nothing else."""
    if isinstance(target, ast.Starred):
        return _only_names(target.value)
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(map(_only_names, target.elts))
    return isinstance(target, ast.Name)


def _no_arguments() -> ast.arguments:
    return ast.arguments([], [], None, [], [], None, [])


def _has_doc(body: list[ast.stmt]) -> int:
    value = body[0].value if isinstance(body[0], ast.Expr) else None
    return int(isinstance(value, ast.Constant) and isinstance(value.value, str))


__all__ = ["RETURNED", "Emit", "argument_names", "emit_of", "is_generator", "local_names", "noted_options"]
