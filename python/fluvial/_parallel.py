"""`fl.parallel_for`: a loop whose trips do not depend on one another, and run at the same time."""

from __future__ import annotations

import functools

from . import _core
from ._fault import fault
from ._tree import flatten, is_array, is_tensor, rebuild, same_sizes
from ._vmap import as_program, called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

REDUCES = (None, "sum", "mean")


def parallel_for(over: Any, body: Callable[..., Any], reduce: str | None = None) -> Any:
    """Runs a function for each number below `n`, for each slice of tensors, or for each object of a list, on all threads.

    What comes out does not depend on the number of threads: random numbers follow from the number of the trip, and sums are
    added up in an order that follows from their count. Kernels inside of a trip run on one thread.

    With a number or with tensors, the function is built as a program for one trip, in both modes, as that of `fl.vmap` is.
    It may read states and parameters, but assign none, and have no other effects: the trips have no order. Gradients
    pass; they run the trips once more, at the same time, too.

    With a list of other objects, such as models, the function is called line by line, in a thread for each core. It may then
    change its own object: eight models are trained at once by `fl.parallel_for(models, train)`, where `train` is an
    `fl.function`, or calls one, so that most of the work is done without the interpreter. In a program such a list is gone
    through one by one.

    Args:
        over: A number of trips, or what is gone through: a tensor, or nested lists, tuples and dicts of tensors, by their
            first axis; else a list of objects.
        body: A function of the number, the slice, or the object. What it returns is nested tensors.
        reduce: What becomes of the results: None stacks them along a new first axis, "sum" adds them up, "mean" averages
            them. Of objects, None gives the list of what the function returned.

    Example:
        >>> fl.parallel_for(4, lambda i: i * i).tolist()
        [0, 1, 4, 9]
        >>> xs = fl.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> fl.parallel_for(xs, lambda x: fl.sum(x * x), reduce="mean").item()
        30.33333396911621
    """
    if not callable(body):
        raise fault(TypeError, f"`parallel_for` takes a function, not {type(body).__name__}")
    if reduce not in REDUCES:
        raise fault(ValueError, f"reduce is {reduce!r}", 'choose None, "sum" or "mean"')
    if is_array(over):
        over = _core.tensor(over)
    if isinstance(over, int) and not isinstance(over, bool):
        if over < 0:
            raise fault(ValueError, f"there cannot be {over} trips")
    elif not _slices(over):
        return _objects(over, body, reduce)
    trips = _Trips(body, reduce)
    if _core.is_building():
        return trips.lines(over)
    program, _ = as_program(trips.lines, trips, [])
    return program(over)


def _slices(over: Any) -> bool:
    """Whether tensors are gone through; refuses what is neither these nor a list of objects."""
    if is_tensor(over):
        return True
    found: list[Any] = []
    flatten(over, found, is_tensor)
    if found and not isinstance(over, (list, tuple)):
        return True
    if isinstance(over, (list, tuple)):
        return bool(over) and isinstance(over, tuple) and all(is_tensor(part) for part in over)
    raise fault(
        TypeError,
        f"`parallel_for` cannot go through {type(over).__name__}",
        "give a number, tensors with an axis for the trips, or a list of objects",
    )


class _Trips:
    """A body, as a function of what is gone through."""

    def __init__(self, body: Callable[..., Any], reduce: str | None) -> None:
        self.body, self.reduce = body, reduce
        self._fl_transform = ("parallel_for", body, repr(reduce))

    def lines(self, over: Any) -> Any:
        found: list[Any] = []
        count = over if isinstance(over, int) else None
        form = flatten(over, found, is_tensor)
        if count is None:
            sizes = [tensor.shape[0] if tensor.ndim else None for tensor in found]
            if None in sizes:
                raise fault(ValueError, "a number has no slices", "give tensors with an axis for the trips in front")
            if not all(same_sizes(size, sizes[0]) for size in sizes):
                shown = ", ".join(map(str, sizes))
                raise fault(ValueError, f"the tensors have different numbers of slices: {shown}")
        index, *slices = _core.begin_trips(found)
        try:
            given = index if count is not None else rebuild(form, slices)
            result = called(self.body, (given,), {})
            results: list[Any] = []
            result_form = flatten(result, results, is_tensor)
            if not results:
                raise fault(
                    TypeError,
                    "the body of a parallel loop returns no tensor",
                    "return what each trip computes; trips can assign nothing",
                )
        except BaseException:
            _core.abort_block()
            raise
        block = _core.end_block(results)
        outputs = _core.parallel_for_of(block, found, count, self.reduce or "stack")
        return rebuild(result_form, outputs)


def _objects(over: Any, body: Callable[..., Any], reduce: str | None) -> Any:
    """Calls a function on each object: at the same time, or one by one in a program."""
    objects = list(over)
    if _core.is_building():
        results = [called(body, (each,), {}) for each in objects]
    else:
        results = _in_threads(objects, body)
    if reduce is None:
        return results
    return _reduced(results, reduce)


def _reduced(results: list[Any], reduce: str) -> Any:
    if not results:
        raise fault(ValueError, f'there is nothing to take the "{reduce}" of')
    parts: list[list[Any]] = []
    for result in results:
        found: list[Any] = []
        form = flatten(result, found, is_tensor)
        parts.append(found)
    sums = []
    for column in zip(*parts):
        total = column[0]
        for part in column[1:]:
            total = total + part
        sums.append(total / len(results) if reduce == "mean" else total)
    return rebuild(form, sums)


def _in_threads(objects: list[Any], body: Callable[..., Any]) -> list[Any]:
    """What a function gives for each object. Of errors, the one of the first object counts."""
    import threading

    results: list[Any] = [None] * len(objects)
    errors: list[BaseException | None] = [None] * len(objects)
    numbers = iter(range(len(objects)))
    lock = threading.Lock()
    first = len(objects)
    streams = [_core.next_stream() for _ in objects]

    def work() -> None:
        nonlocal first
        while True:
            with lock:
                number = next(numbers, None)
            if number is None or number > first:
                return
            try:
                results[number] = _core.run_trip(streams[number], functools.partial(body, objects[number]))
            except BaseException as error:
                errors[number] = error
                first = min(first, number)

    n_threads = min(len(objects), _core.get_num_threads())
    threads = [threading.Thread(target=work, name=f"parallel_for-{i}") for i in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        if error is not None:
            raise error
    return results
