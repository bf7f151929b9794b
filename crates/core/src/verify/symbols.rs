//! Which symbols are in use, and which of them have a value, at one point of a program.

use std::cell::Cell;
use std::collections::HashMap;

use fluvial_tensor::{Dim, Type};

/// The symbols in scope.
#[derive(Default)]
pub(super) struct Scope {
    /// In use; true if bound, false if met in elements of lists only.
    known: HashMap<Dim, bool>,
    /// What was there before each change, to go back.
    log: Vec<(Dim, Option<bool>)>,
}

impl Scope {
    /// Where the scope stands now.
    pub fn mark(&self) -> usize {
        self.log.len()
    }

    /// Goes back to where the scope stood.
    pub fn reset(&mut self, mark: usize) {
        for (symbol, before) in self.log.drain(mark..).rev() {
            match before {
                Some(bound) => self.known.insert(symbol, bound),
                None => self.known.remove(&symbol),
            };
        }
    }

    pub fn is_known(&self, symbol: Dim) -> bool {
        self.known.contains_key(&symbol)
    }

    pub fn bind(&mut self, symbol: Dim) {
        self.set(symbol, true);
    }

    fn set(&mut self, symbol: Dim, bound: bool) {
        let before = self.known.get(&symbol).copied();
        if before.is_none_or(|before| bound && !before) {
            self.known.insert(symbol, bound);
            self.log.push((symbol, before));
        }
    }

    /// Binds the symbols that are sizes of `ty` by themselves and for which `may` holds.
    pub fn bind_sizes(&mut self, ty: &Type, may: impl Fn(Dim) -> bool) {
        if ty.is_list() {
            return;
        }
        for &dim in ty.dims() {
            if dim.is_symbolic() && dim.symbol_name().is_some() && may(dim) {
                self.bind(dim);
            }
        }
    }

    /// The symbols of a list's elements are in use from here on.
    pub fn note_elements(&mut self, ty: &Type) {
        if ty.is_list() {
            for symbol in symbols(ty) {
                self.set(symbol, false);
            }
        }
    }

    /// A symbol of `dim` that is not bound.
    pub fn unbound(&self, dim: Dim) -> Option<Dim> {
        if self.known.get(&dim) == Some(&true) {
            return None;
        }
        dim.symbols().into_iter().find(|symbol| self.known.get(symbol) != Some(&true))
    }
}

/// The symbols of a type.
pub(super) fn symbols(ty: &Type) -> Vec<Dim> {
    ty.dims().iter().flat_map(|dim| dim.symbols()).collect()
}

/// Whether a placeholder occurs in the size.
pub(super) fn has_placeholder(dim: Dim) -> bool {
    let found = Cell::new(false);
    let look = |atom: Dim| {
        found.set(found.get() || atom.fresh_index().is_some());
        None
    };
    // The answer stands in the flag: nothing is replaced, so nothing can fail on the way.
    let unchanged = dim.substitute(&look);
    found.get() || unchanged.is_err()
}
