"""What the Python array API standard, 2024.12, asks of a namespace, complex numbers aside.

Each case is a name and a function of the namespace that returns whether the case holds; what raises does not.
`python python/tests/array_api_cases.py numpy fluvial` counts the cases that hold, by subject.
"""

import importlib
import inspect
import math
import operator
import sys

import array_api_special as special

INTS = ["int8", "int16", "int32", "int64"]
UINTS = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
NUMBERS = INTS + UINTS + FLOATS
ALL = ["bool", *NUMBERS]

#: The functions, with the standard's signatures.
SIGNATURES = """
abs(x, /)  acos(x, /)  acosh(x, /)  add(x1, x2, /)  all(x, /, *, axis=None, keepdims=False)
any(x, /, *, axis=None, keepdims=False)  arange(start, /, stop=None, step=1, *, dtype=None, device=None)
argmax(x, /, *, axis=None, keepdims=False)  argmin(x, /, *, axis=None, keepdims=False)
argsort(x, /, *, axis=-1, descending=False, stable=True)  asarray(obj, /, *, dtype=None, device=None, copy=None)
asin(x, /)  asinh(x, /)  astype(x, dtype, /, *, copy=True, device=None)  atan(x, /)  atan2(x1, x2, /)
atanh(x, /)  bitwise_and(x1, x2, /)  bitwise_invert(x, /)  bitwise_left_shift(x1, x2, /)
bitwise_or(x1, x2, /)  bitwise_right_shift(x1, x2, /)  bitwise_xor(x1, x2, /)  broadcast_arrays(*arrays)
broadcast_to(x, /, shape)  can_cast(from_, to, /)  ceil(x, /)  clip(x, /, min=None, max=None)
concat(arrays, /, *, axis=0)  conj(x, /)  copysign(x1, x2, /)  cos(x, /)  cosh(x, /)
count_nonzero(x, /, *, axis=None, keepdims=False)
cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)  divide(x1, x2, /)  empty(shape, *, dtype=None, device=None)
empty_like(x, /, *, dtype=None, device=None)  equal(x1, x2, /)  exp(x, /)  expand_dims(x, /, *, axis=0)
expm1(x, /)  eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)  finfo(type, /)
flip(x, /, *, axis=None)  floor(x, /)  floor_divide(x1, x2, /)  from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)  full_like(x, /, fill_value, *, dtype=None, device=None)
greater(x1, x2, /)  greater_equal(x1, x2, /)  hypot(x1, x2, /)  iinfo(type, /)  isdtype(dtype, kind)
isfinite(x, /)  isinf(x, /)  isnan(x, /)  less(x1, x2, /)  less_equal(x1, x2, /)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)  log(x, /)  log10(x, /)  log1p(x, /)
log2(x, /)  logaddexp(x1, x2, /)  logical_and(x1, x2, /)  logical_not(x, /)  logical_or(x1, x2, /)
logical_xor(x1, x2, /)  matmul(x1, x2, /)  matrix_transpose(x, /)  max(x, /, *, axis=None, keepdims=False)
maximum(x1, x2, /)  mean(x, /, *, axis=None, keepdims=False)  meshgrid(*arrays, indexing='xy')
min(x, /, *, axis=None, keepdims=False)  minimum(x1, x2, /)  moveaxis(x, source, destination, /)
multiply(x1, x2, /)  negative(x, /)  nextafter(x1, x2, /)  nonzero(x, /)  not_equal(x1, x2, /)
ones(shape, *, dtype=None, device=None)  ones_like(x, /, *, dtype=None, device=None)  permute_dims(x, /, axes)
positive(x, /)  pow(x1, x2, /)  prod(x, /, *, axis=None, dtype=None, keepdims=False)  real(x, /)
reciprocal(x, /)  remainder(x1, x2, /)  repeat(x, repeats, /, *, axis=None)  reshape(x, /, shape, *, copy=None)
result_type(*arrays_and_dtypes)  roll(x, /, shift, *, axis=None)  round(x, /)
searchsorted(x1, x2, /, *, side='left', sorter=None)  sign(x, /)  signbit(x, /)  sin(x, /)  sinh(x, /)
sort(x, /, *, axis=-1, descending=False, stable=True)  sqrt(x, /)  square(x, /)  squeeze(x, /, axis)
stack(arrays, /, *, axis=0)  std(x, /, *, axis=None, correction=0.0, keepdims=False)  subtract(x1, x2, /)
sum(x, /, *, axis=None, dtype=None, keepdims=False)  take(x, indices, /, *, axis=None)
take_along_axis(x, indices, /, *, axis=-1)  tan(x, /)  tanh(x, /)  tensordot(x1, x2, /, *, axes=2)
tile(x, repetitions, /)  tril(x, /, *, k=0)  triu(x, /, *, k=0)  trunc(x, /)  unique_all(x, /)
unique_counts(x, /)  unique_inverse(x, /)  unique_values(x, /)  unstack(x, /, *, axis=0)
var(x, /, *, axis=None, correction=0.0, keepdims=False)  vecdot(x1, x2, /, *, axis=-1)
where(condition, x1, x2, /)  zeros(shape, *, dtype=None, device=None)  zeros_like(x, /, *, dtype=None, device=None)
linalg.cholesky(x, /, *, upper=False)  linalg.cross(x1, x2, /, *, axis=-1)  linalg.det(x, /)
linalg.diagonal(x, /, *, offset=0)  linalg.eigh(x, /)  linalg.eigvalsh(x, /)  linalg.inv(x, /)
linalg.matmul(x1, x2, /)  linalg.matrix_norm(x, /, *, keepdims=False, ord='fro')  linalg.matrix_power(x, n, /)
linalg.matrix_rank(x, /, *, rtol=None)  linalg.matrix_transpose(x, /)  linalg.outer(x1, x2, /)
linalg.pinv(x, /, *, rtol=None)  linalg.qr(x, /, *, mode='reduced')  linalg.slogdet(x, /)
linalg.solve(x1, x2, /)  linalg.svd(x, /, *, full_matrices=True)  linalg.svdvals(x, /)
linalg.tensordot(x1, x2, /, *, axes=2)  linalg.trace(x, /, *, offset=0, dtype=None)
linalg.vecdot(x1, x2, /, *, axis=-1)  linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
"""

