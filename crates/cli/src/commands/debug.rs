//! `fluvial debug`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use fluvial::core::Error;
use fluvial_debug::terminal::{Left, Options, Plain, Session};
use fluvial_debug::{Address, Engine, Recording, server};

use super::attach;
use super::run::Run;
use crate::fault::{self, Fault, Outcome, usage};
use crate::out::Out;
use crate::typed::Typed;
use crate::{program, signals};

/// Run a program under the debugger.
///
/// It stops at the first op and asks what to do; `help` lists the commands. Options are those of `run`. Ctrl-C
/// pauses the program. With `--port` it waits for an editor instead. A script of Python is run as it is, with what
/// follows `--` as its arguments, and stops where a compiled program of it begins.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Debug {
    /// Commands to begin with, one per line; after them, those of standard input.
    #[arg(short = 'x', long, value_name = "FILE")]
    commands: Option<PathBuf>,
    /// Wait for an editor at this port instead; 0 for one that is free.
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    #[command(flatten)]
    run: Run,
}

const EXAMPLES: &str = "Examples:
  fluvial debug train.flb
  fluvial debug programs/while.fl --set x=1 --set w=2
  fluvial debug train.fl --commands breakpoints.txt
  fluvial debug train.flb --port 4711
  fluvial debug recording.flr
  fluvial debug train.py -- --epochs 3";

/// How often a wait looks for signals.
const LOOK: Duration = Duration::from_millis(100);

/// A port that nobody uses now.
fn free_port() -> Outcome<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let port = listener.and_then(|listener| listener.local_addr()).map(|address| address.port());
    Ok(port.map_err(|error| Error::internal(format!("no port is free: {error}")))?)
}

/// The run that was recorded.
fn recording(run: &Run) -> Outcome<Recording> {
    Ok(Recording::read(run.program(), program::registry())?)
}

/// Keeps signals of the terminal from a process.
fn apart(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

/// Waits for a script, and passes on to it what asks us to end.
fn passing_on(mut child: Child) -> Outcome<ExitStatus> {
    let mut is_told = false;
    loop {
        if signals::has_arrived() && !is_told {
            is_told = true;
            attach::send(&(signals::status() & 0x7f).to_string(), child.id());
        }
        let ended = child.try_wait();
        match ended.map_err(|error| Error::internal(format!("a script is lost: {error}")))? {
            Some(status) => return Ok(status),
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

impl Debug {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        if out.is_json() {
            return Err(usage("`debug` talks to people", "leave `--json` out"));
        }
        if self.run.is_script() {
            return self.script(out);
        }
        if let Some(port) = self.port {
            return self.editor(port, out);
        }
        let is_recording = self.is_recording();
        let mut input = self.input()?;
        let engine = Engine::new(!is_recording);
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
                let outcome = match is_recording {
                    true => recording(run).and_then(|recording| {
                        engine.play(recording)?;
                        Ok(0)
                    }),
                    false => run.run(&out),
                };
                engine.end();
                outcome
            });
            let running = running
                .map_err(|error| Error::internal(format!("no thread can be started: {error}")))?;
            let left = match Typed::new().filter(|_| self.commands.is_none()) {
                Some(mut typed) => session.run(&mut typed),
                None => session.run(&mut Plain(&mut *input)),
            };
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

    fn is_recording(&self) -> bool {
        self.run.program().extension().is_some_and(|ending| ending == "flr")
    }

    /// Runs the program, or takes up the recorded one, when an editor has set its breakpoints.
    fn editor(&self, port: u16, out: &Out) -> Outcome<u8> {
        signals::watch()?;
        let recorded = self.is_recording().then(|| recording(&self.run)).transpose()?;
        let address =
            fluvial_debug::listen(server::Options { port, ..server::Options::default() })?;
        attach::tell(&address, out);
        while !fluvial_debug::wait_for_client(LOOK) {
            signals::check()?;
        }
        let outcome = match recorded {
            Some(recording) => fluvial_debug::play(recording).map(|()| 0).map_err(Fault::from),
            None => self.run.run(out),
        };
        fluvial_debug::stop();
        outcome
    }

    /// Runs a script, whose own compiled programs are debugged.
    fn script(&self, out: &Out) -> Outcome<u8> {
        let port = match self.port {
            Some(port) if port > 0 => port,
            _ => free_port()?,
        };
        let address = Address { port, token: Some(server::random_token()) };
        let token = address.token.as_deref().unwrap_or_default();
        let mut command = Command::new(program::python());
        command.arg(self.run.program()).args(self.run.script_args());
        command.env("FLUVIAL_DEBUG", format!("wait:{port}:{token}"));
        // Where it listens is known here.
        command.env("FLUVIAL_DEBUG_QUIET", "1");
        if self.port.is_none() {
            // What is typed is for the debugger, and so is Ctrl-C.
            command.stdin(Stdio::null());
            apart(&mut command);
        }
        signals::watch()?;
        let mut child = command.spawn().map_err(|error| fault::file(self.run.program(), error))?;
        let status = if self.port.is_some() {
            attach::tell(&address, out);
            program::wait(child, &program::python())?
        } else {
            // It must import what it needs before it listens, and may end before.
            match attach::connect(&address, || matches!(child.try_wait(), Ok(None))) {
                Ok(stream) => attach::talk(stream, &address, Some(child.id()))?,
                Err(fault) if child.try_wait().is_err() => return Err(fault),
                Err(_) => {}
            }
            passing_on(child)?
        };
        Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(fault::FAILED))
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
