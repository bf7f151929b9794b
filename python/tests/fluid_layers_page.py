"""Writes `docs/fluid_layers.md`: every name of Fluid's `layers`, from the functions that are there.

`python python/tests/fluid_layers_page.py` writes the page; a test checks that it is fresh.
"""

import inspect
from pathlib import Path

import fluvial.fluid as fluid
from fluvial.fluid._names import LAYERS, LAYERS_LATER, LAYERS_REFUSED

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fluid_layers.md"

HEAD = """# Names of Fluid's layers

What `fluvial.fluid.layers` has of the names of Fluid 1.5, and of those that Fluid 1.6 to 1.8 have added. The page is made from the code, by
`python python/tests/fluid_layers_page.py`. [From Fluid](guide/from_fluid.md) says how programs are written.
"""


def first_line(value):
    """The first sentence of what is said of a function or class."""
    text = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    return text.replace("|", "\\|")


def table(names):
    """A row for each name."""
    rows = ["| name | what it is here |", "|---|---|"]
    for name in names:
        if hasattr(fluid.layers, name):
            rows.append(f"| `{name}` | {first_line(getattr(fluid.layers, name))} |")
        else:
            rows.append(f"| `{name}` | *not here:* {LAYERS_REFUSED[name]} |")
    return "\n".join(rows)


def page():
    """The whole page."""
    count = sum(hasattr(fluid.layers, name) for name in LAYERS)
    later = sum(hasattr(fluid.layers, name) for name in LAYERS_LATER)
    return (
        f"{HEAD}\n## Fluid 1.5: {count} of {len(LAYERS)}\n\n{table(LAYERS)}\n\n"
        f"## Added up to Fluid 1.8: {later} of {len(LAYERS_LATER)}\n\n{table(LAYERS_LATER)}\n"
    )


if __name__ == "__main__":
    PAGE.write_text(page())
