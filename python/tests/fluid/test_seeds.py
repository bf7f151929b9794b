"""The snippets of the documents that Fluvial grew from, with either import line.

Only import lines are changed. What is pseudo-code there is completed by as little as will run: sizes, data, and the
functions that the texts leave open (`optimize`, `train`, `read_minibatch`).
"""

import importlib
import os
import subprocess
import sys
import textwrap
import types

import numpy as np
import pytest

import fluvial as fl

RNG = np.random.RandomState(0)
IMAGES = RNG.randn(40, 8).astype("float32")
LABELS = (IMAGES[:, :1] * 0.5 - IMAGES[:, 1:2]).astype("float32")

#: For scripts that are run elsewhere.
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(os.path.abspath(fl.__file__)))}

LINES = ("fluvial", "fluvial.fluid")


@pytest.fixture(params=LINES)
def fluid(request):
    """`import fluvial as fluid`, and `import fluvial.fluid as fluid`."""
    module = importlib.import_module(request.param)
    with fl.State():
        fl.seed(1)
        if module is fl:
            yield module
        else:
            with module.scope_guard(module.Scope()), module.unique_name.guard():
                with module.program_guard(module.Program(), module.Program()):
                    yield module


def guarded(fluid):
    """The programs that `fluvial.program_guard` needs and Fluid has by itself."""
    return fl.program_guard(fl.Program(), fl.Program()) if fluid is fl else fluid.program_guard(
        fluid.default_main_program(), fluid.default_startup_program()
    )


def minibatches():
    while True:
        for i in range(0, 40, 10):
            yield {"image": IMAGES[i : i + 10], "label": LABELS[i : i + 10]}


class TestImperativeProgramming:
    """"What is imperative programming": the same network, compiled and line by line."""

    def test_compiled(self, fluid):
        with guarded(fluid):
            layer = fluid.layers

            def optimize(cost):
                fluid.optimizer.SGD(learning_rate=0.1).minimize(cost)

            def train(cost, reader, batch_num):
                exe = fluid.Executor()
                exe.run(fluid.default_startup_program())
                return [exe.run(fluid.default_main_program(), feed=next(reader), fetch_list=[cost])[0] for _ in range(batch_num)]

            x = layer.data("image", shape=[8])
            l = layer.data("label", shape=[1])  # noqa: E741
            y = layer.fc(x, size=1)
            cost = layer.mse(y, l)
            optimize(cost)
            costs = train(cost, reader=minibatches(), batch_num=100)
        assert costs[-1].item() < 0.01 * costs[0].item()

    def test_line_by_line(self, fluid):
        guard = fluid.imperative.guard()
        costs = []
        with guard:
            to_variable = fluid.imperative.base.to_variable
            source = minibatches()
            net = fluid.imperative.FC("fc", 1) if fluid is not fl else fluid.imperative.FC(1)
            sgd = fluid.optimizer.SGD(learning_rate=0.1)
            now = {}

            class data:
                def __init__(self, name):
                    self.name = name

                def next(self):
                    if self.name == "image":
                        now.update(next(source))
                    return to_variable(now[self.name])

            def optimize(cost):
                cost._backward()

            def train(cost):
                sgd.minimize(cost)
                for parameter in net.parameters():
                    parameter._clear_gradient()
                costs.append(cost._numpy().item())

            layer = types.SimpleNamespace(data=data, fc=net, mse=fluid.layers.mse)
            for i in range(100):
                x = layer.data("image").next()
                l = layer.data("label").next()  # noqa: E741
                y = layer.fc(x)
                cost = layer.mse(y, l)
                optimize(cost)
                train(cost)
        assert costs[-1] < 0.01 * costs[0]

    def test_if_else(self, fluid):
        with guarded(fluid):
            pd = types.SimpleNamespace(layer=fluid.layers, ifelse=fluid.layers.IfElse)
            x, y, z = (fluid.layers.data(name, shape=[2]) for name in "xyz")
            zero = fluid.layers.fill_constant([1], "float32", 0.0)
            cond = fluid.layers.less_than(zero, fluid.layers.reduce_sum(x, dim=1, keep_dim=True))
            pd.layer.add_scalar = fluid.layers.elementwise_add
            try:
                ie = pd.ifelse()
                with ie.true_block():
                    d = pd.layer.add_scalar(x, y)
                    ie.output(d, pd.layer.softmax(d))
                with ie.false_block():
                    d = pd.layer.fc(z, size=2)
                    ie.output(d, d + 1)
                o1, o2 = ie(cond)
            finally:
                del pd.layer.add_scalar
            exe = fluid.Executor()
            exe.run(fluid.default_startup_program())
            feed = {name: RNG.randn(6, 2).astype("float32") for name in "xyz"}
            first, second = exe.run(fluid.default_main_program(), feed=feed, fetch_list=[o1, o2])
        rows = feed["x"].sum(1) > 0
        np.testing.assert_allclose(first[rows], (feed["x"] + feed["y"])[rows], rtol=1e-6)
        np.testing.assert_allclose(second[~rows], first[~rows] + 1, rtol=1e-6)


