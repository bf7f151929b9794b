//! What forms share: reading how values were computed, in any of the usual spellings.
//!
//! All of these pass what they read, and give nothing if it is something else.

use crate::prelude::*;
use crate::reduce::{Max, Reduction, Sum};
use crate::shape::{DimSize, Permute, Reshape};

/// A value that was reduced, and the axes.
pub(crate) type Reduced = (ValueId, SmallVec<[usize; 8]>);

/// The inputs of a call of this name.
pub(crate) fn inputs_of<'a>(call: &'a Call, name: &str) -> Option<&'a [ValueId]> {
    (call.op.name() == name).then_some(&call.inputs[..])
}

/// The input of views that add or remove axes of size one.
pub(crate) fn unshaped(look: &mut Look<'_>, mut value: ValueId) -> ValueId {
    let long = |ty: &Type| -> SmallVec<[Dim; 8]> {
        ty.dims().iter().copied().filter(|&dim| dim != Dim::size(1)).collect()
    };
    while let Some(source) = look.attempt(|look| {
        let (_, inputs) = look.op::<Reshape>(value)?;
        (long(look.ty(inputs[0])) == long(look.ty(value))).then_some(inputs[0])
    }) {
        value = source;
    }
    value
}

/// The dims behind the first ones of size one, which broadcasting adds by itself.
fn behind_ones(dims: &[Dim]) -> &[Dim] {
    let first = dims.iter().take_while(|&&dim| dim == Dim::size(1)).count();
    &dims[first..]
}

/// What `read` finds behind the views of a value that broadcasts against what it was reduced from.
pub(crate) fn kept(
    look: &mut Look<'_>,
    value: ValueId,
    read: impl FnOnce(&mut Look<'_>, ValueId) -> Option<Reduced>,
) -> Option<Reduced> {
    look.attempt(|look| {
        let mut value = value;
        while let Some(input) = look.attempt(|look| look.input(value, Expand::NAME)) {
            value = input;
        }
        let dims = look.ty(value).dims();
        let value = unshaped(look, value);
        let (source, axes) = read(look, value)?;
        let mut wanted = SmallVec::<[Dim; 8]>::from_slice(look.ty(source).dims());
        axes.iter().for_each(|&axis| wanted[axis] = Dim::size(1));
        (behind_ones(dims) == behind_ones(&wanted)).then_some((source, axes))
    })
}

/// A sum over axes.
pub(crate) fn sum(look: &mut Look<'_>, value: ValueId) -> Option<Reduced> {
    let (op, inputs) = look.op::<Sum>(value)?;
    let axes = Reduction::new(&op.axes, op.keepdims, look.ty(inputs[0])).ok()?.axes;
    Some((inputs[0], axes))
}

/// The largest elements over axes.
pub(crate) fn max(look: &mut Look<'_>, value: ValueId) -> Option<Reduced> {
    let (op, inputs) = look.op::<Max>(value)?;
    let axes = Reduction::new(&op.axes, op.keepdims, look.ty(inputs[0])).ok()?.axes;
    Some((inputs[0], axes))
}

/// A mean over axes: a sum divided by the number of elements, or times its inverse.
pub(crate) fn mean(look: &mut Look<'_>, value: ValueId) -> Option<Reduced> {
    let divided = look.attempt(|look| {
        let inputs = look.inputs(value, DIV.name())?;
        let total = unshaped(look, inputs[0]);
        let found = sum(look, total)?;
        is_count(look, inputs[1], &found, false).then_some(found)
    });
    divided.or_else(|| {
        let inputs = look.inputs(value, MUL.name())?;
        look.either(&inputs, |look, total, factor| {
            let total = unshaped(look, total);
            let found = sum(look, total)?;
            is_count(look, factor, &found, true).then_some(found)
        })
    })
}

/// Whether a value is the number of elements that became one, or its inverse.
fn is_count(look: &mut Look<'_>, value: ValueId, of: &Reduced, inverse: bool) -> bool {
    let ty = look.ty(of.0);
    let count = of.1.iter().try_fold(Dim::size(1), |all, &axis| all.mul(ty.dim(axis)));
    let Ok(count) = count else { return false };
    if let Some(n) = count.value() {
        return look.is_number(value, if inverse { 1.0 / n as f64 } else { n as f64 });
    }
    // The size is a number like others: it may be used elsewhere, and is not passed.
    let mut found = None;
    look.attempt(|look| {
        found = Some(look.op::<DimSize>(value)?.0.size);
        None::<()>
    });
    !inverse && found == Some(count)
}

/// What was squared: `x * x`, `square(x)` or `pow(x, 2)`.
pub(crate) fn squared(look: &mut Look<'_>, value: ValueId) -> Option<ValueId> {
    match product(look, value, &[], 1) {
        (1.0, factors) if factors.len() == 2 && factors[0] == factors[1] => Some(factors[0]),
        _ => None,
    }
}

/// A value as a number times factors, which are looked into to this depth, except those that are `known`.
pub(crate) fn product(
    look: &mut Look<'_>,
    value: ValueId,
    known: &[ValueId],
    depth: usize,
) -> (f64, Vec<ValueId>) {
    if let Some(number) = look.number(value) {
        return (number, Vec::new());
    }
    if depth == 0 || known.contains(&value) {
        return (1.0, vec![value]);
    }
    let all = |look: &mut Look<'_>, inputs: &[ValueId]| {
        let mut found = (1.0, Vec::new());
        for &input in inputs {
            let (number, factors) = product(look, input, known, depth - 1);
            found.0 *= number;
            found.1.extend(factors);
        }
        found
    };
    if let Some(inputs) = look.inputs(value, MUL.name()) {
        return all(look, &inputs);
    }
    if let Some(input) = look.input(value, NEG.name()) {
        let (number, factors) = all(look, &[input]);
        return (-number, factors);
    }
    if let Some(input) = look.input(value, crate::unary::square::SQUARE.name()) {
        return all(look, &[input, input]);
    }
    let divided = look.attempt(|look| {
        let inputs = look.inputs(value, DIV.name())?;
        Some((inputs[0], look.number(inputs[1])?))
    });
    if let Some((input, by)) = divided {
        let (number, factors) = all(look, &[input]);
        return (number / by, factors);
    }
    let power = look.attempt(|look| {
        let inputs = look.inputs(value, crate::binary::pow::POW.name())?;
        let power = look.number(inputs[1])?;
        (power == 2.0 || power == 3.0).then(|| vec![inputs[0]; power as usize])
    });
    match power {
        Some(factors) => all(look, &factors),
        None => (1.0, vec![value]),
    }
}

