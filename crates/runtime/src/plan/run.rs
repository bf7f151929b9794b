//! Running a plan.

use std::sync::{Arc, PoisonError};

use fluvial_core::{
    Blocks, Error, ErrorKind, Result, Sizes, State, Told, Type, Value, ValueId, Values, Work,
    interrupt, scope, substitute_op, tasks,
};
use fluvial_tensor::memory::Arena;
use smallvec::{SmallVec, smallvec};

use super::{Body, Frame, Kind, Level, MAX_FRAMES, Pause, Plan, PlanStep, Point, over};
use crate::observe::{Live, Nobody, PARTS, Step, Tell};

/// What the steps of a run share.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a, T> {
    pub state: &'a State,
    pub observer: T,
    pub pause: &'a Pause<'a>,
    /// The number of blocks around.
    pub depth: usize,
    /// The number of loops over readers around.
    pub readers: usize,
}

impl Plan {
    /// Runs the block on arguments. `outer` are the sizes that the run has learnt around it.
    pub(crate) fn run<T: Tell>(
        &self,
        args: impl ExactSizeIterator<Item = Value>,
        outer: &Sizes,
        run: Run<'_, T>,
    ) -> Result<Vec<Value>> {
        // A run stops between its steps, so that states and loops stay whole.
        let _whole = interrupt::hear(false);
        let mut frame = self.frame()?;
        let done = self.run_in(&mut frame, args, outer, run);
        self.give_back(frame);
        done
    }

    /// Takes a suspended run of the block up again.
    pub(crate) fn resume<T: Tell>(&self, level: Level, run: Run<'_, T>) -> Result<Vec<Value>> {
        let _whole = interrupt::hear(false);
        let mut frame = self.frame()?;
        let done = self.resume_in(&mut frame, level, run);
        self.give_back(frame);
        done
    }

    /// Keeps the memory of a run for others.
    fn give_back(&self, frame: Frame) {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        if frames.len() < MAX_FRAMES {
            frames.push(frame);
        }
    }

    fn frame(&self) -> Result<Frame> {
        let kept = self.frames.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match kept {
            Some(frame) => Ok(frame),
            None => Ok(Frame {
                values: vec![None; self.types.len()],
                in_state: vec![false; self.types.len()],
                arena: Arena::new(&self.ranges)?,
            }),
        }
    }

    /// Runs in memory that is empty before and after.
    fn run_in<T: Tell>(
        &self,
        frame: &mut Frame,
        args: impl ExactSizeIterator<Item = Value>,
        outer: &Sizes,
        run: Run<'_, T>,
    ) -> Result<Vec<Value>> {
        if args.len() != self.n_params {
            return Err(Error::internal(format!(
                "a block of {} parameters was given {} arguments",
                self.n_params,
                args.len()
            )));
        }
        let mut sizes = if self.is_open { outer.clone() } else { Sizes::default() };
        for ((value, declared), arg) in frame.values.iter_mut().zip(&self.types).zip(args) {
            if self.is_open {
                sizes.unify(declared, &arg.ty())?;
            }
            *value = Some(arg);
        }
        self.steps(frame, sizes, 0, None, run)
    }

    /// Goes on in memory that is empty before and after.
    fn resume_in<T: Tell>(
        &self,
        frame: &mut Frame,
        level: Level,
        run: Run<'_, T>,
    ) -> Result<Vec<Value>> {
        let n_values = frame.values.len();
        let is_known = |&id: &ValueId| (id as usize) < n_values;
        if level.step > self.steps.len()
            || !level.values.iter().map(|(id, _)| id).chain(&level.in_state).all(is_known)
        {
            return Err(Error::program("the suspended run is one of another program"));
        }
        for (id, value) in level.values {
            if value.ty().dtype() != self.types[id as usize].dtype() {
                return Err(Error::program("the suspended run is one of another program"));
            }
            frame.values[id as usize] = Some(value);
        }
        level.in_state.iter().for_each(|&id| frame.in_state[id as usize] = true);
        self.steps(frame, level.sizes, level.step, level.point, run)
    }

