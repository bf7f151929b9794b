//! What ops do to integers that depend on sizes, such as those of `Shape`: they stay expressions of
//! symbols, so that a shape that was computed is still known when the model is loaded.

use fluvial_core::{DType, Error, Result, Tensor, Whole, imperative};

use super::node::Node;
use super::table::{Entry, Import};
use super::value::{Sizes, Val};
pub use crate::fit::zip;

/// Computes on integers that depend on sizes; nothing if it cannot be said.
pub type Compute = fn(&Node<'_>, &[Option<Sizes>]) -> Result<Option<Sizes>>;

/// What an op does to integers that depend on sizes.
#[derive(Clone, Copy)]
pub enum Rule {
    /// They are made values of the program first.
    None,
    /// It moves elements of these inputs about; of all, if none are named.
    Moves(&'static [usize]),
    /// It computes.
    Compute(Compute),
}

/// The outputs, if they can be said now.
pub fn try_sizes(entry: &Entry, node: &Node<'_>) -> Result<Option<Vec<Val>>> {
    let is_open = |val: &Option<Val>| matches!(val, Some(Val::Sizes(_)));
    if !node.inputs.iter().any(is_open) {
        return Ok(None);
    }
    match entry.sizes {
        Rule::None => Ok(None),
        Rule::Moves(inputs) => moved(entry, node, inputs),
        Rule::Compute(compute) => {
            let mut inputs = Vec::new();
            for val in &node.inputs {
                match val {
                    None => inputs.push(None),
                    Some(val) => match val.sizes() {
                        Some(sizes) => inputs.push(Some(sizes)),
                        None => return Ok(None),
                    },
                }
            }
            let Some(found) = compute(node, &inputs)? else { return Ok(None) };
            Ok(Some(vec![found.val()?]))
        }
    }
}

/// Moves numbers of elements instead of the elements.
fn moved(entry: &Entry, node: &Node<'_>, inputs: &[usize]) -> Result<Option<Vec<Val>>> {
    let mut pool: Vec<Whole> = Vec::new();
    let mut dtype = DType::I64;
    let mut numbered = Vec::new();
    for (i, val) in node.inputs.iter().enumerate() {
        let is_moved = inputs.is_empty() || inputs.contains(&i);
        let Some(val) = val else {
            numbered.push(None);
            continue;
        };
        if !is_moved {
            let Some(tensor) = val.tensor() else { return Ok(None) };
            numbered.push(Some(Val::Known(tensor)));
            continue;
        }
        let Some(sizes) = val.sizes() else { return Ok(None) };
        dtype = sizes.dtype;
        let first = pool.len() as i64;
        pool.extend(&sizes.items);
        let numbers: Vec<i64> = (first..pool.len() as i64).collect();
        numbered.push(Some(Val::Known(Tensor::from_vec(numbers, &sizes.dims)?)));
    }
    let twin = Node {
        proto: node.proto,
        opset: node.opset,
        inputs: numbered,
        importer: node.importer,
        env: node.env,
    };
    let _at_once = imperative();
    let outputs = match entry.import {
        Import::One(import) => vec![Val::from(import(&twin)?)],
        Import::Many(import) => import(&twin)?,
    };
    let named = |val: Val| -> Result<Val> {
        let tensor = val.tensor().ok_or_else(|| Error::internal("moved sizes are not known"))?;
        let items = tensor.to_vec::<i64>()?.into_iter().map(|number| {
            let item = usize::try_from(number).ok().and_then(|number| pool.get(number));
            item.copied().ok_or_else(|| Error::internal("a moved size has no number"))
        });
        let items = items.collect::<Result<Vec<Whole>>>()?;
        Sizes { items, dims: tensor.dims().to_vec(), dtype }.val()
    };
    outputs.into_iter().map(named).collect::<Result<Vec<Val>>>().map(Some)
}

/// Whether two integers are equal, if that can be said: sizes are not negative.
pub fn equal(a: Whole, b: Whole) -> Option<bool> {
    if a == b {
        return Some(true);
    }
    match (a.sub(b).ok()?, b.sub(a).ok()?) {
        (Whole::Number(_), _) => Some(false),
        (a_more, b_more) => {
            let apart = |whole: Whole| whole.at_least(0).is_some_and(|least| least > 0);
            (apart(a_more) || apart(b_more)).then_some(false)
        }
    }
}
