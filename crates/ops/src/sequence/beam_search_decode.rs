//! `beam_search_decode`: the sentences that the steps of a beam search have kept.

use super::rows::{is_lengths, lengths_of};
use crate::prelude::*;

options! {
    /// What is known of a beam search.
    pub struct BeamSearchDecodeOptions {
        /// How many candidates each source keeps.
        pub beam_size: usize = 4,
        /// The number that ends a sentence.
        pub end_id: i64 = 0,
    }
}

/// The sentences of a beam search, best first for each source, from what its steps have kept, as
/// [`beam_search`](super::beam_search) gives it. For each step: `ids` and `scores` of the candidates,
/// `source_lengths`, how many prefixes each source had, and `prefix_lengths`, how many candidates each prefix kept.
///
/// Returns the numbers and scores of all sentences one after another, the number of sentences of each source, and
/// the length of each sentence. An ended sentence ends with `end_id` once.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let numbers = |x: &[i64]| Var::of(x, &[x.len()]);
/// let (first, second) = (numbers(&[5, 6])?, numbers(&[0, 0])?);
/// let scores = [Var::of(&[-1.0, -2.0], &[2])?, Var::of(&[-4.0, -3.0], &[2])?];
/// let (one, two) = (numbers(&[1])?, numbers(&[2])?);
/// let each = numbers(&[1, 1])?;
/// let found = beam_search_decode(
///     &[&first, &second],
///     &[&scores[0], &scores[1]],
///     &[&one, &two],
///     &[&two, &each],
///     BeamSearchDecodeOptions::default().beam_size(2usize),
/// )?;
/// assert_eq!(found[0].to_vec::<i64>()?, [6, 0, 5, 0]);
/// assert_eq!(found[2].to_vec::<i64>()?, [2]);
/// assert_eq!(found[3].to_vec::<i64>()?, [2, 2]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn beam_search_decode(
    ids: &[&Var],
    scores: &[&Var],
    source_lengths: &[&Var],
    prefix_lengths: &[&Var],
    options: BeamSearchDecodeOptions,
) -> Result<Vec<Var>> {
    let loc = scope::user_line();
    let counts = [scores.len(), source_lengths.len(), prefix_lengths.len()];
    if ids.is_empty() || counts.iter().any(|&count| count != ids.len()) {
        return Err(Error::argument(format!(
            "ids of {} steps with scores and lengths of {counts:?}",
            ids.len()
        ))
        .remedy("give all four for each step, and at least one step")
        .in_op("beam_search_decode", &[])
        .at(loc));
    }
    let mut inputs = Vec::new();
    for (i, ids) in ids.iter().enumerate() {
        inputs.extend([*ids, scores[i], source_lengths[i], prefix_lengths[i]]);
    }
    let BeamSearchDecodeOptions { beam_size, end_id } = options;
    bind(BeamSearchDecode { beam_size, end_id }, &inputs).map(Outputs::into_vec)
}

/// [`beam_search_decode`] of lists, which have an element for each step: for searches of which only the run knows how
/// many steps they have.
#[track_caller]
pub fn beam_search_decode_lists(
    ids: &Var,
    scores: &Var,
    source_lengths: &Var,
    prefix_lengths: &Var,
    options: BeamSearchDecodeOptions,
) -> Result<Vec<Var>> {
    let BeamSearchDecodeOptions { beam_size, end_id } = options;
    let inputs = [ids, scores, source_lengths, prefix_lengths];
    bind(BeamSearchDecode { beam_size, end_id }, &inputs).map(Outputs::into_vec)
}

attributes! {
    /// The op behind [`beam_search_decode`]. Its inputs are, for each step: numbers, scores, lengths of sources,
    /// lengths of prefixes; or four lists of these.
    pub struct BeamSearchDecode = "beam_search_decode" {
        /// How many candidates each source keeps.
        pub beam_size: usize,
        /// The number that ends a sentence.
        pub end_id: i64,
    }
}

/// What one step has kept.
struct Step {
    ids: Vec<i64>,
    scores: Vec<f64>,
    /// By source: its first prefix, and the one behind its last.
    sources: Vec<(usize, usize)>,
    /// By prefix: its first candidate, and the one behind its last.
    prefixes: Vec<(usize, usize)>,
}

fn ranges(lengths: &[usize]) -> Vec<(usize, usize)> {
    let mut start = 0;
    let next = |&length: &usize| {
        let from = start;
        start += length;
        (from, start)
    };
    lengths.iter().map(next).collect()
}

