//! `meshgrid`: coordinates of a grid, derived from `expand`.

use crate::prelude::*;
use crate::shape::derived::judged;
use crate::shape::reshape;

choices! {
    /// Which axis of a grid belongs to which vector.
    pub enum Indexing {
        /// The first axis to the first vector, and so on: matrices.
        Ij = "ij",
        /// The second axis to the first vector and the first axis to the second one: pictures.
        Xy = "xy",
    }
}

/// For each of the vectors, its numbers at all points of the grid that the vectors span. No copy.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, y) = (Var::of(&[1.0, 2.0], &[2])?, Var::of(&[5.0], &[1])?);
/// let grid = meshgrid(&[&x, &y], Indexing::Ij)?;
/// assert_eq!(grid[1].to_vec::<f64>()?, [5.0, 5.0]);
/// assert_eq!(grid[1].ty().to_string(), "f64[2, 1]");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn meshgrid(vectors: &[&Var], indexing: Indexing) -> Result<Vec<Var>> {
    let _line = at(scope::user_line());
    let mut dims: Vec<Dim> = judged("meshgrid", vectors, |types| {
        if let Some(ty) = types.iter().find(|ty| ty.rank() > 1) {
            return Err(Error::shape(format!("{ty} is not a vector")));
        }
        Ok(types.iter().map(|ty| ty.dims().first().copied().unwrap_or(Dim::size(1))).collect())
    })?;
    let n = vectors.len();
    let mut places: Vec<usize> = (0..n).collect();
    if indexing == Indexing::Xy && n > 1 {
        places.swap(0, 1);
        dims.swap(0, 1);
    }
    let spread = |(vector, &place): (&&Var, &usize)| {
        let mut own = vec![Dim::size(1); n];
        own[place] = dims[place];
        expand(&reshape(vector, &own)?, &dims)
    };
    vectors.iter().zip(&places).map(spread).collect()
}
