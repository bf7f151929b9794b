"""Programs in Fluid's style run as written, but for the import line."""

import numpy as np
import pytest

import fluvial as fl
import fluvial as fluid
from fluvial.imperative import FC


@pytest.fixture(autouse=True)
def own_state():
    """Each test has a state scope of its own."""
    with fl.State() as state:
        fl.seed(3)
        yield state


class MyLayer(fluid.imperative.Layer):
    def __init__(self):
        super(MyLayer, self).__init__()

    def forward(self, inputs):
        x = fluid.layers.relu(inputs)
        x = fluid.layers.elementwise_mul(x, x)
        x = fluid.layers.reduce_sum(x)
        return [x]


class MyPyLayer(fluid.imperative.PyLayer):
    def __init__(self):
        super(MyPyLayer, self).__init__()

    @staticmethod
    def forward(inputs):
        return np.tanh(inputs[0])

    @staticmethod
    def backward(inputs):
        inp, out, dout = inputs
        return np.array(dout) * (1 - np.square(np.array(out)))


class MLP(fluid.imperative.Layer):
    def __init__(self):
        super(MLP, self).__init__()
        self._fc1 = FC(3,
                       fluid.ParamAttr(
                           initializer=fluid.initializer.Constant(value=0.1)))
        self._fc2 = FC(4,
                       fluid.ParamAttr(
                           initializer=fluid.initializer.Constant(value=0.1)))

    def forward(self, inputs):
        x = self._fc1(inputs)
        x = self._fc2(x)
        x = fluid.layers.reduce_sum(x)
        return x


class TestSeeds:
    def test_layer(self):
        np_inp = np.array([1.0, 2.0, -1.0], dtype=np.float32)
        with fluid.imperative.guard():
            var_inp = fluid.imperative.base.to_variable(np_inp)
            my_layer = MyLayer()
            x = my_layer(var_inp)[0]
            assert x is not None
            dy_out = x._numpy()
            x._backward()
            dy_grad = var_inp._gradient()
        assert dy_out == 5.0 and dy_grad.tolist() == [2.0, 4.0, 0.0]
        program = fl.build(MyLayer(), {"x": "f32[n]"})
        assert program(np_inp).item() == dy_out

    def test_pylayer(self):
        np_inp = np.ones([2, 2], np.float32)
        with fluid.imperative.guard():
            my_py_layer = MyPyLayer()
            var_inp = fluid.imperative.base.to_variable(np_inp)
            outs = my_py_layer(var_inp)
            dy_out = np.sum(outs[0]._numpy())
            outs[0]._backward()
            dy_grad = var_inp._gradient()
        np.testing.assert_allclose(dy_out, np.tanh(np_inp).sum(), rtol=1e-6)
        np.testing.assert_allclose(dy_grad, 1 - np.tanh(np_inp) ** 2, rtol=1e-5)

        def gradient(x):
            return fl.grad(fl.sum(MyPyLayer()(x)[0]), x)

        assert fl.build(gradient, {"x": "f32[n, 2]"})(np_inp).numpy().tobytes() == dy_grad.tobytes()

    def test_mlp(self):
        np_inp = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32)
        with fluid.imperative.guard():
            var_inp = fluid.imperative.base.to_variable(np_inp)
            mlp = MLP()
            out = mlp(var_inp)
            dy_out = out._numpy()
            out._backward()
        np.testing.assert_allclose(dy_out, 1.2, rtol=1e-6)
        np.testing.assert_allclose(var_inp._gradient(), np.full((2, 2), 0.12), rtol=1e-5)
        names = [name for name, _ in mlp.named_parameters()]
        assert names == ["_fc1.weight", "_fc1.bias", "_fc2.weight", "_fc2.bias"]
        assert fl.build(mlp, {"x": "f32[n, 2]"})(np_inp).numpy().tobytes() == dy_out.tobytes()


