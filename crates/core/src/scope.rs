//! The scope of a thread: which mode it is in, whether it records, the user's line when a caller
//! has set it, and, while building, the phase and the layer. Guards change it and put it back.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use fluvial_tensor::{DType, Loc, Marks, Phase, Result};

use crate::bind::Outputs;
use crate::var::Var;

/// How ops run: now, or as part of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Each op runs at once.
    Imperative,
    /// Each op is appended to the program being built.
    Building,
}

#[derive(Clone, Copy)]
pub(crate) struct Flags {
    pub mode: Mode,
    pub recording: bool,
    pub watched: bool,
    pub autocast: Option<DType>,
}

thread_local! {
    static FLAGS: Cell<Flags> =
        const {
            Cell::new(Flags {
                mode: Mode::Imperative,
                recording: true,
                watched: false,
                autocast: None,
            })
        };
    static AT: Cell<Loc> = const { Cell::new(Loc::Unknown) };
    static MARKS: Cell<Option<Marks>> = const { Cell::new(None) };
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static WATCHER: RefCell<Option<Watcher>> = const { RefCell::new(None) };
}

#[inline]
pub(crate) fn flags() -> Flags {
    FLAGS.get()
}

/// The mode this thread is in.
pub fn mode() -> Mode {
    FLAGS.get().mode
}

/// Whether ops of this thread are recorded for gradients in imperative mode.
pub fn is_recording() -> bool {
    FLAGS.get().recording
}

/// Whether somebody is told of every op that this thread runs at once.
pub fn is_watched() -> bool {
    FLAGS.get().watched
}

/// The line set by [`at`], or else `loc`.
#[inline]
pub(crate) fn line_or(loc: Loc) -> Loc {
    match AT.get() {
        Loc::Unknown => loc,
        set => set,
    }
}

/// The place of a call that is appended: `loc`, with the phase and the layer of the scope where it
/// says nothing of its own.
pub(crate) fn marked(loc: Loc) -> Loc {
    match MARKS.get() {
        Some(marks) => loc.with_marks(loc.marks().within(marks)),
        None => loc,
    }
}

/// The user's line: the one set by [`at`], or else the caller's.
#[inline]
#[track_caller]
pub fn user_line() -> Loc {
    line_or(Loc::caller())
}

/// Puts what it changed in the scope of the thread back when dropped.
#[must_use = "the scope is put back when the guard is dropped"]
#[derive(Default)]
pub struct Guard {
    mode: Option<Mode>,
    recording: Option<bool>,
    autocast: Option<Option<DType>>,
    at: Option<Loc>,
    marks: Option<Option<Marks>>,
    // A guard belongs to its thread.
    _not_send: PhantomData<*const ()>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let now = FLAGS.get();
        FLAGS.set(Flags {
            mode: self.mode.unwrap_or(now.mode),
            recording: self.recording.unwrap_or(now.recording),
            watched: now.watched,
            autocast: self.autocast.unwrap_or(now.autocast),
        });
        if let Some(at) = self.at {
            AT.set(at);
        }
        if let Some(marks) = self.marks {
            MARKS.set(marks);
        }
    }
}

/// Ops run at once, also inside a program being built, until the guard is dropped.
pub fn imperative() -> Guard {
    with_mode(Mode::Imperative)
}

pub(crate) fn with_mode(mode: Mode) -> Guard {
    let before = FLAGS.replace(Flags { mode, ..FLAGS.get() });
    Guard { mode: Some(before.mode), ..Guard::default() }
}

/// Functions cast to this type, or not at all, until the guard is dropped; see [`autocast`](crate::autocast).
pub(crate) fn with_autocast(autocast: Option<DType>) -> Guard {
    let before = FLAGS.replace(Flags { autocast, ..FLAGS.get() });
    Guard { autocast: Some(before.autocast), ..Guard::default() }
}

/// Nothing is recorded for gradients until the guard is dropped.
pub fn no_grad() -> Guard {
    record(false)
}

/// Ops are recorded, also inside [`no_grad`], until the guard is dropped.
pub fn enable_grad() -> Guard {
    record(true)
}

pub(crate) fn record(recording: bool) -> Guard {
    let before = FLAGS.replace(Flags { recording, ..FLAGS.get() });
    Guard { recording: Some(before.recording), ..Guard::default() }
}

/// Ops get this line as the user's until the guard is dropped: layers pass their caller's line on,
/// gradient rules the line of the op they differentiate. An unknown line changes nothing.
pub fn at(loc: Loc) -> Guard {
    match loc.is_known() {
        true => Guard { at: Some(AT.replace(loc)), ..Guard::default() },
        false => Guard::default(),
    }
}

