//! Programs: building, running, files.

mod building;
mod notices;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fluvial::core::{self, Cache, Error, Program as CoreProgram, Registry, Result, Var};
use fluvial::data::files;
use fluvial::runtime::Checkpoints;
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};

use self::notices::warn;
use crate::drafts::Open;
use crate::executor::{self, Compiled, Donate, Report};
use crate::state::State;
use crate::tensor::Tensor;
use crate::types::{DTypeArg, TypeArg};
use crate::{args, call, errors, lines, show};

/// A program: data that can be printed, saved and run, for any size of its symbols.
///
/// Made by `fl.build` and `fl.building`, or read from a file.
///
/// Example:
///     >>> program = fl.build(lambda x: x * 2, {"x": ("float32", ("n",))})
///     >>> program.run(x=fl.tensor([1.0, 2.0]))["out0"].tolist()
///     [2.0, 4.0]
#[pyclass(frozen, dict, weakref, module = "fluvial", name = "Program")]
pub struct Program(Kind);

enum Kind {
    Done(Arc<Done>),
    /// Under construction: `fl.Program()`, filled by `fl.program_guard`.
    Open {
        open: Open,
        done: Known,
    },
}

/// A program that will not change, and what was compiled of it.
struct Done {
    program: Arc<CoreProgram>,
    compiled: Cache<Key, Arc<Compiled>>,
}

/// The outputs by name, and whether that means all.
type Key = (Vec<String>, bool);

/// How many compiled forms of a program are kept.
const MAX_COMPILED: usize = 8;

#[pymethods]
impl Program {
    /// An empty program, to be filled inside `fl.program_guard`.
    #[new]
    fn open(py: Python<'_>) -> PyResult<Program> {
        let open = Open::new().map_err(|error| errors::raise(py, error))?;
        Ok(Program(Kind::Open { open, done: Cache::new(MAX_COMPILED) }))
    }

