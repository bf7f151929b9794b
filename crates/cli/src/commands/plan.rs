//! `fluvial plan`.

mod ranks;

use clap::Args;
use fluvial::compile::Options;
use fluvial::core::{Loc, State};
use fluvial::runtime::{Executor, Report};
use serde_json::json;

use self::ranks::{Planned, RanksArgs};
use super::{RunArgs, wanted};
use crate::fault::{Outcome, usage};
use crate::feeds::{FeedArgs, Feeds, SizeArgs};
use crate::out::Out;
use crate::program::ProgramArgs;
use crate::table::{bytes, row, table};

/// Show what memory a run will need, by step and by line; nothing is run.
///
/// With `--dist`, predict what a training needs on ranks that are not here: memory, bytes on the wire, and the time of a step,
/// from its programs and a few figures of the machines. What readers do is not counted.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Plan {
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    feeds: FeedArgs,
    #[command(flatten)]
    sizes: SizeArgs,
    /// Plan for these outputs only. May be repeated.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    fetch: Vec<String>,
    /// The most bytes that a run may need beside inputs and states.
    #[arg(long, value_name = "BYTES")]
    memory_limit: Option<usize>,
    #[command(flatten)]
    ranks: RanksArgs,
    #[command(flatten)]
    common: RunArgs,
}

const EXAMPLES: &str = "Examples:
  fluvial plan model.flb --size batch=64
  fluvial plan model.fl --feed x=x.npy --fetch loss
  fluvial plan train.fl --size batch=64 --memory-limit 100000000
  fluvial plan train.flb --dist zero1 --world 512 --link 100Gbit --latency 5us --device-flops 100T --device-memory 80G";

impl Plan {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        let program = self.program.load(&State::new())?;
        let outputs = wanted(&program, &self.fetch)?;
        self.common.settle()?;
        let inputs = Feeds::read(&program, &self.feeds)?.empty(&program, &self.sizes)?;
        if let Some(how) = &self.ranks.dist {
            if self.memory_limit.is_some() {
                return Err(usage("a memory limit is for one process", "say --device-memory"));
            }
            let planned = Planned { program: &program, outputs: &outputs, inputs: &inputs };
            return self.ranks.plan(how, &planned, out);
        }
        self.ranks.spread.check_unused()?;
        let options = Options { memory_limit: self.memory_limit, ..Options::default() };
        let executor = Executor::with(&program, &outputs, State::new(), &options)?;
        let report = executor.report(&inputs)?;
        let given: Vec<String> =
            inputs.iter().map(|(name, x)| format!("{name} {}", x.ty())).collect();
        out.result(&text(&report, &given), || {
            let steps = report.steps.iter().map(|step| {
                json!({
                    "op": step.op,
                    "line": step.loc.to_string(),
                    "bytes": step.bytes,
                    "in_place": step.in_place,
                    "instructions": step.n_instructions,
                })
            });
            let lines = report.by_line();
            json!({
                "event": "plan",
                "inputs": given,
                "peak_bytes": report.peak_bytes,
                "is_open": report.is_open,
                "unplanned_bytes": report.unplanned_bytes,
                "steps": steps.collect::<Vec<_>>(),
                "lines": lines.iter().map(|(line, n)| json!({"line": line, "bytes": n}))
                    .collect::<Vec<_>>(),
            })
        });
        Ok(0)
    }
}

/// The user's line, if the program has it.
fn place(loc: Loc) -> String {
    if loc.is_known() { loc.to_string() } else { String::new() }
}

fn text(report: &Report, inputs: &[String]) -> String {
    let size = |n: usize| bytes(n as u64);
    let mut text = String::new();
    if !inputs.is_empty() {
        text += &format!("inputs: {}\n", inputs.join(", "));
    }
    text += &format!(
        "peak: {}{}, beside inputs and states ({} if nothing were planned)\n\n",
        if report.is_open { "at least " } else { "" },
        size(report.peak_bytes),
        size(report.unplanned_bytes)
    );
    let mut rows = vec![row(["bytes", "step", "how", "line"])];
    for step in &report.steps {
        let mut how = Vec::new();
        if step.n_instructions > 0 {
            how.push(format!("{} instructions", step.n_instructions));
        }
        if step.in_place {
            how.push("in place".to_string());
        }
        rows.push(row([&size(step.bytes), step.op, &how.join(", "), &place(step.loc)]));
    }
    text += &table(&rows, &[0]);
    if !report.steps.iter().any(|step| step.loc.is_known()) {
        return text;
    }
    let mut rows = vec![row(["bytes", "line"])];
    for (line, n) in report.by_line() {
        rows.push(row([&size(n), &line]));
    }
    text + "\n" + &table(&rows, &[0])
}
