//! `list_set`: a list with another element at a place.

use super::list_get::{element_of, placed};
use super::list_push::{as_given, fits};
use super::{list_get, samples::list};
use crate::prelude::*;

/// The list with `x` at a place, counted from the bottom, where it has an element. `place` is an `i64` scalar.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let list = list_unstack(&Var::of(&[5.0, 6.0, 7.0], &[3])?, true)?;
/// let changed = list_set(&list, &Var::scalar(1i64), &Var::scalar(9.0))?;
/// assert_eq!(list_stack(&changed, Dim::size(3), true)?.to_vec::<f64>()?, [5.0, 9.0, 7.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn list_set(list: &Var, place: &Var, x: &Var) -> Result<Var> {
    bind1(ListSet {}, &[list, place, x])
}

attributes! {
    /// The op behind [`list_set`].
    pub struct ListSet = "list_set" {}
}

impl Op for ListSet {
    fn arity(&self) -> Arity {
        Arity::Exactly(3)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let element = element_of(inputs[0], inputs[1])?;
        if !fits(&element, inputs[2]) {
            return Err(Error::dtype(format!("a {} does not take a {}", inputs[0], inputs[2])));
        }
        Ok(smallvec![*inputs[0]])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (mut elements, place) = placed(inputs[0], inputs[1])?;
        elements[place] = inputs[2].clone();
        let element = inputs[0].list()?.element();
        Ok(smallvec![List::from_bottom(element, elements)?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Index))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        bind(self.clone(), &[batch.given(0), batch.given(1), &batch.full(2)?]).map(Some)
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::inputs(0b110), |p| {
            let (dy, place) = (p.dy(), p.x(1));
            grads![p =>
                list_set(&dy, &place, &zeros_like(&p.x(2))?),
                None,
                list_get(&dy, &place, true).and_then(|dx| as_given(dx, &p.in_type(2)?))
            ]
        })
    }

    fn kernel(&self, _: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        Ok(Some(Kernel::List(ListKernel::Set)))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ListSet::NAME, ListSet::build, || {
    let (a, b) = (f64s(&[1.0, 2.0], &[2]), f64s(&[3.0, 4.0], &[2]));
    let at = |place: i64| Value::from(i64s(&[place], &[]));
    let of = |place, x: &Tensor| {
        Sample::of_values(ListSet {}, [list(&[&a, &a]), at(place), x.clone().into()])
    };
    vec![
        of(0, &b).gives_values([list(&[&b, &a])]),
        of(1, &b).gives_values([list(&[&a, &b])]),
        of(2, &b).refused("place 2 of a list of 2 elements"),
        of(0, &f64s(&[1.0], &[])).refused("does not take"),
        Sample::new(ListSet {}, [a.clone(), i64s(&[0], &[]), b]).refused("expected a list"),
    ]
});
