//! Files of samples, by format.
//!
//! | format | settings of its own | fields |
//! |---|---|---|
//! | `records`, `recordio` | `cache`: MiB of chunks kept in memory; `split`: each record is a batch, for files of Fluid | those of the file, see [`records`]; for both dialects of Fluid's files a field per tensor, or one of bytes |
//! | `npy` | `zip`: each file is a field, instead of one after another | the array, whose first axis counts samples, under the file's name |
//! | `npz` | | a field per array |
//! | `csv` | `header`, `delimiter`, `columns`, `missing` | a field per column, or as `shape` puts columns together |
//! | `idx` | `zip`, here `true` if not given | `image` and `label`; `.gz` files, too |
//! | `lines`, `text` | | `text`, the bytes of a line; `.gz` files, too |
//! | `parquet`, `arrow` | `columns`, `cache` | a field per column; with the feature `parquet` |
//! | `images` | `channels`: 1, 3 or 4 | `image`, `u8[h, w, c]`, and `label`, from folders with a sub-folder per class |
//!
//! Every format takes `shape`, `dtype` and `names`, lists with an entry per field, which declare and check what
//! the files have: `shape=[[13], [1]]`, where -1 or a name is a size that varies.

mod arrays;
mod columns;
mod csv;
mod declare;
mod fluid;
mod idx;
#[cfg(feature = "images")]
pub mod images;
mod input;
mod lines;
pub mod npz;
#[cfg(feature = "parquet")]
mod parquet;
pub mod records;
mod settings;
mod tools;
mod zip;

use std::collections::BTreeMap;
use std::sync::Arc;

use fluvial_tensor::{Error, Result};

use crate::source::{Dataset, Field};
use columns::{Columns, Wanted};
pub use input::Input;
use settings::{Declared, Given};
pub use tools::{convert, head, stat};

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

    /// What a user should know about the file.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Writes samples, whose numbers are below `len`, into rows of a batch.
    fn fill(&self, wanted: &[Wanted], out: &mut Columns) -> Result<()>;
}

/// Opens files of a format as one dataset: their samples one after another.
pub fn open(format: &str, paths: &[Arc<str>], settings: &Settings) -> Result<Arc<dyn Dataset>> {
    #[cfg(feature = "images")]
    if format == "images" {
        return images::open(paths, &Given::new(format, settings, &["channels"])?);
    }
    check_format(format)?;
    let inputs = paths.iter().map(|path| Input::open(path)).collect::<Result<Vec<Input>>>()?;
    open_inputs(format, inputs, settings)
}

/// The format that a path shows by its ending, or by being a folder.
///
/// ```
/// use fluvial_data::formats::format_of;
/// assert_eq!(format_of("train.rec")?, "records");
/// assert_eq!(format_of("data/train-images-idx3-ubyte.gz")?, "idx");
/// assert!(format_of("model.pickle").is_err());
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn format_of(path: &str) -> Result<&'static str> {
    let plain = path.strip_suffix(".gz").unwrap_or(path);
    let name = plain.rsplit('/').next().unwrap_or(plain).to_ascii_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending {
        "rec" | "records" | "recordio" => Ok("records"),
        "npy" => Ok("npy"),
        "npz" => Ok("npz"),
        "csv" | "tsv" => Ok("csv"),
        "idx" => Ok("idx"),
        _ if name.ends_with("-ubyte") => Ok("idx"),
        "txt" => Ok("lines"),
        "parquet" => Ok("parquet"),
        "arrow" | "feather" => Ok("arrow"),
        _ if crate::files::resolve(path).is_ok_and(|path| path.is_dir()) => Ok("images"),
        _ => Err(Error::argument(format!("the ending of `{path}` shows no format"))
            .remedy("give the format")),
    }
}

/// Opens files, or bytes in memory, of a format as one dataset.
pub fn open_inputs(
    format: &str,
    inputs: Vec<Input>,
    settings: &Settings,
) -> Result<Arc<dyn Dataset>> {
    check_format(format)?;
    let own: &[&str] = match format {
        "records" | "recordio" => &["cache", "split"],
        "npy" | "idx" => &["zip"],
        "csv" => &csv::SETTINGS,
        "parquet" | "arrow" => &["cache", "columns"],
        _ => &[],
    };
    let given = Given::new(format, settings, own)?;
    if format == "csv" {
        let (parts, declared) = csv::open(inputs, &given)?;
        return Ok(Arc::new(declare::table(parts, &declared)?));
    }
    let declared = given.declared()?;
    let each = |open: &dyn Fn(Input) -> Result<Box<dyn Rows>>, inputs: Vec<Input>| {
        inputs.into_iter().map(open).collect::<Result<Vec<_>>>()
    };
    let parts = match format {
        "npy" => arrays::open_npy(inputs, &given)?,
        "npz" => each(&npz::open, inputs)?,
        "idx" => idx::open(inputs, &given)?,
        "lines" | "text" => each(&|input| Ok(Box::new(lines::Lines::open(input)?)), inputs)?,
        #[cfg(feature = "parquet")]
        "parquet" | "arrow" => {
            let (cache, is_parquet) = (cache_of(&given)?, format == "parquet");
            let open = |input| {
                let table = parquet::Table::open(input, &given, is_parquet, &cache)?;
                Ok(Box::new(table) as Box<dyn Rows>)
            };
            each(&open, inputs)?
        }
        _ => {
            let cache = cache_of(&given)?;
            each(&|input| open_records(input, &given, &declared, &cache), inputs)?
        }
    };
    Ok(Arc::new(declare::table(parts, &declared)?))
}

/// The cache that files share.
fn cache_of(given: &Given<'_>) -> Result<Arc<records::Cache>> {
    let mebibytes = given.count("cache", records::Cache::DEFAULT >> 20)?;
    Ok(records::Cache::new(mebibytes.saturating_mul(1 << 20)))
}

/// Formats by name. Synonyms stand side by side.
const FORMATS: [&str; 8] = ["records", "recordio", "npy", "npz", "csv", "idx", "lines", "text"];
/// Formats that a feature of the crate brings, and its name.
const OPTIONAL: [(&str, &str, bool); 3] = [
    ("images", "images", cfg!(feature = "images")),
    ("parquet", "parquet", cfg!(feature = "parquet")),
    ("arrow", "parquet", cfg!(feature = "parquet")),
];

fn check_format(format: &str) -> Result<()> {
    let optional = OPTIONAL.iter().find(|(name, _, _)| *name == format);
    match optional {
        Some((_, feature, false)) => {
            return Err(Error::argument(format!(
                "the format `{format}` is not part of this build"
            ))
            .remedy(format!("build with the feature `{feature}` of `fluvial-data`")));
        }
        Some(("images", ..)) => {
            return Err(Error::argument("the format `images` reads folders, not single files"));
        }
        Some(_) => return Ok(()),
        None => {}
    }
    match FORMATS.contains(&format) {
        true => Ok(()),
        false => {
            let present = OPTIONAL.iter().filter(|(_, _, present)| *present);
            let all: Vec<&str> =
                FORMATS.iter().copied().chain(present.map(|(name, ..)| *name)).collect();
            Err(Error::argument(format!("the format `{format}` is not known"))
                .remedy(format!("use one of {}", all.join(", "))))
        }
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
