"""Boxes around objects in images, under Fluid's names: those that are functions of tensors."""

from __future__ import annotations

import math

from ... import _core
from ..._fault import fault
from .._lists import listed
from ...layers._arguments import known, many
from ...layers._shapes import flatten
from ...layers._net import conv2d

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._core import Tensor

__all__ = [
    "anchor_generator", "box_coder", "box_decoder_and_assign", "density_prior_box", "iou_similarity",
    "multi_box_head", "polygon_box_transform", "prior_box", "sigmoid_focal_loss", "yolo_box",
]  # fmt: skip


def _sides(boxes: Tensor) -> list[Tensor]:
    """Left, top, right and bottom of boxes, each with size 1 last."""
    return [_core.slice(boxes, -1, i, i + 1) for i in range(4)]


def rounded(x: Tensor) -> Tensor:
    """The nearest whole numbers; halves go away from zero, as in C.

    Args:
        x: The numbers.
    """
    return _core.sign(x) * _core.floor(_core.abs(x) + 0.5)


def iou_similarity(x: Tensor, y: Tensor, box_normalized: bool = True, name: str | None = None) -> Tensor:
    """For each pair of boxes what they share, divided by what either covers: `[n, m]`.

    Args:
        x: `[n, 4]`: left, top, right, bottom.
        y: `[m, 4]`.
        box_normalized: Whether places are shares of an image; if not, sides are elements, and the last counts.
        name: For Fluid's programs.
    """
    more = 0.0 if box_normalized else 1.0
    left, top, right, bottom = _sides(x)
    left2, top2, right2, bottom2 = (_core.transpose(side, 0, 1) for side in _sides(y))
    across = _core.relu(_core.minimum(right, right2) - _core.maximum(left, left2) + more)
    down = _core.relu(_core.minimum(bottom, bottom2) - _core.maximum(top, top2) + more)
    shared = across * down
    areas = (right - left + more) * (bottom - top + more) + (right2 - left2 + more) * (bottom2 - top2 + more)
    return shared / (areas - shared + 1e-10)


def box_coder(
    prior_box: Tensor,
    prior_box_var: Tensor | Sequence[float] | None,
    target_box: Tensor,
    code_type: str = "encode_center_size",
    box_normalized: bool = True,
    name: str | None = None,
    axis: int = 0,
) -> Tensor:
    """Boxes as differences from prior boxes, or boxes from such differences.

    Args:
        prior_box: `[m, 4]`.
        prior_box_var: The scale of differences: for each box, `[m, 4]`, four numbers for all, or none.
        target_box: To encode, `[n, 4]`; to decode, `[n, m, 4]`.
        code_type: "encode_center_size" or "decode_center_size".
        box_normalized: Whether places are shares of an image.
        name: For Fluid's programs.
        axis: To decode: whether prior boxes vary along the second axis of `target_box` (0), or the first (1).

    Returns:
        `[n, m, 4]`.
    """
    more = 0.0 if box_normalized else 1.0
    left, top, right, bottom = _sides(prior_box)
    width, height = right - left + more, bottom - top + more
    prior = _core.concat([left + width * 0.5, top + height * 0.5, width, height], -1)
    scale: Any = prior_box_var
    if isinstance(prior_box_var, (list, tuple)):
        scale = _core.tensor(listed(prior_box_var, "factors"), prior_box.dtype)
    if code_type == "encode_center_size":
        left, top, right, bottom = (_core.unsqueeze(side, 1) for side in _sides(target_box))
        center_x, center_y, across, down = (_core.unsqueeze(side, 0) for side in _sides(prior))
        code = _core.concat(
            [
                ((left + right) * 0.5 - center_x) / across, ((top + bottom) * 0.5 - center_y) / down,
                _core.log(_core.abs((right - left + more) / across)), _core.log(_core.abs((bottom - top + more) / down)),
            ],
            -1,
        )  # fmt: skip
        return code if scale is None else code / scale
    if code_type != "decode_center_size":
        raise fault(ValueError, f'there is no code "{code_type}"', 'use "encode_center_size" or "decode_center_size"')
    if axis not in (0, 1):
        raise fault(ValueError, f"`axis` is {axis}", "use 0 or 1")
    code = target_box
    if scale is not None:
        code = code * (_core.unsqueeze(scale, axis) if scale.ndim == 2 else scale)
    center_x, center_y, across, down = _sides(_core.unsqueeze(prior, axis))
    dx, dy, dw, dh = _sides(code)
    middle_x, middle_y = dx * across + center_x, dy * down + center_y
    half_w, half_h = _core.exp(dw) * across * 0.5, _core.exp(dh) * down * 0.5
    corners = [middle_x - half_w, middle_y - half_h, middle_x + half_w - more, middle_y + half_h - more]
    return _core.concat(corners, -1)


