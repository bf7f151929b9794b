"""Optimizers: numbers, states, groups, schedules, in both modes."""

import numpy as np
import pytest

import fluvial as fl
from fluvial import nn
from fluvial import optimizer as optim


@pytest.fixture(autouse=True)
def own_state():
    """Each test has a state scope of its own."""
    with fl.State() as state:
        fl.seed(3)
        yield state


# Made by PyTorch: four steps, eight for RAdam, from the same start.
PYTORCH = [
    (optim.SGD, {}, [0.500426026832101, -0.7893837519695096, -0.005771788232844501]),
    (optim.SGD, {"weight_decay": 0.1}, [0.47886614570038183, -0.7496493224780707, -0.012475929880727488]),
    (optim.Momentum, {"nesterov": True}, [-0.12329692713867296, 0.7162494202394345, -0.6390633601216423]),
    (optim.Momentum, {"dampening": 0.3}, [0.026945285069702726, 0.35989231218304235, -0.4913357011320233]),
    (optim.Adagrad, {"lr_decay": 0.1}, [0.7627737672089413, -1.7544826833650848, 0.2634968238616377]),
    (optim.Adadelta, {}, [0.9986952162385135, -1.9986949686331081, 0.4986952427892757]),
    (optim.RMSProp, {"momentum": 0.5, "centered": True}, [0.317581108129255, 0.5547032147753709, -0.237521014118391]),
    (optim.Adam, {"amsgrad": True}, [0.6050455518400576, -1.601459096040968, 0.10539159329534381]),
    (optim.AdamW, {}, [0.6017241610318534, -1.5941058275424507, 0.10402835715741983]),
    (optim.Adamax, {}, [0.6362292001244947, -1.6150057449890791, 0.1379154720468696]),
    (optim.NAdam, {}, [0.6912303816440348, -1.6779730763103213, 0.19231223253215432]),
    (optim.RAdam, {}, [0.3174387490672847, -0.35531168606846514, -0.19449623530380755]),
]


@pytest.mark.parametrize(("kind", "options", "expected"), PYTORCH)
def test_numbers_are_pytorchs(kind, options, expected):
    start, target = np.array([1.0, -2.0, 0.5]), fl.tensor(np.array([0.3, 0.1, -0.7]))
    fl.parameter("w", (3,), "float64", init=fl.tensor(start))
    optimizer = kind(["w"], 0.1, **options)
    for _ in range(8 if kind is optim.RAdam else 4):
        w = fl.read_state("w")
        optimizer.minimize(fl.sum(fl.sin(w * target) + fl.square(w - target)))
    np.testing.assert_allclose(fl.read_state("w").numpy(), expected, rtol=1e-7)


class Net(nn.Layer):
    def __init__(self):
        super().__init__("net")
        self.body = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.1))
        self.head = nn.Linear(8, 1, bias_attr=fl.ParamAttr(learning_rate=0.5, regularizer=fl.regularizer.L1(0.01)))

    def forward(self, x):
        return self.head(self.body(x))


def data():
    generator = np.random.default_rng(7)
    x = generator.normal(size=(16, 3)).astype(np.float32)
    return fl.tensor(x), fl.tensor((x @ np.array([[1.0], [-2.0], [0.5]], np.float32) + 0.3).astype(np.float32))


def train(make, modes, steps=6):
    """Losses and states after steps in given modes, one after the other."""
    x, y = data()
    with fl.State() as state:
        fl.seed(5)
        net = Net()
        optimizer = make(net)

        def step(x, y):
            loss = fl.mean(fl.square(net(x) - y))
            optimizer.minimize(loss)
            return loss

        program = fl.build(step, {"x": "f32[n, 3]", "y": "f32[n, 1]"})
        losses = [(program if modes[i % len(modes)] else step)(x, y).item() for i in range(steps)]
        return losses, {name: state[name].numpy().tobytes() for name in state.names()}


