//! What a reader needs of its host.

use std::sync::Arc;

use fluvial_tensor::Tensor;

use super::host::{find_dataset, find_function, find_predicate, find_stream};
use super::{Reader, Source, Stage};

/// Something that the host gives to a reader under a name.
pub struct Hosted {
    /// "dataset", "stream", "function" or "predicate".
    pub kind: &'static str,
    /// The name.
    pub name: Arc<str>,
    /// Whether this process has it.
    pub is_here: bool,
    /// The arrays, if it is a dataset of them and this process has it.
    pub arrays: Option<Vec<(Arc<str>, Tensor)>>,
}

impl Reader {
    /// What the host has to give before the reader is opened.
    pub fn hosted(&self) -> Vec<Hosted> {
        let plain =
            |kind, name: &str, is_here| Hosted { kind, name: name.into(), is_here, arrays: None };
        let mut all: Vec<Hosted> = match self.source() {
            Source::Files { .. } => Vec::new(),
            Source::Memory(named) => {
                let found = find_dataset(named).ok();
                let arrays = found.as_ref().and_then(|dataset| dataset.arrays());
                vec![Hosted { arrays, ..plain("dataset", named.name(), found.is_some()) }]
            }
            Source::Stream(named) => {
                vec![plain("stream", named.name(), find_stream(named).is_ok())]
            }
            Source::Zip(readers) | Source::Interleave(readers) => {
                readers.iter().flat_map(Reader::hosted).collect()
            }
        };
        all.extend(self.stages().iter().filter_map(|stage| match stage {
            Stage::Map(named) => {
                Some(plain("function", named.name(), find_function(named).is_ok()))
            }
            Stage::Filter(named) => {
                Some(plain("predicate", named.name(), find_predicate(named).is_ok()))
            }
            _ => None,
        }));
        all
    }
}
