"""Values from outside of a function, and builds: followed, forgotten and told."""

import types

import numpy as np
import pytest

from test_objects import check, many, shown

import fluvial as fl

GLOBAL = 1.0


def set_global(value):
    global GLOBAL
    GLOBAL = value


def a_global(scene):
    return scene.x * GLOBAL


def an_attribute_of_an_attribute(scene):
    return scene.x * scene.cfg.w


def an_attribute_that_is_there_or_not(scene):
    return scene.x * getattr(scene, "gamma", 1.0)


def tensors_in_containers(scene):
    for w in scene.ws:
        scene.x = scene.x * w
    return scene.x * scene.bank["w"] + scene.bank["k"]


def an_array(scene):
    return scene.x * scene.array


def a_function(scene):
    return scene.f(scene.x)


def outside():
    set_global(1.0)
    return types.SimpleNamespace(
        x=fl.tensor([1.0, 2.0]),
        cfg=types.SimpleNamespace(w=2.0),
        ws=[fl.tensor([1.0, 1.0]), fl.tensor([2.0, 2.0])],
        bank={"w": fl.tensor([1.0, 3.0]), "k": 3},
        array=np.array([1.0, 2.0], np.float32),
        f=fl.tanh,
    )


@pytest.mark.parametrize(
    "function, changes, programs",
    [
        (a_global, [lambda _: set_global(2.0), lambda _: set_global(1.0)], 2),
        (a_global, [lambda _: set_global(True), lambda _: set_global(0.0), lambda _: set_global(-0.0)], 3),
        (an_attribute_of_an_attribute, [lambda s: setattr(s.cfg, "w", 3.0)], 2),
        (
            an_attribute_of_an_attribute,
            [lambda s: setattr(s, "cfg", types.SimpleNamespace(w=5.0)), lambda s: setattr(s.cfg, "w", 6.0)],
            None,
        ),
        (an_attribute_that_is_there_or_not, [lambda s: setattr(s, "gamma", 3.0), lambda s: delattr(s, "gamma")], 2),
        (tensors_in_containers, [lambda s: s.bank.update(w=fl.tensor([5.0, 6.0]))], 1),
        (tensors_in_containers, [lambda s: s.bank["w"].__setitem__(0, 9.0)], 1),
        (tensors_in_containers, [lambda s: s.bank.update(k=4), lambda s: s.ws.append(fl.tensor([3.0, 3.0]))], 3),
        (tensors_in_containers, [lambda s: s.ws.__setitem__(0, fl.tensor([7.0, 7.0]))], 1),
        (an_array, [lambda s: s.array.__setitem__(0, 9.0)], 2),
        (a_function, [lambda s: setattr(s, "f", fl.exp)], 2),
    ],
)
def test_values_from_outside(function, changes, programs):
    check(function, outside, [None, None, *changes, None], programs)


def test_closures():
    def world():
        k, w = [1.0], 2.0

        def f(x):
            nonlocal w
            w = w + 1
            return x * k[0] * w

        return f, lambda: k.__setitem__(0, 3.0), lambda: (k[0], w)

    found = []
    for mode in ("imperative", "program"):
        f, change, look = world()
        with fl.mode(mode):
            run = fl.function(f)
            x = fl.tensor([1.0, 2.0])
            found.append([run(x).tolist(), run(x).tolist(), change(), run(x).tolist(), look()])
    assert found[0] == found[1]


def test_a_path_of_two_names_to_one_tensor():
    scene = types.SimpleNamespace(a=fl.tensor([1.0]))
    scene.b = scene.a
    run = fl.function(lambda x: x * scene.a + scene.b)
    assert run(fl.tensor([2.0])).item() == 3.0
    scene.b = fl.tensor([10.0])
    assert run(fl.tensor([2.0])).item() == 12.0


def test_attributes_and_options_of_layers():
    class Net(fl.nn.Layer):
        def __init__(self):
            super().__init__()
            self.beta, self.drop = 1.0, fl.nn.Dropout(0.0)

        def forward(self, x):
            return self.drop(x) * self.beta

    net = Net()
    run = fl.function(lambda x: net(x))
    x = fl.tensor([1.0, 2.0])
    assert run(x).tolist() == [1.0, 2.0]
    net.beta = 2.0
    assert run(x).tolist() == [2.0, 4.0]
    net.drop.p = 1.0
    assert run(x).tolist() == [0.0, 0.0]
    net.drop.p, net.beta = 0.0, 1.0
    assert run(x).tolist() == [1.0, 2.0]


def test_what_is_remembered_is_freed():
    import gc
    import weakref

    class Model:
        pass

    model = Model()
    model.w = fl.tensor([2.0])
    run = fl.function(lambda m, x: m.w * x)
    assert run(model, fl.tensor([3.0])).item() == 6.0
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


# Building again ----------------------------------------------------------------------------------------


def test_builds_say_why():
    scene = types.SimpleNamespace(beta=1.0)
    run = fl.function(lambda x, k=1: x * scene.beta * k)
    run(fl.tensor([1.0]))
    scene.beta = 2.0
    run(fl.tensor([1.0]))
    run(fl.tensor([1.0]), k=3)
    assert len(run.builds) == 3
    assert "first time" in run.builds[0]
    assert "`scene.beta` has changed" in run.builds[1]
    assert "argument `k`" in run.builds[2]


def test_many_builds_warn():
    run = fl.function(lambda x, scene: fl.tile(x, [scene.n]))
    scene = types.SimpleNamespace(n=0)
    with pytest.warns(RuntimeWarning, match="built 8 times; the last time because `scene.n` has changed") as found:
        for _ in range(8):
            scene.n += 1
            run(fl.tensor([1.0]), scene)
    assert found[0].filename == __file__


def test_objects_are_as_before_when_a_build_fails():
    scene = many()
    before = shown(scene)

    @fl.function
    def f(x):
        scene.d["x"] = x
        scene.xs.append(x)
        scene.h = x
        scene.x[0] = 9.0
        np.asarray(x).sum()

    with pytest.raises(RuntimeError, match="has no elements yet|not known"):
        f(fl.tensor([1.0]))
    assert shown(scene) == before


def test_what_the_lines_do_before_they_fail_is_done():
    for mode in ("imperative", "program"):
        xs = [1, 2]

        @fl.function
        def f(x):
            xs.clear()
            return x * xs[0]

        with fl.mode(mode), pytest.raises(IndexError, match="list index out of range"):
            f(fl.tensor([1.0]))
        assert xs == []
