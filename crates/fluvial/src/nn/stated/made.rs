//! A stated layer in Rust.

use std::fmt;
use std::sync::{Arc, OnceLock};

use fluvial_core::scope::user_line;
use fluvial_core::{Error, Result, Var};

use super::call::{Call, Callable, Value};
use super::parts::{Declared, Inits, Part, Parts};
use super::{Inner, Statement};
use crate::init::Initializer;
use crate::nn::{Layer, ParamAttr, Parameter, Path};

/// A layer with options of this type, at its place. `Linear` and the other layers are names of it;
/// each has a `new`, and builders for what can be left out.
#[derive(Clone)]
pub struct Stated<S> {
    at: Path,
    options: S,
    /// The options with what the first call said.
    completed: Arc<OnceLock<S>>,
    attrs: Vec<(&'static str, ParamAttr)>,
    parts: Vec<Own>,
    layers: Vec<(String, &'static str, Arc<dyn Inner>)>,
    inits: Inits,
    fault: Option<Error>,
}

/// A parameter or buffer of the layer.
#[derive(Clone)]
struct Own {
    name: String,
    attr: &'static str,
    /// How it was stated.
    text: String,
    parameter: Parameter,
}

impl<S: Statement> Stated<S> {
    /// A layer with these options.
    pub(in crate::nn) fn at(at: impl Into<Path>, options: S) -> Stated<S> {
        Stated::within(at.into(), options, Vec::new())
    }

    /// A layer within another, with these initial values.
    pub(super) fn within(at: Path, options: S, inits: Inits) -> Stated<S> {
        let (completed, attrs) = (Arc::default(), Vec::new());
        let (parts, layers) = (Vec::new(), Vec::new());
        Stated { at, options, completed, attrs, parts, layers, inits, fault: None }.declared()
    }

    /// A layer without parameters and without a place.
    pub(in crate::nn) fn nowhere(options: S) -> Stated<S> {
        Stated::at(Path::nowhere().clone(), options)
    }

    /// The options, with what the first call said.
    pub fn options(&self) -> &S {
        self.completed.get().unwrap_or(&self.options)
    }

    /// The layer with other options.
    #[must_use]
    pub(in crate::nn) fn with(mut self, change: impl FnOnce(&mut S)) -> Stated<S> {
        change(&mut self.options);
        self.declared()
    }

    /// The layer with something said of its parameters.
    #[must_use]
    pub(in crate::nn) fn with_attr(
        mut self,
        name: &'static str,
        attr: impl Into<ParamAttr>,
    ) -> Stated<S> {
        self.attrs.retain(|(known, _)| *known != name);
        self.attrs.push((name, attr.into()));
        self.declared()
    }

    fn declared(mut self) -> Stated<S> {
        let mut stated = Parts::default();
        self.fault = self.options.declare(&mut stated).err();
        let stated = stated.with_inits(&self.inits);
        // What is stated as before stays as it is, in its place in the model, up to what is new.
        let mut is_as_before = true;
        let former = std::mem::take(&mut self.parts);
        let made = stated.own.into_iter().map(|part| {
            let text = format!("{part:?}");
            let mut former = former.iter().filter(|_| is_as_before);
            let kept = former.find(|known| known.name == part.name && known.text == text);
            is_as_before = kept.is_some();
            let parameter = kept.map_or_else(|| self.made(&part), |known| known.parameter.clone());
            Own { name: part.name, attr: part.attr, text, parameter }
        });
        self.parts = made.collect();
        let former = std::mem::take(&mut self.layers);
        let made = stated.layers.into_iter().map(|within| {
            let text = format!("{within:?}");
            let mut former = former.iter().filter(|_| is_as_before);
            let kept = former.find(|(known, ..)| *known == text);
            is_as_before = kept.is_some();
            let made = || within.options.made(self.at.join(within.name), within.inits.clone());
            (text, within.name, kept.map_or_else(made, |(.., known)| known.clone()))
        });
        self.layers = made.collect();
        self.attrs.iter().for_each(|(name, attr)| self.say(name, attr));
        if let Some(fault) = &self.fault {
            // Whatever uses the parameters tells the fault.
            let init = Initializer::zeros();
            let faulty = self.at.sized_parameter("weight", Err(fault.clone()), init);
            let (name, text) = ("weight".to_string(), String::new());
            self.parts.push(Own { name, attr: "", text, parameter: faulty });
        }
        self
    }

    fn made(&self, part: &Declared) -> Parameter {
        let (dims, init) = (part.dims.as_deref(), part.init.clone());
        let dtype = part.dtype.unwrap_or(self.at.dtype());
        match (part.is_buffer, dims) {
            (true, dims) => self.at.buffer(&part.name, dims.unwrap_or_default(), dtype, init),
            (false, Some(dims)) => self.at.parameter(&part.name, dims, init),
            (false, None) => self.at.lazy_parameter(&part.name, init),
        }
    }

    /// The output for these inputs, as many as the layer states; those left out may be missing.
    #[track_caller]
    pub fn call(&self, inputs: &[Value]) -> Result<Value> {
        let loc = user_line();
        let _call = self.at.called();
        if let Some(fault) = &self.fault {
            return Err(fault.clone().at(loc));
        }
        if let Some(completed) = self.options().complete(inputs).map_err(|e| e.at(loc))? {
            settle(&completed, &self.parts)?;
            let _ = self.completed.set(completed);
        }
        let own = self.parts.iter();
        let own = own.map(|own| (own.name.as_str(), Some(Part::Parameter(own.parameter.clone()))));
        let parts: Vec<_> = own.collect();
        let within = self.layers.iter();
        let layers: Vec<_> =
            within.map(|(_, name, layer)| (*name, layer.clone() as Arc<dyn Callable>)).collect();
        let training = self.at.is_training();
        let call = Call { parts: &parts, layers: &layers, inputs, training };
        self.options().call(&call).map_err(|error| error.at(loc))
    }
}

/// Gives parameters that were left open their sizes and initial values.
fn settle<S: Statement>(options: &S, parts: &[Own]) -> Result<()> {
    let mut stated = Parts::default();
    options.declare(&mut stated)?;
    for part in stated.own {
        if let Some(own) = parts.iter().find(|own| own.name == part.name) {
            own.parameter.settle(part.dims.as_deref().unwrap_or_default(), part.init);
        }
    }
    Ok(())
}

impl<S: Statement> Inner for Stated<S> {
    fn say(&self, name: &str, attr: &ParamAttr) {
        let own = self.parts.iter().filter(|own| own.attr == name);
        own.for_each(|own| own.parameter.set_attr(attr.clone()));
        self.layers.iter().for_each(|(.., layer)| layer.say(name, attr));
    }
}

impl<S: Statement> Callable for Stated<S> {
    fn call(&self, inputs: &[Value], named: &[(&str, Value)]) -> Result<Value> {
        let kind = S::KIND;
        let mut all = inputs.to_vec();
        all.resize(kind.inputs.len().max(inputs.len()), Value::None);
        for (name, value) in named {
            let at = kind.inputs.iter().position(|input| input.name == *name);
            let no = || Error::internal(format!("`{}` has no input `{name}`", kind.name));
            all[at.ok_or_else(no)?] = value.clone();
        }
        Stated::call(self, &all)
    }
}

impl<S: Statement> Layer for Stated<S> {
    fn path(&self) -> &Path {
        &self.at
    }

    #[track_caller]
    fn forward(&self, x: &Var) -> Result<Var> {
        if !self.options.is_function_of_one() {
            let name = self.at.name();
            let what = format!("the layer `{name}` is not a function of one input");
            return Err(Error::argument(what)
                .remedy("call the layer's own function, with all its inputs")
                .at(user_line()));
        }
        match self.call(&[x.clone().check()?.into()])? {
            Value::Many(several) => several.into_iter().next().unwrap_or(Value::None).into_tensor(),
            one => one.into_tensor(),
        }
    }
}

impl<S: fmt::Debug> fmt::Debug for Stated<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at `{:?}`", self.options, self.at)
    }
}
