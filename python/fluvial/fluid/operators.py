"""Fluid's operators by type, as `append_op` names them: which function of `layers` each is.

A line has the type, the function if it is called otherwise, inputs as `Slot=argument` (`*` for a list), attributes
(`attribute=argument` if they are called otherwise) behind `|`, and the output slots behind `->`.
"""

from __future__ import annotations

from typing import Any

from .._fault import fault
from .calls import store
from .variable import Variable

__all__ = ["append"]

_PAIRS = "elementwise_add elementwise_sub elementwise_mul elementwise_div elementwise_max elementwise_min elementwise_pow"
_COMPARED = "less_than less_equal greater_than greater_equal equal not_equal logical_and logical_or logical_xor"
_ALONE = (
    "relu sigmoid tanh exp log sqrt rsqrt square abs ceil floor round reciprocal softplus softsign cos sin acos asin atan "
    "logsigmoid mean logical_not sign"
)
_REDUCED = "reduce_sum reduce_mean reduce_max reduce_min reduce_prod"
_TABLE = "\n".join(
    [
        *(f"{name}: X=x Y=y | axis -> Out" for name in _PAIRS.split()),
        "elementwise_mod: X=x Y=y | axis -> Out",
        "elementwise_floordiv: X=x Y=y | axis -> Out",
        *(f"{name}: X=x Y=y | -> Out" for name in _COMPARED.split()),
        *(f"{name}: X=x | -> Out" for name in _ALONE.split()),
        *(f"{name}: X=input | dim keep_dim -> Out" for name in _REDUCED.split()),
        """mul: X=x Y=y | x_num_col_dims y_num_col_dims -> Out
matmul: X=x Y=y | transpose_X=transpose_x transpose_Y=transpose_y alpha -> Out
leaky_relu: X=x | alpha -> Out
elu: X=x | alpha -> Out
relu6: X=x | threshold -> Out
pow: X=x | factor -> Out
swish: X=x | beta -> Out
hard_sigmoid: X=x | slope offset -> Out
scale: X=x | scale bias bias_after_scale -> Out
clip: X=x | min max -> Out
sum sums: X=input* | -> Out
concat: X=input* | axis -> Out
stack: X=x* | axis -> Y
split: X=input | num=num_or_sections axis=dim -> Out*
softmax: X=input | axis -> Out
log_softmax: X=input | axis -> Out
reshape: X=x | shape -> Out
reshape2 reshape: X=x | shape -> Out
transpose: X=x | axis=perm -> Out
transpose2 transpose: X=x | axis=perm -> Out
squeeze: X=input | axes -> Out
squeeze2 squeeze: X=input | axes -> Out
unsqueeze: X=input | axes -> Out
unsqueeze2 unsqueeze: X=input | axes -> Out
cast: X=x | out_dtype=dtype -> Out
assign: X=input | -> Out
fill_zeros_like zeros_like: X=x | -> Out
fill_constant: | shape dtype value -> Out
uniform_random: | shape dtype min max seed -> Out
gaussian_random: | shape dtype mean std seed -> Out
cross_entropy: X=input Label=label | soft_label ignore_index -> Y
softmax_with_cross_entropy: Logits=logits Label=label | soft_label ignore_index -> Loss
sigmoid_cross_entropy_with_logits: X=x Label=label | ignore_index normalize -> Out
dropout: X=x | dropout_prob is_test dropout_implementation -> Out
top_k topk: X=input | k -> Out Indices
one_hot: X=input | depth -> Out
gather: X=input Index=index | -> Out
slice: Input=input | axes starts ends -> Out
expand: X=x | expand_times -> Out
shape: Input=input | -> Out""",
    ]
)
_KNOWN = {line.partition(":")[0].split()[0]: line for line in _TABLE.splitlines()}
#: Attributes that say how Fluid runs an operator, which means nothing here.
_OF_FLUID = {
    "use_mkldnn", "use_cudnn", "use_quantizer", "mkldnn_data_type", "op_role", "op_role_var", "op_namescope", "op_callstack",
    "op_device", "in_dtype", "force_cpu", "data_format", "fix_seed", "numeric_stable_mode", "reduce_all", "sections",
}  # fmt: skip


def append(type: str, inputs: Any = None, outputs: Any = None, attrs: Any = None) -> Any:
    """Calls the function of an operator, and gives its results to the output variables.

    Args:
        type: Fluid's name of the operator.
        inputs: Variables, or lists of them, by slot.
        outputs: Variables that get the results, or lists of them, by slot.
        attrs: Numbers and others, by name.
    """
    line = _KNOWN.get(type)
    if line is None:
        raise fault(
            NotImplementedError,
            f"`append_op` does not know Fluid's operator `{type}`",
            "call the function of `fluid.layers`, or `fluid.layers.py_func` for one of your own",
        )
    from . import layers

    head, _, rest = line.partition(":")
    slots, _, results = rest.partition("->")
    given, _, options = slots.partition("|")
    named = dict(inputs or {})
    found: dict[str, Any] = {}
    for slot, _, argument in (part.partition("=") for part in given.split()):
        if slot not in named:
            raise fault(ValueError, f"the operator `{type}` needs the input `{slot}`", f'give inputs={{"{slot}": …}}')
        value = named.pop(slot)
        values = list(value) if isinstance(value, (list, tuple)) else [value]
        if argument.endswith("*"):
            found[argument[:-1]] = values
        elif len(values) == 1:
            found[argument] = values[0]
        else:
            raise fault(ValueError, f"the input `{slot}` of `{type}` is one variable, not {len(values)}", "give one")
    settings = {name: value for name, value in dict(attrs or {}).items() if name not in _OF_FLUID}
    for name, _, argument in (part.partition("=") for part in options.split()):
        if name in settings:
            found[argument or name] = settings.pop(name)
    if named or settings:
        names = ", ".join(f"`{name}`" for name in (*named, *settings))
        raise fault(ValueError, f"{names} of the operator `{type}` means nothing here", "leave it out")
    made = getattr(layers, head.split()[-1])(**found)
    _give(type, made, dict(outputs or {}), results.split())
    return made


def _give(type: str, made: Any, outputs: dict[str, Any], slots: list[str]) -> None:
    """Gives results to the variables of output slots; what else operators give for their gradients has no value."""
    results = list(made) if isinstance(made, (list, tuple)) else [made]
    for slot in slots:
        targets = outputs.get(slot.rstrip("*"))
        if targets is None:
            continue
        wanted = list(targets) if isinstance(targets, (list, tuple)) else [targets]
        own, results = (results, []) if slot.endswith("*") else (results[:1], results[1:])
        if len(own) != len(wanted) or not all(isinstance(out, Variable) for out in wanted):
            raise fault(ValueError, f"`{type}` gives {len(own)} variables as `{slot}`", "give as many variables")
        for value, out in zip(own, wanted):
            store(value, out)
