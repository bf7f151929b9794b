//! What a program leaves of gradients behind, also one that fails.

use std::sync::Arc;

use fluvial_tensor::{Result, Tensor};

use super::faults::note_value;
use super::frame::Frame;
use super::grads::{self, There};
use super::states::{read_cell, root};
use super::with_frames;
use crate::cell::Cell;
use crate::program::Role;
use crate::value::Value;
use crate::var::Var;

/// What the note is called whose number says which gradients there are.
const LEFT: &str = "@grads";

/// The gradients of parameters that a program asks for and leaves behind.
#[derive(Clone, Default)]
pub struct Gradients {
    all: Vec<Gradient>,
    /// By the number in a note: what there is of gradients where a call may fail.
    left: Vec<Vec<Left>>,
}

/// What there is of a gradient where a call may fail.
#[derive(Clone)]
pub(crate) struct Left {
    name: Arc<str>,
    there: There,
    /// The block that knows it, and the one in which the call stands.
    frame: u64,
    at: u64,
    /// Whether only states say what it is, since a loop changes it.
    is_state: bool,
}

#[derive(Clone)]
struct Gradient {
    name: Arc<str>,
    of: Cell,
    /// Whether there was one when the program was built, if it asked.
    before: Option<bool>,
    /// Whether there is one behind it, if it has changed that.
    after: Option<There>,
    /// The state that says whether there is one.
    flag: Option<Cell>,
}

impl Gradient {
    /// Forgets it where there is none.
    fn settle(&self, there: There) {
        let is_none = || {
            let flag = self.flag.as_ref().and_then(|flag| flag.here().get());
            flag.is_some_and(|flag| flag.item::<bool>().is_ok_and(|there| !there))
        };
        if there == There::No || there == There::OfRun && is_none() {
            self.of.set_grad(None);
        }
    }
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
                let (of, _) = root.cell_of(name)?;
                let after = marks.get(name).map(|mark| mark.there);
                let (before, flag) = (root.asked.get(name).copied(), root.flags.get(name).cloned());
                Some(Gradient { name: name.clone(), of, before, after, flag })
            };
            let all = names.into_iter().filter_map(gradient).collect();
            Some(Gradients { all, left: root.left.clone() })
        });
        found.unwrap_or_default()
    }

    /// Whether the program being built leaves gradients in leaves.
    pub fn are_left() -> bool {
        with_frames(|frames| root(frames).is_ok_and(|root| root.goes_back))
    }

    /// Whether they are, among others, that of a cell.
    pub fn concern(&self, cell: &Cell) -> bool {
        self.all.iter().any(|one| one.of.same(cell))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether parameters have gradients now where they had some when the program was built.
    pub fn hold(&self) -> bool {
        self.all.iter().all(|one| one.before.is_none_or(|before| one.of.grad().is_some() == before))
    }

    /// Forgets those that are not there behind the program. Has to be called after a run.
    pub fn settle(&self) {
        for one in &self.all {
            one.after.into_iter().for_each(|there| one.settle(there));
        }
    }

    /// Which there are, before a run. The states say so, too.
    pub fn present(&self) -> Vec<bool> {
        let present = |one: &Gradient| {
            let present = one.of.grad().is_some();
            if let Some(flag) = &one.flag {
                flag.here().put(Role::Buffer, Tensor::scalar(present));
            }
            present
        };
        self.all.iter().map(present).collect()
    }

    /// Leaves what the lines before the fault have left. Has to be called after a run that failed, with what was
    /// [present](Gradients::present) before it, and what its notes say, those of the innermost block first.
    pub fn settle_failed(&self, before: &[bool], told: &[(Arc<str>, Value)]) {
        let find = |name: &str| told.iter().find(|(known, _)| &**known == name).map(|(_, v)| v);
        let number = find(LEFT).and_then(|value| value.tensor().ok()?.item::<i64>().ok());
        let left = number.and_then(|number| self.left.get(number as usize));
        for (one, before) in self.all.iter().zip(before) {
            let left = left.and_then(|left| left.iter().find(|left| left.name == one.name));
            let there = match (left, &one.flag) {
                (Some(left), _) => left.there,
                (None, Some(_)) => There::OfRun,
                (None, None) if *before => There::Yes,
                (None, None) => There::No,
            };
            let is_noted = left.is_some_and(|left| !left.is_state) && there == There::Yes;
            match find(&noted(&one.name)).filter(|_| is_noted) {
                Some(value) => one.of.set_grad(Some(Var::new(value.clone()))),
                None => one.settle(there),
            }
        }
    }
}

