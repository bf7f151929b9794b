//! Parquet files, and Arrow files of record batches: a field per column.
//!
//! Numbers are fields without axes, lists of numbers have one axis, and text and binary are bytes. Row groups,
//! or record batches, are decoded whole and kept in the cache. The setting `columns` chooses columns by name.

mod values;

use std::io::{Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::columns::{Columns, Wanted};
use super::records::Cache;
use super::settings::Given;
use super::{Input, Rows};
use crate::Field;
use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::file::reader::{ChunkReader, Length};
use arrow_array::RecordBatch;
use fluvial_tensor::{Error, Result};
use values::Values;

/// An open file.
pub(super) struct Table {
    input: Arc<Input>,
    is_parquet: bool,
    fields: Vec<Field>,
    /// The number of each field's column.
    columns: Vec<usize>,
    /// How many rows there are up to the end of each group.
    ends: Vec<u64>,
    cache: Arc<Cache>,
    file: u64,
}

/// The rows of a group, decoded.
struct Group(Vec<Values>);

impl Table {
    pub fn open(
        input: Input,
        given: &Given<'_>,
        is_parquet: bool,
        cache: &Arc<Cache>,
    ) -> Result<Table> {
        let input = Arc::new(input);
        let (schema, counts) = guarded(&input, || match is_parquet {
            true => {
                let file = ParquetRecordBatchReaderBuilder::try_new(Source(input.clone(), 0))
                    .map_err(|error| error.to_string())?;
                let groups = file.metadata().row_groups();
                let counts: Vec<i64> = groups.iter().map(|group| group.num_rows()).collect();
                Ok((file.schema().clone(), counts))
            }
            false => {
                let mut file = arrow_file(&input)?;
                let schema = file.schema();
                let counts = file.by_ref().map(|batch| batch.map(|batch| batch.num_rows() as i64));
                let counts = counts.collect::<Result<Vec<i64>, _>>();
                Ok((schema, counts.map_err(|error| error.to_string())?))
            }
        })?;
        let columns = match given.texts("columns")? {
            None => (0..schema.fields().len()).collect(),
            Some(names) => {
                let find = |name: &Arc<str>| {
                    schema.index_of(name).map_err(|_| {
                        let known: Vec<&String> =
                            schema.fields().iter().map(|f| f.name()).collect();
                        let known = known.iter().take(20).map(|name| name.as_str());
                        input
                            .fault(format!("there is no column `{name}`"))
                            .remedy(format!("it has: {}", known.collect::<Vec<_>>().join(", ")))
                    })
                };
                names.iter().map(find).collect::<Result<Vec<usize>>>()?
            }
        };
        let field = |&column: &usize| {
            let field = schema.field(column);
            let ty = values::ty(field.data_type(), column).ok_or_else(|| {
                let (name, ty) = (field.name(), field.data_type());
                input
                    .fault(format!("the column `{name}` is {ty}, which no tensor holds"))
                    .remedy("choose other columns by `columns`")
            })?;
            Ok(Field { name: field.name().as_str().into(), ty: ty? })
        };
        let fields = columns.iter().map(field).collect::<Result<Vec<Field>>>()?;
        if fields.is_empty() {
            return Err(input.fault("there is no column in it"));
        }
        let mut ends = Vec::new();
        let mut end = 0_u64;
        for count in counts {
            end = u64::try_from(count).ok().and_then(|count| end.checked_add(count)).ok_or_else(
                || input.fault(format!("row group {} claims {count} rows", ends.len())),
            )?;
            ends.push(end);
        }
        let (cache, file) = (cache.clone(), Cache::next_file());
        Ok(Table { input, is_parquet, fields, columns, ends, cache, file })
    }

    /// Decodes a row group or a record batch.
    fn read(&self, number: usize) -> Result<Group> {
        let batches = guarded(&self.input, || self.batches(number))
            .map_err(|error| self.at(number, error))?;
        let mut group: Vec<Values> =
            self.fields.iter().map(|field| Values::new(field.ty)).collect();
        for batch in &batches {
            for (i, values) in group.iter_mut().enumerate() {
                // Parquet gives the chosen columns in the order of the file.
                let place = match self.is_parquet {
                    true => self.columns.iter().filter(|&&other| other < self.columns[i]).count(),
                    false => self.columns[i],
                };
                let added = values.add(batch.column(place));
                added.map_err(|what| {
                    let name = &self.fields[i].name;
                    self.at(number, self.input.fault(format!("column `{name}`: {what}")))
                })?;
            }
        }
        let first = if number == 0 { 0 } else { self.ends[number - 1] };
        let expected = self.ends[number] - first;
        match group.iter().all(|values| values.n_rows as u64 == expected) {
            true => Ok(Group(group)),
            false => {
                Err(self.at(number, self.input.fault(format!("{expected} rows are expected"))))
            }
        }
    }

    fn batches(&self, number: usize) -> Result<Vec<RecordBatch>, String> {
        if !self.is_parquet {
            let mut file = arrow_file(&self.input)?;
            file.set_index(number).map_err(|error| error.to_string())?;
            let batch = file.next().ok_or("the record batch is missing")?;
            return Ok(vec![batch.map_err(|error| error.to_string())?]);
        }
        let file = ParquetRecordBatchReaderBuilder::try_new(Source(self.input.clone(), 0))
            .map_err(|error| error.to_string())?;
        let chosen = ProjectionMask::roots(file.parquet_schema(), self.columns.iter().copied());
        let reader = file.with_row_groups(vec![number]).with_projection(chosen).build();
        let batches = reader.map_err(|error| error.to_string())?;
        batches.collect::<Result<Vec<RecordBatch>, _>>().map_err(|error| error.to_string())
    }

    fn at(&self, group: usize, error: Error) -> Error {
        let what = if self.is_parquet { "row group" } else { "record batch" };
        error.note(format!("in {what} {group}"))
    }
}

fn arrow_file(input: &Arc<Input>) -> Result<arrow_ipc::reader::FileReader<Source>, String> {
    let reader = arrow_ipc::reader::FileReader::try_new(Source(input.clone(), 0), None);
    reader.map_err(|error| error.to_string())
}

/// Runs code of other crates on bytes that nobody vouches for: also its panics become errors.
fn guarded<T>(input: &Input, run: impl FnOnce() -> Result<T, String>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result.map_err(|what| input.fault(what)),
        Err(_) => Err(input.fault("it is damaged in a way that its reader does not expect")),
    }
}

