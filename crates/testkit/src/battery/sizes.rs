//! Other sizes: symbols in programs, none, and no axes at all.

use fluvial_core::{Dim, Expect, Result, Type};

use super::gradients::{Order, in_both_modes_as, order_of, outcome_in_both_modes};
use super::{Call, forward, variants};
use crate::check::{Check, Context, Failure};

/// Checks programs whose inputs have symbols for sizes, where the op accepts them: all at once and
/// one by one. They must also serve other sizes than those they were made for.
pub(super) fn symbolic(call: &Call) -> Check {
    let sizes: Vec<usize> = variants::sizes(call).into_iter().filter(|&size| size > 1).collect();
    let mut groups: Vec<&[usize]> = sizes.chunks(1).collect();
    if sizes.len() > 1 {
        groups.push(&sizes);
    }
    for group in groups {
        // The sizes of a list's elements are their own affair: they bind no symbol.
        let bound: Vec<usize> =
            group.iter().copied().filter(|&size| variants::is_bound(call, size)).collect();
        let op = variants::symbolic_op(&call.op, &bound)?;
        let types = call.inputs.iter().map(|input| symbolic_type(&input.ty(), group));
        let types = types.collect::<Result<Vec<_>>>()?;
        let refs: Vec<&Type> = types.iter().collect();
        if fluvial_core::inferred(&*op, &refs).is_err() {
            continue;
        }
        in_both_modes_as(call, order_of(call), &op, &types).context(format!("{types:?}"))?;
        let doubled = group.iter().try_fold(
            Call { op: call.op.clone(), inputs: call.inputs.clone() },
            |call, &size| variants::resized(&call, size, 2 * size),
        )?;
        if doubled.outputs().is_ok() {
            let order = order_of(call).min(Order::First);
            in_both_modes_as(&doubled, order, &op, &types)
                .context(format!("{types:?} with twice the sizes"))?;
        }
    }
    Ok(())
}

fn symbolic_type(ty: &Type, sizes: &[usize]) -> Result<Type> {
    let dims = ty.dims().iter().map(|dim| match dim.value() {
        Some(size) if sizes.contains(&size) => variants::symbol(size),
        _ => Ok(*dim),
    });
    ty.with_dims(&dims.collect::<Result<Vec<Dim>>>()?)
}

/// Checks inputs without elements: both modes accept or refuse them alike.
pub(super) fn empty(call: &Call) -> Check {
    for size in variants::sizes(call).into_iter().filter(|&size| size > 0) {
        let smaller = variants::resized(call, size, 0)?;
        outcome_in_both_modes(&smaller).context(format!("size {size} replaced by 0"))?;
    }
    Ok(())
}

/// Checks inputs without axes; an elementwise op must take them.
pub(super) fn scalars(call: &Call, expect: &Expect) -> Check {
    let Some(single) = variants::zero_d(call)? else { return Ok(()) };
    let agreed = outcome_in_both_modes(&single)?;
    match (expect, agreed) {
        (Expect::Scalar(_), None) => Err(Failure::new("an elementwise op refuses scalars")),
        (Expect::Scalar(_), Some(outputs)) => forward::expected(&single, &outputs, expect),
        _ => Ok(()),
    }
}
