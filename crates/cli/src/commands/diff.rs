//! `fluvial diff`.

use std::path::{Path, PathBuf};

use clap::Args;
use fluvial::core::{Program, Tensor};
use serde_json::json;

use crate::compare::{Tolerance, compare};
use crate::fault::{FAILED, Outcome, usage};
use crate::lines::{Change, changes};
use crate::out::Out;
use crate::table::{count, row, table};
use crate::{program, tensors};

/// Compare two programs, or two files of tensors.
///
/// The exit code is 0 if there is no difference, 1 if there is one.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Diff {
    /// The first file: a program, or tensors (`.safetensors`, `.npz`, `.npy`).
    a: PathBuf,
    /// The second file, of the same kind.
    b: PathBuf,
    /// The difference of numbers that is allowed, whatever their size.
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    atol: f64,
    /// The difference of numbers that is allowed, for each unit of the second one.
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    rtol: f64,
    /// Compare the user's lines of programs, too.
    #[arg(long)]
    lines: bool,
}

const EXAMPLES: &str = "Examples:
  fluvial diff old.fl new.flb
  fluvial diff a.safetensors b.safetensors --rtol 1e-5 --atol 1e-8";

impl Diff {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        let is = |known: fn(&Path) -> bool| known(&self.a) && known(&self.b);
        let is_equal = if is(tensors::is_named) {
            self.tensors(out)?
        } else if is(program::is_named) {
            self.programs(out)?
        } else {
            let what =
                format!("`{}` and `{}` cannot be compared", self.a.display(), self.b.display());
            return Err(usage(what, "give two programs, or two files of tensors"));
        };
        Ok(if is_equal { 0 } else { FAILED })
    }

    fn programs(&self, out: &Out) -> Outcome<bool> {
        let (a, b) = (program::load(&self.a)?, program::load(&self.b)?);
        let text = |program: &Program| match self.lines {
            true => program.to_string(),
            false => format!("{program:#}"),
        };
        let (left, right) = (text(&a), text(&b));
        if left == right {
            let about = if a == b { "equal" } else { "equal, except for the lines of the source" };
            out.note(about, || json!({"event": "equal", "about": about}));
            return Ok(true);
        }
        let changes = changes(&left, &right);
        let mut listing = String::new();
        for change in &changes {
            let (mark, line) = match change {
                Change::Gone(line) => ("-", line),
                Change::New(line) => ("+", line),
                Change::Same(line) => (" ", line),
                Change::Skipped(n) => {
                    listing += &format!("  .. {n} lines are the same\n");
                    continue;
                }
            };
            listing += &format!("{mark} {line}\n");
        }
        out.result(&listing, || {
            let of = |wanted: fn(&Change) -> Option<&str>| -> Vec<&str> {
                changes.iter().filter_map(wanted).collect()
            };
            json!({"event": "diff", "gone": of(Change::gone), "new": of(Change::new_line)})
        });
        Ok(false)
    }

    fn tensors(&self, out: &Out) -> Outcome<bool> {
        let allowed = Tolerance { absolute: self.atol, relative: self.rtol };
        let (a, b) = (sorted(&self.a)?, sorted(&self.b)?);
        let find = |all: &[(String, Tensor)], name: &str| {
            all.iter().find(|(known, _)| known == name).map(|(_, tensor)| tensor.clone())
        };
        let mut rows = vec![row(["tensor", "difference", "largest", "relative"])];
        let mut tell = |name: &str, what: &str, largest: f64, relative: f64| {
            let number = |x: f64| if x > 0.0 { format!("{x:.2e}") } else { String::new() };
            rows.push(row([name, what, &number(largest), &number(relative)]));
            if out.is_json() {
                out.result("", || {
                    json!({"event": "diff", "name": name, "about": what, "largest": largest, "relative": relative})
                });
            }
        };
        let (mut n_different, mut n_close) = (0usize, 0usize);
        for (name, x) in &a {
            let Some(y) = find(&b, name) else {
                tell(name, "only in the first file", 0.0, 0.0);
                n_different += 1;
                continue;
            };
            if x.ty() != y.ty() {
                tell(name, &format!("{} and {}", x.ty(), y.ty()), 0.0, 0.0);
                n_different += 1;
                continue;
            }
            let found = compare(x, &y, allowed);
            if found.n_different > 0 {
                let what = format!("{} of {} elements", found.n_different, x.numel());
                tell(name, &what, found.largest, found.largest_relative);
                n_different += 1;
            } else if found.largest > 0.0 {
                n_close += 1;
            }
        }
        for (name, _) in b.iter().filter(|(name, _)| find(&a, name).is_none()) {
            tell(name, "only in the second file", 0.0, 0.0);
            n_different += 1;
        }
        if n_different > 0 {
            if !out.is_json() {
                out.result(&table(&rows, &[2, 3]), || json!(null));
            }
            return Ok(false);
        }
        let about = match n_close {
            0 => format!("equal: {}", count(a.len(), "tensor")),
            _ => format!("close: {}, {n_close} of them not equal", count(a.len(), "tensor")),
        };
        out.note(&about, || json!({"event": "equal", "about": about}));
        Ok(true)
    }
}

/// The tensors of a file, by name.
fn sorted(path: &Path) -> Outcome<Vec<(String, Tensor)>> {
    let mut all = tensors::read(path)?;
    all.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(all)
}
