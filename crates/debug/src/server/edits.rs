//! Gives variables, elements and expressions other values.

use serde_json::json;

use super::handles::{Node, Part};
use super::requests::text;
use super::session::{Answer, Session};
use super::variables::{element_name, style};
use crate::protocol::{Args, event};
use crate::target::ScopeKind;

impl Session {
    pub(super) fn set_variable(&mut self, args: Args) -> Answer {
        self.stop()?;
        let name = args.words("name").ok_or("setVariable: the name is missing")?;
        let handle = args.int("variablesReference").unwrap_or(0);
        let (thread, frame, scope, name, index) = match self.handles.get(handle) {
            None => {
                return Err(format!(
                    "setVariable: {handle} stands for nothing; the program has gone on since"
                ));
            }
            Some(Node::Scope { thread, frame, kind }) => {
                (*thread, *frame, Some(*kind), name.to_string(), Vec::new())
            }
            Some(Node::Value(part)) => {
                let number = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
                let number = number.and_then(|number| number.trim().parse().ok());
                let number: usize = number.ok_or_else(|| {
                    format!("setVariable: `{name}` cannot be set; set the tensor or an element")
                })?;
                // The name of what an expression gave is that expression.
                let (name, mut index) = match part.scope {
                    Some(_) => (part.name.as_str(), Vec::new()),
                    None => name_and_index(&part.name).ok_or_else(|| {
                        format!(
                            "setVariable: `{}` is not a variable, so it cannot be set",
                            part.name
                        )
                    })?,
                };
                index.extend(&part.index);
                index.push(number);
                (part.thread, part.frame, part.scope, name.to_string(), index)
            }
        };
        self.target().choose(thread);
        self.set(frame, scope, &name, &index, args)
    }

    pub(super) fn set_expression(&mut self, args: Args) -> Answer {
        let frame = self.frame_in(args)?;
        let expression = args.words("expression").ok_or("setExpression: it is missing")?;
        let (name, index) = name_and_index(expression).ok_or_else(|| {
            format!("setExpression: `{expression}` is not a variable and no element of one")
        })?;
        self.set(frame, None, name, &index, args)
    }

    fn set(
        &mut self,
        frame: usize,
        scope: Option<ScopeKind>,
        name: &str,
        index: &[usize],
        args: Args,
    ) -> Answer {
        let value = args.words("value").ok_or("the new value is missing")?;
        let root = self.target().set(frame, scope, name, index, value).map_err(text)?;
        self.tell_edit();
        let edits = self.target().edits().len();
        let (scope, name) = match index {
            [] => (scope, name.to_string()),
            _ => (None, element_name(name, index)),
        };
        let thread = self.stop()?.thread;
        let index = Vec::new();
        let part = Part { thread, frame, scope, name, root, index, range: None, edits };
        Ok(self.value_out("value", part, style(args)))
    }

    /// Lets the client read all values again.
    pub(super) fn tell_edit(&mut self) {
        if self.client.reads_again {
            self.after.push(event("invalidated", json!({"areas": ["variables"]})));
        }
    }

    /// Runs something that may edit; the client is told if it did.
    pub(super) fn watch_edits<T>(&mut self, work: impl FnOnce(&mut Session) -> T) -> T {
        let before = self.target().edits().len();
        let result = work(self);
        if self.target().edits().len() != before {
            self.tell_edit();
        }
        result
    }
}

/// The parts of `name` or `name[i, j]`.
fn name_and_index(expression: &str) -> Option<(&str, Vec<usize>)> {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_.%:/-".contains(c))
    };
    let (name, index) = match expression.strip_suffix(']') {
        None => (expression, Vec::new()),
        Some(open) => {
            let (name, index) = open.split_once('[')?;
            let index: Result<Vec<usize>, _> =
                index.split(',').map(|number| number.trim().parse()).collect();
            (name, index.ok()?)
        }
    };
    let name = name.trim();
    is_name(name).then_some((name, index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_indices() {
        assert_eq!(name_and_index("fc1.w"), Some(("fc1.w", vec![])));
        assert_eq!(name_and_index("w[1, 20]"), Some(("w", vec![1, 20])));
        for text in ["", "w[", "w]", "w[]", "w[-1]", "w[a]", "w + 1", "[1]", "w[1][2]", "f(x)"] {
            assert_eq!(name_and_index(text), None, "{text}");
        }
    }
}
