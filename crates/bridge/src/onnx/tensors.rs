//! Tensors of ONNX files, whose elements may be in files beside them.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path};

use fluvial_core::{DType, Error, ErrorKind, Result, Tensor};
use fluvial_data::files;

use super::generated::{SparseTensorProto, TensorProto};
use super::types;

/// The tensor that a message describes. Elements in other files are looked for in `folder`.
pub fn tensor(proto: &TensorProto, folder: Option<&Path>) -> Result<Tensor> {
    read(proto, folder).map_err(|error| match proto.name.is_empty() {
        true => error,
        false => error.note(format!("in the tensor `{}`", proto.name)),
    })
}

fn read(proto: &TensorProto, folder: Option<&Path>) -> Result<Tensor> {
    let dtype = types::dtype(proto.data_type.into())?;
    let dims = sizes(&proto.dims)?;
    let count = dims.iter().try_fold(1usize, |count, &dim| count.checked_mul(dim));
    let bytes = count.and_then(|count| count.checked_mul(dtype.size()));
    let (Some(count), Some(bytes)) = (count, bytes) else {
        return Err(fault(format!("{:?} are more elements than memory can have", proto.dims)));
    };
    if proto.data_location == 1 {
        return external(proto, folder, dtype, &dims, bytes);
    }
    if !proto.raw_data.is_empty() || count == 0 {
        check_count(proto.raw_data.len(), bytes, "bytes")?;
        return from_bytes(dtype, &dims, |to| {
            to.copy_from_slice(&proto.raw_data);
            Ok(())
        });
    }
    let words = |n: usize| check_count(n, count, "elements");
    match dtype {
        DType::F32 => {
            words(proto.float_data.len())?;
            Tensor::from_slice(&proto.float_data, &dims)
        }
        // The real and the imaginary part, one behind the other.
        DType::C64 => {
            check_count(proto.float_data.len(), 2 * count, "parts of elements")?;
            parts(dtype, &dims, proto.float_data.iter().map(|part| part.to_le_bytes()))
        }
        DType::C128 => {
            check_count(proto.double_data.len(), 2 * count, "parts of elements")?;
            parts(dtype, &dims, proto.double_data.iter().map(|part| part.to_le_bytes()))
        }
        DType::F64 => {
            words(proto.double_data.len())?;
            Tensor::from_slice(&proto.double_data, &dims)
        }
        DType::I64 => {
            words(proto.int64_data.len())?;
            Tensor::from_slice(&proto.int64_data, &dims)
        }
        DType::I32 => {
            words(proto.int32_data.len())?;
            Tensor::from_slice(&proto.int32_data, &dims)
        }
        DType::U32 | DType::U64 => {
            words(proto.uint64_data.len())?;
            Tensor::from_slice(&proto.uint64_data, &dims)?.cast(dtype)
        }
        DType::F16 | DType::BF16 | DType::I16 | DType::U16 => {
            words(proto.int32_data.len())?;
            parts(dtype, &dims, proto.int32_data.iter().map(|word| (*word as u16).to_le_bytes()))
        }
        DType::Bool | DType::U8 | DType::I8 | DType::F8E4M3 | DType::F8E5M2 => {
            words(proto.int32_data.len())?;
            parts(dtype, &dims, proto.int32_data.iter().map(|word| [*word as u8]))
        }
    }
}

/// A tensor whose bytes are these, one group behind the other.
fn parts<const N: usize>(
    dtype: DType,
    dims: &[usize],
    groups: impl Iterator<Item = [u8; N]>,
) -> Result<Tensor> {
    from_bytes(dtype, dims, |to| {
        for (to, group) in to.chunks_exact_mut(N).zip(groups) {
            to.copy_from_slice(&group);
        }
        Ok(())
    })
}

/// The elements of a tensor as ONNX has them.
pub fn message(name: &str, tensor: &Tensor) -> Result<TensorProto> {
    let tensor = tensor.contiguous()?;
    let Some(bytes) = tensor.as_bytes() else {
        return Err(Error::internal("a contiguous tensor has no bytes"));
    };
    Ok(TensorProto {
        name: name.to_string(),
        dims: tensor.dims().iter().map(|&size| size as i64).collect(),
        data_type: types::number(tensor.dtype()),
        raw_data: bytes.to_vec(),
        ..TensorProto::default()
    })
}

