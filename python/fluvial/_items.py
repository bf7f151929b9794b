"""Samples of Python as readers have them: fields of known types, by number or one after another."""

from __future__ import annotations

from . import _core
from ._core import Tensor
from ._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from ._core import TypeLike


def is_dataset(source: object) -> bool:
    """Whether something gives samples by number: it has a length and items, and is not an array or collection of arrays."""
    kind = type(source)
    if isinstance(source, (list, tuple, str, bytes, Tensor)) or hasattr(kind, "__array__"):
        return False
    return hasattr(kind, "__getitem__") and hasattr(kind, "__len__") and not hasattr(kind, "items")


def columns_of(source: Any) -> dict[str, Any] | None:
    """The columns of a table of Arrow as arrays, by name; None for what is not such a table."""
    if not (hasattr(source, "column_names") and hasattr(source, "to_pydict") and hasattr(source, "num_rows")):
        return None
    return {name: _column(name, source[name]) for name in source.column_names}


def _column(name: str, column: Any) -> Any:
    import numpy as np

    if column.null_count:
        raise fault(
            ValueError,
            f"the column `{name}` has {column.null_count} missing values",
            "fill them: `column.fill_null(0)`, or drop the rows",
        )
    array = np.asarray(column)
    if array.dtype != object:
        return array
    try:
        stacked = np.stack([np.asarray(value) for value in array])
    except ValueError:
        stacked = array
    if stacked.dtype == object or stacked.dtype.kind in "US":
        raise fault(
            TypeError,
            f"the column `{name}` is neither of numbers nor of lists of one length",
            "leave it out: `table.select([...])`, or give the rows: `fl.reader(table.to_pylist, fields)`",
        )
    return stacked


def typed(sample: Any, fields: Mapping[str, TypeLike]) -> tuple[Tensor, ...]:
    """A sample as tensors of the fields' types, in their order: of a dict by name, of a tuple in order."""
    if isinstance(sample, dict):
        missing = [name for name in fields if name not in sample]
        if missing:
            raise fault(KeyError, f"a sample has no `{missing[0]}`", f"it has {', '.join(map(str, sample))}")
        values = [sample[name] for name in fields]
    else:
        values = list(sample) if isinstance(sample, (tuple, list)) else [sample]
        if len(values) != len(fields):
            raise fault(
                ValueError,
                f"a sample has {len(values)} parts, but there are {len(fields)} fields",
                f"give one for each of {', '.join(fields)}",
            )
    return tuple(_tensor(value, type, name) for value, (name, type) in zip(values, fields.items()))


def _tensor(value: Any, type: TypeLike, name: str) -> Tensor:
    dtype = type.partition("[")[0] if isinstance(type, str) else None
    if isinstance(value, Tensor) or dtype is None:
        return value
    tensor = _core.tensor(value)
    if tensor.type_text.partition("[")[0] == dtype:
        return tensor
    # A list that is empty, and numbers that fit, become what is declared; fractions do not become integers.
    cast = tensor.astype(dtype)
    if "f" in tensor.type_text.partition("[")[0] and "f" not in dtype and dtype != "bool":
        if cast.tolist() != tensor.tolist():
            raise fault(
                TypeError,
                f"field `{name}` is {type}, but a sample has numbers that are not whole",
                "round them, or declare the field as floats",
            )
    return cast


def fields_of(sample: Any) -> dict[str, str]:
    """Names and types of the parts of a sample."""
    if isinstance(sample, dict):
        parts = {str(name): value for name, value in sample.items()}
    else:
        values = sample if isinstance(sample, (tuple, list)) else (sample,)
        parts = {str(i): value for i, value in enumerate(values)}
    found = {}
    for name, value in parts.items():
        if isinstance(value, (str, bytes, dict)) or value is None:
            raise fault(
                TypeError,
                f"the part `{name}` of a sample is a {type(value).__name__}, which is not a tensor",
                'name the parts to read: fields={"x": "f32[784]", "y": "i64[]"}',
            )
        found[name] = (value if isinstance(value, Tensor) else _core.tensor(value)).type_text
    return found


def items(dataset: Any, fields: Mapping[str, TypeLike] | None, name: str, workers: int, seed: int) -> _core.Reader:
    """A reader of a dataset of Python.

    Args:
        dataset: Gives samples by number.
        fields: Names and types of what is read of a sample; by default those of the first one.
        name: The name of the dataset in programs.
        workers: How many processes make samples; 0 makes them in this one.
        seed: The seed of what samples draw at random.
    """
    from .utils.data._fetch import Fetch

    n = len(dataset)
    if fields is None:
        if n == 0:
            raise fault(
                ValueError,
                "a dataset without samples tells no types",
                'give `fields`, names and types of a sample: {"x": "f32[784]", "y": "i64[]"}',
            )
        fields = fields_of(Fetch(dataset, seed).here(0, [0])[0])
    fetch = Fetch(dataset, seed, workers, Typed(fields))
    return _core.Reader.items(name, list(fields.items()), n, fetch.together)


class Typed:
    """Makes samples what the fields say: an object, so that it can be sent to a worker."""

    def __init__(self, fields: Mapping[str, TypeLike]) -> None:
        self.fields = fields

    def __call__(self, samples: list[Any]) -> list[tuple[Tensor, ...]]:
        return [typed(sample, self.fields) for sample in samples]


def stream(start: Callable[[], Any], fields: Mapping[str, TypeLike], name: str) -> _core.Reader:
    """A reader of what an iterable gives, gone through from its start in each pass.

    Args:
        start: Gives the iterable.
        fields: Names and types of what a sample consists of.
        name: The name of the stream in programs.
    """

    def samples(epoch: int) -> Iterator[tuple[Tensor, ...]]:
        for sample in start():
            yield typed(sample, fields)

    return _core.Reader.stream(name, list(fields.items()), samples)
