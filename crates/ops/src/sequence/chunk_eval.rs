//! `chunk_eval`: how many chunks of sequences of tags were found.

use super::rows::{is_lengths, lengths_of};
use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{gt, maximum, narrow, where_};

choices! {
    /// How tags mark chunks.
    pub enum ChunkScheme {
        /// A chunk is a run of equal tags.
        Plain = "plain",
        /// The first row of a chunk and its others have tags of their own.
        Iob = "IOB",
        /// The last row of a chunk and its others have tags of their own.
        Ioe = "IOE",
        /// First, inner and last rows, and chunks of one row, have tags of their own.
        Iobes = "IOBES",
    }
}

options! {
    /// How chunks are told and counted.
    pub struct ChunkEvalOptions {
        /// How tags mark chunks.
        pub chunk_scheme: ChunkScheme = ChunkScheme::Iob,
        /// How many kinds of chunks there are.
        pub num_chunk_types: usize = 1,
        /// Kinds of chunks that are not counted.
        pub excluded_chunk_types: Vec<i64> = Vec::new(),
    }
}

/// Precision, recall and F1 score (`f32[1]`) of the chunks in `inference` against those in `label`, then the number
/// of chunks found, of those that there are, and of those found rightly (`i64[1]`). A tag is the kind of its chunk
/// times the number of marks of the scheme, plus its mark, in the order first, inner, last, single; the tag
/// behind all others is outside of chunks. Both are `i64[rows]`, with the same `lengths`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// // One chunk of two rows, of which the first was taken for a chunk, and the second for another.
/// let (found, label) = (Var::of(&[0i64, 0, 2], &[3])?, Var::of(&[0i64, 1, 2], &[3])?);
/// let options = ChunkEvalOptions::default();
/// let all = chunk_eval(&found, &label, &Var::of(&[3i64], &[1])?, options)?;
/// assert_eq!(all[3].to_vec::<i64>()?, [2]);
/// assert_eq!(all[5].to_vec::<i64>()?, [0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn chunk_eval(
    inference: &Var,
    label: &Var,
    lengths: &Var,
    options: ChunkEvalOptions,
) -> Result<Vec<Var>> {
    let _line = at(scope::user_line());
    let inference = super::rows::on_one_axis("chunk_eval", inference)?;
    let label = super::rows::on_one_axis("chunk_eval", label)?;
    judged("chunk_eval", &[&inference], |_| match options.num_chunk_types {
        0 => Err(Error::argument("there is at least one kind of chunks")),
        _ => Ok(()),
    })?;
    let op = ChunkCounts {
        chunk_scheme: options.chunk_scheme,
        num_chunk_types: options.num_chunk_types,
        excluded_chunk_types: options.excluded_chunk_types,
    };
    let counts = bind1(op, &[&inference, &label, lengths])?;
    let count = |i: usize| narrow(&counts, 0, Dim::size(i), Dim::size(1));
    let (found, all, right) = (count(0)?, count(1)?, count(2)?);
    let float = |x: &Var| cast(x, DType::F32);
    let share = |of: &Var| div(&float(&right)?, &float(&maximum(of, &Var::scalar(1i64))?)?);
    let (precision, recall) = (share(&found)?, share(&all)?);
    let sum = add(&precision, &recall)?;
    let some = gt(&sum, &Var::scalar(0.0f32))?;
    let one = Var::scalar(1.0f32);
    let f1 = mul(&precision, &recall)? * Var::scalar(2.0f32) / where_(&some, &sum, &one)?;
    Ok(vec![precision, recall, f1, found, all, right])
}

attributes! {
    /// The numbers of chunks found, of those that there are, and of those found rightly: `i64[3]`.
    pub struct ChunkCounts = "chunk_counts" {
        /// How tags mark chunks.
        pub chunk_scheme: ChunkScheme,
        /// How many kinds of chunks there are.
        pub num_chunk_types: usize,
        /// Kinds of chunks that are not counted.
        pub excluded_chunk_types: Vec<i64>,
    }
}

/// The part that a row plays in its chunk.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    First,
    Inner,
    Last,
    Single,
    /// The scheme tells nothing.
    Any,
}

/// A chunk: first row, row behind the last, kind.
type Chunk = (usize, usize, usize);

impl ChunkScheme {
    fn marks(self) -> &'static [Mark] {
        match self {
            ChunkScheme::Plain => &[Mark::Any],
            ChunkScheme::Iob => &[Mark::First, Mark::Inner],
            ChunkScheme::Ioe => &[Mark::Inner, Mark::Last],
            ChunkScheme::Iobes => &[Mark::First, Mark::Inner, Mark::Last, Mark::Single],
        }
    }
}

