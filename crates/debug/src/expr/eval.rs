//! Expressions to values.

use fluvial_core::{Error, Result, Value, Var};
use fluvial_ops as ops;

use super::Context;
use super::ast::{Argument, Base, Binary, Kind, Node, Post, PostKind, attributes, dotted};
use super::fault::{Fault, Placed};
use super::functions::{self, Arguments};
use super::item::{Hold, Item, Number};
use super::{names, operators, subscript};

/// Finds what an expression is where names have a meaning.
pub struct Evaluator<'a> {
    pub context: &'a dyn Context,
}

impl Evaluator<'_> {
    pub fn item(&self, node: &Node) -> Result<Item, Fault> {
        match &node.kind {
            Kind::Number(number) => Ok(Item::Number(*number)),
            Kind::Row(nodes) => self.row(nodes, node.at),
            Kind::Chain(base, posts) => self.chain(node.at, base, posts),
            Kind::Unary(op, inner) => {
                let item = self.looked_up(self.item(inner)?, inner.at)?;
                operators::unary(*op, item).at(node.at)
            }
            Kind::Binary(op, a, b) => {
                let (x, y) = (self.item(a)?, self.item(b)?);
                self.binary(*op, x, y, a.at, b.at)
            }
            Kind::Compare(first, others) => self.compared(first, others),
            Kind::And(a, b) => {
                let holds = self.truth(self.item(a)?, a.at)? && self.truth(self.item(b)?, b.at)?;
                Ok(Item::Number(Number::Bool(holds)))
            }
            Kind::Or(a, b) => {
                let holds = self.truth(self.item(a)?, a.at)? || self.truth(self.item(b)?, b.at)?;
                Ok(Item::Number(Number::Bool(holds)))
            }
            Kind::Not(inner) => {
                Ok(Item::Number(Number::Bool(!self.truth(self.item(inner)?, inner.at)?)))
            }
        }
    }

    fn binary(
        &self,
        op: Binary,
        x: Item,
        y: Item,
        at: usize,
        behind: usize,
    ) -> Result<Item, Fault> {
        // A name in quotes beside a text is a text, too.
        let is_text = matches!(x, Item::Text(_)) || matches!(y, Item::Text(_));
        let (x, y) = match is_text {
            true => (x, y),
            false => (self.looked_up(x, at)?, self.looked_up(y, behind)?),
        };
        operators::binary(op, x, y).at(at)
    }

    fn compared(&self, first: &Node, others: &[(Binary, Node)]) -> Result<Item, Fault> {
        let (mut left, mut at) = (self.item(first)?, first.at);
        let mut all: Option<Item> = None;
        for (op, node) in others {
            let right = self.item(node)?;
            let holds = self.binary(*op, left, right.clone(), at, node.at)?;
            all = Some(match all {
                None => holds,
                Some(before) => {
                    let (a, b) = operators::beside(before, holds).at(at)?;
                    Item::Var(ops::logical_and(&a, &b).at(at)?)
                }
            });
            (left, at) = (right, node.at);
        }
        Ok(all.unwrap_or(Item::Number(Number::Bool(true))))
    }

    fn row(&self, nodes: &[Node], at: usize) -> Result<Item, Fault> {
        let items: Vec<Item> = nodes
            .iter()
            .map(|node| self.looked_up(self.item(node)?, node.at))
            .collect::<Result<_, _>>()?;
        let numbers: Option<Vec<Number>> = items
            .iter()
            .map(|item| match item {
                Item::Number(number) => Some(*number),
                _ => None,
            })
            .collect();
        if let Some(numbers) = numbers {
            return Ok(Item::Row(numbers));
        }
        let model = items.iter().find_map(|item| match item {
            Item::Var(var) | Item::Mask(var, _) => Some(var.clone()),
            _ => None,
        });
        let vars = items.into_iter().map(|item| match (item, &model) {
            (Item::Number(number), Some(model)) => Ok(number.beside(model)),
            (item, _) => operators::plain(item),
        });
        let vars: Vec<Var> = vars.collect::<Result<_>>().at(at)?;
        let each: Vec<&Var> = vars.iter().collect();
        ops::stack(&each, 0).at(at).map(Item::Var)
    }

    /// A name in quotes is the value of this name, unless it is meant as a text.
    fn looked_up(&self, item: Item, at: usize) -> Result<Item, Fault> {
        match item {
            Item::Quoted(name) => self.named(&name, at),
            item => Ok(item),
        }
    }

    pub fn var(&self, item: Item, at: usize) -> Result<Var, Fault> {
        operators::plain(self.looked_up(item, at)?).at(at)
    }

    fn named(&self, name: &str, at: usize) -> Result<Item, Fault> {
        match self.find(name) {
            Some(value) => Ok(Item::Var(Var::new(value))),
            None => self.constant(name).ok_or_else(|| self.unknown(name, at)),
        }
    }

    fn find(&self, name: &str) -> Option<Value> {
        self.context.value(name).or_else(|| self.context.value(name.strip_prefix('%')?))
    }

    fn constant(&self, name: &str) -> Option<Item> {
        let number = match name {
            "nan" => f64::NAN,
            "inf" => f64::INFINITY,
            "pi" => std::f64::consts::PI,
            _ => return None,
        };
        Some(Item::Number(Number::Float(number)))
    }

    fn unknown(&self, name: &str, at: usize) -> Fault {
        let mut known = self.context.names();
        known.sort();
        let mut remedy = names::remedy(name, &known);
        if functions::find(name).is_some() {
            remedy = format!("it is a function: write `{name}(..)`");
        }
        Fault::new(at, Error::argument(format!("there is no value `{name}` here")).remedy(remedy))
    }

    /// Whether a part of a condition holds.
    pub fn truth(&self, item: Item, at: usize) -> Result<bool, Fault> {
        let var = match self.looked_up(item, at)? {
            Item::Number(number) => return Ok(number.float() != 0.0),
            Item::Mask(mask, Hold::Any) => ops::any(&mask, &[], false).at(at)?,
            Item::Mask(mask, Hold::All) => ops::all(&mask, &[], false).at(at)?,
            item => operators::plain(item).at(at)?,
        };
        let tensor = var.tensor().at(at)?;
        if tensor.numel() != 1 {
            let message =
                format!("{} has several elements and is neither true nor false", var.ty());
            let remedy = "ask whether `any(..)` or `all(..)` of them hold";
            return Err(Fault::new(at, Error::argument(message).remedy(remedy)));
        }
        Ok(tensor.to_f64s()[0] != 0.0)
    }

    fn chain(&self, at: usize, base: &Base, posts: &[Post]) -> Result<Item, Fault> {
        let (mut item, mut rest) = match base {
            Base::Group(inner) => (self.item(inner)?, posts),
            Base::Quoted(name) if posts.is_empty() => return Ok(Item::Quoted(name.clone())),
            Base::Quoted(name) => (self.named(name, at)?, posts),
            Base::Name(name) => match posts.first() {
                Some(Post { kind: PostKind::Call(arguments), .. }) => {
                    (self.called(name, at, None, arguments)?, &posts[1..])
                }
                _ => self.longest(name, at, posts)?,
            },
        };
        while let Some((post, others)) = rest.split_first() {
            rest = others;
            item = match &post.kind {
                PostKind::Attribute(name) => match others.first() {
                    Some(Post { kind: PostKind::Call(arguments), .. }) => {
                        rest = &others[1..];
                        self.called(name, post.at, Some(item), arguments)?
                    }
                    _ => self.property(item, name, post.at)?,
                },
                PostKind::Index(parts) => {
                    let item = self.looked_up(item, at)?;
                    subscript::get(self, item, parts, post.at)?
                }
                PostKind::Call(_) => {
                    let error = Error::argument("a value cannot be called")
                        .remedy("call a function or a method: `mean(h)`, `h.mean()`");
                    return Err(Fault::new(post.at, error));
                }
            };
        }
        Ok(item)
    }

    /// The longest dotted name that has a value, and what is behind it.
    fn longest<'p>(
        &self,
        name: &str,
        at: usize,
        posts: &'p [Post],
    ) -> Result<(Item, &'p [Post]), Fault> {
        let all = attributes(posts).count();
        // What is called is a method.
        let is_called = matches!(posts.get(all), Some(Post { kind: PostKind::Call(_), .. }));
        let n = all - usize::from(is_called && all > 0);
        for n in (0..=n).rev() {
            if let Some(value) = self.find(&dotted(name, posts, n)) {
                return Ok((Item::Var(Var::new(value)), &posts[n..]));
            }
            if n == 1 && dotted("", posts, 1) == ".grad" {
                return Ok((self.gradient(name, at)?, &posts[1..]));
            }
            if n > 1 && dotted(name, posts, n).ends_with(".grad") {
                let of = dotted(name, posts, n - 1);
                if self.find(&of).is_some() {
                    return Ok((self.gradient(&of, at)?, &posts[n..]));
                }
            }
        }
        match self.constant(name) {
            Some(item) if n == 0 => Ok((item, posts)),
            _ => Err(self.unknown(&dotted(name, posts, n), at)),
        }
    }

    fn gradient(&self, name: &str, at: usize) -> Result<Item, Fault> {
        let bare = || name.strip_prefix('%');
        let found = self.context.gradient(name).or_else(|| self.context.gradient(bare()?));
        match found {
            Some(value) => Ok(Item::Var(Var::new(value))),
            None if self.find(name).is_none() => Err(self.unknown(name, at)),
            None => {
                let message = format!("there is no gradient of `{name}` now");
                let remedy = "stop in the backward pass or behind it, before the next iteration";
                Err(Fault::new(at, Error::state(message).remedy(remedy)))
            }
        }
    }

    fn property(&self, item: Item, name: &str, at: usize) -> Result<Item, Fault> {
        let Some(function) = functions::property(name) else {
            let remedy = match functions::find(name) {
                Some(_) => format!("it is a function: write `.{name}()`"),
                None => "there are shape, size, ndim, dtype, T, grad and the functions".to_string(),
            };
            let error = Error::argument(format!("a value has no `{name}`")).remedy(remedy);
            return Err(Fault::new(at, error));
        };
        let item = self.looked_up(item, at)?;
        functions::apply(function, Arguments::new(vec![item], Vec::new())).at(at)
    }

    fn called(
        &self,
        name: &str,
        at: usize,
        of: Option<Item>,
        arguments: &[Argument],
    ) -> Result<Item, Fault> {
        if name == "grad" && of.is_none() {
            return self.gradient_call(arguments, at);
        }
        let Some(function) = functions::find(name) else {
            let remedy = names::remedy(name, &functions::function_names());
            let error = Error::argument(format!("there is no function `{name}`")).remedy(remedy);
            return Err(Fault::new(at, error));
        };
        let mut items = Vec::new();
        let mut named = Vec::new();
        if let Some(item) = of {
            items.push(self.looked_up(item, at)?);
        }
        for argument in arguments {
            let item = self.item(&argument.value)?;
            match &argument.name {
                // A text may be meant; the function will know.
                Some(name) => named.push((name.clone(), item)),
                None if functions::takes_text(name, items.len()) => items.push(item),
                None => items.push(self.looked_up(item, argument.value.at)?),
            }
        }
        functions::apply(function, Arguments::new(items, named)).at(at)
    }

    fn gradient_call(&self, arguments: &[Argument], at: usize) -> Result<Item, Fault> {
        let fault = || {
            let error = Error::argument("`grad` takes the name of a value");
            Fault::new(at, error.remedy("write `grad(fc1.weight)` or `grad(\"fc1.weight\")`"))
        };
        let [Argument { name: None, value }] = arguments else { return Err(fault()) };
        match &value.kind {
            Kind::Chain(base, posts) if attributes(posts).count() == posts.len() => {
                let name = base.name().ok_or_else(fault)?;
                self.gradient(&dotted(name, posts, posts.len()), value.at)
            }
            _ => Err(fault()),
        }
    }
}
