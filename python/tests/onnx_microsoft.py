"""Fused ops of onnxruntime: what we read gives what onnxruntime gives. Part of `make test-onnx`."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

import fluvial as fl

TYPES = {
    "float32": TensorProto.FLOAT, "int32": TensorProto.INT32, "int64": TensorProto.INT64, "uint8": TensorProto.UINT8,
    "int8": TensorProto.INT8,
}  # fmt: skip
RANDOM = np.random.RandomState(4)


def floats(*sizes: int) -> Any:
    return RANDOM.randn(*sizes).astype("float32")


def cases() -> Any:
    """Op, attributes, inputs in their order (None for one that is left out), number of outputs."""
    x, weight, bias = floats(2, 5, 8), floats(8, 24), floats(24)
    full = np.ones((2, 5), "int32")
    partly = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], "int32")
    yield "Attention", {"num_heads": 2}, [x, weight, bias], 1
    yield "Attention", {"num_heads": 2}, [x, weight, bias, partly], 1
    yield "Attention", {"num_heads": 2}, [x, weight, bias, np.array([3, 5], "int32")], 1
    yield "Attention", {"num_heads": 2, "unidirectional": 1}, [x, weight, bias, full], 1
    yield "Attention", {"num_heads": 2, "unidirectional": 1}, [x, weight, bias, None, floats(2, 2, 2, 3, 4)], 2
    yield "Attention", {"num_heads": 2}, [x, weight, bias, None, None, floats(2, 2, 5, 5)], 1
    yield "Attention", {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 4]}, [x, floats(8, 20), floats(20)], 1
    q, k, v = floats(2, 5, 8), floats(2, 6, 8), floats(2, 6, 8)
    yield "MultiHeadAttention", {"num_heads": 2}, [q, k, v], 1
    yield "MultiHeadAttention", {"num_heads": 2}, [q, k, v, floats(24)], 1
    yield "MultiHeadAttention", {"num_heads": 2}, [q, k, v, None, np.array([4, 6], "int32")], 1
    yield "MultiHeadAttention", {"num_heads": 2, "scale": 0.3}, [q, k, v, None, None, floats(1, 2, 5, 6)], 1
    same = [floats(2, 5, 8) for _ in range(3)]
    yield "MultiHeadAttention", {"num_heads": 2, "unidirectional": 1}, same, 1
    past = [floats(2, 2, 3, 4), floats(2, 2, 3, 4)]
    yield "MultiHeadAttention", {"num_heads": 2}, [*same, None, None, None, *past], 3
    q, k, v = floats(2, 4, 64), floats(2, 4, 32), floats(2, 4, 32)
    total = np.array(4, "int32")
    lengths = np.array([3, 3], "int32")
    attributes = {"num_heads": 4, "kv_num_heads": 2}
    yield "GroupQueryAttention", attributes, [q, k, v, None, None, lengths, total], 3
    yield "GroupQueryAttention", {**attributes, "softcap": 2.0}, [q, k, v, None, None, lengths, total], 3
    angles = np.outer(np.arange(16), 1.0 / 3.0 ** np.arange(8))
    tables = [np.cos(angles).astype("float32"), np.sin(angles).astype("float32")]
    turned = {**attributes, "do_rotary": 1}
    yield "GroupQueryAttention", turned, [q, k, v, None, None, lengths, total, *tables], 3
    packed = floats(2, 4, 128)
    yield "GroupQueryAttention", turned, [packed, None, None, None, None, lengths, total, *tables], 3
    past = [floats(2, 2, 3, 16), floats(2, 2, 3, 16)]
    one = [floats(2, 1, 64), floats(2, 1, 32), floats(2, 1, 32)]
    yield "GroupQueryAttention", turned, [*one, *past, lengths, total, *tables], 3
    q8 = RANDOM.randint(0, 256, (2, 5, 8)).astype("uint8")
    w8 = RANDOM.randint(-128, 128, (8, 24)).astype("int8")
    scales = [np.array(0.02, "float32"), np.array(0.01, "float32")]
    zeros = [np.array(128, "uint8"), np.array(0, "int8")]
    yield "QAttention", {"num_heads": 2}, [q8, w8, bias, *scales, None, *zeros], 1
    yield "QAttention", {"num_heads": 2}, [q8, w8, bias, *scales, np.array([3, 5], "int32"), *zeros], 1
    yield "DynamicQuantizeMatMul", {}, [floats(2, 5, 8), w8, np.array(0.01, "float32"), np.array(3, "int8"), bias], 1
    gamma, beta = floats(8), floats(8)
    yield "SkipLayerNormalization", {"epsilon": 1e-5}, [x, floats(2, 5, 8), gamma, beta, floats(8)], 1
    yield "SkipSimplifiedLayerNormalization", {"epsilon": 1e-5}, [x, floats(2, 5, 8), gamma], 1
    ids, segments = RANDOM.randint(0, 9, (2, 5)).astype("int32"), RANDOM.randint(0, 2, (2, 5)).astype("int32")
    tables = [floats(9, 8), floats(6, 8), floats(2, 8)]
    yield "EmbedLayerNormalization", {"epsilon": 1e-5}, [ids, segments, *tables, gamma, beta, partly], 2
    yield "FusedMatMul", {"transA": 1, "alpha": 0.5}, [floats(3, 4, 5), floats(3, 4, 6)], 1
    yield "FusedMatMul", {"transB": 1}, [floats(3, 4, 5), floats(6, 5)], 1
    yield "Gelu", {}, [x], 1
    yield "BiasGelu", {}, [x, floats(8)], 1
    yield "FastGelu", {}, [x, floats(8)], 1
    yield "QuickGelu", {}, [x], 1
    places = np.array([[0, 1, 2, 3, 4], [3, 4, 5, 6, 7]], "int64")
    angles = np.outer(np.arange(8), [1.0, 0.1])
    tables = [np.cos(angles).astype("float32"), np.sin(angles).astype("float32")]
    yield "RotaryEmbedding", {}, [floats(2, 3, 5, 4), places, *tables], 1
    yield "RotaryEmbedding", {"interleaved": 1}, [floats(2, 5, 12), np.array([2], "int64"), *tables], 1


def model(op: str, attributes: Any, inputs: list[Any], outputs: int) -> bytes:
    """A model with one node."""
    names = [f"x{i}" if value is not None else "" for i, value in enumerate(inputs)]
    given = [(name, value) for name, value in zip(names, inputs) if value is not None]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, domain="com.microsoft", **attributes)
    infos = [helper.make_tensor_value_info(name, TYPES[value.dtype.name], value.shape) for name, value in given]
    kinds = [TensorProto.FLOAT] * outputs
    if op == "EmbedLayerNormalization":
        kinds[1] = TensorProto.INT32
    ends = [helper.make_tensor_value_info(name, kind, None) for name, kind in zip(results, kinds)]
    graph = helper.make_graph([node], "one", infos, ends)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    made = helper.make_model(graph, opset_imports=sets)
    made.ir_version = 8
    data: bytes = made.SerializeToString()
    return data


def main() -> int:
    wrong = 0
    count = 0
    for op, attributes, inputs, outputs in cases():
        count += 1
        data = model(op, attributes, inputs, outputs)
        feeds = {f"x{i}": value for i, value in enumerate(inputs) if value is not None}
        session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
        expected = session.run(None, feeds)
        try:
            program = fl.onnx.load(data)
            found = program.run(**feeds)
            for name, value in zip(program.outputs, expected):
                np.testing.assert_allclose(found[name].numpy(), value, rtol=2e-4, atol=2e-5)
        except Exception as error:
            wrong += 1
            print(f"{op} {attributes}: {str(error)[:600]}")
    print(f"{count - wrong} of {count} fused ops give what onnxruntime gives")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