SETTINGS = {
    "sgd": lambda net: optim.SGD(net.parameters(), 0.1),
    "momentum": lambda net: optim.Momentum(net.parameters(), 0.1, dampening=0.2, weight_decay=0.01),
    "adagrad": lambda net: optim.Adagrad(net.parameters(), 0.1, lr_decay=0.1),
    "adadelta": lambda net: optim.Adadelta(net.parameters(), 1.0),
    "rmsprop": lambda net: optim.RMSProp(net.parameters(), 0.01, momentum=0.5, centered=True),
    "adam": lambda net: optim.Adam(net.parameters(), 0.01, grad_clip=fl.clip.GradientClipByGlobalNorm(0.5)),
    "adamw": lambda net: optim.AdamW(net.parameters(), 0.01, grad_clip=fl.clip.GradientClipByValue(0.1)),
    "adamax": lambda net: optim.Adamax(net.parameters(), 0.01, grad_clip=fl.clip.GradientClipByNorm(0.1)),
    "nadam": lambda net: optim.NAdam(net.parameters(), 0.01),
    "radam": lambda net: optim.RAdam(net.parameters(), 0.01),
    "ftrl": lambda net: optim.Ftrl(net.parameters(), 0.1, l1=0.01, l2=0.01),
    "lars": lambda net: optim.Lars(net.parameters(), 1.0, trust=0.01, weight_decay=0.01),
    "lamb": lambda net: optim.Lamb(net.parameters(), 0.01),
    "lion": lambda net: optim.Lion(net.parameters(), 0.01, weight_decay=0.1),
    "accumulate": lambda net: optim.Adam(net.parameters(), 0.01, accumulate=2),
    "schedule": lambda net: optim.SGD(net.parameters(), 0.1, schedule=optim.lr.warm_up(2, 0.1, optim.lr.cosine(10))),
    "groups": lambda net: optim.Adam([
        {"params": net.body.parameters()},
        {"params": net.head, "lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1},
    ], 0.01),
    "not told": lambda net: optim.SGD(0.1),
}  # fmt: skip


@pytest.mark.parametrize("setting", SETTINGS)
def test_both_modes_and_switching_agree_bitwise(setting):
    make = SETTINGS[setting]
    direct, built, mixed = (train(make, modes) for modes in [[False], [True], [False, False, True]])
    assert direct == built == mixed
    assert direct[0][-1] < direct[0][0] and np.isfinite(direct[0]).all()


class TestStates:
    def test_names(self, own_state):
        net = nn.Linear(2, 1, name="fc")
        optimizer = optim.Adam([{"params": "fc.weight"}, {"params": "fc.bias", "lr": 0.5}], 0.1)
        net.initialise()
        optimizer.minimize(fl.sum(net(fl.full((1, 2), 1.0))))
        names = [name for name in own_state.names() if name.startswith("adam")]
        assert names == sorted(["adam.lr", "adam.lr.1", "adam.step"] + [f"adam.{s}.fc.{p}" for s in "mv" for p in ["weight", "bias"]])
        assert own_state["adam.lr.1"].item() == 0.5 and own_state["adam.lr"].dtype == fl.float64

    def test_a_changed_rate_holds_for_programs(self):
        net = nn.Linear(2, 1, name="fc", bias=False)
        optimizer = optim.SGD(net.parameters(), 0.1)
        program = fl.build(lambda x: optimizer.minimize(fl.sum(net(x)))[1][0][1], {"x": "f32[n, 2]"})
        before = net.weight.numpy()
        optimizer.set_learning_rate(0.0)
        program(fl.full((1, 2), 1.0))
        assert np.array_equal(net.weight.numpy(), before)
        optimizer.set_learning_rate(1.0)
        program(fl.full((1, 2), 1.0))
        np.testing.assert_allclose(net.weight.numpy(), before - 1, rtol=1e-6)
        assert optimizer.learning_rate().item() == 1.0

    def test_state_dict(self):
        def run(resume):
            with fl.State():
                fl.seed(1)
                net = nn.Linear(2, 1, name="fc")
                optimizer = optim.Adam(net.parameters(), 0.1)
                if resume:
                    net.load_state_dict(resume[0])
                    optimizer.load_state_dict(resume[1])
                for _ in range(2):
                    optimizer.minimize(fl.sum(fl.square(net(fl.full((1, 2), 1.0)))))
                return net.state_dict(), optimizer.state_dict()

        with fl.State():
            fl.seed(1)
            net = nn.Linear(2, 1, name="fc")
            optimizer = optim.Adam(net.parameters(), 0.1)
            for _ in range(4):
                optimizer.minimize(fl.sum(fl.square(net(fl.full((1, 2), 1.0)))))
            expected = net.weight.numpy()
        assert np.array_equal(run(run(None))[0]["weight"].numpy(), expected)
        with pytest.raises(ValueError, match="sgd.step"):
            optimizer.load_state_dict({"sgd.step": 1})


class TestSteps:
    def test_backward_then_step(self):
        results = []
        for how in ["minimize", "step", "fluid", "gradients"]:
            with fl.State():
                fl.seed(1)
                net = nn.Linear(2, 1, name="fc")
                optimizer = optim.Momentum(net.parameters(), 0.1)
                for _ in range(3):
                    loss = fl.sum(fl.square(net(fl.full((1, 2), 1.0))))
                    if how == "gradients":
                        optimizer.step(optimizer.gradients(loss))
                        continue
                    if how in ("step", "fluid"):
                        loss.backward()
                    if how in ("minimize", "fluid"):
                        optimizer.minimize(loss)
                    else:
                        optimizer.step()
                    optimizer.zero_grad()
                results.append(net.weight.numpy().tobytes())
        assert len(set(results)) == 1

    def test_backward_and_step_in_a_program(self):
        net = nn.Linear(2, 1, name="fc", bias=False)
        optimizer = optim.SGD(net.parameters(), 1.0)

        def step(x):
            loss = fl.sum(net(x))
            loss.backward()
            optimizer.step()
            return loss

        before = net.weight.numpy()
        fl.build(step, {"x": "f32[n, 2]"})(fl.full((1, 2), 1.0))
        np.testing.assert_allclose(net.weight.numpy(), before - 1, rtol=1e-6)

    def test_unreached_parameters(self):
        a, b = nn.Linear(2, 1, name="a"), nn.Linear(2, 1, name="b")
        before = b.weight.numpy()
        optimizer = optim.SGD([a, b], 0.1, weight_decay=0.5)
        step = lambda x: optimizer.minimize(fl.sum(a(x)))[1][0][1]  # noqa: E731
        step(fl.full((1, 2), 1.0))
        np.testing.assert_allclose(b.weight.numpy(), before * 0.95, rtol=1e-6)
        with pytest.raises(RuntimeError, match="no gradient reaches 2 of the 4") as unused:
            fl.build(step, {"x": "f32[n, 2]"})
        assert "note: `b.weight`: nothing uses it" in str(unused.value)
        with pytest.raises(RuntimeError, match="`b.bias`: `stop_gradient` at .*test_optimizer.py") as cut:
            fl.build(lambda x: optimizer.minimize(fl.sum(a(x) + b(x).detach()))[0], {"x": "f32[n, 2]"})
        assert "`a.weight`" not in str(cut.value)
        optimizer.allow_unreached = True
        fl.build(step, {"x": "f32[n, 2]"})
        with pytest.raises(RuntimeError, match="depends on none of the 4"):
            optimizer.minimize(fl.tensor(1.0).track() * 2)
        with pytest.raises(RuntimeError, match="call `loss.backward"):
            optimizer.step()

    def test_frozen_parameters_stay(self):
        net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1), name="net")
        net[0].freeze()
        before = net.state_dict()
        optim.Adam(net.parameters(), 0.1).minimize(fl.sum(net(fl.full((1, 2), 1.0))))
        after = net.state_dict()
        assert np.array_equal(before["0.weight"].numpy(), after["0.weight"].numpy())
        assert not np.array_equal(before["1.weight"].numpy(), after["1.weight"].numpy())

    def test_accumulation_is_the_mean(self):
        fl.parameter("w", (), init=1.0)
        optimizer = optim.SGD(["w"], 1.0, accumulate=2)
        for factor in [1.0, 3.0]:
            assert fl.read_state("w").item() == 1.0
            optimizer.minimize(fl.read_state("w") * factor)
        assert fl.read_state("w").item() == -1.0


