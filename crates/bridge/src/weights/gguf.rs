//! GGUF files: notes and tensors by name, perhaps quantised.

use std::io::{Read, Seek, SeekFrom};

use fluvial_core::{Error, ErrorKind, Result, Tensor, memory};
use fluvial_data::files;

use super::quants::{self, Form};

/// How long a text may be, how many notes and tensors there may be, how deep lists of notes may lie in each other.
const TEXT: u64 = 1 << 24;
const COUNT: u64 = 1 << 20;
const DEPTH: usize = 8;
const AXES: u32 = 8;

/// A tensor as the head of a file describes it.
struct Entry {
    name: String,
    /// The last axis is the first here, which has neighbours side by side.
    sizes: Vec<usize>,
    form: Form,
    start: u64,
    bytes: u64,
}

struct Head<'a, R> {
    from: &'a mut R,
    at: u64,
    len: u64,
    path: &'a str,
}

fn fault(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::File, what).remedy("check that the file is GGUF, and whole")
}

impl<R: Read> Head<'_, R> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.at += N as u64;
        if self.at > self.len {
            return Err(fault("the file ends in its head"));
        }
        self.from.read_exact(&mut bytes).map_err(|error| files::io(self.path, error))?;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    fn skip(&mut self, count: u64) -> Result<()> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.len);
        self.at = end.ok_or_else(|| fault("the file ends in its head"))?;
        let mut part = (&mut *self.from).take(count);
        std::io::copy(&mut part, &mut std::io::sink())
            .map_err(|error| files::io(self.path, error))?;
        Ok(())
    }

    fn text(&mut self) -> Result<String> {
        let len = self.u64()?;
        if len > TEXT.min(self.len - self.at) {
            return Err(fault(format!("a text of {len} bytes")));
        }
        let mut bytes = memory::filled(0u8, len as usize)?;
        self.from.read_exact(&mut bytes).map_err(|error| files::io(self.path, error))?;
        self.at += len;
        String::from_utf8(bytes).map_err(|_| fault("a text is not UTF-8"))
    }

    /// Passes a note; what it says, if it is a small number.
    fn note(&mut self, kind: u32, depth: usize) -> Result<Option<u64>> {
        Ok(match kind {
            0 | 1 | 7 => Some(u64::from(self.take::<1>()?[0])),
            2 | 3 => Some(u64::from(u16::from_le_bytes(self.take()?))),
            4 | 5 => Some(u64::from(self.u32()?)),
            6 => {
                self.skip(4)?;
                None
            }
            8 => {
                let len = self.u64()?;
                self.skip(len)?;
                None
            }
            9 => {
                let (kind, count) = (self.u32()?, self.u64()?);
                if depth >= DEPTH || count > self.len {
                    return Err(fault("a list of notes that is too long or too deep"));
                }
                for _ in 0..count {
                    self.note(kind, depth + 1)?;
                }
                None
            }
            10 | 11 => Some(self.u64()?),
            12 => {
                self.skip(8)?;
                None
            }
            other => return Err(fault(format!("a note of the kind {other}"))),
        })
    }

    fn entry(&mut self) -> Result<Entry> {
        let name = self.text()?;
        let told = |error: Error| error.note(format!("in the tensor `{name}`"));
        let axes = self.u32()?;
        if axes > AXES {
            return Err(told(fault(format!("{axes} axes"))));
        }
        let mut sizes = Vec::new();
        for _ in 0..axes {
            let size = self.u64()?;
            sizes.push(usize::try_from(size).map_err(|_| told(fault(format!("the size {size}"))))?);
        }
        let form = quants::form(self.u32()?).map_err(told)?;
        let start = self.u64()?;
        let count = sizes.iter().try_fold(1u64, |count, &size| count.checked_mul(size as u64));
        let row = sizes.first().copied().unwrap_or(1);
        let bytes = count
            .filter(|_| row % form.elements == 0)
            .and_then(|count| (count / form.elements as u64).checked_mul(form.bytes as u64));
        let what = || told(fault(format!("{sizes:?} do not fit blocks of {}", form.name)));
        let bytes = bytes.ok_or_else(what)?;
        sizes.reverse();
        Ok(Entry { name, sizes, form, start, bytes })
    }
}

/// The tensors of a file of `len` bytes, in the order of their places.
pub fn read(from: &mut (impl Read + Seek), len: u64, path: &str) -> Result<Vec<(String, Tensor)>> {
    let mut head = Head { from, at: 0, len, path };
    if head.take::<4>()? != *b"GGUF" {
        return Err(fault("this is not a GGUF file"));
    }
    let version = head.u32()?;
    if !(2..=3).contains(&version) {
        let what = format!("version {version} of GGUF is not read");
        return Err(Error::new(ErrorKind::Version, what).remedy("convert the file to version 3"));
    }
    let (n_tensors, n_notes) = (head.u64()?, head.u64()?);
    if n_tensors > COUNT || n_notes > COUNT {
        return Err(fault(format!("{n_tensors} tensors and {n_notes} notes")));
    }
    let mut alignment = 32;
    for _ in 0..n_notes {
        let name = head.text()?;
        let kind = head.u32()?;
        let said = head.note(kind, 0)?;
        if name == "general.alignment" {
            let fits = |&said: &u64| said.is_power_of_two() && said <= 1 << 20;
            alignment = said.filter(fits).ok_or_else(|| fault("an alignment that is none"))?;
        }
    }
    let mut entries = Vec::new();
    for _ in 0..n_tensors {
        memory::push(&mut entries, head.entry()?)?;
    }
    let first = head.at.next_multiple_of(alignment);
    let mut places: Vec<(u64, u64)> = entries.iter().map(|e| (e.start, e.bytes)).collect();
    places.sort_unstable();
    // Tensors that share bytes could take more memory than the file has.
    let shares = |pair: &[(u64, u64)]| pair[0].0.saturating_add(pair[0].1) > pair[1].0;
    if places.windows(2).any(shares) {
        return Err(fault("tensors lie over each other"));
    }
    let mut tensors = Vec::new();
    for entry in &entries {
        let told = |error: Error| error.note(format!("in the tensor `{}`", entry.name));
        let start = first.checked_add(entry.start);
        let end = start.and_then(|start| start.checked_add(entry.bytes)).filter(|&end| end <= len);
        let (Some(start), Some(_)) = (start, end) else {
            return Err(told(fault("it lies beyond the end of the file")));
        };
        from.seek(SeekFrom::Start(start)).map_err(|error| files::io(path, error))?;
        let tensor = opened(from, entry, path).map_err(told)?;
        tensors.push((entry.name.clone(), tensor));
    }
    Ok(tensors)
}

fn opened(from: &mut impl Read, entry: &Entry, path: &str) -> Result<Tensor> {
    let mut tensor = Tensor::zeros(entry.form.dtype, &entry.sizes)?;
    let to = tensor.as_bytes_mut()?;
    let io = |error| files::io(path, error);
    let Some(open) = entry.form.open else {
        from.read_exact(to).map_err(io)?;
        return Ok(tensor);
    };
    let mut block = vec![0; entry.form.bytes];
    let mut numbers = vec![0.0f32; entry.form.elements];
    for to in to.chunks_exact_mut(4 * entry.form.elements) {
        from.read_exact(&mut block).map_err(io)?;
        open(&block, &mut numbers);
        for (to, number) in to.chunks_exact_mut(4).zip(&numbers) {
            to.copy_from_slice(&number.to_le_bytes());
        }
    }
    Ok(tensor)
}
