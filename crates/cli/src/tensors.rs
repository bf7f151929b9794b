//! Files of tensors: `.npy`, `.npz` and `.safetensors`.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

use fluvial::core::{Error, Result, Tensor};
use fluvial::data::formats::{Input, npz};
use fluvial::data::{files, npy, safetensors};
use serde_json::{Value as Json, json};

use crate::fault;
use crate::program::is_standard;

/// The formats, by the ending of the name.
enum Form {
    Npy,
    Npz,
    Safetensors,
}

/// Whether the name is one of a file of tensors.
pub fn is_named(path: &Path) -> bool {
    form(path).is_ok()
}

fn form(path: &Path) -> Result<Form> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("npy") => Ok(Form::Npy),
        Some("npz") => Ok(Form::Npz),
        Some("safetensors") => Ok(Form::Safetensors),
        _ => Err(Error::argument(format!("`{}` does not name a file of tensors", path.display()))
            .remedy("use a file that ends in `.npy`, `.npz` or `.safetensors`")),
    }
}

/// Reads all tensors of a file with their names. The one of a `.npy` file has none.
pub fn read(path: &Path) -> Result<Vec<(String, Tensor)>> {
    if is_standard(path) {
        return from_standard_input();
    }
    let form = form(path)?;
    let shown = path.display().to_string();
    if let Form::Npz = form {
        let bytes = std::fs::read(path).map_err(|error| fault::file(path, error))?;
        return npz::read_input(&Input::memory(&shown, bytes));
    }
    let file = File::open(path).map_err(|error| fault::file(path, error))?;
    let about = file.metadata().map_err(|error| fault::file(path, error))?;
    if !about.is_file() {
        return Err(files::fault(format!("`{shown}` is not a file")).remedy("name a file"));
    }
    let mut from = BufReader::new(file);
    match form {
        Form::Npy => Ok(vec![(String::new(), npy::read(&mut from, about.len(), &shown)?)]),
        _ => safetensors::read_all(&mut from, about.len(), &shown).map(|file| file.tensors),
    }
}

/// Reads all tensors on standard input; the first bytes tell the format.
fn from_standard_input() -> Result<Vec<(String, Tensor)>> {
    let (mut bytes, shown) = (Vec::new(), "standard input");
    let read = std::io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|error| fault::file(Path::new(shown), error))?;
    let (mut from, len) = (&bytes[..], bytes.len() as u64);
    match bytes.as_slice() {
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => {
            Ok(vec![(String::new(), npy::read(&mut from, len, shown)?)])
        }
        [b'P', b'K', ..] => npz::read_input(&Input::memory(shown, bytes)),
        _ => safetensors::read_all(&mut from, len, shown).map(|file| file.tensors),
    }
}

/// Writes tensors as `.safetensors` to standard output.
pub fn to_standard_output(tensors: &[(&str, &Tensor)]) -> Result<()> {
    let mut to = std::io::stdout().lock();
    safetensors::write(&mut to, tensors, "standard output")?;
    to.flush().map_err(|error| fault::file(Path::new("standard output"), error))
}

/// Writes tensors to a file, whole or not at all. A `.npy` file takes one.
pub fn write(path: &Path, tensors: &[(&str, &Tensor)]) -> Result<()> {
    let form = form(path)?;
    let to = allowed(path)?;
    match (form, tensors) {
        (Form::Npz, _) => npz::write(&to, tensors),
        (Form::Npy, [(_, only)]) => files::write(&to, |file| npy::write(file, only, &to)),
        (Form::Npy, _) => {
            let n = tensors.len();
            let what = format!("`{}` takes one tensor, but there are {n}", path.display());
            Err(Error::argument(what).remedy("write a `.npz` file"))
        }
        (Form::Safetensors, _) => files::write(&to, |file| safetensors::write(file, tensors, &to)),
    }
}

/// The path of a file that the user has named, in the form that may be touched on the user's behalf.
pub fn allowed(path: &Path) -> Result<String> {
    let named = |error| fault::file(path, error);
    let full = std::path::absolute(path).map_err(named)?;
    // A way back up is taken here, since programs may not.
    let full = match (full.parent().map(Path::canonicalize), full.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => full,
    };
    files::allow(&full)?;
    full.into_os_string().into_string().map_err(|_| {
        Error::argument(format!("`{}` is not text", path.display())).remedy("rename it")
    })
}

/// A few of the elements, in one line.
pub fn short(tensor: &Tensor) -> String {
    let (ty, all) = (tensor.ty().to_string(), format!("{tensor:?}"));
    all.strip_prefix(&ty).unwrap_or(&all).trim_start().to_string()
}

/// What a machine wants to know of a tensor: all elements unless there are very many.
pub fn to_json(tensor: &Tensor) -> Json {
    const MOST: usize = 10_000;
    let mut about = json!({
        "type": tensor.ty().to_string(),
        "dtype": tensor.dtype().to_string(),
        "shape": tensor.dims(),
    });
    if tensor.numel() <= MOST {
        about["values"] = elements(tensor);
    }
    about
}

/// The elements as lists in lists. What is not a finite number is a word.
fn elements(tensor: &Tensor) -> Json {
    if tensor.rank() > 0 {
        let parts = (0..tensor.dims()[0]).map(|i| match tensor.index(0, i) {
            Ok(part) => elements(&part),
            Err(_) => Json::Null,
        });
        return Json::Array(parts.collect());
    }
    let value = tensor.to_f64s().first().copied().unwrap_or(f64::NAN);
    match tensor.dtype() {
        dtype if dtype.is_bool() => Json::Bool(value != 0.0),
        dtype if dtype.is_float() && value.is_finite() => json!(value),
        dtype if dtype.is_float() => Json::String(value.to_string()),
        _ => json!(tensor.item::<i64>().unwrap_or(value as i64)),
    }
}

/// A tensor as [`to_json`] tells it, with further members.
pub fn event(tensor: &Tensor, members: Json) -> Json {
    let mut event = to_json(tensor);
    if let (Json::Object(event), Json::Object(members)) = (&mut event, members) {
        event.extend(members);
    }
    event
}
