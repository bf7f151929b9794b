"""PyTorch's `torch.linalg`."""

from __future__ import annotations

import builtins
import math
from collections import namedtuple

import fluvial as fl

from .._core import Tensor, det
from .._core import inverse as inv
from .._derived.products import as_tensor
from .._fault import fault
from .._linalg import squared
from ..linalg import (
    cond,
    eig,
    eigvals,
    matmul,
    matrix_exp,
    matrix_power,
    multi_dot,
    slogdet,
    solve_triangular,
    svdvals,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def vector_norm(x: Tensor, ord: float = 2, dim: Any = None, keepdim: builtins.bool = False, *, dtype: Any = None) -> Tensor:
    """Norms of vectors."""
    x = x if dtype is None else x.to(dtype)
    if x.ndim == 0:
        return vector_norm(x.reshape(1), ord).reshape(())
    if isinstance(dim, (list, tuple)) and not dim:
        dim = None
    return fl.linalg.vector_norm(x, axis=dim, keepdims=keepdim, ord=ord)


def matrix_norm(A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: builtins.bool = False, *, dtype: Any = None) -> Tensor:
    """Norms of matrices."""
    return fl.linalg.norm(A if dtype is None else A.to(dtype), ord, tuple(dim), keepdim)


def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: builtins.bool = False, *, dtype: Any = None) -> Tensor:
    """Norms of vectors or matrices."""
    A = A if dtype is None else A.to(dtype)
    if A.ndim == 0 or ord is None:
        return vector_norm(A, 2 if ord is None else ord, dim, keepdim)
    return fl.linalg.norm(A, ord, dim if dim is None or isinstance(dim, int) else tuple(dim), keepdim)


def _alone(function: str, **options: Any) -> None:
    """Refuses options that would change what is computed."""
    for name, value in options.items():
        if value:
            raise fault(ValueError, f"`{function}` does not take `{name}={value!r}`", f"leave `{name}` out")


def _cut(A: Tensor, values: Tensor, atol: Any, rtol: Any) -> Any:
    """The size up to which singular values count as zero."""
    if rtol is None:
        rounding = fl.finfo(A.dtype).eps * max(A.shape[-2], A.shape[-1])
        rtol = rounding if atol is None else fl.where(as_tensor(atol) > 0, 0.0, rounding)
    atol, rtol = (as_tensor(0.0 if tol is None else tol).to(values.dtype) for tol in (atol, rtol))
    return fl.maximum(atol.unsqueeze(-1), rtol.unsqueeze(-1) * fl.max(values, -1, True))


def matrix_rank(A: Tensor, tol: Any = None, hermitian: builtins.bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """How many singular values, or sizes of eigenvalues, are not nearly zero."""
    if tol is not None:
        atol, rtol = tol, 0.0
    values = fl.abs(fl.linalg.eigvalsh(A)) if hermitian else fl.linalg.svdvals(A)
    if values.shape[-1] == 0:
        return fl.zeros(values.shape[:-1], "int64")
    return fl.count_nonzero(values > _cut(A, values, atol, rtol), -1)


def pinv(A: Tensor, rcond: Any = None, hermitian: builtins.bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """The inverse in the sense of least squares."""
    rtol = rcond if rcond is not None else rtol
    # Of a symmetric matrix one triangle is read.
    A = fl.tril(A) + fl.tril(A, -1).mH if hermitian else A
    if A.numel() == 0:
        return A.mH
    if atol is None and not isinstance(rtol, Tensor):
        return fl.linalg.pinv(A, rtol=rtol)
    u, values, vh = fl.linalg.svd(A, full_matrices=False)
    keep = values > _cut(A, values, atol, rtol)
    inverse = fl.where(keep, 1.0 / fl.where(keep, values, 1.0), 0.0)
    return (vh.mH * inverse.unsqueeze(-2)) @ u.mH


def _read(A: Tensor, UPLO: str) -> Tensor:
    """The symmetric matrix whose one triangle is read; the gradient is that by a whole matrix."""
    if UPLO not in ("L", "U", "l", "u"):
        raise fault(ValueError, f"`UPLO` is {UPLO!r}", 'use "L" or "U"')
    other = fl.triu(A, 1) if UPLO in "Ll" else fl.tril(A, -1)
    read = fl.tril(A, -1) if UPLO in "Ll" else fl.triu(A, 1)
    return A + (read.mH - other).detach()


def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Eigenvalues and eigenvectors of symmetric matrices, of which one triangle is read."""
    return fl.linalg.eigh(_read(A, UPLO))


def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of symmetric matrices, of which one triangle is read."""
    return fl.linalg.eigvalsh(_read(A, UPLO))


def lu(A: Tensor, *, pivot: builtins.bool = True) -> Any:
    """Matrices as products of a permutation and two triangles."""
    _alone("lu", pivot=not pivot)
    return fl.linalg.lu(A)


def lu_factor(A: Tensor, *, pivot: builtins.bool = True) -> Any:
    """The two triangles of `lu` in one matrix, and the exchanges of rows."""
    _alone("lu_factor", pivot=not pivot)
    return fl.linalg.lu_factor(A)


def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: builtins.bool = True, adjoint: builtins.bool = False) -> Tensor:
    """The `x` with `a x = B`, by what `lu_factor` has found of `a`."""
    return fl.linalg.lu_solve(LU, pivots, B, left=left, adjoint=adjoint)


Solution = namedtuple("Solution", "solution residuals rank singular_values")


def lstsq(A: Tensor, B: Tensor, rcond: Any = None, *, driver: str | None = None) -> Solution:
    """The `x` that makes `A x - B` smallest.

    Args:
        A: Matrices.
        B: Matrices.
        rcond: Singular values up to this part of the largest one count as zero; not for "gels".
        driver: "gels", for matrices of full rank; "gelsy", the default, "gelsd" and "gelss" for those of any. They differ
            in what they give besides: ranks, and for the last two singular values and what is left.
    """
    driver = "gelsy" if driver is None else driver
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise fault(ValueError, f"there is no driver {driver!r}", 'use "gels", "gelsy", "gelsd" or "gelss"')
    vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    b = B.unsqueeze(-1) if vector else B
    rows, columns = A.shape[-2], A.shape[-1]
    found = fl.linalg.lstsq(A, b).solution if driver == "gels" else pinv(A, rcond) @ b
    values = fl.linalg.svdvals(A)
    rank = fl.zeros((0,), "int64") if driver == "gels" else matrix_rank(A, rtol=rcond)
    rest = A @ found - b
    full = rows > columns and driver != "gelsy" and (driver == "gels" or bool((rank == columns).all()))
    residuals = fl.sum(squared(rest), axis=-2) if full else fl.zeros((0,), values.dtype)
    left = values if driver in ("gelsd", "gelss") else fl.zeros((0,), values.dtype)
    return Solution(found.squeeze(-1) if vector else found, residuals, rank, left)


def solve(A: Tensor, B: Tensor, *, left: builtins.bool = True) -> Tensor:
    """The `x` with `A x = B`, or `x A = B`; `B` may be a stack of vectors."""
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1]))
    if not left:
        if vector:
            raise fault(ValueError, "a vector stands at the right of a matrix only", "give a matrix, or leave `left` out")
        return fl.linalg.solve(A.mT, B.mT).mT
    return fl.linalg.solve(A, B.unsqueeze(-1)).squeeze(-1) if vector and B.ndim > 1 else fl.linalg.solve(A, B)


