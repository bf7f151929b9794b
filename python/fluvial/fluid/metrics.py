"""Measures that are added up over batches, in NumPy."""

from __future__ import annotations

from typing import Any

from .. import _core
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
            raise fault(TypeError, f"{metric!r} is not a measure", "derive it from `MetricBase`")
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
    """The mean, over classes, of the precision that a detector reaches, in each batch and over all since `reset`. What is
    added up is kept here, not in the scope, so that programs with it run with Python only.

    Args:
        input: What `layers.multiclass_nms` gave: class, score and edges, as shares of the image.
        gt_label: The classes of objects, with levels by image.
        gt_box: Their edges.
        gt_difficult: Which of them are difficult, or nothing.
        class_num: How many classes there are.
        background_label: The class that does not count.
        overlap_threshold: How much a box must overlap an object.
        evaluate_difficult: Whether difficult objects count.
        ap_version: "integral", or "11point" for the best precision at eleven recalls.
    """

    def __init__(
        self, input: Any, gt_label: Any, gt_box: Any, gt_difficult: Any = None, class_num: int | None = None,
        background_label: int = 0, overlap_threshold: float = 0.5, evaluate_difficult: bool = True,
        ap_version: str = "integral",
    ) -> None:  # fmt: skip
        from .framework import applied, default_main_program
        from .layers import _measures
        from .layers._cells import layers_of

        layers = layers_of()

        if class_num is None:
            raise fault(ValueError, "how many classes there are is not said", "give `class_num`")
        _measures.checked(ap_version)
        columns = [layers.cast(gt_label, gt_box.dtype), gt_box]
        if gt_difficult is not None:
            columns.insert(1, layers.cast(gt_difficult, gt_box.dtype))
        label = layers.concat(columns, axis=1)
        triples, objects = applied(
            _measures.hits, "detection_map", input, label, class_num, overlap_threshold, evaluate_difficult
        )
        self._seen: list[Any] = []

        def mean(triples: Any, objects: Any) -> Any:
            return _measures.mean_precision(triples, objects, background_label, ap_version)

        def added(triples: Any, objects: Any) -> Any:
            import numpy as np

            self._seen.append((np.array(triples), np.array(objects)))
            rows, counts = (np.concatenate(parts) for parts in zip(*((t, o[None]) for t, o in self._seen)))
            self._seen = [(rows, counts.sum(0))]
            return mean(_core.tensor(rows), _core.tensor(counts.sum(0))).numpy()

        self._now = applied(mean, "detection_map", triples, objects)
        out = default_main_program().current_block().create_var(shape=[1], dtype=self._now.dtype)
        self._all = layers.py_func(added, [triples, objects], out)

    def get_map_var(self) -> tuple[Any, Any]:
        """Variables: the mean of a batch, and that of all batches since `reset`."""
        return self._now, self._all

    def reset(self, executor: Any = None, reset_program: Any = None) -> None:
        """Begins anew.

        Args:
            executor: For Fluid's programs.
            reset_program: For Fluid's programs.
        """
        self._seen = []
