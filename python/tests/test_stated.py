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


class TestLayersWithin:
    """Attention and blocks of transformers: layers that are made of layers."""

    def test_arguments_are_pytorchs(self):
        layer = nn.MultiheadAttention(embed_dim=8, num_heads=2, kdim=4, vdim=6, batch_first=True)
        assert (layer.embed_dim, layer.heads, layer.kdim, layer.value_width) == (8, 2, 4, 6)
        assert layer.in_proj_weight is None and layer.k_proj_weight.shape == (8, 4)
        assert nn.MultiheadAttention(8, 2, 0.0, False).out_proj.bias is None
        block = nn.TransformerEncoderLayer(8, 2, 16, 0.5, "gelu", 1e-3, True, True, False)
        assert block.batch_first and block.norm_first and block.linear1.bias is None
        assert block.norm2.eps == block.layer_norm_eps == 1e-3 and block.self_attn.dropout == 0.5
        same = nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
        assert same.inner == 16 and same.norm3.bias is not None and same.dropout == 0.1

    @pytest.mark.parametrize(
        ("make", "what"),
        [
            (lambda: nn.MultiheadAttention(8, 2, 0.0, True, True), "adds no rows"),
            (lambda: nn.MultiheadAttention(5, 2), "2 heads do not divide 5"),
            (lambda: nn.TransformerEncoderLayer(5, 2), "2 heads do not divide 5"),
            (lambda: nn.TransformerEncoderLayer(8, 2, activation="sine"), "the name of one"),
        ],
    )
    def test_what_does_not_fit_is_told(self, make, what):
        with pytest.raises(ValueError, match=what) as error:
            make()
        assert __file__ in str(error.value)

    def test_pytorchs_attention_gives_a_pair(self):
        fl.seed(1)
        plain, theirs = nn.MultiHeadAttention(4, 2), nn.MultiheadAttention(4, 2)
        theirs.load_state_dict(plain.state_dict())
        x = fl.normal("f32[3, 2, 4]")
        padding = fl.tensor([[False, False, True], [False, True, False]])
        y, weights = theirs(x, x, x, padding)
        assert weights.shape == (2, 3, 3) and weights.numpy()[0, 0, 2] == 0.0
        np.testing.assert_allclose(y.numpy(), plain(x, key_mask=padding).numpy(), atol=1e-6)
        assert theirs(query=x, key=x, value=x, need_weights=False)[1] is None

    def test_inputs_have_the_names_of_both(self):
        block, x = nn.TransformerEncoderLayer(4, 2, 6, 0.0), fl.normal("f32[3, 2, 4]")
        mask = fl.tensor(np.triu(np.ones((3, 3), bool), 1))
        ours = block(x, attention_mask=mask).numpy()
        np.testing.assert_array_equal(block(x, src_mask=mask).numpy(), ours)
        np.testing.assert_array_equal(block(src=x, src_mask=mask).numpy(), ours)
        np.testing.assert_allclose(block(x, is_causal=True).numpy(), ours, atol=1e-6)
        decoder = nn.TransformerDecoderLayer(4, 2, 6, 0.0)
        by_place = decoder(x, x, mask, mask).numpy()
        np.testing.assert_array_equal(decoder(x, x, tgt_mask=mask, memory_mask=mask).numpy(), by_place)
        with pytest.raises(TypeError, match="no input `maskk`"):
            block(x, maskk=mask)

    def test_parts_may_be_replaced(self):
        block, x = nn.TransformerEncoderLayer(4, 2, 6, 0.0), fl.normal("f32[3, 2, 4]")
        calls = []
        block.linear1.register_forward_hook(lambda *_: calls.append(1))
        block(x)
        assert calls == [1]

        class Mixed(nn.Layer):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter((4, 4), init=fl.initializer.Ones())

            def forward(self, x, keys, values, **masks):
                assert not masks["causal"]
                return fl.matmul(x, self.weight)

        block.self_attn, block.norm1 = Mixed(), nn.Identity()
        assert "self_attn.weight" in block.state_dict() and "norm1.weight" not in block.state_dict()
        built = fl.function(block)
        np.testing.assert_array_equal(built(x).numpy(), block(x).numpy())
        block.self_attn = None
        with pytest.raises(fl.StateError, match="no `self_attn` any more"):
            block(x)

    def test_options_reach_the_layers_within_and_functions(self):
        block, x = nn.TransformerEncoderLayer(4, 2, 6, 0.5), fl.normal("f32[3, 2, 4]")
        built = fl.function(block)
        block.dropout = 0.0
        assert block.self_attn.dropout == 0.0
        np.testing.assert_array_equal(built(x).numpy(), block(x).numpy())
        block.activation = fl.tanh
        np.testing.assert_array_equal(built(x).numpy(), block(x).numpy())
        block.norm_first = True
        np.testing.assert_array_equal(built(x).numpy(), block(x).numpy())
        with pytest.raises(ValueError, match="make another"):
            block.bias = False

    def test_functions_are_names_functions_or_layers(self):
        x, values = fl.normal("f32[3, 2, 4]"), []
        made = nn.TransformerEncoderLayer(4, 2, 6, 0.0)
        for function in ("gelu", fl.gelu, nn.GELU(), lambda x: fl.gelu(x)):
            layer = nn.TransformerEncoderLayer(4, 2, 6, 0.0, activation=function)
            layer.load_state_dict(made.state_dict())
            values.append(layer(x).numpy())
        for value in values[1:]:
            np.testing.assert_array_equal(value, values[0])
        assert not np.array_equal(values[0], made(x).numpy())

    def test_attributes_reach_the_layers_within(self):
        ones = fl.initializer.Constant(0.1)
        layer = nn.MultiHeadAttention(4, 2, weight_attr=ones, bias_attr=fl.ParamAttr(trainable=False))
        assert set(layer.out_proj.weight.numpy().ravel()) == {np.float32(0.1)}
        assert not layer.out_proj.bias.requires_grad and not layer.in_proj_bias.requires_grad
        assert not layer.out_proj.bias.numpy().any()
        wide = nn.TransformerEncoderLayer(4, 2, 6, dtype="float64")
        assert {str(p.dtype) for p in wide.parameters()} == {"float64"}

    def test_copies_and_pickles_compute_the_same(self):
        block, x = nn.TransformerDecoderLayer(4, 2, 6, 0.0, "silu"), fl.normal("f32[3, 2, 4]")
        y = block(x, x).numpy()
        for other in (copy.deepcopy(block), pickle.loads(pickle.dumps(block))):
            np.testing.assert_array_equal(other(x, x).numpy(), y)
            assert other.linear1.weight is not block.linear1.weight

    def test_stacks_take_a_block_and_a_number(self):
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, 0.0), 2, nn.LayerNorm(4))
        keys = list(encoder.state_dict())
        assert keys[0] == "layers.0.self_attn.in_proj_weight" and keys[-1] == "norm.bias"
        x, mask = fl.normal("f32[3, 2, 4]"), fl.tensor(np.triu(np.ones((3, 3), bool), 1))
        np.testing.assert_array_equal(encoder(x, mask=mask).numpy(), encoder(x, mask).numpy())
        own = nn.TransformerDecoder(lambda: nn.TransformerDecoderLayer(4, 2, 6, 0.0), num_layers=3)
        assert own(x, x, tgt_mask=mask).shape == (3, 2, 4) and len(own.layers) == 3
        with pytest.raises(TypeError, match="takes a block first"):
            nn.TransformerEncoder(2, lambda: nn.TransformerEncoderLayer(4, 2, 6))

    def test_a_layer_by_itself_becomes_a_function(self):
        layer, x = nn.Linear(3, 2), fl.full((4, 3), 0.5)
        np.testing.assert_array_equal(fl.function(layer)(x).numpy(), layer(x).numpy())
