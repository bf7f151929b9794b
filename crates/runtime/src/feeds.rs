//! Inputs by name.

use fluvial_core::{Error, Program, Result, Tensor};

/// The inputs of a program in order, from tensors given by name.
pub(crate) fn in_order<'a>(
    program: &Program,
    feeds: &'a [(&str, Tensor)],
) -> Result<Vec<&'a Tensor>> {
    let known = &program.inputs;
    if let Some((name, _)) = feeds.iter().find(|(name, _)| !known.iter().any(|n| **n == **name)) {
        return Err(Error::argument(format!("the program has no input `{name}`"))
            .remedy(format!("its inputs are: {}", known.join(", "))));
    }
    let find = |name: &std::sync::Arc<str>| {
        let feed = feeds.iter().find(|(fed, _)| **fed == **name);
        feed.map(|(_, tensor)| tensor).ok_or_else(|| {
            Error::argument(format!("the input `{name}` was not fed"))
                .remedy("feed every input by its name")
        })
    };
    known.iter().map(find).collect()
}
