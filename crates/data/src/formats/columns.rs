//! Batches under construction: a tensor per field, filled row by row.

use std::sync::Arc;

use super::Rows;
use crate::Field;
use fluvial_tensor::{Error, Result, Tensor, Type};

/// The tensors of a batch. Each is made when its first row is known, since only then all sizes are.
pub(crate) struct Columns {
    columns: Vec<Column>,
    n_rows: usize,
}

struct Column {
    name: Arc<str>,
    ty: Type,
    tensor: Option<Tensor>,
    row_bytes: usize,
    n_written: usize,
}

impl Columns {
    pub fn new(fields: &[Field], n_rows: usize) -> Columns {
        let column = |field: &Field| Column {
            name: field.name.clone(),
            ty: field.ty,
            tensor: None,
            row_bytes: 0,
            n_written: 0,
        };
        Columns { columns: fields.iter().map(column).collect(), n_rows }
    }

    /// Writes a row from little-endian bytes.
    pub fn put(&mut self, field: usize, row: usize, sizes: &[usize], bytes: &[u8]) -> Result<()> {
        self.fill(field, row, sizes, |to| match to.len() == bytes.len() {
            true => {
                to.copy_from_slice(bytes);
                Ok(())
            }
            false => Err(Error::internal("the bytes of a row do not fit its sizes")),
        })
    }

    /// The bytes of all rows, of which the caller writes `n` rows of these sizes, and the bytes of one. Nothing
    /// if the elements cannot be written as they are stored; then [`Columns::put`] is the way.
    pub fn rows(
        &mut self,
        field: usize,
        sizes: &[usize],
        n: usize,
    ) -> Result<Option<(&mut [u8], usize)>> {
        let n_rows = self.n_rows;
        let column = &mut self.columns[field];
        if column.ty.dtype().is_bool() || cfg!(target_endian = "big") {
            return Ok(None);
        }
        if column.tensor.is_none() {
            column.start(sizes, n_rows)?;
        }
        if column.tensor.as_ref().is_none_or(|tensor| tensor.dims()[1..] != *sizes) {
            return Err(column.differs(sizes));
        }
        column.n_written += n;
        let row_bytes = column.row_bytes;
        let Some(tensor) = column.tensor.as_mut() else { return Ok(None) };
        Ok(Some((tensor.as_bytes_mut()?, row_bytes)))
    }

    /// Lets a function write the little-endian bytes of a row.
    pub fn fill(
        &mut self,
        field: usize,
        row: usize,
        sizes: &[usize],
        write: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let n_rows = self.n_rows;
        let column = &mut self.columns[field];
        if column.tensor.is_none() {
            column.start(sizes, n_rows)?;
        }
        let Some(tensor) = column.tensor.as_mut().filter(|tensor| tensor.dims()[1..] == *sizes)
        else {
            return Err(column.differs(sizes));
        };
        column.n_written += 1;
        let place = row * column.row_bytes..(row + 1) * column.row_bytes;
        if tensor.dtype().is_bool() {
            let mut bytes = vec![0; column.row_bytes];
            write(&mut bytes)?;
            let to = &mut tensor.as_mut_slice::<bool>()?[place];
            to.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte != 0);
            return Ok(());
        }
        let size = tensor.dtype().size();
        let to = &mut tensor.as_bytes_mut()?[place];
        write(to)?;
        if cfg!(target_endian = "big") {
            to.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        Ok(())
    }

    /// The tensors.
    pub fn finish(self) -> Result<Vec<Tensor>> {
        let n_rows = self.n_rows;
        let tensor = |mut column: Column| {
            if n_rows == 0 {
                let sizes: Vec<usize> =
                    column.ty.dims().iter().map(|dim| dim.value().unwrap_or(0)).collect();
                column.start(&sizes, 0)?;
            }
            column
                .tensor
                .filter(|_| column.n_written == n_rows)
                .ok_or_else(|| Error::internal("a row of a batch was not read"))
        };
        self.columns.into_iter().map(tensor).collect()
    }
}

