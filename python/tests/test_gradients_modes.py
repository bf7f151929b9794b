"""Gradients mean the same line by line and in programs, to the bit."""

import linecache
import random

import numpy as np
import pytest

import fluvial as fl

GENERATOR = np.random.default_rng(0)


def normal(*shape):
    return GENERATOR.normal(size=shape).astype(np.float32)


def same_bits(expected, found):
    assert expected.shape == found.shape
    unequal = expected.numpy().view(np.uint32) != found.numpy().view(np.uint32)
    assert not unequal.any(), (expected.numpy()[unequal], found.numpy()[unequal])


def compare(f, *arrays):
    """The gradients of `f` line by line, of the compiled function, and inside of a program."""
    xs = [fl.tensor(array).track() for array in arrays]
    expected = fl.grad(f(*xs), xs, allow_unused=True)

    compiled = fl.function(f)
    for _ in range(3):
        # The first call keeps its inputs, later ones what the way back needs.
        found = fl.grad(compiled(*xs), xs, allow_unused=True)
        assert [one is None for one in found] == [one is None for one in expected]
        for a, b in zip(expected, found):
            if a is not None:
                same_bits(a, b)

    @fl.function
    def inside(*xs):
        found = fl.grad(f(*xs), list(xs), allow_unused=True)
        return [fl.zeros_like(x) if one is None else one for x, one in zip(xs, found)]

    for x, a, b in zip(xs, expected, inside(*xs)):
        same_bits(fl.zeros_like(x) if a is None else a, b)
    return expected


def number(value):
    return np.array([value], np.float32)


class TestBranches:
    @pytest.mark.parametrize("c", [1, -1])
    def test_uses_inside_and_outside(self, c):
        def f(x, w, c):
            y = x * w
            if fl.sum(c) > 0:
                y = y * w + x * w * 3.3 + w
            return fl.sum(y * w * x) + fl.sum(w * 1.7)

        compare(f, normal(800), normal(800), number(c))

    @pytest.mark.parametrize("c", [1, -1])
    def test_a_value_of_one_branch(self, c):
        def f(x, w, c):
            y = x * w if fl.sum(c) > 0 else fl.sin(x)
            return fl.sum(y * x)

        compare(f, normal(80), normal(80), number(c))

    @pytest.mark.parametrize("c", [2, 0.5, -1])
    def test_nested(self, c):
        def f(x, w, c):
            y, z = fl.exp(w * w), fl.log(x * 0.0)
            if fl.sum(c) > 0:
                if fl.sum(c) > 1:
                    r = fl.sum(y * x)
                else:
                    r = fl.sum(x * x)
            else:
                r = fl.sum(z)
            return r + fl.sum(x)

        compare(f, normal(100), normal(100), number(c))

    def test_what_did_not_run_is_no_zero_times_infinity(self):
        def f(x, w):
            loss = fl.sum(fl.exp(x * w * 1000.0))
            if not fl.isfinite(loss):
                loss = fl.sum(w**2)
            return loss

        found = compare(f, np.abs(normal(8)) + 1, np.abs(normal(8)) + 1)
        assert found[0] is None and np.isfinite(found[1].numpy()).all()

    @pytest.mark.parametrize("scale", [1.0, np.inf])
    def test_minimize(self, scale):
        def trained(mode):
            net = fl.nn.Linear(3, 2)
            net.weight.set(fl.tensor(np.arange(6, dtype=np.float32).reshape(net.weight.shape)))
            net.bias.set(fl.tensor([0.5, -0.5]))
            optimizer = fl.optimizer.SGD(net.parameters(), 0.1)

            @fl.function
            def step(x):
                loss = fl.mean(net(x) ** 2)
                if not fl.isfinite(loss):
                    loss = fl.mean(net.weight**2)
                optimizer.minimize(loss)
                return loss

            with fl.mode(mode):
                step(fl.tensor(np.ones((4, 3), np.float32) * np.float32(scale)))
            return [parameter.numpy().tobytes() for parameter in net.parameters()]

        assert trained("imperative") == trained("program")


