//! Which way a convolution is computed.
//!
//! | way | passes | shapes, all `f32` with one or two spatial axes |
//! |---|---|---|
//! | [`Way::Depthwise`] | forward, weights; data if the stride is 1 | one channel to one in each group, kernels up to 7 wide |
//! | [`Way::Winograd`] | all | 3 x 3, stride and dilation 1, at least 32 channels on both sides, at least 4 x 4 outputs and 64 in the batch |
//! | [`Way::Strips`] | forward, data | stride 1, kernel 1 x 1 without padding or fewer than 64 terms per sum |
//! | [`Way::Strips`] | weights | kernel 1 x 1, stride 1, no padding, at least 16 channels on both sides |
//! | [`Way::Direct`] | forward; data if the stride is 1 | stride 1 or 2, most lanes of 32 output channels used |
//! | [`Way::Direct`] | weights | kernels 3, 4, 5 or 7 wide, dense in a row, more than half of the lanes used, at least 8 x 8 outputs or so |
//! | [`Way::Phases`] | data | a kernel at least twice the stride, rows of at least 7, most lanes of 32 input channels used |
//! | [`Way::General`] | all | everything else, more axes, other dtypes, machines without AVX-512 |
//!
//! A batch of images with few pixels behind the convolution is [`Way::General`], too, in which images share
//! one product. Groups of few channels are merged before (`merge`).

use smallvec::SmallVec;

use crate::conv::Windows;

/// With so few pixels behind the convolution, images share a product.
const FEW: usize = 16;

/// The same for the gradient of the weights, of kernels other than 1 x 1; 7 x 7 is not few.
const FEW_SUMMED: usize = 36;

/// The most pixels for which the gradient of the weights of 1 x 1 kernels is one product for many images.
const MANY: usize = 1024;

/// The least outputs of a channel that make up for changing the weights to those of Winograd.
const LEAST_WINOGRAD: usize = 64;

/// The widest kernel of [`Way::Depthwise`].
pub(super) const WIDEST: usize = 7;

/// A way to compute a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Windows as columns, then products of matrices.
    General,
    /// Sums by definition, in registers.
    Direct,
    /// Winograd's F(2x2, 3x3).
    Winograd,
    /// The windows of a few pixels as columns, or for 1 x 1 kernels the pixels themselves.
    Strips,
    /// One channel to one in each group, lanes being pixels.
    Depthwise,
    /// Back through a stride: pixels of the same place in it are a convolution of their own.
    Phases,
}

/// The pixels at one place within the stride of an axis, and what reaches them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phase {
    /// The first element of the kernel that reaches them, and how many do.
    pub(super) tap: usize,
    pub(super) taps: usize,
    /// The first of the pixels, and how many there are.
    pub(super) first: usize,
    pub(super) count: usize,
    /// The zeros in front, for the convolution that they are.
    pub(super) before: usize,
}

/// A convolution over planes. One spatial axis is a plane of one row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planes {
    pub(super) batch: usize,
    pub(super) groups: usize,
    /// Channels of a group before the convolution.
    pub(super) into: usize,
    /// Channels of a group behind it.
    pub(super) out: usize,
    /// Rows and columns before, behind, and of the kernel.
    pub(super) size: [usize; 2],
    pub(super) count: [usize; 2],
    pub(super) kernel: [usize; 2],
    pub(super) stride: [usize; 2],
    pub(super) dilation: [usize; 2],
    /// Zeros in front of rows and columns.
    pub(super) before: [usize; 2],
}

impl Planes {
    /// For an input and a weight of these dims, which have been found to fit; none if there are more
    /// spatial axes or nothing to compute.
    pub(super) fn new(
        x: &[usize],
        weight: &[usize],
        counts: &[usize],
        windows: &Windows<'_>,
        groups: usize,
    ) -> Option<Planes> {
        let pair = |values: &[usize], missing: usize| match *values {
            [width] => Some([missing, width]),
            [height, width] => Some([height, width]),
            _ => None,
        };
        let is_empty = x.iter().chain(weight).chain(counts).any(|&size| size == 0);
        if is_empty {
            return None;
        }
        Some(Planes {
            batch: x[0],
            groups,
            into: weight[1],
            out: weight[0] / groups,
            size: pair(&x[2..], 1)?,
            count: pair(counts, 1)?,
            kernel: pair(windows.kernel, 1)?,
            stride: pair(windows.stride, 1)?,
            dilation: pair(windows.dilation, 1)?,
            before: pair(windows.before, 0)?,
        })
    }

    /// The way forward.
    pub(super) fn forward_way(&self) -> Way {
        if !is_wide() {
            return Way::General;
        }
        self.way(self.into, self.out)
    }

