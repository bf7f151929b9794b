"""A machine for the part of pickle that weights need.

It knows no function of the file's choice: a global is one of a short list, or an error. What the
file claims is never believed: lengths are bounded by the bytes that are there.
"""

from __future__ import annotations

import pickletools
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

RESAVE = "in PyTorch, `torch.save(model.state_dict(), path)`, and load that file"
DAMAGED = "get the file again; it is damaged, or no file of PyTorch"


#: What a damaged pickle makes a machine raise.
FAULTS = (ValueError, LookupError, TypeError, AttributeError, OverflowError, struct.error)


class Refused(Exception):
    """Why a file is not read."""

    def __init__(self, what: str, remedy: str = DAMAGED) -> None:
        super().__init__(what)
        self.what, self.remedy = what, remedy


class Storage:
    """Elements somewhere in the file, as the pickle claims them."""

    def __init__(self, kind: str, key: str, count: int) -> None:
        #: The name of the element type; nothing if it is only bytes.
        self.kind, self.key, self.count = kind, key, count


class View:
    """A tensor: a part of a storage."""

    def __init__(
        self, storage: Storage, kind: str, offset: int, sizes: tuple[int, ...], strides: tuple[int, ...]
    ) -> None:
        self.storage, self.kind = storage, kind
        self.offset, self.sizes, self.strides = offset, sizes, strides


class Kind:
    """An element type, on its own."""

    def __init__(self, name: str) -> None:
        self.name = name


class Name:
    """A global of the list."""

    def __init__(self, name: str) -> None:
        self.name = name


