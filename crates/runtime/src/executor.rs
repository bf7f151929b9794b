//! Compiles programs and runs them.

use std::sync::{Arc, OnceLock};

use fluvial_compile::{Compiled, Options, compile, pipeline};
use fluvial_core::structural::Assign;
use fluvial_core::{
    Bound, Cache, Call, Error, Program, Result, Role, Sizes, State, Tensor, Value, imperative,
    no_grad, scope, step, step::Turn, tasks,
};
use smallvec::{SmallVec, smallvec};

use crate::attach::{self, Ended, Job, Start};
use crate::feeds;
use crate::observe::{Nobody, Observer, Tell};
use crate::plan::{Memory, Pause, Plan, Run, Suspension, Trip};
use crate::recorded::Derivatives;
use crate::report::{self, Report};

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
    /// The number of the scope that its cells belong to.
    scope: Option<u64>,
    /// The cells that the program is bound to.
    bound: Arc<Bound>,
    compiled: Compiled,
    options: Options,
    /// Plans by the sizes of the inputs, the latest first.
    plans: Cache<Key, Arc<Plan>>,
    /// The same program without any pass, once asked for.
    plain: OnceLock<Executor>,
    /// The program as devices run it, once one did.
    for_devices: OnceLock<Executor>,
    /// What its gradients need, once it was recorded.
    derivatives: OnceLock<Arc<Derivatives>>,
    /// Whether it reads parameters and assigns none.
    leaves_parameters: bool,
    /// The states that a run assigns.
    assigned: Vec<Arc<str>>,
    /// Whether a run may start tasks.
    has_tasks: bool,
}

