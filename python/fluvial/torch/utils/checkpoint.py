"""PyTorch's `torch.utils.checkpoint`."""

from ..._checkpoint import checkpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["checkpoint", "checkpoint_sequential"]


def checkpoint_sequential(functions: "Any", segments: int, input: "Any", use_reentrant: "bool | None" = None, **options: "Any") -> "Any":
    """Calls functions one after the other, in so many segments, of which only the last keeps what gradients need.

    Args:
        functions: A `Sequential`, or a list of functions.
        segments: How many segments there are.
        input: What the first one gets.
        use_reentrant: Taken; there is one way.
        options: Taken.
    """
    each = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = max(len(each) // segments, 1)

    def run(part: "list[Any]") -> "Any":
        def whole(x: "Any") -> "Any":
            for function in part:
                x = function(x)
            return x

        return whole

    for at in range(0, size * (segments - 1), size):
        input = checkpoint(run(each[at : at + size]), input)
    return run(each[size * (segments - 1) :])(input)
