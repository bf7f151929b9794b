//! Commands that show and set values.

use fluvial_core::{Error, Result, Value};

use super::commands::Flow;
use super::session::Session;
use crate::expr::{Statement, parse};
use crate::inspect::{self, Canvas};
use crate::target::{Evaluated, ScopeKind};

/// As many elements are shown one by one.
const MOST_ELEMENTS: usize = 100;

/// The line about a value and, if they are few, its elements.
fn text(value: &Value) -> String {
    let line = inspect::line(value);
    match value {
        Value::Tensor(tensor)
            if tensor.rank() > 0 && (1..=MOST_ELEMENTS).contains(&tensor.numel()) =>
        {
            format!("{line}\n{tensor}")
        }
        _ => line,
    }
}

pub fn print(session: &mut Session, rest: &str) -> Result<Flow> {
    if rest.is_empty() {
        return Err(Error::argument("it is not said what to print").remedy("write `print EXPR`"));
    }
    session.stopped()?;
    match session.target.evaluate(session.frame, rest)? {
        Evaluated::Value(value) => session.say(text(&value)),
        Evaluated::Text(text) => session.say(text),
    }
    Ok(Flow::Stay)
}

pub fn set(session: &mut Session, rest: &str) -> Result<Flow> {
    session.stopped()?;
    match Statement::parse(rest)? {
        Statement::Assign { .. } => print(session, rest),
        Statement::Expr(_) => Err(Error::argument("it is not said what to set")
            .remedy("write `set NAME = EXPR` or `set NAME[I, J] = EXPR`")),
    }
}

fn value(session: &Session, rest: &str) -> Result<Value> {
    session.stopped()?;
    match session.target.evaluate(session.frame, parse(rest)?.text())? {
        Evaluated::Value(value) => Ok(value),
        Evaluated::Text(text) => Err(Error::argument(format!("`{text}` is a text"))
            .remedy("write an expression that is a tensor")),
    }
}

pub fn plot(session: &mut Session, rest: &str) -> Result<Flow> {
    let value = value(session, rest)?;
    let (width, colours) = (session.options.width.min(160), session.options.colours);
    let picture = inspect::heat_map(value.tensor()?, &Canvas { width, height: 24, colours })?;
    session.say(inspect::line(&value));
    session.say(picture);
    Ok(Flow::Stay)
}

pub fn hist(session: &mut Session, rest: &str) -> Result<Flow> {
    let value = value(session, rest)?;
    let picture = inspect::histogram(value.tensor()?, 12, session.options.width.min(80) / 2)?;
    session.say(inspect::line(&value));
    session.say(picture);
    Ok(Flow::Stay)
}

pub fn watch(session: &mut Session, rest: &str) -> Result<Flow> {
    if rest.is_empty() {
        if session.watches.is_empty() {
            session.say("Nothing is watched.");
        }
        session.show_watches();
        return Ok(Flow::Stay);
    }
    let text = parse(rest)?.text().to_string();
    let number = session.next_watch;
    session.next_watch += 1;
    session.watches.push((number, text));
    session.show_watch(number);
    Ok(Flow::Stay)
}

pub fn unwatch(session: &mut Session, rest: &str) -> Result<Flow> {
    if rest.is_empty() {
        session.watches.clear();
    }
    for word in rest.split([' ', ',']).filter(|word| !word.is_empty()) {
        let at = session.watches.iter().position(|(number, _)| number.to_string() == word);
        match at {
            Some(at) => drop(session.watches.remove(at)),
            None => {
                return Err(Error::argument(format!("there is no watch `{word}`"))
                    .remedy("`watch` lists them"));
            }
        }
    }
    Ok(Flow::Stay)
}

impl Session<'_> {
    /// Shows all that is watched.
    pub(super) fn show_watches(&mut self) {
        let numbers: Vec<u32> = self.watches.iter().map(|(number, _)| *number).collect();
        for number in numbers {
            self.show_watch(number);
        }
    }

    fn show_watch(&mut self, number: u32) {
        let found = self.watches.iter().find(|(known, _)| *known == number);
        let Some((_, expression)) = found else { return };
        let shown = match &self.stop {
            None => "not known while the program runs".to_string(),
            Some(_) => match self.target.evaluate(self.frame, expression) {
                Ok(Evaluated::Value(value)) => inspect::line(&value),
                Ok(Evaluated::Text(text)) => text,
                Err(error) => {
                    format!("<{}>", error.message().lines().next().unwrap_or_default())
                }
            },
        };
        let line = format!("  {number}: {expression} = {shown}");
        self.say(self.paint.cyan(&line));
    }
}

pub fn scope(session: &mut Session, kind: ScopeKind) -> Result<Flow> {
    session.stopped()?;
    let variables = session.target.variables(session.frame, kind)?;
    if variables.is_empty() {
        session.say(format!("{}: nothing here", kind.title()));
    }
    let room = variables.iter().map(|variable| variable.name.chars().count()).max().unwrap_or(0);
    for variable in variables {
        let note = variable.note.map(|note| format!("  ({note})")).unwrap_or_default();
        let line = inspect::line(&variable.value);
        session.say(format!("{:<room$}  {line}{}", variable.name, session.paint.dim(&note)));
    }
    Ok(Flow::Stay)
}

pub fn scopes(session: &mut Session, _: &str) -> Result<Flow> {
    session.stopped()?;
    for scope in session.target.scopes(session.frame)? {
        let command = match scope.kind {
            ScopeKind::Inputs => "inputs",
            ScopeKind::Output => "output",
            ScopeKind::Variables => "vars",
            ScopeKind::Parameters => "params",
            ScopeKind::Gradients => "grads",
            ScopeKind::Optimizer => "optim",
            ScopeKind::Loop => "loop",
            ScopeKind::Live => "live",
        };
        let count = scope.count.map(|count| count.to_string()).unwrap_or_default();
        session.say(format!("{command:<8} {:<18} {count}", scope.kind.title()).trim_end());
    }
    Ok(Flow::Stay)
}

pub fn edits(session: &mut Session, _: &str) -> Result<Flow> {
    let edits = session.target.edits();
    match edits.is_empty() {
        true => session.say("Nothing was edited."),
        false => session.say(edits.join("\n")),
    }
    Ok(Flow::Stay)
}

pub fn programs(session: &mut Session, _: &str) -> Result<Flow> {
    let programs = session.target.programs();
    if programs.is_empty() {
        session.say("No program has run so far.");
    }
    for program in programs {
        session.say(format!("{} {}", program.number, program.name));
    }
    Ok(Flow::Stay)
}
