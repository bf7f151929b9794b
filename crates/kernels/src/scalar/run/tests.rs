//! Whole tensors beside single elements.

use super::*;
use crate::scalar::compute::is_defined;
use crate::simd::{self, Level};
use crate::testing::Rng;
use crate::{Binary, Unary, threads};

const COMPUTE: [DType; 6] = [DType::U8, DType::I8, DType::I32, DType::I64, DType::F32, DType::F64];

/// Runs the body over whole tensors, and checks the result element by element against `run_one`.
fn check(body: &Body, inputs: &[&Tensor], params: &[f64], compute: DType, dims: &[usize]) {
    for out_dtype in [compute, DType::Bool, DType::F16, DType::I64] {
        let mut out = Tensor::empty(out_dtype, dims).unwrap();
        body.run(inputs, params, compute, &mut out).unwrap();
        let flat: Vec<Tensor> = inputs
            .iter()
            .map(|x| x.expand(dims).unwrap().reshape(&[out.numel()]).unwrap())
            .collect();
        let got = out.reshape(&[out.numel()]).unwrap();
        for i in 0..out.numel() {
            let elements: Vec<Tensor> = flat.iter().map(|x| x.index(0, i).unwrap()).collect();
            let elements: Vec<&Tensor> = elements.iter().collect();
            let want = body.run_one(&elements, params, compute, out_dtype).unwrap();
            let got = got.index(0, i).unwrap();
            let both_nan =
                got.item::<f64>().unwrap().is_nan() && want.item::<f64>().unwrap().is_nan();
            assert!(
                both_nan || got.bitwise_eq(&want),
                "{body} in {compute:?}, element {i} of {dims:?} is {got}, run_one has {want}"
            );
        }
    }
}

/// Numbers of a dtype with all that is special about it.
fn edge_values(compute: DType) -> Tensor {
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -2.5,
        3.75,
        1e30,
        -1e-30,
        1e-42,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let ints =
        [0.0, 1.0, 2.0, 3.0, 7.0, 100.0, 127.0, 255.0, -1.0, -2.0, -7.0, -128.0, 1e10, -1e18];
    let values = if compute.is_float() { floats } else { ints };
    match compute {
        DType::U8 | DType::I8 | DType::I32 => {
            let wide = Tensor::from_f64s(DType::I64, &values, &[values.len()]).unwrap();
            wide.cast(compute).unwrap()
        }
        _ => Tensor::from_f64s(compute, &values, &[values.len()]).unwrap(),
    }
}

#[test]
fn every_operation_has_the_bits_of_run_one() {
    for compute in COMPUTE {
        let x = edge_values(compute);
        let n = x.numel();
        for &op in Unary::ALL {
            let body = Body::from_insts(1, 0, &[Inst::Input(0), Inst::Unary(op, 0)]).unwrap();
            if body.check(1, 0, compute).is_ok() {
                check(&body, &[&x], &[], compute, &[n]);
            }
        }
        let column = x.reshape(&[n, 1]).unwrap();
        for &op in Binary::ALL {
            let insts = [Inst::Input(0), Inst::Input(1), Inst::Binary(op, 0, 1)];
            let body = Body::from_insts(2, 0, &insts).unwrap();
            if body.check(2, 0, compute).is_ok() {
                check(&body, &[&column, &x], &[], compute, &[n, n]);
            }
        }
        let select = Body::ternary(|c, a, b| c.select(a, b));
        check(&select, &[&x, &column, &x], &[], compute, &[n, n]);
    }
}

#[test]
fn any_layout_dtype_and_shape() {
    let mut rng = Rng::new(5);
    let body = Body::build(3, 2, |x, p| (x[0] * p[0] + x[1]).max(x[2] - p[1]) * 3.0);
    let shapes: [(&[usize], [&[usize]; 3]); 8] = [
        (&[], [&[], &[], &[]]),
        (&[0, 4], [&[0, 4], &[4], &[]]),
        (&[7], [&[7], &[1], &[]]),
        (&[2, 3, 4], [&[2, 3, 4], &[3, 1], &[2, 1, 4]]),
        (&[5, 700], [&[5, 700], &[700], &[5, 1]]),
        (&[3, 2500], [&[2500], &[3, 2500], &[3, 1]]),
        (&[900, 3], [&[900, 3], &[3], &[900, 1]]),
        (&[1, 2, 1, 3], [&[3], &[2, 1, 3], &[1, 1, 1, 1]]),
    ];
    for (dims, input_dims) in shapes {
        for compute in COMPUTE {
            let inputs = input_dims.map(|dims| {
                let dtype = DType::ALL[rng.below(9)];
                let x = rng.tensor(dtype, dims);
                rng.scramble(&x)
            });
            check(&body, &[&inputs[0], &inputs[1], &inputs[2]], &[2.0, 1.0], compute, dims);
        }
    }
}

