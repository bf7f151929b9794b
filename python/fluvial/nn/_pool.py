"""Pooling layers."""

from __future__ import annotations

from .. import _core
from ._stateless import Stateless

_KERNEL = {"kernel": Stateless.REQUIRED, "stride": None}
_MAX = {**_KERNEL, "padding": 0, "dilation": 1, "ceil_mode": False}
_AVG = {**_KERNEL, "padding": 0, "ceil_mode": False, "count_include_pad": True}
_LP = {"p": Stateless.REQUIRED, **_KERNEL, "ceil_mode": False}
_SIZES = {"sizes": Stateless.REQUIRED}


class MaxPool1d(Stateless):
    """The largest element of each window of sequences.

    Args:
        kernel: The size of the window, one number or one for each axis.
        stride: Its step; the window's size if nothing is said.
        padding: What is added on each side.
        dilation: The distance of the window's points.
        ceil_mode: Whether a window may reach over the end.

    Example:
        >>> fl.nn.MaxPool1d(2)(fl.tensor([[[1.0, 3.0, 2.0, 4.0]]])).tolist()
        [[[3.0, 4.0]]]
    """

    _function, _options, _positional = staticmethod(_core.max_pool1d), _MAX, ("kernel",)


class MaxPool2d(Stateless):
    """The largest element of each window of images. Args are those of `MaxPool1d`."""

    _function, _options, _positional = staticmethod(_core.max_pool2d), _MAX, ("kernel",)


class MaxPool3d(Stateless):
    """The largest element of each window of volumes. Args are those of `MaxPool1d`."""

    _function, _options, _positional = staticmethod(_core.max_pool3d), _MAX, ("kernel",)


class AvgPool1d(Stateless):
    """The mean of each window of sequences.

    Args:
        kernel: The size of the window, one number or one for each axis.
        stride: Its step; the window's size if nothing is said.
        padding: The zeros on each side.
        ceil_mode: Whether a window may reach over the end.
        count_include_pad: Whether these zeros count.

    Example:
        >>> fl.nn.AvgPool1d(2)(fl.tensor([[[1.0, 3.0, 2.0, 4.0]]])).tolist()
        [[[2.0, 3.0]]]
    """

    _function, _options, _positional = staticmethod(_core.avg_pool1d), _AVG, ("kernel",)


class AvgPool2d(Stateless):
    """The mean of each window of images. Args are those of `AvgPool1d`."""

    _function, _options, _positional = staticmethod(_core.avg_pool2d), _AVG, ("kernel",)


class AvgPool3d(Stateless):
    """The mean of each window of volumes. Args are those of `AvgPool1d`."""

    _function, _options, _positional = staticmethod(_core.avg_pool3d), _AVG, ("kernel",)


class LpPool1d(Stateless):
    """The p-norm of each window of sequences.

    Args:
        p: Which norm.
        kernel: The size of the window, one number or one for each axis.
        stride: Its step; the window's size if nothing is said.
        ceil_mode: Whether a window may reach over the end.

    Example:
        >>> fl.nn.LpPool1d(1.0, 2)(fl.tensor([[[1.0, 3.0, 2.0, 4.0]]])).tolist()
        [[[4.0, 6.0]]]
    """

    _function, _options, _positional = staticmethod(_core.lp_pool1d), _LP, ("p", "kernel")


class LpPool2d(Stateless):
    """The p-norm of each window of images. Args are those of `LpPool1d`."""

    _function, _options, _positional = staticmethod(_core.lp_pool2d), _LP, ("p", "kernel")


class LpPool3d(Stateless):
    """The p-norm of each window of volumes. Args are those of `LpPool1d`."""

    _function, _options, _positional = staticmethod(_core.lp_pool3d), _LP, ("p", "kernel")


class AdaptiveAvgPool1d(Stateless):
    """The mean of as many windows as the output has places.

    Args:
        sizes: The sizes of the output, one number or one for each axis.

    Example:
        >>> fl.nn.AdaptiveAvgPool1d(1)(fl.tensor([[[1.0, 3.0]]])).tolist()
        [[[2.0]]]
    """

    _function, _options = staticmethod(_core.adaptive_avg_pool1d), _SIZES
    _positional = ("sizes",)


class AdaptiveAvgPool2d(AdaptiveAvgPool1d):
    """The mean of as many windows of images as the output has places."""

    _function = staticmethod(_core.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(AdaptiveAvgPool1d):
    """The mean of as many windows of volumes as the output has places."""

    _function = staticmethod(_core.adaptive_avg_pool3d)


class AdaptiveMaxPool1d(AdaptiveAvgPool1d):
    """The largest element of as many windows of sequences as the output has places."""

    _function = staticmethod(_core.adaptive_max_pool1d)


class AdaptiveMaxPool2d(AdaptiveAvgPool1d):
    """The largest element of as many windows of images as the output has places."""

    _function = staticmethod(_core.adaptive_max_pool2d)


class AdaptiveMaxPool3d(AdaptiveAvgPool1d):
    """The largest element of as many windows of volumes as the output has places."""

    _function = staticmethod(_core.adaptive_max_pool3d)


class GlobalAvgPool(Stateless):
    """The mean of each channel.

    Example:
        >>> fl.nn.GlobalAvgPool()(fl.full((2, 3, 4, 4), 1.0)).shape[:2]
        (2, 3)
    """

    _function = staticmethod(_core.global_avg_pool)


class GlobalMaxPool(Stateless):
    """The largest element of each channel."""

    _function = staticmethod(_core.global_max_pool)