#: Elementwise functions of one argument: the element types they take, and what they give.
UNARY = {
    "abs square negative positive sign": (NUMBERS, None),
    "ceil floor round trunc": (NUMBERS, None),
    "acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 reciprocal sin sinh sqrt tan tanh": (
        FLOATS,
        None,
    ),
    "bitwise_invert": (["bool", *INTS, *UINTS], None),
    "isfinite isinf isnan": (NUMBERS, "bool"),
    "logical_not": (["bool"], "bool"),
    "signbit": (FLOATS, "bool"),
    "conj real": (FLOATS, None),
}
#: The same of two arguments.
BINARY = {
    "add subtract multiply floor_divide remainder pow maximum minimum": (NUMBERS, None),
    "divide atan2 hypot copysign logaddexp nextafter": (FLOATS, None),
    "bitwise_and bitwise_or bitwise_xor": (["bool", *INTS, *UINTS], None),
    "bitwise_left_shift bitwise_right_shift": (INTS + UINTS, None),
    "equal not_equal": (ALL, "bool"),
    "less less_equal greater greater_equal": (NUMBERS, "bool"),
    "logical_and logical_or logical_xor": (["bool"], "bool"),
}


def find(xp, name):
    found = xp
    for part in name.split("."):
        found = getattr(found, part)
    return found


def listed(x):
    """The elements as Python numbers."""
    return x.tolist()


def has(xp, x, dtype, shape=None):
    """Whether an array has this element type and, if given, this shape."""
    return x.dtype == getattr(xp, dtype) and (shape is None or tuple(x.shape) == tuple(shape))


def same(found, expected):
    """Whether numbers are the same: NaN like NaN, and zeros with their signs."""
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, float) and isinstance(found, float):
        if math.isnan(expected) or math.isnan(found):
            return math.isnan(expected) and math.isnan(found)
        return math.copysign(1, found) == math.copysign(1, expected) and (
            found == expected or math.isclose(found, expected, rel_tol=2e-6)
        )
    return found == expected


def plain(xp, dtype, numbers=(1, 2, 3)):
    numbers = [bool(x % 2) for x in numbers] if dtype == "bool" else list(numbers)
    return xp.asarray(numbers, dtype=getattr(xp, dtype))


