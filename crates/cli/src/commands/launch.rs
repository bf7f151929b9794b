//! `fluvial launch`.

use std::ffi::OsString;
use std::process::Command;

use clap::{Args, CommandFactory};
use fluvial::dist;
use serde_json::json;

use crate::fault::{self, FAILED, Outcome, usage};
use crate::out::Out;
use crate::{Cli, ranks};

/// Start several ranks on this machine, by the launcher that belongs to the library of MPI.
///
/// What follows `--` is a command of this program, such as `run`, or any other one.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Launch {
    /// How many ranks.
    #[arg(short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    n: u32,
    /// Start again so often if the ranks end with a fault.
    #[arg(long, value_name = "K", default_value_t = 0)]
    restarts: u32,
    /// What each rank runs.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "Examples:
  fluvial launch -n 2 -- run train.flb --dist dp --save model.safetensors
  fluvial launch -n 2 -- python train.py";

impl Launch {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        let found = dist::find(&ranks::folders())?;
        let Some(launcher) = found.launcher() else {
            let what = format!("`{}` has no launcher beside it", found.path.display());
            return Err(usage(what, "install its mpiexec, or name another library in FLUVIAL_MPI"));
        };
        let mut left = self.restarts;
        loop {
            let mut command = Command::new(&launcher);
            command.arg("-n").arg(self.n.to_string()).args(self.words()?);
            command.env("FLUVIAL_MPI", &found.path);
            let status = command.status().map_err(|error| fault::file(&launcher, error))?;
            let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED);
            if status.success() || left == 0 {
                return Ok(code);
            }
            left -= 1;
            let text = format!("the ranks have ended with {status}; starting again");
            out.note(&text, || json!({"event": "restart", "status": code, "left": left}));
        }
    }

    /// The command of a rank, with this program before a command of it.
    fn words(&self) -> Outcome<Vec<OsString>> {
        let is_ours = self.command.first().and_then(|word| word.to_str());
        let is_ours = is_ours.is_some_and(|word| Cli::command().find_subcommand(word).is_some());
        let mut words = Vec::new();
        if is_ours {
            let own = std::env::current_exe();
            let own = own.map_err(|error| fault::file(std::path::Path::new("fluvial"), error))?;
            let name = own.file_stem().map(|name| name.to_string_lossy().into_owned());
            words.push(own.into_os_string());
            // In the wheel this program is a library of Python.
            if name.is_some_and(|name| name.starts_with("python")) {
                words.extend(["-m".into(), "fluvial".into()]);
            }
        }
        words.extend(self.command.iter().cloned());
        Ok(words)
    }
}
