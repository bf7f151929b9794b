"""Faults are Python's own exceptions, with the user's line first."""

import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

import fluvial as fl

HERE = __file__


class Custom(Exception):
    """An exception of this module."""


class Demanding(Exception):
    """One of two arguments."""

    def __init__(self, first, second):
        super().__init__(first, second)


def line_of(comment):
    lines = Path(__file__).read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.endswith(f"# {comment}"))


def starts_at(error, comment):
    return str(error.value).startswith(f"{HERE}:{line_of(comment)}: ")


def raised_at(error, comment):
    """Whether the traceback ends at the line."""
    last = traceback.extract_tb(error.value.__traceback__)[-1]
    return (last.filename, last.lineno) == (HERE, line_of(comment))


def fault(kind, call, match=None):
    with pytest.raises(kind, match=match) as error:
        call()
    assert type(error.value) is kind
    return error


def test_the_class_of_each_fault():
    x = fl.tensor([1.0, 2.0])
    fault(ValueError, lambda: x + fl.tensor([1.0, 2.0, 3.0]), "broadcast")
    fault(ValueError, lambda: fl.cross_entropy(x, x, reduction="all"), "none of")
    fault(TypeError, lambda: fl.sqrt("x"))
    fault(TypeError, lambda: fl.bitwise_and(x, x))
    fault(TypeError, lambda: fl.build(lambda x: x, {"x": "f32[2]"}).run(x=np.zeros(2)), "f64")
    fault(IndexError, lambda: x[5], "range")
    fault(IndexError, lambda: fl.sum(x, axis=3))
    fault(fl.StateError, lambda: fl.read_state("no.such"))
    fault(ValueError, lambda: fl.Program.parse("nonsense"))
    fault(RuntimeError, lambda: fl.sum(x).backward())
    fault(RuntimeError, lambda: fl.build(lambda x: len(x) and x, {"x": "f32[n]"}), "only when")
    assert issubclass(fl.StateError, KeyError)


