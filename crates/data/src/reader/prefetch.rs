//! Results made ahead, on a thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use fluvial_tensor::{Error, ErrorKind, Result};

use super::walk::Walk;
use crate::source::Sample;

/// A walk that is done by a thread of its own, up to some results ahead. The thread starts when the first
/// result is asked for, and ends with the pass, with an error, or when this is dropped: then it finishes the
/// result that it works at, and nobody waits for it.
pub(super) struct Prefetch {
    state: State,
    ahead: usize,
}

enum State {
    Waiting(Box<dyn Walk>),
    Running(Receiver<Result<Option<Sample>>>),
    Over,
}

impl Prefetch {
    pub(super) fn new(walk: Box<dyn Walk>, ahead: usize) -> Prefetch {
        Prefetch { state: State::Waiting(walk), ahead }
    }
}

impl Walk for Prefetch {
    fn next(&mut self) -> Result<Option<Sample>> {
        if let State::Waiting(_) = self.state
            && let State::Waiting(walk) = std::mem::replace(&mut self.state, State::Over)
        {
            self.state = State::Running(start(walk, self.ahead)?);
        }
        let State::Running(results) = &self.state else { return Ok(None) };
        let next =
            results.recv().unwrap_or_else(|_| Err(Error::internal("a reader's thread ended")));
        if !matches!(next, Ok(Some(_))) {
            self.state = State::Over;
        }
        next
    }

    fn skip(&mut self, n: u64) -> Result<()> {
        if let State::Waiting(walk) = &mut self.state {
            return walk.skip(n);
        }
        for _ in 0..n {
            if self.next()?.is_none() {
                break;
            }
        }
        Ok(())
    }
}

fn start(walk: Box<dyn Walk>, ahead: usize) -> Result<Receiver<Result<Option<Sample>>>> {
    let (to, from) = sync_channel(ahead);
    std::thread::Builder::new()
        .name("fluvial-reader".into())
        .spawn(move || run(walk, &to))
        .map_err(|error| {
            Error::state(format!("no thread could be started to read ahead: {error}"))
                .remedy("leave `prefetch` out, or end other threads")
        })?;
    Ok(from)
}

fn run(mut walk: Box<dyn Walk>, to: &SyncSender<Result<Option<Sample>>>) {
    loop {
        let next = catch_unwind(AssertUnwindSafe(|| walk.next())).unwrap_or_else(|payload| {
            let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
            let text = text.unwrap_or_else(|| "no message".into());
            Err(Error::new(ErrorKind::Callback, format!("a reader's thread panicked: {text}")))
        });
        let is_last = !matches!(next, Ok(Some(_)));
        if is_last {
            // Whoever sees the end finds that all was given back.
            drop(std::mem::replace(&mut walk, Box::new(Nothing)));
        }
        if to.send(next).is_err() || is_last {
            return;
        }
    }
}

/// A walk that is over.
struct Nothing;

impl Walk for Nothing {
    fn next(&mut self) -> Result<Option<Sample>> {
        Ok(None)
    }
}
