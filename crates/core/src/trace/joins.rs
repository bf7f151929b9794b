//! What blocks have set of gradients, where they end: branches, bodies of loops.

use std::sync::Arc;

use fluvial_tensor::{Error, Loc, Result};

use super::close::Traced;
use super::grads::{self, Mark, There};
use super::left;
use super::states::root;
use super::with_frames;
use crate::cell::Cell;
use crate::scope::{self, Mode};

/// How often blocks run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// One of them runs.
    One,
    /// It is the body of a loop, which may run no trip.
    Trips,
    /// It is the body of a loop, which runs a trip at least.
    SomeTrips,
}

/// Takes over what blocks have set of gradients. Has to be called before the block on top reads what they carry.
pub(super) fn take_over(mut parts: Vec<Traced>, runs: Runs) -> Result<Vec<Traced>> {
    let mut names: Vec<Arc<str>> =
        parts.iter().flat_map(|part| part.frame.marks.keys().cloned()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let known = with_frames(|frames| root(frames).ok()?.cell_of(&name));
        let Some((cell, _)) = known else { continue };
        parts = join(parts, runs, &name, &cell)?;
    }
    Ok(parts)
}

fn join(parts: Vec<Traced>, runs: Runs, name: &Arc<str>, cell: &Cell) -> Result<Vec<Traced>> {
    let marks: Vec<Option<Mark>> =
        parts.iter().map(|part| part.frame.marks.get(name).cloned()).collect();
    let is_asked = marks.iter().flatten().any(|mark| mark.asked);
    let is_set = marks.iter().flatten().any(|mark| mark.set);
    let loc = marks.iter().flatten().next().map_or(Loc::Unknown, |mark| mark.loc);
    if is_asked {
        let before = grads::look(name, cell).there;
        let changes = marks.iter().flatten().any(|mark| mark.set && mark.there != before);
        if runs != Runs::One && changes {
            return Err(changed(cell, loc));
        }
    }
    let is_carried =
        parts.iter().any(|part| part.frame.assigned.iter().any(|s| grads::is_gradient(s, cell)));
    if !is_set {
        if is_carried {
            grads::hold(name, cell, false)?;
        }
        return Ok(parts);
    }
    let end = |mark: &Option<Mark>| mark.as_ref().filter(|mark| mark.set).map(|mark| mark.there);
    let mut ends: Vec<Option<There>> = marks.iter().map(end).collect();
    if runs == Runs::Trips {
        ends.push(None);
    }
    let outside = match ends.contains(&None) {
        true => Some(before(name, cell)),
        false => None,
    };
    let ends: Vec<There> =
        ends.into_iter().map(|end| end.or(outside).unwrap_or(There::OfRun)).collect();
    let there = match ends.iter().all(|end| *end == ends[0]) {
        true => ends[0],
        false => There::OfRun,
    };
    // A call that may fail in another trip than the first one finds what the trip before it has left.
    let body = parts.first().filter(|_| runs != Runs::One).map(|part| part.frame.id);
    let is_of_run = there == There::OfRun || body.is_some() && before(name, cell) != there;
    if let Some(body) = body {
        left::of_trips(body, name, is_of_run.then_some(There::OfRun));
    }
    let parts = match is_of_run {
        true => {
            grads::hold(name, cell, true)?;
            let said = parts.into_iter().zip(&marks).map(|(part, mark)| said(part, mark, name));
            said.collect::<Result<Vec<_>>>()?
        }
        false => parts,
    };
    if is_carried {
        grads::hold(name, cell, false)?;
    }
    grads::put(name, there, None);
    Ok(parts)
}

/// Whether there is a gradient before the blocks. In a block that has not set it, only the run knows: it may be the
/// body of a loop.
fn before(name: &Arc<str>, cell: &Cell) -> There {
    let own = with_frames(|frames| {
        let top = frames.last()?;
        let own = top.marks.get(name).filter(|mark| mark.set).map(|mark| mark.there);
        own.or(top.is_nested().then_some(There::OfRun))
    });
    own.unwrap_or_else(|| grads::look(name, cell).there)
}

/// The block with states that say what it has set.
fn said(part: Traced, mark: &Option<Mark>, name: &Arc<str>) -> Result<Traced> {
    let there = match mark {
        Some(mark) if mark.set && mark.there != There::OfRun => mark.there,
        _ => return Ok(part),
    };
    part.within(|| {
        if there == There::No {
            grads::assign_nothing(name)?;
        }
        grads::assign_flag(name, there == There::Yes)
    })
}

impl Traced {
    /// Goes on with a block that has ended, on top of the one that it stands in.
    fn within(self, f: impl FnOnce() -> Result<()>) -> Result<Traced> {
        let guard = scope::with_mode(Mode::Building);
        let (frame, results) = self.into_parts();
        with_frames(|frames| frames.push(frame.enter(guard)));
        let done = f();
        let frame = with_frames(Vec::pop).ok_or_else(super::nothing_is_built)?.leave();
        done.map(|()| Traced::new(frame, results))
    }
}

#[cold]
fn changed(cell: &Cell, loc: Loc) -> Error {
    Error::gradient(format!(
        "whether `{}` has a gradient is asked in a loop, and differs from trip to trip",
        cell.label()
    ))
    .remedy("call `zero_grad()` before `backward()` in each trip, or do not ask for `grad` before `backward()`")
    .at(loc)
}
