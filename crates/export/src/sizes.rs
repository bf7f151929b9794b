//! Sizes in C.

use fluvial_core::{Dim, Error, Result, Type, Whole};

/// What is known of a size that is a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// The symbol.
    pub name: String,
    /// The number.
    pub number: usize,
    /// Whether it may be less; then it is an input of the exported function.
    pub is_bound: bool,
}

impl Size {
    /// Reads `batch=64`, the size, or `batch<=64`, a bound of it.
    pub fn parse(text: &str) -> Result<Size> {
        let (name, number, is_bound) = match text.split_once("<=") {
            Some((name, number)) => (name, number, true),
            None => match text.split_once('=') {
                Some((name, number)) => (name, number, false),
                None => ("", "", false),
            },
        };
        let (name, number) = (name.trim(), number.trim().parse());
        match number {
            Ok(number) if Dim::symbol(name).is_ok() => {
                Ok(Size { name: name.into(), number, is_bound })
            }
            _ => Err(Error::argument(format!("`{text}` says nothing of a size"))
                .remedy("write `batch=64`, or `batch<=64` for sizes up to 64")),
        }
    }
}

/// A size as an expression of whole numbers in C.
pub fn in_c(dim: Dim) -> String {
    expression(&dim.to_string())
}

/// A whole number as an expression in C.
pub fn whole_in_c(whole: Whole) -> String {
    expression(&whole.to_string())
}

/// The name of a symbol in C.
pub fn symbol_in_c(name: &str) -> String {
    format!("n_{name}")
}

fn expression(text: &str) -> String {
    let mut written = String::new();
    let mut previous = ' ';
    for c in text.replace("//", "/").chars() {
        let begins = (c.is_ascii_alphabetic() || c == '_')
            && !(previous.is_ascii_alphanumeric() || previous == '_');
        if begins {
            written.push_str("n_");
        }
        written.push(c);
        previous = c;
    }
    match written.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_') {
        true => written,
        false => format!("({written})"),
    }
}

/// The most that a size can be.
pub fn most(dim: Dim, sizes: &[Size]) -> Result<usize> {
    if let Some(known) = dim.value() {
        return Ok(known);
    }
    let text = dim.to_string();
    let symbols = dim.symbols();
    let at = |bits: usize| -> Result<usize> {
        let value = |symbol: Dim| {
            let i = symbols.iter().position(|&known| known == symbol)?;
            let name = symbol.symbol_name()?;
            let bound = sizes.iter().find(|size| *size.name == *name)?.number;
            Some(Dim::size(if bits >> i & 1 == 0 { bound } else { bound.min(1) }))
        };
        let found = dim.substitute(&value);
        // Of what cannot be less than nothing, nothing is left.
        let found = if text.contains('-') { found.unwrap_or(Dim::size(0)) } else { found? };
        found.value().ok_or_else(|| unknown(dim))
    };
    if !text.contains('-') {
        return at(0);
    }
    // An expression in which each symbol stands once is largest at an end of each range.
    let is_once = |symbol: &Dim| {
        symbol
            .symbol_name()
            .is_some_and(|name| words(&text).filter(|word| **word == *name).count() == 1)
    };
    if symbols.len() > 8 || !symbols.iter().all(is_once) {
        return Err(Error::symbolic(format!("the most that the size {dim} can be is not known"))
            .remedy("give its symbols sizes instead of bounds"));
    }
    (0..1 << symbols.len()).map(at).try_fold(0, |most, found| Ok(most.max(found?)))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
}

fn unknown(dim: Dim) -> Error {
    Error::symbolic(format!("the size {dim} is not known when the program is exported"))
        .remedy("say what it is by `--size name=number`, or at most by `--size 'name<=number'`")
}

/// The most elements that a tensor of a type can have.
pub fn most_elements(ty: &Type, sizes: &[Size]) -> Result<usize> {
    ty.dims().iter().try_fold(1usize, |all, &dim| {
        all.checked_mul(most(dim, sizes)?)
            .ok_or_else(|| Error::shape(format!("{ty} has too many elements")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(name: &str, number: usize) -> Size {
        Size { name: name.into(), number, is_bound: true }
    }

    #[test]
    fn sizes_are_expressions() {
        let of = |text: &str| in_c(Dim::parse(text).unwrap());
        assert_eq!(of("12"), "12");
        assert_eq!(of("batch"), "n_batch");
        assert_eq!(of("(a + 1)//2"), "((n_a + 1)/2)");
    }

    #[test]
    fn the_most_of_a_size() {
        let of = |text: &str| most(Dim::parse(text).unwrap(), &[bound("a", 8), bound("b", 4)]);
        assert_eq!(of("2*a + b").unwrap(), 20);
        assert_eq!(of("a - b").unwrap(), 7);
        assert_eq!(of("b - a").unwrap(), 3);
        assert!(of("a*a - b").is_err());
        assert!(of("c").is_err());
    }

    #[test]
    fn sizes_are_read() {
        assert_eq!(Size::parse("a <= 3").unwrap(), bound("a", 3));
        assert!(!Size::parse("a=3").unwrap().is_bound);
        assert!(Size::parse("a").is_err() && Size::parse("=3").is_err());
    }
}
