//! `vmap`: a block that is traced for one element of a batch, applied to all of them at once.
//!
//! A batched value has the axis of the batch in front. First it is found out which values are batched (`batch_spread`), and
//! whether all calls can be; then the calls are applied (`batch_walk`): those without a batched input as they are, others by
//! the rule of their op ([`Op::batched`]), else once for each element by a loop, which is reported. Branches and loops
//! (`batch_control`) whose condition is batched run on the rows for which it holds, so no element computes what its own
//! lines would not, and gradients are exact. What cannot be batched call by call, such as a list of which each element
//! has a length of its own, is a loop over the whole block.

pub(crate) use crate::batch_rules::{
    axes_between, batch_of, channels_first, folded_in_first, in_batch, in_groups, numbers,
    slices_first,
};
use crate::batch_walk::Walk;
pub(crate) use crate::batch_walk::by_definition;
use crate::prelude::*;

/// What a draw of random numbers in a batch means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Randomness {
    /// It is refused.
    Refused,
    /// Each element has numbers of its own.
    Different,
    /// All elements have the same numbers.
    Same,
}

/// What a batched block gives.
pub struct Mapped {
    /// The results.
    pub results: Vec<Var>,
    /// Which of them have the axis of the batch.
    pub batched: Vec<bool>,
    /// What runs element by element: an op, and the line on which it was called.
    pub looped: Vec<(&'static str, Loc)>,
}

/// Applies a block, traced on the types of single elements, to arguments of which some have the axis of a batch of
/// this size in front. What it assigns to states must be the same for all elements.
#[track_caller]
pub fn vmap_of(
    traced: Traced,
    args: &[Var],
    batched: &[bool],
    size: Dim,
    randomness: Randomness,
) -> Result<Mapped> {
    let loc = scope::user_line();
    let _recording = enable_grad();
    let closed = close(vec![traced], Runs::One)?;
    let Some(block) = closed.blocks.first() else {
        return Err(Error::internal("a traced block is one block"));
    };
    if block.has_hooks() {
        return Err(Error::gradient(
            "a hook was put on a value of a mapped function, which has no gradient of its own",
        )
        .remedy("put it on an argument or on the result, outside")
        .at(loc));
    }
    let (n_args, n_states) = (args.len(), closed.states.len());
    let all: Vec<Var> =
        args.iter().chain(&closed.entries).chain(&closed.captures).cloned().collect();
    let mut flags = batched.to_vec();
    flags.resize(all.len(), false);
    let walk = Walk::new(size, randomness);
    let _line = at(loc);
    let (mut results, mut of_results) =
        walk.whole(block, &all, &flags, n_args..n_args + n_states)?;
    let assigned = results.split_off(results.len() - n_states);
    let differ = of_results.split_off(of_results.len() - n_states);
    for ((name, value), differs) in closed.states.iter().zip(&assigned).zip(differ) {
        if differs {
            return Err(Error::argument(format!(
                "the state `{name}` would have another value for each element of the batch"
            ))
            .remedy("return the value from the function instead of assigning it")
            .at(loc));
        }
        assign_state(name, value)?;
    }
    Ok(Mapped { results, batched: of_results, looped: walk.looped() })
}
