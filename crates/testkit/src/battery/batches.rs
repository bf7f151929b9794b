//! A batch of calls at once, against the calls one by one: the op's batching rule, or the loop in its place.

use fluvial_core::{Dim, Program, Tensor, Type, Value, Var, bind, trace_block};
use fluvial_ops::batch::{Randomness, vmap_of};

use super::Call;
use crate::check::{Check, Context, Failure, Tolerance, close, ensure};

/// How many elements a batch has.
const SIZE: usize = 2;

/// Checks batches of which these inputs differ by element and the others are shared: each input alone, and all.
pub(super) fn check(call: &Call) -> Check {
    let n = call.inputs.len();
    let has_lists = call.inputs.iter().any(|input| input.ty().is_list());
    let properties = call.op.properties();
    if n == 0 || has_lists || properties.effect || properties.random || !call.op.blocks().is_empty()
    {
        return Ok(());
    }
    let types: Vec<Type> = call.inputs.iter().map(Value::ty).collect();
    let outs = call.op.infer(&types.iter().collect::<Vec<_>>())?;
    // Numbers of which only a run knows how many there are make no batch.
    let is_open =
        |ty: &Type| ty.is_list() || ty.dims().iter().any(|dim| dim.fresh_index().is_some());
    if outs.iter().any(is_open) || types.iter().any(|ty| ty.rank() + 1 >= fluvial_core::MAX_RANK) {
        return Ok(());
    }
    let mut choices: Vec<Vec<bool>> = (0..n).map(|i| (0..n).map(|j| i == j).collect()).collect();
    choices.push(vec![true; n]);
    for batched in choices {
        one(call, &batched).context(format!("batched: {batched:?}"))?;
    }
    Ok(())
}

fn one(call: &Call, batched: &[bool]) -> Check {
    let mut elements: Vec<Vec<Value>> = Vec::new();
    for number in 0..SIZE {
        let own = call.inputs.iter().zip(batched).map(|(input, &batched)| match batched {
            true => varied(input, number),
            false => Ok(input.clone()),
        });
        elements.push(own.collect::<Check<_>>()?);
    }
    let mut expected = Vec::new();
    for inputs in &elements {
        match (Call { op: call.op.clone(), inputs: inputs.clone() }).outputs() {
            Ok(outputs) => expected.push(outputs),
            // What differs is perhaps not allowed.
            Err(_) => return Ok(()),
        }
    }
    let args = (0..batched.len()).map(|i| match batched[i] {
        true => stacked(&elements, i),
        false => Ok(call.inputs[i].clone()),
    });
    let args = args.collect::<Check<Vec<Value>>>()?;
    let types: Vec<Type> = call.inputs.iter().map(Value::ty).collect();
    let names: Vec<String> = (0..args.len()).map(|i| format!("x{i}")).collect();
    let inputs: Vec<(&str, Type)> =
        names.iter().map(String::as_str).zip(args.iter().map(Value::ty)).collect();
    let mut of_results = Vec::new();
    let program = Program::build(&inputs, |params| {
        let traced = trace_block(&types, |own| {
            Ok(bind(&call.op, &own.iter().collect::<Vec<_>>())?.into_vec())
        })?;
        let mapped = vmap_of(traced, params, batched, Dim::size(SIZE), Randomness::Same)?;
        of_results = mapped.batched;
        Ok(mapped.results)
    })?;
    ensure(of_results.iter().all(|&batched| batched), || "a result has no batch".to_string())?;
    let results = program.main.run(&args.iter().collect::<Vec<_>>())?;
    for (i, result) in results.iter().enumerate() {
        for (number, outputs) in expected.iter().enumerate() {
            let element = Value::from(result.tensor()?.index(0, number)?);
            let tolerance = Tolerance::of_dtype(element.ty().dtype());
            close(&element, &outputs[i], tolerance).context(format!("output {i} of {number}"))?;
        }
    }
    Ok(())
}

/// The input as an element of this number has it: floats a little larger from one to the next.
fn varied(input: &Value, number: usize) -> Check<Value> {
    let tensor = input.tensor()?;
    if !tensor.dtype().is_float() || number == 0 {
        return Ok(input.clone());
    }
    let factor = 1.0 + number as f64 / 32.0;
    let numbers: Vec<f64> = tensor.to_f64s().into_iter().map(|x| x * factor).collect();
    Ok(Tensor::from_f64s(tensor.dtype(), &numbers, tensor.dims())?.into())
}

/// Input `i` of all elements along a new first axis.
fn stacked(elements: &[Vec<Value>], i: usize) -> Check<Value> {
    let vars: Vec<Var> = elements.iter().map(|inputs| Var::new(inputs[i].clone())).collect();
    let stacked = fluvial_ops::stack(&vars.iter().collect::<Vec<_>>(), 0)?;
    stacked.take_value().map_err(Failure::from)
}
