"""What users of PyTorch do with layers: walking, hooks, containers, computed weights."""

import copy
import pickle

import numpy as np
import pytest

import fluvial as fl
from fluvial import nn


@pytest.fixture(autouse=True)
def own_state():
    with fl.State():
        fl.seed(3)
        yield


def net():
    return nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.Tanh(), nn.Linear(4, 2)))


class TestWalking:
    def test_modules_and_children(self):
        model = net()
        assert [name for name, _ in model.named_modules()] == ["", "0", "1", "1.0", "1.1"]
        assert len(model.modules()) == 5 and model.modules()[0] is model
        assert [name for name, _ in model.named_children()] == ["0", "1"]
        assert next(model.children()) is model[0]
        assert next(model.parameters()).shape == (4, 3)
        everything = model.parameters()
        assert next(everything) is everything[0] and next(everything) is everything[1]
        assert [p.shape for p in model[0].parameters(recurse=False)] == [(4, 3), (4,)]
        assert model.parameters(recurse=False) == []
        assert dict(model.named_parameters(prefix="net"))["net.1.1.bias"] is model[1][1].bias

    def test_a_shared_layer_is_there_once_unless_all_uses_are_asked_for(self):
        layer = nn.Linear(2, 2)
        model = nn.Sequential(layer, layer)
        assert len(model.modules()) == 2 and len(model.children()) == 1
        assert len(list(model.named_modules(remove_duplicate=False))) == 3
        assert len(list(model.named_parameters(remove_duplicate=False))) == 4

    def test_parts_by_their_names(self):
        model = net()
        assert model.get_submodule("1.1") is model[1][1] and model.get_submodule("") is model
        assert model.get_parameter("1.1.weight") is model[1][1].weight
        with pytest.raises(AttributeError, match="(?s)no layer `1.7`.*the names there are: 0, 1"):
            model.get_submodule("1.7")
        norm = nn.BatchNorm1d(2)
        assert norm.get_buffer("running_mean") is norm.running_mean

    def test_types_and_registered_parts(self):
        model = net().double()
        assert next(model.parameters()).dtype == fl.float64 and model.half()[0].bias.dtype == fl.float16
        layer = nn.Layer()
        layer.register_parameter("w", nn.Parameter(fl.ones(2)))
        layer.register_parameter("none", None)
        layer.add_module("inner", nn.Linear(1, 1))
        layer.register_buffer("kept", fl.ones(1))
        layer.register_buffer("scratch", fl.ones(1), persistent=False)
        assert layer.none is None
        assert sorted(layer.state_dict()) == ["inner.bias", "inner.weight", "kept", "w"]
        assert [name for name, _ in layer.named_buffers()] == ["kept", "scratch"]
        layer.requires_grad_(False)
        assert not any(p.requires_grad for p in layer.parameters())
        seen = []
        layer.apply(lambda part: seen.append(type(part).__name__))
        assert seen == ["Linear", "Layer"]


class TestContainers:
    def test_lists(self):
        layers = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 2)])
        layers.insert(1, nn.Tanh())
        layers += [nn.ReLU()]
        del layers[0]
        assert [type(layer).__name__ for layer in layers] == ["Tanh", "Linear", "ReLU"]
        assert [name for name, _ in layers.named_children()] == ["0", "1", "2"]
        assert type(layers.pop()).__name__ == "ReLU" and len(layers) == 2
        assert type(nn.Sequential(*layers)[:1]).__name__ == "Sequential"
        assert len(nn.Sequential(nn.Tanh()) + [nn.ReLU()]) == 2

    def test_dicts(self):
        layers = nn.ModuleDict({"a": nn.Linear(1, 1)})
        layers.update({"b": nn.Tanh()})
        assert layers.keys() == ["a", "b"] and "b" in layers
        layers.pop("a")
        assert [name for name, _ in layers.items()] == ["b"] and layers.parameters() == []

    @pytest.mark.parametrize("compiled", [False, True])
    def test_parameters_in_lists_and_dicts_are_trained(self, compiled):
        class Net(nn.Layer):
            def __init__(self):
                super().__init__()
                self.list = nn.ParameterList([fl.ones(2), nn.Parameter(fl.ones(1))])
                self.dict = nn.ParameterDict({"a": fl.zeros(2)})

            def forward(self, x):
                return fl.sum((x * self.list[0] + self.dict["a"]) * self.list[1])

        model = Net()
        assert sorted(model.state_dict()) == ["dict.a", "list.0", "list.1"]
        optimizer = fl.optimizer.SGD(model.parameters(), 0.5)

        def step(x):
            optimizer.minimize(model(x))

        (fl.function(step) if compiled else step)(fl.tensor([1.0, 2.0]))
        assert model.list[0].tolist() == [0.5, 0.0] and model.dict["a"].tolist() == [-0.5, -0.5]
        copied = copy.deepcopy(model)
        assert copied.list[0] is not model.list[0] and copied.list[0].tolist() == [0.5, 0.0]


