//! Trainings of small models, number for number with PyTorch's: line by line and compiled, in both float types.
//! `make golden` writes the files with the weights, the batches and PyTorch's numbers.

#![allow(clippy::duplicate_mod, reason = "each model is an example by itself")]

#[allow(dead_code)]
#[path = "../../../examples/models/gpt.rs"]
mod gpt;
#[allow(dead_code)]
#[path = "../../../examples/models/lenet.rs"]
mod lenet;
#[allow(dead_code)]
#[path = "../../../examples/models/mlp.rs"]
mod mlp;

use std::fs;

use fluvial::data::safetensors;
use fluvial::prelude::*;
use mlp::common::loss;

/// How far `f32` may be off, by rounding.
const ROUNDING: f64 = 3e-6;
/// And `f64`.
const ROUNDING_64: f64 = 1e-12;

/// A file with initial weights, batches and what PyTorch made of them.
struct Golden(Vec<(String, Tensor)>);

impl Golden {
    fn read(name: &str) -> Result<Golden> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/golden");
        let bytes = fs::read(format!("{folder}/parity_{name}.safetensors")).expect("a golden file");
        Ok(Golden(safetensors::read_all(&mut &bytes[..], bytes.len() as u64, name)?.tensors))
    }

    fn tensor(&self, key: &str) -> &Tensor {
        &self.0.iter().find(|(name, _)| name == key).expect(key).1
    }

    fn steps(&self) -> usize {
        self.tensor("x").dims()[0]
    }

    /// Inputs and labels of a step.
    fn batch(&self, step: usize, dtype: DType) -> Result<[Tensor; 2]> {
        let [x, y] = ["x", "y"].map(|key| self.tensor(key).index(0, step)?.contiguous());
        let x = x?;
        Ok([if x.dtype().is_float() { x.cast(dtype)? } else { x }, y?])
    }

    /// Gives a network the weights, which must have its names and sizes.
    fn load<N: Layer>(&self, net: &N, dtype: DType) -> Result<()> {
        let mut dict = StateDict::new();
        for (key, tensor) in &self.0 {
            if let Some(name) = key.strip_prefix("weights.") {
                dict.insert(name, tensor.cast(dtype)?);
            }
        }
        net.load_state_dict(&dict, true).map(drop)
    }

    /// Trains from the weights on; the losses, each from before its update.
    fn train<N: Layer, O: Optimizer>(
        &self,
        net: &N,
        optimizer: &O,
        is_compiled: bool,
    ) -> Result<Vec<f64>> {
        let dtype = net.path().dtype();
        self.load(net, dtype)?;
        let step = |x: &Var, y: &Var| -> Result<Var> {
            let loss = loss(net, x, y)?;
            optimizer.minimize(&loss)?;
            Ok(loss)
        };
        let compile = || -> Result<Executor> {
            let [x, y] = self.batch(0, dtype)?.map(|tensor| tensor.ty());
            let program = Program::build(&[("x", x), ("y", y)], |v| Ok(vec![step(&v[0], &v[1])?]))?;
            Executor::new(&program, fluvial::core::state::current())
        };
        let compiled = is_compiled.then(compile).transpose()?;
        let mut losses = Vec::new();
        for i in 0..self.steps() {
            let [x, y] = self.batch(i, dtype)?;
            let loss = match &compiled {
                Some(compiled) => compiled.run(&[("x", x), ("y", y)])?.remove(0),
                None => step(&x.into(), &y.into())?.tensor()?.clone(),
            };
            losses.push(loss.to_f64s()[0]);
        }
        Ok(losses)
    }
}

/// The greatest relative distance.
fn distance(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let pairs = found.iter().zip(expected);
    pairs.map(|(a, b)| (a - b).abs() / b.abs()).fold(0.0, f64::max)
}

