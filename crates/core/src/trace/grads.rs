//! Gradients that `backward` leaves in parameters while a program is built. The gradient of a parameter is a cell,
//! as the parameter is: it is a state of the program, which loops carry and which leaves the program.

use std::collections::BTreeMap;
use std::sync::Arc;

use fluvial_tensor::{Error, Loc, Result, Tensor};

use super::frame::Frame;
use super::states::{assign_cell, read_cell, root};
use super::{frame_of, with_frames};
use crate::block::ValueId;
use crate::cell::Cell;
use crate::grad::Grad;
use crate::program::{Role, StateDecl};
use crate::scope;
use crate::structural;
use crate::var::{Symbol, Var};

/// What a block knows of the gradients of parameters, by the name of the state.
pub(crate) type Marks = BTreeMap<Arc<str>, Mark>;

/// Whether there is a gradient. Where only the run knows, a state is the gradient, and minus zero where there is none,
/// which changes nothing that is added to it; and a second state says whether there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum There {
    No,
    Yes,
    OfRun,
}

/// What a block knows of the gradient of a parameter.
#[derive(Clone)]
pub(crate) struct Mark {
    pub(super) there: There,
    /// What it is, where it was not handed on by a block.
    pub(super) value: Option<Var>,
    /// Whether the block asked if there was one before it.
    pub(super) asked: bool,
    /// Whether the block has set it.
    pub(super) set: bool,
    /// Whether a state is minus zero here, for blocks that add to it; and whether a state says that there is none, or one.
    pub(super) held: [bool; 2],
    /// Whether notes say it, for runs that fail further on.
    pub(super) told: bool,
    pub(super) loc: Loc,
}

impl Mark {
    fn new(there: There) -> Mark {
        let (held, loc) = ([false; 2], scope::user_line());
        Mark { there, value: None, asked: false, set: false, held, told: true, loc }
    }
}

/// The parameter that a leaf is a version of.
fn parameter_of(symbol: &Symbol) -> Option<(Arc<str>, Cell)> {
    let name = frame_of(symbol, |frame| frame.leaf_states.get(&symbol.id).cloned())??;
    let (cell, _) = with_frames(|frames| root(frames).ok()?.cell_of(&name))?;
    Some((name, cell))
}

/// Has an input of the program being built count as a leaf, as the tensor is that it stands for: the gradient that
/// `backward` leaves in it is that of the cell, which is given. The caller brings it there before a run and takes it away
/// behind it. The hooks of the tensor, `of`, are called with gradients inside of the program, too.
pub fn leaf_input(input: &Var, of: &Var) -> Result<Cell> {
    let Some(symbol) = super::symbol_of(input) else { return Err(super::nothing_is_built()) };
    with_frames(|frames| {
        let frame = frames.iter_mut().find(|frame| frame.id == symbol.frame);
        let frame = frame.ok_or_else(super::nothing_is_built)?;
        let label = frame.names.get(&symbol.id).cloned().unwrap_or_else(|| "input".into());
        let name: Arc<str> = format!("@{label}").into();
        let cell = Cell::new(label);
        frame.leaves.push(symbol.id);
        frame.leaf_states.insert(symbol.id, name.clone());
        let root = root(frames)?;
        if let Some(leaf) = of.0.edge.as_ref().and_then(|edge| edge.node.leaf_slot()) {
            root.outer_leaves.insert(name.clone(), leaf.clone());
        }
        root.leaf_cells.insert(name, (cell.clone(), symbol.ty));
        Ok(cell)
    })
}

/// Says that an input of the program being built was computed of leaves outside, as the value was that it stands for.
pub fn tracked_input(input: &Var, of: &Var) {
    let Some(symbol) = super::symbol_of(input) else { return };
    let is_freed = crate::reverse::leads_to_freed(of);
    with_frames(|frames| {
        if let Ok(root) = root(frames) {
            root.tracked.push(symbol.id);
            root.freed.extend(is_freed.then_some(symbol.id));
        }
    });
}

