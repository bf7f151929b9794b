//! Ops that change what persists in its place.

use std::sync::Arc;

use fluvial_tensor::{Error, Loc, Result, Tensor, Type};
use smallvec::SmallVec;

use crate::bind::{Outputs, bind_at, judged};
use crate::cell::{Cell, update_cells};
use crate::device;
use crate::limits;
use crate::op::OpRef;
use crate::program::Role;
use crate::scope::{self, Mode};
use crate::state::{assign_state, current, declare_state, read_state, unknown};
use crate::var::Var;

/// Where a value is kept: in a cell, or under a name in the state scope of the thread.
#[derive(Clone, Debug)]
pub enum Place {
    /// A cell.
    Cell(Cell),
    /// A name.
    Name(Arc<str>),
}

impl Place {
    /// What people and files call it.
    pub fn label(&self) -> Arc<str> {
        match self {
            Place::Cell(cell) => cell.label(),
            Place::Name(name) => name.clone(),
        }
    }

    /// Its value, in both modes, after giving it the one that `init` computes if it has none.
    #[track_caller]
    pub fn declare(&self, ty: Type, role: Role, init: impl FnOnce() -> Result<Var>) -> Result<Var> {
        match self {
            Place::Cell(cell) => cell.declare(ty, role, init),
            Place::Name(name) => declare_state(name, ty, role, init),
        }
    }

    /// Its value, in both modes.
    #[track_caller]
    pub fn read(&self) -> Result<Var> {
        match self {
            Place::Cell(cell) => cell.read(),
            Place::Name(name) => read_state(name),
        }
    }

    /// Assigns it, in both modes.
    #[track_caller]
    pub fn assign(&self, value: &Var) -> Result<()> {
        match self {
            Place::Cell(cell) => cell.assign(value),
            Place::Name(name) => assign_state(name, value),
        }
    }

    /// The cell outside of programs.
    pub fn cell(&self) -> Result<Cell> {
        match self {
            Place::Cell(cell) => Ok(cell.here()),
            Place::Name(name) => current().cell(name).ok_or_else(|| unknown(name)),
        }
    }
}

/// Applies an op whose outputs take the place of its first inputs (see [`Op::n_over`](crate::Op::n_over)) to
/// what is kept at these places, each given once, which are assigned the outputs; `others` are the inputs behind
/// them. Both modes. Where nobody else holds a value it is changed in place, so what it costs is what the op
/// writes.
///
/// No gradient passes. If it fails, everything is as it was.
#[track_caller]
pub fn update_in_place(op: impl Into<OpRef>, places: &[Place], others: &[&Var]) -> Result<()> {
    let (op, loc) = (op.into(), scope::user_line());
    let _line = scope::at(loc);
    if scope::mode() == Mode::Building {
        let values: Vec<Var> = places.iter().map(Place::read).collect::<Result<_>>()?;
        let inputs: Vec<&Var> = values.iter().chain(others.iter().copied()).collect();
        let outputs = bind_at(op, &inputs, loc)?;
        return places.iter().zip(&outputs).try_for_each(|(place, new)| place.assign(new));
    }
    let cells: Vec<Cell> = places.iter().map(Place::cell).collect::<Result<_>>()?;
    match scope::flags().watched {
        false => run(&op, &cells, others, loc),
        true => {
            let run = || {
                run(&op, &cells, others, loc)?;
                cells.iter().map(Cell::read).collect::<Result<Outputs>>()
            };
            scope::telling(op.name(), loc, others, run).map(drop)
        }
    }
}

fn run(op: &OpRef, cells: &[Cell], others: &[&Var], loc: Loc) -> Result<()> {
    if limits::is_any() {
        let _no_grad = scope::no_grad();
        let values: Vec<Var> = cells.iter().map(Cell::read).collect::<Result<_>>()?;
        let inputs: Vec<&Var> = values.iter().chain(others.iter().copied()).collect();
        if device::is_concerned(inputs.iter().copied()) {
            // Nothing is written over on a device, so the cells get new values.
            let outputs = bind_at(op.clone(), &inputs, loc)?;
            return cells
                .iter()
                .zip(outputs)
                .try_for_each(|(cell, new)| cell.set(new.take_value()?));
        }
    }
    let mut types: Vec<Type> = Vec::with_capacity(cells.len() + others.len());
    for cell in cells {
        types.push(cell.read().map_err(|error| error.at(loc))?.ty());
    }
    types.extend(others.iter().map(|other| other.ty()));
    let tensors: SmallVec<[&Tensor; 4]> =
        others.iter().map(|other| other.tensor()).collect::<Result<_>>()?;
    judged(op, &types, loc, |types| {
        crate::op::inferred(&**op, types)?;
        let done = update_cells(cells, |over| op.eval_over(over, &tensors))?;
        done.ok_or_else(|| Error::internal("a cell was to be updated twice at once"))
    })
}
