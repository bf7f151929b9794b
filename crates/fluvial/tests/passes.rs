//! What single passes do to programs.

use fluvial::compile::Options;
use fluvial::prelude::*;
use fluvial::tensor::{DType, Tensor, Type};

fn f32s(dims: &[usize]) -> Result<Type> {
    Type::of(DType::F32, dims)
}

fn ramp(dims: &[usize]) -> Result<Tensor> {
    let count: usize = dims.iter().product();
    let elements: Vec<f32> =
        (0..count).map(|i| ((i * 37 + 11) % 64) as f32 / 16.0 - 1.97).collect();
    Tensor::from_slice(&elements, dims)
}

type Builder<'a> = &'a dyn Fn(&[Var]) -> Result<Vec<Var>>;

/// The ops of the compiled program, which gives the bits of the interpreter.
fn ops_of(shapes: &[&[usize]], build: Builder<'_>) -> Result<Vec<&'static str>> {
    let names: Vec<String> = (0..shapes.len()).map(|i| format!("x{i}")).collect();
    let inputs: Vec<(&str, Type)> = names
        .iter()
        .zip(shapes)
        .map(|(name, dims)| Ok((&**name, f32s(dims)?)))
        .collect::<Result<_>>()?;
    let program = Program::build(&inputs, build)?;
    let feeds: Vec<(&str, Tensor)> = names
        .iter()
        .zip(shapes)
        .map(|(name, dims)| Ok((&**name, ramp(dims)?)))
        .collect::<Result<_>>()?;
    let executor = Executor::new(&program, State::new())?;
    let expected = Interpreter::new(program, State::new())?.run(&feeds)?;
    for (found, expected) in executor.run(&feeds)?.iter().zip(&expected) {
        let bits = |tensor: &Tensor| -> Result<Vec<u32>> {
            Ok(tensor.to_vec::<f32>()?.into_iter().map(f32::to_bits).collect())
        };
        assert_eq!(bits(found)?, bits(expected)?);
        assert_eq!(found.ty(), expected.ty());
    }
    Ok(executor.compiled().program.main.calls.iter().map(|call| call.op.name()).collect())
}

#[test]
fn what_follows_a_product_is_done_with_it() -> Result<()> {
    let shapes: &[&[usize]] = &[&[5, 7], &[7, 9], &[9], &[5, 9]];
    let one = ["matmul_then"];
    let product = |x: &[Var]| matmul(&x[0], &x[1]);
    assert_eq!(ops_of(shapes, &|x| Ok(vec![product(x)? + &x[2]]))?, one);
    assert_eq!(ops_of(shapes, &|x| Ok(vec![&x[2] + product(x)?]))?, one);
    assert_eq!(ops_of(shapes, &|x| Ok(vec![relu(&(product(x)? + &x[2]))?]))?, one);
    assert_eq!(ops_of(shapes, &|x| Ok(vec![gelu(&product(x)?, false)? + &x[3]]))?, one);
    assert_eq!(ops_of(shapes, &|x| Ok(vec![tanh(&(product(x)? * 0.125 + &x[2]))? + &x[3]]))?, one);
    let deep = ops_of(&[&[2, 3, 7], &[9, 7], &[9]], &|x| {
        Ok(vec![relu(&linear(&x[0], &x[1], Some(&x[2]))?)?])
    })?;
    assert_eq!(
        deep.iter().filter(|op| **op == "matmul_then" || **op == "relu").count(),
        1,
        "{deep:?}"
    );
    // A bias behind the function, and a factor behind the bias, are others' work.
    assert_eq!(ops_of(shapes, &|x| Ok(vec![relu(&product(x)?)? + &x[2]]))?, ["matmul_then", "add"]);
    assert_eq!(
        ops_of(shapes, &|x| Ok(vec![(product(x)? + &x[2]) * 2.0]))?.first(),
        Some(&"matmul_then")
    );
    Ok(())
}

#[test]
fn a_product_that_others_use_stays() -> Result<()> {
    let shapes: &[&[usize]] = &[&[5, 7], &[7, 9], &[9]];
    let ops = ops_of(shapes, &|x| {
        let product = matmul(&x[0], &x[1])?;
        Ok(vec![&product + &x[2], product])
    })?;
    assert_eq!(ops, ["matmul", "add"]);
    // Half floats are rounded between the ops.
    let ops = ops_of(shapes, &|x| {
        let half = |x: &Var| cast(x, DType::BF16);
        let product = matmul(&half(&x[0])?, &half(&x[1])?)? + half(&x[2])?;
        Ok(vec![cast(&product, DType::F32)?])
    })?;
    assert!(ops.contains(&"matmul"), "{ops:?}");
    Ok(())
}

#[test]
fn transposes_go_into_the_product() -> Result<()> {
    let transposed = |x: &Var| transpose(x, -1, -2);
    let ops = ops_of(&[&[7, 5], &[9, 7]], &|x| {
        Ok(vec![matmul(&transposed(&x[0])?, &transposed(&x[1])?)?])
    })?;
    assert_eq!(ops, ["matmul"]);
    let ops = ops_of(&[&[3, 7, 5], &[7, 9]], &|x| Ok(vec![matmul(&transposed(&x[0])?, &x[1])?]))?;
    assert_eq!(ops, ["matmul"]);
    let ops =
        ops_of(&[&[3, 7, 5], &[3, 9, 5]], &|x| Ok(vec![matmul(&x[0], &transposed(&x[1])?)?]))?;
    assert_eq!(ops, ["matmul"]);
    Ok(())
}

#[test]
fn a_column_by_a_row_is_elementwise() -> Result<()> {
    // As in the update of a weight from a batch of one.
    let shapes: &[&[usize]] = &[&[1, 6], &[1, 4], &[6, 4]];
    let ops = ops_of(shapes, &|x| {
        let gradient = matmul(&transpose(&x[0], 0, 1)?, &x[1])?;
        Ok(vec![&x[2] - gradient * 0.5])
    })?;
    assert_eq!(ops.iter().filter(|op| **op == "fused").count(), 1, "{ops:?}");
    assert!(!ops.contains(&"matmul"), "{ops:?}");
    // The sign of zero is that of the product.
    let ops = ops_of(&[&[2, 1], &[1, 3]], &|x| Ok(vec![matmul(&(&x[0] * 0.0), &(-&x[1]))?]))?;
    assert!(!ops.contains(&"matmul"), "{ops:?}");
    Ok(())
}

#[test]
fn reductions_join_what_they_reduce() -> Result<()> {
    let shapes: &[&[usize]] = &[&[40, 30], &[40, 30], &[30]];
    let one = ["fused_reduce"];
    let error = |x: &[Var]| square(&(&x[0] - &x[1]));
    assert_eq!(ops_of(shapes, &|x| Ok(vec![sum(&error(x)?, &[], false)?]))?, one);
    assert_eq!(ops_of(shapes, &|x| Ok(vec![sum(&error(x)?, &[0], true)?]))?, one);
    assert_eq!(ops_of(shapes, &|x| Ok(vec![max(&(&x[0] * &x[2]), &[1], false)?]))?, one);
    assert_eq!(ops_of(shapes, &|x| Ok(vec![min(&exp(&x[0])?, &[0, 1], false)?]))?, one);
    assert_eq!(ops_of(shapes, &|x| Ok(vec![prod(&exp(&x[0])?, &[-1], true)?]))?, one);
    // Axes of size one, none at all, and what is used twice.
    assert_eq!(ops_of(&[&[1, 9]], &|x| Ok(vec![sum(&exp(&x[0])?, &[0], false)?]))?, one);
    let both = ops_of(shapes, &|x| {
        let error = error(x)?;
        Ok(vec![sum(&error, &[1], false)?, error])
    })?;
    assert_eq!(both, ["fused", "sum"]);
    Ok(())
}

#[test]
fn reductions_of_unknown_sizes_are_joined_too() -> Result<()> {
    let batch = Dim::symbol("batch")?;
    let ty = Type::new(DType::F32, &[batch, Dim::size(8)])?;
    let program = Program::build(&[("x", ty)], |x| Ok(vec![sum(&square(&x[0])?, &[1], false)?]))?;
    let executor = Executor::new(&program, State::new())?;
    for n in [1, 5, 300] {
        let x = ramp(&[n, 8])?;
        let found = executor.run(&[("x", x.clone())])?[0].to_vec::<f32>()?;
        let expected = sum(&square(&Var::new(x))?, &[1], false)?.to_vec::<f32>()?;
        assert_eq!(found, expected);
    }
    Ok(())
}

/// The ops of the frozen and compiled program; the numbers are close to those of the interpreter.
fn frozen_ops(ty: Type, build: Builder<'_>, feed: Tensor) -> Result<Vec<&'static str>> {
    let state = State::new();
    let program = {
        let _scope = state.enter();
        Program::build(&[("x", ty)], build)?.for_inference()?
    };
    program.initialise(&state)?;
    let feeds = [("x", feed)];
    let expected = Interpreter::new(program.clone(), state.clone())?.run(&feeds)?;
    let frozen = program.freeze(&state)?;
    assert!(frozen.states.is_empty());
    let options = Options { fast: true, ..Options::default() };
    let executor = Executor::with(&frozen, &["out0"], State::new(), &options)?;
    let found = executor.run(&feeds)?;
    for (x, y) in found[0].to_f64s().iter().zip(expected[0].to_f64s()) {
        assert!((x - y).abs() <= 1e-5 * (1.0 + y.abs()), "{x} instead of {y}");
    }
    let ops = executor.compiled().program.main.calls.iter().map(|call| call.op.name());
    Ok(ops.filter(|name| *name != "constant").collect())
}

#[test]
fn batch_norms_of_frozen_programs_are_in_the_weights() -> Result<()> {
    let conv = Conv2d::new("conv", 3, 8, 3usize).padding(1usize);
    let norm = BatchNorm2d::new("norm", 8);
    let ty =
        Type::new(DType::F32, &[Dim::symbol("batch")?, Dim::size(3), Dim::size(6), Dim::size(6)])?;
    let ops = frozen_ops(
        ty,
        &|x| Ok(vec![relu(&norm.forward(&conv.forward(&x[0])?)?)?]),
        ramp(&[2, 3, 6, 6])?,
    )?;
    assert_eq!(ops, ["conv", "fused"]);
    let linear = Linear::new("linear", 5, 7);
    let norm = BatchNorm1d::new("norm1", 7);
    let ops = frozen_ops(
        f32s(&[4, 5])?,
        &|x| Ok(vec![relu(&norm.forward(&linear.forward(&x[0])?)?)?]),
        ramp(&[4, 5])?,
    )?;
    assert_eq!(ops.first(), Some(&"matmul_then"), "{ops:?}");
    Ok(())
}

#[test]
fn weights_that_are_not_numbers_are_left_alone() -> Result<()> {
    let shapes: &[&[usize]] = &[&[2, 3, 6, 6], &[4, 3, 3, 3], &[4, 1, 1]];
    let ops =
        ops_of(shapes, &|x| Ok(vec![conv2d(&x[0], &x[1], None, ConvOptions::default())? * &x[2]]))?;
    assert_eq!(ops, ["conv", "mul"]);
    Ok(())
}
