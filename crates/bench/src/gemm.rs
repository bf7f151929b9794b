//! Products of matrices.

use fluvial_kernels::{Activation, Epilogue, matmul, matmul_with};
use fluvial_tensor::{DType, Error, Result, Tensor};

use crate::{Case, Make, numbers};

/// The cases.
pub const CASES: &[(&str, Make)] = &[
    ("gemm", |sizes| counted(sizes, gemm)),
    ("gemm_nt", |sizes| counted(sizes, gemm_nt)),
    ("gemm_tn", |sizes| counted(sizes, gemm_tn)),
    ("gemm_bf16", |sizes| counted(sizes, gemm_bf16)),
    ("linear_relu", |sizes| counted(sizes, linear_relu)),
    ("bmm", |sizes| counted(sizes, bmm)),
    ("bmm_nt", |sizes| counted(sizes, bmm_nt)),
];

/// A case of these sizes, all of which multiply its work.
fn counted(sizes: &[usize], make: Make) -> Result<Case> {
    Ok(make(sizes)?.computing(2 * sizes.iter().product::<usize>()))
}

/// Three sizes: `m k n`.
fn three(sizes: &[usize]) -> Result<[usize; 3]> {
    sizes.try_into().map_err(|_| Error::argument("sizes are m k n"))
}

/// A product of these tensors, beside that in `f64`.
fn product(a: Tensor, b: Tensor) -> Result<Case> {
    let (wide_a, wide_b) = (a.cast(DType::F64)?, b.cast(DType::F64)?);
    Ok(Case::new(move || matmul(&a, &b, DType::F32), move || matmul(&wide_a, &wide_b, DType::F64)))
}

/// `m k n`: one product of `f32`.
fn gemm(sizes: &[usize]) -> Result<Case> {
    let [m, k, n] = three(sizes)?;
    product(numbers(DType::F32, &[m, k])?, numbers(DType::F32, &[k, n])?)
}

/// `m k n`, the right matrix transposed, as in a linear layer.
fn gemm_nt(sizes: &[usize]) -> Result<Case> {
    let [m, k, n] = three(sizes)?;
    let b = numbers(DType::F32, &[n, k])?.transpose(0, 1)?;
    product(numbers(DType::F32, &[m, k])?, b)
}

/// `m k n`, the left matrix transposed, as in a gradient of weights.
fn gemm_tn(sizes: &[usize]) -> Result<Case> {
    let [m, k, n] = three(sizes)?;
    let a = numbers(DType::F32, &[k, m])?.transpose(0, 1)?;
    product(a, numbers(DType::F32, &[k, n])?)
}

/// `m k n`: one product of `bf16`.
fn gemm_bf16(sizes: &[usize]) -> Result<Case> {
    let [m, k, n] = three(sizes)?;
    let (a, b) = (numbers(DType::BF16, &[m, k])?, numbers(DType::BF16, &[k, n])?);
    let (wide_a, wide_b) = (a.cast(DType::F64)?, b.cast(DType::F64)?);
    Ok(Case::new(move || matmul(&a, &b, DType::BF16), move || matmul(&wide_a, &wide_b, DType::F64)))
}

/// `m k n`: a linear layer with bias and relu.
fn linear_relu(sizes: &[usize]) -> Result<Case> {
    let [m, k, n] = three(sizes)?;
    let a = numbers(DType::F32, &[m, k])?;
    let b = numbers(DType::F32, &[n, k])?.transpose(0, 1)?;
    let bias = numbers(DType::F32, &[n])?;
    let wide = [a.cast(DType::F64)?, b.cast(DType::F64)?, bias.cast(DType::F64)?];
    let layer = |a: &Tensor, b: &Tensor, bias: &Tensor| {
        let activation = Some(Activation::Relu);
        matmul_with(
            a,
            b,
            a.dtype(),
            &Epilogue { bias: Some(bias), activation, ..Default::default() },
        )
    };
    Ok(Case::new(move || layer(&a, &b, &bias), move || layer(&wide[0], &wide[1], &wide[2])))
}

/// `count m k n`: a batch of products.
fn bmm(sizes: &[usize]) -> Result<Case> {
    let &[count, m, k, n] = sizes else { return Err(Error::argument("sizes are count m k n")) };
    let (a, b) = (numbers(DType::F32, &[count, m, k])?, numbers(DType::F32, &[count, k, n])?);
    product(a, b)
}

/// `count m k n`, the right matrices transposed, as queries and keys of attention are.
fn bmm_nt(sizes: &[usize]) -> Result<Case> {
    let &[count, m, k, n] = sizes else { return Err(Error::argument("sizes are count m k n")) };
    let b = numbers(DType::F32, &[count, n, k])?.transpose(1, 2)?;
    product(numbers(DType::F32, &[count, m, k])?, b)
}
