//! State while building. In the main block a state is read and assigned by ops; in a nested block
//! it is a value that comes in as a parameter and, if assigned, leaves as a result. So no block
//! inside the program has an effect on state, and a loop can be replayed without repeating one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fluvial_tensor::{Error, Loc, Result, Type};
use smallvec::smallvec;

use super::frame::{Frame, FrameKind, Noted, Root};
use super::{Depth, localise, nothing_is_built, push, with_frames};
use crate::block::{Block, Call, ValueId};
use crate::cell::{Cell, check_type};
use crate::op::OpRef;
use crate::program::{Role, StateDecl};
use crate::scope;
use crate::state;
use crate::structural::{Assign, Read, StopGradient};
use crate::var::Var;

/// The value of state `name` at this point of the block being built.
#[track_caller]
pub(crate) fn read_symbolic(name: &str) -> Result<Var> {
    let loc = scope::user_line();
    with_frames(|frames| {
        let (name, decl) = declaration(frames, name, loc)?;
        read_as(frames, &name, &decl, loc)
    })
}

fn read_as(frames: &mut [Frame], name: &str, decl: &StateDecl, loc: Loc) -> Result<Var> {
    check_held(frames, name, loc)?;
    let level = frames.len().checked_sub(1).ok_or_else(nothing_is_built)?;
    let id = value_at(frames, level, name, decl, loc)?;
    Ok(frames[level].var(id).into_recorded())
}

/// A state that others may neither read nor assign.
pub(crate) struct Hold {
    name: Arc<str>,
    /// The line that holds it.
    loc: Loc,
    /// Whether tasks share it; else one of them assigns it.
    is_shared: bool,
}

/// Keeps states, which a task assigns that was started on the line `loc`, from being read and assigned by others until
/// it was waited for.
pub fn hold_states(names: &[Arc<str>], loc: Loc) -> Result<()> {
    with_frames(|frames| {
        names.iter().try_for_each(|name| check_held(frames, name, loc))?;
        let top = frames.last_mut().ok_or_else(nothing_is_built)?;
        let hold = |name: &Arc<str>| Hold { name: name.clone(), loc, is_shared: false };
        top.held.extend(names.iter().map(hold));
        Ok(())
    })
}

/// The task was waited for.
pub fn release_states<'a>(names: impl Iterator<Item = &'a Arc<str>>) {
    with_frames(|frames| {
        for name in names {
            frames.iter_mut().for_each(|frame| frame.held.retain(|held| held.name != *name));
        }
    });
}

/// Keeps a cell that tasks share from being read and assigned by others, until [`release_cell`].
#[track_caller]
pub fn hold_cell(cell: &Cell) -> Result<()> {
    let loc = scope::user_line();
    with_frames(|frames| {
        let (name, _) = entered(frames, cell, loc)?;
        check_held(frames, &name, loc)?;
        let top = frames.last_mut().ok_or_else(nothing_is_built)?;
        top.held.push(Hold { name, loc, is_shared: true });
        Ok(())
    })
}

/// Ends what [`hold_cell`] began.
pub fn release_cell(cell: &Cell) {
    with_frames(|frames| {
        let Ok(name) = root(frames).map(|root| root.name_of(cell)) else { return };
        frames.iter_mut().for_each(|frame| frame.held.retain(|held| held.name != name));
    });
}

/// An error if a task assigns the state, and was not waited for.
fn check_held(frames: &[Frame], name: &str, loc: Loc) -> Result<()> {
    let held = frames.iter().flat_map(|frame| &frame.held).find(|held| &*held.name == name);
    held.map_or(Ok(()), |held| {
        let (name, since) = (&held.name, held.loc);
        Err(match held.is_shared {
            true => Error::state(format!("the state `{name}` is shared by tasks"))
                .note(format!("it is shared since {since}"))
                .remedy(
                    "use `get` and `update` of what `fl.shared` gives, or what follows its block",
                ),
            false => {
                Error::state(format!("the state `{name}` is assigned by a task that may still run"))
                    .note(format!("the task was started at {since}"))
                    .remedy("call `wait()` on the task first, or share the state with `fl.shared`")
            }
        }
        .at(loc))
    })
}

