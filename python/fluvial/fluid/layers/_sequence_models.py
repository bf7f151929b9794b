"""Recurrent networks, conditional random fields, searches and losses over sequences, under Fluid's names."""

from __future__ import annotations

from ... import _core
from ..._fault import fault
from .._lists import listed
from ..._ragged import Ragged
from ..layer_helper import LayerHelper
from ...layers._inplace import drawing
from ._sequence_values import as_many_rows, beginnings, rows_of, sequences, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._core import Tensor

__all__ = [
    "beam_search", "chunk_eval", "crf_decoding", "ctc_greedy_decoder", "dynamic_gru",
    "dynamic_lstm", "dynamic_lstmp", "edit_distance", "hsigmoid", "linear_chain_crf", "nce", "warpctc",
]  # fmt: skip


def dynamic_lstm(
    input: Ragged,
    size: int,
    h_0: Any = None,
    c_0: Any = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_peepholes: bool = True,
    is_reverse: bool = False,
    gate_activation: str = "sigmoid",
    cell_activation: str = "tanh",
    candidate_activation: str = "tanh",
    dtype: str = "float32",
    name: str | None = None,
) -> tuple[Ragged, Ragged]:
    """A long short-term memory along each sequence: its outputs and its cells.

    Args:
        input: Sequences of the gates' shares of the input, rows of `size` elements, as an `fc` makes them.
        size: Four times the width of the cell.
        h_0: The first output; zeros if not given.
        c_0: The first cell; zeros if not given.
        param_attr: What is said of the weights.
        bias_attr: What is said of the bias, in which the weights of peepholes are.
        use_peepholes: Whether the gates see the cell.
        is_reverse: Whether sequences are gone through from their ends.
        gate_activation: What the gates apply.
        cell_activation: What is applied to the cell.
        candidate_activation: What is applied to the candidate.
        dtype: For Fluid's programs: that of the input counts.
        name: Names the parameters.
    """
    return _memory(
        "lstm", input, size, None, h_0, c_0, param_attr, bias_attr, use_peepholes, is_reverse, name,
        gate_activation=gate_activation, cell_activation=cell_activation, candidate_activation=candidate_activation,
    )  # fmt: skip


def dynamic_lstmp(
    input: Ragged,
    size: int,
    proj_size: int,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_peepholes: bool = True,
    is_reverse: bool = False,
    gate_activation: str = "sigmoid",
    cell_activation: str = "tanh",
    candidate_activation: str = "tanh",
    proj_activation: str = "tanh",
    dtype: str = "float32",
    name: str | None = None,
    h_0: Any = None,
    c_0: Any = None,
    cell_clip: float | None = None,
    proj_clip: float | None = None,
) -> tuple[Ragged, Ragged]:
    """`dynamic_lstm` whose output is projected: projections and cells.

    Args:
        input: Sequences of the gates' shares of the input, rows of `size` elements.
        size: Four times the width of the cell.
        proj_size: The width of the projection.
        param_attr: What is said of the weights.
        bias_attr: What is said of the bias.
        use_peepholes: Whether the gates see the cell.
        is_reverse: Whether sequences are gone through from their ends.
        gate_activation: What the gates apply.
        cell_activation: What is applied to the cell.
        candidate_activation: What is applied to the candidate.
        proj_activation: What is applied to the projection.
        dtype: For Fluid's programs: that of the input counts.
        name: Names the parameters.
        h_0: The first projection; zeros if not given.
        c_0: The first cell; zeros if not given.
        cell_clip: The limit of the cell's elements.
        proj_clip: The limit of the projection's elements.
    """
    return _memory(
        "lstmp", input, size, proj_size, h_0, c_0, param_attr, bias_attr, use_peepholes, is_reverse, name,
        gate_activation=gate_activation, cell_activation=cell_activation, candidate_activation=candidate_activation,
        proj_activation=proj_activation, cell_clip=cell_clip, proj_clip=proj_clip,
    )  # fmt: skip


