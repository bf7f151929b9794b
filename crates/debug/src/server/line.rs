//! Terminals over a connection: `fluvial attach` sends what is typed, and shows what comes back.
//!
//! The first line says what it is about, where editors say how long their message is: `fluvial terminal TOKEN WIDTH
//! [WORDS]` for a debugger in a terminal, `fluvial pause TOKEN` for a Ctrl-C of the one that is connected. `-` stands
//! for no token. Of the words, `colours` asks for them, `started` says that the program was started for being debugged,
//! so that `quit` ends it, and `edits` that lines are edited there: instead of a prompt, a line is sent that begins with
//! [`ASKS`] and has the words that may be typed, separated by blanks.

use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use super::listener::{Farewell, Shared};
use super::token::is_same;
use crate::target::Go;
use crate::terminal::{self, Commands, Options, Plain, Prompt, read_line};

/// The first line is never longer.
const MAX_LINE: usize = 300;

/// Whether a connection is one of a terminal, by its first byte, which stays where it is.
pub(super) fn is_terminal(stream: &TcpStream) -> bool {
    let mut first = [0];
    matches!(stream.peek(&mut first), Ok(1)) && first == *b"f"
}

/// Serves a terminal until it goes.
pub(super) fn serve(mut stream: TcpStream, id: u64, shared: &Arc<Shared>) {
    let Some(line) = first_line(&mut stream) else { return };
    let words: Vec<&str> = line.split(' ').collect();
    let ["fluvial", what, token, rest @ ..] = &words[..] else { return };
    let wanted = shared.options.token.as_deref();
    if wanted.is_some_and(|wanted| !is_same(token, wanted)) {
        shared.wait_for_guess();
        let _ = stream.write_all(b"The token is not the one of this debugger.\n");
        return;
    }
    match *what {
        "pause" => drop(shared.target.go(Go::Pause)),
        "terminal" if shared.take_control(id) => {
            debug(&stream, rest, id, shared);
            shared.release_control(id, Farewell::Detach);
        }
        "terminal" => {
            let _ = stream.write_all(b"Somebody else is debugging this process.\n");
        }
        _ => {}
    }
}

fn debug(stream: &TcpStream, rest: &[&str], id: u64, shared: &Arc<Shared>) -> Option<()> {
    let width = rest.first().and_then(|width| width.parse().ok()).unwrap_or(100);
    let width = usize::clamp(width, 40, 1000);
    let says = |word: &str| rest.iter().skip(1).any(|said| *said == word);
    // People may think for as long as they want.
    stream.set_read_timeout(None).ok()?;
    let (mut input, mut output) =
        (BufReader::new(stream.try_clone().ok()?), stream.try_clone().ok()?);
    let options = Options {
        colours: says("colours"),
        width,
        wait: true,
        quit_ends: says("started"),
        faults: true,
        // Who does not edit lines may have sent them all, and be done with it.
        connection: match says("edits") {
            true => Some(Arc::new(stream.try_clone().ok()?)),
            false => None,
        },
        ..Options::default()
    };
    let mut session = terminal::Session::new(&*shared.target, &mut output, options);
    // Who attaches wants to look: the program stops as soon as it can.
    shared.target.go(Go::Pause).ok()?;
    shared.configured(id);
    let left = match says("edits") {
        true => session.run(&mut Edited(input)),
        false => session.run(&mut Plain(&mut input)),
    };
    left.ok().map(drop)
}

/// What a line begins with that stands for a prompt.
pub const ASKS: char = '\u{1e}';

/// Lines that are edited at the other end.
struct Edited(BufReader<TcpStream>);

impl Commands for Edited {
    fn next(&mut self, prompt: &Prompt<'_>, out: &mut dyn Write) -> io::Result<Option<Vec<u8>>> {
        writeln!(out, "{ASKS}{}", (prompt.words)().join(" "))?;
        out.flush()?;
        read_line(&mut self.0)
    }
}

fn first_line(stream: &mut TcpStream) -> Option<String> {
    // Byte by byte, since what follows the line is for others.
    let (mut line, mut byte) = (Vec::new(), [0]);
    while line.len() < MAX_LINE {
        stream.read_exact(&mut byte).ok()?;
        if byte == *b"\n" {
            return String::from_utf8(line).ok();
        }
        line.extend(byte);
    }
    None
}
