"""Which settings make sense."""

from __future__ import annotations

from .._fault import fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_AMOUNTS = (
    "eps",
    "momentum",
    "lr_decay",
    "initial_accumulator",
    "l1",
    "l2",
    "beta",
    "trust",
    "momentum_decay",
)


def check_option(what: str, value: Any) -> None:
    """Refuses values of an option of a rule that make no sense."""
    if what in ("rho", "alpha"):
        is_fraction(f"`{what}`", value)
    elif what == "betas":
        is_fraction("the first of `betas`", value[0])
        is_fraction("the second of `betas`", value[1])
    elif what in _AMOUNTS:
        is_amount(f"`{what}`", value)


def is_fraction(what: str, value: float) -> None:
    """Refuses what is not in `[0, 1)`."""
    if not 0.0 <= value < 1.0:
        raise fault(ValueError, f"{what} is {value}, but must be in [0, 1)")


def is_amount(what: str, value: float) -> None:
    """Refuses what is negative or not finite."""
    if not 0.0 <= value < float("inf"):
        raise fault(ValueError, f"{what} is {value}, but must be zero or more")
