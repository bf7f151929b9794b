"""Layers of PyTorch: parameters by name, outputs, gradients, and buffers after the call.

Each case is one line: the layer, its attributes, its states in order, inputs, outputs of the last of so
many calls, gradients of `sum(weights(k) * outputs[k])` for inputs and states, and states that changed.
"""

import json

import golden
import torch
from golden import FOLDER, ints, numbers, tensor, weights
from torch import nn

LINES = []


def case(layer, module, inputs, call=None, train=True, steps=1, **attributes):
    """Adds a case: the module with parameters of ours, called on the inputs."""
    states = module.state_dict()
    for i, (name, value) in enumerate(states.items()):
        if value.is_floating_point():
            low = 0.5 if name.endswith("running_var") else -1.0
            value.copy_(numbers(*value.shape, seed=i + 1, low=low, high=1.0))
    before = {name: tensor(value) for name, value in states.items()}
    module.train(train)
    leaves = [None if x is None else x.clone() for x in inputs]
    for leaf in leaves:
        if leaf is not None and leaf.is_floating_point():
            leaf.requires_grad_(True)
    for _ in range(steps):
        outputs = module(*leaves) if call is None else call(module, *leaves)
    outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    parameters = dict(module.named_parameters())
    wrt = [x for x in leaves if x is not None and x.requires_grad] + list(parameters.values())
    loss = sum((y * weights(k, y)).sum() for k, y in enumerate(outputs))
    found = list(torch.autograd.grad(loss, wrt, allow_unused=True))
    of_inputs = [found.pop(0) if x is not None and x.requires_grad else None for x in leaves]
    after = {name: tensor(value) for name, value in module.state_dict().items()}
    LINES.append(
        {
            "layer": layer,
            "attributes": {"train": train, "steps": steps, **attributes},
            "states": list(before.items()),
            "inputs": [tensor(x) for x in leaves],
            "outputs": [tensor(y) for y in outputs],
            "input_gradients": [tensor(g) for g in of_inputs],
            "gradients": {name: tensor(g) for name, g in zip(parameters, found)},
            "changed": {name: value for name, value in after.items() if value != before[name]},
        }
    )


def linears():
    case("Linear", nn.Linear(3, 2), [numbers(4, 3)], sizes=[3, 2])
    case("Linear", nn.Linear(3, 2, bias=False), [numbers(2, 2, 3)], sizes=[3, 2], no_bias=True)
    case("Linear", nn.Linear(2, 1), [numbers(2)], sizes=[2, 1])
    case("LazyLinear", nn.Linear(3, 2), [numbers(4, 3)], sizes=[2])
    case("Bilinear", nn.Bilinear(2, 3, 2), [numbers(4, 2), numbers(4, 3)], sizes=[2, 3, 2])
    case("Bilinear", nn.Bilinear(2, 3, 2, bias=False), [numbers(2, 2, 2), numbers(2, 2, 3)], sizes=[2, 3, 2], no_bias=True)
    case("PRelu", nn.PReLU(), [numbers(2, 3)], sizes=[1])
    case("PRelu", nn.PReLU(3), [numbers(2, 3, 2)], sizes=[3])


def convolutions():
    def conv(axes, dims, inputs, outputs, kernel, **options):
        kind = [nn.Conv1d, nn.Conv2d, nn.Conv3d][axes - 1]
        module = kind(inputs, outputs, kernel, **options)
        case(f"Conv{axes}d", module, [numbers(*dims)], sizes=[inputs, outputs], kernel=kernel, **options)

    def transposed(axes, dims, inputs, outputs, kernel, **options):
        kind = [nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d][axes - 1]
        module = kind(inputs, outputs, kernel, **options)
        name = f"ConvTranspose{axes}d"
        case(name, module, [numbers(*dims)], sizes=[inputs, outputs], kernel=kernel, **options)

    conv(1, (2, 2, 5), 2, 3, [3], padding=[1], stride=[2])
    conv(1, (1, 4, 5), 4, 2, [2], groups=2, dilation=[2])
    conv(2, (1, 2, 4, 3), 2, 2, [3, 2], padding=[1, 0], bias=False)
    conv(2, (1, 2, 3, 4), 2, 2, [3, 3], padding="same")
    conv(2, (1, 2, 3, 3), 2, 4, [2, 2], groups=2)
    conv(3, (1, 1, 2, 3, 2), 1, 2, [2, 2, 1])
    transposed(1, (1, 2, 3), 2, 2, [3], stride=[2], padding=[1], output_padding=[1])
    transposed(2, (1, 2, 2, 3), 2, 4, [2, 2], groups=2, stride=[2, 1])
    transposed(3, (1, 1, 1, 2, 2), 1, 2, [2, 1, 2], bias=False)


