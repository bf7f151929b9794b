//! How much memory a run will hold, before it runs.

use std::collections::HashMap;
use std::sync::Arc;

use fluvial_core::{Type, ValueId};
use fluvial_tensor::memory::held_bytes;
use smallvec::SmallVec;

use super::workspace::{Chain, workspace};
use super::{Kind, Plan, PlanStep};

/// The memory of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// The most bytes that the run holds at once beyond those that were held before it. Arenas are counted with it,
    /// though they are kept for further runs.
    pub bytes: usize,
    /// Whether it may be more: sizes are not known, or lists grow.
    pub is_open: bool,
}

/// What a run of a block needs.
#[derive(Clone, Copy, Default)]
pub(super) struct Needs {
    /// The bytes of its arena and of those of the blocks in it. They are kept.
    pub arenas: usize,
    /// The most bytes of other values at once.
    pub most: usize,
    /// Whether there may be more.
    pub is_open: bool,
}

/// The bytes of values beyond an arena, as the steps go by.
#[derive(Default)]
struct Held {
    /// By value: whose memory it shows.
    owner: HashMap<ValueId, ValueId>,
    /// By owner: its bytes, and how many hold it.
    of_owner: HashMap<ValueId, (i64, usize)>,
    /// By view: of what it is one.
    chains: HashMap<ValueId, Chain>,
    /// By state: the value that it has.
    states: HashMap<Arc<str>, ValueId>,
    now: i64,
    most: i64,
}

impl Held {
    /// A value with memory of its own, which `holders` hold.
    fn own(&mut self, id: ValueId, bytes: i64, holders: usize) {
        self.owner.insert(id, id);
        self.of_owner.insert(id, (bytes, holders));
    }

    fn share(&mut self, id: ValueId, of: ValueId) {
        let owner = self.owner.get(&of).copied().unwrap_or(of);
        self.owner.insert(id, owner);
        if let Some((_, holders)) = self.of_owner.get_mut(&owner) {
            *holders += 1;
        }
    }

    /// One who holds a value lets go of it.
    fn free(&mut self, id: ValueId) {
        let Some(owner) = self.owner.get(&id).copied() else { return };
        let Some((bytes, holders)) = self.of_owner.get_mut(&owner) else { return };
        *holders = holders.saturating_sub(1);
        if *holders == 0 {
            self.now -= *bytes;
            self.of_owner.remove(&owner);
        }
    }

    fn note(&mut self, more: i64) {
        self.most = self.most.max(self.now + more);
    }
}

impl Plan {
    /// The memory of a run on inputs that the caller keeps.
    pub fn peak(&self) -> Peak {
        let Needs { arenas, most, is_open } = self.held(&[]);
        Peak { bytes: arenas + most, is_open }
    }

    /// What a run needs. Parameters that are `given` away go when nothing needs them.
    pub(super) fn held(&self, given: &[bool]) -> Needs {
        let mut held = Held::default();
        let mut arenas = self.arena_bytes().next_multiple_of(64);
        // Blocks of ops say themselves what is open in them.
        let mut is_open = self.types.iter().any(Type::is_symbolic);
        for (i, ty) in self.types.iter().enumerate().take(self.n_params) {
            let is_given = given.get(i).copied().unwrap_or(false);
            held.own(i as ValueId, bytes(ty), if is_given { 1 } else { 2 });
        }
        for step in &self.steps {
            is_open |= matches!(step.kind, Kind::Open { .. });
            is_open |= step.types.iter().any(Type::is_list) || step.op.is_parallel();
            if let Kind::Blocks(bodies) = &step.kind {
                let mut during = 0;
                for body in bodies {
                    let inner = body.held();
                    arenas += inner.arenas;
                    during = during.max(inner.most);
                    is_open |= inner.is_open;
                }
                // From the second trip on a loop carries values of its own beside those that it was given.
                let carried = step.op.carries().map_or(0, |carries| {
                    step.types[carries.outputs..][..carries.count].iter().map(bytes).sum()
                });
                held.note(during as i64 + carried);
            }
            self.outputs(step, &mut held);
            let inputs: SmallVec<[&Type; 8]> =
                step.inputs.iter().map(|&id| &self.types[id as usize]).collect();
            let beyond = match &step.kind {
                Kind::Known => workspace(&step.op, &inputs, &step.types),
                _ => 0,
            };
            held.note(beyond as i64);
            step.frees.iter().for_each(|&id| held.free(id));
        }
        Needs { arenas, most: held.most.max(0) as usize, is_open }
    }

    /// The bytes of the first parameters.
    pub(super) fn bytes_of_params(&self, count: usize) -> usize {
        self.types.iter().take(self.n_params.min(count)).map(|ty| bytes(ty).max(0) as usize).sum()
    }

    /// Enters what a step makes.
    fn outputs(&self, step: &PlanStep, held: &mut Held) {
        match &step.kind {
            Kind::Read(state) => {
                let id = step.first_output;
                match held.states.get(state).copied() {
                    Some(known) => held.share(id, known),
                    None => {
                        // The state holds it, and so does the value.
                        held.own(id, bytes(&step.types[0]), 2);
                        held.states.insert(state.clone(), id);
                    }
                }
                return;
            }
            Kind::Assign(state) => {
                let value = step.inputs[0];
                let before = held.states.insert(state.clone(), value);
                let same = before.is_some_and(|before| {
                    held.owner.get(&before).copied() == held.owner.get(&value).copied()
                });
                if !same {
                    if let Some(owner) = held.owner.get(&value).copied()
                        && let Some((_, holders)) = held.of_owner.get_mut(&owner)
                    {
                        *holders += 1;
                    }
                    if let Some(before) = before {
                        held.free(before);
                    }
                }
                return;
            }
            _ => {}
        }
        let over = match &step.kind {
            Kind::Over(in_place) => &in_place.over[..],
            _ => &[],
        };
        let shows = step.op.properties().view.then(|| step.inputs.first().copied()).flatten();
        for (k, ty) in step.types.iter().enumerate() {
            let id = step.first_output + k as ValueId;
            if let Some(Some(over)) = over.get(k) {
                held.share(id, over.value());
            } else if let Some(source) = shows {
                let mut chain = held.chains.get(&source).cloned().unwrap_or_default();
                chain.of.get_or_insert(self.types[source as usize]);
                chain.ops.push(step.op.clone());
                // A view of elements in another order may have to copy them.
                if chain.copies() {
                    held.own(id, bytes(ty), 1);
                    held.now += bytes(ty);
                } else {
                    held.share(id, source);
                    held.chains.insert(id, chain);
                }
            } else if step.places.get(k).copied().flatten().is_some() || step.inputs.is_empty() {
                // It lies in the arena, or is a constant of the program.
            } else {
                held.own(id, bytes(ty), 1);
                held.now += bytes(ty);
            }
        }
    }
}

/// The bytes that a value of this type holds beyond an arena.
fn bytes(ty: &Type) -> i64 {
    match ty.numel().filter(|&n| n > 1 && !ty.is_list()) {
        Some(numel) => held_bytes(numel * ty.dtype().size()) as i64,
        None => 0,
    }
}
