//! `gather_tree`: whole sentences from the steps of a beam search with beams of equal width.

use crate::prelude::*;

/// The numbers along each path that a beam search has kept: `ids` and `parents` are `[steps, batch, beams]`;
/// `parents` says which beam of the step before each continues.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let ids = Var::of(&[2i64, 3, 4, 5], &[2, 1, 2])?;
/// let parents = Var::of(&[0i64, 0, 1, 0], &[2, 1, 2])?;
/// assert_eq!(gather_tree(&ids, &parents)?.to_vec::<i64>()?, [3, 2, 4, 5]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn gather_tree(ids: &Var, parents: &Var) -> Result<Var> {
    bind1(GatherTree {}, &[ids, parents])
}

attributes! {
    /// The op behind [`gather_tree`].
    pub struct GatherTree = "gather_tree" {}
}

impl Op for GatherTree {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let fits = inputs[0] == inputs[1]
            && inputs[0].rank() == 3
            && inputs[0].dtype() == DType::I64
            && !inputs[0].is_list();
        match fits {
            true => Ok(smallvec![*inputs[0]]),
            false => Err(Error::shape(format!(
                "expected numbers and parents i64[steps, batch, beams], found {} and {}",
                inputs[0], inputs[1]
            ))),
        }
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (ids, parents) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let &[steps, batch, beams] = ids.dims() else {
            return Err(Error::internal("the types have been judged"));
        };
        let (numbers, parents) = (ids.to_vec::<i64>()?, parents.to_vec::<i64>()?);
        let mut found = vec![0; numbers.len()];
        for item in 0..batch {
            for beam in 0..beams {
                let mut at = beam;
                for step in (0..steps).rev() {
                    let row = (step * batch + item) * beams;
                    found[row + beam] = numbers[row + at];
                    let parent = parents[row + at];
                    at = match usize::try_from(parent) {
                        Ok(parent) if parent < beams => parent,
                        // Nothing stands before the first step.
                        _ if step == 0 => at,
                        _ => {
                            return Err(Error::index(format!(
                                "parent {parent} at step {step} is none of {beams} beams"
                            )));
                        }
                    };
                }
            }
        }
        Ok(smallvec![Tensor::from_vec(found, ids.dims())?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Index))
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("numbers of words are integers")
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(GatherTree::NAME, GatherTree::build, || {
    let ids = i64s(&[2, 2, 6, 1, 3, 9, 6, 1, 0, 1, 9, 0], &[3, 2, 2]);
    let parents = i64s(&[0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1], &[3, 2, 2]);
    vec![
        Sample::new(GatherTree {}, [ids.clone(), parents])
            .gives([i64s(&[2, 2, 6, 6, 3, 3, 6, 1, 0, 1, 9, 0], &[3, 2, 2])]),
        Sample::new(GatherTree {}, [ids.clone(), i64s(&[2; 12], &[3, 2, 2])])
            .refused("parent 2 at step 2 is none of 2 beams"),
        Sample::new(GatherTree {}, [ids, ramp(&[3, 2, 2])]).refused("[steps, batch, beams]"),
    ]
});
