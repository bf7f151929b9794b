"""Random programs of nested blocks that write variables in place: as a program, line by line, and in NumPy."""

import random

import numpy as np
import pytest

import fluvial.fluid as fluid
import fluvial.fluid.layers as layers

VARS = ("a", "b", "c")


def statements(rng, depth):
    """Some statements, as data."""
    return [statement(rng, depth) for _ in range(rng.randint(1, 3))]


def expression(rng):
    """A function of two variables, and a number."""
    kind = rng.choice(("mix", "sin", "product", "input", "written"))
    return kind, rng.choice(VARS), rng.choice(VARS), rng.choice((-0.5, 0.25, 1.0))


def condition(rng):
    return rng.choice(VARS), rng.choice((-0.3, 0.0, 0.4))


def statement(rng, depth):
    kinds = ["assign", "assign", "push", "last"] + (["while", "switch", "cond", "rows", "case"] if depth else [])
    kind = rng.choice(kinds)
    if kind == "assign":
        return kind, rng.choice(VARS), expression(rng)
    if kind in ("push", "last"):
        return kind, rng.choice(VARS)
    if kind == "while":
        return kind, rng.randint(0, 3), statements(rng, depth - 1)
    if kind == "switch":
        return kind, [(condition(rng), statements(rng, depth - 1)) for _ in range(rng.randint(1, 2))], statements(rng, depth - 1)
    if kind == "rows":
        return kind, rng.choice(VARS), expression(rng), expression(rng)
    return kind, condition(rng), statements(rng, depth - 1), statements(rng, depth - 1)


class Plain:
    """Runs statements in NumPy, or line by line with variables: what differs is how functions are called."""

    def __init__(self, x, ops):
        self.x, self.ops = x, ops
        self.vars = {name: ops.of(x, i) for i, name in enumerate(VARS)}
        self.list = [self.vars["a"]]

    def value(self, given):
        kind, left, right, number = given
        a, b = self.vars[left], self.vars[right]
        if kind == "sin":
            return self.ops.sin(a) + b * number
        if kind == "product":
            return a * self.ops.sin(b) * number
        if kind == "input":
            return a * number + self.x
        if kind == "written":
            return self.list[-1] * number + b * 0.5
        return a * number + b * 0.25

    def holds(self, given):
        return bool(self.ops.number(self.vars[given[0]]).mean() > given[1])

    def run(self, code):
        for kind, *parts in code:
            if kind == "assign":
                self.vars[parts[0]] = self.value(parts[1])
            elif kind == "push":
                self.list.append(self.vars[parts[0]])
            elif kind == "last":
                self.vars[parts[0]] = self.list[-1] * 1.0
            elif kind == "while":
                for _ in range(parts[0]):
                    self.run(parts[1])
            elif kind == "switch":
                chosen = next((body for test, body in parts[0] if self.holds(test)), parts[1])
                self.run(chosen)
            elif kind == "rows":
                mask = self.ops.mask(self.vars[parts[0]])
                self.vars[parts[0]] = mask * self.value(parts[1]) + (1.0 - mask) * self.value(parts[2])
            else:
                self.run(parts[1] if self.holds(parts[0]) else parts[2])


class InNumPy:
    sin, number = staticmethod(np.sin), staticmethod(lambda x: x)

    @staticmethod
    def of(x, i):
        return x * (i + 1) * 0.5

    @staticmethod
    def mask(x):
        return (x > 0.1).astype(x.dtype)


class AtOnce(InNumPy):
    sin = staticmethod(lambda x: layers.sin(x))
    number = staticmethod(lambda x: x.numpy())

    @staticmethod
    def mask(x):
        return fluid.dygraph.to_variable((x.numpy() > 0.1).astype("float64"))


