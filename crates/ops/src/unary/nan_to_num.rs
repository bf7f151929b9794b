//! `nan_to_num`: numbers in place of NaN and infinities.

use super::isfinite;
use super::kink::pass_where;
use crate::complex::by_parts::linear;
use crate::prelude::*;

/// `x` with `nan` in place of NaN, `posinf` in place of infinity and `neginf` in place of negative
/// infinity; without them, the largest and the smallest number of the element type. Replaced
/// elements get no gradient. Of complex numbers each part is replaced.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[f32::NAN, f32::NEG_INFINITY], &[2])?;
/// assert_eq!(nan_to_num(&x, 0.0, None, None)?.to_vec::<f32>()?, [0.0, f32::MIN]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn nan_to_num(x: &Var, nan: f64, posinf: Option<f64>, neginf: Option<f64>) -> Result<Var> {
    let largest = largest_finite(x.dtype().real());
    let numbers = [nan, posinf.unwrap_or(largest), neginf.unwrap_or(-largest)];
    let _line = at(scope::user_line());
    linear(x, |x| bind1(NAN_TO_NUM.with(&numbers), &[x]))
}

/// The op behind [`nan_to_num`].
pub static NAN_TO_NUM: Parametric = Parametric::unary(
    "nan_to_num",
    &["nan", "posinf", "neginf"],
    |x, p| {
        let infinite = x.gt(0.0).select(p[1], p[2]);
        x.is_nan().select(p[0], x.is_inf().select(infinite, x))
    },
    Keeps::INPUTS,
    |p| grads![p => pass_where(&isfinite(&p.x(0))?, &p.dy())],
);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(
    "nan_to_num",
    |attrs| NAN_TO_NUM.build(attrs),
    || {
        let x = f64s(&[1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY], &[4]);
        let op = || NAN_TO_NUM.with(&[0.5, 7.0, -9.0]);
        vec![
            Sample::new(op(), [x]).gives([f64s(&[1.5, 0.5, 7.0, -9.0], &[4])]),
            Sample::new(op(), [ramp(&[2, 3])]).gives_scalar(|x| x[0]),
            Sample::new(op(), [i64s(&[3, -4], &[2])]).gives([i64s(&[3, -4], &[2])]),
        ]
    },
);

fn largest_finite(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 65504.0,
        DType::BF16 => f64::from(f32::from_bits(0x7f7f_0000)),
        DType::F32 => f64::from(f32::MAX),
        _ => f64::MAX,
    }
}
