"""Metrics of classifiers."""

from __future__ import annotations

from .. import _core
from .._fault import fault
from ._metric import Metric, classes_of, ratio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core import Tensor


class Accuracy(Metric):
    """The share of predictions that are right.

    Args:
        top_k: A prediction is right if the target is among so many of the best scores.
        threshold: From which probability on a prediction of two classes is one.
        ignore_index: A target that does not count.

    Example:
        >>> accuracy = fl.metrics.Accuracy()
        >>> accuracy(fl.tensor([[0.1, 0.9], [0.8, 0.2]]), fl.tensor([1, 1])).item()
        0.5
    """

    def __init__(
        self, top_k: int = 1, threshold: float = 0.5, ignore_index: int | None = None, name: str | None = None
    ) -> None:
        super().__init__(name)
        self.top_k, self.threshold, self.ignore_index = top_k, threshold, ignore_index
        self.count("right")
        self.count("total")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Takes a batch in.

        Args:
            preds: Scores of all classes, in axis 1; probabilities; or the numbers of classes.
            target: The numbers of classes.
        """
        target = _core.cast(target, "int64")
        if self.top_k > 1:
            if preds.ndim != 2 or target.ndim != 1:
                raise fault(
                    ValueError,
                    f"the best {self.top_k} of scores {list(preds.shape)}",
                    "give scores [batch, classes] and one target for each",
                )
            best = _core.topk(preds, self.top_k, -1)[1]
            is_right = _core.any(best == _core.unsqueeze(target, -1), -1)
        else:
            is_right = classes_of(preds, target, self.threshold) == target
        counts = target != self.ignore_index if self.ignore_index is not None else target == target
        self.add("right", _core.sum(_core.cast(_core.logical_and(is_right, counts), "float64")))
        self.add("total", _core.sum(_core.cast(counts, "float64")))

    def compute(self) -> Tensor:
        """The share."""
        return self.right / self.total


class ConfusionMatrix(Metric):
    """How often each class, by rows, was predicted as each, by columns.

    Args:
        num_classes: The number of classes.
        normalize: "true" for shares of rows, "pred" of columns, "all" of the whole; or nothing, for counts.
        threshold: From which probability on a prediction of two classes is one.
        ignore_index: A target that does not count.

    Example:
        >>> matrix = fl.metrics.ConfusionMatrix(2)
        >>> matrix(fl.tensor([0, 1, 1]), fl.tensor([0, 1, 0])).tolist()
        [[1, 1], [0, 1]]
    """

    def __init__(
        self,
        num_classes: int,
        normalize: str | None = None,
        threshold: float = 0.5,
        ignore_index: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        if normalize not in (None, "true", "pred", "all"):
            raise fault(ValueError, f"no shares are named {normalize!r}", 'use "true", "pred", "all" or None')
        self.num_classes, self.normalize = num_classes, normalize
        self.threshold, self.ignore_index = threshold, ignore_index
        self.count("matrix", (num_classes, num_classes), "int64")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Takes a batch in.

        Args:
            preds: Scores of all classes, in axis 1; probabilities; or the numbers of classes.
            target: The numbers of classes.
        """
        n, target = self.num_classes, _core.cast(target, "int64")
        found = classes_of(preds, target, self.threshold)
        counts = target != self.ignore_index if self.ignore_index is not None else target == target
        target = _core.where(counts, target, _core.zeros_like(target))
        found = _core.where(counts, found, _core.zeros_like(found))
        inside = _core.logical_and(_core.logical_and(target >= 0, target < n), _core.logical_and(found >= 0, found < n))
        _core.assert_(_core.all(inside), f"a class is none of {n}: give `num_classes`, or `ignore_index`", [])
        at = _core.reshape(target * n + found, (-1,))
        each = _core.reshape(_core.cast(counts, "int64"), (-1,))
        self.add("matrix", _core.reshape(_core.index_add(each, at, 0, n * n), (n, n)))

    def compute(self) -> Tensor:
        """The matrix."""
        if self.normalize is None:
            return self.matrix.detach()
        matrix = _core.cast(self.matrix.detach(), "float64")
        axis = {"true": [1], "pred": [0], "all": [0, 1]}[self.normalize]
        return ratio(matrix, _core.broadcast_to(_core.sum(matrix, axis, True), matrix.shape))


