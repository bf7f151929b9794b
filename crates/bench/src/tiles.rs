//! Elementwise functions, alone and fused.

use fluvial_kernels::{Body, Reduce, Reduction, S};
use fluvial_tensor::{DType, Error, Result, Tensor};

use crate::{Case, Make, numbers};

/// The cases.
pub const CASES: &[(&str, Make)] = &[
    ("exp", |sizes| one(sizes, |x| x.exp())),
    ("tanh", |sizes| one(sizes, |x| x.tanh())),
    ("log", |sizes| one(sizes, |x| (x.abs() + 0.001).log())),
    ("erf", |sizes| one(sizes, |x| x.erf())),
    ("sigmoid", |sizes| one(sizes, |x| x.sigmoid())),
    ("gelu", |sizes| one(sizes, |x| x.gelu())),
    ("silu", |sizes| one(sizes, |x| x * x.sigmoid())),
    ("silu_alone", |sizes| one(sizes, |x| x.silu())),
    ("gelu_tanh", |sizes| one(sizes, |x| x.gelu_tanh())),
    ("mish", |sizes| one(sizes, |x| x.mish())),
    ("expm1", |sizes| one(sizes, |x| x.expm1())),
    ("sin", |sizes| one(sizes, |x| x.sin())),
    ("cos", |sizes| one(sizes, |x| x.cos())),
    ("pow", |sizes| one(sizes, |x| (x.abs() + 0.001).pow(1.7))),
    ("add", |sizes| two(sizes, sizes, |x, y| x + y)),
    ("tanh_chain", |sizes| two(sizes, sizes, |x, y| (x * y + 1.0).tanh())),
    ("bias_gelu", |sizes| two(sizes, &sizes[sizes.len() - 1..], |x, b| (x + b).gelu())),
    ("distance", distance),
];

fn one(dims: &[usize], f: for<'a> fn(S<'a>) -> S<'a>) -> Result<Case> {
    let x = numbers(DType::F32, dims)?;
    Ok(case(Body::unary(f), vec![x]))
}

fn two(dims: &[usize], second: &[usize], f: for<'a> fn(S<'a>, S<'a>) -> S<'a>) -> Result<Case> {
    let (x, y) = (numbers(DType::F32, dims)?, numbers(DType::F32, second)?);
    Ok(case(Body::binary(f), vec![x, y]))
}

/// One run of a body over tensors of `f32`, of which the first has the shape of the result.
fn case(body: Body, inputs: Vec<Tensor>) -> Case {
    let exact = (body.clone(), inputs.clone());
    let numel = inputs.iter().map(Tensor::numel).sum::<usize>() + inputs[0].numel();
    Case::new(
        move || run(&body, &inputs, DType::F32),
        move || {
            let wide: Result<Vec<Tensor>> = exact.1.iter().map(|x| x.cast(DType::F64)).collect();
            run(&exact.0, &wide?, DType::F64)
        },
    )
    .moving(4 * numel)
}

fn run(body: &Body, inputs: &[Tensor], dtype: DType) -> Result<Tensor> {
    let mut out = Tensor::empty(dtype, inputs[0].dims())?;
    body.run(&inputs.iter().collect::<Vec<_>>(), &[], dtype, &mut out)?;
    Ok(out)
}

/// `n`: the sum of squared differences.
fn distance(sizes: &[usize]) -> Result<Case> {
    let &[n] = sizes else { return Err(Error::argument("the size is n")) };
    let inputs = vec![numbers(DType::F32, &[n])?, numbers(DType::F32, &[n, 1])?.reshape(&[n])?];
    let body = Body::binary(|x, y| {
        let difference = x - y;
        difference * difference
    });
    let exact = (body.clone(), inputs.clone());
    Ok(Case::new(
        move || sum(&body, &inputs, DType::F32),
        move || {
            let wide: Result<Vec<Tensor>> = exact.1.iter().map(|x| x.cast(DType::F64)).collect();
            sum(&exact.0, &wide?, DType::F64)
        },
    )
    .moving(2 * 4 * n))
}

fn sum(body: &Body, inputs: &[Tensor], dtype: DType) -> Result<Tensor> {
    let (dims, kind) = (inputs[0].dims(), Reduce::Sum);
    let reduction = Reduction { dims, dtype, kind, axes: &[0], out_dtype: dtype };
    body.run_reduce(&inputs.iter().collect::<Vec<_>>(), &[], dtype, &reduction)
}
