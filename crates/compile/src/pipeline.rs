//! The passes in order.

use fluvial_core::{Block, Result};

use crate::driver::Patches;
use crate::passes;
use crate::recompute::recompute_cheap;

/// A pass over blocks.
#[derive(Clone, Copy)]
pub struct Pass {
    /// The name in listings, logs and options.
    pub name: &'static str,
    /// Why it stands where it stands.
    pub why: &'static str,
    pub(crate) run: fn(&Block, &mut Patches) -> Result<Block>,
}

/// The passes, in the order in which they run.
pub fn pipeline() -> &'static [Pass] {
    &[
        Pass {
            name: "dead code",
            why: "first, so that nothing below works for outputs that nobody wants",
            run: passes::dead::run,
        },
        Pass {
            name: "fold constants",
            why: "numbers that are known now make more simplifications possible",
            run: passes::fold::run,
        },
        Pass {
            name: "simplify",
            why: "ops say what they are in their surroundings: `x * 1`, a view of a view",
            run: passes::simplify::run,
        },
        Pass {
            name: "common subexpressions",
            why: "after simplifying, which makes equal what was written differently",
            run: passes::common::run,
        },
        Pass {
            name: "hoist out of loops",
            why: "what a loop computes alike in each trip; after it has been found to be one value",
            run: passes::hoist::run,
        },
        Pass {
            name: "clean up",
            why: "what the passes above left unused must not look used to fusion",
            run: passes::dead::run,
        },
        Pass {
            name: "states apart",
            why: "reads first and assignments last, so that they do not part what can be fused",
            run: passes::states::run,
        },
        Pass {
            name: "epilogues",
            why: "what follows a product is done while it is in the cache; fusion would hide it",
            run: passes::epilogues::run,
        },
        Pass {
            name: "fuse elementwise",
            why: "fused ops are opaque to the passes above",
            run: passes::fuse::run,
        },
        Pass {
            name: "fuse reductions",
            why: "after elementwise ops have become one, so that all of them are in",
            run: passes::reductions::run,
        },
        Pass {
            name: "clean up after fusion",
            why: "what only fused ops had used",
            run: passes::dead::run,
        },
        Pass {
            name: "order",
            why: "what frees memory, and assignments of states, as soon as they can be done",
            run: passes::order::run,
        },
        Pass {
            name: "recompute",
            why: "last, since it needs to know where most memory is in use",
            run: |block, patches| Ok(recompute_cheap(block, patches)),
        },
    ]
}
