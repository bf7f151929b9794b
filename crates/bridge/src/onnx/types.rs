//! Types in ONNX's words.

use fluvial_core::{DType, Dim, Error, Result};

use super::generated::tensor_shape_proto::dimension;
use super::generated::type_proto::Value;
use super::generated::{TypeProto, ValueInfoProto};

/// The numbers of element types, and their names in ONNX.
const DTYPES: [(i32, &str, Option<DType>); 23] = [
    (1, "float", Some(DType::F32)),
    (2, "uint8", Some(DType::U8)),
    (3, "int8", Some(DType::I8)),
    (4, "uint16", Some(DType::U16)),
    (5, "int16", Some(DType::I16)),
    (6, "int32", Some(DType::I32)),
    (7, "int64", Some(DType::I64)),
    (8, "string", None),
    (9, "bool", Some(DType::Bool)),
    (10, "float16", Some(DType::F16)),
    (11, "double", Some(DType::F64)),
    (12, "uint32", Some(DType::U32)),
    (13, "uint64", Some(DType::U64)),
    (14, "complex64", Some(DType::C64)),
    (15, "complex128", Some(DType::C128)),
    (16, "bfloat16", Some(DType::BF16)),
    (17, "float8e4m3fn", Some(DType::F8E4M3)),
    (18, "float8e4m3fnuz", None),
    (19, "float8e5m2", Some(DType::F8E5M2)),
    (20, "float8e5m2fnuz", None),
    (21, "uint4", None),
    (22, "int4", None),
    (23, "float4e2m1", None),
];

/// The element type of that number.
pub fn dtype(number: i64) -> Result<DType> {
    let known = DTYPES.iter().find(|(known, ..)| i64::from(*known) == number);
    match known {
        Some((_, _, Some(dtype))) => Ok(*dtype),
        Some((_, name, None)) => Err(Error::dtype(format!("there is no element type {name} here"))
            .remedy(format!("element types are {}", DType::ALL.map(DType::name).join(", ")))),
        None => Err(Error::dtype(format!("{number} is the number of no element type"))),
    }
}

/// The number of an element type.
pub fn number(dtype: DType) -> i32 {
    let known = DTYPES.iter().find(|(_, _, known)| *known == Some(dtype));
    known.map_or(0, |(number, ..)| *number)
}

/// What the file says of an input.
pub enum Said<'a> {
    /// A tensor of this element type, and its sizes if their number is known.
    Tensor(DType, Option<Vec<Size<'a>>>),
    /// Another kind of value.
    Other(&'static str),
}

/// A size in a file.
pub enum Size<'a> {
    /// A number.
    Number(usize),
    /// A name.
    Name(&'a str),
    /// Nothing is known.
    Unknown,
}

/// What a file says of the type of a value.
pub fn said(info: &ValueInfoProto) -> Result<Said<'_>> {
    let Some(TypeProto { value: Some(value) }) = &info.r#type else {
        return Ok(Said::Other("no type"));
    };
    let tensor = match value {
        Value::TensorType(tensor) => tensor,
        Value::SequenceType(_) => return Ok(Said::Other("a sequence")),
        Value::MapType(_) => return Ok(Said::Other("a map")),
        // One that is given is there.
        Value::OptionalType(optional) => match optional.elem_type.as_deref() {
            Some(TypeProto { value: Some(Value::TensorType(tensor)) }) => tensor,
            _ => return Ok(Said::Other("an optional value")),
        },
    };
    let dtype = dtype(tensor.elem_type.into())?;
    let Some(shape) = &tensor.shape else { return Ok(Said::Tensor(dtype, None)) };
    let mut sizes = Vec::new();
    for dim in &shape.dim {
        sizes.push(match &dim.value {
            Some(dimension::Value::DimValue(size)) => match usize::try_from(*size) {
                Ok(size) => Size::Number(size),
                Err(_) => Size::Unknown,
            },
            // Some writers put `?` where they know nothing.
            Some(dimension::Value::DimParam(name)) if name.contains(char::is_alphanumeric) => {
                Size::Name(name)
            }
            _ => Size::Unknown,
        });
    }
    Ok(Said::Tensor(dtype, Some(sizes)))
}

/// A symbol for a name of a file, which may have any characters: those that a symbol cannot have
/// become `_`. `taken` has the names so far, with the symbols for them.
pub fn symbol(name: &str, taken: &mut Vec<(String, Dim)>) -> Result<Dim> {
    if let Some((_, dim)) = taken.iter().find(|(known, _)| known == name) {
        return Ok(*dim);
    }
    let letters = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let plain: String = letters.take(60).collect();
    let plain = plain.trim_matches('_');
    let plain = match plain.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => plain.to_string(),
        _ => format!("n{plain}"),
    };
    let candidates = (0..).map(|i| match i {
        0 => plain.clone(),
        _ => format!("{plain}_{i}"),
    });
    for candidate in candidates {
        let dim = Dim::symbol(&candidate)?;
        if taken.iter().all(|(_, known)| *known != dim) {
            taken.push((name.to_string(), dim));
            return Ok(dim);
        }
    }
    Err(Error::internal("no name is left for a size"))
}
