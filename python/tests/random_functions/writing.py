"""Writes a random function from tables of forms.

A *form* is a statement with slots in braces: `{v}` a vector, `{t}` a place that holds a vector, `{s}` a
scalar, `{q}` a test that only the run knows, `{p}` a test of Python values, `{num}` a number, `{list}`,
`{dict}`, `{obj}` containers, `{new}` a fresh name. Each slot is filled with whatever place there is, so a
form stands for itself in every place, branch, loop and helper.
"""

from __future__ import annotations

import contextlib
import random
import re
from collections import Counter
from dataclasses import dataclass, field

from .places import ARGUMENTS, CLOSURE, LOCALS, VECTORS, header


@dataclass
class Case:
    """The text of a case, and how often it has each hazard in each surrounding."""

    text: str
    tags: Counter


@dataclass
class Kind:
    """What a kind of function is made of: forms by name, each with a weight."""

    forms: dict[str, tuple[str, ...]]
    #: How often one statement is a form, an assignment or a compound statement.
    weights: tuple[int, int, int] = (5, 3, 3)
    results: tuple[str, ...] = ("{t}",)
    helpers: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ()
    places: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: The probability that an `if` or a loop is one of the run.
    symbolic: float = 0.65
    n_statements: tuple[int, int] = (2, 5)
    #: What is done with a result, outside of the function.
    after: tuple[str, ...] = ()
    n_calls: tuple[int, int] = (2, 3)


PLACES = {
    "t": ("a", "b", "c"),
    "num": ("n", "k"),
    "list": ("rows",),
    "dict": ("named",),
    "obj": ("pair",),
}

VECTOR_FORMS = (
    "{t} + {t}",
    "{t} * 0.5",
    "fl.tanh({t})",
    "{t} - {s}",
    "fl.maximum({t}, {t})",
    "{t} * {s}",
    "({t} if {q} else {t})",
    "{t}",
)

RUN_TESTS = (
    "fl.sum({t}) > {f}",
    "{t}[0] < {t}[1]",
    "fl.mean({t}) <= {f}",
    "-1.0 < fl.sum({t}) < 4.0",
    "not (fl.max({t}) > {f})",
    "({q} and {t}[2] > {f})",
    "({q} or {p})",
)

PYTHON_TESTS = ("n < 2", "k > 0.6", "n % 2 == 0", "not flag", "0 <= n < 3", "(n == 1 or k > 1)")

NAME = re.compile(r"(?<![\w.\"'])([A-Za-z_]\w*)")


