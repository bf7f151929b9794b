"""Functions of `fluid.layers` against formulas of NumPy, line by line and as a program with an open batch."""

import numpy as np

import fluvial as fl
import fluvial.fluid as fluid


#: Functions whose numbers depend on names, or on draws so far.
DRAWN = {
    "bilinear_tensor_product", "conv2d", "conv2d_transpose", "conv3d",
    "conv3d_transpose", "dropout", "embedding", "fc", "gru_unit", "lstm", "lstm_unit",
    "random_crop", "row_conv", "sampled_softmax_with_cross_entropy", "sampling_id", "spectral_norm",
}  # fmt: skip


class raw:
    """A module of `fluid.layers` with its functions as they are written, over tensors."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        found = getattr(self._module, name)
        return getattr(found, "__wrapped__", found)


def typed(array, batch):
    """The type of an array; a first size that is the batch's only the run knows."""
    sizes = [str(size) for size in array.shape]
    if sizes and array.shape[0] == batch:
        sizes[0] = "n"
    short = {"float32": "f32", "float64": "f64", "int64": "i64", "int32": "i32", "bool": "bool"}
    return f"{short[array.dtype.name]}[{', '.join(sizes)}]"


def flat(results):
    """The tensors of a result, one after the other, as arrays."""
    if isinstance(results, fl.Tensor):
        return [results.numpy()]
    return [array for part in results for array in flat(part)]


def run(function, arrays, options=None, open_batch=True):
    """What a function gives line by line, after a program has given the same bits."""
    options = options or {}

    def call(*values):
        return function(*values, **options)

    def in_program(*values):
        results = call(*values)
        return results if isinstance(results, fl.Tensor) else tuple(results)

    with fl.State():
        fl.seed(5)
        direct = flat(call(*[fl.tensor(array) for array in arrays]))
    with fl.State():
        fl.seed(5)
        batch = arrays[0].shape[0] if open_batch and arrays and arrays[0].ndim and len(arrays[0]) > 1 else None
        types = {f"x{i}": typed(array, batch) for i, array in enumerate(arrays)}
        built = flat(fl.build(in_program, types)(*arrays))
    same(direct, built)
    name = getattr(function, "__name__", "")
    if arrays and getattr(getattr(fluid.layers, name, None), "__wrapped__", None) is function:
        same(direct, in_front(name, arrays, options, batch), names_differ=name in DRAWN and "param_attr" not in options)
    return direct


def same(direct, others, names_differ=False):
    """Checks that two lists of arrays are the same by bits; where parameters are drawn by name, by shape."""
    assert len(direct) == len(others)
    for a, b in zip(direct, others):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert a.tobytes() == b.tobytes() or (names_differ and a.size)


def in_front(name, arrays, options, batch):
    """What a function gives in a program of `fluvial.fluid`, after it gave the same types at once."""
    main, startup = fluid.Program(), fluid.Program()
    names = [f"x{i}" for i in range(len(arrays))]
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        given = []
        for key, array in zip(names, arrays):
            sizes = [-1 if i == 0 and size == batch else size for i, size in enumerate(array.shape)]
            given.append(fluid.layers.data(key, sizes, append_batch_size=False, dtype=array.dtype.name))
        results = fluid.layers.__dict__[name](*given, **options)
        fetched = list(results) if isinstance(results, (list, tuple)) else [results]
    with fluid.scope_guard(fluid.Scope()):
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        found = exe.run(main, feed=dict(zip(names, arrays)), fetch_list=fetched)
    with fluid.dygraph.guard():
        now = fluid.layers.__dict__[name](*[fluid.dygraph.to_variable(array) for array in arrays], **options)
        now = list(now) if isinstance(now, (list, tuple)) else [now]
        for a, b in zip(found, now):
            assert a.shape == b.numpy().shape and a.dtype == b.numpy().dtype
    return found


def check(function, arrays, expected, options=None, open_batch=True, gradient=True, rtol=2e-5, atol=2e-6):
    """Compares values with those expected, and gradients with differences.

    Args:
        function: Takes tensors.
        arrays: What it takes.
        expected: Arrays that it gives, or one.
        options: What else it takes.
        open_batch: Whether the program knows the first sizes only when it runs.
        gradient: Whether gradients are checked, too.
        rtol: The relative difference that is allowed.
        atol: The absolute one.
    """
    found = run(function, arrays, options, open_batch)
    alone = len(found) == 1 and not (isinstance(expected, list) and isinstance(expected[0], np.ndarray))
    wanted = [expected] if alone else expected
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        b = np.asarray(b)
        assert a.shape == b.shape, f"{a.shape} and not {b.shape}"
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
    if gradient:
        doubles = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays]
        with fl.State():
            fl.testing.gradcheck(lambda *values: function(*values, **(options or {})), doubles, modes=("imperative",))


def numbers(*shape, seed=0, low=-2.0, high=2.0):
    """Numbers without any pattern."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)
