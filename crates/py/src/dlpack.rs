//! DLPack: tensors to and from other libraries, over the same memory.
//!
//! The structs are those of `dlpack.h`, versions 0.8 and 1.0.

use std::ffi::{CStr, c_void};
use std::ptr;

use fluvial::core::{DType, Error, Tensor, Var};
use fluvial::tensor::Kind;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::errors;

/// The device type and number of main memory.
pub const CPU: (i32, i32) = (1, 0);

const READ_ONLY: u64 = 1;
const COPIED: u64 = 2;
const PLAIN: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct ManagedVersioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: DlTensor,
}

/// What an exported struct points to.
struct Context {
    _var: Var,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// A capsule over the memory of a value.
pub fn export<'py>(
    py: Python<'py>,
    var: &Var,
    max_version: Option<(u32, u32)>,
    device: Option<(i32, i32)>,
    copy: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if device.is_some_and(|device| device != CPU) {
        return Err(PyBufferError::new_err(
            "tensors live in main memory\n  remedy: ask for the CPU",
        ));
    }
    let tensor = var.tensor().map_err(|error| errors::raise(py, error))?;
    let var = match copy {
        true => Var::new(tensor.copy().map_err(|error| errors::raise(py, error))?),
        false => var.clone(),
    };
    let tensor = var.tensor().map_err(|error| errors::raise(py, error))?;
    let context = Box::new(Context {
        shape: tensor.dims().iter().map(|&dim| dim as i64).collect(),
        strides: tensor.strides().iter().map(|&stride| stride as i64).collect(),
        _var: var.clone(),
    });
    let (code, bits) = code_of(tensor.dtype());
    let described = DlTensor {
        data: tensor.data_ptr().cast_mut().cast(),
        device_type: CPU.0,
        device_id: CPU.1,
        ndim: tensor.rank() as i32,
        code,
        bits,
        lanes: 1,
        shape: context.shape.as_ptr().cast_mut(),
        strides: context.strides.as_ptr().cast_mut(),
        byte_offset: 0,
    };
    let context = Box::into_raw(context).cast::<c_void>();
    // SAFETY: the capsule owns the struct until a consumer renames it, who calls the deleter then.
    unsafe {
        let capsule = if max_version.is_some_and(|(major, _)| major >= 1) {
            let managed = Box::into_raw(Box::new(ManagedVersioned {
                major: 1,
                minor: 0,
                context,
                deleter: Some(delete_versioned),
                flags: if copy { COPIED } else { READ_ONLY },
                tensor: described,
            }));
            ffi::PyCapsule_New(managed.cast(), VERSIONED.as_ptr(), Some(drop_versioned))
        } else {
            let managed = Box::into_raw(Box::new(Managed {
                tensor: described,
                context,
                deleter: Some(delete),
            }));
            ffi::PyCapsule_New(managed.cast(), PLAIN.as_ptr(), Some(drop_plain))
        };
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: `export` made both boxes, and a deleter is called once.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Context>()));
    }
}

unsafe extern "C" fn delete_versioned(managed: *mut ManagedVersioned) {
    // SAFETY: as in `delete`.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Context>()));
    }
}

/// Frees the struct of a capsule that nobody has consumed.
unsafe extern "C" fn drop_plain(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter passes a capsule; its name says whether it still owns its struct.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, PLAIN.as_ptr()) == 1 {
            delete(ffi::PyCapsule_GetPointer(capsule, PLAIN.as_ptr()).cast());
        }
    }
}

unsafe extern "C" fn drop_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as in `drop_plain`.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast());
        }
    }
}

/// A struct taken over from a capsule.
enum Owner {
    Plain(*mut Managed),
    Versioned(*mut ManagedVersioned),
}

// SAFETY: DLPack lets any thread read the memory and call the deleter.
unsafe impl Send for Owner {}
// SAFETY: as above; nothing is written.
unsafe impl Sync for Owner {}

