"""The functions of the array API standard, against NumPy."""

import array_api_cases
import numpy as np
import pytest

import fluvial as fl

STANDARD = """
e inf nan newaxis pi
arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril
triu zeros zeros_like astype broadcast_arrays broadcast_to can_cast finfo iinfo isdtype result_type
abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert
bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1
floor floor_divide greater greater_equal hypot isfinite isinf isnan less less_equal log log1p log2
log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply negative
nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh square sqrt subtract tan
tanh trunc take take_along_axis matmul matrix_transpose tensordot vecdot concat expand_dims flip
moveaxis permute_dims repeat reshape roll squeeze stack tile unstack argmax argmin count_nonzero
nonzero searchsorted where unique_all unique_counts unique_inverse unique_values argsort sort
cumulative_prod cumulative_sum max mean min prod std sum var all any diff
bool int8 int32 int64 uint8 float32 float64 __array_namespace_info__
""".split()

ARRAY = np.array([[3.0, 1.0, 2.0], [1.0, 5.0, 2.0]])


def test_every_name_is_there():
    assert [name for name in STANDARD if not hasattr(fl, name)] == []
    x = fl.tensor(1.0)
    assert x.__array_namespace__() is fl and x.__array_namespace__(api_version="2024.12") is fl
    with pytest.raises(ValueError, match="2024.12"):
        x.__array_namespace__(api_version="1999.1")


@pytest.mark.parametrize(
    "call",
    [
        lambda p, x: p.sort(x), lambda p, x: p.sort(x, axis=0), lambda p, x: p.argsort(x),
        lambda p, x: p.argmax(x), lambda p, x: p.argmin(x, axis=1, keepdims=True),
        lambda p, x: p.argmax(x, keepdims=True), lambda p, x: p.flip(x), lambda p, x: p.flip(x, axis=0),
        lambda p, x: p.roll(x, 2), lambda p, x: p.roll(x, 1, axis=1), lambda p, x: p.roll(x, (1, 2), axis=(0, 1)),
        lambda p, x: p.repeat(x, 2), lambda p, x: p.repeat(x, 2, axis=0),
        lambda p, x: p.repeat(x, p.asarray([1, 0, 2]), axis=1), lambda p, x: p.tile(x, (2, 1, 2)),
        lambda p, x: p.tile(x, (3,)), lambda p, x: p.expand_dims(x, axis=1), lambda p, x: p.squeeze(x[None], axis=0),
        lambda p, x: p.moveaxis(x, 0, 1), lambda p, x: p.permute_dims(x, (1, 0)), lambda p, x: p.matrix_transpose(x),
        lambda p, x: p.concat([x, x], axis=1), lambda p, x: p.concat([x, x], axis=None), lambda p, x: p.stack([x, x], axis=1),
        lambda p, x: p.unstack(x)[1], lambda p, x: p.take(x, p.asarray([1, 0, 1]), axis=1),
        lambda p, x: p.take_along_axis(x, p.asarray([[2], [0]]), axis=1),
        lambda p, x: p.cumulative_sum(x, axis=0), lambda p, x: p.cumulative_prod(x, axis=1, include_initial=True),
        lambda p, x: p.diff(x), lambda p, x: p.diff(x, axis=0), lambda p, x: p.diff(x, n=2, prepend=x),
        lambda p, x: p.sum(x, axis=1), lambda p, x: p.sum(x, dtype=p.float64), lambda p, x: p.prod(x, axis=(0, 1)),
        lambda p, x: p.sum(x > 1), lambda p, x: p.prod(p.astype(x, p.int32)), lambda p, x: p.clip(x, 1.5, 2.5),
        lambda p, x: p.clip(x, min=2.0), lambda p, x: p.clip(x, max=p.asarray([[2.0], [1.0]])),
        lambda p, x: p.tensordot(x, p.matrix_transpose(x), axes=1), lambda p, x: p.tensordot(x, x, axes=((0, 1), (0, 1))),
        lambda p, x: p.vecdot(x, x), lambda p, x: p.tril(x), lambda p, x: p.triu(x, k=1), lambda p, x: p.nonzero(x > 1)[1],
        lambda p, x: p.searchsorted(p.asarray([1.0, 2.0, 3.0]), x[0]),
        lambda p, x: p.searchsorted(p.asarray([1.0, 2.0, 3.0]), x[0], side="right"),
        lambda p, x: p.unique_values(x), lambda p, x: p.unique_counts(x).counts, lambda p, x: p.unique_inverse(x).inverse_indices,
        lambda p, x: p.unique_all(x).indices, lambda p, x: p.signbit(p.asarray([-0.0, 0.0, -1.0, 2.0])),
        lambda p, x: p.broadcast_arrays(x, x[0])[1], lambda p, x: p.meshgrid(x[0], x[1])[0],
        lambda p, x: p.meshgrid(x[0], x[1], indexing="ij")[1], lambda p, x: p.linspace(0.0, 1.0, num=5, dtype=p.float64),
        lambda p, x: p.linspace(0.0, 1.0, num=5, dtype=p.float64, endpoint=False),
        lambda p, x: p.arange(3), lambda p, x: p.arange(1, 10, 3), lambda p, x: p.arange(0, 1, 0.25, dtype=p.float64),
        lambda p, x: p.eye(3, 2, k=-1, dtype=p.float64), lambda p, x: p.full_like(x, 7), lambda p, x: p.zeros_like(x, dtype=p.int32),
        lambda p, x: p.floor_divide(x, 2), lambda p, x: p.divide(x, 2), lambda p, x: p.bitwise_left_shift(p.asarray([1, 2]), 3),
        lambda p, x: p.bitwise_invert(p.asarray([True, False])), lambda p, x: p.less_equal(x, 2), lambda p, x: p.not_equal(x, 2),
        lambda p, x: p.count_nonzero(x > 1), lambda p, x: p.asarray(x), lambda p, x: p.positive(x), lambda p, x: p.negative(x),
    ],
)
def test_as_numpy(call):
    expected = np.asarray(call(np, ARRAY))
    found = call(fl, fl.asarray(ARRAY)).numpy()
    assert found.shape == expected.shape and found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_the_standard():
    found = array_api_cases.failures(fl)
    assert [name for _, names in found.values() for name in names] == []
    assert sum(count for count, _ in found.values()) > 1700


