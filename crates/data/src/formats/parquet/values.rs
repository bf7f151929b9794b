//! Columns of Arrow as elements of tensors.

use arrow_array::cast::AsArray;
use arrow_array::types as arrow;
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::DataType;
use fluvial_tensor::{DType, Dim, Result, Type};

/// The element type for numbers, if there is one that holds them.
fn dtype(ty: &DataType) -> Option<DType> {
    Some(match ty {
        DataType::Boolean => DType::Bool,
        DataType::UInt8 => DType::U8,
        DataType::UInt16 => DType::U16,
        DataType::UInt32 => DType::U32,
        DataType::UInt64 => DType::U64,
        DataType::Int8 => DType::I8,
        DataType::Int16 => DType::I16,
        DataType::Int32 => DType::I32,
        DataType::Int64 => DType::I64,
        DataType::Float16 => DType::F16,
        DataType::Float32 => DType::F32,
        DataType::Float64 => DType::F64,
        _ => return None,
    })
}

/// The type of a column in each sample, if a tensor can hold it.
pub(super) fn ty(ty: &DataType, column: usize) -> Option<Result<Type>> {
    let varying = |dtype: DType| Type::new(dtype, &[Dim::symbol(&format!("length{column}"))?]);
    match ty {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(varying(DType::U8)),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Some(varying(DType::U8)),
        DataType::List(item) | DataType::LargeList(item) => dtype(item.data_type()).map(varying),
        DataType::FixedSizeList(item, n) if *n > 0 => {
            dtype(item.data_type()).map(|dtype| Type::of(dtype, &[*n as usize]))
        }
        ty => dtype(ty).map(|dtype| Ok(Type::scalar(dtype))),
    }
}

/// The elements of a column, row after row.
pub(super) struct Values {
    ty: Type,
    bytes: Vec<u8>,
    /// For sizes that vary: where each row ends.
    ends: Vec<usize>,
    pub n_rows: usize,
}

impl Values {
    pub fn new(ty: Type) -> Values {
        Values { ty, bytes: Vec::new(), ends: Vec::new(), n_rows: 0 }
    }

    pub fn memory(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<usize>() + 64
    }

    /// The sizes and the bytes of a row.
    pub fn row(&self, row: usize) -> (Vec<usize>, &[u8]) {
        let size = self.ty.dtype().size();
        if let Some(numel) = self.ty.numel() {
            let count = numel * size;
            let sizes = self.ty.sizes().unwrap_or_default().to_vec();
            return (sizes, &self.bytes[row * count..(row + 1) * count]);
        }
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        let bytes = &self.bytes[start..self.ends[row]];
        (vec![bytes.len() / size], bytes)
    }

    /// Adds the rows of an array; the error says what is wrong.
    pub fn add(&mut self, array: &dyn Array) -> Result<(), String> {
        let is_list = self.ty.rank() > 0;
        if is_list && array.null_count() > 0 {
            let row = (0..array.len()).find(|&row| array.is_null(row)).unwrap_or(0);
            return Err(format!("row {row} has no value"));
        }
        self.n_rows += array.len();
        match array.data_type() {
            DataType::Utf8 => {
                self.texts(array.as_string::<i32>().iter().flatten().map(str::as_bytes))
            }
            DataType::LargeUtf8 => {
                self.texts(array.as_string::<i64>().iter().flatten().map(str::as_bytes));
            }
            DataType::Utf8View => {
                self.texts(array.as_string_view().iter().flatten().map(str::as_bytes));
            }
            DataType::Binary => self.texts(array.as_binary::<i32>().iter().flatten()),
            DataType::LargeBinary => self.texts(array.as_binary::<i64>().iter().flatten()),
            DataType::BinaryView => self.texts(array.as_binary_view().iter().flatten()),
            DataType::List(_) => {
                for list in array.as_list::<i32>().iter().flatten() {
                    self.elements(&*list)?;
                    self.ends.push(self.bytes.len());
                }
            }
            DataType::LargeList(_) => {
                for list in array.as_list::<i64>().iter().flatten() {
                    self.elements(&*list)?;
                    self.ends.push(self.bytes.len());
                }
            }
            DataType::FixedSizeList(..) => {
                for list in array.as_fixed_size_list().iter().flatten() {
                    self.elements(&*list)?;
                }
            }
            _ => self.elements(array)?,
        }
        Ok(())
    }

    fn texts<'a>(&mut self, texts: impl Iterator<Item = &'a [u8]>) {
        for text in texts {
            self.bytes.extend_from_slice(text);
            self.ends.push(self.bytes.len());
        }
    }

    fn elements(&mut self, array: &dyn Array) -> Result<(), String> {
        match array.data_type() {
            DataType::Boolean => {
                for value in array.as_boolean() {
                    self.bytes.push(u8::from(value.ok_or("a truth value is missing")?));
                }
                Ok(())
            }
            DataType::UInt8 => self.numbers::<arrow::UInt8Type, 1>(array, None, |v| [v]),
            DataType::Int8 => self.numbers::<arrow::Int8Type, 1>(array, None, i8::to_le_bytes),
            DataType::Int16 => self.numbers::<arrow::Int16Type, 2>(array, None, i16::to_le_bytes),
            DataType::UInt16 => self.numbers::<arrow::UInt16Type, 2>(array, None, u16::to_le_bytes),
            DataType::Int32 => self.numbers::<arrow::Int32Type, 4>(array, None, i32::to_le_bytes),
            DataType::UInt32 => self.numbers::<arrow::UInt32Type, 4>(array, None, u32::to_le_bytes),
            DataType::UInt64 => self.numbers::<arrow::UInt64Type, 8>(array, None, u64::to_le_bytes),
            DataType::Int64 => self.numbers::<arrow::Int64Type, 8>(array, None, i64::to_le_bytes),
            DataType::Float16 => {
                let nan = fluvial_tensor::f16::NAN.to_le_bytes();
                self.numbers::<arrow::Float16Type, 2>(array, Some(nan), |v| v.to_le_bytes())
            }
            DataType::Float32 => {
                let nan = f32::NAN.to_le_bytes();
                self.numbers::<arrow::Float32Type, 4>(array, Some(nan), f32::to_le_bytes)
            }
            DataType::Float64 => {
                let nan = f64::NAN.to_le_bytes();
                self.numbers::<arrow::Float64Type, 8>(array, Some(nan), f64::to_le_bytes)
            }
            other => Err(format!("{other} was not expected")),
        }
    }

    /// Adds numbers. Those that are missing are NaN in floats and an error elsewhere.
    fn numbers<T: ArrowPrimitiveType, const N: usize>(
        &mut self,
        array: &dyn Array,
        missing: Option<[u8; N]>,
        bytes: impl Fn(T::Native) -> [u8; N],
    ) -> Result<(), String> {
        for (row, value) in array.as_primitive::<T>().iter().enumerate() {
            let value = value.map(&bytes).or(missing);
            let value = value.ok_or_else(|| format!("number {row} is missing"))?;
            self.bytes.extend_from_slice(&value);
        }
        Ok(())
    }
}
