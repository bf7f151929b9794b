//! Decompositions of the matrices in the last two axes of a tensor; the axes before them count them.
//!
//! All are computed in `f64`, complex numbers in two, and converted to the dtype of the input, or to that of its parts.

#[cfg(not(feature = "linalg"))]
mod absent;
#[cfg(feature = "linalg")]
mod dense;

#[cfg(not(feature = "linalg"))]
pub use absent::{cholesky, det, eig, eigh, inverse, qr, slogdet, solve, svd, triangular_solve};
#[cfg(feature = "linalg")]
pub use dense::{cholesky, det, eig, eigh, inverse, qr, slogdet, solve, svd, triangular_solve};

/// Which part of a triangular matrix is read, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triangle {
    /// The part above the diagonal instead of the one below.
    pub upper: bool,
    /// The matrix stands for its transpose.
    pub transposed: bool,
    /// The diagonal is taken as ones.
    pub unit: bool,
    /// Zeros on the diagonal are not a fault; they give infinities and NaN.
    pub singular: bool,
}