TRAIN = """
import {line} as fluid

READER_FILE_PATH =  './data.recordio'
READER_BATCH_SIZE = 128
TRAIN_LOOP_STEPS = 100
MODEL_DIR = './model'

reader = fluid.batch_reader(file=READER_FILE_PATH, 
                            batch_size=READER_BATCH_SIZE,
                            shape=[[13], [1]], 
                            dtype=['float32', 'float32'],
                            format='recordio')

with reader.iterate() as (x, y):
  # Training Loop
  y_predict = fluid.layers.fc(input=x, size=1, act=None)

  cost = fluid.layers.square_error_cost(input=y_predict, label=y)
  avg_cost = fluid.layers.mean(cost)

  sgd_optimizer = fluid.optimizer.SGD(learning_rate=0.001)
  sgd_optimizer.minimize(avg_cost)

fluid.save_model(dir=MODEL_DIR)
"""


@pytest.mark.parametrize("line", LINES)
class TestReaderLoop:
    """"Training loop": the loop over a reader is a part of the program."""

    def script(self, line, tmp_path):
        with fl.RecordWriter(tmp_path / "data.recordio", {"x": "f32[13]", "y": "f32[1]"}) as writer:
            for x in np.random.RandomState(1).randn(300, 13).astype("float32"):
                writer.write(x, x[:1])
        (tmp_path / "train.py").write_text(TRAIN.format(line=line))

    def run(self, tmp_path, **env):
        return subprocess.run(
            [sys.executable, "train.py"], cwd=tmp_path, env={**ENVIRONMENT, **env}, capture_output=True, text=True,
            timeout=60,
        )  # fmt: skip

    def test_plain_python(self, line, tmp_path):
        self.script(line, tmp_path)
        done = self.run(tmp_path)
        assert done.returncode == 0 and "did not run it" in done.stderr and not (tmp_path / "model").exists()
        done = self.run(tmp_path, FLUVIAL_RUN="1")
        assert done.returncode == 0 and done.stderr == ""
        assert fl.load_safetensors(tmp_path / "model" / "model.safetensors")["fc_0.w_0"].shape == (13, 1)

    def test_command_line(self, line, tmp_path):
        self.script(line, tmp_path)
        command = [sys.executable, "-m", "fluvial", "run", "train.py", "-q"]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=60, env=ENVIRONMENT)
        assert (tmp_path / "model" / "model.safetensors").exists()


