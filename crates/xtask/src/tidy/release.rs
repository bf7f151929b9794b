//! What a release needs of the manifests: one version, and metadata of every public crate.

use toml::{Table, Value};

use super::manifests::{Manifests, subtable};
use crate::tree::Source;

/// What a public crate takes from the workspace.
const INHERITED: [&str; 7] =
    ["version", "edition", "rust-version", "license", "readme", "keywords", "categories"];

/// Files besides the manifests that name the version, and what stands before it.
const NAMED: [(&str, &str); 2] =
    [("CITATION.cff", "\nversion: "), ("editors/vscode/package.json", "\n  \"version\": \"")];

/// The version of the workspace is the only one, and a crate is private or has its metadata.
pub fn release(tree: &[Source]) -> Vec<String> {
    match Manifests::read(tree) {
        Ok(manifests) => faults(tree, &manifests),
        Err(fault) => vec![fault],
    }
}

fn faults(tree: &[Source], manifests: &Manifests) -> Vec<String> {
    let workspace = subtable(&manifests.workspace, "workspace");
    let package = workspace.and_then(|table| subtable(table, "package"));
    let Some(version) = package.and_then(|table| table.get("version")?.as_str()) else {
        return vec!["Cargo.toml: the workspace has no version".to_string()];
    };
    let mut faults = Vec::new();
    let dependencies = workspace.and_then(|table| subtable(table, "dependencies"));
    let mut public = Vec::new();
    for (path, _, table) in &manifests.crates {
        let Some(package) = subtable(table, "package") else {
            faults.push(format!("{path}: no package"));
            continue;
        };
        let is_private = package.get("publish") == Some(&Value::Boolean(false));
        if !is_private {
            public.extend(package.get("name").and_then(Value::as_str));
        }
        let wanted = if is_private { &INHERITED[..1] } else { &INHERITED[..] };
        let missing = wanted.iter().filter(|key| !inherits(package, key));
        faults.extend(missing.map(|key| format!("{path}: `{key}` is not the workspace's")));
        if !package.contains_key("description") {
            faults.push(format!("{path}: no description"));
        }
    }
    for (name, spec) in dependencies.into_iter().flatten() {
        let found = spec.get("version").and_then(Value::as_str);
        if public.contains(&name.as_str()) && found != Some(version) {
            faults.push(format!("Cargo.toml: {name} is not asked for in version {version}"));
        }
    }
    for (path, before) in NAMED {
        let source = tree.iter().find(|source| source.path == path);
        let found = source.and_then(|source| source.text.split_once(before)).map(|(_, rest)| rest);
        let end = |rest: &str| rest.starts_with(['"', '\n']);
        if !found.and_then(|rest| rest.strip_prefix(version)).is_some_and(end) {
            faults.push(format!("{path}: its version is not {version}"));
        }
    }
    faults
}

fn inherits(package: &Table, key: &str) -> bool {
    let of_workspace = package.get(key).and_then(|value| value.get("workspace"));
    of_workspace == Some(&Value::Boolean(true))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(dependency: &str, core: &str, citation: &str, expected: Expect) {
        let file =
            |path: &str, text: String| Source { path: path.to_string(), text: text.to_string() };
        let root = format!(
            "[workspace.package]\nversion = \"0.2.0\"\n[workspace.dependencies]\n{dependency}"
        );
        let package = format!("[package]\nname = \"fluvial-core\"\ndescription = \"\"\n{core}");
        let tree = [
            file("Cargo.toml", root),
            file("crates/core/Cargo.toml", package),
            file("CITATION.cff", format!("a: b\nversion: {citation}\n")),
            file("editors/vscode/package.json", "{\n  \"version\": \"0.2.0\",\n}".to_string()),
        ];
        expected.assert_eq(&release(&tree).join("\n"));
    }

    fn inherited(keys: &[&str]) -> String {
        keys.iter().map(|key| format!("{key}.workspace = true\n")).collect()
    }

    #[test]
    fn one_version_and_all_metadata_will_do() {
        let dependency = "fluvial-core = { version = \"0.2.0\", path = \"\" }";
        check(dependency, &inherited(&INHERITED), "0.2.0", expect![""]);
    }

    #[test]
    fn a_private_crate_needs_a_version_only() {
        let core = inherited(&["version"]) + "publish = false";
        check("fluvial-core = { path = \"\" }", &core, "0.2.0", expect![""]);
    }

    #[test]
    fn other_versions_and_missing_metadata_are_named() {
        check(
            "fluvial-core = { version = \"0.1.0\", path = \"\" }",
            &inherited(&INHERITED[..6]),
            "0.2.01",
            expect![[r#"
                crates/core/Cargo.toml: `categories` is not the workspace's
                Cargo.toml: fluvial-core is not asked for in version 0.2.0
                CITATION.cff: its version is not 0.2.0"#]],
        );
    }
}
