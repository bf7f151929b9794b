//! The elements of a constant as bytes; both forms of a program write them so.

use fluvial_tensor::{DType, Error, Result, Tensor, Type};

use crate::verify::count;

/// Constants of up to so many elements are written in full, also if all elements are equal.
pub(crate) const SHORT: usize = 32;

/// The elements of a tensor in row-major order, little-endian.
pub(crate) struct Elements {
    /// All of them, or the one that stands everywhere.
    pub bytes: Vec<u8>,
    /// There is one, which stands everywhere.
    pub everywhere: bool,
}

impl Elements {
    /// The elements of a tensor of any layout.
    pub fn of(tensor: &Tensor) -> Elements {
        let size = tensor.dtype().size();
        if tensor.numel() > SHORT {
            let mut one = Vec::with_capacity(size);
            gather(&first(tensor), &mut one);
            if is_everywhere(tensor, &one) {
                return Elements { bytes: little_endian(one, tensor.dtype()), everywhere: true };
            }
        }
        let mut bytes = Vec::with_capacity(tensor.numel() * size);
        gather(tensor, &mut bytes);
        Elements { bytes: little_endian(bytes, tensor.dtype()), everywhere: false }
    }

    /// The tensor of type `ty` with these elements. It takes no more memory than they do.
    pub fn into_tensor(self, ty: &Type) -> Result<Tensor> {
        let dims = ty.sizes().filter(|_| !ty.is_list()).ok_or_else(|| {
            Error::program(format!("a constant cannot have the type {ty}"))
                .remedy("the type of a constant is a tensor type with plain sizes")
        })?;
        let (dtype, size) = (ty.dtype(), ty.dtype().size());
        let n_expected = if self.everywhere { Some(1) } else { ty.numel() };
        let n_bytes = n_expected.and_then(|n| n.checked_mul(size));
        if n_bytes != Some(self.bytes.len()) {
            let found = count(self.bytes.len() / size, "element");
            return Err(Error::program(format!("{found} cannot be a constant of type {ty}")));
        }
        match self.everywhere {
            true => from_bytes(dtype, &[], self.bytes)?.expand(&dims),
            false => from_bytes(dtype, &dims, self.bytes),
        }
    }
}

/// A view of the first element.
fn first(tensor: &Tensor) -> Tensor {
    let step = |tensor: Tensor, _| tensor.index(0, 0).unwrap_or(tensor);
    (0..tensor.rank()).fold(tensor.clone(), step)
}

fn is_everywhere(tensor: &Tensor, one: &[u8]) -> bool {
    if let Some(bytes) = tensor.as_bytes() {
        return bytes.chunks_exact(one.len()).all(|element| element == one);
    }
    let (Some(&n), Some(&stride)) = (tensor.dims().first(), tensor.strides().first()) else {
        return true;
    };
    // Along an axis of stride 0 all views are the same one.
    let n = if stride == 0 { n.min(1) } else { n };
    (0..n).all(|i| tensor.index(0, i).is_ok_and(|view| is_everywhere(&view, one)))
}

/// Appends the bytes of all elements, in the byte order of the machine.
fn gather(tensor: &Tensor, bytes: &mut Vec<u8>) {
    if let Some(own) = tensor.as_bytes() {
        bytes.extend_from_slice(own);
        return;
    }
    for view in (0..tensor.dims()[0]).filter_map(|i| tensor.index(0, i).ok()) {
        gather(&view, bytes);
    }
}

/// From the byte order of the machine to little-endian, or back.
fn little_endian(mut bytes: Vec<u8>, dtype: DType) -> Vec<u8> {
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(dtype.real().size()).for_each(<[u8]>::reverse);
    }
    bytes
}

fn from_bytes(dtype: DType, dims: &[usize], bytes: Vec<u8>) -> Result<Tensor> {
    if dtype.is_bool() {
        if let Some(byte) = bytes.iter().find(|&&byte| byte > 1) {
            return Err(Error::program(format!("the byte {byte} is not a bool")));
        }
        return Tensor::from_vec(bytes.iter().map(|&byte| byte == 1).collect(), dims);
    }
    let mut tensor = Tensor::empty(dtype, dims)?;
    tensor.as_bytes_mut()?.copy_from_slice(&little_endian(bytes, dtype));
    Ok(tensor)
}
