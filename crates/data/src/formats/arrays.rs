//! Arrays whose first axis counts the samples: in `.npy`, `.npz` and IDX files.

use std::sync::Arc;

use super::columns::{Columns, Wanted};
use super::declare::stem;
use super::settings::Given;
use super::{Input, Rows};
use crate::{Field, npy};
use fluvial_tensor::{DType, Error, Result, Tensor, Type};

/// Opens `.npy` files: one after another, or with `zip=true` as one field each.
pub(super) fn open_npy(inputs: Vec<Input>, given: &Given<'_>) -> Result<Vec<Box<dyn Rows>>> {
    let zip = given.bool("zip", false)?;
    let columns = inputs.into_iter().map(npy_column).collect::<Result<Vec<Column>>>()?;
    parts(columns, zip)
}

/// A field for each column, or a file for each.
pub(super) fn parts(columns: Vec<Column>, zip: bool) -> Result<Vec<Box<dyn Rows>>> {
    let part = |columns: Vec<Column>| {
        let name = columns.first().map_or(String::new(), |column| column.from.clone());
        Ok(Box::new(Arrays::new(&name, columns)?) as Box<dyn Rows>)
    };
    match zip && !columns.is_empty() {
        true => Ok(vec![part(columns)?]),
        false => columns.into_iter().map(|column| part(vec![column])).collect(),
    }
}

fn npy_column(input: Input) -> Result<Column> {
    let header = npy::Header::read(&mut input.from(0), input.len(), input.name())?;
    let name: Arc<str> = stem(&input).into();
    if header.fortran {
        let array = npy::read(&mut input.from(0), input.len(), input.name())?;
        return Column::of_tensor(name, &array, input.name());
    }
    let input = Arc::new(input);
    Column::of_input(name, input, header.len, header.dtype, &header.sizes)
}

/// An array.
pub(super) struct Column {
    pub field: Field,
    /// The file, for errors.
    from: String,
    source: Source,
    n_rows: u64,
    row_bytes: usize,
    sizes: Vec<usize>,
    /// Whether the bytes of each element are in the other order.
    pub swap: bool,
}

enum Source {
    Tensor(Tensor),
    /// The elements start at a byte of a file.
    Input(Arc<Input>, u64),
}

impl Column {
    pub fn of_tensor(name: Arc<str>, array: &Tensor, from: &str) -> Result<Column> {
        let array = array.contiguous()?;
        let mut column = Column::new(name, array.dtype(), array.dims(), from)?;
        column.source = Source::Tensor(array);
        Ok(column)
    }

    /// An array whose elements lie at a byte of a file.
    pub fn of_input(
        name: Arc<str>,
        input: Arc<Input>,
        start: u64,
        dtype: DType,
        sizes: &[usize],
    ) -> Result<Column> {
        let mut column = Column::new(name, dtype, sizes, input.name())?;
        let bytes = column.n_rows.checked_mul(column.row_bytes as u64);
        let left = input.len().saturating_sub(start);
        if bytes.is_none_or(|bytes| bytes > left) {
            return Err(input.fault(format!(
                "elements of the sizes {sizes:?} are expected at byte {start}, but {left} bytes are left"
            )));
        }
        column.source = Source::Input(input, start);
        Ok(column)
    }

    fn new(name: Arc<str>, dtype: DType, sizes: &[usize], from: &str) -> Result<Column> {
        let wrong = |what: &str| Error::shape(format!("`{from}`: {what}"));
        let (&n_rows, sizes) = sizes
            .split_first()
            .ok_or_else(|| wrong("a single number has no axis that counts samples"))?;
        let row_bytes = sizes
            .iter()
            .try_fold(dtype.size(), |bytes, &size| bytes.checked_mul(size))
            .filter(|&bytes| bytes > 0)
            .ok_or_else(|| wrong(&format!("samples of the sizes {sizes:?} cannot be read")))?;
        Ok(Column {
            field: Field { name, ty: Type::of(dtype, sizes)? },
            from: from.into(),
            source: Source::Tensor(Tensor::empty(dtype, &[0])?),
            n_rows: n_rows as u64,
            row_bytes,
            sizes: sizes.to_vec(),
            swap: false,
        })
    }

    fn read(&self, number: u64, to: &mut [u8]) -> Result<()> {
        match &self.source {
            Source::Input(input, start) => {
                input.read_at(start + number * self.row_bytes as u64, to)?;
            }
            Source::Tensor(tensor) => {
                let bytes = tensor
                    .as_bytes()
                    .ok_or_else(|| Error::internal("an array is not contiguous"))?;
                let at = number as usize * self.row_bytes;
                to.copy_from_slice(&bytes[at..at + self.row_bytes]);
                if cfg!(target_endian = "big") {
                    to.chunks_exact_mut(tensor.dtype().align()).for_each(<[u8]>::reverse);
                }
            }
        }
        if self.swap {
            to.chunks_exact_mut(self.field.ty.dtype().align()).for_each(<[u8]>::reverse);
        }
        Ok(())
    }
}

/// Arrays of the same length.
pub(super) struct Arrays {
    name: String,
    fields: Vec<Field>,
    columns: Vec<Column>,
    n_rows: u64,
}

impl Arrays {
    pub fn new(name: &str, columns: Vec<Column>) -> Result<Arrays> {
        let n_rows = columns.first().map_or(0, |column| column.n_rows);
        if let Some(other) = columns.iter().find(|column| column.n_rows != n_rows) {
            return Err(Error::shape(format!(
                "`{}` has {n_rows} samples in `{}`, but {} in `{}` of `{}`",
                columns[0].from, columns[0].field.name, other.n_rows, other.field.name, other.from
            )));
        }
        let fields = columns.iter().map(|column| column.field.clone()).collect();
        Ok(Arrays { name: name.into(), fields, columns, n_rows })
    }
}

impl Rows for Arrays {
    fn name(&self) -> &str {
        &self.name
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn len(&self) -> u64 {
        self.n_rows
    }

    fn fill(&self, wanted: &[Wanted], out: &mut Columns) -> Result<()> {
        for (i, column) in self.columns.iter().enumerate() {
            for wanted in wanted {
                out.fill(i, wanted.row, &column.sizes, |to| column.read(wanted.number, to))?;
            }
        }
        Ok(())
    }
}
