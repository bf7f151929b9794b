//! The program with states that are cut into parts.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use fluvial_core::structural::{Assign, Read};
use fluvial_core::{
    Block, Call, DType, Error, OpRef, Phase, Program, Result, Rewrite, Type, ValueId, map_blocks,
};
use fluvial_ops::ranks::{AllReduce, CollectParts, GatherParts, OwnPart, ReduceParts, ServeParts};
use smallvec::SmallVec;

use super::facts::Plan;
use super::forms::{CutStates, Form, Forms, can_be_cut, cut_state, exchange, forms_of, is_by_part};

/// How values are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// How many parts.
    pub parts: usize,
    /// Which rank has the first one.
    pub first: usize,
    /// Values are put together until they have so many bytes.
    pub bucket: usize,
}

impl Cut {
    /// The type of a part.
    pub fn part(self, whole: &Type) -> Result<Type> {
        Type::of(whole.dtype(), &[whole.numel().unwrap_or(0).div_ceil(self.parts)])
    }

    /// Reads a part of a state.
    fn read(self, read: &Read) -> Result<Read> {
        Ok(Read { ty: self.part(&read.ty)?, state: read.state.clone() })
    }

    fn own(self) -> OwnPart {
        OwnPart { parts: self.parts, first: self.first }
    }

    fn gather(self, wholes: impl Iterator<Item = Type>) -> Result<GatherParts> {
        let sizes = |ty: Type| {
            let sizes = ty.sizes().ok_or_else(|| Error::internal("what is cut has known sizes"))?;
            Ok(sizes.to_vec())
        };
        let dims = wholes.map(sizes).collect::<Result<_>>()?;
        Ok(GatherParts { parts: self.parts, first: self.first, dims })
    }
}

/// The program, of which these states are cut. Its plan says which blocks all ranks run alike.
pub(super) fn with_parts(
    program: &Program,
    plan: &Plan,
    states: &CutStates,
    cut: Cut,
) -> Result<Program> {
    let mut declared = program.states.clone();
    for (name, decl) in declared.iter_mut().filter(|(name, _)| states.contains(&**name)) {
        decl.ty = cut.part(&decl.ty)?;
        let held = decl.cell.as_ref().and_then(|cell| cell.declaration());
        if held.is_some_and(|held| held.ty != decl.ty) {
            return Err(Error::state(format!("`{name}` has a value already, which would be lost"))
                .remedy("spread the program before its first step, or save it with its states and run it from its file"));
        }
    }
    let params = vec![Form::Whole; program.main.n_params];
    let results = vec![Form::Whole; program.main.results.len()];
    let forms = forms_of(&program.main, &params, &results, plan, states);
    let main = rewritten(&program.main, &forms, states, cut)?;
    let startup = startup(&program.startup, states, cut)?;
    Ok(Program { states: declared, main, startup, ..program.clone() })
}

/// Initial values are cut; what reads one gets the whole.
fn startup(startup: &Block, states: &CutStates, cut: Cut) -> Result<Block> {
    startup.rewrite(|on, _, call| {
        if cut_state(call, states).is_none() {
            return Ok(None);
        }
        if call.op.downcast::<Assign>().is_some() {
            let part = on.call1(cut.own(), &call.inputs[..1])?;
            return Ok(Some(on.push(call.op.clone(), &[part], &[], call.loc)));
        }
        let Some(read) = call.op.downcast::<Read>() else { return Ok(None) };
        let part = on.call(cut.read(read)?, &[])?;
        on.call(cut.gather(std::iter::once(read.ty))?, &part).map(Some)
    })
}

/// The block as its forms say.
pub(super) fn rewritten(
    block: &Block,
    forms: &Forms,
    states: &CutStates,
    cut: Cut,
) -> Result<Block> {
    let types = block.param_types().iter().zip(&forms.of).map(|(ty, form)| match form {
        Form::Part => cut.part(ty),
        _ => Ok(*ty),
    });
    let types = types.collect::<Result<Vec<Type>>>()?;
    let mut work = Work {
        block,
        forms,
        states,
        cut,
        on: Rewrite::new(&types),
        wholes: HashMap::new(),
        parts: BTreeMap::new(),
        made_in: HashMap::new(),
    };
    for id in 0..block.n_params as ValueId {
        work.define(id, id, forms.of[id as usize], None);
    }
    block.calls.iter().enumerate().try_for_each(|(index, call)| work.call(index, call))?;
    work.finish()
}

struct Work<'a> {
    block: &'a Block,
    forms: &'a Forms,
    states: &'a CutStates,
    cut: Cut,
    on: Rewrite,
    /// By old value: the whole one, and in which phase it was put together, if it was.
    wholes: HashMap<ValueId, (ValueId, Option<Phase>)>,
    /// By old value: the part.
    parts: BTreeMap<ValueId, ValueId>,
    /// By old value that is there as a part: the phase of the call that makes it, if that computes.
    made_in: HashMap<ValueId, Phase>,
}

