"""Event files for TensorBoard: curves, histograms, images and texts of a run.

Loaded when it is first used. Nothing but numpy is needed to write them; `tensorboard --logdir runs`
shows them, also while they are being written.
"""

from ._writer import Writer

__all__ = ["Writer"]
