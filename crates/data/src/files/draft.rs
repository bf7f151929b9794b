//! Files that are being written: under a name of their own, until they are whole.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const PREFIX: &str = ".fluvial-";

/// A name that no other writer uses.
pub fn draft_in(folder: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    folder.join(format!("{PREFIX}{}-{number}", std::process::id()))
}

/// Whether a file is of a name that [`draft_in`] gives: unless somebody writes it now, it was left behind.
pub fn is_draft(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Removes drafts that processes have left behind in a folder when they were killed; each folder is looked at once.
/// Drafts of processes that live, and those that somebody has locked, stay.
pub fn remove_left_behind(folder: &Path) {
    static SEEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if !seen.insert(folder.to_path_buf()) {
        return;
    }
    drop(seen);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let Some(owner) = name.to_str().and_then(owner) else { continue };
        if owner == std::process::id() || !is_left_behind(&path, owner) {
            continue;
        }
        // Somebody else may have been faster.
        let _ = match path.is_dir() {
            true => fs::remove_dir_all(&path),
            false => fs::remove_file(&path),
        };
    }
}

/// The process that a draft is of.
fn owner(name: &str) -> Option<u32> {
    let (process, number) = name.strip_prefix(PREFIX)?.split_once('-')?;
    number.parse::<u64>().ok()?;
    process.parse().ok()
}

/// Whether nobody writes a draft any more.
fn is_left_behind(path: &Path, owner: u32) -> bool {
    /// After so long no process is taken for the writer by its number alone: it may be another one by now.
    const OLD: Duration = Duration::from_secs(24 * 3600);
    let is_old = fs::metadata(path)
        .and_then(|about| about.modified())
        .is_ok_and(|time| time.elapsed().is_ok_and(|age| age > OLD));
    let lives = match Path::new("/proc/self").exists() {
        true => Path::new("/proc").join(owner.to_string()).exists(),
        false => true,
    };
    let is_locked = || match File::open(path) {
        Ok(file) => path.is_file() && file.try_lock().is_err(),
        Err(_) => true,
    };
    (!lives || is_old) && !is_locked()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_left_behind_is_removed() {
        let folder = std::env::temp_dir().join(format!("fluvial-drafts-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        // No process has so high a number.
        let (left, locked) = (folder.join(".fluvial-4194305-0"), folder.join(".fluvial-4194305-1"));
        let (own, other) = (draft_in(&folder), folder.join(".fluvial-notes"));
        for path in [&left, &locked, &own, &other] {
            fs::write(path, "x").unwrap();
        }
        fs::create_dir(folder.join(".fluvial-4194305-2")).unwrap();
        let held = File::open(&locked).unwrap();
        held.try_lock().unwrap();
        remove_left_behind(&folder);
        let found = [&left, &locked, &own, &other].map(|path| path.exists());
        let is_folder_left = folder.join(".fluvial-4194305-2").exists();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, [false, true, true, true]);
        assert!(!is_folder_left);
    }
}