class TestRows:
    @pytest.mark.parametrize("kind", [optim.SGD, optim.Adagrad, optim.Adam])
    def test_rows_in_both_modes(self, kind):
        def train(build):
            with fl.State() as state:
                fl.parameter("table", (5, 2), init=fl.tensor(np.arange(10.0).reshape(5, 2), "float32"))
                fl.parameter("w", (2,), init=1.0)
                optimizer = kind(["table", "w"], 0.1, name="opt")

                def step(ids):
                    rows = [optim.lookup("table", ids), optim.lookup("table", ids + 1)]
                    loss = fl.sum(fl.square(rows[0].values * fl.read_state("w")) + rows[1].values)
                    optimizer.minimize_rows(loss, rows)
                    return loss

                if build:
                    def whole(ids):
                        fl.parameter("table", (5, 2)), fl.parameter("w", (2,))
                        return step(ids)
                    step_ = fl.build(whole, {"ids": "i64[n]"})
                else:
                    step_ = step
                losses = [step_(fl.tensor([3, -4, 3])).item() for _ in range(3)]
                return losses, {n: state[n].numpy().tobytes() for n in state.names()}

        direct = train(False)
        assert direct == train(True)

    def test_sgd_gives_what_whole_gradients_give(self):
        fl.parameter("a", (4, 2), init=1.0), fl.parameter("b", (4, 2), init=1.0)
        ids = fl.tensor([[1, 2], [1, -1]])
        rows = optim.lookup("a", ids)
        optim.SGD(["a"], 0.1).minimize_rows(fl.sum(fl.square(rows.values)), [rows])
        optim.SGD(["b"], 0.1, name="other").minimize(fl.sum(fl.square(fl.gather(fl.read_state("b"), ids, 0))))
        assert fl.read_state("a").tolist() == fl.read_state("b").tolist()

    def test_refused(self):
        fl.parameter("a", (4, 2), init=1.0), fl.parameter("b", (4, 2), init=1.0)
        rows = optim.lookup("a", fl.tensor([1]))
        loss = fl.sum(rows.values)
        with pytest.raises(ValueError, match="whole parameters"):
            optim.Lamb(["a"]).minimize_rows(loss, [rows])
        for optimizer, message in [(optim.SGD(["b"]), "does not train"), (optim.SGD(["a"], accumulate=2, name="sums"), "not accumulated")]:
            rows = optim.lookup("a", fl.tensor([1]))
            with pytest.raises(ValueError, match=message):
                optimizer.minimize_rows(fl.sum(rows.values), [rows])
        rows = optim.lookup("a", fl.tensor([1]))
        with pytest.raises(RuntimeError, match="both as a whole"):
            optim.SGD(["a"], name="both").minimize_rows(fl.sum(rows.values) + fl.sum(fl.read_state("a")), [rows])


