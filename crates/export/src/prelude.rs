//! Functions in C that programs use: scalar functions, and those that stand beside ops.

use std::collections::BTreeSet;

use fluvial_core::{DType, Source};

use crate::Language;
use crate::elements::short;
use crate::place::c_type;

const SCALARS: &str = include_str!("../c/scalars.c");
const WHOLE: &str = include_str!("../c/whole.c");

/// The functions beside ops that a program calls, each once for each choice of element types.
#[derive(Default)]
pub struct Sources {
    known: BTreeSet<String>,
    text: String,
}

/// Who runs a function on a device; its text says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// The host, which starts kernels itself.
    Host,
    /// Many threads, each a part of its loops.
    Many,
    /// A few, each with memory of its own.
    Few,
    /// The threads of one block, which wait for one another.
    Block,
    /// One thread.
    One,
}

impl Runs {
    pub fn of(source: &Source) -> Runs {
        let name = format!("fl_{}", source.name);
        let is_host = |line: &str| line.contains("FL_HOST") && line.contains(&name);
        match source.text {
            text if text.lines().any(is_host) => Runs::Host,
            text if text.contains("FL_OWN(") => Runs::Few,
            text if text.contains("FL_SYNC") => Runs::Block,
            text if text.contains("FL_EACH(") || text.contains("_LANES(") => Runs::Many,
            _ => Runs::One,
        }
    }
}

impl Sources {
    /// Enters a function, with what it calls, and gives its name.
    pub fn add(&mut self, source: &'static Source, types: &[DType], language: Language) -> String {
        let ends: Vec<&str> = types.iter().map(|&dtype| short(dtype)).collect();
        let name = format!(
            "fl_{}{}",
            source.name,
            ends.iter().map(|t| format!("_{t}")).collect::<String>()
        );
        if self.known.insert(name.clone()) {
            for needed in source.needs {
                self.add(needed, types, language);
            }
            self.text.push_str(&filled(of(source.text, language), types));
            self.text.push('\n');
        }
        name
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The part of a text that is for a language, if it has parts.
fn of(text: &str, language: Language) -> &str {
    let mark = match language {
        Language::C => "//@ c\n",
        Language::Cuda => "//@ cuda\n",
    };
    match text.split_once(mark) {
        Some((_, part)) => part.split("//@ ").next().unwrap_or(part),
        None => text,
    }
}

/// Functions that say nothing else run on the device.
pub fn on_device(text: &str) -> String {
    text.replace("static inline ", "static inline __device__ ")
        .replace("static inline __device__ FL_", "static inline FL_")
}

/// A text with element types filled in.
fn filled(text: &str, types: &[DType]) -> String {
    let mut text = text.to_string();
    for (&dtype, (long, brief)) in types.iter().zip([("$T", "$t"), ("$U", "$u")]) {
        text = text.replace(long, c_type(dtype)).replace(brief, short(dtype));
    }
    text
}

/// The scalar functions that a text uses, and those that they use.
pub fn scalars(code: &str) -> String {
    let mut all: Vec<(Vec<&str>, String)> =
        parts(SCALARS).map(|(names, text)| (names, text.to_string())).collect();
    let whole: Vec<(DType, String)> = [DType::U8, DType::I8, DType::I32, DType::I64]
        .into_iter()
        .map(|dtype| {
            let unsigned = match dtype {
                DType::U8 | DType::I8 => "uint8_t",
                DType::I32 => "uint32_t",
                _ => "uint64_t",
            };
            let bits = (dtype.size() * 8).to_string();
            (dtype, filled(WHOLE, &[dtype]).replace("$V", unsigned).replace("$BITS", &bits))
        })
        .collect();
    for (_, text) in &whole {
        all.extend(parts(text).map(|(names, text)| (names, text.to_string())));
    }
    let mut used = vec![false; all.len()];
    let mut texts = vec![code.to_string()];
    while let Some(text) = texts.pop() {
        let words: BTreeSet<&str> =
            text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect();
        for (i, (names, part)) in all.iter().enumerate() {
            if !used[i] && names.iter().any(|name| words.contains(name)) {
                used[i] = true;
                texts.push(part.clone());
            }
        }
    }
    all.iter().zip(used).filter(|(_, used)| *used).map(|((_, part), _)| part.as_str()).collect()
}

/// The parts of a file of functions: the names that each defines stand before it.
fn parts(text: &str) -> impl Iterator<Item = (Vec<&str>, &str)> {
    text.split("//@").skip(1).map(|part| {
        let (names, text) = part.split_once('\n').unwrap_or((part, ""));
        (names.split_whitespace().collect(), text)
    })
}

#[cfg(test)]
mod tests {
    use fluvial_kernels::{Binary, Unary};

    use super::*;

    #[test]
    fn every_scalar_operation_is_there() {
        let code: Vec<String> = ["f32", "f64"]
            .iter()
            .flat_map(|t| {
                let unary = Unary::ALL.iter().map(move |op| format!("fl_{}_{t}", op.name()));
                unary.chain(Binary::ALL.iter().map(move |op| format!("fl_{}_{t}", op.name())))
            })
            .collect();
        let text = scalars(&code.join(" "));
        let written = [
            "neg",
            "recip",
            "not",
            "bit_not",
            "add",
            "sub",
            "mul",
            "div",
            "conj",
            "real_part",
            "imag_part",
            "angle",
            "complex",
        ];
        let signs = ["lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor"];
        let bits = ["bit_and", "bit_or", "bit_xor", "shl", "shr"];
        for name in &code {
            let op =
                name.trim_start_matches("fl_").trim_end_matches("_f32").trim_end_matches("_f64");
            let is_sign = written.contains(&op) || signs.contains(&op) || bits.contains(&op);
            assert!(is_sign || text.contains(&format!(" {name}(")), "{name}");
        }
    }
}
