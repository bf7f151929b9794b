"""Arguments: what a function is made for, and what it is not."""

from __future__ import annotations

import itertools
import random
import re
from typing import Any

import numpy as np

import fluvial as fl

#: Numbers that are counts, sizes and axes nowhere.
HUGE = [2**31 - 1, 2**31, 2**32, 2**40, 2**53, 2**62, 2**63 - 1, 2**63, 2**64, 10**30, -(2**31), -(2**40), -(2**62), -(2**63), -(2**63) - 1]
FLOATS = [0.0, -0.0, 1.0, -1.5, 0.5, 1e-3, 1e308, -1e308, 5e-324, float("nan"), float("inf"), float("-inf")]
WORDS = ["", "x", "mean", "sum", "none", "f32", "f32[n]", "f32[2, 3]", "float64", "same", "reflect", "a.npy", "m.safetensors", "p.fl", "no/such/file", "%d", "\0", "é" * 50, "x" * 5000, "{}", "[", "-1", "n*n*m"]
DTYPES = [fl.float32, fl.float64, fl.float16, fl.bfloat16, fl.int64, fl.int32, fl.int8, fl.uint8, fl.bool]
SHAPES = [(), (0,), (1,), (3,), (0, 3), (3, 0), (2, 3), (3, 3), (2, 3, 4), (1, 3, 8), (2, 3, 8, 8), (1, 2, 4, 4, 4), (1, 1, 1, 1, 1, 1, 1, 2)]

#: With memory nearly used up: some of a few megabytes, of which the second or third does not fit.
LARGE = [(1 << 20,), (1 << 10, 1 << 10), (1 << 19,)]


def tensor(rng: random.Random) -> Any:
    """A tensor of some element type and shape; some are views, have gradients, or have NaN."""
    shape = rng.choice(SHAPES)
    dtype = rng.choice(DTYPES) if rng.random() < 0.4 else rng.choice([fl.float32, fl.float32, fl.float64, fl.int64])
    size = int(np.prod(shape, dtype=np.int64))
    kind = rng.random()
    low = 0 if kind < 0.5 else -3
    some = min(size, 1000)
    numbers = np.array([rng.randint(low, 4) for _ in range(some)], dtype=np.float64)
    if kind > 0.85:
        numbers = numbers * np.array([rng.choice(FLOATS) for _ in range(some)])
    numbers = np.resize(numbers, size)
    floats = dtype in (fl.float32, fl.float64, fl.float16, fl.bfloat16)
    if not floats:
        numbers = np.nan_to_num(numbers, nan=0.0, posinf=0.0, neginf=0.0).clip(0 if dtype == fl.uint8 else -100, 100)
    with np.errstate(all="ignore"):
        value = fl.tensor(numbers.astype(np.float32 if floats else np.int64).reshape(shape)).astype(dtype)
    if value.ndim > 1 and rng.random() < 0.15:
        value = value.transpose()
    if floats and rng.random() < 0.15:
        value.stop_gradient = False
    return value


def wide(rng: random.Random) -> Any:
    """A view that repeats one element: far more elements than memory could hold."""
    return fl.expand(fl.zeros([1], dtype=rng.choice(DTYPES)), [rng.choice([2**20, 2**31, 2**40])])


def number(rng: random.Random) -> int:
    return rng.choice(HUGE) if rng.random() < 0.35 else rng.randint(-3, 6)


def circular() -> list:
    knot: list = []
    knot.append(knot)
    return knot


def numbers(rng: random.Random) -> Any:
    """A sequence of ints, or what looks like one."""
    kind = rng.randrange(10)
    if kind == 0:
        return range(rng.choice([0, 3, 9, 1000, 2**31, 2**40, 2**62, 2**63 + 5]))
    if kind == 1:
        return itertools.count() if rng.random() < 0.5 else itertools.repeat(1)
    if kind == 2:
        return np.array([rng.randint(-2, 5) for _ in range(rng.randrange(4))])
    made = [number(rng) if rng.random() < 0.3 else rng.randint(-1, 4) for _ in range(rng.choice([0, 1, 1, 2, 2, 2, 3, 4, 9]))]
    return tuple(made) if kind < 6 else made


def anything(rng: random.Random, depth: int = 0) -> Any:
    """Any value at all."""
    kind = rng.randrange(21 if depth < 2 else 14)
    if kind < 3:
        return number(rng)
    if kind < 5:
        return rng.choice(FLOATS)
    if kind < 7:
        return tensor(rng)
    if kind == 7:
        return None
    if kind == 8:
        return rng.random() < 0.5
    if kind == 9:
        return rng.choice(WORDS)
    if kind == 10:
        return rng.choice([b"", b"abc", bytearray(3), memoryview(b"xyz"), 1j, ..., NotImplemented, object(), Exception(), fl, int])
    if kind == 11:
        return rng.choice(DTYPES)
    if kind == 12:
        return numbers(rng)
    if kind == 13:
        return function(rng)
    if kind == 14:
        return circular()
    if kind == 15:
        return np.array(rng.choice(FLOATS), dtype=rng.choice(["f2", "f4", "f8", "i8", "u8", "c16", "O", "U3"])) if rng.random() < 0.5 else np.zeros(rng.choice([(0,), (2, 3), (1,) * 9]))
    if kind == 16:
        return {rng.choice(["x", "axis", 1, ""]): anything(rng, depth + 1) for _ in range(rng.randrange(3))}
    if kind == 17:
        return slice(number(rng), number(rng), rng.choice([None, 1, -1, 0, 2**62]))
    if kind == 18 and rng.random() < 0.3:
        return wide(rng)
    return [anything(rng, depth + 1) for _ in range(rng.randrange(4))]


def function(rng: random.Random) -> Any:
    return rng.choice([lambda *x: x[0] if x else 0, lambda *x: None, lambda: 1, lambda *x: x, lambda *x: 1 / 0, fl.relu])


def for_parameter(rng: random.Random, name: str, annotation: str, default: Any) -> Any:
    """A value for a parameter: mostly of the kind that its annotation asks for."""
    if rng.random() < 0.15:
        return anything(rng)
    words = re.findall(r"""["']([^"']+)["']""", annotation) if "Literal" in annotation else []
    if words and rng.random() < 0.9:
        return rng.choice(words)
    if "Sequence[Tensor" in annotation or name in ("tensors", "parts", "operands", "vectors"):
        return [tensor(rng) for _ in range(rng.randrange(4))]
    if "Tensor" in annotation or name in ("x", "a", "b", "q", "k", "v", "input", "logits", "target", "condition"):
        return tensor(rng) if rng.random() < 0.85 else wide(rng) if rng.random() < 0.1 else anything(rng)
    if "Callable" in annotation:
        return function(rng)
    if "DType" in annotation or name == "dtype":
        return rng.choice(DTYPES)
    if "bool" in annotation or isinstance(default, bool):
        return rng.random() < 0.5
    many = "Sequence" in annotation or "list" in annotation or "tuple" in annotation or name in ("shape", "sizes", "axes", "shifts", "dims")
    if many and rng.random() < 0.7:
        return numbers(rng)
    if "int" in annotation or "Dim" in annotation or isinstance(default, int):
        return number(rng)
    if "float" in annotation or isinstance(default, float):
        return rng.choice(FLOATS)
    if "str" in annotation or isinstance(default, str):
        return rng.choice(WORDS)
    return tensor(rng) if rng.random() < 0.5 else number(rng) if rng.random() < 0.5 else anything(rng)
