"""The texts of stages, and the stages of readers that edit images."""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeVar

    R = TypeVar("R", bound="Images")


def text(value: object) -> str:
    """A setting as the description of a reader has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(text, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (int, float)):
        return repr(value)
    return json.dumps(os.fspath(value), ensure_ascii=False)  # type: ignore[call-overload]


def call(name: str, *values: object, **named: object) -> str:
    """A source or a stage, without the settings that are None."""
    settings = [text(value) for value in values]
    settings += [f"{key}={text(value)}" for key, value in named.items() if value is not None]
    return f"{name}({', '.join(settings)})"


class Images:
    """Stages that edit images: fields of single samples, [height, width] or [height, width, channels], of uint8 or floats."""

    if TYPE_CHECKING:

        def _then(self: R, stage: str) -> R: ...

    def resize(self: R, field: str, height: int, width: int | None = None, nearest: bool = False) -> R:
        """An image in another size.

        Args:
            field: Which field.
            height: How many rows; without `width`, how many pixels its shorter side has.
            width: How many columns.
            nearest: Whether to take the nearest pixel instead of a weighted mean.

        Example:
            >>> images = fl.reader({"x": np.zeros((2, 40, 60, 3), np.uint8)})
            >>> images.resize("x", 20).center_crop("x", 16, 16).channels_first("x").batch(2)
            Reader(x: u8[2, 3, 16, 16]; 1 a pass)
        """
        return self._then(call("resize", field, height, width=width, nearest=nearest or None))

    def center_crop(self: R, field: str, height: int, width: int) -> R:
        """The middle of an image."""
        return self._then(call("center_crop", field, height, width))

    def random_crop(self: R, field: str, height: int, width: int, padding: int = 0, seed: int = 0) -> R:
        """A random part of an image.

        Args:
            field: Which field.
            height: How many rows.
            width: How many columns.
            padding: How many pixels of zeros are put around the image before.
            seed: With the pass and the number of the sample, it says which part.
        """
        return self._then(call("random_crop", field, height, width, padding=padding, seed=seed))

    def random_resized_crop(
        self: R,
        field: str,
        height: int,
        width: int,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        seed: int = 0,
    ) -> R:
        """A random part of random size and shape, resized.

        Args:
            field: Which field.
            height: How many rows.
            width: How many columns.
            scale: The share of the area, from and to.
            ratio: Width by height of the part, from and to.
            seed: With the pass and the number of the sample, it says which part.
        """
        stage = call("random_resized_crop", field, height, width, scale=list(scale), ratio=list(ratio), seed=seed)
        return self._then(stage)

    def flip(self: R, field: str, p: float = 0.5, vertical: bool = False, seed: int = 0) -> R:
        """An image mirrored, with a probability.

        Args:
            field: Which field.
            p: The probability.
            vertical: Whether top and bottom change places, instead of left and right.
            seed: With the pass and the number of the sample, it says whether.
        """
        return self._then(call("flip", field, p=float(p), vertical=vertical or None, seed=seed))

    def color_jitter(
        self: R,
        field: str,
        brightness: float = 0.0,
        contrast: float = 0.0,
        saturation: float = 0.0,
        hue: float = 0.0,
        seed: int = 0,
    ) -> R:
        """An image with its colours changed at random. Images of floats lie between 0 and 1, and stay there.

        Args:
            field: Which field.
            brightness: A factor from `1 - brightness` to `1 + brightness`.
            contrast: The same, for the distance from the mean.
            saturation: The same, for the distance from grey.
            hue: How far the hue is turned at most, as a part of the circle up to 0.5.
            seed: With the pass and the number of the sample, it says how much.
        """
        stage = call(
            "color_jitter",
            field,
            brightness=float(brightness),
            contrast=float(contrast),
            saturation=float(saturation),
            hue=float(hue),
            seed=seed,
        )
        return self._then(stage)

    def normalize(self: R, field: str, mean: Sequence[float], std: Sequence[float]) -> R:
        """Each channel of an image less its mean, divided by its deviation; uint8 becomes float32.

        Args:
            field: Which field. Channels are its last axis.
            mean: One number for each channel, or one for all, in the units of the image: of uint8, up to 255.
            std: The same.
        """
        return self._then(call("normalize", field, mean=[float(x) for x in mean], std=[float(x) for x in std]))

    def channels_first(self: R, field: str) -> R:
        """An image as [channels, height, width]."""
        return self._then(call("channels_first", field))
