"""Scopes, which hold what persists, and the executor, which runs programs in them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .. import _core
from .._fault import fault
from .._ragged import Ragged
from .core import CPUPlace
from .framework import Program, State, Variable, default_main_program
from .core import FED_AS
from .lod_tensor import LoDTensor, as_array, fed_value, fetched_value
from .transpiler import PserverProgram, PserverStartup, TrainerProgram

__all__ = ["Executor", "Scope", "global_scope", "scope_guard"]


class _ScopeTensor(LoDTensor):
    """The value of a variable in a scope; `set` changes it there."""

    def __init__(self, state: Any, name: str) -> None:
        super().__init__()
        self._state, self._name = state, name

    def _read(self) -> Any:
        return self._state[self._name]

    def set(self, array: Any, place: Any = None) -> None:
        """Gives the variable other elements.

        Args:
            array: The elements.
            place: For Fluid's programs.
        """
        import numpy as np

        array = np.asarray(array)
        if self._name in self._state:
            old = self._state[self._name]
            if old.ndim == 0 and array.shape == (1,):
                # A number is an array of one element in Fluid.
                array = array.reshape(())
            if tuple(old.shape) != array.shape:
                raise fault(
                    ValueError,
                    f"`{self._name}` has the sizes {list(old.shape)}, and the new value {list(array.shape)}",
                    "give an array of the same sizes",
                )
            self._state[self._name] = _core.tensor(array, old.dtype)
        else:
            self._state.insert(self._name, _core.tensor(array))


class _ScopeVariable:
    def __init__(self, state: Any, name: str) -> None:
        self._state, self.name = state, name

    def get_tensor(self) -> _ScopeTensor:
        """The value, as an object with `set`, that NumPy makes an array of."""
        return _ScopeTensor(self._state, self.name)


class Scope:
    """Variables that persist, by name. Programs that run in one scope share what is called alike."""

    def __init__(self, state: Any = None, parent: Scope | None = None) -> None:
        self._state = _core.State() if state is None else state
        self._parent = parent
        self._kids: list[Scope] = []
        #: Names of variables that were asked for, and may have no value.
        self._named: set[str] = set()

    def find_var(self, name: str) -> _ScopeVariable | None:
        """The variable of this name, here or in the scope that made this one, or None.

        Args:
            name: Its name.
        """
        if name in self._state or name in self._named:
            return _ScopeVariable(self._state, name)
        return None if self._parent is None else self._parent.find_var(name)

    def var(self, name: str) -> _ScopeVariable:
        """The variable of this name, which may have no value yet."""
        self._named.add(name)
        return _ScopeVariable(self._state, name)

    def local_var_names(self) -> list[str]:
        """The names of all variables."""
        return list(self._state.names())

    def new_scope(self) -> Scope:
        """A scope of its own."""
        kid = Scope(parent=self)
        self._kids.append(kid)
        return kid

    def drop_kids(self) -> None:
        """Forgets the scopes that `new_scope` made."""
        self._kids.clear()


_entered: list[Scope] = []


def global_scope() -> Scope:
    """The scope that programs run in if none is given: that of `scope_guard`, or else that of the thread."""
    return _entered[-1] if _entered else Scope(_core.State.current())


@contextlib.contextmanager
def scope_guard(scope: Scope) -> Iterator[None]:
    """Programs run in another scope inside of it.

    Args:
        scope: The scope.
    """
    if not isinstance(scope, Scope):
        raise fault(TypeError, f"{scope!r} is not a scope", "make one with `fluid.Scope()`")
    _entered.append(scope)
    try:
        with scope._state:
            yield
    finally:
        _entered.pop()


class Executor:
    """Runs programs, compiled.

    Args:
        place: `fluid.CPUPlace()`.
    """

    def __init__(self, place: Any = None) -> None:
        if place is not None and not isinstance(place, CPUPlace):
            raise fault(TypeError, f"{place!r} is not a place", "use `fluid.CPUPlace()`")
        self.place = place or CPUPlace()
        self._closed = False
        self._sides: Any = None

    def close(self) -> None:
        """Ends its use. Parameter servers are told that this trainer makes no further step."""
        if self._sides is not None and not self._closed:
            _core.dist_end_of_steps(self._sides.trainers, self._sides.servers)
        self._closed = True

    def run(
        self,
        program: Any = None,
        feed: Any = None,
        fetch_list: Any = None,
        feed_var_name: str = "feed",
        fetch_var_name: str = "fetch",
        scope: Scope | None = None,
        return_numpy: bool = True,
        use_program_cache: bool = False,
        return_merged: bool = True,
        use_prune: bool = False,
    ) -> list[Any]:
        """Runs a program.

        Args:
            program: The program, also a compiled one; the default main program if none is given.
            feed: Arrays by the names of `layers.data`. A list of such dicts is put together by rows.
            fetch_list: Variables, or names of variables.
            feed_var_name: For Fluid's programs.
            fetch_var_name: For Fluid's programs.
            scope: Where states are; `global_scope()` if none is given.
            return_numpy: Whether arrays are returned, rather than `LoDTensor`.
            use_program_cache: For Fluid's programs: compiled programs are kept anyway.
            return_merged: Results of devices are put together, as there is one device; False is refused for a program on
                several of them.
            use_prune: Whether updates are left out that are not fetched, which is refused for a program that has any.
                What changes no state and is not fetched is left out in any case.

        Returns:
            What is fetched, in order.
        """
        if self._closed:
            raise fault(RuntimeError, "the executor was closed", "make another one")
        if getattr(program, "_is_inference", False):
            return program._predictor.run(feed)
        if isinstance(program, (PserverProgram, PserverStartup)):
            state = (scope or global_scope())._state
            with state:
                program.run(state)
            return []
        trainer = program if isinstance(program, TrainerProgram) else None
        compiled = getattr(program, "_program", None)
        if compiled is not None:
            if not return_merged:
                raise fault(
                    NotImplementedError, "`return_merged=False` asks for the results of each device, and there is one",
                    "leave it out",
                )  # fmt: skip
            program = compiled
        if program is None:
            program = default_main_program()
        if not isinstance(program, Program):
            raise fault(TypeError, f"{program!r} is not a program", "give a `fluid.Program`")
        fetch = _listed(fetch_list)
        if use_prune and program._optimizers:
            raise fault(
                NotImplementedError,
                "`use_prune` would leave updates out that are not fetched, and this program updates parameters",
                "run `program.clone(for_test=True)`, made before `minimize`, or leave `use_prune` out",
            )
        feed = _merged(feed)
        state = (scope or global_scope())._state
        with state:
            if program._made:
                _initialise(program, state)
            if trainer is not None:
                self._sides = trainer._sides
                trainer.share(state)
            values = _run(program, feed, fetch, self._sides if trainer is not None else None)
        return [_returned(value, return_numpy) for value in values]

    def infer_from_dataset(
        self, program: Any = None, dataset: Any = None, scope: Any = None, thread: int = 0, debug: bool = False,
        fetch_list: Any = None, fetch_info: Any = None, print_period: int = 100, fetch_handler: Any = None,
    ) -> None:  # fmt: skip
        """Refused; see `train_from_dataset`."""
        self.train_from_dataset()

    def train_from_dataset(
        self, program: Any = None, dataset: Any = None, scope: Any = None, thread: int = 0, debug: bool = False,
        fetch_list: Any = None, fetch_info: Any = None, print_period: int = 100, fetch_handler: Any = None,
    ) -> None:  # fmt: skip
        """Refused: Fluid's datasets are read by its own processes."""
        raise fault(
            NotImplementedError,
            "datasets of Fluid's own trainers are not in this front",
            "loop over a reader and call `run`, or use `fluid.io.DataLoader.from_generator`",
        )


