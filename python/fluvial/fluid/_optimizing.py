"""What all of Fluid's optimizers share: the learning rate, gradients, penalties, and how a step is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import _core
from .._fault import fault
from ._lists import listed
from . import _sparse
from ..optimizer.lr import Schedule
from . import unique_name
from ._rules import RULES
from ._versions import formerly
from .backward import append_backward
from .clip import GradientClipBase, cut_down
from .framework import (
    CALLS,
    Program,
    State,
    Variable,
    default_main_program,
    default_startup_program,
    in_dygraph_mode,
    program_guard,
)

__all__ = ["Optimizer"]


_INSIDE = "; inside of a block, compute the whole loss there, or all of it outside"


class Optimizer:
    """What all optimizers share.

    Args:
        learning_rate: A number, a variable, or, under `dygraph.guard`, a decay of `fluid.dygraph`.
        parameter_list: What is trained, under `dygraph.guard`; all parameters if nothing is said.
        regularization: A penalty for parameters that have none of their own.
        grad_clip: How gradients are cut down.
        name: What names of its states begin with.
    """

    #: The name of its rule.
    type = ""
    #: Whether of sparse tables only the rows that were used are updated; whether others would change otherwise.
    _by_rows = _lazy = False

    @formerly("self learning_rate regularization name")
    def __init__(
        self,
        learning_rate: Any,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        if not self.type:
            raise fault(TypeError, "`Optimizer` itself updates nothing", "use one such as `fluid.optimizer.SGD`")
        if isinstance(learning_rate, bool) or not (
            isinstance(learning_rate, (int, float, Variable)) or callable(learning_rate)
        ):
            raise fault(TypeError, f"{learning_rate!r} is not a learning rate", "give a number or a variable")
        if grad_clip is not None and not isinstance(grad_clip, GradientClipBase):
            raise fault(TypeError, f"gradients cannot be cut down by {grad_clip!r}", "see `fluid.clip`")
        if regularization is not None and not hasattr(regularization, "add_to"):
            raise fault(TypeError, f"{regularization!r} is not a penalty", "see `fluid.regularizer`")
        self._learning_rate = learning_rate
        self._parameter_list = None if parameter_list is None else listed(parameter_list, "parameters")
        self.regularization, self._grad_clip = regularization, grad_clip
        self._name = name or unique_name.generate(self.type)
        self._options = options
        #: For each program: the variable of the rate.
        self._rates: dict[int, tuple[Program, Variable]] = {}
        #: Under `dygraph.guard`: the rule, and the parameters that it was made for.
        self._rule: Any = None
        self._rule_params: list[Any] = []
        self._current: float | None = None
        self._loaded: dict[str, Any] = {}

    # The rate -------------------------------------------------------------------------------------

    def _global_learning_rate(self, program: Program | None = None) -> Variable | None:
        """The variable of the rate in a program."""
        program = program or default_main_program()
        known = self._rates.get(id(program))
        return None if known is None else known[1]

    def _rate_in(self, program: Program, dtype: str = "float32") -> Variable:
        known = self._rates.get(id(program))
        if known is not None:
            return known[1]
        if isinstance(self._learning_rate, Variable):
            rate: Variable = self._learning_rate
        elif isinstance(self._learning_rate, (int, float)):
            rate = State.of(
                program.global_block(), unique_name.generate("learning_rate"), (1,), dtype,
                float(self._learning_rate), startup=default_startup_program(),
            )  # fmt: skip
            rate.role, rate.stop_gradient = "optimizer", True  # type: ignore[attr-defined]
        else:
            raise fault(
                TypeError,
                f"{type(self._learning_rate).__name__} is a rate for `dygraph.guard`",
                "in a program use `fluid.layers.exponential_decay` and others, which are variables",
            )
        self._rates[id(program)] = (program, rate)
        return rate

    def current_step_lr(self) -> float:
        """The rate of the step that was made last, or, before any, the one to begin with."""
        if self._current is not None:
            return self._current
        rate = self._learning_rate
        if isinstance(rate, (int, float)):
            return float(rate)
        if isinstance(rate, Variable):
            return float(rate.numpy()[0])
        return float(rate.step())

    def set_lr(self, value: Any) -> None:
        """Changes the rate.

        Args:
            value: The new one.
        """
        if not isinstance(self._learning_rate, (int, float)):
            raise fault(RuntimeError, "the rate follows a decay or a variable", "change that one")
        self._learning_rate = float(value.numpy()[0]) if isinstance(value, Variable) else float(value)
        self._current = None
        for program, rate in self._rates.values():
            from .executor import global_scope

            found = global_scope().find_var(rate.name)
            if found is not None:
                import numpy as np

                kind = str.__str__(rate._dtype.value) if rate._dtype is not None else "float32"
                found.get_tensor().set(np.array([self._learning_rate], kind))

    # A step ---------------------------------------------------------------------------------------

    def minimize(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Iterable[Any] | None = None,
        no_grad_set: Any = None,
        grad_clip: Any = None,
    ) -> tuple[list[Any], list[tuple[Any, Any]]]:
        """Appends gradients and updates to the program; under `dygraph.guard`, updates with the gradients that
        `loss.backward()` has left.

        Args:
            loss: A variable of one element.
            startup_program: Where initial values of its states are made.
            parameter_list: What is trained.
            no_grad_set: What is not.
            grad_clip: How gradients are cut down.

        Returns:
            A list of what was appended, and parameters with their gradients.
        """
        if grad_clip is not None:
            self._grad_clip = grad_clip
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        return self.apply_optimize(loss, startup_program, pairs), pairs

    def backward(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Iterable[Any] | None = None,
        no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> list[tuple[Any, Any]]:
        """The first half of `minimize`: parameters with their gradients."""
        if in_dygraph_mode():
            return self._found(parameter_list, no_grad_set)
        return append_backward(loss, parameter_list or self._parameter_list, no_grad_set, callbacks)  # type: ignore[return-value]

    def apply_optimize(
        self, loss: Variable, startup_program: Program | None, params_grads: list[tuple[Any, Any]]
    ) -> list[Any]:
        """The second half of `minimize`: the updates."""
        if in_dygraph_mode():
            self._step(params_grads)
            return []
        program = loss.block.program if loss.block is not None else default_main_program()
        with program_guard(program, startup_program or default_startup_program()):
            return self.apply_gradients(params_grads)

    def apply_gradients(self, params_grads: Sequence[tuple[Any, Any]]) -> list[Any]:
        """Appends updates of parameters with these gradients.

        Args:
            params_grads: What `backward` gave, perhaps changed.
        """
        pairs = [(var, grad) for var, grad in params_grads if grad is not None]
        if not pairs:
            raise fault(
                ValueError,
                "no parameter has a gradient: the loss does not depend on any that is trained",
                "check `parameter_list` and `stop_gradient`"
                + ("" if default_main_program().current_block().parent is None else _INSIDE),
            )
        program = default_main_program()
        block = program.current_block()
        params = [var for var, _ in pairs]
        is_double = any(var._dtype_name() == "float64" for var in params)
        rate = self._rate_in(program, "float64" if is_double else "float32")
        with block.building(), _core.no_grad():
            for var in params:
                block.raw(var)
            raw = [block.raw(grad) for _, grad in pairs]
            found = [_sparse.rows_of(grad, tensor) if self._by_rows else None for (_, grad), tensor in zip(pairs, raw)]
            if self._lazy:
                for var, known in zip(params, found):
                    if known is None:
                        _sparse.check_lazy(var)
            gradients, rows = self._prepared(params, raw, block.raw, found)
            number = _core.reshape(block.raw(rate), ())
            with _core.updating():
                self._append(program, params, gradients, rows, number)
        block._version += 1
        block._states.update(name for name, _ in _core_states(block))
        return [self]

    def _append(self, program: Program, params: list[Any], gradients: list[Any], rows: Any, number: Any) -> None:
        """Appends the updates, under a name that no optimizer of other parameters has in this scope."""
        sources = [var.name for var in params]
        for count in range(100):
            name = program._named(f"{self._name}_{count}" if count else self._name, self)
            try:
                return self._made(params, sources, lambda: number, name).step(gradients, rows)
            except ValueError as error:
                if "two optimizers named" not in str(error) or count == 99:
                    raise

    def _prepared(
        self, params: list[Any], gradients: list[Any], value: Callable[[Any], Any], rows: list[Any]
    ) -> tuple[list[Any], dict[int, tuple[Any, Any]]]:
        """Gradients cut down, with penalties; and of tables, in their place, numbers of rows and their gradients."""
        found = cut_down(params, gradients, self._grad_clip)
        of_rows: dict[int, tuple[Any, Any]] = {}
        for i, var in enumerate(params):
            penalty = var.regularizer or self.regularization
            if penalty is not None:
                # As in Fluid, a penalty is that of all rows of a table, whose gradient is then that of the whole.
                found[i] = penalty.add_to(found[i], value(var))
            elif rows[i] is not None:
                of_rows[i] = _sparse.updates(rows[i], found[i], value(var))
                found[i] = None
        return found, of_rows

    def _settings(self, var: Any) -> dict[str, Any]:
        """Options of the rule that a parameter has for itself."""
        return {}

    def _kind(self) -> Any:
        """The rule."""
        return RULES[self.type]

    def _made(self, params: list[Any], sources: list[Any], rate: Callable[[], Any], name: str | None) -> Any:
        """The rule for these parameters; the rate of a group is its factor."""
        schedule = Schedule(lambda first, step: first * _core.cast(rate(), first.dtype))
        groups: dict[Any, tuple[dict[str, Any], list[Any]]] = {}
        order: list[int] = []
        for i, var in enumerate(params):
            settings = {"learning_rate": float(var.optimize_attr.get("learning_rate", 1.0)), **self._settings(var)}
            groups.setdefault(tuple(settings.items()), (settings, []))[1].append(i)
        described = []
        for settings, places in groups.values():
            order += places
            described.append({"params": [sources[i] for i in places], **settings})
        rule = self._kind()(described, schedule=schedule, name=name, **self._options)
        return _Ordered(rule, order, sources)

    # At once --------------------------------------------------------------------------------------

    def _found(self, parameter_list: Iterable[Any] | None, no_grad_set: Any) -> list[tuple[Any, Any]]:
        from .dygraph.base import all_parameters
        from .framework import dygraph_variable

        chosen = listed(parameter_list, "parameters") if parameter_list is not None else self._parameter_list
        without = {item if isinstance(item, str) else item.name for item in no_grad_set or ()}
        pairs = []
        for var in all_parameters() if chosen is None else chosen:
            if not var.trainable or var.name in without:
                continue
            gradient = var._tensor.grad
            if gradient is not None:
                pairs.append((var, dygraph_variable(gradient, f"{var.name}@GRAD")))
        if not pairs:
            raise fault(
                RuntimeError,
                "no parameter has a gradient",
                "call `loss.backward()` before `minimize`, and give `parameter_list`",
            )
        return pairs

    def _step(self, pairs: list[tuple[Any, Any]]) -> None:
        from .dygraph.learning_rate_scheduler import LearningRateDecay

        params = [var for var, _ in pairs]
        given: Any = self._learning_rate
        if isinstance(given, LearningRateDecay):
            value: Any = given._next()
        else:
            value = given() if callable(given) and not isinstance(given, Variable) else given
        self._current = float(value.numpy()[0]) if isinstance(value, Variable) else float(value)
        known = {id(var) for var in self._rule_params}
        wanted = params if self._rule is None else [*self._rule_params, *(v for v in params if id(v) not in known)]
        if self._rule is None or len(wanted) > len(self._rule_params):
            old = None if self._rule is None else self._rule.state_dict()
            self._rule_params = wanted
            self._rule = self._made(
                wanted, [var._tensor for var in wanted], lambda: _core.tensor(self._current, "float64"), None
            )
            if old:
                self._rule.load_state_dict(old)
            if self._loaded:
                self._rule.load_state_dict(self._loaded)
                self._loaded = {}
        by_var = {id(var): grad for var, grad in pairs}
        present = [var for var in self._rule_params if id(var) in by_var]
        with _core.no_grad():
            raw = [by_var[id(var)]._value() for var in present]
            touched = [self._touched(var, tensor) for var, tensor in zip(present, raw)]
            gradients, rows = self._prepared(present, raw, lambda var: var._tensor, touched)
            ready = {id(var): gradient for var, gradient in zip(present, gradients)}
            places = {id(var): i for i, var in enumerate(self._rule_params)}
            by_place = {places[id(present[i])]: pair for i, pair in rows.items()}
            self._rule.step([ready.get(id(var)) for var in self._rule_params], by_place)

    def _touched(self, var: Any, gradient: Any) -> Any:
        """Under `dygraph.guard`: the rows of a table that were used since the last step, if others stay as they are."""
        ids = (CALLS.touched or {}).pop(var.name, None) if self._lazy else None
        return None if ids is None else _sparse.Rows(gradient, ids, _core.gather(gradient, ids, 0))

    def clear_gradients(self) -> None:
        """Forgets the gradients of all that it trains."""
        from .dygraph.base import all_parameters

        for var in self._parameter_list or all_parameters():
            var.clear_gradient()

    def state_dict(self) -> dict[str, Any]:
        """What it remembers, by name; under `dygraph.guard`."""
        found: dict[str, Any] = dict(self._loaded) if self._rule is None else dict(self._rule.state_dict())
        found = {name: Remembered(self, name, value) for name, value in found.items()}
        rate: Any = self._learning_rate
        if hasattr(rate, "state_dict"):
            found["LR_Scheduler"] = rate.state_dict()
        return found

    def set_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what another one remembered.

        Args:
            state_dict: What `state_dict` gave, or `load_dygraph`; or what `load_persistables` gave of several.
        """
        own = state_dict.get(self._name)
        values = dict(own if isinstance(own, dict) else state_dict)
        rates = values.pop("LR_Scheduler", None)
        decay: Any = self._learning_rate
        if rates is not None and hasattr(decay, "set_dict"):
            decay.set_dict(rates)
        values.pop("StructuredToParameterName@@", None)
        if self._rule is None:
            self._loaded = values
        else:
            self._rule.load_state_dict(values)

    set_state_dict = set_dict

    def load(self, stat_dict: dict[str, Any]) -> None:
        """Takes over what another one remembered, as in Fluid 1.5.

        Args:
            stat_dict: What `state_dict` gave, or `load_persistables`.
        """
        self.set_dict(stat_dict)

    def get_opti_var_name_list(self) -> list[str]:
        """Names of what it remembers."""
        return sorted(self.state_dict())


