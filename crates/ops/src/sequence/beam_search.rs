//! `beam_search`: one step of a search that keeps the best beginnings of each source.

use super::rows::{is_lengths, lengths_of};
use crate::prelude::*;

options! {
    /// How a step of a search with a beam chooses.
    pub struct BeamSearchOptions {
        /// How many candidates each source keeps.
        pub beam_size: usize = 4,
        /// The number that ends a sentence.
        pub end_id: i64 = 0,
        /// Whether scores are those of whole beginnings, and not probabilities of the next number.
        pub is_accumulated: bool = true,
    }
}

/// One step of a beam search. Beginnings ("prefixes") of all sources stand one after another; `lengths`,
/// `i64[sources]`, says how many each source has. `pre_ids` and `pre_scores`, `[prefixes]`, are the last number and the
/// score of each; `scores`, `[prefixes, candidates]`, scores what may follow, `ids` says which numbers these are
/// (the places if not given). Each source keeps its `beam_size` best candidates; an ended beginning has itself
/// as its only candidate, and a source of which all have ended before keeps none.
///
/// Returns the numbers, scores and prefixes (`i64`) of what was kept, ordered by prefix, then from the best on,
/// and how many each prefix has, `i64[prefixes]`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (last, score) = (Var::of(&[7i64], &[1])?, Var::of(&[0.0], &[1])?);
/// let scores = Var::of(&[-1.0, -3.0, -2.0], &[1, 3])?;
/// let options = BeamSearchOptions::default().beam_size(2usize);
/// let one = Var::of(&[1i64], &[1])?;
/// let kept = beam_search(&last, &score, None, &scores, &one, options)?;
/// assert_eq!(kept[0].to_vec::<i64>()?, [0, 2]);
/// assert_eq!(kept[1].to_vec::<f64>()?, [-1.0, -2.0]);
/// assert_eq!(kept[2].to_vec::<i64>()?, [0, 0]);
/// assert_eq!(kept[3].to_vec::<i64>()?, [2]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn beam_search(
    pre_ids: &Var,
    pre_scores: &Var,
    ids: Option<&Var>,
    scores: &Var,
    lengths: &Var,
    options: BeamSearchOptions,
) -> Result<Vec<Var>> {
    let BeamSearchOptions { beam_size, end_id, is_accumulated } = options;
    let op = BeamSearch { beam_size, end_id, is_accumulated };
    let inputs: Vec<&Var> = [pre_ids, pre_scores, scores, lengths].into_iter().chain(ids).collect();
    bind(op, &inputs).map(Outputs::into_vec)
}

attributes! {
    /// The op behind [`beam_search`].
    pub struct BeamSearch = "beam_search" {
        /// How many candidates each source keeps.
        pub beam_size: usize,
        /// The number that ends a sentence.
        pub end_id: i64,
        /// Whether scores are those of whole beginnings.
        pub is_accumulated: bool,
    }
}

/// What may follow a prefix.
#[derive(Clone, Copy)]
struct Candidate {
    prefix: usize,
    id: i64,
    score: f64,
}

impl BeamSearch {
    /// The best candidates of the prefixes `from..to`, best first; of equal ones, those of later prefixes.
    fn best(&self, of: &dyn Fn(usize) -> Vec<Candidate>, from: usize, to: usize) -> Vec<Candidate> {
        let mut all: Vec<Candidate> = (from..to).flat_map(of).collect();
        all.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.prefix.cmp(&a.prefix)));
        all.truncate(self.beam_size);
        all
    }
}

