"""Parts of `fluvial.torch` that other modules make: data, transforms, mixed precision, distributions."""

import numpy as np
import pytest

import fluvial as fl
import fluvial.torch as torch
from fluvial.torch.utils.data import DataLoader, TensorDataset, random_split


def test_data():
    x, y = torch.arange(10.0), torch.arange(10)
    seed = torch.Generator().manual_seed(3)
    train, rest = random_split(TensorDataset(x, y), [8, 2], generator=seed)
    with fl.State():
        batches = list(DataLoader(train, batch_size=4, shuffle=True, generator=seed))
    assert [len(a) for a, _ in batches] == [4, 4] and len(rest) == 2
    assert torch.utils.data.DataLoader is fl.utils.data.DataLoader


def test_transforms():
    assert torch.func.grad(lambda x: x**3)(torch.tensor(2.0)).item() == 12.0
    gradient, value = torch.func.grad_and_value(lambda x: x * x)(torch.tensor(3.0))
    assert (gradient.item(), value.item()) == (6.0, 9.0)
    assert torch.vmap(lambda x: x.sum())(torch.ones(2, 3)).tolist() == [3.0, 3.0]
    x = torch.ones(2, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(lambda x: (x * x).sum(), x, use_reentrant=False)
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_mixed_precision_and_distributions():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16
    assert issubclass(torch.amp.GradScaler, fl.GradScaler)
    normal = torch.distributions.Normal(torch.tensor(0.0), torch.tensor(1.0))
    assert abs(normal.log_prob(torch.tensor(0.0)).item() + 0.5 * np.log(2 * np.pi)) < 1e-6


def test_integers():
    assert torch.tensor([1], dtype=torch.short).dtype == torch.int16 == fl.int16
    assert torch.tensor([2**40], dtype=torch.uint64).tolist() == [2**40]


def test_a_generator_is_a_stream_of_its_own():
    g = torch.Generator().manual_seed(3)
    torch.manual_seed(1)
    a, b = torch.rand(2), torch.rand(2)
    torch.manual_seed(1)
    again = torch.rand(2)
    first, second = torch.rand(2, generator=g), torch.rand(2, generator=g)
    assert torch.equal(again, a) and torch.equal(torch.rand(2), b) and not torch.equal(first, second)
    assert torch.equal(torch.rand(2, generator=g.manual_seed(3)), first)
    assert torch.equal(torch.nn.init.uniform_(torch.empty(2), generator=g), second)
    with pytest.raises(RuntimeError, match="leave `generator` out"):
        fl.function(lambda x: x + torch.rand(2, generator=g))(torch.ones(2))
