"""Gradients of a few rows of a large table."""

from __future__ import annotations

from .. import _core
from .._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core import Tensor
    from ._optimizer import Optimizer


class Rows:
    """Rows of a table that were looked up, with what is needed to update them alone."""

    def __init__(self, table: str, ids: Tensor, values: Tensor) -> None:
        #: The name of the table.
        self.table = table
        #: The rows: one for each id, so the axes of the ids come first.
        self.values = values
        self.ids = ids


def lookup(table: str, ids: Tensor) -> Rows:
    """Looks rows of a table up so that only these are updated, by `minimize_rows`.

    The whole table gets no gradient. Gradients of an id that occurs several times are added up. What
    the optimizer remembers is updated for these rows only, too, and so is weight decay.

    Args:
        table: The name of a parameter.
        ids: The numbers of rows.

    Example:
        >>> _ = fl.parameter("table", (1000, 2), init=1.0)
        >>> rows = fl.optimizer.lookup("table", fl.tensor([7, 3, 7]))
        >>> fl.optimizer.SGD(["table"], 0.25).minimize_rows(fl.sum(rows.values), [rows])
        >>> fl.read_state("table")[[3, 7, 8], 0].tolist()
        [0.75, 0.5, 1.0]
    """
    whole = _core.read_state(table)
    if whole.ndim == 0 or "float" not in whole.dtype.name:
        raise fault(
            ValueError,
            f"`{table}` is {whole.type_text}, which has no rows",
            "a table is a parameter with at least one axis",
        )
    return Rows(table, ids, _core.gather(whole.detach(), ids, 0).track())


def sum_by_table(
    optimizer: Optimizer,
    known: list[str],
    rows: Sequence[Rows],
    gradients: Sequence[Tensor | None],
) -> dict[str, tuple[Tensor, Tensor]]:
    """For each table, the rows that were looked up, each once, and their gradients."""
    tables: dict[str, tuple[list[Tensor], list[Tensor]]] = {}
    for found, gradient in zip(rows, gradients):
        if found.table not in known:
            raise fault(
                ValueError,
                f"the optimizer `{optimizer.name}` does not train the table `{found.table}`",
                "add it to its parameters",
            )
        gradient = _core.zeros_like(found.values) if gradient is None else gradient
        ids, parts = tables.setdefault(found.table, ([], []))
        ids.append(_core.reshape(found.ids, (-1,)))
        parts.append(_core.reshape(gradient, (-1, *gradient.shape[found.ids.ndim :])))
    if tables:
        _refuse(optimizer)
    summed = {}
    for table, (ids, parts) in tables.items():
        numbers = ids[0] if len(ids) == 1 else _core.concat(ids, 0)
        gradient = parts[0] if len(parts) == 1 else _core.concat(parts, 0)
        # Counted from the front, each row has one number.
        size = _core.tensor(_core.read_state(table).shape[0], "int64")
        numbers = _core.where(numbers < _core.tensor(0, "int64"), numbers + size, numbers)
        places, inverse, _ = _core.unique(numbers)
        summed[table] = (places, _core.index_add(gradient, inverse, 0, places.shape[0]))
    return summed


def _refuse(optimizer: Optimizer) -> None:
    if not optimizer._elementwise:
        raise fault(
            ValueError,
            f"the optimizer `{optimizer.name}` needs whole parameters, not rows of them",
            "gather from the whole table, or take another optimizer for it",
        )
    if optimizer.accumulate != 1:
        raise fault(
            ValueError,
            "gradients of rows are not accumulated over several calls",
            "gather from the whole table, or update at each call",
        )
