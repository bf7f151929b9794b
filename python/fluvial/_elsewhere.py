"""What names of PyTorch and Fluid are called here, for errors. Loaded when a name was not found."""

from __future__ import annotations

#: Names of PyTorch by our module, and what to write instead.
PYTORCH = {
    "fluvial": {
        "as_tensor": "fl.asarray",
        "autograd": "fl.grad",
        "concatenate": "fl.concat",
        "cuda": "fl.set_num_threads",
        "frombuffer": "fl.from_numpy",
        "hardshrink": "fl.hard_shrink",
        "hardsigmoid": "fl.hard_sigmoid",
        "hardswish": "fl.hard_swish",
        "hardtanh": "fl.hard_tanh",
        "inference_mode": "fl.no_grad",
        "is_grad_enabled": "fl.is_recording",
        "jit": "fl.function",
        "logsigmoid": "fl.log_sigmoid",
        "manual_seed": "fl.seed",
        "optim": "fl.optimizer",
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
        elif _is_of_torch(module, name):
            text += f"\n  remedy: `import fluvial.torch as torch` has PyTorch's `{name}`"
    return AttributeError(text)


def _is_of_torch(module: str, name: str) -> bool:
    """Whether the namespace with PyTorch's names has a name that was not found."""
    if name.startswith("_") or module not in ("fluvial", "fluvial.nn"):
        return False
    import os
    import re

    # Looked up in its text: to load it would change what methods cost.
    files = ("_functions.py", "_state.py", "nn/functional.py") if module == "fluvial" else ("nn/_layers.py",)
    folder = os.path.join(os.path.dirname(__file__), "torch")
    for file in files:
        with open(os.path.join(folder, file), encoding="utf-8") as text:
            if re.search(rf"^(def |class ){name}\b|^{name} = ", text.read(), re.M):
                return True
    return False


#: Attributes of PyTorch's objects by the class here that has others for them.
_MEMBERS = {
    "Tensor": {
        "as_strided": "x.reshape(...) or x.unfold_axis(axis, size, step)",
        "cuda": "x: there is one device, the CPU",
        "data_ptr": "x.numpy().ctypes.data",
        "detach_": "x = x.detach()",
        "grad_fn": "fl.why_no_gradient(y, x), or x.is_tracked",
        "index_add_": "x = x.index_add(...)",
        "is_cuda": "False: there is one device, the CPU",
        "layout": "nothing: layouts are no matter of users",
        "names": "nothing: axes have no names",
        "pin_memory": "x: there is one device, the CPU",
        "resize_": "x = x.reshape(...)",
        "share_memory_": "x: processes do not share tensors",
        "squeeze_": "x = x.squeeze()",
        "storage": "x.numpy()",
        "stride": "nothing: layouts are no matter of users",
        "t_": "x = x.t()",
        "transpose_": "x = x.transpose(a, b)",
        "unsqueeze_": "x = x.unsqueeze(axis)",
    },
    "Layer": {
        "cpu": "the layer itself: there is one device, the CPU",
        "cuda": "the layer itself: there is one device, the CPU",
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