/// `x` of `-x`.
pub(crate) fn negated(look: &mut Look<'_>, value: ValueId) -> Option<ValueId> {
    let by_op = look.attempt(|look| look.input(value, NEG.name()));
    by_op.or_else(|| {
        look.attempt(|look| {
            let inputs = look.inputs(value, MUL.name())?;
            look.either(&inputs, |look, x, number| look.is_number(number, -1.0).then_some(x))
        })
    })
}

/// `x` of `1 / x`.
pub(crate) fn inverse(look: &mut Look<'_>, value: ValueId) -> Option<ValueId> {
    let by_op = look.attempt(|look| look.input(value, crate::unary::reciprocal::RECIPROCAL.name()));
    by_op.or_else(|| {
        look.attempt(|look| {
            let inputs = look.inputs(value, DIV.name())?;
            look.is_number(inputs[0], 1.0).then_some(inputs[1])
        })
    })
}

/// `x` of `x + number`.
pub(crate) fn plus_number(look: &mut Look<'_>, value: ValueId) -> Option<(ValueId, f64)> {
    look.attempt(|look| {
        let inputs = look.inputs(value, ADD.name())?;
        look.either(&inputs, |look, x, number| Some((x, look.number(number)?)))
    })
}

/// `x` of `x + 1`.
pub(crate) fn plus_one(look: &mut Look<'_>, value: ValueId) -> Option<ValueId> {
    look.attempt(|look| plus_number(look, value).filter(|found| found.1 == 1.0))
        .map(|found| found.0)
}

/// The value behind views that only let it broadcast, if it has these dims there.
pub(crate) fn with_dims(look: &mut Look<'_>, mut value: ValueId, dims: &[Dim]) -> Option<ValueId> {
    loop {
        if look.ty(value).dims() == dims {
            return Some(value);
        }
        let expanded = look.attempt(|look| look.input(value, Expand::NAME));
        let before = match expanded {
            Some(input) => input,
            None => look.attempt(|look| {
                let (_, inputs) = look.op::<Reshape>(value)?;
                let given = look.ty(value).dims();
                (behind_ones(given) == behind_ones(look.ty(inputs[0]).dims())).then_some(inputs[0])
            })?,
        };
        value = before;
    }
}

/// The matrices whose transposes a value holds.
pub(crate) fn transposed(look: &mut Look<'_>, value: ValueId) -> Option<ValueId> {
    look.attempt(|look| {
        let (op, inputs) = look.op::<Permute>(value)?;
        let rank = op.axes.len();
        let mut order: Vec<i64> = (0..rank as i64).collect();
        order.swap(rank.checked_sub(2)?, rank - 1);
        let own = op.axes.iter().map(|&named| axis(named, rank).map(|axis| axis as i64));
        (own.collect::<Result<Vec<i64>>>().ok()? == order).then_some(inputs[0])
    })
}

/// Writes one call in the place of a spelling.
pub(crate) fn one_call(op: impl Into<OpRef>, inputs: &[ValueId]) -> Option<Found> {
    let (op, inputs) = (op.into(), Ids::from_slice(inputs));
    Some(Box::new(move |on: &mut Rewrite| on.call1(op, &inputs)))
}
