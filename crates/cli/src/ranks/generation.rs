//! Which start of a run may write its checkpoints: the latest.

use std::path::{Path, PathBuf};

use fluvial::core::{Error, Result};
use fluvial::data::files;

/// The file that says which start was the latest.
const FILE: &str = "generation";

/// A start of a run.
#[derive(Clone, Debug)]
pub struct Generation {
    path: PathBuf,
    number: u64,
}

/// The number of the latest start of the run in a folder; zero before the first one.
pub fn latest(folder: &Path) -> Result<u64> {
    let path = folder.join(FILE);
    match std::fs::read_to_string(&path) {
        Ok(text) => text.trim().parse().map_err(|_| {
            files::fault(format!("`{}` should be a number, but is {text:?}", path.display()))
                .remedy("remove it, if no run uses the folder")
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(files::io(&path.display().to_string(), error)),
    }
}

impl Generation {
    /// Takes the folder over, by this number.
    pub fn begin(folder: &Path, number: u64) -> Result<Generation> {
        let path = folder.join(FILE);
        let io = |error| files::io(&path.display().to_string(), error);
        std::fs::create_dir_all(folder).map_err(io)?;
        if latest(folder)? < number {
            files::write_at(&path, |to| writeln!(to, "{number}").map_err(io))?;
        }
        Ok(Generation { path, number })
    }

    /// An error if the run was started again since.
    pub fn check(&self) -> Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        match latest(folder)? {
            now if now > self.number => Err(Error::state(format!(
                "the run in `{}` was started again since: this is start {}, and start {now} writes there",
                folder.display(),
                self.number
            ))
            .remedy("let the later one go on; this one has ended")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_started_before_writes_no_more() {
        let folder = std::env::temp_dir().join(format!("fluvial-start-{}", std::process::id()));
        let first = Generation::begin(&folder, latest(&folder).unwrap() + 1).unwrap();
        first.check().unwrap();
        let second = Generation::begin(&folder, latest(&folder).unwrap() + 1).unwrap();
        assert!(first.check().unwrap_err().to_string().contains("start 2 writes there"));
        second.check().unwrap();
        std::fs::write(folder.join(FILE), "junk").unwrap();
        assert!(second.check().is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
