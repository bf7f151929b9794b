//! Lists for samples.

use crate::prelude::*;

/// A list of these tensors, the last on top.
pub(super) fn list(elements: &[&Tensor]) -> Value {
    let ty = elements[0].ty();
    let values = elements.iter().map(|&tensor| tensor.clone().into());
    List::from_bottom(ty, values).expect("elements of one type").into()
}
