//! Stated layers for Python: their options, their parameters, and their calls.

mod inputs;

use std::sync::{Arc, Mutex, PoisonError};

use fluvial::core::{Attr, DType, Error, Var};
use fluvial::nn::stated::{Call, Callable, Inits, Part, Value};
use fluvial::nn::{AnyStatement, KINDS, Kind};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString, PyTuple};
use pyo3::{IntoPyObjectExt, intern};

use self::inputs::{Held, object, part, taken};
use crate::args::{self, Number};
use crate::generated::OTHER_NAMES;
use crate::parameter::Parameter;
use crate::sequence::{self, DEPTH};
use crate::types::DTypeArg;
use crate::{call, errors};

/// The options of a layer, and what follows from them.
#[pyclass(frozen, module = "fluvial._core", name = "Statement")]
pub struct Statement {
    options: Mutex<Arc<dyn AnyStatement>>,
    /// The parameters, buffers and values that the layer may have under these names take part in a call.
    parts: Vec<Py<PyString>>,
    /// So do layers and functions.
    layers: Vec<Py<PyString>>,
    /// Initial values in place of those that are stated.
    inits: Inits,
}

/// Arguments of a layer's constructor that are not options, by name.
type Others<'py> = Bound<'py, PyDict>;

impl Statement {
    fn of(py: Python<'_>, options: Arc<dyn AnyStatement>, inits: Inits) -> PyResult<Statement> {
        let stated = options.declare().map_err(|error| errors::raise(py, error))?;
        let kind = options.kind();
        let own = stated.own.iter().map(|part| part.name.as_str());
        let parts = interned(py, kind.values.iter().chain(kind.parts).copied().chain(own));
        let functions = kind.layers.iter().map(|(name, _)| *name);
        let functions = functions.filter(|name| kind.is_function(name));
        let within = stated.layers.iter().map(|within| within.name);
        let layers = interned(py, within.chain(functions));
        Ok(Statement { options: Mutex::new(options), parts, layers, inits })
    }

    fn plain(options: Arc<dyn AnyStatement>) -> Statement {
        let (parts, layers, inits) = (Vec::new(), Vec::new(), Vec::new());
        Statement { options: Mutex::new(options), parts, layers, inits }
    }

    fn now(&self) -> Arc<dyn AnyStatement> {
        self.options.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn put(&self, options: Arc<dyn AnyStatement>) {
        *self.options.lock().unwrap_or_else(PoisonError::into_inner) = options;
    }

    fn option(&self, py: Python<'_>, name: &str) -> PyResult<Attr> {
        self.now().get(name).ok_or_else(|| {
            let what = format!("`{}` has no option `{name}`", self.now().kind().name);
            errors::raise(py, Error::argument(what))
        })
    }
}

#[pymethods]
impl Statement {
    /// The options and the other arguments of a layer of this kind, from those of its constructor.
    ///
    /// Args:
    ///     kind: The name of the layer's kind.
    ///     class: The name of its class, for errors.
    ///     values: The arguments by position.
    ///     named: The arguments by name.
    #[staticmethod]
    fn bind<'py>(
        py: Python<'py>,
        kind: &str,
        class: &str,
        values: &Bound<'py, PyTuple>,
        named: &Bound<'py, PyDict>,
    ) -> PyResult<(Statement, Others<'py>)> {
        let mut options = default_of(kind)?;
        let kind = options.kind();
        let signature = Signature { kind, class };
        let others = PyDict::new(py);
        let mut given: Vec<&'static str> = Vec::new();
        let names = signature.names();
        if values.len() > names.len() {
            let what = format!("takes {} options, found {}", names.len(), values.len());
            return Err(signature.fault(py, &what));
        }
        let by_position = names.iter().map(|name| name.to_string()).zip(values.iter());
        let by_name = named.iter().map(|(name, value)| (name.to_string(), value));
        for (said, value) in by_position.chain(by_name) {
            if said == "inplace" && signature.runs_in_place() {
                // As in the layer's function, it is accepted and changes nothing.
                continue;
            }
            let Some(name) = signature.find(&said) else {
                return Err(signature.fault(py, &format!("has no option `{said}`")));
            };
            if given.contains(&name) {
                return Err(signature.fault(py, &format!("has two values for `{name}`")));
            }
            given.push(name);
            let is_own = kind.is_function(name) && value.is_callable();
            if !is_own && kind.options().any(|option| option.name == name) {
                let changed = attr_of(&value)
                    .and_then(|attr| options.with(name, &attr).map_err(|e| raised(py, class, e)));
                options = changed?;
            } else {
                others.set_item(name, value)?;
            }
        }
        for option in kind.options() {
            if option.default.is_none() && !given.contains(&option.name) {
                return Err(signature.fault(py, &format!("needs a value for `{}`", option.name)));
            }
        }
        let is_off = others.get_item("bias_attr")?.is_some_and(|attr| is_false(&attr));
        if is_off && options.get("bias").is_some() {
            options = options.with("bias", &Attr::Bool(false)).map_err(|e| raised(py, class, e))?;
        }
        Ok((Statement::of(py, options, Vec::new())?, others))
    }