def _listed(fetch: Any) -> list[Any]:
    if fetch is None:
        return []
    return list(fetch) if isinstance(fetch, (list, tuple)) else [fetch]


def _merged(feed: Any) -> dict[str, Any]:
    if feed is None:
        return {}
    if isinstance(feed, Mapping):
        return dict(feed)
    if isinstance(feed, (list, tuple)):
        parts = list(feed)
        if len(parts) == 1:
            return dict(parts[0])
        return {name: _joined([part[name] for part in parts]) for name in (parts[0] if parts else {})}
    raise fault(TypeError, f"{type(feed).__name__} cannot be fed", "give a dict of arrays by name")


def _joined(values: list[Any]) -> Any:
    """The rows of several values one after the other, with the lengths of their sequences."""
    import numpy as np

    rows = np.concatenate([np.asarray(value) for value in values])
    levels = [value.recursive_sequence_lengths() if isinstance(value, LoDTensor) else [] for value in values]
    if not any(levels):
        return rows
    made = LoDTensor._of(rows)
    made.set_recursive_sequence_lengths([[n for part in level for n in part] for level in zip(*levels)])
    return made


def _initialise(program: Program, state: Any) -> None:
    """Makes initial values of the states of a startup program, also of those that have one."""
    if program.random_seed:
        _core.seed(program.random_seed)
    for name in program._made:
        if name in state:
            state.remove(name)
    block = program.global_block()
    key = ("initialise", program._version, len(program._made))
    made = program._runs.get(key)
    if made is None:
        start = _core.Program()
        start.enter()
        try:
            for var in program._made.values():
                var.declare()
        finally:
            _core.leave_program()
        made = program._runs[key] = (block, start.snapshot({}))
    made[1].initialise()


