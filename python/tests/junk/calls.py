"""A call follows from its seed."""

from __future__ import annotations

import inspect
import itertools
import random
from collections.abc import Callable
from typing import Any

import fluvial as fl

from . import values
from .targets import Param, Target, instance, parameters, targets


class Call:
    """One junk call: what is called, with what, and what came of it."""

    def __init__(self, seed: int, only: str = "") -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        chosen = [target for target in targets() if only in target.name]
        self.target: Target = self.rng.choice(chosen)
        self.given: tuple[list, dict] = ([], {})
        self.on: Any = None
        self.tell: Callable[[str], None] = lambda text: None

    def prepare(self) -> None:
        """Makes the object and the arguments. What fails here was refused."""
        rng, target = self.rng, self.target
        if target.owner is not None:
            self.on = instance(rng, target.owner, self.made_of)
        if callable(target.call):
            self.given = arguments(rng, parameters(target.call))

    def made_of(self, params: list[Param]) -> tuple[list, dict]:
        """The arguments of the class of which a method is called."""
        self.given = arguments(self.rng, params, tame=True)
        self.tell(f"making {self}")
        return self.given

    def make(self, tell: Callable[[str], None] = lambda text: None) -> str:
        """Makes the call, after telling what it is; the outcome is one word."""
        self.tell = tell
        try:
            with fl.State():
                self.prepare()
                tell(str(self))
                self.finish(self.run())
        except MemoryError:
            return "memory"
        except RecursionError:
            return "recursion"
        except KeyboardInterrupt:
            return "interrupted"
        except Exception:
            return "refused"
        except BaseException as error:
            return "panic" if type(error).__name__ == "PanicException" else "refused"
        return "returned"

    def run(self) -> Any:
        target, (places, names) = self.target, self.given
        if target.owner is None:
            return target.call(*places, **names)
        name = target.name.rsplit(".", 1)[1]
        if not callable(target.call):
            return getattr(self.on, name)
        if isinstance(inspect.getattr_static(target.owner, name, None), (staticmethod, classmethod)):
            return target.call(*places, **names)
        return target.call(self.on, *places, **names)

    def finish(self, result: Any) -> None:
        """Uses the result as users do: it is called, iterated over or printed."""
        if inspect.isclass(self.target.call) and callable(result):
            places, names = arguments(self.rng, parameters(type(result).__call__))
            result = result(*places, **names)
        if self.rng.random() < 0.3:
            repr(result)
        if inspect.isgenerator(result) or hasattr(result, "__next__"):
            list(itertools.islice(result, 3))

    def __str__(self) -> str:
        places, names = self.given
        shown = [_shown(value) for value in places] + [f"{name}={_shown(value)}" for name, value in names.items()]
        on = "" if self.on is None else f" on {_shown(self.on)}"
        return f"seed {self.seed}: {self.target.name}({', '.join(shown)}){on}"


def arguments(rng: random.Random, params: list[Param], tame: bool = False) -> tuple[list, dict]:
    """Arguments by place and by name. Tame ones leave out what has a default."""
    places: list = []
    names: dict = {}
    for param in params:
        if not param.must and rng.random() < (0.8 if tame else 0.5):
            continue
        value = values.for_parameter(rng, param.name, param.annotation, param.default)
        if param.by_name or names or len(places) < params.index(param):
            names[param.name] = value
        else:
            places.append(value)
    if rng.random() < 0.03:
        places.append(values.anything(rng))
    return places, names


def _shown(value: Any) -> str:
    if isinstance(value, fl.Tensor):
        try:
            return value.type_text
        except Exception as error:
            return f"<{type(value).__name__}: {type(error).__name__}>"
    if type(value) in (list, tuple) and not any(item is value for item in value):
        return f"{type(value).__name__}({', '.join(map(_shown, value))})"
    try:
        text = repr(value)
    except BaseException as error:
        return f"<{type(value).__name__}: {type(error).__name__}>"
    return text if len(text) < 200 else text[:200] + "…"
