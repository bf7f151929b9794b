//! The chunks of a file, and which dialect it has.

use std::ops::Range;

use super::unpack::{self, Packing};
use crate::formats::Input;
use crate::formats::input::u32_at;
use fluvial_tensor::Result;

/// The first bytes of a file.
pub(crate) const MAGIC: [u8; 4] = [4, 3, 2, 1];
const HEADER: u64 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Number of records, checksum, compression, length.
    Fluid,
    /// Checksum, compression, length, number of records.
    Go,
}

/// Where a chunk is, from its header.
#[derive(Clone, Debug)]
pub(super) struct Place {
    dialect: Dialect,
    pub n_records: u32,
    crc: u32,
    packing: Packing,
    /// The bytes of the payload.
    pub payload: Range<u64>,
}

impl Place {
    /// Reads the header at `at`; the error says what is wrong with it.
    fn parse(header: &[u8], dialect: Dialect, at: u64, len: u64) -> Result<Place, String> {
        let number = |i: usize| u32_at(header, 4 * i).unwrap_or(0);
        if header.len() < HEADER as usize {
            return Err(format!("a header of 20 bytes is expected, but {} are left", header.len()));
        }
        if header[..4] != MAGIC {
            return Err(format!(
                "the number {:#010x} is expected, but it is {:#010x}",
                0x0102_0304,
                number(0)
            ));
        }
        let (n_records, crc, packing, size) = match dialect {
            Dialect::Fluid => (number(1), number(2), number(3), number(4)),
            Dialect::Go => (number(4), number(1), number(2), number(3)),
        };
        let packing = Packing::of(packing, dialect == Dialect::Go)
            .ok_or_else(|| format!("compression {packing} is not known; 0, 1 or 2 is expected"))?;
        let start = at + HEADER;
        let end = start + u64::from(size);
        if end > len {
            return Err(format!(
                "a payload of {size} bytes is expected, but {} are left",
                len - start
            ));
        }
        if u64::from(n_records).saturating_mul(4) > packing.largest(u64::from(size)) {
            return Err(format!("{n_records} records cannot be in {size} bytes"));
        }
        Ok(Place { dialect, n_records, crc, packing, payload: start..end })
    }

    fn checksum_is_right(&self, input: &Input) -> Result<bool> {
        let stored = input.take(self.payload.start, self.payload.end - self.payload.start)?;
        Ok(crc32fast::hash(&stored) == self.crc)
    }
}

/// Finds all chunks. Only the payload of the first is read.
pub(super) fn scan(input: &Input) -> Result<Vec<Place>> {
    let mut dialect = None;
    let mut places: Vec<Place> = Vec::new();
    let mut at = 0;
    while at < input.len() {
        let header = input.take(at, (input.len() - at).min(HEADER))?;
        let wrong = |what: &str| input.fault(format!("chunk {}, byte {at}: {what}", places.len()));
        let parse = |dialect| Place::parse(&header, dialect, at, input.len());
        let place = match dialect {
            Some(dialect) => parse(dialect).map_err(|what| wrong(&what))?,
            None => {
                let both = [Dialect::Fluid, Dialect::Go].map(parse);
                let mut found = None;
                for place in both.iter().flatten() {
                    if place.checksum_is_right(input)? {
                        found = Some(place.clone());
                        break;
                    }
                }
                found.ok_or_else(|| match both {
                    [Err(fluid), Err(go)] if fluid == go => wrong(&fluid),
                    [Err(fluid), Err(go)] => {
                        wrong(&format!("read as C++ Fluid writes: {fluid}; as Go writes: {go}"))
                    }
                    _ => wrong("the checksum of the payload is wrong"),
                })?
            }
        };
        dialect = Some(place.dialect);
        at = place.payload.end;
        places.push(place);
    }
    Ok(places)
}

/// The records of a chunk, in memory.
#[derive(Debug)]
pub(super) struct Chunk {
    bytes: Vec<u8>,
    records: Vec<Range<usize>>,
    /// In files of batches: how many samples there are up to the end of each record.
    pub ends: Vec<u64>,
}

impl Chunk {
    pub fn read(input: &Input, number: usize, place: &Place) -> Result<Chunk> {
        let start = place.payload.start;
        let wrong = |what: &str| input.fault(format!("chunk {number}, byte {start}: {what}"));
        let stored = input.take(start, place.payload.end - start)?;
        if crc32fast::hash(&stored) != place.crc {
            return Err(wrong("the checksum of the payload is wrong"));
        }
        let bytes = unpack::unpack(stored, place.packing)
            .map_err(|what| wrong(&format!("the payload cannot be decompressed: {what}")))?;
        let records = split(&bytes, place.n_records as usize).ok_or_else(|| {
            wrong(&format!("the payload is not {} records with their lengths", place.n_records))
        })?;
        Ok(Chunk { bytes, records, ends: Vec::new() })
    }

    pub fn n_records(&self) -> usize {
        self.records.len()
    }

    pub fn n_samples(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    pub fn record(&self, number: usize) -> &[u8] {
        &self.bytes[self.records[number].clone()]
    }

    /// The record of a sample, and which of the record's samples it is.
    pub fn locate(&self, sample: u64, split: bool) -> (usize, usize) {
        if !split {
            return (sample as usize, 0);
        }
        let record = self.ends.partition_point(|&end| end <= sample);
        let first = if record == 0 { 0 } else { self.ends[record - 1] };
        (record, (sample - first) as usize)
    }

    /// The bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        self.bytes.len() + self.records.len() * size_of::<Range<usize>>() + self.ends.len() * 8 + 64
    }
}

fn split(bytes: &[u8], n_records: usize) -> Option<Vec<Range<usize>>> {
    let mut at = 0_usize;
    let mut records = Vec::new();
    for _ in 0..n_records {
        let start = at.checked_add(4)?;
        let end = start.checked_add(u32_at(bytes, at)? as usize)?;
        if end > bytes.len() {
            return None;
        }
        records.push(start..end);
        at = end;
    }
    (at == bytes.len()).then_some(records)
}
