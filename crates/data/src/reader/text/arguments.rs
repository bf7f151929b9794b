//! The arguments of a stage or a source, and what they must be.

use std::sync::Arc;

use fluvial_tensor::{Error, Result};

use super::Value;
use crate::formats::{Setting, Settings};

/// Arguments that have been read and not yet been used.
pub(super) struct Arguments<'a> {
    of: &'a str,
    /// Those without a name, the next one last.
    positional: std::collections::VecDeque<(Value, usize)>,
    named: Vec<(&'a str, Value, usize)>,
}

impl<'a> Arguments<'a> {
    pub(super) fn new(of: &'a str) -> Arguments<'a> {
        Arguments { of, positional: Default::default(), named: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.positional.is_empty() && self.named.is_empty()
    }

    /// Whether there is an argument of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.named.iter().any(|(other, ..)| *other == name)
    }

    /// Adds an argument that starts at a character; says whether it may stand there.
    pub(super) fn add(&mut self, name: Option<&'a str>, value: Value, character: usize) -> bool {
        match name {
            None if !self.named.is_empty() => return false,
            None => self.positional.push_back((value, character)),
            Some(name) if self.named.iter().any(|(other, ..)| *other == name) => return false,
            Some(name) => self.named.push((name, value, character)),
        }
        true
    }

    /// The next argument without a name, or that of this name.
    fn next(&mut self, name: &str) -> Option<(Value, usize)> {
        self.positional.pop_front().or_else(|| {
            let at = self.named.iter().position(|(other, ..)| *other == name)?;
            let (_, value, character) = self.named.remove(at);
            Some((value, character))
        })
    }

    fn missing(&self, name: &str) -> Error {
        Error::parse(format!("reader: `{}` needs an argument `{name}`", self.of))
    }

    fn wrong(&self, name: &str, character: usize, what: &str) -> Error {
        let of = self.of;
        Error::parse(format!("reader, character {character}: `{name}` of `{of}` must be {what}"))
    }

    pub(super) fn some_u64(&mut self, name: &str) -> Result<Option<u64>> {
        let Some((value, character)) = self.next(name) else { return Ok(None) };
        let number = as_u64(&value);
        number.map(Some).ok_or_else(|| self.wrong(name, character, WHOLE))
    }

    pub(super) fn u64(&mut self, name: &str) -> Result<u64> {
        self.some_u64(name)?.ok_or_else(|| self.missing(name))
    }

    pub(super) fn u64s(&mut self, name: &str) -> Result<Vec<u64>> {
        let (value, character) = self.next(name).ok_or_else(|| self.missing(name))?;
        let numbers = match &value {
            Value::List(values) => values.iter().map(as_u64).collect(),
            _ => None,
        };
        numbers.ok_or_else(|| self.wrong(name, character, "a list of whole numbers"))
    }

    pub(super) fn f64s(&mut self, name: &str) -> Result<Vec<f64>> {
        self.some_f64s(name)?.ok_or_else(|| self.missing(name))
    }

    /// Two numbers.
    pub(super) fn pair(&mut self, name: &str, default: [f64; 2]) -> Result<[f64; 2]> {
        let Some(numbers) = self.some_f64s(name)? else { return Ok(default) };
        numbers.try_into().map_err(|_| {
            Error::parse(format!("reader: `{name}` of `{}` must be two numbers", self.of))
        })
    }

    fn some_f64s(&mut self, name: &str) -> Result<Option<Vec<f64>>> {
        let Some((value, character)) = self.next(name) else { return Ok(None) };
        let number = |value: &Value| match value {
            Value::Int(value) => Some(*value as f64),
            Value::Float(value) => Some(*value),
            _ => None,
        };
        let numbers = match &value {
            Value::List(values) => values.iter().map(number).collect(),
            _ => None,
        };
        let numbers: Option<Vec<f64>> = numbers;
        numbers.map(Some).ok_or_else(|| self.wrong(name, character, "a list of numbers"))
    }

    pub(super) fn f64(&mut self, name: &str, default: f64) -> Result<f64> {
        match self.next(name) {
            None => Ok(default),
            Some((Value::Int(value), _)) => Ok(value as f64),
            Some((Value::Float(value), _)) => Ok(value),
            Some((_, character)) => Err(self.wrong(name, character, "a number")),
        }
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<bool> {
        match self.next(name) {
            None => Ok(false),
            Some((Value::Bool(value), _)) => Ok(value),
            Some((_, character)) => Err(self.wrong(name, character, "`true` or `false`")),
        }
    }

    pub(super) fn some_text(&mut self, name: &str) -> Result<Option<Arc<str>>> {
        match self.next(name) {
            None => Ok(None),
            Some((Value::Text(text), _)) => Ok(Some(text)),
            Some((_, character)) => Err(self.wrong(name, character, "a text in quotes")),
        }
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Arc<str>> {
        self.some_text(name)?.ok_or_else(|| self.missing(name))
    }

    pub(super) fn word(&mut self, name: &str) -> Result<Arc<str>> {
        match self.next(name) {
            None => Err(self.missing(name)),
            Some((Value::Word(word), _)) => Ok(word),
            Some((_, character)) => Err(self.wrong(name, character, "a word without quotes")),
        }
    }

    /// The only argument, a text.
    pub(super) fn end_with_name(&mut self) -> Result<Arc<str>> {
        let name = self.text("name")?;
        self.end()?;
        Ok(name)
    }

    /// All arguments without names, which must be texts.
    pub(super) fn texts(&mut self, what: &str) -> Result<Vec<Arc<str>>> {
        let text = |(value, character)| match value {
            Value::Text(text) => Ok(text),
            _ => Err(Error::parse(format!("reader, character {character}: expected {what}"))),
        };
        self.positional.drain(..).map(text).collect()
    }

    /// All arguments with names.
    pub(super) fn settings(&mut self) -> Result<Settings> {
        let named = std::mem::take(&mut self.named);
        let one = |(name, value, character): (&str, Value, usize)| {
            let value = setting(value).ok_or_else(|| self.wrong(name, character, SETTING))?;
            Ok((name.into(), value))
        };
        named.into_iter().map(one).collect()
    }

    /// Refuses what has not been used.
    pub(super) fn end(&mut self) -> Result<()> {
        let of = self.of;
        if let Some((name, _, character)) = self.named.first() {
            let fault = format!("reader, character {character}: `{of}` has no argument `{name}`");
            return Err(Error::parse(fault));
        }
        match self.positional.front() {
            None => Ok(()),
            Some((_, character)) => Err(Error::parse(format!(
                "reader, character {character}: `{of}` has fewer arguments"
            ))),
        }
    }
}

const WHOLE: &str = "a whole number from 0 to 2^64 - 1";
const SETTING: &str = "a number of 64 bits, `true`, `false`, a text in quotes or a list of these";

fn as_u64(value: &Value) -> Option<u64> {
    match value {
        Value::Int(value) => u64::try_from(*value).ok(),
        _ => None,
    }
}

fn setting(value: Value) -> Option<Setting> {
    Some(match value {
        Value::Bool(value) => Setting::Bool(value),
        Value::Int(value) => Setting::Int(i64::try_from(value).ok()?),
        Value::Float(value) => Setting::Float(value),
        Value::Text(text) => Setting::Text(text),
        Value::Word(_) => return None,
        Value::List(values) => {
            Setting::List(values.into_iter().map(setting).collect::<Option<Vec<Setting>>>()?)
        }
    })
}
