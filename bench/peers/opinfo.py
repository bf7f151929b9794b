"""Runs the samples that PyTorch tests its own ops with (`op_db`) through `fluvial.torch`, and counts those that agree.

    PYTHONPATH=target/python .venv-peers/bin/python bench/peers/opinfo.py [--dtypes float32 int64] [--only add max]

A sample agrees if PyTorch's values come out line by line, as a method where there is one, and by the program of an
`fl.function`, and its gradients in both modes. Ops that are random, or have no function or method of that name here,
are left out and listed. What is excepted, and why, stands in `opinfo_exceptions.txt`; excepted samples count as different.
"""

import argparse
import collections
import json
import re
import signal
import warnings
from pathlib import Path

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

import fluvial as fl
import fluvial.torch as ours

DTYPES = {name: getattr(torch, name) for name in ("float32", "float64", "int64", "bool", "complex64", "complex128")}
#: Ops whose results are random or memory that nobody has written.
RANDOM = ("rand", "bernoulli", "multinomial", "dropout", "empty", "normal", "poisson", "gumbel", "exponential", "uniform", "geometric", "cauchy", "rrelu", "fractional", "lowrank")
#: Names with random words in them that are not random.
STEADY = ("nn.functional.poisson_nll_loss", "nn.functional.normalize", "special.log_normal")
#: Ops whose samples have their first two arguments in the other order.
SWAPPED = ("where", "einsum", "polygamma", "special.polygamma", "nn.functional.embedding", "nn.functional.embedding_bag")
#: Variants whose samples are for a function of the op.
ADAPTED = {
    ("linalg.pinv", "singular"): lambda pinv: lambda a, b: pinv(a @ b.mT),
    ("linalg.lstsq", "grad_oriented"): lambda lstsq: lambda a, b, driver: lstsq(a, b, driver=driver)[:2],
}
#: Ops whose results are known but for signs; their sizes are compared.
SIGNS = ("svd", "linalg.svd", "linalg.eigh", "linalg.qr", "qr", "linalg.eig")
#: Ops whose results are in no order: eigenvalues are compared sorted, and vectors as their values are.
UNORDERED = ("linalg.eig", "linalg.eigvals")
#: Samples of one op, variant and element type that are run at most, and seconds that one may take.
MOST, SECONDS = 25, 30

#: Element types in which gradients are not compared.
HALF = ("float16", "bfloat16")

Fault = collections.namedtuple("Fault", "op dtype stage text sample")


def function_of(name):
    """Our function under a name such as `nn.functional.relu` or `linalg.norm`, or our method; or nothing."""
    place = ours
    for part in name.split("."):
        place = getattr(place, part, None)
        if place is None:
            break
    if callable(place) and not isinstance(place, type(ours.float32)):
        return place
    if hasattr(getattr(fl.Tensor, name, None), "__set__"):
        return lambda input: getattr(input, name)
    return getattr(fl.Tensor, name, None) if "." not in name and callable(getattr(fl.Tensor, name, None)) else None


def converted(value, tensors):
    """A value of PyTorch's as one of ours; tensors are taken from a list."""
    if isinstance(value, torch.Tensor):
        return next(tensors)
    if isinstance(value, torch.dtype):
        return getattr(ours, str(value).rpartition(".")[2])
    if isinstance(value, torch.device):
        return "cpu"
    if isinstance(value, torch.memory_format):
        return ours.contiguous_format
    if isinstance(value, (list, tuple)):
        parts = [converted(part, tensors) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict):
        return {key: converted(part, tensors) for key, part in value.items()}
    if callable(value):
        name = getattr(value, "__name__", type(value).__name__)
        return getattr(ours.nn.functional, name, None) or getattr(ours.nn, name)()
    return value


