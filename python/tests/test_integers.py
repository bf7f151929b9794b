"""Integers of every size, signed and unsigned, as NumPy has them; in both modes and in files."""

import numpy as np
import pytest

import fluvial as fl

NAMES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "/ as floats": lambda a, b: a.astype("float64") / b.astype("float64"),
    "several": lambda a, b: (a * b - b) // b + (a ^ b),
}


def ends(name):
    """Small numbers and the ends of the range."""
    info = np.iinfo(name)
    return np.array([0, 1, 2, 5, 100, info.max, info.max - 1, info.min, info.min + 1, info.max // 2], name)


def same(found, expected):
    assert found.dtype.name == expected.dtype.name
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("name", NAMES)
class TestEachType:
    @pytest.mark.parametrize("operator", OPERATORS)
    def test_operators_wrap_as_in_numpy_in_both_modes(self, name, operator):
        function = OPERATORS[operator]
        a, b = ends(name), np.array([3, 1, 2, 5, 7, 2, 1, 3, 2, 6], name)
        with np.errstate(all="ignore"):
            expected = function(a, b)
        x, y = fl.tensor(a), fl.tensor(b)
        same(function(x, y), expected)
        same(fl.function(function)(x, y), expected)

    def test_reductions(self, name):
        a = ends(name).reshape(2, 5)
        x = fl.tensor(a)
        for function in ("sum", "prod", "max", "min", "argmax", "argmin"):
            for axis in (None, 0, 1):
                with np.errstate(all="ignore"):
                    expected = np.asarray(getattr(np, function)(a, axis=axis))
                same(getattr(fl, function)(x, axis=axis), expected)
        with np.errstate(all="ignore"):
            same(fl.cumulative_sum(x, axis=1), np.cumsum(a, axis=1))
        same(fl.any(x, axis=0), np.any(a, axis=0))

    def test_order(self, name):
        a = ends(name)
        x = fl.tensor(a)
        same(fl.sort(x), np.sort(a))
        same(fl.sort(x, descending=True), np.sort(a)[::-1])
        same(fl.argsort(x), np.argsort(a, kind="stable"))
        same(fl.unique_values(fl.concat([x, x])), np.unique(a))
        same(fl.searchsorted(fl.sort(x), x), np.searchsorted(np.sort(a), a))
        greatest = fl.topk(x, 3, axis=0)
        same(greatest[0], np.sort(a)[::-1][:3].copy())

    def test_shapes_and_positions(self, name):
        a = ends(name)
        x = fl.tensor(a)
        same(fl.concat([x, x[::-2]]), np.concatenate([a, a[::-2]]))
        same(fl.stack([x, x], axis=1), np.stack([a, a], axis=1))
        same(fl.where(x > 1, x, fl.zeros_like(x)), np.where(a > 1, a, np.zeros_like(a)))
        same(x.reshape((2, 5)).T, a.reshape(2, 5).T)
        at = np.array([1, 0, 2], name)
        same(fl.arange(5, dtype="int32")[fl.tensor(at)], np.arange(5, dtype="int32")[at])
        with np.errstate(all="ignore"):
            same(fl.matmul(x, x), np.asarray(a @ a))

    def test_numbers_take_the_type_and_must_fit(self, name):
        info = np.iinfo(name)
        x = fl.tensor([1, 2], dtype=name)
        assert (x + 1).dtype == name and (x + 1).tolist() == [2, 3]
        assert fl.tensor(int(info.max), dtype=name).item() == info.max
        assert fl.tensor(int(info.min), dtype=name).item() == info.min
        for number in (int(info.max) + 1, int(info.min) - 1):
            with pytest.raises((ValueError, OverflowError)):
                fl.tensor(number, dtype=name)
            with pytest.raises((ValueError, OverflowError)):
                x + number

    def test_conversions(self, name):
        floats = np.array([0.0, -0.0, 1.9, 100.5])
        same(fl.tensor(floats).astype(name), floats.astype(name))
        a = ends(name)
        for other in NAMES + ["float32", "float64", "bool"]:
            with np.errstate(all="ignore"):
                same(fl.tensor(a).astype(other), a.astype(other))

    def test_other_libraries(self, name):
        a = ends(name)
        same(fl.from_dlpack(a), a)
        same(fl.from_numpy(a), a)
        assert np.from_dlpack(fl.tensor(a)).dtype == a.dtype
        assert fl.tensor(a).tolist() == a.tolist()

    def test_files_and_programs(self, name, tmp_path):
        a = ends(name)
        b = np.arange(10).astype(name)[::-1].copy()
        program = fl.build(lambda x: x - fl.from_numpy(b), {"x": f"{fl.tensor(a).type_text}"})
        with np.errstate(all="ignore"):
            expected = a - b
        for path in (tmp_path / "program.fl", tmp_path / "program.flb"):
            program.save(path)
            same(fl.load(path)(fl.tensor(a)), expected)
        fl.save_safetensors({"a": fl.tensor(a)}, tmp_path / "a.safetensors")
        same(fl.load_safetensors(tmp_path / "a.safetensors")["a"], a)
        np.save(tmp_path / "a.npy", a)
        batch = next(iter(fl.batch_reader(tmp_path / "a.npy", len(a))))
        same(batch if isinstance(batch, fl.Tensor) else batch[0], a)

    def test_models_of_others(self, name, tmp_path):
        a = ends(name)
        program = fl.build(lambda x: fl.concat([x, fl.from_numpy(a)]), {"x": fl.tensor(a).type_text})
        fl.onnx.save(program, tmp_path / "model.onnx")
        same(fl.onnx.load(tmp_path / "model.onnx")(fl.tensor(a)), np.concatenate([a, a]))


def test_promotion_as_in_numpy():
    for a in NAMES:
        for b in NAMES:
            expected = np.promote_types(a, b).name
            assert fl.result_type(fl.tensor([1], dtype=a), fl.tensor([1], dtype=b)) == expected
            assert (fl.tensor([1], dtype=a) * fl.tensor([3], dtype=b)).dtype == expected


def test_floats_beyond_the_range_become_its_ends():
    x = fl.tensor([1e30, -1e30, float("nan")], dtype="float64")
    for name in NAMES:
        info = np.iinfo(name)
        assert x.astype(name).tolist() == [info.max, info.min, 0]


def test_texts():
    assert str(fl.tensor([2**64 - 1], dtype="uint64")) == "[18446744073709551615]"
    assert float(fl.tensor(2**63, dtype="uint64")) == 2.0**63
