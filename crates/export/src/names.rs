//! Names in C.

use std::collections::HashSet;

/// Names that are taken.
#[derive(Default)]
pub struct Names(HashSet<String>);

const WORDS: &[&str] = &[
    "auto",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "typedef",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
    "bool",
    "true",
    "false",
    "asm",
    "main",
    "state",
    "in",
    "out",
    "arena",
    "at",
    "fault",
    "sum",
    "k",
    "j",
    "fl",
    "device",
    "lanes",
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "bitand",
    "bitor",
    "catch",
    "class",
    "compl",
    "concept",
    "constexpr",
    "decltype",
    "delete",
    "explicit",
    "export",
    "friend",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "requires",
    "template",
    "this",
    "throw",
    "try",
    "typeid",
    "typename",
    "using",
    "virtual",
    "xor",
    "xor_eq",
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
];

impl Names {
    /// A name that nothing else has, as near to this one as C allows.
    pub fn fresh(&mut self, wanted: &str) -> String {
        let base = in_c(wanted);
        let mut name = base.clone();
        let mut number = 2;
        while !self.0.insert(name.clone()) {
            name = format!("{base}_{number}");
            number += 1;
        }
        name
    }
}

/// A name that C allows, as near to this one as can be.
pub fn in_c(wanted: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut name: String = wanted.chars().map(allowed).collect();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit() || c == '_') {
        name.insert(0, 'v');
    }
    let is_ours = name.starts_with("fl_")
        || name.starts_with("n_")
        || name.starts_with(['i', 'k', 't']) && name[1..].bytes().all(|c| c.is_ascii_digit());
    if is_ours || WORDS.contains(&&*name) {
        name.push('_');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_c_and_differ() {
        let mut names = Names::default();
        let all: Vec<String> = ["fc.w", "fc/w", "for", "1", "", "i0", "ä"]
            .iter()
            .map(|name| names.fresh(name))
            .collect();
        assert_eq!(all, ["fc_w", "fc_w_2", "for_", "v1", "v", "i0_", "v_"]);
    }
}