def tensors_of(value):
    """The tensors in a value, in the order of `converted`."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for part in value for tensor in tensors_of(part)] if isinstance(value, (list, tuple)) else []


def leaves(value):
    """The tensors in a result of ours."""
    if isinstance(value, fl.Tensor):
        return [value]
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, (list, tuple)) else []


def differs(a, b, *, close=None, signs=False):
    """Why our result is not PyTorch's; nothing if it is."""
    if isinstance(b, torch.Tensor):
        if not isinstance(a, fl.Tensor):
            return f"{type(a).__name__}, not a tensor"
        if tuple(a.shape) != tuple(b.shape):
            return f"shape {tuple(a.shape)}, not {tuple(b.shape)}"
        kinds = [str(part.dtype).rpartition(".")[2] for part in (a, b)]
        if kinds[0] != kinds[1]:
            return f"{kinds[0]}, not {kinds[1]}"
        if kinds[1] in HALF:
            a, b, close = a.float(), b.float(), 1e-2
        a, b = a.detach().numpy(), b.detach().resolve_conj().numpy()
        a, b = (abs(a), abs(b)) if signs else (a, b)
        close = close or (1e-4 if b.dtype in (np.float32, np.complex64) else 1e-6)
        scale = max(1.0, float(np.max(np.abs(b[np.isfinite(b)]), initial=0.0))) if b.dtype.kind in "fc" else 1.0
        return None if np.allclose(a, b, rtol=close, atol=close * min(scale, 1e4), equal_nan=True) else "other values"
    if isinstance(b, (list, tuple)):
        if not isinstance(a, (list, tuple)) or len(a) != len(b):
            return f"{type(a).__name__} instead of {len(b)} results"
        return next((found for x, y in zip(a, b) if (found := differs(x, y, close=close, signs=signs))), None)
    if isinstance(a, fl.Tensor) and isinstance(b, (bool, int, float, complex)):
        a = a.item()
    a, b = (value.name if isinstance(value, fl.DType) else str(value).rpartition(".")[2] if isinstance(value, torch.dtype) else value for value in (a, b))
    return None if a == b or (a != a and b != b) else f"{a!r}, not {b!r}"


def sorted_by_values(found):
    """Eigenvalues from the least to the greatest, and the sizes of their vectors, if there are any, in the same order."""
    parts = [part.detach().numpy() for part in (found if isinstance(found, (list, tuple)) else [found])]
    order = np.lexsort((parts[0].imag.round(3), parts[0].real.round(3)), axis=-1)
    values = np.take_along_axis(parts[0], order, -1)
    return [values, *(np.take_along_axis(abs(part), order[..., None, :], -1) for part in parts[1:])]


def cotangents(outputs, even):
    """Numbers by which results are multiplied before they are added up; complex ones if these are; all ones, if `even`."""

    def factors(out):
        if even:
            return np.ones(tuple(out.shape), str(out.dtype).rpartition(".")[2])
        places = np.arange(out.numel()).reshape(tuple(out.shape)) * 1.3 + 0.5
        waves = np.cos(places) + 1j * np.sin(2 * places) if out.is_complex() else np.cos(places)
        return waves.astype(str(out.dtype).rpartition(".")[2])

    return [factors(out) for out in outputs]


def added(products):
    """The sum of all elements; of complex ones the real part."""
    sums = [part.sum() for part in products]
    return sum(part.real if part.is_complex() else part for part in sums)


