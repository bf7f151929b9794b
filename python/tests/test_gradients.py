"""Hooks on tensors, gradients that are not there, and roles of states."""

import weakref

import numpy as np
import pytest

import fluvial as fl


class TestHooks:
    def test_a_hook_sees_and_replaces_the_gradient(self):
        x = fl.tensor([1.0, 2.0]).track()
        seen = []
        x.register_hook(lambda grad: seen.append(grad.tolist()))
        x.register_hook(lambda grad: grad * 10)
        fl.sum(x * x).backward()
        assert seen == [[2.0, 4.0]] and x.grad.tolist() == [20.0, 40.0]

    def test_a_computed_value(self):
        x = fl.tensor(3.0).track()
        y = x * x
        y.register_hook(lambda grad: grad * 2)
        assert fl.grad(y * 5, x).item() == 60.0

    def test_removed(self):
        x = fl.tensor(1.0).track()
        calls = []
        handle = x.register_hook(lambda grad: calls.append(1))
        handle.remove()
        handle.remove()
        with x.register_hook(lambda grad: calls.append(2)):
            (x * 2).backward()
        (x * 2).backward()
        assert calls == [2] and x.grad.item() == 4.0

    def test_a_number_takes_the_element_type(self):
        x = fl.tensor(np.array(2.0)).track()
        x.register_hook(lambda grad: 7)
        (x * x).backward()
        assert x.grad.item() == 7.0 and x.grad.dtype == fl.float64

    def test_what_a_hook_raises_comes_back(self):
        class Odd(Exception):
            pass

        def hook(grad):
            raise Odd("no")

        x = fl.tensor(1.0).track()
        x.register_hook(hook)
        with pytest.raises(Odd, match="no"):
            (x * 2).backward()

    def test_a_replacement_of_another_shape_is_refused(self):
        x = fl.tensor([1.0, 2.0]).track()
        x.register_hook(lambda grad: fl.tensor([1.0]))
        with pytest.raises(RuntimeError, match="hook returned"):
            fl.sum(x).backward()

    def test_a_value_without_gradient_is_refused(self):
        with pytest.raises(RuntimeError, match="track"):
            fl.tensor(1.0).register_hook(print)

    def test_a_parameter_keeps_its_hook(self):
        """It is called with each gradient, whatever value the parameter has, until it is removed."""
        layer = fl.nn.Linear(2, 1)
        seen = []
        handle = layer.weight.register_hook(lambda grad: seen.append(grad.tolist()) or grad * 2)
        opt = fl.optimizer.SGD(layer.parameters(), lr=0.5)
        x = fl.tensor([[1.0, 3.0]])
        for _ in range(2):
            opt.zero_grad()
            fl.sum(layer(x)).backward()
            assert layer.weight.grad.tolist() == [[2.0, 6.0]]
            opt.step()
        handle.remove()
        opt.zero_grad()
        fl.sum(layer(x)).backward()
        assert layer.weight.grad.tolist() == [[1.0, 3.0]]
        assert seen == [[[1.0, 3.0]]] * 2

    def test_hooks_of_a_parameter_leave_nothing_behind(self):
        w = fl.nn.Parameter(fl.tensor([1.0]))
        owned = []
        for _ in range(3):
            marker = type("Marker", (), {"__call__": lambda self, grad: None})()
            owned.append(weakref.ref(marker))
            with w.register_hook(marker):
                fl.sum(w * 2).backward()
            del marker
        assert [ref() for ref in owned] == [None] * 3

    def test_a_leaf_keeps_hook_and_gradient_when_it_is_changed(self):
        w = fl.tensor([1.0, 2.0]).track()
        w.register_hook(lambda grad: grad * 10)
        y = fl.sum(w * 3)
        with fl.no_grad():
            w[0] = 7.0
            w.mul_(2.0)
        y.backward()
        fl.sum(w).backward()
        assert w.tolist() == [14.0, 4.0] and w.is_leaf
        assert w.grad.tolist() == [40.0, 40.0]

    def test_in_a_program(self):
        def slopes(x):
            y = x * x
            y.register_hook(lambda grad: fl.clip(grad, -1.0, 1.0))
            return fl.gradients(y * 5, x)

        x = fl.tensor([1.0, -2.0])
        program = fl.build(slopes, {"x": "f32[n]"})
        expected = slopes(x.track())
        assert program(x).tolist() == expected.tolist() == [2.0, -4.0]
        assert fl.function(slopes)(x.track()).tolist() == expected.tolist()

    def test_in_a_loop_of_a_program(self):
        def looped(x):
            def body(x):
                y = x * 2
                y.register_hook(lambda grad: grad * 3)
                return y

            return fl.gradients(fl.while_loop(lambda x: fl.sum(x) < 10, body, x), x)

        x = fl.tensor([1.0, 2.0])
        expected = looped(x.track())
        assert fl.build(looped, {"x": "f32[n]"})(x).tolist() == expected.tolist() == [36.0, 36.0]

    def test_on_a_value_from_outside_of_a_loop_it_is_refused(self):
        def looped(x):
            y = x * 2

            def body(x):
                y.register_hook(lambda grad: grad)
                return x + y

            return fl.while_loop(lambda x: fl.sum(x) < 10, body, x)

        with pytest.raises(RuntimeError, match="once for each trip"):
            fl.build(looped, {"x": "f32[n]"})


