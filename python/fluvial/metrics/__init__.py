"""Measures over many batches. What they have seen are states, so they work line by line and inside programs.

Example:
    >>> accuracy = fl.metrics.Accuracy()
    >>> @fl.function
    ... def evaluate(scores, targets):
    ...     accuracy.update(scores, targets)
    >>> evaluate(fl.tensor([[0.1, 0.9], [0.8, 0.2]]), fl.tensor([1, 0]))
    >>> evaluate(fl.tensor([[0.7, 0.3], [0.8, 0.2]]), fl.tensor([1, 0]))
    >>> accuracy.compute().item()
    0.75
    >>> accuracy.reset()
"""

from ._bleu import BLEU
from ._classes import AUC, F1, Accuracy, ConfusionMatrix, F1Score, Precision, Recall
from ._metric import Mean, MeanAbsoluteError, MeanSquaredError, Metric, Perplexity

__all__ = [
    "AUC", "BLEU", "F1", "Accuracy", "ConfusionMatrix", "F1Score", "Mean", "MeanAbsoluteError", "MeanSquaredError",
    "Metric", "Perplexity", "Precision", "Recall",
]

TYPE_CHECKING = False
# A type checker would take any name for one of this module.
if not TYPE_CHECKING:

    def __getattr__(name):
        from .._elsewhere import no_attribute

        raise no_attribute(__name__, name)
