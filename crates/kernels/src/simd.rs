//! The vector instructions of the machine: which there are, and loops compiled for them.
//!
//! What the machine has is found out once. Elementwise kernels and reductions have the same bits on all
//! levels, and tests that say so run them below what the machine has with [`force`].

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__cpuid;
#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A set of vector instructions that kernels are compiled for; a later one has all of an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Level {
    /// What every machine of the architecture has.
    Portable = 1,
    /// AVX2 with fused multiplication and addition: 256 bits.
    Avx2 = 2,
    /// AVX-512 with its extensions F, BW, DQ and VL.
    Avx512 = 3,
}

impl Level {
    /// All levels, from the least to the best.
    pub const ALL: [Level; 3] = [Level::Portable, Level::Avx2, Level::Avx512];
}

/// The level in use; 0 before anybody asked.
static LEVEL: AtomicU8 = AtomicU8::new(0);

/// Held while a level is forced.
static TURN: Mutex<()> = Mutex::new(());

/// The level that kernels use: the best of the machine, or what was forced.
#[inline(always)]
pub fn level() -> Level {
    match LEVEL.load(Ordering::Relaxed) {
        3 => Level::Avx512,
        2 => Level::Avx2,
        1 => Level::Portable,
        _ => find(),
    }
}

/// Makes all threads use at most `level` until the result is dropped. Others who want to force a level
/// wait so long, so one thread must not do it twice at once.
///
/// ```
/// use fluvial_kernels::simd::{Level, force, level};
///
/// let forced = force(Level::Portable);
/// assert_eq!(level(), Level::Portable);
/// drop(forced);
/// ```
pub fn force(level: Level) -> Forced {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    LEVEL.store(level.min(best()) as u8, Ordering::Relaxed);
    Forced { _turn: turn }
}

/// A forced level; see [`force`].
#[must_use = "the level is forced as long as this lives"]
pub struct Forced {
    _turn: MutexGuard<'static, ()>,
}

impl Drop for Forced {
    fn drop(&mut self) {
        LEVEL.store(best() as u8, Ordering::Relaxed);
    }
}

#[cold]
fn find() -> Level {
    let best = best();
    LEVEL.store(best as u8, Ordering::Relaxed);
    best
}

/// The best level of the machine.
fn best() -> Level {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        let wide = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        return if wide { Level::Avx512 } else { Level::Avx2 };
    }
    Level::Portable
}

/// Whether the machine multiplies pairs of `bf16`, adding to `f32`, at twice the rate of `f32`: AMD's from family 26
/// on (Zen 5: 541 beside 290 GFLOP/s a core). Others have the instruction and are slower with it, such as Intel's Sapphire
/// and Emerald Rapids.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_fast_pairs() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    let found = || {
        if !is_x86_feature_detected!("avx512bf16") {
            return false;
        }
        let vendor = __cpuid(0);
        let is_amd =
            [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).concat() == b"AuthenticAMD";
        let version = __cpuid(1).eax;
        let family = ((version >> 8) & 0xf) + ((version >> 20) & 0xff);
        is_amd && family >= 26
    };
    level() == Level::Avx512 && *FOUND.get_or_init(found)
}

/// Calls `f`, compiled for the vector instructions of the [`level`].
///
/// `f` and all it calls in its inner loops must be `#[inline(always)]` (a closure is
/// `#[inline(always)] || …`): only what is inlined here is compiled for the wider instructions. The
/// results do not depend on the level, since Rust never contracts or reorders float arithmetic, and
/// `mul_add` is exact everywhere (but slow on the portable level).
#[inline(always)]
pub(crate) fn vectorized<R>(f: impl FnOnce() -> R) -> R {
    match level() {
        // SAFETY: the machine has these instructions, or the level would be lower.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { with_avx512(f) },
        // SAFETY: the machine has these instructions, or the level would be lower.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { with_avx2(f) },
        _ => f(),
    }
}

/// Calls `f`, which is not a loop, compiled so that `mul_add` is one instruction where there is such.
#[inline(always)]
pub(crate) fn with_mul_add<R>(f: impl FnOnce() -> R) -> R {
    match level() {
        Level::Portable => f(),
        // SAFETY: the machine has these instructions, or the level would be lower.
        #[cfg(target_arch = "x86_64")]
        _ => unsafe { with_avx2(f) },
        #[cfg(not(target_arch = "x86_64"))]
        _ => f(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn with_avx512<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_avx2<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_passed_on_at_every_level() {
        let values = [1.0f32, 2.0, 3.0];
        for wanted in Level::ALL {
            let _forced = force(wanted);
            assert_eq!(level(), wanted.min(best()));
            let sum = vectorized(
                #[inline(always)]
                || values.iter().sum::<f32>(),
            );
            assert_eq!(sum, 6.0);
            assert_eq!(with_mul_add(|| 2.0f64.mul_add(3.0, 1.0)), 7.0);
        }
        drop(force(Level::Portable));
        assert_eq!(LEVEL.load(Ordering::Relaxed), best() as u8);
    }
}
