//! The table of everything symbolic. Entries are never removed, and their number is bounded.

use super::Dim;
use super::poly::Poly;
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// What a negative [`Dim`] that is not a placeholder stands for.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// A bare symbol.
    Symbol(Arc<str>),
    /// The floor of a division that does not simplify; an atom of polynomials.
    Quotient(Poly, Poly),
    /// A polynomial that is neither a number nor a single atom.
    Sum(Poly),
}

const MAX_ENTRIES: usize = 1 << 20;
const MAX_NESTING: u32 = 16;
const MAX_WEIGHT: u32 = 4096;

/// How large an expression is when written out.
#[derive(Clone, Copy)]
struct Extent {
    /// Symbols and numbers written, with every shared part counted each time.
    weight: u32,
    /// Divisions inside divisions.
    nesting: u32,
}

#[derive(Default)]
struct Table {
    nodes: Vec<(Arc<Node>, Extent)>,
    ids: HashMap<Arc<Node>, usize>,
    symbols: HashMap<Arc<str>, usize>,
}

static TABLE: LazyLock<RwLock<Table>> = LazyLock::new(RwLock::default);

fn read<R>(f: impl FnOnce(&Table) -> R) -> R {
    f(&TABLE.read().unwrap_or_else(PoisonError::into_inner))
}

fn dim_of(id: usize) -> Dim {
    Dim(-1 - id as i64)
}

/// The node of a symbolic size; none for a plain size or a placeholder.
pub(super) fn node(dim: Dim) -> Option<Arc<Node>> {
    if dim.0 >= 0 || dim.fresh_index().is_some() {
        return None;
    }
    read(|table| table.nodes.get((-1 - dim.0) as usize).map(|(node, _)| node.clone()))
}

/// The size for a name that is known to be well formed.
pub(super) fn symbol(name: &str) -> Result<Dim> {
    if let Some(id) = read(|table| table.symbols.get(name).copied()) {
        return Ok(dim_of(id));
    }
    let name: Arc<str> = name.into();
    let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(&id) = table.symbols.get(&name) {
        return Ok(dim_of(id));
    }
    let id = table.push(Node::Symbol(name.clone()), Extent { weight: 1, nesting: 0 })?;
    table.symbols.insert(name, id);
    Ok(dim_of(id))
}

/// The size for a quotient or sum that is in canonical form.
pub(super) fn expression(node: Node) -> Result<Dim> {
    let (known, extent) = read(|table| (table.ids.get(&node).copied(), table.extent(&node)));
    if let Some(id) = known {
        return Ok(dim_of(id));
    }
    if extent.nesting > MAX_NESTING || extent.weight > MAX_WEIGHT {
        return Err(Error::symbolic("the symbolic size is too large an expression")
            .note(format!("at most {MAX_NESTING} nested divisions and {MAX_WEIGHT} symbols")));
    }
    let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(&id) = table.ids.get(&node) {
        return Ok(dim_of(id));
    }
    let id = table.push(node, extent)?;
    let node = table.nodes[id].0.clone();
    table.ids.insert(node, id);
    Ok(dim_of(id))
}

impl Table {
    fn push(&mut self, node: Node, extent: Extent) -> Result<usize> {
        if self.nodes.len() >= MAX_ENTRIES {
            return Err(Error::symbolic("there are too many different symbolic sizes")
                .note(format!("a process can hold {MAX_ENTRIES}")));
        }
        self.nodes.push((Arc::new(node), extent));
        Ok(self.nodes.len() - 1)
    }

    fn extent(&self, node: &Node) -> Extent {
        match node {
            Node::Symbol(_) => Extent { weight: 1, nesting: 0 },
            Node::Sum(poly) => self.extent_of_poly(poly),
            Node::Quotient(p, q) => {
                let (p, q) = (self.extent_of_poly(p), self.extent_of_poly(q));
                Extent {
                    weight: p.weight.saturating_add(q.weight),
                    nesting: p.nesting.max(q.nesting) + 1,
                }
            }
        }
    }

    fn extent_of_poly(&self, poly: &Poly) -> Extent {
        let mut total = Extent { weight: 0, nesting: 0 };
        for (monomial, _) in poly.terms() {
            total.weight = total.weight.saturating_add(1);
            for &(atom, power) in monomial {
                let known = usize::try_from(-1 - atom.0).ok().and_then(|id| self.nodes.get(id));
                let atom = known.map_or(Extent { weight: 1, nesting: 0 }, |&(_, extent)| extent);
                let weight = atom.weight.saturating_mul(u32::from(power));
                total.weight = total.weight.saturating_add(weight);
                total.nesting = total.nesting.max(atom.nesting);
            }
        }
        total
    }
}
