//! The examples of `docs/command_line.md` and `docs/fl_language.md` do what the pages say, and the page of options is fresh.

use std::fs;
use std::path::Path;

use crate::sandbox::Sandbox;

/// Stands for any lines of output, and for anything within a line.
const ANY: &str = "..";

#[test]
fn the_page_shows_what_happens() {
    check("command_line.md", 20);
}

#[test]
fn the_page_of_the_language_shows_what_happens() {
    check("fl_language.md", 12);
}

/// Runs the commands of a page. A block that begins with "```fl NAME" is a file of that name.
fn check(name: &str, least: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let page = fs::read_to_string(&path).unwrap();
    let sandbox = Sandbox::new();
    let mut n_commands = 0;
    let (mut updated, mut is_example) = (String::new(), false);
    let mut shown: Vec<&str> = Vec::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        updated += &format!("{line}\n");
        if line.starts_with("```") {
            is_example = line == "```console";
        }
        if let Some(file) = line.strip_prefix("```fl ") {
            let mut text = String::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("```")) {
                text += &format!("{line}\n");
            }
            updated += &text;
            sandbox.write(file, &text);
        }
        let Some(command) = line.strip_prefix("$ ").filter(|_| is_example) else { continue };
        shown.clear();
        while let Some(line) =
            lines.next_if(|line| !line.starts_with("$ ") && !line.starts_with("```"))
        {
            shown.push(line);
        }
        n_commands += 1;
        let found = run(&sandbox, command);
        match matches(&shown, &found.lines().collect::<Vec<_>>()) {
            true => shown.iter().for_each(|line| updated += &format!("{line}\n")),
            false => updated += &found,
        }
    }
    assert!(n_commands >= least, "{n_commands}");
    expect_test::expect_file![path].assert_eq(&updated);
}

/// Runs a command as a shell would, and returns all that it writes; or the text of a file for `cat`.
fn run(sandbox: &Sandbox, command: &str) -> String {
    let words = words(command);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["cat", file] => sandbox.read(file),
        ["fluvial", args @ ..] => {
            let done = sandbox.words(args);
            let text = format!("{}{}", done.stdout, done.stderr);
            text.replace(&sandbox.0.canonicalize().unwrap().display().to_string(), "/somewhere")
        }
        _ => panic!("{command}"),
    }
}

/// Words of a line, some in single quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in line.chars() {
        match c {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words
}

fn matches(shown: &[&str], found: &[&str]) -> bool {
    match shown {
        [] => found.is_empty(),
        [ANY, rest @ ..] => (0..=found.len()).any(|n| matches(rest, &found[n..])),
        [line, rest @ ..] => {
            found.first().is_some_and(|first| is_like(line, first)) && matches(rest, &found[1..])
        }
    }
}

fn is_like(shown: &str, found: &str) -> bool {
    let mut parts = shown.split(ANY);
    let Some(mut rest) = parts.next().and_then(|first| found.strip_prefix(first)) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        last = Some(part);
    }
    last.map_or(rest.is_empty(), |last| found.ends_with(last))
}

/// `docs/command_options.md` is the help of every command: `UPDATE_EXPECT=1 cargo test -p fluvial-cli --test cli options`
/// writes it.
#[test]
fn the_page_of_options_is_fresh() {
    let sandbox = Sandbox::new();
    let mut text = "# Options of every command\n\nWhat `fluvial COMMAND --help` says. [The command line](command_line.md) \
                    explains the commands, with examples.\n"
        .to_string();
    let n_commands = help_of(&sandbox, &[], &mut text);
    assert!(n_commands > 17, "{n_commands}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/command_options.md");
    expect_test::expect_file![path].assert_eq(&text);
}

/// Adds the help of a command and of those below it, and counts them.
fn help_of(sandbox: &Sandbox, command: &[&str], text: &mut String) -> usize {
    let done = sandbox.words(&[command, &["--help"]].concat());
    assert_eq!(done.status, 0, "{}", done.stderr);
    let name = ["fluvial"].iter().chain(command).copied().collect::<Vec<_>>().join(" ");
    let help: Vec<&str> = done.stdout.trim_end().lines().map(str::trim_end).collect();
    *text += &format!("\n## {name}\n\n```text\n{}\n```\n", help.join("\n"));
    let listed = help.iter().skip_while(|line| **line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.split_whitespace().next());
    let names = names.filter(|name| *name != "help");
    1 + names.map(|name| help_of(sandbox, &[command, &[name]].concat(), text)).sum::<usize>()
}