#[test]
fn a_fused_body_equals_its_parts_in_turn() {
    let mut rng = Rng::new(6);
    let inner = Body::build(2, 1, |x, p| (x[0] * x[1] + p[0]).tanh() / 3.0);
    let outer = Body::ternary(|a, b, c| a.exp() * b - (b / c).erf());
    let fused = outer.fuse(1, &inner).unwrap();
    for dtype in [DType::F32, DType::F64] {
        let dims = [3, 700];
        let [a, c, x, y] = [(); 4].map(|_| rng.tensor(dtype, &dims));
        let [mut middle, mut want, mut got] = [(); 3].map(|_| Tensor::empty(dtype, &dims).unwrap());
        inner.run(&[&x, &y], &[0.3], dtype, &mut middle).unwrap();
        outer.run(&[&a, &middle, &c], &[], dtype, &mut want).unwrap();
        fused.run(&[&a, &c, &x, &y], &[0.3], dtype, &mut got).unwrap();
        let same = |(a, b): (f64, f64)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        assert!(got.to_f64s().into_iter().zip(want.to_f64s()).all(same));
    }
}

/// A body of random instructions that `compute` has.
fn random_body(rng: &mut Rng, compute: DType, n_inputs: u8, len: usize) -> Body {
    let mut insts: Vec<Inst> = (0..n_inputs).map(Inst::Input).collect();
    while insts.len() < len {
        let [a, b, c] = [(); 3].map(|_| rng.below(insts.len()) as u16);
        let inst = match rng.below(10) {
            0 => Inst::Const(rng.uniform(-4.0, 4.0)),
            1 => Inst::Param(rng.below(2) as u8),
            2 => Inst::Select(a, b, c),
            3 | 4 => Inst::Unary(Unary::ALL[rng.below(Unary::ALL.len())], a),
            5 => Inst::Binary(Binary::ALL[rng.below(Binary::ALL.len())], a, a),
            _ => Inst::Binary(Binary::ALL[rng.below(Binary::ALL.len())], a, b),
        };
        if is_defined(inst, compute) {
            insts.push(inst);
        }
    }
    Body::from_insts(n_inputs, 2, &insts).unwrap()
}

#[test]
fn random_bodies_have_the_bits_of_run_one() {
    let mut rng = Rng::new(19);
    for compute in COMPUTE {
        for round in 0..40 {
            let body = random_body(&mut rng, compute, 3, 5 + round);
            let x = rng.tensor(compute, &[4, 9]);
            let row = rng.tensor(DType::F32, &[9]);
            let uniform = rng.tensor(DType::I64, &[]);
            check(&body, &[&x, &row, &uniform], &[0.5, -3.0], compute, &[4, 9]);
        }
    }
}

#[test]
fn bits_depend_neither_on_threads_nor_on_instructions() {
    let mut rng = Rng::new(23);
    let bodies = [
        Body::binary(|x, y| (x * y + 1.0).tanh()),
        Body::binary(|x, b| (x + b).gelu() - (x * 9.0).silu()),
        Body::binary(|x, y| x.abs().pow(y) + y.erf().exp() * (x * 50.0).sin()),
        Body::binary(|x, y| (x * 40.0).sigmoid() - (y * y).log() / x.log1p()),
    ];
    for dims in [&[37, 1031][..], &[100_003], &[5000, 7], &[70_000]] {
        for dtype in [DType::F32, DType::F64] {
            let x = rng.tensor(dtype, dims);
            let x = rng.scramble(&x);
            let y = rng.tensor(dtype, &dims[dims.len() - 1..]);
            for body in &bodies {
                let mut want = Tensor::empty(dtype, dims).unwrap();
                threads::set_count(1);
                body.run(&[&x, &y], &[], dtype, &mut want).unwrap();
                for (count, level) in [(2, Level::Avx512), (3, Level::Avx2), (8, Level::Portable)] {
                    let _forced = simd::force(level);
                    threads::set_count(count);
                    let mut got = Tensor::empty(dtype, dims).unwrap();
                    body.run(&[&x, &y], &[], dtype, &mut got).unwrap();
                    let same =
                        |(a, b): (f64, f64)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
                    let mut pairs = got.to_f64s().into_iter().zip(want.to_f64s());
                    assert!(pairs.all(same), "{body} {dtype} {dims:?} at {level:?}");
                }
            }
        }
    }
}

