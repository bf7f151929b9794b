"""Sizes of tensors inside of programs mean what the lines mean: both modes give the same, for sizes in any order."""

import math
import subprocess
import sys

import numpy as np
import pytest

import fluvial as fl
from fluvial._tree import Size

SIZES = (3, 5, 4, 7, 2, 6, 4, 9, 3, 5)


def tensor(*shape, seed=0):
    return fl.tensor(np.random.default_rng(seed).normal(size=shape).astype("f4"))


def parts(value):
    """Types and bits of a result."""
    if isinstance(value, fl.Tensor):
        return (value.type_text, value.numpy().tobytes())
    if isinstance(value, (list, tuple)):
        return (type(value), [parts(part) for part in value])
    if isinstance(value, dict):
        return {key: parts(part) for key, part in value.items()}
    # A number of elements is an int that may be called besides; programs give the int.
    return (int if isinstance(value, Size) else type(value), value)


def check(function, inputs, programs=None):
    """Calls a function line by line and as a program, for several inputs in sequence."""
    compiled = fl.function(function)
    for given in inputs:
        expected = error = None
        try:
            expected = function(*given)
        except Exception as raised:
            error = raised
        if error is not None:
            with pytest.raises(type(error)):
                compiled(*given)
            continue
        assert parts(compiled(*given)) == parts(expected), [x.shape for x in given]
    if programs is not None:
        assert len(compiled.programs) <= programs, compiled.programs
    return compiled


def rows(sizes=SIZES, width=4):
    return [(tensor(n, width),) for n in sizes]


def columns(sizes=SIZES, height=2):
    return [(tensor(height, n),) for n in sizes]


class TestDecisions:
    def test_equal(self):
        check(lambda x: x * (2.0 if x.shape[0] == 4 else 1.0), rows(), 3)

    def test_not_equal(self):
        def f(x):
            if x.shape[0] != 4:
                return x + 1.0
            return x

        check(f, rows(), 3)

    def test_in(self):
        check(lambda x: x * (2.0 if x.shape[0] in (4, 7) else 1.0), rows(), 5)
        check(lambda x: x * (2.0 if x.shape[0] not in [4, 7] else 1.0), rows(), 5)
        check(lambda x: x * (2.0 if x.shape[0] in range(3, 6) else 1.0), rows(), 5)
        check(lambda x: x * (2.0 if 4 in x.shape else 1.0), columns(), 4)

    def test_shapes(self):
        def f(x):
            if x.shape == (4, 4):
                x = x + fl.eye(4)
            if x.shape[:1] != (5,):
                x = x * 3.0
            return x

        check(f, rows())

    def test_two_sizes(self):
        def f(x, y):
            if x.shape[0] == y.shape[0]:
                return x * 2.0
            if x.shape[0] > y.shape[0]:
                return x + 1.0
            return x - 1.0

        pairs = [(2, 3), (3, 2), (4, 4), (5, 4), (4, 6), (6, 6), (7, 3)]
        check(f, [(tensor(a, 2), tensor(b, 2)) for a, b in pairs])

    def test_look_ups(self):
        table = {3: 0.5, 4: 2.0}
        check(lambda x: x * table.get(x.shape[0], 1.0), rows())

    @pytest.mark.parametrize("limit", [3, 4.5, 1, 100])
    def test_order(self, limit):
        check(lambda x: x * 2.0 if x.shape[0] > limit else x, rows(), 3)
        check(lambda x: x * 2.0 if x.shape[0] <= limit else x, rows(), 3)
        check(lambda x: x * 2.0 if limit > x.shape[0] else x, rows(), 3)
        check(lambda x: x * 2.0 if limit <= x.shape[0] < 6 else x, rows(), 4)

    def test_rest(self):
        check(lambda x: x * 2.0 if x.shape[0] % 2 else x, rows(), 3)
        check(lambda x: x * 2.0 if x.shape[0] % 2 == 0 else x, rows(), 3)
        check(lambda x: x * (x.shape[0] % 3), rows(), 2)

    def test_truth(self):
        check(lambda x: x * 2.0 if x.shape[0] else x, rows(), 2)
        check(lambda x: x * 2.0 if x.shape[0] - 4 else x, rows(), 3)
        check(lambda x: x * 2.0 if not x.shape[0] - 4 else x, rows(), 3)

    def test_in_functions_that_are_not_converted(self):
        choose = eval("lambda x: x * 2.0 if x.shape[0] == 4 else x")
        check(lambda x: choose(x), rows(), 3)

    def test_in_layers(self):
        class Net(fl.nn.Layer):
            def __init__(self):
                super().__init__()
                self.linear = fl.nn.Linear(4, 4)

            def forward(self, x):
                return self.linear(x) if len(x) > 4 else x

        net = Net()
        check(lambda x: net(x), rows(), 3)

    def test_a_decision_costs_a_program_only_where_it_is_made(self):
        f = check(lambda x: x * x.shape[0] + x.shape[1], rows(), 2)
        assert len(f.programs) == 2

    def test_a_program_checks_what_it_was_built_for(self):
        f = fl.function(lambda x: x * (2.0 if x.shape[0] == 4 else 1.0))
        for n in (3, 5, 4):
            f(tensor(n, 2))
        other, four = f.programs[1:]
        assert parts(other.run(x=tensor(6, 2))["out0"]) == parts(tensor(6, 2))
        with pytest.raises(AssertionError, match="built for n0 == 4"):
            four.run(x=tensor(6, 2))
        with pytest.raises(AssertionError, match="built for n0 != 4"):
            other.run(x=tensor(4, 2))


