//! A reader that is open: its stages with all that is known about their results.

use std::sync::Arc;

use fluvial_tensor::{Error, Result};

use super::each::Each;
use super::host::Predicate;
use crate::source::{Dataset, Field, Stream};

/// A stage and what it reads from.
pub(super) struct Node {
    /// What a result consists of.
    pub(super) fields: Vec<Field>,
    /// For each field, the value by which a batch lengthens it to its longest, if it may.
    pub(super) pads: Vec<Option<f64>>,
    /// How many results a pass has, if they have numbers: then each can be asked for alone.
    pub(super) len: Option<u64>,
    /// Whether a thread runs somewhere below.
    pub(super) is_threaded: bool,
    /// Whether the number of results is part of the description, as for arrays in memory, and does not change with files.
    pub(super) is_fixed: bool,
    pub(super) op: Op,
}

/// What a stage does.
pub(super) enum Op {
    Dataset(Arc<dyn Dataset>),
    Stream(Arc<dyn Stream>),
    Zip(Vec<Arc<Node>>),
    Interleave(Vec<Arc<Node>>, Vec<Phase>),
    /// An order of all.
    Permute {
        input: Arc<Node>,
        seed: u64,
    },
    /// An order within a window.
    Window {
        input: Arc<Node>,
        seed: u64,
        buffer: u64,
    },
    /// Results from `start` on, `limit` of them at most.
    Slice {
        input: Arc<Node>,
        start: u64,
        limit: u64,
    },
    Shard {
        input: Arc<Node>,
        rank: u64,
        world: u64,
    },
    Repeat {
        input: Arc<Node>,
        times: u64,
    },
    Each {
        input: Arc<Node>,
        each: Arc<Each>,
    },
    Filter {
        input: Arc<Node>,
        keeps: Arc<Predicate>,
    },
    Batch {
        input: Arc<Node>,
        size: u64,
        drop_last: bool,
    },
    Bucket {
        input: Arc<Node>,
        size: u64,
        field: usize,
        sizes: Vec<u64>,
        drop_last: bool,
    },
    Prefetch {
        input: Arc<Node>,
        ahead: usize,
    },
}

/// A stretch of rounds in which the same inputs take turns.
pub(super) struct Phase {
    /// The first result.
    pub(super) start: u64,
    /// The round of the first result, which is its number in its input.
    pub(super) round: u64,
    /// The inputs that are not over.
    pub(super) inputs: Vec<usize>,
}

/// The stretches for inputs of these lengths.
pub(super) fn phases(lens: &[u64]) -> Vec<Phase> {
    let mut ends: Vec<u64> = lens.iter().copied().filter(|&len| len > 0).collect();
    ends.sort_unstable();
    ends.dedup();
    let (mut start, mut round, mut phases) = (0, 0, Vec::new());
    for end in ends {
        let inputs: Vec<usize> = (0..lens.len()).filter(|&input| lens[input] > round).collect();
        let n_results = (end - round) * inputs.len() as u64;
        phases.push(Phase { start, round, inputs });
        (start, round) = (start + n_results, end);
    }
    phases
}

impl Node {
    /// The number of a field.
    pub(super) fn field(&self, name: &str) -> Result<usize> {
        field_of(&self.fields, name)
    }

    /// Whether all sizes are known, so that samples can be gathered without looking at them.
    pub(super) fn is_even(&self) -> bool {
        self.fields.iter().all(|field| !field.ty.is_symbolic())
    }

    /// Whether a stack of results comes from datasets at once, without a tensor for each of them.
    pub(super) fn is_gathered(&self) -> bool {
        self.is_even()
            && match &self.op {
                Op::Dataset(_) => true,
                Op::Zip(inputs) | Op::Interleave(inputs, _) => {
                    inputs.iter().all(|input| input.is_gathered())
                }
                Op::Permute { input, .. }
                | Op::Slice { input, .. }
                | Op::Shard { input, .. }
                | Op::Repeat { input, .. }
                | Op::Prefetch { input, .. } => input.is_gathered(),
                Op::Each { input, each } => each.is_elementwise() && input.is_gathered(),
                _ => false,
            }
    }
}

pub(super) fn field_of(fields: &[Field], name: &str) -> Result<usize> {
    fields.iter().position(|field| &*field.name == name).ok_or_else(|| {
        let names: Vec<String> = fields.iter().map(|field| format!("`{}`", field.name)).collect();
        Error::argument(format!("there is no field `{name}`"))
            .remedy(format!("the fields are {}", names.join(", ")))
    })
}
