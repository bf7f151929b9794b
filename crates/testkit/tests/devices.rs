//! Values on devices, without any: the device of these tests is host memory.

use std::sync::Arc;

use fluvial_core::device::{Device, choose, clear_report, report};
use fluvial_core::{
    Cell, DType, DeviceTensor, Program, Result, Role, Sample, State, Tensor, Type, Value, Var, at,
    bind, no_grad,
};
use fluvial_ops as ops;
use fluvial_runtime::{Executor, Profiler};
use fluvial_testkit::check::{Tolerance, all, close, has_gradient, same_bits};
use fluvial_testkit::device::fake;

/// Outputs, and gradients by all tracked inputs.
fn run(sample: &Sample) -> Result<(Vec<Value>, Vec<Value>)> {
    let vars: Vec<Var> = sample
        .inputs
        .iter()
        .map(|value| match has_gradient(&value.ty()) && !value.ty().is_list() {
            true => Var::new(value.clone()).track(),
            false => Ok(Var::new(value.clone())),
        })
        .collect::<Result<_>>()?;
    let outputs = bind(sample.op.clone(), &vars.iter().collect::<Vec<_>>())?;
    let has_energy =
        |output: &&Var| output.is_tracked() && output.ty().is_float() && !output.ty().is_list();
    let mut total: Option<Var> = None;
    for output in outputs.iter().filter(has_energy) {
        let energy = ops::sum(&(output * output + output), &[], false)?;
        total = Some(match total {
            Some(total) => (ops::cast(&total, energy.dtype())? + energy).check()?,
            None => energy,
        });
    }
    if let Some(total) = total {
        total.backward()?;
    }
    let values = outputs.iter().map(|output| output.value().cloned()).collect::<Result<_>>()?;
    let own = vars.iter().filter_map(Var::grad);
    Ok((values, own.map(|grad| grad.value().cloned()).collect::<Result<_>>()?))
}

/// Every sample gives on a device what it gives on the CPU, and so do its gradients.
#[test]
fn samples_give_the_same() {
    let device = fake(0);
    let registry = ops::registry();
    let (mut count, mut there_too) = (0, 0);
    for def in registry.defs() {
        for (index, sample) in (def.samples)().iter().enumerate() {
            let is_apart = sample.op.properties().effect
                || sample.op.ranks().is_some()
                || sample.op.is_of_tasks();
            if is_apart {
                continue;
            }
            let here = run(sample);
            let there = {
                let _on = choose(Some(device.clone()));
                run(sample)
            };
            let same = |found: &Value, expected: &Value| {
                close(found, expected, Tolerance::of_dtype(expected.ty().dtype()))
            };
            count += 1;
            match (&here, &there) {
                (Ok(here), Ok(there)) => {
                    let is_there = |value: &Value| value.device().is_some();
                    there_too += usize::from(there.0.iter().any(is_there));
                    let agree =
                        all(&there.0, &here.0, same).and_then(|()| all(&there.1, &here.1, same));
                    if let Err(failure) = agree {
                        panic!("op `{}`, sample {index}: {failure}", def.name);
                    }
                }
                (Err(here), Err(there)) => {
                    assert_eq!(here.message(), there.message(), "{}", def.name)
                }
                _ => panic!(
                    "op `{}`, sample {index}: {here:?} on the CPU, {there:?} there",
                    def.name
                ),
            }
        }
    }
    assert!(there_too > count / 2, "{there_too} of {count} samples gave something on the device");
}

fn on(device: &Arc<dyn Device>, x: &Tensor) -> Var {
    Var::new(Value::Device(Arc::new(DeviceTensor::upload(x, device).unwrap())))
}

fn is_on(var: &Var, device: &Arc<dyn Device>) -> bool {
    var.value().unwrap().device().is_some_and(|own| Arc::ptr_eq(own, device))
}

fn numbers(dims: &[usize]) -> Tensor {
    let count = dims.iter().product::<usize>();
    let numbers: Vec<f32> = (0..count).map(|i| ((i * 37 + 11) % 101) as f32 / 50.0 - 1.0).collect();
    Tensor::from_vec(numbers, dims).unwrap()
}

/// A layer with a loss, as ops that a device has and that it has not.
fn loss(x: &Var, w: &Var, b: &Var) -> Result<Var> {
    let hidden = ops::gelu(&(ops::matmul(x, w)? + b), false)?;
    let turned = ops::permute(&hidden, &[1, 0])?;
    ops::sum(&ops::square(&turned)?, &[], false)
}

