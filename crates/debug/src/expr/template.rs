//! Texts of log points.

use std::ops::ControlFlow;

use fluvial_core::{Error, Result};

use super::format::{self, Format};
use super::{Context, Expr, parse};
use crate::target::Evaluated;

/// A text in which `{expression}` stands for a value, `{loss:.3f}` for one in a format, and `{{`, `}}` for braces.
#[derive(Clone, Debug)]
pub struct Template {
    parts: Vec<Piece>,
}

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Value(Expr, Option<Format>),
}

impl Template {
    /// Reads a text.
    pub fn parse(text: &str) -> Result<Template> {
        let (mut parts, mut plain) = (Vec::new(), String::new());
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let brace = &rest[at..];
            if brace.starts_with("{{") || brace.starts_with("}}") {
                plain.push_str(&brace[..1]);
                rest = &brace[2..];
                continue;
            }
            let Some(end) = brace.starts_with('{').then(|| closing(brace)).flatten() else {
                let fault = if brace.starts_with('}') { "opened" } else { "closed" };
                let column = text[..text.len() - brace.len()].chars().count() + 1;
                return Err(Error::parse(format!("the brace at column {column} is not {fault}"))
                    .remedy("write `{expression}`, or `{{` and `}}` for braces"));
            };
            if !plain.is_empty() {
                parts.push(Piece::Text(std::mem::take(&mut plain)));
            }
            parts.push(piece(&brace[1..end])?);
            rest = &brace[end + 1..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Piece::Text(plain));
        }
        Ok(Template { parts })
    }

    /// The expressions in it.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.parts.iter().filter_map(|part| match part {
            Piece::Value(expr, _) => Some(expr),
            Piece::Text(_) => None,
        })
    }

    /// The text with values. Where there is none, the first line of the error stands.
    pub fn render(&self, context: &dyn Context) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Piece::Text(text) => out.push_str(text),
                Piece::Value(expr, format) => {
                    let found = expr.answer(context).and_then(|answer| match answer {
                        Evaluated::Text(text) => Ok(text),
                        Evaluated::Value(value) => format::text(&value, *format),
                    });
                    out.push_str(&found.unwrap_or_else(|error| {
                        let line = error.message().lines().next().unwrap_or_default();
                        format!("<{line}>")
                    }));
                }
            }
        }
        out
    }
}

/// Where the brace that a text begins with is closed, outside of quotes.
fn closing(text: &str) -> Option<usize> {
    let found = text.char_indices().skip(1).try_fold(None, |quote, (i, c)| match (quote, c) {
        (None, '}') => ControlFlow::Break(i),
        (None, '"' | '\'') => ControlFlow::Continue(Some(c)),
        (Some(open), _) if open == c => ControlFlow::Continue(None),
        (quote, _) => ControlFlow::Continue(quote),
    });
    found.break_value()
}

/// An expression, and its format behind a colon that is in no bracket.
fn piece(inside: &str) -> Result<Piece> {
    let mut open = 0;
    let mut quote = None;
    let mut colon = None;
    for (i, c) in inside.char_indices() {
        match (quote, c) {
            (Some(q), _) if q == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[') => open += 1,
            (None, ')' | ']') => open -= 1,
            (None, ':') if open == 0 => colon = Some(i),
            _ => {}
        }
    }
    Ok(match colon {
        Some(at) => Piece::Value(parse(&inside[..at])?, Some(Format::parse(&inside[at + 1..])?)),
        None => Piece::Value(parse(inside)?, None),
    })
}
