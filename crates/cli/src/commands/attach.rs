//! `fluvial attach`.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use fluvial::core::{Error, ErrorKind};
use fluvial_debug::Address;
use fluvial_debug::server::ASKS;
use serde_json::json;

use crate::fault::{Outcome, usage};
use crate::out::Out;
use crate::signals;
use crate::typed::Typed;

/// Debug a process that is already running.
///
/// It pauses the process and asks what to do; `help` lists the commands, `detach` or the end of the input lets it go on.
/// The process may be given by its number, if it is one of yours, or by the port at which its debugger listens; then the
/// token is asked for, or taken from FLUVIAL_DEBUG_TOKEN. With `--editor` it only opens the port, and says how an editor
/// connects.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Attach {
    /// The number of the process, or `127.0.0.1:PORT`.
    #[arg(value_name = "PID|HOST:PORT")]
    process: String,
    /// The port that the process is to open; any that is free by default.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Do not debug here; say how an editor connects.
    #[arg(long)]
    editor: bool,
    /// How many seconds the process may take until one of its programs runs.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    patience: u64,
}

const EXAMPLES: &str = "Examples:
  fluvial attach 4711
  fluvial attach 4711 --editor --port 5678
  fluvial attach 127.0.0.1:5678";

/// How often it is tried to connect.
const LOOK: Duration = Duration::from_millis(50);

impl Attach {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        let address = self.address()?;
        if self.editor || out.is_json() {
            tell(&address, out);
            return Ok(0);
        }
        signals::watch()?;
        talk(connect(&address, || false)?, &address, None)?;
        Ok(0)
    }

    fn address(&self) -> Outcome<Address> {
        if let Some((host, port)) = self.process.rsplit_once(':') {
            let is_here = matches!(host, "127.0.0.1" | "localhost" | "");
            return match port.parse() {
                Ok(port) if is_here => Ok(Address { port, token: token() }),
                Ok(_) => Err(usage(
                    format!("the debugger of another machine, `{host}`, cannot be reached"),
                    "run `fluvial attach` there",
                )),
                Err(_) => Err(usage(format!("`{port}` is not a port"), "write 127.0.0.1:PORT")),
            };
        }
        let Ok(pid) = self.process.parse() else {
            let message = format!("`{}` is not the number of a process", self.process);
            return Err(usage(message, "write the number, or 127.0.0.1:PORT"));
        };
        ask(pid, self.port, Duration::from_secs(self.patience))
    }
}

/// What the debugger wants to hear. It stands on no command line, which others could see.
fn token() -> Option<String> {
    if let Ok(token) = std::env::var("FLUVIAL_DEBUG_TOKEN") {
        return Some(token).filter(|token| !token.is_empty());
    }
    if !io::stdin().is_terminal() {
        return None;
    }
    eprint!("token (empty for none): ");
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).ok()?;
    Some(line.trim().to_string()).filter(|token| !token.is_empty())
}

#[cfg(unix)]
fn ask(pid: u32, port: u16, patience: Duration) -> Outcome<Address> {
    Ok(fluvial_debug::ask(pid, port, patience)?)
}

#[cfg(not(unix))]
fn ask(_: u32, _: u16, _: Duration) -> Outcome<Address> {
    Err(usage("processes cannot be asked here", "let them listen: FLUVIAL_DEBUG=PORT"))
}

/// Says how an editor connects.
pub fn tell(address: &Address, out: &Out) {
    let Address { port, token } = address;
    let mut configuration = json!({
        "name": "Fluvial: attach", "type": "fluvial", "request": "attach", "debugServer": port,
    });
    if let Some(token) = token {
        configuration["token"] = json!(token);
    }
    let said = token.as_ref().map_or(String::new(), |token| format!(", token {token}"));
    let text = format!(
        "the debugger listens at 127.0.0.1:{port}\n  in a terminal: fluvial attach 127.0.0.1:{port}{said}\n  \
         in VS Code, launch.json: {configuration}"
    );
    out.note(&text, || json!({"event": "debugger", "port": port, "token": token}));
}

/// A process that was started for the debugger.
pub type Started = u32;

