"""What there is to call, found by looking: functions, classes and methods of all public modules."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import random
from typing import Any, NamedTuple

import numpy as np

import fluvial as fl
from fluvial import _arguments, _core

from . import values

#: What is not called, and why.
LEFT_OUT = {
    "fluvial.debug": "waits for a debugger",
    "fluvial.__main__": "the command line ends the process",
    "fluvial.view": "opens a browser",
    "fluvial.set_mode": "changes what later calls are",
    "fluvial.Executor.close": "belongs to Fluid's mode, which is not set",
    "fluvial.imperative.Layer.register_forward_hook": "Python's own",
}


class Param(NamedTuple):
    """A parameter of something to call."""

    name: str
    annotation: str
    #: None where it must be given.
    default: Any
    must: bool
    by_name: bool


class Target(NamedTuple):
    """A function, a class or, with an owner, a method."""

    name: str
    call: Any
    owner: type | None


@functools.lru_cache(None)
def targets() -> list[Target]:
    """All that is public, in order of its name."""
    found: dict[str, Target] = {}
    seen: set[int] = set()
    names = ["fluvial"] + [info.name for info in pkgutil.walk_packages(fl.__path__, "fluvial.")]
    for module_name in names:
        if any(part.startswith("_") for part in module_name.split(".")) or module_name in LEFT_OUT:
            continue
        module = importlib.import_module(module_name)
        public = [*getattr(module, "__all__", ()), *(n for n in vars(module) if not n.startswith("_"))]
        for name in public:
            value = getattr(module, name, None)
            home = getattr(value, "__module__", None) or ""
            if not callable(value) or id(value) in seen or not home.startswith(("fluvial", "_core")):
                continue
            seen.add(id(value))
            full = f"{module_name}.{name}"
            found[full] = Target(full, value, None)
            if inspect.isclass(value):
                for target in methods(full, value):
                    found.setdefault(target.name, target)
    for owner in (_core.Reader, _core.Cursor, _core.Schedule, _core.Initializer):
        for target in methods(f"fluvial._core.{owner.__name__}", owner):
            found.setdefault(target.name, target)
    return [found[name] for name in sorted(found) if not any(name.startswith(left) for left in LEFT_OUT)]


#: Special methods that operators and builtins call.
SPECIAL = """abs add and array bool bytes call complex contains delitem dlpack divmod eq float floordiv format ge getitem gt
iadd iand imul index int invert isub iter itruediv le len lshift lt matmul mod mul ne neg or pow radd repr rmul round rpow
rshift rsub rtruediv setitem setstate str sub truediv xor copy deepcopy reduce enter""".split()


def methods(full: str, owner: type) -> list[Target]:
    made = []
    for name in dir(owner):
        if name.startswith("_") and name[2:-2] not in SPECIAL:
            continue
        value = getattr(owner, name, None)
        home = getattr(value, "__module__", None) or getattr(getattr(value, "__objclass__", None), "__module__", "") or ""
        plain = callable(value) and not inspect.isclass(value) and home.startswith("fluvial")
        if plain or isinstance(value, property) or inspect.isgetsetdescriptor(value):
            made.append(Target(f"{full}.{name}", value, owner))
    return made


@functools.lru_cache(None)
def parameters(call: Any) -> list[Param]:
    """What it takes: by the stubs for the core's functions, by its signature elsewhere."""
    stubs = _arguments._stubs().get(getattr(call, "__name__", ""))
    if stubs is not None and inspect.isbuiltin(call):
        return [Param(p.name, p.annotation, p.default, p.default is None, p.by_name) for p in stubs]
    try:
        signature = inspect.signature(call)
    except (ValueError, TypeError):
        return [Param("x", "Any", None, True, False)]
    found = []
    for p in signature.parameters.values():
        if p.name == "self" or p.kind is p.VAR_KEYWORD:
            continue
        empty = p.default is p.empty
        annotation = "Any" if p.annotation is p.empty else str(p.annotation)
        found.append(Param(p.name, annotation, None if empty else p.default, empty, p.kind is p.KEYWORD_ONLY))
    return found


def _step(x: Any) -> Any:
    return fl.sum(fl.sqrt(x) * 2)


#: How an object is made on which methods are called.
MAKERS: dict[str, Any] = {
    "Tensor": values.tensor,
    "Program": lambda rng: fl.build(_step, {"x": "f32[n]"}),
    "Compiled": lambda rng: fl.compile(fl.build(_step, {"x": "f32[n]"})),
    "State": lambda rng: fl.State(),
    "DType": lambda rng: rng.choice(values.DTYPES),
    "Reader": lambda rng: fl.reader({"x": np.zeros([5, 2], "f4"), "y": np.zeros(5, "i8")}),
    "Parameter": lambda rng: fl.parameter("w", fl.ones([2, 3])),
    "Variable": lambda rng: fl.Variable("x"),
    "Initializer": lambda rng: fl.initializer.Normal(),
}


def instance(rng: random.Random, owner: type, made_of: Any) -> Any:
    """An object of a class; nothing if the class did not take what it was given."""
    maker = MAKERS.get(owner.__name__)
    if maker is not None and owner.__module__ in ("fluvial", "fluvial._core", "fluvial._reader", "fluvial._lazy"):
        return maker(rng)
    given, named = made_of(parameters(owner))
    return owner(*given, **named)
