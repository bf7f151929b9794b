//! Weights of others: tensors by name, from a file or a folder.

mod gguf;
mod quants;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Component, Path};

use fluvial_core::{Error, ErrorKind, Result, Tensor};
use fluvial_data::formats::{Input, npz};
use fluvial_data::{files, safetensors};

pub use gguf::read as read_gguf;

/// How long the index of a folder may be.
const INDEX: u64 = 64 << 20;

/// The tensors of a `.safetensors`, `.gguf` or `.npz` file, or of a folder as Hugging Face has them: `model.safetensors`,
/// or several files and an index.
pub fn load(path: impl AsRef<Path>) -> Result<Vec<(String, Tensor)>> {
    let path = path.as_ref();
    files::allow(path)?;
    let loaded = match path.is_dir() {
        true => folder(path),
        false => one(path),
    };
    loaded.map_err(|error| error.note(format!("in {}", path.display())))
}

fn one(path: &Path) -> Result<Vec<(String, Tensor)>> {
    let shown = path.display().to_string();
    let io = |error| files::io(&shown, error);
    let mut file = File::open(path).map_err(io)?;
    let len = file.metadata().map_err(io)?.len();
    let mut start = Vec::new();
    (&mut file).take(4).read_to_end(&mut start).map_err(io)?;
    file.rewind().map_err(io)?;
    let ending = path.extension().and_then(|ending| ending.to_str());
    match (&start[..], ending) {
        (b"GGUF", _) | (_, Some("gguf")) => gguf::read(&mut BufReader::new(file), len, &shown),
        (b"PK\x03\x04", _) | (_, Some("npz")) => {
            let bytes = std::fs::read(path).map_err(io)?;
            npz::read_input(&Input::memory(&shown, bytes))
        }
        (_, Some("safetensors")) => {
            Ok(safetensors::read_all(&mut BufReader::new(file), len, &shown)?.tensors)
        }
        _ => Err(Error::argument("nothing says what it holds")
            .remedy("weights are read from .safetensors, .gguf and .npz files, and from folders")),
    }
}

/// The tensors of a folder.
fn folder(path: &Path) -> Result<Vec<(String, Tensor)>> {
    let single = path.join("model.safetensors");
    if single.is_file() {
        return one(&single);
    }
    let index = path.join("model.safetensors.index.json");
    if !index.is_file() {
        return Err(Error::new(
            ErrorKind::File,
            "there is neither `model.safetensors` nor `model.safetensors.index.json` in it",
        ));
    }
    let shown = index.display().to_string();
    let len = std::fs::metadata(&index).map_err(|error| files::io(&shown, error))?.len();
    if len > INDEX {
        return Err(Error::new(ErrorKind::File, format!("an index of {len} bytes")));
    }
    let text = std::fs::read_to_string(&index).map_err(|error| files::io(&shown, error))?;
    let wrong = |what: &str| Error::new(ErrorKind::File, format!("`{shown}` {what}"));
    let read: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| wrong(&format!("is not an index: {error}")))?;
    let Some(map) = read.get("weight_map").and_then(|map| map.as_object()) else {
        return Err(wrong("has no `weight_map`"));
    };
    let mut names = BTreeSet::new();
    for file in map.values() {
        let file = file.as_str().ok_or_else(|| wrong("names a file that is not text"))?;
        let mut parts = Path::new(file).components();
        let is_inside =
            matches!(parts.next(), Some(Component::Normal(_))) && parts.next().is_none();
        if !is_inside || file.contains('\0') {
            return Err(wrong(&format!("leads out of the folder: `{file}`")));
        }
        names.insert(file);
    }
    let mut tensors = Vec::new();
    for file in names {
        for (name, tensor) in one(&path.join(file))? {
            // A tensor that the index expects elsewhere is left to that file.
            if map.get(&name).is_none_or(|home| home == file) {
                tensors.push((name, tensor));
            }
        }
    }
    let found: BTreeSet<&str> = tensors.iter().map(|(name, _)| name.as_str()).collect();
    match map.keys().find(|name| !found.contains(name.as_str())) {
        Some(name) => Err(wrong(&format!("lists `{name}`, which its file does not have"))),
        None => Ok(tensors),
    }
}
