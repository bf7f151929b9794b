//! Where the program is: frames, scopes, sources, and what went wrong.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::handles::Node;
use super::requests::text;
use super::session::{Answer, Session};
use super::show::{self, Style};
use crate::protocol::Args;
use crate::target::{Frame, FrameKind, Listing, Place, Reason, ScopeKind, Stop};

/// How many frames are shown.
const MAX_FRAMES: usize = 1000;
/// How many bytes of a listing are shown.
const MAX_LISTING: usize = 4 << 20;

impl Session {
    /// Where the program is stopped.
    pub(super) fn stop(&self) -> Result<Arc<Stop>, String> {
        let stop = self.target().stopped();
        stop.ok_or_else(|| "the program is running; pause it first".to_string())
    }

    /// Where the thread is stopped that a request is about, which is looked at from now on.
    pub(super) fn stop_in(&self, args: Args) -> Result<Arc<Stop>, String> {
        let Some(thread) = args.int("threadId") else { return self.stop() };
        let stops = self.target().stops();
        let Some(stop) = stops.into_iter().find(|stop| i64::from(stop.thread) == thread) else {
            self.stop()?;
            return Err(format!("thread {thread} is running; pause it first"));
        };
        self.target().choose(stop.thread);
        Ok(stop)
    }

    /// The frame that a request is about: the innermost unless it says otherwise. Its thread is looked at from now on.
    pub(super) fn frame_in(&self, args: Args) -> Result<usize, String> {
        self.stop()?;
        let Some(id) = args.int("frameId") else { return Ok(0) };
        for stop in self.target().stops() {
            let known = 0..stop.frames.len().min(MAX_FRAMES);
            if let Some(frame) = known.into_iter().find(|&frame| frame_id(&stop, frame) == id) {
                self.target().choose(stop.thread);
                return Ok(frame);
            }
        }
        Err(format!("there is no frame {id}; the program has gone on since"))
    }

    /// Whether there is one thread only.
    pub(super) fn is_one_thread(&self) -> bool {
        self.target().threads().len() <= 1
    }

    pub(super) fn stack_trace(&mut self, args: Args) -> Answer {
        let stop = self.stop_in(args)?;
        let n_frames = stop.frames.len().min(MAX_FRAMES);
        let start = args.count("startFrame").unwrap_or(0).min(n_frames);
        let levels = args.count("levels").filter(|&levels| levels > 0).unwrap_or(n_frames);
        let frames = stop.frames.iter().enumerate().take(n_frames).skip(start).take(levels);
        let frames: Vec<Value> =
            frames.map(|(i, frame)| self.frame_out(frame, frame_id(&stop, i))).collect();
        Ok(json!({"stackFrames": frames, "totalFrames": n_frames}))
    }

    fn frame_out(&self, frame: &Frame, id: i64) -> Value {
        let (first, other) = match self.by_listing && frame.kind == FrameKind::Op {
            true => (&frame.listed, &frame.place),
            false => (&frame.place, &frame.listed),
        };
        let place = first.as_ref().or(other.as_ref());
        let mut answer = json!({
            "id": id,
            "name": frame.name,
            "line": place.map_or(0, |place| self.line_out(place.line)),
            "column": place.map_or(0, |place| self.column_out(place.column)),
            "presentationHint": if is_label(frame) { "label" } else { "normal" },
            "canRestart": false,
        });
        if let Some(place) = place {
            answer["source"] = self.source_out(place);
            if let Some(other) = other.as_ref().filter(|&other| other != place) {
                answer["source"]["sources"] = json!([self.source_out(other)]);
            }
        }
        answer
    }

