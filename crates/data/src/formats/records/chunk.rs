//! One chunk: header, payload, compression.

use super::schema::Schema;
use crate::formats::Input;
use crate::formats::columns::Columns;
use crate::formats::input::{u32_at, u64_at};
use fluvial_tensor::{Error, Result};

/// How the chunks of a record file are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// Fast, to perhaps half the size.
    Snappy,
    /// Slower and smaller.
    Zstd,
}

impl Compression {
    /// By name: `none`, `snappy` or `zstd`.
    pub fn parse(name: &str) -> Result<Compression> {
        match name {
            "none" => Ok(Compression::None),
            "snappy" => Ok(Compression::Snappy),
            "zstd" => Ok(Compression::Zstd),
            _ => Err(Error::argument(format!("the compression `{name}` is not known"))
                .remedy("use none, snappy or zstd")),
        }
    }

    /// The largest payload that so many bytes may stand for. What compresses better is not stored so, and what
    /// claims more is refused before memory is taken.
    pub(super) fn largest(self, stored: u64) -> u64 {
        match self {
            Compression::None => stored,
            Compression::Snappy => stored.saturating_mul(32).saturating_add(64),
            Compression::Zstd => stored.saturating_mul(1024).saturating_add(1 << 20),
        }
    }
}

pub(super) const MAGIC: [u8; 4] = *b"FLCH";
pub(super) const HEADER: usize = 44;
/// A chunk is not larger.
pub(super) const MAX_CHUNK: u64 = 1 << 31;
pub(super) const RECORDS: u8 = 0;
pub(super) const INDEX: u8 = 1;

/// What stands before a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub compression: Compression,
    pub kind: u8,
    pub n_records: u32,
    pub crc: u32,
    pub raw: u64,
    pub stored: u64,
    pub first: u64,
}

impl Header {
    pub fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = self.compression as u8;
        bytes[5] = self.kind;
        bytes[8..12].copy_from_slice(&self.n_records.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.crc.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.raw.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.stored.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.first.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..40]);
        bytes[40..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads a header; the error says what is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Header, &'static str> {
        let bytes: &[u8; HEADER] = bytes.first_chunk().ok_or("the header of a chunk is cut off")?;
        if bytes[..4] != MAGIC {
            return Err("no chunk starts here");
        }
        if u32_at(bytes, 40) != Some(crc32fast::hash(&bytes[..40])) {
            return Err("the checksum of the chunk's header is wrong");
        }
        let compression = match bytes[4] {
            0 => Compression::None,
            1 => Compression::Snappy,
            2 => Compression::Zstd,
            _ => return Err("the compression of the chunk is not known"),
        };
        let number = |at| u64_at(bytes, at).unwrap_or(0);
        let header = Header {
            compression,
            kind: bytes[5],
            n_records: u32_at(bytes, 8).unwrap_or(0),
            crc: u32_at(bytes, 12).unwrap_or(0),
            raw: number(16),
            stored: number(24),
            first: number(32),
        };
        let raw_fits = header.raw <= compression.largest(header.stored)
            && (compression != Compression::None || header.raw == header.stored);
        match header.kind {
            RECORDS | INDEX if !raw_fits => Err("the chunk claims more bytes than it can hold"),
            RECORDS if header.raw > MAX_CHUNK || header.stored > MAX_CHUNK => {
                Err("the chunk is larger than 2 GiB")
            }
            RECORDS if header.n_records == 0 || u64::from(header.n_records) > header.raw => {
                Err("the chunk claims more records than it can hold")
            }
            RECORDS | INDEX if bytes[6..8] == [0, 0] => Ok(header),
            _ => Err("the kind of the chunk is not known"),
        }
    }
}

/// Header and payload as they are stored.
pub(super) fn encode(
    kind: u8,
    n_records: u32,
    first: u64,
    payload: &[u8],
    wanted: Compression,
) -> Vec<u8> {
    let compressed = compress(payload, wanted);
    let (compression, stored) = match &compressed {
        Some((compression, stored)) => (*compression, stored.as_slice()),
        None => (Compression::None, payload),
    };
    let header = Header {
        compression,
        kind,
        n_records,
        crc: crc32fast::hash(stored),
        raw: payload.len() as u64,
        stored: stored.len() as u64,
        first,
    };
    [&header.to_bytes()[..], stored].concat()
}

/// The compressed payload, if that is smaller and may be stored so.
fn compress(payload: &[u8], wanted: Compression) -> Option<(Compression, Vec<u8>)> {
    let stored = match wanted {
        Compression::None => return None,
        Compression::Snappy => snap::raw::Encoder::new().compress_vec(payload).ok()?,
        Compression::Zstd => zstd::bulk::compress(payload, 3).ok()?,
    };
    if payload.len() as u64 > wanted.largest(stored.len() as u64) {
        return if wanted == Compression::Zstd {
            compress(payload, Compression::Snappy)
        } else {
            None
        };
    }
    (stored.len() < payload.len()).then_some((wanted, stored))
}

/// The payload of a chunk; the error says what is wrong with it.
pub(super) fn payload(header: &Header, stored: &[u8]) -> Result<Option<Vec<u8>>, String> {
    if crc32fast::hash(stored) != header.crc {
        return Err("the checksum of the payload is wrong".into());
    }
    let raw = header.raw as usize;
    let bytes = match header.compression {
        Compression::None => return Ok(None),
        Compression::Snappy => {
            if snap::raw::decompress_len(stored).ok() != Some(raw) {
                return Err("the payload has another length than the header says".into());
            }
            let mut bytes = vec![0; raw];
            let count = snap::raw::Decoder::new().decompress(stored, &mut bytes);
            count.map_err(|error| format!("the payload cannot be decompressed: {error}"))?;
            bytes
        }
        Compression::Zstd => zstd::bulk::decompress(stored, raw)
            .map_err(|error| format!("the payload cannot be decompressed: {error}"))?,
    };
    match bytes.len() == raw {
        true => Ok(Some(bytes)),
        false => Err("the payload has another length than the header says".into()),
    }
}

