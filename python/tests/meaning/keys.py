"""Numbers that only the run knows, as keys."""

from .numbers import run

CASES = {
    "a number in a set": run("return len({n, 2}), len(set([n, 2])), len(frozenset([n, 2])), len({v for v in [n, 2]})"),
    "a number as a key": run("d = {1: 5., 2: 6.}\nreturn d.get(n, 1.), n in d, n in {1, 3}, d.setdefault(n, 9.), d.pop(n, 8.)"),
    "a number makes a key": run("return len({n: 1, 2: 3}), {k: 1 for k in [n, 2]}, dict([(n, 1)]), collections.Counter([n, 2])[2]"),
    "a hash": run("return hash(n) == hash(2)"),
}
