"""Evaluates the expressions of `python/tests/torch_expressions.py` with PyTorch, and writes what they give."""

import json
import sys
import warnings
from pathlib import Path

import torch

tests = Path(__file__).parents[2] / "python" / "tests"
sys.path.insert(0, str(tests))
from torch_expressions import evaluated, expressions, names, plain  # noqa: E402

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    found = {code: plain(evaluated(code, names(torch))) for code in expressions()}
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else tests / "golden" / "torch_expressions.json"
    path.write_text("{\n" + ",\n".join(f"{json.dumps(code)}: {json.dumps(value)}" for code, value in found.items()) + "\n}\n")
    print(len(found), "expressions")
