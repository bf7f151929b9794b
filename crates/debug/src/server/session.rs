//! One connection: what it knows of its client, and the order in which requests are met.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, BufReader, Read};
use std::net::{Shutdown, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::breakpoints::Breakpoints;
use super::events::{self, Progress};
use super::handles::Handles;
use super::listener::{Farewell, Shared};
use super::outbox::{Letter, Outbox, write_all};
use super::{line, lock};
use crate::protocol::{Fault, Request, failure, read, success};
use crate::target::Target;

/// How long a client may take to accept bytes.
const MAX_WRITE: Duration = Duration::from_secs(10);
/// How long a connection stays open behind a farewell, for clients that send it twice.
const LINGER: Duration = Duration::from_millis(250);
/// How many messages that are not requests are borne.
const MAX_UNREADABLE: usize = 16;

/// What a request gives: the body of the answer, or why it cannot be met.
pub(super) type Answer = Result<Value, String>;

/// How far a client has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// It is connected.
    New,
    /// It has told what it can do.
    Initialized,
    /// It has control.
    Attached,
    /// It has set its breakpoints.
    Configured,
    /// It has said farewell.
    Over,
}

/// What becomes of the connection behind an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It goes on.
    Listen,
    /// It is closed soon.
    Linger,
    /// It is closed.
    Close,
}

/// What the client has told about itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    /// What it counts lines from.
    pub first_line: i64,
    /// What it counts columns from.
    pub first_column: i64,
    /// Whether its paths begin with `file://`.
    pub uses_uris: bool,
    /// Whether it shows progress.
    pub shows_progress: bool,
    /// Whether it reads values again when told so.
    pub reads_again: bool,
}

/// What a client was told of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    /// The last stop that it was told of.
    pub told: Option<u64>,
    /// The last stop that it has left.
    pub left: Option<u64>,
    /// Whether the thread goes on because the client wants it.
    pub resumed: bool,
}

/// The state of a connection.
pub(super) struct Session {
    pub shared: Arc<Shared>,
    pub id: u64,
    pub outbox: Outbox,
    pub phase: Phase,
    pub client: Client,
    pub n_bad_tokens: usize,
    /// Whether the client wants to stop at the first op.
    pub stops_on_entry: bool,
    pub farewell: Farewell,
    pub next: Next,
    /// Events to send behind the answer.
    pub after: Vec<Value>,
    pub handles: Handles,
    pub breakpoints: Breakpoints,
    /// What the client was told of each thread.
    pub threads: HashMap<u32, Told>,
    /// The breakpoints of the user's own code that it was told of.
    pub own_breakpoints: BTreeSet<u32>,
    /// The frame whose scopes were asked for last.
    pub focus: usize,
    /// Whether ops are shown in the listing of the program rather than in the user's source.
    pub by_listing: bool,
    pub has_terminated: bool,
    pub progress: Option<Progress>,
    /// Tells the client what happens, once it has control.
    pub pump: Option<JoinHandle<()>>,
    pub is_over: Arc<AtomicBool>,
}

impl Session {
    /// The program.
    pub fn target(&self) -> &dyn Target {
        &*self.shared.target
    }

    /// Answers a request.
    fn answer(&mut self, request: &Request, own: &Arc<Mutex<Session>>) -> Next {
        let answer = self.meet(request, own);
        self.outbox.send(match answer {
            Ok(body) => success(request, body),
            Err(why) => failure(request, &why),
        });
        for event in std::mem::take(&mut self.after) {
            self.outbox.send(event);
        }
        std::mem::replace(&mut self.next, Next::Listen)
    }
}

/// A stream that has an end in time.
struct Timed {
    stream: TcpStream,
    end: Option<Instant>,
}

impl Read for Timed {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let left = self.end.map(|end| end.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(left)?;
        self.stream.read(to)
    }
}