class TestDesign:
    """"Imperative programming: API": layers, layers in NumPy, a model."""

    def test_layer_with_apply(self, fluid):
        class Layer(fluid.imperative.Layer):
            def __init__(self):
                super().__init__("own") if fluid is not fl else super().__init__()
                self.w = None

            def __call__(self, inputs):
                # build some parameter once.
                if self.w is None:
                    self.w = fluid.layers.create_parameter([8, 1], "float32", name="own")
                return self.apply(inputs)

            def apply(self, inputs):
                # forward logic with paddle operators. backward auto-generated.
                return fluid.layers.reduce_sum(fluid.layers.matmul(inputs, self.w))

        with fluid.imperative.guard():
            x = fluid.imperative.base.to_variable(IMAGES)
            layer = Layer()
            out = layer(x)
            out._backward()
            weights = layer.w.numpy() if fluid is not fl else fl.read_state("own").numpy()
        np.testing.assert_allclose(x._gradient()[3], weights[:, 0], rtol=1e-6)

    def test_py_layer(self, fluid):
        core = types.SimpleNamespace(PyLayer=fluid.imperative.PyLayer) if fluid is fl else fluid.core

        class MyPyLayer(core.PyLayer):
            def __init__(self):
                super(MyPyLayer, self).__init__()

            @staticmethod
            def forward(inputs):
                return np.tanh(inputs[0])

            @staticmethod
            def backward(inputs):
                inp, out, dout = inputs
                return np.array(dout) * (1 - np.square(np.array(out)))

        with fluid.imperative.guard():
            x = fluid.imperative.base.to_variable(np.ones([2, 2], np.float32))
            (out,) = MyPyLayer()(x)
            out._backward()
            np.testing.assert_allclose(out._numpy(), np.tanh(np.ones((2, 2))), rtol=1e-6)
            np.testing.assert_allclose(x._gradient(), 1 - np.tanh(np.ones((2, 2))) ** 2, rtol=1e-5)

    def test_examples(self, fluid):
        FC = fluid.imperative.FC

        class MyLayer(fluid.imperative.Layer):
            def __init__(self):
                super(MyLayer, self).__init__()

            def forward(self, inputs):
                x = fluid.layers.relu(inputs)
                x = fluid.layers.elementwise_mul(x, x)
                x = fluid.layers.reduce_sum(x)
                return [x]

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

        np_inp = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32)
        with fluid.imperative.guard():
            var_inp = fluid.imperative.base.to_variable(np_inp)
            mlp = MLP()
            out = mlp(var_inp)
            dy_out = out._numpy()
            out._backward()
            np.testing.assert_allclose(var_inp._gradient(), np.full((2, 2), 0.12), rtol=1e-5)
            other = fluid.imperative.base.to_variable(np.array([1.0, 2.0, -1.0], np.float32))
            (found,) = MyLayer()(other)
            found._backward()
            assert found._numpy().item() == 5.0 and other._gradient().tolist() == [2.0, 4.0, 0.0]
        np.testing.assert_allclose(dy_out, 1.2, rtol=1e-6)


class TestFlavours:
    """"Programming models for deep learning": expressions, their gradients, their files."""

    def test_expressions(self, tmp_path):
        from fluvial import Constant, Variable, compile, load

        A = Variable('A')
        B = Variable('B')
        C = B * A
        D = C + Constant(1)
        # compiles the function
        f = compile(D)
        d = f(A=np.ones(10), B=np.ones(10)*2)
        assert d.tolist() == [3.0] * 10
        d = d + 1.0
        # get gradient node.
        gA, gB = D.grad(wrt=[A, B])
        # compiles the gradient function.
        f = compile([gA, gB])
        grad_a, grad_b = f(A=np.ones(10), B=np.ones(10)*2)
        assert grad_a.tolist() == [2.0] * 10 and grad_b.tolist() == [1.0] * 10
        D.save(tmp_path / 'mygraph')
        D2 = load(tmp_path / 'mygraph')
        f = compile([D2])
        (again,) = f(A=np.ones(10), B=np.ones(10)*2)
        assert again.tolist() == [3.0] * 10

    def test_no_gradient(self):
        context = fl
        a, b = fl.tensor([1.0]).track(), fl.tensor([2.0]).track()
        with context.NoGradient():
            c = b * a
            d = c + 1
        assert not d.is_tracked

    def test_small_operations(self):
        from fluvial import exp, tensor

        def sigmoid(x):
            return 1.0 / (1.0 + exp(-x))

        np.testing.assert_allclose(sigmoid(tensor([0.0, 2.0])).numpy(), 1 / (1 + np.exp([0.0, -2.0])), rtol=1e-6)


    def test_layers_of_small_operations(self, fluid):
        """`SigmoidLayer(x) = EWiseDivisionLayer(1.0, AddScalarLayer(ExpLayer(-x), 1.0))`, and the layer that is one."""
        with fluid.imperative.guard():
            layers = fluid.layers
            x = fluid.imperative.base.to_variable(np.array([0.0, 2.0, -1.0], np.float32))
            ones = fluid.imperative.base.to_variable(np.ones(3, np.float32))
            small = layers.elementwise_div(ones, layers.scale(layers.exp(-x), bias=1.0))
            np.testing.assert_allclose(small._numpy(), layers.sigmoid(x)._numpy(), rtol=1e-6)


