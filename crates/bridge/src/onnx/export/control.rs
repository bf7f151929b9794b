//! Branches and loops.

use fluvial_core::{Call, DType, Error, Result, Tensor, Type};
use fluvial_ops::control::{ByPhase, Cond, While};
use fluvial_ops::random::Dropout;

use super::lists::{Carried, Form, carried};
use super::table::Export;
use super::{Node, Writer, graph};

pub const BRANCHES: &[(&str, Export)] = &[("cond", branch)];
pub const LOOPS: &[(&str, Export)] = &[("while", repeat)];

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
            let found = found.iter().map(|name| w.sequence(name)).collect::<Result<Vec<_>>>()?;
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
    let carried: Vec<Carried> = (0..count)
        .map(|i| carried(w.form(n.x(1 + i)).as_ref(), &op.body, i as u32, op.body.results[1 + i]))
        .collect();
    let mut inputs: Vec<(String, Type)> = vec![
        (w.fresh("trip"), Type::scalar(DType::I64)),
        (w.fresh("goes_on"), Type::scalar(DType::Bool)),
    ];
    let (mut initial, mut params) = (Vec::new(), Vec::new());
    for (i, &way) in carried.iter().enumerate() {
        let (given, mut ty) = (n.x(1 + i), n.types[1 + i]);
        let name = w.fresh("carried");
        let param = match (way, w.form(given)) {
            (Carried::Gathered, _) => {
                params.push(w.list(Form::Gathering));
                continue;
            }
            (Carried::Taken, Some(Form::Slices { of, taken })) => {
                ty = Type::scalar(DType::I64);
                let none = w.number(0.0, DType::I64)?;
                initial.push(taken.unwrap_or(none));
                w.list(Form::Slices { of, taken: Some(name.clone()) })
            }
            _ => {
                initial.push(w.sequence(given)?);
                name.clone()
            }
        };
        params.push(param);
        inputs.push((name, ty));
    }
    for capture in &n.inputs[1 + count..] {
        params.push(w.sequence(capture)?);
    }
    let n_initial = initial.len();
    let body = w.graph("body", inputs, |w| {
        let found = w.block(&op.body, params)?;
        let mut results = vec![(found[0].clone(), Type::scalar(DType::Bool))];
        let mut gathered = Vec::new();
        for (i, &way) in carried.iter().enumerate() {
            let (name, ty) = (&found[1 + i], n.types[1 + i]);
            match (way, w.form(name)) {
                (Carried::Gathered, Some(Form::Pushed(value))) => {
                    gathered.push((value, element(&ty)?));
                }
                (Carried::Taken, Some(Form::Slices { taken: Some(taken), .. })) => {
                    results.push((taken, Type::scalar(DType::I64)));
                }
                (Carried::Plain, _) => results.push((w.sequence(name)?, ty)),
                _ => return Err(Error::internal("a loop carries a list in another way")),
            }
        }
        results.append(&mut gathered);
        Ok(results)
    })?;
    let many = w.constant(&Tensor::scalar(i64::MAX))?;
    let mut inputs = vec![many.as_str(), n.x(0)];
    inputs.extend(initial.iter().map(String::as_str));
    let found = w.several("Loop", &inputs, vec![graph("body", body)], count);
    // First what is carried from trip to trip, then what was gathered.
    let (mut values, mut tensors) = (found[..n_initial].iter(), found[n_initial..].iter());
    let mut outputs = Vec::new();
    for (i, &way) in carried.iter().enumerate() {
        let (list, next) =
            (w.form(n.x(1 + i)), if way == Carried::Gathered { &mut tensors } else { &mut values });
        let Some(name) = next.next().cloned() else {
            return Err(Error::internal("a loop gives another number of values"));
        };
        outputs.push(match (way, list) {
            (Carried::Gathered, _) => w.list(Form::Gathered(name)),
            (Carried::Taken, Some(Form::Slices { of, .. })) => {
                w.list(Form::Slices { of, taken: Some(name) })
            }
            _ => name,
        });
    }
    Ok(outputs)
}

/// The type of the elements of a list.
fn element(list: &Type) -> Result<Type> {
    list.element().ok_or_else(|| Error::internal("a value that is gathered is not a list"))
}

fn keeps() -> Error {
    Error::argument("it keeps what its gradient needs, which ONNX cannot")
        .remedy("export the forward program")
}
