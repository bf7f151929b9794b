//! Accepts connections, gives control to one of them, and takes it back.

use std::collections::HashMap;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::outbox::Outbox;
use super::{Options, lock, session};
use crate::protocol::event;
use crate::target::{Go, Target};

/// How many connections there may be at once. Of more, one is closed: see [`State::to_close`].
const MAX_CONNECTIONS: usize = 32;
/// Who has spoken is not disconnected to make room before he has had this time to attach. Meanwhile further connections
/// wait in the queue of the system.
const GRACE: Duration = Duration::from_millis(500);
/// How long to wait when the system has no connection to give.
const BREATHER: Duration = Duration::from_millis(50);

/// What all connections share.
pub(super) struct Shared {
    pub target: Arc<dyn Target>,
    pub options: Options,
    pub state: Mutex<State>,
    /// Told of every change of `state`.
    pub changed: Condvar,
}

/// Who is connected.
#[derive(Default)]
pub(super) struct State {
    pub is_stopping: bool,
    /// The connection that has control.
    pub controller: Option<u64>,
    /// Whether it has set its breakpoints.
    pub is_configured: bool,
    pub connections: HashMap<u64, Connection>,
    pub threads: Vec<JoinHandle<()>>,
    /// How many requests are being answered.
    pub n_answering: usize,
    /// When the last guess of a token is answered.
    guess_ends: Option<Instant>,
    n_accepted: u64,
}

/// What is needed to end a connection from outside.
pub(super) struct Connection {
    pub stream: TcpStream,
    pub outbox: Outbox,
    /// Whether anything that came from there was read.
    has_spoken: bool,
    /// Whether a request of it is being answered.
    is_answered: bool,
    /// When it was accepted.
    since: Instant,
}

impl Connection {
    /// Whether anything has come from there, even if nobody has read it yet: its thread may not have begun.
    fn is_heard(&self) -> bool {
        #[cfg(unix)]
        let is_waiting = rustix::io::ioctl_fionread(&self.stream).is_ok_and(|n| n > 0);
        #[cfg(not(unix))]
        let is_waiting = false;
        self.has_spoken || is_waiting
    }
}

impl State {
    /// The connection that is closed to make room, and when at the earliest: of those that have said nothing the oldest,
    /// or else the oldest that waits for no answer. The one that has control is never closed.
    fn to_close(&self) -> Option<(u64, Instant)> {
        let others = self.connections.iter().filter(|(id, _)| Some(**id) != self.controller);
        let rank = |(id, one): (&u64, &Connection)| (one.is_answered, one.is_heard(), *id);
        let (_, is_heard, id) = others.map(rank).min()?;
        let since = self.connections.get(&id)?.since;
        Some((id, if is_heard { since + GRACE } else { since }))
    }

    fn mark(&mut self, id: u64, change: impl FnOnce(&mut Connection)) {
        if let Some(connection) = self.connections.get_mut(&id) {
            change(connection);
        }
    }
}

/// What becomes of the program when the client that has control goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Farewell {
    /// It goes on without breakpoints, unless it was told to end.
    Detach,
    /// It stays as it is.
    Leave,
}