class TestParadigms:
    """"Design doc: Fluid": a model first, no model, loops of the program."""

    def test_model_first(self, fluid):
        with guarded(fluid):
            layer = fluid.layers
            x = layer.data("image", shape=[8])
            l = layer.data("label", shape=[1])  # noqa: E741
            W = layer.create_parameter([8, 1], "float32", name="W")
            f = layer.fc(x, W)
            c = layer.mse(l, f)
            fluid.optimizer.SGD(learning_rate=0.1, **({"parameter_list": ["W"]} if fluid is fl else {})).minimize(c)
            exe = fluid.Executor()
            exe.run(fluid.default_startup_program())
            source = minibatches()
            for i in range(100):  # train for 1000 iterations
                m = next(source)
                (cost,) = exe.run(fluid.default_main_program(), feed=m, fetch_list=[c])
        trained = fl.read_state("W").numpy() if fluid is fl else np.array(fluid.global_scope().find_var("W").get_tensor())
        np.testing.assert_allclose(trained[:2, 0], [0.5, -1.0], atol=0.05)

    def test_no_model(self, fluid):
        with fluid.imperative.guard():
            variable = fluid.imperative.base.to_variable
            W = np.zeros((8, 1), "float32")
            source = minibatches()
            for i in range(100):  # train for 1000 iterations
                m = next(source)
                x = m["image"]
                l = m["label"]  # noqa: E741
                w = variable(W)
                f = fluid.layers.fc(variable(x), w)
                c = fluid.layers.mse(f, variable(l))
                c._backward()
                W = W - 0.1 * w._gradient()
        np.testing.assert_allclose(W[:2, 0], [0.5, -1.0], atol=0.05)

    def test_softmax_of_scores(self, fluid):
        with guarded(fluid):
            layer = fluid.layers
            x = layer.data("image", shape=[8])
            l = layer.data("label", shape=[3])  # noqa: E741
            W = layer.create_parameter([8, 3], "float32", name="W3")
            f = layer.fc(x, W)
            s = layer.softmax(f)
            c = layer.mse(l, s)
            fluid.optimizer.SGD(learning_rate=0.5, **({"parameter_list": ["W3"]} if fluid is fl else {})).minimize(c)
            exe = fluid.Executor()
            exe.run(fluid.default_startup_program())
            feed = {"image": IMAGES, "label": np.eye(3, dtype="float32")[IMAGES[:, :3].argmax(1)]}
            costs = [exe.run(fluid.default_main_program(), feed=feed, fetch_list=[c])[0].item() for _ in range(60)]
        assert costs[-1] < 0.7 * costs[0]

    def test_a_recurrent_network_line_by_line(self, fluid):
        with fluid.imperative.guard():
            variable = fluid.imperative.base.to_variable
            W = variable(np.full((3, 3), 0.1, "float32"))
            read_minibatch = iter([{"sentence": [variable(np.ones((2, 3), "float32") * t) for t in range(n)]} for n in (2, 5)]).__next__
            for i in range(2):
                m = read_minibatch()
                x = m["sentence"]
                h, last = {}, variable(np.zeros((2, 3), "float32"))

                def the_step(word):
                    return fluid.layers.tanh(fluid.layers.fc(last, W) + word)

                for t in range(len(x)):
                    h[t] = last = the_step(x[t])
                assert len(h) == len(x)
            fluid.layers.reduce_sum(h[4])._backward()
            assert abs(W._gradient()).sum() > 0

    def test_loops_of_the_program_with_carried_values(self):
        """The same with `import fluvial as fluid`, whose loops say what they carry."""
        import fluvial as fluid

        layers = fluid.layers
        with fluid.State(), fluid.program_guard(fluid.Program(), fluid.Program()):
            sentences = layers.data("sentences", shape=[4, 5, 3], append_batch_size=False)
            i = layers.fill_constant([1], "int64", 0)
            total = layers.fill_constant([4, 3], "float32", 0.0)
            train_loop = layers.While(i < 3, carried=[i, total])
            with train_loop.block() as (i, total):
                t = layers.fill_constant([1], "int64", 0)
                rnn = layers.While(t < 5, carried=[t, layers.fill_constant([4, 3], "float32", 0.0)])
                with rnn.block() as (t, h):
                    word = layers.reshape(layers.gather(layers.transpose(sentences, [1, 0, 2]), t), [4, 3])
                    rnn.update(t + 1 < 5, t + 1, layers.tanh(h * 0.5 + word))
                train_loop.update(i + 1 < 3, i + 1, total + rnn.output()[1])
            found = train_loop.output()[1]
            feed = {"sentences": RNG.randn(4, 5, 3).astype("float32")}
            (value,) = fluid.Executor().run(fluid.default_main_program(), feed=feed, fetch_list=[found])
        h = np.zeros((4, 3))
        for t in range(5):
            h = np.tanh(h * 0.5 + feed["sentences"][:, t])
        np.testing.assert_allclose(value, 3 * h, rtol=1e-5)

    def test_loops_of_the_program(self):
        """The training loop and the recurrent network in it are loops of the program."""
        import fluvial.fluid as fluid
        from fluvial.fluid import layers

        with fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
            with fluid.program_guard(fluid.Program(), fluid.Program()):
                sentences = layers.data("sentences", shape=[4, 5, 3], append_batch_size=False)
                targets = layers.data("targets", shape=[4, 1], append_batch_size=False)
                w = layers.create_parameter([3, 3], "float32", name="w")
                v = layers.create_parameter([3, 1], "float32", name="v")
                i = layers.fill_constant([1], "int64", 0)
                steps = layers.fill_constant([1], "int64", 60)
                losses = layers.create_array("float32")
                cond = layers.less_than(i, steps)
                train_loop = layers.While(cond)
                with train_loop.block():
                    h = layers.fill_constant([4, 3], "float32", 0.0)
                    t = layers.fill_constant([1], "int64", 0)
                    length = layers.fill_constant([1], "int64", 5)
                    inner = layers.less_than(t, length)
                    rnn = layers.While(inner)
                    with rnn.block():
                        word = layers.reshape(layers.gather(layers.transpose(sentences, [1, 0, 2]), t), [4, 3])
                        layers.assign(layers.tanh(layers.matmul(h, w) + word), h)
                        layers.increment(t)
                        layers.less_than(t, length, cond=inner)
                    loss = layers.mean(layers.square_error_cost(layers.matmul(h, v), targets))
                    fluid.optimizer.SGD(learning_rate=0.2).minimize(loss)
                    layers.array_write(loss, i, losses)
                    layers.increment(i)
                    layers.less_than(i, steps, cond=cond)
                exe = fluid.Executor()
                exe.run(fluid.default_startup_program())
                rng = np.random.RandomState(0)
                feed = {"sentences": rng.randn(4, 5, 3).astype("float32"), "targets": rng.randn(4, 1).astype("float32")}
                (found,) = exe.run(feed=feed, fetch_list=[losses])
        assert found.shape[0] == 60 and found[-1] < 0.5 * found[0]


