//! Messages to bytes and back.

use std::io::{self, BufRead, Read, Write};

use serde_json::Value;

/// The most bytes that the header of a message may have.
pub const MAX_HEADER: usize = 4 << 10;
/// The most bytes that the text of a message may have.
pub const MAX_BODY: usize = 8 << 20;

/// Why no message came.
#[derive(Debug)]
pub enum Fault {
    /// The other side has closed the connection, or it broke, or took too long.
    Closed,
    /// The bytes are not a message. Where the next one begins is unknown.
    Framing(String),
    /// The text is not JSON. The next message can be read.
    Json(String),
}

/// Reads one message.
pub fn read(from: &mut impl BufRead) -> Result<Value, Fault> {
    let length = read_header(from)?;
    // Memory grows with what comes, not with what is promised.
    let mut body = Vec::new();
    let taken = from.by_ref().take(length as u64).read_to_end(&mut body);
    if taken.map_err(|_| Fault::Closed)? < length {
        return Err(Fault::Closed);
    }
    serde_json::from_slice(&body).map_err(|error| Fault::Json(format!("no JSON: {error}")))
}

/// Writes one message, at once: a socket would wait between the header and the rest.
pub fn write(to: &mut impl Write, message: &Value) -> io::Result<()> {
    let body = message.to_string();
    let message = format!("Content-Length: {}\r\n\r\n{body}", body.len());
    to.write_all(message.as_bytes())?;
    to.flush()
}

/// Reads a header up to the empty line behind it; the length that it tells.
fn read_header(from: &mut impl BufRead) -> Result<usize, Fault> {
    let mut left = MAX_HEADER;
    let mut length = None;
    loop {
        let mut line = Vec::new();
        from.by_ref().take(left as u64).read_until(b'\n', &mut line).map_err(|_| Fault::Closed)?;
        left -= line.len();
        if line.pop() != Some(b'\n') {
            return Err(match left {
                0 => Fault::Framing(format!("a header of more than {MAX_HEADER} bytes")),
                _ => Fault::Closed,
            });
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line.is_empty() {
            return length.ok_or_else(|| Fault::Framing("no Content-Length in the header".into()));
        }
        let Some((name, value)) = line.split_once(':') else {
            return Err(Fault::Framing("a line of the header has no colon".into()));
        };
        if name.trim().eq_ignore_ascii_case("content-length") {
            length = Some(parse_length(value.trim())?);
        }
    }
}

fn parse_length(text: &str) -> Result<usize, Fault> {
    match text.parse() {
        Ok(length) if length <= MAX_BODY => Ok(length),
        Ok(length) => Err(Fault::Framing(format!(
            "a message of {length} bytes, at most {MAX_BODY} are accepted"
        ))),
        Err(_) => Err(Fault::Framing("Content-Length is not a number".into())),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(bytes: &[u8], expected: Expect) {
        let mut from = bytes;
        let mut text = String::new();
        loop {
            match read(&mut from) {
                Ok(message) => text += &format!("{message}\n"),
                Err(Fault::Json(why)) => text += &format!("{why}\n"),
                Err(Fault::Framing(why)) => break text += &format!("stop: {why}\n"),
                Err(Fault::Closed) => break,
            }
        }
        expected.assert_eq(&text);
    }

    #[test]
    fn messages_come_one_after_the_other() {
        let mut bytes = Vec::new();
        write(&mut bytes, &json!({"a": "ä"})).unwrap();
        write(&mut bytes, &json!([])).unwrap();
        check(
            &bytes,
            expect![[r#"
                {"a":"ä"}
                []
            "#]],
        );
        check(
            b"content-length : 2\nX-Other: 1\n\n{}",
            expect![[r#"
                {}
            "#]],
        );
    }

    #[test]
    fn bad_json_is_skipped() {
        check(
            b"Content-Length: 2\r\n\r\n{]Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\n1",
            expect![[r#"
                no JSON: key must be a string at line 1 column 2
                no JSON: EOF while parsing a value at line 1 column 0
                1
            "#]],
        );
        let deep = "[".repeat(100_000);
        check(
            format!("Content-Length: {}\r\n\r\n{deep}", deep.len()).as_bytes(),
            expect![[r#"
                no JSON: recursion limit exceeded at line 1 column 128
            "#]],
        );
    }

    #[test]
    fn bad_headers_end_it() {
        check(b"Content-Length: 3\r\n\r\n{}", expect![""]);
        check(b"Content-Le", expect![""]);
        check(
            b"GET / HTTP/1.1\r\n\r\n",
            expect![[r#"
            stop: a line of the header has no colon
        "#]],
        );
        check(
            b"Host: a\r\n\r\n",
            expect![[r#"
            stop: no Content-Length in the header
        "#]],
        );
        check(
            b"Content-Length: -1\r\n\r\n",
            expect![[r#"
            stop: Content-Length is not a number
        "#]],
        );
        check(
            b"Content-Length: 8388609\r\n\r\n",
            expect![[r#"
            stop: a message of 8388609 bytes, at most 8388608 are accepted
        "#]],
        );
        check(
            &[b'a'; 5000],
            expect![[r#"
            stop: a header of more than 4096 bytes
        "#]],
        );
        check(
            "a: b\n".repeat(900).as_bytes(),
            expect![[r#"
            stop: a header of more than 4096 bytes
        "#]],
        );
    }
}
