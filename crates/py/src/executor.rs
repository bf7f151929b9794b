//! Compiled programs: running, reports, the lockstep check.

use fluvial::compile::Options;
use fluvial::core::{
    self, Dim, Error, ErrorKind, Mode, Program as CoreProgram, Result, Sizes, Tensor as CoreTensor,
    Type, ValueId, Var,
};
use fluvial::runtime::{self, Checkpoints, Executor};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::args::Arg;
use crate::tensor::Tensor;
use crate::types::{TypeArg, long_name};
use crate::{args, array, call, errors, interrupt, profile, sequence, trace};

/// A compiled program, as `fl.compile` returns it: called with its inputs, in order or by name.
///
/// It works on the state scope of the thread that calls it. One serves all sizes; each new size is
/// planned once. Calls in several threads at once are independent.
///
/// Example:
///     >>> f = fl.compile(fl.build(lambda x: x * 2, {"x": "f32[n]"}))
///     >>> f(x=fl.tensor([1.0, 2.0])).tolist()
///     [2.0, 4.0]
#[pyclass(frozen, module = "fluvial", name = "Compiled", weakref)]
pub struct Compiled {
    executor: Executor,
    inputs: Vec<(Py<PyString>, Type)>,
    /// By input: whether what is wanted depends on it.
    needed: Vec<bool>,
    form: Form,
    /// By input: whether what is fed is given away. Empty if nothing is.
    donated: Vec<bool>,
    /// Whether a call is recorded for the sake of parameters that the program reads.
    records_parameters: bool,
}

/// Which of the inputs are given away: all or none, or those of these names.
#[derive(FromPyObject)]
pub enum Donate {
    All(bool),
    Names(Vec<String>),
}

/// How outputs are handed back.
#[derive(Clone, Copy)]
enum Form {
    One,
    Tuple,
}

impl Compiled {
    /// `single` says that the one output comes without a tuple.
    pub fn new(
        py: Python<'_>,
        program: &CoreProgram,
        fetch: &[&str],
        single: bool,
        options: &Options,
    ) -> PyResult<Compiled> {
        let state = core::state::current();
        let made = py.detach(|| Executor::with(program, fetch, state, options));
        let executor = made.map_err(|error| errors::raise(py, error))?;
        let names = program.inputs.iter().map(|name| PyString::intern(py, name).unbind());
        let inputs = names.zip(program.input_types().iter().copied()).collect();
        let form = if single { Form::One } else { Form::Tuple };
        let main = &executor.compiled().program.main;
        let is_used = |id: ValueId| {
            main.results.contains(&id) || main.calls.iter().any(|call| call.inputs.contains(&id))
        };
        let needed = (0..main.n_params).map(|i| is_used(i as ValueId)).collect();
        Ok(Compiled {
            executor,
            inputs,
            needed,
            form,
            donated: Vec::new(),
            records_parameters: false,
        })
    }

    /// A form that gives away what is fed to these inputs.
    pub fn donating(mut self, py: Python<'_>, donate: &Donate) -> PyResult<Compiled> {
        self.donated = match donate {
            Donate::All(false) => Vec::new(),
            Donate::All(true) => vec![true; self.inputs.len()],
            Donate::Names(names) => {
                let mut donated = vec![false; self.inputs.len()];
                for name in names {
                    let is = |(known, _): &(Py<PyString>, Type)| known.bind(py) == name.as_str();
                    let Some(i) = self.inputs.iter().position(is) else {
                        let error = Error::argument(format!(
                            "the program has no input `{name}` to give away"
                        ));
                        let remedy = format!("its inputs are: {}", self.names(py));
                        return Err(errors::raise(py, error.remedy(remedy)));
                    };
                    donated[i] = true;
                }
                donated
            }
        };
        Ok(self)
    }

    /// A form whose calls are recorded also if the program reads parameters and leaves them as they are, since
    /// their gradients may be asked for then.
    pub fn recording_parameters(mut self) -> Compiled {
        self.records_parameters = true;
        self
    }