def box_decoder_and_assign(
    prior_box: Tensor,
    prior_box_var: Tensor,
    target_box: Tensor,
    box_score: Tensor,
    box_clip: float,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Boxes of each class from differences, and that of the most probable class but the first, the background.

    Args:
        prior_box: `[n, 4]`.
        prior_box_var: The scale of differences, `[4]`.
        target_box: Differences, `[n, 4 · classes]`.
        box_score: `[n, classes]`.
        box_clip: The largest logarithm of a size.
        name: For Fluid's programs.

    Returns:
        `[n, 4 · classes]` and `[n, 4]`.
    """
    classes = known(box_score.shape[1], "the number of classes")
    code = _core.reshape(target_box, (-1, classes, 4)) * _core.reshape(prior_box_var, (4,))
    left, top, right, bottom = (_core.unsqueeze(side, 1) for side in _sides(prior_box))
    width, height = right - left + 1.0, bottom - top + 1.0
    dx, dy, dw, dh = _sides(code)
    middle_x, middle_y = dx * width + left + width * 0.5, dy * height + top + height * 0.5
    half_w = _core.exp(_core.minimum(dw, box_clip)) * width * 0.5
    half_h = _core.exp(_core.minimum(dh, box_clip)) * height * 0.5
    every = _core.concat([middle_x - half_w, middle_y - half_h, middle_x + half_w - 1.0, middle_y + half_h - 1.0], -1)
    best = _core.argmax(_core.slice(box_score, 1, 1, None), 1) + 1
    index = _core.broadcast_to(_core.reshape(best, (-1, 1, 1)), (prior_box.shape[0], 1, 4))
    return flatten(every), _core.squeeze(_core.take_along_axis(every, index, 1), [1])


def _grid(input: Tensor) -> tuple[int, int]:
    height, width = (known(size, "the size of the feature map") for size in input.shape[2:])
    return height, width


def _constants(
    centers: list[tuple[float, float]], halves: list[tuple[float, float, float, float]], sizes: tuple[int, int],
    variance: Sequence[float], clip: bool, dtype: Any,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Boxes around centers, each by its distances to the left, above, to the right and below; and their variances."""
    import numpy as np

    boxes = np.array(centers)[:, None, [0, 1, 0, 1]] + np.array(halves)[None]
    if clip:
        boxes = boxes.clip(0.0, 1.0)
    boxes = boxes.reshape(*sizes, len(halves), 4)
    scales = np.broadcast_to(np.array(variance, float), boxes.shape)
    return _core.tensor(boxes, dtype), _core.tensor(scales.copy(), dtype)


def prior_box(
    input: Tensor,
    image: Tensor,
    min_sizes: Sequence[float],
    max_sizes: Sequence[float] | None = None,
    aspect_ratios: Sequence[float] = (1.0,),
    variance: Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    flip: bool = False,
    clip: bool = False,
    steps: Sequence[float] = (0.0, 0.0),
    offset: float = 0.5,
    name: str | None = None,
    min_max_aspect_ratios_order: bool = False,
) -> tuple[Tensor, Tensor]:
    """Prior boxes of single shot detectors: at each element of a feature map boxes of several sizes and forms.

    Args:
        input: The feature map, `[batch, channels, h, w]`.
        image: The image, `[batch, channels, height, width]`.
        min_sizes: Sizes of boxes.
        max_sizes: For each a larger one: there is a square of their geometric mean, too.
        aspect_ratios: Width by height.
        variance: The scale of differences, which is returned for each box.
        flip: Whether each form is there turned, too.
        clip: Whether boxes end with the image.
        steps: The distance of boxes across and down; from the sizes if zero.
        offset: Where in its element a box has its middle.
        name: For Fluid's programs.
        min_max_aspect_ratios_order: Whether the larger square stands second, not last.

    Returns:
        Boxes and variances, `[h, w, boxes, 4]`.
    """
    (height, width), (image_h, image_w) = _grid(input), _grid(image)
    smalls: list[Any] = list(min_sizes) if isinstance(min_sizes, (list, tuple)) else [min_sizes]
    larges: list[Any] = [] if max_sizes is None else list(max_sizes) if isinstance(max_sizes, (list, tuple)) else [max_sizes]
    if larges and (len(larges) != len(smalls) or any(a >= b for a, b in zip(smalls, larges))):
        raise fault(ValueError, f"sizes {smalls} and larger ones {larges}", "give a larger one for each, or none")
    forms = [1.0]
    for form in aspect_ratios:
        if all(abs(form - other) >= 1e-6 for other in forms):
            forms += [float(form), 1.0 / form] if flip else [float(form)]
    shapes: list[Any] = []
    for i, small in enumerate(smalls):
        plain = [(small * math.sqrt(form), small / math.sqrt(form)) for form in forms]
        square = [(math.sqrt(small * larges[i]),) * 2] if larges else []
        shapes += plain[:1] + square + plain[1:] if min_max_aspect_ratios_order else plain + square
    step_w, step_h = (steps[0] or image_w / width), (steps[1] or image_h / height)
    centers = [((w + offset) * step_w / image_w, (h + offset) * step_h / image_h) for h in range(height) for w in range(width)]
    halves = [(-w / 2 / image_w, -h / 2 / image_h, w / 2 / image_w, h / 2 / image_h) for w, h in shapes]
    return _constants(centers, halves, (height, width), variance, clip, input.dtype)


def density_prior_box(
    input: Tensor,
    image: Tensor,
    densities: Sequence[int] | None = None,
    fixed_sizes: Sequence[float] | None = None,
    fixed_ratios: Sequence[float] | None = None,
    variance: Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    clip: bool = False,
    steps: Sequence[float] = (0.0, 0.0),
    offset: float = 0.5,
    flatten_to_2d: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Prior boxes of which small ones stand closer together.

    Args:
        input: The feature map, `[batch, channels, h, w]`.
        image: The image, `[batch, channels, height, width]`.
        densities: For each size how many boxes stand in an element along an axis.
        fixed_sizes: Sizes of boxes.
        fixed_ratios: Width by height.
        variance: The scale of differences, which is returned for each box.
        clip: For Fluid's programs; boxes always end with the image.
        steps: The distance of elements across and down; from the sizes if zero.
        offset: Where in its element boxes have their middle.
        flatten_to_2d: Whether the results are `[h · w · boxes, 4]`.
        name: For Fluid's programs.

    Returns:
        Boxes and variances, `[h, w, boxes, 4]`.
    """
    if not densities or not fixed_sizes or not fixed_ratios or len(densities) != len(fixed_sizes):
        raise fault(ValueError, "densities, sizes or forms are missing", "give a density for each size, and forms")
    (height, width), (image_h, image_w) = _grid(input), _grid(image)
    step_w, step_h = (steps[0] or image_w / width), (steps[1] or image_h / height)
    average = int((step_w + step_h) * 0.5)
    halves = []
    for density, size in zip(densities, fixed_sizes):
        shift = int(average / density)
        for form in fixed_ratios:
            w, h = size * math.sqrt(form), size / math.sqrt(form)
            for down in range(density):
                for across in range(density):
                    x, y = (-average / 2.0 + shift / 2.0 + i * shift for i in (across, down))
                    halves.append(((x - w / 2) / image_w, (y - h / 2) / image_h, (x + w / 2) / image_w, (y + h / 2) / image_h))
    centers = [((w + offset) * step_w / image_w, (h + offset) * step_h / image_h) for h in range(height) for w in range(width)]
    boxes, scales = _constants(centers, halves, (height, width), variance, True, input.dtype)
    return (flatten(boxes, 3), flatten(scales, 3)) if flatten_to_2d else (boxes, scales)


def anchor_generator(
    input: Tensor,
    anchor_sizes: Sequence[float] | None = None,
    aspect_ratios: Sequence[float] | None = None,
    variance: Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    stride: Sequence[float] | None = None,
    offset: float = 0.5,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Anchors of detectors in two stages, in elements of the image.

    Args:
        input: The feature map, `[batch, channels, h, w]`.
        anchor_sizes: Sizes of anchors.
        aspect_ratios: Height by width.
        variance: The scale of differences, which is returned for each anchor.
        stride: How many elements of the image one of the feature map is, across and down.
        offset: Where in its element an anchor has its middle.
        name: For Fluid's programs.

    Returns:
        Anchors and variances, `[h, w, anchors, 4]`.
    """
    if not anchor_sizes or not aspect_ratios or not stride:
        raise fault(ValueError, "sizes, forms or the stride are missing", "give all of them")
    height, width = _grid(input)
    step_w, step_h = (float(step) for step in _pair(stride))
    halves = []
    for form in aspect_ratios:
        base_w = math.floor(math.sqrt(step_w * step_h / form) + 0.5)
        base_h = math.floor(base_w * form + 0.5)
        for size in anchor_sizes:
            w, h = size / step_w * base_w - 1, size / step_h * base_h - 1
            halves.append((-w / 2, -h / 2, w / 2, h / 2))
    centers = [
        (w * step_w + offset * (step_w - 1), h * step_h + offset * (step_h - 1)) for h in range(height) for w in range(width)
    ]
    return _constants(centers, halves, (height, width), variance, False, input.dtype)


def _pair(pair: Sequence[float]) -> list[float]:
    """Two numbers, for across and down."""
    if len(pair) != 2:
        raise fault(ValueError, f"{len(pair)} numbers for two axes", "give two")
    return [float(number) for number in pair]


def multi_box_head(
    inputs: Sequence[Tensor],
    image: Tensor,
    base_size: int,
    num_classes: int,
    aspect_ratios: Sequence[Any],
    min_ratio: int | None = None,
    max_ratio: int | None = None,
    min_sizes: Sequence[Any] | None = None,
    max_sizes: Sequence[Any] | None = None,
    steps: Sequence[float] | None = None,
    step_w: Sequence[float] | None = None,
    step_h: Sequence[float] | None = None,
    offset: float = 0.5,
    variance: Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    flip: bool = True,
    clip: bool = False,
    kernel_size: int = 1,
    pad: int = 0,
    stride: int = 1,
    name: str | None = None,
    min_max_aspect_ratios_order: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The head of a single shot detector: for each feature map two convolutions and prior boxes.

    Args:
        inputs: The feature maps.
        image: The image.
        base_size: The size that ratios are shares of.
        num_classes: How many classes there are.
        aspect_ratios: For each map its forms.
        min_ratio: The smallest share of `base_size`, in percent, if `min_sizes` is not given.
        max_ratio: The largest one.
        min_sizes: For each map its sizes.
        max_sizes: For each map the larger ones.
        steps: For each map the distance of boxes.
        step_w: The same across.
        step_h: The same down.
        offset: Where in its element a box has its middle.
        variance: The scale of differences.
        flip: Whether each form is there turned, too.
        clip: Whether boxes end with the image.
        kernel_size: The window of the convolutions.
        pad: The zeros on each side.
        stride: Their step.
        name: For Fluid's programs.
        min_max_aspect_ratios_order: Whether the larger square stands second.

    Returns:
        Places `[batch, boxes, 4]`, scores `[batch, boxes, classes]`, and prior boxes with variances, `[boxes, 4]`.
    """
    maps = listed(inputs, "maps")
    if min_sizes is None or max_sizes is None:
        if len(maps) <= 2 or min_ratio is None or max_ratio is None:
            raise fault(ValueError, "sizes of boxes are missing", "give `min_sizes` and `max_sizes`, or ratios for three maps or more")
        by = int(math.floor((max_ratio - min_ratio) / (len(maps) - 2)))
        shares = list(range(min_ratio, max_ratio + 1, by))
        min_sizes = [base_size * 0.1, *(base_size * share / 100.0 for share in shares)]
        max_sizes = [base_size * 0.2, *(base_size * (share + by) / 100.0 for share in shares)]
    across, down = (steps, steps) if steps is not None else (step_w, step_h)

    def several(value: Any) -> list[Any]:
        return list(value) if isinstance(value, (list, tuple)) else [value]

    for what, given in (("min_sizes", min_sizes), ("max_sizes", max_sizes), ("aspect_ratios", aspect_ratios), ("steps", across), ("steps", down)):
        if given is not None and len(given) < len(maps):
            raise fault(ValueError, f"`{what}` has {len(given)} entries for {len(maps)} maps", "give one for each")
    places: list[Tensor] = []
    scores: list[Tensor] = []
    boxes, scales = [], []
    for i, x in enumerate(maps):
        step = [across[i] if across else 0.0, down[i] if down else 0.0]
        box, scale = prior_box(
            x, image, several(min_sizes[i]), several(max_sizes[i]), several(aspect_ratios[i]), variance, flip, clip,
            step, offset, None, min_max_aspect_ratios_order,
        )  # fmt: skip
        count = known(box.shape[2], "the number of boxes")
        boxes.append(flatten(box, 3))
        scales.append(flatten(scale, 3))
        for found, size in ((places, 4), (scores, num_classes)):
            y = conv2d(x, count * size, kernel_size, stride, pad)
            found.append(_core.reshape(_core.permute(y, [0, 2, 3, 1]), (x.shape[0], -1, size)))
    return _core.concat(places, 1), _core.concat(scores, 1), _core.concat(boxes, 0), _core.concat(scales, 0)


def yolo_box(
    x: Tensor,
    img_size: Tensor,
    anchors: Sequence[int],
    class_num: int,
    conf_thresh: float,
    downsample_ratio: int,
    clip_bbox: bool = True,
    name: str | None = None,
    scale_x_y: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Boxes and scores of the output of YOLOv3; those that are too unsure are zeros.

    Args:
        x: `[batch, anchors · (5 + class_num), h, w]`.
        img_size: Height and width of each image, `[batch, 2]`.
        anchors: Width and height of each anchor.
        class_num: How many classes there are.
        conf_thresh: How sure a box must be.
        downsample_ratio: How many elements of the image one of the output is.
        clip_bbox: Whether boxes end with the image.
        name: For Fluid's programs.
        scale_x_y: How far a box may leave its element.

    Returns:
        `[batch, boxes, 4]` and `[batch, boxes, class_num]`.
    """
    height, width = _grid(x)
    count, dtype = len(anchors) // 2, x.dtype
    parts = _core.reshape(x, (-1, count, 5 + class_num, height, width))
    parts = _core.permute(parts, [0, 1, 3, 4, 2])
    sizes = _core.reshape(_core.cast(img_size, dtype), (-1, 1, 1, 1, 2))
    image_h, image_w = _core.slice(sizes, -1, 0, 1), _core.slice(sizes, -1, 1, 2)
    by = -0.5 * (scale_x_y - 1.0)
    wide = _core.reshape(_core.tensor([float(a) for a in anchors[::2]], dtype), (1, count, 1, 1, 1))
    high = _core.reshape(_core.tensor([float(a) for a in anchors[1::2]], dtype), (1, count, 1, 1, 1))
    dx, dy, dw, dh, sure = (_core.slice(parts, -1, i, i + 1) for i in range(5))
    across, down = _core.reshape(_core.iota(width, dtype), (1, 1, 1, width, 1)), _core.reshape(_core.iota(height, dtype), (1, 1, height, 1, 1))
    center_x = (across + _core.sigmoid(dx) * scale_x_y + by) * image_w / float(height)
    center_y = (down + _core.sigmoid(dy) * scale_x_y + by) * image_h / float(height)
    size = float(downsample_ratio * height)
    half_w, half_h = _core.exp(dw) * wide * image_w / size * 0.5, _core.exp(dh) * high * image_h / size * 0.5
    left, top, right, bottom = center_x - half_w, center_y - half_h, center_x + half_w, center_y + half_h
    if clip_bbox:
        left, top = _core.maximum(left, 0.0), _core.maximum(top, 0.0)
        right, bottom = _core.minimum(right, image_w - 1.0), _core.minimum(bottom, image_h - 1.0)
    confidence = _core.sigmoid(sure)
    is_sure = confidence >= conf_thresh
    boxes = _core.where(is_sure, _core.concat([left, top, right, bottom], -1), 0.0)
    scores = _core.where(is_sure, confidence * _core.sigmoid(_core.slice(parts, -1, 5, None)), 0.0)
    batch: Any = x.shape[0]
    total = count * height * width
    return _core.reshape(boxes, (batch, total, 4)), _core.reshape(scores, (batch, total, class_num))


def sigmoid_focal_loss(x: Tensor, label: Tensor, fg_num: Tensor, gamma: float = 2.0, alpha: float = 0.25) -> Tensor:
    """The logistic loss of each class, less where it is nearly right.

    Args:
        x: Numbers before the logistic function, `[rows, classes]`.
        label: The right class of each row, counted from 1; 0 for none, -1 for rows that do not count.
        fg_num: What losses are divided by: the number of rows with a class, `[1]`.
        gamma: How much less.
        alpha: The share of right classes.
    """
    right = _core.reshape(_core.cast(label, "int64"), (-1, 1))
    is_right = right == _core.iota(x.shape[1], "int64") + 1
    counts = right != -1
    p = _core.sigmoid(x)
    rows = _core.maximum(_core.reshape(_core.cast(fg_num, x.dtype), ()), 1.0)
    yes = -_core.pow(1.0 - p, gamma) * _core.log_sigmoid(x) * alpha
    no = -_core.pow(p, gamma) * _core.log_sigmoid(-x) * (1.0 - alpha)
    return _core.where(is_right, yes, _core.where(counts, no, 0.0)) / rows


def polygon_box_transform(input: Tensor, name: str | None = None) -> Tensor:
    """Corners of quadrangles from their distances to each element: channels across and down in turn.

    Args:
        input: The distances, in fourths, `[batch, channels, h, w]`.
        name: For Fluid's programs.
    """
    height, width = _grid(input)
    channels = known(input.shape[1], "the number of channels")
    across = _core.reshape(_core.iota(width, input.dtype) * 4.0, (1, width))
    down = _core.reshape(_core.iota(height, input.dtype) * 4.0, (height, 1))
    even = _core.tensor([[[i % 2 == 0]] for i in range(channels)])
    return _core.where(even, across, down) - input
