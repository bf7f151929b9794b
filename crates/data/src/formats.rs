//! Files of samples, by format.

use std::collections::BTreeMap;
use std::sync::Arc;

use fluvial_tensor::{Error, Result};

use crate::source::Dataset;

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

/// Opens files of a format as one dataset: their samples one after another.
pub fn open(format: &str, paths: &[Arc<str>], settings: &Settings) -> Result<Arc<dyn Dataset>> {
    let _ = (paths, settings);
    Err(Error::argument(format!("the format `{format}` is not known")))
}
