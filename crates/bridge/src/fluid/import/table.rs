//! The table of importers: one entry for each op of Fluid.

use std::collections::HashMap;
use std::sync::OnceLock;

use fluvial_core::{Result, Var};

use super::call::Call;
use super::value::Val;
use super::{
    activations, arithmetic, arrays, control, create, image, index, linalg, loss, metrics, norm,
    optimizers, random, recurrent, reduce, rows, sequence, shape,
};

/// The values of outputs, by what they are for.
pub type Outs = Vec<(&'static str, Vec<Val>)>;

/// How an op becomes values.
#[derive(Clone, Copy)]
pub enum Import {
    /// One value of the program, for this output.
    One(&'static str, fn(&Call<'_>) -> Result<Var>),
    /// Values of any kind.
    Many(fn(&Call<'_>) -> Result<Outs>),
    /// Values by the names of variables: of what runs blocks.
    Block(fn(&Call<'_>) -> Result<Vec<(String, Val)>>),
}

/// What is known of an op of Fluid.
#[derive(Clone, Copy)]
pub struct Entry {
    pub name: &'static str,
    pub import: Import,
    /// Whether it is computed at once where all inputs are known.
    pub folds: bool,
    /// What is refused.
    pub refuses: &'static str,
}

impl Entry {
    /// An op with one output, called `Out`.
    pub const fn one(name: &'static str, import: fn(&Call<'_>) -> Result<Var>) -> Entry {
        Entry::to(name, "Out", import)
    }

    /// An op with one output of another name.
    pub const fn to(
        name: &'static str,
        output: &'static str,
        import: fn(&Call<'_>) -> Result<Var>,
    ) -> Entry {
        Entry { name, import: Import::One(output, import), folds: true, refuses: "" }
    }

    /// Any other op.
    pub const fn many(name: &'static str, import: fn(&Call<'_>) -> Result<Outs>) -> Entry {
        Entry { name, import: Import::Many(import), folds: true, refuses: "" }
    }

    /// An op that runs a block.
    pub const fn block(
        name: &'static str,
        import: fn(&Call<'_>) -> Result<Vec<(String, Val)>>,
    ) -> Entry {
        Entry { name, import: Import::Block(import), folds: false, refuses: "" }
    }

    /// It gives another result each time, has an effect, or decides itself what is computed at once.
    pub const fn never_folds(mut self) -> Entry {
        self.folds = false;
        self
    }

    /// What is refused.
    pub const fn refuses(mut self, what: &'static str) -> Entry {
        self.refuses = what;
        self
    }
}

/// All entries, by family.
const TABLE: &[&[Entry]] = &[
    activations::OPS,
    arithmetic::OPS,
    arrays::OPS,
    control::OPS,
    create::OPS,
    image::OPS,
    index::OPS,
    linalg::OPS,
    loss::OPS,
    metrics::OPS,
    norm::OPS,
    optimizers::OPS,
    random::OPS,
    recurrent::OPS,
    reduce::OPS,
    rows::OPS,
    sequence::OPS,
    shape::OPS,
];

/// The entry of an op.
pub fn find(name: &str) -> Option<&'static Entry> {
    static BY_NAME: OnceLock<HashMap<&'static str, &'static Entry>> = OnceLock::new();
    let all = || TABLE.iter().copied().flatten().map(|entry| (entry.name, entry)).collect();
    BY_NAME.get_or_init(all).get(name).copied()
}

/// The ops that can be read, by name, and what is refused of each.
pub fn supported() -> Vec<(&'static str, &'static str)> {
    let all = TABLE.iter().copied().flatten().map(|entry| (entry.name, entry.refuses));
    let mut all: Vec<(&'static str, &'static str)> = all.collect();
    all.sort_unstable();
    all
}
