"""Classes of the user's, with methods that Python calls by itself: they mean in a program what they mean line by line."""

import collections
import copy
import dataclasses
import functools
import heapq
import itertools
import operator

import numpy as np
import pytest

import fluvial as fl

X = fl.tensor([1.0, 2.0])


class Rows:
    def __init__(self):
        self.rows = [1.0, 2.0]

    def __getitem__(self, i):
        return self.rows[i]

    def __setitem__(self, i, value):
        self.rows[i] = value

    def __len__(self):
        return len(self.rows)

    def __bool__(self):
        return self.rows[0] > 1

    def __contains__(self, value):
        return value in self.rows

    def __neg__(self):
        return -self.rows[0]

    def __radd__(self, other):
        return other + self.rows[0]

    def __rsub__(self, other):
        return other - self.rows[0]


class Vector:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return Vector(self.x + (other.x if isinstance(other, Vector) else other))

    __radd__ = __add__

    def __iadd__(self, other):
        self.x = self.x + other.x
        return self

    def __lt__(self, other):
        return fl.sum(self.x) < fl.sum(other.x)

    def __eq__(self, other):
        return fl.all(self.x == other.x)


class Fields(dict):
    def __getattr__(self, name):
        return self[name]


class Stored:
    """Keeps its attributes in a dict, and raises a KeyError for others."""

    def __init__(self):
        self.__dict__["held"] = {"rate": 1.0}

    def __getattr__(self, name):
        return self.held[name]

    def __setattr__(self, name, value):
        self.held[name] = value


def rows():
    held = Rows()

    def f(x):
        held[1] = held[1] + 1
        known = x * len(held) * (2.0 if held else 1.0) * (3.0 in held)
        return known, x * held[0], x * -held, x + held, 5.0 - held

    def change():
        held.rows[0] += 1
        held.rows.append(3.0)

    return f, change


def vectors():
    held = Vector(fl.ones((2,)))

    def f(x):
        nonlocal held
        held += Vector(x)
        both = sum([held, Vector(x)], Vector(x * 0.0))
        return (both.x if held < both else held.x), (x if both != held else -x)

    def change():
        held.x = held.x + 1.0

    return f, change


def fields():
    held = Fields(rate=1.0)

    def change():
        held["rate"] += 1.0

    return lambda x: x * held.rate, change


def stored():
    held = Stored()

    def f(x):
        held.twice = held.rate * 2.0
        return x * held.twice

    def change():
        held.rate = held.rate + 1.0

    return f, change


def counted():
    class Counted:
        n = 0

        def __init__(self):
            Counted.n += 1
            self.k = Counted.n

    return lambda x: x * Counted().k + Counted().k, lambda: None


def dispatched():
    @functools.singledispatch
    def factor(value):
        return 1.0

    @factor.register(int)
    def _(value):
        return 2.0

    held = [1]

    def change():
        held[0] = "text"

    return lambda x: x * factor(held[0]), change


def replaced():
    @dataclasses.dataclass(frozen=True)
    class Settings:
        a: float = 1.0

    held = [Settings()]

    def f(x):
        held[0] = dataclasses.replace(held[0], a=held[0].a + 1.0)
        return x * held[0].a

    return f, lambda: None


def copied():
    class Plain:
        w = fl.ones((2,))

    held = Plain()

    def f(x):
        other = copy.copy(held)
        other.w = other.w + x
        return other.w + held.w

    def change():
        held.w = held.w * 2.0

    return f, change


def heap():
    held = [3.0, 1.0, 2.0]

    def f(x):
        heapq.heapify(held)
        least = heapq.heappop(held)
        heapq.heappush(held, least + 1.5)
        return x * least

    return f, lambda: None


def default_lists():
    held = collections.defaultdict(list)

    def f(x):
        held["k"].append(x)
        return fl.sum(fl.stack(held["k"]))

    return f, lambda: None


def getters():
    held = {"a": 1.0}
    get = operator.methodcaller("get", "a", 0.0)

    def change():
        held["a"] += 1.0

    return lambda x: x * get(held) + sum(a * b for a, b in itertools.product(held.values(), held.values())), change


def views():
    whole = np.arange(4.0, dtype=np.float32)
    part = whole[1:3]

    def f(x):
        whole[1] = 7.0
        return x * part

    def change():
        whole[1] = 0.0

    return f, change


CASES = [rows, vectors, fields, stored, counted, dispatched, replaced, copied, heap, default_lists, getters, views]


def plain(result):
    return [part.tolist() if hasattr(part, "tolist") else part for part in result] if isinstance(result, tuple) else result.tolist()


@pytest.mark.parametrize("make", CASES)
def test_both_modes_agree(make):
    found = []
    for wrap in (lambda f: f, fl.function):
        function, change = make()
        called, results = wrap(function), []
        for _ in range(3):
            results.append(plain(called(X)))
            change()
        found.append(results)
    assert found[0] == found[1]
