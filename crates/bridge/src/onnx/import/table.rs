//! The table of importers: one entry for each op of ONNX.

use fluvial_core::{Result, Var};

use super::node::Node;
use super::sizes::Rule;
use super::value::Val;
use super::{
    activations, arithmetic, attention, control, conv, create, index, linalg, loss, microsoft,
    microsoft_attention, ml, norm, pool, quant, random, recurrent, reduce, resize, sequence, shape,
    signal, training,
};

/// How a node becomes values.
#[derive(Clone, Copy)]
pub enum Import {
    /// One value of the program.
    One(fn(&Node<'_>) -> Result<Var>),
    /// Values of any kind, one for each output.
    Many(fn(&Node<'_>) -> Result<Vec<Val>>),
}

/// What is known of an op of ONNX.
#[derive(Clone, Copy)]
pub struct Entry {
    pub domain: &'static str,
    pub name: &'static str,
    /// The op set in which it appeared.
    pub since: i64,
    pub import: Import,
    /// What it does to integers that depend on sizes.
    pub sizes: Rule,
    /// Whether it is computed at once where all inputs are known.
    pub folds: bool,
    /// What is refused.
    pub refuses: &'static str,
}

impl Entry {
    /// An op with one output.
    pub const fn one(
        name: &'static str,
        since: i64,
        import: fn(&Node<'_>) -> Result<Var>,
    ) -> Entry {
        Entry::new(name, since, Import::One(import))
    }

    /// Any other op.
    pub const fn many(
        name: &'static str,
        since: i64,
        import: fn(&Node<'_>) -> Result<Vec<Val>>,
    ) -> Entry {
        Entry::new(name, since, Import::Many(import))
    }

    const fn new(name: &'static str, since: i64, import: Import) -> Entry {
        let (domain, sizes) = ("", Rule::None);
        Entry { domain, name, since, import, sizes, folds: true, refuses: "" }
    }

    /// It moves elements of these inputs about and changes none; of all, if none are named.
    pub const fn moves(mut self, inputs: &'static [usize]) -> Entry {
        self.sizes = Rule::Moves(inputs);
        self
    }

    /// It has a rule of its own for integers that depend on sizes.
    pub const fn sizes(mut self, rule: super::sizes::Compute) -> Entry {
        self.sizes = Rule::Compute(rule);
        self
    }

    /// It gives another result each time, or decides itself what is computed at once.
    pub const fn never_folds(mut self) -> Entry {
        self.folds = false;
        self
    }

    /// It is an op of another domain.
    pub const fn of(mut self, domain: &'static str) -> Entry {
        self.domain = domain;
        self
    }

    /// What is refused.
    pub const fn refuses(mut self, what: &'static str) -> Entry {
        self.refuses = what;
        self
    }
}

/// All entries, by family.
pub const TABLE: &[&[Entry]] = &[
    activations::OPS,
    arithmetic::OPS,
    attention::OPS,
    control::OPS,
    conv::OPS,
    create::OPS,
    index::OPS,
    linalg::OPS,
    loss::OPS,
    microsoft::OPS,
    microsoft_attention::OPS,
    ml::OPS,
    norm::OPS,
    pool::OPS,
    quant::OPS,
    random::OPS,
    recurrent::OPS,
    reduce::OPS,
    resize::OPS,
    sequence::OPS,
    shape::OPS,
    signal::OPS,
    training::OPS,
];

/// The entry of an op.
pub fn find(domain: &str, name: &str) -> Option<&'static Entry> {
    let domain = if domain == "ai.onnx" { "" } else { domain };
    let all = TABLE.iter().copied().flatten();
    all.into_iter().find(|entry| entry.name == name && entry.domain == domain)
}

/// An op of ONNX that can be read.
#[derive(Clone, Copy, Debug)]
pub struct Supported {
    /// The domain; empty for the standard one.
    pub domain: &'static str,
    /// The name.
    pub name: &'static str,
    /// The op set in which it appeared.
    pub since: i64,
    /// What is refused.
    pub refuses: &'static str,
}

/// The ops that can be read, by domain and name.
pub fn supported() -> Vec<Supported> {
    let mut all: Vec<Supported> = TABLE
        .iter()
        .copied()
        .flatten()
        .map(|&Entry { domain, name, since, refuses, .. }| Supported {
            domain,
            name,
            since,
            refuses,
        })
        .collect();
    all.sort_by_key(|op| (op.domain, op.name));
    all
}
