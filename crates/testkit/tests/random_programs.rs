//! Random programs: whatever is made of ops, both modes and all forms agree on it.

use fluvial_compile::{Options, Pass, pipeline};
use fluvial_core::{
    DType, Error, GradOptions, Program, Registry, Result, State, Tensor, Value, Var, vjp,
};
use fluvial_runtime::{Executor, Observer, Step};
use fluvial_testkit::Modes;
use fluvial_testkit::check::{Check, Context, Failure, Tolerance, all, close, ensure, same_bits};
use fluvial_testkit::modes::round_trips;
use fluvial_testkit::random::{Case, Rng, mutated_bytes};

const N_CASES: u64 = 300;
/// Each of these is compiled with several sets of passes.
const N_COMPILED: u64 = 1000;

/// Runs a check on every case; a failure shows its seed and its program.
#[track_caller]
fn for_each_case(check: impl Fn(&Case, &Program) -> Check) {
    for_each_of(N_CASES, check);
}

/// [`for_each_case`], for so many.
#[track_caller]
fn for_each_of(n_cases: u64, check: impl Fn(&Case, &Program) -> Check) {
    for seed in 0..n_cases {
        let case = Case::random(seed);
        let program = case.program().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        if let Err(failure) = check(&case, &program) {
            panic!("seed {seed}: {failure}\nsizes {:?}\n{program:#}", case.sizes);
        }
    }
}

fn vars(case: &Case) -> Vec<Var> {
    case.inputs.iter().cloned().map(Var::new).collect()
}

fn values(case: &Case) -> Vec<Value> {
    case.inputs.iter().cloned().map(Value::from).collect()
}

fn apply(program: &Program, inputs: &[Var]) -> Result<Vec<Value>> {
    let outputs = program.apply(&inputs.iter().collect::<Vec<_>>())?;
    outputs.iter().map(|var| var.value().cloned()).collect()
}

#[test]
fn they_survive_files() {
    let registry = fluvial_ops::registry();
    for_each_case(|_, program| round_trips(program, &registry).map(drop));
}

#[test]
fn they_run_as_the_function_does() {
    for_each_case(|case, program| {
        let by_function = case.with_energy(&vars(case));
        let by_program = apply(program, &vars(case));
        match (by_function, by_program) {
            (Ok(expected), Ok(found)) => {
                let expected: Vec<Value> =
                    expected.iter().map(|var| var.value().cloned()).collect::<Result<_>>()?;
                all(&found, &expected, same_bits)
            }
            (Err(expected), Err(found)) => ensure(expected.message() == found.message(), || {
                format!("the function says: {expected}\nthe program says: {found}")
            }),
            (expected, found) => {
                Err(Failure::new(format!("the function gives {expected:?}, the program {found:?}")))
            }
        }
    });
}

#[test]
fn compiled_with_any_passes_they_give_the_same() {
    let rng = std::cell::RefCell::new(Rng::new(77));
    for_each_of(N_COMPILED, |case, program| {
        let expected = apply(program, &vars(case));
        let mut rng = rng.borrow_mut();
        for round in 0..4 {
            let left_out = |_: &&Pass| round > 0 && rng.below(3) == 0;
            let without = pipeline().iter().filter(left_out).map(|pass| pass.name.into()).collect();
            let options = Options { without, verify: true, ..Options::default() };
            let outputs: Vec<&str> = program.outputs.iter().map(|name| &**name).collect();
            let found = Executor::with(program, &outputs, State::new(), &options)
                .and_then(|executor| executor.call().inputs(values(case)).values());
            match (&expected, found) {
                (Ok(expected), Ok(found)) => {
                    all(&found, expected, same_bits).context(format!("{options:?}"))?;
                }
                (Err(expected), Err(found)) => {
                    ensure(expected.message() == found.message(), || {
                        format!("the interpreter says: {expected}\ncompiled: {found}")
                    })?;
                }
                (expected, found) => {
                    return Err(Failure::new(format!(
                        "the interpreter gives {expected:?}, compiled {found:?}"
                    )));
                }
            }
        }
        Ok(())
    });
}

/// Runs ops that were made of several calls also call by call, and wants the same bits.
struct Parts(std::sync::atomic::AtomicUsize);

impl Observer for Parts {
    fn opens(&self, _: &Step<'_>) -> bool {
        true
    }

    fn compare(&self, step: &Step<'_>, parts: &[Value], whole: &[Value]) -> Result<bool> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        match parts.iter().zip(whole).all(|(part, whole)| part.bitwise_eq(whole)) {
            true => Ok(false),
            false => Err(Error::internal(format!("`{}` differs from its calls", step.op.name()))),
        }
    }
}

