//! One run of a compiled program, described before it starts.

use fluvial_core::{Error, ErrorKind, Limits, Loc, Result, Tensor, Value, Var, scope};
use smallvec::SmallVec;

use crate::attach::Start;
use crate::checkpoint::Checkpoints;
use crate::executor::{Executor, Inputs, Outcome, tensors};
use crate::feeds;
use crate::observe::{Nobody, Observer};
use crate::plan::{Suspension, Trip};
use crate::recorded::Runner;

/// A run of a program: what it is fed, what is given away, who is told of its steps, when it is suspended, where
/// checkpoints go. [`Executor::call`] makes one; [`run`](Call::run), [`values`](Call::values),
/// [`start`](Call::start) or [`apply`](Call::apply) starts it.
///
/// ```
/// use fluvial_core::{DType, Program, State, Tensor, Type};
/// use fluvial_runtime::{Executor, Profiler};
///
/// let ty = Type::of(DType::F32, &[1000])?;
/// let program = Program::build(&[("x", ty)], |x| Ok(vec![&x[0] * 2.0]))?;
/// let double = Executor::new(&program, State::new())?;
/// let profiler = Profiler::default();
/// let mut x = Tensor::zeros(DType::F32, &[1000])?;
/// for _ in 0..10 {
///     x = double.call().feed("x", x).donate().observe(&profiler).run()?.remove(0);
/// }
/// # Ok::<(), fluvial_core::Error>(())
/// ```
#[must_use = "a run starts with `run`, `values`, `start` or `apply`"]
pub struct Call<'a> {
    executor: &'a Executor,
    fed: Fed<'a>,
    donated: Donated<'a>,
    observer: Option<&'a dyn Observer>,
    is_op_by_op: bool,
    wanted: Option<&'a dyn Fn(&Trip<'_>) -> bool>,
    suspension: Option<Suspension>,
    checkpoints: Option<(&'a Checkpoints, bool)>,
    records_parameters: bool,
    limits: Limits,
    loc: Loc,
}

enum Fed<'a> {
    ByName(Vec<(&'a str, Tensor)>),
    InOrder(Inputs),
}

#[derive(Clone, Copy)]
enum Donated<'a> {
    Nothing,
    Everything,
    Some(&'a [bool]),
}

impl Executor {
    /// A run of the program that is still to be described and started.
    #[track_caller]
    pub fn call(&self) -> Call<'_> {
        Call {
            executor: self,
            fed: Fed::ByName(Vec::new()),
            donated: Donated::Nothing,
            observer: None,
            is_op_by_op: false,
            wanted: None,
            suspension: None,
            checkpoints: None,
            records_parameters: true,
            limits: Limits::default(),
            loc: scope::user_line(),
        }
    }
}

impl<'a> Call<'a> {
    /// Feeds an input by its name.
    pub fn feed(mut self, name: &'a str, tensor: Tensor) -> Call<'a> {
        match &mut self.fed {
            Fed::ByName(feeds) => feeds.push((name, tensor)),
            Fed::InOrder(_) => self.fed = Fed::ByName(vec![(name, tensor)]),
        }
        self
    }

    /// Feeds inputs by their names.
    pub fn feeds(self, feeds: &[(&'a str, Tensor)]) -> Call<'a> {
        feeds.iter().fold(self, |call, (name, tensor)| call.feed(name, tensor.clone()))
    }

    /// Feeds all inputs in order; they may be lists. It takes the place of what was fed by name.
    pub fn inputs(mut self, inputs: impl IntoIterator<Item = Value>) -> Call<'a> {
        self.fed = Fed::InOrder(inputs.into_iter().collect());
        self
    }

    /// Gives all inputs away: what nobody else holds is written over where that saves memory, and may come back
    /// as an output.
    pub fn donate(mut self) -> Call<'a> {
        self.donated = Donated::Everything;
        self
    }

    /// [`donate`](Call::donate) for those inputs whose number is `true`. A call that is recorded keeps them all.
    pub fn donate_some(mut self, donated: &'a [bool]) -> Call<'a> {
        self.donated = Donated::Some(donated);
        self
    }

    /// Tells `observer` of every step.
    pub fn observe(mut self, observer: &'a dyn Observer) -> Call<'a> {
        self.observer = Some(observer);
        self
    }

    /// Runs with nothing fused, so that each step is an op of the source. The numbers are the same.
    pub fn op_by_op(mut self) -> Call<'a> {
        self.is_op_by_op = true;
        self
    }

    /// Asks `wanted` before each trip of a loop, once for each, whether to suspend the run there.
    pub fn until(mut self, wanted: &'a dyn Fn(&Trip<'_>) -> bool) -> Call<'a> {
        self.wanted = Some(wanted);
        self
    }

    /// Takes a suspended run of this program up again, on the same states; nothing is fed.
    pub fn resume(mut self, suspension: Suspension) -> Call<'a> {
        self.suspension = Some(suspension);
        self
    }

    /// Writes checkpoints on the way, and one when the run is stopped (Ctrl-C). With `go_on`, the run goes on from
    /// the latest one, if there is any: the results are then bit for bit those of a run that was never stopped.
    pub fn checkpoints(mut self, checkpoints: &'a Checkpoints, go_on: bool) -> Call<'a> {
        self.checkpoints = Some((checkpoints, go_on));
        self
    }

    /// Whether [`apply`](Call::apply) records also for the sake of parameters that the program reads, as it does
    /// by default, or for tracked inputs only.
    pub fn records_parameters(mut self, records: bool) -> Call<'a> {
        self.records_parameters = records;
        self
    }

