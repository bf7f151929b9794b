//! What was copied between the host and devices, by the user's line.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};

use fluvial_tensor::Loc;

use crate::scope;
use crate::tape::lock;

/// What happened on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// File and line; nothing where no line is known.
    pub line: Option<(String, u32)>,
    /// Copies from a device to the host.
    pub downloads: u64,
    /// Their bytes.
    pub downloaded: u64,
    /// Copies from the host to a device.
    pub uploads: u64,
    /// Their bytes.
    pub uploaded: u64,
    /// Ops that ran on the host since the device could not run them, and how often.
    pub fallbacks: BTreeMap<&'static str, u64>,
}

type Key = Option<(String, u32)>;

static LINES: Mutex<BTreeMap<Key, Entry>> = Mutex::new(BTreeMap::new());

static FINDER: OnceLock<fn() -> Loc> = OnceLock::new();

/// Has the user's line found in this way where ops are not told it.
pub fn find_lines_by(finder: fn() -> Loc) {
    let _ = FINDER.set(finder);
}

fn note(change: impl FnOnce(&mut Entry)) {
    let loc = match scope::line_or(Loc::Unknown) {
        Loc::Unknown => FINDER.get().map_or(Loc::Unknown, |find| find()),
        known => known,
    };
    let line = loc.is_known().then(|| (loc.file().to_string(), loc.line()));
    let mut lines = lock(&LINES);
    let entry = lines.entry(line.clone()).or_insert_with(|| Entry { line, ..Entry::default() });
    change(entry);
}

pub(super) fn downloaded(bytes: usize) {
    note(|entry| {
        entry.downloads += 1;
        entry.downloaded += bytes as u64;
    });
}

pub(super) fn uploaded(bytes: usize) {
    note(|entry| {
        entry.uploads += 1;
        entry.uploaded += bytes as u64;
    });
}

pub(super) fn fell_back(op: &'static str) {
    note(|entry| *entry.fallbacks.entry(op).or_default() += 1);
}

/// What was copied between the host and devices since the last [`clear_report`], by line, and which ops fell back.
pub fn report() -> Vec<Entry> {
    lock(&LINES).values().cloned().collect()
}

/// Forgets what was copied so far.
pub fn clear_report() {
    lock(&LINES).clear();
}