#[test]
fn long_bodies_run() {
    let body = Body::unary(|x| (0..300).fold(x, |sum, k| sum * 0.5 + (x - k as f64)));
    let mut rng = Rng::new(7);
    let x = rng.tensor(DType::F32, &[1500]);
    check(&body, &[&x], &[], DType::F32, &[1500]);
}

#[test]
fn bodies_without_instructions_on_inputs() {
    let x = Tensor::from_slice(&[1.5f32, -2.5], &[2]).unwrap();
    for (body, want) in [
        (Body::unary(|x| x), [1.5, -2.5]),
        (Body::unary(|x| x.constant(4.0)), [4.0, 4.0]),
        (Body::build(1, 1, |_, p| p[0]), [0.25, 0.25]),
    ] {
        let mut out = Tensor::empty(DType::F32, &[2]).unwrap();
        let params = &[0.25][..body.n_params()];
        body.run(&[&x], params, DType::F32, &mut out).unwrap();
        assert_eq!(out.to_vec::<f32>().unwrap(), want, "{body}");
        check(&body, &[&x], params, DType::F64, &[2]);
    }
}

#[test]
fn faults_are_errors_even_without_elements() {
    let x = Tensor::zeros(DType::I32, &[0]).unwrap();
    let mut out = Tensor::empty(DType::I32, &[0]).unwrap();
    let error = Body::unary(|x| x.sin()).run(&[&x], &[], DType::I32, &mut out).unwrap_err();
    assert_eq!(error.message(), "sin is not defined for i32");
    let y = Tensor::zeros(DType::I32, &[2]).unwrap();
    let error = Body::unary(|x| -x).run(&[&y], &[], DType::I32, &mut out).unwrap_err();
    assert_eq!(error.message(), "shape [2] does not broadcast to [0]");
}

#[test]
fn several_results_and_results_in_place() {
    let mut rng = Rng::new(29);
    // m = x * 0.9 + y * 0.1, and z = sqrt(m) - x.
    let insts = [
        Inst::Input(0),
        Inst::Const(0.9),
        Inst::Binary(Binary::Mul, 0, 1),
        Inst::Input(1),
        Inst::Const(0.1),
        Inst::Binary(Binary::Mul, 3, 4),
        Inst::Binary(Binary::Add, 2, 5),
        Inst::Unary(Unary::Abs, 6),
        Inst::Unary(Unary::Sqrt, 7),
        Inst::Binary(Binary::Sub, 8, 0),
    ];
    let both = Body::from_parts(2, 0, &insts, &[6, 9]).unwrap();
    let single =
        |result: usize| Body::from_parts(2, 0, &insts[..=result], &[result as u16]).unwrap();
    for dims in [&[1][..], &[7], &[3, 700], &[50_000]] {
        for dtype in [DType::F32, DType::F64] {
            let (x, y) = (rng.tensor(dtype, dims), rng.tensor(dtype, &dims[dims.len() - 1..]));
            let y = rng.scramble(&y);
            let want = [6, 9].map(|result| {
                let mut out = Tensor::empty(dtype, dims).unwrap();
                single(result).run(&[&x, &y], &[], dtype, &mut out).unwrap();
                out
            });
            let mut outs = [(); 2].map(|()| Tensor::empty(dtype, dims).unwrap());
            let given = [Given::Tensor(&x), Given::Tensor(&y)];
            both.run_many(&given, &[], dtype, &mut outs).unwrap();
            assert!(outs.iter().zip(&want).all(|(a, b)| a.bitwise_eq(b)));
            // Over x, which others see as it was.
            let mut outs = [x.clone(), Tensor::empty(dtype, dims).unwrap()];
            both.run_many(&[Given::Out(0), given[1]], &[], dtype, &mut outs).unwrap();
            assert!(outs.iter().zip(&want).all(|(a, b)| a.bitwise_eq(b)));
            let mut outs = [Tensor::empty(dtype, dims).unwrap(), x.copy().unwrap()];
            both.run_many(&[Given::Out(1), given[1]], &[], dtype, &mut outs).unwrap();
            assert!(outs.iter().zip(&want).all(|(a, b)| a.bitwise_eq(b)));
        }
    }
    let mut outs = [Tensor::zeros(DType::F32, &[2]).unwrap()];
    let x = outs[0].clone();
    assert!(both.run_many(&[Given::Tensor(&x); 2], &[], DType::F32, &mut outs).is_err());
    let mut outs = [(); 2].map(|()| Tensor::zeros(DType::I32, &[2]).unwrap());
    assert!(both.run_many(&[Given::Out(0); 2], &[], DType::F32, &mut outs).is_err());
}
