//! Attention and cells of recurrent networks.

use fluvial_kernels::{
    Attention, attention, attention_grad, gru_cell, gru_cell_grad, lstm_cell, lstm_cell_grad,
    uniform,
};
use fluvial_tensor::{DType, Error, Result, Tensor};

use crate::{Case, Make};

/// The cases.
pub const CASES: &[(&str, Make)] = &[
    ("attention", forward),
    ("attention_grad", both),
    ("lstm_cell", |sizes| cells(sizes, [4, 1], |[gates, c]| Ok(lstm_cell(gates, c)?.0))),
    ("lstm_cell_grad", |sizes| {
        cells(sizes, [4, 1], |[gates, c]| Ok(lstm_cell_grad(c, c, gates, c)?.0))
    }),
    ("gru_cell", |sizes| cells(sizes, [3, 3, 1], |[x, r, h]| gru_cell(x, r, h))),
    ("gru_cell_grad", |sizes| {
        cells(sizes, [3, 3, 1], |[x, r, h]| Ok(gru_cell_grad(h, x, r, h)?.0))
    }),
];

/// Different numbers for each operand.
fn draw<const N: usize>(dims: [&[usize]; N]) -> Result<[[Tensor; 2]; N]> {
    let mut drawn = Vec::with_capacity(N);
    for (i, dims) in dims.into_iter().enumerate() {
        let x = uniform(7, i as u64, DType::F32, dims, -1.0, 1.0)?;
        let wide = x.cast(DType::F64)?;
        drawn.push([x, wide]);
    }
    drawn.try_into().map_err(|_| Error::internal("as many tensors as shapes"))
}

/// `batch heads len width causal`.
fn operands(sizes: &[usize]) -> Result<([[Tensor; 2]; 4], Attention<'static>)> {
    let &[batch, heads, len, width, causal] = sizes else {
        return Err(Error::argument("the sizes are batch heads len width causal"));
    };
    let options = Attention { causal: causal == 1, ..Attention::default() };
    Ok((draw([&[batch, heads, len, width]; 4])?, options))
}

/// The additions and multiplications of one of the products: queries with keys, or what follows.
fn products(sizes: &[usize]) -> usize {
    let &[batch, heads, len, width, causal] = sizes else { return 0 };
    2 * batch * heads * len * len * width / (1 + causal)
}

fn forward(sizes: &[usize]) -> Result<Case> {
    let ([q, k, v, _], options) = operands(sizes)?;
    let ([q, wide_q], [k, wide_k], [v, wide_v]) = (q, k, v);
    Ok(Case::new(
        move || Ok(attention(&q, &k, &v, &options)?.0),
        move || Ok(attention(&wide_q, &wide_k, &wide_v, &options)?.0),
    )
    .computing(2 * products(sizes)))
}

/// The result and the gradients; the error is that of the queries' gradient.
fn both(sizes: &[usize]) -> Result<Case> {
    let ([q, k, v, grad], options) = operands(sizes)?;
    let ([q, wide_q], [k, wide_k], [v, wide_v], [grad, wide_grad]) = (q, k, v, grad);
    let run = move |grad: &Tensor, q: &Tensor, k: &Tensor, v: &Tensor| {
        let (y, logs) = attention(q, k, v, &options)?;
        Ok(attention_grad(grad, q, k, v, &y, &logs, &options)?.0)
    };
    Ok(Case::new(
        move || run(&grad, &q, &k, &v),
        move || run(&wide_grad, &wide_q, &wide_k, &wide_v),
    )
    .computing(7 * products(sizes)))
}

/// `batch hidden`: a cell with so many gates in each operand.
fn cells<const N: usize>(
    sizes: &[usize],
    gates: [usize; N],
    run: fn([&Tensor; N]) -> Result<Tensor>,
) -> Result<Case> {
    let &[batch, hidden] = sizes else {
        return Err(Error::argument("the sizes are batch hidden"));
    };
    let dims = gates.map(|n| [batch, n * hidden]);
    let mut drawn = draw(std::array::from_fn::<&[usize], N, _>(|i| &dims[i]))?.into_iter();
    let mut pairs = Vec::with_capacity(N);
    pairs.extend(&mut drawn);
    let exact = pairs.clone();
    let numel: usize = pairs.iter().map(|[x, _]| x.numel()).sum();
    let bytes = 4 * (numel + run(std::array::from_fn(|i| &pairs[i][0]))?.numel());
    Ok(Case::new(
        move || run(std::array::from_fn(|i| &pairs[i][0])),
        move || run(std::array::from_fn(|i| &exact[i][1])),
    )
    .moving(bytes))
}
