"""Runs that fail: where, with what, and what they leave behind."""

from __future__ import annotations

from .statements import Kind

HELPERS = (
    "def checked(t):\n    assert fl.sum(t) > -4.0, 'too small'\n    return t",
    "def raising(t, bound):\n    if fl.sum(t) > bound:\n        raise ValueError('above')\n    return t * 2.0",
)

FORMS = {
    "assert": (
        "assert fl.sum({t}) > {f}, 'low'",
        "assert fl.all({t} < 2.5)",
        "assert n < 2, 'n is high'",
        "assert {q}, f'n is {n}'",
        "a = checked({t})",
    ),
    "raise": (
        "if {q}:\n    raise ValueError('wrong')",
        "if {q}:\n    raise KeyError('key')",
        "if {q}:\n    raise Failure('own', 3)",
        "if {q}:\n    raise RuntimeError",
        "if n > 1:\n    raise ValueError(f'n = {n}')",
        "a = raising({t}, {f})",
        "if {q}:\n    n = 5\n    raise ValueError('late')",
    ),
    "index": (
        "a = a + {t}[n + 2]",
        "k = rows[n]",
        "a = a + m[n]",
        "b = b * {t}[3]",
        "k = named['q']",
        "a = a + {t}[j]",
        "a[j + 1] = 1.0",
    ),
    "shape": (
        "a = a + {t}[0:2]",
        "b = fl.matmul(m, {t})\na = a + b",
        "a = fl.reshape({t}, (2, 2))",
        "c = fl.concat([m, {t}], 0)",
    ),
    "number": ("k = 1 / n", "n = 5 % n", "k = int('x')", "k = n / {num}", "k = [1, 2].index(n)"),
    "nothing wrong": ("n += 1", "a = a + 1.0", "b = b * {s}", "k = k + 1.0", "n = 0", "a = {v}"),
    "type": ("a = {t} + 'x'", "n.missing", "a = undefined + 1.0", "a = {t}()", "k = len(n)"),
    "caught": (
        "try:\n    {new} = rows[n + 1]\nexcept IndexError as error:\n    a = a + 1.0",
        "try:\n    assert {q}, 'inner'\nexcept AssertionError:\n    b = b * 2.0",
        "try:\n    a = raising({t}, {f})\nexcept ValueError as error:\n    n = n + 1",
        "try:\n    if {q}:\n        raise ValueError('inside')\n    n = n + 1\nexcept ValueError:\n    n = n + 10\nelse:\n    k = 2.0\nfinally:\n    b = b + 1.0",
        "try:\n    {new} = 1 / n\nexcept ZeroDivisionError as error:\n    k = len(str(error))",
        "try:\n    a = a + {t}[3]\nexcept IndexError:\n    a = a - 1.0",
        "try:\n    assert fl.sum(a) > {f}, 'first'\nexcept AssertionError as error:\n    raise ValueError('second') from error",
    ),
    "state": (
        "model.h = {v}",
        "model.count += 1",
        "items.append({v})",
        "table['w'] = {v}",
        "base[0] = {s}",
        "count += 1",
        "xs[0] = {v}",
        "fl.assign_state('seen', a)",
        "log.append(n)",
    ),
}

FAILING = Kind(
    FORMS,
    weights=(4, 3, 3),
    results=("a", "a, n", "rows, k", "a, b"),
    helpers=HELPERS,
    places={"t": ("a", "x", "items[0]", "model.h"), "list": ("items",), "num": ("n",)},
    n_statements=(2, 3),
)
