//! Gradients that `backward` leaves in parameters while a program is built. The gradient of a parameter is a cell,
//! as the parameter is: it is a state of the program, which loops carry and which leaves the program.

use std::collections::BTreeMap;
use std::sync::Arc;

use fluvial_tensor::{Error, Loc, Result};

use super::close::Traced;
use super::frame::Frame;
use super::states::{assign_cell, read_cell, root};
use super::{frame_of, with_frames};
use crate::cell::Cell;
use crate::program::{Role, StateDecl};
use crate::scope;
use crate::structural;
use crate::var::{Symbol, Var};

/// What a block knows of the gradients of parameters, by the name of the state.
pub(crate) type Marks = BTreeMap<Arc<str>, Mark>;

/// What a block knows of the gradient of a parameter.
#[derive(Clone)]
pub(crate) struct Mark {
    /// Whether there is one.
    present: bool,
    /// What it is, where it was not handed on by a block.
    value: Option<Var>,
    /// Whether the block asked what there was before it.
    asked: bool,
    /// Whether the block has set it.
    set: bool,
    loc: Loc,
}

/// The parameter that a leaf is a version of.
fn parameter_of(symbol: &Symbol) -> Option<(Arc<str>, Cell)> {
    let name = frame_of(symbol, |frame| frame.leaf_states.get(&symbol.id).cloned())??;
    let cell = with_frames(|frames| root(frames).ok()?.states.get(&name)?.cell.clone())?;
    Some((name, cell))
}

/// What is known at the block on top, which has asked now.
fn look(name: &Arc<str>, cell: &Cell) -> Mark {
    with_frames(|frames| {
        let found = frames.iter().rposition(|frame| frame.marks.contains_key(name));
        let mark = match found {
            Some(level) => frames[level].marks[name].clone(),
            None => {
                let present = cell.grad().is_some();
                if let Ok(root) = root(frames) {
                    root.asked.entry(name.clone()).or_insert(present);
                }
                Mark { present, value: None, asked: true, set: false, loc: scope::user_line() }
            }
        };
        let first = found.map_or(0, |level| level + 1);
        for frame in frames.iter_mut().skip(first).filter(|frame| frame.is_nested()) {
            let asked = Mark { asked: true, set: false, ..mark.clone() };
            frame.marks.insert(name.clone(), asked);
        }
        mark
    })
}

/// The gradient of a parameter at this point; of other leaves, nothing is said.
pub(super) fn get(symbol: &Symbol) -> Option<Option<Var>> {
    let (name, cell) = parameter_of(symbol)?;
    let mark = look(&name, &cell);
    if !mark.present {
        return Some(None);
    }
    Some(Some(
        mark.value.unwrap_or_else(|| read_cell(&cell.grad_cell()).unwrap_or_else(Var::failed)),
    ))
}

/// Replaces the gradient of a parameter from here on; says whether the leaf is one.
pub(super) fn set(symbol: &Symbol, grad: Option<Var>) -> bool {
    let Some((name, _)) = parameter_of(symbol) else { return false };
    with_frames(|frames| {
        if let Some(frame) = frames.last_mut() {
            let asked = frame.marks.get(&name).is_some_and(|mark| mark.asked);
            let loc = scope::user_line();
            let present = grad.is_some();
            frame.marks.insert(name, Mark { present, value: grad, asked, set: true, loc });
        }
    });
    true
}

/// Hands the gradients that the block on top has set on as states. Has to be called before it ends.
pub(crate) fn flush() -> Result<()> {
    let set = with_frames(|frames| {
        let marks = frames.last_mut().map(|frame| &mut frame.marks)?;
        let values = marks.iter_mut().filter(|(_, mark)| mark.present && mark.set);
        Some(values.filter_map(|(name, mark)| Some((name.clone(), mark.value.take()?))).collect())
    });
    let set: Vec<(Arc<str>, Var)> = set.unwrap_or_default();
    set.iter().try_for_each(|(name, value)| assign(name, value))
}

fn assign(name: &Arc<str>, value: &Var) -> Result<()> {
    let cell = with_frames(|frames| {
        let root = root(frames)?;
        let cell = root.states.get(name).and_then(|decl| decl.cell.clone());
        let cell = cell.ok_or_else(|| Error::internal("a gradient of no parameter"))?.grad_cell();
        if !root.names.contains_key(&cell.id()) {
            let decl = StateDecl::new(value.ty(), Role::Buffer).with_cell(&cell);
            root.enter(root.name_of(&cell), decl);
        }
        Ok(cell)
    })?;
    assign_cell(&cell, value)
}

