"""Trees and hashes of `fluid.layers`."""

import numpy as np
import pytest
from layer_checks import check, numbers

import fluvial as fl
from fluvial.fluid.layers import nn

MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = (
    11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579, 2870177450012600261,
)  # fmt: skip


def turned(x, by):
    return ((x << by) | (x >> (64 - by))) & MASK


def mixed(state, word):
    return turned((state + word * P2) & MASK, 31) * P1 & MASK


def xxh64(data, seed):
    """The hash of bytes, number by number."""
    at, length = 0, len(data)
    if length >= 32:
        states = [(seed + P1 + P2) & MASK, (seed + P2) & MASK, seed, (seed - P1) & MASK]
        while at + 32 <= length:
            for i in range(4):
                states[i] = mixed(states[i], int.from_bytes(data[at : at + 8], "little"))
                at += 8
        h = sum(turned(state, by) for state, by in zip(states, (1, 7, 12, 18))) & MASK
        for state in states:
            h = ((h ^ mixed(0, state)) * P1 + P4) & MASK
    else:
        h = (seed + P5) & MASK
    h = (h + length) & MASK
    while at + 8 <= length:
        h = (turned(h ^ mixed(0, int.from_bytes(data[at : at + 8], "little")), 27) * P1 + P4) & MASK
        at += 8
    if at + 4 <= length:
        h = (turned(h ^ (int.from_bytes(data[at : at + 4], "little") * P1 & MASK), 23) * P2 + P3) & MASK
    h = (h ^ (h >> 33)) * P2 & MASK
    h = (h ^ (h >> 29)) * P3 & MASK
    return h ^ (h >> 32)


def test_the_formula_has_the_known_sum_of_nothing():
    assert xxh64(b"", 0) == 0xEF46DB3751D8E999


@pytest.mark.parametrize("width, dtype", [(1, np.int64), (3, np.int64), (6, np.int64), (1, np.int32), (5, np.int32), (9, np.int32)])
def test_hashes(width, dtype):
    rows = np.random.default_rng(0).integers(-(2**30), 2**30, (4, width)).astype(dtype)
    wanted = [[[xxh64(row.tobytes(), seed) % 1000003] for seed in range(3)] for row in rows]
    check(nn.hash, [rows], np.array(wanted), {"hash_size": 1000003, "num_hash": 3}, gradient=False)


def test_hashes_of_other_types_are_refused():
    with pytest.raises(TypeError, match="rows of float32"):
        nn.hash(fl.tensor([[1.0]]), 10)


def patches(features, edges, depth):
    """For each node the weighted sums over the nodes below it, node by node."""
    children = {}
    for a, b in edges:
        if a == 0 or b == 0:
            break
        children.setdefault(int(a), []).append(int(b))
    count = sum(len(below) for below in children.values()) + 1
    found = np.zeros((len(features), features.shape[1], 3))
    for root in range(1, count + 1):
        stack = [(root, 1, 1, 0)]
        while stack:
            node, index, size, level = stack.pop()
            top = (depth - level) / depth
            left = (1 - top) * (0.5 if size == 1 else (index - 1) / (size - 1))
            for i, weight in enumerate((left, (1 - top) * (1 - left), top)):
                found[root - 1, :, i] += weight * features[node - 1]
            if level + 1 < depth:
                below = children.get(node, [])
                stack += [(child, i + 1, len(below), level + 1) for i, child in enumerate(below)]
    return found


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_convolutions_over_trees(depth):
    nodes = numbers(2, 6, 3)
    edges = np.array([[[1, 2], [1, 3], [3, 4], [3, 5], [3, 6]], [[1, 2], [2, 3], [0, 0], [0, 0], [0, 0]]], np.int32)
    weight = numbers(3, 3, 2, 4, seed=1)
    wanted = np.stack([np.einsum("nfk,fkos->nos", patches(x, e, depth), weight) for x, e in zip(nodes, edges)])
    options = {
        "output_size": 2, "num_filters": 4, "max_depth": depth, "act": None, "bias_attr": False,
        "param_attr": fl.initializer.NumpyArrayInitializer(weight),
    }  # fmt: skip
    check(nn.tree_conv, [nodes, edges], wanted, options, rtol=1e-4, atol=1e-5, gradient=depth == 2)
