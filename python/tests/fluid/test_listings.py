"""A program in Fluid's flavour is the program that `fl` builds: call by call, but for names.

Left out of the comparison are four things that Fluid's API itself asks for: axes of size one (numbers have the shape
[1], labels [n, 1]), where a state is read, how the learning rate, a variable of its own in Fluid, is computed, and
`stop_gradient`, which computes nothing: gradients of a program can be differentiated again.
"""

import math
import re
from collections import Counter

import fluvial as fl
import fluvial.fluid as fluid
import fluvial.fluid.layers as layers

CALL = re.compile(r"^  (?:(?P<outs>%[\w.]+(?:, %[\w.]+)*) = )?(?P<op>\w+)(?P<attrs>\{.*\})?\((?P<args>[^()]*)\)(?: : (?P<types>[^()]*))?$")


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
        # The blocks of a loop are attributes of it, on lines of their own.
        lines = re.sub(r"\n(?=    |  \}[,)\]])", " ", text.split("main(")[1]).splitlines()
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


def ops_of(program):
    """How often each op is computed in the compiled program, loops and their gradients too."""
    text = program.compile().text().split("main(")[1]
    found = re.findall(r"^\s+(?:%.+? = )?(\w+)[{(]", text, re.M)
    return Counter(op for op in found if op not in ("read", "constant", "reshape", "cast"))


def test_lstm_with_momentum():
    """Gradients of a loop can be differentiated again in Fluid, for which it notes more; compiled, both are the same."""
    steps, batch, width, size = 5, 2, 4, 6

    def build(trains):
        def net():
            x = layers.data("x", [steps, batch, width], append_batch_size=False)
            y = layers.data("y", [batch, 1], append_batch_size=False)
            first = layers.fill_constant([1, batch, size], "float32", 0.0)
            out, _, _ = layers.lstm(x, first, first, steps, size, 1)
            gap = layers.fc(layers.reduce_mean(out, dim=0), 1) - y
            loss = layers.mean(gap * gap)
            if trains:
                fluid.optimizer.Momentum(0.1, 0.9).minimize(loss)
            return loss

        return of_fluid(net)

    gates = 4 * size
    shapes = [(gates, width), (gates, size), (gates,), (gates,)]
    flat = fl.nn.Parameter((sum(math.prod(shape) for shape in shapes),))
    dense = Dense(size, 1)
    momentum = fl.optimizer.Momentum([flat, *dense.parameters()], 0.1, momentum=0.9)

    def forward(x, y):
        first = fl.full((1, batch, size), 0.0)
        parts, at = [], 0
        for shape in shapes:
            parts.append(fl.reshape(fl.slice(flat, 0, at, at + math.prod(shape)), shape))
            at += math.prod(shape)
        out, _, _ = fl.lstm(x, first, first, parts)
        gap = dense(fl.mean(out, axis=0)) - y
        return fl.mean(gap * gap)

    def step(x, y):
        loss = forward(x, y)
        momentum.minimize(loss)
        return loss

    kinds = {"x": f"f32[{steps}, {batch}, {width}]", "y": f"f32[{batch}, 1]"}
    found, wanted = Listing(build(False)).calls, Listing(fl.build(forward, kinds)).calls
    assert found == wanted and any("= while{" in call for call in found)
    # The learning rate, a variable in Fluid, times the factor of the group.
    assert ops_of(build(True)) == ops_of(fl.build(step, kinds)) + Counter(["mul"])


def test_a_difference_is_told():
    def build(act):
        def net():
            loss = layers.mean(layers.fc(layers.data("x", [4]), 3, act=act))
            fluid.optimizer.SGD(0.1).minimize(loss)
            return loss

        return of_fluid(net)

    assert Listing(build("tanh")).calls == Listing(build("tanh")).calls
    assert Listing(build("tanh")).calls != Listing(build("sigmoid")).calls
