//! Programs: building, running, files.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use fluvial::core::{self, Error, Program as CoreProgram, Registry, Result, Var};
use fluvial::ops;
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::args::Arg;
use crate::tensor::Tensor;
use crate::types::{ShapeArg, TypeArg, type_of};
use crate::{args, call, errors, interrupt};

/// A program: data that can be printed, saved and run, for any size of its symbols.
///
/// Made by `fl.build` and `fl.building`, or read from a file.
///
/// Example:
///     >>> program = fl.build(lambda x: x * 2, {"x": ("float32", ("n",))})
///     >>> program.run(x=fl.tensor([1.0, 2.0]))["out0"].tolist()
///     [2.0, 4.0]
#[pyclass(frozen, module = "fluvial", name = "Program")]
struct Program(Arc<CoreProgram>);

#[pymethods]
impl Program {
    /// Reads a program from its text form.
    ///
    /// Args:
    ///     text: What `text` returns.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<Program> {
        Program::new(py, CoreProgram::parse(text, registry()))
    }

    /// Reads a program file, of either form.
    ///
    /// Args:
    ///     path: The file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Program> {
        Program::new(py, CoreProgram::load(path, registry()))
    }

    /// Writes the program to a file: text if its name ends in ".fl", or else binary (".flb").
    ///
    /// Args:
    ///     path: The file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.0.save(path).map_err(|error| errors::raise(py, error))
    }

    /// The text form, with the user's lines. `str` gives it without them.
    fn text(&self) -> String {
        self.0.to_string()
    }

    /// The types of the inputs, by name.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        type_dict(py, self.0.inputs.iter().zip(self.0.input_types()))
    }

    /// The types of the outputs, by name.
    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        type_dict(py, self.0.outputs.iter().zip(self.0.output_types()))
    }

    /// The types of the states, by name.
    #[getter]
    fn states<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        type_dict(py, self.0.states.iter().map(|(name, decl)| (name, &decl.ty)))
    }

    /// Gives the states that have no value yet their first one. `run` does so by itself.
    fn initialise(&self, py: Python<'_>) -> PyResult<()> {
        call::run_long(py, || self.0.initialise(&core::state::current()))
    }

    /// Runs the program on the state scope of the thread.
    ///
    /// Args:
    ///     **feeds: The inputs by name: tensors, arrays or numbers.
    ///
    /// Returns:
    ///     The outputs by name.
    #[pyo3(signature = (**feeds))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        feeds: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let inputs = self.fed(py, feeds)?;
        let _watch = interrupt::watch();
        let outputs = call::run_long(py, || {
            let _scope = (core::imperative(), core::no_grad());
            self.0.apply(&inputs.iter().collect::<Vec<_>>())
        })?;
        let dict = PyDict::new(py);
        for (name, output) in self.0.outputs.iter().zip(outputs) {
            dict.set_item(&**name, Tensor(output))?;
        }
        Ok(dict)
    }

    /// Applies the program to inputs in their order, in both modes: it runs and is recorded for
    /// gradients, or becomes part of the program being built. Returns one output as it is, several
    /// as a tuple.
    #[pyo3(signature = (*inputs))]
    fn __call__<'py>(&self, inputs: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let py = inputs.py();
        let types = self.0.input_types();
        let input = |(i, input): (usize, Bound<'py, PyAny>)| {
            Arg::expect(&input)?.into_var(types.get(i).map(|ty| ty.dtype()))
        };
        let inputs = inputs.iter().enumerate().map(input).collect::<PyResult<Vec<_>>>()?;
        let outputs = call::run_long(py, || self.0.apply(&inputs.iter().collect::<Vec<_>>()))?;
        match <[Var; 1]>::try_from(outputs) {
            Ok([output]) => Ok(Bound::new(py, Tensor(output))?.into_any()),
            Err(outputs) => Ok(PyTuple::new(py, outputs.into_iter().map(Tensor))?.into_any()),
        }
    }

    fn __str__(&self) -> String {
        format!("{:#}", self.0)
    }

    fn __repr__(&self) -> String {
        let (inputs, outputs) = (self.0.inputs.join(", "), self.0.outputs.join(", "));
        format!("<Program ({inputs}) -> ({outputs})>")
    }

    fn __richcmp__(&self, other: &Bound<'_, Program>, operator: CompareOp) -> PyResult<bool> {
        match operator {
            CompareOp::Eq => Ok(self.0 == other.get().0),
            CompareOp::Ne => Ok(self.0 != other.get().0),
            _ => Err(PyTypeError::new_err("programs have no order")),
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Py<PyBytes>,))> {
        let bytes = PyBytes::new(slf.py(), &slf.get().0.to_bytes()).unbind();
        Ok((slf.getattr("from_bytes")?, (bytes,)))
    }

    /// Reads a program from its binary form.
    ///
    /// Args:
    ///     bytes: The contents of a ".flb" file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Program> {
        Program::new(py, CoreProgram::from_bytes(bytes, registry()))
    }
}

