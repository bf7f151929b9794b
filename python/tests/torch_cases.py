"""Layers, optimizers, schedulers and distributions that PyTorch has, too: one source for both.

`bench/peers/layers_golden.py` runs them with PyTorch and writes what they give; `test_torch_cases.py` runs them here, in
both modes. All is done in float64.
"""

from collections import OrderedDict

import numpy as np


def numbers(*shape, seed=0):
    """Numbers between -1 and 1 that look random."""
    n = int(np.prod(shape))
    return (np.sin(np.arange(1, n + 1) * (1.7 + seed * 0.31) + seed) * 0.9).reshape(shape)


def filled(state):
    """Values for a state dict, by the order of its keys."""
    return {
        key: numbers(*tuple(value.shape), seed=i + 1) * 0.5
        for i, (key, value) in enumerate(sorted(state.items()))
        if "num_batches" not in key
    }


#: Name, layer, shapes of inputs (or arrays).
LAYERS = [
    ("zero_pad1d", lambda nn: nn.ZeroPad1d((1, 2)), [(2, 3, 4)]),
    ("zero_pad2d", lambda nn: nn.ZeroPad2d((1, 2, 0, 3)), [(2, 3, 4, 5)]),
    ("zero_pad2d_negative", lambda nn: nn.ZeroPad2d((-1, 2, 0, -1)), [(2, 3, 4, 5)]),
    ("zero_pad3d", lambda nn: nn.ZeroPad3d(1), [(1, 2, 2, 3, 2)]),
    ("constant_pad1d", lambda nn: nn.ConstantPad1d((2, 1), 0.5), [(2, 3, 4)]),
    ("constant_pad2d", lambda nn: nn.ConstantPad2d(2, 3.5), [(1, 2, 3, 3)]),
    ("constant_pad3d", lambda nn: nn.ConstantPad3d((1, 0, 2, 1, 0, 1), -1.0), [(1, 1, 2, 2, 3)]),
    ("reflection_pad1d", lambda nn: nn.ReflectionPad1d((2, 1)), [(2, 3, 4)]),
    ("reflection_pad2d", lambda nn: nn.ReflectionPad2d((1, 1, 2, 0)), [(1, 2, 3, 4)]),
    ("reflection_pad3d", lambda nn: nn.ReflectionPad3d(1), [(1, 1, 2, 3, 3)]),
    ("replication_pad1d", lambda nn: nn.ReplicationPad1d((3, 1)), [(2, 3, 4)]),
    ("replication_pad2d", lambda nn: nn.ReplicationPad2d(2), [(1, 2, 3, 4)]),
    ("replication_pad3d", lambda nn: nn.ReplicationPad3d((0, 1, 2, 0, 1, 1)), [(1, 1, 2, 3, 3)]),
    ("circular_pad1d", lambda nn: nn.CircularPad1d((1, 3)), [(2, 3, 4)]),
    ("circular_pad2d", lambda nn: nn.CircularPad2d((1, 2, 0, 3)), [(1, 2, 3, 4)]),
    ("circular_pad3d", lambda nn: nn.CircularPad3d(1), [(1, 1, 2, 3, 3)]),
    ("conv1d_reflect", lambda nn: nn.Conv1d(2, 3, 3, padding=2, padding_mode="reflect"), [(2, 2, 5)]),
    ("conv2d_replicate", lambda nn: nn.Conv2d(2, 3, 3, 2, (2, 1), padding_mode="replicate"), [(1, 2, 5, 6)]),
    ("conv2d_circular", lambda nn: nn.Conv2d(2, 2, (3, 2), padding=1, dilation=(1, 2), padding_mode="circular"),
     [(1, 2, 5, 6)]),
    ("conv3d_circular", lambda nn: nn.Conv3d(1, 2, 2, padding=1, padding_mode="circular"), [(1, 1, 2, 3, 3)]),
    ("conv1d_same", lambda nn: nn.Conv1d(2, 3, 4, padding="same", dilation=2), [(2, 2, 7)]),
    ("conv2d_same", lambda nn: nn.Conv2d(2, 4, (3, 2), padding="same", groups=2), [(1, 2, 5, 6)]),
    ("conv2d_same_reflect", lambda nn: nn.Conv2d(1, 2, (4, 3), padding="same", padding_mode="reflect"), [(1, 1, 5, 6)]),
    ("conv2d_valid", lambda nn: nn.Conv2d(1, 2, 3, padding="valid"), [(1, 1, 5, 6)]),
    ("lazy_conv1d", lambda nn: nn.LazyConv1d(3, 2), [(2, 2, 5)]),
    ("lazy_conv2d", lambda nn: nn.LazyConv2d(3, 2, 2, padding=1), [(1, 2, 5, 4)]),
    ("lazy_conv3d", lambda nn: nn.LazyConv3d(2, 2, bias=False), [(1, 2, 2, 3, 3)]),
    ("lazy_conv_transpose2d", lambda nn: nn.LazyConvTranspose2d(3, 2, stride=2), [(1, 2, 3, 4)]),
    ("lazy_linear", lambda nn: nn.LazyLinear(3), [(2, 4)]),
    ("upsample_nearest", lambda nn: nn.Upsample(scale_factor=2), [(1, 2, 3, 4)]),
    ("upsample_size", lambda nn: nn.Upsample(size=(5, 7), mode="bilinear"), [(1, 2, 3, 4)]),
    ("upsample_corners", lambda nn: nn.Upsample(scale_factor=1.5, mode="bilinear", align_corners=True), [(1, 2, 4, 4)]),
    ("upsample_bicubic", lambda nn: nn.Upsample(scale_factor=(2, 3), mode="bicubic"), [(1, 1, 3, 4)]),
    ("upsample_linear", lambda nn: nn.Upsample(scale_factor=2, mode="linear"), [(1, 2, 5)]),
    ("upsampling_nearest2d", lambda nn: nn.UpsamplingNearest2d(scale_factor=2), [(1, 2, 3, 4)]),
    ("upsampling_bilinear2d", lambda nn: nn.UpsamplingBilinear2d(size=(6, 5)), [(1, 2, 3, 4)]),
    ("unflatten", lambda nn: nn.Unflatten(1, (2, 3)), [(2, 6, 2)]),
    ("unflatten_open", lambda nn: nn.Unflatten(-1, (-1, 2)), [(2, 6)]),
    ("unfold", lambda nn: nn.Unfold((2, 3), dilation=(1, 1), padding=(1, 0), stride=2), [(2, 2, 4, 5)]),
    ("fold", lambda nn: nn.Fold((4, 5), (2, 2), stride=(2, 1)), [(2, 8, 8)]),
    ("cosine_similarity", lambda nn: nn.CosineSimilarity(dim=1), [(2, 3, 4), (2, 3, 4)]),
    ("pairwise_distance", lambda nn: nn.PairwiseDistance(), [(3, 4), (3, 4)]),
    ("pairwise_distance_1", lambda nn: nn.PairwiseDistance(1.0, keepdim=True), [(3, 4), (3, 4)]),
    ("lstm_proj", lambda nn: nn.LSTM(3, 5, proj_size=2), [(4, 2, 3)]),
    ("lstm_proj_deep", lambda nn: nn.LSTM(3, 5, num_layers=2, bidirectional=True, batch_first=True, proj_size=2),
     [(2, 4, 3)]),
    ("lstm_proj_plain", lambda nn: nn.LSTM(3, 4, bias=False, proj_size=3), [(4, 3)]),
    ("transformer", lambda nn: nn.Transformer(4, 2, 1, 2, 6, 0.0), [(3, 2, 4), (5, 2, 4)]),
    ("transformer_first", lambda nn: nn.Transformer(4, 2, 1, 1, 6, 0.0, "gelu", batch_first=True, norm_first=True,
                                                    bias=False), [(2, 3, 4), (2, 5, 4)]),
    ("weight_norm", lambda nn: nn.utils.weight_norm(nn.Linear(3, 4)), [(2, 3)]),
    ("weight_norm_whole", lambda nn: nn.utils.weight_norm(nn.Conv2d(2, 3, 2), dim=None), [(1, 2, 3, 3)]),
    ("weight_norm_conv", lambda nn: nn.utils.weight_norm(nn.Conv1d(2, 3, 2), dim=1), [(1, 2, 4)]),
    ("parametrized_weight_norm", lambda nn: nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)), [(2, 3)]),
    ("spectral_norm", lambda nn: nn.utils.spectral_norm(nn.Linear(3, 4)), [(2, 3)]),
    ("spectral_norm_conv", lambda nn: nn.utils.spectral_norm(nn.ConvTranspose1d(3, 2, 2), n_power_iterations=2),
     [(2, 3, 4)]),
    ("parametrized_spectral_norm", lambda nn: nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4)), [(2, 3)]),
    ("sequential_dict", lambda nn: nn.Sequential(OrderedDict(a=nn.Linear(3, 4), b=nn.Tanh())), [(2, 3)]),
    ("max_pool_indices", lambda nn: nn.MaxPool2d(2, 2, 0, 1, True), [(1, 2, 4, 6)]),
]


