//! What can be asked of a program that is being debugged.
//!
//! The engine implements [`Target`]; the server for editors and the terminal are its users, and tests have
//! targets of their own. All methods may be called from any thread, return soon, and never panic. Those that look
//! at values answer an error ([`ErrorKind::State`](fluvial_core::ErrorKind)) unless the program is stopped.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use fluvial_core::{Error, Phase, Result, Value};

/// A program that is being debugged.
pub trait Target: Send + Sync {
    /// What happens from now on. Who asks for it is debugging, until [`Go::Detach`].
    fn events(&self) -> Receiver<Event>;

    /// Where the program is stopped: the thread that was [chosen](Target::choose), or else one that is stopped.
    fn stopped(&self) -> Option<Arc<Stop>>;

    /// The stops of all threads that are stopped, by thread.
    fn stops(&self) -> Vec<Arc<Stop>> {
        self.stopped().into_iter().collect()
    }

    /// The threads whose runs are debugged. A run inside of another one, in a function of the host's language, counts
    /// as a thread of its own.
    fn threads(&self) -> Vec<ThreadInfo> {
        vec![ThreadInfo { number: 1, name: "train".into() }]
    }

    /// Chooses the thread that is looked at and that goes on from now on.
    fn choose(&self, thread: u32) {
        let _ = thread;
    }

    /// Goes on in one of many ways. An error unless it is stopped, except for [`Go::Pause`], [`Go::Detach`] and
    /// [`Go::Quit`].
    fn go(&self, how: Go) -> Result<()>;

    /// Replaces all breakpoints; the answers are in the same order. Lines that no op was made at are moved to the
    /// next that has one. What cannot be met now, since no program that was seen so far fits, is not verified, and
    /// an [`Event::Breakpoint`] follows when a program comes that fits.
    fn set_breakpoints(&self, breakpoints: Vec<Breakpoint>) -> Vec<Verdict>;

    /// The breakpoints that the user's own code has set, whose ids are from [`OWN_BREAKPOINTS`] on.
    fn own_breakpoints(&self) -> Vec<Verdict> {
        Vec::new()
    }

    /// The lines of a file at which ops were made, in order.
    fn lines(&self, file: &str) -> Vec<u32>;

    /// The programs that have run since somebody debugs, the latest first.
    fn programs(&self) -> Vec<ProgramInfo>;

    /// A text that is not a file: what a [`Place`] with `listing` points into.
    fn listing(&self, listing: Listing) -> Result<String>;

    /// What there is to see in a frame, given by its position in [`Stop::frames`].
    fn scopes(&self, frame: usize) -> Result<Vec<Scope>>;

    /// The variables of a scope of a frame.
    fn variables(&self, frame: usize, scope: ScopeKind) -> Result<Vec<Variable>>;

    /// The value of an expression in a frame. `name = expression` and `name[i, j] = expression` are edits.
    fn evaluate(&self, frame: usize, text: &str) -> Result<Evaluated>;

    /// Gives a variable, or one element of it, the value of an expression; what the variable, or the element, is
    /// afterwards. Edits are logged,
    /// and the rest of the run, also when stepping back and forth, goes on with them.
    fn set(
        &self,
        frame: usize,
        scope: Option<ScopeKind>,
        name: &str,
        index: &[usize],
        expression: &str,
    ) -> Result<Value>;

    /// Names that an expression may begin with here: variables, states, functions.
    fn names(&self, frame: usize) -> Vec<String>;

    /// What was edited so far, in words, the first edit first.
    fn edits(&self) -> Vec<String>;

    /// Writes what was recorded of the run that is stopped into a file, with which it can be debugged elsewhere; what
    /// is in it, in words.
    fn record(&self, path: &Path) -> Result<String> {
        let _ = path;
        Err(Error::state("there is nothing here that can be recorded"))
    }
}

/// The first id of breakpoints that the user's own code has set.
pub const OWN_BREAKPOINTS: u32 = 1 << 30;

/// A thread whose runs are debugged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadInfo {
    /// Its number, from 1 on.
    pub number: u32,
    /// A name for it.
    pub name: String,
}

/// Something that happens.
#[derive(Clone, Debug)]
pub enum Event {
    /// The program has stopped; [`Target::stopped`] has it, too.
    Stopped(Arc<Stop>),
    /// A thread, given by its number, goes on.
    Continued(u32),
    /// Something to show: a log point, a note of the debugger, the loss now and then.
    Output {
        /// What to show.
        text: String,
        /// What it is.
        kind: Output,
        /// Where it comes from.
        place: Option<Place>,
    },
    /// A breakpoint, given by its id, is or is no longer met by some program.
    Breakpoint(Verdict),
    /// How far a loop is, for a progress bar.
    Progress {
        /// The step, counted from 0.
        step: u64,
        /// Of how many, if that is known.
        of: Option<u64>,
        /// A word on it.
        text: String,
    },
    /// Whether it is possible to go back now, if that has changed.
    CanGoBack(bool),
    /// A program that was not seen before is about to run.
    Program(ProgramInfo),
    /// The process is about to end, or whoever debugs it has been told to go.
    Ended,
}

