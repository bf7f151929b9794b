"""What can be observed of values: structure, types, bits, and which objects are the same.

A picture is a dict from paths, such as `result[0].h`, to what stands there. An object that can be changed
is known by the first path that leads to it, so two pictures are equal only if what is shared in one is
shared in the other.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, NamedTuple

import numpy as np

import fluvial as fl


class Fact(NamedTuple):
    """What stands at a path: a class of things, its type, its value, and which object it is."""

    what: str
    kind: str
    value: Any = None
    first: str | None = None


class Painter:
    """Paints values into one picture; an object is the same in all of them."""

    def __init__(self) -> None:
        self.facts: dict[str, Fact] = {}
        self.paths: dict[int, str] = {}
        self.kept: list[Any] = []

    def first(self, path: str, value: Any) -> tuple[str, bool]:
        """The first path that led to an object, and whether that was before."""
        known = id(value) in self.paths
        if not known:
            self.paths[id(value)] = path
            # What is not kept could die, and another object have its identity.
            self.kept.append(value)
        return self.paths[id(value)], known

    def paint(self, path: str, value: Any) -> None:
        if value is None or isinstance(value, (bool, int, float, str, bytes, range, slice)):
            what = "number" if isinstance(value, (bool, int, float)) else "plain"
            # `x.size` is an int that can be called; as a result it is its number.
            kind = "int" if type(value).__name__ == "Size" else type(value).__name__
            self.facts[path] = Fact(what, kind, repr(value))
        elif isinstance(value, fl.Tensor):
            self.tensor(path, value)
        elif isinstance(value, (np.ndarray, np.generic)):
            first, _ = self.first(path, value) if isinstance(value, np.ndarray) else (None, False)
            kind = f"{type(value).__name__} {value.dtype}{list(value.shape)}"
            self.facts[path] = Fact("array", kind, _bits(np.asarray(value)), first)
        elif isinstance(value, (tuple, list, dict, set, frozenset, collections.deque)):
            self.container(path, value)
        elif isinstance(value, fl.nn.Layer):
            self.object(path, value, _layer(value))
        elif callable(value) or isinstance(value, type):
            self.facts[path] = Fact("function", getattr(value, "__name__", type(value).__name__))
        else:
            self.object(path, value, _fields(value))

    def tensor(self, path: str, value: Any) -> None:
        first, known = self.first(path, value)
        if value.is_symbolic:
            self.facts[path] = Fact("symbolic", value.type_text, None, first)
            return
        self.facts[path] = Fact("tensor", value.type_text, _elements(value), first)
        if known:
            return
        self.facts[f"{path}.is_tracked"] = Fact("flag", "bool", value.is_tracked)
        grad = getattr(value, "grad", None) if value.is_tracked else None
        if isinstance(grad, fl.Tensor):
            kind = grad.type_text
            self.facts[f"{path}.grad"] = Fact(
                "gradient", kind, None if grad.is_symbolic else _elements(grad)
            )

    def container(self, path: str, value: Any) -> None:
        first, known = (None, False) if isinstance(value, tuple) else self.first(path, value)
        kind = type(value).__name__
        if isinstance(value, (set, frozenset)):
            self.facts[path] = Fact("container", kind, sorted(map(repr, value)), first)
            return
        keys = list(map(repr, value)) if isinstance(value, dict) else len(value)
        self.facts[path] = Fact("container", kind, keys, first)
        if known:
            return
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            self.paint(f"{path}[{key!r}]", part)

    def object(self, path: str, value: Any, fields: dict[str, Any]) -> None:
        first, known = self.first(path, value)
        self.facts[path] = Fact("object", type(value).__name__, list(fields), first)
        if not known:
            for name, part in fields.items():
                self.paint(f"{path}.{name}", part)


def _fields(value: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    return dict(getattr(value, "__dict__", {}))


def _layer(layer: Any) -> dict[str, Any]:
    fields = dict(layer.named_parameters()) | dict(layer.named_buffers())
    for name in ("training", "p"):
        if hasattr(layer, name):
            fields[name] = getattr(layer, name)
    return fields


def _elements(tensor: Any) -> tuple:
    # NumPy has no bfloat16, of which each value is one of float32.
    return _bits(
        (fl.cast(tensor.detach(), "float32") if tensor.dtype == "bfloat16" else tensor).numpy()
    )


def _bits(array: np.ndarray) -> tuple:
    """Elements that are equal if their bits are, and all that are not numbers alike."""
    values = np.ascontiguousarray(array)
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), np.asarray(np.nan, values.dtype), values)
    return (values.tobytes(), values.dtype.str)


def _numbers(value: tuple) -> np.ndarray:
    return np.frombuffer(value[0], value[1])


def differences(one: dict[str, Fact], two: dict[str, Fact]) -> list[tuple[str, str, str]]:
    """Where two pictures differ: what kind of difference, the path, and both facts as text."""
    found = []
    for path in [*one, *(path for path in two if path not in one)]:
        a, b = one.get(path), two.get(path)
        if a == b:
            continue
        # Parts of something that differs already say nothing new.
        if any(
            path != shorter and path.startswith((shorter + ".", shorter + "["))
            for _, shorter, _ in found
        ):
            continue
        found.append((_kind(path, a, b), path, f"{_text(a)} / {_text(b)}"))
    return found


def _kind(path: str, a: Fact | None, b: Fact | None) -> str:
    where = path.split("[")[0].split(".")[0]
    if path.endswith(".is_tracked"):
        return f"{where}: is_tracked"
    if a is None or b is None:
        there = a or b
        assert there is not None
        return f"{where}: {'gone' if b is None else 'extra'} {there.what}"
    if b.what == "symbolic":
        return f"{where}: symbolic tensor left behind"
    if a.what != b.what:
        return f"{where}: {a.kind if a.what == 'number' else a.what} is {b.what}"
    if a.kind != b.kind:
        return f"{where}: type of {a.what}" + (
            f" ({a.kind} is {b.kind})" if a.what == "number" else ""
        )
    if a.value != b.value:
        return f"{where}: value of {a.what}" + (" (rounding)" if _close(a, b) else "")
    return f"{where}: sharing of {a.what}"


def _close(a: Fact, b: Fact) -> bool:
    if a.what not in ("tensor", "gradient", "array") or a.value is None or b.value is None:
        return False
    try:
        return np.allclose(_numbers(a.value), _numbers(b.value), 1e-4, 1e-5, equal_nan=True)
    except (TypeError, ValueError):
        return False


def _text(fact: Fact | None) -> str:
    if fact is None:
        return "nothing"
    value = _numbers(fact.value).tolist() if isinstance(fact.value, tuple) else fact.value
    return f"{fact.kind} {value}" + (f" first at {fact.first}" if fact.first is not None else "")
