//! The plans of a block that an op runs: one for each set of sizes.

use std::sync::{Arc, Mutex, PoisonError};

use fluvial_core::{Block, Call, Dim, Result, Sizes, Type};

use super::{Memory, Plan};

/// A block of an op, and its plans.
pub(super) struct Body {
    block: Arc<Block>,
    /// By parameter: whether it is given away.
    donated: Vec<bool>,
    /// The symbols that stand for sizes of its values.
    symbols: Vec<Dim>,
    /// Plans by what the symbols stand for, the latest first.
    plans: Mutex<Vec<(Sizes, Arc<Plan>)>>,
}

/// Plans for more sizes than this are made again when they are needed.
const MAX_PLANS: usize = 32;

impl Body {
    /// For a block of this call. The plan is made at once if all sizes are known.
    pub fn new(block: &Arc<Block>, call: &Call) -> Result<Body> {
        let mut symbols: Vec<Dim> = Vec::new();
        for symbol in block.types.iter().flat_map(Type::dims).flat_map(|dim| dim.symbols()) {
            if !symbols.contains(&symbol) {
                symbols.push(symbol);
            }
        }
        // A loop gives the values that it carries away.
        let donated = call.op.carries().map_or(0, |carries| carries.params + carries.count);
        let body = Body {
            block: block.clone(),
            donated: vec![true; donated],
            symbols,
            plans: Mutex::default(),
        };
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

    /// The plan for these sizes.
    pub fn plan(&self, sizes: &Sizes) -> Result<Arc<Plan>> {
        let lock = || self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut plans = lock();
            if let Some(at) = plans.iter().position(|(known, _)| known == sizes) {
                plans[..=at].rotate_right(1);
                return Ok(plans[0].1.clone());
            }
        }
        let plan = Arc::new(Plan::new(
            &self.block,
            sizes,
            Memory { limit: None, donated: &self.donated },
        )?);
        let mut plans = lock();
        plans.insert(0, (sizes.clone(), plan.clone()));
        plans.truncate(MAX_PLANS);
        Ok(plan)
    }
}