def _memory(
    label: str,
    input: Any,
    size: int,
    proj_size: int | None,
    h_0: Any,
    c_0: Any,
    param_attr: Any,
    bias_attr: Any,
    peepholes: bool,
    reverse: bool,
    name: str | None,
    **options: Any,
) -> tuple[Ragged, Ragged]:
    x = sequences(input, f"dynamic_{label}")
    if bias_attr is False:
        raise fault(ValueError, "an LSTM over sequences has a bias", "leave `bias_attr=False` out")
    helper = LayerHelper(label, name=name)
    width, dtype = size // 4, x.dtype.name
    out = width if proj_size is None else proj_size
    weight = helper.create_parameter(param_attr, [out, 4 * width], dtype)
    more = [] if proj_size is None else [helper.create_parameter(param_attr, [width, proj_size], dtype)]
    bias = helper.create_parameter(bias_attr, [1, (7 if peepholes else 4) * width], dtype, is_bias=True)
    function: Any = _core.dynamic_lstm if proj_size is None else _core.dynamic_lstmp
    outs, cells = function(
        x.data, x.row_lengths[-1], weight, *more, bias, rows_of(h_0), rows_of(c_0),
        peepholes=peepholes, reverse=reverse, **options,
    )  # fmt: skip
    return x._with(outs), x._with(cells)


def dynamic_gru(
    input: Ragged,
    size: int,
    param_attr: Any = None,
    bias_attr: Any = None,
    is_reverse: bool = False,
    gate_activation: str = "sigmoid",
    candidate_activation: str = "tanh",
    h_0: Any = None,
    origin_mode: bool = False,
) -> Ragged:
    """A gated recurrent unit along each sequence.

    Args:
        input: Sequences of the gates' shares of the input, rows of `3 * size` elements.
        size: The width of the state.
        param_attr: What is said of the weights.
        bias_attr: What is said of the bias.
        is_reverse: Whether sequences are gone through from their ends.
        gate_activation: What the gates apply.
        candidate_activation: What is applied to the candidate.
        h_0: The first state; zeros if not given.
        origin_mode: Whether the update gate says how much of the old state stays.
    """
    x = sequences(input, "dynamic_gru")
    helper = LayerHelper("gru")
    dtype = x.dtype.name
    weight = helper.create_parameter(param_attr, [size, 3 * size], dtype)
    bias = helper.create_parameter(bias_attr, [1, 3 * size], dtype, is_bias=True)
    found = _core.dynamic_gru(
        x.data, x.row_lengths[-1], weight, bias, rows_of(h_0), reverse=is_reverse, gate_activation=gate_activation,
        candidate_activation=candidate_activation, origin_mode=origin_mode,
    )  # fmt: skip
    return x._with(found)


def linear_chain_crf(input: Any, label: Any, param_attr: Any = None, length: Any = None) -> Tensor:
    """The cost of the labels of each sequence, in a linear-chain conditional random field: `[sequences, 1]`.

    Args:
        input: Sequences of scores of tags; or padded ones, with `length`.
        label: Sequences of tags.
        param_attr: What is said of the transitions, `[tags + 2, tags]`.
        length: The lengths of padded sequences.
    """
    x = sequences(beginnings(input, length), "linear_chain_crf")
    tags = beginnings(_padded_numbers(label, length), length)
    helper = LayerHelper("linear_chain_crf")
    n_tags = x.shape[1]
    transition = helper.create_parameter(param_attr, [n_tags + 2, n_tags], x.dtype.name)
    return _core.linear_chain_crf(x.data, transition, _of_rows(tags, x), x.row_lengths[-1])


def crf_decoding(input: Any, param_attr: Any, label: Any = None, length: Any = None) -> Any:
    """The best tags of each sequence; with labels, ones where they are the best ones and zeros elsewhere.

    Args:
        input: Sequences of scores of tags; or padded ones, with `length`.
        param_attr: Names the transitions of `linear_chain_crf`.
        label: Sequences of tags.
        length: The lengths of padded sequences.
    """
    x = sequences(beginnings(input, length), "crf_decoding")
    helper = LayerHelper("crf_decoding")
    n_tags = x.shape[1]
    transition = helper.create_parameter(param_attr, [n_tags + 2, n_tags], x.dtype.name)
    found = _core.reshape(_core.crf_decoding(x.data, transition, x.row_lengths[-1]), (-1, 1))
    if label is not None:
        tags = _of_rows(beginnings(_padded_numbers(label, length), length), x)
        found = _core.cast(_core.eq(found, _core.reshape(tags, (-1, 1))), "int64")
    if length is None:
        return x._with(found)
    return _core.sequence_pad(_core.reshape(found, (-1,)), x.lengths, None, None)


