"""Objects own their state: what a name is not for."""

import copy
import gc
import pickle
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import fluvial as fl
from fluvial import nn

X = fl.tensor(np.linspace(-1.0, 1.0, 12, dtype=np.float32).reshape(4, 3))
Y = fl.tensor(np.linspace(0.0, 1.0, 8, dtype=np.float32).reshape(4, 2))


class Net(nn.Layer):
    """A class that names itself, as many do."""

    def __init__(self):
        super().__init__("net")
        self.fc = nn.Linear(3, 2)

    def forward(self, x):
        return self.fc(x)


def loss_of(net):
    return fl.mean(fl.square(net(X) - Y))


def stepper(mode, function):
    """The function line by line, or compiled."""
    return function if mode == "lines" else fl.function(function)


@pytest.fixture(autouse=True)
def own_state():
    """Each test has a state scope of its own."""
    with fl.State() as state:
        yield state


both_modes = pytest.mark.parametrize("mode", ["lines", "compiled"])


class TestOwners:
    @both_modes
    def test_a_model_made_in_a_scope_is_the_same_outside_of_it(self, mode):
        with fl.State():
            net = Net()
            inside = stepper(mode, lambda x: net(x))(X).numpy()
        assert np.array_equal(stepper(mode, lambda x: net(x))(X).numpy(), inside)

    def test_a_model_loaded_in_a_scope_is_the_same_outside_of_it(self, tmp_path):
        net = Net()
        expected = net(X).numpy()
        fl.save_model(tmp_path / "m", fl.build(net, {"x": "f32[n, 3]"}))
        with fl.State():
            program = fl.load_model(tmp_path / "m")
        del net
        gc.collect()
        assert np.array_equal(program(X).numpy(), expected)
        with fl.State():
            assert np.array_equal(program(X).numpy(), expected)

    @both_modes
    def test_threads_see_what_their_objects_hold(self, mode):
        with fl.State():
            net = Net()
            predict = stepper(mode, lambda x: net(x))
            expected = predict(X).numpy()
            found = []

            def serve():
                for _ in range(20):
                    found.append(np.array_equal(predict(X).numpy(), expected))

            threads = [threading.Thread(target=serve) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)
        assert found == [True] * 160

    def test_a_loaded_model_without_one_of_its_states_is_an_error(self, tmp_path):
        from fluvial import _core

        net = Net()
        net(X)
        program = fl.build(net, {"x": "f32[n, 3]"})
        fl.save_model(tmp_path / "m", program)
        tensors = _core.read_safetensors(tmp_path / "m" / "model.safetensors")
        del tensors["net.fc.bias"]
        _core.write_safetensors(tmp_path / "m" / "model.safetensors", tensors)
        with pytest.raises(Exception, match="`net.fc.bias` is not in the file"):
            fl.load_model(tmp_path / "m")

    @both_modes
    def test_two_models_that_name_themselves_are_two(self, mode):
        a, b = Net(), Net()
        before = b.fc.weight.numpy().copy()
        assert not np.array_equal(a.fc.weight.numpy(), before)
        optimizer = fl.optimizer.SGD(a.parameters(), 0.5)

        def step(x):
            loss = fl.mean(fl.square(a(x) + b(x)))
            optimizer.minimize(loss)
            return loss

        step = stepper(mode, step)
        first = step(X).item()
        assert step(X).item() < first
        assert np.array_equal(b.fc.weight.numpy(), before)

    def test_the_seed_gives_the_same_numbers_again(self):
        fl.seed(7)
        a = Net().initialise()
        fl.seed(7)
        b = Net().initialise()
        assert np.array_equal(a.fc.weight.numpy(), b.fc.weight.numpy())
        assert not a.fc.weight.same(b.fc.weight)

    def test_dropped_models_are_gone(self):
        script = """
import fluvial as fl
def used():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
x = fl.full((1, 1000), 1.0)
for _ in range(3):
    fl.nn.Linear(1000, 1000)(x)
before = used()
for _ in range(40):
    fl.nn.Linear(1000, 1000)(x)
assert used() - before < 40_000_000, used() - before
assert [name for name in fl.State.current().names() if "linear" in name] == []
"""
        subprocess.run([sys.executable, "-c", script], check=True, timeout=60)

    def test_a_function_does_not_keep_the_models_it_was_called_with(self):
        predict = fl.function(lambda net, x: net(x))
        nets = [Net() for _ in range(3)]
        expected = [predict(net, X).numpy() for net in nets]
        assert len(predict.programs) == 3
        cells = [weakref.ref(net.fc.weight) for net in nets]
        del nets[1:]
        gc.collect()
        assert len(predict.programs) == 1 and [cell() is None for cell in cells] == [False, True, True]
        assert np.array_equal(predict(nets[0], X).numpy(), expected[0])
        for _ in range(5):
            net = Net()
            assert np.array_equal(predict(net, X).numpy(), net(X).numpy())

    def test_a_program_keeps_its_parameters(self):
        program = fl.build(Net(), {"x": "f32[n, 3]"})
        gc.collect()
        first = program(X).numpy()
        gc.collect()
        assert np.array_equal(program(X).numpy(), first)


