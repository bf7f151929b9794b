//! Breakpoints, as the engine keeps them.

use std::sync::Arc;

use fluvial_core::{Call, Phase, Result, ValueId};
use fluvial_runtime::PARTS;

use super::blocks::{BlockInfo, each_part, is_step};
use super::listing::Path;
use super::shared::Known;
use crate::expr::{self, Expr, Hits, Template};
use crate::target::{Breakpoint, Fault, Listing, On, Place, Verdict};

/// A breakpoint.
pub struct Point {
    pub spec: Breakpoint,
    condition: Option<Expr>,
    hits: Option<Hits>,
    pub log: Option<Template>,
    /// Why it cannot be used.
    pub fault: Option<String>,
    /// Where it really is, if it is on a line of a file.
    pub place: Option<(Arc<str>, u32)>,
    /// How often it was met.
    pub count: u64,
    /// Whether it was told that its condition cannot be evaluated.
    pub is_told: bool,
    /// For changes: the hash of the value that was seen last.
    pub last: Option<u64>,
    /// What was said of it last.
    pub verdict: Option<Verdict>,
}

impl Point {
    pub fn new(spec: Breakpoint) -> Point {
        let mut fault = None;
        let mut keep = |error: fluvial_core::Error| fault = Some(error.to_string());
        let condition = spec.condition.as_deref().filter(|text| !text.trim().is_empty());
        let condition = condition.and_then(|text| expr::parse(text).map_err(&mut keep).ok());
        let hits = spec.hits.as_deref().filter(|text| !text.trim().is_empty());
        let hits = hits.and_then(|text| Hits::parse(text).map_err(&mut keep).ok());
        let log = spec.log.as_deref().filter(|text| !text.is_empty());
        let log = log.and_then(|text| Template::parse(text).map_err(&mut keep).ok());
        Point {
            spec,
            condition,
            hits,
            log,
            fault,
            place: None,
            count: 0,
            is_told: false,
            last: None,
            verdict: None,
        }
    }

    /// Whether it stops or logs here, where it was met. Who only searches does not count hits, and passes by those
    /// that do.
    pub fn is_due(&mut self, context: &dyn expr::Context, is_search: bool) -> Result<bool> {
        if let Some(condition) = &self.condition
            && !condition.truth(context)?
        {
            return Ok(false);
        }
        if is_search {
            return Ok(self.hits.is_none());
        }
        self.count += 1;
        Ok(self.hits.as_ref().is_none_or(|hits| hits.matches(self.count)))
    }

    /// Whether a call is one that it is on, as a place to stop at before it is run.
    pub fn is_on(&self, call: &Call) -> bool {
        if !is_step(call) {
            return false;
        }
        let phase = call.loc.phase();
        match &self.spec.on {
            On::Line { .. } => self.place.as_ref().is_some_and(|(file, line)| {
                let is_phase = match self.spec.phase {
                    Some(wanted) => phase == wanted,
                    None => phase != Phase::Backward,
                };
                call.loc.line() == *line && is_phase && call.loc.file() == *file
            }),
            On::Name(pattern) => {
                self.spec.phase.is_none_or(|wanted| wanted == phase) && names(pattern, call)
            }
            _ => false,
        }
    }
}

/// Whether a pattern is one of the op, or of the layer of a call.
pub fn names(pattern: &str, call: &Call) -> bool {
    let (phase, pattern) = match pattern.split_once(':') {
        Some((phase, pattern)) => (Some(phase.trim()), pattern.trim()),
        None => (None, pattern.trim()),
    };
    if phase.is_some_and(|phase| phase != call.loc.phase().name()) {
        return false;
    }
    is_like(pattern, call.op.name())
        || call.loc.layer().is_some_and(|layer| is_layer(pattern, &layer))
}

/// Whether a layer, or one around it, has the name or a name that ends with it.
pub fn is_layer(pattern: &str, layer: &str) -> bool {
    let ends = layer.match_indices('.').map(|(at, _)| at).chain([layer.len()]);
    ends.map(|end| &layer[..end]).any(|name| {
        let starts = name.match_indices('.').map(|(at, _)| at + 1).chain([0]);
        starts.map(|start| &name[start..]).any(|name| is_like(pattern, name))
    })
}