    /// The inputs in order, from positions and names.
    pub fn inputs(
        &self,
        positions: &Bound<'_, PyTuple>,
        feeds: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Var>> {
        let py = positions.py();
        let n_given = positions.len() + feeds.map_or(0, |feeds| feeds.len());
        let mut vars = Vec::with_capacity(self.inputs.len());
        let mut missing = Vec::new();
        for (i, (name, ty)) in self.inputs.iter().enumerate() {
            let name = name.bind(py);
            let fed = match i < positions.len() {
                true => Some(positions.get_item(i)?),
                false => feeds.map(|feeds| feeds.get_item(name)).transpose()?.flatten(),
            };
            match fed {
                Some(fed) => {
                    let var = feed(&fed, ty)?;
                    if var.dtype() != ty.dtype() {
                        return Err(self.wrong_dtype(py, i, &var));
                    }
                    vars.push(var);
                }
                None if !self.needed[i] => missing.push(i),
                None => return Err(self.wrong_feeds(py, positions.len(), Some(i), feeds)),
            }
        }
        let n_missing = missing.len();
        if n_missing > 0 {
            self.stand_in(py, &mut vars, &missing)?;
        }
        if n_given + n_missing > vars.len() {
            return Err(self.wrong_feeds(py, positions.len(), None, feeds));
        }
        Ok(vars)
    }

    /// Puts tensors of the right types where nothing was fed that is needed.
    #[cold]
    fn stand_in(&self, py: Python<'_>, vars: &mut Vec<Var>, missing: &[usize]) -> PyResult<()> {
        let mut sizes = Sizes::default();
        let fed = (0..self.inputs.len()).filter(|i| !missing.contains(i));
        for (i, var) in fed.zip(vars.iter()) {
            sizes.unify(&self.inputs[i].1, &var.ty()).map_err(|error| errors::raise(py, error))?;
        }
        for &i in missing {
            let known = |symbol: Dim| Some(sizes.get(symbol).unwrap_or(Dim::size(1)));
            let made = self.inputs[i].1.substitute(&known).and_then(|ty| {
                let dims: Option<Vec<usize>> = ty.dims().iter().map(|dim| dim.value()).collect();
                CoreTensor::zeros(ty.dtype(), &dims.unwrap_or_default())
            });
            vars.insert(i, Var::new(made.map_err(|error| errors::raise(py, error))?));
        }
        Ok(())
    }

    /// What is wrong with feeds: one of no input, a missing one, one too many.
    #[cold]
    fn wrong_feeds(
        &self,
        py: Python<'_>,
        n_positions: usize,
        missing: Option<usize>,
        feeds: Option<&Bound<'_, PyDict>>,
    ) -> PyErr {
        let position = |name: &Bound<'_, PyAny>| {
            let is = |known: &Py<PyString>| known.bind(py).as_any().eq(name).unwrap_or(false);
            self.inputs.iter().position(|(known, _)| is(known))
        };
        let fed: Vec<_> = feeds.iter().flat_map(|feeds| feeds.keys()).collect();
        let stranger = fed.iter().find(|name| position(name).is_none());
        let twice = fed.iter().find(|name| position(name).is_some_and(|i| i < n_positions));
        let text = match (stranger, missing, twice) {
            (Some(name), ..) => format!("the program has no input `{name}`"),
            (_, Some(i), _) => format!("the input `{}` was not fed", self.inputs[i].0.bind(py)),
            (_, _, Some(name)) => format!("the input `{name}` was fed twice"),
            _ => format!("the program takes {} inputs", self.inputs.len()),
        };
        let remedy = format!("its inputs are: {}", self.names(py));
        errors::raise(py, Error::argument(text).remedy(remedy))
    }

    #[cold]
    fn wrong_dtype(&self, py: Python<'_>, i: usize, var: &Var) -> PyErr {
        if let Err(error) = var.clone().check() {
            return errors::raise(py, error);
        }
        let (name, ty) = &self.inputs[i];
        let text = format!("the input `{}` is {ty}, and was fed {}", name.bind(py), var.ty());
        let remedy = format!("convert it: `x.astype(\"{}\")`", long_name(ty.dtype()));
        errors::raise(py, Error::new(ErrorKind::DType, text).remedy(remedy))
    }

    fn names(&self, py: Python<'_>) -> String {
        let names: Vec<String> =
            self.inputs.iter().map(|(name, _)| name.bind(py).to_string()).collect();
        names.join(", ")
    }

