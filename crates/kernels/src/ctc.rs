//! Connectionist temporal classification: the forward-backward algorithm over alignments.

use fluvial_tensor::{DType, Error, Result, Tensor, memory};
use smallvec::{SmallVec, smallvec};

/// What the losses of a batch are made of.
pub struct Ctc<'a> {
    /// Logarithms of probabilities, `[time, batch, classes]`.
    pub log_probs: &'a Tensor,
    /// The labels, padded, `i64[batch, length]`.
    pub targets: &'a Tensor,
    /// How much of the time counts, `i64[batch]`.
    pub input_lengths: &'a Tensor,
    /// How many of the labels count, `i64[batch]`.
    pub target_lengths: &'a Tensor,
    /// The class that stands for no label.
    pub blank: usize,
    /// Whether a loss that is infinite counts as zero.
    pub zero_infinity: bool,
}

/// The negative logarithms of the probabilities of the targets, one for each of the batch.
pub fn ctc_loss(ctc: &Ctc<'_>) -> Result<Tensor> {
    let batch = Batch::new(ctc, &[])?;
    let mut losses = Vec::new();
    for n in 0..batch.size {
        let item = batch.item(n)?;
        let loss = -item.total(&item.forward()).log;
        losses.push(if ctc.zero_infinity && loss == f64::INFINITY { 0.0 } else { loss });
    }
    Tensor::from_vec(losses, &[batch.size])?.cast(ctc.log_probs.dtype())
}

/// The derivative of the sum of the losses by the logarithms of probabilities; with directions, which
/// have the same shape, the derivative of that in the first direction, then in the next, and so on.
///
/// The order of the directions does not matter: derivatives of a function are symmetric.
pub fn ctc_grad(ctc: &Ctc<'_>, directions: &[&Tensor]) -> Result<Tensor> {
    if directions.len() > MAX_DIRECTIONS {
        return Err(Error::argument(format!(
            "derivatives of the CTC loss are implemented up to order {}",
            MAX_DIRECTIONS + 1
        )));
    }
    let batch = Batch::new(ctc, directions)?;
    let mut gradient = memory::filled(0.0, ctc.log_probs.numel())?;
    for n in 0..batch.size {
        batch.item(n)?.write_gradient(&mut gradient, ctc.zero_infinity);
    }
    Tensor::from_vec(gradient, ctc.log_probs.dims())?.cast(ctc.log_probs.dtype())
}

/// The work doubles or triples with each.
const MAX_DIRECTIONS: usize = 6;

/// A positive number and its derivatives: `exp(log) * parts`, where `parts[0]` is one and `parts[set]` is
/// the derivative in all directions whose bits are in `set`, in relation to the number. So derivatives
/// cost no range: the number may be as small as its logarithm allows.
#[derive(Clone)]
struct Scaled {
    log: f64,
    parts: SmallVec<[f64; 4]>,
}

impl Scaled {
    fn zero(n_parts: usize) -> Scaled {
        Scaled { log: f64::NEG_INFINITY, ..Scaled::one(n_parts) }
    }

    fn one(n_parts: usize) -> Scaled {
        let mut parts = smallvec![0.0; n_parts];
        parts[0] = 1.0;
        Scaled { log: 0.0, parts }
    }

    fn plus(&self, other: &Scaled) -> Scaled {
        if other.log == f64::NEG_INFINITY {
            return self.clone();
        }
        if self.log == f64::NEG_INFINITY {
            return other.clone();
        }
        let top = self.log.max(other.log);
        let log = top + ((self.log - top).exp() + (other.log - top).exp()).ln();
        let (own, others) = ((self.log - log).exp(), (other.log - log).exp());
        let parts = self.parts.iter().zip(&other.parts).map(|(a, b)| own * a + others * b);
        let mut sum = Scaled { log, parts: parts.collect() };
        sum.parts[0] = 1.0;
        sum
    }

    fn times(&self, other: &Scaled) -> Scaled {
        let parts = (0..self.parts.len())
            .map(|set| subsets(set).map(|part| self.parts[part] * other.parts[set ^ part]).sum());
        Scaled { log: self.log + other.log, parts: parts.collect() }
    }

    fn inverse(&self) -> Scaled {
        let mut inverse = Scaled::one(self.parts.len());
        inverse.log = -self.log;
        for set in 1..self.parts.len() {
            let rest = subsets(set).filter(|&part| part != 0);
            let sum: f64 = rest.map(|part| self.parts[part] * inverse.parts[set ^ part]).sum();
            inverse.parts[set] = -sum;
        }
        inverse
    }