/// Says that who builds the program tells of each input whether it is tracked outside.
pub fn inputs_are_said() {
    with_frames(|frames| {
        if let Ok(root) = root(frames) {
            root.knows_inputs = true;
        }
    });
}

/// Whether the program being built is that of lines which could run by themselves.
pub fn follows_lines() -> bool {
    with_frames(|frames| root(frames).is_ok_and(|root| root.knows_inputs))
}

/// Whether a gradient reaches a value: it depends on a leaf, on an input that is tracked outside, or on one of which nobody
/// has said whether it is. Nothing, if only the run knows, by the branches and trips that it takes.
pub(super) fn is_reached(symbol: &Symbol) -> Option<bool> {
    let tracked = with_frames(|frames| {
        let root = root(frames).ok().filter(|root| root.knows_inputs)?;
        // Calls with other inputs tracked need another program.
        root.goes_back = true;
        Some(root.tracked.clone())
    });
    let Some(tracked) = tracked else { return Some(true) };
    let [may, sure] = [false, true].map(|in_any_run| {
        with_frames(|frames| depends_on_leaves(frames, symbol, &tracked, in_any_run))
    });
    (may == sure).then_some(may)
}

/// Whether a value depends on a leaf or an input that is tracked, in any run or in some. What a block is given counts as tracked.
fn depends_on_leaves(
    frames: &[Frame],
    symbol: &Symbol,
    tracked: &[ValueId],
    in_any_run: bool,
) -> bool {
    let first = frames.iter().rposition(|frame| !frame.is_nested()).unwrap_or(0);
    let mut below: Vec<bool> = Vec::new();
    for (level, frame) in frames.iter().enumerate().skip(first) {
        let mut depends = vec![false; frame.types.len()];
        if level == first {
            tracked.iter().for_each(|&id| depends[id as usize] = true);
        } else {
            frame.params.iter().for_each(|&id| depends[id as usize] = true);
            for (outer, param) in &frame.captures {
                depends[*param as usize] = below.get(outer.symbol_id() as usize) == Some(&true);
            }
        }
        frame.leaves.iter().for_each(|&id| depends[id as usize] = true);
        for call in &frame.calls {
            let inputs: Vec<bool> = call.inputs.iter().map(|&id| depends[id as usize]).collect();
            let is_sure = in_any_run.then(|| call.op.surely(&inputs));
            let passes = !matches!(call.op.grad(), Grad::Stop) && inputs.contains(&true);
            for (i, &id) in call.outputs.iter().enumerate() {
                let is_reached = is_sure.as_ref().map_or(passes, |is_sure| is_sure(i));
                depends[id as usize] |= is_reached && frame.types[id as usize].is_inexact();
            }
        }
        if frame.id == symbol.frame {
            return depends[symbol.id as usize];
        }
        below = depends;
    }
    true
}

/// The inputs that were computed of leaves outside, and whether a backward pass has freed what is behind them. From here on it
/// is known that gradients are left in leaves.
pub(crate) fn going_back() -> Vec<(Var, bool)> {
    with_frames(|frames| {
        let Ok(root) = root(frames) else { return Vec::new() };
        root.goes_back = true;
        let (tracked, freed) = (root.tracked.clone(), root.freed.clone());
        let Some(main) = frames.iter().rev().find(|frame| !frame.is_nested()) else {
            return Vec::new();
        };
        tracked.iter().map(|id| (main.var(*id), freed.contains(id))).collect()
    })
}

/// What is known where nothing was set: whether the cell has a gradient now, which is a guard of the program.
fn at_the_start(frames: &mut [Frame], name: &Arc<str>, cell: &Cell) -> There {
    let present = cell.grad().is_some();
    if let Ok(root) = root(frames) {
        root.asked.entry(name.clone()).or_insert(present);
    }
    if present { There::Yes } else { There::No }
}

