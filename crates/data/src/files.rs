//! Which files programs may touch, and how files are written.
//!
//! A program that comes from a file is not trusted: it reads and writes below the root only, which whoever
//! runs it chooses. What a user's own code names is allowed by that code, file by file.

mod checksum;
mod draft;

pub use checksum::checksum;
pub use draft::{draft_in, is_draft, remove_left_behind};

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use fluvial_tensor::{Error, ErrorKind, Result};

static ROOT: RwLock<Option<PathBuf>> = RwLock::new(None);
static ALLOWED: RwLock<BTreeSet<PathBuf>> = RwLock::new(BTreeSet::new());

/// Lets programs touch the files below this folder, in the whole process; `None`, as at the start, forbids
/// it. Relative paths are then relative to the folder, and not to the current one.
///
/// ```
/// use fluvial_data::files;
/// let root = std::env::temp_dir().join("fluvial-set-root");
/// files::set_root(Some(&root));
/// files::write("one.txt", |to| Ok(to.write_all(b"1").unwrap()))?;
/// assert!(root.join("one.txt").exists());
/// assert!(files::write("../two.txt", |_| Ok(())).is_err());
/// # std::fs::remove_dir_all(&root).ok();
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn set_root(root: Option<&Path>) {
    *ROOT.write().unwrap_or_else(PoisonError::into_inner) = root.map(Path::to_path_buf);
}

/// The folder below which programs may touch files.
pub fn root() -> Option<PathBuf> {
    ROOT.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Lets programs of this process touch a file, or a folder and what is below it: for code that names the
/// path on behalf of its user. Never call it with a path that was read from a file.
pub fn allow(path: &Path) -> Result<()> {
    let shown = path.display().to_string();
    let full = real(&base()?.join(path)).map_err(|error| io(&shown, error))?;
    ALLOWED.write().unwrap_or_else(PoisonError::into_inner).insert(full);
    Ok(())
}

/// What went wrong with a file.
pub fn fault(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::File, what)
}

/// Adds the path to an error of the system.
pub fn io(path: &str, error: std::io::Error) -> Error {
    fault(format!("`{path}`: {error}")).source_error(Box::new(error))
}

/// Refuses what no file can be called by: nothing, a folder, or a way back up.
pub fn check_form(path: &str) -> Result<()> {
    let up = |part: Component<'_>| matches!(part, Component::ParentDir);
    match path.is_empty() || path.ends_with('/') || Path::new(path).components().any(up) {
        false => Ok(()),
        true => Err(Error::argument(format!("`{path}` is not a path of a file below a folder"))
            .remedy("give a path without `..`")),
    }
}

/// The folder that relative paths start from.
fn base() -> Result<PathBuf> {
    match root() {
        Some(root) => Ok(root),
        None => std::env::current_dir().map_err(|error| io(".", error)),
    }
}

