"""Fluid's own test programs of tasks and channels, as they were written, with `fluvial.fluid` for `paddle.fluid`."""

import subprocess
import sys

import numpy as np
import pytest

import fluvial as fl
import fluvial.fluid as fluid
import fluvial.fluid.core as core
from fluvial.fluid import framework, layer_helper, unique_name
from fluvial.fluid.executor import Executor
from fluvial.fluid.layers import Print, While, assign, elementwise_add, fill_constant

LOD_TENSOR = core.VarDesc.VarType.LOD_TENSOR


def create_tensor(name, type, dtype):
    block = framework.default_main_program().current_block()
    return block.create_var(name=unique_name.generate(name), type=type, dtype=dtype)


def create_persistable_tensor(name, type, dtype):
    block = framework.default_main_program().current_block()
    return block.create_var(name=unique_name.generate(name), type=type, dtype=dtype, persistable=True)


@pytest.fixture(autouse=True)
def own_program():
    with framework.program_guard(framework.Program(), framework.Program()), fluid.scope_guard(core.Scope()):
        yield


@pytest.fixture
def without_python(tmp_path):
    """Runs what makes a result from a file, by the command line, and gives the result."""

    def run(result):
        names = None if result.persistable else [result.name]
        framework.default_main_program()._closed(names).save(tmp_path / "program.flb")
        command = [sys.executable, "-m", "fluvial", "run", str(tmp_path / "program.flb")]
        command += ["-o", str(tmp_path / "found.npz"), "--save", str(tmp_path / "states.safetensors")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        if result.persistable:
            with fl.State() as state:
                fl.load_states(str(tmp_path / "states.safetensors"))
                return state[result.name].numpy()
        (found,) = np.load(tmp_path / "found.npz").values()
        return found

    return run


def test_simple_routine(without_python):
    ch = fluid.make_channel(dtype=LOD_TENSOR)
    result = create_tensor("return_value", LOD_TENSOR, core.VarDesc.VarType.INT64)
    with fluid.Go():
        input_value = fill_constant(shape=[1], dtype=core.VarDesc.VarType.FP64, value=1234)
        fluid.channel_send(ch, input_value)
    result, status = fluid.channel_recv(ch, result)
    fluid.channel_close(ch)
    outs = Executor(core.CPUPlace()).run(fetch_list=[result])
    assert outs[0] == 1234
    assert without_python(result) == 1234


def test_daisy_chain(without_python):
    n = 100
    leftmost = fluid.make_channel(dtype=LOD_TENSOR)
    left = leftmost
    for _ in range(n):
        right = fluid.make_channel(dtype=LOD_TENSOR)
        with fluid.Go():
            one_tensor = fill_constant(shape=[1], dtype=core.VarDesc.VarType.INT64, value=1)
            result = create_tensor("return_value", LOD_TENSOR, core.VarDesc.VarType.INT64)
            result, status = fluid.channel_recv(right, result)
            one_added = elementwise_add(x=one_tensor, y=result)
            fluid.channel_send(left, one_added)
        left = right
    with fluid.Go():
        one_tensor = fill_constant(shape=[1], dtype=core.VarDesc.VarType.INT64, value=1)
        fluid.channel_send(right, one_tensor)
    leftmost_result = create_tensor("return_value", LOD_TENSOR, core.VarDesc.VarType.INT64)
    leftmost_result, status = fluid.channel_recv(leftmost, leftmost_result)
    leftmost_data = Executor(core.CPUPlace()).run(fetch_list=[leftmost_result])
    assert leftmost_data[0][0] == n + 1
    assert without_python(leftmost_result)[0] == n + 1


def test_select(without_python):
    ch1 = fluid.make_channel(dtype=LOD_TENSOR, capacity=1)
    result1 = create_tensor("return_value", LOD_TENSOR, core.VarDesc.VarType.FP64)
    input_value = fill_constant(shape=[1], dtype=core.VarDesc.VarType.FP64, value=10)
    with fluid.Select() as select:
        with select.case(fluid.channel_send, ch1, input_value):
            pass
        with select.default():
            pass
    result1, status = fluid.channel_recv(ch1, result1)
    fluid.channel_close(ch1)
    result = Executor(core.CPUPlace()).run(fetch_list=[result1])
    assert result[0][0] == 10
    assert without_python(result1)[0] == 10


def test_fibonacci(without_python):
    int32 = core.VarDesc.VarType.INT32
    boolean = core.VarDesc.VarType.BOOL
    quit_ch_input_var = create_persistable_tensor("quit_ch_input", LOD_TENSOR, int32)
    quit_ch_input = fill_constant(shape=[1], dtype=int32, value=0, out=quit_ch_input_var)
    result = create_persistable_tensor("result", LOD_TENSOR, int32)
    fill_constant(shape=[1], dtype=int32, value=0, out=result)
    x = fill_constant(shape=[1], dtype=int32, value=0)
    y = fill_constant(shape=[1], dtype=int32, value=1)
    while_cond = fill_constant(shape=[1], dtype=boolean, value=True)
    while_false = fill_constant(shape=[1], dtype=boolean, value=False)
    x_tmp = fill_constant(shape=[1], dtype=int32, value=0)

    def fibonacci(channel, quit_channel):
        while_op = While(cond=while_cond)
        with while_op.block():
            result2 = fill_constant(shape=[1], dtype=int32, value=0)
            with fluid.Select() as select:
                with select.case(fluid.channel_send, channel, x, is_copy=True):
                    assign(input=x, output=x_tmp)
                    assign(input=y, output=x)
                    assign(elementwise_add(x=x_tmp, y=y), output=y)
                with select.case(fluid.channel_recv, quit_channel, result2):
                    helper = layer_helper.LayerHelper("assign")
                    helper.append_op(type="assign", inputs={"X": [while_false]}, outputs={"Out": [while_cond]})

    ch1 = fluid.make_channel(dtype=LOD_TENSOR)
    quit_ch = fluid.make_channel(dtype=LOD_TENSOR)
    with fluid.Go():
        for _ in range(10):
            fluid.channel_recv(ch1, result)
            Print(result)
        fluid.channel_send(quit_ch, quit_ch_input)
    fibonacci(ch1, quit_ch)
    fluid.channel_close(ch1)
    fluid.channel_close(quit_ch)
    exe_result = Executor(core.CPUPlace()).run(fetch_list=[result])
    assert exe_result[0][0] == 34
    assert without_python(result)[0] == 34


def test_ping_pong(without_python):
    fp64 = core.VarDesc.VarType.FP64
    ping_result = create_tensor("return_value", LOD_TENSOR, fp64)
    pong_result = create_tensor("return_value", LOD_TENSOR, fp64)

    def ping(ch, message):
        fluid.channel_send(ch, message, is_copy=True)

    def pong(ch1, ch2):
        fluid.channel_recv(ch1, ping_result)
        fluid.channel_send(ch2, ping_result, is_copy=True)

    pings = fluid.make_channel(dtype=LOD_TENSOR, capacity=1)
    pongs = fluid.make_channel(dtype=LOD_TENSOR, capacity=1)
    msg = fill_constant(shape=[1], dtype=fp64, value=9)
    ping(pings, msg)
    pong(pings, pongs)
    fluid.channel_recv(pongs, pong_result)
    fluid.channel_close(pings)
    fluid.channel_close(pongs)
    exe_result = Executor(core.CPUPlace()).run(fetch_list=[pong_result])
    assert exe_result[0][0] == 9
    assert without_python(pong_result)[0] == 9


def test_producer_and_consumer(without_python):
    n = 20
    ch = fluid.make_channel(dtype=LOD_TENSOR)
    int64 = core.VarDesc.VarType.INT64
    with fluid.Go():
        i = fill_constant(shape=[1], dtype=int64, value=0)
        one = fill_constant(shape=[1], dtype=int64, value=1)
        end = fill_constant(shape=[1], dtype=int64, value=n)
        more = fluid.layers.less_than(x=i, y=end)
        produce = While(cond=more)
        with produce.block():
            fluid.channel_send(ch, i)
            assign(elementwise_add(x=i, y=one), output=i)
            fluid.layers.less_than(x=i, y=end, cond=more)
        fluid.channel_close(ch)
    total = fill_constant(shape=[1], dtype=int64, value=0)
    open_still = fill_constant(shape=[1], dtype=core.VarDesc.VarType.BOOL, value=True)
    consume = While(cond=open_still)
    with consume.block():
        value = fill_constant(shape=[1], dtype=int64, value=0)
        value, status = fluid.channel_recv(ch, value)
        assign(elementwise_add(x=total, y=value), output=total)
        assign(status, output=open_still)
    found = Executor(core.CPUPlace()).run(fetch_list=[total])
    assert found[0][0] == n * (n - 1) // 2
    assert without_python(total)[0] == n * (n - 1) // 2


def test_primes_sieve(without_python):
    """A chain of tasks, each of which lets pass what the prime before it does not divide."""
    n_primes, int64, boolean = 5, core.VarDesc.VarType.INT64, core.VarDesc.VarType.BOOL

    def number(value):
        return fill_constant(shape=[1], dtype=int64, value=value)

    numbers = fluid.make_channel(dtype=LOD_TENSOR)
    with fluid.Go():
        i = number(2)
        forever = fill_constant(shape=[1], dtype=boolean, value=True)
        generate = While(cond=forever)
        with generate.block():
            fluid.channel_send(numbers, i)
            assign(elementwise_add(x=i, y=number(1)), output=i)
            assign(fill_constant(shape=[1], dtype=boolean, value=True), output=forever)
    primes = []
    for _ in range(n_primes):
        prime = create_tensor("prime", LOD_TENSOR, int64)
        fluid.channel_recv(numbers, prime)
        primes.append(prime)
        passed = fluid.make_channel(dtype=LOD_TENSOR)
        with fluid.Go():
            more = fill_constant(shape=[1], dtype=boolean, value=True)
            sieve = While(cond=more)
            with sieve.block():
                x = number(0)
                x, status = fluid.channel_recv(numbers, x)
                assign(status, output=more)
                divides = fluid.layers.equal(fluid.layers.elementwise_mod(x, prime), number(0))
                with fluid.layers.Switch() as switch:
                    with switch.case(fluid.layers.logical_not(divides)):
                        fluid.channel_send(passed, x)
        numbers = passed
    result = fluid.layers.concat(primes)
    with pytest.warns(RuntimeWarning, match="left waiting"):
        found = Executor(core.CPUPlace()).run(fetch_list=[result])
    assert found[0].tolist() == [2, 3, 5, 7, 11]
    assert without_python(result).tolist() == [2, 3, 5, 7, 11]


def test_parallel_do():
    x = fluid.layers.data("x", shape=[4, 3], dtype="float32", append_batch_size=False)
    places = fluid.cpu_places(2)
    pd = fluid.layers.ParallelDo(places)
    with pd.do():
        part = pd.read_input(x)
        pd.write_output(fluid.layers.fc(part, size=2, param_attr="w", bias_attr=False))
    split = pd()
    whole = fluid.layers.fc(x, size=2, param_attr="w", bias_attr=False)
    exe = Executor(core.CPUPlace())
    exe.run(framework.default_startup_program())
    rows = [[float(i + j) for j in range(3)] for i in range(4)]
    import numpy as np

    a, b = exe.run(feed={"x": np.array(rows, "float32")}, fetch_list=[split, whole])
    assert a.tolist() == b.tolist()


def test_a_saved_model_keeps_its_tasks(tmp_path):
    ch = fluid.make_channel(dtype=LOD_TENSOR)
    result = create_tensor("return_value", LOD_TENSOR, core.VarDesc.VarType.FP64)
    with fluid.Go():
        fluid.channel_send(ch, fill_constant(shape=[1], dtype=core.VarDesc.VarType.FP64, value=7))
    fluid.channel_recv(ch, result)
    exe = Executor(core.CPUPlace())
    exe.run(framework.default_startup_program())
    assert exe.run(fetch_list=[result])[0] == 7
    fluid.io.save_inference_model(str(tmp_path), [], [result], exe)
    program, _, targets = fluid.io.load_inference_model(str(tmp_path), exe)
    assert exe.run(program, fetch_list=targets)[0] == 7
