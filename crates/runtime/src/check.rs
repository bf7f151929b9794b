//! Finding the first op on which the modes disagree.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use fluvial_compile::Options;
use fluvial_core::state::current;
use fluvial_core::{
    Error, ErrorKind, Loc, Program, Result, State, Tensor, Type, Value, Var, imperative, scope,
};

use crate::executor::Executor;
use crate::observe::{Observer, Step, summary};

/// Runs a function imperatively, as a program op by op, and compiled, each on a copy of the
/// thread's state, and returns the outputs if all agree by bits.
///
/// If they do not, the error names the first op whose outputs differ, its line and both values; or, if only the
/// compiled run differs, the change of the compiler that is at fault.
///
/// ```
/// use fluvial_core::Tensor;
/// use fluvial_runtime::check;
///
/// let x = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
/// let y = check(|x| Ok(vec![&x[0] * 3.0 + 1.0]), &[x])?;
/// assert_eq!(y[0].to_vec::<f32>()?, [4.0, 7.0]);
/// # Ok::<(), fluvial_core::Error>(())
/// ```
#[track_caller]
pub fn check(f: impl Fn(&[Var]) -> Result<Vec<Var>>, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let state = current();
    let after = state.fork()?;
    let (by_line, expected) = run_imperatively(&f, inputs, &after)?;
    let program = build(&f, inputs, &state)?;
    let names: Vec<&str> = program.inputs.iter().map(|name| &**name).collect();
    let feeds: Vec<(&str, Tensor)> = names.iter().copied().zip(inputs.iter().cloned()).collect();

    let recorder = Recorder::default();
    let op_by_op = Executor::new(&program, state.fork()?)?;
    let op_by_op = op_by_op.call().feeds(&feeds).op_by_op().observe(&recorder).run()?;
    let by_program = recorder.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    compare(&by_line, &by_program)?;
    if let Some(i) = first_difference(&expected, &op_by_op) {
        return Err(disagreement(format!(
            "output {i} is {} imperatively and {} as a program, though no op differs",
            summary(&expected[i].clone().into()),
            summary(&op_by_op[i].clone().into())
        )));
    }
    let after = after.bound_to(&program.bound());
    check_compiled(&program, &feeds, &state, &expected, &after)?;
    Ok(expected)
}

