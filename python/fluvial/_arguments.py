"""What is wrong with the arguments of a function, said to the user; loaded when a call has failed before its op was reached."""

from __future__ import annotations

import ast
import difflib
import functools
import itertools
import os
from typing import Any, NamedTuple

from . import _core
from ._fault import fault
from ._options import ALTERNATIVES, EXACT
from ._ragged import Ragged
from ._ragged_functions import dispatched


class Parameter(NamedTuple):
    """An argument that a function takes."""

    name: str
    annotation: str
    #: As source; None if the argument must be given.
    default: str | None
    #: Whether it is given by name only.
    by_name: bool


def explained(name: str, args: tuple, options: dict[str, Any], error: BaseException) -> Any:
    """The error to raise for a call that failed, or what the call gives if there is another way to compute it.

    Args:
        name: The name of the function.
        args: What stood at its places.
        options: What was given by name.
        error: What happened.
    """
    if any(isinstance(value, Ragged) for value in (*args, *options.values())):
        return dispatched(name, args, options)
    params = _stubs().get(name)
    if params is None:
        return _told(error, name, str(error), "")
    if isinstance(options.get("out"), _core.Tensor) and all(param.name != "out" for param in params):
        return into(options["out"], getattr(_core, name)(*args, **{key: value for key, value in options.items() if key != "out"}))
    shown = f"the arguments are `{name}({', '.join(map(_shown, params))})`"
    places = [param for param in params if not param.by_name]
    if len(args) > len(places):
        what = f"`{name}` takes {len(places)} arguments by place, not {len(args)}"
        return _told(error, name, what, shown)
    given = {param.name: value for param, value in zip(places, args)}
    for option, value in options.items():
        if all(param.name != option for param in params):
            return _told(error, name, f"`{name}` has no argument `{option}`", _nearest(option, params, shown))
        if option in given:
            return _told(error, name, f"`{option}` is given twice, by place and by name", shown)
        given[option] = value
    missing = [param.name for param in params if param.default is None and param.name not in given]
    if missing:
        return _told(error, name, f"`{name}` needs the argument `{missing[0]}`", shown)
    for param in params:
        value = given.get(param.name)
        if "float" in param.annotation and _is_value(value):
            return _with_tensor(name, param, given, error)
    for param in params:
        if param.name in given and not _fits(given[param.name], param.annotation):
            what = f"`{param.name}` of `{name}` is {_said(given[param.name])}, not {_plain(param.annotation)}"
            remedy = f"make a tensor of it with `fl.tensor`; {shown}" if "TensorLike" in param.annotation else shown
            return _told(error, name, what, remedy)
    if isinstance(error, OverflowError):
        # What Python says speaks of types of C.
        for param in params:
            value = given.get(param.name)
            for number in value if isinstance(value, (list, tuple)) else [value]:
                if type(number) is int and not 0 <= number < 2**63:
                    wrong = "must not be negative" if -(2**63) <= number < 0 else "is beyond 64 bits"
                    return _told(error, name, f"`{param.name}` of `{name}` is {_said(value)}, and {wrong}", shown)
    return _told(error, name, str(error), "" if "\n  remedy: " in str(error) else shown)


def into(out: Any, found: Any) -> Any:
    """Gives the tensor of an argument `out` what a function has found; returns it.

    Args:
        out: The tensor.
        found: What it is to hold.
    """
    from ._array_api.dtypes import can_cast
    from ._inplace import put

    if not isinstance(found, _core.Tensor):
        raise fault(TypeError, "`out` is one tensor, and the function gives several", "leave `out` out, and name the results")
    if not can_cast(found.dtype, out.dtype):
        raise fault(TypeError, f"{found.type_text} does not fit `out`, which is {out.type_text}", "make `out` with the element type of the result")
    return put(out, found if found.dtype == out.dtype else _core.cast(found, out.dtype))


def _told(error: BaseException, name: str, what: str, remedy: str) -> BaseException:
    what, _, own = what.partition("\n  remedy: ")
    kind = type(error) if type(error).__module__ == "builtins" else TypeError
    told = fault(kind, what, remedy or own)
    told.op = name  # type: ignore[attr-defined]
    return told


def given_twice(name: str, other: str, ours: str) -> TypeError:
    """The error for an argument that is given by our name and by that of others.

    Args:
        name: The name of the function.
        other: What others call the argument.
        ours: What it is called here.
    """
    error = fault(TypeError, f"`{other}` is another name of `{ours}`, which is given, too", f"give `{name}` one of them")
    error.op = name  # type: ignore[attr-defined]
    return error


def with_our_names(function: Any, given: dict[str, Any]) -> Any:
    """Calls a function of the package's own with arguments that have other names; see `fluvial._fault.renamed`."""
    import inspect

    params = {p.name: p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD}
    others = _core.other_names()
    pairs = [*others.get(function.__name__, {}).items(), *_everywhere(others[""])]
    values = {name: given[name] for name in params}
    out = given["wrong"].get("out") if "out" not in params else None
    for option, value in given["wrong"].items():
        if option == "out" and isinstance(out, _core.Tensor):
            continue
        known = [ours for other, ours in pairs if other == option and (not ours or ours in params)]
        if not known:
            raise unknown_option(function, option)
        if not known[0]:
            continue
        default = params[known[0]].default
        if values[known[0]] is not default and values[known[0]] != default:
            raise given_twice(function.__name__, option, known[0])
        values[known[0]] = value
    by_place = [values.pop(name) for name, p in params.items() if p.kind is p.POSITIONAL_ONLY]
    rest = [p for p in params.values() if p.kind is p.VAR_POSITIONAL]
    found = function(*by_place, *(values.pop(rest[0].name) if rest else ()), **values)
    return into(out, found) if isinstance(out, _core.Tensor) else found