class TestBackwardHooks:
    def gradients(self, run):
        layer = nn.Linear(2, 2, bias=False)
        layer.weight = fl.tensor([[1.0, 2.0], [3.0, 4.0]])
        seen = []

        def hook(layer, of_inputs, of_outputs):
            seen.append((of_inputs[0], of_outputs[0]))
            return (of_inputs[0] * 10.0,)

        layer.register_full_backward_hook(hook)
        return layer, seen, run

    def test_line_by_line(self):
        layer, seen, _ = self.gradients(None)
        x = fl.tensor([[1.0, 1.0]]).track()
        fl.sum(layer(x) * 2.0).backward()
        assert seen[0][0].tolist() == [[8.0, 12.0]] and seen[0][1].tolist() == [[2.0, 2.0]]
        assert x.grad.tolist() == [[80.0, 120.0]]

    def test_inside_of_a_function(self):
        layer, _, _ = self.gradients(None)

        @fl.function
        def slope(x):
            x = x.track()
            return fl.grad(fl.sum(layer(x) * 2.0), x)

        assert slope(fl.tensor([[1.0, 1.0]])).tolist() == [[80.0, 120.0]]

    def test_before_and_without_inputs_that_are_tracked(self):
        layer = nn.Linear(2, 1)
        seen = []
        layer.register_full_backward_pre_hook(lambda layer, grads: (grads[0] * 3.0,))
        handle = layer.register_full_backward_hook(lambda layer, a, b: seen.append((a, b[0].tolist())))
        fl.sum(layer(fl.ones((1, 2)))).backward()
        assert layer.bias.grad.tolist() == [3.0] and seen == [((None,), [[3.0]])]
        handle.remove()
        fl.sum(layer(fl.ones((1, 2)))).backward()
        assert len(seen) == 1

    def test_a_hook_that_is_added_or_taken_away_builds_a_function_anew(self):
        layer = nn.Identity()
        predict = fl.function(lambda x: layer(x))
        x = fl.ones(2)
        assert predict(x).tolist() == [1.0, 1.0]
        with layer.register_forward_hook(lambda layer, inputs, y: y * 2.0):
            assert predict(x).tolist() == [2.0, 2.0]
        assert predict(x).tolist() == [1.0, 1.0]


class Skew(nn.Layer):
    def forward(self, x):
        upper = fl.triu(x, 1)
        return upper - fl.transpose(upper, 0, 1)

    def right_inverse(self, x):
        return fl.triu(x, 1)


