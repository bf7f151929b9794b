"""Writes a random function, and the world in which it is called."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from .places import ARGUMENTS, CLOSURE, LOCALS, VECTORS, header
from .statements import Statements

NAME = re.compile(r"(?<![\w.\"'])([A-Za-z_]\w*)")


@dataclass
class Case:
    """The text of a case, and how often it has each hazard in each surrounding."""

    text: str
    tags: Counter


class Writer(Statements):
    """Writes one function of a kind."""

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
                self.put(
                    self.pick(("a = helper(a, b)", "b = b + helper(x, c)", "c = helper(y, y)"))
                )
        self.put("return " + self.filled(self.result))
        return Case(self.module(helpers), self.tags)

    def function(
        self, name: str, parameters: list[str], body: list[str], closure: list[str]
    ) -> list[str]:
        """A definition: the locals that the body uses are bound at its head."""
        text = "\n".join(body)
        used = set(NAME.findall(text))
        heads = [
            f"        {local} = {place.first}" for local, place in LOCALS.items() if local in used
        ]
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
        watched = [*outer, "unit"] if "unit" in used else outer
        lines = ["def world(decorate):"]
        lines += [f"    {name} = {(CLOSURE.get(name) or ARGUMENTS[name]).first}" for name in outer]
        lines += ["    " + line for part in ready for line in part.split("\n")]
        for body in helpers:
            lines += ["", *self.function("helper", ["x", "y"], body, outer)]
        if "unit" in used:
            inner = self.function("f", ["self", *arguments], self.lines, closure)
            lines += [
                "",
                "    class Unit(Model):",
                "        @decorate",
                *("    " + line for line in inner),
            ]
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
