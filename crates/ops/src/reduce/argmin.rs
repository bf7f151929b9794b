//! `argmin`: the position of the least element.

use super::family::{positions, positions_type};
use crate::prelude::*;

/// The position of the least element along one axis, an `i64`; the first of equal ones, and
/// that of a NaN if there is one.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 4.0, 3.0, 2.0], &[2, 2])?;
/// assert_eq!(argmin(&x, 1, false)?.to_vec::<i64>()?, [0, 1]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn argmin(x: &Var, axis: i64, keepdims: bool) -> Result<Var> {
    bind1(Argmin { axis, keepdims }, &[x])
}

attributes! {
    /// The op behind [`argmin`].
    pub struct Argmin = "argmin" {
        /// The axis.
        pub axis: i64,
        /// Whether the axis stays, with size one.
        pub keepdims: bool,
    }
}

impl Op for Argmin {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        positions_type(self.axis, self.keepdims, inputs[0], "least")
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        positions(false, self.axis, inputs[0], &outs[0])
    }

    fn positions(&self, inputs: &[&Type]) -> Option<(usize, Dim)> {
        Some((0, inputs[0].dim(axis(self.axis, inputs[0].rank()).ok()?)))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = batch.axis(self.axis, batch.rank(0));
        batch.with(Argmin { axis, ..self.clone() })
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("a position does not change smoothly")
    }

    fn properties(&self) -> Properties {
        Properties::REDUCTION
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let sizes = kernel::around(inputs[0], axis(self.axis, inputs[0].rank())?)?.map(Arg::Size);
        let args = [Arg::In(0), Arg::Out(0)].into_iter().chain(sizes).chain([Arg::Int(0)]);
        let native = Native::new(&super::family::ARG, [inputs[0].dtype()], args);
        native.with_shader(&super::family::ARG_SHADER).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Argmin::NAME, Argmin::build, || {
    let x = f64s(&[1.0, 5.0, 5.0, 2.0, -1.0, 0.0], &[2, 3]);
    vec![
        Sample::new(Argmin { axis: 1, keepdims: false }, [x.clone()]).gives([i64s(&[0, 1], &[2])]),
        Sample::new(Argmin { axis: -2, keepdims: true }, [x.clone()])
            .gives([i64s(&[0, 1, 1], &[1, 3])]),
        Sample::new(Argmin { axis: 2, keepdims: false }, [x]).refused("out of range"),
        Sample::new(Argmin { axis: 0, keepdims: false }, [ramp(&[0])]).refused("no elements"),
    ]
});
