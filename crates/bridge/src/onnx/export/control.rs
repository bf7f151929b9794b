//! Branches and loops.

use fluvial_core::{Call, DType, Error, Result, Tensor, Type};
use fluvial_ops::control::{ByPhase, Cond, While};
use fluvial_ops::random::Dropout;

use super::table::Export;
use super::{Node, Writer, graph};

pub const OPS: &[(&str, Export)] = &[("cond", branch), ("while", repeat)];

/// The input that an op gives unchanged outside of training, if it is one that differs between the phases.
pub fn passed(call: &Call) -> Option<usize> {
    if let Some(op) = call.op.downcast::<ByPhase>() {
        return Some(usize::from(!op.train));
    }
    call.op.downcast::<Dropout>().filter(|op| !op.train).map(|_| 0)
}

fn branch(w: &mut Writer, n: &Node<'_>) -> Result<Vec<String>> {
    let Some(op) = n.call.op.downcast::<Cond>() else {
        return Err(Error::internal("a condition is of another kind"));
    };
    if !op.reverses.is_empty() {
        return Err(keeps());
    }
    let mut attrs = Vec::new();
    for (name, block) in ["then_branch", "else_branch"].into_iter().zip(&op.branches) {
        let operands = n.inputs[1..].to_vec();
        let of = w.graph(name, vec![], |w| {
            let found = w.block(block, operands)?;
            Ok(found.into_iter().zip(n.outputs.iter().copied()).collect())
        })?;
        attrs.push(graph(name, of));
    }
    Ok(w.several("If", &[n.x(0)], attrs, n.outputs.len()))
}

/// The body takes the number of the trip and the condition besides what is carried; captures are seen.
fn repeat(w: &mut Writer, n: &Node<'_>) -> Result<Vec<String>> {
    let Some(op) = n.call.op.downcast::<While>() else {
        return Err(Error::internal("a loop is of another kind"));
    };
    if !op.reverses.is_empty() {
        return Err(keeps());
    }
    let count = op.n_carried;
    let mut inputs: Vec<(String, Type)> = vec![
        (w.fresh("trip"), Type::scalar(DType::I64)),
        (w.fresh("goes_on"), Type::scalar(DType::Bool)),
    ];
    for ty in &n.types[1..=count] {
        inputs.push((w.fresh("carried"), *ty));
    }
    let mut params: Vec<String> = inputs[2..].iter().map(|(name, _)| name.clone()).collect();
    params.extend(n.inputs[1 + count..].iter().cloned());
    let body = w.graph("body", inputs, |w| {
        let found = w.block(&op.body, params)?;
        let types = [Type::scalar(DType::Bool)].into_iter().chain(n.types[1..=count].to_vec());
        Ok(found.into_iter().zip(types).collect())
    })?;
    let many = w.constant(&Tensor::scalar(i64::MAX))?;
    let mut inputs = vec![many.as_str(), n.x(0)];
    inputs.extend(n.inputs[1..=count].iter().map(String::as_str));
    Ok(w.several("Loop", &inputs, vec![graph("body", body)], count))
}

fn keeps() -> Error {
    Error::argument("it keeps what its gradient needs, which ONNX cannot")
        .remedy("export the forward program")
}
