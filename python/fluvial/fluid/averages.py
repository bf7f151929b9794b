"""Optimizers around others, and averages of parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from .. import _core
from .._fault import fault
from ._lists import listed
from . import unique_name
from .framework import (
    Program,
    State,
    Variable,
    default_main_program,
    default_startup_program,
    in_dygraph_mode,
    program_guard,
)

__all__ = ["ExponentialMovingAverage", "LookaheadOptimizer", "ModelAverage", "RecomputeOptimizer"]


class RecomputeOptimizer:
    """An optimizer whose gradients may be computed with less memory. What is computed again is chosen by the compiler,
    under `memory_limit`; checkpoints are taken as they are, and change nothing.

    Args:
        optimizer: The optimizer.
    """

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer
        self._checkpoints: list[Any] = []

    def _set_checkpoints(self, checkpoints: Sequence[Any]) -> None:
        self._checkpoints = listed(checkpoints, "checkpoints")

    def load(self, stat_dict: Any) -> None:
        """Refused, as in Fluid."""
        raise fault(NotImplementedError, "`RecomputeOptimizer` loads nothing", "call `load` of the inner optimizer")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._optimizer, name)


class LookaheadOptimizer:
    """Every `k` steps, parameters go back to `alpha` of the way from where they were `k` steps before.

    Args:
        inner_optimizer: Makes the steps.
        alpha: The share of the way.
        k: How many steps.
    """

    def __init__(self, inner_optimizer: Any, alpha: float = 0.5, k: int = 5) -> None:
        if not 0.0 <= alpha <= 1.0 or k < 1:
            raise fault(ValueError, f"alpha is {alpha} and k is {k}", "0 <= alpha <= 1 and k >= 1")
        self.inner_optimizer, self.alpha, self.k, self.type = inner_optimizer, alpha, k, "lookahead"

    def minimize(self, loss: Variable, startup_program: Program | None = None) -> Any:
        """Appends the steps to the program.

        Args:
            loss: A variable of one element.
            startup_program: Where initial values are made.
        """
        if in_dygraph_mode() or loss.block is None:
            raise fault(NotImplementedError, "`LookaheadOptimizer` is for programs", "use it outside of `dygraph.guard`")
        program = loss.block.program
        with program_guard(program, startup_program or default_startup_program()):
            block = program.global_block()
            count = _counter(block, "lookahead_step")
            trained = [var for var in block.all_parameters() if var.trainable]
            with block.building():
                number = count.read(block) + 1
                before = [var.read(block) for var in trained]  # type: ignore[attr-defined]
                count.assign(block, number)
                is_due = _core.reshape(_core.eq(number % self.k, 0), ())
                is_first = _core.reshape(_core.eq(number, 1), ())
            done = self.inner_optimizer.minimize(loss, startup_program)
            for var, first in zip(trained, before):
                slow = State.of(
                    block, f"{var.name}@SLOW", var.shape, var.dtype, 0.0, startup=default_startup_program()
                )
                with block.building():
                    old, fast = _core.where(is_first, first, slow.read(block)), var.read(block)  # type: ignore[attr-defined]
                    near = old + self.alpha * (fast - old)
                    slow.assign(block, _core.where(is_due, near, old))
                    var.assign(block, _core.where(is_due, near, fast))  # type: ignore[attr-defined]
        return done


def _counter(block: Any, name: str) -> State:
    return State.of(block, unique_name.generate(name), (1,), "int64", 0, startup=default_startup_program())


class _Averaged:
    """Parameters replaced by averages for a while."""

    def _averages(self, state: Any) -> dict[str, Any]:
        raise NotImplementedError

    @contextlib.contextmanager
    def apply(self, executor: Any = None, need_restore: bool = True) -> Iterator[None]:
        """A scope in which parameters are the averages.

        Args:
            executor: For Fluid's programs.
            need_restore: Whether they are put back at its end.
        """
        from .executor import global_scope

        state = global_scope()._state
        self._kept = {name: state[name] for name in self._averages(state)}
        for name, value in self._averages(state).items():
            state[name] = value
        try:
            yield
        finally:
            if need_restore:
                self.restore(executor)

    _kept: dict[str, Any] = {}

    def restore(self, executor: Any = None) -> None:
        """Puts parameters back.

        Args:
            executor: For Fluid's programs.
        """
        from .executor import global_scope

        state = global_scope()._state
        for name, value in self._kept.items():
            state[name] = value
        self._kept = {}


class ModelAverage(_Averaged):
    """Means of parameters over the last steps.

    Args:
        average_window_rate: The share of all steps that counts.
        min_average_window: At least so many steps count.
        max_average_window: At most so many.
        regularization: For Fluid's programs.
        name: For Fluid's programs.
    """

    def __init__(
        self, average_window_rate: float, min_average_window: int = 10000, max_average_window: int = 10000,
        regularization: Any = None, name: str | None = None,
    ) -> None:  # fmt: skip
        program = default_main_program()
        block = program.global_block()
        self._names: list[tuple[str, str]] = []
        startup = default_startup_program()
        self._counts = [
            State.of(block, unique_name.generate(f"model_average.{part}"), (1,), "int64", 0, startup=startup)
            for part in ("num_updates", "num_accumulates", "old_num_accumulates")
        ]
        chosen = [var for var in block.all_parameters() if var.do_model_average]
        with block.building():
            updates, now, old = (state.read(block) for state in self._counts)
            updates, now = updates + 1, now + 1
            window = _core.minimum(
                _core.cast(_core.cast(updates, "float64") * average_window_rate, "int64"),
                _core.full((1,), max_average_window, "int64"),
            )
            is_full = _core.logical_and(_core.ge(now, min_average_window), _core.ge(now, window))
            for state, value in zip(
                self._counts,
                (updates, _core.where(is_full, _core.zeros_like(now), now), _core.where(is_full, now, old)),
            ):
                state.assign(block, value)
        for var in chosen:
            sums = [
                State.of(block, f"{var.name}_{part}", var.shape, var.dtype, 0.0, startup=startup)
                for part in ("sum_now", "sum_old")
            ]
            with block.building():
                total = sums[0].read(block) + block.raw(var)
                full = _core.reshape(is_full, ())
                sums[0].assign(block, _core.where(full, _core.zeros_like(total), total))
                sums[1].assign(block, _core.where(full, total, sums[1].read(block)))
            self._names.append((var.name, var.name))
        block._version += 1
        for state in self._counts:
            state._stop_gradient = True

    def _no_step(self, *_: Any, **__: Any) -> Any:
        raise fault(
            RuntimeError,
            "`ModelAverage` keeps means, and trains nothing",
            "call this of the optimizer that trains, and `apply` of this one",
        )

    # Fluid's class has them from `Optimizer`; they do nothing of use there either.
    def minimize(
        self, loss: Any, startup_program: Any = None, parameter_list: Any = None, no_grad_set: Any = None,
        grad_clip: Any = None,
    ) -> Any:  # fmt: skip
        """Refused."""
        return self._no_step()

    def backward(
        self, loss: Any, startup_program: Any = None, parameter_list: Any = None, no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> Any:  # fmt: skip
        """Refused."""
        return self._no_step()

    def apply_gradients(self, params_grads: Any) -> Any:
        """Refused."""
        return self._no_step()

    def apply_optimize(self, loss: Any, startup_program: Any, params_grads: Any) -> Any:
        """Refused."""
        return self._no_step()

    def load(self, stat_dict: Any) -> Any:
        """Refused: it is for optimizers under `dygraph.guard`."""
        return self._no_step()

    def get_opti_var_name_list(self) -> list[str]:
        """Names of what it remembers."""
        sums = [f"{name}_{part}" for name, _ in self._names for part in ("sum_now", "sum_old")]
        return [*(state.name for state in self._counts), *sums]

    def _averages(self, state: Any) -> dict[str, Any]:
        count = sum(int(state[part.name].item()) for part in self._counts[1:])
        if count == 0:
            return {name: state[name] for name, _ in self._names}
        return {
            name: (state[f"{name}_sum_now"] + state[f"{name}_sum_old"]) / float(count) for name, _ in self._names
        }


class ExponentialMovingAverage(_Averaged):
    """Fading means of parameters.

    Args:
        decay: How much of the mean is kept.
        thres_steps: A variable with the number of steps: the first ones count more.
        name: What names of its states begin with.
    """

    def __init__(self, decay: float = 0.999, thres_steps: Variable | None = None, name: str | None = None) -> None:
        self._decay, self._thres, self._name = float(decay), thres_steps, name or ""
        block = default_main_program().global_block()
        startup = default_startup_program()
        self._params = [var for var in block.all_parameters() if var.do_model_average]
        self._means = [
            State.of(block, unique_name.generate(f"{self._name}{var.name}_ema"), var.shape, var.dtype, 0.0,
                     startup=startup)
            for var in self._params
        ]  # fmt: skip
        label = unique_name.generate(f"{self._name}ema_decay_pow")
        self._power = State.of(block, label, (1,), "float32", 1.0, startup=startup)

    def update(self) -> None:
        """Appends the update of the means to the program; call it behind `minimize`."""
        block = default_main_program().global_block()
        with block.building():
            decay: Any = _core.full((), self._decay, "float32")
            if self._thres is not None:
                steps = _core.reshape(_core.cast(block.raw(self._thres), "float32"), ())
                decay = _core.minimum(decay, (steps + 1.0) / (steps + 10.0))
            for var, mean in zip(self._params, self._means):
                value = var.read(block)  # type: ignore[attr-defined]
                mean.assign(block, mean.read(block) * decay + value * (1.0 - decay))
            self._power.assign(block, self._power.read(block) * decay)
        block._version += 1

    def _averages(self, state: Any) -> dict[str, Any]:
        left = 1.0 - float(state[self._power.name].item())
        return {
            var.name: state[mean.name] / left if left > 0.0 else state[var.name]
            for var, mean in zip(self._params, self._means)
        }
