//! Programs become models that are read as programs with the same numbers.

use fluvial_bridge::onnx::proto::{GraphProto, ModelProto};
use fluvial_bridge::onnx::{Options, SaveOptions, load_bytes, to_bytes};
use fluvial_core::{Cell, DType, Dim, Program, Result, Role, Tensor, Type, Var};
use fluvial_ops as ops;
use prost::Message;

fn check(program: &Program, inputs: &[&Var]) -> Result<Program> {
    let again = load_bytes(&to_bytes(program, SaveOptions::default())?, &Options::default())?;
    assert_eq!(again.inputs, program.inputs);
    assert_eq!(again.outputs, program.outputs);
    assert_eq!(again.input_types(), program.input_types());
    let (expected, found) = (program.apply(inputs)?, again.apply(inputs)?);
    for (expected, found) in expected.iter().zip(&found) {
        assert!(expected.tensor()?.bitwise_eq(found.tensor()?), "{found} is not {expected}");
    }
    Ok(again)
}

fn batch(width: usize) -> Result<Type> {
    Type::new(DType::F32, &[Dim::symbol("batch")?, Dim::size(width)])
}

#[test]
fn layers_with_their_states() -> Result<()> {
    let weight = Tensor::from_slice(&[0.5f32, -1.0, 2.0, 1.5, 0.25, -0.75], &[2, 3])?;
    let weight = Cell::of("fc.weight", Role::Parameter, weight);
    let program = Program::build(&[("x", batch(3)?)], |x| {
        Ok(vec![ops::softmax(&ops::linear(&x[0], &weight.read()?, None)?, -1)?])
    })?;
    let x = Var::of(&[1.0f32, -2.0, 3.0, 0.5, 0.0, -1.0], &[2, 3])?;
    let again = check(&program, &[&x])?;
    assert!(again.states.contains_key("fc.weight"));
    Ok(())
}

#[test]
fn shapes_with_symbols() -> Result<()> {
    let program = Program::build(&[("x", batch(6)?)], |x| {
        let size = x[0].dims()[0];
        let parts = ops::reshape(&x[0], &[size, Dim::size(2), Dim::size(3)])?;
        let turned = ops::permute(&parts, &[1, 0, 2])?;
        let flat = ops::reshape(&turned, &[size.mul(Dim::size(2))?, Dim::size(3)])?;
        let wide = ops::broadcast_to(&ops::sum(&flat, &[1], true)?, &flat.dims())?;
        let count = ops::dim_size(size, DType::F32)?;
        Ok(vec![ops::div(&wide, &count)?, ops::flip(&flat, &[1])?])
    })?;
    let numbers: Vec<f32> = (0..18).map(|i| i as f32 * 0.5 - 3.0).collect();
    check(&program, &[&Var::of(&numbers, &[3, 6])?])?;
    check(&program, &[&Var::of(&numbers[..6], &[1, 6])?])?;
    Ok(())
}

#[test]
fn loops_over_steps() -> Result<()> {
    let steps = Type::new(DType::F32, &[Dim::symbol("steps")?, Dim::size(2)])?;
    let program = Program::build(&[("x", steps)], |x| {
        let zero = ops::zeros(&[Dim::size(2)], DType::F32)?;
        let (last, all) = ops::scan(&[&zero], &[&x[0]], |state, now| {
            let next = ops::tanh(&ops::add(&state[0], &now[0])?)?;
            Ok((vec![next.clone()], vec![next]))
        })?;
        Ok(vec![last[0].clone(), all[0].clone()])
    })?;
    check(&program, &[&Var::of(&[0.5f32, -1.0, 2.0, 0.25, 1.0, -0.5], &[3, 2])?])?;
    // Slices are taken by position, and what is gathered is an output of the loop.
    let ops = ops_of(&program)?;
    assert!(ops.iter().any(|op| op == "Loop") && ops.iter().all(|op| !op.contains("Sequence")));
    Ok(())
}