    /// The derivative in all directions; without any, the number.
    fn last(&self) -> f64 {
        match self.log == f64::NEG_INFINITY {
            true => 0.0,
            false => self.log.exp() * self.parts[self.parts.len() - 1],
        }
    }
}

/// The subsets of a set of bits, the empty one among them.
fn subsets(set: usize) -> impl Iterator<Item = usize> {
    (0..=set).filter(move |part| part & !set == 0)
}

struct Batch<'a> {
    ctc: &'a Ctc<'a>,
    log_probs: Vec<f64>,
    directions: Vec<Vec<f64>>,
    targets: Vec<i64>,
    input_lengths: Vec<i64>,
    target_lengths: Vec<i64>,
    size: usize,
}

/// One of the batch.
struct Item<'a> {
    batch: &'a Batch<'a>,
    n: usize,
    times: usize,
    /// The labels, with blanks before, between and after them.
    states: Vec<usize>,
}

impl<'a> Batch<'a> {
    fn new(ctc: &'a Ctc<'a>, directions: &[&Tensor]) -> Result<Batch<'a>> {
        let &[_, size, _] = ctc.log_probs.dims() else {
            return Err(Error::shape("logarithms of probabilities have three axes"));
        };
        let fits = ctc.targets.rank() == 2
            && ctc.targets.dims()[0] == size
            && ctc.input_lengths.dims() == [size]
            && ctc.target_lengths.dims() == [size]
            && directions.iter().all(|direction| direction.dims() == ctc.log_probs.dims());
        if !fits {
            return Err(Error::shape(
                "targets, lengths or directions are not of the batch's shape",
            ));
        }
        let integers = |x: &Tensor| x.cast(DType::I64)?.to_vec::<i64>();
        Ok(Batch {
            ctc,
            log_probs: ctc.log_probs.to_f64s(),
            directions: directions.iter().map(|direction| direction.to_f64s()).collect(),
            targets: integers(ctc.targets)?,
            input_lengths: integers(ctc.input_lengths)?,
            target_lengths: integers(ctc.target_lengths)?,
            size,
        })
    }

    fn item(&self, n: usize) -> Result<Item<'_>> {
        let (&[times, _, classes], &[_, most]) =
            (self.ctc.log_probs.dims(), self.ctc.targets.dims())
        else {
            return Err(Error::internal("shapes were checked"));
        };
        let length = |found: i64, most: usize, what: &str| match usize::try_from(found) {
            Ok(length) if length <= most => Ok(length),
            _ => Err(Error::argument(format!(
                "the {what} {found} of sequence {n} is not between 0 and {most}"
            ))),
        };
        let times = length(self.input_lengths[n], times, "input length")?;
        let n_labels = length(self.target_lengths[n], most, "target length")?;
        let blank = self.ctc.blank;
        let mut states = vec![blank];
        for (i, &label) in self.targets[n * most..][..n_labels].iter().enumerate() {
            match usize::try_from(label) {
                Ok(label) if label < classes && label != blank => states.extend([label, blank]),
                _ => {
                    return Err(Error::argument(format!(
                        "label {label} at position {i} of sequence {n} is not one of {classes} \
                         classes other than the blank {blank}"
                    )));
                }
            }
        }
        Ok(Item { batch: self, n, times, states })
    }
}

