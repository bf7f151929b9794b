//! The text files of the repository.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

/// One text file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The path from the root of the repository, with `/` between its parts.
    pub path: String,
    /// The whole contents.
    pub text: String,
}

impl Source {
    /// The folder in `crates/` that holds the file, as in `core` for `crates/core/src/lib.rs`.
    pub fn crate_folder(&self) -> Option<&str> {
        let (folder, _) = self.path.strip_prefix("crates/")?.split_once('/')?;
        Some(folder)
    }
}

/// The root of the repository.
///
/// Cargo names it when it runs us: two checkouts with one target folder may share a binary, which
/// then holds the path of the other one.
pub fn root() -> PathBuf {
    let manifest_dir = env::var_os("CARGO_MANIFEST_DIR");
    Path::new(&manifest_dir.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into())).join("../..")
}

/// Every text file under `root` in order of path, but for those that its `.gitignore` names.
///
/// Of the patterns it knows `name`, `name/` and `*suffix`, which match at any depth. It does not
/// ask git, so that the checks also run on an unpacked archive.
pub fn read(root: &Path) -> io::Result<Vec<Source>> {
    let patterns = fs::read_to_string(root.join(".gitignore"))?;
    let mut ignored: Vec<&str> = patterns.lines().map(|line| line.trim_end_matches('/')).collect();
    ignored.push(".git");

    let mut sources = Vec::new();
    let mut folders = vec![(root.to_path_buf(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if ignored.iter().any(|pattern| matches(pattern, &name)) {
                continue;
            }
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push((entry.path(), format!("{path}/")));
            } else if kind.is_file()
                && let Ok(text) = String::from_utf8(fs::read(entry.path())?)
            {
                sources.push(Source { path, text });
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sources)
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(suffix) => name.ends_with(suffix),
        None => name == pattern,
    }
}
