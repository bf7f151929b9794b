"""Mixed precision: `fl.autocast` and `fl.GradScaler`."""

from __future__ import annotations

import functools

from . import _core
from ._fault import fault
from .initializer import Constant
from .nn import Buffer, Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from ._core import DTypeLike, Tensor, TensorLike
    from .optimizer import Optimizer

    F = TypeVar("F", bound=Callable[..., Any])


class autocast:
    """A scope, or a decorator, in which functions compute in the precision that suits them, as PyTorch's lists for CPUs say.

    Products of matrices, `linear`, convolutions, recurrent layers, attention and `prelu` take floats in the narrow type; losses,
    decompositions, `prod`, `trace` and `grid_sample` take narrow floats as float32; all others take what they are given. The casts
    are ops: gradients pass through them, a program that is built in the scope has them, and so has its file. Parameters stay as
    they are and get gradients of their own type; each is cast once within a scope. Gradients are computed in the types of
    the values, also where `backward` stands in the scope.

    Args:
        dtype: The narrow type, bfloat16 or float16. "cpu" is taken for code that was written for PyTorch, with `dtype` by name.
        enabled: Whether it has an effect; without one, nothing is cast, also inside of another scope.

    Example:
        >>> layer, x = fl.nn.Linear(4, 2), fl.full((3, 4), 0.5)
        >>> with fl.autocast("bf16"):
        ...     y = layer(x)
        ...     loss = fl.mse_loss(y, fl.full((3, 2), 1.0))
        >>> y.dtype, loss.dtype, layer.weight.dtype
        (fluvial.bfloat16, fluvial.float32, fluvial.float32)
    """

    def __init__(
        self, device_type: DTypeLike = "bfloat16", dtype: DTypeLike | None = None, enabled: bool = True
    ) -> None:
        if device_type == "cpu":
            dtype = "bfloat16" if dtype is None else dtype
        elif dtype is not None:
            raise fault(ValueError, f"autocast was given two types: {device_type} and {dtype}")
        else:
            dtype = device_type
        self._dtype = dtype if enabled else None
        self._scopes: list[_core.Autocast] = []

    def __enter__(self) -> autocast:
        scope = _core.Autocast(self._dtype)
        scope.__enter__()
        self._scopes.append(scope)
        return self

    def __exit__(self, *exception: object) -> None:
        self._scopes.pop().__exit__(*exception)

    def __call__(self, function: F) -> F:
        """The function, run in this scope."""

        @functools.wraps(function)
        def run(*args: Any, **options: Any) -> Any:
            with autocast(self._dtype or "bfloat16", enabled=self._dtype is not None):
                return function(*args, **options)

        return run  # type: ignore[return-value]


class _Scale(Layer):
    """What a scaler remembers, as states that programs share."""

    def __init__(self, scale: float, name: str | None) -> None:
        super().__init__(name)
        self.scale = Buffer((), "float32", Constant(scale))
        self.growth = Buffer((), "int64", Constant(0))
        self.found_inf = Buffer((), "float32", Constant(0.0))
        #: Whether gradients were looked at since the last `update`.
        self.looked = Buffer((), "bool", Constant(0))


