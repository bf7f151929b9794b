//! Compiled programs on the tape: a program that is applied to tracked values is one node, and stays compiled.
//!
//! At first the node keeps what the program was applied to, which costs nothing; if its gradient is asked for, a
//! program runs that computes everything again and goes back. Once that has happened, the next call keeps what
//! the way back needs, and nothing is computed again; a call of that kind whose gradient nobody asked for is the
//! last one. So prediction is as fast as without a tape, and so is training, and nobody has to say which it is.
//!
//! A program whose results need an effect (a function of the host, a loop that prints; not a check) cannot be computed again;
//! its calls keep what the way back needs from the first one on.

mod applied;
mod derivatives;

use std::sync::Arc;

use fluvial_core::{Mode, Result, Value, Var, is_recording, mode, record, scope};

use crate::executor::Executor;
use applied::Applied;
pub(crate) use derivatives::Derivatives;
use derivatives::{Linear, Way};

/// How an executor runs on values; the last argument says whether they stay with the tape.
pub(crate) type Runner<'a> = &'a dyn Fn(&Executor, Vec<Value>, bool) -> Result<Vec<Value>>;

impl Executor {
    /// Applies the program to values, in either mode, as [`Program::apply`](fluvial_core::Program::apply) does, but
    /// compiled also where gradients may be asked for: then it is one node of the tape. An input may be tracked,
    /// and so are the parameters that the program reads, unless it assigns some.
    ///
    /// ```
    /// use fluvial_core::{DType, Program, State, Type, Var};
    /// use fluvial_runtime::Executor;
    ///
    /// let ty = Type::scalar(DType::F64);
    /// let program = Program::build(&[("x", ty)], |x| Ok(vec![&x[0] * &x[0]]))?;
    /// let square = Executor::new(&program, State::new())?;
    /// let x = Var::scalar(3.0).track()?;
    /// square.apply(&[&x])?[0].backward()?;
    /// assert_eq!(x.grad().unwrap().item::<f64>()?, 6.0);
    /// # Ok::<(), fluvial_core::Error>(())
    /// ```
    #[track_caller]
    pub fn apply(&self, inputs: &[&Var]) -> Result<Vec<Var>> {
        self.call().apply(inputs.iter().map(|&var| var.clone()).collect())
    }

    /// Whether [`apply`](Executor::apply) on these inputs would be recorded now, for the sake of the inputs or,
    /// with `parameters`, of what the program reads.
    pub fn records(&self, vars: &[Var], parameters: bool) -> Result<bool> {
        Ok(mode() == Mode::Imperative
            && self.may_record(vars, parameters)
            && self.recording(vars)?.is_some())
    }

    fn may_record(&self, vars: &[Var], parameters: bool) -> bool {
        let is_leaf = parameters && self.leaves_parameters();
        is_recording() && (is_leaf || vars.iter().any(Var::is_tracked))
    }

    /// [`apply`](Executor::apply), with a way to run. Without `parameters`, only tracked inputs make a call a
    /// recorded one.
    pub(crate) fn apply_by(
        &self,
        vars: Vec<Var>,
        parameters: bool,
        run: Runner,
    ) -> Result<Vec<Var>> {
        if mode() == Mode::Building {
            return self.inline(&vars);
        }
        if self.may_record(&vars, parameters) {
            // It reads states here, and runs later what assigns them.
            let _turn = self.turn()?;
            if let Some(recording) = self.recording(&vars)? {
                return recording.run(self, vars, run);
            }
        }
        let inputs = vars.into_iter().map(Var::take_value).collect::<Result<_>>()?;
        Ok(run(self, inputs, false)?.into_iter().map(Var::new).collect())
    }

    /// The program as a part of the one being built.
    fn inline(&self, vars: &[Var]) -> Result<Vec<Var>> {
        let outputs = self.source().apply(&vars.iter().collect::<Vec<_>>())?;
        let fetched = self.compiled().program.outputs.iter();
        fetched.map(|name| Ok(outputs[self.source().output(name)?].clone())).collect()
    }

    /// What a call on these inputs has to record; nothing if no output can have a gradient.
    fn recording(&self, vars: &[Var]) -> Result<Option<Recording>> {
        self.initialise()?;
        let derivatives = self.derivatives()?;
        if vars.len() != derivatives.n_inputs {
            return Ok(None);
        }
        let reads = derivatives.function.reads.iter();
        let states = reads.map(|name| self.state().read(name)).collect::<Result<Vec<Var>>>()?;
        let tracked: Vec<bool> = vars.iter().chain(&states).map(Var::is_tracked).collect();
        let reached = derivatives.reached(&tracked);
        if !reached.contains(&true) {
            return Ok(None);
        }
        let way = derivatives.way(&tracked);
        Ok(Some(Recording { derivatives, states, tracked, reached, way }))
    }
}

/// A call that is to be recorded.
struct Recording {
    derivatives: Arc<Derivatives>,
    states: Vec<Var>,
    tracked: Vec<bool>,
    reached: Vec<bool>,
    way: Way,
}

impl Recording {
    fn run(self, executor: &Executor, vars: Vec<Var>, run: Runner) -> Result<Vec<Var>> {
        let Recording { derivatives, states, tracked, reached, way } = self;
        let all = || vars.iter().chain(&states);
        let kept: Vec<Var> =
            derivatives.taken.iter().filter_map(|&i| all().nth(i).cloned()).collect();
        let outputs = match &way {
            Way::Kept(linear) => {
                let inputs: Vec<Value> =
                    all().map(|var| var.value().cloned()).collect::<Result<_>>()?;
                drop(states);
                run_kept(executor, &derivatives, linear, inputs, run)?
            }
            Way::Again | Way::Refused(_) => {
                drop(states);
                let inputs = vars.iter().map(|var| var.value().cloned()).collect::<Result<_>>()?;
                run(executor, inputs, true)?
            }
        };
        let n_outputs = derivatives.n_outputs;
        let op = Applied::new(derivatives, tracked, way);
        let inputs: Vec<&Var> = kept.iter().collect();
        let mut outputs = record(op.into(), &inputs, outputs.into(), &reached, scope::user_line());
        outputs.truncate(n_outputs);
        Ok(outputs.into_vec())
    }
}

/// Runs the form that returns what the way back needs, and assigns the states that the program assigns. Gives the
/// outputs, then the residuals.
fn run_kept(
    executor: &Executor,
    derivatives: &Derivatives,
    linear: &Linear,
    inputs: Vec<Value>,
    run: Runner,
) -> Result<Vec<Value>> {
    let params = inputs.clone();
    // A run that fails assigns what it has noted.
    let forward = linear.forward.with_state(executor.state());
    let mut values = run(&forward, inputs, true)?;
    let mut rest = values.split_off(derivatives.n_outputs);
    let saved = rest.split_off(derivatives.function.assigns.len());
    for (name, value) in derivatives.function.assigns.iter().zip(rest) {
        executor.state().assign(name, value)?;
    }
    values.extend(linear.residuals(&params, &saved));
    Ok(values)
}