class Sample:
    """A sample of an op, which knows what PyTorch gives."""

    def __init__(self, op, sample):
        self.op, self.sample = op, sample
        self.inputs = tensors_of([sample.input, list(sample.args), dict(sample.kwargs)])
        self.theirs = op(sample.input, *sample.args, **sample.kwargs)
        self.signs, self.unordered = op.name in SIGNS, op.name in UNORDERED
        #: Which results have gradients here; known when they were asked for line by line.
        self.tracked = []

    def given(self, tensors):
        """Our arguments."""
        args, options = converted(([self.sample.input, *self.sample.args], self.sample.kwargs), iter(tensors))
        if self.op.name in SWAPPED:
            args[:2] = args[1::-1]
        return args, options

    def tensors(self):
        return [fl.tensor(value.detach().resolve_conj().numpy().copy()) for value in self.inputs]

    def stages(self, function):
        """What is compared, by name: functions that give why it differs."""
        op = self.op
        yield "lines", lambda: self.values(lambda tensors: self.called(function, tensors))
        method = getattr(fl.Tensor, op.name, None)
        if op.get_method() is not None and callable(method) and method is not function and op.name not in SWAPPED and isinstance(self.sample.input, torch.Tensor):
            yield "method", lambda: self.values(lambda tensors: self.called(method, tensors))
        program = lambda tensors: fl.function(lambda *inner: self.called(function, inner))(*tensors)  # noqa: E731
        yield "program", lambda: self.values(program)
        if self.wanted() and not op.name.endswith("_"):
            yield "gradient", lambda: self.gradient(function, self.pulled)
            yield "gradient in a program", lambda: self.gradient(function, lambda f, tensors: fl.function(lambda *inner: self.pulled(f, inner))(*tensors))

    def called(self, function, tensors):
        args, options = self.given(tensors)
        return function(*args, **options)

    def values(self, call):
        found = call(self.tensors())
        if not self.unordered:
            return differs(found, self.theirs, signs=self.signs)
        close = 1e-3 if self.inputs[0].dtype in (torch.float32, torch.complex64) else 1e-6
        pairs = zip(sorted_by_values(found), sorted_by_values(self.theirs), strict=True)
        return None if all(a.dtype == b.dtype and np.allclose(a, b, rtol=close, atol=close) for a, b in pairs) else "other values"

    def wanted(self):
        """PyTorch's gradients, or nothing."""
        if not hasattr(self, "gradients"):
            self.gradients = None
            self.by = [i for i, value in enumerate(self.inputs) if value.requires_grad]
            results = tensors_of([self.theirs])
            self.places = [i for i, out in enumerate(results) if out.requires_grad and (out.dtype in (torch.float32, torch.float64) or out.is_complex())]
            outputs = [results[i] for i in self.places]
            if self.by and outputs:
                outputs = [self.measured(out) for out in outputs]
                self.factors = cotangents(outputs, self.unordered)
                total = added(out * torch.from_numpy(np.asarray(factor)) for out, factor in zip(outputs, self.factors))
                found = torch.autograd.grad(total, [self.inputs[i] for i in self.by], allow_unused=True)
                self.gradients = [g if g is None else g.to_dense().clone() for g in found]
        return self.gradients

    def measured(self, out):
        """What gradients are taken of: the size, where more is not known."""
        return out.abs() if self.signs or self.unordered else out

    def pulled(self, function, tensors):
        """Our gradients."""
        inputs = list(tensors)
        for i in self.by:
            inputs[i] = inputs[i].detach().requires_grad_()
        found = leaves([self.called(function, inputs)])
        if not self.tracked:
            self.tracked = [found[i].is_tracked for i in self.places]
        pairs = [(found[i], factor) for i, factor, tracked in zip(self.places, self.factors, self.tracked) if tracked]
        if not pairs:
            return (None,) * len(self.by)
        total = added(fl.assume_dims(self.measured(out), list(factor.shape)) * fl.tensor(factor) for out, factor in pairs)
        return ours.autograd.grad(total, [inputs[i] for i in self.by], allow_unused=True)

    def gradient(self, function, call):
        found = call(function, self.tensors())
        for mine, theirs in zip(found, self.gradients):
            if mine is None or theirs is None:
                one = mine if theirs is None else theirs
                # PyTorch gives zeros where there is nothing to give, and nothing where there are zeros.
                if one is not None and np.any(one.detach().numpy()):
                    return "a gradient that only one of us has"
                continue
            if why := differs(mine, theirs, close=1e-3 if theirs.dtype in (torch.float32, torch.complex64) else 1e-5):
                return why
        return None


