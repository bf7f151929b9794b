//! Commands that let the program go on.

use fluvial_core::{Error, Result};

use super::Left;
use super::commands::Flow;
use super::session::Session;
use crate::target::Go;

/// How many times, once if nothing is said.
fn times(rest: &str) -> Result<u64> {
    match rest {
        "" => Ok(1),
        text => match text.parse() {
            Ok(n) if n > 0 => Ok(n),
            _ => Err(Error::argument(format!("`{text}` is no number of times"))
                .remedy("write a number from 1 on, or nothing")),
        },
    }
}

fn back_and(session: &Session, flow: Flow) -> Result<Flow> {
    match session.stopped()?.can_go_back {
        true => Ok(flow),
        false => Err(Error::state("it is not possible to go back from here")
            .remedy("there is no earlier state: go on by `next`, or start the run again")),
    }
}

pub fn resume(session: &mut Session, _: &str) -> Result<Flow> {
    match session.stop {
        Some(_) => Ok(Flow::Go(Go::Continue, 1)),
        // It runs already; this is to wait for it.
        None => Ok(session.wait().map_or(Flow::Stay, Flow::Leave)),
    }
}

pub fn next(session: &mut Session, rest: &str) -> Result<Flow> {
    session.stopped()?;
    Ok(Flow::Go(Go::NextLine, times(rest)?))
}

pub fn step(session: &mut Session, rest: &str) -> Result<Flow> {
    session.stopped()?;
    Ok(Flow::Go(Go::NextOp, times(rest)?))
}

pub fn out(session: &mut Session, _: &str) -> Result<Flow> {
    session.stopped()?;
    Ok(Flow::Go(Go::OutOfLayer, 1))
}

pub fn iteration(session: &mut Session, rest: &str) -> Result<Flow> {
    session.stopped()?;
    Ok(Flow::Go(Go::NextIteration, times(rest)?))
}

pub fn goto(session: &mut Session, rest: &str) -> Result<Flow> {
    let stop = session.stopped()?;
    let Ok(step) = rest.parse() else {
        return Err(Error::argument(format!("`{rest}` is no step"))
            .remedy("write `goto N`, the first step being 0"));
    };
    if stop.step.is_none() {
        return Err(Error::state("the program has no loop to go to a step of")
            .remedy("`restart` goes to its beginning"));
    }
    Ok(Flow::Go(Go::ToStep(step), 1))
}

pub fn back(session: &mut Session, rest: &str) -> Result<Flow> {
    back_and(session, Flow::Go(Go::BackLine, times(rest)?))
}

pub fn backop(session: &mut Session, rest: &str) -> Result<Flow> {
    back_and(session, Flow::Go(Go::BackOp, times(rest)?))
}

pub fn rcontinue(session: &mut Session, _: &str) -> Result<Flow> {
    back_and(session, Flow::Go(Go::BackContinue, 1))
}

pub fn restart(session: &mut Session, _: &str) -> Result<Flow> {
    back_and(session, Flow::Go(Go::Restart, 1))
}

pub fn pause(session: &mut Session, _: &str) -> Result<Flow> {
    match session.stop {
        Some(_) => Err(Error::state("the program is stopped already").remedy("`continue` goes on")),
        None => Ok(Flow::Go(Go::Pause, 1)),
    }
}

pub fn detach(session: &mut Session, _: &str) -> Result<Flow> {
    session.target.go(Go::Detach)?;
    session.say("The program goes on alone.");
    Ok(Flow::Leave(Left::Detached))
}

pub fn quit(session: &mut Session, _: &str) -> Result<Flow> {
    session.target.go(Go::Quit)?;
    Ok(Flow::Leave(Left::Quit))
}
