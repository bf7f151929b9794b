"""Updates as Fluid makes them, where they differ from those of `fluvial.optimizer`."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from ..optimizer import Adagrad, Momentum, SGD
from ..optimizer import Optimizer as Rule

__all__ = ["RULES", "DGCMomentum", "Rule"]


def _norm(x: Any) -> Any:
    return _core.sqrt(_core.sum(x * x))


class Adam(Rule):
    """`lr * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon)`."""

    _name = "adam"
    defaults = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
    _aliases: dict[str, str] = {}

    def shared(self, step: Any, settings: dict[str, Any]) -> list[Any]:
        first = step.bias_correction(settings["beta1"])
        return [_core.sqrt(step.bias_correction(settings["beta2"])) / first]

    def update(self, u: Any) -> Any:
        beta1, beta2, epsilon = (u.settings[name] for name in ("beta1", "beta2", "epsilon"))
        m = u.slot("moment1") * beta1 + u.grad * (1.0 - beta1)
        v = u.slot("moment2") * beta2 + u.grad * u.grad * (1.0 - beta2)
        u.put("moment1", m)
        u.put("moment2", v)
        return u.param - u.lr * u.shared[0] * (m / (_core.sqrt(v) + epsilon))


class Adamax(Rule):
    """`lr / (1 - beta1^t) * m / max(|g|, beta2 * norm + epsilon)`."""

    _name = "adamax"
    defaults = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
    _aliases: dict[str, str] = {}

    def shared(self, step: Any, settings: dict[str, Any]) -> list[Any]:
        return [step.bias_correction(settings["beta1"])]

    def update(self, u: Any) -> Any:
        beta1, beta2, epsilon = (u.settings[name] for name in ("beta1", "beta2", "epsilon"))
        m = u.slot("moment") * beta1 + u.grad * (1.0 - beta1)
        norm = _core.maximum(_core.abs(u.grad), u.slot("inf_norm") * beta2 + epsilon)
        u.put("moment", m)
        u.put("inf_norm", norm)
        return u.param - u.lr / u.shared[0] * (m / norm)


class DecayedAdagrad(Rule):
    """`lr * g / (sqrt(moment) + epsilon)`, where `moment` is a fading mean of squares."""

    _name = "decayed_adagrad"
    defaults = {"kept": 0.95, "epsilon": 1e-6}
    _aliases: dict[str, str] = {}

    def update(self, u: Any) -> Any:
        decay = u.settings["kept"]
        moment = u.slot("moment") * decay + u.grad * u.grad * (1.0 - decay)
        u.put("moment", moment)
        return u.param - u.lr * u.grad / (_core.sqrt(moment) + u.settings["epsilon"])


class Adadelta(Rule):
    """Steps without a rate, as Fluid makes them."""

    _name = "adadelta"
    defaults = {"epsilon": 1e-6, "rho": 0.95}
    _aliases: dict[str, str] = {}

    def update(self, u: Any) -> Any:
        rho, epsilon = u.settings["rho"], u.settings["epsilon"]
        squares = u.slot("avg_squared_grad") * rho + u.grad * u.grad * (1.0 - rho)
        change = _core.sqrt((u.slot("avg_squared_update") + epsilon) / (squares + epsilon)) * u.grad
        u.put("avg_squared_grad", squares)
        u.put("avg_squared_update", u.slot("avg_squared_update") * rho + change * change * (1.0 - rho))
        return u.param - change


class RMSProp(Rule):
    """`momentum * mom + lr * g / sqrt(mean_square - mean_grad² + epsilon)`."""

    _name = "rmsprop"
    defaults = {"rho": 0.95, "epsilon": 1e-6, "momentum": 0.0, "centered": False}
    _aliases: dict[str, str] = {}

    def update(self, u: Any) -> Any:
        rho = u.settings["rho"]
        squares = u.slot("mean_square") * rho + u.grad * u.grad * (1.0 - rho)
        u.put("mean_square", squares)
        below = squares + u.settings["epsilon"]
        if u.settings["centered"]:
            mean = u.slot("mean_grad") * rho + u.grad * (1.0 - rho)
            u.put("mean_grad", mean)
            below = below - mean * mean
        step = u.slot("momentum") * u.settings["momentum"] + u.lr * u.grad / _core.sqrt(below)
        u.put("momentum", step)
        return u.param - step


class Ftrl(Rule):
    """Follow the regularised leader."""

    _name = "ftrl"
    defaults = {"l1": 0.0, "l2": 0.0, "lr_power": -0.5}
    _aliases: dict[str, str] = {}

    def update(self, u: Any) -> Any:
        l1, l2, power = u.settings["l1"], u.settings["l2"], -u.settings["lr_power"]
        squares = u.slot("squared")
        total = squares + u.grad * u.grad

        def raised(x: Any) -> Any:
            return _core.sqrt(x) if power == 0.5 else _core.pow(x, power)

        linear = u.slot("linear") + u.grad - (raised(total) - raised(squares)) / u.lr * u.param
        u.put("squared", total)
        u.put("linear", linear)
        below = raised(total) / u.lr + 2.0 * l2
        found = (_core.sign(linear) * l1 - linear) / below
        return _core.where(_core.abs(linear) > l1, found, _core.zeros_like(found))


class LarsMomentum(Rule):
    """Momentum with a rate for each parameter, by the ratio of its norm to that of its gradient."""

    _name = "lars_momentum"
    defaults = {"momentum": 0.9, "lars_coeff": 0.001, "lars_weight_decay": 0.0005}
    _aliases: dict[str, str] = {}
    _elementwise = False

    def update(self, u: Any) -> Any:
        decay = u.settings["lars_weight_decay"]
        of_param, of_grad = _norm(u.param), _norm(u.grad)
        both = _core.logical_and(of_param > 0.0, of_grad > 0.0)
        below = _core.where(both, of_grad + decay * of_param, _core.ones_like(of_grad))
        ratio = _core.where(both, u.settings["lars_coeff"] * of_param / below, _core.ones_like(of_grad))
        velocity = u.slot("velocity") * u.settings["momentum"] + u.lr * ratio * (u.grad + decay * u.param)
        u.put("velocity", velocity)
        return u.param - velocity


class Lamb(Rule):
    """Adam's direction without its corrections, with a rate for each parameter by the ratio of norms."""

    _name = "lamb"
    defaults = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-6, "lamb_weight_decay": 0.01}
    _aliases: dict[str, str] = {}
    _elementwise = False

    def update(self, u: Any) -> Any:
        beta1, beta2, epsilon = (u.settings[name] for name in ("beta1", "beta2", "epsilon"))
        m = u.slot("moment1") * beta1 + u.grad * (1.0 - beta1)
        v = u.slot("moment2") * beta2 + u.grad * u.grad * (1.0 - beta2)
        u.put("moment1", m)
        u.put("moment2", v)
        way = m / (_core.sqrt(v) + epsilon) + u.settings["lamb_weight_decay"] * u.param
        of_param, of_way = _norm(u.param), _norm(way)
        both = _core.logical_and(of_param > 0.0, of_way > 0.0)
        below = _core.where(both, of_way, _core.ones_like(of_way))
        ratio = _core.where(both, of_param / below, _core.ones_like(of_way))
        return u.param - u.lr * ratio * way


