//! Where programs may read and write files.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use crate::prelude::*;

static FOLDER: RwLock<Option<PathBuf>> = RwLock::new(None);

/// Lets [`save`](super::save()) and [`load`](super::load()) touch files below this folder, in the whole
/// process; `None`, as at the start, forbids it. A program names files relative to the folder and cannot
/// leave it.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let folder = std::env::temp_dir().join("fluvial-set-folder");
/// host::set_folder(Some(&folder));
/// save("one.npy", &[&Var::scalar(1.0f64)], &[])?;
/// assert!(folder.join("one.npy").exists());
/// # std::fs::remove_dir_all(&folder).ok();
/// # Ok::<(), Error>(())
/// ```
pub fn set_folder(folder: Option<&Path>) {
    *FOLDER.write().unwrap_or_else(PoisonError::into_inner) = folder.map(Path::to_path_buf);
}

/// What went wrong with a file.
pub(super) fn fault(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::File, what)
}

/// Adds the path to an error of the system.
pub(super) fn io(path: &str, error: std::io::Error) -> Error {
    fault(format!("`{path}`: {error}")).source_error(Box::new(error))
}

/// Refuses a path that is not below a folder by its form.
pub(super) fn is_below(path: &str) -> Result<()> {
    let inside = |part: Component<'_>| matches!(part, Component::Normal(_));
    match !path.is_empty() && !path.ends_with('/') && Path::new(path).components().all(inside) {
        true => Ok(()),
        false => Err(Error::argument(format!("`{path}` is no path below the folder of files"))
            .remedy("give a relative path without `..`")),
    }
}

fn folder() -> Result<PathBuf> {
    FOLDER.read().unwrap_or_else(PoisonError::into_inner).clone().ok_or_else(|| {
        fault("no folder is open for files")
            .remedy("call `set_folder` before the program runs: `fl.set_folder` in Python, `host::set_folder` in Rust")
    })
}

/// Refuses what a link leads out of the folder.
fn stays_in(folder: &Path, found: &Path, path: &str) -> Result<()> {
    let real = |path: &Path| path.canonicalize();
    let (folder, found) = (
        real(folder).map_err(|error| io(path, error))?,
        real(found).map_err(|error| io(path, error))?,
    );
    match found.starts_with(&folder) {
        true => Ok(()),
        false => Err(fault(format!("`{path}` leads out of the folder of files"))),
    }
}

/// Opens a file for reading, and says how long it is.
pub(super) fn open(path: &str) -> Result<(File, u64)> {
    is_below(path)?;
    let folder = folder()?;
    let full = folder.join(path);
    stays_in(&folder, &full, path)?;
    let file = File::open(&full).map_err(|error| io(path, error))?;
    let about = file.metadata().map_err(|error| io(path, error))?;
    match about.is_file() {
        true => Ok((file, about.len())),
        false => Err(fault(format!("`{path}` is no file"))),
    }
}

/// Writes a file whole or not at all: under another name first.
pub(super) fn write(path: &str, contents: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    is_below(path)?;
    let folder = folder()?;
    let full = folder.join(path);
    let parent = full.parent().unwrap_or(&folder);
    fs::create_dir_all(&folder).map_err(|error| io(path, error))?;
    // The parts that exist must not lead out before others are made below them.
    let existing = parent.ancestors().find(|part| part.exists()).unwrap_or(&folder);
    stays_in(&folder, existing, path)?;
    fs::create_dir_all(parent).map_err(|error| io(path, error))?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let draft = parent.join(format!(".fluvial-{}-{number}", std::process::id()));
    let written = File::create(&draft).map_err(|error| io(path, error)).and_then(|file| {
        let mut file = std::io::BufWriter::new(file);
        contents(&mut file)?;
        file.flush().map_err(|error| io(path, error))?;
        fs::rename(&draft, &full).map_err(|error| io(path, error))
    });
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}
