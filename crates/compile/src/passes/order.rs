//! Puts calls in an order in which memory is freed early.
//!
//! The order stays as it is, but for calls that free more memory than they need, tiny ones and assignments:
//! they are done as soon as they can be. So the update of a parameter follows its gradient, which then need not
//! live until all gradients are there.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use fluvial_core::{Block, Result, ValueId};
use smallvec::SmallVec;

use super::is_pure;
use super::states::{Kind, assigned_state, read_state, reorder};
use crate::driver::Patches;
use crate::memory::{Owners, shows};

/// Bytes that do not count.
const TINY: usize = 64;

pub(crate) fn run(block: &Block, patches: &mut Patches) -> Result<Block> {
    // A size that a call finds out must be known where it is used; that is not among the dependencies.
    if block.bound_symbols().iter().any(|symbols| !symbols.is_empty()) {
        return Ok(block.clone());
    }
    let order = Schedule::new(block).order();
    reorder(block, &order, patches, "ordered calls by the memory that they free")
}

struct Schedule<'a> {
    block: &'a Block,
    /// By call: how many others it still waits for.
    waits: Vec<usize>,
    /// By call: those that wait for it.
    followers: Vec<Vec<usize>>,
    owners: Owners,
    /// By call: the memory that it needs to be there, each once; nothing for those that only show it.
    takes: Vec<SmallVec<[ValueId; 4]>>,
    /// By value: how many calls still need its memory.
    needs: Vec<usize>,
}

impl Schedule<'_> {
    fn new(block: &Block) -> Schedule<'_> {
        let mut schedule = Schedule {
            block,
            waits: vec![0; block.calls.len()],
            followers: vec![Vec::new(); block.calls.len()],
            owners: Owners::of(block),
            takes: Vec::with_capacity(block.calls.len()),
            needs: vec![0; block.types.len()],
        };
        for call in &block.calls {
            let mut takes: SmallVec<[ValueId; 4]> = match shows(call) {
                Some(_) => SmallVec::new(),
                None => {
                    call.inputs.iter().map(|&id| schedule.owners.of_value[id as usize]).collect()
                }
            };
            takes.sort_unstable();
            takes.dedup();
            takes.iter().for_each(|&id| schedule.needs[id as usize] += 1);
            schedule.takes.push(takes);
        }
        for &id in &block.results {
            let owner = schedule.owners.of_value[id as usize];
            schedule.needs[owner as usize] += 1;
        }
        schedule.depend();
        schedule
    }

    /// Fills in which call waits for which.
    fn depend(&mut self) {
        let block = self.block;
        let mut definition = vec![None; block.types.len()];
        let mut of_state: HashMap<&str, StateCalls> = HashMap::new();
        // The last other effect, and the reads since: these keep their places to each other. The last other effect
        // or call that may fail, and the assignments since, which keep theirs.
        let (mut effect, mut reads): (Option<usize>, Vec<usize>) = (None, Vec::new());
        let (mut check, mut assigns): (Option<usize>, Vec<usize>) = (None, Vec::new());
        let failing = block.failing_calls();
        for (index, call) in block.calls.iter().enumerate() {
            let mut before: BTreeSet<usize> =
                call.inputs.iter().filter_map(|&id| definition[id as usize]).collect();
            call.outputs().for_each(|id| definition[id as usize] = Some(index));
            if let Some(name) = read_state(call) {
                let calls = of_state.entry(name).or_default();
                before.extend(effect.into_iter().chain(calls.assigned));
                calls.reads.push(index);
                reads.push(index);
            } else if let Some(name) = assigned_state(call) {
                let calls = of_state.entry(name).or_default();
                before.extend(check.into_iter().chain(calls.assigned).chain(calls.reads.drain(..)));
                calls.assigned = Some(index);
                assigns.push(index);
            } else if !is_pure(call) {
                before.extend(check.into_iter().chain(assigns.drain(..)).chain(reads.drain(..)));
                (effect, check) = (Some(index), Some(index));
            } else if failing[index] {
                before.extend(check.into_iter().chain(assigns.drain(..)));
                check = Some(index);
            }
            self.waits[index] = before.len();
            before.iter().for_each(|&other| self.followers[other].push(index));
        }
    }

    /// How much the call is to be preferred to the one that comes next by itself; `None` if it is not.
    fn urgency(&self, index: usize) -> Option<usize> {
        let call = &self.block.calls[index];
        let made: usize = call.outputs().map(|id| self.owners.bytes[id as usize]).sum();
        match Kind::of(call) {
            Kind::Assign => return Some(usize::MAX),
            Kind::Read => return (made <= TINY).then_some(0),
            Kind::Other if !is_pure(call) => return None,
            Kind::Other => {}
        }
        let is_last = |id: &&ValueId| self.needs[**id as usize] == 1;
        let freed: usize = self.takes[index]
            .iter()
            .filter(is_last)
            .map(|&id| self.owners.bytes[id as usize])
            .sum();
        // What shows the memory of others costs nothing, but may lengthen their lives.
        let is_tiny = made <= TINY && shows(call).is_none() && !call.inputs.is_empty();
        (freed > made || is_tiny).then(|| freed.saturating_sub(made))
    }

    fn order(mut self) -> Vec<usize> {
        let n = self.block.calls.len();
        let mut order = Vec::with_capacity(n);
        let mut ready: BTreeSet<usize> = (0..n).filter(|&i| self.waits[i] == 0).collect();
        while let Some(&first) = ready.first() {
            let urgent = ready.iter().filter_map(|&index| Some((self.urgency(index)?, index)));
            // Of equals, the first.
            let next = urgent.max_by_key(|&(urgency, index)| (urgency, Reverse(index)));
            let next = next.map_or(first, |(_, index)| index);
            ready.remove(&next);
            order.push(next);
            self.takes[next].iter().for_each(|&id| self.needs[id as usize] -= 1);
            for follower in std::mem::take(&mut self.followers[next]) {
                self.waits[follower] -= 1;
                if self.waits[follower] == 0 {
                    ready.insert(follower);
                }
            }
        }
        order
    }
}

/// The calls that touch a state so far.
#[derive(Default)]
struct StateCalls {
    assigned: Option<usize>,
    /// Since then.
    reads: Vec<usize>,
}
