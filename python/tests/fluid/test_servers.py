"""Trainers and parameter servers, as Fluid's scripts write them, on ranks that are threads."""

import threading

import numpy as np
import pytest

import fluvial as fl
import fluvial.fluid as fluid

# Default programs are those of the process: one rank builds after another.
BUILDING = threading.Lock()
SERVERS = ["127.0.0.1:6174", "127.0.0.1:6175"]


def training(optimizer):
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 7
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x = fluid.layers.data("x", [4])
        y = fluid.layers.data("y", [1])
        hidden = fluid.layers.fc(x, 8, act="tanh")
        loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(hidden, 1), y))
        optimizer().minimize(loss)
    return main, startup, loss


def batch(number, rows):
    rng = np.random.default_rng(number)
    x = rng.normal(size=(rows, 4)).astype("float32")
    return {"x": x, "y": np.sin(x[:, :1] - x[:, 1:2]).astype("float32")}


def params(main, scope):
    return {entry.name: np.array(scope.find_var(entry.name).get_tensor()) for entry in main.global_block().all_parameters()}


OPTIMIZERS = {
    "sgd": lambda: fluid.optimizer.SGD(0.1),
    "adam": lambda: fluid.optimizer.Adam(0.05),
    "momentum": lambda: fluid.optimizer.Momentum(fluid.layers.exponential_decay(0.1, 2, 0.5), 0.9),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_trainers_and_servers_train_as_one_process(name):
    """Two trainers with half of the batch each."""

    def role(rank):
        with BUILDING:
            main, startup, loss = training(OPTIMIZERS[name])
        scope, exe = fluid.Scope(), fluid.Executor()
        t = fluid.DistributeTranspiler()
        t.transpile(rank, program=main, pservers=",".join(SERVERS), trainers=2, startup_program=startup)
        if rank >= 2:
            program = t.get_pserver_program(SERVERS[rank - 2])
            exe.run(t.get_startup_program(SERVERS[rank - 2], program), scope=scope)
            exe.run(program, scope=scope)
            return None
        exe.run(startup, scope=scope)
        program, losses = t.get_trainer_program(), []
        for number in range(4):
            both = batch(number, 12)
            half = {key: value[rank * 6 : rank * 6 + 6] for key, value in both.items()}
            # What is fetched may differ from step to step.
            fetched = exe.run(program, half, [loss] if number % 2 == 0 else [], scope=scope)
            losses += [float(np.asarray(entry).reshape(())) for entry in fetched]
        exe.close()
        return losses, params(main, scope)

    first, second, *_ = fl.dist.spawn(role, 4)
    main, startup, loss = training(OPTIMIZERS[name])
    alone, exe = fluid.Scope(), fluid.Executor()
    with fluid.scope_guard(alone):
        exe.run(startup)
        losses = [float(np.asarray(exe.run(main, batch(number, 12), [loss])[0]).reshape(())) for number in range(4)]
        whole = params(main, alone)
    for key, value in whole.items():
        assert np.array_equal(first[1][key], second[1][key])
        assert np.allclose(first[1][key], value, atol=1e-5), key
    assert np.allclose(np.mean([first[0], second[0]], axis=0), losses[::2], atol=1e-5)


def test_what_servers_cannot_do_is_told():
    main, startup, _ = training(OPTIMIZERS["sgd"])
    t = fluid.DistributeTranspiler()
    with pytest.raises(Exception, match="call `transpile` first"):
        t.get_trainer_program()
    with pytest.raises(NotImplementedError, match="do not wait"):
        t.transpile(0, program=main, sync_mode=False)
    with pytest.raises(ValueError, match="each once"):
        t.transpile(0, program=main, pservers="a:1,a:1")
    t.transpile(0, program=main, trainers=2)
    with pytest.raises(RuntimeError, match="3 ranks, but there are 1"):
        t.get_trainer_program()
    with pytest.raises(ValueError, match="is not a server"):
        t.get_pserver_program("b:2")
    with pytest.raises(Exception, match="trains nothing"):
        t.transpile(0, program=startup)