def unpooled(nn, x):
    """What goes down and up again."""
    y, places = nn.MaxPool2d(2, stride=2, return_indices=True)(x)
    return nn.MaxUnpool2d(2, stride=2)(y * 2.0, places, output_size=x.shape)


def unpooled1d(nn, x):
    y, places = nn.MaxPool1d(3, return_indices=True)(x)
    return nn.MaxUnpool1d(3)(y, places)


def bags(**options):
    """A function of a table, whose rows are looked up in bags."""

    def call(nn, table, tensor):
        layer = nn.EmbeddingBag.from_pretrained(table, freeze=False, **options)
        return layer, [tensor([[1, 2, 4], [3, 3, 0]])]

    def by_offsets(nn, table, tensor):
        layer = nn.EmbeddingBag.from_pretrained(table, freeze=False, **options)
        return layer, [tensor([1, 2, 4, 3, 3, 0]), tensor([0, 2, 2, 3])]

    return call, by_offsets


#: Name, a function that makes a layer of a table of 5 rows of 3, and gives its inputs.
BAGS = [
    (f"{mode}_{kind}_{padding}", make)
    for mode in ("sum", "mean", "max")
    for padding in (None, 3)
    for kind, make in zip(("rows", "offsets"), bags(mode=mode, padding_idx=padding))
]

