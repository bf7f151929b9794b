"""The samples of every op through its public Python function, line by line and as a program."""

import numpy as np
import op_calls
import pytest

import fluvial as fl
from fluvial import _core

SAMPLES = dict(_core.op_samples())
fl.set_root(None)
#: By dtype: what rounding may do, relative and absolute.
TOLERANCE = {fl.float64: (1e-12, 1e-13), fl.float32: (1e-5, 2e-6)}


@pytest.fixture(autouse=True)
def files():
    """Asking for the samples opens the folder of their files."""
    _core.op_samples()
    yield
    fl.set_root(None)


def known_attributes(name):
    return {key: value for attributes, *_ in SAMPLES[name] for key, value in attributes.items()}


def values(result):
    """The tensors of a result, in order."""
    if result is None:
        return []
    return list(result) if isinstance(result, (tuple, list)) else [result]


def array(tensor):
    if tensor.type_text.startswith("list"):
        n = int(fl.list_len(tensor))
        return array(fl.list_stack(tensor, n)) if n else np.zeros((0,))
    return tensor.astype("float32").numpy() if tensor.dtype == fl.bfloat16 else tensor.numpy()


def same_bits(found, expected):
    a, b = array(found), array(expected)
    both_nan = a.dtype.kind == "f" and ((a != a) & (b != b)).all() and a.shape == b.shape
    return both_nan or (a.shape, a.dtype, a.tobytes()) == (b.shape, b.dtype, b.tobytes())


def close(found, expected):
    relative, absolute = TOLERANCE.get(expected.dtype, (0, 0))
    assert found.dtype == expected.dtype and found.type_text == expected.type_text
    np.testing.assert_allclose(array(found), array(expected), rtol=relative, atol=absolute)


def line_by_line(call, inputs):
    with fl.State() as state, fl.no_grad():
        state.insert("rng", fl.tensor([0, 0]), "random")
        return values(call(inputs))


def as_program(call, inputs, compiled):
    """The same as a program, with the inputs fed."""
    n_outputs = []

    def function(*symbols):
        found = values(call(list(symbols)))
        n_outputs.append(len(found))
        return {f"out{i}": value for i, value in enumerate(found)}

    with fl.State() as state, fl.no_grad():
        state.insert("rng", fl.tensor([0, 0]), "random")
        program = fl.build(function, {f"x{i}": x.type_text for i, x in enumerate(inputs)})
        outputs = program.run({f"x{i}": x for i, x in enumerate(inputs)}, compiled=compiled)
    return [outputs[f"out{i}"] for i in range(n_outputs[0])]


def check(call, inputs, kind, expected):
    modes = [
        lambda: line_by_line(call, inputs),
        lambda: as_program(call, inputs, compiled=True),
        lambda: as_program(call, inputs, compiled=False),
    ]
    if kind == "refused":
        for mode in modes:
            with pytest.raises(Exception) as error:
                mode()
            if isinstance(error.value, op_calls.Inexpressible):
                raise error.value
            assert expected in str(error.value)
        return
    first, *others = [mode() for mode in modes]
    for other in others:
        assert len(first) == len(other)
        assert all(map(same_bits, other, first))
    if kind == "outputs":
        # A function may return less than its op, which keeps residuals.
        for found, wanted in zip(first, expected):
            close(found, wanted)
        assert first or not expected


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - set(op_calls.INTERNAL)))
def test_samples(name):
    known = known_attributes(name)
    n_called = 0
    for i, (attributes, inputs, kind, expected) in enumerate(SAMPLES[name]):
        texts, _ = op_calls.FORESTALLED.get(name, ((), ""))
        if kind == "refused" and any(text in expected for text in texts):
            continue

        def call(tensors, attributes=attributes):
            return op_calls.call(name, attributes, known, tensors)

        try:
            check(call, inputs, kind, expected)
            n_called += 1
        except op_calls.Inexpressible:
            continue
        except BaseException as error:
            error.add_note(f"sample {i} of `{name}`: {attributes} {inputs}")
            raise
    assert n_called


def test_the_tables_are_about_ops():
    assert set(op_calls.INTERNAL) <= set(SAMPLES)
    assert set(op_calls.SPECIAL) | set(op_calls.FORESTALLED) <= set(SAMPLES)
    assert not set(op_calls.SPECIAL) & set(op_calls.INTERNAL)