/// An input at a place, for the traits of the readers.
#[derive(Clone)]
struct Source(Arc<Input>, u64);

impl Read for Source {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.len().saturating_sub(self.1).min(to.len() as u64) as usize;
        self.0.read_at(self.1, &mut to[..count]).map_err(std::io::Error::other)?;
        self.1 += count as u64;
        Ok(count)
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let place = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.0.len().checked_add_signed(by),
            SeekFrom::Current(by) => self.1.checked_add_signed(by),
        };
        self.1 = place.ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(self.1)
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for Source {
    type T = std::io::BufReader<Source>;

    fn get_read(&self, start: u64) -> ::parquet::errors::Result<Self::T> {
        Ok(std::io::BufReader::new(Source(self.0.clone(), start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ::parquet::errors::Result<bytes::Bytes> {
        let bytes = self.0.take(start, length as u64);
        let bytes =
            bytes.map_err(|error| ::parquet::errors::ParquetError::External(error.into()))?;
        Ok(bytes.into())
    }
}

impl Rows for Table {
    fn name(&self) -> &str {
        self.input.name()
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn len(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    fn fill(&self, wanted: &[Wanted], out: &mut Columns) -> Result<()> {
        let find = |wanted: &Wanted| {
            let group = self.ends.partition_point(|&end| end <= wanted.number);
            let first = if group == 0 { 0 } else { self.ends[group - 1] };
            (group, (wanted.number - first) as usize, wanted.row)
        };
        let mut places: Vec<(usize, usize, usize)> = wanted.iter().map(find).collect();
        places.sort_unstable();
        for same in places.chunk_by(|a, b| a.0 == b.0) {
            let number = same[0].0;
            let kept = self.cache.get::<Group>(self.file, [number].into_iter()).pop().flatten();
            let group = match kept {
                Some(group) => group,
                None => {
                    let group = Arc::new(self.read(number)?);
                    let bytes = group.0.iter().map(Values::memory).sum();
                    self.cache.put(self.file, number, &group, bytes);
                    group
                }
            };
            for (field, values) in group.0.iter().enumerate() {
                for &(_, row, to) in same {
                    let (sizes, bytes) = values.row(row);
                    out.put(field, to, sizes.as_slice(), bytes)?;
                }
            }
        }
        Ok(())
    }
}
