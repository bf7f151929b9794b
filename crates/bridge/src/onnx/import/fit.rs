//! Sizes that a model says are equal, though only the run can know.

use fluvial_core::{Dim, Result, Var, Whole};
use fluvial_ops as ops;

/// Values that are broadcast together: where two have different sizes and one is a symbol, the run
/// checks that they are equal. Axes of size one stay.
pub fn broadcast(values: &[Var]) -> Result<Vec<Var>> {
    let rank = values.iter().map(Var::rank).max().unwrap_or(0);
    let mut wanted = vec![Dim::size(1); rank];
    for var in values {
        let skipped = rank - var.rank();
        for (i, &dim) in var.dims().iter().enumerate() {
            let to = &mut wanted[skipped + i];
            if *to == Dim::size(1) || to.is_symbolic() && !dim.is_symbolic() && dim != Dim::size(1)
            {
                *to = dim;
            }
        }
    }
    let mut fitted = Vec::new();
    for var in values {
        let skipped = rank - var.rank();
        let dims: Vec<Dim> = var
            .dims()
            .iter()
            .enumerate()
            .map(|(i, &dim)| if dim == Dim::size(1) { dim } else { wanted[skipped + i] })
            .collect();
        fitted.push(assumed(var, &dims)?);
    }
    Ok(fitted)
}

/// The value with these sizes; where a symbol becomes another size, the run checks it.
pub fn assumed(var: &Var, dims: &[Dim]) -> Result<Var> {
    let own = var.dims();
    let may_differ = |(&a, &b): (&Dim, &Dim)| a != b && (a.is_symbolic() || b.is_symbolic());
    match own.len() == dims.len() && own.iter().zip(dims).any(may_differ) {
        true => ops::assume_dims(var, dims),
        false => Ok(var.clone()),
    }
}

/// Other sizes; where symbols hide that the numbers of elements agree, the run checks it.
pub fn reshaped(x: &Var, dims: &[Dim]) -> Result<Var> {
    let before = count(&x.dims())?;
    let mut dims = dims.to_vec();
    if let Some(rest) = dims.iter().position(|&dim| dim == Dim::REST) {
        let others: Vec<Dim> = dims.iter().copied().filter(|&dim| dim != Dim::REST).collect();
        let given = count(&others)?;
        if given == Dim::size(0) || !before.is_symbolic() && !given.is_symbolic() {
            return ops::reshape(x, &dims);
        }
        dims[rest] = before.floor_div(given)?;
    }
    let after = count(&dims)?;
    if before == after || !before.is_symbolic() && !after.is_symbolic() {
        return ops::reshape(x, &dims);
    }
    let flat = ops::assume_dims(&ops::reshape(x, &[before])?, &[after])?;
    ops::reshape(&flat, &dims)
}

/// The number of elements.
pub fn count(dims: &[Dim]) -> Result<Dim> {
    dims.iter().try_fold(Dim::size(1), |count, &dim| count.mul(dim))
}

/// A number that is not negative.
pub fn non_negative(value: i64) -> Result<Dim> {
    Whole::Number(value).dim()
}
