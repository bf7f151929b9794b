//! Whether what a step takes and gives is a reason to stop.

use fluvial_core::{Loc, Phase, Value};
use fluvial_runtime::{Live, Step};

use super::halt::Why;
use super::history::{has_infinity, has_nan};
use super::inner::Inner;
use super::lane::Lane;
use super::mode::{Mode, Passed};
use super::points::{is_layer, is_like, on_fault};
use super::shared::place;
use super::view::View;
use crate::inspect;
use crate::target::{Event, Fault, OWN_BREAKPOINTS, On, Output, Reason};

impl Lane {
    /// Whether some breakpoints that are met before a step stop it. Log points are written.
    pub fn meets(
        &self,
        inner: &Inner,
        step: &Step<'_>,
        live: &Live<'_>,
        is_new_line: bool,
        is_search: bool,
    ) -> Option<Why> {
        let at = inner.stack.at().filter(|at| !at.before.is_empty())?;
        let view = View::new(inner, step, live, None, None);
        let mut hit: Option<Why> = None;
        let mut control = self.shared.control();
        for &k in &at.before {
            let Some(point) = control.points.get_mut(k) else { continue };
            let (enters, reason, text) = match &point.spec.on {
                On::Line { .. } if point.spec.id >= OWN_BREAKPOINTS => {
                    let text = "at a breakpoint of your code".to_string();
                    (is_new_line, Reason::Breakpoint, text)
                }
                On::Line { .. } => {
                    let text = match step.loc.phase() {
                        Phase::Forward => "at a breakpoint".to_string(),
                        phase => format!("at a breakpoint, {}", pass(phase)),
                    };
                    (is_new_line, Reason::Breakpoint, text)
                }
                On::Name(name) => {
                    let enters = enters_layer(name, step, inner.last.as_ref());
                    let text = match step.loc.phase() {
                        Phase::Forward => format!("at `{name}`"),
                        phase => format!("at `{name}`, {}", pass(phase)),
                    };
                    (enters, Reason::Function, text)
                }
                _ => (true, Reason::Breakpoint, "at a breakpoint".to_string()),
            };
            if !enters || is_search && point.log.is_some() {
                continue;
            }
            let why = Why::new(reason, text, point.spec.id);
            match point.is_due(&view, is_search) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(error) => {
                    if !std::mem::replace(&mut point.is_told, true) {
                        let text = format!("a condition cannot be told here: {}", error.message());
                        self.shared.note(text, step.loc);
                    }
                    continue;
                }
            }
            if let Some(log) = &point.log {
                if !inner.is_replay {
                    let (text, place) = (log.render(&view), place(step.loc));
                    self.shared.emit(&Event::Output { text, kind: Output::Log, place });
                }
                continue;
            }
            match &mut hit {
                Some(hit) => hit.breakpoints.extend(why.breakpoints),
                None => hit = Some(why),
            }
        }
        hit
    }

    /// Whether values that are watched have changed.
    pub fn changes(
        &self,
        inner: &Inner,
        step: &Step<'_>,
        live: &Live<'_>,
        outputs: &[Value],
    ) -> Option<Why> {
        let at = inner.stack.at().filter(|at| !at.after.is_empty())?;
        let view = View::new(inner, step, live, Some(outputs), None);
        let mut hit: Option<Why> = None;
        let mut control = self.shared.control();
        for &k in &at.after {
            let Some(point) = control.points.get_mut(k) else { continue };
            let On::Change(name) = point.spec.on.clone() else { continue };
            let Some(now) = view.output_named(&name) else { continue };
            let hash = inspect::hash(&now);
            let was = point.last.replace(hash);
            let was = was.or_else(|| view.before(&name).as_ref().map(inspect::hash));
            if was.is_none_or(|was| was == hash) {
                continue;
            }
            let context = View::new(inner, step, live, Some(outputs), Some(&now));
            if !point.is_due(&context, false).unwrap_or(true) {
                continue;
            }
            if let Some(log) = &point.log {
                let (text, place) = (log.render(&context), place(step.loc));
                self.shared.emit(&Event::Output { text, kind: Output::Log, place });
                continue;
            }
            let text = format!("`{name}` has changed to {}", inspect::line(&now));
            hit = Some(Why::new(Reason::Data, text, point.spec.id));
        }
        hit
    }

    /// Whether the outputs have a fault that the inputs do not have. `passes` is set if its condition lets it pass.
    pub fn fault(
        &self,
        inner: &Inner,
        step: &Step<'_>,
        live: &Live<'_>,
        outputs: &[Value],
        passes: &mut bool,
    ) -> Option<Why> {
        let is_hunt = matches!(inner.mode, Mode::Hunt { .. });
        let call = step.block.calls.get(step.index)?;
        let mut control = self.shared.control();
        let infinity = on_fault(&control.points, Fault::Infinity);
        let anywhere = on_fault(&control.points, Fault::NanAnywhere);
        let is_each = infinity.is_some() || anywhere.is_some();
        // What was made of other calls has been run call by call.
        let is_opened = call.twin.is_some() && (is_hunt || is_each);
        if call.inputs.is_empty() || !call.op.blocks().is_empty() || is_opened {
            return None;
        }
        let is_new = is_each && !inner.knows_nan(&inner.stack.pos());
        let nan = on_fault(&control.points, Fault::Nan).filter(|_| is_hunt || is_new);
        let kinds =
            [(nan, Fault::Nan), (anywhere, Fault::NanAnywhere), (infinity, Fault::Infinity)];
        for (point, fault) in kinds {
            let has = if fault == Fault::Infinity { has_infinity } else { has_nan };
            let Some(point) = point.and_then(|k| control.points.get_mut(k)) else { continue };
            let found = outputs.iter().find(|output| has(output));
            let Some(found) = found else { continue };
            if call.inputs.iter().filter_map(|&id| live.get(id)).any(has) {
                continue;
            }
            let view = View::new(inner, step, live, Some(outputs), Some(found));
            if !point.is_due(&view, false).unwrap_or(true) {
                *passes = true;
                continue;
            }
            let what = if fault == Fault::Infinity { "infinity" } else { "NaN" };
            let text = format!("`{}` gave {what}, and none of its inputs has it", step.op.name());
            return Some(Why::new(Reason::Exception(fault), text, point.spec.id));
        }
        None
    }
}

/// A phase other than the forward one, in words.
fn pass(phase: Phase) -> &'static str {
    match phase {
        Phase::Backward => "in the backward pass",
        Phase::Forward => "in the forward pass",
        Phase::Optimizer => "in the optimizer",
    }
}

/// Whether a layer is entered, or an op is met, of which the pattern is a name.
fn enters_layer(pattern: &str, step: &Step<'_>, last: Option<&Passed>) -> bool {
    let bare = pattern.split_once(':').map_or(pattern, |(_, bare)| bare).trim();
    let is_in = |loc: Loc| loc.layer().is_some_and(|layer| is_layer(bare, &layer));
    let was_in = |last: &Passed| is_in(last.loc) && last.loc.phase() == step.loc.phase();
    !is_in(step.loc) || is_like(bare, step.op.name()) || !last.is_some_and(was_in)
}
