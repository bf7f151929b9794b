//! Event files: what a run tells of itself, in the format of TensorBoard.
//!
//! A file is a row of records, each a length, a message and checksums of both ([`frame`]). A [`Writer`] writes
//! them, for `fluvial run --log` and for Python's `fl.summary`; a [`Tail`] reads what has been added since.

mod frame;
mod message;
mod read;
mod usage;
mod write;

pub use frame::crc32c;
pub use read::{Entry, Image, Tail, What};
pub use usage::Usage;
pub use write::{Histogram, Writer, machine};
