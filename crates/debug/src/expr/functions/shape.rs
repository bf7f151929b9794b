//! Functions that sort, turn, choose and join.

use fluvial_core::{Dim, Error, Result, Var, broadcast};
use fluvial_ops as ops;

use super::Arguments;
use crate::expr::ast::Binary;
use crate::expr::item::{Item, bounded};
use crate::expr::operators::{beside, binary, plain};
use crate::inspect::Stats;

pub fn argsort(arguments: &mut Arguments) -> Result<Item> {
    let x = arguments.var()?;
    let descending = arguments.flag("descending", false)?;
    ops::argsort(&x, arguments.axis(-1)?, descending).map(Item::Var)
}

pub fn sort(arguments: &mut Arguments) -> Result<Item> {
    let x = arguments.var()?;
    let descending = arguments.flag("descending", false)?;
    Ok(Item::Var(ops::sort(&x, arguments.axis(-1)?, descending)?.0))
}

pub fn topk(arguments: &mut Arguments) -> Result<Item> {
    let x = arguments.var()?;
    let k = natural("k", arguments.int("k", None)?)?;
    let largest = arguments.flag("largest", true)?;
    Ok(Item::Var(ops::topk(&x, k, arguments.axis(-1)?, largest)?.0))
}

pub fn unique(arguments: &mut Arguments) -> Result<Item> {
    Ok(Item::Var(ops::unique(&arguments.var()?)?.0))
}

/// Counts; without a range, that of the finite elements.
pub fn histogram(arguments: &mut Arguments) -> Result<Item> {
    let x = arguments.var()?;
    let bins = natural("bins", arguments.int("bins", Some(10))?)?;
    if bins > 100_000 {
        return Err(
            Error::argument(format!("{bins} bins are too many")).remedy("ask for at most 100000")
        );
    }
    let (low, high) = (arguments.float("low")?, arguments.float("high")?);
    let (low, high) = match (low, high) {
        (Some(low), Some(high)) => (low, high),
        (low, high) => {
            let stats = Stats::of(x.value()?)?;
            let wide = if stats.min == stats.max { 0.5 } else { 0.0 };
            (low.unwrap_or(stats.min - wide), high.unwrap_or(stats.max + wide))
        }
    };
    Ok(Item::Var(ops::histogram(&x, bins, low, high)?.0))
}

pub fn flatten(arguments: &mut Arguments) -> Result<Item> {
    let x = arguments.var()?;
    let count = x.tensor()?.numel();
    ops::reshape(&x, &[Dim::size(count)]).map(Item::Var)
}

pub fn permute(arguments: &mut Arguments) -> Result<Item> {
    let x = arguments.var()?;
    ops::permute(&x, &arguments.sizes()?).map(Item::Var)
}

/// One size may be -1: what is left.
pub fn reshape(arguments: &mut Arguments) -> Result<Item> {
    let x = arguments.var()?;
    let mut sizes = arguments.sizes()?;
    let count = x.tensor()?.numel();
    let known =
        sizes.iter().filter(|size| **size != -1).try_fold(1i64, |n, &size| n.checked_mul(size));
    let known = known.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    if let Some(open) = sizes.iter().position(|size| *size == -1)
        && known > 0
        && count.is_multiple_of(known)
    {
        sizes[open] = (count / known) as i64;
    }
    let dims: Result<Vec<Dim>> =
        sizes.iter().map(|&size| natural("a size", size).map(Dim::size)).collect();
    ops::reshape(&x, &dims?).map(Item::Var)
}

pub fn squeeze(arguments: &mut Arguments) -> Result<Item> {
    let x = arguments.var()?;
    ops::squeeze(&x, &arguments.sizes()?).map(Item::Var)
}

pub fn transpose(arguments: &mut Arguments) -> Result<Item> {
    let x = arguments.var()?;
    let (a, b) = (arguments.int("a", Some(-2))?, arguments.int("b", Some(-1))?);
    ops::transpose(&x, a, b).map(Item::Var)
}

pub fn unsqueeze(arguments: &mut Arguments) -> Result<Item> {
    let x = arguments.var()?;
    ops::unsqueeze(&x, arguments.int("axis", None)?).map(Item::Var)
}

pub fn clip(arguments: &mut Arguments) -> Result<Item> {
    let x = arguments.var()?;
    let (low, high) = (arguments.float("low")?, arguments.float("high")?);
    ops::clip(&x, low, high).map(Item::Var)
}

pub fn matmul(arguments: &mut Arguments) -> Result<Item> {
    let (a, b) = (arguments.item("a")?, arguments.item("b")?);
    binary(Binary::Matmul, a, b)
}

pub fn maximum(arguments: &mut Arguments) -> Result<Item> {
    of_two(ops::maximum, arguments)
}

pub fn minimum(arguments: &mut Arguments) -> Result<Item> {
    of_two(ops::minimum, arguments)
}

fn of_two(f: fn(&Var, &Var) -> Result<Var>, arguments: &mut Arguments) -> Result<Item> {
    let (a, b) = beside(arguments.item("a")?, arguments.item("b")?)?;
    fits(&[&a, &b])?;
    f(&a, &b).map(Item::Var)
}

pub fn where_(arguments: &mut Arguments) -> Result<Item> {
    let condition = plain(arguments.item("condition")?)?;
    let (a, b) = beside(arguments.item("a")?, arguments.item("b")?)?;
    fits(&[&condition, &a, &b])?;
    ops::where_(&condition, &a, &b).map(Item::Var)
}

/// Shapes that do not broadcast are judged by the op.
fn fits(vars: &[&Var]) -> Result<()> {
    let mut dims = Vec::new();
    for var in vars {
        match broadcast(&dims, &var.dims()) {
            Ok(joined) => dims = joined.to_vec(),
            Err(_) => return Ok(()),
        }
    }
    let sizes: Vec<usize> = dims.iter().filter_map(|dim| dim.value()).collect();
    bounded(&sizes, vars)
}

fn natural(name: &str, n: i64) -> Result<usize> {
    usize::try_from(n)
        .map_err(|_| Error::argument(format!("{name} must not be negative, but is {n}")))
}