class TestSharing:
    @both_modes
    def test_assigning_a_parameter_ties(self, mode):
        class Tied(nn.Layer):
            def __init__(self):
                super().__init__()
                self.embedding = nn.Embedding(5, 3)
                self.head = nn.Linear(3, 5, bias=False)
                self.head.weight = self.embedding.weight

            def forward(self, ids):
                return self.head(self.embedding(ids))

        net = Tied()
        assert len(net.parameters()) == 1 and net.head.weight is net.embedding.weight
        optimizer = fl.optimizer.SGD(net.parameters(), 0.1)
        ids = fl.tensor([0, 3])

        def step(ids):
            loss = fl.mean(fl.square(net(ids)))
            optimizer.minimize(loss)
            return loss

        before = net.embedding.weight.numpy().copy()
        stepper(mode, step)(ids)
        assert np.array_equal(net.head.weight.numpy(), net.embedding.weight.numpy())
        # The rows that were not looked up change by the head alone.
        assert not np.array_equal(net.embedding.weight.numpy()[1], before[1])

    def test_ties_survive_copies_and_pickles(self):
        layer = nn.Linear(3, 3)
        other = nn.Linear(3, 3)
        other.weight = layer.weight
        net = nn.Sequential(layer, other)
        for again in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
            assert again[0].weight is again[1].weight and again[0].weight is not layer.weight
            assert np.array_equal(again(X).numpy(), net(X).numpy())

    def test_a_copy_of_an_unused_layer_has_its_values(self):
        net = Net()
        target = copy.deepcopy(net)
        assert np.array_equal(target(X).numpy(), net(X).numpy())

    @both_modes
    def test_a_new_head_is_used(self, mode):
        net = Net()
        predict = stepper(mode, lambda x: net(x))
        assert predict(X).shape == (4, 2)
        net.fc = nn.Linear(3, 7)
        assert predict(X).shape == (4, 7)
        assert np.array_equal(predict(X).numpy(), net.fc(X).numpy())
        net.fc = nn.Linear(3, 7)
        assert np.array_equal(predict(X).numpy(), net.fc(X).numpy())
        assert [p.shape for p in net.parameters()] == [(7, 3), (7,)]

    @both_modes
    def test_a_new_parameter_is_used(self, mode):
        net = Net()
        predict = stepper(mode, lambda x: net(x))
        predict(X)
        net.fc.bias = nn.Parameter(fl.full((2,), 100.0))
        assert (predict(X).numpy() > 50).all()


