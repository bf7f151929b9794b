//! Files of samples, by format.
//!
//! | format | settings of its own | fields |
//! |---|---|---|
//! | `records`, `recordio` | `cache`: MiB of chunks kept in memory | those of the file; see [`records`] |
//!
//! Every format takes `shape`, `dtype` and `names`, lists with an entry per field, which declare and check what
//! the files have: `shape=[[13], [1]]`, where -1 or a name is a size that varies.

mod columns;
mod declare;
mod fluid;
mod input;
pub mod records;
mod settings;

use std::collections::BTreeMap;
use std::sync::Arc;

use fluvial_tensor::{Error, Result};

use crate::source::{Dataset, Field};
use columns::{Columns, Wanted};
pub use input::Input;
use settings::{Declared, Given};

/// A setting of a format or of a stage of a reader.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text in quotes.
    Text(Arc<str>),
    /// Several of them, in brackets.
    List(Vec<Setting>),
}

/// Settings by name.
pub type Settings = BTreeMap<Arc<str>, Setting>;

/// Samples of one file.
pub(crate) trait Rows: Send + Sync {
    /// The file, for errors.
    fn name(&self) -> &str;

    /// What each sample consists of.
    fn fields(&self) -> &[Field];

    /// How many samples there are.
    fn len(&self) -> u64;

    /// Writes samples, whose numbers are below `len`, into rows of a batch.
    fn fill(&self, wanted: &[Wanted], out: &mut Columns) -> Result<()>;
}

/// Opens files of a format as one dataset: their samples one after another.
pub fn open(format: &str, paths: &[Arc<str>], settings: &Settings) -> Result<Arc<dyn Dataset>> {
    let inputs = paths.iter().map(|path| Input::open(path)).collect::<Result<Vec<Input>>>()?;
    open_inputs(format, inputs, settings)
}

/// Opens files, or bytes in memory, of a format as one dataset.
pub fn open_inputs(
    format: &str,
    inputs: Vec<Input>,
    settings: &Settings,
) -> Result<Arc<dyn Dataset>> {
    match format {
        "records" | "recordio" => {
            let given = Given::new(format, settings, &["cache", "split"])?;
            let declared = given.declared()?;
            let mebibytes = given.count("cache", records::Cache::DEFAULT >> 20)?;
            let cache = records::Cache::new(mebibytes.saturating_mul(1 << 20));
            let parts = inputs
                .into_iter()
                .map(|input| open_records(input, &given, &declared, &cache))
                .collect::<Result<Vec<_>>>()?;
            Ok(Arc::new(declare::table(parts, &declared)?))
        }
        _ => Err(Error::argument(format!("the format `{format}` is not known"))),
    }
}

/// A record file of our own or of Fluid, told apart by its first bytes.
fn open_records(
    input: Input,
    given: &Given<'_>,
    declared: &Declared,
    cache: &Arc<records::Cache>,
) -> Result<Box<dyn Rows>> {
    let start = input.take(0, input.len().min(8))?;
    if start.starts_with(&fluid::MAGIC) {
        return Ok(Box::new(fluid::Fluid::open(input, given, declared, cache)?));
    }
    if start != records::MAGIC {
        return Err(input
            .fault(format!("byte 0: {start:02x?} is not the start of a record file"))
            .remedy("give another `format`"));
    }
    Ok(Box::new(records::Records::with_cache(input, cache.clone())?))
}
