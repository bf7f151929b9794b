//! `split_rows`: the rows where a mask holds, and the others.

use super::merge_rows;
use crate::prelude::*;

/// The rows of `x` (slices along its first axis) where `mask` holds, and the others, both in
/// order. How many there are is known only when the op runs; either may be none.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0], &[3])?;
/// let (yes, no) = split_rows(&Var::of(&[true, false, true], &[3])?, &x)?;
/// assert_eq!(yes.to_vec::<f64>()?, [1.0, 3.0]);
/// assert_eq!(no.to_vec::<f64>()?, [2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn split_rows(mask: &Var, x: &Var) -> Result<(Var, Var)> {
    let mut outputs = bind(SplitRows {}, &[mask, x])?;
    match (outputs.pop(), outputs.pop()) {
        (Some(no), Some(yes)) => Ok((yes, no)),
        _ => Err(Error::internal("`split_rows` has two outputs")),
    }
}

attributes! {
    /// The op behind [`split_rows`].
    pub struct SplitRows = "split_rows" {}
}

/// Refuses what is not a mask.
pub(super) fn is_mask(ty: &Type) -> Result<()> {
    match ty.dtype() == DType::Bool && ty.rank() == 1 && !ty.is_list() {
        true => Ok(()),
        false => Err(Error::dtype(format!("a mask of rows is bool[n], found {ty}"))
            .remedy("compare with something, and reshape to one axis")),
    }
}

impl Op for SplitRows {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (mask, x) = (inputs[0], inputs[1]);
        is_mask(mask)?;
        if x.is_list() || x.rank() == 0 || x.dim(0) != mask.dim(0) {
            return Err(Error::shape(format!("a mask of {} rows does not fit {x}", mask.dim(0))));
        }
        let rows = |dim: Dim| {
            let mut dims = SmallVec::<[Dim; 8]>::from_slice(x.dims());
            dims[0] = dim;
            x.with_dims(&dims)
        };
        Ok(smallvec![rows(Dim::fresh(0))?, rows(Dim::fresh(1))?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (yes, no) = kernels::split_rows(inputs[0].tensor()?, inputs[1].tensor()?)?;
        Ok(smallvec![yes.into(), no.into()])
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::inputs(0b1).and_outputs(0b11), |p| {
            let or_zero = |i: usize| match &p.dys()[i] {
                Some(cotangent) => Ok(cotangent.clone()),
                None => zeros_like(&p.y(i)),
            };
            grads![p => None, merge_rows(&p.x(0), &or_zero(0)?, &or_zero(1)?)]
        })
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(SplitRows::NAME, SplitRows::build, || {
    let x = f64s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2]);
    let mask = bools(&[true, false, true], &[3]);
    vec![
        Sample::new(SplitRows {}, [mask.clone(), x.clone()])
            .gives([f64s(&[1.0, 2.0, 5.0, 6.0], &[2, 2]), f64s(&[3.0, 4.0], &[1, 2])]),
        Sample::new(SplitRows {}, [bools(&[false; 3], &[3]), x.clone()])
            .gives([f64s(&[], &[0, 2]), x.clone()]),
        Sample::new(SplitRows {}, [mask.clone(), ramp(&[2, 2])]).refused("does not fit"),
        Sample::new(SplitRows {}, [ramp(&[3]), x]).refused("a mask of rows is bool[n]"),
        Sample::new(SplitRows {}, [mask, ramp(&[])]).refused("does not fit"),
    ]
});
