//! Statements that are more than one op: gradients, layers and optimizers.

use std::collections::BTreeMap;
use std::sync::Arc;

use fluvial_core::text::short::{Operand, ShortCall};
use fluvial_core::{
    Attr, Attrs, Error, GradOptions, Result, Role, Var, building_states, grad_with,
};

use super::{Builder, Placed};
use crate::nn::stated::{Inner, Value};
use crate::nn::{self, Path};
use crate::optim::{AnyRule, Descent, Optimizer, Param, Setting};

/// The layers that statements have made, by name.
#[derive(Default)]
pub(super) struct Layers(BTreeMap<String, (String, Attrs, Arc<dyn Inner>)>);

impl Layers {
    /// Whether a layer is called so.
    pub fn knows(kind: &str) -> bool {
        nn::KINDS.iter().any(|(known, _)| *known == kind)
    }

    /// The layer of a name, made at its first call.
    fn get(&mut self, name: &str, kind: &str, attrs: &Attrs) -> Result<Arc<dyn Inner>> {
        let mut named = Attrs::new();
        for (option, attr) in attrs.iter().filter(|(option, _)| *option != "name") {
            named.push(option.to_string(), attr.clone());
        }
        let attrs = &named;
        if let Some((known, options, layer)) = self.0.get(name) {
            if known == kind && options == attrs {
                return Ok(layer.clone());
            }
            return Err(Error::argument(format!("another layer is called `{name}`"))
                .remedy("give one of them another `name`, or both the same options"));
        }
        let Some((_, make)) = nn::KINDS.iter().find(|(known, _)| *known == kind) else {
            return Err(unknown(kind));
        };
        let mut stated = make();
        let made = stated.clone();
        for (given, attr) in attrs.iter() {
            let mut options = stated.kind().options();
            let option = options.find(|one| one.name == given || one.others.contains(&given));
            let Some(option) = option else {
                let known: Vec<&str> = stated.kind().options().map(|one| one.name).collect();
                return Err(Error::argument(format!("`{kind}` has no option `{given}`"))
                    .remedy(format!("its options are {}, and `name`", known.join(", "))));
            };
            stated = stated.with(option.name, attr)?;
        }
        let options = made.kind().options();
        let missing: Vec<&str> = options
            .filter(|option| {
                let is_given = |name: &&str| attrs.get(name).is_some();
                option.default.is_none()
                    && !std::iter::once(&option.name).chain(option.others).any(is_given)
                    && made.get(option.name) != Some(Attr::None)
            })
            .map(|option| option.name)
            .collect();
        if !missing.is_empty() {
            let missing = missing.join("`, `");
            return Err(Error::argument(format!("`{kind}` needs its option `{missing}`")));
        }
        let layer = stated.made(Path::new(name), Vec::new());
        self.0.insert(name.to_string(), (kind.to_string(), attrs.clone(), layer.clone()));
        Ok(layer)
    }
}

/// Whether an optimizer is called so.
pub(super) fn is_optimizer(name: &str) -> bool {
    AnyRule::named(name).is_some()
}

/// An attribute that is a text.
pub(super) fn text<'a>(call: &'a ShortCall, name: &str) -> Option<&'a str> {
    match call.attrs.get(name) {
        Some(Attr::Str(text)) => Some(text),
        _ => None,
    }
}

pub(super) fn unknown(name: &str) -> Error {
    Error::program(format!("no op, layer or optimizer is named `{name}`")).remedy(
        "docs/ops.md lists ops, docs/all_layers.md layers, docs/all_optimizers.md optimizers",
    )
}

impl<'a> Builder<'a> {
    /// `%a, %b = grad(%loss, @w, %x)`: the gradients of a loss.
    pub(super) fn gradients(&mut self, call: &'a ShortCall) -> Placed<Vec<Var>> {
        let placed = |error: Error| (call.start, error);
        call.attrs.only("grad", &[]).map_err(placed)?;
        let values = self.operands(&call.operands)?;
        match values.split_first() {
            Some((loss, wrt)) if !wrt.is_empty() => {
                let options = GradOptions { create_graph: true, ..GradOptions::default() };
                let wrt: Vec<&Var> = wrt.iter().collect();
                grad_with(&[loss], &wrt, options).map_err(placed)
            }
            _ => Err(placed(
                Error::argument("`grad` takes a loss, and what it is differentiated by")
                    .remedy("such as `%slope = grad(%loss, @w)`"),
            )),
        }
    }

