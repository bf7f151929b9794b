"""Writes the digits of `examples/data/digits` as record files for `digits.py`: `train.rec` and `test.rec`."""

import os
import sys

import numpy as np

import fluvial as fl

HERE = os.path.dirname(os.path.abspath(__file__))


def main(folder="."):
    rows = np.fromfile(os.path.join(HERE, "..", "data", "digits", "digits.bin"), np.uint8)
    rows = rows.reshape(-1, 65)
    # Pixels with mean 0 and variance 1, nearly.
    images = (rows[:, :64].astype(np.float32) - 4.9) / 6.0
    is_test = np.arange(len(rows)) % 5 == 4
    for name, wanted in (("train", ~is_test), ("test", is_test)):
        with fl.RecordWriter(
            os.path.join(folder, f"{name}.rec"), {"image": "f32[64]", "label": "i64[]"}
        ) as writer:
            for image, label in zip(images[wanted], rows[wanted, 64]):
                writer.write(image, int(label))


if __name__ == "__main__":
    main(*sys.argv[1:])
