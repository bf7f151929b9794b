"""Objects of Python in programs: aliases, changes in place, arguments, and values from outside that change.

Each function is called in both modes on a world of its own; results, arguments and everything outside must be
the same, identities included.
"""

import collections
import dataclasses
import types
import warnings

import numpy as np
import pytest

import fluvial as fl


def shown(value, known=None):
    """A value as text, with the identities of tensors and containers."""
    known = {} if known is None else known
    if isinstance(value, (fl.Tensor, list, dict, set, collections.deque, np.ndarray)) or dataclasses.is_dataclass(value):
        if id(value) in known:
            return f"#{known[id(value)]}"
        known[id(value)] = len(known)
        number = f"#{known[id(value)]} "
    else:
        number = ""
    if isinstance(value, fl.Tensor):
        return f"{number}{value.dtype.name} {value.tolist()}"
    if isinstance(value, dict):
        return f"{number}{{{', '.join(f'{k!r}: {shown(v, known)}' for k, v in value.items())}}}"
    if isinstance(value, (list, tuple, collections.deque)):
        return f"{number}{type(value).__name__}({', '.join(shown(part, known) for part in value)})"
    if isinstance(value, types.SimpleNamespace) or dataclasses.is_dataclass(value):
        return f"{number}{type(value).__name__}{shown(vars(value), known)}"
    return f"{number}{value!r}"


def outcome(mode, function, world, calls):
    """What calls give and leave behind in a mode."""
    scene = world()
    found = []
    with fl.mode(mode):
        run = fl.function(function)
        for change in calls:
            if change is not None:
                change(scene)
            result = run(*scene.arguments) if hasattr(scene, "arguments") else run(scene)
            found.append(shown([result, scene]))
    return found, run


def check(function, world, calls=(None, None, None), programs=None):
    expected, _ = outcome("imperative", function, world, calls)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, run = outcome("program", function, world, calls)
    assert found == expected
    if programs is not None:
        assert len(run.programs) == programs, run.builds


def pair():
    return types.SimpleNamespace(arguments=[fl.tensor([1.0, 2.0])])


# Aliases -------------------------------------------------------------------------------------------


def of_a_name(x):
    y = x * 1.0
    z = y
    z[0] = 5.0
    return y


def bump(t):
    t[0] = t[0] + 5.0


def through_a_helper(x):
    y = x * 1.0
    bump(y)
    return y


def through_a_list(x):
    y = x * 1.0
    box = [y]
    y[0] = 5.0
    return box[0], box


def through_a_loop_over_a_list(x):
    y = x * 1.0
    for row in [y]:
        row[0] = 5.0
    return y


def of_an_augmented_item(x):
    y = z = x * 1.0
    z[0] += 5.0
    z += 1.0
    return y, z


def of_a_rebound_name(x):
    a = b = x * 1.0
    b = b * 2
    a[0] = 9.0
    return a, b


def in_branches(x):
    y = x * 1.0
    if fl.sum(x) > 0:
        y[0] = 7.0
    z = y
    if fl.sum(x) > 5:
        z[1] = 8.0
    else:
        z[1] += 1.0
    return y, z


def made_alike_in_branches(x):
    if fl.sum(x) > 0:
        a = b = x * 2
    else:
        a = b = x * 3
    a[0] = 1.0
    return a, b


def in_a_while_loop(x):
    y = x * 1.0
    z = y
    while fl.sum(y) < 20:
        z[0] = z[0] * 2
    return y


def in_a_for_loop_with_a_break(x):
    y = x * 1.0
    other = {"y": y}
    for i in range(5):
        y[0] = y[0] + i
        if y[0] > 3:
            break
    return y, other


def in_nested_blocks(x):
    y = x * 1.0
    box = [y, y]
    for i in range(3):
        if fl.sum(y) > i:
            box[1][0] = box[0][0] + 1.0
            if box[0][0] > 3:
                y[1] = 0.0
    return box


def of_what_is_returned(x):
    y = x * 2
    return x, y, [y, x], {"x": x}


def of_an_argument_by_a_condition(x):
    y = x if fl.sum(x) > 0 else x * 2
    z = x
    if fl.sum(x) > 100:
        z = y
    return y, z


@pytest.mark.parametrize(
    "function",
    [
        of_a_name,
        through_a_helper,
        through_a_list,
        through_a_loop_over_a_list,
        of_an_augmented_item,
        of_a_rebound_name,
        in_branches,
        made_alike_in_branches,
        in_a_while_loop,
        in_a_for_loop_with_a_break,
        in_nested_blocks,
        of_what_is_returned,
        of_an_argument_by_a_condition,
    ],
)
def test_aliases(function):
    check(function, pair, programs=1)


def test_one_tensor_given_twice():
    def f(x, y):
        x[0] = y[1] + 1.0
        return y

    def world():
        x = fl.tensor([1.0, 2.0])
        return types.SimpleNamespace(arguments=[x, x], other=fl.tensor([3.0, 4.0]))

    def apart(scene):
        scene.arguments = [scene.other, scene.arguments[0]]

    check(f, world, [None, apart, None])


# Arguments -----------------------------------------------------------------------------------------


def a_tensor(scene):
    scene.x[0] = 5.0
    scene.x[1] += scene.x[0]
    return scene.x


def a_list(scene):
    xs = scene.xs
    xs.append(scene.x * 2)
    xs[0] = scene.x
    xs.insert(1, 3)
    del xs[2]
    return xs.pop()


