//! The instructions: four products of bytes are added to each of 16 sums.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use crate::simd::{self, Level};

/// Sums of 16 lanes on one set of instructions. All functions are for machines that have it, and are inlined into a
/// function that is compiled for it.
pub(super) trait Dot {
    /// Four bytes without sign for each lane.
    type Unsigned: Copy;
    /// Four bytes with a sign for each lane.
    type Signed: Copy;
    /// The sums.
    type Sums: Copy;

    /// The most sums that fit into registers: so many times 16 lanes.
    const SUMS: usize;

    fn zero() -> Self::Sums;

    /// # Safety
    ///
    /// There are 64 bytes.
    unsafe fn unsigned(from: *const u8) -> Self::Unsigned;

    /// # Safety
    ///
    /// There are 64 bytes.
    unsafe fn signed(from: *const i8) -> Self::Signed;

    /// Four bytes for all lanes.
    ///
    /// # Safety
    ///
    /// There are 4 bytes.
    unsafe fn unsigned_splat(from: *const u8) -> Self::Unsigned;

    /// Four bytes for all lanes.
    ///
    /// # Safety
    ///
    /// There are 4 bytes.
    unsafe fn signed_splat(from: *const i8) -> Self::Signed;

    fn dot(sums: Self::Sums, a: Self::Unsigned, b: Self::Signed) -> Self::Sums;

    fn lanes(sums: Self::Sums) -> [i32; 16];
}

/// Which set of instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Set {
    Portable,
    /// Products of 16 bits.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Products of bytes in 256 bits.
    #[cfg(target_arch = "x86_64")]
    AvxVnni,
    /// Products of bytes in 512 bits.
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni,
}

impl Set {
    /// The sets that the machine has on this level, the best one last.
    #[cfg(test)]
    pub(super) fn all(level: Level) -> Vec<Set> {
        let mut all = vec![Set::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if level >= Level::Avx2 {
                all.push(Set::Avx2);
                if is_x86_feature_detected!("avxvnni") {
                    all.push(Set::AvxVnni);
                }
            }
            if level >= Level::Avx512 && is_x86_feature_detected!("avx512vnni") {
                all.push(Set::Avx512Vnni);
            }
        }
        let _ = level;
        all
    }

    /// The best set of the level in use.
    pub(super) fn best() -> Set {
        #[cfg(target_arch = "x86_64")]
        match simd::level() {
            Level::Avx512 if is_x86_feature_detected!("avx512vnni") => return Set::Avx512Vnni,
            Level::Portable => {}
            _ if is_x86_feature_detected!("avxvnni") => return Set::AvxVnni,
            _ => return Set::Avx2,
        }
        let _ = simd::level();
        Set::Portable
    }
}

/// Plain loops.
pub(super) struct Portable;

impl Dot for Portable {
    type Unsigned = [u8; 64];
    type Signed = [i8; 64];
    type Sums = [i32; 16];
    const SUMS: usize = 4;

    #[inline(always)]
    fn zero() -> [i32; 16] {
        [0; 16]
    }

