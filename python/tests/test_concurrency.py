"""Parallel loops, tasks and channels, line by line and in programs."""

import subprocess
import sys
import textwrap

import pytest

import fluvial as fl


def both(function, *args):
    """What a function gives line by line, and as a program."""
    return function(*args), fl.function(function)(*args)


def same(a, b):
    return a.tolist() == b.tolist() and a.dtype == b.dtype


def test_parallel_for_gives_the_same_in_both_modes_and_on_any_threads():
    xs = fl.reshape(fl.arange(0.0, 60.0), (20, 3)) / 7.0
    w = fl.tensor([0.5, -0.25, 0.125])

    for reduce in (None, "sum", "mean"):

        def f(xs, w, reduce=reduce):
            return fl.parallel_for(xs, lambda x: fl.exp(x * w * 0.1), reduce=reduce)

        found = []
        for threads in (1, 2, 4):
            fl.set_num_threads(threads)
            found += both(f, xs, w)
        assert all(same(found[0], other) for other in found)
    fl.set_num_threads(2)


def test_parallel_for_counts_and_nests():
    squares, in_program = both(lambda: fl.parallel_for(5, lambda i: {"i": i, "sq": (i * i, i + 1)}))
    assert squares["sq"][0].tolist() == in_program["sq"][0].tolist() == [0, 1, 4, 9, 16]
    table = fl.parallel_for(3, lambda i: fl.parallel_for(2, lambda j: i * 10 + j))
    assert table.tolist() == [[0, 1], [10, 11], [20, 21]]
    pairs = {"a": fl.tensor([1.0, 2.0]), "b": fl.tensor([3.0, 4.0])}
    assert fl.parallel_for(pairs, lambda p: p["a"] * p["b"]).tolist() == [3.0, 8.0]


def test_parallel_for_is_differentiable():
    xs = fl.tensor([[0.3, 0.1], [0.5, -0.2], [0.9, 0.4]])
    w = fl.tensor([0.5, 2.0])

    def loss(w):
        return fl.parallel_for(xs, lambda x: fl.sum(fl.exp(x * w)), reduce="sum")

    def plain(w):
        return fl.sum(fl.exp(xs * w))

    lines, program = fl.grad(loss)(w), fl.function(fl.grad(loss))(w)
    assert same(lines, program)
    for a, b in zip(lines.tolist(), fl.grad(plain)(w).tolist()):
        assert abs(a - b) < 1e-5
    tracked = fl.tensor([0.5, 2.0]).track()
    loss(tracked).backward()
    assert same(tracked.grad, lines)
    second = fl.grad(lambda w: fl.sum(fl.grad(loss)(w) ** 2))(w)
    expected = fl.grad(lambda w: fl.sum(fl.grad(plain)(w) ** 2))(w)
    assert all(abs(a - b) < 1e-3 for a, b in zip(second.tolist(), expected.tolist()))


def test_parallel_for_trips_have_streams_of_their_own():
    def f():
        return fl.parallel_for(6, lambda i: fl.uniform("f32[2]", 0.0, 1.0))

    found = []
    for threads in (1, 2):
        fl.set_num_threads(threads)
        for one in (f, fl.function(f)):
            fl.seed(3)
            found.append(one().tolist())
    assert all(other == found[0] for other in found)
    flat = [x for row in found[0] for x in row]
    assert len(set(flat)) == 12


def test_parallel_for_control_flow_and_loops_in_trips():
    def collatz(n):
        steps = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps

    assert fl.parallel_for(fl.tensor([6, 7, 27]), collatz).tolist() == [8, 16, 111]


def test_parallel_for_refuses_what_trips_cannot_do():
    layer = fl.nn.BatchNorm1d(3)
    with pytest.raises(Exception, match="assigns the state"):
        fl.parallel_for(fl.ones((2, 4, 3)), lambda x: layer(x))
    with pytest.raises(Exception, match="effect"):
        fl.parallel_for(fl.ones((2, 4, 3)), lambda x: fl.print(x, "x"))
    with pytest.raises(ValueError, match="reduce is 'max'"):
        fl.parallel_for(3, lambda i: i, reduce="max")
    with pytest.raises(TypeError, match="returns no tensor"):
        fl.parallel_for(3, lambda i: None)
    with pytest.raises(IndexError, match="trip 1"):
        fl.parallel_for(fl.tensor([0, 9]), lambda i: fl.gather(fl.tensor([1.0, 2.0]), i, 0))
    kept = []
    with pytest.raises(Exception):
        kept_value = fl.parallel_for(3, lambda i: kept.append(i) or i)
        kept[0] + 1
        del kept_value