class TestParameters:
    def test_a_parameter_is_a_tensor(self):
        p = nn.Parameter(fl.tensor([3.0, 4.0]))
        assert isinstance(p, fl.Tensor) and p.tolist() == [3.0, 4.0]
        assert p.norm().item() == 5.0 and (p * 2).tolist() == [6.0, 8.0]
        assert (2 - p).tolist() == [-1.0, -2.0] and p[0].item() == 3.0 and len(p) == 2
        assert np.asarray(p).tolist() == [3.0, 4.0] and fl.sum(p).item() == 7.0
        net = Net()
        penalty = sum((p**2).sum() for p in net.parameters())
        expected = sum((p.numpy() ** 2).sum() for p in net.parameters())
        assert np.isclose(penalty.item(), expected)
        penalty.backward()
        assert np.allclose(net.fc.weight.grad.numpy(), 2 * net.fc.weight.numpy())

    def test_what_it_is_made_of(self):
        assert nn.Parameter(np.ones((2, 3), np.float32)).shape == (2, 3)
        assert nn.Parameter((2, 3)).tolist() == [[0.0] * 3] * 2
        assert nn.Parameter(fl.tensor([1.0]), False).requires_grad is False
        assert nn.Parameter(fl.tensor([1.0]), requires_grad=False).requires_grad is False
        with pytest.raises(RuntimeError, match="no gradient"):
            nn.Parameter(fl.tensor([1, 2]))
        with pytest.raises(TypeError, match="sizes"):
            nn.Parameter(object())

    @both_modes
    def test_a_frozen_parameter_is_not_trained(self, mode):
        net = Net()
        net.fc.weight.requires_grad = False
        before, bias = net.fc.weight.numpy().copy(), net.fc.bias.numpy().copy()
        optimizer = fl.optimizer.SGD(net.parameters(), 0.5)

        def step(x):
            loss = fl.mean(fl.square(net(x) - 1.0))
            optimizer.minimize(loss)
            return loss

        step = stepper(mode, step)
        step(X)
        assert np.array_equal(net.fc.weight.numpy(), before)
        assert not np.array_equal(net.fc.bias.numpy(), bias)
        net.fc.weight.requires_grad_()
        step(X)
        assert not np.array_equal(net.fc.weight.numpy(), before)

    @both_modes
    def test_a_free_parameter_is_frozen_too(self, mode):
        w = nn.Parameter(fl.tensor([1.0, 2.0, 3.0]))
        f = stepper(mode, lambda x: fl.sum(x * w))
        f(X).backward()
        assert w.grad is not None
        w.zero_grad()
        w.requires_grad = False
        assert not f(X).is_tracked and w.grad is None

    @both_modes
    def test_data_is_written(self, mode):
        net = Net()
        predict = stepper(mode, lambda x: net(x))
        predict(X)
        net.fc.weight.data = fl.full((2, 3), 0.0)
        net.fc.bias.data[0] = 5.0
        net.fc.bias.data[1] = 6.0
        assert predict(X).tolist() == [[5.0, 6.0]] * 4
        net.fc.bias.data *= 2.0
        assert predict(X).tolist() == [[10.0, 12.0]] * 4

    @both_modes
    def test_updates_in_place_as_pytorch_writes_them(self, mode):
        net = Net()

        def step(x):
            loss = fl.mean(fl.square(net(x) - 1.0))
            loss.backward()
            with fl.no_grad():
                for p in net.parameters():
                    p -= 0.1 * p.grad
            net.zero_grad()
            return loss

        reference = copy.deepcopy(net)
        optimizer = fl.optimizer.SGD(reference.parameters(), 0.1)
        step = stepper(mode, step)
        for _ in range(3):
            optimizer.minimize(fl.mean(fl.square(reference(X) - 1.0)))
            step(X)
        assert np.array_equal(net.fc.weight.numpy(), reference.fc.weight.numpy())

    def test_a_change_in_place_that_is_recorded_is_refused(self):
        p = nn.Parameter(fl.tensor([1.0]))
        with pytest.raises(RuntimeError, match="no_grad"):
            p += 1.0
        assert p.tolist() == [1.0]

    def test_what_was_said_of_it_does_not_change_silently(self):
        layer = nn.Linear(2, 2)
        with pytest.raises(AttributeError, match="requires_grad"):
            layer.weight.attr.trainable = False
        with pytest.raises(AttributeError):
            layer.weight.require_grad = False


class TestFiles:
    def test_values_wait_for_their_layer(self, tmp_path):
        with fl.State():
            net = Net()
            expected = net(X).numpy()
            fl.save_states(tmp_path / "s.safetensors", ["parameter"])
        with fl.State():
            fl.load_states(tmp_path / "s.safetensors")
            assert np.array_equal(Net()(X).numpy(), expected)
        with fl.State():
            made = Net()
            fl.load_states(tmp_path / "s.safetensors")
            assert np.array_equal(made(X).numpy(), expected)
        with fl.State():
            fl.load_states(tmp_path / "s.safetensors")
            program = fl.build(Net(), {"x": "f32[n, 3]"})
            assert np.array_equal(program(X).numpy(), expected)

    def test_a_saved_program_goes_on_with_its_layers(self):
        net = Net()
        program = fl.build(net, {"x": "f32[n, 3]"})
        program(X)
        again = fl.Program.parse(program.text())
        net.fc.bias = fl.full((2,), 7.0)
        assert np.array_equal(again(X).numpy(), net(X).numpy())
        other = Net().initialise()
        with pytest.raises(fl.StateError, match="more than one object"):
            fl.Program.parse(program.text())
        with fl.State():
            assert np.array_equal(fl.Program.parse(program.text()).unbound()(X).shape, (4, 2))
        del other


