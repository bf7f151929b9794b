"""Random tensors and ranges."""

from __future__ import annotations

import builtins

from .. import _core
from .._array_api.dtypes import on_cpu
from .._array_api.making import linspace
from .._core import Tensor
from .._fault import fault
from .products import as_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import DTypeLike, TensorLike


def together(sizes: tuple[Any, ...]) -> Any:
    """The one sequence, or the sizes themselves."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        return tuple(sizes[0])
    return sizes


def leaf(x: Tensor, requires_grad: builtins.bool) -> Tensor:
    return x.track() if requires_grad else x


def _seeded(generator: Any) -> None:
    if generator is not None:
        raise fault(TypeError, "random numbers come from the stream of the scope, not from generators", "use `fl.seed(n)`")


def rand(
    *size: Any,
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: builtins.bool = False,
    generator: None = None,
) -> Tensor:
    """Random numbers, evenly between 0 and 1.

    Args:
        *size: Sizes, one by one or as a sequence.
        dtype: The element type; float32 by default.
        device: None or "cpu".
        requires_grad: Whether the tensor is a leaf.
        generator: None: `fl.seed` sets the stream.

    Example:
        >>> fl.rand(2, 3).shape
        (2, 3)
    """
    on_cpu(device)
    _seeded(generator)
    return leaf(_core.uniform((dtype or _core.float32, together(size))), requires_grad)


def randn(
    *size: Any,
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: builtins.bool = False,
    generator: None = None,
) -> Tensor:
    """Random numbers of the standard normal distribution.

    Args:
        *size: Sizes, one by one or as a sequence.
        dtype: The element type; float32 by default.
        device: None or "cpu".
        requires_grad: Whether the tensor is a leaf.
        generator: None: `fl.seed` sets the stream.
    """
    on_cpu(device)
    _seeded(generator)
    return leaf(_core.normal((dtype or _core.float32, together(size))), requires_grad)


def rand_like(x: TensorLike, *, dtype: DTypeLike | None = None, device: Any = None, requires_grad: builtins.bool = False) -> Tensor:
    """`rand` in the shape of a tensor.

    Args:
        x: The tensor.
        dtype: The element type; that of `x` by default.
        device: None or "cpu".
        requires_grad: Whether the new tensor is a leaf.
    """
    x = as_tensor(x)
    return rand(*x.shape, dtype=dtype or x.dtype, device=device, requires_grad=requires_grad)


def randn_like(x: TensorLike, *, dtype: DTypeLike | None = None, device: Any = None, requires_grad: builtins.bool = False) -> Tensor:
    """`randn` in the shape of a tensor.

    Args:
        x: The tensor.
        dtype: The element type; that of `x` by default.
        device: None or "cpu".
        requires_grad: Whether the new tensor is a leaf.
    """
    x = as_tensor(x)
    return randn(*x.shape, dtype=dtype or x.dtype, device=device, requires_grad=requires_grad)


def randint(
    low: Any = None,
    high: Any = None,
    size: Any = None,
    *,
    dtype: DTypeLike | None = None,
    device: Any = None,
    type: Any = None,
) -> Tensor:
    """Random whole numbers: `randint(high, size)` from zero, or `randint(low, high, size)`; a type may stand in the
    first place instead, as in `randint("i64[2, 3]", 0, 10)`.

    Args:
        low: The least number.
        high: The end, which is not reached.
        size: Sizes, as a sequence.
        dtype: The element type; int64 by default.
        device: None or "cpu".
        type: The type of the tensor, by name: "i64[2, 3]", or a pair of dtype and shape.

    Example:
        >>> fl.randint(0, 10, (2, 3)).shape
        (2, 3)
    """
    on_cpu(device)
    if type is not None:
        return _core.randint(type, low, high)
    if not isinstance(low, (int, _core.Dim)) or isinstance(low, builtins.bool):
        return _core.randint(low, high, size)  # type: ignore[arg-type]
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if isinstance(size, int) or size is None:
        raise fault(TypeError, f"sizes are a sequence, not {size!r}", "write `fl.randint(0, 10, (2, 3))`")
    bounds: Any = (low, high)
    return _core.randint((dtype or _core.int64, tuple(size)), *bounds)


def randint_like(x: TensorLike, low: int, high: int | None = None, *, dtype: DTypeLike | None = None) -> Tensor:
    """`randint` in the shape of a tensor.

    Args:
        x: The tensor.
        low: The least number; or the end, from zero, if it stands alone.
        high: The end, which is not reached.
        dtype: The element type; that of `x` by default.
    """
    x = as_tensor(x)
    low, high = (0, low) if high is None else (low, high)
    return _core.cast(randint(low, high, x.shape), dtype or x.dtype)


def randperm(n: Any, *, dtype: DTypeLike | None = None, device: Any = None, generator: None = None) -> Tensor:
    """The whole numbers below `n` in random order.

    Args:
        n: How many.
        dtype: The element type; int64 by default.
        device: None or "cpu".
        generator: None: `fl.seed` sets the stream.
    """
    on_cpu(device)
    _seeded(generator)
    found = _core.permutation(n)
    return found if dtype is None else _core.cast(found, dtype)


def logspace(
    start: float, end: float, steps: int, base: float = 10.0, *, dtype: DTypeLike | None = None, device: Any = None
) -> Tensor:
    """Powers of a base, whose exponents have equal distances.

    Args:
        start: The first exponent.
        end: The last one.
        steps: How many.
        base: The base.
        dtype: The element type; float32 by default.
        device: None or "cpu".
    """
    on_cpu(device)
    exponents = linspace(start, end, steps, dtype="float64")
    return _core.cast(_core.pow(_core.tensor(base, "float64"), exponents), dtype or _core.float32)


def poisson(rate: TensorLike) -> Tensor:
    """Random whole numbers of Poisson distributions, as floats.

    The time grows with the greatest rate: each number counts events, one by one.

    Args:
        rate: The means.
    """
    rate = as_tensor(rate)
    kind: Any = ("float64", rate.shape)

    def step(count: Any, time: Any) -> Any:
        time = time + _core.exponential(kind, 1.0)
        return count + _core.cast(time < limit, "float64"), time

    limit = _core.cast(_core.stop_gradient(rate), "float64")
    start = (_core.zeros(rate.shape, "float64"), _core.zeros(rate.shape, "float64"))
    count, _ = _core.while_loop(lambda _, time: _core.any(time < limit), step, start)
    return _core.cast(count, rate.dtype)


def numel(x: TensorLike) -> Any:
    """The number of elements.

    Args:
        x: A tensor.
    """
    return as_tensor(x).numel()