    /// Runs the steps from this one on; `point` says how far it was.
    fn steps<T: Tell>(
        &self,
        frame: &mut Frame,
        mut sizes: Sizes,
        first: usize,
        mut point: Option<Point>,
        run: Run<'_, T>,
    ) -> Result<Vec<Value>> {
        let mut run_steps = || {
            for (index, step) in self.steps.iter().enumerate().skip(first) {
                // From the first write of a state on, all are written: a run is not stopped half-way. Inside
                // a loop it is stopped between trips. A loop that is taken up makes a trip first, or else it
                // would be left without its place.
                let may_stop = run.depth == 0 && index <= self.first_write && point.is_none();
                let done = match may_stop {
                    true => run.pause.before_step(),
                    false => Ok(()),
                };
                let done = done
                    .and_then(|()| self.step(index, step, frame, &mut sizes, point.take(), run));
                if let Err(error) = done {
                    run.pause.leave(index, frame, self, &sizes)?;
                    return Err(error);
                }
            }
            if run.depth == 0
                && self.first_write < self.steps.len()
                && let Err(error) = run.pause.before_step()
            {
                run.pause.leave(self.steps.len(), frame, self, &sizes)?;
                return Err(error);
            }
            self.results.iter().map(|&id| out_of_arena(defined(&frame.values, id)?)).collect()
        };
        let done = run_steps();
        frame.values.fill(None);
        frame.in_state.fill(false);
        done
    }

    #[inline]
    fn step<T: Tell>(
        &self,
        index: usize,
        step: &PlanStep,
        frame: &mut Frame,
        sizes: &mut Sizes,
        point: Option<Point>,
        run: Run<'_, T>,
    ) -> Result<()> {
        let told = Step {
            op: &step.op,
            block: &self.block,
            index,
            depth: run.depth,
            first_output: step.first_output,
            types: &step.types,
            loc: step.loc,
            is_resumed: point.is_some(),
        };
        run.observer.tell(|observer| observer.reach(&told, &mut frame.live()))?;
        let parts = match run.observer.ask(|observer| observer.opens(&told)) {
            true => self.run_parts(step, &told, frame, sizes, run)?,
            false => None,
        };
        let mut known = None;
        run.observer.tell(|observer| {
            known = observer.answers(&told);
            Ok(())
        })?;
        let done = match &step.kind {
            _ if let Some(known) = known => Ok(known),
            Kind::Over(in_place) => {
                let keeps = parts.is_some() || run.observer.ask(|observer| observer.holds(&told));
                over::perform(step, in_place, &told, frame, keeps, run)
            }
            _ => self.perform(step, &told, frame, (sizes, point), run),
        };
        let mut outputs = match done {
            Ok(outputs) => outputs,
            Err(error) => {
                run.observer.tell(|observer| observer.failed(&told, &mut frame.live(), &error))?;
                return Err(error);
            }
        };
        if let Some(parts) = parts {
            let mut takes_parts = false;
            run.observer.tell(|observer| {
                takes_parts = observer.compare(&told, &parts, &outputs)?;
                Ok(())
            })?;
            if takes_parts {
                outputs = parts.into();
            }
        }
        run.observer.tell(|observer| observer.after(&told, &outputs))?;
        run.observer.tell(|observer| observer.ran(&told, &mut frame.live(), &mut outputs))?;
        if outputs.len() < step.types.len() {
            return Err(Error::internal(format!("`{}` lost an output", step.op.name())));
        }
        let first = step.first_output as usize;
        for ((slot, ty), output) in frame.values[first..].iter_mut().zip(&step.types).zip(outputs) {
            if self.is_open && ty.is_symbolic() {
                sizes.unify(ty, &output.ty()).map_err(|error| error.at(step.loc))?;
            }
            *slot = Some(output);
        }
        for &id in &step.frees {
            frame.values[id as usize] = None;
        }
        Ok(())
    }

