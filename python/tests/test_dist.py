"""Ranks that are threads: what they exchange, and that they train as one process does."""

import numpy as np
import pytest

import fluvial as fl


def rows(first, count):
    """Samples with these numbers."""
    x = ((np.arange(first * 4, (first + count) * 4) * 37) % 64 / 32.0 - 1.0).astype("f4").reshape(count, 4)
    y = np.sin(x[:, :1] - 2 * x[:, 1:2]) + x[:, 2:3]
    return fl.tensor(x), fl.tensor(y.astype("f4"))


def net(norm=False, dropout=0.0):
    fl.seed(3)
    # A bias before a norm has no gradient but noise, by which Adam would go.
    parts = [fl.nn.Linear(4, 8, name="first", bias=norm != "sync")]
    if norm:
        parts.append(fl.nn.BatchNorm1d(8, sync=norm == "sync"))
    parts += [fl.nn.Tanh(), fl.nn.Dropout(dropout), fl.nn.Linear(8, 1, name="last")]
    return fl.nn.Sequential(*parts)


def optimizer(module):
    return fl.optimizer.Adam(module.parameters(), 0.05, grad_clip=fl.clip.GradientClipByGlobalNorm(0.5))


def values(module):
    return [entry.numpy().copy() for entry in [*module.parameters(), *module.buffers()]]


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def near(a, b):
    return all(np.allclose(x, y, atol=1e-5) for x, y in zip(a, b, strict=True))


def trained(rank, world, batch, wrapped, mode="lines", steps=5, how="dp", **options):
    """Trains on the rows of a rank; gives losses and values."""
    module = net(**options)
    values(module)  # First values depend on names, which a layer around it changes.
    model = fl.nn.DataParallel(module) if wrapped else module
    opt = optimizer(model)

    def step(x, y):
        loss = fl.mse_loss(model(x), y)
        opt.minimize(loss)
        return loss

    run = step
    if mode == "function":
        run = fl.function(step)
    if mode == "program":
        program = fl.build(step, {"x": "f32[batch, 4]", "y": "f32[batch, 1]"})
        run = fl.dist.transpile(program, how)
    losses = []
    for number in range(steps):
        x, y = rows((number * world + rank) * batch, batch)
        losses.append(float(run(x, y).item()))
    return losses, values(module)


@pytest.mark.parametrize("world", [2, 3])
def test_ranks_train_as_one_process(world):
    ranks = fl.dist.spawn(trained, world, world, 6, True)
    assert all(same(ranks[0][1], other[1]) for other in ranks)
    alone = fl.dist.spawn(trained, 1, 1, 6 * world, False)[0]
    assert near(ranks[0][1], alone[1])
    assert np.allclose(np.mean([losses for losses, _ in ranks], axis=0), alone[0], atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"norm": True}, {"dropout": 0.5}, {"norm": True, "dropout": 0.3}])
def test_modes_agree(options):
    lines, function, program = (
        fl.dist.spawn(lambda rank, mode=mode: trained(rank, 2, 6, mode != "program", mode, **options), 2)
        for mode in ("lines", "function", "program")
    )
    assert same(lines[0][1], lines[1][1])
    assert same(lines[0][1], function[0][1])
    assert same(lines[0][1], program[0][1]) and same(lines[1][1], program[1][1])
    assert lines[0][0] == function[0][0]
    # A number among the outputs of a program is the mean of all ranks.
    assert np.allclose(program[0][0], np.mean([lines[0][0], lines[1][0]], axis=0), atol=1e-6)
    assert program[0][0] == program[1][0]


@pytest.mark.parametrize("options", [{}, {"norm": True, "dropout": 0.3}])
def test_states_in_parts_give_the_same_bits(options):
    whole, cut = (
        fl.dist.spawn(lambda rank, how=how: trained(rank, 2, 6, False, "program", how=how, **options), 2)
        for how in ("dp", "zero1")
    )
    assert whole[0][0] == cut[0][0] == cut[1][0]
    assert same(whole[0][1], cut[0][1]) and same(whole[0][1], cut[1][1])


def test_parameter_servers_give_the_same_bits():
    def run(rank, mode):
        module = net()
        opt = optimizer(module)

        def step(x, y):
            loss = fl.mse_loss(module(x), y)
            opt.minimize(loss)
            return loss

        program = fl.build(step, {"x": "f32[batch, 4]", "y": "f32[batch, 1]"})
        trainer, server = fl.dist.to_servers(program, 2, 2, until_closed=mode == "closed")
        if rank >= 2:
            for _ in range(1 if mode == "closed" else 5):
                server()
            return None
        losses = [trainer(*rows((number * 2 + rank) * 6, 6)).item() for number in range(5)]
        if mode == "closed":
            fl.dist.end_of_steps(2, 2)
        return losses, values(module)

    whole = fl.dist.spawn(lambda rank: trained(rank, 2, 6, False, "program"), 2)
    for mode in ("steps", "closed"):
        first, second, *_ = fl.dist.spawn(run, 4, mode)
        assert same(whole[0][1], first[1]) and same(first[1], second[1])
        assert np.allclose(np.mean([first[0], second[0]], axis=0), whole[0][0], atol=1e-6)


