"""Numbers for elements: what an integer type cannot hold is refused at the line, in all modes; nothing is clamped or wrapped."""

import numpy as np
import pytest

import fluvial as fl

U8, I32, I64 = [1, 2, 3], [1, 2, 3], [1, 2, 3]


def values():
    return {
        "u8": fl.tensor(U8, dtype="uint8"),
        "i32": fl.tensor(I32, dtype="int32"),
        "i64": fl.tensor(I64, dtype="int64"),
        "f32": fl.tensor([1.0, 2.0, 3.0]),
        "m": fl.tensor([True, False, True]),
    }


def assigned(x, key, value):
    x = x + 0
    x[key] = value
    return x


def filled(x, value):
    x = x + 0
    x.fill_(value)
    return x


#: What is refused, by NumPy 2 or PyTorch, too, with the number that does not fit.
REFUSED = {
    "full": (lambda v: fl.full((2,), 2**63, dtype="int64"), "9223372036854775808"),
    "full above": (lambda v: fl.full((2,), 300, dtype="uint8"), "300"),
    "full below": (lambda v: fl.full((2,), -1, dtype="uint8"), "-1"),
    "full of NaN": (lambda v: fl.full((2,), float("nan"), dtype="int32"), "NaN"),
    "full of infinity": (lambda v: fl.full((2,), float("inf"), dtype="int32"), "inf"),
    "full of a large float": (lambda v: fl.full((2,), 1e30, dtype="int32"), "1e30"),
    "full_like": (lambda v: fl.full_like(v["u8"], 300), "300"),
    "tensor of a list": (lambda v: fl.tensor([1, 2**31], dtype="int32") + v["i32"][0], "2147483648"),
    "tensor below": (lambda v: fl.tensor([[0], [-1]], dtype="uint8") + v["u8"][0], "-1"),
    "tensor of u64": (lambda v: fl.tensor([2**63], dtype="int64") + v["i64"][0], "9223372036854775808"),
    "tensor of floats": (lambda v: fl.tensor([1e10], dtype="int32") + v["i32"][0], "10000000000"),
    "tensor of NaN": (lambda v: fl.tensor([float("nan")], dtype="int32") + v["i32"][0], "NaN"),
    "tensor of a number": (lambda v: fl.tensor(300, dtype="uint8") + v["u8"], "300"),
    "tensor of a float": (lambda v: fl.tensor(-1.0, dtype="uint8") + v["u8"], "-1"),
    "pad": (lambda v: fl.pad(v["u8"], [1], [1], value=300), "300"),
    "pad below": (lambda v: fl.pad(v["u8"], [1], [0], value=-1), "-1"),
    "masked_fill": (lambda v: fl.masked_fill(v["i32"], v["m"], 2**31), "2147483648"),
    "masked_fill below": (lambda v: fl.masked_fill(v["u8"], v["m"], -1), "-1"),
    "masked_fill of infinity": (lambda v: fl.masked_fill(v["i32"], v["m"], float("inf")), "inf"),
    "index_fill": (lambda v: fl.index_fill(v["u8"], 0, fl.tensor([0]), 300), "300"),
    "fill_": (lambda v: filled(v["u8"], 300), "300"),
    "fill_ of NaN": (lambda v: filled(v["i32"], float("nan")), "NaN"),
    "item": (lambda v: assigned(v["u8"], 0, 300), "300"),
    "item below": (lambda v: assigned(v["u8"], 0, -1), "-1"),
    "item of NaN": (lambda v: assigned(v["i32"], 0, float("nan")), "NaN"),
    "items of a list": (lambda v: assigned(v["u8"], slice(0, 2), [7, 300]), "300"),
    "items by a mask": (lambda v: assigned(v["u8"], v["m"], 300), "300"),
    "where": (lambda v: fl.where(v["m"], v["u8"], 300), "300"),
    "sum": (lambda v: v["u8"] + 300, "300"),
    "difference": (lambda v: 300 - v["u8"], "300"),
    "product": (lambda v: v["u8"] * -1, "-1"),
    "bits": (lambda v: v["u8"] & 300, "300"),
    "maximum": (lambda v: fl.maximum(v["u8"], 300), "300"),
    "power": (lambda v: fl.pow(v["i32"], 2**40), "1099511627776"),
    "a sum of 64 bits": (lambda v: v["i64"] + 2**63, "9223372036854775808"),
    "a low bound above all": (lambda v: fl.clip(v["u8"], 300, 400), "300"),
    "a high bound below all": (lambda v: fl.clip(v["u8"], None, -1), "-1"),
    "arange above": (lambda v: fl.arange(0, 300, dtype="uint8")[:3] + v["u8"], "299"),
    "arange below": (lambda v: fl.arange(-3, 3, dtype="uint8")[:3] + v["u8"], "-3"),
}  # fmt: skip

