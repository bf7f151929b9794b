"""`try` in functions: what is caught, and what is left behind, is what the lines catch and leave.

PYTEST_DONT_REWRITE
"""

import pytest

from test_failures import FAR, X, same

import fluvial as fl


class TestTry:
    def refused(self, f, *args, match="may fail when the program runs"):
        with pytest.raises(TypeError, match=match) as error, fl.mode("program"):
            fl.function(f)(*args)
        assert "test_failures_caught.py" in str(error.value)

    def test_an_op_that_fails(self):
        def f(s, x, i):
            try:
                y = x[i]
            except IndexError:
                y = x[0:1] * 2
            return y

        assert same(f, X, FAR)[0] == [2.0]
        assert same(f, X, fl.tensor([1]))[0] == [-2.0]

    def test_any_handler(self):
        def f(s, x, i):
            try:
                y = x[i]
            except Exception:
                y = -x[0:1]
            return y

        assert same(f, X, FAR)[0] == [-1.0]

        def g(s, x, i):
            try:
                y = x[i]
            except:  # noqa: E722
                y = -x[0:1]
            return y

        assert same(g, X, FAR)[0] == [-1.0]

        def h(s, x, i):
            n = 0
            try:
                for _ in range(fl.sum(i)):
                    n = n + 1
                    x = x + x[i]
                    i = i + 1
            except (KeyError, IndexError):
                n = n + 10
            return x, n

        assert same(h, X, FAR)[0][1] == 11
        assert same(h, X, fl.tensor([1]))[0][1] == 1

    def test_another_handler(self):
        def f(s, x, i):
            try:
                y = x[i]
            except KeyError:
                y = x
            return y

        assert same(f, X, FAR)[0] is IndexError
        assert same(f, X, fl.tensor([0]))[0] == [1.0]

    def test_a_shape(self):
        def f(s, x):
            try:
                y = x + fl.tensor([1.0, 2.0, 3.0])
            except ValueError:
                y = x * 2
            return y

        assert same(f, X)[0] == [2.0, -4.0]

    def test_an_assert_and_a_raise(self):
        def f(s, x):
            try:
                assert fl.sum(x) > 0
            except AssertionError:
                x = -x
            return x

        assert same(f, X)[0] == [-1.0, 2.0]
        assert same(f, -X)[0] == [-1.0, 2.0]

        def fail(x):
            if fl.sum(x) < 0:
                raise ValueError("negative")

        def g(s, x):
            try:
                fail(x)
            except ValueError as error:
                x = -x * len(str(error))
            return x

        assert same(g, X)[0] == [-8.0, 16.0]
        assert same(g, -X)[0] == [-1.0, 2.0]

    def test_what_was_done_before_the_fault(self):
        def f(s, x):
            n, y, done = 0, x, []
            s.a.set(x * 1)
            try:
                n, done = 1, [*done, "a"]
                s.a.set(x * 2)
                assert fl.sum(x) > 0
                y, n = x * 3, 2
                s.a.set(x * 3)
                assert fl.sum(x) > 5
                y = x * 4
            except AssertionError:
                n = n + 10
            return y, n, s.a * 1, len(done)

        for scale in (1.0, -1.0, -9.0):
            same(f, X * scale)

    def test_else_and_nested_handlers(self):
        def g(x, i):
            try:
                return x[i]
            except KeyError:
                return x[0:1]

        def f(s, x, i):
            n = 0
            try:
                try:
                    y = g(x, i)
                    assert fl.sum(y) > 0, "low"
                except AssertionError as error:
                    n = len(str(error))
                    raise
                else:
                    n = 5
            except LookupError:
                y, n = x[1:2], n + 100
            except AssertionError:
                y, n = x[0:1], n + 200
            return y, n

        assert same(f, X, FAR)[0][1] == 100
        assert same(f, X, fl.tensor([0]))[0][1] == 5
        assert same(f, X, fl.tensor([1]))[0][1] == 203

    def test_jumps_out_of_it(self):
        def f(s, x, n):
            y = x
            for k in range(n):
                try:
                    if k > 3:
                        raise KeyError(k)
                    if fl.sum(y) > 7:
                        break
                    y = y + 1
                except KeyError:
                    y = y * 2
                    continue
                y = y + 0.5
            else:
                return y * 100
            return y

        for n in (0, 2, 6):
            same(f, X, fl.tensor(n))
            same(f, X - 9, fl.tensor(n))

    def test_another_exception_behind(self):
        def f(s, x):
            try:
                assert fl.sum(x) > 0
            except AssertionError as error:
                raise ValueError("second") from error
            return x

        assert same(f, X)[0] is ValueError
        same(f, -X)

    def test_gradients_pass(self):
        def f(x):
            y = x * x
            try:
                y = y * x
                assert fl.sum(x) > 0
                y = y * 2.0
            except AssertionError:
                y = y + x
            return fl.sum(y)

        for start in ([1.0, 2.0], [-1.0, -2.0]):
            found = []
            for mode in ("imperative", "program"):
                with fl.mode(mode):
                    x = fl.tensor(start).track()
                    found.append(fl.grad(fl.function(f)(x), x).tolist())
                    inside = fl.function(lambda x: fl.grad(f(x), x))
                    found.append(inside(x).tolist())
            assert all(one == found[0] for one in found)

    def test_the_text_only_the_run_knows(self):
        def f(x, i):
            n = 0
            try:
                y = x[i]
            except IndexError as error:
                y, n = x[0:1], len(str(error))
            return y, n

        self.refused(f, X, FAR, match="known only when the program runs")

    def test_in_one_block(self):
        def fail():
            raise KeyError("k")

        def f(s, x):
            if fl.sum(x) < 0:
                try:
                    fail()
                except KeyError:
                    x = -x
            return x

        assert same(f, X)[0] == [-1.0, 2.0]

    def test_finally(self):
        def f(s, x, i):
            try:
                y = x[i]
            finally:
                s.a.set(x * 5)
            return y + x

        assert same(f, X, FAR)[0] is IndexError
        same(f, X, fl.tensor([0]))

        def h(s, x, i):
            try:
                y = x[i]
            finally:
                x = x * 2
            return y + x

        assert same(h, X, FAR)[0] is IndexError

        done = []

        def g(s, x, i):
            try:
                y = x[i]
            finally:
                done.append(1)
            return y

        assert same(g, X, FAR)[0] is IndexError

    def test_suppress(self):
        import contextlib

        def f(x, i):
            with contextlib.suppress(Exception):
                x = x[i]
            return x

        self.refused(f, X, FAR)

        def g(s, x):
            with contextlib.suppress(ValueError):
                x = x + fl.tensor([1.0, 2.0, 3.0])
            return x

        assert same(g, X)[0] == [1.0, -2.0]

    def test_a_function_of_the_host(self):
        def broken(x):
            raise LookupError("not here")

        fl.register_host("failures.broken", broken)

        def f(x):
            try:
                y = fl.host_call("failures.broken", [x], ["f32[2]"])[0]
            except LookupError:
                y = x
            return y

        self.refused(f, X)
