//! The debugger of this process: who may connect, and how a process that runs already is asked to let somebody in.
//!
//! Nothing listens unless it is asked to: by [`listen`], or by the same user, who leaves a request in a file of his own
//! and sends a signal that else does nothing ([`allow`], [`ask`]). The request is met when a program next runs, or its
//! loop makes its next trip.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use fluvial_core::{Error, Loc, Result};

use crate::engine::Engine;
use crate::server::{Options, Server};

/// The debugger and its server, if it listens.
struct Process {
    engine: Arc<Engine>,
    server: Option<Arc<Mutex<Server>>>,
}

fn process() -> MutexGuard<'static, Process> {
    static PROCESS: OnceLock<Mutex<Process>> = OnceLock::new();
    let process = || Mutex::new(Process { engine: Engine::new(false), server: None });
    PROCESS.get_or_init(process).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the debugger listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The port, on this machine.
    pub port: u16,
    /// What clients must say to be let in, if anything.
    pub token: Option<String>,
}

/// Lets clients debug the programs of this process. If it listens already, the answer is where.
///
/// ```
/// let address = fluvial_debug::listen(Default::default())?;
/// assert_eq!(fluvial_debug::address(), Some(address));
/// fluvial_debug::stop();
/// # Ok::<(), fluvial_core::Error>(())
/// ```
pub fn listen(options: Options) -> Result<Address> {
    let mut process = process();
    if process.server.is_none() {
        let server = Server::start(process.engine.clone(), options)?;
        process.server = Some(Arc::new(Mutex::new(server)));
    }
    drop(process);
    address().ok_or_else(|| Error::internal("the server was not kept"))
}

/// Does what the variable `FLUVIAL_DEBUG` says, if it is set: `PORT` listens, `wait:PORT` also waits until a client has
/// attached and set its breakpoints; 0 stands for a port that is free, and `:TOKEN` behind it for a token. Where it
/// listens goes to standard error.
pub fn listen_as_asked() -> Result<Option<Address>> {
    let Ok(wish) = std::env::var("FLUVIAL_DEBUG") else { return Ok(None) };
    let Some((is_wait, options)) = wanted(&wish) else {
        return Err(Error::argument(format!("FLUVIAL_DEBUG is `{wish}`, which says nothing"))
            .remedy("set it to a port (4711; 0 for any), or to wait:4711 to wait for a client"));
    };
    let address = listen(options)?;
    let token = address.token.as_ref().map_or(String::new(), |token| format!(", token {token}"));
    eprintln!("fluvial: the debugger listens at 127.0.0.1:{}{token}", address.port);
    while is_wait && !wait_for_client(Duration::from_millis(100)) {
        fluvial_core::interrupt::check()?;
    }
    Ok(Some(address))
}

/// What a value of `FLUVIAL_DEBUG` wants: whether to wait, and where to listen. A port of the user's own has no token
/// unless he gives one.
fn wanted(wish: &str) -> Option<(bool, Options)> {
    let mut parts = wish.trim().split(':').peekable();
    let is_wait = parts.next_if_eq(&"wait").is_some();
    let port: u16 = match parts.next() {
        Some(port) => port.parse().ok()?,
        None if is_wait => 0,
        None => return None,
    };
    let given = parts.next().map(String::from);
    let token = given.or_else(|| (port == 0).then(crate::server::random_token));
    parts.next().is_none().then(|| (is_wait, Options { port, token, ..Options::default() }))
}

/// Where it listens, if it does.
pub fn address() -> Option<Address> {
    let server = process().server.clone()?;
    let server = server.lock().unwrap_or_else(PoisonError::into_inner);
    Some(Address { port: server.port(), token: server.token().map(String::from) })
}

/// Waits until a client has attached and set its breakpoints; whether one has.
pub fn wait_for_client(timeout: Duration) -> bool {
    let server = process().server.clone();
    let wait = |server: Arc<Mutex<Server>>| {
        let server = server.lock().unwrap_or_else(PoisonError::into_inner);
        server.wait_for_client(Some(timeout))
    };
    server.is_some_and(wait)
}

/// Ends what [`listen`] began: clients are told to go, and what is stopped goes on.
pub fn stop() {
    let (engine, server) = {
        let mut process = process();
        (process.engine.clone(), process.server.take())
    };
    if let Some(server) = server {
        engine.end();
        server.lock().unwrap_or_else(PoisonError::into_inner).stop();
    }
}

/// Stops at this line whenever a program passes it, if somebody debugs. For code that calls `breakpoint()`: a program
/// has no op for it, so that it is the same with and without.
pub fn break_at(loc: Loc) {
    if loc.is_known() {
        process().engine.break_at(&loc.file(), loc.line());
    }
}

#[cfg(unix)]
pub use unix::{allow, ask};

#[cfg(unix)]
mod unix {
    use std::fs::{self, OpenOptions};
    use std::io::{Read, Write};
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    use fluvial_core::{Error, ErrorKind, Result};
    use fluvial_runtime::attach;

