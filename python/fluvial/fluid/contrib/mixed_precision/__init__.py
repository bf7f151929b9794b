"""Training with products and convolutions in float16, with Fluid's names.

The program is there when an optimizer is decorated, so its calls are rewritten: those of the white list take float32 as
float16 and give it back as float32. Parameters, updates and all else stay as they are. The loss is multiplied by a number,
so that small gradients are not lost, and gradients are divided by it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .... import _core
from ...._fault import fault
from ... import layers, unique_name
from ..._lists import listed
from ...framework import Program, Variable, applied, default_main_program, in_dygraph_mode, program_guard

__all__ = ["AutoMixedPrecisionLists", "CustomOpLists", "OptimizerWithMixedPrecision", "decorate"]

#: Fluid's operators that may compute in float16, and the ops that they are here.
_NARROW = {
    **dict.fromkeys(("conv2d", "conv3d", "depthwise_conv2d"), "conv"),
    **dict.fromkeys(("conv2d_transpose", "conv3d_transpose", "depthwise_conv2d_transpose"), "conv_transpose"),
    **dict.fromkeys(("mul", "matmul"), "matmul"),
}


class AutoMixedPrecisionLists:
    """Which of Fluid's operators compute in float16.

    Args:
        custom_white_list: More of them: convolutions and products.
        custom_black_list: Those that compute in float32 nevertheless.
        custom_black_varnames: Refused: ops know their inputs, not the names of variables.
    """

    def __init__(
        self,
        custom_white_list: Iterable[str] | None = None,
        custom_black_list: Iterable[str] | None = None,
        custom_black_varnames: Iterable[str] | None = None,
    ) -> None:
        if isinstance(custom_white_list, str) or isinstance(custom_black_list, str):
            raise fault(TypeError, "a list of operators is a set or a list, not a string", 'write `{"conv2d"}`')
        white, black = set(custom_white_list or ()), set(custom_black_list or ())
        if white & black:
            raise fault(ValueError, f"{sorted(white & black)[0]!r} is in both lists", "leave it out of one of them")
        others = sorted(white - set(_NARROW))
        if others:
            raise fault(
                NotImplementedError, f"`{others[0]}` computes in float32 here", f"the white list has {', '.join(_NARROW)}"
            )
        if custom_black_varnames:
            raise fault(
                NotImplementedError, "variables cannot be kept in float32 by their names", "use `custom_black_list`"
            )
        self.white_list = ({"conv2d", "matmul", "mul"} | white) - black
        self.black_list = black
        wanted, kept = {_NARROW[name] for name in self.white_list}, {_NARROW[name] for name in black & set(_NARROW)}
        if wanted & kept:
            names = [name for name, op in _NARROW.items() if op in wanted & kept]
            raise fault(
                NotImplementedError, f"{', '.join(names)} are one op here", "put all of them into the black list, or none"
            )
        self._ops = sorted(wanted)


CustomOpLists = AutoMixedPrecisionLists


class OptimizerWithMixedPrecision:
    """An optimizer whose programs compute products and convolutions in float16; `decorate` makes it.

    Args:
        optimizer: The optimizer.
        amp_lists: Which operators compute in float16.
        init_loss_scaling: The first factor of the loss.
        use_dynamic_loss_scaling: Whether the factor changes.
        incr_every_n_steps: After how many good steps it grows.
        decr_every_n_nan_or_inf: After how many steps with infinite gradients or NaN it becomes smaller.
        incr_ratio: By how much it grows.
        decr_ratio: By how much it becomes smaller.
    """

    def __init__(
        self,
        optimizer: Any,
        amp_lists: AutoMixedPrecisionLists,
        init_loss_scaling: float,
        use_dynamic_loss_scaling: bool,
        incr_every_n_steps: int,
        decr_every_n_nan_or_inf: int,
        incr_ratio: float,
        decr_ratio: float,
    ) -> None:
        if in_dygraph_mode():
            raise fault(
                NotImplementedError,
                "a program is rewritten, and ops run at once here",
                "use `fluvial.autocast` and `fluvial.GradScaler`, or build a program outside of `dygraph.guard`",
            )
        if not (init_loss_scaling > 0 and incr_ratio > 1 and 0 < decr_ratio < 1):
            raise fault(ValueError, "the factor is above 0, grows by more than 1, and becomes smaller by less than 1")
        if incr_every_n_steps < 1 or decr_every_n_nan_or_inf < 1:
            raise fault(ValueError, "the factor changes after at least one step")
        self._optimizer, self._lists, self._is_dynamic = optimizer, amp_lists, use_dynamic_loss_scaling
        self._limits = incr_every_n_steps, decr_every_n_nan_or_inf
        self._ratios = float(incr_ratio), float(decr_ratio)
        self._scaled_loss: Variable | None = None
        self._narrow: set[int] = set()
        self._loss_scaling = self._state("loss_scaling", float(init_loss_scaling), "float32")
        if use_dynamic_loss_scaling:
            self._good, self._bad = (self._state(name, 0, "int64") for name in ("num_good_steps", "num_bad_steps"))

    @staticmethod
    def _state(name: str, value: float, dtype: str) -> Any:
        return layers.create_global_var([1], value, dtype, persistable=True, name=unique_name.generate(name))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._optimizer, name)

    def get_loss_scaling(self) -> Variable:
        """The factor of the loss, which a run can fetch."""
        return self._loss_scaling

    def get_scaled_loss(self) -> Variable | None:
        """The loss times the factor, after `backward`."""
        return self._scaled_loss

    def backward(
        self, loss: Variable, startup_program: Program | None = None, parameter_list: Any = None,
        no_grad_set: Any = None, callbacks: Any = None,
    ) -> list[tuple[Any, Any]]:  # fmt: skip
        """Rewrites the program, and appends gradients; gives parameters with their gradients, divided by the factor.

        Args:
            loss: A variable of one element, of the outermost block.
            startup_program: Where first values are made.
            parameter_list: What is trained.
            no_grad_set: What is not.
            callbacks: Refused; see `append_backward`.
        """
        block = getattr(loss, "block", None)
        if block is None or block.parent is not None:
            raise fault(ValueError, "the loss is not a variable of the outermost block of a program")
        program: Program = block.program
        with program_guard(program):
            if id(program) not in self._narrow:
                program._replace(program._closed().narrowed("float16", self._lists._ops))
                self._narrow.add(id(program))
            self._scaled_loss = loss * self._loss_scaling
            pairs = self._optimizer.backward(
                self._scaled_loss, startup_program, parameter_list, no_grad_set, callbacks
            )
            return [(var, layers.elementwise_div(grad, self._loss_scaling)) for var, grad in pairs]

    def apply_gradients(self, params_grads: Any) -> Any:
        """Appends updates. A step with infinite gradients or NaN is one with zeros, and counts against the factor.

        Args:
            params_grads: What `backward` gave.
        """
        pairs = listed(params_grads, "gradients")
        if self._is_dynamic:
            found = applied(
                self._checked, "update_loss_scaling", [grad for _, grad in pairs], self._loss_scaling, self._good, self._bad
            )
            for value, state in zip(found[1], (self._loss_scaling, self._good, self._bad)):
                layers.assign(value, state)
            pairs = [(var, grad) for (var, _), grad in zip(pairs, found[0])]
        return self._optimizer.apply_gradients(pairs)

    def _checked(self, grads: list[Any], scale: Any, good: Any, bad: Any) -> Any:
        """Gradients, or zeros if some are not finite; and the next factor and counts."""
        finite = _core.all(_core.isfinite(grads[0]))
        for grad in grads[1:]:
            finite = _core.logical_and(finite, _core.all(_core.isfinite(grad)))
        kept = [_core.where(finite, grad, _core.zeros_like(grad)) for grad in grads]
        none = _core.zeros_like(good)
        good, bad = _core.where(finite, good + 1, none), _core.where(finite, none, bad + 1)
        grows, falls = good >= self._limits[0], bad >= self._limits[1]
        larger = scale * self._ratios[0]
        larger = _core.where(_core.isfinite(larger), larger, scale)
        smaller = _core.maximum(scale * self._ratios[1], 1.0)
        scale = _core.where(grows, larger, _core.where(falls, smaller, scale))
        return kept, [scale, _core.where(grows, none, good), _core.where(falls, none, bad)]

    def minimize(
        self, loss: Variable, startup_program: Program | None = None, parameter_list: Any = None, no_grad_set: Any = None
    ) -> tuple[Any, list[tuple[Any, Any]]]:
        """`backward` and `apply_gradients`; see `Optimizer.minimize`."""
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        program = loss.block.program if loss.block is not None else default_main_program()
        with program_guard(program, startup_program):
            return self.apply_gradients(pairs), pairs


def decorate(
    optimizer: Any,
    amp_lists: AutoMixedPrecisionLists | None = None,
    init_loss_scaling: float = 2**15,
    incr_every_n_steps: int = 1000,
    decr_every_n_nan_or_inf: int = 2,
    incr_ratio: float = 2.0,
    decr_ratio: float = 0.8,
    use_dynamic_loss_scaling: bool = True,
) -> OptimizerWithMixedPrecision:
    """An optimizer whose programs compute products and convolutions in float16. Defaults are those of Fluid 1.8.

    Args:
        optimizer: The optimizer.
        amp_lists: Which operators compute in float16; conv2d, matmul and mul unless said.
        init_loss_scaling: The first factor of the loss.
        incr_every_n_steps: After how many good steps it grows.
        decr_every_n_nan_or_inf: After how many steps with infinite gradients or NaN it becomes smaller.
        incr_ratio: By how much it grows.
        decr_ratio: By how much it becomes smaller.
        use_dynamic_loss_scaling: Whether the factor changes.
    """
    return OptimizerWithMixedPrecision(
        optimizer, amp_lists or AutoMixedPrecisionLists(), init_loss_scaling, use_dynamic_loss_scaling,
        incr_every_n_steps, decr_every_n_nan_or_inf, incr_ratio, decr_ratio,
    )  # fmt: skip
