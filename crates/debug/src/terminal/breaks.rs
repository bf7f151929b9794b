//! Commands for breakpoints.

use fluvial_core::{Error, Phase, Result};

use super::commands::Flow;
use super::session::Session;
use super::show::at;
use super::source::file_name;
use crate::expr::{Hits, Template, parse};
use crate::target::{Breakpoint, Fault, Listing, OWN_BREAKPOINTS, On, Verdict};

/// A breakpoint, and what has become of it.
pub struct Entry {
    pub breakpoint: Breakpoint,
    pub enabled: bool,
    pub verdict: Option<Verdict>,
}

/// Breakpoints on faults are known by their names; their ids are from here on.
const FAULTS: u32 = 1 << 29;

/// The id of the breakpoint on a fault.
fn id_of(fault: Fault) -> u32 {
    let position = Fault::ALL.iter().position(|known| *known == fault);
    FAULTS + position.unwrap_or(0) as u32
}

/// What a person calls a breakpoint.
pub fn label(id: u32) -> String {
    let fault = id.checked_sub(FAULTS).and_then(|k| Fault::ALL.get(k as usize));
    match (fault, id.checked_sub(OWN_BREAKPOINTS)) {
        (Some(fault), _) => fault.name().to_string(),
        (None, Some(own)) => format!("c{}", own + 1),
        (None, None) => id.to_string(),
    }
}

/// What stops a program from the start.
pub fn defaults() -> Vec<Entry> {
    let faults = Fault::ALL.into_iter().filter(|fault| fault.is_default());
    let entry = |fault| Entry {
        breakpoint: Breakpoint::new(id_of(fault), On::Fault(fault)),
        enabled: true,
        verdict: None,
    };
    faults.map(entry).collect()
}

pub fn set(session: &mut Session, rest: &str) -> Result<Flow> {
    if rest.is_empty() {
        return list(session, "");
    }
    let (place, clauses) = clauses(rest)?;
    let (place, phase) = phase_of(&place)?;
    let on = on(session, place)?;
    let [condition, hits, log] = clauses;
    let id = match &on {
        On::Fault(fault) => id_of(*fault),
        _ => session.next_break,
    };
    if id == session.next_break {
        session.next_break += 1;
    }
    session.breaks.retain(|entry| entry.breakpoint.id != id);
    let breakpoint = Breakpoint { id, on, condition, hits, log, phase };
    session.breaks.push(Entry { breakpoint, enabled: true, verdict: None });
    send(session);
    describe(session, id);
    Ok(Flow::Stay)
}

/// The place, then what follows `if`, `hits` and `log`. A text to log goes to the end of the line.
fn clauses(text: &str) -> Result<(String, [Option<String>; 3])> {
    const WORDS: [&str; 3] = ["if", "hits", "log"];
    let mut found: [Option<String>; 3] = [None, None, None];
    let mut place = String::new();
    let mut rest = text;
    let mut now: Option<usize> = None;
    while !rest.is_empty() {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let word = &rest[..end];
        rest = rest[end..].trim_start();
        // The first word is a place, so that the op `log` can be meant.
        let is_place = place.is_empty() && now.is_none() && word != "if";
        match WORDS.iter().position(|known| *known == word && !is_place) {
            Some(2) => {
                found[2] = Some(rest.to_string());
                break;
            }
            Some(i) if found[i].is_none() => {
                now = Some(i);
                found[i] = Some(String::new());
            }
            _ => {
                let part = match now {
                    Some(i) => found[i].get_or_insert_default(),
                    None => &mut place,
                };
                if !part.is_empty() {
                    part.push(' ');
                }
                part.push_str(word);
            }
        }
    }
    if let Some(condition) = &found[0] {
        parse(condition)?;
    }
    if let Some(hits) = &found[1] {
        Hits::parse(hits)?;
    }
    if let Some(log) = &found[2] {
        Template::parse(log)?;
    }
    Ok((place, found))
}

