//! What scans share: their axis, and values moved by one place along it.

use crate::prelude::*;
use crate::reduce::family::number;
use crate::shape::{concat, narrow};

/// Running sums and products, in C.
pub(super) static SCAN: Source = Source { name: "scan", text: include_str!("scan.c"), needs: &[] };

/// The axis of a scan over a value of this type.
pub(super) fn scanned(along: i64, ty: &Type) -> Result<usize> {
    match ty.is_list() {
        true => Err(Error::dtype("a list has no axes")),
        false => axis(along, ty.rank()),
    }
}

/// What came before each element along an axis (after it, if `reverse`), and `edge` at the first.
#[track_caller]
pub(super) fn shifted(x: &Var, along: i64, reverse: bool, edge: f64) -> Result<Var> {
    let ty = x.clone().check()?.ty();
    let at = axis(along, ty.rank())?;
    let mut dims = x.dims();
    dims[at] = Dim::size(1);
    let edge = expand(&number(edge, ty.dtype())?, &dims)?;
    match reverse {
        true => narrow(&concat(&[x, &edge], along)?, along, Dim::size(1), ty.dim(at)),
        false => narrow(&concat(&[&edge, x], along)?, along, Dim::size(0), ty.dim(at)),
    }
}