def pools():
    def pool(name, module, x, **options):
        case(name, module, [x], **options)

    pool("MaxPool1d", nn.MaxPool1d(2, stride=1), golden.distinct(1, 2, 4), kernel=[2], stride=[1])
    pool("MaxPool2d", nn.MaxPool2d(2), golden.distinct(1, 2, 4, 4), kernel=[2, 2])
    pool("MaxPool2d", nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True), golden.distinct(1, 1, 4, 5), kernel=[3], stride=[2], padding=[1], ceil_mode=True)
    pool("MaxPool3d", nn.MaxPool3d(2), golden.distinct(1, 1, 2, 2, 4), kernel=[2])
    pool("AvgPool1d", nn.AvgPool1d(2), numbers(1, 2, 4), kernel=[2])
    pool("AvgPool2d", nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False), numbers(1, 1, 4, 4), kernel=[3], stride=[2], padding=[1], count_include_pad=False)
    pool("AvgPool3d", nn.AvgPool3d(2), numbers(1, 1, 2, 2, 4), kernel=[2])
    pool("LpPool1d", nn.LPPool1d(2, 2), numbers(1, 1, 4, low=0.5), kernel=[2], p=2)
    pool("LpPool2d", nn.LPPool2d(3, 2, stride=1), numbers(1, 1, 3, 3, low=0.5), kernel=[2], stride=[1], p=3)
    pool("LpPool3d", nn.LPPool3d(2, 2), numbers(1, 1, 2, 2, 2, low=0.5), kernel=[2], p=2)
    pool("AdaptiveAvgPool1d", nn.AdaptiveAvgPool1d(3), numbers(1, 2, 5), kernel=[3])
    pool("AdaptiveAvgPool2d", nn.AdaptiveAvgPool2d((2, 3)), numbers(1, 1, 5, 4), kernel=[2, 3])
    pool("AdaptiveAvgPool3d", nn.AdaptiveAvgPool3d(1), numbers(1, 2, 2, 2, 2), kernel=[1])
    pool("AdaptiveMaxPool1d", nn.AdaptiveMaxPool1d(3), golden.distinct(1, 2, 5), kernel=[3])
    pool("AdaptiveMaxPool2d", nn.AdaptiveMaxPool2d((2, 3)), golden.distinct(1, 1, 5, 4), kernel=[2, 3])
    pool("AdaptiveMaxPool3d", nn.AdaptiveMaxPool3d(1), golden.distinct(1, 2, 2, 2, 2), kernel=[1])
    pool("GlobalAvgPool", nn.AdaptiveAvgPool2d(1), numbers(2, 2, 2, 3))
    pool("GlobalMaxPool", nn.AdaptiveMaxPool2d(1), golden.distinct(2, 2, 2, 3))


