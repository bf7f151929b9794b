//! The memory that programs need.

use fluvial::compile::Options;
use fluvial::core::Value;
use fluvial::prelude::*;
use fluvial::tensor::{DType, ErrorKind, Tensor, Type};

/// A training step of a stack of layers, and its inputs.
fn stack(
    depth: usize,
    batch: usize,
    width: usize,
) -> Result<(Program, Vec<(&'static str, Tensor)>)> {
    let mut net = Sequential::new("net");
    for _ in 0..depth {
        net = net.add(|at| Linear::new(at, width, width)).then(|x: &Var| gelu(x, false));
    }
    let sgd = Sgd::new(net.parameters(), 0.1);
    let ty = Type::of(DType::F32, &[batch, width])?;
    let program = Program::build(&[("x", ty)], |x| {
        let y = dropout(&net.forward(&x[0])?, 0.25)?;
        let loss = mean(&square(&y)?, &[], false)?;
        sgd.minimize(&loss)?;
        Ok(vec![loss])
    })?;
    let elements: Vec<f32> =
        (0..batch * width).map(|i| ((i * 37 + 11) % 64) as f32 / 32.0 - 1.0).collect();
    Ok((program, vec![("x", Tensor::from_slice(&elements, &[batch, width])?)]))
}

fn limited(program: &Program, limit: Option<usize>) -> Result<Executor> {
    let outputs: Vec<&str> = program.outputs.iter().map(|name| &**name).collect();
    let options = Options { memory_limit: limit, ..Options::default() };
    Executor::with(&program.unbound(), &outputs, State::new(), &options)
}

fn bits(tensors: &[Tensor]) -> Result<Vec<u32>> {
    let bits = |tensor: &Tensor| -> Result<Vec<u32>> {
        Ok(tensor.to_vec::<f32>()?.into_iter().map(f32::to_bits).collect())
    };
    Ok(tensors.iter().map(bits).collect::<Result<Vec<_>>>()?.concat())
}

#[test]
fn under_a_limit_values_are_computed_again_with_the_same_bits() -> Result<()> {
    let (program, feeds) = stack(24, 64, 16)?;
    let free = limited(&program, None)?;
    let before = free.report(&feeds)?;
    let expected: Vec<Vec<u32>> =
        (0..3).map(|_| bits(&free.run(&feeds)?)).collect::<Result<_>>()?;
    for share in [90, 60, 40] {
        let limit = before.peak_bytes * share / 100;
        let tight = limited(&program, Some(limit))?;
        let report = tight.report(&feeds)?;
        assert!(report.peak_bytes <= limit, "{} of {limit}", report.peak_bytes);
        assert!(report.steps.len() > before.steps.len());
        // Each value is computed at most twice.
        assert!(report.steps.len() < 2 * before.steps.len());
        for expected in &expected {
            assert_eq!(bits(&tight.run(&feeds)?)?, *expected);
        }
    }
    // A limit that is not reached changes nothing.
    let wide = limited(&program, Some(before.peak_bytes))?;
    assert_eq!(wide.report(&feeds)?.steps.len(), before.steps.len());
    Ok(())
}

#[test]
fn a_limit_that_cannot_be_kept_is_an_error() -> Result<()> {
    let (program, feeds) = stack(6, 8, 16)?;
    let error = limited(&program, Some(100))?.run(&feeds).expect_err("100 bytes are not enough");
    assert_eq!(error.kind(), ErrorKind::Memory);
    assert!(error.to_string().contains("raise the limit"), "{error}");
    Ok(())
}

#[test]
fn updates_follow_their_gradients() -> Result<()> {
    // The gradients of all weights at once would be `depth * width * width * 4` bytes.
    let (depth, width) = (16, 64);
    let (program, feeds) = stack(depth, 2, width)?;
    let report = limited(&program, None)?.report(&feeds)?;
    let all = depth * width * width * 4;
    assert!(report.peak_bytes < all / 3, "{} of {all}", report.peak_bytes);
    Ok(())
}

#[test]
fn inputs_that_are_given_away_are_written_over() -> Result<()> {
    let ty = Type::of(DType::F32, &[1000])?;
    let program = Program::build(&[("x", ty), ("y", ty)], |x| Ok(vec![&x[0] * &x[1] + 1.0]))?;
    let executor = Executor::new(&program, State::new())?;
    let ones = || Tensor::from_slice(&[1.0f32; 1000], &[1000]);
    let (x, y) = (ones()?, ones()?);
    let address = |tensor: &Tensor| tensor.as_slice::<f32>().map(<[f32]>::as_ptr);
    let (of_x, of_y) = (address(&x), address(&y));
    let z = executor.call().feed("x", x).feed("y", y.clone()).donate().run()?;
    assert_eq!(address(&z[0]), of_x);
    assert_eq!(z[0].to_vec::<f32>()?, [2.0; 1000]);
    // What others hold is left alone, also by `run`.
    let z = executor.call().feed("x", y.clone()).feed("y", y.clone()).donate().run()?;
    assert_ne!(address(&z[0]), of_y);
    let feeds = [("x", ones()?), ("y", ones()?)];
    executor.run(&feeds)?;
    assert_eq!(
        (feeds[0].1.to_vec::<f32>()?, y.to_vec::<f32>()?),
        (vec![1.0; 1000], vec![1.0; 1000])
    );
    Ok(())
}

#[test]
fn single_inputs_are_given_away() -> Result<()> {
    let ty = Type::of(DType::F32, &[1000])?;
    let program = Program::build(&[("x", ty), ("y", ty)], |x| Ok(vec![&x[0] * &x[1] + 1.0]))?;
    let executor = Executor::new(&program, State::new())?;
    let twos = || Tensor::from_slice(&[2.0f32; 1000], &[1000]).map(Value::Tensor);
    let address = |value: &Value| value.tensor().ok()?.as_slice::<f32>().map(<[f32]>::as_ptr);
    for donated in [[false, true], [true, false], [false, false]] {
        let inputs = vec![twos()?, twos()?];
        let places = [address(&inputs[0]), address(&inputs[1])];
        let z = executor.call().inputs(inputs).donate_some(&donated).values()?;
        let found = places.map(|place| place.is_some() && address(&z[0]) == place);
        assert_eq!(found, donated);
        assert_eq!(z[0].tensor()?.to_vec::<f32>()?, [5.0; 1000]);
    }
    Ok(())
}

#[test]
fn a_transformer_needs_less_memory_than_line_by_line() -> Result<()> {
    let (batch, length, width) = (2, 64, 64);
    let layer = |at| TransformerEncoderLayer::new(at, width, 4, 4 * width).batch_first();
    let net = TransformerEncoder::new("net", 12, layer);
    let sgd = Sgd::new(net.parameters(), 1e-2);
    let ty = Type::of(DType::F32, &[batch, length, width])?;
    let program = Program::build(&[("x", ty)], |x| {
        let loss = mean(&square(&net.encode(&x[0], Masks::default())?)?, &[], false)?;
        sgd.minimize(&loss)?;
        Ok(vec![loss])
    })?;
    let feeds = [("x", Tensor::zeros(DType::F32, &[batch, length, width])?)];
    let free = limited(&program, None)?.report(&feeds)?;
    let line_by_line = free.unplanned_bytes;
    assert!(free.peak_bytes * 10 <= line_by_line * 8, "{} of {line_by_line}", free.peak_bytes);
    let tight = limited(&program, Some(line_by_line * 4 / 10))?.report(&feeds)?;
    assert!(tight.peak_bytes * 10 <= line_by_line * 4, "{} of {line_by_line}", tight.peak_bytes);
    assert!(tight.steps.len() * 2 < free.steps.len() * 3);
    Ok(())
}