def _padded_numbers(x: Any, length: Any) -> Any:
    """Padded numbers `[sequences, steps]`, also if they have an axis of size one behind."""
    if length is None or isinstance(x, Ragged) or x.ndim == 2:
        return x
    return _core.reshape(x, x.shape[:2])


def _of_rows(label: Any, like: Ragged) -> Tensor:
    """A number for each row of `like`."""
    rows = whole(label)
    if _core.is_building():
        rows = _core.assume_dims(rows, (like.data.shape[0], *rows.shape[1:]))
    return rows


def ctc_greedy_decoder(
    input: Any, blank: int, input_length: Any = None, padding_value: int = 0, name: str | None = None
) -> Any:
    """For each sequence the classes with the greatest scores, with repeats merged and blanks taken out.

    Args:
        input: Sequences of scores; or padded ones, with `input_length`, which give padded labels and their lengths.
        blank: The class that stands for no label.
        input_length: The lengths of padded sequences.
        padding_value: What stands behind padded labels.
        name: For Fluid's programs.
    """
    x = sequences(beginnings(input, input_length), "ctc_greedy_decoder")
    labels, lengths = _core.ctc_greedy_decoder(x.data, x.row_lengths[-1], blank)
    if input_length is None:
        return Ragged.from_lengths(_core.reshape(labels, (labels.shape[0], 1)), lengths)
    padded = _core.sequence_pad(labels, lengths, padding_value)
    return padded, _core.reshape(lengths, (-1, 1))


def warpctc(
    input: Any,
    label: Any,
    blank: int = 0,
    norm_by_times: bool = False,
    input_length: Any = None,
    label_length: Any = None,
    use_cudnn: bool = False,
) -> Tensor:
    """The loss of connectionist temporal classification of each sequence, `[sequences, 1]`.

    Args:
        input: Sequences of scores before the softmax; or, with `input_length`, `[steps, sequences, classes]`.
        label: Sequences of labels; or padded ones, with `label_length`.
        blank: The class that stands for no label.
        norm_by_times: Whether gradients are divided by the number of steps.
        input_length: The lengths of padded sequences.
        label_length: The lengths of padded labels.
        use_cudnn: For Fluid's programs. In Fluid 1.5 it stands before the lengths.
    """
    if isinstance(input_length, bool):
        input_length = None
    if input_length is not None and not isinstance(input, Ragged):
        input = _core.permute(input, [1, 0, 2])
    x = sequences(beginnings(input, input_length), "warpctc")
    labels = sequences(beginnings(label, label_length), "warpctc")
    return _core.warpctc(
        x.data, x.row_lengths[-1], labels.data, labels.row_lengths[-1], blank=blank, norm_by_times=norm_by_times
    )


def edit_distance(
    input: Any,
    label: Any,
    normalized: bool = True,
    ignored_tokens: Sequence[int] | None = None,
    input_length: Any = None,
    label_length: Any = None,
) -> tuple[Tensor, Tensor]:
    """The least number of edits between sequences of integers, and how many sequences there are.

    Args:
        input: The sequences; or padded ones, with `input_length`.
        label: Those that they should be.
        normalized: Whether distances are divided by the lengths of the latter.
        ignored_tokens: Numbers that are left out before.
        input_length: The lengths of padded sequences.
        label_length: The lengths of padded labels.
    """
    sides: list[Tensor] = []
    for value, length in ((input, input_length), (label, label_length)):
        side = sequences(beginnings(value, length), "edit_distance")
        rows, lengths = _core.reshape(whole(side), (-1,)), side.row_lengths[-1]
        if ignored_tokens:
            rows, lengths = _core.sequence_erase(rows, lengths, listed(ignored_tokens, "numbers"))
        sides += [rows, lengths]
    hyps, n_hyps, refs, n_refs = sides
    found = _core.edit_distance(hyps, n_hyps, refs, n_refs, normalized)
    return found, _core.reshape(_core.dim_size(found.shape[0], "int64"), (1,))