impl Program {
    fn new(py: Python<'_>, program: Result<CoreProgram>) -> PyResult<Program> {
        let program = program.map_err(|error| errors::raise(py, error))?;
        Ok(Program(Arc::new(program)))
    }

    /// The inputs in order.
    fn fed(&self, py: Python<'_>, feeds: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<Var>> {
        let known = &self.0.inputs;
        for name in feeds.iter().flat_map(|feeds| feeds.keys()) {
            let name: String = name.extract()?;
            if known.iter().all(|known| **known != *name) {
                let error = Error::argument(format!("the program has no input `{name}`"))
                    .remedy(format!("its inputs are: {}", known.join(", ")));
                return Err(errors::raise(py, error));
            }
        }
        let input = |(name, ty): (&Arc<str>, &core::Type)| {
            let fed = feeds.map(|feeds| feeds.get_item(&**name)).transpose()?.flatten();
            match fed {
                Some(fed) => Arg::expect(&fed)?.into_var(Some(ty.dtype())),
                None => {
                    let error = Error::argument(format!("the input `{name}` was not fed"))
                        .remedy("feed every input by its name");
                    Err(errors::raise(py, error))
                }
            }
        };
        known.iter().zip(self.0.input_types()).map(input).collect()
    }
}

fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(ops::registry)
}

fn type_dict<'a, 'py>(
    py: Python<'py>,
    types: impl Iterator<Item = (&'a Arc<str>, &'a core::Type)>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, ty) in types {
        dict.set_item(&**name, ty.to_string())?;
    }
    Ok(dict)
}

/// Begins a program: from here on, ops of this thread are appended to it. `fl.building` calls it.
#[pyfunction]
fn begin_program() {
    core::begin_program();
}

/// An input of the program being built.
///
/// Args:
///     name: Its name.
///     type: Its type, or its element type if `shape` is given.
///     shape: Its sizes: ints and names of symbols.
#[pyfunction]
#[pyo3(signature = (name, r#type, shape=None))]
fn program_input(
    name: &str,
    r#type: &Bound<'_, PyAny>,
    shape: Option<ShapeArg>,
) -> PyResult<Tensor> {
    let py = r#type.py();
    let ty = match shape {
        Some(shape) => type_of(py, r#type.extract()?, &shape)?,
        None => r#type.extract::<TypeArg>()?.0,
    };
    call::run(py, &[], || core::program_input(name, ty)).map(Tensor)
}

/// Ends the program begun last, also if it raises.
///
/// Args:
///     outputs: Its outputs by name.
#[pyfunction]
fn end_program(outputs: &Bound<'_, PyDict>) -> PyResult<Program> {
    let py = outputs.py();
    let output = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        Ok((name.extract()?, args::var(&value)?))
    };
    let named: PyResult<Vec<(String, Var)>> = outputs.iter().map(output).collect();
    let named = named.inspect_err(|_| core::abort_program())?;
    let outputs: Vec<(&str, &Var)> = named.iter().map(|(name, var)| (&**name, var)).collect();
    // No guard may live across the end, which puts the mode back.
    Program::new(py, core::end_program(&outputs))
}

/// Gives up the program begun last, and the blocks open inside it.
#[pyfunction]
fn abort_program() {
    core::abort_program();
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Program>()?;
    module.add_function(wrap_pyfunction!(begin_program, module)?)?;
    module.add_function(wrap_pyfunction!(program_input, module)?)?;
    module.add_function(wrap_pyfunction!(end_program, module)?)?;
    module.add_function(wrap_pyfunction!(abort_program, module)?)
}
