//! Elements as little-endian bytes, for files.

use std::io::{Read, Write};

use crate::files::{fault, io};
use fluvial_tensor::{DType, Error, Result, Tensor, interrupt};

/// Between so many bytes a stop is heard.
const PART: usize = 1 << 20;

/// Writes the elements in row-major order.
pub fn write(to: &mut dyn Write, x: &Tensor, path: &str) -> Result<()> {
    let x = x.contiguous()?;
    let bytes = x.as_bytes().ok_or_else(|| Error::internal("a contiguous tensor has bytes"))?;
    let written = match cfg!(target_endian = "big") {
        true => {
            let mut bytes = bytes.to_vec();
            reorder(&mut bytes, x.dtype());
            to.write_all(&bytes)
        }
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
    let watch = interrupt::Watch::start();
    let mut fill = |part: &mut [u8]| {
        watch.check()?;
        from.read_exact(part).map_err(|error| io(path, error))
    };
    let mut out = Tensor::empty(dtype, sizes)?;
    if dtype.is_bool() {
        let mut bytes = vec![0; PART.min(count)];
        for part in out.as_mut_slice::<bool>()?.chunks_mut(PART) {
            let bytes = &mut bytes[..part.len()];
            fill(bytes)?;
            part.iter_mut().zip(bytes).for_each(|(flag, byte)| *flag = *byte != 0);
        }
        return Ok(out);
    }
    let bytes = out.as_bytes_mut()?;
    bytes.chunks_mut(PART).try_for_each(fill)?;
    reorder(bytes, dtype);
    Ok(out)
}

/// Turns bytes from the machine's order to the file's, or back.
fn reorder(bytes: &mut [u8], dtype: DType) {
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(dtype.align()).for_each(<[u8]>::reverse);
    }
}
