"""Python numbers and element types mean the same line by line and in a program."""

import logging
import math

import numpy as np
import pytest

import fluvial as fl

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTS = ["uint8", "int8", "int32", "int64"]
N = fl.tensor(3)
X = fl.tensor([1.0, -2.0, 4.0])


def shown(value):
    """A value with its types: two that are shown alike are the same to the bit."""
    if isinstance(value, fl.Tensor):
        return (str(value.dtype), value.shape, repr(value.tolist()))
    if isinstance(value, (list, tuple)):
        return [shown(part) for part in value]
    return (type(value).__name__, repr(value))


def run(f, *args, mode="program", **options):
    with fl.mode(mode):
        return fl.function(f, **options)(*args)


def agree(f, *args):
    """Runs a function in both modes, checks that they give the same, and gives it."""
    found = run(f, *args, mode="imperative")
    assert shown(run(f, *args)) == shown(found)
    return found


def raises(error, f, *args):
    """Checks that both modes raise an error of the same class."""
    for mode in ("imperative", "program"):
        with pytest.raises(error):
            run(f, *args, mode=mode)


class TestAndOr:
    def test_the_value_is_the_operand(self):
        assert agree(lambda x: fl.sum(x) and fl.max(x), X).item() == 4.0
        assert agree(lambda x: fl.sum(x * 0) and fl.max(x), X).item() == 0.0
        assert agree(lambda x: fl.sum(x * 0) or fl.max(x), X).item() == 4.0
        agree(lambda x: fl.sum(x) and fl.max(x) and fl.min(x), X)
        agree(lambda x: fl.sum(x * 0) or fl.max(x) * 0 or fl.min(x), X)
        agree(lambda x: (fl.sum(x) and fl.max(x * 0)) or fl.min(x), X)

    def test_bools_and_numbers(self):
        agree(lambda x: (fl.sum(x) > 0) and (fl.max(x) > 3), X)
        agree(lambda x: (fl.sum(x) > 0) or (fl.max(x) > 3), X)

        def numbers(n):
            k = 0
            for _ in range(n):
                k = k + 2
            return k and 7, k or 7, (k - 6) or 7, (k - 6) and 7, not k, bool(k)

        assert agree(numbers, N) == (7, 6, 7, 0, False, True)

    def test_other_types_are_refused_at_the_line(self):
        with pytest.raises(TypeError, match=r"test_numbers.py:\d+: `and` gives one of its operands") as caught:
            run(lambda x: (fl.sum(x) > 0) and fl.sum(x), X, whole=True)
        assert caught.value.remedy and caught.value.line.split(":")[0].endswith("test_numbers.py")
        with pytest.raises(TypeError, match="`or` gives one of its operands"):
            run(lambda x: fl.sum(x * 0) or (fl.sum(x) > 0), X, whole=True)

    @pytest.mark.parametrize("scale", [1.0, -1.0, 0.0])
    def test_other_types_path_by_path(self, scale):
        agree(lambda x: (fl.sum(x) > 0) and fl.sum(x), X * scale)
        agree(lambda x: fl.sum(x) or (fl.sum(x) > 0) or "none", X * scale)
        agree(lambda x: ((fl.sum(x) > 0) and fl.sum(x)) * 0.1, X * scale)

    def test_anything_works_as_a_condition(self):
        def f(x):
            found = []
            if (fl.sum(x) > 0) and fl.sum(x) and 3 and not fl.sum(x * 0):
                found.append(1)
            while (fl.sum(x) > 0) and fl.sum(x):
                x = x - 1
            kept = 2 if fl.sum(x) or (fl.max(x) > 100) or fl.max(x) else 5
            assert (fl.sum(x) > 0) or fl.sum(x) or True
            return x, kept, not (fl.sum(x) and (fl.sum(x) > 0)), found

        agree(f, X)
        agree(lambda x: [v for v in [1, 2] if (fl.sum(x) > 0) and fl.sum(x)], X)
        agree(lambda x: 1 if (fl.max(x) if fl.sum(x) > 0 else True) else 2, X)


class TestConditionsOfOneElement:
    @pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
    @pytest.mark.parametrize("value", [0.0, 2.0])
    def test_any_shape(self, shape, value):
        def f(x):
            y = 1 if x else 2
            if x:
                y = y + 10
            if not x:
                y = y + 100
            if x and True:
                y = y + 1000
            while x > 0:
                x, y = x - 1, y + 10000
            return y, bool(x)

        agree(f, fl.full(shape, value))

    def test_more_elements_are_refused(self):
        def f(x):
            return 1 if x else 2

        raises(ValueError, f, X)


