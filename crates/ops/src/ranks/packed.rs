//! Several tensors exchanged as one.

use crate::prelude::*;

/// Puts the elements of tensors of one type behind one another, lets `f` make others of them, and takes them apart again.
pub(super) fn packed(
    inputs: &[&Value],
    f: impl FnOnce(Tensor) -> Result<Tensor>,
) -> Result<Values> {
    if let [one] = inputs {
        return Ok(smallvec![f(one.tensor()?.clone())?.into()]);
    }
    let tensors = inputs.iter().map(|value| value.tensor()).collect::<Result<Vec<_>>>()?;
    let flat = tensors.iter().map(|tensor| tensor.reshape(&[tensor.numel()]));
    let flat = flat.collect::<Result<Vec<_>>>()?;
    let all = f(kernels::concat(&flat.iter().collect::<Vec<_>>(), 0)?)?;
    let mut first = 0;
    let parts = tensors.iter().map(|tensor| {
        let part = all.slice(0, first, tensor.numel(), 1)?.reshape(tensor.dims())?;
        first += tensor.numel();
        Ok(part.into())
    });
    parts.collect()
}

/// The number of ranks, if it is the one that a program was made for.
pub(super) fn check_world(made_for: Option<usize>, world: usize) -> Result<()> {
    match made_for {
        Some(n) if n != world => Err(Error::new(
            ErrorKind::State,
            format!("the program was made for {n} ranks, but there are {world}"),
        )
        .remedy("make it for as many ranks as run it")),
        _ => Ok(()),
    }
}

/// The sizes with another number of rows: times or by the number of ranks, which only the run knows unless it is given.
pub(super) fn other_rows(ty: &Type, rows: impl FnOnce(Dim) -> Result<Dim>) -> Result<Types> {
    let Some((&first, others)) = ty.dims().split_first() else {
        return Err(Error::shape("a number has no rows").remedy("`unsqueeze` it first"));
    };
    let dims: Vec<Dim> = std::iter::once(rows(first)?).chain(others.iter().copied()).collect();
    Ok(smallvec![Type::new(ty.dtype(), &dims)?])
}