    /// What a layer of a kind takes: the names of its options with their other names, those that are
    /// attributes of the layer; the names of those that are functions; and its signature.
    ///
    /// Args:
    ///     kind: The name of the kind.
    #[staticmethod]
    fn signature<'py>(
        py: Python<'py>,
        kind: &str,
    ) -> PyResult<(Vec<(String, String)>, Bound<'py, PyTuple>, String)> {
        let kind = default_of(kind)?.kind();
        let mut names = Vec::new();
        let is_part = |name| kind.parts.contains(&name) || kind.is_function(name);
        for option in kind.options().filter(|option| !is_part(option.name)) {
            let all = std::iter::once(&option.name).chain(option.others);
            names.extend(all.map(|name| (name.to_string(), option.name.to_string())));
        }
        let functions = kind.layers.iter().map(|(name, _)| *name);
        let functions: Vec<&str> = functions.filter(|name| kind.is_function(name)).collect();
        Ok((names, PyTuple::new(py, functions)?, Signature { kind, class: "" }.text(py)))
    }

    /// The parameters and buffers by name, as new ones; None for those that are left out.
    ///
    /// Args:
    ///     others: The other arguments of the constructor.
    fn parts<'py>(
        &self,
        py: Python<'py>,
        others: &Bound<'py, PyDict>,
    ) -> PyResult<Vec<(String, Option<Bound<'py, PyAny>>)>> {
        let options = self.now();
        let stated = options.declare().map_err(|error| errors::raise(py, error))?;
        let stated = stated.with_inits(&self.inits);
        let dtype = others.get_item("dtype")?.map(|dtype| dtype.extract::<DTypeArg>());
        let dtype = dtype.transpose()?.map_or(DType::F32, |dtype| dtype.0);
        let mut made = Vec::new();
        for part in stated.own {
            let said = others.get_item(part.attr)?;
            let is_off = said.as_ref().is_some_and(is_false);
            let parameter = match is_off {
                true => None,
                false => Some(Parameter::stated(py, &part, dtype, said.as_ref())?),
            };
            made.push((part.name, parameter));
        }
        let kind = options.kind();
        for name in kind.parts {
            if made.iter().all(|(known, _)| known != name) {
                made.push((name.to_string(), None));
            }
        }
        Ok(made)
    }

    /// The layers and functions within, by name, as new ones.
    ///
    /// Args:
    ///     others: The other arguments of the constructor.
    fn layers<'py>(
        &self,
        py: Python<'py>,
        others: &Bound<'py, PyDict>,
    ) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let options = self.now();
        let kind = options.kind();
        let stated = options.declare().map_err(|error| errors::raise(py, error))?;
        let mut made = Vec::new();
        for within in stated.layers {
            let said = PyDict::new(py);
            let inner = within.options.kind();
            for name in inner.attrs.iter().copied().chain(["dtype"]) {
                if let Some(value) = others.get_item(name)? {
                    said.set_item(name, value)?;
                }
            }
            let class = PyModule::import(py, "fluvial.nn._generated")?.getattr(inner.name)?;
            let statement = Statement::of(py, within.options, within.inits)?;
            made.push((within.name.to_string(), class.call_method1("_of", (statement, said))?));
        }
        for (name, _) in kind.layers.iter().filter(|(name, _)| kind.is_function(name)) {
            let function = match others.get_item(name)? {
                Some(given) => given,
                None => {
                    let text = self.get(py, name)?.extract::<String>()?;
                    PyModule::import(py, "fluvial._core")?.getattr(text.as_str())?
                }
            };
            made.push((name.to_string(), function));
        }
        Ok(made)
    }

    /// The names of the tensors that users give it.
    fn values(&self) -> Vec<&'static str> {
        self.now().kind().values.to_vec()
    }

    /// The option of this name.
    ///
    /// Args:
    ///     name: The name.
    fn get<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        object_of(py, &self.option(py, name)?)
    }

    /// Changes the option of this name, unless it decides what parameters are like. Returns what changes of
    /// options of layers within: their names, options and values.
    ///
    /// Args:
    ///     name: The name.
    ///     value: Its new value.
    fn set<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<(&'static str, &'static str, Bound<'py, PyAny>)>> {
        let before = self.now();
        let class = before.kind().name;
        let changed = before.with(name, &attr_of(value)?).map_err(|e| raised(py, class, e))?;
        let stated = |options: &Arc<dyn AnyStatement>| {
            let stated = options.declare().and_then(|parts| Ok((parts.text()?, parts.layers)));
            stated.map_err(|e| raised(py, class, e))
        };
        let ((text, inner), (other_text, other_inner)) = (stated(&before)?, stated(&changed)?);
        if text != other_text {
            return Err(errors::raise(
                py,
                Error::argument(format!(
                    "`{name}` decides what the parameters are like, and these are made"
                ))
                .remedy(format!("make another `{class}`")),
            ));
        }
        let mut within = Vec::new();
        for (old, new) in inner.iter().zip(&other_inner) {
            for option in new.options.kind().options() {
                let now = new.options.get(option.name);
                if let Some(now) =
                    now.filter(|now| old.options.get(option.name).as_ref() != Some(now))
                {
                    within.push((new.name, option.name, object_of(py, &now)?));
                }
            }
        }
        self.put(changed);
        Ok(within)
    }

    /// All options, to compare and to put back.
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let now = self.now();
        let options = now.kind().options();
        let values = options.filter_map(|option| now.get(option.name));
        let objects: Vec<_> = values.map(|attr| object_of(py, &attr)).collect::<PyResult<_>>()?;
        PyTuple::new(py, objects)
    }

    /// Puts all options back.
    ///
    /// Args:
    ///     values: What `options` gave.
    fn put_back(&self, py: Python<'_>, values: &Bound<'_, PyTuple>) -> PyResult<()> {
        let mut options = self.now();
        let kind = options.kind();
        for (option, value) in kind.options().zip(values.iter()) {
            let changed = options.with(option.name, &attr_of(&value)?);
            options = changed.map_err(|e| raised(py, kind.name, e))?;
        }
        self.put(options);
        Ok(())
    }

    /// The options that a `repr` shows: those that have to be given, and those that were.
    fn shown(&self, py: Python<'_>) -> PyResult<String> {
        let now = self.now();
        let mut shown = Vec::new();
        for option in now.kind().options() {
            let Some(attr) = now.get(option.name) else { continue };
            let text = text_of(py, &attr)?;
            match option.default {
                None if matches!(attr, Attr::List(_)) => {
                    shown.push(format!("{}={text}", option.name));
                }
                None => shown.push(text),
                Some(default) if default() != attr => {
                    shown.push(format!("{}={text}", option.name));
                }
                Some(_) => {}
            }
        }
        Ok(shown.join(", "))
    }

    /// What the layer gives for its inputs.
    ///
    /// Args:
    ///     layer: The layer, which has the parts.
    ///     inputs: The inputs by position.
    ///     named: The inputs by name.
    fn call<'py>(
        &self,
        layer: &Bound<'py, PyAny>,
        inputs: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = layer.py();
        let mut options = self.now();
        let kind = options.kind();
        let inputs = taken(py, kind, inputs, named)?;
        let own = layer.getattr(intern!(py, "__dict__"))?.cast_into::<PyDict>()?;
        let held = |name: &Bound<'py, PyString>| -> PyResult<Option<Bound<'py, PyDict>>> {
            let found = if self.parts.is_empty() { None } else { own.get_item(name)? };
            Ok(found.and_then(|held| held.cast_into::<PyDict>().ok()))
        };
        let (parameters, buffers) =
            (held(intern!(py, "_parameters"))?, held(intern!(py, "_buffers"))?);
        let mut names = Vec::with_capacity(self.parts.len());
        let mut found = Vec::with_capacity(self.parts.len());
        for name in &self.parts {
            let name = name.bind(py);
            names.push(name.to_str()?);
            found.push(part(layer, name, parameters.as_ref(), buffers.as_ref())?);
        }
        let mut layers: Vec<(&str, Arc<dyn Callable>)> = Vec::with_capacity(self.layers.len());
        for name in &self.layers {
            let found = layer.getattr(name.bind(py))?;
            if !found.is_none() {
                layers.push((name.to_str(py)?, Arc::new(Held(found.unbind()))));
            }
        }
        let training = own.get_item(intern!(py, "training"))?;
        let training = training.is_none_or(|flag| flag.is_truthy().unwrap_or(true));
        let completed = options.complete(&inputs).map_err(|error| errors::raise(py, error))?;
        if let Some(completed) = completed {
            let stated = completed.declare().map_err(|error| errors::raise(py, error))?;
            for part in stated.own {
                let at = names.iter().position(|name| *name == part.name);
                if let Some(Some(Part::Parameter(parameter))) = at.map(|at| &found[at]) {
                    parameter.settle(part.dims.as_deref().unwrap_or_default(), part.init);
                }
            }
            self.put(completed.clone());
            options = completed;
        }
        let tensors: Vec<&Var> = inputs.iter().filter_map(Value::tensor).collect();
        let parts: Vec<(&str, Option<Part>)> = names.into_iter().zip(found).collect();
        let call = Call { parts: &parts, layers: &layers, inputs: &inputs, training };
        let result = call::run(py, &tensors, || options.call(&call))?;
        object(py, result)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Statement> {
        Statement::of(py, self.now(), Vec::new())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let restored = slf.get_type().getattr("restored")?;
        let kind = slf.get().now().kind().name;
        (restored, (kind, slf.get().options(py)?)).into_bound_py_any(py)
    }

    /// What was pickled.
    #[staticmethod]
    fn restored(py: Python<'_>, kind: &str, values: &Bound<'_, PyTuple>) -> PyResult<Statement> {
        let statement = Statement::plain(default_of(kind)?);
        statement.put_back(py, values)?;
        Statement::of(py, statement.now(), Vec::new())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("{}({})", self.now().kind().name, self.shown(py)?))
    }
}