def _everywhere(table: dict[str, str]) -> Any:
    for other, ours in table.items():
        for one in ours.split("|"):
            yield other, one


def unknown_option(function: Any, option: str) -> TypeError:
    """The error for an option that a function of the package's own does not have."""
    import inspect

    found = [
        Parameter(p.name, "Any", None if p.default is p.empty else repr(p.default), p.kind is p.KEYWORD_ONLY)
        for p in inspect.signature(function).parameters.values()
        if p.kind is not p.VAR_KEYWORD
    ]
    name = function.__name__
    shown = f"the arguments are `{name}({', '.join(map(_shown, found))})`"
    error = fault(TypeError, f"`{name}` has no argument `{option}`", _nearest(option, found, shown))
    error.op = name  # type: ignore[attr-defined]
    return error


def _nearest(option: str, params: list[Parameter], shown: str) -> str:
    names = [param.name for param in params]
    other = next(iter(difflib.get_close_matches(option, names, 1)), None)
    return f"write `{other}`; {shown}" if other else shown


def _is_value(value: Any) -> bool:
    return isinstance(value, _core.Tensor) and (value.is_symbolic or value.is_tracked)


def _with_tensor(name: str, param: Parameter, given: dict[str, Any], error: BaseException) -> Any:
    """The call with a tensor, or a number of the program, where the op takes a number."""
    value = given[param.name]
    instead = ALTERNATIVES.get((name, param.name))
    if instead is not None and (not value._is_number or (name, param.name) in EXACT):
        return instead(**given)
    if value._is_number:
        what = f"`{param.name}` of `{name}` is a number that only the run of the program knows"
        remedy = "compute it outside of the function and pass it as an argument, or write the formula with tensors"
    elif value.is_symbolic:
        what = f"`{param.name}` of `{name}` is a number, and {value.type_text} a value that only the run of the program knows"
        remedy = "pass a Python number, or write the formula with tensors"
    else:
        what = f"`{param.name}` of `{name}` is a number: the gradient of the tensor given there would be lost"
        remedy = f"pass `{param.name}=x.item()` if it is not wanted, or write the formula with tensors"
    return _told(error, name, what, remedy)


def stacked(values: Any) -> Any:
    """Nested lists with tensors in them, as a tensor that keeps their gradients and their places in the program."""
    if not isinstance(values, (list, tuple)):
        return values
    parts = [stacked(value) for value in values]
    like = [part for part in parts if isinstance(part, _core.Tensor) and not part._is_number]
    if like:
        # Numbers and tensors of one shape: a number beside tensors takes their element type.
        parts = [part if isinstance(part, _core.Tensor) and not part._is_number else _beside(part, like[0]) for part in parts]
    return _core.stack([part if isinstance(part, _core.Tensor) else _core.tensor(part) for part in parts], 0)


def _beside(number: Any, like: Any) -> Any:
    is_float = like.dtype.name.startswith(("float", "bfloat", "complex"))
    return _core.tensor(number, like.dtype) if is_float else _core.tensor(number)


def _said(value: Any) -> str:
    if isinstance(value, _core.Tensor):
        return f"the tensor {value.type_text}"
    text = repr(value)
    return f"the {type(value).__name__} {text if len(text) < 40 else text[:37] + '...'}"


def _plain(annotation: str) -> str:
    return annotation.replace("builtins.", "").replace("TensorLike", "a tensor, number or array")


def _fits(value: Any, annotation: str) -> bool:
    return any(_fits_one(value, part.strip()) for part in annotation.split("|"))


def _fits_one(value: Any, part: str) -> bool:
    if part == "None":
        return value is None
    if part in ("int", "float"):
        return hasattr(value, "__index__") or (part == "float" and hasattr(value, "__float__"))
    if part == "builtins.bool":
        return isinstance(value, bool)
    if part == "str":
        return isinstance(value, str)
    if part == "TensorLike":
        return hasattr(value, "__array__") or isinstance(value, (int, float, _core.Dim))
    if part.startswith("Sequence[") and part.endswith("]"):
        is_group = hasattr(value, "__len__") and hasattr(value, "__getitem__") and not isinstance(value, str)
        if not is_group or isinstance(value, _core.Tensor):
            return False
        # The first elements tell; a range may have more than anybody could look at.
        return all(_fits(x, part[9:-1]) for x in itertools.islice(value, 1000))
    return True


def _shown(param: Parameter) -> str:
    return param.name if param.default is None else f"{param.name}={param.default}"


@functools.cache
def _stubs() -> dict[str, list[Parameter]]:
    """The parameters of the functions of the core, as the stubs have them."""
    path = os.path.join(os.path.dirname(__file__), "_core.pyi")
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except OSError:
        return {}
    # The first of several forms has our names.
    found: dict[str, list[Parameter]] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, _params(node.args))
    return found


def _params(args: ast.arguments) -> list[Parameter]:
    places = [*args.posonlyargs, *args.args]
    defaults: list[Any] = [None] * (len(places) - len(args.defaults)) + list(args.defaults)
    pairs = [(arg, default, False) for arg, default in zip(places, defaults)]
    pairs += [(arg, default, True) for arg, default in zip(args.kwonlyargs, args.kw_defaults)]
    return [
        Parameter(
            arg.arg,
            ast.unparse(arg.annotation) if arg.annotation else "Any",
            None if default is None else ast.unparse(default),
            by_name,
        )
        for arg, default, by_name in pairs
    ]
