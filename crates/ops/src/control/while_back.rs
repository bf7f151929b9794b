//! The reverse loop: it carries the trips left, cotangents of carried values, sums for captures, whether those are
//! there of which only a run knows, and the lists it takes residuals from.

use super::cond::{cond, cond_of};
use super::while_loop::{While, while_loop};
use crate::lists::list_pop;
use crate::prelude::*;
use crate::{eq, gt};

/// What a reverse loop carries, and where.
pub(super) struct Back<'a> {
    p: &'a Pull<'a>,
    op: &'a While,
    sums: &'a [Option<Sum>],
    /// The carried values that have a cotangent in some trip.
    carried: Vec<usize>,
    /// Those of them for which only a run knows, or the trip says, whether there is one.
    flagged: Vec<usize>,
    /// The captures that have a cotangent in some trip.
    captured: Vec<usize>,
    /// Those of them for which only a run knows whether they have one, also if there is a trip.
    of_run: Vec<usize>,
}

impl<'a> Back<'a> {
    pub fn new(p: &'a Pull<'a>, op: &'a While, sums: &'a [Option<Sum>]) -> Back<'a> {
        let n_ways = op.reverses.len();
        let seed = |way: usize, i: usize| {
            op.seeds_of(way).into_iter().find(|(seed, _)| *seed == i).map(|(_, of_run)| of_run)
        };
        let is_found = |i: &usize| op.found.iter().any(|found| found.contains(i));
        let is_seed = |i: &usize| (0..n_ways).any(|way| seed(way, *i).is_some());
        let is_carried = |i: &usize| *i < op.n_carried && (is_seed(i) || is_found(i));
        let is_flagged = |i: &usize| {
            // The cotangent of a value that leaves the first trip is found by any way.
            (0..n_ways).any(|way| seed(way, *i) != Some(false))
                || (0..n_ways).any(|way| !op.is_certain(way, *i))
        };
        let is_of_run = |i: &usize| {
            let is_certain = (0..n_ways).all(|way| op.is_certain(way, *i));
            !is_certain && !matches!(sums[1 + i], Some(Sum { present: None, .. }))
        };
        let carried: Vec<usize> = op.wanted.iter().copied().filter(is_carried).collect();
        let is_captured = |i: &usize| *i >= op.n_carried && is_found(i);
        let captured: Vec<usize> = op.wanted.iter().copied().filter(is_captured).collect();
        Back {
            flagged: carried.iter().copied().filter(is_flagged).collect(),
            of_run: captured.iter().copied().filter(is_of_run).collect(),
            p,
            op,
            sums,
            carried,
            captured,
        }
    }

    pub fn run(&self) -> Result<Vec<Option<Sum>>> {
        let (p, op) = (self.p, self.op);
        let init = self.init()?;
        let finished = while_loop(
            &init.iter().collect::<Vec<_>>(),
            |values| gt(&values[0], &Var::scalar(0i64)),
            |values| self.trip(values),
        )?;
        let (cotangents, rest) = finished[2..].split_at(self.carried.len());
        let (flags, rest) = rest.split_at(self.flagged.len());
        let (totals, rest) = rest.split_at(self.captured.len());
        let of_run = &rest[..self.of_run.len()];
        let present = |flag: &Var| Present { flag: flag.clone(), choose: cond_of };
        let flag_of = |known: &[usize], flags: &[Var], i: usize| {
            known.iter().position(|&known| known == i).map(|position| present(&flags[position]))
        };
        let mut all = vec![None; p.n_inputs()];
        for (&i, cotangent) in self.carried.iter().zip(cotangents) {
            let own = Sum { var: cotangent.clone(), present: flag_of(&self.flagged, flags, i) };
            all[1 + i] = Some(match self.sums[1 + i].clone() {
                Some(sum) => sum.plus(own)?,
                None => own,
            });
        }
        let mut any_trip: Option<Present> = None;
        for (&i, total) in self.captured.iter().zip(totals) {
            let before = self.sums[1 + i].as_ref().map(|sum| sum.present.clone());
            let present = match (flag_of(&self.of_run, of_run, i), before) {
                (_, Some(None)) => None,
                (Some(of_run), _) => Some(of_run),
                (None, before) if known(&p.x(0)) != Some(true) => {
                    let trips = match &any_trip {
                        Some(trips) => trips.clone(),
                        None => present(&gt(&p.y(op.n_carried), &Var::scalar(0i64))?),
                    };
                    any_trip = Some(trips.clone());
                    Some(match before.flatten() {
                        Some(before) => before.or(&trips)?,
                        None => trips,
                    })
                }
                (None, _) => None,
            };
            all[1 + i] = Some(Sum { var: total.clone(), present });
        }
        Ok(all)
    }

    /// What the loop begins with: the trips left, the way back through the last one, then what its contract says.
    fn init(&self) -> Result<Vec<Var>> {
        let (p, op) = (self.p, self.op);
        let first_list = op.n_carried + 1;
        let mut init = vec![p.y(op.n_carried), Var::scalar(0i64)];
        for &i in &self.carried {
            init.push(match &p.dys()[i] {
                Some(cotangent) => cotangent.clone(),
                None => nothing(&p.y(i))?,
            });
        }
        init.extend(self.flagged.iter().map(|&i| Var::scalar(p.dys()[i].is_some())));
        for &i in &self.captured {
            init.push(match &self.sums[1 + i] {
                Some(sum) => sum.var.clone(),
                None => nothing(&p.x(1 + i))?,
            });
        }
        init.extend(self.of_run.iter().map(|&i| match &self.sums[1 + i] {
            Some(Sum { present: Some(present), .. }) => present.flag.clone(),
            _ => Var::scalar(false),
        }));
        for &i in &op.given {
            init.push(match p.dys().get(first_list + i) {
                Some(Some(cotangent)) => cotangent.clone(),
                _ => zeros_like(&p.y(first_list + i))?,
            });
        }
        let stacked = op.residuals.iter().filter(|&&source| source < 0);
        init.extend(stacked.map(|&source| p.y(first_list + (-1 - source) as usize)));
        Ok(init)
    }

    fn n_sums(&self) -> usize {
        self.carried.len() + self.flagged.len() + self.captured.len() + self.of_run.len()
    }

    /// The way back through one trip.
    fn trip(&self, values: &[Var]) -> Result<Vec<Var>> {
        let (sums, lists) = values[2..].split_at(self.n_sums());
        let (mut rests, mut tops) = (Vec::new(), Vec::new());
        for list in lists {
            let (rest, top) = list_pop(list)?;
            rests.push(rest);
            tops.push(top);
        }
        let mut next = vec![&values[0] - 1.0];
        let n = self.op.next.len();
        let later = || self.choose(&values[1], 0, n, sums, &tops);
        next.extend(match self.op.reverses.len() > n {
            true => {
                let is_first_trip = eq(&values[0], &Var::scalar(1i64))?;
                cond(&is_first_trip, || self.choose(&values[1], n, 2 * n, sums, &tops), later)?
            }
            false => later()?,
        });
        next.extend(rests);
        Ok(next)
    }

    /// By the number of the way, between these: that of the trip before, then what it makes of the sums.
    fn choose(
        &self,
        way: &Var,
        first: usize,
        end: usize,
        sums: &[Var],
        tops: &[Var],
    ) -> Result<Vec<Var>> {
        if first + 1 == end {
            return self.go(first, sums, tops);
        }
        let is_first = eq(way, &Var::scalar((first % self.op.next.len()) as i64))?;
        let rest = || self.choose(way, first + 1, end, sums, tops);
        cond(&is_first, || self.go(first, sums, tops), rest)
    }

    fn go(&self, way: usize, sums: &[Var], tops: &[Var]) -> Result<Vec<Var>> {
        let (p, op) = (self.p, self.op);
        let (cotangents, rest) = sums.split_at(self.carried.len());
        let (flags, rest) = rest.split_at(self.flagged.len());
        let (totals, of_run) = rest.split_at(self.captured.len());
        let at = |known: &[usize], vars: &[Var], i: usize| {
            known.iter().position(|&known| known == i).map(|position| vars[position].clone())
        };
        let yes = || Var::scalar(true);
        let mut args: Vec<Var> = Vec::new();
        let seeds = op.seeds_of(way);
        args.extend(seeds.iter().filter_map(|&(i, _)| at(&self.carried, cotangents, i)));
        args.extend(tops[..op.given.len()].iter().cloned());
        let seeds_of_run = seeds.iter().filter(|(_, of_run)| *of_run);
        args.extend(seeds_of_run.map(|&(i, _)| at(&self.flagged, flags, i).unwrap_or_else(yes)));
        let summed = || op.wanted.iter().copied().filter(|&i| i >= op.n_carried);
        // No way adds anything to the others, and none reads what stands for their sums.
        args.extend(summed().map(|i| at(&self.captured, totals, i).unwrap_or_else(|| p.x(1 + i))));
        args.extend(summed().map(|i| at(&self.of_run, of_run, i).unwrap_or_else(yes)));
        let mut popped = tops[op.given.len()..].iter();
        for &source in &op.residuals {
            match usize::try_from(source) {
                Ok(param) => args.push(p.x(1 + param)),
                Err(_) => args.extend(popped.next().cloned()),
            }
        }
        let results = op.reverses[way].apply(&args.iter().collect::<Vec<_>>())?;
        let (found, found_flags) = results.split_at(op.found[way].len());
        let total = |i: usize| at(&op.found[way], found, i);
        let flag = |i: usize| match op.is_certain(way, i) {
            true => Some(yes()),
            false => at(&op.of_run[way], found_flags, i),
        };
        let mut next = vec![Var::scalar(op.next[way % op.next.len()] as i64)];
        for (&i, before) in self.carried.iter().zip(cotangents) {
            next.push(total(i).map_or_else(|| nothing(before), Ok)?);
        }
        let no = || Var::scalar(false);
        next.extend(self.flagged.iter().map(|&i| flag(i).unwrap_or_else(no)));
        for (&i, before) in self.captured.iter().zip(totals) {
            next.push(total(i).unwrap_or_else(|| before.clone()));
        }
        for (&i, before) in self.of_run.iter().zip(of_run) {
            next.push(flag(i).unwrap_or_else(|| before.clone()));
        }
        Ok(next)
    }
}

impl While {
    /// Whether a way back adds something to a parameter in any run.
    fn is_certain(&self, way: usize, param: usize) -> bool {
        self.found[way].contains(&param) && !self.of_run[way].contains(&param)
    }
}

/// What a condition is, where it is known while a program is built.
fn known(condition: &Var) -> Option<bool> {
    known_value(condition)?.item().ok()
}
