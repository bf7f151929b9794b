"""Losses as layers: of predictions and targets, with a reduction."""

from __future__ import annotations

from .. import _core
from ._stateless import Stateless


class BCELoss(Stateless):
    """Binary cross entropy of probabilities; see `binary_cross_entropy`.

    Args:
        weight: The weight of each class or element.
        reduction: "mean", "sum", or "none" for each element by itself.
    """

    _function = staticmethod(_core.binary_cross_entropy)
    _options = {"weight": None, "reduction": "mean"}


class BCEWithLogitsLoss(Stateless):
    """Binary cross entropy of numbers before the logistic function.

    Args:
        weight: The weight of each class or element.
        pos_weight: The weight of positive targets.
        reduction: "mean", "sum", or "none" for each element by itself.
    """

    _function = staticmethod(_core.binary_cross_entropy_with_logits)
    _options = {"weight": None, "pos_weight": None, "reduction": "mean"}


class CrossEntropyLoss(Stateless):
    """Cross entropy of classes, of numbers before the softmax; see `cross_entropy`.

    Args:
        weight: The weight of each class or element.
        reduction: "mean", "sum", or "none" for each element by itself.
        ignore_index: Targets of this number do not count.
        label_smoothing: The share of the target given to all classes.

    Example:
        >>> loss = fl.nn.CrossEntropyLoss()(fl.tensor([[0.0, 0.0]]), fl.tensor([1]))
        >>> round(loss.item(), 4)
        0.6931
    """

    _function = staticmethod(_core.cross_entropy)
    _options = {"weight": None, "reduction": "mean", "ignore_index": -100, "label_smoothing": 0.0}


class NLLLoss(Stateless):
    """The negative logarithm of the right class's probability; see `nll_loss`.

    Args:
        weight: The weight of each class or element.
        reduction: "mean", "sum", or "none" for each element by itself.
        ignore_index: Targets of this number do not count.
    """

    _function = staticmethod(_core.nll_loss)
    _options = {"weight": None, "reduction": "mean", "ignore_index": -100}


class MSELoss(Stateless):
    """The square of the difference; see `mse_loss`.

    Args:
        reduction: "mean", "sum", or "none" for each element by itself.

    Example:
        >>> fl.nn.MSELoss("sum")(fl.tensor([1.0, 2.0]), fl.tensor([0.0, 4.0])).item()
        5.0
    """

    _function = staticmethod(_core.mse_loss)
    _options = {"reduction": "mean"}


class L1Loss(Stateless):
    """The absolute difference; see `l1_loss`.

    Args:
        reduction: "mean", "sum", or "none" for each element by itself.
    """

    _function = staticmethod(_core.l1_loss)
    _options = {"reduction": "mean"}


class SmoothL1Loss(Stateless):
    """The square of small differences, the absolute value of large ones; see `smooth_l1_loss`.

    Args:
        reduction: "mean", "sum", or "none" for each element by itself.
        beta: What counts as small.
    """

    _function = staticmethod(_core.smooth_l1_loss)
    _options = {"reduction": "mean", "beta": 1.0}


class HuberLoss(Stateless):
    """The square of small differences, a line beyond; see `huber_loss`.

    Args:
        reduction: "mean", "sum", or "none" for each element by itself.
        delta: What counts as small.
    """

    _function = staticmethod(_core.huber_loss)
    _options = {"reduction": "mean", "delta": 1.0}


class KLDivLoss(Stateless):
    """The divergence of Kullback and Leibler; see `kl_div`.

    Args:
        reduction: "mean", "sum", or "none" for each element by itself.
        log_target: Whether targets are logarithms.
    """

    _function = staticmethod(_core.kl_div)
    _options = {"reduction": "mean", "log_target": False}


class PoissonNLLLoss(Stateless):
    """The likelihood of counts; see `poisson_nll_loss`.

    Args:
        reduction: "mean", "sum", or "none" for each element by itself.
        log_input: Whether inputs are logarithms.
        full: Whether terms that do not depend on the input are added.
        eps: What keeps logarithms and divisors from zero.
    """

    _function = staticmethod(_core.poisson_nll_loss)
    _options = {"reduction": "mean", "log_input": True, "full": False, "eps": 1e-08}


class GaussianNLLLoss(Stateless):
    """The likelihood of normal numbers of a given variance; see `gaussian_nll_loss`.

    Args:
        reduction: "mean", "sum", or "none" for each element by itself.
        full: Whether terms that do not depend on the input are added.
        eps: What keeps logarithms and divisors from zero.
    """

    _function = staticmethod(_core.gaussian_nll_loss)
    _options = {"reduction": "mean", "full": False, "eps": 1e-06}


class HingeLoss(Stateless):
    """The hinge of margins; see `hinge_loss`.

    Args:
        reduction: "mean", "sum", or "none" for each element by itself.
    """

    _function = staticmethod(_core.hinge_loss)
    _options = {"reduction": "mean"}


class HingeEmbeddingLoss(Stateless):
    """The hinge of distances; see `hinge_embedding_loss`.

    Args:
        reduction: "mean", "sum", or "none" for each element by itself.
        margin: The margin.
    """

    _function = staticmethod(_core.hinge_embedding_loss)
    _options = {"reduction": "mean", "margin": 1.0}


class SoftMarginLoss(Stateless):
    """The logistic loss of two classes; see `soft_margin_loss`.

    Args:
        reduction: "mean", "sum", or "none" for each element by itself.
    """

    _function = staticmethod(_core.soft_margin_loss)
    _options = {"reduction": "mean"}


class MarginRankingLoss(Stateless):
    """The hinge of the difference of two numbers; see `margin_ranking_loss`.

    Args:
        reduction: "mean", "sum", or "none" for each element by itself.
        margin: The margin.
    """

    _function = staticmethod(_core.margin_ranking_loss)
    _options = {"reduction": "mean", "margin": 0.0}


class MultiMarginLoss(Stateless):
    """The hinge between the right class and the others; see `multi_margin_loss`.

    Args:
        weight: The weight of each class or element.
        reduction: "mean", "sum", or "none" for each element by itself.
        p: Which power or norm.
        margin: The margin.
    """

    _function = staticmethod(_core.multi_margin_loss)
    _options = {"weight": None, "reduction": "mean", "p": 1, "margin": 1.0}


class CosineEmbeddingLoss(Stateless):
    """The angle between vectors that belong together or not; see `cosine_embedding_loss`.

    Args:
        reduction: "mean", "sum", or "none" for each element by itself.
        margin: The margin.
    """

    _function = staticmethod(_core.cosine_embedding_loss)
    _options = {"reduction": "mean", "margin": 0.0}


class TripletMarginLoss(Stateless):
    """The hinge of distances to a like and an unlike vector; see `triplet_margin_loss`.

    Args:
        reduction: "mean", "sum", or "none" for each element by itself.
        margin: The margin.
        p: Which power or norm.
        eps: What keeps logarithms and divisors from zero.
        swap: Whether the nearer of two distances counts.
    """

    _function = staticmethod(_core.triplet_margin_loss)
    _options = {"reduction": "mean", "margin": 1.0, "p": 2.0, "eps": 1e-06, "swap": False}


class CTCLoss(Stateless):
    """The likelihood of sequences without alignment; see `ctc_loss`.

    Args:
        reduction: "mean", "sum", or "none" for each element by itself.
        blank: The number of the blank.
        zero_infinity: Whether losses that are infinite become zero.
    """

    _function = staticmethod(_core.ctc_loss)
    _options = {"reduction": "mean", "blank": 0, "zero_infinity": False}