/// An error if a block ends before a task that it has started, and that assigns a state, was waited for.
pub(super) fn check_waited(frame: &Frame) -> Result<()> {
    frame.held.first().map_or(Ok(()), |held| {
        let name = &held.name;
        Err(match held.is_shared {
            true => {
                Error::state(format!("the state `{name}` is still shared where its block ends"))
                    .remedy("write `with fl.shared(...) as s:` around what shares it")
            }
            false => {
                Error::state(format!("a task assigns the state `{name}`, and nobody waits for it"))
                    .remedy("call `wait()` on the task, in the block that starts it")
            }
        }
        .at(held.loc))
    })
}

/// The value of a cell at this point of the block being built.
#[track_caller]
pub(crate) fn read_cell(cell: &Cell) -> Result<Var> {
    let loc = scope::user_line();
    with_frames(|frames| {
        let (name, decl) = entered(frames, cell, loc)?;
        read_as(frames, &name, &decl, loc)
    })
}

/// Assigns a cell from here on.
#[track_caller]
pub(crate) fn assign_cell(cell: &Cell, value: &Var) -> Result<()> {
    let loc = scope::user_line();
    let (name, decl) = with_frames(|frames| entered(frames, cell, loc))?;
    assign_as(&name, &decl, value, loc)
}

/// Makes a cell a state of the program; `init` computes its initial value in the startup block.
#[track_caller]
pub(crate) fn declare_cell(
    cell: &Cell,
    decl: StateDecl,
    init: impl FnOnce() -> Result<Var>,
) -> Result<()> {
    let name = with_frames(|frames| Ok(root(frames)?.name_of(cell)))?;
    declare_symbolic(&name, decl.with_cell(cell), init)
}

/// The name and the declaration of a cell in the program being built. One that is new to it is known
/// by its value; the program starts without an initialiser.
fn entered(frames: &mut [Frame], cell: &Cell, loc: Loc) -> Result<(Arc<str>, StateDecl)> {
    let by_value = || {
        let decl = cell.declaration().ok_or_else(|| state::unknown(&cell.label()).at(loc));
        decl.map(|decl| decl.with_cell(cell))
    };
    let outline = frames.iter().any(|frame| matches!(frame.kind, FrameKind::Outline));
    let root = match root(frames) {
        Ok(root) => root,
        // Nothing is kept of an outline: any name that no other cell has will do.
        Err(_) if outline => return Ok((format!("cell {:x}", cell.id()).into(), by_value()?)),
        Err(error) => return Err(error),
    };
    let name = root.name_of(cell);
    if let Some(decl) = root.states.get(&name) {
        return Ok((name, decl.clone()));
    }
    let decl = by_value()?;
    root.enter(name.clone(), decl.clone());
    Ok((name, decl))
}

/// The names under which states of another program have to become part of the one being built, where
/// they differ: a cell that it has already keeps its name, and a name that it has for another state is
/// not taken twice.
pub(crate) fn names_of(
    states: &BTreeMap<Arc<str>, StateDecl>,
) -> Result<BTreeMap<Arc<str>, Arc<str>>> {
    with_frames(|frames| {
        let root = root(frames)?;
        let mut names: BTreeMap<Arc<str>, Arc<str>> = BTreeMap::new();
        for (name, decl) in states {
            let Some(cell) = &decl.cell else { continue };
            let taken = |candidate: &str| {
                root.states.contains_key(candidate)
                    || candidate != &**name && states.contains_key(candidate)
                    || names.values().any(|other| &**other == candidate)
            };
            let known = root.names.get(&cell.id()).cloned();
            let wanted = known.unwrap_or_else(|| state::free_name(name, taken));
            if wanted != *name {
                names.insert(name.clone(), wanted);
            }
        }
        Ok(names)
    })
}

/// Assigns state `name` from here on.
#[track_caller]
pub(crate) fn assign_symbolic(name: &str, value: &Var) -> Result<()> {
    let loc = scope::user_line();
    let (name, decl) = with_frames(|frames| declaration(frames, name, loc))?;
    assign_as(&name, &decl, value, loc)
}