    /// Runs a step that writes over nothing.
    #[inline]
    fn perform<T: Tell>(
        &self,
        step: &PlanStep,
        told: &Step<'_>,
        frame: &mut Frame,
        at: (&Sizes, Option<Point>),
        run: Run<'_, T>,
    ) -> Result<Values> {
        let mut inputs: SmallVec<[&Value; 8]> = SmallVec::new();
        for &id in &step.inputs {
            inputs.push(defined(&frame.values, id)?);
        }
        run.observer.tell(|observer| observer.before(told, &inputs))?;
        let memory = (&mut frame.arena, &frame.in_state[..]);
        perform(step, told, memory, &inputs, at, run)
    }

    /// Runs the calls that a step was made of, if that is known, and returns what they give.
    fn run_parts<T: Tell>(
        &self,
        step: &PlanStep,
        told: &Step<'_>,
        frame: &Frame,
        sizes: &Sizes,
        run: Run<'_, T>,
    ) -> Result<Option<Vec<Value>>> {
        let Some(call) = self.block.calls.get(told.index) else { return Ok(None) };
        let Some(twin) = &call.twin else { return Ok(None) };
        let body = match step.parts.get() {
            Some(body) => body,
            None => {
                let body = Body::new(twin, call)?;
                step.parts.get_or_init(|| body)
            }
        };
        let args: Result<Values> =
            step.inputs.iter().map(|&id| defined(&frame.values, id).cloned()).collect();
        let args = args?;
        let learnt = sizes.iter().filter(|(symbol, _)| self.known.get(*symbol).is_none());
        let outer: Sizes = self.known.iter().chain(learnt).collect();
        let sizes = match body.is_open() {
            true => body.sizes(&outer, args.iter().map(Value::ty))?,
            false => Sizes::default(),
        };
        let plan = body.plan(&sizes)?;
        run.observer.tell(|observer| {
            observer.enter(told, PARTS, &args.iter().collect::<SmallVec<[&Value; 8]>>())
        })?;
        let results = plan.run(args.into_iter(), &sizes, Run { depth: run.depth + 1, ..run })?;
        run.observer.tell(|observer| observer.leave(told, PARTS, &results))?;
        Ok(Some(results))
    }
}

impl Frame {
    fn live(&mut self) -> Live<'_> {
        Live { values: &mut self.values, in_state: &mut self.in_state }
    }
}

fn perform<T: Tell>(
    step: &PlanStep,
    told: &Step<'_>,
    (arena, in_state): (&mut Arena, &[bool]),
    inputs: &[&Value],
    (sizes, point): (&Sizes, Option<Point>),
    run: Run<'_, T>,
) -> Result<Values> {
    let explain = |error: Error| explain(error, step, inputs);
    match &step.kind {
        Kind::Over(_) => Err(Error::internal("ops that write over inputs run elsewhere")),
        Kind::Known if step.places.iter().all(Option::is_none) => {
            step.op.eval(inputs, &step.types).map_err(explain)
        }
        Kind::Known => {
            arena.place(&step.places, || step.op.eval(inputs, &step.types)).map_err(explain)
        }
        Kind::Waits => {
            let _line = scope::at(step.loc);
            step.op.eval(inputs, &step.types).map_err(explain)
        }
        Kind::Read(state) => {
            let value = run.state.read(state).map_err(|error| error.at(step.loc))?;
            Ok(smallvec![value.value()?.clone()])
        }
        Kind::Assign(state) => {
            let value = out_of_arena(inputs[0])?;
            run.observer.tell(|observer| observer.assign(state, &value, step.loc))?;
            if in_state[step.inputs[0] as usize] {
                return Ok(smallvec![]);
            }
            run.state.assign(state, value).map_err(|error| error.at(step.loc))?;
            Ok(smallvec![])
        }
        &Kind::Open { attributes } => {
            let op = match attributes {
                true => substitute_op(&step.op, &|symbol| sizes.get(symbol)).map_err(explain)?,
                false => step.op.clone(),
            };
            let types: SmallVec<[Type; 4]> = inputs.iter().map(|value| value.ty()).collect();
            let types: SmallVec<[&Type; 4]> = types.iter().collect();
            let outs = op.infer(&types).map_err(explain)?;
            op.eval(inputs, &outs).map_err(explain)
        }
        Kind::Blocks(bodies) => {
            let outs = step.types.iter().map(|ty| ty.substitute(&|symbol| sizes.get(symbol)));
            let outs: SmallVec<[Type; 4]> = outs.collect::<Result<_>>()?;
            let _line = step.op.is_of_tasks().then(|| scope::at(step.loc));
            let readers = run.readers + usize::from(step.op.reader().is_some());
            let inner = Run { depth: run.depth + 1, readers, ..run };
            let mut machine = Machine { bodies, told, outer: sizes, run: inner, point, used: None };
            let done = step.op.eval_blocks(inputs, &outs, &mut machine).map_err(explain);
            machine.give_back();
            done
        }
    }
}

