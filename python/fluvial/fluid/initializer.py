"""First values of parameters, with Fluid's names, arguments and defaults."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any

from .. import _core
from .. import initializer as _own
from .._fault import fault

__all__ = [
    "Constant", "Uniform", "Normal", "TruncatedNormal", "Xavier", "Bilinear", "MSRA", "ConstantInitializer",
    "UniformInitializer", "NormalInitializer", "TruncatedNormalInitializer", "XavierInitializer", "BilinearInitializer",
    "MSRAInitializer", "NumpyArrayInitializer", "Initializer", "force_init_on_cpu", "init_on_cpu",
]  # fmt: skip

Initializer = _own.Initializer


def _drawn(seed: int, draw: Callable[..., Any], shape: Any, dtype: Any) -> Any:
    """What an initialiser draws: with a seed of its own always the same, with 0 by the seed of the startup program and the
    parameter's name."""
    if not seed:
        return draw(shape, dtype)
    found: list[Any] = []

    def apart() -> None:
        with _core.State():
            _core.seed(seed)
            found.append(draw(shape, dtype))

    # Where a program is built, numbers come from its stream; a thread of its own builds none.
    thread = threading.Thread(target=apart)
    thread.start()
    thread.join()
    return found[0]


def _checked_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 63:
        raise fault(ValueError, f"a seed is an integer that is not negative, not {seed!r}", "use 0 for no seed of its own")
    return seed


class _Seeded:
    """An initialiser of `fluvial.initializer` with a seed of its own."""

    seed: int

    def _stated(self) -> Any:
        return None if self.seed else self._own()  # type: ignore[attr-defined]

    def __call__(self, shape: Any, dtype: Any) -> Any:
        return _drawn(self.seed, self._own(), shape, dtype)  # type: ignore[attr-defined]


class ConstantInitializer(_own.Constant):
    """One number everywhere.

    Args:
        value: The number.
        force_cpu: For Fluid's programs: all is on the CPU.
    """

    def __init__(self, value: float = 0.0, force_cpu: bool = False) -> None:
        super().__init__(value)


class UniformInitializer(_Seeded, _own.Uniform):
    """Numbers evenly distributed from `low` to `high`.

    Args:
        low: The lowest.
        high: The highest.
        seed: What the numbers follow from; 0 for the seed of the startup program and the parameter's name.
    """

    def __init__(
        self, low: float = -1.0, high: float = 1.0, seed: int = 0, diag_num: int = 0, diag_step: int = 0,
        diag_val: float = 1.0,
    ) -> None:  # fmt: skip
        self.seed = _checked_seed(seed)
        if diag_num:
            raise fault(NotImplementedError, "`diag_num` is not in this front", "use `NumpyArrayInitializer`")
        super().__init__(low, high)


class NormalInitializer(_Seeded, _own.Normal):
    """Normally distributed numbers.

    Args:
        loc: The mean.
        scale: The standard deviation.
        seed: What the numbers follow from; 0 for the seed of the startup program and the parameter's name.
    """

    def __init__(self, loc: float = 0.0, scale: float = 1.0, seed: int = 0) -> None:
        self.seed = _checked_seed(seed)
        super().__init__(loc, scale)


class TruncatedNormalInitializer(_Seeded, _own.TruncatedNormal):
    """Normally distributed numbers, none further than two deviations from the mean.

    Args:
        loc: The mean.
        scale: The standard deviation.
        seed: What the numbers follow from; 0 for the seed of the startup program and the parameter's name.
    """

    def __init__(self, loc: float = 0.0, scale: float = 1.0, seed: int = 0) -> None:
        self.seed = _checked_seed(seed)
        super().__init__(loc, scale)


def _fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """How many numbers go into and out of a layer, as Fluid counts them: matrices are `[in, out]`."""
    if not shape:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    if len(shape) == 2:
        return shape[0], shape[1]
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


class _Scaled(Initializer):
    def __init__(self, uniform: bool, seed: int) -> None:
        self.uniform, self.seed = uniform, _checked_seed(seed)

    def variance(self, shape: tuple[int, ...]) -> float:
        """That of the numbers for a parameter of these sizes."""
        raise NotImplementedError

    def __call__(self, shape: Any, dtype: Any) -> Any:
        deviation = math.sqrt(self.variance(tuple(shape)))
        edge = math.sqrt(3.0) * deviation
        draw = _own.Uniform(-edge, edge) if self.uniform else _own.Normal(0.0, deviation)
        return _drawn(self.seed, draw, shape, dtype)


class XavierInitializer(_Scaled):
    """Numbers of variance `2 / (fan_in + fan_out)`.

    Args:
        uniform: Whether they are evenly distributed, or normally.
        fan_in: How many numbers go into the layer; from the sizes if nothing is said.
        fan_out: How many come out of it.
        seed: What the numbers follow from; 0 for the seed of the startup program and the parameter's name.
    """

    def __init__(
        self, uniform: bool = True, fan_in: float | None = None, fan_out: float | None = None, seed: int = 0
    ) -> None:
        super().__init__(uniform, seed)
        self.fan_in, self.fan_out = fan_in, fan_out

    def variance(self, shape: tuple[int, ...]) -> float:
        fan_in, fan_out = _fans(shape)
        return 2.0 / ((self.fan_in or fan_in) + (self.fan_out or fan_out))


class MSRAInitializer(_Scaled):
    """Numbers of variance `2 / fan_in`.

    Args:
        uniform: Whether they are evenly distributed, or normally.
        fan_in: How many numbers go into the layer; from the sizes if nothing is said.
        seed: What the numbers follow from; 0 for the seed of the startup program and the parameter's name.
    """

    def __init__(self, uniform: bool = True, fan_in: float | None = None, seed: int = 0) -> None:
        super().__init__(uniform, seed)
        self.fan_in = fan_in

    def variance(self, shape: tuple[int, ...]) -> float:
        return 2.0 / (self.fan_in or _fans(shape)[0])


class NumpyArrayInitializer(_own.Assign):
    """A given array.

    Args:
        value: The array.
    """

    def __init__(self, value: Any) -> None:
        import numpy as np

        super().__init__(np.array(value))


class BilinearInitializer(_own.Bilinear):
    """A transposed convolution that enlarges images by bilinear interpolation."""


Constant, Uniform, Normal = ConstantInitializer, UniformInitializer, NormalInitializer
TruncatedNormal, Xavier, MSRA = TruncatedNormalInitializer, XavierInitializer, MSRAInitializer
Bilinear = BilinearInitializer


def force_init_on_cpu() -> bool:
    """Whether initial values are made on the CPU: always."""
    return True


@contextlib.contextmanager
def init_on_cpu() -> Iterator[None]:
    """A scope in which initial values are made on the CPU, as they always are."""
    yield
