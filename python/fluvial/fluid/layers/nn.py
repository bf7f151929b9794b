"""Functions of `fluid.layers` over tensors beyond those that `fl.layers` has: layers with parameters, arithmetic, shapes,
images."""

from __future__ import annotations

from ...layers._activations import brelu, mish, soft_relu, stanh
from . import _conv, _image, _mixed, _random, _recurrent, _shape, _trees
from ._conv import *
from ._image import *
from ._mixed import *
from ._random import *
from ._recurrent import *
from ._shape import *
from ._trees import *

__all__ = ["brelu", "mish", "soft_relu", "stanh"]
__all__ += _conv.__all__
__all__ += _image.__all__
__all__ += _mixed.__all__
__all__ += _random.__all__
__all__ += _recurrent.__all__
__all__ += _shape.__all__
__all__ += _trees.__all__
