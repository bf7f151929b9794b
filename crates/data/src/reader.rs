//! Readers: what samples come, in which order, in which form.
//!
//! A [`Reader`] is a description: a source and stages behind it. It is cheap to clone, can be compared, and
//! has a text form that reads back as the same reader. Nothing is opened before [`Reader::open`].
//!
//! ```
//! use fluvial_data::Reader;
//! use fluvial_tensor::Tensor;
//! let x = Tensor::from_slice(&[0.0_f32, 1.0, 2.0, 3.0, 4.0], &[5, 1])?;
//! let y = Tensor::from_slice(&[0_i64, 1, 2, 3, 4], &[5])?;
//! let reader = Reader::of([("x", x), ("y", y)])?.shuffle(7).batch(2, false).prefetch(2);
//! assert_eq!(reader.open()?.fields()[0].ty.to_string(), "f32[batch, 1]");
//! let mut seen = Vec::new();
//! for batch in reader.iter()? {
//!     seen.extend(batch?[1].to_vec::<i64>()?);
//! }
//! seen.sort();
//! assert_eq!(seen, [0, 1, 2, 3, 4]);
//! # Ok::<(), fluvial_tensor::Error>(())
//! ```
//!
//! # Order and position
//!
//! The order of a pass is a function of the seeds in the description and of the number of the pass. A
//! [`Position`](crate::Position) is two integers, and a [`Cursor`] that starts there gives exactly what would
//! have come, whatever was read ahead. Where samples have numbers (files, arrays, and all stages over them
//! but those named below), starting anywhere costs the same. Streams, `filter`, `bucket`, and `shuffle`,
//! `repeat` and `interleave` behind one of these read the pass again up to the position.
//!
//! # Text form
//!
//! | source | |
//! |---|---|
//! | `records("a.rec", "b.rec")`, `csv("a.csv", header=true)` | files of a format, by its name, with its settings |
//! | `memory("name")`, `stream("name")` | what the host has registered |
//! | `zip(one, two)`, `interleave(one, two)` | other readers |
//!
//! | stage | |
//! |---|---|
//! | `.shuffle(7)`, `.shuffle(seed=7, buffer=1000)` | another order, within a window where there are no numbers |
//! | `.batch(128, drop_last=true)` | stacks of samples |
//! | `.prefetch(2)` | results made ahead on a thread |
//! | `.map("name")`, `.filter("name")` | functions that the host has registered |
//! | `.cast("x", f32)`, `.scale("x", factor=0.5, offset=-1.0)` | elements |
//! | `.select("x", "y")`, `.rename("x", "image")` | fields |
//! | `.take(5)`, `.skip(5)`, `.repeat(2)`, `.shard(rank=0, world=2)`, `.shard()` by the rank of the run | parts of a pass |
//! | `.pad("s", multiple=8, value=0, length="n", mask="m")`, `.pad("s", size=100)` | sequences that fit together |
//! | `.bucket(32, "s", sizes=[16, 64], drop_last=true)` | batches of sequences of similar size |
//! | `.resize("x", 256)`, `.resize("x", 224, 224)`, `.center_crop("x", 224, 224)`, `.channels_first("x")` | images |
//! | `.random_crop("x", 32, 32, padding=4, seed=1)`, `.random_resized_crop("x", 224, 224)`, `.flip("x", p=0.5)` | images at random |
//! | `.color_jitter("x", brightness=0.4, hue=0.1)`, `.normalize("x", mean=[0.5], std=[0.25])` | colours |

mod access;
mod arrays;
mod compile;
mod cursor;
mod each;
mod host;
mod hosted;
mod node;
mod permutation;
mod picture;
mod prefetch;
mod print;
mod stack;
mod stage;
mod text;
mod walk;

pub use arrays::Arrays;
pub use cursor::{Cursor, Open, Results};
pub use host::{
    Function, Named, Predicate, register_dataset, register_function, register_predicate,
    register_stream, unregister_dataset, unregister_function, unregister_predicate,
    unregister_stream,
};
pub use hosted::Hosted;
pub use picture::Edit;
pub use stack::{check_sample, stack_samples};
pub use stage::{Pad, Stage};

use std::path::Path;
use std::sync::Arc;

use fluvial_tensor::{DType, Error, Result, Tensor};

use crate::files;
use crate::formats::Settings;
use crate::source::{Dataset, Stream};

