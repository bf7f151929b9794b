//! Where the chunks are: from the index at the end, or by looking for their headers.

use super::chunk::{self, Chunk, Compression, HEADER, Header};
use super::schema::Schema;
use crate::formats::Input;
use crate::formats::input::{u32_at, u64_at};
use fluvial_tensor::Result;

const END_MAGIC: [u8; 4] = *b"FLEN";
const END: u64 = 16;
/// Bytes for each chunk in the index.
const ENTRY: usize = 12;

/// The chunks of a file.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Where each chunk starts.
    pub places: Vec<u64>,
    /// Where the last one ends.
    pub end: u64,
    /// How many records there are up to the end of each chunk.
    pub ends: Vec<u64>,
    /// What is noteworthy about the end of the file.
    pub note: Option<String>,
}

impl Index {
    /// Finds the chunks of a file whose head ends at `start`.
    pub fn read(input: &Input, schema: &Schema, start: u64) -> Result<Index> {
        match Index::from_end(input, start) {
            Some(index) => Ok(index),
            None => Index::scan(input, schema, start),
        }
    }

    pub fn n_records(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The bytes of a chunk, the number of its first record, and how many it has.
    pub fn chunk(&self, number: usize) -> (std::ops::Range<u64>, u64, u32) {
        let end = self.places.get(number + 1).copied().unwrap_or(self.end);
        let first = if number == 0 { 0 } else { self.ends[number - 1] };
        (self.places[number]..end, first, (self.ends[number] - first) as u32)
    }

    pub fn push(&mut self, place: u64, end: u64, n_records: u32) {
        self.places.push(place);
        self.ends.push(self.n_records() + u64::from(n_records));
        self.end = end;
    }

    /// The index and the end of a file, as they are stored from `self.end` on.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut payload = Vec::with_capacity(ENTRY * self.places.len());
        for number in 0..self.places.len() {
            let (place, _, n_records) = self.chunk(number);
            payload.extend_from_slice(&place.start.to_le_bytes());
            payload.extend_from_slice(&n_records.to_le_bytes());
        }
        let mut bytes =
            chunk::encode(chunk::INDEX, 0, self.n_records(), &payload, Compression::None);
        let place = self.end.to_le_bytes();
        bytes.extend_from_slice(&place);
        bytes.extend_from_slice(&crc32fast::hash(&place).to_le_bytes());
        bytes.extend_from_slice(&END_MAGIC);
        bytes
    }

    /// The index that the file has, if it is whole and in order.
    fn from_end(input: &Input, start: u64) -> Option<Index> {
        let end = input.take(input.len().checked_sub(END)?, END).ok()?;
        let place = u64_at(&end, 0)?;
        if end[12..] != END_MAGIC || u32_at(&end, 8)? != crc32fast::hash(&end[..8]) {
            return None;
        }
        let len = (input.len() - END).checked_sub(place).filter(|_| place >= start)?;
        let bytes = input.take(place, len).ok()?;
        let header = Header::parse(&bytes).ok()?;
        let entries = &bytes[HEADER..];
        let whole = header.kind == chunk::INDEX
            && header.stored == entries.len() as u64
            && header.crc == crc32fast::hash(entries)
            && entries.len().is_multiple_of(ENTRY);
        if !whole {
            return None;
        }
        let mut index = Index { end: start, ..Index::default() };
        let mut n_records = 0_u64;
        for entry in entries.chunks_exact(ENTRY) {
            let (at, count) = (u64_at(entry, 0)?, u64::from(u32_at(entry, 8)?));
            let expected = if index.places.is_empty() { at == start } else { at >= index.end };
            if !expected || count == 0 {
                return None;
            }
            n_records = n_records.checked_add(count)?;
            index.places.push(at);
            index.ends.push(n_records);
            index.end = at.checked_add(HEADER as u64)?;
        }
        if index.end > place || (index.places.is_empty() && place != start) {
            return None;
        }
        index.end = place;
        let plausible = |number| {
            let (place, _, n_records) = index.chunk(number);
            u64::from(n_records) <= Compression::Zstd.largest(place.end - place.start)
        };
        let all_plausible = (0..index.places.len()).all(plausible);
        (header.first == n_records && all_plausible).then_some(index)
    }

    /// Goes from header to header. A tail that was not written whole is left out.
    fn scan(input: &Input, schema: &Schema, start: u64) -> Result<Index> {
        let mut index = Index { end: start, ..Index::default() };
        let mut why = "it was not finished";
        let mut tail = true;
        while index.end < input.len() {
            let at = index.end;
            let header = input.take(at, (input.len() - at).min(HEADER as u64))?;
            let header = match Header::parse(&header) {
                Ok(header) if header.kind == chunk::INDEX => {
                    (why, tail) = ("its index is damaged", false);
                    break;
                }
                Ok(header) if header.first == index.n_records() => header,
                Ok(_) => return Err(damaged(input, &index, "chunks before this one are missing")),
                Err(_) if header.len() < HEADER => break,
                Err(what) => match another_chunk(input, at + 1)? {
                    true => return Err(damaged(input, &index, what)),
                    false => break,
                },
            };
            let end = at.checked_add(HEADER as u64).and_then(|at| at.checked_add(header.stored));
            match end {
                Some(end) if end <= input.len() => index.push(at, end, header.n_records),
                _ => break,
            }
        }
        index.drop_torn(input, schema, tail);
        let left = input.len() - index.end;
        if tail && left > 0 {
            why = "its end was not written whole";
        }
        let at = index.end;
        index.note = Some(match tail {
            true => {
                format!("`{}`: {why}; {left} bytes from byte {at} on are left out", input.name())
            }
            false => format!("`{}`: {why}; the chunks were found by their headers", input.name()),
        });
        Ok(index)
    }

    /// Leaves out the last chunk if nothing follows it and its payload is not what was written.
    fn drop_torn(&mut self, input: &Input, schema: &Schema, tail: bool) {
        let Some(last) = self.places.len().checked_sub(1).filter(|_| tail) else { return };
        let (place, first, n_records) = self.chunk(last);
        let start = place.start;
        if Chunk::read(input, schema, last, place, first, n_records).is_err() {
            self.places.pop();
            self.ends.pop();
            self.end = start;
        }
    }
}

fn damaged(input: &Input, index: &Index, what: &str) -> fluvial_tensor::Error {
    input.fault(format!("chunk {}, byte {}: {what}", index.places.len(), index.end))
}

/// Whether a chunk starts anywhere from `at` on.
fn another_chunk(input: &Input, mut at: u64) -> Result<bool> {
    const BLOCK: u64 = 1 << 16;
    while at + (HEADER as u64) <= input.len() {
        let bytes = input.take(at, (BLOCK + HEADER as u64 - 1).min(input.len() - at))?;
        let starts = bytes
            .windows(HEADER)
            .any(|window| window[..4] == chunk::MAGIC && Header::parse(window).is_ok());
        if starts {
            return Ok(true);
        }
        at += BLOCK;
    }
    Ok(false)
}
