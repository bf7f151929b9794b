//! Programs computed with bytes.

use fluvial::prelude::*;
use fluvial::{How, Quantizer};

fn ty(dims: &[Dim]) -> Type {
    Type::new(DType::F32, dims).unwrap()
}

fn batch() -> Dim {
    Dim::symbol("batch").unwrap()
}

/// Numbers between -1 and 1 that depend on the number of the sample only.
fn numbers(dims: &[usize], number: u64) -> Tensor {
    let count: usize = dims.iter().product();
    let number = |i: u64| {
        let bits = (i + 1 + (number << 20)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (bits >> 40) as f64 / (1u64 << 23) as f64 - 1.0
    };
    let all: Vec<f64> = (0..count as u64).map(number).collect();
    Tensor::from_f64s(DType::F32, &all, dims).unwrap()
}

fn run(program: &Program, x: &Tensor) -> Tensor {
    Executor::new(program, State::new()).unwrap().run(&[("x", x.clone())]).unwrap().remove(0)
}

/// The greatest difference, as a part of the greatest number.
fn error(found: &Tensor, expected: &Tensor) -> f64 {
    let (found, expected) = (found.to_f64s(), expected.to_f64s());
    let most = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    let apart = found.iter().zip(&expected).map(|(a, b)| (a - b).abs());
    apart.fold(0.0, f64::max) / most
}

/// The program as floats and as bytes, static and dynamic, gives about the same; modes agree on every bit, also after a
/// round trip through text and bytes.
fn check(program: &Program, dims: &[usize], bound: f64, wanted: &str) {
    let mut quantizer = Quantizer::new(program, &State::new(), &[]).unwrap();
    for i in 0..4 {
        quantizer.observe(&[("x", numbers(dims, i))]).unwrap();
    }
    for made in [quantizer.quantized().unwrap(), quantizer.dynamic().unwrap()] {
        let text = made.program.to_string();
        assert!(text.contains(wanted), "{text}");
        let x = numbers(dims, 9);
        let found = run(&made.program, &x);
        let apart = error(&found, &run(program, &x));
        assert!(apart < bound && apart > 0.0, "{apart}");
        let plain = Interpreter::new(made.program.clone(), State::new()).unwrap();
        assert!(plain.run(&[("x", x.clone())]).unwrap()[0].bitwise_eq(&found));
        let again = Program::from_bytes(&made.program.to_bytes(), &registry()).unwrap();
        assert!(run(&again, &x).bitwise_eq(&found));
        let again = Program::parse(&text, &registry()).unwrap();
        assert!(run(&again, &x).bitwise_eq(&found));
    }
}

#[test]
fn layers_of_products() {
    seed(1).unwrap();
    let (a, b) = (Linear::new("a", 48, 64), Linear::new("b", 64, 24));
    let program = Program::build(&[("x", ty(&[batch(), Dim::size(48)]))], |x| {
        Ok(vec![b.forward(&relu(&a.forward(&x[0])?)?)?])
    })
    .unwrap();
    check(&program, &[16, 48], 0.02, "int8_linear");
    // Bias and activation are part of the compiled op.
    let quantized = Quantizer::new(&program, &State::new(), &[]).unwrap().dynamic().unwrap();
    let executor = Executor::new(&quantized.program, State::new()).unwrap();
    let compiled = executor.compiled().program.to_string();
    assert!(compiled.contains("int8_linear{bias=true, relu=true}"), "{compiled}");
}

#[test]
fn convolutions_with_norms() {
    seed(2).unwrap();
    let conv = Conv2d::new("conv", 8, 16, 3);
    let program =
        Program::build(&[("x", ty(&[batch(), Dim::size(8), Dim::size(10), Dim::size(10)]))], |x| {
            Ok(vec![relu(&conv.forward(&x[0])?)?])
        })
        .unwrap();
    check(&program, &[3, 8, 10, 10], 0.02, "int8_conv");
}

#[test]
fn products_inside_of_loops() {
    seed(3).unwrap();
    let layer = Linear::new("step", 32, 32);
    let program = Program::build(&[("x", ty(&[batch(), Dim::size(32)]))], |x| {
        let n = Var::scalar(0i64);
        let found = while_loop(
            &[&n, &x[0]],
            |v| lt(&v[0], &v[0].literal(3.0)),
            |v| Ok(vec![add(&v[0], &v[0].literal(1.0))?, tanh(&layer.forward(&v[1])?)?]),
        )?;
        Ok(vec![found[1].clone()])
    })
    .unwrap();
    let quantizer = Quantizer::new(&program, &State::new(), &[]).unwrap();
    let made = quantizer.dynamic().unwrap();
    assert!(made.program.to_string().contains("int8_linear"), "{}", made.program);
    let x = numbers(&[4, 32], 5);
    let apart = error(&run(&made.program, &x), &run(&program, &x));
    assert!(apart < 0.05, "{apart}");
}

#[test]
fn what_is_said_of_ops() {
    seed(4).unwrap();
    let (a, b) = (Linear::new("net.a", 16, 32), Linear::new("net.b", 32, 2));
    let program = Program::build(&[("x", ty(&[batch(), Dim::size(16)]))], |x| {
        Ok(vec![b.forward(&relu(&a.forward(&x[0])?)?)?])
    })
    .unwrap();
    let made = Quantizer::new(&program, &State::new(), &[]).unwrap().dynamic().unwrap();
    let said: Vec<String> =
        made.ops.iter().map(|op| format!("{} {}: {}", op.name, op.op, op.how)).collect();
    assert_eq!(
        said,
        [
            "net.a.weight matmul: int8, dynamic scale",
            "net.b.weight matmul: floats: 2 channels in 1 groups of 32 products are too few to gain by it",
        ]
    );
    let refused = |skip: &[&str]| -> Error {
        Quantizer::new(&program, &State::new(), skip).err().expect("an error")
    };
    assert!(
        refused(&["net.c"]).message().contains("no op that could be quantised is named `net.c`")
    );
    assert!(refused(&["net.a"]).message().contains("nothing that can be quantised"));
    assert!(matches!(made.ops[0].how, How::Dynamic));
}

#[test]
fn samples_are_needed_and_must_be_finite() {
    seed(5).unwrap();
    let layer = Linear::new("fc", 16, 16);
    let program = Program::build(&[("x", ty(&[batch(), Dim::size(16)]))], |x| {
        Ok(vec![layer.forward(&x[0])?])
    })
    .unwrap();
    let mut quantizer = Quantizer::new(&program, &State::new(), &[]).unwrap();
    let none = quantizer.quantized().err().expect("an error");
    assert!(none.message().contains("no samples were observed"));
    let wrong = Tensor::full(&[1, 16], f32::NAN).unwrap();
    let refused = quantizer.observe(&[("x", wrong)]).unwrap_err();
    assert!(refused.message().contains("what goes into `fc.weight` reaches from"), "{refused}");
}

#[test]
fn what_changes_from_call_to_call_is_not_made_to_stand_still() {
    let layer = Linear::new("fc", 16, 16);
    let program = Program::build(&[("x", ty(&[batch(), Dim::size(16)]))], |x| {
        let noise = normal(&x[0].ty(), 0.0, 1.0)?;
        Ok(vec![layer.forward(&(&x[0] + &noise))?])
    })
    .unwrap();
    let refused = Quantizer::new(&program, &State::new(), &[]).err().expect("an error");
    assert!(refused.message().contains("reads the state `rng`"), "{refused}");
}
