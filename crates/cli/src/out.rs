//! Where text and events go.
//!
//! Results go to standard output, all else to standard error. For machines everything is an event, one JSON
//! object per line of standard output.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fluvial::ops::set_printer;
use serde_json::{Value as Json, json};

use crate::fault::FAILED;
use crate::signals;

/// Where a command writes. Clones share the screen.
#[derive(Clone)]
pub struct Out {
    json: bool,
    quiet: bool,
    has_bars: bool,
    /// Only errors are written: another rank tells the rest.
    is_mute: bool,
    screen: Arc<Mutex<Screen>>,
}

#[derive(Clone, Copy)]
enum To {
    Stdout,
    Stderr,
}

/// What is on the screen, and whether writing to it has failed.
#[derive(Default)]
struct Screen {
    has_bar: bool,
    fault: Option<io::Error>,
}

impl Out {
    /// Writes events if `json`, and nothing but results and errors if `quiet`.
    pub fn new(json: bool, quiet: bool) -> Out {
        Out { json, quiet, has_bars: true, is_mute: false, screen: Arc::default() }
    }

    /// The same without bars, since somebody types beside it.
    pub fn without_bars(&self) -> Out {
        Out { has_bars: false, ..self.clone() }
    }

    /// The same for a rank of which only errors are told.
    pub fn muted(&self) -> Out {
        Out { has_bars: false, is_mute: true, ..self.clone() }
    }

    /// Whether events are written instead of text.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether only results and errors are wanted.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether somebody looks at a terminal, so that a bar can be drawn.
    pub fn has_terminal(&self) -> bool {
        self.has_bars && !self.json && io::stderr().is_terminal()
    }

    /// Writes a result: what the command was asked for.
    pub fn result(&self, text: &str, event: impl FnOnce() -> Json) {
        match self.json {
            _ if self.is_mute => {}
            true => self.event(&event()),
            false => self.lines(To::Stdout, text),
        }
    }

    /// Writes what a program prints while its results have standard output for themselves.
    pub fn aside(&self, text: &str) {
        if !self.is_mute {
            self.lines(To::Stderr, text);
        }
    }

    /// Writes what is good to know, unless only results are wanted.
    pub fn note(&self, text: &str, event: impl FnOnce() -> Json) {
        match self.json {
            _ if self.quiet || self.is_mute => {}
            true => self.event(&event()),
            false => self.lines(To::Stderr, text),
        }
    }

    /// Writes what went wrong.
    pub fn error(&self, text: &str, event: Json) {
        match self.json {
            true => self.event(&event),
            false => self.lines(To::Stderr, text),
        }
    }

    /// Draws the bar anew, in one line that the next text replaces.
    pub fn bar(&self, text: &str) {
        let mut screen = self.lock();
        screen.has_bar = true;
        let mut to = io::stderr().lock();
        // Without a line break, however narrow the terminal is.
        let done = write!(to, "\r\x1b[2K\x1b[?7l{text}\x1b[?7h").and_then(|()| to.flush());
        screen.remember(done);
    }

    /// Takes the bar away.
    pub fn clear_bar(&self) {
        self.lock().clear_bar();
    }

    /// The exit code, which is another one if results could not be written.
    pub fn finish(&self, status: u8) -> u8 {
        let mut screen = self.lock();
        screen.clear_bar();
        let flushed = io::stdout().flush();
        screen.remember(flushed);
        match &screen.fault {
            Some(fault) if status == 0 => {
                let _ = writeln!(io::stderr(), "error: the output could not be written: {fault}");
                FAILED
            }
            _ => status,
        }
    }

    fn event(&self, event: &Json) {
        self.lines(To::Stdout, &event.to_string());
    }

    fn lines(&self, to: To, text: &str) {
        let mut screen = self.lock();
        screen.clear_bar();
        let text = text.strip_suffix('\n').unwrap_or(text);
        let is_result = matches!(to, To::Stdout);
        let mut to: Box<dyn Write> = match to {
            To::Stdout => Box::new(io::stdout().lock()),
            To::Stderr => Box::new(io::stderr().lock()),
        };
        let done = writeln!(to, "{text}").and_then(|()| to.flush());
        drop(to);
        if is_result && done.as_ref().is_err_and(|fault| fault.kind() == io::ErrorKind::BrokenPipe)
        {
            signals::nobody_reads();
        }
        screen.remember(done);
    }

    fn lock(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Screen {
    fn clear_bar(&mut self) {
        if std::mem::take(&mut self.has_bar) {
            let done = write!(io::stderr(), "\r\x1b[2K");
            self.remember(done);
        }
    }

    /// Keeps the first fault. A reader that has gone away, such as `head`, has seen what it wanted.
    fn remember(&mut self, done: io::Result<()>) {
        match done {
            Err(fault) if fault.kind() != io::ErrorKind::BrokenPipe => {
                self.fault.get_or_insert(fault);
            }
            _ => {}
        }
    }
}

/// While it lives, what programs print goes through `out`.
pub struct Printing;

impl Printing {
    /// As results, or beside them.
    pub fn to(out: &Out, is_beside: bool) -> Printing {
        let out = out.clone();
        set_printer(Some(Arc::new(move |text: &str| match is_beside {
            true => out.aside(text),
            false => out.result(text, || json!({"event": "print", "text": text})),
        })));
        Printing
    }
}

impl Drop for Printing {
    fn drop(&mut self) {
        set_printer(None);
    }
}
