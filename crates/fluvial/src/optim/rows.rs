//! Gradients of a few rows of a large table.

use fluvial_core::scope::user_line;
use fluvial_core::{Dim, Error, Place, Result, Var, at, update_in_place};
use fluvial_ops::index::IndexPut;
use fluvial_ops::{concat, gather, index_add, lt, reshape, unique, where_};

use super::param::Param;

/// Rows of a table that were looked up, with what is needed to update them alone.
pub struct Rows {
    pub(super) table: Param,
    pub(super) ids: Var,
    pub(super) values: Var,
}

impl Rows {
    /// The rows: one for each id, so the axes of the ids come first.
    pub fn values(&self) -> &Var {
        &self.values
    }

    /// The table.
    pub fn of(&self) -> &Param {
        &self.table
    }
}

/// Looks rows of a table up, which is a parameter, so that only these rows are updated:
/// hand the result to [`minimize_rows`](super::Optimizer::minimize_rows). The whole table gets no
/// gradient.
///
/// The gradients of an id that occurs several times are added up. What the optimizer remembers is
/// updated for these rows only, too, and so is weight decay: the moments of other rows do not fade
/// meanwhile. [`Sgd`](super::Sgd) gives what whole gradients would give; others, such as
/// [`Adam`](super::Adam), become "lazy". Optimizers that need the norm of a whole parameter
/// ([`Lars`](super::Lars), [`Lamb`](super::Lamb)) refuse rows.
///
/// ```
/// use fluvial::optim::lookup;
/// use fluvial::prelude::*;
///
/// let state = State::new();
/// let _scope = state.enter();
/// let ty = Type::of(DType::F64, &[1000, 2])?;
/// let _ = parameter("table", ty, || full(ty.dims(), 1.0, DType::F64))?;
/// let rows = lookup("table", &Var::of(&[7i64, 3, 7], &[3])?)?;
/// let loss = sum(rows.values(), &[], false)?;
/// Sgd::new(["table"], 0.25).minimize_rows(&loss, &[&rows])?;
/// let table = state.tensor("table")?;
/// assert_eq!([3, 7, 8].map(|row| table.get_f64(&[row, 0]).unwrap()), [0.75, 0.5, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn lookup(table: impl Into<Param>, ids: &Var) -> Result<Rows> {
    let loc = user_line();
    let _line = at(loc);
    let table: Param = table.into();
    let whole = table.read()?;
    if whole.rank() == 0 || !whole.ty().is_float() {
        let (name, ty) = (table.name(), whole.ty());
        return Err(Error::argument(format!("`{name}` is {ty}, which has no rows"))
            .remedy("a table is a parameter with at least one axis")
            .at(loc));
    }
    let values = gather(&whole.detach(), ids, 0)?.track()?;
    Ok(Rows { table, ids: ids.clone(), values })
}

/// The gradient of some rows of a table, each once.
pub(super) struct OfTable {
    pub of: Param,
    pub rows: Var,
    pub grad: Var,
}

/// Adds up the gradients of the rows of each table.
pub(super) fn sum_by_table(rows: &[&Rows], grads: &[Var]) -> Result<Vec<OfTable>> {
    let mut tables: Vec<(&Param, Vec<Var>, Vec<Var>)> = Vec::new();
    for (rows, grad) in rows.iter().zip(grads) {
        let (ids, grad) = flat(&rows.ids, grad)?;
        match tables.iter_mut().find(|(table, ..)| table.same(&rows.table)) {
            Some((_, all_ids, all_grads)) => {
                all_ids.push(ids);
                all_grads.push(grad);
            }
            None => tables.push((&rows.table, vec![ids], vec![grad])),
        }
    }
    let summed = tables.into_iter().map(|(table, ids, grads)| {
        let (ids, grads) = (joined(ids)?, joined(grads)?);
        let (rows, places, _) = unique(&from_front(table, &ids)?)?;
        let n = rows.ty().dim(0);
        Ok(OfTable { of: table.clone(), grad: index_add(&grads, &places, 0, n)?, rows })
    });
    summed.collect()
}

/// The ids along one axis, and the gradient with one row for each.
fn flat(ids: &Var, grad: &Var) -> Result<(Var, Var)> {
    let rank = ids.rank();
    let dims = grad.dims();
    let mut n = Dim::size(1);
    for dim in &dims[..rank] {
        n = n.mul(*dim)?;
    }
    let row: Vec<_> = std::iter::once(n).chain(dims[rank..].iter().copied()).collect();
    Ok((reshape(ids, &[n])?, reshape(grad, &row)?))
}

fn joined(parts: Vec<Var>) -> Result<Var> {
    match &parts[..] {
        [one] => Ok(one.clone()),
        _ => concat(&parts.iter().collect::<Vec<_>>(), 0),
    }
}

/// The ids counted from the front, so that each row has one.
fn from_front(table: &Param, ids: &Var) -> Result<Var> {
    let n_rows = table.read()?.dims()[0].value().unwrap_or(0) as i64;
    let from_back = (ids + &Var::scalar(n_rows)).check()?;
    where_(&lt(ids, &Var::scalar(0i64))?, &from_back, ids)
}

/// Some rows of a tensor.
pub(super) fn rows_of(whole: &Var, rows: &Var) -> Result<Var> {
    gather(whole, rows, 0)
}

/// Gives some rows of what is kept somewhere new values, in place if nobody else holds it.
pub(super) fn with_rows(place: Place, rows: &Var, values: &Var) -> Result<()> {
    update_in_place(IndexPut { axis: 0 }, &[place], &[rows, values])
}
