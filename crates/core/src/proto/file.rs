//! Programs as files, in the form that the name of the file says.

use std::fs;
use std::io::Write;
use std::path::Path;

use fluvial_data::files;
use fluvial_tensor::{Error, Result};

use crate::program::Program;
use crate::registry::Registry;
use crate::text::parse_placed;

enum Form {
    Text,
    Binary,
}

impl Program {
    /// Writes the program to a file: `.fl` in text form, `.flb` in binary form. The file is written whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let bytes = match form(path)? {
            Form::Text => format!("{self}\n").into_bytes(),
            Form::Binary => self.to_bytes(),
        };
        let written = |to: &mut dyn Write| {
            to.write_all(&bytes).map_err(|error| failed("written", path, error))
        };
        files::write_at(path, written)
    }

    /// Reads a program from a file, as [`Program::parse`] or [`Program::from_bytes`] does.
    pub fn load(path: impl AsRef<Path>, registry: &Registry) -> Result<Program> {
        read(path.as_ref(), false, registry)
    }

    /// [`load`](Program::load) for somebody who runs or debugs what is in the file: calls of a text that do not say
    /// where they come from are placed at their own lines.
    pub fn load_placed(path: impl AsRef<Path>, registry: &Registry) -> Result<Program> {
        read(path.as_ref(), true, registry)
    }
}

fn read(path: &Path, is_source: bool, registry: &Registry) -> Result<Program> {
    let form = form(path)?;
    let bytes = fs::read(path).map_err(|error| failed("read", path, error))?;
    let name = path.display().to_string();
    match form {
        Form::Text => {
            let text = str::from_utf8(&bytes).map_err(|error| {
                Error::parse(format!("{name} is not text: {error}"))
                    .remedy("a program in binary form ends in `.flb`")
            })?;
            parse_placed(text, Some(&name), is_source.then_some(&name), registry)
        }
        Form::Binary => Program::from_bytes(&bytes, registry)
            .map_err(|error| error.note(format!("in the file {name}"))),
    }
}

fn form(path: &Path) -> Result<Form> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("fl") => Ok(Form::Text),
        Some("flb") => Ok(Form::Binary),
        _ => Err(Error::argument(format!("{} does not name a program", path.display()))
            .remedy("name it `.fl` for the text form or `.flb` for the binary form")),
    }
}

fn failed(what: &str, path: &Path, error: std::io::Error) -> Error {
    Error::argument(format!("{} could not be {what}: {error}", path.display()))
        .source_error(Box::new(error))
}