/// The dense form of a sparse tensor.
pub fn sparse(proto: &SparseTensorProto, folder: Option<&Path>) -> Result<Tensor> {
    let (Some(values), Some(indices)) = (&proto.values, &proto.indices) else {
        return Err(fault("a sparse tensor has no values"));
    };
    let (values, indices) = (tensor(values, folder)?, tensor(indices, folder)?);
    let dims = sizes(&proto.dims)?;
    let count = dims.iter().try_fold(1usize, |count, &dim| count.checked_mul(dim));
    let count = count.filter(|&count| count <= 1 << 31);
    let Some(count) = count else { return Err(fault("a sparse tensor is too large")) };
    let mut all = fluvial_core::memory::filled(0.0f64, count)?;
    let positions = indices.cast(DType::I64)?.to_vec::<i64>()?;
    let width = if indices.rank() == 2 { dims.len().max(1) } else { 1 };
    let elements = values.to_f64s();
    if positions.len() != elements.len().saturating_mul(width) {
        return Err(fault("a sparse tensor has another number of positions than of values"));
    }
    for (position, value) in positions.chunks(width).zip(elements) {
        let flat = match width {
            1 => position[0],
            _ => position
                .iter()
                .zip(&dims)
                .try_fold(0i64, |flat, (&at, &dim)| {
                    (at >= 0 && at < dim as i64).then(|| flat * dim as i64 + at)
                })
                .unwrap_or(-1),
        };
        match usize::try_from(flat).ok().and_then(|flat| all.get_mut(flat)) {
            Some(element) => *element = value,
            None => return Err(fault("a position of a sparse tensor is out of range")),
        }
    }
    Tensor::from_f64s(values.dtype(), &all, &dims)
}

fn sizes(dims: &[i64]) -> Result<Vec<usize>> {
    let size = |&dim: &i64| usize::try_from(dim).ok();
    let sizes: Option<Vec<usize>> = dims.iter().map(size).collect();
    sizes.ok_or_else(|| fault(format!("{dims:?} are not sizes")))
}

fn fault(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::File, what)
}

fn check_count(found: usize, expected: usize, what: &str) -> Result<()> {
    match found == expected {
        true => Ok(()),
        false => Err(fault(format!("its sizes need {expected} {what}, but there are {found}"))),
    }
}

fn from_bytes(
    dtype: DType,
    dims: &[usize],
    fill: impl FnOnce(&mut [u8]) -> Result<()>,
) -> Result<Tensor> {
    // Bools are made of bytes, of which any but 0 is one.
    let of_bytes = if dtype.is_bool() { DType::U8 } else { dtype };
    let mut tensor = Tensor::zeros(of_bytes, dims)?;
    fill(tensor.as_bytes_mut()?)?;
    tensor.cast(dtype)
}

/// Elements in a file of the folder.
fn external(
    proto: &TensorProto,
    folder: Option<&Path>,
    dtype: DType,
    dims: &[usize],
    bytes: usize,
) -> Result<Tensor> {
    let Some(folder) = folder else {
        return Err(fault("its elements are in another file").remedy("load the model by its path"));
    };
    let entry = |key: &str| {
        proto.external_data.iter().find(|entry| entry.key == key).map(|entry| entry.value.as_str())
    };
    let number = |key: &str| match entry(key) {
        None => Ok(None),
        Some(text) => text
            .parse::<u64>()
            .map(Some)
            .map_err(|_| fault(format!("`{text}` is not a {key} in a file"))),
    };
    let location = entry("location").unwrap_or_default();
    let inside = Path::new(location)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if location.is_empty() || location.contains('\0') || !inside {
        return Err(fault(format!(
            "its elements are in `{location}`, outside of the model's folder"
        ))
        .remedy("elements must be in a file beside the model"));
    }
    let path = folder.join(location);
    let shown = path.display().to_string();
    let io = |error| files::io(&shown, error);
    let (real, home) = (path.canonicalize().map_err(io)?, folder_of(folder)?);
    if !real.starts_with(&home) {
        return Err(fault(format!("`{location}` leads out of the model's folder")));
    }
    files::allow(&real)?;
    let mut file = File::open(&real).map_err(io)?;
    let (offset, len) = (number("offset")?.unwrap_or(0), file.metadata().map_err(io)?.len());
    let length = number("length")?.unwrap_or(bytes as u64);
    if length != bytes as u64 || offset.checked_add(length).is_none_or(|end| end > len) {
        return Err(fault(format!(
            "its sizes need {bytes} bytes, but {length} at {offset} of the {len} of `{location}` \
             are given"
        )));
    }
    file.seek(SeekFrom::Start(offset)).map_err(io)?;
    from_bytes(dtype, dims, |to| file.read_exact(to).map_err(io))
}

fn folder_of(folder: &Path) -> Result<std::path::PathBuf> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    folder.canonicalize().map_err(|error| files::io(&folder.display().to_string(), error))
}
