//! What states have been assigned in a nested block, for runs that fail in it.

use std::borrow::Cow;
use std::sync::Arc;

use fluvial_core::structural::Note;
use fluvial_core::{Block, Result, Value, ValueId};
use smallvec::SmallVec;

use super::run::out_of_arena;

/// The notes of a block. They are not steps of its plan: only a run that fails looks at them.
#[derive(Default)]
pub(super) struct Notes(Vec<Noted>);

struct Noted {
    state: Arc<str>,
    value: ValueId,
    /// The first step behind it.
    from: usize,
    /// The last step that may fail while the state has this value; the value is there until then.
    until: Option<usize>,
}

impl Notes {
    /// The block without its notes, and these.
    pub fn taken_from(block: Cow<'_, Block>) -> (Cow<'_, Block>, Notes) {
        let is_note = |call: &fluvial_core::Call| call.op.downcast::<Note>().is_some();
        if !block.calls.iter().any(is_note) {
            return (block, Notes::default());
        }
        let mut notes: Vec<Noted> = Vec::new();
        let mut calls = Vec::with_capacity(block.calls.len());
        // By state: the note that counts.
        let mut current: Vec<usize> = Vec::new();
        for (call, &failing) in block.calls.iter().zip(block.failing_calls()) {
            if let Some(note) = call.op.downcast::<Note>() {
                current.retain(|&i| notes[i].state != note.state);
                current.push(notes.len());
                let (state, value) = (note.state.clone(), call.inputs[0]);
                notes.push(Noted { state, value, from: calls.len(), until: None });
                continue;
            }
            if failing {
                current.iter().for_each(|&i| notes[i].until = Some(calls.len()));
            }
            calls.push(call.clone());
        }
        notes.retain(|note| note.until.is_some());
        let mut rest = block.with_results(block.results.clone());
        rest.calls = calls;
        (Cow::Owned(rest), Notes(notes))
    }

    /// The values that must be there until this step has run.
    pub fn held_until(&self, step: usize) -> impl Iterator<Item = ValueId> {
        self.0.iter().filter(move |note| note.until == Some(step)).map(|note| note.value)
    }

    /// By step: the values that nothing needs any more.
    pub fn last_uses(&self, block: &Block) -> Vec<SmallVec<[ValueId; 2]>> {
        let mut last_uses = block.last_uses_by_call().to_vec();
        for note in &self.0 {
            let Some(until) = note.until else { continue };
            let dies = last_uses.iter().position(|ids| ids.contains(&note.value));
            // A parameter that nothing uses is there to the end.
            if let Some(step) = dies.filter(|&step| step < until) {
                last_uses[step].retain(|id| *id != note.value);
                last_uses[until].push(note.value);
            }
        }
        last_uses
    }

    /// The values of states at a step that has failed.
    pub fn at(&self, step: usize, values: &[Option<Value>]) -> Result<Vec<(Arc<str>, Value)>> {
        let is_current = |note: &&Noted| note.from <= step && note.until >= Some(step);
        let found = self.0.iter().filter(is_current).filter_map(|note| {
            let value = values.get(note.value as usize)?.as_ref()?;
            Some(out_of_arena(value).map(|value| (note.state.clone(), value)))
        });
        found.collect()
    }
}
