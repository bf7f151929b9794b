//! Parameters and buffers by name, out of a model and into it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fluvial_core::scope::user_line;
use fluvial_core::{Error, Result, Tensor, at, imperative, no_grad};

use super::parameter::Parameter;
use super::path::Path;

/// Tensors by name, in order.
///
/// ```
/// use fluvial::prelude::*;
///
/// let mut dict = StateDict::new();
/// dict.insert("weight", Tensor::full(&[1, 2], 0.5f32)?);
/// dict.insert("bias", Tensor::full(&[1], 1.0f32)?);
/// let layer = Linear::new("fc", 2, 1);
/// layer.load_state_dict(&dict, true)?;
/// assert_eq!(layer.forward(&Var::of(&[2.0f32, 4.0], &[1, 2])?)?.item::<f32>()?, 4.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct StateDict(Vec<(String, Tensor)>);

impl StateDict {
    /// An empty one.
    pub fn new() -> StateDict {
        StateDict::default()
    }

    /// Adds a tensor, or replaces the one of that name.
    pub fn insert(&mut self, name: impl Into<String>, tensor: Tensor) {
        let name = name.into();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = tensor,
            None => self.0.push((name, tensor)),
        }
    }

    /// The tensor of that name.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, tensor)| tensor)
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Names and tensors, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.0.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: Into<String>> FromIterator<(N, Tensor)> for StateDict {
    fn from_iter<I: IntoIterator<Item = (N, Tensor)>>(tensors: I) -> StateDict {
        let mut dict = StateDict::new();
        tensors.into_iter().for_each(|(name, tensor)| dict.insert(name, tensor));
        dict
    }
}

/// What a load that is not strict left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Names of the model that the dict does not have.
    pub missing: Vec<String>,
    /// Names of the dict that the model does not have.
    pub unexpected: Vec<String>,
}

impl Path {
    /// See [`Layer::state_dict`](super::Layer::state_dict).
    #[track_caller]
    pub fn state_dict(&self) -> Result<StateDict> {
        let loc = user_line();
        let _scope = (at(loc), imperative(), no_grad());
        let tensor = |parameter: &Parameter| {
            let name = self.relative(&parameter.key()).to_string();
            Ok((name, parameter.get()?.tensor()?.clone()))
        };
        self.persistent().map_err(|error| error.at(loc))?.iter().map(tensor).collect()
    }

    /// See [`Layer::load_state_dict`](super::Layer::load_state_dict).
    #[track_caller]
    pub fn load_state_dict(&self, dict: &StateDict, strict: bool) -> Result<Loaded> {
        let loc = user_line();
        self.load(dict, strict).map_err(|error| error.at(loc))
    }

    /// What a file has of the model here and below; an error if it would have to have two tensors of one name.
    fn persistent(&self) -> Result<Vec<Parameter>> {
        let mut entries = self.entries();
        entries.retain(Parameter::is_persistent);
        let mut known: BTreeMap<Arc<str>, &Parameter> = BTreeMap::new();
        for entry in &entries {
            let other = known.insert(entry.key(), entry);
            if other.is_some_and(|other| !other.same(entry)) {
                let fault = format!("two parameters are called `{}`", entry.key());
                let remedy = "make each layer of the model at a place of its own";
                return Err(Error::state(fault).remedy(remedy));
            }
        }
        Ok(entries)
    }

    fn load(&self, dict: &StateDict, strict: bool) -> Result<Loaded> {
        let entries = self.persistent()?;
        let keys: Vec<Arc<str>> = entries.iter().map(Parameter::key).collect();
        let known: BTreeSet<&str> = keys.iter().map(|key| self.relative(key)).collect();
        let unexpected = dict.names().filter(|name| !known.contains(name)).map(str::to_string);
        let mut loaded = Loaded { missing: Vec::new(), unexpected: unexpected.collect() };
        let (mut values, mut faults) = (Vec::new(), Vec::new());
        for (entry, key) in entries.iter().zip(&keys) {
            let name = self.relative(key);
            let Some(tensor) = dict.get(name) else {
                loaded.missing.push(name.to_string());
                continue;
            };
            match fitting(entry, tensor) {
                Ok(tensor) => values.push((entry, tensor)),
                Err(fault) => faults.push(format!("`{name}` {fault}")),
            }
        }
        if strict {
            faults.extend(loaded.missing.iter().map(|name| format!("`{name}` is missing")));
            faults.extend(loaded.unexpected.iter().map(|name| format!("`{name}` is unexpected")));
        }
        if !faults.is_empty() {
            let place = if self.name().is_empty() { "the model" } else { self.name() };
            return Err(Error::state(format!(
                "the states do not fit {place}: {}",
                faults.join(", ")
            ))
            .remedy(
                "load what was saved from such a model; names may differ if it is not strict",
            ));
        }
        for (entry, tensor) in values {
            entry.load(&tensor)?;
        }
        Ok(loaded)
    }
}

/// The tensor in the element type of the parameter, or what is wrong with it.
fn fitting(entry: &Parameter, tensor: &Tensor) -> Result<Tensor> {
    let dtype = entry.dtype();
    if entry.is_sized() {
        let ty = entry.ty()?;
        if ty.sizes().as_deref() != Some(tensor.dims()) {
            return Err(Error::shape(format!("is {ty} here, but {} was given", tensor.ty())));
        }
    }
    match tensor.dtype() == dtype {
        true => Ok(tensor.clone()),
        false => tensor.cast(dtype),
    }
}
