//! Compiled programs: what the passes make of them, where their memory goes, who may watch them.

use std::sync::Mutex;
use std::time::Duration;

use fluvial::compile::{Options, compile, pipeline};
use fluvial::core::{ErrorKind, Value, interrupt, why_no_gradient};
use fluvial::prelude::*;
use fluvial::runtime::{Logger, Observer, Profiler, Progress, Step, Watch, check};
use fluvial::tensor::memory;

/// The counters of the allocator are one for the process.
static TURN: Mutex<()> = Mutex::new(());

fn f32s(dims: &[usize]) -> Type {
    Type::of(DType::F32, dims).unwrap()
}

fn ramp(dims: &[usize]) -> Tensor {
    let n: usize = dims.iter().product();
    let values: Vec<f32> = (0..n).map(|i| ((i * 37 + 11) % 64) as f32 / 32.0 - 1.0).collect();
    Tensor::from_slice(&values, dims).unwrap()
}

fn ops_of(executor: &Executor) -> Vec<&'static str> {
    executor.compiled().program.main.calls.iter().map(|call| call.op.name()).collect()
}

#[test]
fn a_chain_is_one_instruction_and_three_buffers() -> Result<()> {
    let _turn = TURN.lock();
    let ty = f32s(&[1000]);
    let program = Program::build(&[("a", ty), ("b", ty)], |x| {
        let d = &x[1] * &x[0];
        Ok(vec![&d + 1.0])
    })?;
    let executor = Executor::new(&program, State::new())?;
    assert_eq!(ops_of(&executor), ["fused"]);
    let (a, b) = (ramp(&[1000]), ramp(&[1000]));
    let feeds = [("a", a.clone()), ("b", b.clone())];
    let plan = executor.plan_for(&feeds)?;
    assert_eq!((plan.n_steps(), plan.arena_bytes()), (1, 0));
    memory::reset_peak();
    let before = memory::stats().live_bytes;
    let c = executor.run(&feeds)?;
    // The inputs were there; the output is the third buffer.
    assert_eq!(memory::stats().peak_bytes - before, memory::stats().live_bytes - before);
    assert_eq!(c[0].numel(), 1000);

    let long = Program::build(&[("x", ty)], |x| {
        Ok(vec![(0..40).fold(x[0].clone(), |y, k| tanh(&(y * 0.5 + k as f64)).unwrap())])
    })?;
    assert_eq!(ops_of(&Executor::new(&long, State::new())?), ["fused"]);
    Ok(())
}

#[test]
fn a_stack_of_layers_needs_the_memory_of_two_activations() -> Result<()> {
    for n in [2, 20, 200] {
        let program = Program::build(&[("x", f32s(&[64, 64])), ("w", f32s(&[64, 64]))], |x| {
            let mut y = x[0].clone();
            for _ in 0..n {
                y = relu(&matmul(&y, &x[1])?)?;
            }
            Ok(vec![sum(&y, &[], false)?])
        })?;
        let executor = Executor::new(&program, State::new())?;
        let feeds = [("x", ramp(&[64, 64])), ("w", ramp(&[64, 64]))];
        assert!(executor.plan_for(&feeds)?.arena_bytes() <= 2 * 64 * 64 * 4, "{n} layers");
        let report = executor.report(&feeds)?;
        assert_eq!(report.peak_bytes, executor.plan_for(&feeds)?.arena_bytes());
        assert!(report.unplanned_bytes >= report.peak_bytes, "{report}");
        assert!(report.to_string().contains("tests/compiled.rs"), "{report}");
        let interpreter = Interpreter::new(program, State::new())?;
        assert!(executor.run(&feeds)?[0].bitwise_eq(&interpreter.run(&feeds)?[0]));
    }
    Ok(())
}

