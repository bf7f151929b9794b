"""What a function reads and does outside of its arguments: followed at each call, or refused; never kept from the first call."""

import array
import asyncio
import collections
import contextlib
import contextvars
import datetime
import io
import itertools
import operator
import os
import queue
import random
import subprocess
import sys
import threading
import time
import types
import weakref
from pathlib import Path

import numpy as np
import pytest

import fluvial as fl

X = fl.tensor([1.0, 2.0])
RATE = 2.0


class Plain:
    pass


class Slots:
    __slots__ = ("k",)


class Own:
    """A class with methods of its own for all that Python asks of objects."""

    def __init__(self):
        self.k = 1.0

    def __call__(self):
        return self.k

    def __getitem__(self, i):
        return self.k * i

    def __len__(self):
        return int(self.k)

    def __contains__(self, value):
        return value == self.k

    def __bool__(self):
        return self.k > 2

    def __float__(self):
        return self.k

    def __eq__(self, other):
        return self.k == other

    def __mul__(self, other):
        return self.k * other

    def __iter__(self):
        yield self.k


def of_object(read):
    def make():
        held = Plain()
        held.k = 1.0

        def change():
            held.k += 1.0

        return lambda x: x * read(held), change

    return make


def of_own(read):
    def make():
        held = Own()

        def change():
            held.k += 1.0

        return lambda x: x * read(held), change

    return make


def new_attribute():
    held = Plain()

    def change():
        held.k = 1.0

    return lambda x: x * (2.0 if hasattr(held, "k") else 1.0), change


def slots():
    held = Slots()
    held.k = 1.0

    def change():
        held.k += 1.0

    return lambda x: x * held.k, change


def all_globals():
    global RATE
    RATE = 2.0

    def change():
        global RATE
        RATE += 1.0

    return lambda x: x * globals()["RATE"], change


def environment(read):
    def make():
        os.environ["FL_TEST_OUTSIDE"] = "1"

        def change():
            os.environ["FL_TEST_OUTSIDE"] += "1"

        return lambda x: x * float(read()), change

    return make


def default_object():
    def f(x, *, k=[1.0]):  # noqa: B006
        return x * k[0]

    def change():
        f.__kwdefaults__["k"][0] += 1.0

    return f, change


def context_variable():
    held = contextvars.ContextVar("held", default=1.0)
    return lambda x: x * held.get(), lambda: held.set(held.get() + 1.0)


def weak_reference():
    held = Plain()
    held.k = 1.0
    reference = weakref.ref(held)

    def change(held=held):
        held.k += 1.0

    return lambda x: x * reference().k, change


def maps():
    counter, chain = collections.Counter("aab"), collections.ChainMap({"z": 1.0})
    proxied = {"p": 1.0}
    proxy = types.MappingProxyType(proxied)

    def change():
        counter.update("a")
        chain["z"] += 1.0
        proxied["p"] += 1.0

    return lambda x: x * counter["a"] + x * chain["z"] + x * proxy["p"], change


def arrays():
    held, raw = array.array("d", [1.0]), bytearray(b"\x01")

    def change():
        held[0] += 1.0
        raw[0] += 1

    return lambda x: x * held[0] + x * raw[0], change


def event():
    held = threading.Event()
    return lambda x: x * (2.0 if held.is_set() else 1.0), held.set


def callable_or_not():
    held = Plain()
    held.k = None

    def change():
        held.k = len

    return lambda x: x * (2.0 if callable(held.k) else 1.0), change


def without_source():
    space = {"k": [1.0], "rate": 1.0}
    exec("def f(x): return g(x) * rate\ndef g(x): return x * k[0]", space)

    def change():
        space["k"][0] += 1.0
        space["rate"] += 0.5

    return space["f"], change


def in_a_coroutine():
    held = Plain()
    held.k = 1.0

    async def read():
        return held.k

    def change():
        held.k += 1.0

    return lambda x: x * asyncio.run(read()), change


def in_a_generator():
    held, rows = Plain(), [1.0]
    held.mode = "a"

    def inner(x):
        for row in rows:
            yield x * row

    def outer(x):
        yield from inner(x)
        match held.mode:
            case "a":
                yield x
            case str(text) if len(text) > 2:
                yield x * 7.0
            case _:
                yield x * 2.0

    def change():
        rows.append(2.0)
        held.mode += "b"

    return lambda x: sum(outer(x)), change


def by_a_generator():
    held = Plain()
    held.n, held.left = 0, 0

    def counted(x):
        try:
            while held.n < 4:
                held.n += 1
                if held.n % 2:
                    continue
                yield x * held.n
            else:
                yield x
        finally:
            held.n, held.left = 0, held.left + 1

    return lambda x: sum(counted(x)) + held.left, lambda: None


def in_a_context():
    held = Plain()
    held.k = 1.0

    class Raised:
        def __enter__(self):
            held.k += 1.0
            return held.k

        def __exit__(self, *_):
            held.k -= 1.0

    @contextlib.contextmanager
    def doubled():
        held.k *= 2.0
        yield held.k
        held.k /= 2.0

    def f(x):
        with Raised() as by, doubled():
            x = x * held.k * by
        return x + held.k

    def change():
        held.k += 5.0

    return f, change


