"""Optimizers with Fluid's names, arguments, defaults and formulas, in programs and under `dygraph.guard`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._fault import fault
from ._optimizing import Optimizer
from ._versions import formerly
from .averages import ExponentialMovingAverage, LookaheadOptimizer, ModelAverage, RecomputeOptimizer
from .framework import CALLS, Variable

__all__ = [
    "SGD", "Momentum", "Adagrad", "Adam", "Adamax", "Dpsgd", "DecayedAdagrad", "Ftrl", "SGDOptimizer",
    "MomentumOptimizer", "AdagradOptimizer", "AdamOptimizer", "AdamaxOptimizer", "DpsgdOptimizer",
    "DecayedAdagradOptimizer", "RMSPropOptimizer", "FtrlOptimizer", "Adadelta", "AdadeltaOptimizer", "ModelAverage",
    "LarsMomentum", "LarsMomentumOptimizer", "LambOptimizer", "ExponentialMovingAverage", "PipelineOptimizer",
    "LookaheadOptimizer", "RecomputeOptimizer", "DGCMomentumOptimizer", "RMSProp", "Lamb",
]  # fmt: skip


class SGDOptimizer(Optimizer):
    """`w -= learning_rate * g`."""

    type = "sgd"
    _by_rows = True


class MomentumOptimizer(Optimizer):
    """`v = momentum * v + g`, then `w -= learning_rate * v`.

    Args:
        learning_rate: The rate.
        momentum: The share of `v` that is kept.
        parameter_list: What is trained, under `dygraph.guard`.
        use_nesterov: Whether `g + momentum * v` is the direction.
    """

    type = "momentum"

    @formerly("self learning_rate momentum use_nesterov regularization name")
    def __init__(
        self, learning_rate: Any, momentum: float, parameter_list: Any = None, use_nesterov: bool = False,
        regularization: Any = None, grad_clip: Any = None, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            learning_rate, parameter_list, regularization, grad_clip, name, momentum=float(momentum),
            nesterov=bool(use_nesterov),
        )  # fmt: skip


class LarsMomentumOptimizer(Optimizer):
    """Momentum with a rate for each parameter by norms.

    Args:
        learning_rate: The rate.
        momentum: The share of velocity that is kept.
        lars_coeff: The factor of the ratio of norms.
        lars_weight_decay: The factor of weight decay.
    """

    type = "lars_momentum"

    @formerly("self learning_rate momentum lars_coeff lars_weight_decay regularization name")
    def __init__(
        self, learning_rate: Any, momentum: float, lars_coeff: float = 0.001, lars_weight_decay: float = 0.0005,
        parameter_list: Any = None, regularization: Any = None, grad_clip: Any = None, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            learning_rate, parameter_list, regularization, grad_clip, name, momentum=float(momentum),
            lars_coeff=float(lars_coeff), lars_weight_decay=float(lars_weight_decay),
        )  # fmt: skip


class AdagradOptimizer(Optimizer):
    """`s += g²`, then `w -= learning_rate * g / (sqrt(s) + epsilon)`.

    Args:
        learning_rate: The rate.
        epsilon: Keeps the divisor from zero.
        initial_accumulator_value: Where sums of squares begin.
    """

    type = "adagrad"
    _by_rows = True

    @formerly("self learning_rate epsilon regularization name initial_accumulator_value")
    def __init__(
        self, learning_rate: Any, epsilon: float = 1e-6, parameter_list: Any = None, regularization: Any = None,
        grad_clip: Any = None, name: str | None = None, initial_accumulator_value: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(
            learning_rate, parameter_list, regularization, grad_clip, name, eps=float(epsilon),
            initial_accumulator=float(initial_accumulator_value),
        )  # fmt: skip


class AdamOptimizer(Optimizer):
    """Adam, with `epsilon` beside the root of the uncorrected second moment.

    Args:
        learning_rate: The rate.
        beta1: How much of the first moment is kept.
        beta2: How much of the second moment is kept.
        epsilon: Keeps the divisor from zero.
        lazy_mode: Whether of tables with `is_sparse`, rows that a batch has not used stay as they are, with their moments.
    """

    type = "adam"

    @formerly("self learning_rate beta1 beta2 epsilon regularization name lazy_mode")
    def __init__(
        self, learning_rate: Any = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
        parameter_list: Any = None, regularization: Any = None, grad_clip: Any = None, name: str | None = None,
        lazy_mode: bool = False,
    ) -> None:  # fmt: skip
        self._lazy = bool(lazy_mode)
        self._by_rows = self._lazy
        if lazy_mode and CALLS.touched is None:
            CALLS.touched = {}
        super().__init__(
            learning_rate, parameter_list, regularization, grad_clip, name, beta1=_number(beta1), beta2=_number(beta2),
            epsilon=float(epsilon),
        )  # fmt: skip


def _number(value: Any) -> float:
    if isinstance(value, Variable):
        raise fault(NotImplementedError, "a variable cannot be beta1 or beta2", "give a number")
    return float(value)


class AdamaxOptimizer(Optimizer):
    """Adam with the largest gradient, slowly forgotten, in place of the second moment.

    Args:
        learning_rate: The rate.
        beta1: How much of the first moment is kept.
        beta2: How much of the largest gradient is kept.
        epsilon: Keeps the divisor from zero.
    """

    type = "adamax"

    @formerly("self learning_rate beta1 beta2 epsilon regularization name")
    def __init__(
        self, learning_rate: Any = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
        parameter_list: Any = None, regularization: Any = None, grad_clip: Any = None, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            learning_rate, parameter_list, regularization, grad_clip, name, beta1=float(beta1), beta2=float(beta2),
            epsilon=float(epsilon),
        )  # fmt: skip


class DpsgdOptimizer(Optimizer):
    """Gradients cut down by their norm, with noise, for privacy.

    Args:
        learning_rate: The rate.
        clip: The largest norm.
        batch_size: The size of a batch, by which the noise is divided.
        sigma: The deviation of the noise.
    """

    type = "dpsgd"

    def __init__(
        self, learning_rate: Any = 0.001, clip: float = 0.9, batch_size: float = 0.999, sigma: float = 1e-8,
        parameter_list: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            learning_rate, parameter_list, clip=float(clip), batch_size=float(batch_size), sigma=float(sigma)
        )


class DecayedAdagradOptimizer(Optimizer):
    """`s = decay * s + (1 - decay) * g²`, then `w -= learning_rate * g / (sqrt(s) + epsilon)`.

    Args:
        learning_rate: The rate.
        decay: How much of the mean of squares is kept.
        epsilon: Keeps the divisor from zero.
    """

    type = "decayed_adagrad"

    @formerly("self learning_rate decay epsilon regularization name")
    def __init__(
        self, learning_rate: Any, decay: float = 0.95, epsilon: float = 1e-6, parameter_list: Any = None,
        regularization: Any = None, grad_clip: Any = None, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            learning_rate, parameter_list, regularization, grad_clip, name, kept=float(decay), epsilon=float(epsilon)
        )


class AdadeltaOptimizer(Optimizer):
    """Steps by the ratio of the means of former steps and of gradients. As in Fluid, the rate has no effect.

    Args:
        learning_rate: For Fluid's programs.
        epsilon: Keeps the divisor from zero.
        rho: How much of the means is kept.
    """

    type = "adadelta"

    @formerly("self learning_rate epsilon rho regularization name")
    def __init__(
        self, learning_rate: Any, epsilon: float = 1e-6, rho: float = 0.95, parameter_list: Any = None,
        regularization: Any = None, grad_clip: Any = None, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            learning_rate, parameter_list, regularization, grad_clip, name, epsilon=float(epsilon), rho=float(rho)
        )


class RMSPropOptimizer(Optimizer):
    """`w -= learning_rate * g / sqrt(mean_square + epsilon)`, perhaps with momentum, perhaps centred.

    Args:
        learning_rate: The rate.
        rho: How much of the mean of squares is kept.
        epsilon: Keeps the divisor from zero, under the root.
        momentum: The share of the former step that is kept.
        centered: Whether the mean gradient is subtracted.
    """

    type = "rmsprop"

    @formerly("self learning_rate rho epsilon momentum centered regularization name")
    def __init__(
        self, learning_rate: Any, rho: float = 0.95, epsilon: float = 1e-6, momentum: float = 0.0,
        centered: bool = False, parameter_list: Any = None, regularization: Any = None, grad_clip: Any = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            learning_rate, parameter_list, regularization, grad_clip, name, rho=float(rho), epsilon=float(epsilon),
            momentum=float(momentum), centered=bool(centered),
        )  # fmt: skip


class FtrlOptimizer(Optimizer):
    """Follow the regularised leader.

    Args:
        learning_rate: The rate.
        l1: The factor of absolute values.
        l2: The factor of squares.
        lr_power: The power of the sum of squares, negative.
    """

    type = "ftrl"

    @formerly("self learning_rate l1 l2 lr_power regularization name")
    def __init__(
        self, learning_rate: Any, l1: float = 0.0, l2: float = 0.0, lr_power: float = -0.5, parameter_list: Any = None,
        regularization: Any = None, grad_clip: Any = None, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            learning_rate, parameter_list, regularization, grad_clip, name, l1=float(l1), l2=float(l2),
            lr_power=float(lr_power),
        )  # fmt: skip


class LambOptimizer(Optimizer):
    """Adam's direction, with a rate for each parameter by the ratio of norms.

    Args:
        learning_rate: The rate.
        lamb_weight_decay: The factor of weight decay.
        beta1: How much of the first moment is kept.
        beta2: How much of the second moment is kept.
        epsilon: Keeps the divisor from zero.
        exclude_from_weight_decay_fn: Says of a parameter whether it has no weight decay.
    """

    type = "lamb"

    @formerly("self learning_rate lamb_weight_decay beta1 beta2 epsilon regularization exclude_from_weight_decay_fn name")
    def __init__(
        self, learning_rate: Any = 0.001, lamb_weight_decay: float = 0.01, beta1: float = 0.9, beta2: float = 0.999,
        epsilon: float = 1e-6, parameter_list: Any = None, regularization: Any = None, grad_clip: Any = None,
        exclude_from_weight_decay_fn: Callable[[Any], bool] | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            learning_rate, parameter_list, regularization, grad_clip, name, beta1=float(beta1), beta2=float(beta2),
            epsilon=float(epsilon), lamb_weight_decay=float(lamb_weight_decay),
        )  # fmt: skip
        self._excluded = exclude_from_weight_decay_fn

    def _settings(self, var: Any) -> dict[str, Any]:
        if self._excluded is not None and self._excluded(var):
            return {"lamb_weight_decay": 0.0}
        return {}


class DGCMomentumOptimizer(MomentumOptimizer):
    """Refused: gradients are not sent anywhere."""

    def __init__(
        self, learning_rate: Any, momentum: float, rampup_begin_step: int, rampup_step: int = 1,
        sparsity: Any = (0.999,), use_nesterov: bool = False, local_grad_clip_norm: float | None = None,
        num_trainers: int | None = None, regularization: Any = None, name: str | None = None, **_: Any,
    ) -> None:  # fmt: skip
        raise fault(
            NotImplementedError,
            "`DGCMomentumOptimizer` compresses gradients that are sent between machines",
            "use `MomentumOptimizer`",
        )


class PipelineOptimizer(Optimizer):
    """Refused: a program is not cut over devices."""

    def __init__(
        self, optimizer: Any, cut_list: Any = None, place_list: Any = None, concurrency_list: Any = None,
        queue_size: int = 30, sync_steps: int = 1, start_cpu_core_id: int = 0,
    ) -> None:  # fmt: skip
        raise fault(
            NotImplementedError,
            "`PipelineOptimizer` cuts a program over several devices",
            "use the inner optimizer; one process uses all cores",
        )


SGD, Momentum, Adagrad, Adam, Adamax = SGDOptimizer, MomentumOptimizer, AdagradOptimizer, AdamOptimizer, AdamaxOptimizer
Dpsgd, DecayedAdagrad, Ftrl, Adadelta = DpsgdOptimizer, DecayedAdagradOptimizer, FtrlOptimizer, AdadeltaOptimizer
LarsMomentum, RMSProp, Lamb = LarsMomentumOptimizer, RMSPropOptimizer, LambOptimizer
