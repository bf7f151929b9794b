"""Functions as users write them, by construct; `test_convert_language.py` runs each in both modes."""

from __future__ import annotations

import numpy as np

#: Each function with the inputs it is called with.
CASES: list[tuple] = []
#: Functions that a program refuses: the exception, and what its message has.
REFUSED: list[tuple] = []

X = np.array([[1.0, -2.0], [3.0, 0.5], [-1.0, 4.0]], np.float32)
V = np.array([3.0, 1.0, 2.0, -1.0, 0.5], np.float32)
I = np.array([4, 0, 2, 7, 1], np.int64)


def case(*inputs):
    """Calls the function with each of these, an array or a tuple of arrays."""

    def add(function):
        CASES.append((function, [x if isinstance(x, tuple) else (x,) for x in inputs]))
        return function

    return add


def refused(kind, text, *inputs):
    """The program of the function cannot be built; the message names the line marked `# here`."""

    def add(function):
        REFUSED.append((function, kind, text, inputs))
        return function

    return add
