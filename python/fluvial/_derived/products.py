"""Products with sums, and distances."""

from __future__ import annotations

import math

from .. import _core
from .._core import Tensor
from .._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import TensorLike


def as_tensor(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else _core.tensor(x)


def _of_rank(name: str, x: Any, rank: int) -> Tensor:
    x = as_tensor(x)
    if x.ndim != rank:
        what = ("a number", "a vector", "a matrix", "a stack of matrices")[rank]
        raise fault(ValueError, f"`{name}` takes {what}, not {x.type_text}", "`fl.matmul` takes any number of axes")
    return x


def _added(x: Any, product: Tensor, beta: float, alpha: float) -> Tensor:
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    return _core.add(x if beta == 1 else _core.mul(x, beta), product)


def mm(a: TensorLike, b: TensorLike) -> Tensor:
    """The product of two matrices.

    Args:
        a: A matrix.
        b: A matrix.

    Example:
        >>> fl.mm(fl.eye(2), fl.tensor([[1.0], [2.0]])).tolist()
        [[1.0], [2.0]]
    """
    return _core.matmul(_of_rank("mm", a, 2), _of_rank("mm", b, 2))


def bmm(a: TensorLike, b: TensorLike) -> Tensor:
    """The products of two stacks of as many matrices.

    Args:
        a: A tensor of three axes.
        b: A tensor of three axes.
    """
    return _core.matmul(_of_rank("bmm", a, 3), _of_rank("bmm", b, 3))


def mv(a: TensorLike, b: TensorLike) -> Tensor:
    """The product of a matrix and a vector.

    Args:
        a: A matrix.
        b: A vector.
    """
    return _core.matmul(_of_rank("mv", a, 2), _of_rank("mv", b, 1))


def inner(a: TensorLike, b: TensorLike) -> Tensor:
    """The products summed over the last axes of both.

    Args:
        a: A tensor.
        b: A tensor with as many elements on its last axis.
    """
    a, b = as_tensor(a), as_tensor(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return _core.tensordot(a, b, [a.ndim - 1], [b.ndim - 1])


def addmm(x: TensorLike, mat1: TensorLike, mat2: TensorLike, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * x + alpha * (mat1 @ mat2)` of matrices.

    Args:
        x: What is added, broadcast.
        mat1: A matrix.
        mat2: A matrix.
        beta: The factor of `x`; if it is 0, nothing of `x` is in the result.
        alpha: The factor of the product.

    Example:
        >>> fl.addmm(fl.tensor(1.0), fl.eye(2), fl.eye(2)).tolist()
        [[2.0, 1.0], [1.0, 2.0]]
    """
    return _added(x, mm(mat1, mat2), beta, alpha)


def addmv(x: TensorLike, mat: TensorLike, vec: TensorLike, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * x + alpha * (mat @ vec)` of a matrix and a vector.

    Args:
        x: What is added, broadcast.
        mat: A matrix.
        vec: A vector.
        beta: The factor of `x`.
        alpha: The factor of the product.
    """
    return _added(x, mv(mat, vec), beta, alpha)


def addr(x: TensorLike, vec1: TensorLike, vec2: TensorLike, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * x + alpha * outer(vec1, vec2)`.

    Args:
        x: What is added, broadcast.
        vec1: A vector.
        vec2: A vector.
        beta: The factor of `x`.
        alpha: The factor of the product.
    """
    return _added(x, _core.outer(vec1, vec2), beta, alpha)


def baddbmm(x: TensorLike, batch1: TensorLike, batch2: TensorLike, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * x + alpha * bmm(batch1, batch2)`.

    Args:
        x: What is added, broadcast.
        batch1: A stack of matrices.
        batch2: A stack of matrices.
        beta: The factor of `x`.
        alpha: The factor of the products.
    """
    return _added(x, bmm(batch1, batch2), beta, alpha)


def addbmm(x: TensorLike, batch1: TensorLike, batch2: TensorLike, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * x + alpha * (the sum of the products of two stacks of matrices)`.

    Args:
        x: What is added, broadcast.
        batch1: A stack of matrices.
        batch2: A stack of matrices.
        beta: The factor of `x`.
        alpha: The factor of the sum.
    """
    return _added(x, _core.sum(bmm(batch1, batch2), 0), beta, alpha)


def bilinear(x1: TensorLike, x2: TensorLike, weight: TensorLike, bias: TensorLike | None = None) -> Tensor:
    """`x1 @ weight[k] @ x2` for each `k`, and a bias.

    Args:
        x1: Vectors along the last axis.
        x2: Vectors along the last axis.
        weight: `[outputs, size of x1, size of x2]`.
        bias: `[outputs]`, or None.
    """
    found = _core.einsum("...i,kij,...j->...k", [as_tensor(x1), as_tensor(weight), as_tensor(x2)])
    return found if bias is None else _core.add(found, bias)


def cross(a: TensorLike, b: TensorLike, axis: int = -1, *, dim: int | None = None) -> Tensor:
    """The cross product of vectors of three elements.

    Args:
        a: The first vectors.
        b: The second vectors, which are broadcast against the first.
        axis: The axis of the three elements, counted from the end. Also `dim`.

    Example:
        >>> fl.cross(fl.tensor([1, 0, 0]), fl.tensor([0, 1, 0])).tolist()
        [0, 0, 1]
    """
    from ..linalg import cross as product

    return product(a, b, axis=axis if dim is None else dim)


def dist(a: TensorLike, b: TensorLike, p: float = 2) -> Tensor:
    """The norm of the difference, over all elements.

    Args:
        a: A tensor.
        b: A tensor.
        p: Which norm.
    """
    return _norm(_core.sub(a, b), p, None)


def _norm(x: Tensor, p: float, axis: Any) -> Tensor:
    size = _core.abs(x)
    if p == math.inf:
        return _core.max(size, axis)
    if p == -math.inf:
        return _core.min(size, axis)
    if p == 0:
        return _core.sum(_core.cast(_core.ne(size, 0), size.dtype), axis)
    if p == 1:
        return _core.sum(size, axis)
    if p == 2:
        total = _core.sum(x * x if not x.is_complex() else size * size, axis)
        # The slope of the root is infinite at zero, and the norm's is taken as zero.
        zero = _core.eq(total, 0)
        return _core.where(zero, 0.0, _core.sqrt(_core.where(zero, 1.0, total)))
    return _core.pow(_core.sum(_core.pow(size, p), axis), 1.0 / p)


def cdist(x1: TensorLike, x2: TensorLike, p: float = 2.0) -> Tensor:
    """The distances between each row of one matrix and each row of another.

    Args:
        x1: Matrices `[..., n, size]`.
        x2: Matrices `[..., m, size]`.
        p: Of which norm.

    Example:
        >>> fl.cdist(fl.tensor([[0.0, 0.0]]), fl.tensor([[3.0, 4.0], [0.0, 1.0]])).tolist()
        [[5.0, 1.0]]
    """
    a, b = as_tensor(x1), as_tensor(x2)
    return _norm(_core.sub(_core.unsqueeze(a, -2), _core.unsqueeze(b, -3)), p, -1)


def pdist(x: TensorLike, p: float = 2.0) -> Tensor:
    """The distances between each two rows of a matrix, as a vector: of the first and the others, and so on.

    Args:
        x: A matrix.
        p: Of which norm.
    """
    x = _of_rank("pdist", x, 2)
    rows, columns = _pairs(x.shape[0])
    return _norm(_core.gather(x, rows, 0) - _core.gather(x, columns, 0), p, -1)


def _pairs(n: Any) -> tuple[Tensor, Tensor]:
    if not isinstance(n, int):
        raise fault(ValueError, f"the number of rows, {n}, is known only when the program runs", "use `fl.cdist(x, x)`")
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    return tuple(_core.tensor([pair[k] for pair in pairs], "int64") for k in (0, 1))  # type: ignore[return-value]
