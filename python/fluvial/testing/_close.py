"""Whether values agree, up to rounding."""

from __future__ import annotations

import numpy as np

from .. import _core
from .._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: What is allowed by element type, relative and absolute; 0 for what is not here.
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
}
#: How many differing elements a message shows.
SHOWN = 5


def assert_close(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
) -> None:
    """Raises an `AssertionError` unless `|actual - expected| <= atol + rtol * |expected|` everywhere.

    Shapes and element types must agree, too. Python's numbers, and lists of them beside a tensor or
    an array, have no element type of their own, and take that of the other side. Lists, tuples and
    dicts are compared part by part.

    Args:
        actual: What was computed: a tensor, an array, a number, or lists, tuples and dicts of them.
        expected: What it should be, in the same form.
        rtol: The relative difference that is allowed; by default that of the element type, which is
            1e-7 for float64, 1.3e-6 for float32, 1e-3 for float16, 1.6e-2 for bfloat16, and 0 for
            whole numbers and bools. It is given together with `atol`.
        atol: The absolute difference that is allowed; by default 1e-7 for float64, 1e-5 for the
            other floats, else 0.
        equal_nan: Whether two NaN at the same place agree.

    Example:
        >>> fl.testing.assert_close(fl.tensor([1.0, 2.0]) / 3, [1 / 3, 2 / 3])
        >>> fl.testing.assert_close({"loss": fl.tensor(0.5)}, {"loss": 0.25})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        AssertionError: ...["loss"]: 1 of 1 elements differs by more than 1e-05 + 1.3e-06 * |expected|
          largest absolute difference: 0.25
          largest relative difference: 1.0
          at (): 0.5, expected 0.25
    """
    __tracebackhide__ = True
    if (rtol is None) != (atol is None):
        raise fault(ValueError, "one of `rtol` and `atol` was given alone", "give both, or none")
    message = _compare(actual, expected, (rtol, atol), equal_nan, "")
    if message:
        raise fault(AssertionError, message)


def _compare(actual: Any, expected: Any, tolerance: Any, equal_nan: bool, where: str) -> str:
    """What is wrong, or nothing; `where` says which part is compared."""
    label = f"{where}: " if where else ""
    if isinstance(actual, dict) and isinstance(expected, dict):
        if actual.keys() != expected.keys():
            missing = [key for key in expected if key not in actual]
            extra = [key for key in actual if key not in expected]
            return f"{label}the keys differ: missing {missing}, unexpected {extra}"
        parts = ((f"{where}[{_quoted(key)}]", actual[key], expected[key]) for key in expected)
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"{label}there are {len(actual)} parts, expected {len(expected)}"
        pairs = enumerate(zip(actual, expected))
        parts = ((f"{where}[{i}]", a, b) for i, (a, b) in pairs)
    else:
        message = _compare_leaves(actual, expected, tolerance, equal_nan)
        return message and label + message
    for part, a, b in parts:
        message = _compare(a, b, tolerance, equal_nan, part)
        if message:
            return message
    return ""


def _quoted(key: object) -> str:
    return f'"{key}"' if isinstance(key, str) else repr(key)


def _is_sequence(value: object) -> bool:
    return isinstance(value, (list, tuple))


def _compare_leaves(actual: Any, expected: Any, tolerance: Any, equal_nan: bool) -> str:
    sides = [_array(actual), _array(expected)]
    for side, other in ((0, 1), (1, 0)):
        if sides[side] is None:
            what, beside = (actual, expected)[side], sides[other]
            if beside is None or not (_is_sequence(what) or _is_number(what)):
                if type(actual) is type(expected) and not isinstance(what, dict):
                    return "" if actual == expected else f"{actual!r}, expected {expected!r}"
                return f"`{type(actual).__name__}`, expected `{type(expected).__name__}`"
            try:
                array = np.asarray(what)
            except ValueError:
                return f"the nested list {what!r} is ragged, so it is not an array"
            if array.dtype.kind not in "biufc":
                return f"{what!r} does not consist of numbers"
            sides[side] = (array, beside[1])
    (a, kind), (b, expected_kind) = sides  # type: ignore[misc]
    if _is_number(actual) and _is_number(expected):
        # Two numbers of Python: whole ones are compared exactly, others as float64.
        kind = expected_kind = np.result_type(a, b).name
    elif _is_number(actual) or _is_number(expected):
        kind = expected_kind = expected_kind if _is_number(actual) else kind
    if kind != expected_kind:
        return f"the element type is {kind}, expected {expected_kind}"
    if a.shape != b.shape:
        return f"the shape is {a.shape}, expected {b.shape}"
    rtol, atol = TOLERANCES.get(kind, (0.0, 0.0)) if tolerance[0] is None else tolerance
    return _compare_arrays(a, b, rtol, atol, equal_nan)


