"""Averages of models over the steps, as PyTorch's `swa_utils`."""

from __future__ import annotations

import copy
import math

from .. import _core
from .._fault import fault
from ..nn import Layer
from . import lr
from ._schedulers import LRScheduler, _for_each

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from .._core import Tensor
    from ._optimizer import Optimizer

    Average = Callable[[Tensor, Tensor, Tensor], Tensor]

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]


def get_swa_avg_fn() -> Average:
    """A mean in which all models count alike."""
    return lambda averaged, value, n: averaged + (value - averaged) / _core.cast(n + 1, averaged.dtype)


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """A mean that keeps this share of what it was.

    Args:
        decay: The share.
    """
    if not 0.0 <= decay <= 1.0:
        raise fault(ValueError, f"{decay} is not a share", "use a number from 0 to 1")
    return lambda averaged, value, n: averaged * decay + value * (1.0 - decay)


def _of_lists(one: Average) -> Callable[[Sequence[Tensor], Sequence[Tensor], Tensor], list[Tensor]]:
    return lambda averaged, values, n: [one(a, v, n) for a, v in zip(averaged, values)]


def get_swa_multi_avg_fn() -> Any:
    """`get_swa_avg_fn` of lists."""
    return _of_lists(get_swa_avg_fn())


def get_ema_multi_avg_fn(decay: float = 0.999) -> Any:
    """`get_ema_avg_fn` of lists.

    Args:
        decay: The share that a step leaves.
    """
    return _of_lists(get_ema_avg_fn(decay))


class AveragedModel(Layer):
    """A copy of a model whose parameters are means of those that the model had at each `update_parameters`.

    Args:
        model: The model.
        avg_fn: The mean as a function of the mean before, the new value, and how many it was made of; by default all
            count alike.
        multi_avg_fn: The same of lists.
        use_buffers: Whether means of buffers are taken, too; otherwise they are copied.

    Example:
        >>> net = fl.nn.Linear(1, 1, bias=False)
        >>> averaged = fl.optimizer.swa_utils.AveragedModel(net)
        >>> for value in (1.0, 3.0):
        ...     net.weight = fl.full((1, 1), value)
        ...     averaged.update_parameters(net)
        >>> averaged.module.weight.item(), averaged.n_averaged.item()
        (2.0, 2)
    """

    def __init__(
        self,
        model: Layer,
        avg_fn: Average | None = None,
        multi_avg_fn: Any = None,
        use_buffers: bool = False,
    ) -> None:
        if avg_fn is not None and multi_avg_fn is not None:
            raise fault(ValueError, "both `avg_fn` and `multi_avg_fn` say how means are taken", "give one of them")
        super().__init__()
        self.module = copy.deepcopy(model)
        self.register_buffer("n_averaged", _core.tensor(0, "int64"))
        self._mean = multi_avg_fn or _of_lists(avg_fn or get_swa_avg_fn())
        self.use_buffers = use_buffers

    def forward(self, *inputs: Any, **options: Any) -> Any:
        return self.module(*inputs, **options)

    def update_parameters(self, model: Layer) -> None:
        """Takes the parameters of the model in, in both modes.

        Args:
            model: The model, or one like it.
        """
        with _core.no_grad():
            own, new = self.module.parameters(), model.parameters()
            own_buffers, new_buffers = self.module.buffers(), model.buffers()
            if self.use_buffers:
                own, new = [*own, *own_buffers], [*new, *new_buffers]
                own_buffers = new_buffers = []
            if [p.shape for p in own] != [p.shape for p in new]:
                raise fault(ValueError, "the model is not like the one that is averaged", "give the same model")
            n = self._buffers["n_averaged"].detach()
            before, values = [p.detach() for p in own], [p.detach() for p in new]
            for p, first, mean in zip(own, values, self._mean(before, values, n)):
                p.set(_core.where(n == 0, first, _core.cast(mean, p.dtype)))
            for buffer, other in zip(own_buffers, new_buffers):
                buffer.set(other.detach())
            self.n_averaged = n + 1


class SWALR(LRScheduler):
    """From the rate that the optimizer has to a lasting one, in `anneal_epochs` steps.

    Args:
        optimizer: The optimizer.
        swa_lr: The lasting rate, or one for each group.
        anneal_epochs: The number of steps.
        anneal_strategy: "cos" or "linear".
        last_epoch: The number of steps that were made before, less one.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | Sequence[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise fault(ValueError, f"there is no strategy {anneal_strategy!r}", 'use "cos" or "linear"')
        self.swa_lrs = _for_each(swa_lr, len(optimizer.param_groups), "rates")
        self.anneal_epochs, self._is_linear = anneal_epochs, anneal_strategy == "linear"
        super().__init__(optimizer, lr.constant(), last_epoch=last_epoch)

    def _share(self, step: int) -> float:
        done = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return done if self._is_linear else (1.0 - math.cos(math.pi * done)) / 2.0

    def _set(self, before_this: list[float] | None = None) -> None:
        # Another scheduler may have set the rate since the last step: it goes on from there.
        if self.last_epoch == 0:
            return
        before, now = self._share(self.last_epoch - 1), self._share(self.last_epoch)
        for number, (group, lasting) in enumerate(zip(self.optimizer.param_groups, self.swa_lrs)):
            first = lasting if before == 1.0 else (group["lr"] - lasting * before) / (1.0 - before)
            self.optimizer.set_learning_rate(lasting * now + first * (1.0 - now), number)


def update_bn(loader: Iterable[Any], model: Layer) -> None:
    """Takes the running statistics of batch norms anew, as means over all batches.

    Args:
        loader: Batches; of a tuple or list, the first part is what the model takes.
        model: The model.
    """
    norms = [layer for layer in model.modules() if "running_mean" in layer._buffers]
    if not norms:
        return
    before = [norm.momentum for norm in norms]
    was_training = model.training
    model.train()
    with _core.no_grad():
        for norm in norms:
            norm.running_mean = _core.zeros_like(norm.running_mean)
            norm.running_var = _core.ones_like(norm.running_var)
            norm.num_batches_tracked = _core.zeros_like(norm.num_batches_tracked)
            norm.momentum = None
        for batch in loader:
            model(batch[0] if isinstance(batch, (tuple, list)) else batch)
    for norm, momentum in zip(norms, before):
        norm.momentum = momentum
    model.train(was_training)
