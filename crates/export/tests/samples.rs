//! Every op that can be exported gives in C what it gives here, on its samples.

mod common;

use expect_test::expect_file;

use common::{SANITIZED, agrees};
use fluvial_core::{
    Expect, OpDef, Program, Registry, Result, Sample, State, Tensor, Value, Var, bind,
};
use fluvial_export::{Language, Options, export};

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
    fn check(&self, options: &Options, flags: &[&str]) {
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
        if let Err(failure) = agrees(&program, options, flags, &given, &expected, &[]) {
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
fn exports(sample: &Sample, options: &Options) -> bool {
    let Ok(program) = program(sample, 0) else { return false };
    program.output_types().all(|ty| !ty.is_list() && !ty.is_symbolic())
        && export(&program, &State::new(), options).is_ok()
}

fn check_part(part: usize, of: usize, options: &Options, flags: &[&str]) {
    let registry: Registry = fluvial_ops::registry();
    let defs: Vec<&OpDef> = registry.defs().collect();
    let mut batch = Batch { samples: Vec::new() };
    for def in defs.iter().skip(part).step_by(of) {
        for sample in samples(def) {
            if exports(&sample, options) {
                batch.samples.push((def.name, sample));
            }
            if batch.samples.len() == 40 {
                batch.check(options, flags);
                batch.samples.clear();
            }
        }
    }
    batch.check(options, flags);
}

#[test]
fn first_part() {
    check_part(0, 2, &Options::default(), SANITIZED);
}

#[test]
fn second_part() {
    check_part(1, 2, &Options::default(), SANITIZED);
}

/// The same text runs here, on threads of a header.
fn cuda() -> Options {
    Options { language: Language::Cuda, ..Options::default() }
}

#[test]
fn first_part_as_cuda() {
    check_part(0, 4, &cuda(), &["-O0"]);
}

#[test]
fn second_part_as_cuda() {
    check_part(1, 4, &cuda(), &["-O0"]);
}

#[test]
fn third_part_as_cuda() {
    check_part(2, 4, &cuda(), &["-O0"]);
}

#[test]
fn fourth_part_as_cuda() {
    check_part(3, 4, &cuda(), &["-O0"]);
}

/// `docs/exported_ops.md`: `UPDATE_EXPECT=1 cargo test -p fluvial-export --test samples page` writes it.
#[test]
fn the_page_of_ops_is_fresh() {
    let registry = fluvial_ops::registry();
    let (mut yes, mut no) = (Vec::new(), Vec::new());
    for def in registry.defs() {
        let samples = samples(def);
        // Ops on lists, and those that own blocks or touch states, have no samples of tensors: programs test them.
        let by_programs = samples.is_empty() || def.name.starts_with("list_");
        let list =
            if by_programs || samples.iter().any(|sample| exports(sample, &Options::default())) {
                &mut yes
            } else {
                &mut no
            };
        list.push(format!("`{}`", def.name));
    }
    // Decompositions are there in builds that have them.
    let is_optional = |name: &String| MATRICES.contains(&name.trim_matches('`'));
    yes.retain(|name| !is_optional(name));
    no.retain(|name| !is_optional(name));
    yes.extend(MATRICES.iter().map(|name| format!("`{name}`")));
    let of_blocks = ["`attempt`", "`attempt_grad`", "`for_each`", "`raise_again`"];
    let of_ranks = ["`rank`", "`recv`", "`replicate`", "`send`", "`world`"];
    for refused in of_blocks.into_iter().chain(of_ranks) {
        yes.retain(|name| name != refused);
        no.retain(|name| name != refused);
        no.push(refused.into());
    }
    no.sort();
    yes.retain(|name| !no.contains(name));
    yes.sort();
    let text = format!(
        "# Ops that can be exported\n\nThis page is generated by a test of `crates/export`. What is special to a call, such as a size that only a \
         run knows, may be refused all the same.\n\n## To C\n\n{}.\n\n## Not to C\n\n{}.\n",
        yes.join(", "),
        no.join(", ")
    );
    expect_file!["../../../docs/exported_ops.md"].assert_eq(&text);
}

/// What the feature `linalg` brings.
const MATRICES: [&str; 9] =
    ["cholesky", "det", "eigh", "inverse", "qr", "slogdet", "solve", "svd", "triangular_solve"];
