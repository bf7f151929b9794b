//! What every op's file uses.

pub use fluvial_core::family::known_sizes;
pub use fluvial_core::structural::*;
pub use fluvial_core::*;
pub use fluvial_kernels as kernels;
pub use smallvec::{SmallVec, smallvec};

/// A tensor for samples, whose sizes are right by construction.
pub fn f64s(elements: &[f64], dims: &[usize]) -> Tensor {
    Tensor::from_slice(elements, dims).expect("a sample's sizes fit its elements")
}

/// An integer tensor for samples.
pub fn i64s(elements: &[i64], dims: &[usize]) -> Tensor {
    Tensor::from_slice(elements, dims).expect("a sample's sizes fit its elements")
}

/// A bool tensor for samples.
pub fn bools(elements: &[bool], dims: &[usize]) -> Tensor {
    Tensor::from_slice(elements, dims).expect("a sample's sizes fit its elements")
}

/// `count` different numbers between -2 and 2, far from the kinks of common functions.
pub fn ramp(dims: &[usize]) -> Tensor {
    let count: usize = dims.iter().product();
    let elements: Vec<f64> =
        (0..count).map(|i| ((i * 37 + 11) % 64) as f64 / 16.0 - 1.97).collect();
    f64s(&elements, dims)
}

/// The axis counted from the front; negative ones count from the back.
pub fn axis(axis: i64, rank: usize) -> Result<usize> {
    let from_front = if axis < 0 { axis + rank as i64 } else { axis };
    match usize::try_from(from_front) {
        Ok(found) if found < rank => Ok(found),
        _ => Err(Error::index(format!("axis {axis} is out of range for rank {rank}"))
            .remedy(format!("axes are -{rank}..{rank}, negative ones counted from the back"))),
    }
}

/// The sizes as dims.
pub fn dims_of(sizes: &[usize]) -> Vec<Dim> {
    sizes.iter().map(|&size| Dim::size(size)).collect()
}

/// The number of elements of these sizes, if it can be said.
pub fn count_of(dims: &[Dim]) -> Option<Dim> {
    dims.iter().try_fold(Dim::size(1), |count, &dim| count.mul(dim).ok())
}

/// The size, where it must be known.
pub fn known_size(dim: Dim) -> Result<usize> {
    dim.value().ok_or_else(|| Error::shape(format!("the size {dim} is not known here")))
}

/// The sum of two cotangents, either of which may be zero.
#[track_caller]
pub fn plus(a: Option<Var>, b: Option<Var>) -> Result<Option<Var>> {
    match (a, b) {
        (Some(a), Some(b)) => add(&a, &b).map(Some),
        (a, b) => Ok(a.or(b)),
    }
}