impl Column {
    fn start(&mut self, sizes: &[usize], n_rows: usize) -> Result<()> {
        let fits = |(dim, &size): (&fluvial_tensor::Dim, &usize)| {
            dim.is_symbolic() || dim.value() == Some(size)
        };
        let dims = self.ty.dims();
        if dims.len() != sizes.len() || !dims.iter().zip(sizes).all(fits) {
            return Err(Error::shape(format!(
                "the field `{}` is {}, but a sample has the sizes {sizes:?}",
                self.name, self.ty
            ))
            .remedy("declare sizes that vary as -1, as in `shape=[[-1, 3]]`"));
        }
        let dims: Vec<usize> = [n_rows].iter().chain(sizes).copied().collect();
        let tensor = Tensor::empty(self.ty.dtype(), &dims)?;
        self.row_bytes = tensor.numel().checked_div(n_rows).unwrap_or(0) * self.ty.dtype().size();
        self.tensor = Some(tensor);
        Ok(())
    }

    #[cold]
    fn differs(&self, sizes: &[usize]) -> Error {
        let before = self.tensor.as_ref().map_or(&[][..], |tensor| &tensor.dims()[1..]);
        Error::shape(format!(
            "the field `{}` has the sizes {before:?} and {sizes:?} in samples of one batch",
            self.name
        ))
        .remedy("bucket samples by size, or pad them, before they are put together")
    }
}

/// A sample that is wanted, and the row of the batch where it goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub number: u64,
    pub row: usize,
}

/// Files of samples as one dataset.
pub(crate) struct Table {
    parts: Vec<Box<dyn Rows>>,
    /// Where each part ends.
    ends: Vec<u64>,
    /// As the parts give them, with declared sizes.
    inner: Vec<Field>,
    fields: Vec<Field>,
}

impl Table {
    /// Parts one after another, which must have the same fields; `fields` may give sizes that are left open in
    /// the files, and other sizes for the same number of elements.
    pub fn new(parts: Vec<Box<dyn Rows>>, inner: Vec<Field>, fields: Vec<Field>) -> Result<Table> {
        let mut ends = Vec::new();
        let mut end = 0_u64;
        for part in &parts {
            end = end
                .checked_add(part.len())
                .filter(|&end| end <= i64::MAX as u64)
                .ok_or_else(|| Error::argument("there are too many samples"))?;
            ends.push(end);
        }
        Ok(Table { parts, ends, inner, fields })
    }
}

impl crate::Dataset for Table {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn len(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    fn notes(&self) -> Vec<String> {
        self.parts.iter().flat_map(|part| part.notes()).collect()
    }

    fn gather(&self, numbers: &[u64]) -> Result<Vec<Tensor>> {
        numbers.iter().try_for_each(|&number| self.check(number))?;
        let mut out = Columns::new(&self.inner, numbers.len());
        let mut wanted: Vec<Vec<Wanted>> = vec![Vec::new(); self.parts.len()];
        for (row, &number) in numbers.iter().enumerate() {
            let part = self.ends.partition_point(|&end| end <= number);
            let first = if part == 0 { 0 } else { self.ends[part - 1] };
            wanted[part].push(Wanted { number: number - first, row });
        }
        for (part, wanted) in self.parts.iter().zip(&wanted) {
            if !wanted.is_empty() {
                part.fill(wanted, &mut out)?;
            }
        }
        let shaped = |(tensor, (inner, field)): (Tensor, (&Field, &Field))| {
            if inner.ty == field.ty {
                return Ok(tensor);
            }
            let sizes = field.ty.sizes().unwrap_or_default();
            let dims: Vec<usize> = [numbers.len()].iter().chain(&sizes).copied().collect();
            tensor.reshape(&dims)
        };
        let pairs = self.inner.iter().zip(&self.fields);
        out.finish()?.into_iter().zip(pairs).map(shaped).collect()
    }
}
