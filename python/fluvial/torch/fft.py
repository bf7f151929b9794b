"""PyTorch's `torch.fft`: `fluvial.fft` with `dim` in place of `axis` and `axes`."""

from __future__ import annotations

from .. import fft as _fft
from .._core import Tensor
from ..fft import fftfreq, fftshift, ifftshift, rfftfreq

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


def _of_one(name: str) -> Callable[..., Tensor]:
    function = getattr(_fft, name)

    def transform(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        return function(input, n, dim, norm)

    return _named(transform, name)


def _of_many(name: str, default: Any) -> Callable[..., Tensor]:
    function = getattr(_fft, name)

    def transform(
        input: Tensor, s: Sequence[int] | None = None, dim: Any = default, norm: str | None = None
    ) -> Tensor:
        s, dim = ([one] if isinstance(one, int) else one for one in (s, dim))
        return function(input, s, dim, norm)

    return _named(transform, name)


def _named(transform: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = getattr(_fft, name).__doc__
    return transform


fft, ifft = _of_one("fft"), _of_one("ifft")
rfft, irfft = _of_one("rfft"), _of_one("irfft")
hfft, ihfft = _of_one("hfft"), _of_one("ihfft")
fftn, ifftn = _of_many("fftn", None), _of_many("ifftn", None)
rfftn, irfftn = _of_many("rfftn", None), _of_many("irfftn", None)
fft2, ifft2 = _of_many("fft2", (-2, -1)), _of_many("ifft2", (-2, -1))
rfft2, irfft2 = _of_many("rfft2", (-2, -1)), _of_many("irfft2", (-2, -1))
