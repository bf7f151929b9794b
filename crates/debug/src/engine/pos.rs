//! Where in its history a program is.

use smallvec::SmallVec;

/// A point of a run. Later ones are greater: positions are compared number by number.
///
/// The first number is that of the run. Then come, for each block under way, the position of the step, and which visit
/// of the step's blocks it is: 0 if it has not entered any yet, the number of the trip for loops.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pos(SmallVec<[u64; 10]>);

/// The visit of a step that has run.
const AFTER: u64 = u64::MAX;

impl Pos {
    /// The start of a run.
    pub fn of_run(run: u64) -> Pos {
        Pos(SmallVec::from_slice(&[run]))
    }

    /// Of the numbers that it consists of.
    pub fn of(numbers: &[u64]) -> Pos {
        Pos(SmallVec::from_slice(numbers))
    }

    /// Goes into a block: the step at `index`, at its visit `visit`.
    pub fn push(&mut self, index: usize, visit: u64) {
        self.0.extend([index as u64, visit]);
    }

    /// The same step, having run.
    pub fn after(mut self) -> Pos {
        if let Some(visit) = self.0.last_mut() {
            *visit = AFTER;
        }
        self
    }

    /// The same step, before it has entered any block.
    pub fn before(mut self) -> Pos {
        if let Some(visit) = self.0.last_mut() {
            *visit = 0;
        }
        self
    }

    /// A point behind all others.
    pub fn end() -> Pos {
        Pos::of_run(u64::MAX)
    }

    /// The numbers that it consists of.
    pub fn numbers(&self) -> &[u64] {
        &self.0
    }

    /// Whether this is a step that has run.
    pub fn is_after(&self) -> bool {
        self.0.last() == Some(&AFTER)
    }

    /// The number of the run.
    pub fn run(&self) -> u64 {
        self.0.first().copied().unwrap_or(0)
    }

    /// Whether `inner` lies within the blocks of the step here, which has not entered any yet.
    pub fn contains(&self, inner: &Pos) -> bool {
        let Some((_, step)) = self.0.split_last() else { return false };
        inner.0.len() > self.0.len() && inner.0.starts_with(step)
    }
}

#[cfg(test)]
mod tests {
    use super::Pos;

    fn pos(numbers: &[u64]) -> Pos {
        Pos(numbers.into())
    }

    #[test]
    fn positions_follow_the_run() {
        let in_order = [
            pos(&[1]),
            pos(&[1, 0, 0]),
            pos(&[1, 3, 0]),
            pos(&[1, 3, 1, 0, 0]),
            pos(&[1, 3, 1, 5, 0]),
            pos(&[1, 3, 1, 5, 0]).after(),
            pos(&[1, 3, 2, 0, 0]),
            pos(&[1, 3, 0]).after(),
            pos(&[1, 4, 0]),
            pos(&[2]),
        ];
        assert!(in_order.is_sorted());
    }

    #[test]
    fn a_step_contains_what_its_blocks_do() {
        let step = pos(&[1, 3, 0]);
        assert!(step.contains(&pos(&[1, 3, 2, 7, 0])));
        assert!(!step.contains(&pos(&[1, 3, 0])));
        assert!(!step.contains(&pos(&[1, 4, 2, 7, 0])));
        assert!(!step.contains(&step.clone().after()));
    }
}