    /// Reads a program from its text form.
    ///
    /// Args:
    ///     text: What `text` returns.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<Program> {
        Program::loaded(py, CoreProgram::parse(text, registry()))
    }

    /// Reads a program file, of either form.
    ///
    /// Args:
    ///     path: The file. One whose name has no ending is binary.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Program> {
        if path.extension().is_none() {
            return Program::from_bytes(py, &std::fs::read(path)?);
        }
        Program::loaded(py, CoreProgram::load(path, registry()))
    }

    /// Writes the program to a file: text if its name ends in ".fl", binary if in ".flb" or if it
    /// has no ending.
    ///
    /// Args:
    ///     path: The file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        if path.extension().is_none() {
            let bytes = self.core(py)?.to_bytes();
            let written = files::write_at(&path, |to| {
                to.write_all(&bytes).map_err(|error| files::io(&path.display().to_string(), error))
            });
            return written.map_err(|error| errors::raise(py, error));
        }
        self.core(py)?.save(path).map_err(|error| errors::raise(py, error))
    }

    /// Writes the arrays in memory that the program reads to a folder, from which the command line takes them. Without a
    /// folder they are an error.
    #[pyo3(signature = (folder=None))]
    fn carry_arrays(&self, py: Python<'_>, folder: Option<PathBuf>) -> PyResult<()> {
        let program = self.core(py)?;
        let carried = fluvial::io::carry_arrays(&program, folder.as_deref());
        carried.map_err(|error| errors::raise(py, error))
    }

    /// The text form, with the user's lines. `str` gives it without them.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        show::text(&*self.core(py)?)
    }

    /// The types of the inputs, by name.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let program = self.core(py)?;
        type_dict(py, program.inputs.iter().zip(program.input_types()))
    }

    /// The names of the inputs that any call or output reads.
    #[getter]
    fn read_inputs(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let program = self.core(py)?;
        let counts = program.main.use_counts();
        let read = program.inputs.iter().zip(counts).filter(|(_, count)| *count > 0);
        Ok(read.map(|(name, _)| name.to_string()).collect())
    }

    /// The types of the outputs, by name.
    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let program = self.core(py)?;
        type_dict(py, program.outputs.iter().zip(program.output_types()))
    }

    /// The types of the states, by name.
    #[getter]
    fn states<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let program = self.core(py)?;
        type_dict(py, program.states.iter().map(|(name, decl)| (name, &decl.ty)))
    }

    /// The values of the states as the program sees them here: those of the objects that it was built
    /// of or that it owns, and for its other states those of the scope.
    ///
    /// Example:
    ///     >>> layer = fl.nn.Linear(2, 1)
    ///     >>> program = fl.build(layer, {"x": "f32[n, 2]"})
    ///     >>> _ = program(fl.full((3, 2), 0.5))
    ///     >>> bool(fl.all(program.state["linear.weight"] == layer.weight))
    ///     True
    #[getter]
    fn state(&self, py: Python<'_>) -> PyResult<State> {
        Ok(State(core::state::current().bound_to(&self.core(py)?.bound())))
    }

    /// Whether an optimizer remembers something in it for the values of one scope.
    #[getter]
    fn _is_of_scope(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.core(py)?.scope().is_some())
    }

    /// Whether the scope at hand is the one that it can run in.
    #[getter]
    fn _is_here(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.core(py)?.check_scope(&core::state::current()).is_ok())
    }

    /// The program as if it came from a file: its states are looked up by name, in the scope that it
    /// runs on.
    fn unbound(&self, py: Python<'_>) -> PyResult<Program> {
        Program::new(py, Ok(self.core(py)?.unbound()))
    }

    /// Whether the parameters that the program was built of are trained or not as they were then, and
    /// have the types that they had.
    #[getter]
    fn is_current(&self, py: Python<'_>) -> PyResult<bool> {
        let program = self.core(py)?;
        let is_same = |decl: &core::StateDecl| {
            let now = decl.cell.as_ref().and_then(core::Cell::declaration);
            now.is_none_or(|now| now == *decl)
        };
        Ok(program.states.values().all(is_same))
    }

    /// Whether the program is under construction.
    #[getter]
    fn is_open(&self) -> bool {
        matches!(self.0, Kind::Open { .. })
    }

    /// Names an output of a program under construction.
    ///
    /// Args:
    ///     name: Its name.
    ///     value: A tensor of the program.
    fn output(&self, py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let var = args::var(value)?;
        let named = match &self.0 {
            Kind::Open { open, .. } => open.output(name, var),
            Kind::Done(_) => Err(Error::program("a finished program gets no more outputs")
                .remedy("name them while it is built")),
        };
        named.map_err(|error| errors::raise(py, error))
    }

    /// The program under construction as it is now, with these outputs.
    ///
    /// Args:
    ///     outputs: Tensors of the program by name.
    fn snapshot(&self, outputs: &Bound<'_, PyDict>) -> PyResult<Program> {
        let py = outputs.py();
        let output = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok((name.extract()?, args::var(&value)?))
        };
        let named: Vec<(String, Var)> = outputs.iter().map(output).collect::<PyResult<_>>()?;
        let Kind::Open { open, done } = &self.0 else {
            let error = Error::program("a finished program has outputs of its own");
            return Err(errors::raise(py, error.remedy("fetch them by name")));
        };
        let _line = core::at(lines::here(py));
        let program = open.program_of(&named).map_err(|error| errors::raise(py, error))?;
        Ok(Program(Kind::Done(kept(done, program))))
    }

    /// Opens a program under construction: ops of this thread are appended. `fl.program_guard`
    /// calls it.
    fn enter(&self, py: Python<'_>) -> PyResult<()> {
        let entered = match &self.0 {
            Kind::Open { open, .. } => open.enter(),
            Kind::Done(_) => Err(Error::program("a finished program takes no more ops")
                .remedy("make one with `fl.Program()`")),
        };
        entered.map_err(|error| errors::raise(py, error))
    }

    /// Gives the states that have no value yet their first one. `run` does so by itself.
    fn initialise(&self, py: Python<'_>) -> PyResult<()> {
        let program = self.core(py)?;
        call::run_long(py, || {
            program.initialise(&core::state::current().bound_to(&program.bound()))
        })
    }

    /// The program for inference: dropout passes its input on, and only what the outputs need is
    /// left, so that no state changes.
    fn for_inference(&self, py: Python<'_>) -> PyResult<Program> {
        Program::new(py, self.core(py)?.for_inference())
    }

    /// The program in which calls of these ops take float32 in a narrow type, and give it back as float32.
    ///
    /// Args:
    ///     dtype: The narrow type, bfloat16 or float16.
    ///     ops: The names of ops.
    fn narrowed(&self, py: Python<'_>, dtype: DTypeArg, ops: Vec<String>) -> PyResult<Program> {
        let ops: Vec<&str> = ops.iter().map(String::as_str).collect();
        let program = self.core(py)?;
        Program::new(py, fluvial::narrowed(&program, dtype.0, &ops))
    }

    /// The program with the numbers that the states of the scope hold now as constants, which the compiler
    /// works into one another: a batch norm into the convolution before it. It has no states and no
    /// effects. What is trained is best frozen after `for_inference`.
    fn freeze(&self, py: Python<'_>) -> PyResult<Program> {
        let program = self.core(py)?;
        let frozen = call::run_long(py, || {
            let state = core::state::current().bound_to(&program.bound());
            program.initialise(&state)?;
            program.freeze(&state)
        })?;
        Program::new(py, Ok(frozen))
    }

    /// The program that computes these outputs outside of training, with the inputs that they need.
    ///
    /// Args:
    ///     outputs: Their names; all by default.
    #[pyo3(signature = (outputs=None))]
    fn for_use(&self, py: Python<'_>, outputs: Option<Vec<String>>) -> PyResult<Program> {
        let program = self.core(py)?;
        let all = || program.outputs.iter().map(|name| name.to_string()).collect();
        let outputs = outputs.unwrap_or_else(all);
        let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
        Program::new(py, fluvial::io::inference_program(&program, &outputs))
    }

    /// Runs the program, compiled, on the state scope of the thread.
    ///
    /// The numbers are those of line by line, to the bit. An input or option of the same name as a
    /// keyword here is fed by `feed`.
    ///
    /// Args:
    ///     feed: The inputs by name, as a dict.
    ///     fetch: The names of the outputs that are wanted; None for all.
    ///     compiled: False to interpret the program call by call.
    ///     **feeds: The inputs by name: tensors, arrays, numbers or lists.
    ///
    /// Returns:
    ///     The outputs by name.
    #[pyo3(signature = (feed=None, *, fetch=None, compiled=true, **feeds))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        feed: Option<&Bound<'py, PyDict>>,
        fetch: Option<Vec<String>>,
        compiled: bool,
        feeds: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let done = self.done(py)?;
        let executor = done.compiled(py, fetch)?;
        let both = merged(feed, feeds)?;
        let vars = executor.inputs(&PyTuple::empty(py), both.as_ref())?;
        let outputs = match compiled {
            true => executor.run_compiled(py, vars)?,
            false => executor.interpret(py, &vars)?,
        };
        executor.by_name(py, outputs)
    }

    /// Runs the program as `run` does, and writes checkpoints: everything that the run needs to go on, bit for
    /// bit, if it is stopped or killed.
    ///
    /// Args:
    ///     folder: Where checkpoints are written.
    ///     feed: The inputs by name.
    ///     fetch: The outputs that are wanted.
    ///     steps: One after so many steps, trips of the loop over a reader; by default, one every
    ///         `seconds`.
    ///     seconds: One after so much time.
    ///     keep: How many are kept; damaged ones do not count.
    ///     resume: Whether to go on from the latest one, if there is any. Inputs and data must be those that the
    ///         run began with. Without it, a folder with checkpoints is refused.
    #[pyo3(signature = (folder, feed=None, fetch=None, *, steps=None, seconds=300.0, keep=2, resume=true))]
    #[allow(clippy::too_many_arguments, reason = "Python gives most of them by name")]
    fn run_checkpointed<'py>(
        &self,
        py: Python<'py>,
        folder: std::path::PathBuf,
        feed: Option<&Bound<'py, PyDict>>,
        fetch: Option<Vec<String>>,
        steps: Option<u64>,
        seconds: f64,
        keep: usize,
        resume: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let done = self.done(py)?;
        let executor = done.compiled(py, fetch)?;
        let vars = executor.inputs(&PyTuple::empty(py), feed)?;
        let checkpoints = Checkpoints::new(folder).keep(keep).tell(warn);
        let checkpoints = match steps {
            Some(steps) => checkpoints.every_steps(steps),
            None => checkpoints.every(Duration::try_from_secs_f64(seconds).unwrap_or_default()),
        };
        let outputs = executor.run_checkpointed(py, &vars, &checkpoints, resume)?;
        executor.by_name(py, outputs)
    }

    /// What a run on inputs of these sizes will need; nothing is run.
    ///
    /// Args:
    ///     **feeds: The inputs by name: tensors, arrays, or types such as "f32[32, 784]".
    ///
    /// Example:
    ///     >>> program = fl.build(lambda x: fl.exp(x) * 2, {"x": "f32[n]"})
    ///     >>> len(program.report(x="f32[1000]").steps)
    ///     1
    #[pyo3(signature = (**feeds))]
    fn report<'py>(&self, py: Python<'py>, feeds: Option<&Bound<'py, PyDict>>) -> PyResult<Report> {
        let typed = PyDict::new(py);
        for (name, fed) in feeds.iter().flat_map(|feeds| feeds.iter()) {
            let is_type = fed.is_instance_of::<PyString>() || fed.is_instance_of::<PyTuple>();
            match is_type.then(|| fed.extract::<TypeArg>()) {
                Some(ty) => typed.set_item(name, Tensor::new(executor::placeholder(py, &ty?)?))?,
                None => typed.set_item(name, fed)?,
            }
        }
        let done = self.done(py)?;
        let compiled = done.compiled(py, None)?;
        compiled.report(py, &compiled.inputs(&PyTuple::empty(py), Some(&typed))?)
    }

    /// A compiled form of the program: `fl.compile` calls it.
    ///
    /// Args:
    ///     fetch: Names of outputs; all of them by default.
    ///     single: Whether the one output is returned without a tuple.
    ///     donate: Whether the fed tensors are given away; or the names of the inputs that are.
    ///     memory_limit: The most bytes that a run may need.
    ///     fast: Whether results may differ in their last bits from line by line.
    ///     recorded: Whether a call is recorded if the program reads parameters and leaves them as they
    ///         are, as a call of the program itself is.
    #[pyo3(
        signature = (fetch=None, *, single=None, donate=Donate::All(false), memory_limit=None, fast=false, recorded=false),
        text_signature = "(fetch=None, *, single=None, donate=False, memory_limit=None, fast=False, recorded=False)"
    )]
    #[allow(clippy::too_many_arguments)]
    fn compile(
        &self,
        py: Python<'_>,
        fetch: Option<Vec<String>>,
        single: Option<bool>,
        donate: Donate,
        memory_limit: Option<usize>,
        fast: bool,
        recorded: bool,
    ) -> PyResult<Compiled> {
        let program = self.core(py)?;
        let all = || program.outputs.iter().map(|name| name.to_string()).collect();
        let fetch: Vec<String> = fetch.unwrap_or_else(all);
        let names: Vec<&str> = fetch.iter().map(String::as_str).collect();
        let single = single.unwrap_or(names.len() == 1);
        let options = executor::options(memory_limit, fast);
        let made = Compiled::new(py, &program, &names, single, &options)?.donating(py, &donate)?;
        Ok(if recorded { made.recording_parameters() } else { made })
    }

    /// Applies the program to inputs, in order or by name. It runs compiled. If an input is tracked,
    /// or the program reads parameters and does not update them, the call is recorded for gradients,
    /// as one node of the tape. In a program being built it becomes a part of that. Returns one output
    /// as it is, several as a tuple.
    #[pyo3(signature = (*inputs, **feeds))]
    fn __call__<'py>(
        &self,
        inputs: &Bound<'py, PyTuple>,
        feeds: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = inputs.py();
        let done = self.done(py)?;
        let compiled = done.compiled(py, None)?;
        let vars = compiled.inputs(inputs, feeds)?;
        compiled.hand_back(py, compiled.run(py, vars)?)
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        show::text_of(format_args!("{:#}", self.core(py)?))
    }

    /// What notebooks show: the page of `fl.view`, without a server.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let program = (*self.core(py)?).clone();
        Ok(py.detach(|| crate::view::notebook(&program)))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let program = self.core(py)?;
        let (inputs, outputs) = (program.inputs.join(", "), program.outputs.join(", "));
        Ok(format!("<Program ({inputs}) -> ({outputs})>"))
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, operator: CompareOp) -> PyResult<bool> {
        let py = other.py();
        let same = match other.cast::<Program>() {
            Ok(other) => {
                std::ptr::eq(self, other.get()) || self.core(py)? == other.get().core(py)?
            }
            Err(_) => false,
        };
        match operator {
            CompareOp::Eq => Ok(same),
            CompareOp::Ne => Ok(!same),
            _ => Err(PyTypeError::new_err("programs have no order")),
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Py<PyBytes>,))> {
        let bytes = PyBytes::new(slf.py(), &slf.get().core(slf.py())?.to_bytes()).unbind();
        Ok((slf.getattr("from_bytes")?, (bytes,)))
    }

    /// Reads a program from its binary form.
    ///
    /// Args:
    ///     bytes: The contents of a ".flb" file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Program> {
        Program::loaded(py, CoreProgram::from_bytes(bytes, registry()))
    }
}

