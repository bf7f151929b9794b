//! `list_get`: an element of a list by its place.

use super::{list_set, samples::list};
use crate::prelude::*;

/// The element of a list at a place, counted from the bottom. `place` is an `i64` scalar. Where the elements have open
/// sizes, each may have its own: the result then has sizes that only the run knows, unless `is_uniform` says that they
/// are those of the list's type.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let list = list_unstack(&Var::of(&[5.0, 6.0, 7.0], &[3])?, true)?;
/// assert_eq!(list_get(&list, &Var::scalar(1i64), true)?.item::<f64>()?, 6.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn list_get(list: &Var, place: &Var, is_uniform: bool) -> Result<Var> {
    bind1(ListGet { is_uniform }, &[list, place])
}

attributes! {
    /// The op behind [`list_get`].
    pub struct ListGet = "list_get" {
        /// Whether open sizes of the element are those of the list's type.
        pub is_uniform: bool,
    }
}

/// The elements of a list from the bottom up, and a place among them.
pub(super) fn placed(list: &Value, place: &Value) -> Result<(Vec<Value>, usize)> {
    let mut elements: Vec<Value> = list.list()?.iter().cloned().collect();
    elements.reverse();
    let wanted = place.tensor()?.item::<i64>()?;
    match usize::try_from(wanted).ok().filter(|&place| place < elements.len()) {
        Some(place) => Ok((elements, place)),
        None => {
            Err(Error::index(format!("place {wanted} of a list of {} elements", elements.len()))
                .remedy("places are counted from 0"))
        }
    }
}

/// The type of the elements of a list, if it is one, and the place is a number.
pub(super) fn element_of(list: &Type, place: &Type) -> Result<Type> {
    let Some(element) = list.element() else {
        return Err(Error::dtype(format!("expected a list, found {list}")));
    };
    match place.dtype() == DType::I64 && place.rank() == 0 && !place.is_list() {
        true => Ok(element),
        false => Err(Error::dtype(format!("a place in a list is i64[], found {place}"))),
    }
}

impl Op for ListGet {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let element = element_of(inputs[0], inputs[1])?;
        if self.is_uniform || element.is_list() {
            return Ok(smallvec![element]);
        }
        let open = |(axis, dim): (u8, &Dim)| match dim.is_symbolic() {
            true => Dim::fresh(axis),
            false => *dim,
        };
        let dims: Vec<Dim> = (0u8..).zip(element.dims()).map(open).collect();
        Ok(smallvec![element.with_dims(&dims)?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (mut elements, place) = placed(inputs[0], inputs[1])?;
        Ok(smallvec![elements.swap_remove(place)])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Index))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        bind(self.clone(), &[batch.given(0), batch.given(1)]).map(Some)
    }

    fn grad(&self) -> Grad {
        Grad::Rule(
            Keeps::INPUTS,
            |p| grads![p => list_set(&zeros_like(&p.x(0))?, &p.x(1), &p.dy()), None],
        )
    }

    fn kernel(&self, _: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        Ok(Some(Kernel::List(ListKernel::Get)))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ListGet::NAME, ListGet::build, || {
    let (a, b) = (f64s(&[1.0, 2.0], &[2]), f64s(&[3.0, 4.0], &[2]));
    let op = |is_uniform| ListGet { is_uniform };
    let at = |place: i64| i64s(&[place], &[]);
    vec![
        Sample::of_values(op(true), [list(&[&a, &b]), at(0).into()]).gives([a.clone()]),
        Sample::of_values(op(false), [list(&[&a, &b]), at(1).into()]).gives([b.clone()]),
        Sample::of_values(op(true), [list(&[&a, &b]), at(2).into()]).refused("place 2 of a list"),
        Sample::of_values(op(true), [list(&[&a, &b]), at(-1).into()]).refused("place -1"),
        Sample::of_values(op(true), [list(&[&a]), i64s(&[0], &[1]).into()])
            .refused("a place in a list is i64[]"),
        Sample::new(op(true), [a, at(0)]).refused("expected a list"),
    ]
});
