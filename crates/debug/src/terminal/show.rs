//! What is said at a stop.

use super::breaks::label;
use super::session::Session;
use super::source::file_name;
use crate::target::{Frame, FrameKind, Place, Reason, ScopeKind, Stop};

impl Session<'_> {
    /// Why and where the program is stopped, the line, the op and what is to be noted.
    pub(super) fn show_stop(&mut self) {
        let Some(stop) = self.stop.clone() else { return };
        let headline = headline(&stop);
        let headline = match stop.reason {
            Reason::Exception(_) => self.paint.red(&headline),
            _ => self.paint.bold(&headline),
        };
        self.say(headline);
        self.show_place();
        for note in &stop.notes {
            self.say(self.paint.yellow(&format!("  note: {note}")));
        }
    }

    /// Where the frame is that is looked at, its line and its op.
    pub(super) fn show_place(&mut self) {
        let Some(stop) = self.stop.clone() else { return };
        let Some(frame) = stop.frames.get(self.frame) else { return };
        if let Some(place) = &frame.place {
            let around: Vec<&str> = stop.frames[self.frame + 1..]
                .iter()
                .filter(|frame| frame.kind != FrameKind::Program)
                .map(|frame| frame.name.strip_prefix("in ").unwrap_or(&frame.name))
                .collect();
            let around = if around.is_empty() { "" } else { &format!(" in {}", around.join(", ")) };
            self.say(format!("  {}{around}", self.paint.green(&at(place))));
            if let Some(line) = self.line_of(place) {
                self.say(format!("{:>6} | {line}", place.line));
            }
        }
        if frame.kind == FrameKind::Op {
            let types = self.types();
            self.say(format!("  {}{types}", self.paint.cyan(&frame.name)));
        }
    }

    /// The types of what the op takes.
    fn types(&self) -> String {
        let inputs = self.target.variables(self.frame, ScopeKind::Inputs).unwrap_or_default();
        let inputs: Vec<String> =
            inputs.iter().map(|input| format!("{}: {}", input.name, input.value.ty())).collect();
        match inputs.is_empty() {
            true => String::new(),
            false => self.paint.dim(&format!("   {}", inputs.join(", "))),
        }
    }
}

fn headline(stop: &Stop) -> String {
    let reason = match &stop.reason {
        Reason::Entry => "entry",
        Reason::Step => "step",
        Reason::Breakpoint => "breakpoint",
        Reason::Function => "name",
        Reason::Data => "change",
        Reason::Exception(fault) => fault.name(),
        Reason::Pause => "pause",
        Reason::Goto => "goto",
    };
    // The word for a fault is its name, too.
    let numbers: Vec<String> =
        stop.breakpoints.iter().map(|id| label(*id)).filter(|label| label != reason).collect();
    let numbers = if numbers.is_empty() { "" } else { &format!(" {}", numbers.join(", ")) };
    let step = match stop.step {
        Some((step, Some(of))) => format!(" [step {step} of {of}]"),
        Some((step, None)) => format!(" [step {step}]"),
        None => String::new(),
    };
    let text = if stop.text.is_empty() { "" } else { &format!(": {}", stop.text) };
    format!("{reason}{numbers}{text}{step}")
}

/// A place in short.
pub fn at(place: &Place) -> String {
    format!("{}:{}", file_name(&place.file), place.line)
}

/// One line of the call stack.
pub fn frame_line(frame: &Frame) -> String {
    match &frame.place {
        Some(place) => format!("{}  {}", frame.name, at(place)),
        None => frame.name.clone(),
    }
}
