"""Gradients against differences."""

from __future__ import annotations

import numpy as np

from .. import _core
from .._convert import convert, explained
from .._fault import fault
from .._program import build

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .._core import Tensor, TensorLike

MODES = ("imperative", "program")


def gradcheck(
    fn: Callable[..., Any],
    inputs: TensorLike | Sequence[TensorLike],
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    modes: Sequence[str] = MODES,
) -> None:
    """Raises an `AssertionError` unless the gradients of a function are its slopes.

    Every derivative, of each element of each output by each element of each input, is compared with
    a central difference, in float64: inputs of real numbers are cast to it. Of complex numbers, which are cast to
    complex128, both parts are checked, as a last axis of size two. A function with a kink (`abs`, `relu`) is checked
    away from it.

    Args:
        fn: Takes the inputs, one by one; returns a tensor, or tuples and lists of them. It must give
            the same numbers for the same inputs.
        inputs: Where to check: a tensor, an array, or several. Those of whole numbers and bools are
            passed on as they are.
        eps: The step of the differences.
        atol: The absolute difference that is allowed.
        rtol: The relative difference that is allowed.
        modes: Which gradients are checked: those taken line by line ("imperative"), and those of
            the compiled program ("program").

    Example:
        >>> fl.testing.gradcheck(lambda x, y: fl.tanh(x) @ y, [np.ones((2, 3)), np.ones((3, 2))])
        >>> fl.testing.gradcheck(lambda x: x.detach() * x, fl.tensor([3.0]))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        AssertionError: ...the gradient by input 0 is wrong at (0,), for output 0 at (0,), in mode imperative
          the gradient is 3.0, the slope by differences is 6.000...
    """
    __tracebackhide__ = True
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown:
        raise fault(ValueError, f'there is no mode "{unknown[0]}"', f"use some of {MODES}")
    single = isinstance(inputs, (_core.Tensor, np.ndarray, np.generic, int, float, complex))
    given: Sequence[Any] = [inputs] if single else list(inputs)  # type: ignore[arg-type]
    with _core.imperative():
        checked = _Checked(fn, [_float64(x) for x in given])
        numeric = checked.by_differences(eps)
        for mode in modes:
            checked.compare(mode, checked.by_gradients(mode), numeric, atol, rtol)


def _float64(x: Any) -> Tensor:
    tensor = x.detach() if isinstance(x, _core.Tensor) else _core.tensor(x)
    if tensor.dtype.is_complex:
        return _core.cast(tensor, "complex128")
    return _core.cast(tensor, "float64") if "float" in tensor.dtype.name else tensor


def _parts(x: Tensor) -> Tensor:
    return _core.view_as_real(x) if x.dtype.is_complex else x