def test_each_nan_is_by_itself():
    x = np.array([[2.0, np.nan, 1.0], [np.nan, 2.0, np.nan]])
    expected = np.unique_all(x)
    program = fl.build(lambda x: tuple(fl.unique_all(x)), {"x": "f64[n, 3]"})
    for found in (fl.unique_all(fl.tensor(x)), program(x)):
        for ours, numpys in zip(found, expected):
            np.testing.assert_array_equal(ours.numpy(), numpys)


def test_nextafter():
    numbers = [0.0, -0.0, 1.0, -1.0, 3.5e-39, 1e-45, 5e-324, 2.0**-126, 2.0**-1022, 1e300, np.inf, -np.inf, np.nan]
    numbers += [2.0**k * m for k in (-1050, -1022, -970, -149, -126, -102, -24, 100) for m in (1, 1.5, -1)]
    grid = np.array(np.meshgrid(numbers, numbers)).reshape(2, -1)
    for dtype in (np.float64, np.float32, np.float16):
        with np.errstate(all="ignore"):
            x, y = grid.astype(dtype)
            expected = np.nextafter(x, y)
        found = fl.nextafter(fl.tensor(x), fl.tensor(y)).numpy()
        np.testing.assert_array_equal(found, expected)
        if dtype != np.float16:  # There NumPy gives the first of two equal zeros, not the second.
            numbers = ~np.isnan(found)
            np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))
        program = fl.build(fl.nextafter, {"x": fl.tensor(x), "y": fl.tensor(y)})
        np.testing.assert_array_equal(program(x, y).numpy(), found)
    with pytest.raises(TypeError, match="floats"):
        fl.nextafter(fl.tensor([1]), fl.tensor([2]))


