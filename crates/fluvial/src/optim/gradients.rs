//! From the loss to one gradient for each parameter.

use fluvial_core::structural::zeros_like;
use fluvial_core::{
    Cut, Error, ErrorKind, GradOptions, Mode, Result, Var, is_recording, mode, vjp, why_no_gradient,
};

use super::descent::Descent;
use super::param::Param;
use super::rows::{Rows, sum_by_table};
use super::rule::Rule;

/// The gradient of one parameter, or of some rows of it.
pub(super) struct Item {
    pub group: usize,
    pub param: Param,
    pub grad: Var,
    pub rows: Option<Var>,
}

/// Gradients: of whole parameters, with the numbers of their groups, and of rows that were looked up.
pub(super) struct Found {
    pub dense: Vec<(usize, Param, Option<Var>)>,
    pub of_rows: Vec<Var>,
}

impl<R: Rule + Clone> Descent<R> {
    /// The gradients of a loss.
    pub(super) fn differentiate(
        &self,
        loss: &Var,
        trained: Vec<(usize, Param)>,
        rows: &[&Rows],
    ) -> Result<Found> {
        if trained.is_empty() {
            return Err(self.nothing_to_train());
        }
        let mut wrt = Vec::new();
        for (_, param) in &trained {
            param.check()?;
            let value = param.read()?;
            if mode() == Mode::Imperative && is_recording() && !value.is_tracked() {
                return Err(Error::gradient(format!(
                    "`{}` is a state, but not a parameter, so it gets no gradient",
                    param.name()
                ))
                .remedy("declare it by `parameter`"));
            }
            wrt.push(value);
        }
        wrt.extend(rows.iter().map(|rows| rows.values.clone()));
        let mut found = match loss.is_freed() {
            true => self.accumulated_grads(&trained, rows)?,
            false => {
                let refs: Vec<&Var> = wrt.iter().collect();
                let options = GradOptions { retain_graph: self.retains, ..GradOptions::default() };
                vjp(&[loss], &[None], &refs, options)?
            }
        };
        if loss.is_freed() && found.iter().all(Option::is_none) {
            return Err(Error::new(
                ErrorKind::Freed,
                "what was recorded of the loss was freed when its gradients were taken before",
            )
            .remedy("compute the loss again, or take the first gradients with `retain_graph`"));
        }
        if found.iter().all(Option::is_none) {
            return Err(Error::gradient(format!(
                "the loss depends on none of the {} parameters of the optimizer `{}`",
                trained.len(),
                self.memory.name()
            ))
            .remedy("check their names, and that the loss was computed from them, not detached"));
        }
        if mode() == Mode::Building && !self.allow_unreached {
            self.audit(loss, &trained, &wrt, &found, rows)?;
        }
        // By these names people find them in listings and in the debugger.
        for ((_, param), gradient) in trained.iter().zip(&mut found) {
            *gradient = gradient.take().map(|found| found.named(&format!("{}.grad", param.name())));
        }
        let of_rows = found.split_off(trained.len());
        let of_rows = of_rows.into_iter().zip(rows).map(|(grad, rows)| match grad {
            Some(grad) => Ok(grad),
            None => zeros_like(&rows.values),
        });
        let of_rows = of_rows.collect::<Result<_>>()?;
        let dense = trained.into_iter().zip(found);
        let dense = dense.map(|((group, param), grad)| (group, param, grad)).collect();
        Ok(Found { dense, of_rows })
    }

    fn nothing_to_train(&self) -> Error {
        Error::gradient(format!(
            "the optimizer `{}` has nothing to train: it was given no parameters, and the step has read none \
             of layers",
            self.memory.name()
        ))
        .remedy("give it `layer.parameters()`, or names of states")
    }

    /// The gradients of a loss on which `backward` was called before.
    fn accumulated_grads(
        &self,
        trained: &[(usize, Param)],
        rows: &[&Rows],
    ) -> Result<Vec<Option<Var>>> {
        let of_params = trained.iter().map(|(_, param)| param.grad());
        let of_rows = rows.iter().map(|rows| Ok(rows.values.grad()));
        of_params.chain(of_rows).collect()
    }

