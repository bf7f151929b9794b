"""Trees, and numbers made of rows."""

from __future__ import annotations

from ... import _core
from ..._fault import fault
from ...layers._activations import activation
from ...layers._arguments import known
from ...layers._names import Owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._attr import AttrLike
    from ..._core import Tensor
    from ...layers._activations import Act

__all__ = ["hash", "tree_conv"]


def tree_conv(
    nodes_vector: Tensor,
    edge_set: Tensor,
    output_size: int,
    num_filters: int = 1,
    max_depth: int = 2,
    act: Act = "tanh",
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    name: str | None = None,
) -> Tensor:
    """A convolution over trees: each node together with those below it, up to a depth.

    Nodes count from the top, from the left and from the right by weights of their own, as in Fluid.

    Args:
        nodes_vector: The nodes, `[batch, nodes, features]`.
        edge_set: Edges from a node to one below it, `[batch, edges, 2]`; nodes are counted from 1, and an edge with a
            zero ends the list.
        output_size: The size of the result for each node.
        num_filters: How many results of that size there are.
        max_depth: How many levels count, the node's own included.
        act: The name of a function of the output.
        param_attr: What is said of the weight, `[features, 3, output_size, num_filters]`.
        bias_attr: What is said of the bias; False leaves it out.
        name: The layer's name.

    Returns:
        `[batch, nodes, output_size, num_filters]`.
    """
    owner = Owner("tree_conv", name)
    features, count = known(nodes_vector.shape[2], "the number of features"), nodes_vector.shape[1]
    dtype = nodes_vector.dtype
    edges = _core.cast(edge_set, "int64")
    there = _core.cast(_core.all(edges != 0, axis=2), "int64")
    there = _core.cumprod(there, 1)
    above, below = (
        _core.cast(_core.unsqueeze(edges[:, :, i], -1) == _core.iota(count, "int64") + 1, dtype)
        * _core.cast(_core.unsqueeze(there, -1), dtype)
        for i in (0, 1)
    )
    # For each edge its number among those of the same node, and how many these are.
    number = _core.sum(_core.cumsum(above, 1) * above, axis=2)
    siblings = _core.sum(_core.sum(above, axis=1, keepdims=True) * above, axis=2)
    share = _core.where(siblings > 1.0, (number - 1.0) / _core.maximum(siblings - 1.0, 1.0), 0.5)
    left = _core.einsum("be,bev->bv", [share, below])
    children = _core.einsum("beu,bev->buv", [above, below])
    nodes = _core.cast(_core.sum(there, axis=1, keepdims=True) + 1, dtype)
    is_node = _core.cast(_core.iota(count, dtype) < nodes, dtype)
    reached = _core.unsqueeze(is_node, -1) * _core.eye(count, count, 0, dtype)
    total: list[Any] = [None, None, None]
    for depth in range(max_depth):
        top = (max_depth - depth) / max_depth
        from_left = left * (1.0 - top)
        weights = (from_left, (1.0 - from_left) * (1.0 - top), _core.full(left.shape, top, dtype))
        for i, weight in enumerate(weights):
            part = _core.matmul(reached, nodes_vector * _core.unsqueeze(weight, -1))
            total[i] = part if total[i] is None else total[i] + part
        reached = _core.matmul(reached, children)
    patch = _core.stack(total, -1)
    with owner.scope():
        weight = owner.weight(param_attr, (features, 3, output_size, num_filters), dtype)
        y = _core.einsum("bnfk,fkos->bnos", [patch, weight])
        if bias_attr is not False:
            sizes = (known(count, "the number of nodes"), output_size, num_filters)
            y = y + owner.bias(bias_attr, sizes, dtype)
        return activation(y, act)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


_PRIMES = [
    _signed(prime)
    for prime in (
        11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579, 2870177450012600261,
    )
]  # fmt: skip


def _shifted(x: Any, by: int) -> Any:
    """Bits moved down, with zeros above."""
    return _core.bitwise_and(_core.right_shift(x, by), (1 << (64 - by)) - 1)


def _turned(x: Any, by: int) -> Any:
    """Bits moved up, those that leave come in below."""
    return _core.bitwise_or(_core.left_shift(x, by), _shifted(x, 64 - by))


def _round(state: Any, word: Any) -> Any:
    return _turned(state + word * _PRIMES[1], 31) * _PRIMES[0]


def hash(input: Tensor, hash_size: int, num_hash: int = 1, name: str | None = None) -> Tensor:
    """Numbers below `hash_size` of rows of integers: the remainder of their hash XXH64, whose seeds are 0, 1, and so on.

    Args:
        input: The rows, `[..., integers]`.
        hash_size: How many numbers there are.
        num_hash: How many hashes are made of each row.
        name: For Fluid's programs.

    Returns:
        `[..., num_hash, 1]`.
    """
    whole = input.dtype.name
    if whole not in ("int32", "int64"):
        raise fault(TypeError, f"rows of {whole}", "give int64 or int32")
    width = known(input.shape[-1], "the size of a row")
    parts = [_core.cast(input[..., i], "int64") for i in range(width)]
    if whole == "int32":
        low = [_core.bitwise_and(part, 0xFFFFFFFF) for part in parts]
        words = [_core.bitwise_or(low[i], _core.left_shift(parts[i + 1], 32)) for i in range(0, width - 1, 2)]
        rest = low[-1:] if width % 2 else []
    else:
        words, rest = parts, []
    length = width * (4 if whole == "int32" else 8)
    found = [_hashed(words, rest, length, seed, hash_size) for seed in range(num_hash)]
    return _core.unsqueeze(_core.stack(found, -1), -1)


def _hashed(words: list[Any], rest: list[Any], length: int, seed: int, size: int) -> Any:
    p1, p2, p3, p4, p5 = _PRIMES
    zero = (words or rest)[0] * 0
    at = 0
    if length >= 32:
        states = [zero + _signed((start + seed) % (1 << 64)) for start in (p1 + p2, p2, 0, -p1)]
        while at + 4 <= len(words):
            states = [_round(state, words[at + i]) for i, state in enumerate(states)]
            at += 4
        h = zero
        for state, by in zip(states, (1, 7, 12, 18)):
            h = h + _turned(state, by)
        for state in states:
            h = _core.bitwise_xor(h, _round(zero, state)) * p1 + p4
    else:
        h = zero + _signed((seed + p5) % (1 << 64))
    h = h + length
    for word in words[at:]:
        h = _turned(_core.bitwise_xor(h, _round(zero, word)), 27) * p1 + p4
    for half in rest:
        h = _turned(_core.bitwise_xor(h, half * p1), 23) * p2 + p3
    for by, prime in ((33, p2), (29, p3), (32, None)):
        h = _core.bitwise_xor(h, _shifted(h, by))
        h = h if prime is None else h * prime
    half_of_it = _core.remainder(_shifted(h, 1), size)
    return _core.remainder(half_of_it * 2 + _core.bitwise_and(h, 1), size)
