"""Batch normalisation, with running statistics as state."""

from __future__ import annotations

from .. import _core
from .._fault import fault
from ..initializer import Ones, Zeros
from ._layer import Layer
from ._parameter import Buffer, Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._attr import AttrLike
    from .._core import DType, DTypeLike, Tensor


class BatchNorm(Layer):
    """Values of each channel with mean 0 and variance 1 over the batch, times `weight` plus `bias`.

    In training the batch's own statistics are used, and running ones are kept, for use.

    Args:
        channels: The number of channels, the size of axis 1.
        eps: What is added to the variance.
        momentum: The share of a new batch in the running statistics; with None all batches have
            the same share.
        affine: Whether there are `weight` and `bias`.
        track_running_stats: Whether running statistics are kept.
        weight_attr: What is said of the weight.
        bias_attr: What is said of the bias.
        dtype: The element type of the parameters.
        name: The layer's name.

    Example:
        >>> layer = fl.nn.BatchNorm2d(3)
        >>> layer(fl.normal("f32[8, 3, 2, 2]")).shape
        (8, 3, 2, 2)
        >>> sorted(layer.state_dict())
        ['bias', 'num_batches_tracked', 'running_mean', 'running_var', 'weight']
    """

    _ranks: tuple[int, ...] = (2, 3, 4, 5)

    def __init__(
        self,
        channels: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        weight_attr: AttrLike = None,
        bias_attr: AttrLike = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.channels, self.eps, self.momentum = channels, eps, momentum
        self.weight = self.bias = None
        if affine:
            self.weight = Parameter((channels,), dtype, Ones(), weight_attr)
            self.bias = Parameter((channels,), dtype, Zeros(), bias_attr)
        self.track_running_stats = track_running_stats
        if track_running_stats:
            self.running_mean: Tensor = Buffer((channels,), dtype, Zeros())
            self.running_var: Tensor = Buffer((channels,), dtype, Ones())
            self.num_batches_tracked: Tensor = Buffer((), "int64", Zeros())

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim not in self._ranks or x.shape[1] != self.channels:
            ranks = " or ".join(map(str, self._ranks))
            raise fault(
                ValueError,
                f"batch norm takes {ranks} axes with {self.channels} channels in axis 1, "
                f"found {x.type_text}",
            )
        weight, bias, eps = self.weight, self.bias, self.eps
        if not self.track_running_stats:
            return _core.batch_norm_train(x, weight, bias, eps)[0]
        if not self.training:
            return _core.batch_norm(x, self.running_mean, self.running_var, weight, bias, eps)
        trained, mean, variance = _core.batch_norm_train(x, weight, bias, eps)
        shift, scale = self._buffers["running_mean"].get(), self._buffers["running_var"].get()
        self._update(x, mean, variance)
        if not _core.is_building():
            return trained
        shift, scale = _cast(shift, mean.dtype), _cast(scale, variance.dtype)
        return _core.by_phase(trained, _core.batch_norm(x, shift, scale, weight, bias, eps))

    def _update(self, x: Tensor, mean: Tensor, variance: Tensor) -> None:
        with _core.no_grad():
            batches = self.num_batches_tracked + 1
            self.num_batches_tracked = batches
            dtype = self._buffers["running_mean"].dtype
            if self.momentum is None:
                share = 1.0 / _core.cast(batches, "float64")
            else:
                share = _core.tensor(self.momentum, "float64")
            share = _core.cast(share, dtype)
            count = _count(x)
            unbiased = _core.cast(count / (count - 1.0), dtype)
            old = self.running_mean
            self.running_mean = old + (_cast(mean.detach(), dtype) - old) * share
            old = self.running_var
            self.running_var = old + (_cast(variance.detach(), dtype) * unbiased - old) * share

    def extra_repr(self) -> str:
        return f"{self.channels}, eps={self.eps}, momentum={self.momentum}"


class BatchNorm1d(BatchNorm):
    """`BatchNorm` of features or sequences: two or three axes."""

    _ranks = (2, 3)


class BatchNorm2d(BatchNorm):
    """`BatchNorm` of images: four axes."""

    _ranks = (4,)


class BatchNorm3d(BatchNorm):
    """`BatchNorm` of volumes: five axes."""

    _ranks = (5,)


def _cast(x: Tensor, dtype: DType) -> Tensor:
    return x if x.dtype == dtype else _core.cast(x, dtype)


def _count(x: Tensor) -> Tensor:
    """The number of elements of each channel."""
    others = [size for axis, size in enumerate(x.shape) if axis != 1]
    if all(isinstance(size, int) for size in others):
        number = 1
        for size in others:
            number *= int(size)
        return _core.dim_size(number, "float64")
    symbols = [f"({size})" if any(c in "+-" for c in size) else size for size in map(str, others)]
    return _core.dim_size("*".join(symbols), "float64")