impl Step {
    fn of(inputs: &[&Value]) -> Result<Step> {
        let ids = inputs[0].tensor()?.to_vec::<i64>()?;
        let prefixes = lengths_of(inputs[3], Some(ids.len()))?;
        let sources = lengths_of(inputs[2], Some(prefixes.len()))?;
        let scores = inputs[1].tensor()?.to_f64s();
        Ok(Step { ids, scores, sources: ranges(&sources), prefixes: ranges(&prefixes) })
    }
}

/// The steps of a search, from its inputs, which may be lists.
fn steps(inputs: &[&Value]) -> Result<Vec<Step>> {
    if inputs[0].tensor().is_ok() {
        return inputs.chunks(4).map(Step::of).collect();
    }
    let lists = inputs.iter().map(|list| Ok(list.list()?.iter().collect::<Vec<_>>()));
    let lists = lists.collect::<Result<Vec<_>>>()?;
    let n_steps = lists[0].len();
    if let Some(other) = lists.iter().find(|list| list.len() != n_steps) {
        return Err(Error::argument(format!(
            "lists of {n_steps} and of {} steps do not go together",
            other.len()
        )));
    }
    // Lists are gone through from the top down.
    let step = |i: usize| Step::of(&lists.iter().map(|list| list[i]).collect::<Vec<_>>());
    let found = (0..n_steps).rev().map(step).collect::<Result<Vec<_>>>()?;
    let sources = |step: &Step| step.sources.len();
    match found.iter().all(|step| sources(step) == found.first().map_or(0, sources)) {
        true => Ok(found),
        false => Err(Error::argument("the steps of a search have different numbers of sources")),
    }
}

/// The types of what is found, of four lists.
fn types_of_lists(inputs: &[&Type]) -> Result<Types> {
    let elements: Vec<Type> = inputs.iter().filter_map(|ty| ty.element()).collect();
    let is_column = |ty: &Type| match ty.dims() {
        [_] => !ty.is_list(),
        [_, one] => !ty.is_list() && *one == Dim::size(1),
        _ => false,
    };
    let &[ids, scores, sources, prefixes] = elements.as_slice() else {
        return Err(Error::argument("four lists are wanted: numbers, scores and two of lengths"));
    };
    is_lengths(&sources)?;
    is_lengths(&prefixes)?;
    if ids.dtype() != DType::I64 || !is_column(&ids) || !scores.is_float() || !is_column(&scores) {
        return Err(Error::shape(format!(
            "a step has numbers i64[n] and scores [n], found {ids} and {scores}"
        )));
    }
    let sizes = |axis| [Dim::fresh(axis)];
    Ok(smallvec![
        ids.with_dims(&sizes(0))?,
        scores.with_dims(&sizes(0))?,
        ids.with_dims(&sizes(1))?,
        ids.with_dims(&sizes(2))?
    ])
}

/// A sentence that is gone through from its end.
struct Sentence {
    /// Numbers and scores, the last first.
    words: Vec<(i64, f64)>,
    /// The candidate of the step before that it continues.
    at: usize,
}

/// The sentences of one source, best first.
fn sentences(steps: &[Step], source: usize, end_id: i64) -> Vec<Sentence> {
    let mut found: Vec<Sentence> = Vec::new();
    for step in steps.iter().rev() {
        let (from, to) = step.sources[source];
        if found.is_empty() {
            // The last step, or the one at which the source was finished.
            for prefix in from..to {
                for candidate in step.prefixes[prefix].0..step.prefixes[prefix].1 {
                    let words = vec![(step.ids[candidate], step.scores[candidate])];
                    found.push(Sentence { words, at: prefix });
                }
            }
            continue;
        }
        for sentence in &mut found {
            let candidate = sentence.at;
            let Some(&id) = step.ids.get(candidate) else { continue };
            if id != end_id {
                sentence.words.push((id, step.scores[candidate]));
            }
            let parent = (from..to).find(|&prefix| candidate < step.prefixes[prefix].1);
            sentence.at = parent.unwrap_or(from);
        }
    }
    found.sort_by(|a, b| b.words[0].1.total_cmp(&a.words[0].1));
    found
}

