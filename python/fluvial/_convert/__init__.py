"""Conversion of Python control flow: the same source builds a program.

A function is read from its source and rewritten so that each `if`, loop, jump and condition is
decided at run time: by Python, if it is known, and by an op of the program being built, if it is a
value of that program. The order of reading: `lower` (jumps become flags), `names` (what is bound
and read where), `emit` and `expressions` (the rewritten source), `source` (from function to
function), `regions` and `loops` (what the rewritten source does), `trees` (how values are joined).
"""

from .report import convert, explained

__all__ = ["convert", "explained"]
