//! The manifests of the workspace, as tables.

use toml::Table;

use crate::tree::Source;

/// What the manifests of the workspace say.
pub(super) struct Manifests<'a> {
    /// Path, folder and contents.
    pub(super) crates: Vec<(&'a str, &'a str, Table)>,
    pub(super) workspace: Table,
}

impl<'a> Manifests<'a> {
    /// Those of the tree; the error names one that cannot be read.
    pub(super) fn read(tree: &'a [Source]) -> Result<Manifests<'a>, String> {
        let mut manifests = Manifests { crates: Vec::new(), workspace: Table::new() };
        for source in tree {
            let folder = source.crate_folder();
            let is_of_crate =
                folder.is_some_and(|name| source.path == format!("crates/{name}/Cargo.toml"));
            if !is_of_crate && source.path != "Cargo.toml" {
                continue;
            }
            let table: Table =
                source.text.parse().map_err(|error| format!("{}: {error}", source.path))?;
            match folder {
                Some(folder) => manifests.crates.push((&source.path, folder, table)),
                None => manifests.workspace = table,
            }
        }
        Ok(manifests)
    }
}

/// The table that stands at a key.
pub(super) fn subtable<'a>(table: &'a Table, key: &str) -> Option<&'a Table> {
    table.get(key)?.as_table()
}
