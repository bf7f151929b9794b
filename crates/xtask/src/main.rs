//! The command line of the project's tools.

use std::{env, process::ExitCode};

use xtask::{codegen, tidy, tree};

const USAGE: &str = "\
usage: cargo xtask <command>

  codegen          write the files that are generated from the ops
  codegen --check  only name those that are not fresh
  tidy             check the rules of the repository";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    match run(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(faults) => {
            eprintln!("{faults}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Result<(), String> {
    let command = match args {
        ["codegen"] => codegen::write,
        ["codegen", "--check"] => codegen::check,
        ["tidy"] => tidy::check,
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return Ok(());
        }
        _ => return Err(USAGE.to_string()),
    };
    command(&tree::read(&tree::root()).map_err(|error| error.to_string())?)
}
