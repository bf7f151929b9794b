//! What variables are, in Fluid's words.

use fluvial_core::{DType, Error, Result};

use super::generated::{TensorDesc, VarDesc};

/// The numbers of element types, and their names in Fluid.
const DTYPES: [(i32, &str, Option<DType>); 13] = [
    (0, "bool", Some(DType::Bool)),
    (1, "int16", Some(DType::I16)),
    (2, "int32", Some(DType::I32)),
    (3, "int64", Some(DType::I64)),
    (4, "float16", Some(DType::F16)),
    (5, "float32", Some(DType::F32)),
    (6, "float64", Some(DType::F64)),
    (19, "size_t", Some(DType::U64)),
    (20, "uint8", Some(DType::U8)),
    (21, "int8", Some(DType::I8)),
    (22, "bfloat16", Some(DType::BF16)),
    (23, "complex64", None),
    (24, "complex128", None),
];

/// The element type of that number.
pub fn dtype(number: i64) -> Result<DType> {
    match DTYPES.iter().find(|(known, ..)| i64::from(*known) == number) {
        Some((_, _, Some(dtype))) => Ok(*dtype),
        Some((_, name, None)) => Err(Error::dtype(format!("there is no element type {name} here"))
            .remedy(format!("element types are {}", DType::ALL.map(DType::name).join(", ")))),
        None => Err(Error::dtype(format!("{number} is the number of no element type of Fluid's"))),
    }
}

/// What kind of value a variable has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A tensor, perhaps with sequences.
    Tensor,
    /// Rows of a large tensor.
    Rows,
    /// A list of tensors.
    Array,
    /// Lengths of sequences, in descending order.
    Table,
    /// What Fluid's executor needs: lists of feeds and results, scopes, readers.
    Other,
}

pub fn kind(var: &VarDesc) -> Kind {
    match var.r#type.as_ref().map(|ty| ty.r#type) {
        Some(7) => Kind::Tensor,
        Some(8) => Kind::Rows,
        Some(12) => Kind::Table,
        Some(13) => Kind::Array,
        _ => Kind::Other,
    }
}

/// The description of a variable's tensor, and how many levels of sequences it has.
pub fn tensor(var: &VarDesc) -> Option<(&TensorDesc, usize)> {
    let ty = var.r#type.as_ref()?;
    if let Some(rows) = &ty.selected_rows {
        return Some((rows, 0));
    }
    let described = ty.lod_tensor.as_ref().or(ty.tensor_array.as_ref())?;
    let levels = usize::try_from(described.lod_level).unwrap_or(0);
    Some((described.tensor.as_ref()?, levels))
}
