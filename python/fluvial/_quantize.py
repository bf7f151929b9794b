"""Programs computed with integers of 8 bits: `fl.quantize`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from . import _core
from ._core import Program
from ._fault import fault
from ._program import build
from ._reader import Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from ._core import TypeLike


def quantize(
    model: Program | Callable[..., Any],
    samples: Reader | Iterable[Any] | None = None,
    *,
    inputs: Mapping[str, TypeLike] | None = None,
    dynamic: bool = False,
    skip: Sequence[str] = (),
) -> Program:
    """The program in which products of matrices and convolutions whose weights are parameters are computed with integers
    of 8 bits. It is for use, not for training: it has no states, and weights are in it.

    Weights get a scale for each output channel. What is multiplied with them gets one scale and a zero point: from the least and
    the greatest numbers that the samples lead to, or, with `dynamic` and inside of loops, from the numbers of each call.
    Sums of products are exact. What stays in float32 for another reason than `skip` is told by a warning.

    Args:
        model: A program; or a layer or function, of which `inputs` says the types.
        samples: Batches like those to come: a reader, or anything that gives dicts by the names of the inputs, tuples in
            their order, or single tensors. Of a reader and of dicts, fields that are not inputs are left out.
        inputs: For a layer or function: the types of its arguments by name, as `fl.build` takes them.
        dynamic: Whether scales are taken from the numbers of each call; without samples.
        skip: Weights that stay as they are: names, or what names begin with up to a dot.

    Returns:
        The program; `save` and `fl.onnx.save` write it to a file.

    Example:
        >>> layer = fl.nn.Linear(32, 16)
        >>> samples = [fl.full((4, 32), 0.5), fl.full((4, 32), -1.0)]
        >>> small = fl.quantize(layer, samples, inputs={"x": "f32[batch, 32]"})
        >>> x = fl.full((2, 32), 0.25)
        >>> bool(fl.all(fl.abs(small(x) - layer(x)) < 0.05))
        True
    """
    if not isinstance(model, Program):
        if not callable(model):
            raise fault(TypeError, f"expected a program, a layer or a function, found {type(model).__name__}")
        if inputs is None:
            raise fault(
                TypeError,
                "a layer or function is quantised as a program, and the types of its arguments are not known",
                'give them: inputs={"x": "f32[batch, 784]"}',
            )
        model = build(model, inputs)
    elif inputs is not None:
        raise fault(TypeError, "a program knows the types of its inputs", "leave `inputs` out")
    if dynamic and samples is not None:
        raise fault(ValueError, "dynamic scales need no samples", "leave one of them out")
    if not dynamic and samples is None:
        raise fault(
            ValueError,
            "scales are taken from samples, and there are none",
            "give batches like those to come, or dynamic=True",
        )
    if isinstance(skip, str):
        skip = (skip,)
    quantizer = _core.Quantizer(model, list(skip))
    names = list(model.inputs)
    for batch in () if samples is None else _batches(samples):
        quantizer.observe(_fed(batch, names))
    program, ops = quantizer.finish(dynamic)
    left = [f"{name} ({op}): {how}" for name, op, how, is_left in ops if is_left]
    if left:
        what = "\n  ".join(["these are not computed with 8 bits:", *left])
        warnings.warn(f"{what}\n  remedy: name them in `skip` if that is fine", stacklevel=2)
    return program


def _batches(samples: Reader | Iterable[Any]) -> Iterable[Any]:
    """The batches; a reader stands afterwards where it stood before."""
    if not isinstance(samples, Reader):
        yield from samples
        return
    names, position = list(samples.fields), samples.position
    try:
        for batch in samples.iterate():
            yield dict(zip(names, batch if isinstance(batch, tuple) else (batch,)))
    finally:
        samples.position = position


def _fed(batch: Any, names: list[str]) -> dict[str, Any]:
    if isinstance(batch, Mapping):
        missing = [name for name in names if name not in batch]
        if missing:
            given = ", ".join(map(str, batch))
            raise fault(KeyError, f"the samples have no {', '.join(missing)}: they have {given}")
        return {name: batch[name] for name in names}
    values = batch if isinstance(batch, (tuple, list)) else (batch,)
    if len(values) != len(names):
        raise fault(
            ValueError,
            f"a sample has {len(values)} parts, and the program takes {', '.join(names)}",
            "give one tensor for each input, or a dict by name",
        )
    return dict(zip(names, values))