def beam_search(
    pre_ids: Ragged,
    pre_scores: Any,
    ids: Any,
    scores: Any,
    beam_size: int,
    end_id: int,
    level: int = 0,
    is_accumulated: bool = True,
    name: str | None = None,
    return_parent_idx: bool = False,
) -> Any:
    """One step of a beam search: the numbers and scores that each source keeps, as sequences of two levels: how many
    prefixes each source had, and how many candidates each prefix keeps.

    Args:
        pre_ids: The last number of each prefix, as sequences of two levels, as the step before gave them.
        pre_scores: The score of each prefix.
        ids: The candidates of each prefix; their places if None.
        scores: The scores of the candidates.
        beam_size: How many candidates each source keeps.
        end_id: The number that ends a sentence.
        level: The level of the sources; 0.
        is_accumulated: Whether scores are those of whole beginnings, and not probabilities.
        name: For Fluid's programs.
        return_parent_idx: Whether the prefix of each candidate is returned, too.
    """
    if level != 0:
        raise fault(ValueError, f"sources on level {level}", "they are on level 0, the outermost")
    like = next((x for x in (scores, pre_ids, ids) if isinstance(x, Ragged)), None)
    before = sequences(like, "beam_search")
    # How many rows, which are the prefixes now, each source has.
    sources = before.row_lengths[0]
    for inner in before.row_lengths[1:]:
        sources = _core.sequence_pool(inner, sources, pool="sum")
    last, score = _core.reshape(whole(pre_ids), (-1,)), _core.reshape(rows_of(pre_scores), (-1,))
    table = rows_of(scores)
    last, score = as_many_rows(last, table.shape[0]), as_many_rows(score, table.shape[0])
    candidates = None if ids is None else as_many_rows(whole(ids), table.shape[0])
    numbers, found, parents, lengths = _core.beam_search(
        last, score, candidates, table, sources, beam_size=beam_size, end_id=end_id, is_accumulated=is_accumulated
    )
    kept = [Ragged.from_lengths(_core.reshape(x, (x.shape[0], 1)), sources, lengths) for x in (numbers, found)]
    return (*kept, parents) if return_parent_idx else tuple(kept)


def beam_search_decode(
    ids: Sequence[Ragged], scores: Sequence[Ragged], beam_size: int, end_id: int, name: str | None = None
) -> tuple[Ragged, Ragged]:
    """The sentences of a beam search, best first for each source, and the scores of their numbers.

    Args:
        ids: What `beam_search` gave at each step: numbers.
        scores: And scores.
        beam_size: How many candidates each source kept.
        end_id: The number that ends a sentence.
        name: For Fluid's programs.
    """
    steps = [sequences(x, "beam_search_decode") for x in ids]
    words, found, counts, lengths = _core.beam_search_decode(
        [_core.reshape(x.data, (-1,)) for x in steps],
        [_core.reshape(rows_of(x), (-1,)) for x in scores],
        [x.row_lengths[0] for x in steps],
        [x.row_lengths[1] for x in steps],
        beam_size=beam_size,
        end_id=end_id,
    )
    return Ragged.from_lengths(words, counts, lengths), Ragged.from_lengths(found, counts, lengths)


def chunk_eval(
    input: Any,
    label: Any,
    chunk_scheme: str,
    num_chunk_types: int,
    excluded_chunk_types: Sequence[int] | None = None,
    seq_length: Any = None,
) -> tuple[Tensor, ...]:
    """Precision, recall and F1 score of chunks, and the numbers of chunks found, of all, and of those found rightly.

    Args:
        input: Sequences of tags; or padded ones, with `seq_length`.
        label: Those that they should be.
        chunk_scheme: "IOB", "IOE", "IOBES" or "plain".
        num_chunk_types: How many kinds of chunks there are.
        excluded_chunk_types: Kinds that are not counted.
        seq_length: The lengths of padded sequences.
    """
    x = sequences(beginnings(_padded_numbers(input, seq_length), seq_length), "chunk_eval")
    tags = beginnings(_padded_numbers(label, seq_length), seq_length)
    return tuple(
        _core.chunk_eval(
            whole(x), _of_rows(tags, x), x.row_lengths[-1], chunk_scheme=chunk_scheme,
            num_chunk_types=num_chunk_types, excluded_chunk_types=listed(excluded_chunk_types or (), "numbers"),
        )
    )  # fmt: skip


