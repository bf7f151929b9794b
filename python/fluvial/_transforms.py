"""Transforms of functions: `grad`, `value_and_grad`, `vjp`, `jvp`. They work on what a function is given, in both modes, and
can be applied to each other's results, to those of `vmap`, and inside of `fl.function`."""

from __future__ import annotations

import functools

from . import _core
from ._fault import fault
from ._grad import enable_grad
from ._tree import flatten, is_tensor, leaves, rebuild, with_tensors
from ._vmap import called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ._core import Tensor

    Argnums = int | Sequence[int]


def grad(
    outputs: Any,
    wrt: Any = None,
    *,
    argnums: Argnums | None = None,
    has_aux: bool = False,
    grad_outputs: Any = None,
    create_graph: bool = False,
    retain_graph: bool = False,
    allow_unused: bool = False,
    constants: Any = None,
) -> Any:
    """Gradients of values, or, given a function, the function that gives its gradients.

    `fl.grad(loss, wrt)` gives the gradients of the sum of scalars with respect to what they were computed from, in both modes.
    `fl.grad(f)` and `fl.grad(f, argnums)` give a function of the same arguments as `f`, which returns the gradient of the
    scalar that `f` returns with respect to its first argument, or those named. Tensors and lists of them cannot be called, so
    which of both is meant is never in doubt.

    Args:
        outputs: A scalar tensor, or several; or a function that returns one.
        wrt: A tensor, or several, that the outputs depend on; of a function, the numbers of its arguments.
        argnums: The numbers of arguments, by name. Arguments may be nested lists, tuples, dicts and dataclasses of tensors.
        has_aux: Whether the function returns a pair, whose second part is handed on: the result is (gradients, aux).
        grad_outputs: By output: what its gradient begins with, of its shape; for outputs that are not scalars. None stands for one.
        create_graph: Record the gradients, so that they can be differentiated again. Those of a function always can.
        retain_graph: Keep what was recorded, for another call.
        allow_unused: Give None for values that the outputs do not depend on, zeros for arguments of a function, instead of an
            error.
        constants: Tensors on the way that count as constants: no gradient passes them.

    Returns:
        One gradient, or a list of them if `wrt` is a sequence; of a function, the function that gives them.

    Example:
        >>> x, y = fl.tensor(3.0).track(), fl.tensor(1.0).track()
        >>> fl.grad(x * x, x).item()
        6.0
        >>> fl.grad(x * x, [x, y], allow_unused=True)[1] is None
        True
        >>> cube = lambda x: x * x * x
        >>> fl.grad(cube)(fl.tensor(2.0)).item(), fl.grad(fl.grad(cube))(fl.tensor(2.0)).item()
        (12.0, 12.0)
    """
    if callable(outputs) and not is_tensor(outputs):
        _only(
            "of values",
            grad_outputs=grad_outputs,
            create_graph=create_graph,
            retain_graph=retain_graph,
            constants=constants,
        )
        if wrt is not None and argnums is not None:
            raise fault(TypeError, "`argnums` is given twice")
        numbers: Any = wrt if argnums is None else argnums
        numbers = 0 if numbers is None else numbers
        both = value_and_grad(outputs, numbers, has_aux=has_aux, allow_unused=allow_unused)

        @functools.wraps(outputs, updated=())
        def gradients(*args: Any, **options: Any) -> Any:
            value, found = both(*args, **options)
            return (found, value[1]) if has_aux else found

        gradients._fl_transform = ("grad", outputs, repr((numbers, has_aux, allow_unused)))  # type: ignore[attr-defined]
        return gradients
    _only("of functions", argnums=argnums, has_aux=has_aux)
    if wrt is None:
        raise fault(TypeError, "gradients of values need `wrt`", "say with respect to what, or give a function")
    return _core.grad(
        outputs,
        wrt,
        grad_outputs=grad_outputs,
        create_graph=create_graph,
        retain_graph=retain_graph,
        allow_unused=allow_unused,
        constants=constants,
    )


def _only(what: str, **options: Any) -> None:
    for name, value in options.items():
        if value is not None and value is not False:
            raise fault(TypeError, f"`{name}` is for gradients {what} only")