def normalisations():
    for train in [True, False]:
        case("BatchNorm1d", nn.BatchNorm1d(3), [numbers(4, 3)], train=train, channels=3)
        case("BatchNorm1d", nn.BatchNorm1d(2), [numbers(2, 2, 3)], train=train, channels=2, steps=2)
        case("BatchNorm2d", nn.BatchNorm2d(2, momentum=0.25), [numbers(2, 2, 2, 3)], train=train, channels=2, momentum=0.25)
        case("BatchNorm2d", nn.BatchNorm2d(2, momentum=None), [numbers(2, 2, 2, 2)], train=train, channels=2, cumulative=True, steps=3)
        case("BatchNorm2d", nn.BatchNorm2d(2, affine=False), [numbers(2, 2, 2, 2)], train=train, channels=2, no_affine=True)
        case("BatchNorm2d", nn.BatchNorm2d(2, track_running_stats=False), [numbers(2, 2, 2, 2)], train=train, channels=2, no_running=True)
        case("BatchNorm3d", nn.BatchNorm3d(1, eps=0.1), [numbers(2, 1, 1, 2, 3)], train=train, channels=1, eps=0.1)
    case("LayerNorm", nn.LayerNorm(4), [numbers(2, 3, 4)], sizes=[4])
    case("LayerNorm", nn.LayerNorm((3, 4), eps=0.01), [numbers(2, 3, 4)], sizes=[3, 4], eps=0.01)
    case("LayerNorm", nn.LayerNorm(4, bias=False), [numbers(2, 4)], sizes=[4], no_bias=True)
    case("LayerNorm", nn.LayerNorm(4, elementwise_affine=False), [numbers(2, 4)], sizes=[4], no_affine=True)
    case("RmsNorm", nn.RMSNorm(4), [numbers(2, 3, 4)], sizes=[4], eps_free=True)
    case("RmsNorm", nn.RMSNorm(4, eps=0.01), [numbers(2, 4)], sizes=[4], eps=0.01)
    case("GroupNorm", nn.GroupNorm(2, 4), [numbers(2, 4, 3)], sizes=[2, 4])
    case("GroupNorm", nn.GroupNorm(1, 4, affine=False), [numbers(2, 4, 2, 2)], sizes=[1, 4], no_affine=True)
    case("InstanceNorm", nn.InstanceNorm2d(2), [numbers(2, 2, 2, 3)], sizes=[2])
    case("InstanceNorm", nn.InstanceNorm1d(2, affine=True), [numbers(2, 2, 4)], sizes=[2], affine=True)
    case("LocalResponseNorm", nn.LocalResponseNorm(3, alpha=0.5, beta=0.5, k=2.0), [numbers(1, 4, 2, 2)], sizes=[3], alpha=0.5, beta=0.5, k=2.0)


class Spectral(nn.Module):
    """What `spectral_norm` does to the weight of a layer, as a module of its own."""

    def __init__(self, rows, columns, steps):
        super().__init__()
        self.register_buffer("weight_u", torch.zeros(rows))
        self.register_buffer("weight_v", torch.zeros(columns))
        self.steps = steps

    def forward(self, weight):
        """The weight divided by its largest singular value."""
        layer = nn.utils.spectral_norm(nn.Linear(weight.shape[1], weight.shape[0]), n_power_iterations=self.steps)
        layer.weight_orig = nn.Parameter(weight.detach().clone())
        layer.weight_u.copy_(self.weight_u)
        layer.weight_v.copy_(self.weight_v)
        layer.train(self.training)
        del layer._parameters["weight_orig"]
        layer.weight_orig = weight
        layer(torch.zeros(1, weight.shape[1]))
        self.weight_u.copy_(layer.weight_u)
        self.weight_v.copy_(layer.weight_v)
        return layer.weight


def spectral():
    case("SpectralNorm", Spectral(3, 2, 1), [numbers(3, 2)], sizes=[3, 2], iterations=1)
    case("SpectralNorm", Spectral(2, 4, 3), [numbers(2, 4)], sizes=[2, 4], iterations=3, steps=2)
    case("SpectralNorm", Spectral(3, 2, 1), [numbers(3, 2)], train=False, sizes=[3, 2], iterations=1)


def embeddings():
    case("Embedding", nn.Embedding(5, 3), [ints(2, 3, high=5)], sizes=[5, 3])
    case("Embedding", nn.Embedding(5, 2, padding_idx=1), [ints(6, high=5)], sizes=[5, 2], padding_idx=1)
    case("Embedding", nn.Embedding(4, 2, max_norm=0.5), [ints(3, high=4)], sizes=[4, 2], max_norm=0.5)
    case("Embedding", nn.Embedding(4, 2, max_norm=0.5, norm_type=1.0), [ints(5, high=4)], sizes=[4, 2], max_norm=0.5, norm_type=1.0)


