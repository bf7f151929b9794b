"""What type checkers see of modules that are functions, too."""

from ._core import Tensor, TensorLike
from .clip import ErrorClipByValue as _ErrorClipByValue
from .clip import GradientClip as _GradientClip
from .clip import GradientClipByGlobalNorm as _GradientClipByGlobalNorm
from .clip import GradientClipByNorm as _GradientClipByNorm
from .clip import GradientClipByValue as _GradientClipByValue
from collections.abc import Sequence

class Clip:
    ErrorClipByValue: type[_ErrorClipByValue]
    GradientClip: type[_GradientClip]
    GradientClipByGlobalNorm: type[_GradientClipByGlobalNorm]
    GradientClipByNorm: type[_GradientClipByNorm]
    GradientClipByValue: type[_GradientClipByValue]
    def global_norm(self, gradients: Sequence[Tensor]) -> Tensor: ...
    def __call__(
        self,
        x: TensorLike,
        /,
        low: TensorLike | None = None,
        high: TensorLike | None = None,
        *,
        min: TensorLike | None = None,
        max: TensorLike | None = None,
    ) -> Tensor: ...

clip: Clip
