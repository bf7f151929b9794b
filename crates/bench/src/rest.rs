//! Reductions, normalisations, order, random numbers, rows by number and optimizer updates.

use fluvial_kernels::{
    Adam, WeightDecay, adam, batch_norm, cross_entropy, layer_norm, layer_norm_grad,
};
use fluvial_kernels::{Reduce, Softmax, arg_reduce, argsort, gather, index_add, reduce, softmax};
use fluvial_kernels::{Scan, Window, avg_pool, avg_pool_spread, bernoulli, concat, logsumexp};
use fluvial_kernels::{max_pool, normal, pool_scatter, scan, scatter_slice};
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
    ("layer_norm_grad", layers_grad),
    ("batch_norm", batches),
    ("cross_entropy", entropy),
    ("adam", optimizer),
    ("gather", rows),
    ("index_add", rows_grad),
    ("sort", sort),
    ("topk", topk),
    ("uniform", random),
    ("normal", |sizes| drawn(sizes, |sizes| normal(1, 2, DType::F32, sizes, 0.0, 1.0))),
    ("bernoulli", |sizes| drawn(sizes, |sizes| bernoulli(1, 2, sizes, 0.9))),
    ("logsumexp", log_sum),
    ("cumsum", running),
    ("cat", joined),
    ("pad", padded),
    ("max_pool", |sizes| pooled(sizes, |x, w| Ok(max_pool(x, w)?.0))),
    ("avg_pool", |sizes| pooled(sizes, avg_pool)),
    ("max_pool_grad", pooled_grad),
    ("avg_pool_grad", |sizes| {
        pooled(sizes, |x, w| avg_pool_spread(&window_starts(x, w)?, w, &x.dims()[x.rank() - 2..]))
    }),
];

fn matrix(sizes: &[usize]) -> Result<(Tensor, Tensor)> {
    let x = numbers(DType::F32, sizes)?;
    let wide = x.cast(DType::F64)?;
    Ok((x, wide))
}

/// The bytes of a tensor of `f32`.
fn bytes(sizes: &[usize]) -> usize {
    4 * sizes.iter().product::<usize>()
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
    )
    .moving(4 * m * n))
}

/// `m n axis`.
fn argmax(sizes: &[usize]) -> Result<Case> {
    let &[m, n, axis] = sizes else { return Err(wrong_sizes()) };
    let (x, wide) = matrix(&[m, n])?;
    Ok(Case::new(move || arg_reduce(true, &x, axis), move || arg_reduce(true, &wide, axis))
        .moving(4 * m * n))
}

/// `m n`: a copy of the transposed matrix.
fn transpose(sizes: &[usize]) -> Result<Case> {
    let (x, wide) = matrix(sizes)?;
    let (x, wide) = (x.transpose(0, 1)?, wide.transpose(0, 1)?);
    Ok(Case::new(move || x.contiguous(), move || wide.contiguous()).moving(2 * bytes(sizes)))
}

/// `m n`.
fn softmaxes(kind: Softmax, sizes: &[usize]) -> Result<Case> {
    let (x, wide) = matrix(sizes)?;
    Ok(Case::new(move || softmax(kind, &x, 1), move || softmax(kind, &wide, 1))
        .moving(2 * bytes(sizes)))
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
    )
    .moving(2 * bytes(sizes)))
}

/// `rows n`: the gradient of the elements, and those of weight and bias on the way.
fn layers_grad(sizes: &[usize]) -> Result<Case> {
    let (x, wide) = matrix(sizes)?;
    let n = sizes[1];
    let (weight, wide_weight) = matrix(&[n])?;
    let gradient = move |x: &Tensor, weight: &Tensor| {
        let (_, mean, rstd) = layer_norm(x, n, Some(weight), None, 1e-5)?;
        let (x, weight) = (x.clone(), weight.clone());
        Ok(move || Ok(layer_norm_grad(&x, &x, &mean, &rstd, Some(&weight), n)?.0))
    };
    let (run, exact) = (gradient(&x, &weight)?, gradient(&wide, &wide_weight)?);
    Ok(Case::new(run, exact).moving(3 * bytes(sizes)))
}

/// `batch channels height width`.
fn batches(sizes: &[usize]) -> Result<Case> {
    let (x, wide) = matrix(sizes)?;
    let (weight, wide_weight) = matrix(&[sizes[1]])?;
    Ok(Case::new(
        move || Ok(batch_norm(&x, Some(&weight), Some(&weight), 1e-5)?.0),
        move || Ok(batch_norm(&wide, Some(&wide_weight), Some(&wide_weight), 1e-5)?.0),
    )
    .moving(2 * bytes(sizes)))
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
    )
    .moving(2 * bytes(sizes)))
}

/// `n count`: a step over `count` parameters of `n` elements.
fn optimizer(sizes: &[usize]) -> Result<Case> {
    let &[n, count] = sizes else { return Err(wrong_sizes()) };
    let settings =
        Adam { betas: (0.9, 0.999), eps: 1e-8, amsgrad: false, decay: WeightDecay::default() };
    let draw = |low: f64| -> Result<Vec<Tensor>> {
        (0..count).map(|i| uniform(7, i as u64, DType::F32, &[n], low, 1.0)).collect()
    };
    let mut changed = [draw(-1.0)?, draw(-0.1)?, draw(0.0)?].concat();
    let given = [draw(-0.5)?, [1e-3f32, 0.7, 0.1].map(Tensor::scalar).to_vec()].concat();
    let one = || Ok(Tensor::scalar(1.0f32));
    Ok(Case::new(
        move || {
            adam(&settings, &mut changed, &given.iter().collect::<Vec<_>>())?;
            one()
        },
        one,
    )
    .moving(7 * bytes(sizes)))
}

