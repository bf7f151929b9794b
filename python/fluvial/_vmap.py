"""`fl.vmap`: a function of one element, applied to all elements of a batch at once."""

from __future__ import annotations

import functools
import types

from . import _core
from ._fault import fault
from ._tree import children, flatten, is_tensor, rebuild, same_sizes, with_tensors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._core import Tensor

RANDOMNESS = ("error", "different", "same")


def called(function: Callable[..., Any], args: tuple, options: dict[str, Any]) -> Any:
    """Calls a function of the user's; while a program is built, with its control flow as a part of that."""
    if not _core.is_building() or isinstance(function, Mapped):
        return function(*args, **options)
    from ._convert import inlined

    return inlined(function, args, options)


def vmap(
    function: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    randomness: str = "error",
    in_dims: Any = None,
    out_dims: Any = None,
) -> Mapped:
    """Makes a function of one element a function of a batch, in both modes.

    The function is built as a program for one element, and its ops are applied to the whole batch: by a rule of the op where
    it has one, else by a loop over the elements; `report` says which, and the logger `fluvial.vmap` warns. `if` and `while` on
    tensors are taken by each element on its own. Gradients pass, also inside of the function.

    Args:
        function: The function. Its arguments and results may be nested lists, tuples, dicts and dataclasses of tensors.
        in_axes: The axis of the batch in each argument: a number for all, or a tuple with one for each; None for what all
            elements share. Nested arguments may have nested axes. Arguments by name have it in front.
        out_axes: Where the results have the axis of the batch; None for what is the same for all elements.
        randomness: What random numbers mean: an "error", "different" ones for each element, or the "same" for all.
        in_dims: PyTorch's name of `in_axes`.
        out_dims: PyTorch's name of `out_axes`.

    Example:
        >>> w = fl.tensor([1.0, 2.0])
        >>> xs = fl.tensor([[1.0, 1.0], [2.0, 0.5], [0.0, 3.0]])
        >>> fl.vmap(lambda x: fl.sum(w * x))(xs).tolist()
        [3.0, 3.0, 6.0]
        >>> def halved(x):
        ...     while x > 1.0:
        ...         x = x / 2
        ...     return x
        >>> fl.vmap(halved)(fl.tensor([3.0, 0.5, 8.0])).tolist()
        [0.75, 0.5, 1.0]
    """
    if in_dims is not None:
        in_axes = in_dims
    if out_dims is not None:
        out_axes = out_dims
    return Mapped(function, in_axes, out_axes, randomness)


class Mapped:
    """What `fl.vmap` returns; it is called with batches."""

    def __init__(self, function: Callable[..., Any], in_axes: Any, out_axes: Any, randomness: str) -> None:
        if not callable(function):
            raise fault(TypeError, f"`vmap` takes a function, not {type(function).__name__}")
        if randomness not in RANDOMNESS:
            raise fault(ValueError, f'randomness is {randomness!r}', 'choose "error", "different" or "same"')
        functools.update_wrapper(self, function, updated=())
        self._function, self._in_axes, self._out_axes = function, in_axes, out_axes
        self._randomness = randomness
        self._fl_transform = ("vmap", function, repr((in_axes, out_axes, randomness)))
        #: Ops that run element by element, and the lines on which they were called.
        self.looped: list[tuple[str, str]] = []
        self._program: Any = None

    def __call__(self, *args: Any, **options: Any) -> Any:
        args, options = with_tensors(args), with_tensors(options)
        if _core.is_building():
            return self._mapped(args, options)
        if self._program is None:
            self._program, self.looped = as_program(self._lines, self, self.looped)
        return self._program(*args, **options)

    def _lines(self, *args: Any, **options: Any) -> Any:
        return self._mapped(args, options)

    def __repr__(self) -> str:
        return f"<fl.vmap {getattr(self._function, '__qualname__', self._function)}>"

    def report(self) -> str:
        """What runs element by element, since its op has no batching rule; empty if all runs at once."""
        return "\n".join(f"`{op}` at {line} runs element by element" for op, line in self.looped)

    def _mapped(self, args: tuple, options: dict[str, Any]) -> Any:
        found: list[Any] = []
        form = flatten((args, options), found, is_tensor)
        axes: list[Any] = []
        _spread((_of_arguments(self._in_axes, args), 0), (args, options), axes, "in_axes", found)
        tensors = [tensor if axis is None else _moved(tensor, axis, 0) for tensor, axis in zip(found, axes)]
        batched = [axis is not None for axis in axes]
        sizes = [tensor.shape[0] for tensor, is_batched in zip(tensors, batched) if is_batched]
        if not sizes:
            raise fault(ValueError, "no argument of a mapped function has an axis of a batch", "give `in_axes` a number")
        if not all(same_sizes(size, sizes[0]) for size in sizes):
            shown = ", ".join(map(str, sizes))
            raise fault(ValueError, f"the axes of the batch have different sizes: {shown}", "check `in_axes`")
        params = _core.begin_map(tensors, batched)
        try:
            own_args, own_options = rebuild(form, list(params))
            result = called(self._function, own_args, own_options)
            results: list[Any] = []
            result_form = flatten(result, results, is_tensor)
        except BaseException:
            _core.abort_block()
            raise
        block = _core.end_block(results)
        outputs, of_batch, looped = _core.vmap_of(block, tensors, batched, self._randomness)
        self._note(looped)
        places: list[Any] = []
        _spread(self._out_axes, result, places, "out_axes", outputs)
        placed = [
            _placed(*each, sizes[0]) for each in zip(outputs, of_batch, places)
        ]
        return rebuild(result_form, placed)

    def _note(self, looped: list[tuple[str, str]]) -> None:
        import logging

        for each in looped:
            if each not in self.looped:
                self.looped.append(each)
                op, line = each
                message = "%s: `%s` at %s has no batching rule here and runs element by element"
                logging.getLogger("fluvial.vmap").warning(message, self, op, line)


