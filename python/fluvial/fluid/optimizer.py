"""Optimizers with Fluid's names, arguments, defaults and formulas, in programs and under `dygraph.guard`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .._fault import fault
from ._lists import listed
from ._optimizing import Optimizer
from ._rules import DGCMomentum
from ._versions import formerly
from .averages import ExponentialMovingAverage, LookaheadOptimizer, ModelAverage, RecomputeOptimizer
from .clip import GradientClipByNorm
from .framework import CALLS, Variable, in_dygraph_mode
from .regularizer import L1Decay, L2Decay

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


class DGCMomentumOptimizer(Optimizer):
    """Momentum that sends little: from a step on, only the largest elements of gradients are taken, and others gather until
    they are among them. There is one machine here, which computes what each of several would. Parameters with fewer than
    16384 elements are updated by plain momentum.

    Args:
        learning_rate: The rate.
        momentum: The share of velocity that is kept.
        rampup_begin_step: The step from which it is so.
        rampup_step: Over how many steps the shares of `sparsity` are gone through.
        sparsity: Which shares of elements wait, one after the other.
        parameter_list: What is trained.
        use_nesterov: Whether `g + momentum * v` is the direction.
        num_trainers: How many machines the largest norm is for.
        regularization: A penalty for parameters that have none of their own.
        grad_clip: `GradientClipByNorm`, whose norm is divided by the root of `num_trainers` once elements wait.
        name: What names of its states begin with.
        local_grad_clip_norm: The largest norm in Fluid 1.5, which is divided by the square of `num_trainers`.
    """

    type = "dgc_momentum"

    @formerly(
        "self learning_rate momentum rampup_begin_step rampup_step sparsity use_nesterov local_grad_clip_norm num_trainers "
        "regularization name"
    )
    def __init__(
        self, learning_rate: Any, momentum: float, rampup_begin_step: int, rampup_step: int = 1,
        sparsity: Sequence[float] = (0.999,), parameter_list: Any = None, use_nesterov: bool = False,
        num_trainers: int | None = None, regularization: Any = None, grad_clip: Any = None, name: str | None = None,
        local_grad_clip_norm: float | None = None,
    ) -> None:  # fmt: skip
        if in_dygraph_mode():
            raise fault(
                NotImplementedError, "In dygraph, don't support DGCMomentumOptimizer.", "use it in a program, or `Momentum` here"
            )
        shares = tuple(float(share) for share in listed(sparsity, "shares"))
        if not shares or not all(0.0 < share <= 1.0 for share in shares):
            raise fault(ValueError, f"the shares {list(shares)} of elements wait", "give some between 0 and 1, such as [0.75, 0.999]")
        if rampup_begin_step < 0 or rampup_step < 1:
            raise fault(ValueError, f"from step {rampup_begin_step}, over {rampup_step} steps", "give 0 or more, and 1 or more")
        norm = 0.0
        if grad_clip is not None or local_grad_clip_norm is not None:
            if grad_clip is not None and not isinstance(grad_clip, GradientClipByNorm):
                raise fault(TypeError, f"gradients that wait are not cut down by {grad_clip!r}", "use `GradientClipByNorm`")
            if not isinstance(num_trainers, int) or num_trainers < 1:
                raise fault(ValueError, f"`num_trainers` is {num_trainers!r}", "say how many machines the norm is for; 1 here")
            by_root = 0.0 if grad_clip is None else grad_clip.clip_norm / num_trainers**0.5
            norm = by_root if local_grad_clip_norm is None else float(local_grad_clip_norm) / num_trainers**2
        self._of_all = grad_clip
        super().__init__(
            learning_rate, parameter_list, regularization, None, name, momentum=float(momentum),
            nesterov=bool(use_nesterov), begin=float(rampup_begin_step), over=float(rampup_step), clip=norm,
        )  # fmt: skip
        self._shares = shares

    def _kind(self) -> Any:
        return type("DGCMomentum", (DGCMomentum,), {"sparsity": self._shares})

    @staticmethod
    def _waits(var: Any) -> bool:
        return math.prod(var.shape) >= 16384 and var._dtype_name() == "float32"

    def _settings(self, var: Any) -> dict[str, Any]:
        if not self._waits(var):
            return {"waits": False}
        # A gradient is cut down before its penalty is added, once elements wait, which the rule knows.
        penalty = var.regularizer or self.regularization
        if penalty is None:
            return {}
        if not isinstance(penalty, (L1Decay, L2Decay)):
            raise fault(TypeError, f"{penalty!r} is not a penalty of gradients that wait", "use `L1Decay` or `L2Decay`")
        return {"l1" if isinstance(penalty, L1Decay) else "l2": penalty.factor}

    def _prepared(self, params: list[Any], gradients: list[Any], value: Callable[[Any], Any], rows: list[Any]) -> Any:
        small = [i for i, var in enumerate(params) if not self._waits(var)]
        self._grad_clip = self._of_all
        plain, _ = super()._prepared([params[i] for i in small], [gradients[i] for i in small], value, [None] * len(small))
        ready = dict(zip(small, plain))
        return [ready.get(i, gradient) for i, gradient in enumerate(gradients)], {}


class PipelineOptimizer:
    """Cuts a program over devices. There is one here, with all cores, so that a step is that of the inner optimizer.

    Args:
        optimizer: The inner optimizer.
        num_microbatches: How many parts of a batch are under way at a time: 1.
        start_cpu_core_id: For Fluid's programs.
        cut_list: For Fluid's programs: where the program of 1.5 is cut.
        place_list: For Fluid's programs: places of the parts.
        concurrency_list: For Fluid's programs.
        queue_size: For Fluid's programs.
        sync_steps: For Fluid's programs.
    """

    def __init__(
        self, optimizer: Any, num_microbatches: Any = 1, start_cpu_core_id: int = 0, *, cut_list: Any = None,
        place_list: Any = None, concurrency_list: Any = None, queue_size: int = 30, sync_steps: int = 1,
    ) -> None:  # fmt: skip
        if in_dygraph_mode():
            raise fault(NotImplementedError, "In dygraph, don't support PipelineOptimizer.", "use the inner optimizer")
        if not isinstance(optimizer, Optimizer):
            raise fault(TypeError, f"{optimizer!r} is not an optimizer", "give one such as `fluid.optimizer.SGD(0.1)`")
        if not isinstance(num_microbatches, int):
            # The second argument of 1.5 is where the program is cut.
            num_microbatches = 1
        if num_microbatches != 1:
            raise fault(
                NotImplementedError,
                f"{num_microbatches} parts of a batch are not under way at a time: there is one device",
                "feed the whole batch, whose mean loss has the same gradient, with the inner optimizer",
            )
        self._optimizer = optimizer

    def minimize(
        self, loss: Any, startup_program: Any = None, parameter_list: Any = None, no_grad_set: Any = None
    ) -> Any:
        """What `minimize` of the inner optimizer gives.

        Args:
            loss: A variable of one element.
            startup_program: Where initial values of its states are made.
            parameter_list: What is trained.
            no_grad_set: What is not.
        """
        return self._optimizer.minimize(loss, startup_program, parameter_list, no_grad_set)


SGD, Momentum, Adagrad, Adam, Adamax = SGDOptimizer, MomentumOptimizer, AdagradOptimizer, AdamOptimizer, AdamaxOptimizer
Dpsgd, DecayedAdagrad, Ftrl, Adadelta = DpsgdOptimizer, DecayedAdagradOptimizer, FtrlOptimizer, AdadeltaOptimizer
LarsMomentum, RMSProp, Lamb = LarsMomentumOptimizer, RMSPropOptimizer, LambOptimizer
