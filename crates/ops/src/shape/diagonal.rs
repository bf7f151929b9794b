//! `diagonal`: the diagonal of matrices.

use super::derived::distinct_axes;
use super::diag_embed::DiagEmbed;
use crate::prelude::*;

/// The diagonal of the matrices in two axes, as a last axis in place of the two, without a copy.
/// `offset` moves it towards the columns, a negative one towards the rows.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!(diagonal(&x, 0, 0, 1)?.to_vec::<f64>()?, [1.0, 4.0]);
/// assert_eq!(diagonal(&x, 1, -2, -1)?.to_vec::<f64>()?, [2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn diagonal(x: &Var, offset: i64, axis_a: i64, axis_b: i64) -> Result<Var> {
    bind1(Diagonal { offset, axis_a, axis_b }, &[x])
}

attributes! {
    /// The op behind [`diagonal`].
    pub struct Diagonal = "diagonal" {
        /// How far the diagonal lies to the right of the main one.
        pub offset: i64,
        /// The axis of rows.
        pub axis_a: i64,
        /// The axis of columns.
        pub axis_b: i64,
    }
}

/// The number of elements of the diagonal of a matrix.
pub(super) fn diagonal_len(rows: Dim, columns: Dim, offset: i64) -> Result<Dim> {
    let down = offset.min(0).unsigned_abs() as usize;
    let right = offset.max(0).unsigned_abs() as usize;
    match (rows.value(), columns.value()) {
        (Some(n), Some(m)) => Ok(Dim::size(n.saturating_sub(down).min(m.saturating_sub(right)))),
        _ if rows == columns => rows.sub(Dim::size(down.max(right))),
        _ => Err(Error::shape(format!("whether {rows} or {columns} is less is not known"))
            .remedy("only square matrices, or those of known sizes, have a known diagonal")),
    }
}

impl Op for Diagonal {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if inputs[0].is_list() {
            return Err(Error::dtype("a list has no axes"));
        }
        let axes = distinct_axes(&[self.axis_a, self.axis_b], inputs[0].rank())?;
        let len = diagonal_len(inputs[0].dim(axes[0]), inputs[0].dim(axes[1]), self.offset)?;
        let others = (0..inputs[0].rank()).filter(|axis| !axes.contains(axis));
        let mut dims: SmallVec<[Dim; 8]> = others.map(|axis| inputs[0].dim(axis)).collect();
        dims.push(len);
        Ok(smallvec![inputs[0].with_dims(&dims)?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        let (a, b) = (axis(self.axis_a, x.rank())?, axis(self.axis_b, x.rank())?);
        Ok(smallvec![x.diagonal(a, b, self.offset as isize)?.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = |named| batch.axis(named, batch.rank(0));
        let (axis_a, axis_b) = (axis(self.axis_a), axis(self.axis_b));
        batch.with(Diagonal { axis_a, axis_b, ..self.clone() })
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| {
            let Diagonal { offset, axis_a, axis_b } = *p.op::<Diagonal>()?;
            let ty = p.in_type(0)?;
            let rows = ty.dim(axis(axis_a, ty.rank())?);
            let columns = ty.dim(axis(axis_b, ty.rank())?);
            grads![p => bind1(DiagEmbed { offset, axis_a, axis_b, rows, columns }, &[&p.dy()])]
        })
    }

    fn properties(&self) -> Properties {
        Properties::VIEW
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let axes = distinct_axes(&[self.axis_a, self.axis_b], inputs[0].rank())?;
        let mut view = View::whole(inputs[0].rank());
        let side = if self.offset < 0 { axes[0] } else { axes[1] };
        view.start[side] = Dim::size(self.offset.unsigned_abs() as usize);
        let others = (0..inputs[0].rank()).filter(|axis| !axes.contains(axis));
        view.axes = others.map(|axis| smallvec![(axis, 1)]).collect();
        view.axes.push(smallvec![(axes[0], 1), (axes[1], 1)]);
        Ok(Some(Kernel::View(view)))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Diagonal::NAME, Diagonal::build, || {
    let by = |offset, axis_a, axis_b| Diagonal { offset, axis_a, axis_b };
    let x = f64s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
    let cube = f64s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &[2, 2, 2]);
    vec![
        Sample::new(by(0, 0, 1), [x.clone()]).gives([f64s(&[1.0, 5.0], &[2])]),
        Sample::new(by(1, 0, 1), [x.clone()]).gives([f64s(&[2.0, 6.0], &[2])]),
        Sample::new(by(-1, 0, 1), [x.clone()]).gives([f64s(&[4.0], &[1])]),
        Sample::new(by(1, -1, 0), [x.clone()]).gives([f64s(&[4.0], &[1])]),
        Sample::new(by(5, 0, 1), [x.clone()]).gives([f64s(&[], &[0])]),
        Sample::new(by(0, 0, 2), [cube.clone()]).gives([f64s(&[1.0, 6.0, 3.0, 8.0], &[2, 2])]),
        Sample::new(by(0, 1, 2), [cube]).gives([f64s(&[1.0, 4.0, 5.0, 8.0], &[2, 2])]),
        Sample::new(by(0, 1, -1), [x.clone()]).refused("named twice"),
        Sample::new(by(0, 0, 2), [x]).refused("out of range"),
    ]
});
