//! A program that is stopped: it says where it is, and waits to be asked and told.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use fluvial_core::{Loc, Result, Value, interrupt};
use fluvial_runtime::{Live, PARTS, Step};

use super::inner::Inner;
use super::lane::{Lane, ended, left};
use super::mode::{Mode, Seek, What};
use super::shared::{Ask, Shared, place, reads};
use super::view::View;
use crate::target::{Event, Frame, FrameKind, Go, Listing, Place, Reason, Stop};

/// Why the program stops.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    pub reason: Reason,
    pub text: String,
    pub breakpoints: Vec<u32>,
}

impl Default for Why {
    fn default() -> Why {
        Why::new(Reason::Step, "", None)
    }
}

impl Why {
    pub fn new(reason: Reason, text: impl Into<String>, id: impl Into<Option<u32>>) -> Why {
        Why { reason, text: text.into(), breakpoints: id.into().into_iter().collect() }
    }
}

/// A program at a step.
pub struct Paused<'a, 'b> {
    pub lane: &'a Lane,
    pub shared: &'a Shared,
    pub inner: &'a mut Inner,
    pub step: &'a Step<'a>,
    pub live: &'a mut Live<'b>,
    /// What the step has computed, if it has run.
    pub outputs: Option<&'a mut [Value]>,
}

/// How often a program that is stopped looks whether somebody wants to end it.
const LOOK: Duration = Duration::from_millis(50);