/// A training step of a small network with Adam.
fn training() -> Result<(Program, [(&'static str, Tensor); 2])> {
    let net = Sequential::new("net")
        .add(|at| Linear::new(at, 8, 16))
        .then(relu)
        .add(|at| Linear::new(at, 16, 4));
    let optimizer = Adam::new(net.parameters(), 1e-2);
    let labels = Tensor::from_slice(&[0i64, 1, 2, 3, 0], &[5])?;
    let program = Program::build(&[("x", f32s(&[5, 8])), ("y", labels.ty())], |v| {
        let logits = net.forward(&v[0])?;
        let loss = cross_entropy(&logits, &v[1], None, CrossEntropyOptions::default())?;
        optimizer.minimize(&loss)?;
        Ok(vec![loss])
    })?;
    Ok((program, [("x", ramp(&[5, 8])), ("y", labels)]))
}

fn same_states(a: &State, b: &State) -> Result<()> {
    assert_eq!(a.names(), b.names());
    for name in a.names() {
        assert!(a.tensor(&name)?.bitwise_eq(&b.tensor(&name)?), "`{name}` differs");
    }
    Ok(())
}

#[test]
fn training_has_the_bits_of_the_interpreter_and_updates_in_place() -> Result<()> {
    let _turn = TURN.lock();
    let (program, feeds) = training()?;
    // One works on the cells of the layers, one on states by name.
    let executor = Executor::new(&program, State::new())?;
    let interpreter = Interpreter::new(program.unbound(), State::new())?;
    let (fast, slow) = (executor.state().clone(), interpreter.state().clone());
    for _ in 0..5 {
        let (a, b) = (executor.run(&feeds)?, interpreter.run(&feeds)?);
        assert!(a[0].bitwise_eq(&b[0]));
        same_states(&fast, &slow)?;
    }
    let n_updates = ops_of(&executor).iter().filter(|op| **op == "adam_update").count();
    assert!(n_updates >= 1, "{:#}", executor.compiled().program);

    // Nobody else holds the weights, so they stay where they are; who holds them keeps what he has.
    let at = fast.tensor("net.0.weight")?.data_ptr();
    executor.run(&feeds)?;
    assert_eq!(fast.tensor("net.0.weight")?.data_ptr(), at);
    let held = fast.tensor("net.0.weight")?;
    let copy = held.copy()?;
    executor.run(&feeds)?;
    interpreter.run(&feeds)?;
    interpreter.run(&feeds)?;
    assert!(held.bitwise_eq(&copy) && !fast.tensor("net.0.weight")?.bitwise_eq(&held));
    same_states(&fast, &slow)
}

#[test]
fn memory_is_flat_after_warming_up() -> Result<()> {
    let _turn = TURN.lock();
    let (program, feeds) = training()?;
    let executor = Executor::new(&program, State::new())?;
    for _ in 0..3 {
        executor.run(&feeds)?;
    }
    let before = memory::stats();
    memory::reset_peak();
    // Enough to show a leak of a byte a run; an optimised build has time for more.
    let n_runs = if cfg!(debug_assertions) { 20_000 } else { 100_000 };
    for _ in 0..n_runs {
        executor.run(&feeds)?;
    }
    let after = memory::stats();
    assert_eq!(after.live_bytes, before.live_bytes);
    assert_eq!(after.cached_bytes, before.cached_bytes);
    assert_eq!(after.allocations - before.allocations, after.reuses - before.reuses);
    Ok(())
}

#[test]
fn one_program_for_all_sizes_from_several_threads() -> Result<()> {
    let ty = Type::new(DType::F32, &[Dim::symbol("n")?, Dim::size(3)])?;
    let program = Program::build(&[("x", ty)], |x| {
        let y = tanh(&(&x[0] * 2.0))?;
        Ok(vec![sum(&matmul(&y, &permute(&y, &[1, 0])?)?, &[1], false)?])
    })?;
    let executor = Executor::new(&program, State::new())?;
    let interpreter = Interpreter::new(program, State::new())?;
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (executor, interpreter) = (&executor, &interpreter);
            scope.spawn(move || {
                for i in 0..60 {
                    // More sizes than are kept.
                    let feeds = [("x", ramp(&[1 + (i * 7 + seed) % 50, 3]))];
                    let (a, b) = (executor.run(&feeds).unwrap(), interpreter.run(&feeds).unwrap());
                    assert!(a[0].bitwise_eq(&b[0]));
                }
            });
        }
    });
    let wrong = executor.run(&[("x", ramp(&[2, 4]))]).unwrap_err().to_string();
    assert!(wrong.contains("expected f32[n, 3], found f32[2, 4]"), "{wrong}");
    let missing = executor.run(&[]).unwrap_err().to_string();
    assert!(
        missing.contains("`x` was not fed") && missing.contains("tests/compiled.rs"),
        "{missing}"
    );
    Ok(())
}