/// Programs that one under construction has been, by their addresses.
type Known = Cache<usize, Arc<Done>>;

/// The finished program, with what was compiled of it before.
fn kept(known: &Known, program: Arc<CoreProgram>) -> Arc<Done> {
    let address = Arc::as_ptr(&program) as usize;
    if let Some(done) = known.get(&address) {
        return done;
    }
    let done = Arc::new(Done::new(program));
    known.insert(address, done.clone());
    done
}

impl Program {
    /// A program from a file, which goes on with the layers of this scope that it was built of.
    fn loaded(py: Python<'_>, program: Result<CoreProgram>) -> PyResult<Program> {
        let here = core::state::current();
        Program::new(py, program.and_then(|program| program.bound_to_listed(&here)))
    }

    /// A finished program.
    pub fn new(py: Python<'_>, program: Result<CoreProgram>) -> PyResult<Program> {
        let program = Arc::new(program.map_err(|error| errors::raise(py, error))?);
        Ok(Program(Kind::Done(Arc::new(Done::new(program)))))
    }

    /// The program as data.
    pub fn core(&self, py: Python<'_>) -> PyResult<Arc<CoreProgram>> {
        Ok(self.done(py)?.program.clone())
    }

    /// The inputs in order, from what is fed by name.
    pub fn fed(&self, py: Python<'_>, feeds: &Bound<'_, PyDict>) -> PyResult<Vec<Var>> {
        self.done(py)?.compiled(py, None)?.inputs(&PyTuple::empty(py), Some(feeds))
    }