#: Functions of layers and of one input.
CALLS = [("max_unpool2d", unpooled, (1, 2, 5, 4)), ("max_unpool1d", unpooled1d, (2, 2, 7))]

#: Name, optimizer.
OPTIMIZERS = [
    ("rprop", lambda optim, p: optim.Rprop(p, lr=0.02)),
    ("rprop_etas", lambda optim, p: optim.Rprop(p, lr=0.05, etas=(0.4, 1.5), step_sizes=(1e-4, 0.2))),
    ("asgd", lambda optim, p: optim.ASGD(p, lr=0.1, lambd=0.01, alpha=0.6, t0=2, weight_decay=0.1)),
    ("adafactor", lambda optim, p: optim.Adafactor(p, lr=0.05)),
    ("adafactor_decay", lambda optim, p: optim.Adafactor(p, lr=0.5, beta2_decay=-0.5, d=1.5, weight_decay=0.1)),
    ("adam_maximize", lambda optim, p: optim.Adam(p, lr=0.01, maximize=True)),
    ("sgd_maximize", lambda optim, p: optim.SGD(p, lr=0.01, momentum=0.9, nesterov=True, maximize=True)),
    ("adagrad_default", lambda optim, p: optim.Adagrad(p)),
    ("adadelta_default", lambda optim, p: optim.Adadelta(p)),
    ("rmsprop_default", lambda optim, p: optim.RMSprop(p)),
    ("adamax_default", lambda optim, p: optim.Adamax(p)),
    ("nadam_default", lambda optim, p: optim.NAdam(p)),
]

