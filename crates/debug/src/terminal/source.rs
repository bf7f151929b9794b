//! Commands for frames, sources and listings.

use fluvial_core::{Error, Result};

use super::commands::Flow;
use super::session::Session;
use super::show::frame_line;
use crate::engine::source::recorded;
use crate::target::{Listing, On, Place};

/// Files larger than this are not sources.
const LARGEST: u64 = 8 << 20;

/// The last part of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

pub fn frames(session: &mut Session, _: &str) -> Result<Flow> {
    let stop = session.stopped()?;
    for (i, frame) in stop.frames.iter().enumerate() {
        let mark = if i == session.frame { ">" } else { " " };
        session.say(format!("{mark} {i} {}", frame_line(frame)));
    }
    Ok(Flow::Stay)
}

pub fn up(session: &mut Session, rest: &str) -> Result<Flow> {
    turn(session, rest, 1)
}

pub fn down(session: &mut Session, rest: &str) -> Result<Flow> {
    turn(session, rest, -1)
}

fn turn(session: &mut Session, rest: &str, sign: i64) -> Result<Flow> {
    let stop = session.stopped()?;
    let by: i64 = match rest {
        "" => 1,
        text => text.parse().map_err(|_| {
            Error::argument(format!("`{text}` is not a number")).remedy("write `up`, or `up 2`")
        })?,
    };
    let last = stop.frames.len().saturating_sub(1) as i64;
    let wanted = (session.frame as i64).saturating_add(by.saturating_mul(sign)).clamp(0, last);
    if wanted == session.frame as i64 && by != 0 {
        let end = if sign > 0 { "outermost" } else { "innermost" };
        return Err(Error::state(format!("this is the {end} frame")).remedy("`where` shows all"));
    }
    session.frame = wanted as usize;
    session.listed = None;
    let line = format!("> {} {}", session.frame, frame_line(&stop.frames[session.frame]));
    session.say(line);
    Ok(Flow::Stay)
}

impl Session<'_> {
    /// The text that a place is in.
    fn text_of(&self, place: &Place) -> Result<String> {
        if let Some(listing) = place.listing {
            return self.target.listing(listing);
        }
        let path = place.file.as_ref();
        if let Some(text) = recorded(path) {
            return Ok(text.to_string());
        }
        let size = std::fs::metadata(path).map(|data| data.len()).unwrap_or(0);
        let read = if size > LARGEST { None } else { std::fs::read(path).ok() };
        match read {
            Some(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            None => Err(Error::new(
                fluvial_core::ErrorKind::File,
                format!("the source `{path}` cannot be read"),
            )
            .remedy("`listing` shows the program instead")),
        }
    }

    /// The line at a place, if it can be read.
    pub(super) fn line_of(&self, place: &Place) -> Option<String> {
        let text = self.text_of(place).ok()?;
        text.lines().nth(place.line.checked_sub(1)? as usize).map(str::to_string)
    }

    /// Shows some lines from `from` on, with marks: `>` where the program is, `B` at breakpoints, `*` where ops are.
    fn show_lines(&mut self, place: &Place, from: u32, count: u32) -> Result<u32> {
        let text = self.text_of(place)?;
        let with_ops = match place.listing {
            None => self.target.lines(&place.file),
            Some(_) => Vec::new(),
        };
        let mut next = from;
        for (line, text) in (1u32..).zip(text.lines()).skip(from as usize - 1).take(count as usize)
        {
            let here = if self.is_here(place, line) { '>' } else { ' ' };
            let mark = match (self.has_break(place, line), with_ops.binary_search(&line)) {
                (true, _) => 'B',
                (false, Ok(_)) => '*',
                _ => ' ',
            };
            let shown = format!("{here}{mark}{line:>5} | {text}");
            self.say(if here == '>' { self.paint.bold(&shown) } else { shown });
            next = line + 1;
        }
        if next == from {
            return Err(Error::argument("there are no more lines").remedy("write `list LINE`"));
        }
        Ok(next)
    }

    fn is_here(&self, place: &Place, line: u32) -> bool {
        let frame = self.stop.as_ref().and_then(|stop| stop.frames.get(self.frame));
        let places = frame.into_iter().flat_map(|frame| [&frame.place, &frame.listed]);
        places
            .flatten()
            .any(|here| (&here.file, here.listing, here.line) == (&place.file, place.listing, line))
    }

    fn has_break(&self, place: &Place, line: u32) -> bool {
        self.breaks.iter().filter(|entry| entry.enabled).any(|entry| {
            let moved = entry.verdict.as_ref().and_then(|verdict| verdict.place.as_ref());
            match (&entry.breakpoint.on, moved) {
                (On::Line { .. } | On::Listed { .. }, Some(moved)) => {
                    moved.line == line && moved.file == place.file && moved.listing == place.listing
                }
                (On::Line { file, line: own }, None) => {
                    *own == line && file_name(file) == file_name(&place.file)
                }
                (On::Listed { listing, line: own }, None) => {
                    *own == line && Some(*listing) == place.listing
                }
                _ => false,
            }
        })
    }
}