def swallowed():
    log = []

    class Guarded:
        def __enter__(self):
            log.append("in")

        def __exit__(self, kind, *_):
            log.append("out")
            return kind is ValueError

    def f(x):
        with Guarded():
            raise ValueError("not told")
        with Guarded():
            return x * len(log)
        return x

    return f, lambda: None


FOLLOWED = {
    "a function without source": without_source,
    "a coroutine": in_a_coroutine,
    "a generator": in_a_generator,
    "a generator that changes": by_a_generator,
    "context managers": in_a_context,
    "a context manager that swallows": swallowed,
    "vars": of_object(lambda held: vars(held)["k"]),
    "__dict__": of_object(lambda held: held.__dict__["k"]),
    "attrgetter": of_object(operator.attrgetter("k")),
    "getattr": of_object(lambda held: getattr(held, "k", 9.0)),
    "hasattr": new_attribute,
    "slots": slots,
    "globals": all_globals,
    "os.environ": environment(lambda: os.environ["FL_TEST_OUTSIDE"]),
    "os.environ.get": environment(lambda: os.environ.get("FL_TEST_OUTSIDE", "7")),
    "os.getenv": environment(lambda: os.getenv("FL_TEST_OUTSIDE")),
    "a default": default_object,
    "a context variable": context_variable,
    "a weak reference": weak_reference,
    "maps": maps,
    "arrays": arrays,
    "an event": event,
    "callable": callable_or_not,
    "called": of_own(lambda own: own()),
    "an item": of_own(lambda own: own[2]),
    "len": of_own(len),
    "in": of_own(lambda own: 2.0 in own),
    "truth": of_own(lambda own: 2.0 if own else 1.0),
    "float": of_own(float),
    "==": of_own(lambda own: 2.0 if own == 2.0 else 1.0),
    "an operator": of_own(lambda own: own * 3.0),
    "a comprehension": of_own(lambda own: [value for value in own][0]),
    "sum": of_own(lambda own: sum(value for value in own)),
    "list": of_own(lambda own: max(list(own))),
    "a function of NumPy": of_own(lambda own: np.fromiter(own, float).sum()),
}


@pytest.mark.parametrize("make", FOLLOWED.values(), ids=FOLLOWED)
def test_what_is_read_is_followed(make):
    found = []
    for wrap in (lambda f: f, fl.function):
        function, change = make()
        called, results = wrap(function), []
        for _ in range(3):
            results.append(called(X).tolist())
            change()
        found.append(results)
    assert found[0] == found[1]


def nexts(make):
    held = make()
    return lambda x: x * next(held)


def goes_through(x, held=iter([1.0, 2.0])):  # noqa: B008
    return x * sum(value for value in held)


def writes(x, held=io.StringIO()):  # noqa: B008
    held.write("a line")
    return x


def opens(x):
    with open(os.devnull, "w") as file:
        file.write("a line")
    return x


def waits(x, held=queue.Queue()):  # noqa: B008
    held.put(1)
    return x


def runs(x):
    subprocess.run([sys.executable, "-c", ""])
    return x


REFUSED = {
    "an iterator": nexts(lambda: iter([1.0, 2.0])),
    "a generator": nexts(lambda: (x for x in [1.0, 2.0])),
    "a counter": nexts(itertools.count),
    "a pass through an iterator": goes_through,
    "random": lambda x: x * random.random(),
    "random.choice": lambda x: x * random.choice([1.0, 2.0]),
    "a generator of random": lambda x, held=random.Random(3): x * held.uniform(0.0, 1.0),
    "numpy.random": lambda x: x * float(np.random.rand()),
    "a generator of NumPy": lambda x, held=np.random.default_rng(0): x * held.random(),
    "time": lambda x: x * time.time(),
    "now": lambda x: x * datetime.datetime.now().year,
    "eval": lambda x: x * eval("RATE"),
    "a file": opens,
    "a stream": writes,
    "a queue": waits,
    "a process": runs,
    "os.path": lambda x: x * os.path.exists("somewhere"),
    "pathlib": lambda x: x * Path("somewhere").exists(),
}


@pytest.mark.parametrize("function", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_followed_is_refused_at_its_line(function):
    with pytest.raises(TypeError, match=rf"{Path(__file__).name}:\d+: [\s\S]*remedy: ") as told:
        fl.function(function)(X)
    assert "outside" in str(told.value)


def test_a_function_of_another_package_that_gives_nothing_is_refused():
    package = types.ModuleType("bars")
    exec("def update(n, seen=[]):\n    seen.append(n)", vars(package))

    def step(x):
        package.update(1)
        return x

    with pytest.raises(TypeError, match="`update` of the package `bars` reaches outside"):
        fl.function(step)(X)


def test_what_gives_the_same_is_not_refused():
    def step(x):
        time.sleep(0.0)
        at = time.gmtime(0)
        return x * at.tm_year + np.sqrt(4.0) + len(os.path.join("a", "b"))

    assert fl.function(step)(X).tolist() == step(X).tolist()


def test_a_generator_may_take_paths_that_only_the_run_knows():
    def parts(x):
        if fl.sum(x) > 0:
            yield x * 3.0
        yield x

    step = fl.function(lambda x: sum(parts(x)))
    for x in (X, -X, X):
        assert step(x).tolist() == sum(parts(x)).tolist()
    with pytest.raises(TypeError, match="the path of a generator depends on a value of the program"):
        fl.function(lambda x: sum(parts(x)), whole=True)(X)
