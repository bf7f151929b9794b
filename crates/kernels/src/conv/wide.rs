//! Kernels for machines with AVX-512, on `f32`.

mod depthwise;
mod direct;
mod lanes;
pub(super) mod phases;
mod pointwise_weights;
mod strips;
mod weights;
mod winograd;
mod winograd_weights;

use fluvial_tensor::Result;

use crate::conv::choose::{Planes, Way};
use crate::simd::{self, Level};

/// A kernel: two factors and the result. That of the weights has input and output as factors, the others
/// input and weights.
pub(super) type Kernel = fn(&Job, &[f32], &[f32], &mut [f32]) -> Result<()>;

/// The kernel that computes [`Job`]s in this way.
pub(super) fn kernel(way: Way) -> Option<Kernel> {
    match way {
        Way::Direct => Some(direct::direct),
        Way::Winograd => Some(winograd::winograd),
        Way::Strips => Some(strips::strips),
        Way::Depthwise => Some(depthwise::depthwise),
        Way::Phases | Way::General => None,
    }
}

/// The kernel that computes the gradient of the weights in this way.
pub(super) fn weights_kernel(way: Way) -> Option<Kernel> {
    match way {
        Way::Direct => Some(weights::direct_weights),
        Way::Winograd => Some(winograd_weights::winograd_weights),
        Way::Strips => Some(pointwise_weights::pointwise_weights),
        Way::Depthwise => Some(depthwise::depthwise_weights),
        Way::Phases | Way::General => None,
    }
}

/// Whether the instructions are there and in use.
pub(super) fn is_available() -> bool {
    simd::level() == Level::Avx512
}

/// A convolution as the kernels compute it: output at `y, x` is the sum over channels and kernel of the
/// input at `y * stride + ky * dilation - before`, zero outside.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) batch: usize,
    pub(super) groups: usize,
    pub(super) into: usize,
    pub(super) out: usize,
    pub(super) size: [usize; 2],
    pub(super) count: [usize; 2],
    pub(super) kernel: [usize; 2],
    pub(super) stride: usize,
    pub(super) dilation: [usize; 2],
    pub(super) before: [usize; 2],
    pub(super) filter: Filter,
}

/// Where a weight lies: at `origin + group * group_step + out * out_step + into * into_step + tap *
/// tap_step`.
#[derive(Clone, Copy)]
pub(super) struct Filter {
    pub(super) origin: usize,
    pub(super) group_step: usize,
    pub(super) out_step: usize,
    pub(super) into_step: usize,
    pub(super) tap_step: isize,
}

impl Job {
    /// The convolution itself; its strides are equal.
    pub(super) fn forward(on: &Planes) -> Job {
        let taps = on.kernel[0] * on.kernel[1];
        Job {
            batch: on.batch,
            groups: on.groups,
            into: on.into,
            out: on.out,
            size: on.size,
            count: on.count,
            kernel: on.kernel,
            stride: on.stride[1],
            dilation: on.dilation,
            before: on.before,
            filter: Filter {
                origin: 0,
                group_step: on.out * on.into * taps,
                out_step: on.into * taps,
                into_step: taps,
                tap_step: 1,
            },
        }
    }

    /// Its adjoint as a function of the input, which for a stride of 1 is a convolution with the flipped
    /// kernel; none if there is more padding than the kernel reaches.
    pub(super) fn backward(on: &Planes) -> Option<Job> {
        let reach =
            |axis: usize| ((on.kernel[axis] - 1) * on.dilation[axis]).checked_sub(on.before[axis]);
        let forward = Job::forward(on);
        let taps = on.kernel[0] * on.kernel[1];
        Some(Job {
            into: on.out,
            out: on.into,
            size: on.count,
            count: on.size,
            before: [reach(0)?, reach(1)?],
            filter: Filter {
                origin: taps - 1,
                out_step: forward.filter.into_step,
                into_step: forward.filter.out_step,
                tap_step: -1,
                ..forward.filter
            },
            ..forward
        })
    }
}
