//! Ops spelled with small ones run as one, if that changes nothing but last bits.

use fluvial::compile::Options;
use fluvial::prelude::*;

type Function<'a> = &'a dyn Fn(&[Var]) -> Result<Var>;

fn f32s(sizes: &[usize]) -> Type {
    Type::of(DType::F32, sizes).unwrap()
}

fn ramp(sizes: &[usize], seed: usize) -> Tensor {
    let n: usize = sizes.iter().product();
    let numbers: Vec<f32> =
        (0..n).map(|i| ((i * 37 + seed * 11) % 64) as f32 / 16.0 - 1.97).collect();
    Tensor::from_slice(&numbers, sizes).unwrap()
}

fn build(f: Function<'_>, shapes: &[&[usize]]) -> Result<(Program, Vec<(String, Tensor)>)> {
    let names: Vec<String> = (0..shapes.len()).map(|i| format!("x{i}")).collect();
    let inputs: Vec<(&str, Type)> =
        names.iter().map(String::as_str).zip(shapes.iter().map(|sizes| f32s(sizes))).collect();
    let program = Program::build(&inputs, |x| Ok(vec![f(x)?]))?;
    let tensors = shapes.iter().enumerate().map(|(seed, sizes)| ramp(sizes, seed));
    Ok((program, names.into_iter().zip(tensors).collect()))
}

/// The ops of the compiled program that compute something.
fn ops(executor: &Executor) -> Vec<&'static str> {
    let calls = &executor.compiled().program.main.calls;
    calls.iter().map(|call| call.op.name()).filter(|&name| name != "constant").collect()
}

fn close(a: &Tensor, b: &Tensor, listing: &Program) {
    assert_eq!(a.ty(), b.ty());
    for (a, b) in a.to_f64s().into_iter().zip(b.to_f64s()) {
        // Small ops round at each step.
        let bound = 16.0 * f64::from(f32::EPSILON) * (1.0 + b.abs());
        assert!((a - b).abs() <= bound || a.is_nan() && b.is_nan(), "{a} {b}\n{listing:#}");
    }
}

