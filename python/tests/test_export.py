"""Programs as C give what they give here: predictions, steps and loops of trainings."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

import export_cuda
import exported_models
import numpy as np
import pytest

import fluvial as fl

FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=fast", "-fno-math-errno", "-fno-strict-aliasing"]


def run_c(folder: Any, feeds: dict[str, Any], steps: int = 1, flags: tuple[str, ...] = ("-O1",)) -> None:
    """Compiles what was exported, and runs it on arrays."""
    sources = [name for name in os.listdir(folder) if name.endswith(".c")]
    done = subprocess.run(
        ["gcc", *FLAGS, *flags, "-o", "model", *sources, "-lm"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    given = []
    for key, value in feeds.items():
        np.save(os.path.join(folder, f"in_{key}.npy"), value)
        given.append(f"{key}=in_{key}.npy")
    done = subprocess.run(
        ["./model", *given, "--steps", str(steps)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def check(program: fl.Program, feeds: dict[str, Any], folder: Any, steps: int = 1, **options: Any) -> None:
    """Exports a program, runs it in C and here, and compares the outputs."""
    fl.export.c(program, folder, **options)
    run_c(folder, feeds, steps)
    found: dict[str, Any] = {}
    for _ in range(steps):
        found = program.run({key: fl.tensor(value) for key, value in feeds.items()})
    for key, value in found.items():
        np.testing.assert_allclose(
            np.load(os.path.join(folder, f"{key}.npy")), value.numpy(), rtol=1e-5, atol=1e-5 * np.abs(value.numpy()).max()
        )


@pytest.mark.parametrize("name", exported_models.NAMES)
def test_predictions_of_the_models(name: str, tmp_path: Any) -> None:
    program, feeds = exported_models.prediction(name)
    check(program, feeds, tmp_path)


@pytest.mark.parametrize("name", exported_models.NAMES)
def test_training_steps_of_the_models(name: str, tmp_path: Any) -> None:
    program, feeds = exported_models.step(name)
    check(program, feeds, tmp_path, steps=1 if "res" in name else 3)


def test_a_training_in_one_program(tmp_path: Any) -> None:
    random = np.random.default_rng(5)
    fl.seed(4)
    x, y = fl.tensor(random.standard_normal((40, 8)).astype(np.float32)), fl.tensor(random.integers(0, 3, 40))
    net = fl.nn.Sequential(fl.nn.Linear(8, 16), fl.nn.ReLU(), fl.nn.Dropout(0.1), fl.nn.Linear(16, 3))
    optimizer = fl.optimizer.Adam(net.parameters(), 1e-2)

    def train(first: Any) -> Any:
        def body(i: Any, _: Any) -> Any:
            loss = fl.cross_entropy(net(x), y)
            optimizer.minimize(loss)
            return i + 1, loss

        _, loss = fl.while_loop(lambda i, _: i < 30, body, (first, fl.tensor(0.0)))
        return {"loss": loss, "right": fl.sum((fl.argmax(net(x), 1) == y).astype("i64"))}

    program = fl.build(train, {"first": "i64[]"})
    check(program, {"first": np.array(0, dtype=np.int64)}, tmp_path)


def test_the_same_source_twice_and_without_paths(tmp_path: Any) -> None:
    program, _ = exported_models.prediction("mlp")
    for folder in ("a", "b"):
        fl.export.c(program, tmp_path / folder, embed=True)
    for name in os.listdir(tmp_path / "a"):
        text = (tmp_path / "a" / name).read_text()
        assert text == (tmp_path / "b" / name).read_text()
        assert os.path.dirname(__file__) not in text
    shutil.rmtree(tmp_path / "b")
    run_c(tmp_path / "a", {"x": np.zeros((4, 12), dtype=np.float32)})


def test_bounded_sizes_are_inputs(tmp_path: Any) -> None:
    program = fl.build(lambda x: fl.softmax(x @ x.T, 1), {"x": "f32[n, 3]"})
    fl.export.c(program, tmp_path, bounds={"n": 6})
    x = np.arange(12, dtype=np.float32).reshape(4, 3) / 10
    np.save(tmp_path / "x.npy", x)
    subprocess.run(["gcc", *FLAGS, "-O1", "-o", "model", "main.c", "model.c", "-lm"], cwd=tmp_path, check=True)
    subprocess.run(["./model", "x=x.npy", "n=4"], cwd=tmp_path, check=True)
    np.testing.assert_allclose(np.load(tmp_path / "out0.npy"), program(fl.tensor(x)).numpy(), rtol=1e-5)
    refused = subprocess.run(["./model", "x=x.npy", "n=7"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode != 0


def test_refusals_name_op_and_line(tmp_path: Any) -> None:
    program = fl.build(lambda x: fl.unique(x), {"x": "f32[4]"})
    with pytest.raises(Exception, match="cannot be exported to C") as caught:
        fl.export.c(program, tmp_path)
    assert "test_export.py" in str(caught.value)
    with pytest.raises(TypeError, match="expected a program"):
        fl.export.c(lambda x: x, tmp_path)  # type: ignore[arg-type]
    with pytest.raises(Exception, match="--size"):
        fl.export.c(fl.build(lambda x: x + 1, {"x": "f32[n]"}), tmp_path)


@pytest.mark.parametrize("name", ["mlp", "lenet"])
def test_training_steps_in_cuda(name: str, tmp_path: Any) -> None:
    """`make test-cuda` does so with all models, and compiles them with nvcc."""
    program, feeds = exported_models.step(name)
    export_cuda.check(program, feeds, tmp_path, steps=2)


def test_what_cuda_refuses(tmp_path: Any) -> None:
    program = fl.build(lambda x: fl.print(x, "x"), {"x": "f32[4]"})
    with pytest.raises(Exception, match="`print` cannot be exported to CUDA") as caught:
        fl.export.cuda(program, tmp_path)
    assert "test_export.py" in str(caught.value)
    program = fl.build(lambda x: fl.index_select(x, 0, x.astype("i64")), {"x": "f32[4]"})
    fl.export.cuda(program, tmp_path)
    with pytest.raises(AssertionError, match="test_export.py:.*out of range"):
        export_cuda.run_emulated(tmp_path, {"x": np.array([0, 1, 2, 9], dtype=np.float32)})


def test_crates_of_rust(tmp_path: Any) -> None:
    """`make test-export-rust` builds them."""
    program, _ = exported_models.prediction("mlp")
    for folder in ("a", "b"):
        fl.export.rust(program, tmp_path / folder, name="my-mlp", crates="../crates")
    files = sorted(str(path.relative_to(tmp_path / "a")) for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert files == ["Cargo.toml", "src/lib.rs", "src/main.rs", "src/my-mlp.flb", "src/my-mlp.safetensors"]
    for name in files:
        content = (tmp_path / "a" / name).read_bytes()
        assert content == (tmp_path / "b" / name).read_bytes()
        assert os.path.dirname(__file__).encode() not in content
    assert 'fluvial-ops = { path = "../crates/ops" }' in (tmp_path / "a/Cargo.toml").read_text()
    assert "use my_mlp::Model;" in (tmp_path / "a/src/main.rs").read_text()
    with pytest.raises(TypeError, match="expected a program"):
        fl.export.rust(lambda x: x, tmp_path)  # type: ignore[arg-type]
    with pytest.raises(Exception, match="is not a name of a crate"):
        fl.export.rust(program, tmp_path, name="1")