class TestErrors:
    def test_settings(self):
        for make, message in [
            (lambda: optim.Adam(["w"], betas=(1.0, 0.9)), "first of `betas` is 1.0"),
            (lambda: optim.SGD(["w"], -0.1), "must be zero or more"),
            (lambda: optim.SGD(["w"], 0.1, accumulate=0), "over 0 calls"),
            (lambda: optim.SGD([{"params": "w"}, {"params": "w"}]), "in two groups"),
            (lambda: fl.clip.GradientClipByNorm(-1.0), "zero or more"),
            (lambda: optim.lr.piecewise([1], [0.1]), "one border less"),
        ]:
            with pytest.raises(ValueError, match=message):
                make()
        with pytest.raises(TypeError, match="no option `momentum`"):
            optim.Adam(["w"], momentum=0.9)
        with pytest.raises(TypeError, match="give options by name: momentum"):
            optim.Momentum(0.1, 0.9)
        with pytest.raises(RuntimeError, match="nothing to train"):
            optim.SGD(0.1).minimize(fl.tensor(1.0).track() * 2)
        with pytest.raises(TypeError, match="layer.parameters"):
            optim.SGD([fl.tensor(1.0)])

    def test_two_of_one_name(self):
        a, b = nn.Linear(2, 1, name="a"), nn.Linear(2, 1, name="b")
        x = fl.full((1, 2), 1.0)
        first, second = (optim.Adam(net, name="both") for net in (a, b))
        first.minimize(fl.sum(a(x)))
        with pytest.raises(ValueError, match="give one of them another name"):
            second.minimize(fl.sum(b(x)))
        with fl.State():
            second.minimize(fl.sum(b(x)))
        optim.Adam(b, name="other").minimize(fl.sum(b(x)))

    def test_one_that_is_made_anew_and_would_forget(self):
        net, x = nn.Linear(2, 1, name="net"), fl.full((1, 2), 1.0)

        def step(make):
            make(net).minimize(fl.sum(net(x)))

        with pytest.raises(ValueError, match="is made anew in each step"):
            for _ in range(2):
                step(lambda net: optim.Adam(net, 0.1))
        with pytest.raises(ValueError, match="before the steps, or give it a name"):
            for _ in range(2):
                step(lambda net: optim.SGD(net, 0.1, schedule=optim.lr.step(2, 0.5)))
        for _ in range(3):
            step(lambda net: optim.SGD(net, 0.1))
            step(lambda net: optim.Adam(net, 0.1, name="kept"))
        assert fl.read_state("kept.step").item() == 3


