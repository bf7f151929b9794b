"""Layers under Fluid's names, each around the function of `fluid.layers`.

Arguments are those of Fluid 1.6 to 1.8. With a text as the first one, `Conv2D("name", 8, 3)`, they are those of Fluid
1.3 to 1.5: a name, and no sizes of the input, which the first call tells.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ... import _core
from ..._fault import fault
from .._lists import listed
from .. import layers as _layers
from ..framework import CALLS, Block, default_main_program
from .layers import Layer

__all__ = [
    "FC", "Linear", "Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose", "Pool2D", "BatchNorm", "Dropout",
    "Embedding", "LayerNorm", "GRUUnit", "NCE", "PRelu", "BilinearTensorProduct", "SequenceConv", "RowConv",
    "GroupNorm", "InstanceNorm", "SpectralNorm", "TreeConv", "Flatten",
]  # fmt: skip


def _function(name: str) -> Any:
    return getattr(_layers, name)


class _Around(Layer):
    """A layer around a function of `layers`."""

    #: The name of the function.
    _of = ""
    #: Names of arguments, as Fluid 1.3 to 1.5 has them behind the name.
    _old: tuple[str, ...] = ()
    #: The same, as later ones have them.
    _new: tuple[str, ...] = ()
    #: Arguments that it has only for later ones, to know sizes.
    _sizes: tuple[str, ...] = ()
    _defaults: dict[str, Any] = {}
    #: What it was given.
    _options: dict[str, Any]

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if cls._of and cls._new:
            cls.__signature__ = _signature(cls)  # type: ignore[attr-defined]

    def __init__(self, *args: Any, **named: Any) -> None:
        # A text before arguments of which the first is given by name is a name, too.
        is_scope = bool(args) and isinstance(args[0], str) and bool(self._new) and self._new[0] in named
        is_old = self._is_old(args) or "name_scope" in named or is_scope
        scope = named.pop("name_scope", None)
        if is_old and scope is None:
            scope, args = args[0], args[1:]
        names = self._old if is_old else self._new
        if len(args) > len(names):
            raise fault(TypeError, f"`{type(self).__name__}` takes {len(names)} arguments: {', '.join(names)}")
        options = dict(zip(names, args))
        for name, value in named.items():
            if name in options or name not in {*names, *self._old, *self._new}:
                what = "twice" if name in options else "which it does not know"
                raise fault(
                    TypeError, f"`{type(self).__name__}` was given `{name}` {what}", f"it takes {', '.join(names)}"
                )
            options[name] = value
        super().__init__(scope, options.get("dtype") or "float32")
        self.__dict__["_options"] = self._prepared({**self._defaults, **options})
        missing = [name for name in self._needed(is_old) if name not in self._options]
        if missing:
            raise fault(TypeError, f"`{type(self).__name__}` needs `{missing[0]}`", f"it takes {', '.join(names)}")
        self._make()

    #: What Fluid 1.5 calls attributes of parameters, which programs of its time use.
    _former = {"_w": "weight", "_b": "bias"}

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(self._former.get(name, name), value)

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            name = self._former.get(name, name)
            said = self.__dict__.get("_options", {})
            if name == "bias" and said.get("bias_attr") is False or name == "weight" and said.get("param_attr") is False:
                # It has none, which is not an error to ask for.
                return None
            return super().__getattr__(name)

    @staticmethod
    def _is_old(args: tuple[Any, ...]) -> bool:
        """Whether a name stands before the arguments."""
        return bool(args) and isinstance(args[0], str)

    def _needed(self, is_old: bool) -> tuple[str, ...]:
        return ()

    def _prepared(self, options: dict[str, Any]) -> dict[str, Any]:
        return options

    def _taken(self) -> dict[str, Any]:
        """What the function is called with."""
        skipped = {*self._sizes, "dtype", "name"}
        return {name: value for name, value in self._options.items() if name not in skipped}

    def _trial(self) -> list[Any] | None:
        """Sizes of inputs, if they are known before the first call."""
        return None

    def _makes_later(self) -> bool:
        return not self._built and self._trial() is None

    def _make(self) -> None:
        """Makes parameters whose sizes are known, by a call that nobody sees."""
        shapes = self._trial()
        if shapes is None:
            return
        function = getattr(_function(self._of), "__wrapped__", _function(self._of))
        options = self._taken()
        if "is_test" in options:
            options["is_test"] = True
        if CALLS.dygraph:
            CALLS.depth += 1
            try:
                with _core.no_grad():
                    self._call(function, *(_zeros(shape) for shape in shapes), **options)
            finally:
                CALLS.depth -= 1
            return
        # Parameters go to the program, and the call to a block that is thrown away.
        former, CALLS.layer = CALLS.layer, None
        try:
            with Block(default_main_program(), 0).building():
                self._call(function, *(_zeros(shape) for shape in shapes), **options)
        finally:
            CALLS.layer = former

    #: What Fluid calls inputs where the function has other names.
    _inputs: dict[str, str] = {}

    def forward(self, *inputs: Any, **named: Any) -> Any:
        given = {self._inputs.get(name, name): value for name, value in named.items()}
        return self._call(_function(self._of), *inputs, **given, **self._taken())


def _signature(cls: type[_Around]) -> inspect.Signature:
    """What `help` shows: the arguments of later versions, with the defaults of the function."""
    known = inspect.signature(_function(cls._of)).parameters
    found: list[inspect.Parameter] = []
    for name in cls._new:
        default = known[name].default if name in known else inspect.Parameter.empty
        if default is inspect.Parameter.empty and found and found[-1].default is not inspect.Parameter.empty:
            default = None
        found.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default))
    return inspect.Signature(found)


def _zeros(shape: Any) -> Any:
    sizes, dtype = shape if isinstance(shape, tuple) and isinstance(shape[1], str) else (shape, "float32")
    return _core.full(tuple(sizes), 0, dtype)


class FC(_Around):
    """A fully connected layer over all axes but the first ones.

    Args:
        name_scope: What its name begins with; it may be left out.
        size: The number of outputs.
        num_flatten_dims: The number of axes that stay as they are.
        param_attr: What is said of the weight, `[in, out]`.
        bias_attr: What is said of the bias; False leaves it out.
        act: The name of a function of the output.
    """

    _of = "fc"
    _old = ("size", "num_flatten_dims", "param_attr", "bias_attr", "act", "is_test", "dtype")
    _new = ("size", "param_attr", "num_flatten_dims", "bias_attr", "act", "is_test", "dtype")

    def _needed(self, is_old: bool) -> tuple[str, ...]:
        return ("size",)


class Linear(_Around):
    """A fully connected layer over the last axis.

    Args:
        input_dim: The number of inputs.
        output_dim: The number of outputs.
        param_attr: What is said of the weight, `[in, out]`.
        bias_attr: What is said of the bias; False leaves it out.
        act: The name of a function of the output.
        dtype: The element type of the parameters.
    """

    _of = "fc"
    _new = ("input_dim", "output_dim", "param_attr", "bias_attr", "act", "dtype")
    _sizes = ("input_dim", "output_dim")

    def _needed(self, is_old: bool) -> tuple[str, ...]:
        return ("input_dim", "output_dim")

    def _taken(self) -> dict[str, Any]:
        return {**super()._taken(), "size": self._options["output_dim"], "num_flatten_dims": -1}

    def _trial(self) -> list[Any] | None:
        return [((1, self._options["input_dim"]), self._dtype.value)]


class _Convolution(_Around):
    _axes = 2
    _sizes = ("num_channels",)

    def _needed(self, is_old: bool) -> tuple[str, ...]:
        return ("num_filters", "filter_size") if is_old else ("num_channels", "num_filters", "filter_size")

    def _trial(self) -> list[Any] | None:
        channels = self._options.get("num_channels")
        if channels is None:
            return None
        window, spread = self._options["filter_size"], self._options.get("dilation", 1)
        windows = [window] * self._axes if isinstance(window, int) else listed(window, "sizes")
        spreads = [spread] * self._axes if isinstance(spread, int) else listed(spread, "sizes")
        return [((1, channels, *(d * (k - 1) + 1 for k, d in zip(windows, spreads))), self._dtype.value)]


class Conv2D(_Convolution):
    """A convolution over images; arguments are those of `layers.conv2d`, after `num_channels`, the channels of the
    input."""

    _of = "conv2d"
    _old = (
        "num_filters", "filter_size", "stride", "padding", "dilation", "groups", "param_attr", "bias_attr", "use_cudnn",
        "act", "dtype",
    )  # fmt: skip
    _new = ("num_channels", *_old)


class Conv3D(_Convolution):
    """A convolution over volumes; see `Conv2D`."""

    _of, _axes = "conv3d", 3
    _old = Conv2D._old
    _new = Conv2D._new


class _Transposed(_Convolution):
    def _trial(self) -> list[Any] | None:
        channels = self._options.get("num_channels")
        if channels is None or self._options.get("filter_size") is None or self._options.get("output_size"):
            return None
        # Paddings may not leave less than one element.
        return [((1, channels, *(8,) * self._axes), self._dtype.value)]


class Conv2DTranspose(_Transposed):
    """A transposed convolution over images; arguments are those of `layers.conv2d_transpose`, after `num_channels`."""

    _of = "conv2d_transpose"
    _old = (
        "num_filters", "output_size", "filter_size", "padding", "stride", "dilation", "groups", "param_attr",
        "bias_attr", "use_cudnn", "act", "dtype",
    )  # fmt: skip
    _new = (
        "num_channels", "num_filters", "filter_size", "output_size", "padding", "stride", "dilation", "groups",
        "param_attr", "bias_attr", "use_cudnn", "act", "dtype",
    )  # fmt: skip

    def _needed(self, is_old: bool) -> tuple[str, ...]:
        return ("num_filters",)


class Conv3DTranspose(_Transposed):
    """A transposed convolution over volumes; see `Conv2DTranspose`."""

    _of, _axes = "conv3d_transpose", 3
    _old = (*Conv2DTranspose._old[:-1], "name")
    _new = (
        "num_channels", "num_filters", "filter_size", "padding", "stride", "dilation", "groups", "param_attr",
        "bias_attr", "use_cudnn", "act", "dtype", "output_size",
    )  # fmt: skip

    def _needed(self, is_old: bool) -> tuple[str, ...]:
        return ("num_filters",)


class Pool2D(_Around):
    """The largest element or the mean of each window of images; arguments are those of `layers.pool2d`."""

    _of = "pool2d"
    _new = (
        "pool_size", "pool_type", "pool_stride", "pool_padding", "global_pooling", "use_cudnn", "ceil_mode",
        "exclusive", "dtype",
    )  # fmt: skip
    _old = _new


class BatchNorm(_Around):
    """Batch normalisation; arguments are those of `layers.batch_norm`, after `num_channels`."""

    _of = "batch_norm"
    _new = (
        "num_channels", "act", "is_test", "momentum", "epsilon", "param_attr", "bias_attr", "dtype", "data_layout",
        "in_place", "moving_mean_name", "moving_variance_name", "do_model_average_for_mean_and_var",
        "use_global_stats", "trainable_statistics", "fuse_with_relu",
    )  # fmt: skip
    _old = (*_new[:13], "fuse_with_relu", "use_global_stats", "trainable_statistics")
    _sizes = ("num_channels", "trainable_statistics", "fuse_with_relu")
    _defaults = {"is_test": False}

    def _needed(self, is_old: bool) -> tuple[str, ...]:
        return ("num_channels",)

    def _trial(self) -> list[Any] | None:
        channels = self._options["num_channels"]
        is_last = self._options.get("data_layout", "NCHW") == "NHWC"
        return [((1, 1, 1, channels) if is_last else (1, channels, 1, 1), self._dtype.value)]

    def _taken(self) -> dict[str, Any]:
        options = super()._taken()
        use = bool(options.get("is_test")) or not self.training
        options["is_test"] = use and not self._options.get("trainable_statistics")
        return options


class Dropout(_Around):
    """Each element is zero with a probability, in training.

    Args:
        p: The probability.
        seed: For Fluid's programs.
        dropout_implementation: "downgrade_in_infer" or "upscale_in_train".
        is_test: Whether nothing is dropped.
    """

    _of = "dropout"
    _new = ("p", "seed", "dropout_implementation", "is_test")
    _old = _new
    _sizes = ("p",)

    def _taken(self) -> dict[str, Any]:
        use = bool(self._options.get("is_test")) or not self.training
        return {**super()._taken(), "dropout_prob": self._options.get("p", 0.5), "is_test": use}


class Embedding(_Around):
    """Rows of a table by number; arguments are those of `layers.embedding`."""

    _of = "embedding"
    _new = ("size", "is_sparse", "is_distributed", "padding_idx", "param_attr", "dtype")
    _old = _new

    def _needed(self, is_old: bool) -> tuple[str, ...]:
        return ("size",)

    def _taken(self) -> dict[str, Any]:
        return {**super()._taken(), "dtype": self._dtype.value}

    def _trial(self) -> list[Any] | None:
        return [((1, 1), "int64")]


class LayerNorm(_Around):
    """Values of mean 0 and variance 1 over the last axes.

    Args:
        normalized_shape: The sizes of these axes.
        scale: Whether there is a weight.
        shift: Whether there is a bias.
        epsilon: What is added to the variance.
        param_attr: What is said of the weight.
        bias_attr: What is said of the bias.
        act: The name of a function of the output.
        dtype: The element type of the parameters.
    """

    _of = "layer_norm"
    _new = ("normalized_shape", "scale", "shift", "epsilon", "param_attr", "bias_attr", "act", "dtype")
    _old = ("scale", "shift", "begin_norm_axis", "epsilon", "param_attr", "bias_attr", "act", "dtype")
    _sizes = ("normalized_shape",)

    def _prepared(self, options: dict[str, Any]) -> dict[str, Any]:
        shape = options.get("normalized_shape")
        if isinstance(shape, int):
            options["normalized_shape"] = [shape]
        return options

    def _trial(self) -> list[Any] | None:
        shape = self._options.get("normalized_shape")
        return None if shape is None else [((1, *shape), self._dtype.value)]

    def forward(self, input: Any) -> Any:
        options = self._taken()
        shape = self._options.get("normalized_shape")
        if shape is not None:
            options["begin_norm_axis"] = len(input.shape) - len(shape)
        return self._call(_function("layer_norm"), input, **options)


class GRUUnit(_Around):
    """One step of a GRU; arguments are those of `layers.gru_unit`."""

    _of = "gru_unit"
    _new = ("size", "param_attr", "bias_attr", "activation", "gate_activation", "origin_mode", "dtype")
    _old = _new

    def _needed(self, is_old: bool) -> tuple[str, ...]:
        return ("size",)

    def _trial(self) -> list[Any] | None:
        size = self._options["size"]
        return [((1, size), self._dtype.value), ((1, size // 3), self._dtype.value)]


class NCE(_Around):
    """Noise contrastive estimation; arguments are those of `layers.nce`, with `dim`, the size of the input."""

    _of = "nce"
    _new = (
        "num_total_classes", "dim", "sample_weight", "param_attr", "bias_attr", "num_neg_samples", "sampler",
        "custom_dist", "seed", "is_sparse", "dtype",
    )  # fmt: skip
    _old = (
        "num_total_classes", "sample_weight", "param_attr", "bias_attr", "num_neg_samples", "sampler", "custom_dist",
        "seed", "is_sparse",
    )  # fmt: skip
    _sizes = ("dim", "sample_weight")

    def _trial(self) -> list[Any] | None:
        dim = self._options.get("dim")
        return None if dim is None else [((1, dim), self._dtype.value), ((1, 1), "int64")]

    def forward(self, input: Any, label: Any, sample_weight: Any = None) -> Any:
        weight = sample_weight if sample_weight is not None else self._options.get("sample_weight")
        return self._call(_function("nce"), input, label, sample_weight=weight, **self._taken())


class PRelu(_Around):
    """The value, times a trained weight where it is negative.

    Args:
        mode: "all", "channel" or "element".
        channel: The number of channels, for "channel".
        input_shape: The sizes of the input, for "element".
        param_attr: What is said of the weight.
        dtype: The element type of the weight.
    """

    _of = "prelu"
    _inputs = {"input": "x"}
    _new = ("mode", "channel", "input_shape", "param_attr", "dtype")
    _old = ("mode", "param_attr")
    _sizes = ("channel", "input_shape")

    @staticmethod
    def _is_old(args: tuple[Any, ...]) -> bool:
        return len(args) > 1 and isinstance(args[0], str) and isinstance(args[1], str)

    def _needed(self, is_old: bool) -> tuple[str, ...]:
        return ("mode",)

    def _trial(self) -> list[Any] | None:
        mode = self._options["mode"]
        if mode == "all":
            return [((1, 1, 1, 1), self._dtype.value)]
        if mode == "channel" and self._options.get("channel"):
            return [((1, self._options["channel"], 1, 1), self._dtype.value)]
        if mode == "element" and self._options.get("input_shape"):
            return [((1, *self._options["input_shape"][1:]), self._dtype.value)]
        return None


class BilinearTensorProduct(_Around):
    """A bilinear function of two inputs; arguments are those of `layers.bilinear_tensor_product`."""

    _of = "bilinear_tensor_product"
    _new = ("input1_dim", "input2_dim", "output_dim", "name", "act", "param_attr", "bias_attr", "dtype")
    _old = ("size", "name", "act", "param_attr", "bias_attr")
    _sizes = ("input1_dim", "input2_dim", "output_dim")

    def _taken(self) -> dict[str, Any]:
        options = super()._taken()
        return {**options, "size": options.get("size", self._options.get("output_dim"))}

    def _trial(self) -> list[Any] | None:
        if "input1_dim" not in self._options:
            return None
        return [((1, self._options[name]), self._dtype.value) for name in ("input1_dim", "input2_dim")]


class SequenceConv(_Around):
    """A convolution over sequences; arguments are those of `layers.sequence_conv`."""

    _of = "sequence_conv"
    _new = ("num_filters", "filter_size", "filter_stride", "padding", "bias_attr", "param_attr", "act")
    _old = _new


class RowConv(_Around):
    """A convolution over following rows; arguments are those of `layers.row_conv`."""

    _of = "row_conv"
    _new = ("future_context_size", "param_attr", "act")
    _old = _new


class GroupNorm(_Around):
    """Values of each group of channels with mean 0 and variance 1; arguments are those of `layers.group_norm`, after
    `channels`."""

    _of = "group_norm"
    _new = ("channels", "groups", "epsilon", "param_attr", "bias_attr", "act", "data_layout", "dtype")
    _old = ("groups", "epsilon", "param_attr", "bias_attr", "act", "data_layout")
    _sizes = ("channels",)

    def _needed(self, is_old: bool) -> tuple[str, ...]:
        return ("groups",)

    def _trial(self) -> list[Any] | None:
        channels = self._options.get("channels")
        return None if channels is None else [((1, channels, 1, 1), self._dtype.value)]


class InstanceNorm(_Around):
    """Values of each channel with mean 0 and variance 1; arguments are those of `layers.instance_norm`, after
    `num_channels`."""

    _of = "instance_norm"
    _new = ("num_channels", "epsilon", "param_attr", "bias_attr", "dtype")
    _old = _new
    _sizes = ("num_channels",)
    _slots = ("scale", "bias")

    def _trial(self) -> list[Any] | None:
        return [((1, self._options["num_channels"], 2, 2), self._dtype.value)]


class SpectralNorm(_Around):
    """A weight divided by its largest singular value; arguments are those of `layers.spectral_norm`, after
    `weight_shape`."""

    _of = "spectral_norm"
    _new = ("weight_shape", "dim", "power_iters", "eps", "dtype")
    _old = ("dim", "power_iters", "eps", "name")
    _sizes = ("weight_shape",)

    def _trial(self) -> list[Any] | None:
        shape = self._options.get("weight_shape")
        return None if shape is None else [(tuple(shape), self._dtype.value)]


class TreeConv(_Around):
    """A convolution over trees; arguments are those of `fluid.contrib.layers.tree_conv`, after `feature_size`."""

    _of = "tree_conv"
    _new = (
        "feature_size", "output_size", "num_filters", "max_depth", "act", "param_attr", "bias_attr", "name", "dtype"
    )
    _old = ("output_size", "num_filters", "max_depth", "act", "param_attr", "bias_attr", "name")
    _sizes = ("feature_size",)


class Flatten(Layer):
    """All axes from `start_axis` to `stop_axis` as one.

    Args:
        start_axis: The first.
        stop_axis: The last.
    """

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.start_axis, self.stop_axis = start_axis, stop_axis

    def forward(self, input: Any) -> Any:
        from ..framework import applied

        return applied(lambda x: _core.flatten(x, self.start_axis, self.stop_axis), "flatten", input)
