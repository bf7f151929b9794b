"""What the places of a program tell of its ops: the phase, the layer, the line, and the calls that led there."""

import inspect
import re

import pytest

import fluvial as fl

FILE = __file__
PLACE = re.compile(r"= ([\w.]+)[({].*  at (.*)$|^ *(assign)\{.*  at (.*)$")


class Net(fl.nn.Layer):
    def __init__(self):
        super().__init__("net")
        self.hidden = fl.nn.Linear(4, 3)
        self.cell = fl.nn.Linear(3, 3)

    def forward(self, x):
        h = fl.tanh(self.hidden(x))
        for _ in range(fl.tensor(3)):
            h = self.cell(h)
        return h


def line_of(text):
    """The line of this file on which a text stands first."""
    with open(FILE) as file:
        return 1 + next(i for i, line in enumerate(file) if text in line)


def loss_of(y):
    return fl.mean(fl.square(y))


def step(net):
    def run(x):
        loss = loss_of(net(x))
        fl.optimizer.Adam(net.parameters(), 0.1).minimize(loss)
        return loss

    return fl.build(run, {"x": "f32[2, 4]"})


class Place:
    """One op of a text, and the parts of its place."""

    def __init__(self, op, text):
        self.op, self.chain = op, text.split(" < ")
        marks = re.search(r" \[(.*)\]$", self.chain[0])
        marks = marks.group(1).split(", ") if marks else []
        layers = [mark.removeprefix("layer ") for mark in marks if mark.startswith("layer ")]
        self.layer = layers[0] if layers else None
        phases = [mark for mark in marks if not mark.startswith("layer ")]
        self.phase = phases[0] if phases else "forward"
        self.frames = [re.sub(r" \[.*\]$", "", place) for place in self.chain]


def places(program, block="main"):
    startup, main = program.text().split("\nmain")
    text = startup if block == "startup" else main
    found = []
    for line in text.split("\n"):
        matched = PLACE.search(line)
        if matched:
            op, place, assign, other = matched.groups()
            found.append(Place(op or assign, place or other))
    return found


@pytest.fixture
def program():
    with fl.State():
        yield step(Net())


def test_every_op_has_a_phase_a_layer_and_a_line(program):
    found = places(program)
    assert all(place.frames[0].startswith(FILE + ":") for place in found)
    by_phase = {phase: set() for phase in ("forward", "backward", "optimizer")}
    for place in found:
        by_phase[place.phase].add((place.layer, place.op))
    layers = {phase: {layer for layer, _ in pairs} for phase, pairs in by_phase.items()}
    assert layers["forward"] == {None, "net", "net.hidden", "net.cell"}
    assert layers["backward"] == {None, "net", "net.hidden", "net.cell"}
    assert layers["optimizer"] == {None}
    assert {("net", "tanh"), ("net.hidden", "matmul"), ("net.cell", "matmul")} <= by_phase["forward"]
    assert {("net.hidden", "matmul"), ("net.cell", "matmul")} <= by_phase["backward"]
    assert (None, "assign") in by_phase["optimizer"]
    assert "assign" not in {op for _, op in by_phase["forward"] | by_phase["backward"]}


def test_places_have_the_calls_that_led_there(program):
    found = places(program)
    tanh = next(place for place in found if place.op == "tanh")
    forward = line_of("h = fl.tanh(self.hidden(x))")
    called = line_of("loss = loss_of(net(x))")
    assert tanh.frames[:2] == [f"{FILE}:{forward} in forward", f"{FILE}:{called} in run"]
    assert tanh.frames[2] == f"{FILE}:{line_of('return fl.build(run')} in step"
    assert not any("site-packages" in frame for frame in tanh.frames)
    in_loop = [place for place in found if place.layer == "net.cell" and place.op == "matmul"]
    expected = [f"{FILE}:{line_of('h = self.cell(h)')} in forward", *tanh.frames[1:]]
    assert in_loop and all(place.frames == expected for place in in_loop)
    assert {place.phase for place in in_loop} == {"forward", "backward"}
    updates = [place for place in found if place.phase == "optimizer"]
    minimize = f"{FILE}:{line_of('0.1).minimize(loss)')} in run"
    assert all(place.frames[0] == minimize for place in updates)


def test_initialisers_belong_to_their_layers(program):
    found = {(place.phase, place.layer) for place in places(program, "startup")}
    assert {("forward", "net.hidden"), ("forward", "net.cell"), ("optimizer", None)} == found


def test_texts_and_files_keep_the_places(program, tmp_path):
    text = program.text()
    assert fl.Program.parse(text).text() == text
    for name in ("step.fl", "step.flb"):
        program.save(tmp_path / name)
        assert fl.Program.load(tmp_path / name).text() == text


def test_functional_layers_have_the_names_of_their_place():
    def run(x):
        return fl.layers.fc(fl.layers.fc(x, 3, act="relu"), 1, name="last")

    found = places(fl.build(run, {"x": "f32[2, 4]"}))
    layers = [place.layer for place in found]
    assert set(layers) == {"fc_0", "last"}
    assert "relu" in {place.op for place in found if place.layer == "fc_0"}


def test_the_chain_is_bounded():
    def deep(x, n):
        return fl.exp(x) if n == 0 else deep(x, n - 1)

    found = places(fl.build(lambda x: deep(x, 50), {"x": "f32[2]"}))
    assert [len(place.frames) for place in found] == [33]


def test_errors_still_begin_with_the_innermost_line():
    def wrong(x):
        return x @ x

    with pytest.raises(ValueError) as caught:
        fl.build(lambda x: wrong(x), {"x": "f32[2, 3]"})
    line = inspect.getsourcelines(wrong)[1] + 1
    assert str(caught.value).startswith(f"{FILE}:{line}: ")
