//! Checkpoints of ranks that go on as another number of them.
//!
//! States that are cut into parts are put together and cut anew; what differs from rank to rank without being a part, such as
//! the last loss, comes from the rank whose place a rank takes. Readers go on behind what all ranks have read together.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use fluvial_core::structural::{Assign, Constant, Note, Read};
use fluvial_core::{Block, Call, Error, Program, Result, Tensor, Type, Value, ValueId, Values};
use fluvial_data::Position;

use super::Checkpoint;
use crate::plan::{Level, Point};

/// What a checkpoint for another number of ranks is made of.
pub struct OtherRanks<'a> {
    /// The checkpoints of all ranks, after the same step.
    pub all: &'a [Checkpoint],
    /// The compiled program that they ran.
    pub then: &'a Program,
    /// The same for one rank, which has whole states.
    pub alone: &'a Program,
    /// The same for as many as there are now.
    pub now: &'a Program,
    /// The rank that goes on.
    pub rank: usize,
    /// How many there are now.
    pub world: usize,
}

/// The three programs, at a block of them.
#[derive(Clone, Copy)]
struct Blocks<'a> {
    then: &'a Block,
    alone: &'a Block,
    now: &'a Block,
}

impl OtherRanks<'_> {
    /// The checkpoint with which a rank goes on, and how many batches of the pass come once more.
    pub fn checkpoint(&self) -> Result<(Checkpoint, u64)> {
        let Some(base) = self.all.get(self.rank % self.all.len().max(1)) else {
            return Err(Error::state("there are no checkpoints to go on from"));
        };
        if self.all.iter().any(|other| other.step != base.step) {
            return Err(Error::state("the checkpoints of the ranks are not of one step"));
        }
        if base.program != self.then.fingerprint_of_run() {
            return Err(Error::program("the checkpoints are of another program")
                .remedy("start again in another folder, or load their states by their names"));
        }
        let mut states = Vec::new();
        for (name, role, value) in &base.states {
            let declared = |program: &Program| program.states.get(name).map(|decl| decl.ty);
            let types = (declared(self.then), declared(self.alone), declared(self.now));
            let value = match types {
                (Some(then), Some(alone), Some(now)) if then != alone || alone != now => {
                    let of = |other: &Checkpoint| {
                        let found = other.states.iter().find(|(known, _, _)| known == name);
                        found.map(|(_, _, value)| value.clone())
                    };
                    self.cut(self.all.iter().map(of), &alone, &now)?
                }
                _ => value.clone(),
            };
            states.push((name.clone(), *role, value));
        }
        let (levels, again) = self.levels(base)?;
        let mut suspension = base.suspension.clone();
        suspension.levels = levels;
        let checkpoint = Checkpoint {
            step: base.step,
            run: base.run,
            program: self.now.fingerprint_of_run(),
            begun: base.begun.clone(),
            states,
            suspension,
        };
        Ok((checkpoint, again))
    }

    fn levels(&self, base: &Checkpoint) -> Result<(Vec<Level>, u64)> {
        let mut at = Blocks { then: &self.then.main, alone: &self.alone.main, now: &self.now.main };
        let mut again = 0;
        let mut levels = Vec::new();
        for (depth, level) in base.suspension.levels.iter().enumerate() {
            let alone = Matched::of(at.then, at.alone, level.step)?;
            let matched = Matched::of(at.then, at.now, level.step)?;
            let others = || self.all.iter().map(move |other| other.suspension.levels.get(depth));
            let mut new = level.clone();
            for (place, (id, value)) in new.values.iter_mut().enumerate() {
                let of = |level: Option<&Level>| Some(level?.values.get(place)?.1.clone());
                let types = (
                    at.then.types[*id as usize],
                    at.alone.types[alone.value(*id)? as usize],
                    at.now.types[matched.value(*id)? as usize],
                );
                *value = self.recut(value, Some(types), others().map(of))?;
                *id = matched.value(*id)?;
            }
            for id in &mut new.in_state {
                *id = matched.value(*id)?;
            }
            new.step = matched.step;
            let inner = at.within((level.step, alone.step, matched.step));
            if let Some(Point { args: Some(args), state }) = &mut new.point {
                let inner = inner.ok_or_else(differs)?;
                for (place, arg) in args.iter_mut().enumerate() {
                    let of = |level: Option<&Level>| {
                        let args = level?.point.as_ref()?.args.as_ref()?;
                        args.get(place).cloned()
                    };
                    *arg = self.recut(arg, inner.types(place), others().map(of))?;
                }
                let reader = step_of(at.now, matched.step).and_then(|call| call.op.reader());
                if let (Some(reader), Some(state)) = (reader, state) {
                    again += self.reread(reader, state, args)?;
                }
            }
            levels.push(new);
            if depth + 1 < base.suspension.levels.len() {
                at = inner.ok_or_else(differs)?;
            }
        }
        Ok((levels, again))
    }

    /// A value for this rank, of those of all ranks, if it is a part.
    fn recut(
        &self,
        own: &Value,
        types: Option<(Type, Type, Type)>,
        all: impl Iterator<Item = Option<Value>>,
    ) -> Result<Value> {
        match types {
            Some((then, alone, now)) if then != alone || alone != now => {
                self.cut(all, &alone, &now)
            }
            Some(_) => Ok(own.clone()),
            None => Err(differs()),
        }
    }

    /// The part of this rank, of the parts of all.
    fn cut(
        &self,
        all: impl Iterator<Item = Option<Value>>,
        whole: &Type,
        own: &Type,
    ) -> Result<Value> {
        let (Some(numel), Some(length)) = (whole.numel(), own.numel()) else {
            return Err(differs());
        };
        let mut bytes = Vec::new();
        for value in all {
            let value = value.ok_or_else(differs)?;
            let tensor = value.tensor()?.contiguous()?;
            bytes.extend_from_slice(tensor.as_bytes().unwrap_or(&[]));
        }
        let size = own.dtype().size();
        bytes.truncate(numel * size);
        let mut part = Tensor::zeros(own.dtype(), &[length])?;
        let from = bytes.get(self.rank * length * size..).unwrap_or(&[]);
        let n = from.len().min(length * size);
        part.as_bytes_mut()?[..n].copy_from_slice(&from[..n]);
        Ok(part.into())
    }

    /// Moves a reader of which each rank reads a part, and reads the batch of the trip that was about to begin. Gives how
    /// many batches come once more, because what was read cannot be divided by the number of ranks.
    fn reread(&self, reader: &str, state: &mut Values, args: &mut Values) -> Result<u64> {
        let reader: fluvial_data::Reader = reader.parse()?;
        if !reader.is_sharded() {
            return Ok(0);
        }
        let [position, end, _, last] = &mut state[..] else { return Err(differs()) };
        let [epoch, index] = last.tensor()?.to_vec::<i64>()?[..] else { return Err(differs()) };
        let end = end.tensor()?.item::<i64>()?;
        let read = index as u64 * self.all.len() as u64;
        let index = read / self.world as u64;
        let mut place = Position { epoch: epoch as u64, index };
        let mut cursor = reader.open()?.start(place)?;
        let mut batch = cursor.next()?;
        if batch.is_none() && epoch + 1 < end {
            place = Position { epoch: epoch as u64 + 1, index: 0 };
            cursor = reader.open()?.start(place)?;
            batch = cursor.next()?;
        }
        let Some(batch) = batch else {
            return Err(Error::state(format!(
                "for {} ranks nothing is left to be read in the last pass",
                self.world
            ))
            .remedy("go on with as many ranks as before"));
        };
        args.iter_mut().zip(batch).for_each(|(arg, tensor)| *arg = tensor.into());
        let as_value = |Position { epoch, index }: Position| -> Result<Value> {
            Ok(Tensor::from_slice(&[epoch as i64, index as i64], &[2])?.into())
        };
        *position = as_value(cursor.position())?;
        *last = as_value(place)?;
        Ok(if place.index == index { read % self.world as u64 } else { 0 })
    }
}

