//! Elements and parts of values: `x[0, 1:3, -1]`.

use fluvial_core::{Error, Result, Value, Var};
use fluvial_ops::{self as ops, Index};

use super::ast::{Node, Part};
use super::eval::Evaluator;
use super::fault::{Fault, Placed};
use super::item::{Item, Number};
use super::operators::plain;
use crate::inspect::rows;

/// The part of a value between brackets.
pub fn get(evaluator: &Evaluator, item: Item, parts: &[Part], at: usize) -> Result<Item, Fault> {
    let var = plain(item).at(at)?;
    if let Value::List(list) = var.value().at(at)? {
        let [Part::At(node)] = parts else {
            let error = Error::index("a list is indexed by one number");
            return Err(Fault::new(at, error.remedy("write `xs[0]` or `xs[-1]`")));
        };
        let len = list.len() as i64;
        let number = int(evaluator, node)?;
        let position = if number < 0 { number + len } else { number };
        let found = rows(var.value().at(at)?, usize::try_from(position).unwrap_or(usize::MAX), 1);
        return match found.at(at)?.pop() {
            Some(value) => Ok(Item::Var(Var::new(value))),
            None => {
                let message = format!("index {number} is out of range for a list of {len}");
                Err(Fault::new(node.at, Error::index(message)))
            }
        };
    }
    let index = index(evaluator, parts)?;
    ops::getitem(&var, &index).at(at).map(Item::Var)
}

/// What is between brackets, as the op takes it.
pub fn index(evaluator: &Evaluator, parts: &[Part]) -> Result<Vec<Index>, Fault> {
    parts.iter().map(|part| one(evaluator, part)).collect()
}

fn one(evaluator: &Evaluator, part: &Part) -> Result<Index, Fault> {
    let bound = |node: &Option<Node>| match node {
        Some(node) => int(evaluator, node).map(Some),
        None => Ok(None),
    };
    Ok(match part {
        Part::Ellipsis => Index::Ellipsis,
        Part::NewAxis => Index::NewAxis,
        Part::Slice(start, stop, step) => {
            Index::steps(bound(start)?, bound(stop)?, bound(step)?.unwrap_or(1))
        }
        Part::At(node) => match evaluator.item(node)? {
            Item::Number(Number::Int(n)) => Index::from(n),
            Item::Number(_) => return Err(not_an_integer(node)),
            item => {
                let var = evaluator.var(item, node.at)?;
                match (var.dtype(), var.rank()) {
                    (dtype, 0) if dtype.is_int() => Index::from(var.item::<i64>().at(node.at)?),
                    (dtype, _) if dtype.is_int() => {
                        Index::Tensor(ops::cast(&var, fluvial_core::DType::I64).at(node.at)?)
                    }
                    (dtype, _) if dtype.is_bool() => Index::Tensor(var),
                    _ => return Err(not_an_integer(node)),
                }
            }
        },
    })
}

fn int(evaluator: &Evaluator, node: &Node) -> Result<i64, Fault> {
    match evaluator.item(node)? {
        Item::Number(number) => number.int().ok_or_else(|| not_an_integer(node)),
        item => {
            let var = evaluator.var(item, node.at)?;
            match var.dtype().is_int() {
                true => var.item().at(node.at),
                false => Err(not_an_integer(node)),
            }
        }
    }
}

fn not_an_integer(node: &Node) -> Fault {
    let error = Error::index("an index is an integer, a slice, or a tensor of integers or bools");
    Fault::new(node.at, error.remedy("round it: `i64(round(x))`"))
}
