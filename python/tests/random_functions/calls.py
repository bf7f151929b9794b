"""Writes random functions whose calls differ in sizes, numbers, keywords and objects."""

from __future__ import annotations

import re

from .forms_calls import CALLS
from .places import header
from .writing import NAME, Writer

#: Elements of which calls take as many as they need.
ELEMENTS = "[1.5, -0.5, 2.0, -1.0, 0.25, 3.0]"
#: The sizes of the vectors in the calls of one function.
SIZES = ((3, 5, 4, 3), (4, 4, 2, 4), (3, 3, 3, 3), (2, 3, 4, 5), (5, 4, 4, 6), (1, 3, 1, 4))
#: Keywords, with what each call gives for them; those that are not used are not given.
KEYWORDS = {
    "times": ("2", "2 + call", "[2, 3, 2, 5][call]"),
    "rate": ("0.5", "0.5 + 0.25 * call", "[0.5, 1, 0.5, 2.0][call]"),
    "how": ('"up"', '["up", "down", "up", "side"][call]'),
    "po": ("Pair(fl.tensor(0.5), 4)", "Pair(fl.tensor(0.5 + call), 4 + call)", "Pair(fl.tensor(1.5), [4, 2, 4, 2][call])"),
    "ds": ('{"a": fl.tensor(1.5), "k": 2}', '{"a": fl.tensor(0.5 * call), "k": 2 + call}'),
    "j": ("fl.tensor(2)", "fl.tensor(1 + call)"),
}
#: Keywords that a function takes without a name of their own.
MORE = ('"z": 2.0', '"z": 2.0 + call', '"shift": 1.0', '"shift": fl.tensor(0.5 * call)')
DEFAULTS = {"times": "2", "rate": "0.5", "how": '"up"'}


class CallsWriter(Writer):
    """Writes one function of kind f."""

    def __init__(self, seed: str) -> None:
        super().__init__(seed, CALLS)

    def module(self, helpers: list[list[str]]) -> str:
        """The text of a module around the lines of the function."""
        text = "\n".join([*self.lines, *(line for lines in helpers for line in lines)])
        ready = [part for part in self.kind.helpers if f"{_name(part)}(" in text]
        used = set(NAME.findall("\n".join([text, *ready])))
        names = [name for name in KEYWORDS if name in used]
        keywords = [f"{name}={DEFAULTS[name]}" if name in DEFAULTS else name for name in names]
        parameters = ["x", "y", "m", "*rest" if "rest" in used else "*", *keywords, "**more"]
        if parameters[3] == "*" and not keywords:
            del parameters[3]
        lines = ["def world(decorate):", "    log = []"]
        if "factor" in used:
            lines += ["    @functools.lru_cache", "    def factor(n):", "        return n * 0.5"]
        lines += ["    " + line for part in ready for line in part.split("\n")]
        for body in helpers:
            outer = [f"{name}={KEYWORDS[name][0]}" for name in names]
            outer += ["m=fl.tensor([[1.0, 2.0]])", "rest=()", "more={}"]
            lines += ["", *self.function("helper", ["x", "y", *outer], body, [])]
        lines += ["", "    @decorate", *self.function("f", parameters, self.lines, [])]
        lines += ["", "    def called(*given):", "        return f(*given[:-1], **given[-1])", "", "    called.of = f"]
        lines += ["", "    def arguments(call):", f"        n = {self.pick(SIZES)}[call]"]
        for name, sign in (("x", ""), ("y", "-0.5 * ")):
            lines.append(f"        {name} = {sign}fl.tensor({ELEMENTS}[:n])")
        lines.append(f"        m = fl.stack([x + {self.pick(('1.0', 'call'))}, y * 2.0], 0)")
        rest = self.pick(("[]", "[fl.tensor(2.0), 3.0]", "[fl.tensor(0.5)] * call", "[1.0 + call]"))
        lines.append(f"        rest = {rest if 'rest' in used else '[]'}")
        pairs = [f'"{name}": {self.pick(KEYWORDS[name])}' for name in names]
        more = self.random.sample(MORE, self.random.randint(0, 2)) if "more" in used else []
        pairs += [pair for i, pair in enumerate(more) if pair[:4] not in [other[:4] for other in more[:i]]]
        lines.append(f"        named = {{{', '.join(pairs)}}}")
        if self.chance(0.5):
            lines.append("        named = dict(reversed(named.items())) if call % 2 else named")
        for name in names:
            if name in DEFAULTS and self.chance(0.3):
                lines.append(f'        if call == {self.random.randint(0, 2)}:\n            del named["{name}"]')
        lines += ["        return [x, y, m, *rest, named]", "", "    def change(call):", "        pass"]
        lines += ["", "    def after(result, given):", "        pass", "", "    def watch():"]
        lines.append('        return {"log": log}')
        n_calls = self.random.randint(*self.kind.n_calls)
        lines += ["", f"    return called, arguments, change, after, watch, {n_calls}"]
        whole = "\n".join(lines) + "\n"
        return f"{header(whole)}\n\n\n{whole}"


def _name(helper: str) -> str:
    found = re.search(r"def (\w+)\(", helper)
    assert found is not None
    return found[1]
