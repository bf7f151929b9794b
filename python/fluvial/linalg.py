"""Matrices: the extension `linalg` of the array API standard, 2024.12, over the ops. All work on stacks of matrices too.

Example:
    >>> a = fl.tensor([[2.0, 1.0], [1.0, 3.0]])
    >>> round(fl.linalg.det(a).item(), 5)
    5.0
    >>> fl.linalg.eigh(a).eigenvalues.shape
    (2,)
"""

from __future__ import annotations

import builtins
import math
from collections import namedtuple

from . import _core
from ._array_api.dtypes import finfo
from ._array_api.reductions import sum as _sum
from ._array_api.shapes import concat, matrix_transpose, roll, tensordot, vecdot
from ._core import Tensor, det, matmul
from ._core import inverse as inv
from ._fault import fault
from ._tree import is_size, same_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._core import DTypeLike, TensorLike

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

EigResult = namedtuple("EigResult", "eigenvalues eigenvectors")
EighResult = namedtuple("EighResult", "eigenvalues eigenvectors")
QRResult = namedtuple("QRResult", "Q R")
SlogdetResult = namedtuple("SlogdetResult", "sign logabsdet")
SVDResult = namedtuple("SVDResult", "U S Vh")


def _tensor(x: TensorLike) -> Tensor:
    return x if isinstance(x, Tensor) else _core.tensor(x)


def cholesky(x: TensorLike, /, *, upper: builtins.bool = False) -> Tensor:
    """The triangular factor of symmetric, or Hermitian, positive definite matrices.

    Args:
        x: The matrices.
        upper: Whether the upper factor is wanted, rather than the lower one.

    Example:
        >>> fl.linalg.cholesky(fl.tensor([[4.0, 2.0], [2.0, 5.0]])).tolist()
        [[2.0, 0.0], [1.0, 2.0]]
    """
    return _core.cholesky(x, upper)


