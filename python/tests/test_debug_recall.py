"""Variables that are gone where a program is stopped: fused, freed, left out. They are computed again."""

import re

import pytest
from dap.base import ErrorResponse
from debug_editor import Editor, Program, line_of

CLASSES = """
import sys
import numpy as np
import fluvial as fl
from fluvial import nn

random = np.random.default_rng(0)
x = fl.tensor(random.normal(size=(6, 4)).astype("float32"))
y = fl.tensor(random.integers(0, 3, size=(6, 1)))
fl.seed(1)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3), name="net")
sgd = fl.optimizer.SGD(net.parameters(), 0.1)

@fl.function
def train(x, y, steps):
    scale = fl.mean(x * x) + 2.0
    loss = fl.tensor(0.0)
    for step in range(steps):
        logits = net(x) * scale
        prob = fl.softmax(logits, -1)
        picked = fl.take_along_axis(prob, y, 1)
        dropped = fl.mean(prob) * 3.0
        twin = fl.softmax(logits, -1)
        small = prob * 0.5
        small = small + 1.0
        loss = -fl.mean(fl.log(picked)) * fl.mean(small)
        sgd.minimize(loss)
        done = loss * 1.0
    return done

address = fl.debug.listen(0)
print(address.port, address.token, flush=True)
fl.debug.listen(address.port, wait=True)
print(train(x, y, fl.tensor(4)).item(), flush=True)
"""


#: Variables bound by functions that the function calls, and a loop of Python, whose lines are written out.
HELPERS = """
import fluvial as fl
from fluvial import nn

fl.seed(1)

class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x):
        hidden = fl.tanh(self.a(x))
        return self.b(hidden)

net = Net()
adam = fl.optimizer.Adam(net.parameters(), 0.05)

def scaled(x):
    spread = fl.max(x)
    x -= fl.mean(x)
    return x / spread

def pick(prob, y):
    chosen = prob * fl.one_hot(y, 3)
    return fl.sum(chosen, axis=-1)

@fl.function
def train(xs, ys):
    total = fl.zeros([])
    for step in range(3):
        x = scaled(xs[step])
        logits = net(x)
        prob = fl.softmax(logits, -1)
        picked = pick(prob, ys[step])
        left = picked * 7.0
        loss = -fl.mean(fl.log(picked))
        adam.zero_grad()
        loss.backward()
        adam.step()
        total += loss.detach()
    return total

address = fl.debug.listen(0)
print(address.port, address.token, flush=True)
fl.debug.listen(address.port, wait=True)
xs = fl.reshape(fl.arange(1.0, 73.0), [3, 6, 4])
print(train(xs, fl.zeros([3, 6], "int64")).item(), flush=True)
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "classes.py"
    path.write_text(CLASSES)
    return path


@pytest.fixture
def start(script):
    programs = []

    def start(line, condition="", **more):
        program = Program(script)
        programs.append(program)
        port, token = program.line().split()
        editor = Editor(int(port))
        editor.program = program
        editor.begin(token)
        wanted = {"line": line_of(line, script), "condition": condition, **more}
        editor.ask("set_breakpoints", {"path": str(script)}, [wanted])
        editor.ask("configuration_done")
        editor.stopped()
        return editor

    yield start
    for program in programs:
        program.close()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What the script prints if nobody debugs it."""
    path = tmp_path_factory.mktemp("alone") / "classes.py"
    path.write_text(re.sub(r"address = (.*\n){3}", "", CLASSES))
    return Program(path).end()[0]


@pytest.mark.parametrize("line, condition", [("loss = -fl", "step == 2"), ("sgd.minimize", "step == 1")])
def test_every_variable_that_was_bound(start, alone, line, condition):
    editor = start(line, condition)
    assert editor.value("shape(logits)") == "i64[2] [6, 3]"
    assert editor.value("round(sum(prob) * 100)") == "600"
    assert editor.value("max(abs(twin - prob))") == "0"
    assert editor.value("abs(dropped - mean(prob) * 3) < 1e-6") == "true"
    assert editor.value("abs(mean(small) - mean(prob) / 2 - 1) < 1e-6") == "true"
    assert editor.value("abs(scale - mean(x * x) - 2) < 1e-5") == "true"
    assert editor.value("min(picked) > 0 and max(picked) < 1") == "true"
    variables = editor.variables("Variables")
    assert {"logits", "prob", "picked", "dropped", "twin", "small", "scale"} <= set(variables)
    # Looking changes nothing.
    editor.ask("disconnect")
    assert editor.program.end()[0] == alone


def test_a_value_of_the_trip_before(start):
    editor = start("logits = net", "step == 2")
    assert editor.value("round(sum(prob) * 100)") == "600"


def test_what_is_no_variable_is_said_so(start):
    editor = start("loss = -fl", "step == 1")
    answer = editor.ask("evaluate", "pickd", context="watch")
    assert isinstance(answer, ErrorResponse) and "did you mean `picked`?" in answer.message


def test_an_edit_of_what_nothing_uses_is_refused(start):
    editor = start("sgd.minimize", "step == 1")
    answer = editor.ask("evaluate", "dropped = 3", context="repl")
    assert isinstance(answer, ErrorResponse), answer


@pytest.mark.parametrize("stop", [0, 2])
def test_what_called_functions_give(tmp_path, stop):
    script = tmp_path / "helpers.py"
    script.write_text(HELPERS)
    alone = tmp_path / "alone.py"
    alone.write_text(re.sub(r"address = (.*\n){3}", "", HELPERS))
    program = Program(script)
    try:
        port, token = program.line().split()
        editor = Editor(int(port))
        editor.begin(token)
        editor.ask("set_breakpoints", {"path": str(script)}, [{"line": line_of("loss = -fl", script)}])
        editor.ask("configuration_done")
        editor.stopped()
        for _ in range(stop):
            editor.go("continue_", 1)
        assert editor.value("max(spread)") == str(24 * (stop + 1))
        assert editor.value("shape(logits)") == "i64[2] [6, 3]"
        assert editor.value("max(abs(picked - prob[:, 0])) < 1e-6") == "true"
        assert editor.value("abs(mean(x)) < 1e-5") == "true"
        # The scope is opened without harm, and what it cannot show is not a wrong value.
        variables = editor.variables("Variables")
        assert {"x", "logits", "prob", "picked"} <= set(variables)
        answer = editor.ask("evaluate", "max(abs(left - picked * 7))", context="watch")
        assert isinstance(answer, ErrorResponse) or answer.result == "0"
        editor.ask("disconnect")
        assert program.end()[0] == Program(alone).end()[0]
    finally:
        program.close()
