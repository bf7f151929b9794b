//! Results one after another.

use std::sync::Arc;

use fluvial_tensor::Result;

use super::access::Place;
use super::each::Each;
use super::host::Predicate;
use super::node::{Node, Op};
use super::permutation::{Random, Tables};
use super::prefetch::Prefetch;
use super::stack::{check_sample, stack};
use crate::source::{Sample, Samples};

/// The rest of a pass.
pub(super) trait Walk: Send {
    /// The next result; none at the end, and again if asked again.
    fn next(&mut self) -> Result<Option<Sample>>;

    /// Leaves results out. There may be fewer.
    fn skip(&mut self, n: u64) -> Result<()> {
        for _ in 0..n {
            if self.next()?.is_none() {
                break;
            }
        }
        Ok(())
    }
}

/// The results of a pass from this one on; none if there are fewer.
pub(super) fn walk(node: &Arc<Node>, epoch: u64, index: u64) -> Result<Box<dyn Walk>> {
    if node.len.is_some() && !runs_below(node) {
        return Ok(Box::new(ByNumber {
            node: node.clone(),
            epoch,
            index,
            tables: Tables::default(),
        }));
    }
    let replayed = |mut walk: Box<dyn Walk>| walk.skip(index).map(|()| walk);
    match &node.op {
        Op::Prefetch { input, ahead } => {
            Ok(Box::new(Prefetch::new(walk(input, epoch, index)?, *ahead)))
        }
        Op::Each { input, each } => Ok(Box::new(OneByOne {
            input: walk(input, epoch, index)?,
            each: each.clone(),
            node: node.clone(),
            place: Place { epoch, index },
        })),
        Op::Stream(stream) => replayed(Box::new(FromStream {
            samples: Some(stream.start(epoch)?),
            node: node.clone(),
        })),
        Op::Zip(inputs) => {
            let inputs = inputs.iter().map(|input| walk(input, epoch, index));
            Ok(Box::new(SideBySide { inputs: inputs.collect::<Result<_>>()? }))
        }
        Op::Interleave(inputs, _) => {
            let inputs = inputs.iter().map(|input| walk(input, epoch, 0));
            replayed(Box::new(InTurns { inputs: inputs.collect::<Result<_>>()?, turn: 0 }))
        }
        Op::Window { input, seed, buffer } => replayed(Box::new(Window {
            input: walk(input, epoch, 0)?,
            random: Random::new(*seed, epoch),
            held: Vec::new(),
            size: *buffer as usize,
        })),
        Op::Slice { input, start, limit } => Ok(Box::new(Limited {
            input: walk(input, epoch, start.saturating_add(index))?,
            left: limit.saturating_sub(index),
        })),
        Op::Shard { input, rank, world } => Ok(Box::new(Sharded {
            input: walk(input, epoch, index.saturating_mul(*world))?,
            rank: *rank,
            world: *world,
        })),
        Op::Repeat { input, times } => replayed(Box::new(Repeated {
            input: input.clone(),
            epoch: epoch.wrapping_mul(*times),
            left: *times,
            pass: None,
        })),
        Op::Filter { input, keeps } => {
            replayed(Box::new(Filtered { input: walk(input, epoch, 0)?, keeps: keeps.clone() }))
        }
        Op::Batch { input, size, drop_last } => Ok(Box::new(Batches {
            input: walk(input, epoch, index.saturating_mul(*size))?,
            node: input.clone(),
            size: *size,
            drop_last: *drop_last,
        })),
        Op::Bucket { input, size, field, sizes, drop_last } => replayed(Box::new(Buckets {
            input: Some(walk(input, epoch, 0)?),
            node: input.clone(),
            size: *size as usize,
            field: *field,
            sizes: sizes.clone(),
            held: vec![Vec::new(); sizes.len() + 1],
            drop_last: *drop_last,
        })),
        Op::Dataset(_) | Op::Permute { .. } => {
            Ok(Box::new(ByNumber { node: node.clone(), epoch, index, tables: Tables::default() }))
        }
    }
}

