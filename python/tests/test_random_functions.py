"""Random functions of six kinds have the same outcome in both modes; the runner sees wrong ones."""

import os
import sys
import warnings
from pathlib import Path

import pytest

import fluvial as fl
from fluvial._tree import with_tensors

sys.path.insert(0, str(Path(__file__).parent))
from random_functions import KINDS, case  # noqa: E402
from random_functions.minimise import minimised  # noqa: E402
from random_functions.report import Report  # noqa: E402
from random_functions.running import judged  # noqa: E402
from random_functions.workers import Worker, judge_all  # noqa: E402

WORLD = """import fluvial as fl


def world(decorate):
    scale = 2.0
    kept = []

    @decorate
    def f(x, rows):
{body}

    def arguments(call):
        return [fl.tensor([1.0 + call, 2.0]), [fl.tensor([3.0]), fl.tensor([4.0])]]

    def change(call):
        nonlocal scale
        scale = scale + 1.0

    def after(result, given):
        pass

    def watch():
        return {{"scale": scale, "kept": kept}}

    return f, arguments, change, after, watch, 2
"""


def world(body):
    return WORLD.format(body="\n".join(f"        {line}" for line in body.split("\n")))


def remembering(function):
    """Gives the result of the first call for ever."""
    results = []

    def call(*given):
        if not results:
            results.append(function(*given))
        return results[0]

    return call