    /// `%h = Linear{outputs=16}(%x)`: a layer, called after its result unless `name` says otherwise.
    pub(super) fn layer(&mut self, call: &'a ShortCall) -> Placed<Vec<Var>> {
        let placed = |error: Error| (call.start, error);
        let own = call.outputs.first().map_or("", |(_, name)| name);
        let name = text(call, "name").unwrap_or(own);
        let layer = self.layers.get(name, &call.op, &call.attrs).map_err(placed)?;
        let inputs: Vec<Value> = self.operands(&call.operands)?.iter().map(Value::from).collect();
        let mut outputs = Vec::new();
        flatten(layer.call(&inputs, &[]).map_err(placed)?, &mut outputs);
        Ok(outputs)
    }

    /// `adam{lr=0.01}(%loss)`: a step of an optimizer. Behind the loss stand the parameters that it trains, by default all.
    pub(super) fn optimizer(&mut self, call: &'a ShortCall) -> Placed<Vec<Var>> {
        let placed = |error: Error| (call.start, error);
        let Some((loss, params)) = call.operands.split_first() else {
            let what = format!("`{}` takes the loss", call.op);
            return Err(placed(Error::argument(what)));
        };
        let loss = self.operand(loss, fluvial_core::DType::F32)?;
        let mut names = Vec::new();
        for param in params {
            let Operand::State(start, name) = param else {
                let error = Error::argument("what is trained is a state");
                return Err((param.start(), error.remedy("write `@NAME`")));
            };
            let _ = self.read(*start, name)?;
            names.push(name.clone());
        }
        if names.is_empty() {
            let states = building_states().map_err(placed)?;
            let is_trained = |role: Role| role == Role::Parameter;
            names.extend(states.into_iter().filter(|(_, d)| is_trained(d.role)).map(|(n, _)| n));
        }
        let params = names.iter().map(|name| Param::new(&**name)).collect();
        let descent = descent(call, params).map_err(placed)?;
        descent.minimize(&loss).map_err(placed)?;
        Ok(Vec::new())
    }
}

fn descent(call: &ShortCall, params: Vec<Param>) -> Result<Descent<AnyRule>> {
    let op = call.op.as_str();
    let mut rule = AnyRule::named(op).ok_or_else(|| unknown(op))?;
    let (mut lr, mut weight_decay, mut name) = (None, None, op);
    for (option, attr) in call.attrs.iter() {
        match (option, attr) {
            ("lr", Attr::Float(_) | Attr::Int(_)) => lr = number(attr),
            ("weight_decay", Attr::Float(_) | Attr::Int(_)) => weight_decay = number(attr),
            ("name", Attr::Str(text)) => name = text,
            _ => rule.set(option, setting(option, attr)?)?,
        }
    }
    let lr = lr.ok_or_else(|| {
        Error::argument(format!("`{op}` needs its learning rate, `lr`"))
            .remedy(format!("such as `{op}{{lr=0.01}}(%loss)`"))
    })?;
    let descent = Descent::of(rule, Some(params), lr).name(name);
    Ok(match weight_decay {
        Some(decay) => descent.weight_decay(decay),
        None => descent,
    })
}

fn number(attr: &Attr) -> Option<f64> {
    match attr {
        Attr::Float(value) => Some(*value),
        Attr::Int(value) => Some(*value as f64),
        _ => None,
    }
}

fn setting(option: &str, attr: &Attr) -> Result<Setting> {
    let two = |items: &[Attr]| match items {
        [a, b] => Some(Setting::Pair(number(a)?, number(b)?)),
        _ => None,
    };
    let found = match attr {
        Attr::Bool(flag) => Some(Setting::Flag(*flag)),
        Attr::List(items) => two(items),
        other => number(other).map(Setting::Number),
    };
    found.ok_or_else(|| {
        Error::argument(format!("`{option}` is a number, two numbers or a truth value"))
    })
}

fn flatten(value: Value, outputs: &mut Vec<Var>) {
    match value {
        Value::Tensor(value) => outputs.push(value),
        Value::Many(values) => values.into_iter().for_each(|value| flatten(value, outputs)),
        Value::None | Value::Bool(_) | Value::Sizes(_) => {}
    }
}