/// The most stages behind one another, inputs of `zip` and `interleave` included.
const MAX_DEPTH: usize = 200;

/// What samples come, in which order, in which form. The [module](self) tells more.
#[derive(Clone, PartialEq)]
pub struct Reader(Arc<Parts>);

#[derive(Clone, PartialEq)]
struct Parts {
    source: Source,
    stages: Vec<Stage>,
}

/// What a reader starts from.
#[derive(Clone, PartialEq)]
pub enum Source {
    /// Files of a format, one after another.
    Files {
        /// The name of the format.
        format: Arc<str>,
        /// The files.
        paths: Vec<Arc<str>>,
        /// The settings of the format.
        settings: Settings,
    },
    /// A dataset of the host.
    Memory(Named<dyn Dataset>),
    /// A stream of the host.
    Stream(Named<dyn Stream>),
    /// Several readers side by side.
    Zip(Vec<Reader>),
    /// Several readers in turns.
    Interleave(Vec<Reader>),
}

impl Reader {
    /// A reader without stages.
    pub fn new(source: Source) -> Reader {
        Reader(Arc::new(Parts { source, stages: Vec::new() }))
    }

    /// Files of a format, their samples one after another.
    pub fn files<P: Into<Arc<str>>>(
        format: &str,
        paths: impl IntoIterator<Item = P>,
        settings: Settings,
    ) -> Reader {
        let paths = paths.into_iter().map(Into::into).collect();
        Reader::new(Source::Files { format: format.into(), paths, settings })
    }

    /// A record file.
    pub fn records(path: &str) -> Reader {
        Reader::files("records", [path], Settings::new())
    }

    /// A `.npy` file, of which each element of the first axis is a sample.
    pub fn npy(path: &str) -> Reader {
        Reader::files("npy", [path], Settings::new())
    }

    /// A file of comma-separated values.
    pub fn csv(path: &str) -> Reader {
        Reader::files("csv", [path], Settings::new())
    }

