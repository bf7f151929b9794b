//! Compiles programs and runs them.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fluvial_compile::{Compiled, Options, compile, pipeline};
use fluvial_core::{
    Bound, Error, ErrorKind, Loc, Program, Result, Sizes, State, Tensor, Value, imperative,
    no_grad, scope,
};
use smallvec::{SmallVec, smallvec};

use crate::attach::{self, Ended, Job, Start};
use crate::feeds;
use crate::observe::{Nobody, Observer, Tell};
use crate::plan::{Memory, Pause, Plan, Run, Suspension, Trip};
use crate::report::Report;

/// A compiled program and the state it works on: the cells that the program is bound to, and for its other
/// states a scope. Clones share both; `run` may be called from several threads
/// at once.
///
/// ```
/// use fluvial_core::{DType, Program, State, Tensor, Type};
/// use fluvial_runtime::Executor;
///
/// let ty = Type::of(DType::F32, &[2])?;
/// let program = Program::build(&[("x", ty)], |x| Ok(vec![&x[0] * 2.0]))?;
/// let double = Executor::new(&program, State::new())?;
/// let y = double.run(&[("x", Tensor::from_slice(&[1.0f32, 4.0], &[2])?)])?;
/// assert_eq!(y[0].to_vec::<f32>()?, [2.0, 8.0]);
/// # Ok::<(), fluvial_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Executor {
    shared: Arc<Shared>,
    state: State,
}

/// What does not depend on the state.
struct Shared {
    source: Program,
    /// The cells that the program is bound to.
    bound: Arc<Bound>,
    compiled: Compiled,
    memory_limit: Option<usize>,
    /// Plans by the sizes of the inputs, the latest first.
    plans: Mutex<Vec<(Key, Arc<Plan>)>>,
    /// The same program without any pass, once asked for.
    plain: OnceLock<Executor>,
}

/// The inputs in order.
type Inputs = SmallVec<[Value; 8]>;

/// Whether the inputs are given away, and the sizes of all of them.
type Key = SmallVec<[usize; 8]>;

/// Plans for more sizes than this are made again when they are needed.
const MAX_PLANS: usize = 32;

impl Executor {
    /// For all outputs of a program, and the scope that holds its state.
    pub fn new(program: &Program, state: State) -> Result<Executor> {
        let outputs: Vec<&str> = program.outputs.iter().map(|name| &**name).collect();
        Executor::with(program, &outputs, state, &Options::default())
    }

    /// For the named outputs: only what they need, and the effects of the program, are computed.
    pub fn with(
        program: &Program,
        outputs: &[&str],
        state: State,
        options: &Options,
    ) -> Result<Executor> {
        let compiled = compile(program, outputs, options)?;
        let bound = program.bound();
        let state = state.bound_to(&bound);
        let shared = Shared {
            source: program.clone(),
            bound,
            compiled,
            memory_limit: options.memory_limit,
            plans: Mutex::default(),
            plain: OnceLock::new(),
        };
        Ok(Executor { shared: Arc::new(shared), state })
    }

    /// The same compiled program, with the same plans, on another state scope. Cells that the program is bound to
    /// stay what they are.
    ///
    /// ```
    /// use fluvial_core::{Program, State, Tensor, Type, DType};
    /// use fluvial_runtime::Executor;
    ///
    /// let ty = Type::of(DType::F32, &[2])?;
    /// let program = Program::build(&[("x", ty)], |x| Ok(vec![&x[0] * 2.0]))?;
    /// let double = Executor::new(&program, State::new())?;
    /// let elsewhere = double.on(State::new());
    /// assert!(std::ptr::eq(double.compiled(), elsewhere.compiled()));
    /// # Ok::<(), fluvial_core::Error>(())
    /// ```
    pub fn on(&self, state: State) -> Executor {
        let state = state.bound_to(&self.shared.bound);
        Executor { shared: self.shared.clone(), state }
    }

    /// The program as it was written.
    pub fn source(&self) -> &Program {
        &self.shared.source
    }

    /// The compiled program, and what the passes did.
    pub fn compiled(&self) -> &Compiled {
        &self.shared.compiled
    }

    /// The state scope.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Runs the startup block for the states that have no value yet. `run` does so by itself.
    pub fn initialise(&self) -> Result<()> {
        self.shared.source.initialise(&self.state)
    }

    /// Runs the program on inputs given by name, and returns its outputs in order.
    #[track_caller]
    pub fn run(&self, feeds: &[(&str, Tensor)]) -> Result<Vec<Tensor>> {
        self.run_fed(feeds, Nobody, scope::user_line())
    }

    /// Runs the program, and tells `observer` of every step.
    #[track_caller]
    pub fn run_observed(
        &self,
        feeds: &[(&str, Tensor)],
        observer: &dyn Observer,
    ) -> Result<Vec<Tensor>> {
        self.run_fed(feeds, observer, scope::user_line())
    }

