//! Tensors as C sees them.

use std::ffi::c_void;
use std::slice;

use fluvial::core::{DType, Error, Result, Tensor};

/// The most axes of a tensor.
pub const MAX_AXES: usize = 8;

/// Elements that somebody owns: one behind the other, the last axis first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct View {
    /// The element type: see `FLUVIAL_F32` and its like.
    pub dtype: i32,
    /// The number of axes.
    pub rank: i32,
    /// The size of each axis.
    pub dims: [i64; MAX_AXES],
    /// The first element.
    pub data: *const c_void,
}

const DTYPES: [DType; 9] = [
    DType::Bool,
    DType::U8,
    DType::I8,
    DType::I32,
    DType::I64,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
];

impl View {
    /// A view of a tensor whose elements are one behind the other, and which outlives it.
    pub fn of(tensor: &Tensor) -> Result<View> {
        if tensor.rank() > MAX_AXES {
            return Err(Error::shape(format!("{} has more than {MAX_AXES} axes", tensor.ty())));
        }
        let mut dims = [0; MAX_AXES];
        dims.iter_mut().zip(tensor.dims()).for_each(|(to, &size)| *to = size as i64);
        let number = DTYPES.iter().position(|&dtype| dtype == tensor.dtype()).ok_or_else(|| {
            Error::dtype(format!("C sees no elements of type {}", tensor.dtype()))
                .remedy("cast in the program to a type that `fluvial.h` names")
        })?;
        let data = tensor.data_ptr().cast();
        Ok(View { dtype: number as i32, rank: tensor.rank() as i32, dims, data })
    }

    /// A tensor with copies of the elements.
    ///
    /// # Safety
    ///
    /// `data` points to as many elements as the sizes say.
    pub unsafe fn copied(&self) -> Result<Tensor> {
        let dtype = usize::try_from(self.dtype).ok().and_then(|number| DTYPES.get(number)).copied();
        let dtype =
            dtype.ok_or_else(|| Error::dtype(format!("{} is no element type", self.dtype)))?;
        let rank = usize::try_from(self.rank).ok().filter(|&rank| rank <= MAX_AXES);
        let rank = rank.ok_or_else(|| Error::shape(format!("{} axes", self.rank)))?;
        let sizes = self.dims[..rank].iter().map(|&size| {
            usize::try_from(size).map_err(|_| Error::shape(format!("a size is {size}")))
        });
        let sizes = sizes.collect::<Result<Vec<usize>>>()?;
        // Bools are made of bytes, of which only 0 and 1 are allowed.
        let of_bytes = if dtype == DType::Bool { DType::U8 } else { dtype };
        let mut tensor = Tensor::zeros(of_bytes, &sizes)?;
        let bytes = tensor.as_bytes_mut()?;
        if !bytes.is_empty() {
            if self.data.is_null() {
                return Err(Error::argument("a null pointer in the place of elements"));
            }
            // SAFETY: by the caller's promise; a null pointer was refused.
            let given = unsafe { slice::from_raw_parts(self.data.cast::<u8>(), bytes.len()) };
            bytes.copy_from_slice(given);
        }
        if dtype == DType::Bool && bytes.iter().any(|&byte| byte > 1) {
            return Err(Error::argument("a bool is neither 0 nor 1"));
        }
        tensor.cast(dtype)
    }
}
