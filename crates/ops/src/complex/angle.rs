//! `angle`: the direction of complex numbers.

use crate::prelude::*;
use crate::{eq, square, where_};

/// The angle of complex numbers in the plane, between -pi and pi; of real ones 0, or pi if they are negative.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let z = complex(&Var::scalar(0.0f64), &Var::scalar(-2.0f64))?;
/// assert_eq!(angle(&z)?.item::<f64>()?, -std::f64::consts::FRAC_PI_2);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn angle(x: &Var) -> Result<Var> {
    bind1(&ANGLE, &[x])
}

/// The op behind [`angle`].
pub static ANGLE: Elementwise = Elementwise::unary(
    "angle",
    |x| x.angle(),
    Keeps::INPUTS,
    |p| {
        let x = p.x(0);
        if !x.dtype().is_complex() {
            return grads![p => zeros_like(&p.dy())];
        }
        // A quarter turn from the number, and shorter the longer that is; zero at zero.
        let size = square(&crate::abs(&x)?)?;
        let zero = size.literal(0.0);
        let is_zero = eq(&size, &zero)?;
        let slope =
            where_(&is_zero, &zero, &(p.dy() / where_(&is_zero, &size.literal(1.0), &size)?))?;
        grads![p => slope * (&x * x.imaginary_unit())]
    },
)
.domain(Domain::Float)
.complex()
.gives_part();

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "angle",
    || (&ANGLE).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| if x[0] < 0.0 { std::f64::consts::PI } else { 0.0 };
        vec![Sample::new(&ANGLE, [ramp(&[2, 3])]).gives_scalar(reference)]
    },
);
