//! Lists. Those that loops take slices from and gather results in become tensors, as other runtimes have them; all
//! others are sequences.

use fluvial_core::{Block, DType, Result, Type, ValueId};
use fluvial_ops::lists::{ListLen, ListPop, ListPush};

use super::shape::cut;
use super::table::Export;
use super::{Writer, int};
use crate::onnx::types;

/// A list that is not a sequence yet. The writer knows it by a name that no node has.
#[derive(Clone)]
pub enum Form {
    /// An empty list of elements of this type.
    Empty(Type),
    /// The slices of a tensor, the first on top, without so many that were taken off: an integer.
    Slices {
        of: String,
        taken: Option<String>,
    },
    /// What the trips of a loop have put on an empty list, as one tensor, the first at the bottom.
    Gathered(String),
    /// In the body of a loop: the list that each trip puts one value on, and the same with that value.
    Gathering,
    Pushed(String),
}

pub const OPS: &[(&str, Export)] = &[
    ("list_len", |w, n| {
        let (of, taken) = match w.form(n.x(0)) {
            Some(Form::Slices { of, taken }) => (of, taken),
            Some(Form::Gathered(of)) => (of, None),
            _ => {
                let list = w.sequence(n.x(0))?;
                return Ok(vec![w.op("SequenceLength", &[&list])]);
            }
        };
        let size = w.with("Shape", &[&of], vec![int("start", 0), int("end", 1)]);
        let axes = w.ints(&[0])?;
        let size = w.op("Squeeze", &[&size, &axes]);
        Ok(vec![taken.map_or(size.clone(), |taken| w.op("Sub", &[&size, &taken]))])
    }),
    ("list_new", |w, n| {
        let element: Type = n.attr("element")?;
        Ok(vec![w.list(Form::Empty(element))])
    }),
    ("list_pop", |w, n| {
        if let Some(Form::Slices { of, taken }) = w.form(n.x(0)) {
            let at = match taken {
                Some(taken) => taken,
                None => w.number(0.0, DType::I64)?,
            };
            let element = w.with("Gather", &[&of, &at], vec![int("axis", 0)]);
            let one = w.number(1.0, DType::I64)?;
            let taken = Some(w.op("Add", &[&at, &one]));
            return Ok(vec![w.list(Form::Slices { of, taken }), element]);
        }
        let (list, last) = (w.sequence(n.x(0))?, w.number(-1.0, DType::I64)?);
        let element = w.op("SequenceAt", &[&list, &last]);
        Ok(vec![w.op("SequenceErase", &[&list, &last]), element])
    }),
    ("list_push", |w, n| {
        if let Some(Form::Gathering) = w.form(n.x(0)) {
            return Ok(vec![w.list(Form::Pushed(n.x(1).to_string()))]);
        }
        let list = w.sequence(n.x(0))?;
        Ok(vec![w.op("SequenceInsert", &[&list, n.x(1)])])
    }),
    ("list_stack", |w, n| {
        let from_bottom: bool = n.attr("from_bottom")?;
        let all = match w.form(n.x(0)) {
            Some(Form::Gathered(of)) => of,
            _ => {
                let list = w.sequence(n.x(0))?;
                let attrs = vec![int("axis", 0), int("new_axis", 1)];
                w.with("ConcatFromSequence", &[&list], attrs)
            }
        };
        Ok(vec![if from_bottom { all } else { flipped(w, &all)? }])
    }),
    ("list_unstack", |w, n| {
        let from_bottom: bool = n.attr("from_bottom")?;
        match from_bottom {
            true => Ok(vec![split(w, n.x(0))]),
            false => Ok(vec![w.list(Form::Slices { of: n.x(0).to_string(), taken: None })]),
        }
    }),
];

impl Writer {
    /// A list that is not a sequence yet.
    pub fn list(&mut self, form: Form) -> String {
        let name = self.fresh("list");
        self.lists.insert(name.clone(), form);
        name
    }

    /// What a value is, if it is a list that is not a sequence yet.
    pub fn form(&self, name: &str) -> Option<Form> {
        self.lists.get(name).cloned()
    }

    /// A value, as a sequence if it is a list.
    pub fn sequence(&mut self, name: &str) -> Result<String> {
        let Some(form) = self.form(name) else { return Ok(name.to_string()) };
        Ok(match form {
            Form::Empty(element) => {
                let dtype = int("dtype", types::number(element.dtype()).into());
                self.with("SequenceEmpty", &[], vec![dtype])
            }
            Form::Slices { of, taken } => {
                let left = match taken {
                    Some(taken) => {
                        let (shape, behind) = (self.ints(&[1])?, self.ints(&[i64::MAX])?);
                        let axes = self.ints(&[0])?;
                        let first = self.op("Reshape", &[&taken, &shape]);
                        self.op("Slice", &[&of, &first, &behind, &axes])
                    }
                    None => of,
                };
                let turned = flipped(self, &left)?;
                split(self, &turned)
            }
            Form::Gathered(of) => split(self, &of),
            Form::Gathering | Form::Pushed(_) => {
                return Err(fluvial_core::Error::internal("a list that a loop gathers is used"));
            }
        })
    }
}

/// How a loop carries a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    /// It takes slices off, from the top.
    Taken,
    /// Each trip puts one value on it.
    Gathered,
    /// As a value like any other.
    Plain,
}

/// How the body of a loop uses a list that it carries: the parameter, and the result that is carried on.
pub fn carried(form: Option<&Form>, body: &Block, param: ValueId, result: ValueId) -> Carried {
    let uses = |id: ValueId| {
        let calls = body.calls.iter().filter(move |call| call.inputs.contains(&id));
        (calls, body.results.iter().filter(move |&&own| own == id).count())
    };
    match form {
        Some(Form::Slices { .. }) => {
            let (mut at, mut others) = (param, 0);
            loop {
                let (calls, as_result) = uses(at);
                let (mut next, mut n_pops) = (at, 0);
                for call in calls {
                    if call.op.downcast::<ListPop>().is_some() {
                        n_pops += 1;
                        next = call.outputs().next().unwrap_or(at);
                    } else if call.op.downcast::<ListLen>().is_none() {
                        others += 1;
                    }
                }
                if at == result {
                    let is_end = as_result == 1 && n_pops == 0 && others == 0;
                    return if is_end { Carried::Taken } else { Carried::Plain };
                }
                if n_pops != 1 || as_result > 0 {
                    return Carried::Plain;
                }
                at = next;
            }
        }
        Some(Form::Empty(element)) if !element.is_list() => {
            let (mut calls, as_result) = uses(param);
            let only = calls.next().filter(|_| calls.next().is_none() && as_result == 0);
            let is_push = only.is_some_and(|call| {
                call.op.downcast::<ListPush>().is_some()
                    && call.inputs[1] != param
                    && call.outputs().next() == Some(result)
            });
            let (mut further, as_result) = uses(result);
            match is_push && as_result == 1 && further.next().is_none() {
                true => Carried::Gathered,
                false => Carried::Plain,
            }
        }
        _ => Carried::Plain,
    }
}

/// The slices of a tensor as a sequence.
fn split(w: &mut Writer, x: &str) -> String {
    w.with("SplitToSequence", &[x], vec![int("axis", 0), int("keepdims", 0)])
}

/// The first axis from its end.
fn flipped(w: &mut Writer, x: &str) -> Result<String> {
    cut(w, x, 0, [-1, i64::MIN + 1, -1])
}