    /// Ends the run with an error when it needs more than this. With checkpoints, one is written before.
    ///
    /// ```
    /// use fluvial_core::{ErrorKind, Limits, Program, State, Var};
    /// use fluvial_runtime::Executor;
    /// # use fluvial_ops::{lt, while_loop};
    /// let endless = Program::build(&[], |_| {
    ///     let zero = Var::scalar(0.0f64);
    ///     while_loop(&[&zero], |x| lt(&x[0], &Var::scalar(1.0)), |x| Ok(vec![&x[0] * 0.5]))
    /// })?;
    /// let limits = Limits { trips: Some(1000), ..Limits::default() };
    /// let ended = Executor::new(&endless, State::new())?.call().limits(limits).run();
    /// assert_eq!(ended.err().map(|error| error.kind()), Some(ErrorKind::Limit));
    /// # Ok::<(), fluvial_core::Error>(())
    /// ```
    pub fn limits(mut self, limits: Limits) -> Call<'a> {
        self.limits = limits;
        self
    }

    /// Runs to the end, and returns the outputs in order. A run that is suspended is an error: see
    /// [`start`](Call::start).
    pub fn run(self) -> Result<Vec<Tensor>> {
        let loc = self.loc;
        if self.wanted.is_none() && self.suspension.is_none() && self.checkpoints.is_none() {
            return self.values().and_then(tensors).map_err(|error| error.at(loc));
        }
        match self.start()? {
            Outcome::Done(outputs) => Ok(outputs),
            Outcome::Suspended(suspension)
                if suspension
                    .reason()
                    .is_some_and(|reason| reason.kind() != ErrorKind::Interrupted) =>
            {
                Err(suspension.stopped().at(loc))
            }
            Outcome::Suspended(_) => Err(Error::argument("the run was suspended")
                .remedy("start it with `start`, which tells how it ended")
                .at(loc)),
        }
    }

    /// [`run`](Call::run) for outputs that may be lists; it knows neither suspensions nor checkpoints.
    pub fn values(self) -> Result<Vec<Value>> {
        let loc = self.loc;
        let _limited = self.limits.is_any().then(|| self.limits.enter());
        let run = || {
            let executor = self.form()?;
            if self.wanted.is_some() || self.suspension.is_some() || self.checkpoints.is_some() {
                return Err(Error::argument("a run that can be suspended gives no bare values")
                    .remedy("start it with `start`"));
            }
            let inputs = self.fed.in_order(&executor)?;
            let donated: SmallVec<[bool; 16]> = match self.donated {
                Donated::Nothing => SmallVec::new(),
                Donated::Everything => SmallVec::from_elem(true, inputs.len()),
                Donated::Some(donated) => donated.into(),
            };
            match self.observer {
                Some(observer) => executor.run_telling(inputs, &donated, observer),
                None => executor.run_telling(inputs, &donated, Nobody),
            }
        };
        run().map_err(|error| error.at(loc))
    }

    /// Runs until the end, or until the run is suspended: because [`until`](Call::until) said so, or because a stop
    /// was asked for.
    pub fn start(self) -> Result<Outcome> {
        let loc = self.loc;
        let _limited = self.limits.is_any().then(|| self.limits.enter());
        let run = || {
            let executor = self.form()?;
            let never = |_: &Trip<'_>| false;
            let wanted = self.wanted.unwrap_or(&never);
            let start = match self.suspension {
                Some(suspension) => Start::Suspension(suspension),
                None => Start::Inputs(self.fed.in_order(&executor)?.into_vec()),
            };
            match self.checkpoints {
                Some((checkpoints, go_on)) => {
                    executor.run_checkpointed(start, self.observer, wanted, checkpoints, go_on)
                }
                None => executor.run_until(start, self.observer, wanted),
            }
        };
        run().map_err(|error| error.at(loc))
    }

    /// Applies the program to values, as [`Executor::apply`] does.
    pub fn apply(self, vars: Vec<Var>) -> Result<Vec<Var>> {
        let _limited = self.limits.is_any().then(|| self.limits.enter());
        let (loc, observer, is_op_by_op, donated) =
            (self.loc, self.observer, self.is_op_by_op, self.donated);
        let run: Runner = &|executor, values, is_recorded| {
            let donated = if is_recorded { Donated::Nothing } else { donated };
            Call { observer, is_op_by_op, donated, ..executor.call() }.inputs(values).values()
        };
        let _line = scope::at(loc);
        self.executor.apply_by(vars, self.records_parameters, run).map_err(|error| error.at(loc))
    }

    /// The program, or the one with nothing fused.
    fn form(&self) -> Result<Executor> {
        match self.is_op_by_op {
            true => self.executor.plain(),
            false => Ok(self.executor.clone()),
        }
    }
}

impl Fed<'_> {
    fn in_order(self, executor: &Executor) -> Result<Inputs> {
        match self {
            Fed::InOrder(inputs) => Ok(inputs),
            Fed::ByName(feeds) => feeds::values(&executor.compiled().program, feeds),
        }
    }
}