/// The place, and the phase that stands behind it: `train.py:17 in backward`.
fn phase_of(place: &str) -> Result<(&str, Option<Phase>)> {
    let Some((before, word)) = place.rsplit_once(" in ") else { return Ok((place, None)) };
    match Phase::ALL.into_iter().find(|phase| phase.name() == word.trim()) {
        Some(phase) => Ok((before.trim(), Some(phase))),
        None => {
            let known = Phase::ALL.map(Phase::name).join(", ");
            Err(Error::argument(format!("`{word}` is not a phase"))
                .remedy(format!("there are {known}")))
        }
    }
}

fn on(session: &Session, place: &str) -> Result<On> {
    let is_fault = |fault: &Fault| fault.name() == place.replace(' ', "-");
    if let Some(fault) = Fault::ALL.into_iter().find(is_fault) {
        return Ok(On::Fault(fault));
    }
    if let Some(name) = place.strip_prefix("change ") {
        return Ok(On::Change(name.trim().trim_matches('"').to_string()));
    }
    if let Ok(line) = place.parse() {
        return here(session, line);
    }
    if let Some((file, line)) = place.rsplit_once(':')
        && let Ok(line) = line.parse()
    {
        return match file {
            "listing" => in_listing(session, line),
            file => Ok(On::Line { file: file.to_string(), line }),
        };
    }
    match place {
        "" | "change" => Err(Error::argument("it is not said where to stop")
            .remedy("write a line, a name, `change NAME` or `nan`; see `help break`")),
        name => Ok(On::Name(name.to_string())),
    }
}

/// A line of the file that is looked at.
fn here(session: &Session, line: u32) -> Result<On> {
    let place =
        session.stop.as_ref().and_then(|stop| stop.frames.get(session.frame)?.place.clone());
    match place {
        Some(place) => Ok(match place.listing {
            Some(listing) => On::Listed { listing, line },
            None => On::Line { file: place.file.to_string(), line },
        }),
        None => Err(Error::argument("there is no file here").remedy("write `break FILE:LINE`")),
    }
}

fn in_listing(session: &Session, line: u32) -> Result<On> {
    let stop = session.stopped()?;
    let listed = stop.frames.iter().find_map(|frame| frame.listed.as_ref()?.listing);
    let number =
        || session.target.programs().first().map(|program| Listing::Source(program.number));
    match listed.or_else(number) {
        Some(listing) => Ok(On::Listed { listing, line }),
        None => Err(Error::argument("there is no listing here").remedy("write `break FILE:LINE`")),
    }
}

/// Tells the target of all breakpoints that are enabled.
pub fn send(session: &mut Session) {
    let enabled = session.breaks.iter().filter(|entry| entry.enabled);
    let breakpoints: Vec<Breakpoint> = enabled.map(|entry| entry.breakpoint.clone()).collect();
    for verdict in session.target.set_breakpoints(breakpoints) {
        let entry = session.breaks.iter_mut().find(|entry| entry.breakpoint.id == verdict.id);
        if let Some(entry) = entry {
            entry.verdict = Some(verdict);
        }
    }
}

fn describe(session: &mut Session, id: u32) {
    let Some(entry) = session.breaks.iter().find(|entry| entry.breakpoint.id == id) else { return };
    let text = text(entry);
    session.say(text);
}

fn text(entry: &Entry) -> String {
    let Entry { breakpoint, enabled, verdict } = entry;
    let place = verdict.as_ref().and_then(|verdict| verdict.place.as_ref());
    let on = match (&breakpoint.on, place) {
        (On::Line { .. }, Some(place)) => at(place),
        (On::Line { file, line }, None) => format!("{}:{line}", file_name(file)),
        (On::Listed { line, .. }, place) => {
            format!("line {} of the listing", place.map_or(*line, |place| place.line))
        }
        (On::Name(name), _) => format!("`{name}`"),
        (On::Change(name), _) => format!("changes of `{name}`"),
        (On::Fault(_), _) => String::new(),
    };
    let mut text = format!("{} {on}", label(breakpoint.id)).trim_end().to_string();
    if let Some(phase) = breakpoint.phase {
        text.push_str(&format!(" in {}", phase.name()));
    }
    let clauses =
        [("if", &breakpoint.condition), ("hits", &breakpoint.hits), ("log", &breakpoint.log)];
    for (word, clause) in clauses {
        if let Some(clause) = clause {
            text.push_str(&format!(" {word} {clause}"));
        }
    }
    if !enabled {
        text.push_str(" (disabled)");
    } else if let Some(verdict) = verdict {
        match (&verdict.message, verdict.verified) {
            (Some(message), _) => text.push_str(&format!(" ({message})")),
            (None, false) => text.push_str(" (no op fits so far)"),
            (None, true) => {}
        }
    }
    text
}