    /// The way back to the input.
    pub(super) fn data_way(&self) -> Way {
        let reach = |axis: usize| (self.kernel[axis] - 1) * self.dilation[axis];
        let padding_fits = (0..2).all(|axis| self.before[axis] <= reach(axis));
        if !is_wide() || !padding_fits {
            return Way::General;
        }
        if self.stride != [1, 1] {
            let is_right = self.suits_phases() && (0..2).all(|axis| self.phases(axis).is_some());
            return if is_right { Way::Phases } else { Way::General };
        }
        match self.way(self.out, self.into) {
            Way::Winograd if self.size.iter().any(|&size| size < 4) => Way::General,
            way => way,
        }
    }

    /// The way back to the weights.
    pub(super) fn weights_way(&self) -> Way {
        if !is_wide() {
            return Way::General;
        }
        if self.suits_depthwise() {
            return Way::Depthwise;
        }
        if self.suits_winograd() {
            return Way::Winograd;
        }
        let pixels = self.count[0] * self.count[1];
        if self.is_pointwise() && self.into >= 16 && self.out >= 16 && pixels > MANY {
            return Way::Strips;
        }
        let lanes = self.out.next_multiple_of(32);
        if pixels <= FEW_SUMMED {
            return Way::General;
        }
        let has_kernel = matches!(self.kernel[1], 3 | 4 | 5 | 7) && self.dilation[1] == 1;
        let suits = has_kernel && self.has_one_stride() && 2 * self.out > lanes;
        if suits { Way::Direct } else { Way::General }
    }

    /// The way to sums over `into` channels for `out` channels.
    fn way(&self, into: usize, out: usize) -> Way {
        if self.suits_depthwise() {
            return Way::Depthwise;
        }
        if self.suits_winograd() {
            return Way::Winograd;
        }
        if self.groups == 1 && self.count[0] * self.count[1] <= FEW {
            return Way::General;
        }
        let terms = into * self.kernel[0] * self.kernel[1];
        let is_few = terms < 64 && self.stride == [1, 1] && out >= 6;
        if self.is_pointwise() || is_few {
            return Way::Strips;
        }
        let lanes = out.next_multiple_of(32);
        let suits = self.has_one_stride() && self.stride[1] <= 2 && 4 * out >= 3 * lanes;
        if suits { Way::Direct } else { Way::General }
    }

    /// Whether rows and columns have the same stride, as far as it matters.
    fn has_one_stride(&self) -> bool {
        self.stride[0] == self.stride[1] || self.count[0] == 1
    }

    /// Whether [`Way::Phases`] is right.
    fn suits_phases(&self) -> bool {
        let lanes = self.into.next_multiple_of(32);
        (0..2).all(|axis| 2 * self.stride[axis] <= self.kernel[axis])
            && self.dilation == [1, 1]
            && self.count[1] >= 7
            && 4 * self.into >= 3 * lanes
    }

    /// The phases of an axis; none if one of them would begin before the output does.
    pub(super) fn phases(&self, axis: usize) -> Option<SmallVec<[Phase; 4]>> {
        let (stride, before) = (self.stride[axis], self.before[axis]);
        let phase = |tap: usize| {
            let taps = self.kernel[axis].saturating_sub(tap).div_ceil(stride);
            let first = (tap + stride - before % stride) % stride;
            let count = self.size[axis].saturating_sub(first).div_ceil(stride);
            let reached = (first + before - tap) / stride;
            let before = match taps {
                0 => 0,
                _ => (taps - 1).checked_sub(reached)?,
            };
            Some(Phase { tap, taps, first, count, before })
        };
        (0..stride).map(phase).collect()
    }

    fn suits_depthwise(&self) -> bool {
        self.groups > 1
            && self.into == 1
            && self.out == 1
            && self.has_one_stride()
            && self.kernel.iter().all(|&kernel| kernel <= WIDEST)
    }

    fn is_pointwise(&self) -> bool {
        self.kernel == [1, 1]
            && self.stride == [1, 1]
            && self.size == self.count
            && self.before == [0, 0]
    }

    fn suits_winograd(&self) -> bool {
        self.kernel == [3, 3]
            && self.stride == [1, 1]
            && self.dilation == [1, 1]
            && self.before.iter().all(|&before| before <= 2)
            && self.into >= 32
            && self.out >= 32
            && self.count.iter().all(|&count| count >= 4)
            && self.batch * self.count[0] * self.count[1] >= LEAST_WINOGRAD
    }
}

/// Whether this machine has the instructions of `wide`.
pub(super) fn is_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        super::wide::is_available()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}
