//! Ops that change cells in their place.

use fluvial_tensor::{Error, Loc, Result, Tensor, Type};
use smallvec::SmallVec;

use crate::bind::{Outputs, bind_at, judged};
use crate::cell::{Cell, update_cells};
use crate::op::OpRef;
use crate::scope::{self, Mode};
use crate::var::Var;

/// Applies an op whose outputs take the place of its first inputs (see [`Op::n_over`](crate::Op::n_over)) to
/// these cells, each given once, which are assigned the outputs; `others` are the inputs behind them. Both
/// modes. Where nobody else holds the value of a cell it is changed in place, so what it costs is what the op
/// writes.
///
/// No gradient passes. If it fails, the cells are as they were.
#[track_caller]
pub fn update_in_place(op: impl Into<OpRef>, cells: &[Cell], others: &[&Var]) -> Result<()> {
    let (op, loc) = (op.into(), scope::user_line());
    if scope::mode() == Mode::Building {
        let _line = scope::at(loc);
        let values: Vec<Var> = cells.iter().map(Cell::read).collect::<Result<_>>()?;
        let inputs: Vec<&Var> = values.iter().chain(others.iter().copied()).collect();
        let outputs = bind_at(op, &inputs, loc)?;
        return cells.iter().zip(&outputs).try_for_each(|(cell, new)| cell.assign(new));
    }
    let cells: Vec<Cell> = cells.iter().map(Cell::here).collect();
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
    let mut types: Vec<Type> = Vec::with_capacity(cells.len() + others.len());
    for cell in cells {
        types.push(cell.read().map_err(|error| error.at(loc))?.ty());
    }
    types.extend(others.iter().map(|other| other.ty()));
    let tensors: SmallVec<[&Tensor; 4]> =
        others.iter().map(|other| other.tensor()).collect::<Result<_>>()?;
    judged(op, &types, loc, |types| {
        op.infer(types)?;
        let done = update_cells(cells, |over| op.eval_over(over, &tensors))?;
        done.ok_or_else(|| Error::internal("a cell was to be updated twice at once"))
    })
}
