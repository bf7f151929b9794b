"""Windows, and Fourier transforms of windows of a signal, with PyTorch's arguments."""

from __future__ import annotations

import builtins
import math

from . import _core, fft
from ._array_api.dtypes import on_cpu
from ._core import Tensor
from ._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._core import DTypeLike, TensorLike


def _window(n: int, periodic: builtins.bool, dtype: Any, device: Any, requires_grad: builtins.bool, f: Any) -> Tensor:
    """The values of a function of the place between 0 and 1."""
    on_cpu(device)
    if n < 0:
        raise fault(ValueError, f"a window of {n} numbers", "give a length that is not negative")
    last = n if periodic else n - 1
    values = [1.0] if n == 1 else [f(i / last) for i in range(n)]
    window = _core.reshape(_core.tensor(values or [0.0], dtype or "float32")[:n], (n,))
    return window.track() if requires_grad else window


def hann_window(
    window_length: int,
    periodic: builtins.bool = True,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """A cosine from 0 to 1 and back.

    Args:
        window_length: The number of elements.
        periodic: Whether the next element would be the first one again, as transforms need it; else the last one is.
        dtype: The element type; float32 by default.
        device: None or "cpu".
        requires_grad: Whether the window is a leaf.

    Example:
        >>> fl.hann_window(4).tolist()
        [0.0, 0.5, 1.0, 0.5]
    """
    return hamming_window(
        window_length, periodic, 0.5, 0.5, dtype=dtype, device=device, requires_grad=requires_grad
    )


def hamming_window(
    window_length: int,
    periodic: builtins.bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """`alpha - beta * cos(2 pi i / n)`.

    Args:
        window_length: The number of elements.
        periodic: Whether the next element would be the first one again, as transforms need it; else the last one is.
        alpha: The mean.
        beta: The height of the cosine.
        dtype: The element type; float32 by default.
        device: None or "cpu".
        requires_grad: Whether the window is a leaf.
    """
    height = lambda t: alpha - beta * math.cos(2 * math.pi * t)  # noqa: E731
    return _window(window_length, periodic, dtype, device, requires_grad, height)


def blackman_window(
    window_length: int,
    periodic: builtins.bool = True,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """`0.42 - 0.5 * cos(2 pi i / n) + 0.08 * cos(4 pi i / n)`.

    Args:
        window_length: The number of elements.
        periodic: Whether the next element would be the first one again, as transforms need it; else the last one is.
        dtype: The element type; float32 by default.
        device: None or "cpu".
        requires_grad: Whether the window is a leaf.
    """
    height = lambda t: 0.42 - 0.5 * math.cos(2 * math.pi * t) + 0.08 * math.cos(4 * math.pi * t)  # noqa: E731
    return _window(window_length, periodic, dtype, device, requires_grad, height)


def bartlett_window(
    window_length: int,
    periodic: builtins.bool = True,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """A line from 0 to 1 and one back.

    Args:
        window_length: The number of elements.
        periodic: Whether the next element would be the first one again, as transforms need it; else the last one is.
        dtype: The element type; float32 by default.
        device: None or "cpu".
        requires_grad: Whether the window is a leaf.

    Example:
        >>> fl.bartlett_window(4).tolist()
        [0.0, 0.5, 1.0, 0.5]
    """
    height = lambda t: 1.0 - abs(2.0 * t - 1.0)  # noqa: E731
    return _window(window_length, periodic, dtype, device, requires_grad, height)


def kaiser_window(
    window_length: int,
    periodic: builtins.bool = True,
    beta: float = 12.0,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """The window of Kaiser: of all of its length nearly the one whose transform has most of its energy in the middle.

    Args:
        window_length: The number of elements.
        periodic: Whether the next element would be the first one again, as transforms need it; else the last one is.
        beta: How narrow it is.
        dtype: The element type; float32 by default.
        device: None or "cpu".
        requires_grad: Whether the window is a leaf.
    """
    top = _bessel(beta)
    height = lambda t: _bessel(beta * math.sqrt(max(0.0, 1.0 - (2.0 * t - 1.0) ** 2))) / top  # noqa: E731
    return _window(window_length, periodic, dtype, device, requires_grad, height)


def _bessel(x: float) -> float:
    """The modified function of Bessel of order zero, by its series."""
    total = term = 1.0
    k = 0
    while term > total * 1e-17:
        k += 1
        term *= (x / (2 * k)) ** 2
        total += term
    return total


def stft(
    input: TensorLike,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: TensorLike | None = None,
    center: builtins.bool = True,
    pad_mode: str = "reflect",
    normalized: builtins.bool = False,
    onesided: builtins.bool | None = None,
    return_complex: builtins.bool | None = None,
) -> Tensor:
    """The Fourier transforms of overlapping windows of a signal: `[frequencies, windows]` for each.

    Args:
        input: A signal, or several, `[batch, time]`.
        n_fft: The length of a transform.
        hop_length: The distance from one window to the next; a quarter of `n_fft` by default.
        win_length: The length of the window, which stands in the middle of a transform; `n_fft` by default.
        window: The window; ones by default.
        center: Whether the signal is padded on both sides, so that windows are centred at multiples of the distance.
        pad_mode: How: "reflect", "constant", "replicate" or "circular".
        normalized: Whether results are divided by the root of `n_fft`.
        onesided: Whether only the first half of the frequencies is there: by default for real numbers.
        return_complex: Whether the result is complex, as it is by default; else the parts lie along a last axis.

    Example:
        >>> fl.stft(fl.ones(16), 8, window=fl.hann_window(8)).shape
        (5, 9)
    """
    x = fft._tensor(input)
    hop, shape = _setting(n_fft, hop_length, win_length, window)
    if x.ndim not in (1, 2):
        raise fault(ValueError, f"a signal has one axis, or two with a batch, not {x.ndim}", "reshape it")
    is_complex = x.dtype.is_complex or (shape is not None and shape.dtype.is_complex)
    onesided = (not is_complex) if onesided is None else onesided
    if onesided and is_complex:
        raise fault(ValueError, "complex signals have both halves of the frequencies", "give onesided=False")
    if center:
        half = n_fft // 2
        x = _core.pad(x, [half], [half], mode=pad_mode)
    if x.shape[-1] < n_fft:
        raise fault(ValueError, f"a transform of {n_fft} numbers does not fit a signal of {x.shape[-1]}", "take a shorter one")
    frames = _core.unfold_axis(x, -1, n_fft, hop)
    frames = frames if shape is None else frames * shape
    norm = "ortho" if normalized else "backward"
    found = fft.rfft(frames, norm=norm) if onesided else fft.fft(frames, norm=norm)
    found = _core.transpose(found, -2, -1)
    return _core.view_as_real(found) if return_complex is False else found


def istft(
    input: TensorLike,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: TensorLike | None = None,
    center: builtins.bool = True,
    normalized: builtins.bool = False,
    onesided: builtins.bool | None = None,
    length: int | None = None,
    return_complex: builtins.bool = False,
) -> Tensor:
    """The signal of which `stft` gave this: the one that fits best.

    Args:
        input: Complex numbers, `[frequencies, windows]`, or several, with a batch in front.
        n_fft: The length of a transform.
        hop_length: The distance from one window to the next; a quarter of `n_fft` by default.
        win_length: The length of the window; `n_fft` by default.
        window: The window; ones by default.
        center: Whether the signal was padded on both sides.
        normalized: Whether results were divided by the root of `n_fft`.
        onesided: Whether only the first half of the frequencies is there; follows from their number by default.
        length: The length of the signal, to which it is cut or filled up with zeros.
        return_complex: Whether the signal is complex.

    Example:
        >>> x = fl.arange(16.0)
        >>> w = fl.hann_window(8)
        >>> y = fl.istft(fl.stft(x, 8, window=w), 8, window=w)
        >>> fl.allclose(x, y, atol=1e-4)
        True
    """
    x = fft._tensor(input)
    hop, shape = _setting(n_fft, hop_length, win_length, window)
    if not x.dtype.is_complex or x.ndim not in (2, 3):
        raise fault(
            ValueError,
            f"expected complex numbers, frequencies by windows, found {x.type_text}",
            "give what `stft` returns, or `view_as_complex` of its parts",
        )
    onesided = x.shape[-2] != n_fft if onesided is None else onesided
    expected = n_fft // 2 + 1 if onesided else n_fft
    if x.shape[-2] != expected:
        raise fault(ValueError, f"{x.shape[-2]} frequencies where {expected} were expected", "give the `n_fft` of the transform")
    if onesided and return_complex:
        raise fault(ValueError, "half of the frequencies make a real signal", "give onesided=False or return_complex=False")
    norm = "ortho" if normalized else "backward"
    frames = _core.transpose(x, -2, -1)
    # Of a real signal the first half of the frequencies says all.
    frames = fft.ifft(frames, norm=norm) if return_complex else fft.irfft(frames[..., : n_fft // 2 + 1], n_fft, norm=norm)
    dtype = frames.dtype
    if shape is None:
        shape = _core.ones((n_fft,), "float64" if dtype in ("float64", "complex128") else "float32")
    n_frames: Any = frames.shape[-2]
    whole = n_fft + hop * (n_frames - 1)
    signal = _core.fold_axis(frames * shape, frames.ndim - 2, whole, hop)
    squares = _core.broadcast_to(_core.square(shape), (n_frames, n_fft))
    envelope = _core.fold_axis(squares, 0, whole, hop)
    start = n_fft // 2 if center else 0
    stop = start + length if length is not None else whole - start if center else whole
    inside = envelope[start : min(stop, whole)]
    if not _core.is_building() and float(_core.min(_core.abs(inside)).item()) < 1e-11:
        raise fault(
            RuntimeError,
            "the windows leave places of the signal out: their squares add up to zero there",
            "take a shorter `hop_length`, another window, or `center=True`",
        )
    signal = signal[..., start : min(stop, whole)] / inside
    missing = stop - whole
    return _core.pad(signal, [0], [missing]) if missing > 0 else signal


def _setting(n_fft: int, hop_length: Any, win_length: Any, window: Any) -> tuple[int, Any]:
    """The distance of windows, and the window in the middle of a transform."""
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if n_fft < 1 or hop < 1 or not 0 < length <= n_fft:
        raise fault(
            ValueError,
            f"n_fft={n_fft}, hop_length={hop} and win_length={length} do not fit",
            "all are positive, and win_length is at most n_fft",
        )
    if window is None:
        if length == n_fft:
            return hop, None
        window = _core.ones((length,), "float32")
    window = fft._tensor(window)
    if window.shape != (length,):
        raise fault(ValueError, f"a window of shape {window.shape} for a length of {length}", "give `win_length`")
    left = (n_fft - length) // 2
    return hop, window if length == n_fft else _core.pad(window, [left], [n_fft - length - left])
