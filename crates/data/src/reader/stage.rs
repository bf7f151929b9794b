//! The stages of a reader, as data.

use std::sync::Arc;

use fluvial_tensor::{DType, Error, Result};

use super::host::{Function, Named, Predicate};
use super::picture::Edit;

/// The most samples of a batch.
const MAX_BATCH: u64 = 1 << 24;

/// The most results read ahead.
const MAX_AHEAD: u64 = 1 << 10;

/// What is done with the results of the stages before. The methods of [`Reader`](super::Reader) of the same
/// names tell more.
#[derive(Clone, PartialEq)]
#[expect(missing_docs, reason = "the methods of `Reader` document the arguments")]
pub enum Stage {
    /// Another order.
    Shuffle { seed: u64, buffer: Option<u64> },
    /// Several results stacked.
    Batch { size: u64, drop_last: bool },
    /// Results are made ahead.
    Prefetch(u64),
    /// A function of the host.
    Map(Named<Function>),
    /// A predicate of the host.
    Filter(Named<Predicate>),
    /// Another element type.
    Cast { field: Arc<str>, dtype: DType },
    /// Times a factor, plus an offset.
    Scale { field: Arc<str>, factor: f64, offset: f64 },
    /// The first ones.
    Take(u64),
    /// All but the first ones.
    Skip(u64),
    /// Several passes as one.
    Repeat(u64),
    /// Every so many.
    Shard { rank: u64, world: u64 },
    /// The part of the rank that opens the reader: among all ranks, or among the first ones.
    ShardOfRun { of: Option<u64> },
    /// Some of the fields.
    Select(Vec<Arc<str>>),
    /// Another name.
    Rename { from: Arc<str>, to: Arc<str> },
    /// Sequences made to fit.
    Pad(Pad),
    /// Batches of similar sizes.
    Bucket { size: u64, field: Arc<str>, sizes: Vec<u64>, drop_last: bool },
    /// An image is edited.
    Image { field: Arc<str>, edit: Edit },
}

/// How sequences of different sizes, which are the first axes of fields, are made to fit into a batch: by
/// default to the longest of it.
///
/// ```
/// use fluvial_data::Reader;
/// use fluvial_data::reader::Pad;
/// let reader = Reader::memory("texts").pad(Pad::of(["tokens"]).multiple(8).length("n"));
/// assert_eq!(reader.to_string(), r#"memory("texts").pad("tokens", multiple=8, length="n")"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pad {
    /// The fields; all that differ in their first axis if none is named.
    pub fields: Vec<Arc<str>>,
    /// Every sequence is made this long; a longer one is an error.
    pub size: Option<u64>,
    /// Sizes are rounded up to a multiple of it.
    pub multiple: Option<u64>,
    /// The value of the elements that are added.
    pub value: f64,
    /// The name of a new field with the size before, `i64[]`.
    pub length: Option<Arc<str>>,
    /// The name of a new field that is true for the elements that were there before, `bool[size]`.
    pub mask: Option<Arc<str>>,
}

impl Pad {
    /// Pads these fields to the longest of the batch, with zeros.
    pub fn of<'a>(fields: impl IntoIterator<Item = &'a str>) -> Pad {
        Pad { fields: fields.into_iter().map(Into::into).collect(), ..Pad::default() }
    }

    /// To this size.
    #[must_use]
    pub fn size(mut self, size: u64) -> Pad {
        self.size = Some(size);
        self
    }

    /// To a multiple.
    #[must_use]
    pub fn multiple(mut self, multiple: u64) -> Pad {
        self.multiple = Some(multiple);
        self
    }

    /// With this value.
    #[must_use]
    pub fn value(mut self, value: f64) -> Pad {
        self.value = value;
        self
    }

    /// Adds a field with the size of the first of the fields before.
    #[must_use]
    pub fn length(mut self, name: &str) -> Pad {
        self.length = Some(name.into());
        self
    }

    /// Adds a field that is true where the first of the fields has elements of its own.
    #[must_use]
    pub fn mask(mut self, name: &str) -> Pad {
        self.mask = Some(name.into());
        self
    }
}

impl Stage {
    /// The word that it is written as.
    pub fn name(&self) -> &'static str {
        match self {
            Stage::Shuffle { .. } => "shuffle",
            Stage::Batch { .. } => "batch",
            Stage::Prefetch(_) => "prefetch",
            Stage::Map(_) => "map",
            Stage::Filter(_) => "filter",
            Stage::Cast { .. } => "cast",
            Stage::Scale { .. } => "scale",
            Stage::Take(_) => "take",
            Stage::Skip(_) => "skip",
            Stage::Repeat(_) => "repeat",
            Stage::Shard { .. } | Stage::ShardOfRun { .. } => "shard",
            Stage::Select(_) => "select",
            Stage::Rename { .. } => "rename",
            Stage::Pad(_) => "pad",
            Stage::Bucket { .. } => "bucket",
            Stage::Image { edit, .. } => edit.name(),
        }
    }

    /// What can be said without knowing the input.
    pub(super) fn check(&self) -> Result<()> {
        let between = |what: &str, n: u64, most: u64| match (1..=most).contains(&n) {
            true => Ok(()),
            false => {
                Err(Error::argument(format!("{what} is {n}, but must be between 1 and {most}")))
            }
        };
        let finite = |what: &str, x: f64| match x.is_finite() {
            true => Ok(()),
            false => Err(Error::argument(format!("{what} is {x}, which is not a finite number"))),
        };
        match self {
            Stage::Shuffle { buffer: Some(buffer), .. } => {
                between("the buffer", *buffer, MAX_BATCH)
            }
            Stage::Batch { size, .. } => between("the size", *size, MAX_BATCH),
            Stage::Prefetch(n) => between("the number of results", *n, MAX_AHEAD),
            Stage::Repeat(n) => between("the number of passes", *n, u64::MAX),
            Stage::Scale { factor, offset, .. } => {
                finite("the factor", *factor).and_then(|()| finite("the offset", *offset))
            }
            Stage::Shard { rank, world } if rank >= world => {
                Err(Error::argument(format!("there is no rank {rank} in a world of {world}"))
                    .remedy("ranks count from 0"))
            }
            Stage::ShardOfRun { of: Some(n) } => between("the number of ranks", *n, u64::MAX),
            Stage::Select(fields) if fields.is_empty() => Err(Error::argument("no field is named")),
            Stage::Image { edit, .. } => edit.check(),
            Stage::Pad(pad) => check_pad(pad).and_then(|()| finite("the value", pad.value)),
            Stage::Bucket { size, sizes, .. } => {
                between("the size", *size, MAX_BATCH)?;
                match sizes.is_empty() || !sizes.is_sorted_by(|a, b| a < b) {
                    true => Err(Error::argument("the sizes of the buckets are not ascending")
                        .remedy("name at least one size, the smallest first")),
                    false => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

fn check_pad(pad: &Pad) -> Result<()> {
    if pad.size.is_some() && pad.multiple.is_some() {
        return Err(Error::argument("both a size and a multiple are given").remedy("give one"));
    }
    match pad.size == Some(0) || pad.multiple == Some(0) {
        true => Err(Error::argument("nothing can be padded to the size 0")),
        false => Ok(()),
    }
}