impl Op for BeamSearch {
    fn arity(&self) -> Arity {
        Arity::AtLeast(4)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (pre_ids, pre_scores, scores) = (inputs[0], inputs[1], inputs[2]);
        is_lengths(inputs[3])?;
        let &[prefixes, _] = scores.dims() else {
            return Err(Error::shape(format!(
                "expected scores [prefixes, candidates], found {scores}"
            )));
        };
        let fits = pre_ids.dtype() == DType::I64
            && pre_ids.dims() == [prefixes]
            && pre_scores.dims() == [prefixes]
            && scores.is_float()
            && pre_scores.dtype() == scores.dtype();
        if !fits {
            return Err(Error::shape(format!(
                "expected a last number (i64) and a score for each of {prefixes} prefixes, found \
                 {pre_ids} and {pre_scores}"
            )));
        }
        if let Some(ids) = inputs.get(4)
            && (ids.dtype() != DType::I64 || ids.dims() != scores.dims())
        {
            return Err(Error::shape(format!("the candidates {ids} are not those of {scores}")));
        }
        if inputs.len() > 5 {
            return Err(Error::argument(format!("{} inputs are too many", inputs.len())));
        }
        if self.beam_size == 0 {
            return Err(Error::argument("a beam keeps at least one candidate"));
        }
        let kept = [Dim::fresh(0)];
        let numbers = pre_ids.with_dims(&kept)?;
        Ok(smallvec![numbers, scores.with_dims(&kept)?, numbers, pre_ids.with_dims(&[prefixes])?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let pre_ids = inputs[0].tensor()?.to_vec::<i64>()?;
        let (pre_scores, table) = (inputs[1].tensor()?.to_f64s(), inputs[2].tensor()?);
        let (scores, width) = (table.to_f64s(), table.dims()[1]);
        let sources = lengths_of(inputs[3], Some(pre_ids.len()))?;
        let ids = inputs.get(4).map(|ids| ids.tensor()?.to_vec::<i64>()).transpose()?;
        let candidates = |prefix: usize| {
            if pre_ids[prefix] == self.end_id {
                return vec![Candidate { prefix, id: self.end_id, score: pre_scores[prefix] }];
            }
            let candidate = |place: usize| {
                let at = prefix * width + place;
                let score = match self.is_accumulated {
                    true => scores[at],
                    false => pre_scores[prefix] + scores[at].ln(),
                };
                Candidate { prefix, id: ids.as_ref().map_or(place as i64, |ids| ids[at]), score }
            };
            (0..width).map(candidate).collect()
        };
        let (mut kept, mut counts) = (Vec::new(), vec![0i64; pre_ids.len()]);
        let mut start = 0;
        for &length in &sources {
            let mut best = self.best(&candidates, start, start + length);
            let has_ended = |c: &Candidate| c.id == self.end_id && pre_ids[c.prefix] == self.end_id;
            if best.iter().all(has_ended) {
                best.clear();
            }
            best.sort_by_key(|candidate| candidate.prefix);
            best.iter().for_each(|candidate| counts[candidate.prefix] += 1);
            kept.extend(best);
            start += length;
        }
        let n = [kept.len()];
        let numbers = |of: &dyn Fn(&Candidate) -> i64| {
            Tensor::from_vec(kept.iter().map(of).collect::<Vec<i64>>(), &n)
        };
        let scores: Vec<f64> = kept.iter().map(|candidate| candidate.score).collect();
        Ok(smallvec![
            numbers(&|candidate| candidate.id)?.into(),
            Tensor::from_f64s(table.dtype(), &scores, &n)?.into(),
            numbers(&|candidate| candidate.prefix as i64)?.into(),
            Tensor::from_vec(counts, &[pre_ids.len()])?.into()
        ])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("a search chooses")
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(BeamSearch::NAME, BeamSearch::build, || {
    let of = |beam_size, is_accumulated| BeamSearch { beam_size, end_id: 0, is_accumulated };
    let column = |x: &[i64]| i64s(x, &[x.len()]);
    // Two sources with two prefixes each; one prefix of the first and both of the second have ended.
    let pre_ids = column(&[3, 0, 0, 0]);
    let pre_scores = f64s(&[-1.0, -2.5, -1.0, -2.0], &[4]);
    let scores = f64s(&[-2.0, -3.0, -9.0, -9.0, -9.0, -9.0, -9.0, -9.0], &[4, 2]);
    let ids = i64s(&[4, 5, 6, 7, 8, 9, 1, 2], &[4, 2]);
    let lengths = column(&[2, 2]);
    vec![
        Sample::new(
            of(2, true),
            [pre_ids.clone(), pre_scores.clone(), scores.clone(), lengths.clone(), ids.clone()],
        )
        .gives([
            column(&[4, 0]),
            f64s(&[-2.0, -2.5], &[2]),
            column(&[0, 1]),
            column(&[1, 1, 0, 0]),
        ]),
        Sample::new(
            of(2, false),
            [column(&[1]), f64s(&[-1.0], &[1]), f64s(&[0.5, 0.25, 0.125], &[1, 3]), column(&[1])],
        )
        .gives([
            column(&[0, 1]),
            f64s(&[-1.0 + 0.5f64.ln(), -1.0 + 0.25f64.ln()], &[2]),
            column(&[0, 0]),
            column(&[2]),
        ]),
        Sample::new(
            of(1, true),
            [pre_ids.clone(), pre_scores.clone(), scores.clone(), column(&[1])],
        )
        .refused("add up to 1, but there are 4 rows"),
        Sample::new(
            of(0, true),
            [pre_ids.clone(), pre_scores.clone(), scores.clone(), lengths.clone()],
        )
        .refused("at least one candidate"),
        Sample::new(of(1, true), [column(&[1]), pre_scores, scores, lengths])
            .refused("for each of 4 prefixes"),
    ]
});
