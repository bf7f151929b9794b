//! `fluvial attach`.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use fluvial::core::{Error, ErrorKind};
use fluvial_debug::Address;
use serde_json::json;

use crate::fault::{Outcome, usage};
use crate::out::Out;
use crate::signals;

/// Debug a process that runs already.
///
/// It pauses the process and asks what to do; `help` lists the commands, `detach` or the end of the input lets it go on.
/// The process may be given by its number, if it is one of yours, or by the port at which its debugger listens. With
/// `--editor` it only opens the port, and says how an editor connects.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Attach {
    /// The number of the process, or `127.0.0.1:PORT`.
    #[arg(value_name = "PID|HOST:PORT")]
    process: String,
    /// What the debugger wants to hear, if a port is given.
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
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
  fluvial attach 127.0.0.1:5678 --token 0f3c…";

impl Attach {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        let address = self.address()?;
        if self.editor || out.is_json() {
            tell(&address, out);
            return Ok(0);
        }
        signals::watch()?;
        talk(&address, Duration::ZERO)?;
        Ok(0)
    }

    fn address(&self) -> Outcome<Address> {
        if let Some((host, port)) = self.process.rsplit_once(':') {
            let is_here = matches!(host, "127.0.0.1" | "localhost" | "");
            return match port.parse() {
                Ok(port) if is_here => Ok(Address { port, token: self.token.clone() }),
                Ok(_) => Err(usage(
                    format!("the debugger of another machine, `{host}`, cannot be reached"),
                    "run `fluvial attach` there",
                )),
                Err(_) => Err(usage(format!("`{port}` is no port"), "write 127.0.0.1:PORT")),
            };
        }
        let Ok(pid) = self.process.parse() else {
            let message = format!("`{}` is no number of a process", self.process);
            return Err(usage(message, "write the number, or 127.0.0.1:PORT"));
        };
        ask(pid, self.port, Duration::from_secs(self.patience))
    }
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
    let said = token.as_ref().map_or(String::new(), |token| format!(" --token {token}"));
    let text = format!(
        "the debugger listens at 127.0.0.1:{port}\n  in a terminal: fluvial attach 127.0.0.1:{port}{said}\n  \
         in VS Code, launch.json: {configuration}"
    );
    out.note(&text, || json!({"event": "debugger", "port": port, "token": token}));
}

/// Debugs by what is typed, until the process ends or lets go. It is given this long to open its port.
pub fn talk(address: &Address, patience: Duration) -> Outcome<()> {
    let mut stream = connect(address, patience)?;
    let token = address.token.as_deref().unwrap_or("-");
    let fancy = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse::<u16>().ok());
    let (width, colours) = (width.unwrap_or(100), if fancy { " colours" } else { "" });
    let lost =
        |error: io::Error| Error::new(ErrorKind::State, format!("the process is gone: {error}"));
    writeln!(stream, "fluvial terminal {token} {width}{colours}").map_err(lost)?;
    let pause = Arc::new(AtomicBool::new(false));
    let _pausing = signals::pause_instead(&pause);
    let mut typed = stream.try_clone().map_err(lost)?;
    // It ends with the process: nothing tells it that there is nobody left to talk to.
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if writeln!(typed, "{line}").is_err() {
                return;
            }
        }
        let _ = typed.shutdown(std::net::Shutdown::Write);
    });
    stream.set_read_timeout(Some(Duration::from_millis(100))).map_err(lost)?;
    let mut buffer = [0; 4096];
    loop {
        if pause.swap(false, Ordering::Relaxed)
            && let Ok(mut other) = connect(address, Duration::ZERO)
        {
            let _ = writeln!(other, "fluvial pause {token}");
        }
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => {
                let mut stdout = io::stdout();
                let _ = stdout.write_all(&buffer[..n]).and_then(|()| stdout.flush());
            }
            Err(error) if is_wait(&error) => {}
            Err(_) => return Ok(()),
        }
    }
}

fn is_wait(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

fn connect(address: &Address, patience: Duration) -> Outcome<TcpStream> {
    let end = std::time::Instant::now() + patience;
    loop {
        match TcpStream::connect((Ipv4Addr::LOCALHOST, address.port)) {
            Ok(stream) => return Ok(stream),
            Err(_) if std::time::Instant::now() < end && signals::check().is_ok() => {
                std::thread::sleep(Duration::from_millis(50));
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