fn noted(name: &str) -> String {
    format!("@grad:{name}")
}

/// Has the notes of the body of a loop say that states are a gradient, where the body has not set it yet: in another trip
/// than the first it is what the body leaves.
pub(super) fn of_trips(body: u64, name: &Arc<str>, there: Option<There>) {
    with_frames(|frames| {
        let Ok(root) = root(frames) else { return };
        let is_meant =
            |left: &&mut Left| left.name == *name && left.at >= body && left.frame < body;
        for left in root.left.iter_mut().flatten().filter(is_meant) {
            (left.there, left.is_state) = (there.unwrap_or(left.there), true);
        }
    });
}

/// Notes what there is of gradients, for a run that fails at the next call.
pub(super) fn note() -> Result<()> {
    let is_known = with_frames(|frames| frames.iter().all(|frame| frame.marks.is_empty()));
    if is_known {
        return Ok(());
    }
    let mut all: Vec<(Arc<str>, usize)> = Vec::new();
    let (top, is_nested) = with_frames(|frames| {
        for (level, frame) in frames.iter().enumerate().rev() {
            let known = frame.marks.iter().filter(|(_, mark)| mark.set || mark.held[0]);
            for (name, _) in known {
                if !all.iter().any(|(other, _)| other == name) {
                    all.push((name.clone(), level));
                }
            }
        }
        (frames.len().saturating_sub(1), frames.last().is_some_and(Frame::is_nested))
    });
    let is_told = |name: &Arc<str>| {
        with_frames(|frames| {
            frames.iter().rev().find_map(|frame| frame.marks.get(name).map(|m| m.told))
        })
    };
    if all.iter().all(|(name, _)| is_told(name) == Some(true)) {
        return Ok(());
    }
    let mut left = Vec::new();
    for (name, level) in &all {
        let mark = with_frames(|frames| frames[*level].marks[name].clone());
        let (frame, at) = with_frames(|frames| (frames[*level].id, frames[top].id));
        left.push(Left { name: name.clone(), there: mark.there, frame, at, is_state: false });
        if is_told(name) == Some(true) {
            continue;
        }
        let cell = with_frames(|frames| root(frames).ok()?.cell_of(name));
        let Some((cell, _)) = cell else { continue };
        if mark.there == There::Yes {
            let value = match &mark.value {
                Some(value) => value.clone(),
                None => read_cell(&cell.grad_cell())?,
            };
            note_value(&noted(name), &value)?;
        }
        if is_nested && *level == top {
            // An attempt around it gives the states that the notes of its body say.
            grads::hold(name, &cell, true)?;
        }
        with_frames(|frames| {
            let Some(frame) = frames.last_mut() else { return };
            let known = frame.marks.get(name).cloned();
            let below =
                || grads::Mark { set: false, asked: false, held: [false; 2], ..mark.clone() };
            let known = known.unwrap_or_else(below);
            frame.marks.insert(name.clone(), grads::Mark { told: true, ..known });
        });
    }
    let number = with_frames(|frames| {
        let root = root(frames)?;
        root.left.push(left);
        Ok(root.left.len() - 1)
    })?;
    note_value(LEFT, &Var::scalar(number as i64))
}
