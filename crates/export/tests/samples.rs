//! Every op that can be exported gives in C what it gives here, on its samples.

mod common;

use common::{SANITIZED, agrees};
use fluvial_core::{
    Expect, OpDef, Program, Registry, Result, Sample, State, Tensor, Value, Var, bind,
};
use fluvial_export::{Options, export};

/// A program of one sample.
fn program(sample: &Sample, first: usize) -> Result<Program> {
    let names: Vec<String> = (0..sample.inputs.len()).map(|i| format!("x{}", first + i)).collect();
    let inputs: Vec<(&str, _)> =
        names.iter().map(String::as_str).zip(sample.inputs.iter().map(Value::ty)).collect();
    Program::build(&inputs, |x| {
        Ok(bind(sample.op.clone(), &x.iter().collect::<Vec<&Var>>())?.into_vec())
    })
}

/// The samples of an op that are of tensors and are not refused.
fn samples(def: &OpDef) -> Vec<Sample> {
    let usual = |sample: &Sample| {
        !matches!(sample.expect, Expect::Refused(_))
            && sample.inputs.iter().all(|value| value.tensor().is_ok())
    };
    (def.samples)().into_iter().filter(usual).collect()
}

/// All samples of some ops, as one program, with the inputs and what it gives.
struct Batch {
    samples: Vec<(&'static str, Sample)>,
}

impl Batch {
    fn check(&self) {
        let mut types = Vec::new();
        let mut tensors: Vec<Tensor> = Vec::new();
        for (_, sample) in &self.samples {
            for value in &sample.inputs {
                types.push(value.ty());
                tensors.push(value.tensor().unwrap().clone());
            }
        }
        let names: Vec<String> = (0..types.len()).map(|i| format!("x{i}")).collect();
        let inputs: Vec<(&str, _)> = names.iter().map(String::as_str).zip(types).collect();
        let mut of_output: Vec<&str> = Vec::new();
        let built = Program::build(&inputs, |x| {
            let (mut at, mut results) = (0, Vec::new());
            for (name, sample) in &self.samples {
                let own: Vec<&Var> = x[at..at + sample.inputs.len()].iter().collect();
                at += own.len();
                for output in bind(sample.op.clone(), &own)? {
                    of_output.push(*name);
                    results.push(output);
                }
            }
            Ok(results)
        });
        let program = built.unwrap();
        let feeds: Vec<(&str, Tensor)> =
            names.iter().map(String::as_str).zip(tensors.iter().cloned()).collect();
        let vars: Vec<Var> = tensors.iter().cloned().map(Var::new).collect();
        let results = program.apply(&vars.iter().collect::<Vec<_>>()).unwrap();
        let expected: Vec<Tensor> =
            results.iter().map(|var| var.tensor().unwrap().clone()).collect();
        let given: Vec<(&str, &Tensor)> = feeds.iter().map(|(name, x)| (*name, x)).collect();
        if let Err(failure) =
            agrees(&program, &Options::default(), SANITIZED, &given, &expected, &[])
        {
            let text = failure.to_string();
            let number: Option<usize> = text.split_once("out").and_then(|(_, rest)| {
                rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
            });
            let op = number.and_then(|i| of_output.get(i)).copied().unwrap_or("?");
            panic!("op `{op}`: {text}");
        }
    }
}

/// Whether a sample can be exported alone; its outputs must be tensors.
fn exports(sample: &Sample) -> bool {
    let Ok(program) = program(sample, 0) else { return false };
    program.output_types().all(|ty| !ty.is_list() && !ty.is_symbolic())
        && export(&program, &State::new(), &Options::default()).is_ok()
}

fn check_part(part: usize, of: usize) {
    let registry: Registry = fluvial_ops::registry();
    let defs: Vec<&OpDef> = registry.defs().collect();
    let mut batch = Batch { samples: Vec::new() };
    for def in defs.iter().skip(part).step_by(of) {
        for sample in samples(def) {
            if exports(&sample) {
                batch.samples.push((def.name, sample));
            }
            if batch.samples.len() == 40 {
                batch.check();
                batch.samples.clear();
            }
        }
    }
    batch.check();
}

#[test]
fn first_part() {
    check_part(0, 2);
}

#[test]
fn second_part() {
    check_part(1, 2);
}

#[test]
fn most_ops_can_be_exported() {
    let registry = fluvial_ops::registry();
    let (mut yes, mut no) = (0, Vec::new());
    for def in registry.defs() {
        let samples = samples(def);
        if samples.is_empty() {
            continue;
        }
        match samples.iter().any(exports) {
            true => yes += 1,
            false => no.push(def.name),
        }
    }
    assert!(yes >= 170, "{yes} ops are exported, not {no:?}");
}
