//! Results by number: what a batch needs is found first, and then fetched at once.

use std::sync::Arc;

use fluvial_tensor::{Error, Result, Tensor};

use super::node::{Node, Op, Phase};
use super::permutation::Tables;
use super::stack::{copy_rows, stack};
use crate::source::Sample;

/// A result of a node: its number in a pass. Within `repeat`, the numbers of passes differ.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) epoch: u64,
    pub(super) index: u64,
}

/// Where a result of a stage that only orders, leaves out or repeats lies in its input.
fn through<'a>(op: &'a Op, place: Place, tables: &mut Tables) -> Option<(&'a Arc<Node>, Place)> {
    let Place { epoch, index } = place;
    match op {
        Op::Permute { input, seed } => {
            let index = tables.at(*seed, epoch, input.len?, index);
            Some((input, Place { epoch, index }))
        }
        Op::Slice { input, start, .. } => Some((input, Place { epoch, index: start + index })),
        Op::Shard { input, rank, world } => {
            Some((input, Place { epoch, index: index * world + rank }))
        }
        Op::Repeat { input, times } => {
            let len = input.len.filter(|&len| len > 0)?;
            let epoch = epoch.wrapping_mul(*times).wrapping_add(index / len);
            Some((input, Place { epoch, index: index % len }))
        }
        Op::Prefetch { input, .. } => Some((input, place)),
        _ => None,
    }
}

/// The input whose turn it is, and its place there.
fn turn(phases: &[Phase], place: Place) -> (usize, Place) {
    let phase = &phases[phases.partition_point(|phase| phase.start <= place.index) - 1];
    let n_inputs = phase.inputs.len() as u64;
    let after = place.index - phase.start;
    let index = phase.round + after / n_inputs;
    (phase.inputs[(after % n_inputs) as usize], Place { index, ..place })
}

impl Node {
    /// One result. The place must be one of the pass.
    pub(super) fn get(&self, place: Place, tables: &mut Tables) -> Result<Sample> {
        if let Some((input, place)) = through(&self.op, place, tables) {
            return input.get(place, tables);
        }
        match &self.op {
            Op::Dataset(dataset) => {
                let fetched = dataset.fetch(place.epoch, &[place.index])?;
                fetched.into_iter().next().ok_or_else(no_numbers)
            }
            Op::Zip(inputs) => {
                let mut all = Vec::with_capacity(self.fields.len());
                for input in inputs {
                    all.extend(input.get(place, tables)?);
                }
                Ok(all)
            }
            Op::Interleave(inputs, phases) => {
                let (input, place) = turn(phases, place);
                inputs[input].get(place, tables)
            }
            Op::Each { input, each } => each.apply(input.get(place, tables)?, &self.fields, place),
            Op::Batch { input, size, .. } => {
                let start = place.index * size;
                let end = (start + size).min(input.len.unwrap_or(start));
                let place = |index| Place { epoch: place.epoch, index };
                let mut places: Vec<Place> = (start..end).map(place).collect();
                input.gather(&mut places, tables)
            }
            _ => Err(no_numbers()),
        }
    }

    /// Several results, stacked along a new first axis. Overwrites the places.
    pub(super) fn gather(&self, places: &mut [Place], tables: &mut Tables) -> Result<Vec<Tensor>> {
        if !self.is_even() {
            return self.gather_each(places, tables);
        }
        match &self.op {
            Op::Permute { input, .. }
            | Op::Slice { input, .. }
            | Op::Shard { input, .. }
            | Op::Repeat { input, .. }
            | Op::Prefetch { input, .. } => {
                for place in places.iter_mut() {
                    (_, *place) = through(&self.op, *place, tables).ok_or_else(no_numbers)?;
                }
                input.gather(places, tables)
            }
            Op::Dataset(dataset) => {
                let epoch = places.first().map_or(0, |place| place.epoch);
                let is_other = |place: &Place| place.epoch != epoch;
                if dataset.depends_on_pass() && places.iter().any(is_other) {
                    return self.gather_each(places, tables);
                }
                let numbers: Vec<u64> = places.iter().map(|place| place.index).collect();
                dataset.gather_in(epoch, &numbers)
            }
            Op::Zip(inputs) => {
                let mut all = Vec::with_capacity(self.fields.len());
                for input in inputs {
                    all.extend(input.gather(&mut places.to_vec(), tables)?);
                }
                Ok(all)
            }
            Op::Interleave(inputs, phases) => self.gather_turns(inputs, phases, places, tables),
            Op::Each { input, each } if each.is_elementwise() && input.is_even() => {
                let Some(&first) = places.first() else {
                    return self.gather_each(places, tables);
                };
                each.apply(input.gather(places, tables)?, &self.fields, first)
            }
            _ => self.gather_each(places, tables),
        }
    }

    /// One by one, then stacked.
    fn gather_each(&self, places: &[Place], tables: &mut Tables) -> Result<Vec<Tensor>> {
        stack(&self.get_all(places, tables)?, &self.fields, &self.pads)
    }

    /// Several results. A dataset is asked for all of them at once, so that it may make them at the same time.
    fn get_all(&self, places: &[Place], tables: &mut Tables) -> Result<Vec<Sample>> {
        match &self.op {
            Op::Permute { input, .. }
            | Op::Slice { input, .. }
            | Op::Shard { input, .. }
            | Op::Repeat { input, .. }
            | Op::Prefetch { input, .. } => {
                let place = |&place: &Place| through(&self.op, place, tables).map(|(_, to)| to);
                let places: Option<Vec<Place>> = places.iter().map(place).collect();
                input.get_all(&places.ok_or_else(no_numbers)?, tables)
            }
            Op::Dataset(dataset) => {
                let mut samples = Vec::with_capacity(places.len());
                for run in places.chunk_by(|a, b| a.epoch == b.epoch) {
                    let numbers: Vec<u64> = run.iter().map(|place| place.index).collect();
                    samples.extend(dataset.fetch(run[0].epoch, &numbers)?);
                }
                Ok(samples)
            }
            Op::Each { input, each } => {
                let samples = input.get_all(places, tables)?.into_iter().zip(places);
                samples.map(|(sample, &place)| each.apply(sample, &self.fields, place)).collect()
            }
            _ => places.iter().map(|&place| self.get(place, tables)).collect(),
        }
    }

    /// What each input gives is gathered, and put where it belongs.
    fn gather_turns(
        &self,
        inputs: &[Arc<Node>],
        phases: &[Phase],
        places: &[Place],
        tables: &mut Tables,
    ) -> Result<Vec<Tensor>> {
        let mut turns = vec![(Vec::new(), Vec::new()); inputs.len()];
        for (row, &place) in places.iter().enumerate() {
            let (input, place) = turn(phases, place);
            turns[input].0.push(row);
            turns[input].1.push(place);
        }
        let mut out = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            let sizes = field.ty.sizes().ok_or_else(no_numbers)?;
            let whole: Vec<usize> = std::iter::once(places.len()).chain(sizes).collect();
            out.push(Tensor::empty(field.ty.dtype(), &whole)?);
        }
        for (input, (rows, mut places)) in inputs.iter().zip(turns) {
            if rows.is_empty() {
                continue;
            }
            let part = input.gather(&mut places, tables)?;
            for (to, from) in out.iter_mut().zip(&part) {
                let rows = rows.iter().enumerate().map(|(from, &to)| (to, from));
                copy_rows(to, &from.contiguous()?, rows)?;
            }
        }
        Ok(out)
    }
}

#[cold]
fn no_numbers() -> Error {
    Error::internal("a result without a number was asked for by number")
}
