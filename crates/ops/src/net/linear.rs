//! `linear`: a product with a matrix of weights, and a bias.

use crate::linalg::matmul::{product, rows};
use crate::matmul;
use crate::prelude::*;
use crate::shape::reshape;

/// `x weight^T + bias` over the last axis of `x`, which is `[.., in]`; `weight` is `[out, in]` or `[in]`,
/// `bias` is `[out]` or a number.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0], &[1, 2])?;
/// let weight = Var::of(&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0], &[3, 2])?;
/// let bias = Var::of(&[0.5, 0.5, 0.5], &[3])?;
/// assert_eq!(linear(&x, &weight, Some(&bias))?.to_vec::<f64>()?, [1.5, 2.5, 3.5]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn linear(x: &Var, weight: &Var, bias: Option<&Var>) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let precision = autocast::low();
    let (x, weight) = (&precision.of(x)?, &precision.of(weight)?);
    let bias = precision.maybe(bias)?;
    let bias = bias.as_ref();
    let (x, weight) = (x.clone().check()?, weight.clone().check()?);
    let (ty, weight_ty) = (x.ty(), weight.ty());
    fits(&ty, &weight_ty, bias.map(Var::ty))
        .map_err(|error| error.in_op("linear", &[&ty, &weight_ty]).at(loc))?;
    if weight_ty.rank() == 1 {
        return with_bias(&matmul(&x, &weight)?, bias);
    }
    if ty.rank() <= 2 {
        return with_bias(&product(&x, &weight, false, true)?, bias);
    }
    // One matrix of all rows, so that the gradient of the weight is one product, too.
    let y = with_bias(&product(&rows(&x)?, &weight, false, true)?, bias)?;
    let mut dims = x.dims();
    dims[ty.rank() - 1] = weight_ty.dim(0);
    reshape(&y, &dims)
}

fn with_bias(y: &Var, bias: Option<&Var>) -> Result<Var> {
    bias.map_or_else(|| Ok(y.clone()), |bias| add(y, bias))
}

fn fits(x: &Type, weight: &Type, bias: Option<Type>) -> Result<()> {
    if x.is_list() || x.rank() == 0 || weight.is_list() || !matches!(weight.rank(), 1 | 2) {
        return Err(Error::shape("expected an input [.., in] and a weight [out, in] or [in]"));
    }
    let (own, wanted) = (x.dim(x.rank() - 1), weight.dim(weight.rank() - 1));
    if own != wanted {
        return Err(Error::shape(format!(
            "the last axis of the input has size {own}, but the weight takes {wanted}"
        ))
        .remedy("a weight is [out, in], and the input's last axis is `in`"));
    }
    match bias {
        Some(bias) if bias.is_list() || bias.dims() != &weight.dims()[..weight.rank() - 1] => {
            Err(Error::shape(format!("the bias is {bias}, but the weight gives {}", weight.dim(0)))
                .remedy("a bias has one number for each output"))
        }
        _ => Ok(()),
    }
}