impl Shared {
    pub fn new(target: Arc<dyn Target>, options: Options) -> Shared {
        Shared { target, options, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Gives control to a connection; `false` if another one has it.
    pub fn take_control(&self, id: u64) -> bool {
        let mut state = lock(&self.state);
        let is_free = state.controller.is_none() && !state.is_stopping;
        if is_free {
            state.controller = Some(id);
        }
        is_free
    }

    /// The client in control is ready for the program to run.
    pub fn configured(&self, id: u64) {
        let mut state = lock(&self.state);
        if state.controller == Some(id) {
            state.is_configured = true;
            self.changed.notify_all();
        }
    }

    /// Takes control back, if the connection has it.
    pub fn release_control(&self, id: u64, farewell: Farewell) {
        if lock(&self.state).controller != Some(id) {
            return;
        }
        if farewell == Farewell::Detach {
            self.target.set_breakpoints(Vec::new());
            // A program that is over refuses, and there is nothing to let go. One that was told to end ends all the
            // same; one that does not must not stop for a client that is gone, at what this had still asked for.
            let _ = self.target.go(Go::Detach);
        }
        let mut state = lock(&self.state);
        state.controller = None;
        state.is_configured = false;
        self.changed.notify_all();
    }

    /// Answers a request: what it lets go on may be over before the answer is sent, and with it this server.
    pub fn answering<T>(&self, id: u64, answer: impl FnOnce() -> T) -> T {
        let begins = |state: &mut State, by: bool| {
            state.mark(id, |connection| connection.is_answered = by);
        };
        let mut state = lock(&self.state);
        begins(&mut state, true);
        state.n_answering += 1;
        drop(state);
        let answered = answer();
        let mut state = lock(&self.state);
        begins(&mut state, false);
        state.n_answering -= 1;
        drop(state);
        self.changed.notify_all();
        answered
    }

    /// Something has come by a connection.
    pub fn heard(&self, id: u64) {
        lock(&self.state).mark(id, |connection| connection.has_spoken = true);
    }

    /// Lets one who has given a wrong token wait. Guesses by several connections wait for one another.
    pub fn wait_for_guess(&self) {
        let mut state = lock(&self.state);
        let begin = state.guess_ends.unwrap_or_else(Instant::now).max(Instant::now());
        let end = begin.checked_add(self.options.wrong_token);
        state.guess_ends = end;
        drop(state);
        self.wait_until(end, |state| state.is_stopping);
    }

    /// Waits until there is room for one more connection, or one has been there for long enough to be closed.
    fn make_room(&self) {
        loop {
            let mut state = lock(&self.state);
            if state.connections.len() < MAX_CONNECTIONS || state.is_stopping {
                return;
            }
            let Some((id, earliest)) = state.to_close() else { return };
            if earliest <= Instant::now() {
                let closed = state.connections.remove(&id);
                drop(state);
                closed.iter().for_each(refuse);
                return;
            }
            drop(state);
            let is_full = |state: &State| state.connections.len() >= MAX_CONNECTIONS;
            self.wait_until(Some(earliest), |state| !is_full(state) || state.is_stopping);
        }
    }

    /// Forgets a connection that has ended.
    pub fn remove(&self, id: u64) {
        lock(&self.state).connections.remove(&id);
        self.changed.notify_all();
    }

    /// Waits for something to be so, at most until a time.
    pub fn wait_until(&self, end: Option<Instant>, is_so: impl Fn(&State) -> bool) {
        let mut state = lock(&self.state);
        while !is_so(&state) {
            state = match end.map(|end| end.saturating_duration_since(Instant::now())) {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => return,
                Some(left) => {
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Tells every client that it is over, behind what it is still to be sent.
    pub fn say_goodbye(&self) {
        for connection in lock(&self.state).connections.values() {
            connection.outbox.offer(event("terminated", Value::Null));
            connection.outbox.offer_close();
        }
    }

    /// Closes every connection at once.
    pub fn cut_off(&self) {
        for connection in lock(&self.state).connections.values() {
            let _ = connection.stream.shutdown(Shutdown::Both);
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Accepts connections until the server stops.
pub(super) fn accept_all(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        let mut state = lock(&shared.state);
        if state.is_stopping {
            return;
        }
        let Ok((stream, _)) = accepted else {
            drop(state);
            thread::sleep(BREATHER);
            continue;
        };
        state.threads.retain(|thread| !thread.is_finished());
        state.n_accepted += 1;
        let id = state.n_accepted;
        drop(state);
        shared.make_room();
        serve(stream, id, shared);
    }
}

/// Starts the thread of a connection.
fn serve(stream: TcpStream, id: u64, shared: &Arc<Shared>) {
    let (outbox, letters) = Outbox::new();
    let Ok(copy) = stream.try_clone() else { return };
    let connection = Connection {
        stream: copy,
        outbox: outbox.clone(),
        has_spoken: false,
        is_answered: false,
        since: Instant::now(),
    };
    let of_session = shared.clone();
    let mut state = lock(&shared.state);
    if state.is_stopping {
        return;
    }
    state.connections.insert(id, connection);
    let thread = thread::Builder::new()
        .name(format!("fluvial-debug-{id}"))
        .spawn(move || session::serve(stream, id, outbox, letters, &of_session));
    match thread {
        Ok(thread) => state.threads.push(thread),
        Err(_) => drop(state.connections.remove(&id)),
    }
}

/// Closes a connection and says why, without waiting for anything.
fn refuse(connection: &Connection) {
    let text =
        "Too many connections to the debugger: this one, which nobody debugs by, is closed.\n";
    let mut message = event("output", json!({"category": "stderr", "output": text}));
    if connection.has_spoken {
        // Behind what is being written there.
        connection.outbox.offer(message);
        connection.outbox.offer_close();
        let _ = connection.stream.shutdown(Shutdown::Read);
        return;
    }
    message["seq"] = Value::from(1);
    let _ = connection.stream.set_write_timeout(Some(BREATHER));
    let _ = crate::protocol::write(&mut &connection.stream, &message);
    let _ = connection.stream.shutdown(Shutdown::Both);
}
