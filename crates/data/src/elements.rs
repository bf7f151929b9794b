//! Elements as little-endian bytes, for files.

use std::io::{Read, Write};

use crate::files::{fault, io};
use fluvial_tensor::{DType, Error, Result, Tensor};

/// Writes the elements in row-major order.
pub fn write(to: &mut dyn Write, x: &Tensor, path: &str) -> Result<()> {
    let x = x.contiguous()?;
    let bytes = x.as_bytes().ok_or_else(|| Error::internal("a contiguous tensor has bytes"))?;
    let written = match cfg!(target_endian = "big") {
        true => to.write_all(&little_endian(bytes.to_vec(), x.dtype())),
        false => to.write_all(bytes),
    };
    written.map_err(|error| io(path, error))
}

/// A checksum of the elements, with their type and sizes.
pub fn checksum(x: &Tensor) -> Result<u32> {
    let mut sum = Summing::default();
    sum.0.update(x.ty().to_string().as_bytes());
    write(&mut sum, x, "")?;
    Ok(sum.0.finalize())
}

/// Computes the checksum of what is written to it.
#[derive(Default)]
pub(crate) struct Summing(pub(crate) crc32fast::Hasher);

impl Write for Summing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Reads elements of the given type and sizes, `left` being the bytes that the file has. Memory is taken
/// only for what is there.
pub fn read(
    from: &mut dyn Read,
    left: u64,
    dtype: DType,
    sizes: &[usize],
    path: &str,
) -> Result<Tensor> {
    let count = sizes.iter().try_fold(dtype.size(), |all, &size| all.checked_mul(size));
    let Some(count) = count.filter(|&count| count as u64 <= left) else {
        return Err(fault(format!("`{path}` is too short for its elements")));
    };
    let mut bytes = vec![0; count];
    from.read_exact(&mut bytes).map_err(|error| io(path, error))?;
    let bytes = little_endian(bytes, dtype);
    if dtype.is_bool() {
        return Tensor::from_vec(bytes.into_iter().map(|byte| byte != 0).collect(), sizes);
    }
    let mut out = Tensor::empty(dtype, sizes)?;
    out.as_bytes_mut()?.copy_from_slice(&bytes);
    Ok(out)
}

/// Turns bytes from the machine's order to the file's, or back.
fn little_endian(mut bytes: Vec<u8>, dtype: DType) -> Vec<u8> {
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(dtype.align()).for_each(<[u8]>::reverse);
    }
    bytes
}
