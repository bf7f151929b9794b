"""Programs as source of other languages.

Example:
    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> program = fl.build(lambda x: fl.relu(x) * 2, {"x": "f32[batch, 3]"})
    >>> fl.export.c(program, folder, sizes={"batch": 8}) > 0
    True
    >>> sorted(os.listdir(folder))
    ['CMakeLists.txt', 'Makefile', 'main.c', 'model.bin', 'model.c', 'model.h']
"""

from __future__ import annotations

import os

from . import _core
from ._core import Program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["c", "cuda", "rust"]


def c(
    program: Program,
    folder: str | os.PathLike[str],
    *,
    sizes: Mapping[str, int] | None = None,
    bounds: Mapping[str, int] | None = None,
    name: str = "model",
    outputs: Sequence[str] | None = None,
    embed: bool = False,
    list_capacity: int = 64,
    blas: str = "none",
) -> int:
    """Writes a program as plain C11 that needs only the C library: a header, the source, the initial values of the
    states, a `main.c` that reads and writes `.npy` files, a `Makefile` and a `CMakeLists.txt`. Whole training steps
    and loops are exported, too. What cannot be exported is an error at the user's line.

    Args:
        program: The program.
        folder: The folder to write; it is made if it is not there.
        sizes: What sizes are that are symbols, such as `{"batch": 64}`.
        bounds: What sizes are at most; they are inputs of the exported function.
        name: The name of the files, and the beginning of all names in them.
        outputs: The outputs to export; all of them if not given.
        embed: Whether the initial values of states are written into the source, and not into a file beside it.
        list_capacity: How many elements a list of the program can take.
        blas: The library that makes matrix products: `"none"`, `"cblas"`, `"openblas"` or `"mkl"`.

    Returns:
        The bytes of memory that a run needs.
    """
    _check(program)
    known = [f"{symbol}={number}" for symbol, number in (sizes or {}).items()]
    known += [f"{symbol}<={number}" for symbol, number in (bounds or {}).items()]
    return _core.export_c(
        program, os.fspath(folder), name, known, list(outputs or []), embed, list_capacity, blas
    )


def cuda(
    program: Program,
    folder: str | os.PathLike[str],
    *,
    sizes: Mapping[str, int] | None = None,
    bounds: Mapping[str, int] | None = None,
    name: str = "model",
    outputs: Sequence[str] | None = None,
    list_capacity: int = 64,
) -> int:
    """Writes a program as CUDA C++: each step is a kernel, products of matrices are those of cuBLAS. The folder gets a header,
    the source, the initial values of the states, a `main.cu` that reads and writes `.npy` files, a `Makefile` and a
    `CMakeLists.txt`. Whole training steps and loops are exported, too. What cannot be exported is an error at the user's
    line.

    The source is compiled by `nvcc` in a test, and its kernels run on threads of a processor there; it never ran on a
    device.

    Args:
        program: The program.
        folder: The folder to write; it is made if it is not there.
        sizes: What sizes are that are symbols, such as `{"batch": 64}`.
        bounds: What sizes are at most; they are inputs of the exported function.
        name: The name of the files, and the beginning of all names in them.
        outputs: The outputs to export; all of them if not given.
        list_capacity: How many elements a list of the program can take.

    Returns:
        The bytes of memory of the device that a run needs, besides the states.

    Example:
        >>> import os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> program = fl.build(lambda x: fl.relu(x) * 2, {"x": "f32[batch, 3]"})
        >>> fl.export.cuda(program, folder, bounds={"batch": 8}) > 0
        True
        >>> sorted(os.listdir(folder))
        ['CMakeLists.txt', 'Makefile', 'main.cu', 'model.bin', 'model.cu', 'model.h']
    """
    _check(program)
    known = [f"{symbol}={number}" for symbol, number in (sizes or {}).items()]
    known += [f"{symbol}<={number}" for symbol, number in (bounds or {}).items()]
    return _core.export_cuda(program, os.fspath(folder), name, known, list(outputs or []), list_capacity)


def rust(
    program: Program,
    folder: str | os.PathLike[str],
    *,
    sizes: Mapping[str, int] | None = None,
    name: str = "model",
    outputs: Sequence[str] | None = None,
    crates: str | os.PathLike[str] | None = None,
) -> None:
    """Writes a program as a crate of Rust, with the compiled program and the values of its states inside. Only the ops that
    it calls are linked: `cargo build --release` makes a single binary, which reads and writes `.npy` files, and a library.
    Sizes may stay open. Whole training steps and loops are exported, too.

    Args:
        program: The program.
        folder: The folder to write; it is made if it is not there.
        sizes: What sizes are that are symbols, such as `{"batch": 64}`; others stay open.
        name: The name of the crate and of its files.
        outputs: The outputs to export; all of them if not given.
        crates: The folder with the crates of Fluvial, if they shall not come from a registry.

    Example:
        >>> import os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> fl.export.rust(fl.build(lambda x: fl.relu(x) * 2, {"x": "f32[batch, 3]"}), folder)
        >>> sorted(os.listdir(folder))
        ['Cargo.toml', 'src']
    """
    _check(program)
    known = [f"{symbol}={number}" for symbol, number in (sizes or {}).items()]
    _core.export_rust_crate(
        program, os.fspath(folder), name, known, list(outputs or []), None if crates is None else os.fspath(crates)
    )


def _check(program: object) -> None:
    if not isinstance(program, Program):
        raise TypeError(f"expected a program, found {type(program).__name__}: make one by `fl.build`")
