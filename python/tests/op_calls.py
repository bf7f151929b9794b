"""How the samples of the ops are written as calls of the public Python functions.

Most ops have a function of their own name, whose keywords are the attributes. The others, and samples that a
function cannot express, stand in the tables below.
"""

import inspect
import math

import fluvial as fl


class Inexpressible(Exception):
    """The public function has no such option; the reason is the message."""


#: Ops that no public function is for, with the reason.
INTERNAL = {
    "announce": "`fl.dist.to_servers` is made of it; it needs ranks",
    "collect_parts": "`fl.dist.to_servers` is made of it; it needs ranks",
    "pull_parts": "`fl.dist.to_servers` is made of it; it needs ranks",
    "push_parts": "`fl.dist.to_servers` is made of it; it needs ranks",
    "serve_parts": "`fl.dist.to_servers` is made of it; it needs ranks",
    "steps_left": "`fl.dist.end_of_steps` is made of it; it needs ranks",
    "gather_parts": "`fl.dist.transpile` is made of it",
    "own_part": "`fl.dist.transpile` is made of it",
    "reduce_parts": "`fl.dist.transpile` is made of it",
    "make_channel": "`fl.make_channel` takes a text; a channel has no samples",
    "channel_close": "`channel.close()` is it; a channel has no samples",
    "channel_recv": "`channel.recv()` is it; a channel has no samples",
    "channel_send": "`channel.send(x)` is it; a channel has no samples",
    "channel_select": "`fl.channel_select` is it; a channel has no samples",
    "channel_timer": "`fl.timeout` is it; a channel has no samples",
    "go": "`fl.go` takes a function; the op owns its block",
    "wait_task": "`task.wait()` is it; a task has no samples",
    "parallel_for": "`fl.parallel_for` takes a function; the op owns its block",
    "conv_integer": "quantised ONNX models have it",
    "matmul_integer": "quantised ONNX models have it",
    "quantize_linear": "`fl.quantize` is made of it",
    "dynamic_quantize_linear": "`fl.quantize` is made of it",
    "int8_conv": "`fl.quantize` is made of it",
    "int8_linear": "`fl.quantize` is made of it",
    "accumulate": "the walk adds cotangents with it",
    "assign": "`fl.assign_state` binds it; it has no samples, since it needs a scope",
    "attention_grad": "the gradient of `attention`",
    "avg_pool_grad": "the gradient of `avg_pool`",
    "checkpoint": "`fl.checkpoint` takes a function; the op owns its block",
    "cond": "`fl.cond` takes functions; the op owns blocks and has no samples",
    "conv_weight_grad": "the gradient of `conv`",
    "ctc_grad": "the gradient of `ctc_loss`",
    "cumulative_positions": "`fl.cummax` and `fl.cummin` are made of it",
    "elu": "`fl.elu`, `fl.selu` and `fl.celu` each fix some of its three numbers; the samples do not",
    "adam_update": "`fl.optimizer.Adam` is made of it",
    "gru_update": "`fl.gru_cell` is made of it, after two products",
    "gru_update_grad": "the gradient of `gru_update`",
    "for_each": "`reader.iterate()` is it; the op owns a block and has no samples",
    "note": "converted code keeps states of blocks with it",
    "attempt": "converted code tries blocks with it",
    "attempt_grad": "the gradient of `attempt`",
    "raise_again": "converted code raises what a block has caught with it",
    "lstm_update": "`fl.lstm_cell` is made of it, after two products",
    "lstm_update_grad": "the gradient of `lstm_update`",
    "momentum_update": "`fl.optimizer.Momentum` is made of it",
    "sgd_update": "`fl.optimizer.SGD` is made of it",
    "chunk_counts": "`fl.chunk_eval` is made of it",
    "sequence_argmax": "`fl.sequence_pool` is made of it",
    "roi_pool_index": "`fl.roi_pool` is made of it",
    "sequence_pad_index": "`fl.sequence_pad` and `fl.sequence_steps` are made of it",
    "sequence_ranges": "`fl.sequence_slice`, `fl.sequence_take` and others are made of it",
    "matmul_then": "the compiler makes it of a product and what follows",
    "normalise_grad": "the gradient of `normalise`",
    "pool_pick": "the gradient of pooling gathers with it",
    "quantile_positions": "`fl.quantile` is made of it",
    "ravel_index": "indexing by several arrays is made of it",
    "read": "`fl.read_state` binds it; it has no samples, since it needs a scope",
    "resample_grad": "the gradient of `resample`",
    "sum_to": "the gradient of broadcasting",
    "unique_positions": "`fl.unique` is made of it",
    "while": "`fl.while_loop` takes functions; the op owns blocks and has no samples",
}

