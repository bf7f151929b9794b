"""Layers that are stated in Rust: their arguments, their options, and their parts."""

import copy
import inspect
import pickle

import numpy as np
import pytest

import fluvial as fl
from fluvial import nn


@pytest.fixture(autouse=True)
def own_state():
    with fl.State() as state:
        fl.seed(3)
        yield state


class TestArguments:
    def test_positions_are_pytorchs(self):
        conv = nn.Conv2d(3, 8, 3, 1, 1, 1, 1, False)
        assert conv.bias is None and conv.padding == 1 and conv.groups == 1
        up = nn.ConvTranspose2d(4, 2, 2, 2, 0, 0, 2, False)
        assert up.groups == 2 and up.bias is None and up.weight.shape == (4, 1, 2, 2)
        rnn = nn.RNN(2, 3, 2, "relu", False)
        assert rnn.nonlinearity == "relu" and len(rnn.parameters()) == 4
        assert nn.InstanceNorm2d(4, 1e-3, 0.1, True).weight.shape == (4,)
        assert nn.TripletMarginLoss(0.5, 1.0).margin == 0.5
        assert nn.MultiheadAttention(8, 2, 0.5).dropout == 0.5

    def test_names_of_pytorch_are_taken_and_read(self):
        layer = nn.Linear(in_features=4, out_features=2)
        assert layer.in_features == layer.inputs == 4 and layer.out_features == 2
        conv = nn.Conv2d(1, 2, kernel_size=(3, 5), stride=2)
        assert conv.kernel_size == conv.kernel == (3, 5) and conv.stride == 2
        assert nn.LayerNorm(normalized_shape=[2, 3]).shape == (2, 3)

    @pytest.mark.parametrize(
        ("make", "what"),
        [
            (lambda: nn.Linear(2, 3, biass=True), "no option `biass`"),
            (lambda: nn.Linear(2, 3, inputs=2), "two values for `inputs`"),
            (lambda: nn.Linear(2, 3, in_features=2), "two values for `inputs`"),
            (lambda: nn.Linear(2), "needs a value for `outputs`"),
            (lambda: nn.ReLU(True, 1, 2), "takes 1 options, found 3"),
        ],
    )
    def test_wrong_ones_are_told_with_the_signature(self, make, what):
        with pytest.raises(TypeError, match=what) as error:
            make()
        assert "its options are" in str(error.value) and __file__ in str(error.value)

    def test_values_are_checked(self):
        with pytest.raises(ValueError, match='`outputs` is "two", but should be an integer'):
            nn.Linear(2, "two")
        with pytest.raises(ValueError, match="none of: tanh, relu|should be one of: tanh relu"):
            nn.RNN(2, 3, nonlinearity="sine")
        with pytest.raises(ValueError, match="running statistics"):
            nn.InstanceNorm(2, track_running_stats=True)

    def test_signatures_are_shown(self):
        assert str(inspect.signature(nn.Dropout)) == "(p=0.5, name=None)"

        class Mine(nn.Linear):
            def __init__(self, width):
                super().__init__(width, width)

        assert str(inspect.signature(Mine)) == "(width)"
        assert Mine(3)(fl.full((1, 3), 1.0)).shape == (1, 3)


class TestOptions:
    def test_an_option_that_is_assigned_reaches_programs(self):
        layer = nn.LeakyReLU(0.5)
        f = fl.function(lambda x: layer(x))
        x = fl.tensor([-2.0])
        assert f(x).tolist() == layer(x).tolist() == [-1.0]
        layer.slope = 0.25
        assert layer.negative_slope == 0.25
        assert f(x).tolist() == layer(x).tolist() == [-0.5]

    def test_one_that_decides_parameters_stays(self):
        layer = nn.Linear(2, 3)
        with pytest.raises(ValueError, match="decides what the parameters are like"):
            layer.outputs = 4
        assert layer.outputs == 3

    def test_copies_and_pickles_have_their_own(self):
        layer = nn.Dropout(0.5)
        copied, pickled = copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))
        layer.p = 0.25
        assert copied.p == pickled.p == 0.5 and repr(layer) == "Dropout(p=0.25)"

    def test_a_lazy_layer_may_be_copied_before_its_first_call(self):
        copied = copy.deepcopy(nn.LazyLinear(4))
        copied(fl.full((2, 16), 0.5))
        assert copied.weight.shape == (4, 16) and copied.in_features == 16
        assert np.abs(copied.bias.numpy()).max() > 0


class TestParts:
    def test_replaced_removed_and_plain_ones_take_part(self):
        layer = nn.Linear(2, 1)
        x = fl.tensor([[1.0, 2.0]])
        layer.weight = nn.Parameter(fl.tensor([[3.0, 4.0]]))
        layer.bias = None
        assert layer(x).item() == 11.0
        layer.bias = fl.tensor([0.5])
        assert layer(x).item() == 11.5
        without = nn.Linear(2, 1, bias=False)
        without.weight = fl.tensor([[1.0, 1.0]])
        without.bias = nn.Parameter(fl.tensor([10.0]))
        assert without(x).item() == 13.0
        del layer.weight
        with pytest.raises(fl.StateError, match="has no `weight` any more"):
            layer(x)

    def test_inputs_are_checked(self):
        with pytest.raises(TypeError, match="no input `y`"):
            nn.Linear(2, 1)(fl.ones((1, 2)), y=1)
        with pytest.raises(TypeError, match="needs the input `target`"):
            nn.MSELoss()(fl.ones((1, 2)))
        assert nn.MSELoss()(fl.ones((2,)), fl.zeros((2,))).item() == 1.0


def test_initialisers_are_those_of_rust():
    for init in [fl.initializer.Normal(), fl.initializer.Dirac(2), fl.initializer.Assign([1.0])]:
        again = pickle.loads(pickle.dumps(init))
        assert repr(again) == repr(init) and again.is_random == init.is_random

    class Halves(fl.initializer.Initializer):
        def __call__(self, shape, dtype):
            return fl.full(shape, 0.5, dtype)

    class Twice(fl.initializer.Constant):
        def __call__(self, shape, dtype):
            return super().__call__(shape, dtype) * 2.0

    assert nn.Linear(2, 1, weight_attr=Halves()).weight.tolist() == [[0.5, 0.5]]
    assert nn.Linear(2, 1, weight_attr=Twice(3.0)).weight.tolist() == [[6.0, 6.0]]
    with pytest.raises(ValueError, match="`no` is none of"):
        fl.initializer.Scaled(fan="no")
