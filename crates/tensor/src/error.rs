//! The one error type of Fluvial.

use crate::loc::Loc;
use crate::ty::Type;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// So many types of inputs are told with an operation.
const MAX_TYPES: usize = 6;

/// A result whose error is [`Error`] unless said otherwise.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, for code that reacts to an error; people read the message.
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// Sizes do not fit together.
    Shape,
    /// An element type is not allowed here.
    DType,
    /// An argument is outside what the operation accepts.
    Argument,
    /// An index or axis is out of range.
    Index,
    /// The number of inputs or outputs is wrong.
    Arity,
    /// A derivative was asked for where there is none.
    Gradient,
    /// A derivative was asked for with respect to a value that nothing depends on.
    Unreached,
    /// A derivative was asked for of a value whose tape an earlier walk has freed.
    Freed,
    /// An object is not in the state the call needs.
    State,
    /// A size is symbolic where a number is needed, or a symbolic expression has no meaning.
    Symbolic,
    /// A program is malformed.
    Program,
    /// Text could not be read.
    Parse,
    /// Data was written by a version that cannot be read.
    Version,
    /// Memory ran out or a limit was reached.
    Memory,
    /// A limit of time or of trips of loops was reached.
    Limit,
    /// The user interrupted the work.
    Interrupted,
    /// A user's function, called from inside, failed.
    Callback,
    /// What a program asserts is not so.
    Assertion,
    /// A check of a run failed: results differ that should agree, or a number is none.
    Check,
    /// A file could not be read or written.
    File,
    /// A fault of Fluvial itself.
    Internal,
}

impl ErrorKind {
    /// The name: a word in small letters, which stays.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Shape => "shape",
            ErrorKind::DType => "dtype",
            ErrorKind::Argument => "argument",
            ErrorKind::Index => "index",
            ErrorKind::Arity => "arity",
            ErrorKind::Gradient => "gradient",
            ErrorKind::Unreached => "unreached",
            ErrorKind::Freed => "freed",
            ErrorKind::State => "state",
            ErrorKind::Symbolic => "symbolic",
            ErrorKind::Program => "program",
            ErrorKind::Parse => "parse",
            ErrorKind::Version => "version",
            ErrorKind::Memory => "memory",
            ErrorKind::Limit => "limit",
            ErrorKind::Interrupted => "interrupted",
            ErrorKind::Callback => "callback",
            ErrorKind::Assertion => "assertion",
            ErrorKind::Check => "check",
            ErrorKind::File => "file",
            ErrorKind::Internal => "internal",
        }
    }
}

/// An error: its kind, a message, and what is known about its place and remedy.
///
/// The function that notices the fault states it with [`Error::new`] or a shortcut such as
/// [`Error::shape`]; callers add what they know with [`Error::in_op`], [`Error::at`],
/// [`Error::remedy`] and [`Error::note`]. A clone is one atomic increment.
///
/// ```
/// use fluvial_tensor::{DType, Error, Type};
/// let (a, b) = (Type::of(DType::F32, &[3])?, Type::of(DType::F32, &[2])?);
/// let error = Error::shape("shapes [3] and [2] do not broadcast")
///     .in_op("add", &[&a, &b])
///     .remedy("make the sizes equal");
/// let text = "add(f32[3], f32[2]): shapes [3] and [2] do not broadcast\n  remedy: make the sizes equal";
/// assert_eq!(error.to_string(), text);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    remedy: Option<String>,
    notes: Vec<String>,
    op: Option<String>,
    loc: Option<Loc>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

macro_rules! shortcuts {
    ($($name:ident => $kind:ident),* $(,)?) => {$(
        #[doc = concat!("An error of kind [`ErrorKind::", stringify!($kind), "`].")]
        #[cold]
        pub fn $name(message: impl Into<String>) -> Error {
            Error::new(ErrorKind::$kind, message)
        }
    )*};
}

