"""Programs, which are lists of blocks, and the ones that are being built."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from .. import _core
from .._fault import fault
from .._ragged import Ragged
from .blocks import CALLS, Block, Operator, ParameterState, State, in_dygraph_mode, inner_input
from .core import CPUPlace, CUDAPinnedPlace, CUDAPlace, VarType, dtype_of
from .flags import get_flags, set_flags
from .variable import Parameter, Variable, shown_shape

__all__ = [
    "Program", "default_startup_program", "default_main_program", "program_guard", "name_scope", "cuda_places",
    "cpu_places", "cuda_pinned_places", "in_dygraph_mode", "is_compiled_with_cuda", "Variable", "Parameter",
    "load_op_library", "require_version", "device_guard", "set_flags", "get_flags",
]  # fmt: skip


class Program:
    """What is run: a list of calls with variables, blocks inside of it, and states that outlive a run.

    Example:
        >>> import fluvial.fluid as fluid
        >>> main, startup = fluid.Program(), fluid.Program()
        >>> with fluid.program_guard(main, startup):
        ...     x = fluid.layers.data("x", [2])
        ...     y = x * 2.0
        >>> exe = fluid.Executor(fluid.CPUPlace())
        >>> _ = exe.run(startup)
        >>> exe.run(main, feed={"x": np.ones((3, 2), "float32")}, fetch_list=[y])[0].shape
        (3, 2)
    """

    def __init__(self) -> None:
        self.blocks = [Block(self, 0)]
        self.current_block_idx = 0
        self._seed = Program._first_seed
        self._is_test = False
        #: States that running this program makes anew, if it is a startup program.
        self._made: dict[str, State] = {}
        #: Tables whose rows are looked up with `is_sparse`.
        self._sparse: set[str] = set()
        #: Gradients of losses by name, for those that are fetched later.
        self._losses: list[Variable] = []
        #: Whether a block has started a task.
        self._has_tasks = False
        #: Names of what these gradients do not pass.
        self._no_grad: frozenset[str] = frozenset()
        #: Programs of the core that were made for runs, by what is fetched.
        self._runs: dict[Any, Any] = {}
        self._readers: list[Any] = []
        #: Optimizers that update in it, by what names of their states begin with.
        self._optimizers: dict[str, Any] = {}

    # Blocks ---------------------------------------------------------------------------------------

    def global_block(self) -> Block:
        """The outermost block."""
        return self.blocks[0]

    def current_block(self) -> Block:
        """The block that is being filled."""
        return self.blocks[self.current_block_idx]

    def block(self, index: int) -> Block:
        """The block of this number."""
        return self.blocks[index]

    @property
    def num_blocks(self) -> int:
        """How many blocks there are."""
        return len(self.blocks)

    def _create_block(self, parent_idx: int | None = None) -> Block:
        parent = self.current_block_idx if parent_idx is None else parent_idx
        block = Block(self, len(self.blocks), parent)
        self.blocks.append(block)
        self.current_block_idx = block.idx
        return block

    def _rollback(self) -> None:
        self.current_block_idx = self.current_block().parent_idx

    def _named(self, name: str, optimizer: Any) -> str:
        """What names of an optimizer's states begin with: its name, and a number if another one has it here already."""
        found = name
        while self._optimizers.setdefault(found, optimizer) is not optimizer:
            found = f"{name}_{len(self._optimizers)}"
        return found

    # What it says of itself -----------------------------------------------------------------------

    @property
    def random_seed(self) -> int:
        """What random numbers begin with when it is run as a startup program; 0 leaves them as they are."""
        return self._seed

    @random_seed.setter
    def random_seed(self, seed: int) -> None:
        if not isinstance(seed, int):
            raise fault(ValueError, f"a seed is an integer, not {seed!r}", "set `program.random_seed = 90`")
        self._seed = seed
        if seed and in_dygraph_mode():
            _core.seed(seed)

    #: The seed that programs have when they are made.
    _first_seed = 0

    def global_seed(self, seed: int = 0) -> None:
        """Sets the seed of this program, and of those that are made from here on.

        Args:
            seed: The seed; see `random_seed`.
        """
        self.random_seed = seed
        Program._first_seed = seed

    def list_vars(self) -> Iterator[Variable]:
        """All variables, block by block."""
        for block in self.blocks:
            yield from list(block.vars.values())

    def all_parameters(self) -> list[Parameter]:
        """What is trained."""
        return self.global_block().all_parameters()

    @property
    def _version(self) -> int:
        return sum(block._version for block in self.blocks)

    def to_string(self, throw_on_error: bool = True, with_details: bool = False) -> str:
        """The program as text, as the core lists it.

        Args:
            throw_on_error: For Fluid's programs.
            with_details: Whether each call has its line.
        """
        program = self._closed()
        return program.text() if with_details else str(program)

    def __str__(self) -> str:
        return self.to_string()

    def __repr__(self) -> str:
        return f"<Program with {len(self.global_block().vars)} variables>"

    # Copies ---------------------------------------------------------------------------------------

    def _closed(self, names: Sequence[str] | None = None) -> Any:
        """The program of the core as it is now, with variables as outputs."""
        block = self.global_block()
        block._await()
        if names is None:
            names = [
                name for name, var in block.vars.items()
                if name in block._values and not isinstance(var, State) and var.type is VarType.LOD_TENSOR
            ]  # fmt: skip
        with block.building():
            for state in self._made.values():
                state.read(block)
        return block._core.snapshot(self._parts(names))

    def _parts(self, names: Sequence[str]) -> dict[str, Any]:
        """Tensors of variables; of sequences the rows and the lengths."""
        from . import _ragged

        found: dict[str, Any] = {}
        for name in names:
            value = self.global_block()._values[name]
            if isinstance(value, Ragged):
                found.update(zip(_ragged.input_names(name, value), [value.data, *value.row_lengths]))
            else:
                found[name] = value
        return found

    def clone(self, for_test: bool = False) -> Program:
        """A copy that is changed no more by what is appended to this one.

        Args:
            for_test: Whether layers behave as in use: dropout passes on, batch norm uses what it has remembered, and
                nothing is updated.
        """
        closed = self._closed()
        if for_test:
            closed = closed.for_inference()
        copy = Program._of(closed, self)
        copy._seed, copy._is_test = self._seed, for_test
        copy._made, copy._sparse = dict(self._made), set(self._sparse)
        copy._losses = [] if for_test else [copy.global_block().var(loss.name) for loss in self._losses]
        copy._no_grad = self._no_grad
        copy._optimizers = dict(self._optimizers)
        copy._readers = list(self._readers)
        return copy

    @staticmethod
    def _of(closed: Any, like: Program | None = None) -> Program:
        """A program with what a finished one of the core has."""
        program = Program()
        block = program.global_block()
        old = {} if like is None else like.global_block().vars
        for name, text in closed.states.items():
            if name in old and isinstance(old[name], State):
                _copied_state(block, old[name])  # type: ignore[arg-type]
            else:
                role = closed.state.role(name) if name in closed.state else "buffer"
                _state_of(block, name, text, role)
        for name, var in old.items():
            if isinstance(var, State) and name not in block.vars:
                _copied_state(block, var)
        from . import _ragged

        with block.building():
            inputs = {name: _core.program_input(name, text) for name, text in closed.inputs.items()}
            for name, value in _ragged.grouped(inputs).items():
                data = block.made(value, name)
                data.is_data = data.stop_gradient = True
                rows = value.data if isinstance(value, Ragged) else value
                data._shape, data._dtype = shown_shape(rows), dtype_of(rows.dtype)
            for name in closed.states:
                block.vars[name].read(block)  # type: ignore[attr-defined]
            found = closed(*inputs.values())
            outputs = found if isinstance(found, tuple) else (found,)
            for name, value in _ragged.grouped(dict(zip(closed.outputs, outputs))).items():
                if name not in block._values:
                    block.made(value, name)
        for name, var in old.items():
            if var.is_data and name not in block.vars:
                block.declare(name, var._shape or (), var._dtype, var.lod_level)._own_rows = var._own_rows
            mine = block.vars.get(name)
            if mine is not None and not isinstance(mine, State):
                mine._stop_gradient, mine.lod_level, mine.is_data = var._stop_gradient, var.lod_level, var.is_data
                mine._shape, mine._dtype = var._shape, var._dtype
        return program

    def _replace(self, closed: Any) -> None:
        """Goes on with another program of the core, whose outputs are the variables of this one."""
        block, other = self.global_block(), Program._of(closed, self).global_block()
        block._core, block._values, block._states = other._core, other._values, other._states
        block._lifted, block._looked_up = {}, {}
        block._version += 1

    @property
    def desc(self) -> _Desc:
        """Has `serialize_to_string()`."""
        return _Desc(self)

    @staticmethod
    def parse_from_string(binary_str: bytes | str) -> Program:
        """The program of what `program.desc.serialize_to_string()` gave.

        Args:
            binary_str: The bytes.
        """
        if isinstance(binary_str, str):
            return Program._of(_core.Program.parse(binary_str))
        return Program._of(_core.Program.from_bytes(binary_str))

    def _prune(self, targets: Sequence[Variable] | Variable) -> Program:
        """A copy with what these variables need."""
        wanted: list[Any] = list(targets) if isinstance(targets, (list, tuple)) else [targets]
        return Program._of(self._closed([var.name for var in wanted]), self)


