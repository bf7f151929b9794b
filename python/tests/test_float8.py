"""Floats of 8 bits, which store numbers."""

import numpy as np
import pytest

import fluvial as fl

NAMES = ["float8_e4m3fn", "float8_e5m2"]


@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_rounded_and_kept(name):
    x = fl.tensor([0.0, 1.0, -1.0625, 3.3, 1e-9, 448.0], dtype=name)
    assert x.dtype.name == name and x.dtype.itemsize == 1
    third = 3.25 if name == "float8_e4m3fn" else 3.5
    low = -1.0 if name == "float8_e4m3fn" else -1.0
    assert fl.cast(x, "float32").tolist() == [0.0, 1.0, low, third, 0.0, 448.0]
    assert x.tolist()[3] == third


def test_ends_of_the_ranges():
    e4m3 = fl.cast(fl.tensor([464.0, 480.0, -1e9, float("inf"), float("nan")]), "float8_e4m3fn").tolist()
    assert e4m3[:4] == [448.0, 448.0, -448.0, 448.0] and e4m3[4] != e4m3[4]
    assert fl.cast(fl.tensor([57344.0, 61440.0, -1e9]), "float8_e5m2").tolist() == [57344.0, float("inf"), -float("inf")]


@pytest.mark.parametrize("name", NAMES)
def test_what_moves_elements_takes_them_and_arithmetic_does_not(name):
    x = fl.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=name)
    assert x.T.tolist() == [[1.0, 3.0], [2.0, 4.0]] and x[1].tolist() == [3.0, 4.0]
    assert fl.concat([x, x]).shape == (4, 2)
    for call in (lambda x: x + x, lambda x: fl.sum(x), lambda x: x @ x, lambda x: fl.exp(x)):
        for function in (call, fl.function(call)):
            with pytest.raises(Exception, match="only stores numbers(.|\n)*cast to f16, bf16 or f32"):
                function(x)
    assert fl.function(lambda x: fl.cast(x, "float32") * 2)(x).tolist() == [[2.0, 4.0], [6.0, 8.0]]


@pytest.mark.parametrize("name", NAMES)
def test_files_and_numpy(name, tmp_path):
    x = fl.tensor([0.5, -3.0], dtype=name)
    fl.save_safetensors({"x": x}, tmp_path / "w.safetensors")
    loaded = fl.load_safetensors(tmp_path / "w.safetensors")["x"]
    assert loaded.tolist() == [0.5, -3.0] and loaded.dtype.name == name
    program = fl.build(lambda y: fl.concat([y, fl.tensor([0.5, -3.0], dtype=name)]), {"y": x.type_text})
    for path in (tmp_path / "program.fl", tmp_path / "program.flb"):
        program.save(path)
        assert fl.load(path)(x).tolist() == [0.5, -3.0, 0.5, -3.0]
    try:
        import ml_dtypes
    except ImportError:
        with pytest.raises(TypeError, match="install the package `ml_dtypes`"):
            x.numpy()
    else:
        assert x.numpy().dtype == getattr(ml_dtypes, name)
        assert fl.tensor(x.numpy()).dtype.name == name
    assert np.asarray(fl.cast(x, "float32").numpy()).tolist() == [0.5, -3.0]


def test_gradients_say_that_they_end():
    x = fl.tensor([1.0], requires_grad=True)
    y = fl.cast(fl.cast(x, "float8_e5m2"), "float32")
    with pytest.raises(Exception, match="float of 8 bits has no gradient"):
        fl.sum(y).backward()
