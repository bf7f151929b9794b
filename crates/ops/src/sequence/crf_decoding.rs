//! `crf_decoding`: the most probable labels of a linear-chain conditional random field.

use super::linear_chain_crf::tags;
use super::rows::{is_lengths, lengths_of};
use crate::prelude::*;

/// The tags of each sequence, `i64[rows]`, with the greatest score: see
/// [`linear_chain_crf`](super::linear_chain_crf) for what the scores are. Of equal ones, the first tags.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (emission, lengths) = (Var::of(&[0.0, 1.0, 2.0, 0.0], &[2, 2])?, Var::of(&[2i64], &[1])?);
/// let tags = crf_decoding(&emission, &Var::of(&[0.0; 8], &[4, 2])?, &lengths)?;
/// assert_eq!(tags.to_vec::<i64>()?, [1, 0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn crf_decoding(emission: &Var, transition: &Var, lengths: &Var) -> Result<Var> {
    bind1(CrfDecoding {}, &[emission, transition, lengths])
}

attributes! {
    /// The op behind [`crf_decoding`].
    pub struct CrfDecoding = "crf_decoding" {}
}

/// The best tags of one sequence, whose scores are `[steps, tags]`.
fn best(scores: &[f64], transition: &[f64], n_tags: usize) -> Vec<i64> {
    let between = |from: usize, to: usize| transition[(2 + from) * n_tags + to];
    let greatest = |of: &dyn Fn(usize) -> f64| {
        (1..n_tags).fold(0, |best, tag| if of(tag) > of(best) { tag } else { best })
    };
    let mut sums: Vec<f64> = (0..n_tags).map(|tag| transition[tag] + scores[tag]).collect();
    let mut from = Vec::new();
    for step in scores.chunks(n_tags).skip(1) {
        let origin: Vec<usize> =
            (0..n_tags).map(|tag| greatest(&|other| sums[other] + between(other, tag))).collect();
        sums = (0..n_tags)
            .map(|tag| sums[origin[tag]] + between(origin[tag], tag) + step[tag])
            .collect();
        from.push(origin);
    }
    let mut tag = greatest(&|tag| sums[tag] + transition[n_tags + tag]);
    let mut path = vec![tag as i64];
    for origin in from.iter().rev() {
        tag = origin[tag];
        path.push(tag as i64);
    }
    path.reverse();
    path
}

impl Op for CrfDecoding {
    fn arity(&self) -> Arity {
        Arity::Exactly(3)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        tags(inputs[0], inputs[1])?;
        is_lengths(inputs[2])?;
        Ok(smallvec![inputs[2].with_dims(&inputs[0].dims()[..1])?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let emission = inputs[0].tensor()?;
        let &[rows, n_tags] = emission.dims() else {
            return Err(Error::internal("scores have been judged"));
        };
        let lengths = lengths_of(inputs[2], Some(rows))?;
        if n_tags == 0 && rows > 0 {
            return Err(Error::argument("there are no tags to choose from"));
        }
        let (scores, transition) = (emission.to_f64s(), inputs[1].tensor()?.to_f64s());
        let mut path = Vec::with_capacity(rows);
        for &length in lengths.iter().filter(|&&length| length > 0) {
            let start = path.len() * n_tags;
            let own = &scores[start..start + length * n_tags];
            path.extend(best(own, &transition, n_tags));
        }
        Ok(smallvec![Tensor::from_vec(path, &[rows])?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("tags are integers")
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(CrfDecoding::NAME, CrfDecoding::build, || {
    let emission = f64s(&[1.0, 0.0, 0.0, 1.0, 0.0, 0.5], &[3, 2]);
    let free = f64s(&[0.0; 8], &[4, 2]);
    // Staying is worth more than any score, and ending with tag 1 even more.
    let sticky = f64s(&[0.0, 0.0, 0.0, 9.0, 5.0, 0.0, 0.0, 5.0], &[4, 2]);
    let lengths = i64s(&[2, 0, 1], &[3]);
    vec![
        Sample::new(CrfDecoding {}, [emission.clone(), free.clone(), lengths.clone()])
            .gives([i64s(&[0, 1, 1], &[3])]),
        Sample::new(CrfDecoding {}, [emission.clone(), sticky, lengths.clone()])
            .gives([i64s(&[1, 1, 1], &[3])]),
        Sample::new(CrfDecoding {}, [emission.clone(), ramp(&[3, 2]), lengths.clone()])
            .refused("[tags + 2, tags]"),
        Sample::new(CrfDecoding {}, [emission, free.clone(), i64s(&[2], &[1])])
            .refused("add up to 2, but there are 3 rows"),
        Sample::new(CrfDecoding {}, [ramp(&[3]), free, lengths]).refused("expected scores"),
    ]
});