    /// The program on the scope at hand.
    fn here(&self, py: Python<'_>) -> PyResult<Executor> {
        let state = core::state::current();
        self.executor.check_scope(&state).map_err(|error| errors::raise(py, error))?;
        Ok(self.executor.on(state))
    }

    /// Applies the program: it runs compiled, as one node of the tape if gradients may be asked for, and becomes a
    /// part of a program that is being built.
    pub fn run(&self, py: Python<'_>, vars: Vec<Var>) -> PyResult<Vec<Var>> {
        let executor = self.here(py)?;
        let (rows, profiler) = (trace::current(), profile::current());
        let _watch = interrupt::watch();
        // A signal that came before, and that Python has not looked at yet.
        py.check_signals()?;
        call::run_long(py, || {
            let call = executor.call().donate_some(&self.donated);
            let call = call.records_parameters(self.records_parameters);
            let call = match (&rows, &profiler) {
                (Some(rows), _) => call.op_by_op().observe(&**rows),
                (_, Some(profiler)) => call.observe(&**profiler),
                _ => call,
            };
            call.apply(vars)
        })
    }

    /// Whether a call takes away what is donated: those that are recorded, or part of a program, keep it.
    fn takes_away(&self, py: Python<'_>, vars: &[Var]) -> PyResult<bool> {
        if !self.donated.contains(&true) || core::mode() == Mode::Building {
            return Ok(false);
        }
        let executor = self.here(py)?;
        let is_recorded = call::run_long(py, || executor.records(vars, self.records_parameters))?;
        Ok(!is_recorded)
    }

    /// Leaves fed tensors that are donated without their values, which the run may write over.
    fn give_away(&self, inputs: &Bound<'_, PyTuple>, feeds: Option<&Bound<'_, PyDict>>) {
        let py = inputs.py();
        for i in (0..self.donated.len()).filter(|&i| self.donated[i]) {
            let name = self.inputs[i].0.bind(py);
            let fed = match i < inputs.len() {
                true => inputs.get_item(i).ok(),
                false => feeds.and_then(|feeds| feeds.get_item(name).ok().flatten()),
            };
            let Some(Ok(tensor)) = fed.as_ref().map(|fed| fed.cast::<Tensor>()) else { continue };
            if !tensor.get().is_value(py) {
                continue;
            }
            let error = Error::argument("the tensor was given away to a compiled program")
                .remedy("use what the call returned, or compile without `donate`");
            drop(tensor.get().put(py, Var::failed(error)));
        }
    }

    /// Runs the compiled program; nothing is recorded.
    pub fn run_compiled(&self, py: Python<'_>, vars: Vec<Var>) -> PyResult<Vec<Var>> {
        let _scope = (core::imperative(), core::no_grad());
        self.run(py, vars)
    }

    /// Runs the program and writes checkpoints on the way.
    pub fn run_checkpointed(
        &self,
        py: Python<'_>,
        vars: &[Var],
        checkpoints: &Checkpoints,
        resume: bool,
    ) -> PyResult<Vec<Var>> {
        let executor = self.here(py)?;
        let names: Vec<String> = self.inputs.iter().map(|(name, _)| name.to_string()).collect();
        let _watch = interrupt::watch();
        // A signal that came before, and that Python has not looked at yet.
        py.check_signals()?;
        let outputs = call::run_long(py, || {
            let mut feeds = Vec::new();
            for (name, var) in names.iter().zip(vars) {
                feeds.push((name.as_str(), var.tensor()?.clone()));
            }
            executor.call().feeds(&feeds).checkpoints(checkpoints, resume).run()
        })?;
        Ok(outputs.into_iter().map(Var::new).collect())
    }

    /// Runs the program call by call; nothing is recorded.
    pub fn interpret(&self, py: Python<'_>, vars: &[Var]) -> PyResult<Vec<Var>> {
        let _watch = interrupt::watch();
        // A signal that came before, and that Python has not looked at yet.
        py.check_signals()?;
        let _scope = (core::imperative(), core::no_grad());
        let source = self.executor.source();
        let outputs = call::run_long(py, || source.apply(&vars.iter().collect::<Vec<_>>()))?;
        let fetched = &self.executor.compiled().program.outputs;
        let find = |name: &str| source.output(name).map(|i| outputs[i].clone());
        let found = fetched.iter().map(|name| find(name)).collect::<Result<Vec<_>>>();
        found.map_err(|error| errors::raise(py, error))
    }

