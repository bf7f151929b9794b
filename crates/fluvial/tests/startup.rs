//! Startup programs: nobody needs to run them, and whoever does gets the same.

use fluvial::core::program::StateDecl;
use fluvial::prelude::*;

/// A program that initialises the layers, and one that trains them and has no initialisers; both as from a file.
fn startup_and_main() -> Result<(Program, Program)> {
    let x = Type::new(DType::F32, &[Dim::symbol("batch")?, Dim::size(3)])?;
    let y = Type::new(DType::F32, &[Dim::symbol("batch")?, Dim::size(1)])?;
    let whole = Program::build(&[("x", x), ("y", y)], |v| {
        let net = Sequential::new("net")
            .add(|at| Linear::new(at, 3, 4))
            .then(tanh)
            .add(|at| Dropout::new(at, 0.2))
            .add(|at| Linear::new(at, 4, 1));
        let loss = mean(&square(&(&net.forward(&v[0])? - &v[1]))?, &[], false)?;
        Momentum::new(net.parameters(), 0.1).minimize(&loss)?;
        Ok(vec![loss])
    })?
    .unbound();
    let states = whole.states.clone();
    let startup = Program { startup: whole.startup.clone(), states, ..Program::default() };
    let main = Program { startup: Default::default(), ..whole };
    Ok((startup, main))
}

fn feeds() -> Result<[(&'static str, Tensor); 2]> {
    let x: Vec<f32> = (0..15).map(|i| i as f32 / 7.0 - 1.0).collect();
    Ok([("x", Tensor::from_vec(x, &[5, 3])?), ("y", Tensor::full(&[5, 1], 0.5f32)?)])
}

/// The losses of three steps, each in a run of its own.
fn train(program: &Program, state: &State) -> Result<Vec<f32>> {
    let executor = Executor::new(program, state.clone())?;
    (0..3).map(|_| executor.run(&feeds()?)?[0].item::<f32>()).collect()
}

fn same(a: &State, b: &State) -> Result<()> {
    assert_eq!(a.names(), b.names());
    for name in a.names() {
        assert!(a.tensor(&name)?.bitwise_eq(&b.tensor(&name)?), "{name}");
    }
    Ok(())
}

#[test]
fn without_its_startup_a_program_says_what_is_missing() -> Result<()> {
    let (_, main) = startup_and_main()?;
    let error = train(&main, &State::new()).expect_err("no state has a value").to_string();
    assert!(error.contains("has no value and no initialiser"), "{error}");
    assert!(error.contains("merge the program with its startup program"), "{error}");
    Ok(())
}

#[test]
fn a_merged_program_never_needs_its_startup_to_be_run() -> Result<()> {
    let (startup, main) = startup_and_main()?;
    let merged = Program::merge(&startup, &main)?;
    assert!(fluvial::core::verify(&merged).is_ok(), "{merged}");
    let (alone, after) = (State::new(), State::new());
    let losses = train(&merged, &alone)?;
    assert!(losses[2] < losses[0], "{losses:?}");

    // Old code runs the startup program first, and the main program as it is.
    Executor::new(&startup, after.clone())?.run(&[])?;
    assert_eq!(train(&main, &after)?, losses);
    same(&alone, &after)?;

    // Or it runs the startup program, and then the merged one: nothing is initialised twice.
    let both = State::new();
    Interpreter::new(startup, both.clone())?.run(&[])?;
    assert_eq!(train(&merged, &both)?, losses);
    same(&alone, &both)
}

#[test]
fn a_startup_program_may_assign_in_its_main_block() -> Result<()> {
    let (startup, main) = startup_and_main()?;
    let assigning =
        Program { main: startup.startup.clone(), startup: Default::default(), ..startup };
    let (merged, after) = (State::new(), State::new());
    let losses = train(&Program::merge(&assigning, &main)?, &merged)?;
    let executor = Executor::new(&assigning, after.clone())?;
    executor.run(&[])?;
    assert_eq!(train(&main, &after)?, losses);
    same(&merged, &after)?;
    // Run again, it gives the states their initial values again.
    executor.run(&[])?;
    assert_eq!(train(&main, &after)?, losses);
    Ok(())
}

#[test]
fn the_merged_program_is_a_file_that_needs_no_other() -> Result<()> {
    let (startup, main) = startup_and_main()?;
    let merged = Program::merge(&startup, &main)?;
    let again = Program::from_bytes(&merged.to_bytes(), &fluvial::ops::registry())?;
    let (a, b) = (State::new(), State::new());
    assert_eq!(train(&merged, &a)?, train(&again, &b)?);
    same(&a, &b)
}

#[test]
fn states_that_were_loaded_are_not_initialised() -> Result<()> {
    let (startup, main) = startup_and_main()?;
    let merged = Program::merge(&startup, &main)?;
    let StateDecl { ty, role, .. } = merged.states["net.0.weight"].clone();
    let state = State::new();
    state.insert("net.0.weight", role, Tensor::full(&ty.sizes().unwrap(), 0.25f32)?)?;
    merged.initialise(&state)?;
    assert_eq!(state.tensor("net.0.weight")?.to_vec::<f32>()?, [0.25; 12]);
    assert!(state.contains("net.0.bias"));
    Ok(())
}