def signature_holds(xp, text):
    name, _, rest = text.partition("(")
    wanted = eval(f"lambda {rest[:-1]}: 0")  # noqa: S307
    function = find(xp, name)
    try:
        own = inspect.signature(function).parameters
    except ValueError:
        return callable(function)
    kinds = inspect.Parameter
    any_keyword = any(p.kind is kinds.VAR_KEYWORD for p in own.values())
    any_position = any(p.kind is kinds.VAR_POSITIONAL for p in own.values())
    places = [p for p in own.values() if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    for i, parameter in enumerate(inspect.signature(wanted).parameters.values()):
        if parameter.kind is kinds.VAR_POSITIONAL:
            if not any_position:
                return False
            continue
        by_place = i < len(places) or any_position
        mine = own.get(parameter.name)
        by_name = any_keyword or (mine is not None and mine.kind is not kinds.POSITIONAL_ONLY)
        if parameter.kind is not kinds.KEYWORD_ONLY and not by_place:
            return False
        if parameter.kind is not kinds.POSITIONAL_ONLY and not by_name:
            return False
        is_optional = parameter.default is not kinds.empty
        if is_optional and mine is not None and mine.default is kinds.empty and parameter.name != "axis":
            return False
    return True


def signatures():
    for text in SIGNATURES.replace("\n", "  ").split("  "):
        if text:
            yield f"signature: {text}", lambda xp, text=text: signature_holds(xp, text)


def names():
    for name in ("e", "inf", "nan", "pi"):
        value = getattr(math, name)
        yield f"names: {name}", lambda xp, n=name, v=value: same(float(getattr(xp, n)), v)
    yield "names: newaxis", lambda xp: xp.newaxis is None
    for dtype in ALL:
        yield f"names: {dtype}", lambda xp, dtype=dtype: hasattr(xp, dtype)
    for method in ("capabilities", "default_device", "default_dtypes", "devices", "dtypes"):
        yield f"names: info.{method}", lambda xp, m=method: callable(getattr(xp.__array_namespace_info__(), m))


def elementwise_types():
    for table, count in ((UNARY, 1), (BINARY, 2)):
        for functions, (dtypes, result) in table.items():
            for function in functions.split():
                for dtype in dtypes:
                    def holds(xp, function=function, dtype=dtype, result=result, count=count):
                        numbers = (1, 1, 1) if function in ("acos", "asin", "atanh", "acosh") else (1, 2, 3)
                        x = plain(xp, dtype, (0, 0, 0) if function == "atanh" else numbers)
                        return has(xp, getattr(xp, function)(*[x] * count), result or dtype, (3,))

                    yield f"types: {function} of {dtype}", holds


def promotion():
    def result(a, b):
        if a == b:
            return a
        if a in FLOATS and b in FLOATS:
            return "float64"
        bits = {name: int(name.lstrip("uintfloa")) for name in (a, b)}
        if (a in INTS) == (b in INTS) and (a in FLOATS) == (b in FLOATS):
            return max((a, b), key=bits.get)
        signed, unsigned = (a, b) if a in INTS else (b, a)
        needed = max(bits[signed], 2 * bits[unsigned])
        return f"int{needed}" if needed <= 64 else None

    for kind in (INTS + UINTS, FLOATS):
        for a in kind:
            for b in kind:
                wanted = result(a, b)
                if wanted is None:
                    continue

                def holds(xp, a=a, b=b, wanted=wanted):
                    added = xp.add(plain(xp, a), plain(xp, b))
                    types = xp.result_type(getattr(xp, a), getattr(xp, b))
                    return has(xp, added, wanted) and types == getattr(xp, wanted)

                yield f"promotion: {a} and {b}", holds
    for dtype in NUMBERS:
        for symbol in ("+", "-", "*", "//", "%", "**"):
            def scalar(xp, dtype=dtype, symbol=symbol):
                x = plain(xp, dtype)
                op = OPERATORS[symbol]
                return has(xp, op(x, 2), dtype) and has(xp, op(2, x), dtype)

            yield f"promotion: {dtype} {symbol} 2", scalar


OPERATORS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}


def operators():
    for symbol, op in OPERATORS.items():
        dtypes = FLOATS if symbol == "/" else INTS + UINTS if symbol in "& | ^ << >>".split() else NUMBERS
        for dtype in dtypes:
            def holds(xp, op=op, dtype=dtype):
                a, b = plain(xp, dtype, (7, 5, 4)), plain(xp, dtype, (2, 3, 1))
                expected = [op(x, y) for x, y in zip((7, 5, 4), (2, 3, 1))]
                return same([float(x) for x in listed(op(a, b))], [float(x) for x in expected])

            yield f"operators: {dtype} {symbol}", holds
    x = (7, 5, 4)
    for name in "+= -= *= //= %= **= &= |= ^= <<= >>=".split():
        def changes(xp, name=name):
            scope = {"a": plain(xp, "int32", x)}
            exec(f"a {name} 2", scope)  # noqa: S102
            return listed(scope["a"]) == [OPERATORS[name[:-1]](value, 2) for value in x]

        yield f"operators: {name}", changes
    for name, wanted in (("__neg__", [-7]), ("__pos__", [7]), ("__abs__", [7]), ("__invert__", [-8])):
        yield f"operators: {name}", lambda xp, n=name, w=wanted: listed(
            getattr(xp.asarray([7], dtype=xp.int32), n)()
        ) == w
    for name, one in (("float", 1.5), ("int", 3), ("bool", True), ("complex", 2.0), ("operator.index", 3)):
        def converts(xp, name=name, one=one):
            return eval(name)(xp.asarray(one)) == one  # noqa: S307

        yield f"operators: {name}()", converts
    yield "operators: @", lambda xp: listed(plain(xp, "float64") @ plain(xp, "float64")) == 14.0
    for name in ("T", "mT", "device", "dtype", "ndim", "shape", "size"):
        yield f"operators: .{name}", lambda xp, n=name: hasattr(xp.zeros((2, 2)), n)
    for name in ("__dlpack__", "__dlpack_device__", "__array_namespace__", "to_device"):
        yield f"operators: .{name}", lambda xp, n=name: callable(getattr(xp.zeros((2, 2)), n))


