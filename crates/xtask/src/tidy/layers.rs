//! Which crate may use which.

use std::collections::HashMap;

use toml::{Table, Value};

use super::manifests::{Manifests, subtable};
use crate::tree::Source;

/// A crate may use those in the rows above its own.
const LAYERS: [&[&str]; 13] = [
    &["tensor", "linalg"],
    &["dist"],
    &["kernels", "data"],
    &["core"],
    &["ops"],
    &["compile"],
    &["runtime"],
    &["export", "gpu"],
    &["debug"],
    &["fluvial"],
    &["bridge", "capi", "view"],
    &["cli"],
    &["py"],
];

/// These may use every crate; the others use them in tests only.
const TOOLS: [&str; 3] = ["bench", "testkit", "xtask"];

/// The manifests keep the order of the crates.
pub fn layers(tree: &[Source]) -> Vec<String> {
    match Manifests::read(tree) {
        Ok(manifests) => faults(&manifests),
        Err(fault) => vec![fault],
    }
}

fn faults(manifests: &Manifests) -> Vec<String> {
    let workspace = subtable(&manifests.workspace, "workspace")
        .and_then(|table| subtable(table, "dependencies"));
    let folders: HashMap<&str, &str> = manifests
        .crates
        .iter()
        .filter_map(|(_, folder, table)| {
            Some((subtable(table, "package")?.get("name")?.as_str()?, *folder))
        })
        .collect();

    let mut faults = Vec::new();
    for (path, folder, table) in &manifests.crates {
        if layer(folder).is_none() && !TOOLS.contains(folder) {
            faults.push(format!("{path}: {folder} has no layer yet"));
            continue;
        }
        for (kind, key, spec) in dependencies(table) {
            let of_workspace = workspace.and_then(|table| table.get(key));
            let renamed = [Some(spec), of_workspace]
                .into_iter()
                .find_map(|spec| spec?.get("package")?.as_str());
            let Some(used) = folders.get(renamed.unwrap_or(key)) else { continue };
            if !may_use(folder, used, kind) {
                faults.push(format!("{path}: {folder} may not use {used} in {kind}"));
            }
        }
    }
    faults
}

fn may_use(user: &str, used: &str, kind: &str) -> bool {
    if TOOLS.contains(&user) {
        return true;
    }
    if TOOLS.contains(&used) {
        return kind == "dev-dependencies";
    }
    layer(used).is_some_and(|used| Some(used) < layer(user))
}

fn layer(folder: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&folder))
}

/// Kind, key and specification of every dependency, those of single targets included.
fn dependencies(manifest: &Table) -> Vec<(&'static str, &str, &Value)> {
    let targets = subtable(manifest, "target").into_iter().flat_map(Table::values);
    let tables = targets.filter_map(Value::as_table).chain([manifest]);
    let mut dependencies = Vec::new();
    for table in tables {
        for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
            let entries = subtable(table, kind).into_iter().flatten();
            dependencies.extend(entries.map(|(key, spec)| (kind, key.as_str(), spec)));
        }
    }
    dependencies
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// Adds `core_manifest` to a workspace of one crate from each kind of layer.
    fn check(core_manifest: &str, expected: Expect) {
        let package = |folder: &str| format!("[package]\nname = \"fluvial-{folder}\"\n");
        let manifest = |folder: &str, rest: &str| Source {
            path: format!("crates/{folder}/Cargo.toml"),
            text: package(folder) + rest,
        };
        let root = "[workspace.dependencies]\nalias = { package = \"fluvial-ops\", path = \"\" }";
        let tree = [
            Source { path: "Cargo.toml".to_string(), text: root.to_string() },
            manifest("tensor", ""),
            manifest("core", core_manifest),
            manifest("ops", ""),
            manifest("testkit", "[dependencies]\nfluvial-ops.workspace = true"),
        ];
        expected.assert_eq(&layers(&tree).join("\n"));
    }

    #[test]
    fn a_crate_may_use_what_lies_above_it() {
        check("[dependencies]\nhalf = \"2\"\nfluvial-tensor.workspace = true", expect![""]);
    }

    #[test]
    fn a_crate_may_not_use_what_lies_below_it() {
        for table in ["dependencies", "target.'cfg(unix)'.dependencies"] {
            check(
                &format!("[{table}]\nfluvial-ops.workspace = true"),
                expect!["crates/core/Cargo.toml: core may not use ops in dependencies"],
            );
        }
        check(
            "[dev-dependencies]\nalias.workspace = true",
            expect!["crates/core/Cargo.toml: core may not use ops in dev-dependencies"],
        );
    }

    #[test]
    fn tools_serve_tests_only() {
        check("[dev-dependencies]\nfluvial-testkit.workspace = true", expect![""]);
        check(
            "[build-dependencies]\nfluvial-testkit.workspace = true",
            expect!["crates/core/Cargo.toml: core may not use testkit in build-dependencies"],
        );
    }

    #[test]
    fn the_command_line_does_not_know_python() {
        assert!(may_use("cli", "fluvial", "dependencies"));
        assert!(!may_use("cli", "py", "dependencies"));
        assert!(may_use("py", "cli", "dependencies"));
    }

    #[test]
    fn a_new_crate_needs_a_layer() {
        let text = "[package]\nname = \"fluvial-onnx\"".to_string();
        let tree = [Source { path: "crates/onnx/Cargo.toml".to_string(), text }];
        expect!["crates/onnx/Cargo.toml: onnx has no layer yet"]
            .assert_eq(&layers(&tree).join("\n"));
    }
}