    pub(super) fn scopes(&mut self, args: Args) -> Answer {
        let frame = self.frame_in(args)?;
        self.focus = frame;
        let thread = self.stop()?.thread;
        let scopes = self.target().scopes(frame).map_err(text)?;
        let scopes = scopes.into_iter().map(|scope| {
            let handle = self.handles.add(Node::Scope { thread, frame, kind: scope.kind });
            let mut answer = json!({
                "name": scope.kind.title(),
                "variablesReference": handle,
                "expensive": scope.expensive,
            });
            if let Some(count) = scope.count {
                answer["namedVariables"] = json!(count);
            }
            let hint = match scope.kind {
                ScopeKind::Inputs => Some("arguments"),
                ScopeKind::Output => Some("returnValue"),
                ScopeKind::Variables => Some("locals"),
                _ => None,
            };
            if let Some(hint) = hint {
                answer["presentationHint"] = json!(hint);
            }
            answer
        });
        Ok(json!({"scopes": scopes.collect::<Vec<_>>()}))
    }

    pub(super) fn exception_info(&mut self, args: Args) -> Answer {
        let stop = self.stop_in(args)?;
        let Reason::Exception(fault) = &stop.reason else {
            return Err("exceptionInfo: the program did not stop because of a fault".to_string());
        };
        let mut story: Vec<String> = Vec::new();
        for kind in [ScopeKind::Inputs, ScopeKind::Output] {
            for variable in self.target().variables(0, kind).unwrap_or_default() {
                let summary = show::summary(&variable.value, Style::default());
                story.push(format!("{}: {} = {summary}", kind.title(), variable.name));
            }
        }
        let (labels, frames): (Vec<&Frame>, Vec<&Frame>) =
            stop.frames.iter().take(MAX_FRAMES).partition(|frame| is_label(frame));
        let labels: Vec<&str> = labels.iter().map(|frame| &*frame.name).collect();
        if !labels.is_empty() {
            story.push(format!("Under way: {}", labels.join(", ")));
        }
        story.extend(frames.iter().map(|frame| match &frame.place {
            Some(place) => format!("  {} ({}:{})", frame.name, place.file, place.line),
            None => format!("  {}", frame.name),
        }));
        story.extend(stop.notes.iter().cloned());
        Ok(json!({
            "exceptionId": fault.name(),
            "description": stop.text,
            "breakMode": "always",
            "details": {
                "message": stop.text,
                "typeName": fault.name(),
                "stackTrace": story.join("\n"),
            },
        }))
    }

    pub(super) fn source(&mut self, args: Args) -> Answer {
        let inner = args.object("source").int("sourceReference").filter(|&number| number != 0);
        let number = inner.or_else(|| args.int("sourceReference")).unwrap_or(0);
        let listing =
            listing_of(number).ok_or_else(|| format!("source: no listing has number {number}"))?;
        let mut content = self.target().listing(listing).map_err(text)?;
        cut(&mut content, MAX_LISTING);
        Ok(json!({"content": content, "mimeType": "text/x-fluvial"}))
    }

    pub(super) fn loaded_sources(&self) -> Value {
        let programs = self.target().programs();
        let sources = programs.iter().take(MAX_FRAMES).flat_map(|program| {
            [Listing::Source(program.number), Listing::Compiled(program.number)]
                .map(|listing| listing_source(&program.name, listing))
        });
        json!({"sources": sources.collect::<Vec<_>>()})
    }

    /// A place's text, as a client is told of it.
    pub(super) fn source_out(&self, place: &Place) -> Value {
        if let Some(listing) = place.listing {
            return json!({"name": &*place.file, "sourceReference": listing_number(listing)});
        }
        // What was typed into an interpreter has a name such as `<stdin>`.
        if place.file.starts_with('<') {
            return json!({"name": &*place.file, "presentationHint": "deemphasize"});
        }
        let path = std::path::absolute(&*place.file);
        let path = path.map_or_else(|_| place.file.to_string(), |path| path.display().to_string());
        let name = Path::new(&*place.file).file_name().map(|name| name.to_string_lossy());
        let path = if self.client.uses_uris { format!("file://{}", escaped(&path)) } else { path };
        json!({"name": name.unwrap_or_default(), "path": path})
    }

