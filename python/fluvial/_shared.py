"""States that several tasks change: each change is made of the value of that moment, and no other comes between.

What is shared lies in channels that hold one value each. To look at it leaves it there; who changes it takes it out and puts
the new one in, so others wait meanwhile. It is one implementation for lines and programs.
"""

from __future__ import annotations

from . import _core
from ._fault import fault
from ._tasks import listen
from ._tree import flatten, is_parameter, is_tensor, rebuild
from ._vmap import called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._core import Tensor


class Shared:
    """States that tasks change together, as long as its `with` block lasts; `fl.shared` makes one.

    Example:
        >>> w = fl.nn.Parameter(fl.tensor([1.0, 2.0]))
        >>> with fl.shared(w) as weights:
        ...     weights.update(lambda now: now * 2.0)
        ...     weights.get().tolist()
        [2.0, 4.0]
    """

    def __init__(self, states: Any) -> None:
        from .nn import Layer

        given = dict(states.named_parameters()) if isinstance(states, Layer) else states
        self._states: list[Any] = []
        self._form = flatten(given, self._states, is_tensor)
        wrong = next((state for state in self._states if not is_parameter(state)), None)
        if wrong is not None or not self._states:
            raise fault(
                TypeError,
                "`shared` takes parameters" + ("" if wrong is None else f", not a {type(wrong).__name__}"),
                "give a layer, a parameter, or a list or dict of them; other values are sent on channels",
            )
        self._boxes: list[Tensor] | None = None

    def __enter__(self) -> Shared:
        if self._boxes is not None:
            raise fault(RuntimeError, "the states are shared already", "make another `fl.shared` for another block")
        listen()
        with _core.no_grad():
            values = [state.detach() for state in self._states]
        _core.begin_sharing(self._states)
        self._boxes = [_core.make_channel(value.type_text, 1) for value in values]
        for box, value in zip(self._boxes, values):
            _core.channel_send(box, value)
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        boxes, self._boxes = self._open(), None
        _core.end_sharing(self._states)
        if kind is not None and _core.is_building():
            return
        values = [_core.channel_recv(box)[0] for box in boxes]
        for box in boxes:
            _core.channel_close(box)
        with _core.no_grad():
            for state, value in zip(self._states, values):
                state.set(value)

    def _open(self) -> list[Tensor]:
        if self._boxes is None:
            raise fault(RuntimeError, "the states are not shared here", "write `with fl.shared(...) as s:` around it")
        return self._boxes

    def get(self) -> Any:
        """What the states are at this moment: tensors, in the form of what was shared; those of a layer in a dict by name.

        Others may change the states afterwards; the tensors stay what they are.
        """
        return rebuild(self._form, [_core.wait_task(box) for box in self._open()])

    def update(self, function: Callable[[Any], Any]) -> None:
        """Changes the states. Others wait meanwhile, so no change is lost.

        Args:
            function: Takes what the states are at this moment, and gives what they are from then on, in the same form. It
                must not wait for other tasks.
        """
        boxes = self._open()
        taken = [_core.channel_recv(box)[0] for box in boxes]
        try:
            with _core.no_grad():
                made = self._made(called(function, (rebuild(self._form, list(taken)),), {}))
                made = [_core.tensor(value, old.dtype) for value, old in zip(made, taken)]
                self._check(made, taken)
        except BaseException:
            if not _core.is_building():
                self._put(taken)
            raise
        self._put(made)

    def _put(self, values: list[Tensor]) -> None:
        for box, value in zip(self._open(), values):
            _core.channel_send(box, value)

    def _made(self, result: Any) -> list[Any]:
        found: list[Any] = []
        form = flatten(result, found, lambda value: is_tensor(value) or isinstance(value, (int, float)))
        if form != self._form or len(found) != len(self._states):
            raise fault(
                TypeError,
                "the function of `update` gives something else than the states that it takes",
                "return new tensors in the form of its argument",
            )
        return found

    def _check(self, made: list[Tensor], taken: list[Tensor]) -> None:
        for new, old in zip(made, taken):
            if new.type_text != old.type_text:
                raise fault(
                    TypeError,
                    f"a shared state is {old.type_text}, and the function of `update` gives {new.type_text}",
                    "return a tensor of the type that it has",
                )


def shared(states: Any) -> Shared:
    """Lets several tasks change the same states: `with fl.shared(layer) as weights:`.

    Two tasks that assign a state are refused, since what the one assigns would be lost. In the block the states are read by
    `weights.get()` and changed by `weights.update(function)` only. Each update begins with the value of its moment, which may
    be newer than the one that a gradient was computed from ("Hogwild"). When the block ends, the states have the last values;
    the tasks should have been waited for by then.

    Args:
        states: A layer, whose parameters are meant; a parameter; or a list or dict of parameters.

    Example:
        >>> total = fl.nn.Parameter(fl.tensor([0.0]))
        >>> def add(weights, n):
        ...     for _ in range(n):
        ...         weights.update(lambda now: now + 1.0)
        >>> with fl.shared(total) as weights:
        ...     for task in [fl.go(add, weights, 10) for _ in range(3)]:
        ...         task.wait()
        >>> total.tolist()
        [30.0]
    """
    return Shared(states)