/// `rows width ids`.
fn rows(sizes: &[usize]) -> Result<Case> {
    let &[rows, width, ids] = sizes else { return Err(wrong_sizes()) };
    let (x, wide) = matrix(&[rows, width])?;
    let index = randint(3, 1, DType::I64, &[ids], 0, rows as i64)?;
    let other = index.clone();
    Ok(Case::new(move || gather(&x, 0, &index), move || gather(&wide, 0, &other))
        .moving(2 * 4 * ids * width))
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
    )
    .moving(4 * (ids + rows) * width))
}

/// `n`.
fn sort(sizes: &[usize]) -> Result<Case> {
    let (x, wide) = matrix(sizes)?;
    Ok(Case::new(move || argsort(&x, 0, false), move || argsort(&wide, 0, false))
        .moving((4 + 8) * sizes[0]))
}

/// `n k`.
fn topk(sizes: &[usize]) -> Result<Case> {
    let &[n, k] = sizes else { return Err(wrong_sizes()) };
    let (x, wide) = matrix(&[n])?;
    Ok(Case::new(move || top_positions(&x, k, 0, true), move || top_positions(&wide, k, 0, true))
        .moving(4 * n))
}

/// Any sizes.
fn drawn(sizes: &[usize], draw: fn(&[usize]) -> Result<Tensor>) -> Result<Case> {
    let len = draw(sizes)?.dtype().size() * sizes.iter().product::<usize>();
    let (sizes, again) = (sizes.to_vec(), sizes.to_vec());
    Ok(Case::new(move || draw(&sizes), move || draw(&again)).moving(len))
}

/// `m n axis`.
fn log_sum(sizes: &[usize]) -> Result<Case> {
    let &[m, n, axis] = sizes else { return Err(wrong_sizes()) };
    let (x, wide) = matrix(&[m, n])?;
    Ok(Case::new(
        move || logsumexp(&x, &[axis], DType::F32),
        move || logsumexp(&wide, &[axis], DType::F64),
    )
    .moving(4 * m * n))
}

/// `m n axis`.
fn running(sizes: &[usize]) -> Result<Case> {
    let &[m, n, axis] = sizes else { return Err(wrong_sizes()) };
    let (x, wide) = matrix(&[m, n])?;
    Ok(Case::new(
        move || scan(Scan::Sum, &x, axis, false, DType::F32),
        move || scan(Scan::Sum, &wide, axis, false, DType::F64),
    )
    .moving(2 * 4 * m * n))
}

/// `m n axis`: two matrices beside each other.
fn joined(sizes: &[usize]) -> Result<Case> {
    let &[m, n, axis] = sizes else { return Err(wrong_sizes()) };
    let (x, wide) = matrix(&[m, n])?;
    Ok(Case::new(move || concat(&[&x, &x], axis), move || concat(&[&wide, &wide], axis))
        .moving(4 * 4 * m * n))
}

/// `m n by`: zeros before and after each row.
fn padded(sizes: &[usize]) -> Result<Case> {
    let &[m, n, by] = sizes else { return Err(wrong_sizes()) };
    let (x, wide) = matrix(&[m, n])?;
    let dims = [m, n + 2 * by];
    Ok(Case::new(
        move || scatter_slice(&x, &dims, 1, by, 1),
        move || scatter_slice(&wide, &dims, 1, by, 1),
    )
    .moving(4 * m * (2 * n + 2 * by)))
}

/// Windows of 3 elements at distances of 2 on an axis with one element of padding.
fn windows(size: usize) -> Vec<Window> {
    let window = |i: usize| {
        let (start, end) = ((2 * i).saturating_sub(1), (2 * i + 2).min(size));
        Window { start, len: end - start, step: 1, divisor: 3 }
    };
    (0..(size - 1) / 2 + 1).map(window).collect()
}

/// An element for each window.
fn window_starts(x: &Tensor, windows: &[Vec<Window>]) -> Result<Tensor> {
    let rank = x.rank();
    let lines = x.slice(rank - 2, 0, windows[0].len(), 1)?;
    lines.slice(rank - 1, 0, windows[1].len(), 1)
}

/// `batch channels height width`.
fn pooled(sizes: &[usize], pool: fn(&Tensor, &[Vec<Window>]) -> Result<Tensor>) -> Result<Case> {
    let &[.., height, width] = sizes else { return Err(wrong_sizes()) };
    let (x, wide) = matrix(sizes)?;
    let axes = [windows(height), windows(width)];
    let others = axes.clone();
    Ok(Case::new(move || pool(&x, &axes), move || pool(&wide, &others))
        .moving(bytes(sizes) + bytes(sizes) / 4))
}

/// `batch channels height width`.
fn pooled_grad(sizes: &[usize]) -> Result<Case> {
    let &[.., height, width] = sizes else { return Err(wrong_sizes()) };
    let (x, _) = matrix(sizes)?;
    let (values, places) = max_pool(&x, &[windows(height), windows(width)])?;
    let (wide, others) = (values.cast(DType::F64)?, places.clone());
    Ok(Case::new(
        move || pool_scatter(&values, &places, &[height, width]),
        move || pool_scatter(&wide, &others, &[height, width]),
    )
    .moving(bytes(sizes) + bytes(sizes) / 4))
}

/// `n`.
fn random(sizes: &[usize]) -> Result<Case> {
    let len = bytes(sizes);
    let sizes = sizes.to_vec();
    let again = sizes.clone();
    Ok(Case::new(
        move || uniform(1, 2, DType::F32, &sizes, 0.0, 1.0),
        move || uniform(1, 2, DType::F32, &again, 0.0, 1.0),
    )
    .moving(len))
}
