"""What users give, as numbers, buckets and images."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from .. import _core
from .._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Buckets = tuple[tuple[float, float, float, float, float], list[float], list[float]]


def array(value: Any, what: str) -> np.ndarray:
    """The elements of a tensor, an array or nested lists."""
    if isinstance(value, _core.Tensor):
        if value.is_symbolic:
            raise fault(
                TypeError,
                f"{what} is {value.type_text}, a value of a program, which has no elements yet",
                "return it from the function or fetch it, and write what comes out",
            )
        with _core.imperative(), _core.no_grad():
            value = value.detach()
            # NumPy has no bfloat16.
            return (_core.cast(value, "float32") if value.dtype.name == "bfloat16" else value).numpy()
    found = np.asarray(value)
    if found.dtype.kind not in "biuf":
        raise fault(
            TypeError,
            f"{what} is of class `{type(value).__name__}`",
            "give a tensor, an array or a number",
        )
    return found


def number(value: Any, what: str) -> float:
    """One number; it may be infinite or no number."""
    if type(value) in (float, int, bool):
        return _as_single(value)
    found = array(value, what)
    if found.size != 1:
        raise fault(
            ValueError,
            f"{what} has the shape {found.shape}",
            "give one number, such as the mean; `histogram` takes many",
        )
    return _as_single(found.item())


def _as_single(value: float) -> float:
    """The number in 32 bits, which is what the files hold; too large ones become infinite."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def buckets(value: Any, bins: int) -> Buckets:
    """Least, largest, count, sum, sum of squares; the buckets' upper ends; their counts."""
    values = array(value, "the value of the histogram").reshape(-1).astype(np.float64)
    values = values[np.isfinite(values)]
    if not values.size:
        return (0.0, 0.0, 0.0, 0.0, 0.0), [0.0], [0.0]
    least, largest = float(values.min()), float(values.max())
    # Parts of both ends, since the width of all doubles is none.
    part = np.arange(bins + 1) / bins
    edges = np.maximum.accumulate(least * (1 - part) + largest * part)
    places = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, bins - 1)
    counts = np.bincount(places, minlength=bins)
    with np.errstate(over="ignore"):
        moments = (least, largest, float(values.size), float(values.sum()), float(values @ values))
    if least == largest:
        edges, counts = np.array([least, least]), counts[-1:] + counts[:-1].sum()
    return moments, edges[1:].tolist(), counts.astype(np.float64).tolist()


def picture(value: Any, layout: str) -> np.ndarray:
    """An image as bytes, `[height, width, channels]`."""
    pixels = array(value, "the image")
    layout = layout.lower()
    if sorted(layout) not in (["c", "h", "w"], ["h", "w"]):
        raise fault(ValueError, f'there is no layout "{layout}"', 'use "chw", "hwc" or "hw"')
    if pixels.ndim == 2:
        pixels, layout = pixels[None], "chw"
    if pixels.ndim != len(layout) or pixels.ndim != 3:
        raise fault(
            ValueError,
            f'an image of the layout "{layout}" has the shape {pixels.shape}',
            "give one image, not a batch of them",
        )
    pixels = pixels.transpose([layout.index(axis) for axis in "hwc"])
    if pixels.shape[2] not in (1, 3, 4) or 0 in pixels.shape:
        raise fault(
            ValueError,
            f"an image of {pixels.shape[2]} channels, {pixels.shape[0]} by {pixels.shape[1]}",
            'give 1, 3 or 4 channels; say layout="hwc" if they come last',
        )
    if pixels.dtype.kind == "f":
        whole = np.nan_to_num(np.clip(pixels, 0, 1), nan=0.0)
        pixels = np.rint(whole.astype(np.float64) * 255)
    elif pixels.dtype.kind == "b":
        pixels = pixels * 255
    return np.ascontiguousarray(np.clip(pixels, 0, 255).astype(np.uint8))


def png(pixels: np.ndarray) -> bytes:
    """The image as a file."""
    height, width, channels = pixels.shape
    kind = {1: 0, 3: 2, 4: 6}[channels]
    # Each row begins with the number of its filter: none.
    rows = np.zeros((height, 1 + width * channels), np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
