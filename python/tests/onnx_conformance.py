"""Runs the conformance data of the `onnx` package: `make test-onnx`, or

    python python/tests/onnx_conformance.py [--kind node] [--only NAME] [--verbose]

Each case whose element types we have is loaded and run in both modes, call by call and compiled. What is refused says so
by name; a result that differs is wrong; and a process that ends is a crash. The exit code is 1 if anything is wrong or crashes.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import signal
import subprocess
import sys
from typing import Any

import numpy as np

#: The numbers of the element types that we have.
TYPES = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19}
SECONDS = 60


def cases(kind: str) -> list[Any]:
    if kind == "node":
        from onnx.backend.test.case.node import collect_testcases

        return sorted(collect_testcases(None), key=lambda case: case.name)
    from onnx.backend.test.loader import load_model_tests

    return sorted(load_model_tests(kind=kind), key=lambda case: case.name)


def tensor_types(graph: Any) -> set[int]:
    """The element types of a graph's inputs, outputs, initialisers and constants."""
    found: set[int] = set()

    def visit(kind: Any) -> None:
        which = kind.WhichOneof("value")
        if which in ("sequence_type", "optional_type"):
            visit(getattr(kind, which).elem_type)
        elif which in ("tensor_type", "sparse_tensor_type"):
            found.add(getattr(kind, which).elem_type)

    for info in [*graph.input, *graph.output]:
        visit(info.type)
    found.update(tensor.data_type for tensor in graph.initializer)
    for node in graph.node:
        for attr in node.attribute:
            if attr.HasField("t"):
                found.add(attr.t.data_type)
            if attr.HasField("g"):
                found |= tensor_types(attr.g)
            if attr.name == "to" or attr.name.endswith("dtype"):
                found.add(attr.i)
    return found - {0}


def as_array(value: Any) -> np.ndarray:
    """What we have given, or what is expected, as an array of a type that numpy compares."""
    array = plain(value)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def plain(value: Any) -> np.ndarray:
    """Some cases hold messages instead of arrays."""
    if hasattr(value, "SerializeToString"):
        from onnx import numpy_helper

        return numpy_helper.to_array(value)
    return np.asarray(value)


def differs(expected: Any, found: Any, case: Any) -> str:
    """What is wrong with a result, if anything."""
    want, have = as_array(expected), as_array(found)
    if want.shape != have.shape:
        return f"shape {have.shape} instead of {want.shape}"
    if want.dtype != have.dtype:
        return f"type {have.dtype} instead of {want.dtype}"
    if want.dtype.kind not in "fc":
        # The low bits of rounded numbers may differ by one, as they do between others.
        apart = np.abs(want.astype(np.int64) - have.astype(np.int64)).max(initial=0)
        return f"off by {apart}" if apart > (1 if want.dtype.itemsize == 1 and want.dtype.kind != "b" else 0) else ""
    is_half = plain(expected).dtype.name in ("float16", "bfloat16")
    tolerance = 2e-2 if is_half else case.rtol
    if np.allclose(want, have, rtol=tolerance, atol=max(case.atol, 1e-6), equal_nan=True):
        return ""
    with np.errstate(all="ignore"):
        return f"off by {np.nanmax(np.abs(want.astype(np.float64) - have.astype(np.float64)))}"


def tensor_of(fl: Any, value: Any) -> Any:
    array = plain(value)
    if array.dtype.name == "bfloat16":
        return fl.tensor(array.astype(np.float32)).cast("bfloat16")
    return fl.tensor(array)


def small_integers(names: list[str], values: dict[str, Any]) -> dict[str, Any]:
    """Inputs such as shapes and axes, which models have as initialisers; all, if there are only single numbers."""
    chosen = {}
    are_numbers = all(plain(values[name]).ndim == 0 for name in names)
    for name in names if are_numbers else names[1:]:
        array = plain(values[name])
        if array.ndim <= 1 and array.size <= 64:
            chosen[name] = array
    return chosen


