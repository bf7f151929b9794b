//! The rules of the repository that a program can check.
//!
//! A rule reads the tree and returns its faults, each as one line that starts with the path.

mod layers;
mod manifests;
mod release;
mod tokens;

pub use layers::layers;
pub use release::release;

use crate::{codegen, tree::Source};
use tokens::{Token, find};

/// A rule and its name.
pub type Rule = (&'static str, fn(&[Source]) -> Vec<String>);

/// Every rule.
pub const RULES: [Rule; 7] = [
    ("layers", layers),
    ("release", release),
    ("unsafe code", unsafe_code),
    ("file length", file_length),
    ("unfinished code", unfinished_code),
    ("machine paths", machine_paths),
    ("crate docs", crate_docs),
];

const UNSAFE_CRATES: [&str; 5] = ["tensor", "kernels", "py", "capi", "bench"];
/// The calls into a library of MPI.
const UNSAFE_FILE: &str = "crates/dist/src/mpi/ffi.rs";
const MAX_LINES: usize = 600;
const UNFINISHED: [&str; 5] =
    ["todo !", "unimplemented !", "dbg !", "# [ ignore", "# [ should_panic"];
const MACHINE_ROOTS: [&str; 4] = ["home", "root", "work", "Users"];

/// Checks every rule; the error lists all faults.
pub fn check(tree: &[Source]) -> Result<(), String> {
    let faults: Vec<String> = RULES
        .iter()
        .flat_map(|(name, rule)| {
            rule(tree).into_iter().map(move |fault| format!("{fault} [{name}]"))
        })
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// `unsafe` stands only in the crates that need it, and in one file.
pub fn unsafe_code(tree: &[Source]) -> Vec<String> {
    each_rust_file(tree, |source, tokens| {
        let is_of_crate =
            source.crate_folder().is_some_and(|folder| UNSAFE_CRATES.contains(&folder));
        if is_of_crate || source.path == UNSAFE_FILE {
            return Vec::new();
        }
        find(tokens, "unsafe")
            .map(|at| format!("{}:{}: unsafe", source.path, tokens[at].line))
            .collect()
    })
}

/// A file of Rust or Python that people write stays short, its `#[cfg(test)] mod tests` apart.
pub fn file_length(tree: &[Source]) -> Vec<String> {
    let too_long = |source: &Source, n_tests: usize| {
        let n_lines = source.text.lines().count() - n_tests;
        (n_lines > MAX_LINES && !codegen::is_generated(source))
            .then(|| format!("{}: {n_lines} lines, at most {MAX_LINES}", source.path))
    };
    let mut faults = each_rust_file(tree, |source, tokens| {
        too_long(source, tokens::lines_of_tests(tokens)).into_iter().collect()
    });
    let python = tree.iter().filter(|source| source.path.ends_with(".py"));
    faults.extend(python.filter_map(|source| too_long(source, 0)));
    faults
}

/// No code is left unfinished, and no test is skipped or passes by any panic.
pub fn unfinished_code(tree: &[Source]) -> Vec<String> {
    each_rust_file(tree, |source, tokens| {
        let faults = UNFINISHED.iter().flat_map(|pattern| {
            find(tokens, pattern).map(move |at| {
                format!("{}:{}: {}", source.path, tokens[at].line, pattern.replace(' ', ""))
            })
        });
        faults.collect()
    })
}

/// No file names a path of a developer's machine.
pub fn machine_paths(tree: &[Source]) -> Vec<String> {
    let mut faults = Vec::new();
    for source in tree {
        for (line_idx, line) in source.text.lines().enumerate() {
            let roots = MACHINE_ROOTS.iter().map(|name| format!("/{name}/"));
            let roots = roots.filter(|root| has_path_from(line, root));
            faults.extend(roots.map(|root| format!("{}:{}: {root}", source.path, line_idx + 1)));
        }
    }
    faults
}

/// A crate starts with its documentation.
pub fn crate_docs(tree: &[Source]) -> Vec<String> {
    tree.iter()
        .filter(|source| {
            let file =
                source.crate_folder().map(|folder| &source.path["crates/".len() + folder.len()..]);
            file == Some("/src/lib.rs") && !source.text.starts_with("//!")
        })
        .map(|source| format!("{}:1: must start with //!", source.path))
        .collect()
}

fn each_rust_file(tree: &[Source], rule: impl Fn(&Source, &[Token]) -> Vec<String>) -> Vec<String> {
    tree.iter()
        .filter(|source| source.path.ends_with(".rs"))
        .flat_map(|source| match tokens::tokens(&source.text) {
            Ok(tokens) => rule(source, &tokens),
            Err(error) => vec![format!("{}: {error}", source.path)],
        })
        .collect()
}

fn has_path_from(line: &str, root: &str) -> bool {
    line.match_indices(root).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + root.len()..].chars().next();
        let is_inside_path = before.is_some_and(|c| c.is_alphanumeric() || "._-~)}>*".contains(c));
        !is_inside_path && after.is_some_and(|c| c.is_alphanumeric() || "._-".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(rule: fn(&[Source]) -> Vec<String>, path: &str, text: &str, expected: Expect) {
        let tree = [Source { path: path.to_string(), text: text.to_string() }];
        expected.assert_eq(&rule(&tree).join("\n"));
    }

    #[test]
    fn unsafe_is_found_as_a_keyword_only() {
        let text = "// unsafe\nconst A: &str = \"unsafe\";\nunsafe fn f() {}";
        check(unsafe_code, "crates/core/src/a.rs", text, expect!["crates/core/src/a.rs:3: unsafe"]);
        check(unsafe_code, "crates/kernels/src/a.rs", text, expect![""]);
        check(
            unsafe_code,
            "examples/a.rs",
            "fn (",
            expect!["examples/a.rs: cannot parse string into token stream"],
        );
    }

    #[test]
    fn length_leaves_out_tests_and_generated_files() {
        let code = "fn f() {}\n".repeat(601);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{code}}}\n");
        let generated = format!("// {}\n{code}", codegen::MARKER);
        check(file_length, "a.rs", &code, expect!["a.rs: 601 lines, at most 600"]);
        check(file_length, "a.py", &code, expect!["a.py: 601 lines, at most 600"]);
        check(file_length, "a.rs", &tests, expect![""]);
        check(file_length, "a.rs", &generated, expect![""]);
    }

    #[test]
    fn unfinished_code_is_found_in_code_only() {
        // Written in parts, so that a plain search for such places does not find this one.
        let later = concat!("to", "do!()");
        let text = format!(
            "/// {later}\nfn f() {{ {later} }}\n#[{} = \"slow\"]\nfn g() {{ dbg!(1); }}",
            "ignore"
        );
        check(
            unfinished_code,
            "a.rs",
            &text,
            expect![[r#"
                a.rs:2: todo!
                a.rs:4: dbg!
                a.rs:3: #[ignore"#]],
        );
    }

    #[test]
    fn machine_paths_are_told_from_parts_of_paths() {
        let root = format!("/{}/", MACHINE_ROOTS[0]);
        let text = format!("see {root}ann/a\nhttps://a.org{root}ann\nfile://{root}ann\n{root}*\n");
        check(
            machine_paths,
            "a.md",
            &text,
            expect![[r#"
                a.md:1: /home/
                a.md:3: /home/"#]],
        );
    }

    #[test]
    fn crates_without_docs_are_named() {
        let path = "crates/core/src/lib.rs";
        check(crate_docs, path, "mod a;", expect!["crates/core/src/lib.rs:1: must start with //!"]);
        check(crate_docs, path, "//! The core.", expect![""]);
        check(crate_docs, "crates/core/src/a/src/lib.rs", "mod a;", expect![""]);
    }
}