def a_sorted_list(scene):
    scene.ns.sort()
    scene.ns.reverse()
    return scene.x * scene.ns[0]


def a_dict(scene):
    scene.d["new"] = scene.x * 2
    scene.d.pop("gone", None)
    scene.d["n"] += 1
    scene.d.setdefault("more", [])
    scene.d["more"].append(scene.x)
    return scene.d


def a_set_and_a_deque(scene):
    scene.s.add(7)
    scene.s.discard(1)
    scene.q.append(scene.x)
    scene.q.popleft()
    return scene.q[-1] * len(scene.s)


def in_a_branch(scene):
    if fl.sum(scene.x) > 0:
        scene.xs[0] = scene.x * 2
        scene.d["n"] = 5
    else:
        scene.xs[0] = scene.x * 3
    return scene.x


def an_attribute(scene):
    scene.h = scene.h * 0.5 + scene.x
    scene.n += 1
    setattr(scene, "last", scene.h)
    del scene.gone
    return scene.h * scene.n


def many():
    x = fl.tensor([1.0, 2.0])
    return types.SimpleNamespace(
        x=x,
        xs=[1, x, 3],
        ns=[3, 1, 2],
        d={"gone": 1, "n": 1, "more": []},
        s={1, 2},
        q=collections.deque([x, x * 2]),
        h=fl.tensor([0.0, 0.0]),
        n=0,
        gone=0,
    )


@pytest.mark.parametrize(
    "function", [a_tensor, a_list, a_sorted_list, a_dict, a_set_and_a_deque, in_a_branch, an_attribute]
)
def test_arguments_are_changed(function):
    check(function, many, [None, lambda scene: setattr(scene, "gone", 1)])


def test_containers_as_arguments():
    def f(x, xs, d):
        xs.append(x * 2)
        d["x"] = x
        return xs, d

    def world():
        return types.SimpleNamespace(arguments=[fl.tensor([1.0]), [1, fl.tensor([2.0])], {"k": 1}])

    check(f, world, [None] * 3)


def test_dataclasses_are_trees():
    @dataclasses.dataclass
    class Batch:
        x: object
        scale: int

    def f(batch):
        batch.x = batch.x + 1
        return Batch(batch.x * batch.scale, batch.scale + 1)

    def world():
        return types.SimpleNamespace(arguments=[Batch(fl.tensor([1.0]), 3)])

    def another(scene):
        scene.arguments = [Batch(fl.tensor([5.0]), 3)]

    check(f, world, [None, another, another], programs=1)


def test_a_registered_class_is_a_tree():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    fl.register_container(Pair, lambda p: [("a", p.a), ("b", p.b)], lambda keys, parts: Pair(*parts))
    run = fl.function(lambda p: Pair(p.b, p.a * 2))
    for value in (1.0, 2.0, 3.0):
        made = run(Pair(fl.tensor(value), fl.tensor(0.0)))
        assert made.b.item() == 2 * value and type(made) is Pair
    assert len(run.programs) == 1


# What a branch that is not taken does ----------------------------------------------------------------


def test_a_branch_that_is_not_taken_changes_nothing():
    def f(scene):
        if fl.sum(scene.x) > 10:
            scene.d["n"] = 5
            scene.xs[0] = scene.xs[0] + 1
            setattr(scene, "n", 3)
            scene.ns.append(9)
        return scene.x * scene.d["n"] * len(scene.ns)

    check(f, many)


@pytest.mark.parametrize(
    "change",
    [
        lambda scene: scene.s.add(5),
        lambda scene: scene.array.__setitem__(0, 1.0),
        lambda scene: setattr(scene, "new", 1),
        lambda scene: scene.d.update(other=1),
        lambda scene: np.put(scene.array, [0], [7.0]),
    ],
)
def test_what_a_branch_cannot_change_is_refused(change):
    scene = many()
    scene.array = np.zeros(2)

    @fl.function
    def f(x):
        if fl.sum(x) > 10:
            change(scene)
        return x

    before = shown(scene)
    with pytest.raises(TypeError, match=r"test_objects.py:\d+.*only the run knows|on one path only"):
        f(scene.x)
    assert shown(scene) == before


def test_what_may_be_another_tensor_cannot_be_changed():
    def f(x):
        y = x if fl.sum(x) > 0 else x * 2
        y[0] = 3.0
        return y

    x = fl.tensor([1.0, 2.0])
    with pytest.raises(TypeError, match="only the run knows which other names"):
        fl.function(f)(x)
    assert x.tolist() == [1.0, 2.0]


def test_the_mode_of_a_layer_in_a_branch():
    net = fl.nn.Sequential(fl.nn.Linear(2, 2), fl.nn.Dropout(0.5))

    @fl.function
    def f(x):
        if fl.sum(x) > 1000:
            net.eval()
        return net(x)

    with pytest.raises(TypeError, match="training"):
        f(fl.tensor([[1.0, 2.0]]))
    assert net.training and all(layer.training for layer in net.children())


# Values from outside ---------------------------------------------------------------------------------

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
        (a_global, [lambda _: set_global(True), lambda _: set_global(0.0), lambda _: set_global(-0.0)], 4),
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
    run = fl.function(lambda x, scene: x * scene.n)
    scene = types.SimpleNamespace(n=0.5)
    with pytest.warns(RuntimeWarning, match="built 8 times; the last time because `scene.n` has changed") as found:
        for _ in range(8):
            scene.n += 1.0
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
