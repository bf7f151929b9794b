//! `read` and `assign`: how the main block of a program touches named state; `note` for the blocks inside.

use std::sync::Arc;

use fluvial_tensor::{Result, Type};
use smallvec::smallvec;

use crate::attributes;
use crate::cell::check_type;
use crate::grad::Grad;
use crate::op::{Arity, Op, Properties, Takes, Types, Values};
use crate::registry::OpDef;
use crate::state;
use crate::value::Value;

attributes! {
    /// Reads a state. Made by [`read_state`](crate::read_state) while building.
    pub struct Read = "read" {
        /// The name of the state.
        pub state: Arc<str>,
        /// Its type.
        pub ty: Type,
    }
}

attributes! {
    /// Assigns a state. Made by [`assign_state`](crate::assign_state) while building.
    pub struct Assign = "assign" {
        /// The name of the state.
        pub state: Arc<str>,
    }
}

attributes! {
    /// Says in a nested block which value a state has from here on. It does nothing: a run that fails further on
    /// leaves the state with this value.
    pub struct Note = "note" {
        /// The name of the state.
        pub state: Arc<str>,
    }
}

impl Op for Read {
    fn arity(&self) -> Arity {
        Arity::Exactly(0)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        Ok(smallvec![self.ty])
    }

    fn eval(&self, _: &[&Value], outs: &[Type]) -> Result<Values> {
        let value = state::current().read(&self.state)?.value()?.clone();
        check_type(&self.state, &outs[0], &value.ty())?;
        Ok(smallvec![value])
    }

    fn grad(&self) -> Grad {
        Grad::Zero
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

impl Op for Assign {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        Ok(smallvec![])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        state::current().assign(&self.state, inputs[0].clone())?;
        Ok(smallvec![])
    }

    fn grad(&self) -> Grad {
        Grad::Stop
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

impl Op for Note {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        Ok(smallvec![])
    }

    fn eval(&self, _: &[&Value], _: &[Type]) -> Result<Values> {
        Ok(smallvec![])
    }

    fn grad(&self) -> Grad {
        Grad::Stop
    }
}

// Their samples would need a state scope: programs test them.
pub(super) const READ_DEF: OpDef = OpDef::new(Read::NAME, Read::build, Vec::new);
pub(super) const ASSIGN_DEF: OpDef = OpDef::new(Assign::NAME, Assign::build, Vec::new);
pub(super) const NOTE_DEF: OpDef = OpDef::new(Note::NAME, Note::build, Vec::new);
