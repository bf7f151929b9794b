"""What programs of PyTorch's tutorials write beside expressions: devices, classes of tensors, own gradients, packed sequences."""

import numpy as np
import pytest

import fluvial as fl
import fluvial.torch as torch
import fluvial.torch.nn.utils.parametrize as parametrize
from fluvial.torch import nn
from fluvial.torch.distributions import Normal
from fluvial.torch.nn.utils import rnn

BOTH = pytest.mark.parametrize("wrap", [lambda f: f, torch.compile], ids=["lines", "program"])


def test_scripts_find_out_that_there_is_one_device():
    device = torch.device("cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")
    model = nn.Linear(2, 1).to(device)
    assert model.weight.device == device and model.to(torch.float64).weight.dtype == torch.float64
    assert torch.ones(2, device=device).is_cuda is False and torch.cuda.device_count() == 0
    with pytest.raises(ValueError, match="there is no device"):
        model.to("cuda:0")
    with pytest.raises(AttributeError, match="one device, the CPU"):
        torch.cuda.Stream


def test_older_classes_make_tensors():
    assert torch.FloatTensor(2, 3).shape == (2, 3) and torch.FloatTensor([1, 2]).dtype == torch.float32
    assert torch.LongTensor([1, 2]).tolist() == [1, 2] and isinstance(torch.ones(1).long(), torch.LongTensor)
    assert torch.ones(1).type() == "torch.FloatTensor" and not isinstance(torch.ones(1), torch.LongTensor)
    with pytest.raises(TypeError, match="neither a size nor a list"):
        torch.FloatTensor(2.5)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        y = factor * x**3
        ctx.save_for_backward(x, y)
        ctx.factor = factor
        return y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * 3 * y / x, None


class Pair(torch.autograd.Function):
    @staticmethod
    def forward(a, b):
        return a * b, a + b

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, first, second):
        a, b = ctx.saved_tensors
        return first * b + second, first * a + second


@BOTH
def test_a_gradient_of_the_users_own(wrap):
    @wrap
    def gradient(x):
        x = x.detach().requires_grad_()
        (found,) = torch.autograd.grad(Cube.apply(x, 2.0).sum(), x)
        return found

    assert np.allclose(gradient(torch.tensor([1.0, 2.0])).numpy(), [6.0, 24.0])


@BOTH
def test_a_gradient_of_several_results(wrap):
    @wrap
    def gradients(a, b):
        a, b = a.detach().requires_grad_(), b.detach().requires_grad_()
        product, total = Pair.apply(a, b)
        return torch.autograd.grad((2 * product + 3 * total).sum(), [a, b])

    a, b = gradients(torch.tensor([1.0, 2.0]), torch.tensor([5.0, 7.0]))
    assert a.tolist() == [13.0, 17.0] and b.tolist() == [5.0, 7.0]


def test_own_gradients_have_gradients_and_are_checked():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(Cube.apply(x, 2.0).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert np.allclose(second.numpy(), [12.0, 24.0])
    assert torch.autograd.gradcheck(lambda x: Cube.apply(x, 2.0), (x,))

    class Wrong(Cube):
        @staticmethod
        def backward(ctx, grad):
            return grad, None

    with pytest.raises(RuntimeError, match="differences say"):
        torch.autograd.gradcheck(lambda x: Wrong.apply(x, 2.0), (x,))

    class Short(Cube):
        @staticmethod
        def backward(ctx, grad):
            return grad

    with pytest.raises(RuntimeError, match="returned 1 gradients for 2 arguments"):
        Short.apply(x, 2.0).sum().backward()


@BOTH
def test_out_is_given_the_result(wrap):
    @wrap
    def product(x):
        y = torch.zeros(2, 2)
        torch.matmul(x, x, out=y)
        return y + 1

    assert product(torch.ones(2, 2)).tolist() == [[3.0, 3.0], [3.0, 3.0]]
    with pytest.raises(ValueError, match="does not fit"):
        torch.mul(torch.ones(2), torch.ones(2), out=torch.ones(3))
    with pytest.raises(TypeError, match="does not fit `out`"):
        fl.add(torch.ones(2), torch.ones(2), out=torch.zeros(2, dtype=torch.int64))


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("is_bidirectional", [False, True])
def test_packed_sequences_are_run_each_as_if_alone(kind, is_bidirectional):
    layer = getattr(nn, kind)(3, 4, num_layers=2, batch_first=True, bidirectional=is_bidirectional)
    items = [torch.randn(n, 3) for n in (2, 5, 3)]
    packed, state = layer(rnn.pack_sequence(items, enforce_sorted=False))
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True)
    assert lengths.tolist() == [2, 5, 3]
    hidden = state[0] if kind == "LSTM" else state
    for i, item in enumerate(items):
        alone, last = layer(item.unsqueeze(0))
        assert torch.allclose(padded[i, : len(item)], alone[0], atol=1e-6) and (padded[i, len(item) :] == 0).all()
        assert torch.allclose(hidden[:, i], (last[0] if kind == "LSTM" else last)[:, 0], atol=1e-6)
    with pytest.raises(RuntimeError, match="do not fall"):
        rnn.pack_padded_sequence(padded, [2, 5, 3], batch_first=True)


def test_hooks_get_options_and_come_first():
    class Scaled(nn.Module):
        def forward(self, x, by=1.0):
            return x * by

    layer, seen = Scaled(), []
    layer.register_forward_hook(lambda layer, args, options, y: seen.append(options["by"]), with_kwargs=True)
    layer.register_forward_hook(lambda layer, args, y: seen.append("first"), prepend=True)
    layer.register_forward_pre_hook(lambda layer, args, options: (args, {"by": options["by"] * 2}), with_kwargs=True)
    assert layer(torch.ones(1), by=3.0).tolist() == [6.0] and seen == ["first", 6.0]


def test_a_compiled_layer_is_the_layer():
    layer = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
    compiled = torch.compile(layer)
    compiled.eval()
    assert not layer.training and not layer[1].training
    x = torch.randn(2, 3)
    assert torch.equal(compiled(x), layer(x)) and len(list(compiled.parameters())) == 2
    assert torch.compile(disable=True)(layer) is layer


def test_pulling_back_inside_of_vmap():
    x = torch.tensor([1.0, 2.0])
    _, pull = torch.func.vjp(lambda x: x**3, x)
    (found,) = torch.func.vmap(pull)(torch.eye(2))
    assert found.tolist() == [[3.0, 0.0], [0.0, 12.0]]


def test_states_that_do_not_fit_are_runtime_errors():
    with pytest.raises(RuntimeError):
        nn.Linear(2, 2).load_state_dict({})


def test_modules_are_those_of_the_package():
    assert parametrize is fl.nn.utils.parametrize and rnn is fl.nn.utils.rnn and Normal is fl.distributions.Normal
    assert abs(Normal(1.0, 2.0).icdf(torch.tensor(0.975)).item() - 4.9199) < 1e-3
