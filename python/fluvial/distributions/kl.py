"""How far one distribution is from another."""

from __future__ import annotations

import math

from .. import _core
from .._fault import fault
from .continuous import Beta, Exponential, Gamma, Gumbel, HalfNormal, Laplace, Normal, Uniform
from .discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from .distribution import sum_last
from .multivariate import Dirichlet, Independent, MultivariateNormal
from .transforms import LogNormal, TransformedDistribution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._core import Tensor
    from .distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

_KNOWN: dict[tuple[type, type], Any] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """Says how far distributions of a class are from those of another.

    Args:
        type_p: The class of the first.
        type_q: The class of the second.
    """

    def known(function: Any) -> Any:
        _KNOWN[type_p, type_q] = function
        return function

    return known


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The divergence of Kullback and Leibler of `p` from `q`.

    Args:
        p: The distribution by which it is measured.
        q: The other one.

    Example:
        >>> d = fl.distributions
        >>> d.kl_divergence(d.Normal(0.0, 1.0), d.Normal(1.0, 1.0)).item()
        0.5
    """
    for kind_p in type(p).__mro__:
        for kind_q in type(q).__mro__:
            if (kind_p, kind_q) in _KNOWN:
                return _KNOWN[kind_p, kind_q](p, q)
    raise fault(
        NotImplementedError,
        f"nothing is known of `{type(p).__name__}` from `{type(q).__name__}`",
        "say it with `register_kl`, or take the mean of `p.log_prob(x) - q.log_prob(x)` over samples of `p`",
    )


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = _core.square(p.scale / q.scale)
    away = _core.square((p.loc - q.loc) / q.scale)
    return 0.5 * (ratio + away - 1.0 - _core.log(ratio))


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, away = p.scale / q.scale, _core.abs(p.loc - q.loc)
    return -_core.log(ratio) + away / q.scale + ratio * _core.exp(-away / p.scale) - 1.0


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    found = _core.log((q.high - q.low) / (p.high - p.low))
    outside = _core.logical_or(q.low > p.low, q.high < p.high)
    return _core.where(outside, _core.full_like(found, float("inf")), found)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1.0 - _core.log(ratio)


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    rates = q.concentration * _core.log(p.rate / q.rate)
    heights = _core.lgamma(q.concentration) - _core.lgamma(p.concentration)
    slopes = (p.concentration - q.concentration) * _core.digamma(p.concentration)
    return rates + heights + slopes + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    total = p.concentration1 + p.concentration0
    ones = (p.concentration1 - q.concentration1) * _core.digamma(p.concentration1)
    zeros = (p.concentration0 - q.concentration0) * _core.digamma(p.concentration0)
    both = (q.concentration1 + q.concentration0 - total) * _core.digamma(total)
    return q._log_beta() - p._log_beta() + ones + zeros + both


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    euler = 0.5772156649015329
    ratio = p.scale / q.scale
    away = (q.loc - p.loc) / q.scale
    shrunk = _core.exp(away + _core.lgamma(1.0 + ratio))
    return -_core.log(ratio) - away + ratio * euler + shrunk - (1.0 + euler)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    ratio = _core.square(p.scale / q.scale)
    return 0.5 * (ratio - 1.0 - _core.log(ratio))


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    one = p.probs * (_core.softplus(-q.logits) - _core.softplus(-p.logits))
    return one + (1.0 - p.probs) * (_core.softplus(q.logits) - _core.softplus(p.logits))


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if p.total_count > q.total_count:
        return _core.full_like(p.probs, float("inf"))
    if p.total_count < q.total_count:
        raise fault(NotImplementedError, "the distributions have different numbers of trials")
    return p.total_count * _bernoulli(p, q)  # type: ignore[arg-type]


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - _core.log1p(-q.probs) / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (_core.log(p.rate) - _core.log(q.rate)) - (p.rate - q.rate)


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    each = p.probs * (p.logits - q.logits)
    none = p.probs == 0
    infinite = _core.logical_and(q.probs == 0, p.probs > 0)
    each = _core.where(infinite, _core.full_like(each, float("inf")), each)
    return _core.sum(_core.where(none, _core.zeros_like(each), each), -1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._of, q._of)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = _core.sum(a, -1)
    heights = _core.lgamma(total) - _core.lgamma(_core.sum(b, -1)) - _core.sum(_core.lgamma(a) - _core.lgamma(b), -1)
    spread = _core.digamma(a) - _core.unsqueeze(_core.digamma(total), -1)
    return heights + _core.sum((a - b) * spread, -1)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    shape = _core.broadcast_tensors([p.scale_tril, q.scale_tril])[0].shape
    root = _core.broadcast_to(q.scale_tril, shape)
    factor = _core.triangular_solve(root, _core.broadcast_to(p.scale_tril, shape))
    away = _core.triangular_solve(root, _core.unsqueeze(q.loc - p.loc, -1))
    square = _core.sum(factor * factor, [-1, -2]) + _core.sum(away * away, [-1, -2])
    return q._log_root() - p._log_root() + 0.5 * (square - p.event_shape[0])


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p._n != q._n:
        raise fault(NotImplementedError, "the distributions see different numbers of axes as one value")
    return sum_last(kl_divergence(p.base_dist, q.base_dist), p._n)


@register_kl(LogNormal, LogNormal)
def _log_normal(p: LogNormal, q: LogNormal) -> Tensor:
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    kinds = [[(type(t), vars(t)) for t in d.transforms] for d in (p, q)]
    if kinds[0] != kinds[1] or p.event_shape != q.event_shape:
        raise fault(NotImplementedError, "the distributions are those of different functions")
    return sum_last(kl_divergence(p.base_dist, q.base_dist), p._joined)


@register_kl(Uniform, Normal)
def _uniform_normal(p: Uniform, q: Normal) -> Tensor:
    width = p.high - p.low
    constant = 0.5 * math.log(2.0 * math.pi)
    away = _core.square(p.mean - q.loc) + _core.square(width) / 12.0
    return constant + _core.log(q.scale) - _core.log(width) + 0.5 * away / _core.square(q.scale)
