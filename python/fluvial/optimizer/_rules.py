"""Gradient descent, momentum, and rules that adapt rates by sums of squares."""

from __future__ import annotations

from .. import _core
from ._optimizer import Optimizer
from ._update import number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import Tensor
    from ._update import Step, Update


class SGD(Optimizer):
    """Plain gradient descent: `w - lr · g`. Args are those of `Optimizer`.

    Example:
        >>> w = fl.parameter("w", (2,), init=1.0)
        >>> _ = fl.optimizer.SGD(["w"], 0.5).minimize(fl.sum(w * w))
        >>> fl.read_state("w").tolist()
        [0.0, 0.0]
    """

    _name = "sgd"

    def update(self, u: Update) -> Tensor:
        new = u.at_once("descent", [], [])
        return u.param - u.lr * u.grad if new is None else new


class Momentum(Optimizer):
    """Gradient descent with momentum; remembers `v`.

    Options: `momentum` 0.9, `dampening` 0, `nesterov` False.

    Example:
        >>> w = fl.parameter("w", (), init=1.0)
        >>> _ = fl.optimizer.Momentum(["w"], 0.1, momentum=0.5).minimize(w * w)
        >>> fl.read_state("momentum.v.w").item()
        2.0
    """

    _name = "momentum"
    defaults = {"momentum": 0.9, "dampening": 0.0, "nesterov": False}
    _aliases = {**Optimizer._aliases, "use_nesterov": "nesterov"}

    def shared(self, step: Step, settings: dict[str, Any]) -> list[Tensor]:
        if settings["dampening"] == 0.0:
            return []
        # The first step takes the whole gradient.
        part = number(1.0 - settings["dampening"])
        return [_core.where(step.t > number(1.0), part, number(1.0))]

    def update(self, u: Update) -> Tensor:
        momentum = u.settings["momentum"]
        if u.settings["dampening"] == 0.0 and not u.settings["nesterov"]:
            at_once = u.at_once("momentum", ["v"], [momentum])
            if at_once is not None:
                return at_once
        new = u.grad if u.settings["dampening"] == 0.0 else u.grad * u.shared[0]
        v = u.slot("v") * momentum + new
        u.put("v", v)
        direction = u.grad + v * momentum if u.settings["nesterov"] else v
        return u.param - u.lr * direction


class Adagrad(Optimizer):
    """Rates that fall with the sum of squared gradients; remembers `sum`.

    Options: `lr_decay` 0, `initial_accumulator` 0, `eps` 1e-10.
    """

    _name = "adagrad"
    defaults = {"lr_decay": 0.0, "initial_accumulator": 0.0, "eps": 1e-10}

    def shared(self, step: Step, settings: dict[str, Any]) -> list[Tensor]:
        decay = settings["lr_decay"]
        return [] if decay == 0.0 else [(step.t - 1.0) * decay + 1.0]

    def update(self, u: Update) -> Tensor:
        total = u.slot("sum", u.settings["initial_accumulator"]) + u.grad * u.grad
        u.put("sum", total)
        lr = u.lr / u.shared[0] if u.shared else u.lr
        return u.param - lr * (u.grad / (_core.sqrt(total) + u.settings["eps"]))


class Adadelta(Optimizer):
    """Steps in the unit of parameters; remembers `squares` and `steps`.

    Options: `rho` 0.9, `eps` 1e-6.
    """

    _name = "adadelta"
    defaults = {"rho": 0.9, "eps": 1e-6}

    def update(self, u: Update) -> Tensor:
        rho, eps = u.settings["rho"], u.settings["eps"]
        squares = u.slot("squares") * rho + u.grad * u.grad * (1.0 - rho)
        u.put("squares", squares)
        steps = u.slot("steps")
        delta = _core.sqrt(steps + eps) / _core.sqrt(squares + eps) * u.grad
        u.put("steps", steps * rho + delta * delta * (1.0 - rho))
        return u.param - u.lr * delta


class RMSProp(Optimizer):
    """Rates that fall with the mean of squared gradients; remembers `squares` (`mean`, `v`).

    Options: `alpha` 0.99, `eps` 1e-8, `momentum` 0, `centered` False.
    """

    _name = "rmsprop"
    defaults = {"alpha": 0.99, "eps": 1e-8, "momentum": 0.0, "centered": False}
    _aliases = {**Optimizer._aliases, "rho": "alpha"}

    def update(self, u: Update) -> Tensor:
        alpha, momentum = u.settings["alpha"], u.settings["momentum"]
        spread = u.slot("squares") * alpha + u.grad * u.grad * (1.0 - alpha)
        u.put("squares", spread)
        if u.settings["centered"]:
            mean = u.slot("mean") * alpha + u.grad * (1.0 - alpha)
            u.put("mean", mean)
            spread = spread - mean * mean
        direction = u.grad / (_core.sqrt(spread) + u.settings["eps"])
        if momentum > 0.0:
            direction = u.slot("v") * momentum + direction
            u.put("v", direction)
        return u.param - u.lr * direction


class Ftrl(Optimizer):
    """FTRL-Proximal, for sparse parameters; remembers `n` and `z`.

    Options: `l1` 0, `l2` 0, `beta` 1, `initial_accumulator` 0.
    """

    _name = "ftrl"
    defaults = {"l1": 0.0, "l2": 0.0, "beta": 1.0, "initial_accumulator": 0.0}

    def update(self, u: Update) -> Tensor:
        before = u.slot("n", u.settings["initial_accumulator"])
        n = before + u.grad * u.grad
        u.put("n", n)
        root = _core.sqrt(n)
        sigma = (root - _core.sqrt(before)) / u.lr
        z = u.slot("z") + u.grad - sigma * u.param
        u.put("z", z)
        size = _core.abs(z) - u.settings["l1"]
        excess = _core.sign(z) * _core.maximum(size, size * 0.0)
        return -(excess / ((root + u.settings["beta"]) / u.lr + u.settings["l2"]))


class Lars(Optimizer):
    """Rates in proportion to the norms of parameters; remembers `v`.

    Options: `momentum` 0.9, `trust` 0.001, `eps` 0.
    """

    _name = "lars"
    _decay = "rule"
    _elementwise = False
    defaults = {"momentum": 0.9, "trust": 0.001, "eps": 0.0}
    _aliases = {**Optimizer._aliases, "lars_coeff": "trust", "lars_weight_decay": "weight_decay"}

    def update(self, u: Update) -> Tensor:
        of_param, of_grad = norm(u.param), norm(u.grad)
        divisor = of_grad + of_param * u.weight_decay + u.settings["eps"]
        local = ratio(of_param, of_grad, of_param * u.settings["trust"] / divisor)
        direction = u.grad + u.param * u.weight_decay
        v = u.slot("v") * u.settings["momentum"] + (u.lr * local) * direction
        u.put("v", v)
        return u.param - v


def norm(x: Tensor) -> Tensor:
    """The norm of all elements."""
    return _core.sqrt(_core.sum(x * x))


def ratio(a: Tensor, b: Tensor, value: Tensor) -> Tensor:
    """The value, or one where `a` or `b` is zero."""
    zero = a * 0.0
    positive = _core.logical_and(a > zero, b > zero)
    return _core.where(positive, value, zero + 1.0)
