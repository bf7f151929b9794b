"""Tensors as Python objects: methods, assignment, other libraries' arrays, copies, printing."""

import copy
import inspect
import pickle

import numpy as np
import pytest

import fluvial as fl
from fluvial import _core


class TestMethods:
    def test_ops_are_methods(self):
        x = fl.tensor([[1.0, 2.0], [3.0, 4.0]])
        assert x.sum().item() == 10.0 and x.sum(axis=0).tolist() == [4.0, 6.0]
        assert x.exp().log().tolist() == fl.log(fl.exp(x)).tolist()
        assert x.softmax(1).shape == (2, 2) and x.mean(1, keepdims=True).shape == (2, 1)
        assert x.add(1).tolist() == (x + 1).tolist() and x.topk(1, axis=1)[0].shape == (2, 1)
        assert inspect.unwrap(fl.Tensor.mean) is _core.mean and "axis" in str(inspect.signature(x.mean))
        assert x.mean.__doc__ == fl.mean.__doc__

    def test_sizes_one_by_one_or_together(self):
        x = fl.tensor(np.arange(6.0).reshape(1, 2, 3))
        assert x.reshape(2, -1).shape == x.reshape((2, -1)).shape == (2, 3)
        assert x.permute(2, 0, 1).shape == x.permute([2, 0, 1]).shape == (3, 1, 2)
        assert x.squeeze().shape == x.squeeze(0).shape == (2, 3)
        assert x.flip().numpy().tolist() == x.numpy()[::-1, ::-1, ::-1].tolist()
        assert x.flip(2)[0, 0, 0].item() == 2.0
        assert x.expand(4, 2, 3).shape == x.broadcast_to((4, 2, 3)).shape == (4, 2, 3)
        assert x.tile(1, 2, 1).shape == (1, 4, 3)
        assert x[0].T.shape == (3, 2) and x.mT.shape == (1, 3, 2)
        with pytest.raises(ValueError, match="mT"):
            x.T
        assert x.astype("int32").dtype == fl.int32

    def test_properties(self):
        x = fl.tensor(np.zeros((2, 3)))
        assert (x.device, x.size, x.ndim, x.nbytes) == ("cpu", 6, 2, 48)
        assert x.to_device("cpu") is x and not x.is_leaf and x.track().is_leaf
        with pytest.raises(ValueError, match="cpu"):
            x.to_device("gpu")


