"""Layers: functions with parameters, which live in the state scope under the layers' names.

The keys of a `state_dict` and the layouts of weights are those of PyTorch's layers.
"""

from ._layer import Layer
from ._parameter import Buffer, Parameter
from ._containers import Function, LayerDict, LayerList, Sequential
from . import _generated
from ._generated import *
from ._rnn import GRU, LSTM, RNN
from ._cells import GRUCell, LSTMCell, RNNCell
from ._attention import MultiHeadAttention
from ._transformer import (
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
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

# The names of Rust and of Fluid.
Rnn = RNN
Lstm = LSTM
Gru = GRU
RnnCell = RNNCell
LstmCell = LSTMCell
GruCell = GRUCell
MultiheadAttention = MultiHeadAttention

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "Buffer",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "Function",
    "GRU",
    "GRUCell",
    "GaussianNLLLoss",
    "Gru",
    "GruCell",
    "HingeEmbeddingLoss",
    "HingeLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LSTM",
    "LSTMCell",
    "Layer",
    "LayerDict",
    "LayerList",
    "Lstm",
    "LstmCell",
    "MSELoss",
    "MarginRankingLoss",
    "MultiHeadAttention",
    "MultiMarginLoss",
    "MultiheadAttention",
    "NLLLoss",
    "Parameter",
    "PoissonNLLLoss",
    "RNN",
    "RNNCell",
    "Rnn",
    "RnnCell",
    "Sequential",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TripletMarginLoss",
]
__all__ += _generated.__all__

TYPE_CHECKING = False
# A type checker would take any name for one of this module.
if not TYPE_CHECKING:

    def __getattr__(name):
        from .._elsewhere import no_attribute

        raise no_attribute(__name__, name)