impl Error {
    /// An error with nothing but its kind and message; the message has no trailing full stop.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Arc::new(Inner {
            kind,
            message: message.into(),
            remedy: None,
            notes: Vec::new(),
            op: None,
            loc: None,
            source: None,
        }))
    }

    shortcuts! {
        shape => Shape,
        dtype => DType,
        argument => Argument,
        index => Index,
        gradient => Gradient,
        state => State,
        symbolic => Symbolic,
        program => Program,
        parse => Parse,
        memory => Memory,
        internal => Internal,
    }

    /// Says what the user can do about it; replaces an earlier remedy.
    #[must_use]
    pub fn remedy(mut self, text: impl Into<String>) -> Error {
        Arc::make_mut(&mut self.0).remedy = Some(text.into());
        self
    }

    /// Adds a line of context after the earlier ones.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Error {
        Arc::make_mut(&mut self.0).notes.push(text.into());
        self
    }

    /// Names the operation and its input types, the first of them if they are many, unless an inner call has done so.
    #[must_use]
    pub fn in_op(mut self, name: &str, inputs: &[&Type]) -> Error {
        if self.0.op.is_none() {
            // What a loop carries would hide the message.
            let (shown, left) = inputs.split_at(inputs.len().min(MAX_TYPES));
            let mut shown: Vec<String> = shown.iter().map(ToString::to_string).collect();
            if !left.is_empty() {
                shown.push(format!("… {} more", left.len()));
            }
            Arc::make_mut(&mut self.0).op = Some(format!("{name}({})", shown.join(", ")));
        }
        self
    }

    /// Names the user's line, unless an inner call has done so or `loc` is unknown.
    #[must_use]
    pub fn at(mut self, loc: Loc) -> Error {
        if self.0.loc.is_none() && loc.is_known() {
            Arc::make_mut(&mut self.0).loc = Some(loc);
        }
        self
    }

    /// Keeps the error of another library that caused this one, for [`std::error::Error::source`].
    #[must_use]
    pub fn source_error(mut self, source: Box<dyn StdError + Send + Sync>) -> Error {
        Arc::make_mut(&mut self.0).source = Some(Arc::from(source));
        self
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message alone, without place, remedy and notes.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What [`Error::remedy`] was given.
    pub fn remedy_text(&self) -> Option<&str> {
        self.0.remedy.as_deref()
    }

    /// The lines [`Error::note`] was given, oldest first.
    pub fn notes(&self) -> &[String] {
        &self.0.notes
    }

    /// The operation with its input types, such as `add(f32[3], f32[2])`.
    pub fn op_text(&self) -> Option<&str> {
        self.0.op.as_deref()
    }

    /// The name of the operation.
    pub fn op_name(&self) -> Option<&str> {
        self.op_text()?.split('(').next()
    }

    /// The user's line.
    pub fn loc(&self) -> Option<Loc> {
        self.0.loc
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(loc) = self.0.loc {
            write!(f, "{loc}: ")?;
        }
        if let Some(op) = &self.0.op {
            write!(f, "{op}: ")?;
        }
        f.write_str(&self.0.message)?;
        if let Some(remedy) = &self.0.remedy {
            write!(f, "\n  remedy: {remedy}")?;
        }
        for note in &self.0.notes {
            write!(f, "\n  note: {note}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.0.source.as_deref()?;
        Some(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    fn type_of(sizes: &[usize]) -> Type {
        Type::of(DType::F32, sizes).unwrap()
    }

    #[test]
    fn all_parts_in_order() {
        let error = Error::shape("shapes [3] and [2] do not broadcast")
            .note("first")
            .remedy("reshape one of them")
            .note("second")
            .in_op("add", &[&type_of(&[3]), &type_of(&[2])])
            .at(Loc::intern("src/main.rs", 12, 9, None, None));
        assert_eq!(
            error.to_string(),
            "src/main.rs:12:9: add(f32[3], f32[2]): shapes [3] and [2] do not broadcast\n  \
             remedy: reshape one of them\n  note: first\n  note: second"
        );
        assert_eq!(format!("{error:?}"), error.to_string());
        assert_eq!(error.kind(), ErrorKind::Shape);
        assert_eq!(error.message(), "shapes [3] and [2] do not broadcast");
        assert_eq!(error.remedy_text(), Some("reshape one of them"));
        assert_eq!(error.op_text(), Some("add(f32[3], f32[2])"));
        assert_eq!((error.op_name(), error.kind().name()), (Some("add"), "shape"));
        assert_eq!(error.notes(), ["first", "second"]);
    }

    #[test]
    fn the_innermost_place_wins() {
        let outer = Loc::intern("outer.py", 2, 0, None, None);
        let error = Error::index("axis 2 is out of range")
            .at(Loc::Unknown)
            .at(Loc::intern("inner.py", 1, 0, None, None))
            .at(outer)
            .in_op("sum", &[&type_of(&[])])
            .in_op("mean", &[]);
        assert_eq!(error.to_string(), "inner.py:1: sum(f32[]): axis 2 is out of range");
    }

    #[test]
    fn of_many_inputs_the_first_are_named() {
        let ty = type_of(&[2]);
        let told = |n: usize| {
            let error = Error::state("closed").in_op("for_each", &vec![&ty; n]);
            error.op_text().map(String::from).unwrap_or_default()
        };
        assert_eq!(told(6).matches("f32[2]").count(), 6);
        assert!(told(22).ends_with("f32[2], … 16 more)") && told(22).len() < 80, "{}", told(22));
    }

    #[test]
    fn a_clone_is_not_changed_by_later_additions() {
        let first = Error::state("closed");
        let second = first.clone().remedy("open it");
        assert_eq!(first.to_string(), "closed");
        assert_eq!(second.to_string(), "closed\n  remedy: open it");
    }

    #[test]
    fn the_source_is_kept() {
        let cause = "x".parse::<i32>().unwrap_err();
        let error = Error::parse("not a number").source_error(Box::new(cause));
        assert_eq!(StdError::source(&error).unwrap().to_string(), "invalid digit found in string");
        assert!(StdError::source(&Error::parse("no cause")).is_none());
    }
}
