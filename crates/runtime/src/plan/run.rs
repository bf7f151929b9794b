//! Running a plan.

use std::sync::PoisonError;

use fluvial_core::{Error, Result, Sizes, State, Type, Value, Values, interrupt, substitute_op};
use fluvial_tensor::memory::Arena;
use smallvec::{SmallVec, smallvec};

use super::{Frame, Kind, MAX_FRAMES, Plan, PlanStep, over};
use crate::observe::{Step, Tell};

/// What the steps of a run share.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a, T> {
    pub state: &'a State,
    pub observer: T,
    pub depth: usize,
}

impl Plan {
    /// Runs the block on arguments. `outer` are the sizes that the run has learnt around it.
    pub(crate) fn run<T: Tell>(
        &self,
        args: impl ExactSizeIterator<Item = Value>,
        outer: &Sizes,
        run: Run<'_, T>,
    ) -> Result<Vec<Value>> {
        let mut frame = self.frame()?;
        let done = self.run_in(&mut frame, args, outer, run);
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
        let mut run_steps = || {
            for (index, step) in self.steps.iter().enumerate() {
                // From the first write of a state on, all are written: a run is not stopped half-way.
                if index <= self.first_write {
                    interrupt::check()?;
                }
                self.step(index, step, frame, &mut sizes, run)?;
            }
            if self.first_write < self.steps.len() {
                interrupt::check()?;
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
        run: Run<'_, T>,
    ) -> Result<()> {
        let told = Step {
            op: &step.op,
            index,
            depth: run.depth,
            first_output: step.first_output,
            types: &step.types,
            loc: step.loc,
        };
        let outputs = if let Kind::Over(in_place) = &step.kind {
            over::perform(step, in_place, &told, frame, run)?
        } else {
            let mut inputs: SmallVec<[&Value; 8]> = SmallVec::new();
            for &id in &step.inputs {
                inputs.push(defined(&frame.values, id)?);
            }
            run.observer.tell(|observer| observer.before(&told, &inputs))?;
            let memory = (&mut frame.arena, &frame.in_state[..]);
            perform(step, &told, memory, &inputs, sizes, run)?
        };
        run.observer.tell(|observer| observer.after(&told, &outputs))?;
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
}

fn perform<T: Tell>(
    step: &PlanStep,
    told: &Step<'_>,
    (arena, in_state): (&mut Arena, &[bool]),
    inputs: &[&Value],
    sizes: &Sizes,
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
        Kind::Blocks(plans) => {
            let outs = step.types.iter().map(|ty| ty.substitute(&|symbol| sizes.get(symbol)));
            let outs: SmallVec<[Type; 4]> = outs.collect::<Result<_>>()?;
            let inner = Run { depth: run.depth + 1, ..run };
            // A loop runs its block many times in the same memory.
            let mut frames: SmallVec<[Option<Frame>; 2]> = plans.iter().map(|_| None).collect();
            let mut run_block = |block: usize, args: &[&Value]| {
                run.observer.tell(|observer| observer.enter(told, block, args))?;
                let (Some(plan), Some(frame)) = (plans.get(block), frames.get_mut(block)) else {
                    return Err(Error::internal("an op ran a block that it does not have"));
                };
                let frame = match frame {
                    Some(frame) => frame,
                    None => frame.insert(plan.frame()?),
                };
                let args = args.iter().map(|&arg| arg.clone());
                let results = plan.run_in(frame, args, sizes, inner)?;
                run.observer.tell(|observer| observer.leave(told, block, &results))?;
                Ok(results)
            };
            let done = step.op.eval_blocks(inputs, &outs, &mut run_block).map_err(explain);
            for (plan, frame) in plans.iter().zip(frames) {
                frame.into_iter().for_each(|frame| plan.give_back(frame));
            }
            done
        }
    }
}

/// Adds op, types and line to an error.
pub(super) fn explain(error: Error, step: &PlanStep, inputs: &[&Value]) -> Error {
    let types: SmallVec<[Type; 4]> = inputs.iter().map(|value| value.ty()).collect();
    error.in_op(step.op.name(), &types.iter().collect::<SmallVec<[&Type; 4]>>()).at(step.loc)
}

pub(super) fn defined(values: &[Option<Value>], id: u32) -> Result<&Value> {
    values[id as usize]
        .as_ref()
        .ok_or_else(|| Error::internal(format!("value %{id} was freed before its last use")))
}

/// The value, copied if it lies in an arena, which it would keep as a whole.
fn out_of_arena(value: &Value) -> Result<Value> {
    match value {
        Value::Tensor(tensor) if tensor.is_placed() => Ok(tensor.copy()?.into()),
        other => Ok(other.clone()),
    }
}
