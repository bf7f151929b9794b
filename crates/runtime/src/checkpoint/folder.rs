//! The folder of a run: which checkpoints it has, and whose it is.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::path::{Path, PathBuf};

use fluvial_core::{Error, Result};
use fluvial_data::files;

use super::file::{self, io};
use super::{Checkpoint, Checkpoints, Notice};

/// The file that is locked while a run uses the folder.
const LOCK: &str = "lock";

/// A number for a new run that no other one has.
pub(super) fn new_run() -> u64 {
    // Zero is that of runs of older versions.
    RandomState::new().hash_one(std::process::id()).max(1)
}

/// While it lives, the folder is locked.
pub(super) struct Claim {
    path: PathBuf,
    _file: File,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Checkpoints {
    /// Makes the folder, finds out whether it can be written to, and locks it.
    pub(super) fn claim(&self) -> Result<Claim> {
        let folder = &self.folder;
        let unusable = |error: std::io::Error| {
            io(folder, error)
                .note("checkpoints cannot be written there")
                .remedy("give a folder that can be written to")
        };
        fs::create_dir_all(folder).map_err(unusable)?;
        let path = folder.join(LOCK);
        loop {
            let mut options = OpenOptions::new();
            let opened = options.create(true).truncate(false).write(true).read(true).open(&path);
            let mut file = opened.map_err(unusable)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(self.in_use(&path)),
                // A file system without locks; there nobody can tell.
                Err(TryLockError::Error(_)) => {}
            }
            // The run that had the lock may have removed the file in between.
            if !is_same(&file, &path) {
                continue;
            }
            let mut noted = || {
                file.set_len(0)?;
                file.write_all(std::process::id().to_string().as_bytes())?;
                file.sync_all()
            };
            noted().map_err(unusable)?;
            return Ok(Claim { path, _file: file });
        }
    }

    fn in_use(&self, lock: &Path) -> Error {
        let holder = fs::read_to_string(lock).unwrap_or_default();
        let holder: u32 = holder.trim().parse().unwrap_or_default();
        let by = if holder == 0 { String::new() } else { format!(" (process {holder})") };
        files::fault(format!(
            "another run{by} writes its checkpoints to `{}` now",
            self.folder.display()
        ))
        .remedy("give this run a folder of its own, or wait until the other one has ended")
    }

    /// An error if there are checkpoints.
    pub(super) fn check_unused(&self) -> Result<()> {
        let Some((step, _)) = self.list()?.into_iter().next() else { return Ok(()) };
        let folder = self.folder.display();
        Err(files::fault(format!("`{folder}` has checkpoints of another run, up to step {step}"))
            .remedy("go on with that run by `--resume` (in Python `resume=True`), or give a new run a folder of its own"))
    }

    /// The checkpoints in the folder, the latest first, with their steps.
    pub fn list(&self) -> Result<Vec<(u64, PathBuf)>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io(&self.folder, error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry.map_err(|error| io(&self.folder, error))?.path();
            let step = path.file_name().and_then(|name| {
                let name = name.to_str()?.strip_prefix("step-")?.strip_suffix(".safetensors")?;
                name.parse().ok()
            });
            found.extend(step.map(|step| (step, path)));
        }
        found.sort_by_key(|(step, _)| std::cmp::Reverse(*step));
        Ok(found)
    }

    /// Puts a checkpoint of another run, or of another number of ranks, into the folder, for a run that goes on from it.
    pub fn adopt(&self, checkpoint: &Checkpoint) -> Result<PathBuf> {
        let _claim = self.claim()?;
        self.forget_after(None)?;
        self.write(checkpoint, None)
    }

    /// Removes the checkpoints after a step; all of them, if there is none to keep.
    pub fn forget_after(&self, step: Option<u64>) -> Result<()> {
        for (own, path) in self.list()? {
            if step.is_none_or(|step| own > step) {
                fs::remove_file(&path).map_err(|error| io(&path, error))?;
            }
        }
        Ok(())
    }

    /// The latest checkpoint that can be read, and why later ones cannot. Checkpoints of several runs are an error.
    pub fn latest(&self) -> Result<(Option<Checkpoint>, Vec<Error>)> {
        let (found, faults) = self.latest_at()?;
        Ok((found.map(|(_, checkpoint)| checkpoint), faults))
    }

    fn latest_at(&self) -> Result<(Option<(PathBuf, Checkpoint)>, Vec<Error>)> {
        let (mut faults, mut found) = (Vec::new(), None::<(PathBuf, Checkpoint)>);
        for (_, path) in self.list()? {
            let Some((latest, checkpoint)) = &found else {
                match Checkpoint::read(&path) {
                    Ok(checkpoint) => found = Some((path, checkpoint)),
                    Err(fault) => faults.push(fault),
                }
                continue;
            };
            // What cannot be read is nobody's.
            if file::run_of(&path).is_ok_and(|run| run != checkpoint.run) {
                let folder = self.folder.display();
                return Err(files::fault(format!("`{folder}` has checkpoints of several runs"))
                    .note(format!(
                        "`{}` and `{}` are of two runs",
                        latest.display(),
                        path.display()
                    ))
                    .remedy("move those of one run to a folder of their own"));
            }
        }
        Ok((found, faults))
    }

    /// The latest checkpoint that can be read; of others somebody is told. An error if there are only others.
    pub(super) fn latest_told(&self) -> Result<Option<(PathBuf, Checkpoint)>> {
        let (found, mut faults) = self.latest_at()?;
        if found.is_none() && !faults.is_empty() {
            return Err(faults.swap_remove(0));
        }
        faults.iter().for_each(|fault| (self.tell)(&Notice::Damaged(fault)));
        Ok(found)
    }

    /// Removes what a run left that was ended while it wrote.
    pub(super) fn remove_drafts(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let is_draft = |path: &PathBuf| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(files::is_draft)
        };
        for path in entries.map(|entry| entry.path()).filter(is_draft) {
            let _ = fs::remove_file(path);
        }
    }

    /// Writes a checkpoint, then removes the oldest ones of the run, unless too few whole ones would be left. The one of
    /// the step that is `common` to all ranks stays.
    pub(super) fn write(&self, checkpoint: &Checkpoint, common: Option<u64>) -> Result<PathBuf> {
        let path = self.folder.join(format!("step-{:012}.safetensors", checkpoint.step));
        let may = || self.guard.as_ref().map_or(Ok(()), |may| may());
        may()?;
        // Who slept while it wrote may be late.
        checkpoint.write_guarded(&path, may)?;
        let all = self.list()?;
        if all.len() <= self.keep {
            return Ok(path);
        }
        // Who was late all the same removes nothing of what the later start has.
        may()?;
        let mut n_whole = 0;
        for (step, old) in all {
            if common == Some(step) {
                continue;
            }
            if n_whole < self.keep {
                n_whole += usize::from(old == path || file::verify(&old).is_ok());
                continue;
            }
            // A damaged one says nothing, but can be of this run only: others are not taken up here.
            if file::run_of(&old).is_ok_and(|run| run != checkpoint.run) {
                continue;
            }
            // Somebody else may have removed it.
            let _ = fs::remove_file(old);
        }
        Ok(path)
    }
}

/// Whether a path still leads to the file that was opened.
#[cfg(unix)]
fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |about: fs::Metadata| (about.dev(), about.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(opened), Ok(named)) => place(opened) == place(named),
        _ => false,
    }
}

/// Elsewhere a file that is open cannot be removed.
#[cfg(not(unix))]
fn is_same(_: &File, _: &Path) -> bool {
    true
}
