"""Parts of tensors that are changed in place reach the whole; what cannot be handed on is refused. (Both modes: `meaning/parts.py`.)"""

import gc
import weakref

import numpy as np
import pytest

import fluvial as fl


def matrix():
    return fl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


#: Lines that change `x`, which NumPy has with the same meaning.
LINES = [
    "x[0][1] += 1.0",
    "x[0][1:][0] = 4.0",
    "x.reshape(-1)[0] = 1.0",
    "x.reshape(3, 2)[1][:] = 2.0",
    "x.T[0] = 5.0",
    "x.T[1][0] = 5.0",
    "x[:, 1][:] = x[:, 1] - 1.0",
    "x[..., ::2][1] = 0.0",
    "x[None][0, 1] = 7.0",
    "for row in x: row[0] = 5.0",
    "for row in x.T: row[1] = 5.0",
    "y = x[0]; z = y[1:]; z[0] = 3.0; y[0] = 2.0",
    "y = x[0]; x[0] = 9.0; y[1] = 2.0",
    "y = x[:, 0]; z = x[0]; y[:] = 8.0; z[1:] = 0.5",
    "x[[0, 1]][0] = 1.0",
    "x[x > 2][0] = 1.0",
    "x.copy()[0] = 1.0",
]


@pytest.mark.parametrize("line", LINES)
def test_what_numpy_changes_is_changed(line):
    x, array = matrix(), matrix().numpy().copy()
    exec(line, {"x": array})
    exec(line.replace(".copy()", ".clone()"), {"x": x})
    assert x.tolist() == array.tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool"])
def test_every_element_type(dtype):
    x = fl.ones((2, 2), dtype=dtype)
    x[0].zero_()
    x.T[1][1] = 0
    assert x.tolist() == [[0, 0], [1, 0]] and x.dtype == fl.zeros((), dtype=dtype).dtype


def test_leaves_and_parameters_change_inside_no_grad():
    w = matrix().track()
    net = fl.nn.Linear(3, 2)
    with fl.no_grad():
        w[0].zero_()
        net.weight[0].zero_()
        net.weight.data[1].fill_(2.0)
    assert w.is_leaf and w.tolist() == [[0.0, 0.0, 0.0], [4.0, 5.0, 6.0]]
    assert net.weight.tolist() == [[0.0, 0.0, 0.0], [2.0, 2.0, 2.0]]
    with pytest.raises(RuntimeError, match="a part of a leaf"):
        w[0].zero_()
    w.data[1].zero_()
    assert w.is_leaf and not any(map(any, w.tolist()))


def test_gradients_pass_a_changed_part():
    x = matrix().track()
    y = x * x
    y[0].mul_(3.0)
    fl.sum(y).backward()
    assert x.grad.tolist() == (2 * matrix() * fl.tensor([[3.0], [1.0]])).tolist()


REFUSED = ["x.narrow(0, 0, 1).zero_()", "x.chunk(2)[0].zero_()", "x[0].expand(4, 3)[0] = 1.0", "x.T.reshape(-1)[0] = 1.0"]


@pytest.mark.parametrize("line", [*REFUSED, "x.T.contiguous()[0] = 1.0", "fl.diagonal(x)[0] = 1.0"])
def test_what_cannot_be_handed_on_is_refused_and_changes_nothing(line):
    x = matrix()
    with pytest.raises(ValueError, match="is a part of another tensor or the same elements"):
        exec(line, {"x": x, "fl": fl})
    assert x.tolist() == matrix().tolist()


def test_what_nobody_sees_may_be_changed():
    y = (matrix() * 2).narrow(0, 0, 1)
    assert y.zero_().tolist() == [[0.0, 0.0, 0.0]]
    y = matrix().T.contiguous()
    y[0] = 0.0
    assert y.tolist()[0] == [0.0, 0.0]


def test_a_detached_part_of_what_gradients_pass_is_refused():
    y = matrix().track() * 2
    with pytest.raises(ValueError, match="detach.*clone"):
        y.detach()[0] = 1.0
    z = y.detach().clone()
    z[0] = 1.0
    assert y.tolist() == (matrix() * 2).tolist()


def test_a_part_keeps_no_whole_alive():
    x = matrix()
    row, gone = x[0], weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None
    assert row.zero_().tolist() == [0.0, 0.0, 0.0]


def test_a_row_that_a_function_gives_is_refused():
    @fl.function
    def first(x):
        return x[0], (x * 2)[0]

    x = matrix()
    row, other = first(x)
    with pytest.raises(ValueError, match="clone"):
        row.zero_()
    other.zero_()
    assert x.tolist() == matrix().tolist()


def test_a_row_that_a_function_changes_reaches_the_whole():
    @fl.function
    def clear(row):
        row.zero_()

    for _ in range(2):
        x = matrix()
        clear(x[1])
        assert x.tolist() == [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]


MAKERS = ["fl.tensor([s, s])", "fl.tensor([[s, s], [s, s]])", "fl.tensor([v, v])", "fl.tensor([s, 1.5])", "fl.tensor([s, 2])"]
MAKERS += ["fl.tensor([s, True])", "fl.tensor([s, np.float64(2.5)])", "fl.tensor([s, np.int32(2)])", "fl.asarray([s, s])"]
MAKERS += ["fl.asarray([[1.5, s], [s, 2]])", "fl.stack([s, s])", "fl.stack([s, 1.5])", "fl.full((2,), s)", "fl.tensor([s, o])"]
MAKERS += ["fl.full((2,), s, dtype='float64')", "fl.tensor([s, o], dtype='float32')", "fl.asarray([s, o])", "fl.stack([s, o])"]


@pytest.mark.parametrize("line", MAKERS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "uint8", "int32", "int64", "bool"])
def test_lists_of_tensors_have_one_element_type_in_both_modes(line, dtype):
    made = eval(f"lambda s, v, o: {line}", {"fl": fl, "np": np})
    for other in ("float64", "int32", dtype):
        given = fl.tensor(1, dtype=dtype), fl.tensor([1, 0], dtype=dtype), fl.tensor(1, dtype=other)
        found = []
        for function in (made, fl.function(made)):
            try:
                result = function(*given)
                found.append((result.dtype.name, result.tolist()))
            except (TypeError, ValueError) as error:
                found.append(type(error))
        assert found[0] == found[1]
    if line == "fl.tensor([s, s])":
        assert made(*given).dtype.name == dtype
