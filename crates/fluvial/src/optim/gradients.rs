//! From the loss to one gradient for each parameter.

use fluvial_core::structural::zeros_like;
use fluvial_core::{
    Cut, Error, GradOptions, Mode, Result, Var, is_recording, mode, vjp, why_no_gradient,
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

impl<R: Rule> Descent<R> {
    /// The dense gradients, and those of the rows that were looked up.
    pub(super) fn differentiate(
        &self,
        loss: &Var,
        rows: &[&Rows],
    ) -> Result<(Vec<Option<Var>>, Vec<Var>)> {
        let trained = self.trained();
        let mut wrt = Vec::new();
        for (_, param) in &trained {
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
        let refs: Vec<&Var> = wrt.iter().collect();
        let mut found = vjp(&[loss], &[None], &refs, GradOptions::default())?;
        if found.iter().all(Option::is_none) {
            return Err(Error::gradient(format!(
                "the loss depends on none of the {} parameters of the optimizer `{}`",
                trained.len(),
                self.name
            ))
            .remedy("check their names, and that the loss was computed from them, not detached"));
        }
        if mode() == Mode::Building && !self.allow_unreached {
            self.audit(loss, &wrt[..trained.len()], &found, rows)?;
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
        Ok((found, of_rows))
    }

    /// Refuses parameters that no gradient reaches. A run at once may leave some aside, but a program
    /// would for ever.
    fn audit(
        &self,
        loss: &Var,
        values: &[Var],
        found: &[Option<Var>],
        rows: &[&Rows],
    ) -> Result<()> {
        let trained = self.trained();
        let is_looked_up = |param: &Param| rows.iter().any(|rows| *rows.table() == *param.name());
        let unreached =
            trained.iter().zip(values).zip(found).filter_map(|((item, value), grad)| {
                let (_, param) = item;
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
            self.name
        ))
        .remedy("use them in the loss, leave them out of the optimizer, or `allow_unreached`");
        Err(lines.into_iter().fold(error, Error::note))
    }

    /// Brings dense gradients and those of rows together, one for each parameter.
    pub(super) fn items(
        &self,
        dense: Vec<Option<Var>>,
        rows: &[&Rows],
        of_rows: &[Var],
    ) -> Result<Vec<Item>> {
        let tables = sum_by_table(rows, of_rows)?;
        let mut items = Vec::new();
        for ((group, param), grad) in self.trained().into_iter().zip(dense) {
            let name = param.name();
            let table = tables.iter().find(|table| *table.name == *name);
            let (grad, rows) = match (grad, table) {
                (Some(_), Some(_)) => {
                    return Err(Error::gradient(format!(
                        "`{name}` was used both as a whole and by rows that were looked up"
                    ))
                    .remedy("read it by `lookup` only, or as a whole only"));
                }
                (None, Some(table)) => (table.grad.clone(), Some(table.rows.clone())),
                (Some(grad), None) => (fitting(param, grad)?, None),
                (None, None) => (zeros_like(&param.read()?)?, None),
            };
            items.push(Item { group, param: param.clone(), grad, rows });
        }
        let known = |name: &str| items.iter().any(|item| *item.param.name() == *name);
        if let Some(table) = tables.iter().find(|table| !known(&table.name)) {
            return Err(Error::argument(format!(
                "the optimizer `{}` does not train the table `{}`",
                self.name, table.name
            ))
            .remedy("add it to its parameters"));
        }
        if items.iter().any(|item| item.rows.is_some()) {
            self.refuse_rows()?;
        }
        Ok(items)
    }

    fn refuse_rows(&self) -> Result<()> {
        if !R::ELEMENTWISE {
            return Err(Error::argument(format!(
                "the optimizer `{}` needs whole parameters, not rows of them",
                self.name
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
