"""A program in Fluid's flavour is the program that `fl` builds: call by call, but for names.

Left out of the comparison are four things that Fluid's API itself asks for: axes of size one (numbers have the shape
[1], labels [n, 1]), where a state is read, how the learning rate, a variable of its own in Fluid, is computed, and
`stop_gradient`, which computes nothing: gradients of a program can be differentiated again.
"""

import re

import fluvial as fl
import fluvial.fluid as fluid
import fluvial.fluid.layers as layers

CALL = re.compile(r"^  (?:(?P<outs>%.+) = )?(?P<op>\w+)(?P<attrs>\{.*\})?\((?P<args>.*)\)(?: : (?P<types>.*))?$")


def narrow(text):
    """Types without axes of size one."""
    return re.sub(r"\[([^\]]*)\]", lambda m: "[" + ", ".join(d for d in m[1].split(", ") if d not in ("1", "")) + "]", text)


class Listing:
    """The calls of a program as text, with names by the order of their first use."""

    def __init__(self, program):
        text = str(program)
        self.states = dict(re.findall(r"^state @(\S+) : .* (\w+)$", text, re.M))
        #: By value: what it is called, and its type.
        self.values, self.types = {}, {}
        self.names, self.calls = {}, []
        lines = text.split("main(")[1].splitlines()
        for name, kind in re.findall(r"(%[\w.]+): (\w+\[[^\]]*\])", lines[0]):
            self.values[name], self.types[name] = self.named("input", name), narrow(kind)
        for line in lines[1:]:
            call = CALL.match(line)
            if call is not None:
                self.add(call)

    def named(self, kind, name):
        count = sum(known == kind for known, _ in self.names)
        return self.names.setdefault((kind, name), f"{kind}{count}")

    def of_state(self, name):
        role = self.states[name]
        is_rate = role == "counter" or name.endswith(".lr") or name.startswith("learning_rate")
        return "rate" if is_rate else self.named(role, name)

    def add(self, call):
        op, attrs = call["op"], call["attrs"] or ""
        outs = call["outs"].split(", ") if call["outs"] else []
        args = [self.values[arg] for arg in call["args"].split(", ") if arg]
        state = re.search(r'state="([^"]+)"', attrs)
        is_number = [not re.fullmatch(r"[a-z]+\d+", arg) for arg in args]
        if op == "read":
            self.values[outs[0]] = self.of_state(state[1])
        elif op == "constant":
            self.values[outs[0]] = re.search(r"value=(.*)\}", attrs)[1]
        elif "rate" in args and all(is_number):
            self.values.update(dict.fromkeys(outs, "rate"))
        elif op == "assign":
            self.calls.append(f"assign {self.of_state(state[1])} {args[0]}")
        elif op in ("reshape", "stop_gradient") and self.types.get(call["args"]) == narrow(call["types"]):
            self.values[outs[0]], self.types[outs[0]] = args[0], narrow(call["types"])
        else:
            for out, kind in zip(outs, re.findall(r"\w+\[[^\]]*\]", call["types"])):
                self.values[out], self.types[out] = self.named("value", out), narrow(kind)
            given = ", ".join(args)
            made = ", ".join(self.values[out] for out in outs)
            self.calls.append(f"{made} = {op}{narrow(attrs)}({given}) : {narrow(call['types'] or '')}")


def of_fluid(build):
    main = fluid.Program()
    with fl.State(), fluid.program_guard(main, fluid.Program()), fluid.unique_name.guard():
        loss = build()
    return main._closed([loss.name])


def same(one, other):
    found, wanted = Listing(one).calls, Listing(other).calls
    assert found == wanted
    # The gradients and the updates are among them.
    assert len(found) > 12 and sum(call.startswith("assign parameter") for call in found) >= 2


class Dense(fl.nn.Layer):
    """A layer whose weight is `[in, out]`, as in Fluid."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = fl.nn.Parameter((inputs, outputs))
        self.bias = fl.nn.Parameter((outputs,))

    def forward(self, x):
        return fl.matmul(x, self.weight) + self.bias


def test_mlp_with_sgd():
    def build():
        x, y = layers.data("x", [4]), layers.data("y", [1], dtype="int64")
        scores = layers.fc(layers.fc(x, 8, act="relu"), 3)
        loss = layers.mean(layers.softmax_with_cross_entropy(scores, y))
        fluid.optimizer.SGD(0.1).minimize(loss)
        return loss

    first, second = Dense(4, 8), Dense(8, 3)
    sgd = fl.optimizer.SGD([*first.parameters(), *second.parameters()], 0.1)

    def step(x, y):
        scores = second(fl.relu(first(x)))
        loss = fl.mean(fl.cross_entropy(scores, y, reduction="none"))
        sgd.minimize(loss)
        return loss

    same(of_fluid(build), fl.build(step, {"x": "f32[batch, 4]", "y": "i64[batch]"}))


def test_convolutions_with_momentum():
    def build():
        x, y = layers.data("x", [1, 8, 8]), layers.data("y", [1], dtype="int64")
        image = layers.pool2d(layers.conv2d(x, 4, 3, act="relu"), 2, "max", 2)
        scores = layers.fc(image, 3)
        loss = layers.mean(layers.softmax_with_cross_entropy(scores, y))
        fluid.optimizer.Momentum(0.1, 0.9).minimize(loss)
        return loss

    conv, dense = fl.nn.Conv2D(1, 4, 3), Dense(36, 3)
    momentum = fl.optimizer.Momentum([*conv.parameters(), *dense.parameters()], 0.1, momentum=0.9)

    def step(x, y):
        image = fl.max_pool2d(fl.relu(conv(x)), 2, stride=2)
        scores = dense(fl.flatten(image, 1))
        loss = fl.mean(fl.cross_entropy(scores, y, reduction="none"))
        momentum.minimize(loss)
        return loss

    same(of_fluid(build), fl.build(step, {"x": "f32[batch, 1, 8, 8]", "y": "i64[batch]"}))


def test_embedding_with_adagrad():
    def build():
        x, y = layers.data("x", [5], dtype="int64"), layers.data("y", [1])
        words = layers.reduce_mean(layers.embedding(x, [20, 6]), dim=1)
        gap = layers.fc(layers.tanh(words), 1) - y
        loss = layers.mean(gap * gap)
        fluid.optimizer.Adagrad(0.1).minimize(loss)
        return loss

    table, dense = fl.nn.Embedding(20, 6), Dense(6, 1)
    adagrad = fl.optimizer.Adagrad([*table.parameters(), *dense.parameters()], 0.1, epsilon=1e-6)

    def step(x, y):
        gap = dense(fl.tanh(fl.mean(table(x), axis=1))) - y
        loss = fl.mean(gap * gap)
        adagrad.minimize(loss)
        return loss

    same(of_fluid(build), fl.build(step, {"x": "i64[batch, 5]", "y": "f32[batch, 1]"}))


def test_a_difference_is_told():
    def build(act):
        def net():
            loss = layers.mean(layers.fc(layers.data("x", [4]), 3, act=act))
            fluid.optimizer.SGD(0.1).minimize(loss)
            return loss

        return of_fluid(net)

    assert Listing(build("tanh")).calls == Listing(build("tanh")).calls
    assert Listing(build("tanh")).calls != Listing(build("sigmoid")).calls
