//! Record files of our own: chunks of samples, checksummed, compressed if wanted, with an index.
//!
//! # The file
//!
//! All numbers are little-endian.
//!
//! ```text
//! head    magic "\x8fFLREC\r\n", u32 version (1), u32 length of the schema, u32 crc32 of magic to length
//!         and of the schema, then the schema: u32 number of fields, and for each u16 length of its name,
//!         name, u16 length of its type, type as text (`f32[784]`, `u8[length]`)
//! chunk   44 bytes: magic "FLCH", u8 compression (0 none, 1 snappy, 2 zstd), u8 kind (0 records, 1 index),
//!         u16 0, u32 number of records, u32 crc32 of the payload as stored, u64 length of the payload,
//!         u64 as stored, u64 number of records before it, u32 crc32 of these 40 bytes; then the payload
//! index   a chunk of kind 1 with, for each chunk, u64 place and u32 number of records
//! end     u64 place of the index, u32 crc32 of that number, magic "FLEN"
//! ```
//!
//! A payload holds field after field, and not record after record: first, for each symbol of the schema, the
//! size (u32) in each record; then the elements of each field for all records. So a record of fixed sizes is
//! found by a multiplication, and a batch is made by one copy per record and field.
//!
//! # Damage
//!
//! A writer adds chunks at the end and the index when it finishes. If it is stopped before, readers find the
//! chunks by their headers, and leave out a tail that was not written whole ([`Dataset::notes`](crate::Dataset::notes) says so);
//! [`Writer::append`] cuts it off. Any other damage is an error with the file, the chunk and the byte.

mod cache;
mod chunk;
mod index;
mod reader;
mod schema;
mod writer;

pub use cache::Cache;
pub use chunk::Compression;
pub use reader::Records;
pub use writer::{Options, Writer};

pub(crate) use schema::MAGIC;
