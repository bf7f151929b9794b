"""Layers, optimizers, schedulers and distributions give what PyTorch's give, in both modes."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch_cases as cases

import fluvial as fl
from fluvial import nn

GOLDEN = json.loads((Path(__file__).parent / "golden" / "torch_cases.json").read_text())


@pytest.fixture(autouse=True)
def own_state():
    with fl.State():
        fl.seed(1)
        yield


def flat(value):
    return [value] if isinstance(value, fl.Tensor) else [leaf for one in value for leaf in flat(one)]


def named(table):
    return [pytest.param(*rest, name, id=name) for name, *rest in table]


def close(found, wanted, rtol=1e-9, atol=1e-10):
    np.testing.assert_allclose(np.asarray(found.tolist()), np.asarray(wanted, dtype=float), rtol, atol)


def loss_of(outputs):
    return sum(fl.sum(y * fl.cos(y)) for y in outputs if "float" in y.dtype.name)


def made(make, inputs):
    layer = make(nn).double()
    layer(*inputs)
    values = cases.filled(layer.state_dict())
    layer.load_state_dict(values, strict=False)
    return layer


class TestLayers:
    @pytest.mark.parametrize(("make", "shapes", "name"), named(cases.LAYERS))
    def test_line_by_line(self, make, shapes, name):
        want = GOLDEN["layers"][name]
        inputs = [fl.tensor(cases.numbers(*shape, seed=i + 5)).track() for i, shape in enumerate(shapes)]
        layer = made(make, [x.detach() for x in inputs])
        assert sorted(layer.state_dict()) == want["keys"]
        outputs = flat(layer(*inputs))
        for y, wanted in zip(outputs, want["outputs"], strict=True):
            close(y, wanted)
        loss_of(outputs).backward()
        for x, wanted in zip(inputs, want["inputs"]):
            close(x.grad, wanted)
        for key, parameter in layer.named_parameters():
            close(parameter.grad, want["parameters"][key])
        for key, buffer in layer.named_buffers():
            close(buffer, want["buffers"][key])

    @pytest.mark.parametrize(("make", "shapes", "name"), named(cases.LAYERS))
    def test_in_a_program(self, make, shapes, name):
        inputs = [fl.tensor(cases.numbers(*shape, seed=i + 5)) for i, shape in enumerate(shapes)]
        layer, other = made(make, inputs), made(make, inputs)
        by_line = flat(layer(*inputs))
        program = fl.function(lambda *inputs: flat(other(*inputs)))
        for y, wanted in zip(program(*inputs), by_line, strict=True):
            assert bool(fl.all(y == wanted))

        def gradients(net, *inputs):
            loss = loss_of(flat(net(*inputs)))
            return fl.grad(loss, net.parameters()) if net.parameters() else [loss]

        by_line = gradients(layer, *inputs)
        for found, wanted in zip(fl.function(lambda *x: gradients(other, *x))(*inputs), by_line, strict=True):
            np.testing.assert_allclose(found.numpy(), wanted.numpy(), 1e-13, 1e-15)

    @pytest.mark.parametrize(("make", "name"), named(cases.BAGS))
    def test_bags(self, make, name):
        want = GOLDEN["bags"][name]
        layer, inputs = make(nn, fl.tensor(cases.numbers(5, 3, seed=7)), fl.tensor)
        y = layer(*inputs)
        close(y, want["outputs"])
        loss_of([y]).backward()
        close(layer.weight.grad, want["gradient"])
        assert fl.function(lambda *x: layer(*x))(*inputs).tolist() == y.tolist()

    def test_what_bags_cannot(self):
        with pytest.raises(ValueError, match="how often a row is used"):
            nn.EmbeddingBag(3, 2, scale_grad_by_freq=True)
        with pytest.raises(ValueError, match="only sums of rows"):
            nn.EmbeddingBag(3, 2)(fl.tensor([[0, 1]]), None, fl.ones((1, 2)))
        with pytest.raises(ValueError, match="axes for bags"):
            nn.EmbeddingBag(3, 2)(fl.tensor([0, 1]))
        weighted = nn.EmbeddingBag.from_pretrained(fl.ones((3, 2)), mode="sum", include_last_offset=True)
        y = weighted(fl.tensor([0, 1, 2]), fl.tensor([0, 1, 3]), fl.tensor([1.0, 2.0, 3.0]))
        assert y.tolist() == [[1.0, 1.0], [5.0, 5.0]]

    @pytest.mark.parametrize(("call", "shape", "name"), named(cases.CALLS))
    def test_calls(self, call, shape, name):
        want = GOLDEN["calls"][name]
        x = fl.tensor(cases.numbers(*shape, seed=5)).track()
        y = call(nn, x)
        close(y, want["outputs"][0])
        loss_of([y]).backward()
        close(x.grad, want["inputs"][0])
        again = fl.function(lambda x: call(nn, x))(x.detach())
        assert bool(fl.all(again == y))


def regression(w, b):
    return fl.mean(fl.square(fl.tanh(fl.tensor(cases.X) @ w + b) - fl.tensor(cases.Y)))


def parameters():
    return [nn.Parameter(fl.tensor(x)) for x in (cases.W, cases.B)]


class TestOptimizers:
    @pytest.mark.parametrize(("make", "name"), named(cases.OPTIMIZERS))
    def test_both_modes(self, make, name):
        w, b = parameters()
        optimizer = make(fl.optimizer, [w, b])
        for _ in range(cases.STEPS):
            optimizer.zero_grad()
            regression(w, b).backward()
            optimizer.step()
        for found, wanted in zip((w, b), GOLDEN["optimizers"][name]):
            close(found, wanted, 1e-7)
        v, c = parameters()
        other = make(fl.optimizer, [v, c])

        @fl.function
        def step():
            other.minimize(regression(v, c))

        for _ in range(cases.STEPS):
            step()
        assert bool(fl.all(v == w)) and bool(fl.all(c == b))

    @pytest.mark.parametrize(("make", "name"), named(cases.CLOSURES))
    def test_closures(self, make, name):
        want = GOLDEN["closures"][name]
        for compiled in (lambda f: f, fl.function):
            w, b = parameters()
            optimizer, losses = make(fl.optimizer, [w, b]), []
            loss_of = compiled(lambda w=w, b=b: regression(w, b))

            def closure(optimizer=optimizer, loss_of=loss_of, losses=losses):
                optimizer.zero_grad()
                loss = loss_of()
                loss.backward()
                losses.append(loss.item())
                return loss

            for _ in range(3):
                optimizer.step(closure)
            assert losses == pytest.approx(want["losses"], rel=1e-7)
            for found, wanted in zip((w, b), want["parameters"]):
                close(found, wanted, 1e-6)
            again = make(fl.optimizer, [w, b])
            again.load_state_dict(optimizer.state_dict())
            before = w.detach(), b.detach()
            optimizer.step(closure)
            first = w.tolist()
            w.set(before[0])
            b.set(before[1])
            again.step(closure)
            assert w.tolist() == first

    def test_closures_have_to_be_given_and_run_outside(self):
        (w, _) = parameters()
        optimizer = fl.optimizer.LBFGS([w])
        with pytest.raises(TypeError, match="several times in one step"):
            optimizer.step()
        with pytest.raises(RuntimeError, match="which a program cannot"):
            fl.function(lambda: optimizer.step(lambda: fl.sum(w)))()

    def test_muon_is_near_pytorchs(self):
        """PyTorch rounds to bfloat16; a gradient of rank two has two singular values, which come near one."""
        w = nn.Parameter(fl.tensor(cases.W))
        before = w.detach()
        optimizer = fl.optimizer.Muon([w], 0.1, weight_decay=0.0)
        optimizer.minimize(regression(w, fl.tensor(cases.B)))
        values = np.linalg.svd((before - w.detach()).numpy() / 0.1, compute_uv=False)[:2]
        assert (values > 0.6).all() and (values < 1.3).all()
        v = nn.Parameter(fl.tensor(cases.W))
        other = fl.optimizer.Muon([v], 0.1, weight_decay=0.0)
        fl.function(lambda: other.minimize(regression(v, fl.tensor(cases.B))))()
        assert bool(fl.all(v == w))
        with pytest.raises(ValueError, match="Muon trains matrices"):
            vector = nn.Parameter(fl.ones(3))
            fl.optimizer.Muon([vector]).minimize(fl.sum(vector))

    def test_sparse_adam_leaves_unused_rows_alone(self):
        table = nn.Parameter(fl.ones((4, 2)))
        optimizer = fl.optimizer.SparseAdam([table], 0.1)
        ids = fl.tensor([1, 3, 1])
        for _ in range(3):
            optimizer.minimize(fl.sum(fl.square(fl.embedding(ids, table))))
        assert table[0].tolist() == table[2].tolist() == [1.0, 1.0]
        whole = nn.Parameter(fl.ones((4, 2)))
        adam = fl.optimizer.Adam([whole], 0.1)
        for _ in range(3):
            adam.minimize(fl.sum(fl.square(fl.embedding(ids, whole))))
        np.testing.assert_allclose(table.numpy(), whole.numpy(), 1e-5)
        other = nn.Parameter(fl.ones((4, 2)))
        by_rows = fl.optimizer.SparseAdam([other], 0.1)
        for _ in range(3):
            rows = fl.optimizer.lookup(other, ids)
            by_rows.minimize_rows(fl.sum(fl.square(rows.values)), [rows])
        np.testing.assert_allclose(other.numpy(), table.numpy(), 1e-6)

    def test_hints_change_nothing_and_differentiable_steps_are_refused(self):
        w = nn.Parameter(fl.ones(2))
        fl.optimizer.Adam([w], 0.1, foreach=True, fused=True, capturable=False, differentiable=False)
        with pytest.raises(ValueError, match="carry no gradient"):
            fl.optimizer.Adam([w], 0.1, differentiable=True)


class TestSchedulers:
    @pytest.mark.parametrize(("make", "name"), named(cases.SCHEDULERS))
    def test_rates_and_momenta(self, make, name):
        optimizer = fl.optimizer.SGD([nn.Parameter(fl.zeros(1))], lr=1.0, momentum=0.9)
        scheduler = make(fl.optimizer.lr_scheduler, optimizer)
        found = []
        for _ in range(13):
            group = optimizer.param_groups[0]
            found.append([group["lr"], group["momentum"]])
            scheduler.step()
        np.testing.assert_allclose(found, GOLDEN["schedulers"][name], 1e-7, 1e-9)

    def test_no_momentum_to_move(self):
        optimizer = fl.optimizer.SGD([nn.Parameter(fl.zeros(1))], 1.0)
        with pytest.raises(ValueError, match="was made without one"):
            fl.optimizer.lr.OneCycleLR(optimizer, 0.5, 10)
        fl.optimizer.lr.OneCycleLR(optimizer, 0.5, 10, cycle_momentum=False)

    def test_a_plateau_goes_on_where_another_was(self):
        def scheduler():
            optimizer = fl.optimizer.SGD([nn.Parameter(fl.zeros(1))], 1.0)
            return optimizer, fl.optimizer.lr.ReduceLROnPlateau(optimizer, patience=1, factor=0.5)

        (_, first), (optimizer, second) = scheduler(), scheduler()
        for loss in (3.0, 2.0, 2.0):
            first.step(loss)
        second.load_state_dict(first.state_dict())
        second.step(2.0)
        assert optimizer.param_groups[0]["lr"] == 0.5

    def test_averages_of_models(self):
        net = nn.Linear(2, 1)
        averaged = fl.optimizer.swa_utils.AveragedModel(net)
        ema = fl.optimizer.swa_utils.AveragedModel(
            net, multi_avg_fn=fl.optimizer.swa_utils.get_ema_multi_avg_fn(0.5)
        )
        update = fl.function(lambda: averaged.update_parameters(net))
        seen = []
        for i in range(3):
            net.weight = fl.full((1, 2), float(i * i))
            seen.append(i * i)
            update()
            ema.update_parameters(net)
        assert averaged.module.weight.numpy().mean() == pytest.approx(np.mean(seen), rel=1e-6)
        assert ema.module.weight.numpy().mean() == pytest.approx(0.5 * (0.5 * 0 + 0.5 * 1) + 0.5 * 4)
        assert averaged.n_averaged.item() == 3
        optimizer = fl.optimizer.SGD(net.parameters(), 1.0)
        scheduler = fl.optimizer.swa_utils.SWALR(optimizer, 0.1, anneal_epochs=2, anneal_strategy="linear")
        rates = []
        for _ in range(3):
            rates.append(optimizer.param_groups[0]["lr"])
            scheduler.step()
        assert rates == pytest.approx([1.0, 0.55, 0.1])


class TestDistributions:
    @pytest.mark.parametrize(("make", "given", "value", "name"), named(cases.DISTRIBUTIONS))
    def test_both_modes(self, make, given, value, name):
        want = GOLDEN["distributions"][name]
        params = [fl.tensor(np.asarray(one)).track() for one in given]
        value = fl.tensor(np.asarray(value))
        d = make(fl.distributions, *params)
        logs = d.log_prob(value)
        close(logs, want["log_prob"], 1e-6)
        for found, wanted in zip(fl.grad(fl.sum(logs), params, allow_unused=True), want["gradients"]):
            close(found, wanted, 1e-6, 1e-9)
        for what in ("entropy", "mean", "variance"):
            if want[what] is not None and hasattr(type(d), what):
                try:
                    found = d.entropy() if what == "entropy" else getattr(d, what)
                except NotImplementedError:
                    assert what == "entropy" and name in ("multinomial", "poisson") or name == "mixture"
                    continue
                close(found, want[what], 1e-6, 1e-9)
        assert [list(d.batch_shape), list(d.event_shape), list(d.sample((3,)).shape)] == want["shapes"]

        @fl.function
        def program(value, *params):
            return make(fl.distributions, *params).log_prob(value)

        again = program(value, *[p.detach() for p in params])
        assert bool(fl.all(again == logs.detach()))

    @pytest.mark.parametrize(("given", "name"), named(cases.DIVERGENCES))
    def test_divergences(self, given, name):
        make, first = next((m, params) for known, m, params, _ in cases.DISTRIBUTIONS if known == name)
        p, q = (make(fl.distributions, *[fl.tensor(np.asarray(x)) for x in one]) for one in (first, given))
        close(fl.distributions.kl_divergence(p, q), GOLDEN["divergences"][name], 1e-6, 1e-9)
