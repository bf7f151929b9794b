"""Measures that are added up over batches, in NumPy."""

from __future__ import annotations

from typing import Any

from .._fault import fault, missing

__all__ = [
    "MetricBase", "CompositeMetric", "Precision", "Recall", "Accuracy", "ChunkEvaluator", "EditDistance",
    "DetectionMAP", "Auc",
]  # fmt: skip


class MetricBase:
    """What all measures share.

    Args:
        name: Its name.
    """

    def __init__(self, name: str | None = None) -> None:
        self._name = name or type(self).__name__

    def __str__(self) -> str:
        return self._name

    def reset(self) -> None:
        """Begins anew: numbers become zero, lists empty."""
        for name, value in vars(self).items():
            if name.startswith("_"):
                continue
            if isinstance(value, (int, float)):
                setattr(self, name, type(value)(0))
            elif isinstance(value, list):
                setattr(self, name, [])
            elif hasattr(value, "fill"):
                value.fill(0)

    def get_config(self) -> dict[str, Any]:
        """Its numbers by name."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def update(self, preds: Any, labels: Any) -> None:
        """Adds a batch. A measure of one's own says it."""
        raise missing(self, "update(self, preds, labels)")

    def eval(self) -> Any:
        """The measure of what was added. A measure of one's own says it."""
        raise missing(self, "eval(self)")


class CompositeMetric(MetricBase):
    """Several measures of the same batches."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self._metrics: list[MetricBase] = []

    def add_metric(self, metric: MetricBase) -> None:
        """Adds a measure."""
        if not isinstance(metric, MetricBase):
            raise fault(TypeError, f"{metric!r} is no measure", "derive it from `MetricBase`")
        self._metrics.append(metric)

    def reset(self) -> None:
        """Begins anew."""
        for metric in self._metrics:
            metric.reset()

    def update(self, preds: Any, labels: Any) -> None:
        for metric in self._metrics:
            metric.update(preds, labels)

    def eval(self) -> list[Any]:
        return [metric.eval() for metric in self._metrics]


def _rounded(preds: Any, labels: Any) -> tuple[Any, Any]:
    import numpy as np

    found = np.rint(np.asarray(preds)).astype("int32").reshape(-1)
    wanted = np.asarray(labels).astype("int32").reshape(-1)
    if found.shape != wanted.shape:
        raise fault(ValueError, f"{found.size} predictions for {wanted.size} labels", "give one for each")
    return found, wanted


class Precision(MetricBase):
    """The share of what was predicted as one that is one."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.tp, self.fp = 0, 0

    def update(self, preds: Any, labels: Any) -> None:
        found, wanted = _rounded(preds, labels)
        self.tp += int(((found == 1) & (wanted == 1)).sum())
        self.fp += int(((found == 1) & (wanted != 1)).sum())

    def eval(self) -> float:
        total = self.tp + self.fp
        return float(self.tp) / total if total else 0.0


class Recall(MetricBase):
    """The share of ones that were predicted as one."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.tp, self.fn = 0, 0

    def update(self, preds: Any, labels: Any) -> None:
        found, wanted = _rounded(preds, labels)
        self.tp += int(((wanted == 1) & (found == 1)).sum())
        self.fn += int(((wanted == 1) & (found != 1)).sum())

    def eval(self) -> float:
        total = self.tp + self.fn
        return float(self.tp) / total if total else 0.0


def _mean_of(value: Any, what: str) -> float:
    import numpy as np

    array = np.asarray(value)
    if array.size != 1:
        raise fault(ValueError, f"`{what}` has {array.size} elements", "give one number")
    return float(array.reshape(()))


class Accuracy(MetricBase):
    """The mean of accuracies of batches, weighted."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.value, self.weight = 0.0, 0.0

    def update(self, value: Any, weight: Any) -> None:
        """Adds a batch.

        Args:
            value: Its accuracy.
            weight: Its weight, such as the number of samples.
        """
        number = _mean_of(weight, "weight")
        if number < 0:
            raise fault(ValueError, f"the weight {number} is negative", "give the number of samples")
        self.value += _mean_of(value, "value") * number
        self.weight += number

    def eval(self) -> float:
        if self.weight == 0:
            raise fault(ValueError, "nothing was added yet", "call `update` first")
        return self.value / self.weight


