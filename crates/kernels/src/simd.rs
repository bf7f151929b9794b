//! Compiling a loop for the vector instructions of the machine it runs on.

/// Calls `f`, compiled for the widest vector instructions this machine has.
///
/// `f` and all it calls in its inner loops must be `#[inline(always)]` (a closure is
/// `#[inline(always)] || …`): only what is inlined here is compiled for the wider instructions. The
/// results do not depend on the machine, since Rust never contracts or reorders float arithmetic.
#[inline(always)]
pub(crate) fn vectorized<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
        {
            // SAFETY: the machine has just been found to have these instructions.
            return unsafe { with_avx512(f) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has just been found to have these instructions.
            return unsafe { with_avx2(f) };
        }
    }
    f()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn with_avx512<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_passed_on() {
        let values = [1.0f32, 2.0, 3.0];
        assert_eq!(
            vectorized(
                #[inline(always)]
                || values.iter().sum::<f32>()
            ),
            6.0
        );
    }
}
