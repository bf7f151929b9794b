//! Layers of any kind behind one type, for front ends.

use std::any::Any;
use std::sync::Arc;

use fluvial_core::{Attr, Result};

use super::call::{Call, Value};
use super::parts::Parts;
use super::{Settings, Statement};

/// What is known of a layer without its options.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name in Python.
    pub name: &'static str,
    /// The names of tensors that users give it, which Python takes first.
    pub values: &'static [&'static str],
    /// The options, in the order in which Python takes them.
    pub options: &'static [OptionKind],
    /// The arguments that say something of parameters.
    pub attrs: &'static [&'static str],
    /// The names of parameters and buffers that it always knows.
    pub parts: &'static [&'static str],
    /// The inputs: names, and what they are. Empty for a tensor, `Option` for one that may be left
    /// out, `Pair` for two that may, `bool` for a switch.
    pub inputs: &'static [(&'static str, &'static str)],
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
}

impl Kind {
    /// Whether the layer has parameters or buffers.
    pub fn has_parts(&self) -> bool {
        !self.parts.is_empty() || !self.attrs.is_empty()
    }
}

/// Makes a layer with the defaults of its options.
pub type MakeStatement = fn() -> Arc<dyn AnyStatement>;

/// A [`Statement`] of any type.
pub trait AnyStatement: Any + Send + Sync {
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
        changed.set(name, attr)?;
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
}
