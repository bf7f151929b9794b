"""What names of PyTorch and Fluid are called here, for errors. Loaded when a name was not found."""

from __future__ import annotations

import sys

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
    "fluvial.distributions": dict.fromkeys(
        "ContinuousBernoulli ExponentialFamily FisherSnedecor GeneralizedPareto HalfCauchy InverseGamma Kumaraswamy LKJCholesky "
        "LogisticNormal LowRankMultivariateNormal NegativeBinomial OneHotCategoricalStraightThrough Pareto RelaxedBernoulli "
        "RelaxedOneHotCategorical VonMises Weibull Wishart".split(),
        "fl.distributions.TransformedDistribution",
    ),
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
    own = "_functions.py _options.py _places.py _more.py _state.py nn/functional.py nn/_losses.py nn/_activations.py".split()
    files = own if module == "fluvial" else ["nn/_layers.py"]
    folder = os.path.join(os.path.dirname(__file__), "torch")
    for file in files:
        with open(os.path.join(folder, file), encoding="utf-8") as text:
            if re.search(rf"^(def |class ){name}\b|^{name} = ", text.read(), re.M):
                return True
    return False


def _is_method_of_torch(name: str) -> bool:
    """Whether tensors have a method in files that import `fluvial.torch`."""
    import os
    import re

    # Looked up in its text: to load it would change what methods cost.
    with open(os.path.join(os.path.dirname(__file__), "torch", "_methods.py"), encoding="utf-8") as text:
        lists = re.findall(r'^(?:TWO_MEANINGS|CHANGING) = """(.*?)"""', text.read(), re.M | re.S)
    return name in lists[0].split() or name.endswith("_") and name[:-1] in lists[1].split()


_ONE = "there is one device, the CPU"
_DENSE = "nothing: all tensors are dense; `fl.optimizer.lookup` is for gradients of rows"
_QUANTIZED = "nothing: there are no quantized element types"
_LAYOUT = "nothing: layouts are not the concern of users"
_FIXED = "`load_state_dict`, and change what it is given before"

