"""The samples of every op, mapped over a batch of two, against the calls one by one: batching rules, and loops in their place."""

import logging

import numpy as np
import op_calls
import pytest

import fluvial as fl
from fluvial import _core

SAMPLES = dict(_core.op_samples())
fl.set_root(None)
#: Ops of which a batch has nothing to say: what they do is not what they give, or how much is known only by the run.
APART = {"print", "print_grad", "save", "load", "assert", "host_call"}
#: Ops whose samples assign the random stream, which is one for all elements; `test_transforms.py` draws.
DRAWS = {"alpha_dropout", "dropout", "normal", "randint", "truncated_normal", "uniform"}
#: Of each op so many samples, so that the whole takes seconds.
MOST = 6


@pytest.fixture(autouse=True)
def quiet():
    """Loops are expected here, and the same lambda is made anew for each sample."""
    logger = logging.getLogger("fluvial.vmap")
    level = logger.level
    logger.setLevel("ERROR")
    _core.op_samples()
    yield
    logger.setLevel(level)
    fl.set_root(None)


def values(result):
    if result is None:
        return ()
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def varied(x, number):
    """The input as an element has it: floats a little larger from one to the next."""
    if "float" not in x.dtype.name or number == 0:
        return x
    return (x * (1 + number / 32)).astype(x.dtype)


def one_by_one(call, elements):
    """What the calls give; None if they cannot be a batch."""
    try:
        found = [call(*inputs) for inputs in elements]
    except Exception:
        return None
    lists = any(y.type_text.startswith("list") for y in found[0])
    same = all(a.shape == b.shape for a, b in zip(*found))
    return found if found[0] and same and not lists else None


def check(call, inputs, batched):
    elements = [[varied(x, i) if b else x for x, b in zip(inputs, batched)] for i in range(2)]
    expected = one_by_one(call, elements)
    if expected is None:
        return
    args = [fl.stack([e[i] for e in elements]) if b else inputs[i] for i, b in enumerate(batched)]
    found = fl.vmap(call, tuple(0 if b else None for b in batched), randomness="same")(*args)
    for i, outputs in enumerate(expected):
        for y, wanted in zip(found, outputs):
            assert y.dtype == wanted.dtype
            # Both parts of complex numbers are compared.
            y, wanted = (fl.view_as_real(t) if t.is_complex() else t for t in (y, wanted))
            exact = wanted.dtype not in (fl.float32, fl.float64)
            relative, absolute = (0, 0) if exact else (1e-5, 1e-6) if wanted.dtype == fl.float32 else (1e-9, 1e-11)
            a, b = (t.astype("float64").numpy() for t in (y[i], wanted))
            np.testing.assert_allclose(a, b, rtol=relative, atol=absolute)



@pytest.mark.filterwarnings("ignore:.*made .* times:RuntimeWarning")
@pytest.mark.parametrize("name", sorted(set(SAMPLES) - set(op_calls.INTERNAL) - APART - DRAWS))
def test_batches(name):
    known = {key: value for attributes, *_ in SAMPLES[name] for key, value in attributes.items()}
    for number, (attributes, inputs, kind, _) in enumerate(SAMPLES[name][:MOST]):
        if kind == "refused" or not inputs or any(x.type_text.startswith("list") for x in inputs):
            continue

        def call(*tensors, attributes=attributes):
            return values(op_calls.call(name, attributes, known, list(tensors)))

        n = len(inputs)
        choices = [[i == j for j in range(n)] for i in range(n)] + ([[True] * n] if n > 1 else [])
        for batched in choices:
            try:
                check(call, inputs, batched)
            except BaseException as error:
                error.add_note(f"sample {number} of `{name}`, batched {batched}: {attributes} {inputs}")
                raise
