//! Tensors as C sees them.

use std::ffi::c_void;
use std::slice;

use fluvial::core::{DType, Error, Result, Tensor};

/// The most axes of a tensor.
pub const FLUVIAL_MAX_AXES: usize = 8;

/// Bools, of one byte: 0 or 1.
pub const FLUVIAL_BOOL: i32 = 0;
/// Integers of 8 bits without sign.
pub const FLUVIAL_U8: i32 = 1;
/// Integers of 8 bits.
pub const FLUVIAL_I8: i32 = 2;
/// Integers of 32 bits.
pub const FLUVIAL_I32: i32 = 3;
/// Integers of 64 bits.
pub const FLUVIAL_I64: i32 = 4;
/// Floats of 16 bits.
pub const FLUVIAL_F16: i32 = 5;
/// Floats of 16 bits with the range of those of 32.
pub const FLUVIAL_BF16: i32 = 6;
/// Floats of 32 bits.
pub const FLUVIAL_F32: i32 = 7;
/// Floats of 64 bits.
pub const FLUVIAL_F64: i32 = 8;
/// Integers of 16 bits.
pub const FLUVIAL_I16: i32 = 9;
/// Integers of 16 bits without sign.
pub const FLUVIAL_U16: i32 = 10;
/// Integers of 32 bits without sign.
pub const FLUVIAL_U32: i32 = 11;
/// Integers of 64 bits without sign.
pub const FLUVIAL_U64: i32 = 12;
/// Complex numbers: two floats of 32 bits.
pub const FLUVIAL_C64: i32 = 13;
/// Complex numbers: two floats of 64 bits.
pub const FLUVIAL_C128: i32 = 14;
/// Floats of 8 bits, 3 of them after the point.
pub const FLUVIAL_F8E4M3: i32 = 15;
/// Floats of 8 bits, 2 of them after the point.
pub const FLUVIAL_F8E5M2: i32 = 16;

/// Elements that somebody owns: one behind the other, in row-major order.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct View {
    /// The element type: `FLUVIAL_F32` and its like.
    pub dtype: i32,
    /// The number of axes.
    pub rank: i32,
    /// The size of each axis.
    pub dims: [i64; FLUVIAL_MAX_AXES],
    /// The first element.
    pub data: *const c_void,
}

const DTYPES: [(i32, DType); 17] = [
    (FLUVIAL_BOOL, DType::Bool),
    (FLUVIAL_U8, DType::U8),
    (FLUVIAL_I8, DType::I8),
    (FLUVIAL_I32, DType::I32),
    (FLUVIAL_I64, DType::I64),
    (FLUVIAL_F16, DType::F16),
    (FLUVIAL_BF16, DType::BF16),
    (FLUVIAL_F32, DType::F32),
    (FLUVIAL_F64, DType::F64),
    (FLUVIAL_I16, DType::I16),
    (FLUVIAL_U16, DType::U16),
    (FLUVIAL_U32, DType::U32),
    (FLUVIAL_U64, DType::U64),
    (FLUVIAL_C64, DType::C64),
    (FLUVIAL_C128, DType::C128),
    (FLUVIAL_F8E4M3, DType::F8E4M3),
    (FLUVIAL_F8E5M2, DType::F8E5M2),
];

impl View {
    /// A view of a tensor whose elements are one behind the other, and which outlives it.
    pub fn of(tensor: &Tensor) -> Result<View> {
        if tensor.rank() > FLUVIAL_MAX_AXES {
            return Err(Error::shape(format!(
                "{} has more than {FLUVIAL_MAX_AXES} axes",
                tensor.ty()
            )));
        }
        let mut dims = [0; FLUVIAL_MAX_AXES];
        dims.iter_mut().zip(tensor.dims()).for_each(|(to, &size)| *to = size as i64);
        let known = DTYPES.iter().find(|(_, dtype)| *dtype == tensor.dtype());
        let &(dtype, _) = known.ok_or_else(|| {
            Error::dtype(format!("C sees no elements of type {}", tensor.dtype()))
                .remedy("cast in the program to a type that `fluvial.h` names")
        })?;
        let data = tensor.data_ptr().cast();
        Ok(View { dtype, rank: tensor.rank() as i32, dims, data })
    }

    /// A tensor with copies of the elements.
    ///
    /// # Safety
    ///
    /// `data` points to as many elements as the sizes say.
    pub unsafe fn copied(&self) -> Result<Tensor> {
        let known = DTYPES.iter().find(|(number, _)| *number == self.dtype);
        let &(_, dtype) =
            known.ok_or_else(|| Error::dtype(format!("{} is not an element type", self.dtype)))?;
        let rank = usize::try_from(self.rank).ok().filter(|&rank| rank <= FLUVIAL_MAX_AXES);
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