impl Work<'_> {
    fn define(&mut self, old: ValueId, new: ValueId, form: Form, phase: Option<Phase>) {
        match form {
            Form::Part => {
                self.parts.insert(old, new);
                self.made_in.extend(phase.map(|phase| (old, phase)));
            }
            _ => {
                self.wholes.insert(old, (new, None));
            }
        }
    }

    fn ty(&self, id: ValueId) -> Type {
        self.block.types[id as usize]
    }

    fn call(&mut self, index: usize, call: &Call) -> Result<()> {
        self.on.set_loc(call.loc);
        if let Some(inner) = self.forms.inner.get(&index) {
            return self.with_blocks(call, inner);
        }
        if cut_state(call, self.states).is_some() {
            return self.state(call);
        }
        if let Some(op) = exchange(self.block, call) {
            return self.exchange(call, op);
        }
        if let Some(op) = call.op.downcast::<CollectParts>() {
            return self.made(call, CollectParts { cut: true, ..op.clone() }.into());
        }
        if call.op.downcast::<ServeParts>().is_some() {
            return self.part_call(call);
        }
        if !is_by_part(self.block, call) {
            return self.whole_call(call);
        }
        let forms = call.outputs().map(|id| self.forms.of[id as usize]);
        match forms.max().unwrap_or(Form::Whole) {
            Form::Whole => self.whole_call(call),
            Form::Part => self.part_call(call),
            Form::Either => {
                let needs: Vec<_> =
                    call.outputs().map(|id| self.forms.needs[id as usize]).collect();
                if needs.iter().any(|need| need.part) {
                    self.part_call(call)?;
                }
                match needs.iter().any(|need| need.whole || !need.part) {
                    true => self.whole_call(call),
                    false => Ok(()),
                }
            }
        }
    }

    fn whole_call(&mut self, call: &Call) -> Result<()> {
        let phase = call.loc.phase();
        let mut inputs: SmallVec<[ValueId; 8]> = SmallVec::new();
        for &id in &call.inputs {
            inputs.push(self.whole(id, phase)?);
        }
        self.on.set_loc(call.loc);
        let outputs = self.on.push_like(call, &inputs, self.block.output_types(call));
        call.outputs().zip(outputs).for_each(|(old, new)| self.define(old, new, Form::Whole, None));
        Ok(())
    }

    fn part_call(&mut self, call: &Call) -> Result<()> {
        self.made(call, call.op.clone())
    }

    /// An op that takes and gives parts, and numbers.
    fn made(&mut self, call: &Call, op: OpRef) -> Result<()> {
        let phase = call.loc.phase();
        let mut inputs: SmallVec<[ValueId; 8]> = SmallVec::new();
        for &id in &call.inputs {
            inputs.push(match can_be_cut(&self.ty(id)) {
                true => self.part(id)?,
                false => self.whole(id, phase)?,
            });
        }
        self.on.set_loc(call.loc);
        let outputs = self.on.call(op, &inputs)?;
        for (old, new) in call.outputs().zip(outputs) {
            let form = if can_be_cut(&self.ty(old)) { Form::Part } else { Form::Whole };
            self.define(old, new, form, Some(phase));
        }
        Ok(())
    }

    /// Reads, assigns or notes a state that is cut.
    fn state(&mut self, call: &Call) -> Result<()> {
        let mut inputs: SmallVec<[ValueId; 1]> = SmallVec::new();
        for &id in &call.inputs {
            inputs.push(self.part(id)?);
        }
        let op = match call.op.downcast::<Read>() {
            Some(read) => self.cut.read(read)?.into(),
            None => call.op.clone(),
        };
        let outputs = self.on.call(op, &inputs)?;
        call.outputs().zip(outputs).for_each(|(old, new)| self.define(old, new, Form::Part, None));
        Ok(())
    }

    /// An exchange gives whole values, or parts where nothing else is needed.
    fn exchange(&mut self, call: &Call, op: &AllReduce) -> Result<()> {
        let is_cut = |id: ValueId| {
            let need = self.forms.needs[id as usize];
            can_be_cut(&self.ty(id)) && need.part && !need.whole
        };
        let (cut, whole): (Vec<_>, Vec<_>) =
            call.inputs.iter().copied().zip(call.outputs()).partition(|&(_, out)| is_cut(out));
        let parts = self.cut.parts;
        for (pairs, form) in [(whole, Form::Whole), (cut, Form::Part)] {
            if pairs.is_empty() {
                continue;
            }
            let mut inputs = Vec::new();
            for &(id, _) in &pairs {
                inputs.push(self.whole(id, call.loc.phase())?);
            }
            self.on.set_loc(call.loc);
            let outputs = match form {
                Form::Whole => self.on.call(op.clone(), &inputs)?,
                _ => self.on.call(ReduceParts { how: op.how, parts }, &inputs)?,
            };
            pairs.iter().zip(outputs).for_each(|(&(_, old), new)| {
                self.define(old, new, form, None);
            });
        }
        Ok(())
    }

    fn with_blocks(&mut self, call: &Call, inner: &[Forms]) -> Result<()> {
        let phase = call.loc.phase();
        let blocks = call.op.blocks();
        let n_params = blocks.first().map_or(0, |block| block.n_params);
        let n_captured = n_params.min(call.inputs.len());
        let first = call.inputs.len() - n_captured;
        let carries = call.op.carries();
        let form = |place: usize| match carries {
            Some(carries) if place < carries.inputs => Form::Whole,
            Some(carries) => inner[0].of[carries.params + place - carries.inputs],
            None if place < first => Form::Whole,
            None => inner[0].of[place - first],
        };
        let mut inputs: SmallVec<[ValueId; 8]> = SmallVec::new();
        for (place, &id) in call.inputs.iter().enumerate() {
            inputs.push(match form(place) {
                Form::Part => self.part(id)?,
                _ => self.whole(id, phase)?,
            });
        }
        let op: OpRef = map_blocks(&call.op, &mut |found| {
            let place = blocks.iter().position(|known| std::ptr::eq(&***known, found));
            match place.and_then(|place| inner.get(place)) {
                Some(forms) => rewritten(found, forms, self.states, self.cut).map(Arc::new),
                None => Ok(Arc::new(found.clone())),
            }
        })?;
        let mut types = Vec::new();
        for id in call.outputs() {
            types.push(match self.forms.of[id as usize] {
                Form::Part => self.cut.part(&self.ty(id))?,
                _ => self.ty(id),
            });
        }
        let outputs = self.on.push(op, &inputs, &types, call.loc);
        for (old, new) in call.outputs().zip(outputs) {
            self.define(old, new, self.forms.of[old as usize], Some(phase));
        }
        Ok(())
    }

    /// The part of a value.
    fn part(&mut self, id: ValueId) -> Result<ValueId> {
        if let Some(&part) = self.parts.get(&id) {
            return Ok(part);
        }
        let (whole, _) = self.wholes[&id];
        let part = self.on.call1(self.cut.own(), &[whole])?;
        self.parts.insert(id, part);
        Ok(part)
    }

    /// All of a value. What optimizers make is put together in buckets; what is read, by itself and again for the
    /// backward pass, so that it lives no longer than it is used.
    fn whole(&mut self, id: ValueId, phase: Phase) -> Result<ValueId> {
        let is_made = self.made_in.contains_key(&id);
        match self.wholes.get(&id) {
            Some(&(whole, None)) => return Ok(whole),
            Some(&(whole, Some(then))) if is_made || then == phase || phase != Phase::Backward => {
                return Ok(whole);
            }
            _ => {}
        }
        let bucket = if is_made { self.bucket(id) } else { vec![id] };
        let parts: Vec<ValueId> = bucket.iter().map(|id| self.parts[id]).collect();
        let gather = self.cut.gather(bucket.iter().map(|&id| self.ty(id)))?;
        let wholes = self.on.call(gather, &parts)?;
        for (&old, new) in bucket.iter().zip(wholes) {
            self.wholes.insert(old, (new, Some(phase)));
        }
        Ok(self.wholes[&id].0)
    }

    /// A value that is wanted whole, and others that will be.
    fn bucket(&self, id: ValueId) -> Vec<ValueId> {
        let dtype: DType = self.ty(id).dtype();
        let mut bytes = 0;
        let waits = |&(&other, _): &(&ValueId, &Phase)| {
            other == id
                || (self.forms.needs[other as usize].whole
                    && !self.wholes.contains_key(&other)
                    && self.ty(other).dtype() == dtype)
        };
        let mut others: Vec<ValueId> =
            self.made_in.iter().filter(waits).map(|(&id, _)| id).collect();
        others.sort_unstable();
        let from = others.iter().position(|&other| other == id).unwrap_or(0);
        let fits = |other: &ValueId| {
            let before = bytes;
            bytes += self.ty(*other).numel().unwrap_or(0) * dtype.size();
            before == 0 || bytes <= self.cut.bucket
        };
        others[from..].iter().chain(&others[..from]).copied().take_while(fits).collect()
    }

    fn finish(mut self) -> Result<Block> {
        let mut results = Vec::new();
        for (&id, &form) in self.block.results.iter().zip(&self.forms.results) {
            results.push(match form {
                Form::Part => self.part(id)?,
                _ => self.whole(id, Phase::Forward)?,
            });
        }
        for (id, name) in &self.block.names {
            let new = self.wholes.get(id).map(|(new, _)| *new);
            if let Some(new) = new.or_else(|| self.parts.get(id).copied()) {
                self.on.name(new, name);
            }
        }
        Ok(self.on.finish(results))
    }
}
