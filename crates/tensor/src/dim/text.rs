//! Writing and reading sizes: `2*batch + 1`, `(h - 3)//2 + 1`, `?0`.

use super::Dim;
use super::intern::{self, Node};
use super::poly::{Monomial, Poly};
use crate::error::{Error, Result};
use std::fmt;

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value() {
            Some(size) => fmt::Display::fmt(&size, f),
            None => f.pad(&write_poly(&Poly::of(*self))),
        }
    }
}

impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One term of a sum as it will be written; the sign is apart.
struct Term {
    degree: u32,
    negative: bool,
    text: String,
    is_quotient: bool,
}

/// The order of terms depends on names only, not on the order in which symbols were interned.
fn write_poly(poly: &Poly) -> String {
    let shifted = window_form(poly);
    let poly = shifted.as_ref().map_or(poly, |(rest, _)| rest);
    let mut terms: Vec<Term> = poly.terms().iter().map(|(m, c)| write_term(m, *c)).collect();
    if let Some((_, window)) = shifted {
        terms.push(window);
    }
    terms.sort_by(|a, b| b.degree.cmp(&a.degree).then_with(|| a.text.cmp(&b.text)));
    if let Some(first_positive) = terms.iter().position(|term| !term.negative) {
        terms[..=first_positive].rotate_right(1);
    }
    let mut out = String::new();
    for term in &terms {
        let separator = match (out.is_empty(), term.negative) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        let brackets = out.is_empty() && term.negative && term.is_quotient;
        out.push_str(separator);
        out.push_str(&if brackets { format!("({})", term.text) } else { term.text.clone() });
    }
    if out.is_empty() { "0".into() } else { out }
}

/// The number of positions of a window is `(size - window)//stride + 1`, but the canonical form
/// moves whole strides out of the brackets; this moves them back in, leaving `+ 1` outside.
fn window_form(poly: &Poly) -> Option<(Poly, Term)> {
    let outside = poly.constant_part();
    let (atom, inner, stride) = poly.single_quotient()?;
    if outside >= 0 || inner.constant_part() == 0 {
        return None;
    }
    let strides = 1_i64.checked_sub(outside)?;
    let inner = inner.sub(&Poly::constant(stride.checked_mul(strides)?)).ok()?;
    let rest = poly.sub(&Poly::atom(atom)).and_then(|p| p.add(&Poly::constant(strides))).ok()?;
    let text = write_quotient(&inner, &Poly::constant(stride));
    Some((rest, Term { degree: 1, negative: false, text, is_quotient: true }))
}

fn write_term(monomial: &Monomial, coefficient: i64) -> Term {
    let (negative, magnitude) = (coefficient < 0, coefficient.unsigned_abs());
    let degree = monomial.iter().map(|&(_, power)| u32::from(power)).sum();
    if degree == 1
        && magnitude == 1
        && let Some(Node::Quotient(p, q)) = intern::node(monomial[0].0).as_deref()
    {
        return Term { degree, negative, text: write_quotient(p, q), is_quotient: true };
    }
    let mut factors = Vec::new();
    for &(atom, power) in monomial {
        let text = match intern::node(atom).as_deref() {
            Some(Node::Symbol(name)) => name.to_string(),
            Some(Node::Quotient(p, q)) => format!("({})", write_quotient(p, q)),
            _ => format!("?{}", atom.fresh_index().unwrap_or_default()),
        };
        factors.extend(std::iter::repeat_n(text, usize::from(power)));
    }
    factors.sort();
    if magnitude != 1 || factors.is_empty() {
        factors.insert(0, magnitude.to_string());
    }
    Term { degree, negative, text: factors.join("*"), is_quotient: false }
}

fn write_quotient(p: &Poly, q: &Poly) -> String {
    let operand = |poly: &Poly| {
        let text = write_poly(poly);
        let bare = text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'?');
        if bare { text } else { format!("({text})") }
    };
    format!("{}//{}", operand(p), operand(q))
}

/// Reads a size; the inverse of `Display`.
pub(super) fn parse(text: &str) -> Result<Dim> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let poly = parser.sum()?;
    parser.skip_spaces();
    if parser.at < text.len() {
        return Err(parser.error("an operator or the end"));
    }
    poly.into_dim()
}

