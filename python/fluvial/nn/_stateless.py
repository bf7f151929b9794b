"""Layers without parameters: an op and its options."""

from __future__ import annotations

from .._fault import fault
from ._layer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Stateless(Layer):
    """A layer that is an op with options.

    Args:
        values: Options by position, in the order of `_options`.
        options: Options by name; those that are not given have their defaults.
    """

    #: The op.
    _function: Any
    #: Options and their defaults, in order; `REQUIRED` ones have none.
    _options: dict[str, Any] = {}
    #: Which options the op takes by position, after its inputs.
    _positional: tuple[str, ...] = ()
    REQUIRED = object()

    def __init__(self, *values: Any, name: str | None = None, **options: Any) -> None:
        super().__init__(name)
        known = list(self._options)
        if len(values) > len(known):
            raise self._wrong(f"takes {len(known)} options, found {len(values)}")
        given = dict(zip(known, values))
        for option, value in options.items():
            if option in given or option not in known:
                what = "two values for" if option in given else "no option"
                raise self._wrong(f"has {what} `{option}`")
            given[option] = value
        for option in known:
            value = given.get(option, self._options[option])
            if value is Stateless.REQUIRED:
                raise self._wrong(f"needs a value for `{option}`")
            setattr(self, option, value)

    def _wrong(self, what: str) -> TypeError:
        options = ", ".join(
            option if default is Stateless.REQUIRED else f"{option}={default!r}"
            for option, default in self._options.items()
        )
        layer = type(self).__name__
        return fault(TypeError, f"`{layer}` {what}", f"its options are {layer}({options})")

    def forward(self, *inputs: Any) -> Any:
        values = [getattr(self, option) for option in self._positional]
        named = {o: getattr(self, o) for o in self._options if o not in self._positional}
        return type(self)._function(*inputs, *values, **named)

    def extra_repr(self) -> str:
        said = ((o, getattr(self, o), default) for o, default in self._options.items())
        return ", ".join(f"{o}={value}" for o, value, default in said if value != default)