/// What an output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// What the user asked for: log points, watches.
    Log,
    /// A remark of the debugger: a result of a fused op that differs from that of its parts, an edit.
    Note,
    /// A fault.
    Error,
}

/// Where and why a program is stopped.
#[derive(Clone, Debug)]
pub struct Stop {
    /// Grows from stop to stop.
    pub number: u64,
    /// The number of the thread.
    pub thread: u32,
    /// Why.
    pub reason: Reason,
    /// Why, in a sentence.
    pub text: String,
    /// The breakpoints that were hit, by id.
    pub breakpoints: Vec<u32>,
    /// What is under way, the innermost first: the op, its layer, its phase, the iteration of each loop around, the
    /// program. There is at least one.
    pub frames: Vec<Frame>,
    /// Whether it is possible to go back from here.
    pub can_go_back: bool,
    /// The step of the outermost loop, counted from 0, and of how many if that is known.
    pub step: Option<(u64, Option<u64>)>,
    /// What else there is to say: that the fused op gives other bits than its parts, that values were edited.
    pub notes: Vec<String>,
}

/// Why a program has stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The first op of the first run, as asked for.
    Entry,
    /// A step is done.
    Step,
    /// A breakpoint on a line.
    Breakpoint,
    /// A breakpoint on the name of an op or a layer, or the user's code has called `breakpoint()`.
    Function,
    /// A value has changed.
    Data,
    /// A value or the run is not as it should be.
    Exception(Fault),
    /// Somebody asked for it.
    Pause,
    /// The wanted step is reached.
    Goto,
}

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// NaN in an output of an op without NaN in its inputs, found by what loops carry and runs give.
    Nan,
    /// The same in any op, whether something depends on it or not: ops are run one by one.
    NanAnywhere,
    /// Infinity in an output of an op without infinity in its inputs.
    Infinity,
    /// A loss that is far above what it was.
    LossSpike,
    /// An op has refused its inputs, or failed.
    Error,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 5] =
        [Fault::Nan, Fault::NanAnywhere, Fault::Infinity, Fault::LossSpike, Fault::Error];

    /// Whether it stops a program unless somebody says that it must not, in editors and in the terminal.
    pub fn is_default(self) -> bool {
        matches!(self, Fault::Nan | Fault::Error)
    }

    /// A word for it: `nan`, `nan-anywhere`, `inf`, `loss-spike`, `error`.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Nan => "nan",
            Fault::NanAnywhere => "nan-anywhere",
            Fault::Infinity => "inf",
            Fault::LossSpike => "loss-spike",
            Fault::Error => "error",
        }
    }
}

/// One line of the call stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// What it stands for.
    pub kind: FrameKind,
    /// What a person reads: `%h2 = log(%h1)`, `fc1`, `backward`, `step 4 of 8`.
    pub name: String,
    /// Where it is in the user's source; for ops of the backward pass the line of the op that they belong to.
    pub place: Option<Place>,
    /// Where it is in the listing of the program.
    pub listed: Option<Place>,
}

/// What a frame stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// An op.
    Op,
    /// A layer.
    Layer,
    /// Forward, backward, optimizer.
    Phase,
    /// A trip of a loop.
    Iteration,
    /// A trip through the data.
    Epoch,
    /// The program.
    Program,
}

/// A place in a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The file, or a name for a listing.
    pub file: Arc<str>,
    /// The line, counted from 1.
    pub line: u32,
    /// The column, counted from 1, or 0.
    pub column: u32,
    /// Set if the text is none of a file.
    pub listing: Option<Listing>,
}

/// A text that the debugger writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Listing {
    /// A program as it was written, by number.
    Source(u32),
    /// A program as it was compiled.
    Compiled(u32),
    /// The kernel of the op at which the program is stopped, if ops were fused.
    Kernel(u32),
}

/// A program that has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramInfo {
    /// Its number, from 1 on.
    pub number: u32,
    /// A name for it, from the user's source or its outputs.
    pub name: String,
}

