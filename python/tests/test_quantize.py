"""Programs computed with integers of 8 bits."""

import os

import numpy as np
import pytest

import fluvial as fl
from fluvial import nn


def images(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 8, 12, 12)).astype(np.float32)


def rows(n, seed=0, width=32):
    return np.random.default_rng(seed).normal(size=(n, width)).astype(np.float32)


def apart(found, expected):
    found, expected = np.asarray(found.tolist()), np.asarray(expected.tolist())
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@pytest.fixture
def net():
    fl.seed(3)
    net = nn.Sequential(
        nn.Conv2d(8, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 5 * 5, 16),
    )
    return net.eval()


TYPES = {"x": "f32[batch, 8, 12, 12]"}


def test_a_model_with_static_scales_is_near_the_floats(net):
    small = fl.quantize(net, [images(8, i) for i in range(4)], inputs=TYPES)
    x = fl.tensor(images(5, 9))
    assert 0 < apart(small(x), net(x)) < 0.05
    assert str(small).count("int8_conv") == 2 and str(small).count("int8_linear") == 1
    assert not small.states
    plain = small.run(x=x, compiled=False)["out0"]
    assert small(x).tolist() == plain.tolist()


def test_dynamic_scales_need_no_samples(net):
    small = fl.quantize(net, inputs=TYPES, dynamic=True)
    x = fl.tensor(images(5, 9))
    assert 0 < apart(small(x), net(x)) < 0.05


def test_any_number_of_threads_gives_the_same_bits(net):
    small = fl.quantize(net, [images(8)], inputs=TYPES)
    x = fl.tensor(images(5, 9))
    try:
        results = []
        for n in (1, 2, 3, 8):
            fl.set_num_threads(n)
            results.append(small(x).tolist())
    finally:
        fl.set_num_threads(len(os.sched_getaffinity(0)))
    assert all(result == results[0] for result in results)


def test_files_and_onnx(net, tmp_path):
    small = fl.quantize(net, [images(8)], inputs=TYPES)
    x = fl.tensor(images(5, 9))
    small.save(tmp_path / "small.flb")
    again = fl.Program.load(tmp_path / "small.flb")
    assert again(x).tolist() == small(x).tolist()
    fl.onnx.save(small, tmp_path / "small.onnx")
    text = (tmp_path / "small.onnx").read_bytes()
    # The type and the name of a node: one quantises, and two dequantise, for each op.
    assert text.count(b"QuantizeLinear") == 6 and text.count(b"DequantizeLinear") == 12
    # Bytes of weights, and not packed ones besides.
    weights = 16 * 8 * 9 + 16 * 16 * 9 + 16 * 16 * 25
    assert len(text) < weights + 8000
    imported = fl.onnx.load(tmp_path / "small.onnx")
    assert apart(imported(x), small(x)) < 1e-3


def test_samples_come_by_reader_dict_tuple_or_alone():
    fl.seed(4)
    layer = nn.Linear(32, 16)
    program = fl.build(layer, {"x": "f32[batch, 32]"})
    x = rows(8)
    reader = fl.reader({"x": x, "y": np.arange(8)}, name="some").batch(4)
    before = reader.position
    expected = fl.quantize(program, [x]).text()
    for samples in (reader, [{"x": x}], [(x,)], iter([fl.tensor(x)])):
        assert fl.quantize(program, samples).text() == expected
    assert reader.position == before


def test_what_stays_in_floats_is_told():
    fl.seed(5)
    net = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2), name="net")
    program = fl.build(net, {"x": "f32[batch, 32]"})
    with pytest.warns(UserWarning, match=r"net.2.weight \(matmul\): floats: 2 channels") as found:
        fl.quantize(program, [rows(8)])
    assert found[0].filename == __file__
    with pytest.raises(Exception, match="no op that could be quantised is named `head`"):
        fl.quantize(program, [rows(8)], skip=["head"])


def test_skipped_layers_stay_as_they_are():
    fl.seed(6)
    net = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 16), name="net")
    program = fl.build(net, {"x": "f32[batch, 32]"})
    small = fl.quantize(program, [rows(8)], skip=["net.2"])
    assert str(small).count("int8_linear") == 1 and str(small).count("matmul") == 1


def test_mistakes_are_errors():
    layer = nn.Linear(32, 16)
    program = fl.build(layer, {"x": "f32[batch, 32]"})
    with pytest.raises(TypeError, match="the types of its arguments are not known"):
        fl.quantize(layer, [rows(8)])
    with pytest.raises(TypeError, match="a program knows the types"):
        fl.quantize(program, [rows(8)], inputs={"x": "f32[batch, 32]"})
    with pytest.raises(TypeError, match="expected a program, a layer or a function"):
        fl.quantize(3, [rows(8)])
    with pytest.raises(ValueError, match="there are none"):
        fl.quantize(program)
    with pytest.raises(ValueError, match="dynamic scales need no samples"):
        fl.quantize(program, [rows(8)], dynamic=True)
    with pytest.raises(Exception, match="no samples were observed"):
        fl.quantize(program, [])
    with pytest.raises(KeyError, match="the samples have no x"):
        fl.quantize(program, [{"y": rows(8)}])
    with pytest.raises(ValueError, match="a sample has 2 parts"):
        fl.quantize(program, [(rows(8), rows(8))])
    with pytest.raises(Exception, match="reaches from"):
        fl.quantize(program, [np.full((1, 32), np.inf, np.float32)])
    with pytest.raises(Exception, match="nothing that can be quantised"):
        fl.quantize(fl.build(lambda x: x * 2, {"x": "f32[n]"}), dynamic=True)


def test_a_recurrent_layer_computes_its_steps_with_bytes():
    fl.seed(7)
    layer = nn.LSTM(32, 32, batch_first=True)
    program = fl.build(lambda x: layer(x)[0], {"x": "f32[batch, 5, 32]"})
    small = fl.quantize(program, dynamic=True)
    x = fl.tensor(np.random.default_rng(1).normal(size=(4, 5, 32)).astype(np.float32))
    assert str(small).count("int8_linear") >= 2
    assert 0 < apart(small(x), program(x)) < 0.05
