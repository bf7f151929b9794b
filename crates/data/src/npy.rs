//! Numpy's `.npy` files: one tensor.

use std::io::{Read, Write};

use crate::elements;
use crate::files::{fault, io};
use fluvial_tensor::{DType, Error, Kind, MAX_RANK, Result, Tensor};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// A longer header is not a header of a tensor.
const MAX_HEADER: u64 = 1 << 16;

/// The name of an element type, if the format has it: the byte order, the kind and the size.
fn descr(dtype: DType) -> Option<String> {
    let kind = match dtype.kind() {
        Kind::Bool => 'b',
        Kind::Unsigned => 'u',
        Kind::Signed => 'i',
        _ if !dtype.is_of_numpy() => return None,
        Kind::Float => 'f',
        Kind::Complex => 'c',
    };
    let order = if dtype.size() == 1 { '|' } else { '<' };
    Some(format!("{order}{kind}{}", dtype.size()))
}

/// Refuses element types that the format lacks.
pub fn has_dtype(dtype: DType) -> Result<()> {
    match descr(dtype) {
        Some(_) => Ok(()),
        None => Err(Error::dtype(format!("`.npy` files have no {dtype} elements"))
            .remedy("save as `.safetensors`, or cast first")),
    }
}

/// Writes a file.
pub fn write(to: &mut dyn Write, x: &Tensor, path: &str) -> Result<()> {
    has_dtype(x.dtype())?;
    let sizes: String = x.dims().iter().map(|size| format!("{size},")).collect();
    let mut header = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({sizes}), }}",
        descr(x.dtype()).unwrap_or_default()
    );
    // The elements start at a multiple of 64, after a line end.
    let used = MAGIC.len() + 4 + header.len() + 1;
    header += &" ".repeat(used.next_multiple_of(64) - used);
    header.push('\n');
    let len = u16::try_from(header.len()).map_err(|_| fault("the header is too long"))?;
    let head = [&MAGIC[..], &[1, 0], &len.to_le_bytes(), header.as_bytes()].concat();
    to.write_all(&head).map_err(|error| io(path, error))?;
    elements::write(to, x, path)
}

/// Reads a file of `len` bytes.
pub fn read(from: &mut dyn Read, len: u64, path: &str) -> Result<Tensor> {
    let Header { dtype, sizes, fortran, len: before } = Header::read(from, len, path)?;
    if !fortran {
        return elements::read(from, len - before, dtype, &sizes, path);
    }
    let backwards: Vec<usize> = sizes.iter().rev().copied().collect();
    let axes: Vec<usize> = (0..sizes.len()).rev().collect();
    elements::read(from, len - before, dtype, &backwards, path)?.permute(&axes)
}

/// What stands before the elements.
pub(crate) struct Header {
    pub dtype: DType,
    pub sizes: Vec<usize>,
    /// Whether the first index runs fastest.
    pub fortran: bool,
    /// The bytes of the header.
    pub len: u64,
}

impl Header {
    /// Reads the header of a file of `len` bytes.
    pub fn read(from: &mut dyn Read, len: u64, path: &str) -> Result<Header> {
        let broken = |what: &str| fault(format!("`{path}` is not a `.npy` file: {what}"));
        let mut head = [0; 8];
        from.read_exact(&mut head).map_err(|_| broken("it is too short"))?;
        if head[..6] != MAGIC[..] {
            return Err(broken("its first bytes are others"));
        }
        let mut size = [0; 4];
        let n_size = match head[6] {
            1 => 2,
            2 | 3 => 4,
            _ => return Err(broken("its version is not known")),
        };
        from.read_exact(&mut size[..n_size]).map_err(|_| broken("it is too short"))?;
        let size = u64::from(u32::from_le_bytes(size));
        let before = 8 + n_size as u64 + size;
        if size > MAX_HEADER || before > len {
            return Err(broken("its header is too long"));
        }
        let mut header = vec![0; size as usize];
        from.read_exact(&mut header).map_err(|_| broken("it is too short"))?;
        let header = std::str::from_utf8(&header).map_err(|_| broken("its header is not text"))?;
        let Some((descr, sizes, fortran)) = Header::parse(header) else {
            return Err(broken("its header is not understood"));
        };
        let found =
            DType::ALL.into_iter().find(|&dtype| self::descr(dtype).as_deref() == Some(descr));
        let Some(dtype) = found else {
            return Err(fault(format!(
                "`{path}` has elements of the type `{descr}`, which is not known"
            ))
            .remedy("save it as bools, integers or floats, little-endian"));
        };
        Ok(Header { dtype, sizes, fortran, len: before })
    }

    /// Element type, sizes and order.
    fn parse(text: &str) -> Option<(&str, Vec<usize>, bool)> {
        let value = |key: &str| {
            let (_, after) = text.split_once(&format!("'{key}'"))?;
            Some(after.trim_start().strip_prefix(':')?.trim_start())
        };
        let (descr, _) = value("descr")?.strip_prefix('\'')?.split_once('\'')?;
        let order = value("fortran_order")?;
        let fortran = order.starts_with("True");
        if !fortran && !order.starts_with("False") {
            return None;
        }
        let (shape, _) = value("shape")?.strip_prefix('(')?.split_once(')')?;
        let numbers = shape.split(',').map(str::trim).filter(|number| !number.is_empty());
        let sizes = numbers.map(|number| number.parse().ok()).collect::<Option<Vec<usize>>>()?;
        Some((descr, sizes, fortran)).filter(|(_, sizes, _)| sizes.len() <= MAX_RANK)
    }
}