/// Takes over what blocks that are alternatives of one another, or the body of a loop, have set. Has to be called
/// before the block on top reads what they carry.
pub(super) fn take_over(parts: &[Traced]) -> Result<()> {
    let mut names: Vec<Arc<str>> =
        parts.iter().flat_map(|part| part.frame.marks.keys().cloned()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let decl = with_frames(|frames| root(frames).ok()?.states.get(&name).cloned());
        let Some((cell, ty)) = decl.and_then(|decl| Some((decl.cell?, decl.ty))) else { continue };
        let marks: Vec<Option<&Mark>> =
            parts.iter().map(|part| part.frame.marks.get(&name)).collect();
        let is_asked = marks.iter().any(|mark| mark.is_none_or(|mark| mark.asked));
        let before = match is_asked {
            true => Some(look(&name, &cell)),
            false => with_frames(|frames| {
                frames.iter().rev().find_map(|frame| frame.marks.get(&name).cloned())
            }),
        };
        let was_present = before.as_ref().is_some_and(|mark| mark.present);
        let after = |mark: &Option<&Mark>| mark.map_or(was_present, |mark| mark.present);
        let present = marks.first().is_some_and(after);
        let loc = marks.iter().flatten().next().map_or(Loc::Unknown, |mark| mark.loc);
        if marks.iter().any(|mark| after(mark) != present) {
            return Err(Error::gradient(format!(
                "only one branch leaves a gradient in the parameter `{}`",
                cell.label()
            ))
            .remedy("call `backward` behind the branches, or `minimize(loss)` inside")
            .at(loc));
        }
        if parts.len() == 1 && is_asked && present != was_present {
            return Err(Error::gradient(format!(
                "the gradient of the parameter `{}` is there in one trip of a loop and not in another",
                cell.label()
            ))
            .remedy("call `zero_grad()` before `backward()` in each trip, or `minimize(loss)`")
            .at(loc));
        }
        let is_carried = |part: &Traced| part.frame.assigned.iter().any(|state| is(state, &cell));
        if parts.iter().any(is_carried) {
            match before {
                Some(Mark { present: true, value: Some(value), .. }) => assign(&name, &value)?,
                Some(Mark { present: true, .. }) => {}
                _ => assign(&name, &structural::fill(0.0, &ty)?)?,
            }
        }
        if marks.iter().flatten().any(|mark| mark.set) {
            with_frames(|frames| {
                if let Some(frame) = frames.last_mut() {
                    let asked = frame.marks.get(&name).is_some_and(|mark| mark.asked);
                    let mark = Mark { present, value: None, asked, set: true, loc };
                    frame.marks.insert(name, mark);
                }
            });
        }
    }
    Ok(())
}

/// Whether a state of the program is the gradient of a parameter.
fn is(state: &Arc<str>, parameter: &Cell) -> bool {
    let cell = with_frames(|frames| root(frames).ok()?.states.get(state)?.cell.clone());
    cell.is_some_and(|cell| cell.same(&parameter.grad_cell()))
}

/// The leaves that a value of the block on top may depend on, each once, also those of the blocks below.
pub(crate) fn leaves() -> Vec<Var> {
    with_frames(|frames| {
        let first = frames.iter().rposition(|frame| !frame.is_nested()).unwrap_or(0);
        let mut found: Vec<(u64, u32)> = Vec::new();
        let mut vars = Vec::new();
        for level in first..frames.len() {
            for &id in &frames[level].leaves {
                let (home, own) = origin(frames, first, level, id);
                let place = (frames[home].id, own);
                // The version of the innermost block stands for what it was captured from.
                match found.iter().position(|known| *known == place) {
                    Some(known) => vars[known] = frames[level].var(id),
                    None => {
                        found.push(place);
                        vars.push(frames[level].var(id));
                    }
                }
            }
        }
        vars
    })
}

/// Where a value comes from that blocks hand in.
pub(crate) fn origin(
    frames: &[Frame],
    first: usize,
    mut level: usize,
    mut id: u32,
) -> (usize, u32) {
    while level > first {
        let Some((outer, _)) = frames[level].captures.iter().find(|(_, param)| *param == id) else {
            break;
        };
        id = outer.symbol_id();
        level -= 1;
    }
    (level, id)
}

/// The gradients of parameters that a program asks for and leaves behind.
#[derive(Clone, Default)]
pub struct Gradients(Vec<Gradient>);

#[derive(Clone)]
struct Gradient {
    of: Cell,
    /// Whether there was one when the program was built, if it asked.
    before: Option<bool>,
    /// Whether there is one behind it, if it has changed that.
    after: Option<bool>,
}

impl Gradients {
    /// Those of the program being built.
    pub fn of_program() -> Gradients {
        let found = with_frames(|frames| {
            let marks = frames.last().map(|frame| frame.marks.clone()).unwrap_or_default();
            let root = root(frames).ok()?;
            let mut names: Vec<&Arc<str>> = root.asked.keys().chain(marks.keys()).collect();
            names.sort_unstable();
            names.dedup();
            let gradient = |name: &Arc<str>| {
                let of = root.states.get(name)?.cell.clone()?;
                let after = marks.get(name).map(|mark| mark.present);
                Some(Gradient { of, before: root.asked.get(name).copied(), after })
            };
            Some(names.into_iter().filter_map(gradient).collect())
        });
        Gradients(found.unwrap_or_default())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether parameters have gradients now where they had some when the program was built.
    pub fn hold(&self) -> bool {
        self.0.iter().all(|one| one.before.is_none_or(|before| one.of.grad().is_some() == before))
    }

    /// Forgets those that the program has zeroed. Has to be called after a run.
    pub fn settle(&self) {
        for one in self.0.iter().filter(|one| one.after == Some(false)) {
            one.of.set_grad(None);
        }
    }
}