/// The breakpoints with these numbers, all if there is none.
fn chosen(session: &Session, rest: &str) -> Result<Vec<u32>> {
    let known: Vec<u32> = session.breaks.iter().map(|entry| entry.breakpoint.id).collect();
    if rest.is_empty() {
        return Ok(known);
    }
    let words = rest.split([' ', ',']).filter(|word| !word.is_empty());
    let ids = words.map(|word| match known.iter().find(|id| label(**id) == word) {
        Some(id) => Ok(*id),
        None => Err(Error::argument(format!("there is no breakpoint `{word}`"))
            .remedy("`breakpoints` lists them")),
    });
    ids.collect()
}

pub fn condition(session: &mut Session, rest: &str) -> Result<Flow> {
    let (id, expression) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let [id] = chosen(session, id)?[..] else {
        return Err(Error::argument("one breakpoint is needed").remedy("write `cond ID EXPR`"));
    };
    let expression = expression.trim();
    let condition = match expression {
        "" => None,
        text => Some(parse(text)?.text().to_string()),
    };
    for entry in session.breaks.iter_mut().filter(|entry| entry.breakpoint.id == id) {
        entry.breakpoint.condition.clone_from(&condition);
    }
    send(session);
    describe(session, id);
    Ok(Flow::Stay)
}

pub fn delete(session: &mut Session, rest: &str) -> Result<Flow> {
    let ids = chosen(session, rest)?;
    session.breaks.retain(|entry| !ids.contains(&entry.breakpoint.id));
    send(session);
    Ok(Flow::Stay)
}

pub fn disable(session: &mut Session, rest: &str) -> Result<Flow> {
    switch(session, rest, false)
}

pub fn enable(session: &mut Session, rest: &str) -> Result<Flow> {
    switch(session, rest, true)
}

fn switch(session: &mut Session, rest: &str, enabled: bool) -> Result<Flow> {
    let ids = chosen(session, rest)?;
    for entry in session.breaks.iter_mut().filter(|entry| ids.contains(&entry.breakpoint.id)) {
        entry.enabled = enabled;
    }
    send(session);
    Ok(Flow::Stay)
}

pub fn list(session: &mut Session, _: &str) -> Result<Flow> {
    let own = session.target.own_breakpoints();
    let own = own.iter().map(|verdict| {
        let place = verdict.place.as_ref().map_or("a line".to_string(), at);
        format!("{} {place} (your code calls `breakpoint()` there)", label(verdict.id))
    });
    let lines: Vec<String> = session.breaks.iter().map(text).chain(own).collect();
    match lines.is_empty() {
        true => session.say("There are no breakpoints."),
        false => session.say(lines.join("\n")),
    }
    Ok(Flow::Stay)
}

impl Session<'_> {
    /// A breakpoint is met by a program now, or no longer.
    pub(super) fn changed(&mut self, verdict: Verdict) {
        let entry = self.breaks.iter_mut().find(|entry| entry.breakpoint.id == verdict.id);
        let Some(entry) = entry else { return };
        let is_new = entry.verdict.as_ref() != Some(&verdict);
        entry.verdict = Some(verdict);
        if is_new {
            let text = self.paint.dim(&format!("breakpoint {}", text(entry)));
            self.say(text);
        }
    }
}