    use super::{Address, listen};
    use crate::server::{Options, random_token};

    /// Lets the same user ask this process for a debugger while it runs. It costs a signal handler; nothing listens, and
    /// no thread is started.
    pub fn allow() -> Result<()> {
        let flag = Arc::new(AtomicBool::new(false));
        // The signal is ignored where nobody handles it, so that asking the wrong process does no harm.
        signal_hook::flag::register(signal_hook::consts::SIGURG, flag.clone())
            .map_err(|error| Error::internal(format!("a signal cannot be handled: {error}")))?;
        attach::on_request(flag, answer);
        Ok(())
    }

    /// Asks a process for its debugger, which may take until a program of it runs.
    pub fn ask(pid: u32, port: u16, timeout: Duration) -> Result<Address> {
        let token = random_token();
        let (request, reply) = (path(pid, "request"), path(pid, "reply"));
        let _ = fs::remove_file(&reply);
        let _ = fs::remove_file(&request);
        write(&request, &format!("{port} {token}\n")).map_err(|error| {
            let shown = request.display();
            Error::new(ErrorKind::File, format!("a request cannot be left in `{shown}`: {error}"))
        })?;
        let asked = Command::new("kill").args(["-URG", &pid.to_string()]).output();
        let fault = match asked {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_string()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(fault) = fault {
            let _ = fs::remove_file(&request);
            return Err(Error::argument(format!("process {pid} cannot be asked: {fault}"))
                .remedy("give the number of a process of yours that runs a program of Fluvial"));
        }
        let end = Instant::now() + timeout;
        while Instant::now() < end {
            let text = fs::read_to_string(&reply).unwrap_or_default();
            if text.ends_with('\n') {
                let _ = fs::remove_file(&reply);
                return match text.trim().parse() {
                    Ok(port) => Ok(Address { port, token: Some(token) }),
                    Err(_) => Err(Error::state(format!("process {pid} answers: {}", text.trim()))),
                };
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = fs::remove_file(&request);
        Err(Error::state(format!("process {pid} does not answer")).remedy(
            "it answers when one of its programs begins, or a loop in it makes its next trip",
        ))
    }

    /// Does what somebody has asked for.
    fn answer() {
        let pid = std::process::id();
        let Some((port, token)) = read(&path(pid, "request")) else { return };
        let options = Options { port, token: Some(token.clone()), ..Options::default() };
        let reply = match listen(options) {
            Ok(address) if address.token.as_ref() == Some(&token) => format!("{}\n", address.port),
            Ok(address) => format!(
                "the debugger listens at port {} already, with a token of its own\n",
                address.port
            ),
            Err(error) => format!("{}\n", error.message()),
        };
        // Nobody may be waiting any more.
        let _ = write(&path(pid, "reply"), &reply);
    }

    fn path(pid: u32, what: &str) -> PathBuf {
        std::env::temp_dir().join(format!("fluvial-debug-{pid}.{what}"))
    }

    /// Writes a file that only this user can read.
    fn write(path: &Path, text: &str) -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(text.as_bytes())
    }

    /// Reads and removes a request, if it is one of this user's own.
    fn read(path: &Path) -> Option<(u16, String)> {
        let own = fs::metadata("/proc/self").ok()?.uid();
        let meta = fs::symlink_metadata(path).ok()?;
        if !meta.is_file() || meta.uid() != own || meta.mode() & 0o077 != 0 {
            return None;
        }
        let mut text = String::new();
        fs::File::open(path).ok()?.take(200).read_to_string(&mut text).ok()?;
        let _ = fs::remove_file(path);
        let (port, token) = text.trim().split_once(' ')?;
        let is_token = token.len() >= 16 && token.chars().all(|c| c.is_ascii_hexdigit());
        Some((port.parse().ok()?, token.to_string())).filter(|_| is_token)
    }
}

#[cfg(test)]
mod tests {
    use super::wanted;

    #[test]
    fn what_the_variable_wants() {
        let check = |wish: &str, expected: Option<(bool, u16, Option<&str>)>| {
            let found = wanted(wish);
            let token = found.as_ref().and_then(|(_, options)| options.token.as_deref());
            let found = found.as_ref().map(|(is_wait, options)| (*is_wait, options.port, token));
            assert_eq!(found, expected, "{wish}");
        };
        check("4711", Some((false, 4711, None)));
        check("wait:4711", Some((true, 4711, None)));
        check(" wait:4711:secret ", Some((true, 4711, Some("secret"))));
        check("nonsense", None);
        check("", None);
        check("1:2:3", None);
        check("70000", None);
        assert!(
            wanted("wait").is_some_and(|(is_wait, options)| is_wait && options.token.is_some())
        );
        assert!(wanted("0").is_some_and(|(_, options)| options.token.is_some()));
    }
}
