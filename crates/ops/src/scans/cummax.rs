//! `cummax` and `cummin`: running extremes, derived from their positions.

use super::family::scanned;
use crate::prelude::*;
use crate::take_along_axis;

/// The greatest elements along an axis, up to each one, and where they are (`i64`): the last of equal
/// ones, as in PyTorch. NaN from the first one on.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (values, positions) = cummax(&Var::of(&[1.0, 3.0, 2.0], &[3])?, 0)?;
/// assert_eq!(values.to_vec::<f64>()?, [1.0, 3.0, 3.0]);
/// assert_eq!(positions.to_vec::<i64>()?, [0, 1, 1]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn cummax(x: &Var, axis: i64) -> Result<(Var, Var)> {
    running(x, axis, true)
}

/// The least elements along an axis, up to each one, and where they are (`i64`): the last of equal ones,
/// as in PyTorch. NaN from the first one on.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (values, positions) = cummin(&Var::of(&[2.0, 3.0, 1.0], &[3])?, 0)?;
/// assert_eq!(values.to_vec::<f64>()?, [2.0, 2.0, 1.0]);
/// assert_eq!(positions.to_vec::<i64>()?, [0, 0, 2]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn cummin(x: &Var, axis: i64) -> Result<(Var, Var)> {
    running(x, axis, false)
}

#[track_caller]
fn running(x: &Var, axis: i64, max: bool) -> Result<(Var, Var)> {
    let _line = at(scope::user_line());
    let positions = bind1(CumulativePositions { axis, max }, &[x])?;
    Ok((take_along_axis(x, &positions, axis)?, positions))
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "cummax", text: include_str!("cummax.c"), needs: &[] };

attributes! {
    /// The op behind [`cummax`] and [`cummin`]: where the extreme element so far is.
    pub struct CumulativePositions = "cumulative_positions" {
        /// The axis.
        pub axis: i64,
        /// Whether the extreme is the greatest element; else the least.
        pub max: bool,
    }
}

impl Op for CumulativePositions {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        scanned(self.axis, inputs[0])?;
        Ok(smallvec![inputs[0].with_dtype(DType::I64)])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        Ok(smallvec![kernels::arg_scan(self.max, x, axis(self.axis, x.rank())?)?.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = batch.axis(self.axis, batch.rank(0));
        batch.with(CumulativePositions { axis, ..self.clone() })
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("a position does not change smoothly")
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let sizes = kernel::around(inputs[0], axis(self.axis, inputs[0].rank())?)?.map(Arg::Size);
        let args =
            [Arg::In(0), Arg::Out(0)].into_iter().chain(sizes).chain([Arg::Int(self.max.into())]);
        Native::new(&SOURCE, [inputs[0].dtype()], args).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(CumulativePositions::NAME, CumulativePositions::build, || {
    let of = |axis, max| CumulativePositions { axis, max };
    let x = f64s(&[1.0, 5.0, 5.0, 2.0, f64::NAN, 0.0], &[2, 3]);
    vec![
        Sample::new(of(1, true), [x.clone()]).gives([i64s(&[0, 1, 2, 0, 1, 1], &[2, 3])]),
        Sample::new(of(-1, false), [x.clone()]).gives([i64s(&[0, 0, 0, 0, 1, 1], &[2, 3])]),
        Sample::new(of(0, true), [i64s(&[3, 4, 1], &[3])]).gives([i64s(&[0, 1, 1], &[3])]),
        Sample::new(of(0, true), [f64s(&[], &[0])]).gives([i64s(&[], &[0])]),
        Sample::new(of(2, true), [x]).refused("out of range"),
    ]
});