/// Whether a text is what a pattern says, in which `*` stands for anything.
pub fn is_like(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            (0..=text.len())
                .filter(|&at| text.is_char_boundary(at))
                .any(|at| is_like(rest, &text[at..]))
        }),
    }
}

/// What is to be looked at at a step.
#[derive(Clone, Default)]
pub struct AtStep {
    /// Points that are met before it.
    pub before: Vec<usize>,
    /// Points that are met by what it computes.
    pub after: Vec<usize>,
    /// Whether the points are on calls that the step was made of.
    pub opens: bool,
    /// The output that is a loss.
    pub loss: Option<usize>,
    /// Whether infinity, or NaN wherever it is, is looked for.
    pub watches_ops: bool,
}

/// Where the points are in a block, by step.
pub fn resolve(
    points: &[Point],
    info: &BlockInfo,
    path: &Path,
    known: Option<&Known>,
) -> Vec<AtStep> {
    let changes = |name: &str, call: &Call| {
        let (values, states) =
            (info.values(name), known.map_or(Vec::new(), |known| known.states(name)));
        let becomes =
            |id: &ValueId| info.updates.get(id).is_some_and(|state| states.contains(state));
        call.outputs().any(|id| values.contains(&id) || becomes(&id))
    };
    let depth = path.iter().filter(|(_, number)| *number != PARTS).count();
    let lines = known.and_then(|known| known.compiled.of_block.get(path));
    let number = known.map_or(0, |known| known.info.number);
    let is_deepest = |point: &Point| match (&point.place, known) {
        // The backward pass of a loop is another one.
        _ if point.spec.phase == Some(Phase::Backward) => true,
        (Some(place), Some(known)) => known.depths.get(place) == Some(&depth),
        _ => true,
    };
    let watches_ops = on_fault(points, Fault::Infinity).is_some()
        || on_fault(points, Fault::NanAnywhere).is_some();
    let at = |(index, call): (usize, &Call)| {
        let mut at = AtStep {
            loss: loss_of(call, info),
            watches_ops,
            // What is infinite inside of an op may be gone behind it.
            opens: watches_ops,
            ..AtStep::default()
        };
        for (k, point) in points.iter().enumerate().filter(|(_, point)| point.fault.is_none()) {
            match &point.spec.on {
                On::Change(name) if changes(name, call) => at.after.push(k),
                On::Change(name) if info.is_bound_within(name, index) => at.opens = true,
                On::Fault(_) | On::Change(_) => {}
                On::Listed { listing, line } => {
                    let is_line = lines.is_some_and(|lines| lines.get(index) == Some(line));
                    if is_line && *listing == Listing::Compiled(number) {
                        at.before.push(k);
                    }
                }
                On::Name(name)
                    if call
                        .outputs()
                        .any(|id| info.names.get(&id).is_some_and(|n| **n == **name)) =>
                {
                    at.before.push(k);
                }
                _ if !is_deepest(point) => {}
                _ => {
                    let mut inside = false;
                    let mut here = false;
                    each_part(call, &mut |part| match std::ptr::eq(part, call) {
                        true => here = point.is_on(part),
                        false => inside |= point.is_on(part),
                    });
                    at.opens |= inside;
                    if here && !inside {
                        at.before.push(k);
                    }
                }
            }
        }
        at
    };
    info.block.calls.iter().enumerate().map(at).collect()
}

/// The output of a call that is a loss, by its name.
fn loss_of(call: &Call, info: &BlockInfo) -> Option<usize> {
    let is_forward = call.loc.phase() == Phase::Forward && call.op.carries().is_none();
    let is_number = |id: &ValueId| {
        let ty = info.block.types.get(*id as usize);
        ty.is_some_and(|ty| ty.is_float() && ty.numel() == Some(1))
    };
    let is_loss = |id: ValueId| {
        is_number(&id) && info.names.get(&id).is_some_and(|name| super::loss::is_loss(name))
    };
    call.outputs().position(is_loss).filter(|_| is_forward)
}