#: Attributes that only gradients and the compiler set.
_UNSAID = {
    "all_gather": ("world",),
    "reduce_scatter": ("world",),
    "cumprod": ("reverse",),
    "cumsum": ("reverse",),
    "inverse": ("singular",),
    "linear_scan": ("reverse",),
    "logcumsumexp": ("reverse",),
    "matmul": ("transpose_a", "transpose_b"),
}

#: Refusals of an op that its function forestalls: by op, the texts and the reason.
FORESTALLED = {
    "attention": (("",), "the function broadcasts, and leaves other types to small ops"),
    "bitwise_not": (("",), "the function is `logical_not` for bools"),
    "clip": (("",), "a bound with a fraction makes floats of ints"),
    "class_losses": (("expected f32 or f64",), "the function checks for floats, and spells other types out"),
    "conv": (("the input has 3 axes",), "the function takes an input without a batch"),
    "conv_transpose": (("not those of a convolution",), "the function computes the sizes"),
    "normalise": (("does not fit",), "the function looks at the weight itself"),
    "prelu": (("do not broadcast",), "the function puts the weight on the channels"),
    "normal": (("a random stream",), "the stream is a state, which has its type"),
    "randint": (("a random stream",), "the stream is a state, which has its type"),
    "truncated_normal": (("a random stream",), "the stream is a state, which has its type"),
    "uniform": (("a random stream",), "the stream is a state, which has its type"),
}

_RENAMED = {"axes": "axis", "dims": "shape", "ty": "type", "size": "num", "function": "name"}


def call(name, attributes, known, inputs):
    """Calls the public function for an op.

    Args:
        name: The op.
        attributes: Those of the sample; an attribute with its plain value (false, none, empty) is absent.
        known: By attribute of the op: a value that it has in some sample.
        inputs: The tensors.
    """
    for attribute in _UNSAID.get(name, ()):
        if attributes.get(attribute):
            raise Inexpressible(f"only gradients and the compiler set `{attribute}`")
    plain = {key: [] if type(value) is list else None for key, value in known.items()}
    plain |= {key: False for key, value in known.items() if type(value) is bool}
    attributes = plain | attributes
    if name in SPECIAL:
        return SPECIAL[name](*inputs, **attributes)
    function = getattr(fl, name)
    return function(*inputs, **_keywords(name, function, attributes))


def _keywords(name, function, attributes):
    takes = inspect.signature(function).parameters
    keywords = {}
    for key, value in attributes.items():
        if key in _UNSAID.get(name, ()):
            continue
        if key not in takes:
            key = _RENAMED.get(key, key)
        if key == "axis" and value == []:
            value = None
        keywords[key] = value
    return keywords


def _by_rank(stem, rank):
    return getattr(fl, f"{stem}{rank}d")


def _padding(before, after):
    if before != after:
        raise Inexpressible("the function pads both ends alike")
    return before


def _conv(x, weight, *, before, after, **options):
    return _by_rank("conv", max(len(before), 1))(x, weight, padding=_padding(before, after), **options)


def _conv_transpose(x, weight, *, before, after, sizes, stride, dilation, groups):
    padding = _padding(before, after)
    kernel = weight.shape[2:]
    full = [
        (size - 1) * step - 2 * pad + gap * (k - 1) + 1
        for size, step, pad, gap, k in zip(x.shape[2:], stride, padding, dilation, kernel)
    ]
    rest = [size - least for size, least in zip(sizes, full)]
    if len(sizes) != len(full) or len(full) not in (1, 2, 3) or min(rest, default=0) < 0:
        raise Inexpressible("the sizes that the function gives fit by themselves")
    return _by_rank("conv_transpose", len(sizes))(
        x, weight, stride=stride, padding=padding, output_padding=rest, dilation=dilation, groups=groups
    )


def _pool(stem):
    def pool(x, *, kernel, **options):
        found = _by_rank(stem, len(kernel) or 1)(x, kernel, **options)
        return found

    return pool