impl Op for BeamSearchDecode {
    fn arity(&self) -> Arity {
        Arity::AtLeast(4)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if inputs.iter().any(|ty| ty.is_list()) {
            return types_of_lists(inputs);
        }
        if !inputs.len().is_multiple_of(4) {
            return Err(Error::argument(format!("{} inputs are not steps of four", inputs.len())));
        }
        let scores = inputs[1];
        for step in inputs.chunks(4) {
            is_lengths(step[2])?;
            is_lengths(step[3])?;
            let fits = step[0].dtype() == DType::I64
                && step[0].rank() == 1
                && step[1].dims() == step[0].dims()
                && step[1].dtype() == scores.dtype()
                && scores.is_float()
                && step[2].dims() == inputs[2].dims();
            if !fits {
                return Err(Error::shape(format!(
                    "a step has numbers i64[n], scores [n] and lengths of {} sources, found {}, \
                     {} and {}",
                    inputs[2].dim(0),
                    step[0],
                    step[1],
                    step[2]
                )));
            }
        }
        let (words, sentences) = ([Dim::fresh(0)], [Dim::fresh(1)]);
        Ok(smallvec![
            inputs[0].with_dims(&words)?,
            scores.with_dims(&words)?,
            *inputs[2],
            inputs[0].with_dims(&sentences)?
        ])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let steps = steps(inputs)?;
        let (mut ids, mut scores) = (Vec::new(), Vec::new());
        let (mut counts, mut lengths) = (Vec::new(), Vec::new());
        let n_sources = steps.first().map_or(0, |step| step.sources.len());
        for source in 0..n_sources {
            let found = sentences(&steps, source, self.end_id);
            counts.push(found.len() as i64);
            for sentence in &found {
                lengths.push(sentence.words.len() as i64);
                ids.extend(sentence.words.iter().rev().map(|word| word.0));
                scores.extend(sentence.words.iter().rev().map(|word| word.1));
            }
        }
        let (n, n_sentences) = (ids.len(), lengths.len());
        Ok(smallvec![
            Tensor::from_vec(ids, &[n])?.into(),
            Tensor::from_f64s(outs[1].dtype(), &scores, &[n])?.into(),
            Tensor::from_vec(counts, &[n_sources])?.into(),
            Tensor::from_vec(lengths, &[n_sentences])?.into()
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
pub const DEF: OpDef = OpDef::new(BeamSearchDecode::NAME, BeamSearchDecode::build, || {
    let op = || BeamSearchDecode { beam_size: 2, end_id: 0 };
    let column = |x: &[i64]| i64s(x, &[x.len()]);
    let first = [column(&[5, 6]), f64s(&[-1.0, -2.0], &[2]), column(&[1]), column(&[2])];
    let second = [column(&[7, 0]), f64s(&[-3.0, -2.5], &[2]), column(&[2]), column(&[1, 1])];
    let third = [column(&[0, 0]), f64s(&[-2.6, -2.5], &[2]), column(&[2]), column(&[1, 1])];
    let steps = [&first, &second, &third];
    let list = |part: usize| {
        let elements = steps.iter().map(|step| Value::from(step[part].clone()));
        Value::from(List::from_bottom(steps[0][part].ty(), elements).expect("elements of one rank"))
    };
    let lists: Vec<Value> = (0..4).map(list).collect();
    let all = || first.iter().chain(&second).chain(&third).cloned();
    vec![
        Sample::new(op(), all()).gives([
            column(&[6, 0, 5, 7, 0]),
            f64s(&[-2.0, -2.5, -1.0, -3.0, -2.6], &[5]),
            column(&[2]),
            column(&[2, 3]),
        ]),
        Sample::new(op(), first.clone()).gives([
            column(&[5, 6]),
            f64s(&[-1.0, -2.0], &[2]),
            column(&[2]),
            column(&[1, 1]),
        ]),
        Sample::new(op(), all().take(7)).refused("not steps of four"),
        Sample::of_values(op(), lists.clone()).gives([
            column(&[6, 0, 5, 7, 0]),
            f64s(&[-2.0, -2.5, -1.0, -3.0, -2.6], &[5]),
            column(&[2]),
            column(&[2, 3]),
        ]),
        Sample::of_values(op(), lists.into_iter().take(3).chain([column(&[1]).into()]))
            .refused("four lists are wanted"),
        Sample::new(op(), [column(&[5]), ramp(&[2]), column(&[1]), column(&[1])])
            .refused("a step has numbers"),
        Sample::new(op(), [column(&[5]), ramp(&[1]), column(&[2]), column(&[1])])
            .refused("add up to 2, but there are 1 rows"),
    ]
});
