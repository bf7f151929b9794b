//! Errors that point at their place in the text.

use fluvial_core::Error;

/// An error and where it is, in bytes from the start of the text.
#[derive(Debug)]
pub struct Fault {
    at: usize,
    error: Error,
}

impl Fault {
    pub fn new(at: usize, error: Error) -> Fault {
        Fault { at, error }
    }

    /// The error with the text and a mark below its place. The line of our own source at which an op was called is
    /// left out.
    pub fn of(self, text: &str) -> Error {
        let Fault { at, error } = self;
        let message = match error.op_text() {
            Some(op) => format!("{op}: {}", error.message()),
            None => error.message().to_string(),
        };
        let (shown, column) = window(text, at);
        let mark = format!("\n    {shown}\n    {}^", " ".repeat(column));
        let mut placed = Error::new(error.kind(), format!("{message}{mark}"));
        if let Some(remedy) = error.remedy_text() {
            placed = placed.remedy(remedy);
        }
        error.notes().iter().fold(placed, |placed, note| placed.note(note))
    }
}

/// The part of a text around a place, on one line, and the column of the place in it.
fn window(text: &str, at: usize) -> (String, usize) {
    const BEFORE: usize = 60;
    const BEHIND: usize = 40;
    let column = text.char_indices().take_while(|(i, _)| *i < at).count();
    let start = column.saturating_sub(BEFORE);
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let mut shown: String = text.chars().map(clean).skip(start).take(BEFORE + BEHIND).collect();
    let mut column = column - start;
    if start > 0 {
        shown.insert_str(0, "..");
        column += 2;
    }
    if text.chars().count() > start + BEFORE + BEHIND {
        shown.push_str("..");
    }
    (shown, column)
}

/// Puts errors of ops at a place.
pub trait Placed<T> {
    fn at(self, at: usize) -> Result<T, Fault>;
}

impl<T> Placed<T> for Result<T, Error> {
    fn at(self, at: usize) -> Result<T, Fault> {
        self.map_err(|error| Fault { at, error })
    }
}
