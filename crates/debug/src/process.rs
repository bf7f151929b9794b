//! The debugger of this process: who may connect, and how a process that runs already is asked to let somebody in.
//!
//! Nothing listens unless it is asked to: by [`listen`], or by the same user (`ask`).

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use fluvial_core::{Error, Loc, Result};

use crate::engine::Engine;
use crate::engine::recording::Recording;
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

/// Takes a recorded run up where it was stopped, for clients of this process, and runs it to its end, on this thread.
pub fn play(recording: Recording) -> Result<()> {
    let engine = process().engine.clone();
    engine.play(recording)
}

/// Stops at this line whenever a program passes it, if somebody debugs. For code that calls `breakpoint()`: a program
/// has no op for it, so that it is the same with and without.
pub fn break_at(loc: Loc) {
    if loc.is_known() {
        process().engine.break_at(&loc.file(), loc.line());
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