class _Desc:
    def __init__(self, program: Program) -> None:
        self._program = program

    def serialize_to_string(self) -> bytes:
        """The program as bytes."""
        import os
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.flb")
            self._program._closed().save(path)
            with open(path, "rb") as file:
                return file.read()


def _copied_state(block: Block, var: State) -> State:
    if isinstance(var, ParameterState):
        made: State = ParameterState(block, var.name, shape=var.sizes, dtype=var._dtype, trainable=var.trainable)
        for name in ("optimize_attr", "regularizer", "gradient_clip_attr", "do_model_average"):
            setattr(made, name, getattr(var, name))
    else:
        made = State(block, var.name, shape=var.sizes, dtype=var._dtype)
        made._stop_gradient = var._stop_gradient
    made.persistable, made.sizes, made.init, made.role = var.persistable, var.sizes, var.init, var.role
    block.vars[var.name] = made
    return made


def _state_of(block: Block, name: str, text: str, role: str) -> State:
    """A state of a program that was read, by its type such as "f32[2, 3]"."""
    kind, _, sizes = text.rstrip("]").partition("[")
    shape = [int(size) for size in sizes.split(",") if size.strip()]
    is_trained = role == "parameter"
    made = State.of(block, name, shape, _core.full((), 0, kind.strip()).dtype.name, None, kind=ParameterState if is_trained else None)
    made.role = role
    return made