/// Debugs by what is typed, until the process ends or lets go. A process that was `started` for it gets a second Ctrl-C
/// itself.
pub fn talk(mut stream: TcpStream, address: &Address, started: Option<Started>) -> Outcome<()> {
    let token = address.token.as_deref().unwrap_or("-");
    let mut typed = Typed::new();
    let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse::<u16>().ok());
    let fancy = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let words = [("colours", fancy), ("edits", typed.is_some()), ("started", started.is_some())];
    let words = words.iter().filter(|(_, is_said)| *is_said).map(|(word, _)| format!(" {word}"));
    let lost =
        |error: io::Error| Error::new(ErrorKind::State, format!("the process is gone: {error}"));
    let line =
        format!("fluvial terminal {token} {}{}\n", width.unwrap_or(100), words.collect::<String>());
    stream.write_all(line.as_bytes()).map_err(lost)?;
    let pause = Arc::new(AtomicBool::new(false));
    let _pausing = signals::pause_instead(&pause);
    let mut to = stream.try_clone().map_err(lost)?;
    if typed.is_none() {
        let mut to = to.try_clone().map_err(lost)?;
        // It ends with the process: nothing tells it that there is nobody left to talk to.
        std::thread::spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                if writeln!(to, "{line}").is_err() {
                    return;
                }
            }
            let _ = to.shutdown(std::net::Shutdown::Write);
        });
    }
    stream.set_read_timeout(Some(Duration::from_millis(100))).map_err(lost)?;
    let mut buffer = [0; 4096];
    let mut said: Vec<u8> = Vec::new();
    let mut n_pauses = 0;
    loop {
        if pause.swap(false, Ordering::Relaxed) {
            n_pauses += 1;
            match started.filter(|_| n_pauses > 1) {
                Some(pid) => send("INT", pid),
                None => {
                    if let Ok(mut other) = connect(address, || false) {
                        let _ = writeln!(other, "fluvial pause {token}");
                    }
                }
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => said.extend(&buffer[..n]),
            Err(error) if is_wait(&error) => {}
            Err(_) => return Ok(()),
        }
        let asks = said.iter().position(|&byte| char::from(byte) == ASKS);
        let shown: Vec<u8> = said.drain(..asks.unwrap_or(said.len())).collect();
        if !shown.is_empty() {
            if String::from_utf8_lossy(&shown).contains("(fluvial) ") {
                n_pauses = 0;
            }
            let mut stdout = io::stdout();
            let _ = stdout.write_all(&shown).and_then(|()| stdout.flush());
        }
        let Some(end) = said.iter().position(|&byte| byte == b'\n') else { continue };
        let Some(typed) = &mut typed else { continue };
        let asked: Vec<u8> = said.drain(..=end).skip(1).collect();
        let words = String::from_utf8_lossy(&asked).split_whitespace().map(String::from).collect();
        n_pauses = 0;
        match typed.line("(fluvial) ", words).map_err(lost)? {
            Some(line) => writeln!(to, "{line}").map_err(lost)?,
            None => to.shutdown(std::net::Shutdown::Write).map_err(lost)?,
        }
        pause.store(false, Ordering::Relaxed);
    }
}

/// Sends a signal to a process; it may be gone.
pub fn send(signal: &str, pid: u32) {
    let mut command = std::process::Command::new("kill");
    let _ = command.arg(format!("-{signal}")).arg(pid.to_string()).output();
}

fn is_wait(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

/// Connects to a debugger. If nobody listens there yet, it is tried as long as there is somebody who may.
pub fn connect(address: &Address, mut may_listen: impl FnMut() -> bool) -> Outcome<TcpStream> {
    loop {
        match TcpStream::connect((Ipv4Addr::LOCALHOST, address.port)) {
            Ok(stream) => return Ok(stream),
            Err(_) if may_listen() => {
                signals::check()?;
                std::thread::sleep(LOOK);
            }
            Err(error) => {
                let message = format!("no debugger listens at 127.0.0.1:{}: {error}", address.port);
                return Err(Error::new(ErrorKind::State, message)
                    .remedy("let the process listen: FLUVIAL_DEBUG=PORT, fl.debug.listen(PORT)")
                    .into());
            }
        }
    }
}