/// Compares the curves of a model with those of PyTorch; the modes agree to the bit.
fn check_curves<N: Layer, O: Optimizer>(
    name: &str,
    make: impl Fn(Path) -> N,
    optimizer: impl Fn(&N) -> O,
) -> Result<()> {
    let golden = Golden::read(name)?;
    for (dtype, key, most) in [(DType::F32, "loss", ROUNDING), (DType::F64, "loss64", ROUNDING_64)]
    {
        let expected = golden.tensor(key).to_f64s();
        let states = [State::new(), State::new()];
        for (state, is_compiled) in states.iter().zip([false, true]) {
            let _scope = state.enter();
            let net = make(Path::new(name).with_dtype(dtype));
            let losses = golden.train(&net, &optimizer(&net), is_compiled)?;
            let off = distance(&losses, &expected);
            assert!(
                off <= most,
                "{name} {dtype}: {losses:?}, PyTorch has {expected:?}, off by {off:e}"
            );
        }
        let [by_line, compiled] = states;
        for state in by_line.names() {
            let same = by_line.tensor(&state)?.bitwise_eq(&compiled.tensor(&state)?);
            assert!(same, "{name} {dtype}: `{state}` differs between the modes");
        }
    }
    // The losses would show a rate that is 1 % off.
    let _scope = State::new().enter();
    let net = make(Path::new(name));
    let optimizer = optimizer(&net);
    optimizer.set_learning_rate(0, 1.01 * optimizer.learning_rate(0)?.item::<f64>()?)?;
    let losses = golden.train(&net, &optimizer, false)?;
    let off = distance(&losses, &golden.tensor("loss").to_f64s());
    assert!(off > 10.0 * ROUNDING, "{name}: a wrong rate is off by {off:e} only");
    Ok(())
}

#[test]
fn mlp_learns_as_in_pytorch() -> Result<()> {
    let make = |at| mlp::Mlp::new(at, &[16, 16, 16, 10]);
    check_curves("mlp", make, mlp::Mlp::optimizer)
}

#[test]
fn lenet_learns_as_in_pytorch() -> Result<()> {
    let make = |at| {
        let channels = [4, 6];
        lenet::LeNet::new(
            at,
            lenet::Sizes { side: 14, channels, kernel: 3, hidden: 16, classes: 10 },
        )
    };
    check_curves("lenet", make, lenet::LeNet::optimizer)
}

#[test]
fn gpt_learns_as_in_pytorch() -> Result<()> {
    let make =
        |at| gpt::Gpt::new(at, gpt::Sizes { vocab: 24, dim: 16, heads: 2, layers: 2, length: 12 });
    check_curves("gpt", make, gpt::Gpt::optimizer)
}

type Params = Vec<Parameter>;

/// A setting that curves of losses hardly show: the optimizer, for a rate times a factor, and one that differs
/// from it by the setting only.
struct Setting {
    name: &'static str,
    right: fn(Params, f64) -> Box<dyn Optimizer>,
    wrong: fn(Params) -> Box<dyn Optimizer>,
}

fn sgd(params: Params, lr: f64, momentum: f64) -> Momentum {
    Momentum::new(params, lr).momentum(momentum)
}

fn warm_up_cosine() -> Schedule {
    Schedule::warm_up(3, 0.25, Schedule::cosine(7, 0.0))
}

fn settings() -> Vec<Setting> {
    vec![
        Setting {
            name: "clip_global",
            right: |p, k| Box::new(sgd(p, 0.5 * k, 0.5).clip(Clip::GlobalNorm(0.25))),
            wrong: |p| Box::new(sgd(p, 0.5, 0.5).clip(Clip::Norm(0.25))),
        },
        Setting {
            name: "clip_value",
            right: |p, k| Box::new(Sgd::new(p, 0.5 * k).clip(Clip::Value(0.05))),
            wrong: |p| Box::new(Sgd::new(p, 0.5)),
        },
        Setting {
            name: "decay_coupled",
            right: |p, k| Box::new(Sgd::new(p, 0.25 * k).weight_decay(0.5)),
            wrong: |p| Box::new(Sgd::new(p, 0.25).weight_decay(0.505)),
        },
        Setting {
            name: "decay_coupled_adam",
            right: |p, k| Box::new(Adam::new(p, 0.05 * k).weight_decay(0.5)),
            wrong: |p| Box::new(AdamW::new(p, 0.05).weight_decay(0.5)),
        },
        Setting {
            name: "decay_decoupled",
            right: |p, k| Box::new(AdamW::new(p, 0.05 * k).weight_decay(2.0)),
            wrong: |p| Box::new(Adam::new(p, 0.05).weight_decay(2.0)),
        },
        Setting {
            name: "momentum",
            right: |p, k| Box::new(sgd(p, 0.1 * k, 0.9)),
            wrong: |p| Box::new(sgd(p, 0.1, 0.891)),
        },
        Setting {
            name: "nesterov",
            right: |p, k| Box::new(sgd(p, 0.1 * k, 0.9).nesterov(true)),
            wrong: |p| Box::new(sgd(p, 0.1, 0.9)),
        },
        Setting {
            name: "dampening",
            right: |p, k| Box::new(sgd(p, 0.25 * k, 0.9).dampening(0.5)),
            wrong: |p| Box::new(sgd(p, 0.25, 0.9)),
        },
        Setting {
            name: "amsgrad",
            right: |p, k| Box::new(Adam::new(p, 0.05 * k).betas((0.5, 0.5)).amsgrad(true)),
            wrong: |p| Box::new(Adam::new(p, 0.05).betas((0.5, 0.5))),
        },
        Setting {
            name: "step",
            right: |p, k| Box::new(Sgd::new(p, 0.5 * k).schedule(Schedule::step(3, 0.5))),
            wrong: |p| Box::new(Sgd::new(p, 0.5).schedule(Schedule::step(4, 0.5))),
        },
        Setting {
            name: "exponential",
            right: |p, k| Box::new(Sgd::new(p, 0.5 * k).schedule(Schedule::exponential(0.75))),
            wrong: |p| Box::new(Sgd::new(p, 0.375).schedule(Schedule::exponential(0.75))),
        },
        Setting {
            name: "cosine",
            right: |p, k| {
                let schedule = Schedule::cosine(10, 0.01 * k);
                Box::new(Adam::new(p, 0.05 * k).schedule(schedule))
            },
            wrong: |p| Box::new(Adam::new(p, 0.05).schedule(Schedule::cosine(10, 0.0))),
        },
        Setting {
            name: "one_cycle",
            right: |p, k| {
                Box::new(Sgd::new(p, 0.5 * k).schedule(Schedule::one_cycle(OneCycle::new(10))))
            },
            wrong: |p| Box::new(Sgd::new(p, 0.5).schedule(Schedule::one_cycle(OneCycle::new(9)))),
        },
        Setting {
            name: "whole",
            right: |p, k| {
                let optimizer = AdamW::new(p, 0.1 * k).weight_decay(0.5);
                Box::new(optimizer.clip(Clip::GlobalNorm(0.3)).schedule(warm_up_cosine()))
            },
            wrong: |p| {
                let optimizer = AdamW::new(p, 0.1).weight_decay(0.5);
                Box::new(optimizer.schedule(warm_up_cosine()))
            },
        },
    ]
}