/// A chunk in memory, ready to be copied from.
#[derive(Debug)]
pub(super) struct Chunk {
    bytes: Vec<u8>,
    /// Where the elements of each field start.
    starts: Vec<usize>,
    /// For sizes that vary: those of all symbols for each record.
    symbols: Vec<u32>,
    /// For sizes that vary: for each field, where each record ends within the field's elements.
    ends: Vec<Vec<usize>>,
}

impl Chunk {
    /// Reads and checks a chunk of records.
    pub fn read(
        input: &Input,
        schema: &Schema,
        number: usize,
        place: std::ops::Range<u64>,
        first: u64,
        n_records: u32,
    ) -> Result<Chunk> {
        let wrong = |offset: u64, what: &str| {
            input.fault(format!("chunk {number}, byte {}: {what}", place.start + offset))
        };
        let bytes = input.take(place.start, place.end - place.start)?;
        let header = Header::parse(&bytes).map_err(|what| wrong(0, what))?;
        let agrees = header.kind == RECORDS
            && header.stored == (bytes.len() - HEADER) as u64
            && header.first == first
            && header.n_records == n_records;
        if !agrees {
            return Err(wrong(0, "the chunk's header and the index differ"));
        }
        let payload =
            payload(&header, &bytes[HEADER..]).map_err(|what| wrong(HEADER as u64, &what))?;
        let (bytes, start) = match payload {
            Some(payload) => (payload, 0),
            None => (bytes, HEADER),
        };
        Chunk::parse(bytes, start, schema, n_records as usize)
            .ok_or_else(|| wrong(HEADER as u64, "the sizes of the records do not fit the payload"))
    }

    fn parse(bytes: Vec<u8>, start: usize, schema: &Schema, n_records: usize) -> Option<Chunk> {
        let mut at = start;
        let (mut starts, mut symbols, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        if let Some(fixed) = &schema.fixed {
            for (count, _) in fixed {
                starts.push(at);
                at = at.checked_add(count.checked_mul(n_records)?)?;
            }
            return (at == bytes.len()).then_some(Chunk { bytes, starts, symbols, ends });
        }
        let n_symbols = schema.symbols.len();
        let table = bytes.get(start..)?.get(..n_symbols.checked_mul(n_records)?.checked_mul(4)?)?;
        at += table.len();
        // The file has symbol after symbol; here they lie record after record.
        for record in 0..n_records {
            symbols
                .extend((0..n_symbols).filter_map(|i| u32_at(table, 4 * (i * n_records + record))));
        }
        for field in 0..schema.fields.len() {
            starts.push(at);
            let (mut end, mut all) = (0_usize, Vec::with_capacity(n_records));
            for sizes in symbols.chunks_exact(n_symbols) {
                end = end.checked_add(schema.bytes(field, sizes)?)?;
                all.push(end);
            }
            at = at.checked_add(end)?;
            ends.push(all);
        }
        (at == bytes.len()).then_some(Chunk { bytes, starts, symbols, ends })
    }

    /// Copies a record of sizes that vary into a row of a batch.
    fn copy(&self, schema: &Schema, record: usize, row: usize, out: &mut Columns) -> Result<()> {
        let n_symbols = schema.symbols.len();
        let symbols = &self.symbols[record * n_symbols..(record + 1) * n_symbols];
        for (field, (&start, ends)) in self.starts.iter().zip(&self.ends).enumerate() {
            let from = if record == 0 { 0 } else { ends[record - 1] };
            let bytes = &self.bytes[start + from..start + ends[record]];
            out.put(field, row, &schema.sizes(field, symbols), bytes)?;
        }
        Ok(())
    }

    /// The bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        let ends: usize = self.ends.iter().map(|ends| ends.len() * size_of::<usize>()).sum();
        self.bytes.len() + self.symbols.len() * 4 + ends + 64
    }
}

/// A record of a chunk, and the row of a batch where it goes.
pub(super) type Wanted<'a> = (&'a Chunk, usize, usize);

/// Copies records into rows of a batch: for fixed sizes field after field, with one copy for each record.
pub(super) fn copy(schema: &Schema, wanted: &[Wanted<'_>], out: &mut Columns) -> Result<()> {
    let Some(fixed) = &schema.fixed else {
        return wanted
            .iter()
            .try_for_each(|&(chunk, record, row)| chunk.copy(schema, record, row, out));
    };
    for (field, (count, sizes)) in fixed.iter().enumerate() {
        let bytes = |chunk: &'_ Chunk, record: usize| {
            let at = chunk.starts[field] + record * count;
            at..at + count
        };
        match out.rows(field, sizes, wanted.len())? {
            Some((to, row_bytes)) => {
                for &(chunk, record, row) in wanted {
                    let from = &chunk.bytes[bytes(chunk, record)];
                    to[row * row_bytes..(row + 1) * row_bytes].copy_from_slice(from);
                }
            }
            None => {
                for &(chunk, record, row) in wanted {
                    out.put(field, row, sizes, &chunk.bytes[bytes(chunk, record)])?;
                }
            }
        }
    }
    Ok(())
}
