//! An op while it is imported: its inputs and attributes as importers ask for them.

use std::collections::HashMap;

use fluvial_core::{DType, Dim, Error, Result, Tensor, Type, Var, Whole};
use fluvial_ops as ops;

use super::value::Val;
use super::{Env, Importer};
use crate::fit::{self, Sizes};
use crate::fluid::generated::{OpDesc, op_desc::Attr};
use crate::fluid::types;

/// The values of inputs, by what they are for.
pub type Inputs = HashMap<String, Vec<Option<Val>>>;

/// An op with the values of its inputs.
pub struct Call<'a> {
    pub proto: &'a OpDesc,
    pub inputs: Inputs,
    pub importer: &'a Importer<'a>,
    pub env: &'a Env<'a>,
}

impl Call<'_> {
    /// An input, if it is there.
    pub fn opt_val(&self, slot: &str) -> Option<&Val> {
        self.inputs.get(slot)?.first()?.as_ref()
    }

    /// An input that must be there.
    pub fn val(&self, slot: &str) -> Result<&Val> {
        self.opt_val(slot).ok_or_else(|| {
            Error::argument(format!("its input `{slot}` is missing or has no value"))
        })
    }

    /// An input as a value of the program.
    pub fn var(&self, slot: &str) -> Result<Var> {
        self.val(slot)?.var()
    }

    /// An input as a value of the program, if it is there.
    pub fn opt(&self, slot: &str) -> Result<Option<Var>> {
        self.opt_val(slot).map(Val::var).transpose()
    }

    /// All values of an input.
    pub fn vals(&self, slot: &str) -> Vec<&Val> {
        self.inputs.get(slot).into_iter().flatten().flatten().collect()
    }

    /// All values of an input, as values of the program.
    pub fn vars(&self, slot: &str) -> Result<Vec<Var>> {
        self.vals(slot).into_iter().map(Val::var).collect()
    }

    /// The lengths of the innermost sequences of an input.
    pub fn lengths(&self, slot: &str) -> Result<Var> {
        self.val(slot)?.lengths().last().cloned().ok_or_else(|| {
            Error::argument(format!("its input `{slot}` has no sequences"))
                .remedy("declare the variable that is fed with a `lod_level`")
        })
    }

    /// The names of the variables of an output.
    pub fn outputs(&self, slot: &str) -> &[String] {
        arguments(&self.proto.outputs, slot)
    }

    /// Whether an output is asked for.
    pub fn wants(&self, slot: &str) -> bool {
        self.outputs(slot).iter().any(|name| is_there(name))
    }

    /// The tensor of an input that must be known now, if it is there.
    pub fn known(&self, slot: &str) -> Result<Option<Tensor>> {
        let Some(val) = self.opt_val(slot) else { return Ok(None) };
        val.tensor().map(Some).ok_or_else(|| {
            Error::symbolic(format!("its input `{slot}` must be known when the program is loaded"))
                .remedy("make it a `fill_constant` or an attribute")
        })
    }

    /// An attribute.
    pub fn attr(&self, name: &str) -> Option<&Attr> {
        self.proto.attrs.iter().find(|attr| attr.name == name)
    }

    /// An integer attribute, if it is there.
    pub fn opt_int(&self, name: &str) -> Option<i64> {
        let attr = self.attr(name)?;
        Some(match attr.r#type {
            6 => attr.b.into(),
            8 => attr.block_idx.into(),
            9 => attr.l,
            1 => f64::from(attr.f) as i64,
            16 => attr.scalar.as_ref().map_or(0, |scalar| scalar.i),
            _ => attr.i.into(),
        })
    }

    /// An integer attribute.
    pub fn int(&self, name: &str, default: i64) -> i64 {
        self.opt_int(name).unwrap_or(default)
    }

    /// A number that is not negative.
    pub fn count(&self, name: &str, default: usize) -> Result<usize> {
        match self.opt_int(name) {
            None => Ok(default),
            Some(number) => usize::try_from(number)
                .map_err(|_| Error::argument(format!("its attribute `{name}` is {number}"))),
        }
    }

    /// A flag.
    pub fn flag(&self, name: &str, default: bool) -> bool {
        self.opt_int(name).map_or(default, |number| number != 0)
    }

    /// A float attribute, in the precision that it was written in.
    pub fn float(&self, name: &str, default: f64) -> f64 {
        match self.attr(name) {
            None => f64::from(default as f32),
            Some(attr) => match attr.r#type {
                0 => attr.i.into(),
                9 => attr.l as f64,
                15 => attr.float64,
                16 => attr.scalar.as_ref().map_or(0.0, |scalar| match scalar.r#type {
                    2 => scalar.i as f64,
                    _ => scalar.r,
                }),
                _ => f64::from(attr.f),
            },
        }
    }

    /// Integers, if the attribute is there and has some.
    pub fn ints(&self, name: &str) -> Option<Vec<i64>> {
        let attr = self.attr(name)?;
        let found: Vec<i64> = match attr.r#type {
            0 => vec![attr.i.into()],
            9 => vec![attr.l],
            7 => attr.bools.iter().map(|&flag| flag.into()).collect(),
            11 => attr.longs.clone(),
            17 => attr.scalars.iter().map(|scalar| scalar.i).collect(),
            _ => attr.ints.iter().map(|&number| number.into()).collect(),
        };
        Some(found).filter(|found| !found.is_empty())
    }

    /// Numbers, if the attribute is there and has some.
    pub fn floats(&self, name: &str) -> Option<Vec<f64>> {
        let attr = self.attr(name)?;
        let found: Vec<f64> = match attr.r#type {
            1 => vec![attr.f.into()],
            12 => attr.float64s.clone(),
            17 => {
                let number = |scalar: &crate::fluid::generated::Scalar| match scalar.r#type {
                    1 => f64::from(u8::from(scalar.b)),
                    2 => scalar.i as f64,
                    _ => scalar.r,
                };
                attr.scalars.iter().map(number).collect()
            }
            _ => attr.floats.iter().map(|&number| number.into()).collect(),
        };
        Some(found).filter(|found| !found.is_empty())
    }

    /// A text.
    pub fn text(&self, name: &str, default: &str) -> String {
        match self.attr(name) {
            Some(attr) => String::from_utf8_lossy(&attr.s).into_owned(),
            None => default.to_string(),
        }
    }

    /// Texts.
    pub fn texts(&self, name: &str) -> Vec<String> {
        let strings = self.attr(name).map(|attr| &attr.strings[..]).unwrap_or_default();
        strings.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect()
    }

    /// An element type by its number, if the attribute is there.
    pub fn dtype(&self, name: &str) -> Result<Option<DType>> {
        self.opt_int(name).filter(|&number| number >= 0).map(types::dtype).transpose()
    }

    /// An axis, counted from the front.
    pub fn axis(&self, name: &str, default: i64, rank: usize) -> Result<usize> {
        fit::front(self.int(name, default), rank)
    }

    /// Integers that are an input, several inputs, or an attribute, and may depend on sizes.
    pub fn wholes(&self, tensor: &str, tensors: &str, attr: &str) -> Result<Option<Vec<Whole>>> {
        if let Some(val) = self.opt_val(tensor) {
            return self.items(val).map(Some);
        }
        let several = self.vals(tensors);
        if !several.is_empty() {
            let mut found = Vec::new();
            for val in several {
                found.extend(self.items(val)?);
            }
            return Ok(Some(found));
        }
        Ok(self.ints(attr).map(|ints| ints.into_iter().map(Whole::Number).collect()))
    }

    fn items(&self, val: &Val) -> Result<Vec<Whole>> {
        if let Some(Sizes { items, .. }) = val.sizes() {
            return Ok(items);
        }
        let var = val.var()?;
        let elements = match var.dims()[..] {
            [] => vec![var],
            [dim] if dim.value().is_some_and(|size| size <= 64) => ops::unbind(&var, 0)?,
            _ => {
                let what = format!("the number of elements of {} is not known", var.ty());
                return Err(Error::symbolic(what));
            }
        };
        let size = |x: &Var| {
            let x = ops::cast(x, DType::I64)?;
            Ok(Whole::from(ops::of_size(&x)?.ty().dim(0)))
        };
        elements.iter().map(size).collect()
    }

    /// The sizes of what is made: an input or an attribute.
    pub fn shape(&self) -> Result<Vec<Dim>> {
        let wholes = self.wholes("ShapeTensor", "ShapeTensorList", "shape")?.unwrap_or_default();
        wholes.into_iter().map(Whole::dim).collect()
    }

    /// The type of what is made.
    pub fn made(&self) -> Result<Type> {
        Type::new(self.dtype("dtype")?.unwrap_or(DType::F32), &self.shape()?)
    }

    /// What this cannot do.
    pub fn refuse(&self, what: impl Into<String>) -> Error {
        Error::argument(what)
    }
}

/// The variables of a slot.
pub fn arguments<'a>(
    slots: &'a [crate::fluid::generated::op_desc::Slot],
    name: &str,
) -> &'a [String] {
    slots.iter().find(|slot| slot.parameter == name).map_or(&[], |slot| &slot.arguments)
}

/// Whether a name stands for a variable.
pub fn is_there(name: &str) -> bool {
    !name.is_empty() && name != "@EMPTY@"
}