def test_models_are_trained_at_once():
    def model(seed):
        fl.seed(seed)
        net = fl.nn.Sequential(fl.nn.Linear(4, 8), fl.nn.ReLU(), fl.nn.Linear(8, 1))
        net(fl.ones((1, 4)))
        return net

    x, y = fl.ones((16, 4)), fl.zeros((16, 1))

    def trained(net, steps=5):
        optimizer = fl.optimizer.SGD(net.parameters(), 0.05)

        @fl.function
        def step():
            loss = fl.mean((net(x) - y) ** 2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        for _ in range(steps):
            loss = step()
        return loss

    one_by_one = [trained(model(i)).item() for i in range(4)]
    at_once = fl.parallel_for([model(i) for i in range(4)], trained)
    assert [loss.item() for loss in at_once] == one_by_one


def producer(ch, n):
    for i in range(n):
        ch.send(i * i)
    ch.close()


def consumed(n):
    ch = fl.make_channel("i64[]")
    task = fl.go(producer, ch, n)
    total = fl.tensor(0)
    for x in ch:
        total = total + x
    task.wait()
    return total


def test_a_producer_and_a_consumer():
    lines, program = both(consumed, 5)
    assert lines.item() == program.item() == 30


def test_a_loop_of_the_program_over_a_channel():
    @fl.function
    def f(n):
        ch = fl.make_channel("i64[]", capacity=2)

        def numbers():
            i = fl.tensor(0)
            while i < n:
                ch.send(i)
                i = i + 1
            ch.close()

        fl.go(numbers)
        total = fl.tensor(0)
        count = fl.tensor(0)
        for x in ch:
            if x % 2 == 0:
                total = total + x
            count = count + 1
        return total, count

    assert [t.item() for t in f(fl.tensor(10))] == [20, 10]
    assert [t.item() for t in f(fl.tensor(0))] == [0, 0]


def test_results_of_tasks():
    def f(x):
        tasks = [fl.go(lambda k=k: {"y": x * k}) for k in range(3)]
        return [task.wait()["y"] for task in tasks]

    lines, program = both(f, fl.tensor([1.0, 2.0]))
    assert [y.tolist() for y in lines] == [y.tolist() for y in program] == [[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]


def test_select_and_timeouts():
    def f():
        a, b = fl.make_channel("f32[]", capacity=1), fl.make_channel("f32[]")
        sent, _, _ = fl.channel_select((fl.channel_send, a, 2.0), (fl.channel_recv, b))
        late, _, _ = fl.channel_select((fl.channel_recv, b), (fl.channel_recv, fl.timeout(0.01)))
        none, _, _ = fl.channel_select((fl.channel_recv, b), default=True)
        got, values, flags = fl.channel_select((fl.channel_recv, a), (fl.channel_recv, b))
        return [fl.tensor(x) for x in (sent, late, none, got)], values[0], flags[0]

    for numbers, value, flag in both(f):
        assert [x.item() for x in numbers] == [0, 1, -1, 0]
        assert value.item() == 2.0 and flag.item() is True


def test_deadlocks_are_told_in_both_modes():
    def stuck():
        a, b = fl.make_channel("f32[]"), fl.make_channel("f32[]")
        fl.go(lambda: a.send(1.0))
        return b.recv()[0]

    for run in (stuck, fl.function(stuck)):
        with pytest.raises(Exception, match="deadlock") as found:
            run()
        text = str(found.value)
        assert "receives from the channel made at" in text and "sends to the channel made at" in text
        assert "test_concurrency.py" in text
    # Lines go on afterwards.
    assert consumed(3).item() == 5


def test_errors_of_tasks_end_the_run():
    def f(i):
        ch = fl.make_channel("f32[]")
        fl.go(lambda: ch.send(fl.gather(fl.tensor([1.0, 2.0]), i, 0)))
        return ch.recv()[0]

    for run in (f, fl.function(f)):
        with pytest.raises(IndexError):
            run(fl.tensor(7))
    assert consumed(3).item() == 5

    def raises():
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fl.go(raises).wait()


def test_closed_channels():
    def f():
        ch = fl.make_channel("f32[]", capacity=1)
        ch.close()
        ch.send(1.0)
        return fl.tensor(1.0)

    for run in (f, fl.function(f)):
        with pytest.raises(Exception, match="sent on a closed channel"):
            run()


def test_types_of_messages():
    def sends(value, text):
        ch = fl.make_channel(text, capacity=1)
        ch.send(value)
        return ch.recv()[0]

    def open_sizes():
        return sends(fl.ones((2, 3)), "f32[n, 3]")

    for y in both(open_sizes):
        assert tuple(y.shape) == (2, 3)
    with pytest.raises(ValueError, match="cannot be sent"):
        sends(fl.ones((2, 4)), "f32[n, 3]")
    with pytest.raises(ValueError, match="cannot be sent"):
        sends(fl.tensor(1), "f32[]")


def test_gradients_are_not_lost_in_messages():
    w = fl.tensor(2.0).track()
    ch = fl.make_channel("f32[]", capacity=1)
    with pytest.raises(Exception, match="messages carry no gradient"):
        ch.send(w * w)
    ch.send((w * w).detach())
    assert ch.recv()[0].item() == 4.0


def test_gradients_in_programs_do_not_pass_messages_silently():
    w = fl.tensor(3.0)

    def by_message(w):
        ch = fl.make_channel("f32[]", capacity=1)
        ch.send(w * w)
        y, _ = ch.recv()
        return y * w

    def by_task(w):
        return fl.go(lambda: w * w).wait() * w

    def detached(w):
        ch = fl.make_channel("f32[]", capacity=1)
        ch.send((w * w).detach())
        y, _ = ch.recv()
        return y * w

    def within(w):
        ch = fl.make_channel("f32[]", capacity=1)
        with fl.no_grad():
            ch.send(w * w)
        y, _ = ch.recv()
        return y * w

    for lost in (by_message, by_task):
        with pytest.raises(RuntimeError, match="carry no gradient"):
            fl.function(fl.grad(lost))(w)
    for kept in (detached, within):
        assert fl.function(fl.grad(kept))(w).item() == fl.grad(kept)(w).item() == 9.0


def test_states_of_tasks():
    a, b = fl.nn.Linear(2, 1), fl.nn.Linear(2, 1)

    def step(layer):
        with fl.no_grad():
            layer.weight.mul_(0.5)

    before = [layer.weight.tolist() for layer in (a, b)]

    @fl.function
    def f():
        tasks = [fl.go(step, layer) for layer in (a, b)]
        for task in tasks:
            task.wait()
        return fl.sum(a.weight) + fl.sum(b.weight)

    f()
    for layer, old in zip((a, b), before):
        assert layer.weight.tolist() == [[x * 0.5 for x in row] for row in old]

    @fl.function
    def lost():
        fl.go(step, a)
        return fl.tensor(1.0)

    with pytest.raises(Exception, match="nobody waits for it"):
        lost()


def test_go_as_a_block():
    @fl.function
    def f():
        ch = fl.make_channel("f32[]")
        with fl.Go():
            ch.send(3.0)
        return ch.recv()[0]

    assert f().item() == 3.0
    with pytest.raises(TypeError, match="cannot run beside"):
        with fl.Go():
            pass


def test_tasks_that_are_left_are_named_at_the_end():
    code = """
        import fluvial as fl
        ch = fl.make_channel("f32[]")
        fl.go(lambda: ch.send(1.0))
        import time
        time.sleep(0.2)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert "left waiting" in done.stderr and "sends to" in done.stderr, done.stderr

    def f():
        ch = fl.make_channel("f32[]")
        fl.go(lambda: ch.send(1.0))
        return fl.tensor(2.0)

    with pytest.warns(RuntimeWarning, match="left waiting"):
        fl.function(f)()
