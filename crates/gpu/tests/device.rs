//! The samples of all ops on a graphics processor, in `f32`, against the CPU; where there is no driver, nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use expect_test::expect_file;
use fluvial_core::device::{Device, choose, clear_report, open, report};
use fluvial_core::{
    DType, DeviceTensor, Expect, OpDef, Program, Result, Sample, State, Tensor, Type, Value, Var,
    bind,
};
use fluvial_ops as ops;
use fluvial_runtime::Executor;

/// The first device; nothing, if there is no driver.
fn gpu() -> Option<Arc<dyn Device>> {
    fluvial_gpu::register();
    match open("gpu") {
        Ok(device) => device,
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// How far numbers may be apart: in relation to the larger one, or else as such.
#[derive(Clone, Copy, Debug)]
struct Tolerance {
    relative: f64,
    absolute: f64,
}

impl Tolerance {
    const fn of(both: f64) -> Tolerance {
        Tolerance { relative: both, absolute: both }
    }
}

fn flatten(value: &Value) -> Vec<f64> {
    value.tensor().expect("a tensor that can be read").to_f64s()
}

/// Says how the values differ, if they do by more than that.
fn close(found: &Value, expected: &Value, tolerance: Tolerance) -> std::result::Result<(), String> {
    let near = |(a, b): (f64, f64)| {
        let distance = (a - b).abs();
        a == b
            || (a.is_nan() && b.is_nan())
            || distance <= tolerance.absolute.max(tolerance.relative * a.abs().max(b.abs()))
    };
    let (a, b) = (flatten(found), flatten(expected));
    match found.ty() == expected.ty() && a.iter().copied().zip(b.iter().copied()).all(near) {
        true => Ok(()),
        false => Err(format!(
            "more than {tolerance:?}\n  {} {a:?}\n  {} {b:?}",
            found.ty(),
            expected.ty()
        )),
    }
}

/// How far results may be from those of the CPU.
fn tolerance(op: &str) -> Tolerance {
    match op {
        // Sine and cosine are the driver's.
        "sin" | "cos" | "tan" | "atan" => Tolerance::of(2e-5),
        "pow" | "floor_divide" | "remainder" => Tolerance::of(3e-5),
        // Sums of products, in another order.
        "attend" | "attend_grad" | "normalise" | "normalise_grad" | "conv" | "conv_weight_grad" => {
            Tolerance::of(5e-5)
        }
        _ => Tolerance { relative: 1e-5, absolute: 4e-6 },
    }
}

/// The value with `f64` as `f32`.
fn narrow(value: &Value) -> Result<Value> {
    match value {
        Value::Tensor(x) if x.dtype() == DType::F64 => Ok(x.cast(DType::F32)?.into()),
        _ => Ok(value.clone()),
    }
}

/// Outputs, and gradients of the floats among them by all tracked inputs.
fn run(sample: &Sample, inputs: &[Value]) -> Result<(Vec<Value>, Vec<Value>)> {
    let has_gradient = |value: &&Value| value.ty().is_float() && !value.ty().is_list();
    let vars: Vec<Var> = inputs
        .iter()
        .map(|value| match has_gradient(&value) {
            true => Var::new(value.clone()).track(),
            false => Ok(Var::new(value.clone())),
        })
        .collect::<Result<_>>()?;
    let outputs = bind(sample.op.clone(), &vars.iter().collect::<Vec<_>>())?;
    let mut total: Option<Var> = None;
    for output in outputs.iter().filter(|output| output.is_tracked() && output.ty().is_float()) {
        let part = ops::sum(&(output * output + output), &[], false)?;
        total = Some(match total {
            Some(total) => (total + part).check()?,
            None => part,
        });
    }
    let values = outputs.iter().map(|output| output.value().cloned()).collect::<Result<_>>()?;
    let mut gradients = Vec::new();
    if let Some(total) = total.filter(|total| total.item::<f32>().is_ok_and(f32::is_finite))
        && total.backward().is_ok()
    {
        let own = vars.iter().filter_map(Var::grad);
        gradients = own.map(|grad| grad.value().cloned()).collect::<Result<_>>()?;
    }
    Ok((values, gradients))
}

fn there(value: &Value, device: &Arc<dyn Device>) -> Result<Value> {
    match value {
        Value::Tensor(x) if device.holds(x.dtype()) => value.to_device(Some(device)),
        _ => Ok(value.clone()),
    }
}

/// Whether all samples of an op ran on the device; the differences are collected.
fn check(def: &OpDef, device: &Arc<dyn Device>, faults: &mut Vec<String>) -> Option<bool> {
    let mut ran = None;
    for (index, sample) in (def.samples)().iter().enumerate() {
        let is_usual = !matches!(sample.expect, Expect::Refused(_))
            && !sample.inputs.is_empty()
            && sample.op.blocks().is_empty()
            && !sample.op.properties().effect
            && sample.op.ranks().is_none()
            && sample.inputs.iter().all(|value| matches!(value, Value::Tensor(_)));
        let Ok(inputs) = sample.inputs.iter().map(narrow).collect::<Result<Vec<_>>>() else {
            continue;
        };
        let Some(here) = run(sample, &inputs).ok().filter(|_| is_usual) else { continue };
        let brought = inputs.iter().map(|value| there(value, device)).collect::<Result<Vec<_>>>();
        clear_report();
        let found = brought.and_then(|inputs| run(sample, &inputs));
        let fell = report().iter().any(|entry| entry.fallbacks.contains_key(def.name));
        let has_elements = sample.inputs.iter().any(|value| value.ty().numel() != Some(0));
        if has_elements && inputs.iter().all(|value| device.holds(value.ty().dtype())) {
            ran = Some(ran.unwrap_or(true) && !fell);
        }
        let mut differ = |what: &str, text: String| {
            faults.push(format!("op `{}`, sample {index}, {what}: {text}", def.name));
        };
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                differ("an error", error.to_string());
                continue;
            }
        };
        let pairs = [("outputs", &found.0, &here.0), ("gradients", &found.1, &here.1)];
        for (what, found, here) in pairs {
            if found.len() != here.len() {
                differ(what, format!("{} instead of {}", found.len(), here.len()));
            }
            for (found, here) in found.iter().zip(here) {
                if flatten(here).iter().any(|x| x.abs() > 1e30) {
                    continue;
                }
                if let Err(failure) = close(found, here, tolerance(def.name)) {
                    differ(what, failure.to_string());
                }
            }
        }
    }
    ran
}