/// The states that are meant by a name: that of the name, or else those whose names end with it, the shortest ones.
pub fn meant<'a>(states: impl Iterator<Item = &'a Arc<str>>, name: &str) -> Vec<Arc<str>> {
    let name = name.trim_start_matches('@');
    let mut found: Vec<Arc<str>> = states.filter(|state| ends_with(state, name)).cloned().collect();
    let shortest = found.iter().map(|state| state.len()).min().unwrap_or(0);
    found.retain(|state| state.len() == shortest);
    found
}

/// Whether a state has that name, or one that ends with it.
pub fn ends_with(state: &str, name: &str) -> bool {
    state == name || state.strip_suffix(name).is_some_and(|front| front.ends_with('.'))
}

/// Whether two paths of files can be the same.
pub fn same_file(a: &str, b: &str) -> bool {
    let clean = |path: &str| path.replace('\\', "/").trim_start_matches("./").to_string();
    let (a, b) = (clean(a), clean(b));
    let behind = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|front| front.is_empty() || front.ends_with('/'))
    };
    a == b || behind(&a, &b) || behind(&b, &a)
}

/// Finds the line for a point on one: the same or the next that has calls. `lines` are those of all programs.
pub fn settle(point: &mut Point, lines: &[(Arc<str>, u32)]) {
    let On::Line { file, line } = &point.spec.on else { return };
    let of_file = lines.iter().filter(|(known, at)| *at >= *line && same_file(known, file));
    point.place = of_file.min_by_key(|(_, at)| *at).cloned();
}

/// What is to be said of a point.
pub fn verdict(point: &Point, is_met: bool) -> Verdict {
    let id = point.spec.id;
    if let Some(fault) = &point.fault {
        return Verdict { id, verified: false, place: None, message: Some(fault.clone()) };
    }
    let place = point.place.as_ref().map(|(file, line)| Place {
        file: file.clone(),
        line: *line,
        column: 0,
        listing: None,
    });
    let missing = match &point.spec.on {
        On::Line { .. } if place.is_some() => None,
        On::Line { .. } => Some("no program that has run so far has an op at or after this line"),
        On::Fault(_) => None,
        On::Change(_) if !is_met => {
            Some("no program that has run so far computes a value of this name")
        }
        On::Name(_) if !is_met => {
            Some("no program that has run so far has an op or a layer of this name")
        }
        On::Listed { .. } if !is_met => Some("no op begins on this line"),
        _ => None,
    };
    Verdict { id, verified: missing.is_none(), place, message: missing.map(String::from) }
}

/// Whether a fault is to stop the program, as some point says; its number.
pub fn on_fault(points: &[Point], fault: Fault) -> Option<usize> {
    points.iter().position(|point| point.spec.on == On::Fault(fault) && point.fault.is_none())
}

#[cfg(test)]
mod tests {
    use super::{ends_with, is_layer, is_like, same_file};

    #[test]
    fn patterns() {
        assert!(is_like("matmul", "matmul") && !is_like("matmul", "matmul2"));
        assert!(
            is_like("*softmax", "log_softmax") && is_like("a*c*e", "abcde") && is_like("*", "")
        );
        assert!(
            is_layer("fc1", "net.fc1")
                && is_layer("fc1", "net.fc1.gate")
                && is_layer("net", "net.fc1")
        );
        assert!(is_layer("fc1.*", "net.fc1.gate") && !is_layer("fc1.*", "net.fc1"));
        assert!(!is_layer("fc1", "net.fc10") && !is_layer("et", "net"));
    }

    #[test]
    fn files_and_states() {
        assert!(same_file("a/train.py", "train.py") && same_file("./train.py", "b/train.py"));
        assert!(!same_file("a/train.py", "b/train.py") && !same_file("retrain.py", "train.py"));
        assert!(ends_with("net.fc.weight", "fc.weight") && !ends_with("net.fc.weight", "c.weight"));
    }
}
