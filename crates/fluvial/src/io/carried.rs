//! Arrays in memory that a program reads, on their way to another process.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use fluvial_core::{Error, Loc, Program, Result, Tensor};
use fluvial_data::reader::Hosted;
use fluvial_data::{Reader, files, safetensors};

/// Writes the arrays that the loops of a program read to files in a folder, for [`bring_arrays`]; without a folder they are
/// refused. Streams, functions and datasets of another kind stay behind: if the program is not to leave its process without
/// them, as where a folder is given, those that this process has are refused.
pub fn carry_arrays(program: &Program, folder: Option<&Path>) -> Result<()> {
    let mut all: BTreeMap<Arc<str>, (Hosted, Loc)> = BTreeMap::new();
    for (reader, loc) in program.readers() {
        let hosted = reader.parse::<Reader>()?.hosted();
        all.extend(hosted.into_iter().map(|one| (one.name.clone(), (one, loc))));
    }
    for (Hosted { kind, name, is_here, arrays }, loc) in all.into_values() {
        match (arrays, folder) {
            (Some(arrays), Some(folder)) => {
                let named: Vec<(&str, &Tensor)> =
                    arrays.iter().map(|(name, x)| (&**name, x)).collect();
                let path = folder.join(format!("{name}.{ENDING}"));
                let shown = path.display().to_string();
                files::write_at(&path, |to| safetensors::write(to, &named, &shown))?;
            }
            (Some(arrays), None) => {
                let fields: Vec<String> =
                    arrays.iter().map(|(name, x)| format!("`{name}` {}", x.ty())).collect();
                return Err(Error::state(format!(
                    "the program reads arrays that are in memory, which its file cannot bring along: {}",
                    fields.join(", ")
                ))
                .remedy("save them, as with `numpy.savez(\"data.npz\", x=x)`, and read the file: `fl.batch_reader(\"data.npz\", 32)`; or run the script itself, with `fluvial run`")
                .at(loc));
            }
            (None, Some(_)) if is_here => {
                return Err(Error::state(format!(
                    "the program needs the {kind} `{name}` of the script, and runs without Python"
                ))
                .remedy("end the script with `fl.run()` and start it with `python`; or read files, with the stages that readers have")
                .at(loc));
            }
            _ => {}
        }
    }
    Ok(())
}

const ENDING: &str = "arrays";

/// Gives the readers of this process the arrays that [`carry_arrays`] wrote to a folder. They are there as long as what
/// is returned.
pub fn bring_arrays(folder: &Path) -> Result<Vec<Reader>> {
    let entries = std::fs::read_dir(folder)
        .map_err(|error| files::io(&folder.display().to_string(), error))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let paths = paths.filter(|path| path.extension().is_some_and(|ending| ending == ENDING));
    paths
        .map(|path| {
            let shown = path.display().to_string();
            let file = std::fs::File::open(&path).map_err(|error| files::io(&shown, error))?;
            let len = file.metadata().map_err(|error| files::io(&shown, error))?.len();
            let read = safetensors::read_all(&mut std::io::BufReader::new(file), len, &shown)?;
            Reader::of(read.tensors.iter().map(|(name, x)| (&**name, x.clone())))
        })
        .collect()
}
