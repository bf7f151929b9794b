"""Arguments in the order of Fluid 1.5, where later versions have another one.

Arguments by name mean the same in all versions. Those by place are told apart by what they are: a text is a name, a bool
a switch. Where both orders fit and mean different things, the call is refused.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from .._fault import fault
from .variable import Variable

__all__ = ["LAYERS", "formerly", "order_of"]

F = TypeVar("F", bound=Callable[..., Any])

#: Functions of `layers`, and the arguments that they have in Fluid 1.5.
LAYERS = {
    "fc": "input size num_flatten_dims param_attr bias_attr act is_test name",
    "batch_norm": "input act is_test momentum epsilon param_attr bias_attr data_layout in_place name moving_mean_name "
    "moving_variance_name do_model_average_for_mean_and_var fuse_with_relu use_global_stats",
    "sequence_conv": "input num_filters filter_size filter_stride padding bias_attr param_attr act name",
    "ctc_greedy_decoder": "input blank name",
    "warpctc": "input label blank norm_by_times use_cudnn",
    "deformable_conv": "input offset mask num_filters filter_size stride padding dilation groups deformable_groups "
    "im2col_step param_attr bias_attr name",
    "argsort": "input axis name",
    "softshrink": "x name",
    "iou_similarity": "x y name",
    "yolo_box": "x img_size anchors class_num conf_thresh downsample_ratio name",
}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_switch(value: Any) -> bool:
    return isinstance(value, bool)


def _is_variable(value: Any) -> bool:
    return isinstance(value, Variable) or hasattr(value, "dtype")


def _is_list(value: Any) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, (str, Variable)) and not hasattr(value, "add_to")


def _says_of_parameter(value: Any) -> bool:
    return not _is_list(value) and not _is_number(value)


#: What arguments are, for those that stand where the orders differ.
_KINDS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("name", "act", "moving_mean_name", "moving_variance_name"), _is_text),
    **dict.fromkeys(
        ("is_test", "use_nesterov", "descending", "use_cudnn", "modulated", "box_normalized", "clip_bbox", "lazy_mode",
         "fuse_with_relu", "use_global_stats", "zero_copy", "is_bias"),
        _is_switch,
    ),
    **dict.fromkeys(("padding_value", "padding_start", "alpha", "initial_accumulator_value", "scale_x_y"), _is_number),
    **dict.fromkeys(("input_length", "label_length"), _is_variable),
    **dict.fromkeys(("parameter_list", "shape"), _is_list),
    **dict.fromkeys(("attr", "param_attr", "bias_attr"), _says_of_parameter),
    "regularization": lambda value: hasattr(value, "add_to"),
    "grad_clip": lambda value: hasattr(value, "cut_down") or type(value).__name__.startswith("GradientClip"),
    "exclude_from_weight_decay_fn": callable,
    "block": lambda value: hasattr(value, "vars") and hasattr(value, "ops"),
}  # fmt: skip


def _fits(names: list[str], args: tuple[Any, ...]) -> bool:
    if len(args) > len(names):
        return False
    return all(value is None or name not in _KINDS or _KINDS[name](value) for name, value in zip(names, args))


def order_of(function: Callable[..., Any], former: str) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """What puts arguments in Fluid 1.5's order into that of a function.

    Args:
        function: Has the arguments of later versions.
        former: Names of Fluid 1.5's, in order.
    """
    old, new = former.split(), list(inspect.signature(function).parameters)
    place = next(i for i, name in enumerate(old) if i >= len(new) or new[i] != name)
    label = getattr(function, "__qualname__", "it").removesuffix(".__init__")

    def ordered(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        rest = args[place:]
        if not rest or not _fits(old[place:], rest):
            return args, named
        if _fits(new[place:], rest):
            unclear = [(a, b) for a, b, value in zip(old[place:], new[place:], rest) if value is not None and a != b]
            if not unclear:
                return args, named
            raise fault(
                TypeError,
                f"argument {place + 1} of `{label}` is `{unclear[0][0]}` in Fluid 1.5 and `{unclear[0][1]}` in later ones",
                "give it by name",
            )
        taken = dict(zip(old[place:], rest))
        for name in taken:
            if name in named:
                raise fault(TypeError, f"`{label}` was given `{name}` twice", "give it once")
        return args[:place], {**taken, **named}

    return ordered


def formerly(former: str) -> Callable[[F], F]:
    """A decorator: a function takes its arguments by place in Fluid 1.5's order, too.

    Args:
        former: Names of Fluid 1.5's arguments, in order.
    """

    def decorated(function: F) -> F:
        ordered = order_of(function, former)

        @functools.wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            args, named = ordered(args, named)
            return function(*args, **named)

        call.former = former.split()  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorated
