//! Text to words.

use fluvial_core::Error;

use super::fault::Fault;

/// A word and where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub at: usize,
    pub word: Word,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    Int(i64),
    Float(f64),
    Name(String),
    Quoted(String),
    Mark(&'static str),
    End,
}

/// No expression that somebody writes is longer.
const LONGEST: usize = 10_000;

/// Longer marks come before those that they begin with.
const MARKS: [&str; 40] = [
    "...", "//=", "**=", "**", "//", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "&&",
    "||", "+", "-", "*", "/", "%", "@", "<", ">", "=", "(", ")", "[", "]", ",", ":", ".", "&", "|",
    "^", "~", "!", "{", "}", ";",
];

pub fn lex(text: &str) -> Result<Vec<Token>, Fault> {
    if text.len() > LONGEST {
        let message = format!("an expression of {} bytes is too long", text.len());
        let remedy = format!("write one of at most {LONGEST} bytes");
        return Err(Fault::new(0, Error::parse(message).remedy(remedy)));
    }
    let mut lexer = Lexer { text, at: 0, tokens: Vec::new() };
    while lexer.next()? {}
    lexer.tokens.push(Token { at: text.len(), word: Word::End });
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn push(&mut self, len: usize, word: Word) {
        self.tokens.push(Token { at: self.at, word });
        self.at += len;
    }

    fn next(&mut self) -> Result<bool, Fault> {
        let blank = self.rest().len() - self.rest().trim_start().len();
        self.at += blank;
        let Some(first) = self.rest().chars().next() else { return Ok(false) };
        let mut following = self.rest().chars().skip(1);
        let second = following.next().unwrap_or(' ');
        match first {
            '"' | '\'' => self.quoted(first)?,
            '%' if !self.behind_operand() && is_of_name(second) => {
                let len = 1 + name_len(&self.rest()[1..]);
                self.push(len, Word::Name(self.rest()[..len].to_string()));
            }
            '.' if blank == 0 && self.behind_name() && is_of_name(second) => {
                self.push(1, Word::Mark("."));
                let len = name_len(self.rest());
                self.push(len, Word::Name(self.rest()[..len].to_string()));
            }
            _ if first.is_ascii_digit() || (first == '.' && second.is_ascii_digit()) => {
                self.number()?;
            }
            _ if is_of_name(first) => {
                let len = name_len(self.rest());
                self.push(len, Word::Name(self.rest()[..len].to_string()));
            }
            _ => match MARKS.iter().find(|mark| self.rest().starts_with(**mark)) {
                Some(mark) => self.push(mark.len(), Word::Mark(mark)),
                None => {
                    let error = Error::parse(format!("`{first}` has no meaning here"))
                        .remedy("write names that are not made of letters and digits in quotes");
                    return Err(Fault::new(self.at, error));
                }
            },
        }
        Ok(true)
    }

    /// Whether an operator may follow, so that `%` is one.
    fn behind_operand(&self) -> bool {
        match self.tokens.last().map(|token| &token.word) {
            None => false,
            Some(Word::Mark(mark)) => matches!(*mark, ")" | "]"),
            Some(Word::Name(name)) => !matches!(name.as_str(), "and" | "or" | "not"),
            Some(_) => true,
        }
    }

    /// Whether a dot may go on with a name, even one of digits: `layers.0.weight`.
    fn behind_name(&self) -> bool {
        match self.tokens.last().map(|token| &token.word) {
            Some(Word::Name(_) | Word::Quoted(_)) => true,
            Some(Word::Mark(mark)) => matches!(*mark, ")" | "]"),
            _ => false,
        }
    }

    fn quoted(&mut self, quote: char) -> Result<(), Fault> {
        let inside = &self.rest()[1..];
        let Some(len) = inside.find(quote) else {
            let error = Error::parse("the quotes are not closed")
                .remedy(format!("write {quote} at the end of the name"));
            return Err(Fault::new(self.at, error));
        };
        let name = inside[..len].to_string();
        self.push(len + 2, Word::Quoted(name));
        Ok(())
    }

    fn number(&mut self) -> Result<(), Fault> {
        let bytes = self.rest().as_bytes();
        let digits = |from: usize| {
            bytes[from..].iter().take_while(|c| c.is_ascii_digit() || **c == b'_').count()
        };
        let mut len = digits(0);
        let mut is_int = true;
        if bytes.get(len) == Some(&b'.') && bytes.get(len + 1) != Some(&b'.') {
            len += 1;
            len += digits(len);
            is_int = false;
        }
        if matches!(bytes.get(len), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(len + 1), Some(b'+' | b'-')));
            let exponent = digits(len + 1 + sign);
            if exponent > 0 {
                len += 1 + sign + exponent;
                is_int = false;
            }
        }
        let written: String = self.rest()[..len].chars().filter(|c| *c != '_').collect();
        let behind = self.rest()[len..].chars().next().unwrap_or(' ');
        let word = match (is_int.then(|| written.parse().ok()).flatten(), written.parse()) {
            _ if is_of_name(behind) => None,
            (Some(int), _) => Some(Word::Int(int)),
            (None, Ok(float)) => Some(Word::Float(float)),
            (None, Err(_)) => None,
        };
        let Some(word) = word else {
            let end = len + name_len(&self.rest()[len..]);
            let error = Error::parse(format!("`{}` is not a number", &self.rest()[..end]))
                .remedy("write a name that begins with a digit in quotes");
            return Err(Fault::new(self.at, error));
        };
        self.push(len, word);
        Ok(())
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn name_len(text: &str) -> usize {
    text.find(|c: char| !is_of_name(c)).unwrap_or(text.len())
}
