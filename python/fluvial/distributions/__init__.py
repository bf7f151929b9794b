"""Distributions of random values: samples, also with gradients, densities, entropies and divergences, in both modes.

Names and results are those of PyTorch's `torch.distributions`.

Example:
    >>> d = fl.distributions.Normal(fl.zeros(2), fl.ones(2))
    >>> d.sample((3,)).shape, d.log_prob(fl.zeros(2)).shape
    ((3, 2), (2,))
"""

from . import transforms
from .continuous import (
    Beta,
    Cauchy,
    Chi2,
    Exponential,
    Gamma,
    Gumbel,
    HalfNormal,
    Laplace,
    Normal,
    StudentT,
    Uniform,
)
from .discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    Multinomial,
    OneHotCategorical,
    Poisson,
)
from .distribution import Distribution
from .kl import kl_divergence, register_kl
from .multivariate import Dirichlet, Independent, MixtureSameFamily, MultivariateNormal
from .transforms import *

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "Dirichlet", "Distribution", "Exponential",
    "Gamma", "Geometric", "Gumbel", "HalfNormal", "Independent", "Laplace", "MixtureSameFamily", "Multinomial",
    "MultivariateNormal", "Normal", "OneHotCategorical", "Poisson", "StudentT", "Uniform", "kl_divergence",
    "register_kl", "transforms",
]
__all__ += transforms.__all__

TYPE_CHECKING = False
# A type checker would take any name for one of this module.
if not TYPE_CHECKING:

    def __getattr__(name):
        from .._elsewhere import no_attribute

        raise no_attribute(__name__, name)
