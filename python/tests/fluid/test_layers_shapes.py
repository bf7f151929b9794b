"""Shapes, slices, gathers and tensors made, of `fluid.layers`."""

import numpy as np
import pytest
from layer_checks import check, numbers, raw, run

import fluvial as fl
from fluvial.fluid.layers import nn, tensor

nn, tensor = raw(nn), raw(tensor)
X = numbers(4, 3)
CUBE = numbers(2, 3, 4)


def test_reshape():
    check(nn.reshape, [CUBE], CUBE.reshape(2, 12), {"shape": [0, -1]})
    check(nn.reshape, [CUBE], np.maximum(CUBE.reshape(6, 4), 0), {"shape": [-1, 4], "act": "relu"})
    check(lambda x: nn.reshape(x, [0, 0, 2, 2]), [CUBE], CUBE.reshape(2, 3, 2, 2))
    sizes = np.array([6, 4], np.int32)
    check(lambda x, sizes: nn.reshape(x, sizes), [CUBE, sizes], CUBE.reshape(6, 4), open_batch=False, gradient=False)
    check(lambda x, sizes: nn.reshape(x, [-1, 4], actual_shape=sizes), [CUBE, sizes], CUBE.reshape(6, 4), open_batch=False, gradient=False)


def test_axes():
    ones = CUBE.reshape(2, 1, 3, 1, 4)
    check(nn.squeeze, [ones], CUBE, {"axes": [1, 3]})
    check(nn.squeeze, [ones], CUBE, {"axes": []}, gradient=False)
    check(nn.squeeze, [ones], CUBE.reshape(2, 3, 1, 4), {"axes": [1, 2]}, gradient=False)
    check(nn.unsqueeze, [CUBE], CUBE[:, None, :, None], {"axes": [1, 3]})
    check(nn.flatten, [CUBE], CUBE.reshape(2, 12))
    check(nn.flatten, [CUBE], CUBE.reshape(6, 4), {"axis": 2})
    check(nn.flatten, [CUBE], CUBE.reshape(1, 24), {"axis": 0}, open_batch=False)
    check(nn.transpose, [CUBE], CUBE.transpose(2, 0, 1), {"perm": [2, 0, 1]})
    check(nn.t, [X], X.T)
    check(lambda x, y: nn.stack([x, y], axis=1), [X, X + 1], np.stack([X, X + 1], 1))
    check(nn.unstack, [CUBE], [CUBE[:, i] for i in range(3)], {"axis": 1})
    check(lambda x: nn.unstack(x, axis=0, num=4), [X], [X[i] for i in range(4)])
    check(lambda x, y: tensor.concat([x, y], axis=1), [X, X + 1], np.concatenate([X, X + 1], 1))
    check(nn.split, [CUBE], [CUBE[..., :2], CUBE[..., 2:]], {"num_or_sections": 2})
    check(nn.split, [CUBE], [CUBE[:, :1], CUBE[:, 1:]], {"num_or_sections": [1, -1], "dim": 1})
    with pytest.raises(ValueError, match="3 elements along axis 1 are not 2 equal parts"):
        nn.split(fl.tensor(CUBE), 2, dim=1)


def test_repeats():
    check(nn.expand, [CUBE], np.tile(CUBE, (2, 1, 3)), {"expand_times": [2, 1, 3]})
    check(nn.expand_as, [numbers(4, 1), X], np.tile(numbers(4, 1), (1, 3)), gradient=False)
    check(nn.flip, [CUBE], CUBE[:, ::-1, ::-1], {"dims": [1, 2]})
    check(tensor.reverse, [CUBE], CUBE[:, ::-1], {"axis": 1})
    check(nn.roll, [X], np.roll(X, 1, 1), {"shifts": 1, "dims": 1})
    check(nn.roll, [X], np.roll(X, 2), {"shifts": 2}, gradient=False)


def test_slices():
    check(nn.slice, [CUBE], CUBE[:, 1:3, -2:], {"axes": [1, 2], "starts": [1, -2], "ends": [100, 4]})
    check(nn.slice, [CUBE], CUBE[:, :2], {"axes": [1], "starts": [0], "ends": [-1]})
    end = np.array([2], np.int32)
    check(lambda x, end: nn.slice(x, [2], [0], [end]), [CUBE, end], CUBE[..., :2], open_batch=False, gradient=False)
    check(nn.strided_slice, [CUBE], CUBE[:, :, 3:0:-2], {"axes": [2], "starts": [3], "ends": [0], "strides": [-2]})
    check(nn.crop, [CUBE], CUBE[:, 1:3, 0:2], {"shape": [-1, 2, 2], "offsets": [0, 1, 0]})
    check(lambda x, y: nn.crop(x, y, [0, 1, 1]), [CUBE, numbers(2, 2, 3)], CUBE[:, 1:, 1:], gradient=False)
    check(nn.crop_tensor, [CUBE], CUBE[:, :, 1:], {"shape": [-1, -1, -1], "offsets": [0, 0, 1]})