fn run(f: Function<'_>, shapes: &[&[usize]], options: &Options) -> Result<Vec<&'static str>> {
    let (program, feeds) = build(f, shapes)?;
    let feeds: Vec<(&str, Tensor)> =
        feeds.iter().map(|(name, tensor)| (name.as_str(), tensor.clone())).collect();
    let executor = Executor::with(&program, &["out0"], State::new(), options)?;
    let expected = Interpreter::new(program.clone(), State::new())?.run(&feeds)?;
    let found = executor.run(&feeds)?;
    close(&found[0], &expected[0], &executor.compiled().program);
    if !options.fast {
        assert!(found[0].bitwise_eq(&expected[0]));
    }
    Ok(ops(&executor))
}

/// Passes that are not exact are allowed.
fn fast() -> Options {
    Options { fast: true, ..Options::default() }
}

/// An executor of all outputs with all passes.
fn fast_executor(program: &Program, state: State) -> Result<Executor> {
    let outputs: Vec<&str> = program.outputs.iter().map(|name| &**name).collect();
    Executor::with(program, &outputs, state, &fast())
}

/// The function is one call of the op.
#[track_caller]
fn is(op: &str, shapes: &[&[usize]], f: Function<'_>) {
    let found = run(f, shapes, &fast()).unwrap();
    assert_eq!(found, [op]);
    assert!(!run(f, shapes, &Options::default()).unwrap().contains(&op));
}

/// The function is none, though it looks like it.
#[track_caller]
fn is_not(op: &str, shapes: &[&[usize]], f: Function<'_>) {
    let found = run(f, shapes, &fast()).unwrap();
    assert!(!found.contains(&op), "{found:?}");
}

const ROWS: &[&[usize]] = &[&[5, 7]];
const CUBE: &[&[usize]] = &[&[3, 4, 5]];

#[test]
fn softmax_in_its_spellings() {
    is("softmax", ROWS, &|x| {
        let e = exp(&x[0])?;
        div(&e, &sum(&e, &[1], true)?)
    });
    is("softmax", ROWS, &|x| {
        let e = exp(&(&x[0] - max(&x[0], &[-1], true)?))?;
        div(&e, &unsqueeze(&sum(&e, &[-1], false)?, 1)?)
    });
    is("softmax", CUBE, &|x| {
        let level = expand(&max(&x[0], &[1], true)?, &x[0].dims())?;
        let e = exp(&(&x[0] - level))?;
        mul(&reciprocal(&sum(&e, &[1], true)?)?, &e)
    });
    is("softmax", ROWS, &|x| {
        let e = exp(&(&x[0] - max(&x[0], &[0], false)?))?;
        div(&e, &sum(&e, &[0], false)?)
    });
    is("softmax", ROWS, &|x| exp(&(&x[0] - logsumexp(&x[0], &[1], true)?)));
}

#[test]
fn what_is_no_softmax() {
    // Another axis below.
    is_not("softmax", &[&[4, 4]], &|x| {
        let e = exp(&x[0])?;
        div(&e, &sum(&e, &[1], false)?)
    });
    is_not("softmax", ROWS, &|x| {
        let e = exp(&x[0])?;
        div(&e, &sum(&e, &[], false)?)
    });
    is_not("softmax", ROWS, &|x| {
        let e = exp(&x[0])?;
        div(&exp(&(&x[0] * 2.0))?, &sum(&e, &[1], true)?)
    });
    // What lies between is wanted, too.
    is_not("softmax", ROWS, &|x| {
        let e = exp(&x[0])?;
        add(&div(&e, &sum(&e, &[1], true)?)?, &e)
    });
}

#[test]
fn log_softmax_in_its_spellings() {
    is("log_softmax", ROWS, &|x| sub(&x[0], &logsumexp(&x[0], &[1], true)?));
    is("log_softmax", ROWS, &|x| sub(&x[0], &log(&sum(&exp(&x[0])?, &[1], true)?)?));
    is("log_softmax", ROWS, &|x| {
        let z = sub(&x[0], &max(&x[0], &[1], true)?)?;
        sub(&z, &log(&sum(&exp(&z)?, &[1], true)?)?)
    });
    is("log_softmax", ROWS, &|x| {
        let m = max(&x[0], &[1], true)?;
        let logs = log(&sum(&exp(&(&x[0] - &m))?, &[1], true)?)?;
        sub(&x[0], &add(&logs, &m)?)
    });
    is("log_softmax", ROWS, &|x| log(&softmax(&x[0], 1)?));
    is_not("log_softmax", &[&[4, 4]], &|x| sub(&x[0], &logsumexp(&x[0], &[1], false)?));
    is_not("log_softmax", ROWS, &|x| sub(&(&x[0] * 2.0), &logsumexp(&x[0], &[1], true)?));
}

#[test]
fn activations_in_their_spellings() {
    is("sigmoid", ROWS, &|x| (1.0 / (1.0 + exp(&-&x[0])?)).check());
    is("sigmoid", ROWS, &|x| reciprocal(&(exp(&(&x[0] * -1.0))? + 1.0)));
    is("sigmoid", ROWS, &|x| {
        let one = expand(&Var::scalar(1f32), &x[0].dims())?;
        div(&one, &add(&one, &exp(&neg(&x[0])?)?)?)
    });
    is_not("sigmoid", ROWS, &|x| (1.0 / (1.0 + exp(&x[0])?)).check());
    is_not("sigmoid", ROWS, &|x| (1.0 / (2.0 + exp(&-&x[0])?)).check());
    is_not("sigmoid", ROWS, &|x| {
        let e = exp(&-&x[0])?;
        (1.0 / (1.0 + &e) + e).check()
    });

    is("silu", ROWS, &|x| mul(&x[0], &sigmoid(&x[0])?));
    is("silu", ROWS, &|x| ((1.0 / (1.0 + exp(&-&x[0])?)) * &x[0]).check());
    is("silu", ROWS, &|x| div(&x[0], &(1.0 + exp(&-&x[0])?)));
    is_not("silu", &[&[5, 7], &[5, 7]], &|x| mul(&x[0], &sigmoid(&x[1])?));
}

#[test]
fn gelu_in_its_spellings() {
    let root = 2f64.sqrt();
    is("gelu", ROWS, &|x| (0.5 * &x[0] * (1.0 + erf(&(&x[0] / root))?)).check());
    is("gelu", ROWS, &|x| ((erf(&(&x[0] * (1.0 / root)))? + 1.0) * 0.5 * &x[0]).check());
    is("gelu", ROWS, &|x| (&x[0] * (erf(&(&x[0] / root))? + 1.0) / 2.0).check());
    is_not("gelu", ROWS, &|x| (0.5 * &x[0] * (1.0 + erf(&x[0])?)).check());
    is_not("gelu", ROWS, &|x| (&x[0] * (1.0 + erf(&(&x[0] / root))?)).check());

    let steepness = (2.0 / std::f64::consts::PI).sqrt();
    is("gelu_tanh", ROWS, &|x| {
        let cube = &x[0] * &x[0] * &x[0];
        (0.5 * &x[0] * (1.0 + tanh(&((&x[0] + cube * 0.044715) * steepness))?)).check()
    });
    is("gelu_tanh", ROWS, &|x| {
        let cube = pow(&x[0], &Var::scalar(3f32))?;
        (0.5 * &x[0] * (1.0 + tanh(&(steepness * (0.044715 * cube + &x[0])))?)).check()
    });
    is_not("gelu_tanh", ROWS, &|x| {
        let cube = &x[0] * &x[0] * &x[0];
        (0.5 * &x[0] * (1.0 + tanh(&((&x[0] + cube * 0.05) * steepness))?)).check()
    });
    // The input itself may be a product.
    let (program, _) = build(
        &|x| {
            let y = &x[0] * &x[1];
            (0.5 * &y * (1.0 + erf(&(&y / root))?)).check()
        },
        &[&[5, 7], &[5, 7]],
    )
    .unwrap();
    let executor = fast_executor(&program, State::new()).unwrap();
    let found = &executor.compiled().patches;
    assert!(found.iter().any(|patch| patch.what == "found `gelu`"), "{found:?}");
}

#[test]
fn layer_norm_in_its_spellings() {
    is("normalise", CUBE, &|x| {
        let d = sub(&x[0], &mean(&x[0], &[-1], true)?)?;
        div(&d, &sqrt(&(mean(&(&d * &d), &[-1], true)? + 1e-5))?)
    });
    is("normalise", CUBE, &|x| {
        let d = sub(&x[0], &(sum(&x[0], &[1, 2], true)? / 20.0))?;
        let variance = sum(&square(&d)?, &[1, 2], true)? * (1.0 / 20.0);
        mul(&rsqrt(&(1e-5 + variance))?, &d)
    });
    is("normalise", ROWS, &|x| {
        let d = sub(&x[0], &unsqueeze(&mean(&x[0], &[1], false)?, 1)?)?;
        let squares = pow(&d, &Var::scalar(2f32))?;
        let deviation = sqrt(&(mean(&squares, &[1], false)? + 1e-5))?;
        div(&d, &expand(&unsqueeze(&deviation, 1)?, &x[0].dims())?)
    });
    let with_params: &[&[usize]] = &[&[3, 4, 5], &[5], &[5]];
    is("normalise", with_params, &|x| {
        let d = sub(&x[0], &mean(&x[0], &[-1], true)?)?;
        let y = div(&d, &sqrt(&(mean(&(&d * &d), &[-1], true)? + 1e-5))?)?;
        add(&x[2], &mul(&y, &x[1])?)
    });
    is("normalise", &[&[3, 5], &[5]], &|x| {
        let y = mul(&x[0], &rsqrt(&(mean(&square(&x[0])?, &[-1], true)? + 1e-6))?)?;
        mul(&x[1], &y)
    });
}

#[test]
fn what_is_no_layer_norm() {
    // `eps` beside the root.
    is_not("normalise", CUBE, &|x| {
        let d = sub(&x[0], &mean(&x[0], &[-1], true)?)?;
        div(&d, &(sqrt(&mean(&(&d * &d), &[-1], true)?)? + 1e-5))
    });
    // Another number of elements.
    is_not("normalise", CUBE, &|x| {
        let d = sub(&x[0], &mean(&x[0], &[-1], true)?)?;
        div(&d, &sqrt(&(sum(&(&d * &d), &[-1], true)? / 4.0 + 1e-5))?)
    });
    // Not the last axes.
    is_not("normalise", CUBE, &|x| {
        let d = sub(&x[0], &mean(&x[0], &[1], true)?)?;
        div(&d, &sqrt(&(mean(&(&d * &d), &[1], true)? + 1e-5))?)
    });
    is_not("normalise", ROWS, &|x| {
        let d = sub(&x[0], &mean(&x[0], &[-1], true)?)?;
        let variance = mean(&(&d * &d), &[-1], true)?;
        add(&div(&d, &sqrt(&(&variance + 1e-5))?)?, &variance)
    });
}

#[test]
fn attention_in_its_spellings() {
    let shapes: &[&[usize]] = &[&[2, 5, 4], &[2, 6, 4], &[2, 6, 3], &[5, 6]];
    let turned = |k: &Var| permute(k, &[0, 2, 1]);
    is("attention", shapes, &|x| {
        let scores = matmul(&x[0], &turned(&x[1])?)? * 0.5;
        matmul(&softmax(&scores, -1)?, &x[2])
    });
    is("attention", shapes, &|x| {
        let scores = matmul(&(&x[0] / 2.0), &turned(&x[1])?)?;
        let e = exp(&(&scores - max(&scores, &[-1], true)?))?;
        matmul(&div(&e, &sum(&e, &[-1], true)?)?, &x[2])
    });
    is("attention", shapes, &|x| {
        let scores = matmul(&x[0], &turned(&x[1])?)? / 2.0;
        matmul(&softmax(&add(&x[3], &scores)?, 2)?, &x[2])
    });
    // Softmax over the queries.
    is_not("attention", shapes, &|x| {
        let scores = matmul(&x[0], &turned(&x[1])?)? * 0.5;
        matmul(&softmax(&scores, 1)?, &x[2])
    });
    // The weights are wanted, too.
    is_not("attention", shapes, &|x| {
        let weights = softmax(&(matmul(&x[0], &turned(&x[1])?)? * 0.5), -1)?;
        add(&matmul(&weights, &x[2])?, &sum(&weights, &[], false)?)
    });
}

#[test]
fn cross_entropy_at_labels() -> Result<()> {
    let labels = Tensor::from_slice(&[1i64, 0, -1, 2], &[4])?;
    let inputs = [("x", f32s(&[4, 3])), ("labels", labels.ty())];
    let picked = |x: &[Var]| -> Result<Var> {
        let logs = sub(&x[0], &logsumexp(&x[0], &[1], true)?)?;
        squeeze(&take_along_axis(&logs, &unsqueeze(&x[1], 1)?, 1)?, &[1])
    };
    let before = |x: &[Var]| mean(&neg(&picked(x)?)?, &[], false);
    let after = |x: &[Var]| neg(&mean(&picked(x)?, &[], false)?);
    let programs = [
        Program::build(&inputs, |x| Ok(vec![before(x)?]))?,
        Program::build(&inputs, |x| Ok(vec![after(x)?]))?,
    ];
    for program in programs {
        let feeds = [("x", ramp(&[4, 3], 0)), ("labels", labels.clone())];
        let executor = fast_executor(&program, State::new())?;
        assert!(ops(&executor).contains(&"class_losses"), "{:?}", ops(&executor));
        assert!(!ops(&executor).contains(&"gather"), "{:?}", ops(&executor));
        let expected = Interpreter::new(program, State::new())?.run(&feeds)?;
        close(&executor.run(&feeds)?[0], &expected[0], &executor.compiled().program);
    }
    Ok(())
}

#[test]
fn forms_with_symbols_and_in_loops() -> Result<()> {
    let ty = Type::new(DType::F32, &[Dim::symbol("batch")?, Dim::symbol("width")?])?;
    let norm = |x: &Var| -> Result<Var> {
        let d = sub(x, &mean(x, &[-1], true)?)?;
        div(&d, &sqrt(&(mean(&(&d * &d), &[-1], true)? + 1e-5))?)
    };
    let program = Program::build(&[("x", ty)], |x| {
        let out = while_loop(
            &[&Var::scalar(0i64), &x[0]],
            |v| lt(&v[0], &Var::scalar(3i64)),
            |v| Ok(vec![&v[0] + &Var::scalar(1i64), norm(&v[1])?]),
        )?;
        Ok(vec![norm(&out[1])?])
    })?;
    let executor = fast_executor(&program, State::new())?;
    let found =
        executor.compiled().patches.iter().filter(|patch| patch.what == "found `normalise`");
    assert_eq!(found.count(), 2);
    let interpreter = Interpreter::new(program, State::new())?;
    for sizes in [[2, 3], [4, 9]] {
        let feeds = [("x", ramp(&sizes, 1))];
        let listing = &executor.compiled().program;
        close(&executor.run(&feeds)?[0], &interpreter.run(&feeds)?[0], listing);
    }
    Ok(())
}

#[test]
fn a_training_with_spellings_agrees() -> Result<()> {
    let ty = f32s(&[6, 4]);
    let program = Program::build(&[("x", ty)], |x| {
        let weight = parameter("weight", f32s(&[4, 4]), || Var::of(&[0.25f32; 16], &[4, 4]))?;
        let h = matmul(&x[0], &weight)? + &x[0];
        let d = sub(&h, &mean(&h, &[-1], true)?)?;
        let normed = div(&d, &sqrt(&(mean(&(&d * &d), &[-1], true)? + 1e-5))?)?;
        let gated = (1.0 / (1.0 + exp(&-&normed)?)).check()?;
        let e = exp(&gated)?;
        let loss = sum(&square(&div(&e, &sum(&e, &[1], true)?)?)?, &[], false)?;
        Sgd::new(["weight"], 0.5).minimize(&loss)?;
        Ok(vec![loss])
    })?;
    let (fast, slow) = (State::new(), State::new());
    let executor = fast_executor(&program, fast.clone())?;
    let interpreter = Interpreter::new(program, slow.clone())?;
    let feeds = [("x", ramp(&[6, 4], 3))];
    let listing = &executor.compiled().program;
    for _ in 0..5 {
        close(&executor.run(&feeds)?[0], &interpreter.run(&feeds)?[0], listing);
    }
    close(&fast.tensor("weight")?, &slow.tensor("weight")?, listing);
    Ok(())
}