class TestUnused:
    def test_none_where_allowed(self):
        x, y = fl.tensor(2.0).track(), fl.tensor(1.0).track()
        found = fl.grad(x * x, [x, y], allow_unused=True)
        assert found[0].item() == 4.0 and found[1] is None
        assert fl.grad(x * x, y, allow_unused=True) is None
        with pytest.raises(RuntimeError, match="no output depends on value 1"):
            fl.grad(x * x, [x, y])

    def test_in_a_program(self):
        def f(x, y):
            found = fl.grad(fl.sum(x * x), [x, y], allow_unused=True)
            assert found[1] is None
            return found[0]

        assert fl.build(f, {"x": "f32[n]", "y": "f32[n]"})([3.0], [1.0]).tolist() == [6.0]

    def test_why(self):
        with fl.building() as b:
            x, y = b.input("x", "f32[n]"), b.input("y", "f32[n]")
            loss = fl.sum(fl.floor(x) * 2)
            line = fl.why_no_gradient(loss, x)
            assert "floor" in line and "derivative zero" in line and __file__ in line
            assert fl.why_no_gradient(loss, y) == "nothing uses it"
            fl.exp(y)
            assert "without what is made of it" in fl.why_no_gradient(loss, y)
            assert fl.why_no_gradient(fl.sum(x * x), x) is None
            b.output("loss", loss)


class TestConstants:
    @staticmethod
    def of(x, constants):
        a, b = x * 2.0, x * 3.0
        loss = fl.sum(a * b * x)
        chosen = {"a": a, "b": b, "x": x}
        return fl.grad(loss, [x, a], constants=[chosen[name] for name in constants], allow_unused=True)

    @pytest.mark.parametrize("constants, wanted", [("", (18.0, 3.0)), ("a", (12.0, None)), ("ab", (6.0, None)), ("x", (None, 3.0))])
    def test_no_gradient_passes(self, constants, wanted):
        found = self.of(fl.tensor([1.0]).track(), constants)
        assert [None if g is None else g.item() for g in found] == list(wanted)
        kept = []

        def program(x):
            grads = self.of(x, constants)
            kept[:] = [g is not None for g in grads]
            return [g for g in grads if g is not None]

        found = fl.build(program, {"x": "f32[n]"})([1.0])
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        assert kept == [w is not None for w in wanted]
        assert [g.tolist() for g in found] == [[w] for w in wanted if w is not None]

    def test_the_output_itself(self):
        x = fl.tensor([1.0, 2.0]).track()
        loss = fl.sum(x * x)
        assert fl.grad(loss, x, constants=loss, allow_unused=True) is None

    def test_second_order(self):
        x = fl.tensor(3.0).track()
        y = x * x
        (first,) = fl.grad(y * x, [x], create_graph=True, constants=[y])
        assert first.item() == 9.0
        assert fl.grad(first, x).item() == 6.0

    def test_history_behind_what_is_asked_for_stays(self):
        x = fl.tensor(3.0).track()
        y = x * x
        z = y * 2.0
        assert fl.grad(z, y).item() == 2.0
        assert fl.grad(y, x).item() == 6.0


def test_recording():
    assert fl.is_recording()
    with fl.no_grad():
        assert not fl.is_recording()
        with fl.enable_grad():
            assert fl.is_recording()


class TestRoles:
    def test_insert(self):
        state = fl.State()
        state.insert("w", fl.tensor([1.0, 2.0]), "parameter")
        state.insert("mean", np.zeros(2, np.float32))
        state.insert("step", 3, role="counter")
        roles = {name: state.role(name) for name in state.names()}
        assert roles == {"mean": "buffer", "step": "counter", "w": "parameter"}
        assert state["w"].is_leaf and not state["mean"].is_leaf
        state.insert("w", fl.tensor([3.0, 4.0]), "buffer")
        assert state["w"].tolist() == [3.0, 4.0] and not state["w"].is_leaf

    def test_refused(self):
        state = fl.State()
        state.insert("w", fl.tensor([1.0, 2.0]))
        with pytest.raises(ValueError, match="use one of parameter, buffer"):
            state.insert("w", fl.tensor([1.0, 2.0]), "weight")
        with pytest.raises(fl.StateError, match="w"):
            state.insert("w", fl.tensor([1.0]))
        with pytest.raises(KeyError, match="no state is named `v`"):
            state.role("v")

    def test_gradients_reach_what_was_inserted(self):
        with fl.State() as state:
            state.insert("w", fl.tensor([1.0, 2.0]), "parameter")
            fl.sum(fl.read_state("w") * 3).backward()
            assert state["w"].grad.tolist() == [3.0, 3.0]
