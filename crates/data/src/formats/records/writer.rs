//! Writing record files.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;

use super::cache::Cache;
use super::chunk::{self, Compression};
use super::index::Index;
use super::reader::Records;
use super::schema::Schema;
use crate::Field;
use crate::files::{self, fault, io};
use crate::formats::Input;
use fluvial_tensor::{Error, Result, Tensor};

/// How a record file is written.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How chunks are compressed. A chunk that does not get smaller is stored as it is.
    pub compression: Compression,
    /// The bytes after which a chunk is complete, before compression; at most 1 GiB. Reading one record reads
    /// its chunk.
    pub chunk_bytes: usize,
}

impl Default for Options {
    /// No compression, and chunks of 256 KiB.
    fn default() -> Options {
        Options { compression: Compression::None, chunk_bytes: 256 << 10 }
    }
}

/// Writes records to a file, which readers can open at any time: complete chunks are never touched again.
///
/// [`Writer::finish`] adds the index. A writer that is dropped finishes, too, but cannot tell of an error. See
/// [`Records`] for an example.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: String,
    full: PathBuf,
    schema: Schema,
    index: Index,
    options: Options,
    /// The sizes of each symbol in the records of the chunk under construction.
    sizes: Vec<Vec<u32>>,
    /// The elements of each field.
    columns: Vec<Vec<u8>>,
    n_records: u32,
    is_open: bool,
    /// For a file that appears only when it is finished: its name until then.
    draft: Option<PathBuf>,
}

impl Writer {
    /// Starts a file, in place of any that is there. Its folder is made if there is none.
    pub fn create(path: &str, fields: Vec<Field>, options: Options) -> Result<Writer> {
        Writer::create_as(path, fields, options, false)
    }

    /// Starts a file that takes the place of any other when it is finished, and is gone if it is not.
    pub(crate) fn create_whole(path: &str, fields: Vec<Field>, options: Options) -> Result<Writer> {
        Writer::create_as(path, fields, options, true)
    }

    fn create_as(path: &str, fields: Vec<Field>, options: Options, whole: bool) -> Result<Writer> {
        let schema = Schema::new(fields)?;
        if let Some(root) = files::root() {
            std::fs::create_dir_all(root).map_err(|error| io(path, error))?;
        }
        let full = files::resolve(path)?;
        if let Some(parent) = full.parent() {
            std::fs::create_dir_all(parent).map_err(|error| io(path, error))?;
        }
        let mut open = OpenOptions::new();
        let draft = full.parent().filter(|_| whole).map(files::draft_in);
        let named = draft.as_ref().unwrap_or(&full);
        let file = open.read(true).write(true).create(true).truncate(false).open(named);
        let mut file = file.map_err(|error| io(path, error))?;
        lock(&file, path)?;
        file.set_len(0).map_err(|error| io(path, error))?;
        let head = schema.head();
        file.write_all(&head).map_err(|error| io(path, error))?;
        let index = Index { end: head.len() as u64, ..Index::default() };
        let mut writer = Writer::start(file, path, full, schema, index, options);
        writer.draft = draft;
        Ok(writer)
    }

    /// Continues a file with the compression and the size of chunks of [`Options::default`].
    pub fn append(path: &str) -> Result<Writer> {
        Writer::append_with(path, Options::default())
    }

    /// Continues a file. A tail that was not written whole is cut off.
    pub fn append_with(path: &str, options: Options) -> Result<Writer> {
        let full = files::resolve(path)?;
        let file = OpenOptions::new().read(true).write(true).open(&full);
        let mut file = file.map_err(|error| io(path, error))?;
        lock(&file, path)?;
        let same = file.try_clone().map_err(|error| io(path, error))?;
        let records = Records::with_cache(Input::of_file(path, same)?, Cache::new(0))?;
        let (schema, index) = records.into_parts();
        file.set_len(index.end).map_err(|error| io(path, error))?;
        file.seek(SeekFrom::Start(index.end)).map_err(|error| io(path, error))?;
        Ok(Writer::start(file, path, full, schema, index, options))
    }

    fn start(
        file: File,
        path: &str,
        full: PathBuf,
        schema: Schema,
        index: Index,
        options: Options,
    ) -> Writer {
        let sizes = vec![Vec::new(); schema.symbols.len()];
        let columns = vec![Vec::new(); schema.fields.len()];
        let path = path.to_string();
        Writer {
            file,
            path,
            full,
            schema,
            index,
            options,
            sizes,
            columns,
            n_records: 0,
            is_open: true,
            draft: None,
        }
    }

