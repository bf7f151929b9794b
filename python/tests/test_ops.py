"""Functions with options, words and several results from Python."""

import inspect

import numpy as np
import pytest

import fluvial as fl


def test_options_are_keywords_with_defaults():
    x = fl.tensor(np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4))
    weight = fl.tensor(np.ones((3, 2, 3, 3), np.float32))
    assert fl.conv2d(x, weight).shape == (1, 3, 2, 2)
    assert fl.conv2d(x, weight, padding=1, stride=(2, 1)).shape == (1, 3, 2, 4)
    with_bias = fl.conv2d(x, weight, fl.tensor(np.ones(3, np.float32)))
    assert np.array_equal(with_bias.numpy(), fl.conv2d(x, weight).numpy() + 1)
    assert str(inspect.signature(fl.conv2d)).startswith("(x, weight, bias=None, *, stride=1")
    with pytest.raises(TypeError):
        fl.conv2d(x, weight, None, 2)


def test_words():
    logits = fl.tensor([[2.0, 0.0], [0.0, 1.0]])
    labels = fl.tensor([0, 1])
    each = fl.cross_entropy(logits, labels, reduction="none").numpy()
    assert each.shape == (2,)
    assert fl.cross_entropy(logits, labels).item() == pytest.approx(each.mean(), rel=1e-6)
    with pytest.raises(ValueError, match="none of: mean, sum, none"):
        fl.cross_entropy(logits, labels, reduction="total")


def test_several_results():
    values, positions = fl.topk(fl.tensor([3.0, 9.0, 5.0]), 2, axis=0, largest=True)
    assert values.numpy().tolist() == [9.0, 5.0] and positions.numpy().tolist() == [1, 2]
    values, inverse, counts = fl.unique(fl.tensor([2, 1, 2]))
    assert values.numpy().tolist() == [1, 2]
    assert inverse.numpy().tolist() == [1, 0, 1] and counts.numpy().tolist() == [1, 2]


def test_optional_numbers():
    x = fl.tensor([-2.0, 0.5, 3.0])
    assert fl.clip(x, low=0.0).numpy().tolist() == [0.0, 0.5, 3.0]
    assert fl.clip(x, -1.0, 1.0).numpy().tolist() == [-1.0, 0.5, 1.0]


def test_shapes():
    x = fl.tensor(np.arange(6).reshape(2, 3))
    assert fl.reshape(x, (-1,)).shape == (6,)
    assert [part.shape for part in fl.split(x, [1, 2], 1)] == [(2, 1), (2, 2)]
    assert fl.pad(x, [1], [0], value=7).numpy().tolist() == [[7, 0, 1, 2], [7, 3, 4, 5]]
    assert fl.std(fl.tensor([1.0, 3.0]), correction=0.0).item() == 1.0


def test_a_program_of_new_ops():
    def loss(x, weight):
        hidden = fl.gelu(fl.conv2d(x, weight, padding=1))
        return fl.mean(fl.max_pool2d(hidden, 2))

    x = fl.tensor(np.linspace(-1, 1, 16, dtype=np.float32).reshape(1, 1, 4, 4))
    weight = fl.tensor(np.linspace(-1, 1, 9, dtype=np.float32).reshape(1, 1, 3, 3))
    program = fl.build(loss, {"x": "f32[batch, 1, 4, 4]", "weight": weight})
    assert program(x, weight).item() == loss(x, weight).item()
