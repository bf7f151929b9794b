//! IDX files, as MNIST has them: one array, big-endian. Also compressed by gzip, like texts.

use std::io::Read;
use std::sync::Arc;

use super::arrays::{self, Column};
use super::settings::Given;
use super::{Input, Rows};
use fluvial_tensor::{DType, MAX_RANK, Result, memory};

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Opens files as one field each, `image` and `label` for arrays with and without further axes; with `zip=false`
/// one after another.
pub(super) fn open(inputs: Vec<Input>, given: &Given<'_>) -> Result<Vec<Box<dyn Rows>>> {
    let zip = given.bool("zip", true)?;
    let mut columns = inputs.into_iter().map(column).collect::<Result<Vec<Column>>>()?;
    if zip {
        for i in 1..columns.len() {
            let name = columns[i].field.name.clone();
            if columns[..i].iter().any(|other| other.field.name == name) {
                columns[i].field.name = format!("{name}{i}").into();
            }
        }
    }
    arrays::parts(columns, zip)
}

/// The bytes of a gzip file, at most so many; memory grows with what is there.
fn gunzip(input: &Input, largest: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let from = flate2::read::MultiGzDecoder::new(input.from(0));
    let read = from.take(largest.min(memory::room().saturating_add(1))).read_to_end(&mut bytes);
    read.map_err(|error| input.fault(format!("it cannot be decompressed: {error}")))?;
    memory::room_for(bytes.len() as u64)?;
    Ok(bytes)
}

fn is_compressed(input: &Input) -> Result<bool> {
    Ok(input.take(0, input.len().min(2))? == GZIP)
}

/// A text, decompressed if it was compressed.
pub(super) fn plain(input: Input) -> Result<Input> {
    if !is_compressed(&input)? {
        return Ok(input);
    }
    // Deflate cannot do better.
    let largest = input.len().saturating_mul(1032).saturating_add(64);
    let bytes = gunzip(&input, largest + 1)?;
    match bytes.len() as u64 <= largest {
        true => Ok(Input::memory(input.name(), bytes)),
        false => Err(input.fault(format!("it grows beyond {largest} bytes"))),
    }
}

/// An array, decompressed if it was compressed, as far as its head says; and one byte more, which is too much.
fn plain_array(input: Input) -> Result<Input> {
    if !is_compressed(&input)? {
        return Ok(input);
    }
    let head = gunzip(&input, MAX_HEAD)?;
    let declared = Head::read(&Input::memory(input.name(), head))?.end();
    let bytes = gunzip(&input, declared.saturating_add(1))?;
    Ok(Input::memory(input.name(), bytes))
}

/// The bytes of the longest head.
const MAX_HEAD: u64 = 4 + 4 * MAX_RANK as u64;

/// What stands before the elements.
struct Head {
    /// The number for the element type.
    dtype: DType,
    sizes: Vec<usize>,
    /// Where the elements start, and how many bytes they have.
    start: u64,
    bytes: u64,
}

impl Head {
    fn read(input: &Input) -> Result<Head> {
        let broken = |at: u64, what: &str| input.fault(format!("byte {at}, in the head: {what}"));
        if input.len() < 4 {
            return Err(broken(0, "an IDX file has 4 bytes at least"));
        }
        let head = input.take(0, 4)?;
        if head[..2] != [0, 0] {
            return Err(broken(0, "an IDX file starts with two zeros"));
        }
        let (dtype, size) = match head[2] {
            0x08 => (DType::U8, 1),
            0x09 => (DType::I8, 1),
            0x0b => (DType::I16, 2),
            0x0c => (DType::I32, 4),
            0x0d => (DType::F32, 4),
            0x0e => (DType::F64, 8),
            other => return Err(broken(2, &format!("the element type {other:#04x} is not known"))),
        };
        let rank = usize::from(head[3]);
        if rank == 0 || rank > MAX_RANK {
            return Err(broken(3, &format!("1 to {MAX_RANK} axes are expected, not {rank}")));
        }
        let dims = input.take(4, 4 * rank as u64)?;
        let dim = |dim: &[u8]| u32::from_be_bytes([dim[0], dim[1], dim[2], dim[3]]) as usize;
        let sizes: Vec<usize> = dims.chunks_exact(4).map(dim).collect();
        let bytes = sizes.iter().try_fold(size, |bytes: u64, &size| bytes.checked_mul(size as u64));
        let bytes =
            bytes.ok_or_else(|| broken(4, &format!("the sizes {sizes:?} are too large")))?;
        Ok(Head { dtype, sizes, start: 4 + 4 * rank as u64, bytes })
    }

    fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes)
    }
}

fn column(input: Input) -> Result<Column> {
    let input = plain_array(input)?;
    let Head { dtype, sizes, start, bytes } = Head::read(&input)?;
    let left = input.len() - start;
    if bytes != left {
        let more = if left > bytes { "or more " } else { "" };
        return Err(input.fault(format!(
            "byte 4, in the head: elements of the sizes {sizes:?} are expected, but {left} bytes {more}follow"
        )));
    }
    let name: Arc<str> = if sizes.len() == 1 { "label".into() } else { "image".into() };
    let mut column = Column::of_input(name, Arc::new(input), start, dtype, &sizes)?;
    column.swap = dtype.size() > 1;
    Ok(column)
}
