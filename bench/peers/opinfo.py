"""Runs the samples that PyTorch tests its own ops with (`op_db`) through `fluvial.torch`, and counts those that agree.

    PYTHONPATH=python python bench/peers/opinfo.py [dtype ...]

Ops without a function of that name in `fluvial.torch` are counted apart. Each sample is bounded in size.
"""

import sys
import warnings

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

import fluvial as fl
import fluvial.torch as ours

DTYPES = {"float32": torch.float32, "float64": torch.float64, "int64": torch.int64, "bool": torch.bool}
#: Ops whose results are random or memory that nobody has written.
RANDOM = ("rand", "bernoulli", "multinomial", "dropout", "empty", "normal", "poisson", "gumbel", "exponential", "uniform", "geometric", "cauchy")
#: Ops whose samples have their first two arguments in the other order.
SWAPPED = ("where", "einsum", "nn.functional.embedding", "nn.functional.embedding_bag")
#: Samples of one op that are run at most.
MOST = 25


def function_of(name):
    """Our function under a name such as `nn.functional.relu` or `linalg.norm`, or nothing."""
    place = ours
    for part in name.split("."):
        place = vars(place).get(part) if hasattr(place, "__dict__") else None
        if place is None:
            return None
    return place if callable(place) else None


def converted(value):
    """A value of PyTorch's as one of ours."""
    if isinstance(value, torch.Tensor):
        return fl.tensor(value.detach().numpy().copy())
    if isinstance(value, torch.dtype):
        return getattr(ours, str(value).rpartition(".")[2])
    if isinstance(value, torch.device):
        return "cpu"
    if isinstance(value, (list, tuple)):
        return type(value)(map(converted, value)) if type(value) in (list, tuple) else tuple(map(converted, value))
    if isinstance(value, dict):
        return {key: converted(part) for key, part in value.items()}
    return value


def agree(a, b):
    """Whether our result is PyTorch's."""
    if isinstance(b, torch.Tensor):
        if not isinstance(a, fl.Tensor) or tuple(a.shape) != tuple(b.shape):
            return False
        if str(a.dtype).rpartition(".")[2] != str(b.dtype).rpartition(".")[2]:
            return False
        b = b.detach().resolve_conj().numpy()
        close = 1e-4 if b.dtype == np.float32 else 1e-7
        return np.allclose(a.numpy(), b, rtol=close, atol=close, equal_nan=True)
    if isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(agree(x, y) for x, y in zip(a, b))
    return a == b


def main(dtypes):
    total = right = 0
    missing, faults = set(), {}
    for op in op_db:
        if op.variant_test_name or any(word in op.name for word in RANDOM):
            continue
        function = function_of(op.name)
        if function is None:
            missing.add(op.name)
            continue
        for name in dtypes:
            if not op.supports_dtype(DTYPES[name], "cpu"):
                continue
            for count, sample in enumerate(op.sample_inputs("cpu", DTYPES[name])):
                if count == MOST:
                    break
                try:
                    theirs = op(sample.input, *sample.args, **sample.kwargs)
                except Exception:  # noqa: BLE001
                    continue
                total += 1
                try:
                    args = [converted(sample.input), *converted(sample.args)]
                    if op.name in SWAPPED:
                        args[:2] = args[1::-1]
                    with fl.State():
                        found = function(*args, **converted(sample.kwargs))
                    said = None if agree(found, theirs) else "another result"
                except Exception as error:  # noqa: BLE001
                    said = f"{type(error).__name__}: {str(error).splitlines()[0][-110:]}"
                right += said is None
                if said:
                    faults.setdefault(op.name, []).append(f"{name} {said} {sample.args} {sample.kwargs}"[:260])
    for name, said in sorted(faults.items(), key=lambda pair: -len(pair[1])):
        print(f"{name}: {len(said)}; {said[0]}")
    print(f"{right} of {total} samples agree: {100 * right / total:.1f} %; {len(missing)} names are missing: {' '.join(sorted(missing))}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1:] or list(DTYPES))