impl<'a> Blocks<'a> {
    /// The blocks of the calls of these steps, if they have one.
    fn within(&self, (then, alone, now): (usize, usize, usize)) -> Option<Blocks<'a>> {
        Some(Blocks {
            then: only_block(step_of(self.then, then)?)?,
            alone: only_block(step_of(self.alone, alone)?)?,
            now: only_block(step_of(self.now, now)?)?,
        })
    }

    /// The types of a parameter in the three.
    fn types(&self, id: usize) -> Option<(Type, Type, Type)> {
        Some((*self.then.types.get(id)?, *self.alone.types.get(id)?, *self.now.types.get(id)?))
    }
}

/// Two blocks that are the same but for sizes and the order of calls.
struct Matched {
    /// By value of the one: that of the other.
    values: HashMap<ValueId, ValueId>,
    /// The step of the other.
    step: usize,
}

impl Matched {
    /// An error if they differ otherwise, or if other calls stand before the step.
    fn of(one: &Block, other: &Block, step: usize) -> Result<Matched> {
        let (keys, known) = (keys(one), keys(other));
        let places: HashMap<u64, usize> = known.iter().copied().zip(0..).collect();
        let mut values: HashMap<ValueId, ValueId> =
            (0..one.n_params as ValueId).map(|id| (id, id)).collect();
        if keys.len() != known.len() || one.n_params != other.n_params {
            return Err(differs());
        }
        let mut steps = Vec::new();
        for (call, key) in one.calls.iter().zip(&keys) {
            let place = *places.get(key).ok_or_else(differs)?;
            values.extend(call.outputs().zip(other.calls[place].outputs()));
            if !is_note(call) {
                steps.push(place);
            }
        }
        let place = *steps.get(step).ok_or_else(differs)?;
        if steps[..step].iter().any(|before| *before > place) {
            return Err(differs());
        }
        let step_there = other.calls[..place].iter().filter(|call| !is_note(call)).count();
        match step_there == step {
            true => Ok(Matched { values, step: step_there }),
            false => Err(differs()),
        }
    }

