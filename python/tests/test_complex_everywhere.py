"""Complex numbers where other parts of the library meet them: files, transforms, layers of Python, optimizers, exports."""

import subprocess
import sys

import fluvial as fl
import numpy as np
import pytest
from fluvial import nn
from fluvial.imperative import PyLayer

Z = [1 + 2j, -0.5 - 1j, 3j]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_arrays_and_files(tmp_path, dtype):
    z = fl.tensor(Z, dtype)
    assert z.numpy().dtype == dtype and fl.tensor(z.numpy()).tolist() == Z
    assert fl.from_dlpack(z).dtype == dtype and np.from_dlpack(z).tolist() == Z
    assert fl.from_dlpack(np.array(Z, dtype)).tolist() == Z
    np.save(tmp_path / "z.npy", z.numpy())
    assert np.load(tmp_path / "z.npy").tolist() == Z
    if dtype == "complex128":
        with pytest.raises(TypeError, match="files have no c128 elements\n  remedy: .*view_as_real"):
            fl.save({"z": z}, tmp_path / "z.safetensors")
        return
    fl.save({"z": z, "more": [z * 1j, {"real": z.real}]}, tmp_path / "z.safetensors")
    found = fl.load(tmp_path / "z.safetensors")
    assert found["z"].dtype == dtype and found["z"].tolist() == Z
    assert found["more"][0].tolist() == (z * 1j).tolist()


def test_printing():
    assert str(fl.tensor(Z)) == "[1.0+2.0j, -0.5-1.0j, 0.0+3.0j]"
    assert "c64[3]" in repr(fl.tensor(Z)) and f"{fl.tensor(1 + 2j).item()}" == "(1+2j)"
    assert complex(fl.tensor(1 + 2j)) == 1 + 2j
    with pytest.raises(TypeError, match="complex"):
        float(fl.tensor(1 + 2j))


def only(results):
    """The one result of a program."""
    (found,) = results.values()
    return np.asarray(found)


