"""`with fl.Select()`, line by line and in programs."""

import sys

import pytest

import fluvial as fl
from fluvial import channel_recv as receive


def both(function, *args):
    return function(*args), fl.function(function)(*args)


def fibonacci(n):
    numbers, quit = fl.make_channel("i64[]"), fl.make_channel("i64[]")
    found = fl.make_channel("i64[]", capacity=100)

    def reader():
        for _ in range(n):
            found.send(numbers.recv()[0])
        quit.send(0)

    task = fl.go(reader)
    x, y = fl.tensor(0), fl.tensor(1)
    going = True
    while going:
        with fl.Select() as s:
            with s.case(fl.channel_send, numbers, x):
                x, y = y, x + y
            with s.case(fl.channel_recv, quit):
                going = False
    task.wait()
    found.close()
    total = fl.tensor(0)
    for value in found:
        total = total * 3 + value
    return total


def test_fibonacci_with_a_quit_channel():
    total, x, y = 0, 0, 1
    for _ in range(10):
        total, x, y = total * 3 + x, y, x + y
    assert [t.item() for t in both(fibonacci, 10)] == [total, total]


def test_jumps_out_of_a_case_and_messages_that_are_put_into_a_tensor():
    def f(last):
        ch = fl.make_channel("f32[]", capacity=1)
        y = fl.tensor(0.0)
        seen = fl.tensor(0)
        for i in range(6):
            with fl.Select() as s:
                with s.case(fl.channel_recv, ch, y) as (value, ok):
                    got = value * 10.0
                with s.case(receive, fl.timeout(0.001)):
                    seen = seen + 1
                    if i == last:
                        break
                    ch.send(2.0 + i)
                    continue
            return y + got, seen, ok
        return y, seen, fl.tensor(False)

    for last in (0, 5):
        lines, program = both(f, last)
        assert [x.item() for x in lines] == [x.item() for x in program]
    assert [x.item() for x in f(5)] == [22.0, 1, True]


def test_the_default_may_stand_anywhere():
    def f(n):
        ch = fl.make_channel("f32[]", capacity=1)
        steps = fl.tensor(0)
        for _ in range(n):
            with fl.Select() as select:
                with select.default():
                    steps = steps * 10 + 2
                    ch.send(1.0)
                with select.case(fl.channel_recv, ch):
                    steps = steps * 10 + 1
        return steps

    assert [x.item() for x in both(f, 4)] == [2121, 2121]


def test_several_tasks_and_states_in_cases():
    layer = fl.nn.Linear(2, 1)
    start = layer.weight.tolist()

    def f(n):
        updates, over = fl.make_channel("f32[1, 2]"), fl.make_channel("bool[]")

        def work():
            for _ in range(n):
                updates.send(fl.ones((1, 2)))
            over.send(True)

        task = fl.go(work)
        going = True
        while going:
            with fl.Select() as s:
                with s.case(fl.channel_recv, updates) as (update, _):
                    with fl.no_grad():
                        layer.weight.add_(update)
                with s.case(fl.channel_recv, over):
                    going = False
        task.wait()
        return layer.weight[0, 0] + 0.0

    f(3)
    fl.function(f)(3)
    assert all(abs(a - b - 6.0) < 1e-5 for a, b in zip(layer.weight.tolist()[0], start[0]))


def test_only_the_chosen_block_runs():
    ch = fl.make_channel("f32[]", capacity=1)
    ran = []
    # fmt: off
    with fl.Select() as s:
        with s.case(fl.channel_recv, ch): ran.append("recv")
        with s.case(fl.channel_send, ch, fl.tensor(3.0)): ran.append("send")
        with s.default(): ran.append("default")
    with (
        fl.Select()
        as s
    ):
        with s.case(
            fl.channel_recv,
            ch,
        ) as (x, ok): ran.append(x.item())
        with s.case(fl.channel_recv, fl.timeout(5)): ran.append("late")
    # fmt: on
    assert ran == ["send", 3.0]


