//! Breakpoints: on lines, names, faults and values.

use std::collections::BTreeMap;

use fluvial_core::Phase;
use serde_json::{Value, json};

use super::handles::Node;
use super::session::{Answer, Session};
use super::stack::{file_of, listing_of};
use crate::protocol::Args;
use crate::target::{Breakpoint, Fault, On, ScopeKind, Verdict};

/// How many breakpoints there may be.
const MAX_BREAKPOINTS: usize = 4096;

/// Breakpoints that a client replaces together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Source(String),
    Names,
    Faults,
    Data,
}

/// What a client has set.
#[derive(Debug, Default)]
pub(super) struct Breakpoints {
    last_id: u32,
    groups: BTreeMap<Group, Vec<Breakpoint>>,
}

/// What a client wants, or why that cannot be.
type Wanted = Result<Breakpoint, String>;

impl Breakpoints {
    /// Replaces a group. What was there before keeps its number, and so how often it was hit.
    fn replace(&mut self, group: Group, wanted: &mut [Wanted]) {
        let mut old = self.groups.remove(&group).unwrap_or_default();
        let n_others: usize = self.groups.values().map(Vec::len).sum();
        let mut new = Vec::new();
        for slot in wanted {
            let Ok(breakpoint) = slot else { continue };
            if n_others + new.len() >= MAX_BREAKPOINTS {
                *slot = Err(format!("there are {MAX_BREAKPOINTS} breakpoints; remove some"));
                continue;
            }
            let is_same = |old: &Breakpoint| Breakpoint { id: 0, ..old.clone() } == *breakpoint;
            breakpoint.id = match old.iter().position(is_same) {
                Some(at) => old.remove(at).id,
                None => {
                    self.last_id = self.last_id % (i32::MAX as u32) + 1;
                    self.last_id
                }
            };
            new.push(breakpoint.clone());
        }
        if !new.is_empty() {
            self.groups.insert(group, new);
        }
    }

    /// Whether the client has set a breakpoint of this number; others may have set some, too.
    pub fn has(&self, id: u32) -> bool {
        self.groups.values().flatten().any(|breakpoint| breakpoint.id == id)
    }

    fn all(&self) -> Vec<Breakpoint> {
        self.groups.values().flatten().cloned().collect()
    }
}

impl Session {
    /// Replaces a group, and says what has become of it.
    fn place(&mut self, group: Group, mut wanted: Vec<Wanted>) -> Answer {
        self.breakpoints.replace(group, &mut wanted);
        let verdicts = self.target().set_breakpoints(self.breakpoints.all());
        let answers = wanted.iter().map(|wanted| match wanted {
            Err(why) => json!({"verified": false, "message": why}),
            Ok(breakpoint) => {
                let verdict = verdicts.iter().find(|verdict| verdict.id == breakpoint.id);
                let mut answer = match verdict {
                    Some(verdict) => self.breakpoint_out(verdict),
                    None => json!({"id": breakpoint.id, "verified": false}),
                };
                if let (On::Line { line, .. } | On::Listed { line, .. }, None) =
                    (&breakpoint.on, answer.get("line"))
                {
                    answer["line"] = json!(self.line_out(*line));
                }
                answer
            }
        });
        let answers: Vec<Value> = answers.collect();
        Ok(json!({"breakpoints": answers}))
    }

    /// What a client is told of a breakpoint.
    pub(super) fn breakpoint_out(&self, verdict: &Verdict) -> Value {
        let mut answer = json!({"id": verdict.id, "verified": verdict.verified});
        if let Some(message) = &verdict.message {
            answer["message"] = json!(message);
        }
        if let Some(place) = &verdict.place {
            answer["line"] = json!(self.line_out(place.line));
            answer["source"] = self.source_out(place);
        }
        answer
    }

    pub(super) fn set_breakpoints(&mut self, args: Args) -> Answer {
        let source = args.object("source");
        let listing = source.int("sourceReference").filter(|&number| number != 0);
        let (key, on): (String, Box<dyn Fn(u32) -> On>) = match (listing, source.words("path")) {
            (Some(number), _) => {
                let listing = listing_of(number)
                    .ok_or_else(|| format!("setBreakpoints: no listing has number {number}"))?;
                (format!("#{number}"), Box::new(move |line| On::Listed { listing, line }))
            }
            (None, Some(path)) => {
                let file = file_of(path);
                (file.clone(), Box::new(move |line| On::Line { file: file.clone(), line }))
            }
            (None, None) => {
                return Err("setBreakpoints: the source has no path and no reference".to_string());
            }
        };
        let given = args.array("breakpoints");
        let old_style = args.array("lines");
        let lines: Vec<Value> = match given.is_empty() {
            true => old_style.iter().map(|line| json!({"line": line})).collect(),
            false => given.to_vec(),
        };
        let wanted = lines.iter().map(|given| {
            let given = Args::new(given);
            let line = given.int("line").and_then(|line| self.line_in(line));
            Ok(breakpoint(on(line.ok_or("the line is not a number")?), given))
        });
        let wanted = wanted.collect();
        self.place(Group::Source(key), wanted)
    }

