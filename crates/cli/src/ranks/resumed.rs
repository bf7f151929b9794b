//! Ranks that go on with a run of another number of ranks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fluvial::core::{Error, Program, Result};
use fluvial::data::files;
use fluvial::runtime::{Checkpoint, Checkpoints, OtherRanks};

/// The folder of a rank.
pub fn folder_of(folder: &Path, rank: usize, world: usize) -> PathBuf {
    folder.join(format!("rank-{rank}-of-{world}"))
}

/// What a folder has of a run: how many ranks it was of, and the latest step that all of them have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    pub world: usize,
    pub step: u64,
}

/// The latest that the folder has: of this number of ranks, if another has no later step.
pub fn latest(folder: &Path, world: usize) -> Result<Option<Saved>> {
    let mut worlds: BTreeMap<usize, usize> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let parts = name.strip_prefix("rank-").and_then(|name| name.split_once("-of-"));
        let parts =
            parts.and_then(|(rank, n)| Some((rank.parse::<usize>().ok()?, n.parse().ok()?)));
        if let Some((_, n)) = parts {
            *worlds.entry(n).or_default() += 1;
        }
    }
    let mut best: Option<Saved> = None;
    for (n, seen) in worlds {
        let Some(step) = common_step(folder, n)? else {
            if seen < n && n != world && !has_steps(folder, n)? {
                continue;
            }
            if n != world {
                return Err(files::fault(format!(
                    "`{}` has checkpoints of {n} ranks, but no step of which all of them can be seen here",
                    folder.display()
                ))
                .remedy(format!("use a folder that all ranks see, or go on with {n} ranks")));
            }
            continue;
        };
        let found = Saved { world: n, step };
        let is_later = |known: Saved| step > known.step || (step == known.step && n == world);
        if best.is_none_or(is_later) {
            best = Some(found);
        }
    }
    Ok(best)
}

fn steps(folder: &Path, rank: usize, world: usize) -> Result<Vec<u64>> {
    let found = Checkpoints::new(folder_of(folder, rank, world)).list()?;
    Ok(found.into_iter().map(|(step, _)| step).collect())
}

fn has_steps(folder: &Path, world: usize) -> Result<bool> {
    for rank in 0..world {
        if !steps(folder, rank, world)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The latest step that all ranks have a checkpoint of.
fn common_step(folder: &Path, world: usize) -> Result<Option<u64>> {
    let mut common = steps(folder, 0, world)?;
    for rank in 1..world {
        let own = steps(folder, rank, world)?;
        common.retain(|step| own.contains(step));
    }
    Ok(common.into_iter().max())
}

/// The compiled programs of one run, for the numbers of ranks that there were, that there are, and for one.
pub struct Programs {
    pub then: Program,
    pub alone: Program,
    pub now: Program,
}

/// Puts the checkpoint with which this rank goes on into its folder. Gives how many batches come once more.
pub fn adopt(
    folder: &Path,
    saved: Saved,
    programs: &Programs,
    (rank, world): (usize, usize),
    own: &Checkpoints,
) -> Result<u64> {
    let mut all = Vec::new();
    for other in 0..saved.world {
        let kept = Checkpoints::new(folder_of(folder, other, saved.world));
        let found = kept.list()?.into_iter().find(|(step, _)| *step == saved.step);
        let Some((_, path)) = found else {
            return Err(Error::state(format!("the checkpoint of rank {other} is gone")));
        };
        all.push(Checkpoint::read(&path)?);
    }
    let Programs { then, alone, now } = programs;
    let (checkpoint, again) =
        OtherRanks { all: &all, then, alone, now, rank, world }.checkpoint()?;
    own.adopt(&checkpoint)?;
    Ok(again)
}

/// Removes what ranks of another number have left.
pub fn forget(folder: &Path, world: usize) {
    for rank in 0..world {
        // What stays is older than what the ranks write from now on.
        let _ = std::fs::remove_dir_all(folder_of(folder, rank, world));
    }
}
