"""Layers in both modes: numbers, names, states, hooks."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import fluvial as fl
from fluvial import nn


@pytest.fixture(autouse=True)
def own_state():
    """Each test has a state scope of its own."""
    with fl.State() as state:
        fl.seed(3)
        yield state


def ramp(*shape):
    numbers = np.arange(np.prod(shape), dtype=np.float32) * np.float32(0.7) + np.float32(0.3)
    return np.sin(numbers).reshape(shape)


def first(y):
    while isinstance(y, tuple):
        y = y[0]
    return y


def flat(y):
    return [part for y in y for part in flat(y)] if isinstance(y, tuple) else [y]


# Made by PyTorch: the layer, the shapes of its inputs, its keys; sum and last elements of the output
# when parameters and inputs are ramps.
# fmt: off
PYTORCH = [
    ("Linear(3, 2)", [(4, 3)], "weight bias",
     [2.986376, 0.186605, 1.042158, 0.24096]),
    ("Bilinear(2, 3, 2)", [(4, 2), (4, 3)], "weight bias",
     [2.444434, 0.895916, -0.567718, 0.322873]),
    ("Conv1d(2, 3, 3, padding=1)", [(1, 2, 5)], "weight bias",
     [5.213007, 1.509071, 1.361086, 0.767258]),
    ("Conv2d(2, 4, 3, stride=2, groups=2)", [(1, 2, 5, 5)], "weight bias",
     [5.149085, 0.378217, 0.461129, 0.272506]),
    ("Conv3d(1, 2, 2, bias=False)", [(1, 1, 3, 3, 3)], "weight",
     [2.017462, 0.303964, -0.021706, -0.217723]),
    ("ConvTranspose2d(2, 2, 2, stride=2, output_padding=1)", [(1, 2, 2, 2)], "weight bias",
     [13.690691, 0.420735, 0.420735, 0.420735]),
    ("BatchNorm1d(3)", [(4, 3)], "weight bias running_mean running_var num_batches_tracked",
     [4.257312, 0.203201, 0.797222, 0.987734]),
    ("LayerNorm(4)", [(2, 4)], "weight bias",
     [2.865628, 0.416465, 0.035536, 0.103984]),
    ("RMSNorm(4)", [(2, 4)], "weight",
     [0.071588, -0.354264, -0.667009, -0.410604]),
    ("GroupNorm(2, 4)", [(1, 4, 3)], "weight bias",
     [3.255953, 0.478202, 0.710792, 0.770751]),
    ("InstanceNorm(2)", [(1, 2, 4)], "",
     [-0.0, -0.01015, -0.92833, -0.692112]),
    ("RNN(2, 3, 2)", [(4, 1, 2)], "weight_ih_l0 weight_hh_l0 bias_ih_l0 bias_hh_l0 weight_ih_l1 weight_hh_l1 bias_ih_l1 bias_hh_l1",
     [5.776312, 0.756247, 0.828187, -0.044345]),
    ("LSTM(2, 3, bidirectional=True)", [(4, 1, 2)], "weight_ih_l0 weight_hh_l0 bias_ih_l0 bias_hh_l0 weight_ih_l0_reverse weight_hh_l0_reverse bias_ih_l0_reverse bias_hh_l0_reverse",
     [-6.739362, -0.162665, -0.038381, 0.1255]),
    ("GRU(2, 3)", [(4, 1, 2)], "weight_ih_l0 weight_hh_l0 bias_ih_l0 bias_hh_l0",
     [-4.02238, -0.616024, -0.25106, 0.418184]),
    ("LSTMCell(2, 3)", [(2, 2)], "weight_ih weight_hh bias_ih bias_hh",
     [-2.102146, -0.248006, -0.525656, -0.319134]),
    ("GRUCell(2, 3)", [(2, 2)], "weight_ih weight_hh bias_ih bias_hh",
     [-1.977756, -0.235575, -0.456289, -0.325774]),
    ("PReLU()", [(5,)], "weight",
     [2.8457, 0.991665, 0.675463, 0.041581]),
    ("TransformerEncoderLayer(4, 2, 6, dropout=0.0)", [(3, 2, 4)], "self_attn.in_proj_weight self_attn.in_proj_bias self_attn.out_proj.weight self_attn.out_proj.bias linear1.weight linear1.bias linear2.weight linear2.bias norm1.weight norm1.bias norm2.weight norm2.bias",
     [7.720653, -0.128504, 0.851029, 0.134374]),
    ("TransformerDecoderLayer(4, 2, 6, dropout=0.0, norm_first=True)", [(3, 2, 4), (2, 2, 4)], "self_attn.in_proj_weight self_attn.in_proj_bias self_attn.out_proj.weight self_attn.out_proj.bias multihead_attn.in_proj_weight multihead_attn.in_proj_bias multihead_attn.out_proj.weight multihead_attn.out_proj.bias linear1.weight linear1.bias linear2.weight linear2.bias norm1.weight norm1.bias norm2.weight norm2.bias norm3.weight norm3.bias",
     [30.153492, 0.678923, 2.121195, 0.307625]),
]
# fmt: on


@pytest.mark.parametrize(("layer", "shapes", "keys", "expected"), PYTORCH)
def test_numbers_are_pytorchs_in_both_modes(layer, shapes, keys, expected):
    layer = eval(f"nn.{layer}")
    before = layer.state_dict()
    assert sorted(before) == sorted(keys.split())
    values = {
        key: ramp(*value.shape) * 0.5 if key.split(".")[-1].startswith(("weight", "bias", "in_proj")) else value
        for key, value in before.items()
    }
    layer.load_state_dict(values)
    inputs = [fl.tensor(ramp(*shape)) for shape in shapes]
    program = fl.build(lambda *x: flat(layer(*x)), {f"x{i}": x for i, x in enumerate(inputs)})
    direct = first(layer(*inputs)).numpy()
    found = [direct.sum(), *direct.ravel()[-3:]]
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)
    layer.load_state_dict(values)
    built = program.run(**{f"x{i}": x for i, x in enumerate(inputs)})["out0"].numpy()
    assert built.tobytes() == direct.tobytes()


class Net(nn.Layer):
    def __init__(self, name=None):
        super().__init__(name)
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
        )
        self.drop = nn.Dropout(0.25)
        self.head = nn.Linear(None, 3)

    def forward(self, x):
        return self.head(self.drop(self.features(x)))


class TestModes:
    def test_training_passes_agree_bitwise(self):
        x = fl.tensor(ramp(5, 1, 4, 4))
        results = []
        for build in [False, True]:
            with fl.State() as state:
                fl.seed(1)
                net = Net("net")
                call = fl.build(net, {"x": "f32[batch, 1, 4, 4]"}) if build else net
                outputs = [call(x).numpy() for _ in range(3)]
                values = {name: state[name].numpy() for name in state.names()}
                results.append((outputs, values))
        (direct, states), (built, others) = results
        assert [y.tobytes() for y in direct] == [y.tobytes() for y in built]
        assert states.keys() == others.keys()
        for name in states:
            assert states[name].tobytes() == others[name].tobytes(), name
        assert states["net.features.1.num_batches_tracked"] == 3

    def test_eval_of_any_batch(self):
        net = Net().train()
        for i in range(3):
            net(fl.tensor(ramp(4 + i, 1, 4, 4)))
        net.eval()
        assert not net.features[1].training
        program = fl.build(net, {"x": "f32[batch, 1, 4, 4]"})
        for rows in [1, 2, 7]:
            x = fl.tensor(ramp(rows, 1, 4, 4))
            assert program(x).numpy().tobytes() == net(x).numpy().tobytes()

    def test_first_values_depend_on_seed_and_name_only(self):
        a, b = nn.Linear(3, 2, name="a"), nn.Linear(3, 2, name="b")
        later, early = b.weight.numpy(), a.weight.numpy()
        with fl.State():
            fl.seed(3)
            assert np.array_equal(nn.Linear(3, 2, name="a").weight.numpy(), early)
            assert np.array_equal(nn.Linear(3, 2, name="b").weight.numpy(), later)
        assert not np.array_equal(early, later)
        with fl.State():
            fl.seed(3)
            program = fl.build(nn.Linear(3, 2, name="a"), {"x": "f32[n, 3]"})
            program.initialise()
            assert np.array_equal(program.state["a.weight"].numpy(), early)

    def test_a_program_has_a_seed_of_its_own(self):
        def noisy(x):
            return fl.dropout(nn.Linear(3, 2, name="a")(x), 0.5)

        x = fl.tensor(ramp(4, 3))

        def outcome(seed, function):
            with fl.State():
                if seed is not None:
                    fl.seed(seed)
                return [function(x).numpy().tolist() for _ in range(2)]

        expected = outcome(5, noisy)
        program = fl.build(noisy, {"x": "f32[n, 3]"}, seed=5)
        assert expected[0] != expected[1]
        assert outcome(None, program) == expected
        assert outcome(None, fl.Program.parse(program.text())) == expected
        # A scope that has a seed keeps it; the layer is the one that the program was built of.
        assert outcome(4, program.unbound()) == outcome(4, noisy) != expected

    def test_gradients(self):
        layer = nn.Linear(3, 2, name="fc")
        loss = fl.sum(layer(fl.tensor(ramp(4, 3))))
        loss.backward()
        assert np.allclose(layer.bias.grad.numpy(), [4.0, 4.0])
        assert layer.parameters()[1].grad.tolist() == [4.0, 4.0]
        layer.zero_grad()
        assert layer.bias.grad is None


class TestNames:
    def test_places(self):
        net = Net("net")
        assert net.features[0].full_name == "net.features.0"
        assert [name for name, _ in net.named_parameters()][:2] == ["features.0.weight", "features.0.bias"]
        assert net.head.parameters()[0].name == "net.head.weight"

    def test_models_never_share_by_their_names(self):
        for name in [None, "fc"]:
            a, b = nn.Linear(2, 2, name=name), nn.Linear(2, 2, name=name)
            assert a.full_name == b.full_name
            assert not np.array_equal(a.weight.numpy(), b.weight.numpy())
            program = fl.build(lambda x: a(x) + b(x), {"x": "f32[n, 2]"})
            label = name or "linear"
            names = [f"{label}.weight", f"{label}.bias", f"{label}_1.weight", f"{label}_1.bias"]
            assert [state for state in program.states if state != "rng"] == sorted(names)
            x = fl.full((1, 2), 1.0)
            assert np.array_equal(program(x).numpy(), (a(x) + b(x)).numpy())
            assert nn.Linear(3, 2, name=name)(fl.full((1, 3), 1.0)).shape == (1, 2)

    def test_parameters_of_one_name_are_one(self):
        a, b = nn.Linear(2, 2, weight_attr="w"), nn.Linear(2, 2, weight_attr="w")
        assert np.array_equal(a.weight.numpy(), b.weight.numpy())
        a.weight = fl.full((2, 2), 5.0)
        assert b.weight.tolist() == [[5.0, 5.0], [5.0, 5.0]]
        wrong = nn.Linear(3, 2, weight_attr="w")
        with pytest.raises(fl.StateError, match="`w`"):
            wrong(fl.full((1, 3), 1.0))

    def test_labels_follow_the_place(self):
        layer = nn.Linear(2, 2)
        before = layer.weight.numpy()
        net = nn.Sequential(layer, name="net")
        assert net.parameters()[0].name == "net.0.weight"
        assert np.array_equal(net.state_dict()["0.weight"].numpy(), before)

    def test_shared_layers(self):
        layer = nn.Linear(2, 2)
        net = nn.Sequential(layer, fl.tanh, layer, name="net")
        assert len(net.parameters()) == 2 and len(net.sublayers()) == 2
        assert list(net.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]
        tied = nn.Linear(2, 2, weight_attr="net.0.weight", bias=False)
        layer.weight = fl.full((2, 2), 3.0)
        assert np.array_equal(tied.weight.numpy(), layer.weight.numpy())
        program = fl.build(lambda x: tied(x) + layer(x), {"x": "f32[n, 2]"})
        assert "net.0.weight" in program.states and len(program.states) == 3


class TestStateDicts:
    def test_all_faults_in_one_message(self):
        net = Net("net")
        net(fl.tensor(ramp(2, 1, 4, 4)))
        state = {name: value.numpy() for name, value in net.state_dict().items()}
        before = state["head.weight"].copy()
        state["head.bias"] = np.zeros(5, np.float32)
        state["more"] = state.pop("features.0.bias")
        state["head.weight"] = before + 1
        with pytest.raises(fl.StateError) as error:
            net.load_state_dict(state)  # faulty
        message = str(error.value)
        line = next(i for i, line in enumerate(Path(__file__).read_text().splitlines(), 1) if line.endswith("# faulty"))
        assert message.startswith(f"{__file__}:{line}: ")
        for part in ["`features.0.bias` is missing", "`more` is unexpected", "`head.bias` is float32[3] here, but float32[5]"]:
            assert part in message
        assert np.array_equal(net.head.weight.numpy(), before)
        del state["head.bias"]
        loaded = net.load_state_dict(state, strict=False)
        assert loaded.missing == ["features.0.bias", "head.bias"] and loaded.unexpected == ["more"]
        assert np.array_equal(net.head.weight.numpy(), before + 1)

    def test_lazy_layers_take_sizes_from_files(self):
        layer = nn.LazyLinear(2)
        with pytest.raises(fl.StateError, match="not known before"):
            layer.state_dict()
        layer.load_state_dict({"weight": np.ones((2, 3)), "bias": np.zeros(2)})
        assert layer(fl.full((1, 3), 1.0)).tolist() == [[3.0, 3.0]]
        assert layer.weight.dtype == fl.float32

    def test_a_program_sees_what_was_loaded(self):
        layer = nn.Linear(2, 1)
        program = fl.build(layer, {"x": "f32[n, 2]"})
        layer.load_state_dict({"weight": [[1.0, 2.0]], "bias": [3.0]})
        assert program(fl.tensor([[1.0, 1.0]])).item() == 6.0


class TestCopies:
    def test_deep_copies_have_parameters_of_their_own(self):
        net = Net("net")
        x = fl.tensor(ramp(2, 1, 4, 4))
        net(x)
        target = copy.deepcopy(net.eval())
        assert not target.training and target.head.weight is not net.head.weight
        assert np.array_equal(target(x).numpy(), net(x).numpy())
        net.head.bias = net.head.bias + 1.0
        assert not np.array_equal(target(x).numpy(), net(x).numpy())
        part = copy.deepcopy(net.head)
        assert np.array_equal(part.bias.numpy(), net.head.bias.numpy())
        assert part.weight is not net.head.weight
        shared = copy.deepcopy(nn.Sequential(part, part))
        assert shared[0] is shared[1] and len(shared.parameters()) == 2

    def test_pickles_bring_their_values(self):
        net = Net("net")
        x = fl.tensor(ramp(2, 1, 4, 4))
        net(x)
        expected = net.eval()(x).numpy()
        data = pickle.dumps(net.features)
        with fl.State() as state:
            again = pickle.loads(data)
            assert np.array_equal(again(x).numpy(), net.features(x).numpy())
            assert "net.features.0.weight" in state
        assert np.array_equal(net(x).numpy(), expected)


class TestLayer:
    def test_hooks(self):
        layer = nn.Linear(2, 2)
        calls = []
        pre = layer.register_forward_pre_hook(lambda layer, x: (x[0] * 0.0,))
        with layer.register_forward_hook(lambda layer, x, y: calls.append(x[0].tolist())):
            assert np.array_equal(layer(fl.full((1, 2), 5.0)).numpy()[0], layer.bias.numpy())
        pre.remove()
        layer(fl.full((1, 2), 5.0))
        assert calls == [[[0.0, 0.0]]]

    def test_attributes(self):
        class Mine(nn.Layer):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter((2,), init=2.0)
                self.count = nn.Buffer((), "int64")
                self.register_buffer("table", np.arange(3.0))
                self.plain = 3

        layer = Mine()
        assert isinstance(layer.w, fl.Tensor) and layer.w.is_tracked and not layer.table.is_tracked
        layer.w = np.array([5.0, 6.0], np.float32)
        assert layer.w.tolist() == [5.0, 6.0] and layer.parameters()[0].name == "mine.w"
        assert [b.name for b in layer.buffers()] == ["mine.count", "mine.table"]
        with pytest.raises(AttributeError, match="no attribute `missing`"):
            layer.missing
        del layer.w
        assert not layer.parameters() and not hasattr(layer, "w")

        class Early(nn.Layer):
            def __init__(self):
                self.fc = nn.Linear(2, 2)

        with pytest.raises(AttributeError, match="super"):
            Early()
        with pytest.raises(NotImplementedError, match="def forward"):
            layer(1.0)

    def test_freeze(self):
        layer = nn.Linear(2, 1, name="fc")
        x = fl.full((1, 2), 1.0)
        for frozen in [True, False, True, False]:
            layer.freeze(frozen)
            assert layer(x).is_tracked is not frozen
            with fl.no_grad():
                assert not layer(x).is_tracked
        with fl.State():
            fl.seed(3)
            frozen = nn.Linear(2, 1, name="fc", weight_attr=fl.ParamAttr(trainable=False))
            assert np.array_equal(frozen.weight.numpy(), layer.weight.detach().numpy())

    def test_apply_and_to(self):
        net = Net()
        seen = []
        assert net.apply(lambda layer: seen.append(type(layer).__name__)) is net
        assert seen[-1] == "Net" and len(seen) == 9
        net.to("float64")
        y = net(fl.tensor(ramp(2, 1, 4, 4).astype(np.float64)))
        assert y.dtype == fl.float64 and net.features[1].running_mean.dtype == fl.float64
        assert net.features[1].num_batches_tracked.dtype == fl.int64

    def test_repr(self):
        assert repr(nn.Conv2d(1, 4, 3, padding=1)) == "Conv2d(1, 4, kernel=(3, 3), padding=1)"
        assert repr(Net()).splitlines()[1:3] == ["  (features): Sequential(", "    (0): Conv2d(1, 4, kernel=(3, 3), padding=1)"]

    def test_build_once(self):
        class Lazy(nn.Layer):
            def _build_once(self, x):
                self.w = self.create_parameter((x.shape[-1],), is_bias=True)

            def forward(self, x):
                return x + self.w

        layer = Lazy()
        assert layer(layer(fl.full((2, 3), 1.0))).tolist() == [[1.0] * 3] * 2
        assert layer.w.shape == (3,)

    def test_options(self):
        with pytest.raises(TypeError, match="MaxPool2d.kernel, stride=None"):
            nn.MaxPool2d()
        with pytest.raises(TypeError, match="no option `strides`"):
            nn.MaxPool2d(2, strides=2)
        with pytest.raises(ValueError, match="3 groups do not divide"):
            nn.Conv2d(4, 6, 3, groups=3)
        with pytest.raises(ValueError, match="heads do not divide"):
            nn.MultiHeadAttention(5, 2)
        with pytest.raises(TypeError, match="ParamAttr"):
            nn.Linear(2, 2, weight_attr=3.5)

    def test_embedding(self):
        layer = nn.Embedding(5, 3, padding_idx=-1, max_norm=0.1)
        ids = fl.tensor([[0, 4]])
        y = layer(ids)
        assert y.numpy()[0, 1].tolist() == [0.0] * 3
        assert np.linalg.norm(y.numpy()[0, 0]) <= 0.1001
        program = fl.build(nn.Embedding(5, 3), {"ids": "i64[n]"})
        assert program(fl.tensor([1, 2])).shape == (2, 3)

    def test_attention_with_masks_and_weights(self):
        layer = nn.MultiHeadAttention(4, 2, batch_first=True, key_width=3, value_width=5)
        q, k, v = (fl.tensor(ramp(2, n, w)) for n, w in [(3, 4), (6, 3), (6, 5)])
        mask = fl.tensor(np.tile([False] * 5 + [True], (2, 1)))
        y, weights = layer(q, k, v, key_mask=mask, need_weights=True)
        np.testing.assert_allclose(y.numpy(), layer(q, k, v, key_mask=mask).numpy(), rtol=1e-5, atol=1e-6)
        assert weights.shape == (2, 3, 6) and np.all(weights.numpy()[:, :, 5] == 0)


class TestBuffers:
    def test_what_does_not_persist_is_not_in_the_state_dict(self):
        class Counter(nn.Layer):
            def __init__(self):
                super().__init__("counter")
                self.calls = nn.Buffer((), "int64", persistent=False)
                self.scale = nn.Buffer((), init=2.0)

            def forward(self, x):
                self.calls = self.calls + 1
                return x * self.scale

        counter = Counter()
        counter(fl.tensor(1.0))
        assert list(counter.state_dict()) == ["scale"]
        counter.load_state_dict({"scale": 3.0})
        assert counter(fl.tensor(1.0)).item() == 3.0 and counter.calls.item() == 2
        assert list(copy.deepcopy(counter).state_dict()) == ["scale"]
        counter.to("float64")
        assert counter.scale.dtype == fl.float64