class TestComputedWeights:
    def test_parametrizations(self):
        parametrize = nn.utils.parametrize
        layer = nn.Linear(3, 3)
        parametrize.register_parametrization(layer, "weight", Skew())
        assert parametrize.is_parametrized(layer) and parametrize.is_parametrized(layer, "weight")
        assert not parametrize.is_parametrized(layer, "bias")
        weight = layer.weight.numpy()
        assert np.array_equal(weight, -weight.T)
        x = fl.ones((2, 3))
        assert np.array_equal(fl.function(lambda x: layer(x))(x).numpy(), layer(x).numpy())
        layer.weight = fl.tensor(np.triu(np.ones((3, 3)), 1).astype("float32"))
        assert layer.weight.tolist()[0] == [0.0, 1.0, 1.0]
        optimizer = fl.optimizer.SGD(layer.parameters(), 0.1)
        optimizer.minimize(fl.sum(layer(x) * fl.tensor([1.0, 2.0, 4.0])))
        weight = layer.weight.numpy()
        assert np.array_equal(weight, -weight.T) and weight[0, 1] != 1.0
        copied = copy.deepcopy(layer)
        assert np.array_equal(copied.weight.numpy(), weight)
        parametrize.remove_parametrizations(layer, "weight")
        assert sorted(layer.state_dict()) == ["bias", "weight"]
        assert np.array_equal(layer.weight.numpy(), weight)

    def test_what_does_not_fit_is_told(self):
        parametrize = nn.utils.parametrize
        layer = nn.Linear(3, 2)
        with pytest.raises(AttributeError, match="has no parameter `wight`"):
            parametrize.register_parametrization(layer, "wight", Skew())
        with pytest.raises(ValueError, match="keep sizes"):
            parametrize.register_parametrization(layer, "weight", nn.Flatten(0))
        assert sorted(layer.state_dict()) == ["bias", "weight"]
        nn.utils.weight_norm(layer)
        with pytest.raises(AttributeError, match="computed of other parameters"):
            layer.weight = fl.ones((2, 3))

    def test_norms_are_put_on_and_taken_off(self):
        layer = nn.Linear(3, 2)
        before, x = layer.weight.numpy(), fl.ones((1, 3))
        nn.utils.weight_norm(layer)
        np.testing.assert_allclose(layer.weight.numpy(), before, 1e-6)
        optimizer = fl.optimizer.SGD(layer.parameters(), 0.1)
        optimizer.minimize(fl.sum(layer(x)))
        after = layer.weight.numpy()
        nn.utils.remove_weight_norm(layer)
        assert np.array_equal(layer.weight.numpy(), after) and not np.allclose(after, before)
        nn.utils.spectral_norm(layer)
        for _ in range(30):
            layer(x)
        assert np.linalg.svd(layer.weight.numpy(), compute_uv=False)[0] == pytest.approx(1.0, rel=1e-4)
        layer.eval()
        u = layer.weight_u.tolist()
        layer(x)
        assert layer.weight_u.tolist() == u
        nn.utils.remove_spectral_norm(layer)
        assert sorted(layer.state_dict()) == ["bias", "weight"]

    def test_norms_survive_pickling(self):
        unused = nn.Parameter(fl.tensor([1.0, 2.0]))
        assert pickle.loads(pickle.dumps(unused)).tolist() == [1.0, 2.0]
        assert copy.deepcopy(nn.Parameter(fl.tensor([1.0, 2.0]))).tolist() == [1.0, 2.0]
        layer = nn.utils.weight_norm(nn.Linear(3, 2))
        again = pickle.loads(pickle.dumps(layer))
        assert np.array_equal(again.weight.numpy(), layer.weight.numpy())

    def test_vectors_of_parameters(self):
        layer = nn.Linear(2, 2)
        vector = nn.utils.parameters_to_vector(layer.parameters())
        nn.utils.vector_to_parameters(vector * 2.0, layer.parameters())
        again = nn.utils.parameters_to_vector(layer.parameters())
        assert np.array_equal(again.numpy(), 2.0 * vector.numpy())
        for kind, wanted in ((1.0, 7.0), (float("inf"), 4.0), (2.0, 5.0)):
            w = nn.Parameter(fl.zeros(2))
            w.grad = fl.tensor([3.0, -4.0])
            assert nn.utils.clip_grad_norm_([w], 1.0, kind).item() == pytest.approx(wanted)
            assert nn.utils.get_total_norm([w.grad], kind).item() == pytest.approx(1.0, rel=1e-4)

    def test_sequences_of_several_lengths(self):
        rnn = nn.utils.rnn
        padded = rnn.pad_sequence([fl.ones((2, 3)), fl.ones((1, 3))])
        assert padded.shape == (2, 2, 3)
        assert [part.shape for part in rnn.unpad_sequence(padded, [2, 1])] == [(2, 3), (1, 3)]


class TestConvolutions:
    def test_padding_by_name_is_read_and_changed(self):
        conv = nn.Conv2d(1, 1, 3, padding="same")
        assert conv.same and conv(fl.ones((1, 1, 5, 5))).shape == (1, 1, 5, 5)
        conv.padding = "valid"
        assert conv(fl.ones((1, 1, 5, 5))).shape == (1, 1, 3, 3)
        conv.padding = 1
        assert not conv.same and conv(fl.ones((1, 1, 5, 5))).shape == (1, 1, 5, 5)
        with pytest.raises(ValueError, match="`padding`"):
            nn.Conv2d(1, 1, 3, padding="some")
        with pytest.raises(ValueError, match="stride"):
            nn.Conv2d(1, 1, 3, 2, padding="same")(fl.ones((1, 1, 5, 5)))
        with pytest.raises(ValueError, match="zeros"):
            nn.Conv2d(1, 1, 3, padding_mode="mirror")

    def test_a_pad_of_the_wrong_count_is_told(self):
        with pytest.raises(ValueError, match="not a padding of 2 axes"):
            nn.ZeroPad2d((1, 2, 3))(fl.ones((1, 1, 2, 2)))
