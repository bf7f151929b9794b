//! `channel_select`: waits for one of several.

use fluvial_core::tasks::{self, Case};

use super::channel_recv::received;
use super::channel_send::{check_message, own};
use super::make_channel::{message_of, without_history};
use crate::prelude::*;

attributes! {
    /// Waits until one of its cases can be done, and does it.
    ///
    /// Inputs: for each case the channel and, if something is sent, the value. Outputs: the number of the case, -1 for
    /// the default; then, for each case that receives, a value and whether there was one.
    pub struct ChannelSelect = "channel_select" {
        /// By case: whether it sends.
        pub sends: Vec<bool>,
        /// Whether it goes on if no case can be done at once.
        pub default: bool,
    }
}

/// What has been done by a [`ChannelSelect`].
pub struct Selected {
    /// The number of the case, an `i64[]`; -1 for the default.
    pub case: Var,
    /// By case: what was received and whether there was anything. Nothing for those that send; zero and false for those
    /// that were not done.
    pub received: Vec<Option<(Var, Var)>>,
}

impl ChannelSelect {
    /// Waits until one of the cases can be done, and does it: of several any one, at random. A case is a channel and what
    /// is sent on it, or nothing to receive. With `default`, nothing is waited for.
    #[track_caller]
    pub fn of(cases: &[(&Var, Option<&Var>)], default: bool) -> Result<Selected> {
        let loc = scope::user_line();
        let _line = at(loc);
        let mut inputs: Vec<Var> = Vec::new();
        for (channel, value) in cases {
            inputs.push((*channel).clone());
            if let Some(value) = value {
                inputs.push(without_history(value)?);
            }
        }
        let inputs: Vec<&Var> = inputs.iter().collect();
        let sends: Vec<bool> = cases.iter().map(|(_, value)| value.is_some()).collect();
        let op = ChannelSelect { sends: sends.clone(), default };
        let mut outputs = bind_at(op.into(), &inputs, loc)?.into_iter();
        let mut next =
            || outputs.next().ok_or_else(|| Error::internal("a case lost what it received"));
        let case = next()?;
        let received = sends.iter().map(|&sends| match sends {
            true => Ok(None),
            false => Ok(Some((next()?, next()?))),
        });
        Ok(Selected { case, received: received.collect::<Result<_>>()? })
    }

    /// Where the channel of each case stands among the inputs.
    fn places(&self) -> Vec<usize> {
        let mut next = 0;
        let place = |&sends: &bool| {
            let here = next;
            next += 1 + usize::from(sends);
            here
        };
        self.sends.iter().map(place).collect()
    }
}

impl Op for ChannelSelect {
    fn arity(&self) -> Arity {
        Arity::Exactly(self.sends.len() + self.sends.iter().filter(|sends| **sends).count())
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if self.sends.is_empty() || self.sends.len() > 8 {
            return Err(Error::argument(format!(
                "one of {} cases was to be waited for",
                self.sends.len()
            ))
            .remedy("give from 1 to 8 cases"));
        }
        let mut outs: Types = smallvec![Type::scalar(DType::I64)];
        let mut n_open = 0;
        for (&sends, place) in self.sends.iter().zip(self.places()) {
            if sends {
                check_message(inputs[place], inputs[place + 1])?;
                continue;
            }
            // Open sizes of one channel have nothing to do with those of another one.
            let message = message_of(inputs[place])?;
            let own = |dim: &Dim| match dim.fresh_index() {
                Some(_) => {
                    n_open += 1;
                    Dim::fresh(n_open - 1)
                }
                None => *dim,
            };
            let dims: Vec<Dim> = message.dims().iter().map(own).collect();
            outs.push(message.with_dims(&dims)?);
            outs.push(Type::scalar(DType::Bool));
        }
        Ok(outs)
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let mut cases = Vec::with_capacity(self.sends.len());
        for (&sends, place) in self.sends.iter().zip(self.places()) {
            let channel = inputs[place].channel()?.clone();
            cases.push(match sends {
                true => Case::Send(channel, own(inputs[place + 1])?),
                false => Case::Recv(channel),
            });
        }
        let chosen = tasks::select(cases, self.default, scope::user_line())?;
        let number = chosen.case.map_or(-1, |case| case as i64);
        let mut outputs: Values = smallvec![Tensor::scalar(number).into()];
        let mut message = chosen.message;
        for (case, (&sends, place)) in self.sends.iter().zip(self.places()).enumerate() {
            if !sends {
                let own = if chosen.case == Some(case) { message.take() } else { None };
                outputs.extend(received(&inputs[place].ty(), own)?);
            }
        }
        Ok(outputs)
    }

    fn is_of_tasks(&self) -> bool {
        true
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::State))
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("messages carry no gradient")
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ChannelSelect::NAME, ChannelSelect::build, Vec::new);