fn assign_as(name: &str, decl: &StateDecl, value: &Var, loc: Loc) -> Result<()> {
    let id = localise(value, loc)?;
    with_frames(|frames| {
        let level = frames.len().checked_sub(1).ok_or_else(nothing_is_built)?;
        check_held(frames, name, loc)?;
        let ty = frames[level].types[id as usize];
        check_type(name, &decl.ty, &ty).map_err(|error| error.at(loc))?;
        let frame = &mut frames[level];
        if !frame.is_nested() && !matches!(frame.kind, FrameKind::Outline) {
            let op = OpRef::new(Assign { state: name.into() });
            frame.call(op, smallvec![id], &[], loc);
        }
        frame.assigned.insert(name.into());
        // What is assigned is a new leaf: no gradient passes. In the main block the value is cut
        // off when it is read again; a nested block hands it on, so it is cut off here.
        if frame.is_nested() {
            let id = cut_off(frame, id, name, decl, loc);
            frame.states.insert(name.into(), id);
            let (at, loc) = (frame.calls.len(), scope::marked(loc));
            frame.notes.push(Noted { at, state: name.into(), value: id, loc });
        } else {
            frame.states.remove(name);
            // A state that has a value keeps it when the program starts: later initialisers must read
            // the state, not the value that was computed here.
            if !matches!(frame.kind, FrameKind::Startup) {
                frame.pending_states.insert(name.into(), id);
            }
        }
        Ok(())
    })
}

/// The value of a state that was just assigned, as a leaf.
fn cut_off(frame: &mut Frame, id: ValueId, name: &str, decl: &StateDecl, loc: Loc) -> ValueId {
    if !decl.ty.is_inexact() {
        return id;
    }
    let op = OpRef::new(StopGradient {});
    let cut = frame.call(op, smallvec![id], &[decl.ty], loc)[0].symbol_id();
    if decl.role == Role::Parameter {
        frame.leaves.push(cut);
        frame.leaf_states.insert(cut, name.into());
    }
    cut
}

/// Declares a state of the program; `init` computes its initial value in the startup block.
#[track_caller]
pub(crate) fn declare_symbolic(
    name: &str,
    decl: StateDecl,
    init: impl FnOnce() -> Result<Var>,
) -> Result<()> {
    let loc = scope::user_line();
    let known = with_frames(|frames| Ok(root(frames)?.states.get(name).cloned()))?;
    if let Some(known) = known {
        one_state(name, &known, &decl).map_err(|error| error.at(loc))?;
        return check_type(name, &known.ty, &decl.ty).map_err(|error| error.at(loc));
    }
    with_frames(|frames| {
        root(frames)?.enter(name.into(), decl);
        Ok(())
    })?;
    in_startup(|| assign_symbolic(name, &init()?))
}

/// Declares the states of a program that is inlined into the one being built. Those that are new
/// to it bring their initialisers along.
pub(crate) fn adopt_states(states: &BTreeMap<Arc<str>, StateDecl>, startup: &Block) -> Result<()> {
    let mut adopted = BTreeSet::new();
    with_frames(|frames| {
        let root = root(frames)?;
        for (name, decl) in states {
            match root.states.get(name) {
                Some(known) => {
                    one_state(name, known, decl)?;
                    check_type(name, &known.ty, &decl.ty)?;
                }
                None => {
                    root.enter(name.clone(), decl.clone());
                    adopted.insert(name.clone());
                }
            }
        }
        Ok(())
    })?;
    if startup.calls.is_empty() || adopted.is_empty() {
        return Ok(());
    }
    let is_adopted = |call: &Call| {
        call.op.downcast::<Assign>().is_some_and(|assign| adopted.contains(&assign.state))
    };
    let needed = startup.keep(&[], &is_adopted);
    in_startup(|| needed.apply(&[]).map(drop))
}

/// Refuses a state that is known by its name alone beside a cell that only happens to be called so.
fn one_state(name: &str, known: &StateDecl, decl: &StateDecl) -> Result<()> {
    let is_named = |cell: &Cell| state::current().own(name).is_some_and(|own| own.same(cell));
    let is_one = match (&known.cell, &decl.cell) {
        (Some(a), Some(b)) => a.same(b),
        (Some(cell), None) | (None, Some(cell)) => is_named(cell),
        (None, None) => true,
    };
    match is_one {
        true => Ok(()),
        false => Err(Error::state(format!(
            "two states of the program are called `{name}`: one of a layer or an optimizer, and one \
             that is declared by this name"
        ))
        .remedy("give one of them another name")),
    }
}

