"""Adam and its relatives."""

from __future__ import annotations

from .. import _core
from ._optimizer import Optimizer
from ._rules import norm, ratio
from ._update import number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import Tensor
    from ._update import Step, Update


def moments(u: Update) -> tuple[Tensor, Tensor]:
    """The fading means of gradients and of their squares."""
    m = first_moment(u)
    beta = u.settings["betas"][1]
    v = u.slot("v") * beta + u.grad * u.grad * (1.0 - beta)
    u.put("v", v)
    return m, v


def first_moment(u: Update) -> Tensor:
    """The fading mean of gradients."""
    beta = u.settings["betas"][0]
    m = u.slot("m") * beta + u.grad * (1.0 - beta)
    u.put("m", m)
    return m


class Adam(Optimizer):
    """Steps by the fading means of gradients and of their squares; remembers `m` and `v` (`v_max`).

    Options: `betas` (0.9, 0.999), `eps` 1e-8, `amsgrad` False.

    Example:
        >>> net = fl.nn.Linear(3, 1, name="net")
        >>> def step(x, y):
        ...     loss = fl.mean(fl.square(net(x) - y))
        ...     fl.optimizer.Adam(net.parameters(), 1e-2).minimize(loss)
        ...     return loss
        >>> x, y = fl.full((4, 3), 0.5), fl.full((4, 1), 1.0)
        >>> first = step(x, y)                                             # line by line
        >>> program = fl.build(step, {"x": "f32[n, 3]", "y": "f32[n, 1]"})  # as a program
        >>> bool(program(x, y) < first), fl.read_state("adam.step").item()
        (True, 2)
    """

    _name = "adam"
    defaults = {"betas": (0.9, 0.999), "eps": 1e-8, "amsgrad": False}

    def shared(self, step: Step, settings: dict[str, Any]) -> list[Tensor]:
        first, second = settings["betas"]
        root = _core.sqrt(step.bias_correction(second))
        return [step.bias_correction(first), root]

    def update(self, u: Update) -> Tensor:
        if not u.settings["amsgrad"]:
            (first, second), eps = u.settings["betas"], u.settings["eps"]
            new = u.at_once("adam", ["m", "v"], [first, 1.0 - first, second, 1.0 - second, eps])
            if new is not None:
                return new
        m, v = moments(u)
        if u.settings["amsgrad"]:
            v = _core.maximum(u.slot("v_max"), v)
            u.put("v_max", v)
        spread = _core.sqrt(v) / u.shared[1] + u.settings["eps"]
        return u.param - (u.lr / u.shared[0]) * (m / spread)


class AdamW(Adam):
    """`Adam` with decoupled weight decay, 0.01 unless said otherwise."""

    _name = "adamw"
    _decay = "decoupled"
    _weight_decay = 0.01


class Adamax(Optimizer):
    """`Adam` by the largest gradient; remembers `m` and `u`.

    Options: `betas` (0.9, 0.999), `eps` 1e-8.
    """

    _name = "adamax"
    defaults = {"betas": (0.9, 0.999), "eps": 1e-8}

    def shared(self, step: Step, settings: dict[str, Any]) -> list[Tensor]:
        return [step.bias_correction(settings["betas"][0])]

    def update(self, u: Update) -> Tensor:
        m = first_moment(u)
        faded = u.slot("u") * u.settings["betas"][1]
        largest = _core.maximum(faded, _core.abs(u.grad) + u.settings["eps"])
        u.put("u", largest)
        return u.param - (u.lr / u.shared[0]) * (m / largest)


