//! What stands for the decompositions in a build without them.

use fluvial_tensor::{Error, Result, Tensor};

use super::Triangle;

fn absent<T>() -> Result<T> {
    Err(Error::state("this build has no matrix decompositions")
        .remedy("build with the cargo feature `linalg`"))
}

/// Absent in this build.
pub fn cholesky(_: &Tensor) -> Result<Tensor> {
    absent()
}

/// Absent in this build.
pub fn triangular_solve(_: &Tensor, _: &Tensor, _: Triangle) -> Result<Tensor> {
    absent()
}

/// Absent in this build.
pub fn solve(_: &Tensor, _: &Tensor) -> Result<Tensor> {
    absent()
}

/// Absent in this build.
pub fn inverse(_: &Tensor, _: bool) -> Result<Tensor> {
    absent()
}

/// Absent in this build.
pub fn det(_: &Tensor) -> Result<Tensor> {
    absent()
}

/// Absent in this build.
pub fn slogdet(_: &Tensor) -> Result<(Tensor, Tensor)> {
    absent()
}

/// Absent in this build.
pub fn qr(_: &Tensor) -> Result<(Tensor, Tensor)> {
    absent()
}

/// Absent in this build.
pub fn svd(_: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    absent()
}

/// Absent in this build.
pub fn eigh(_: &Tensor) -> Result<(Tensor, Tensor)> {
    absent()
}

/// Absent in this build.
pub fn eig(_: &Tensor) -> Result<(Tensor, Tensor)> {
    absent()
}
