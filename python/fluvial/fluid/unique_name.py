"""Names that are given out once, such as `fc_0.w_0`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["generate", "guard", "switch"]


class UniqueNameGenerator:
    """Counts how often each key was asked for.

    Args:
        prefix: What all names begin with.
    """

    def __init__(self, prefix: str | None = None) -> None:
        self.ids: dict[str, int] = {}
        self.prefix = prefix or ""

    def __call__(self, key: str) -> str:
        number = self.ids.get(key, 0)
        self.ids[key] = number + 1
        return f"{self.prefix}{key}_{number}"


class _Current:
    generator = UniqueNameGenerator()


def generate(key: str) -> str:
    """A name that begins with `key`, with a number that no other name of this key has.

    Example:
        >>> import fluvial.fluid as fluid
        >>> with fluid.unique_name.guard():
        ...     fluid.unique_name.generate("fc"), fluid.unique_name.generate("fc")
        ('fc_0', 'fc_1')
    """
    return _Current.generator(key)


generate_with_ignorable_key = generate


def switch(new_generator: UniqueNameGenerator | None = None, new_para_name_checker: object = None) -> UniqueNameGenerator:
    """Counts with another generator from here on; returns the former one.

    Args:
        new_generator: The generator; a new one if none is given.
        new_para_name_checker: For Fluid's programs: names of parameters are checked by their programs.
    """
    former = _Current.generator
    _Current.generator = new_generator or UniqueNameGenerator()
    return former


@contextlib.contextmanager
def guard(new_generator: UniqueNameGenerator | str | bytes | None = None) -> Iterator[None]:
    """A scope in which names are counted anew, perhaps behind a prefix."""
    if isinstance(new_generator, bytes):
        new_generator = new_generator.decode()
    if isinstance(new_generator, str):
        new_generator = UniqueNameGenerator(new_generator)
    former = switch(new_generator)
    try:
        yield
    finally:
        switch(former)


def counted() -> dict[str, int]:
    """How often each key was asked for so far; see `again`."""
    return dict(_Current.generator.ids)


@contextlib.contextmanager
def again(before: dict[str, int]) -> Iterator[None]:
    """A scope for lines that run a second time, from counts that `counted` gave before the first time: layers, and so
    their parameters, have the names that they had then. Variables that they make have new names.

    Args:
        before: The counts before the first time.
    """
    generator = _Current.generator
    after = dict(generator.ids)
    made = {key: number for key, number in after.items() if key.endswith(".tmp")}
    generator.ids = {**before, **made}
    try:
        yield
    finally:
        generator.ids = {key: max(after.get(key, 0), generator.ids.get(key, 0)) for key in {**after, **generator.ids}}