def test_dividing_ints_by_zero_is_no_fault():
    x = fl.tensor([7, -7])
    assert (x // 0).tolist() == (x % 0).tolist() == [0, 0]
    assert np.isinf((x / 0).numpy()).all()
    with pytest.raises(ZeroDivisionError):
        fl.build(lambda x: x * (1 // 0), {"x": "f32[n]"})


def test_the_users_line_is_first():
    x = fl.tensor([1.0, 2.0])
    with pytest.raises(ValueError) as error:
        x + fl.tensor([1.0, 2.0, 3.0])  # added
    assert starts_at(error, "added")


class TestAsserts:
    def test_in_a_program(self):
        @fl.function
        def f(x):
            assert fl.sum(x) > 0, "x should be positive"  # asserted
            return x * 2

        assert f(fl.tensor([1.0])).tolist() == [2.0]
        with pytest.raises(AssertionError, match="x should be positive") as error:
            f(fl.tensor([-1.0]))
        assert type(error.value) is AssertionError and raised_at(error, "asserted")

    def test_without_a_message(self):
        @fl.function
        def f(x):
            assert fl.sum(x) > 0  # silent
            return x

        with pytest.raises(AssertionError) as error:
            f(fl.tensor([-1.0]))
        assert raised_at(error, "silent")

    def test_in_a_loop(self):
        @fl.function
        def f(x):
            while fl.sum(x) < 100:
                x = x * 2
                assert fl.max(x) < 50, "too large"  # in a loop
            return x

        with pytest.raises(AssertionError, match="too large") as error:
            f(fl.tensor([1.0]))
        assert raised_at(error, "in a loop")

    def test_the_function_shows_values(self):
        with pytest.raises(AssertionError, match="positive") as error:
            fl.assert_(fl.tensor([True, False]), "positive", [fl.tensor([1.0, -2.0])])
        assert "-2" in str(error.value)


class TestRaise:
    @pytest.mark.parametrize("kind", [ValueError, ZeroDivisionError, IndexError, Custom])
    def test_of_a_program(self, kind):
        @fl.function
        def f(x):
            if fl.sum(x) > 10:
                raise kind("too big")  # raised
            return x

        assert f(fl.tensor([1.0])).tolist() == [1.0]
        with pytest.raises(kind) as error:
            f(fl.tensor([100.0]))
        assert type(error.value) is kind
        assert str(error.value) == "too big" and raised_at(error, "raised")

    def test_without_arguments(self):
        @fl.function
        def f(x):
            if fl.sum(x) > 10:
                raise StopAsyncIteration
            return x

        with pytest.raises(StopAsyncIteration):
            f(fl.tensor([100.0]))

    def test_of_any_class(self):
        class Local(Exception):
            pass

        @fl.function
        def f(x, demanding):
            if fl.sum(x) > 10:
                if demanding:
                    raise Demanding("one", "two")
                raise Local("three")
            return x

        for demanding, kind, args in ((True, Demanding, ("one", "two")), (False, Local, ("three",))):
            with pytest.raises(kind) as error:
                f(fl.tensor([100.0]), demanding)
            assert type(error.value) is kind and error.value.args == args


class TestFiles:
    def test_programs(self, tmp_path):
        missing = tmp_path / "none.flb"
        fault(FileNotFoundError, lambda: fl.Program.load(missing), "none.flb")
        fault(IsADirectoryError, lambda: fl.Program.load(tmp_path))
        (tmp_path / "bad.flb").write_bytes(b"\xff\x00")
        with pytest.raises(ValueError):
            fl.Program.load(tmp_path / "bad.flb")

    @pytest.fixture
    def folder(self, tmp_path):
        fl.set_root(tmp_path)
        yield tmp_path
        fl.set_root(None)

    def test_files_of_programs(self, folder):
        fl.save("sub/x.npy", [fl.tensor([1.0])], [])
        assert np.load(folder / "sub/x.npy").tolist() == [1.0]
        fault(FileNotFoundError, lambda: fl.load("none.npy", None, "f32[1]"), "none.npy")
        with pytest.raises(ValueError, match="not a path of a file"):
            fl.load("../x.npy", None, "f32[1]")
        with pytest.raises(FileNotFoundError, match="none.npy"):
            fl.build(lambda: fl.load("none.npy", None, "f32[1]"), {}).run()

    def test_without_a_folder(self):
        fl.set_root(None)
        fault(OSError, lambda: fl.load("x.npy", None, "f32[1]"), "fl.set_root")


def test_memory():
    program = fl.build(lambda x: fl.sum(fl.softmax(x @ x, 0) @ x), {"x": "f32[64, 64]"})
    limited = fl.compile(program, memory_limit=100)
    fault(MemoryError, lambda: limited(np.ones((64, 64), np.float32)), "raise the limit")
    with pytest.raises((MemoryError, ValueError)):
        fl.full((2**40, 2**20), 1.0)


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs signals of Unix")
def test_a_stop(tmp_path):
    script = """
import os, signal, threading
import fluvial as fl
@fl.function
def forever(x):
    while fl.sum(x) > -1:
        x = x * 1.0
    return x
x = fl.tensor([1.0])
forever(-2 * x)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    forever(x)
except KeyboardInterrupt as error:
    print("stopped", type(error) is KeyboardInterrupt)
"""
    # A file, since functions are converted from their source.
    path = tmp_path / "stop.py"
    path.write_text(script)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=30, env=environment
    )
    assert done.stdout == "stopped True\n", done.stderr


def test_a_stop_while_numpy_is_imported():
    script = """
import sys
import fluvial as fl
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "numpy":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
try:
    fl.tensor([1.0])
except KeyboardInterrupt:
    print("stopped")
del sys.meta_path[0]
print(fl.tensor([1.0]).tolist())
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, env=environment
    )
    assert done.stdout == "stopped\n[1.0]\n", done.stderr


def test_what_a_host_function_raises():
    def broken(x):
        raise LookupError("not here")

    fl.register_host("test.broken", broken)
    call = fl.build(lambda x: fl.host_call("test.broken", [x], ["f32[1]"])[0], {"x": "f32[1]"})
    fault(LookupError, lambda: call([1.0]), "not here")
