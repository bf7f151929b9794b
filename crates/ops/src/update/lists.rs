//! What the inputs of an update of many parameters have to be.

use crate::prelude::*;

/// The number of parameters of an update: its inputs are `n_lists` lists of them, what changes first and the
/// gradients last, and `n_numbers` scalars.
pub(super) fn n_params(n_inputs: usize, n_lists: usize, n_numbers: usize) -> usize {
    n_inputs.saturating_sub(n_numbers) / n_lists
}

/// The types of what changes, if the inputs are those of an update; see [`n_params`].
pub(super) fn fitting(inputs: &[&Type], n_lists: usize, n_numbers: usize) -> Result<Types> {
    let n = n_params(inputs.len(), n_lists, n_numbers);
    if n == 0 || inputs.len() != n_lists * n + n_numbers {
        return Err(Error::argument(format!(
            "{} inputs are not {n_lists} lists of one length and {n_numbers} numbers",
            inputs.len()
        )));
    }
    let (lists, numbers) = inputs.split_at(n_lists * n);
    let dtype = lists[0].dtype();
    if !dtype.is_float() || lists.iter().any(|ty| ty.is_list() || ty.dtype() != dtype) {
        return Err(Error::dtype("an update takes floats of one element type"));
    }
    if let Some(i) = (n..lists.len()).find(|&i| lists[i] != lists[i % n]) {
        return Err(Error::shape(format!(
            "{} stands for parameter {}, which is {}",
            lists[i],
            i % n,
            lists[i % n]
        )));
    }
    match numbers.iter().all(|ty| **ty == Type::scalar(dtype)) {
        true => Ok(lists[..(n_lists - 1) * n].iter().map(|ty| **ty).collect()),
        false => Err(Error::dtype(format!("the numbers of an update are scalars of {dtype}"))),
    }
}

/// Why an update has no gradient.
pub(super) const NO_GRADIENT: Grad =
    Grad::NonDifferentiable("what is assigned to a parameter carries no gradient");
