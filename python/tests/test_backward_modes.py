"""`backward`, gradients that only some runs have, and hooks: in functions what they are line by line."""

import numpy as np
import pytest

from test_gradients_modes import compare, modes

import fluvial as fl


class TestBackward:
    """`backward` inside of a function leaves gradients as the lines do."""

    def test_gradients_leave_and_accumulate(self):
        def make():
            w = fl.nn.Parameter(np.array([2.0, 3.0], np.float32))

            @fl.function
            def f(x):
                loss = fl.sum(w * w * x)
                loss.backward()
                return loss

            seen = [w.grad is None]
            for _ in range(3):
                f(fl.tensor([1.0, 0.3]))
                seen.append(w.grad.numpy().tobytes())
            w.zero_grad()
            f(fl.tensor([1.0, 0.3]))
            return [*seen, w.grad.numpy().tobytes()]

        modes(make)

    @pytest.mark.parametrize("order", ["zero first", "zero last", "never"])
    def test_steps_inside(self, order):
        def make():
            w = fl.nn.Parameter(np.array([2.0, 3.0], np.float32))
            optimizer = fl.optimizer.Adam([w], 0.1)

            @fl.function
            def f(x):
                if order == "zero first":
                    optimizer.zero_grad()
                loss = fl.sum(w * w * x)
                loss.backward()
                optimizer.step()
                if order == "zero last":
                    optimizer.zero_grad()
                return loss

            for _ in range(3):
                f(fl.tensor([1.0, 0.3]))
            return w.numpy().tobytes(), None if w.grad is None else w.grad.numpy().tobytes()

        modes(make)

    def test_backward_inside_and_step_outside(self):
        def make():
            w = fl.nn.Parameter(np.array([2.0, 3.0], np.float32))
            optimizer = fl.optimizer.SGD([w], 0.1)

            @fl.function
            def f(x):
                loss = fl.sum(w * w * x)
                loss.backward()
                return loss

            for _ in range(3):
                optimizer.zero_grad()
                f(fl.tensor([1.0, 0.3]))
                optimizer.step()
            return w.numpy().tobytes()

        modes(make)

    def test_what_was_there_before_is_seen_inside(self):
        def make():
            w = fl.nn.Parameter(np.array([2.0, 3.0], np.float32))
            fl.sum(w * 5.0).backward()

            @fl.function
            def f():
                return w.grad * 2.0

            return f().tolist()

        assert modes(make) == [10.0, 10.0]

    def test_in_a_loop(self):
        def make():
            w = fl.nn.Parameter(np.array([2.0, 3.0], np.float32))
            optimizer = fl.optimizer.Adam([w], 0.1)

            @fl.function
            def f(x):
                for row in x:
                    optimizer.zero_grad()
                    loss = fl.sum(w * w * row)
                    loss.backward()
                    optimizer.step()
                return w * 1.0

            f(fl.tensor([[1.0, 0.3], [0.5, 2.0], [1.0, 1.0]]))
            return w.numpy().tobytes(), w.grad.numpy().tobytes()

        modes(make)

    def test_accumulating_over_trips(self):
        found = []
        for mode in ("imperative", "program"):
            with fl.mode(mode):
                p = fl.nn.Parameter(fl.tensor([1.0, 2.0]))

                @fl.function
                def f(x, p=p):
                    p.zero_grad()
                    fl.sum(p * 0.0).backward()
                    for row in x:
                        fl.sum(p * p * row).backward()
                    return p.grad * 1.0

                found.append([f(fl.tensor([1.0, 2.0, 3.0])).tolist() for _ in range(2)])
        assert found[0] == found[1]


