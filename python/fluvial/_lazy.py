"""Expressions over variables whose shapes are not known until they are fed."""

from __future__ import annotations

import functools
import operator

from . import _core
from ._core import Program, Tensor
from ._fault import fault
from ._retrace import begin_program
from ._sequence import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike
    from typing import Any

    from ._core import Compiled, DTypeLike


class Lazy:
    """A value that is computed when it is compiled and fed; see `fl.Variable`."""

    __array_ufunc__ = None
    #: Tells functions that take tensors what this is.
    lazy = True

    def __init__(self, function: Callable[..., Any], *operands: Any, **options: Any) -> None:
        self._function, self._operands, self._options = function, operands, options

    def variables(self) -> list[Variable]:
        """The variables it depends on, in the order of their first use."""
        found: dict[int, Variable] = {}
        seen: set[int] = set()
        stack: list[Any] = [self]
        while stack:
            node = stack.pop()
            if isinstance(node, (tuple, list)):
                stack.extend(reversed(node))
            elif isinstance(node, Lazy) and id(node) not in seen:
                seen.add(id(node))
                if isinstance(node, Variable):
                    found[id(node)] = node
                stack.extend(reversed(node._operands))
        return list(found.values())

    def compile(self, **options: Any) -> CompiledLazy:
        """A callable that takes the variables by name; `fl.compile` calls it."""
        return CompiledLazy([self], True, options)

    def grad(self, wrt: Sequence[Variable] | Variable) -> Any:
        """The gradients of its sum.

        Args:
            wrt: A variable, or several.

        Returns:
            One expression, or a list of them if `wrt` is a sequence.
        """
        if isinstance(wrt, Lazy):
            return self.grad([wrt])[0]
        every = Lazy(lambda y, x: tuple(_core.gradients(y, list(x))), self, tuple(wrt))
        return [Lazy(lambda grads, i: grads[i], every, i) for i in range(len(wrt))]

    def save(self, path: str | PathLike[str]) -> None:
        """Writes its program to a file, for the number of axes and the dtypes fed last.

        Args:
            path: The file: text if it ends in ".fl", or else binary.
        """
        self._program().save(path)

    def _program(self) -> Program:
        variables = self.variables()
        for variable in variables:
            if variable.type is None:
                raise fault(
                    RuntimeError,
                    f"nothing is known of the variable `{variable.name}` yet",
                    "give it a shape, or call the compiled expression once",
                )
        return _built([self], variables, {v.name: v.type for v in variables})

    def __str__(self) -> str:
        return str(self._program())

    def __repr__(self) -> str:
        names = ", ".join(variable.name for variable in self.variables())
        return f"<expression of {names}>"

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise fault(
            RuntimeError,
            "whether an expression holds is not known before it is fed",
            "use `fl.function` for code with `if` and `while`",
        )

    def __getitem__(self, key: Any) -> Lazy:
        return Lazy(lambda x, key: x[key], self, key)

    if TYPE_CHECKING:
        # `_give_operators` makes them.
        def __add__(self, other: Any) -> Lazy: ...
        def __radd__(self, other: Any) -> Lazy: ...
        def __sub__(self, other: Any) -> Lazy: ...
        def __rsub__(self, other: Any) -> Lazy: ...
        def __mul__(self, other: Any) -> Lazy: ...
        def __rmul__(self, other: Any) -> Lazy: ...
        def __truediv__(self, other: Any) -> Lazy: ...
        def __rtruediv__(self, other: Any) -> Lazy: ...
        def __floordiv__(self, other: Any) -> Lazy: ...
        def __rfloordiv__(self, other: Any) -> Lazy: ...
        def __mod__(self, other: Any) -> Lazy: ...
        def __rmod__(self, other: Any) -> Lazy: ...
        def __pow__(self, other: Any) -> Lazy: ...
        def __rpow__(self, other: Any) -> Lazy: ...
        def __matmul__(self, other: Any) -> Lazy: ...
        def __rmatmul__(self, other: Any) -> Lazy: ...
        def __and__(self, other: Any) -> Lazy: ...
        def __rand__(self, other: Any) -> Lazy: ...
        def __or__(self, other: Any) -> Lazy: ...
        def __ror__(self, other: Any) -> Lazy: ...
        def __xor__(self, other: Any) -> Lazy: ...
        def __rxor__(self, other: Any) -> Lazy: ...
        def __lt__(self, other: Any) -> Lazy: ...
        def __le__(self, other: Any) -> Lazy: ...
        def __gt__(self, other: Any) -> Lazy: ...
        def __ge__(self, other: Any) -> Lazy: ...
        def __eq__(self, other: Any) -> Lazy: ...  # type: ignore[override]
        def __ne__(self, other: Any) -> Lazy: ...  # type: ignore[override]
        def __neg__(self) -> Lazy: ...
        def __pos__(self) -> Lazy: ...
        def __abs__(self) -> Lazy: ...
        def __invert__(self) -> Lazy: ...

    def __getattr__(self, name: str) -> Any:
        method = getattr(Tensor, name, None)
        if name.startswith("_") or not callable(method):
            raise AttributeError(f"an expression has no attribute `{name}` before it is fed")
        return lambda *args, **options: Lazy(method, self, *args, **options)


