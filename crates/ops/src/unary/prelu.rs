//! `prelu`: a positive part that leaks as much as it learns to.

use crate::prelude::*;
use crate::{gt, reshape, where_};

/// `x` where it is positive, else `weight * x`. The weight is a single number or one for each
/// channel, which is axis 1 of `x`. Its derivative at zero is the weight.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[-1.0, 2.0, -3.0, -4.0], &[2, 2])?;
/// let y = prelu(&x, &Var::of(&[0.5, 0.25], &[2])?)?;
/// assert_eq!(y.to_vec::<f64>()?, [-0.5, 2.0, -1.5, -1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn prelu(x: &Var, weight: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::low();
    let (x, weight) = (&precision.of(x)?, &precision.of(weight)?);
    let fault = || {
        Error::shape(format!(
            "the weight has one number, or one for each channel of axis 1; found {} for {}",
            weight.ty(),
            x.ty()
        ))
        .at(scope::user_line())
    };
    match weight.dims().as_slice() {
        [] => bind1(&PRELU, &[x, weight]),
        [one] if one.value() == Some(1) => bind1(&PRELU, &[x, &reshape(weight, &[])?]),
        [channels] if x.rank() > 1 && x.dims()[1] == *channels => {
            let mut dims = vec![Dim::size(1); x.rank() - 1];
            dims[0] = *channels;
            bind1(&PRELU, &[x, &reshape(weight, &dims)?])
        }
        _ => Err(fault()),
    }
}

/// The op behind [`prelu`], with a weight that broadcasts.
pub static PRELU: Elementwise = Elementwise::binary(
    "prelu",
    |x, weight| x.gt(0.0).select(x, x * weight),
    Keeps::INPUTS,
    |p| {
        let positive = gt(&p.x(0), &p.x(0).literal(0.0))?;
        grads![p =>
            where_(&positive, &p.dy(), &(p.dy() * p.x(1))),
            where_(&positive, &p.dy().literal(0.0), &(p.dy() * p.x(0))),
        ]
    },
)
.domain(Domain::Float);

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::fixed(
    "prelu",
    || (&PRELU).into(),
    || {
        let reference: fn(&[f64]) -> f64 = |x| if x[0] > 0.0 { x[0] } else { x[0] * x[1] };
        let weight = f64s(&[0.5, -0.25, 1.5], &[3]);
        vec![
            Sample::new(&PRELU, [ramp(&[2, 3]), weight]).gives_scalar(reference),
            Sample::new(&PRELU, [ramp(&[2, 3]), f64s(&[0.25], &[])]).gives_scalar(reference),
            Sample::new(&PRELU, [ramp(&[3]), ramp(&[2])]).refused("do not broadcast"),
        ]
    },
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_that_fits_no_channel_is_refused() {
        let x = Var::new(ramp(&[2, 3, 4]));
        for dims in [&[2][..], &[4], &[3, 1]] {
            let error = prelu(&x, &Var::new(ramp(dims))).unwrap_err();
            assert!(error.to_string().contains("one for each channel of axis 1"), "{error}");
        }
        assert!(prelu(&x, &Var::new(ramp(&[3]))).is_ok());
    }
}
