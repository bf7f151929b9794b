"""What programs import from `paddle` itself: `import fluvial.fluid.paddle as paddle` in place of `import paddle`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..._fault import fault
from . import reader

__all__ = ["batch", "reader"]


def batch(reader: Callable[[], Any], batch_size: int, drop_last: bool = False) -> Callable[[], Iterator[list[Any]]]:
    """A reader of lists of samples.

    Args:
        reader: Gives an iterator over samples.
        batch_size: How many make a list.
        drop_last: Whether the last list is left out if it is shorter.
    """
    if int(batch_size) <= 0:
        raise fault(ValueError, f"batches of {batch_size} samples", "give a positive number")

    def batches() -> Iterator[list[Any]]:
        samples: list[Any] = []
        for sample in reader():
            samples.append(sample)
            if len(samples) == batch_size:
                yield samples
                samples = []
        if samples and not drop_last:
            yield samples

    return batches


def __getattr__(name: str) -> Any:
    import importlib

    if name == "fluid":
        return importlib.import_module("..", __name__)
    if name in ("compat", "dataset"):
        return importlib.import_module(f".{name}", __name__)
    from .._missing import no_attribute

    raise no_attribute(__name__, name)
