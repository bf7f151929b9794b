//! A training loop that is only pretended: four ops in each of four steps.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};

use fluvial_core::{DType, Error, Result, Tensor, Value};

use crate::expr::{Context, Hits, Statement, Template, parse, written};
use crate::target::*;

pub const STEPS: usize = 4;
const SOURCE: &str = "\
import fluvial as fl
def train(x, w):
    h1 = x @ w
    h2 = fl.log(h1)

    loss = h2.mean()
    w = w - 0.1 * loss
";
const LISTING: &str = "\
program train {
  %h1 = matmul(%x, %w)
  %h2 = log(%h1)
  %loss = mean(%h2)
  assign w = sub(%w, %loss)
}
";
/// The lines of the ops.
const LINES: [u32; 4] = [3, 4, 6, 7];
const OPS: [&str; 4] =
    ["%h1 = matmul(%x, %w)", "%h2 = log(%h1)", "%loss = mean(%h2)", "w = sub(%w, %loss)"];

/// The program, its breakpoints and who listens.
pub struct Mock {
    pub file: PathBuf,
    /// If set, it runs on until somebody asks for a stop, and Ctrl-C is pressed as soon as it runs.
    pub pressed: Option<Arc<AtomicBool>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Counts ops from the first one on; none while the program runs.
    at: Option<usize>,
    stop: Option<Arc<Stop>>,
    number: u64,
    breakpoints: Vec<(Breakpoint, u64)>,
    listeners: Vec<Sender<Event>>,
    w: Vec<f64>,
    edits: Vec<String>,
}

/// What can be seen at an op.
struct Seen {
    at: usize,
    w: Vec<f64>,
}

impl Seen {
    fn step(&self) -> usize {
        self.at / OPS.len()
    }

    fn all(&self) -> Vec<(&'static str, Value)> {
        let step = self.step() as f64;
        let of = |elements: &[f64]| {
            Value::from(Tensor::from_f64s(DType::F32, elements, &[2, 2]).unwrap())
        };
        let mut all = vec![
            ("step", Value::from(Tensor::scalar(self.step() as i64))),
            ("w", of(&self.w)),
            ("x", of(&[1.0, 0.0, 0.0, 1.0])),
        ];
        let op = self.at % OPS.len();
        if op > 0 {
            all.push(("h1", of(&[3.0 - step, 2.0, 1.0, 4.0])));
        }
        if op > 1 {
            let first = if step >= 3.0 { f64::NAN } else { (3.0 - step).ln() };
            all.push(("h2", of(&[first, 0.7, 0.0, 1.4])));
        }
        if op > 2 {
            all.push(("loss", Tensor::scalar(1.0f32 / (step as f32 + 1.0)).into()));
        }
        all
    }
}

