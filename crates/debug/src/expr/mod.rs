//! The language of conditions, watches, log points and edits.
//!
//! It looks like Python and is evaluated here, by the ops of the framework, so that types are what they are in
//! programs: `loss > 10`, `norm(grad(fc1.weight)) > 1e3`, `max(abs(h[0, :, 3:5]))`, `not any(h < 0) and step >= 3`.
//! Numbers in the text have no type of their own: they take that of what they meet. Nothing is changed by evaluating.
//!
//! - [`Expr`], [`Statement`]: an expression; an expression or an edit.
//! - [`Context`]: what names mean.
//! - [`Template`]: text with expressions in braces.
//! - [`Hits`]: at which hits of a breakpoint to stop.

mod ast;
mod eval;
mod fault;
mod format;
mod functions;
mod hits;
mod item;
mod lexer;
pub(crate) mod names;
mod operators;
mod parser;
mod statement;
mod subscript;
mod template;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use fluvial_core::{Error, Result, Value, Var, imperative, no_grad};

use crate::target::Evaluated;
use ast::Node;
use eval::Evaluator;
use fault::Fault;
use item::Item;

pub use functions::function_names;
pub use hits::Hits;
pub use statement::{Statement, Subscript, written};
pub use template::Template;

/// What names mean.
pub trait Context {
    /// The value of a name: `loss`, `fc1.weight`, `%h2`.
    fn value(&self, name: &str) -> Option<Value>;

    /// The gradient with respect to a name, as far as there is one now.
    fn gradient(&self, name: &str) -> Option<Value>;

    /// All names that have values, for errors and completion.
    fn names(&self) -> Vec<String>;
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    text: Arc<str>,
    node: Node,
}

/// Reads an expression.
pub fn parse(text: &str) -> Result<Expr> {
    let text: Arc<str> = text.into();
    match parser::expression(&text) {
        Ok(node) => Ok(Expr { text, node }),
        Err(fault) => Err(fault.of(&text)),
    }
}

impl Expr {
    /// The text that was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names that it uses, with all that is behind dots, in the order of the text.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.node.names(&mut names);
        names
    }

    /// Its value.
    pub fn eval(&self, context: &dyn Context) -> Result<Value> {
        self.with(context, |item, evaluator| match item {
            Item::Text(text) => Err(Fault::new(
                self.node.at,
                Error::argument(format!("this is the text `{text}`, and a value is needed"))
                    .remedy("compare texts by `==`: `dtype(h) == \"f32\"`"),
            )),
            item => evaluator.var(item, self.node.at).and_then(|var| value(&var, self.node.at)),
        })
    }

    /// Its value, or a text if it asks for one, as `dtype(h)` does.
    pub fn answer(&self, context: &dyn Context) -> Result<Evaluated> {
        self.with(context, |item, evaluator| match item {
            Item::Text(text) => Ok(Evaluated::Text(text)),
            item => evaluator
                .var(item, self.node.at)
                .and_then(|var| value(&var, self.node.at))
                .map(Evaluated::Value),
        })
    }

    /// Whether it holds: its value is one element, and not zero. As conditions, `isnan(h)` and `isinf(h)` hold if any
    /// element is so, and `isfinite(h)` if all are.
    pub fn truth(&self, context: &dyn Context) -> Result<bool> {
        self.with(context, |item, evaluator| evaluator.truth(item, self.node.at))
    }

    fn with<T>(
        &self,
        context: &dyn Context,
        f: impl FnOnce(Item, &Evaluator) -> Result<T, Fault>,
    ) -> Result<T> {
        let (_now, _untracked) = (imperative(), no_grad());
        let evaluator = Evaluator { context };
        let found = evaluator.item(&self.node).and_then(|item| f(item, &evaluator));
        found.map_err(|fault| fault.of(&self.text))
    }
}

fn value(var: &Var, at: usize) -> Result<Value, Fault> {
    var.value().cloned().map_err(|error| Fault::new(at, error))
}
