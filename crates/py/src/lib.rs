//! The Python front end: the extension module `fluvial._core`, which the package `fluvial` wraps.
//!
//! In reading order: [`tensor`] is the class users handle, with its [`protocol`] and [`methods`], and
//! [`parameter`] a tensor with identity;
//! [`args`], [`types`], [`array`] and [`dlpack`] turn what they pass into values; [`call`] runs an op for them, [`lines`] finds their line and
//! [`errors`] makes their exceptions; [`program`], [`control`], [`state`], [`gradient`], [`hooks`]
//! and [`scopes`] are the rest of the core. The functions of the ops are generated.

mod allocator;
mod args;
mod array;
mod blocks;
mod call;
mod control;
mod create;
mod dlpack;
mod drafts;
mod entry;
mod errors;
mod executor;
mod export;
mod failing;
#[rustfmt::skip]
mod generated;
mod debug;
mod fluid;
mod gradient;
mod hooks;
mod host;
mod index;
mod initializer;
mod interrupt;
mod limits;
mod lines;
mod methods;
mod number;
mod onnx;
mod operators;
mod optimizer;
mod parameter;
mod precision;
mod profile;
mod program;
mod protocol;
mod quantize;
mod ranks;
mod reader;
mod rule;
mod samples;
mod schedule;
mod scopes;
mod sequence;
mod show;
mod sizes;
mod state;
mod stated;
mod tasks;
mod tensor;
mod trace;
mod types;
mod view;
mod weights;

use pyo3::prelude::*;

/// The Rust side of the package `fluvial`.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    allocator::keep_back();
    interrupt::register(module.py())?;
    // Who has his turn may need the interpreter.
    fluvial::core::step::wait_by(|wait| Python::attach(|py| py.detach(wait)));
    tensor::register(module)?;
    parameter::register(module)?;
    initializer::register(module)?;
    stated::register(module)?;
    types::register(module)?;
    sizes::register(module)?;
    create::register(module)?;
    generated::register(module)?;
    control::register(module)?;
    host::register(module)?;
    gradient::register(module)?;
    hooks::register(module)?;
    samples::register(module)?;
    program::register(module)?;
    executor::register(module)?;
    schedule::register(module)?;
    optimizer::register(module)?;
    rule::register(module)?;
    debug::register(module)?;
    limits::register(module)?;
    profile::register(module)?;
    trace::register(module)?;
    blocks::register(module)?;
    tasks::register(module)?;
    precision::register(module)?;
    number::register(module)?;
    failing::register(module)?;
    reader::register(module)?;
    weights::register(module)?;
    onnx::register(module)?;
    fluid::register(module)?;
    export::register(module)?;
    quantize::register(module)?;
    ranks::register(module)?;
    view::register(module)?;
    state::register(module)?;
    scopes::register(module)?;
    lines::register(module)?;
    // The last: methods are these functions, too.
    entry::register(module)?;
    methods::register(module)
}
