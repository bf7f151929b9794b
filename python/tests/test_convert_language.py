"""The language of Python in programs: each function gives what it gives line by line, bit for bit."""

import importlib
import linecache
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest
from language import CASES, REFUSED

import fluvial as fl

for part in ("lists", "more_lists", "values", "names", "jumps", "indexing", "matching", "refused"):
    importlib.import_module(f"language.{part}")


@pytest.fixture(autouse=True)
def own_state():
    with fl.State() as state:
        yield state


def name_of(entry):
    return f"{entry[0].__module__.split('.')[-1]}.{entry[0].__name__}"


def leaves(value):
    if isinstance(value, (list, tuple)):
        return [("of", len(value)), *[leaf for part in value for leaf in leaves(part)]]
    if isinstance(value, dict):
        return leaves(list(value.values()))
    return [value]


def as_tensor(x):
    return fl.tensor(np.array(x, np.float32) if isinstance(x, float) else np.array(x))


def outcome(function, arguments):
    """What a call gives, or the class of the exception that it raises."""
    try:
        with fl.State():
            return leaves(function(*map(as_tensor, arguments)))
    except Exception as error:
        return type(error)


def same(a, b):
    """Equal bits; where only the run chooses, a number may be a tensor without axes, or a wider number."""
    if isinstance(a, fl.Tensor) and (not isinstance(b, fl.Tensor) or a.dtype != b.dtype):
        return False
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    if a.dtype.kind == "f" or b.dtype.kind == "f":
        # Of equal numbers only the sign of zero can differ.
        signs = np.signbit(a.astype(float)) == np.signbit(b.astype(float))
        return np.array_equal(a, b, equal_nan=True) and bool(np.all(signs | np.isnan(a.astype(float))))
    return a.tolist() == b.tolist()


@pytest.mark.parametrize("entry", CASES, ids=map(name_of, CASES))
def test_same_as_line_by_line(entry):
    function, inputs = entry
    program = fl.function(function)
    for arguments in inputs:
        expected, found = outcome(function, arguments), outcome(program, arguments)
        if isinstance(expected, type) or isinstance(found, type):
            assert expected is found
            continue
        assert len(expected) == len(found)
        assert all(map(same, expected, found)), (expected, found)


def test_there_are_enough_of_them():
    assert len(CASES) > 250 and len({name_of(entry) for entry in CASES}) == len(CASES)


@pytest.mark.parametrize("entry", REFUSED, ids=map(name_of, REFUSED))
def test_refused_at_the_line(entry):
    function, kind, text, arguments = entry
    first = function.__code__.co_firstlineno
    lines = Path(function.__code__.co_filename).read_text().splitlines()
    line = next(i for i, source in enumerate(lines, 1) if i > first and source.endswith("# here"))
    with pytest.raises(kind) as error:
        fl.function(function, whole=True)(*map(as_tensor, arguments))
    assert text in str(error.value)
    own = [f for f in traceback.extract_tb(error.value.__traceback__) if f.filename == function.__code__.co_filename]
    place = f"{function.__code__.co_filename}:{line}"
    assert (own and own[-1].lineno == line) or place in str(error.value)


SOURCE = """import fluvial as fl

def helper(x):
    return x * 2 if x > 0 else x

@fl.function
def f(x):
    if x > 0:
        return helper(x)
    return -x
"""


class TestSource:
    @pytest.fixture
    def module(self, tmp_path, monkeypatch):
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        path = tmp_path / f"edited_{tmp_path.name.replace('-', '_')}.py"
        path.write_text(SOURCE)
        yield importlib.import_module(path.stem), path
        del sys.modules[path.stem]

    def test_code_that_has_moved(self, module):
        module, path = module
        path.write_text("# one\n# two\n" + SOURCE)
        assert module.f(fl.tensor(2.0)).item() == 4.0

    def test_code_that_has_changed(self, module):
        module, path = module
        path.write_text(SOURCE.replace("x * 2", "x * 3"))
        with pytest.raises(RuntimeError, match=r":3: the source of `helper` has changed since it was imported"):
            module.f(fl.tensor(2.0))

    def test_code_that_was_loaded_again(self, module):
        module, path = module
        assert module.f(fl.tensor(2.0)).item() == 4.0
        path.write_text(SOURCE.replace("x * 2", "x * 3") + "# longer\n")
        again = importlib.reload(module)
        assert again.f(fl.tensor(2.0)).item() == 6.0

    def test_typed_where_the_text_is_kept(self):
        name = "<input of the test>"
        linecache.cache[name] = (len(SOURCE), None, SOURCE.splitlines(True), name)
        space: dict = {}
        exec(compile(SOURCE, name, "exec"), space)
        assert space["f"](fl.tensor(2.0)).item() == 4.0


class TestReaders:
    def reader(self):
        return fl.reader({"x": np.arange(12, dtype=np.float32)}, name="r").batch(4)

    def in_a_branch(self, reader, x):
        s = x * 0
        if x > 0:
            for batch in reader.iterate():
                s = s + fl.sum(batch)
        return s

    def in_a_loop(self, reader, x):
        s = x * 0
        while s < 200:
            for batch in reader.iterate():
                s = s + fl.sum(batch)
                if s > 150:
                    return s * 2
        return s

    def behind_a_loop_that_returns(self, reader, x):
        for i in range(5):
            if x * i > 2:
                return x
        s = x * 0
        for batch in reader.iterate():
            s = s + fl.sum(batch)
            if s > 30:
                break
        return s

    @pytest.mark.parametrize("name", ["in_a_branch", "in_a_loop", "behind_a_loop_that_returns"])
    def test_anywhere(self, name):
        for x in (1.0, -1.0):
            with fl.State():
                expected = getattr(self, name)(self.reader(), fl.tensor(x))
            with fl.State():
                found = fl.function(getattr(self, name))(self.reader(), fl.tensor(x))
            assert expected.item() == found.item()