/// Runs the blocks of an op by their plans.
struct Machine<'a, T> {
    bodies: &'a [Body],
    told: &'a Step<'a>,
    outer: &'a Sizes,
    run: Run<'a, T>,
    /// How far the op was, if it is taken up again and has not gone on yet.
    point: Option<Point>,
    /// The block that ran last, for which sizes and in which memory: a loop runs it many times.
    used: Option<(usize, Sizes, Arc<Plan>, Frame)>,
}

impl<T: Tell> Machine<'_, T> {
    fn give_back(&mut self) {
        if let Some((_, _, plan, frame)) = self.used.take() {
            plan.give_back(frame);
        }
    }

    /// Runs a block on arguments, or takes it up again.
    fn block(&mut self, block: usize, args: Result<Values, Level>) -> Result<Vec<Value>> {
        let Some(body) = self.bodies.get(block) else {
            return Err(Error::internal("an op ran a block that it does not have"));
        };
        let sizes = match &args {
            Ok(args) if body.is_open() => body.sizes(self.outer, args.iter().map(Value::ty))?,
            Ok(_) => Sizes::default(),
            Err(level) => level.known.clone(),
        };
        let fits =
            |(of, known, ..): &(usize, Sizes, Arc<Plan>, Frame)| *of == block && *known == sizes;
        if !self.used.as_ref().is_some_and(fits) {
            self.give_back();
            let plan = body.plan(&sizes)?;
            let frame = plan.frame()?;
            self.used = Some((block, sizes, plan, frame));
        }
        let Some((_, sizes, plan, frame)) = &mut self.used else {
            return Err(Error::internal("a block has no memory"));
        };
        match args {
            Ok(args) => plan.run_in(frame, args.into_iter(), sizes, self.run),
            Err(level) => plan.resume_in(frame, level, self.run),
        }
    }

    /// The arguments of a block, or where it was if it is taken up again.
    fn next(&mut self, args: Values) -> Result<Result<Values, Level>> {
        match self.point.take() {
            None => Ok(Ok(args)),
            Some(Point { args: Some(args), .. }) => Ok(Ok(args)),
            Some(Point { args: None, .. }) => match self.run.pause.next_level() {
                Some(level) => Ok(Err(level)),
                None => Err(Error::program("a suspended run has lost a block")),
            },
        }
    }

    fn tell_and_run(
        &mut self,
        block: usize,
        next: Result<Values, Level>,
        state: Option<&dyn Fn() -> Values>,
    ) -> Result<Vec<Value>> {
        self.run.observer.tell(|observer| {
            let args = next.as_ref().map_or(Vec::new(), |args| args.iter().collect());
            observer.enter(self.told, block, &args)
        })?;
        let results = self.block(block, next);
        if results.is_err() {
            self.run.pause.in_block(state);
        }
        let results = results?;
        self.run.observer.tell(|observer| observer.leave(self.told, block, &results))?;
        Ok(results)
    }
}