    /// What a record consists of.
    pub fn fields(&self) -> &[Field] {
        &self.schema.fields
    }

    /// How many records the file has, with those that were written here.
    pub fn n_records(&self) -> u64 {
        self.index.n_records() + u64::from(self.n_records)
    }

    /// Adds a record: a tensor for each field.
    pub fn write(&mut self, record: &[&Tensor]) -> Result<()> {
        let fields = &self.schema.fields;
        if !self.is_open {
            return Err(fault(format!("`{}` cannot be continued after an error", self.path)));
        }
        if record.len() != fields.len() {
            return Err(Error::argument(format!(
                "a record of `{}` has {} tensors, but {} were given",
                self.path,
                fields.len(),
                record.len()
            )));
        }
        let mut symbols = vec![None; self.schema.symbols.len()];
        let mut bytes = 4 * symbols.len() as u64;
        for (i, (field, tensor)) in fields.iter().zip(record).enumerate() {
            if tensor.dtype() != field.ty.dtype() {
                return Err(Error::dtype(format!(
                    "the field `{}` of `{}` is {}, but a tensor of {} was given",
                    field.name,
                    self.path,
                    field.ty,
                    tensor.dtype()
                ))
                .remedy(format!("cast it to {}", field.ty.dtype())));
            }
            self.schema.bind(i, tensor.dims(), &mut symbols)?;
            bytes += (tensor.numel() * tensor.dtype().size()) as u64;
        }
        if bytes > chunk::MAX_CHUNK / 2 {
            return Err(Error::argument(format!("a record of {bytes} bytes is too large"))
                .remedy("keep records below 1 GiB"));
        }
        for (column, tensor) in self.columns.iter_mut().zip(record) {
            crate::elements::write(column, tensor, &self.path)?;
        }
        for (sizes, size) in self.sizes.iter_mut().zip(symbols) {
            sizes.push(size.unwrap_or(0));
        }
        self.n_records += 1;
        let elements: usize = self.columns.iter().map(Vec::len).sum();
        let pending = elements + 4 * self.sizes.len() * self.n_records as usize;
        match pending >= self.options.chunk_bytes.min(chunk::MAX_CHUNK as usize / 2) {
            true => self.end_chunk(),
            false => Ok(()),
        }
    }

    /// Completes the chunk under construction and sees to it that all records are on the disk.
    pub fn flush(&mut self) -> Result<()> {
        self.end_chunk()?;
        self.file.sync_data().map_err(|error| io(&self.path, error))
    }

    /// Completes the file. It can be continued later by [`Writer::append`].
    pub fn finish(mut self) -> Result<()> {
        self.close()
    }

    fn close(&mut self) -> Result<()> {
        self.end_chunk()?;
        self.is_open = false;
        let named = |error| io(&self.path, error);
        self.file.write_all(&self.index.to_bytes()).map_err(named)?;
        self.file.sync_all().map_err(named)?;
        if let Some(draft) = &self.draft {
            std::fs::rename(draft, &self.full).map_err(named)?;
        }
        self.draft = None;
        self.full.parent().map_or(Ok(()), files::sync_folder).map_err(named)
    }

    fn end_chunk(&mut self) -> Result<()> {
        if self.n_records == 0 {
            return Ok(());
        }
        let mut payload = Vec::new();
        for sizes in &mut self.sizes {
            payload.extend(sizes.iter().flat_map(|size| size.to_le_bytes()));
            sizes.clear();
        }
        for column in &mut self.columns {
            payload.extend_from_slice(column);
            column.clear();
        }
        let first = self.index.n_records();
        let wanted = self.options.compression;
        let bytes = chunk::encode(chunk::RECORDS, self.n_records, first, &payload, wanted);
        if let Err(error) = self.file.write_all(&bytes) {
            // What is there may be half a chunk, which nothing must follow.
            self.is_open = false;
            return Err(io(&self.path, error));
        }
        let at = self.index.end;
        self.index.push(at, at + bytes.len() as u64, self.n_records);
        self.n_records = 0;
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Some(draft) = &self.draft {
            let _ = std::fs::remove_file(draft);
        } else if self.is_open {
            let _ = self.close();
        }
    }
}

/// Keeps others from writing the same file.
fn lock(file: &File, path: &str) -> Result<()> {
    use std::fs::TryLockError;
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            Err(fault(format!("`{path}` is being written by another"))
                .remedy("finish the other writer first"))
        }
        // Some file systems have no locks.
        Err(TryLockError::Error(_)) => Ok(()),
    }
}