impl Drop for Owner {
    fn drop(&mut self) {
        // SAFETY: the struct is valid until its deleter is called, which only happens here. Some
        // producers touch Python objects in it.
        Python::attach(|_| unsafe {
            match *self {
                Owner::Plain(managed) => {
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
                Owner::Versioned(managed) => {
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
            }
        });
    }
}

impl Owner {
    fn tensor(&self) -> &DlTensor {
        // SAFETY: the struct is valid as long as the owner lives.
        unsafe {
            match *self {
                Owner::Plain(managed) => &(*managed).tensor,
                Owner::Versioned(managed) => &(*managed).tensor,
            }
        }
    }
}

/// The tensor of an object with `__dlpack__`.
pub fn import(object: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<Tensor> {
    let py = object.py();
    let device: (i32, i32) = match object.call_method0("__dlpack_device__") {
        Ok(device) => device.extract()?,
        Err(_) if !object.hasattr("__dlpack__")? => {
            let class = object.get_type();
            let error =
                Error::new(fluvial::core::ErrorKind::DType, format!("{class} has no `__dlpack__`"));
            return Err(errors::raise(py, error.remedy("use `fl.tensor` or `fl.from_numpy`")));
        }
        Err(error) => return Err(error),
    };
    // Pinned memory of other devices is main memory, too.
    if ![1, 3, 11].contains(&device.0) {
        let error =
            Error::argument(format!("the array is on device {device:?}, not in main memory"));
        return Err(errors::raise(py, error.remedy("move it to the CPU first")));
    }
    let keywords = pyo3::types::PyDict::new(py);
    keywords.set_item("max_version", (1, 0))?;
    let capsule = match object.call_method("__dlpack__", (), Some(&keywords)) {
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyTypeError>(py) => {
            object.call_method0("__dlpack__")?
        }
        other => other?,
    };
    let owner = take(&capsule)?;
    let packed = borrow(owner).map_err(|error| errors::raise(py, error))?;
    let (tensor, is_copy) = packed;
    match (copy, is_copy) {
        (Some(false), true) => {
            let error = Error::argument("bools of another library have to be copied");
            Err(errors::raise(py, error.remedy("leave `copy` out")))
        }
        (Some(true), false) => tensor.copy().map_err(|error| errors::raise(py, error)),
        _ => Ok(tensor),
    }
}

fn take(capsule: &Bound<'_, PyAny>) -> PyResult<Owner> {
    let raw = capsule.as_ptr();
    // SAFETY: the pointers are what the names of the capsule promise, and renaming it says that the
    // struct is ours now.
    unsafe {
        if ffi::PyCapsule_IsValid(raw, VERSIONED.as_ptr()) == 1 {
            let managed = ffi::PyCapsule_GetPointer(raw, VERSIONED.as_ptr());
            ffi::PyCapsule_SetName(raw, c"used_dltensor_versioned".as_ptr());
            return Ok(Owner::Versioned(managed.cast()));
        }
        if ffi::PyCapsule_IsValid(raw, PLAIN.as_ptr()) == 1 {
            let managed = ffi::PyCapsule_GetPointer(raw, PLAIN.as_ptr());
            ffi::PyCapsule_SetName(raw, c"used_dltensor".as_ptr());
            return Ok(Owner::Plain(managed.cast()));
        }
    }
    Err(PyBufferError::new_err("`__dlpack__` gave no capsule of a tensor, or one that was used"))
}

/// A tensor over the memory, and whether it is a copy.
fn borrow(owner: Owner) -> fluvial::core::Result<(Tensor, bool)> {
    let described = owner.tensor();
    let n = usize::try_from(described.ndim).unwrap_or(0);
    // SAFETY: shape and strides have `ndim` elements; strides may be null.
    let (dims, strides) = unsafe {
        let dims: Vec<usize> = (0..n).map(|i| *described.shape.add(i) as usize).collect();
        let strides: Vec<isize> = match described.strides.is_null() {
            false => (0..n).map(|i| *described.strides.add(i) as isize).collect(),
            true => {
                let packed = |i: usize| dims[i + 1..].iter().product::<usize>() as isize;
                (0..n).map(packed).collect()
            }
        };
        (dims, strides)
    };
    let dtype = dtype_of(described)?;
    let is_empty = dims.contains(&0);
    let data = match is_empty {
        true => ptr::null(),
        // SAFETY: the producer promises that the first element lies there.
        false => unsafe { described.data.cast::<u8>().add(described.byte_offset as usize) },
    };
    let as_bytes = if dtype == DType::Bool { DType::U8 } else { dtype };
    // SAFETY: the memory is valid until the deleter is called, which the owner does when dropped.
    // That nobody writes it is asked of callers.
    let tensor = unsafe { Tensor::from_owner(as_bytes, &dims, &strides, data, Box::new(owner)) }?;
    if dtype != DType::Bool {
        return Ok((tensor, false));
    }
    let bools = tensor.to_vec::<u8>()?.into_iter().map(|byte| byte != 0).collect();
    Ok((Tensor::from_vec::<bool>(bools, &dims)?, true))
}

fn dtype_of(described: &DlTensor) -> fluvial::core::Result<DType> {
    let found = DType::ALL
        .into_iter()
        .find(|dtype| code_of(*dtype) == (described.code, described.bits) && described.lanes == 1);
    found.ok_or_else(|| {
        let DlTensor { code, bits, lanes, .. } = described;
        Error::new(
            fluvial::core::ErrorKind::DType,
            format!("there is no element type of DLPack's code {code} with {bits} bits and {lanes} lanes"),
        )
        .remedy("convert the array first, for example to float32")
    })
}

fn code_of(dtype: DType) -> (u8, u8) {
    let code = match dtype.kind() {
        Kind::Signed => 0,
        Kind::Unsigned => 1,
        Kind::Float if dtype == DType::BF16 => 4,
        Kind::Float if dtype == DType::F8E4M3 => 10,
        Kind::Float if dtype == DType::F8E5M2 => 12,
        Kind::Float => 2,
        Kind::Bool => 6,
        Kind::Complex => 5,
    };
    (code, dtype.size() as u8 * 8)
}