class Built:
    """The same as blocks of a program."""

    def __init__(self, x):
        self.x = x
        self.vars = {name: layers.scale(x, (i + 1) * 0.5) for i, name in enumerate(VARS)}
        self.count = layers.fill_constant([1], "int64", 0)
        self.list = layers.array_write(self.vars["a"], self.count)

    def last(self):
        return layers.array_read(self.list, self.count)

    def value(self, given):
        kind, left, right, number = given
        a, b = self.vars[left], self.vars[right]
        if kind == "sin":
            return layers.sin(a) + b * number
        if kind == "product":
            return a * layers.sin(b) * number
        if kind == "input":
            return a * number + self.x
        if kind == "written":
            return self.last() * number + b * 0.5
        return a * number + b * 0.25

    def holds(self, given):
        limit = layers.fill_constant([1], "float64", given[1])
        return layers.less_than(limit, layers.reshape(layers.reduce_mean(self.vars[given[0]]), [1]))

    def run(self, code):
        for kind, *parts in code:
            if kind == "assign":
                layers.assign(self.value(parts[1]), self.vars[parts[0]])
            elif kind == "push":
                layers.increment(self.count)
                layers.array_write(self.vars[parts[0]], self.count, self.list)
            elif kind == "last":
                layers.assign(self.last() * 1.0, self.vars[parts[0]])
            elif kind == "while":
                i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", parts[0])
                going = layers.less_than(i, n)
                with layers.While(going).block():
                    self.run(parts[1])
                    layers.increment(i)
                    layers.less_than(i, n, cond=going)
            elif kind == "switch":
                tests = [self.holds(test) for test, _ in parts[0]]
                with layers.Switch() as switch:
                    for test, (_, body) in zip(tests, parts[0]):
                        with switch.case(test):
                            self.run(body)
                    with switch.default():
                        self.run(parts[1])
            elif kind == "rows":
                var = self.vars[parts[0]]
                chosen = layers.less_than(layers.fill_constant([3, 1], "float64", 0.1), var)
                ie = layers.IfElse(chosen)
                found = [self.value(parts[1]), self.value(parts[2])]
                with ie.true_block():
                    ie.output(ie.input(found[0]) * 1.0)
                with ie.false_block():
                    ie.output(ie.input(found[1]) * 1.0)
                layers.assign(ie()[0], var)
            elif kind == "cond":
                layers.cond(self.holds(parts[0]), lambda: self.run(parts[1]), lambda: self.run(parts[2]))
            else:
                layers.case([(self.holds(parts[0]), lambda: self.run(parts[1]))], default=lambda: self.run(parts[2]))


def numbers(code, x):
    plain = Plain(x, InNumPy)
    plain.run(code)
    return plain.vars


@pytest.mark.parametrize("seed", range(60))
def test_blocks(seed):
    rng = random.Random(seed)
    code = statements(rng, 2)
    value = np.random.default_rng(seed).normal(size=(3, 1))
    expected = numbers(code, value)

    with fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard(), fluid.program_guard(fluid.Program(), fluid.Program()):
        x = layers.data("x", [3, 1], append_batch_size=False, dtype="float64", stop_gradient=False)
        built = Built(x)
        built.run(code)
        total = layers.reduce_sum(layers.sums([built.vars[name] for name in VARS]))
        (grad,) = fluid.gradients(total, x)
        exe = fluid.Executor(fluid.CPUPlace())
        *found, gradient = exe.run(feed={"x": value}, fetch_list=[*(built.vars[name] for name in VARS), grad])
        # The program's file means the same.
        copy = fluid.Program.parse_from_string(fluid.default_main_program().desc.serialize_to_string())
        again = exe.run(copy, feed={"x": value}, fetch_list=[built.vars[name].name for name in VARS])
    for name, static, loaded in zip(VARS, found, again):
        np.testing.assert_allclose(static, expected[name], rtol=1e-12, atol=1e-12, err_msg=f"{name} of {code}")
        np.testing.assert_array_equal(static, loaded)

    with fluid.dygraph.guard():
        x = fluid.dygraph.to_variable(value)
        lines = Plain(x, AtOnce)
        lines.run(code)
        loss = layers.reduce_sum(layers.sums([lines.vars[name] for name in VARS]))
        loss.backward()
        np.testing.assert_allclose(gradient, x.gradient(), rtol=1e-10, atol=1e-12, err_msg=str(code))
