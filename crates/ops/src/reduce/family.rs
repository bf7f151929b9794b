//! What reductions share: axes, shapes, and the way back.

use crate::prelude::*;
use crate::shape::reshape;

/// A reduction of a value over axes.
pub struct Reduction {
    /// The axes, counted from the front, in order.
    pub axes: SmallVec<[usize; 8]>,
    keepdims: bool,
    ty: Type,
}

impl Reduction {
    /// Over these axes of a value of this type; over all, if none are named.
    pub fn new(axes: &[i64], keepdims: bool, ty: &Type) -> Result<Reduction> {
        if ty.is_list() {
            return Err(Error::dtype("a list has no axes"));
        }
        let mut found: SmallVec<[usize; 8]> = SmallVec::new();
        for &named in axes {
            let axis = axis(named, ty.rank())?;
            if found.contains(&axis) {
                return Err(Error::argument(format!("axis {named} is named twice")));
            }
            found.push(axis);
        }
        if axes.is_empty() {
            found.extend(0..ty.rank());
        }
        found.sort_unstable();
        Ok(Reduction { axes: found, keepdims, ty: *ty })
    }

    /// The dims with the axes gone, or kept with size one.
    fn dims(&self, keepdims: bool) -> SmallVec<[Dim; 8]> {
        let mut dims = SmallVec::new();
        for (i, &dim) in self.ty.dims().iter().enumerate() {
            match (self.axes.contains(&i), keepdims) {
                (false, _) => dims.push(dim),
                (true, true) => dims.push(Dim::size(1)),
                (true, false) => {}
            }
        }
        dims
    }

    /// The type of the result.
    pub fn infer(&self, dtype: DType) -> Result<Types> {
        Ok(smallvec![Type::new(dtype, &self.dims(self.keepdims))?])
    }

    /// Reduces.
    pub fn eval(&self, kind: kernels::Reduce, x: &Tensor, out: &Type) -> Result<Values> {
        let reduced = kernels::reduce(kind, x, &self.axes, out.dtype())?;
        Ok(smallvec![reduced.reshape(&known_sizes(out)?)?.into()])
    }

    /// A result with the reduced axes put back, so that it broadcasts against the input.
    #[track_caller]
    pub fn with_axes_kept(&self, y: &Var) -> Result<Var> {
        match self.keepdims || self.axes.is_empty() {
            true => Ok(y.clone()),
            false => reshape(y, &self.dims(true)),
        }
    }

    /// The axes as attributes of another reduction. If there are none to reduce (a scalar), naming
    /// none means the same.
    pub fn axes_i64(&self) -> Vec<i64> {
        self.axes.iter().map(|&axis| axis as i64).collect()
    }
}

/// Samples of a reduction, judged by `reference` on each group of elements.
pub(super) fn samples(
    op: impl Fn(Vec<i64>, bool) -> OpRef,
    reference: fn(&[f64]) -> f64,
) -> Vec<Sample> {
    let x = ramp(&[2, 3]);
    let rows = x.to_f64s();
    let over_rows: Vec<f64> = (0..3).map(|j| reference(&[rows[j], rows[3 + j]])).collect();
    let over_columns: Vec<f64> = rows.chunks(3).map(reference).collect();
    let all = [reference(&rows)];
    vec![
        Sample::new(op(vec![0], false), [x.clone()]).gives([f64s(&over_rows, &[3])]),
        Sample::new(op(vec![-1], false), [x.clone()]).gives([f64s(&over_columns, &[2])]),
        Sample::new(op(vec![1], true), [x.clone()]).gives([f64s(&over_columns, &[2, 1])]),
        Sample::new(op(vec![], false), [x.clone()]).gives([f64s(&all, &[])]),
        Sample::new(op(vec![1, 0], true), [x.clone()]).gives([f64s(&all, &[1, 1])]),
        Sample::new(op(vec![], false), [f64s(&[0.5], &[])])
            .gives([f64s(&[reference(&[0.5])], &[])]),
        Sample::new(op(vec![2], false), [x.clone()]).refused("out of range"),
        Sample::new(op(vec![0, -2], false), [x]).refused("named twice"),
    ]
}
