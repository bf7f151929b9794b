"""Control flow over Python values and tensors, without hazards of sharing."""

from __future__ import annotations

from .statements import Kind

FORMS = {
    "count": ("n += 1", "n = n + 2", "k = k * 1.5", "n = n - 1"),
    "number joined": ("n = 2.5", "k = 1", "n = k", "k = n * 0.5", "flag = True"),
    "scalar to number": ("k = fl.sum({t})", "n = n + fl.argmax({t})", "k = {t}[{i}]"),
    "chosen": (
        "{new} = {v} if {q} else {v}\na = a + {new}",
        "n = 1 if {q} else 2",
        "k = 1 if {q} else 0.5",
        "k = {num} if {p} else {num}",
    ),
    "and or not": (
        "flag = {q} and {p}",
        "flag = not ({q})",
        "flag = {p} or {q}",
        "flag = flag and {q}",
        "k = {num} and 2.0",
        "n = {num} or 3",
    ),
    "chained": (
        "flag = {f} < fl.sum({t}) <= 2.0",
        "flag = 0 < {num} < 3",
        "flag = 0 < n < fl.sum({t})",
    ),
    "comprehension": (
        "a = sum([{new} * 2.0 for {new} in (a, b)])",
        "b = fl.stack([{new} + n for {new} in (a, b, c)], 0)[{i}]",
        "c = [{new} for {new} in (a, b, c)][{i}]",
        "k = sum(i * 0.5 for i in range(3))",
        "a = fl.stack([{new} * {s} for {new} in m], 0)[0]",
    ),
    "swap": ("a, b = b, a", "a, (b, c) = b, (c, a)", "*{new}, c = a, b, c\na = {new}[0] + a"),
    "collected": (
        "{new} = [a]\nfor {new}r in m:\n    if {q}:\n        {new}.append({new}r)\nb = fl.sum(fl.stack({new}, 0), axis=0)",
        "{new} = []\nfor {new}i in range(3):\n    {new}.append({v})\na = {new}[-1] + len({new})",
    ),
    "lambda": (
        "{new} = lambda v: v * {s}\na = {new}({t})",
        "a = (lambda v, u=b: v if {q} else u)({t})",
    ),
    "inner function": (
        "def {new}(v):\n    if {q}:\n        return v * 2.0\n    return v\na = {new}({t})",
        "def {new}(v, times=2):\n    while fl.sum(v) < {f} and times > 0:\n        v = v + 1.0\n        times -= 1\n    return v\nb = {new}({t})",
    ),
    "builtin": (
        "k = abs({num})",
        "n = int({num})",
        "k = max({num}, 1)",
        "k = min({s}, {s})",
        "n = len(m)",
    ),
    "walrus": ("if ({new} := fl.sum({t})) > {f}:\n    a = a * {new}",),
    "nested loops": (
        "for {new}i in range(2):\n    for {new}j in range(2):\n        a = a + {new}i\n        if {q}:\n            break\n    if {q}:\n        continue\n    n += 1",
    ),
}

CONTROL = Kind(
    FORMS,
    weights=(4, 2, 4),
    results=(
        "{t}",
        "a, n",
        "a + b, k",
        "[a, b, c, n, k]",
        '{"a": a, "n": n, "flag": flag}',
        "n, k",
        "a if {q} else b",
    ),
    n_statements=(2, 4),
)
