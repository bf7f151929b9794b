"""PyTorch's `torch.linalg`."""

from __future__ import annotations

import builtins

import fluvial as fl

from .._core import Tensor, det
from .._core import inverse as inv
from .._fault import fault
from ..linalg import (
    cholesky,
    cond,
    matmul,
    matrix_exp,
    matrix_power,
    multi_dot,
    norm,
    qr,
    slogdet,
    solve,
    solve_triangular,
    svdvals,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def vector_norm(x: Tensor, ord: float = 2, dim: Any = None, keepdim: builtins.bool = False) -> Tensor:
    """Norms of vectors."""
    return fl.linalg.vector_norm(x, axis=dim, keepdims=keepdim, ord=ord)


def matrix_norm(A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: builtins.bool = False) -> Tensor:
    """Norms of matrices."""
    return fl.linalg.norm(A, ord, tuple(dim), keepdim)


def _alone(function: str, **options: Any) -> None:
    """Refuses options that would change what is computed."""
    for name, value in options.items():
        if value:
            raise fault(ValueError, f"`{function}` does not take `{name}={value!r}`", f"leave `{name}` out")


def matrix_rank(A: Tensor, tol: Any = None, hermitian: builtins.bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """How many singular values are not nearly zero."""
    _alone("matrix_rank", tol=tol, atol=atol)
    return fl.linalg.matrix_rank(A, rtol=rtol)


def pinv(A: Tensor, rcond: Any = None, hermitian: builtins.bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """The inverse in the sense of least squares."""
    _alone("pinv", atol=atol)
    return fl.linalg.pinv(A, rtol=rcond if rtol is None else rtol)


def _symmetric(A: Tensor, UPLO: str) -> Tensor:
    if UPLO == "L":
        return A
    return fl.triu(A) + fl.triu(A, 1).mT


def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Eigenvalues and eigenvectors of symmetric matrices, of which one triangle is read."""
    return fl.linalg.eigh(_symmetric(A, UPLO))


def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of symmetric matrices, of which one triangle is read."""
    return fl.linalg.eigvalsh(_symmetric(A, UPLO))


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
    _alone("lu_solve", left=not left, adjoint=adjoint)
    return fl.linalg.lu_solve(LU, pivots, B)


def lstsq(A: Tensor, B: Tensor, rcond: Any = None, *, driver: str | None = None) -> Any:
    """The `x` that makes `A x - B` smallest, for matrices of full rank."""
    return fl.linalg.lstsq(A, B, rcond)


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


def __getattr__(name: str) -> object:
    from ._missing import missing

    raise missing(__name__, name)