class _OfMatrix(ConfusionMatrix):
    """A measure that follows from right and wrong predictions of each class."""

    def __init__(
        self,
        num_classes: int = 2,
        average: str | None = None,
        threshold: float = 0.5,
        ignore_index: int | None = None,
        name: str | None = None,
    ) -> None:
        known = ("binary", "micro", "macro", "weighted", "none")
        average = average or ("binary" if num_classes == 2 else "macro")
        if average not in known:
            raise fault(ValueError, f"no mean is named {average!r}", f"use one of {', '.join(known)}")
        if average == "binary" and num_classes != 2:
            raise fault(ValueError, f"{num_classes} classes are not two", 'use "macro", "micro" or "weighted"')
        super().__init__(num_classes, None, threshold, ignore_index, name)
        self.average = average

    def _of(self, right: Tensor, predicted: Tensor, there: Tensor) -> Tensor:
        raise NotImplementedError

    def compute(self) -> Tensor:
        """The measure."""
        matrix = _core.cast(self.matrix.detach(), "float64")
        right = _core.diagonal(matrix, 0, 0, 1)
        predicted, there = _core.sum(matrix, 0), _core.sum(matrix, 1)
        if self.average == "micro":
            return self._of(_core.sum(right), _core.sum(predicted), _core.sum(there))
        each = self._of(right, predicted, there)
        if self.average == "none":
            return each
        if self.average == "binary":
            return each[1]
        if self.average == "weighted":
            return ratio(_core.sum(each * there), _core.sum(there))
        # Classes that are neither there nor predicted do not count.
        some = _core.cast(predicted + there > 0, "float64")
        return ratio(_core.sum(each * some), _core.sum(some))


class Precision(_OfMatrix):
    """The share of predictions of a class that are right.

    Args:
        num_classes: The number of classes.
        average: "binary" for class 1 of two, "macro" for the mean over classes, "weighted" by how often they are
            there, "micro" for all predictions together, "none" for each class.
        threshold: From which probability on a prediction of two classes is one.
        ignore_index: A target that does not count.

    Example:
        >>> fl.metrics.Precision()(fl.tensor([1, 1, 0]), fl.tensor([1, 0, 0])).item()
        0.5
    """

    def _of(self, right: Tensor, predicted: Tensor, there: Tensor) -> Tensor:
        return ratio(right, predicted)


class Recall(_OfMatrix):
    """The share of a class that is found.

    Args:
        num_classes: The number of classes.
        average: As for `Precision`.
        threshold: From which probability on a prediction of two classes is one.
        ignore_index: A target that does not count.
    """

    def _of(self, right: Tensor, predicted: Tensor, there: Tensor) -> Tensor:
        return ratio(right, there)


class F1(_OfMatrix):
    """The harmonic mean of precision and recall.

    Args:
        num_classes: The number of classes.
        average: As for `Precision`.
        threshold: From which probability on a prediction of two classes is one.
        ignore_index: A target that does not count.
    """

    def _of(self, right: Tensor, predicted: Tensor, there: Tensor) -> Tensor:
        return ratio(2.0 * right, predicted + there)


F1Score = F1


class AUC(Metric):
    """The area under the ROC curve of two classes: the probability that one of class 1 has a higher score than one of
    class 0. Scores are counted in steps between 0 and 1; those of one step count as equal.

    Args:
        num_thresholds: The number of steps.

    Example:
        >>> auc = fl.metrics.AUC()
        >>> auc(fl.tensor([0.1, 0.4, 0.35, 0.8]), fl.tensor([0, 0, 1, 1])).item()
        0.75
    """

    def __init__(self, num_thresholds: int = 4096, name: str | None = None) -> None:
        super().__init__(name)
        self.num_thresholds = num_thresholds
        self.count("positives", (num_thresholds,))
        self.count("negatives", (num_thresholds,))

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Takes a batch in.

        Args:
            preds: The probabilities of class 1.
            target: 1 or 0.
        """
        n = self.num_thresholds
        scores = _core.reshape(_core.cast(preds, "float64"), (-1,))
        inside = _core.logical_and(scores >= 0, scores <= 1)
        _core.assert_(_core.all(inside), "scores are probabilities, from 0 to 1: apply `fl.sigmoid` before", [])
        at = _core.minimum(_core.cast(_core.floor(scores * n), "int64"), n - 1)
        positive = _core.reshape(_core.cast(target, "float64"), (-1,))
        self.add("positives", _core.index_add(positive, at, 0, n))
        self.add("negatives", _core.index_add(1.0 - positive, at, 0, n))

    def compute(self) -> Tensor:
        """The area; NaN if a class is missing."""
        positives, negatives = self.positives.detach(), self.negatives.detach()
        below = _core.cumsum(negatives, 0) - 0.5 * negatives
        return _core.sum(positives * below) / (_core.sum(positives) * _core.sum(negatives))
