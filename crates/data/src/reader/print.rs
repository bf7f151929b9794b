//! Readers as text.

use std::fmt::{self, Display, Formatter};

use super::{Edit, Pad, Reader, Source, Stage};
use crate::formats::Setting;

impl Display for Reader {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.source() {
            Source::Files { format, paths, settings } => {
                let mut arguments = Arguments::new(f, format)?;
                paths
                    .iter()
                    .try_for_each(|path| arguments.add(format_args!("{}", Quoted(path))))?;
                for (name, setting) in settings {
                    arguments.add(format_args!("{name}={}", Shown(setting)))?;
                }
                arguments.end()?;
            }
            Source::Memory(named) => write!(f, "memory({})", Quoted(named.name()))?,
            Source::Stream(named) => write!(f, "stream({})", Quoted(named.name()))?,
            Source::Zip(readers) => list(f, "zip", readers)?,
            Source::Interleave(readers) => list(f, "interleave", readers)?,
        }
        self.stages().iter().try_for_each(|stage| write!(f, ".{stage}"))
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Reader({self})")
    }
}

fn list(f: &mut Formatter<'_>, name: &str, readers: &[Reader]) -> fmt::Result {
    let mut arguments = Arguments::new(f, name)?;
    readers.iter().try_for_each(|reader| arguments.add(format_args!("{reader}")))?;
    arguments.end()
}

impl Display for Stage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut to = Arguments::new(f, self.name())?;
        match self {
            Stage::Shuffle { seed, buffer } => {
                to.add(format_args!("seed={seed}"))?;
                to.add_some("buffer", *buffer)?;
            }
            Stage::Batch { size, drop_last } => {
                to.add(format_args!("{size}"))?;
                to.add_some("drop_last", drop_last.then_some(true))?;
            }
            Stage::Prefetch(n) | Stage::Take(n) | Stage::Skip(n) | Stage::Repeat(n) => {
                to.add(format_args!("{n}"))?;
            }
            Stage::Map(named) => to.add(format_args!("{}", Quoted(named.name())))?,
            Stage::Filter(named) => to.add(format_args!("{}", Quoted(named.name())))?,
            Stage::Cast { field, dtype } => to.add(format_args!("{}, {dtype}", Quoted(field)))?,
            Stage::Scale { field, factor, offset } => {
                to.add(format_args!("{}, factor={factor:?}, offset={offset:?}", Quoted(field)))?;
            }
            Stage::Shard { rank, world } => to.add(format_args!("rank={rank}, world={world}"))?,
            Stage::ShardOfRun { of: None } => {}
            Stage::ShardOfRun { of: Some(n) } => to.add(format_args!("of={n}"))?,
            Stage::Select(fields) => {
                fields.iter().try_for_each(|field| to.add(format_args!("{}", Quoted(field))))?;
            }
            Stage::Rename { from, to: new } => {
                to.add(format_args!("{}, {}", Quoted(from), Quoted(new)))?;
            }
            Stage::Pad(pad) => write_pad(&mut to, pad)?,
            Stage::Bucket { size, field, sizes, drop_last } => {
                to.add(format_args!("{size}, {}, sizes={sizes:?}", Quoted(field)))?;
                to.add_some("drop_last", drop_last.then_some(true))?;
            }
            Stage::Image { field, edit } => {
                to.add(format_args!("{}", Quoted(field)))?;
                write_edit(&mut to, edit)?;
            }
        }
        to.end()
    }
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

fn write_pad(to: &mut Arguments<'_, '_>, pad: &Pad) -> fmt::Result {
    pad.fields.iter().try_for_each(|field| to.add(format_args!("{}", Quoted(field))))?;
    to.add_some("size", pad.size)?;
    to.add_some("multiple", pad.multiple)?;
    if pad.value != 0.0 {
        to.add(format_args!("value={:?}", pad.value))?;
    }
    to.add_some("length", pad.length.as_deref().map(Quoted))?;
    to.add_some("mask", pad.mask.as_deref().map(Quoted))
}

fn write_edit(to: &mut Arguments<'_, '_>, edit: &Edit) -> fmt::Result {
    match edit {
        Edit::Resize { height, width, nearest } => {
            to.add(format_args!("{height}"))?;
            to.add_some("width", *width)?;
            to.add_some("nearest", nearest.then_some(true))
        }
        Edit::CenterCrop { height, width } => to.add(format_args!("{height}, {width}")),
        Edit::RandomCrop { height, width, padding, seed } => {
            to.add(format_args!("{height}, {width}, padding={padding}, seed={seed}"))
        }
        Edit::RandomResizedCrop { height, width, scale, ratio, seed } => {
            to.add(format_args!("{height}, {width}, scale={scale:?}, ratio={ratio:?}, seed={seed}"))
        }
        Edit::Flip { p, vertical, seed } => {
            to.add(format_args!("p={p:?}"))?;
            to.add_some("vertical", vertical.then_some(true))?;
            to.add(format_args!("seed={seed}"))
        }
        Edit::ColorJitter { brightness, contrast, saturation, hue, seed } => {
            to.add(format_args!("brightness={brightness:?}, contrast={contrast:?}"))?;
            to.add(format_args!("saturation={saturation:?}, hue={hue:?}, seed={seed}"))
        }
        Edit::Normalize { mean, std } => to.add(format_args!("mean={mean:?}, std={std:?}")),
        Edit::ChannelsFirst => Ok(()),
    }
}

/// Writes `name(one, two)`.
struct Arguments<'a, 'f> {
    to: &'a mut Formatter<'f>,
    is_first: bool,
}

impl<'a, 'f> Arguments<'a, 'f> {
    fn new(to: &'a mut Formatter<'f>, name: &str) -> Result<Arguments<'a, 'f>, fmt::Error> {
        write!(to, "{name}(")?;
        Ok(Arguments { to, is_first: true })
    }

    fn add(&mut self, argument: fmt::Arguments<'_>) -> fmt::Result {
        let separator = if self.is_first { "" } else { ", " };
        self.is_first = false;
        write!(self.to, "{separator}{argument}")
    }

    fn add_some(&mut self, name: &str, value: Option<impl Display>) -> fmt::Result {
        value.map_or(Ok(()), |value| self.add(format_args!("{name}={value}")))
    }

    fn end(self) -> fmt::Result {
        self.to.write_str(")")
    }
}

/// A text in quotes, on one line.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\t' => f.write_str("\\t")?,
                c if c.is_control() => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}

struct Shown<'a>(&'a Setting);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Setting::Bool(value) => write!(f, "{value}"),
            Setting::Int(value) => write!(f, "{value}"),
            Setting::Float(value) => write!(f, "{value:?}"),
            Setting::Text(text) => write!(f, "{}", Quoted(text)),
            Setting::List(settings) => {
                f.write_str("[")?;
                for (i, setting) in settings.iter().enumerate() {
                    write!(f, "{}{}", if i == 0 { "" } else { ", " }, Shown(setting))?;
                }
                f.write_str("]")
            }
        }
    }
}
