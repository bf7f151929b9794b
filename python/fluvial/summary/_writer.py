"""A file of events."""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time

from .._fault import fault
from . import _events, _values
from ._records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

#: Makes names of files unique within a process.
_numbers = itertools.count()


class Writer:
    """Writes what a run did, for TensorBoard: one file of events in a folder.

    Each call appends its record to the file at once, as a whole: a TensorBoard that is running sees
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
        os.makedirs(logdir, exist_ok=True)
        parts = (int(time.time()), socket.gethostname(), os.getpid(), next(_numbers))
        name = "events.out.tfevents.{:010d}.{}.{}.{}".format(*parts)
        #: The file.
        self.path = os.path.join(os.fspath(logdir), name)
        # What another process of the same name wrote is never overwritten.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._file: int | None = os.open(self.path, flags, 0o666)
        self._lock = threading.Lock()
        self._write(0, _events.version())

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
        numbers = ((_tag(tag), _values.number(x, f"`{tag}`")) for tag, x in values.items())
        self._write(step, _events.summary(_events.scalar(tag, number) for tag, number in numbers))

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
        self._write(step, _events.summary([_events.histogram(_tag(tag), moments, limits, counts)]))

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
        height, width, channels = pixels.shape
        value = _events.image(_tag(tag), height, width, channels, _values.png(pixels))
        self._write(step, _events.summary([value]))

    def text(self, tag: str, text: str, step: int = 0) -> None:
        """Adds a text, which may be Markdown.

        Args:
            tag: Its name.
            text: The text.
            step: The step.
        """
        self._write(step, _events.summary([_events.text(_tag(tag), str(text))]))

    def flush(self) -> None:
        """Waits until everything is on the disk. Other processes see it before that."""
        with self._lock:
            if self._file is not None:
                os.fsync(self._file)

    def close(self) -> None:
        """Ends the file. A second time does nothing."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def _write(self, step: Any, what: bytes) -> None:
        try:
            # Also an element of a tensor or an array.
            number = step.__index__()
        except (AttributeError, TypeError):
            number = None
        if number is None or not -(2**63) <= number < 2**63:
            raise fault(TypeError, f"{step!r} is no step", "give a whole number")
        data = memoryview(record(_events.event(time.time(), number, what)))
        with self._lock:
            if self._file is None:
                raise fault(ValueError, "this writer is closed", "make another one")
            # One call, as a rule, so that no reader and no other process sees a part of a record.
            while data:
                data = data[os.write(self._file, data) :]

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        file, self._file = getattr(self, "_file", None), None
        if file is not None:
            os.close(file)

    def __repr__(self) -> str:
        return f"Writer({self.path!r})"


def _tag(tag: Any) -> str:
    if not isinstance(tag, str) or not tag:
        raise fault(TypeError, f"{tag!r} is no tag", "give a text, such as `train/loss`")
    return tag