class TestScopesAndSteps:
    @pytest.mark.parametrize("kind", [optim.Adam, optim.NAdam])
    def test_names_of_two_scopes_are_remembered_apart(self, kind):
        """What an optimizer of names remembers belongs to the scope of the names."""

        def train(optimizer, state, n):
            with state:
                for _ in range(n):
                    w = fl.parameter("w", (2,), init=lambda *_: fl.tensor([1.0, -2.0]))
                    optimizer.minimize(fl.sum(fl.square(w)))
                return fl.read_state("w").tolist(), optimizer.state_dict()[f"{optimizer.name}.step"].item()

        alone = train(kind(["w"], 0.1), fl.State(), 3)
        both, first, second = kind(["w"], 0.1), fl.State(), fl.State()
        assert train(both, first, 3) == alone and train(both, second, 3) == alone
        assert train(both, first, 1)[1] == 4 and train(both, second, 0)[1] == 3

    def test_a_rate_that_is_set_holds_in_all_scopes(self):
        optimizer = optim.SGD(["w"], 0.5)
        optimizer.set_learning_rate(0.25)
        for _ in range(2):
            with fl.State():
                w = fl.parameter("w", (1,), init=1.0)
                optimizer.minimize(fl.sum(w))
                assert fl.read_state("w").tolist() == [0.75]

    def test_layers_that_are_made_in_each_step_are_an_error_at_the_line(self):
        optimizer = optim.SGD(learning_rate=0.1)
        x = fl.ones((1, 2))
        with pytest.raises(Exception, match="made anew in each step") as error:
            for _ in range(4):
                net = nn.Linear(2, 1)
                optimizer.minimize(fl.sum(net(x)))
        assert __file__ in str(error.value)

    def test_layers_that_last_are_none(self):
        optimizer, x = optim.SGD(learning_rate=0.1), fl.ones((1, 2))
        for _ in range(3):
            net = nn.Linear(2, 1)
            for _ in range(2):
                optimizer.minimize(fl.sum(net(x)))