def nce(
    input: Any,
    label: Any,
    num_total_classes: int,
    sample_weight: Any = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    num_neg_samples: int | None = None,
    name: str | None = None,
    sampler: str = "uniform",
    custom_dist: Sequence[float] | None = None,
    seed: int = 0,
    is_sparse: bool = False,
) -> Tensor:
    """The loss of noise-contrastive estimation, `[batch, 1]`.

    Args:
        input: Rows.
        label: The classes of each.
        num_total_classes: How many classes there are.
        sample_weight: A factor for each row.
        param_attr: What is said of the weights.
        bias_attr: What is said of the bias.
        num_neg_samples: How many classes are drawn for each row; 10 if not given.
        name: Names the parameters.
        sampler: "uniform", "log_uniform" or "custom_dist".
        custom_dist: The probabilities of all classes.
        seed: Where random numbers begin, anew in each run; 0 for those of the scope's stream.
        is_sparse: For Fluid's programs: the gradient is that of the whole table, and `lazy_mode` is refused.
    """
    x = rows_of(input)
    helper = LayerHelper("nce", name=name)
    weight = helper.create_parameter(param_attr, [num_total_classes, x.shape[1]], x.dtype.name)
    bias = helper.create_parameter(bias_attr, [num_total_classes, 1], x.dtype.name, is_bias=True)
    if is_sparse:
        helper.updated_whole(weight)
    with drawing(seed or None):
        found = _core.nce(
            x, whole(label), weight, bias, num_neg_samples=10 if num_neg_samples is None else num_neg_samples,
            sampler=sampler, custom_dist=[float(p) for p in (() if custom_dist is None else custom_dist)],
        )  # fmt: skip
    return found if sample_weight is None else found * _core.reshape(rows_of(sample_weight), (-1, 1))


def hsigmoid(
    input: Any,
    label: Any,
    num_classes: int,
    param_attr: Any = None,
    bias_attr: Any = None,
    name: str | None = None,
    path_table: Any = None,
    path_code: Any = None,
    is_custom: bool = False,
    is_sparse: bool = False,
) -> Tensor:
    """The loss of a hierarchical softmax, `[batch, 1]`.

    Args:
        input: Rows.
        label: The class of each.
        num_classes: How many classes there are; with a tree of one's own, how many nodes.
        param_attr: What is said of the weights.
        bias_attr: What is said of the bias.
        name: Names the parameters.
        path_table: The nodes on the way to the class of each row, filled up with -1.
        path_code: Where each decision goes, 0 or 1.
        is_custom: Whether the tree is one's own.
        is_sparse: For Fluid's programs: the gradient is that of the whole table, and `lazy_mode` is refused.
    """
    if is_custom != (path_table is not None) or is_custom != (path_code is not None):
        raise fault(
            ValueError, "a tree of one's own needs a way to each class",
            "give `is_custom=True`, `path_table` and `path_code` together",
        )  # fmt: skip
    x = rows_of(input)
    helper = LayerHelper("hierarchical_sigmoid", name=name)
    nodes = num_classes if is_custom else num_classes - 1
    weight = helper.create_parameter(param_attr, [nodes, x.shape[1]], x.dtype.name)
    if is_sparse:
        helper.updated_whole(weight)
    bias = helper.create_parameter(bias_attr, [nodes, 1], x.dtype.name, is_bias=True)
    table, code = (whole(path_table), whole(path_code)) if is_custom else (None, None)
    return _core.hsigmoid(x, whole(label), weight, bias, table, code, num_classes)