/// The names, each once.
fn interned<'a>(py: Python<'_>, names: impl Iterator<Item = &'a str>) -> Vec<Py<PyString>> {
    let mut all: Vec<&str> = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all.into_iter().map(|name| PyString::intern(py, name).unbind()).collect()
}

/// How a constructor is called.
struct Signature<'a> {
    kind: Kind,
    class: &'a str,
}

impl Signature<'_> {
    fn names(&self) -> Vec<&'static str> {
        let kind = self.kind;
        let options = kind.options().map(|option| option.name);
        let values = kind.values.iter().copied();
        let dtype = kind.has_parts().then_some("dtype");
        values
            .chain(options)
            .chain(kind.attrs.iter().copied())
            .chain(dtype)
            .chain(["name"])
            .collect()
    }

    /// Whether PyTorch offers to run it in the place of its input: if it does so for the function of the same name.
    fn runs_in_place(&self) -> bool {
        let own = self.kind.name.to_lowercase();
        let mut functions = OTHER_NAMES.iter().filter(|(name, _)| name.replace('_', "") == own);
        functions.any(|(_, others)| others.iter().any(|&(other, _)| other == "inplace"))
    }

    /// The name of an argument that was given under this or another name.
    fn find(&self, said: &str) -> Option<&'static str> {
        let other = self.kind.options().find(|option| option.others.contains(&said));
        let own = self.names().into_iter().find(|name| *name == said);
        own.or(other.map(|option| option.name))
    }

    fn text(&self, py: Python<'_>) -> String {
        let shown = self.names().into_iter().map(|name| {
            let option = self.kind.options().find(|option| option.name == name);
            match option.map(|option| option.default) {
                Some(None) => name.to_string(),
                Some(Some(default)) => {
                    format!("{name}={}", text_of(py, &default()).unwrap_or_default())
                }
                None if name == "dtype" => "dtype='float32'".to_string(),
                None => format!("{name}=None"),
            }
        });
        format!("({})", shown.collect::<Vec<_>>().join(", "))
    }

    fn fault(&self, py: Python<'_>, what: &str) -> PyErr {
        let error = Error::new(fluvial::core::ErrorKind::Arity, format!("`{}` {what}", self.class));
        let remedy = format!("its options are {}{}", self.class, self.text(py));
        errors::raise(py, error.remedy(remedy))
    }
}

