//! Programs as source: see `fluvial.export`.

use std::path::PathBuf;

use fluvial::core;
use fluvial_export::{Blas, Language, Options, RustOptions, Size, export, export_rust};
use pyo3::prelude::*;

use crate::call;
use crate::program::Program;

/// Writes a program as C: see `fl.export.c`. Gives the bytes of the arena.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of the Python function")]
fn export_c(
    py: Python<'_>,
    program: &Bound<'_, Program>,
    folder: PathBuf,
    name: String,
    sizes: Vec<String>,
    outputs: Vec<String>,
    embed: bool,
    list_capacity: usize,
    blas: String,
) -> PyResult<usize> {
    let program = program.get().core(py)?;
    call::run_attached(py, || {
        let sizes = sizes.iter().map(|text| Size::parse(text)).collect::<Result<_, _>>()?;
        let blas = Blas::parse(&blas)?;
        let options =
            Options { name, sizes, outputs, embed, list_capacity, blas, language: Language::C };
        let exported = export(&program, &core::state::current(), &options)?;
        exported.write(&folder)?;
        Ok(exported.arena_bytes)
    })
}

/// Writes a program as CUDA C++: see `fl.export.cuda`. Gives the bytes of the arena.
#[pyfunction]
fn export_cuda(
    py: Python<'_>,
    program: &Bound<'_, Program>,
    folder: PathBuf,
    name: String,
    sizes: Vec<String>,
    outputs: Vec<String>,
    list_capacity: usize,
) -> PyResult<usize> {
    let program = program.get().core(py)?;
    call::run_attached(py, || {
        let sizes = sizes.iter().map(|text| Size::parse(text)).collect::<Result<_, _>>()?;
        let language = Language::Cuda;
        let options =
            Options { name, sizes, outputs, list_capacity, language, ..Options::default() };
        let exported = export(&program, &core::state::current(), &options)?;
        exported.write(&folder)?;
        Ok(exported.arena_bytes)
    })
}

/// Writes a program as a crate of Rust: see `fl.export.rust`.
#[pyfunction]
fn export_rust_crate(
    py: Python<'_>,
    program: &Bound<'_, Program>,
    folder: PathBuf,
    name: String,
    sizes: Vec<String>,
    outputs: Vec<String>,
    crates: Option<String>,
) -> PyResult<()> {
    let program = program.get().core(py)?;
    call::run_attached(py, || {
        let sizes = sizes.iter().map(|text| Size::parse(text)).collect::<Result<_, _>>()?;
        let options = RustOptions { name, sizes, outputs, crates };
        export_rust(&program, &core::state::current(), &options)?.write(&folder)
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(export_c, module)?)?;
    module.add_function(wrap_pyfunction!(export_cuda, module)?)?;
    module.add_function(wrap_pyfunction!(export_rust_crate, module)?)
}
