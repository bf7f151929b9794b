"""Programs of detectors, run with sequences of boxes."""

import numpy as np

import fluvial.fluid as fluid


def run(build, **given):
    """What a function of variables gives in a program, and, the same to the bit, at once: arrays with lengths.

    Args:
        build: Takes variables by name.
        given: Arrays; with lengths of sequences a pair.
    """
    place = fluid.CPUPlace()
    fed = {}
    for name, value in given.items():
        array, lengths = value if isinstance(value, tuple) else (value, None)
        fed[name] = fluid.create_lod_tensor(array, lengths, place) if lengths else array
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        inputs = {}
        for name, value in given.items():
            array, lengths = value if isinstance(value, tuple) else (value, [])
            sizes = [-1, *array.shape[1:]]
            inputs[name] = fluid.layers.data(name, sizes, False, array.dtype.name, len(lengths), stop_gradient=False)
        results = flat(build(**inputs))
    with fluid.scope_guard(fluid.Scope()):
        exe = fluid.Executor(place)
        exe.run(startup)
        found = exe.run(main, feed=fed, fetch_list=results, return_numpy=False)
    found = [(np.array(value), value.recursive_sequence_lengths()) for value in found]
    with fluid.dygraph.guard(), fluid.unique_name.guard():
        now = flat(build(**{name: fluid.dygraph.to_variable(value) for name, value in fed.items()}))
        for (array, lengths), var in zip(found, now):
            value = var.value().get_tensor() if lengths else var.numpy()
            assert np.array(value).tobytes() == array.tobytes()
    return found


def flat(results):
    """Variables one after the other."""
    if isinstance(results, (list, tuple)):
        return [var for part in results for var in flat(part)]
    return [results]
