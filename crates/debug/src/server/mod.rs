//! Lets an editor debug a target, by the Debug Adapter Protocol over a port of this machine.
//!
//! ```text
//!   editor ── socket ──> reader ──> Session::answer ──> Target
//!            <── writer <── outbox <──┴── pump <── events of the target
//! ```
//!
//! Any number of clients may connect, one of them has control: the first that attaches, until it goes. Whatever a
//! client sends, the worst that happens is that its connection is closed; the program goes on.
//!
//! - `listener`: accepts connections, gives control and takes it back.
//! - `session`: one connection, what it knows of its client, and the order of requests.
//! - `requests`: which request is met by what; how the program goes on.
//! - `breakpoints`, `stack`, `variables`, `edits`, `evaluate`: the requests, by what they are about.
//! - `events`: what the target tells, as events of the protocol.
//! - `line`: terminals instead of editors.
//! - `handles`: the numbers by which a client refers to values; [`show`]: values in words.

mod breakpoints;
mod edits;
mod evaluate;
mod events;
mod handles;
mod line;
mod listener;
mod outbox;
mod requests;
mod session;
pub mod show;
mod stack;
mod token;
mod variables;

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fluvial_core::{Error, ErrorKind, Result};

use crate::target::Target;
pub use line::ASKS;
use listener::Shared;
pub use token::{is_same, random_token};

/// How long clients are given to read the last messages when the server stops.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// How a server is to be.
#[derive(Clone, Debug)]
pub struct Options {
    /// The port, or 0 for one that is free.
    pub port: u16,
    /// What a client must give as `token` when it attaches. Without one, every program of this machine can debug.
    pub token: Option<String>,
    /// Whether clients are told from the start that it is possible to go back.
    pub can_go_back: bool,
    /// How long a client may take from its connection until it has attached.
    pub patience: Duration,
    /// How long a client waits for being told that its token is wrong.
    pub wrong_token: Duration,
}

impl Default for Options {
    /// A free port, a new token, one minute to attach, and half a second for a wrong token.
    fn default() -> Options {
        Options {
            port: 0,
            token: Some(random_token()),
            can_go_back: true,
            patience: Duration::from_secs(60),
            wrong_token: Duration::from_millis(500),
        }
    }
}

/// A server that is open to clients until it is dropped.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    listener: Option<JoinHandle<()>>,
}

impl Server {
    /// Opens the port, for programs of this machine only, and accepts clients from now on.
    pub fn start(target: Arc<dyn Target>, options: Options) -> Result<Server> {
        let fault = |error: std::io::Error| {
            let port = options.port;
            let message = match error.kind() {
                std::io::ErrorKind::AddrInUse => {
                    format!("port {port} is in use, so that the debugger cannot listen there")
                }
                _ => format!("the debugger cannot listen on port {port}: {error}"),
            };
            Error::new(ErrorKind::State, message)
                .remedy("choose another port, or 0 for one that is free")
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).map_err(fault)?;
        let address = listener.local_addr().map_err(fault)?;
        let shared = Arc::new(Shared::new(target, options.clone()));
        let of_listener = shared.clone();
        let thread = thread::Builder::new()
            .name("fluvial-debug".to_string())
            .spawn(move || listener::accept_all(&listener, &of_listener))
            .map_err(fault)?;
        Ok(Server { shared, address, listener: Some(thread) })
    }

    /// The port that clients connect to.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The token that clients must know.
    pub fn token(&self) -> Option<&str> {
        self.shared.options.token.as_deref()
    }

    /// Whether a client has attached and set its breakpoints.
    pub fn has_client(&self) -> bool {
        lock(&self.shared.state).is_configured
    }

    /// Waits until a client has attached and set its breakpoints; whether one has. Without a time it waits until the
    /// server stops.
    pub fn wait_for_client(&self, timeout: Option<Duration>) -> bool {
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        self.shared.wait_until(end, |state| state.is_configured || state.is_stopping);
        self.has_client()
    }

    /// Tells clients that it is over, closes all connections, and lets the program go on. A second call does nothing.
    pub fn stop(&mut self) {
        let Some(listener) = self.listener.take() else { return };
        lock(&self.shared.state).is_stopping = true;
        self.shared.changed.notify_all();
        let end = Instant::now() + LAST_WORDS;
        self.shared.wait_until(Some(end), |state| state.n_answering == 0);
        self.shared.say_goodbye();
        let end = Instant::now() + LAST_WORDS;
        self.shared.wait_until(Some(end), |state| state.connections.is_empty());
        self.shared.cut_off();
        // The listener sees that it is to stop as soon as one more connection comes.
        let wake = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        drop(wake);
        let own = thread::current().id();
        let workers = std::mem::take(&mut lock(&self.shared.state).threads);
        for thread in workers.into_iter().chain([listener]) {
            if thread.thread().id() != own {
                // A worker that panicked has nothing more to say.
                let _ = thread.join();
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What a mutex guards, also after a panic of another thread.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
