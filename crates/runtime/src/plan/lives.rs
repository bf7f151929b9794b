//! Which values a run holds from which step to which.

use std::collections::HashMap;

use fluvial_core::ValueId;
use fluvial_tensor::memory::held_bytes;
use smallvec::SmallVec;

use super::workspace::{Chain, workspace};
use super::{Kind, Plan, PlanStep};
use crate::report::{ReportBlock, ReportStep, ReportValue, bytes_of};

/// What is known on the way from the first step to the last.
#[derive(Default)]
struct Lives {
    /// By value: the entry of `all` whose memory it has. Inputs and states have none.
    entry: HashMap<ValueId, Option<usize>>,
    /// By view: of what it is one.
    chains: HashMap<ValueId, Chain>,
    all: Vec<ReportValue>,
}

impl Lives {
    fn entry(&self, id: ValueId) -> Option<usize> {
        self.entry.get(&id).copied().flatten()
    }

    /// A value is in use at a step.
    fn touch(&mut self, id: ValueId, step: usize) {
        if let Some(entry) = self.entry(id) {
            self.all[entry].until = self.all[entry].until.max(step);
        }
    }
}

impl Plan {
    /// The steps, and the values that they hold.
    pub(crate) fn report(&self) -> ReportBlock {
        let mut lives = Lives::default();
        for (index, step) in self.steps.iter().enumerate() {
            self.live(index, step, &mut lives);
            // What nothing reads is let go of by the step that made it.
            step.frees.iter().for_each(|&id| lives.touch(id, index));
            if let Kind::Assign(_) = step.kind {
                lives.touch(step.inputs[0], self.steps.len());
            }
        }
        self.results.iter().for_each(|&id| lives.touch(id, self.steps.len()));
        ReportBlock {
            steps: self.steps.iter().map(|step| self.report_step(step)).collect(),
            values: lives.all,
            arena_bytes: self.arena_bytes(),
        }
    }

    fn report_step(&self, step: &PlanStep) -> ReportStep {
        let inputs: SmallVec<[_; 8]> =
            step.inputs.iter().map(|&id| &self.types[id as usize]).collect();
        let blocks = match &step.kind {
            Kind::Blocks(bodies) => {
                bodies.iter().flat_map(|body| body.plans()).map(|plan| plan.report()).collect()
            }
            _ => Vec::new(),
        };
        ReportStep {
            op: step.op.name(),
            loc: step.loc,
            bytes: step.types.iter().map(bytes_of).sum(),
            in_place: matches!(step.kind, Kind::Over(_)),
            n_instructions: step.op.body().map_or(0, |body| body.insts().len()),
            scratch_bytes: match step.kind {
                Kind::Known => workspace(&step.op, &inputs, &step.types),
                _ => 0,
            },
            blocks,
        }
    }

    /// Enters what a step makes.
    fn live(&self, index: usize, step: &PlanStep, lives: &mut Lives) {
        if let Kind::Read(_) | Kind::Assign(_) = step.kind {
            return;
        }
        let over = match &step.kind {
            Kind::Over(in_place) => &in_place.over[..],
            _ => &[],
        };
        let shows = step.op.properties().view.then(|| step.inputs.first().copied()).flatten();
        for (k, ty) in step.types.iter().enumerate() {
            let id = step.first_output + k as ValueId;
            if let Some(Some(over)) = over.get(k) {
                let entry = lives.entry(over.value());
                lives.entry.insert(id, entry);
                lives.touch(id, index);
                continue;
            }
            if let Some(source) = shows {
                let mut chain = lives.chains.get(&source).cloned().unwrap_or_default();
                chain.of.get_or_insert(self.types[source as usize]);
                chain.ops.push(step.op.clone());
                if !chain.copies() {
                    let entry = lives.entry(source);
                    lives.entry.insert(id, entry);
                    lives.chains.insert(id, chain);
                    continue;
                }
            }
            let place = step.places.get(k).copied().flatten();
            let at = place.and_then(|place| self.ranges.get(place as usize)).map(|r| r.start);
            let is_constant = step.inputs.is_empty() && at.is_none();
            let bytes = if is_constant { 0 } else { bytes_of(ty) };
            if bytes > 0 {
                lives.entry.insert(id, Some(lives.all.len()));
                let bytes = if at.is_some() { bytes } else { held_bytes(bytes) };
                lives.all.push(ReportValue { id, step: index, until: index, bytes, at });
            }
        }
    }
}
