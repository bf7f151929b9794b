//! What is inside of scopes and values, page by page.

use fluvial_core::{Tensor, Value as Data};
use serde_json::{Value, json};

use super::evaluate::is_assignment;
use super::handles::{Node, Part};
use super::requests::text;
use super::session::{Answer, Session};
use super::show::{self, Style};
use crate::inspect;
use crate::protocol::{Args, base64};
use crate::target::{Evaluated, ScopeKind, Variable};

/// How many bytes the list of an answer has at most.
const MAX_BYTES: usize = 60_000;
/// How many rows are shown without ranges.
const MAX_ROWS: usize = 100;
/// How many bytes of a tensor are sent at once.
const MAX_MEMORY: usize = 48 << 10;
/// What is said of a tensor besides its rows.
const N_FACTS: usize = 9;

/// What a client wants to see of a list.
struct Page {
    named: bool,
    indexed: bool,
    start: usize,
    /// How many; all, if it does not say.
    count: Option<usize>,
    style: Style,
}

impl Page {
    fn read(args: Args) -> Page {
        let filter = args.text("filter");
        Page {
            named: filter != Some("indexed"),
            indexed: filter != Some("named"),
            start: args.count("start").unwrap_or(0),
            count: args.count("count").filter(|&count| count > 0),
            style: style(args),
        }
    }
}

/// How a client wants values to be written.
pub(super) fn style(args: Args) -> Style {
    Style { hex: args.object("format").flag("hex") }
}

/// Variables up to the bound on an answer.
#[derive(Default)]
struct Rows {
    rows: Vec<Value>,
    n_bytes: usize,
}

impl Rows {
    /// Adds a row; `false` if there is no room for it.
    fn add(&mut self, row: Value) -> bool {
        self.n_bytes += row.to_string().len();
        let fits = self.n_bytes <= MAX_BYTES;
        self.rows.push(match fits {
            true => row,
            false => json!({
                "name": "…",
                "value": "more than fits into an answer; ask for fewer at once",
                "variablesReference": 0,
            }),
        });
        fits
    }
}

impl Session {
    pub(super) fn variables(&mut self, args: Args) -> Answer {
        self.stop()?;
        let handle = args.int("variablesReference").unwrap_or(0);
        let node = self.handles.get(handle).cloned().ok_or_else(|| {
            format!("variables: {handle} stands for nothing; the program has gone on since")
        })?;
        let page = Page::read(args);
        let rows = match node {
            Node::Scope { thread, frame, kind } => {
                self.target().choose(thread);
                self.variables_of_scope(thread, frame, kind, &page)?
            }
            Node::Value(part) => {
                self.target().choose(part.thread);
                let part = self.fresh(handle, part);
                self.variables_of_part(&part, &page)?
            }
        };
        Ok(json!({"variables": rows.rows}))
    }

    fn variables_of_scope(
        &mut self,
        thread: u32,
        frame: usize,
        kind: ScopeKind,
        page: &Page,
    ) -> Result<Rows, String> {
        let mut rows = Rows::default();
        if !page.named {
            return Ok(rows);
        }
        let variables = self.target().variables(frame, kind).map_err(text)?;
        let n_edits = self.target().edits().len();
        let count = page.count.unwrap_or(usize::MAX);
        for variable in variables.into_iter().skip(page.start).take(count) {
            let Variable { name, value, editable, note } = variable;
            let part = Part {
                thread,
                frame,
                scope: Some(kind),
                name,
                root: value,
                index: Vec::new(),
                range: None,
                edits: n_edits,
            };
            let name = part.name.clone();
            let mut row = self.value_out("value", part, page.style);
            row["name"] = json!(name);
            row["evaluateName"] = json!(name);
            if let Some(note) = note {
                row["value"] = json!(format!("{} ({note})", row["value"].as_str().unwrap_or("")));
            }
            if !editable {
                row["presentationHint"] = json!({"kind": "data", "attributes": ["readOnly"]});
            }
            if !rows.add(row) {
                break;
            }
        }
        Ok(rows)
    }

