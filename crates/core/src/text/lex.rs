//! Tokens of the text form, and errors that point into the text.

use fluvial_tensor::{Error, ErrorKind, Result};

/// Whether a value may have this name: letters, digits, `_` and `.`, not starting with a digit.
pub(crate) fn is_value_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(in_word)
}

/// Whether a name is written without quotes behind a sign such as `@`.
pub(super) fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(in_word)
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

/// Whether a file name is written without quotes.
pub(super) fn is_plain_path(path: &str) -> bool {
    !path.is_empty() && path.chars().all(in_path) && !path.contains("//")
}

fn in_path(c: char) -> bool {
    in_word(c) || c == '/' || c == '-'
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Token<'a> {
    /// Letters, digits, `_` and `.`, not starting with a digit.
    Word(&'a str),
    /// Starts with a digit or a minus sign.
    Number(&'a str),
    /// What stands between quotes, with its escapes.
    Quoted(&'a str),
    /// Anything else.
    Sign(char),
    End,
}

/// A token and where it starts and ends.
#[derive(Clone, Copy)]
pub(super) struct Spanned<'a> {
    pub token: Token<'a>,
    pub start: usize,
    pub end: usize,
}

pub(super) struct Lexer<'a> {
    pub text: &'a str,
    /// The name of the file.
    name: Option<&'a str>,
    at: usize,
    peeked: Option<Spanned<'a>>,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str, name: Option<&'a str>) -> Lexer<'a> {
        Lexer { text, name, at: 0, peeked: None }
    }

    /// The next token, which stays the next.
    pub fn peek(&mut self) -> Result<Spanned<'a>> {
        if let Some(spanned) = self.peeked {
            return Ok(spanned);
        }
        let start = self.skip_spaces(self.at);
        let (token, end) = self.token(start)?;
        let spanned = Spanned { token, start, end };
        self.peeked = Some(spanned);
        Ok(spanned)
    }

    /// The next token.
    pub fn next(&mut self) -> Result<Spanned<'a>> {
        let spanned = self.peek()?;
        self.peeked = None;
        self.at = spanned.end;
        Ok(spanned)
    }

    /// Takes the next token if it is this sign.
    pub fn take(&mut self, sign: char) -> Result<bool> {
        let found = self.peek()?.token == Token::Sign(sign);
        if found {
            self.next()?;
        }
        Ok(found)
    }

    /// Takes the next token if it is this word.
    pub fn take_word(&mut self, word: &str) -> Result<bool> {
        let found = self.peek()?.token == Token::Word(word);
        if found {
            self.next()?;
        }
        Ok(found)
    }

    /// Takes this sign.
    pub fn expect(&mut self, sign: char) -> Result<()> {
        match self.take(sign)? {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{sign}`"))),
        }
    }

    /// The text up to `end`, which is taken too and must stand on the same line, and where the
    /// text starts.
    pub fn raw_until(&mut self, end: char) -> Result<(&'a str, usize)> {
        let (start, rest) = self.rest();
        match rest.find([end, '\n']) {
            Some(length) if rest[length..].starts_with(end) => {
                self.at = start + length + end.len_utf8();
                Ok((&rest[..length], start))
            }
            _ => Err(self.error(start, &format!("expected `{end}` before the end of the line"))),
        }
    }

    /// A file name without quotes, if one is next.
    pub fn raw_path(&mut self) -> Option<&'a str> {
        let start = self.skip_spaces(self.at);
        let rest = &self.text[start..];
        let path = &rest[..rest.find(|c| !in_path(c)).unwrap_or(rest.len())];
        if !is_plain_path(path) {
            return None;
        }
        self.peeked = None;
        self.at = start + path.len();
        Some(path)
    }

    /// What follows a sign without spaces between: the name of a value or a state, which is a
    /// word, a number or a quoted string.
    pub fn label(&mut self) -> Result<Spanned<'a>> {
        let (start, rest) = self.rest();
        let length = rest.find(|c| !in_word(c)).unwrap_or(rest.len());
        let (token, end) = match rest.starts_with('"') {
            true => self.token(start)?,
            false => (Token::Word(&rest[..length]), start + length),
        };
        self.at = end;
        if start == end {
            return Err(self.unexpected("a name right after the sign"));
        }
        Ok(Spanned { token, start, end })
    }

    /// What was not looked at yet.
    fn rest(&mut self) -> (usize, &'a str) {
        self.peeked = None;
        (self.at, &self.text[self.at..])
    }

    fn skip_spaces(&self, mut at: usize) -> usize {
        loop {
            let rest = &self.text[at..];
            let code = rest.trim_start_matches([' ', '\t', '\r', '\n']);
            at += rest.len() - code.len();
            if !code.starts_with('#') && !code.starts_with("//") {
                return at;
            }
            at += code.find('\n').unwrap_or(code.len());
        }
    }

    fn token(&self, start: usize) -> Result<(Token<'a>, usize)> {
        let rest = &self.text[start..];
        let Some(first) = rest.chars().next() else { return Ok((Token::End, start)) };
        let upto = |length: usize| (&rest[..length], start + length);
        if first == '"' {
            let length = self.quoted_length(start)?;
            return Ok((Token::Quoted(&rest[1..length - 1]), start + length));
        }
        if first.is_ascii_digit() || first == '-' {
            let (text, end) = upto(number_length(rest));
            return Ok((Token::Number(text), end));
        }
        if in_word(first) {
            let (text, end) = upto(rest.find(|c| !in_word(c)).unwrap_or(rest.len()));
            return Ok((Token::Word(text), end));
        }
        Ok((Token::Sign(first), start + first.len_utf8()))
    }

    /// The length of the string that starts at `start`, with its quotes.
    fn quoted_length(&self, start: usize) -> Result<usize> {
        let mut escaped = false;
        for (at, c) in self.text[start..].char_indices().skip(1) {
            match c {
                '\n' => break,
                '"' if !escaped => return Ok(at + 1),
                _ => escaped = c == '\\' && !escaped,
            }
        }
        Err(self.error(start, "expected a closing quote on this line"))
    }

    /// An error at the next token, which is not what was expected.
    pub fn unexpected(&mut self, expected: &str) -> Error {
        match self.peek() {
            Ok(Spanned { token: Token::End, start, .. }) => {
                self.error(start, &format!("expected {expected}, found the end of the text"))
            }
            Ok(found) => self.unfit(found, expected),
            Err(error) => error,
        }
    }

    /// An error at a token that was taken and is not what was expected.
    pub fn unfit(&self, found: Spanned, expected: &str) -> Error {
        let text = brief(&self.text[found.start..found.end]);
        self.error(found.start, &format!("expected {expected}, found `{text}`"))
    }

    /// An error at a place in the text.
    pub fn error(&self, at: usize, message: &str) -> Error {
        Error::parse(self.pointed(at, message))
    }

    /// An error of an inner reader, at a place in the text.
    pub fn located(&self, at: usize, inner: Error, kind: ErrorKind) -> Error {
        let op = inner.op_text().map(|op| format!("{op}: ")).unwrap_or_default();
        let message = self.pointed(at, &format!("{op}{}", inner.message()));
        let mut error = Error::new(kind, message);
        if let Some(remedy) = inner.remedy_text() {
            error = error.remedy(remedy);
        }
        inner.notes().iter().fold(error, |error, note| error.note(note))
    }

    /// The message with line and column before it, and the line with a caret after it.
    fn pointed(&self, at: usize, message: &str) -> String {
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let line_number = before.matches('\n').count() + 1;
        let column = self.text[line_start..at].chars().count() + 1;
        let file = self.name.map(|name| format!("{name}:")).unwrap_or_default();
        let (line, caret) = excerpt(&self.text[line_start..], column - 1);
        let margin = line_number.to_string();
        format!(
            "{file}{line_number}:{column}: {message}\n  {margin} | {line}\n  {:1$} | {2:3$}^",
            "",
            margin.len(),
            "",
            caret
        )
    }
}

fn number_length(text: &str) -> usize {
    let mut previous = '-';
    for (at, c) in text.char_indices().skip(1) {
        let in_number = in_word(c) || (matches!(c, '+' | '-') && matches!(previous, 'e' | 'E'));
        if !in_number {
            return at;
        }
        previous = c;
    }
    text.len()
}

/// The first line of `text` around character `focus`, cut to what fits a screen, and where the
/// character is in it.
fn excerpt(text: &str, focus: usize) -> (String, usize) {
    const BEFORE: usize = 60;
    const WIDTH: usize = 90;
    let skipped = focus.saturating_sub(BEFORE);
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    let line = text.chars().take_while(|&c| c != '\n').map(printable);
    let mut shown: String = line.skip(skipped).take(WIDTH).collect();
    shown.truncate(shown.trim_end().len());
    match skipped {
        0 => (shown, focus),
        _ => (format!("…{shown}"), focus - skipped + 1),
    }
}

/// A token cut to a length that fits an error.
fn brief(text: &str) -> String {
    const LENGTH: usize = 30;
    match text.char_indices().nth(LENGTH) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_string(),
    }
}

/// The string behind a quoted one; nothing if an escape is not one.
pub(super) fn unescape(quoted: &str) -> Option<String> {
    let mut text = String::with_capacity(quoted.len());
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        text.push(match chars.next()? {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '0' => '\0',
            c @ ('\\' | '"' | '\'') => c,
            'u' => {
                let (digits, rest) = chars.as_str().strip_prefix('{')?.split_once('}')?;
                chars = rest.chars();
                char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
            }
            _ => return None,
        });
    }
    Some(text)
}