class TestLoops:
    @pytest.mark.parametrize("n", [0, 1, 5])
    def test_uses_inside_and_outside(self, n):
        def f(x, w, n):
            i, h = fl.tensor(0.0), x
            while i < fl.sum(n):
                h = fl.tanh(h * w + x * w)
                i = i + 1
            return fl.sum(h * w + x * 3.0)

        compare(f, normal(300), normal(300), number(n))

    def test_a_range(self):
        def f(x, w):
            h, s = fl.zeros_like(x), fl.tensor(0.0)
            for _ in range(6):
                h = fl.tanh(h * w + x * w)
                s = s + fl.sum(h * w)
            return s + fl.sum(w * x)

        compare(f, normal(300), normal(300))

    def test_scan(self):
        def f(x, w):
            def step(h, row):
                h = fl.tanh(h * w + row * w)
                return h, h * w

            h, rows = fl.scan(step, w * 0.5, x)
            return fl.sum(h * w) + fl.sum(rows)

        compare(f, normal(5, 40), normal(40))

    def test_a_value_of_the_last_trip_that_nobody_uses(self):
        def f(x, w):
            a, b, i = x * 1.0, w * 1.0, fl.tensor(0.0)
            while i < 4.0:
                a = a + b
                b = fl.exp(b * b)
                i = i + 1
            return fl.sum(a)

        compare(f, normal(5), np.abs(normal(5)) * 0.1 + 1.0)

    @pytest.mark.parametrize("n", [0, 1, 4])
    def test_nested(self, n):
        def f(x, w, n):
            h, i = x * 0.5, fl.tensor(0.0)
            while i < fl.sum(n):
                if fl.sum(h) > 0:
                    h = h * w + x
                else:
                    h = fl.sin(h) + w * w * 0.1
                j = fl.tensor(0.0)
                while j < 2.0:
                    h = h * 0.9 + w * x
                    j = j + 1
                i = i + 1
            return fl.sum(h * x)

        compare(f, normal(100), normal(100), number(n))

    @pytest.mark.parametrize("n", [0, 1, 2, 4])
    def test_a_branch_of_some_trips(self, n):
        def f(x, w, n):
            s, h, i = fl.sum(x * 0.0), w * 1.0, fl.tensor(0.0)
            while i < 4.0:
                if i < fl.sum(n):
                    s = s + fl.sum(fl.exp(h) * x)
                h = h * h * 3.0
                i = i + 1
            return s

        compare(f, normal(50) * 0.1, np.abs(normal(50)) * 0.2, number(n))

    @pytest.mark.parametrize("n", [0, 1, 3])
    def test_what_is_carried_begins_as_what_is_captured(self, n):
        def f(x, w, n):
            s, i = x, fl.tensor(0.0)
            while i < fl.sum(n):
                s = s * x * w + x
                i = i + 1
            return fl.sum(s * x)

        compare(f, normal(300), normal(300), number(n))

    def test_second_order(self):
        def f(x, w):
            h = x * 1.0
            for _ in range(3):
                h = fl.tanh(h * w + x * w)
            slope = fl.grad(fl.sum(h), w, create_graph=True)
            return fl.sum(slope * slope * x)

        compare(f, normal(50), normal(50))


@pytest.mark.parametrize("seed", range(12))
def test_random_loops_and_branches(seed):
    """Statements whose values are all new, so that no value has two names."""
    choice = random.Random(seed)

    def term():
        names = ["a", "b", "x", "w"]
        one, other = choice.choice(names), choice.choice(names)
        return choice.choice(
            [f"{one} * {other} * 0.3", f"fl.tanh({one} + {other})", f"fl.sin({one}) * w", f"{one} - x * w"]
        )

    def lines(indent, depth):
        found = []
        for _ in range(choice.randint(1, 3)):
            kind = choice.choice(["set", "set", "if", "for"] if depth < 2 else ["set"])
            if kind == "set":
                found.append(f"{indent}{choice.choice('ab')} = {term()}")
            elif kind == "if":
                found.append(f"{indent}if fl.sum({choice.choice('abxw')}) > {choice.choice([-2, 0, 2])}:")
                found += lines(indent + "    ", depth + 1)
                found.append(f"{indent}else:")
                found.append(f"{indent}    a, b = a * 1.1, b * 0.9")
            else:
                found.append(f"{indent}for t{depth} in range({choice.randint(0, 3)}):")
                found += lines(indent + "    ", depth + 1)
                found.append(f"{indent}    a, b = a * 1.1, b * 0.9")
        return found

    text = ["def f(x, w):", "    a, b = x * 1.0, w * 1.0", *lines("    ", 0)]
    text.append("    return fl.sum(a * x) + fl.sum(b * w)")
    scope = {"fl": fl}
    source, name = "\n".join(text) + "\n", f"<random gradients {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), scope)
    compare(scope["f"], normal(30), normal(30))