#[test]
fn passes_can_be_left_out_and_stopped() -> Result<()> {
    let (program, feeds) = training()?;
    let program = program.unbound();
    let expected = Interpreter::new(program.clone(), State::new())?.run(&feeds)?;
    let all = compile(&program, &["out0"], &Options::default())?;
    assert!(all.patches.len() > 10 && all.stages.is_empty());
    for n in (0..all.patches.len()).step_by(7) {
        let options = Options { max_patches: Some(n), verify: true, ..Options::default() };
        let executor = Executor::with(&program, &["out0"], State::new(), &options)?;
        assert_eq!(executor.compiled().patches[..], all.patches[..n]);
        assert!(executor.run(&feeds)?[0].bitwise_eq(&expected[0]), "{n} patches");
    }
    for pass in pipeline() {
        let options =
            Options { without: vec![pass.name.into()], verify: true, ..Options::default() };
        let executor = Executor::with(&program, &["out0"], State::new(), &options)?;
        assert!(executor.run(&feeds)?[0].bitwise_eq(&expected[0]), "without {}", pass.name);
    }
    let options = Options { keep_stages: true, fast: true, ..Options::default() };
    let stages = compile(&program, &["out0"], &options)?.stages;
    assert_eq!(stages.len(), pipeline().len());
    // Compiled programs are programs: they have a text form.
    let registry = fluvial::ops::registry().with(fluvial::compile::OPS)?;
    let text = all.program.to_string();
    assert_eq!(Program::parse(&text, &registry)?, all.program);
    Ok(())
}

#[test]
fn only_what_is_asked_for_is_computed() -> Result<()> {
    let program =
        Program::build(&[("x", f32s(&[3]))], |x| Ok(vec![exp(&x[0])?, sum(&x[0], &[], false)?]))?;
    let executor = Executor::with(&program, &["out1"], State::new(), &Options::default())?;
    assert_eq!(ops_of(&executor), ["sum"]);
    assert_eq!(executor.run(&[("x", ramp(&[3]))])?.len(), 1);
    assert!(compile(&program, &["out7"], &Options::default()).is_err());
    Ok(())
}

#[test]
fn loops_are_hoisted_and_compiled() -> Result<()> {
    let program = Program::build(&[("x", f32s(&[4, 4])), ("w", f32s(&[4, 4]))], |x| {
        let (i, w) = (Var::scalar(0i64), &x[1]);
        let out = while_loop(
            &[&i, &x[0]],
            |v| lt(&v[0], &Var::scalar(10i64)),
            |v| Ok(vec![&v[0] + &Var::scalar(1i64), tanh(&matmul(&v[1], &(w * 0.5))?)? + 0.1]),
        )?;
        Ok(vec![out[1].clone()])
    })?;
    let executor = Executor::new(&program, State::new())?;
    let patches = &executor.compiled().patches;
    assert!(patches.iter().any(|patch| patch.what == "moved `mul` in front of the loop"));
    let feeds = [("x", ramp(&[4, 4])), ("w", ramp(&[4, 4]))];
    let interpreter = Interpreter::new(program, State::new())?;
    assert!(executor.run(&feeds)?[0].bitwise_eq(&interpreter.run(&feeds)?[0]));
    Ok(())
}

#[derive(Default)]
struct Counter(Mutex<Vec<String>>);

impl Observer for Counter {
    fn before(&self, step: &Step<'_>, inputs: &[&Value]) -> Result<()> {
        self.0.lock().unwrap().push(format!("{}/{}", step.op.name(), inputs.len()));
        Ok(())
    }

