//! The registry: from the name of an op in a file to the op. Only readers of programs use it;
//! running a program never looks up a name.

use std::collections::BTreeMap;

use fluvial_tensor::{Error, Result};

use crate::attrs::Attrs;
use crate::op::OpRef;
use crate::sample::Sample;
use crate::text::short::ReadShort;

/// What a crate of ops says of one op to readers of programs and to the tests.
#[derive(Clone, Copy)]
pub struct OpDef {
    /// The name in programs.
    pub name: &'static str,
    /// How to make it.
    pub build: Build,
    /// Samples for the battery.
    pub samples: fn() -> Vec<Sample>,
}

/// How an op is made from its attributes.
#[derive(Clone, Copy)]
pub enum Build {
    /// It has none.
    Fixed(fn() -> OpRef),
    /// By this function.
    From(fn(&Attrs) -> Result<OpRef>),
}

impl OpDef {
    /// An op without attributes.
    pub const fn fixed(
        name: &'static str,
        op: fn() -> OpRef,
        samples: fn() -> Vec<Sample>,
    ) -> OpDef {
        OpDef { name, build: Build::Fixed(op), samples }
    }

    /// An op with attributes: `OpDef::new(Scale::NAME, Scale::build, samples)`.
    pub const fn new(
        name: &'static str,
        build: fn(&Attrs) -> Result<OpRef>,
        samples: fn() -> Vec<Sample>,
    ) -> OpDef {
        OpDef { name, build: Build::From(build), samples }
    }
}

/// A set of ops by name.
#[derive(Clone, Default)]
pub struct Registry {
    defs: BTreeMap<&'static str, OpDef>,
    short: Option<ReadShort>,
}

impl Registry {
    /// The structural ops, which every program may use.
    pub fn structural() -> Registry {
        let mut registry = Registry::default();
        for def in crate::structural::OPS {
            registry.defs.insert(def.name, *def);
        }
        registry
    }

    /// The registry with further ops; two ops of one name are an error.
    pub fn with(mut self, defs: &[OpDef]) -> Result<Registry> {
        for def in defs {
            if self.defs.insert(def.name, *def).is_some() {
                return Err(Error::argument(format!("two ops are named `{}`", def.name))
                    .remedy("give ops of your own a prefix and a dot, such as `my.scale`"));
            }
        }
        Ok(self)
    }

    /// The registry for a reader that also takes programs in the short form.
    #[must_use]
    pub fn with_short(self, read: ReadShort) -> Registry {
        Registry { short: Some(read), ..self }
    }

    /// What builds programs of the short form.
    pub fn short(&self) -> Option<ReadShort> {
        self.short
    }

    /// The op of that name with these attributes.
    pub fn make(&self, name: &str, attrs: &Attrs) -> Result<OpRef> {
        let Some(def) = self.defs.get(name) else {
            return Err(Error::program(format!("no op is named `{name}`"))
                .remedy("add the crate that defines it to the registry given to the reader"));
        };
        match def.build {
            Build::From(build) => build(attrs),
            Build::Fixed(op) => {
                attrs.only(name, &[])?;
                Ok(op())
            }
        }
    }

    /// All definitions, by name.
    pub fn defs(&self) -> impl Iterator<Item = &OpDef> {
        self.defs.values()
    }
}
