"""Decoders: what a network says word by word, until it ends."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import _core
from ..._fault import missing
from ...layers._arguments import known
from .. import unique_name
from ..framework import CALLS, applied
from ._cells import layers_of, leaves, mapped

__all__ = ["BeamSearchDecoder", "Decoder", "dynamic_decode"]

#: What a beam search gives in a step: scores, numbers and where they come from.
BeamOutput = namedtuple("BeamOutput", ["scores", "predicted_ids", "parent_ids"])
#: What a beam search keeps.
BeamState = namedtuple("BeamState", ["cell_states", "log_probs", "finished", "lengths"])


class Decoder:
    """What `dynamic_decode` asks: initial values, a step, and what is made of all steps."""

    def initialize(self, inits: Any) -> Any:
        """The first inputs and states, and whether sequences have ended.

        Args:
            inits: What `dynamic_decode` was given.
        """
        raise missing(self, "initialize(self, inits)")

    def step(self, time: Any, inputs: Any, states: Any, **kwargs: Any) -> Any:
        """The outputs of a step, the next states and inputs, and whether sequences have ended.

        Args:
            time: The number of the step.
            inputs: What it reads.
            states: The states before.
            kwargs: What else `dynamic_decode` was given.
        """
        raise missing(self, "step(self, time, inputs, states)")

    def finalize(self, outputs: Any, final_states: Any, sequence_lengths: Any) -> Any:
        """What is returned of the outputs of all steps; a decoder need not have it.

        Args:
            outputs: The outputs, steps first.
            final_states: The last states.
            sequence_lengths: How long each sequence is.
        """
        return outputs, final_states

    @property
    def tracks_own_finished(self) -> bool:
        """Whether `step` itself keeps what has ended: beams change places. Otherwise what has ended stays ended."""
        return False


class BeamSearchDecoder(Decoder):
    """Keeps the most probable sequences of a cell, a beam for each element of the batch.

    Args:
        cell: Takes inputs and states of a step, returns outputs and new states.
        start_token: The number that sequences begin with.
        end_token: The number that ends one.
        beam_size: How many are kept.
        embedding_fn: Makes inputs of numbers.
        output_fn: Makes a number for each word of the cell's output.
    """

    OutputWrapper, StateWrapper = BeamOutput, BeamState

    def __init__(
        self,
        cell: Any,
        start_token: int,
        end_token: int,
        beam_size: int,
        embedding_fn: Callable[[Any], Any] | None = None,
        output_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        self.cell, self.embedding_fn, self.output_fn = cell, embedding_fn, output_fn
        self.start_token, self.end_token, self.beam_size = start_token, end_token, beam_size

    @staticmethod
    def tile_beam_merge_with_batch(x: Any, beam_size: int) -> Any:
        """Each row of a variable as often as there are beams: `[batch · beam_size, ...]`.

        Args:
            x: The variable.
            beam_size: How often.
        """
        return _merged(_repeated(x, beam_size))

    def initialize(self, inits: Any) -> Any:
        layers, size = layers_of(), self.beam_size
        like = leaves(inits)[0]
        ids = layers.fill_constant_batch_size_like(like, [-1, size], "int64", self.start_token)
        first = layers.fill_constant_batch_size_like(like, [-1, 1], "float32", 0.0)
        others = layers.fill_constant_batch_size_like(like, [-1, size - 1], "float32", -1e9)
        finished = layers.cast(layers.fill_constant_batch_size_like(like, [-1, size], "int64", 0), "bool")
        states = BeamState(
            mapped(lambda x: _repeated(x, size), inits),
            layers.concat([first, others], axis=1) if size > 1 else first,
            finished, layers.zeros_like(ids),
        )  # fmt: skip
        return (self.embedding_fn(ids) if self.embedding_fn else ids), states, finished

    def step(self, time: Any, inputs: Any, states: Any, **kwargs: Any) -> Any:
        layers, size = layers_of(), self.beam_size
        outputs, new_states = self.cell(mapped(_merged, inputs), mapped(_merged, states.cell_states), **kwargs)

        def parted(x: Any) -> Any:
            return applied(lambda value: _core.reshape(value, (-1, size, *value.shape[1:])), "reshape", x)

        logits = mapped(parted, outputs)
        logits = self.output_fn(logits) if self.output_fn is not None else logits
        words = known(logits.shape[-1], "the number of words")
        logs = layers.log_softmax(logits)
        # A sequence that has ended goes on with its end, at no cost.
        only_end = np.full(words, -1e9, "float32")
        only_end[self.end_token] = 0.0
        ended = layers.unsqueeze(layers.cast(states.finished, "float32"), [2])
        logs = logs * (1.0 - ended) + ended * layers.assign(only_end)
        total = layers.elementwise_add(logs, states.log_probs, axis=0)
        scores, places = layers.topk(layers.reshape(total, [-1, size * words]), size)
        parents, ids = layers.elementwise_floordiv(places, words), layers.elementwise_mod(places, words)

        def chosen(x: Any) -> Any:
            return applied(_taken, "gather", x, parents)

        finished = chosen(states.finished)
        lengths = chosen(states.lengths) + layers.cast(layers.logical_not(finished), "int64")
        ends = layers.equal(ids, layers.fill_constant([1], "int64", self.end_token))
        finished = layers.logical_or(finished, ends)
        state = BeamState(mapped(lambda x: chosen(parted(x)), new_states), scores, finished, lengths)
        next_inputs = self.embedding_fn(ids) if self.embedding_fn else ids
        return BeamOutput(scores, ids, parents), state, next_inputs, finished

    @property
    def tracks_own_finished(self) -> bool:
        return True

    def finalize(self, outputs: Any, final_states: Any, sequence_lengths: Any) -> Any:
        return layers_of().gather_tree(outputs.predicted_ids, outputs.parent_ids), final_states


def _stacked(arrays: list[Any], sizes: list[Any]) -> list[Any]:
    """The elements of arrays of one length, along a new first axis."""
    from .arrays import stacked

    found = [stacked(array, known) for array, known in zip(arrays, sizes)]
    steps = found[0].shape[0]
    return [found[0], *(_core.assume_dims(x, (steps, *x.shape[1:])) for x in found[1:])]


def _taken(x: Any, beams: Any) -> Any:
    """Of each element of a batch the beams of these numbers."""
    index = _core.reshape(beams, (*beams.shape, *(1,) * (x.ndim - 2)))
    return _core.take_along_axis(x, _core.broadcast_to(index, (*beams.shape, *x.shape[2:])), 1)


def _repeated(x: Any, size: int) -> Any:
    layers = layers_of()
    return layers.expand(layers.unsqueeze(x, [1]), [1, size, *(1,) * (len(x.shape) - 1)])


def _merged(x: Any) -> Any:
    """Batch and beams as one axis."""
    return applied(lambda value: _core.reshape(value, (-1, *value.shape[2:])), "reshape", x)


def dynamic_decode(
    decoder: Decoder,
    inits: Any = None,
    max_step_num: int | None = None,
    output_time_major: bool = False,
    impute_finished: bool = False,
    is_test: bool = False,
    return_length: bool = False,
    **kwargs: Any,
) -> Any:
    """Calls the step of a decoder until all sequences have ended.

    Args:
        decoder: Says how it begins, what a step does, and what is returned.
        inits: What the decoder begins with.
        max_step_num: The last step is this one, counted from zero.
        output_time_major: Whether steps are the first axis of outputs.
        impute_finished: Whether states of sequences that have ended stay as they are.
        is_test: For Fluid's programs.
        return_length: Whether lengths are returned, too.
        kwargs: What the steps get, too.

    Returns:
        The outputs of all steps and the last states, and the lengths if so said.
    """
    layers = layers_of()
    inputs, states, finished = decoder.initialize(inits)
    lengths = layers.cast(layers.zeros_like(layers.cast(finished, "int64")), "int64")

    def moved(time: Any, inputs: Any, states: Any, finished: Any, lengths: Any) -> Any:
        outputs, new_states, new_inputs, ended = decoder.step(time, inputs, states, **kwargs)
        if impute_finished:
            new_states = mapped(lambda old, new: _kept(old, new, finished), states, new_states)
        if decoder.tracks_own_finished:
            return outputs, new_inputs, new_states, ended, getattr(new_states, "lengths", lengths)
        lengths = lengths + layers.cast(layers.logical_not(finished), "int64")
        return outputs, new_inputs, new_states, layers.logical_or(ended, finished), lengths

    run = _at_once if CALLS.dygraph else _in_program
    outputs, states, lengths = run(moved, inputs, states, finished, lengths, max_step_num)
    outputs, states = decoder.finalize(outputs, states, lengths)
    if not output_time_major:
        outputs = mapped(lambda x: layers.transpose(x, [1, 0, *range(2, len(x.shape))]), outputs)
    return (outputs, states, lengths) if return_length else (outputs, states)


def _kept(old: Any, new: Any, finished: Any) -> Any:
    """The old state where sequences have ended, else the new one."""
    layers = layers_of()
    kind = "float32" if str(new.dtype).strip("'").endswith("bool") else new.dtype
    ended = layers.cast(finished, kind)
    a, b = layers.cast(old, kind), layers.cast(new, kind)
    return layers.cast(
        layers.elementwise_mul(a, ended, axis=0) + layers.elementwise_mul(b, 1.0 - layers.cast(ended, kind), axis=0), new.dtype
    )


def _at_once(moved: Any, inputs: Any, states: Any, finished: Any, lengths: Any, last: int | None) -> Any:
    layers, found, time = layers_of(), [], 0
    while True:
        step = layers.fill_constant([1], "int64", time)
        outputs, inputs, states, finished, lengths = moved(step, inputs, states, finished, lengths)
        found.append(outputs)
        time += 1
        if bool(finished.numpy().all()) or (last is not None and time > last):
            break
    return mapped(lambda *parts: layers.stack(list(parts), 0), *found), states, lengths


def _in_program(moved: Any, inputs: Any, states: Any, finished: Any, lengths: Any, last: int | None) -> Any:
    """The first step stands before the loop, so that it is known what steps give. All steps share their parameters."""
    layers = layers_of()
    time = layers.fill_constant([1], "int64", 0)
    before = unique_name.counted()
    outputs, *after = moved(time, inputs, states, finished, lengths)
    first = leaves(outputs)
    arrays = [layers.array_write(leaf, time) for leaf in first]
    held = mapped(layers.assign, after)
    time = layers.increment(time, value=1, in_place=True)

    def going(out: Any = None) -> Any:
        open_ones = layers.logical_not(layers.reduce_all(held[2]))
        if last is None:
            return layers.assign(open_ones, out) if out is not None else open_ones
        limit = layers.less_equal(time, layers.fill_constant([1], "int64", last))
        return layers.logical_and(open_ones, limit, out=out)

    condition = going()
    loop = layers.While(condition)
    with loop.block():
        with unique_name.again(before):
            outputs, *after = moved(time, *held)
        for leaf, array in zip(leaves(outputs), arrays):
            layers.array_write(leaf, time, array)
        for new, old in zip(leaves(after), leaves(held)):
            layers.assign(new, old)
        layers.increment(time, value=1, in_place=True)
        going(condition)
    rest = iter(applied(_stacked, "stack", arrays, [leaf.block._values[leaf.name].shape for leaf in first]))
    return mapped(lambda _: next(rest), outputs), held[1], held[3]


dynamic_decode.verbatim = True  # type: ignore[attr-defined]