class TestNumbers:
    @pytest.mark.parametrize(
        "number",
        [
            lambda n: n**0.5,
            lambda n: math.sqrt(n),
            lambda n: 1.0 / n,
            lambda n: n / 3,
            lambda n: n * 0.1,
            lambda n: 0.1 + n,
            lambda n: 2.0**n,
            lambda n: float(n),
            lambda n: int(n),
            lambda n: n**2,
            lambda n: n**20,
            lambda n: 2 - n,
            lambda n: n - 5,
            lambda n: -n,
            lambda n: abs(n - 5),
            lambda n: (n - 7) // 4,
            lambda n: 17 % n,
            lambda n: 17 // n,
            lambda n: divmod(n, 3)[1],
            lambda n: round(n),
            lambda n: max(n, 4),
            lambda n: min(4, n),
            lambda n: len(str([0] * n)),
            lambda n: int(f"{n}"),
            lambda n: math.floor(n),
            lambda n: isinstance(n, int),
        ],
    )
    def test_arithmetic(self, number):
        check(lambda x: x * number(x.shape[0]), rows())
        check(lambda x: (number(x.shape[0]), x), rows())

    def test_returned(self):
        f = check(lambda x: x.shape[0], rows(), 2)
        assert type(f(tensor(8, 4))) is int
        check(lambda x: x.shape, rows(), 2)
        check(lambda x: {"n": len(x), "size": x.size, "x": [x, x.size - 40]}, rows(), 2)

    def test_division_by_zero(self):
        with pytest.raises(ZeroDivisionError):
            f = fl.function(lambda x: x * (x.shape[0] // 0))
            for (x,) in rows():
                f(x)

    def test_sizes_that_are_numbers_are_not_open_again(self):
        f = check(lambda x: x * math.sqrt(x.shape[0]), rows())
        assert [list(p.inputs.values()) for p in f.programs[2:]] == [
            [f"f32[{n}, 4]"] for n in dict.fromkeys(SIZES[2:]) if n not in SIZES[:2]
        ]


TABLE = [float(i) for i in range(20)]


class Keeps(fl.nn.Layer):
    def forward(self, x):
        self.rows = x.shape[0]
        return x * self.rows


class TestHabits:
    @pytest.mark.parametrize(
        "habit",
        [
            lambda x: x * float(np.sqrt(x.shape[0])),
            lambda x: x * np.float32(x.shape[0]),
            lambda x: x + fl.tensor(np.ones((x.shape[0], 4), "f4")),
            lambda x: x * int(np.arange(x.shape[0]).sum()),
            lambda x: x * 2.0 if np.int64(4) == x.shape[0] else x,
            lambda x: x * sum(range(x.shape[0])),
            lambda x: x[list(range(x.shape[0] - 1))],
            lambda x: x * TABLE[x.shape[0]],
            lambda x: x * sum(TABLE[: x.shape[0]]),
            lambda x: x * int(str(x.shape[0])),
            lambda x: x * ((x.shape[0] - 4) or 9),
            lambda x: x * (2.0 if x.shape[0] in {3, 4} else 1.0),
            lambda x: x * int(x.shape[0] > 4),
            lambda x: (x - x.sum(0) / len(x)) ** 2 / (len(x) - 1),
            lambda x: x * max(x.shape) * min(x.shape),
            lambda x: x * sorted(x.shape)[0] * math.prod(x.shape),
            lambda x: x * (x.shape[0] & 1),
            lambda x: x * x.shape[0].bit_length(),
            lambda x: fl.stack([x[i] * 2.0 for i in range(len(x))]),
            lambda x: sum(x[i] for i in range(len(x))),
            lambda x: fl.zeros((x.shape[0] if x.shape[0] > 3 else 3,)),
            lambda x: (fl.tensor(x.shape[0]), fl.tensor([x.shape[0], 2])),
            lambda x: fl.full((2,), x.shape[0]),
            lambda x: fl.where(x > 0, x, x.shape[0] - 5),
            lambda x: (x.shape[0] - x, x.shape[0] / (x + 10.0), x // x.shape[0], x ** x.shape[0]),
            lambda x: (x > x.shape[0] - 4, x.shape[0] - 4 < x, x == x.shape[0]),
            lambda x: fl.tensor([1, 2], "int32") * x.shape[0],
            lambda x: fl.tensor([1, 2], "int8") * (x.shape[0] * 30),
            lambda x: (fl.tensor([True]) * x.shape[0], fl.tensor([True]) == x.shape[0]),
            lambda x: fl.pad(x, (0, 0), (0, 10 - x.shape[0])),
            lambda x: fl.repeat(x, x.shape[0], axis=0),
            lambda x: Keeps()(x),
        ],
    )
    def test_habits(self, habit):
        check(habit, rows())

    def test_halves(self):
        def halved(x):
            n, k = x.shape[0], 0
            while n > 1:
                n = n // 2
                k += 1
            return x * k

        def tree(x):
            if len(x) <= 1:
                return x.sum()
            half = len(x) // 2
            return tree(x[:half]) - tree(x[half:]) * 2.0

        check(halved, rows())
        check(tree, rows())


class TestParts:
    @pytest.mark.parametrize(
        "part",
        [
            lambda x, n: x[:, : n - 1],
            lambda x, n: x[:, : n // 2],
            lambda x, n: x[:, n // 2 :],
            lambda x, n: x[:, 1 : n - 1],
            lambda x, n: x[:, n - 1],
            lambda x, n: x[:, n // 2],
            lambda x, n: x[:, -n],
            lambda x, n: x[:, : n - 4],
            lambda x, n: x[:, n - 4 :],
            lambda x, n: x[:, :4],
            lambda x, n: x[:, -4:],
            lambda x, n: x[:, 4:],
            lambda x, n: x[:, :-4],
            lambda x, n: x[:, 1:4],
            lambda x, n: x[:, 4:1:-1],
            lambda x, n: x[:, ::-1],
            lambda x, n: x[:, n::-2],
            lambda x, n: x[:, : n - 1 : 2],
            lambda x, n: x[:, : 2 * n],
            lambda x, n: x[..., :4, None],
            lambda x, n: x[:, 3],
            lambda x, n: x[:, -3],
            lambda x, n: fl.split(x, [1, n - 1], 1),
            lambda x, n: fl.split(x, [n // 2, n - n // 2], 1)[1],
            lambda x, n: fl.split(x, [2, 2], 1)[1],
            lambda x, n: fl.tile(x, (1, n)),
            lambda x, n: fl.tile(x, (n, 1)),
            lambda x, n: fl.roll(x, 2, 1),
            lambda x, n: fl.roll(x, 7, 1),
            lambda x, n: fl.roll(x, -7, 1),
            lambda x, n: fl.roll(x, n // 2, 1),
            lambda x, n: fl.roll(x, n),
            lambda x, n: fl.arange(n),
            lambda x, n: x + fl.arange(n),
            lambda x, n: fl.arange(n, dtype="float32") * x,
            lambda x, n: fl.arange(1, n),
            lambda x, n: fl.arange(0, n, 2),
            lambda x, n: fl.arange(n - 1, -1, -1),
            lambda x, n: fl.arange(n, 2 * n),
            lambda x, n: fl.arange(4, n),
            lambda x, n: fl.zeros((n - 1, 2)),
            lambda x, n: fl.zeros((2 * n,)),
            lambda x, n: fl.eye(n) @ fl.transpose(x, 0, 1),
            lambda x, n: fl.linspace(0.0, 1.0, n),
            lambda x, n: fl.reshape(x, (n, 2)),
            lambda x, n: fl.chunk(x, 2, 1)[-1],
            lambda x, n: fl.unbind(x, 1)[-1],
            lambda x, n: x.sum() / x.size,
            lambda x, n: x[:, fl.arange(n - 1, -1, -1)],
            lambda x, n: fl.one_hot(fl.tensor([0, 1]), n),
        ],
    )
    def test_of_columns(self, part):
        check(lambda x: part(x, x.shape[1]), columns())

    def test_setting(self):
        def f(x):
            n = x.shape[1]
            x[:, : n - 1] = 0.0
            x[:, n // 2] = 1.0
            return x

        check(lambda x: f(x + 0.0), columns())

    def test_what_stays_open_is_built_once(self):
        def f(x):
            n = x.shape[1]
            y = x[:, : n - 1] + fl.arange(n - 1) * n
            return fl.roll(y, 1, 1), fl.split(x, [1, n - 1], 1), x[:, : n // 2], fl.tile(x, (1, n))

        check(f, columns(), 2)

    def test_loops(self):
        def forwards(x):
            total = fl.zeros((2,))
            for i in range(x.shape[1]):
                total = total + x[:, i] * i
            return total

        def backwards(x):
            total = fl.zeros((2,))
            for i in range(x.shape[1] - 1, 0, -2):
                total = total * 0.5 + x[:, i]
            return total

        def listed(x):
            made = []
            for i in range(1, x.shape[1]):
                made.append(x[:, i] - x[:, i - 1])
            return fl.stack(made)

        for f in (forwards, backwards, listed):
            check(f, columns())

    def test_floats_beside_counters(self):
        def summed(x):
            total = 0.0
            for i in range(x.shape[0]):
                total = total + 0.1 * i
            return total, x * total

        def weighted(x):
            y = x[0]
            for i in range(1, len(x)):
                y = y + 0.1 * (i + 1) * x[i] + (i / 3) * x[i - 1]
            return y

        def numbered(x):
            y = x[0]
            for i, row in enumerate(x):
                y = y + row * (i * 0.1)
            return y

        def whole(x):
            y = x[0]
            for i in range(len(x)):
                y = y + x[i] * (2 * i + 1)
            return y

        for f in (summed, weighted, numbered):
            check(f, rows())
        check(whole, rows(), 2)

    def test_sizes_in_branches_and_loops(self):
        def f(x):
            n = x.shape[0]
            if x.sum() > 0:
                n = n // 2
            while x.sum() < -100:
                n = n + 1
                x = x + 1.0
            return x * n

        check(f, rows())


class TestGradients:
    @pytest.mark.parametrize(
        "loss",
        [
            lambda x: (x[:, : x.shape[1] - 1] ** 2).sum() * x.shape[1],
            lambda x: (x[:, :-1] ** 2).sum(),
            lambda x: (x[:, :4] ** 2).sum() + (x[:, -3:] ** 3).sum(),
            lambda x: (x[:, : (x > 0).sum()] ** 2).sum(),
            lambda x: (fl.roll(x, 3, 1) * fl.arange(x.shape[1])).sum() + (fl.tile(x, (1, x.shape[1])) ** 2).sum(),
            lambda x: (x**3).sum() if x.shape[1] == 4 else (x**2).mean(),
        ],
    )
    def test_of_inputs(self, loss):
        compiled = fl.function(loss)
        for n in SIZES:
            x, y = tensor(2, n).track(), tensor(2, n).track()
            loss(x).backward()
            compiled(y).backward()
            assert parts(x.grad) == parts(y.grad), n


class TestSizesOfTheRun:
    def test_decisions(self):
        def f(x):
            y = fl.masked_select(x, x > 0)
            if y.shape[0] > 1:
                return y.sum()
            return x.sum()

        check(f, [(tensor(n, seed=n),) for n in (1, 2, 3, 4, 5, 6, 7)])

    def test_shapes(self):
        def f(x):
            y = fl.masked_select(x, x > 0)
            if y.shape == (2,) or y.shape[0] in (3, 4):
                return y.sum()
            return x.sum()

        check(f, [(tensor(n, seed=n),) for n in (1, 2, 3, 4, 5, 6, 7)])

    def test_returned(self):
        f = check(lambda x: fl.masked_select(x, x > 0).shape[0], [(tensor(6, seed=i),) for i in range(4)])
        assert type(f(tensor(6))) is int

    def test_made(self):
        def f(x):
            k = (x > 0).sum()
            return fl.zeros((k,)), fl.ones((k, 2)), fl.arange(k), fl.full((2, k), 1.0)

        check(f, [(tensor(6, seed=i),) for i in range(4)], 1)

    def test_parts(self):
        def f(x):
            k = (x > 0).sum()
            z = x * 2.0
            return z[:k], z[k:], z[-k:], z[: k + 20], z[1:k], z[k:1], z[k::-1], z[:k:2], z[: k - 4]

        check(f, [(tensor(6, seed=i),) for i in range(6)], 1)
        check(f, [(tensor(n, seed=n),) for n in SIZES], 2)

    def test_numbers_that_only_the_run_knows_are_an_error(self):
        f = fl.function(lambda x: x * math.sqrt(fl.masked_select(x, x > 0).shape[0]))
        with pytest.raises(Exception, match="known only when the program runs"):
            f(tensor(6))


class TestNamedSizes:
    """Without a call there are no examples of sizes."""

    def test_comparisons_are_conditions_in_converted_code(self):
        @fl.function
        def f(x):
            n = x.shape[0]
            if n > 3:
                x = x * 2.0
            if x.shape == (4, 2) or n in (6, 7):
                x = x + 1.0
            return x * (1.0 if n % 2 == 0 else -1.0)

        program = fl.build(f, {"x": "f32[n, 2]"})
        for n in range(1, 9):
            x = tensor(n, 2)
            assert parts(program.run(x=x)["out0"]) == parts(f._fl_function(x))

    def test_elsewhere_they_are_an_error(self):
        with pytest.raises(Exception, match="not known yet"):
            fl.build(lambda x: x * 2.0 if x.shape[0] > 3 else x, {"x": "f32[n, 2]"})
        for f in (math.sqrt, int, hash, float, bool):
            with pytest.raises(Exception, match="known only when the program runs"):
                fl.build(lambda x: x * f(x.shape[0]), {"x": "f32[n, 2]"})  # noqa: B023

    def test_parts(self):
        def f(x):
            n = x.shape[1]
            y = x[:, : n - 1] * n + fl.arange(1, n)
            return y, x[:, n // 2 :], fl.roll(x, 7, 1), fl.roll(x, n // 2, 1), x * (n - 5) + n % 3, fl.tile(x, (1, n))

        program = fl.build(f, {"x": "f32[2, n]"})
        for n in (2, 3, 4, 9):
            x = tensor(2, n)
            assert parts(list(program.run(x=x).values())) == parts(list(f(x)))

    def test_it_is_equal_to_its_name(self):
        with fl.building() as b:
            x = b.input("x", "f32[batch, 2]")
            assert x.shape == ("batch", 2) and x.shape[0] != "other"
            b.output("y", x)


class Transformer(fl.nn.Layer):
    """Tokens in, logits out: learned and sinusoidal positions, a causal mask."""

    def __init__(self, words=11, width=8, longest=16):
        super().__init__()
        self.tokens = fl.nn.Embedding(words, width)
        self.places = fl.nn.Embedding(longest, width)
        self.block = fl.nn.TransformerEncoderLayer(width, 2, 16, dropout=0.0)
        self.out = fl.nn.Linear(width, words)
        self.width = width

    def sinusoidal(self, n):
        place = fl.reshape(fl.arange(n, dtype="float32"), (n, 1))
        rate = fl.exp(fl.arange(0, self.width, 2, dtype="float32") * (-math.log(10000.0) / self.width))
        angle = place * rate
        return fl.reshape(fl.stack([fl.sin(angle), fl.cos(angle)], 2), (n, self.width))

    def forward(self, ids):
        n = ids.shape[1]
        x = self.tokens(ids) * math.sqrt(self.width)
        x = x + self.places.weight[:n] + self.sinusoidal(n) + self.places(fl.arange(n))
        x = self.block(x, causal=True)
        return self.out(x[:, : n - 1]), x[:, -1]


class TestTransformer:
    def ids(self, n, seed=0):
        return fl.tensor(np.random.default_rng(seed).integers(0, 11, (2, n)))

    def test_every_length(self):
        fl.seed(1)
        net = Transformer()
        net.eval()
        f = check(lambda ids: net(ids), [(self.ids(n, n),) for n in (5, 3, 4, 6, 7, 8, 9, 3)], 2)
        assert list(f.programs[-1].inputs.values()) == ["i64[2, n0]"]

    def test_exported(self, tmp_path):
        fl.seed(1)
        net = Transformer()
        net.eval()
        net(self.ids(3))
        program = fl.build(net, {"ids": "i64[batch, n]"})
        path = tmp_path / "net"
        fl.save_model(path, program)
        np.save(tmp_path / "ids.npy", self.ids(7).numpy())
        np.save(tmp_path / "logits.npy", net(self.ids(7))[0].numpy())
        code = (
            "import sys, numpy as np, fluvial as fl\n"
            "model = fl.load_model(sys.argv[1])\n"
            "found = model(fl.tensor(np.load(sys.argv[2])))[0].numpy()\n"
            "assert found.tobytes() == np.load(sys.argv[3]).tobytes()\n"
        )
        arguments = [str(path), str(tmp_path / "ids.npy"), str(tmp_path / "logits.npy")]
        subprocess.run([sys.executable, "-c", code, *arguments], check=True, timeout=120)
