"""`DataParallel`: a layer that all ranks have, trained on parts of the data."""

from __future__ import annotations

from .. import _core
from .._fault import fault
from ._generated import BatchNorm
from ._layer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._parameter import Parameter

#: Gradients are averaged together until they have so many bytes.
_BUCKET = 25 << 20


class DataParallel(Layer):
    """A layer that all ranks have (`fl.dist`), each of which is given a part of the batch: gradients of its parameters are the
    means of those of all ranks, and all ranks stay equal to the bit. Parameters and buffers begin as those of rank 0. The
    statistics of batch norms are averaged, too (those of `sync=True` are the same anyway); each rank drops other values. Other buffers stay each rank's own.

    It works line by line and in `fl.function`; with one rank it is the layer itself. Its results are those of
    `fl.dist.transpile`. A loss should be a mean over the rank's part of the batch.

    Args:
        module: The layer.

    Example:
        >>> net = fl.nn.DataParallel(fl.nn.Linear(2, 1))
        >>> net(fl.full((3, 2), 1.0)).shape
        (3, 1)
    """

    def __init__(self, module: Layer) -> None:
        super().__init__()
        if not isinstance(module, Layer):
            raise fault(TypeError, f"`DataParallel` takes a layer, not {type(module).__name__}")
        self.module = module
        if _core.dist_ranks()[1] > 1:
            for entry in [*module.parameters(), *module.buffers()]:
                entry.set(_core.broadcast_from(entry.detach(), 0))

    def forward(self, *args: Any, **options: Any) -> Any:
        if _core.dist_ranks()[1] == 1:
            return self.module(*args, **options)
        from .._functional import functional_call

        replicas: dict[str, Any] = {}
        for group in self._buckets():
            parts = _core.replicate([parameter for _, parameter in group])
            replicas.update(zip((name for name, _ in group), parts))
        with _core.ByRank():
            result = functional_call(self.module, replicas, args, options)
        if self.training:
            self._average_statistics()
        return result

    def _buckets(self) -> list[list[tuple[str, Parameter]]]:
        """The trained parameters in the order in which their gradients come, each group of one type."""
        groups: list[list[tuple[str, Parameter]]] = []
        full: dict[Any, tuple[list[tuple[str, Parameter]], int]] = {}
        for name, parameter in reversed(list(self.module.named_parameters())):
            if not parameter.requires_grad:
                continue
            group, size = full.get(parameter.dtype, ([], 0))
            if not group:
                groups.append(group)
            group.append((name, parameter))
            size += parameter.numel() * 8
            full[parameter.dtype] = (group, size) if size < _BUCKET else ([], 0)
        return groups

    def _average_statistics(self) -> None:
        for layer in self.module.modules():
            if isinstance(layer, BatchNorm) and not layer.sync:
                for _, buffer in layer.named_buffers(recurse=False):
                    if buffer.is_floating_point() or buffer.is_complex():
                        buffer.set(_core.all_reduce(buffer.detach(), "mean"))