/// What is known at the block on top, which has asked now.
pub(super) fn look(name: &Arc<str>, cell: &Cell) -> Mark {
    with_frames(|frames| {
        let found = frames.iter().rposition(|frame| frame.marks.contains_key(name));
        let mark = match found {
            Some(level) => frames[level].marks[name].clone(),
            None => Mark { asked: true, ..Mark::new(at_the_start(frames, name, cell)) },
        };
        let first = found.map_or(0, |level| level + 1);
        for frame in frames.iter_mut().skip(first).filter(|frame| frame.is_nested()) {
            let asked = Mark { asked: true, set: false, held: [false; 2], ..mark.clone() };
            frame.marks.insert(name.clone(), asked);
        }
        mark
    })
}

/// The gradient of a parameter at this point; of other leaves, nothing is said.
pub(super) fn get(symbol: &Symbol) -> Option<Option<Var>> {
    let (name, cell) = parameter_of(symbol)?;
    let mark = look(&name, &cell);
    Some(match mark.there {
        There::No => None,
        There::Yes => Some(value_of(&mark, &cell).unwrap_or_else(Var::failed)),
        There::OfRun => Some(Var::failed(of_run(&cell))),
    })
}

#[cold]
fn of_run(cell: &Cell) -> Error {
    Error::gradient(format!(
        "only the run knows whether `{}` has a gradient here: one branch or trip leaves it, and another not",
        cell.label()
    ))
    .remedy("call `zero_grad()` and `backward()` on both paths, or take `fl.grad` of the loss")
    .at(scope::user_line())
}

/// The gradient of a leaf of which only the run knows whether it has one, minus zero where it has none; and whether it has.
pub fn grad_of_run(leaf: &Var) -> Result<Option<(Var, Var)>> {
    let Some((name, cell)) = super::symbol_of(leaf).and_then(|symbol| parameter_of(&symbol)) else {
        return Ok(None);
    };
    let flag = with_frames(|frames| root(frames).ok()?.flags.get(&name).cloned());
    match (look(&name, &cell).there, flag) {
        (There::OfRun, Some(flag)) => Ok(Some((read_cell(&cell.grad_cell())?, read_cell(&flag)?))),
        _ => Ok(None),
    }
}

fn value_of(mark: &Mark, cell: &Cell) -> Result<Var> {
    mark.value.clone().map_or_else(|| read_cell(&cell.grad_cell()), Ok)
}

/// Replaces the gradient of a parameter from here on; says whether the leaf is one.
pub(super) fn set(symbol: &Symbol, grad: Option<Var>) -> bool {
    let Some((name, _)) = parameter_of(symbol) else { return false };
    let there = if grad.is_some() { There::Yes } else { There::No };
    put(&name, there, grad);
    true
}

pub(super) fn put(name: &Arc<str>, there: There, value: Option<Var>) {
    with_frames(|frames| {
        if let Some(frame) = frames.last_mut() {
            let asked = frame.marks.get(name).is_some_and(|mark| mark.asked);
            let mark = Mark { value, asked, set: true, told: false, ..Mark::new(there) };
            frame.marks.insert(name.clone(), mark);
        }
    });
}

/// Adds to the gradient of a parameter; says whether the leaf is one. In a nested block nobody asks whether there was
/// one before: it may be the body of a loop.
pub(super) fn add(symbol: &Symbol, grad: &Var) -> Result<bool> {
    let Some((name, cell)) = parameter_of(symbol) else { return Ok(false) };
    let (is_nested, own) = with_frames(|frames| {
        let top = frames.last();
        let own = top.and_then(|top| top.marks.get(&name)).filter(|mark| mark.set).cloned();
        (top.is_some_and(Frame::is_nested), own)
    });
    let before = match own {
        Some(mark) if mark.there == There::No => None,
        Some(mark) => Some(value_of(&mark, &cell)?),
        None if is_nested => {
            hold(&name, &cell, false)?;
            Some(read_cell(&cell.grad_cell())?)
        }
        None => {
            let mark = look(&name, &cell);
            (mark.there != There::No).then(|| value_of(&mark, &cell)).transpose()?
        }
    };
    let sum = match before {
        Some(before) => structural::accumulate(&before, grad)?,
        None => grad.clone(),
    };
    put(&name, There::Yes, Some(sum));
    Ok(true)
}