    /// The program itself, or what there is of one under construction.
    fn done(&self, py: Python<'_>) -> PyResult<Arc<Done>> {
        match &self.0 {
            Kind::Done(done) => Ok(done.clone()),
            Kind::Open { open, done } => {
                let program = open.program().map_err(|error| errors::raise(py, error))?;
                Ok(kept(done, program))
            }
        }
    }
}

impl Done {
    fn new(program: Arc<CoreProgram>) -> Done {
        Done { program, compiled: Cache::new(MAX_COMPILED) }
    }

    /// The compiled form for these outputs, made when it is first asked for. Its bits are those of
    /// line by line.
    fn compiled(&self, py: Python<'_>, fetch: Option<Vec<String>>) -> PyResult<Arc<Compiled>> {
        let all = fetch.is_none();
        let key = (fetch.unwrap_or_default(), all);
        self.compiled.get_or(&key, || {
            let names: Vec<&str> = match all {
                true => self.program.outputs.iter().map(|name| &**name).collect(),
                false => key.0.iter().map(String::as_str).collect(),
            };
            let options = executor::options(None, false);
            let made = Compiled::new(py, &self.program, &names, names.len() == 1, &options)?;
            Ok(Arc::new(made.recording_parameters()))
        })
    }
}

/// Feeds from a dict and from keywords.
fn merged<'py>(
    feed: Option<&Bound<'py, PyDict>>,
    feeds: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    match (feed, feeds) {
        (Some(feed), Some(feeds)) => {
            let both = feed.copy()?;
            both.update(feeds.as_mapping())?;
            Ok(Some(both))
        }
        (one, other) => Ok(one.or(other).cloned()),
    }
}

fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(fluvial::short::registry)
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

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Program>()?;
    building::register(module)
}
