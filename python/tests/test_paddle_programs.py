"""Programs that Paddle 2.6 has written, with what it computed; `make test-paddle` writes them anew."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import fluvial as fl
import paddle_programs

GOLDEN = os.path.join(os.path.dirname(__file__), "golden", "paddle")


@pytest.mark.parametrize("name", paddle_programs.names(GOLDEN))
def test_ten_steps_are_paddles(name):
    losses, values = paddle_programs.check(GOLDEN, name)
    assert losses < 1e-5 and values < 1e-5


def test_a_loop_over_steps_has_the_gradient_of_differences():
    kept = np.load(os.path.join(GOLDEN, "recurrent.npz"))
    loss, fed = kept["loss"].tobytes().decode(), fl.tensor(kept["feed/0/fed"])

    def run(fetch, more=0.0):
        program = fl.fluid.load_program(kept["main"].tobytes(), kept["startup"].tobytes(), fetch=[fetch])
        for key in kept.files:
            if key.startswith("first/"):
                value = kept[key].copy()
                if key == "first/weight":
                    value[1, 2] += more
                program.state[key[6:]] = fl.tensor(value)
        return program(fed).numpy()

    np.testing.assert_allclose(run(loss), kept["losses"][0], rtol=1e-5)
    slope = (run(loss, 1e-2) - run(loss, -1e-2)) / 2e-2
    np.testing.assert_allclose(run("weight@GRAD")[1, 2], slope, rtol=1e-2, atol=1e-4)


def test_a_model_gives_what_paddle_gives(tmp_path):
    assert paddle_programs.check_model(GOLDEN) < 1e-5
    # Under the names of Fluid, in a folder; a file for each parameter is read, too.
    shutil.copy(os.path.join(GOLDEN, "model.pdmodel"), tmp_path / "__model__")
    shutil.copy(os.path.join(GOLDEN, "model.pdiparams"), tmp_path / "__params__")
    kept = np.load(os.path.join(GOLDEN, "model.values.npz"))
    program = fl.fluid.load_inference_model(tmp_path)
    np.testing.assert_allclose(program(fl.tensor(kept["x"])).numpy(), kept["y"], atol=1e-5)
    np.testing.assert_allclose(program.run(image=kept["x"])[next(iter(program.outputs))].numpy(), kept["y"], atol=1e-5)


def test_fluids_own_files_in_the_front(tmp_path):
    import fluvial.fluid as fluid

    shutil.copy(os.path.join(GOLDEN, "model.pdmodel"), tmp_path / "__model__")
    shutil.copy(os.path.join(GOLDEN, "model.pdiparams"), tmp_path / "__params__")
    kept = np.load(os.path.join(GOLDEN, "model.values.npz"))
    with fluid.scope_guard(fluid.Scope()):
        executor = fluid.Executor(fluid.CPUPlace())
        program, fed, fetched = fluid.io.load_inference_model(str(tmp_path), executor)
        assert fed == ["image"]
        y = executor.run(program, feed={"image": kept["x"]}, fetch_list=fetched)[0]
    np.testing.assert_allclose(y, kept["y"], atol=1e-5)


def test_fine_tuning_a_model():
    program = fl.fluid.load_inference_model(os.path.join(GOLDEN, "model"), trainable=True)
    kept = np.load(os.path.join(GOLDEN, "model.values.npz"))
    x = fl.tensor(kept["x"])
    loss = fl.mean(fl.square(program(x) - 0.1))
    loss.backward()
    weight = program.state["conv2d_0.w_0"]
    assert weight.grad is not None and float(fl.max(fl.abs(weight.grad))) > 0.0


def test_the_command_line_converts_a_model(tmp_path):
    path = tmp_path / "model.flb"
    source = os.path.join(GOLDEN, "model.pdmodel")
    done = subprocess.run(
        [sys.executable, "-m", "fluvial", "convert", source, str(path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    kept = np.load(os.path.join(GOLDEN, "model.values.npz"))
    program = fl.Program.load(path)
    np.testing.assert_allclose(program(fl.tensor(kept["x"])).numpy(), kept["y"], atol=1e-5)


def test_errors_say_what_and_where(tmp_path):
    with pytest.raises(Exception, match="not a program of Fluid"):
        fl.fluid.load_program(b"\x00\x01\x02")
    with pytest.raises(TypeError, match="both"):
        fl.fluid.load_program(b"", "startup")
    kept = np.load(os.path.join(GOLDEN, "fit_a_line.npz"))
    with pytest.raises(Exception, match="nothing in the program gives `absent`"):
        fl.fluid.load_program(kept["main"].tobytes(), kept["startup"].tobytes(), fetch=["absent"])
    with pytest.raises(Exception, match="nothing gives it a first value"):
        fl.fluid.load_program(kept["main"].tobytes())
    with pytest.raises(Exception, match="no input `z`"):
        fl.fluid.load_program(kept["main"].tobytes(), types={"z": "f32[3]"})
    changed = kept["main"].tobytes().replace(b"square", b"sqqare")
    with pytest.raises(Exception, match="sqqare.*is not supported"):
        fl.fluid.load_program(changed, kept["startup"].tobytes())


def test_first_values_may_be_given():
    kept = np.load(os.path.join(GOLDEN, "fit_a_line.npz"))
    values = {key[6:]: kept[key] for key in kept.files if key.startswith("first/")}
    values["learning_rate_0"] = np.array(0.01, "float32")
    program = fl.fluid.load_program(kept["main"].tobytes(), fetch=[kept["loss"].tobytes().decode()], values=values)
    loss = program(x=fl.tensor(kept["feed/0/x"]), y=fl.tensor(kept["feed/0/y"]))
    np.testing.assert_allclose(loss.numpy(), kept["losses"][0], rtol=1e-5)


def test_the_ops_have_names():
    names = [name for name, _ in fl.fluid.programs.ops()]
    assert "conv2d" in names and len(names) >= 250