# The programs that are being built -----------------------------------------------------------------


class _Defaults:
    main: Program | None = None
    startup: Program | None = None


def default_main_program() -> Program:
    """The program that calls are appended to."""
    if _Defaults.main is None:
        _Defaults.main = Program()
    return _Defaults.main


def default_startup_program() -> Program:
    """The program that makes initial values of states."""
    if _Defaults.startup is None:
        _Defaults.startup = Program()
    return _Defaults.startup


def switch_main_program(program: Program) -> Program:
    """Appends to another program from here on; returns the former one."""
    former, _Defaults.main = default_main_program(), program
    return former


def switch_startup_program(program: Program) -> Program:
    """Makes initial values in another program from here on; returns the former one."""
    former, _Defaults.startup = default_startup_program(), program
    return former


@contextlib.contextmanager
def program_guard(main_program: Program, startup_program: Program | None = None) -> Iterator[None]:
    """A scope in which calls are appended to a program.

    Args:
        main_program: The program.
        startup_program: The one that makes initial values of its states; the default one if none is given.
    """
    if not isinstance(main_program, Program):
        raise fault(TypeError, f"{main_program!r} is not a program", "make one with `fluid.Program()`")
    former = switch_main_program(main_program)
    former_startup = switch_startup_program(startup_program) if startup_program is not None else None
    try:
        yield
    finally:
        switch_main_program(former)
        if former_startup is not None:
            switch_startup_program(former_startup)


