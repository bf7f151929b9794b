"""Junk arguments: a result or an exception, soon; never a panic, an end of the process, or a call that does not hear Ctrl-C."""

import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import fluvial as fl
import fluvial.torch as torch
from fluvial.fluid.paddle import creator

sys.path.insert(0, str(Path(__file__).parent))
from junk import workers  # noqa: E402
from junk.calls import Call  # noqa: E402
from junk.targets import targets  # noqa: E402

#: About a minute of one core; `make test-junk` makes as many as one likes.
SEEDS = int(os.environ.get("FLUVIAL_JUNK_CALLS", "3000"))


def test_everything_public_is_called():
    names = {target.name for target in targets()}
    assert len(names) > 1000
    expected = ["sum", "nn.LSTM", "optimizer.Adam", "Tensor.reshape", "Tensor.__getitem__", "reader", "load_states", "linalg.solve"]
    assert {f"fluvial.{name}" for name in expected} <= names


def test_a_call_follows_from_its_seed():
    for seed in range(40):
        texts = []
        for _ in range(2):
            call = Call(seed)
            try:
                call.prepare()
            except Exception:
                pass
            texts.append(str(call).split(" at 0x")[0])
        assert texts[0] == texts[1]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind, share", [("calls", 1), ("little", 3), ("files", 2)])
def test_junk_calls(kind, share):
    first, number = (1_000_000 if kind == "little" else 0), SEEDS // share
    outcomes, faults = workers.run(first, first + number, workers.calls(kind=kind))
    assert not faults, "\n".join(map(str, faults))
    assert outcomes["refused"] > outcomes["returned"] > number // 20


X = fl.tensor(np.arange(12.0, dtype="f4").reshape(3, 4))
IMAGE = fl.tensor(np.zeros((1, 1, 4, 4), "f4"))
KNOT: list = []
KNOT.append(KNOT)
REFUSED = {
    "rotary_tables": lambda: fl.rotary_tables(1, 2**62, 10000.0, "float32"),
    "chunk": lambda: fl.chunk(fl.zeros([0]), 2**63 - 1, 0),
    "adaptive_max_pool2d": lambda: fl.adaptive_max_pool2d(IMAGE, [2**40, 1]),
    "adaptive_max_pool2d of none": lambda: fl.adaptive_max_pool2d(fl.zeros([0, 1, 4, 4]), [2**40, 1]),
    "roll": lambda: fl.roll(X, range(2**40)),
    "sum": lambda: fl.sum(X, axis=range(2**40)),
    "reshape": lambda: fl.reshape(X, range(2**40)),
    "reshape for ever": lambda: fl.reshape(X, itertools.repeat(1)),
    "LSTM": lambda: fl.nn.LSTM(3, 4, num_layers=2**31),
    "tensor": lambda: fl.tensor(range(2**40)),
    "tensor of a knot": lambda: fl.tensor(KNOT),
    "concat": lambda: fl.concat(itertools.repeat(X), 0) if False else fl.concat(range(2**40), 0),
    "milestones for ever": lambda: fl.optimizer.lr.multi_step(itertools.count()),
    "rates for ever": lambda: fl.optimizer.lr.piecewise([1], itertools.repeat(0.1)),
    "buckets for ever": lambda: fl.reader({"x": np.zeros([4, 2])}).bucket(2, "x", itertools.count(1)),
    "sizes of a variable for ever": lambda: fl.layers.create_parameter(itertools.repeat(1), "float32"),
    "sizes of data for ever": lambda: fl.layers.data("x", itertools.repeat(1)),
    "a window for ever": lambda: fl.imperative.Conv2D(3, 4, itertools.count()),
    "axes for ever": lambda: fl.layers.transpose(X, itertools.count()),
    "unbind": lambda: fl.unbind(fl.expand(fl.zeros([1]), [2**40]), 0),
    "a layer of a knot": lambda: fl.nn.Conv2D(3, 4, KNOT),
    "diff": lambda: fl.diff(X, n=-1),
    "arange beyond what is exact": lambda: fl.arange(2**62 - 2, 2**62),
    "arange back from what is not exact": lambda: fl.arange(-(2**63), -(2**63) + 2),
    "a tensor as an option of a layer": lambda: fl.nn.Dropout(fl.expand(fl.zeros([1]), [2**40])),
    "a tensor as a window": lambda: fl.nn.Conv2d(1, 1, fl.expand(fl.zeros([1], dtype="int64"), [2**31])),
    "resampling for ever": lambda: fl.interpolate(IMAGE, size=[2**40, 1]),
    "planes beyond all memory": lambda: fl.max_unpool2d(IMAGE, fl.zeros([1, 1, 4, 4], "int64"), 1, size=[2**62, 2**31]),
    "a tensor as a state dict": lambda: fl.nn.Linear(2, 1).load_state_dict(fl.expand(fl.zeros([1]), [2**40]), False),
    "a negative order": lambda: fl.zeros([2**62, 2**62]),
}


@pytest.mark.parametrize(
    "use",
    [
        lambda file: torch.save({}, file),
        lambda file: torch.load(file),
        lambda file: fl.load_torch(file),
        lambda file: fl.export_view(file),
        lambda file: fl.save({}, file),
        lambda file: fl.load(file),
        lambda file: list(creator.text_file(file)()),
    ],
)
def test_a_number_is_no_path(use):
    """An open file of the process would be used, and closed."""
    mine = os.open(os.devnull, os.O_RDWR)
    with pytest.raises((TypeError, ValueError)):
        use(mine)
    os.close(mine)


