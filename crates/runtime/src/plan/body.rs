//! The plans of a block that an op runs: one for each set of sizes.

use std::sync::Arc;

use fluvial_core::{Attr, Block, Cache, Call, Dim, Result, Sizes, Type};

use super::peak::Needs;
use super::{Memory, Plan};

/// A block of an op, and its plans.
pub(super) struct Body {
    block: Arc<Block>,
    /// By parameter: whether it is given away.
    donated: Vec<bool>,
    /// The symbols that occur in it.
    symbols: Vec<Dim>,
    /// Plans by what the symbols stand for.
    plans: Cache<Sizes, Arc<Plan>>,
}

/// Plans for more sizes than this are made again when they are needed.
const MAX_PLANS: usize = 32;

impl Body {
    /// For a block of this call. The plan is made at once if all sizes are known.
    pub fn new(block: &Arc<Block>, call: &Call) -> Result<Body> {
        let mut symbols: Vec<Dim> = Vec::new();
        collect(block, &mut symbols);
        // A loop gives the values that it carries away.
        let donated = call.op.carries().map_or(0, |carries| carries.params + carries.count);
        let donated = vec![true; donated];
        let body = Body { block: block.clone(), donated, symbols, plans: Cache::new(MAX_PLANS) };
        if !block.is_symbolic() {
            body.plan(&Sizes::default())?;
        }
        Ok(body)
    }

    /// Whether some sizes are not the same in every run.
    pub fn is_open(&self) -> bool {
        self.block.is_symbolic()
    }

    /// What is known of the sizes on arguments of these types, `outer` being what is known around the block.
    pub fn sizes(&self, outer: &Sizes, args: impl Iterator<Item = Type>) -> Result<Sizes> {
        let mut sizes: Sizes =
            outer.iter().filter(|(symbol, _)| self.symbols.contains(symbol)).collect();
        for (declared, found) in self.block.param_types().iter().zip(args) {
            sizes.unify(declared, &found)?;
        }
        Ok(sizes)
    }

    /// What a run of the block needs, as far as its sizes are known.
    pub fn held(&self) -> Needs {
        // Of sizes that only a run knows, those that it had last.
        let plan = self.plans.find(|_, _| true);
        let held = plan.map_or(Needs::default(), |plan| plan.held(&self.donated));
        Needs { is_open: held.is_open || self.is_open(), ..held }
    }

    /// The plan for these sizes.
    pub fn plan(&self, sizes: &Sizes) -> Result<Arc<Plan>> {
        let memory = Memory { limit: None, donated: &self.donated };
        self.plans.get_or(sizes, || Plan::new(&self.block, sizes, memory).map(Arc::new))
    }
}

/// Adds the symbols of a block: of its values, and of what its ops say.
fn collect(block: &Block, to: &mut Vec<Dim>) {
    block.types.iter().flat_map(Type::dims).for_each(|&dim| add(dim, to));
    for call in &block.calls {
        call.op.attrs().iter().for_each(|(_, attr)| collect_attr(attr, to));
    }
}

fn collect_attr(attr: &Attr, to: &mut Vec<Dim>) {
    match attr {
        Attr::Dim(dim) => add(*dim, to),
        Attr::Type(ty) => ty.dims().iter().for_each(|&dim| add(dim, to)),
        Attr::List(items) => items.iter().for_each(|item| collect_attr(item, to)),
        Attr::Block(block) => collect(block, to),
        _ => {}
    }
}

fn add(dim: Dim, to: &mut Vec<Dim>) {
    for symbol in dim.symbols() {
        if !to.contains(&symbol) {
            to.push(symbol);
        }
    }
}