class TestLeavesOutside:
    """`backward` inside of a function leaves gradients in tracked tensors outside."""

    def outcomes(self, f, n_calls=3):
        found = []
        for mode in ("imperative", "program"):
            with fl.mode(mode):
                w = fl.tensor([1.5, -0.5]).track()
                function = fl.function(lambda x, w=w: f(x, w))
                calls = []
                for k in range(n_calls):
                    x = fl.tensor([1.0 + k, 2.0]).track()
                    result = function(x)
                    grads = [None if t.grad is None else t.grad.tolist() for t in (w, x)]
                    calls.append((result.tolist() if isinstance(result, fl.Tensor) else result, grads))
                found.append(calls)
        assert found[0] == found[1]
        return found[1]

    def test_captured_and_given(self):
        def f(x, w):
            fl.sum(w * x * x).backward()
            return x * 2.0

        assert self.outcomes(f)[1][1][0] is not None

    def test_twice_and_accumulated(self):
        def f(x, w):
            fl.sum(w * 0.1).backward()
            fl.sum(w * x.detach() * 0.3).backward()
            return w * 1.0

        assert self.outcomes(f)[0][1][1] is None

    def test_read_and_cleared_inside(self):
        def f(x, w):
            before = 0.0 if w.grad is None else fl.sum(w.grad)
            w.zero_grad()
            fl.sum(w * w * x.detach()).backward()
            return w.grad + before

        self.outcomes(f)

    def test_in_a_loop(self):
        def f(x, w):
            w.zero_grad()
            fl.sum(w * 0.0).backward()
            for row in x:
                fl.sum(w * row.detach()).backward()
            return w.grad * 1.0

        self.outcomes(f)

    def test_another_program_for_tensors_that_are_not_tracked(self):
        function = fl.function(lambda x, y: fl.sum(x * y).backward())
        for tracked in (True, False):
            x = fl.tensor([1.0, 2.0]).track()
            y = fl.tensor([3.0, 4.0])
            y = y.track() if tracked else y
            with fl.mode("program"):
                function(x, y)
            assert x.grad.tolist() == [3.0, 4.0]
            assert (y.grad is None) == (not tracked)

    def test_what_was_computed_outside_is_refused(self):
        x = fl.tensor([1.0, 2.0]).track()
        with fl.mode("program"), pytest.raises(RuntimeError, match="computed outside"):
            fl.function(lambda y: fl.sum(y * y).backward())(x * 2.0)


