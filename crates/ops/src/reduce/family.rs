//! What reductions share: axes, shapes, and the way back.

use crate::binary::{eq, where_};
use crate::prelude::*;
use crate::shape::{permute, reshape};
use crate::sum;
use crate::unary::sqrt;

/// Positions of extremes, in C.
pub(super) static ARG: Source = Source { name: "arg", text: include_str!("arg.c"), needs: &[] };

/// The function for devices.
pub(super) static ARG_SHADER: Shader = Shader {
    text: include_str!("arg.wgsl"),
    args: &["x", "y", "outer", "size", "inner", "greatest"],
    count: |n| n[2].int().saturating_mul(n[4].int()),
};

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

    /// The number of elements that become one.
    pub fn count(&self) -> Result<Dim> {
        self.axes.iter().try_fold(Dim::size(1), |all, &axis| all.mul(self.ty.dim(axis)))
    }

    /// Refuses a reduction over no elements, which have no such thing.
    pub fn not_empty(&self, what: &str) -> Result<()> {
        match self.axes.iter().any(|&axis| self.ty.dim(axis) == Dim::size(0)) {
            true => Err(Error::shape(format!("there is no {what} of no elements"))),
            false => Ok(()),
        }
    }

    /// The value with the reduced axes merged into one, at the end.
    #[track_caller]
    pub(crate) fn merged(&self, x: &Var) -> Result<Var> {
        let kept = (0..self.ty.rank()).filter(|axis| !self.axes.contains(axis));
        let order: Vec<i64> = kept.chain(self.axes.iter().copied()).map(|i| i as i64).collect();
        let mut dims = self.dims(false);
        dims.push(self.count()?);
        reshape(&permute(x, &order)?, &dims)
    }

    /// A value with merged axes as it was before.
    #[track_caller]
    pub(crate) fn unmerged(&self, y: &Var) -> Result<Var> {
        let kept = (0..self.ty.rank()).filter(|axis| !self.axes.contains(axis));
        let order: Vec<usize> = kept.chain(self.axes.iter().copied()).collect();
        let dims: Vec<Dim> = order.iter().map(|&axis| self.ty.dim(axis)).collect();
        let mut inverse = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &axis)| inverse[axis] = at as i64);
        permute(&reshape(y, &dims)?, &inverse)
    }

    /// The cotangent of the input of `max` or `min`: equal extremes share that of the output.
    pub(super) fn shared(&self, x: &Var, extreme: &Var, dy: &Var) -> Result<Var> {
        let extreme = self.with_axes_kept(extreme)?;
        let dy = self.with_axes_kept(dy)?;
        let hits = cast(&eq(x, &extreme)?, dy.dtype())?;
        let ties = sum(&hits, &self.axes_i64(), true)?;
        (hits * (dy / ties)).check()
    }

    /// The axes as attributes of another reduction. If there are none to reduce (a scalar), naming
    /// none means the same.
    pub fn axes_i64(&self) -> Vec<i64> {
        self.axes.iter().map(|&axis| axis as i64).collect()
    }
}

/// A reduction of a whole batch at once: the axes stand behind that of the batch.
pub(super) fn over_axes(
    batch: &Batch<'_>,
    axes: &[i64],
    keepdims: bool,
    op: impl Fn(Vec<i64>, bool) -> OpRef,
) -> Result<Option<Outputs>> {
    let rank = batch.rank(0);
    if rank == 0 {
        // Naming no axis means all, and that of the batch is none of them.
        return bind(op(vec![1], false), &[&batch.aligned(0, 1)?]).map(Some);
    }
    let named: Vec<i64> = match axes.is_empty() {
        true => (1..=rank as i64).collect(),
        false => axes.iter().map(|&axis| batch.axis(axis, rank)).collect(),
    };
    batch.with(op(named, keepdims))
}

/// The type of positions along an axis, and where the extreme elements are.
pub(super) fn positions_type(axis: i64, keepdims: bool, ty: &Type, what: &str) -> Result<Types> {
    let reduction = Reduction::new(&[axis], keepdims, ty)?;
    reduction.not_empty(what)?;
    reduction.infer(DType::I64)
}

/// The positions of the extreme elements along an axis.
pub(super) fn positions(max: bool, along: i64, x: &Value, out: &Type) -> Result<Values> {
    let x = x.tensor()?;
    let found = kernels::arg_reduce(max, x, axis(along, x.rank())?)?;
    Ok(smallvec![found.reshape(&known_sizes(out)?)?.into()])
}

/// The element type of sums and products: bools are counted.
pub(crate) fn summed(dtype: DType) -> DType {
    if dtype.is_bool() { DType::I64 } else { dtype }
}

/// A number of an element type.
pub(crate) fn number(value: f64, dtype: DType) -> Result<Var> {
    Ok(Var::new(Tensor::scalar(value).cast(dtype)?))
}

/// The value as floats in which sums of squares keep their digits, and the element type that the result
/// is to have: narrow floats are widened, integers become `f32`.
#[track_caller]
pub(super) fn widened(x: &Var) -> Result<(Var, DType)> {
    match x.dtype() {
        DType::F32 | DType::F64 | DType::C64 | DType::C128 => Ok((x.clone(), x.dtype())),
        narrow if narrow.is_float() => Ok((cast(x, DType::F32)?, narrow)),
        _ => Ok((cast(x, DType::F32)?, DType::F32)),
    }
}

/// The value in this element type.
#[track_caller]
pub(super) fn narrowed(x: &Var, dtype: DType) -> Result<Var> {
    if x.dtype() == dtype { Ok(x.clone()) } else { cast(x, dtype) }
}

/// The square root, whose gradient at zero is zero.
#[track_caller]
pub(super) fn sqrt_flat_at_zero(x: &Var) -> Result<Var> {
    let (zero, one) = (number(0.0, x.dtype())?, number(1.0, x.dtype())?);
    let at_zero = eq(x, &zero)?;
    where_(&at_zero, &zero, &sqrt(&where_(&at_zero, &one, x)?)?)
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
