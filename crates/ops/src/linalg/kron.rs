//! `kron`: the Kronecker product.

use crate::prelude::*;
use crate::reshape;

/// The Kronecker product: each element of `a` times the whole of `b`, in blocks. The value with
/// fewer axes gets further ones in front.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = kron(&Var::of(&[1.0, 2.0], &[2])?, &Var::of(&[3.0, 4.0], &[2])?)?;
/// assert_eq!(y.to_vec::<f64>()?, [3.0, 4.0, 6.0, 8.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn kron(a: &Var, b: &Var) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let (a, b) = (a.clone().check()?, b.clone().check()?);
    let (left, right) = (a.ty(), b.ty());
    if left.is_list() || right.is_list() {
        let error = Error::dtype("lists are not multiplied");
        return Err(error.in_op("kron", &[&left, &right]).at(loc));
    }
    let rank = left.rank().max(right.rank());
    let one = Dim::size(1);
    let padded = |ty: &Type| [&vec![one; rank - ty.rank()], ty.dims()].concat();
    let (outer, inner) = (padded(&left), padded(&right));
    let blocks: Vec<Dim> = outer.iter().flat_map(|&dim| [dim, one]).collect();
    let within: Vec<Dim> = inner.iter().flat_map(|&dim| [one, dim]).collect();
    let products = mul(&reshape(&a, &blocks)?, &reshape(&b, &within)?)?;
    let sizes = outer.iter().zip(&inner).map(|(&a, &b)| a.mul(b));
    reshape(&products, &sizes.collect::<Result<Vec<_>>>()?)
}
