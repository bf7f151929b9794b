"""Fourier transforms: the extension `fft` of the array API standard, 2024.12, over one op with a gradient, in both modes.

Example:
    >>> x = fl.tensor([1.0, 0.0, 0.0, 0.0])
    >>> fl.fft.fft(x).real.tolist()
    [1.0, 1.0, 1.0, 1.0]
    >>> fl.fft.irfft(fl.fft.rfft(x)).tolist()
    [1.0, 0.0, 0.0, 0.0]
"""

from __future__ import annotations

import builtins
import math

from . import _core
from ._array_api.dtypes import on_cpu
from ._array_api.shapes import roll
from ._core import Tensor
from ._fault import fault, renamed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from typing_extensions import Unpack

    from ._core import DTypeLike, OtherNames, TensorLike

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

#: By norm: the one that gives the transform the other way the same factor.
_SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def fft(
    x: TensorLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = "backward",
    **wrong: Unpack[OtherNames],
) -> Tensor:
    """The discrete Fourier transform.

    Args:
        x: A tensor. Real numbers become complex ones.
        n: The length, to which the axis is cut or filled up with zeros; that of the axis by default.
        axis: The axis. Also `dim`.
        norm: Which way is divided by `n`: "backward", "forward", or "ortho" for its square root both ways.

    Example:
        >>> fl.fft.fft(fl.tensor([1.0, 2.0])).tolist()
        [(3+0j), (-1+0j)]
    """
    if wrong:
        return renamed(fft, locals())
    return _transformed(_sized(_complex(x), n, axis), axis, False, norm)


def ifft(
    x: TensorLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = "backward",
    **wrong: Unpack[OtherNames],
) -> Tensor:
    """The inverse of `fft`.

    Args:
        x: A tensor.
        n: The length, to which the axis is cut or filled up with zeros; that of the axis by default.
        axis: The axis. Also `dim`.
        norm: Which way is divided by `n`: "backward", "forward", or "ortho" for its square root both ways.
    """
    if wrong:
        return renamed(ifft, locals())
    return _transformed(_sized(_complex(x), n, axis), axis, True, norm)


