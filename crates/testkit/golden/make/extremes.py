"""The ends of the number ranges, against NumPy and SciPy, or PyTorch for functions they lack."""

import warnings

import numpy as np
import scipy.special as sp
import torch
import torch.nn.functional as F

from golden import Golden

warnings.simplefilter("ignore")
g = Golden("extremes")
INF, NAN = np.inf, np.nan


def by_torch(function):
    """In f64, since PyTorch's vector code for f32 differs at the ends from its own plain code."""
    return lambda x: function(torch.from_numpy(x.astype(np.float64))).numpy().astype(x.dtype)


UNARY = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "square": np.square,
    "exp": np.exp,
    "expm1": np.expm1,
    "exp2": np.exp2,
    "log": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "log10": np.log10,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": sp.erf,
    "erfc": sp.erfc,
    "lgamma": by_torch(torch.lgamma),
    "digamma": by_torch(torch.digamma),
    "sigmoid": sp.expit,
    "log_sigmoid": by_torch(F.logsigmoid),
    "softsign": by_torch(F.softsign),
    "relu": by_torch(F.relu),
    "relu6": by_torch(F.relu6),
    "selu": by_torch(F.selu),
    "silu": by_torch(F.silu),
    "mish": by_torch(F.mish),
    "hard_sigmoid": by_torch(F.hardsigmoid),
    "tanh_shrink": by_torch(F.tanhshrink),
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "trunc": np.trunc,
    "reciprocal": np.reciprocal,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "logical_not": np.logical_not,
}
PARAMETRIC = [
    ("softplus", F.softplus, {"beta": 1.0, "threshold": 20.0}),
    ("leaky_relu", lambda x: F.leaky_relu(x, 0.25), {"slope": 0.25}),
    ("elu", F.elu, {"alpha": 1.0}),
    ("celu", F.celu, {"alpha": 1.0}),
    ("gelu", F.gelu, {"tanh_form": 0}),
    ("gelu", lambda x: F.gelu(x, approximate="tanh"), {"tanh_form": 1}),
    ("hard_tanh", F.hardtanh, {"low_bound": -1.0, "high_bound": 1.0}),
    ("hard_shrink", F.hardshrink, {"width": 0.5}),
    ("soft_shrink", F.softshrink, {"width": 0.5}),
    ("threshold", lambda x: F.threshold(x, 0.5, -3.0), {"threshold": 0.5, "value": -3.0}),
    ("clip", lambda x: torch.clamp(x, -1, 1), {"low_bound": -1.0, "high_bound": 1.0}),
    ("clip", lambda x: torch.clamp(x, max=1), {"high_bound": 1.0}),
]
BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "remainder": np.remainder,
    "floor_div": np.floor_divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "copysign": np.copysign,
    "logaddexp": np.logaddexp,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
WHOLE = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "square": np.square,
    "bitwise_not": np.bitwise_not,
    "floor": np.floor,
    "isfinite": np.isfinite,
}
WHOLE_BINARY = {
    name: BINARY[name]
    for name in ["add", "sub", "mul", "remainder", "floor_div", "maximum", "minimum", "lt", "eq"]
} | {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
}

for dtype in [np.float32, np.float64]:
    info = np.finfo(dtype)
    ends = [0.0, INF, info.smallest_subnormal, info.smallest_normal, info.max, 0.5, 1.0, 2.5]
    ends += [88.5, 89.0, 20.0] if dtype == np.float32 else [709.5, 710.0, 20.0]
    ends += [info.eps, 1e10]
    x = np.array([end * sign for end in ends for sign in (1, -1)] + [NAN], dtype=dtype)
    for name, reference in UNARY.items():
        g.add(name, [x], [reference(x)], [None], {})
    for name, reference, attributes in PARAMETRIC:
        g.add(name, [x], [by_torch(reference)(x)], [None], attributes)
    g.add("nan_to_num", [x], [np.nan_to_num(x)], [None], {"nan": 0.0})
    ends = [0.0, INF, info.smallest_subnormal, info.max, 1.0, 2.5]
    one = np.array([end * sign for end in ends for sign in (1, -1)] + [NAN], dtype=dtype)
    a, b = [part.ravel() for part in np.meshgrid(one, one)]
    for name, reference in BINARY.items():
        if reference(a, b).dtype == bool and dtype == np.float32:
            continue
        g.add(name, [a, b], [reference(a, b)], [None, None], {})

for dtype in [np.int64, np.int32, np.int8, np.uint8]:
    info = np.iinfo(dtype)
    one = [0, 1, 7, 8, 63, 64, info.max, info.min, -1, -7]
    one = sorted({value for value in one if info.min <= value <= info.max})
    x = np.array(one, dtype=dtype)
    attributes = {"dtype": {"int64": "i64", "int32": "i32", "int8": "i8", "uint8": "u8"}[x.dtype.name]}
    for name, reference in WHOLE.items():
        g.add(name, [x], [reference(x)], [None], attributes)
    a, b = [part.ravel() for part in np.meshgrid(x, x)]
    for name, reference in WHOLE_BINARY.items():
        g.add(name, [a, b], [reference(a, b)], [None, None], attributes)
g.write()
