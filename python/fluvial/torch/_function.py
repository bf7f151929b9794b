"""`torch.autograd.Function`: a function with a gradient of the user's own, in both modes, of any order."""

from __future__ import annotations

import builtins

from .. import _core
from .._core import Tensor
from .._fault import fault
from .._vmap import called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Context:
    """What `forward` leaves for `backward`: saved tensors, and any attributes."""

    #: Which inputs have gradients.
    needs_input_grad: tuple[builtins.bool, ...] = ()

    def __init__(self) -> None:
        self._saved: tuple[Any, ...] = ()
        self._again: Callable[[], list[Any]] | None = None
        self._inputs: list[Any] = []
        self._results: list[Any] = []
        self._constant: list[Any] = []
        self._zeros = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps inputs and results of `forward` for `backward`.

        Args:
            tensors: Tensors, or None.
        """
        self._saved = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was kept. Gradients pass inputs and results."""
        found = []
        again: list[Any] | None = None
        for tensor in self._saved:
            given = next((own for own, shown in self._inputs if shown is tensor), None)
            at = next((i for i, result in enumerate(self._results) if result is tensor), None)
            if given is not None:
                tensor = given
            elif at is not None and self._again is not None and _core.is_recording():
                # The tensor that was returned holds the record that holds this: a new one in its place.
                again = again or self._again()
                tensor = again[at]
            found.append(tensor)
        return tuple(found)

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Says of which results there are no gradients.

        Args:
            tensors: The results.
        """
        self._constant += tensors

    def set_materialize_grads(self, value: builtins.bool) -> None:
        """Whether `backward` gets zeros for results that nothing depends on; None if not.

        Args:
            value: Whether it does.
        """
        self._zeros = value

    def mark_dirty(self, *tensors: Any) -> None:
        """Refused: no function changes its inputs.

        Args:
            tensors: The inputs that are changed.
        """
        raise fault(RuntimeError, "an `autograd.Function` does not change its inputs", "return a new tensor")


class Function:
    """A function with a gradient of its own. `forward` and `backward` are static methods; `apply` calls it.

    Example:
        >>> import fluvial.torch as torch
        >>> class Cube(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x**3
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensors
        ...         return grad * 3 * x**2
        >>> x = torch.tensor([2.0], requires_grad=True)
        >>> Cube.apply(x).backward(torch.ones(1))
        >>> x.grad.tolist()
        [12.0]
    """

    @staticmethod
    def forward(*args: Any, **options: Any) -> Any:
        """What the function gives. Without a `setup_context`, its first argument is the context."""
        raise fault(NotImplementedError, "an `autograd.Function` needs a `forward`", "define it as a static method")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients of the arguments, of which those of results are given."""
        raise fault(NotImplementedError, "an `autograd.Function` needs a `backward` for gradients", "define it as a static method")

    vjp = backward

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Calls the function.

        Args:
            args: What `forward` takes.
        """
        return _applied(cls, args)


def _is_float(value: Any) -> builtins.bool:
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())


def _applied(cls: type[Function], args: tuple[Any, ...]) -> Any:
    ctx = Context()
    symbolic = _core.is_building()
    ctx.needs_input_grad = tuple(_is_float(x) and _core.is_recording() and (symbolic or x.is_tracked) for x in args)
    shown = [x.detach() if isinstance(x, Tensor) else x for x in args]
    ctx._inputs = [(x, own) for x, own in zip(args, shown) if isinstance(x, Tensor)]
    apart = "setup_context" in {name for base in cls.__mro__ for name in vars(base)}
    with _core.no_grad():
        if apart:
            result = called(cls.forward, tuple(shown), {})
            cls.setup_context(ctx, tuple(shown), result)  # type: ignore[attr-defined]
        else:
            result = called(cls.forward, (ctx, *shown), {})
    if not any(ctx.needs_input_grad):
        return result
    ctx._again = lambda: _listed(_applied(cls, args))
    results = _listed(result)
    ctx._results = [y for y in results]
    grads: list[Any] = [None] * len(results)
    passing = _Passing(cls, ctx, args, results, grads)
    zero: Any = None
    for i, x in enumerate(args):
        if ctx.needs_input_grad[i]:
            part = passing.entering(i, x)
            zero = part if zero is None else zero + part
    given = [passing.leaving(i, y, zero) for i, y in enumerate(results)]
    return type(result)(given) if type(result) in (tuple, list) else given[0]


def _listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


class _Passing:
    """One call, through which gradients will pass: hooks of the results keep theirs, and those of the arguments
    give what `backward` makes of them."""

    def __init__(self, cls: Any, ctx: Context, args: tuple[Any, ...], results: list[Any], grads: list[Any]) -> None:
        self._cls, self._ctx, self._grads, self._count = cls, ctx, grads, len(args)
        self._types = [(y.dtype, y.shape) if isinstance(y, Tensor) else None for y in results]
        self._found: list[Any] | None = None

    def entering(self, number: int, x: Tensor) -> Tensor:
        """A zero that depends on an argument."""
        own = _core.reshape(x, x.shape)
        own.register_hook(lambda _: self._gives(number, x))
        return _core.sum(_core.narrow(_core.reshape(own, (-1,)), 0, 0, 0))

    def leaving(self, number: int, y: Any, zero: Tensor) -> Any:
        """The result, on which arguments depend."""
        if not _is_float(y) or any(y is constant for constant in self._ctx._constant):
            return y
        out = y + (zero if zero.dtype == y.dtype else _core.cast(zero, y.dtype))
        out.register_hook(lambda grad: self._gets(number, grad))
        return out

    def _gets(self, number: int, grad: Tensor) -> None:
        # A walk begins: what another one has found is not this one's.
        self._found = None
        self._grads[number] = grad

    def _gives(self, number: int, x: Tensor) -> Any:
        if self._found is None:
            grads = list(self._grads)
            for i, kind in enumerate(self._types):
                if grads[i] is None and self._ctx._zeros and kind is not None:
                    grads[i] = _core.zeros(kind[1], kind[0])
            found = called(self._cls.backward, (self._ctx, *grads), {})
            self._found = list(found) if isinstance(found, (tuple, list)) else [found]
            self._grads[:] = [None] * len(self._grads)
            if len(self._found) < self._count or any(one is not None for one in self._found[self._count :]):
                what = f"`backward` of `{self._cls.__name__}` returned {len(self._found)} gradients for {self._count} arguments"
                raise fault(RuntimeError, what, "return one for each argument of `forward`, None where there is none")
        grad = self._found[number]
        if grad is None:
            return _core.zeros(x.shape, x.dtype)
        if grad.ndim != x.ndim:
            raise fault(RuntimeError, f"`backward` of `{self._cls.__name__}` returned {grad.type_text} for {x.type_text}", "return a gradient of the argument's shape")
        return grad if grad.dtype == x.dtype else _core.cast(grad, x.dtype)


def once_differentiable(function: Any) -> Any:
    """The function: gradients of gradients are made of what it computes with.

    Args:
        function: A `backward`.
    """
    return function
