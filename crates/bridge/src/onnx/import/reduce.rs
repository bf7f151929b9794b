//! Reductions and sums along axes.

use fluvial_core::{DType, Result, Var, Whole};
use fluvial_ops as ops;

use super::node::{Node, front};
use super::table::Entry;
use super::value::Sizes;

pub const OPS: &[Entry] = &[
    Entry::one("ArgMax", 1, |n| arg(n, ops::argmax)),
    Entry::one("ArgMin", 1, |n| arg(n, ops::argmin)),
    Entry::one("CumProd", 26, |n| cumulative(n, ops::cumprod, 1.0)),
    Entry::one("CumSum", 11, |n| cumulative(n, ops::cumsum, 0.0)),
    Entry::one("ReduceL1", 1, |n| reduce(n, |x, axes, keep| ops::sum(&ops::abs(x)?, axes, keep))),
    Entry::one("ReduceL2", 1, |n| {
        reduce(n, |x, axes, keep| {
            let own = x.dtype();
            let x = if own.is_float() { x.clone() } else { ops::cast(x, DType::F64)? };
            ops::cast(&ops::sqrt(&ops::sum(&ops::square(&x)?, axes, keep)?)?, own)
        })
    }),
    Entry::one("ReduceLogSum", 1, |n| {
        reduce(n, |x, axes, keep| ops::log(&ops::sum(x, axes, keep)?))
    }),
    Entry::one("ReduceLogSumExp", 1, |n| {
        reduce(n, |x, axes, keep| {
            let own = x.dtype();
            let x = if own.is_float() { x.clone() } else { ops::cast(x, DType::F64)? };
            ops::cast(&ops::logsumexp(&x, axes, keep)?, own)
        })
    }),
    Entry::one("ReduceMax", 1, |n| reduce(n, |x, axes, keep| extreme(x, axes, keep, true))),
    Entry::one("ReduceMean", 1, |n| {
        reduce(n, |x, axes, keep| {
            let own = x.dtype();
            match own.is_float() {
                true => ops::mean(x, axes, keep),
                false => ops::cast(&ops::mean(&ops::cast(x, DType::F64)?, axes, keep)?, own),
            }
        })
    }),
    Entry::one("ReduceMin", 1, |n| reduce(n, |x, axes, keep| extreme(x, axes, keep, false))),
    Entry::one("ReduceProd", 1, |n| reduce(n, ops::prod))
        .sizes(|n, s| whole(n, s, Whole::Number(1), Whole::mul)),
    Entry::one("ReduceSum", 1, |n| reduce(n, ops::sum))
        .sizes(|n, s| whole(n, s, Whole::Number(0), Whole::add)),
    Entry::one("ReduceSumSquare", 1, |n| {
        reduce(n, |x, axes, keep| ops::sum(&ops::mul(x, x)?, axes, keep))
    }),
];

type Reduction = fn(&Var, &[i64], bool) -> Result<Var>;

fn reduce(n: &Node<'_>, f: Reduction) -> Result<Var> {
    let x = n.var(0)?;
    let own = x.dtype();
    let keep = n.flag("keepdims", true);
    let axes = n.ints_of("axes", 1)?.unwrap_or_default();
    if axes.is_empty() && n.flag("noop_with_empty_axes", false) {
        // Nothing is taken together, but what is done to each element is done.
        let single = ops::unsqueeze(&x, -1)?;
        return ops::cast(&f(&single, &[-1], false)?, own);
    }
    let x = if own.is_bool() { ops::cast(&x, DType::U8)? } else { x };
    ops::cast(&f(&x, &axes, keep)?, own)
}

fn extreme(x: &Var, axes: &[i64], keep: bool, greatest: bool) -> Result<Var> {
    let reduced: Vec<usize> = match axes.is_empty() {
        true => (0..x.rank()).collect(),
        false => axes.iter().map(|&axis| front(axis, x.rank())).collect::<Result<_>>()?,
    };
    let dims = x.dims();
    let is_empty = reduced.iter().any(|&axis| dims[axis].value() == Some(0));
    if is_empty {
        // The end of the type that is beyond all others.
        let left = ops::sum(x, axes, keep)?.dims();
        let (low, high) = match x.dtype().range() {
            Some((least, most)) => (least as f64, most as f64),
            None => (f64::NEG_INFINITY, f64::INFINITY),
        };
        return ops::full(&left, if greatest { low } else { high }, x.dtype());
    }
    if greatest { ops::max(x, axes, keep) } else { ops::min(x, axes, keep) }
}

fn whole(
    n: &Node<'_>,
    inputs: &[Option<Sizes>],
    first: Whole,
    f: fn(Whole, Whole) -> Result<Whole>,
) -> Result<Option<Sizes>> {
    let Some(Some(x)) = inputs.first() else { return Ok(None) };
    if x.dims.len() > 1 || n.flag("noop_with_empty_axes", false) {
        return Ok(None);
    }
    let item = x.items.iter().try_fold(first, |so_far, &item| f(so_far, item))?;
    let dims = if n.flag("keepdims", true) { vec![1; x.dims.len()] } else { Vec::new() };
    Ok(Some(Sizes { items: vec![item], dims, dtype: x.dtype }))
}

fn arg(n: &Node<'_>, f: fn(&Var, i64, bool) -> Result<Var>) -> Result<Var> {
    let x = n.var(0)?;
    let (axis, keep) = (n.axis(0, x.rank())?, n.flag("keepdims", true));
    if !n.flag("select_last_index", false) {
        return f(&x, axis as i64, keep);
    }
    let place = f(&ops::flip(&x, &[axis as i64])?, axis as i64, keep)?;
    let last = ops::dim_size(x.dims()[axis], DType::I64)?;
    ops::sub(&(&last - 1.0).check()?, &place)
}

fn cumulative(n: &Node<'_>, f: fn(&Var, i64) -> Result<Var>, empty: f64) -> Result<Var> {
    let x = n.var(0)?;
    let axis = n.known_ints(1)?.and_then(|axis| axis.first().copied()).unwrap_or(0);
    let axis = front(axis, x.rank())?;
    let along = axis as i64;
    let is_reverse = n.flag("reverse", false);
    let turned = |x: &Var| if is_reverse { ops::flip(x, &[along]) } else { Ok(x.clone()) };
    let mut sums = f(&turned(&x)?, along)?;
    if n.flag("exclusive", false) {
        let size = x.dims()[axis];
        let mut one = x.dims();
        one[axis] = fluvial_core::Dim::size(1);
        let first = ops::full(&one, empty, sums.dtype())?;
        sums = ops::concat(&[&first, &sums], along)?;
        sums = ops::narrow(&sums, along, fluvial_core::Dim::size(0), size)?;
    }
    ops::cast(&turned(&sums)?, x.dtype())
}
