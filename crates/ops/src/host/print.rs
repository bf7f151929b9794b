//! `print`: shows a value when the program passes it.

use std::sync::Arc;

use crate::prelude::*;

/// Writes the value to standard output with a message whenever the op runs, and passes it on.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = print(&Var::scalar(3.0f64), "x")?;
/// assert_eq!(x.item::<f64>()?, 3.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn print(x: &Var, message: &str) -> Result<Var> {
    bind1(Print { message: message.into() }, &[x])
}

attributes! {
    /// The op behind [`print`].
    pub struct Print = "print" {
        /// What stands before the value.
        pub message: Arc<str>,
    }
}

impl Op for Print {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        Ok(smallvec![*inputs[0]])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        match inputs[0] {
            Value::Tensor(tensor) => println!("{}: {tensor:?}", self.message),
            Value::List(list) => println!("{}: {list:?}", self.message),
        }
        Ok(smallvec![inputs[0].clone()])
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| grads![p => p.dy()])
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Print::NAME, Print::build, || {
    let x = ramp(&[2]);
    vec![Sample::new(Print { message: "x".into() }, [x.clone()]).gives([x])]
});