class NAdam(Optimizer):
    """`Adam` with Nesterov's momentum; remembers `m` and `v`.

    Options: `betas` (0.9, 0.999), `eps` 1e-8, `momentum_decay` 0.004.
    """

    _name = "nadam"
    defaults = {"betas": (0.9, 0.999), "eps": 1e-8, "momentum_decay": 4e-3}

    @staticmethod
    def _mu(t: Tensor, settings: dict[str, Any]) -> Tensor:
        missing = _core.pow(number(0.96), t * settings["momentum_decay"]) * 0.5
        return (1.0 - missing) * settings["betas"][0]

    def shared(self, step: Step, settings: dict[str, Any]) -> list[Tensor]:
        mu, following = self._mu(step.t, settings), self._mu(step.t + 1.0, settings)
        product = step.number("mu_product", 1.0) * mu
        step.put_number("mu_product", product)
        of_gradient = (1.0 - mu) / (1.0 - product)
        of_moment = following / (1.0 - product * following)
        return [of_gradient, of_moment, _core.sqrt(step.bias_correction(settings["betas"][1]))]

    def update(self, u: Update) -> Tensor:
        m, v = moments(u)
        direction = u.shared[0] * u.grad + u.shared[1] * m
        spread = _core.sqrt(v) / u.shared[2] + u.settings["eps"]
        return u.param - u.lr * (direction / spread)


class RAdam(Optimizer):
    """`Adam` that adapts rates only when it has seen enough; remembers `m` and `v`.

    Options: `betas` (0.9, 0.999), `eps` 1e-8.
    """

    _name = "radam"
    defaults = {"betas": (0.9, 0.999), "eps": 1e-8}

    def shared(self, step: Step, settings: dict[str, Any]) -> list[Tensor]:
        first, beta = settings["betas"]
        second = step.bias_correction(beta)
        limit = 2.0 / (1.0 - beta) - 1.0
        length = limit - step.t * 2.0 * _core.pow(number(beta), step.t) / second
        known = length > number(5.0)
        # Below five the root is not taken; it must be a number all the same.
        safe = _core.maximum(length, number(5.0))
        above = (safe - 4.0) * (safe - 2.0) * limit
        rectified = _core.sqrt(above / (safe * ((limit - 4.0) * (limit - 2.0))) * second)
        one, zero = number(1.0), number(0.0)
        return [
            step.bias_correction(first),
            _core.where(known, rectified, zero),
            _core.where(known, zero, one),
        ]

    def update(self, u: Update) -> Tensor:
        m, v = moments(u)
        # One of the two factors is zero: the step is either adaptive or plain.
        adaptive = u.shared[1] / (_core.sqrt(v) + u.settings["eps"])
        return u.param - (u.lr / u.shared[0]) * (m * (adaptive + u.shared[2]))


class Lamb(Adam):
    """`Adam` with rates in proportion to the norms of parameters; weight decay 0.01.

    Options: `betas` (0.9, 0.999), `eps` 1e-6.
    """

    _name = "lamb"
    _decay = "rule"
    _elementwise = False
    _weight_decay = 0.01
    defaults = {"betas": (0.9, 0.999), "eps": 1e-6}
    _aliases = {**Optimizer._aliases, "lamb_weight_decay": "weight_decay"}

    def update(self, u: Update) -> Tensor:
        m, v = moments(u)
        spread = _core.sqrt(v) / u.shared[1] + u.settings["eps"]
        direction = m / u.shared[0] / spread + u.param * u.weight_decay
        of_param, of_step = norm(u.param), norm(direction)
        trust = ratio(of_param, of_step, of_param / of_step)
        return u.param - (u.lr * trust) * direction


class Lion(Optimizer):
    """Steps by the sign of a fading mean; remembers `m`; weight decay is decoupled.

    Options: `betas` (0.9, 0.99).
    """

    _name = "lion"
    _decay = "decoupled"
    defaults = {"betas": (0.9, 0.99)}

    def update(self, u: Update) -> Tensor:
        first, second = u.settings["betas"]
        m = u.slot("m")
        direction = _core.sign(m * first + u.grad * (1.0 - first))
        u.put("m", m * second + u.grad * (1.0 - second))
        return u.param - u.lr * direction