def test_pads():
    check(nn.pad, [X], np.pad(X, ((0, 0), (1, 2)), constant_values=3), {"paddings": [0, 0, 1, 2], "pad_value": 3.0})
    image = numbers(2, 1, 3, 3)
    for mode, name in [("constant", "constant"), ("reflect", "reflect"), ("edge", "edge")]:
        wanted = np.pad(image, ((0, 0), (0, 0), (1, 2), (2, 0)), mode=name)
        check(nn.pad2d, [image], wanted, {"paddings": [1, 2, 2, 0], "mode": mode})
    last = image.transpose(0, 2, 3, 1)
    check(nn.pad2d, [last], np.pad(last, ((0, 0), (1, 0), (0, 1), (0, 0))), {"paddings": [1, 0, 0, 1], "data_format": "NHWC"})
    check(nn.pad_constant_like, [numbers(4, 5), X], np.pad(X, ((0, 0), (0, 2)), constant_values=1), {"pad_value": 1.0}, gradient=False)
    with pytest.raises(ValueError, match='there is no mode "wrap"'):
        nn.pad2d(fl.tensor(image), [1, 1, 1, 1], mode="wrap")


def test_gathers_and_scatters():
    index = np.array([2, 0])
    check(nn.gather, [X, index], X[index])
    check(nn.gather, [X, index[:, None]], X[index])
    check(nn.gather_nd, [CUBE, np.array([[0, 1], [1, 2]])], CUBE[[0, 1], [1, 2]], open_batch=False)
    check(nn.index_select, [X, index], X[:, index], {"dim": 1}, open_batch=False)
    check(nn.index_sample, [X, np.array([[0, 2]] * 4)], X[:, [0, 2]])
    updates = numbers(2, 3, seed=4)
    wanted = X.copy()
    wanted[index] = updates
    check(nn.scatter, [X, index, updates], wanted, open_batch=False)
    wanted = X.copy()
    wanted[1] = updates[0] + updates[1]
    check(nn.scatter, [X, np.array([1, 1]), updates], wanted, {"overwrite": False}, open_batch=False)
    places = np.array([[1, 1], [0, 2], [1, 1]])
    wanted = X.copy()
    np.add.at(wanted, tuple(places.T), [1.0, 2.0, 3.0])
    check(nn.scatter_nd_add, [X, places, np.array([1.0, 2.0, 3.0], np.float32)], wanted, open_batch=False)
    wanted = np.zeros((4, 3), np.float32)
    np.add.at(wanted, tuple(places.T), [1.0, 2.0, 3.0])
    check(nn.scatter_nd, [places, np.array([1.0, 2.0, 3.0], np.float32)], wanted, {"shape": [4, 3]}, open_batch=False)
    chosen = np.array([[1], [0], [1], [0]], np.int32)
    y = X + 10
    check(lambda x, y, i: nn.multiplex([x, y], i), [X, y, chosen], np.where(chosen == 1, y, X))


def test_trees_of_a_beam_search():
    ids = np.array([[[2, 2], [6, 1]], [[3, 9], [6, 1]], [[0, 1], [9, 0]]])
    parents = np.array([[[0, 0], [1, 1]], [[1, 0], [1, 0]], [[0, 0], [0, 1]]])
    wanted = [[[2, 2], [1, 6]], [[3, 3], [6, 1]], [[0, 1], [9, 0]]]
    check(nn.gather_tree, [ids, parents], wanted, open_batch=False, gradient=False)


def test_sizes():
    check(nn.shape, [CUBE], np.array([2, 3, 4], np.int32), gradient=False)
    check(nn.rank, [CUBE], np.array([3], np.int32), gradient=False)
    check(nn.size, [CUBE], np.array([24]), gradient=False)