#: What has a meaning in NumPy and PyTorch, or in one of them while the other is wrong, and what it is.
MEANT = {
    "a fraction is cut off by full": (lambda v: fl.full((2,), 2.7, dtype="int32"), [2, 2]),
    "a negative one towards zero": (lambda v: fl.full((2,), -2.7, dtype="int32"), [-2, -2]),
    "by tensor": (lambda v: fl.tensor([2.7, -2.7], dtype="int32"), [2, -2]),
    "by masked_fill": (lambda v: fl.masked_fill(v["i32"], v["m"], 2.5), [2, 2, 2]),
    "by pad": (lambda v: fl.pad(v["u8"], [1], [0], value=2.5), [2, 1, 2, 3]),
    "by an item": (lambda v: assigned(v["i32"], 0, 2.7), [2, 2, 3]),
    "by a list of items": (lambda v: assigned(v["i32"], slice(0, 2), [1.5, 2.5]), [1, 2, 3]),
    "by fill_": (lambda v: filled(v["i32"], 2.5), [2, 2, 2]),
    "elements of tensors are cast": (lambda v: assigned(v["u8"], 0, fl.tensor(300)), [44, 2, 3]),
    "elements of arrays are cast": (lambda v: fl.tensor(np.array([2**31]), dtype="int32"), [-(2**31)]),
    "bools": (lambda v: fl.full((2,), 2, dtype="bool"), [True, True]),
    "floats round": (lambda v: fl.full((1,), 2**70, dtype="float32"), [2.0**70]),
    "an exact int": (lambda v: fl.full((2,), 2**53 + 1, dtype="int64"), [2**53 + 1] * 2),
    "an exact int of 64 bits": (lambda v: fl.full((1,), 2**64 - 1, dtype="uint64"), [2**64 - 1]),
    "an exact int in a mask": (lambda v: fl.masked_fill(v["i64"], v["m"], 2**53 + 1), [2**53 + 1, 2, 2**53 + 1]),
    "an exact int around": (lambda v: fl.pad(v["i64"], [1], [0], value=2**53 + 1), [2**53 + 1, 1, 2, 3]),
    "an exact item": (lambda v: assigned(v["i64"], 0, 2**53 + 1), [2**53 + 1, 2, 3]),
    "bounds that all keep": (lambda v: fl.clip(v["u8"], -1, 300), [1, 2, 3]),
    "one that all keep": (lambda v: fl.clip(v["i32"], 2, 2**40), [2, 2, 3]),
    "bounds with a fraction": (lambda v: fl.clip(v["i32"], 0.5, 2.5), [1.0, 2.0, 2.5]),
    "less than 300": (lambda v: v["u8"] < 300, [True] * 3),
    "300 is greater": (lambda v: 300 > v["u8"], [True] * 3),
    "not 300": (lambda v: v["u8"] == 300, [False] * 3),
    "other than 300": (lambda v: v["u8"] != 300, [True] * 3),
    "above -1": (lambda v: v["u8"] > -1, [True] * 3),
    "less than 2**40": (lambda v: v["i32"] < 2**40, [True] * 3),
    "less than 2**63": (lambda v: v["i64"] < 2**63, [True] * 3),
    "above -10**400": (lambda v: v["i64"] > -(10**400), [True] * 3),
    "floats below 10**400": (lambda v: v["f32"] < 10**400, [True] * 3),
    "a function": (lambda v: fl.lt(v["u8"], 300), [True] * 3),
    "a function turned round": (lambda v: fl.ge(-1, v["u8"]), [False] * 3),
}  # fmt: skip


