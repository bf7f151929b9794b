"""Blocks of programs, and states.

A block keeps the value that each name has now. What stands in a block is appended to a program of the core, which is
entered for each call and left behind it, so that nothing else is caught. A block inside of another one, such as the
body of a `While`, is a program of its own at first: names of outer blocks are its inputs, and names that it wrote its
outputs, so that at its end it is known what a loop carries.
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._fault import fault
from .._ragged import Ragged
from . import unique_name
from ._lists import listed
from .core import VarType
from .variable import Parameter, Variable, again

if TYPE_CHECKING:
    from .framework import Program

__all__ = ["CALLS", "Block", "Operator", "ParameterState", "State", "in_dygraph_mode", "inner_input"]


class Operator:
    """A call that was appended to a block, by name."""

    def __init__(self, block: Block, type: str, outputs: list[str]) -> None:
        self.block, self.type, self._outputs = block, type, listed(outputs, "names")

    @property
    def output_arg_names(self) -> list[str]:
        """The names of what it made."""
        return list(self._outputs)

    def __repr__(self) -> str:
        return f"{{{', '.join(self._outputs)}}} = {self.type}()"


#: Calls that make constants.
_CONSTANTS = {"fill_constant", "fill_constant_batch_size_like", "zeros", "ones", "zeros_like", "ones_like", "assign", "full"}


class _Calls(threading.local):
    """What this thread is doing."""

    #: The block that ops are appended to by the call under way.
    block: Block | None = None
    #: The depth of calls under `dygraph.guard`.
    depth = 0
    #: The name that the layer of the call under way has given itself.
    layer: str | None = None
    #: Whether ops run at once.
    dygraph = False
    #: Parts of names, from `name_scope`.
    scopes: tuple[str, ...] = ()
    #: Parameters that a layer object hands to the functions that it calls.
    owner: Any = None
    #: Whether gradients that pass are kept in the variables that they belong to.
    keeps_gradients = True
    #: Whether layers that are called at once are in training: `model.eval()` says no.
    training = True
    #: Whether the program of a layer is being traced for use.
    traces = False
    #: Numbers of rows of tables that were looked up at once since the last step, if an optimizer asks for them.
    touched: dict[str, Any] | None = None


CALLS = _Calls()


def in_dygraph_mode() -> bool:
    """Whether ops run at once: inside `dygraph.guard()`, or after `enable_dygraph()`."""
    return CALLS.dygraph


class Block:
    """A part of a program: variables by name, and what was appended.

    Args:
        program: The program.
        idx: The number of the block.
        parent_idx: The number of the block around it; -1 for the outermost.
    """

    def __init__(self, program: Program, idx: int, parent_idx: int = -1) -> None:
        self.program, self.idx, self.parent_idx = program, idx, parent_idx
        self.vars: OrderedDict[str, Variable] = OrderedDict()
        self.ops: list[Operator] = []
        #: What is appended, as the core has it.
        self._core = _core.Program()
        #: How often it was changed.
        self._version = 0
        self._values: dict[str, Any] = {}
        #: Values of one element that are 0-d in the core, with one axis.
        self._lifted: dict[str, tuple[Any, Any]] = {}
        #: Rows of tables that were looked up: numbers and rows, by the table's name; see `_sparse`.
        self._looked_up: dict[str, list[tuple[Any, Any]]] = {}
        #: States that were declared in this block.
        self._states: set[str] = set()
        #: Names of outer blocks by the name of the input that stands for them.
        self._inputs: dict[str, Variable] = {}
        #: Variables of outer blocks that this one gave a value.
        self._written: dict[str, Variable] = {}
        #: By the name of a variable that a task writes: what waits for the task.
        self._awaited: dict[str, Callable[[], None]] = {}

    @property
    def parent(self) -> Block | None:
        """The block around it."""
        return None if self.parent_idx < 0 else self.program.blocks[self.parent_idx]

    # Variables ------------------------------------------------------------------------------------

    def var(self, name: str) -> Variable:
        """The variable of this name.

        Args:
            name: Its name.
        """
        found = self.vars[name] if name in self.vars else self._derived(name)
        if found is None:
            raise fault(ValueError, f"the block has no variable `{name}`", _near(name, self.vars))
        return found

    def has_var(self, name: str) -> bool:
        """Whether there is a variable of this name."""
        return name in self.vars

    def _find_var_recursive(self, name: str) -> Variable | None:
        block: Block | None = self
        while block is not None:
            if name in block.vars:
                return block.vars[name]
            block = block.parent
        return self._derived(name)

    def _derived(self, name: str) -> Variable | None:
        """A gradient such as `x@GRAD` that nobody has asked for yet, appended now, or None."""
        if not name.endswith("@GRAD") or not self.program._losses:
            return None
        from .backward import gradient_of

        is_found = gradient_of(self.program, name.removesuffix("@GRAD"))
        return self.program.global_block().vars[name] if is_found else None

    def _var_recursive(self, name: str) -> Variable:
        found = self._find_var_recursive(name)
        if found is None:
            raise fault(ValueError, f"the program has no variable `{name}`", _near(name, self.vars))
        return found

    has_var_recursive = _has_var_recursive = lambda self, name: self._find_var_recursive(name) is not None

    def all_parameters(self) -> list[Parameter]:
        """What is trained, in the order in which it was made."""
        return [var for var in self.vars.values() if isinstance(var, Parameter)]

    iter_parameters = all_parameters

    def create_var(
        self,
        name: str | None = None,
        shape: Sequence[int] | None = None,
        dtype: Any = None,
        type: VarType = VarType.LOD_TENSOR,
        lod_level: int | None = None,
        persistable: bool = False,
        stop_gradient: bool = False,
        initializer: Any = None,
        error_clip: Any = None,
        is_data: bool = False,
        need_check_feed: bool = False,
        belong_to_optimizer: bool = False,
        capacity: int | None = None,
    ) -> Variable:
        """A variable that has no value yet; `layers.assign`, `py_func` and others give it one. One of this name that is
        there already is given out again.

        Args:
            name: Its name.
            shape: Its sizes.
            dtype: Its element type.
            type: What it is.
            lod_level: How many levels of sequences its rows have.
            persistable: Whether it keeps its value between runs.
            stop_gradient: Whether no gradient passes.
            initializer: How its initial value is made, if it keeps its value.
            error_clip: Refused: gradients are not cut down on their way.
            is_data: For Fluid's programs: inputs are made by `layers.data`.
            need_check_feed: For Fluid's programs: what is fed is checked in any case.
            belong_to_optimizer: For Fluid's programs.
            capacity: For Fluid's programs.
        """
        if error_clip is not None:
            raise fault(
                NotImplementedError, "`error_clip` would cut gradients down on their way", "use `grad_clip` of an optimizer"
            )
        if initializer is not None and not persistable:
            raise fault(ValueError, f"`{name}` does not keep an initial value", "give `persistable=True`, too")
        known = None if name is None else self.vars.get(name)
        if known is not None:
            return again(known, shape, dtype)
        var = Variable(
            self, name, shape, dtype, persistable=persistable, stop_gradient=stop_gradient, lod_level=lod_level,
            type=type,
        )  # fmt: skip
        if persistable:
            var = State.of(self.program.global_block(), var.name, shape or (1,), dtype or "float32", initializer)
            var.stop_gradient = stop_gradient
            return var
        self.vars[var.name] = var
        return var

    def create_parameter(
        self,
        name: str | None = None,
        shape: Sequence[int] | None = None,
        dtype: Any = None,
        initializer: Any = None,
        trainable: bool = True,
        regularizer: Any = None,
        gradient_clip_attr: Any = None,
        optimize_attr: dict[str, Any] | None = None,
        do_model_average: bool = True,
        lod_level: int = 0,
        persistable: bool = True,
        stop_gradient: bool = False,
        is_distributed: bool = False,
        need_clip: bool = True,
        error_clip: Any = None,
        belong_to_optimizer: bool = False,
    ) -> Parameter:
        """A trained parameter of the program.

        Args:
            name: Its name.
            shape: Its sizes, all known.
            dtype: Its element type.
            initializer: How its initial value is made: such as `fluid.initializer.Normal()`; Xavier's unless said.
            trainable: Whether optimizers change it.
            regularizer: Its penalty.
            gradient_clip_attr: How its gradient is cut down.
            optimize_attr: "learning_rate", the factor of the rate for it.
            do_model_average: Whether averages are kept of it.
            lod_level: For Fluid's programs: parameters have no sequences.
            persistable: For Fluid's programs: parameters keep their values.
            stop_gradient: Whether it gets no gradient.
            is_distributed: For Fluid's programs.
            need_clip: Whether its gradient is cut down; False is refused.
            error_clip: Refused: gradients are not cut down on their way.
            belong_to_optimizer: For Fluid's programs.
        """
        if error_clip is not None or not need_clip:
            raise fault(
                NotImplementedError, "`error_clip` and `need_clip=False` are not in this front",
                "use `need_clip` of a class of `fluid.clip`, a function that says which parameters are",
            )  # fmt: skip
        from .framework import program_guard
        from .layer_helper import LayerHelper
        from .param_attr import ParamAttr

        if not shape or dtype is None:
            raise fault(ValueError, "a parameter has sizes and an element type", 'give `shape=[2, 3], dtype="float32"`')
        rate = (optimize_attr or {}).get("learning_rate", 1.0)
        trainable = trainable and not stop_gradient
        said = ParamAttr(name, initializer, rate, regularizer, trainable, gradient_clip_attr, do_model_average)
        with program_guard(self.program):
            return LayerHelper("parameter").new_parameter(said, shape, dtype)

    def append_op(self, type: str, inputs: Any = None, outputs: Any = None, attrs: Any = None) -> None:
        """Appends an operator by Fluid's name to the block that is being filled, which must be this one.

        Args:
            type: The operator.
            inputs: Variables by slot.
            outputs: Variables that get the results, by slot.
            attrs: Attributes by name.
        """
        from .framework import program_guard
        from .operators import append

        if self.program.current_block() is not self:
            raise fault(
                RuntimeError, "another block of the program is being filled", "append operators to the current block"
            )
        with program_guard(self.program):
            append(type, inputs, outputs, attrs)

    # Values ---------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def building(self) -> Iterator[Block]:
        """A scope in which ops are appended to this block."""
        if CALLS.block is self:
            yield self
            return
        former, CALLS.block = CALLS.block, self
        self._core.enter()
        try:
            yield self
        finally:
            CALLS.block = former
            _core.leave_program()

    def _peek(self, var: Variable) -> Any:
        """The value that a variable has now, as far as it is known here or further out."""
        block: Block | None = self.program.current_block()
        while block is not None:
            if var.name in block._values:
                return block._values[var.name]
            block = block.parent
        return self._values.get(var.name)

    def raw(self, var: Variable) -> Any:
        """The tensor of a variable, while this block is built.

        Args:
            var: A variable of this block or of an outer one.
        """
        if self.program._has_tasks:
            self._await(var.name)
        if isinstance(var, State):
            return var.read(self)
        if var.block is None:
            return var._tensor
        found = self._values.get(var.name)
        if found is None:
            if self.parent is None and var.block is self and self._can_be_fed(var):
                return self._fed(var)
            if self.parent is None or var.block is self:
                raise self._no_value(var)
            with self.parent.building():
                outer = self.parent.value(var)
            label = f"v{len(self._inputs)}"
            found = self._values[var.name] = _as_input(label, outer)
            self._inputs[label] = var
        return found

    def _await(self, name: str | None = None) -> None:
        """Waits for the task that writes a variable, here or further out; without a name for all that this block has
        started."""
        if name is None:
            while self._awaited:
                next(iter(self._awaited.values()))()
            return
        block: Block | None = self
        while block is not None:
            if name in block._awaited:
                block._awaited[name]()
            block = block.parent

    def declare(self, name: str, sizes: Sequence[int], dtype: Any, lod_level: int, stop_gradient: bool = True) -> Variable:
        """A variable that is fed, once something reads it: what nothing reads need not be fed.

        Args:
            name: Its name.
            sizes: All of its sizes; -1 for those that are open.
            dtype: Its element type.
            lod_level: How many levels of sequences its rows have.
            stop_gradient: Whether it gets no gradient.
        """
        var = Variable(self, name, sizes, dtype, stop_gradient=stop_gradient, lod_level=lod_level)
        var.is_data = True
        self.vars[name] = var
        self._version += 1
        return var

    def _can_be_fed(self, var: Variable) -> bool:
        is_known = var._shape is not None and var._dtype is not None
        return is_known and var.type is VarType.LOD_TENSOR and self.vars.get(var.name) is var

    def _fed(self, var: Variable) -> Any:
        """A variable of `create_var` that is read before it is written is an input, as in Fluid."""
        from .layers.io import input_of

        value = self._values[var.name] = input_of(
            var.name, var._shape or (), var._dtype, var.lod_level, var._own_rows
        )
        var.is_data = True
        return value

    def _no_value(self, var: Variable) -> RuntimeError:
        if var.block is not None and var.block.program is not self.program:
            return fault(
                RuntimeError,
                f"`{var.name}` belongs to another program",
                "build both parts under one `program_guard`",
            )
        inner = var.block is not None and var.block.idx > self.idx
        what = "is made in a block that is closed" if inner else "has no value yet"
        remedy = "write it to a variable from outside of the block with `layers.assign(x, out)`" if inner else (
            "give it one, for example with `layers.assign` or `layers.array_write`"
        )
        return fault(RuntimeError, f"`{var.name}` {what}", remedy)

    def value(self, var: Variable) -> Any:
        """The tensor of a variable as functions take it: a single number has one axis.

        Args:
            var: The variable.
        """
        tensor = self.raw(var)
        if isinstance(tensor, _core.Tensor) and not tensor.type_text.startswith(("list", "chan")) and tensor.ndim == 0:
            known = self._lifted.get(var.name)
            if known is None or known[0] is not tensor:
                known = self._lifted[var.name] = (tensor, _core.reshape(tensor, (1,)))
            tensor = known[1]
        is_leaf = var.is_data or isinstance(var, State)
        if var.stop_gradient and not is_leaf and isinstance(tensor, _core.Tensor) and "float" in tensor.dtype.name:
            return tensor.detach()
        return tensor

    def kept(self) -> tuple[Any, ...]:
        """What it knows of values and states, for `restore`."""
        rows = {name: list(uses) for name, uses in self._looked_up.items()}
        return dict(self._values), set(self._states), dict(self._lifted), rows

    def restore(self, kept: tuple[Any, ...]) -> None:
        """Forgets what it has got to know since `kept`.

        Args:
            kept: What `kept` gave.
        """
        self._values, self._states, self._lifted = dict(kept[0]), set(kept[1]), dict(kept[2])
        self._looked_up = {name: list(uses) for name, uses in kept[3].items()}

    def _differ(self, var: Variable) -> None:
        """Makes a constant a value of its own, whose gradient can be asked for: blocks inside have copies of constants."""
        made = next((op for op in self.ops if var.name in op._outputs), None)
        tensor: Any = self._values.get(var.name)
        is_constant = made is not None and made.type in _CONSTANTS and isinstance(tensor, _core.Tensor)
        if is_constant and "float" in tensor.dtype.name:
            with self.building():
                self._values[var.name] = tensor + 0.0
            self._version += 1

    def write(self, var: Variable, tensor: Any) -> None:
        """Gives a variable another value, from here on.

        Args:
            var: A variable of this block or of an outer one.
            tensor: Its next value.
        """
        self._version += 1
        if isinstance(var, State):
            var.assign(self, tensor)
            return
        self._values[var.name] = tensor
        if var.block is not self:
            self._written[var.name] = var

    def made(self, tensor: Any, name: str | None = None, label: str = "tmp") -> Variable:
        """A new variable of this block with a value.

        Args:
            tensor: Its value.
            name: Its name.
            label: What its name is made of, if none is given.
        """
        var = Variable(self, name or unique_name.generate(label))
        var.lod_level = tensor.levels if isinstance(tensor, Ragged) else 0
        self.vars[var.name] = var
        self._values[var.name] = tensor
        self._version += 1
        return var

    def __repr__(self) -> str:
        return f"<block {self.idx} with {len(self.vars)} variables>"


def inner_input(label: str, text: str) -> Any:
    """An input of an inner block, which is being built. Sizes that only a run knows have names of its own in it.

    Args:
        label: Its name.
        text: The type of what stands for it outside.
    """
    import re

    return _core.program_input(label, re.sub(r"(?<!\w)_(\d+)\b", r"open\1", text))


def _as_input(label: str, outer: Any) -> Any:
    """The input of an inner block that stands for a value of an outer one."""
    if isinstance(outer, _core.Tensor):
        return inner_input(label, outer.type_text)
    from . import _ragged

    return _ragged.as_input(label, outer)


def _near(name: str, names: Any) -> str:
    import difflib

    near = difflib.get_close_matches(name, list(names), 1)
    return f"is it `{near[0]}`?" if near else "`[v.name for v in program.list_vars()]` lists those that it has"


class State(Variable):
    """A variable that keeps its value between runs, in the scope that a program runs in."""

    #: How its initial value is made.
    init: Any = 0.0
    role = "buffer"
    sizes: tuple[int, ...] = ()

    @staticmethod
    def of(
        block: Block,
        name: str,
        shape: Sequence[int],
        dtype: Any,
        init: Any,
        *,
        kind: type[State] | None = None,
        startup: Program | None = None,
        **settings: Any,
    ) -> State:
        """The state of this name; one that is there already is given out again.

        Args:
            block: The outermost block of its program.
            name: Its name.
            shape: Its sizes.
            dtype: Its element type.
            init: A number, or a function of sizes and element type.
            kind: The class, if it is trained.
            startup: The program that makes its initial value.
            settings: Those of the class.
        """
        sizes = tuple(int(size) for size in shape)
        known = block.vars.get(name)
        if isinstance(known, State):
            if known.sizes != sizes:
                raise fault(
                    ValueError,
                    f"`{name}` has the sizes {list(known.sizes)} and is wanted with {list(sizes)}",
                    "give one of both another name",
                )
            return known
        made = (kind or State)(block, name, shape=sizes, dtype=dtype, **settings)
        made.persistable = True
        made.sizes, made.init = sizes, 0.0 if init is None else init
        block.vars[name] = made
        block._version += 1
        if startup is not None:
            startup.global_block().vars.setdefault(name, made)
            startup._made[name] = made
            startup.global_block()._version += 1
        return made

    def read(self, block: Block) -> Any:
        """The value, while a block is built."""
        if self.name in block._states:
            found = _core.read_state(self.name)
        else:
            block._states.add(self.name)
            found = self.declare()
        block._values[self.name] = found
        return found

    def declare(self) -> Any:
        """Makes it a state of the program of the core that is being built, and reads it."""
        dtype = self._dtype_name()
        if self.role == "parameter" or callable(self.init):
            # Its initial value depends on its name and the seed, not on what was made before.
            kind = _core.Parameter if self.role == "parameter" else _core.Buffer
            own = kind(self.sizes, dtype, self.init)
            own.share(self.name)
            return own.get()
        return _core.declare_state(self.name, self.sizes, dtype, self.init, self.role)

    def assign(self, block: Block, tensor: Any) -> None:
        """Gives it another value, while a block is built."""
        self.read(block)
        if tuple(tensor.shape) != self.sizes:
            tensor = _core.reshape(tensor, self.sizes)
        if tensor.dtype.name != self._dtype_name():
            tensor = _core.cast(tensor, self._dtype_name())
        _core.assign_state(self.name, tensor)
        block._values[self.name] = tensor

    def _dtype_name(self) -> str:
        return str.__str__(self._dtype.value if self._dtype is not None else "float32")

    def _now(self) -> Any:
        return None if self.block is not None else self._tensor


class ParameterState(Parameter, State):
    """A trained variable of a program."""

    role = "parameter"
