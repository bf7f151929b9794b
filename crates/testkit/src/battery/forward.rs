//! Outputs: as expected, as inferred, and the same in other layouts and element types.

use fluvial_core::{DType, Expect, Takes, Tensor, Type, Value, inferred as inferred_types};

use super::gradients::{Order, in_both_modes, order_of, outcome_in_both_modes};
use super::{Call, gradients, variants};
use crate::check::{Check, Context, Failure, Tolerance, all, close, ensure, same_bits};

/// Checks the outputs against what the sample says of them.
pub(super) fn expected(call: &Call, outputs: &[Value], expect: &Expect) -> Check {
    let by_dtype = |found: &Value, expected: &Value| {
        close(found, expected, Tolerance::of_dtype(expected.ty().dtype()))
    };
    match expect {
        Expect::Outputs(expected) => all(outputs, expected, by_dtype),
        Expect::Scalar(reference) => {
            let [found] = outputs else {
                return Err(Failure::new("an elementwise op gives one tensor"));
            };
            let expected = apply_scalar(call, found.tensor()?, *reference)?;
            by_dtype(&outputs[0], &expected.into())
        }
        Expect::Agreement | Expect::Refused(_) => Ok(()),
    }
}

/// The reference on the elements of the inputs, which are broadcast to the output.
fn apply_scalar(call: &Call, like: &Tensor, reference: fn(&[f64]) -> f64) -> Check<Tensor> {
    let mut columns = Vec::new();
    for input in &call.inputs {
        columns.push(input.tensor()?.expand(like.dims())?.to_f64s());
    }
    let row = |i: usize| columns.iter().map(|column| column[i]).collect::<Vec<f64>>();
    let numbers: Vec<f64> = (0..like.numel()).map(|i| reference(&row(i))).collect();
    Ok(Tensor::from_f64s(like.dtype(), &numbers, like.dims())?)
}

/// Checks that the outputs have the types that `infer` says. A size it leaves open is any.
pub(super) fn inferred(call: &Call, outputs: &[Value]) -> Check {
    let types: Vec<Type> = call.inputs.iter().map(Value::ty).collect();
    let declared = inferred_types(&*call.op, &types.iter().collect::<Vec<_>>())?;
    let found: Vec<Type> = outputs.iter().map(Value::ty).collect();
    let fits = |(declared, found): (&Type, &Type)| {
        let same_kind = declared.dtype() == found.dtype()
            && declared.lists() == found.lists()
            && declared.rank() == found.rank();
        let mut sizes = declared.dims().iter().zip(found.dims());
        same_kind && sizes.all(|(a, b)| a == b || a.fresh_index().is_some())
    };
    let fit = declared.len() == found.len() && declared.iter().zip(&found).all(fits);
    ensure(fit, || format!("`infer` says {declared:?}, the outputs are {found:?}"))
}

/// Checks that the layout of the inputs does not matter.
pub(super) fn layouts(call: &Call, outputs: &[Value]) -> Check {
    let properties = call.op.properties();
    let exact = properties.elementwise || properties.view;
    let same = |found: &Value, expected: &Value| match exact {
        true => same_bits(found, expected),
        false => close(found, expected, Tolerance::of_dtype(expected.ty().dtype())),
    };
    for (name, relayout) in variants::LAYOUTS {
        let Some(changed) = variants::map_inputs(call, relayout)? else { continue };
        let found = changed.run().context(name)?;
        all(&found, outputs, same).context(name)?;
    }
    // An expanded input has other elements, so the same elements in a plain layout judge it.
    let Some(expanded) = variants::map_inputs(call, variants::expanded)? else { return Ok(()) };
    let Some(plain) = variants::map_inputs(&expanded, |x| x.contiguous())? else { return Ok(()) };
    match (expanded.outputs(), plain.outputs()) {
        (Ok(found), Ok(expected)) => all(&found, &expected, same).context("expanded"),
        (Err(_), Err(_)) => Ok(()),
        (found, expected) => Err(Failure::new(format!(
            "expanded inputs give {found:?}, the same elements in a plain layout {expected:?}"
        ))),
    }
}

/// Checks that other element types are treated alike in both modes, and that narrow floats give
/// what `f64` gives for the same numbers.
pub(super) fn dtypes(call: &Call, expect: &Expect) -> Check {
    if !call.inputs.iter().any(|input| input.ty().dtype() == DType::F64) {
        return Ok(());
    }
    let comparable = !call.op.properties().random && !matches!(expect, Expect::Agreement);
    for dtype in DType::ALL.into_iter().filter(|&dtype| dtype != DType::F64) {
        let narrow = variants::with_dtype(call, dtype)?;
        let agreed = outcome_in_both_modes(&narrow).context(dtype)?;
        if !dtype.is_float() || dtype.is_stored() || !comparable || agreed.is_none() {
            continue;
        }
        against_f64(&narrow, dtype).context(format!("{dtype} against f64"))?;
    }
    if let Some(mixed) = variants::mixed(call)? {
        outcome_in_both_modes(&mixed).context("f32 mixed with f64")?;
    }
    Ok(())
}

/// Checks that complex numbers, with both parts, are treated alike in both modes, and their gradients against
/// differences, if the op takes them.
pub(super) fn complex(call: &Call) -> Check {
    let is_f64 = |input: &Value| input.ty().dtype() == DType::F64;
    if call.op.takes() == Takes::Real || !call.inputs.iter().any(is_f64) {
        return Ok(());
    }
    let complex = variants::complex(call)?;
    if outcome_in_both_modes(&complex)?.is_some() {
        gradients::check(&complex).context("gradients")?;
        layouts(&complex, &complex.run()?).context("other layouts")?;
    }
    Ok(())
}

/// Checks values and first gradients of a call on narrow floats against the same in `f64`.
fn against_f64(narrow: &Call, dtype: DType) -> Check {
    let wide = variants::with_dtype(narrow, DType::F64)?;
    let order = order_of(narrow).min(Order::First);
    let (found, expected) = (in_both_modes(narrow, order)?, in_both_modes(&wide, order)?);
    let same = |found: &Value, expected: &Value| {
        // Numbers beyond the range of the narrow type become infinite in both.
        let rounded = variants::cast(expected, found.ty().dtype())?;
        close(found, &rounded, Tolerance::of_dtype(dtype))
    };
    all(&found.outputs, &expected.outputs, same)?;
    let loose = |found: &Value, expected: &Value| {
        let Tolerance { relative, absolute } = Tolerance::of_dtype(dtype);
        let tolerance = Tolerance { relative: 8.0 * relative, absolute: 8.0 * absolute };
        close(found, &variants::cast(expected, found.ty().dtype())?, tolerance)
    };
    all(&found.first, &expected.first, loose).context("gradient")
}