@contextlib.contextmanager
def _dygraph_guard(tracer: Any) -> Iterator[None]:
    """A scope in which ops run at once, or, with nothing given, are appended to a program."""
    former, CALLS.dygraph = CALLS.dygraph, tracer is not None
    try:
        yield
    finally:
        CALLS.dygraph = former


@contextlib.contextmanager
def name_scope(prefix: str | None = None) -> Iterator[None]:
    """A scope whose name stands in listings before that of each layer.

    Args:
        prefix: The name.
    """
    if not prefix:
        raise fault(ValueError, "a name scope needs a name", 'write `with fluid.name_scope("encoder"):`')
    former = CALLS.scopes
    CALLS.scopes = (*former, prefix)
    try:
        yield
    finally:
        CALLS.scopes = former


@contextlib.contextmanager
def device_guard(device: str | None = None) -> Iterator[None]:
    """A scope for calls on a device: the CPU.

    Args:
        device: "cpu", or None.
    """
    if device not in (None, "cpu"):
        raise fault(ValueError, f"there is no device {device!r}", 'use "cpu"')
    yield


# Places and flags -----------------------------------------------------------------------------------


def cpu_places(device_count: int | None = None) -> list[CPUPlace]:
    """Places of main memory.

    Args:
        device_count: How many; one if nothing is said.
    """
    return [CPUPlace() for _ in range(device_count or 1)]


def cuda_places(device_ids: Any = None) -> list[CUDAPlace]:
    """Refused: there are no GPUs."""
    return [CUDAPlace(0)]


def cuda_pinned_places(device_count: int | None = None) -> list[CUDAPinnedPlace]:
    """Refused: there are no GPUs."""
    return [CUDAPinnedPlace()]


def is_compiled_with_cuda() -> bool:
    """Whether there are GPUs: no."""
    return False


def require_version(min_version: str, max_version: str | None = None) -> None:
    """Checks a version of Fluid: this front follows 1.5 to 1.8.

    Args:
        min_version: The oldest that will do.
        max_version: The newest that will do.
    """

    def numbers(version: str) -> tuple[int, ...]:
        parts = version.split(".")
        if not all(part.isdigit() for part in parts):
            raise fault(ValueError, f"{version!r} is not a version", 'write it as "1.8.0"')
        return tuple(int(part) for part in parts[:3])

    if numbers(min_version) > (1, 8, 5) or (max_version is not None and numbers(max_version) < (1, 5, 0)):
        raise fault(
            Exception,
            f"this front follows Fluid 1.5 to 1.8, and version {min_version} to {max_version or 'any'} is wanted",
            "leave the check out if the program works",
        )


def load_op_library(lib_filename: str) -> None:
    """Refused: operators compiled for Fluid cannot be loaded."""
    raise fault(
        NotImplementedError,
        f"`{lib_filename}` has operators compiled for Fluid",
        "write the operator with `fluid.layers.py_func`, or in Rust",
    )


def grad_var_name(var_name: str) -> str:
    """The name of the gradient of a variable."""
    return f"{var_name}@GRAD"


def convert_np_dtype_to_dtype_(np_dtype: Any) -> VarType:
    """The element type of a NumPy type."""
    return dtype_of(np_dtype)



from .calls import applied, dygraph_tensor, dygraph_variable, layer, store  # noqa: E402


@contextlib.contextmanager
def _dygraph_place_guard(place: Any) -> Iterator[None]:
    """A scope in which ops that run at once run at a place: the one that there is.

    Args:
        place: `fluid.CPUPlace()`.
    """
    if not isinstance(place, CPUPlace):
        raise fault(TypeError, f"{place!r} is not a place", "use `fluid.CPUPlace()`")
    yield