#[test]
fn fused_ops_give_what_their_calls_do() {
    let parts = Parts(Default::default());
    for_each_of(N_COMPILED, |case, program| {
        let Ok(expected) = apply(program, &vars(case)) else { return Ok(()) };
        let outputs: Vec<&str> = program.outputs.iter().map(|name| &**name).collect();
        let options = Options::default();
        let executor = Executor::with(program, &outputs, State::new(), &options)?;
        let found = executor.call().inputs(values(case)).observe(&parts).values()?;
        all(&found, &expected, same_bits)
    });
    assert!(parts.0.into_inner() > 500);
}

#[test]
fn pruning_keeps_each_output() {
    for_each_case(|case, program| {
        let Ok(expected) = apply(program, &vars(case)) else { return Ok(()) };
        for (name, expected) in program.outputs.iter().zip(&expected) {
            let pruned = program.prune(&[name])?;
            fluvial_core::verify(&pruned)?;
            let found = apply(&pruned, &vars(case))?;
            all(&found, std::slice::from_ref(expected), same_bits).context(name)?;
        }
        Ok(())
    });
}

#[test]
fn appended_gradients_are_those_of_the_tape() {
    for_each_case(|case, program| {
        let Ok(plain) = case.apply(&vars(case)) else { return Ok(()) };
        if program.outputs.len() == plain.len() {
            // There is no float among the results, so there is no loss.
            return Ok(());
        }
        let floats: Vec<usize> =
            (0..case.inputs.len()).filter(|&i| case.inputs[i].dtype().is_float()).collect();
        let mut inputs = vars(case);
        for &i in &floats {
            inputs[i] = inputs[i].track()?;
        }
        let outputs = case.with_energy(&inputs)?;
        let loss = &outputs[plain.len()];
        let by_tape = match loss.is_tracked() {
            true => {
                let wrt: Vec<&Var> = floats.iter().map(|&i| &inputs[i]).collect();
                vjp(&[loss], &[None], &wrt, GradOptions::default())?
            }
            false => vec![None; floats.len()],
        };
        let loss = program.outputs[plain.len()].clone();
        for (&i, expected) in floats.iter().zip(by_tape) {
            let name = program.inputs[i].clone();
            let expected: Value = match expected {
                Some(expected) => expected.value()?.clone(),
                None => Tensor::zeros(case.inputs[i].dtype(), case.inputs[i].dims())?.into(),
            };
            let found = match program.append_backward(&loss, &[&name]) {
                Ok(with_gradient) => {
                    fluvial_core::verify(&with_gradient)?;
                    apply(&with_gradient, &vars(case))?.swap_remove(plain.len() + 1)
                }
                Err(error) if error.to_string().contains("does not depend on") => {
                    Tensor::zeros(case.inputs[i].dtype(), case.inputs[i].dims())?.into()
                }
                Err(error) => return Err(error.into()),
            };
            close(&found, &expected, gradient_tolerance(&found))
                .context(format!("grad({name})"))?;
        }
        Ok(())
    });
}

#[test]
fn gradients_of_gradients_agree() {
    for seed in 0..N_CASES / 6 {
        let case = Case::random(seed);
        if case.inputs.iter().any(|x| x.dtype().is_float() && x.dtype() != DType::F64) {
            continue;
        }
        let inputs: Vec<Value> = case.inputs.iter().cloned().map(Value::from).collect();
        let modes = Modes::of(|x| case.apply(x)).types(&case.types).without_differences();
        if let Err(failure) = modes.first_order(Tolerance::of(1e-11)).try_check(&inputs) {
            panic!("seed {seed}: {failure}\nsizes {:?}", case.sizes);
        }
    }
}

/// Loops add up the uses of a captured value in another order than the tape.
fn gradient_tolerance(value: &Value) -> Tolerance {
    let Tolerance { relative, absolute } = Tolerance::of_dtype(value.ty().dtype());
    Tolerance { relative: 10.0 * relative, absolute: 10.0 * absolute }
}

#[test]
fn damaged_files_give_a_program_or_an_error() {
    let registry = fluvial_ops::registry();
    let mut rng = Rng::new(1);
    for seed in 0..N_CASES / 3 {
        let program = fluvial_testkit::random::program(seed);
        let (text, bytes) = (program.to_string(), program.to_bytes());
        for _ in 0..5 {
            let text = mutated_bytes(&mut rng, text.as_bytes());
            reread(Program::parse(&String::from_utf8_lossy(&text), &registry), &registry);
            reread(Program::from_bytes(&mutated_bytes(&mut rng, &bytes), &registry), &registry);
        }
    }
}

/// What was read must be whole: it can be written and read again.
#[track_caller]
fn reread(read: Result<Program>, registry: &Registry) {
    if let Ok(program) = read
        && let Err(failure) = round_trips(&program, registry)
    {
        panic!("{failure}\n{program:#}");
    }
}