pub fn list(session: &mut Session, rest: &str) -> Result<Flow> {
    let here = |session: &Session| -> Result<Place> {
        let stop = session.stopped()?;
        let place = stop.frames.iter().skip(session.frame).find_map(|frame| frame.place.clone());
        place.ok_or_else(|| {
            Error::state("the source of this is not known").remedy("`listing` shows the program")
        })
    };
    let around = |line: u32| line.saturating_sub(5).max(1);
    let (place, from) = match (rest, session.listed.clone()) {
        ("", Some((place, from))) => (place, from),
        ("", None) => {
            let place = here(session)?;
            let from = around(place.line);
            (place, from)
        }
        (text, _) => {
            let (file, line) = text.rsplit_once(':').map_or((None, text), |(f, l)| (Some(f), l));
            let line: u32 = line.parse().map_err(|_| {
                Error::argument(format!("`{text}` is not a line"))
                    .remedy("write `list 10` or `list FILE:10`")
            })?;
            let place = match file {
                Some(file) => Place { file: file.into(), line, column: 0, listing: None },
                None => here(session)?,
            };
            (place, around(line))
        }
    };
    let next = session.show_lines(&place, from, 11)?;
    session.listed = Some((place, next));
    Ok(Flow::Stay)
}

pub fn listing(session: &mut Session, rest: &str) -> Result<Flow> {
    let stop = session.stopped()?;
    let listed = stop.frames.iter().skip(session.frame).find_map(|frame| frame.listed.clone());
    let number = match listed.as_ref().and_then(|place| place.listing) {
        Some(Listing::Source(n) | Listing::Compiled(n) | Listing::Kernel(n)) => Some(n),
        None => session.target.programs().first().map(|program| program.number),
    };
    let Some(number) = number else {
        return Err(Error::state("no program has run so far").remedy("`continue` runs one"));
    };
    match (rest, listed) {
        ("", Some(place)) => {
            session.show_lines(&place, place.line.saturating_sub(8).max(1), 17)?;
        }
        ("", None) => {
            let text = session.target.listing(Listing::Source(number))?;
            session.say(text);
        }
        ("compiled", _) => {
            let text = session.target.listing(Listing::Compiled(number))?;
            session.say(text);
        }
        (other, _) => {
            return Err(Error::argument(format!("there is no listing `{other}`"))
                .remedy("write `listing` or `listing compiled`"));
        }
    }
    Ok(Flow::Stay)
}

pub fn kernel(session: &mut Session, _: &str) -> Result<Flow> {
    let stop = session.stopped()?;
    let number = stop
        .frames
        .iter()
        .find_map(|frame| match frame.listed.as_ref()?.listing? {
            Listing::Source(n) | Listing::Compiled(n) | Listing::Kernel(n) => Some(n),
        })
        .or_else(|| session.target.programs().first().map(|program| program.number));
    let Some(number) = number else {
        return Err(Error::state("no program has run so far").remedy("`continue` runs one"));
    };
    let text = session.target.listing(Listing::Kernel(number))?;
    session.say(text);
    Ok(Flow::Stay)
}
