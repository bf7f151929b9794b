"""Methods of tensors with PyTorch's meaning, for files that import `fluvial.torch`."""

from __future__ import annotations

from .. import _core
from .._core import Tensor
from .._flavour import is_torch
from .._inplace import changing
from .._tensor import type_ as _type_of
from . import _bools, _casts, _functions, _scalars
from ._types import type_name

_BOOL = _core.bool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: Methods whose meaning differs from that of the functions of `fluvial`.
TWO_MEANINGS = """
add aminmax argsort chunk cross cummax cummin diff equal gather index_add index_put kthvalue max median min mode
nanmedian nonzero norm quantile repeat_interleave roll round scatter scatter_add scatter_reduce softmax log_softmax sort split
squeeze std sub svd take topk unbind unique unique_consecutive var movedim slogdet histogram rot90 bincount trace masked_fill tensor_split
index_reduce index_copy put unfold cumsum cumprod hsplit vsplit dsplit addbmm addmm addmv addr baddbmm triangular_solve histc flip square
angle cholesky_inverse cholesky_solve conj diagflat diagonal_scatter select_scatter slice_scatter fill
fliplr flipud frexp isneginf isposinf isreal lu lu_solve matrix_exp matrix_power mvlgamma nanquantile nonzero_static
absolute arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_left_shift bitwise_right_shift fix ger hardshrink
is_conj is_nonzero nextafter polygamma sum_to_size true_divide is_same_size is_signed narrow_copy where unsafe_chunk unsafe_split
unsafe_split_with_sizes pinverse resolve_conj resolve_neg sgn split_with_sizes take_along_dim logdet msort qr vdot conj_physical
""".split()

#: Methods whose meaning differs for tensors without axes, and for bools.
RARELY = sorted({*_scalars.FUNCTIONS, *_bools.FUNCTIONS} - {*TWO_MEANINGS, "index_add", "std_mean", "var_mean"})


def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of an axis, side by side along a new last one."""
    if input.ndim == 0:
        return unfold(_core.reshape(input, (1,)), 0, size, step)[0]
    return _core.unfold_axis(input, dimension, size, step)


def where(input: Tensor, condition: Tensor, other: Any) -> Tensor:
    """The tensor where a condition holds, else another."""
    return _core.where(condition, input, other)


def polygamma(input: Tensor, n: int) -> Tensor:
    """A derivative of `digamma`."""
    return _core.polygamma(n, input)


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Gives the diagonal of a matrix a number; returns the tensor."""
    from .._fault import fault
    from .._inplace import put

    if wrap or self.ndim != 2:
        raise fault(ValueError, "the diagonal of a matrix is filled once", "leave `wrap` out, and give a matrix")
    line = _core.iota(min(self.shape[0], self.shape[1]), "int64")
    return put(self, self.setitem((line, line), fill_value))


def repeat(input: Tensor, *sizes: Any) -> Tensor:
    """The tensor put beside itself."""
    sizes = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else sizes
    return _functions.tile(input, sizes)


def tile(input: Tensor, *sizes: Any) -> Tensor:
    """The tensor put beside itself."""
    return repeat(input, *sizes)


def type_(input: Tensor, dtype: Any = None) -> Any:
    """The tensor with another element type; without one, the name of its class in PyTorch."""
    return type_name(input.dtype) if dtype is None else _type_of(input, getattr(dtype, "dtype", dtype))


#: Methods whose arguments are not those of the functions.
_OWN: dict[str, Any] = {"unfold": unfold, "where": where, "polygamma": polygamma}

#: Further methods of which there is a form that changes the tensor.
CHANGING = """
absolute arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_left_shift bitwise_right_shift conj_physical fix greater
greater_equal i0 igamma igammac index_reduce less less_equal mvlgamma nextafter not_equal polygamma put sgn true_divide
""".split()


def _both(name: str, theirs: Callable[..., Any]) -> Callable[..., Any]:
    ours = getattr(Tensor, name, None)

    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        if is_torch():
            return theirs(self, *args, **options)
        if ours is None:
            return self.__getattr__(name)  # type: ignore[attr-defined]
        return ours(self, *args, **options)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = getattr(ours, "__doc__", None) or theirs.__doc__
    method.__wrapped__ = theirs if ours is None else ours  # type: ignore[attr-defined]
    return method


def _rarely(name: str, theirs: Callable[..., Any]) -> Callable[..., Any]:
    ours = getattr(Tensor, name)

    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        if (self.ndim and self.dtype != _BOOL) or not is_torch():
            return ours(self, *args, **options)
        return theirs(self, *args, **options)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = ours.__doc__
    method.__wrapped__ = ours  # type: ignore[attr-defined]
    return method


def register(namespace: dict[str, Any]) -> None:
    """Gives the class methods that ask whose meaning counts.

    Args:
        namespace: The functions with PyTorch's meaning.
    """
    for name in TWO_MEANINGS:
        setattr(Tensor, name, _both(name, _OWN.get(name) or namespace[name]))
    for name in RARELY:
        if hasattr(Tensor, name):
            setattr(Tensor, name, _rarely(name, namespace[name]))
    for function in (repeat, tile, fill_diagonal_):
        setattr(Tensor, function.__name__, _both(function.__name__, function))
    _casts.register()
    for name in CHANGING:
        if not hasattr(Tensor, f"{name}_"):
            setattr(Tensor, f"{name}_", changing(name))
    Tensor.type = _both("type", type_)  # type: ignore[method-assign]
    for name in "is_cuda is_sparse is_quantized is_meta is_mps is_xpu is_mkldnn is_nested".split():
        setattr(Tensor, name, property(lambda self: False, doc="Whether it is of this kind: all tensors are dense, and on the CPU."))
    Tensor.layout = property(lambda self: "strided", doc="How the elements are stored.")  # type: ignore[attr-defined]
    Tensor.get_device = lambda self: -1  # type: ignore[attr-defined]
    Tensor.itemsize = property(lambda self: self.element_size(), doc="The bytes of an element.")  # type: ignore[attr-defined]
    Tensor.is_cpu = property(lambda self: True, doc="Whether the elements are in main memory: they are.")  # type: ignore[attr-defined]
