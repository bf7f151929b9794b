"""A program means what its Python lines mean: small functions, each called several times in both modes."""

import importlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from meaning import world  # noqa: E402
from random_functions.running import judged  # noqa: E402

GROUPS = ("objects", "parts", "leaves", "numbers", "chosen", "keys", "gradients", "failures", "language", "examples")
CASES = [(group, title) for group in GROUPS for title in importlib.import_module(f"meaning.{group}").CASES]


@pytest.mark.filterwarnings("ignore:.*was built")
@pytest.mark.parametrize("group, title", CASES, ids=[f"{group}: {title}" for group, title in CASES])
def test_both_modes_mean_the_same(group, title):
    case = importlib.import_module(f"meaning.{group}").CASES[title]
    found = judged(world(case), ignored=case.ignored)
    assert found.name == case.verdict, "\n".join([case.body, *found.groups, *found.details])