    /// The outputs as Python gets them.
    pub fn hand_back<'py>(
        &self,
        py: Python<'py>,
        outputs: Vec<Var>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match (self.form, <[Var; 1]>::try_from(outputs)) {
            (Form::One, Ok([output])) => Ok(Bound::new(py, Tensor::new(output))?.into_any()),
            (_, Ok(outputs)) => tuple(py, outputs.into()),
            (_, Err(outputs)) => tuple(py, outputs),
        }
    }

    /// The outputs by name.
    pub fn by_name<'py>(&self, py: Python<'py>, outputs: Vec<Var>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, output) in self.executor.compiled().program.outputs.iter().zip(outputs) {
            dict.set_item(&**name, Tensor::new(output))?;
        }
        Ok(dict)
    }

    /// What a run on these inputs will need.
    pub fn report(&self, py: Python<'_>, vars: &[Var]) -> PyResult<Report> {
        let report = || {
            let named = self.executor.source().inputs.iter().zip(vars);
            let feeds = named.map(|(name, var)| Ok((&**name, var.tensor()?.clone())));
            self.executor.report(&feeds.collect::<Result<Vec<_>>>()?)
        };
        call::run_long(py, report).map(Report)
    }
}

fn tuple(py: Python<'_>, outputs: Vec<Var>) -> PyResult<Bound<'_, PyAny>> {
    Ok(PyTuple::new(py, outputs.into_iter().map(Tensor::new))?.into_any())
}

/// A value for an input of this type: a tensor, a number, an array, or nested lists.
pub fn feed(object: &Bound<'_, PyAny>, ty: &Type) -> PyResult<Var> {
    let py = object.py();
    match Arg::of(object)? {
        Some(arg) => arg.into_var(py, Some(ty.dtype())),
        None if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() => {
            let tensor = array::copy(&array::as_array(object)?)?;
            tensor.cast(ty.dtype()).map(Var::new).map_err(|error| errors::raise(py, error))
        }
        None => Arg::expect(object)?.into_var(py, None),
    }
}

#[pymethods]
impl Compiled {
    /// Runs the program.
    ///
    /// Args:
    ///     feed: The inputs by name.
    ///
    /// Returns:
    ///     The outputs by name.
    #[pyo3(name = "run", signature = (feed=None))]
    fn run_by_name<'py>(
        &self,
        py: Python<'py>,
        feed: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let vars = self.inputs(&PyTuple::empty(py), feed)?;
        let outputs = self.run_compiled(py, vars)?;
        self.by_name(py, outputs)
    }

    #[pyo3(signature = (*inputs, **feeds))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        inputs: &Bound<'py, PyTuple>,
        feeds: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, own) = (slf.py(), slf.get());
        let vars = own.inputs(inputs, feeds)?;
        if own.takes_away(py, &vars)? {
            own.give_away(inputs, feeds);
        }
        own.hand_back(py, own.run(py, vars)?)
    }

    /// What a run on inputs of these sizes will need; nothing is run.
    ///
    /// Args:
    ///     *inputs: The inputs in order: tensors or arrays.
    ///     **feeds: The inputs by name.
    #[pyo3(name = "report", signature = (*inputs, **feeds))]
    fn py_report<'py>(
        slf: &Bound<'py, Self>,
        inputs: &Bound<'py, PyTuple>,
        feeds: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Report> {
        let own = slf.get();
        own.report(slf.py(), &own.inputs(inputs, feeds)?)
    }

    /// The compiled program as text.
    fn text(&self) -> String {
        self.executor.compiled().program.to_string()
    }

    /// What the passes of the compiler did: pairs of a pass and its change, with the user's line.
    #[getter]
    fn patches(&self) -> Vec<(String, String, String)> {
        let patches = &self.executor.compiled().patches;
        let told = patches
            .iter()
            .map(|patch| (patch.pass.to_string(), patch.what.clone(), patch.loc.to_string()));
        told.collect()
    }

    /// The names of the inputs.
    #[getter(inputs)]
    fn input_names(&self, py: Python<'_>) -> Vec<String> {
        self.inputs.iter().map(|(name, _)| name.bind(py).to_string()).collect()
    }

    /// The names of the outputs.
    #[getter]
    fn outputs(&self) -> Vec<String> {
        let outputs = &self.executor.compiled().program.outputs;
        outputs.iter().map(|name| name.to_string()).collect()
    }

    fn __str__(&self) -> String {
        format!("{:#}", self.executor.compiled().program)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<Compiled ({}) -> ({})>", self.names(py), self.outputs().join(", "))
    }
}

