"""Writes digits.bin from the copy of the data set that scikit-learn brings along."""

import pathlib

import numpy as np
from sklearn.datasets import load_digits

digits = load_digits()
rows = np.column_stack([digits.data, digits.target]).astype(np.uint8)
assert rows.shape == (1797, 65) and (rows[:, :64] == digits.data).all()
(pathlib.Path(__file__).parent / "digits.bin").write_bytes(rows.tobytes())
