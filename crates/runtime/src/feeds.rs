//! Inputs by name.

use std::sync::Arc;

use fluvial_core::{Error, Program, Result, Tensor, Value};

use crate::executor::Inputs;

/// The inputs of a program in order, from tensors given by name.
pub(crate) fn in_order<'a>(
    program: &Program,
    feeds: &'a [(&str, Tensor)],
) -> Result<Vec<&'a Tensor>> {
    let positions = positions(program, feeds)?;
    Ok(positions.into_iter().map(|i| &feeds[i].1).collect())
}

/// [`in_order`] for tensors that are given away.
pub(crate) fn values(program: &Program, mut feeds: Vec<(&str, Tensor)>) -> Result<Inputs> {
    let positions = positions(program, &feeds)?;
    let taken =
        |i: usize| Value::Tensor(std::mem::replace(&mut feeds[i].1, Tensor::scalar(0.0f32)));
    Ok(positions.into_iter().map(taken).collect())
}

/// By input: which of the feeds it is.
fn positions(program: &Program, feeds: &[(&str, Tensor)]) -> Result<Vec<usize>> {
    let known = &program.inputs;
    if let Some((name, _)) = feeds.iter().find(|(name, _)| !known.iter().any(|n| **n == **name)) {
        return Err(Error::argument(format!("the program has no input `{name}`"))
            .remedy(format!("its inputs are: {}", known.join(", "))));
    }
    let find = |name: &Arc<str>| {
        feeds.iter().position(|(fed, _)| **fed == **name).ok_or_else(|| {
            Error::argument(format!("the input `{name}` was not fed"))
                .remedy("feed every input by its name")
        })
    };
    known.iter().map(find).collect()
}
