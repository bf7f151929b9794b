"""L-BFGS, which calls a function that computes the loss as often as it needs."""

from __future__ import annotations

from .. import _core
from .._fault import fault
from ._optimizer import Optimizer
from ._wolfe import strong_wolfe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._core import Tensor


class LBFGS(Optimizer):
    """L-BFGS (Liu and Nocedal, 1989), as PyTorch's: steps by an estimate of the curvature that it makes of the last
    gradients. `step` takes a function that clears gradients, computes the loss, calls `backward` and returns the
    loss; one step calls it several times, so it is made line by line. The function may be an `fl.function`.

    Args:
        parameters: What it trains, in one group.
        learning_rate: The rate, 1 by default.
        max_iter: The most iterations of a step.
        max_eval: The most calls of the function in a step; 5 / 4 of the iterations if nothing is said.
        tolerance_grad: A step ends when no element of the gradient is larger.
        tolerance_change: A step ends when parameters or loss change by less.
        history_size: How many gradients are remembered.
        line_search_fn: "strong_wolfe" to look for the length of each iteration, or nothing.
        settings: Those of every `Optimizer`.

    Example:
        >>> w = fl.nn.Parameter(fl.tensor([3.0, -4.0]))
        >>> optimizer = fl.optimizer.LBFGS([w], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = fl.sum(fl.square(w - 1.0))
        ...     loss.backward()
        ...     return loss
        >>> _ = optimizer.step(closure)
        >>> [round(x, 3) for x in w.tolist()]
        [1.0, 1.0]
    """

    _name = "lbfgs"
    _rate = 1.0

    def __init__(
        self,
        parameters: Any,
        learning_rate: float | None = None,
        *,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        **settings: Any,
    ) -> None:
        if line_search_fn not in (None, "strong_wolfe"):
            raise fault(ValueError, f"no search of a line is named {line_search_fn!r}", 'use "strong_wolfe" or None')
        self.max_iter, self.history_size = max_iter, history_size
        self.max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        self.tolerance_grad, self.tolerance_change = tolerance_grad, tolerance_change
        self.line_search_fn = line_search_fn
        super().__init__(parameters, learning_rate, **settings)
        if len(self.param_groups) > 1 or self.param_groups[0].params is None:
            raise fault(ValueError, "L-BFGS trains the parameters of one group", "give it `net.parameters()`")
        self._forget()

    def _forget(self) -> None:
        #: The number of iterations, the direction and length of the last, the gradient and the loss before it.
        self._n, self._length = 0, 0.0
        self._direction: Any = None
        self._gradient: Any = None
        self._before = 0.0
        #: Changes of the gradient, steps, and one over their product; and the scale of the first estimate.
        self._changes: list[Tensor] = []
        self._steps: list[Tensor] = []
        self._products: list[float] = []
        self._scale = 1.0

    def _trained(self) -> list[Any]:
        return [p for p in self.param_groups[0].params or [] if p.is_trainable]

    def _flat(self, tensors: list[Any]) -> Tensor:
        # Parts of complex numbers are numbers of their own.
        parts = [_core.view_as_real(x) if x.is_complex() else x for x in tensors]
        return _core.concat([_core.reshape(x, (-1,)) for x in parts], 0)

    def _gradients(self) -> Tensor:
        sign = -1.0 if self.param_groups[0]["maximize"] else 1.0
        found = [_core.zeros_like(p.detach()) if p.grad is None else p.grad * sign for p in self._trained()]
        decay = self.param_groups[0]["weight_decay"]
        if decay:
            found = [g + p.detach() * decay for g, p in zip(found, self._trained())]
        return self._flat(found)

    def _put(self, values: Tensor) -> None:
        start = 0
        for p in self._trained():
            count = p.numel() * (2 if p.is_complex() else 1)
            part = _core.narrow(values, 0, start, count)
            p.set(_core.view_as_complex(_core.reshape(part, (*p.shape, 2))) if p.is_complex() else _core.reshape(part, p.shape))
            start += count

    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override]
        """Several iterations.

        Args:
            closure: Clears gradients, computes the loss, calls `backward` and returns the loss.

        Returns:
            The first loss.
        """
        if closure is None or not callable(closure):
            raise fault(
                TypeError,
                "L-BFGS computes the loss several times in one step",
                "give `step` a function that clears gradients, computes the loss, calls `backward` and returns it",
            )
        if _core.is_building():
            raise fault(
                RuntimeError,
                "L-BFGS decides by the losses how often it computes them, which a program cannot",
                "call `step` outside; the function that computes the loss may be an `fl.function`",
            )

        def evaluated() -> tuple[Any, float, Tensor]:
            with _core.enable_grad():
                loss = closure()
            sign = -1.0 if self.param_groups[0]["maximize"] else 1.0
            return loss, sign * float(loss), self._gradients()

        with _core.no_grad():
            first, loss, gradient = evaluated()
            n_evaluated = 1
            if _largest(gradient) > self.tolerance_grad:
                self._iterate(evaluated, loss, gradient, n_evaluated)
        return first

    def minimize(self, *inputs: Any, **options: Any) -> Any:
        """There is none: one loss is not enough."""
        return self.step()

    def _iterate(self, evaluated: Any, loss: float, gradient: Tensor, n_evaluated: int) -> None:
        rate = self.param_groups[0]["lr"]
        for iteration in range(1, self.max_iter + 1):
            self._n += 1
            direction = self._turn(gradient)
            self._gradient, self._before = gradient, loss
            length = rate
            if self._n == 1:
                length *= min(1.0, 1.0 / float(_core.sum(_core.abs(gradient))))
            slope = float(_core.sum(gradient * direction))
            self._length = length
            if slope > -self.tolerance_change:
                return
            start = self._flat([p.detach() for p in self._trained()])

            def at(length: float, start: Tensor = start, direction: Tensor = direction) -> tuple[float, Tensor]:
                self._put(start + direction * length)
                _, loss, gradient = evaluated()
                return loss, gradient

            if self.line_search_fn is not None:
                found = strong_wolfe(at, direction, length, loss, gradient, slope, self.tolerance_change)
                loss, gradient, length, calls = found
                self._put(start + direction * length)
            else:
                self._put(start + direction * length)
                calls = 0
                if iteration != self.max_iter:
                    _, loss, gradient = evaluated()
                    calls = 1
            self._length, n_evaluated = length, n_evaluated + calls
            moved = _largest(direction) * abs(length)
            if (
                iteration == self.max_iter
                or n_evaluated >= self.max_eval
                or _largest(gradient) <= self.tolerance_grad
                or moved <= self.tolerance_change
                or abs(loss - self._before) < self.tolerance_change
            ):
                return

    def _turn(self, gradient: Tensor) -> Tensor:
        """The next direction, of the gradient and of what is remembered."""
        if self._n == 1:
            self._direction = -gradient
            return self._direction
        change, step = gradient - self._gradient, self._direction * self._length
        product = float(_core.sum(change * step))
        if product > 1e-10:
            if len(self._changes) == self.history_size:
                del self._changes[0], self._steps[0], self._products[0]
            self._changes.append(change)
            self._steps.append(step)
            self._products.append(1.0 / product)
            self._scale = product / float(_core.sum(change * change))
        q, shares = -gradient, []
        known = list(zip(self._changes, self._steps, self._products))
        for change, step, inverse in reversed(known):
            share = float(_core.sum(step * q)) * inverse
            shares.append(share)
            q = q - change * share
        q = q * self._scale
        for (change, step, inverse), share in zip(known, reversed(shares)):
            q = q + step * (share - float(_core.sum(change * q)) * inverse)
        self._direction = q
        return q

    def state_dict(self) -> dict[str, Tensor]:
        """What it remembers, by the names of states."""
        if self._gradient is None:
            return {}
        numbers = [float(self._n), self._length, self._before, self._scale]
        found = {
            "lbfgs.numbers": _core.tensor(numbers, "float64"),
            "lbfgs.direction": self._direction,
            "lbfgs.gradient": self._gradient,
        }
        if self._changes:
            found["lbfgs.products"] = _core.tensor(self._products, "float64")
            found["lbfgs.changes"] = _core.stack(self._changes, 0)
            found["lbfgs.steps"] = _core.stack(self._steps, 0)
        return found

    def load_state_dict(self, state: Any) -> None:
        """Takes over what another one remembered.

        Args:
            state: Values by the names of states.
        """
        self._forget()
        if not state:
            return
        n, self._length, self._before, self._scale = _core.tensor(state["lbfgs.numbers"]).tolist()
        self._n = int(n)
        self._direction, self._gradient = state["lbfgs.direction"], state["lbfgs.gradient"]
        if "lbfgs.changes" in state:
            self._products = _core.tensor(state["lbfgs.products"]).tolist()
            self._changes = list(_core.unbind(state["lbfgs.changes"], 0))
            self._steps = list(_core.unbind(state["lbfgs.steps"], 0))


def _largest(x: Tensor) -> float:
    return float(_core.max(_core.abs(x)))
