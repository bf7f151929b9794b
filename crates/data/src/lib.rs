//! Files of tensors, and readers that give their samples in batches.
//!
//! - [`files`]: which files may be touched, and how they are written.
//! - [`npy`], [`safetensors`]: tensors in files.
//! - [`Dataset`] and [`Stream`]: where samples come from.
//! - [`reader`]: how they come: shuffled, in batches, read ahead.

pub mod elements;
pub mod files;
pub mod formats;
pub mod npy;
pub mod reader;
pub mod safetensors;
mod source;

pub use elements::checksum;
pub use reader::Reader;
pub use source::{Dataset, Field, Position, Sample, Samples, Stream};