    fn enter(&self, _: &Step<'_>, block: usize, _: &[&Value]) -> Result<()> {
        self.0.lock().unwrap().push(format!("enter {block}"));
        Ok(())
    }

    fn assign(&self, state: &str, _: &Value, _: Loc) -> Result<()> {
        self.0.lock().unwrap().push(format!("@{state}"));
        Ok(())
    }
}

#[test]
fn observers_are_told() -> Result<()> {
    let state = State::new();
    let program = {
        let _scope = state.enter();
        let count = || parameter("count", f32s(&[2]), || Var::of(&[0.0f32, 0.0], &[2]));
        Program::build(&[("x", f32s(&[2])), ("up", Type::scalar(DType::Bool))], |x| {
            let y = cond(&x[1], || Ok(vec![exp(&x[0])?]), || Ok(vec![x[0].clone()]))?;
            assign_state("count", &(count()? + &y[0]))?;
            Ok(vec![y[0].clone()])
        })?
    };
    let executor = Executor::new(&program, state)?;
    let feeds = [("x", ramp(&[2])), ("up", Tensor::scalar(true))];
    let counter = Counter::default();
    executor.call().feeds(&feeds).observe(&counter).run()?;
    let told = counter.0.into_inner().unwrap();
    assert_eq!(told, ["read/0", "cond/2", "enter 0", "exp/1", "add/2", "assign/1", "@count"]);

    let profiler = Profiler::new();
    executor.call().feeds(&feeds).observe(&profiler).run()?;
    assert_eq!(profiler.records().len(), 5);
    let (table, mut trace) = (profiler.to_string(), Vec::new());
    assert!(table.contains("cond") && table.contains("tests/compiled.rs"), "{table}");
    profiler.write_trace(&mut trace).unwrap();
    let trace = String::from_utf8(trace).unwrap();
    assert!(trace.starts_with('[') && trace.matches("\"ph\": \"X\"").count() == 5);

    let logger = Logger::new(Vec::new());
    executor.call().feeds(&feeds).observe(&logger).run()?;
    let log = String::from_utf8(logger.into_inner()).unwrap();
    assert!(log.contains("@count = f32[2]") && log.contains("  "), "{log}");
    Ok(())
}

/// Asks for a stop as soon as a state is written.
struct Stopper;

impl Observer for Stopper {
    fn assign(&self, _: &str, _: &Value, _: Loc) -> Result<()> {
        interrupt::request();
        Ok(())
    }
}

#[test]
fn a_step_is_not_stopped_between_its_updates() -> Result<()> {
    let (program, feeds) = training()?;
    let program = program.unbound();
    let (whole, stopped) = (State::new(), State::new());
    Executor::new(&program, whole.clone())?.run(&feeds)?;
    let executor = Executor::new(&program, stopped.clone())?;
    let error =
        executor.call().feeds(&feeds).observe(&Stopper).run().expect_err("a stop was asked for");
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    interrupt::clear();
    same_states(&whole, &stopped)
}

#[test]
fn progress_counts_the_trips_of_the_outermost_loop() -> Result<()> {
    let program = Program::build(&[("n", Type::scalar(DType::F32))], |n| {
        let zero = Var::scalar(0.0f32);
        while_loop(&[&zero], |i| lt(&i[0], &n[0]), |i| Ok(vec![&i[0] + 1.0]))
    })?;
    let progress = Progress::new(Vec::new()).every(Duration::ZERO);
    let executor = Executor::new(&program, State::new())?;
    executor.call().feed("n", Tensor::scalar(3.0f32)).observe(&progress).run()?;
    let text = String::from_utf8(progress.into_inner()).unwrap();
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.contains("tests/compiled.rs") && text.contains(": 3 trips, "), "{text}");
    assert!(text.ends_with("3.000000\n"), "{text}");
    Ok(())
}