class TestPresence:
    """Whether a leaf has a gradient may be known only to the run; outside it is as the lines leave it."""

    def outcomes(self, f, calls=((1.0, 1.0), (-1.0, 1.0), (-2.0, 2.0), (3.0, 0.5)), zero=False):
        def make():
            w = fl.nn.Parameter(np.array([2.0, 3.0], np.float32))
            v = fl.tensor([0.5, -1.0]).track()
            function = fl.function(lambda x: f(x, w, v))
            seen = []
            for x in calls:
                try:
                    result = function(fl.tensor(list(x)))
                    result = None if result is None else result.tolist()
                except Exception as error:
                    result = type(error).__name__
                grads = [None if t.grad is None else t.grad.numpy().tobytes() for t in (w, v)]
                seen.append((result, grads))
                if zero:
                    w.zero_grad()
                    v.zero_grad()
            return seen

        return modes(make)

    @pytest.mark.parametrize("zero", [False, True])
    def test_one_branch(self, zero):
        def f(x, w, v):
            if fl.sum(x) > 0:
                fl.sum(w * w * v * x).backward()
            return x * 2.0

        seen = self.outcomes(f, zero=zero)
        assert seen[0][1][0] is not None

    @pytest.mark.parametrize("zero", [False, True])
    def test_then_accumulated(self, zero):
        def f(x, w, v):
            if fl.sum(x) > 0:
                fl.sum(w * w * x).backward()
            fl.sum(w * v).backward()
            return w.grad * 1.0

        self.outcomes(f, zero=zero)

    def test_before_and_cleared_in_one_branch(self):
        def f(x, w, v):
            fl.sum(w * v * x).backward()
            if x[0] > 0:
                w.zero_grad()
            elif x[1] > 1.0:
                fl.sum(w).backward()
                v.zero_grad()
            return x * 1.0

        seen = self.outcomes(f)
        assert seen[0][1][0] is None

    @pytest.mark.parametrize("zero", [False, True])
    def test_loops(self, zero):
        def f(x, w, v):
            i = fl.tensor(0.0)
            while i < fl.sum(x):
                fl.sum(w * w * v * (i + 0.1)).backward()
                i = i + 1
            return i

        assert self.outcomes(f, zero=zero)[1][1][1] is None or not zero

    def test_a_loop_that_runs_at_least_once(self):
        def f(x, w, v):
            for row in x:
                fl.sum(w * w * row).backward()
            return w.grad * 1.0

        self.outcomes(f)

    def test_branches_in_loops_in_branches(self):
        def f(x, w, v):
            if fl.sum(x) > -2.5:
                for row in x:
                    if row > 0:
                        fl.sum(w * row).backward()
                    elif row < -0.5:
                        fl.sum(v * w * row).backward()
                        w.zero_grad()
            return x * 1.0

        self.outcomes(f, calls=((1.0, -1.0), (-1.0, 1.0), (-2.0, -2.0), (-0.1, -0.2), (0.0, 0.0)))

    def test_a_branch_asks_what_is_known(self):
        def f(x, w, v):
            w.zero_grad()
            before = 0.0
            if fl.sum(x) > 0:
                before = 1.0 if w.grad is None else 2.0
                fl.sum(w * w * x).backward()
            return fl.tensor(0.0) + before

        self.outcomes(f)

    @pytest.mark.parametrize("place", ["before", "behind", "between", "in a branch", "in a loop"])
    def test_runs_that_fail(self, place):
        def f(x, w, v):
            if place == "before":
                assert x[0] > 0
            fl.sum(w * w * x).backward()
            if place == "behind":
                assert x[0] > 0
            w.zero_grad()
            if place == "between":
                assert x[0] > 0
            if place == "in a branch":
                if x[1] > 0:
                    fl.sum(w * v).backward()
                    assert x[0] > 0
                    v.zero_grad()
            if place == "in a loop":
                for row in x:
                    assert row > 0
                    fl.sum(w * v * row).backward()
            fl.sum(w * x).backward()
            return x * 1.0

        calls = ((1.0, 1.0), (-1.0, 1.0), (2.0, 2.0), (2.0, -1.0), (-1.0, 3.0), (3.0, 3.0))
        for zero in (False, True):
            seen = self.outcomes(f, calls, zero)
            assert "AssertionError" in [result for result, _ in seen]

    def test_attempts(self):
        def f(x, w, v):
            try:
                fl.sum(w * x).backward()
                assert x[0] > 0
                fl.sum(v * x).backward()
                assert x[1] > 0
            except AssertionError:
                fl.sum(w * w).backward()
            return x * 1.0

        calls = ((1.0, 1.0), (-1.0, 1.0), (1.0, -2.0), (-2.0, -1.0))
        for zero in (False, True):
            self.outcomes(f, calls, zero)


class TestNothingPasses:
    """What a branch that was not taken or a former call would lead to gets nothing, on compiled calls as well."""

    def test_one_of_several_results_of_a_branch_gets_nothing(self):
        def f(x, y, w, m):
            a, b = x * 1.0, y * 1.0
            if fl.max(b) > -1.4:
                a = fl.maximum(a, w)
            else:
                b = b * w
            for _ in m:
                b = fl.sum(m * x, axis=0)
            return fl.sum(a) + fl.sum(b * w)

        for y in ([-2.0, -1.0, -0.5], [-2.0, -1.5, -3.0]):
            m = np.array([[1.0, -2.0, 0.5], [0.5, 1.0, 2.0]], np.float32)
            arrays = [np.array(a, np.float32) for a in ([1.5, -0.5, 2.0], y, [1.5, -0.5, 2.0])]
            found = compare(lambda x, y, w, m=m: f(x, y, w, fl.tensor(m)), *arrays)
            assert found[1] is None

    def test_freed_tapes_that_no_gradient_reaches(self):
        def make():
            class Box:
                h = fl.tensor([0.0, 0.0])

            box = Box()

            @fl.function
            def f(x):
                a = x * 2.0
                if fl.sum(x) > 0:
                    box.h = a
                return a * 3.0

            seen = []
            for k in (1.0, -1.0, 2.0, -3.0):
                x = fl.tensor([k, k]).track()
                fl.sum(f(x)).backward()
                seen.append((x.grad.tolist(), box.h.tolist()))
            return seen

        modes(make)

    def test_freed_tapes_that_are_reached(self):
        def make():
            kept = []

            @fl.function
            def f(x):
                y = x * 2.0
                if kept:
                    y = y + kept[0]
                kept[:] = [y]
                return y * 3.0

            texts = []
            for k in (1.0, 2.0):
                x = fl.tensor([k, k]).track()
                try:
                    fl.sum(f(x)).backward()
                    texts.append(x.grad.tolist())
                except RuntimeError as error:
                    texts.append(str(error).split("\n")[0].split(": ", 1)[1])
            return texts

        assert "freed by an earlier" in modes(make)[1]


