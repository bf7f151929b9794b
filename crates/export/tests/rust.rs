//! Programs as crates of Rust: with the ops that a crate names, and no others, its bytes are the program again.

use std::path::Path;

use fluvial_core::{
    Cell, DType, OpDef, Program, Registry, Result, Role, State, Tensor, Type, Var, grad, no_grad,
};
use fluvial_data::safetensors;
use fluvial_export::{Export, RustOptions, Size, export_rust};
use fluvial_ops::{dropout, matmul, mean, square, sub, tanh};
use fluvial_runtime::Executor;
use fluvial_testkit::random::Case;

/// The program that a crate has, as its `Model::new` reads it.
fn read(exported: &Export) -> Result<(Program, State)> {
    let lib = exported.text("src/lib.rs").expect("there is a library");
    let named: Vec<&str> = lib
        .lines()
        .filter_map(|line| line.trim().strip_prefix("op(\"")?.strip_suffix("\"),"))
        .collect();
    let all = fluvial_ops::OPS.iter().chain(fluvial_compile::OPS);
    let ops: Vec<OpDef> = all.filter(|def| named.contains(&def.name)).copied().collect();
    assert_eq!(ops.len(), named.len());
    let bytes = |end: &str| {
        let found = exported.files.iter().find(|(name, _)| name.ends_with(end));
        &found.expect("the file is there").1[..]
    };
    let program = Program::from_bytes(bytes(".flb"), &Registry::structural().with(&ops)?)?;
    let (state, mut weights) = (State::new(), bytes(".safetensors"));
    let len = weights.len() as u64;
    for (name, tensor) in safetensors::read_all(&mut weights, len, "the weights")?.tensors {
        let role = program.states[name.as_str()].role;
        state.insert(&name, role, tensor)?;
    }
    Ok((program, state))
}

fn run(program: &Program, state: &State, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let _ways = (state.enter(), no_grad());
    let vars: Vec<Var> = inputs.iter().cloned().map(Var::new).collect();
    let found = program.apply(&vars.iter().collect::<Vec<_>>())?;
    found.iter().map(|var| var.tensor().cloned()).collect()
}

#[test]
fn random_programs_give_the_same_bits() -> Result<()> {
    let mut count = 0;
    for seed in 0..80 {
        let case = Case::random(seed);
        let program = case.program()?;
        let names: Vec<String> = (0..case.inputs.len()).map(|i| format!("x{i}")).collect();
        let feeds: Vec<(&str, Tensor)> =
            names.iter().map(String::as_str).zip(case.inputs.iter().cloned()).collect();
        let Ok(expected) = Executor::new(&program, State::new())?.run(&feeds) else { continue };
        let exported = export_rust(&program, &State::new(), &RustOptions::default())?;
        let (again, state) = read(&exported)?;
        let found = run(&again, &state, &case.inputs)?;
        for (found, expected) in found.iter().zip(&expected) {
            assert!(found.bitwise_eq(expected), "seed {seed}: {found} is not {expected}");
        }
        count += 1;
    }
    assert!(count > 60, "only {count} ran");
    Ok(())
}

/// A step of a training with a random stream.
fn step() -> Result<Program> {
    let weight = Cell::of("w", Role::Parameter, Tensor::from_slice(&[0.5f32, -0.25], &[2, 1])?);
    let batch = fluvial_core::Dim::symbol("batch")?;
    let row = |size| Type::new(DType::F32, &[batch, fluvial_core::Dim::size(size)]);
    Program::build(&[("x", row(2)?), ("y", row(1)?)], |v| {
        let w = weight.read()?;
        let guess = dropout(&tanh(&matmul(&v[0], &w)?)?, 0.25)?;
        let loss = mean(&square(&sub(&guess, &v[1])?)?, &[], false)?;
        let slope = grad(&[&loss], &[&w])?.remove(0);
        weight.assign(&(&w - &(&slope * 0.1)))?;
        Ok(vec![loss])
    })
}

#[test]
fn states_go_on_from_step_to_step() -> Result<()> {
    let program = step()?;
    let inputs = [
        Tensor::from_slice(&[1.0f32, 0.5, -0.25, 2.0, 0.0, 1.0], &[3, 2])?,
        Tensor::from_slice(&[0.5f32, -0.5, 0.25], &[3, 1])?,
    ];
    let (again, state) = read(&export_rust(&program, &State::new(), &RustOptions::default())?)?;
    let executor = Executor::new(&program, State::new())?;
    executor.initialise()?;
    for name in program.states.keys() {
        assert!(executor.state().tensor(name)?.bitwise_eq(&state.tensor(name)?), "{name}");
    }
    for _ in 0..3 {
        let feeds = [("x", inputs[0].clone()), ("y", inputs[1].clone())];
        let (expected, found) = (executor.run(&feeds)?, run(&again, &state, &inputs)?);
        assert!(found[0].bitwise_eq(&expected[0]), "{} is not {}", found[0], expected[0]);
    }
    assert!(executor.state().tensor("w")?.bitwise_eq(&state.tensor("w")?));
    Ok(())
}

#[test]
fn the_same_program_gives_the_same_bytes_without_paths() -> Result<()> {
    let program = step()?;
    let all = |options: &RustOptions| Ok(export_rust(&program, &State::new(), options)?.files);
    let files: Vec<(String, Vec<u8>)> = all(&RustOptions::default())?;
    assert_eq!(files, all(&RustOptions::default())?);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).to_string_lossy().into_owned();
    let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|at| at == text.as_bytes());
    for (name, bytes) in &files {
        assert!(!has(bytes, &folder) && !has(bytes, "crates/export/tests"), "{name}");
    }
    let given = RustOptions { crates: Some("../crates/".into()), ..RustOptions::default() };
    let (_, manifest) = &all(&given)?[0];
    assert!(has(manifest, "fluvial-core = { path = \"../crates/core\" }"));
    Ok(())
}

#[test]
fn what_makes_no_crate_is_refused() -> Result<()> {
    let program = step()?;
    let refused = |options: RustOptions| {
        export_rust(&program, &State::new(), &options).unwrap_err().to_string()
    };
    let named = refused(RustOptions { name: "a b".into(), ..RustOptions::default() });
    assert!(named.contains("`a b` is not a name of a crate"), "{named}");
    let sizes = vec![Size::parse("batch<=4")?];
    let bound = refused(RustOptions { sizes, ..RustOptions::default() });
    assert!(bound.contains("the size `batch` has a bound"), "{bound}");
    Ok(())
}