def test_what_follows_lines_goes_on_doing_so():
    seen = []

    def tracer(frame, event, _):
        if frame.f_code.co_name == "choose":
            seen.append((event, frame.f_lineno - frame.f_code.co_firstlineno))
            return tracer
        return None

    def choose():
        ch = fl.make_channel("f32[]", capacity=1)
        with fl.Select() as s:
            with s.case(fl.channel_recv, ch):
                return "recv"
            with s.default():
                found = "default"
        return found

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        assert choose() == "default"
        now = sys.gettrace()
    finally:
        sys.settrace(before)
    assert now is tracer
    lines = [line for event, line in seen if event == "line"]
    assert 4 not in lines and 6 in lines and 7 in lines


def test_errors_in_cases_are_those_of_the_lines():
    def f():
        ch = fl.make_channel("f32[]", capacity=1)
        with fl.Select() as s:
            with s.case(fl.channel_recv, ch):
                pass
            with s.default():
                raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        f()

    def closed():
        ch = fl.make_channel("f32[]", capacity=1)
        ch.close()
        with fl.Select() as s:
            with s.case(fl.channel_send, ch, fl.tensor(1.0)):
                pass
        return fl.tensor(1.0)

    for run in (closed, fl.function(closed)):
        with pytest.raises(Exception, match="sent on a closed channel"):
            run()

    def stuck():
        ch = fl.make_channel("f32[]")
        with fl.Select() as s:
            with s.case(fl.channel_recv, ch):
                pass
        return fl.tensor(1.0)

    for run in (stuck, fl.function(stuck)):
        with pytest.raises(Exception, match="deadlock"):
            run()


def test_what_a_select_cannot_do_is_told():
    ch = fl.make_channel("f32[]", capacity=2)
    values = iter([fl.tensor(1.0), fl.tensor(2.0)])
    with pytest.raises(TypeError, match=r"next\(values\)` is computed for a case"):
        with fl.Select() as s:
            with s.case(fl.channel_send, ch, next(values)):
                pass
    with pytest.raises(TypeError, match="not in its source"):
        with fl.Select() as s:
            n = 1
            with s.case(fl.channel_send, ch, fl.tensor(float(n))):
                pass
    with pytest.raises(TypeError, match="sends or receives"):
        with fl.Select() as s:
            with s.case(fl.channel_close, ch):
                pass
    with pytest.raises(TypeError, match="sends nothing"):
        with fl.Select() as s:
            with s.case(fl.channel_send, ch):
                pass
    with pytest.raises(RuntimeError, match="inside of its select"):
        with fl.Select().case(fl.channel_recv, ch):
            pass
    ch.send(1.0)
    whole = fl.tensor(0)

    def put(target):
        with fl.Select() as s:
            with s.case(fl.channel_recv, ch, target):
                pass
        return fl.tensor(0)

    with pytest.raises(TypeError, match="cannot be put into a tensor"):
        put(whole)
    ch.send(1.0)
    with pytest.raises(TypeError, match="only into a tensor"):
        put(3)

    @fl.function
    def other_lines(x):
        a = fl.make_channel("f32[]", capacity=1)
        with fl.Select() as s:
            y = x + 1.0
            with s.case(fl.channel_send, a, y):
                pass
        return y

    with pytest.raises(TypeError, match="other lines than cases|not in its source"):
        other_lines(fl.tensor(1.0))


class Cases:
    """Of somebody else, and looks the same."""

    def __init__(self):
        self.ran = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def case(self, *what):
        self.ran.append(what)
        return self

    default = case


def test_others_have_cases_too():
    def f(x):
        with Cases() as s:
            with s.case(x):
                x = x + 1.0
            with s.default():
                x = x * 3.0
        return x

    assert [y.item() for y in both(f, fl.tensor(2.0))] == [9.0, 9.0]
