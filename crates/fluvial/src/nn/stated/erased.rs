//! Layers of any kind behind one type, for front ends.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use fluvial_core::{Attr, Result};

use super::call::{Call, Callable, Value};
use super::parts::{Inits, Parts};
use super::{Settings, Stated, Statement};
use crate::nn::{ParamAttr, Path};

/// What is known of a layer without its options.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name in Python.
    pub name: &'static str,
    /// The names of tensors that users give it, which Python takes first.
    pub values: &'static [&'static str],
    /// The number among the layers that share their options.
    pub number: usize,
    /// The options of all that share them, in the order in which Python takes them.
    pub all_options: &'static [OptionKind],
    /// The arguments that say something of parameters.
    pub attrs: &'static [&'static str],
    /// The names of parameters and buffers that it always knows.
    pub parts: &'static [&'static str],
    /// The names of layers and functions within it, and what they are: a layer's name, or `Function`.
    pub layers: &'static [(&'static str, &'static str)],
    /// The inputs.
    pub inputs: &'static [InputKind],
}

/// What is known of an input.
#[derive(Clone, Copy, Debug)]
pub struct InputKind {
    /// The name.
    pub name: &'static str,
    /// The names in PyTorch.
    pub others: &'static [&'static str],
    /// Empty for a tensor, `Option` for one that may be left out, `Pair` for two that may, `Off` and `On` for
    /// a switch, `Sizes` for numbers that may be left out.
    pub takes: &'static str,
}

/// What is known of an option.
#[derive(Clone, Copy, Debug)]
pub struct OptionKind {
    /// The name.
    pub name: &'static str,
    /// The names in PyTorch and in Fluid.
    pub others: &'static [&'static str],
    /// The default; without one it has to be given.
    pub default: Option<fn() -> Attr>,
    /// The number of the one layer that has it, if it is not an option of all.
    pub only: Option<usize>,
}

impl Kind {
    /// The options, in the order in which Python takes them.
    pub fn options(&self) -> impl Iterator<Item = &'static OptionKind> + use<> {
        let number = self.number;
        self.all_options.iter().filter(move |option| option.only.is_none_or(|only| only == number))
    }

    /// Whether it is an option that is a function.
    pub fn is_function(&self, name: &str) -> bool {
        self.layers.contains(&(name, "Function"))
    }

    /// Whether the layer has parameters or buffers.
    pub fn has_parts(&self) -> bool {
        !self.parts.is_empty() || !self.attrs.is_empty() || !self.layers.is_empty()
    }
}

/// Makes a layer with the defaults of its options.
pub type MakeStatement = fn() -> Arc<dyn AnyStatement>;

/// A [`Statement`] of any type.
pub trait AnyStatement: Any + Debug + Send + Sync {
    /// What is known without options.
    fn kind(&self) -> Kind;

    /// See [`Settings::get`].
    fn get(&self, name: &str) -> Option<Attr>;

    /// The same layer with one option changed; see [`Settings::set`].
    fn with(&self, name: &str, attr: &Attr) -> Result<Arc<dyn AnyStatement>>;

    /// See [`Statement::declare`].
    fn declare(&self) -> Result<Parts>;

    /// See [`Statement::complete`].
    fn complete(&self, inputs: &[Value]) -> Result<Option<Arc<dyn AnyStatement>>>;

    /// See [`Statement::call`].
    fn call(&self, with: &Call<'_>) -> Result<Value>;

    /// The layer of Rust's with these options, within another.
    fn made(&self, at: Path, inits: Inits) -> Arc<dyn Inner>;
}

/// A layer of Rust's within another.
pub trait Inner: Callable {
    /// Says something of parameters.
    fn say(&self, name: &str, attr: &ParamAttr);
}

impl<S: Statement> AnyStatement for S {
    fn kind(&self) -> Kind {
        S::KIND
    }

    fn get(&self, name: &str) -> Option<Attr> {
        Settings::get(self, name)
    }

    fn with(&self, name: &str, attr: &Attr) -> Result<Arc<dyn AnyStatement>> {
        let mut changed = self.clone();
        match S::reworded(name, attr) {
            None => changed.set(name, attr)?,
            Some(others) => others.iter().try_for_each(|(name, attr)| changed.set(name, attr))?,
        }
        changed.normalise();
        Ok(Arc::new(changed))
    }

    fn declare(&self) -> Result<Parts> {
        let mut parts = Parts::default();
        Statement::declare(self, &mut parts)?;
        Ok(parts)
    }

    fn complete(&self, inputs: &[Value]) -> Result<Option<Arc<dyn AnyStatement>>> {
        let completed = Statement::complete(self, inputs)?;
        Ok(completed.map(|completed| Arc::new(completed) as Arc<dyn AnyStatement>))
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        Statement::call(self, with)
    }

    fn made(&self, at: Path, inits: Inits) -> Arc<dyn Inner> {
        Arc::new(Stated::within(at, self.clone(), inits))
    }
}