#[test]
fn samples_and_the_page_of_ops() {
    let Some(device) = gpu() else { return };
    let registry = ops::registry();
    let mut faults = Vec::new();
    let (mut yes, mut no) = (BTreeSet::new(), BTreeSet::new());
    for def in registry.defs() {
        match check(def, &device, &mut faults) {
            Some(true) => yes.insert(format!("`{}`", def.name)),
            Some(false) => no.insert(format!("`{}`", def.name)),
            None => false,
        };
    }
    let count = faults.len();
    assert!(faults.is_empty(), "{count} differences\n{}", faults.join("\n"));
    let list = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
    let text = format!(
        "# Ops on graphics processors\n\nThis page is generated by a test of `crates/gpu`, on llvmpipe, in `f32`. Ops that only pass values \
         on (lists, loops, branches) are in neither list.\n\n## Run there\n\n{}.\n\n## Fall back to the CPU\n\nIn some samples at \
         least.\n\n{}.\n",
        list(yes),
        list(no)
    );
    expect_file!["../../../docs/device_ops.md"].assert_eq(&text);
}

fn numbers(dims: &[usize], seed: usize) -> Tensor {
    let count = dims.iter().product::<usize>();
    let number = |i: usize| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1000.0 - 1.0;
    Tensor::from_vec((0..count).map(number).collect::<Vec<f32>>(), dims).unwrap()
}

fn upload(x: &Tensor, device: &Arc<dyn Device>) -> Var {
    Var::new(Value::Device(Arc::new(DeviceTensor::upload(x, device).unwrap())))
}

#[test]
fn large_products_sums_and_views() {
    let Some(device) = gpu() else { return };
    let f = |a: &Var, b: &Var| -> Result<Vec<Var>> {
        let product = ops::matmul(a, b)?;
        let turned = ops::permute(&product, &[0, 2, 1])?;
        let sums = ops::sum(&turned, &[1], false)?;
        Ok(vec![
            product.clone(),
            ops::softmax(&turned, -1)?,
            sums,
            ops::max(&product, &[0, 2], true)?,
        ])
    };
    let (a, b) = (numbers(&[3, 100, 37], 1), numbers(&[37, 301], 2));
    let here = f(&Var::new(a.clone()), &Var::new(b.clone())).unwrap();
    clear_report();
    let there = f(&upload(&a, &device), &upload(&b, &device)).unwrap();
    assert!(report().iter().all(|entry| entry.fallbacks.is_empty()));
    for (here, there) in here.iter().zip(&there) {
        close(there.value().unwrap(), here.value().unwrap(), Tolerance::of(5e-5)).unwrap();
    }
}