#[test]
fn the_watch_names_the_line_that_made_nan() -> Result<()> {
    let program = Program::build(&[("x", f32s(&[2, 2]))], |x| {
        let y = &x[0] * 2.0;
        let z = log(&y)?;
        Ok(vec![z * 0.0 + 1.0])
    })?;
    let executor = Executor::new(&program, State::new())?;
    let good = Tensor::full(&[2, 2], 1.0f32)?;
    executor.call().feed("x", good).op_by_op().observe(&Watch::default()).run()?;
    let bad = Tensor::from_slice(&[1.0f32, 2.0, -1.0, 1.0], &[2, 2])?;
    let fault = executor
        .call()
        .feed("x", bad)
        .op_by_op()
        .observe(&Watch::default())
        .run()
        .unwrap_err()
        .to_string();
    assert!(fault.contains("`log` gave NaN at [1, 0]"), "{fault}");
    assert!(fault.contains("tests/compiled.rs"), "{fault}");
    Ok(())
}

#[test]
fn check_runs_all_modes() -> Result<()> {
    let x = ramp(&[3, 5]);
    let y = check(
        |x| {
            let tracked = x[0].track()?;
            let loss = sum(&tanh(&(&tracked * 3.0))?, &[], false)?;
            grad(&[&loss], &[&tracked])
        },
        &[x],
    )?;
    assert_eq!(y[0].dims(), [3, 5]);
    // A function that is not the same twice.
    let calls = std::cell::Cell::new(0.0);
    let fault = check(
        |x| {
            calls.set(calls.get() + 1.0);
            Ok(vec![exp(&(&x[0] * calls.get()))?])
        },
        &[ramp(&[2])],
    )
    .unwrap_err()
    .to_string();
    assert!(fault.contains("imperatively and") && fault.contains("tests/compiled.rs"), "{fault}");
    Ok(())
}

#[test]
fn parameters_that_no_gradient_reaches_are_refused_in_programs() -> Result<()> {
    let ty = f32s(&[2]);
    let build = |allow: bool| {
        Program::build(&[("x", ty)], |x| {
            let p = |name: &str| parameter(name, ty, || Var::of(&[1.0f32, 2.0], &[2]));
            let (used, floored, stopped) = (p("used")?, floor(&p("floored")?)?, p("stopped")?);
            drop(p("forgotten")?);
            let parts = &x[0] * &used + &floored + &stop_gradient(&stopped)?;
            let loss = sum(&parts, &[], false)?;
            assert!(why_no_gradient(&loss, &used).is_none());
            let sgd = Sgd::new(["used", "floored", "stopped", "forgotten"], 0.1);
            let sgd = if allow { sgd.allow_unreached() } else { sgd };
            sgd.minimize(&loss)?;
            Ok(vec![loss])
        })
    };
    let fault = build(false).unwrap_err().to_string();
    for text in [
        "no gradient reaches 3 of the 4 parameters",
        "`floored`: `floor` at",
        "has derivative zero",
        "`stopped`: `stop_gradient` at",
        "`forgotten`: nothing uses it",
        "allow_unreached",
        "tests/compiled.rs",
    ] {
        assert!(fault.contains(text), "{text} is missing in:\n{fault}");
    }
    build(true).map(drop)
}

#[test]
fn inference_reaches_into_branches() -> Result<()> {
    let state = State::new();
    let _scope = state.enter();
    let inputs = [("x", f32s(&[64])), ("up", Type::scalar(DType::Bool))];
    let program = Program::build(&inputs, |x| {
        cond(&x[1], || Ok(vec![dropout(&x[0], 0.5)?]), || Ok(vec![x[0].clone()]))
    })?;
    let feeds = [("x", Tensor::full(&[64], 1.0f32)?), ("up", Tensor::scalar(true))];
    let trained = Executor::new(&program, state.clone())?.run(&feeds)?;
    assert!(trained[0].to_f64s().contains(&0.0));
    let used = Executor::new(&program.for_inference()?, state.clone())?.run(&feeds)?;
    assert!(used[0].bitwise_eq(&feeds[0].1));
    Ok(())
}