#: Attributes of PyTorch's objects by the class here that has others for them.
_MEMBERS = {
    "Tensor": {
        "index": "x[i, j]",
        "apply_": "x.numpy() and numpy.vectorize, or a function of tensors",
        "as_strided": "x.reshape(...) or x.unfold_axis(axis, size, step)",
        "as_subclass": "a class that holds a tensor",
        "cauchy_": "fl.distributions.Cauchy(median, sigma).sample(x.shape)",
        "chalf": "x.cfloat()",
        "cuda": f"x: {_ONE}",
        "data_ptr": "x.numpy().ctypes.data",
        "detach_": "x = x.detach()",
        "eig": "fl.linalg.eig(x)",
        "geometric_": "fl.distributions.Geometric(p).sample(x.shape)",
        "geqrf": "fl.linalg.qr(x)",
        "get_device": f"nothing: {_ONE}",
        "grad_fn": "fl.why_no_gradient(y, x), or x.is_tracked",
        "index_add_": "x = x.index_add(...)",
        "is_cuda": f"False: {_ONE}",
        "istft": "fl.istft(x, n_fft)",
        "log_normal_": "x.normal_(mean, std).exp_()",
        "map_": "a function of tensors",
        "map2_": "a function of tensors",
        "module_load": "layer.load_state_dict(...)",
        "names": "nothing: axes have no names",
        "name": "nothing: axes have no names",
        "new": "x.new_zeros(...)",
        "ormqr": "fl.linalg.qr(x).Q @ y",
        "orgqr": "fl.linalg.qr(x).Q",
        "pin_memory": f"x: {_ONE}",
        "register_post_accumulate_grad_hook": "x.register_hook(hook)",
        "reinforce": "the logarithm of a probability times the reward, and `backward`",
        "resize": "x = x.reshape(...)",
        "resize_": "x = x.reshape(...)",
        "resize_as_": "x = x.reshape(y.shape)",
        "resize_as": "x = x.reshape(y.shape)",
        "set_": "x.data = y",
        "share_memory_": "x: processes do not share tensors",
        "squeeze_": "x = x.squeeze()",
        "stft": "fl.stft(x, n_fft)",
        "storage": "x.numpy()",
        "untyped_storage": "x.numpy()",
        "swapaxes_": "x = x.swapaxes(a, b)",
        "swapdims_": "x = x.swapdims(a, b)",
        "symeig": "fl.linalg.eigh(x)",
        "t_": "x = x.t()",
        "to_padded_tensor": "fl.sequence_pad(...)",
        "transpose_": "x = x.transpose(a, b)",
        "unsqueeze_": "x = x.unsqueeze(axis)",
        "volatile": "fl.no_grad()",
    }
    | dict.fromkeys("ipu xpu mtia is_ipu is_maia is_mps is_mtia is_vulkan is_xla is_xpu is_meta is_mkldnn to_mkldnn record_stream is_pinned".split(), f"nothing: {_ONE}")
    | dict.fromkeys("ccol_indices coalesce col_indices crow_indices dense_dim indices is_coalesced is_sparse is_sparse_csr row_indices smm sparse_dim "
                    "sparse_mask sparse_resize_ sparse_resize_and_clear_ resize_as_sparse_ sspaddmm to_dense to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo "
                    "to_sparse_csc to_sparse_csr values".split(), _DENSE)
    | dict.fromkeys("dequantize int_repr is_quantized q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme".split(), _QUANTIZED)
    | dict.fromkeys("as_strided_ as_strided_scatter const_data_ptr dim_order is_set_to layout new_empty_strided storage_offset storage_type stride".split(), _LAYOUT)
    | dict.fromkeys("grad_dtype hash_tensor is_distributed is_inference is_nested is_neg is_shared output_nr retains_grad slice_inverse".split(),
                    "nothing: it tells what happens inside of PyTorch"),
    "Layer": {
        "compile": "fl.function(layer)",
        "cuda": f"the layer itself: {_ONE}",
        "get_extra_state": "register_buffer(name, tensor)",
        "set_extra_state": "register_buffer(name, tensor)",
        "set_submodule": "setattr(layer, name, sublayer)",
        "share_memory": "the layer itself: processes do not share tensors",
        "to_empty": f"the layer itself: {_ONE}",
        "type": "layer.to(dtype)",
    }
    | dict.fromkeys("ipu mtia xpu".split(), f"the layer itself: {_ONE}")
    | dict.fromkeys("T_destination call_super_init dump_patches".split(), "nothing: it tells what happens inside of PyTorch")
    | dict.fromkeys("register_load_state_dict_post_hook register_load_state_dict_pre_hook register_state_dict_post_hook register_state_dict_pre_hook".split(), _FIXED),
    "Optimizer": {"lr": "optimizer.learning_rate()", "state": "optimizer.state_dict()"}
    | dict.fromkeys("register_load_state_dict_post_hook register_load_state_dict_pre_hook register_state_dict_post_hook register_state_dict_pre_hook".split(), _FIXED)
    | dict.fromkeys("OptimizerPostHook OptimizerPreHook profile_hook_step register_step_post_hook register_step_pre_hook".split(),
                    "the lines before and after `optimizer.step()`"),
}  # fmt: skip


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
    if is_tensor(owner) and _is_method_of_torch(name):
        other = f", or write `fl.{name}(x)`" if name in vars(sys.modules[str(__package__)]) else ""
        return fault(AttributeError, what, f"`import fluvial.torch as torch` in this file gives tensors PyTorch's `{name}`{other}")
    names = [known for known in dir(owner) if not known.startswith("_") and known != name]
    near = difflib.get_close_matches(name, names, 1)
    for base in type(owner).__mro__:
        elsewhere = _MEMBERS.get(base.__name__, {}).get(name)
        if elsewhere is not None:
            return fault(AttributeError, what, f"write `{elsewhere}`")
    return fault(AttributeError, what, f"is it `{near[0]}`?" if near else "`dir(x)` lists what there is")
