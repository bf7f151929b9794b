//! Products that stay in registers.

use super::dot::Dot;

/// The sums of 16 lanes, for rows and, in each, lines of lanes.
pub(super) type Sums<const R: usize, const L: usize> = [[[i32; 16]; L]; R];

/// Rows of bytes by panels of weights: the lanes are output channels. `panel` bytes are between panels, of which `steps`
/// times 64 are taken.
///
/// # Safety
///
/// Each of the rows, which are `row` bytes apart, has four bytes for each step. The caller is compiled for the set.
#[inline(always)]
pub(super) unsafe fn rows<D: Dot, const R: usize, const P: usize>(
    steps: usize,
    x: *const u8,
    row: usize,
    weight: *const i8,
    panel: usize,
) -> Sums<R, P> {
    let mut sums = [[D::zero(); P]; R];
    for step in 0..steps {
        // SAFETY: by the caller's promise, here and below.
        let right: [D::Signed; P] =
            std::array::from_fn(|p| unsafe { D::signed(weight.add(p * panel + 64 * step)) });
        for (r, sums) in sums.iter_mut().enumerate() {
            // SAFETY: as above.
            let left = unsafe { D::unsigned_splat(x.add(r * row + 4 * step)) };
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = D::dot(*sum, left, right);
            }
        }
    }
    sums.map(|sums| sums.map(D::lanes))
}

/// Channels of one panel by lines of pixels: the lanes are pixels. `line` bytes are between steps of them.
///
/// # Safety
///
/// Each step of `x` has `64 * L` bytes, each of `weight` 64, from whose first so many channels are taken. The caller is
/// compiled for the set.
#[inline(always)]
pub(super) unsafe fn channels<D: Dot, const C: usize, const L: usize>(
    steps: usize,
    x: *const u8,
    line: usize,
    weight: *const i8,
) -> Sums<C, L> {
    let mut sums = [[D::zero(); L]; C];
    for step in 0..steps {
        // SAFETY: by the caller's promise, here and below.
        let left: [D::Unsigned; L] =
            std::array::from_fn(|l| unsafe { D::unsigned(x.add(line * step + 64 * l)) });
        for (c, sums) in sums.iter_mut().enumerate() {
            // SAFETY: as above.
            let right = unsafe { D::signed_splat(weight.add(64 * step + 4 * c)) };
            for (sum, left) in sums.iter_mut().zip(left) {
                *sum = D::dot(*sum, left, right);
            }
        }
    }
    sums.map(|sums| sums.map(D::lanes))
}

/// Calls a function of `$set` that is compiled for its instructions.
macro_rules! on_set {
    ($set:expr, $f:ident($($arg:expr),*)) => {
        match $set {
            Set::Portable => $f::<dot::Portable>($($arg),*),
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => crate::int8::tile::with_avx2(#[inline(always)] || $f::<dot::Avx2>($($arg),*)),
            #[cfg(target_arch = "x86_64")]
            Set::AvxVnni => crate::int8::tile::with_avx_vnni(#[inline(always)] || $f::<dot::AvxVnni>($($arg),*)),
            #[cfg(target_arch = "x86_64")]
            Set::Avx512Vnni => crate::int8::tile::with_avx512_vnni(#[inline(always)] || $f::<dot::Avx512Vnni>($($arg),*)),
        }
    };
}
pub(super) use on_set;

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
pub(super) fn with_avx2<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avxvnni")]
pub(super) fn with_avx_vnni<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")]
pub(super) fn with_avx512_vnni<R>(f: impl FnOnce() -> R) -> R {
    f()
}