/// How far the parameters after a training are from PyTorch's, relative to the greatest of them.
fn off(
    golden: &Golden,
    name: &str,
    dtype: DType,
    is_compiled: bool,
    optimizer: impl FnOnce(Params) -> Box<dyn Optimizer>,
) -> Result<f64> {
    let _scope = State::new().enter();
    let net = mlp::Mlp::new(Path::new("mlp").with_dtype(dtype), &[8, 6, 4]);
    golden.train(&net, &optimizer(net.parameters()), is_compiled)?;
    let mut found = Vec::new();
    for parameter in net.parameters() {
        found.extend(parameter.get()?.tensor()?.to_f64s());
    }
    let expected = golden.tensor(name).to_f64s();
    assert_eq!(found.len(), expected.len());
    let greatest = expected.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let distances = found.iter().zip(&expected).map(|(a, b)| (a - b).abs());
    Ok(distances.fold(0.0, f64::max) / greatest)
}

#[test]
fn settings_of_optimizers_do_what_they_do_in_pytorch() -> Result<()> {
    let golden = Golden::read("optim")?;
    for Setting { name, right, wrong } in settings() {
        for (dtype, most) in [(DType::F32, ROUNDING), (DType::F64, ROUNDING_64)] {
            for is_compiled in [false, true] {
                let found = off(&golden, name, dtype, is_compiled, |p| right(p, 1.0))?;
                assert!(found <= most, "{name} {dtype}: the parameters are off by {found:e}");
            }
        }
        // The file would show a rate that is 1 % off, and the lack of the setting.
        let rate = off(&golden, name, DType::F32, false, |p| right(p, 1.01))?;
        assert!(rate > 100.0 * ROUNDING, "{name}: a wrong rate is off by {rate:e} only");
        let control = off(&golden, name, DType::F32, false, wrong)?;
        assert!(control > 100.0 * ROUNDING, "{name}: without it, off by {control:e} only");
    }
    Ok(())
}

/// Every case of the file is checked above.
#[test]
fn no_setting_of_the_file_is_left_out() -> Result<()> {
    let golden = Golden::read("optim")?;
    let is_case =
        |key: &&String| !key.starts_with("weights.") && !["x", "y"].contains(&key.as_str());
    let mut in_file: Vec<&String> = golden.0.iter().map(|(key, _)| key).filter(is_case).collect();
    let mut checked: Vec<&str> = settings().iter().map(|setting| setting.name).collect();
    in_file.sort();
    checked.sort();
    assert_eq!(in_file, checked);
    Ok(())
}