    #[inline(always)]
    unsafe fn unsigned(from: *const u8) -> [u8; 64] {
        // SAFETY: by the caller's promise.
        unsafe { from.cast::<[u8; 64]>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn signed(from: *const i8) -> [i8; 64] {
        // SAFETY: by the caller's promise.
        unsafe { from.cast::<[i8; 64]>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn unsigned_splat(from: *const u8) -> [u8; 64] {
        // SAFETY: by the caller's promise.
        let four = unsafe { from.cast::<[u8; 4]>().read_unaligned() };
        std::array::from_fn(|i| four[i % 4])
    }

    #[inline(always)]
    unsafe fn signed_splat(from: *const i8) -> [i8; 64] {
        // SAFETY: by the caller's promise.
        let four = unsafe { from.cast::<[i8; 4]>().read_unaligned() };
        std::array::from_fn(|i| four[i % 4])
    }

    #[inline(always)]
    fn dot(mut sums: [i32; 16], a: [u8; 64], b: [i8; 64]) -> [i32; 16] {
        for (lane, sum) in sums.iter_mut().enumerate() {
            for i in 4 * lane..4 * lane + 4 {
                *sum = sum.wrapping_add(i32::from(a[i]) * i32::from(b[i]));
            }
        }
        sums
    }

    #[inline(always)]
    fn lanes(sums: [i32; 16]) -> [i32; 16] {
        sums
    }
}

/// Bytes become numbers of 16 bits, pairs of which are multiplied and added: in bytes the sum of a pair could be cut off.
#[cfg(target_arch = "x86_64")]
pub(super) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Dot for Avx2 {
    type Unsigned = [__m256i; 4];
    type Signed = [__m256i; 4];
    /// Two parts of each sum side by side.
    type Sums = [__m256i; 4];
    const SUMS: usize = 2;

    #[inline(always)]
    fn zero() -> [__m256i; 4] {
        // SAFETY: the set is chosen where the machine has it; so are all below.
        unsafe { [_mm256_setzero_si256(); 4] }
    }

    #[inline(always)]
    unsafe fn unsigned(from: *const u8) -> [__m256i; 4] {
        let mut parts = Avx2::zero();
        for (i, part) in parts.iter_mut().enumerate() {
            // SAFETY: by the caller's promise.
            *part = unsafe { _mm256_cvtepu8_epi16(_mm_loadu_si128(from.add(16 * i).cast())) };
        }
        parts
    }

    #[inline(always)]
    unsafe fn signed(from: *const i8) -> [__m256i; 4] {
        let mut parts = Avx2::zero();
        for (i, part) in parts.iter_mut().enumerate() {
            // SAFETY: by the caller's promise.
            *part = unsafe { _mm256_cvtepi8_epi16(_mm_loadu_si128(from.add(16 * i).cast())) };
        }
        parts
    }

    #[inline(always)]
    unsafe fn unsigned_splat(from: *const u8) -> [__m256i; 4] {
        // SAFETY: by the caller's promise.
        let four = unsafe { from.cast::<i32>().read_unaligned() };
        // SAFETY: as above.
        unsafe { [_mm256_cvtepu8_epi16(_mm_set1_epi32(four)); 4] }
    }

    #[inline(always)]
    unsafe fn signed_splat(from: *const i8) -> [__m256i; 4] {
        // SAFETY: by the caller's promise.
        let four = unsafe { from.cast::<i32>().read_unaligned() };
        // SAFETY: as above.
        unsafe { [_mm256_cvtepi8_epi16(_mm_set1_epi32(four)); 4] }
    }

    #[inline(always)]
    fn dot(mut sums: [__m256i; 4], a: [__m256i; 4], b: [__m256i; 4]) -> [__m256i; 4] {
        for (sum, (a, b)) in sums.iter_mut().zip(a.into_iter().zip(b)) {
            // SAFETY: as above.
            *sum = unsafe { _mm256_add_epi32(*sum, _mm256_madd_epi16(a, b)) };
        }
        sums
    }

    #[inline(always)]
    fn lanes(sums: [__m256i; 4]) -> [i32; 16] {
        // SAFETY: vectors of integers are their numbers.
        let parts: [i32; 32] = unsafe { std::mem::transmute(sums) };
        std::array::from_fn(|i| parts[2 * i].wrapping_add(parts[2 * i + 1]))
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) struct AvxVnni;

#[cfg(target_arch = "x86_64")]
impl Dot for AvxVnni {
    type Unsigned = [__m256i; 2];
    type Signed = [__m256i; 2];
    type Sums = [__m256i; 2];
    const SUMS: usize = 6;

    #[inline(always)]
    fn zero() -> [__m256i; 2] {
        // SAFETY: the set is chosen where the machine has it; so are all below.
        unsafe { [_mm256_setzero_si256(); 2] }
    }

    #[inline(always)]
    unsafe fn unsigned(from: *const u8) -> [__m256i; 2] {
        // SAFETY: by the caller's promise.
        unsafe { [_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(32).cast())] }
    }

    #[inline(always)]
    unsafe fn signed(from: *const i8) -> [__m256i; 2] {
        // SAFETY: by the caller's promise.
        unsafe { AvxVnni::unsigned(from.cast()) }
    }

    #[inline(always)]
    unsafe fn unsigned_splat(from: *const u8) -> [__m256i; 2] {
        // SAFETY: by the caller's promise.
        unsafe { [_mm256_set1_epi32(from.cast::<i32>().read_unaligned()); 2] }
    }

    #[inline(always)]
    unsafe fn signed_splat(from: *const i8) -> [__m256i; 2] {
        // SAFETY: by the caller's promise.
        unsafe { AvxVnni::unsigned_splat(from.cast()) }
    }

    #[inline(always)]
    fn dot(sums: [__m256i; 2], a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: as above.
        unsafe {
            [
                _mm256_dpbusd_avx_epi32(sums[0], a[0], b[0]),
                _mm256_dpbusd_avx_epi32(sums[1], a[1], b[1]),
            ]
        }
    }

    #[inline(always)]
    fn lanes(sums: [__m256i; 2]) -> [i32; 16] {
        // SAFETY: vectors of integers are their numbers.
        unsafe { std::mem::transmute(sums) }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) struct Avx512Vnni;

#[cfg(target_arch = "x86_64")]
impl Dot for Avx512Vnni {
    type Unsigned = __m512i;
    type Signed = __m512i;
    type Sums = __m512i;
    const SUMS: usize = 24;

    #[inline(always)]
    fn zero() -> __m512i {
        // SAFETY: the set is chosen where the machine has it; so are all below.
        unsafe { _mm512_setzero_si512() }
    }

    #[inline(always)]
    unsafe fn unsigned(from: *const u8) -> __m512i {
        // SAFETY: by the caller's promise.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    unsafe fn signed(from: *const i8) -> __m512i {
        // SAFETY: by the caller's promise.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    unsafe fn unsigned_splat(from: *const u8) -> __m512i {
        // SAFETY: by the caller's promise.
        unsafe { _mm512_set1_epi32(from.cast::<i32>().read_unaligned()) }
    }

    #[inline(always)]
    unsafe fn signed_splat(from: *const i8) -> __m512i {
        // SAFETY: by the caller's promise.
        unsafe { _mm512_set1_epi32(from.cast::<i32>().read_unaligned()) }
    }

    #[inline(always)]
    fn dot(sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_dpbusd_epi32(sums, a, b) }
    }

    #[inline(always)]
    fn lanes(sums: __m512i) -> [i32; 16] {
        // SAFETY: vectors of integers are their numbers.
        unsafe { std::mem::transmute(sums) }
    }
}
