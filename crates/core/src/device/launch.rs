//! Running an op on a device: what it does as data, or else the op itself on the host.

use std::sync::Arc;

use fluvial_tensor::{Error, Loc, Result, Type};
use smallvec::{SmallVec, smallvec};

use super::work::{Job, Spans, place};
use super::{Device, DeviceTensor, chosen, report};
use crate::interrupt;
use crate::kernel::Kernel;
use crate::limits;
use crate::op::{OpRef, Values};
use crate::scope;
use crate::value::Value;
use crate::var::Var;

/// Whether one of these values is on a device, or a device was chosen.
pub(crate) fn is_concerned<'a>(vars: impl IntoIterator<Item = &'a Var>) -> bool {
    let is_there = |var: &Var| var.value().is_ok_and(|value| value.device().is_some());
    limits::is_any() && (vars.into_iter().any(is_there) || chosen().is_some())
}

/// The outputs of an op whose inputs may be on a device. `outs` is what `infer` said.
#[cold]
pub(crate) fn evaluate(
    op: &OpRef,
    types: &[&Type],
    values: &[&Value],
    outs: &[Type],
    loc: Loc,
) -> Result<Values> {
    let _line = scope::at(loc);
    let by_hand = || interrupt::caught(|| op.eval(values, outs));
    // What owns blocks, and lists, pass values on as they are.
    let Some(device) = device_of(values)?.filter(|_| op.blocks().is_empty()) else {
        return by_hand();
    };
    // What cannot be said as data of these types falls back.
    let kernel = op.kernel(types, outs).ok().flatten();
    if matches!(kernel, Some(Kernel::List(_) | Kernel::Size(_))) {
        return by_hand();
    }
    if let Some(kernel) = &kernel
        && let Some(outputs) = attempt(&device, op, kernel, types, values, outs)?
    {
        return Ok(outputs);
    }
    if !op.properties().effect {
        report::fell_back(op.name());
    }
    let bring = |value: Value| match value.ty() {
        ty if ty.is_list() || ty.is_channel() || !device.holds(ty.dtype()) => Ok(value),
        _ => value.to_device(Some(&device)),
    };
    by_hand()?.into_iter().map(bring).collect()
}

/// The device on which an op of these inputs runs, if any.
fn device_of(values: &[&Value]) -> Result<Option<Arc<dyn Device>>> {
    let mut found: Option<&Arc<dyn Device>> = None;
    for device in values.iter().filter_map(|value| value.device()) {
        match found {
            Some(other) if !Arc::ptr_eq(other, device) => {
                let (a, b) = (other.name(), device.name());
                return Err(Error::argument(format!("the inputs are on {a} and on {b}"))
                    .remedy(format!("bring them to one device: `x.to(\"{a}\")`")));
            }
            _ => found = Some(device),
        }
    }
    Ok(found.cloned().or_else(chosen))
}

/// The outputs, computed on the device; nothing if it cannot.
fn attempt(
    device: &Arc<dyn Device>,
    op: &OpRef,
    kernel: &Kernel,
    types: &[&Type],
    values: &[&Value],
    outs: &[Type],
) -> Result<Option<Values>> {
    let is_there = |ty: &Type| {
        !ty.is_list() && !ty.is_channel() && !ty.is_symbolic() && device.holds(ty.dtype())
    };
    let may_fail = op.fails(types).is_some();
    let says_so = matches!(kernel, Kernel::Calls(calls) if calls.iter().any(|call| call.fails));
    if !types.iter().all(|ty| is_there(ty)) || !outs.iter().all(is_there) || may_fail && !says_so {
        return Ok(None);
    }
    if let Kernel::Calls(calls) = kernel
        && calls.iter().any(|call| call.shader.is_none())
    {
        return Ok(None);
    }
    let mut inputs: SmallVec<[Arc<DeviceTensor>; 4]> = SmallVec::new();
    for value in values {
        inputs.push(match value {
            Value::Device(here) => here.clone(),
            _ => Arc::new(DeviceTensor::upload(value.tensor()?, device)?),
        });
    }
    let job = Job { device, inputs: &inputs, outs };
    let done = match kernel {
        Kernel::View(view) => Some(smallvec![job.view(view)?]),
        Kernel::Same(input) => job.same(*input)?.map(|same| smallvec![same]),
        Kernel::Fill(number) => Some(smallvec![job.fill(*number)?]),
        Kernel::Elementwise(of) => job.elementwise(of)?,
        Kernel::Reduce { of, kind, axes } => job.reduce(of.as_ref(), *kind, axes)?,
        Kernel::Placed { zero, add, parts } => job.placed(*zero, *add, parts)?,
        Kernel::Calls(calls) => job.calls(calls)?,
        Kernel::Size(_) | Kernel::List(_) | Kernel::While { .. } | Kernel::Cond { .. } => None,
    };
    let wrap = |(ty, span): (&Type, _)| Value::Device(Arc::new(place(*ty, span, device)));
    Ok(done.map(|spans: Spans| outs.iter().zip(spans).map(wrap).collect()))
}
