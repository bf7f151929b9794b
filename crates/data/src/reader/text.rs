//! Readers from text.

mod arguments;

use std::str::FromStr;
use std::sync::Arc;

use fluvial_tensor::{DType, Error, Result};

use self::arguments::Arguments;
use super::{Edit, MAX_DEPTH, Named, Pad, Reader, Source, Stage};

/// The most readers and lists inside one another.
const MAX_NESTED: usize = 32;

/// Reads what `Display` writes. No file is opened, nor allowed.
///
/// ```
/// use fluvial_data::Reader;
/// let reader: Reader = r#"records("train.rec").shuffle(7).batch(128, drop_last=true)"#.parse()?;
/// assert_eq!(reader, Reader::records("train.rec").shuffle(7).batch(128, true));
/// let error = "records(7)".parse::<Reader>().unwrap_err();
/// assert_eq!(error.message(), "reader, character 9: expected the path of a file in quotes");
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
impl FromStr for Reader {
    type Err = Error;

    fn from_str(text: &str) -> Result<Reader> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        let reader = parser.reader()?;
        parser.skip_spaces();
        match parser.rest().is_empty() {
            true => Ok(reader),
            false => Err(parser.expected("`.` and a stage, or the end")),
        }
    }
}

/// An argument of a stage or a source.
#[derive(Clone, Debug)]
enum Value {
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Arc<str>),
    /// A word without quotes.
    Word(Arc<str>),
    List(Vec<Value>),
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn reader(&mut self) -> Result<Reader> {
        self.nested(|parser| {
            let mut reader = Reader::new(parser.source()?);
            while parser.take('.') {
                if reader.stages().len() >= MAX_DEPTH {
                    return Err(parser.fault(format!("a reader has at most {MAX_DEPTH} stages")));
                }
                reader = reader.then(parser.stage()?);
            }
            reader.check_depth()?;
            Ok(reader)
        })
    }

    fn source(&mut self) -> Result<Source> {
        let name = self.word("a source, such as `records(\"train.rec\")`")?;
        if matches!(name, "zip" | "interleave") {
            let readers = self.readers()?;
            return Ok(match name {
                "zip" => Source::Zip(readers),
                _ => Source::Interleave(readers),
            });
        }
        let mut arguments = self.arguments(name)?;
        match name {
            "memory" => Ok(Source::Memory(Named::new(&arguments.end_with_name()?))),
            "stream" => Ok(Source::Stream(Named::new(&arguments.end_with_name()?))),
            format => {
                let paths = arguments.texts("the path of a file in quotes")?;
                Ok(Source::Files { format: format.into(), paths, settings: arguments.settings()? })
            }
        }
    }

    /// `(reader, reader)`.
    fn readers(&mut self) -> Result<Vec<Reader>> {
        self.expect('(')?;
        let mut readers = vec![self.reader()?];
        while self.take(',') {
            readers.push(self.reader()?);
        }
        self.expect(')')?;
        Ok(readers)
    }

    fn stage(&mut self) -> Result<Stage> {
        let start = self.at;
        let name = self.word("the name of a stage")?;
        let mut from = self.arguments(name)?;
        let stage = match name {
            "shuffle" => {
                Stage::Shuffle { seed: from.u64("seed")?, buffer: from.some_u64("buffer")? }
            }
            "batch" => Stage::Batch { size: from.u64("size")?, drop_last: from.flag("drop_last")? },
            "prefetch" => Stage::Prefetch(from.u64("n")?),
            "take" => Stage::Take(from.u64("n")?),
            "skip" => Stage::Skip(from.u64("n")?),
            "repeat" => Stage::Repeat(from.u64("n")?),
            "map" => Stage::Map(Named::new(&from.text("name")?)),
            "filter" => Stage::Filter(Named::new(&from.text("name")?)),
            "cast" => Stage::Cast { field: from.text("field")?, dtype: dtype(&mut from)? },
            "scale" => Stage::Scale {
                field: from.text("field")?,
                factor: from.f64("factor", 1.0)?,
                offset: from.f64("offset", 0.0)?,
            },
            "shard" if from.is_empty() => Stage::ShardOfRun { of: None },
            "shard" if from.has("of") => Stage::ShardOfRun { of: from.some_u64("of")? },
            "shard" => Stage::Shard { rank: from.u64("rank")?, world: from.u64("world")? },
            "select" => Stage::Select(from.texts("the name of a field in quotes")?),
            "rename" => Stage::Rename { from: from.text("from")?, to: from.text("to")? },
            "pad" => Stage::Pad(Pad {
                fields: from.texts("the name of a field in quotes")?,
                size: from.some_u64("size")?,
                multiple: from.some_u64("multiple")?,
                value: from.f64("value", 0.0)?,
                length: from.some_text("length")?,
                mask: from.some_text("mask")?,
            }),
            "bucket" => Stage::Bucket {
                size: from.u64("size")?,
                field: from.text("field")?,
                sizes: from.u64s("sizes")?,
                drop_last: from.flag("drop_last")?,
            },
            _ => {
                let field = match edited(name) {
                    true => from.text("field")?,
                    false => {
                        self.at = start;
                        return Err(self.fault(format!("there is no stage `{name}`")));
                    }
                };
                Stage::Image { field, edit: edit(name, &mut from)? }
            }
        };
        from.end()?;
        stage.check().map_err(|error| error.note(format!("in the stage `{stage}` of a reader")))?;
        Ok(stage)
    }

    /// `(value, name=value)`.
    fn arguments(&mut self, of: &'a str) -> Result<Arguments<'a>> {
        self.expect('(')?;
        let mut arguments = Arguments::new(of);
        while !self.take(')') {
            if !arguments.is_empty() {
                self.expect(',')?;
            }
            self.skip_spaces();
            let start = self.at;
            let name = self.peek_word();
            self.at += name.len();
            let is_named = !name.is_empty() && self.take('=');
            if !is_named {
                self.at = start;
            }
            self.skip_spaces();
            let character = self.character();
            let value = self.value()?;
            if !arguments.add(is_named.then_some(name), value, character) {
                self.at = start;
                return Err(self.expected("an argument that is not given twice, names last"));
            }
        }
        Ok(arguments)
    }

    fn value(&mut self) -> Result<Value> {
        self.nested(|parser| {
            parser.skip_spaces();
            match parser.rest().bytes().next() {
                Some(b'"') => parser.quoted().map(Value::Text),
                Some(b'[') => parser.list(),
                Some(b'-' | b'0'..=b'9') => parser.number(),
                _ => Ok(match parser.word("a value")? {
                    "true" => Value::Bool(true),
                    "false" => Value::Bool(false),
                    word => Value::Word(word.into()),
                }),
            }
        })
    }

    fn list(&mut self) -> Result<Value> {
        self.expect('[')?;
        let mut values = Vec::new();
        while !self.take(']') {
            if !values.is_empty() {
                self.expect(',')?;
            }
            values.push(self.value()?);
        }
        Ok(Value::List(values))
    }

    fn number(&mut self) -> Result<Value> {
        let rest = self.rest();
        let belongs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-');
        let token = &rest[..rest.find(|c| !belongs(c)).unwrap_or(rest.len())];
        let value = match token.contains(['.', 'e', 'E']) {
            false => token.parse().ok().map(Value::Int),
            true => token.parse().ok().filter(|x: &f64| x.is_finite()).map(Value::Float),
        };
        let value = value.ok_or_else(|| self.expected("a number"))?;
        self.at += token.len();
        Ok(value)
    }

    fn quoted(&mut self) -> Result<Arc<str>> {
        self.expect('"')?;
        let mut text = String::new();
        loop {
            let mut chars = self.rest().chars();
            let next = chars.next();
            match (next, chars.next()) {
                (Some('"'), _) => {
                    self.at += 1;
                    return Ok(text.into());
                }
                (Some('\\'), Some(escape @ ('"' | '\\'))) => text.push(escape),
                (Some('\\'), Some('n')) => text.push('\n'),
                (Some('\\'), Some('t')) => text.push('\t'),
                (Some('\\'), Some('u')) => {
                    text.push(self.code_point()?);
                    continue;
                }
                (Some(c), _) if c != '\\' && !c.is_control() => {
                    text.push(c);
                    self.at += c.len_utf8();
                    continue;
                }
                _ => {
                    return Err(
                        self.expected("a closing quote, or one of \\\" \\\\ \\n \\t \\u{…}")
                    );
                }
            }
            self.at += 2;
        }
    }

    /// `\u{1f}`.
    fn code_point(&mut self) -> Result<char> {
        let digits = self.rest().strip_prefix("\\u{").and_then(|rest| rest.split_once('}'));
        let found = digits.and_then(|(digits, _)| {
            let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            let code = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
            Some((char::from_u32(code)?, digits.len() + 4))
        });
        let (c, n_bytes) = found.ok_or_else(|| self.expected("a code point, as in \\u{1f}"))?;
        self.at += n_bytes;
        Ok(c)
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_NESTED {
            return Err(self.expected("fewer readers and lists inside one another"));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_spaces(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn take(&mut self, token: char) -> bool {
        self.skip_spaces();
        let is_there = self.rest().starts_with(token);
        self.at += if is_there { token.len_utf8() } else { 0 };
        is_there
    }

    fn expect(&mut self, token: char) -> Result<()> {
        match self.take(token) {
            true => Ok(()),
            false => Err(self.expected(&format!("`{token}`"))),
        }
    }

    /// The word that is next, or nothing.
    fn peek_word(&self) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let word = &rest[..length.unwrap_or(rest.len())];
        if word.starts_with(|c: char| c.is_ascii_digit()) { "" } else { word }
    }

    fn word(&mut self, what: &str) -> Result<&'a str> {
        self.skip_spaces();
        let word = self.peek_word();
        if word.is_empty() {
            return Err(self.expected(what));
        }
        self.at += word.len();
        Ok(word)
    }

    /// The number of the next character, from 1.
    fn character(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    fn fault(&self, what: String) -> Error {
        Error::parse(format!("reader, character {}: {what}", self.character()))
    }

    fn expected(&self, what: &str) -> Error {
        self.fault(format!("expected {what}"))
    }
}

fn edited(name: &str) -> bool {
    EDITS.contains(&name)
}

/// The stages that edit an image.
const EDITS: [&str; 8] = [
    "resize",
    "center_crop",
    "random_crop",
    "random_resized_crop",
    "flip",
    "color_jitter",
    "normalize",
    "channels_first",
];

/// What a stage of this name does with an image.
fn edit(name: &str, from: &mut Arguments<'_>) -> Result<Edit> {
    Ok(match name {
        "resize" => Edit::Resize {
            height: from.u64("height")?,
            width: from.some_u64("width")?,
            nearest: from.flag("nearest")?,
        },
        "center_crop" => {
            Edit::CenterCrop { height: from.u64("height")?, width: from.u64("width")? }
        }
        "random_crop" => Edit::RandomCrop {
            height: from.u64("height")?,
            width: from.u64("width")?,
            padding: from.some_u64("padding")?.unwrap_or(0),
            seed: from.some_u64("seed")?.unwrap_or(0),
        },
        "random_resized_crop" => Edit::RandomResizedCrop {
            height: from.u64("height")?,
            width: from.u64("width")?,
            scale: from.pair("scale", [0.08, 1.0])?,
            ratio: from.pair("ratio", [3.0 / 4.0, 4.0 / 3.0])?,
            seed: from.some_u64("seed")?.unwrap_or(0),
        },
        "flip" => Edit::Flip {
            p: from.f64("p", 0.5)?,
            vertical: from.flag("vertical")?,
            seed: from.some_u64("seed")?.unwrap_or(0),
        },
        "color_jitter" => Edit::ColorJitter {
            brightness: from.f64("brightness", 0.0)?,
            contrast: from.f64("contrast", 0.0)?,
            saturation: from.f64("saturation", 0.0)?,
            hue: from.f64("hue", 0.0)?,
            seed: from.some_u64("seed")?.unwrap_or(0),
        },
        "normalize" => Edit::Normalize { mean: from.f64s("mean")?, std: from.f64s("std")? },
        _ => Edit::ChannelsFirst,
    })
}

fn dtype(from: &mut Arguments<'_>) -> Result<DType> {
    let name = from.word("dtype")?;
    DType::parse(&name).ok_or_else(|| {
        Error::parse(format!("`{name}` is not an element type"))
            .remedy("use bool, u8, i8, i32, i64, f16, bf16, f32 or f64")
    })
}