def test_gradients_as_closures():
    """The array with gradients in plain Python says what gradients of expressions say."""

    class array(object):
        """Simple Array object that support autodiff."""
        def __init__(self, value, name=None):
            self.value = value
            if name:
                self.grad = lambda g : {name : g}

        def __add__(self, other):
            assert isinstance(other, int)
            ret = array(self.value + other)
            ret.grad = lambda g : self.grad(g)
            return ret

        def __mul__(self, other):
            assert isinstance(other, array)
            ret = array(self.value * other.value)
            def grad(g):
                x = self.grad(g * other.value)
                x.update(other.grad(g * self.value))
                return x
            ret.grad = grad
            return ret

    # some examples
    a = array(1, 'a')
    b = array(2, 'b')
    c = b * a
    d = c + 1
    A, B = fl.Variable("A"), fl.Variable("B")
    D = B * A + fl.Constant(1)
    assert d.value == fl.compile(D)(A=np.array(1.0), B=np.array(2.0)).item()
    found = fl.compile(D.grad(wrt=[A, B]))(A=np.array(1.0), B=np.array(2.0))
    assert d.grad(1) == {"a": found[0].item(), "b": found[1].item()}


def test_a_loop_of_python():
    """The loop that symbolic programs cannot say, line by line and as a function; the text's `range(d)` is a slip."""

    def lines():
        a = 2
        b = a + 1
        d = fl.zeros((10,))
        for i in range(10):
            d += fl.ones((10,))
        return d * b

    assert lines().tolist() == fl.function(lines)().tolist() == [30.0] * 10


def test_numpy_snippets():
    code = textwrap.dedent(
        """
        import numpy as np
        a = np.ones(10)
        b = np.ones(10) * 2
        c = b * a
        d = c + 1
        """
    )
    found: dict = {}
    exec(code, found)
    A, B = fl.Variable("A"), fl.Variable("B")
    assert fl.compile(B * A + 1)(A=found["a"], B=found["b"]).tolist() == found["d"].tolist()
