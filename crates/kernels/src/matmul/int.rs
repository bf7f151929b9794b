//! Products of integers, which wrap.

use fluvial_tensor::Result;

use super::matrix::Sizes;
use super::own::Part;
use crate::scalar::compute::Compute;
use crate::simd::vectorized;

/// The rows of `b` are contiguous.
pub(super) fn product<T: Compute>(part: Part<T>) -> Result<()> {
    let Part { sizes: Sizes { m, k, n }, a, b, out, out_row, .. } = part;
    vectorized(
        #[inline(always)]
        || {
            for i in 0..m {
                // SAFETY: the output has this row of `n` elements, to which nothing else refers.
                let out =
                    unsafe { std::slice::from_raw_parts_mut(out.wrapping_add(i * out_row), n) };
                out.fill(T::default());
                for p in 0..k {
                    // SAFETY: `i` and `p` are a row and a column of `a`, and `p` a row of `b`, which
                    // has `n` elements.
                    let (factor, row) = unsafe {
                        let row = b.from(p, 0).data;
                        (*a.from(i, p).data, std::slice::from_raw_parts(row, n))
                    };
                    out.iter_mut().zip(row).for_each(|(sum, &b)| *sum = sum.plus(factor.times(b)));
                }
            }
        },
    );
    Ok(())
}