    /// Runs the program with nothing fused, and tells `observer` of every step: each is then an op of the
    /// source. The numbers are the same.
    #[track_caller]
    pub fn run_watched(
        &self,
        feeds: &[(&str, Tensor)],
        observer: &dyn Observer,
    ) -> Result<Vec<Tensor>> {
        if self.shared.plain.get().is_none() {
            let outputs: Vec<&str> =
                self.shared.compiled.program.outputs.iter().map(|name| &**name).collect();
            let without = pipeline().iter().map(|pass| pass.name.to_string()).collect();
            let options = Options { without, ..Options::default() };
            let plain =
                Executor::with(&self.shared.source, &outputs, self.state.clone(), &options)?;
            // Another thread may have been faster; both are the same.
            let _ = self.shared.plain.set(plain);
        }
        match self.shared.plain.get() {
            Some(plain) => {
                plain.on(self.state.clone()).run_fed(feeds, observer, scope::user_line())
            }
            None => Err(Error::internal("the plain program was not kept")),
        }
    }

    /// Runs the program on inputs that are given away: what nobody else holds is written over where that
    /// saves memory, and may come back as an output.
    ///
    /// ```
    /// use fluvial_core::{DType, Program, State, Tensor, Type};
    /// use fluvial_runtime::Executor;
    ///
    /// let ty = Type::of(DType::F32, &[1000])?;
    /// let program = Program::build(&[("x", ty)], |x| Ok(vec![&x[0] * 2.0]))?;
    /// let double = Executor::new(&program, State::new())?;
    /// let mut x = Tensor::zeros(DType::F32, &[1000])?;
    /// for _ in 0..10 {
    ///     x = double.run_donated(vec![("x", x)])?.remove(0);
    /// }
    /// # Ok::<(), fluvial_core::Error>(())
    /// ```
    #[track_caller]
    pub fn run_donated(&self, feeds: Vec<(&str, Tensor)>) -> Result<Vec<Tensor>> {
        let loc = scope::user_line();
        let run = || {
            let inputs = self.in_order(&feeds)?;
            drop(feeds);
            let donated = all_of(&inputs);
            tensors(self.run_telling(inputs, &donated, Nobody)?)
        };
        run().map_err(|error| error.at(loc))
    }

    /// Runs the program on inputs in order, which may be lists.
    #[track_caller]
    pub fn run_values(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let loc = scope::user_line();
        self.run_telling(inputs.into(), &[], Nobody).map_err(|error| error.at(loc))
    }

    /// [`run_values`](Executor::run_values) on inputs that are given away, as
    /// [`run_donated`](Executor::run_donated) does.
    #[track_caller]
    pub fn run_given(&self, inputs: Vec<Value>) -> Result<Vec<Value>> {
        let loc = scope::user_line();
        let donated = all_of(&inputs);
        self.run_telling(inputs.into(), &donated, Nobody).map_err(|error| error.at(loc))
    }

    /// [`run_given`](Executor::run_given) for some of the inputs: those whose number is `true` in `donated`.
    #[track_caller]
    pub fn run_given_some(&self, inputs: Vec<Value>, donated: &[bool]) -> Result<Vec<Value>> {
        let loc = scope::user_line();
        self.run_telling(inputs.into(), donated, Nobody).map_err(|error| error.at(loc))
    }

    /// [`run_values`](Executor::run_values), telling `observer` of every step.
    #[track_caller]
    pub fn run_values_observed(
        &self,
        inputs: &[Value],
        observer: &dyn Observer,
    ) -> Result<Vec<Value>> {
        let loc = scope::user_line();
        self.run_telling(inputs.into(), &[], observer).map_err(|error| error.at(loc))
    }

    /// Runs on behalf of the line `loc`, which faults are reported at that have no line of their own.
    fn run_fed<T: Tell>(
        &self,
        feeds: &[(&str, Tensor)],
        observer: T,
        loc: Loc,
    ) -> Result<Vec<Tensor>> {
        let run = || tensors(self.run_telling(self.in_order(feeds)?, &[], observer)?);
        run().map_err(|error| error.at(loc))
    }

    fn in_order(&self, feeds: &[(&str, Tensor)]) -> Result<Inputs> {
        let inputs = feeds::in_order(&self.shared.compiled.program, feeds)?;
        Ok(inputs.into_iter().map(|tensor| Value::Tensor(tensor.clone())).collect())
    }