STORAGES = {
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
}
ALIASES = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32"}
#: How many bytes an element takes.
WIDTHS = {
    **{"bool": 1, "uint8": 1, "int8": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2},
    **{"int32": 4, "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8},
}
CALLED = {
    # How Python 3 writes bytes for Python 2, as Paddle does.
    "_codecs.encode",
    "collections.OrderedDict",
    "torch.Size",
    "torch.device",
    "torch._utils._rebuild_tensor",
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_tensor_v3",
    "torch._utils._rebuild_parameter",
    "torch._utils._rebuild_parameter_with_state",
    "torch._tensor._rebuild_from_type_v2",
}
CLASSES = {"torch.Tensor", "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer"}


def find(module: str, name: str) -> Any:
    """What a global of the file stands for here."""
    from ._arrays import NAMES

    full = f"{module}.{name}"
    if full in NAMES:
        return Name(full)
    if full in CALLED or full in CLASSES:
        return Name(full)
    if full == "torch.storage.UntypedStorage":
        return Storage("", "", 0)
    if module == "torch":
        if name in STORAGES:
            return Storage(STORAGES[name], "", 0)
        if ALIASES.get(name, name) in WIDTHS:
            return Kind(ALIASES.get(name, name))
        if name.endswith("Storage") or name.startswith(("complex", "float8", "uint", "qint", "quint")):
            raise Refused(
                f"there are tensors of the type `{full}` in it, which Fluvial does not have",
                "in PyTorch, cast them to a float or integer type, and save again",
            )
    raise Refused(f"it wants to call `{full}`, which is not part of weights", RESAVE)


class Machine:
    """Reads one pickle from a stream.

    Args:
        stream: The stream; it stands after the pickle then.
        budget: How many elements of lists and letters of texts may be copied: as many as there are bytes.
    """

    def __init__(self, stream: Any, budget: int) -> None:
        self._stream, self._budget = stream, budget
        self._stack: list[Any] = []
        self._outer: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        #: The names of element types by storage.
        self.storages: dict[str, str] = {}

    def run(self) -> Any:
        """What the pickle holds."""
        name = "nothing"
        try:
            for code, argument, _ in pickletools.genops(self._stream):
                name = code.name
                if name == "STOP":
                    break
                self._step(name, argument)
            return self._stack.pop()
        except Refused:
            raise
        except FAULTS as error:
            raise Refused(f"its pickle is damaged, after {name}: {error}") from None

    def _step(self, name: str, argument: Any) -> None:
        stack = self._stack
        if name in PUSHED:
            stack.append(argument)
        elif name in MADE:
            stack.append(MADE[name]())
        elif name in TUPLES:
            count = TUPLES[name]
            parts = tuple(stack[-count:])
            if len(parts) < count:
                raise IndexError("the stack is empty")
            del stack[-count:]
            stack.append(parts)
        elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
            self._memo[int(argument)] = stack[-1]
        elif name == "MEMOIZE":
            self._memo[len(self._memo)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(self._memo[int(argument)])
        elif name not in ("PROTO", "FRAME"):
            handler: Callable[[Machine, Any], None] | None = HANDLERS.get(name)
            if handler is None:
                raise Refused(f"its pickle uses {name}, which is not part of weights", RESAVE)
            handler(self, argument)

    def _mark(self, _: Any) -> None:
        self._outer.append(self._stack)
        self._stack = []

    def _since_mark(self) -> list[Any]:
        items, self._stack = self._stack, self._outer.pop()
        return items

    def _tuple(self, _: Any) -> None:
        items = self._since_mark()
        self._stack.append(tuple(items))

    def _list(self, _: Any) -> None:
        items = self._since_mark()
        self._stack.append(items)

    def _appends(self, _: Any) -> None:
        items = self._since_mark()
        self._target(list).extend(items)

    def _append(self, _: Any) -> None:
        item = self._stack.pop()
        self._target(list).append(item)

    def _setitems(self, _: Any) -> None:
        items = self._since_mark()
        self._store(self._target(dict), items[::2], items[1::2])

    def _setitem(self, _: Any) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self._store(self._target(dict), [key], [value])

    def _target(self, kind: type) -> Any:
        if type(self._stack[-1]) is not kind:
            raise TypeError(f"a {kind.__name__} was expected")
        return self._stack[-1]

    def _store(self, target: dict[Any, Any], keys: list[Any], values: list[Any]) -> None:
        if len(keys) != len(values):
            raise ValueError("a key has no value")
        for key in keys:
            if not isinstance(key, (str, bytes, int, float, type(None))):
                raise Refused("a key of a dict is neither a string nor a number", RESAVE)
        target.update(zip(keys, values))

    def _global(self, argument: str) -> None:
        module, _, name = argument.partition(" ")
        self._stack.append(find(module, name))

    def _stack_global(self, _: Any) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        if type(name) is not str or type(module) is not str:
            raise TypeError("the name of a global is not text")
        self._stack.append(find(module, name))

    def _persistent(self, _: Any) -> None:
        identity = self._stack.pop()
        if type(identity) is tuple and identity[:1] == ("module",):
            raise Refused("it holds a whole model, with its code", RESAVE)
        if type(identity) is not tuple or len(identity) not in (5, 6) or identity[0] != "storage":
            raise ValueError("a storage is described wrongly")
        _, kind, key, _, count = identity[:5]
        if len(identity) == 6 and identity[5] is not None:
            raise Refused("it holds views of storages, which only very old versions wrote", RESAVE)
        if type(kind) is not Storage or type(key) is not str or type(count) is not int or count < 0:
            raise ValueError("a storage is described wrongly")
        self.storages[key] = kind.kind
        self._stack.append(Storage(kind.kind, key, count))

    def _reduce(self, _: Any) -> None:
        arguments, called = self._stack.pop(), self._stack.pop()
        if type(called) is not Name or type(arguments) is not tuple:
            raise TypeError("what is called is not a function")
        self._stack.append(self._call(called.name, arguments))

    def _call(self, name: str, arguments: tuple[Any, ...]) -> Any:
        from . import _arrays

        short = name.rpartition(".")[2]
        if name in _arrays.RECONSTRUCT:
            return _arrays.Array()
        if name == "numpy.dtype":
            return _arrays.element_type(arguments)
        if name == "_codecs.encode":
            text, coding = arguments
            if type(text) is not str or coding != "latin1":
                raise ValueError("bytes are described wrongly")
            return text.encode("latin1")
        if short == "OrderedDict":
            return self._ordered(*arguments)
        if short == "Size":
            (sizes,) = arguments
            return sizes if type(sizes) is tuple else tuple(self._spent(sizes))
        if short == "device":
            parts = [str(part) for part in arguments if isinstance(part, (str, int))]
            return ":".join(self._spent(parts, sum(map(len, parts))))
        if short in ("_rebuild_parameter", "_rebuild_parameter_with_state"):
            if type(arguments[0]) is not View:
                raise TypeError("a parameter holds no tensor")
            return arguments[0]
        if short == "_rebuild_from_type_v2":
            function, kind, inner, _ = arguments
            if type(function) is Name and type(kind) is Name and kind.name in CLASSES:
                if function.name in CALLED and function.name != name and type(inner) is tuple:
                    return self._call(function.name, inner)
        elif short in ("_rebuild_tensor", "_rebuild_tensor_v2"):
            storage, offset, sizes, strides = arguments[:4]
            self._plain(arguments[6:])
            return _view(storage, storage.kind, offset, sizes, strides)
        elif short == "_rebuild_tensor_v3":
            storage, offset, sizes, strides, _, _, kind = arguments[:7]
            self._plain(arguments[7:])
            return _view(storage, kind.name, offset, sizes, strides)
        raise TypeError(f"`{name}` is called wrongly")

    def _plain(self, more: tuple[Any, ...]) -> None:
        if any(more):
            raise Refused(
                "a tensor in it is the conjugate or negative of what is stored",
                "in PyTorch, call `.resolve_conj().resolve_neg()` on it, and save again",
            )

    def _ordered(self, pairs: Any = ()) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, value in self._spent(pairs):
            self._store(made, [key], [value])
        return made

    def _spent(self, items: Any, count: int | None = None) -> Any:
        if type(items) not in (list, tuple):
            raise TypeError("a list was expected")
        self._budget -= len(items) if count is None else count
        if self._budget < 0:
            raise ValueError("lists or texts are copied more often than its size explains")
        return items

    def _build(self, _: Any) -> None:
        from . import _arrays

        # Attributes, such as the versions of layers that PyTorch keeps beside a state dict.
        state, built = self._stack.pop(), self._stack[-1]
        if type(built) is _arrays.Array:
            built.build(state)
        elif type(built) is Kind:
            _arrays.check_order(state)
        elif type(built) not in (dict, View):
            raise TypeError("attributes belong to no object")

    def _pop(self, _: Any) -> None:
        self._stack.pop()


def _view(storage: Any, kind: Any, offset: Any, sizes: Any, strides: Any) -> View:
    if type(storage) is not Storage or type(kind) is not str or type(offset) is not int:
        raise TypeError("a tensor is described wrongly")
    if type(sizes) is not tuple or type(strides) is not tuple or len(sizes) != len(strides):
        raise TypeError("a tensor is described wrongly")
    if offset < 0 or any(type(n) is not int or n < 0 for n in (*sizes, *strides)):
        raise ValueError("a tensor is described wrongly: a size, stride or offset is not a whole number")
    return View(storage, kind, offset, sizes, strides)


PUSHED = {
    *("BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING"),
    *("SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
}
MADE: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
HANDLERS: dict[str, Callable[[Machine, Any], None]] = {
    "MARK": Machine._mark,
    "TUPLE": Machine._tuple,
    "LIST": Machine._list,
    "APPENDS": Machine._appends,
    "APPEND": Machine._append,
    "SETITEMS": Machine._setitems,
    "SETITEM": Machine._setitem,
    "GLOBAL": Machine._global,
    "STACK_GLOBAL": Machine._stack_global,
    "BINPERSID": Machine._persistent,
    "REDUCE": Machine._reduce,
    "BUILD": Machine._build,
    "POP": Machine._pop,
}
