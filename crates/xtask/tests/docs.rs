//! Documents that quote code quote it as it is.

use xtask::tree;

#[test]
fn the_worked_example_is_the_op_file() {
    let root = tree::root();
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let page = read("docs/ADD_AN_OP.md");
    let quoted =
        page.split("```rs\n").nth(1).and_then(|rest| rest.split("```\n\nWhat each").next());
    assert_eq!(quoted, Some(&*read("crates/ops/src/unary/softsign.rs")));
}

#[test]
fn the_walk_passes_the_functions_that_it_names() {
    let root = tree::root();
    let page = std::fs::read_to_string(root.join("docs/internals/walk.md")).unwrap();
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains(".rs`"))
        .map(|line| line.split('|').map(str::trim).skip(2).collect())
        .collect();
    assert!((5..=7).contains(&rows.len()), "{} files", rows.len());
    for row in &rows {
        let path = row[0].trim_matches('`');
        let text = std::fs::read_to_string(root.join(path)).expect(path);
        for name in row[1].split(", ").map(|name| name.trim_matches('`')) {
            let found = [" fn ", "\nfn "].iter().any(|start| {
                let from = format!("{start}{name}");
                text.split(&from).skip(1).any(|rest| rest.starts_with(['(', '<']))
            });
            assert!(found, "{path} has no function `{name}`");
        }
        let code = row[2].trim_matches('`');
        assert!(text.contains(code), "{path} does not hand over by `{code}`");
    }
}
