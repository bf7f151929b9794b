//! The numbers under which a client asks for what is inside of something.
//!
//! They are good until the program goes on; then all are forgotten, and no later one is the same for long.

use fluvial_core::Value;

use crate::target::ScopeKind;

/// The most that is kept between two stops.
const MAX_NODES: usize = 200_000;
/// Numbers start anew above this one.
const MAX_BASE: i64 = 1 << 30;

/// Something that has variables inside.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// The variables of a scope of a frame of a thread.
    Scope { thread: u32, frame: usize, kind: ScopeKind },
    /// A value, or a part of it.
    Value(Part),
}

/// A value, a row of it, or a range of its rows.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The thread and the frame it was seen from.
    pub thread: u32,
    pub frame: usize,
    /// The scope it was seen in; none for results of expressions.
    pub scope: Option<ScopeKind>,
    /// The variable or expression.
    pub name: String,
    /// All of the value.
    pub root: Value,
    /// Which row of which row it is.
    pub index: Vec<usize>,
    /// Which of its rows it has, if not all.
    pub range: Option<(usize, usize)>,
    /// How many edits had been made when `root` was read.
    pub edits: usize,
}

/// What was told to the client since the program has stopped.
#[derive(Debug)]
pub(super) struct Handles {
    base: i64,
    nodes: Vec<Node>,
}

impl Handles {
    pub fn new() -> Handles {
        Handles { base: 1, nodes: Vec::new() }
    }

    /// A number for a node, or 0, which says that there is nothing inside, if there are too many.
    pub fn add(&mut self, node: Node) -> i64 {
        if self.nodes.len() >= MAX_NODES {
            return 0;
        }
        self.nodes.push(node);
        self.base + self.nodes.len() as i64 - 1
    }

    /// The node of a number.
    pub fn get(&self, handle: i64) -> Option<&Node> {
        let at = usize::try_from(handle.checked_sub(self.base)?).ok()?;
        self.nodes.get(at)
    }

    /// Puts a value that was read again in the place of the one that was kept.
    pub fn replace(&mut self, handle: i64, node: Node) {
        let at = handle.checked_sub(self.base).and_then(|at| usize::try_from(at).ok());
        if let Some(old) = at.and_then(|at| self.nodes.get_mut(at)) {
            *old = node;
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.base += self.nodes.len() as i64;
        if self.base > MAX_BASE {
            self.base = 1;
        }
        self.nodes = Vec::new();
    }
}