impl<'b> Paused<'_, 'b> {
    /// What can be seen from here.
    pub fn view(&self) -> View<'_, 'b> {
        View::new(self.inner, self.step, self.live, self.outputs.as_deref(), None)
    }

    /// Where the program is: before the step, or behind it if it has run.
    pub fn pos(&self) -> super::pos::Pos {
        match self.outputs.is_some() {
            true => self.inner.stack.pos().after(),
            false => self.inner.stack.pos(),
        }
    }

    /// Stops, until somebody says how to go on. An error if the run is to be left.
    pub fn halt(mut self, why: Why) -> Result<()> {
        let (to, from) = channel();
        let pos = self.pos();
        if self.inner.nan_told.as_ref().is_some_and(|told| pos < *told) {
            // It has not come up yet, here.
            self.inner.nan_told = None;
        }
        let number = self.lane.thread;
        let stop = {
            let mut control = self.shared.control();
            if control.open_session() != self.inner.session {
                drop(control);
                self.lane.free(self.inner);
                return Ok(());
            }
            control.n_stops += 1;
            let stop = Arc::new(self.stop(control.n_stops, why));
            let thread = control.threads.entry(number).or_default();
            (thread.stop, thread.asks) = (Some(stop.clone()), Some(to));
            stop
        };
        self.shared.emit(&Event::Stopped(stop));
        let go = loop {
            match from.recv_timeout(LOOK) {
                Ok(Ask::Look(look)) => look(&mut self),
                Ok(Ask::Go(go)) => break Ok(go),
                Err(RecvTimeoutError::Timeout) => {
                    // Ctrl-C ends the run as if it were not stopped.
                    if let Err(error) = interrupt::check() {
                        break Err(error);
                    }
                    let control = self.shared.control();
                    if control.threads.get(&number).is_some_and(|thread| thread.quits) {
                        break Ok(Go::Quit);
                    }
                    if control.open_session() != self.inner.session {
                        break Ok(Go::Detach);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break Ok(Go::Continue),
            }
        };
        {
            let mut control = self.shared.control();
            let thread = control.threads.entry(number).or_default();
            (thread.stop, thread.asks) = (None, None);
        }
        self.shared.emit(&Event::Continued(number));
        self.go(go?)
    }

    /// Goes on as told.
    fn go(self, how: Go) -> Result<()> {
        if how == Go::Detach {
            self.lane.free(self.inner);
            return Ok(());
        }
        let pos = self.pos();
        let stack = &self.inner.stack;
        let step_done = |text: &str| Why::new(Reason::Step, text, None);
        let mut seek = None;
        self.inner.mode = match how {
            Go::Continue | Go::Pause => Mode::Run,
            Go::NextOp => Mode::NextOp,
            // In programs that have no lines, each op is one.
            Go::NextLine if !self.step.loc.is_known() => Mode::NextOp,
            Go::NextLine => {
                let is_around = self.outputs.is_none() && !self.step.op.blocks().is_empty();
                Mode::NextLine { depth: stack.depth() + usize::from(is_around) }
            }
            Go::OutOfLayer => {
                Mode::OutOfLayer { layer: self.step.loc.layer(), phase: self.step.loc.phase() }
            }
            Go::NextIteration => match stack.loops().last() {
                Some(&(depth, trip)) => {
                    Mode::NextIteration { depth, visit: trip + 1, run: stack.run }
                }
                None => Mode::ToStep(stack.step() + 1),
            },
            Go::ToStep(step) if step > stack.step() => Mode::ToStep(step),
            Go::ToStep(step) => {
                seek = Some(Seek::Step(step));
                Mode::Run
            }
            Go::BackLine | Go::BackOp | Go::BackContinue => {
                let what = match how {
                    Go::BackLine if self.step.loc.is_known() => What::Line,
                    Go::BackLine | Go::BackOp => What::Op,
                    _ => What::Breakpoint,
                };
                seek = Some(Seek::Last(what, pos));
                Mode::Run
            }
            Go::Restart => {
                let start = super::pos::Pos::of_run(stack.run);
                seek = Some(Seek::To(start, step_done("at the beginning of the run")));
                Mode::Run
            }
            Go::Detach => Mode::Free,
            Go::Quit => return Err(ended()),
        };
        self.inner.rewind = seek;
        match self.inner.rewind.is_some() {
            true => Err(left()),
            false => Ok(()),
        }
    }

    fn stop(&self, number: u64, why: Why) -> Stop {
        let inner = &*self.inner;
        let pos = inner.stack.pos();
        let mut notes: Vec<String> = Vec::new();
        let around = inner.differences.iter().filter(|(at, _)| *at == pos || at.contains(&pos));
        notes.extend(around.map(|(_, text)| text.clone()).take(1));
        Stop {
            number,
            thread: self.lane.thread,
            reason: why.reason,
            text: why.text,
            breakpoints: why.breakpoints,
            frames: self.frames(),
            can_go_back: inner.can_go_back,
            step: Some((inner.stack.step(), None)),
            notes,
        }
    }

    /// What is under way, the innermost first.
    fn frames(&self) -> Vec<Frame> {
        let stack = &self.inner.stack;
        let loc = self.step.loc;
        let listed = |depth: usize| self.listed(depth);
        let innermost = stack.levels.len().saturating_sub(1);
        let mut frames = vec![Frame {
            kind: FrameKind::Op,
            name: self.call_text(),
            place: place(loc),
            listed: listed(innermost),
        }];
        let mut frame = |kind, name: String, at: Loc, depth| {
            frames.push(Frame { kind, name, place: place(at), listed: listed(depth) });
        };
        let callers = |loc: Loc| std::iter::successors(loc.parent(), |loc| loc.parent());
        // Who has called what the loops stand in is around them, and so is what stands in no function.
        let main = stack.levels.first().and_then(|level| level.info.block.calls.get(level.index));
        let around: Vec<Loc> = match main.filter(|_| !stack.loops().is_empty()) {
            Some(call) => callers(call.loc).collect(),
            None => callers(loc).filter(|caller| caller.function().is_none()).collect(),
        };
        let called = |caller: &Loc| {
            caller.function().map_or("called from".into(), |name| format!("in {name}"))
        };
        if let Some(layer) = loc.layer() {
            frame(FrameKind::Layer, layer.to_string(), loc, innermost);
        }
        for caller in callers(loc).filter(|caller| !around.contains(caller)) {
            frame(FrameKind::Layer, called(&caller), caller, innermost);
        }
        let epoch = stack.epoch();
        frame(FrameKind::Phase, loc.phase().name().into(), loc, innermost);
        for (depth, level) in stack.levels.iter().enumerate().take(innermost).rev() {
            let Some(call) = level.info.block.calls.get(level.index) else { continue };
            let trip = level.visit.saturating_sub(1);
            let (kind, name) = match () {
                () if level.entered == PARTS => {
                    (FrameKind::Phase, format!("in the fused op `{}`", call.op.name()))
                }
                () if stack.step_loop() == Some(depth) => {
                    let step = stack.step();
                    let within =
                        if step == trip { String::new() } else { format!(", iteration {trip}") };
                    (FrameKind::Iteration, format!("step {step}{within}"))
                }
                () if call.op.carries().is_some()
                    && call.op.blocks().iter().any(|inner| reads(inner)) =>
                {
                    (FrameKind::Epoch, format!("epoch {trip}"))
                }
                () if call.op.carries().is_some() => {
                    (FrameKind::Iteration, format!("iteration {trip}"))
                }
                () => (
                    FrameKind::Iteration,
                    format!("in `{}`, block {}", call.op.name(), level.entered),
                ),
            };
            frame(kind, name, call.loc, depth);
            let is_outermost = stack.loops().first().is_some_and(|&(outer, _)| outer == depth);
            if let Some(epoch) = epoch.filter(|_| is_outermost && stack.step_loop() == Some(depth))
            {
                frame(FrameKind::Epoch, format!("epoch {epoch}"), call.loc, depth);
            }
        }
        if let Some(known) = &stack.known {
            let at = main.map_or(loc, |call| call.loc);
            let name = match stack.loops().is_empty() {
                true => format!("run {} of {}", stack.run, known.info.name),
                false => known.info.name.clone(),
            };
            frame(FrameKind::Program, name, at, 0);
        }
        for caller in around {
            frame(FrameKind::Program, called(&caller), caller, 0);
        }
        frames
    }

    fn listed(&self, depth: usize) -> Option<Place> {
        let known = self.inner.stack.known.as_ref()?;
        let number = known.info.number;
        let line = self.inner.stack.listed(depth)?;
        let file = format!("program {number} (compiled).fl").into();
        Some(Place { file, line, column: 0, listing: Some(Listing::Compiled(number)) })
    }

    /// The call under way as a person reads it.
    pub fn call_text(&self) -> String {
        let Some(level) = self.inner.stack.levels.last() else { return self.step.op.name().into() };
        let Some(call) = level.info.block.calls.get(level.index) else {
            return self.step.op.name().into();
        };
        let list = |ids: &mut dyn Iterator<Item = u32>| {
            ids.map(|id| level.info.name(id)).collect::<Vec<_>>().join(", ")
        };
        let inputs = list(&mut call.inputs.iter().copied());
        let outputs = list(&mut call.outputs());
        match outputs.is_empty() {
            true => format!("{}({inputs})", call.op.name()),
            false => format!("{outputs} = {}({inputs})", call.op.name()),
        }
    }
}

impl Paused<'_, '_> {
    /// The op under way as text: what it computes, and the calls that it was made of.
    pub fn kernel(&self) -> Result<String> {
        let fused = self.inner.stack.levels.iter().rev().find_map(|level| {
            let call = level.info.block.calls.get(level.index)?;
            call.twin.as_ref().map(|twin| (call, twin))
        });
        let Some((call, twin)) = fused else {
            return Err(fluvial_core::Error::state("the op is not made of others"));
        };
        let program = fluvial_core::Program {
            main: fluvial_core::Block::clone(twin),
            inputs: (0..twin.n_params).map(|i| format!("in{i}").into()).collect(),
            outputs: (0..twin.results.len()).map(|i| format!("out{i}").into()).collect(),
            ..fluvial_core::Program::default()
        };
        Ok(format!(
            "# `{}` runs as one op:\n# {:?}\n#\n# It was made of:\n{program}",
            call.op.name(),
            call.op
        ))
    }
}

/// How far two lists of values are apart, in words.
pub fn difference(a: &[Value], b: &[Value]) -> String {
    let mut largest: Option<f64> = None;
    for (a, b) in a.iter().zip(b) {
        let (Ok(a), Ok(b)) = (a.tensor(), b.tensor()) else { continue };
        for (x, y) in a.to_f64s().iter().zip(b.to_f64s()) {
            let off = (x - y).abs() / y.abs().max(f64::MIN_POSITIVE);
            if *x != y && off.is_finite() {
                largest = Some(largest.map_or(off, |largest| largest.max(off)));
            }
        }
    }
    largest.map_or(String::new(), |off| format!(": the largest relative difference is {off:.1e}"))
}
