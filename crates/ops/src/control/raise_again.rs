//! `raise_again`: the error that an attempt has caught.

use std::sync::Arc;

use crate::prelude::*;

/// Fails, if `condition` holds when the op runs, with the error that the attempt called `key` has caught last.
#[track_caller]
pub fn raise_again(condition: &Var, key: &str) -> Result<()> {
    bind(RaiseAgain { key: key.into() }, &[condition]).map(drop)
}

attributes! {
    /// The op behind [`raise_again`].
    pub struct RaiseAgain = "raise_again" {
        /// What the notes of the attempt are called.
        pub key: Arc<str>,
    }
}

impl Op for RaiseAgain {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        super::while_loop::is_condition(inputs[0]).map(|()| smallvec![])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        match inputs[0].tensor()?.item::<bool>()? {
            false => Ok(smallvec![]),
            true => Err(notes::kept_error(&self.key).unwrap_or_else(|| {
                Error::program("an error is to be raised again, but none was caught")
            })),
        }
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Program))
    }

    fn grad(&self) -> Grad {
        Grad::Stop
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(RaiseAgain::NAME, RaiseAgain::build, || {
    let again = || RaiseAgain { key: "@none".into() };
    vec![
        Sample::new(again(), [bools(&[false], &[])]).gives([]),
        Sample::new(again(), [bools(&[true], &[])]).refused("none was caught"),
        Sample::new(again(), [ramp(&[2])]).refused("condition"),
    ]
});
