//! What the mock does: where it is, what stops it, how it goes on.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use fluvial_core::{Error, Result, Tensor};
use fluvial_debug::target::*;

use super::Script;

/// The ops of a step: name, text, line.
const OPS: [(&str, &str, u32); 5] = [
    ("matmul", "%h = matmul(%x, %w)", 10),
    ("log", "%h2 = log(%h)", 11),
    ("abs", "%a = abs(%h2)", 11),
    ("mean", "%loss = mean(%a)", 12),
    ("sgd", "%w = sgd(%w)", 13),
];
const N_OPS: u64 = OPS.len() as u64;
pub const LISTING: &str = "program train {\n  %h = matmul(%x, %w)\n  %h2 = log(%h)\n  %a = abs(%h2)\n  \
                           %loss = mean(%a)\n  %w = sgd(%w)\n}\n";

/// Where it is to go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    Free,
    NextLine(u32),
    NextOp,
    OutOfLayer,
    NextStep(u64),
    BackLine(u32),
    BackOp,
    BackFree,
    Jump(u64, bool),
}

impl Goal {
    pub fn of(how: &Go, model: &Model) -> Result<Goal> {
        let line = OPS[model.op()].2;
        let is_back = matches!(how, Go::BackLine | Go::BackOp | Go::BackContinue);
        if is_back && model.at == 0 {
            return Err(Error::state("there is nothing before the first op"));
        }
        Ok(match how {
            Go::NextLine => Goal::NextLine(line),
            Go::NextOp => Goal::NextOp,
            Go::OutOfLayer => Goal::OutOfLayer,
            Go::NextIteration => Goal::NextStep(model.step()),
            Go::ToStep(step) if *step >= model.script.n_steps => {
                return Err(Error::argument(format!("there is no step {step}")));
            }
            Go::ToStep(step) => Goal::Jump(step * N_OPS, true),
            Go::BackLine => Goal::BackLine(line),
            Go::BackOp => Goal::BackOp,
            Go::BackContinue => Goal::BackFree,
            Go::Restart => Goal::Jump(0, false),
            _ => Goal::Free,
        })
    }

    fn is_back(self) -> bool {
        matches!(self, Goal::BackLine(_) | Goal::BackOp | Goal::BackFree)
    }
}

pub struct Model {
    pub script: Script,
    /// How many ops have run.
    pub at: u64,
    pub goal: Goal,
    /// Whether the op at which it is has not been looked at.
    is_new: bool,
    pub stop: Option<Arc<Stop>>,
    n_stops: u64,
    pub wants_pause: bool,
    pub is_waiting: bool,
    pub is_over: bool,
    pub breakpoints: Vec<Breakpoint>,
    hits: HashMap<u32, u64>,
    pub listeners: Vec<Sender<Event>>,
    pub orders: Vec<Go>,
    pub edits: Vec<String>,
    pub edited: HashMap<String, Tensor>,
}

impl Model {
    pub fn new(script: Script) -> Model {
        Model {
            script,
            at: 0,
            goal: Goal::Free,
            is_new: true,
            stop: None,
            n_stops: 0,
            wants_pause: false,
            is_waiting: script.waits,
            is_over: false,
            breakpoints: Vec::new(),
            hits: HashMap::new(),
            listeners: Vec::new(),
            orders: Vec::new(),
            edits: Vec::new(),
            edited: HashMap::new(),
        }
    }

    pub fn step(&self) -> u64 {
        self.at / N_OPS
    }

    pub fn op(&self) -> usize {
        (self.at % N_OPS) as usize
    }

    pub fn is_done(&self) -> bool {
        self.step() >= self.script.n_steps
    }

    pub fn has_nan(&self) -> bool {
        self.script.nan_at == Some(self.step()) && (1..4).contains(&self.op())
    }

    pub fn tell(&mut self, event: Event) {
        self.listeners.retain(|listener| listener.send(event.clone()).is_ok());
    }

    pub fn set(&mut self, breakpoints: Vec<Breakpoint>) {
        self.hits.retain(|id, _| breakpoints.iter().any(|wanted| wanted.id == *id));
        self.breakpoints = breakpoints;
    }

    pub fn resume(&mut self, goal: Goal) {
        self.goal = goal;
        self.is_new = false;
        if let Goal::Jump(to, _) = goal {
            self.at = to;
            self.is_new = true;
        }
        self.stop = None;
        self.tell(Event::Continued(1));
    }

    pub fn detach(&mut self) {
        self.breakpoints.clear();
        self.wants_pause = false;
        self.is_waiting = false;
        if self.stop.is_some() {
            self.resume(Goal::Free);
        }
        self.goal = Goal::Free;
    }

    pub fn advance(&mut self) {
        if !self.goal.is_back() {
            self.at += 1;
        } else if self.at == 0 {
            return self.halt(Reason::Step, "as early as possible", Vec::new());
        } else {
            self.at -= 1;
        }
        self.is_new = true;
        if self.op() == 0 && !self.goal.is_back() {
            let (step, of) = (self.step(), Some(self.script.n_steps));
            self.tell(Event::Progress { step, of, text: format!("step {step}") });
        }
    }

