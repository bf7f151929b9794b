"""The digits and the text of `examples/data`, for the examples of this folder."""

import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "data"


def digits(count=None):
    """Handwritten digits: `f32[n, 64]` from 0 to 1, and `i64[n]`."""
    rows = np.fromfile(FOLDER / "digits" / "digits.bin", np.uint8).reshape(-1, 65)[:count]
    return (rows[:, :64] / 16).astype(np.float32), rows[:, 64].astype(np.int64)


def words(count=None):
    """The words of a novel, in lower case."""
    text = (FOLDER / "moby_dick" / "moby_dick.txt").read_text(encoding="ascii").lower()
    kept = "".join(letter if letter.isalpha() else " " for letter in text)
    return kept.split()[:count]
