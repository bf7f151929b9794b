"""Images: other sizes, other places, other channels."""

from __future__ import annotations

from ... import _core
from ..._fault import fault
from .._lists import listed
from ...layers._activations import activation
from ...layers._arguments import axis_of, channels_back, channels_first, known, size_of, sizes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._core import Tensor
    from ...layers._activations import Act

__all__ = [
    "affine_channel", "affine_grid", "grid_sampler", "image_resize", "image_resize_short",
    "interpolate", "maxout", "pixel_shuffle", "resize_bilinear", "resize_nearest",
    "resize_trilinear", "shuffle_channel", "space_to_depth", "temporal_shift",
]  # fmt: skip


def _along(x: Tensor, axis: int, size: Any, nearest: bool, corners: bool, mode: int) -> Tensor:
    """Images with another size along an axis."""
    old: Any = x.shape[axis]
    before, after = (_core.dim_size(length, "float64") for length in (old, size))
    numbers = _core.iota(size, "float64")
    if corners:
        ratio = _core.where(after > 1.0, (before - 1.0) / _core.maximum(after - 1.0, 1.0), 0.0)
    else:
        ratio = before / after
    ahead: Any = [1] * x.ndim
    ahead[axis] = size
    if nearest:
        places = _core.floor(numbers * ratio + 0.5) if corners else _core.floor(numbers * ratio)
        return _core.gather(x, _core.cast(_core.minimum(places, before - 1.0), "int64"), axis)
    if mode == 0 and not corners:
        places = _core.maximum((numbers + 0.5) * ratio - 0.5, 0.0)
    else:
        places = numbers * ratio
    low = _core.minimum(_core.floor(places), before - 1.0)
    share = _core.reshape(_core.cast(places - low, x.dtype), ahead)
    high = _core.minimum(low + 1.0, before - 1.0)
    first = _core.gather(x, _core.cast(low, "int64"), axis)
    second = _core.gather(x, _core.cast(high, "int64"), axis)
    return first * (1.0 - share) + second * share


def image_resize(
    input: Tensor,
    out_shape: Sequence[int | Tensor] | Tensor | None = None,
    scale: float | Tensor | None = None,
    name: str | None = None,
    resample: str = "BILINEAR",
    actual_shape: Tensor | None = None,
    align_corners: bool = True,
    align_mode: int = 1,
    data_format: str = "NCHW",
) -> Tensor:
    """Images of another size.

    Args:
        input: The images.
        out_shape: The new sizes.
        scale: A factor on the sizes, in place of `out_shape`.
        name: For Fluid's programs.
        resample: "BILINEAR", "TRILINEAR" or "NEAREST".
        actual_shape: The new sizes as a tensor, which comes before `out_shape`.
        align_corners: Whether the middles of the elements at the border stay where they are.
        align_mode: Without `align_corners`: 0 if elements are squares around their middle, 1 if they are
            points.
        data_format: "NCHW" or "NHWC", with three axes "NCDHW" or "NDHWC".

    Example:
        >>> from fluvial.fluid.layers._image import image_resize
        >>> image_resize(fl.tensor([[[[0.0, 2.0]]]]), [1, 3]).tolist()
        [[[[0.0, 1.0, 2.0]]]]
    """
    kind = resample.upper()
    n = {"BILINEAR": 2, "TRILINEAR": 3, "NEAREST": input.ndim - 2}.get(kind)
    if n is None:
        raise fault(ValueError, f'there is no way "{resample}"', 'use "BILINEAR", "TRILINEAR" or "NEAREST"')
    if input.ndim != n + 2:
        raise fault(ValueError, f'"{resample}" of {input.ndim} axes', f"give {n + 2}")
    if align_mode not in (0, 1):
        raise fault(ValueError, f"`align_mode` is {align_mode}", "use 0 or 1")
    x, last = channels_first(input, data_format)
    given: Any = actual_shape if actual_shape is not None else out_shape
    if given is not None:
        sizes = sizes_of(given, n)
    elif scale is not None:
        factor: Any = float(scale.item()) if isinstance(scale, _core.Tensor) else float(scale)
        lengths = [known(size, "the size of an image", "give `out_shape`") for size in x.shape[2:]]
        sizes = [int(length * factor) for length in lengths]
    else:
        raise fault(ValueError, "neither sizes nor a factor are given", "give `out_shape` or `scale`")
    if len(sizes) != n or any(isinstance(size, int) and size < 1 for size in sizes):
        raise fault(ValueError, f"the new sizes are {sizes}", f"give {n} positive ones")
    for i, size in enumerate(sizes):
        x = _along(x, i + 2, size, kind == "NEAREST", align_corners, align_mode)
    return channels_back(x, last)


