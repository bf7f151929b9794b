//! Pools.

use fluvial_core::{DType, Dim, Error, Result, Var};
use fluvial_ops::{self as ops, AvgPoolOptions, MaxPoolOptions, PadOptions};

use super::node::Node;
use super::table::Entry;
use super::value::Val;
use super::window::{Windows, sizes};
use crate::fit;

pub const OPS: &[Entry] = &[
    Entry::one("AveragePool", 1, average_pool).refuses("more than three spatial axes"),
    Entry::one("GlobalAveragePool", 1, |n| {
        let x = n.var(0)?;
        ops::mean(&x, &spatial(&x)?, true)
    }),
    Entry::one("GlobalLpPool", 1, |n| {
        let x = n.var(0)?;
        ops::norm(&x, n.int("p", 2) as f64, &spatial(&x)?, true)
    }),
    Entry::one("GlobalMaxPool", 1, |n| {
        let x = n.var(0)?;
        ops::max(&x, &spatial(&x)?, true)
    }),
    Entry::one("LpPool", 1, lp_pool).refuses("more than three spatial axes"),
    Entry::many("MaxPool", 1, max_pool).refuses("more than three spatial axes"),
    Entry::one("MaxUnpool", 9, max_unpool).refuses("sizes that only the run knows"),
];

fn spatial(x: &Var) -> Result<Vec<i64>> {
    match x.rank() {
        0..=2 => Err(Error::shape(format!("{} has no spatial axes", x.ty()))),
        rank => Ok((2..rank as i64).collect()),
    }
}

fn windows(n: &Node<'_>, x: &Var) -> Result<Windows> {
    let kernel = sizes(n, "kernel_shape")?.ok_or_else(|| n.refuse("it has no `kernel_shape`"))?;
    if !(1..=3).contains(&kernel.len()) {
        return Err(n.refuse(format!("{} spatial axes", kernel.len())));
    }
    let mut windows = Windows::new(n, x, kernel)?;
    if n.flag("ceil_mode", false) {
        windows.round_up(x)?;
    }
    Ok(windows)
}

/// The mean over windows: sums over how many elements count.
fn average_pool(n: &Node<'_>) -> Result<Var> {
    let x = n.var(0)?;
    let windows = windows(n, &x)?;
    let counts_padding = n.flag("count_include_pad", false);
    let is_plain = windows.is_even()
        && windows.dilation.iter().all(|&dilation| dilation == 1)
        && windows.before.iter().zip(&windows.kernel).all(|(&pad, &kernel)| 2 * pad <= kernel);
    if is_plain {
        let options = AvgPoolOptions::default()
            .stride(windows.stride.clone())
            .padding(windows.before.clone())
            .count_include_pad(counts_padding);
        let kernel = windows.kernel.clone().into();
        return match windows.kernel.len() {
            1 => ops::avg_pool1d(&x, kernel, options),
            2 => ops::avg_pool2d(&x, kernel, options),
            _ => ops::avg_pool3d(&x, kernel, options),
        };
    }
    let sums = windows.sums(&windows.padded(&x, 0.0)?)?;
    let mut one = vec![Dim::size(1); 2];
    one.extend(&x.dims()[2..]);
    let ones = ops::ones(&one, x.dtype())?;
    let signed = |sizes: &[usize]| sizes.iter().map(|&size| size as i64).collect::<Vec<_>>();
    let ones = match counts_padding {
        true => {
            let (before, after) = (signed(&windows.before), signed(&windows.after));
            let ones = ops::pad(&ones, &before, &after, PadOptions::default().value(1.0))?;
            let nothing = vec![0; windows.extra.len()];
            ops::pad(&ones, &nothing, &signed(&windows.extra), PadOptions::default())?
        }
        false => windows.padded(&ones, 0.0)?,
    };
    ops::div(&sums, &windows.sums(&ones)?)
}

fn lp_pool(n: &Node<'_>) -> Result<Var> {
    let x = n.var(0)?;
    let windows = windows(n, &x)?;
    let p = n.int("p", 2) as f64;
    let powers = ops::pow(&ops::abs(&windows.padded(&x, 0.0)?)?, &x.literal(p))?;
    ops::pow(&windows.sums(&powers)?, &x.literal(1.0 / p))
}