class Variable(Lazy):
    """An input of expressions, by name; its shape and dtype are those of what is fed.

    Args:
        name: The name.
        shape: Its sizes, if they are declared: ints and names of symbols.
        dtype: The element type, if it is declared; with a shape it is float32 by default.

    Example:
        >>> A, B = fl.Variable("A"), fl.Variable("B")
        >>> D = B * A + fl.Constant(1)
        >>> f = fl.compile(D)
        >>> f(A=np.ones(3), B=np.ones(3) * 2).tolist()
        [3.0, 3.0, 3.0]
        >>> gradient = fl.compile(D.grad(wrt=[A, B]))
        >>> [g.tolist() for g in gradient(A=np.ones(3), B=np.ones(3) * 2)]
        [[2.0, 2.0, 2.0], [1.0, 1.0, 1.0]]
    """

    def __init__(
        self,
        name: str,
        shape: Sequence[int | str] | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(lambda: None)
        take_expressions()
        self.name = name
        self.dtype = dtype
        #: The type it has in programs, once that is known.
        self.type: Any = None if shape is None else (dtype or "float32", tuple(listed(shape, "sizes")))
        self._declared = shape is not None

    def __repr__(self) -> str:
        return f"Variable({self.name!r})"


class Constant(Lazy):
    """A number or an array in an expression.

    Args:
        value: A number, nested lists, an array or a tensor.
    """

    def __init__(self, value: Any) -> None:
        take_expressions()
        is_number = isinstance(value, (bool, int, float))
        super().__init__(lambda: value if is_number else _core.tensor(value))


class CompiledLazy:
    """Compiled expressions, called with their variables by name."""

    def __init__(self, outputs: list[Lazy], single: bool, options: dict[str, Any]) -> None:
        self._outputs, self._single, self._options = outputs, single, options
        found = [variable for output in outputs for variable in output.variables()]
        self.variables = list({id(variable): variable for variable in found}.values())
        names = [variable.name for variable in self.variables]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise fault(ValueError, f"two variables are named `{twice.pop()}`", "rename one")
        self._compiled: dict[Any, Compiled] = {}

    def __call__(self, *inputs: Any, **feeds: Any) -> Any:
        names = [variable.name for variable in self.variables]
        fed = dict(zip(names, inputs)) | feeds
        if len(inputs) > len(names) or fed.keys() != set(names):
            missing = [name for name in names if name not in fed]
            unknown = [name for name in fed if name not in names]
            wrong = f"`{missing[0]}` was not fed" if missing else f"there is no variable `{unknown or inputs}`"
            raise fault(ValueError, wrong, f"feed {', '.join(names)}")
        tensors = {v.name: _core.tensor(fed[v.name], v.dtype) for v in self.variables}
        for name, tensor in tensors.items():
            if isinstance(fed[name], Tensor):
                tensors[name] = fed[name]
        types = _patterns(self.variables, tensors)
        key = tuple(types.items())
        if key not in self._compiled:
            self._compiled[key] = self._compile(types, tensors)
        return self._compiled[key](**tensors)

    def _compile(self, types: dict[str, Any], tensors: dict[str, Tensor]) -> Compiled:
        program = _built(self._outputs, self.variables, types)
        for variable in self.variables:
            variable.type = types[variable.name]
        return program.compile(single=self._single, **self._options)


def _patterns(variables: list[Variable], tensors: dict[str, Tensor]) -> dict[str, Any]:
    """The types of what is fed: sizes that are equal are one symbol, but one is one, since it
    broadcasts."""
    symbols: dict[int, str] = {}

    def size(n: Any) -> int | str:
        return n if n == 1 else symbols.setdefault(n, f"n{len(symbols)}")

    types = {}
    for variable in variables:
        tensor = tensors[variable.name]
        bound = (tensor.dtype, tuple(size(n) for n in tensor.shape))
        types[variable.name] = variable.type if variable._declared else bound
    return types


def compile_lazy(outputs: Sequence[Lazy], **options: Any) -> CompiledLazy:
    """Compiles several expressions together."""
    return CompiledLazy(list(outputs), False, options)


def _built(outputs: Sequence[Lazy], variables: list[Variable], types: dict[str, Any]) -> Program:
    """The program of expressions for variables of these types."""
    begin_program()
    try:
        known: dict[int, Any] = {
            id(variable): _core.program_input(variable.name, types[variable.name])
            for variable in variables
        }

        def value(node: Any) -> Any:
            if isinstance(node, (tuple, list)):
                return type(node)(value(part) for part in node)
            if not isinstance(node, Lazy):
                return node
            if id(node) not in known:
                operands = [value(operand) for operand in node._operands]
                known[id(node)] = node._function(*operands, **node._options)
            return known[id(node)]

        results = {f"out{i}": value(output) for i, output in enumerate(outputs)}
    except BaseException:
        _core.abort_program()
        raise
    return _core.end_program(results)


_TAKEN: list[bool] = []


def take_expressions() -> None:
    """Makes the functions of the package take expressions too: from the first variable on, so that nobody else
    pays for it."""
    if _TAKEN:
        return
    _TAKEN.append(True)
    import sys

    from . import _array_api, _ops

    package = sys.modules[__package__ or ""]
    for name in {*_ops.__all__, *_array_api.__all__}:
        function = getattr(package, name)
        if callable(function) and not isinstance(function, (type, type(package))):
            setattr(package, name, _taking(function))


def _taking(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        for arg in args:
            if isinstance(arg, Lazy) or (
                isinstance(arg, (list, tuple)) and any(isinstance(part, Lazy) for part in arg)
            ):
                return Lazy(function, *args, **options)
        return function(*args, **options)

    # Pickles and help find it where the function was.
    call.__module__, call.__qualname__ = __package__ or "", function.__name__
    call.__text_signature__ = getattr(function, "__text_signature__", None)  # type: ignore[attr-defined]
    call._fl_plain = function  # type: ignore[attr-defined]
    return call


_BINARY = "add sub mul truediv floordiv mod pow matmul and_ or_ xor lt le gt ge eq ne".split()
_UNARY = "neg pos abs invert".split()


def _give_operators() -> None:
    def straight(function: Callable[..., Any]) -> Any:
        return lambda *operands: Lazy(function, *operands)

    def reflected(function: Callable[..., Any]) -> Any:
        return lambda self, other: Lazy(function, other, self)

    for name in (*_BINARY, *_UNARY):
        function = getattr(operator, name)
        plain = name.rstrip("_")
        setattr(Lazy, f"__{plain}__", straight(function))
        if name in _BINARY[:11]:
            setattr(Lazy, f"__r{plain}__", reflected(function))


_give_operators()
