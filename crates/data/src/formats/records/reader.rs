//! Reading record files.

use std::sync::Arc;

use super::cache::Cache;
use super::chunk::{self, Chunk};
use super::index::Index;
use super::schema::Schema;
use crate::formats::columns::{Columns, Wanted};
use crate::formats::{Input, Rows};
use crate::{Dataset, Field};
use fluvial_tensor::{Result, Tensor};

/// A record file that is open for reading.
///
/// ```
/// use fluvial_data::formats::records::{Options, Records, Writer};
/// use fluvial_data::{Dataset, Field, files};
/// use fluvial_tensor::{Tensor, Type};
/// # let root = std::env::temp_dir().join("fluvial-records-doc");
/// # files::set_root(Some(&root));
/// let fields = vec![Field { name: "x".into(), ty: Type::parse("f32[2]")? }];
/// let mut writer = Writer::create("two.rec", fields, Options::default())?;
/// writer.write(&[&Tensor::from_slice(&[1.0_f32, 2.0], &[2])?])?;
/// writer.write(&[&Tensor::from_slice(&[3.0_f32, 4.0], &[2])?])?;
/// writer.finish()?;
/// let records = Records::open("two.rec")?;
/// assert_eq!(records.len(), 2);
/// assert_eq!(records.gather(&[1, 0])?[0].to_vec::<f32>()?, [3.0, 4.0, 1.0, 2.0]);
/// # std::fs::remove_dir_all(&root).ok();
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
#[derive(Debug)]
pub struct Records {
    input: Input,
    schema: Schema,
    index: Index,
    cache: Arc<Cache>,
    /// This file's number in the cache.
    file: u64,
}

impl Records {
    /// Opens a file, with a cache of its own.
    pub fn open(path: &str) -> Result<Records> {
        Records::with_cache(Input::open(path)?, Cache::new(Cache::DEFAULT))
    }

    /// Opens a file, or bytes, with a cache that it shares with others.
    pub fn with_cache(input: Input, cache: Arc<Cache>) -> Result<Records> {
        let (schema, start) = Schema::read(&input)?;
        let index = Index::read(&input, &schema, start)?;
        Ok(Records { input, schema, index, cache, file: Cache::next_file() })
    }

    /// How many chunks there are.
    pub fn n_chunks(&self) -> usize {
        self.index.places.len()
    }

    /// Reads every chunk; an error for the first that is damaged.
    pub fn verify(&self) -> Result<()> {
        (0..self.n_chunks()).try_for_each(|number| self.read_chunk(number).map(drop))
    }

    fn read_chunk(&self, number: usize) -> Result<Chunk> {
        let (place, first, n_records) = self.index.chunk(number);
        Chunk::read(&self.input, &self.schema, number, place, first, n_records)
    }

    /// The parts of an open file with which a writer continues.
    pub(super) fn into_parts(self) -> (Schema, Index) {
        (self.schema, self.index)
    }
}

/// [`Dataset::notes`] says if the file was not finished, or if its index is damaged.
impl Dataset for Records {
    fn fields(&self) -> &[Field] {
        &self.schema.fields
    }

    fn len(&self) -> u64 {
        self.index.n_records()
    }

    fn notes(&self) -> Vec<String> {
        self.index.note.iter().cloned().collect()
    }

    fn gather(&self, numbers: &[u64]) -> Result<Vec<Tensor>> {
        numbers.iter().try_for_each(|&number| self.check(number))?;
        let wanted: Vec<Wanted> =
            numbers.iter().enumerate().map(|(row, &number)| Wanted { number, row }).collect();
        let mut out = Columns::new(&self.schema.fields, numbers.len());
        self.fill(&wanted, &mut out)?;
        out.finish()
    }
}

impl Rows for Records {
    fn name(&self) -> &str {
        self.input.name()
    }

    fn fields(&self) -> &[Field] {
        &self.schema.fields
    }

    fn len(&self) -> u64 {
        self.index.n_records()
    }

    fn notes(&self) -> Vec<String> {
        Dataset::notes(self)
    }

    fn fill(&self, wanted: &[Wanted], out: &mut Columns) -> Result<()> {
        let ends = &self.index.ends;
        let find = |wanted: &Wanted| {
            let chunk = ends.partition_point(|&end| end <= wanted.number);
            let first = if chunk == 0 { 0 } else { ends[chunk - 1] };
            (chunk, (wanted.number - first) as usize, wanted.row)
        };
        let places: Vec<(usize, usize, usize)> = wanted.iter().map(find).collect();
        let kept = self.cache.get::<Chunk>(self.file, places.iter().map(|place| place.0));
        let mut missing = Vec::new();
        let mut found: Vec<chunk::Wanted<'_>> = Vec::with_capacity(places.len());
        for (&place, chunk) in places.iter().zip(&kept) {
            match chunk {
                Some(chunk) => found.push((chunk, place.1, place.2)),
                None => missing.push(place),
            }
        }
        chunk::copy(&self.schema, &found, out)?;
        drop(kept);
        // One chunk at a time, so that a large batch does not hold many.
        missing.sort_unstable();
        for same in missing.chunk_by(|a, b| a.0 == b.0) {
            let chunk = Arc::new(self.read_chunk(same[0].0)?);
            let wanted: Vec<chunk::Wanted<'_>> =
                same.iter().map(|&(_, record, row)| (&*chunk, record, row)).collect();
            chunk::copy(&self.schema, &wanted, out)?;
            self.cache.put(self.file, same[0].0, &chunk, chunk.memory());
        }
        Ok(())
    }
}
