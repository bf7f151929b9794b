"""Variables that are made to be written, and arrays of variables."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any

from ... import _core
from ..._convert.parts import fresh
from ..._fault import fault
from .._lists import listed
from ..._ragged import Ragged
from .. import unique_name
from ..core import VarType, dtype_of
from ..framework import (
    Block,
    Variable,
    applied,
    default_main_program,
    dygraph_variable,
    in_dygraph_mode,
    inner_input,
    store,
)
from ..layer_helper import LayerHelper
from ..param_attr import ParamAttr
from ._blocks import element_of, has_value
from ._sequence_models import beam_search_decode as of_steps

__all__ = [
    "increment", "create_parameter", "create_global_var", "create_tensor", "create_array", "array_write", "array_read",
    "array_length", "beam_search_decode", "tensor_array_to_tensor",
]  # fmt: skip


def increment(x: Variable, value: float = 1.0, in_place: bool = True) -> Variable:
    """A number and `value`.

    Args:
        x: A variable of one element.
        value: What is added.
        in_place: Whether `x` itself gets the sum.
    """
    def sum_of(number: Any) -> Any:
        step = int(value) if "int" in number.dtype.name else float(value)
        return number + step

    if not isinstance(x, Variable):
        raise fault(TypeError, f"{type(x).__name__} is not a variable", "give a variable of one element")
    found = applied(sum_of, "increment", x)
    if not in_place:
        return found
    store(found, x)
    return x


def create_parameter(
    shape: Sequence[int],
    dtype: Any,
    name: str | None = None,
    attr: Any = None,
    is_bias: bool = False,
    default_initializer: Any = None,
) -> Any:
    """A trained parameter.

    Args:
        shape: Its sizes.
        dtype: Its element type.
        name: Its name.
        attr: What is said of it.
        is_bias: Whether it begins as zeros.
        default_initializer: How its initial value is made, unless `attr` says it.
    """
    said = ParamAttr._to_attr(attr)
    if said.name is None and name is not None:
        said = copy.copy(said)
        said.name = name
    return LayerHelper("create_parameter", name).new_parameter(said, listed(shape, "sizes"), dtype, is_bias, default_initializer)


def create_global_var(
    shape: Sequence[int],
    value: float,
    dtype: Any,
    persistable: bool = False,
    force_cpu: bool = False,
    name: str | None = None,
) -> Any:
    """A variable that is not trained, with one number everywhere to begin with.

    Args:
        shape: Its sizes.
        value: The number.
        dtype: Its element type.
        persistable: For Fluid's programs: it keeps its value between runs.
        force_cpu: For Fluid's programs.
        name: Its name.
    """
    helper = LayerHelper("global_var", name)
    number = int(value) if "int" in str.__str__(dtype_of(dtype).value) else float(value)
    return helper.new_state(listed(shape, "sizes"), number, dtype, name or unique_name.generate(helper.name))


def create_tensor(dtype: Any, name: str | None = None, persistable: bool = False) -> Variable:
    """A variable without a value, which `assign` and others give one.

    Args:
        dtype: Its element type.
        name: Its name.
        persistable: Whether it keeps its value between runs.
    """
    if in_dygraph_mode():
        var = Variable(None, name or unique_name.generate("create_tensor"), dtype=dtype)
        return var
    return default_main_program().current_block().create_var(
        name or unique_name.generate("create_tensor"), None, dtype, persistable=persistable
    )


def new_array(block: Block, dtype: Any) -> Variable:
    """An array without elements."""
    return block.create_var(unique_name.generate("array"), None, dtype, VarType.LOD_TENSOR_ARRAY)


def create_array(dtype: Any, initialized_list: Sequence[Variable] | None = None) -> Any:
    """An array of variables, which `array_write` makes longer.

    Args:
        dtype: The element type of its variables.
        initialized_list: Its first elements.
    """
    if in_dygraph_mode():
        return [] if initialized_list is None else listed(initialized_list, "variables")
    array = new_array(default_main_program().current_block(), dtype)
    for i, item in enumerate([] if initialized_list is None else listed(initialized_list, "variables")):
        array_write(item, i, array)
    return array


def _is_array(array: Any) -> None:
    """Refuses what is not an array of a program."""
    if not isinstance(array, Variable) or array.type is not VarType.LOD_TENSOR_ARRAY:
        what = f"`{array.name}`" if isinstance(array, Variable) else type(array).__name__
        raise fault(TypeError, f"{what} is not an array", "make one with `layers.create_array` or `layers.array_write`")


def parts_of(array: Variable) -> list[Variable]:
    """An array, and those with the lengths of its elements, level by level, if these are sequences."""
    return [array, *(array._lengths or ())]


def _list_in(block: Block, array: Variable, element: str | None) -> Any:
    """The list of an array, while a block is built; in an inner block one that is yet without a type gets that of its
    first element."""
    if has_value(block, array):
        return block.raw(array)
    if element is None:
        return None
    if array.block is block:
        return _core.list_new(element)
    label = f"v{len(block._inputs)}"
    made = block._values[array.name] = inner_input(label, f"list {element}")
    block._inputs[label] = array
    return made


def _index(i: Any, block: Block) -> Any:
    if isinstance(i, Variable):
        tensor = block.raw(i)
        return _core.cast(tensor if tensor.ndim == 0 else _core.reshape(tensor, ()), "int64")
    return _core.full((), int(i), "int64")


def stacked(values: Any, sizes: Sequence[Any] | None = None) -> Any:
    """The elements of a list along a new first axis.

    Args:
        values: The list.
        sizes: The sizes of each element, if they are known.
    """
    found = _core.list_stack(values, fresh(_core.list_len(values)), True)
    return found if sizes is None else _core.assume_dims(found, (found.shape[0], *sizes))


def _opened(value: Any, array: Variable) -> str:
    """The type of the elements of an array whose first one is this: open sizes may differ from element to element."""
    name = re.sub(r"\W", "_", array.name)
    sizes = [str(size) if isinstance(size, int) else f"{name}_{axis}" for axis, size in enumerate(value.shape)]
    return f"{value.type_text.partition('[')[0]}[{', '.join(sizes)}]"


def _known_sizes(block: Block, array: Variable) -> Any:
    """The sizes that all elements have, if that is known: a loop may yet write others."""
    return array._sizes if array.block is block and array._sizes else None


def _fitted(value: Any, values: Any, array: Variable) -> Any:
    """A value as an element of a list."""
    kind, _, text = element_of(values).rstrip("]").partition("[")
    sizes = [size.strip() for size in text.split(",") if size.strip()]
    fits = value.type_text.partition("[")[0] == kind and len(sizes) == value.ndim
    wanted: list[Any] = []
    for size, found in zip(sizes, value.shape):
        is_fixed = size.isdigit()
        fits = fits and not (is_fixed and isinstance(found, int) and int(size) != found)
        wanted.append(int(size) if is_fixed else found)
    if not fits:
        raise fault(
            ValueError,
            f"the array `{array.name}` has elements {element_of(values)}, not {value.type_text}",
            "elements of an array have one element type, and the same sizes where these are not open (-1)",
        )
    return value if list(map(repr, wanted)) == list(map(repr, value.shape)) else _core.assume_dims(value, tuple(wanted))


def _put(block: Block, array: Variable, value: Any, i: Any) -> None:
    """Writes a tensor to a place of an array, while a block is built."""
    is_new = array.name not in block._values and not has_value(block, array)
    values = _list_in(block, array, _opened(value, array))
    value = _fitted(value, values, array)
    sizes = list(map(repr, value.shape))
    if array.block is not block or (not is_new and (not array._sizes or list(map(repr, array._sizes)) != sizes)):
        array._sizes = ()
    elif is_new:
        array._sizes = tuple(value.shape)
    place = _index(i, block)
    if is_new and not isinstance(i, Variable) and int(i) == 0:
        found = _core.list_push(values, value)
    else:
        found = _core.cond(
            _core.eq(place, _core.list_len(values)),
            lambda: _core.list_push(values, value),
            lambda: _core.list_set(values, place, value),
        )
    block.write(array, found)


def array_write(x: Variable, i: Any, array: Any = None) -> Any:
    """Writes a variable to a place of an array: behind the last element, or over one. Elements may have different numbers
    of rows; they are sequences if the first one is, and plain rows if the first one is that.

    Args:
        x: The variable.
        i: The place, an integer variable of one element.
        array: The array; a new one if none is given.
    """
    if in_dygraph_mode():
        place = int(i)
        array = [] if array is None else array
        if place > len(array):
            raise fault(IndexError, f"place {place} of an array of {len(array)} elements", "write them in order")
        array[place : place + 1] = [x]
        return array
    if not isinstance(x, Variable):
        raise fault(TypeError, f"{type(x).__name__} is not a variable", "write variables to an array")
    if array is not None:
        _is_array(array)
    block = default_main_program().current_block()
    with block.building():
        value = block.value(x)
        if array is None:
            array = new_array(block, x.dtype)
        levels = value.row_lengths if isinstance(value, Ragged) else ()
        if array._lengths is None:
            array._lengths = tuple(
                array.block.create_var(f"{array.name}.lengths{level}", None, "int64", VarType.LOD_TENSOR_ARRAY)
                for level in range(len(levels))
            )
        if array._lengths and len(array._lengths) != len(levels):
            raise fault(
                ValueError,
                f"the array `{array.name}` holds sequences with {len(array._lengths)} levels of lengths, and `{x.name}` "
                f"has {len(levels)}",
                "give it the lengths of another variable with `layers.lod_reset(x, y)`",
            )
        rows = value.data if isinstance(value, Ragged) else value
        for part, tensor in zip(parts_of(array), (rows, *levels)):
            _put(block, part, tensor, i)
    return array


def array_read(array: Any, i: Any) -> Variable:
    """The element at a place of an array.

    Args:
        array: The array.
        i: The place, an integer variable of one element.
    """
    if in_dygraph_mode():
        return array[int(i)]
    _is_array(array)
    block = default_main_program().current_block()
    with block.building():
        parts = [_list_in(block, part, None) for part in parts_of(array)]
        if parts[0] is None:
            raise fault(RuntimeError, f"the array `{array.name}` has no elements yet", "write to it first")
        place = _index(i, block)
        found = [_core.list_get(part, place, False) for part in parts]
        sizes = _known_sizes(block, array)
        if sizes is not None:
            found[0] = _core.assume_dims(found[0], sizes)
        value = Ragged.from_lengths(*found) if len(found) > 1 else found[0]
        return block.made(value, label="array_read.tmp")


def array_length(array: Any) -> Variable:
    """The number of elements of an array, as a variable of one element.

    Args:
        array: The array.
    """
    if in_dygraph_mode():
        return dygraph_variable(_core.full((1,), len(array), "int64"))
    _is_array(array)
    block = default_main_program().current_block()
    with block.building():
        values = _list_in(block, array, None)
        count = _core.full((1,), 0, "int64") if values is None else _core.reshape(_core.list_len(values), (1,))
        return block.made(count, label="array_length.tmp")


def beam_search_decode(
    ids: Any, scores: Any, beam_size: int, end_id: int, name: str | None = None
) -> tuple[Variable, Variable]:
    """The sentences of a beam search, best first for each source, and the scores of their numbers.

    Args:
        ids: An array of what `beam_search` gave at each step: numbers.
        scores: And scores.
        beam_size: How many candidates each source kept.
        end_id: The number that ends a sentence.
        name: For Fluid's programs.
    """
    if not isinstance(ids, Variable):
        return applied(of_steps, "beam_search_decode", listed(ids, "variables"), listed(scores, "variables"), beam_size, end_id)
    if len(ids._lengths or ()) != 2:
        raise fault(
            ValueError,
            f"the array `{ids.name}` does not hold sequences of two levels, as `beam_search` gives them",
            "write what `layers.beam_search` gives, and first ids with lod_level=2, to the array",
        )
    def of_lists(*lists: Any) -> tuple[Ragged, Ragged]:
        words, found, *lengths = _core.beam_search_decode_lists(*lists, beam_size=beam_size, end_id=end_id)
        return Ragged.from_lengths(words, *lengths), Ragged.from_lengths(found, *lengths)

    numbers, *lengths = parts_of(ids)
    return applied(of_lists, "beam_search_decode", numbers, scores, *lengths)


def tensor_array_to_tensor(
    input: Any, axis: int = 1, name: str | None = None, use_stack: bool = False
) -> tuple[Variable, Variable]:
    """The elements of an array in one variable, and how large each is along the axis.

    Args:
        input: An array, or a list of variables.
        axis: The axis along which they stand, new if `use_stack`.
        name: For Fluid's programs.
        use_stack: Whether they are stacked, not put one after the other.
    """
    if not isinstance(input, Variable):
        return applied(_joined, "tensor_array_to_tensor", listed(input, "variables"), axis, use_stack)
    sizes = _known_sizes(default_main_program().current_block(), input)
    return applied(lambda array: _of_program(stacked(array, sizes), axis, use_stack), "tensor_array_to_tensor", input)


def _joined(parts: list[Any], axis: int, use_stack: bool) -> tuple[Any, Any]:
    if use_stack:
        return _core.stack(parts, axis), _core.full((len(parts),), 1, "int32")
    sizes = [_core.dim_size(part.shape[axis], "int32") for part in parts]
    return _core.concat(parts, axis), _core.stack(sizes, 0)


def _of_program(every: Any, axis: int, use_stack: bool) -> tuple[Any, Any]:
    """The elements of an array whose length only the run knows, and how large each is along the axis."""
    count: Any = every.shape[0]
    if use_stack:
        return _core.movedim(every, [0], [axis]), _core.full((count,), 1, "int32")
    size: Any = every.shape[1:][axis]
    moved = _core.movedim(every, [0], [axis if axis >= 0 else axis + every.ndim - 1])
    shape: Any = list(every.shape[1:])
    shape[axis] = count * size
    return _core.reshape(moved, shape), _core.broadcast_to(_core.dim_size(size, "int32"), (count,))