/// Whether a thread below would help: stages that ask for their input in order leave it at its work. A batch
/// that can be gathered at once is not made of samples that a thread brings.
fn runs_below(node: &Node) -> bool {
    match &node.op {
        Op::Prefetch { .. } => true,
        Op::Each { input, .. } | Op::Slice { input, .. } => node.is_threaded && runs_below(input),
        Op::Batch { input, .. } => node.is_threaded && !input.is_gathered() && runs_below(input),
        Op::Zip(inputs) => node.is_threaded && inputs.iter().any(|input| runs_below(input)),
        _ => false,
    }
}

/// By number: nothing is read before it is asked for.
struct ByNumber {
    node: Arc<Node>,
    epoch: u64,
    index: u64,
    tables: Tables,
}

impl Walk for ByNumber {
    fn next(&mut self) -> Result<Option<Sample>> {
        if self.index >= self.node.len.unwrap_or(0) {
            return Ok(None);
        }
        let place = Place { epoch: self.epoch, index: self.index };
        let sample = self.node.get(place, &mut self.tables)?;
        self.index += 1;
        Ok(Some(sample))
    }

    fn skip(&mut self, n: u64) -> Result<()> {
        self.index = self.index.saturating_add(n);
        Ok(())
    }
}

struct FromStream {
    samples: Option<Samples>,
    node: Arc<Node>,
}

impl Walk for FromStream {
    fn next(&mut self) -> Result<Option<Sample>> {
        let Some(next) = self.samples.as_mut().and_then(Iterator::next) else {
            self.samples = None;
            return Ok(None);
        };
        let sample = next?;
        check_sample(&sample, &self.node.fields, "the stream")?;
        Ok(Some(sample))
    }
}

struct OneByOne {
    input: Box<dyn Walk>,
    each: Arc<Each>,
    node: Arc<Node>,
    /// Of the next result.
    place: Place,
}

impl Walk for OneByOne {
    fn next(&mut self) -> Result<Option<Sample>> {
        let Some(sample) = self.input.next()? else { return Ok(None) };
        let place = self.place;
        self.place.index += 1;
        self.each.apply(sample, &self.node.fields, place).map(Some)
    }

    fn skip(&mut self, n: u64) -> Result<()> {
        self.place.index = self.place.index.saturating_add(n);
        self.input.skip(n)
    }
}

struct SideBySide {
    inputs: Vec<Box<dyn Walk>>,
}

impl Walk for SideBySide {
    fn next(&mut self) -> Result<Option<Sample>> {
        let mut all = Vec::new();
        for input in &mut self.inputs {
            let Some(sample) = input.next()? else { return Ok(None) };
            all.extend(sample);
        }
        Ok(Some(all))
    }

    fn skip(&mut self, n: u64) -> Result<()> {
        self.inputs.iter_mut().try_for_each(|input| input.skip(n))
    }
}

struct InTurns {
    inputs: Vec<Box<dyn Walk>>,
    turn: usize,
}

impl Walk for InTurns {
    fn next(&mut self) -> Result<Option<Sample>> {
        while !self.inputs.is_empty() {
            self.turn %= self.inputs.len();
            if let Some(sample) = self.inputs[self.turn].next()? {
                self.turn += 1;
                return Ok(Some(sample));
            }
            self.inputs.remove(self.turn);
        }
        Ok(None)
    }
}

/// Holds some results, of which a random one comes next.
struct Window {
    input: Box<dyn Walk>,
    random: Random,
    held: Vec<Sample>,
    size: usize,
}

impl Walk for Window {
    fn next(&mut self) -> Result<Option<Sample>> {
        while self.held.len() < self.size
            && let Some(sample) = self.input.next()?
        {
            self.held.push(sample);
        }
        if self.held.is_empty() {
            return Ok(None);
        }
        let picked = self.random.below(self.held.len() as u64) as usize;
        Ok(Some(self.held.swap_remove(picked)))
    }
}

struct Limited {
    input: Box<dyn Walk>,
    left: u64,
}

