//! What the target tells, as events of the protocol.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::lock;
use super::session::{Phase, Session, Told};
use super::stack::listing_source;
use crate::protocol::event;
use crate::target::{
    Event, Listing, OWN_BREAKPOINTS, Output, Place, ProgramInfo, Reason, Stop, Verdict,
};

/// How often a pump looks whether its client is gone.
const BEAT: Duration = Duration::from_millis(50);
/// How often progress is told at most.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// A progress bar that the client shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    told: Instant,
}

/// Tells a client what happens until it is gone.
pub(super) fn pump(events: &Receiver<Event>, session: &Mutex<Session>, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Acquire) {
        match events.recv_timeout(BEAT) {
            Ok(happened) => {
                let mut session = lock(session);
                if !is_over.load(Ordering::Acquire) {
                    session.tell(happened);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return lock(session).tell(Event::Ended),
        }
    }
}

impl Session {
    /// Tells the client what has happened.
    fn tell(&mut self, happened: Event) {
        match happened {
            Event::Stopped(stop) => {
                if self.phase == Phase::Configured {
                    self.tell_stop(&stop);
                }
            }
            Event::Continued(thread) => self.tell_continued(thread),
            Event::Output { text, kind, place } => self.tell_output(text, kind, place.as_ref()),
            Event::Breakpoint(verdict) => self.tell_breakpoint(&verdict),
            Event::Progress { step, of, text } => self.tell_progress(step, of, &text),
            Event::CanGoBack(can) => {
                let body = json!({"capabilities": {"supportsStepBack": can}});
                self.after.push(event("capabilities", body));
            }
            Event::Program(ProgramInfo { number, name }) => {
                for listing in [Listing::Source(number), Listing::Compiled(number)] {
                    let source = listing_source(&name, listing);
                    self.after
                        .push(event("loadedSource", json!({"reason": "new", "source": source})));
                }
            }
            Event::Ended => self.tell_end(0),
        }
        for event in std::mem::take(&mut self.after) {
            self.outbox.send(event);
        }
    }

    /// Tells what has become of a breakpoint, if the client has set it, or the user's own code has.
    pub(super) fn tell_breakpoint(&mut self, verdict: &Verdict) {
        let is_own = verdict.id >= OWN_BREAKPOINTS;
        if !is_own && !self.breakpoints.has(verdict.id) {
            return;
        }
        let is_new = is_own && self.own_breakpoints.insert(verdict.id);
        let reason = if is_new { "new" } else { "changed" };
        let breakpoint = self.breakpoint_out(verdict);
        self.after.push(event("breakpoint", json!({"reason": reason, "breakpoint": breakpoint})));
    }

    /// Tells of a thread that the client does not know yet.
    pub(super) fn tell_thread(&mut self, thread: u32) {
        if let std::collections::hash_map::Entry::Vacant(new) = self.threads.entry(thread) {
            new.insert(Told::default());
            self.after.push(event("thread", json!({"reason": "started", "threadId": thread})));
        }
    }

    /// Tells of a stop, unless the client knows it, or has already let the program go on from there.
    pub(super) fn tell_stop(&mut self, stop: &Stop) {
        self.tell_thread(stop.thread);
        let told = self.threads.entry(stop.thread).or_default();
        if Some(stop.number) <= told.told.max(told.left) {
            return;
        }
        (told.told, told.resumed) = (Some(stop.number), false);
        if self.is_one_thread() {
            self.forget();
        }
        // What is stopped makes no progress.
        self.end_progress();
        let is_entry = std::mem::take(&mut self.stops_on_entry) && stop.reason == Reason::Pause;
        let (reason, description) = match &stop.reason {
            Reason::Entry => ("entry", "Stopped at the first op"),
            Reason::Pause if is_entry => ("entry", "Stopped at the first op"),
            Reason::Step => ("step", "Stopped after a step"),
            Reason::Breakpoint => ("breakpoint", "Stopped at a breakpoint"),
            Reason::Function => ("function breakpoint", "Stopped at an op or a layer"),
            Reason::Data => ("data breakpoint", "Stopped since a value has changed"),
            Reason::Exception(_) => ("exception", "Stopped since a value is not as it should be"),
            Reason::Pause => ("pause", "Paused"),
            Reason::Goto => ("goto", "Stopped at the wanted step"),
        };
        let is_known = |id: &&u32| self.breakpoints.has(**id) || self.own_breakpoints.contains(*id);
        let hit: Vec<u32> = stop.breakpoints.iter().filter(is_known).copied().collect();
        for note in &stop.notes {
            self.tell_output(note.clone(), Output::Note, None);
        }
        self.after.push(event(
            "stopped",
            json!({
                "reason": reason,
                "description": description,
                "text": stop.text,
                "threadId": stop.thread,
                "allThreadsStopped": self.is_one_thread(),
                "hitBreakpointIds": hit,
            }),
        ));
    }

    /// Tells that the program goes on, unless the client wanted it to.
    fn tell_continued(&mut self, thread: u32) {
        let told = self.threads.entry(thread).or_default();
        if std::mem::take(&mut told.resumed) || told.told <= told.left {
            return;
        }
        told.left = told.told;
        self.forget();
        let body = json!({"threadId": thread, "allThreadsContinued": self.is_one_thread()});
        self.after.push(event("continued", body));
    }

    fn tell_output(&mut self, mut text: String, kind: Output, place: Option<&Place>) {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let category = match kind {
            Output::Log => "stdout",
            Output::Note => "console",
            Output::Error => "stderr",
        };
        let mut body = json!({"category": category, "output": text});
        if let Some(place) = place {
            body["source"] = self.source_out(place);
            body["line"] = json!(self.line_out(place.line));
        }
        let message = event("output", body);
        match kind {
            // A client that reads slowly misses some of these, rather than all that comes later.
            Output::Log => self.outbox.offer(message),
            Output::Note | Output::Error => self.after.push(message),
        }
    }

    fn tell_progress(&mut self, step: u64, of: Option<u64>, text: &str) {
        if !self.client.shows_progress || self.has_terminated {
            return;
        }
        let is_last = of.is_some_and(|of| step.saturating_add(1) >= of);
        let percentage = of.map(|of| 100.0 * (step.saturating_add(1) as f64) / of.max(1) as f64);
        let now = Instant::now();
        let mut body = json!({"progressId": "train", "message": text});
        if let Some(percentage) = percentage {
            // Some clients take whole numbers only.
            body["percentage"] = json!(percentage.min(100.0) as u64);
        }
        let name = match self.progress {
            None => {
                body["title"] = json!("Training");
                body["cancellable"] = json!(false);
                "progressStart"
            }
            Some(progress) if is_last || now - progress.told >= PROGRESS_EVERY => "progressUpdate",
            Some(_) => return,
        };
        self.progress = Some(Progress { told: now });
        self.after.push(event(name, body));
        if is_last {
            self.end_progress();
        }
    }

    fn end_progress(&mut self) {
        if self.progress.take().is_some() {
            self.after.push(event("progressEnd", json!({"progressId": "train"})));
        }
    }

    /// Tells that the program is over.
    pub(super) fn tell_end(&mut self, exit_code: i64) {
        if std::mem::replace(&mut self.has_terminated, true) {
            return;
        }
        self.end_progress();
        let mut threads: Vec<u32> = self.threads.keys().copied().collect();
        threads.sort_unstable();
        for thread in threads {
            self.after.push(event("thread", json!({"reason": "exited", "threadId": thread})));
        }
        self.after.push(event("exited", json!({"exitCode": exit_code})));
        self.after.push(event("terminated", Value::Null));
    }
}
