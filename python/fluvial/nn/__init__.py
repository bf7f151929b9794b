"""Layers: functions with parameters, which live in the state scope under the layers' names.

The keys of a `state_dict` and the layouts of weights are those of PyTorch's layers.
"""

from . import utils
from ._layer import Layer
from ._parameter import Buffer, Parameter
from ._containers import Function, LayerDict, LayerList, Sequential
from ._linear import Bilinear, LazyLinear, Linear
from ._conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ._pool import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    GlobalAvgPool,
    GlobalMaxPool,
    LpPool1d,
    LpPool2d,
    LpPool3d,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
)
from ._batch_norm import BatchNorm, BatchNorm1d, BatchNorm2d, BatchNorm3d
from ._norm import GroupNorm, InstanceNorm, LayerNorm, LocalResponseNorm, RMSNorm, SpectralNorm
from ._embedding import Embedding
from ._dropout import AlphaDropout, Dropout, Dropout1d, Dropout2d, Dropout3d, FeatureAlphaDropout
from ._rnn import GRU, LSTM, RNN
from ._cells import GRUCell, LSTMCell, RNNCell
from ._attention import MultiHeadAttention
from ._transformer import (
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from ._activation import (
    CELU,
    ELU,
    GELU,
    GLU,
    HardShrink,
    HardSigmoid,
    HardSwish,
    HardTanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    SELU,
    SiLU,
    Sigmoid,
    SoftShrink,
    Softmax,
    Softplus,
    Softsign,
    Tanh,
    TanhShrink,
)
from ._loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CTCLoss,
    CosineEmbeddingLoss,
    CrossEntropyLoss,
    GaussianNLLLoss,
    HingeEmbeddingLoss,
    HingeLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    MarginRankingLoss,
    MultiMarginLoss,
    NLLLoss,
    PoissonNLLLoss,
    SmoothL1Loss,
    SoftMarginLoss,
    TripletMarginLoss,
)
from ._shape import ChannelShuffle, Flatten, Identity, PixelShuffle, PixelUnshuffle

# The names of Rust and of Fluid.
Conv1D = Conv1d
Conv2D = Conv2d
Conv3D = Conv3d
Conv1DTranspose = ConvTranspose1d
Conv2DTranspose = ConvTranspose2d
Conv3DTranspose = ConvTranspose3d
BatchNorm1D = BatchNorm1d
BatchNorm2D = BatchNorm2d
BatchNorm3D = BatchNorm3d
InstanceNorm1d = InstanceNorm
InstanceNorm2d = InstanceNorm
InstanceNorm3d = InstanceNorm
Fc = Linear
RmsNorm = RMSNorm
Rnn = RNN
Lstm = LSTM
Gru = GRU
RnnCell = RNNCell
LstmCell = LSTMCell
GruCell = GRUCell
Relu = ReLU
Relu6 = ReLU6
Selu = SELU
Silu = SiLU
LeakyRelu = LeakyReLU
Elu = ELU
Celu = CELU
Gelu = GELU
Glu = GLU
PRelu = PReLU
MultiheadAttention = MultiHeadAttention

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AlphaDropout",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm",
    "BatchNorm1D",
    "BatchNorm1d",
    "BatchNorm2D",
    "BatchNorm2d",
    "BatchNorm3D",
    "BatchNorm3d",
    "Bilinear",
    "Buffer",
    "CELU",
    "CTCLoss",
    "Celu",
    "ChannelShuffle",
    "Conv1D",
    "Conv1DTranspose",
    "Conv1d",
    "Conv2D",
    "Conv2DTranspose",
    "Conv2d",
    "Conv3D",
    "Conv3DTranspose",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "ELU",
    "Elu",
    "Embedding",
    "Fc",
    "FeatureAlphaDropout",
    "Flatten",
    "Function",
    "GELU",
    "GLU",
    "GRU",
    "GRUCell",
    "GaussianNLLLoss",
    "Gelu",
    "GlobalAvgPool",
    "GlobalMaxPool",
    "Glu",
    "GroupNorm",
    "Gru",
    "GruCell",
    "HardShrink",
    "HardSigmoid",
    "HardSwish",
    "HardTanh",
    "HingeEmbeddingLoss",
    "HingeLoss",
    "HuberLoss",
    "Identity",
    "InstanceNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "KLDivLoss",
    "L1Loss",
    "LSTM",
    "LSTMCell",
    "Layer",
    "LayerDict",
    "LayerList",
    "LayerNorm",
    "LazyLinear",
    "LeakyReLU",
    "LeakyRelu",
    "Linear",
    "LocalResponseNorm",
    "LogSigmoid",
    "LogSoftmax",
    "LpPool1d",
    "LpPool2d",
    "LpPool3d",
    "Lstm",
    "LstmCell",
    "MSELoss",
    "MarginRankingLoss",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "Mish",
    "MultiHeadAttention",
    "MultiMarginLoss",
    "MultiheadAttention",
    "NLLLoss",
    "PReLU",
    "PRelu",
    "Parameter",
    "PixelShuffle",
    "PixelUnshuffle",
    "PoissonNLLLoss",
    "RMSNorm",
    "RNN",
    "RNNCell",
    "ReLU",
    "ReLU6",
    "Relu",
    "Relu6",
    "RmsNorm",
    "Rnn",
    "RnnCell",
    "SELU",
    "Selu",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Silu",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "SoftShrink",
    "Softmax",
    "Softplus",
    "Softsign",
    "SpectralNorm",
    "Tanh",
    "TanhShrink",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TripletMarginLoss",
    "utils",
]

TYPE_CHECKING = False
# A type checker would take any name for one of this module.
if not TYPE_CHECKING:

    def __getattr__(name):
        from .._elsewhere import no_attribute

        raise no_attribute(__name__, name)