def cross(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> Tensor:
    """The cross product of vectors of three elements.

    Args:
        x1: The first vectors.
        x2: The second vectors, which are broadcast against the first.
        axis: The axis of the three elements, counted from the end.

    Example:
        >>> fl.linalg.cross(fl.tensor([1, 0, 0]), fl.tensor([0, 1, 0])).tolist()
        [0, 0, 1]
    """
    a, b = _tensor(x1), _tensor(x2)
    for one in (a, b):
        if not -one.ndim <= axis < one.ndim or not is_size(one.shape[axis], 3):
            raise fault(
                ValueError, f"{one.type_text} has no three elements on axis {axis}", "give vectors in space"
            )
    next_a, next_b = (roll(one, -1, axis=axis) for one in (a, b))
    last_a, last_b = (roll(one, 1, axis=axis) for one in (a, b))
    return next_a * last_b - last_a * next_b


def diagonal(x: TensorLike, /, *, offset: int = 0) -> Tensor:
    """A diagonal of matrices.

    Args:
        x: The matrices.
        offset: Which one: above the main one if positive.

    Example:
        >>> fl.linalg.diagonal(fl.tensor([[1, 2], [3, 4]]), offset=1).tolist()
        [2]
    """
    return _core.diagonal(x, offset, -2, -1)


def eig(x: TensorLike, /) -> EigResult:
    """Eigenvalues of square matrices, in no order, and their vectors of length one, as columns. Both are complex.

    Args:
        x: The matrices.

    Example:
        >>> w, v = fl.linalg.eig(fl.tensor([[0.0, -1.0], [1.0, 0.0]]))
        >>> fl.allclose(w * w, fl.tensor([-1 + 0j, -1 + 0j]))
        True
    """
    return EigResult(*_core.eig(x))


def eigvals(x: TensorLike, /) -> Tensor:
    """Eigenvalues of square matrices, in no order. They are complex.

    Args:
        x: The matrices.
    """
    return _core.eig(x)[0]


def eigh(x: TensorLike, /) -> EighResult:
    """Eigenvalues of symmetric, or Hermitian, matrices, in rising order, and their vectors, as columns.

    Args:
        x: The matrices.

    Example:
        >>> fl.linalg.eigh(fl.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
        [1.0, 2.0]
    """
    return EighResult(*_core.eigh(x))


def eigvalsh(x: TensorLike, /) -> Tensor:
    """Eigenvalues of symmetric, or Hermitian, matrices, in rising order.

    Args:
        x: The matrices.
    """
    return _core.eigh(x)[0]


def matrix_norm(
    x: TensorLike, /, *, keepdims: builtins.bool = False, ord: int | float | str | None = "fro"
) -> Tensor:
    """Norms of matrices.

    Args:
        x: The matrices.
        keepdims: Whether the two axes stay, with size one.
        ord: "fro" (the root of the sum of squares), "nuc" (the sum of singular values), 2 and -2 (the largest and
            the smallest of them), 1 and -1 (of the sums of columns), or inf and -inf (of the sums of rows).

    Example:
        >>> fl.linalg.matrix_norm(fl.tensor([[3.0, 4.0]])).item()
        5.0
    """
    x = _tensor(x)
    if ord in ("fro", None):
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in ("nuc", 2, -2):
        values = svdvals(x)
        pick: Any = {"nuc": _core.sum, 2: _core.max, -2: _core.min}[ord]
        found = pick(values, -1)
    elif ord in (1, -1, math.inf, -math.inf):
        sums = _core.sum(_core.abs(x), -2 if ord in (1, -1) else -1)
        found = (_core.max if ord > 0 else _core.min)(sums, -1)  # type: ignore[operator]
    else:
        raise fault(
            ValueError, f"there is no norm {ord!r} of matrices", 'use "fro", "nuc", 1, -1, 2, -2, inf or -inf'
        )
    return _core.unsqueeze(_core.unsqueeze(found, -1), -1) if keepdims else found


def matrix_power(x: TensorLike, n: int, /) -> Tensor:
    """Square matrices multiplied by themselves.

    Args:
        x: The matrices.
        n: How often they stand in the product; negative for their inverses.

    Example:
        >>> fl.linalg.matrix_power(fl.tensor([[1, 1], [0, 1]]), 5).tolist()
        [[1, 5], [0, 1]]
    """
    x = _tensor(x)
    if n < 0:
        x, n = inv(x), -n
    if n == 0:
        return _core.zeros_like(x) + _core.eye(x.shape[-2], x.shape[-1], 0, x.dtype)
    result: Tensor | None = None
    while n:
        if n % 2:
            result = x if result is None else matmul(result, x)
        n //= 2
        if n:
            x = matmul(x, x)
    return result  # type: ignore[return-value]


def _cut(x: Tensor, rtol: Any) -> Any:
    """How small singular values count as zero, in relation to the largest."""
    if rtol is not None:
        return rtol
    sizes = [size for size in x.shape[-2:] if isinstance(size, int)]
    if len(sizes) < 2:
        raise fault(RuntimeError, f"the sizes of {x.type_text} are not known yet", "pass `rtol`")
    return max(sizes) * finfo(x).eps


def matrix_rank(x: TensorLike, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """How many singular values are not zero.

    Args:
        x: The matrices.
        rtol: Values up to this part of the largest one count as zero; by default the rounding of the element type.

    Example:
        >>> fl.linalg.matrix_rank(fl.tensor([[1.0, 2.0], [2.0, 4.0]])).item()
        1
    """
    x = _tensor(x)
    values = svdvals(x)
    if is_size(values.shape[-1], 0):
        return _core.zeros(values.shape[:-1], "int64")
    cut: Any = _cut(x, rtol)
    cut = _core.unsqueeze(cut, -1) if isinstance(cut, Tensor) and cut.ndim else cut
    return _core.count_nonzero(values > cut * _core.max(values, -1, True), -1)


def outer(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """The products of all elements of two vectors.

    Args:
        x1: The vector of the rows.
        x2: The vector of the columns.

    Example:
        >>> fl.linalg.outer(fl.tensor([1, 2]), fl.tensor([3, 4])).tolist()
        [[3, 4], [6, 8]]
    """
    return _core.outer(x1, x2)


def pinv(x: TensorLike, /, *, rtol: float | None = None) -> Tensor:
    """The pseudo-inverses of matrices.

    Args:
        x: The matrices.
        rtol: Singular values up to this part of the largest one count as zero; by default the rounding of the
            element type.
    """
    x = _tensor(x)
    if any(is_size(size, 0) for size in x.shape):
        return matrix_transpose(x).conj()
    return _core.pinv(x, _cut(x, rtol))


def _completed(columns: Tensor) -> Tensor:
    """A square matrix that begins with these orthogonal columns of length one."""
    rows = columns.shape[-2]
    one = _core.eye(rows, rows, 0, columns.dtype)
    if is_size(columns.shape[-1], 0) or is_size(rows, 0):
        return _core.broadcast_to(one, (*columns.shape[:-2], rows, rows))
    return _core.qr(concat([columns, one + _core.zeros_like(columns[..., :1])], axis=-1))[0]


def qr(x: TensorLike, /, *, mode: str = "reduced") -> QRResult:
    """Matrices as products of orthogonal columns and upper triangles.

    Args:
        x: The matrices.
        mode: "reduced", or "complete" for a square matrix of columns.

    Example:
        >>> fl.linalg.qr(fl.tensor([[0.0, -2.0], [3.0, 1.0]])).R.tolist()
        [[3.0, 1.0], [0.0, 2.0]]
    """
    q, r = _core.qr(x)
    if mode == "complete":
        q = q if same_sizes(q.shape[-2], q.shape[-1]) else _completed(q)
        r = matmul(q.mH, _tensor(x))
        r = _core.triu(r, 0)
    elif mode != "reduced":
        raise fault(ValueError, f"there is no mode {mode!r}", 'use "reduced" or "complete"')
    return QRResult(q, r)


def slogdet(x: TensorLike, /) -> SlogdetResult:
    """Signs of determinants, and logarithms of their absolute values.

    Args:
        x: The matrices.
    """
    return SlogdetResult(*_core.slogdet(x))


def solve(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """What `x1` must be multiplied with to give `x2`.

    Args:
        x1: Square matrices.
        x2: A vector, or matrices.

    Example:
        >>> fl.linalg.solve(fl.tensor([[2.0, 0.0], [0.0, 4.0]]), fl.tensor([2.0, 4.0])).tolist()
        [1.0, 1.0]
    """
    x2 = _tensor(x2)
    if x2.ndim == 1:
        return _core.squeeze(_core.solve(x1, _core.unsqueeze(x2, -1)), [-1])
    return _core.solve(x1, x2)


def svd(x: TensorLike, /, *, full_matrices: builtins.bool = True) -> SVDResult:
    """The singular values of matrices, in falling order, and their vectors.

    Args:
        x: The matrices.
        full_matrices: Whether the vectors are completed to square matrices.

    Example:
        >>> fl.linalg.svd(fl.tensor([[0.0, 2.0], [-3.0, 0.0]])).S.tolist()
        [3.0, 2.0]
    """
    u, s, vh = _core.svd(x)
    if full_matrices:
        u = u if same_sizes(u.shape[-2], u.shape[-1]) else _completed(u)
        if not same_sizes(vh.shape[-2], vh.shape[-1]):
            vh = _completed(vh.mH).mH
    return SVDResult(u, s, vh)


def svdvals(x: TensorLike, /) -> Tensor:
    """The singular values of matrices, in falling order.

    Args:
        x: The matrices.
    """
    return _core.svd(x)[1]


def trace(x: TensorLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """The sum of a diagonal of matrices.

    Args:
        x: The matrices.
        offset: Which one: above the main one if positive.
        dtype: The element type to sum in.

    Example:
        >>> fl.linalg.trace(fl.tensor([[1, 2], [3, 4]])).item()
        5
    """
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: builtins.bool = False,
    ord: int | float = 2,
) -> Tensor:
    """Norms of vectors.

    Args:
        x: A tensor.
        axis: The axis of the vectors, or several; None for all elements as one vector.
        keepdims: Whether the axes stay, with size one.
        ord: The power; inf and -inf for the largest and the smallest absolute value, 0 for the number of elements
            that are not zero.

    Example:
        >>> fl.linalg.vector_norm(fl.tensor([3.0, -4.0])).item()
        5.0
    """
    x = _tensor(x)
    if ord == 0:
        return _core.cast(_core.count_nonzero(x, axis, keepdims), x.real.dtype)
    sizes = _core.abs(x)
    if ord in (math.inf, -math.inf):
        return (_core.max if ord > 0 else _core.min)(sizes, axis, keepdims)
    if ord == 1:
        return _core.sum(sizes, axis, keepdims)
    if ord == 2:
        return _core.norm(x, 2.0, axis, keepdims)
    # Where a power has no slope, at zero, its gradient is zero, as that of the norm of order 2.
    none = _core.eq(sizes, 0)
    powers = _core.where(none, 1.0, sizes) ** ord
    if ord < 0:
        root = _core.sum(powers, axis, keepdims) ** (1 / ord)
        return _core.where(_core.any(none, axis, keepdims), 0.0, root)
    total = _core.sum(_core.where(none, 0.0, powers), axis, keepdims)
    none = _core.eq(total, 0)
    return _core.where(none, 0.0, _core.where(none, 1.0, total) ** (1 / ord))


from ._linalg import cond, lstsq, lu, lu_factor, lu_solve, matrix_exp, multi_dot, norm, solve_triangular  # noqa: E402

# A type checker would take any name for one of this module.
if not TYPE_CHECKING:

    def __getattr__(name):
        from ._elsewhere import no_attribute

        raise no_attribute(__name__, name)
