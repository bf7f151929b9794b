"""Event files: curves, histograms, images and texts of a run.

Loaded when it is first used. `fl.view("runs")` and `fluvial view runs` show them, also while they are
being written, and so does TensorBoard.
"""

from ._writer import Writer

__all__ = ["Writer"]
