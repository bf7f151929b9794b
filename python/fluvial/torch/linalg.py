"""PyTorch's `torch.linalg`."""

from __future__ import annotations

import builtins

import fluvial as fl

from .._core import Tensor, det
from .._core import inverse as inv
from ..linalg import (
    cholesky,
    cond,
    eigh,
    eigvalsh,
    lstsq,
    lu,
    lu_factor,
    lu_solve,
    matmul,
    matrix_exp,
    matrix_norm,
    matrix_power,
    matrix_rank,
    multi_dot,
    norm,
    pinv,
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
