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
    /// Whether results keep their bits. A pass that is not exact changes the last ones of what it touches, and
    /// runs only if [`Options::fast`](crate::Options::fast) allows it.
    pub exact: bool,
    pub(crate) run: fn(&Block, &mut Patches) -> Result<Block>,
}

/// The passes, in the order in which they run.
pub fn pipeline() -> &'static [Pass] {
    &[
        Pass {
            name: "dead code",
            why: "first, so that nothing below works for outputs that nobody wants",
            exact: true,
            run: passes::dead::run,
        },
        Pass {
            name: "carried for nobody",
            why: "what loops need not carry must not look used to what follows",
            exact: true,
            run: passes::carried::run,
        },
        Pass {
            name: "fold constants",
            why: "numbers that are known now make more simplifications possible",
            exact: true,
            run: passes::fold::run,
        },
        Pass {
            name: "simplify",
            why: "ops say what they are in their surroundings: `x * 1`, a view of a view",
            exact: true,
            run: passes::simplify::run,
        },
        Pass {
            name: "common subexpressions",
            why: "after simplifying, which makes equal what was written differently",
            exact: true,
            run: passes::common::run,
        },
        Pass {
            name: "recognise",
            why: "one op for what was spelled with small ones; after equal values have become one, and before \
                  loops and fusion take the spelling apart",
            exact: false,
            run: passes::recognise::run,
        },
        Pass {
            name: "scales into weights",
            why: "before ops are fused with what follows them",
            exact: false,
            run: passes::scales::run,
        },
        Pass {
            name: "hoist out of loops",
            why: "what a loop computes alike in each trip; after it has been found to be one value",
            exact: true,
            run: passes::hoist::run,
        },
        Pass {
            name: "clean up",
            why: "what the passes above left unused must not look used to fusion",
            exact: true,
            run: passes::dead::run,
        },
        Pass {
            name: "states apart",
            why: "reads first and assignments last, so that they do not part what can be fused",
            exact: true,
            run: passes::states::run,
        },
        Pass {
            name: "epilogues",
            why: "what follows a product is done while it is in the cache; fusion would hide it",
            exact: true,
            run: passes::epilogues::run,
        },
        Pass {
            name: "fuse elementwise",
            why: "fused ops are opaque to the passes above",
            exact: true,
            run: passes::fuse::run,
        },
        Pass {
            name: "fuse reductions",
            why: "after elementwise ops have become one, so that all of them are in",
            exact: true,
            run: passes::reductions::run,
        },
        Pass {
            name: "clean up after fusion",
            why: "what only fused ops had used",
            exact: true,
            run: passes::dead::run,
        },
        Pass {
            name: "order",
            why: "what frees memory, and assignments of states, as soon as they can be done",
            exact: true,
            run: passes::order::run,
        },
        Pass {
            name: "recompute",
            why: "last, since it needs to know where most memory is in use",
            exact: true,
            run: |block, patches| Ok(recompute_cheap(block, patches)),
        },
    ]
}
