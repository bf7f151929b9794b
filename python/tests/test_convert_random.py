"""Random functions with control flow: converted and line by line they give the same bits."""

import importlib.util
import random

import numpy as np
import pytest

import fluvial as fl

N_PROGRAMS = 200


class Writer:
    """Writes a small function; all loops end, and all names are bound before they are used."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.n_names = 0
        self.lines = []

    def pick(self, *choices):
        return self.random.choice(choices)

    def vector(self, depth=0):
        a, b = self.pick("a", "b", "c"), self.pick("a", "b", "c")
        forms = [
            f"fl.tanh({a} + {b})",
            f"{a} * 0.5 - {b} * 0.25",
            f"{a} - {b}",
            f"fl.tanh({a} * {b})",
            f"fl.sin({a} + n)",
            f"helper({a}, {b})",
            f"{a} + 0.125 * n",
        ]
        if depth < 2:
            test = self.test(depth + 1)
            forms.append(f"({self.vector(depth + 1)} if {test} else {self.vector(depth + 1)})")
        return self.pick(*forms)

    def test(self, depth=0):
        name, bound = self.pick("a", "b", "c"), round(self.random.uniform(-1.5, 1.5), 2)
        forms = [
            f"fl.sum({name}) > {bound}",
            f"fl.sum({name}) < {bound}",
            f"n < {self.pick(1, 2, 3)}",
            f"-1 < fl.sum({name}) <= {abs(bound)}",
            f"{name}[0] < {name}[1]",
            f"k > {self.pick(0, 1)}",
        ]
        if depth < 2:
            one, other = self.test(depth + 1), self.test(depth + 1)
            forms += [f"({one} and {other})", f"({one} or {other})", f"not ({one})"]
        return self.pick(*forms)

    def put(self, indent, text):
        self.lines.append("    " * indent + text)

    def block(self, indent, depth, in_loop):
        for _ in range(self.random.randint(1, 3)):
            if self.statement(indent, depth, in_loop):
                break

    def statement(self, indent, depth, in_loop):
        kinds = ["assign"] * 4 + ["augment", "count", "swap"]
        if depth < 3:
            kinds += ["if", "if", "elif", "while", "range", "rows", "list", "try", "jump", "jump"]
        kind = self.pick(*kinds)
        if kind == "assign":
            self.put(indent, f"{self.pick('a', 'b', 'c')} = {self.vector()}")
        elif kind == "augment":
            self.put(
                indent, f"{self.pick('a', 'b', 'c')} {self.pick('+=', '-=', '*=')} {self.vector(2)}"
            )
        elif kind == "count":
            self.put(indent, self.pick("n += 1", "n = n + 2", "k = k + 1"))
        elif kind == "swap":
            self.put(indent, "a, b = b, a")
        elif kind in ("if", "elif"):
            self.put(indent, f"if {self.test()}:")
            self.block(indent + 1, depth + 1, in_loop)
            if kind == "elif":
                self.put(indent, f"elif {self.test()}:")
                self.block(indent + 1, depth + 1, in_loop)
            if self.pick(True, False):
                self.put(indent, "else:")
                self.block(indent + 1, depth + 1, in_loop)
        elif kind in ("while", "range", "rows"):
            self.loop(kind, indent, depth)
        elif kind == "list":
            self.n_names += 1
            name = f"items{self.n_names}"
            self.put(indent, f"{name} = [a]")
            self.put(indent, f"for row in {self.pick('x', 'range(3)')}:")
            self.put(indent + 1, f"if {self.test()}:")
            self.put(indent + 2, f"{name}.append({self.vector()})")
            self.put(indent + 1, f"b = {self.vector()}")
            self.put(indent, f"c = fl.tanh(fl.sum(fl.stack({name}, 0), axis=0))")
        elif kind == "try":
            self.put(indent, "try:")
            self.block(indent + 1, depth + 1, in_loop)
            self.put(indent, "finally:")
            self.put(indent + 1, "k += 1")
        elif kind == "jump":
            jumps = ["return a + x[0]", "return b * x[1] + c"] + ["break", "continue"] * (
                2 * in_loop
            )
            self.put(indent, f"if {self.test()}:")
            self.block(indent + 1, depth + 2, in_loop)
            self.put(indent + 1, self.pick(*jumps))
        return False

    def loop(self, kind, indent, depth):
        self.n_names += 1
        name = f"i{self.n_names}"
        if kind == "while":
            self.put(indent, f"{name} = 0")
            self.put(indent, f"while {name} < {self.pick(2, 3)} and {self.test()}:")
            self.put(indent + 1, f"{name} += 1")
        elif kind == "range":
            self.put(indent, f"for {name} in range({self.pick(0, 2, 3)}):")
        else:
            self.put(indent, f"for {name}, r{name} in enumerate(x):")
            self.put(indent + 1, f"a = fl.tanh(a + r{name} * {name})")
        self.block(indent + 1, depth + 1, True)
        if self.random.random() < 0.3:
            self.put(indent, "else:")
            self.block(indent + 1, depth + 1, False)

    def function(self, name):
        self.lines = [f"def {name}(x):", "    a = x[0]", "    b = x[1]", "    c = x[2] - x[0]"]
        self.put(1, "n = 0")
        self.put(1, "k = 0")
        for _ in range(4):
            self.statement(1, 0, False)
        self.put(1, "return a + b + c + n")
        return "\n".join(self.lines)


HEADER = """import fluvial as fl


def helper(p, q):
    if fl.sum(p) > fl.sum(q):
        return fl.tanh(p - q)
    return p * q
"""


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    path = tmp_path_factory.mktemp("random") / "random_functions.py"
    texts = [Writer(seed).function(f"f{seed}") for seed in range(N_PROGRAMS)]
    path.write_text(HEADER + "\n\n" + "\n\n\n".join(texts) + "\n")
    spec = importlib.util.spec_from_file_location("random_functions", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [getattr(module, f"f{seed}") for seed in range(N_PROGRAMS)], texts


def with_gradient(f):
    @fl.function
    def run(x):
        x = x.track()
        y = f(x)
        return y, fl.grad(fl.sum(y) + fl.sum(x), x)

    return run


@pytest.mark.parametrize("part", range(10))
def test_random_functions(functions, part):
    generator = np.random.default_rng(part)
    equal = []
    for f, text in list(zip(*functions))[part::10]:
        run = with_gradient(f)
        for _ in range(2):
            x = fl.tensor(generator.normal(size=(3, 3)).astype(np.float32))
            expected, gradient = run._fl_function(x)
            found, found_gradient = run(x)
            assert expected.dtype == found.dtype, text
            assert expected.numpy().tobytes() == found.numpy().tobytes(), text
            gradient, found_gradient = gradient.numpy(), found_gradient.numpy()
            equal.append(gradient.tobytes() == found_gradient.tobytes())
            np.testing.assert_allclose(gradient, found_gradient, 2e-6, 1e-6, err_msg=text)
        assert len(run.programs) == 1
    # A value that has two names behind a branch or in a list is added up in another order.
    assert np.mean(equal) > 0.8
