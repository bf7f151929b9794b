"""A program of a function, with what is needed to call it: guards, inputs from outside, results and changes."""

from __future__ import annotations

import threading

from . import _core
from ._fault import fault
from ._left import change_after_failure
from ._results import Call, Output, value_of
from ._signature import size_places
from ._tree import is_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._core import Tensor
    from ._guards import Guard, guarding
    from ._paths import Decided
    from ._phase import Phases

#: Why a function that makes layers of its own is built again.
MADE_INSIDE = "it makes a layer, which is another one in each call"


class Entry:
    """A program with what is needed to call it."""

    #: The layers that it was built of, as they were.
    phases: Phases
    #: Whether some of them were made by the function, and are gone with the call.
    makes_layers = False
    #: The hooks of leaves and parameters that are a part of it.
    hooks: _core.LeafHooks | None = None
    #: The outputs behind which it has freed something.
    freed: list[tuple[int, _core.FreedBy]] = []

    def __init__(self, program, run, pattern, outer, form, effects, targets, gradients, goes_back) -> None:
        self.program, self.pattern, self.form, self.effects = program, pattern, form, effects
        #: How to find the user's objects that results and effects speak of.
        self.targets = targets
        #: The gradients of parameters that it found and leaves behind.
        self.gradients = gradients
        #: The program, or a compiled form of it that takes inputs away.
        self.runnable = run
        self.captured = outer.getters()
        self.outer = outer
        self._fast, self._slow = outer.compiled()
        #: What computes the numbers that a call takes and gives, of those among the arguments.
        self._numbers = outer.tape.compiled()
        #: Whether numbers among the arguments are taken.
        self.takes_numbers = self._numbers is not None
        self._changes = -1
        self._changed = outer.changed_inputs()
        #: Which of these are leaves, and which share elements with other inputs.
        self._changed_leaves = [outer.tracked[number][0] for number in self._changed]
        self._steps = any(self._changed_leaves)
        self._shared = outer.shared()
        self._same = outer.same
        #: How many objects the inputs are, where that matters.
        n_numbers = sum(text is None for _, text in self.captured)
        self._n_objects = len(outer.inputs) + n_numbers if self._changed else None
        #: What a run that fails leaves behind.
        self._left = outer.world.left
        #: The inputs that are leaves in which it leaves gradients; and, if it does, which inputs are tracked.
        self._leaves = [pair for pair in outer.leaves if gradients is not None and pair[1].is_among(gradients)]
        self._tracked = outer.tracked if goes_back or outer.asks_tracked else None
        self._lock = threading.RLock()
        outer.forget()
        #: Whether an optimizer remembers something in it for the values of one scope.
        self._of_scope = program._is_of_scope
        looks = (self._fast, self._numbers, gradients, self._n_objects, self._tracked)
        self._plain = not self._of_scope and not self.captured and not self._same and all(look is None for look in looks)
        self._alone = not effects and type(form) is Output and form.number == 0
        #: What the program takes for granted beside its pattern.
        self.guards: list[Guard] = []
        #: The sizes, by input and axis, for each of which it would be another program.
        self.fixed: set[tuple[int, int]] = set()
        #: The tests of its path, if it is for one.
        self.decided: Decided | None = None

    def takes_path(self, decided: Decided | None) -> None:
        """Has it be one for a path, if tests were decided."""
        self.decided = decided
        self._plain = self._plain and decided is None

    def guarded(self, guards: guarding) -> None:
        self.guards = guards.found
        self.fixed = size_places(self.pattern, guards.fixed)

    def fits(self, shapes: tuple) -> bool:
        sizes: dict[str, int] = {}
        for pattern, shape in zip(self.pattern, shapes):
            for wanted, size in zip(pattern, shape):
                if isinstance(wanted, str):
                    if size < 2 or sizes.setdefault(wanted, size) != size:
                        return False
                elif wanted != size:
                    return False
        return not self.guards or all(guard.check(sizes) for guard in self.guards)

    def ready(self, tensors: list[Tensor], numbers: list) -> tuple[list[Tensor], tuple | None] | None:
        """What the program takes for a call with these tensors and numbers: its inputs, and the numbers computed for it. Nothing,
        if layers or values from outside are not as they were, or tensors from outside have other types."""
        changes = _core.changes()
        if self._plain and changes == self._changes:
            return tensors, None
        computed = None
        try:
            if self._of_scope and not self.program._is_here:
                return None
            if self._numbers is not None:
                computed = self._numbers(numbers)
                if computed is None:
                    return None
            if self._fast is not None and not self._fast():
                return None
            if changes != self._changes:
                if not self.phases.hold() or (self._slow is not None and not self._slow()):
                    return None
                if self.hooks is not None and not self.hooks.hold():
                    return None
                self._changes = changes
            found = list(tensors)
            for get, text in self.captured:
                value = get(computed)
                if text is not None and (not is_tensor(value) or value.type_text != text):
                    return None
                found.append(value)
            if self._tracked is not None and [(x.is_leaf, x.is_tracked) for x in found] != self._tracked:
                return None
            for number, leaf in self._leaves:
                leaf.bring(found[number])
            if self.gradients is not None and not self.gradients.hold():
                return None
            if self._same and any(get() is not tensors[number] for get, number in self._same):
                return None
            if self._n_objects is not None and len(set(map(id, found))) != self._n_objects:
                return None
            if self._changed and not self._changes_alike(found):
                return None
            if self.decided is not None and not self.decided.holds(found):
                return None
        except Exception:
            # A path that leads nowhere any more: an attribute, a key or an object is gone.
            return None
        return found, computed

    def taken(self, tensors: list[Tensor], numbers: list) -> tuple[list[Tensor], tuple | None]:
        """What the program takes for the call that it was built for."""
        computed = None if self._numbers is None else self._numbers(numbers)
        return [*tensors, *(get(computed) for get, _ in self.captured)], computed

    def _changes_alike(self, inputs: list[Tensor]) -> bool:
        """Whether the inputs that it changes are leaves where they were, and share elements with the same others."""
        if [inputs[number].is_leaf for number in self._changed] != self._changed_leaves:
            return False
        from ._convert.shares import pairs

        return pairs(dict(enumerate(inputs)), self._changed) == self._shared

    def broken(self, numbers: list) -> str | None:
        """Why it cannot be used now."""
        if self._of_scope and not self.program._is_here:
            return "an optimizer remembers something for the values of another scope"
        if not self.phases.hold():
            return MADE_INSIDE if self.makes_layers else "a layer or an optimizer has changed"
        if self.hooks is not None and not self.hooks.hold():
            return "a hook was put on a leaf or a parameter, or taken away"
        if self.gradients is not None and not self.gradients.hold():
            return "a parameter has a gradient that it had not, or has it no longer"
        shown = self.outer.broken()
        if shown is not None:
            return f"`{shown}` has changed"
        return self.outer.tape.broken(numbers) or (None if self.decided is None else self.decided.why())

    def call(self, inputs: list[Tensor], numbers: tuple | None, arguments: dict[str, Any] | None) -> Any:
        for number in self._changed:
            if _core.is_stale(inputs[number]):
                raise fault(
                    RuntimeError,
                    "a part of a tensor is to be changed in place, and that tensor was changed since the part was taken",
                    "take the part again before the call, such as `x[0]`",
                )
        if self._steps:
            # As after a step of an optimizer, no gradient passes from the results to what was changed.
            with self._lock, _core.no_grad():
                outputs = self._run(inputs, numbers, arguments)
        elif not self._left and self.gradients is None:
            outputs = self.runnable(*inputs)
        elif not self._leaves:
            outputs = self._run(inputs, numbers, arguments)
        else:
            # The gradients of leaves pass through cells of the program.
            with self._lock:
                outputs = self._run(inputs, numbers, arguments)
        if self._alone and not isinstance(outputs, tuple) and not self.freed:
            return outputs
        outputs = list(outputs) if isinstance(outputs, tuple) else [outputs]
        for number, freed in self.freed:
            outputs[number] = freed.mark(outputs[number])
        call = Call(inputs, outputs, arguments, numbers, self.targets)
        result = value_of(self.form, call)
        for effect in self.effects:
            effect(call)
        return result

    def _run(self, inputs: list[Tensor], numbers: tuple | None, arguments: dict[str, Any] | None) -> Any:
        """Runs the program with the gradients of leaves; if it fails, it leaves behind what the lines would."""
        for number, leaf in self._leaves:
            leaf.bring(inputs[number])
        present = [] if self.gradients is None else self.gradients.present()
        try:
            outputs = self.runnable(*inputs)
        except Exception:
            told = _core.left_behind()
            change_after_failure(told, self._left, inputs, arguments, numbers)
            if self.gradients is not None:
                self.gradients.settle_failed(present, told)
            raise
        else:
            if self.gradients is not None:
                self.gradients.settle()
        finally:
            for number, leaf in self._leaves:
                leaf.take(inputs[number])
        return outputs