    /// A value under one of the names that the protocol has for it, and by which number to look into it.
    pub(super) fn value_out(&mut self, key: &str, part: Part, style: Style) -> Value {
        let mut row = json!({
            key: show::summary(&part.root, style),
            "type": part.root.ty().to_string(),
            "variablesReference": 0,
        });
        let (n_facts, n_rows) = match &part.root {
            Data::Tensor(tensor) if tensor.rank() == 0 => (0, 0),
            Data::Tensor(tensor) => (N_FACTS, tensor.dims()[0]),
            Data::List(list) => (0, list.len()),
            Data::Channel(_) | Data::Device(_) => (0, 0),
        };
        let is_tensor = matches!(part.root, Data::Tensor(_));
        let handle = self.handles.add(Node::Value(part));
        if n_facts + n_rows > 0 {
            row["variablesReference"] = json!(handle);
            row["namedVariables"] = json!(n_facts);
            row["indexedVariables"] = json!(n_rows.min(i32::MAX as usize));
        }
        if is_tensor && handle > 0 {
            row["memoryReference"] = json!(format!("tensor:{handle}"));
        }
        row
    }

    /// The part with its value read again, if something was edited since.
    fn fresh(&mut self, handle: i64, mut part: Part) -> Part {
        let n_edits = self.target().edits().len();
        if part.edits == n_edits {
            return part;
        }
        let read = match part.scope {
            Some(kind) => self.target().variables(part.frame, kind).ok().and_then(|variables| {
                let mut named = variables.into_iter().filter(|found| found.name == part.name);
                named.next().map(|found| found.value)
            }),
            // An edit is made once, however often its result is looked at.
            None if is_assignment(&part.name) => None,
            None => match self.target().evaluate(part.frame, &part.name) {
                Ok(Evaluated::Value(value)) => Some(value),
                _ => None,
            },
        };
        part.edits = n_edits;
        part.root = read.unwrap_or(part.root);
        self.handles.replace(handle, Node::Value(part.clone()));
        part
    }

    fn variables_of_part(&mut self, part: &Part, page: &Page) -> Result<Rows, String> {
        let mut rows = Rows::default();
        let tensor = match &part.root {
            Data::Channel(_) => return Ok(rows),
            Data::Device(_) => {
                row_of(part.root.tensor().map_err(|error| error.to_string())?, &part.index)?
            }
            Data::Tensor(tensor) => row_of(tensor, &part.index)?,
            Data::List(list) => {
                let count = if page.indexed { page.count.unwrap_or(MAX_ROWS) } else { 0 };
                let elements = list.iter().enumerate().skip(page.start).take(count);
                for (i, element) in elements {
                    let name = format!("{}[{i}]", part.name);
                    let element = Part { name, root: element.clone(), scope: None, ..part.clone() };
                    let mut row = self.value_out("value", element, page.style);
                    row["name"] = json!(format!("[{i}]"));
                    if !rows.add(row) {
                        break;
                    }
                }
                return Ok(rows);
            }
        };
        if tensor.rank() == 0 {
            return Ok(rows);
        }
        if page.named && part.index.is_empty() && part.range.is_none() {
            let start = if page.indexed { 0 } else { page.start };
            for (name, value) in facts(&tensor)?.into_iter().skip(start) {
                rows.add(json!({"name": name, "value": value, "variablesReference": 0,
                    "presentationHint": {"kind": "property", "attributes": ["readOnly"]}}));
            }
        }
        if page.indexed {
            self.add_rows(part, &tensor, page, &mut rows);
        }
        Ok(rows)
    }

