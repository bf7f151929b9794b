//! Programs in text form that say in comments what comes of them.
//!
//! ```text
//! # run: x = f32[2] [1, 2]; y = f32[] 3
//! # expect: out = f32[2] [3, 6]; @count = i64[] 1
//! # run: x = f32[2] [1, 2]; y = f32[] 3
//! # grad: loss by x, w
//! # expect: grad(x) = f32[2] [3, 3]
//! # run: x = f32[2] [1, 2]; y = f32[] 0
//! # error: shapes
//! fluvial 1
//! main(..) ..
//! ```
//!
//! `run` gives the inputs of one run; runs share one state scope. What stands below, up to the next
//! `run`, belongs to it: `set` gives states a value before it, `grad` runs the program with
//! gradients appended instead, `expect` names outputs and, with `@`, states afterwards, and `error`
//! says that it fails with this text. Before the first run, `error` says that the program itself is
//! refused.

use fluvial_core::{Program, Registry, Role, State, Tensor, Type, Var};

use crate::check::{Check, Context, Failure, Tolerance, close, ensure};
use crate::modes::round_trips;

/// Checks a file with this text.
pub fn check(text: &str, registry: &Registry) -> Check {
    let test = Test::parse(text)?;
    let parsed = Program::parse(text, registry);
    if let Some(expected) = &test.refused {
        let error = parsed.err().ok_or_else(|| Failure::new("the program is accepted"))?;
        return ensure(error.to_string().contains(expected), || {
            format!("expected {expected:?}, found: {error}")
        });
    }
    let program = parsed?;
    round_trips(&program, registry)?;
    ensure(!test.runs.is_empty(), || "the file says neither `run` nor `error`".to_string())?;
    let state = State::new();
    let _scope = state.enter();
    for (i, run) in test.runs.iter().enumerate() {
        run.check(&program, &state, registry).context(format!("run {i}"))?;
    }
    Ok(())
}

#[derive(Default)]
struct Test {
    refused: Option<String>,
    runs: Vec<Run>,
}

#[derive(Default)]
struct Run {
    inputs: Vec<(String, Tensor)>,
    set: Vec<(String, Tensor)>,
    grad: Option<(String, Vec<String>)>,
    expected: Vec<(String, Tensor)>,
    error: Option<String>,
}

impl Test {
    fn parse(text: &str) -> Check<Test> {
        let mut test = Test::default();
        for line in text.lines() {
            let Some((key, rest)) = line.strip_prefix("# ").and_then(|line| line.split_once(':'))
            else {
                continue;
            };
            let rest = rest.trim();
            match (key, test.runs.last_mut()) {
                ("run", _) => test.runs.push(Run { inputs: bindings(rest)?, ..Run::default() }),
                ("error", None) => test.refused = Some(rest.to_string()),
                ("error", Some(run)) => run.error = Some(rest.to_string()),
                ("set", Some(run)) => run.set.extend(bindings(rest)?),
                ("expect", Some(run)) => run.expected.extend(bindings(rest)?),
                ("grad", Some(run)) => {
                    let (loss, wrt) = rest.split_once(" by ").unwrap_or((rest, ""));
                    let wrt = wrt.split(',').map(|name| name.trim().to_string());
                    run.grad =
                        Some((loss.to_string(), wrt.filter(|name| !name.is_empty()).collect()));
                }
                ("set" | "expect" | "grad", None) => {
                    return Err(Failure::new(format!("`{key}` stands before the first `run`")));
                }
                _ => {}
            }
        }
        Ok(test)
    }
}

impl Run {
    fn check(&self, program: &Program, state: &State, registry: &Registry) -> Check {
        let with_gradients = match &self.grad {
            None => None,
            Some((loss, wrt)) => {
                let wrt: Vec<&str> = wrt.iter().map(String::as_str).collect();
                Some(program.append_backward(loss, &wrt).context("append_backward")?)
            }
        };
        let program = with_gradients.as_ref().unwrap_or(program);
        round_trips(program, registry)?;
        program.initialise(state)?;
        for (name, tensor) in &self.set {
            let role = state.declaration(name).map_or(Role::Buffer, |decl| decl.role);
            state.insert(name, role, tensor.clone())?;
        }
        let outputs = match (
            program.apply(&self.arguments(program)?.iter().collect::<Vec<_>>()),
            &self.error,
        ) {
            (Ok(outputs), None) => outputs,
            (Ok(_), Some(expected)) => {
                return Err(Failure::new(format!("expected the error {expected:?}, but it ran")));
            }
            (Err(error), None) => return Err(error.into()),
            (Err(error), Some(expected)) => {
                return ensure(error.to_string().contains(expected), || {
                    format!("expected {expected:?}, found: {error}")
                });
            }
        };
        ensure(!self.expected.is_empty(), || "it says neither `expect` nor `error`".to_string())?;
        for (name, expected) in &self.expected {
            let found = match name.strip_prefix('@') {
                Some(name) => state.read(name)?.value()?.clone(),
                None => outputs[program.output(name)?].value()?.clone(),
            };
            let tolerance = Tolerance::of_dtype(expected.dtype());
            close(&found, &expected.clone().into(), tolerance).context(format!("`{name}`"))?;
        }
        Ok(())
    }

    fn arguments(&self, program: &Program) -> Check<Vec<Var>> {
        let given = |name: &str| {
            let found = self.inputs.iter().find(|(known, _)| known == name);
            let missing = || Failure::new(format!("`run` does not give the input `{name}`"));
            found.map(|(_, tensor)| Var::new(tensor.clone())).ok_or_else(missing)
        };
        program.inputs.iter().map(|name| given(name)).collect()
    }
}

/// Reads `x = f32[2] [1, 2]; y = f32[] 3`.
fn bindings(text: &str) -> Check<Vec<(String, Tensor)>> {
    let mut found = Vec::new();
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let bad = || Failure::new(format!("expected `name = type values`, found `{part}`"));
        let (name, value) = part.split_once('=').ok_or_else(bad)?;
        let (ty, numbers) = value.split_once(']').ok_or_else(bad)?;
        let ty = Type::parse(&format!("{}]", ty.trim()))?;
        let sizes = ty.sizes().ok_or_else(bad)?;
        let number = |text: &str| match text {
            "true" => Ok(1.0),
            "false" => Ok(0.0),
            _ => text.parse::<f64>().map_err(|_| bad()),
        };
        let is_separator = |c: char| "[], ".contains(c);
        let numbers = numbers.split(is_separator).filter(|text| !text.is_empty());
        let numbers = numbers.map(number).collect::<Check<Vec<f64>>>()?;
        let tensor = Tensor::from_f64s(ty.dtype(), &numbers, &sizes).context(part)?;
        found.push((name.trim().to_string(), tensor));
    }
    Ok(found)
}