impl<T: Tell> Blocks for Machine<'_, T> {
    fn run(&mut self, block: usize, args: &[&Value]) -> Result<Vec<Value>> {
        let next = self.next(args.iter().map(|&value| value.clone()).collect())?;
        self.tell_and_run(block, next, None)
    }

    fn trip(&mut self, mut args: Values, state: &dyn Fn() -> Values) -> Result<Vec<Value>> {
        let is_resumed = self.point.is_some();
        if !is_resumed {
            self.run.pause.before_trip(self.told, self.run.readers, &mut args, state)?;
        }
        let next = self.next(args)?;
        self.tell_and_run(0, next, Some(state))
    }

    fn resumed(&mut self) -> Option<Values> {
        self.point.as_mut()?.state.take()
    }

    fn attempt(&mut self, block: usize, args: &[&Value]) -> (Result<Vec<Value>>, Told<Value>) {
        let done = self.run(block, args);
        let told = if done.is_err() { self.run.pause.told() } else { Vec::new() };
        (done, told)
    }

    fn caught(&mut self) {
        self.run.pause.forget();
    }

    fn each(&mut self, n: usize, work: Work<'_>) -> Result<()> {
        let Some(body) = self.bodies.first() else {
            return Err(Error::internal("an op ran a block that it does not have"));
        };
        let (outer, told, state, depth) = (self.outer, self.told, self.run.state, self.run.depth);
        if T::IS_NOBODY {
            // Which plan a trip follows depends on its sizes only, and plans have memory for several runs at once.
            let trip = |args: &[&Value]| {
                let sizes = body.sizes(outer, args.iter().map(|value| value.ty()))?;
                let pause = Pause::default();
                let run = Run { state, observer: Nobody, pause: &pause, depth, readers: 0 };
                body.plan(&sizes)?.run(args.iter().map(|&value| value.clone()), &sizes, run)
            };
            return tasks::trips::run(n, &|i| work(i, &mut |args| trip(args)));
        }
        // Whoever watches sees trip after trip. They are not suspended: what has run cannot be told from what has not.
        let observer = self.run.observer;
        for i in 0..n {
            interrupt::before_trip()?;
            work(i, &mut |args| {
                let sizes = body.sizes(outer, args.iter().map(|value| value.ty()))?;
                let pause = Pause::default();
                let run = Run { state, observer, pause: &pause, depth, readers: 0 };
                observer.tell(|observer| observer.enter(told, 0, args))?;
                let values = args.iter().map(|&value| value.clone());
                let results = body.plan(&sizes)?.run(values, &sizes, run)?;
                observer.tell(|observer| observer.leave(told, 0, &results))?;
                Ok(results)
            })?;
        }
        Ok(())
    }

    fn spawn(&mut self, args: Values, done: tasks::Done) -> Result<()> {
        if !T::IS_NOBODY {
            return Err(Error::argument(
                "a run that is watched starts a task, which nobody would see",
            )
            .remedy("run it without the debugger, the profiler and other observers"));
        }
        let Some(body) = self.bodies.first() else {
            return Err(Error::internal("an op ran a block that it does not have"));
        };
        let sizes = body.sizes(self.outer, args.iter().map(Value::ty))?;
        let (plan, state) = (body.plan(&sizes)?, self.run.state.clone());
        tasks::spawn(done, move || {
            let _scope = state.enter();
            let pause = Pause::default();
            let run = Run { state: &state, observer: Nobody, pause: &pause, depth: 0, readers: 0 };
            plan.run(args.into_iter(), &sizes, run)
        })
    }
}

/// Adds op, types and line to an error. What a loop carries has nothing to do with files that it cannot read.
pub(super) fn explain(error: Error, step: &PlanStep, inputs: &[&Value]) -> Error {
    let is_of_file = error.kind() == ErrorKind::File;
    let told = if is_of_file { &[] } else { inputs };
    let types: SmallVec<[Type; 4]> = told.iter().map(|value| value.ty()).collect();
    error.in_op(step.op.name(), &types.iter().collect::<SmallVec<[&Type; 4]>>()).at(step.loc)
}

pub(super) fn defined(values: &[Option<Value>], id: u32) -> Result<&Value> {
    values[id as usize]
        .as_ref()
        .ok_or_else(|| Error::internal(format!("value %{id} was freed before its last use")))
}

/// The value, copied if it lies in an arena, which it would keep as a whole.
pub(super) fn out_of_arena(value: &Value) -> Result<Value> {
    match value {
        Value::Tensor(tensor) if tensor.is_placed() => Ok(tensor.copy()?.into()),
        other => Ok(other.clone()),
    }
}