/// The ops that ran, in order.
type Records = Vec<(&'static str, Loc, Vec<Value>)>;

fn run_imperatively(
    f: impl Fn(&[Var]) -> Result<Vec<Var>>,
    inputs: &[Tensor],
    state: &State,
) -> Result<(Records, Vec<Tensor>)> {
    let records = Rc::new(RefCell::new(Records::new()));
    let to = records.clone();
    let _scope = (imperative(), state.enter());
    let watch = scope::watch(Box::new(move |ran| {
        let values = ran.outputs.iter().filter_map(|var| var.value().ok().cloned()).collect();
        to.borrow_mut().push((ran.name, ran.loc, values));
    }));
    // As in a program, gradients can be asked for by inputs.
    let leaf = |tensor: &Tensor| match tensor.dtype().is_float() {
        true => Var::new(tensor.clone()).track(),
        false => Ok(Var::new(tensor.clone())),
    };
    let vars = inputs.iter().map(leaf).collect::<Result<Vec<Var>>>()?;
    let outputs = f(&vars)?;
    drop(watch);
    let outputs = outputs.iter().map(|var| var.tensor().cloned()).collect::<Result<_>>()?;
    Ok((records.take(), outputs))
}

fn build(
    f: impl Fn(&[Var]) -> Result<Vec<Var>>,
    inputs: &[Tensor],
    state: &State,
) -> Result<Program> {
    let fork = state.fork()?;
    let _scope = fork.enter();
    let names: Vec<String> = (0..inputs.len()).map(|i| format!("x{i}")).collect();
    let typed: Vec<(&str, Type)> =
        names.iter().map(String::as_str).zip(inputs.iter().map(Tensor::ty)).collect();
    Program::build(&typed, f)
}

#[derive(Default)]
struct Recorder(Mutex<Records>);

impl Observer for Recorder {
    fn after(&self, step: &Step<'_>, outputs: &[Value]) -> Result<()> {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        records.push((step.op.name(), step.loc, outputs.to_vec()));
        Ok(())
    }
}

/// Compares the runs of each op on each line, where both modes ran it equally often: a program computes some
/// values once that line by line are computed again and again.
fn compare(by_line: &Records, by_program: &Records) -> Result<()> {
    let key = |name: &'static str, loc: Loc| (name, loc.to_string());
    let mut found: HashMap<(&str, String), Vec<&Vec<Value>>> = HashMap::new();
    let mut counts: HashMap<(&str, String), usize> = HashMap::new();
    for (name, loc, values) in by_program {
        found.entry(key(name, *loc)).or_default().push(values);
    }
    by_line.iter().for_each(|(name, loc, _)| *counts.entry(key(name, *loc)).or_default() += 1);
    let mut next: HashMap<(&str, String), usize> = HashMap::new();
    for (name, loc, expected) in by_line {
        let key = key(name, *loc);
        let runs = found.get(&key).filter(|runs| runs.len() == counts[&key]);
        let nth = next.entry(key).or_default();
        *nth += 1;
        let Some(runs) = runs else { continue };
        for (i, (a, b)) in expected.iter().zip(runs[*nth - 1]).enumerate() {
            if !a.bitwise_eq(b) {
                let which = if expected.len() > 1 { format!(" output {i}") } else { String::new() };
                return Err(disagreement(format!(
                    "`{name}`{which} is {} imperatively and {} as a program (run {nth} of this line)",
                    summary(a),
                    summary(b)
                ))
                .at(*loc));
            }
        }
    }
    Ok(())
}

fn check_compiled(
    program: &Program,
    feeds: &[(&str, Tensor)],
    state: &State,
    expected: &[Tensor],
    after: &State,
) -> Result<()> {
    let outputs: Vec<&str> = program.outputs.iter().map(|name| &**name).collect();
    let agrees = |max_patches: Option<usize>| -> Result<bool> {
        let options = Options { max_patches, ..Options::default() };
        let executor = Executor::with(program, &outputs, state.fork()?, &options)?;
        let same_outputs = first_difference(expected, &executor.run(feeds)?).is_none();
        Ok(same_outputs && different_state(after, executor.state())?.is_none())
    };
    if agrees(None)? {
        return Ok(());
    }
    let options = Options { max_patches: Some(0), ..Options::default() };
    let executor = Executor::with(program, &outputs, state.fork()?, &options)?;
    executor.run(feeds)?;
    if let Some(name) = different_state(after, executor.state())? {
        return Err(disagreement(format!(
            "the modes leave different values in the state `{name}`"
        )));
    }
    let options = Options::default();
    let executor = Executor::with(program, &outputs, state.fork()?, &options)?;
    let patches = &executor.compiled().patches;
    // The first `good` patches are right, the first `bad` ones are not.
    let (mut good, mut bad) = (0, patches.len());
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if agrees(Some(middle))? { good = middle } else { bad = middle }
    }
    let patch = &patches[bad.saturating_sub(1)];
    Err(disagreement(format!(
        "the compiled program differs since the pass `{}` {} (patch {bad})",
        patch.pass, patch.what
    ))
    .at(patch.loc))
}

/// The name of a state that differs.
fn different_state(a: &State, b: &State) -> Result<Option<std::sync::Arc<str>>> {
    for name in a.names() {
        let same = b.contains(&name) && a.read(&name)?.value()?.bitwise_eq(b.read(&name)?.value()?);
        if !same {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

fn first_difference(a: &[Tensor], b: &[Tensor]) -> Option<usize> {
    if a.len() != b.len() {
        return Some(a.len().min(b.len()));
    }
    a.iter().zip(b).position(|(a, b)| !a.bitwise_eq(b))
}

fn disagreement(message: String) -> Error {
    Error::new(ErrorKind::Check, message)
}