    /// Arrays in memory: sample `i` is element `i` of the first axis of each. The text form names them by a
    /// sum of their contents, and finds them again as long as a reader of them exists in the process.
    pub fn of<'a>(arrays: impl IntoIterator<Item = (&'a str, Tensor)>) -> Result<Reader> {
        let arrays = Arrays::new(arrays)?;
        let name = format!("arrays-{:016x}", arrays.checksum());
        Ok(Reader::new(Source::Memory(host::hold_or_share(&name, Arc::new(arrays)))))
    }

    /// The dataset that the host has registered, or will have when the reader is opened, under a name.
    pub fn memory(name: &str) -> Reader {
        Reader::new(Source::Memory(Named::new(name)))
    }

    /// A dataset under a name. Texts find it as long as a reader of it exists.
    pub fn dataset(name: &str, dataset: Arc<dyn Dataset>) -> Result<Reader> {
        Ok(Reader::new(Source::Memory(host::hold_dataset(name, dataset)?)))
    }

    /// The stream that the host has registered, or will have when the reader is opened, under a name.
    pub fn stream(name: &str) -> Reader {
        Reader::new(Source::Stream(Named::new(name)))
    }

    /// A stream under a name. Texts find it as long as a reader of it exists.
    pub fn stream_of(name: &str, stream: Arc<dyn Stream>) -> Result<Reader> {
        Ok(Reader::new(Source::Stream(host::hold_stream(name, stream)?)))
    }

    /// Readers side by side: a result has the fields of all. Where samples have numbers there must be as
    /// many in each; else the pass ends with the shortest.
    pub fn zip(readers: impl IntoIterator<Item = Reader>) -> Reader {
        Reader::new(Source::Zip(readers.into_iter().collect()))
    }

    /// One result of each reader in turn; a reader that is over is left out of the rest of the pass.
    pub fn interleave(readers: impl IntoIterator<Item = Reader>) -> Reader {
        Reader::new(Source::Interleave(readers.into_iter().collect()))
    }

    /// What it starts from.
    pub fn source(&self) -> &Source {
        &self.0.source
    }

    /// The stages, in order.
    pub fn stages(&self) -> &[Stage] {
        &self.0.stages
    }

    /// The reader with one more stage.
    #[must_use]
    pub fn then(mut self, stage: Stage) -> Reader {
        Arc::make_mut(&mut self.0).stages.push(stage);
        self
    }

    /// Another order in each pass, by the seed. Where samples have numbers, all of them are permuted.
    /// Elsewhere use [`Reader::shuffle_window`].
    #[must_use]
    pub fn shuffle(self, seed: u64) -> Reader {
        self.then(Stage::Shuffle { seed, buffer: None })
    }

    /// Another order in each pass, by the seed. Samples that have no numbers are shuffled by holding
    /// `buffer` of them, of which a random one comes next; where they have, this is [`Reader::shuffle`].
    #[must_use]
    pub fn shuffle_window(self, seed: u64, buffer: u64) -> Reader {
        self.then(Stage::Shuffle { seed, buffer: Some(buffer) })
    }

    /// Stacks `size` results along a new first axis. With `drop_last`, what is left at the end of a pass
    /// does not come.
    #[must_use]
    pub fn batch(self, size: u64, drop_last: bool) -> Reader {
        self.then(Stage::Batch { size, drop_last })
    }

    /// Makes up to `n` results ahead, on a thread that each cursor starts when it is first asked for a result,
    /// and that ends with the cursor. The results are the same without it. It does its work as the last stage,
    /// or before stages that take one result after another; those that ask by number do so from their own
    /// thread: `shuffle`, `repeat`, `shard`, `interleave`, and a batch that is gathered at once.
    #[must_use]
    pub fn prefetch(self, n: u64) -> Reader {
        self.then(Stage::Prefetch(n))
    }

    /// Applies the function that the host registers under a name.
    #[must_use]
    pub fn map(self, name: &str) -> Reader {
        self.then(Stage::Map(Named::new(name)))
    }

    /// Applies a function under a name. Texts find it as long as a reader of it exists.
    pub fn map_by(self, name: &str, function: Arc<Function>) -> Result<Reader> {
        Ok(self.then(Stage::Map(host::hold_function(name, function)?)))
    }

    /// Leaves out the results of which the predicate, registered by the host under a name, is false. A
    /// position is found again by reading the pass from its start.
    #[must_use]
    pub fn filter(self, name: &str) -> Reader {
        self.then(Stage::Filter(Named::new(name)))
    }

    /// Leaves out the results of which a predicate is false. Texts find it as long as a reader of it exists.
    pub fn filter_by(self, name: &str, predicate: Arc<Predicate>) -> Result<Reader> {
        Ok(self.then(Stage::Filter(host::hold_predicate(name, predicate)?)))
    }

    /// Converts the elements of a field.
    #[must_use]
    pub fn cast(self, field: &str, dtype: DType) -> Reader {
        self.then(Stage::Cast { field: field.into(), dtype })
    }

    /// Replaces each element of a field by `factor` times it, plus `offset`. Integers become `f32`.
    #[must_use]
    pub fn scale(self, field: &str, factor: f64, offset: f64) -> Reader {
        self.then(Stage::Scale { field: field.into(), factor, offset })
    }

    /// The first `n` results of a pass.
    #[must_use]
    pub fn take(self, n: u64) -> Reader {
        self.then(Stage::Take(n))
    }

    /// All but the first `n` results of a pass.
    #[must_use]
    pub fn skip(self, n: u64) -> Reader {
        self.then(Stage::Skip(n))
    }

    /// `n` passes as one, each in an order of its own. Where results have no numbers, a pass without results
    /// is the last.
    #[must_use]
    pub fn repeat(self, n: u64) -> Reader {
        self.then(Stage::Repeat(n))
    }

    /// Every `world`th result, from number `rank` on. All ranks get as many: what is left over at the end of
    /// a pass does not come.
    #[must_use]
    pub fn shard(self, rank: u64, world: u64) -> Reader {
        self.then(Stage::Shard { rank, world })
    }

    /// [`shard`](Reader::shard) for the [rank](fluvial_dist::current) of the thread that opens the reader: one
    /// description serves all ranks of a run.
    #[must_use]
    pub fn shard_of_run(self) -> Reader {
        self.then(Stage::ShardOfRun { of: None })
    }

    /// Whether it gives a part of the data only.
    pub fn is_sharded(&self) -> bool {
        let is_part =
            |stage: &Stage| matches!(stage, Stage::Shard { .. } | Stage::ShardOfRun { .. });
        self.stages().iter().any(is_part)
    }

    /// [`shard_of_run`](Reader::shard_of_run), before results are made ahead; as it is, if it gives a part only already.
    #[must_use]
    pub fn for_ranks(mut self) -> Reader {
        if !self.is_sharded() {
            let stages = &mut Arc::make_mut(&mut self.0).stages;
            let ahead = stages.iter().rev().take_while(|stage| matches!(stage, Stage::Prefetch(_)));
            let at = stages.len() - ahead.count();
            stages.insert(at, Stage::ShardOfRun { of: None });
        }
        self
    }

    /// The same, where [`shard_of_run`](Reader::shard_of_run) stands for a part among the first `ranks` ranks only: the others
    /// do not read.
    #[must_use]
    pub fn among(mut self, ranks: u64) -> Reader {
        for stage in &mut Arc::make_mut(&mut self.0).stages {
            if let Stage::ShardOfRun { of } = stage {
                *of = Some(ranks);
            }
        }
        self
    }

    /// These fields, in this order.
    #[must_use]
    pub fn select<'a>(self, fields: impl IntoIterator<Item = &'a str>) -> Reader {
        self.then(Stage::Select(fields.into_iter().map(Into::into).collect()))
    }

    /// Gives a field another name.
    #[must_use]
    pub fn rename(self, from: &str, to: &str) -> Reader {
        self.then(Stage::Rename { from: from.into(), to: to.into() })
    }

    /// Makes sequences of different sizes fit into a batch.
    #[must_use]
    pub fn pad(self, pad: Pad) -> Reader {
        self.then(Stage::Pad(pad))
    }

    /// Batches of sequences of similar size: those up to the first of `sizes`, those up to the second and so
    /// on, and longer ones, by the first axis of `field`. A position is found again by reading the pass from
    /// its start.
    #[must_use]
    pub fn bucket(self, size: u64, field: &str, sizes: &[u64], drop_last: bool) -> Reader {
        self.then(Stage::Bucket { size, field: field.into(), sizes: sizes.to_vec(), drop_last })
    }

    /// Edits an image, which is a field of single samples: `[height, width]` or `[height, width, channels]`, of
    /// `u8` or floats.
    ///
    /// ```
    /// use fluvial_data::reader::{Edit, Reader};
    /// use fluvial_tensor::Tensor;
    /// let x = Tensor::from_vec(vec![7_u8; 2 * 8 * 6 * 3], &[2, 8, 6, 3])?;
    /// let reader = Reader::of([("x", x)])?
    ///     .edit("x", Edit::Resize { height: 4, width: Some(4), nearest: false })
    ///     .edit("x", Edit::Flip { p: 0.5, vertical: false, seed: 1 })
    ///     .edit("x", Edit::ChannelsFirst)
    ///     .batch(2, true);
    /// assert_eq!(reader.open()?.fields()[0].ty.to_string(), "u8[2, 3, 4, 4]");
    /// # Ok::<(), fluvial_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn edit(self, field: &str, edit: Edit) -> Reader {
        self.then(Stage::Image { field: field.into(), edit })
    }

    /// Lets programs of this process touch the files that are named here: for code that names them on behalf
    /// of its user. Never call it with a reader that was read from a file.
    pub fn allow(&self) -> Result<()> {
        self.paths().iter().try_for_each(|path| files::allow(Path::new(&**path)))
    }

    /// The files and folders that it reads.
    pub fn paths(&self) -> Vec<Arc<str>> {
        match self.source() {
            Source::Files { paths, .. } => paths.clone(),
            Source::Zip(readers) | Source::Interleave(readers) => {
                readers.iter().flat_map(Reader::paths).collect()
            }
            Source::Memory(_) | Source::Stream(_) => Vec::new(),
        }
    }

    /// Opens the files, finds what the host has registered, and checks that all fits together.
    pub fn open(&self) -> Result<Arc<Open>> {
        Open::new(self)
    }

    /// The results of the first pass.
    pub fn iter(&self) -> Result<Results> {
        self.open()?.iter_from(crate::Position::default())
    }

    /// The most stages behind one another.
    fn depth(&self) -> usize {
        let inner = match self.source() {
            Source::Zip(readers) | Source::Interleave(readers) => {
                readers.iter().map(Reader::depth).max().unwrap_or(0)
            }
            _ => 0,
        };
        1 + inner + self.stages().len()
    }

    fn check_depth(&self) -> Result<()> {
        match self.depth() <= MAX_DEPTH {
            true => Ok(()),
            false => Err(Error::argument(format!(
                "a reader has at most {MAX_DEPTH} stages behind one another"
            ))),
        }
    }
}