impl Walk for Limited {
    fn next(&mut self) -> Result<Option<Sample>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.input.next()
    }

    fn skip(&mut self, n: u64) -> Result<()> {
        let n = n.min(self.left);
        self.left -= n;
        self.input.skip(n)
    }
}

struct Sharded {
    input: Box<dyn Walk>,
    rank: u64,
    world: u64,
}

impl Walk for Sharded {
    fn next(&mut self) -> Result<Option<Sample>> {
        self.input.skip(self.rank)?;
        let Some(sample) = self.input.next()? else { return Ok(None) };
        // The others must have theirs, too.
        let n_after = self.world - self.rank - 1;
        if n_after > 0 {
            self.input.skip(n_after - 1)?;
            if self.input.next()?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(sample))
    }

    fn skip(&mut self, n: u64) -> Result<()> {
        self.input.skip(n.saturating_mul(self.world))
    }
}

struct Repeated {
    input: Arc<Node>,
    /// The number of the next pass.
    epoch: u64,
    left: u64,
    /// The pass that is read, and whether it gave anything.
    pass: Option<(Box<dyn Walk>, bool)>,
}

impl Walk for Repeated {
    fn next(&mut self) -> Result<Option<Sample>> {
        loop {
            if let Some((pass, has_given)) = &mut self.pass {
                if let Some(sample) = pass.next()? {
                    *has_given = true;
                    return Ok(Some(sample));
                }
                // A pass without results ends all, else an empty input would be repeated for ever.
                self.left = if *has_given { self.left } else { 0 };
                self.pass = None;
            }
            if self.left == 0 {
                return Ok(None);
            }
            self.pass = Some((walk(&self.input, self.epoch, 0)?, false));
            self.left -= 1;
            self.epoch = self.epoch.wrapping_add(1);
        }
    }
}

struct Filtered {
    input: Box<dyn Walk>,
    keeps: Arc<Predicate>,
}

impl Walk for Filtered {
    fn next(&mut self) -> Result<Option<Sample>> {
        while let Some(sample) = self.input.next()? {
            if (self.keeps)(&sample)? {
                return Ok(Some(sample));
            }
        }
        Ok(None)
    }
}

struct Batches {
    input: Box<dyn Walk>,
    /// What the input consists of.
    node: Arc<Node>,
    size: u64,
    drop_last: bool,
}

impl Walk for Batches {
    fn next(&mut self) -> Result<Option<Sample>> {
        let mut samples = Vec::new();
        while (samples.len() as u64) < self.size
            && let Some(sample) = self.input.next()?
        {
            samples.push(sample);
        }
        let is_short = (samples.len() as u64) < self.size;
        if samples.is_empty() || is_short && self.drop_last {
            return Ok(None);
        }
        stack(&samples, &self.node.fields, &self.node.pads).map(Some)
    }

    fn skip(&mut self, n: u64) -> Result<()> {
        self.input.skip(n.saturating_mul(self.size))
    }
}

struct Buckets {
    /// None when it is over.
    input: Option<Box<dyn Walk>>,
    node: Arc<Node>,
    size: usize,
    field: usize,
    sizes: Vec<u64>,
    /// For each range of sizes, what does not yet fill a batch.
    held: Vec<Vec<Sample>>,
    drop_last: bool,
}

impl Walk for Buckets {
    fn next(&mut self) -> Result<Option<Sample>> {
        while let Some(input) = &mut self.input {
            let Some(sample) = input.next()? else {
                self.input = None;
                break;
            };
            let size = sample[self.field].dims().first().map_or(0, |&size| size as u64);
            let bucket = &mut self.held[self.sizes.partition_point(|&limit| limit < size)];
            bucket.push(sample);
            if bucket.len() == self.size {
                let samples = std::mem::take(bucket);
                return stack(&samples, &self.node.fields, &self.node.pads).map(Some);
            }
        }
        match self.held.iter_mut().find(|bucket| !bucket.is_empty()) {
            Some(bucket) if !self.drop_last => {
                let samples = std::mem::take(bucket);
                stack(&samples, &self.node.fields, &self.node.pads).map(Some)
            }
            _ => Ok(None),
        }
    }
}
