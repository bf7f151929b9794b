//! A stated layer in Rust.

use std::fmt;
use std::sync::{Arc, OnceLock};

use fluvial_core::scope::user_line;
use fluvial_core::{Error, Result, Var};

use super::Statement;
use super::call::{Call, Value};
use super::parts::{Declared, Part, Parts};
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
    fault: Option<Error>,
}

/// A parameter or buffer of the layer.
#[derive(Clone)]
struct Own {
    name: String,
    /// How it was stated.
    text: String,
    parameter: Parameter,
}

impl<S: Statement> Stated<S> {
    /// A layer with these options.
    pub(in crate::nn) fn at(at: impl Into<Path>, options: S) -> Stated<S> {
        let (at, completed) = (at.into(), Arc::default());
        let (attrs, parts) = (Vec::new(), Vec::new());
        Stated { at, options, completed, attrs, parts, fault: None }.declared()
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
        // What is stated as before stays as it is, in its place in the model, up to what is new.
        let mut is_as_before = true;
        let former = std::mem::take(&mut self.parts);
        let made = stated.0.into_iter().map(|part| {
            let text = format!("{part:?}");
            let mut former = former.iter().filter(|_| is_as_before);
            let kept = former.find(|known| known.name == part.name && known.text == text);
            is_as_before = kept.is_some();
            let parameter = kept.map_or_else(|| self.made(&part), |known| known.parameter.clone());
            if let Some((_, attr)) = self.attrs.iter().find(|(name, _)| *name == part.attr) {
                parameter.set_attr(attr.clone());
            }
            Own { name: part.name, text, parameter }
        });
        self.parts = made.collect();
        if let Some(fault) = &self.fault {
            // Whatever uses the parameters tells the fault.
            let init = Initializer::zeros();
            let faulty = self.at.sized_parameter("weight", Err(fault.clone()), init);
            let name = "weight".to_string();
            self.parts.push(Own { name, text: String::new(), parameter: faulty });
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
        let call = Call { parts: &parts, inputs, training: self.at.is_training() };
        self.options().call(&call).map_err(|error| error.at(loc))
    }
}

/// Gives parameters that were left open their sizes and initial values.
fn settle<S: Statement>(options: &S, parts: &[Own]) -> Result<()> {
    let mut stated = Parts::default();
    options.declare(&mut stated)?;
    for part in stated.0 {
        if let Some(own) = parts.iter().find(|own| own.name == part.name) {
            own.parameter.settle(part.dims.as_deref().unwrap_or_default(), part.init);
        }
    }
    Ok(())
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
