"""Functions of tensors that are given sequences of different lengths: which go by rows, and how."""

from __future__ import annotations

from . import _core
from ._core import Tensor
from ._fault import fault
from ._ragged import Ragged, as_tensor
from ._tree import is_tensor, same_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def nested(rows: Any, levels: list[list[int]]) -> list[Any]:
    """Rows in lists of lists, by the lengths of all levels."""
    for lengths in reversed(levels):
        start, parts = 0, []
        for length in lengths:
            parts.append(rows[start : start + length])
            start += length
        rows = parts
    return rows


def along(x: Tensor, like: Ragged) -> Tensor:
    """A row for each sequence of the outermost level, for each row of the innermost."""
    counted = [*like.row_lengths[1:], like.data]
    for lengths, parts in zip(like.row_lengths, counted):
        x = _core.sequence_expand_as(x, parts, lengths)
    return x


def check_alike(a: Ragged, b: Any) -> None:
    """Refuses sequences of other lengths; in a program, when it runs."""
    if not isinstance(b, Ragged):
        raise fault(TypeError, f"{b!r} are not sequences", "give a Ragged of the same lengths")
    if a.levels != b.levels:
        raise fault(ValueError, f"Ragged of {a.levels} and {b.levels} levels", "both need the same sequences")
    for one, two in zip(a.row_lengths, b.row_lengths):
        if one is two:
            continue
        if one.is_symbolic or two.is_symbolic:
            _core.assert_(_core.eq(one, two), "both Ragged have sequences of the same lengths", [one, two])
        elif one.tolist() != two.tolist():
            raise fault(
                ValueError,
                f"sequences of the lengths {one.tolist()} and {two.tolist()} do not go together",
                "both need the same lengths; `fl.Ragged.concat` joins others",
            )


def _beside(value: Any, like: Ragged) -> Any:
    """What stands for a value where `like` is represented by its rows."""
    if isinstance(value, Ragged):
        if value is like:
            return like.data
        check_alike(like, value)
        if same_sizes(value.data.shape[0], like.data.shape[0]):
            return value.data
        return _core.assume_dims(value.data, (like.data.shape[0], *value.data.shape[1:]))
    if not is_tensor(value) and not getattr(value, "ndim", 0) and not isinstance(value, (list, tuple)):
        return value
    value = as_tensor(value)
    if value.ndim < like.data.ndim or value.ndim == 0:
        return value
    if value.ndim == like.data.ndim + 1 and is_one(value.shape[1]):
        value = _core.squeeze(value, [1])
    if value.ndim > like.data.ndim:
        raise fault(
            ValueError,
            f"{value.type_text} does not go with rows {like.data.type_text}",
            "a tensor has one row for each sequence, `[sequences, ..]`, or the sizes of a row",
        )
    if is_one(value.shape[0]) and not same_sizes(like.lengths.shape[0], 1):
        return value
    return along(value, like)


def is_one(size: Any) -> bool:
    """Whether a size is known to be one."""
    return isinstance(size, int) and size == 1


def rowwise(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Calls an elementwise function with the rows of sequences; tensors with a row for each sequence are repeated
    along it."""
    like = next(value for value in (*args, *named.values()) if isinstance(value, Ragged))
    found = function(
        *[_beside(value, like) for value in args], **{name: _beside(value, like) for name, value in named.items()}
    )
    return like._with(found)


#: Functions that go through elements one by one, or through rows.
_ELEMENTWISE = frozenset(
    """abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor cast ceil celu clip
    copysign cos cosh digamma div dropout elu eq erf erfc exp exp2 expm1 floor floor_div fmax fmin full_like ge gelu gt
    hard_shrink hard_sigmoid hard_swish hard_tanh hypot isfinite isinf isnan le leaky_relu left_shift lerp lgamma log
    log10 log1p log2 log_sigmoid logaddexp logical_and logical_not logical_or logical_xor lt maximum minimum mish mul
    nan_to_num ne neg ones_like polygamma pow reciprocal relu relu6 remainder right_shift round rsqrt selu sigmoid sign
    silu sin sinh soft_shrink softplus softsign sqrt square stop_gradient sub tan tanh tanh_shrink threshold trunc where
    zeros_like""".split()
)
#: Functions of which the first argument goes by rows, and the others stay as they are.
_BY_ROWS = frozenset(("embedding", "linear", "layer_norm", "rms_norm", "one_hot"))
#: Reductions, which go over all elements.
_WHOLE = frozenset(("sum", "mean", "max", "min", "prod", "all", "any", "norm", "count_nonzero"))


def dispatched(name: str, args: tuple, options: dict[str, Any]) -> Any:
    """What a function of the core gives for sequences, or the error to raise.

    Args:
        name: The name of the function.
        args: What stands at its places, with a Ragged among it.
        options: What was given by name.
    """
    function = getattr(_core, name)
    first = args[0] if args else None
    if name in _ELEMENTWISE:
        return rowwise(function, *args, **options)
    if isinstance(first, Ragged):
        if name in _BY_ROWS:
            return first._with(function(first.data, *args[1:], **options))
        if name == "matmul" and len(args) == 2 and not options:
            return first @ args[1]
        if name in ("softmax", "log_softmax"):
            axis = args[1] if len(args) > 1 else options.get("axis", -1)
            if first.ndim > 1 and axis == -1:
                return first._with(function(first.data, -1))
        if name in _WHOLE and not any((*args[1:], *options.values())):
            return function(first.data)
    return fault(
        TypeError,
        f"`{name}` takes tensors, and is given sequences of different lengths",
        "take `ragged.data`, the rows of all; `ragged.padded()`; or methods such as `ragged.map`, `ragged.pool`, "
        "`ragged.softmax`, `fl.Ragged.concat`",
    )


def _operator(function: Any, reflected: bool) -> Callable[[Ragged, Any], Any]:
    def apply(self: Ragged, other: Any) -> Any:
        if isinstance(other, (str, bytes, dict)) or other is None:
            return NotImplemented
        return rowwise(function, other, self) if reflected else rowwise(function, self, other)

    return apply


def install() -> None:
    """Gives the class its operators."""
    import operator

    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
        own = getattr(operator, f"__{name}__")
        setattr(Ragged, f"__{name}__", _operator(own, False))
        setattr(Ragged, f"__r{name}__", _operator(own, True))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Ragged, f"__{name}__", _operator(getattr(operator, f"__{name}__"), False))