    /// Refuses parameters that no gradient reaches. A run at once may leave some aside, but a program
    /// would for ever.
    fn audit(
        &self,
        loss: &Var,
        trained: &[(usize, Param)],
        values: &[Var],
        found: &[Option<Var>],
        rows: &[&Rows],
    ) -> Result<()> {
        let is_looked_up = |param: &Param| rows.iter().any(|rows| rows.of().same(param));
        let unreached =
            trained.iter().zip(values).zip(found).filter_map(|((item, value), grad)| {
                let (group, param) = item;
                self.groups.get(*group)?.params.as_ref()?;
                let why = match (why_no_gradient(loss, value), grad) {
                    (Some(Cut::Op(why)), _) => why,
                    (Some(why), None) => why.to_string(),
                    (None, None) => "the way from the loss is cut".to_string(),
                    (_, Some(_)) => return None,
                };
                (!is_looked_up(param)).then(|| format!("`{}`: {why}", param.name()))
            });
        let lines: Vec<String> = unreached.collect();
        if lines.is_empty() {
            return Ok(());
        }
        let error = Error::gradient(format!(
            "no gradient reaches {} of the {} parameters of the optimizer `{}`",
            lines.len(),
            trained.len(),
            self.memory.name()
        ))
        .remedy("use them in the loss, leave them out of the optimizer, or `allow_unreached`");
        Err(lines.into_iter().fold(error, Error::note))
    }

    /// Brings dense gradients and those of rows together, one for each parameter. Of those that a step has used,
    /// the ones without a gradient are left alone.
    pub(super) fn items(&self, found: Found, rows: &[&Rows]) -> Result<Vec<Item>> {
        let tables = sum_by_table(rows, &found.of_rows)?;
        let mut items: Vec<Item> = Vec::new();
        for (group, param, grad) in found.dense {
            let table = tables.iter().find(|table| table.of.same(&param));
            let (grad, rows) = match (grad, table) {
                (Some(_), Some(_)) => {
                    return Err(Error::gradient(format!(
                        "`{}` was used both as a whole and by rows that were looked up",
                        param.name()
                    ))
                    .remedy("read it by `lookup` only, or as a whole only"));
                }
                (None, Some(table)) => (table.grad.clone(), Some(table.rows.clone())),
                (Some(grad), None) => (fitting(&param, grad)?, None),
                (None, None) if self.groups[group].params.is_none() => continue,
                (None, None) => (zeros_like(&param.read()?)?, None),
            };
            items.push(Item { group, param, grad, rows });
        }
        let known = |table: &Param| items.iter().any(|item| item.param.same(table));
        if let Some(table) = tables.iter().find(|table| !known(&table.of)) {
            return Err(Error::argument(format!(
                "the optimizer `{}` does not train the table `{}`",
                self.memory.name(),
                table.of.name()
            ))
            .remedy("add it to its parameters"));
        }
        if let Some(item) = items.iter().find(|item| item.rows.is_some()) {
            self.refuse_rows(&self.groups[item.group].rule)?;
        }
        Ok(items)
    }

    fn refuse_rows(&self, rule: &R) -> Result<()> {
        if !rule.is_elementwise() {
            return Err(Error::argument(format!(
                "the optimizer `{}` needs whole parameters, not rows of them",
                self.memory.name()
            ))
            .remedy("gather from the whole table, or take another optimizer for it"));
        }
        match self.accumulate {
            1 => Ok(()),
            _ => Err(Error::argument("gradients of rows are not accumulated over several calls")
                .remedy("gather from the whole table, or update at each call")),
        }
    }
}

/// The gradient, if it has the type of its parameter: asked before anything is changed.
fn fitting(param: &Param, grad: Var) -> Result<Var> {
    let (own, ty) = (grad.clone().check()?.ty(), param.read()?.ty());
    match own == ty {
        true => Ok(grad),
        false => Err(Error::shape(format!(
            "the gradient of `{}` is {own}, but the parameter is {ty}",
            param.name()
        ))
        .remedy("give gradients in the order of `params`")),
    }
}