def line_by_line(f):
    return f(values())


def compiled(f):
    return fl.function(f)(values())


def interpreted(f):
    given = values()
    names = list(given)
    program = fl.build(lambda *args: f(dict(zip(names, args))), {name: x.type_text for name, x in given.items()})
    (found,) = program.run(given, compiled=False).values()
    return found


MODES = [line_by_line, compiled, interpreted]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name, mode):
    function, number = REFUSED[name]
    with pytest.raises(ValueError) as caught:
        mode(function)
    text = str(caught.value)
    assert f"{number} does not fit" in text, text
    assert "remedy: " in text and "test_held_numbers.py:" in text, text


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", MEANT)
def test_what_has_a_meaning(name, mode):
    function, expected = MEANT[name]
    found = mode(function).tolist()
    assert found == expected and type(found[0]) is type(expected[0])


@pytest.mark.parametrize("what", ["item", "full", "where", "less"])
def test_numbers_that_each_call_has_anew(what):
    """A number that a built function gets with each call is checked by the run, and compared as it is."""

    def f(x, n):
        if what == "item":
            return assigned(x, 0, n)
        if what == "full":
            return fl.full((2,), n, dtype="uint8")
        if what == "where":
            return fl.where(x > 1, x, n)
        return x < n

    built, x = fl.function(f), fl.tensor(U8, dtype="uint8")
    for n in (7, 8, 9):
        assert built(x, n).tolist() == f(x, n).tolist()
    for n in (300, -1):
        if what == "less":
            assert built(x, n).tolist() == f(x, n).tolist() == [n > 0] * 3
            continue
        for call in (f, built):
            with pytest.raises(ValueError, match="does not fit"):
                call(x, n)


def test_an_int_that_no_type_holds():
    for number in (10**400, -(10**400)):
        with pytest.raises(ValueError, match="fits no element type"):
            fl.tensor([1.0]) + number
    with pytest.raises((ValueError, TypeError, OverflowError), match="test_held_numbers.py"):
        fl.tensor([2**64])


def test_padding_of_readers():
    def sequences():
        yield (np.array([1, 2], "u1"),)
        yield (np.array([3], "u1"),)

    def padded(value):
        return [x.tolist() for x in fl.reader(sequences, {"x": "u8[n]"}).pad("x", value=value).batch(2)]

    assert padded(7) == [[[1, 2], [3, 7]]]
    for value in (300, -1):
        with pytest.raises(ValueError, match=f"(?s){value} does not fit uint8.*padding of field `x`"):
            padded(value)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: fl.sum(x, axis=2**70),
        lambda x: x.sum(axis=-(2**70)),
        lambda x: x.reshape(2**70),
        lambda x: fl.zeros((2**70,)),
        lambda x: fl.linspace(0, 1, 2**70),
        lambda x: fl.max_pool2d(x[None, None], 2**70),
        lambda x: fl.nn.Linear(2**70, 3),
        lambda x: fl.nn.Conv2d(1, 2, (2**70, 1)),
    ],
)
def test_sizes_and_axes_beyond_64_bits_are_told_as_such(call):
    with pytest.raises((OverflowError, ValueError, TypeError), match=r"1\.?18059") as caught:
        call(fl.ones((2, 3)))
    assert "sequence" not in str(caught.value) and "C long" not in str(caught.value)


def test_positions_beyond_64_bits_are_out_of_range():
    x = fl.arange(3)
    with pytest.raises(IndexError, match="out of range"):
        x[2**70]
    with pytest.raises(IndexError, match="out of range"):
        x[-(2**70)]
    assert x[: 2**70].tolist() == [0, 1, 2] and x[-(2**70) :].tolist() == [0, 1, 2]
    assert x[:: 2**70].tolist() == [0]
