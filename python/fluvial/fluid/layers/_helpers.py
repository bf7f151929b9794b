"""How a decoder gets its next words: given ones, the most probable, or drawn ones."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from ..._fault import missing
from ._cells import layers_of, leaves, mapped
from ._decode import Decoder

__all__ = ["BasicDecoder", "DecodeHelper", "GreedyEmbeddingHelper", "SampleEmbeddingHelper", "TrainingHelper"]


class DecodeHelper:
    """What `BasicDecoder` asks: the first inputs, words of outputs, and the inputs of the next step."""

    def initialize(self) -> Any:
        """The first inputs, and which sequences have ended."""
        raise missing(self, "initialize(self)")

    def sample(self, time: Any, outputs: Any, states: Any) -> Any:
        """The words of a step.

        Args:
            time: The number of the step.
            outputs: What the cell gave, a number for each word.
            states: The states behind the step.
        """
        raise missing(self, "sample(self, time, outputs, states)")

    def next_inputs(self, time: Any, outputs: Any, states: Any, sample_ids: Any) -> Any:
        """Which sequences have ended, the next inputs, and the next states.

        Args:
            time: The number of the step.
            outputs: What the cell gave.
            states: The states behind the step.
            sample_ids: What `sample` gave.
        """
        raise missing(self, "next_inputs(self, time, outputs, states, sample_ids)")


class TrainingHelper(DecodeHelper):
    """Inputs are given for all steps; words are the most probable ones.

    Args:
        inputs: The steps, `[batch, steps, ...]`, or a structure of such.
        sequence_length: How many steps each sequence has.
        time_major: Whether steps are the first axis.
    """

    def __init__(self, inputs: Any, sequence_length: Any, time_major: bool = False) -> None:
        self.inputs, self.sequence_length, self.time_major = inputs, sequence_length, time_major
        layers = layers_of()
        turned = lambda x: layers.transpose(x, [1, 0, *range(2, len(x.shape))])  # noqa: E731
        self._steps = inputs if time_major else mapped(turned, inputs)

    def initialize(self) -> Any:
        layers = layers_of()
        first = layers.fill_constant([1], "int64", 0)
        ended = layers.equal(self.sequence_length, layers.zeros_like(self.sequence_length))
        return mapped(lambda x: self._step(x, first), self._steps), ended

    def sample(self, time: Any, outputs: Any, states: Any) -> Any:
        return layers_of().argmax(outputs, axis=-1)

    def next_inputs(self, time: Any, outputs: Any, states: Any, sample_ids: Any) -> Any:
        layers = layers_of()
        following = layers.cast(time, "int64") + 1
        ended = layers.less_equal(layers.cast(self.sequence_length, "int64"), following)
        # Behind the last step nothing is read that counts.
        last = layers.cast(layers.shape(leaves(self._steps)[0])[0], "int64") - 1
        place = layers.elementwise_min(following, last)
        return ended, mapped(lambda x: self._step(x, place), self._steps), states

    @staticmethod
    def _step(x: Any, place: Any) -> Any:
        layers = layers_of()
        return layers.squeeze(layers.gather(x, place), [0])


class GreedyEmbeddingHelper(DecodeHelper):
    """The most probable word of a step is the input of the next one.

    Args:
        embedding_fn: Makes inputs of words.
        start_tokens: The first word of each sequence.
        end_token: The word that ends a sequence.
    """

    def __init__(self, embedding_fn: Callable[[Any], Any], start_tokens: Any, end_token: int) -> None:
        self.embedding_fn, self.start_tokens, self.end_token = embedding_fn, start_tokens, end_token

    def initialize(self) -> Any:
        layers = layers_of()
        ended = layers.cast(layers.zeros_like(self.start_tokens), "bool")
        return self.embedding_fn(self.start_tokens), ended

    def sample(self, time: Any, outputs: Any, states: Any) -> Any:
        return layers_of().argmax(outputs, axis=-1)

    def next_inputs(self, time: Any, outputs: Any, states: Any, sample_ids: Any) -> Any:
        layers = layers_of()
        ended = layers.equal(sample_ids, layers.fill_constant([1], "int64", self.end_token))
        return ended, self.embedding_fn(sample_ids), states


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """A word that is drawn by its probability is the input of the next step.

    Args:
        embedding_fn: Makes inputs of words.
        start_tokens: The first word of each sequence.
        end_token: The word that ends a sequence.
        softmax_temperature: Outputs are divided by it: above one, words are more alike.
        seed: Where random numbers begin; None for those of the scope's stream.
    """

    def __init__(
        self, embedding_fn: Callable[[Any], Any], start_tokens: Any, end_token: int,
        softmax_temperature: float | None = None, seed: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(embedding_fn, start_tokens, end_token)
        self.softmax_temperature, self.seed = softmax_temperature, seed

    def sample(self, time: Any, outputs: Any, states: Any) -> Any:
        layers = layers_of()
        if self.softmax_temperature is not None:
            outputs = outputs / self.softmax_temperature
        drawn = layers.sampling_id(layers.softmax(outputs), seed=self.seed or 0, dtype="int64")
        return layers.cast(drawn, "int64")


class BasicDecoder(Decoder):
    """A cell whose words a helper chooses.

    Args:
        cell: Takes inputs and states of a step, returns outputs and new states.
        helper: Chooses words, and says how it goes on.
        output_fn: Makes a number for each word of the cell's output.
    """

    #: What a step gives.
    OutputWrapper = namedtuple("OutputWrapper", ["cell_outputs", "sample_ids"])

    def __init__(self, cell: Any, helper: DecodeHelper, output_fn: Callable[[Any], Any] | None = None) -> None:
        self.cell, self.helper, self.output_fn = cell, helper, output_fn

    def initialize(self, inits: Any) -> Any:
        inputs, ended = self.helper.initialize()
        return inputs, inits, ended

    def step(self, time: Any, inputs: Any, states: Any, **kwargs: Any) -> Any:
        outputs, new_states = self.cell(inputs, states, **kwargs)
        if self.output_fn is not None:
            outputs = self.output_fn(outputs)
        words = self.helper.sample(time, outputs, new_states)
        ended, next_inputs, next_states = self.helper.next_inputs(time, outputs, new_states, words)
        return self.OutputWrapper(outputs, words), next_states, next_inputs, ended
