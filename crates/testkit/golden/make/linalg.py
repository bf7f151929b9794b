"""Linear algebra: products by indices, decompositions, equations."""

import numpy as np
import torch

from golden import Golden, numbers

g = Golden("linalg")

EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ji,jk->ik", (3, 2), (3, 4)),
    ("ij,jk->ki", (2, 3), (3, 4)),
    ("i,i->", (4,), (4,)),
    ("i,j->ij", (2,), (3,)),
    ("i,i->i", (4,), (4,)),
    ("ij->ji", (2, 3)),
    ("ij->", (2, 3)),
    ("ij->j", (2, 3)),
    ("ba", (2, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iij->ij", (2, 2, 3)),
    ("iji->j", (2, 3, 2)),
    ("iii->i", (2, 2, 2)),
    ("iijj->ij", (2, 2, 3, 3)),
    ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
    ("bij,bkj->bik", (2, 2, 3), (2, 4, 3)),
    ("...ij,...jk->...ik", (2, 1, 2, 3), (3, 3, 2)),
    ("...ij,...jk", (2, 2, 3), (3, 2)),
    ("i...,i...->...", (2, 3), (2, 3)),
    ("...i->i...", (2, 3, 4)),
    ("...->", (2, 3)),
    ("bhqd,bhkd->bhqk", (2, 2, 2, 3), (2, 2, 3, 3)),
    ("ij,jk,kl->il", (2, 3), (3, 2), (2, 2)),
    ("ij,ij,ij->i", (2, 3), (2, 3), (2, 3)),
    ("i,ij,j->", (2,), (2, 3), (3,)),
    ("a,b,c->cab", (2,), (2,), (3,)),
    ("ij,j->i", (2, 1), (3,)),
    ("ij,kj->ik", (2, 3), (2, 1)),
    ("ijk,ikl->ijl", (1, 2, 3), (2, 3, 2)),
    ("ij,k->i", (2, 3), (2,)),
    (",i->i", (), (3,)),
    ("ij, jk -> ik", (2, 3), (3, 2)),
    ("Ab,bA->A", (2, 3), (3, 2)),
    ("ii,i->i", (3, 3), (3,)),
    ("i,ik->k", (0,), (0, 2)),
]
for equation, *shapes in EINSUMS:
    operands = [numbers(*shape, seed=i) for i, shape in enumerate(shapes)]
    g.case("einsum", lambda *x, e=equation: torch.einsum(e, *x), operands, equation=equation)

for a, b in [((2,), (3,)), ((1,), (2,)), ((0,), (2,)), ((4,), (4,)), ((3,), (1,))]:
    g.case("outer", torch.outer, [numbers(*a), numbers(*b, seed=1)])
for n in (1, 2, 3, 5, 7, 0):
    g.case("dot", torch.dot, [numbers(n), numbers(n, seed=1)])
for a, b, axis in [((2, 3), (2, 3), -1), ((2, 3), (3,), -1), ((2, 3), (2, 3), 0), ((2, 1, 3), (4, 3), -1), ((3,), (3,), 0)]:
    g.case("vecdot", lambda a, b, d=axis: torch.linalg.vecdot(a, b, dim=d), [numbers(*a), numbers(*b, seed=1)], axis=axis)
for a, b, a_axes, b_axes in [
    ((2, 3), (3, 4), [1], [0]),
    ((2, 3, 4), (4, 3), [1, 2], [1, 0]),
    ((2, 3), (2, 3), [0, 1], [0, 1]),
    ((2,), (3,), [], []),
    ((2, 3, 2), (3, 2, 2), [-2, 0], [0, -1]),
    ((2, 0), (0, 3), [1], [0]),
]:
    g.case("tensordot", lambda a, b, d=(a_axes, b_axes): torch.tensordot(a, b, dims=d), [numbers(*a), numbers(*b, seed=1)], a_axes=a_axes, b_axes=b_axes)
for shape in [(2, 2), (3, 3), (2, 3, 3), (1, 1), (2, 1, 2, 2), (0, 0)]:
    g.case("trace", lambda x: x.diagonal(dim1=-2, dim2=-1).sum(-1), [numbers(*shape)])
for a, b in [((2, 2), (2, 3)), ((3,), (2,)), ((2,), (2, 2)), ((2, 1, 2), (1, 3)), ((), (2, 2))]:
    g.case("kron", torch.kron, [numbers(*a), numbers(*b, seed=1)])


def matrices(*shape, seed=0):
    """Well conditioned square matrices: random ones with a large diagonal, here and there negative."""
    n = shape[-1]
    signs = torch.tensor([1.0 if i % 3 else -1.0 for i in range(n)])
    return numbers(*shape, seed=seed, low=-1, high=1) + torch.diag(2.0 * n * signs)


def root(*shape, seed=0):
    """Matrices whose products with their transposes are well conditioned."""
    return numbers(*shape, seed=seed, low=-0.5, high=0.5) + 1.5 * torch.eye(shape[-1])


def positive(x):
    return x @ x.mT


SQUARES = [(1, 1), (2, 2), (3, 3), (5, 5), (2, 3, 3), (2, 2, 2, 2), (0, 3, 3)]
for shape in SQUARES:
    for upper in (False, True):
        g.case("cholesky", lambda x, u=upper: torch.linalg.cholesky(positive(x), upper=u), [root(*shape)], upper=upper)
    g.case("inverse", torch.linalg.inv, [matrices(*shape)])
    g.case("det", torch.linalg.det, [matrices(*shape) / 4])
    g.case("slogdet", lambda x: tuple(torch.linalg.slogdet(x)), [matrices(*shape)])

for a, b in [((1, 1), (1, 1)), ((2, 2), (2, 3)), ((3, 3), (3,)), ((4, 4), (4, 1)), ((2, 3, 3), (2, 3, 2)), ((3, 3), (2, 3, 1)), ((2, 1, 2, 2), (3, 2, 1)), ((2, 2), (2, 0))]:
    g.case("solve", lambda a, b: torch.linalg.solve(a, b), [matrices(*a), numbers(*b, seed=1)])
for a, b in [((2, 2), (2, 2)), ((3, 3), (3, 1)), ((2, 3, 3), (3, 2)), ((4, 4), (2, 4, 1))]:
    for upper in (False, True):
        for transpose in (False, True):
            for unit in (False, True):

                def triangular(a, b, upper=upper, transpose=transpose, unit=unit):
                    a = torch.triu(a) if upper else torch.tril(a)
                    a, upper = (a.mT, not upper) if transpose else (a, upper)
                    return torch.linalg.solve_triangular(a, b, upper=upper, unitriangular=unit)

                g.case("triangular_solve", triangular, [matrices(*a) / 2, numbers(*b, seed=1)], upper=upper, transpose=transpose, unit=unit)


def signed_qr(x):
    q, r = torch.linalg.qr(x)
    signs = torch.where(r.diagonal(dim1=-2, dim2=-1) < 0, -1.0, 1.0)
    return q * signs[..., None, :], r * signs[..., :, None]


def signs(vectors):
    """The signs of the first components that are nearly the greatest, column by column."""
    size = vectors.abs()
    large = size >= 0.9 * size.amax(-2, keepdim=True)
    first = large.to(torch.int64).argmax(-2, keepdim=True)
    return torch.gather(vectors, -2, first).sign().detach()


def signed_svd(x):
    u, s, vh = torch.linalg.svd(x, full_matrices=False)
    turn = signs(u)
    return u * turn, s, vh * turn.mT


def signed_eigh(x):
    w, v = torch.linalg.eigh((x + x.mT) / 2)
    return w, v * signs(v)


TALL = [(1, 1), (2, 2), (3, 3), (3, 2), (5, 3), (4, 1), (2, 3, 2)]
for shape in TALL + [(2, 3), (1, 4), (2, 2, 3)]:
    x = numbers(*shape, seed=3)
    g.case("qr", signed_qr, [x])
    g.case("svd", signed_svd, [x])
    g.case("svd_values", lambda x: torch.linalg.svdvals(x), [x])
for shape in [(1, 1), (2, 2), (3, 3), (5, 5), (2, 3, 3), (2, 1, 2, 2)]:
    x = numbers(*shape, seed=3)
    g.case("eigh", signed_eigh, [x])

for a, b in [((2, 2), (2, 1)), ((4, 2), (4,)), ((5, 3), (5, 2)), ((2, 4), (2, 1)), ((2, 4, 2), (2, 4, 1)), ((3, 5), (3, 2))]:
    def least_squares(a, b):
        if b.ndim == 1:
            return torch.linalg.lstsq(a, b[:, None], driver="gelsy").solution[:, 0]
        return torch.linalg.lstsq(a, b, driver="gelsy").solution

    def by_pinv(a, b):
        return torch.linalg.pinv(a) @ b

    x, y = numbers(*a, seed=5), numbers(*b, seed=1)
    assert torch.allclose(least_squares(x, y), by_pinv(x, y))
    g.case("lstsq", by_pinv, [x, y])
for shape in [(2, 2), (4, 2), (2, 3), (2, 3, 2), (1, 3)]:
    g.case("pinv", torch.linalg.pinv, [numbers(*shape, seed=5)])
rank_one = torch.outer(numbers(3), numbers(2, seed=1))
g.case("pinv", lambda x: torch.from_numpy(np.linalg.pinv(x.numpy())), [rank_one], grad=False)
ORDERS = ["fro", "nuc", "inf", "-inf", "1", "-1", "2", "-2"]
for order in ORDERS:
    p = order if order in ("fro", "nuc") else float(order)
    for shape in [(3, 3), (2, 3, 2)]:
        g.case("matrix_norm", lambda x, p=p: torch.linalg.matrix_norm(x, p), [numbers(*shape, seed=5)], order=order)

g.write()
