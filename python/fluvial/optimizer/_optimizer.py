"""An optimizer: its settings, and what it does; rules are in `_rules`."""

from __future__ import annotations

import weakref

from .. import _core
from .._fault import fault, missing
from ..clip import GradientClip
from ..nn._step import begin as begin_step
from ._checks import check_option, is_amount
from ._params import Param, gradients_or_none, params_of, used_params
from ._remember import Remembering
from ._rows import Rows, sum_by_table
from ._update import Update
from .lr import Schedule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from .._core import Tensor
    from ..regularizer import Regularizer
    from ._params import ParamLike
    from ._update import Item, Step

#: Optimizers that have made a step, by name.
_living: dict[str, weakref.WeakSet[Optimizer]] = {}


class Group:
    """Parameters with settings of their own."""

    def __init__(self, params: list[Param] | None, settings: dict[str, Any]) -> None:
        self.params, self.settings = params, settings


class Optimizer(Remembering):
    """What all optimizers share. An optimizer of one's own gives `defaults` and `update`.

    It holds names and settings: what it remembers is in the state scope, under its name, such as
    `adam.step` and `adam.m.fc.weight`. So it may be made anew in each step, and a program that was
    built goes on where the imperative code stopped. Two optimizers of one kind in one scope need
    different names.

    Args:
        parameters: What it trains: `layer.parameters()`, layers, names of states, or a list of
            dicts, each with "params" and settings of that group. Without it, it trains all
            parameters of layers that the step has used.
        learning_rate: The first rate, 0.001 if nothing is said. It is kept in the scope, where
            `set_learning_rate` changes it.
        weight_decay: The factor of weight decay.
        regularization: A penalty for parameters that have none of their own.
        grad_clip: How gradients are cut down; see `fl.clip`.
        schedule: The rate as a function of the number of updates; see `fl.optimizer.lr`.
        accumulate: An update is made at every so many calls, with the mean of gradients.
        decoupled: Whether weight decay is applied to parameters, not to gradients.
        allow_unreached: Whether a program may be built in which the loss does not depend on some
            of the parameters.
        name: The name of its states.
        options: Those of the rule.

    Example:
        >>> net = fl.nn.Linear(2, 1, name="net")
        >>> optimizer = fl.optimizer.SGD(net.parameters(), learning_rate=0.1)
        >>> x = fl.tensor([[1.0, 2.0]])
        >>> for _ in range(3):
        ...     loss = fl.mean(fl.square(net(x) - 1.0))
        ...     _ = optimizer.minimize(loss)
        >>> fl.read_state("sgd.step").item()
        3
    """

    #: The default name.
    _name = ""
    #: "coupled" (added to gradients), "decoupled", or "rule" (the rule sees to it).
    _decay = "coupled"
    _weight_decay = 0.0
    #: Whether elements are updated independently of each other.
    _elementwise = True
    #: Options of the rule, with their defaults.
    defaults: dict[str, Any] = {}
    #: Older names of options.
    _aliases = {"lr": "learning_rate", "epsilon": "eps"}

    def __init__(
        self,
        parameters: Any = None,
        learning_rate: float | Schedule | None = None,
        *,
        weight_decay: float | None = None,
        regularization: Regularizer | None = None,
        grad_clip: GradientClip | None = None,
        schedule: Schedule | None = None,
        accumulate: int = 1,
        decoupled: bool | None = None,
        allow_unreached: bool = False,
        name: str | None = None,
        parameter_list: Any = None,
        **options: Any,
    ) -> None:
        if isinstance(parameters, (int, float, Schedule)):
            if learning_rate is not None:
                raise fault(
                    TypeError,
                    f"both {parameters} and {learning_rate} were given for the learning rate",
                    f"give options by name: {', '.join(self.defaults) or 'weight_decay'}",
                )
            parameters, learning_rate = None, parameters
        learning_rate = 1e-3 if learning_rate is None else learning_rate
        if isinstance(learning_rate, Schedule):
            schedule, learning_rate = learning_rate, learning_rate.first
        parameters = parameter_list if parameters is None else parameters
        decay = self._weight_decay if weight_decay is None else weight_decay
        settings = {"learning_rate": learning_rate, "weight_decay": decay, **self.defaults}
        if regularization is None and callable(getattr(weight_decay, "add_to", None)):
            regularization, settings["weight_decay"] = weight_decay, 0.0  # type: ignore[assignment]
        self.name = name or self._name
        #: How many of this name lived when it was found to have states of its own.
        self._n_beside = 1
        base = self._with(settings, options)
        self.regularization, self.grad_clip, self.schedule = regularization, grad_clip, schedule
        self.accumulate, self.allow_unreached = accumulate, allow_unreached
        self._kind = self._decay if decoupled is None else ("decoupled" if decoupled else "coupled")
        self.groups: list[Group] = []
        if parameters is None:
            self.groups.append(Group(None, base))
        else:
            self._add_all(parameters, base)
        self._check()

    def _with(self, base: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        settings = dict(base)
        for option, value in given.items():
            option = self._aliases.get(option, option)
            if option in ("beta1", "beta2") and "betas" in base:
                betas = list(settings["betas"])
                betas[option == "beta2"] = value
                settings["betas"] = tuple(betas)
            elif option in base:
                settings[option] = value
            else:
                remedy = f"those of a group are {', '.join(base)}"
                if option in ("momentum", "nesterov"):
                    remedy = f"use `fl.optimizer.Momentum`; {remedy}"
                what = f"`{type(self).__name__}` has no option `{option}`"
                raise fault(TypeError, what, remedy)
        return settings

    def _add_all(self, parameters: Any, base: dict[str, Any]) -> None:
        items = parameters if isinstance(parameters, (list, tuple)) else [parameters]
        if not items or not isinstance(items[0], dict):
            self.groups.append(Group(params_of(parameters), base))
            return
        for item in items:
            item = dict(item)
            params = item.pop("params", None) or item.pop("parameters", [])
            self.groups.append(Group(params_of(params), self._with(base, item)))

    def add_group(self, parameters: ParamLike | Iterable[ParamLike], **settings: Any) -> Optimizer:
        """Adds parameters with settings of their own; those of the first group hold otherwise.

        Args:
            parameters: The parameters.
            settings: Such as `learning_rate`, `weight_decay`, and options of the rule.
        """
        group = Group(params_of(parameters), self._with(self.groups[0].settings, settings))
        self.groups.append(group)
        self._check()
        return self

    def _check(self) -> None:
        names: set[str] = set()
        for group in self.groups:
            for what in ("learning_rate", "weight_decay"):
                is_amount(what, group.settings[what])
            for what, value in group.settings.items():
                check_option(what, value)
            for param in group.params or ():
                if param.name in names:
                    raise fault(
                        ValueError,
                        f"the optimizer `{self.name}` has the parameter `{param.name}` in two "
                        "groups",
                        "name each parameter in one group only",
                    )
                names.add(param.name)
        if self.accumulate < 1:
            raise fault(ValueError, f"gradients cannot be accumulated over {self.accumulate} calls")

    def params(self) -> list[Param]:
        """What is trained now, in order."""
        return [param for _, param in self._trained()]

    def _trained(self, given: Any = None) -> list[tuple[int, Param]]:
        if given is not None:
            return [(0, param) for param in params_of(given) if param.is_trainable]
        found = []
        for i, group in enumerate(self.groups):
            params = used_params() if group.params is None else group.params
            found += [(i, param) for param in params if param.is_trainable]
        return found

    def shared(self, step: Step, settings: dict[str, Any]) -> list[Tensor]:
        """Numbers that the updates of all parameters of a group have in common."""
        return []

    def update(self, u: Update) -> Tensor:
        """The next value of a parameter. An optimizer of one's own says it."""
        raise missing(self, "update(self, u)")

    def minimize(
        self, loss: Tensor, parameters: ParamLike | Iterable[ParamLike] | None = None
    ) -> tuple[list[Any], list[tuple[str, Tensor]]]:
        """One step: gradients of the loss, and the update. In a program it becomes part of it.

        Args:
            loss: A scalar. If `backward` was called on it already, these gradients are used.
            parameters: What is trained, in place of what the optimizer was made with.

        Returns:
            An empty list, and the names of parameters with their gradients.
        """
        trained = self._trained(parameters)
        found = self._differentiate(loss, trained)
        pairs = self._apply(trained, found)
        return [], pairs

    def minimize_rows(self, loss: Tensor, rows: Sequence[Rows]) -> None:
        """One step in which tables that were looked up are updated in these rows alone.

        Args:
            loss: A scalar.
            rows: What `lookup` gave.
        """
        trained = self._trained()
        found = self._differentiate(loss, trained, rows)
        self._apply(trained, found[: len(trained)], rows, found[len(trained) :])

    def gradients(self, loss: Tensor) -> list[Tensor | None]:
        """Gradients of the loss for each of `params`; None where it does not depend on it.

        Args:
            loss: A scalar.
        """
        return self._differentiate(loss, self._trained())

    def step(self, gradients: Sequence[Tensor | None] | None = None) -> None:
        """Updates the parameters.

        Args:
            gradients: One for each of `params`; those that `backward` has accumulated if nothing
                is given.

        Example:
            >>> net = fl.nn.Linear(2, 1)
            >>> optimizer = fl.optimizer.Adam(net.parameters(), 0.1)
            >>> fl.sum(net(fl.tensor([[1.0, 2.0]]))).backward()
            >>> optimizer.step()
            >>> optimizer.zero_grad()
        """
        trained = self._trained()
        if gradients is None:
            gradients = [param.grad for _, param in trained]
            if not any(g is not None for g in gradients):
                raise fault(
                    RuntimeError,
                    f"none of the {len(trained)} parameters of the optimizer `{self.name}` has a "
                    "gradient",
                    "call `loss.backward()` before `step()`, or use `minimize(loss)`",
                )
        if len(gradients) != len(trained):
            raise fault(
                ValueError,
                f"{len(gradients)} gradients were given for {len(trained)} parameters",
                "give one for each of `params`, None where there is none",
            )
        self._apply(trained, list(gradients))

    def zero_grad(self) -> None:
        """Forgets the gradients of all parameters."""
        with _core.enable_grad():
            for _, param in self._trained():
                param.read().zero_grad()

    clear_grad = clear_gradients = zero_grad

    def _differentiate(
        self, loss: Tensor, trained: list[tuple[int, Param]], rows: Sequence[Rows] = ()
    ) -> list[Tensor | None]:
        if not trained:
            raise fault(
                RuntimeError,
                f"the optimizer `{self.name}` has nothing to train: it was given no parameters, "
                "and the step has read none of layers",
                "give it `layer.parameters()`, or names of states",
            )
        values = [param.read() for _, param in trained] + [found.values for found in rows]
        try:
            found = gradients_or_none(loss, values)
        except RuntimeError as error:
            if "freed by an earlier backward pass" not in str(error) or _core.is_building():
                raise
            found = [param.grad for _, param in trained]
        unreached = [param.name for (_, param), g in zip(trained, found) if g is None]
        if all(gradient is None for gradient in found):
            raise fault(
                RuntimeError,
                f"the loss depends on none of the {len(trained)} parameters of the optimizer "
                f"`{self.name}`",
                "check their names, and that the loss was computed from them, not detached",
            )
        unreached = [name for name in unreached if all(name != of.table for of in rows)]
        is_explicit = self.groups[0].params is not None
        if unreached and is_explicit and _core.is_building() and not self.allow_unreached:
            raise fault(
                RuntimeError,
                f"no gradient reaches {len(unreached)} of the {len(trained)} parameters of the "
                f"optimizer `{self.name}`",
                "use them in the loss, leave them out of the optimizer, or `allow_unreached`"
                + _reasons(loss, [param for _, param in trained if param.name in unreached]),
            )
        return found

    def _apply(
        self,
        trained: list[tuple[int, Param]],
        found: list[Tensor | None],
        rows: Sequence[Rows] = (),
        of_rows: Sequence[Tensor | None] = (),
    ) -> list[tuple[str, Tensor]]:
        self._check_alone(trained)
        with _core.updating():
            tables = sum_by_table(self, [param.name for _, param in trained], rows, of_rows)
            items: list[Item] = []
            for (group, param), gradient in zip(trained, found):
                places, of_table = tables.get(param.name, (None, None))
                if gradient is not None and of_table is not None:
                    raise fault(
                        RuntimeError,
                        f"`{param.name}` was used both as a whole and by rows that were looked up",
                        "read it by `lookup` only, or as a whole only",
                    )
                gradient = of_table if gradient is None else gradient
                if gradient is None:
                    if self.groups[group].params is None:
                        continue
                    gradient = _core.zeros_like(param.read())
                items.append((group, param, gradient, places))
            Update.run(self, items)
        begin_step()
        return [(param.name, gradient) for _, param, gradient, _ in items]

    def _check_alone(self, trained: list[tuple[int, Param]]) -> None:
        """Refuses to share its states with another optimizer of this scope, for other parameters."""
        living = _living.setdefault(self.name, weakref.WeakSet())
        living.add(self)
        if len(living) == self._n_beside:
            return
        scope = _core.State.current()
        start = f"{self.name}."
        known = [name[len(start) :] for name in scope.names() if name.startswith(start)]
        # `m.fc.weight` tells of a parameter; a rule without memory leaves none of these.
        remembered = {name.partition(".")[2] for name in known}
        remembered = {name for name in remembered if name in scope}
        mine = {param.name for _, param in trained}
        for other in living if known else ():
            theirs = {param.name for param in other.params() if param.name in scope}
            theirs = theirs & remembered if remembered else theirs
            if theirs and mine.isdisjoint(theirs):
                living.discard(self)
                raise fault(
                    ValueError,
                    f"two optimizers named `{self.name}` train different parameters, but would "
                    "share their rate and their number of steps",
                    'give one of them a name: `name="…"`',
                )
        self._n_beside = len(living)

    def __repr__(self) -> str:
        settings = ", ".join(f"{k}={v}" for k, v in self.groups[0].settings.items())
        return f"{type(self).__name__}({settings})"


def _reasons(loss: Tensor, params: list[Param]) -> str:
    """A note for each parameter: what keeps the gradient of the loss away from it."""
    notes = ""
    for param in params:
        why = _core.why_no_gradient(loss, param.read()) or "the way from the loss is cut"
        notes += f"\n  note: `{param.name}`: {why}"
    return notes