    /// Stops, if something is to stop it here; whether it did.
    pub fn look(&mut self) -> bool {
        if std::mem::take(&mut self.wants_pause) {
            self.halt(Reason::Pause, "paused", Vec::new());
            return true;
        }
        if !std::mem::take(&mut self.is_new) {
            return false;
        }
        if let Some((reason, text, id)) = self.hit() {
            self.halt(reason, &text, vec![id]);
            return true;
        }
        let line = OPS[self.op()].2;
        let is_there = match self.goal {
            Goal::NextLine(from) | Goal::BackLine(from) => line != from,
            Goal::NextOp | Goal::BackOp => true,
            Goal::OutOfLayer => self.op() > 2,
            Goal::NextStep(from) => self.step() != from,
            Goal::Jump(..) => true,
            Goal::Free | Goal::BackFree => false,
        };
        if is_there {
            let is_goto = matches!(self.goal, Goal::Jump(_, true));
            let reason = if is_goto { Reason::Goto } else { Reason::Step };
            self.halt(reason, "a step is done", Vec::new());
        }
        is_there
    }

    fn hit(&mut self) -> Option<(Reason, String, u32)> {
        let (name, text, line) = OPS[self.op()];
        for wanted in self.breakpoints.clone() {
            let reason = match &wanted.on {
                On::Line { .. } | On::Listed { .. } => {
                    let at = self.judge(&wanted).place.map(|place| place.line);
                    let own = if matches!(wanted.on, On::Listed { .. }) {
                        self.op() as u32 + 2
                    } else {
                        line
                    };
                    // Of two ops on a line, the first is the one to stop at.
                    (at == Some(own) && self.op() != 2).then_some(Reason::Breakpoint)
                }
                On::Name(pattern) => {
                    let is_layer = pattern == "fc1" && self.op() == 0;
                    (pattern == name || is_layer).then_some(Reason::Function)
                }
                On::Change(name) => {
                    (name == "w" && self.op() == 0 && self.at > 0).then_some(Reason::Data)
                }
                On::Fault(Fault::Nan) => {
                    (self.has_nan() && self.op() == 1).then_some(Reason::Exception(Fault::Nan))
                }
                On::Fault(_) => None,
            };
            let Some(reason) = reason else { continue };
            if wanted.condition.as_deref().is_some_and(|text| !self.holds(text)) {
                continue;
            }
            let n_hits = self.hits.entry(wanted.id).or_insert(0);
            *n_hits += 1;
            if wanted.hits.as_deref().is_some_and(|text| text.parse() != Ok(*n_hits)) {
                continue;
            }
            if let Some(log) = &wanted.log {
                let text = log.replace("{step}", &self.step().to_string());
                let place = Some(user_line(line));
                self.tell(Event::Output { text, kind: Output::Log, place });
                continue;
            }
            let why = match &reason {
                Reason::Exception(_) => format!("op {name} made NaN in `h2`"),
                _ => format!("at {text}"),
            };
            return Some((reason, why, wanted.id));
        }
        None
    }

    fn halt(&mut self, reason: Reason, text: &str, breakpoints: Vec<u32>) {
        self.n_stops += 1;
        self.goal = Goal::Free;
        let notes =
            if self.edits.is_empty() { vec![] } else { vec!["values were edited".to_string()] };
        let stop = Arc::new(Stop {
            number: self.n_stops,
            thread: 1,
            reason,
            text: text.to_string(),
            breakpoints,
            frames: self.frames(),
            can_go_back: self.at > 0,
            step: Some((self.step(), Some(self.script.n_steps))),
            notes,
        });
        self.stop = Some(stop.clone());
        self.tell(Event::Stopped(stop));
    }

    fn frames(&self) -> Vec<Frame> {
        let (_, text, line) = OPS[self.op()];
        let frame = |kind, name: String, place, listed| Frame { kind, name, place, listed };
        let listed = Place {
            file: "train".into(),
            line: self.op() as u32 + 2,
            column: 3,
            listing: Some(Listing::Source(1)),
        };
        let mut frames =
            vec![frame(FrameKind::Op, text.to_string(), Some(user_line(line)), Some(listed))];
        if self.op() < 3 {
            frames.push(frame(FrameKind::Layer, "fc1".to_string(), Some(user_line(9)), None));
        }
        let phase = if self.op() == 4 { "optimizer" } else { "forward" };
        frames.push(frame(FrameKind::Phase, phase.to_string(), None, None));
        frames.push(frame(FrameKind::Iteration, format!("step {}", self.step()), None, None));
        frames.push(frame(FrameKind::Program, "train".to_string(), Some(user_line(5)), None));
        frames
    }

    /// What becomes of a breakpoint.
    pub fn judge(&self, wanted: &Breakpoint) -> Verdict {
        let verdict = |verified, place, message: Option<&str>| Verdict {
            id: wanted.id,
            verified,
            place,
            message: message.map(str::to_string),
        };
        match &wanted.on {
            On::Line { file, line } if file.ends_with("train.py") => {
                match OPS.iter().map(|op| op.2).find(|own| own >= line) {
                    Some(line) => verdict(true, Some(user_line(line)), None),
                    None => verdict(false, None, Some("no op was made at or behind this line")),
                }
            }
            On::Line { .. } => verdict(false, None, Some("no program of this file has run yet")),
            On::Listed { listing, line } => {
                let place =
                    Place { file: "train".into(), line: *line, column: 0, listing: Some(*listing) };
                verdict((2..7).contains(line), Some(place), None)
            }
            On::Name(name) => {
                let is_known = name == "fc1" || OPS.iter().any(|op| op.0 == name);
                verdict(is_known, None, (!is_known).then_some("no op has this name"))
            }
            On::Change(_) | On::Fault(_) => verdict(true, None, None),
        }
    }
}

/// A line of the user's file.
pub fn user_line(line: u32) -> Place {
    Place { file: "/mock/train.py".into(), line, column: 5, listing: None }
}
