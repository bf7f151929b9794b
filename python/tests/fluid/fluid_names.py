"""Writes the tables of names in `docs/guide/from_fluid.md`: `python python/tests/fluid/fluid_names.py`.

Names of `fluid.layers` have a page of their own, `docs/fluid_layers.md`.
"""

import importlib
import sys
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "guide" / "from_fluid.md"
BEGIN, END = "<!-- names: written by python/tests/fluid/fluid_names.py -->", "<!-- end of names -->"

MODULES = (
    "dygraph", "optimizer", "initializer", "regularizer", "clip", "io", "metrics", "nets", "backward",
    "framework", "executor", "compiler", "core", "lod_tensor", "profiler", "average", "evaluator", "transpiler",
    "unique_name", "paddle", "paddle.reader", "contrib",
)  # fmt: skip


def names_of(module):
    """The public names of a module of the front."""
    found = importlib.import_module(f"fluvial.fluid.{module}")
    names = getattr(found, "__all__", None)
    if names is None:
        names = [
            name for name, value in vars(found).items()
            if not name.startswith("_") and getattr(value, "__module__", "").startswith("fluvial.")
        ]  # fmt: skip
    return sorted(set(names), key=lambda name: (name.lower(), name))


def refused():
    """Names that Fluid has and the front has not, by module, with what to use."""
    from fluvial.fluid._missing import NAMES

    for module, names in NAMES.items():
        if module.endswith(".layers"):
            continue
        found = importlib.import_module(module)
        here = set(getattr(found, "__all__", ())) | set(vars(found))
        yield module, {name: remedy for name, remedy in names.items() if name not in here}


def tables():
    """The two tables as text."""
    lines = [BEGIN, "", "| module | names that are here |", "|---|---|"]
    for module in MODULES:
        names = names_of(module)
        if names:
            lines.append(f"| `fluid.{module}` | {' '.join(f'`{name}`' for name in names)} |")
    lines += ["", "| names of Fluid that are not here | what to use |", "|---|---|"]
    for module, names in refused():
        prefix = module.removeprefix("fluvial.")
        by_remedy = {}
        for name, remedy in names.items():
            by_remedy.setdefault(remedy, []).append(name)
        for remedy, group in by_remedy.items():
            lines.append(f"| `{prefix}`: {' '.join(f'`{name}`' for name in group)} | {remedy} |")
    return "\n".join([*lines, "", END])


def main():
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.index(BEGIN), text.index(END) + len(END)
    PAGE.write_text(text[:begin] + tables() + text[end:], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