/// The path without links, as far as it exists.
fn real(path: &Path) -> std::io::Result<PathBuf> {
    let existing = path.ancestors().find(|part| part.exists()).unwrap_or(Path::new("/"));
    let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
    let real = existing.canonicalize()?;
    Ok(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
}

/// Where a path leads, if it may be touched.
pub fn resolve(path: &str) -> Result<PathBuf> {
    check_form(path)?;
    let full = real(&base()?.join(path)).map_err(|error| io(path, error))?;
    let below_root = match root() {
        Some(root) => full.starts_with(real(&root).map_err(|error| io(path, error))?),
        None => false,
    };
    let is_allowed = || {
        let allowed = ALLOWED.read().unwrap_or_else(PoisonError::into_inner);
        full.ancestors().any(|part| allowed.contains(part))
    };
    match below_root || is_allowed() {
        true => Ok(full),
        false => Err(refused(path)),
    }
}

fn refused(path: &str) -> Error {
    match root() {
        Some(root) => {
            fault(format!("`{path}` is not below the root of files, `{}`", root.display()))
                .remedy("move the file below it, or choose another root")
        }
        None => fault(format!("the program may not touch `{path}`"))
            .remedy("set the root below which programs may read and write: `fl.set_root` in Python, `files::set_root` in Rust"),
    }
}

/// Opens a file for reading, and says how long it is.
pub fn open(path: &str) -> Result<(File, u64)> {
    let file = File::open(resolve(path)?).map_err(|error| io(path, error))?;
    let about = file.metadata().map_err(|error| io(path, error))?;
    match about.is_file() {
        true => Ok((file, about.len())),
        false => Err(fault(format!("`{path}` is not a file"))),
    }
}

/// Writes a file whole or not at all, and makes its folder if there is none: under another name first,
/// which is synced to the disk and then renamed.
pub fn write(path: &str, contents: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let named = |error| io(path, error);
    if let Some(root) = root() {
        fs::create_dir_all(root).map_err(named)?;
    }
    write_at(&resolve(path)?, contents)
}

/// Finds out whether [`write_at`] could write a file, and leaves nothing behind but the folder that it would lie in.
pub fn check_place(full: &Path) -> Result<()> {
    let path = full.display().to_string();
    let named = |error| io(&path, error);
    let target = fs::canonicalize(full);
    let full = target.as_deref().unwrap_or(full);
    match fs::metadata(full) {
        Ok(found) if found.is_dir() => return Err(fault(format!("`{path}` is a folder"))),
        // A pipe or a device, which is not replaced.
        Ok(found) if !found.is_file() => return Ok(()),
        _ => {}
    }
    let parent = full.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(named)?;
    let draft = draft_in(parent);
    File::create(&draft).map_err(named)?;
    fs::remove_file(&draft).map_err(named)
}

/// [`write`](fn@write) for a path that was not named by a program. What a link leads to is written there, and the link stays.
pub fn write_at(full: &Path, contents: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    write_guarded(full, contents, || Ok(()))
}

/// [`write_at`] of a file that takes its name only if it still `may`, asked at the last moment.
pub fn write_guarded(
    full: &Path,
    contents: impl FnOnce(&mut dyn Write) -> Result<()>,
    may: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let path = full.display().to_string();
    let target = fs::canonicalize(full);
    let full = target.as_deref().unwrap_or(full);
    let named = |error| io(&path, error);
    let parent = full.parent().ok_or_else(|| fault(format!("`{path}` has no folder")))?;
    // The folder of a bare name is the current one, which the system does not open by no name.
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    fs::create_dir_all(parent).map_err(named)?;
    let former = fs::metadata(full).ok();
    if former.as_ref().is_some_and(|former| !former.is_file() && !former.is_dir()) {
        // A pipe or a device cannot be replaced.
        let mut file = fs::OpenOptions::new().write(true).open(full).map_err(named)?;
        return contents(&mut file);
    }
    remove_left_behind(parent);
    let draft = draft_in(parent);
    let written = File::create(&draft).map_err(named).and_then(|file| {
        // It says that somebody writes it; where there are no locks, the name does.
        let _ = file.try_lock();
        if let Some(former) = former.filter(|former| former.is_file()) {
            // Who may read it stays as it was.
            fs::set_permissions(&draft, former.permissions()).map_err(named)?;
        }
        let mut file = std::io::BufWriter::with_capacity(1 << 16, file);
        contents(&mut file)?;
        file.flush().map_err(named)?;
        file.get_ref().sync_all().map_err(named)?;
        may()?;
        fs::rename(&draft, full).map_err(named)?;
        sync_folder(parent).map_err(named)
    });
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Makes sure that the names in a folder are on the disk.
pub fn sync_folder(folder: &Path) -> std::io::Result<()> {
    match cfg!(unix) {
        true => File::open(folder)?.sync_all(),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_a_file_of_the_current_folder() {
        let name = format!("fluvial-bare-{}.tmp", std::process::id());
        let written = write_at(Path::new(&name), |to| {
            to.write_all(b"1").unwrap();
            Ok(())
        });
        let found = fs::read(&name);
        fs::remove_file(&name).ok();
        assert!(written.is_ok(), "{written:?}");
        assert_eq!(found.unwrap(), b"1");
    }

    #[cfg(unix)]
    #[test]
    fn links_permissions_and_devices_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = std::env::temp_dir().join(format!("fluvial-links-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (file, link) = (folder.join("file"), folder.join("link"));
        fs::write(&file, b"before").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&file, &link).unwrap();
        let write = |path: &Path| {
            write_at(path, |to| {
                to.write_all(b"after").unwrap();
                Ok(())
            })
        };
        write(&link).unwrap();
        write(Path::new("/dev/null")).unwrap();
        // A writer that fails leaves the file as it was, and no draft.
        let failed = write_at(&file, |to| {
            to.write_all(b"half").unwrap();
            Err(fault("no more"))
        });
        let (found, mode) = (fs::read(&file), fs::metadata(&file).unwrap().permissions().mode());
        let is_link = fs::symlink_metadata(&link).unwrap().is_symlink();
        let n_files = fs::read_dir(&folder).unwrap().count();
        fs::remove_dir_all(&folder).unwrap();
        assert!(failed.is_err() && is_link);
        assert_eq!((found.unwrap(), mode & 0o777, n_files), (b"after".to_vec(), 0o600, 2));
    }
}
