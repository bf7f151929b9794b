//! The node of a compiled program on the tape.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fluvial_core::{
    Arity, Attributes, Attrs, Error, Grad, Keeps, Op, OpRef, Pull, Result, Sum, Takes, Type, Types,
    Value, Values, Var, is_recording, nothing,
};

use super::derivatives::{Asked, Derivatives, Linear, Way};

/// A program that was applied: its inputs are what the gradient needs of the program's inputs and states, its
/// outputs are those of the program, then the residuals if there are any. It is on tapes only, never in programs.
pub(super) struct Applied {
    derivatives: Arc<Derivatives>,
    tracked: Vec<bool>,
    way: Way,
    was_asked: AtomicBool,
    /// Parameters of the function to which the run has added nothing, though another one might.
    absent: Mutex<Vec<usize>>,
}

impl Applied {
    pub fn new(derivatives: Arc<Derivatives>, tracked: Vec<bool>, way: Way) -> Applied {
        let (was_asked, absent) = (AtomicBool::new(false), Mutex::default());
        Applied { derivatives, tracked, way, was_asked, absent }
    }

    fn asked(&self, p: &Pull<'_>, sums: &[Option<Sum>]) -> Asked {
        let param = |i: usize| self.derivatives.taken[i];
        let wanted = || (0..p.n_inputs()).filter(|&i| p.wanted(i));
        let given = (0..self.derivatives.n_outputs).filter(|&i| cotangent(p, i).is_some());
        Asked {
            wanted: wanted().map(param).collect(),
            given: given.collect(),
            summed: wanted().filter(|&i| sums[i].is_some()).map(param).collect(),
        }
    }

    /// The sums of parameters of the function, as they are before it.
    fn sums(&self, asked: &Asked, sums: &[Option<Sum>]) -> Vec<(usize, Var)> {
        let taken = self.derivatives.taken.iter().zip(sums);
        let summed = taken.filter(|(param, _)| asked.summed.contains(param));
        summed.filter_map(|(&param, sum)| Some((param, sum.as_ref()?.var.clone()))).collect()
    }

    /// The sums of parameters of the function with what it adds, from what was kept.
    fn go_back(
        &self,
        p: &Pull<'_>,
        asked: &Asked,
        linear: &Linear,
        sums: Vec<(usize, Var)>,
    ) -> Result<Vec<(usize, Var)>> {
        let n_outputs = self.derivatives.n_outputs;
        let mut found = sums;
        // The last output first, as the tape of the lines would.
        for way in linear.backward.iter().rev() {
            if !way.given.iter().all(|i| asked.given.contains(i)) {
                continue;
            }
            let cotangents = way.given.iter().filter_map(|&i| cotangent(p, i));
            let residuals = (0..linear.n_residuals()).map(|i| p.y(n_outputs + i));
            let sized = self.derivatives.sized().into_iter().map(|i| p.x(i));
            let mut inputs: Vec<Var> = sized.chain(cotangents).collect();
            let mut filled = Vec::new();
            for &param in &linear.summed {
                let sum = found.iter().find(|(known, _)| *known == param);
                inputs.push(match (sum, self.derivatives.place(param)) {
                    (Some((_, sum)), _) => sum.clone(),
                    (None, i) => nothing(&p.x(i))?,
                });
                filled.push(Var::scalar(sum.is_some()));
            }
            inputs.extend(filled.into_iter().chain(residuals));
            let results = way.executor.apply(&inputs.iter().collect::<Vec<_>>())?;
            for (param, result) in self.there(&way.found, results)? {
                found.retain(|(known, _)| *known != param);
                found.push((param, result));
            }
        }
        Ok(found)
    }

    /// The same by computing everything again. The sums can be differentiated if that is recorded.
    fn compute_again(
        &self,
        p: &Pull<'_>,
        asked: &Asked,
        sums: Vec<(usize, Var)>,
    ) -> Result<Vec<(usize, Var)>> {
        let gradient = self.derivatives.gradient(asked)?;
        let taken = (0..p.n_inputs()).map(|i| p.x(i));
        let cotangents = asked.given.iter().filter_map(|&i| cotangent(p, i));
        let inputs: Vec<Var> =
            taken.chain(cotangents).chain(sums.into_iter().map(|(_, sum)| sum)).collect();
        let results = gradient.executor.apply(&inputs.iter().collect::<Vec<_>>())?;
        self.there(&gradient.found, results)
    }