class TestOwnership:
    def test_two_share_nothing(self):
        net, x = nn.Linear(2, 1, name="net"), fl.full((1, 2), 1.0)
        moved = []
        for rate in (0.5, 0.25):
            optimizer = optim.SGD(net.parameters(), rate)
            before = net.bias.item()
            optimizer.minimize(fl.sum(net(x)))
            moved.append(before - net.bias.item())
        assert moved == pytest.approx([0.5, 0.25])
        first, second = optim.Adam(net, 0.1), optim.Adam(net, 0.1)
        for optimizer in (first, first, second):
            optimizer.minimize(fl.sum(net(x)))
        steps = [optimizer.state_dict()["adam.step"].item() for optimizer in (first, second)]
        assert steps == [2, 1]

    def test_what_it_remembers_ends_with_it(self):
        net = nn.Linear(2, 1, name="net")
        optimizer = optim.Adam(net, 0.1)
        optimizer.minimize(fl.sum(net(fl.full((1, 2), 1.0))))
        assert "adam.step" in fl.State.current()
        del optimizer
        assert "adam.step" not in fl.State.current()

    def test_a_run_can_be_repeated(self):
        def run():
            fl.seed(3)
            net = nn.Linear(2, 1, name="again")
            optimizer = optim.Adam(net, 0.1)
            step = fl.function(lambda x: optimizer.minimize(fl.sum(fl.square(net(x))))[1][0][1])
            for i in range(3):
                step(fl.full((i + 1, 2), 1.0))
            return net.weight.numpy().tobytes()

        assert run() == run()

    def test_a_rate_that_is_given_counts(self):
        net, x = nn.Linear(2, 1, name="net"), fl.full((1, 2), 1.0)

        def moved(*rate):
            before = net.bias.item()
            optimizer = optim.SGD(net, *rate, name="kept")
            optimizer.minimize(fl.sum(net(x)))
            return pytest.approx(before - net.bias.item()), optimizer

        assert [moved(0.5)[0] == 0.5, moved(0.5)[0] == 0.5, moved(0.25)[0] == 0.25] == [True] * 3
        found, optimizer = moved()
        assert found == 0.25
        optimizer.set_learning_rate(0.125)
        assert moved(0.25)[0] == 0.125 and moved()[0] == 0.125

    def test_param_groups(self):
        a, b = nn.Linear(2, 1, name="a"), nn.Linear(2, 1, name="b")
        optimizer = optim.Adam(a, 0.1, betas=(0.5, 0.75))
        optimizer.add_param_group({"params": b.parameters(), "lr": 0.2, "weight_decay": 0.5})
        first, second = optimizer.param_groups
        assert first["params"][0] is a.weight and (first["lr"], second["lr"]) == (0.1, 0.2)
        assert first["betas"] == second["betas"] == (0.5, 0.75) and second["weight_decay"] == 0.5
        assert set(first) == {"params", "lr", "weight_decay", "maximize", "betas", "eps", "amsgrad"}
        with pytest.raises(ValueError, match="weight decay is -1"):
            first["weight_decay"] = -1.0
        with pytest.raises(TypeError, match="no option `momentum`"):
            first["momentum"] = 0.5
        with pytest.raises(ValueError, match="in two groups"):
            optimizer.add_param_group({"params": [b.weight]})
        assert len(optimizer.param_groups) == 2

    def test_settings_that_change_reach_programs(self):
        net, x = nn.Linear(2, 1, name="net", bias_attr=False), fl.full((1, 2), 1.0)
        optimizer = optim.SGD(net, 0.5)
        step = fl.function(lambda x: optimizer.minimize(fl.sum(net(x)))[1][0][1])
        moves = []
        for setting, value in [("lr", 0.5), ("lr", 0.25), ("weight_decay", 1.0), ("weight_decay", 0.0)]:
            optimizer.param_groups[0][setting] = value
            before = net.weight.numpy()
            step(x)
            moves.append((before, before - net.weight.numpy()))
        rates, decays = [0.5, 0.25, 0.25, 0.25], [0.0, 0.0, 1.0, 0.0]
        for (before, moved), rate, decay in zip(moves, rates, decays):
            np.testing.assert_allclose(moved, rate * (1.0 + decay * before), rtol=1e-5)

    def test_state_dicts(self):
        def made():
            fl.seed(1)
            net = nn.Linear(2, 1, name="net")
            return net, optim.Adam(net, 0.1)

        x = fl.full((1, 2), 1.0)
        (net, optimizer), (other, loaded) = made(), made()
        for _ in range(2):
            optimizer.minimize(fl.sum(fl.square(net(x))))
        saved = {name: value.numpy() for name, value in optimizer.state_dict().items()}
        assert {"adam.step", "adam.lr", "adam.m.net.weight", "adam.v.net.bias"} <= set(saved)
        other.load_state_dict(net.state_dict())
        loaded.load_state_dict(saved)
        for each, by in ((net, optimizer), (other, loaded)):
            by.minimize(fl.sum(fl.square(each(x))))
        assert net.weight.numpy().tobytes() == other.weight.numpy().tobytes()
        with pytest.raises(ValueError, match="not states of the optimizer"):
            loaded.load_state_dict({"sgd.step": 1})

    def test_what_cannot_be_trained(self):
        norm = nn.BatchNorm1d(2, name="norm") if hasattr(nn, "BatchNorm1d") else nn.BatchNorm(2, name="norm")
        buffers = list(norm.buffers())
        with pytest.raises(RuntimeError, match="not a parameter"):
            optim.SGD(buffers, 0.1)

    def test_schedulers_are_stepped(self):
        optimizer = optim.SGD(["w"], 1.0)
        scheduler = optim.lr.StepLR(optimizer, 2, 0.5)
        rates = []
        for _ in range(5):
            rates.append(scheduler.get_last_lr()[0])
            scheduler.step()
        assert rates == [1.0, 1.0, 0.5, 0.5, 0.25]
        assert optimizer.param_groups[0]["lr"] == 0.25

    def test_gradients_that_are_none_are_left_alone(self):
        a, b = nn.Linear(2, 1, name="a"), nn.Linear(2, 1, name="b")
        optimizer = optim.Adam([a, b], 0.1, weight_decay=0.5)
        before = b.weight.numpy()
        fl.sum(a(fl.full((1, 2), 1.0))).backward()
        optimizer.step()
        assert (b.weight.numpy() == before).all()
        assert "adam.m.b.weight" not in optimizer.state_dict()