def value_and_grad(
    function: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    allow_unused: bool = False,
) -> Callable[..., Any]:
    """The function that gives what a function returns, a scalar, and its gradients.

    Args:
        function: The function.
        argnums: The number of the argument that gradients are with respect to, or several. They have the form of the argument.
        has_aux: Whether the function returns a pair, whose second part is handed on: the result is ((value, aux), gradients).
        allow_unused: Give zeros for what the value does not depend on, instead of an error.

    Example:
        >>> loss = lambda w, x: fl.sum((x @ w["w"] + w["b"]) ** 2)
        >>> w = {"w": fl.tensor([1.0, 2.0]), "b": fl.tensor(0.5)}
        >>> value, grads = fl.value_and_grad(loss)(w, fl.tensor([[1.0, 1.0]]))
        >>> value.item(), grads["w"].tolist(), grads["b"].item()
        (12.25, [7.0, 7.0], 7.0)
    """
    _check_function("value_and_grad", function)

    @functools.wraps(function, updated=())
    def both(*args: Any, **options: Any) -> Any:
        run = Run(function, with_tensors(args), with_tensors(options), argnums, has_aux)
        (value,) = run.outputs if len(run.outputs) == 1 else (None,)
        if value is None or not is_tensor(run.result) or value.ndim != 0:
            shown = "several values" if value is None else f"a tensor of shape {tuple(value.shape)}"
            raise fault(
                ValueError,
                f"the gradient of a function needs a scalar, but `{run.name}` returns {shown}",
                "reduce it (sum or mean), or use `jacrev` or `vjp`",
            )
        found = run.pulled([None], strict=not allow_unused)
        gradients = run.arguments(found, allow_unused)
        value = run.left(value)
        return ((value, run.aux()), gradients) if has_aux else (value, gradients)

    both._fl_transform = ("both", function, repr((argnums, has_aux, allow_unused)))  # type: ignore[attr-defined]
    return both


def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """What a function gives, and the function that multiplies cotangents with its Jacobian from the left.

    Args:
        function: The function.
        primals: Its arguments.
        has_aux: Whether it returns a pair, whose second part is handed on as a third result.

    Returns:
        What the function returns, and a function that takes cotangents of that form and returns a tuple with a gradient for
        each argument; zeros for what the outputs do not depend on. It can be called several times.

    Example:
        >>> y, pull = fl.vjp(lambda x: x * x, fl.tensor([1.0, 2.0]))
        >>> y.tolist(), pull(fl.tensor([1.0, 10.0]))[0].tolist()
        ([1.0, 4.0], [2.0, 40.0])
    """
    _check_function("vjp", function)
    run = Run(function, with_tensors(primals), {}, tuple(range(len(primals))), has_aux)
    is_part = _core.is_building()

    def pull(cotangents: Any) -> tuple:
        if _core.is_building() and not is_part:
            # What was recorded line by line is not part of the program that is being built now: it runs again there.
            return vjp(function, *primals, has_aux=has_aux)[1](cotangents)
        seeds: list[Any] = []
        form = flatten(with_tensors((cotangents,))[0], seeds, is_tensor)
        if form != run.form:
            raise fault(TypeError, "the cotangents are not of the form of what the function returned")
        return run.arguments(run.pulled(seeds, stays=True), True)

    result = rebuild(run.form, [run.left(output) for output in run.outputs])
    return (result, pull, run.aux()) if has_aux else (result, pull)


def jvp(
    function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: bool = False
) -> Any:
    """What a function gives, and its Jacobian multiplied with tangents from the right.

    It is the derivative of the reverse walk, which is linear in what that begins with: as exact as gradients are, and an error
    where an op has no second derivative.

    Args:
        function: The function.
        primals: Its arguments, a tuple.
        tangents: Their directions, a tuple of the same form.
        has_aux: Whether it returns a pair, whose second part is handed on as a third result.

    Example:
        >>> y, t = fl.jvp(lambda x: x * x, (fl.tensor([1.0, 2.0]),), (fl.tensor([1.0, 0.5]),))
        >>> y.tolist(), t.tolist()
        ([1.0, 4.0], [2.0, 2.0])
    """
    _check_function("jvp", function)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise fault(TypeError, "`primals` and `tangents` are tuples", "write `(x,)` for one argument")
    run = Run(function, tuple(with_tensors(primals)), {}, tuple(range(len(primals))), has_aux)
    given: list[Any] = []
    flatten(tuple(with_tensors(tangents)), given, is_tensor)
    if len(given) != len(run.own) or any(t.shape != x.shape for t, x in zip(given, run.own)):
        raise fault(TypeError, "the tangents are not of the form of the primals")
    found = run.pushed(given)
    result = rebuild(run.form, [run.left(output) for output in run.outputs])
    tangent = rebuild(run.form, found)
    return (result, tangent, run.aux()) if has_aux else (result, tangent)


def _check_function(name: str, function: Any) -> None:
    if not callable(function) or is_tensor(function):
        raise fault(TypeError, f"`{name}` takes a function, not {type(function).__name__}")


