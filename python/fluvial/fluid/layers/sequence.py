"""Sequences of different lengths under Fluid's names. Sequences are `fl.Ragged`: rows, and how many each has."""

from __future__ import annotations

from ... import _core
from ..._fault import fault
from .._lists import listed
from ..._ragged import Ragged
from ..._tree import is_size
from ...layers._arguments import known, many
from ..core import dtype_of
from ..layer_helper import LayerHelper
from . import _sequence_models
from ._sequence_models import *  # noqa: F403
from ._sequence_values import as_many_rows, beginnings, like_rows, rows_of, sequences, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._core import Tensor

__all__ = [
    "filter_by_instag",
    "lod_append", "lod_rank_table", "lod_reset", "reorder_lod_tensor_by_rank", "row_conv", "sequence_concat", "sequence_conv", "sequence_enumerate", "sequence_erase",
    "sequence_expand", "sequence_expand_as", "sequence_first_step", "sequence_last_step", "sequence_mask",
    "sequence_pad", "sequence_pool", "sequence_reshape", "sequence_reverse", "sequence_scatter", "sequence_slice",
    "sequence_softmax", "sequence_unpad", "im2sequence",
]  # fmt: skip
__all__ += _sequence_models.__all__


def sequence_conv(
    input: Ragged,
    num_filters: int,
    filter_size: int = 3,
    filter_stride: int = 1,
    padding: bool = True,
    padding_start: int | None = None,
    bias_attr: Any = None,
    param_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Ragged:
    """A convolution along each sequence; beyond its ends there are zeros.

    Args:
        input: The sequences, rows of one axis.
        num_filters: How many outputs a row has.
        filter_size: How many rows a window has.
        filter_stride: The distance of windows; 1.
        padding: For Fluid's programs: there are always zeros beyond the ends.
        padding_start: Where a window begins, counted from its row; half a window before it if not given.
        bias_attr: What is said of the bias; False for none.
        param_attr: What is said of the weights.
        act: The name of a function that is applied.
        name: Names the parameters.
    """
    if filter_stride != 1:
        raise fault(ValueError, f"windows {filter_stride} rows apart", "`filter_stride` is 1")
    x = sequences(input, "sequence_conv")
    helper = LayerHelper("sequence_conv", name=name)
    dtype = x.dtype.name
    weight = helper.create_parameter(param_attr, [filter_size * x.shape[1], num_filters], dtype)
    bias = helper.create_parameter(bias_attr, [num_filters], dtype, is_bias=True)
    found = _core.sequence_conv(x.data, x.row_lengths[-1], weight, size=filter_size, start=padding_start)
    found = found if bias is None else found + bias
    return x._with(helper.act(found, act))


def sequence_softmax(input: Ragged, use_cudnn: bool = False, name: str | None = None) -> Ragged:
    """The softmax over the rows of each sequence.

    Args:
        input: The sequences.
        use_cudnn: For Fluid's programs.
        name: For Fluid's programs.
    """
    return sequences(input, "sequence_softmax").softmax()


def sequence_pool(input: Ragged, pool_type: str, is_test: bool = False, pad_value: float = 0.0) -> Any:
    """One row for each sequence of the innermost level.

    Args:
        input: The sequences.
        pool_type: "sum", "average", "sqrt", "max", "min", "first" or "last".
        is_test: For Fluid's programs.
        pad_value: What a sequence without rows gives.
    """
    return sequences(input, "sequence_pool").pool(pool_type.lower(), pad_value)


def sequence_first_step(input: Ragged) -> Any:
    """The first row of each sequence.

    Args:
        input: The sequences.
    """
    return sequence_pool(input, "first")


def sequence_last_step(input: Ragged) -> Any:
    """The last row of each sequence.

    Args:
        input: The sequences.
    """
    return sequence_pool(input, "last")


def sequence_slice(input: Ragged, offset: Any, length: Any, name: str | None = None) -> Ragged:
    """A part of each sequence.

    Args:
        input: The sequences.
        offset: Where each part begins.
        length: How many rows each has.
        name: For Fluid's programs.
    """
    x = sequences(input, "sequence_slice")
    if x.levels > 1:
        raise fault(ValueError, f"`sequence_slice` of {x.levels} levels", "it is for sequences of one level")
    offset, length = (_core.reshape(whole(given), (-1,)) for given in (offset, length))
    return Ragged.from_lengths(_core.sequence_slice(x.data, x.lengths, offset, length), length)


def sequence_expand(x: Any, y: Ragged, ref_level: int = -1, name: str | None = None) -> Any:
    """Each sequence of `x`, or each row if it has none, as often as a sequence of `y` is long.

    Args:
        x: Sequences, or a tensor with a row for each sequence of `y`.
        y: The sequences that say how often.
        ref_level: Of which level; -1 for the innermost.
        name: For Fluid's programs.
    """
    y = sequences(y, "sequence_expand")
    level = ref_level if ref_level >= 0 else y.levels + ref_level
    if not 0 <= level < y.levels:
        raise fault(ValueError, f"level {ref_level} of {y.levels}", "levels are counted from 0, the outermost")
    counts = y.row_lengths[level]
    if isinstance(x, Ragged):
        return Ragged.from_lengths(*_core.sequence_expand(x.data, x.row_lengths[-1], counts))
    x = as_many_rows(x, counts.shape[0])
    if level + 1 == y.levels:
        # The rows are those of y, whose number a program knows.
        return Ragged.from_lengths(_core.sequence_expand_as(x, y.data, counts), counts)
    return Ragged.from_lengths(_core.sequence_expand_as(x, y.row_lengths[level + 1], counts), counts)


def sequence_expand_as(x: Any, y: Ragged, name: str | None = None) -> Ragged:
    """Each row of `x`, repeated along the sequence of `y` with the same number.

    Args:
        x: A row for each sequence.
        y: The sequences.
        name: For Fluid's programs.
    """
    y = sequences(y, "sequence_expand_as")
    lengths = y.row_lengths[-1]
    return Ragged.from_lengths(_core.sequence_expand_as(rows_of(x), y.data, lengths), lengths)


def sequence_pad(x: Ragged, pad_value: Any, maxlen: int | None = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The sequences beside each other, filled up at their ends, and how long each was.

    Args:
        x: The sequences.
        pad_value: What they are filled up with: one element, or a row.
        maxlen: How long they become; as long as the longest if not given.
        name: For Fluid's programs.
    """
    x = sequences(x, "sequence_pad")
    steps = None if maxlen in (None, -1) else maxlen
    return _core.sequence_pad(x.data, x.row_lengths[-1], pad_value, steps), x.row_lengths[-1]


def sequence_unpad(x: Tensor, length: Any, name: str | None = None) -> Ragged:
    """The beginnings of sequences that stand beside each other.

    Args:
        x: The sequences, `[sequences, steps, ..]`.
        length: How many rows of each count.
        name: For Fluid's programs.
    """
    return beginnings(x, length)


def sequence_concat(input: Sequence[Ragged], name: str | None = None) -> Ragged:
    """The sequences of several with the same number, joined.

    Args:
        input: The sequences.
        name: For Fluid's programs.
    """
    return Ragged.concat([sequences(x, "sequence_concat") for x in input], axis=1)


def sequence_reverse(x: Ragged, name: str | None = None) -> Ragged:
    """The rows of each sequence in reverse order.

    Args:
        x: The sequences.
        name: For Fluid's programs.
    """
    return sequences(x, "sequence_reverse").reverse()


def sequence_reshape(input: Ragged, new_dim: int) -> Ragged:
    """The elements of each sequence in rows of another width.

    Args:
        input: The sequences.
        new_dim: How many elements a row has.
    """
    x = sequences(input, "sequence_reshape")
    return Ragged.from_lengths(*_core.sequence_reshape(x.data, x.row_lengths[-1], new_dim))


def sequence_scatter(input: Tensor, index: Ragged, updates: Ragged, name: str | None = None) -> Tensor:
    """A matrix with numbers added: in row `i` those of sequence `i`.

    Args:
        input: The matrix.
        index: The columns.
        updates: The numbers.
        name: For Fluid's programs.
    """
    places = sequences(index, "sequence_scatter")
    numbers = sequences(updates, "sequence_scatter")
    rows = rows_of(input)
    return _core.sequence_scatter(rows, whole(places), numbers.data, as_many_rows(numbers.row_lengths[-1], rows.shape[0]))


def sequence_enumerate(input: Ragged, win_size: int, pad_value: int = 0, name: str | None = None) -> Ragged:
    """For each number of a sequence, itself and those that follow.

    Args:
        input: Sequences of integers.
        win_size: How many in all.
        pad_value: What stands beyond the end.
        name: For Fluid's programs.
    """
    x = sequences(input, "sequence_enumerate")
    return x._with(_core.sequence_enumerate(x.data, x.row_lengths[-1], win_size, pad_value))


def sequence_erase(input: Ragged, tokens: Sequence[int], name: str | None = None) -> Ragged:
    """Sequences of integers without some of them.

    Args:
        input: Sequences of integers.
        tokens: What is left out.
        name: For Fluid's programs.
    """
    x = sequences(input, "sequence_erase")
    rows, lengths = _core.sequence_erase(x.data, x.row_lengths[-1], listed(tokens, "numbers"))
    return Ragged.from_lengths(like_rows(rows, x), lengths)


def sequence_mask(x: Any, maxlen: Any = None, dtype: Any = "int64", name: str | None = None) -> Tensor:
    """For each length, ones up to it and zeros behind.

    Args:
        x: The lengths.
        maxlen: How many places there are; as many as the greatest length if not given.
        dtype: The element type.
        name: For Fluid's programs.
    """
    kind = str.__str__(dtype_of(dtype).value)
    if isinstance(maxlen, _core.Tensor):
        # A number of the program: a size of its own.
        steps = _core.of_size(_core.reshape(whole(maxlen), ())).shape[0]
        places = _core.element_numbers((steps,))
        lengths = whole(x)
        return _core.cast(places < _core.reshape(lengths, (*lengths.shape, 1)), kind)
    return _core.sequence_mask(whole(x), steps=maxlen, dtype=kind)


def lod_reset(x: Any, y: Any = None, target_lod: Sequence[int] | None = None) -> Ragged:
    """The same rows in other sequences.

    Args:
        x: The rows.
        y: Sequences of which the lengths are taken, or a tensor of offsets.
        target_lod: Or offsets.
    """
    rows = rows_of(x)
    if isinstance(y, Ragged):
        if not _core.is_building() or isinstance(rows.shape[0], int):
            return Ragged.from_lengths(rows, *y.row_lengths)
        return Ragged.from_lengths(_core.assume_dims(rows, (y.data.shape[0], *rows.shape[1:])), *y.row_lengths)
    if y is not None:
        return Ragged(rows, _core.reshape(whole(y), (-1,)))
    if target_lod is None:
        raise fault(ValueError, "new lengths are not given", "give `y` or `target_lod`")
    return Ragged(rows, listed(target_lod, "offsets"))


def lod_append(x: Any, level: Any) -> Ragged:
    """The same rows with one more level of sequences, inside of the others.

    Args:
        x: The rows.
        level: Offsets, or sequences of which the lengths are taken.
    """
    if isinstance(level, Ragged):
        lengths = level.row_lengths[-1]
    else:
        lengths = _core.sequence_lengths(_core.reshape(whole(level), (-1,)))
    outer = x.row_lengths if isinstance(x, Ragged) else ()
    return Ragged.from_lengths(rows_of(x), *outer, lengths)


def lod_rank_table(x: Ragged, level: int = 0) -> Tensor:
    """The numbers of sequences, from the longest to the shortest; equal ones in order.

    Args:
        x: The sequences.
        level: Of which level.
    """
    x = sequences(x, "lod_rank_table")
    if not 0 <= level < x.levels:
        raise fault(ValueError, f"level {level} of {x.levels}", "levels are counted from 0, the outermost")
    return _core.argsort(-x.row_lengths[level], 0)


def reorder_lod_tensor_by_rank(x: Any, rank_table: Tensor) -> Any:
    """Sequences, or rows if there are none, in the order of a table.

    Args:
        x: The sequences, or a tensor.
        rank_table: What `lod_rank_table` gave.
    """
    return x[rank_table] if isinstance(x, Ragged) else _core.gather(x, rank_table, 0)


def row_conv(input: Any, future_context_size: int, param_attr: Any = None, act: str | None = None) -> Any:
    """For each row a sum, element by element, of itself and those that follow.

    Args:
        input: Sequences, or a tensor `[sequences, steps, width]`.
        future_context_size: How many rows that follow count.
        param_attr: What is said of the weights.
        act: The name of a function that is applied.
    """
    helper = LayerHelper("row_conv")
    weight = helper.create_parameter(param_attr, [future_context_size + 1, input.shape[-1]], input.dtype.name)
    if isinstance(input, Ragged):
        found = _core.row_conv(input.data, input.row_lengths[-1], weight)
        return input._with(helper.act(found, act))
    n, steps, width = input.shape
    rows = _core.reshape(input, (n * steps, width))
    lengths = _core.expand(_core.reshape(_core.dim_size(steps, "int64"), (1,)), (n,))
    found = _core.row_conv(rows, lengths, weight)
    return helper.act(_core.reshape(found, (n, steps, width)), act)


def im2sequence(
    input: Tensor,
    filter_size: Any = 1,
    stride: Any = 1,
    padding: Any = 0,
    input_image_size: Any = None,
    out_stride: Any = 1,
    name: str | None = None,
) -> Ragged:
    """The windows of each image, row by row, as a sequence.

    Args:
        input: The images, `[batch, channels, height, width]`.
        filter_size: The height and width of a window.
        stride: The distance of windows.
        padding: Zeros above, left, below and right; or above and left, and as many on the other side.
        input_image_size: Height and width of each image within its larger one, `[batch, 2]`, before it became smaller.
        out_stride: By how much images became smaller down and across.
        name: For Fluid's programs.
    """
    around = [padding] * 4 if isinstance(padding, int) else listed(padding, "sizes")
    around = around * 2 if len(around) == 2 else around
    window = many(filter_size, 2, "filter_size")
    steps = many(stride, 2, "stride")
    rows, lengths = _core.im2sequence(input, window, stride=steps, padding=around)
    if input_image_size is None:
        return Ragged.from_lengths(rows, lengths)
    height, width = (known(size, "the size of the images") for size in input.shape[2:])
    counts = [(size + around[i] + around[i + 2] - window[i]) // steps[i] + 1 for i, size in enumerate((height, width))]
    if input_image_size.ndim != 2 or not is_size(input_image_size.shape[1], 2):
        raise fault(ValueError, f"sizes of images are {input_image_size.type_text}", "give height and width of each, [batch, 2]")
    given = as_many_rows(_core.cast(input_image_size, "float32"), input.shape[0])
    # Of each image the windows that begin inside of its own size, which is that of the images before `out_stride`.
    place = _core.iota(counts[0] * counts[1], "int64")
    inside: Any = None
    for i, (by, number) in enumerate(zip(many(out_stride, 2, "out_stride"), (_core.floor_div(place, counts[1]), _core.remainder(place, counts[1])))):
        real = _core.ceil(_core.slice(given, 1, i, i + 1) / float(by))
        most = _core.floor((real + float(around[i] + around[i + 2] - window[i])) / float(steps[i])) + 1.0
        fits = _core.cast(_core.unsqueeze(number, 0), "float32") < most
        inside = fits if inside is None else _core.logical_and(inside, fits)
    chosen = _core.reshape(_core.argwhere(_core.reshape(inside, (-1,))), (-1,))
    return Ragged.from_lengths(_core.gather(rows, chosen, 0), _core.sum(_core.cast(inside, "int64"), axis=1))


def filter_by_instag(
    ins: Any, ins_tag: Any, filter_tag: Tensor, is_lod: bool, out_val_if_empty: int = 0
) -> list[Any]:
    """The rows, or sequences, that have one of several tags, and a weight of 1 for each, `[n, 1]`. If none has, there is one
    row of `out_val_if_empty`, with weight 0.

    Args:
        ins: The rows, `[n, d]`, or sequences.
        ins_tag: The tags of each, as sequences of integers.
        filter_tag: The tags that are looked for, `[k]`.
        is_lod: Whether `ins` are sequences.
        out_val_if_empty: What there is if nothing is left.
    """
    tags = sequences(ins_tag, "filter_by_instag")
    if is_lod != isinstance(ins, Ragged):
        raise fault(TypeError, f"`is_lod` is {is_lod}", "say True for sequences, False for rows")
    data = rows_of(ins)
    lengths = ins.row_lengths[-1] if isinstance(ins, Ragged) else _core.full((data.shape[0],), 1, "int64")
    count: Any = lengths.shape[0]
    wanted = _core.reshape(whole(filter_tag), (1, -1))
    is_hit = _core.any(_core.reshape(whole(tags), (-1, 1)) == wanted, axis=1)
    owners = _core.assume_dims(_core.repeat_index(tags.row_lengths[-1]), (tags.data.shape[0],))
    has_tag = _core.index_add(_core.cast(is_hit, "int64"), owners, 0, count) > 0
    # Behind all rows stands the one for nothing.
    is_empty = _core.reshape(_core.logical_not(_core.any(has_tag, axis=0)), (1,))
    chosen = _core.reshape(_core.argwhere(_core.concat([has_tag, is_empty], 0)), (-1,))
    of_rows = _core.assume_dims(_core.repeat_index(lengths), (data.shape[0],))
    rows = _core.reshape(_core.argwhere(_core.concat([_core.gather(has_tag, of_rows, 0), is_empty], 0)), (-1,))
    nothing = _core.full((1, *data.shape[1:]), out_val_if_empty, data.dtype)
    found = _core.gather(_core.concat([data, nothing], 0), rows, 0)
    weight = _core.cast(_core.unsqueeze(chosen < _core.dim_size(count, "int64"), -1), "float32")
    if not is_lod:
        return [found, weight]
    kept = _core.gather(_core.concat([lengths, _core.full((1,), 1, "int64")], 0), chosen, 0)
    return [Ragged.from_lengths(found, kept), weight]
