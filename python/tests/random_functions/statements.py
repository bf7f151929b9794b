"""Random statements from tables of forms.

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


@dataclass
class Kind:
    """What a kind of function is made of: forms by the hazard that they are."""

    forms: dict[str, tuple[str, ...]]
    #: How often one statement is a form, an assignment or a compound statement.
    weights: tuple[int, int, int] = (5, 3, 3)
    results: tuple[str, ...] = ("{t}",)
    helpers: tuple[str, ...] = ()
    places: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: The probability that an `if` or a loop is one of the run.
    symbolic: float = 0.65
    n_statements: tuple[int, int] = (2, 5)
    #: What is done with a result, outside of the function.
    after: tuple[str, ...] = ()
    n_calls: tuple[int, int] = (2, 3)
    #: The probability that a function has few hazards, which then do not hide each other.
    focus: float = 0.0


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


class Statements:
    """The lines of a function of a kind, as they are written."""

    def __init__(self, seed: str, kind: Kind) -> None:
        self.random, self.kind = random.Random(seed), kind
        self.lines: list[str] = []
        self.indent, self.n_names = 0, 0
        self.context: list[str] = []
        self.tags: Counter = Counter()
        self.in_helper = False
        #: Everything that the function returns has this form.
        self.result = self.pick(kind.results)
        self.forms, self.places = list(kind.forms), kind.places
        if kind.focus and self.chance(kind.focus):
            self.forms = self.random.sample(self.forms, 2)
            self.places = {name: self.random.sample(more, 1) for name, more in kind.places.items()}
            self.result = self.pick((self.result, "a * 1.0, n", "a + b, k", "fl.sum(a + b + c)"))

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
                forms = VECTOR_FORMS if depth < 2 else ("{t}",)
            elif name == "q":
                forms = RUN_TESTS if depth < 2 else RUN_TESTS[:3]
            elif name == "p":
                forms = PYTHON_TESTS
            elif name not in PLACES:
                return match[0]
            else:
                forms = (*PLACES[name], *self.places.get(name, ()))
            return self.filled(self.pick(forms), depth + 1, new)

        return re.sub(r"\{(\w+)\}", slot, form)

    def form(self) -> None:
        """One statement of the kind's table."""
        tag = self.pick(self.forms)
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
            jumps = [
                "return " + self.filled("{v}" if self.in_helper else self.result)
            ] + 2 * in_loop * ["break", "continue"]
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