impl Context for Seen {
    fn value(&self, name: &str) -> Option<Value> {
        let name = name.trim_start_matches('%');
        self.all().into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    fn gradient(&self, _: &str) -> Option<Value> {
        None
    }

    fn names(&self) -> Vec<String> {
        self.all().into_iter().map(|(name, _)| name.to_string()).collect()
    }
}

impl Mock {
    /// A program that is stopped at its first op. Each has a file of its own.
    pub fn new(name: &str) -> Mock {
        let folder =
            std::env::temp_dir().join(format!("fluvial-terminal-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("train.py");
        std::fs::write(&file, SOURCE).unwrap();
        let state = State { w: vec![1.0, 2.0, 3.0, 4.0], ..State::default() };
        let mock = Mock { file, pressed: None, state: Mutex::new(state) };
        mock.arrive(0, Reason::Entry, "the first op", Vec::new());
        mock
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn at(&self) -> usize {
        self.state().at.unwrap_or(0)
    }

    fn tell(&self, event: Event) {
        self.state().listeners.retain(|listener| listener.send(event.clone()).is_ok());
    }

    fn place(&self, line: u32) -> Place {
        Place { file: self.file.to_str().unwrap().into(), line, column: 0, listing: None }
    }

    fn arrive(&self, at: usize, reason: Reason, text: &str, breakpoints: Vec<u32>) {
        let (step, op) = (at / OPS.len(), at % OPS.len());
        let listed = Place {
            file: "train".into(),
            line: op as u32 + 2,
            column: 0,
            listing: Some(Listing::Source(1)),
        };
        let frame = |kind, name: String, line| Frame {
            kind,
            name,
            place: Some(self.place(line)),
            listed: (kind == FrameKind::Op).then(|| listed.clone()),
        };
        let frames = vec![
            frame(FrameKind::Op, OPS[op].to_string(), LINES[op]),
            frame(FrameKind::Iteration, format!("step {step} of {STEPS}"), 2),
            frame(FrameKind::Program, "train".to_string(), 2),
        ];
        let mut state = self.state();
        state.number += 1;
        let notes = match state.edits.len() {
            0 => Vec::new(),
            n => vec![format!("{n} values were edited")],
        };
        let stop = Arc::new(Stop {
            number: state.number,
            thread: 1,
            reason,
            text: text.to_string(),
            breakpoints,
            frames,
            can_go_back: at > 0,
            step: Some((step as u64, Some(STEPS as u64))),
            notes,
        });
        (state.at, state.stop) = (Some(at), Some(stop.clone()));
        drop(state);
        self.tell(Event::Stopped(stop));
    }

    fn seen(&self, at: usize) -> Seen {
        Seen { at, w: self.state().w.clone() }
    }

    /// The breakpoints that an op hits; log points write.
    fn hits(&self, at: usize) -> Option<(Reason, String, Vec<u32>)> {
        let (seen, op) = (self.seen(at), at % OPS.len());
        let mut hit = None;
        let mut logs = Vec::new();
        for (breakpoint, count) in &mut self.state().breakpoints {
            let (met, reason, text) = match &breakpoint.on {
                On::Line { line, .. } => (
                    LINES.iter().find(|own| *own >= line) == Some(&LINES[op]),
                    Reason::Breakpoint,
                    "a line was reached".to_string(),
                ),
                On::Listed { line, .. } => {
                    (*line == op as u32 + 2, Reason::Breakpoint, "a line was reached".to_string())
                }
                On::Name(name) => {
                    (OPS[op].contains(name.as_str()), Reason::Function, format!("`{name}`"))
                }
                On::Change(name) => {
                    (name == "w" && op == 3, Reason::Data, format!("`{name}` changes"))
                }
                On::Fault(fault) => (
                    *fault == Fault::Nan && at == 13,
                    Reason::Exception(*fault),
                    "log gave NaN in %h2".to_string(),
                ),
            };
            let holds = breakpoint
                .condition
                .as_ref()
                .is_none_or(|text| parse(text).unwrap().truth(&seen).unwrap_or(false));
            if !met || !holds {
                continue;
            }
            *count += 1;
            let at_hit = breakpoint
                .hits
                .as_ref()
                .is_none_or(|hits| Hits::parse(hits).unwrap().matches(*count));
            match &breakpoint.log {
                _ if !at_hit => {}
                Some(log) => logs.push(Template::parse(log).unwrap().render(&seen)),
                None => hit = Some((reason, text, vec![breakpoint.id])),
            }
        }
        for text in logs {
            self.tell(Event::Output { text, kind: Output::Log, place: None });
        }
        hit
    }

    /// From op to op until something stops it, or `until` holds.
    fn walk(&self, from: usize, until: impl Fn(usize) -> Option<Reason>) {
        self.tell(Event::Continued(1));
        for at in from + 1..STEPS * OPS.len() {
            if let Some((reason, text, ids)) = self.hits(at) {
                return self.arrive(at, reason, &text, ids);
            }
            if let Some(reason) = until(at) {
                return self.arrive(at, reason, "", Vec::new());
            }
        }
        self.state().stop = None;
        self.tell(Event::Ended);
    }
}

impl Target for Mock {
    fn events(&self) -> Receiver<Event> {
        let (sender, receiver) = channel();
        self.state().listeners.push(sender);
        receiver
    }

    fn stopped(&self) -> Option<Arc<Stop>> {
        self.state().stop.clone()
    }

    fn go(&self, how: Go) -> Result<()> {
        let at = self.at();
        let step = at / OPS.len();
        match how {
            Go::Continue => match &self.pressed {
                Some(pressed) => {
                    self.tell(Event::Continued(1));
                    pressed.store(true, Ordering::Relaxed);
                }
                None => self.walk(at, |_| None),
            },
            Go::NextLine | Go::NextOp => self.walk(at, |_| Some(Reason::Step)),
            Go::OutOfLayer | Go::NextIteration => {
                self.walk(at, |at| (at / OPS.len() > step).then_some(Reason::Step));
            }
            Go::ToStep(n) if n as usize >= STEPS => {
                return Err(Error::argument(format!("there is no step {n}"))
                    .remedy(format!("there are {STEPS}")));
            }
            Go::ToStep(n) => self.arrive(n as usize * OPS.len(), Reason::Goto, "", Vec::new()),
            Go::BackLine | Go::BackOp => self.arrive(at - 1, Reason::Step, "", Vec::new()),
            Go::BackContinue | Go::Restart => {
                self.arrive(0, Reason::Step, "the beginning", Vec::new())
            }
            Go::Pause => self.arrive(at, Reason::Pause, "on request", Vec::new()),
            Go::Detach | Go::Quit => self.tell(Event::Ended),
        }
        Ok(())
    }

    fn set_breakpoints(&self, breakpoints: Vec<Breakpoint>) -> Vec<Verdict> {
        let verdicts = breakpoints.iter().map(|breakpoint| {
            let (place, message) = match &breakpoint.on {
                On::Line { line, .. } => match LINES.iter().find(|own| *own >= line) {
                    Some(own) => (Some(self.place(*own)), None),
                    None => (None, Some("no op was made at or behind this line".to_string())),
                },
                _ => (None, None),
            };
            Verdict { id: breakpoint.id, verified: message.is_none(), place, message }
        });
        let verdicts = verdicts.collect();
        self.state().breakpoints = breakpoints.into_iter().map(|each| (each, 0)).collect();
        verdicts
    }

    fn lines(&self, _: &str) -> Vec<u32> {
        LINES.to_vec()
    }

    fn programs(&self) -> Vec<ProgramInfo> {
        vec![ProgramInfo { number: 1, name: "train".to_string() }]
    }

    fn listing(&self, listing: Listing) -> Result<String> {
        match listing {
            Listing::Source(1) => Ok(LISTING.to_string()),
            Listing::Compiled(1) => Ok("program train, compiled\n".to_string()),
            _ => {
                Err(Error::state("no op was fused here").remedy("`listing compiled` shows all ops"))
            }
        }
    }

    fn scopes(&self, _: usize) -> Result<Vec<Scope>> {
        Ok(vec![
            Scope { kind: ScopeKind::Inputs, count: Some(2), expensive: false },
            Scope { kind: ScopeKind::Live, count: None, expensive: true },
        ])
    }

    fn variables(&self, _: usize, scope: ScopeKind) -> Result<Vec<Variable>> {
        let seen = self.seen(self.at());
        let wanted: &[&str] = match (scope, seen.at % OPS.len()) {
            (ScopeKind::Inputs, 0) => &["x", "w"],
            (ScopeKind::Inputs, 1) => &["h1"],
            (ScopeKind::Inputs, 2) => &["h2"],
            (ScopeKind::Inputs, _) => &["w", "loss"],
            (ScopeKind::Parameters, _) => &["w"],
            (ScopeKind::Live, _) => &["x", "w", "h1", "h2", "loss"],
            _ => &[],
        };
        let all = seen.all().into_iter().filter(|(name, _)| wanted.contains(name));
        Ok(all
            .map(|(name, value)| Variable {
                name: name.to_string(),
                value,
                editable: name == "w",
                note: (name == "w").then(|| "a parameter".to_string()),
            })
            .collect())
    }

    fn evaluate(&self, _: usize, text: &str) -> Result<Evaluated> {
        let at = self.state().at.ok_or_else(|| Error::state("the program runs"))?;
        let statement = Statement::parse(text)?;
        let seen = self.seen(at);
        let Statement::Assign { name, .. } = &statement else { return parse(text)?.answer(&seen) };
        let value = statement.edited(&seen)?;
        let mut state = self.state();
        state.w = value.tensor()?.to_f64s();
        state.edits.push(format!("{name} at op {at}"));
        Ok(Evaluated::Value(value))
    }

    fn set(
        &self,
        _: usize,
        _: Option<ScopeKind>,
        name: &str,
        index: &[usize],
        expression: &str,
    ) -> Result<Value> {
        let seen = self.seen(self.at());
        let old = seen.value(name).ok_or_else(|| Error::argument("there is no such value"))?;
        written(&old, index, parse(expression)?.eval(&seen)?)
    }

    fn names(&self, _: usize) -> Vec<String> {
        self.seen(self.at()).names()
    }

    fn edits(&self) -> Vec<String> {
        self.state().edits.clone()
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        if let Some(folder) = self.file.parent() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