def bounded(check):
    """What a check says, or the error that it raised."""

    def late(*_):
        raise TimeoutError(f"more than {SECONDS} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        with fl.State():
            return check()
    except Exception as error:  # noqa: BLE001
        lines = str(error).splitlines() or [""]
        return f"{type(error).__name__}: {re.sub(r'^.*?opinfo.py:[0-9]+: ', '', lines[0])[:200]}"
    finally:
        signal.alarm(0)


def samples_of(op, dtype):
    """At most `MOST` samples of an op that PyTorch itself can run."""
    wants = (dtype.is_floating_point or dtype.is_complex) and op.supports_autograd
    for count, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=wants)):
        if count == MOST:
            return
        if sample.kwargs.get("dropout_p"):
            continue
        try:
            yield Sample(op, sample)
        except Exception:  # noqa: BLE001
            continue


def exceptions():
    """Patterns and the reasons why what they match is not PyTorch's."""
    lines = Path(__file__).with_name("opinfo_exceptions.txt").read_text().splitlines()
    rows = [line.split(" | ") for line in lines if line and not line.startswith("#")]
    return [(re.compile(pattern), text, reason) for pattern, text, reason in rows]


def excepted(fault, table):
    return next((reason for pattern, text, reason in table if pattern.fullmatch(fault.op) and text in f"{fault.dtype} {fault.stage}: {fault.text} {fault.sample}"), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dtypes", nargs="*", default=list(DTYPES), choices=DTYPES)
    parser.add_argument("--only", nargs="*", default=[], help="names of ops; all, if there are none")
    parser.add_argument("--report", help="a file for all faults, as JSON")
    options = parser.parse_args()
    table = exceptions()
    count, right = collections.Counter(), collections.Counter()
    faults, reasons, missing = [], collections.Counter(), set()
    stages, stages_right = collections.Counter(), collections.Counter()
    for op in op_db:
        if options.only and op.name not in options.only:
            continue
        if any(word in op.name for word in RANDOM) and op.name not in STEADY:
            continue
        function = function_of(op.name)
        if function is None:
            missing.add(op.name)
            continue
        function = ADAPTED.get((op.name, op.variant_test_name), lambda same: same)(function)
        for name in options.dtypes:
            if not op.supports_dtype(DTYPES[name], "cpu"):
                continue
            for sample in samples_of(op, DTYPES[name]):
                count[op.name] += 1
                wrong = None
                for stage, check in sample.stages(function):
                    said = bounded(check)
                    stages[stage] += 1
                    stages_right[stage] += said is None
                    if said and wrong is None:
                        shown = re.sub(r"\s+", " ", f"{tuple(sample.sample.args)} {sample.sample.kwargs}")[:160]
                        wrong = Fault(op.name, name, stage, said, f"{[tuple(t.shape) for t in sample.inputs]} {shown}")
                right[op.name] += wrong is None
                if wrong:
                    reason = excepted(wrong, table)
                    reasons[reason] += 1
                    if reason is None:
                        faults.append(wrong)
    by_op = collections.defaultdict(list)
    for fault in faults:
        by_op[fault.op].append(fault)
    for name, found in sorted(by_op.items(), key=lambda pair: -len(pair[1])):
        raised = sum(": " in fault.text for fault in found)
        print(f"{name}: {right[name]} of {count[name]} agree; {len(found) - raised} differ, {raised} raise")
        seen = set()
        for fault in found:
            kind = (fault.stage, re.sub(r"[0-9]+", "0", fault.text)[:60])
            if kind not in seen and len(seen) < 4:
                seen.add(kind)
                print(f"    {fault.dtype} {fault.stage}: {fault.text}  {fault.sample}")
    if options.report:
        Path(options.report).write_text(json.dumps([fault._asdict() for fault in faults], indent=1))
    for stage, total in stages.items():
        print(f"{stage}: {stages_right[stage]} of {total}")
    for reason, number in sorted(reasons.items(), key=lambda pair: -pair[1]):
        if reason:
            print(f"excepted: {number}: {reason}")
    print(f"not here: {' '.join(sorted(missing))}")
    total, agree = sum(count.values()), sum(right.values())
    print(f"{agree} of {total} samples of {len(count)} ops agree: {100 * agree / max(total, 1):.2f} %; {len(faults)} differ without a reason; {len(missing)} names are not here")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
