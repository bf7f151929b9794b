//! `list_new`: the empty list.

use crate::prelude::*;

/// The empty list of elements of type `element`.
#[track_caller]
pub fn list_new(element: Type) -> Result<Var> {
    bind1(ListNew { element }, &[])
}

attributes! {
    /// The op behind [`list_new`].
    pub struct ListNew = "list_new" {
        /// The type of the elements.
        pub element: Type,
    }
}

impl Op for ListNew {
    fn arity(&self) -> Arity {
        Arity::Exactly(0)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        Ok(smallvec![self.element.list_of()?])
    }

    fn eval(&self, _: &[&Value], _: &[Type]) -> Result<Values> {
        Ok(smallvec![List::new(self.element)?.into()])
    }

    fn grad(&self) -> Grad {
        Grad::Zero
    }

    fn kernel(&self, _: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        Ok(Some(Kernel::List(ListKernel::New)))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ListNew::NAME, ListNew::build, || {
    let element = f64s(&[0.0; 2], &[2]).ty();
    let empty = List::new(element).expect("a list of tensors");
    vec![Sample::new(ListNew { element }, []).gives_values([empty.into()])]
});