def _run(program: Program, feed: dict[str, Any], fetch: Sequence[Any], sides: Any = None) -> list[Any]:
    """Runs the outermost block of a program, or what a trainer has of it, and gives the values of what is fetched."""
    names = [_name(wanted) for wanted in fetch]
    block = program.global_block()
    for reader in program._readers:
        if not any(name in feed for name in reader.names):
            feed.update(reader.next_feed())
    states = [name for name in names if isinstance(block.vars.get(name), State)]
    outputs = list(dict.fromkeys(name for name in names if name not in states))
    for name in outputs:
        if name not in block._values:
            var = block.vars.get(name)
            if var is not None and var.is_data:
                with block.building():
                    block.raw(var)
            else:
                _derive(program, name)
    # What the user has made persistent stays in the scope, also if it is computed.
    persistent = [
        name for name, var in block.vars.items() if var.persistable and not isinstance(var, State) and name in block._values
    ]
    outputs += [name for name in persistent if name not in outputs]
    key = (program._version, *outputs)
    closed = program._runs.get(key)
    if closed is None:
        if len(program._runs) > 32:
            program._runs.clear()
        closed = program._runs[key] = _closed(program, outputs)
    runnable, forms = closed
    if sides is not None:
        runnable = sides.made(key, runnable)[0]
    found = runnable.run(_fed(program, runnable, feed), fetch=[part for _, parts in forms.values() for part in parts])
    values: dict[str, Any] = {
        name: make(*(found[part] for part in parts)) for name, (make, parts) in forms.items()
    }
    current = _core.State.current()
    for name in persistent:
        if isinstance(values[name], _core.Tensor):
            if name in current:
                current.remove(name)
            current.insert(name, values[name])
    for name in states:
        if name not in current:
            raise fault(RuntimeError, f"`{name}` has no value in this scope", "run the startup program first")
        values[name] = current[name]
    return [values[name] for name in names]


def _closed(program: Program, outputs: list[str]) -> tuple[Any, dict[str, tuple[Any, list[str]]]]:
    """The program of the core for a run, and how what is fetched is made of its outputs."""
    block = program.global_block()
    block._await()
    tensors: dict[str, Any] = {}
    forms: dict[str, tuple[Any, list[str]]] = {}
    with block.building():
        for name in outputs:
            value = block._values[name]
            if isinstance(value, _core.Tensor) and value.type_text.startswith("list"):
                from .layers.arrays import stacked

                if block.vars[name]._lengths:
                    raise fault(
                        NotImplementedError,
                        f"the array `{name}` holds sequences of different lengths, which are not fetched together",
                        "fetch elements: `layers.array_read(array, i)`; or `layers.beam_search_decode(ids, scores, …)`",
                    )
                value = stacked(value, block.vars[name]._sizes or None)
            parts, make = fetched_value(value)
            labels = [f"out{len(tensors) + i}" for i in range(len(parts))]
            tensors.update(zip(labels, parts))
            forms[name] = (make, labels)
    return block._core.snapshot(tensors), forms


def _name(wanted: Any) -> str:
    if isinstance(wanted, Variable):
        return wanted.name
    if isinstance(wanted, str):
        return wanted
    if isinstance(wanted, (list, tuple)) and len(wanted) == 1:
        # What `gradients` gave for one variable.
        return _name(wanted[0])
    raise fault(TypeError, f"{wanted!r} cannot be fetched", "give a variable or the name of one")


def _derive(program: Program, name: str) -> None:
    """A gradient that was not asked for before, such as `x@GRAD`, appended to the program."""
    block = program.global_block()
    if block._derived(name) is not None:
        return
    for inner in program.blocks[1:]:
        if name in inner.vars:
            raise fault(
                ValueError,
                f"`{name}` is made inside of a block, perhaps many times in a run",
                "set `x.persistable = True` in the block to keep its last value, or write it to a variable from outside with "
                "`layers.assign(x, out)`, and fetch that",
            )
    var = block._var_recursive(name)
    raise block._no_value(var)