def _clip(x, *, low, high):
    def bound(number):
        if math.isinf(number):
            return None
        return number if x.dtype in (fl.float32, fl.float64) else int(number)

    return fl.clip(x, bound(low), bound(high))


def _drawing(function, **renamed):
    """Calls a function that draws from the default stream, with the sample's stream as that."""

    def draw(*inputs, **options):
        *rest, stream = inputs
        fl.assign_state("rng", stream)
        options = {renamed.get(key, key): value for key, value in options.items()}
        return function(*rest, **options)

    return draw


def _dropping(function):
    def drop(x, stream, *, p, train, channels=False):
        if not train:
            raise Inexpressible("a layer in use does not call the function")
        if channels:
            return _drawing(fl.feature_alpha_dropout)(x, stream, p=p)
        return _drawing(function)(x, stream, p=p)

    return drop


def _beam_search(pre_ids, pre_scores, scores, lengths, ids=None, **options):
    return fl.beam_search(pre_ids, pre_scores, ids, scores, lengths, **options)


def _beam_search_decode(*inputs, **options):
    if len(inputs) == 4 and all(x.type_text.startswith("list") for x in inputs):
        return fl.beam_search_decode_lists(*inputs, **options)
    if len(inputs) % 4:
        raise Inexpressible("the function takes all four of each step")
    return fl.beam_search_decode(*[list(inputs[i::4]) for i in range(4)], **options)


def _arange(*, start, step, size, dtype):
    return fl.arange(start, start + step * size, step, dtype)


def _attention(q, k, v, mask=None, *, causal, logs, scale):
    if logs:
        raise Inexpressible("only gradients ask for the logarithms")
    return fl.scaled_dot_product_attention(q, k, v, mask, causal=causal, scale=scale)


def _normalise(x, *rest, over, count, eps, moments, weight, bias):
    if moments:
        raise Inexpressible("only gradients ask for the moments")
    rest = list(rest)
    weight = rest.pop(0) if weight else None
    bias = rest.pop(0) if bias else None
    if over == "layer":
        return fl.layer_norm(x, count, weight, bias, eps)
    if over == "rms" and bias is None:
        return fl.rms_norm(x, count, weight, eps)
    if over == "group" and count:
        return fl.group_norm(x, count, weight, bias, eps)
    if over == "group":
        return fl.instance_norm(x, weight, bias, eps)
    raise Inexpressible(f"`fl.nn` has layers for statistics over {over}, not a function")


def _resample(x, *, axis, size, mode, align_corners, scale):
    if mode == "linear" and x.ndim == 1 and axis == 0 and scale is None:
        stacked = fl.reshape(x, (1, 1, *x.shape))
        found = fl.interpolate(stacked, size=[size], mode=mode, align_corners=align_corners)
        return fl.reshape(found, (size,))
    raise Inexpressible("`fl.interpolate` takes a batch of images, and all axes at once")


def _losses(logits, labels, *, ignored):
    return fl.cross_entropy(logits, labels, reduction="none", ignore_index=ignored)


def _diag_embed(x, *, offset, axis_a, axis_b, rows, columns):
    size = x.shape[-1] + abs(offset) if x.ndim else 0
    if rows != size or columns != size:
        raise Inexpressible("the function makes square matrices")
    return fl.diag_embed(x, offset, axis_a, axis_b)


def _assert(condition, values, *, message, raises=None, args=None):
    if raises is not None:
        raise Inexpressible("`fl.assert_` raises an `AssertionError`")
    return fl.assert_(condition, message, list(values))


def _print(x, *, message, first_n=None, summarize=None, plain=None, site=None):
    if first_n is not None or summarize is not None or plain:
        raise Inexpressible("`fl.print` takes a message only")
    return fl.print(x, message)


def _binned(x, weights=None, *, minlength):
    return fl.bincount(x, weights, minlength)