#[test]
fn gradients_stay_on_the_device() {
    let device = fake(0);
    let (x, w, b) = (numbers(&[4, 3]), numbers(&[3, 5]), numbers(&[5]));
    let leaf = |x: Var| x.track().unwrap();
    let run = |x: Var, w: Var, b: Var| {
        loss(&x, &w, &b).unwrap().backward().unwrap();
        [x.grad().unwrap(), w.grad().unwrap(), b.grad().unwrap()]
    };
    let here = run(leaf(x.clone().into()), leaf(w.clone().into()), leaf(b.clone().into()));
    let there = run(leaf(on(&device, &x)), leaf(on(&device, &w)), leaf(on(&device, &b)));
    for (here, there) in here.iter().zip(&there) {
        assert!(is_on(there, &device));
        same_bits(there.value().unwrap(), here.value().unwrap()).unwrap();
    }
}

#[test]
fn programs_run_where_their_inputs_are() {
    let device = fake(0);
    let types = [("x", [4, 3].as_slice()), ("w", &[3, 5]), ("b", &[5])];
    let inputs = types.map(|(name, dims)| (name, Type::of(DType::F32, dims).unwrap()));
    let program = Program::build(&inputs, |x| {
        let total = loss(&x[0], &x[1], &x[2])?;
        let stop = Var::scalar(0.5f32);
        ops::while_loop(&[&total], |x| ops::gt(&x[0], &stop), |x| Ok(vec![&x[0] * 0.5]))
    })
    .unwrap();
    let executor = Executor::new(&program, State::new()).unwrap();
    let tensors = types.map(|(_, dims)| numbers(dims));
    let here = executor.apply(&tensors.clone().map(Var::new).each_ref()).unwrap();
    let vars = tensors.map(|x| on(&device, &x));
    let there = executor.apply(&vars.each_ref()).unwrap();
    assert!(is_on(&there[0], &device));
    same_bits(there[0].value().unwrap(), here[0].value().unwrap()).unwrap();
    let profiler = Profiler::default();
    let values = vars.iter().map(|var| var.value().unwrap().clone());
    let observed = executor.call().inputs(values).observe(&profiler).values();
    let text = observed.unwrap_err().to_string();
    assert!(text.contains("fake:0") && text.contains("not observed"), "{text}");
}

#[test]
fn states_stay_where_they_are() {
    let device = fake(0);
    let w = numbers(&[4]);
    let cell = Cell::of("w", Role::Buffer, on(&device, &w).value().unwrap().clone());
    cell.assign(&Var::new(numbers(&[4]))).unwrap();
    assert!(is_on(&cell.read().unwrap(), &device));
    cell.update(|x| {
        x.as_mut_slice::<f32>()?[0] = 7.0;
        Ok(())
    })
    .unwrap();
    assert!(is_on(&cell.read().unwrap(), &device));
    assert_eq!(cell.read().unwrap().to_vec::<f32>().unwrap()[0], 7.0);
    let _untracked = no_grad();
    let sum = cell.read().unwrap() + &Var::scalar(1.0f32);
    assert!(is_on(&sum, &device));
}

#[test]
fn copies_are_counted_by_line() {
    let device = fake(1);
    clear_report();
    let loc = fluvial_core::Loc::intern("user.py", 17, 0, None, None);
    {
        let _line = at(loc);
        let x = on(&device, &numbers(&[2, 3]));
        let y = ops::exp(&x).unwrap();
        let _ = (y.to_vec::<f32>().unwrap(), y.to_vec::<f32>().unwrap());
        let _ = ops::cumsum(&y, 0).unwrap();
    }
    let found = report().into_iter().find(|entry| entry.line == Some(("user.py".into(), 17)));
    let found = found.unwrap();
    // What was downloaded once is there for all who ask later.
    assert_eq!((found.downloads, found.downloaded), (1, 24));
    assert_eq!((found.uploads, found.uploaded), (2, 48));
    assert_eq!(found.fallbacks.into_iter().collect::<Vec<_>>(), [("cumsum", 1)]);
}

#[test]
fn inputs_on_two_devices_are_refused() {
    let (a, b) = (on(&fake(0), &numbers(&[2])), on(&fake(1), &numbers(&[2])));
    let text = ops::add(&a, &b).unwrap_err().to_string();
    assert!(text.contains("fake:0") && text.contains("fake:1") && text.contains("x.to("), "{text}");
}

#[test]
fn what_a_device_does_not_hold_is_refused() {
    let x = Tensor::zeros(DType::C64, &[2]).unwrap();
    let text = DeviceTensor::upload(&x, &fake(0)).unwrap_err().to_string();
    assert!(text.contains("holds no c64"), "{text}");
}
