//! Numpy's `.npz` files: tensors by name, in a zip archive.

use std::sync::Arc;

use super::arrays::{Arrays, Column};
use super::{Input, Rows, zip};
use crate::files::{self, io};
use crate::npy;
use fluvial_tensor::{Error, Result, Tensor};

/// Reads all tensors of a file.
///
/// ```
/// use fluvial_data::{files, formats::npz};
/// use fluvial_tensor::Tensor;
/// # let root = std::env::temp_dir().join("fluvial-npz-doc");
/// # files::set_root(Some(&root));
/// npz::write("feeds.npz", &[("x", &Tensor::scalar(1.5_f32))])?;
/// let tensors = npz::read("feeds.npz")?;
/// assert_eq!(tensors[0].0, "x");
/// assert_eq!(tensors[0].1.item::<f32>()?, 1.5);
/// # std::fs::remove_dir_all(&root).ok();
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn read(path: &str) -> Result<Vec<(String, Tensor)>> {
    read_input(&Input::open(path)?)
}

/// Reads all tensors of a file, or of bytes in memory.
pub fn read_input(input: &Input) -> Result<Vec<(String, Tensor)>> {
    let tensor = |entry: &zip::Entry| {
        let path = format!("{}: {}", input.name(), entry.name);
        let tensor = entry.read(input, |from| npy::read(from, entry.len, &path))?;
        Ok((name_of(entry).to_string(), tensor))
    };
    zip::entries(input)?.iter().map(tensor).collect()
}

fn name_of(entry: &zip::Entry) -> &str {
    entry.name.strip_suffix(".npy").unwrap_or(&entry.name)
}

/// Writes tensors to a file, whole or not at all.
pub fn write(path: &str, tensors: &[(&str, &Tensor)]) -> Result<()> {
    for (i, (name, x)) in tensors.iter().enumerate() {
        npy::has_dtype(x.dtype())?;
        if name.len() > 1000 || tensors[..i].iter().any(|(other, _)| other == name) {
            return Err(Error::argument(format!("`{name}` cannot be a name in `{path}`"))
                .remedy("give each tensor a short name of its own"));
        }
    }
    files::write(path, |to| {
        let mut archive = zip::Writer::default();
        for (name, x) in tensors {
            let mut contents = Vec::new();
            npy::write(&mut contents, x, path)?;
            let head = archive.entry(&format!("{name}.npy"), &contents);
            to.write_all(&head).map_err(|error| io(path, error))?;
            to.write_all(&contents).map_err(|error| io(path, error))?;
        }
        to.write_all(&archive.finish()).map_err(|error| io(path, error))
    })
}

/// Opens a file as samples: a field for each tensor, whose first axis counts the samples.
pub(super) fn open(input: Input) -> Result<Box<dyn Rows>> {
    let input = Arc::new(input);
    let mut columns = Vec::new();
    for entry in zip::entries(&input)? {
        let path = format!("{}: {}", input.name(), entry.name);
        let name: Arc<str> = name_of(&entry).into();
        // All of it is read, since its checksum is looked at here only.
        let header = entry.read(&input, |from| npy::Header::read(from, entry.len, &path))?;
        columns.push(match entry.is_compressed || header.fortran {
            true => {
                let array = entry.read(&input, |from| npy::read(from, entry.len, &path))?;
                Column::of_tensor(name, &array, &path)?
            }
            false => {
                let start = entry.start(&input)? + header.len;
                Column::of_input(name, input.clone(), start, header.dtype, &header.sizes)?
            }
        });
    }
    if columns.is_empty() {
        return Err(input.fault("there is no array in it"));
    }
    Ok(Box::new(Arrays::new(input.name(), columns)?))
}