/// The memory and the work of a run, before it runs.
#[pyclass(frozen, module = "fluvial", name = "Report")]
pub struct Report(runtime::Report);

#[pymethods]
impl Report {
    /// The most bytes that a run holds at once beside its inputs and the states.
    #[getter]
    fn peak_bytes(&self) -> usize {
        self.0.peak_bytes
    }

    /// Whether it may be more, since lists grow or sizes are known to the run only.
    #[getter]
    fn is_open(&self) -> bool {
        self.0.is_open
    }

    /// About the bytes that line by line would need.
    #[getter]
    fn unplanned_bytes(&self) -> usize {
        self.0.unplanned_bytes
    }

    /// The steps: op, the user's line, bytes of its outputs, whether it runs in place.
    #[getter]
    fn steps(&self) -> Vec<(String, String, usize, bool)> {
        let steps = self.0.steps.iter();
        steps
            .map(|step| (step.op.to_string(), step.loc.to_string(), step.bytes, step.in_place))
            .collect()
    }

    /// The bytes that the steps of each line make, the most first.
    fn by_line(&self) -> Vec<(String, usize)> {
        self.0.by_line()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Report of {} steps, peak {} bytes>", self.0.steps.len(), self.0.peak_bytes)
    }
}

/// Runs a function line by line, as a program op by op, and compiled, each on a copy of the state,
/// and compares all results by bits.
///
/// Args:
///     function: Takes tensors; returns a tensor or several.
///     inputs: Its arguments: tensors, arrays or numbers.
///
/// Returns:
///     What the function returns.
///
/// Raises:
///     RuntimeError: If they differ; it names the first op whose results do, its line and both
///         values, or the change of the compiler that is at fault.
///
/// Example:
///     >>> fl.check(lambda x: fl.exp(x) * 2, [fl.tensor([0.0])]).tolist()
///     [2.0]
#[pyfunction]
fn check<'py>(
    function: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = function.py();
    let inputs = sequence::read(inputs, sequence::MANY, |_, input| args::var(&input))?;
    let single = std::cell::Cell::new(true);
    let f = |vars: &[Var]| {
        let returned = || {
            let args = PyTuple::new(py, vars.iter().map(|var| Tensor::new(var.clone())))?;
            let returned = function.call1(args)?;
            let group = returned.is_instance_of::<PyTuple>() || returned.is_instance_of::<PyList>();
            single.set(!group);
            if group { args::many(&returned) } else { Ok(vec![args::var(&returned)?]) }
        };
        returned().map_err(errors::callback)
    };
    let outputs = call::run_attached(py, || {
        let tensors = inputs.iter().map(|var| var.tensor().cloned()).collect::<Result<Vec<_>>>()?;
        runtime::check(f, &tensors)
    })?;
    let mut outputs: Vec<Var> = outputs.into_iter().map(Var::new).collect();
    match single.get() {
        true => Ok(Bound::new(py, Tensor::new(outputs.remove(0)))?.into_any()),
        false => tuple(py, outputs),
    }
}

/// Options of the compiler from what Python passes.
pub fn options(memory_limit: Option<usize>, fast: bool) -> Options {
    Options { memory_limit, fast, verify: false, ..Options::default() }
}

/// An empty tensor of a type, for reports; sizes must be known.
pub fn placeholder(py: Python<'_>, ty: &TypeArg) -> PyResult<Var> {
    let dims: Option<Vec<usize>> = ty.0.dims().iter().map(|dim| dim.value()).collect();
    let tensor = dims
        .ok_or_else(|| Error::argument(format!("{} has open sizes", ty.0)).remedy("give ints"))
        .and_then(|dims| CoreTensor::empty(ty.0.dtype(), &dims));
    tensor.map(Var::new).map_err(|error| errors::raise(py, error))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Compiled>()?;
    module.add_class::<Report>()?;
    module.add_function(wrap_pyfunction!(check, module)?)
}
