//! Commands that let the program go on.

use fluvial_core::{Error, Result};

use super::Left;
use super::commands::Flow;
use super::session::Session;
use super::show::at;
use crate::target::Go;

/// How many times, once if nothing is said.
fn times(rest: &str) -> Result<u64> {
    match rest {
        "" => Ok(1),
        text => match text.parse() {
            Ok(n) if n > 0 => Ok(n),
            _ => Err(Error::argument(format!("`{text}` is not a number of times"))
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
        return Err(Error::argument(format!("`{rest}` is not a step"))
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

pub fn threads(session: &mut Session, _: &str) -> Result<Flow> {
    let stops = session.target.stops();
    for thread in session.target.threads() {
        let stop = stops.iter().find(|stop| stop.thread == thread.number);
        let here = session.stop.as_ref().is_some_and(|stop| stop.thread == thread.number);
        let mark = if here { ">" } else { " " };
        let place = stop.and_then(|stop| stop.frames.first()?.place.clone());
        let state = match (stop, place) {
            (None, _) => "runs, or waits for work".to_string(),
            (Some(_), None) => "is stopped".to_string(),
            (Some(_), Some(place)) => format!("is stopped at {}", at(&place)),
        };
        session.say(format!("{mark} {} {}: {state}", thread.number, thread.name));
    }
    Ok(Flow::Stay)
}

pub fn thread(session: &mut Session, rest: &str) -> Result<Flow> {
    if rest.is_empty() {
        return threads(session, rest);
    }
    let stops = session.target.stops();
    let Some(stop) = stops.into_iter().find(|stop| stop.thread.to_string() == rest) else {
        return Err(Error::argument(format!("no thread `{rest}` is stopped"))
            .remedy("`threads` lists them; `pause` stops one that runs"));
    };
    session.arrive(stop);
    Ok(Flow::Stay)
}

pub fn record(session: &mut Session, rest: &str) -> Result<Flow> {
    if rest.is_empty() {
        return Err(Error::argument("it is not said where to").remedy("write `record FILE.flr`"));
    }
    session.stopped()?;
    let text = session.target.record(std::path::Path::new(rest))?;
    session.say(text);
    Ok(Flow::Stay)
}

pub fn detach(session: &mut Session, _: &str) -> Result<Flow> {
    session.target.go(Go::Detach)?;
    session.say("The program goes on alone.");
    Ok(Flow::Leave(Left::Detached))
}

pub fn quit(session: &mut Session, rest: &str) -> Result<Flow> {
    if !session.options.quit_ends {
        session.say("`kill` would end the program.");
        return detach(session, rest);
    }
    kill(session, rest)
}

pub fn kill(session: &mut Session, _: &str) -> Result<Flow> {
    session.target.go(Go::Quit)?;
    Ok(Flow::Leave(Left::Quit))
}
