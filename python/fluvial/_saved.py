"""Nested dicts and lists of tensors in files: safetensors, with the form of the tree beside the tensors."""

from __future__ import annotations

import json
import os

from . import _core
from ._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Path = str | os.PathLike[str]

#: The note that has the form of the tree.
_FORM = "fluvial.form"
_PLAIN = (str, int, float, bool, type(None))


def write(value: Any, path: Path) -> None:
    """Writes a tree of tensors, numbers and strings."""
    tensors: dict[str, Any] = {}
    form = _form(value, "", tensors, {}, [])
    if isinstance(value, dict) and _is_flat(value, tensors):
        # Every reader of safetensors takes a plain dict as what it is.
        _core.write_safetensors(path, dict(tensors))
    else:
        _core.write_safetensors(path, dict(tensors), [(_FORM, json.dumps(form))])


def _is_flat(value: dict[Any, Any], tensors: dict[str, Any]) -> bool:
    return len(tensors) == len(value) and all(
        isinstance(key, str) and tensors.get(key) is one and isinstance(one, _core.Tensor)
        for key, one in value.items()
    )


def _form(value: Any, at: str, tensors: dict[str, Any], known: dict[int, Any], above: list[int]) -> Any:
    if isinstance(value, _PLAIN):
        return {"value": value}
    if id(value) in above:
        raise fault(ValueError, f"what is saved is inside of itself at `{at}`", "save a tree")
    if id(value) in known:
        return known[id(value)]
    array = type(value).__module__ == "numpy" and hasattr(value, "dtype")
    if isinstance(value, _core.Tensor) or array:
        name = at or "value"
        tensors[name] = _core.tensor(value) if array else value
        found: Any = {"array" if array else "tensor": name}
        known[id(value)] = found
        return found
    above.append(id(value))

    def within(part: Any, key: Any) -> Any:
        return _form(part, f"{at}.{key}" if at else str(key), tensors, known, above)

    if isinstance(value, dict):
        wrong = [key for key in value if not isinstance(key, _PLAIN)]
        if wrong:
            raise fault(TypeError, f"the key {wrong[0]!r} at `{at}` cannot be saved", "use strings and numbers as keys")
        made: Any = {"dict": [[key, within(part, key)] for key, part in value.items()]}
    elif isinstance(value, (list, tuple)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        made = {kind: [within(part, i) for i, part in enumerate(value)]}
    else:
        remedy = "save its `state_dict()`" if hasattr(value, "state_dict") else "save tensors, numbers and strings"
        raise fault(TypeError, f"{type(value).__name__} at `{at or 'the top'}` cannot be saved", remedy)
    above.pop()
    return made


def is_tensors(path: Path) -> bool:
    """Whether a file is one of safetensors."""
    with open(os.fspath(path), "rb") as file:
        start = file.read(9)
    size = int.from_bytes(start[:8], "little")
    return len(start) == 9 and start[8:] == b"{" and size < os.path.getsize(path)


def is_archive(path: Path) -> bool:
    """Whether a file is one that PyTorch wrote."""
    with open(os.fspath(path), "rb") as file:
        return file.read(4) == b"PK\x03\x04"


def read(path: Path) -> Any:
    """What `write` has written; the tensors by name of any other file of safetensors."""
    # What is the matter with a damaged file is said before anything of it is used.
    tensors = _core.read_safetensors(path)
    with open(os.fspath(path), "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    form = header.get("__metadata__", {}).get(_FORM)
    if form is None:
        return tensors
    try:
        return _made(json.loads(form), tensors)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise fault(
            ValueError,
            f"`{os.fspath(path)}` does not say what it holds: its note `{_FORM}` is none of `fl.save`",
            "take a copy that is whole, or read the tensors alone: `fl.load_safetensors(path)`",
        ) from None


def _made(form: Any, tensors: dict[str, Any]) -> Any:
    ((kind, held),) = form.items()
    if kind == "value":
        return held
    if kind == "tensor":
        return tensors[held]
    if kind == "array":
        return tensors[held].numpy()
    if kind == "dict":
        return {key: _made(part, tensors) for key, part in held}
    parts = [_made(part, tensors) for part in held]
    return tuple(parts) if kind == "tuple" else parts