def test_schedules():
    lr = optim.lr
    cases = [
        (lr.constant(), 7, 1.0), (lr.delayed(0.5, 3), 2, 0.5), (lr.delayed(0.5, 3), 3, 1.0),
        (lr.step(10, 0.1), 20, 0.01), (lr.multi_step([2, 4], 0.1), 4, 0.01), (lr.exponential(0.5), 3, 0.125),
        (lr.linear(0.5, 1.0, 4), 2, 0.75), (lr.polynomial(4, 2.0), 2, 0.25), (lr.cosine(10), 5, 0.5),
        (lr.cosine_restarts(4), 6, 0.5), (lr.cosine_restarts(4, 2), 8, 0.5), (lr.one_cycle(100), 29, 1.0),
        (lr.noam(64, 10), 9, 64**-0.5 * 10**-0.5), (lr.chained([lr.exponential(0.5), lr.exponential(0.5)]), 1, 0.25),
        (lr.exponential(0.5).every(3), 7, 0.25),
    ]  # fmt: skip
    for schedule, step, expected in cases:
        assert schedule.at(1.0, step) == pytest.approx(expected, rel=1e-12)
        program = fl.build(schedule.rate, {"first": "f64[]", "step": "f64[]"})
        built = program(fl.tensor(1.0, "float64"), fl.tensor(float(step), "float64"))
        assert built.item() == schedule.at(1.0, step)


