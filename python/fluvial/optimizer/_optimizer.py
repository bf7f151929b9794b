"""An optimizer: its settings as Python has them, around the one of Rust."""

from __future__ import annotations

import weakref
from collections.abc import MutableMapping

from .. import _core, _phase
from .._fault import fault, missing
from .._sequence import listed
from ..clip import GradientClip
from ..nn import Layer, Parameter
from ..nn._step import begin as begin_step
from .lr import Schedule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypeAlias

    from .._core import Rows, Step, Tensor, TensorLike, Update
    from ..regularizer import Regularizer

    ParamLike: TypeAlias = Parameter | Layer | str


#: What may be assigned, in the order in which the core takes it.
_CONFIGURED = ("schedule", "grad_clip", "regularization", "accumulate", "allow_unreached")


class Group(MutableMapping[str, "Any"]):
    """The settings of some parameters, as a dict: "params", "lr", "weight_decay", and options of the rule.

    A rate that is assigned counts at once, also in programs that were built. Other settings are part of
    programs: an `fl.function` is built again, and a program of `fl.build` keeps what it was built with.
    """

    def __init__(self, optimizer: Optimizer, number: int, params: list[Any] | None) -> None:
        # An optimizer ends, with all that it remembers, when nobody holds it any more.
        self._owner, self._number, self._params = weakref.ref(optimizer), number, params
        #: Options of a rule that Python says.
        self._own: dict[str, Any] = {}

    @property
    def _optimizer(self) -> Optimizer:
        owner = self._owner()
        if owner is None:
            raise fault(RuntimeError, "the optimizer of this group is gone", "hold the optimizer")
        return owner

    @property
    def params(self) -> list[Any] | None:
        """The parameters; None for those that a step has used."""
        return self._params

    def _settings(self) -> dict[str, Any]:
        settings = {**self._optimizer._descent.settings(self._number), **self._own}
        del settings["learning_rate"]
        return settings

    def __getitem__(self, name: str) -> Any:
        name = self._optimizer._option(name)
        if name == "params":
            return self._params
        if name == "learning_rate":
            rate = self._optimizer.learning_rate(self._number)
            return rate if _core.is_building() else rate.item()
        if name in ("beta1", "beta2"):
            return self["betas"][name == "beta2"]
        return self._settings()[name]

    def __setitem__(self, name: str, value: Any) -> None:
        name = self._optimizer._option(name)
        if name == "params":
            raise fault(TypeError, "the parameters of a group do not change", "use `add_param_group`")
        if name == "learning_rate":
            self._optimizer.set_learning_rate(value, self._number)
            return
        _phase.changing(self._optimizer)  # type: ignore[arg-type]
        self._set(name, value)

    def _set(self, name: str, value: Any) -> None:
        if name in ("beta1", "beta2") and "betas" in self._optimizer.defaults:
            betas = list(self._settings()["betas"])
            betas[name == "beta2"] = value
            name, value = "betas", tuple(betas)
        known = ["learning_rate", "weight_decay", "maximize", *self._optimizer.defaults]
        if name not in known:
            remedy = f"those of a group are {', '.join(known)}"
            if name in ("momentum", "nesterov"):
                remedy = f"use `fl.optimizer.Momentum`; {remedy}"
            what = f"`{type(self._optimizer).__name__}` has no option `{name}`"
            raise fault(TypeError, what, remedy)
        self._optimizer._descent.set(self._number, name, value)
        if name in self._own:
            self._own[name] = value

    def __delitem__(self, name: str) -> None:
        raise fault(TypeError, f"the setting `{name}` of a group cannot be deleted")

    def __iter__(self) -> Iterator[str]:
        return iter(["params", "lr", *self._settings()])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        return repr({name: self[name] for name in self})


