//! Programs computed with bytes: see `fl.quantize`.

use std::sync::{Mutex, PoisonError};

use fluvial::core;
use fluvial::{How, Quantizer as Core};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::call;
use crate::program::Program;

/// Looks at what goes into the ops of a program, and makes the program on bytes. What `fl.quantize` is made of.
#[pyclass(frozen, module = "fluvial", name = "Quantizer")]
struct Quantizer {
    program: Py<Program>,
    core: Mutex<Core>,
}

/// The name of a weight, its op, how it is computed, and whether it stays in floats though nobody asked for it.
type Row = (String, String, String, bool);

#[pymethods]
impl Quantizer {
    #[new]
    fn new(py: Python<'_>, program: Py<Program>, skip: Vec<String>) -> PyResult<Quantizer> {
        let core = program.get().core(py)?;
        let made = call::run_long(py, || {
            let skip: Vec<&str> = skip.iter().map(String::as_str).collect();
            Core::new(&core, &core::state::current(), &skip)
        })?;
        Ok(Quantizer { program, core: Mutex::new(made) })
    }

    /// Runs the program on inputs by name, and remembers the ends of what goes into its ops.
    fn observe(&self, py: Python<'_>, feeds: &Bound<'_, PyDict>) -> PyResult<()> {
        let program = self.program.get();
        let vars = program.fed(py, feeds)?;
        let names = program.core(py)?.inputs.clone();
        call::run_long(py, || {
            let mut fed = Vec::new();
            for (name, var) in names.iter().zip(&vars) {
                fed.push((&**name, var.tensor()?.clone()));
            }
            self.core.lock().unwrap_or_else(PoisonError::into_inner).observe(&fed)
        })
    }

    /// The program on bytes, and what became of its ops.
    fn finish(&self, py: Python<'_>, dynamic: bool) -> PyResult<(Program, Vec<Row>)> {
        let made = call::run_long(py, || {
            let core = self.core.lock().unwrap_or_else(PoisonError::into_inner);
            if dynamic { core.dynamic() } else { core.quantized() }
        })?;
        let row = |op: fluvial::QuantizedOp| {
            let kept = matches!(op.how, How::Kept { asked: false, .. });
            (op.name, op.op.to_string(), op.how.to_string(), kept)
        };
        Ok((Program::new(py, Ok(made.program))?, made.ops.into_iter().map(row).collect()))
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Quantizer>()
}
