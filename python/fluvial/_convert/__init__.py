"""Conversion of Python control flow: the same source builds a program.

A function is read from its source and rewritten so that each `if`, loop, jump and condition is
decided at run time: by Python, if it is known, and by an op of the program being built, if it is a
value of that program. The order of reading: `selects`, `lower` and `matching` (`select` and `match`
become `if`, jumps become flags), `names` and `unbound` (what is bound and read where), `emit` and `expressions` (the rewritten
source), `source` and `original` (from function to function), `regions` and `loops` (what the rewritten
source does), `journal`, `forms` and `aliases` (objects that change, and how the values of two paths are
matched), `outer` and `calls` (what is taken from outside), `trees` (how values are joined), `lists`
(Python's own, as values of the program; numbers are in `fluvial._numbers`), `parts` and `items`
(indices), `builtin`, `folds` and `arithmetic` (functions of Python).
"""

from .inline import inlined
from .report import convert, explained

__all__ = ["convert", "explained", "inlined"]