def cholesky(A: Tensor, *, upper: builtins.bool = False) -> Tensor:
    """The triangular factor of symmetric, or Hermitian, positive definite matrices."""
    return fl.linalg.cholesky(A, upper=upper)


def qr(A: Tensor, mode: str = "reduced") -> Any:
    """Orthogonal columns and an upper triangle; "r" for the triangle alone."""
    if mode == "r":
        found = fl.linalg.qr(A)
        return type(found)(fl.zeros((0,), A.dtype), found.R)
    return fl.linalg.qr(A, mode=mode)


def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of a tensor whose first axes are taken for rows, and the others for columns."""
    rows = math.prod(A.shape[:ind])
    return inv(A.reshape(rows, -1)).reshape(*A.shape[ind:], *A.shape[:ind])


def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:
    """The `x` with `tensordot(A, x, x.ndim) = B`."""
    if dims is not None:
        A = fl.moveaxis(A, tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    shape = A.shape[B.ndim :]
    return fl.linalg.solve(A.reshape(math.prod(B.shape), -1), B.reshape(-1)).reshape(*shape)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers of elements, from zero on, along a new last axis."""
    x = x.reshape(1) if x.ndim == 0 else x
    n = x.shape[-1] if N is None else N
    columns = [fl.ones_like(x)]
    for _ in range(n - 1):
        columns.append(columns[-1] * x)
    return fl.stack(columns, axis=-1)


def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first columns of a product of reflections."""
    rows: Any = A.shape[-2]
    columns: Any = A.shape[-1]
    found = fl.eye(rows, columns, dtype=A.dtype) + fl.zeros_like(A)
    for k in range(tau.shape[-1] - 1, -1, -1):
        v = fl.concat([fl.zeros_like(A[..., :k, k]), fl.ones_like(A[..., k : k + 1, k]), A[..., k + 1 :, k]], axis=-1).unsqueeze(-1)
        found = found - tau[..., k : k + 1].unsqueeze(-1) * (v @ (v.mH @ found))
    return found


def svd(A: Tensor, full_matrices: builtins.bool = True) -> Any:
    """Singular vectors and values."""
    return fl.linalg.svd(A, full_matrices=full_matrices)


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product of vectors of three elements."""
    return fl.linalg.cross(input, other, axis=dim)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A diagonal of matrices."""
    return fl.diagonal(A, offset, dim1, dim2)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The products of vectors along an axis."""
    return fl.vecdot(x, y, axis=dim)


def _checked(function: Any, count: int, names: str) -> Any:
    """A function that gives a tensor of zeros besides: where it fails, it raises."""
    make: Any = namedtuple
    result = make(function.__name__ + "_ex", names)

    def checked(A: Tensor, *args: Any, check_errors: builtins.bool = False, **options: Any) -> Any:
        found = function(A, *args, **options)
        parts: list[Any] = [found] if count == 1 else list(found)
        return result(*parts, fl.zeros(A.shape[:-2], "int32"))

    checked.__name__ = function.__name__ + "_ex"
    checked.__doc__ = f"`{function.__name__}`, and zeros: a matrix for which it fails is an error."
    return checked


cholesky_ex, inv_ex = _checked(cholesky, 1, "L info"), _checked(inv, 1, "inverse info")
solve_ex, lu_factor_ex = _checked(solve, 1, "result info"), _checked(lu_factor, 2, "LU pivots info")


def __getattr__(name: str) -> object:
    from ._missing import missing

    raise missing(__name__, name)