    fn run_telling<T: Tell>(
        &self,
        inputs: Inputs,
        donated: &[bool],
        observer: T,
    ) -> Result<Vec<Value>> {
        let state = &self.state;
        let plan = self.plan(&inputs, donated)?;
        let _scope = (imperative(), no_grad(), state.enter());
        self.initialise()?;
        if T::IS_NOBODY && attach::is_attached() {
            return self.conducted(&plan, Start::Inputs(inputs.into_vec()));
        }
        let pause = Pause::default().may_attach(T::IS_NOBODY);
        let run = Run { state, observer, pause: &pause, depth: 0, readers: 0 };
        let done = plan.run(inputs.into_iter(), &Sizes::default(), run);
        if done.is_err() {
            let (suspension, can_go_on) = pause.into_suspension();
            suspension.save_states(&plan, state)?;
            if can_go_on && suspension.is_attach {
                return self.conducted(&plan, Start::Suspension(suspension));
            }
        }
        done
    }

    /// A run to its end, by whoever conducts runs.
    #[cold]
    fn conducted(&self, plan: &Arc<Plan>, mut start: Start) -> Result<Vec<Value>> {
        loop {
            start = match self.conduct(plan, start, None, &|_| false)? {
                Ended::Done(values) => return Ok(values),
                Ended::Suspended(suspension) if suspension.is_attach => {
                    Start::Suspension(suspension)
                }
                // As by Ctrl-C.
                Ended::Suspended(_) => {
                    return Err(Error::new(ErrorKind::Interrupted, "stopped on request"));
                }
            }
        }
    }