class TestPyLayers:
    def test_several_inputs_and_outputs_used_twice(self):
        class Pair(fl.PyLayer):
            @staticmethod
            def forward(inputs):
                a, b, n = inputs
                return a * b, (a + b).sum(axis=1) * n

            @staticmethod
            def backward(inputs):
                a, b, n, product, total, d_product, d_total = inputs
                assert np.array_equal(product, a * b) and total.shape == (len(a),)
                return [d_product * b + d_total[:, None] * n, d_product * a + d_total[:, None] * n, None][:2]

        pair = Pair()

        def loss(a, b):
            product, total = pair(a, b, fl.tensor(3))
            product, again = pair([product, b, fl.tensor(1)])
            return fl.sum(product) + fl.sum(total * again)

        def plain(a, b):
            product, total = a * b, fl.sum(a + b, axis=1) * 3.0
            product, again = product * b, fl.sum(product + b, axis=1)
            return fl.sum(product) + fl.sum(total * again)

        values = [fl.tensor(np.arange(6.0).reshape(2, 3) + i) for i in range(2)]

        def gradients(function):
            def run(a, b):
                a, b = a.track(), b.track()
                return [function(a, b), *fl.grad(function(a, b), [a, b])]

            return run

        direct = [y.numpy() for y in gradients(loss)(*values)]
        for y, z in zip(direct, gradients(plain)(*values)):
            np.testing.assert_allclose(y, z.numpy(), rtol=1e-12)
        program = fl.build(gradients(loss), {"a": "f64[n, 3]", "b": "f64[n, 3]"})
        for y, z in zip(direct, program(*values)):
            assert y.tobytes() == z.numpy().tobytes()

    def test_types_that_do_not_follow(self):
        class Half(fl.PyLayer):
            @staticmethod
            def forward(inputs):
                return inputs[0][: len(inputs[0]) // 2]

        x = fl.tensor(np.arange(6.0))
        assert Half()(x)[0].tolist() == [0.0, 1.0, 2.0]
        with pytest.raises(ValueError, match="infer"):
            fl.build(lambda x: Half()(x), {"x": "f64[n]"})

        class Told(Half):
            @staticmethod
            def infer(inputs):
                return ["f64[n//2]"]

        assert fl.build(lambda x: Told()(x), {"x": "f64[n]"})(x).tolist() == [0.0, 1.0, 2.0]
        with pytest.raises(RuntimeError, match="gradient"):
            fl.sum(Half()(x.track())[0]).backward()

    def test_faults_pass_through(self):
        class Wrong(fl.PyLayer):
            @staticmethod
            def forward(inputs):
                return inputs[0] * 2

            @staticmethod
            def backward(inputs):
                return inputs[0][:1]

        class Nothing(fl.PyLayer):
            @staticmethod
            def forward(inputs):
                pass

        x = fl.tensor([1.0, 2.0]).track()
        with pytest.raises(ValueError, match=r"gradient of shape \(1,\) for input 0"):
            fl.sum(Wrong()(x)[0]).backward()
        with pytest.raises(TypeError, match="returned nothing"):
            Nothing()(x)
        with pytest.raises(TypeError, match="derived from it"):
            fl.PyLayer()(x)

    def test_training_through_it(self):
        def train(build):
            with fl.State() as state:
                fl.seed(2)
                net = FC(2, name="fc")
                adam = fl.optimizer.Adam(net, 0.1)

                def step(x):
                    loss = fl.sum(fl.square(MyPyLayer()(net(x))[0] - 0.5))
                    adam.minimize(loss)
                    return loss

                step = fl.build(step, {"x": "f32[n, 3]"}) if build else step
                losses = [step(fl.full((4, 3), 0.5)).item() for _ in range(5)]
                return losses, state["fc.weight"].tolist()

        direct, built = train(False), train(True)
        assert direct == built and direct[0][-1] < direct[0][0]


class TestSymbolic:
    """The symbolic flavour: graphs of variables whose shapes the call gives."""

    def test_graphs(self, tmp_path):
        A = fl.Variable("A")
        B = fl.Variable("B")
        C = B * A
        D = C + fl.Constant(1)
        f = fl.compile(D)
        d = f(A=np.ones(10), B=np.ones(10) * 2)
        assert np.asarray(d).tolist() == [3.0] * 10
        gA, gB = D.grad(wrt=[A, B])
        g = fl.compile([gA, gB])
        found = g(A=np.ones(10), B=np.ones(10) * 2)
        assert [np.asarray(x).tolist() for x in found] == [[2.0] * 10, [1.0] * 10]
        D.save(str(tmp_path / "mygraph"))

    def test_no_gradient(self):
        x = fl.tensor([1.0, 2.0]).track()
        with fl.NoGradient():
            y = x * 2
        assert not y.is_tracked and (x * 2).is_tracked

        @fl.no_grad()
        def double(x):
            return x * 2

        assert not double(x).is_tracked and double.__name__ == "double"


def test_if_else_with_two_blocks():
    def choose(image):
        ie = fluid.layers.IfElse(fluid.layers.less_than(fluid.layers.reduce_sum(image, dim=1), 0.0))
        with ie.true_block():
            d = ie.input(image)
            ie.output(fluid.layers.fc(d, size=2, name="negative"))
        with ie.false_block():
            d = ie.input(image)
            ie.output(fluid.layers.fc(d, size=2, name="positive") * 2.0)
        return ie()[0]

    x = np.array([[1.0, 2.0], [-3.0, 1.0], [2.0, 2.0]], np.float32)
    direct = choose(fl.tensor(x)).numpy()
    assert fl.build(choose, {"image": "f32[n, 2]"})(x).numpy().tobytes() == direct.tobytes()
    weight, bias = (fl.read_state(f"negative.{part}").numpy() for part in ["w_0", "b_0"])
    np.testing.assert_allclose(direct[1], x[1] @ weight + bias, rtol=1e-5)


def test_a_training_loop_with_an_rnn_loop_inside():
    def train(sentences, targets):
        i, loss = fl.tensor(0), fl.tensor(0.0)
        train_loop = fluid.layers.While(i < 4, carried=[i, loss])
        with train_loop.block() as (i, loss):
            t, h = fl.tensor(0), fl.full((2, 3), 0.0)
            rnn = fluid.layers.While(t < 5, carried=[t, h])
            with rnn.block() as (t, h):
                rnn.update(t + 1 < 5, t + 1, cell(sentences[t], h))
            h = rnn.output()[1]
            loss = fl.mean(fl.square(head(h) - targets))
            optimizer.minimize(loss)
            train_loop.update(i + 1 < 4, i + 1, loss.detach())
        return train_loop.output()[1]

    x, y = np.ones((5, 2, 2), np.float32), np.ones((2, 1), np.float32)
    results = []
    for build in [False, True]:
        with fl.State():
            fl.seed(1)
            cell = fl.nn.RNNCell(2, 3, name="cell")
            head = fl.nn.Linear(3, 1, name="head")
            optimizer = fl.optimizer.SGD([cell, head], 0.1)
            run = fl.build(train, {"x": "f32[5, 2, 2]", "y": "f32[2, 1]"}) if build else train
            results.append([run(fl.tensor(x), fl.tensor(y)).item() for _ in range(2)])
    assert results[0] == results[1] and results[0][1] < results[0][0]
