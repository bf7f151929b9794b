"""Helpers for tests: values that are close, gradients that are right, both modes.

Loaded when it is first used: `import fluvial` does not pay for it, and pytest is needed only by
`both_modes`.
"""

from __future__ import annotations

from ._close import assert_close
from ._gradcheck import gradcheck

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._modes import Mode, both_modes
else:

    def __getattr__(name):
        if name in ("Mode", "both_modes"):
            from . import _modes

            return getattr(_modes, name)
        raise AttributeError(f"module `fluvial.testing` has no attribute `{name}`")


__all__ = ["Mode", "assert_close", "both_modes", "gradcheck"]
