"""Exceptions of this package; most errors are Python's own `ValueError`, `TypeError` and so on."""


class StateError(KeyError):
    """A state does not exist, or has another type than the value given to it.

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
