//! `glu`: one half gates the other.

use super::sigmoid;
use crate::narrow;
use crate::prelude::*;

/// The first half along an axis times the [`sigmoid`] of the second half.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = glu(&Var::of(&[6.0, 0.0], &[2])?, 0)?;
/// assert_eq!(y.to_vec::<f64>()?, [3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn glu(x: &Var, axis: i64) -> Result<Var> {
    let line = scope::user_line();
    let _line = at(line);
    let found = crate::prelude::axis(axis, x.rank()).map_err(|error| error.at(line))?;
    let size = x.dims()[found].value();
    let Some(half) = size.filter(|size| size % 2 == 0).map(|size| Dim::size(size / 2)) else {
        let error = Error::shape(format!(
            "`glu` splits axis {axis} of {} in halves, so its size must be known and even",
            x.ty()
        ));
        return Err(error.at(line));
    };
    let value = narrow(x, axis, Dim::size(0), half)?;
    (value * sigmoid(&narrow(x, axis, half, half)?)?).check()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_odd_axis_is_refused() {
        let error = glu(&Var::new(ramp(&[2, 3])), 1).unwrap_err();
        assert!(error.to_string().contains("must be known and even"), "{error}");
        assert!(glu(&Var::new(ramp(&[2, 3])), 2).is_err());
    }
}