class _Checked:
    """A function at a point."""

    def __init__(self, fn: Callable[..., Any], inputs: list[Tensor]) -> None:
        self.fn = fn
        self.complex = [x.dtype.is_complex for x in inputs]
        self.inputs = inputs = [_parts(x) for x in inputs]
        self.wrt = [i for i, x in enumerate(inputs) if x.dtype.name == "float64"]
        if not self.wrt:
            raise fault(
                ValueError, "no input has real numbers", "give at least one that is of floats"
            )
        first, second = self.values(inputs), self.values(inputs)
        if any(a.tobytes() != b.tobytes() for a, b in zip(first, second)):
            raise fault(
                ValueError,
                "the function gave other numbers for the same inputs",
                "leave out what is random or counts its calls, such as dropout",
            )
        self.shapes = [y.shape for y in first]

    def outputs(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        # As under `fl.function`, control flow becomes part of the program.
        fn = convert(self.fn) if _core.is_building() else self.fn
        given = [_core.view_as_complex(x) if pairs else x for x, pairs in zip(inputs, self.complex)]
        results = _leaves(fn(*given))
        for i, y in enumerate(results):
            if not isinstance(y, _core.Tensor):
                raise fault(
                    TypeError,
                    f"output {i} is of class `{type(y).__name__}`",
                    "return a tensor, or tuples and lists of tensors",
                )
        found = [_parts(y) for y in results if y.dtype.is_complex or "float" in y.dtype.name]
        if not found:
            raise fault(ValueError, "no output has real numbers", "return one that is of floats")
        return found

    def values(self, inputs: Sequence[Tensor]) -> list[np.ndarray]:
        with _core.no_grad():
            return [_core.cast(y.detach(), "float64").numpy() for y in self.outputs(inputs)]

    def by_differences(self, eps: float) -> list[np.ndarray]:
        """Per input, a matrix: elements of all outputs, by elements of the input."""
        matrices = []
        for i in self.wrt:
            point = np.array(self.inputs[i].numpy())
            columns = []
            for j in range(point.size):
                sides = []
                for step in (eps, -eps):
                    moved = point.copy()
                    moved.reshape(-1)[j] += step
                    others = list(self.inputs)
                    others[i] = _core.tensor(moved)
                    sides.append(_flat(self.values(others)))
                columns.append((sides[0] - sides[1]) / (2 * eps))
            rows = sum(int(np.prod(shape)) for shape in self.shapes)
            matrices.append(np.stack(columns, 1) if columns else np.zeros((rows, 0)))
        return matrices

    def by_gradients(self, mode: str) -> list[np.ndarray]:
        """The same by gradients: one row at a time, since a gradient is that of one number."""
        count = len(self.inputs)

        def row(*arguments: Tensor) -> Any:
            inputs, seeds = list(arguments[:count]), arguments[count:]
            # Inside a program, inputs need no mark.
            if not _core.is_building():
                inputs = [x.track() if i in self.wrt else x for i, x in enumerate(inputs)]
            outputs = self.outputs(inputs)
            loss = sum(_core.sum(_core.cast(y, "float64") * v) for y, v in zip(outputs, seeds))
            return _core.grad(loss, [inputs[i] for i in self.wrt])  # type: ignore[arg-type]

        run = row
        if mode == "program":
            seeds = [_core.tensor(np.zeros(shape)) for shape in self.shapes]
            types = {f"x{i}": x for i, x in enumerate([*self.inputs, *seeds])}
            with explained():
                program = build(row, types)  # type: ignore[arg-type]
            run = program.compile(single=False).__call__
        rows: list[list[np.ndarray]] = [[] for _ in self.wrt]
        with _core.enable_grad():
            for output, shape in enumerate(self.shapes):
                for j in range(int(np.prod(shape))):
                    vectors = [np.zeros(shape) for shape in self.shapes]
                    vectors[output].reshape(-1)[j] = 1.0
                    found = run(*self.inputs, *map(_core.tensor, vectors))
                    for kept, gradient in zip(rows, found):
                        kept.append(np.array(gradient.numpy()).reshape(-1))
        sizes = [self.inputs[i].size for i in self.wrt]
        return [np.stack(kept) if kept else np.zeros((0, n)) for kept, n in zip(rows, sizes)]

    def compare(
        self,
        mode: str,
        gradients: list[np.ndarray],
        slopes: list[np.ndarray],
        atol: float,
        rtol: float,
    ) -> None:
        __tracebackhide__ = True
        for i, gradient, slope in zip(self.wrt, gradients, slopes):
            with np.errstate(invalid="ignore"):
                error = np.abs(gradient - slope) - (atol + rtol * np.abs(slope))
            # Not a number is an error, too.
            wrong = ~(error <= 0)
            if not wrong.any():
                continue
            worst = np.argmax(np.where(wrong, np.nan_to_num(error, nan=np.inf), -np.inf))
            row, column = (int(i) for i in np.unravel_index(worst, wrong.shape))
            found, expected = gradient[row, column].item(), slope[row, column].item()
            output = 0
            while row >= np.prod(self.shapes[output]):
                row -= int(np.prod(self.shapes[output]))
                output += 1
            at, to = _place(column, self.inputs[i].shape), _place(row, self.shapes[output])
            count = int(np.count_nonzero(wrong))
            raise fault(
                AssertionError,
                f"the gradient by input {i} is wrong at {at}, for output {output} at {to}, "
                f"in mode {mode}\n"
                f"  the gradient is {found!r}, the slope by differences is {expected!r}\n"
                f"  {count} of {wrong.size} derivatives by this input differ by more than "
                f"{atol:g} + {rtol:g} * |slope|",
            )


def _leaves(results: Any) -> list[Any]:
    if isinstance(results, (tuple, list)):
        return [leaf for part in results for leaf in _leaves(part)]
    return [results]


def _flat(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([array.reshape(-1) for array in arrays] or [np.zeros(0)])


def _place(position: int, shape: Any) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(position, shape))