def recurrent():
    for name, kind in [("Rnn", nn.RNN), ("Lstm", nn.LSTM), ("Gru", nn.GRU)]:
        def run(module, x, *first):
            if isinstance(module, nn.LSTM):
                out, (h, c) = module(x, tuple(first)) if first else module(x)
                return out, h, c
            return module(x, *first)

        def add(x, options, attributes, *first, kind=kind, name=name, run=run):
            case(name, kind(2, 3, **options), [x, *first], call=run, sizes=[2, 3], **attributes)

        first = [numbers(1, 2, 3, seed=k + 5) for k in range(2 if name == "Lstm" else 1)]
        add(numbers(3, 2, 2), {}, {})
        add(numbers(3, 2, 2), {}, {}, *first)
        add(numbers(2, 3, 2), {"batch_first": True, "bias": False}, {"batch_first": True, "no_bias": True})
        add(numbers(2, 1, 2), {"num_layers": 2, "bidirectional": True}, {"layers": 2, "bidirectional": True})
    case("Rnn", nn.RNN(2, 3, nonlinearity="relu"), [numbers(3, 1, 2)], sizes=[2, 3], relu=True)
    case("RnnCell", nn.RNNCell(2, 3), [numbers(2, 2), numbers(2, 3)], sizes=[2, 3])
    case("RnnCell", nn.RNNCell(2, 3, bias=False, nonlinearity="relu"), [numbers(2, 2)], sizes=[2, 3], relu=True, no_bias=True)
    case("LstmCell", nn.LSTMCell(2, 3), [numbers(2, 2)], sizes=[2, 3])
    case("LstmCell", nn.LSTMCell(2, 3), [numbers(2, 2), numbers(2, 3), numbers(2, 3, seed=3)], call=lambda m, x, h, c: m(x, (h, c)), sizes=[2, 3])
    case("GruCell", nn.GRUCell(2, 3), [numbers(2, 2), numbers(2, 3)], sizes=[2, 3])


def attention():
    def add(inputs, options, attributes, mask=None, keys=None, need=None):
        def call(module, q, k, v, mask, keys):
            out, found = module(q, k, v, attn_mask=mask, key_padding_mask=keys, need_weights=need is not None, average_attn_weights=need == "mean")
            return out if need is None else (out, found)

        module = nn.MultiheadAttention(4, 2, **options)
        case("MultiHeadAttention", module, [*inputs, mask, keys], call=call, sizes=[4, 2], need=need, **attributes)

    q, k, v = numbers(3, 2, 4), numbers(5, 2, 4), numbers(5, 2, 4, seed=1)
    above = torch.ones(3, 5).triu(1) > 0
    padding = torch.tensor([[False] * 5, [False, False, False, True, True]])
    add([q, k, v], {}, {})
    add([q, k, v], {}, {}, need="mean")
    add([q, k, v], {"bias": False}, {"no_bias": True}, need="each")
    add([q, k, v], {}, {}, mask=above)
    add([q, k, v], {}, {}, mask=numbers(3, 5), need="mean")
    add([q, k, v], {}, {}, mask=numbers(4, 3, 5))
    add([q, k, v], {}, {}, keys=padding)
    add([q, k, v], {}, {}, mask=above, keys=padding, need="each")
    add([x.transpose(0, 1).contiguous() for x in (q, k, v)], {"batch_first": True}, {"batch_first": True}, keys=padding)
    add([q, numbers(5, 2, 3), numbers(5, 2, 2)], {"kdim": 3, "vdim": 2}, {"widths": [3, 2]}, need="mean")
    add([numbers(3, 4), numbers(5, 4), numbers(5, 4, seed=1)], {}, {}, need="mean")
    add([numbers(3, 4), numbers(5, 4), numbers(5, 4, seed=1)], {"batch_first": True}, {"batch_first": True}, mask=above)


