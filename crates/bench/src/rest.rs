//! Reductions, normalisations, order, random numbers, rows by number and optimizer updates.

use fluvial_kernels::{Adam, adam, batch_norm, cross_entropy, layer_norm};
use fluvial_kernels::{Reduce, Softmax, arg_reduce, argsort, gather, index_add, reduce, softmax};
use fluvial_kernels::{randint, top_positions, uniform};
use fluvial_tensor::{DType, Error, Result, Tensor};

use crate::{Case, Make, numbers};

/// The cases.
pub const CASES: &[(&str, Make)] = &[
    ("sum", |sizes| reduction(Reduce::Sum, sizes)),
    ("max", |sizes| reduction(Reduce::Max, sizes)),
    ("argmax", argmax),
    ("transpose", transpose),
    ("softmax", |sizes| softmaxes(Softmax::Plain, sizes)),
    ("log_softmax", |sizes| softmaxes(Softmax::Log, sizes)),
    ("layer_norm", layers),
    ("batch_norm", batches),
    ("cross_entropy", entropy),
    ("adam", optimizer),
    ("gather", rows),
    ("index_add", rows_grad),
    ("sort", sort),
    ("topk", topk),
    ("uniform", random),
];

fn matrix(sizes: &[usize]) -> Result<(Tensor, Tensor)> {
    let x = numbers(DType::F32, sizes)?;
    let wide = x.cast(DType::F64)?;
    Ok((x, wide))
}

fn wrong_sizes() -> Error {
    Error::argument("these are not the sizes of the case")
}

/// `m n axis`, where axis 2 means both.
fn reduction(kind: Reduce, sizes: &[usize]) -> Result<Case> {
    let &[m, n, axis] = sizes else { return Err(wrong_sizes()) };
    let (x, wide) = matrix(&[m, n])?;
    let axes = if axis == 2 { vec![0, 1] } else { vec![axis] };
    let others = axes.clone();
    Ok(Case::new(
        move || reduce(kind, &x, &axes, DType::F32),
        move || reduce(kind, &wide, &others, DType::F64),
    ))
}

/// `m n axis`.
fn argmax(sizes: &[usize]) -> Result<Case> {
    let &[m, n, axis] = sizes else { return Err(wrong_sizes()) };
    let (x, wide) = matrix(&[m, n])?;
    Ok(Case::new(move || arg_reduce(true, &x, axis), move || arg_reduce(true, &wide, axis)))
}

/// `m n`: a copy of the transposed matrix.
fn transpose(sizes: &[usize]) -> Result<Case> {
    let (x, wide) = matrix(sizes)?;
    let (x, wide) = (x.transpose(0, 1)?, wide.transpose(0, 1)?);
    Ok(Case::new(move || x.contiguous(), move || wide.contiguous()))
}

/// `m n`.
fn softmaxes(kind: Softmax, sizes: &[usize]) -> Result<Case> {
    let (x, wide) = matrix(sizes)?;
    Ok(Case::new(move || softmax(kind, &x, 1), move || softmax(kind, &wide, 1)))
}

/// `m n`.
fn layers(sizes: &[usize]) -> Result<Case> {
    let (x, wide) = matrix(sizes)?;
    let n = sizes[1];
    let (weight, bias) = matrix(&[n])?;
    let (wide_weight, wide_bias) = (bias.clone(), bias.clone());
    let bias = bias.cast(DType::F32)?;
    Ok(Case::new(
        move || Ok(layer_norm(&x, n, Some(&weight), Some(&bias), 1e-5)?.0),
        move || Ok(layer_norm(&wide, n, Some(&wide_weight), Some(&wide_bias), 1e-5)?.0),
    ))
}

/// `batch channels height width`.
fn batches(sizes: &[usize]) -> Result<Case> {
    let (x, wide) = matrix(sizes)?;
    let (weight, wide_weight) = matrix(&[sizes[1]])?;
    Ok(Case::new(
        move || Ok(batch_norm(&x, Some(&weight), Some(&weight), 1e-5)?.0),
        move || Ok(batch_norm(&wide, Some(&wide_weight), Some(&wide_weight), 1e-5)?.0),
    ))
}

/// `rows classes`: losses and gradient.
fn entropy(sizes: &[usize]) -> Result<Case> {
    let &[rows, n] = sizes else { return Err(wrong_sizes()) };
    let (x, wide) = matrix(sizes)?;
    let classes = randint(3, 1, DType::I64, &[rows], 0, n as i64)?;
    let other = classes.clone();
    let scale = 1.0 / rows as f64;
    Ok(Case::new(
        move || Ok(cross_entropy(&x, &classes, scale, None)?.1),
        move || Ok(cross_entropy(&wide, &other, scale, None)?.1),
    ))
}

/// `n count`: a step over `count` parameters of `n` elements.
fn optimizer(sizes: &[usize]) -> Result<Case> {
    let &[n, count] = sizes else { return Err(wrong_sizes()) };
    let settings = Adam {
        lr: 1e-3,
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-8,
        decay: 0.0,
        decoupled: false,
        step: 10,
    };
    let draw = |low: f64| -> Result<Vec<Tensor>> {
        (0..count).map(|i| uniform(7, i as u64, DType::F32, &[n], low, 1.0)).collect()
    };
    let (mut params, grads, mut means, mut squares) =
        (draw(-1.0)?, draw(-0.5)?, draw(-0.1)?, draw(0.0)?);
    let one = || Ok(Tensor::scalar(1.0f32));
    Ok(Case::new(
        move || {
            adam(&settings, &mut params, &grads, &mut means, &mut squares)?;
            one()
        },
        one,
    ))
}

/// `rows width ids`.
fn rows(sizes: &[usize]) -> Result<Case> {
    let &[rows, width, ids] = sizes else { return Err(wrong_sizes()) };
    let (x, wide) = matrix(&[rows, width])?;
    let index = randint(3, 1, DType::I64, &[ids], 0, rows as i64)?;
    let other = index.clone();
    Ok(Case::new(move || gather(&x, 0, &index), move || gather(&wide, 0, &other)))
}

/// `rows width ids`.
fn rows_grad(sizes: &[usize]) -> Result<Case> {
    let &[rows, width, ids] = sizes else { return Err(wrong_sizes()) };
    let (x, wide) = matrix(&[ids, width])?;
    let index = randint(3, 1, DType::I64, &[ids], 0, rows as i64)?;
    let other = index.clone();
    Ok(Case::new(
        move || index_add(&[rows, width], 0, &index, &x),
        move || index_add(&[rows, width], 0, &other, &wide),
    ))
}

/// `n`.
fn sort(sizes: &[usize]) -> Result<Case> {
    let (x, wide) = matrix(sizes)?;
    Ok(Case::new(move || argsort(&x, 0, false), move || argsort(&wide, 0, false)))
}

/// `n k`.
fn topk(sizes: &[usize]) -> Result<Case> {
    let &[n, k] = sizes else { return Err(wrong_sizes()) };
    let (x, wide) = matrix(&[n])?;
    Ok(Case::new(move || top_positions(&x, k, 0, true), move || top_positions(&wide, k, 0, true)))
}

/// `n`.
fn random(sizes: &[usize]) -> Result<Case> {
    let sizes = sizes.to_vec();
    let again = sizes.clone();
    Ok(Case::new(
        move || uniform(1, 2, DType::F32, &sizes, 0.0, 1.0),
        move || uniform(1, 2, DType::F32, &again, 0.0, 1.0),
    ))
}
