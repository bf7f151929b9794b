"""The names that random functions use: how they begin, and how they change between calls.

The initial value of a place is an expression. Places of the closure live in `world`, arguments are made
by it, locals are bound at the head of the function.
"""

from __future__ import annotations

import re
from typing import NamedTuple

VECTORS = ("[1.5, -0.5, 2.0]", "[-1.0, 0.25, 0.5]", "[0.5, 3.0, -2.0]", "[-2.0, -1.0, -0.5]")


def vector(number: int = 0) -> str:
    """A tensor f32[3]."""
    return f"fl.tensor({VECTORS[number % len(VECTORS)]})"


class Place(NamedTuple):
    """A name with its initial value, and statements that change it between calls."""

    first: str
    changes: tuple[str, ...] = ()


LOCALS = {
    "a": Place("x * 1.0"),
    "b": Place("x - y"),
    "c": Place("fl.tanh(y)"),
    "n": Place("0"),
    "k": Place("0.5"),
    "flag": Place("False"),
    "rows": Place("[x + 1.0, y * 2.0]"),
    "named": Place('{"a": x * 2.0, "b": y + 1.0}'),
    "seen": Place("set()"),
    "queue": Place("collections.deque([x, y])"),
    "pair": Place("Pair(x + 2.0, 1)"),
    "point": Place("Point(x, y * 1.0)"),
    "own": Place("Model(y * 1.0)"),
    "notes": Place("[]"),
}

ARGUMENTS = {
    "x": Place(""),
    "y": Place(""),
    "m": Place("fl.tensor([[1.0, -2.0, 0.5], [0.5, 1.0, 2.0]])"),
    "j": Place("fl.tensor(2)"),
    "xs": Place(f"[{vector(1)}, {vector(2)}]", ("xs[0] = xs[0] * 2.0", "xs[1][0] = 4.0")),
    "ds": Place(f'{{"a": {vector(2)}, "k": 2}}', ('ds["a"] = ds["a"] + 1.0', 'ds["k"] = 3')),
    "arr": Place("np.array([1.0, -2.0, 3.0], np.float32)", ("arr[1] = 7.0",)),
    "po": Place(f"Pair({vector(3)}, 4)", ("po.b = po.b + 1", f"po.a = {vector(1)}")),
    "times": Place("2", ("times = 3",)),
    "how": Place('"up"', ('how = "down"',)),
}

CLOSURE = {
    "base": Place(vector(2), ("base = base * 2.0", "base[0] = -3.0")),
    "scale": Place("2.0", ("scale = scale + 1.5", "scale = 3")),
    "limit": Place("2", ("limit = limit + 1",)),
    "label": Place('"one"', ('label = "two"',)),
    "switch": Place("True", ("switch = not switch",)),
    "count": Place("0"),
    "act": Place("fl.tanh", ("act = fl.sin",)),
    "array": Place(
        "np.array([0.5, 1.5, -1.0], np.float32)", ("array[0] = 5.0", "array = array * 2")
    ),
    "items": Place(
        f"[{vector(0)}, {vector(1)}]",
        ("items[0] = items[0] * 3.0", f"items.append({vector(3)})", "items[1][2] = 8.0"),
    ),
    "table": Place(
        f'{{"w": {vector(1)}, "k": 2}}',
        ('table["w"] = table["w"] - 1.0', 'table["k"] = 5', 'table["w"][0] = 6.0'),
    ),
    "log": Place("[]"),
    "model": Place(
        f"Model({vector(3)})",
        ("model.h = model.h + 1.0", "model.cfg.w = 4.0", "model.count = 7", "model.h[1] = 2.0"),
    ),
    "drop": Place("fl.nn.Dropout(0.5)", ("drop.p = 0.25", "drop.eval()")),
    "shape": Place("(3,)", ()),
    "net": Place("fl.nn.Linear(3, 3)", ("net.weight.zero_grad()",)),
    "w": Place(f"{vector(0)}.track()"),
}

#: Definitions of a module, each used by those that name it.
DEFINITIONS = {
    "Config": """class Config:
    def __init__(self):
        self.w = 2.0""",
    "Model": """class Model:
    def __init__(self, h):
        self.h = h
        self.count = 0
        self.items = [h + 1.0]
        self.cfg = Config()

    @property
    def twice(self):
        return self.h * 2.0

    @twice.setter
    def twice(self, value):
        self.h = value * 0.5

    def step(self, v):
        self.h = self.h + v
        self.count += 1
        return self.h""",
    "Pair": """@dataclasses.dataclass
class Pair:
    a: object
    b: object""",
    "Point": 'Point = collections.namedtuple("Point", "u v")',
    "Failure": """class Failure(Exception):
    pass""",
    "total": """def total(result):
    parts = result.values() if isinstance(result, dict) else result
    parts = [result] if isinstance(result, fl.Tensor) else parts
    return sum(fl.sum(part) for part in parts)""",
}


#: The modules of Python that functions use.
MODULES = ("collections", "contextlib", "dataclasses", "functools", "math")


def header(text: str) -> str:
    """The imports and definitions that a text needs."""
    made: list[str] = []
    for name, definition in reversed(DEFINITIONS.items()):
        if re.search(rf"\b{name}\b", "\n".join([text, *made])):
            made.insert(0, definition)
    imports = "".join(f"import {module}\n" for module in MODULES) + "\nimport numpy as np\n\nimport fluvial as fl"
    return "\n\n\n".join([imports, *made])