/// How to go on.
#[derive(Clone, Debug, PartialEq)]
pub enum Go {
    /// Until something stops it.
    Continue,
    /// To the next line, at the same depth of loops and branches or further out; from a line that begins a loop or a
    /// branch, into it.
    NextLine,
    /// To the next op, also inside of branches, loops and fused ops.
    NextOp,
    /// Out of the layer; from outside of all layers, out of the phase.
    OutOfLayer,
    /// To the next iteration of the innermost loop around.
    NextIteration,
    /// To the first op of this step of the outermost loop, counted from 0, forwards or backwards.
    ToStep(u64),
    /// To the line before.
    BackLine,
    /// To the op before.
    BackOp,
    /// Backwards until something stops it; else to as early as possible.
    BackContinue,
    /// To the beginning of the run, or as early as possible.
    Restart,
    /// Stop as soon as possible. For programs that run.
    Pause,
    /// Go on without any breakpoint, and forget the history: nobody debugs any more. A pause or step that is under
    /// way is called off, too, so that no program waits for somebody who is gone.
    Detach,
    /// End the run with an error that says so.
    Quit,
}

/// What is to stop a program, or to be logged.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakpoint {
    /// The caller's number for it.
    pub id: u32,
    /// Where, or on what.
    pub on: On,
    /// Only if this expression is not zero.
    pub condition: Option<String>,
    /// Only at these hits, counted from 1 since it was set, conditions being met: `3`, `>= 3`, `> 3`, `== 3`, `< 3`,
    /// `% 100`.
    pub hits: Option<String>,
    /// Do not stop, but show this text, in which `{expression}` is replaced by its value.
    pub log: Option<String>,
    /// Only at ops of this phase. Lines without it stop at ops of all but the backward pass; names, at all.
    pub phase: Option<Phase>,
}

impl Breakpoint {
    /// A breakpoint that is hit whenever it is met.
    pub fn new(id: u32, on: On) -> Breakpoint {
        Breakpoint { id, on, condition: None, hits: None, log: None, phase: None }
    }
}

/// What a breakpoint is on.
#[derive(Clone, Debug, PartialEq)]
pub enum On {
    /// A line of the user's source. Files are the same if their absolute paths are, or if one ends with the other.
    Line {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: u32,
    },
    /// A line of a listing.
    Listed {
        /// Which.
        listing: Listing,
        /// The line, counted from 1.
        line: u32,
    },
    /// Ops by the name of the op, of the layer or of its value: `matmul`, `fc1`, `fc1.*`, `backward:fc1`, `*softmax`.
    Name(String),
    /// A tensor or state by name that gets another value. For its condition, `value` is what it gets.
    Change(String),
    /// A fault.
    Fault(Fault),
}

/// What has become of a breakpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Its id.
    pub id: u32,
    /// Whether there is an op that can hit it.
    pub verified: bool,
    /// Where it really is.
    pub place: Option<Place>,
    /// Why it is not verified, or what else is to be said.
    pub message: Option<String>,
}

/// A group of variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Which one.
    pub kind: ScopeKind,
    /// How many variables it has, if that is known without looking.
    pub count: Option<usize>,
    /// Whether it should be shown only when asked for.
    pub expensive: bool,
}

/// The groups of variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScopeKind {
    /// What the op takes.
    Inputs,
    /// What the op has computed; empty before it has run.
    Output,
    /// The variables that the user's function has bound so far, also those whose values are gone: these are computed
    /// again when they are asked for.
    Variables,
    /// Parameters, by name.
    Parameters,
    /// The gradients of parameters as far as they are there.
    Gradients,
    /// What optimizers keep.
    Optimizer,
    /// Steps, epochs, the loss, the rate.
    Loop,
    /// All values that are alive in this and the blocks around.
    Live,
}

impl ScopeKind {
    /// All of them, in the order in which they are shown.
    pub const ALL: [ScopeKind; 8] = [
        ScopeKind::Inputs,
        ScopeKind::Output,
        ScopeKind::Variables,
        ScopeKind::Parameters,
        ScopeKind::Gradients,
        ScopeKind::Optimizer,
        ScopeKind::Loop,
        ScopeKind::Live,
    ];

    /// What a person reads.
    pub fn title(self) -> &'static str {
        match self {
            ScopeKind::Inputs => "Inputs",
            ScopeKind::Output => "Output",
            ScopeKind::Variables => "Variables",
            ScopeKind::Parameters => "Parameters",
            ScopeKind::Gradients => "Gradients",
            ScopeKind::Optimizer => "Optimizer",
            ScopeKind::Loop => "Loop",
            ScopeKind::Live => "All live tensors",
        }
    }
}

/// A named value.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The name, which is also an expression for it.
    pub name: String,
    /// The value.
    pub value: Value,
    /// Whether it can be set.
    pub editable: bool,
    /// A remark: the op that made it, the state it will be assigned to.
    pub note: Option<String>,
}

/// What an expression gave.
#[derive(Clone, Debug)]
pub enum Evaluated {
    /// A value.
    Value(Value),
    /// A text: the answer of a command, the result of an edit.
    Text(String),
}
