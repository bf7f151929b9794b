//! Functions of the library that are made of several ops, as statements: `mean(%x)`, `stack{axis=1}(%x, %y)`.

use fluvial_core::text::short::ShortCall;
use fluvial_core::{Attribute, Attrs, Dim, Error, Result, Var};
use fluvial_ops::{
    flatten, mean, norm, one_hot, squeeze, stack, std as deviation, transpose, unsqueeze, var,
};

use super::{Builder, Placed};

/// A function: its name, its options, how many operands it takes (any number if none is said), and what it computes.
struct Function {
    name: &'static str,
    options: &'static [&'static str],
    operands: Option<usize>,
    call: fn(&Options<'_>, &[&Var]) -> Result<Var>,
}

/// What stands in curly brackets.
struct Options<'a>(&'static str, &'a Attrs);

impl Options<'_> {
    fn get<T: Attribute>(&self, name: &'static str) -> Result<T> {
        self.1.field(self.0, name)
    }

    fn or<T: Attribute>(&self, name: &'static str, otherwise: T) -> Result<T> {
        if self.1.get(name).is_some() { self.get(name) } else { Ok(otherwise) }
    }
}

const fn function(
    name: &'static str,
    options: &'static [&'static str],
    operands: Option<usize>,
    call: fn(&Options<'_>, &[&Var]) -> Result<Var>,
) -> Function {
    Function { name, options, operands, call }
}

const FUNCTIONS: [Function; 10] = [
    function("mean", &["axes", "keepdims"], Some(1), |options, x| {
        mean(x[0], &options.get::<Vec<i64>>("axes")?, options.get("keepdims")?)
    }),
    function("var", &["axes", "keepdims", "correction"], Some(1), |options, x| {
        let axes: Vec<i64> = options.get("axes")?;
        var(x[0], &axes, options.get("keepdims")?, options.or("correction", 1.0)?)
    }),
    function("std", &["axes", "keepdims", "correction"], Some(1), |options, x| {
        let axes: Vec<i64> = options.get("axes")?;
        deviation(x[0], &axes, options.get("keepdims")?, options.or("correction", 1.0)?)
    }),
    function("norm", &["p", "axes", "keepdims"], Some(1), |options, x| {
        let axes: Vec<i64> = options.get("axes")?;
        norm(x[0], options.or("p", 2.0)?, &axes, options.get("keepdims")?)
    }),
    function("stack", &["axis"], None, |options, parts| stack(parts, options.or("axis", 0)?)),
    function("unsqueeze", &["axis"], Some(1), |options, x| unsqueeze(x[0], options.get("axis")?)),
    function("squeeze", &["axes"], Some(1), |options, x| {
        squeeze(x[0], &options.get::<Vec<i64>>("axes")?)
    }),
    function("flatten", &["start", "end"], Some(1), |options, x| {
        flatten(x[0], options.or("start", 0)?, options.or("end", -1)?)
    }),
    function("transpose", &["axis_a", "axis_b"], Some(1), |options, x| {
        transpose(x[0], options.or("axis_a", -2)?, options.or("axis_b", -1)?)
    }),
    function("one_hot", &["classes"], Some(1), |options, ids| {
        one_hot(ids[0], options.get::<Dim>("classes")?)
    }),
];

/// Whether a function is called so.
pub(super) fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|function| function.name == name)
}

impl<'a> Builder<'a> {
    /// `%m = mean{axes=[0]}(%x)`.
    pub(super) fn function(&mut self, call: &'a ShortCall, attrs: &Attrs) -> Placed<Vec<Var>> {
        let placed = |error: Error| (call.start, error);
        let Some(function) = FUNCTIONS.iter().find(|function| function.name == call.op) else {
            return Err(placed(super::statements::unknown(&call.op)));
        };
        attrs.only(function.name, function.options).map_err(placed)?;
        let inputs = self.operands(&call.operands)?;
        let n = inputs.len();
        if n == 0 || function.operands.is_some_and(|wanted| wanted != n) {
            let wanted = function.operands.map_or("values".to_string(), |n| format!("{n} value"));
            let what = format!("`{}` takes {wanted}, and is given {n}", function.name);
            return Err(placed(Error::argument(what)));
        }
        let inputs: Vec<&Var> = inputs.iter().collect();
        let options = Options(function.name, attrs);
        Ok(vec![(function.call)(&options, &inputs).map_err(placed)?])
    }
}