/// Serves a connection until it ends.
pub(super) fn serve(
    stream: TcpStream,
    id: u64,
    outbox: Outbox,
    letters: Receiver<Letter>,
    shared: &Arc<Shared>,
) {
    let _ = stream.set_nodelay(true);
    let _ = stream.set_write_timeout(Some(MAX_WRITE));
    let _ = stream.set_read_timeout(Some(shared.options.patience));
    let is_terminal = line::is_terminal(&stream);
    shared.heard(id);
    if is_terminal {
        // Whatever happens in there, the connection is forgotten.
        let _ = catch_unwind(AssertUnwindSafe(|| line::serve(stream, id, shared)));
        shared.remove(id);
        return;
    }
    let writer = stream.try_clone().and_then(|copy| {
        let builder = thread::Builder::new().name(format!("fluvial-debug-{id}-out"));
        builder.spawn(move || write_all(copy, letters))
    });
    let session = Arc::new(Mutex::new(Session {
        shared: shared.clone(),
        id,
        outbox: outbox.clone(),
        phase: Phase::New,
        client: Client {
            first_line: 1,
            first_column: 1,
            uses_uris: false,
            shows_progress: false,
            reads_again: false,
        },
        n_bad_tokens: 0,
        stops_on_entry: false,
        farewell: Farewell::Detach,
        next: Next::Listen,
        after: Vec::new(),
        handles: Handles::new(),
        breakpoints: Breakpoints::default(),
        threads: HashMap::new(),
        own_breakpoints: BTreeSet::new(),
        focus: 0,
        by_listing: false,
        has_terminated: false,
        progress: None,
        pump: None,
        is_over: Arc::default(),
    }));
    if let (Ok(writer), Ok(copy)) = (writer, stream.try_clone()) {
        // Whatever happens in there, control is given back.
        let _ = catch_unwind(AssertUnwindSafe(|| listen(copy, &session, shared)));
        let (pump, farewell) = {
            let mut session = lock(&session);
            session.is_over.store(true, Ordering::Release);
            session.handles.clear();
            (session.pump.take(), session.farewell)
        };
        shared.release_control(id, farewell);
        outbox.close();
        let _ = writer.join();
        if let Some(pump) = pump {
            let _ = pump.join();
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
    shared.remove(id);
}

/// Reads and answers requests until the connection is to end.
fn listen(stream: TcpStream, session: &Arc<Mutex<Session>>, shared: &Arc<Shared>) {
    let end = Instant::now().checked_add(shared.options.patience);
    let mut from = BufReader::new(Timed { stream, end });
    let mut n_unreadable = 0;
    let id = lock(session).id;
    loop {
        let request = match read(&mut from) {
            Ok(message) => {
                let seq = message.get("seq").and_then(Value::as_i64).unwrap_or(0);
                Request::read(message).map_err(|why| (seq, why))
            }
            Err(Fault::Json(why)) => Err((0, why)),
            Err(Fault::Framing(why)) => {
                unreadable(session, 0, &why);
                return;
            }
            Err(Fault::Closed) => return,
        };
        match request {
            Ok(request) => {
                let (next, is_attached) = shared.answering(id, || {
                    let mut locked = lock(session);
                    let next = locked.answer(&request, session);
                    (next, matches!(locked.phase, Phase::Attached | Phase::Configured))
                });
                match next {
                    Next::Close => return,
                    Next::Linger => from.get_mut().end = Some(Instant::now() + LINGER),
                    Next::Listen if is_attached => from.get_mut().end = None,
                    Next::Listen => {}
                }
            }
            Err((seq, why)) => {
                unreadable(session, seq, &why);
                n_unreadable += 1;
                if n_unreadable >= MAX_UNREADABLE {
                    return;
                }
            }
        }
    }
}

/// Answers what is not a request.
fn unreadable(session: &Mutex<Session>, seq: i64, why: &str) {
    let request = Request { seq, command: String::new(), arguments: Value::Null };
    lock(session).outbox.send(failure(&request, why));
}

/// Starts to tell a client what happens.
pub(super) fn start_pump(session: &mut Session, own: &Arc<Mutex<Session>>) -> Result<(), String> {
    let events = session.target().events();
    let (own, is_over) = (own.clone(), session.is_over.clone());
    let builder = thread::Builder::new().name(format!("fluvial-debug-{}-events", session.id));
    let pump = builder.spawn(move || events::pump(&events, &own, &is_over));
    session.pump = Some(pump.map_err(|error| format!("cannot start a thread: {error}"))?);
    Ok(())
}