class MakesAtFirstCall(nn.Layer):
    def forward(self, x):
        if not hasattr(self, "inner"):
            self.inner = nn.Linear(3, 1)
        return self.inner(x)


class MakesWhereNoneWas(nn.Layer):
    inner = None

    def forward(self, x):
        if self.inner is None:
            self.inner = nn.Linear(3, 1)
        return self.inner(x)


class TestLayersMadeInAStep:
    """A layer that a function makes is another one in each call, in both modes."""

    @staticmethod
    def losses(is_function, n):
        fl.seed(3)
        optimizer = fl.optimizer.SGD(learning_rate=0.1)

        def step(x):
            net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
            loss = fl.mean((net(x) - 1.0) ** 2)
            optimizer.minimize(loss)
            return loss

        made = fl.function(step) if is_function else step
        found = []
        for _ in range(n):
            try:
                found.append(made(fl.ones((2, 3))).item())
            except fl.StateError as error:
                assert "made anew in each step" in str(error)
                found.append("refused")
        return found, made

    def test_both_modes_have_the_same_losses_and_refuse_it(self):
        by_line, _ = self.losses(False, 5)
        assert by_line[2:] == ["refused"] * 3
        with pytest.warns(RuntimeWarning, match="makes a layer.*\n.*outside of the function"):
            built, function = self.losses(True, 5)
        assert built == by_line
        assert len(function.programs) <= 1

    @pytest.mark.parametrize("is_function", [False, True])
    def test_moments_go_with_the_values_of_a_scope(self, is_function):
        optimizer = fl.optimizer.SGD(learning_rate=0.1, momentum=0.9)

        def step(x):
            loss = fl.mean(fl.layers.fc(x, 2, name="fc") ** 2)
            optimizer.minimize(loss)
            return loss

        run = fl.function(step) if is_function else step

        def losses(scope, n):
            with scope:
                return [run(fl.ones((2, 3))).item() for _ in range(n)]

        first, second, alone = fl.State(), fl.State(), fl.State()
        for scope in (first, second, alone):
            with scope:
                fl.seed(5)
        found = [losses(first, 2), losses(second, 2), losses(first, 2), losses(second, 2)]
        assert found[0] == found[1] and found[2] == found[3]
        optimizer = fl.optimizer.SGD(learning_rate=0.1, momentum=0.9)
        run = step
        assert losses(alone, 4) == found[0] + found[2]

    def test_a_program_is_refused_where_its_moments_are_not(self):
        optimizer = fl.optimizer.SGD(learning_rate=0.1, momentum=0.9)

        def step(x):
            loss = fl.mean(fl.layers.fc(x, 2, name="fc") ** 2)
            optimizer.minimize(loss)
            return loss

        with fl.State():
            program = fl.build(step, {"x": "f32[2, 3]"})
            program(fl.ones((2, 3)))
        with fl.State(), pytest.raises(fl.StateError, match="remembers for the values of another scope"):
            program(fl.ones((2, 3)))

    @pytest.mark.parametrize("kind", [MakesAtFirstCall, MakesWhereNoneWas])
    def test_layers_that_stay_are_built_once(self, kind):
        net = kind()
        step = fl.function(lambda x: fl.sum(net(x)))
        assert len({step(fl.ones((2, 3))).item() for _ in range(5)}) == 1
        assert len(step.builds) <= 2
        twin = copy.deepcopy(net)
        assert twin.inner is not net.inner and [*dict(twin.named_parameters())] == ["inner.weight", "inner.bias"]
        net.inner = nn.Linear(3, 1)
        assert step(fl.ones((2, 3))).item() == fl.sum(net.inner(fl.ones((2, 3)))).item()