class Run:
    """A call of a function on values of its own, with respect to which it is differentiated."""

    def __init__(
        self, function: Callable[..., Any], args: tuple, options: dict[str, Any], argnums: Argnums, has_aux: bool
    ) -> None:
        self.name = getattr(function, "__qualname__", repr(function))
        self.single = isinstance(argnums, int)
        numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        if any(not -len(args) <= number < len(args) for number in numbers):
            raise fault(ValueError, f"`{self.name}` was called with {len(args)} arguments, and has no {numbers}")
        numbers = tuple(number % len(args) for number in numbers)
        wanted = tuple(args[number] for number in numbers)
        given: list[Any] = []
        self.own_form = flatten(wanted, given, is_tensor)
        for path, leaf in leaves(wanted):
            if is_tensor(leaf) and not (leaf.is_floating_point() or leaf.is_complex()):
                raise fault(
                    TypeError,
                    f"there is no gradient with respect to {leaf.dtype.name} at {_shown(numbers, path)}",
                    "give floats, or leave it to another argument",
                )
        self.paths = [_shown(numbers, path) for path, leaf in leaves(wanted) if is_tensor(leaf)]
        if not given:
            raise fault(TypeError, f"the argument {numbers[0]} of `{self.name}` has no tensors")
        self.records = _core.is_recording()
        with enable_grad():
            #: What stands for the tensors of the arguments.
            self.own: list[Tensor] = [_core.alias(tensor) for tensor in given]
            changed = list(args)
            for number, part in zip(numbers, rebuild(self.own_form, list(self.own))):
                changed[number] = part
            result = called(function, tuple(changed), options)
        self._aux = None
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise fault(TypeError, f"`{self.name}` returns no pair of a result and others, as `has_aux` says")
            result, self._aux = result
        self.result = result
        #: What the function returned.
        self.outputs: list[Tensor] = []
        self.form = flatten(result, self.outputs, is_tensor)
        self.goes_on = _core.is_building() or (self.records and _core.leads_beyond(self.outputs, self.own))

    def pulled(self, seeds: list[Any], stays: bool = False, strict: bool = False) -> list[Tensor | None]:
        """The gradients with respect to own values; None for what the outputs do not depend on. If it is strict, a program in
        which only the run knows that fails where they do not."""
        tracked = any(is_tensor(seed) and seed.is_tracked for seed in seeds)
        with enable_grad():
            return self.grad(self.outputs, self.own, seeds, self.goes_on or (tracked and self.records), stays, strict)

    def grad(
        self,
        outputs: list[Tensor],
        wrt: list[Tensor],
        seeds: list[Any],
        goes_on: bool,
        stays: bool,
        strict: bool = False,
    ) -> list[Tensor | None]:
        """Gradients of values of the call; None for what they do not depend on."""
        pairs = [pair for pair in zip(outputs, seeds) if _core.is_building() or pair[0].is_tracked]
        if not pairs:
            return [None] * len(wrt)
        found: list[Tensor | None] = _core.grad(
            [output for output, _ in pairs],
            wrt,
            grad_outputs=[seed for _, seed in pairs],
            create_graph=goes_on,
            retain_graph=stays,
            allow_unused=not (strict and _core.is_building()),
        )
        if _core.is_building() and not strict:
            # Where only the run knows whether there is a gradient, it is zero where there is none.
            return [None if gradient is None else _core.alias(gradient) for gradient in found]
        return found

    def pushed(self, tangents: list[Tensor]) -> list[Tensor]:
        """The derivatives of the outputs along tangents of own values."""
        from ._ops import zeros_like

        goes_on = self.goes_on or (self.records and any(tangent.is_tracked for tangent in tangents))
        with enable_grad():
            # The reverse walk is linear in what it begins with: its own gradient is the derivative.
            dummies = [_core.alias(zeros_like(output.detach())) for output in self.outputs]
            linear = self.grad(self.outputs, self.own, dummies, True, True)
            reached = [(value, tangent) for value, tangent in zip(linear, tangents) if value is not None]
            found = self.grad(
                [value for value, _ in reached], dummies, [tangent for _, tangent in reached], goes_on, False
            )
        return [
            zeros_like(output.detach()) if derivative is None else derivative
            for output, derivative in zip(self.outputs, found)
        ]

    def arguments(self, gradients: Sequence[Tensor | None], allow_unused: bool) -> Any:
        """Gradients in the form of the arguments."""
        from ._ops import zeros_like

        for path, gradient in zip(self.paths, gradients):
            if gradient is None and not allow_unused:
                raise fault(
                    RuntimeError,
                    f"what `{self.name}` returns does not depend on {path}",
                    "check that it is used and not detached; `allow_unused=True` gives zeros",
                )
        full = [
            zeros_like(own.detach()) if gradient is None else gradient
            for own, gradient in zip(self.own, gradients)
        ]
        parts = rebuild(self.own_form, full)
        return parts[0] if self.single else parts

    def left(self, value: Tensor) -> Tensor:
        """A result as the caller gets it: with a history only where something outside has one."""
        if self.goes_on and self.records:
            return value
        return value if _core.is_building() or not value.is_tracked else value.detach()

    def aux(self) -> Any:
        """What the function returned besides."""
        found: list[Any] = []
        form = flatten(self._aux, found, is_tensor)
        own = [
            tensor
            if _core.is_building() or (self.records and _core.leads_beyond([tensor], self.own))
            else tensor.detach()
            for tensor in found
        ]
        return rebuild(form, own)


def _shown(numbers: tuple[int, ...], path: tuple) -> str:
    """How messages call a part of an argument."""
    return f"argument {numbers[path[0]]}" + "".join(f"[{key!r}]" for key in path[1:])