fn max_pool(n: &Node<'_>) -> Result<Vec<Val>> {
    let x = n.var(0)?;
    let own = x.dtype();
    // Eight bits fit into single precision.
    let x = if own.is_float() { x } else { ops::cast(&x, DType::F32)? };
    let windows = windows(n, &x)?;
    let is_plain = windows.is_even()
        && windows.before.iter().zip(&windows.kernel).all(|(&pad, &kernel)| 2 * pad <= kernel);
    let mut options =
        MaxPoolOptions::default().stride(windows.stride.clone()).dilation(windows.dilation.clone());
    let source = match is_plain {
        true => {
            options = options.padding(windows.before.clone());
            x.clone()
        }
        false => windows.padded(&x, f64::NEG_INFINITY)?,
    };
    let kernel = windows.kernel.clone().into();
    if !n.wants(1) {
        let found = match windows.kernel.len() {
            1 => ops::max_pool1d(&source, kernel, options)?,
            2 => ops::max_pool2d(&source, kernel, options)?,
            _ => ops::max_pool3d(&source, kernel, options)?,
        };
        return Ok(vec![ops::cast(&found, own)?.into()]);
    }
    let (found, places) = match windows.kernel.len() {
        1 => ops::max_pool1d_with_indices(&source, kernel, options)?,
        2 => ops::max_pool2d_with_indices(&source, kernel, options)?,
        _ => ops::max_pool3d_with_indices(&source, kernel, options)?,
    };
    // Places on the spatial axes become places in the whole tensor, without the padding.
    let (outer, inner) = (x.dims(), source.dims());
    let axes = windows.kernel.len();
    let number = |dim: Dim| ops::dim_size(dim, DType::I64);
    let mut left = places;
    let mut parts = vec![Var::scalar(0i64); axes];
    for i in (0..axes).rev() {
        let size = number(inner[i + 2])?;
        let shift = if is_plain { 0 } else { windows.before[i] as i64 };
        parts[i] = ops::sub(&ops::remainder(&left, &size)?, &Var::scalar(shift))?;
        left = ops::floor_div(&left, &size)?;
    }
    let order: Vec<usize> = match n.int("storage_order", 0) {
        0 => (0..axes).collect(),
        _ => (0..axes).rev().collect(),
    };
    let channels = fit::count(&outer[..2])?;
    let mut shape = vec![outer[0], outer[1]];
    shape.resize(axes + 2, Dim::size(1));
    let mut flat = ops::reshape(&ops::iota(channels, DType::I64)?, &shape)?;
    for i in order {
        flat = ops::add(&ops::mul(&flat, &number(outer[i + 2])?)?, &parts[i])?;
    }
    Ok(vec![ops::cast(&found, own)?.into(), flat.into()])
}

fn max_unpool(n: &Node<'_>) -> Result<Var> {
    let (x, places) = (n.var(0)?, n.var(1)?);
    let windows = windows(n, &x)?;
    let dims = x.dims();
    let mut sizes = vec![dims[0], dims[1]];
    for i in 0..windows.kernel.len() {
        let size = dims[i + 2].value().ok_or_else(|| n.refuse("a spatial size is not known"))?;
        let full = (size.max(1) - 1) * windows.stride[i] + windows.kernel[i];
        sizes.push(Dim::size(full.saturating_sub(windows.before[i] + windows.after[i])));
    }
    let count = fit::count(&sizes)?;
    let values = ops::flatten(&x, 0, -1)?;
    let zeros = ops::zeros(&[count], x.dtype())?;
    let written = ops::scatter(&zeros, 0, &ops::flatten(&places, 0, -1)?, &values)?;
    let image = ops::reshape(&written, &sizes)?;
    let Some(wanted) = n.known_ints(2)? else { return Ok(image) };
    let more = wanted.iter().zip(&sizes).map(|(&wanted, size)| match size.value() {
        Some(size) => Ok(wanted - size as i64),
        None => Err(n.refuse("a size is not known")),
    });
    let after = more.skip(2).collect::<Result<Vec<i64>>>()?;
    ops::pad(&image, &vec![0; after.len()], &after, PadOptions::default())
}