class TestLinalg:
    x = np.random.default_rng(0).normal(size=(3, 5, 4))
    square = x.transpose(0, 2, 1) @ x

    @pytest.mark.parametrize(
        "call",
        [
            lambda p, x, s: p.linalg.matrix_norm(x, ord=1), lambda p, x, s: p.linalg.matrix_norm(x, ord=-1),
            lambda p, x, s: p.linalg.matrix_norm(x, ord=2), lambda p, x, s: p.linalg.matrix_norm(x, ord=-2),
            lambda p, x, s: p.linalg.matrix_norm(x, ord="nuc", keepdims=True), lambda p, x, s: p.linalg.matrix_norm(x),
            lambda p, x, s: p.linalg.matrix_norm(x, ord=-p.inf), lambda p, x, s: p.linalg.vector_norm(x, ord=3),
            lambda p, x, s: p.linalg.vector_norm(x, ord=0, axis=1), lambda p, x, s: p.linalg.vector_norm(x, axis=(0, 2)),
            lambda p, x, s: p.linalg.vector_norm(x, ord=-p.inf, axis=1, keepdims=True),
            lambda p, x, s: p.linalg.matrix_power(s, 3), lambda p, x, s: p.linalg.matrix_power(s, 0),
            lambda p, x, s: p.linalg.matrix_power(s, -2), lambda p, x, s: p.linalg.matrix_rank(x),
            lambda p, x, s: p.linalg.matrix_rank(x, rtol=0.5), lambda p, x, s: p.linalg.pinv(x),
            lambda p, x, s: p.linalg.trace(x, offset=1), lambda p, x, s: p.linalg.diagonal(x, offset=-1),
            lambda p, x, s: p.linalg.slogdet(s).logabsdet, lambda p, x, s: p.linalg.solve(s, s[0, :, 0]),
            lambda p, x, s: p.linalg.solve(s, s[:, :, :2]), lambda p, x, s: p.linalg.inv(s), lambda p, x, s: p.linalg.svdvals(x),
            lambda p, x, s: p.linalg.cross(x[:, :3, 0], x[:, :3, 1]), lambda p, x, s: p.linalg.cross(x[:, :3, :], x[:, 1:4, :], axis=1),
            lambda p, x, s: p.linalg.eigvalsh(s), lambda p, x, s: p.linalg.outer(x[0, 0, :], x[0, :, 0]),
            lambda p, x, s: p.linalg.cholesky(s, upper=True),
        ],
    )
    def test_as_numpy(self, call):
        expected = np.asarray(call(np, self.x, self.square))
        for run in (call, lambda p, x, s: fl.build(lambda x, s: call(p, x, s), {"x": x, "s": s})(x, s)):
            found = run(fl, fl.tensor(self.x), fl.tensor(self.square)).numpy()
            assert found.shape == expected.shape and found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)

    @pytest.mark.parametrize("flip", [False, True])
    def test_complete_bases(self, flip):
        x = fl.tensor(self.x.transpose(0, 2, 1) if flip else self.x)
        u, s, vh = fl.linalg.svd(x)
        q, r = fl.linalg.qr(x, mode="complete")
        k = s.shape[-1]
        np.testing.assert_allclose((u[..., :k] * s[:, None, :] @ vh[:, :k]).numpy(), x.numpy(), atol=1e-12)
        np.testing.assert_allclose((q @ r).numpy(), x.numpy(), atol=1e-12)
        assert r.shape == x.shape
        for square in (u, vh, q):
            one = np.broadcast_to(np.eye(square.shape[-1]), square.shape)
            np.testing.assert_allclose((square @ square.mT).numpy(), one, atol=1e-12)

    def test_refused(self):
        x = fl.tensor(self.x)
        for call in (lambda: fl.linalg.cross(x, x), lambda: fl.linalg.qr(x, mode="raw"), lambda: fl.linalg.matrix_norm(x, ord=5)):
            with pytest.raises(ValueError, match="remedy") as error:
                call()
            assert str(error.value).startswith(__file__)
        with pytest.raises(RuntimeError, match="pass `rtol`"):
            fl.build(fl.linalg.matrix_rank, {"x": "f32[n, n]"})


def test_dtypes():
    assert fl.result_type(fl.int8, fl.uint8) == fl.int16
    assert fl.result_type(fl.tensor([1], "int32"), 1.5) == fl.float32
    assert fl.result_type(fl.bool, 1) == fl.int64 and fl.result_type(True, 1) == fl.int64
    assert fl.result_type(fl.float32, fl.float64, 2) == fl.float64
    assert fl.can_cast(fl.float32, fl.float64) and not fl.can_cast(fl.float64, "float32")
    assert fl.isdtype(fl.uint8, "integral") and fl.isdtype(fl.bool, ("numeric", "bool"))
    assert not fl.isdtype(fl.float64, "complex floating") and fl.isdtype(fl.int8, fl.int8)
    with pytest.raises(ValueError, match="remedy"):
        fl.isdtype(fl.int8, "number")
    with pytest.raises(ValueError):
        fl.result_type()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_limits_of_floats(dtype):
    ours, numpys = fl.finfo(dtype), np.finfo(dtype)
    for name in ["bits", "eps", "max", "min", "smallest_normal"]:
        assert getattr(ours, name) == float(getattr(numpys, name))
    with pytest.raises(TypeError, match="iinfo"):
        fl.finfo(fl.int8)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
def test_limits_of_integers(dtype):
    ours, numpys = fl.iinfo(fl.tensor(0, dtype)), np.iinfo(dtype)
    assert (ours.bits, ours.max, ours.min) == (numpys.bits, numpys.max, numpys.min)
    assert ours.dtype == dtype


def test_asarray():
    x = fl.tensor([1.0])
    stacked = fl.asarray([[x, 2 * x], [x, x]])
    assert stacked.shape == (2, 2, 1) and stacked[0, 1].item() == 2.0
    assert fl.asarray(x) is x and fl.asarray(x, copy=True) is not x
    assert fl.asarray(x, dtype="float64").dtype == fl.float64
    array = np.ones(3)
    assert np.shares_memory(fl.asarray(array, copy=False).numpy(), array)
    assert not np.shares_memory(fl.asarray(array).numpy(), array)
    for wrong in [lambda: fl.asarray([1.0], copy=False), lambda: fl.zeros(2, device="gpu")]:
        with pytest.raises(ValueError, match="remedy"):
            wrong()


def test_info():
    info = fl.__array_namespace_info__()
    assert info.devices() == ["cpu"] and info.default_device() == "cpu"
    assert info.default_dtypes()["indexing"] == fl.int64
    assert info.dtypes(kind="bool") == {"bool": fl.bool}
    whole = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
    assert set(info.dtypes(kind=("signed integer", "unsigned integer"))) == whole
    assert info.capabilities()["boolean indexing"] is True