class TestScopes:
    def test_no_grad(self):
        def f(w):
            with fl.no_grad():
                y = w * w
            return fl.sum(y * w)

        assert compare(f, np.array([2.0, 3.0], np.float32))[0].tolist() == [4.0, 9.0]

    def test_a_decorator(self):
        @fl.no_grad()
        def square(w):
            return w * w

        def f(w):
            return fl.sum(square(w) * w)

        assert compare(f, np.array([2.0, 3.0], np.float32))[0].tolist() == [4.0, 9.0]

    @pytest.mark.parametrize("n", [0, 1, 3])
    def test_inside_of_loops_and_branches(self, n):
        def f(x, w, n):
            h, i = x * 1.0, fl.tensor(0.0)
            while i < fl.sum(n):
                with fl.no_grad():
                    t = h * w
                    if fl.sum(t) > 0:
                        with fl.enable_grad():
                            u = x * w
                    else:
                        u = x * 1.0
                h = fl.tanh(h * w + t + u)
                i = i + 1
            return fl.sum(h * w)

        for _ in range(3):
            compare(f, normal(50), normal(50), number(n))

    def test_around_loops(self):
        def f(x, w):
            with fl.no_grad():
                target = x * 1.0
                for _ in range(3):
                    target = fl.tanh(target * w)
            return fl.sum((x * w - target) ** 2)

        compare(f, normal(50), normal(50))

    def test_gradients_are_constants_without_a_graph(self):
        def f(w):
            slope = fl.grad(fl.sum(w * w * w), w, retain_graph=True)
            return fl.sum(slope * w)

        assert compare(f, np.array([2.0, 3.0], np.float32))[0].tolist() == [12.0, 27.0]

    def test_what_is_returned_from_no_grad_is_a_constant(self):
        def f(w):
            with fl.no_grad():
                return w * w

        w = fl.tensor([2.0]).track()
        assert not f(w).is_tracked and not fl.function(f)(w).is_tracked

    def test_a_leaf_of_a_computed_value_cuts_its_history(self):
        def f(w):
            leaf = (w * w).track()
            return fl.sum(leaf * w)

        assert compare(f, np.array([2.0, 3.0], np.float32))[0].tolist() == [4.0, 9.0]


def modes(make):
    found = []
    for mode in ("imperative", "program"):
        with fl.mode(mode):
            found.append(make())
    assert found[0] == found[1]
    return found[0]


class TestHooks:
    def test_on_inner_values(self):
        def f(w):
            y = w * 2
            y.register_hook(lambda grad: grad * 10)
            return fl.sum(y * y)

        assert compare(f, np.array([1.0, 2.0], np.float32))[0].tolist() == [80.0, 160.0]

    @pytest.mark.parametrize("n", [0, 1, 3])
    def test_in_loops_and_branches(self, n):
        def f(x, w, n):
            h, i = x * 1.0, fl.tensor(0.0)
            while i < fl.sum(n):
                h = fl.tanh(h * w + x * w)
                h.register_hook(lambda grad: grad * 1.5)
                if fl.sum(h) > 0:
                    y = h * 2.0
                    y.register_hook(lambda grad: grad * 0.5)
                    h = y * w
                i = i + 1
            return fl.sum(h * w)

        for _ in range(3):
            compare(f, normal(50), normal(50), number(n))

    def test_on_what_a_loop_carries(self):
        def f(x, w):
            h = x * w
            for _ in range(3):
                h = h * 2.0
                h.register_hook(lambda grad: grad * 0.5)
            return fl.sum(h)

        def g(x, w):
            h, i = x * w, fl.tensor(0.0)
            while i < 3.0:
                h = h * 2.0
                h.register_hook(lambda grad: grad * 0.5)
                i = i + 1.0
            return fl.sum(h)

        for function in (f, g):
            compare(function, normal(3), normal(3))

    def test_on_what_no_gradient_reaches(self):
        def make():
            def f(x, y):
                (y * 2.0).register_hook(lambda grad: grad * 0.5)
                return x * y

            function = fl.function(f)
            seen = []
            for tracked in (False, True, False):
                x, y = fl.tensor([1.0]).track(), fl.tensor([2.0])
                try:
                    seen.append(function(x, y.track() if tracked else y).tolist())
                except RuntimeError as error:
                    seen.append(str(error).split("\n")[0].partition(": ")[2])
            return seen

        assert "no gradient reaches" in modes(make)[0]