def _is_number(value: object) -> bool:
    return isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic)


def _array(value: Any) -> tuple[np.ndarray, str] | None:
    """The elements as an array, and the name of their type; nothing if it is not a value."""
    if isinstance(value, _core.Tensor):
        if value.is_symbolic:
            raise fault(
                TypeError,
                f"{value.type_text} is a value of a program, which has no elements yet",
                "run the program and compare its outputs",
            )
        with _core.imperative(), _core.no_grad():
            wide = value.detach()
            wide = _core.cast(wide, "float32") if value.dtype.name == "bfloat16" else wide
            return wide.numpy(), value.dtype.name
    if isinstance(value, (np.ndarray, np.generic)) or _is_number(value):
        array = np.asarray(value)
        # A whole number of more than 64 bits is none of numpy's.
        return (array, array.dtype.name) if array.dtype.kind in "biufc" else None
    return None


def _compare_arrays(
    a: np.ndarray, b: np.ndarray, rtol: float, atol: float, equal_nan: bool
) -> str:
    difference = _difference(a, b)
    if a.dtype.kind in "fc" or b.dtype.kind in "fc":
        a, b = (x if x.dtype.kind == "c" else x.astype(np.float64) for x in (a, b))
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        scale = np.abs(b.astype(np.float64) if b.dtype.kind in "biu" else b)
        close = (a == b) | ((difference <= atol + rtol * scale) & np.isfinite(scale))
        if equal_nan:
            close |= (a != a) & (b != b)
        if close.all():
            return ""
        difference = np.where(close & np.isnan(difference), 0.0, difference)
        relative = np.where(difference == 0, 0.0, difference / scale)
    wrong = ~close
    count = int(np.count_nonzero(wrong))
    differ = "elements differs" if count == 1 else "elements differ"
    bound = f" by more than {atol:g} + {rtol:g} * |expected|" if rtol or atol else ""
    lines = [f"{count} of {a.size} {differ}{bound}"]
    for name, values in (("absolute", difference), ("relative", relative)):
        # What is not a number on one side only, or infinite, differs most.
        worst = np.unravel_index(np.argmax(np.where(np.isnan(values), np.inf, values)), a.shape)
        at = f" at {_index(worst)}" if a.ndim else ""
        lines.append(f"largest {name} difference: {float(values[worst])!r}{at}")
    for place in map(_index, np.argwhere(wrong)[:SHOWN]):
        lines.append(f"at {place}: {a[place].item()!r}, expected {b[place].item()!r}")
    if count > SHOWN:
        lines.append("…")
    return "\n  ".join(lines)


def _index(index: Any) -> tuple[int, ...]:
    return tuple(int(i) for i in index)


def _difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The absolute difference, which is right also for whole numbers far apart."""
    if a.dtype.kind in "biu" and b.dtype.kind in "biu":
        larger = np.asarray(a >= b)
        # Differences are taken modulo 2**64, where they fit once the smaller one is subtracted.
        with np.errstate(over="ignore"):
            wide = [x.astype(np.int64 if x.dtype.kind != "u" else np.uint64) for x in (a, b)]
            first, second = (x.astype(np.uint64) for x in wide)
            return np.where(larger, first - second, second - first).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        wide_a = a if a.dtype.kind == "c" else a.astype(np.float64)
        wide_b = b if b.dtype.kind == "c" else b.astype(np.float64)
        return np.asarray(np.abs(wide_a - wide_b))