def rfft(
    x: TensorLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = "backward",
    **wrong: Unpack[OtherNames],
) -> Tensor:
    """The Fourier transform of real numbers: its first half, of `n // 2 + 1` numbers, of which the rest is the mirror.

    Args:
        x: A tensor of real numbers.
        n: The length, to which the axis is cut or filled up with zeros; that of the axis by default.
        axis: The axis. Also `dim`.
        norm: Which way is divided by `n`: "backward", "forward", or "ortho" for its square root both ways.

    Example:
        >>> fl.fft.rfft(fl.tensor([1.0, 2.0, 3.0])).shape
        (2,)
    """
    if wrong:
        return renamed(rfft, locals())
    x = _tensor(x)
    if x.dtype.is_complex:
        raise fault(TypeError, f"`rfft` transforms real numbers, not {x.dtype}", "use `fft`")
    whole = _transformed(_sized(_complex(x), n, axis), axis, False, norm)
    return _core.narrow(whole, axis, 0, whole.shape[axis] // 2 + 1)


def irfft(
    x: TensorLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = "backward",
    **wrong: Unpack[OtherNames],
) -> Tensor:
    """The inverse of `rfft`: real numbers from the first half of their transform.

    Args:
        x: A tensor.
        n: The number of the real numbers; twice that of the axis without its first and last, if not given.
        axis: The axis. Also `dim`.
        norm: Which way is divided by `n`: "backward", "forward", or "ortho" for its square root both ways.

    Example:
        >>> fl.fft.irfft(fl.fft.rfft(fl.tensor([1.0, 2.0, 3.0])), n=3).shape
        (3,)
    """
    if wrong:
        return renamed(irfft, locals())
    x = _complex(x)
    size: Any = 2 * (x.shape[axis] - 1) if n is None else _length(n)
    if isinstance(size, int) and size < 1:
        raise fault(ValueError, f"{size} numbers cannot be transformed", "give `n`, the number of the real numbers")
    half = _sized(x, size // 2 + 1, axis)
    mirrored = _core.flip(_core.narrow(half, axis, 1, (size - 1) // 2), [axis])
    whole = _core.concat([half, _core.conj(mirrored)], axis)
    return _core.real(_transformed(whole, axis, True, norm))


def hfft(
    x: TensorLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = "backward",
    **wrong: Unpack[OtherNames],
) -> Tensor:
    """The real Fourier transform of numbers whose second half is the mirror of the first, which is given.

    Args:
        x: A tensor.
        n: The number of results; twice that of the axis without its first and last, if not given.
        axis: The axis. Also `dim`.
        norm: Which way is divided by `n`: "backward", "forward", or "ortho" for its square root both ways.
    """
    if wrong:
        return renamed(hfft, locals())
    return irfft(_core.conj(x), n, axis, _SWAPPED[_norm(norm)])


def ihfft(
    x: TensorLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = "backward",
    **wrong: Unpack[OtherNames],
) -> Tensor:
    """The inverse of `hfft`.

    Args:
        x: A tensor of real numbers.
        n: The length, to which the axis is cut or filled up with zeros; that of the axis by default.
        axis: The axis. Also `dim`.
        norm: Which way is divided by `n`: "backward", "forward", or "ortho" for its square root both ways.
    """
    if wrong:
        return renamed(ihfft, locals())
    return _core.conj(rfft(x, n, axis, _SWAPPED[_norm(norm)]))


def fftn(
    x: TensorLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = "backward",
) -> Tensor:
    """The Fourier transform along several axes.

    Args:
        x: A tensor.
        s: The lengths, one for each axis; -1 stands for that of the axis.
        axes: The axes: all by default, or as many of the last ones as `s` has lengths.
        norm: Which way is divided by the product of the lengths: "backward", "forward", or "ortho".
    """
    return _each(fft, _complex(x), s, axes, norm)


def ifftn(
    x: TensorLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = "backward",
) -> Tensor:
    """The inverse of `fftn`.

    Args:
        x: A tensor.
        s: The lengths, one for each axis; -1 stands for that of the axis.
        axes: The axes: all by default, or as many of the last ones as `s` has lengths.
        norm: Which way is divided by the product of the lengths: "backward", "forward", or "ortho".
    """
    return _each(ifft, _complex(x), s, axes, norm)


def rfftn(
    x: TensorLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = "backward",
) -> Tensor:
    """The Fourier transform of real numbers along several axes; the last of them has the first half only.

    Args:
        x: A tensor of real numbers.
        s: The lengths, one for each axis; -1 stands for that of the axis.
        axes: The axes: all by default, or as many of the last ones as `s` has lengths.
        norm: Which way is divided by the product of the lengths: "backward", "forward", or "ortho".
    """
    x = _tensor(x)
    lengths, named = _axes(x, s, axes)
    half = rfft(x, lengths[-1], named[-1], norm)
    return _along(fft, half, lengths[:-1], named[:-1], norm)


def irfftn(
    x: TensorLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = "backward",
) -> Tensor:
    """The inverse of `rfftn`.

    Args:
        x: A tensor.
        s: The lengths of the result, one for each axis; -1 stands for what follows from the axis.
        axes: The axes: all by default, or as many of the last ones as `s` has lengths.
        norm: Which way is divided by the product of the lengths: "backward", "forward", or "ortho".
    """
    x = _complex(x)
    lengths, named = _axes(x, s, axes)
    return irfft(_along(ifft, x, lengths[:-1], named[:-1], norm), lengths[-1], named[-1], norm)


def fft2(
    x: TensorLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = "backward"
) -> Tensor:
    """`fftn` along the last two axes.

    Args:
        x: A tensor.
        s: Two lengths.
        axes: Two axes.
        norm: Which way is divided by the product of the lengths: "backward", "forward", or "ortho".
    """
    return fftn(x, s, axes, norm)


def ifft2(
    x: TensorLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = "backward"
) -> Tensor:
    """`ifftn` along the last two axes.

    Args:
        x: A tensor.
        s: Two lengths.
        axes: Two axes.
        norm: Which way is divided by the product of the lengths: "backward", "forward", or "ortho".
    """
    return ifftn(x, s, axes, norm)


def rfft2(
    x: TensorLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = "backward"
) -> Tensor:
    """`rfftn` along the last two axes.

    Args:
        x: A tensor of real numbers.
        s: Two lengths.
        axes: Two axes.
        norm: Which way is divided by the product of the lengths: "backward", "forward", or "ortho".
    """
    return rfftn(x, s, axes, norm)


def irfft2(
    x: TensorLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = "backward"
) -> Tensor:
    """`irfftn` along the last two axes.

    Args:
        x: A tensor.
        s: Two lengths of the result.
        axes: Two axes.
        norm: Which way is divided by the product of the lengths: "backward", "forward", or "ortho".
    """
    return irfftn(x, s, axes, norm)


def fftfreq(
    n: int, d: float = 1.0, *, dtype: DTypeLike | None = None, device: str | None = None
) -> Tensor:
    """The frequencies of the results of `fft`.

    Args:
        n: The number of samples.
        d: The time from one sample to the next.
        dtype: The element type; float32 by default.
        device: None or "cpu".

    Example:
        >>> fl.fft.fftfreq(4).tolist()
        [0.0, 0.25, -0.5, -0.25]
    """
    on_cpu(device)
    _length(n)
    counts = [*range((n + 1) // 2), *range(-(n // 2), 0)]
    return _core.tensor([count / (n * d) for count in counts], dtype or "float32")


def rfftfreq(
    n: int, d: float = 1.0, *, dtype: DTypeLike | None = None, device: str | None = None
) -> Tensor:
    """The frequencies of the results of `rfft`.

    Args:
        n: The number of samples.
        d: The time from one sample to the next.
        dtype: The element type; float32 by default.
        device: None or "cpu".

    Example:
        >>> fl.fft.rfftfreq(4).tolist()
        [0.0, 0.25, 0.5]
    """
    on_cpu(device)
    _length(n)
    return _core.tensor([count / (n * d) for count in range(n // 2 + 1)], dtype or "float32")


def fftshift(x: TensorLike, axes: int | Sequence[int] | None = None, **wrong: Unpack[OtherNames]) -> Tensor:
    """The results of `fft` in the order of their frequencies: zero in the middle.

    Args:
        x: A tensor.
        axes: The axes: all by default. Also `dim`.

    Example:
        >>> fl.fft.fftshift(fl.fft.fftfreq(4)).tolist()
        [-0.5, -0.25, 0.0, 0.25]
    """
    axes = wrong.pop("dim", axes) if wrong else axes
    return _shifted(x, axes, lambda size: size // 2)


def ifftshift(x: TensorLike, axes: int | Sequence[int] | None = None, **wrong: Unpack[OtherNames]) -> Tensor:
    """The inverse of `fftshift`.

    Args:
        x: A tensor.
        axes: The axes: all by default. Also `dim`.
    """
    axes = wrong.pop("dim", axes) if wrong else axes
    return _shifted(x, axes, lambda size: -(size // 2))


def _shifted(x: Any, axes: Any, shift: Any) -> Tensor:
    x = _tensor(x)
    named = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    for axis in named:
        x = roll(x, shift(x.shape[axis]), axis=axis)
    return x


def _tensor(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else _core.tensor(x)


def _complex(x: Any) -> Tensor:
    """The numbers as complex ones."""
    x = _tensor(x)
    if x.dtype.is_complex:
        return x
    return _core.cast(x, "complex128" if x.dtype == "float64" else "complex64")


def _length(n: Any) -> Any:
    if isinstance(n, int) and n < 1:
        raise fault(ValueError, f"{n} numbers cannot be transformed", "give a positive length")
    return n


def _sized(x: Tensor, n: Any, axis: int) -> Tensor:
    """The axis cut or filled up with zeros."""
    if not -x.ndim <= axis < x.ndim:
        raise fault(IndexError, f"{x.type_text} has no axis {axis}", f"axes are -{x.ndim}..{x.ndim}")
    size = x.shape[axis]
    if n is None:
        _length(size)
        return x
    _length(n)
    if isinstance(n, int) and isinstance(size, int):
        if n <= size:
            return x if n == size else _core.narrow(x, axis, 0, n)
        before = [0] * (x.ndim - axis % x.ndim)
        return _core.pad(x, before, [n - size, *before[1:]])
    if n == size:
        return x
    raise fault(
        ValueError,
        f"whether an axis of size {size} is cut or filled up to {n} is known only when the program runs",
        "give `n` outside of the program, or cut or pad the axis",
    )


def _norm(norm: str | None) -> str:
    norm = "backward" if norm is None else norm
    if norm not in _SWAPPED:
        raise fault(ValueError, f"there is no norm {norm!r}", 'use "backward", "ortho" or "forward"')
    return norm


def _transformed(x: Tensor, axis: int, inverse: builtins.bool, norm: str | None) -> Tensor:
    n, norm = x.shape[axis], _norm(norm)
    plain = norm == ("forward" if inverse else "backward")
    if plain or isinstance(n, int):
        scale = 1.0 if plain else 1.0 / (math.sqrt(n) if norm == "ortho" else n)
        return _core.fourier_transform(x, axis, scale, inverse)
    # Only the run knows the factor.
    by = _core.cast(_core.tensor(n), "float64" if x.dtype == "complex128" else "float32")
    return _core.fourier_transform(x, axis, 1.0, inverse) / (_core.sqrt(by) if norm == "ortho" else by)


def _axes(x: Tensor, s: Any, axes: Any) -> tuple[list[Any], list[int]]:
    """A length, or None, for each axis, and the axes."""
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    named = [int(axis) for axis in axes]
    lengths = [None] * len(named) if s is None else [None if n in (None, -1) else n for n in s]
    if len(lengths) != len(named):
        raise fault(ValueError, f"{len(lengths)} lengths for {len(named)} axes", "give one length for each axis")
    if not named:
        raise fault(ValueError, "no axis is transformed", "name at least one")
    if len({axis % x.ndim for axis in named}) != len(named):
        raise fault(ValueError, f"an axis is named twice in {named}", "name each once")
    return lengths, named


def _each(transform: Any, x: Tensor, s: Any, axes: Any, norm: str | None) -> Tensor:
    lengths, named = _axes(x, s, axes)
    return _along(transform, x, lengths, named, norm)


def _along(transform: Any, x: Tensor, lengths: list[Any], axes: list[int], norm: str | None) -> Tensor:
    for n, axis in zip(lengths, axes):
        x = transform(x, n, axis, norm)
    return x
