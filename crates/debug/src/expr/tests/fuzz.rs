//! Any text is an expression or an error, soon.

use std::time::{Duration, Instant};

use super::names;
use crate::expr::{Hits, Statement, Template, parse};

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

const WORDS: [&str; 78] = [
    "h",
    "loss",
    "step",
    "cube",
    "ids",
    "mask",
    "bad",
    "bytes",
    "small",
    "xs",
    "fc1",
    "weight",
    "%h2",
    "\"odd name\"",
    "'7'",
    "nan",
    "0",
    "1",
    "-1",
    "2",
    "7",
    "0.5",
    "1e3",
    "1e400",
    "9223372036854775807",
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "@",
    "&",
    "|",
    "^",
    "~",
    "<",
    "<=",
    "==",
    "!=",
    ">",
    "=",
    "+=",
    "and",
    "or",
    "not",
    "(",
    ")",
    "(",
    ")",
    "[",
    "]",
    "[",
    "]",
    ",",
    ":",
    ".",
    "...",
    "None",
    "true",
    "axis=",
    "keepdims=",
    "mean",
    "sum",
    "abs",
    "max",
    "norm",
    "reshape",
    "topk",
    "histogram",
    "sort",
    "grad",
    "shape",
    "dtype",
    "where",
    "{",
    "é",
];

const GOOD: [&str; 10] = [
    "norm(grad(fc1.weight)) > 1e3",
    "max(abs(cube[0, :, 3:5]))",
    "not any(h < 0) and step >= 3",
    "h.reshape(3, 2) @ h[::-1, 1:] * 2 ** 3",
    "where(h > 0, h, topk(h, 3))[..., None].mean(axis=(0, 1))",
    "h[1, ids] = [1, 2]",
    "histogram(h, bins=3, low=0, high=1) // 2 % 5",
    "hash(h) == \"ab\" or dtype(h) != 'f32'",
    "cumsum(sort(h, descending=true), 0) - h.std(correction=1)",
    "-(-7) // [1, 2, 3][ids] ** unique(ids)",
];

/// Whatever comes of it; only panics, hanging and changed inputs are faults.
fn run(text: &str) {
    let names = names();
    if let Ok(expr) = parse(text) {
        let _ = expr.answer(&names);
        let _ = expr.truth(&names);
        let _ = expr.names();
    }
    if let Ok(statement) = Statement::parse(text) {
        let _ = statement.edited(&names);
    }
    if let Ok(template) = Template::parse(text) {
        let _ = template.render(&names);
    }
    let _ = Hits::parse(text);
}

/// Runs texts until there were enough, or time is over.
fn fuzz(seed: u64, n: usize, mut text: impl FnMut(&mut Random) -> String) {
    let (start, mut random) = (Instant::now(), Random(seed));
    for i in 0..n {
        let text = text(&mut random);
        let began = Instant::now();
        run(&text);
        assert!(began.elapsed() < Duration::from_secs(5), "slow: {text}");
        if start.elapsed() > Duration::from_secs(8) {
            assert!(i > 20, "only {i} texts in time");
            break;
        }
    }
}

#[test]
fn soup_of_words() {
    fuzz(0x1234_5678_9abc_def1, 4000, |random| {
        let n = 1 + random.below(14);
        let spaces = ["", " "];
        (0..n).map(|_| format!("{}{}", random.of(&WORDS), random.of(&spaces))).collect()
    });
}

#[test]
fn good_expressions_with_faults() {
    fuzz(0x0fed_cba9_8765_4321, 4000, |random| {
        let mut text: Vec<char> = random.of(&GOOD).chars().collect();
        for _ in 0..1 + random.below(4) {
            let at = random.below(text.len().max(1)).min(text.len());
            match random.below(4) {
                0 if at < text.len() => {
                    text.remove(at);
                }
                1 => {
                    let word = random.of(&WORDS);
                    text.splice(at..at, word.chars());
                }
                2 => {
                    let other: Vec<char> = random.of(&GOOD).chars().collect();
                    let (from, len) = (random.below(other.len()), random.below(12));
                    let part = other.into_iter().skip(from).take(len);
                    text.splice(at..at, part);
                }
                _ => text.truncate(at),
            }
        }
        text.into_iter().collect()
    });
}

#[test]
fn any_letters() {
    fuzz(0x0123_4567_89ab_cdef, 3000, |random| {
        let n = random.below(60);
        (0..n).filter_map(|_| char::from_u32(random.below(0x300) as u32)).collect()
    });
}

#[test]
fn trees() {
    fn tree(random: &mut Random, depth: usize, out: &mut String) {
        let leaves = ["h", "loss", "step", "2", "0.5", "ids", "mask", "cube", "xs", "bad"];
        let operators = [" + ", " * ", " / ", " // ", " % ", " ** ", " @ ", " < ", " and ", " & "];
        let functions = ["abs", "sum", "mean", "sort", "exp", "unique", "shape", "cumsum", "any"];
        match if depth == 0 { 0 } else { random.below(5) } {
            0 => out.push_str(random.of(&leaves)),
            1 | 2 => {
                out.push('(');
                tree(random, depth - 1, out);
                out.push_str(random.of(&operators));
                tree(random, depth - 1, out);
                out.push(')');
            }
            3 => {
                out.push_str(random.of(&functions));
                out.push('(');
                tree(random, depth - 1, out);
                out.push(')');
            }
            _ => {
                tree(random, depth - 1, out);
                out.push('[');
                tree(random, depth - 1, out);
                out.push(']');
            }
        }
    }
    fuzz(0x7777_1111_3333_5555, 3000, |random| {
        let mut out = String::new();
        let depth = 1 + random.below(5);
        tree(random, depth, &mut out);
        out
    });
}