def test_parts_of_states():
    def run(rank):
        module = net()
        opt = optimizer(module)

        def step(x, y):
            loss = fl.mse_loss(module(x), y)
            opt.minimize(loss)
            return loss

        program = fl.build(step, {"x": "f32[batch, 4]", "y": "f32[batch, 1]"})
        cut = fl.dist.transpile(program, "zero1")
        assert "reduce_parts" in str(cut) or "own_part" in str(cut)
        cut(*rows(rank * 4, 4))
        # Whoever looks at what the optimizer remembers sees parts, and goes on by no other way.
        with pytest.raises(Exception):
            step(*rows(0, 4))
        with pytest.raises(Exception, match="has a value already"):
            fl.dist.transpile(program, "zero3")
        kept = [entry.numpy() for entry in opt.state_dict().values() if isinstance(entry, fl.Tensor)]
        return sum(entry.size for entry in kept if entry.ndim)

    # The two moments of each parameter, a half of each.
    parts = fl.dist.spawn(run, 2)
    assert parts[0] == parts[1] == 2 * sum((size + 1) // 2 for size in (32, 8, 8, 1))


def test_each_rank_drops_others():
    def dropped(rank):
        layer = fl.nn.DataParallel(fl.nn.Dropout(0.5))
        return layer(fl.full((64,), 1.0)).tolist()

    first, second = fl.dist.spawn(dropped, 2)
    assert first != second
    assert fl.dist.spawn(dropped, 2) == [first, second]


def test_exchanges():
    def run(rank):
        own = fl.tensor([1.0, 2.0]) * (rank + 1)
        assert (fl.dist.rank(), fl.dist.world()) == (rank, 2)
        other = 1 - rank
        fl.dist.send(own, other)
        got = fl.dist.recv(own, other)
        fl.dist.barrier()
        return [
            fl.dist.all_reduce(own).tolist(),
            fl.dist.all_reduce(own, "mean").tolist(),
            fl.dist.all_reduce(own, "max").tolist(),
            fl.dist.broadcast(own, 1).tolist(),
            fl.dist.all_gather(own).tolist(),
            fl.dist.reduce_scatter(own, "sum").tolist(),
            fl.dist.all_to_all(own).tolist(),
            got.tolist(),
            fl.run_rank().item(),
            fl.run_world().item(),
        ]

    first, second = fl.dist.spawn(run, 2)
    common = [[3.0, 6.0], [1.5, 3.0], [2.0, 4.0], [2.0, 4.0], [1.0, 2.0, 2.0, 4.0]]
    assert first == [*common, [3.0], [1.0, 2.0], [2.0, 4.0], 0, 2]
    assert second == [*common, [6.0], [2.0, 4.0], [1.0, 2.0], 1, 2]


@pytest.mark.parametrize("mode", ["lines", "function"])
def test_gradients_of_exchanges(mode):
    """Those of the sum of the losses of all ranks."""
    exchanges = {
        "sum": lambda x: fl.dist.all_reduce(x),
        "mean": lambda x: fl.dist.all_reduce(x, "mean"),
        "broadcast": lambda x: fl.dist.broadcast(x, 1),
        "gather": fl.dist.all_gather,
        "scatter": lambda x: fl.dist.reduce_scatter(x, "sum"),
        "all_to_all": fl.dist.all_to_all,
    }
    start = np.array([[0.5, -1.0], [2.0, 0.25]])

    def loss(name, rank, x):
        y = exchanges[name](x)
        return fl.sum(y * y * y) * (rank + 1.0)

    def total(name, starts):
        def run(rank):
            return loss(name, rank, fl.tensor(starts[rank])).item()

        return sum(fl.dist.spawn(run, 2))

    for name in exchanges:

        def slopes(rank):
            x = fl.tensor(start[rank]).track()

            def step(x):
                return fl.grad(lambda x: loss(name, rank, x))(x)

            return (fl.function(step) if mode == "function" else step)(x).numpy()

        found = np.stack(fl.dist.spawn(slopes, 2))
        for i in range(2):
            for j in range(2):
                up, down = start.copy(), start.copy()
                up[i, j] += 1e-5
                down[i, j] -= 1e-5
                expected = (total(name, up) - total(name, down)) / 2e-5
                assert abs(found[i, j] - expected) < 1e-5, (name, i, j, found[i, j], expected)


def test_who_fails_is_not_waited_for():
    def run(rank):
        if rank == 1:
            raise KeyError("a fault of rank 1")
        fl.dist.barrier()

    with pytest.raises(KeyError, match="rank 1"):
        fl.dist.spawn(run, 2)


def test_different_exchanges_are_told():
    def run(rank):
        return fl.dist.all_reduce(fl.full((2 + rank,), 1.0))

    with pytest.raises(Exception, match="rank 0 asks for"):
        fl.dist.spawn(run, 2)


def test_one_rank_alone():
    assert fl.dist.init() is False
    assert (fl.dist.rank(), fl.dist.world(), fl.dist.is_first()) == (0, 1, True)
    x = fl.tensor([1.0, 2.0])
    assert fl.dist.all_reduce(x).tolist() == fl.dist.all_gather(x).tolist() == [1.0, 2.0]


def test_refusals_name_the_line():
    layer = fl.nn.Linear(4, 1)
    opt = fl.optimizer.SGD(layer.parameters(), 0.1)

    @fl.function
    def step(x):
        loss = fl.mean(layer(x))
        if loss > 0.5:
            opt.minimize(loss)
        return loss

    program = fl.build(step, {"x": "f32[2, 4]"})
    with pytest.raises(Exception, match="not all of them would reach") as caught:
        fl.dist.transpile(program)
    assert "test_dist.py" in str(caught.value)
    with pytest.raises(Exception, match="not spread by `tp` yet"):
        fl.dist.transpile(program, "tp")


def test_scaled_losses_and_accumulation():
    """A step that one rank would leave out is left out by all."""

    def run(rank, mode):
        module = net()
        opt = fl.optimizer.SGD(module.parameters(), 0.1)
        scaler = fl.GradScaler(init_scale=8.0)

        def step(x, y):
            loss = fl.mse_loss(module(x), y)
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
            opt.zero_grad()
            return loss

        program = fl.dist.transpile(fl.build(step, {"x": "f32[batch, 4]", "y": "f32[batch, 1]"}))
        for number in range(3):
            x, y = rows((number * 2 + rank) * 4, 4)
            if number == 1 and rank == 1:
                x = x * float("inf")
            program(x, y)
        return values(module)

    first, second = fl.dist.spawn(run, 2, "program")
    assert same(first, second)
    assert all(np.isfinite(value).all() for value in first)


@pytest.mark.parametrize("world", [2, 3])
@pytest.mark.parametrize("mode", ["lines", "function", "program"])
def test_batch_norm_over_all_ranks(world, mode):
    """With the statistics of all ranks, a step of several ranks is one of a process with the whole batch."""
    def run(world, batch, mode, norm):
        wrapped = mode != "program" and world > 1
        return fl.dist.spawn(lambda rank: trained(rank, world, batch, wrapped, mode, norm=norm), world)

    ranks, lines = run(world, 6, mode, "sync"), run(world, 6, "lines", "sync")
    assert all(same(ranks[0][1], other[1]) for other in ranks)
    assert same(ranks[0][1], lines[0][1])
    [alone] = run(1, 6 * world, "lines", "sync")
    assert near(ranks[0][1], alone[1])
    assert np.allclose(np.mean([losses for losses, _ in ranks], axis=0), alone[0], atol=1e-5)
    own = run(world, 6, mode, True)
    assert not near(ranks[0][1][-3:], own[0][1][-3:]), "each rank's own statistics would give the same"


def test_statistics_of_all_ranks():
    """What a norm gives and keeps is that of the rows of all ranks, however many each has, with gradients through both."""
    x = np.random.default_rng(0).normal(size=(7, 3, 2)).astype("float32")
    cuts = [slice(0, 2), slice(2, 7)]

    def ours(rank):
        layer = fl.nn.BatchNorm1d(3, sync=True)
        own = fl.tensor(x[cuts[rank]], requires_grad=True)
        y = layer(own)
        fl.sum(y * y * y).backward()
        used = layer.eval()(own)
        return y.numpy(), own.grad.numpy(), layer.running_mean.numpy(), layer.running_var.numpy(), used.numpy()

    whole = fl.nn.BatchNorm1d(3)
    leaf = fl.tensor(x, requires_grad=True)
    y = whole(leaf)
    fl.sum(y * y * y).backward()
    for rank, (got, grad, mean, variance, used) in enumerate(fl.dist.spawn(ours, 2)):
        assert np.allclose(got, y.numpy()[cuts[rank]], atol=1e-5)
        assert np.allclose(grad, leaf.grad.numpy()[cuts[rank]], atol=1e-4)
        assert np.allclose(mean, whole.running_mean.numpy(), atol=1e-6)
        assert np.allclose(variance, whole.running_var.numpy(), atol=1e-6)
        assert np.allclose(used, whole.eval()(leaf).numpy()[cuts[rank]], atol=1e-5)
    # Alone it is what it is without.
    alone = fl.nn.BatchNorm1d(3, sync=True)
    assert np.allclose(alone(leaf).numpy(), y.numpy(), atol=1e-6)
