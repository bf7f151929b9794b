"""`fl.function`: signatures, structures, captures, errors and their lines, training."""

import collections
import logging
import math
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

import fluvial as fl
from fluvial import _function

sys.path.insert(0, str(Path(__file__).parent))
import train_mlp  # noqa: E402

X = np.array([[1.0, -2.0], [3.0, 0.5], [-1.0, 4.0]], np.float32)


@pytest.fixture(autouse=True)
def own_state():
    with fl.State() as state:
        yield state


def line_of(text):
    """The number of the line of this file that ends in a comment `# <text>`."""
    lines = Path(__file__).read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.endswith(f"# {text}"))


def last_line(error):
    """The last line of this file in a traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    return [frame.lineno for frame in frames if frame.filename == __file__][-1]


class TestSignatures:
    def test_a_second_size_makes_it_symbolic(self):
        @fl.function
        def f(x, y):
            for row in x:
                y = y + row
            return y

        for n in (3, 4, 5, 6):
            x = fl.full((n, 2), 1.0)
            assert f(x, fl.tensor([1.0, 2.0])).tolist() == [n + 1.0, n + 2.0]
        assert [list(p.inputs.values()) for p in f.programs] == [
            ["f32[3, 2]", "f32[2]"],
            ["f32[n0, 2]", "f32[2]"],
        ]
        f(fl.full((1, 2), 1.0), fl.tensor([1.0, 2.0]))
        assert len(f.programs) == 3
        f(fl.full((3, 2), 1.0, "float64"), fl.tensor([1.0, 2.0]))
        assert len(f.programs) == 4

    def test_sizes_that_go_together_share_a_symbol(self):
        @fl.function
        def f(x, y):
            return x + y

        for n in (2, 3, 4):
            f(fl.full((n,), 1.0), fl.full((n,), 1.0))
        assert list(f.programs[-1].inputs.values()) == ["f32[n0]", "f32[n0]"]

    def test_lengths_of_any_size(self):
        @fl.function
        def f(x):
            s = fl.zeros((), "float32")
            for i in range(len(x)):
                s = s + x[i] * i
            for i in range(x.shape[0]):
                s = s + x[i]
            return s

        for n in (2, 3, 5):
            x = np.arange(n).astype(np.float32)
            assert f(fl.tensor(x)).item() == (x * x).sum() + x.sum()
        assert len(f.programs) == 2

    def test_what_needs_a_size_gets_it(self, caplog):
        @fl.function
        def f(x):
            return x * math.sqrt(x.shape[0] ** 4)

        for n in (2, 3, 4):
            assert f(fl.full((n,), 1.0)).tolist() == [n * n] * n
        assert "a program for each size" in caplog.text

    def test_the_cache_is_bounded(self, monkeypatch):
        monkeypatch.setattr(_function, "CACHE_SIZE", 3)

        @fl.function
        def f(x, k):
            return x * len(k)

        for k in range(6):
            assert f(fl.tensor(1.0), "k" * k).item() == k
        assert len(f.programs) == 3

    def test_structures_keywords_and_defaults(self):
        Pair = collections.namedtuple("Pair", "a b")

        @fl.function
        def f(first, /, pair, *rest, scale=2.0, table=None, **more):
            total = first
            for part in [*pair, *rest, *more.values()]:
                total = total + part
            return {"total": total * scale, "pair": Pair(pair.b, pair.a), "name": table["name"]}

        one = fl.tensor([1.0])
        result = f(one, Pair(one, one * 2), one, table={"name": "n", "x": one}, extra=one)
        assert result["total"].tolist() == [12.0] and result["name"] == "n"
        assert isinstance(result["pair"], Pair) and result["pair"].a.item() == 2.0
        assert f(np.ones(1, np.float32), Pair(one, one), table={"name": 1})["total"].item() == 6.0

    def test_keywords_in_any_order(self):
        @fl.function
        def f(x, y):
            return x - y

        one, two = fl.tensor(1.0), fl.tensor(2.0)
        for _ in range(2):
            assert f(y=one, x=one).item() == 0.0
            assert f(y=one, x=two).item() == 1.0
            assert f(x=one, y=two).item() == -1.0
            assert f(one, y=two).item() == -1.0
        # One tensor in two places is a signature of its own: changing the one changes the other.
        assert len(f.programs) == 2

    def test_options(self, caplog):
        caplog.set_level(logging.INFO)

        @fl.function(fetch=["y"], donate="x", log=True)
        def f(x):
            return {"y": x * 2, "z": fl.exp(x)}

        assert list(f(fl.tensor(1.0))) == ["y"]
        assert "exp" not in str(f.programs[0]).split("return")[1] and "built for" in caplog.text
        with pytest.raises(TypeError, match="donate"):
            fl.function(lambda x: x, donate=["q"])(fl.tensor(1.0))

    def test_inside_a_program_and_inside_another_function(self):
        @fl.function
        def inner(x):
            return x if fl.sum(x) > 0 else -x

        @fl.function
        def outer(x):
            return inner(x) + inner(-x)

        assert outer(fl.tensor([-2.0])).item() == 4.0
        assert fl.build(outer, {"x": "f32[n]"})(fl.tensor([3.0])).item() == 6.0
        assert not inner.programs


GLOBAL = fl.tensor([1.0, 1.0])


class TestCaptures:
    def test_captured_tensors_are_seen_at_each_call(self):
        w = fl.tensor([2.0, 3.0]).track()

        @fl.function
        def f(x):
            if fl.sum(x) > 0:
                return fl.sum(x * w)
            return fl.sum(x)

        f(fl.tensor([1.0, 1.0])).backward()
        assert w.grad.tolist() == [1.0, 1.0]
        w = fl.tensor([5.0, 5.0])
        assert f(fl.tensor([1.0, 1.0])).item() == 10.0
        assert len(f.programs) == 1

    def test_two_forwards_before_one_backward(self):
        w = fl.tensor(2.0).track()

        @fl.function
        def f(x):
            while x < 10:
                x = x * w
            return x

        (f(fl.tensor(1.0)) + f(fl.tensor(3.0))).backward()
        assert w.grad.item() == 4 * 8.0 + 3 * 2 * 2.0

    def test_globals_and_attributes(self):
        class Model:
            def __init__(self):
                self.w = fl.tensor([1.0, 2.0])
                self.training = True

            @fl.function
            def forward(self, x):
                y = x * self.w + GLOBAL
                return y * 2 if self.training else y

        global GLOBAL
        model = Model()
        x = fl.tensor([1.0, 1.0])
        assert model.forward(x).tolist() == [4.0, 6.0]
        model.training = False
        assert model.forward(x).tolist() == [2.0, 3.0]
        model.w, GLOBAL = fl.tensor([0.0, 0.0]), fl.tensor([7.0, 7.0])
        assert model.forward(x).tolist() == [7.0, 7.0]
        GLOBAL = fl.tensor([1.0, 1.0])
        assert len(Model.forward.programs) == 2


class TestErrors:
    def test_unbound_names(self):
        @fl.function
        def branch(x):
            if fl.sum(x) > 0:
                y = x
            return y + 1  # unbound

        @fl.function
        def loop(x):
            while fl.sum(x) < 10:
                x = x + 1
                last = x
            return last  # unbound after a loop

        for f, where, scale in [(branch, "unbound", -1), (loop, "unbound after a loop", 10)]:
            assert f(fl.tensor(X)).shape == X.shape
            with pytest.raises(UnboundLocalError, match="'y'|'last'") as error:
                f(fl.tensor(X * scale))
            assert "cannot access" in str(error.value)
            assert last_line(error.value) == line_of(where)
        plain = fl.function(lambda x, flag: _plain_unbound(x, flag))
        assert plain(fl.tensor(1.0), True).item() == 1.0
        with pytest.raises(UnboundLocalError, match="'y'") as error:
            plain(fl.tensor(1.0), False)
        assert last_line(error.value) == line_of("plain unbound")

    def test_branches_that_differ(self):
        @fl.function(whole=True)
        def f(x):
            if fl.sum(x) > 0:  # differ
                y = x  # one
            else:
                y = fl.sum(x)  # other
            return y

        with pytest.raises(TypeError, match=r"f32\[3, 2\] and f32\[\]") as error:
            f(fl.tensor(X))
        assert last_line(error.value) == line_of("differ")
        for where in ("one", "other"):
            assert f"line {line_of(where)}" in str(error.value)

    def test_states_that_differ(self):
        @fl.function(whole=True)
        def f(x):
            y = fl.sum(x)
            while fl.sum(y) < 100:  # state
                y = y + x  # grows
            return y

        with pytest.raises(TypeError, match="`y`") as error:
            f(fl.tensor(X))
        assert last_line(error.value) == line_of("state")
        assert f"line {line_of('grows')}" in str(error.value)

    def test_objects_that_differ(self):
        @fl.function(whole=True)
        def f(x):
            name = "a"
            if fl.sum(x) > 0:
                name = "b"
            return x, name

        with pytest.raises(TypeError, match="`name` is 'b' or 'a'"):
            f(fl.tensor(X))

    def test_errors_of_ops_have_the_users_line(self):
        @fl.function
        def f(x):
            if fl.sum(x) > 0:
                x = x + fl.tensor([1.0, 2.0, 3.0])  # op
            return x

        with pytest.raises(ValueError, match=f"{__file__}:{line_of('op')}: add") as error:
            f(fl.tensor(X))
        assert last_line(error.value) == line_of("op")
        files = {frame.filename for frame in traceback.extract_tb(error.value.__traceback__)[-2:]}
        assert all("fluvial/_convert" not in file for file in files)
        assert not fl.is_building()

    def test_lines_of_the_program(self):
        @fl.function
        def f(x):
            while fl.sum(x) < 10:
                x = x * 2  # in the listing
            return x

        f(fl.tensor(X))
        assert f"{__file__}:{line_of('in the listing')} in f" in f.programs[0].text()

    def test_functions_without_source(self):
        space = {"fl": fl}
        exec(
            "def plain(x):\n    return x * 2\ndef branch(x):\n    return x if x > 0 else -x", space
        )
        assert fl.function(space["plain"])(fl.tensor(2.0)).item() == 4.0
        with pytest.raises(RuntimeError, match="fl.cond") as error:
            fl.function(space["branch"])(fl.tensor(2.0))
        assert str(error.value).startswith("`branch` (<string>:3) was not converted: there is no source")

    def test_lambdas_on_one_line(self):
        pair = (lambda x: x if x > 0 else -x, lambda x: x * 2 if x > 1 else x * 3)
        assert [fl.function(f)(fl.tensor(-2.0)).item() for f in pair] == [2.0, -6.0]

    def test_what_cannot_be_converted(self):
        class Box:
            pass

        box = Box()

        def keep(x):
            box.last = x  # kept

        @fl.function(whole=True)
        def f(x):
            if fl.sum(x) > 0:
                keep(x)
            return x

        with pytest.raises(TypeError, match="there on one path only") as error:
            f(fl.tensor(X))
        assert f":{line_of('kept')} changes it" in str(error.value)

        @fl.function(whole=True)
        def g(x):
            while fl.sum(x) > 0 and (y := fl.sum(x)) > 1:  # walrus
                x = x - y
            return x

        with pytest.raises(TypeError, match="in a statement before") as error:
            g(fl.tensor(X))
        assert last_line(error.value) == line_of("walrus")

    def test_endless_recursion(self):
        @fl.function(whole=True)
        def f(x):
            return countdown(x)

        with pytest.raises(RecursionError):
            f(fl.tensor(3.0))
        assert not fl.is_building()
        assert fl.function(countdown)(fl.tensor(3.0)).item() == 0.0


def countdown(x):
    if x > 0:
        return countdown(x - 1)
    return x


def _plain_unbound(x, flag):
    if flag:
        y = x
    return y  # plain unbound


class TestTraining:
    def test_both_modes_and_switching_give_the_same_losses(self, monkeypatch):
        mode = "program"
        monkeypatch.setattr(_function, "requested_mode", lambda: mode)

        def switch(step):
            nonlocal mode
            mode = "imperative" if step // 10 % 2 else "program"

        compiled = train_mlp.train(60)
        switching = train_mlp.train(60, switch)
        mode = "imperative"
        direct = train_mlp.train(60)
        assert compiled == direct == switching
        assert direct[-1] < 0.5 * direct[0]
        assert len(train_mlp.train_step.programs) == 1
        text = str(train_mlp.train_step.programs[0])
        assert "while" in text and "cond" in text
        assert len(Path(train_mlp.__file__).read_text().splitlines()) <= 80


def test_counters_are_put_back_when_a_block_is_traced_again():
    from fluvial._retrace import SNAPSHOTS

    counter = [0]

    def count():
        counter[0] += 1
        return counter[0]

    pair = (lambda: list(counter), lambda old: counter.__setitem__(slice(None), old))
    SNAPSHOTS.append(pair)
    try:

        @fl.function
        def f(x):
            y = 0
            for row in x:
                y = row[0] + count()
            if fl.sum(x) > 0:
                y = y * count()
            else:
                y = fl.cast(y, "float64") * count()
            return y

        f(fl.tensor(X))
        # As line by line: once a row, and once in the branch that was taken.
        assert counter == [4]
    finally:
        SNAPSHOTS.remove(pair)
