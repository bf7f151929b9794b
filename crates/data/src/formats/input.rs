//! The bytes that a format reads: a file, or memory.

use std::fs::File;
use std::io::{BufReader, Read};
use std::sync::Arc;

use crate::files::{self, fault, io};
use fluvial_tensor::{Error, Result};

/// What a format reads, with the name that errors give it. Any number of threads may read at once.
#[derive(Debug)]
pub struct Input {
    name: Arc<str>,
    bytes: Bytes,
    len: u64,
}

#[derive(Debug)]
enum Bytes {
    File(File),
    Memory(Vec<u8>),
}

impl Input {
    /// A file that programs may touch.
    pub fn open(path: &str) -> Result<Input> {
        let (file, len) = files::open(path)?;
        Ok(Input { name: path.into(), bytes: Bytes::File(file), len })
    }

    /// A file that is open already.
    pub(crate) fn of_file(path: &str, file: File) -> Result<Input> {
        let len = file.metadata().map_err(|error| io(path, error))?.len();
        Ok(Input { name: path.into(), bytes: Bytes::File(file), len })
    }

    /// Bytes in memory, under a name of one's own.
    pub fn memory(name: &str, bytes: Vec<u8>) -> Input {
        let len = bytes.len() as u64;
        Input { name: name.into(), bytes: Bytes::Memory(bytes), len }
    }

    /// The path, or the name that was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many bytes there were when it was opened.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// An error that starts with the name.
    pub fn fault(&self, what: impl std::fmt::Display) -> Error {
        fault(format!("`{}`: {what}", self.name))
    }

    /// Fills `to` with the bytes from `at` on. Fewer bytes are an error, also if somebody has cut the file.
    pub fn read_at(&self, at: u64, to: &mut [u8]) -> Result<()> {
        let end = at.checked_add(to.len() as u64);
        if end.is_none_or(|end| end > self.len) {
            return Err(self.ends_early(at, to.len() as u64));
        }
        match &self.bytes {
            Bytes::Memory(bytes) => {
                let at = at as usize;
                to.copy_from_slice(&bytes[at..at + to.len()]);
                Ok(())
            }
            Bytes::File(file) => read_exact_at(file, to, at).map_err(|error| match error.kind() {
                std::io::ErrorKind::UnexpectedEof => {
                    self.ends_early(at, to.len() as u64).note("it was longer when it was opened")
                }
                _ => io(&self.name, error),
            }),
        }
    }

    /// `count` bytes from `at` on. Memory is taken only for bytes that are there.
    pub fn take(&self, at: u64, count: u64) -> Result<Vec<u8>> {
        if at.checked_add(count).is_none_or(|end| end > self.len) {
            return Err(self.ends_early(at, count));
        }
        let mut bytes = vec![0; count as usize];
        self.read_at(at, &mut bytes)?;
        Ok(bytes)
    }

    /// The bytes from `at` on, one after another.
    pub fn from(&self, at: u64) -> BufReader<Reader<'_>> {
        BufReader::with_capacity(1 << 16, Reader { input: self, at })
    }

    fn ends_early(&self, at: u64, count: u64) -> Error {
        let len = self.len;
        self.fault(format!("{count} bytes are expected at byte {at}, but it has {len} bytes"))
    }
}

/// Reads an [`Input`] from some place on.
pub struct Reader<'a> {
    input: &'a Input,
    at: u64,
}

impl Read for Reader<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let left = self.input.len.saturating_sub(self.at);
        let count = left.min(to.len() as u64) as usize;
        self.input.read_at(self.at, &mut to[..count]).map_err(std::io::Error::other)?;
        self.at += count as u64;
        Ok(count)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, to: &mut [u8], at: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, to, at)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut to: &mut [u8], mut at: u64) -> std::io::Result<()> {
    while !to.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, to, at)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            n => (to, at) = (&mut to[n..], at + n as u64),
        }
    }
    Ok(())
}

/// A little-endian number at the start of `bytes`, which has enough of them.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

/// The same for 64 bits.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?))
}