/// Ops that are appended to a program belong to the layer of this dotted name until the guard is
/// dropped. In imperative mode it changes nothing, and so does an empty name.
///
/// ```
/// use fluvial_core::{DType, Program, Type, scope};
///
/// let ty = Type::of(DType::F32, &[2])?;
/// let program = Program::build(&[("x", ty)], |x| {
///     let _layer = scope::in_layer("mlp.0");
///     Ok(vec![&x[0] * &x[0]])
/// })?;
/// assert_eq!(program.main.calls[0].loc.layer().as_deref(), Some("mlp.0"));
/// # Ok::<(), fluvial_core::Error>(())
/// ```
pub fn in_layer(name: &str) -> Guard {
    match mode() {
        Mode::Building if !name.is_empty() => with_marks(|marks| marks.with_layer(name)),
        _ => Guard::default(),
    }
}

/// [`in_layer`] and [`at`] in one: the layer of this name is called on the line `loc`.
pub fn calling(name: &str, loc: Loc) -> Guard {
    let mut guard = in_layer(name);
    if loc.is_known() {
        guard.at = Some(AT.replace(loc));
    }
    guard
}

/// Ops that are appended to a program belong to this phase until the guard is dropped. In
/// imperative mode it changes nothing.
pub fn in_phase(phase: Phase) -> Guard {
    match mode() {
        Mode::Building => with_marks(|marks| marks.with_phase(phase)),
        Mode::Imperative => Guard::default(),
    }
}

/// [`in_phase`] of an optimizer and [`no_grad`] in one.
pub fn updating() -> Guard {
    let mut guard = no_grad();
    let mut phase = in_phase(Phase::Optimizer);
    guard.marks = phase.marks.take();
    guard
}

/// Ops get this place until the guard is dropped; while building with its phase and its layer, and
/// no others.
pub(crate) fn exactly_at(loc: Loc) -> Guard {
    let mut guard = at(loc);
    if loc.is_known() && mode() == Mode::Building {
        guard.marks = Some(MARKS.replace(Some(loc.marks())));
    }
    guard
}

/// Nothing is known of phase and layer until the guard is dropped: a program begins.
pub(crate) fn unmarked(mut guard: Guard) -> Guard {
    guard.marks = Some(MARKS.replace(None));
    guard
}

/// Ops are recorded until the guard is dropped: a block begins that others may differentiate.
pub(crate) fn recorded(mut guard: Guard) -> Guard {
    let before = FLAGS.replace(Flags { recording: true, ..FLAGS.get() });
    guard.recording = Some(before.recording);
    guard
}

fn with_marks(change: impl FnOnce(Marks) -> Marks) -> Guard {
    let before = MARKS.get();
    MARKS.set(Some(change(before.unwrap_or_default())));
    Guard { marks: Some(before), ..Guard::default() }
}

/// A build of a function that may be built again, for other sizes say: the number of the function, and of
/// the build.
pub type Build = (u64, u64);

thread_local! {
    static BUILD: Cell<Option<Build>> = const { Cell::new(None) };
}

/// The build of a function that is under way in this thread. What is made inside of it and remembers
/// something would be made anew by the next build.
pub fn build() -> Option<Build> {
    BUILD.get()
}

/// Says which build is under way from here on, and returns what was said before.
pub fn set_build(build: Option<Build>) -> Option<Build> {
    BUILD.replace(build)
}

/// An op that has run at once.
#[derive(Clone, Copy)]
pub struct Ran<'a> {
    /// Its name.
    pub name: &'static str,
    /// The user's line.
    pub loc: Loc,
    /// What it took.
    pub inputs: &'a [&'a Var],
    /// What it gave.
    pub outputs: &'a [Var],
    /// How long it took, with the ops that it ran itself.
    pub time: Duration,
    /// How many ops it ran inside of.
    pub depth: usize,
}

/// What is told of every op that runs at once.
pub type Watcher = Box<dyn FnMut(&Ran<'_>)>;

/// Tells `watcher` of every op that this thread runs at once, until the guard is dropped.
pub fn watch(watcher: Watcher) -> WatchGuard {
    let before = WATCHER.replace(Some(watcher));
    FLAGS.set(Flags { watched: true, ..FLAGS.get() });
    WatchGuard(before, PhantomData)
}

/// Puts the former watcher back when dropped.
#[must_use = "the former watcher is put back when the guard is dropped"]
pub struct WatchGuard(Option<Watcher>, PhantomData<*const ()>);

impl Drop for WatchGuard {
    fn drop(&mut self) {
        let before = self.0.take();
        FLAGS.set(Flags { watched: before.is_some(), ..FLAGS.get() });
        WATCHER.set(before);
    }
}

/// Runs an op and tells the watcher, who is not told of the ops that he runs himself.
#[cold]
pub(crate) fn telling(
    name: &'static str,
    loc: Loc,
    inputs: &[&Var],
    run: impl FnOnce() -> Result<Outputs>,
) -> Result<Outputs> {
    let depth = DEPTH.get();
    DEPTH.set(depth + 1);
    let begin = Instant::now();
    let outputs = run();
    let time = begin.elapsed();
    DEPTH.set(depth);
    let outputs = outputs?;
    let watcher = WATCHER.take();
    if let Some(mut watcher) = watcher {
        watcher(&Ran { name, loc, inputs, outputs: &outputs, time, depth });
        WATCHER.set(Some(watcher));
    }
    Ok(outputs)
}