class TestPerhaps:
    """Gradients that only some runs give: None, or an error, as line by line."""

    def outcomes(self, f, sums=(1.0, -1.0, 2.0, -2.0)):
        def make():
            function = fl.function(f)
            seen = []
            for k in sums:
                x, w = fl.tensor([k, k]).track(), fl.tensor([0.5, -1.0]).track()
                try:
                    result = function(x, w)
                    seen.append(result.tolist() if isinstance(result, fl.Tensor) else result)
                except Exception as error:
                    text = str(error).split("\n")[0].partition(": ")[2]
                    seen.append((type(error).__name__, text))
            return seen

        return modes(make)

    def test_unused_in_the_branch_that_ran(self):
        def f(x, w):
            loss = fl.sum(x * x)
            if fl.sum(x) > 0:
                loss = loss + fl.sum(w * x)
            return fl.grad(loss, w)

        assert "no output depends on value 0" in self.outcomes(f)[1][1]

    def test_allowed(self):
        def f(x, w):
            loss = fl.sum(x * x)
            if fl.sum(x) > 0:
                loss = loss + fl.sum(w * x)
            return fl.grad(loss, w, allow_unused=True)

        assert self.outcomes(f)[1] is None

    def test_asked(self):
        def f(x, w):
            loss = fl.sum(x * x)
            if fl.sum(x) > 0:
                loss = loss + fl.sum(w * x)
            (g,) = fl.grad(loss, [w], allow_unused=True)
            if g is None:
                return x * 7.0
            return w - g

        assert self.outcomes(f)[1] == [-7.0, -7.0]

    def test_in_a_loop(self):
        def f(x, w):
            loss, i = fl.sum(x), fl.tensor(0.0)
            while i < fl.sum(x):
                loss = loss + fl.sum(w * w) * i
                i = i + 1
            g = fl.grad(loss, w, allow_unused=True)
            return fl.zeros_like(w) if g is None else g * 2.0

        self.outcomes(f)

    def test_grad_of_a_leaf_that_one_branch_leaves(self):
        def f(x, w):
            if fl.sum(x) > 0:
                fl.sum(w * x.detach()).backward()
            return w.grad

        assert self.outcomes(f)[1] is None

    def test_grad_of_a_leaf_is_asked_for(self):
        def f(x, w):
            if fl.sum(x) > 0:
                fl.sum(w * x.detach()).backward()
            if w.grad is not None:
                return w.grad * 3.0
            return x * 1.0

        assert self.outcomes(f)[0] == [3.0, 3.0]


def test_an_optimizer_over_names_remembers_by_scope():
    optimizer = fl.optimizer.Momentum(["w"], 0.1, momentum=0.9)

    def three_steps():
        with fl.State():
            for _ in range(3):
                w = fl.parameter("w", (2,), init=1.0)
                optimizer.minimize(fl.sum(w * w))
            return fl.read_state("w").tolist()

    assert three_steps() == three_steps()