@pytest.mark.parametrize("name", REFUSED)
def test_known_junk_is_refused(name):
    with pytest.raises((ValueError, TypeError, MemoryError, IndexError, OverflowError)):
        REFUSED[name]()


def test_differences_of_high_order_are_empty():
    assert fl.diff(X, n=2**40).shape == (3, 0)
    assert fl.diff(X, n=3).tolist() == np.diff(X.numpy(), n=3).tolist()


@pytest.mark.parametrize("k", [2**63 - 1, 2**62, 4, -(2**62), -(2**63)])
def test_diagonals_far_away(k):
    whole, nothing = X.tolist(), fl.zeros([3, 4]).tolist()
    assert fl.tril(X, k).tolist() == (whole if k > 0 else nothing)
    assert fl.triu(X, k).tolist() == (nothing if k > 0 else whole)


def interrupted(lines, after=1.0, within=8.0):
    """Runs a script, sends Ctrl-C when it says so, and gives what it printed."""
    script = "import signal, sys\nimport numpy as np\nimport fluvial as fl\n" + textwrap.dedent(lines)
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(after)
        child.send_signal(signal.SIGINT)
        return child.communicate(timeout=within)
    finally:
        child.kill()


LONG = {
    "a sum": "fl.sum(fl.expand(fl.zeros([1]), [2**40]))",
    "a product": "fl.expand(fl.zeros([1, 1]), [2**12, 2**14]) @ fl.expand(fl.zeros([1, 1]), [2**14, 2**12])",
    "rows": "list(fl.expand(fl.zeros([1, 1]), [2**40, 1]))",
    "lists": "fl.zeros([2**40, 0]).tolist()",
}


@pytest.mark.skipif(os.name != "posix", reason="signals of Unix")
@pytest.mark.parametrize("name", LONG)
def test_long_calls_hear_an_interrupt(name):
    lines = f"""
        print("ready", flush=True)
        try:
            {LONG[name]}
            print("ended")
        except KeyboardInterrupt:
            print("heard")
        except MemoryError:
            print("heard")
        print(fl.sum(fl.tensor([1.0, 2.0])).item())
    """
    out, err = interrupted(lines, within=40)
    assert out.split() == ["heard", "3.0"], err


#: Five parameters that one update moves together: each holds the number of updates.
MODEL = """
    class Model(fl.nn.Layer):
        def __init__(self):
            super().__init__()
            self.parts = [self.create_parameter([n], default_initializer=fl.initializer.Constant(0.0)) for n in (2, 30_000, 3, 9_000, 1)]
            for i, part in enumerate(self.parts):
                setattr(self, f"part{i}", part)

        def forward(self):
            return -sum((fl.sum(part) for part in self.parts), fl.tensor(0.0))

    model = Model()
    optimizer = OPTIMIZER
    def update():
        loss = model()
        optimizer.minimize(loss)
        return loss
    STEP
    step()
    def shown():
        return [sorted(set(part.numpy().tolist())) for part in model.parts]
"""
STEPS = {
    "lines": "step = update",
    "compiled": "step = fl.function(update)",
    "interpreted": "program = fl.build(update, {}); run = program.run\n    def step(): return run(compiled=False)",
}
OWN = """
    class Own(fl.optimizer.Optimizer):
        def update(self, u):
            return u.param - u.lr * u.grad
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of Unix")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", STEPS)
def test_an_interrupted_step_is_whole(kind):
    model = MODEL.replace("STEP", STEPS[kind]).replace("OPTIMIZER", "fl.optimizer.SGD(learning_rate=1.0, parameters=model.parameters())")
    lines = model + """
    import os, threading, time, random
    rng, halves, heard = random.Random(7), 0, 0
    def press(delay):
        time.sleep(delay)
        os.kill(os.getpid(), signal.SIGINT)
    print("ready", flush=True)
    try:
        while True:
            time.sleep(0.1)
    except KeyboardInterrupt:
        pass
    for trial in range(60):
        thread = threading.Thread(target=press, args=(rng.random() * 0.02,))
        try:
            thread.start()
            while True:
                step()
        except KeyboardInterrupt:
            heard += 1
        thread.join()
        found = shown()
        halves += len({tuple(part) for part in found}) != 1 or len(found[0]) != 1
    print(heard, halves)
    """
    out, err = interrupted(lines, after=0.2, within=100)
    assert out.split() == ["60", "0"], err


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", STEPS)
def test_threads_lose_no_update(kind):
    scope: dict = {"fl": fl, "np": np}
    model = MODEL.replace("STEP", STEPS[kind]).replace("OPTIMIZER", "fl.optimizer.Momentum(learning_rate=1.0, momentum=0.0, parameters=model.parameters())")
    with fl.State() as state:
        exec(textwrap.dedent(model), scope)
        state_of_all = state

        counted = []

        def train():
            with state_of_all:
                for _ in range(25):
                    try:
                        scope["step"]()
                        counted.append(1)
                    except RuntimeError as error:
                        # Line by line, another thread may come between a loss and its update.
                        assert kind == "lines" and "another value since" in str(error)

        threads = [threading.Thread(target=train) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert scope["shown"]() == [[1.0 + len(counted)]] * 5
        assert len(counted) == 200 or kind == "lines"
