"""Settings: seeds, element types, recording."""

from __future__ import annotations

import builtins

from .. import _core, set_num_threads
from .._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["set_num_threads"]

_SEED = [0]


class Generator:
    """Sets the stream of random numbers by `manual_seed`: there is one, that of the scope.

    Args:
        device: None or "cpu".
    """

    def __init__(self, device: Any = None) -> None:
        pass

    def manual_seed(self, seed: int) -> Generator:
        """Begins the stream anew.

        Args:
            seed: A number.
        """
        manual_seed(seed)
        return self


def manual_seed(seed: int) -> Generator:
    """Begins the stream of random numbers anew. The numbers are not PyTorch's.

    Args:
        seed: A number.
    """
    _SEED[0] = seed
    _core.seed(seed)
    return Generator()


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
