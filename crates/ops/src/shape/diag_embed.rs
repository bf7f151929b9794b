//! `diag_embed` and `diag`: matrices from their diagonals.

use super::derived::{distinct_axes, judged};
use super::diagonal::diagonal_len;
use super::{diagonal, diagonal::Diagonal};
use crate::prelude::*;

/// Square matrices, in two new axes of the result, that are zero but for a diagonal: the last axis
/// of `x`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = diag_embed(&Var::of(&[1.0, 2.0], &[2])?, 0, -2, -1)?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 0.0, 0.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn diag_embed(x: &Var, offset: i64, axis_a: i64, axis_b: i64) -> Result<Var> {
    let _line = at(scope::user_line());
    let size = judged("diag_embed", &[x], |types| match types[0].dims().last() {
        Some(len) => len.add(Dim::size(offset.unsigned_abs() as usize)),
        None => Err(Error::shape("a scalar is not a diagonal").remedy("give it an axis")),
    })?;
    bind1(DiagEmbed { offset, axis_a, axis_b, rows: size, columns: size }, &[x])
}

/// A square matrix with this vector as its diagonal; or the diagonal of a matrix. `offset` moves it
/// towards the columns, a negative one towards the rows.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let matrix = diag(&Var::of(&[1.0, 2.0], &[2])?, 0)?;
/// assert_eq!(matrix.to_vec::<f64>()?, [1.0, 0.0, 0.0, 2.0]);
/// assert_eq!(diag(&matrix, 0)?.to_vec::<f64>()?, [1.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn diag(x: &Var, offset: i64) -> Result<Var> {
    let _line = at(scope::user_line());
    let rank = judged("diag", &[x], |types| match types[0].rank() {
        rank @ 1..=2 => Ok(rank),
        rank => Err(Error::shape(format!("expected a vector or a matrix, found {rank} axes"))
            .remedy("use `diagonal` or `diag_embed` for further axes")),
    })?;
    match rank {
        1 => diag_embed(x, offset, 0, 1),
        _ => diagonal(x, offset, 0, 1),
    }
}

attributes! {
    /// The op behind [`diag_embed`].
    pub struct DiagEmbed = "diag_embed" {
        /// How far the diagonal lies to the right of the main one.
        pub offset: i64,
        /// The axis of rows in the result.
        pub axis_a: i64,
        /// The axis of columns in the result.
        pub axis_b: i64,
        /// The number of rows.
        pub rows: Dim,
        /// The number of columns.
        pub columns: Dim,
    }
}

impl DiagEmbed {
    /// The axes of rows and columns in a result of this rank.
    fn axes(&self, rank: usize) -> Result<Vec<usize>> {
        distinct_axes(&[self.axis_a, self.axis_b], rank)
    }
}

impl Op for DiagEmbed {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let Some((&len, others)) = inputs[0].dims().split_last() else {
            return Err(Error::shape("a scalar is not a diagonal"));
        };
        if inputs[0].is_list() {
            return Err(Error::dtype("a list has no axes"));
        }
        let axes = self.axes(others.len() + 2)?;
        let expected = diagonal_len(self.rows, self.columns, self.offset)?;
        if len != expected {
            return Err(Error::shape(format!(
                "the diagonal of {} by {} has {expected} elements, not {len}",
                self.rows, self.columns
            )));
        }
        let mut others = others.iter().copied();
        let dim = |axis: usize| match axis {
            _ if axis == axes[0] => self.rows,
            _ if axis == axes[1] => self.columns,
            _ => others.next().unwrap_or(Dim::size(1)),
        };
        let dims: SmallVec<[Dim; 8]> = (0..inputs[0].rank() + 1).map(dim).collect();
        Ok(smallvec![inputs[0].with_dims(&dims)?])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let dims = known_sizes(&outs[0])?;
        let axes = self.axes(dims.len())?;
        let stride =
            |axis: usize| dims[axis + 1..].iter().fold(1, |all: usize, &n| all.saturating_mul(n));
        let others = (0..dims.len()).filter(|axis| !axes.contains(axis));
        let mut strides: Vec<usize> = others.map(stride).collect();
        strides.push(stride(axes[0]).saturating_add(stride(axes[1])));
        let side = if self.offset < 0 { stride(axes[0]) } else { stride(axes[1]) };
        let first = (self.offset.unsigned_abs() as usize).saturating_mul(side);
        Ok(smallvec![kernels::place(inputs[0].tensor()?, &dims, first, &strides, false)?.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = |named| batch.axis(named, batch.rank(0) + 1);
        let (axis_a, axis_b) = (axis(self.axis_a), axis(self.axis_b));
        batch.with(DiagEmbed { axis_a, axis_b, ..self.clone() })
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| {
            let DiagEmbed { offset, axis_a, axis_b, .. } = *p.op::<DiagEmbed>()?;
            grads![p => bind1(Diagonal { offset, axis_a, axis_b }, &[&p.dy()])]
        })
    }

    fn kernel(&self, _: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let axes = self.axes(outs[0].rank())?;
        let all = kernel::distances(outs[0].dims())?;
        let others = (0..outs[0].rank()).filter(|axis| !axes.contains(axis));
        let mut steps: SmallVec<[Whole; 8]> = others.map(|axis| all[axis].into()).collect();
        steps.push(all[axes[0]].add(all[axes[1]])?.into());
        let side = if self.offset < 0 { all[axes[0]] } else { all[axes[1]] };
        let first = side.mul(Dim::size(self.offset.unsigned_abs() as usize))?;
        let parts = vec![Placed { first, steps }];
        Ok(Some(Kernel::Placed { zero: true, add: false, parts }))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(DiagEmbed::NAME, DiagEmbed::build, || {
    let by = |offset, axes: [i64; 2], size: [usize; 2]| DiagEmbed {
        offset,
        axis_a: axes[0],
        axis_b: axes[1],
        rows: Dim::size(size[0]),
        columns: Dim::size(size[1]),
    };
    let x = f64s(&[1.0, 2.0], &[2]);
    let rows = f64s(&[1.0, 2.0, 3.0, 4.0], &[2, 2]);
    vec![
        Sample::new(by(0, [0, 1], [2, 2]), [x.clone()])
            .gives([f64s(&[1.0, 0.0, 0.0, 2.0], &[2, 2])]),
        Sample::new(by(1, [0, 1], [2, 3]), [x.clone()])
            .gives([f64s(&[0.0, 1.0, 0.0, 0.0, 0.0, 2.0], &[2, 3])]),
        Sample::new(by(-1, [0, 1], [3, 2]), [x.clone()])
            .gives([f64s(&[0.0, 0.0, 1.0, 0.0, 0.0, 2.0], &[3, 2])]),
        Sample::new(by(0, [-1, 0], [2, 2]), [rows.clone()])
            .gives([f64s(&[1.0, 0.0, 3.0, 0.0, 0.0, 2.0, 0.0, 4.0], &[2, 2, 2])]),
        Sample::new(by(4, [0, 1], [2, 2]), [f64s(&[], &[0])]).gives([f64s(&[0.0; 4], &[2, 2])]),
        Sample::new(by(0, [0, 1], [3, 3]), [x.clone()]).refused("has 3 elements, not 2"),
        Sample::new(by(0, [0, 0], [2, 2]), [x]).refused("named twice"),
        Sample::new(by(0, [0, 1], [1, 1]), [f64s(&[1.0], &[])]).refused("not a diagonal"),
    ]
});
