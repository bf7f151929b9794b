//! The user's lines. A program names the files it was written in; a program of somebody else may name any file, so only
//! sources below the folders that were given are read.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

/// Endings of files that may be sources.
const ENDINGS: [&str; 3] = ["py", "rs", "fl"];

/// A longer file is not a source.
const LONGEST: u64 = 1 << 22;

/// Lines around the one that is asked for.
const AROUND: usize = 12;

/// The lines around a line of a file, or why they cannot be shown.
pub fn lines(folders: &[PathBuf], file: &str, line: usize) -> Result<Json, String> {
    let path = locate(folders, file)?;
    let text = std::fs::read_to_string(&path).map_err(|error| format!("`{file}`: {error}"))?;
    let first = line.saturating_sub(AROUND + 1);
    let lines: Vec<&str> = text.lines().skip(first).take(2 * AROUND + 1).collect();
    Ok(json!({"file": file, "line": line, "first": first + 1, "lines": lines}))
}

fn locate(folders: &[PathBuf], file: &str) -> Result<PathBuf, String> {
    let path = Path::new(file);
    let is_source =
        path.extension().and_then(|end| end.to_str()).is_some_and(|end| ENDINGS.contains(&end));
    if !is_source {
        return Err(format!("`{file}` is not a source of Python, Rust or Fluvial"));
    }
    for folder in folders {
        let Ok(folder) = folder.canonicalize() else { continue };
        // An absolute path takes the place of the folder.
        let Ok(found) = folder.join(path).canonicalize() else { continue };
        let is_short =
            found.metadata().is_ok_and(|found| found.is_file() && found.len() <= LONGEST);
        if found.starts_with(&folder) && is_short {
            return Ok(found);
        }
    }
    let listed: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    Err(format!(
        "`{file}` is not below {}; start the page where the source is, or name its folder: --source DIR",
        listed.join(" or ")
    ))
}
