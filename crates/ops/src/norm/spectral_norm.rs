//! `spectral_norm`: a weight divided by its largest singular value.

use crate::prelude::*;
use crate::shape::{permute, reshape};
use crate::{matmul, maximum, sqrt, sum};

options! {
    /// How the largest singular value is found.
    pub struct SpectralNormOptions {
        /// The axis of the outputs, which becomes the rows of the matrix.
        pub axis: i64 = 0,
        /// The steps of power iteration; none uses the given vectors as they are.
        pub iterations: usize = 1,
        /// The smallest length that a vector is divided by.
        pub eps: f64 = 1e-12,
    }
}

/// `weight`, seen as a matrix with `axis` as rows, divided by an estimate of its largest singular value.
/// `u` (rows) and `v` (columns) are the estimates of the singular vectors, improved by power iteration.
/// Returns the weight and the new vectors, for the next call. Gradients take the vectors as constants.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let weight = Var::of(&[3.0, 0.0, 0.0, 1.0], &[2, 2])?;
/// let one = Var::of(&[1.0, 0.0], &[2])?;
/// let (scaled, _, _) = spectral_norm(&weight, &one, &one, SpectralNormOptions::default())?;
/// assert_eq!(scaled.to_vec::<f64>()?[0], 1.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn spectral_norm(
    weight: &Var,
    u: &Var,
    v: &Var,
    options: SpectralNormOptions,
) -> Result<(Var, Var, Var)> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = weight.clone().check()?.ty();
    let (rows, columns, axis) =
        check(&ty, &u.clone().check()?.ty(), &v.clone().check()?.ty(), &options)
            .map_err(|error| error.in_op("spectral_norm", &[&ty, &u.ty(), &v.ty()]).at(loc))?;
    let mut order: Vec<i64> = (0..ty.rank() as i64).filter(|&other| other != axis).collect();
    order.insert(0, axis);
    let matrix = reshape(&permute(weight, &order)?, &[rows, columns])?;
    let (mut u, mut v) = (stop_gradient(u)?, stop_gradient(v)?);
    let fixed = stop_gradient(&matrix)?;
    for _ in 0..options.iterations {
        v = unit(&matmul(&u, &fixed)?, options.eps)?;
        u = unit(&matmul(&fixed, &v)?, options.eps)?;
    }
    let sigma = sum(&mul(&u, &matmul(&matrix, &v)?)?, &[], false)?;
    Ok((div(weight, &sigma)?, u, v))
}

/// The vector with length one.
fn unit(x: &Var, eps: f64) -> Result<Var> {
    let length = sqrt(&sum(&mul(x, x)?, &[], false)?)?;
    div(x, &maximum(&length, &fill(eps, &Type::scalar(x.dtype()))?)?)
}

fn check(
    weight: &Type,
    u: &Type,
    v: &Type,
    options: &SpectralNormOptions,
) -> Result<(Dim, Dim, i64)> {
    if weight.is_list() || !weight.is_float() || weight.rank() < 2 {
        return Err(Error::shape("a weight is a tensor of floats with at least two axes"));
    }
    let axis = axis(options.axis, weight.rank())?;
    let others = weight.dims().iter().enumerate().filter(|&(other, _)| other != axis);
    let columns = others.map(|(_, &dim)| dim).try_fold(Dim::size(1), Dim::mul)?;
    let rows = weight.dim(axis);
    match u.dims() == [rows] && v.dims() == [columns] && u.is_float() && v.is_float() {
        true => Ok((rows, columns, axis as i64)),
        false => Err(Error::shape(format!(
            "the singular vectors are {u} and {v}, but should be [{rows}] and [{columns}]"
        ))),
    }
}
