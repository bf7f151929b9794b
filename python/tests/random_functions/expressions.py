"""Kind a: straight lines of ops over tensors of several shapes and element types."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np

import fluvial as fl

from .writing import Case

#: Inputs by name: element type and shape.
INPUTS = {
    "x": ("float32", (3,)),
    "y": ("float32", (2, 3)),
    "z": ("float64", (3,)),
    "i": ("int64", (3,)),
    "j": ("int32", (2, 3)),
    "b": ("bool", (3,)),
    "h": ("float16", (3,)),
    "u": ("uint8", (3,)),
    "e": ("float32", ()),
    "t": ("bfloat16", (2, 3)),
    "o": ("float32", (2, 1)),
}

UNARY = (
    "fl.tanh({})", "fl.exp({} * 0.25)", "fl.abs({})", "-{}", "fl.sqrt(fl.abs({}))", "fl.sigmoid({})", "fl.sin({})",
    "fl.floor({})", "fl.relu({})", "fl.square({})", "fl.round({})", "fl.sign({})", "fl.log1p(fl.abs({}))", "~({} > 0)",
    "fl.cumsum({}, axis=-1)", "fl.flip({}, [-1])", "fl.softmax({}, axis=-1)", "fl.sort({}, axis=-1)", "{}.astype('{dtype}')",
    "fl.cast({}, '{dtype}')", "fl.erf({})", "fl.clip({}, -1, 1)", "{} ** 2", "{} ** 0.5", "fl.reciprocal({})", "fl.isnan({})",
    "{} // 2", "{} % 3", "{} / 3", "2 - {}", "{} * 1.5", "{} + 1", "{} + True", "1.0 / {}", "{} << 1", "{} & 1", "abs({})",
    "fl.gelu({})", "fl.silu({})", "fl.trunc({})", "fl.expm1({})", "fl.logsumexp({}, axis=-1)", "fl.one_hot({}, 4)", "round({})",
)  # fmt: skip
REDUCE = (
    "fl.sum({})", "fl.mean({})", "fl.max({})", "fl.min({})", "fl.prod({})", "fl.argmax({}, axis=-1)", "fl.sum({}, axis=0)",
    "fl.any({})", "fl.all({})", "fl.std({})", "fl.var({}, axis=-1)", "fl.mean({}, axis=-1)", "fl.norm({})", "{}.sum()", "{}.mean()",
    "fl.count_nonzero({})", "fl.median({})", "fl.sum({}, axis=-1, keepdim=True)", "len({})", "{}.shape[-1]", "{}.ndim", "{}.size",
)  # fmt: skip
BINARY = (
    "{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} // {}", "{} % {}", "{} > {}", "{} == {}", "{} <= {}", "fl.maximum({}, {})",
    "fl.minimum({}, {})", "fl.where({} > 0, {}, 1.0)", "fl.where(b, {}, {})", "({} > 0) & ({} > 0)", "({} > 0) | ({} < 1)",
    "fl.stack([{}, {}], 0)", "fl.concat([{}, {}], 0)", "fl.matmul({}, fl.transpose({}))", "fl.pow({}, {})", "fl.atan2({}, {})",
    "{} ^ {}", "fl.outer({}, {})", "fl.dot({}, {})", "[{}, {}]", "({} if True else {})", "{} @ {}", "fl.remainder({}, {})",
)  # fmt: skip
SHAPE = (
    "fl.reshape({}, (-1,))", "fl.unsqueeze({}, 0)", "{}[0]", "{}[-1]", "{}[..., 1:]", "{}[None]", "{}[..., ::2]", "fl.transpose({})",
    "fl.tile({}, [2])", "fl.broadcast_to({}, (2, 3))", "fl.gather({}, fl.tensor([0, 1]))", "{}[i]", "{}[b]", "fl.roll({}, 1)",
    "{}.T", "fl.zeros_like({})", "fl.full_like({}, 2)", "fl.squeeze({})", "fl.topk({}, 2)", "fl.split({}, 3, axis=-1)[1]", "fl.pad({}, [1, 1])",
    "fl.arange({}.shape[0])", "fl.nonzero({})", "fl.unique({})", "fl.cumsum({}, axis=0)", "fl.repeat_interleave({}, 2)",
)  # fmt: skip


def _sample(dtype: str, shape: tuple) -> Any:
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 3
    return fl.cast(fl.tensor(values), dtype)


class Expressions:
    """Writes one function of kind a."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.tags: Counter = Counter()

    def expression(self, names: list[str]) -> str:
        kind = self.random.choices((UNARY, REDUCE, BINARY, SHAPE), (4, 2, 5, 2))[0]
        form = self.random.choice(kind)
        self.tags[form, "plain"] += 1
        form = form.replace(
            "{dtype}",
            self.random.choice(
                ("float32", "float64", "int64", "int32", "float16", "bool", "uint8")
            ),
        )
        while "{}" in form:
            name = self.random.choice(names[-4:] if self.random.random() < 0.6 else names)
            form = form.replace("{}", name, 1)
        return form

    def case(self) -> Case:
        """The whole text."""
        given = self.random.sample(list(INPUTS), self.random.randint(2, 4))
        given += [name for name in "bi" if name not in given]
        names, lines = list(given), []
        values = {"fl": fl} | {name: _sample(*INPUTS[name]) for name in given}
        for number in range(self.random.randint(3, 8)):
            expression = self.expression(names)
            for _ in range(20):
                try:
                    value = eval(expression, values)
                except Exception:
                    # A few of the lines that fail stay.
                    if self.random.random() < 0.01:
                        break
                    expression = self.expression(names)
                else:
                    values[f"v{number}"] = value
                    break
            lines.append(f"        v{number} = {expression}")
            names.append(f"v{number}")
        results = self.random.sample(names[len(given) :], min(3, len(lines)))
        text = [
            "import numpy as np\n\nimport fluvial as fl\n\n\ndef world(decorate):\n    @decorate",
            f"    def f({', '.join(given)}):",
            *lines,
            f"        return {', '.join(results)}",
            "\n    def arguments(call):\n        values = np.random.default_rng(call)\n        return [",
        ]
        wide = self.random.random() < 0.3
        for name in given:
            dtype, shape = INPUTS[name]
            if wide and shape == (3,) and name not in "bi":
                shape_text = "(3 + call,)"
            else:
                shape_text = str(shape)
            array = f"values.normal(size={shape_text}) * 2"
            if dtype in ("int64", "int32", "uint8"):
                array = f"values.integers(0, 3, size={shape_text})"
            text.append(f'            fl.cast(fl.tensor(np.asarray({array})), "{dtype}"),')
        text.append("        ]\n\n    def nothing(*_):\n        return {}")
        n_calls = self.random.randint(2, 3)
        text.append(f"\n    return f, arguments, nothing, nothing, nothing, {n_calls}")
        return Case("\n".join(text) + "\n", self.tags)