/// The inputs in order.
pub(crate) type Inputs = SmallVec<[Value; 8]>;

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
        program.check_scope(&state)?;
        let compiled = compile(program, outputs, options)?;
        let compiled_assigns = compiled.program.assigned();
        let bound = program.bound();
        let state = state.bound_to(&bound);
        let shared = Shared {
            source: program.clone(),
            scope: program.scope(),
            bound,
            compiled,
            options: options.clone(),
            plans: Cache::new(MAX_PLANS),
            plain: OnceLock::new(),
            for_devices: OnceLock::new(),
            derivatives: OnceLock::new(),
            leaves_parameters: leaves_parameters(program),
            assigned: compiled_assigns,
            has_tasks: program.main.has_tasks(),
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

    /// Refuses a scope to which the cells of the program do not belong.
    pub fn check_scope(&self, state: &State) -> Result<()> {
        match self.shared.scope.is_some_and(|number| number != state.number()) {
            true => self.shared.source.check_scope(state),
            false => Ok(()),
        }
    }

    /// The same compiled program on this state, with the cells that the state is bound to.
    pub(crate) fn with_state(&self, state: &State) -> Executor {
        Executor { shared: self.shared.clone(), state: state.clone() }
    }

    /// The program as it was written.
    pub fn source(&self) -> &Program {
        &self.shared.source
    }

    /// The compiled program, and what the passes did.
    pub fn compiled(&self) -> &Compiled {
        &self.shared.compiled
    }

    /// How it was compiled.
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// Whether the program reads parameters and assigns none: then their gradients may be asked for after a call.
    pub(crate) fn leaves_parameters(&self) -> bool {
        self.shared.leaves_parameters
    }

    /// What gradients of the program need.
    pub(crate) fn derivatives(&self) -> Result<Arc<Derivatives>> {
        if let Some(known) = self.shared.derivatives.get() {
            return Ok(known.clone());
        }
        let names: Vec<&str> =
            self.shared.compiled.program.outputs.iter().map(|name| &**name).collect();
        let made = Derivatives::new(&self.shared.source, &names, &self.shared.options)?;
        // Another thread may have been faster; both are the same.
        Ok(self.shared.derivatives.get_or_init(|| Arc::new(made)).clone())
    }

    /// The state scope.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Runs the startup block for the states that have no value yet. `run` does so by itself.
    pub fn initialise(&self) -> Result<()> {
        self.shared.source.initialise(&self.state)
    }

    /// Runs the program on inputs given by name, and returns its outputs in order. [`call`](Executor::call) says
    /// more of a run.
    #[track_caller]
    pub fn run(&self, feeds: &[(&str, Tensor)]) -> Result<Vec<Tensor>> {
        let loc = scope::user_line();
        let run = || tensors(self.run_telling(self.in_order(feeds)?, &[], Nobody)?);
        run().map_err(|error| error.at(loc))
    }

    /// The program with nothing fused, so that each step is an op of the source.
    pub(crate) fn plain(&self) -> Result<Executor> {
        if let Some(plain) = self.shared.plain.get() {
            return Ok(plain.on(self.state.clone()));
        }
        let outputs: Vec<&str> =
            self.shared.compiled.program.outputs.iter().map(|name| &**name).collect();
        let without = pipeline().iter().map(|pass| pass.name.to_string()).collect();
        let options = Options { without, ..Options::default() };
        let plain = Executor::with(&self.shared.source, &outputs, State::new(), &options)?;
        // Another thread may have been faster; both are the same.
        Ok(self.shared.plain.get_or_init(|| plain).on(self.state.clone()))
    }

    /// The program as devices run it, which `compile` makes when it is first asked for.
    pub(crate) fn variant(&self, compile: impl FnOnce() -> Result<Executor>) -> Result<Executor> {
        if let Some(known) = self.shared.for_devices.get() {
            return Ok(known.with_state(&self.state));
        }
        let made = compile()?;
        // Another thread may have been faster; both are the same.
        Ok(self.shared.for_devices.get_or_init(|| made).with_state(&self.state))
    }

    fn in_order(&self, feeds: &[(&str, Tensor)]) -> Result<Inputs> {
        let inputs = feeds::in_order(&self.shared.compiled.program, feeds)?;
        Ok(inputs.into_iter().map(|tensor| Value::Tensor(tensor.clone())).collect())
    }

    pub(crate) fn run_telling<T: Tell>(
        &self,
        inputs: Inputs,
        donated: &[bool],
        observer: T,
    ) -> Result<Vec<Value>> {
        if self.device(&inputs).is_some() {
            if T::IS_NOBODY && !attach::is_attached() {
                return self.run_on_device(inputs);
            }
            self.refuse_device(&inputs)?;
        }
        let state = &self.state;
        let plan = self.plan(&inputs, donated)?;
        let _scope = (imperative(), no_grad(), state.enter());
        self.initialise()?;
        let _turn = self.turn()?;
        if T::IS_NOBODY && attach::is_attached() {
            return self.conducted(&plan, Start::Inputs(inputs.into_vec()));
        }
        let pause = Pause::default().may_attach(T::IS_NOBODY);
        let run = Run { state, observer, pause: &pause, depth: 0, readers: 0 };
        let done = self.to_the_end(|| plan.run(inputs.into_iter(), &Sizes::default(), run));
        if done.is_err() {
            let (suspension, can_go_on) = pause.into_suspension();
            suspension.save_states(&plan, state)?;
            if can_go_on && suspension.is_attach {
                return self.conducted(&plan, Start::Suspension(suspension));
            }
        }
        done
    }

    /// Runs the main block, and then what tasks still have to do.
    #[inline]
    pub(crate) fn to_the_end<R>(&self, run: impl FnOnce() -> Result<R>) -> Result<R> {
        match self.shared.has_tasks {
            false => run(),
            true => tasks::run(run),
        }
    }

    /// Waits until no other thread runs what assigns the same states, so that no update is lost.
    pub(crate) fn turn(&self) -> Result<Turn> {
        step::turn(self.state.all_of(&self.shared.assigned))
    }

    /// A run to its end, by whoever conducts runs.
    #[cold]
    fn conducted(&self, plan: &Arc<Plan>, mut start: Start) -> Result<Vec<Value>> {
        loop {
            start = match self.conduct(plan, start, None, &|_| false)? {
                Ended::Done(values) => return Ok(values),
                // As by Ctrl-C.
                Ended::Suspended(suspension) if suspension.is_stop => {
                    return Err(suspension.stopped());
                }
                // Nobody has asked for an end, so whoever suspends the run, it goes on.
                Ended::Suspended(suspension) => Start::Suspension(suspension),
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

    /// Runs until the end, or until `wanted` says before a trip of a loop that the run is to be suspended, or until
    /// a stop is asked for.
    pub(crate) fn run_until(
        &self,
        start: Start,
        observer: Option<&dyn Observer>,
        wanted: &dyn Fn(&Trip<'_>) -> bool,
    ) -> Result<Outcome> {
        let plan = match &start {
            Start::Inputs(inputs) => {
                self.refuse_device(inputs)?;
                let plan = self.plan(inputs, &[])?;
                self.initialise()?;
                plan
            }
            Start::Suspension(suspension) => self.plan_of(suspension)?,
        };
        let mut ended = match attach::is_attached() {
            true => self.conduct(&plan, start, observer, wanted)?,
            false => self.perform(&plan, start, observer, wanted, true)?,
        };
        loop {
            ended = match ended {
                Ended::Done(values) => return Ok(Outcome::Done(tensors(values)?)),
                Ended::Suspended(suspension) if suspension.is_attach => {
                    self.conduct(&plan, Start::Suspension(suspension), observer, wanted)?
                }
                Ended::Suspended(suspension) => return Ok(Outcome::Suspended(suspension)),
            }
        }
    }

    /// The plan that a suspended run of this program follows.
    pub fn plan_of(&self, suspension: &Suspension) -> Result<Arc<Plan>> {
        let Some(level) = suspension.levels.first() else {
            return Err(Error::program("a suspended run has lost its blocks"));
        };
        let memory = Memory { limit: self.shared.options.memory_limit, donated: &[] };
        let main = &self.shared.compiled.program.main;
        Ok(Arc::new(Plan::new(main, &level.known, memory)?))
    }

    /// Runs a plan of this program until its end, or until `wanted` says before a trip of a loop that the run is
    /// to be suspended, or until a stop is asked for. States must have their initial values. Nobody conducts it:
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
        let _turn = self.turn()?;
        let pause = Pause::new(Some(wanted), suspension).may_attach(may_attach);
        let done = self.to_the_end(|| {
            pause.take_over_channels()?;
            match observer {
                Some(observer) => {
                    go(plan, inputs, Run { state, observer, pause: &pause, depth: 0, readers: 0 })
                }
                None => go(
                    plan,
                    inputs,
                    Run { state, observer: Nobody, pause: &pause, depth: 0, readers: 0 },
                ),
            }
        });
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
        // Types are checked when a plan is made; a tensor of another dtype may have the same sizes.
        let mut sizes = Sizes::default();
        for (i, (declared, input)) in main.param_types().iter().zip(inputs).enumerate() {
            sizes.unify(declared, &input.ty()).map_err(|error| {
                error.note(format!("in the argument `{}`", self.shared.compiled.program.inputs[i]))
            })?;
        }
        let memory = Memory { limit: self.shared.options.memory_limit, donated };
        self.shared.plans.get_or(&key, || Plan::new(main, &sizes, memory).map(Arc::new))
    }

    /// What a run on inputs of these sizes will need; nothing is run.
    pub fn report(&self, feeds: &[(&str, Tensor)]) -> Result<Report> {
        let inputs = self.in_order(feeds)?;
        let plan = self.plan(&inputs, &[])?;
        plan.learn_readers()?;
        let main = &self.shared.source.main;
        let mut sizes = Sizes::default();
        for (declared, input) in main.param_types().iter().zip(&inputs) {
            sizes.unify(declared, &input.ty())?;
        }
        let known = main.substitute(&|symbol| sizes.get(symbol))?;
        report::check_sizes(&known)?;
        Ok(Report::new(&plan, &known))
    }

    /// The plan that a run on inputs of these sizes would follow.
    pub fn plan_for(&self, feeds: &[(&str, Tensor)]) -> Result<Arc<Plan>> {
        self.plan(&self.in_order(feeds)?, &[])
    }
}

fn leaves_parameters(program: &Program) -> bool {
    let is_parameter =
        |name: &str| program.states.get(name).is_some_and(|decl| decl.role == Role::Parameter);
    let assigns = |call: &Call| {
        call.op.downcast::<Assign>().is_some_and(|assign| is_parameter(&assign.state))
    };
    program.states.keys().any(|name| is_parameter(name)) && !program.main.calls.iter().any(assigns)
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

pub(crate) fn tensors(values: Vec<Value>) -> Result<Vec<Tensor>> {
    values.into_iter().map(|value| value.tensor().cloned()).collect()
}