    pub(super) fn set_function_breakpoints(&mut self, args: Args) -> Answer {
        let wanted = args.array("breakpoints").iter().map(|given| {
            let given = Args::new(given);
            let name = given.words("name").ok_or("the name of an op or a layer is missing")?;
            Ok(breakpoint(On::Name(name.to_string()), given))
        });
        self.place(Group::Names, wanted.collect())
    }

    pub(super) fn set_exception_breakpoints(&mut self, args: Args) -> Answer {
        let named = args.array("filters").iter().map(|name| (name.as_str(), Value::Null));
        let options = args.array("filterOptions").iter();
        let options = options.map(|given| (Args::new(given).text("filterId"), given.clone()));
        let wanted = named.chain(options).map(|(name, given)| {
            let fault = Fault::ALL.into_iter().find(|fault| Some(fault.name()) == name);
            let fault = fault.ok_or_else(|| {
                let known = Fault::ALL.map(Fault::name).join(", ");
                format!("no filter is named {}; there are {known}", name.unwrap_or("that"))
            })?;
            Ok(breakpoint(On::Fault(fault), Args::new(&given)))
        });
        self.place(Group::Faults, wanted.collect())
    }

    pub(super) fn set_data_breakpoints(&mut self, args: Args) -> Answer {
        let wanted = args.array("breakpoints").iter().map(|given| {
            let given = Args::new(given);
            let name = given.words("dataId").ok_or("the name of a value is missing")?;
            if given.text("accessType") == Some("read") {
                return Err("only changes of a value can be watched, not reads".to_string());
            }
            Ok(breakpoint(On::Change(name.to_string()), given))
        });
        self.place(Group::Data, wanted.collect())
    }

    pub(super) fn data_breakpoint_info(&mut self, args: Args) -> Answer {
        let name = args.words("name").ok_or("dataBreakpointInfo: the name is missing")?;
        let unknown = |why: String| Ok(json!({"dataId": null, "description": why}));
        let handle = args.int("variablesReference").filter(|&handle| handle != 0);
        let (name, can_persist) = match handle.map(|handle| self.handles.get(handle)) {
            Some(None) => return unknown(format!("`{name}`: the program has gone on")),
            Some(Some(Node::Scope { kind, .. })) => {
                (name.to_string(), matches!(kind, ScopeKind::Parameters | ScopeKind::Optimizer))
            }
            Some(Some(Node::Value(part))) if part.scope.is_none() => {
                return unknown(format!("`{}` has no name by which it can be watched", part.name));
            }
            // Values are watched as a whole.
            Some(Some(Node::Value(part))) => (part.name.clone(), false),
            None => {
                let frame = self.frame_in(args)?;
                if !self.target().names(frame).iter().any(|known| known == name) {
                    return unknown(format!("no value is named `{name}`"));
                }
                (name.to_string(), false)
            }
        };
        Ok(json!({
            "dataId": name,
            "description": format!("{name} changes"),
            "accessTypes": ["write"],
            "canPersist": can_persist,
        }))
    }

    pub(super) fn breakpoint_locations(&mut self, args: Args) -> Answer {
        let first = args.int("line").and_then(|line| self.line_in(line));
        let first = first.ok_or("breakpointLocations: the line is missing")?;
        let last = args.int("endLine").and_then(|line| self.line_in(line)).unwrap_or(first);
        let path = args.object("source").words("path");
        let lines = path.map(|path| self.target().lines(&file_of(path))).unwrap_or_default();
        let lines = lines.into_iter().filter(|line| (first..=last).contains(line));
        let places: Vec<Value> =
            lines.take(1000).map(|line| json!({"line": self.line_out(line)})).collect();
        Ok(json!({"breakpoints": places}))
    }
}

/// A breakpoint with what may restrict it, yet without a number.
fn breakpoint(on: On, given: Args) -> Breakpoint {
    let text = |name| given.words(name).map(str::to_string);
    Breakpoint {
        id: 0,
        on,
        condition: text("condition"),
        hits: text("hitCondition"),
        log: text("logMessage"),
        phase: Phase::ALL.into_iter().find(|phase| given.text("mode") == Some(phase.name())),
    }
}