    /// A run by whoever conducts runs, or by ourselves if he has gone.
    fn conduct(
        &self,
        plan: &Arc<Plan>,
        start: Start,
        observer: Option<&dyn Observer>,
        wanted: &dyn Fn(&Trip<'_>) -> bool,
    ) -> Result<Ended> {
        match attach::conductor() {
            Some(conductor) => conductor.conduct(Job {
                executor: self,
                plan: plan.clone(),
                start,
                observer,
                wanted,
            }),
            None => self.perform(plan, start, observer, wanted, true),
        }
    }

    /// Runs the program until its end, or until `wanted` says before a trip of a loop that the run is to be
    /// suspended, or until a stop is asked for. A run that was suspended may be taken up by
    /// [`resume`](Executor::resume).
    #[track_caller]
    pub fn run_until(
        &self,
        feeds: &[(&str, Tensor)],
        observer: Option<&dyn Observer>,
        wanted: &dyn Fn(&Trip<'_>) -> bool,
    ) -> Result<Outcome> {
        let loc = scope::user_line();
        let run = || {
            let inputs = self.in_order(feeds)?;
            let plan = self.plan(&inputs, &[])?;
            self.initialise()?;
            self.until(&plan, Start::Inputs(inputs.into_vec()), observer, wanted)
        };
        run().map_err(|error| error.at(loc))
    }

    /// Takes a suspended run of this program up again, on the same states.
    #[track_caller]
    pub fn resume(
        &self,
        suspension: Suspension,
        observer: Option<&dyn Observer>,
        wanted: &dyn Fn(&Trip<'_>) -> bool,
    ) -> Result<Outcome> {
        let loc = scope::user_line();
        let run = || {
            let Some(level) = suspension.levels.first() else {
                return Err(Error::program("a suspended run has lost its blocks"));
            };
            let memory = Memory { limit: self.shared.memory_limit, donated: &[] };
            let main = &self.shared.compiled.program.main;
            let plan = Arc::new(Plan::new(main, &level.known, memory)?);
            self.until(&plan, Start::Suspension(suspension), observer, wanted)
        };
        run().map_err(|error| error.at(loc))
    }

    fn until(
        &self,
        plan: &Arc<Plan>,
        start: Start,
        observer: Option<&dyn Observer>,
        wanted: &dyn Fn(&Trip<'_>) -> bool,
    ) -> Result<Outcome> {
        let mut ended = match attach::is_attached() {
            true => self.conduct(plan, start, observer, wanted)?,
            false => self.perform(plan, start, observer, wanted, true)?,
        };
        loop {
            ended = match ended {
                Ended::Done(values) => return Ok(Outcome::Done(tensors(values)?)),
                Ended::Suspended(suspension) if suspension.is_attach => {
                    self.conduct(plan, Start::Suspension(suspension), observer, wanted)?
                }
                Ended::Suspended(suspension) => return Ok(Outcome::Suspended(suspension)),
            }
        }
    }

    /// Runs a plan of this program until its end, or until `wanted` says before a trip of a loop that the run is
    /// to be suspended, or until a stop is asked for. States must have their first values. Nobody conducts it:
    /// this is what conductors run by.
    pub fn stretch(
        &self,
        plan: &Arc<Plan>,
        start: Start,
        observer: Option<&dyn Observer>,
        wanted: &dyn Fn(&Trip<'_>) -> bool,
    ) -> Result<Ended> {
        self.perform(plan, start, observer, wanted, false)
    }

    fn perform(
        &self,
        plan: &Arc<Plan>,
        start: Start,
        observer: Option<&dyn Observer>,
        wanted: &dyn Fn(&Trip<'_>) -> bool,
        may_attach: bool,
    ) -> Result<Ended> {
        let (inputs, suspension) = match start {
            Start::Inputs(inputs) => (inputs.into(), None),
            Start::Suspension(suspension) => (Inputs::new(), Some(suspension)),
        };
        let state = &self.state;
        let _scope = (imperative(), no_grad(), state.enter());
        let pause = Pause::new(Some(wanted), suspension).may_attach(may_attach);
        let done = match observer {
            Some(observer) => {
                go(plan, inputs, Run { state, observer, pause: &pause, depth: 0, readers: 0 })
            }
            None => go(
                plan,
                inputs,
                Run { state, observer: Nobody, pause: &pause, depth: 0, readers: 0 },
            ),
        };
        match done {
            Ok(values) => Ok(Ended::Done(values)),
            Err(error) => {
                let (suspension, can_go_on) = pause.into_suspension();
                suspension.save_states(plan, state)?;
                match can_go_on {
                    true => Ok(Ended::Suspended(suspension)),
                    false => Err(error),
                }
            }
        }
    }

    /// The plan for inputs of these sizes.
    fn plan(&self, inputs: &[Value], donated: &[bool]) -> Result<Arc<Plan>> {
        let main = &self.shared.compiled.program.main;
        if inputs.len() != main.n_params {
            let names = self.shared.compiled.program.inputs.join(", ");
            return Err(Error::argument(format!(
                "the program takes {} inputs ({names}), got {}",
                main.n_params,
                inputs.len()
            )));
        }
        let given = || (0..donated.len()).filter(|&i| donated[i]);
        let mut key: Key = smallvec![given().count()];
        key.extend(given());
        for tensor in inputs.iter().filter_map(|input| input.tensor().ok()) {
            key.extend(tensor.dims().iter().copied());
        }
        let find = |plans: &mut Vec<(Key, Arc<Plan>)>| {
            let at = plans.iter().position(|(known, _)| *known == key)?;
            plans[..=at].rotate_right(1);
            Some(plans[0].1.clone())
        };
        let lock = || self.shared.plans.lock().unwrap_or_else(PoisonError::into_inner);
        // Types are checked when a plan is made; a tensor of another dtype may have the same sizes.
        let mut sizes = Sizes::default();
        for (i, (declared, input)) in main.param_types().iter().zip(inputs).enumerate() {
            sizes.unify(declared, &input.ty()).map_err(|error| {
                error.note(format!("in the argument `{}`", self.shared.compiled.program.inputs[i]))
            })?;
        }
        if let Some(plan) = find(&mut lock()) {
            return Ok(plan);
        }
        let plan =
            Arc::new(Plan::new(main, &sizes, Memory { limit: self.shared.memory_limit, donated })?);
        let mut plans = lock();
        plans.insert(0, (key.clone(), plan.clone()));
        plans.truncate(MAX_PLANS);
        Ok(plan)
    }

    /// What a run on inputs of these sizes will need; nothing is run.
    pub fn report(&self, feeds: &[(&str, Tensor)]) -> Result<Report> {
        let inputs = self.in_order(feeds)?;
        let plan = self.plan(&inputs, &[])?;
        let main = &self.shared.source.main;
        let mut sizes = Sizes::default();
        for (declared, input) in main.param_types().iter().zip(&inputs) {
            sizes.unify(declared, &input.ty())?;
        }
        let known = main.substitute(&|symbol| sizes.get(symbol))?;
        Ok(Report::new(&plan, &known))
    }

    /// The plan that a run on inputs of these sizes would follow.
    pub fn plan_for(&self, feeds: &[(&str, Tensor)]) -> Result<Arc<Plan>> {
        self.plan(&self.in_order(feeds)?, &[])
    }
}

/// How a run ended that may be suspended.
pub enum Outcome {
    /// With its outputs.
    Done(Vec<Tensor>),
    /// Before a trip of a loop. The states have the values that they had there.
    Suspended(Suspension),
}

/// Begins a run, or takes one up again.
fn go<T: Tell>(plan: &Plan, inputs: Inputs, run: Run<'_, T>) -> Result<Vec<Value>> {
    match run.pause.next_level() {
        Some(level) => plan.resume(level, run),
        None => plan.run(inputs.into_iter(), &Sizes::default(), run),
    }
}

/// That all inputs are given away.
fn all_of(inputs: &[Value]) -> SmallVec<[bool; 16]> {
    smallvec![true; inputs.len()]
}

fn tensors(values: Vec<Value>) -> Result<Vec<Tensor>> {
    values.into_iter().map(|value| value.tensor().cloned()).collect()
}
