"""Settings: seeds, element types, recording."""

from __future__ import annotations

import builtins
import contextlib
import functools

from .. import _core, set_num_threads
from .._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["set_num_threads"]

_SEED = [0]


class Generator:
    """A stream of random numbers of its own, which functions take as `generator`. Its numbers are not PyTorch's.

    Args:
        device: None or "cpu".

    Example:
        >>> import fluvial.torch as torch
        >>> g = torch.Generator().manual_seed(3)
        >>> a = torch.rand(2, generator=g)
        >>> bool((torch.rand(2, generator=g.manual_seed(3)) == a).all())
        True
    """

    def __init__(self, device: Any = None) -> None:
        self.manual_seed(0)

    def manual_seed(self, seed: int) -> Generator:
        """Begins the stream anew.

        Args:
            seed: A number.
        """
        self._seed = seed
        self._stream: Any = None
        return self

    def initial_seed(self) -> int:
        """The seed that was set last."""
        return self._seed

    @contextlib.contextmanager
    def drawing(self) -> Iterator[None]:
        """A scope in which random numbers come from this stream."""
        if _core.is_building():
            raise fault(
                RuntimeError,
                "a program draws from the stream of its scope, and not from a `Generator`",
                "leave `generator` out inside of the function, and seed with `torch.manual_seed`",
            )
        state = _core.State.current()
        outside = state["rng"] if "rng" in state else None
        if self._stream is None:
            _core.seed(self._seed)
        else:
            state.insert("rng", self._stream, "random")
        try:
            yield
        finally:
            self._stream = state["rng"]
            if outside is None:
                state.remove("rng")
            else:
                state["rng"] = outside


def takes_generator(function: F) -> F:
    """The function with an argument `generator`, from which it draws.

    Args:
        function: Draws random numbers.
    """

    @functools.wraps(function)
    def draw(*args: Any, generator: Generator | None = None, **options: Any) -> Any:
        if generator is None:
            return function(*args, **options)
        with generator.drawing():
            return function(*args, **options)

    return draw  # type: ignore[return-value]


def manual_seed(seed: int) -> Generator:
    """Begins the stream of random numbers anew. The numbers are not PyTorch's.

    Args:
        seed: A number.
    """
    _SEED[0] = seed
    _core.seed(seed)
    return Generator().manual_seed(seed)


def initial_seed() -> int:
    """The seed that was set last."""
    return _SEED[0]


def is_grad_enabled() -> builtins.bool:
    """Whether ops are recorded for gradients."""
    return _core.is_recording()


def is_tensor(obj: Any) -> builtins.bool:
    """Whether an object is a tensor.

    Args:
        obj: The object.
    """
    return isinstance(obj, _core.Tensor)


def seed() -> int:
    """Begins the stream of random numbers at a place that nobody has chosen.

    Returns:
        The seed.
    """
    import secrets

    found = secrets.randbits(62)
    manual_seed(found)
    return found


def get_num_threads() -> int:
    """How many threads ops run on."""
    return _core.get_num_threads()


def is_inference_mode_enabled() -> builtins.bool:
    """Whether nothing is recorded for gradients."""
    return not _core.is_recording()


def get_rng_state() -> Any:
    """Refused: where the stream stands is a state of the scope."""
    raise fault(RuntimeError, "where the stream of random numbers stands is a state of the scope", 'write `fluvial.State.current()["rng"]`, or seed anew')


def use_deterministic_algorithms(mode: builtins.bool, *, warn_only: builtins.bool = False) -> None:
    """Taken: results depend neither on the number of threads nor on chance.

    Args:
        mode: Whether they are to be.
        warn_only: Taken.
    """


def set_float32_matmul_precision(precision: str) -> None:
    """Taken: products of float32 are computed in float32, which every setting allows.

    Args:
        precision: "highest", "high" or "medium".
    """
    if precision not in ("highest", "high", "medium"):
        raise fault(ValueError, f"there is no precision {precision!r}", 'use "highest", "high" or "medium"')


def set_printoptions(precision: Any = None, threshold: Any = None, edgeitems: Any = None, linewidth: Any = None, profile: Any = None, sci_mode: Any = None) -> None:
    """Says how tensors are printed: as arrays of NumPy are.

    Args:
        precision: The number of digits.
        threshold: From how many elements on the middle is left out.
        edgeitems: How many are shown on each side then.
        linewidth: The number of characters of a line.
        profile: "default", "short" or "full".
        sci_mode: Refused.
    """
    import numpy as np

    if sci_mode is not None:
        raise fault(ValueError, "numbers are printed as NumPy prints them", "leave `sci_mode` out")
    profiles: dict[Any, dict[str, Any]] = {"default": {"precision": 4, "threshold": 1000, "edgeitems": 3}, "short": {"precision": 2, "threshold": 1000, "edgeitems": 2}, "full": {"precision": 4, "threshold": 2**62}}
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    np.set_printoptions(**{**profiles.get(profile, {}), **{name: value for name, value in given.items() if value is not None}})


def get_default_dtype() -> Any:
    """The element type of floats that have none: float32."""
    return _core.float32


def set_default_dtype(d: Any) -> None:
    """Refuses any element type but float32.

    Args:
        d: An element type.
    """
    if d != _core.float32:
        raise fault(ValueError, f"floats without an element type are float32, not {d}", "give `dtype=` where tensors are made")


class set_grad_enabled:
    """A scope in which ops are recorded for gradients, or not.

    Args:
        mode: Whether they are.
    """

    def __init__(self, mode: builtins.bool) -> None:
        self._scope = (_core.enable_grad if mode else _core.no_grad)()

    def __enter__(self) -> set_grad_enabled:
        self._scope.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._scope.__exit__(*exception)