/// The ops of a program's model, those of loops and branches, too.
fn ops_of(program: &Program) -> Result<Vec<String>> {
    fn within(graph: &GraphProto, found: &mut Vec<String>) {
        for node in &graph.node {
            found.push(node.op_type.clone());
            node.attribute.iter().filter_map(|attr| attr.g.as_ref()).for_each(|g| within(g, found));
        }
    }
    let bytes = to_bytes(program, SaveOptions::default())?;
    let model = ModelProto::decode(&bytes[..]).expect("a model was written");
    let mut found = Vec::new();
    within(model.graph.as_ref().expect("a model has a graph"), &mut found);
    Ok(found)
}

#[test]
fn lists_that_loops_use_otherwise() -> Result<()> {
    let rows = Type::new(DType::F32, &[Dim::symbol("rows")?, Dim::size(2)])?;
    let program = Program::build(&[("x", rows)], |x| {
        let slices = ops::list_unstack(&x[0], false)?;
        let (rest, first) = ops::list_pop(&slices)?;
        let empty = ops::list_new(first.ty())?;
        // Two values are put on a list in each trip, which also reads it, and one slice is left.
        let found = ops::while_loop(
            &[&rest, &empty, &first],
            |v| ops::gt(&ops::list_len(&v[0])?, &Var::scalar(1i64)),
            |v| {
                let (rest, slice) = ops::list_pop(&v[0])?;
                let once = ops::list_push(&v[1], &slice)?;
                let twice = ops::list_push(&once, &v[2])?;
                let count = ops::cast(&ops::list_len(&twice)?, DType::F32)?;
                Ok(vec![rest, twice, ops::add(&v[2], &count)?])
            },
        )?;
        let (_, last) = ops::list_pop(&found[0])?;
        let size = ops::of_size(&ops::list_len(&found[1])?)?.dims()[0];
        let down = ops::list_stack(&found[1], size, false)?;
        Ok(vec![last, down, found[2].clone(), ops::list_len(&found[0])?])
    })?;
    let numbers: Vec<f32> = (0..10).map(|i| i as f32 * 0.75 - 2.0).collect();
    check(&program, &[&Var::of(&numbers, &[5, 2])?])?;
    check(&program, &[&Var::of(&numbers[..6], &[3, 2])?])?;
    Ok(())
}

#[test]
fn states_as_inputs_and_outputs() -> Result<()> {
    let count = Cell::of("count", Role::Counter, Tensor::scalar(3i64));
    let program = Program::build(&[("by", Type::scalar(DType::I64))], |x| {
        let next = ops::add(&count.read()?, &x[0])?;
        count.assign(&next)?;
        Ok(vec![next])
    })?;
    let error = to_bytes(&program, SaveOptions::default()).unwrap_err().to_string();
    assert!(error.contains("assigns the state `count`"), "{error}");
    let options = SaveOptions { states: true, ..SaveOptions::default() };
    let step = load_bytes(&to_bytes(&program, options)?, &Options::default())?;
    assert_eq!(step.inputs.join(" "), "by count");
    assert_eq!(step.outputs.join(" "), "out0 next.count");
    let found = step.apply(&[&Var::scalar(4i64), &Var::scalar(3i64)])?;
    assert_eq!(found[1].item::<i64>()?, 7);
    Ok(())
}

#[test]
fn what_cannot_be_written_says_where() -> Result<()> {
    let ty = Type::of(DType::F32, &[2, 2])?;
    let program = Program::build(&[("x", ty)], |x| Ok(vec![ops::eigh(&x[0])?.0]))?;
    let error = to_bytes(&program, SaveOptions::default()).unwrap_err().to_string();
    assert!(error.contains("`eigh` cannot be written as ONNX"), "{error}");
    assert!(error.contains("export.rs:"), "{error}");
    let opset = SaveOptions { opset: 3, ..SaveOptions::default() };
    assert!(to_bytes(&program, opset).is_err());
    Ok(())
}
