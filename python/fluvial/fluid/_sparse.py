"""Tables whose rows are looked up: gradients and updates of the rows that a batch has used.

`layers.embedding(..., is_sparse=True)` notes what was looked up. Gradients of such a table are there as those of all rows
for whoever reads them, and as those of the rows that were used, which is what optimizers take whose updates leave other
rows alone: SGD, Adagrad, and Adam with `lazy_mode`. What nobody reads is not computed.
"""

from __future__ import annotations

from typing import Any

from .. import _core
from .._fault import fault
from .blocks import CALLS, Block
from .framework import default_main_program
from .variable import Variable

__all__ = ["Rows", "check_lazy", "differentiated", "looked_up", "rows_of", "updates"]


class Rows:
    """Gradients of rows of a table.

    Args:
        whole: The gradient of the whole table.
        ids: Numbers of rows, which may occur several times.
        values: One gradient for each of them.
    """

    def __init__(self, whole: Any, ids: Any, values: Any) -> None:
        self.whole, self.ids, self.values = whole, ids, values


def looked_up(table: Any, ids: Any, found: Any) -> None:
    """Notes rows of a table that were looked up, in the call under way.

    Args:
        table: The tensor of the table.
        ids: The numbers of rows.
        found: The rows.
    """
    if CALLS.dygraph:
        if CALLS.touched is not None and isinstance(table, _core.Parameter):
            _touch(CALLS.touched, table.key, _from_front(_core.reshape(ids, (-1,)), table.shape[0]))
        return
    block = CALLS.block or default_main_program().current_block()
    name = next((name for name, value in block._values.items() if value is table), None)
    if name is None:
        return
    block.program._sparse.add(name)
    if block.parent is None:
        block._looked_up.setdefault(name, []).append((ids, found))


def used_whole(table: Any) -> None:
    """Notes a table whose gradient is that of all rows though its rows alone were to be updated.

    Args:
        table: The tensor of the table.
    """
    if CALLS.dygraph:
        return
    block = CALLS.block or default_main_program().current_block()
    block.program._sparse.update(name for name, value in block._values.items() if value is table)


def _touch(touched: dict[str, Any], name: str, ids: Any) -> None:
    with _core.no_grad():
        before = touched.get(name)
        touched[name] = _core.unique(ids if before is None else _core.concat([before, ids], 0))[0]


def _from_front(ids: Any, size: Any) -> Any:
    return _core.where(ids < 0, ids + size, ids)


def differentiated(
    block: Block, number: Any, chosen: list[Any], constants: list[Any]
) -> list[tuple[Any, Rows | None]]:
    """Gradients of a number for parameters, and, for tables that are read by rows alone, those of the rows.

    Args:
        block: The block that is being built.
        number: What is differentiated.
        chosen: The parameters.
        constants: Tensors that no gradient passes.
    """
    given = [block.raw(var) for var in chosen]
    tables = {
        i: block._looked_up[var.name]
        for i, var in enumerate(chosen)
        if var.name in block._looked_up and _is_read_by_rows(block, number, var, constants)
    }
    places = [(i, ids) for i, uses in tables.items() for ids, _ in uses]
    rows = [out for uses in tables.values() for _, out in uses]
    found = _core.grad(number, [*given, *rows], create_graph=True, allow_unused=True, constants=constants)
    parts: dict[int, list[tuple[Any, Any]]] = {}
    for (i, ids), gradient in zip(places, found[len(given) :]):
        if gradient is not None:
            parts.setdefault(i, []).append(_flat(ids, gradient))
    return [
        (whole, None if whole is None or i not in parts else Rows(whole, *map(_joined, zip(*parts[i]))))
        for i, whole in enumerate(found[: len(given)])
    ]


def _is_read_by_rows(block: Block, number: Any, var: Any, constants: list[Any]) -> bool:
    """Whether a table has no other way to the loss than by rows that were looked up."""
    rows = [out for _, out in block._looked_up[var.name]]
    (rest,) = _core.grad(
        number, [block.raw(var)], create_graph=True, allow_unused=True, constants=[*constants, *rows]
    )
    return rest is None


def _flat(ids: Any, gradient: Any) -> tuple[Any, Any]:
    return _core.reshape(ids, (-1,)), _core.reshape(gradient, (-1, *gradient.shape[ids.ndim :]))


def _joined(parts: Any) -> Any:
    return parts[0] if len(parts) == 1 else _core.concat(list(parts), 0)


def rows_of(grad: Variable, tensor: Any) -> Rows | None:
    """The gradients of rows that belong to a gradient, unless it was given another value.

    Args:
        grad: The variable of the gradient.
        tensor: Its value now.
    """
    rows = grad._rows
    return rows if rows is not None and rows.whole is tensor else None


def updates(rows: Rows, prepared: Any, table: Any) -> tuple[Any, Any]:
    """Numbers of rows and their gradients, as an update takes them.

    Args:
        rows: The gradients.
        prepared: The gradient of the whole table, cut down or not.
        table: The table.
    """
    if prepared is rows.whole:
        return rows.ids, rows.values
    ids, _, _ = _core.unique(_from_front(rows.ids, table.shape[0]))
    return ids, _core.gather(prepared, ids, 0)


def check_lazy(var: Any) -> None:
    """Refuses `lazy_mode` for a table of rows whose gradient is that of the whole table.

    Args:
        var: The table.
    """
    if var.block is not None and var.name in var.block.program._sparse:
        raise fault(
            NotImplementedError,
            f"`lazy_mode` needs gradients of rows, and `{var.name}` is looked up inside of a block, is used as a whole, too, "
            "or its program is a copy",
            "look rows up outside of blocks, call `minimize` before `clone`, or leave `lazy_mode` out",
        )
