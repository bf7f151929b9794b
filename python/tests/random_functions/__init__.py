"""Random Python functions, run line by line and as programs, whose whole outcome is compared.

A *case* is the text of a small module that a kind and a seed determine. It has a function `world`,
which makes a function under a decorator and everything that it can see: arguments, objects of its
closure, and what changes between calls. `running` makes two worlds from one text, runs one in each
mode, and compares what can be observed after each call.

    python -m random_functions --kind c --seeds 0:2000 --jobs 2 --report out.json
    python -m random_functions --kind c --show 17
"""

from __future__ import annotations

from .calls import CallsWriter
from .expressions import Expressions
from .forms_control import CONTROL
from .forms_failing import FAILING
from .forms_gradients import GRADIENTS
from .forms_hazards import HAZARDS
from .writing import Case, Writer

#: What each kind is about, and what writes it.
KINDS = {
    "a": ("ops and expressions", Expressions),
    "b": ("control flow", lambda seed: Writer(seed, CONTROL)),
    "c": ("hazards", lambda seed: Writer(seed, HAZARDS)),
    "d": ("failing runs", lambda seed: Writer(seed, FAILING)),
    "e": ("gradients", lambda seed: Writer(seed, GRADIENTS)),
    "f": ("calls and sizes", CallsWriter),
}


def case(kind: str, seed: int) -> Case:
    """The case of a kind and a seed."""
    return KINDS[kind][1](f"{kind}{seed}").case()
