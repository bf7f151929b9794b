//! `fluvial show`.

use clap::Args;
use fluvial::compile::{Compiled, Options, Patch, compile, pipeline};
use fluvial::core::{Block, Program, State};
use serde_json::json;

use super::wanted;
use crate::fault::{Outcome, usage};
use crate::out::Out;
use crate::program::ProgramArgs;
use crate::table::{row, table};
use crate::{dot, names};

/// Show a program: its text, its graph, or what the compiler makes of it.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Show {
    #[command(flatten)]
    program: ProgramArgs,
    /// With the user's line behind each call.
    #[arg(long)]
    lines: bool,
    /// List the passes of the compiler, and what each of them did.
    #[arg(long, conflicts_with_all = ["pass", "compiled"])]
    passes: bool,
    /// Show the program as it is after this pass.
    #[arg(long, value_name = "NAME", conflicts_with = "compiled")]
    pass: Option<String>,
    /// Show the program as it is after all passes.
    #[arg(long)]
    compiled: bool,
    /// Allow passes that may change the last bits of results.
    #[arg(long)]
    fast: bool,
    /// Compile for these outputs only. May be repeated.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    fetch: Vec<String>,
    /// Draw the graph in the language of Graphviz.
    #[arg(long, conflicts_with = "passes")]
    dot: bool,
}

const EXAMPLES: &str = "Examples:
  fluvial show model.flb
  fluvial show model.fl --passes
  fluvial show model.fl --pass \"fuse elementwise\"
  fluvial show model.fl --dot | dot -Tsvg > model.svg";

impl Show {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        let source = self.program.load(&State::new())?;
        let is_source = !self.passes && self.pass.is_none() && !self.compiled;
        if is_source && self.fetch.is_empty() {
            self.text(&source, out);
            return Ok(0);
        }
        let outputs = wanted(&source, &self.fetch)?;
        let options = Options { fast: self.fast, keep_stages: true, ..Options::default() };
        if let Some(pass) = &self.pass {
            self.check_pass(pass)?;
        }
        let compiled = compile(&source, &outputs, &options)?;
        if self.passes {
            passes(&source, &compiled, out);
            return Ok(0);
        }
        let stage = |name: &String| compiled.stages.iter().find(|(known, _)| known == name);
        let shown = match self.pass.as_ref().and_then(stage) {
            Some((_, program)) => program,
            None => &compiled.program,
        };
        match is_source {
            true => self.text(&source.prune(&outputs)?, out),
            false => self.text(shown, out),
        }
        Ok(0)
    }

    /// Refuses a pass that there is not, or that does not run.
    fn check_pass(&self, name: &str) -> Outcome<()> {
        match pipeline().iter().find(|pass| pass.name == name) {
            Some(pass) if !self.fast && !pass.exact => {
                Err(usage(format!("`{name}` is not exact"), "allow it by `--fast`"))
            }
            Some(_) => Ok(()),
            None => {
                let known = names::listed(name, pipeline().iter().map(|pass| pass.name));
                Err(usage(format!("there is no pass `{name}`"), format!("passes: {known}")))
            }
        }
    }

    fn text(&self, program: &Program, out: &Out) {
        let text = match (self.dot, self.lines) {
            (true, _) => dot::graph(program),
            (_, true) => format!("{program}"),
            _ => format!("{program:#}"),
        };
        out.result(&text, || {
            let types = |names: &[std::sync::Arc<str>], types: Vec<String>| {
                let named = names.iter().zip(types);
                named.map(|(name, ty)| json!({"name": &**name, "type": ty})).collect::<Vec<_>>()
            };
            let inputs = program.input_types().iter().map(ToString::to_string).collect();
            let outputs = program.output_types().map(ToString::to_string).collect();
            let states = program.states.iter().map(|(name, decl)| {
                json!({"name": &**name, "type": decl.ty.to_string(), "role": decl.role.name()})
            });
            json!({
                "event": if self.dot { "graph" } else { "program" },
                "text": text,
                "inputs": types(&program.inputs, inputs),
                "outputs": types(&program.outputs, outputs),
                "states": states.collect::<Vec<_>>(),
                "calls": n_calls(&program.main),
            })
        });
    }
}

/// Lists the passes: how many calls there are after each, and what it did.
fn passes(source: &Program, compiled: &Compiled, out: &Out) {
    let done_by = |name: &str| -> Vec<&Patch> {
        compiled.patches.iter().filter(|patch| patch.pass == name).collect()
    };
    if out.is_json() {
        for (name, program) in &compiled.stages {
            let patches = done_by(name)
                .into_iter()
                .map(|patch| json!({"what": patch.what, "line": patch.loc.to_string()}));
            let patches: Vec<_> = patches.collect();
            let calls = n_calls(&program.main);
            out.result(
                "",
                || json!({"event": "pass", "name": name, "calls": calls, "patches": patches}),
            );
        }
        return;
    }
    let mut rows = vec![row(["pass", "changes", "calls", "why it stands there"])];
    rows.push(row(["(source)", "", &n_calls(&source.main).to_string(), ""]));
    for (name, program) in &compiled.stages {
        let why = pipeline().iter().find(|pass| pass.name == *name).map_or("", |pass| pass.why);
        let (n_patches, n_calls) = (done_by(name).len(), n_calls(&program.main));
        rows.push(row([name, &n_patches.to_string(), &n_calls.to_string(), why]));
    }
    let mut text = table(&rows, &[1, 2]);
    for (name, _) in &compiled.stages {
        let patches = done_by(name);
        if patches.is_empty() {
            continue;
        }
        text += &format!("\n{name}:\n");
        for patch in patches {
            let place =
                if patch.loc.is_known() { format!("{}: ", patch.loc) } else { String::new() };
            text += &format!("  {place}{}\n", patch.what);
        }
    }
    out.result(&text, || json!(null));
}

/// The calls of a block and of all blocks inside.
fn n_calls(block: &Block) -> usize {
    let inside = |block: &Block| -> usize {
        let blocks = |call: &fluvial::core::Call| -> usize {
            call.op.blocks().iter().map(|inner| n_calls(inner)).sum()
        };
        block.calls.iter().map(blocks).sum()
    };
    block.calls.len() + inside(block)
}
