"""Functions of tensors as functions of variables: at once, or appended to the program."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from .. import _core
from .._fault import fault
from .._ragged import Ragged
from .._tree import same_sizes
from . import unique_name
from ._versions import LAYERS, order_of
from .blocks import CALLS, Operator, State
from .core import VarType
from .framework import default_main_program, default_startup_program
from .variable import Variable

__all__ = ["applied", "dygraph_tensor", "dygraph_variable", "layer", "store"]


def _opened(value: Any, of: Callable[[Variable], Any]) -> Any:
    """What was given, with tensors in place of variables."""
    if isinstance(value, Variable):
        return of(value)
    if isinstance(value, VarType):
        return str.__str__(value.value)
    if isinstance(value, list):
        return [_opened(item, of) for item in value]
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(_opened(item, of) for item in value)
    if isinstance(value, dict):
        return {key: _opened(item, of) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*(_opened(item, of) for item in (value.start, value.stop, value.step)))
    return value


def _wrapped(value: Any, of: Callable[[Any], Variable]) -> Any:
    """What came back, with variables in place of tensors."""
    if isinstance(value, (_core.Tensor, Ragged)):
        return of(value)
    if isinstance(value, list):
        return [_wrapped(item, of) for item in value]
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(_wrapped(item, of) for item in value)
    if isinstance(value, dict):
        return {key: _wrapped(item, of) for key, item in value.items()}
    return value


def dygraph_tensor(var: Variable) -> Any:
    """The tensor of a variable where ops run at once, as functions take it."""
    if var.block is not None:
        raise fault(
            RuntimeError,
            f"`{var.name}` is a value of a program, and ops run at once here",
            "use it outside of `fluid.dygraph.guard()`",
        )
    tensor = var._value()
    if getattr(tensor, "_is_freed", False):
        # As in Fluid, a backward pass ends what lies before it: what was computed is a leaf of the next one.
        tensor = var._tensor = tensor.detach().track()
        var._follow_gradient()
    if isinstance(tensor, _core.Tensor) and tensor.ndim == 0:
        tensor = _core.reshape(tensor, (1,))
    if CALLS.traces and isinstance(tensor, _core.Tensor) and tensor.is_tracked and not tensor.is_symbolic:
        # What a layer holds besides its parameters is a constant of the traced program, as in Fluid.
        return _core.tensor(tensor.numpy())
    return tensor


def dygraph_variable(tensor: Any, name: str | None = None, label: str = "generated_tensor") -> Variable:
    """A variable with this tensor, where ops run at once."""
    var = Variable(None, name or unique_name.generate(label), tensor=tensor)
    var._stop_gradient = not getattr(tensor, "is_tracked", False)
    var._follow_gradient()
    return var


def applied(function: Callable[..., Any], kind: str, *args: Any, **named: Any) -> Any:
    """Calls a function of tensors with variables, and gives variables back.

    Args:
        function: Takes and gives tensors.
        kind: What names of its results are made of.
        args: What it takes.
        named: The same, by name.
    """
    if CALLS.dygraph:
        CALLS.depth += 1
        try:
            results = _on_rows(function, _opened(list(args), dygraph_tensor), _opened(named, dygraph_tensor))
        finally:
            CALLS.depth -= 1
        return _wrapped(results, dygraph_variable)
    former_layer, CALLS.layer = CALLS.layer, None
    block = default_main_program().current_block()
    try:
        with block.building(), _in_scopes():
            if kind in _TAKE_SIZES:
                args, named = _with_numbers(args), _with_numbers(named)
            given, options = _opened(list(args), block.value), _opened(named, block.value)
            results = _on_rows(function, given, options)
            layer = CALLS.layer or named.get("name") or unique_name.generate(kind)
            made: list[str] = []

            def variable(tensor: Any) -> Variable:
                var = block.made(tensor, label=f"{layer}.tmp")
                made.append(var.name)
                return var

            found = _wrapped(results, variable)
    finally:
        CALLS.layer = former_layer
    block.ops.append(Operator(block, kind, made))
    return found


#: Functions that take sizes, places or counts, also as variables.
_TAKE_SIZES = {
    "reshape", "expand", "slice", "strided_slice", "fill_constant", "zeros", "ones", "full", "crop_tensor", "range",
    "arange", "uniform_random", "gaussian_random", "randint", "sequence_mask", "linspace", "eye",
}

#: Functions whose results have no lengths in Fluid, though they have as many rows as what they take.
_WITHOUT_LENGTHS = {"tree_conv"}  # fmt: skip


def _with_numbers(value: Any) -> Any:
    """What was given, with numbers in place of variables of sizes that are known."""
    if isinstance(value, Variable):
        numbers = value._numbers
        if numbers is None or None in numbers:
            return value
        return numbers[0] if len(numbers) == 1 else list(numbers)
    if isinstance(value, dict):
        return {name: _with_numbers(item) for name, item in value.items()}
    return type(value)(map(_with_numbers, value)) if type(value) in (list, tuple) else value


class _Undo:
    """Takes back the names and parameters of a call that failed."""

    def __init__(self) -> None:
        self._ids = dict(unique_name._Current.generator.ids)
        self._programs = [] if CALLS.dygraph else [default_main_program(), default_startup_program()]
        self._known = [(set(program.global_block().vars), set(program._made)) for program in self._programs]
        self._owner = CALLS.owner
        self._held = None if self._owner is None else self._owner._holds()

    def names(self) -> None:
        """Names are given out again."""
        unique_name._Current.generator.ids = dict(self._ids)

    def asked(self) -> None:
        """A layer object is asked for its parameters from the first one again."""
        if self._owner is not None:
            self._owner._ask_anew(self._held)

    def states(self) -> None:
        """Parameters that were made are forgotten."""
        self.asked()
        for program, (names, made) in zip(self._programs, self._known):
            block = program.global_block()
            for name in [name for name, var in block.vars.items() if name not in names and isinstance(var, State)]:
                del block.vars[name]
            for name in [name for name in program._made if name not in made]:
                del program._made[name]


#: Modules whose functions take sequences as they are.
_OF_SEQUENCES = tuple(
    f"fluvial.fluid.layers.{name}"
    for name in (
        "sequence", "_sequence_models", "_boxes", "_regions", "_region_pools", "_proposals", "_box_targets", "_measures",
    )  # fmt: skip
)


def _on_rows(function: Callable[..., Any], given: list[Any], options: dict[str, Any]) -> Any:
    """Calls a function of tensors. Of sequences it gets the rows; what it gives with as many rows has their lengths, as
    in Fluid, unless it is a function of sequences itself."""
    first: list[Ragged] = []

    def rows(value: Any) -> Any:
        if isinstance(value, Ragged):
            first.append(value)
            like = first[0].data.shape[0]
            if same_sizes(value.data.shape[0], like) or not value.data.is_symbolic:
                return value.data
            # Sequences that go together have the same lengths, which the run checks by the number of rows.
            return _core.assume_dims(value.data, (like, *value.data.shape[1:]))
        return type(value)(map(rows, value)) if type(value) in (list, tuple) else value

    if getattr(function, "__module__", "") not in _OF_SEQUENCES:
        given, options = [rows(value) for value in given], {name: rows(value) for name, value in options.items()}
    undo = _Undo()
    try:
        found = function(*given, **options)
    except Exception as error:
        undo.names()
        found = _once_more(function, given, options, error, undo)
    if not first or getattr(function, "__name__", "") in _WITHOUT_LENGTHS:
        return found
    count = first[0].data.shape[0]

    def sequences(value: Any) -> Any:
        if isinstance(value, _core.Tensor) and value.ndim and same_sizes(value.shape[0], count):
            return first[0]._with(value)
        if type(value) is list:
            return [sequences(item) for item in value]
        return tuple(sequences(item) for item in value) if type(value) is tuple else value

    return sequences(found)


def _once_more(
    function: Callable[..., Any], given: list[Any], options: dict[str, Any], error: Exception, undo: _Undo
) -> Any:
    """Calls a function again whose tensors did not fit, with open sizes taken for equal, from the last axis or from the
    first one; else raises what it raised."""

    def tried(front: bool) -> Any:
        args = [list(value) if isinstance(value, list) else value for value in given]
        named = {name: list(value) if isinstance(value, list) else value for name, value in options.items()}
        if not _reconcile(args, named, front):
            raise error
        CALLS.layer = None
        undo.asked()
        return function(*args, **named)

    is_size = getattr(error, "kind", None) == "shape" and _core.is_building()
    block: Any = CALLS.block
    for front in (False, True) if is_size and block is not None else ():
        held: Any = block
        kept = held.kept()
        # A first try in a block that is thrown away, so that nothing of it stays if sizes do not fit in this way either.
        _core.begin_block([])
        try:
            tried(front)
        except Exception as other:
            if getattr(other, "kind", None) != "shape":
                undo.states()
                raise
            continue
        finally:
            _core.abort_block()
            held.restore(kept)
            undo.names()
        undo.states()
        return tried(front)
    undo.states()
    raise error


def _reconcile(given: list[Any], options: dict[str, Any], front: bool) -> bool:
    """Takes open sizes of tensors for equal to those of the first one, axis by axis; runs check it. To Fluid each open
    size is -1, which fits all others.

    Args:
        given: What a function takes, which is changed.
        options: The same, by name.
        front: Whether axes are counted from the first one, not from the last.
    """
    tensors: list[tuple[Any, Any]] = []
    for holder, keys in ((given, range(len(given))), (options, list(options))):
        for key in keys:
            value: Any = holder[key]  # type: ignore[index]
            if isinstance(value, list):
                tensors += [(value, i) for i, item in enumerate(value) if _is_plain(item)]
            elif _is_plain(value):
                tensors.append((holder, key))
    if len(tensors) < 2:
        return False
    known = list(tensors[0][0][tensors[0][1]].shape)

    def axes(sizes: list[Any]) -> list[int]:
        return [i if front else -1 - i for i in range(min(len(known), len(sizes)))]

    for holder, key in tensors[1:]:
        sizes = list(holder[key].shape)
        for axis in axes(sizes):
            # An open size that meets a known one is that one.
            if not isinstance(known[axis], int) and isinstance(sizes[axis], int) and sizes[axis] != 1:
                known[axis] = sizes[axis]
    changed = False
    for holder, key in tensors:
        tensor = holder[key]
        sizes = list(tensor.shape)
        for axis in axes(sizes):
            one, other = known[axis], sizes[axis]
            is_one = isinstance(one, int) and one == 1
            if repr(one) != repr(other) and not is_one and not isinstance(other, int):
                sizes[axis] = one
        if list(map(repr, sizes)) != list(map(repr, tensor.shape)):
            holder[key] = _core.assume_dims(tensor, tuple(sizes))
            changed = True
    return changed


def _is_plain(value: Any) -> bool:
    return isinstance(value, _core.Tensor) and not value.type_text.startswith("list") and value.ndim > 0


@contextlib.contextmanager
def _in_scopes() -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for scope in CALLS.scopes:
            stack.enter_context(_core.in_layer(scope))
        yield


#: Functions that write their result to a variable that is given by this name.
OUTPUTS = {
    **dict.fromkeys(("less_than", "less_equal", "greater_than", "greater_equal", "equal", "not_equal"), "cond"),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor", "logical_not", "sums", "fill_constant"), "out"),
    **dict.fromkeys(("zeros_like", "ones_like", "uniform_random", "linspace", "eye"), "out"),
    "assign": "output",
}


def layer(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors as one of variables: at once, or appended to the program.

    Args:
        function: Takes tensors, numbers and others, and gives tensors.
    """
    import inspect

    kind = function.__name__
    target = OUTPUTS.get(kind)
    try:
        names = list(inspect.signature(function).parameters)
    except ValueError:
        names = []
    has_phase = "is_test" in names
    # Functions of 1.6 and later that make values take a device, and say whether gradients pass.
    makes = "device" in names and "stop_gradient" in names
    former = LAYERS.get(kind)
    ordered = None if former is None else order_of(function, former)

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if ordered is not None:
            args, named = ordered(args, named)
        if CALLS.block is not None or CALLS.depth or _has_tensors((*args, *named.values())):
            # Called from inside of another one, or from elsewhere, with tensors.
            return function(*args, **named)
        out: Any = None
        if target is not None:
            out = named.pop(target, None)
            if out is None and target in names and len(args) > names.index(target):
                place = names.index(target)
                out, args = args[place], (*args[:place], None, *args[place + 1 :])
        if "name" in names and len(args) > names.index("name"):
            # A name by place makes names of results, too.
            place = names.index("name")
            args, named = args[:place], {**dict(zip(names[place:], args[place:])), **named}
        if has_phase and CALLS.dygraph and not CALLS.training and len(args) <= names.index("is_test"):
            named["is_test"] = True
        result = applied(function, kind, *args, **named)
        if out is not None:
            store(result, out)
            result = out
        if makes:
            _as_made(result, {**dict(zip(names, args)), **named})
        return result

    if former is not None:
        call.former = former.split()  # type: ignore[attr-defined]
    return call


def _as_made(result: Variable, given: dict[str, Any]) -> None:
    """Heeds `device` and `stop_gradient` of a function that makes a value."""
    if given.get("device") not in (None, "cpu"):
        raise fault(ValueError, f"there is no device {given['device']!r} here", "use 'cpu', or leave it out")
    if "stop_gradient" in given:
        result.stop_gradient = bool(given["stop_gradient"])


def _has_tensors(values: Any) -> bool:
    """Whether tensors of the core are given, not variables."""
    return any(
        isinstance(value, (_core.Tensor, Ragged)) or (type(value) in (list, tuple) and _has_tensors(value))
        for value in values
    )


def store(value: Variable, out: Variable) -> None:
    """Gives a variable the value of another one.

    Args:
        value: The value.
        out: The variable that gets it.
    """
    if CALLS.dygraph:
        out._tensor = value._value()
        out._stop_gradient = value._stop_gradient
        return
    block = default_main_program().current_block()
    with block.building():
        block.write(out, block.raw(value))
    block.vars.pop(value.name, None)
    if out.name not in block.vars and out.block is block:
        block.vars[out.name] = out
