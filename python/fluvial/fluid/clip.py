"""Gradients cut down to size, under Fluid's names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import _core
from .._fault import fault, missing
from ._lists import listed

__all__ = [
    "set_gradient_clip", "ErrorClipByValue", "GradientClipByValue", "GradientClipByNorm", "GradientClipByGlobalNorm",
]  # fmt: skip


#: A function that says something of a parameter.
Chooses = Callable[[Any], bool] | None


class GradientClipBase:
    """How gradients are cut down.

    Args:
        need_clip: Says of a parameter whether its gradient is; all are if nothing is said.
    """

    def __init__(self, need_clip: Chooses = None) -> None:
        if need_clip is not None and not callable(need_clip):
            raise fault(TypeError, f"`need_clip` is {need_clip!r}", "give a function of a parameter")
        self._need_clip = need_clip

    def _takes(self, parameter: Any) -> bool:
        """Whether the gradient of a parameter is cut down."""
        return self._need_clip is None or bool(self._need_clip(parameter))

    def apply(self, gradients: Sequence[Any]) -> list[Any]:
        """Gradients of parameters as tensors, cut down."""
        raise missing(self, "apply(self, gradients)")

    def __call__(self, params_grads: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """Parameters with their gradients, cut down.

        Args:
            params_grads: What `backward` of an optimizer gave; what has no gradient is left out.
        """
        from .framework import applied

        pairs = [(var, gradient) for var, gradient in params_grads if gradient is not None]
        if not pairs:
            return []
        # What is not cut down stays the variable that it was.
        chosen = [(var, gradient) for var, gradient in pairs if self._takes(var)]
        params = [var for var, _ in chosen]
        cut = iter(
            applied(lambda *given: cut_down(params, given, self), "clip", *(g for _, g in chosen)) if chosen else ()
        )
        return [(var, next(cut) if self._takes(var) else gradient) for var, gradient in pairs]

    def _key(self) -> Any:
        """Parameters whose clips have equal keys are cut down together."""
        return id(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in vars(self).items() if k[0] != '_')})"


class GradientClipByValue(GradientClipBase):
    """Each element stays between `min` and `max`.

    Args:
        max: The largest.
        min: The smallest; `-max` if nothing is said.
        need_clip: Says of a parameter whether its gradient is cut down.
    """

    def __init__(self, max: float, min: float | None = None, need_clip: Chooses = None) -> None:
        super().__init__(need_clip)
        self.max = float(max)
        self.min = -self.max if min is None else float(min)

    def apply(self, gradients: Sequence[Any]) -> list[Any]:
        return [_core.clip(gradient, self.min, self.max) for gradient in gradients]


class ErrorClipByValue(GradientClipByValue):
    """Refused where it is used: gradients are cut down in the middle of the way back."""


def shrunk(gradients: Sequence[Any], limit: float) -> list[Any]:
    """Gradients times `limit / max(norm, limit)`, where the norm is that of all of them.

    Args:
        gradients: Tensors.
        limit: The largest norm.
    """
    norm = _core.global_norm(list(gradients))
    factor = limit / _core.maximum(norm, _core.full_like(norm, limit))
    return [gradient * _core.cast(factor, gradient.dtype) for gradient in gradients]


class GradientClipByNorm(GradientClipBase):
    """The norm of each gradient is at most `clip_norm`.

    Args:
        clip_norm: The limit.
        need_clip: Says of a parameter whether its gradient is cut down.
    """

    def __init__(self, clip_norm: float, need_clip: Chooses = None) -> None:
        super().__init__(need_clip)
        self.clip_norm = float(clip_norm)

    def apply(self, gradients: Sequence[Any]) -> list[Any]:
        return [shrunk([gradient], self.clip_norm)[0] for gradient in gradients]


class GradientClipByGlobalNorm(GradientClipBase):
    """The norm of all gradients together is at most `clip_norm`.

    Args:
        clip_norm: The limit.
        group_name: Gradients of one group are taken together.
        need_clip: Says of a parameter whether its gradient is cut down.
    """

    def __init__(self, clip_norm: float, group_name: str = "default_group", need_clip: Chooses = None) -> None:
        super().__init__(need_clip)
        self.clip_norm, self.group_name = float(clip_norm), group_name

    def _key(self) -> Any:
        return self.group_name, self.clip_norm

    def apply(self, gradients: Sequence[Any]) -> list[Any]:
        return shrunk(gradients, self.clip_norm)


def set_gradient_clip(clip: GradientClipBase, param_list: Iterable[Any] | None = None, program: Any = None) -> None:
    """Says how gradients of parameters are cut down by optimizers.

    Args:
        clip: The way.
        param_list: For which parameters, or names of them; for all that the program has if nothing is said.
        program: The program; the default main program if none is given.
    """
    from .framework import default_main_program

    if not isinstance(clip, GradientClipBase):
        raise fault(TypeError, f"gradients cannot be cut down by {clip!r}", "see `fluid.clip`")
    block = (program or default_main_program()).global_block()
    chosen = block.all_parameters() if param_list is None else [
        block.var(item) if isinstance(item, str) else item for item in param_list
    ]
    for var in chosen:
        setattr(var, "gradient_clip_attr", clip)


def cut_down(params: Sequence[Any], gradients: Sequence[Any], clip: Any) -> list[Any]:
    """Gradients as tensors, cut down as their parameters or the optimizer say.

    Args:
        params: The parameters.
        gradients: Their gradients.
        clip: What the optimizer says.
    """
    found = listed(gradients, "gradients")
    groups: dict[Any, tuple[GradientClipBase, list[int]]] = {}
    for i, var in enumerate(params):
        own = getattr(var, "gradient_clip_attr", None) or clip
        if own is not None and own._takes(var):
            groups.setdefault(own._key(), (own, []))[1].append(i)
    for own, places in groups.values():
        for i, cut in zip(places, own.apply([gradients[i] for i in places])):
            found[i] = cut
    return found