class Writer:
    """Writes one function of a kind."""

    def __init__(self, seed: str, kind: Kind) -> None:
        self.random, self.kind = random.Random(seed), kind
        self.lines: list[str] = []
        self.indent, self.n_names, self.n_open = 0, 0, 0
        self.context: list[str] = []
        self.tags: Counter = Counter()
        self.in_helper = False
        #: All that is returned has one form, which few functions are without.
        self.result = self.pick(kind.results)

    def pick(self, choices):
        return self.random.choice(choices)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def fresh(self, stem: str = "z") -> str:
        self.n_names += 1
        return f"{stem}{self.n_names}"

    def put(self, text: str) -> None:
        self.lines += ["    " * self.indent + line for line in text.split("\n")]

    @contextlib.contextmanager
    def block(self, head: str, surrounding: str | None = None):
        """The lines inside are the block of a compound statement."""
        self.put(head)
        self.indent += 1
        if surrounding:
            self.context.append(surrounding)
        yield
        if surrounding:
            self.context.pop()
        self.indent -= 1

    def mark(self, tag: str) -> None:
        """Notes that a hazard stands here."""
        around = set(self.context) | ({"helper"} if self.in_helper else set())
        for name in around or {"plain"}:
            self.tags[tag, name] += 1

    def filled(self, form: str, depth: int = 0, new: str = "") -> str:
        """A form with its slots filled."""

        def slot(match) -> str:
            name = match[1]
            if name == "new":
                return new
            if name == "f":
                return repr(round(self.random.uniform(-2, 2), 1))
            if name == "i":
                return str(self.random.randrange(3))
            if name == "s":
                forms = ("{f}", "{f}", "{num}", "fl.sum({t})", "{t}[{i}]")
            elif name == "v":
                every = VECTOR_FORMS + self.kind.vectors * 2
                forms = every if depth < 2 else ("{t}",)
            elif name == "q":
                forms = RUN_TESTS if depth < 2 else RUN_TESTS[:3]
            elif name == "p":
                forms = PYTHON_TESTS
            elif name not in PLACES:
                return match[0]
            else:
                forms = PLACES[name] + self.kind.places.get(name, ())
            return self.filled(self.pick(forms), depth + 1, new)

        return re.sub(r"\{(\w+)\}", slot, form)

    def form(self) -> None:
        """One statement of the kind's table."""
        tag = self.pick(list(self.kind.forms))
        text = self.filled(self.pick(self.kind.forms[tag]), new=self.fresh())
        self.mark(tag)
        self.put(text)

    def statement(self, depth: int, in_loop: bool = False) -> None:
        weights = self.kind.weights if depth < 3 else (*self.kind.weights[:2], 0)
        what = self.random.choices(("form", "assign", "compound"), weights)[0]
        if what == "form":
            self.form()
        elif what == "assign":
            target = "{t}" if self.chance(0.3) else self.pick("abc")
            sign = self.pick(("=", "=", "=", "+=", "*="))
            self.put(f"{self.filled(target)} {sign} {self.filled('{v}')}")
        else:
            self.compound(depth, in_loop)

    def body(self, depth: int, in_loop: bool = False) -> None:
        for _ in range(self.random.randint(1, 2)):
            self.statement(depth, in_loop)

    def compound(self, depth: int, in_loop: bool) -> None:
        symbolic = self.chance(self.kind.symbolic)
        what = self.pick(("if", "if", "if", "while", "for", "for", "try", "jump"))
        if what == "if":
            with self.block(f"if {self.test(symbolic)}:", "branch" if symbolic else None):
                self.body(depth + 1, in_loop)
            if self.chance(0.25):
                with self.block(f"elif {self.test(symbolic)}:", "branch" if symbolic else None):
                    self.body(depth + 1, in_loop)
            if self.chance(0.4):
                with self.block("else:", "branch" if symbolic else None):
                    self.body(depth + 1, in_loop)
        elif what == "while":
            name = self.fresh("i")
            self.put(f"{name} = 0")
            around = "loop" if symbolic else None
            with self.block(f"while {name} < {self.pick('23')} and {self.test(symbolic)}:", around):
                self.put(f"{name} += 1")
                self.body(depth + 1, True)
            self.otherwise(depth)
        elif what == "for":
            self.loop(depth, symbolic)
        elif what == "try":
            with self.block("try:"):
                self.body(depth + 1, in_loop)
            with self.block("finally:"):
                self.put(self.filled("{num} += 1"))
        else:
            jumps = ["return " + self.filled("{v}" if self.in_helper else self.result)] + 2 * in_loop * ["break", "continue"]
            with self.block(f"if {self.test(symbolic)}:", "branch" if symbolic else None):
                self.body(depth + 2, in_loop)
                self.put(self.pick(jumps))

    def test(self, symbolic: bool) -> str:
        return self.filled("{q}" if symbolic else "{p}")

    def loop(self, depth: int, symbolic: bool) -> None:
        name = self.fresh("r")
        target = self.pick("abc")
        if not symbolic:
            heads = [f"for {name} in range(2):", f"for {name} in [1.0, {self.filled('{t}')}]:"]
        else:
            heads = [f"for {name} in m:", f"for {name} in range(j):", f"for {name} in x:"]
        with self.block(self.pick(heads), "loop" if symbolic else None):
            if self.chance(0.7):
                self.put(f"{target} = {target} + {name}")
            self.body(depth + 1, True)
        self.otherwise(depth)

    def otherwise(self, depth: int) -> None:
        if self.chance(0.15):
            with self.block("else:"):
                self.body(depth + 1)

    def helper(self) -> None:
        """A function of the world, which the function calls with vectors."""
        self.in_helper = True
        for _ in range(self.random.randint(1, 2)):
            self.statement(1)
        self.put(f"return {self.pick(('a', 'x', 'b', 'a + y'))}")
        self.in_helper = False

    def case(self) -> Case:
        """The whole text."""
        self.indent = 2
        helpers: list[list[str]] = []
        if self.chance(0.4):
            self.helper()
            helpers.append(self.lines)
            self.lines = []
        for _ in range(self.random.randint(*self.kind.n_statements)):
            self.statement(0)
            if helpers and self.chance(0.5):
                self.put(self.pick(("a = helper(a, b)", "b = b + helper(x, c)", "c = helper(y, y)")))
        self.put("return " + self.filled(self.result))
        return Case(self.module(helpers), self.tags)

    def function(self, name: str, parameters: list[str], body: list[str], closure: list[str]) -> list[str]:
        """A definition: the locals that the body uses are bound at its head."""
        text = "\n".join(body)
        used = set(NAME.findall(text))
        heads = [f"        {local} = {place.first}" for local, place in LOCALS.items() if local in used]
        changed = [outer for outer in closure if re.search(rf"^\s*{outer} [-+*/|]?= ", text, re.M)]
        if changed:
            heads.insert(0, f"        nonlocal {', '.join(changed)}")
        return [f"    def {name}({', '.join(parameters)}):", *heads, *body]

    def module(self, helpers: list[list[str]]) -> str:
        """The text of a module around the lines of the function."""
        text = "\n".join([*self.lines, *(line for lines in helpers for line in lines)])
        ready = [part for part in self.kind.helpers if f"{part[4 : part.index('(')]}(" in text]
        used = set(NAME.findall("\n".join([text, *ready])))
        if "self" in used:
            # The function is a method then, and its helpers know the object by its name.
            used.add("unit")
            helpers = [[re.sub(r"\bself\b", "unit", line) for line in lines] for lines in helpers]
        closure = [name for name in CLOSURE if name in used]
        arguments = ["x", "y", *(name for name in ARGUMENTS if name in used and name not in "xy")]
        changed = self.changes(closure, arguments)
        outer = [*closure, *arguments[2:]]
        watched = [*closure, *("unit" for _ in range("unit" in used))]
        lines = ["def world(decorate):"]
        lines += [f"    {name} = {(CLOSURE.get(name) or ARGUMENTS[name]).first}" for name in outer]
        lines += ["    " + line for part in ready for line in part.split("\n")]
        for body in helpers:
            lines += ["", *self.function("helper", ["x", "y"], body, outer)]
        if "unit" in used:
            inner = self.function("f", ["self", *arguments], self.lines, closure)
            lines += ["", "    class Unit(Model):", "        @decorate", *("    " + line for line in inner)]
            lines += ["", f"    unit = Unit({CLOSURE['base'].first})", "    f = unit.f"]
        else:
            lines += ["", "    @decorate", *self.function("f", arguments, self.lines, closure)]
        lines += ["", "    def arguments(call):"]
        rows = ", ".join(VECTORS), ", ".join(reversed(VECTORS))
        lines += [f"        x = fl.tensor([{rows[0]}][call]{self.tracked('x')}"]
        lines += [f"        y = fl.tensor([{rows[1]}][call]{self.tracked('y')}"]
        lines += [f"        return [{', '.join(arguments)}]", "", "    def change(call):"]
        if outer:
            lines.append(f"        nonlocal {', '.join(outer)}")
        lines += [f"        {line}" for line in changed] or ["        pass"]
        lines += ["", "    def after(result, given):", *self.after(), "", "    def watch():"]
        lines.append("        return {" + ", ".join(f'"{name}": {name}' for name in watched) + "}")
        n_calls = self.random.randint(*self.kind.n_calls)
        lines += ["", f"    return f, arguments, change, after, watch, {n_calls}"]
        text = "\n".join(lines) + "\n"
        return f"{header(text)}\n\n\n{text}"

    def tracked(self, name: str) -> str:
        return ").track()" if self.kind.after and (name == "x" or self.chance(0.5)) else ")"

    def after(self) -> list[str]:
        text = self.pick(self.kind.after) if self.kind.after else "pass"
        return [f"        {line}" for line in text.split("\n")]

    def changes(self, closure: list[str], arguments: list[str]) -> list[str]:
        """What changes between calls: about half of what can."""
        lines = []
        for name in (*closure, *arguments):
            changes = (CLOSURE.get(name) or ARGUMENTS[name]).changes
            if changes and self.chance(0.6):
                lines.append(self.pick(changes))
                if "=" in lines[-1]:
                    self.mark(f"changed between calls: {name}")
        return lines
