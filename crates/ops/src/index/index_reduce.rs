//! `index_reduce`: slices combined with those at positions of an axis.

use super::gather::is_index;
use super::{gather, index_add};
use crate::binary::{eq, where_};
use crate::prelude::*;

choices! {
    /// How updates are combined with what is there.
    pub enum ScatterReduction {
        /// Multiplied.
        Prod = "prod",
        /// The greater one stays.
        Max = "max",
        /// The smaller one stays.
        Min = "min",
    }
}

/// `x` with the slices of `updates` combined with its own along an axis at the positions in
/// `index`. `updates` has the shape that [`gather`] gives. Elements that are equally great, or
/// small, share the gradient.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0], &[2])?;
/// let (index, updates) = (Var::of(&[1i64, 1], &[2])?, Var::of(&[3.0, 5.0], &[2])?);
/// let y = index_reduce(&x, &index, &updates, 0, ScatterReduction::Prod)?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 30.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn index_reduce(
    x: &Var,
    index: &Var,
    updates: &Var,
    axis: i64,
    reduction: ScatterReduction,
) -> Result<Var> {
    bind1(IndexReduce { axis, reduction }, &[x, index, updates])
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "index_reduce", text: include_str!("index_reduce.c"), needs: &[] };

attributes! {
    /// The op behind [`index_reduce`].
    pub struct IndexReduce = "index_reduce" {
        /// The axis.
        pub axis: i64,
        /// How updates are combined with what is there.
        pub reduction: ScatterReduction,
    }
}

impl Op for IndexReduce {
    fn arity(&self) -> Arity {
        Arity::Exactly(3)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (x, index, updates) = (inputs[0], inputs[1], inputs[2]);
        if x.is_list() || updates.is_list() || x.dtype().is_bool() {
            return Err(Error::dtype("only numbers can be combined"));
        }
        is_index(index)?;
        let axis = axis(self.axis, x.rank())?;
        let slices = x.dims()[..axis].iter().chain(index.dims()).chain(&x.dims()[axis + 1..]);
        if !slices.eq(updates.dims()) || x.dtype() != updates.dtype() {
            return Err(Error::shape(format!(
                "{updates} are not the slices of {x} along axis {axis} at {index}"
            )));
        }
        Ok(smallvec![*x])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (x, index, updates) = (inputs[0].tensor()?, inputs[1].tensor()?, inputs[2].tensor()?);
        let kind = match self.reduction {
            ScatterReduction::Prod => kernels::Reduce::Prod,
            ScatterReduction::Max => kernels::Reduce::Max,
            ScatterReduction::Min => kernels::Reduce::Min,
        };
        let axis = axis(self.axis, x.rank())?;
        Ok(smallvec![kernels::index_fold(kind, x, axis, index, updates)?.into()])
    }

    fn fails(&self, inputs: &[&Type]) -> Option<Fault> {
        let axis = axis(self.axis, inputs[0].rank()).ok()?;
        Some(Fault::position(1, inputs[0].dim(axis)))
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::ALL, |p| {
            let op = p.op::<IndexReduce>()?;
            let (x, index, updates) = (p.x(0), p.x(1), p.x(2));
            let size = x.dims()[axis(op.axis, x.rank())?];
            let taken = |y: &Var| gather(y, &index, op.axis);
            let counted = |own: &Var, theirs: &Var| {
                let ones = |hits: &Var| cast(hits, x.dtype());
                Ok::<Var, Error>(ones(own)? + index_add(&ones(theirs)?, &index, op.axis, size)?)
            };
            if op.reduction == ScatterReduction::Prod {
                return product_rule(p, op, &taken, &counted);
            }
            let (own, theirs) = (eq(&x, &p.y(0))?, eq(&updates, &taken(&p.y(0))?)?);
            let share = p.dy() / counted(&own, &theirs)?;
            grads![p =>
                where_(&own, &share, &zeros_like(&x)?),
                None,
                where_(&theirs, &taken(&share)?, &zeros_like(&updates)?),
            ]
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let [outer, size, inner] = kernel::around(inputs[0], axis(self.axis, inputs[0].rank())?)?;
        let kind = match self.reduction {
            ScatterReduction::Prod => 0,
            ScatterReduction::Max => 1,
            ScatterReduction::Min => 2,
        };
        let sizes = [outer, size, inner, kernel::count(inputs[1].dims())?].map(Arg::Size);
        let args = [Arg::In(0), Arg::In(1), Arg::In(2), Arg::Out(0), Arg::Int(kind)];
        Native::new(&SOURCE, [inputs[0].dtype()], args.into_iter().chain(sizes)).failing().alone()
    }
}

/// The product of the others; where one is zero, only that one has a gradient.
fn product_rule(
    p: &Pull<'_>,
    op: &IndexReduce,
    taken: &dyn Fn(&Var) -> Result<Var>,
    counted: &dyn Fn(&Var, &Var) -> Result<Var>,
) -> Result<Cotangents> {
    let (x, index, updates) = (p.x(0), p.x(1), p.x(2));
    let is_zero = |x: &Var| eq(x, &zeros_like(x)?);
    let one = fill(1.0, &Type::scalar(x.dtype()))?;
    let zero = fill(0.0, &Type::scalar(x.dtype()))?;
    let (own, theirs) = (is_zero(&x)?, is_zero(&updates)?);
    let zeros = counted(&own, &theirs)?;
    let (x, updates) = (where_(&own, &one, &x)?, where_(&theirs, &one, &updates)?);
    let product = index_reduce(&x, &index, &updates, op.axis, op.reduction)? * p.dy();
    let of_zero = where_(&eq(&zeros, &one)?, &product, &zero)?;
    let of_others = where_(&eq(&zeros, &zero)?, &product, &zero)?;
    grads![p =>
        where_(&own, &of_zero, &(&of_others / &x)),
        None,
        where_(&theirs, &taken(&of_zero)?, &(taken(&of_others)? / &updates)),
    ]
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(IndexReduce::NAME, IndexReduce::build, || {
    use ScatterReduction::{Max, Min, Prod};
    let by = |axis, reduction| IndexReduce { axis, reduction };
    let (x, index) = (f64s(&[1.0, 2.0, 3.0, 4.0], &[2, 2]), i64s(&[1, 0, -1], &[3]));
    let updates = f64s(&[7.0, 0.5, 1.5, 5.0, 3.5, 2.5], &[3, 2]);
    let with = |axis, reduction, updates: &Tensor| {
        Sample::new(by(axis, reduction), [x.clone(), index.clone(), updates.clone()])
    };
    vec![
        with(0, Max, &updates).gives([f64s(&[1.5, 5.0, 7.0, 4.0], &[2, 2])]),
        with(0, Min, &updates).gives([f64s(&[1.0, 2.0, 3.0, 0.5], &[2, 2])]),
        with(0, Prod, &updates).gives([f64s(&[1.5, 10.0, 73.5, 5.0], &[2, 2])]),
        with(1, Prod, &f64s(&[2.0, 3.0, 4.0, 5.0, 6.0, 7.0], &[2, 3]))
            .gives([f64s(&[3.0, 16.0, 18.0, 140.0], &[2, 2])]),
        with(1, Max, &updates).refused("are not the slices"),
        Sample::new(by(0, Max), [x.clone(), i64s(&[2], &[1]), ramp(&[1, 2])])
            .refused("index 2 is out of range for axis 0 of size 2"),
    ]
});