class Dpsgd(Rule):
    """Gradients cut down by their norm, with noise, for privacy."""

    _name = "dpsgd"
    defaults = {"clip": 0.9, "batch_size": 0.999, "sigma": 1e-8}
    _aliases: dict[str, str] = {}
    _elementwise = False

    def update(self, u: Any) -> Any:
        norm = _norm(u.grad)
        scale = _core.maximum(norm / u.settings["clip"], _core.ones_like(norm))
        noise = _core.cast(_core.normal("f32[]"), u.param.dtype) * u.settings["sigma"]
        return u.param - u.lr * (u.grad / scale + noise / u.settings["batch_size"])


class DGCMomentum(Rule):
    """Momentum of which, from a step on, only the largest elements of what has gathered are taken; others wait."""

    _name = "dgc_momentum"
    defaults = {
        "momentum": 0.9, "nesterov": False, "begin": 0.0, "over": 1.0, "clip": 0.0, "l1": 0.0, "l2": 0.0,
        "waits": True,
    }  # fmt: skip
    _aliases: dict[str, str] = {}
    _elementwise = False
    #: Which shares of elements wait, one after the other.
    sparsity: tuple[float, ...] = (0.999,)

    def shared(self, step: Any, settings: dict[str, Any]) -> list[Any]:
        # Steps count from one.
        since = _core.cast(step.t, "float32") - 1.0 - settings["begin"]
        shares = _core.tensor(list(self.sparsity), "float32")
        number = _core.floor(since * float(shares.shape[0]) / settings["over"])
        place = _core.cast(_core.clip(number, 0.0, float(shares.shape[0] - 1)), "int64")
        return [since, 1.0 - _core.gather(shares, place, 0)]

    def update(self, u: Any) -> Any:
        momentum, is_nesterov = u.settings["momentum"], u.settings["nesterov"]
        count = math.prod(u.param.shape)
        velocity = u.slot("velocity")
        penalty = u.settings["l1"] * _core.sign(u.param) + u.settings["l2"] * u.param
        plain = velocity * momentum + (u.grad + penalty)
        way = u.grad + penalty + momentum * plain if is_nesterov else plain
        if not u.settings["waits"]:
            u.put("velocity", plain)
            return u.param - u.lr * way
        since, share = u.shared
        has_begun = since >= 0.0
        grad = u.grad
        if u.settings["clip"]:
            grad = grad * (u.settings["clip"] / _core.maximum(_norm(grad), u.settings["clip"]))
        grad = grad + penalty
        moved = momentum * (velocity + grad) if is_nesterov else velocity * momentum + grad
        gathered = u.slot("waiting") + moved
        if is_nesterov:
            gathered = gathered + grad
        size = _core.reshape(_core.abs(gathered), (-1,))
        rank = _core.argsort(_core.argsort(size, 0, True), 0)
        most = _core.maximum(_core.floor(share * float(count)), 1.0)
        is_taken = _core.reshape(_core.cast(rank, "float32") < most, u.param.shape)
        u.put("velocity", _core.where(has_begun, _core.where(is_taken, 0.0, moved), plain))
        u.put("waiting", _core.where(_core.logical_and(has_begun, _core.logical_not(is_taken)), gathered, 0.0))
        return u.param - u.lr * _core.where(has_begun, _core.where(is_taken, gathered, 0.0), way)


#: Rules by the name that Fluid's operators have.
RULES: dict[str, type[Rule]] = {
    "sgd": SGD,
    "momentum": Momentum,
    "adagrad": Adagrad,
    "adam": Adam,
    "adamax": Adamax,
    "decayed_adagrad": DecayedAdagrad,
    "adadelta": Adadelta,
    "rmsprop": RMSProp,
    "ftrl": Ftrl,
    "lars_momentum": LarsMomentum,
    "lamb": Lamb,
    "dpsgd": Dpsgd,
    "dgc_momentum": DGCMomentum,
}
