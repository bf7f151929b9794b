//! What variables are, in Fluid's words.

use fluvial_core::{DType, Error, Result};

use super::generated::{TensorDesc, VarDesc};

/// Fluid's numbers of element types.
const DTYPES: [(i32, DType); 13] = [
    (0, DType::Bool),
    (1, DType::I16),
    (2, DType::I32),
    (3, DType::I64),
    (4, DType::F16),
    (5, DType::F32),
    (6, DType::F64),
    (19, DType::U64),
    (20, DType::U8),
    (21, DType::I8),
    (22, DType::BF16),
    (23, DType::C64),
    (24, DType::C128),
];

/// The element type of that number.
pub fn dtype(number: i64) -> Result<DType> {
    match DTYPES.iter().find(|(known, _)| i64::from(*known) == number) {
        Some((_, dtype)) => Ok(*dtype),
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