def test_tensors_made():
    check(lambda: tensor.fill_constant([2, 3], "int64", 7), [], np.full((2, 3), 7), gradient=False)
    check(lambda n: tensor.fill_constant([n, 2], "float32", 1.5), [np.array([3])], np.full((3, 2), 1.5), open_batch=False, gradient=False)
    check(lambda v: tensor.fill_constant([2], "float32", v), [np.array([4.0], np.float32)], [4.0, 4.0], open_batch=False, gradient=False)
    check(lambda: tensor.zeros([2], "int32"), [], np.zeros(2), gradient=False)
    check(lambda: tensor.ones([2], "float64"), [], np.ones(2), gradient=False)
    check(tensor.zeros_like, [X], np.zeros_like(X), gradient=False)
    check(tensor.ones_like, [X], np.ones_like(X), gradient=False)
    check(tensor.full_like, [X], np.full((4, 3), 2), {"fill_value": 2, "dtype": "int64"}, gradient=False)
    check(lambda: tensor.full([3], 2.5), [], np.full(3, 2.5), gradient=False)
    check(lambda: tensor.eye(2, 3, [2]), [], np.stack([np.eye(2, 3)] * 2), gradient=False)
    check(lambda: tensor.range(1, 10, 3, "int64"), [], [1, 4, 7], gradient=False)
    check(lambda n: tensor.range(0, n, 2, "float32"), [np.array([5])], [0, 2, 4], open_batch=False, gradient=False)
    check(lambda: tensor.arange(3), [], [0, 1, 2], gradient=False)
    check(lambda: tensor.linspace(0.0, 10.0, 5, "float32"), [], [0, 2.5, 5, 7.5, 10], gradient=False)
    check(lambda a: tensor.linspace(a, 10.0, 3, "float32"), [np.array([5.0], np.float32)], [5, 7.5, 10], open_batch=False, gradient=False)
    check(tensor.diag, [X[0]], np.diag(X[0]), open_batch=False)
    check(nn.diag_embed, [X], np.stack([np.diag(row) for row in X]), open_batch=False)
    check(tensor.tril, [CUBE], np.tril(CUBE, 1), {"diagonal": 1})
    check(tensor.triu, [CUBE], np.triu(CUBE))
    check(tensor.kron, [X, X], np.kron(X, X), open_batch=False, gradient=False)
    check(tensor.trace, [CUBE], [np.trace(CUBE, 0, 1, 2)], {"dim1": 1, "dim2": 2}, gradient=False)
    check(tensor.trace, [X], np.array([np.trace(X)]), open_batch=False)
    check(lambda x, y: nn.meshgrid([x, y]), [X[0], X[1]], np.meshgrid(X[0], X[1], indexing="ij"), open_batch=False)
    check(tensor.cast, [np.array([1.7, -2.3], np.float32)], [1, -2], {"dtype": "int64"}, gradient=False)


def test_assign_gives_a_tensor_of_its_own():
    x = fl.tensor([1.0, 2.0])
    y = tensor.assign(x)
    x[0] = 5.0
    assert y.tolist() == [1.0, 2.0] and tensor.assign(np.array([3])).tolist() == [3]
    out = fl.tensor([0.0, 0.0])
    assert tensor.assign(y, out) is out and out.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="does not fit an output"):
        tensor.assign(y, fl.tensor([1.0]))


def test_windows_as_columns():
    image = numbers(2, 2, 4, 4)
    found = run(nn.unfold, [image], {"kernel_sizes": [2, 2], "strides": 2})[0]
    assert found.shape == (2, 8, 4)
    np.testing.assert_array_equal(found[0, :4, 0], image[0, 0, :2, :2].ravel())
    assert run(nn.unfold, [image], {"kernel_sizes": 2, "paddings": [1, 0, 0, 1]})[0].shape == (2, 8, 16)


def test_integers_of_another_size_are_positions_too():
    few = np.array([2, 0], np.int32)
    check(nn.gather, [X, few], X[few], gradient=False)
    check(nn.scatter, [X, few, X[:2]], np.stack([X[1], X[1], X[0], X[3]]), open_batch=False, gradient=False)
    check(nn.index_select, [X, few], X[:, few], {"dim": 1}, open_batch=False, gradient=False)
    check(nn.embedding, [few[:, None]], np.ones((2, 3)), {"size": [4, 3], "param_attr": fl.initializer.Constant(1.0)}, gradient=False)


def test_slices_of_open_axes_end_with_them():
    check(nn.slice, [X], X[1:], {"axes": [0], "starts": [1], "ends": [9]})
    check(nn.slice, [X], X[:1], {"axes": [0], "starts": [0], "ends": [1]})
    check(nn.slice, [X], X[5:8], {"axes": [0], "starts": [5], "ends": [8]}, open_batch=False, gradient=False)


def test_pads_that_only_the_run_knows():
    image, sides = numbers(2, 1, 3, 3), np.array([1, 2, 0, 1], np.int32)
    wanted = np.pad(image, ((0, 0), (0, 0), (1, 2), (0, 1)), constant_values=5)
    check(lambda x, sides: nn.pad2d(x, sides, pad_value=5.0), [image, sides], wanted, gradient=False)


def test_matrices_of_ones_refuse_what_is_no_number():
    for options in ({"num_rows": 3.1}, {"num_rows": 3, "num_columns": 2.2}, {"num_rows": 3, "batch_shape": [-1]}):
        with pytest.raises(TypeError, match="give positive integers"):
            tensor.eye(**options)
