//! Products of matrices.

use fluvial_kernels::matmul;
use fluvial_tensor::{DType, Result};

use crate::{Case, Make, numbers};

/// The cases.
pub const CASES: &[(&str, Make)] = &[("gemm", gemm)];

/// `m k n`: one product of `f32`.
fn gemm(sizes: &[usize]) -> Result<Case> {
    let &[m, k, n] = sizes else { return Err(fluvial_tensor::Error::argument("sizes are m k n")) };
    let (a, b) = (numbers(DType::F32, &[m, k])?, numbers(DType::F32, &[k, n])?);
    let (wide_a, wide_b) = (a.cast(DType::F64)?, b.cast(DType::F64)?);
    Ok(Case::new(move || matmul(&a, &b, DType::F32), move || matmul(&wide_a, &wide_b, DType::F64)))
}
