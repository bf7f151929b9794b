"""Softmax, normalisations, attention, recurrent networks and what surrounds them."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from golden import Golden, ints, numbers, weights

g = Golden("nets")
INF = float("inf")


def partial(function, reference, inputs, wrt, **attributes):
    """Adds a case with gradients of some inputs only, since the reference takes others as constants."""
    leaves = [None if x is None else x.clone().requires_grad_(i in wrt) for i, x in enumerate(inputs)]
    outputs = reference(*leaves)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    loss = sum((y * weights(k, y)).sum() for k, y in enumerate(outputs) if y.requires_grad)
    wrt = [i for i in wrt if leaves[i] is not None]
    found = dict(zip(wrt, torch.autograd.grad(loss, [leaves[i] for i in wrt])))
    g.add(function, inputs, outputs, [found.get(i) for i in range(len(inputs))], attributes)


def softmaxes():
    shapes = [((3,), 0), ((2, 3), 1), ((2, 3), 0), ((2, 3, 4), 1), ((2, 3, 4), -1), ((2, 3, 4), 0), ((1, 1), 0)]
    shapes += [((0, 3), 1), ((3, 0), 1), ((2, 2, 2, 2), 2), ((5, 1), 1), ((1, 40), 1), ((40,), -1)]
    for name, reference in [("softmax", F.softmax), ("log_softmax", F.log_softmax)]:
        for dims, axis in shapes:
            g.case(name, lambda x: reference(x, dim=axis), [numbers(*dims)], axis=axis)
        for high in [30.0, 200.0, 1000.0]:
            x = numbers(3, 4, low=-high, high=high)
            g.case(name, lambda x: reference(x, dim=1), [x], axis=1)
            g.case(name, lambda x: reference(x, dim=0), [x], axis=0)
        rows = torch.tensor([[0.0, -INF, 1.0], [-INF, 2.0, -INF]])
        g.case(name, lambda x: reference(x, dim=1), [rows], grad=name == "softmax", axis=1)
        dead = torch.tensor([[-INF, -INF], [INF, 0.0], [math.nan, 1.0], [1.0, 2.0]])
        g.case(name, lambda x: reference(x, dim=1), [dead], grad=False, axis=1)
        g.case(name, lambda x: reference(x, dim=1), [dead.t().reshape(1, 2, 4)], grad=False, axis=1)


def linears():
    for x, weight, bias in [((2, 3), (4, 3), (4,)), ((3,), (2, 3), None), ((2, 2, 3), (1, 3), (1,)), ((2, 3), (3,), None)]:
        bias = None if bias is None else numbers(*bias, seed=2)
        g.case("linear", F.linear, [numbers(*x), numbers(*weight, seed=1), bias])
    g.case("linear", F.linear, [numbers(0, 3), numbers(2, 3), numbers(2)])


def embeddings():
    def look(ids, table, **options):
        rows = F.embedding(ids, table, **options)
        return rows

    for dims in [(3,), (2, 2), (), (0,)]:
        g.case("embedding", look, [ints(*dims, high=5), numbers(5, 3)])
    for padding in [0, 2, -1]:
        reference = lambda ids, table: look(ids, table, padding_idx=padding)
        g.case("embedding", reference, [ints(2, 4, high=5), numbers(5, 3)], padding_idx=padding)
    for max_norm, p in [(1.0, 2.0), (2.0, 1.0), (1.5, 3.0), (100.0, 2.0)]:
        # PyTorch changes the table, which must not be the leaf then.
        def reference(ids, table):
            short = table.detach().clone()
            F.embedding(ids, short, max_norm=max_norm, norm_type=p)
            return F.embedding(ids, table + (short - table.detach()))

        g.case("embedding", reference, [ints(6, high=5), numbers(5, 3)], max_norm=max_norm, norm_type=p)

        def renormalised(table, ids):
            short = table.clone()
            F.embedding(ids, short, max_norm=max_norm, norm_type=p)
            return short

        inputs = [numbers(5, 3), ints(2, 2, high=5)]
        g.case("renormalise_rows", renormalised, inputs, grad=False, max_norm=max_norm, norm_type=p)


def attentions():
    def case(q, k, v, mask=None, **options):
        inputs = [numbers(*q), numbers(*k, seed=1), numbers(*v, seed=2), mask]

        def reference(q, k, v, mask):
            grouped = q.dim() > 2 and q.shape[-3] != k.shape[-3]
            if mask is not None and options.get("causal"):
                lower = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
                mask, causal = mask & lower, False
            else:
                causal = options.get("causal", False)
            return F.scaled_dot_product_attention(
                q, k, v, attn_mask=mask, is_causal=causal, scale=options.get("scale"), enable_gqa=grouped
            )

        g.case("attention", reference, inputs, **options)

    case((3, 2), (4, 2), (4, 3))
    case((2, 3, 2), (2, 4, 2), (2, 4, 3))
    case((1, 2, 3, 2), (1, 2, 4, 2), (1, 2, 4, 2))
    for causal_len, keys in [(3, 3), (2, 4), (4, 2), (1, 1)]:
        case((1, 2, causal_len, 2), (1, 2, keys, 2), (1, 2, keys, 3), causal=True)
    for scale in [1.0, 0.125, 3.0]:
        case((2, 2, 2), (2, 2, 2), (2, 2, 2), scale=scale)
    for dims in [(3, 4), (1, 4), (2, 3, 4), (1, 3, 4), (2, 1, 4)]:
        mask = torch.rand(dims, generator=torch.Generator().manual_seed(3)) > 0.4
        mask[..., 0] = True
        case((2, 3, 2), (2, 4, 2), (2, 4, 3), mask)
        case((2, 3, 2), (2, 4, 2), (2, 4, 3), numbers(*dims, seed=5))
    for group in [1, 2, 4]:
        case((1, 4, 3, 2), (1, 4 // group, 3, 2), (1, 4 // group, 3, 2))
        case((1, 4, 3, 2), (1, 4 // group, 3, 2), (1, 4 // group, 3, 2), causal=True)
    case((2, 4, 2, 2), (2, 2, 3, 2), (2, 2, 3, 2), numbers(2, 4, 2, 3, seed=6))
    case((2, 4, 2, 2), (2, 2, 3, 2), (2, 2, 3, 2), numbers(2, 1, 2, 3, seed=6))
    case((2, 4, 2, 2), (2, 2, 3, 2), (2, 2, 3, 2), numbers(2, 3, seed=6))
    dead = torch.tensor([[True, False, True], [False, False, False]])
    case((2, 2, 2), (2, 3, 2), (2, 3, 2), dead)
    case((2, 2, 2), (2, 3, 2), (2, 3, 2), torch.where(dead, 0.25, -INF))
    case((2, 3, 2), (2, 3, 2), (2, 3, 2), torch.tensor([False, True, True]).expand(3, 3), causal=True)


def rotaries():
    def rotate(x, cos, sin, interleaved):
        n = cos.shape[-1]
        head, rest = x[..., : 2 * n], x[..., 2 * n :]
        if interleaved:
            numbers_ = torch.view_as_complex(head.reshape(*head.shape[:-1], n, 2).contiguous())
        else:
            numbers_ = torch.complex(head[..., :n].contiguous(), head[..., n:].contiguous())
        turned = torch.view_as_real(numbers_ * torch.complex(cos, sin).expand(numbers_.shape))
        turned = turned.flatten(-2) if interleaved else torch.cat([turned[..., 0], turned[..., 1]], -1)
        return torch.cat([turned, rest], -1)

    for dims, pairs in [((3, 4), 2), ((2, 3, 4), 2), ((2, 1, 3, 6), 2), ((3, 2), 1), ((2, 3, 8), 3)]:
        for interleaved in [False, True]:
            inputs = [numbers(*dims), numbers(dims[-2], pairs, seed=1), numbers(dims[-2], pairs, seed=2)]
            reference = lambda x, c, s: rotate(x, c, s, interleaved)
            g.case("rotary_embedding", reference, inputs, interleaved=interleaved)
    for length, dim, base in [(4, 4, 10000.0), (3, 6, 500.0), (1, 2, 10.0), (0, 4, 10.0)]:
        angles = torch.outer(torch.arange(length, dtype=torch.float64), base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim))
        g.case("rotary_tables", lambda like: (angles.cos(), angles.sin()), [numbers(1)], length=length, dim=dim, base=base)


def norms():
    shapes = [(4, 2), (2, 3, 2), (2, 2, 2, 2), (2, 1, 2, 1, 2), (1, 2, 3), (2, 2, 2)]
    for dims in shapes:
        channels = dims[1]
        weight, bias = numbers(channels, seed=1), numbers(channels, seed=2)
        mean, variance = numbers(channels, seed=3), numbers(channels, seed=4, low=0.25)
        for w, b, eps in [(None, None, 1e-5), (weight, bias, 1e-5), (weight, None, 0.1), (None, bias, 1e-3)]:
            reference = lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b, False, 0.1, eps)
            partial("batch_norm", reference, [numbers(*dims), mean, variance, w, b], [0, 3, 4], eps=eps)

            def train(x, w, b):
                axes = [axis for axis in range(x.dim()) if axis != 1]
                y = F.batch_norm(x, None, None, w, b, True, 0.1, eps)
                variance, mean = torch.var_mean(x, axes, correction=0)
                return y, mean, variance

            g.case("batch_norm_train", train, [numbers(*dims), w, b], eps=eps)
            if len(dims) > 2:
                reference = lambda x, w, b: F.instance_norm(x, None, None, w, b, True, 0.1, eps)
                g.case("instance_norm", reference, [numbers(*dims), w, b], eps=eps)
    g.case("batch_norm_train_shifted", lambda x, w, b: train(x + 4096, w, b), [numbers(6, 2), None, None], eps=eps, shift=4096.0)
    for dims, count in [((3,), 1), ((2, 3), 1), ((2, 3), 2), ((2, 2, 3), 1), ((2, 2, 3), 2), ((2, 2, 2, 2), 3), ((2, 1), 1)]:
        own = dims[len(dims) - count :]
        weight, bias = numbers(*own, seed=1), numbers(*own, seed=2)
        for w, b, eps in [(None, None, 1e-5), (weight, bias, 1e-5), (weight, None, 0.1)]:
            reference = lambda x, w, b: F.layer_norm(x, own, w, b, eps)
            g.case("layer_norm", reference, [numbers(*dims), w, b], count=count, eps=eps)
            reference = lambda x, w: F.rms_norm(x, own, w, eps)
            g.case("rms_norm", reference, [numbers(*dims), w], count=count, eps=eps)
    for dims, groups in [((2, 4), 2), ((2, 4, 2), 1), ((2, 4, 2), 2), ((2, 4, 2), 4), ((1, 6, 2, 1), 3), ((2, 2, 1, 2, 1), 2)]:
        weight, bias = numbers(dims[1], seed=1), numbers(dims[1], seed=2)
        for w, b, eps in [(None, None, 1e-5), (weight, bias, 1e-5), (weight, None, 0.1), (None, bias, 1e-3)]:
            if math.prod(dims) // dims[0] // groups == 1:
                continue
            reference = lambda x, w, b: F.group_norm(x, groups, w, b, eps)
            g.case("group_norm", reference, [numbers(*dims), w, b], groups=groups, eps=eps)
    for dims, size in [((2, 3, 4), 1), ((2, 5, 2), 2), ((2, 5, 2), 3), ((1, 4, 2, 2), 5), ((1, 2, 3), 7), ((2, 6, 2), 4)]:
        for alpha, beta, k in [(1e-4, 0.75, 1.0), (1.0, 0.5, 2.0)]:
            reference = lambda x: F.local_response_norm(x, size, alpha, beta, k)
            g.case("local_response_norm", reference, [numbers(*dims)], size=size, alpha=alpha, beta=beta, k=k)
    for dims, axis in [((3, 4), 0), ((3, 4), 1), ((2, 3, 2), 0), ((2, 3, 2), 1), ((2, 2, 3), -1)]:
        for iterations in [0, 1, 4]:
            rows = dims[axis]
            columns = math.prod(dims) // rows

            def reference(weight, u, v):
                layer = nn.Module()
                layer.weight = nn.Parameter(weight.detach().clone())
                nn.utils.spectral_norm(layer, "weight", max(iterations, 1), 1e-12, axis % len(dims))
                layer.weight_u.copy_(u.detach())
                layer.weight_v.copy_(v.detach())
                layer.train(iterations > 0)
                hook = next(iter(layer._forward_pre_hooks.values()))
                del layer._parameters["weight_orig"]
                layer.weight_orig = weight
                hook(layer, None)
                return layer.weight, layer.weight_u.clone(), layer.weight_v.clone()

            unit = lambda x: x / x.norm()
            inputs = [numbers(*dims), unit(numbers(rows, seed=1)), unit(numbers(columns, seed=2))]
            partial("spectral_norm", reference, inputs, [0], axis=axis, iterations=iterations)


def recurrent():
    sizes = {"rnn": 1, "lstm": 4, "gru": 3}

    def parameters(kind, width, hidden, layers, directions, bias):
        found, seed = [], 10
        for layer in range(layers):
            for _ in range(directions):
                rows, columns = sizes[kind] * hidden, width if layer == 0 else hidden * directions
                shapes = [(rows, columns), (rows, hidden)] + [(rows,), (rows,)] * bias
                for shape in shapes:
                    seed += 1
                    found.append(numbers(*shape, seed=seed, low=-1.0, high=1.0))
        return found

    def case(kind, steps, batch, width, hidden, *, layers=1, bidirectional=False, bias=True, batch_first=False,
             states=True, lengths=None, nonlinearity=None):
        directions = 2 if bidirectional else 1
        weights = parameters(kind, width, hidden, layers, directions, bias)
        dims = (steps, width) if batch is None else (batch, steps, width) if batch_first else (steps, batch, width)
        n_states = 2 if kind == "lstm" else 1
        state = (layers * directions, hidden) if batch is None else (layers * directions, batch, hidden)
        given = [numbers(*state, seed=i, low=-1.0, high=1.0) if states else None for i in range(n_states)]
        extra = {"nonlinearity": nonlinearity} if nonlinearity else {}
        module = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[kind](
            width, hidden, layers, bias=bias, batch_first=batch_first, bidirectional=bidirectional, **extra
        ).double()
        names = [name for name, _ in module.named_parameters()]

        def reference(x, lengths, *rest):
            hx = rest[:n_states] if states else None
            hx = hx if hx is None or n_states == 2 else hx[0]
            values = dict(zip(names, rest[n_states:]))
            if lengths is not None:
                x = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first, enforce_sorted=False)
            out, last = torch.func.functional_call(module, values, (x,) if hx is None else (x, hx))
            if lengths is not None:
                out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first, total_length=steps)
            return (out, *last) if n_states == 2 else (out, last)

        lengths = None if lengths is None else torch.tensor(lengths)
        attributes = dict(layers=layers, bidirectional=bidirectional, bias=bias, batch_first=batch_first)
        if nonlinearity:
            attributes["nonlinearity"] = nonlinearity
        g.case(kind, reference, [numbers(*dims), lengths, *given, *weights], **attributes)

    for kind in sizes:
        case(kind, 3, 2, 2, 2)
        case(kind, 1, 1, 1, 1)
        case(kind, 4, 2, 1, 2, states=False)
        case(kind, 3, None, 2, 2)
        case(kind, 3, None, 2, 2, states=False)
        case(kind, 3, 2, 2, 2, bias=False)
        case(kind, 3, 2, 2, 2, batch_first=True)
        case(kind, 3, 2, 2, 2, bidirectional=True)
        case(kind, 2, 2, 3, 2, layers=2)
        case(kind, 2, 2, 1, 2, layers=2, bidirectional=True)
        case(kind, 2, 1, 1, 2, layers=3, states=False, bias=False)
        case(kind, 4, 2, 2, 2, lengths=[2, 4])
        case(kind, 4, 2, 2, 2, lengths=[1, 4], batch_first=True)
        case(kind, 3, 2, 2, 2, lengths=[3, 3])
        case(kind, 3, 3, 2, 1, lengths=[3, 1, 2], bidirectional=True)
        case(kind, 3, 2, 2, 1, lengths=[2, 3], bidirectional=True, layers=2)
        case(kind, 4, 2, 2, 2, lengths=[3, 1], states=False)
        case(kind, 3, 2, 2, 1, lengths=[3, 1], bias=False, bidirectional=True, batch_first=True)
        case(kind, 6, 1, 2, 2)
        case(kind, 5, 1, 1, 2, bidirectional=True, states=False)
    for bidirectional in [False, True]:
        case("rnn", 3, 2, 2, 2, nonlinearity="relu", bidirectional=bidirectional)
        case("rnn", 3, 2, 2, 2, nonlinearity="tanh", bidirectional=bidirectional, layers=2)

    for rows in [(2,), (), (1,)]:
        for bias in [True, False]:
            x, h, c = numbers(*rows, 3), numbers(*rows, 2, seed=1), numbers(*rows, 2, seed=2)
            for kind, gates in [("rnn_tanh", 1), ("rnn_relu", 1), ("gru", 3), ("lstm", 4)]:
                weights = [numbers(2 * gates, 3, seed=3), numbers(2 * gates, 2, seed=4)]
                weights += [numbers(2 * gates, seed=5), numbers(2 * gates, seed=6)] if bias else [None, None]
                if kind == "lstm":
                    reference = lambda x, h, c, *w: torch.lstm_cell(x.reshape(-1, 3), (h.reshape(-1, 2), c.reshape(-1, 2)), *w)
                    shaped = lambda *a: tuple(y.reshape(*rows, 2) for y in reference(*a))
                    g.case("lstm_cell", shaped, [x, h, c, *weights])
                else:
                    function = {"rnn_tanh": torch.rnn_tanh_cell, "rnn_relu": torch.rnn_relu_cell, "gru": torch.gru_cell}[kind]
                    shaped = lambda x, h, *w: function(x.reshape(-1, 3), h.reshape(-1, 2), *w).reshape(*rows, 2)
                    g.case(f"{kind}_cell", shaped, [x, h, *weights])


softmaxes()
linears()
embeddings()
attentions()
rotaries()
norms()
recurrent()
g.write()