#: Calls by subject: what they give, its element type (None for the default of its kind), on `x` = arange(6) as
#: [[0, 1, 2], [3, 4, 5]] in float64, `i` the same in int64 and `b` its odd elements.
CALLS = {
    "making": [
        ("arange(3)", [0, 1, 2], "int64"), ("arange(1, 7, 2)", [1, 3, 5], "int64"),
        ("arange(5, 0, -2)", [5, 3, 1], "int64"), ("arange(0.5, 2, 0.5, dtype=float64)", [0.5, 1.0, 1.5], "float64"),
        ("arange(3, dtype=float32)", [0.0, 1.0, 2.0], "float32"), ("arange(3, 1)", [], "int64"),
        ("asarray(3)", 3, "int64"), ("asarray(True)", True, "bool"), ("asarray([[1, 2]])", [[1, 2]], "int64"),
        ("asarray([1, 2], dtype=float64)", [1.0, 2.0], "float64"), ("asarray([])", [], None),
        ("asarray(x, copy=True)", [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], "float64"),
        ("asarray([x[0, 0], x[0, 1]])", [0.0, 1.0], "float64"),
        ("full(2, 7)", [7, 7], "int64"), ("full((2,), True)", [True, True], "bool"),
        ("full((1, 2), 0.5, dtype=float64)", [[0.5, 0.5]], "float64"), ("full((), 3)", 3, "int64"),
        ("full_like(i, 2)", [[2, 2, 2], [2, 2, 2]], "int64"), ("zeros(2, dtype=int8)", [0, 0], "int8"),
        ("full_like(i, 2, dtype=float64)", [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]], "float64"),
        ("ones((2, 1), dtype=bool)", [[True], [True]], "bool"), ("zeros_like(b)", [[False] * 3] * 2, "bool"),
        ("ones_like(x, dtype=uint8)", [[1] * 3] * 2, "uint8"), ("eye(2, dtype=int32)", [[1, 0], [0, 1]], "int32"),
        ("eye(2, 3, k=1, dtype=float64)", [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "float64"),
        ("eye(2, 2, k=-5, dtype=int64)", [[0, 0], [0, 0]], "int64"),
        ("linspace(0.0, 1.0, 3, dtype=float64)", [0.0, 0.5, 1.0], "float64"),
        ("linspace(1, 0, num=2, dtype=float64, endpoint=False)", [1.0, 0.5], "float64"),
        ("linspace(0, 4, 5, dtype=float32)", [0.0, 1.0, 2.0, 3.0, 4.0], "float32"),
        ("linspace(2.0, 3.0, 1, dtype=float64)", [2.0], "float64"), ("linspace(0, 1, 0, dtype=float64)", [], "float64"),
        ("meshgrid(arange(2), arange(3))[0]", [[0, 1]] * 3, "int64"),
        ("meshgrid(arange(2), arange(3), indexing='ij')[1]", [[0, 1, 2]] * 2, "int64"),
        ("tril(i)", [[0, 0, 0], [3, 4, 0]], "int64"), ("triu(i, k=1)", [[0, 1, 2], [0, 0, 5]], "int64"),
        ("tril(b, k=-1)", [[False] * 3, [True, False, False]], "bool"),
        ("empty((2, 0)).shape", (2, 0), None), ("empty_like(i).shape", (2, 3), None),
        ("from_dlpack(x)", [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], "float64"),
    ],
    "types and kinds": [
        ("astype(x, int32)", [[0, 1, 2], [3, 4, 5]], "int32"), ("astype(i, bool)[0, :]", [False, True, True], "bool"),
        ("astype(b, float64)[0, :]", [0.0, 1.0, 0.0], "float64"), ("can_cast(float32, float64)", True, None),
        ("can_cast(float64, float32)", False, None), ("can_cast(i, int32)", False, None),
        ("isdtype(float32, 'real floating')", True, None), ("isdtype(int8, 'signed integer')", True, None),
        ("isdtype(uint8, ('bool', 'unsigned integer'))", True, None), ("isdtype(bool, 'numeric')", False, None),
        ("isdtype(int64, int64)", True, None), ("isdtype(float64, 'complex floating')", False, None),
        ("finfo(float32).bits", 32, None), ("finfo(float64).eps", 2.0**-52, None), ("finfo(x).max", sys.float_info.max, None),
        ("finfo(float64).smallest_normal", 2.0**-1022, None), ("iinfo(int8).min", -128, None), ("iinfo(i).max", 2**63 - 1, None),
        ("iinfo(uint64).max", 2**64 - 1, None), ("result_type(float32, 1)", "float32", None),
        ("result_type(i, 1)", "int64", None), ("result_type(int8, int8)", "int8", None),
        ("broadcast_to(arange(2), (2, 2))", [[0, 1], [0, 1]], "int64"), ("broadcast_to(asarray(1), (2,))", [1, 1], "int64"),
        ("broadcast_arrays(arange(2), zeros((2, 1), dtype=int64))[0]", [[0, 1], [0, 1]], "int64"),
    ],
    "shapes": [
        ("concat([i, i], axis=1).shape", (2, 6), None), ("concat((i, i), axis=None).shape", (12,), None),
        ("concat([arange(2, dtype=int32), arange(1)])", [0, 1, 0], "int64"),
        ("expand_dims(i, axis=0).shape", (1, 2, 3), None), ("expand_dims(i, axis=-1).shape", (2, 3, 1), None),
        ("flip(i)", [[5, 4, 3], [2, 1, 0]], "int64"), ("flip(i, axis=1)", [[2, 1, 0], [5, 4, 3]], "int64"),
        ("flip(i, axis=(0,))", [[3, 4, 5], [0, 1, 2]], "int64"), ("moveaxis(zeros((2, 3, 4)), 0, -1).shape", (3, 4, 2), None),
        ("moveaxis(zeros((2, 3, 4)), (0, 1), (1, 2)).shape", (4, 2, 3), None),
        ("permute_dims(i, (1, 0))", [[0, 3], [1, 4], [2, 5]], "int64"), ("repeat(arange(2), 2)", [0, 0, 1, 1], "int64"),
        ("repeat(i, asarray([1, 2]), axis=0)", [[0, 1, 2], [3, 4, 5], [3, 4, 5]], "int64"),
        ("repeat(i, 2)", [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5], "int64"),
        ("reshape(i, (3, 2))", [[0, 1], [2, 3], [4, 5]], "int64"), ("reshape(i, (-1,)).shape", (6,), None),
        ("reshape(i, (6,), copy=True)", [0, 1, 2, 3, 4, 5], "int64"), ("reshape(i, (6,), copy=False)", [0, 1, 2, 3, 4, 5], "int64"),
        ("reshape(asarray(5), (1, 1))", [[5]], "int64"), ("roll(arange(3), 1)", [2, 0, 1], "int64"),
        ("roll(i, 1)", [[5, 0, 1], [2, 3, 4]], "int64"), ("roll(i, (1, -1), axis=(0, 1))", [[4, 5, 3], [1, 2, 0]], "int64"),
        ("squeeze(zeros((1, 2, 1)), axis=0).shape", (2, 1), None), ("squeeze(zeros((1, 2, 1)), axis=(0, 2)).shape", (2,), None),
        ("stack([arange(2), arange(2)])", [[0, 1], [0, 1]], "int64"), ("stack([arange(2)] * 2, axis=-1)", [[0, 0], [1, 1]], "int64"),
        ("tile(arange(2), (2,))", [0, 1, 0, 1], "int64"), ("tile(arange(2), (2, 1))", [[0, 1], [0, 1]], "int64"),
        ("tile(i, (2,)).shape", (2, 6), None), ("len(unstack(i))", 2, None), ("unstack(i, axis=1)[2]", [2, 5], "int64"),
        ("matrix_transpose(i)", [[0, 3], [1, 4], [2, 5]], "int64"),
    ],
    "searching": [
        ("argmax(i)", 5, "int64"), ("argmax(i, axis=0)", [1, 1, 1], "int64"), ("argmin(x, axis=1, keepdims=True)", [[0], [0]], "int64"),
        ("argmax(asarray([1.0, nan, 2.0], dtype=float64))", 1, "int64"), ("argmax(asarray([2, 2]))", 0, "int64"),
        ("argmin(i, keepdims=True).shape", (1, 1), None),
        ("count_nonzero(i)", 5, "int64"), ("count_nonzero(b, axis=1)", [1, 2], "int64"),
        ("count_nonzero(x, axis=0, keepdims=True)", [[1, 2, 2]], "int64"), ("nonzero(b)[1]", [1, 0, 2], "int64"),
        ("len(nonzero(i))", 2, None), ("searchsorted(asarray([1, 3]), asarray([0, 1, 3, 9]))", [0, 0, 1, 2], "int64"),
        ("searchsorted(asarray([1, 3]), asarray([0, 1, 3]), side='right')", [0, 1, 2], "int64"),
        ("searchsorted(asarray([3, 1]), asarray([2]), sorter=asarray([1, 0]))", [1], "int64"),
        ("where(b, i, -i)", [[0, 1, -2], [3, -4, 5]], "int64"), ("where(b, i, 0)[0, :]", [0, 1, 0], "int64"),
        ("where(b, 1.0, x)[0, :]", [0.0, 1.0, 2.0], "float64"),
        ("where(asarray([True, False]), asarray(1), arange(2))", [1, 1], "int64"),
        ("unique_values(asarray([2, 1, 2]))", [1, 2], "int64"), ("unique_counts(asarray([2, 1, 2])).counts", [1, 2], "int64"),
        ("unique_inverse(asarray([2, 1, 2])).inverse_indices", [1, 0, 1], "int64"),
        ("unique_all(asarray([2, 1, 2])).indices", [1, 0], "int64"),
        ("unique_values(asarray([nan, nan], dtype=float64)).shape", (2,), None),
        ("unique_counts(asarray([0.0, -0.0], dtype=float64)).counts", [2], "int64"),
        ("unique_inverse(i).inverse_indices.shape", (2, 3), None),
        ("sort(asarray([3, 1, 2]))", [1, 2, 3], "int64"), ("sort(i, axis=0, descending=True)", [[3, 4, 5], [0, 1, 2]], "int64"),
        ("argsort(asarray([3, 1, 2]))", [1, 2, 0], "int64"), ("argsort(asarray([1, 1, 0]), descending=True)", [0, 1, 2], "int64"),
        ("argsort(asarray([1, 0, 1, 0]), stable=True)", [1, 3, 0, 2], "int64"), ("sort(b)[0, :]", [False, False, True], "bool"),
        ("take(i, asarray([2, 0]), axis=1)", [[2, 0], [5, 3]], "int64"), ("take(arange(3), asarray([1, 1]))", [1, 1], "int64"),
        ("take(i, asarray([-1]), axis=0)", [[3, 4, 5]], "int64"),
        ("take_along_axis(i, asarray([[1], [2]]), axis=1)", [[1], [5]], "int64"),
        ("take_along_axis(i, asarray([[1, 0, 1]]), axis=0)", [[3, 1, 5]], "int64"),
    ],
    "reductions": [
        ("sum(i)", 15, "int64"), ("sum(i, axis=0)", [3, 5, 7], "int64"), ("sum(x, axis=(0, 1))", 15.0, "float64"),
        ("sum(i, axis=1, keepdims=True)", [[3], [12]], "int64"), ("sum(asarray([100, 100], dtype=int8))", 200, "int64"),
        ("sum(asarray([200, 100], dtype=uint8)).dtype in (uint64, uint32)", True, None), ("sum(b)", 3, "int64"),
        ("sum(asarray([1.0], dtype=float32))", 1.0, "float32"), ("sum(i, dtype=float32)", 15.0, "float32"),
        ("sum(x, axis=())", [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], "float64"), ("sum(zeros((0,), dtype=float64))", 0.0, "float64"),
        ("prod(i + 1)", 720, "int64"), ("prod(zeros((0,), dtype=float64))", 1.0, "float64"), ("prod(i + 1, axis=-1)", [6, 120], "int64"),
        ("prod(asarray([100, 100], dtype=int8))", 10000, "int64"), ("max(i)", 5, "int64"), ("min(x, axis=0)", [0.0, 1.0, 2.0], "float64"),
        ("max(asarray([1.0, nan], dtype=float64))", math.nan, "float64"), ("min(i, axis=(0, 1), keepdims=True)", [[0]], "int64"),
        ("mean(x)", 2.5, "float64"), ("mean(x, axis=1)", [1.0, 4.0], "float64"), ("mean(asarray([1.0], dtype=float32))", 1.0, "float32"),
        ("std(x)", 1.707825127659933, "float64"), ("std(x, correction=1)", 1.8708286933869707, "float64"),
        ("var(x, axis=0)", [2.25, 2.25, 2.25], "float64"), ("var(x, axis=1, correction=1.0, keepdims=True)", [[1.0], [1.0]], "float64"),
        ("all(b)", False, "bool"), ("any(b, axis=0)", [True, True, True], "bool"), ("all(zeros((0,)))", True, "bool"),
        ("any(i)", True, "bool"), ("all(x, axis=1, keepdims=True)", [[False], [True]], "bool"), ("any(asarray([nan]))", True, "bool"),
        ("any(zeros((0, 2)), axis=0)", [False, False], "bool"),
        ("cumulative_sum(arange(4))", [0, 1, 3, 6], "int64"), ("cumulative_sum(i, axis=0)", [[0, 1, 2], [3, 5, 7]], "int64"),
        ("cumulative_sum(arange(3), include_initial=True)", [0, 0, 1, 3], "int64"),
        ("cumulative_sum(asarray([100, 100], dtype=int8))", [100, 200], "int64"),
        ("cumulative_sum(i, axis=1, dtype=float64)", [[0.0, 1.0, 3.0], [3.0, 7.0, 12.0]], "float64"),
        ("cumulative_prod(i + 1, axis=1)", [[1, 2, 6], [4, 20, 120]], "int64"), ("cumulative_prod(asarray([2, 3]), include_initial=True)", [1, 2, 6], "int64"),
        ("diff(asarray([1, 4, 9]))", [3, 5], "int64"), ("diff(asarray([1, 4, 9]), n=2)", [2], "int64"), ("diff(i, axis=0)", [[3, 3, 3]], "int64"),
        ("diff(asarray([1, 4]), prepend=asarray([0]), append=asarray([9]))", [1, 3, 5], "int64"), ("diff(i, n=0)", [[0, 1, 2], [3, 4, 5]], "int64"),
    ],
    "products": [
        ("matmul(i, matrix_transpose(i))", [[5, 14], [14, 50]], "int64"), ("matmul(x, asarray([1.0, 1.0, 1.0], dtype=float64))", [3.0, 12.0], "float64"),
        ("matmul(arange(3), arange(3))", 5, "int64"), ("matmul(ones((4, 2, 3)), ones((3, 5))).shape", (4, 2, 5), None),
        ("tensordot(i, i, axes=2)", 55, "int64"), ("tensordot(i, i, axes=0).shape", (2, 3, 2, 3), None),
        ("tensordot(x, x, axes=((0,), (0,)))", [[9.0, 12.0, 15.0], [12.0, 17.0, 22.0], [15.0, 22.0, 29.0]], "float64"),
        ("vecdot(i, i)", [5, 50], "int64"), ("vecdot(x, x, axis=-2)", [9.0, 17.0, 29.0], "float64"),
        ("linalg.det(asarray([[2.0, 1.0], [1.0, 3.0]], dtype=float64))", 5.0, "float64"), ("linalg.trace(i)", 4, "int64"),
        ("linalg.diagonal(i, offset=1)", [1, 5], "int64"), ("linalg.outer(arange(2), arange(3))", [[0, 0, 0], [0, 1, 2]], "int64"),
        ("linalg.cross(asarray([1, 0, 0]), asarray([0, 1, 0]))", [0, 0, 1], "int64"), ("linalg.matrix_power(i @ i.T, 2)", [[221, 770], [770, 2696]], None),
        ("linalg.inv(asarray([[2.0, 0.0], [0.0, 4.0]], dtype=float64)) + 0.0", [[0.5, 0.0], [0.0, 0.25]], "float64"),
        ("linalg.solve(asarray([[2.0, 0.0], [0.0, 4.0]], dtype=float64), asarray([2.0, 4.0], dtype=float64))", [1.0, 1.0], "float64"),
        ("linalg.cholesky(asarray([[4.0, 2.0], [2.0, 5.0]], dtype=float64))", [[2.0, 0.0], [1.0, 2.0]], "float64"),
        ("linalg.cholesky(asarray([[4.0, 2.0], [2.0, 5.0]], dtype=float64), upper=True)", [[2.0, 1.0], [0.0, 2.0]], "float64"),
        ("linalg.eigvalsh(asarray([[2.0, 0.0], [0.0, 1.0]], dtype=float64))", [1.0, 2.0], "float64"), ("linalg.eigh(x @ x.T).eigenvectors.shape", (2, 2), None),
        ("linalg.matrix_norm(x)", 7.416198487095663, "float64"), ("linalg.matrix_norm(x, ord=1, keepdims=True)", [[7.0]], "float64"),
        ("linalg.matrix_norm(x, ord=inf)", 12.0, "float64"), ("linalg.matrix_rank(x)", 2, "int64"), ("linalg.pinv(x).shape", (3, 2), None),
        ("linalg.qr(x).R.shape", (2, 3), None), ("linalg.qr(x.T, mode='complete').Q.shape", (3, 3), None), ("linalg.slogdet(x @ x.T).sign", 1.0, "float64"),
        ("linalg.svd(x).Vh.shape", (3, 3), None), ("linalg.svd(x, full_matrices=False).U.shape", (2, 2), None), ("linalg.svdvals(x).shape", (2,), None),
        ("linalg.vector_norm(x)", 7.416198487095663, "float64"), ("linalg.vector_norm(x, ord=1, axis=0)", [3.0, 5.0, 7.0], "float64"),
        ("linalg.vector_norm(x, ord=inf, axis=1, keepdims=True)", [[2.0], [5.0]], "float64"), ("linalg.vecdot(i, i)", [5, 50], "int64"),
        ("linalg.tensordot(i, i)", 55, "int64"), ("linalg.matmul(i, i.T)", [[5, 14], [14, 50]], "int64"), ("linalg.matrix_transpose(i).shape", (3, 2), None),
    ],
    "elements": [
        ("clip(i, 1, 3)", [[1, 1, 2], [3, 3, 3]], "int64"), ("clip(x, min=2.0)[0, :]", [2.0, 2.0, 2.0], "float64"),
        ("clip(x, max=asarray([1.0, 1.0, 1.0], dtype=float64))[1, :]", [1.0, 1.0, 1.0], "float64"), ("clip(i)[0, :]", [0, 1, 2], "int64"),
        ("clip(x, max=1)[0, :]", [0.0, 1.0, 1.0], "float64"), ("add(x, 1)[0, :]", [1.0, 2.0, 3.0], "float64"),
        ("multiply(2, i)[0, :]", [0, 2, 4], "int64"), ("less(i, 2)[0, :]", [True, True, False], "bool"), ("pow(i, 2)[1, :]", [9, 16, 25], "int64"),
        ("maximum(i, 2)[0, :]", [2, 2, 2], "int64"), ("floor_divide(asarray([-7, 7]), 2)", [-4, 3], "int64"),
        ("remainder(asarray([-7, 7]), 3)", [2, 1], "int64"), ("remainder(asarray([7]), asarray([-3]))", [-2], "int64"),
        ("bitwise_right_shift(asarray([-8]), 1)", [-4], "int64"), ("round(asarray([0.5, 1.5, 2.5, -0.5], dtype=float64))", [0.0, 2.0, 2.0, -0.0], "float64"),
        ("sign(asarray([-3, 0, 5]))", [-1, 0, 1], "int64"), ("abs(asarray([-3, 2]))", [3, 2], "int64"),
        ("logaddexp(asarray([0.0], dtype=float64), asarray([0.0], dtype=float64))", [0.6931471805599453], "float64"),
        ("nextafter(asarray([1.0], dtype=float64), asarray([2.0], dtype=float64))", [1.0 + 2.0**-52], "float64"),
        ("nextafter(asarray([0.0], dtype=float64), asarray([-1.0], dtype=float64))", [-5e-324], "float64"),
        ("copysign(asarray([1.0], dtype=float64), asarray([-0.0], dtype=float64))", [-1.0], "float64"),
        ("signbit(asarray([-0.0, 1.0], dtype=float64))", [True, False], "bool"), ("reciprocal(asarray([4.0], dtype=float64))", [0.25], "float64"),
        ("logical_not(b)[0, :]", [True, False, True], "bool"), ("equal(b, True)[0, :]", [False, True, False], "bool"),
    ],
    "indexing": [
        ("i[1, 2]", 5, "int64"), ("i[-1, ...]", [3, 4, 5], "int64"), ("i[:, ::-1]", [[2, 1, 0], [5, 4, 3]], "int64"),
        ("i[None, :, 0].shape", (1, 2), None), ("i[0:0, :].shape", (0, 3), None), ("i[b]", [1, 3, 5], "int64"),
        ("i[asarray([1, 0]), asarray([2, 0])]", [5, 0], "int64"), ("i[asarray([1]), 0]", [3], "int64"), ("i[..., 5:1:-1].shape", (2, 1), None),
        ("arange(5)[4:0:-2]", [4, 2], "int64"), ("asarray(7)[()]", 7, "int64"), ("i[asarray([[0, 1]]), 1]", [[1, 4]], "int64"),
        ("changed(i, (0, 1), 9)[0, :]", [0, 9, 2], "int64"), ("changed(i, b, 0)[1, :]", [0, 4, 0], "int64"),
        ("changed(i, (slice(None), 0), asarray([7, 8]))[:, 0]", [7, 8], "int64"), ("changed(i, ..., 1)[0, :]", [1, 1, 1], "int64"),
        ("out_of_range(i, (2, 0))", True, None), ("out_of_range(i, (0, 3))", True, None),
    ],
}