#: Name, optimizer with a closure.
CLOSURES = [
    ("lbfgs", lambda optim, p: optim.LBFGS(p, lr=0.5, max_iter=5)),
    ("lbfgs_wolfe", lambda optim, p: optim.LBFGS(p, max_iter=6, history_size=3, line_search_fn="strong_wolfe")),
]

#: Name, scheduler, and whether its optimizer has a momentum.
SCHEDULERS = [
    ("cyclic", lambda s, o: s.CyclicLR(o, 0.1, 0.5, 3, 2, cycle_momentum=False)),
    ("cyclic_momentum", lambda s, o: s.CyclicLR(o, 0.1, 0.5, 2, mode="triangular2")),
    ("cyclic_exp", lambda s, o: s.CyclicLR(o, 0.1, 0.5, 3, mode="exp_range", gamma=0.9)),
    ("cyclic_scaled", lambda s, o: s.CyclicLR(o, 0.1, 0.5, 3, scale_fn=lambda x: 1 / (1.5**x))),
    ("one_cycle", lambda s, o: s.OneCycleLR(o, 0.5, total_steps=14)),
    ("one_cycle_three", lambda s, o: s.OneCycleLR(o, 0.5, epochs=2, steps_per_epoch=8, three_phase=True,
                                                  anneal_strategy="linear")),
    ("sequential", lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=3), s.CosineAnnealingLR(o, 6), s.ExponentialLR(o, 0.5)], [3, 8])),
    ("chained", lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)])),
    ("multiplicative", lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.95)),
    ("lambda", lambda s, o: s.LambdaLR(o, lambda epoch: 1 / (epoch + 1))),
    ("two_in_turn", lambda s, o: (s.LinearLR(o, 0.5, total_iters=2), s.StepLR(o, 4, 0.1))[1]),
    ("warm_restarts", lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01)),
    ("polynomial", lambda s, o: s.PolynomialLR(o, 6, 2.0)),
]