/// Runs `f` with ops appended to the startup block of the program being built.
fn in_startup(f: impl FnOnce() -> Result<()>) -> Result<()> {
    let _building = scope::with_mode(scope::Mode::Building);
    let open = with_frames(|frames| {
        let position = frames.iter().rposition(|frame| matches!(frame.kind, FrameKind::Startup))?;
        Some(frames.split_off(position + 1))
    });
    if let Some(above) = open {
        // An initialiser declares a state itself, perhaps inside a block of its own.
        let done = f();
        with_frames(|frames| frames.extend(above));
        return done;
    }
    let _depth = Depth::here();
    match with_frames(|frames| Ok(root(frames)?.startup.take()))? {
        Some(frame) => with_frames(|frames| frames.push(frame)),
        None => drop(push(FrameKind::Startup, &[])),
    }
    let done = f();
    with_frames(|frames| {
        let startup = frames.pop().map(Frame::leave);
        if let Ok(root) = root(frames) {
            root.startup = startup;
        }
    });
    done
}

/// The states of the program being built, so far.
pub fn building_states() -> Result<BTreeMap<Arc<str>, StateDecl>> {
    with_frames(|frames| Ok(root(frames)?.states.clone()))
}

/// What belongs to the program being built as a whole.
pub(crate) fn root(frames: &mut [Frame]) -> Result<&mut Root> {
    let found = frames.iter_mut().rev().find_map(|frame| match &mut frame.kind {
        FrameKind::Program(root) => Some(&mut **root),
        _ => None,
    });
    found.ok_or_else(nothing_is_built)
}

/// The name and the declaration of the state that code calls by a name.
fn declaration(frames: &mut [Frame], name: &str, loc: Loc) -> Result<(Arc<str>, StateDecl)> {
    let outline = frames.iter().any(|frame| matches!(frame.kind, FrameKind::Outline));
    match root(frames) {
        Ok(root) => {
            if let Some(decl) = root.states.get(name) {
                return Ok((name.into(), decl.clone()));
            }
        }
        Err(_) if outline => {}
        Err(error) => return Err(error),
    }
    let scope = state::current();
    if let Some(cell) = scope.listed(name) {
        return entered(frames, &cell, loc);
    }
    // A state made imperatively is known by its value; the program starts without an initialiser.
    let decl = scope.declaration(name).ok_or_else(|| state::unknown(name).at(loc))?;
    if let Ok(root) = root(frames) {
        root.enter(name.into(), decl.clone());
    }
    Ok((name.into(), decl))
}

fn value_at(
    frames: &mut [Frame],
    level: usize,
    name: &str,
    decl: &StateDecl,
    loc: Loc,
) -> Result<ValueId> {
    if let Some(&id) = frames[level].states.get(name) {
        return Ok(id);
    }
    if let Some(id) = frames[level].pending_states.remove(name) {
        let id = cut_off(&mut frames[level], id, name, decl, loc);
        frames[level].states.insert(name.into(), id);
        return Ok(id);
    }
    let id = if frames[level].is_nested() && level > 0 {
        let outer = value_at(frames, level - 1, name, decl, loc)?;
        // A parameter of its own: if the block assigns the state, it is carried, while the same
        // value captured by its handle stays what it was before the block.
        let outer = frames[level - 1].var(outer);
        let id = frames[level].param(outer.ty()).symbol_id();
        frames[level].captures.push((outer, id));
        frames[level].entries.insert(name.into(), id);
        id
    } else if matches!(frames[level].kind, FrameKind::Outline) {
        frames[level].param(decl.ty).symbol_id()
    } else {
        read_call(&mut frames[level], name, decl.ty, loc)
    };
    let frame = &mut frames[level];
    frame.states.insert(Arc::from(name), id);
    if decl.role == Role::Parameter && decl.ty.is_inexact() {
        frame.leaves.push(id);
        frame.leaf_states.insert(id, name.into());
    }
    Ok(id)
}

fn read_call(frame: &mut Frame, name: &str, ty: Type, loc: Loc) -> ValueId {
    let op = OpRef::new(Read { state: name.into(), ty });
    frame.call(op, smallvec![], &[ty], loc)[0].symbol_id()
}
