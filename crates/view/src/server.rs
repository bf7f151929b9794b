//! The server: on this machine only, for those who know the token.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fluvial_debug::server::{is_same, random_token};

use crate::http::{self, Answer, Request};
use crate::page;
use crate::site::Site;

/// So many connections are served at once.
const MOST: usize = 64;

/// How often files are looked at while a page is open.
const EVERY: Duration = Duration::from_millis(400);

/// How long files are read before a page is answered; of large ones it is told part by part.
const SLICE: Duration = Duration::from_millis(400);

/// How often a page that nothing is told to is told so.
const BEAT: Duration = Duration::from_secs(5);

/// How long a request or an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A page that is served until this is dropped.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    site: Site,
    token: String,
    port: u16,
    is_over: AtomicBool,
    n_open: AtomicUsize,
}

impl Server {
    /// Serves a site on a port of this machine, or on one that is free (0).
    pub fn start(site: Site, port: u16) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            site,
            token: random_token(),
            port: address.port(),
            is_over: AtomicBool::new(false),
            n_open: AtomicUsize::new(0),
        });
        let serving = shared.clone();
        let accept = move || {
            for stream in listener.incoming() {
                if serving.is_over.load(Ordering::Relaxed) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                serve(&serving, stream);
            }
        };
        let accepting = thread::Builder::new().name("view".to_string()).spawn(accept)?;
        Ok(Server { address, shared, accepting: Some(accepting) })
    }

    /// Where the page is. Who knows it may look.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.address.port(), self.shared.token)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        // Wakes the one who accepts.
        let woken = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        if let (Ok(_), Some(accepting)) = (woken, self.accepting.take()) {
            let _ = accepting.join();
        }
    }
}

/// Serves a connection on a thread of its own.
fn serve(shared: &Arc<Shared>, mut stream: TcpStream) {
    if shared.n_open.fetch_add(1, Ordering::Relaxed) >= MOST {
        shared.n_open.fetch_sub(1, Ordering::Relaxed);
        let _ = Answer::fault(503, "too many pages are open; close some").write(&mut stream);
        return;
    }
    let serving = shared.clone();
    let work = move || {
        // Who goes away in between has seen enough.
        let _ = connection(&serving, &mut stream);
        serving.n_open.fetch_sub(1, Ordering::Relaxed);
    };
    if thread::Builder::new().name("view page".to_string()).spawn(work).is_err() {
        shared.n_open.fetch_sub(1, Ordering::Relaxed);
    }
}

fn connection(shared: &Shared, stream: &mut TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let request = match http::read(stream) {
        Ok(request) => request,
        Err(answer) => return answer.write(stream),
    };
    match asked(shared, &request) {
        Err(answer) => answer.write(stream),
        Ok("api/live") => live(shared, stream),
        Ok(path) => answer(shared, path, &request.query).write(stream),
    }
}

/// What is asked for, behind the token; or why nothing is answered.
fn asked<'a>(shared: &Shared, request: &'a Request) -> Result<&'a str, Answer> {
    let own = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", shared.port));
    // A page from elsewhere whose name leads to this machine has another host, and what it asks has its origin.
    let host = request.head.get("host").map(String::as_str).unwrap_or_default();
    if !own.iter().any(|own| own == host) {
        return Err(Answer::fault(403, "this page is for its own address only"));
    }
    if let Some(origin) = request.head.get("origin")
        && !own.iter().any(|own| *origin == format!("http://{own}"))
    {
        return Err(Answer::fault(403, "this page is for itself only"));
    }
    let path = request.path.strip_prefix('/').unwrap_or_default();
    let (token, path) = path.split_once('/').unwrap_or((path, ""));
    match is_same(token, &shared.token) {
        true => Ok(path),
        false => Err(Answer::fault(403, "the address is not right; `fluvial view` has printed it")),
    }
}

fn answer(shared: &Shared, path: &str, query: &BTreeMap<String, String>) -> Answer {
    if let Some((kind, body)) = page::file(path) {
        return Answer::of(kind, body);
    }
    let known = path.strip_prefix("api/").and_then(|question| {
        if question == "index" {
            shared.site.refresh(Some(SLICE));
        }
        shared.site.answer(question, query)
    });
    known.unwrap_or_else(|| Answer::fault(404, "there is nothing here"))
}

/// Tells a page whenever there is something new.
fn live(shared: &Shared, stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all((http::head(200, "text/event-stream") + "\r\n").as_bytes())?;
    let (mut told, mut at) = (None, Instant::now());
    while !shared.is_over.load(Ordering::Relaxed) {
        let (version, is_behind) = shared.site.refresh(Some(SLICE));
        if told != Some(version) {
            stream.write_all(format!("data: {version}\n\n").as_bytes())?;
            (told, at) = (Some(version), Instant::now());
        } else if at.elapsed() > BEAT {
            stream.write_all(b": nothing new\n\n")?;
            at = Instant::now();
        }
        thread::sleep(if is_behind { Duration::from_millis(20) } else { EVERY });
    }
    Ok(())
}
