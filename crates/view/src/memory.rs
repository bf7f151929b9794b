//! The memory of a run, before it runs: who holds which bytes at which step.

use std::collections::BTreeMap;

use fluvial::compile::Options;
use fluvial::core::{Dim, Error, Program, Result, State, Tensor, Type};
use fluvial::runtime::{Executor, ReportStep, ReportValue};
use serde_json::{Value as Json, json};

use crate::program::{line, symbols};

/// The size of symbols of which nothing is said.
const DEFAULT_SIZE: usize = 8;

/// What a run on inputs of these sizes holds, by symbol; within a limit, values are computed again.
pub fn plan(
    program: &Program,
    sizes: &BTreeMap<String, usize>,
    memory_limit: Option<usize>,
) -> Result<Json> {
    let size = |symbol: Dim| {
        let name = symbol.symbol_name().unwrap_or_default();
        Some(Dim::size(sizes.get(&*name).copied().unwrap_or(DEFAULT_SIZE)))
    };
    let empty = |ty: &Type| {
        let ty = ty.substitute(&size)?;
        let sizes = ty.sizes().filter(|_| !ty.is_list()).ok_or_else(|| {
            Error::argument(format!("no memory can be planned for an input of type {ty}"))
        })?;
        // All elements are one number, so that no size takes memory.
        Tensor::zeros(ty.dtype(), &[])?.expand(&sizes)
    };
    let tensors = program.input_types().iter().map(empty).collect::<Result<Vec<_>>>()?;
    let inputs: Vec<(&str, Tensor)> =
        program.inputs.iter().map(|name| &**name).zip(tensors).collect();
    let outputs: Vec<&str> = program.outputs.iter().map(|name| &**name).collect();
    let options = Options { memory_limit, ..Options::default() };
    let executor = Executor::with(program, &outputs, State::new(), &options)?;
    let report = executor.report(&inputs)?;
    let used: BTreeMap<_, _> = symbols(program)
        .into_iter()
        .map(|name| (name.to_string(), sizes.get(&*name).copied().unwrap_or(DEFAULT_SIZE)))
        .collect();
    let bytes_of = |ty: &Type| {
        let numel = ty.numel().filter(|_| !ty.is_list()).unwrap_or(0);
        numel.saturating_mul(ty.dtype().size())
    };
    Ok(json!({
        "sizes": used,
        "peak_bytes": report.peak_bytes,
        "is_open": report.is_open,
        "unplanned_bytes": report.unplanned_bytes,
        "input_bytes": inputs.iter().map(|(_, x)| bytes_of(&x.ty())).sum::<usize>(),
        "state_bytes": program.states.values().map(|state| bytes_of(&state.ty)).sum::<usize>(),
        "block": block(&report.steps, &report.values, report.arena_bytes),
    }))
}

fn block(steps: &[ReportStep], values: &[ReportValue], arena_bytes: usize) -> Json {
    let step = |step: &ReportStep| {
        let marks = step.loc.marks();
        let mut shown = json!({
            "op": step.op,
            "line": line(step.loc),
            "layer": marks.layer().as_deref(),
            "phase": marks.phase.name(),
            "bytes": step.bytes,
        });
        if step.scratch_bytes > 0 {
            shown["scratch"] = json!(step.scratch_bytes);
        }
        if step.in_place {
            shown["in_place"] = json!(true);
        }
        if !step.blocks.is_empty() {
            let inner = step.blocks.iter();
            let inner = inner.map(|inner| block(&inner.steps, &inner.values, inner.arena_bytes));
            shown["blocks"] = inner.collect();
        }
        shown
    };
    let value = |value: &ReportValue| {
        json!({
            "id": value.id,
            "from": value.step,
            "to": value.until,
            "bytes": value.bytes,
            "at": value.at,
        })
    };
    json!({
        "steps": steps.iter().map(step).collect::<Vec<_>>(),
        "values": values.iter().map(value).collect::<Vec<_>>(),
        "arena_bytes": arena_bytes,
    })
}
