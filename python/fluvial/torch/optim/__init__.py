"""PyTorch's `torch.optim`: the optimizers of `fluvial.optimizer` with PyTorch's positions and rates."""

from __future__ import annotations

import builtins

from ... import optimizer as _ours
from ...optimizer import Optimizer
from . import lr_scheduler, swa_utils

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _rest(owner: type, options: dict[str, Any]) -> None:
    """Takes options that only say how fast something is computed, and refuses those that change what is computed."""
    from ..._fault import fault

    for name, value in options.items():
        if name in ("foreach", "fused"):
            continue
        if name not in ("maximize", "capturable", "differentiable"):
            raise fault(TypeError, f"`{owner.__name__}` has no argument `{name}`", "PyTorch's names are taken; `help` lists them")
        if value:
            remedy = "minimise the negative: `(-loss).backward()`" if name == "maximize" else "leave it out"
            raise fault(ValueError, f"`{name}` is not there", remedy)


class SGD(_ours.SGD):
    """Gradient descent, with momentum if it is given."""

    def __init__(
        self, params: Any, lr: Any = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float = 0,
        nesterov: builtins.bool = False, **rest: Any,
    ) -> None:  # fmt: skip
        _rest(type(self), rest)
        options = {"momentum": momentum, "dampening": dampening, "nesterov": nesterov} if momentum else {}
        super().__init__(params, lr, weight_decay=weight_decay, **options)


class Adam(_ours.Adam):
    """Adam."""

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        amsgrad: builtins.bool = False, *, decoupled_weight_decay: builtins.bool = False, **rest: Any,
    ) -> None:  # fmt: skip
        _rest(type(self), rest)
        super().__init__(params, lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, decoupled=decoupled_weight_decay)


class AdamW(_ours.AdamW):
    """Adam with decoupled weight decay."""

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2,
        amsgrad: builtins.bool = False, **rest: Any,
    ) -> None:  # fmt: skip
        _rest(type(self), rest)
        super().__init__(params, lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad)


class RMSprop(_ours.RMSProp):
    """RMSprop."""

    def __init__(
        self, params: Any, lr: Any = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0,
        momentum: float = 0, centered: builtins.bool = False, **rest: Any,
    ) -> None:  # fmt: skip
        _rest(type(self), rest)
        super().__init__(params, lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum, centered=centered)


class Adagrad(_ours.Adagrad):
    """Adagrad."""

    def __init__(
        self, params: Any, lr: Any = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
        initial_accumulator_value: float = 0, eps: float = 1e-10, **rest: Any,
    ) -> None:  # fmt: skip
        _rest(type(self), rest)
        super().__init__(params, lr, lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator=initial_accumulator_value, eps=eps)


class Adadelta(_ours.Adadelta):
    """Adadelta."""

    def __init__(self, params: Any, lr: Any = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0, **rest: Any) -> None:
        _rest(type(self), rest)
        super().__init__(params, lr, rho=rho, eps=eps, weight_decay=weight_decay)


class Adamax(_ours.Adamax):
    """Adamax."""

    def __init__(self, params: Any, lr: Any = 2e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0, **rest: Any) -> None:
        _rest(type(self), rest)
        super().__init__(params, lr, betas=betas, eps=eps, weight_decay=weight_decay)


class NAdam(_ours.NAdam):
    """NAdam."""

    def __init__(
        self, params: Any, lr: Any = 2e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        momentum_decay: float = 4e-3, decoupled_weight_decay: builtins.bool = False, **rest: Any,
    ) -> None:  # fmt: skip
        _rest(type(self), rest)
        if momentum_decay != 4e-3:
            from ..._fault import fault

            raise fault(ValueError, f"`momentum_decay` is 0.004 here, not {momentum_decay}", "leave it out")
        super().__init__(params, lr, betas=betas, eps=eps, weight_decay=weight_decay, decoupled=decoupled_weight_decay)


class RAdam(_ours.RAdam):
    """RAdam."""

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        decoupled_weight_decay: builtins.bool = False, **rest: Any,
    ) -> None:  # fmt: skip
        _rest(type(self), rest)
        super().__init__(params, lr, betas=betas, eps=eps, weight_decay=weight_decay, decoupled=decoupled_weight_decay)


def __getattr__(name: str) -> object:
    found = getattr(_ours, name, None)
    if found is not None and isinstance(found, type) and issubclass(found, Optimizer):
        return found
    from .._missing import missing

    raise missing(__name__, name)
