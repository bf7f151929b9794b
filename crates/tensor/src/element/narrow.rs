//! Conversions to and from 16-bit floats that round once, give the same bits on every processor, and
//! have no branches, so that loops over them become vector code.

use half::f16;

/// `value` as `f32`, rounded to odd: a later rounding to a still narrower type is then the
/// correct rounding of `value` itself.
#[inline(always)]
pub(super) fn f64_to_f32_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    if back == value || value.is_nan() {
        return nearest;
    }
    let toward_zero = nearest.to_bits() - u32::from(back.abs() > value.abs());
    f32::from_bits(toward_zero | 1)
}

/// `value` as `f64`, rounded to odd like [`f64_to_f32_odd`].
#[inline(always)]
pub(super) fn i64_to_f64_odd(value: i64) -> f64 {
    let magnitude = u64_to_f64_odd(value.unsigned_abs());
    if value < 0 { -magnitude } else { magnitude }
}

/// `value` as `f64`, rounded to odd like [`f64_to_f32_odd`].
#[inline(always)]
pub(super) fn u64_to_f64_odd(value: u64) -> f64 {
    const DROPPED: u64 = (1 << 11) - 1;
    let kept = if value >> 53 == 0 {
        value
    } else {
        (value & !DROPPED) | (u64::from(value & DROPPED != 0) << 11)
    };
    kept as f64
}

/// Exact; a NaN keeps its sign and payload.
#[inline(always)]
pub(super) fn f16_to_f32(value: f16) -> f32 {
    /// The difference of the exponent biases, 127 - 15, as a factor.
    const REBIAS: f32 = f32::from_bits((127 + 112) << 23);
    let bits = u32::from(value.to_bits());
    let magnitude = (bits & 0x7fff) << 13;
    let finite = (f32::from_bits(magnitude) * REBIAS).to_bits();
    let special = magnitude | 0x7f80_0000;
    let magnitude = if magnitude >= 0x7c00 << 13 { special } else { finite };
    f32::from_bits(magnitude | (bits & 0x8000) << 16)
}

/// To nearest, ties to even; beyond the range to infinity. A NaN becomes quiet.
#[inline(always)]
pub(super) fn f32_to_f16(value: f32) -> f16 {
    /// The smallest normal `f16`.
    const NORMAL: u32 = (127 - 14) << 23;
    /// 65520, halfway between the largest `f16` and the next power of two.
    const OVERFLOW: u32 = 0x477f_f000;
    const INFINITY: u32 = 0x7f80_0000;
    /// Adding 0.5 leaves in the last bits a multiple of 2^-24, the step of subnormal numbers.
    const ALIGN: f32 = 0.5;
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let subnormal = (f32::from_bits(magnitude) + ALIGN).to_bits().wrapping_sub(ALIGN.to_bits());
    let round = 0xfff + (magnitude >> 13 & 1);
    let normal = magnitude.wrapping_add(round).wrapping_sub(112 << 23) >> 13;
    let finite = if magnitude < NORMAL { subnormal } else { normal };
    let nan = 0x7e00 | (magnitude >> 13 & 0x1ff);
    let special = if magnitude > INFINITY { nan } else { 0x7c00 };
    let half = if magnitude >= OVERFLOW { special } else { finite };
    f16::from_bits((half | bits >> 16 & 0x8000) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    #[test]
    fn every_half_becomes_the_same_float_as_in_the_half_crate() {
        for bits in 0..=u16::MAX {
            let half = f16::from_bits(bits);
            let (ours, theirs) = (f16_to_f32(half), half.to_f32());
            assert!(ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan());
            assert_eq!(ours.is_sign_negative(), half.is_sign_negative());
        }
    }

    fn check(value: f32) {
        let (ours, theirs) = (f32_to_f16(value), f16::from_f32(value));
        let equal = ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan();
        assert!(equal, "{value:e} gives {ours}, not {theirs}");
    }

    #[test]
    fn floats_become_the_same_half_as_in_the_half_crate() {
        for bits in 0..=u16::MAX {
            let middle = f16_to_f32(f16::from_bits(bits)).to_bits();
            for around in [-0x1001, -0x1000, -0xfff, -1, 0, 1, 0xfff, 0x1000, 0x1001] {
                check(f32::from_bits(middle.wrapping_add_signed(around)));
            }
        }
        let mut rng = Rng::new(13);
        for _ in 0..200_000 {
            check(f32::from_bits(rng.next() as u32));
        }
    }
}