class TestLoops:
    @pytest.mark.parametrize("dtype", INTS + FLOATS)
    def test_a_tensor_keeps_its_type_beside_the_counter(self, dtype):
        def f(x, n):
            y, z = x, x
            for i in range(n):
                y = y + i
                z = i * z - (i + 1)
            return y, z

        y, _ = agree(f, fl.tensor(1, dtype).astype(dtype), N)
        assert y.dtype == dtype

    @pytest.mark.parametrize("dtype", INTS + FLOATS)
    def test_a_counted_number_beside_tensors(self, dtype):
        def f(x, n):
            k, h = 0, 0.5
            while k < n:
                k = k + 1
                h = h * 0.1
            return x + k, x * h, x - 1.5 * k, fl.maximum(x, k), fl.where(x > k, x, k), k, h

        agree(f, fl.tensor([0, 1, 2]).astype(dtype), N)

    @pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
    def test_a_number_that_does_not_fit(self, dtype):
        def f(x, n):
            k = 1
            for _ in range(n):
                k = k * 100000
            return x + k

        raises(ValueError, f, fl.tensor([0]).astype(dtype), N)

    def test_numbers_stay_numbers(self):
        def f(n):
            k, s, b = 2, 0.1, False
            for i in range(n):
                k = k * 3 - i
                s = s * 3 + k
                b = not b
            return k, s, b, (k, [s]), {"k": k}["k"]

        agree(f, N)

    def test_powers(self):
        def f(n):
            k = 2
            for _ in range(n):
                k = k**-1
            return k

        assert agree(f, N) == 0.5

        def g(n):
            k = 0
            for _ in range(n):
                k = k + 1
            return 2**k, 2.0**-k, k**2, k**0.5, (-k) ** 3, k**-2, 0.1**k, (k * 0.37) ** k

        agree(g, N)

    def test_a_negative_power_that_only_the_run_knows(self):
        def f(n):
            k = 0
            for _ in range(n):
                k = k - 1
            return 2**k

        with pytest.raises(ValueError, match="an int to a negative power"):
            run(f, N)

    @pytest.mark.parametrize("a", [7, -7, 6.5, -6.5, 0.3])
    @pytest.mark.parametrize("b", [3, -3, 2.5, -0.1])
    def test_division_follows_python(self, a, b):
        def f(n):
            x, y = a, b
            for _ in range(n):
                x, y = x * 1, y * 1
            return x / y, x // y, x % y, x - y, x + y, x * y, -x, abs(x), x < y, x == x, 2 % y, 5 // y, x // 2

        agree(f, N)

    @pytest.mark.parametrize("operator", ["/", "//", "%"])
    def test_division_by_zero(self, operator):
        def f(n):
            k = 3
            for _ in range(n):
                k = k - 1
            return {"/": lambda: 1 / k, "//": lambda: 1 // k, "%": lambda: 1.5 % k}[operator]()

        raises(ZeroDivisionError, f, N)

    def test_bits(self):
        def f(n):
            k, b = 6, True
            for _ in range(n):
                k = k + 1
                b = b ^ True
            return k & 3, k | 16, k ^ 1, k << 2, k >> 1, ~k, b & True, b | False, b + 1, +b, -b

        agree(f, N)

    def test_ints_beyond_64_bits_raise(self):
        def product(n):
            k = 3
            for _ in range(n):
                k = k * k
            return k

        def total(n):
            k = 3
            for _ in range(n):
                k = k + k
            return k

        assert agree(product, fl.tensor(4)) == 3**16
        for f in (product, total):
            with pytest.raises(OverflowError, match="64 bits"):
                run(f, fl.tensor(70))

    def test_builtin_functions(self):
        def f(n):
            k, s = 0, 0.3
            for i in range(n):
                k, s = k + i, s * 1.7
            kinds = isinstance(k, int), isinstance(s, float), isinstance(k, fl.Tensor), isinstance(s, int)
            return int(s), float(k), round(s), abs(-s), max(k, 2), min(s, 1.0), divmod(k, 2), kinds

        agree(f, N)

    def test_lists_and_comprehensions(self):
        def f(n, x):
            made, pairs = [], []
            for i in range(n):
                made.append(i * 0.1)
                pairs.append((i, x * i))
            return made, pairs, [i / 2 for i in range(n)], [x[i] + i for i in range(n)], len(made)

        agree(f, N, X)
        agree(lambda x: [i * 2 for i, row in enumerate(x)], X)

    def test_sizes_that_are_left_open(self):
        @fl.function
        def f(x):
            k = 0
            for i in range(len(x)):
                k = k + i
            return x * k, k * x.shape[0], k + len(x), len(x) / 2, x + x.shape[0]

        for size in (3, 4, 5):
            x = fl.full((size,), 1.5)
            found = f(x)
            with fl.mode("imperative"):
                assert shown(f(x)) == shown(found)
        assert len(f.programs) == 2

    def test_a_list_of_numbers_is_gone_through(self):
        def f(n):
            made, total = [], 0
            for i in range(n):
                made.append(i + 1)
            for value in made:
                total = total + value
            return total, made[-1]

        agree(f, N)

    def test_no_trips(self):
        def f(n):
            k, s = 5, 0.1
            for i in range(n):
                k, s = k + i, s * 2
            return k, s

        agree(f, fl.tensor(0))

    def test_zero_has_two_signs(self):
        def f(x):
            z = 0.0 if fl.sum(x) > 100 else -0.0
            return z

        assert math.copysign(1.0, agree(f, X)) == -1.0

    def test_gradients_pass_beside_numbers(self):
        def f(x, n):
            k = 0.1
            for i in range(n):
                x = x * k + i
                k = k * 3
            return fl.sum(x)

        grads = []
        for mode in ("imperative", "program"):
            with fl.mode(mode):
                x = fl.tensor([1.0, 2.0]).track()
                fl.function(f)(x, N).backward()
                grads.append(x.grad.tolist())
        assert grads[0] == grads[1]


class TestBranches:
    @pytest.mark.parametrize("dtype", FLOATS)
    def test_a_chosen_float_keeps_its_precision(self, dtype):
        def f(x):
            rate = 0.1 if fl.sum(x) > 0 else 0.2
            other = 0.3
            if fl.sum(x) > 0:
                other = other * 3
            return x * rate, x + other, rate, other

        agree(f, X.astype(dtype))

    @pytest.mark.parametrize("dtype", INTS)
    def test_ints(self, dtype):
        def f(x):
            k = 1 if fl.sum(x) > 2 else 2
            if fl.sum(x) > 0:
                k = k + 1
            return x * k, x / k, k, k / 3

        agree(f, fl.tensor([1, 2, 3]).astype(dtype))

    def test_a_number_and_a_tensor(self):
        def f(x):
            y = 0.0
            if fl.sum(x) > 0:
                y = fl.sum(x)
            return y * 1.5

        agree(f, X)

    def test_a_number_that_the_type_cannot_hold_is_refused(self):
        def f(x):
            return 0.1 if fl.sum(x) > 100 else fl.sum(x)

        with pytest.raises(TypeError, match=r"test_numbers.py:\d+: the two values of a choice are the number 0.1"):
            run(f, X, whole=True)
        agree(f, X)

        def g(x, n):
            k = 0.1
            for _ in range(n):
                k = k * 3
            if fl.sum(x) > 0:
                k = fl.sum(x)
            return k

        with pytest.raises(TypeError, match="`k` is .*a Python float"):
            run(g, X, N, whole=True)
        agree(g, X, N)

    def test_an_int_or_a_float(self):
        def f(x, n):
            k, h = 1, 3
            if fl.sum(x) > 100:
                k = 0.5
            for i in range(n):
                h = h * 0.1
            return x * k, x + h, k * 0.3, k / 3, int(k), 1.5 if k > 0 else 2.5, h

        agree(f, X, N)

        def chosen(x):
            return 1 if fl.sum(x) > 0 else 0.5

        for g in (
            lambda x: fl.tensor([1, 2]) * chosen(x),
            lambda x: fl.tensor(chosen(x)),
            lambda x: print(f"{chosen(x)}"),
            lambda x: isinstance(chosen(x), int),
            lambda x: fl.tensor([1, 2]) + (chosen(x) + 1),
        ):
            with pytest.raises((TypeError, RuntimeError), match=r"test_numbers.py:\d+: a number is an int or a float"):
                run(g, X, whole=True)
            agree(g, X)

    def test_in_a_loop_too(self):
        def f(x, n):
            k, t = 0.1, fl.sum(x)
            for _ in range(n):
                k = k * 3
                t = k if fl.sum(x) > 100 else fl.sum(x)
            return t

        with pytest.raises(TypeError, match=r"test_numbers.py:\d+: a value is a Python float or f32"):
            run(f, X, N, whole=True)
        agree(f, X, N)


class TestArrays:
    @pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float64", "bool"])
    def test_arguments_become_tensors_in_both_modes(self, dtype):
        image = np.array([[0, 1], [2, 3]], dtype)
        agree(lambda x: (x / 255, x.mean() if x.dtype != "bool" else x, x.shape), image)
        agree(lambda batch: batch["x"] / 2 + batch["y"][0], {"x": image, "y": [image]})

    def test_by_name_and_inside_another_function(self):
        inner = fl.function(lambda image: image / 255)
        array = np.array([1, 2], "uint8")
        agree(lambda x: inner(image=array) + x, fl.tensor([0.0, 0.0]))


class TestPrinting:
    def lines(self, f, *args):
        found = []
        for mode in ("imperative", "program"):
            self.capsys.readouterr()
            run(f, *args, mode=mode)
            found.append(self.capsys.readouterr().out)
        assert found[0] == found[1]
        return found[0]

    @pytest.fixture(autouse=True)
    def captured(self, capsys):
        self.capsys = capsys

    def test_f_strings(self):
        def f(x):
            print(f"sum {fl.sum(x):.3f} of {x} ({x!r}), {2 + 1}", "and", fl.max(x), "end", sep=" | ", end="!\n")
            print(f"{fl.sum(x):>10.2f}|{fl.sum(x)}|")
            return x

        assert self.lines(f, X).startswith("sum 3.000 of [1.0, -2.0, 4.0]")

    def test_numbers(self):
        def f(n):
            k, s = 0, 0.1
            for i in range(n):
                k, s = k + i, s * 3
                print("trip", i)
                print(f"{k:03d} {s} {s!r} {k > 1}")
            print(k, s)
            return k

        assert "trip 0\n000 0.3" in self.lines(f, N)

    @pytest.mark.parametrize(
        "f",
        [
            lambda x: {f"{x}": x},
            lambda x: str(x),
            lambda x: format(x, ".2f"),
            lambda x: "{}".format(x),
            lambda x: "%s" % x,
            lambda x: print("text " + f"{x}"),
            lambda x: print([x, x]),
            lambda x: logging.warning("x is %s", x),
            lambda x: logging.getLogger("x").info("x is %s", [x]),
        ],
    )
    def test_a_text_before_the_run_is_refused(self, f):
        with pytest.raises((RuntimeError, TypeError), match=r"test_numbers.py:\d+: .*\n  remedy: "):
            run(f, X)

    def test_repr_stays(self):
        run(lambda x: (repr(x), x)[1], X)


FORMULAS = [
    lambda x, s: fl.leaky_relu(x, s),
    lambda x, s: fl.elu(x, s),
    lambda x, s: fl.celu(x, s),
    lambda x, s: fl.clip(x, -s, s),
    lambda x, s: fl.threshold(x, 0.5, s),
    lambda x, s: fl.soft_shrink(x, s),
    lambda x, s: fl.masked_fill(x, x > 0, s),
    lambda x, s: fl.full((3,), s) * x,
    lambda x, s: fl.full_like(x, s) * x,
    lambda x, s: fl.pad(x, [1], [1], value=s),
    lambda x, s: fl.tensor([s, 2.0, s * 3]) * x,
    lambda x, s: fl.tensor([[s], [s * s]]),
]


class TestTensorsAsOptions:

    @pytest.mark.parametrize("f", FORMULAS)
    def test_gradients_reach_them(self, f):
        found = []
        for mode in ("imperative", "program"):
            with fl.mode(mode):
                s = fl.tensor(0.3).track()
                y = fl.function(lambda x, s: fl.sum(f(x, s)))(X, s)
                y.backward()
                found.append((y.item(), s.grad.item()))
        assert found[0] == found[1] and found[0][1] != 0.0
        plain = fl.sum(f(X, 0.3)).item()
        assert found[0][0] == pytest.approx(plain, abs=1e-5)

    @pytest.mark.parametrize(
        "f",
        [
            lambda x, s: fl.dropout(x, s),
            lambda x, s: fl.softplus(x, s),
            lambda x, s: fl.norm(x, s),
            lambda x, s: fl.arange(0.0, s, 1.0, "float32"),
            lambda x, s: fl.uniform("f32[2]", 0.0, s),
        ],
    )
    def test_others_are_refused(self, f):
        for mode in ("imperative", "program"):
            with pytest.raises(TypeError, match=r"test_numbers.py:\d+: ") as caught:
                run(f, X, fl.tensor(0.3).track(), mode=mode)
            assert caught.value.remedy and caught.value.op

    @pytest.mark.parametrize("f", [FORMULAS[i] for i in (0, 4, 6, 7, 8, 9)])
    def test_numbers_of_the_program(self, f):
        def g(x, n):
            s = 0.1
            for _ in range(n):
                s = s * 2.3
            return f(x, s)

        agree(g, X, N)

    def test_lists_that_are_assigned(self):
        found = []
        for mode in ("imperative", "program"):
            with fl.mode(mode):
                s = fl.tensor(0.3).track()
                y = fl.function(lambda x, s: fl.sum(x.setitem(slice(0, 2), [s, 2.0]) * x))(X, s)
                y.backward()
                found.append((y.item(), s.grad.item()))
        assert found[0] == found[1] and found[0][1] == 1.0

    def test_options_of_layers(self):
        s = fl.tensor(0.3).track()
        with pytest.raises(ValueError, match=r"test_numbers.py:\d+: an option of a layer is a number"):
            fl.nn.LeakyReLU(s)
        fl.nn.LeakyReLU(fl.tensor(0.3))

    def test_a_plain_tensor_is_a_number(self):
        assert fl.dropout(X, fl.tensor(0.0)).tolist() == X.tolist()