class Optimizer:
    """What all optimizers share. An optimizer of one's own gives `defaults` and `update`.

    It owns what it remembers of its parameters: moments, the number of steps, the rate. Listings and files
    show these by labels such as `adam.step` and `adam.m.fc.weight`. Make it once, before the steps. One that
    is given a name keeps all that in the state scope instead, under this name, and may be made anew in each step.

    Args:
        parameters: What it trains: `layer.parameters()`, layers, names of states, or a list of
            dicts, each with "params" and settings of that group. Without it, it trains all
            parameters of layers that the step has used.
        learning_rate: The first rate, PyTorch's if nothing is said. `set_learning_rate` changes it.
        weight_decay: The factor of weight decay.
        regularization: A penalty for parameters that have none of their own.
        grad_clip: How gradients are cut down; see `fl.clip`.
        schedule: The rate as a function of the number of updates; see `fl.optimizer.lr`.
        accumulate: An update is made at every so many calls, with the mean of gradients.
        decoupled: Whether weight decay is applied to parameters, not to gradients.
        allow_unreached: Whether a program may be built in which the loss does not depend on some
            of the parameters.
        name: The name under which the state scope keeps what it remembers.
        options: Those of the rule, and `maximize`: whether steps go uphill. PyTorch's `foreach`, `fused` and
            `capturable` are taken, too; they change no number.

    Example:
        >>> net = fl.nn.Linear(2, 1, name="net")
        >>> optimizer = fl.optimizer.SGD(net.parameters(), learning_rate=0.1)
        >>> x = fl.tensor([[1.0, 2.0]])
        >>> for _ in range(3):
        ...     loss = fl.mean(fl.square(net(x) - 1.0))
        ...     _ = optimizer.minimize(loss)
        >>> optimizer.state_dict()["sgd.step"].item()
        3
    """

    #: What labels of its states begin with.
    _name = ""
    #: The rule of Rust's that it follows, if it is not its own.
    _kind = ""
    #: "coupled" (added to gradients), "decoupled", or "rule" (the rule sees to it).
    _decay = "coupled"
    _weight_decay = 0.0
    #: The rate unless another one is given.
    _rate = 0.001
    #: Whether elements are updated independently of each other.
    _elementwise = True
    #: Options of the rule, with their defaults.
    defaults: dict[str, Any] = {}
    #: Other names of options.
    _aliases = {"lr": "learning_rate", "epsilon": "eps"}

    def __init__(
        self,
        parameters: Any = None,
        learning_rate: float | Schedule | None = None,
        *,
        weight_decay: float | Regularizer | None = None,
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
        if options.pop("differentiable", False):
            raise fault(
                ValueError,
                "steps of an optimizer carry no gradient",
                "write the update with ops on `fl.grad`, and leave `differentiable` out",
            )
        for hint in ("foreach", "fused", "capturable"):  # How PyTorch computes the same numbers.
            options.pop(hint, None)
        for option in [option for option in options if self._option(option) == "learning_rate"]:
            learning_rate = options.pop(option)
        if isinstance(learning_rate, Schedule):
            schedule, learning_rate = learning_rate, learning_rate.first
        parameters = parameter_list if parameters is None else parameters
        if regularization is None and callable(getattr(weight_decay, "add_to", None)):
            regularization, weight_decay = weight_decay, 0.0  # type: ignore[assignment]
        if not (grad_clip is None or isinstance(grad_clip, GradientClip) or callable(grad_clip)):
            raise fault(TypeError, f"gradients cannot be clipped by {grad_clip!r}", "see `fl.clip`")
        self.regularization, self.grad_clip, self.schedule = regularization, grad_clip, schedule
        self.accumulate, self.allow_unreached = accumulate, allow_unreached
        groups = _groups_of(parameters)
        own_rule = not self._kind or type(self).update is not Optimizer.update
        self._descent = _core.Descent(
            self if own_rule else self._kind,
            groups[0][0],
            name,
        )
        self._configure()
        first = Group(self, 0, groups[0][0])
        if own_rule:
            first._own = dict(self.defaults)
        self.param_groups: list[Group] = [first]
        said = {"weight_decay": self._weight_decay if weight_decay is None else weight_decay, **options}
        for option, value in said.items():
            first._set(self._option(option), value)
        if decoupled is not None:
            self._descent.set(0, "decay", "decoupled" if decoupled else "coupled")
        if learning_rate is not None:
            self._descent.set(0, "learning_rate", learning_rate)
        else:
            self._descent.rate_not_given(0)
        for params, settings in groups[1:]:
            self.add_group(params or [], **settings)
        for option, value in groups[0][1].items():
            first._set(self._option(option), value)
        self._descent.check()

    # A type checker would take any name for an attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name):
            from .._elsewhere import no_member

            raise no_member(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name in _CONFIGURED and "_descent" in self.__dict__:
            _phase.changing(self)  # type: ignore[arg-type]
            self._configure()

    def _configure(self) -> None:
        if self.accumulate < 1:
            raise fault(ValueError, f"gradients cannot be accumulated over {self.accumulate} calls")
        self._descent.configure(*(getattr(self, name) for name in _CONFIGURED))

    @property
    def name(self) -> str:
        """What the labels of its states begin with."""
        return self._descent.name

    @property
    def groups(self) -> list[Group]:
        """Another name of `param_groups`."""
        return self.param_groups

    def _option(self, option: str) -> str:
        return self._aliases.get(option, option)

    def _built_settings(self) -> tuple[Any, ...]:
        """What programs have of its settings; see `_phase`."""
        groups = [tuple(sorted(group._settings().items())) for group in self.param_groups]
        return (*groups, *(getattr(self, name) for name in _CONFIGURED))

    def add_group(self, parameters: ParamLike | Iterable[ParamLike], **settings: Any) -> Optimizer:
        """Adds parameters with settings of their own; those of the first group hold otherwise.

        Args:
            parameters: The parameters.
            settings: Such as `learning_rate`, `weight_decay`, and options of the rule.
        """
        _phase.changing(self)  # type: ignore[arg-type]
        params = sources_of(parameters)
        group = Group(self, self._descent.add_group(params), params)
        group._own = dict(self.param_groups[0]._own)
        self.param_groups.append(group)
        try:
            for option, value in settings.items():
                group._set(self._option(option), value)
            self._descent.check()
        except BaseException:
            self._descent.drop_group()
            del self.param_groups[-1]
            raise
        return self

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Adds parameters with settings of their own.

        Args:
            param_group: "params", and settings.
        """
        settings = dict(param_group)
        self.add_group(settings.pop("params"), **settings)

    def params(self) -> list[Any]:
        """What is trained now, in order: parameters, and names of states."""
        found: list[Any] = []
        for group in self.param_groups:
            params = _core.used_in_step() if group.params is None else group.params
            found += [p for p in params if isinstance(p, str) or p.is_trainable]
        return found

    def shared(self, step: Step, settings: dict[str, Any]) -> list[Tensor]:
        """Numbers that the updates of all parameters of a group have in common."""
        return []

    def update(self, u: Update) -> Tensor:
        """The next value of a parameter. An optimizer of one's own says it."""
        raise missing(self, "update(self, u)")

    def minimize(
        self,
        loss: Tensor,
        parameters: ParamLike | Iterable[ParamLike] | None = None,
        *,
        retain_graph: bool = False,
    ) -> tuple[list[Any], list[tuple[str, Tensor]]]:
        """One step: gradients of the loss, and the update. In a program it becomes part of it.

        Args:
            loss: A scalar. If `backward` was called on it already, these gradients are used.
            parameters: What is trained, in place of what the optimizer was made with.
            retain_graph: Keep what was recorded, for another optimizer.

        Returns:
            An empty list, and the names of parameters with their gradients.
        """
        only = None if parameters is None else [p for p in sources_of(parameters) if _is_trained(p)]
        return [], self._made(lambda: self._descent.minimize(loss, only, [], retain_graph))

    def minimize_rows(self, loss: Tensor, rows: Sequence[Rows]) -> None:
        """One step in which tables that were looked up are updated in these rows alone.

        Args:
            loss: A scalar.
            rows: What `lookup` gave.
        """
        self._made(lambda: self._descent.minimize(loss, None, list(rows), False))

    def gradients(self, loss: Tensor) -> list[Tensor | None]:
        """Gradients of the loss for each of `params`; None where it does not depend on it.

        Args:
            loss: A scalar.
        """
        return self._descent.gradients(loss)

    def step(self, gradients: Any = None) -> Any:
        """Updates the parameters.

        Args:
            gradients: One for each of `params`; those that `backward` has accumulated if nothing
                is given. Or a function that computes the loss and calls `backward`, which is called first.

        Returns:
            What the function gave, if there is one.

        Example:
            >>> net = fl.nn.Linear(2, 1)
            >>> optimizer = fl.optimizer.Adam(net.parameters(), 0.1)
            >>> fl.sum(net(fl.tensor([[1.0, 2.0]]))).backward()
            >>> optimizer.step()
            >>> optimizer.zero_grad()
        """
        loss = None
        if callable(gradients):
            with _core.enable_grad():
                loss, gradients = gradients(), None
        given = None if gradients is None else list(gradients)
        self._made(lambda: self._descent.step(given))
        return loss

    def _made(self, step: Callable[[], Any]) -> Any:
        """What a step gives, after it was noted in which program it is."""
        _phase.note(self)  # type: ignore[arg-type]
        done = step()
        begin_step()
        return done

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters.

        Args:
            set_to_none: Gradients that are forgotten are None; they are not kept as zeros.
        """
        if not set_to_none:
            raise fault(
                ValueError, "gradients that were forgotten are None", "leave `set_to_none` out"
            )
        self._descent.zero_grad()

    clear_grad = clear_gradients = zero_grad

    def learning_rate(self, group: int = 0) -> Tensor:
        """The rate of the next update.

        Args:
            group: The group.
        """
        return self._descent.learning_rate(group)

    def set_learning_rate(self, rate: TensorLike, group: int = 0) -> None:
        """Changes the rate, or the first rate if there is a schedule.

        Args:
            rate: The new one.
            group: The group.
        """
        self._descent.set_learning_rate(group, rate)

    def state_dict(self) -> dict[str, Tensor]:
        """What it remembers, by the names of states."""
        return self._descent.state_dict()

    def load_state_dict(self, state: Mapping[str, TensorLike]) -> None:
        """Takes over what another one remembered.

        Args:
            state: Values by the names of states.
        """
        start = self.name + "."
        foreign = [name for name in state if not name.startswith(start)]
        if foreign:
            raise fault(
                ValueError,
                f"these are not states of the optimizer `{self.name}`: {', '.join(foreign)}",
                "give the optimizer the name that it had when they were saved",
            )
        with _core.imperative(), _core.no_grad():
            for name, value in state.items():
                self._descent.load_state(name, value)

    def __repr__(self) -> str:
        settings = {"learning_rate": self._descent.settings(0)["learning_rate"]}
        settings.update(self.param_groups[0]._settings())
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in settings.items())})"


def sources_of(given: ParamLike | Iterable[ParamLike]) -> list[Any]:
    """What was given for parameters: those of layers, parameters and names."""
    items: Any = [given] if isinstance(given, (Parameter, Layer, str)) else given
    found: list[Any] = []
    for item in items:
        found += item.parameters() if isinstance(item, Layer) else [item]
    return found


def _is_trained(source: Any) -> bool:
    return not isinstance(source, Parameter) or source.is_trainable


def _groups_of(parameters: Any) -> list[tuple[list[Any] | None, dict[str, Any]]]:
    """The parameters of each group, and its settings."""
    if parameters is None:
        return [(None, {})]
    items = parameters if isinstance(parameters, (Layer, Parameter, str)) else listed(parameters, "parameters")
    if not isinstance(items, list) or not items or not isinstance(items[0], dict):
        return [(sources_of(items), {})]
    groups: list[tuple[list[Any] | None, dict[str, Any]]] = []
    for item in items:
        settings = dict(item)
        params = settings.pop("params", None) or settings.pop("parameters", [])
        groups.append((sources_of(params), settings))
    return groups