def calls():
    for subject, cases in CALLS.items():
        for text, expected, dtype in cases:
            def holds(xp, text=text, expected=expected, dtype=dtype):
                found = eval(text, _Scope(xp))  # noqa: S307
                if dtype is not None and not has(xp, found, dtype):
                    return False
                if isinstance(expected, tuple):
                    return tuple(found) == expected
                if isinstance(expected, str):
                    return found == getattr(xp, expected)
                return same(listed(found) if hasattr(found, "tolist") else found, expected)

            yield f"{subject}: {text}", holds


class _Scope(dict):
    """The names of a namespace, and some arrays."""

    def __init__(self, xp):
        super().__init__()
        self.xp = xp

    def __missing__(self, name):
        xp = self.xp
        if name in ("x", "i", "b"):
            i = xp.reshape(xp.arange(6, dtype=xp.int64), (2, 3))
            return {"x": lambda: xp.astype(i, xp.float64), "i": lambda: i, "b": lambda: i % 2 == 1}[name]()
        if name == "changed":
            return _changed
        if name == "out_of_range":
            return _out_of_range
        if name in ("len", "slice"):
            return {"len": len, "slice": slice}[name]
        if hasattr(xp, name):
            return getattr(xp, name)
        raise KeyError(name)


def _changed(x, key, value):
    x = x + 0
    x[key] = value
    return x


