//! Files of tensors: records one after the other, without names.

use fluvial_core::{DType, Error, ErrorKind, Result, Tensor};
use prost::Message;

use super::generated::TensorDesc;
use super::types;

/// How many levels of sequences a record may have.
const LEVELS: u64 = 16;

/// A tensor of a file.
#[derive(Clone, Debug)]
pub struct Record {
    /// The elements.
    pub tensor: Tensor,
    /// The lengths of sequences, the outermost first.
    pub lengths: Vec<Vec<i64>>,
}

/// All tensors of a file.
pub fn read_tensors(bytes: &[u8]) -> Result<Vec<Record>> {
    let mut left = bytes;
    let mut records = Vec::new();
    while !left.is_empty() {
        let number = records.len();
        let record = record(&mut left)
            .map_err(|error| error.note(format!("in tensor {number} of the file")))?;
        records.push(record);
    }
    Ok(records)
}

fn fault(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::File, what).remedy("check what wrote the file, and that it is whole")
}

fn take<'a>(left: &mut &'a [u8], count: u64) -> Result<&'a [u8]> {
    let count = usize::try_from(count).ok().filter(|&count| count <= left.len());
    let Some(count) = count else { return Err(fault("the file ends in the middle of a tensor")) };
    let (taken, rest) = left.split_at(count);
    *left = rest;
    Ok(taken)
}

fn number(left: &mut &[u8], bytes: u64) -> Result<u64> {
    let taken = take(left, bytes)?;
    Ok(taken.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

fn record(left: &mut &[u8]) -> Result<Record> {
    if number(left, 4)? != 0 {
        return Err(fault("there is no tensor of Fluid's here"));
    }
    let levels = number(left, 8)?;
    if levels > LEVELS {
        return Err(fault(format!("a tensor with {levels} levels of sequences")));
    }
    let mut lengths = Vec::new();
    for _ in 0..levels {
        let size = number(left, 8)?;
        let offsets = take(left, size)?.chunks_exact(8).map(|mut eight| number(&mut eight, 8));
        let offsets = offsets.collect::<Result<Vec<u64>>>()?;
        let length = |pair: &[u64]| {
            let length = pair[1].checked_sub(pair[0]).and_then(|more| i64::try_from(more).ok());
            length.ok_or_else(|| fault("offsets of sequences that descend"))
        };
        lengths.push(offsets.windows(2).map(length).collect::<Result<Vec<i64>>>()?);
    }
    if number(left, 4)? != 0 {
        return Err(fault("a tensor of another version"));
    }
    let size = number(left, 4)?;
    let head = TensorDesc::decode(take(left, size)?)
        .map_err(|error| fault(format!("a tensor without a head: {error}")))?;
    let dtype = types::dtype(head.data_type.into())?;
    Ok(Record { tensor: elements(left, dtype, &head.dims)?, lengths })
}

fn elements(left: &mut &[u8], dtype: DType, dims: &[i64]) -> Result<Tensor> {
    let sizes: Option<Vec<usize>> = dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
    let count = sizes.as_ref().and_then(|sizes| {
        sizes.iter().try_fold(dtype.size() as u64, |count, &size| count.checked_mul(size as u64))
    });
    let (Some(sizes), Some(count)) = (sizes, count) else {
        return Err(fault(format!("{dims:?} are not sizes")));
    };
    // What the file claims takes no memory before it is there.
    let taken = take(left, count)?;
    let mut tensor = Tensor::zeros(dtype, &sizes)?;
    let bytes = tensor.as_bytes_mut()?;
    bytes.copy_from_slice(taken);
    if dtype.is_bool() {
        bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
    Ok(tensor)
}