class Remembered(Variable):
    """What an optimizer remembers under a name; `set_value` changes it there.

    Args:
        owner: The optimizer.
        name: The name.
        value: The value.
    """

    def __init__(self, owner: Optimizer, name: str, value: Any) -> None:
        tensor = _core.tensor(value.numpy() if hasattr(value, "numpy") else value)
        super().__init__(None, name, tensor=tensor, persistable=True, stop_gradient=True)
        self._owner = owner

    def set_value(self, value: Any) -> None:
        super().set_value(value)
        self._owner.set_dict({self.name: self._tensor})


class _Ordered:
    """A rule whose gradients come in another order than its groups have them."""

    def __init__(self, rule: Any, order: list[int], sources: list[Any]) -> None:
        self.rule, self.order, self.sources = rule, order, sources

    def step(self, gradients: list[Any], rows: dict[int, tuple[Any, Any]]) -> None:
        ordered = [gradients[i] for i in self.order]
        if not rows:
            self.rule.step(ordered)
            return
        tables = [(self.sources[i], ids, values) for i, (ids, values) in rows.items()]
        self.rule._made(lambda: self.rule._descent.step_rows(ordered, tables))

    def _prefix(self) -> str:
        return f"{self.rule.name}."

    def state_dict(self) -> dict[str, Any]:
        start = self._prefix()
        return {name.removeprefix(start): value for name, value in self.rule.state_dict().items()}

    def load_state_dict(self, values: dict[str, Any]) -> None:
        start = self._prefix()
        plain = {name: value._value() if isinstance(value, Variable) else value for name, value in values.items()}
        known = self.rule.state_dict()
        self.rule.load_state_dict(
            {start + name: _as_number(name, _core.tensor(value), known.get(start + name)) for name, value in plain.items()}
        )


def _as_number(name: str, value: Any, known: Any) -> Any:
    """A value of one element, which has an axis in Fluid, in the shape that it is kept in."""
    # The count of steps and the rates have no axes; all else is as large as a parameter.
    is_number = name.partition(".")[0] in ("step", "lr") if known is None else known.ndim == 0
    return _core.reshape(value, ()) if is_number and value.ndim == 1 and value.shape[0] == 1 else value


def _core_states(block: Any) -> list[tuple[str, str]]:
    """States of a block by name; those that the core has declared become variables of the program."""
    from .framework import _state_of

    with block.building():
        found = _core.building_states()
    outer = block.program.global_block()
    new = [(name, role) for name, role in found if name not in outer.vars and role != "random"]
    # Their types are those of the program so far: reading them would append calls.
    types = block._core.snapshot({}).states if new else {}
    for name, role in new:
        _state_of(outer, name, types[name], role)._stop_gradient = True
    return found