def run_both(fl: Any, program: Any, given: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    feeds = {name: given[name] for name in program.inputs}
    called = program(**feeds)
    called = list(called) if isinstance(called, (tuple, list)) else [called]
    compiled = program.run(feeds)
    compiled = list(compiled.values()) if isinstance(compiled, dict) else list(compiled)
    return called, compiled


#: Their results are drawn at random.
RANDOM = ("bernoulli", "training_dropout", "random", "multinomial")


def judge(case: Any) -> tuple[str, str]:
    """The outcome of a case, and what there is to say."""
    import fluvial as fl

    if case.model is None:
        import onnx

        model = onnx.load(os.path.join(case.model_dir, "model.onnx"))
        sets = data_sets(case.model_dir, model)
    else:
        model, sets = case.model, case.data_sets
    if tensor_types(model.graph) - TYPES:
        return "types", ""
    content = model.SerializeToString()
    names = [info.name for info in model.graph.input]
    held = {tensor.name for tensor in model.graph.initializer}
    names = [name for name in names if name not in held or len(names) == len(sets[0][0])]
    for inputs, outputs in sets:
        values = dict(zip(names, inputs, strict=False))
        attempts: list[dict[str, Any]] = [{}]
        try:
            attempts.append(small_integers(names, values))
        except (ValueError, TypeError):
            pass
        said = ""
        for known in attempts:
            try:
                program = fl.onnx.load(content, known=known)
                given = {name: tensor_of(fl, values[name]) for name in program.inputs}
                both = run_both(fl, program, given)
                break
            except Exception as error:  # any error is a refusal; what it says is shown
                said = said or " ".join(str(error).split())
        else:
            return "refused", said
        for mode, found in zip(("called", "compiled"), both, strict=True):
            if len(found) != len(outputs):
                return "wrong", f"{mode}: {len(found)} outputs instead of {len(outputs)}"
            for i, (want, have) in enumerate(zip(outputs, found, strict=True)):
                have = have.cast("float32").numpy() if have.dtype.name == "bfloat16" else have.numpy()
                if any(word in case.name for word in RANDOM):
                    want, have = np.zeros(plain(want).shape), np.zeros(have.shape)
                fault = differs(want, have, case)
                if fault:
                    return "wrong", f"{mode}: output {i}: {fault}"
        if known:
            said = "known: " + ", ".join(known)
    return "passed", said


def data_sets(folder: str, model: Any) -> list[Any]:
    from onnx import TensorProto, numpy_helper

    def read(path: str) -> Any:
        tensor = TensorProto()
        with open(path, "rb") as file:
            tensor.ParseFromString(file.read())
        return numpy_helper.to_array(tensor)

    found = []
    for name in sorted(os.listdir(folder)):
        inner = os.path.join(folder, name)
        if not name.startswith("test_data_set"):
            continue
        parts = []
        for kind in ("input", "output"):
            count = sum(file.startswith(f"{kind}_") for file in os.listdir(inner))
            parts.append([read(os.path.join(inner, f"{kind}_{i}.pb")) for i in range(count)])
        found.append(tuple(parts))
    return found


def work(kind: str, first: int, only: str) -> None:
    """Judges cases from a number on, one line each; a line before each says that it begins."""

    def late(*_: Any) -> None:
        raise TimeoutError(f"took more than {SECONDS} s")

    signal.signal(signal.SIGALRM, late)
    for i, case in enumerate(cases(kind)):
        if i < first or only not in case.name:
            continue
        print(json.dumps([i, case.name, "begin", ""]), flush=True)
        signal.alarm(SECONDS)
        try:
            outcome, said = judge(case)
        except BaseException as error:  # a panic is not an ordinary exception
            outcome, said = "crashed", f"{type(error).__name__}: {error}"
        signal.alarm(0)
        print(json.dumps([i, case.name, outcome, said]), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", default="node,simple,pytorch-converted,pytorch-operator")
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--work", type=int)
    options = parser.parse_args()
    if options.work is not None:
        work(options.kind, options.work, options.only)
        return 0
    total: collections.Counter[str] = collections.Counter()
    for kind in options.kind.split(","):
        outcomes, bound, first, again = collections.Counter(), 0, 0, True
        while again:
            command = [sys.executable, __file__, "--kind", kind, "--only", options.only, "--work", str(first)]
            child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert child.stdout is not None
            begun: tuple[int, str] | None = None
            for line in child.stdout:
                if not line.startswith("["):
                    continue
                number, name, outcome, said = json.loads(line)
                if outcome == "begin":
                    begun = (number, name)
                    continue
                begun = None
                outcomes[outcome] += 1
                bound += outcome == "passed" and bool(said)
                if outcome in ("wrong", "crashed") or options.verbose or outcome == "refused":
                    print(f"{outcome:8} {name}  {said}")
            child.wait()
            again = begun is not None
            if begun is not None:
                outcomes["crashed"] += 1
                print(f"crashed  {begun[1]}  the process ended with {child.returncode}")
                first = begun[0] + 1
        report(kind, outcomes, bound)
        total += outcomes
    report("all", total, 0)
    return 1 if total["wrong"] or total["crashed"] else 0


def report(kind: str, outcomes: collections.Counter[str], bound: int) -> None:
    judged = sum(outcomes.values()) - outcomes["types"]
    share = 100 * outcomes["passed"] / max(judged, 1)
    print(
        f"{kind}: {judged} cases of types that we have ({outcomes['types']} of others): {outcomes['passed']} passed"
        f" ({share:.1f} %{f', {bound} of them with inputs known when loaded' if bound else ''}),"
        f" {outcomes['refused']} refused, {outcomes['wrong']} wrong, {outcomes['crashed']} crashed"
    )


if __name__ == "__main__":
    sys.exit(main())