    /// The totals of its inputs: it goes on with their sums, use by use, as the lines do.
    fn pull(&self, p: &Pull<'_>, sums: &[Option<Sum>]) -> Result<Vec<Option<Sum>>> {
        self.was_asked.store(true, Ordering::Relaxed);
        let derivatives = &self.derivatives;
        let asked = self.asked(p, sums);
        let sums = self.sums(&asked, sums);
        let found = match &self.way {
            Way::Refused(error) => return Err(error.clone()),
            Way::Kept(linear) if !is_recording() && self.serves(linear, &asked) => {
                self.go_back(p, &asked, linear, sums)?
            }
            _ if !derivatives.can_repeat() => return Err(cannot_repeat()),
            _ => {
                let found = self.compute_again(p, &asked, sums)?;
                derivatives.expect(&self.tracked, asked);
                found
            }
        };
        let mut totals = vec![None; p.n_inputs()];
        for (param, total) in found {
            let i = derivatives.place(param);
            if p.wanted(i) {
                totals[i] = Some(Sum::certain(total));
            }
        }
        Ok(totals)
    }

    /// The totals that are there, of those that a way back gives and the flags behind them.
    fn there(&self, found: &[(usize, bool)], mut results: Vec<Var>) -> Result<Vec<(usize, Var)>> {
        let mut flags = results.split_off(found.len()).into_iter();
        let mut all = Vec::with_capacity(found.len());
        for (&(param, of_run), result) in found.iter().zip(results) {
            let is_there = match of_run {
                true => flags.next().map_or(Ok(true), |flag| flag.item())?,
                false => true,
            };
            match is_there {
                true => all.push((param, result)),
                false => lock(&self.absent).push(param),
            }
        }
        Ok(all)
    }

    fn serves(&self, linear: &Linear, asked: &Asked) -> bool {
        linear.asked == *asked || !self.derivatives.can_repeat()
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        if matches!(self.way, Way::Kept(_)) && !*self.was_asked.get_mut() {
            self.derivatives.expect_nothing(&self.tracked);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn cotangent(p: &Pull<'_>, output: usize) -> Option<Var> {
    p.dys().get(output).cloned().flatten()
}

#[cold]
fn cannot_repeat() -> Error {
    Error::gradient(
        "a second derivative of a program was asked for whose results need an op with an effect, \
         which cannot be run again",
    )
    .remedy("take the gradient inside of the program, or run the function in imperative mode")
}

impl fmt::Debug for Applied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Applied")
    }
}

impl Attributes for Applied {
    fn name(&self) -> &'static str {
        "program"
    }

    fn attrs(&self) -> Attrs {
        Attrs::new()
    }

    fn rebuild(&self, _: &Attrs) -> Result<OpRef> {
        Err(not_bound())
    }
}

impl Op for Applied {
    fn arity(&self) -> Arity {
        Arity::AtLeast(0)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        Err(not_bound())
    }

    fn eval(&self, _: &[&Value], _: &[Type]) -> Result<Values> {
        Err(not_bound())
    }

    fn grad(&self) -> Grad {
        let keeps = match &self.way {
            Way::Again => Keeps::INPUTS,
            Way::Refused(_) => Keeps::NOTHING,
            Way::Kept(_) => {
                let behind_outputs = u32::MAX << self.derivatives.n_outputs.min(31);
                Keeps::INPUTS.and_outputs(behind_outputs)
            }
        };
        Grad::Totals(keeps, |p, sums| p.op::<Applied>()?.pull(p, sums))
    }

    fn leaves_out(&self) -> bool {
        true
    }

    fn passes_on(&self, output: usize, input: usize) -> bool {
        self.derivatives.passes_on(output, input)
    }

    fn depends(&self, output: usize, input: usize) -> bool {
        let is_absent = |param: &usize| lock(&self.absent).contains(param);
        self.derivatives.depends(output, input)
            && !self.derivatives.taken.get(input).is_some_and(is_absent)
    }
}

#[cold]
fn not_bound() -> Error {
    Error::internal("the node of a program is recorded after its run, never bound")
}