def as_program(lines: Callable[..., Any], transform: Any, noted: list) -> tuple[Any, list]:
    """Lines of a transform as a function that is a program in both modes, and what was noted of it. Transforms that are made
    anew of the same function share it."""
    from ._function import Function

    key, base = _origin(transform)
    known = vars(base).setdefault("_fl_programs", {}) if isinstance(base, types.FunctionType) else {}
    if key not in known:
        made = Function(lines)
        made._name = getattr(base, "__qualname__", repr(base))
        made.always = True
        known[key] = (made, noted)
        _count(base)
    return known[key]


def _origin(transform: Any) -> tuple[tuple, Any]:
    """What was done to a function of the user's, and the function."""
    key: tuple = ()
    while hasattr(transform, "_fl_transform"):
        kind, transform, options = transform._fl_transform
        key = (*key, kind, options)
    return key, transform


#: By code: how many functions were made of it and built.
_BUILT: dict[Any, int] = {}
#: After so many, and after each further so many, a warning says it.
MANY = 16


def _count(function: Any) -> None:
    """Warns where a function is made anew, and with it its program, in each step."""
    code = getattr(function, "__code__", None)
    if code is None:
        return
    _BUILT[code] = _BUILT.get(code, 0) + 1
    if _BUILT[code] % MANY == 0:
        import warnings

        warnings.warn_explicit(
            f"`{function.__qualname__}` was made {_BUILT[code]} times, and a program of it built each time\n"
            "  remedy: make the function, and what `vmap` or `jacrev` give of it, once, outside of the loop",
            RuntimeWarning,
            code.co_filename,
            code.co_firstlineno,
        )


def _of_arguments(axes: Any, args: tuple) -> Any:
    """The axes by argument: a tuple of as many, or one for all."""
    if not isinstance(axes, (tuple, list)):
        return axes
    if len(axes) != len(args):
        raise fault(ValueError, f"`in_axes` has {len(axes)} parts for {len(args)} arguments")
    return tuple(axes)


def _spread(axes: Any, value: Any, places: list[Any], name: str, tensors: list[Any]) -> None:
    """Appends the axis of each tensor in a value; axes may stand for all of a part at once."""
    if is_tensor(value):
        if axes is not None and (isinstance(axes, bool) or not isinstance(axes, int)):
            raise fault(TypeError, f"`{name}` has {axes!r} for a tensor", "give the number of an axis, or None")
        if name == "in_axes" and axes is not None:
            rank = value.ndim
            if not -rank <= axes < rank:
                raise fault(ValueError, f"`{name}` has {axes} for a tensor of {rank} axes: {tuple(value.shape)}")
            axes = axes % rank
        places.append(axes)
        return
    parts = children(value)
    if parts is None:
        if name == "in_axes" and isinstance(value, (bool, int, float)) and axes is not None:
            raise fault(TypeError, f"`{name}` has {axes} for the number {value!r}", "give None for it, or a tensor")
        return
    if isinstance(axes, (tuple, list, dict)):
        named = dict(children(axes) or [])
        if set(named) != {key for key, _ in parts}:
            raise fault(ValueError, f"`{name}` has other parts than the value: {axes!r}")
        for key, part in parts:
            _spread(named[key], part, places, name, tensors)
        return
    for _, part in parts:
        _spread(axes, part, places, name, tensors)


def _moved(tensor: Tensor, source: int, destination: int) -> Tensor:
    from ._ops import movedim

    return tensor if source == destination else movedim(tensor, [source], [destination])


def _placed(tensor: Tensor, is_batched: bool, axis: Any, size: Any) -> Tensor:
    """A result with the axis of the batch where it should be."""
    if axis is None:
        if is_batched:
            raise fault(ValueError, "`out_axes` has None for a result that differs by element", "give an axis")
        return tensor
    if not is_batched:
        from ._ops import expand

        tensor = expand(tensor, (size, *tensor.shape))
    rank = tensor.ndim
    if not -rank <= axis < rank:
        raise fault(ValueError, f"`out_axes` has {axis} for a result of {rank} axes")
    return _moved(tensor, 0, axis % rank)
