//! Lays values out in memory, given when they live.

use std::ops::Range;

use fluvial_core::{Block, Call, Type, ValueId};

/// Where an arena's ranges best start.
const ALIGN: usize = 64;

/// A value that needs memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// How many bytes it has.
    pub bytes: usize,
    /// The step that makes it.
    pub from: usize,
    /// The last step that uses it.
    pub to: usize,
}

/// The range of bytes for each value. Values that live at the same time do not overlap; the last use of one
/// and the making of another in the same step are at the same time.
///
/// The largest values are placed first, each in the smallest gap that takes it between those that live at the
/// same time. This is not always the least memory, but on programs of layers it is.
///
/// ```
/// use fluvial_compile::memory::{Lifetime, layout};
///
/// // A stack of layers: each value is made from the one before.
/// let values: Vec<Lifetime> = (0..20).map(|i| Lifetime { bytes: 64, from: i, to: i + 1 }).collect();
/// let end = layout(&values).iter().map(|range| range.end).max();
/// assert_eq!(end, Some(2 * 64));
/// ```
pub fn layout(values: &[Lifetime]) -> Vec<Range<usize>> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(values[i].bytes), values[i].from));
    let mut ranges: Vec<Range<usize>> = vec![0..0; values.len()];
    let mut placed: Vec<usize> = Vec::new();
    for i in order {
        let value = values[i];
        let meets =
            |&other: &usize| values[other].from <= value.to && value.from <= values[other].to;
        let mut taken: Vec<Range<usize>> =
            placed.iter().copied().filter(meets).map(|other| ranges[other].clone()).collect();
        taken.sort_by_key(|range| range.start);
        let start = smallest_gap(&taken, value.bytes);
        ranges[i] = start..start + value.bytes;
        placed.push(i);
    }
    ranges
}

/// Whose memory the values of a block are, and how much.
pub(crate) struct Owners {
    /// By value: the value whose memory it shows; itself, if it has memory of its own.
    pub of_value: Vec<ValueId>,
    /// By value: the bytes of its own memory.
    pub bytes: Vec<usize>,
}

impl Owners {
    pub(crate) fn of(block: &Block) -> Owners {
        let n_values = block.types.len();
        let mut owners =
            Owners { of_value: (0..n_values as ValueId).collect(), bytes: vec![0; n_values] };
        for call in &block.calls {
            for id in call.outputs() {
                match shows(call) {
                    Some(source) => owners.of_value[id as usize] = owners.of_value[source as usize],
                    None => owners.bytes[id as usize] = bytes_of(&block.types[id as usize]),
                }
            }
        }
        owners
    }
}

/// The value whose memory the outputs of a call are.
pub(crate) fn shows(call: &Call) -> Option<ValueId> {
    call.inputs.first().copied().filter(|_| call.op.properties().view)
}

/// What a size is taken for that only a run knows.
const TYPICAL_SIZE: usize = 32;

/// The bytes of a value, more or less.
fn bytes_of(ty: &Type) -> usize {
    if ty.is_list() {
        return 0;
    }
    let sizes = ty.dims().iter().map(|dim| dim.value().unwrap_or(TYPICAL_SIZE));
    sizes.fold(ty.dtype().size(), usize::saturating_mul)
}

/// The start of the smallest gap between ranges, in order of their starts, that takes so many bytes; the end
/// of all of them if there is none.
fn smallest_gap(taken: &[Range<usize>], bytes: usize) -> usize {
    let mut best: Option<(usize, usize)> = None;
    let mut end = 0usize;
    for range in taken {
        let size = range.start.saturating_sub(end);
        if range.start >= end && size >= bytes && best.is_none_or(|(least, _)| size < least) {
            best = Some((size, end));
        }
        end = end.max(range.end.next_multiple_of(ALIGN));
    }
    best.map_or(end, |(_, start)| start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[Lifetime]) -> usize {
        let ranges = layout(values);
        for (i, a) in values.iter().enumerate() {
            assert_eq!(ranges[i].len(), a.bytes);
            assert_eq!(ranges[i].start % ALIGN, 0);
            for (j, b) in values.iter().enumerate().take(i) {
                let apart = ranges[i].end <= ranges[j].start || ranges[j].end <= ranges[i].start;
                assert!(apart || a.to < b.from || b.to < a.from, "{a:?} and {b:?} overlap");
            }
        }
        ranges.iter().map(|range| range.end).max().unwrap_or(0)
    }

    #[test]
    fn values_that_live_together_are_apart() {
        let mut seed = 7u64;
        let mut below = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for n in [0, 1, 2, 10, 60] {
            for _ in 0..20 {
                let values: Vec<Lifetime> = (0..n)
                    .map(|_| {
                        let from = below(30) as usize;
                        let to = from + below(10) as usize;
                        Lifetime { bytes: below(1000) as usize, from, to }
                    })
                    .collect();
                let bytes = check(&values);
                let at = |step| -> usize {
                    let living = values.iter().filter(|v| (v.from..=v.to).contains(&step));
                    living.map(|v| v.bytes.next_multiple_of(ALIGN)).sum()
                };
                let least = (0..40).map(at).max().unwrap_or(0);
                assert!(bytes <= 2 * least, "{bytes} for {least}");
            }
        }
    }

    #[test]
    fn a_stack_of_layers_needs_two_values() {
        for n in [2, 20, 200] {
            let values: Vec<Lifetime> =
                (0..n).map(|i| Lifetime { bytes: 640, from: i, to: i + 1 }).collect();
            assert_eq!(check(&values), 1280);
        }
    }
}
