"""`fl.shared`: states that several tasks change, and what is refused without it."""

import pytest

import fluvial as fl


def both(function, *args):
    return function, fl.function(function)


def count(weights, n):
    for _ in range(n):
        weights.update(lambda now: now + 1.0)


@pytest.mark.parametrize("in_program", [False, True])
def test_no_update_is_lost(in_program):
    total = fl.nn.Parameter(fl.tensor([0.0, 10.0]))

    def f(n):
        with fl.shared(total) as weights:
            for task in [fl.go(count, weights, n) for _ in range(3)]:
                task.wait()
            middle = weights.get()
        return middle, total * 1.0

    for middle, last in ((fl.function(f) if in_program else f)(20), (fl.function(f) if in_program else f)(20)):
        assert middle.tolist() == last.tolist()
    assert total.tolist() == [120.0, 130.0]


def test_loops_that_only_the_run_knows():
    total = fl.nn.Parameter(fl.tensor([0.0]))

    @fl.function
    def f(n):
        with fl.shared(total) as weights:
            for task in [fl.go(count, weights, n) for _ in range(2)]:
                task.wait()
        return total * 1.0

    assert f(fl.tensor(200)).tolist() == [400.0]
    assert f(fl.tensor(5)).tolist() == [410.0]


@pytest.mark.parametrize("in_program", [False, True])
def test_a_layer_is_a_dict_of_its_parameters(in_program):
    fl.seed(1)
    net = fl.nn.Linear(3, 1)
    x = fl.uniform("f32[32, 3]", -1.0, 1.0)
    y = x @ fl.tensor([[1.0], [-2.0], [0.5]]) + 0.3

    def loss(weights, rows):
        return fl.mean((fl.functional_call(net, weights, x[rows]) - y[rows]) ** 2)

    def learn(weights, rows, steps):
        for _ in range(steps):
            slopes = fl.grad(loss)(weights.get(), rows)
            weights.update(lambda now, slopes=slopes: {name: now[name] - 0.1 * slopes[name] for name in now})

    def train(steps):
        with fl.shared(net) as weights:
            halves = slice(0, 16), slice(16, 32)
            for task in [fl.go(learn, weights, rows, steps) for rows in halves]:
                task.wait()
        return fl.mean((net(x) - y) ** 2)

    assert (fl.function(train) if in_program else train)(60).item() < 0.05


def halve(layer):
    with fl.no_grad():
        layer.weight.mul_(0.5)


def test_two_tasks_that_assign_a_state_are_refused_at_the_second():
    net, other = fl.nn.Linear(2, 1), fl.nn.Linear(2, 1)

    def two():
        for task in [fl.go(halve, net) for _ in range(2)]:
            task.wait()
        return fl.tensor(1.0)

    def beside():
        task = fl.go(halve, net)
        halve(net)
        task.wait()
        return fl.tensor(1.0)

    for f in (two, beside):
        for run in both(f):
            with pytest.raises(fl.StateError, match="assign") as found:
                run()
            assert "test_shared.py" in str(found.value)

    def one_after_the_other():
        for _ in range(2):
            fl.go(halve, net).wait()
            halve(net)
        return fl.sum(net.weight)

    def apart():
        for task in [fl.go(halve, layer) for layer in (net, other)]:
            task.wait()
        return fl.sum(net.weight)

    # What was at fault was told, and others go on.
    net = fl.nn.Linear(2, 1)
    for f in (one_after_the_other, apart):
        for run in both(f):
            run()


def test_a_task_and_the_one_that_it_starts():
    net = fl.nn.Linear(2, 1)

    def outer():
        halve(net)
        fl.go(halve, net).wait()
        halve(net)

    before = net.weight.tolist()[0]
    fl.go(outer).wait()
    halve(net)
    assert net.weight.tolist()[0] == [x / 16 for x in before]


def test_what_is_shared_is_used_by_its_handle_only():
    net = fl.nn.Linear(2, 1)

    def assigned():
        with fl.shared(net.weight):
            halve(net)
        return fl.tensor(1.0)

    def read():
        with fl.shared([net.weight]) as weights:
            y = fl.sum(net.weight) + fl.sum(weights.get()[0])
        return y

    for f in (assigned, read):
        for run in both(f):
            with pytest.raises(fl.StateError, match="is shared by tasks"):
                run()
    # It is over, also after an error.
    halve(net)
    with pytest.raises(TypeError, match="takes parameters"):
        fl.shared(3)
    with pytest.raises(TypeError, match="takes parameters, not a Tensor"):
        fl.shared(fl.tensor(1.0))
    with pytest.raises(RuntimeError, match="not shared here"):
        fl.shared(net).get()


def test_what_an_update_gives_has_to_fit_and_errors_lose_nothing():
    w = fl.nn.Parameter(fl.tensor([1.0, 2.0]))

    def update(function):
        def f():
            with fl.shared(w) as weights:
                weights.update(function)
            return w * 1.0

        return f

    for wrong, what in ((lambda now: now[:1], "gives f32"), (lambda now: [now], "something else")):
        for run in both(update(wrong)):
            with pytest.raises(TypeError, match=what):
                run()
    with pytest.raises(KeyError, match="mine"):
        update(lambda now: {}["mine"])()
    assert w.tolist() == [1.0, 2.0]
    assert update(lambda now: now * 2.0)().tolist() == [2.0, 4.0]