class ChunkEvaluator(MetricBase):
    """Precision, recall and F1 of chunks, which `layers.chunk_eval` counts."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.num_infer_chunks, self.num_label_chunks, self.num_correct_chunks = 0, 0, 0

    def update(self, num_infer_chunks: Any, num_label_chunks: Any, num_correct_chunks: Any) -> None:  # type: ignore[override]
        """Adds a batch: chunks found, chunks there, chunks found rightly."""
        self.num_infer_chunks += int(_mean_of(num_infer_chunks, "num_infer_chunks"))
        self.num_label_chunks += int(_mean_of(num_label_chunks, "num_label_chunks"))
        self.num_correct_chunks += int(_mean_of(num_correct_chunks, "num_correct_chunks"))

    def eval(self) -> tuple[float, float, float]:
        right = self.num_correct_chunks
        precision = right / self.num_infer_chunks if self.num_infer_chunks else 0.0
        recall = right / self.num_label_chunks if self.num_label_chunks else 0.0
        return precision, recall, 2 * precision * recall / (precision + recall) if right else 0.0


class EditDistance(MetricBase):
    """The mean distance of sequences, and the share of those that are not right."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.total_distance, self.seq_num, self.instance_error = 0.0, 0, 0

    def update(self, distances: Any, seq_num: Any) -> None:
        """Adds a batch: distances, and how many sequences."""
        import numpy as np

        array, count = np.asarray(distances), int(_mean_of(seq_num, "seq_num"))
        self.seq_num += count
        self.instance_error += count - int((array == 0).sum())
        self.total_distance += float(array.sum())

    def eval(self) -> tuple[float, float]:
        if self.seq_num == 0:
            raise fault(ValueError, "nothing was added yet", "call `update` first")
        return self.total_distance / self.seq_num, self.instance_error / float(self.seq_num)


class Auc(MetricBase):
    """The area under the curve of true over false positives.

    Args:
        name: Its name.
        curve: "ROC".
        num_thresholds: Into how many parts predictions are sorted.
    """

    def __init__(self, name: str | None = None, curve: str = "ROC", num_thresholds: int = 4095) -> None:
        import numpy as np

        super().__init__(name)
        if curve != "ROC":
            raise fault(NotImplementedError, f"the area under {curve!r} is not here", 'use "ROC"')
        self._num_thresholds = num_thresholds
        self._pos, self._neg = np.zeros(num_thresholds + 1, "int64"), np.zeros(num_thresholds + 1, "int64")

    def reset(self) -> None:
        """Begins anew."""
        self._pos.fill(0)
        self._neg.fill(0)

    def update(self, preds: Any, labels: Any) -> None:
        import numpy as np

        rates, wanted = np.asarray(preds), np.asarray(labels).reshape(-1)
        ones = rates.reshape(len(wanted), -1)[:, -1]
        places = np.minimum((ones * self._num_thresholds).astype("int64"), self._num_thresholds)
        self._pos += np.bincount(places[wanted != 0], minlength=self._num_thresholds + 1)
        self._neg += np.bincount(places[wanted == 0], minlength=self._num_thresholds + 1)

    def eval(self) -> float:
        import numpy as np

        pos, neg = np.cumsum(self._pos[::-1]), np.cumsum(self._neg[::-1])
        if pos[-1] == 0 or neg[-1] == 0:
            return 0.0
        before_pos, before_neg = np.concatenate([[0], pos[:-1]]), np.concatenate([[0], neg[:-1]])
        area = ((neg - before_neg) * (pos + before_pos) / 2.0).sum()
        return float(area / pos[-1] / neg[-1])


class DetectionMAP:
    """Refused: see `layers.detection_map`."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise fault(
            NotImplementedError, "`DetectionMAP` adds up inside of a program", "fetch boxes, and measure them in NumPy"
        )
