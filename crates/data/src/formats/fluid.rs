//! Fluid's `recordio` files, in both dialects.
//!
//! A file is a sequence of chunks: a header of five little-endian `u32`, and a payload, which holds records with
//! their lengths. The two dialects have the numbers of the header in another order and frame snappy in another
//! way; which one a file has is found from its first chunk.
//!
//! A record that consists of tensors, as Fluid writes them, gives a field per tensor. Fluid usually puts a whole
//! batch into a record: with `split=true`, each row of it is a sample, or each sequence, if the tensor has
//! sequences (LoD). If `split` is not given, it is so if the declared shapes lack the first axis, or if the first
//! record has several sequences. Any other record is one field of bytes.

mod chunks;
mod tensor;
mod unpack;

use std::sync::Arc;

use super::columns::{Columns, Wanted};
use super::records::Cache;
use super::settings::{Declared, Given};
use super::{Input, Rows};
use crate::Field;
use chunks::{Chunk, Place};
use fluvial_tensor::{DType, Dim, Error, Result, Type};
use tensor::LodTensor;

pub(crate) use chunks::MAGIC;

/// An open file.
pub(crate) struct Fluid {
    input: Input,
    fields: Vec<Field>,
    chunks: Vec<Place>,
    /// How many samples there are up to the end of each chunk.
    ends: Vec<u64>,
    /// Whether records hold tensors, and not just bytes.
    has_tensors: bool,
    /// Whether a record holds several samples.
    split: bool,
    cache: Arc<Cache>,
    file: u64,
}

impl Fluid {
    pub fn open(
        input: Input,
        given: &Given<'_>,
        declared: &Declared,
        cache: &Arc<Cache>,
    ) -> Result<Fluid> {
        let chunks = chunks::scan(&input)?;
        let mut file = Fluid {
            input,
            fields: Vec::new(),
            chunks,
            ends: Vec::new(),
            has_tensors: false,
            split: false,
            cache: cache.clone(),
            file: Cache::next_file(),
        };
        let Some(number) = file.chunks.iter().position(|place| place.n_records > 0) else {
            return Err(file
                .input
                .fault("there is no record, so nothing says what one consists of"));
        };
        let chunk = file.read(number)?;
        let first = tensor::parse(chunk.record(0));
        file.has_tensors = first.is_some();
        if let Some(first) = &first {
            file.split = match given.get("split") {
                Some(_) => given.bool("split", false)?,
                None => holds_batches(first, declared),
            };
        }
        file.fields = file.infer(number, &chunk, declared)?;
        let mut end = 0_u64;
        for number in 0..file.chunks.len() {
            end += match file.split {
                true => file.read(number)?.n_samples(),
                false => u64::from(file.chunks[number].n_records),
            };
            file.ends.push(end);
        }
        Ok(file)
    }

    /// Reads a chunk; in files of batches also finds the samples in each record.
    fn read(&self, number: usize) -> Result<Chunk> {
        let mut chunk = Chunk::read(&self.input, number, &self.chunks[number])?;
        if self.split {
            let mut end = 0;
            for record in 0..chunk.n_records() {
                let tensors = self.tensors(number, &chunk, record)?;
                let counts: Result<Vec<usize>> = tensors.iter().map(LodTensor::n_parts).collect();
                let counts = counts.map_err(|error| self.at(number, record, &error.to_string()))?;
                if counts.iter().any(|&count| count != counts[0]) {
                    let what = format!("its tensors hold {counts:?} samples");
                    return Err(self.at(number, record, &what));
                }
                end += counts[0] as u64;
                chunk.ends.push(end);
            }
        }
        Ok(chunk)
    }

