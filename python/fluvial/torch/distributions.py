"""PyTorch's `torch.distributions`: the module `fluvial.distributions`, of which there is one."""

import sys

from .. import distributions as _own
from ..distributions import kl, transforms

sys.modules[__name__] = _own
sys.modules[f"{__name__}.kl"], sys.modules[f"{__name__}.transforms"] = kl, transforms