class GradScaler:
    """Keeps small gradients of float16 from becoming zero: the loss is multiplied by a number, and gradients are divided by it.
    A step whose gradients are infinite or NaN is left out, and the number becomes smaller; after many good ones it grows.

    It works line by line and in `fl.function`, on the same states.

    Args:
        init_scale: The first number.
        growth_factor: By how much it grows.
        backoff_factor: By how much it becomes smaller.
        growth_interval: After how many good steps it grows.
        enabled: Whether it has an effect; without one, `step` is that of the optimizer.
        name: The name of its states.

    Example:
        >>> layer = fl.nn.Linear(4, 1, weight_attr=fl.initializer.Constant(0.1))
        >>> optimizer, scaler = fl.optimizer.SGD(layer.parameters(), 0.1), fl.GradScaler()
        >>> with fl.autocast("f16"):
        ...     loss = fl.mse_loss(layer(fl.full((8, 4), 0.5)), fl.full((8, 1), 0.5))
        >>> scaler.scale(loss).backward()
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> scaler.get_scale()
        65536.0
    """

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
        *,
        name: str | None = None,
    ) -> None:
        if not (init_scale > 0 and growth_factor > 1 and 0 < backoff_factor < 1 and growth_interval > 0):
            raise fault(ValueError, "a scaler grows by more than 1, backs off by less than 1, and begins above 0")
        self._states = _Scale(init_scale, name or "grad_scaler")
        self._growth, self._backoff, self._interval = growth_factor, backoff_factor, growth_interval
        self._enabled = enabled
        #: By optimizer whose gradients are divided already: whether some were infinite or NaN.
        self._found: dict[int, Tensor] = {}

    def is_enabled(self) -> bool:
        """Whether it has an effect."""
        return self._enabled

    def scale(self, outputs: Any) -> Any:
        """A loss, or several, times the number.

        Args:
            outputs: A tensor, or nested lists, tuples and dicts of them.
        """
        if not self._enabled:
            return outputs
        from ._tree import is_tensor, mapped

        def scaled(value: Any) -> Any:
            if not is_tensor(value):
                raise fault(TypeError, f"a {type(value).__name__} cannot be scaled", "give tensors")
            return value * self._states.scale.astype(value.dtype) if value.dtype.name == "float64" else value * self._states.scale

        return mapped(scaled, outputs)

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divides the gradients of an optimizer's parameters by the number, for clipping, say. `step` does it otherwise.

        Args:
            optimizer: The optimizer.
        """
        if not self._enabled:
            return
        if id(optimizer) in self._found:
            raise fault(RuntimeError, "the gradients of this optimizer are divided already", "call `update` once for each step")
        from ._ops import all, isfinite, logical_and, logical_not, logical_or

        factor = 1.0 / self._states.scale
        finite: Tensor | None = None
        with _core.no_grad():
            for parameter in optimizer.params():
                if isinstance(parameter, str) or parameter.grad is None:
                    continue
                grad = parameter.grad
                own = all(isfinite(grad))
                finite = own if finite is None else logical_and(finite, own)
                parameter.grad = grad * factor.astype(grad.dtype)
            if finite is None:
                raise fault(RuntimeError, "no parameter of the optimizer has a gradient", "call `backward` before")
            found = logical_not(finite)
            self._found[id(optimizer)] = found
            from ._ops import maximum

            self._states.found_inf.set(maximum(self._states.found_inf, found.astype("float32")))
            self._states.looked.set(logical_or(found, finite))

    def step(self, optimizer: Optimizer) -> None:
        """Updates the parameters, unless a gradient is infinite or NaN.

        Args:
            optimizer: The optimizer.
        """
        if not self._enabled:
            optimizer.step()
            return
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        found = self._found[id(optimizer)]

        def stay() -> list[Tensor]:
            return []

        def go() -> list[Tensor]:
            optimizer.step()
            return []

        _core.cond(found, stay, go)

    def update(self, new_scale: TensorLike | None = None) -> None:
        """Makes the number fit what was found since it was called last. It ends a step.

        Args:
            new_scale: The number from here on, if it is given.
        """
        if not self._enabled:
            return
        # A program may have looked at them; one that is being built knows only when it runs.
        looked = self._found or _core.is_building() or self._states.looked.item()
        if not looked and new_scale is None:
            raise fault(RuntimeError, "no gradients were looked at since the last `update`", "call `step` or `unscale_` before")
        self._found.clear()
        from ._ops import eq, gt, logical_or
        from ._methods import where

        states = self._states
        with _core.no_grad():
            found = gt(states.found_inf, 0.0)
            if new_scale is None:
                count = states.growth + 1
                full = eq(count, self._interval)
                grown = where(full, states.scale * self._growth, states.scale)
                states.scale.set(where(found, states.scale * self._backoff, grown))
                states.growth.set(where(logical_or(found, full), count * 0, count))
            else:
                states.scale.set(_core.tensor(float(new_scale)).astype("float32"))  # type: ignore[arg-type]
            states.found_inf.set(states.found_inf * 0.0)
            states.looked.set(states.found_inf > 0.0)

    def get_scale(self) -> float:
        """The number."""
        return float(self._states.scale.item()) if self._enabled else 1.0

    def state_dict(self) -> dict[str, Any]:
        """The number, the settings, and how many good steps there were, by PyTorch's names."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth,
            "backoff_factor": self._backoff,
            "growth_interval": self._interval,
            "_growth_tracker": int(self._states.growth.item()),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes over what another scaler remembered.

        Args:
            state: What `state_dict` gave.
        """
        if not self._enabled:
            return
        missing = [name for name in self.state_dict() if name not in state]
        if missing:
            raise fault(KeyError, f"the state of a scaler lacks {', '.join(missing)}")
        self._growth, self._backoff = float(state["growth_factor"]), float(state["backoff_factor"])
        self._interval = int(state["growth_interval"])
        self._states.scale.set(_core.tensor(float(state["scale"])).astype("float32"))
        self._states.growth.set(_core.tensor(int(state["_growth_tracker"])))
