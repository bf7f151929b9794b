"""PyTorch's `torch.compile` and `torch.jit`: both are `fluvial.function` here."""

from __future__ import annotations

import builtins
import types

from .. import function
from .._fault import fault
from ..nn import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["compile", "compiler", "jit"]


class Compiled(Layer):
    """A layer whose calls run as a program. Its parameters, hooks and state are those of the layer."""

    def __init__(self, layer: Layer) -> None:
        super().__init__()
        self._orig_mod = layer
        object.__setattr__(self, "_program", function(lambda *args, **options: layer(*args, **options)))

    def forward(self, *args: Any, **options: Any) -> Any:
        return self._program(*args, **options)

    def __getattr__(self, name: str) -> Any:
        layer = (self.__dict__.get("_sublayers") or {}).get("_orig_mod")
        if layer is None or name == "_orig_mod" or name.startswith("__"):
            return super().__getattr__(name)
        return getattr(layer, name)


def compile(
    model: Any = None, *, fullgraph: builtins.bool = False, dynamic: Any = None, backend: Any = "inductor", mode: Any = None,
    options: Any = None, disable: builtins.bool = False,
) -> Any:  # fmt: skip
    """The function or layer, run as a program: see `fluvial.function`.

    Args:
        model: A function or a layer; without it, a decorator is returned.
        fullgraph: Whether one program has to do for all paths.
        dynamic: Taken; programs become open in their sizes by themselves.
        backend: Taken; there is one.
        mode: Taken; there is one.
        options: Taken; what is computed does not depend on them.
        disable: Whether nothing is compiled.
    """
    if model is None:
        return lambda model: compile(model, fullgraph=fullgraph, disable=disable)
    if disable:
        return model
    if isinstance(model, Layer):
        return Compiled(model)
    return function(model, whole=fullgraph)


def _same(found: Any = None, *_: Any, **__: Any) -> Any:
    return found if callable(found) else (lambda function: function)


def _trace(func: Any, example_inputs: Any = None, **_: Any) -> Any:
    """The function or layer, run as a program. Unlike PyTorch's, it keeps its `if`s."""
    made = compile(func)
    if example_inputs is not None:
        made(*(example_inputs if isinstance(example_inputs, (tuple, list)) else (example_inputs,)))
    return made


def _script(obj: Any, *_: Any, **__: Any) -> Any:
    """The function or layer, run as a program; a class is given back as it is."""
    return obj if isinstance(obj, type) else compile(obj)


def _files(*_: Any, **__: Any) -> Any:
    raise fault(RuntimeError, "a file of TorchScript is neither written nor read", "write `fluvial.save_inference_model`, or `torch.save(model.state_dict(), path)`")


class _Jit(types.ModuleType):
    """What there is of `torch.jit`."""

    script, trace = staticmethod(_script), staticmethod(_trace)
    ignore = unused = export = script_method = staticmethod(_same)
    save = load = staticmethod(_files)
    is_scripting = is_tracing = staticmethod(lambda: False)
    ScriptModule = Layer

    def __getattr__(self, name: str) -> Any:
        raise fault(AttributeError, f"module `torch.jit` has no attribute `{name}`", "`fluvial.function` takes functions and layers as they are")


class _Compiler(types.ModuleType):
    """What there is of `torch.compiler`."""

    disable = allow_in_graph = staticmethod(_same)
    reset = staticmethod(lambda: None)
    is_compiling = staticmethod(lambda: False)


jit, compiler = _Jit("torch.jit"), _Compiler("torch.compiler")