class TestOperators:
    def test_all_of_them(self):
        a, b = np.array([7, -7, 12]), np.array([2, 3, 5])
        x, y = fl.tensor(a), fl.tensor(b)
        pairs = [
            (x // y, a // b), (x % y, a % b), (x & y, a & b), (x | y, a | b), (x ^ y, a ^ b),
            (x << y, a << b), (x >> y, a >> b), (~x, ~a), (20 // y, 20 // b), (20 % y, 20 % b),
            (3 & y, 3 & b), (3 | y, 3 | b), (3 ^ y, 3 ^ b), (3 << y, 3 << b), (99 >> y, 99 >> b),
            (x // 2, a // 2), (b | x, b | a),
        ]
        for ours, numpys in pairs:
            assert ours.tolist() == numpys.tolist() and ours.dtype == fl.int64
        m, n = fl.tensor([True, False]), fl.tensor([True, True])
        assert (m & n).tolist() == [True, False] and (m ^ n).tolist() == [False, True]
        assert (m | n).tolist() == [True, True] and (~m).tolist() == [False, True]

    def test_in_place_forms_make_new_tensors(self):
        x = y = fl.tensor([1.0, 2.0])
        x += 1
        x *= 2
        x -= 0.5
        x /= 0.5
        x **= 1
        assert x.tolist() == [7.0, 11.0] and y.tolist() == [1.0, 2.0]
        m = fl.tensor([[1.0, 2.0], [3.0, 4.0]])
        m @= m
        assert m.tolist() == [[7.0, 10.0], [15.0, 22.0]]

    def test_containment_and_numbers(self):
        x = fl.tensor([1.0, 2.0])
        assert 2 in x and 3.0 not in x and "a" not in x
        assert complex(fl.tensor(2.0)) == 2 + 0j and f"{fl.tensor(1.25):.1f}" == "1.2"
        with pytest.raises(ValueError, match="tolist"):
            f"{x:.2f}"


class TestAssignment:
    def test_as_numpy(self):
        array = np.arange(24.0).reshape(2, 3, 4)
        pairs = [
            (0, 5.0), ((1, 2), 7), ((slice(None), -1), [1.0, 2.0, 3.0, 4.0]), ((..., 0), 9.0),
            (array > 6, -1.0), ([1, 0], np.zeros((2, 3, 4))), ((0, [2, 0]), 3.0),
            ((slice(None), None, slice(0, 2)), 1.0), ((slice(None, None, -1), 1), 2.0),
            (fl.tensor([1]), 4.0), (np.array([True, False]), 8.0), ((), 1.0), (slice(0, 0), 3.0),
        ]
        for key, value in pairs:
            x, expected = fl.tensor(array), array.copy()
            x[key] = value
            expected[np.asarray(key) if isinstance(key, fl.Tensor) else key] = value
            assert np.array_equal(x.numpy(), expected), key

    def test_new_values_by_index(self):
        array = np.arange(12.0).reshape(3, 4)
        x = fl.tensor(array)
        pairs = [
            (0, 5.0), ((slice(None), -1), [7, 8, 9]), (array > 6, -1), (array > 6, np.ones(5)), ([2, 0], np.zeros((2, 4))),
            ((slice(None, None, 2), [0, 3]), fl.tensor([[1.0, 2.0], [3.0, 4.0]])), (..., 2), (([0, 0], [1, 1]), [3.0, 4.0]),
            ((None, 1), np.ones((1, 4))), ([], 3.0), ([True, False, True], 0.5),
        ]
        for key, value in pairs:
            expected = array.copy()
            expected[key] = value.numpy() if isinstance(value, fl.Tensor) else value
            assert np.array_equal(x.setitem(key, value).numpy(), expected), key
        assert np.array_equal(x.numpy(), array)
        assert fl.tensor([1, 2]).setitem(0, 7).dtype == fl.int64
        value = fl.tensor([1.0, 2.0]).track()
        fl.sum(fl.tensor([0.0, 0.0, 0.0]).setitem([1, 1], value) * 3.0).backward()
        assert value.grad.tolist() == [0.0, 3.0]
        with pytest.raises(RuntimeError, match="setitem"):
            value[0] = 1.0
        with pytest.raises(ValueError, match="broadcast"):
            x.setitem(0, np.ones(3))

    def test_nobody_else_sees_it(self):
        x = fl.tensor([1.0, 2.0, 3.0])
        alias, other, view, row = x, x + 0, x.numpy(), x[1:]
        shared = np.from_dlpack(x)
        x[0] = 9.0
        assert x.tolist() == alias.tolist() == [9.0, 2.0, 3.0]
        assert other.tolist() == view.tolist() == shared.tolist() == [1.0, 2.0, 3.0]
        assert row.tolist() == [2.0, 3.0]
        x += 1
        x[1] += 5
        assert x.tolist() == [10.0, 8.0, 4.0]

    def test_gradients(self):
        x = fl.tensor([1.0, 2.0]).track()
        y = x * 2
        y[0] = x[1] * 3
        fl.sum(y).backward()
        assert x.grad.tolist() == [0.0, 5.0]
        with pytest.raises(RuntimeError, match="setitem"):
            x[0] = 1.0

    def test_in_a_program(self):
        def f(x):
            y = x * 1
            y[0] = 5.0
            y[1:] = y[1:] * 2
            return y

        assert fl.build(f, {"x": "f32[3]"})([1.0, 2.0, 3.0]).tolist() == [5.0, 4.0, 6.0]


class TestOtherLibraries:
    def test_array_with_dtype_and_copy(self):
        x = fl.tensor([1.0, 2.0])
        view = np.asarray(x)
        assert np.shares_memory(np.asarray(x), view)
        assert np.asarray(x, dtype="float64").dtype == np.float64
        assert not np.shares_memory(np.array(x, copy=True), view)
        assert np.shares_memory(x.__array__(dtype="float32", copy=False), view)
        with pytest.raises(ValueError, match="copy"):
            x.__array__(dtype="float64", copy=False)
        assert np.add(np.ones(2), view).tolist() == [2.0, 3.0]

    @pytest.mark.parametrize("dtype", ["u1", "i1", "i4", "i8", "f2", "f4", "f8", "bool"])
    @pytest.mark.parametrize("shape", [(), (0, 2), (3,), (2, 3)])
    def test_dlpack_both_ways(self, dtype, shape):
        array = (np.arange(np.prod(shape)) % 2).reshape(shape).astype(dtype)
        x = fl.from_dlpack(array)
        assert x.shape == shape and np.array_equal(x.numpy(), array)
        back = np.from_dlpack(x)
        assert back.dtype == array.dtype and np.array_equal(back, array)
        assert x.__dlpack_device__() == (1, 0)
        if dtype != "bool" and array.size > 1:
            assert np.shares_memory(back, array) and not back.flags.writeable

    def test_dlpack_details(self):
        array = np.arange(12.0).reshape(3, 4)
        assert fl.from_dlpack(array.T[1:]).tolist() == array.T[1:].tolist()
        strided = fl.from_dlpack(array).T
        assert np.shares_memory(np.from_dlpack(strided), array)
        assert not np.shares_memory(fl.from_dlpack(array, copy=True).numpy(), array)
        x = fl.tensor([1.0, 2.0])
        assert "dltensor_versioned" in repr(x.__dlpack__(max_version=(1, 0)))
        assert "dltensor_versioned" not in repr(x.__dlpack__())
        half = fl.tensor([1.0], dtype="bfloat16")
        assert fl.from_dlpack(half).dtype == fl.bfloat16
        for use in [lambda: fl.from_dlpack([1.0]), lambda: fl.from_dlpack("1.0")]:
            with pytest.raises(TypeError, match="remedy"):
                use()
        with pytest.raises(BufferError):
            x.__dlpack__(dl_device=(2, 0))

    def test_memory_lives_as_long_as_anybody_needs_it(self):
        def shared():
            return fl.from_dlpack(np.arange(1000.0))

        x = shared()
        assert x.numpy().sum() == 499500
        arrays = [np.from_dlpack(fl.tensor(np.full(1000, i))) for i in range(20)]
        assert [a[0] for a in arrays] == list(range(20))


class TestCopies:
    @pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float16", "bfloat16", "float64"])
    def test_pickle(self, dtype):
        for shape in [(), (0,), (2, 3)]:
            x = fl.tensor(np.arange(np.prod(shape)).reshape(shape) % 2, dtype=dtype)
            y = pickle.loads(pickle.dumps(x))
            assert y.dtype == x.dtype and y.shape == x.shape and y.tolist() == x.tolist()
        transposed = fl.tensor(np.arange(6).reshape(2, 3)).T
        assert pickle.loads(pickle.dumps(transposed)).tolist() == transposed.tolist()

    def test_leaves(self):
        x = fl.tensor([1.0]).track()
        for y in [copy.deepcopy(x), pickle.loads(pickle.dumps(x))]:
            assert y.is_leaf and y is not x
            fl.sum(y * 2).backward()
            assert y.grad.tolist() == [2.0] and x.grad is None
        with pytest.raises(RuntimeError, match="detach"):
            copy.deepcopy(x * 2)
        same = copy.deepcopy({"a": x, "b": x})
        assert same["a"] is same["b"]

    def test_copies_are_independent(self):
        x = fl.tensor([1.0, 2.0])
        for y in [copy.copy(x), copy.deepcopy(x)]:
            y[0] = 5.0
            assert x[0].item() == 1.0 and y[0].item() == 5.0

    def test_values_of_a_program_are_not_pickled(self):
        def f(x):
            with pytest.raises(RuntimeError, match="yet"):
                pickle.dumps(x)
            return x

        fl.build(f, {"x": "f32[]"})


class TestShown:
    def test_repr_is_short(self):
        assert len(repr(fl.tensor(np.zeros((1000, 1000))))) < 100
        assert len(str(fl.tensor(np.zeros((1000, 1000))))) < 1000

    def test_html(self):
        html = fl.tensor(np.arange(400.0).reshape(20, 20))._repr_html_()
        assert "<table>" in html and "f64[20, 20]" in html and "399" in html and "…" in html
        assert html.count("<tr>") == 11
        assert "<pre>" in fl.tensor(1.0)._repr_html_()


class TestSizes:
    def test_symbols(self):
        def f(x):
            batch, two = x.shape
            assert repr(batch) == "batch" and batch == "batch"
            assert isinstance(batch, fl.Dim) and two == 2
            assert repr(batch * two + 1) == "2*batch + 1" and batch - batch == 0
            assert repr(2 * batch // 1) == "2*batch"
            for use in [int, bool, range, hash]:
                with pytest.raises(RuntimeError, match="only when the program runs"):
                    use(batch)
            return fl.sum(x, axis=0) / batch, x.reshape(batch * 2), fl.full((batch, 3), 1.0)

        program = fl.build(f, {"x": "f32[batch, 2]"})
        mean, flat, ones = program(np.arange(6, dtype=np.float32).reshape(3, 2))
        assert mean.tolist() == [2.0, 3.0] and flat.shape == (6,) and ones.shape == (3, 3)

    def test_truth_in_a_program(self):
        def f(x):
            if x > 0:
                return x
            return -x

        with pytest.raises(RuntimeError, match="@fl.function"):
            fl.build(f, {"x": "f32[]"})
        with pytest.raises(ValueError, match="fl.all"):
            bool(fl.tensor([1.0, 2.0]))
