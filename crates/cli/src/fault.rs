//! What goes wrong, and how it is told.

use std::path::Path;

use fluvial::core::{Error, ErrorKind, Loc};
use serde_json::json;

use crate::out::Out;
use crate::signals;

/// The exit code for a fault of a program or of files.
pub const FAILED: u8 = 1;

/// The exit code for wrong usage.
pub const USAGE: u8 = 2;

/// The error that a command ends with, and its exit code.
#[derive(Debug)]
pub struct Fault {
    error: Error,
    status: u8,
}

/// What a command or a part of one returns.
pub type Outcome<T> = Result<T, Fault>;

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        let status = match error.kind() {
            ErrorKind::Interrupted => signals::status(),
            _ => FAILED,
        };
        Fault { error, status }
    }
}

/// A fault of the command line itself.
pub fn usage(message: impl Into<String>, remedy: impl Into<String>) -> Fault {
    Fault { error: Error::argument(message).remedy(remedy), status: USAGE }
}

/// A fault of a file.
pub fn file(path: &Path, error: std::io::Error) -> Error {
    let remedy = match error.kind() {
        std::io::ErrorKind::NotFound => "check the path; it is relative to the current folder",
        std::io::ErrorKind::PermissionDenied => "check who may read and write it",
        _ => "check the disk and the path",
    };
    Error::new(ErrorKind::File, format!("`{}`: {error}", path.display())).remedy(remedy)
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.error.message())
    }
}

impl Fault {
    /// An error with an exit code of its own.
    pub fn with(error: Error, status: u8) -> Fault {
        Fault { error, status }
    }

    /// The same with another exit code, unless the run was stopped from outside.
    pub fn status(self, status: u8) -> Fault {
        match self.error.kind() {
            ErrorKind::Interrupted => self,
            _ => Fault { status, ..self },
        }
    }

    /// Whether the run was stopped from outside.
    pub fn is_stop(&self) -> bool {
        self.error.kind() == ErrorKind::Interrupted
    }

    /// Adds a line of context.
    pub fn note(self, text: impl Into<String>) -> Fault {
        Fault { error: self.error.note(text), ..self }
    }

    /// Says what helps if a limit was reached on made-up numbers.
    pub fn on_made_up(self) -> Fault {
        match self.error.kind() {
            ErrorKind::Limit => Fault {
                error: self.error.remedy("feed inputs with which its loops end (--set, --feed), or raise the limit (--max-steps, --limit-time)"),
                ..self
            },
            _ => self,
        }
    }

    /// Tells the fault, and returns the exit code.
    pub fn tell(&self, out: &Out) -> u8 {
        // Whoever has closed the pipe knows why.
        if self.error.kind() == ErrorKind::Interrupted && signals::is_unread() {
            return self.status;
        }
        let error = &self.error;
        let place = place(error);
        let mut text = "error: ".to_string();
        if let Some(place) = &place {
            text += &format!("{place}: ");
        }
        if let Some(op) = error.op_text() {
            text += &format!("{op}: ");
        }
        text += error.message();
        if let Some(remedy) = error.remedy_text() {
            text += &format!("\n  remedy: {remedy}");
        }
        for note in error.notes() {
            text += &format!("\n  note: {note}");
        }
        let event = json!({
            "event": "error",
            "status": self.status,
            "kind": format!("{:?}", error.kind()),
            "message": error.message(),
            "place": place,
            "op": error.op_text(),
            "remedy": error.remedy_text(),
            "notes": error.notes(),
        });
        out.error(&text, event);
        self.status
    }
}

/// The user's line. Lines of our own code, which users do not know, are none.
fn place(error: &Error) -> Option<String> {
    match error.loc() {
        Some(loc @ Loc::Interned(_)) => Some(loc.to_string()),
        _ => None,
    }
}
