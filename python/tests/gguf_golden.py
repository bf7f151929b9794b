"""Writes `golden/gguf`: a file with each kind of numbers, and what the package `gguf` makes of it. Run where that package
is installed: `python gguf_golden.py`."""

from __future__ import annotations

import os

import gguf
import numpy as np

FOLDER = os.path.join(os.path.dirname(__file__), "golden", "gguf")
KINDS = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]


def main() -> None:
    os.makedirs(FOLDER, exist_ok=True)
    random = np.random.RandomState(3)
    writer = gguf.GGUFWriter(os.path.join(FOLDER, "quants.gguf"), "test")
    writer.add_string("general.name", "each kind of numbers")
    writer.add_array("tokenizer.ggml.tokens", ["a", "b", "c"])
    writer.add_float32("test.number", 0.5)
    expected = {}
    for kind in KINDS:
        number = gguf.GGMLQuantizationType[kind]
        elements, size = gguf.GGML_QUANT_SIZES[number]
        rows = random.randint(0, 256, (3, 2 * size)).astype("uint8")
        for block in range(2):
            # Scales are halves: small ones, so that no number is infinite.
            places = {"Q6_K": [208], "Q4_0": [0], "Q5_0": [0], "Q8_0": [0]}.get(kind, [0, 2])
            for place in places:
                scale = random.uniform(-0.1, 0.1, (3, 1)).astype("float16")
                rows[:, block * size + place : block * size + place + 2] = scale.view("uint8")
        writer.add_tensor(kind.lower(), rows, raw_dtype=number)
        expected[kind.lower()] = gguf.dequantize(rows, number)
    for name in ("float32", "float16", "int32"):
        values = (random.randn(2, 3) * 10).astype(name)
        writer.add_tensor(name, values)
        expected[name] = values
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    np.savez_compressed(os.path.join(FOLDER, "quants.npz"), **expected)


if __name__ == "__main__":
    main()