    /// The rows of a tensor; in ranges, if there are many and the client does not say which ones.
    fn add_rows(&mut self, part: &Part, tensor: &Tensor, page: &Page, rows: &mut Rows) {
        let (first, end) = part.range.unwrap_or((0, tensor.dims()[0]));
        let n_rows = end.saturating_sub(first);
        if page.count.is_none() && n_rows > MAX_ROWS {
            let mut width = MAX_ROWS;
            while n_rows.div_ceil(width) > MAX_ROWS {
                width *= MAX_ROWS;
            }
            for start in (first..end).step_by(width) {
                let range = (start, start.saturating_add(width).min(end));
                let handle =
                    self.handles.add(Node::Value(Part { range: Some(range), ..part.clone() }));
                let n_inside = range.1 - range.0;
                let row = json!({
                    "name": format!("[{}..{}]", range.0, range.1 - 1),
                    "value": format!("{n_inside} rows"),
                    "variablesReference": handle,
                    "indexedVariables": n_inside,
                    "presentationHint": {"kind": "virtual", "attributes": ["readOnly"]},
                });
                if !rows.add(row) {
                    return;
                }
            }
            return;
        }
        let start = first.saturating_add(page.start).min(end);
        let count = page.count.unwrap_or(n_rows);
        for i in start..start.saturating_add(count).min(end) {
            let Ok(row) = tensor.index(0, i) else { return };
            let mut index = part.index.clone();
            index.push(i);
            let mut answer = json!({
                "name": format!("[{i}]"),
                "value": show::row(&row, page.style),
                "type": row.ty().to_string(),
                "variablesReference": 0,
                "evaluateName": element_name(&part.name, &index),
            });
            if row.rank() > 0 {
                let inside = Part { index, range: None, ..part.clone() };
                answer["variablesReference"] = json!(self.handles.add(Node::Value(inside)));
                answer["indexedVariables"] = json!(row.dims()[0].min(i32::MAX as usize));
            }
            if !rows.add(answer) {
                return;
            }
        }
    }

    pub(super) fn read_memory(&mut self, args: Args) -> Answer {
        let reference = args.text("memoryReference").unwrap_or("");
        let handle = reference.strip_prefix("tensor:").and_then(|number| number.parse().ok());
        let node = handle.and_then(|handle: i64| Some((handle, self.handles.get(handle)?.clone())));
        let Some((handle, Node::Value(part))) = node else {
            return Err(format!(
                "readMemory: `{reference}` stands for nothing; the program has gone on since"
            ));
        };
        let part = self.fresh(handle, part);
        let tensor = part.root.tensor().map_err(text)?;
        let tensor = row_of(tensor, &part.index)?.contiguous().map_err(text)?;
        let bytes = tensor.as_bytes().unwrap_or(&[]);
        let offset = args.int("offset").unwrap_or(0);
        let start = usize::try_from(offset)
            .map_err(|_| "readMemory: there is nothing before a tensor".to_string())?;
        let count = args.count("count").unwrap_or(0);
        let found = bytes.get(start..).unwrap_or(&[]);
        let found = &found[..found.len().min(count).min(MAX_MEMORY)];
        let left = bytes.len().saturating_sub(start);
        let mut answer = json!({"address": start.to_string(), "data": base64::encode(found)});
        if count > left {
            answer["unreadableBytes"] = json!(count - left);
        }
        Ok(answer)
    }
}

/// The expression for an element or a row.
pub(super) fn element_name(name: &str, index: &[usize]) -> String {
    let index: Vec<String> = index.iter().map(ToString::to_string).collect();
    format!("{name}[{}]", index.join(", "))
}

/// A row of a row of a tensor.
fn row_of(tensor: &Tensor, index: &[usize]) -> Result<Tensor, String> {
    index.iter().try_fold(tensor.clone(), |tensor, &i| tensor.index(0, i)).map_err(text)
}

/// What is said of a tensor besides its rows.
fn facts(tensor: &Tensor) -> Result<[(&'static str, String); N_FACTS], String> {
    let value = Data::from(tensor.clone());
    let stats = inspect::Stats::of(&value).map_err(text)?;
    Ok([
        ("shape", format!("{:?}", tensor.dims())),
        ("dtype", tensor.dtype().to_string()),
        ("mean", inspect::short(stats.mean)),
        ("sd", inspect::short(stats.sd)),
        ("min", inspect::short(stats.min)),
        ("max", inspect::short(stats.max)),
        ("nan", stats.nan.to_string()),
        ("inf", stats.inf.to_string()),
        ("hash", format!("{:016x}", inspect::hash(&value))),
    ])
}
