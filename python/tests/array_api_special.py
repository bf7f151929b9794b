"""The special values of elementwise functions that the array API standard lists: NaN, infinities, zeros."""

from math import inf, nan, pi

_PI_2, _PI_4 = pi / 2, pi / 4

#: By function: arguments and results.
_UNARY = {
    "abs": [(nan, nan), (-0.0, 0.0), (-inf, inf)],
    "acos": [(nan, nan), (1.5, nan), (-1.5, nan), (1.0, 0.0)],
    "acosh": [(nan, nan), (0.5, nan), (1.0, 0.0), (inf, inf)],
    "asin": [(nan, nan), (1.5, nan), (-1.5, nan), (0.0, 0.0), (-0.0, -0.0)],
    "asinh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)],
    "atan": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, _PI_2), (-inf, -_PI_2)],
    "atanh": [(nan, nan), (-1.5, nan), (1.5, nan), (-1.0, -inf), (1.0, inf), (0.0, 0.0), (-0.0, -0.0)],
    "ceil": [(nan, nan), (inf, inf), (-inf, -inf), (0.0, 0.0), (-0.0, -0.0), (-0.5, -0.0)],
    "cos": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, nan), (-inf, nan)],
    "cosh": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, inf)],
    "exp": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, 0.0)],
    "expm1": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -1.0)],
    "floor": [(nan, nan), (inf, inf), (-inf, -inf), (0.0, 0.0), (-0.0, -0.0)],
    "isfinite": [(nan, False), (inf, False), (-inf, False), (1.0, True), (-0.0, True)],
    "isinf": [(nan, False), (inf, True), (-inf, True), (1.0, False)],
    "isnan": [(nan, True), (inf, False), (1.0, False)],
    "log": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "log10": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "log1p": [(nan, nan), (-2.0, nan), (-1.0, -inf), (-0.0, -0.0), (0.0, 0.0), (inf, inf)],
    "log2": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "negative": [(nan, nan), (0.0, -0.0), (inf, -inf)],
    "reciprocal": [(inf, 0.0), (-inf, -0.0), (0.0, inf), (-0.0, -inf), (nan, nan)],
    "round": [(nan, nan), (inf, inf), (-inf, -inf), (0.0, 0.0), (-0.0, -0.0), (0.5, 0.0), (1.5, 2.0), (-0.5, -0.0)],
    "sign": [(nan, nan), (2.0, 1.0), (-2.0, -1.0), (inf, 1.0)],
    "signbit": [(0.0, False), (-0.0, True), (inf, False), (-inf, True), (-1.0, True)],
    "sin": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "sinh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)],
    "sqrt": [(nan, nan), (-1.0, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf)],
    "square": [(nan, nan), (-inf, inf), (-0.0, 0.0)],
    "tan": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "tanh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0)],
    "trunc": [(nan, nan), (inf, inf), (-inf, -inf), (0.0, 0.0), (-0.0, -0.0), (0.5, 0.0), (-0.5, -0.0)],
}
_BINARY = {
    "add": [
        (nan, 1.0, nan), (inf, -inf, nan), (-inf, inf, nan), (inf, inf, inf), (-inf, -inf, -inf), (inf, 1.0, inf),
        (-0.0, -0.0, -0.0), (-0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 2.0, 2.0), (2.0, -2.0, 0.0),
    ],
    "atan2": [
        (nan, 1.0, nan), (1.0, nan, nan), (1.0, 0.0, _PI_2), (1.0, -0.0, _PI_2), (0.0, 1.0, 0.0), (0.0, 0.0, 0.0),
        (0.0, -0.0, pi), (0.0, -1.0, pi), (-0.0, 1.0, -0.0), (-0.0, 0.0, -0.0), (-0.0, -0.0, -pi), (-0.0, -1.0, -pi),
        (-1.0, 0.0, -_PI_2), (-1.0, -0.0, -_PI_2), (1.0, inf, 0.0), (1.0, -inf, pi), (-1.0, inf, -0.0), (-1.0, -inf, -pi),
        (inf, 1.0, _PI_2), (-inf, 1.0, -_PI_2), (inf, inf, _PI_4), (inf, -inf, 3 * _PI_4), (-inf, inf, -_PI_4),
        (-inf, -inf, -3 * _PI_4),
    ],
    "copysign": [(nan, 1.0, nan), (1.0, -0.0, -1.0), (-1.0, 0.0, 1.0), (0.0, -2.0, -0.0), (inf, -1.0, -inf)],
    "divide": [
        (nan, 1.0, nan), (1.0, nan, nan), (inf, inf, nan), (inf, -inf, nan), (0.0, 0.0, nan), (-0.0, 0.0, nan),
        (0.0, 2.0, 0.0), (-0.0, 2.0, -0.0), (0.0, -2.0, -0.0), (-0.0, -2.0, 0.0), (2.0, 0.0, inf), (2.0, -0.0, -inf),
        (-2.0, 0.0, -inf), (-2.0, -0.0, inf), (inf, 2.0, inf), (inf, -2.0, -inf), (-inf, 2.0, -inf), (2.0, inf, 0.0),
        (2.0, -inf, -0.0), (-2.0, inf, -0.0), (-2.0, -inf, 0.0),
    ],
    "floor_divide": [
        (nan, 1.0, nan), (1.0, nan, nan), (inf, inf, nan), (inf, -inf, nan), (0.0, 0.0, nan), (0.0, 2.0, 0.0),
        (-0.0, 2.0, -0.0), (0.0, -2.0, -0.0), (-0.0, -2.0, 0.0), (2.0, 0.0, inf), (2.0, -0.0, -inf), (-2.0, 0.0, -inf),
        (-2.0, -0.0, inf), (2.0, inf, 0.0), (2.0, -inf, -1.0), (-2.0, inf, -1.0), (-2.0, -inf, 0.0), (7.0, 2.0, 3.0),
        (-7.0, 2.0, -4.0),
    ],
    "hypot": [
        (inf, 1.0, inf), (-inf, nan, inf), (nan, inf, inf), (nan, 1.0, nan), (1.0, nan, nan), (0.0, -0.0, 0.0),
        (3.0, 4.0, 5.0),
    ],
    "logaddexp": [(nan, 1.0, nan), (1.0, nan, nan), (inf, 1.0, inf), (1.0, inf, inf), (-inf, -inf, -inf), (-inf, 2.0, 2.0)],
    "maximum": [(nan, 1.0, nan), (1.0, nan, nan), (inf, 1.0, inf)],
    "minimum": [(nan, 1.0, nan), (1.0, nan, nan), (-inf, 1.0, -inf)],
    "multiply": [
        (nan, 1.0, nan), (inf, 0.0, nan), (inf, -0.0, nan), (0.0, inf, nan), (-2.0, 0.0, -0.0), (-2.0, -0.0, 0.0),
        (inf, -inf, -inf), (-inf, -inf, inf), (inf, -2.0, -inf), (2.0, -inf, -inf),
    ],
    "nextafter": [(nan, 1.0, nan), (1.0, nan, nan), (1.0, 1.0, 1.0), (-0.0, 0.0, 0.0), (0.0, -0.0, -0.0), (inf, inf, inf)],
    "pow": [
        (2.0, 0.0, 1.0), (nan, 0.0, 1.0), (nan, -0.0, 1.0), (1.0, nan, 1.0), (nan, 2.0, nan), (2.0, nan, nan),
        (2.0, inf, inf), (2.0, -inf, 0.0), (-2.0, inf, inf), (1.0, inf, 1.0), (1.0, -inf, 1.0), (-1.0, inf, 1.0),
        (0.5, inf, 0.0), (0.5, -inf, inf), (inf, 2.0, inf), (inf, -2.0, 0.0), (-inf, 3.0, -inf), (-inf, 2.0, inf),
        (-inf, -3.0, -0.0), (-inf, -2.0, 0.0), (0.0, 2.0, 0.0), (0.0, -2.0, inf), (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0),
        (-0.0, -3.0, -inf), (-0.0, -2.0, inf), (-2.0, 0.5, nan),
    ],
    "remainder": [
        (nan, 1.0, nan), (1.0, nan, nan), (inf, 2.0, nan), (2.0, 0.0, nan), (0.0, 0.0, nan), (0.0, 2.0, 0.0),
        (-0.0, 2.0, 0.0), (0.0, -2.0, -0.0), (2.0, inf, 2.0), (2.0, -inf, -inf), (-2.0, inf, inf), (-2.0, -inf, -2.0),
        (7.0, -3.0, -2.0), (-7.0, 3.0, 2.0),
    ],
    "subtract": [(nan, 1.0, nan), (inf, inf, nan), (-0.0, 0.0, -0.0), (0.0, 0.0, 0.0), (inf, -inf, inf)],
}


def cases():
    """Triples of a function, its arguments and its result."""
    for name, pairs in _UNARY.items():
        for x, y in pairs:
            yield name, (x,), y
    for name, triples in _BINARY.items():
        for a, b, y in triples:
            yield name, (a, b), y
