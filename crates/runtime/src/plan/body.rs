//! The plans of a block that an op runs: one for each set of sizes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fluvial_core::{Attr, Block, Cache, Call, Dim, Result, Sizes, Type};

use super::peak::Needs;
use super::{Memory, Plan};

/// A block of an op, and its plans.
pub(super) struct Body {
    block: Arc<Block>,
    /// By parameter: whether it is given away.
    donated: Vec<bool>,
    /// How many of them a reader gives, which has the next ones ready.
    n_fields: usize,
    /// The symbols that occur in it.
    symbols: Vec<Dim>,
    /// Plans by what the symbols stand for.
    plans: Cache<Sizes, Arc<Plan>>,
    /// Whether there is a plan for all sizes that a reader gives.
    is_learnt: AtomicBool,
}

/// Plans for more sizes than this are made again when they are needed.
const MAX_PLANS: usize = 32;

impl Body {
    /// For a block of this call. The plan is made at once if all sizes are known.
    pub fn new(block: &Arc<Block>, call: &Call) -> Result<Body> {
        let mut symbols: Vec<Dim> = Vec::new();
        collect(block, &mut symbols);
        // A loop gives the values that it carries away.
        let (n_fields, n_carried) =
            call.op.carries().map_or((0, 0), |carries| (carries.params, carries.count));
        let donated = vec![true; n_fields + n_carried];
        let (plans, is_learnt) = (Cache::new(MAX_PLANS), AtomicBool::new(false));
        let body = Body { block: block.clone(), donated, n_fields, symbols, plans, is_learnt };
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
        // Of sizes that only a run knows, those that it had. The memory of each plan is kept.
        let is_open = self.is_open() && !self.is_learnt.load(Ordering::Relaxed);
        let mut all = Needs { is_open, ..Needs::default() };
        for plan in self.plans() {
            let held = plan.held(&self.donated);
            all.arenas += held.arenas;
            all.most = all.most.max(held.most + plan.bytes_of_params(self.n_fields));
            all.is_open |= held.is_open;
        }
        all
    }

    /// Notes that there is a plan for all sizes that a reader gives.
    pub fn learnt(&self) {
        self.is_learnt.store(true, Ordering::Relaxed);
    }

    /// The plans that were made so far.
    pub fn plans(&self) -> Vec<Arc<Plan>> {
        self.plans.values()
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