    /// A line as the client counts.
    pub(super) fn line_out(&self, line: u32) -> i64 {
        i64::from(line) - 1 + self.client.first_line
    }

    /// A line that the client has counted.
    pub(super) fn line_in(&self, line: i64) -> Option<u32> {
        let line = line.checked_add(1 - self.client.first_line)?;
        u32::try_from(line).ok().filter(|&line| line > 0)
    }

    /// A column as the client counts; its first one if it is unknown.
    fn column_out(&self, column: u32) -> i64 {
        i64::from(column.max(1)) - 1 + self.client.first_column
    }
}

/// Whether a frame is not a place of the user's, but says what is under way.
fn is_label(frame: &Frame) -> bool {
    matches!(frame.kind, FrameKind::Phase | FrameKind::Iteration | FrameKind::Epoch)
}

/// A listing that belongs to a program of this name.
pub(super) fn listing_source(program: &str, listing: Listing) -> Value {
    let name = match listing {
        Listing::Source(number) => format!("{program} (program {number})"),
        Listing::Compiled(number) => format!("{program} (program {number}, compiled)"),
        Listing::Kernel(number) => format!("{program} (kernel {number})"),
    };
    json!({"name": name, "sourceReference": listing_number(listing), "origin": "Fluvial"})
}

/// The number by which clients ask for a listing.
fn listing_number(listing: Listing) -> i64 {
    let (kind, number) = match listing {
        Listing::Source(number) => (1, number),
        Listing::Compiled(number) => (2, number),
        Listing::Kernel(number) => (3, number),
    };
    (i64::from(number) << 2 | kind) & i64::from(i32::MAX)
}

/// The listing of a number.
pub(super) fn listing_of(number: i64) -> Option<Listing> {
    let of = u32::try_from(number >> 2).ok()?;
    match number & 3 {
        1 => Some(Listing::Source(of)),
        2 => Some(Listing::Compiled(of)),
        3 => Some(Listing::Kernel(of)),
        _ => None,
    }
}

/// The file that a client means, which may write it as `file://`.
pub(super) fn file_of(path: &str) -> String {
    let Some(path) = path.strip_prefix("file://") else { return path.to_string() };
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let escape = (byte == b'%').then(|| behind.get(..2)).flatten();
        let escape = escape.and_then(|digits| std::str::from_utf8(digits).ok());
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(escaped) => {
                bytes.push(escaped);
                rest = &behind[2..];
            }
            None => {
                bytes.push(byte);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn escaped(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte);
    path.bytes()
        .map(
            |byte| {
                if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
            },
        )
        .collect()
}

/// Cuts a text off at a number of bytes.
pub(super) fn cut(text: &mut String, limit: usize) {
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit));
        text.push('…');
    }
}

/// The number of a frame, which no frame of the stops before has.
fn frame_id(stop: &Stop, frame: usize) -> i64 {
    ((stop.number & 0xf_ffff) as i64) << 10 | (frame as i64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_have_numbers() {
        for listing in [Listing::Source(7), Listing::Compiled(1), Listing::Kernel(0)] {
            assert_eq!(listing_of(listing_number(listing)), Some(listing));
        }
        assert_eq!([0, 4, -1, i64::MIN, i64::MAX].map(listing_of), [None; 5]);
    }

    #[test]
    fn paths_may_be_addresses() {
        assert_eq!(file_of("/a b/c.py"), "/a b/c.py");
        assert_eq!(file_of("file:///a%20b/%C3%A4.py"), "/a b/ä.py");
        assert_eq!(file_of("file:///a%2"), "/a%2");
        assert_eq!(file_of("file:///%zz%€"), "/%zz%€");
        assert_eq!(escaped("/a b/ä.py"), "/a%20b/%C3%A4.py");
    }
}