interpolate = image_resize


def resize_bilinear(
    input: Tensor,
    out_shape: Any = None,
    scale: Any = None,
    name: str | None = None,
    actual_shape: Tensor | None = None,
    align_corners: bool = True,
    align_mode: int = 1,
    data_format: str = "NCHW",
) -> Tensor:
    """Images of another size, by lines between elements; see `image_resize`."""
    return image_resize(
        input, out_shape, scale, name, "BILINEAR", actual_shape, align_corners, align_mode, data_format
    )


def resize_trilinear(
    input: Tensor,
    out_shape: Any = None,
    scale: Any = None,
    name: str | None = None,
    actual_shape: Tensor | None = None,
    align_corners: bool = True,
    align_mode: int = 1,
    data_format: str = "NCDHW",
) -> Tensor:
    """Volumes of another size, by lines between elements; see `image_resize`."""
    return image_resize(
        input, out_shape, scale, name, "TRILINEAR", actual_shape, align_corners, align_mode, data_format
    )


def resize_nearest(
    input: Tensor,
    out_shape: Any = None,
    scale: Any = None,
    name: str | None = None,
    actual_shape: Tensor | None = None,
    align_corners: bool = True,
    data_format: str = "NCHW",
) -> Tensor:
    """Images of another size, by the nearest element; see `image_resize`."""
    return image_resize(
        input, out_shape, scale, name, "NEAREST", actual_shape, align_corners, 1, data_format
    )


def image_resize_short(input: Tensor, out_short_len: int, resample: str = "BILINEAR") -> Tensor:
    """Images whose shorter side gets a new size, and the other one in proportion."""
    if input.ndim != 4:
        raise fault(ValueError, f"images of {input.ndim} axes", "give four")
    sides = [known(size, "the size of an image") for size in input.shape[2:]]
    short = sides.index(min(sides))
    sizes = listed(sides, "sizes")
    sizes[short] = out_short_len
    sizes[1 - short] = int(float(sides[1 - short]) * (float(out_short_len) / float(sides[short])) + 0.5)
    return image_resize(input, sizes, resample=resample)


def affine_grid(theta: Tensor, out_shape: Any, name: str | None = None) -> Tensor:
    """Where the places of images come from under affine maps, for `grid_sampler`.

    Args:
        theta: The maps, `[batch, 2, 3]`.
        out_shape: The sizes of the images, `[batch, channels, height, width]`.
        name: For Fluid's programs.

    Returns:
        `[batch, height, width, 2]`.
    """
    _, _, height, width = sizes_of(out_shape, 4)
    across = _core.linspace(-1.0, 1.0, width, theta.dtype)
    down = _core.linspace(-1.0, 1.0, height, theta.dtype)
    x = _core.broadcast_to(_core.reshape(across, (1, width)), (height, width))
    y = _core.broadcast_to(_core.reshape(down, (height, 1)), (height, width))
    places = _core.reshape(_core.stack([x, y, _core.ones_like(x)], -1), (1, -1, 3))
    grid = _core.matmul(places, _core.transpose(theta, 1, 2))
    return _core.reshape(grid, (theta.shape[0], height, width, 2))


def grid_sampler(x: Tensor, grid: Tensor, name: str | None = None) -> Tensor:
    """Images read at given places; beyond them are zeros.

    Args:
        x: The images, `[batch, channels, height, width]`.
        grid: The places, `[batch, height, width, 2]`, from -1 to 1, the middles of the elements at the border.
        name: For Fluid's programs.
    """
    return _core.grid_sample(x, grid, align_corners=True)


