//! Functions that tell what a value is.

use fluvial_core::{DType, Error, Result, Value, Var};
use fluvial_ops as ops;

use super::Arguments;
use crate::expr::item::{Item, Number};
use crate::inspect;

pub fn dtype(arguments: &mut Arguments) -> Result<Item> {
    Ok(Item::Text(arguments.var()?.dtype().name().to_string()))
}

/// The hash as text, of which summaries show the first digits.
pub fn hash(arguments: &mut Arguments) -> Result<Item> {
    Ok(Item::Text(format!("{:016x}", inspect::hash(arguments.var()?.value()?))))
}

pub fn len(arguments: &mut Arguments) -> Result<Item> {
    let x = arguments.var()?;
    match inspect::length(x.value()?) {
        Some(len) => Ok(int(len)),
        None => Err(Error::argument("a single number has no length")
            .remedy("`size(x)` is the number of elements")),
    }
}

pub fn ndim(arguments: &mut Arguments) -> Result<Item> {
    Ok(int(tensor(arguments)?.rank()))
}

pub fn shape(arguments: &mut Arguments) -> Result<Item> {
    let x = tensor(arguments)?;
    let sizes: Vec<i64> = x.tensor()?.dims().iter().map(|&size| size as i64).collect();
    Var::of(&sizes, &[sizes.len()]).map(Item::Var)
}

pub fn size(arguments: &mut Arguments) -> Result<Item> {
    Ok(int(tensor(arguments)?.tensor()?.numel()))
}

pub fn cast(arguments: &mut Arguments) -> Result<Item> {
    let x = arguments.var()?;
    let name = arguments.text("dtype")?;
    let Some(dtype) = DType::parse(&name) else {
        let all = DType::ALL.map(DType::name).join(", ");
        return Err(Error::argument(format!("there is no element type `{name}`"))
            .remedy(format!("there are {all}")));
    };
    ops::cast(&x, dtype).map(Item::Var)
}

fn tensor(arguments: &mut Arguments) -> Result<Var> {
    let x = arguments.var()?;
    match x.value()? {
        Value::Tensor(_) | Value::Device(_) => Ok(x),
        Value::List(_) => Err(Error::argument("a list has no shape of its own")
            .remedy("ask for one of its elements: `xs[0].shape`, or for `len(xs)`")),
        Value::Channel(_) => Err(Error::argument("a channel has no shape of its own")),
    }
}

fn int(n: usize) -> Item {
    Item::Number(Number::Int(n as i64))
}