def apart(value):
    """A copy of a value that shares nothing."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(apart, value))
    return value * 1 if isinstance(value, fl.Tensor) else value


def copying(function):
    """Works on copies of the arguments."""
    return lambda *given: function(*map(apart, given))


def returning_copies(function):
    return lambda *given: apart(function(*given))


def making_tensors(function):
    """Makes tensors of the numbers that it returns."""

    def call(*given):
        result = function(*given)
        return fl.tensor(result) if isinstance(result, (int, float)) else result

    return call


def swallowing(function):
    """Ignores errors."""

    def call(*given):
        try:
            return function(*given)
        except Exception:
            return None

    return call


def rewording(function):
    """Raises errors of the same class from elsewhere, with other words."""

    def call(*given):
        try:
            return function(*given)
        except Exception as error:
            raise type(error)(f"{given[0].shape} is wrong") from None

    return call


def refusing(message):
    def decorate(function):
        def call(*given):
            raise TypeError(message)

        call.programs = []
        return call

    return decorate


def twice(function):
    """Calls the function two times."""

    def call(*given):
        function(*given)
        return function(*given)

    return call


def rounding(function):
    return lambda *given: function(*given) + 1e-7


WRONG = [
    (remembering, "return x * 2.0", "different", "result: value of tensor"),
    (remembering, "return scale", "different", "result: value of number"),
    (rounding, "return x", "different", "result: value of tensor (rounding)"),
    (copying, "rows.append(x)", "different", "arguments: value of container"),
    (copying, "x[0] = 5.0", "different", "arguments: value of tensor"),
    (copying, "return rows", "different", "result: sharing of container"),
    (returning_copies, "return x", "different", "result: sharing of tensor"),
    (returning_copies, "y = x + 1.0\nreturn y, y", "different", "result: sharing of tensor"),
    (making_tensors, "return 3", "different", "result: int is tensor"),
    (making_tensors, "return 0.5", "different", "result: float is tensor"),
    (swallowing, "raise ValueError", "different", "error: not raised (ValueError / None)"),
    (rewording, "raise ValueError('small')", "different", "error: message of ValueError"),
    (rewording, "raise ValueError('small')", "different", "error: line of ValueError"),
    (twice, "kept.append(1)", "different", "closure: value of container"),
    (twice, "print('x')", "different", "printed"),
    (refusing("no"), "return x", "placeless", "TypeError: no"),
    (refusing("/random/case.py:9: no"), "return x", "refused", "TypeError: FILE:N: no"),
    (lambda f: f, "return x", "equal", None),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_the_runner_sees_what_is_wrong(number):
    decorate, body, verdict, group = WRONG[number]
    found = judged(world(body), decorate)
    assert found.name == verdict, found
    assert group is None or group in found.groups


def test_a_refusal_that_changes_objects_is_seen():
    def decorate(function):
        def call(*given):
            function(*given)
            raise TypeError("/random/case.py:9: no")

        call.programs = []
        return call

    assert judged(world("kept.append(1)"), decorate).name == "dirty"


def left_alone(function):
    """The function itself; arrays become tensors before it sees them, as in both modes."""
    return lambda *given, **named: function(*with_tensors(given), **with_tensors(named))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_wrong_with_a_function_that_is_left_alone(kind):
    for seed in range(60):
        text = case(kind, seed).text
        found = judged(text, left_alone)
        assert found.name == "equal", f"{text}\n{found}"


def test_what_is_wrong_in_a_random_function_is_found_and_made_short():
    """Of functions that change what they are given, those that a wrong decorator spoils are seen."""
    wrong = [
        seed
        for seed in range(80)
        if judged(case("c", seed).text, returning_copies).name == "different"
    ]
    assert len(wrong) >= 20
    text = case("c", wrong[0]).text
    groups = judged(text, returning_copies).groups
    short = minimised(text, lambda part: _groups(part) == groups, n_tries=60)
    assert len(short) < len(text) and _groups(short) == groups


def _groups(text):
    try:
        return judged(text, returning_copies).groups
    except Exception:
        return None


def test_a_process_that_dies_or_hangs_is_replaced(monkeypatch):
    monkeypatch.setattr("random_functions.workers.SECONDS", 2.0)
    worker = Worker()
    found = []
    for body in ("import os\nos._exit(3)", "while True:\n    pass", "return x * 2.0"):
        found.append(worker.judge({"text": world(body)})["name"])
    worker.stop()
    assert found == ["crash", "timeout", "equal"]


@pytest.mark.parametrize("kind", KINDS)
def test_hazards_stand_in_branches_loops_and_helpers(kind):
    around = {"plain": 0, "branch": 0, "loop": 0, "helper": 0}
    for seed in range(200):
        for (_, name), count in case(kind, seed).tags.items():
            around[name] += count
    if kind != "a":
        assert min(around.values()) >= 40, around


def test_a_report_can_be_continued(tmp_path):
    report = Report(str(tmp_path / "report.json"))
    judge_all([{"kind": "a", "seed": seed} for seed in range(4)], 1, report.add)
    report.write()
    again = Report(report.path)
    assert again.is_done("a", 3) and not again.is_done("a", 4)
    assert again.summary() == report.summary()


#: Differences of gradients that are not counted: whether a result is tracked where only the run knows that, or after a step
#: inside of the function; and an element of a list that a loop fills, which is also given by itself.
KNOWN = r"is_tracked|sharing"
#: The kinds for which they do not count.
LOOSE = "e"
#: Kinds with the number of their seeds.
TABLE = [("a", 12000), ("b", 1500), ("c", 2000), ("d", 2000), ("e", 1000), ("f", 1500)]
#: Seeds whose difference is known. 481: a gradient that is zero instead of missing where many conditions decide. 212: taken
#: for the error of a backward pass outside through what one inside has perhaps freed, which nobody has shown yet.
SEEDS: dict[str, set[int]] = {
    "e": {212, 481},
}
#: How many cases one test has, and of how many of these, by kind, the difference may be one that is not known yet.
PART = 500
UNKNOWN = {"e": 1}
#: How many of the cases of a kind may be refused.
REFUSED = {"a": 0.01, "b": 0.01, "c": 0.01, "d": 0.01, "e": 0.01, "f": 0.01}


PARTS = [(row, first) for row in TABLE for first in range(0, row[1], PART)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("row, first", PARTS, ids=[f"{row[0]}{first}" for row, first in PARTS])
def test_random_functions(row, first):
    kind, _ = row
    wrong, refused = [], []
    n_unknown = UNKNOWN.get(kind, 0)

    def done(asked, answer):
        if answer["name"] == "refused":
            refused.append(asked["seed"])
        if answer["name"] not in ("equal", "refused"):
            text = case(kind, asked["seed"]).text
            wrong.append(
                f"{kind} {asked['seed']}: {answer['name']}\n{text}\n" + "\n".join(answer["details"])
            )

    seeds = [seed for seed in range(first, first + PART) if seed not in SEEDS.get(kind, ())]
    ignored = KNOWN if kind in LOOSE else ""
    todo = [{"kind": kind, "seed": seed, "ignored": ignored} for seed in seeds]
    judge_all(todo, os.cpu_count() or 1, done, lambda: len(wrong) > n_unknown)
    assert len(wrong) <= n_unknown, "\n\n".join(wrong)
    assert len(refused) <= REFUSED.get(kind, 1.0) * len(seeds), refused
    for text in wrong:
        warnings.warn(text)