def affine_channel(
    x: Tensor,
    scale: Tensor | None = None,
    bias: Tensor | None = None,
    data_layout: str = "NCHW",
    name: str | None = None,
    act: Act = None,
) -> Tensor:
    """Each channel times a factor of its own, plus a number of its own."""
    moved, last = channels_first(x, data_layout, "data_layout")
    sizes = (1, -1, *(1,) * (moved.ndim - 2))
    y = moved if scale is None else moved * _core.reshape(scale, sizes)
    y = y if bias is None else y + _core.reshape(bias, sizes)
    return activation(channels_back(y, last), act)


def maxout(x: Tensor, groups: int, name: str | None = None, axis: int = 1) -> Tensor:
    """The largest of so many channels that follow each other."""
    at = axis_of(axis, x.ndim)
    channels = known(x.shape[at], "the number of channels")
    if channels % groups:
        raise fault(ValueError, f"{channels} channels are not groups of {groups}", "use a number that divides them")
    parts = _core.reshape(x, (*x.shape[:at], channels // groups, groups, *x.shape[at + 1 :]))
    return _core.max(parts, axis=at + 1)


def pixel_shuffle(x: Tensor, upscale_factor: int) -> Tensor:
    """Channels as pixels: images `upscale_factor` times as high and wide."""
    return _core.pixel_shuffle(x, upscale_factor)


def shuffle_channel(x: Tensor, group: int, name: str | None = None) -> Tensor:
    """The channels in another order: the first of each group, then the second, and so on."""
    return _core.channel_shuffle(x, group)


def space_to_depth(x: Tensor, blocksize: int, name: str | None = None) -> Tensor:
    """Images `blocksize` times as low and narrow, with that many more channels, in Fluid's order.

    Args:
        x: The images; the number of channels is a multiple of the square of `blocksize`.
        blocksize: The side of a block.
        name: For Fluid's programs.
    """
    channels, height, width = (known(size, "the size of an image") for size in x.shape[1:])
    b = blocksize
    if channels % (b * b) or height % b or width % b:
        raise fault(
            ValueError,
            f"images of {channels} channels, {height} by {width}, have no blocks of {b}",
            "use sizes that are multiples of the block, and channels that are of its square",
        )
    parts = _core.reshape(x, (-1, b, b, channels // (b * b), height, width))
    turned = _core.permute(parts, [0, 3, 4, 1, 5, 2])
    return _core.reshape(turned, (x.shape[0], channels * b * b, height // b, width // b))


def temporal_shift(x: Tensor, seg_num: int, shift_ratio: float = 0.25, name: str | None = None) -> Tensor:
    """Frames of videos, some of whose channels come from the frame before, some from the next one.

    Args:
        x: The frames, `[videos · seg_num, channels, height, width]`.
        seg_num: How many frames a video has.
        shift_ratio: The share of channels that move in each direction.
        name: For Fluid's programs.
    """
    channels = known(x.shape[1], "the number of channels")
    first, second = int(channels * shift_ratio), int(channels * 2 * shift_ratio)
    rest: Any = x.shape[2:]
    frames_in_all: Any = x.shape[0]
    videos: Any = frames_in_all // seg_num if isinstance(frames_in_all, int) else None
    if videos is None:
        # That all videos are whole only the run can check.
        videos = size_of(_core.floor_div(_core.dim_size(frames_in_all, "int64"), seg_num))
        x = _core.assume_dims(x, (videos * seg_num, *x.shape[1:]))
    frames = _core.reshape(x, (videos, seg_num, channels, *rest))
    none = [0] * frames.ndim

    def moved(part: Tensor, by: int) -> Tensor:
        before, after = list(none), list(none)
        (before if by > 0 else after)[1] = 1
        padded = _core.pad(part, before, after)
        return _core.slice(padded, 1, 0, seg_num) if by > 0 else _core.slice(padded, 1, 1, seg_num + 1)

    parts = [
        moved(_core.slice(frames, 2, 0, first), 1) if first else None,
        moved(_core.slice(frames, 2, first, second), -1) if second > first else None,
        _core.slice(frames, 2, second, channels) if channels > second else None,
    ]
    y = _core.reshape(_core.concat([part for part in parts if part is not None], 2), x.shape)
    return y if isinstance(frames_in_all, int) else _core.assume_dims(y, (frames_in_all, *x.shape[1:]))
