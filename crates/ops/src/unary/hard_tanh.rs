//! `hard_tanh`: a hyperbolic tangent of straight lines.

use super::clip;
use crate::prelude::*;

/// `x`, but at least `low` and at most `high`; there and outside, its derivative is zero.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = hard_tanh(&Var::scalar(-2.0f64), -1.0, 1.0)?;
/// assert_eq!(y.item::<f64>()?, -1.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn hard_tanh(x: &Var, low: f64, high: f64) -> Result<Var> {
    let line = scope::user_line();
    let _line = at(line);
    if low.is_nan() || high.is_nan() || low > high {
        let fault = format!("`hard_tanh` needs a lower and an upper bound, found {low} and {high}");
        return Err(Error::argument(fault).at(line));
    }
    clip(x, Some(low), Some(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_in_the_wrong_order_are_refused() {
        let error = hard_tanh(&Var::scalar(0.5), 1.0, -1.0).unwrap_err();
        assert!(error.to_string().contains("a lower and an upper bound"), "{error}");
    }
}