def test_programs_in_files(tmp_path):
    program = fl.build(lambda z: fl.fft.ifft(fl.fft.fft(z) * 2) + 1j, {"z": "c64[4]"})
    z = np.array([1, 2j, 3 - 1j, -1], "complex64")
    want = 2 * z + 1j
    assert np.allclose(only(program.run(z=z)), want, atol=1e-5)
    for name in ("program.flb", "program.fl"):
        program.save(tmp_path / name)
        assert np.allclose(only(fl.Program.load(tmp_path / name).run(z=z)), want, atol=1e-5)
    np.save(tmp_path / "z.npy", z)
    command = [sys.executable, "-m", "fluvial", "run", str(tmp_path / "program.flb"), "-f", f"z={tmp_path / 'z.npy'}"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    assert "c64[4]" in run.stdout


def test_exports_refuse_by_name(tmp_path):
    program = fl.build(lambda z: fl.linalg.inv(z) * 1j, {"z": "c64[2, 2]"})
    with pytest.raises(Exception, match="c64|complex"):
        fl.export.c(program, tmp_path / "c")
    with pytest.raises(Exception, match="c64|complex"):
        fl.onnx.save(program, tmp_path / "model.onnx")


def test_transforms():
    z = fl.tensor(Z, "complex128")
    square = lambda z: (z * z.conj()).real + z.imag  # noqa: E731
    assert np.allclose(fl.vmap(square)(z), square(z))
    value, slope = fl.jvp(lambda z: z * z, (z,), (fl.ones_like(z) * 1j,))
    assert np.allclose(slope, 2j * z.numpy()) and np.allclose(value, z.numpy() ** 2)
    _, back = fl.vjp(lambda z: fl.sum(square(z)), z)
    expected = 2 * z.numpy() + 1j
    assert np.allclose(back(fl.tensor(1.0, "float64"))[0], expected)
    assert np.allclose(fl.grad(lambda z: fl.sum(square(z)))(z), expected)
    leaf = z.detach().requires_grad_()
    fl.sum(fl.checkpoint(square, leaf)).backward()
    assert np.allclose(leaf.grad, expected)
    assert np.allclose(fl.function(fl.grad(lambda z: fl.sum(square(z))))(z), expected)


def test_autocast_leaves_complex_numbers():
    z = fl.tensor(Z)
    with fl.autocast("bf16"):
        product = fl.outer(z, z) @ z.unsqueeze(-1)
        assert product.dtype == "complex64" and fl.linalg.inv(fl.eye(2, dtype="complex64")).dtype == "complex64"


def test_functions_of_python_get_complex_gradients():
    fl.register_host("conj_square", lambda z: [z * z.conj() * 1j])
    fl.register_host("conj_square.backward", lambda z, d: [-1j * d * z + (1j * d.conj()) * z])
    z = fl.tensor(Z, "complex128")

    def loss(z):
        found = fl.host_call("conj_square", [z], ["c128[3]"], "conj_square.backward")[0]
        return fl.sum(found.imag**2)

    by_ops = fl.grad(lambda z: fl.sum(((z * z.conj()) * 1j).imag ** 2))(z)
    assert np.allclose(fl.grad(loss)(z), by_ops) and np.allclose(fl.function(fl.grad(loss))(z), by_ops)


class Times(PyLayer):
    """Times the imaginary unit."""

    @staticmethod
    def forward(inputs):
        return [inputs[0] * np.complex128(1j)]

    @staticmethod
    def backward(inputs):
        _, _, cotangent = inputs
        return [cotangent * np.complex128(-1j)]


def test_layers_of_numpy_get_complex_gradients():
    z = fl.tensor(Z, "complex128").requires_grad_()
    fl.sum(Times()(z)[0].real * fl.tensor([1.0, 2.0, 3.0], "float64")).backward()
    assert z.grad.tolist() == [-1j, -2j, -3j]
    real = fl.tensor([1.0, 2.0], "float64").requires_grad_()
    with pytest.raises(TypeError, match="complex gradient for input 0, which is real"):
        fl.sum(Times()(real)[0].real).backward()


OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01},
    "Adam": {"lr": 0.1},
    "AdamW": {"lr": 0.1, "weight_decay": 0.1},
    "RMSprop": {"lr": 0.1},
    "Adagrad": {"lr": 0.1},
    "Adadelta": {"lr": 1.0},
    "NAdam": {"lr": 0.1},
    "Rprop": {"lr": 0.1},
}


