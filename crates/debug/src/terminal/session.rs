//! A conversation: read a command, do it, wait for the next stop.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use fluvial_core::{Error, ErrorKind, Result};

use super::breaks::{self, Entry};
use super::commands::{self, Flow};
use super::paint::Paint;
use super::{Commands, Left, Options, Prompt};
use crate::target::{Event, Go, Output, Place, Reason, Stop, Target};

const PROMPT: &str = "(fluvial) ";

/// How often one looks whether somebody interrupts, or is gone.
const OFTEN: Duration = Duration::from_millis(50);

/// A debugger in a terminal. It hears of all that happens from when it was made.
pub struct Session<'a> {
    pub(super) target: &'a dyn Target,
    out: &'a mut dyn Write,
    pub(super) options: Options,
    pub(super) paint: Paint,
    events: Receiver<Event>,
    pub(super) stop: Option<Arc<Stop>>,
    /// The frame that is looked at.
    pub(super) frame: usize,
    pub(super) breaks: Vec<Entry>,
    pub(super) next_break: u32,
    /// Expressions to show at each stop.
    pub(super) watches: Vec<(u32, String)>,
    pub(super) next_watch: u32,
    pub(super) aliases: BTreeMap<String, String>,
    /// The line at which `list` goes on.
    pub(super) listed: Option<(Place, u32)>,
    last: String,
    /// The number of the last stop that was heard of.
    seen: u64,
    pub(super) fault: Option<std::io::Error>,
}

