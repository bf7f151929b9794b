"""`fl.fft`, `stft` and windows, against NumPy, by differences, in both modes."""

import numpy as np
import pytest

import fluvial as fl
import fluvial.torch as torch

NORMS = ["backward", "ortho", "forward"]


def signal(*shape, real=False, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return x if real else x + 1j * rng.normal(size=shape)


def near(found, expected, tolerance=1e-10):
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [None, 1, 4, 5, 9])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_axis(name, n, norm):
    x = signal(3, 6, 2, real=name in ("rfft", "ihfft"))
    for axis in (0, 1, -1):
        expected = getattr(np.fft, name)(x, n, axis, norm)
        function = getattr(fl.fft, name)
        near(function(fl.tensor(x), n, axis, norm), expected)
        near(function(fl.tensor(x), n=n, dim=axis, norm=norm), expected)
        near(getattr(torch.fft, name)(fl.tensor(x), n, axis, norm), expected)
        if axis == 1:
            near(fl.function(lambda x: function(x, n, axis, norm))(fl.tensor(x)), expected)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("s, axes", [(None, None), (None, (0, 2)), ((4, 3), (1, 0)), ((3, 7), (-1, -2))])
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_several_axes(name, s, axes, norm):
    x = signal(3, 6, 4, real=name == "rfftn")
    near(getattr(fl.fft, name)(fl.tensor(x), s, axes, norm), getattr(np.fft, name)(x, s, axes, norm))
    near(getattr(torch.fft, name)(fl.tensor(x), s, axes, norm), getattr(np.fft, name)(x, s, axes, norm))


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2"])
def test_two_axes(name):
    x = signal(2, 5, 6, real=name == "rfft2")
    near(getattr(fl.fft, name)(fl.tensor(x)), getattr(np.fft, name)(x))


def test_frequencies_and_shifts():
    for n in (1, 4, 7):
        near(fl.fft.fftfreq(n, 0.5, dtype="float64"), np.fft.fftfreq(n, 0.5))
        near(fl.fft.rfftfreq(n, d=2.0, dtype="float64"), np.fft.rfftfreq(n, 2.0))
        x = signal(n, 3)
        near(fl.fft.fftshift(fl.tensor(x)), np.fft.fftshift(x))
        near(fl.fft.ifftshift(fl.tensor(x), axes=0), np.fft.ifftshift(x, 0))
        near(fl.fft.fftshift(fl.tensor(x), dim=(0, 1)), np.fft.fftshift(x, (0, 1)))


@pytest.mark.parametrize("dtype, expected", [("float32", "complex64"), ("float64", "complex128"), ("int64", "complex64")])
def test_element_types(dtype, expected):
    x = fl.tensor([1, 2, 3, 4], dtype=dtype)
    assert fl.fft.fft(x).dtype.name == fl.fft.rfft(x).dtype.name == expected


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "fftn", "irfftn"])
def test_gradients_against_differences(name):
    x = signal(2, 5, real=name == "rfft")
    weights = np.random.default_rng(1).normal(size=50)

    def loss(x):
        y = getattr(fl.fft, name)(x)
        y = fl.view_as_real(y) if y.dtype.is_complex else y
        y = fl.reshape(y, (-1,))
        return fl.sum(y * y * fl.tensor(weights[: y.shape[0]]))

    expected = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        for unit in (1,) if name == "rfft" else (1, 1j):
            step = np.zeros_like(x)
            step[place] = 1e-5 * unit
            expected[place] += unit * (loss(fl.tensor(x + step)).item() - loss(fl.tensor(x - step)).item()) / 2e-5
    leaf = fl.tensor(x, requires_grad=True)
    loss(leaf).backward()
    near(leaf.grad, expected, 1e-5)
    near(fl.function(fl.grad(loss))(fl.tensor(x)), expected, 1e-5)


def test_faults_are_told():
    x = fl.tensor([1.0, 2.0, 3.0])
    for call, text in [
        (lambda: fl.fft.fft(x, n=0), "cannot be transformed"),
        (lambda: fl.fft.fft(x, axis=1), "has no axis 1"),
        (lambda: fl.fft.fft(x, norm="both"), "there is no norm"),
        (lambda: fl.fft.rfft(fl.tensor([1j])), "transforms real numbers"),
        (lambda: fl.fft.fftn(x, s=(2,), axes=(0, 0)), "1 lengths for 2 axes"),
        (lambda: fl.fft.irfft(fl.tensor([1j])), "cannot be transformed"),
        (lambda: fl.fft.fft(fl.zeros((0,))), "cannot be transformed"),
    ]:
        with pytest.raises((ValueError, TypeError, IndexError), match=text):
            call()


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett", "kaiser"])
def test_windows(name, periodic):
    ours = getattr(fl, f"{name}_window")
    of_numpy = getattr(np, name if name not in ("hann",) else "hanning")
    more = (12.0,) if name == "kaiser" else ()
    for n in (1, 2, 5, 8):
        whole = of_numpy(n + 1, *more)[:-1] if periodic and n > 1 else of_numpy(n, *more)
        near(ours(n, periodic, dtype="float64"), whole, 1e-9)
    assert ours(0).shape == (0,)


def spectra(x, n_fft, hop, window, center):
    x = np.pad(x, n_fft // 2, mode="reflect") if center else x
    starts = range(0, len(x) - n_fft + 1, hop)
    return np.stack([np.fft.rfft(x[i : i + n_fft] * window) for i in starts], -1)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("n_fft, hop, length", [(8, 2, None), (8, 4, 6), (9, 3, None)])
def test_stft_and_back(n_fft, hop, length, center):
    x = signal(40, real=True)
    window = fl.hann_window(length or n_fft, dtype="float64")
    left = (n_fft - (length or n_fft)) // 2
    padded = np.zeros(n_fft)
    padded[left : left + (length or n_fft)] = window.numpy()
    found = fl.stft(fl.tensor(x), n_fft, hop, length, window, center)
    near(found, spectra(x, n_fft, hop, padded, center))
    batch = fl.stft(fl.tensor(np.stack([x, -x])), n_fft, hop, length, window, center)
    near(batch, np.stack([found.numpy(), -found.numpy()]))
    near(fl.function(lambda x: fl.stft(x, n_fft, hop, length, window, center))(fl.tensor(x)), found.numpy())
    if center:
        back = fl.istft(found, n_fft, hop, length, window, length=40)
        near(back[: 40 - n_fft], x[: 40 - n_fft], 1e-8)


def test_stft_has_a_gradient_and_refuses_what_does_not_fit():
    x = fl.tensor(signal(20, real=True), requires_grad=True)
    fl.sum(fl.abs(fl.stft(x, 8, window=fl.hann_window(8, dtype="float64"))) ** 2).backward()
    assert x.grad.dtype == fl.float64 and x.grad.shape == (20,)
    with pytest.raises(ValueError, match="does not fit a signal"):
        fl.stft(fl.ones(4), 8, center=False)
    with pytest.raises(ValueError, match="a window of shape"):
        fl.stft(fl.ones(40), 8, window=fl.ones(6))
    assert fl.stft(fl.ones(16), 8, return_complex=False).shape == (5, 9, 2)
