//! Expressions and edits.

use std::sync::Arc;

use fluvial_core::{Error, Result, Value, Var, imperative, no_grad};
use fluvial_ops::{self as ops, Index};

use super::ast::{Base, Binary, Kind, Node, Part, Post, PostKind, attributes, dotted};
use super::eval::Evaluator;
use super::fault::{Fault, Placed};
use super::parser::Parser;
use super::{Context, Expr, subscript};

/// What can be written at a prompt.
#[derive(Clone, Debug)]
pub enum Statement {
    /// An expression to look at.
    Expr(Expr),
    /// `name = expression` or `name[index] = expression`, also with `+=` and the like.
    Assign {
        /// The name.
        name: String,
        /// Which part of it; the whole, if none is given.
        index: Option<Subscript>,
        /// What it gets.
        expr: Expr,
    },
}

/// The part of a value between brackets.
#[derive(Clone, Debug)]
pub struct Subscript {
    text: Arc<str>,
    parts: Vec<Part>,
}

impl Statement {
    /// Reads an expression or an edit.
    pub fn parse(text: &str) -> Result<Statement> {
        let text: Arc<str> = text.into();
        statement(&text).map_err(|fault| fault.of(&text))
    }

    /// For an edit: the whole value that the name gets, of the type that it has now. Nothing is changed.
    pub fn edited(&self, context: &dyn Context) -> Result<Value> {
        let Statement::Assign { name, index, expr } = self else {
            return Err(Error::argument("this is an expression, not an edit")
                .remedy("write `name = expression`"));
        };
        let new = expr.eval(context)?;
        let Some(old) = context.value(name).or_else(|| context.value(name.strip_prefix('%')?))
        else {
            let mut known = context.names();
            known.sort();
            return Err(Error::argument(format!("there is no value `{name}` to set here"))
                .remedy(super::names::remedy(name, &known)));
        };
        let (_now, _untracked) = (imperative(), no_grad());
        let index = match index {
            None => vec![Index::Ellipsis],
            Some(subscript) => subscript::index(&Evaluator { context }, &subscript.parts)
                .map_err(|fault| fault.of(&subscript.text))?,
        };
        replaced(&old, &index, new)
    }
}

/// `old` with `new`, broadcast, in the place of one element, or of a part if the index has less numbers than there are
/// axes. An error if it does not fit, or if integers would get numbers with fractions.
pub fn written(old: &Value, index: &[usize], new: Value) -> Result<Value> {
    let (_now, _untracked) = (imperative(), no_grad());
    let index: Vec<Index> = index.iter().map(|&i| Index::from(i as i64)).collect();
    let whole = [Index::Ellipsis];
    replaced(old, if index.is_empty() { &whole } else { &index }, new)
}

fn replaced(old: &Value, index: &[Index], new: Value) -> Result<Value> {
    let (old, new) = match (old, new) {
        (Value::Tensor(old), Value::Tensor(new)) => (Var::new(old.clone()), Var::new(new)),
        _ => {
            return Err(Error::argument("lists and channels cannot be set").remedy("set a tensor"));
        }
    };
    // Also an integer that narrower ones cannot hold.
    if !old.dtype().is_float() && new.dtype() != old.dtype() {
        let back = ops::cast(&ops::cast(&new, old.dtype())?, new.dtype())?;
        if !ops::all(&ops::eq(&back, &new)?, &[], false)?.item::<bool>()? {
            let message = format!("{} cannot hold what {} was given", old.ty(), new.ty());
            return Err(Error::dtype(message)
                .remedy("give numbers that it holds; round fractions: `round(x)`"));
        }
    }
    plain(ops::setitem(&old, index, &new))?.value().cloned()
}

/// Without the line of our own source at which the op was called.
fn plain(result: Result<Var>) -> Result<Var> {
    result.map_err(|error| {
        let plain = Error::new(error.kind(), error.message());
        match error.remedy_text() {
            Some(remedy) => plain.remedy(remedy),
            None => plain,
        }
    })
}

fn statement(text: &Arc<str>) -> Result<Statement, Fault> {
    let mut parser = Parser::new(text)?;
    let target = parser.expression(0)?;
    let at = parser.at();
    let operators = [
        ("+=", Binary::Add),
        ("-=", Binary::Sub),
        ("*=", Binary::Mul),
        ("/=", Binary::Div),
        ("//=", Binary::FloorDiv),
        ("**=", Binary::Pow),
        ("%=", Binary::Remainder),
    ];
    let operator = operators.into_iter().find(|(mark, _)| parser.mark(mark)).map(|(_, op)| op);
    if operator.is_none() && !parser.mark("=") {
        parser.end()?;
        return Ok(Statement::Expr(Expr { text: text.clone(), node: target }));
    }
    let (name, index) = split(&target)?;
    let mut node = parser.expression(0)?;
    parser.end()?;
    if let Some(op) = operator {
        node = Parser::binary(op, target, node)?;
    }
    if name.is_empty() {
        return Err(Fault::new(at, Error::parse("the name is empty").remedy("name what to set")));
    }
    let index = index.map(|parts| Subscript { text: text.clone(), parts });
    Ok(Statement::Assign { name, index, expr: Expr { text: text.clone(), node } })
}

/// The name and the index that are to be set.
fn split(target: &Node) -> Result<(String, Option<Vec<Part>>), Fault> {
    if let Kind::Chain(base @ (Base::Name(_) | Base::Quoted(_)), posts) = &target.kind
        && let Some(name) = base.name()
    {
        let n = attributes(posts).count();
        match &posts[n..] {
            [] => return Ok((dotted(name, posts, n), None)),
            [Post { kind: PostKind::Index(parts), .. }] => {
                return Ok((dotted(name, posts, n), Some(parts.clone())));
            }
            _ => {}
        }
    }
    Err(Error::parse("only a name, or a part of it, can be set")
        .remedy("write `name = expression` or `name[i, j] = expression`"))
    .at(target.at)
}