#: The ops whose function has another name or other arguments.
SPECIAL = {
    "beam_search": _beam_search,
    "beam_search_decode": _beam_search_decode,
    "adaptive_max_pool": lambda x, *, sizes: _by_rank("adaptive_max_pool", len(sizes))(x, sizes),
    "all_gather": lambda x, *, world: fl.dist.all_gather(x),
    "all_reduce": lambda *inputs, how: _reduced(inputs, how),
    "alpha_dropout": _dropping(fl.alpha_dropout),
    "arange": _arange,
    "assert": lambda condition, *values, **said: _assert(condition, values, **said),
    "attention": _attention,
    "avg_pool": _pool("avg_pool"),
    "bincount": _binned,
    "broadcast": lambda *inputs, root: _broadcast(inputs, root),
    "by_phase": lambda a, b, *, train: _by_phase(a, b, train),
    "class_losses": _losses,
    "clip": _clip,
    "concat": lambda *inputs, axis: fl.concat(list(inputs), axis=axis),
    "constant": lambda *, value: value + 0,
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "ctc_loss": lambda *inputs, **options: fl.ctc_loss(*inputs, reduction="none", **options),
    "diag_embed": _diag_embed,
    "dropout": _dropping(fl.dropout),
    "fill": lambda *, value, ty: fl.full(_shape(ty), value, _dtype(ty)),
    "fold": lambda x, *, sizes, **options: _images(fl.fold, x, sizes, **options),
    "gelu_tanh": lambda x: fl.gelu(x, tanh_form=True),
    "host_call": lambda *inputs, function, outputs: fl.host_call(function, list(inputs), outputs),
    "linspace": lambda *, start, stop, size, dtype: fl.linspace(start, stop, size, dtype),
    "load": lambda *, path, name, ty: fl.load(path, name, ty),
    "max_pool": _pool("max_pool"),
    "max_unpool": lambda x, index, *, sizes: _unpool(x, index, sizes),
    "normal": _drawing(fl.normal, ty="type"),
    "normalise": _normalise,
    "polygamma": lambda x, *, n: _polygamma(x, n),
    "print": _print,
    "randint": _drawing(fl.randint, ty="type"),
    "rank": lambda: fl.run_rank(),
    "recv": lambda like, *, rank, tag: fl.dist.recv(like, rank, tag),
    "reduce": lambda x, *, root: fl.reduce_to(x, root),
    "reduce_scatter": lambda x, *, how, world: fl.dist.reduce_scatter(x, how),
    "replicate": lambda *inputs: fl.replicate(list(inputs)),
    "resample": _resample,
    "save": lambda *tensors, path, names: fl.save(path, list(tensors), names),
    "send": lambda x, *, rank, tag: fl.dist.send(x, rank, tag),
    "top_positions": lambda x, *, k, axis, largest: fl.topk(x, k, axis, largest)[1],
    "truncated_normal": _drawing(fl.truncated_normal, ty="type"),
    "uniform": _drawing(fl.uniform, ty="type"),
    "unfold": lambda x, **options: _images(fl.unfold, x, **options),
    "world": lambda: fl.run_world(),
    "zeros_like": lambda x: _zeros_like(x),
}


def _reduced(inputs, how):
    return fl.dist.all_reduce(inputs[0], how) if len(inputs) == 1 else fl.all_reduce_all(list(inputs), how)


def _broadcast(inputs, root):
    if len(inputs) > 1:
        raise Inexpressible("the function takes one value")
    return fl.dist.broadcast(*inputs, root)


def _by_phase(a, b, train):
    if not train:
        raise Inexpressible("a program is turned for use by `for_inference`")
    return fl.by_phase(a, b)


def _shape(type_text):
    sizes = type_text.split("[")[1].rstrip("]")
    return tuple(int(size) for size in sizes.split(",") if size.strip())


def _dtype(type_text):
    return type_text.split("[")[0]


def _images(function, x, *sizes, kernel, **options):
    if len(kernel) != 2:
        raise Inexpressible("the function is for images of two axes")
    return function(x, *sizes, kernel, **options)


def _polygamma(x, n):
    if n != int(n):
        raise Inexpressible("the order is an int")
    return fl.polygamma(int(n), x)


def _zeros_like(x):
    if x.type_text.startswith("list"):
        raise Inexpressible("only gradients need lists of zeros")
    return fl.zeros_like(x)


def _unpool(x, index, sizes):
    rank = len(sizes)
    if not index.is_symbolic and len(set(index.numpy().ravel().tolist())) < index.size:
        raise Inexpressible("where places meet, the function gives the mean and the op the sum")
    return _by_rank("max_unpool", rank)(x, index, [1] * rank, size=sizes)