/// Brackets and signs inside one another; twice the nesting that `Display` can write.
const MAX_DEPTH: u32 = 64;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn sum(&mut self) -> Result<Poly> {
        let mut total = self.product()?;
        loop {
            if self.take("+") {
                total = total.add(&self.product()?)?;
            } else if self.take("-") {
                total = total.sub(&self.product()?)?;
            } else {
                return Ok(total);
            }
        }
    }

    fn product(&mut self) -> Result<Poly> {
        let mut total = self.factor()?;
        loop {
            if self.take("//") {
                total = total.floor_div(&self.factor()?)?;
            } else if self.take("*") {
                total = total.mul(&self.factor()?)?;
            } else {
                return Ok(total);
            }
        }
    }

    fn factor(&mut self) -> Result<Poly> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("fewer nested brackets"));
        }
        let poly = if self.take("(") {
            let inner = self.sum()?;
            if !self.take(")") {
                return Err(self.error("a closing bracket"));
            }
            inner
        } else if self.take("-") {
            self.factor()?.scale(-1)?
        } else if self.take("?") {
            let number = self.word(|c| c.is_ascii_digit());
            let number = number.parse().map_err(|_| self.error("a number from 0 to 255"))?;
            Poly::atom(Dim::fresh(number))
        } else {
            self.number_or_name()?
        };
        self.depth -= 1;
        Ok(poly)
    }

    fn number_or_name(&mut self) -> Result<Poly> {
        let start = self.at;
        let word = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
        if word.is_empty() {
            return Err(self.error("a number, a name or a bracket"));
        }
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(Poly::atom(Dim::symbol(word)?));
        }
        match word.parse() {
            Ok(number) => Ok(Poly::constant(number)),
            Err(_) => {
                self.at = start;
                Err(self.error("a number that fits 63 bits"))
            }
        }
    }

    fn skip_spaces(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip_spaces();
        let found = self.text[self.at..].starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn error(&self, expected: &str) -> Error {
        let at = self.text[..self.at].chars().count() + 1;
        Error::parse(format!("size {:?}: expected {expected} at character {at}", self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_text_is_kept() {
        for text in [
            "0",
            "12",
            "batch",
            "2*batch + 1",
            "(h - 3)//2 + 1",
            "?0",
            "3 - h",
            "-h",
            "a*a - b*b",
            "h//2",
            "h//2 - 1",
            "(h + 1)//2",
            "2*(h//2)",
            "(h//2)*(w//2)",
            "1 - h//2",
            "-(h//2)",
            "h//(k - 1)",
            "(2*h)//3",
            "(h*w)//(a + b)",
            "(h - 5)//2 + w + 1",
            "(h//k)//k",
            "2*(h//k) - 7",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn the_order_of_terms_is_that_of_names() {
        let late_first = parse("order_z").and_then(|z| z.add(parse("order_a")?)).unwrap();
        assert_eq!(late_first.to_string(), "order_a + order_z");
        assert_eq!(
            parse("1 + order_z*order_a - order_b").unwrap().to_string(),
            "order_a*order_z - order_b + 1"
        );
    }

    #[test]
    fn spaces_do_not_matter() {
        assert_eq!(parse(" 2*batch+1 ").unwrap(), parse("2 * batch + 1").unwrap());
        assert_eq!(
            format!("{:>8}|{:?}", parse("batch").unwrap(), parse("7").unwrap()),
            "   batch|7"
        );
    }

    #[test]
    fn errors_name_the_character() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(
            message("2*"),
            "size \"2*\": expected a number, a name or a bracket at character 3"
        );
        assert_eq!(message("(a"), "size \"(a\": expected a closing bracket at character 3");
        assert_eq!(message("a b"), "size \"a b\": expected an operator or the end at character 3");
        assert_eq!(message("a é"), "size \"a é\": expected an operator or the end at character 3");
        assert_eq!(message("a/2"), "size \"a/2\": expected an operator or the end at character 2");
        assert_eq!(
            message("?256"),
            "size \"?256\": expected a number from 0 to 255 at character 5"
        );
        assert_eq!(
            message("2x"),
            "size \"2x\": expected a number that fits 63 bits at character 1"
        );
        assert_eq!(message("2 - 5"), "a size cannot be negative, but it is -3");
        assert_eq!(message("a//(b - b)"), "a size is divided by zero");
        for text in ["", " ", ")", "99999999999999999999", "a**2", "a+", "+a", "-"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn deep_or_long_text_does_not_overflow_the_stack() {
        assert!(parse(&format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000))).is_err());
        assert!(parse(&format!("{}a", "-".repeat(100_000))).is_err());
        let nested = format!("{}a{}", "(-".repeat(20), ")".repeat(20));
        assert_eq!(parse(&nested).unwrap().to_string(), "a");
        let long = vec!["long"; 5_000].join(" + ");
        assert_eq!(parse(&long).unwrap().to_string(), "5000*long");
    }
}