AT_ONCE = [
    (optim.SGD, {}),
    (optim.SGD, {"weight_decay": 0.1}),
    (optim.Momentum, {}),
    (optim.Momentum, {"nesterov": True, "dampening": 0.3}),
    (optim.Adam, {}),
    (optim.Adam, {"amsgrad": True, "betas": (0.8, 0.9)}),
    (optim.AdamW, {"eps": 1e-3}),
]


class ByOps(optim.Optimizer):
    """Gradient descent, momentum, Adam and AdamW by small ops."""

    _name = "ops"
    defaults = {
        "momentum": None, "dampening": 0.0, "nesterov": False, "betas": None, "eps": 1e-8, "amsgrad": False
    }  # fmt: skip

    def shared(self, step, settings):
        number = lambda x: fl.tensor(x, "float64")  # noqa: E731
        if settings["betas"] is not None:
            first, second = (step.bias_correction(beta) for beta in settings["betas"])
            return [first, fl.sqrt(second)]
        part = number(1.0 - settings["dampening"])
        return [fl.where(step.t > number(1.0), part, number(1.0))]

    def update(self, u):
        if u.settings["betas"] is not None:
            first, second = u.settings["betas"]
            m = u.slot("m") * first + u.grad * (1.0 - first)
            v = u.slot("v") * second + u.grad * u.grad * (1.0 - second)
            u.put("m", m), u.put("v", v)
            if u.settings["amsgrad"]:
                v = fl.maximum(u.slot("v_max"), v)
                u.put("v_max", v)
            return u.param - (u.lr / u.shared[0]) * (m / (fl.sqrt(v) / u.shared[1] + u.settings["eps"]))
        if u.settings["momentum"] is None:
            return u.param - u.lr * u.grad
        v = u.slot("v") * u.settings["momentum"] + u.grad * u.shared[0]
        u.put("v", v)
        return u.param - u.lr * (u.grad + v * u.settings["momentum"] if u.settings["nesterov"] else v)


def by_ops(kind, parameters, rate, **options):
    given = {"betas": (0.9, 0.999)} if issubclass(kind, optim.Adam) else {}
    given = {"momentum": 0.9} if kind is optim.Momentum else given
    given = {**given, "weight_decay": 0.01, "decoupled": True} if kind is optim.AdamW else given
    return ByOps(parameters, rate, **{**given, **options})


@pytest.mark.parametrize(("kind", "options"), AT_ONCE)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_updates_at_once_have_the_bits_of_single_ops(kind, options, dtype):
    results = []
    for chosen in (kind, lambda *args, **given: by_ops(kind, *args, **given)):
        with fl.State() as state:
            generator = np.random.default_rng(5)
            shapes = {"a": (3, 70), "b": (1100,), "c": (), "d": (2, 3, 4), "e": (4, 2, 5)}
            for name, shape in shapes.items():
                own = "float64" if name == "d" else dtype
                first = fl.tensor(generator.normal(size=shape))
                fl.parameter(name, shape, own, init=lambda shape, to, first=first: fl.cast(first, to))
            optimizer = chosen(list(shapes), 0.1, **options)
            for step in range(4):
                sums = [fl.sum(fl.sin(fl.read_state(name) * (step + 1.0))) for name in shapes]
                optimizer.minimize(sum(fl.cast(value, "float64") for value in sums))
            results.append({name: fl.cast(state[name], "float64").numpy() for name in shapes})
    at_once, one_by_one = results
    for name, value in at_once.items():
        assert value.tobytes() == one_by_one[name].tobytes(), name
