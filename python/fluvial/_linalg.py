"""What `fluvial.linalg` has beyond the array API standard."""

from __future__ import annotations

import builtins
from collections import namedtuple

from . import _core
from ._core import Tensor
from ._derived.products import as_tensor
from ._derived.shapes import known_size
from ._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._core import TensorLike

LUResult = namedtuple("LUResult", "P L U")
LUFactorResult = namedtuple("LUFactorResult", "LU pivots")
LstsqResult = namedtuple("LstsqResult", "solution residuals rank singular_values")


def norm(
    x: TensorLike,
    ord: Any = None,
    axis: Any = None,
    keepdims: builtins.bool = False,
    *,
    dim: Any = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """The norm of vectors or matrices.

    Args:
        x: A tensor.
        ord: Which norm; see `vector_norm` and `matrix_norm`. None for the root of the sum of squares.
        axis: One axis for vectors, two for matrices; None for all elements as one vector, or with `ord` for those of a
            vector or a matrix.
        keepdims: Whether the axes stay, with size one.
        dim: Another name of `axis`.
        keepdim: Another name of `keepdims`.

    Example:
        >>> fl.linalg.norm(fl.tensor([3.0, 4.0])).item()
        5.0
    """
    from .linalg import matrix_norm, vector_norm

    axis, keepdims = dim if axis is None else axis, keepdims or keepdim
    x = as_tensor(x)
    if ord is None:
        return vector_norm(x, axis=axis, keepdims=keepdims)
    two = x.ndim == 2 if axis is None else not isinstance(axis, int) and len(axis) == 2
    if not two:
        return vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
    if axis is None:
        return matrix_norm(x, ord=ord, keepdims=keepdims)
    axes: Any = axis
    found = matrix_norm(_core.movedim(x, list(axes), [-2, -1]), ord=ord)
    if keepdims:
        for one in sorted(a % x.ndim for a in axes):
            found = _core.unsqueeze(found, one)
    return found


def cond(x: TensorLike, p: Any = None) -> Tensor:
    """How much matrices magnify errors: the norm times that of the inverse.

    Args:
        x: Matrices.
        p: Which norm; None and 2 for the largest singular value over the smallest.
    """
    from .linalg import matrix_norm, svdvals

    if p in (None, 2, -2):
        values = svdvals(x)
        largest, smallest = _core.max(values, -1), _core.min(values, -1)
        return smallest / largest if p == -2 else largest / smallest
    return matrix_norm(x, ord=p) * matrix_norm(_core.inverse(x), ord=p)


def multi_dot(tensors: Sequence[TensorLike]) -> Tensor:
    """The product of several matrices, in the order that takes the fewest multiplications.

    Args:
        tensors: Matrices; the first and the last may be vectors.
    """
    parts = [as_tensor(part) for part in tensors]
    if len(parts) < 2:
        raise fault(ValueError, f"a product of {len(parts)} matrices", "give at least two")
    row, column = parts[0].ndim == 1, parts[-1].ndim == 1
    parts[0] = _core.unsqueeze(parts[0], 0) if row else parts[0]
    parts[-1] = _core.unsqueeze(parts[-1], 1) if column else parts[-1]
    sizes = [part.shape[0] for part in parts] + [parts[-1].shape[1]]
    found = _ordered(parts, sizes) if all(isinstance(size, int) for size in sizes) else _in_turn(parts)
    return _core.squeeze(found, [0] * row + [1] * column) if row or column else found


def _in_turn(parts: list[Tensor]) -> Tensor:
    found = parts[0]
    for part in parts[1:]:
        found = found @ part
    return found


def _ordered(parts: list[Tensor], sizes: list[Any]) -> Tensor:
    n = len(parts)
    cost = {(i, i): (0, i) for i in range(n)}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            ways = ((cost[i, k][0] + cost[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))
            cost[i, j] = min(ways)

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return parts[i]
        k = cost[i, j][1]
        return product(i, k) @ product(k + 1, j)

    return product(0, n - 1)


def solve_triangular(
    a: TensorLike,
    b: TensorLike,
    *,
    upper: builtins.bool,
    left: builtins.bool = True,
    unitriangular: builtins.bool = False,
) -> Tensor:
    """The `x` with `a x = b`, for triangular matrices `a`.

    Args:
        a: Triangular matrices; the other triangle is not read.
        b: Matrices.
        upper: Whether `a` is upper triangular.
        left: Whether `a` stands at the left of `x`.
        unitriangular: Whether the diagonal of `a` counts as ones.
    """
    a, b = as_tensor(a), as_tensor(b)
    if left:
        return _core.triangular_solve(a, b, upper, False, unitriangular)
    return _core.triangular_solve(a.mT, b.mT, not upper, False, unitriangular).mT


def squared(x: Tensor) -> Tensor:
    """The squares of the sizes of elements."""
    return _core.square(x.real) + _core.square(x.imag) if x.is_complex() else x * x


def lstsq(a: TensorLike, b: TensorLike, rcond: float | None = None, *, driver: str | None = None) -> LstsqResult:
    """The `x` that makes `a x - b` smallest, for matrices `a` of full rank.

    Args:
        a: Matrices.
        b: Matrices, or vectors.
        rcond: None: the rank has to be full.
        driver: None: there is one way.

    Returns:
        The solution, the sums of the squares that are left, the rank and the singular values.
    """
    from .linalg import matrix_rank, svdvals

    if rcond is not None or driver is not None:
        raise fault(ValueError, "matrices have full rank here, and there is one way", "leave `rcond` and `driver` out")
    a, b = as_tensor(a), as_tensor(b)
    found = _core.lstsq(a, b)
    rows, columns = a.shape[-2], a.shape[-1]
    rest = a @ found - b
    residuals = _core.sum(squared(rest), -2) if isinstance(rows, int) and rows > columns else _core.zeros((0,), rest.real.dtype)
    return LstsqResult(found, residuals, matrix_rank(a), svdvals(a))


def _size(x: Tensor) -> Tensor:
    """By what rows are chosen: the size, of complex numbers that of both parts together, as LAPACK takes it."""
    return _core.abs(x.real) + _core.abs(x.imag) if x.is_complex() else _core.abs(x)


def _decomposed(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The factors in one matrix, the rows of `x` in the order in which they stand there, and with which row each was exchanged."""
    n_rows, n_columns = (known_size(x, axis, "lu") for axis in (-2, -1))
    order = _core.broadcast_to(_core.iota(n_rows, "int64"), (*x.shape[:-2], n_rows))
    places, pivots = _core.iota(n_rows, "int64"), []
    for k in range(min(n_rows, n_columns)):
        # The largest element below stands on the diagonal afterwards.
        best = _core.argmax(_size(x[..., k:, k]), -1, True) + k
        swap = _core.where(_core.eq(places, k), best, _core.where(_core.eq(places, best), k, places))
        x = _core.take_along_axis(x, _core.broadcast_to(_core.unsqueeze(swap, -1), x.shape), -2)
        order = _core.take_along_axis(order, swap, -1)
        pivots.append(best + 1)
        if k + 1 < n_rows:
            factors = x[..., k + 1 :, k : k + 1] / x[..., k : k + 1, k : k + 1]
            rest = x[..., k + 1 :, k + 1 :] - factors @ x[..., k : k + 1, k + 1 :]
            below = _core.concat([x[..., k + 1 :, :k], factors, rest], -1)
            x = _core.concat([x[..., : k + 1, :], below], -2)
    return x, order, _core.cast(_core.concat(pivots, -1), "int32")


def lu(x: TensorLike) -> LUResult:
    """Matrices as products `P L U`: of a permutation, a lower triangle with a diagonal of ones, and an upper one.

    The sizes of the matrices must be known, and the time grows with them: a step for each column.

    Args:
        x: Matrices.

    Example:
        >>> p, l, u = fl.linalg.lu(fl.tensor([[1.0, 2.0], [4.0, 3.0]]))
        >>> (p @ l @ u).tolist()
        [[1.0, 2.0], [4.0, 3.0]]
    """
    x = as_tensor(x)
    both, order, _ = _decomposed(x)
    n_rows, n_columns = x.shape[-2], x.shape[-1]
    size = min(n_rows, n_columns)
    lower = _core.tril(both[..., :, :size], -1) + _core.eye(n_rows, size, 0, x.dtype)
    permutation = _core.cast(_core.eq(_core.unsqueeze(_core.iota(n_rows, "int64"), -1), _core.unsqueeze(order, -2)), x.dtype)
    return LUResult(permutation, lower, _core.triu(both[..., :size, :], 0))


def lu_factor(x: TensorLike) -> LUFactorResult:
    """The two triangles of `lu` in one matrix, and the exchanges of rows that lead there.

    Args:
        x: Matrices.

    Returns:
        The triangles, without the ones; and for each row in turn with which one it was exchanged, counted from one.
    """
    both, _, pivots = _decomposed(as_tensor(x))
    return LUFactorResult(both, pivots)


def lu_solve(
    factors: TensorLike, pivots: TensorLike, b: TensorLike, *, left: builtins.bool = True, adjoint: builtins.bool = False
) -> Tensor:
    """The `x` with `a x = b`, by what `lu_factor` has found of `a`.

    Args:
        factors: The triangles.
        pivots: The exchanges of rows.
        b: Matrices.
        left: Whether `a` stands at the left of `x`.
        adjoint: Whether `a` is transposed, of complex numbers with conjugates.

    Example:
        >>> factors, pivots = fl.linalg.lu_factor(fl.tensor([[0.0, 2.0], [4.0, 0.0]]))
        >>> fl.linalg.lu_solve(factors, pivots, fl.tensor([[2.0], [4.0]])).tolist()
        [[1.0], [1.0]]
    """
    factors, b = as_tensor(factors), as_tensor(b)
    if not left:
        return lu_solve(factors, pivots, b.mH, adjoint=not adjoint).mH
    pivots = _core.cast(as_tensor(pivots), "int64") - 1
    n_rows = known_size(factors, -2, "lu_solve")
    places = _core.iota(n_rows, "int64")
    order = _core.broadcast_to(places, (*factors.shape[:-2], n_rows))
    for k in range(known_size(pivots, -1, "lu_solve")):
        other = pivots[..., k : k + 1]
        swap = _core.where(_core.eq(places, k), other, _core.where(_core.eq(places, other), k, places))
        order = _core.take_along_axis(order, swap, -1)
    # Stacks of both are broadcast.
    stack = _core.broadcast_tensors([factors[..., :1, :1], b[..., :1, :1]])[0].shape[:-2] if n_rows else b.shape[:-2]
    factors, b = (_core.broadcast_to(part, (*stack, *part.shape[-2:])) for part in (factors, b))
    order = _core.broadcast_to(order, (*stack, n_rows))
    if adjoint:
        found = _core.triangular_solve(factors.mH, b, False, False, False)
        found = _core.triangular_solve(factors.mH, found, True, False, True)
        return _core.take_along_axis(found, _core.broadcast_to(_core.unsqueeze(_core.argsort(order, -1), -1), b.shape), -2)
    moved = _core.take_along_axis(b, _core.broadcast_to(_core.unsqueeze(order, -1), b.shape), -2)
    return _core.triangular_solve(factors, _core.triangular_solve(factors, moved, False, False, True), True, False, False)


def matrix_exp(x: TensorLike) -> Tensor:
    """The exponentials of square matrices.

    Args:
        x: Matrices.

    Example:
        >>> fl.linalg.matrix_exp(fl.zeros(2, 2)).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    x = as_tensor(x)
    # Halved until the series converges fast, and squared as often.
    norm_of = _core.max(_core.sum(_core.abs(_core.stop_gradient(x)), -2))
    times = _core.maximum(_core.ceil(_core.log2(norm_of)) + 2.0, 0.0)
    small = x / _core.cast(_core.exp2(times), x.dtype)
    one = _core.broadcast_to(_core.eye(x.shape[-1], x.shape[-1], 0, x.dtype), x.shape)
    found = term = one
    for n in range(1, 19):
        term = term @ small / n
        found = found + term
    return _core.while_loop(
        lambda squared, left: left > 0.5, lambda squared, left: (squared @ squared, left - 1.0), (found, times)
    )[0]
