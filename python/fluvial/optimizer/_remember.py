"""What an optimizer remembers, in the state scope."""

from __future__ import annotations

from .. import _core
from .._fault import fault
from ._checks import is_amount
from ._update import group_name, in_dtype, number_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._core import Tensor, TensorLike
    from ._optimizer import Group
    from .lr import Schedule


class Remembering:
    """The rates, counters and other states of an optimizer, by its name."""

    name: str
    groups: list[Group]
    schedule: Schedule | None

    def rate(self, group: int, done: Tensor) -> Tensor:
        """The rate of a group after so many updates."""
        if not 0 <= group < len(self.groups):
            n = len(self.groups)
            raise fault(IndexError, f"the optimizer `{self.name}` has {n} groups, no group {group}")
        first = number_state(
            group_name(self.name, "lr", group), self.groups[group].settings["learning_rate"]
        )
        if self.schedule is None:
            return first
        return self.schedule.rate(first, in_dtype(done, "float64"))

    def learning_rate(self, group: int = 0) -> Tensor:
        """The rate of the next update.

        Args:
            group: The group.
        """
        with _core.no_grad():
            return self.rate(group, self.counter("step"))

    def set_learning_rate(self, rate: TensorLike, group: int = 0) -> None:
        """Changes the rate, or the first rate if there is a schedule.

        Args:
            rate: The new one.
            group: The group.
        """
        if isinstance(rate, (int, float)):
            is_amount("the rate", rate)
        with _core.no_grad():
            name = group_name(self.name, "lr", group)
            number_state(name, self.groups[group].settings["learning_rate"])
            _core.assign_state(name, rate)

    def counter(self, what: str) -> Tensor:
        """A number of calls or updates."""
        return _core.declare_state(f"{self.name}.{what}", (), "int64", 0, "counter")

    def state_dict(self) -> dict[str, Tensor]:
        """What it remembers, by the names of states."""
        scope = _core.State.current()
        prefix = self.name + "."
        return {n: scope[n].detach() for n in scope.names() if n.startswith(prefix)}

    def load_state_dict(self, state: Mapping[str, TensorLike]) -> None:
        """Takes over what another one remembered.

        Args:
            state: Values by the names of states.
        """
        scope = _core.State.current()
        foreign = [name for name in state if not name.startswith(self.name + ".")]
        if foreign:
            raise fault(
                ValueError,
                f"these are no states of the optimizer `{self.name}`: {', '.join(foreign)}",
                "give the optimizer the name that it had when they were saved",
            )
        with _core.imperative(), _core.no_grad():
            for name, given in state.items():
                value = given if isinstance(given, _core.Tensor) else _core.tensor(given)
                if name in scope:
                    scope[name] = value
                else:
                    what = name[len(self.name) + 1 :]
                    role = "counter" if what in ("step", "calls") else "optimizer"
                    _core.declare_state(name, value.shape, value.dtype, value, role)
