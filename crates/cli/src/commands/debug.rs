//! `fluvial debug`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use fluvial::core::Error;
use fluvial_debug::Engine;
use fluvial_debug::terminal::{Left, Options, Session};

use super::run::Run;
use crate::fault::{self, Outcome, usage};
use crate::out::Out;
use crate::signals;

/// Run a program under the debugger.
///
/// It stops at the first op and asks what to do; `help` lists the commands. Options are those of `run`. Ctrl-C
/// pauses the program.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Debug {
    /// Commands to begin with, one per line; after them, those of standard input.
    #[arg(short = 'x', long, value_name = "FILE")]
    commands: Option<PathBuf>,
    #[command(flatten)]
    run: Run,
}

const EXAMPLES: &str = "Examples:
  fluvial debug train.flb
  fluvial debug programs/while.fl --set x=1 --set w=2
  fluvial debug train.fl --commands breakpoints.txt";

impl Debug {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        if out.is_json() {
            return Err(usage("`debug` talks to people", "leave `--json` out"));
        }
        let mut input = self.input()?;
        let engine = Engine::new(true);
        let options = Options {
            echo: self.commands.is_some() || !io::stdin().is_terminal(),
            ..Options::for_terminal(io::stdout().is_terminal())
        };
        let _pausing = signals::pause_instead(&options.interrupt);
        let mut stdout = io::stdout();
        // It listens before the program begins, so that nothing is missed.
        let mut session = Session::new(&*engine, &mut stdout, options);
        let (left, outcome) = std::thread::scope(|scope| {
            let (engine, out, run) = (Arc::clone(&engine), out.without_bars(), &self.run);
            let running = std::thread::Builder::new().name("program".to_string());
            let running = running.spawn_scoped(scope, move || {
                let outcome = run.run(&out);
                engine.end();
                outcome
            });
            let running = running
                .map_err(|error| Error::internal(format!("no thread can be started: {error}")))?;
            let left = session.run(&mut *input);
            let outcome = running.join();
            Ok::<_, Error>((left, outcome))
        })?;
        match (left?, outcome) {
            // That the run has not come to its end is what was asked for.
            (Left::Quit, _) => Ok(0),
            (_, Ok(outcome)) => outcome,
            (_, Err(_)) => Err(Error::internal("the run has panicked").into()),
        }
    }

    fn input(&self) -> Outcome<Box<dyn BufRead>> {
        let stdin = BufReader::new(io::stdin());
        Ok(match &self.commands {
            None => Box::new(stdin),
            Some(path) => {
                let file = File::open(path).map_err(|error| fault::file(path, error))?;
                Box::new(BufReader::new(file).chain(stdin))
            }
        })
    }
}