#: Name, distribution of parameters, the parameters, and values.
DISTRIBUTIONS = [
    ("normal", lambda d, a, b: d.Normal(a, b), ([0.3, -1.0], [0.5, 2.0]), [0.1, 1.5]),
    ("laplace", lambda d, a, b: d.Laplace(a, b), ([0.3, -1.0], [0.5, 2.0]), [0.1, 1.5]),
    ("cauchy", lambda d, a, b: d.Cauchy(a, b), ([0.3, -1.0], [0.5, 2.0]), [0.1, 1.5]),
    ("gumbel", lambda d, a, b: d.Gumbel(a, b), ([0.3, -1.0], [0.5, 2.0]), [0.1, 1.5]),
    ("uniform", lambda d, a, b: d.Uniform(a, b), ([0.3, -1.0], [0.5, 2.0]), [0.4, 1.5]),
    ("exponential", lambda d, a: d.Exponential(a), ([0.3, 2.0],), [0.4, 1.5]),
    ("gamma", lambda d, a, b: d.Gamma(a, b), ([0.3, 3.0], [0.5, 2.0]), [0.4, 1.5]),
    ("chi2", lambda d, a: d.Chi2(a), ([0.3, 3.0],), [0.4, 1.5]),
    ("beta", lambda d, a, b: d.Beta(a, b), ([0.3, 3.0], [0.5, 2.0]), [0.4, 0.7]),
    ("student", lambda d, a, b, c: d.StudentT(a, b, c), ([2.5, 3.0], [0.5, 2.0], [0.3, 1.5]), [0.4, 0.7]),
    ("half_normal", lambda d, a: d.HalfNormal(a), ([0.3, 2.0],), [0.4, 1.5]),
    ("log_normal", lambda d, a, b: d.LogNormal(a, b), ([0.3, -1.0], [0.5, 2.0]), [0.1, 1.5]),
    ("bernoulli", lambda d, a: d.Bernoulli(a), ([0.3, 0.8],), [0.0, 1.0]),
    ("bernoulli_logits", lambda d, a: d.Bernoulli(logits=a), ([0.3, -2.0],), [0.0, 1.0]),
    ("geometric", lambda d, a: d.Geometric(a), ([0.3, 0.8],), [0.0, 3.0]),
    ("binomial", lambda d, a: d.Binomial(5, a), ([0.3, 0.8],), [0.0, 3.0]),
    ("poisson", lambda d, a: d.Poisson(a), ([0.3, 8.0],), [0.0, 3.0]),
    ("categorical", lambda d, a: d.Categorical(a), ([[0.3, 0.5, 0.7], [0.1, 0.1, 2.0]],), [2, 0]),
    ("categorical_logits", lambda d, a: d.Categorical(logits=a), ([[0.3, 0.5, 0.7], [0.1, -0.1, 2.0]],), [2, 0]),
    ("one_hot", lambda d, a: d.OneHotCategorical(a), ([0.3, 0.5, 0.7],), [[0.0, 1.0, 0.0]]),
    ("multinomial", lambda d, a: d.Multinomial(4, a), ([0.3, 0.5, 0.7],), [1.0, 1.0, 2.0]),
    ("dirichlet", lambda d, a: d.Dirichlet(a), ([[0.3, 0.5, 0.7], [2.0, 1.0, 3.0]],), [0.2, 0.3, 0.5]),
    ("multivariate", lambda d, a, b: d.MultivariateNormal(a, b), ([0.3, -1.0], [[2.0, 0.5], [0.5, 1.0]]), [0.2, 0.3]),
    ("multivariate_tril", lambda d, a, b: d.MultivariateNormal(a, scale_tril=b),
     ([[0.3, -1.0], [0.0, 1.0]], [[2.0, 0.0], [0.5, 1.0]]), [0.2, 0.3]),
    ("independent", lambda d, a, b: d.Independent(d.Normal(a, b), 1), ([0.3, -1.0], [0.5, 2.0]), [0.1, 1.5]),
    ("tanh", lambda d, a, b: d.TransformedDistribution(
        d.Normal(a, b), [d.transforms.AffineTransform(0.5, 2.0), d.transforms.TanhTransform()]),
     ([0.3, -1.0], [0.5, 2.0]), [0.1, -0.5]),
    ("sigmoid", lambda d, a, b: d.TransformedDistribution(
        d.Independent(d.Laplace(a, b), 1), d.transforms.SigmoidTransform()), ([0.3, -1.0], [0.5, 2.0]), [0.1, 0.5]),
    ("mixture", lambda d, w, a, b: d.MixtureSameFamily(d.Categorical(w), d.Normal(a, b)),
     ([0.3, 0.7], [0.3, -1.0], [0.5, 2.0]), 0.25),
]

#: Distributions of one kind, how far apart they are: by the names above, with parameters of the second.
DIVERGENCES = [
    ("normal", ([0.0, 1.0], [1.0, 1.5])),
    ("laplace", ([0.0, 1.0], [1.0, 1.5])),
    ("gumbel", ([0.0, 1.0], [1.0, 1.5])),
    ("uniform", ([0.0, -2.0], [1.0, 3.0])),
    ("exponential", ([1.0, 1.5],)),
    ("gamma", ([1.0, 1.5], [0.7, 0.8])),
    ("beta", ([1.0, 1.5], [0.7, 0.8])),
    ("half_normal", ([1.0, 1.5],)),
    ("log_normal", ([0.0, 1.0], [1.0, 1.5])),
    ("bernoulli", ([0.5, 0.1],)),
    ("geometric", ([0.5, 0.1],)),
    ("binomial", ([0.5, 0.1],)),
    ("poisson", ([0.5, 4.0],)),
    ("categorical", ([[0.1, 0.5, 0.7], [0.3, 0.1, 1.0]],)),
    ("dirichlet", ([[1.0, 0.5, 2.0], [2.0, 2.0, 3.0]],)),
    ("multivariate", ([0.0, 0.5], [[1.0, 0.1], [0.1, 3.0]])),
    ("independent", ([0.0, 1.0], [1.0, 1.5])),
]

X, Y = numbers(5, 3, seed=2), numbers(5, 4, seed=4)
W, B = numbers(3, 4, seed=1), numbers(4, seed=3)
STEPS = 7