@pytest.mark.parametrize("mode", ["imperative", "program"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_train_parts_as_numbers(name, mode):
    target = fl.tensor([2 - 1j, -1 + 0.5j])
    complex_one = nn.Parameter(fl.tensor([1 + 1j, 0.5 - 2j]))
    parts = nn.Parameter(fl.view_as_real(fl.tensor([1 + 1j, 0.5 - 2j])))
    make = getattr(fl.optimizer, name)
    ours, real = make([complex_one], **OPTIMIZERS[name]), make([parts], **OPTIMIZERS[name])

    def step():
        ours.minimize(fl.sum(fl.abs(complex_one * (1 + 2j) - target) ** 2))
        real.minimize(fl.sum(fl.abs(fl.view_as_complex(parts) * (1 + 2j) - target) ** 2))

    run = fl.function(step) if mode == "program" else step
    for _ in range(3):
        run()
    assert complex_one.dtype == "complex64"
    assert np.allclose(fl.view_as_real(complex_one.detach()), parts.detach(), rtol=1e-6, atol=1e-6)
    assert abs(complex_one.tolist()[0] - (1 + 1j)) > 1e-3


def test_optimizers_with_clipping_and_closures():
    for clip in (fl.clip.GradientClipByGlobalNorm(0.5), fl.clip.GradientClipByValue(0.1)):
        z = nn.Parameter(fl.tensor([1 + 1j, -2j]))
        fl.optimizer.SGD([z], 1.0, grad_clip=clip).minimize(fl.sum(z.real + 2 * z.imag))
        moved = np.asarray(z.detach()) - np.array([1 + 1j, -2j])
        assert np.allclose(moved, moved[0]) and abs(moved[0]) < 1
    z = nn.Parameter(fl.tensor([1 + 1j]))
    lbfgs = fl.optimizer.LBFGS([z])

    def closure():
        lbfgs.zero_grad()
        loss = fl.sum(fl.abs(z - (3 - 2j)) ** 2)
        loss.backward()
        return loss

    for _ in range(3):
        lbfgs.step(closure)
    assert np.allclose(z.detach(), [3 - 2j], atol=1e-3)
    for name in ("Lamb", "Adafactor", "Muon"):
        z = nn.Parameter(fl.eye(2, dtype="complex64"))
        with pytest.raises(TypeError, match="does not train"):
            getattr(fl.optimizer, name)([z]).minimize(fl.sum(fl.abs(z)))


def test_sums_leave_complex_nan_out():
    z = fl.tensor([1 + 1j, complex("nan"), 2])
    assert fl.nansum(z).item() == 3 + 1j and fl.nanmean(z).item() == (3 + 1j) / 2
    a = np.array([[1 + 1j, 2, 3j], [0, 1j, -1 + 2j]])
    assert np.allclose(fl.cov(fl.tensor(a)), np.cov(a))
    assert np.allclose(fl.corrcoef(fl.tensor(a)), np.corrcoef(a))
    assert fl.float_power(fl.tensor([1j]), 2).dtype == "complex128"
    assert np.allclose(fl.sinc(fl.tensor([0.3 + 0.2j, 0])), np.sinc([0.3 + 0.2j, 0]), atol=1e-6)


def test_convolutions():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 5)) + 1j * rng.standard_normal((2, 3, 5))
    k = rng.standard_normal((4, 3, 2)) + 1j * rng.standard_normal((4, 3, 2))
    want = np.stack([np.einsum("bcw,ocw->bo", x[:, :, i : i + 2], k) for i in range(4)], -1)
    assert np.allclose(fl.conv1d(fl.tensor(x), fl.tensor(k)), want)
    assert np.allclose(fl.function(fl.conv1d)(fl.tensor(x), fl.tensor(k)), want)
    fl.testing.gradcheck(lambda x, k: fl.conv1d(x, k), (fl.tensor(x[:1, :1]), fl.tensor(k[:1, :1])))
    spread = fl.conv_transpose1d(fl.tensor(x), fl.tensor(k.transpose(1, 0, 2)))
    assert spread.shape == (2, 4, 6) and spread.dtype == "complex128"


def test_differences_check_complex_gradients():
    z = fl.tensor([1 + 2j, -0.5 + 1j])
    fl.testing.gradcheck(lambda z: fl.exp(z) * z.conj(), z)
    with pytest.raises(AssertionError, match="the gradient by input 0 is wrong"):
        fl.testing.gradcheck(lambda z: z.detach() * z, z)


def test_no_axes_are_none():
    x = fl.tensor([[1.0, -2.0], [0.0, 4.0]])
    for name in ("sum", "prod", "max", "min", "mean", "logsumexp"):
        found = getattr(fl, name)(x, axis=())
        assert found.shape == (2, 2) and np.allclose(found, x), name
        assert fl.function(lambda x, name=name: getattr(fl, name)(x, axis=()))(x).shape == (2, 2)
    assert fl.all(x, axis=()).tolist() == (x != 0).tolist() and fl.any(x, axis=[]).dtype == "bool"
    assert fl.var(x, axis=(), keepdims=True).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert fl.count_nonzero(x, axis=()).tolist() == [[1, 1], [0, 1]] and fl.squeeze(fl.ones((1, 2)), axis=()).shape == (1, 2)