impl<'a> Session<'a> {
    /// Debugs a target, and writes there.
    pub fn new(target: &'a dyn Target, out: &'a mut dyn Write, options: Options) -> Session<'a> {
        let faults = options.faults;
        let mut session = Session {
            events: target.events(),
            target,
            out,
            paint: Paint(options.colours),
            options,
            stop: None,
            frame: 0,
            breaks: if faults { breaks::defaults() } else { Vec::new() },
            next_break: 1,
            watches: Vec::new(),
            next_watch: 1,
            aliases: BTreeMap::new(),
            listed: None,
            last: String::new(),
            seen: 0,
            fault: None,
        };
        if faults {
            breaks::send(&mut session);
        }
        session
    }

    /// Writes a line.
    pub(super) fn say(&mut self, text: impl AsRef<str>) {
        let text = text.as_ref();
        let end = if text.ends_with('\n') { "" } else { "\n" };
        self.write(&format!("{text}{end}"));
    }

    fn write(&mut self, text: &str) {
        let written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        if let Err(error) = written {
            self.fault.get_or_insert(error);
        }
    }

    /// Reads and does commands until the program ends, or the user leaves.
    pub fn run(&mut self, input: &mut dyn Commands) -> Result<Left> {
        if let Some(stop) = self.target.stopped() {
            self.arrive(stop);
        } else if self.options.wait
            && let Some(left) = self.wait()
        {
            return Ok(left);
        }
        loop {
            if let Some(left) = self.drain() {
                return Ok(left);
            }
            let Some(line) = self.read(input)? else {
                self.say("");
                // The program may have ended by now; then nobody is left to be told.
                let _ = self.target.go(Go::Detach);
                return Ok(Left::Detached);
            };
            if let Some(left) = self.command(&line) {
                return Ok(left);
            }
            if let Some(fault) = self.fault.take() {
                let _ = self.target.go(Go::Detach);
                return Err(Error::new(ErrorKind::File, format!("cannot write: {fault}")));
            }
        }
    }

    fn read(&mut self, input: &mut dyn Commands) -> Result<Option<String>> {
        let (target, frame) = (self.target, self.frame);
        let aliases: Vec<String> = self.aliases.keys().cloned().collect();
        let words = || {
            let mut words: Vec<String> = commands::names().map(String::from).collect();
            words.extend(aliases.iter().cloned());
            words.extend(target.names(frame));
            words
        };
        let prompt = self.paint.bold(PROMPT);
        let bytes = match input.next(&Prompt { text: &prompt, words: &words }, self.out) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(None),
            Err(error) => {
                let _ = self.target.go(Go::Detach);
                return Err(Error::new(ErrorKind::File, format!("cannot read: {error}")));
            }
        };
        // What was pressed at the prompt does not count.
        self.options.interrupt.store(false, Ordering::Relaxed);
        let line = String::from_utf8_lossy(&bytes).trim().to_string();
        if self.options.echo {
            self.say(&line);
        }
        Ok(Some(line))
    }

    /// Does what a line says; how the debugger is left, if it is.
    fn command(&mut self, line: &str) -> Option<Left> {
        let line = match line.is_empty() {
            true => self.last.clone(),
            false => line.to_string(),
        };
        self.last.clear();
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        match commands::run(self, &line) {
            Ok((flow, repeats)) => {
                if repeats {
                    self.last = line;
                }
                match flow {
                    Flow::Stay => None,
                    Flow::Leave(left) => Some(left),
                    Flow::Go(how, times) => self.go(how, times),
                }
            }
            Err(error) => {
                self.fail(&error);
                None
            }
        }
    }

    pub(super) fn fail(&mut self, error: &Error) {
        self.say(self.paint.red(&format!("{error}")));
    }

    /// Goes on, and again as long as nothing else stops the program.
    fn go(&mut self, how: Go, times: u64) -> Option<Left> {
        // What was pressed at the prompt does not count.
        self.options.interrupt.store(false, Ordering::Relaxed);
        for n in 1..=times {
            if let Err(error) = self.target.go(how.clone()) {
                self.fail(&error);
                return None;
            }
            if let Some(left) = self.wait_for(n == times) {
                return Some(left);
            }
            if self.stop.as_ref().is_none_or(|stop| stop.reason != Reason::Step) {
                break;
            }
        }
        None
    }

    /// Waits for the next stop and shows it.
    pub(super) fn wait(&mut self) -> Option<Left> {
        self.wait_for(true)
    }

    fn wait_for(&mut self, show_steps: bool) -> Option<Left> {
        let left = self.stop.take().map(|stop| stop.thread);
        // Another thread may have stopped meanwhile.
        let is_other = |stop: &Arc<Stop>| {
            stop.number <= self.seen && left.is_some_and(|left| left != stop.thread)
        };
        if let Some(other) = self.target.stops().into_iter().find(is_other) {
            self.arrive(other);
            return None;
        }
        let mut looked = Instant::now();
        loop {
            // Also while events keep coming.
            if looked.elapsed() >= OFTEN {
                if self.fault.is_some() || self.is_gone() {
                    // The program may have ended by now; then nobody is left to be told.
                    let _ = self.target.go(Go::Detach);
                    return Some(Left::Detached);
                }
                looked = Instant::now();
            }
            let event = match self.events.recv_timeout(OFTEN) {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout) => {
                    if self.options.interrupt.swap(false, Ordering::Relaxed)
                        && let Err(error) = self.target.go(Go::Pause)
                    {
                        self.fail(&error);
                        return None;
                    }
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => Event::Ended,
            };
            match event {
                Event::Stopped(stop) if stop.number <= self.seen => {}
                Event::Stopped(stop) if !show_steps && stop.reason == Reason::Step => {
                    self.seen = stop.number;
                    self.stop = Some(stop);
                    return None;
                }
                Event::Stopped(stop) => {
                    self.arrive(stop);
                    return None;
                }
                event => {
                    if let Some(left) = self.hear(event) {
                        return Some(left);
                    }
                }
            }
        }
    }

    /// Whether nobody is there any more who could type. What was typed before is still to be read.
    fn is_gone(&self) -> bool {
        let Some(connection) = &self.options.connection else { return false };
        let seen = connection.set_nonblocking(true).and_then(|()| connection.peek(&mut [0]));
        let back = connection.set_nonblocking(false);
        match seen {
            Ok(n) => n == 0 || back.is_err(),
            Err(error) => {
                !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
            }
        }
    }

    /// What has happened since the last command.
    fn drain(&mut self) -> Option<Left> {
        while let Ok(event) = self.events.try_recv() {
            match event {
                Event::Stopped(stop) if stop.number <= self.seen => {}
                Event::Stopped(stop) if self.stop.is_some() => self.say_other(&stop),
                Event::Stopped(stop) => self.arrive(stop),
                // Somebody else has let it go on.
                Event::Continued(thread) => {
                    if self.stop.as_ref().is_some_and(|stop| stop.thread == thread) {
                        self.stop = None;
                    }
                }
                event => {
                    if let Some(left) = self.hear(event) {
                        return Some(left);
                    }
                }
            }
        }
        None
    }

    fn hear(&mut self, event: Event) -> Option<Left> {
        match event {
            Event::Output { text, kind, .. } => {
                let text = match kind {
                    Output::Log => text,
                    Output::Note => self.paint.dim(&format!("note: {text}")),
                    Output::Error => self.paint.red(&text),
                };
                self.say(text);
            }
            Event::Breakpoint(verdict) => self.changed(verdict),
            Event::Ended => {
                self.say("The program has ended.");
                return Some(Left::Ended);
            }
            Event::Continued(_) | Event::Stopped(_) | Event::Progress { .. } => {}
            Event::CanGoBack(_) | Event::Program(_) => {}
        }
        None
    }

    /// Says that another thread has stopped, too.
    fn say_other(&mut self, stop: &Stop) {
        self.seen = self.seen.max(stop.number);
        let number = stop.thread;
        let text = format!("thread {number} has stopped, too; `thread {number}` looks at it");
        self.say(self.paint.dim(&text));
    }

    pub(super) fn arrive(&mut self, stop: Arc<Stop>) {
        self.frame = 0;
        self.target.choose(stop.thread);
        self.listed = None;
        self.seen = self.seen.max(stop.number);
        self.stop = Some(stop);
        self.show_stop();
        self.show_watches();
    }

    /// Where the program is stopped, or an error that it is not.
    pub(super) fn stopped(&self) -> Result<Arc<Stop>> {
        self.stop.clone().ok_or_else(|| {
            Error::state("the program runs").remedy("`pause` stops it, `continue` waits for a stop")
        })
    }
}
