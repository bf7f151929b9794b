"""What Fluid says of windows over images: sides, layouts, pools."""

from __future__ import annotations

import math

from .. import _core
from .._fault import fault
from .._sequence import listed
from ._arguments import channels_back, channels_first, known, many

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    from .._core import Tensor

    #: One number, one for each axis or for each side, pairs for all axes, "SAME" or "VALID".
    Padding: TypeAlias = int | str | Sequence[Any]


def sides_of(padding: Padding, n: int, layout: str) -> tuple[list[int], list[int]] | None:
    """What is added before and behind each of `n` spatial axes; nothing for "SAME"."""
    if isinstance(padding, str):
        if padding.upper() == "SAME":
            return None
        if padding.upper() == "VALID":
            return [0] * n, [0] * n
        raise fault(ValueError, f'`padding` is "{padding}"', 'give numbers, "SAME" or "VALID"')
    if isinstance(padding, (list, tuple)) and padding and isinstance(padding[0], (list, tuple)):
        first = 1 if layout in ("NHWC", "NDHWC") else 2
        pairs = listed(padding, "sizes")
        spatial = pairs[first : first + n] if len(pairs) == n + 2 else pairs
        others = [pair for pair in pairs if pair not in spatial] if len(pairs) == n + 2 else []
        if len(spatial) != n or any(tuple(pair) != (0, 0) for pair in others):
            raise fault(
                ValueError,
                f"`padding` is {padding!r}",
                f"give a pair for each of {n + 2} axes, [0, 0] for batch and channels",
            )
        return [int(pair[0]) for pair in spatial], [int(pair[1]) for pair in spatial]
    if isinstance(padding, (list, tuple)) and len(padding) == 2 * n:
        return [int(side) for side in padding[::2]], [int(side) for side in padding[1::2]]
    each = many(padding, n, "padding")
    return each, list(each)


def _same(x: Tensor, window: list[int], step: list[int]) -> tuple[list[int], list[int]]:
    before, after = [], []
    for i, (size, by) in enumerate(zip(window, step)):
        if by == 1:
            total = size - 1
        else:
            length = known(x.shape[i + 2], "the size of an image", 'give numbers in place of "SAME"')
            total = max((-(-length // by) - 1) * by + size - length, 0)
        before.append(total // 2)
        after.append(total - total // 2)
    return before, after


def placed(
    x: Tensor,
    padding: Padding,
    window: list[int],
    step: list[int],
    spread: list[int],
    layout: str,
    value: float,
) -> tuple[Tensor, list[int]]:
    """The images, and what a window's op adds on both sides of each axis; sides that differ are added here."""
    sides = sides_of(padding, len(window), layout)
    if sides is None:
        if any(distance != 1 for distance in spread):
            raise fault(ValueError, '"SAME" with a dilation', "give the padding as numbers")
        sides = _same(x, window, step)
    before, after = sides
    if before == after:
        return x, before
    return _core.pad(x, [0, 0, *before], [0, 0, *after], value=value), [0] * len(window)


def pooled(
    n: int,
    input: Tensor,
    pool_size: Any,
    pool_type: str,
    pool_stride: Any,
    pool_padding: Padding,
    global_pooling: bool,
    ceil_mode: bool,
    exclusive: bool,
    layout: str,
) -> Tensor:
    """The largest element or the mean of each window, over `n` spatial axes."""
    if pool_type not in ("max", "avg"):
        raise fault(ValueError, f"no pool is named {pool_type!r}", 'use "max" or "avg"')
    x, last = channels_first(input, layout)
    if x.ndim != n + 2:
        raise fault(ValueError, f"pool{n}d got {x.ndim} axes", f"give {n + 2}: batch, channels, {n} sizes")
    if global_pooling:
        axes = list(range(2, n + 2))
        whole = _core.max if pool_type == "max" else _core.mean
        return channels_back(whole(x, axis=axes, keepdims=True), last)
    window = many(pool_size, n, "pool_size")
    if min(window) < 1:
        raise fault(ValueError, f"a window of size {pool_size}", "give `pool_size`, or `global_pooling=True`")
    step = many(pool_stride, n, "pool_stride")
    if pool_type == "max":
        x, around = placed(x, pool_padding, window, step, [1] * n, layout, -math.inf)
        largest: Any = _core.max_pool2d if n == 2 else _core.max_pool3d
        y = largest(x, window, stride=step, padding=around, ceil_mode=ceil_mode)
        return channels_back(y, last)
    x0 = x
    x, around = placed(x, pool_padding, window, step, [1] * n, layout, 0.0)
    average: Any = _core.avg_pool2d if n == 2 else _core.avg_pool3d

    def mean(values: Tensor, **options: Any) -> Tensor:
        return average(values, window, stride=step, padding=around, ceil_mode=ceil_mode, **options)

    if not exclusive:
        y = mean(x, divisor=math.prod(window))
    elif x is x0:
        y = mean(x, count_include_pad=False)
    else:
        counted, _ = placed(_core.ones_like(x0), pool_padding, window, step, [1] * n, layout, 0.0)
        y = mean(x, divisor=1) / mean(counted, divisor=1)
    return channels_back(y, last)