def transformers():
    x, memory = numbers(3, 2, 4), numbers(2, 2, 4, seed=2)
    above = torch.ones(3, 3).triu(1) > 0
    padding = torch.tensor([[False] * 3, [False, False, True]])
    for train in [True, False]:
        for options in [{}, {"norm_first": True}, {"activation": "gelu"}, {"bias": False}, {"layer_norm_eps": 0.01}]:
            module = nn.TransformerEncoderLayer(4, 2, 5, dropout=0.0, **options)
            case("TransformerEncoderLayer", module, [x, None, None], train=train, sizes=[4, 2, 5], **options)
    run = lambda m, x, mask, keys: m(x, src_mask=mask, src_key_padding_mask=keys)
    module = nn.TransformerEncoderLayer(4, 2, 5, dropout=0.0)
    case("TransformerEncoderLayer", module, [x, above, padding], call=run, sizes=[4, 2, 5])
    module = nn.TransformerEncoderLayer(4, 2, 5, dropout=0.0, batch_first=True)
    case("TransformerEncoderLayer", module, [x.transpose(0, 1).contiguous(), above, None], call=run, sizes=[4, 2, 5], batch_first=True)
    module = nn.TransformerEncoderLayer(4, 2, 5, dropout=0.5)
    case("TransformerEncoderLayer", module, [x, None, None], train=False, sizes=[4, 2, 5], dropout=0.5)

    def decode(module, x, memory, mask, keys, memory_mask):
        return module(x, memory, tgt_mask=mask, tgt_key_padding_mask=keys, memory_mask=memory_mask)

    for options in [{}, {"norm_first": True}, {"activation": "gelu", "bias": False}]:
        module = nn.TransformerDecoderLayer(4, 2, 5, dropout=0.0, **options)
        case("TransformerDecoderLayer", module, [x, memory, above, None, None], call=decode, sizes=[4, 2, 5], **options)
    module = nn.TransformerDecoderLayer(4, 2, 5, dropout=0.0)
    case("TransformerDecoderLayer", module, [x, memory, None, padding, numbers(3, 2)], call=decode, sizes=[4, 2, 5])
    layer = nn.TransformerEncoderLayer(4, 2, 3, dropout=0.0)
    module = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(4), enable_nested_tensor=False)
    case("TransformerEncoder", module, [x, above, None], call=lambda m, x, mask, _: m(x, mask=mask), sizes=[4, 2, 3])
    module = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 3, dropout=0.0), 2)
    case("TransformerDecoder", module, [x, memory, above, None, None], call=decode, sizes=[4, 2, 3])


class HardSigmoid(nn.Module):
    """`nn.Hardsigmoid`, whose gradient has a factor of single precision, in double precision."""

    def forward(self, x):
        """A sixth of `relu6(x + 3)`."""
        return nn.functional.relu6(x + 3) / 6


def activations():
    x = golden.distinct(3, 4, step=3 / 16)
    kinds = {
        "Relu": nn.ReLU(), "Relu6": nn.ReLU6(), "Sigmoid": nn.Sigmoid(), "Tanh": nn.Tanh(), "Softsign": nn.Softsign(),
        "Selu": nn.SELU(), "Silu": nn.SiLU(), "Mish": nn.Mish(), "HardSigmoid": HardSigmoid(), "HardSwish": nn.Hardswish(),
        "LogSigmoid": nn.LogSigmoid(), "TanhShrink": nn.Tanhshrink(), "LeakyRelu": nn.LeakyReLU(), "Elu": nn.ELU(), "Celu": nn.CELU(),
        "Gelu": nn.GELU(), "Glu": nn.GLU(), "HardTanh": nn.Hardtanh(), "HardShrink": nn.Hardshrink(), "SoftShrink": nn.Softshrink(),
        "Softplus": nn.Softplus(), "Softmax": nn.Softmax(-1), "LogSoftmax": nn.LogSoftmax(-1), "Identity": nn.Identity(),
    }
    for name, module in kinds.items():
        case(name, module, [x])
    case("Flatten", nn.Flatten(), [numbers(2, 3, 2)])
    case("PixelShuffle", nn.PixelShuffle(2), [numbers(1, 4, 2, 1)])
    case("PixelUnshuffle", nn.PixelUnshuffle(2), [numbers(1, 1, 2, 4)])
    case("ChannelShuffle", nn.ChannelShuffle(2), [numbers(1, 4, 1, 2)])
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.BatchNorm1d(4), nn.Sequential(nn.Linear(4, 2), nn.Tanh()))
    case("Sequential", net, [numbers(4, 3)])


for group in [linears, convolutions, pools, normalisations, spectral, embeddings, recurrent, attention, transformers, activations]:
    group()
path = FOLDER / "layers.json"
with path.open("w") as file:
    for line in LINES:
        file.write(json.dumps(line, separators=(",", ":")) + "\n")
print(f"layers: {len(LINES)} cases, {path.stat().st_size // 1024} KB")