/// A step of training, as a program, gives the same line by line and compiled on one device, and nearly that of the CPU.
#[test]
fn both_modes_agree_by_bits() {
    let Some(device) = gpu() else { return };
    let step = |x: &[Var]| -> Result<Vec<Var>> {
        let leaves: Vec<Var> = x[2..].iter().map(Var::track).collect::<Result<_>>()?;
        let hidden = ops::gelu(&(ops::matmul(&x[0], &leaves[0])? + &leaves[1]), false)?;
        let logits = ops::matmul(&hidden, &leaves[2])?;
        let loss = ops::cross_entropy(&logits, &x[1], None, Default::default())?;
        loss.backward()?;
        let mut outputs = vec![loss];
        for leaf in &leaves {
            let grad = leaf.grad().expect("a gradient");
            outputs.push((leaf - grad * 0.1).check()?.detach());
        }
        Ok(outputs)
    };
    let labels =
        Tensor::from_vec((0..32).map(|i| i * 3 % 10).collect::<Vec<i64>>(), &[32]).unwrap();
    let inputs = [
        numbers(&[32, 50], 3),
        labels,
        numbers(&[50, 64], 4),
        numbers(&[64], 5),
        numbers(&[64, 10], 6),
    ];
    let types: Vec<(String, Type)> =
        inputs.iter().enumerate().map(|(i, x)| (format!("x{i}"), x.ty())).collect();
    let named: Vec<(&str, Type)> = types.iter().map(|(name, ty)| (name.as_str(), *ty)).collect();
    let program = Program::build(&named, |x| step(x)).unwrap();
    let executor = Executor::new(&program, State::new()).unwrap();
    let here = step(&inputs.clone().map(Var::new)).unwrap();
    let brought = inputs.each_ref().map(|x| upload(x, &device));
    clear_report();
    let by_line = step(&brought).unwrap();
    let compiled = executor.apply(&brought.each_ref()).unwrap();
    let fallbacks: Vec<_> = report().into_iter().flat_map(|entry| entry.fallbacks).collect();
    assert!(fallbacks.is_empty(), "{fallbacks:?}");
    for ((here, by_line), compiled) in here.iter().zip(&by_line).zip(&compiled) {
        close(by_line.value().unwrap(), here.value().unwrap(), Tolerance::of(2e-5)).unwrap();
        assert!(compiled.value().unwrap().device().is_some());
        assert!(by_line.value().unwrap().bitwise_eq(compiled.value().unwrap()));
    }
}

#[test]
fn random_numbers_are_those_of_the_cpu() {
    let Some(device) = gpu() else { return };
    let ty = Type::of(DType::F32, &[1003]).unwrap();
    let x = Var::new(numbers(&[50, 40], 8));
    let draw = || -> Result<[Var; 3]> {
        ops::seed(5)?;
        ops::with_stream("test", || {
            Ok([ops::uniform(&ty, -2.0, 3.0)?, ops::normal(&ty, 1.0, 2.0)?, ops::dropout(&x, 0.3)?])
        })
    };
    let here = draw().unwrap();
    clear_report();
    let there = {
        let _on = choose(Some(device));
        draw().unwrap()
    };
    for (here, there) in here.iter().zip(&there) {
        assert!(there.value().unwrap().device().is_some());
        close(there.value().unwrap(), here.value().unwrap(), Tolerance::of(5e-6)).unwrap();
    }
    let fell: Vec<_> = report().into_iter().flat_map(|entry| entry.fallbacks).collect();
    for name in ["uniform", "normal", "dropout"] {
        assert!(fell.iter().all(|(op, _)| *op != name), "{fell:?}");
    }
}

#[test]
fn what_fails_on_the_cpu_fails_there() {
    let Some(device) = gpu() else { return };
    let x = upload(&numbers(&[4, 2], 7), &device);
    let index = Tensor::from_slice(&[0i64, 4], &[2]).unwrap();
    let here = ops::gather(&Var::new(numbers(&[4, 2], 7)), &Var::new(index.clone()), 0);
    let there = ops::gather(&x, &upload(&index, &device), 0);
    assert_eq!(here.unwrap_err().message(), there.unwrap_err().message());
}
