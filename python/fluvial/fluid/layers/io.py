"""Inputs of programs, readers that feed them, and functions in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from ..._fault import fault
from ...imperative import PyLayer
from ...layers._print import Print as _print
from .. import unique_name
from ..core import VarType, dtype_of
from ..framework import Variable, applied, default_main_program, in_dygraph_mode

__all__ = ["data", "py_reader", "create_py_reader_by_data", "read_file", "double_buffer", "py_func", "Print", "load"]


def data(
    name: str,
    shape: Sequence[int],
    append_batch_size: bool = True,
    dtype: Any = "float32",
    lod_level: int = 0,
    type: VarType = VarType.LOD_TENSOR,
    stop_gradient: bool = True,
) -> Variable:
    """An input of the program, which is fed by its name.

    Args:
        name: Its name.
        shape: Its sizes; -1 for those that are open.
        append_batch_size: Whether the open size of the batch stands before them, unless one is open already.
        dtype: Its element type.
        lod_level: How many levels of sequences its rows have.
        type: What it is: rows of numbers, `VarType.LOD_TENSOR`.
        stop_gradient: Whether it gets no gradient.
    """
    if type is not VarType.LOD_TENSOR:
        raise fault(NotImplementedError, f"an input of type {type} cannot be fed", "leave `type` out, and feed all rows")
    sizes = open_sizes(shape)
    if append_batch_size and not any(size == -1 for size in sizes):
        sizes.insert(0, -1)
        return declared(name, sizes, dtype, lod_level, stop_gradient)
    return declared(name, sizes, dtype, lod_level, stop_gradient, own_rows=bool(sizes) and sizes[0] == -1)


def open_sizes(shape: Sequence[int | None]) -> list[int]:
    """Sizes as they are written; to Fluid all negative ones are open, as `batch_size * steps` is with a batch of -1."""
    return [-1 if size is None or size < 0 else size for size in shape]


def declared(
    name: str, sizes: Sequence[Any], dtype: Any, lod_level: int, stop_gradient: bool = True, own_rows: bool = False
) -> Variable:
    """An input with all of its sizes; the first one that is open is called `batch` in all inputs but those with rows of
    their own.

    Args:
        name: Its name.
        sizes: All of its sizes; -1 for those that are open.
        dtype: Its element type.
        lod_level: How many levels of sequences its rows have.
        stop_gradient: Whether it gets no gradient.
        own_rows: Whether its first size is its own.
    """
    if in_dygraph_mode():
        raise fault(RuntimeError, "`data` is an input of a program, and ops run at once here", "use `dygraph.to_variable`")
    if not isinstance(name, str):
        raise fault(TypeError, f"the name of an input is a string, not {name!r}", 'write `layers.data("x", …)`')
    block = default_main_program().global_block()
    known = block.vars.get(name)
    if known is not None and known.is_data:
        wanted = (tuple(sizes), dtype_of(dtype), lod_level)
        if (known._shape, known._dtype, known.lod_level) == wanted:
            return known
    if known is not None:
        raise fault(ValueError, f"the program has a variable `{name}` already", "give the input another name")
    made = block.declare(name, sizes, dtype, lod_level, stop_gradient)
    made._own_rows = own_rows
    return made


def input_of(name: str, sizes: Sequence[Any], dtype: Any, lod_level: int, own_rows: bool = False) -> Any:
    """The value of an input, while the outermost block is built.

    Args:
        name: Its name.
        sizes: All of its sizes; -1 for those that are open.
        dtype: Its element type.
        lod_level: How many levels of sequences its rows have.
        own_rows: Whether its first size is its own.
    """
    text = str.__str__(dtype_of(dtype).value)
    if lod_level:
        from .. import _ragged

        return _ragged.declared(name, sizes, text, lod_level)
    first = None if own_rows else next((axis for axis, size in enumerate(sizes) if size == -1), None)
    named = [
        int(size) if size != -1 else "batch" if axis == first else symbol(name, axis) for axis, size in enumerate(sizes)
    ]
    return _core.program_input(name, text, named)


def symbol(name: str, axis: int) -> str:
    import re

    return re.sub(r"\W", "_", f"{name}_{axis}")


# Readers --------------------------------------------------------------------------------------------


class PyReader:
    """Feeds variables of a program from a Python reader, batch by batch: `start`, run until `EOFException`, `reset`."""

    def __init__(self, variables: Sequence[Variable], capacity: int) -> None:
        from ..reader import GeneratorLoader, variables_of

        self.variables = variables_of(variables)
        if not self.variables:
            raise fault(ValueError, "a reader feeds at least one variable", "give variables of `layers.data`")
        self._loader = GeneratorLoader(self.variables, capacity, True, False, False)
        block = self.variables[0].block
        assert block is not None
        block.program._readers.append(self._loader)

    def decorate_paddle_reader(self, reader: Callable[[], Any], places: Any = None) -> None:
        """Reads lists of samples.

        Args:
            reader: Gives an iterator over batches, each a list of samples.
            places: For Fluid's programs.
        """
        self._loader.set_sample_list_generator(reader, places)

    decorate_sample_list_generator = decorate_paddle_reader

    def decorate_tensor_provider(self, reader: Callable[[], Any], places: Any = None) -> None:
        """Reads lists of arrays, one for each variable.

        Args:
            reader: Gives an iterator over batches, each a list of arrays.
            places: For Fluid's programs.
        """
        self._loader.set_batch_generator(reader, places)

    decorate_batch_generator = decorate_tensor_provider

    def start(self) -> None:
        """Begins to read."""
        self._loader.start()

    def reset(self) -> None:
        """Ends reading, so that `start` begins anew."""
        self._loader.reset()


def py_reader(
    capacity: int,
    shapes: Sequence[Sequence[int]],
    dtypes: Sequence[Any],
    lod_levels: Sequence[int] | None = None,
    name: str | None = None,
    use_double_buffer: bool = True,
) -> PyReader:
    """A reader whose batches `read_file` gives as variables.

    Args:
        capacity: How many batches are read ahead.
        shapes: For each variable its sizes, with -1 for the batch.
        dtypes: For each variable its element type.
        lod_levels: For each variable how many levels of sequences its rows have.
        name: What names of the variables begin with.
        use_double_buffer: For Fluid's programs.
    """
    label = name or unique_name.generate("py_reader")
    levels = lod_levels or [0] * len(shapes)
    variables = [
        declared(unique_name.generate(f"{label}.data"), list(shape), dtype, level)
        for shape, dtype, level in zip(shapes, dtypes, levels)
    ]
    return PyReader(variables, capacity)


def create_py_reader_by_data(
    capacity: int, feed_list: Sequence[Variable], name: str | None = None, use_double_buffer: bool = True
) -> PyReader:
    """A reader that feeds variables of `layers.data`.

    Args:
        capacity: How many batches are read ahead.
        feed_list: The variables.
        name: For Fluid's programs.
        use_double_buffer: For Fluid's programs.
    """
    return PyReader(feed_list, capacity)


def read_file(reader: PyReader) -> Any:
    """The variables that a reader feeds.

    Args:
        reader: What `py_reader` gave.
    """
    return reader.variables[0] if len(reader.variables) == 1 else list(reader.variables)


def double_buffer(reader: PyReader, place: Any = None, name: str | None = None) -> PyReader:
    """The reader, which reads ahead anyway.

    Args:
        reader: The reader.
        place: For Fluid's programs.
        name: For Fluid's programs.
    """
    return reader


def load(out: Variable, file_path: str, load_as_fp16: bool | None = None) -> None:
    """Refused: a file is read into variables of a scope, not by a program."""
    raise fault(NotImplementedError, "a program does not read variables from files", "use `fluid.io.load_vars`")


# Python in programs ---------------------------------------------------------------------------------


class Print:
    """Shows the value of a variable whenever a run passes here, and its gradient; gives the variable on."""

    def __new__(
        cls, input: Variable, first_n: int = -1, message: str | None = None, summarize: int = 20,
        print_tensor_name: bool = True, print_tensor_type: bool = True, print_tensor_shape: bool = True,
        print_tensor_lod: bool = True, print_phase: str = "both",
    ) -> Any:  # fmt: skip
        if message is None and print_tensor_name:
            message = input.name
        return applied(
            _print, "print", input, first_n, message, summarize, print_tensor_name, print_tensor_type,
            print_tensor_shape, print_tensor_lod, print_phase,
        )  # fmt: skip


def py_func(
    func: Callable[..., Any],
    x: Any,
    out: Any,
    backward_func: Callable[..., Any] | None = None,
    skip_vars_in_backward_input: Any = None,
) -> Any:
    """Calls a function of Python whenever a run passes here.

    Args:
        func: Takes arrays, gives arrays, or nothing if `out` is None.
        x: Its variables, or one.
        out: The variables that get what it gives, with sizes and element type; or None.
        backward_func: Takes the inputs, the outputs and the gradients of the outputs; gives those of the inputs.
        skip_vars_in_backward_input: Inputs and outputs that it does not take.
    """
    ins = [] if x is None else list(x) if isinstance(x, (list, tuple)) else [x]
    outs = [] if out is None else list(out) if isinstance(out, (list, tuple)) else [out]
    listed = [] if skip_vars_in_backward_input is None else skip_vars_in_backward_input
    skipped = {var.name for var in (listed if isinstance(listed, (list, tuple)) else [listed])}
    keeps = [var.name not in skipped for var in (*ins, *outs)]
    unknown = skipped - {var.name for var in (*ins, *outs)}
    if unknown:
        raise fault(ValueError, f"{', '.join(sorted(unknown))} is neither an input nor an output", "check the list")
    if not callable(func):
        raise fault(TypeError, f"{func!r} is not a function", "give one that takes arrays")

    def forward(inputs: Any) -> Any:
        found = func(*inputs[: len(ins)])
        if not outs:
            return inputs[0]
        many = found if isinstance(found, (list, tuple)) else [found]
        if len(many) != len(outs):
            raise fault(ValueError, f"`{func.__name__}` gave {len(many)} arrays for {len(outs)} variables")
        return [_array(item) for item in many]

    def backward(values: Any) -> Any:
        assert backward_func is not None
        kept = [value for value, keep in zip(values, keeps) if keep]
        found = backward_func(*kept, *values[len(keeps) :])
        return [_array(item) for item in (found if isinstance(found, (list, tuple)) else [found])]

    def infer(inputs: Any) -> Any:
        if not outs:
            return [inputs[0]]
        return [_type_of(var, inputs[: len(ins)]) for var in outs]

    members: dict[str, Any] = {"forward": staticmethod(forward), "infer": staticmethod(infer)}
    if backward_func is not None and outs and ins:
        members["backward"] = staticmethod(backward)
    kind = type_of(func, members)
    # A function that takes nothing is given a number that it does not see.
    results = applied(lambda *tensors: kind()(*(tensors or [_core.full((1,), 0.0, "float32")])), "py_func", *ins)
    if not outs:
        return None
    from ..framework import store

    for found, var in zip(results, outs):
        store(found, var)
    return out


def type_of(func: Callable[..., Any], members: dict[str, Any]) -> Any:
    """A class of `PyLayer` for a function."""
    return type(f"PyFunc_{getattr(func, '__name__', 'call')}", (PyLayer,), members)


def _array(value: Any) -> Any:
    import numpy as np

    return np.asarray(value)


def _type_of(var: Variable, inputs: Sequence[Any]) -> Any:
    """The type that a variable was declared with; an open first size is that of the first input."""
    if var._shape is None or var._dtype is None:
        raise fault(
            ValueError, f"the sizes and the element type of `{var.name}` are not known",
            "make it with `block.create_var(name=…, shape=…, dtype=…)`",
        )  # fmt: skip
    like = next((x for x in inputs if x.ndim == len(var._shape)), inputs[0] if inputs else None)
    sizes = []
    for axis, size in enumerate(var._shape):
        if size == -1:
            if like is None or axis >= like.ndim:
                raise fault(ValueError, f"axis {axis} of `{var.name}` is open", "give it a size")
            size = like.shape[axis]
        sizes.append(size if isinstance(size, int) else repr(size))
    return str.__str__(var._dtype.value), sizes


