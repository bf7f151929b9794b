//! Loops over elements.

use fluvial_core::{Dim, Result, Whole};

use crate::sizes::{in_c, whole_in_c};
use crate::writer::Writer;

/// What a loop reads or writes: where its first element is, and how far apart neighbours are along each axis.
#[derive(Clone, Debug)]
pub struct Walk {
    /// The pointer, in C.
    pub pointer: String,
    pub first: Whole,
    pub steps: Vec<Whole>,
}

/// Whether trips of loops may run in any order, and at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trips {
    /// One after the other.
    InOrder,
    /// Those of the innermost loop may.
    InnerApart,
    /// All may.
    Apart,
}

/// Axes that are gone through together.
#[derive(Clone, Debug)]
pub struct Nest {
    pub dims: Vec<Dim>,
    pub walks: Vec<Walk>,
    /// Whether the compiler is not to see that a walk goes backwards.
    pub hides_back: bool,
}

impl Nest {
    /// The nest without axes of one element, and with neighbouring axes as one where they can be.
    pub fn merged(dims: &[Dim], walks: Vec<Walk>) -> Result<Nest> {
        Nest::merged_by(dims, walks, |_, _| true)
    }

    /// The same, where `may` says which neighbouring axes may become one.
    pub fn merged_by(
        dims: &[Dim],
        walks: Vec<Walk>,
        may: impl Fn(usize, usize) -> bool,
    ) -> Result<Nest> {
        let mut axes: Vec<usize> = (0..dims.len()).filter(|&i| dims[i] != Dim::size(1)).collect();
        let mut sizes = dims.to_vec();
        let mut at = axes.len();
        while at > 1 {
            at -= 1;
            let (outer, inner) = (axes[at - 1], axes[at]);
            let mut fits = may(outer, inner);
            for walk in &walks {
                fits &= walk.steps[outer] == walk.steps[inner].mul(sizes[inner].into())?;
            }
            if fits {
                sizes[inner] = sizes[outer].mul(sizes[inner])?;
                axes.remove(at - 1);
            }
        }
        let pick =
            |walk: Walk| Walk { steps: axes.iter().map(|&i| walk.steps[i]).collect(), ..walk };
        Ok(Nest {
            dims: axes.iter().map(|&i| sizes[i]).collect(),
            walks: walks.into_iter().map(pick).collect(),
            hides_back: false,
        })
    }

    /// The element of a walk, in C, where the axes are counted by these variables.
    pub fn element(&self, walk: usize, counters: &[String]) -> String {
        let walk = &self.walks[walk];
        let mut index: Vec<String> = Vec::new();
        if walk.first != Whole::Number(0) {
            index.push(whole_in_c(walk.first));
        }
        for (step, counter) in walk.steps.iter().zip(counters) {
            match step {
                Whole::Number(0) => {}
                Whole::Number(1) => index.push(counter.clone()),
                Whole::Number(step) if self.hides_back && *step < 0 => {
                    index.push(format!("fl_back({step}) * {counter}"));
                }
                _ => index.push(format!("{} * {counter}", whole_in_c(*step))),
            }
        }
        match index.is_empty() {
            true => format!("{}[0]", walk.pointer),
            false => format!("{}[{}]", walk.pointer, index.join(" + ")),
        }
    }

    /// Opens a loop for each axis in `axes` and gives the variables that count them.
    pub fn open(&self, to: &mut Writer, axes: &[usize], trips: Trips) -> Vec<String> {
        let count = axes.iter().map(|&axis| in_c(self.dims[axis])).collect::<Vec<_>>().join(" * ");
        for (k, &axis) in axes.iter().enumerate() {
            let counter = format!("i{axis}");
            let is_inner = k + 1 == axes.len();
            match trips {
                Trips::Apart if k == 0 && is_inner => to.line(&format!("FL_APART({count})")),
                Trips::Apart if k == 0 => to.line(&format!("FL_PARALLEL({count})")),
                Trips::Apart | Trips::InnerApart if is_inner => to.line("FL_IVDEP"),
                _ => {}
            }
            to.open(&format!(
                "for (int64_t {counter} = 0; {counter} < {}; {counter}++) {{",
                in_c(self.dims[axis])
            ));
        }
        (0..self.dims.len()).map(|axis| format!("i{axis}")).collect()
    }
}
