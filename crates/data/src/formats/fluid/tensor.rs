//! Records that consist of tensors, as Fluid writes them.

use crate::formats::input::{u32_at, u64_at};
use fluvial_tensor::{DType, Error, MAX_RANK, Result};

const MAX_TENSORS: u32 = 1024;
const MAX_LEVELS: u64 = 8;
const MAX_DESCRIPTION: i64 = 1 << 10;

/// A tensor, with the bounds of its sequences.
#[derive(Debug)]
pub(super) struct LodTensor<'a> {
    pub dtype: DType,
    pub sizes: Vec<usize>,
    /// For each level, where the sequences begin and end.
    levels: Vec<Vec<u64>>,
    pub data: &'a [u8],
}

/// The tensors of a record; nothing if it is anything else.
pub(super) fn parse(record: &[u8]) -> Option<Vec<LodTensor<'_>>> {
    let n_tensors = u32_at(record, 0).filter(|n| (1..=MAX_TENSORS).contains(n))?;
    let mut left = &record[4..];
    let mut tensors = Vec::new();
    for _ in 0..n_tensors {
        let (tensor, rest) = one(left)?;
        tensors.push(tensor);
        left = rest;
    }
    left.is_empty().then_some(tensors)
}

fn one(bytes: &[u8]) -> Option<(LodTensor<'_>, &[u8])> {
    let n_levels = u64_at(bytes, 4).filter(|&n| n <= MAX_LEVELS)?;
    if u32_at(bytes, 0)? != 0 {
        return None;
    }
    let mut left = &bytes[12..];
    let mut levels = Vec::new();
    for _ in 0..n_levels {
        let len = usize::try_from(u64_at(left, 0)?).ok().filter(|len| len.is_multiple_of(8))?;
        let (level, rest) = left[8..].split_at_checked(len)?;
        levels.push(level.chunks_exact(8).filter_map(|offset| u64_at(offset, 0)).collect());
        left = rest;
    }
    let len = i64::from(u32_at(left, 4)?.cast_signed());
    if u32_at(left, 0)? != 0 || !(0..=MAX_DESCRIPTION).contains(&len) {
        return None;
    }
    let (description, left) = left[8..].split_at_checked(len as usize)?;
    let (number, sizes) = describe(description)?;
    let (dtype, stored_size) = match number {
        0 => (DType::Bool, 1),
        1 => (DType::I16, 2),
        2 => (DType::I32, 4),
        3 => (DType::I64, 8),
        4 => (DType::F16, 2),
        5 => (DType::F32, 4),
        6 => (DType::F64, 8),
        20 => (DType::U8, 1),
        21 => (DType::I8, 1),
        22 => (DType::BF16, 2),
        _ => return None,
    };
    let len = sizes.iter().try_fold(stored_size, |len: usize, &size| len.checked_mul(size))?;
    let (data, rest) = left.split_at_checked(len)?;
    Some((LodTensor { dtype, sizes, levels, data }, rest))
}

/// Element type and sizes from a protobuf message.
fn describe(mut bytes: &[u8]) -> Option<(u64, Vec<usize>)> {
    let (mut number, mut sizes) = (None, Vec::new());
    let size = |value: u64| usize::try_from(value.cast_signed()).ok();
    while !bytes.is_empty() {
        match varint(&mut bytes)? {
            0x08 => number = Some(varint(&mut bytes)?),
            0x10 => sizes.push(size(varint(&mut bytes)?)?),
            0x12 => {
                let len = usize::try_from(varint(&mut bytes)?).ok()?;
                let (mut packed, rest) = bytes.split_at_checked(len)?;
                while !packed.is_empty() {
                    sizes.push(size(varint(&mut packed)?)?);
                }
                bytes = rest;
            }
            _ => return None,
        }
    }
    Some((number?, sizes)).filter(|(_, sizes)| sizes.len() <= MAX_RANK)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for i in 0..10 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

impl LodTensor<'_> {
    pub fn has_sequences(&self) -> bool {
        !self.levels.is_empty()
    }

    /// How many sequences there are, at the level that has most; 1 without any.
    pub fn n_sequences(&self) -> usize {
        self.levels.iter().map(|level| level.len().saturating_sub(1)).max().unwrap_or(1)
    }

    /// How many samples it holds, if it is a batch; checks the bounds of its sequences.
    pub fn n_parts(&self) -> Result<usize> {
        let &n_rows =
            self.sizes.first().ok_or_else(|| Error::shape("a tensor has no axis to split"))?;
        match self.levels.as_slice() {
            [] if n_rows <= self.data.len() => Ok(n_rows),
            [] => Err(Error::shape("its rows have no elements")),
            [level] => {
                let ordered = level.first() == Some(&0)
                    && level.is_sorted()
                    && level.last() == Some(&(n_rows as u64));
                match ordered {
                    true => Ok(level.len() - 1),
                    false => Err(Error::shape("the bounds of its sequences do not fit its sizes")),
                }
            }
            _ => Err(Error::shape("sequences of sequences cannot be split")),
        }
    }

    /// The sizes of a sample; of each row or sequence if it is a batch, where the length of a sequence is open.
    pub fn part_sizes(&self, split: bool) -> Vec<Option<usize>> {
        let skip = usize::from(split && !self.has_sequences());
        self.sizes.iter().skip(skip).map(|&size| Some(size)).collect()
    }

    /// The sizes and bytes of a sample of a batch whose parts have been counted.
    pub fn part(&self, part: usize) -> Result<(Vec<usize>, &[u8])> {
        let out_of_range = || Error::internal("a sample is not in its record");
        let n_rows = *self.sizes.first().ok_or_else(out_of_range)?;
        let row_bytes = self.data.len().checked_div(n_rows).unwrap_or(0);
        let (start, end, mut sizes) = match self.levels.first() {
            None => (part, part + 1, Vec::new()),
            Some(level) => {
                let bound = |i: usize| level.get(i).map(|&bound| bound as usize);
                let (start, end) = bound(part).zip(bound(part + 1)).ok_or_else(out_of_range)?;
                (start, end, vec![end.saturating_sub(start)])
            }
        };
        sizes.extend_from_slice(&self.sizes[1..]);
        let bytes = self.data.get(start * row_bytes..end * row_bytes).ok_or_else(out_of_range)?;
        Ok((sizes, bytes))
    }
}