fn is_false(said: &Bound<'_, PyAny>) -> bool {
    said.cast::<PyBool>().is_ok_and(|flag| !flag.is_true())
}

fn raised(py: Python<'_>, class: &str, error: Error) -> PyErr {
    errors::raise(py, error.note(format!("of a layer `{class}`")))
}

fn default_of(kind: &str) -> PyResult<Arc<dyn AnyStatement>> {
    let found = KINDS.iter().find(|(name, _)| *name == kind);
    found
        .map(|(_, make)| make())
        .ok_or_else(|| PyTypeError::new_err(format!("no layer is of the kind \"{kind}\"")))
}

/// The untyped form of an option's value.
fn attr_of(value: &Bound<'_, PyAny>) -> PyResult<Attr> {
    attr_within(value, 0)
}

/// The most elements of an option of a layer.
const MOST: usize = 1 << 10;

fn attr_within(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Attr> {
    if value.is_none() {
        return Ok(Attr::None);
    }
    if let Some(number) = Number::of(value)? {
        return Ok(match number {
            Number::Bool(flag) => Attr::Bool(flag),
            // What is beyond 64 bits is refused by the option, as a number that is not whole.
            Number::Int(number) => match i64::try_from(number) {
                Ok(number) => Attr::Int(number),
                Err(_) => Attr::Float(number as f64),
            },
            Number::Vast(number) | Number::Float(number) => Attr::Float(number),
            number @ Number::Complex(_) => Attr::Float(number.to_f64()?),
        });
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Attr::Str(text.to_str()?.into()));
    }
    if args::is_more_than_numbers(value) {
        let what = "an option of a layer is a number: the gradient of a tensor, or a value that only the run knows, would be lost";
        let remedy = "call the function with the tensor, such as `fl.leaky_relu(x, slope)`, or pass `x.item()`";
        return Err(errors::raise(value.py(), Error::argument(what).remedy(remedy)));
    }
    if let Ok(number) = value.extract::<i64>() {
        return Ok(Attr::Int(number));
    }
    if let Ok(number) = value.extract::<f64>() {
        return Ok(Attr::Float(number));
    }
    // What has a length is not asked for its elements before that is looked at.
    match value.len().map(drop).or_else(|_| value.try_iter().map(drop)) {
        Ok(()) if depth < DEPTH => {
            sequence::read(value, MOST, |_, item| attr_within(&item, depth + 1)).map(Attr::List)
        }
        Ok(()) => Err(errors::raise(
            value.py(),
            Error::argument("an option of a layer cannot be a list that is inside of itself"),
        )),
        Err(_) => Err(errors::raise(
            value.py(),
            Error::argument(format!("an option of a layer cannot be {}", value.get_type()))
                .remedy("give a number, a string, or several numbers"),
        )),
    }
}

fn object_of<'py>(py: Python<'py>, attr: &Attr) -> PyResult<Bound<'py, PyAny>> {
    match attr {
        Attr::Bool(flag) => flag.into_bound_py_any(py),
        Attr::Int(number) => number.into_bound_py_any(py),
        Attr::Float(number) => number.into_bound_py_any(py),
        Attr::Str(text) => text.into_bound_py_any(py),
        Attr::List(items) => {
            let items: Vec<_> =
                items.iter().map(|item| object_of(py, item)).collect::<PyResult<_>>()?;
            Ok(PyTuple::new(py, items)?.into_any())
        }
        _ => Ok(py.None().into_bound(py)),
    }
}

fn text_of(py: Python<'_>, attr: &Attr) -> PyResult<String> {
    Ok(object_of(py, attr)?.repr()?.to_string())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Statement>()
}