impl ChunkCounts {
    /// The kind of a tag's chunk and its mark; nothing outside of chunks.
    fn read(&self, tag: i64) -> Result<Option<(usize, Mark)>> {
        let marks = self.chunk_scheme.marks();
        let n_tags = marks.len() * self.num_chunk_types;
        match usize::try_from(tag) {
            Ok(tag) if tag < n_tags => Ok(Some((tag / marks.len(), marks[tag % marks.len()]))),
            Ok(tag) if tag == n_tags => Ok(None),
            _ => Err(Error::argument(format!("tag {tag} is none of 0 to {n_tags}"))
                .remedy("the tag behind all others is outside of chunks")),
        }
    }

    fn chunks(&self, tags: &[i64]) -> Result<Vec<Chunk>> {
        let mut found = Vec::new();
        let mut open: Option<(usize, usize)> = None;
        let mut before: Option<(usize, Mark)> = None;
        for (row, &tag) in tags.iter().enumerate() {
            let now = self.read(tag)?;
            let continues = match (before, now) {
                (Some((old, was)), Some((kind, mark))) => {
                    old == kind
                        && !matches!(was, Mark::Last | Mark::Single)
                        && !matches!(mark, Mark::First | Mark::Single)
                }
                _ => false,
            };
            if !continues {
                found.extend(open.take().map(|(start, kind)| (start, row, kind)));
                open = now.map(|(kind, _)| (row, kind));
            }
            before = now;
        }
        found.extend(open.map(|(start, kind)| (start, tags.len(), kind)));
        found.retain(|chunk| !self.excluded_chunk_types.contains(&(chunk.2 as i64)));
        Ok(found)
    }
}

impl Op for ChunkCounts {
    fn arity(&self) -> Arity {
        Arity::Exactly(3)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        is_lengths(inputs[2])?;
        let fits = inputs[0] == inputs[1]
            && inputs[0].rank() == 1
            && inputs[0].dtype() == DType::I64
            && !inputs[0].is_list();
        match fits {
            true => Ok(smallvec![Type::new(DType::I64, &[Dim::size(3)])?]),
            false => Err(Error::shape(format!(
                "expected tags i64[rows] found and given, not {} and {}",
                inputs[0], inputs[1]
            ))),
        }
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let tags = |i: usize| inputs[i].tensor()?.to_vec::<i64>();
        let (inference, label) = (tags(0)?, tags(1)?);
        let mut counts = [0i64; 3];
        let mut start = 0;
        for length in lengths_of(inputs[2], Some(label.len()))? {
            let own = start..start + length;
            let found = self.chunks(&inference[own.clone()])?;
            let given = self.chunks(&label[own])?;
            let right = found.iter().filter(|chunk| given.binary_search(chunk).is_ok()).count();
            for (sum, count) in counts.iter_mut().zip([found.len(), given.len(), right]) {
                *sum += count as i64;
            }
            start += length;
        }
        Ok(smallvec![Tensor::from_slice(&counts, &[3])?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("numbers of chunks are integers")
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ChunkCounts::NAME, ChunkCounts::build, || {
    let of = |chunk_scheme, num_chunk_types, excluded: &[i64]| ChunkCounts {
        chunk_scheme,
        num_chunk_types,
        excluded_chunk_types: excluded.to_vec(),
    };
    let column = |x: &[i64]| i64s(x, &[x.len()]);
    // Two kinds; 4 is outside. Chunks of the labels: 0..2 of kind 0, 3..4 of kind 1; then 0..1 of kind 0.
    let label = column(&[0, 1, 4, 2, 0]);
    let found = column(&[0, 1, 2, 3, 0]);
    let lengths = column(&[4, 1]);
    let three = |x: [i64; 3]| i64s(&x, &[3]);
    let inputs = || [found.clone(), label.clone(), lengths.clone()];
    vec![
        Sample::new(of(ChunkScheme::Iob, 2, &[]), inputs()).gives([three([3, 3, 2])]),
        Sample::new(of(ChunkScheme::Iob, 2, &[1]), inputs()).gives([three([2, 2, 2])]),
        Sample::new(of(ChunkScheme::Ioe, 2, &[]), inputs()).gives([three([3, 3, 2])]),
        Sample::new(of(ChunkScheme::Plain, 4, &[]), inputs()).gives([three([5, 4, 3])]),
        Sample::new(of(ChunkScheme::Iobes, 1, &[]), inputs()).gives([three([3, 3, 2])]),
        Sample::new(of(ChunkScheme::Iob, 1, &[]), inputs()).refused("tag 3 is none of 0 to 2"),
        Sample::new(of(ChunkScheme::Iob, 2, &[]), [found, ramp(&[5]), lengths])
            .refused("found and given"),
    ]
});