    fn tensors<'a>(
        &self,
        number: usize,
        chunk: &'a Chunk,
        record: usize,
    ) -> Result<Vec<LodTensor<'a>>> {
        let tensors = tensor::parse(chunk.record(record)).filter(|tensors| !tensors.is_empty());
        tensors
            .ok_or_else(|| self.at(number, record, "it does not consist of tensors, as others do"))
    }

    fn at(&self, chunk: usize, record: usize, what: &str) -> Error {
        let at = self.chunks[chunk].payload.start;
        self.input.fault(format!("chunk {chunk}, byte {at}, record {record}: {what}"))
    }

    /// The fields from the records of a chunk: sizes that differ between them vary, and so do those that are
    /// declared so.
    fn infer(&self, number: usize, chunk: &Chunk, declared: &Declared) -> Result<Vec<Field>> {
        if !self.has_tensors {
            let ty = Type::new(DType::U8, &[Dim::symbol("length")?])?;
            return Ok(vec![Field { name: "0".into(), ty }]);
        }
        let mut found: Vec<(DType, Vec<Option<usize>>)> = Vec::new();
        for record in 0..chunk.n_records() {
            let tensors = self.tensors(number, chunk, record)?;
            if record > 0 && tensors.len() != found.len() {
                let what = format!("it has {} tensors, others have {}", tensors.len(), found.len());
                return Err(self.at(number, record, &what));
            }
            for (i, tensor) in tensors.iter().enumerate() {
                let mut sizes = tensor.part_sizes(self.split);
                if self.split && tensor.has_sequences() {
                    sizes[0] = None;
                }
                match found.get_mut(i) {
                    None => found.push((tensor.dtype, sizes)),
                    Some((dtype, before))
                        if *dtype == tensor.dtype && before.len() == sizes.len() =>
                    {
                        before.iter_mut().zip(&sizes).for_each(|(a, b)| {
                            *a = a.filter(|_| *a == *b);
                        });
                    }
                    Some(_) => {
                        let what = format!("tensor {i} has another element type or number of axes");
                        return Err(self.at(number, record, &what));
                    }
                }
            }
        }
        let field = |(i, (dtype, sizes)): (usize, (DType, Vec<Option<usize>>))| {
            let varies = |axis: usize| {
                let shape = declared.shapes.as_ref().and_then(|shapes| shapes.get(i));
                shape.and_then(|shape| shape.get(axis)).is_some_and(|dim| dim.is_symbolic())
            };
            let dim = |(axis, size): (usize, Option<usize>)| match size.filter(|_| !varies(axis)) {
                Some(size) => Ok(Dim::size(size)),
                None => Dim::symbol(&format!("size{i}_{axis}")),
            };
            let dims = sizes.into_iter().enumerate().map(dim).collect::<Result<Vec<Dim>>>()?;
            Ok(Field { name: i.to_string().into(), ty: Type::new(dtype, &dims)? })
        };
        found.into_iter().enumerate().map(field).collect()
    }

    /// Copies one sample of a chunk into a row of a batch.
    fn copy(
        &self,
        number: usize,
        chunk: &Chunk,
        sample: u64,
        row: usize,
        out: &mut Columns,
    ) -> Result<()> {
        let (record, part) = chunk.locate(sample, self.split);
        if !self.has_tensors {
            let bytes = chunk.record(record);
            return out.put(0, row, &[bytes.len()], bytes);
        }
        let tensors = self.tensors(number, chunk, record)?;
        let dtypes = tensors.iter().map(|tensor| tensor.dtype);
        if !dtypes.eq(self.fields.iter().map(|field| field.ty.dtype())) {
            let what = "it has other tensors than the first record";
            return Err(self.at(number, record, what));
        }
        for (field, tensor) in tensors.iter().enumerate() {
            let put = match self.split {
                true => {
                    tensor.part(part).and_then(|(sizes, bytes)| out.put(field, row, &sizes, bytes))
                }
                false if tensor.n_sequences() > 1 => {
                    return Err(self
                        .at(number, record, "it holds several sequences (LoD)")
                        .remedy("give `split=true` for a sample per sequence"));
                }
                false => out.put(field, row, &tensor.sizes, tensor.data),
            };
            put.map_err(|error| error.note(self.at(number, record, "here").to_string()))?;
        }
        Ok(())
    }
}

/// Whether the declared shapes are those of the rows, or sequences, of the tensors.
fn holds_batches(tensors: &[LodTensor<'_>], declared: &Declared) -> bool {
    if tensors.iter().any(|tensor| tensor.n_sequences() > 1) {
        return true;
    }
    let Some(shapes) = declared.shapes.as_ref().filter(|shapes| shapes.len() == tensors.len())
    else {
        return false;
    };
    let is_row = |(tensor, shape): (&LodTensor<'_>, &Vec<Dim>)| {
        !tensor.has_sequences() && tensor.sizes.len() == shape.len() + 1
    };
    tensors.iter().zip(shapes).any(is_row)
}

impl Rows for Fluid {
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
            let chunk = self.ends.partition_point(|&end| end <= wanted.number);
            let first = if chunk == 0 { 0 } else { self.ends[chunk - 1] };
            (chunk, wanted.number - first, wanted.row)
        };
        let mut places: Vec<(usize, u64, usize)> = wanted.iter().map(find).collect();
        places.sort_unstable();
        for same in places.chunk_by(|a, b| a.0 == b.0) {
            let number = same[0].0;
            let kept = self.cache.get::<Chunk>(self.file, [number].into_iter()).pop().flatten();
            let chunk = match kept {
                Some(chunk) => chunk,
                None => {
                    let chunk = Arc::new(self.read(number)?);
                    self.cache.put(self.file, number, &chunk, chunk.memory());
                    chunk
                }
            };
            for &(_, sample, row) in same {
                self.copy(number, &chunk, sample, row, out)?;
            }
        }
        Ok(())
    }
}
