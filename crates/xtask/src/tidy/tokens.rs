//! Rust source as a flat list of tokens, so that comments and strings are not mistaken for code.

use proc_macro2::{Delimiter, LexError, TokenStream, TokenTree};

/// An identifier, a literal, one character of punctuation, or one side of a pair of brackets.
#[derive(Debug)]
pub struct Token {
    pub text: String,
    /// Counted from 1.
    pub line: usize,
}

pub fn tokens(text: &str) -> Result<Vec<Token>, LexError> {
    let mut tokens = Vec::new();
    flatten(text.parse()?, &mut tokens);
    Ok(tokens)
}

/// The places where the tokens of `pattern`, written with spaces between them, follow each other.
pub fn find(tokens: &[Token], pattern: &str) -> impl Iterator<Item = usize> {
    let pattern: Vec<String> = pattern.split(' ').map(str::to_string).collect();
    let starts = 0..(tokens.len() + 1).saturating_sub(pattern.len());
    starts.filter(move |&at| {
        tokens[at..].iter().zip(&pattern).all(|(token, expected)| token.text == *expected)
    })
}

/// How many lines the modules `#[cfg(test)] mod tests { .. }` take.
pub fn lines_of_tests(tokens: &[Token]) -> usize {
    let head = "# [ cfg ( test ) ] mod tests {";
    let lines = find(tokens, head).map(|start| {
        let mut depth = 0;
        let end = tokens[start + head.split(' ').count() - 1..].iter().find(|token| {
            match token.text.as_str() {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        end.map_or(0, |end| end.line + 1 - tokens[start].line)
    });
    lines.sum()
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    for tree in stream {
        let TokenTree::Group(group) = tree else {
            tokens.push(Token { text: tree.to_string(), line: tree.span().start().line });
            continue;
        };
        let (open, close) = match group.delimiter() {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Brace => ("{", "}"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::None => ("", ""),
        };
        let start = group.span_open().start().line;
        tokens.push(Token { text: open.to_string(), line: start });
        flatten(group.stream(), tokens);
        tokens.push(Token { text: close.to_string(), line: group.span_close().end().line });
    }
}
