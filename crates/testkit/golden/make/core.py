"""The functions that the core brings along."""

import torch

from golden import Golden, numbers

g = Golden("core")
for a, b in [((2, 3), (3, 4)), ((3,), (3,)), ((2, 1, 2, 3), (3, 3, 1)), ((2, 3), (3,)), ((3,), (2, 3, 2))]:
    g.case("matmul", torch.matmul, [numbers(*a), numbers(*b)])
for a, b in [((2, 3), (3,)), ((), (2,)), ((4, 1), (1, 3))]:
    g.case("add", torch.add, [numbers(*a), numbers(*b)])
    g.case("div", torch.div, [numbers(*a), numbers(*b, low=0.5)])
g.write()
