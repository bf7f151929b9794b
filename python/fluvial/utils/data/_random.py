"""Random orders and numbers of passes: functions of a seed, so that a loader can start anywhere."""

from __future__ import annotations

import contextlib
import hashlib
import random

from ... import _core
from ..._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def seed_of(generator: Any) -> int:
    """The seed that a user gave, or else that of `fl.seed`."""
    if generator is None:
        state = _core.State.current()
        return int(state["rng"].tolist()[0]) if "rng" in state else 0
    if hasattr(generator, "initial_seed"):
        return int(generator.initial_seed())
    if isinstance(generator, bool) or not isinstance(generator, int):
        raise fault(TypeError, f"`generator` is a {type(generator).__name__}", "give a seed, an int")
    return generator


def mixed(*numbers: int) -> int:
    """A number below 2**63 that depends on all of these."""
    text = ",".join(map(str, numbers)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1


def order(n: int, generator: Any, epoch: int) -> list[int]:
    """The numbers below `n` in the order of a pass, as a reader that shuffles by this seed has them."""
    if n == 0:
        return []
    numbers = _core.Reader.arrays([("number", _core.tensor(range(n), dtype="int64"))])
    batches = numbers.then(f"shuffle(seed={seed_of(generator) % 2**64})").then(f"batch({min(n, 1 << 16)})")
    found: list[int] = []
    for (batch,) in batches.start(epoch, 0):
        found.extend(batch.tolist())
    return found


def seed_all(seed: int) -> None:
    """Seeds the random numbers of Python, NumPy and Fluvial."""
    import numpy as np

    random.seed(seed)
    np.random.seed(seed % 2**32)
    _core.seed(seed)


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Gives back the random states of Python, NumPy and Fluvial as they were."""
    import numpy as np

    of_python, of_numpy = random.getstate(), np.random.get_state()
    state = _core.State.current()
    stream = state["rng"] if "rng" in state else None
    try:
        yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)
        if stream is not None:
            state["rng"] = stream
        elif "rng" in state:
            state.remove("rng")