/// Hands the gradients that the block on top has set on as states. Has to be called before it ends.
pub(crate) fn flush() -> Result<()> {
    let set = with_frames(|frames| {
        let marks = frames.last_mut().map(|frame| &mut frame.marks)?;
        let values = marks.iter_mut().filter(|(_, mark)| mark.there == There::Yes && mark.set);
        Some(values.filter_map(|(name, mark)| Some((name.clone(), mark.value.take()?))).collect())
    });
    let set: Vec<(Arc<str>, Var)> = set.unwrap_or_default();
    set.iter().try_for_each(|(name, value)| assign(name, value))
}

pub(super) fn assign(name: &Arc<str>, value: &Var) -> Result<()> {
    let cell = with_frames(|frames| {
        let root = root(frames)?;
        let cell = root.cell_of(name).map(|(cell, _)| cell);
        let cell = cell.ok_or_else(|| Error::internal("a gradient of no parameter"))?.grad_cell();
        if !root.names.contains_key(&cell.id()) {
            let decl = StateDecl::new(value.ty(), Role::Buffer).with_cell(&cell);
            root.enter(root.name_of(&cell), decl);
        }
        Ok(cell)
    })?;
    assign_cell(&cell, value)
}

/// Says that there is no gradient from here on, where blocks may add to it.
pub(super) fn assign_nothing(name: &Arc<str>) -> Result<()> {
    let ty = with_frames(|frames| Some(root(frames).ok()?.cell_of(name)?.1));
    let ty = ty.ok_or_else(|| Error::internal("a gradient of no parameter"))?;
    assign(name, &structural::fill(-0.0, &ty)?)
}

/// Has a state say whether there is a gradient.
pub(super) fn assign_flag(name: &Arc<str>, there: bool) -> Result<()> {
    let flag = with_frames(|frames| {
        let root = root(frames)?;
        let label = root.cell_of(name).map_or_else(|| name.clone(), |(cell, _)| cell.label());
        let new = || Cell::of(format!("{label}.has_grad"), Role::Buffer, Tensor::scalar(false));
        Ok(root.flags.entry(name.clone()).or_insert_with(new).clone())
    })?;
    assign_cell(&flag, &Var::scalar(there))
}

/// Has states be the gradient in the innermost block below that knows of it, so that the blocks above can add to it,
/// and, with `flag`, can say whether there is one.
pub(super) fn hold(name: &Arc<str>, cell: &Cell, flag: bool) -> Result<()> {
    let (above, mark) = with_frames(|frames| {
        let knows = |frame: &Frame| {
            let mark = frame.marks.get(name);
            !frame.is_nested() || mark.is_some_and(|mark| mark.set || mark.held[0])
        };
        let level = frames.iter().rposition(knows).unwrap_or(0);
        let mark = match frames[level].marks.get(name) {
            Some(mark) => mark.clone(),
            None => Mark::new(at_the_start(frames, name, cell)),
        };
        (frames.split_off(level + 1), mark)
    });
    let held = held_by(name, mark, flag);
    with_frames(|frames| {
        if let (Ok(mark), Some(frame)) = (&held, frames.last_mut()) {
            frame.marks.insert(name.clone(), mark.clone());
        }
        frames.extend(above);
    });
    held.map(drop)
}

/// What is known of a gradient that states are from here on.
fn held_by(name: &Arc<str>, mut mark: Mark, flag: bool) -> Result<Mark> {
    if mark.there == There::OfRun {
        return Ok(mark);
    }
    if !mark.held[0] {
        match (mark.there, mark.value.take()) {
            (There::No, _) => assign_nothing(name)?,
            (_, Some(value)) => assign(name, &value)?,
            _ => {}
        }
        mark.told &= mark.there != There::No;
        mark.held[0] = true;
    }
    if flag && !mark.held[1] {
        assign_flag(name, mark.there == There::Yes)?;
        mark.held[1] = true;
    }
    Ok(mark)
}

/// Whether a state of the program is the gradient of a parameter.
pub(super) fn is_gradient(state: &Arc<str>, parameter: &Cell) -> bool {
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
