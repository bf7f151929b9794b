//! Exported programs print, check and use several cores as they do here.

mod common;

use common::{Folder, SANITIZED, agrees, built, run};
use fluvial_core::{DType, Program, Result, State, Tensor, Type};
use fluvial_export::{Options, export};
use fluvial_ops::{PrintOptions, assert_, flip, gt, matmul, print, print_with, sum, tanh};

#[test]
fn prints_are_those_of_the_executor() -> Result<()> {
    let numbers = [0.1, -0.0, 1e-7, 1.0 / 3.0, 123456789.0, 1e16, 2.5e-5, f64::NAN, f64::INFINITY];
    let values = [
        Tensor::from_slice(&numbers, &[3, 3])?,
        Tensor::from_slice(&numbers, &[9])?.cast(DType::F32)?,
        Tensor::from_slice(&numbers[..4], &[4])?.cast(DType::F16)?,
        Tensor::from_f64s(DType::I64, &(0..40).map(f64::from).collect::<Vec<_>>(), &[5, 4, 2])?,
        Tensor::from_slice(&[true, false], &[1, 2])?,
        Tensor::scalar(1.234568e12f32),
        Tensor::zeros(DType::F32, &[2, 0])?,
    ];
    let names: Vec<String> = (0..values.len()).map(|i| format!("x{i}")).collect();
    let inputs: Vec<(&str, Type)> =
        names.iter().map(String::as_str).zip(values.iter().map(Tensor::ty)).collect();
    let program = Program::build(&inputs, |x| {
        let mut shown = Vec::new();
        for (x, name) in x.iter().zip(&names) {
            shown.push(print(x, name)?);
        }
        shown.push(print(&x[0], "")?);
        shown.push(print_with(&x[3], "two \"of\" é\\", PrintOptions::default().summarize(2))?);
        Ok(shown)
    })?;
    let mut expected: Vec<String> =
        names.iter().zip(&values).map(|(name, x)| format!("{name}: {x:?}")).collect();
    expected.push(format!("{:?}", values[0]));
    expected.push("two \"of\" é\\: i64[5, 4, 2] [0, 1, ..]".into());
    let folder = Folder::new();
    built(&export(&program, &State::new(), &Options::default())?, &folder.0, SANITIZED)?;
    let given: Vec<(&str, &Tensor)> = names.iter().map(String::as_str).zip(&values).collect();
    let text = run(&folder.0, &given, &[])?;
    let lines: Vec<&str> = text.lines().take(expected.len()).collect();
    assert_eq!(lines, expected);
    Ok(())
}

#[test]
fn checks_fail_with_their_message() -> Result<()> {
    let program = Program::build(&[("x", Type::of(DType::F32, &[2])?)], |x| {
        assert_(&gt(&x[0], &fluvial_core::Var::scalar(0.0f32))?, "x is positive", &[&x[0]])?;
        Ok(vec![&x[0] * 2.0])
    })?;
    let folder = Folder::new();
    built(&export(&program, &State::new(), &Options::default())?, &folder.0, SANITIZED)?;
    run(&folder.0, &[("x", &Tensor::from_slice(&[1.0f32, 2.0], &[2])?)], &[])?;
    let fault = run(&folder.0, &[("x", &Tensor::from_slice(&[1.0f32, -2.0], &[2])?)], &[]);
    let text = fault.unwrap_err().to_string();
    assert!(text.contains("assertion failed: x is positive"), "{text}");
    assert!(text.contains("features.rs:"), "{text}");
    Ok(())
}

#[test]
fn long_loops_run_on_several_cores() -> Result<()> {
    let numbers =
        |n: usize| (0..n).map(|i| ((i * 37) % 101) as f64 / 101.0 - 0.5).collect::<Vec<_>>();
    let x = Tensor::from_f64s(DType::F32, &numbers(300 * 200), &[300, 200])?;
    let w = Tensor::from_f64s(DType::F32, &numbers(200 * 150), &[200, 150])?;
    let program = Program::build(&[("x", x.ty()), ("w", w.ty())], |v| {
        let y = matmul(&v[0], &v[1])?;
        Ok(vec![tanh(&y)? * 2.0 + &y, &v[0] + 1.0])
    })?;
    let expected = program.apply(&[&x.clone().into(), &w.clone().into()])?;
    let expected: Vec<Tensor> =
        expected.iter().map(|y| Ok(y.tensor()?.clone())).collect::<Result<_>>()?;
    let inputs = [("x", &x), ("w", &w)];
    agrees(&program, &Options::default(), &["-O2", "-fopenmp"], &inputs, &expected, &[])
}

#[test]
fn sums_of_elements_read_backwards() -> Result<()> {
    let x = Tensor::from_f64s(DType::F64, &(1..=16).map(f64::from).collect::<Vec<_>>(), &[8, 2])?;
    let program = Program::build(&[("x", x.ty())], |v| {
        let turned = flip(&v[0], &[1])?;
        let sums = [sum(&(&turned * &turned + &turned), &[], false)?, sum(&turned, &[], false)?];
        Ok(sums.to_vec())
    })?;
    let expected = [Tensor::scalar(1632.0f64), Tensor::scalar(136.0f64)];
    for flags in [&["-O2"][..], &["-O3", "-march=native"]] {
        agrees(&program, &Options::default(), flags, &[("x", &x)], &expected, &[])?;
    }
    Ok(())
}