def _out_of_range(x, key):
    try:
        x[key]
    except IndexError:
        return True
    return False


def special_values():
    for name, args, expected in special.cases():
        for dtype in FLOATS:
            def holds(xp, name=name, args=args, expected=expected, dtype=dtype):
                arrays = [xp.asarray([arg], dtype=getattr(xp, dtype)) for arg in args]
                return same(listed(getattr(xp, name)(*arrays)), [expected])

            yield f"special values: {name}{args} in {dtype}", holds


def all_cases():
    """Every case: its name, which begins with the subject, and the function of the namespace."""
    for subject in (names, signatures, elementwise_types, promotion, operators, calls, special_values):
        yield from subject()


def failures(xp):
    """By subject: how many cases there are, and the names of those that do not hold."""
    found = {}
    for name, holds in all_cases():
        subject = name.partition(":")[0]
        count, failed = found.setdefault(subject, [0, []])
        found[subject][0] += 1
        try:
            held = bool(holds(xp))
        except Exception:
            held = False
        if not held:
            failed.append(name)
    return found


def main():
    quiet = "--quiet" in sys.argv
    for module in [name for name in sys.argv[1:] if not name.startswith("-")]:
        found = failures(importlib.import_module(module))
        n = sum(count for count, _ in found.values())
        n_failed = sum(len(failed) for _, failed in found.values())
        print(f"{module}: {n - n_failed} of {n} cases hold")
        for subject, (count, failed) in found.items():
            print(f"  {subject:16} {count - len(failed):5} of {count:5}")
            for name in failed if not quiet else ():
                print(f"      {name}")


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main()