    fn value(&self, id: ValueId) -> Result<ValueId> {
        self.values.get(&id).copied().ok_or_else(differs)
    }
}

/// By call: a number that tells what it computes, whatever the sizes.
fn keys(block: &Block) -> Vec<u64> {
    let mut of_values: Vec<u64> = (0..block.types.len() as u64).collect();
    let mut seen: HashMap<u64, u64> = HashMap::new();
    let mut keys = Vec::new();
    for call in &block.calls {
        let mut hasher = DefaultHasher::new();
        call.op.name().hash(&mut hasher);
        let state = call.op.downcast::<Read>().map(|op| &op.state);
        state.or(call.op.downcast::<Assign>().map(|op| &op.state)).hash(&mut hasher);
        call.op.reader().hash(&mut hasher);
        if let Some(constant) = call.op.downcast::<Constant>() {
            constant.value.as_bytes().hash(&mut hasher);
        }
        call.n_outputs.hash(&mut hasher);
        for &id in &call.inputs {
            of_values[id as usize].hash(&mut hasher);
        }
        let count = seen.entry(hasher.finish()).or_default();
        *count += 1;
        count.hash(&mut hasher);
        let key = hasher.finish();
        for id in call.outputs() {
            (key, id - call.first_output).hash(&mut hasher);
            of_values[id as usize] = hasher.finish();
        }
        keys.push(key);
    }
    keys
}

/// The call of a step: notes are none.
fn step_of(block: &Block, step: usize) -> Option<&Call> {
    block.calls.iter().filter(|call| !is_note(call)).nth(step)
}

fn is_note(call: &Call) -> bool {
    call.op.downcast::<Note>().is_some()
}

fn only_block(call: &Call) -> Option<&Block> {
    match call.op.blocks()[..] {
        [block] => Some(block),
        _ => None,
    }
}

fn differs() -> Error {
    Error::state("the run was saved where the programs of the two numbers of ranks differ")
        .remedy("go on with as many ranks as before")
}
