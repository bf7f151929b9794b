"""Exceptions of this package; most errors are Python's own `ValueError`, `TypeError` and so on.

Each one that the package raises has four attributes, for code that reacts to it:

- `kind`: one of "shape", "dtype", "argument", "index", "arity", "gradient" (there is no derivative), "unreached" (nothing
  depends on a value), "freed" (an earlier backward pass has freed the tape), "state", "symbolic", "program", "parse",
  "version", "memory", "interrupted", "callback", "assertion", "check" (results differ, or a number is none), "file",
  "internal";
- `op`: the name of the op, or None;
- `line`: the user's line, as "train.py:12", or None;
- `remedy`: what to do, or None.

What a function of the user's raises comes through as it is.

    >>> x = fl.tensor([1.0, 2.0])
    >>> try:
    ...     x + fl.tensor([1.0, 2.0, 3.0])
    ... except ValueError as error:
    ...     print(error.kind, error.op)
    shape add
"""


class StateError(KeyError, RuntimeError):
    """A state does not exist, or has another type than the value given to it. PyTorch raises a `RuntimeError` where states do not fit.

    Example:
        >>> try:
        ...     fl.read_state("no.such")
        ... except KeyError as error:
        ...     print("not there")
        not there
    """

    # Where users find it.
    __module__ = "fluvial"

    def __str__(self) -> str:
        # A `KeyError` shows its key in quotes, with line breaks escaped.
        return str(self.args[0]) if self.args else ""
