//! Functions over axes.

use fluvial_core::{Dim, Result, Var};
use fluvial_ops as ops;
use fluvial_ops::reduce::QuantileRule;

use super::Arguments;
use crate::expr::item::Item;

pub fn reduced(
    f: fn(&Var, &[i64], bool) -> Result<Var>,
    arguments: &mut Arguments,
) -> Result<Item> {
    let x = arguments.var()?;
    let keepdims = arguments.flag("keepdims", false)?;
    f(&x, &arguments.axes()?, keepdims).map(Item::Var)
}

pub fn std(arguments: &mut Arguments) -> Result<Item> {
    spread(ops::std, arguments)
}

pub fn var(arguments: &mut Arguments) -> Result<Item> {
    spread(ops::var, arguments)
}

fn spread(
    f: fn(&Var, &[i64], bool, f64) -> Result<Var>,
    arguments: &mut Arguments,
) -> Result<Item> {
    let x = arguments.var()?;
    let keepdims = arguments.flag("keepdims", false)?;
    let correction = arguments.named_float("correction", 0.0)?;
    f(&x, &arguments.axes()?, keepdims, correction).map(Item::Var)
}

pub fn norm(arguments: &mut Arguments) -> Result<Item> {
    let x = arguments.var()?;
    let keepdims = arguments.flag("keepdims", false)?;
    let p = arguments.float("p")?.unwrap_or(2.0);
    ops::norm(&x, p, &arguments.axes()?, keepdims).map(Item::Var)
}

pub fn quantile(arguments: &mut Arguments) -> Result<Item> {
    let x = arguments.var()?;
    let keepdims = arguments.flag("keepdims", false)?;
    let q = arguments.float("q")?.unwrap_or(0.5);
    ops::quantile(&x, q, &arguments.axes()?, keepdims, QuantileRule::Linear).map(Item::Var)
}

pub fn argmax(arguments: &mut Arguments) -> Result<Item> {
    position(ops::argmax, arguments)
}

pub fn argmin(arguments: &mut Arguments) -> Result<Item> {
    position(ops::argmin, arguments)
}

/// Without an axis, the number of the element in row-major order.
fn position(f: fn(&Var, i64, bool) -> Result<Var>, arguments: &mut Arguments) -> Result<Item> {
    let x = arguments.var()?;
    let keepdims = arguments.flag("keepdims", false)?;
    let found = match arguments.axes()?[..] {
        [axis] => f(&x, axis, keepdims)?,
        _ => {
            let count = x.ty().numel().unwrap_or(0);
            f(&ops::reshape(&x, &[Dim::size(count)])?, 0, false)?
        }
    };
    Ok(Item::Var(found))
}
