"""Fluid's own test programs of tasks and channels, as they were written, with `fluvial.fluid` for `paddle.fluid`."""

import pytest

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


def test_simple_routine():
    ch = fluid.make_channel(dtype=LOD_TENSOR)
    result = create_tensor("return_value", LOD_TENSOR, core.VarDesc.VarType.INT64)
    with fluid.Go():
        input_value = fill_constant(shape=[1], dtype=core.VarDesc.VarType.FP64, value=1234)
        fluid.channel_send(ch, input_value)
    result, status = fluid.channel_recv(ch, result)
    fluid.channel_close(ch)
    outs = Executor(core.CPUPlace()).run(fetch_list=[result])
    assert outs[0] == 1234


def test_daisy_chain():
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


def test_select():
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


def test_fibonacci():
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


def test_ping_pong():
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
