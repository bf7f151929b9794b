"""What names of PyTorch and Fluid are called here, for errors. Loaded when a name was not found."""

from __future__ import annotations

#: Names of PyTorch by our module, and what to write instead.
PYTORCH = {
    "fluvial": {
        "addmm": "a @ b + c",
        "allclose": "fl.testing.assert_close",
        "as_tensor": "fl.asarray",
        "autograd": "fl.grad",
        "bmm": "fl.matmul",
        "cat": "fl.concat",
        "clamp": "fl.clip",
        "hardshrink": "fl.hard_shrink",
        "hardsigmoid": "fl.hard_sigmoid",
        "hardswish": "fl.hard_swish",
        "hardtanh": "fl.hard_tanh",
        "inference_mode": "fl.no_grad",
        "is_grad_enabled": "fl.is_recording",
        "jit": "fl.function",
        "logsigmoid": "fl.log_sigmoid",
        "manual_seed": "fl.seed",
        "mm": "fl.matmul",
        "mv": "fl.matmul",
        "optim": "fl.optimizer",
        "rand": 'fl.uniform("f32[2, 3]")',
        "rand_like": "fl.uniform",
        "randn": 'fl.normal("f32[2, 3]")',
        "randn_like": "fl.normal",
        "randperm": "fl.permutation",
        "set_grad_enabled": "fl.no_grad",
        "softshrink": "fl.soft_shrink",
        "tanhshrink": "fl.tanh_shrink",
    },
    "fluvial.nn": {
        "functional": "fl",
        "init": "fl.initializer",
    },
    "fluvial.optimizer": {
    },
}


#: Names of Fluid by our module.
FLUID = {
    "fluvial": {
        "CPUPlace": "fl.Executor()",
        "CUDAPlace": "fl.Executor()",
        "DataFeeder": "fl.reader",
        "append_backward": "fl.gradients",
        "dygraph": "fl.imperative",
        "global_scope": "fl.State.current",
        "io": "fl.save_inference_model",
        "load_inference_model": "fl.load_model",
        "scope_guard": "fl.State",
    },
    "fluvial.layers": {
        "array_write": "fl.scan",
        "create_tensor": "fl.layers.create_global_var",
        "dynamic_gru": "fl.nn.GRU",
        "dynamic_lstm": "fl.nn.LSTM",
        "increment": "i + 1",
        "lstm": "fl.nn.LSTM",
        "py_func": "fl.PyLayer",
        "sequence_pool": "fl.Reader.pad",
    },
}


def no_attribute(module: str, name: str) -> AttributeError:
    """An error to raise: a module has no such name, but perhaps another one for it.

    Args:
        module: The module's name.
        name: The name that was asked for.
    """
    text = f"module `{module}` has no attribute `{name}`"
    for names, whose in ((PYTORCH, "PyTorch"), (FLUID, "Fluid")):
        known = names.get(module, {}).get(name)
        if known is not None:
            text += f"\n  remedy: what {whose} calls `{name}` is `{known}` here"
            break
    else:
        if module == "fluvial.layers" and not name.startswith("_"):
            text += "\n  remedy: `fluvial.fluid.layers` has all of Fluid's functions that are here"
    return AttributeError(text)


#: Attributes of PyTorch's objects by the class here that has others for them.
_MEMBERS = {
    "Tensor": {
        "bmm": "x.matmul(y)",
        "clamp": "x.clip(low, high)",
        "cpu": "x, which is in main memory",
        "cuda": "x: there is one device, the CPU",
        "dim": "x.ndim",
        "double": 'x.astype("float64")',
        "float": 'x.astype("float32")',
        "half": 'x.astype("float16")',
        "int": 'x.astype("int32")',
        "long": 'x.astype("int64")',
        "mm": "x.matmul(y)",
        "numel": "x.size",
        "requires_grad_": "x.track()",
        "to": 'x.astype("float32")',
        "type": 'x.astype("float32")',
        "unsqueeze": "x[None] or fl.expand_dims(x, axis)",
        "view": "x.reshape(...)",
    },
    "Layer": {
        "cpu": "the layer itself: there is one device, the CPU",
        "cuda": "the layer itself: there is one device, the CPU",
        "modules": "layer.sublayers()",
        "named_modules": "layer.named_sublayers()",
    },
    "Optimizer": {"lr": "optimizer.learning_rate()"},
}


def no_member(owner: object, name: str) -> AttributeError:
    """An error to raise: an object has no such attribute, but perhaps one of nearly that name.

    Args:
        owner: The object.
        name: The name that was asked for.
    """
    import difflib

    from ._fault import fault
    from ._tree import is_tensor

    if is_tensor(owner) and owner._is_number and not owner._is_either:
        from ._numbers import kind as kind_of

        number = kind_of(owner)
        if not hasattr(number, name):
            # It stands for a number of Python's, which has none either.
            return AttributeError(f"'{number.__name__}' object has no attribute '{name}'", name=name)
    kind = type(owner).__name__
    what = f"`{kind}` has no attribute `{name}`"
    if name.startswith("_"):
        # Protocols ask for these, and expect nothing.
        return AttributeError(what, name=name, obj=owner)
    names = [known for known in dir(owner) if not known.startswith("_")]
    near = difflib.get_close_matches(name, names, 1)
    for base in type(owner).__mro__:
        elsewhere = _MEMBERS.get(base.__name__, {}).get(name)
        if elsewhere is not None:
            return fault(AttributeError, what, f"write `{elsewhere}`")
    return fault(AttributeError, what, f"is it `{near[0]}`?" if near else "`dir(x)` lists what there is")
