"""What people who come from PyTorch write first gets an answer that helps."""

import ast

import pytest

import fluvial as fl
from fluvial import _elsewhere


MODULES = {module.__name__: module for module in (fl, fl.nn, fl.optimizer, fl.layers, fl.distributions, fl.linalg)}


@pytest.mark.parametrize("names, whose", [(_elsewhere.PYTORCH, "PyTorch"), (_elsewhere.FLUID, "Fluid")])
def test_names_of_others_lead_to_ours(names, whose):
    for module, known in names.items():
        for name, ours in known.items():
            with pytest.raises(AttributeError, match=f"what {whose} calls `{name}` is `"):
                getattr(MODULES[module], name)
            # What the remedy names exists.
            for node in ast.walk(ast.parse(ours)):
                if isinstance(node, ast.Attribute):
                    eval(ast.unparse(node), {"fl": fl})


def test_names_of_nobody_are_not_explained():
    for name, module in MODULES.items():
        with pytest.raises(AttributeError) as error:
            module.no_such_name
        wanted = f"module `{name}` has no attribute `no_such_name`"
        if module is fl.layers:
            wanted += "\n  remedy: `fluvial.fluid.layers` has all of Fluid's functions that are here"
        assert str(error.value) == wanted
        assert not hasattr(module, "no_such_name")


def test_sizes_one_by_one():
    for make in (fl.zeros, fl.ones):
        assert make(2, 3).shape == make((2, 3)).shape == make(shape=(2, 3)).shape == (2, 3)
        assert make(2, 3, fl.int64).dtype == make((2, 3), "int64").dtype == fl.int64


def test_inputs_are_named_like_arguments():
    outer = fl.tensor([5.0])

    @fl.function(donate=["batch"])
    def f(x, batch, captured0, *rest, factor=2.0):
        return x + batch["a b"] + batch["c"][0] + captured0 + rest[0] * factor + outer

    one = fl.tensor([1.0])
    given = {"a b": fl.tensor([2.0]), "c": (fl.tensor([3.0]), 7)}
    assert f(one, given, one, one).item() == 14.0
    names = ["x", "batch_a_b", "batch_c_0", "captured0_", "rest_0", "captured0"]
    assert list(f.programs[0].inputs) == names
    with pytest.raises(ValueError, match="given away"):
        given["a b"] + 1
    assert one.item() == 1.0


def test_names_that_clash():
    @fl.function
    def f(a_0, a):
        return a_0 + a[0]

    assert f(fl.tensor(1.0), [fl.tensor(2.0)]).item() == 3.0
    assert list(f.programs[0].inputs) == ["a_0", "a_0_"]


def test_branches_that_differ_are_a_type_error():
    @fl.function(whole=True)
    def f(x):
        if fl.sum(x) > 0:
            y = x
        else:
            y = fl.sum(x)
        return y

    with pytest.raises(TypeError, match=r"`y` is f32\[2\] and f32\[\]") as error:
        f(fl.tensor([1.0, 2.0]))
    assert type(error.value).__qualname__ == "TypeError"


def test_names_that_texts_do_not_know():
    @fl.function
    def f(é, _x, __):
        return é + _x + __

    assert f(fl.tensor(1.0), fl.tensor(2.0), fl.tensor(3.0)).item() == 6.0
    program = f.programs[0]
    assert list(fl.Program.parse(program.text()).inputs) == list(program.inputs)


def test_momentum_is_an_option_of_sgd():
    w = fl.parameter("w", (), init=1.0)
    sgd = fl.optimizer.SGD(["w"], 0.1, momentum=0.5)
    sgd.minimize(w * w)
    assert sgd.state_dict()["momentum.v.w"].item() == 2.0
    assert sgd.param_groups[0]["momentum"] == 0.5
    with pytest.raises(ValueError, match="says nothing without `momentum`"):
        fl.optimizer.SGD(["w"], 0.1, nesterov=True)


def test_the_number_of_passes_is_known_when_a_program_is_built():
    numbers = fl.reader({"x": [1.0, 2.0]}, name="two").batch(1)

    @fl.function
    def total(passes):
        sum = fl.tensor(0.0)
        for x in numbers.iterate(epochs=passes):
            sum = sum + fl.sum(x)
        return sum

    with fl.State():
        with pytest.raises(TypeError, match=r"number of passes is i64\[\]"):
            total(fl.tensor(2))
        assert total(2).item() == 6.0


def test_optimizers_of_one_kind_share_nothing():
    def pair():
        a, b = fl.nn.Linear(2, 1), fl.nn.Linear(2, 1)
        return a, b, *(fl.optimizer.Adam(net.parameters()) for net in (a, b))

    a, b, first, second = pair()
    for _ in range(3):
        first.minimize(fl.sum(a(fl.ones((1, 2)))))
    second.minimize(fl.sum(b(fl.ones((1, 2)))))
    steps = [optimizer.state_dict()["adam.step"].item() for optimizer in (first, second)]
    assert steps == [3, 1]


def test_optimizers_of_other_scopes_are_no_concern():
    kept = []
    for rule in (fl.optimizer.Adam, fl.optimizer.SGD):
        for _ in range(3):
            with fl.State():
                a, b = fl.nn.Linear(2, 1, name="a"), fl.nn.Linear(2, 1, name="b")
                of_a = rule(a.parameters(), name="one" if kept else None)
                of_b = rule(b.parameters(), name="two" if not kept else None)
                kept += [of_a, of_b]
                for net, optimizer in ((a, of_a), (b, of_b), (a, of_a), (b, of_b)):
                    if rule is fl.optimizer.Adam or net is a:
                        optimizer.minimize(fl.sum(net(fl.ones((1, 2)))))


def test_variables_do_not_change_what_functions_convert():
    fl.Variable("A")

    @fl.function
    def rows(x):
        kept = []
        for row in x:
            kept.append(row * 2.0)
        return fl.stack(kept), fl.concat(kept)

    stacked, joined = rows(fl.ones((3, 2)))
    assert stacked.shape == (3, 2) and joined.shape == (6,)


def test_inputs_of_fluid_open_the_default_program():
    with fl.State(), fl.mode("program"):
        x = fl.layers.data("fluid_x", shape=[3])
        loss = fl.layers.mean(x * 2.0)
        (found,) = fl.Executor().run(feed={"fluid_x": [[1.0, 2.0, 3.0]]}, fetch_list=[loss])
        assert found == 4.0
    with pytest.raises(RuntimeError, match="belongs to no program"):
        fl.layers.data("x", shape=[3])


def test_parameters_are_counted():
    net = fl.nn.Sequential(fl.nn.Linear(3, 2), fl.nn.LazyLinear(4))
    with pytest.raises(fl.StateError, match="not known before its layer is called"):
        sum(parameter.size for parameter in net.parameters())
    with fl.State():
        net(fl.ones((1, 3)))
        assert sum(parameter.size for parameter in net.parameters()) == 8 + 12


@pytest.mark.parametrize("way", ["minimize", "step"])
def test_layers_that_are_made_anew_in_each_step_are_told(way):
    net = fl.nn.Linear(3, 1)
    optimizer = fl.optimizer.SGD(net.parameters(), 0.1)
    loss = fl.mean(fl.square(fl.nn.Linear(3, 1)(fl.full((2, 3), 0.5))))
    with pytest.raises(RuntimeError, match="depends on none of the 2|none of the 2 parameters"):
        if way == "minimize":
            optimizer.minimize(loss)
        else:
            loss.backward()
            optimizer.step()
