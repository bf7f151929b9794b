//! `fluvial completions`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use serde_json::json;

use crate::Cli;
use crate::fault::Outcome;
use crate::out::Out;

/// Write a script that completes this command in a shell.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

const EXAMPLES: &str = "Examples:
  fluvial completions bash > ~/.local/share/bash-completion/completions/fluvial
  fluvial completions zsh > ~/.zfunc/_fluvial
  fluvial completions fish > ~/.config/fish/completions/fluvial.fish";

impl Completions {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "fluvial", &mut script);
        let script = String::from_utf8_lossy(&script);
        out.result(&script, || json!({"event": "completions", "script": script}));
        Ok(0)
    }
}
