"""A file of events."""

from __future__ import annotations

import os

from .. import _core
from .._fault import fault
from . import _values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Writer:
    """Writes what a run did, for `fl.view` and TensorBoard: one file of events in a folder.

    Each call appends its record to the file at once, as a whole: a page that is open shows
    it, and a process that ends early loses nothing. Each writer has a file of its own; several in
    one folder are one run. Threads may share a writer.

    Args:
        logdir: The folder of the run, such as "runs/first"; it is made if it is not there.

    Example:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with fl.summary.Writer(folder) as writer:
        ...     for step in range(3):
        ...         writer.scalar("loss", 1 / (1 + step), step)
        ...     writer.histogram("weights", fl.tensor([0.1, 0.2, 0.4]), step=2)
        ...     writer.text("note", "a first *run*")
        >>> import os
        >>> len(os.listdir(folder))
        1
    """

    def __init__(self, logdir: str | os.PathLike[str]) -> None:
        self._file = _core.EventWriter(logdir)
        #: The file.
        self.path = os.fspath(self._file.path)

    def scalar(self, tag: str, value: Any, step: int = 0) -> None:
        """Adds a point to a curve.

        Args:
            tag: The curve; a part before a "/" groups curves.
            value: A number, or a tensor or an array of one element.
            step: Where on the curve.
        """
        self.scalars({tag: value}, step)

    def scalars(self, values: Mapping[str, Any], step: int = 0) -> None:
        """Adds a point to each of several curves.

        Args:
            values: Numbers by tag.
            step: Where on the curves.

        Example:
            >>> import tempfile
            >>> with fl.summary.Writer(tempfile.mkdtemp()) as writer:
            ...     writer.scalars({"train/loss": 0.5, "train/accuracy": 0.9}, step=10)
        """
        numbers = [(_tag(tag), _values.number(x, f"`{tag}`")) for tag, x in values.items()]
        self._open().scalars(numbers, _step(step))

    def histogram(self, tag: str, values: Any, step: int = 0, bins: int = 64) -> None:
        """Adds how values are spread. What is infinite or no number is left out.

        Args:
            tag: The histogram.
            values: A tensor or an array of any shape.
            step: The step.
            bins: How many buckets of equal width there are.
        """
        if bins < 1:
            raise fault(ValueError, f"a histogram of {bins} buckets", "take at least one")
        moments, limits, counts = _values.buckets(values, bins)
        self._open().histogram(_tag(tag), moments, limits, counts, _step(step))

    def image(self, tag: str, image: Any, step: int = 0, layout: str = "chw") -> None:
        """Adds an image.

        Args:
            tag: Its name.
            image: Real numbers from 0 to 1, or whole ones from 0 to 255; what is beyond is cut off.
                One channel is grey, three are colours, a fourth is opacity. Two axes are one channel.
            step: The step.
            layout: The order of channels, height and width: "chw", or "hwc".
        """
        pixels = _values.picture(image, layout)
        self._open().image(_tag(tag), pixels.shape, _values.png(pixels), _step(step))

    def text(self, tag: str, text: str, step: int = 0) -> None:
        """Adds a text, which may be Markdown.

        Args:
            tag: Its name.
            text: The text.
            step: The step.
        """
        self._open().text(_tag(tag), str(text), _step(step))

    def config(self, values: Mapping[str, Any]) -> None:
        """Says with which settings the run was begun, and on which machine; `fl.view` compares them.

        Args:
            values: Numbers, strings, truth values, and lists and dicts of them, by name.

        Example:
            >>> import tempfile
            >>> with fl.summary.Writer(tempfile.mkdtemp()) as writer:
            ...     writer.config({"rate": 0.1, "data": {"name": "digits", "batch": 64}})
        """
        import json

        try:
            text = json.dumps(dict(values), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise fault(
                TypeError,
                f"the settings cannot be written: {error}",
                "give numbers, strings, bools, and lists and dicts of them",
            ) from None
        self._open().config(text)

    def event(self, kind: str, text: str, step: int = 0) -> None:
        """Says that something has happened; `fl.view` marks it on the curves.

        Args:
            kind: A word, such as "checkpoint".
            text: What has happened.
            step: When.
        """
        self._open().text(f"events/{_tag(kind)}", str(text), _step(step))

    def machine(self, step: int = 0) -> None:
        """Adds points to the curves `machine/…`: gigabytes of the process and of its tensors, and how many cores the
        process and all processes keep busy. Call it in each step: less than a second after the last points it adds none.

        Args:
            step: Where on the curves.

        Example:
            >>> import tempfile
            >>> with fl.summary.Writer(tempfile.mkdtemp()) as writer:
            ...     writer.machine(step=0)
        """
        self._open().usage(_step(step))

    def flush(self) -> None:
        """Waits until everything is on the disk. Other processes see it before that."""
        if not self._file.is_closed:
            self._file.sync()

    def close(self) -> None:
        """Ends the file. A second time does nothing."""
        self._file.close()

    def _open(self) -> _core.EventWriter:
        if self._file.is_closed:
            raise fault(ValueError, "this writer is closed", "make another one")
        return self._file

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Writer({self.path!r})"


def _tag(tag: Any) -> str:
    if not isinstance(tag, str) or not tag:
        raise fault(TypeError, f"{tag!r} is not a tag", "give a string, such as `train/loss`")
    return tag


def _step(step: Any) -> int:
    try:
        # Also an element of a tensor or an array.
        number = step.__index__()
    except (AttributeError, TypeError):
        number = None
    if number is None or not -(2**63) <= number < 2**63:
        raise fault(TypeError, f"{step!r} is not a step", "give a whole number")
    return number
