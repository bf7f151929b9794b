//! As much of HTTP as a page on the same machine needs: requests without a body, one per connection.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

/// A longer request is refused.
const LONGEST: usize = 16 << 10;

/// What is asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The path, decoded, without the question.
    pub path: String,
    /// What stands behind the question mark, decoded.
    pub query: BTreeMap<String, String>,
    /// Lines of the head, by name in small letters.
    pub head: BTreeMap<String, String>,
}

/// What is answered.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The type of the body.
    pub kind: &'static str,
    /// The body.
    pub body: Vec<u8>,
    /// The name under which browsers keep it, for downloads.
    pub file: Option<String>,
}

/// The type of answers that are data.
pub const JSON: &str = "application/json; charset=utf-8";

/// The type of answers that are texts.
pub const TEXT: &str = "text/plain; charset=utf-8";

impl Answer {
    /// An answer that is fine.
    pub fn of(kind: &'static str, body: impl Into<Vec<u8>>) -> Answer {
        Answer { status: 200, kind, body: body.into(), file: None }
    }

    /// An answer that says what is wrong.
    pub fn fault(status: u16, text: impl Into<String>) -> Answer {
        Answer { status, kind: TEXT, body: text.into().into_bytes(), file: None }
    }

    /// Writes it. The page may load nothing from elsewhere, and nobody else may read it.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut head = head(self.status, self.kind);
        head += &format!("Content-Length: {}\r\n", self.body.len());
        if let Some(file) = &self.file {
            let plain: String = file
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '_' })
                .collect();
            head += &format!("Content-Disposition: attachment; filename=\"{plain}\"\r\n");
        }
        head += "\r\n";
        to.write_all(head.as_bytes())?;
        to.write_all(&self.body)?;
        to.flush()
    }
}

/// The lines of a head without the empty one at its end.
pub fn head(status: u16, kind: &str) -> String {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Service Unavailable",
    };
    format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nConnection: close\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         X-Frame-Options: SAMEORIGIN\r\nContent-Security-Policy: default-src 'none'; script-src 'self'; \
         style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'\r\n"
    )
}

/// Reads a request; an answer that refuses it if it is none.
pub fn read(from: &mut impl Read) -> Result<Request, Answer> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 2048];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if bytes.len() > LONGEST {
            return Err(Answer::fault(400, "the request is too long"));
        }
        match from.read(&mut chunk) {
            Ok(n) if n > 0 => bytes.extend(&chunk[..n]),
            _ => return Err(Answer::fault(400, "the request has no end")),
        }
    };
    parse(&bytes[..end])
}

fn parse(head: &[u8]) -> Result<Request, Answer> {
    let bad = || Answer::fault(400, "this is not a request");
    let text = str::from_utf8(head).map_err(|_| bad())?;
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let (Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) = (target, version, words.next())
    else {
        return Err(bad());
    };
    if method != Some("GET") {
        return Err(Answer::fault(405, "only GET is answered"));
    }
    let (path, question) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request { path: decoded(path).ok_or_else(bad)?, ..Request::default() };
    for pair in question.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decoded(&value.replace('+', " ")).ok_or_else(bad)?;
        request.query.insert(decoded(name).ok_or_else(bad)?, value);
    }
    for line in lines {
        let (name, value) = line.split_once(':').ok_or_else(bad)?;
        let name = name.to_ascii_lowercase();
        // Two hosts would let one pass the check and the other one be used.
        if request.head.insert(name, value.trim().to_string()).is_some()
            && line.to_ascii_lowercase().starts_with("host")
        {
            return Err(bad());
        }
    }
    Ok(request)
}

/// A text with its `%20` read; none if that is not text.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &[u8]) -> u16 {
        read(&mut &*text).err().map_or(200, |answer| answer.status)
    }

    #[test]
    fn requests_are_read() {
        let text =
            b"GET /a%20b?x=1+2&tag=l%C3%B6ss%2F1 HTTP/1.1\r\nHost: me:1\r\nX: y: z\r\n\r\nrest";
        let request = read(&mut &text[..]).unwrap();
        assert_eq!(request.path, "/a b");
        assert_eq!(request.query["x"], "1 2");
        assert_eq!(request.query["tag"], "löss/1");
        assert_eq!(request.head["x"], "y: z");
    }

    #[test]
    fn junk_is_refused() {
        assert_eq!(status(b""), 400);
        assert_eq!(status(b"GET / HTTP/1.1\r\n"), 400);
        assert_eq!(status(b"POST / HTTP/1.1\r\n\r\n"), 405);
        assert_eq!(status(b"GET / HTTP/2\r\n\r\n"), 400);
        assert_eq!(status(b"GET /%ff HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(status(b"GET /%4 HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(status(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
        assert_eq!(status(&[b'a'; 40_000]), 400);
        // A row of numbers stands for bytes of all kinds.
        let mut state = 1u32;
        for _ in 0..2000 {
            let mut junk = b"GET /".to_vec();
            junk.extend((0..40).map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            }));
            junk.extend(b"\r\n\r\n");
            let _ = read(&mut &junk[..]);
        }
    }
}