def _fed(program: Program, runnable: Any, feed: dict[str, Any]) -> dict[str, Any]:
    """What the core is fed: the parts of what the user feeds, in the element types of the program."""
    block = program.global_block()
    wanted, read = runnable.inputs, set(runnable.read_inputs)
    found: dict[str, Any] = {}
    for name, value in feed.items():
        others = [label for label in wanted if label.rpartition(FED_AS)[0] == name]
        for label in others:
            found.update(fed_value(block.vars[label], block._values[label], _reshaped(label, value, block)))
        if others and name not in wanted:
            continue
        var = block.vars.get(name)
        if var is None:
            known = [v.name for v in block.vars.values() if v.is_data]
            raise fault(ValueError, f"the program has no variable `{name}` to feed", f"its data are {', '.join(known)}")
        if isinstance(var, State):
            # As in Fluid, what is fed for a parameter is its value from then on.
            _put(var, value)
            continue
        if not var.is_data:
            raise fault(
                ValueError,
                f"`{name}` is computed by the program, and cannot be fed",
                "feed variables of `layers.data`",
            )
        if name in block._values:
            found.update(fed_value(var, block._values[name], value, read))
    _fill_lengths(block, feed, wanted, read, found)
    missing = [name for name in wanted if name not in found]
    if missing:
        raise fault(
            ValueError,
            f"what is run needs {', '.join(f'`{name}`' for name in missing)}, which is not fed",
            "add it to `feed`, or fetch what does not need it from `program.clone(for_test=True)`",
        )
    _one_batch(block, feed, wanted)
    return {name: value for name, value in found.items() if name in wanted}


def _fill_lengths(block: Any, feed: dict[str, Any], wanted: Any, read: set[str], found: dict[str, Any]) -> None:
    """Lengths of sequences that nothing reads, of rows that were fed without them: as many as the batch has."""
    import numpy as np

    from . import _ragged

    known: dict[str, int] = {}
    lengths: list[tuple[str, str]] = []
    for name in feed:
        value = block._values.get(name)
        if isinstance(value, Ragged):
            pairs = zip(_ragged.input_names(name, value)[1:], value.row_lengths)
            lengths += [(label, repr(level.shape[0])) for label, level in pairs if name in found]
        elif isinstance(value, _core.Tensor) and value.ndim and name in found:
            known[repr(value.shape[0])] = np.shape(found[name])[0]
    known.update({size: len(found[label]) for label, size in lengths if label in found})
    for label, size in lengths:
        if label in wanted and label not in read and label not in found:
            found[label] = np.zeros(known.get(size, 0), "int64")


def _one_batch(block: Any, feed: dict[str, Any], wanted: Any) -> None:
    """Refuses inputs with different numbers of rows, whose first sizes are both those of the batch."""
    first: tuple[str, int] | None = None
    for name, value in feed.items():
        known, shape = block._values.get(name), getattr(value, "shape", None)
        if name not in wanted or not isinstance(known, _core.Tensor) or not isinstance(shape, tuple):
            continue
        if known.ndim == 0 or str(known.shape[0]) != "batch" or len(shape) != known.ndim:
            continue
        if first is not None and first[1] != shape[0]:
            raise fault(
                ValueError,
                f"`{name}` is fed with {shape[0]} rows, and `{first[0]}` with {first[1]}: the first size of both is the batch",
                f"declare `{name}` with a first size of its own: `layers.data({name!r}, shape=[-1, …])`",
            )
        first = (name, shape[0])


def _put(var: State, value: Any) -> None:
    """Gives a state another value, in the scope of the run."""
    import numpy as np

    array = np.asarray(value, var._dtype_name())
    if array.shape != var.sizes:
        raise fault(
            ValueError, f"`{var.name}` has the sizes {list(var.sizes)}, and is fed {list(array.shape)}",
            "feed an array of the same sizes",
        )  # fmt: skip
    _core.State.current().insert(var.name, _core.tensor(array), var.role)


def _reshaped(label: str, value: Any, block: Any) -> Any:
    """What is fed, in the shape that the program takes it in."""
    import numpy as np

    sizes = tuple(size if isinstance(size, int) else -1 for size in block._values[label].shape)
    array = np.asarray(value)
    try:
        return array.reshape(sizes)
    except ValueError:
        name = label.rpartition(FED_AS)[0]
        raise fault(
            ValueError, f"`{name}` is fed with the sizes {list(array.shape)}, and reshaped to {list(sizes)}",
            "feed as many elements",
        ) from None  # fmt: skip


def _returned(value: Any, return_numpy: bool) -> Any:
    if return_numpy:
        if isinstance(value, Ragged):
            raise fault(
                RuntimeError,
                "what is fetched has sequences of different lengths, which an array cannot say",
                "fetch with `return_numpy=False`; `np.array(t)` has the rows, `t.recursive_sequence_lengths()` the lengths",
            )
        if hasattr(value, "numpy"):
            return as_array(value.numpy())
        return value
    return value if isinstance(value, LoDTensor) else LoDTensor._of(value)



