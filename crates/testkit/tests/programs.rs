//! The programs in `programs/`: each says in comments what comes of it.

use std::fs;
use std::path::{Path, PathBuf};

use fluvial_testkit::filetest;

/// The files of a folder of `programs/`, by name.
fn files(folder: &str) -> Vec<PathBuf> {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs").join(folder);
    let entries = fs::read_dir(programs).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "fl")).collect();
    files.sort();
    files
}

/// Checks every file, and tells of all that fail.
fn check(folder: &str, at_least: usize, is_refused: bool) {
    let registry = fluvial_ops::registry();
    let files = files(folder);
    assert!(files.len() >= at_least, "only {} files are there", files.len());
    let mut faults = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if text.starts_with("# error:") != is_refused {
            faults.push(format!("{name}: refused files, and no others, start with `# error:`"));
        }
        if let Err(failure) = filetest::check(&text, &registry) {
            faults.push(format!("{name}: {failure}"));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n\n"));
}

#[test]
fn accepted() {
    check("", 14, false);
}

#[test]
fn refused() {
    check("refused", 16, true);
}