impl Item<'_> {
    fn n_parts(&self) -> usize {
        1 << self.batch.directions.len()
    }

    fn position(&self, time: usize, class: usize) -> usize {
        let classes = self.batch.ctc.log_probs.dims()[2];
        (time * self.batch.size + self.n) * classes + class
    }

    /// The probability of a state's class at a time.
    fn emission(&self, time: usize, state: usize) -> Scaled {
        let at = self.position(time, self.states[state]);
        let mut probability = Scaled::one(self.n_parts());
        probability.log = self.batch.log_probs[at];
        for set in 1..self.n_parts() {
            let lowest = set.trailing_zeros() as usize;
            let rest = probability.parts[set & (set - 1)];
            probability.parts[set] = self.batch.directions[lowest][at] * rest;
        }
        probability
    }

    /// Whether a state may follow the one two before it: between labels that differ.
    fn skips(&self, state: usize) -> bool {
        state >= 2 && state % 2 == 1 && self.states[state] != self.states[state - 2]
    }

    /// For each time and state: the probability of all ways to come there.
    fn forward(&self) -> Vec<Vec<Scaled>> {
        let zero = Scaled::zero(self.n_parts());
        let mut all: Vec<Vec<Scaled>> = Vec::new();
        for time in 0..self.times {
            let mut row = vec![zero.clone(); self.states.len()];
            for (state, to) in row.iter_mut().enumerate() {
                let ways = match all.last() {
                    None if state < 2 => Scaled::one(self.n_parts()),
                    None => continue,
                    Some(before) => {
                        let mut ways = before[state].clone();
                        if state >= 1 {
                            ways = ways.plus(&before[state - 1]);
                        }
                        if self.skips(state) {
                            ways = ways.plus(&before[state - 2]);
                        }
                        ways
                    }
                };
                *to = ways.times(&self.emission(time, state));
            }
            all.push(row);
        }
        all
    }

    /// For each time and state: the probability of all ways on from there.
    fn backward(&self) -> Vec<Vec<Scaled>> {
        let (zero, n_states) = (Scaled::zero(self.n_parts()), self.states.len());
        let mut all: Vec<Vec<Scaled>> = Vec::new();
        for time in (0..self.times).rev() {
            let mut row = vec![zero.clone(); n_states];
            match all.last() {
                None => row
                    .iter_mut()
                    .skip(n_states.saturating_sub(2))
                    .for_each(|to| *to = Scaled::one(self.n_parts())),
                Some(after) => {
                    for state in 0..n_states {
                        let ways = after[state].times(&self.emission(time + 1, state));
                        row[state] = row[state].plus(&ways);
                        if state >= 1 {
                            row[state - 1] = row[state - 1].plus(&ways);
                        }
                        if self.skips(state) {
                            row[state - 2] = row[state - 2].plus(&ways);
                        }
                    }
                }
            }
            all.push(row);
        }
        all.reverse();
        all
    }

    /// The probability of the target.
    fn total(&self, forward: &[Vec<Scaled>]) -> Scaled {
        match forward.last() {
            None if self.states.len() == 1 => Scaled::one(self.n_parts()),
            None => Scaled::zero(self.n_parts()),
            Some(row) => {
                row.iter().rev().take(2).fold(Scaled::zero(self.n_parts()), |a, b| a.plus(b))
            }
        }
    }

    fn write_gradient(&self, gradient: &mut [f64], zero_infinity: bool) {
        let (forward, backward) = (self.forward(), self.backward());
        let total = self.total(&forward);
        let impossible = total.log == f64::NEG_INFINITY;
        if impossible && zero_infinity {
            return;
        }
        let share = total.inverse();
        for time in 0..self.times {
            for (state, &class) in self.states.iter().enumerate() {
                let through = forward[time][state].times(&backward[time][state]).times(&share);
                let at = self.position(time, class);
                gradient[at] -= if impossible { f64::NAN } else { through.last() };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    /// The probability of a target by listing all paths.
    fn listed(log_probs: &[f64], times: usize, classes: usize, target: &[usize]) -> f64 {
        let mut sum = 0.0;
        for path in 0..classes.pow(times as u32) {
            let class = |time: usize| path / classes.pow(time as u32) % classes;
            let mut labels: Vec<usize> = (0..times).map(class).collect();
            labels.dedup();
            labels.retain(|&label| label != 0);
            if labels == target {
                sum += (0..times).map(|t| log_probs[t * classes + class(t)]).sum::<f64>().exp();
            }
        }
        -sum.ln()
    }

    #[test]
    fn all_paths_count() {
        let mut rng = Rng::new(3);
        for target in [vec![], vec![1], vec![1, 2], vec![2, 2], vec![1, 1, 2], vec![1, 2, 1, 2]] {
            let log_probs = rng.tensor(DType::F64, &[4, 1, 3]);
            let labels: Vec<i64> = target.iter().map(|&label| label as i64).collect();
            let vector = |x: i64| Tensor::from_slice(&[x], &[1]).unwrap();
            let loss = ctc_loss(&Ctc {
                log_probs: &log_probs,
                targets: &Tensor::from_slice(&labels, &[1, labels.len()]).unwrap(),
                input_lengths: &vector(4),
                target_lengths: &vector(labels.len() as i64),
                blank: 0,
                zero_infinity: false,
            });
            let (found, expected) =
                (loss.unwrap().to_f64s()[0], listed(&log_probs.to_f64s(), 4, 3, &target));
            let close = (found - expected).abs() < 1e-9 * (1.0 + expected.abs());
            assert!(found == expected || close, "{target:?} {found} {expected}");
        }
    }
}
