"""Elementwise functions at many points of all magnitudes, against mpmath.

Each line is a function with its attributes, its points and its results, rounded once from 40 digits;
numbers are little-endian in base64. The file for `f32` has points of `f32`, that for `f64` others.
"""

import base64
import json

import mpmath as mp
import numpy as np

from golden import FOLDER

mp.mp.dps = 40
SQRT2, INF = mp.sqrt(2), mp.inf


def spread(count, low, high, seed):
    """Numbers of all magnitudes between low and high, which are positive."""
    generator = np.random.default_rng(seed)
    return np.exp(generator.uniform(np.log(low), np.log(high), count))


def around(centres, width=2.0**-6, count=8, seed=3):
    """The centres, and numbers near and very near to them."""
    steps = spread(count, 2.0**-22, width, seed)
    near = [centre + sign * step for centre in centres for step in steps for sign in (1, -1)]
    return np.array([*centres, *near])


def points(n):
    """Sets of points by name; about n each."""
    both = lambda x: np.concatenate([x, -x])
    magnitudes = spread(n // 8, 1e-45, 3.4e38, 0)
    middle = spread(n // 4, 1e-4, 1e2, 1)
    critical = around([0.0, 0.5, 1.0, 2.0, 3.0, 20.0, 88.5, 103.5, 0.461632, 1.461632])
    real = np.concatenate([both(magnitudes), both(middle), both(critical)])
    positive = real[real > 0]
    sets = {
        "real": real,
        "positive": np.concatenate([positive, spread(n // 3, 1e-3, 1e3, 4)]),
        "unit": np.concatenate([real[abs(real) <= 1], np.random.default_rng(5).uniform(-1, 1, n // 4)]),
        "above_one": 1 + np.concatenate([spread(n // 2, 1e-7, 1e7, 6), spread(n // 4, 1e7, 3e38, 7)]),
        "above_minus_one": np.concatenate([positive, -spread(n // 2, 1e-9, 1.0, 8)[:-1] * 0.999999]),
        "moderate": np.concatenate([both(middle), both(critical)]),
    }
    return {name: np.unique(x[np.isfinite(x)] + 0.0) for name, x in sets.items()}


def softplus(z):
    return mp.log1p(mp.exp(z)) if z < 200 else z + mp.exp(-z)


def sigmoid(z):
    return 1 / (1 + mp.exp(-z)) if z > -10000 else mp.exp(z)


def lgamma(x):
    return INF if x <= 0 and x == mp.floor(x) else mp.re(mp.loggamma(x))


def digamma(x):
    if x == 0:
        return -INF
    return mp.nan if x <= 0 and x == mp.floor(x) else mp.digamma(x)


def tanh_shrink(x):
    with mp.workdps(160):
        return x - mp.tanh(x) if abs(x) < 200 else x - mp.sign(x)


def psi3(x):
    return INF if x <= 0 and x == mp.floor(x) else mp.psi(3, x)


def expm1_or(x, negative, positive=1, width=1):
    return x * positive if x > 0 else negative * mp.expm1(x / width)


def gelu_tanh(x):
    return x * sigmoid(2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3))


def saturated(f, end):
    """The function, but 0 or infinite where exp(|x|) leaves every range, as mpmath's would be slow."""
    return lambda x: f(x) if abs(x) < 20000 else end(x)


grows = lambda x: INF if x > 0 else mp.mpf(0)
SELU = mp.mpf("1.0507009873554804934193349852946"), mp.mpf("1.6732632423543772848170429916717")
UNARY = [
    ("sqrt", mp.sqrt, "positive", {}),
    ("rsqrt", lambda x: 1 / mp.sqrt(x), "positive", {}),
    ("square", lambda x: x * x, "real", {}),
    ("reciprocal", lambda x: 1 / x, "positive", {}),
    ("exp", saturated(mp.exp, grows), "real", {}),
    ("expm1", saturated(mp.expm1, lambda x: INF if x > 0 else mp.mpf(-1)), "real", {}),
    ("exp2", saturated(lambda x: mp.mpf(2) ** x, grows), "real", {}),
    ("log", mp.log, "positive", {}),
    ("log1p", mp.log1p, "above_minus_one", {}),
    ("log2", lambda x: mp.log(x, 2), "positive", {}),
    ("log10", mp.log10, "positive", {}),
    ("sin", mp.sin, "real", {}),
    ("cos", mp.cos, "real", {}),
    ("tan", mp.tan, "real", {}),
    ("asin", mp.asin, "unit", {}),
    ("acos", mp.acos, "unit", {}),
    ("atan", mp.atan, "real", {}),
    ("sinh", saturated(mp.sinh, lambda x: mp.sign(x) * INF), "real", {}),
    ("cosh", saturated(mp.cosh, lambda x: INF), "real", {}),
    ("tanh", saturated(mp.tanh, mp.sign), "real", {}),
    ("asinh", mp.asinh, "real", {}),
    ("acosh", mp.acosh, "above_one", {}),
    ("atanh", mp.atanh, "unit", {}),
    ("erf", saturated(mp.erf, mp.sign), "real", {}),
    ("erfc", saturated(mp.erfc, lambda x: mp.mpf(0) if x > 0 else mp.mpf(2)), "real", {}),
    ("lgamma", lgamma, "real", {}),
    ("digamma", digamma, "real", {}),
    ("sigmoid", sigmoid, "real", {}),
    ("log_sigmoid", lambda x: -softplus(-x), "real", {}),
    ("softsign", lambda x: x / (1 + abs(x)), "real", {}),
    ("silu", lambda x: x * sigmoid(x), "real", {}),
    ("mish", lambda x: x * mp.tanh(softplus(x)), "real", {}),
    ("gelu", saturated(lambda x: x * mp.erfc(-x / SQRT2) / 2, lambda x: max(x, 0)), "real", {"tanh_form": 0}),
    ("gelu", saturated(gelu_tanh, lambda x: max(x, 0)), "real", {"tanh_form": 1}),
    ("tanh_shrink", tanh_shrink, "real", {}),
    ("hard_sigmoid", lambda x: min(max(x + 3, 0), 6) / 6, "real", {}),
    ("hard_swish", lambda x: x * min(max(x + 3, 0), 6) / 6, "real", {}),
    ("softplus", softplus, "real", {"beta": 1.0, "threshold": 1e9}),
    ("softplus", lambda x: softplus(2 * x) / 2, "real", {"beta": 2.0, "threshold": 1e9}),
    ("softplus", lambda x: softplus(x / 4) * 4, "real", {"beta": 0.25, "threshold": 1e9}),
    ("leaky_relu", lambda x: x if x > 0 else x * mp.mpf(0.01), "real", {"slope": 0.01}),
    ("elu", lambda x: expm1_or(x, mp.mpf(0.7)), "real", {"alpha": 0.7}),
    ("celu", lambda x: expm1_or(x, 1.5, 1, mp.mpf(1.5)), "real", {"alpha": 1.5}),
    ("selu", lambda x: expm1_or(x, SELU[0] * SELU[1], SELU[0]), "real", {}),
    ("polygamma", lambda x: mp.psi(1, x), "positive", {"n": 1}),
    ("polygamma", lambda x: mp.psi(2, x), "positive", {"n": 2}),
    ("polygamma", psi3, "moderate", {"n": 3}),
]


def logaddexp(a, b):
    return max(a, b) + softplus(-abs(a - b))


BINARY = [
    ("div", lambda a, b: a / b, {}),
    ("atan2", mp.atan2, {}),
    ("hypot", mp.hypot, {}),
    ("logaddexp", logaddexp, {}),
    ("remainder", lambda a, b: a - b * mp.floor(a / b), {}),
    ("pow", lambda a, b: abs(a) ** b, {}),
]


def encode(x):
    return base64.b64encode(x.tobytes()).decode()


def evaluate(reference, columns, dtype):
    """The results rounded to the type; beyond its range, infinities."""
    results = []
    for row in zip(*columns):
        y = reference(*[mp.mpf(float(x)) for x in row])
        # float() of mpmath rounds wrongly among subnormal numbers.
        results.append(float(mp.nstr(y, 30)))
    with np.errstate(over="ignore"):
        return np.array(results).astype(dtype)


def write(area, dtype, sets, pairs):
    lines = []
    for name, reference, where, attributes in UNARY:
        x = sets[where]
        lines.append((name, attributes, [where], evaluate(reference, [x], dtype)))
    for name, reference, attributes in BINARY:
        base = "positive_first" if name == "pow" else "first"
        columns = [pairs[base], pairs["powers" if name == "pow" else "second"]]
        names = [base, "powers" if name == "pow" else "second"]
        lines.append((name, attributes, names, evaluate(reference, columns, dtype)))
    with (FOLDER / f"{area}.json").open("w") as file:
        inputs = {name: encode(x) for name, x in {**sets, **pairs}.items()}
        file.write(json.dumps({"points": inputs}) + "\n")
        for name, attributes, where, results in lines:
            line = {"function": name, "attributes": attributes, "inputs": where, "outputs": encode(results)}
            file.write(json.dumps(line) + "\n")
        print(f"{area}: {len(lines)} functions, {file.tell() // 1024} KB")


def pairs_of(dtype, n):
    generator = np.random.default_rng(11)
    sign = lambda x: x * generator.choice([1.0, -1.0], len(x))
    first, second = sign(spread(n, 1e-3, 1e3, 12)), sign(spread(n, 1e-3, 1e3, 13))
    found = {
        "first": first,
        "second": second,
        "positive_first": spread(n, 1e-3, 1e3, 14),
        "powers": generator.uniform(-12, 12, n),
    }
    return {name: x.astype(dtype) for name, x in found.items()}


singles = {}
for name, x in points(1500).items():
    x = np.unique(x.astype(np.float32) + np.float32(0))
    singles[name] = x[np.isfinite(x) & ~((name == "above_minus_one") & (x <= -1))]
write("accuracy_f32", np.float32, singles, pairs_of(np.float32, 700))
write("accuracy_f64", np.float64, points(260), pairs_of(np.float64, 200))
