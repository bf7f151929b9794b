//! Checkpoints as files.
//!
//! The note `fluvial.checkpoint` has a line per fact:
//!
//! ```text
//! checkpoint 2                     the version of the form
//! program 8a5f…                    the fingerprint of the program, whatever its number of epochs
//! step 1000
//! run 91c0…                        the number of the run
//! input SUM NAME                   what the run began with: checksums of inputs,
//! began SUM NAME                   initial values of states,
//! data BYTES SUM PATH              and files
//! tensor KEY                       tensors, numbered as they come
//! list N REF … TYPE                lists of N values and their type, numbered as they come
//! channel CAPACITY CLOSED N REF … TIMER TYPE
//!                                  channels with N messages, and the type of those, numbered as they come; `true` if it
//!                                  is closed; SECONDS=REF for what a timer will send, else a dash
//! schedule RANDOM PASSED           where the schedule of the tasks stands
//! state ROLE REF NAME
//! level STEP                       a block under way; what follows belongs to it
//! known SYMBOL=SIZE …
//! sizes SYMBOL=SIZE …
//! value ID REF
//! in_state ID …
//! begun                            its step was under way
//! state_of_loop REF …
//! args REF …
//! ```
//!
//! A REF is `t3` for the third tensor, counted from zero, `l3` for a list, or `c3` for a channel. A run with channels is
//! of version 3.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::str::SplitWhitespace;
use std::sync::Arc;

use fluvial_core::tasks::{self, Contents, Standing};
use fluvial_core::{
    Channel, DType, Dim, Error, ErrorKind, List, Loc, Result, Role, Sizes, Tensor, Type, Value,
    ValueId, Values,
};
use fluvial_data::{files, safetensors};

use super::Checkpoint;
use super::begun::Begun;
use crate::plan::{Level, Point, Suspension};

const NOTE: &str = "fluvial.checkpoint";
const VERSION: u32 = 3;
/// The version of checkpoints without channels, which older readers know.
const WITHOUT_CHANNELS: u32 = 2;

pub(super) fn io(path: &Path, error: std::io::Error) -> Error {
    files::io(&path.display().to_string(), error)
}

impl Checkpoint {
    /// Writes it, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        self.write_guarded(path, || Ok(()))
    }

    /// [`write`](Checkpoint::write), unless `may` says, when all is written but the name, that it may not be there.
    pub(super) fn write_guarded(
        &self,
        path: &Path,
        may: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let shown = path.display().to_string();
        files::write_guarded(path, |to| self.write_to(to, &shown), may)
    }

    /// Its bytes, as they stand in a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write_to(&mut bytes, "a checkpoint in memory")?;
        Ok(bytes)
    }

    fn write_to(&self, to: &mut dyn std::io::Write, shown: &str) -> Result<()> {
        let mut writer = Writer::default();
        let note = writer.checkpoint(self)?;
        let tensors: Vec<(&str, &Tensor)> =
            writer.tensors.iter().map(|(key, tensor)| (key.as_str(), tensor)).collect();
        safetensors::write_noted(to, &tensors, &[(NOTE, &note)], shown)
    }

    /// Reads one, and verifies its checksums.
    pub fn read(path: &Path) -> Result<Checkpoint> {
        let (mut file, len) = open(path)?;
        read_from(&mut file, len, path)
    }

    /// Reads one from its bytes, and verifies its checksums. Any bytes give a checkpoint or an error.
    pub fn from_bytes(bytes: &[u8]) -> Result<Checkpoint> {
        read_from(&mut &*bytes, bytes.len() as u64, Path::new("a checkpoint in memory"))
    }
}

fn read_from(from: &mut dyn Read, len: u64, path: &Path) -> Result<Checkpoint> {
    let shown = path.display().to_string();
    let contents = safetensors::read_all(from, len, &shown)?;
    let note = note_of(&contents.notes, path)?;
    let tensors = contents.tensors.into_iter().collect();
    let mut reader = Reader { tensors, ..Reader::default() };
    let mut read = || {
        for (number, line) in note.lines().enumerate() {
            reader
                .line(line)
                .map_err(|error| error.note(format!("in line {} of the note", number + 1)))?;
        }
        reader.finish()
    };
    read().map_err(|error: Error| error.note(format!("in the checkpoint `{shown}`")))
}

fn open(path: &Path) -> Result<(BufReader<File>, u64)> {
    let file = File::open(path).map_err(|error| io(path, error))?;
    let len = file.metadata().map_err(|error| io(path, error))?.len();
    Ok((BufReader::new(file), len))
}

fn note_of<'a>(notes: &'a [(String, String)], path: &Path) -> Result<&'a str> {
    let note = notes.iter().find(|(name, _)| name == NOTE);
    note.map(|(_, text)| text.as_str())
        .ok_or_else(|| files::fault(format!("`{}` is not a checkpoint of a run", path.display())))
}

/// An error if a checkpoint is damaged.
pub(super) fn verify(path: &Path) -> Result<()> {
    let (mut file, len) = open(path)?;
    safetensors::verify(&mut file, len, &path.display().to_string())
}

/// The run that a checkpoint is of.
pub(super) fn run_of(path: &Path) -> Result<u64> {
    let (mut file, len) = open(path)?;
    let notes = safetensors::notes(&mut file, len, &path.display().to_string())?;
    let mut lines = note_of(&notes, path)?.lines();
    match lines.find_map(|line| line.strip_prefix("run ")) {
        Some(run) => hexadecimal(run),
        None => Ok(0),
    }
}

/// Tells tensors apart: the same one is written once.
type Identity = (usize, DType, Vec<usize>, Vec<isize>);

#[derive(Default)]
struct Writer {
    lists: String,
    n_lists: usize,
    channels: Vec<Channel>,
    messages: Vec<Vec<Value>>,
    tensors: Vec<(String, Tensor)>,
    known: HashMap<Identity, usize>,
}

impl Writer {
    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<String> {
        let mut text = String::new();
        // States first: their tensors get their names.
        for (name, role, value) in &checkpoint.states {
            let reference = self.value(value, Some(name))?;
            let _ = writeln!(text, "state {} {reference} {name}", role.name());
        }
        for level in &checkpoint.suspension.levels {
            self.level(level, &mut text)?;
        }
        let standing = checkpoint.suspension.standing;
        let version = match self.channels.is_empty() && standing.is_none() {
            true => WITHOUT_CHANNELS,
            false => VERSION,
        };
        let mut head = format!(
            "checkpoint {version}\nprogram {:016x}\nstep {}\nrun {:016x}\n",
            checkpoint.program, checkpoint.step, checkpoint.run
        );
        if let Some(Standing { random, passed }) = standing {
            let _ = writeln!(head, "schedule {random:016x} {passed:?}");
        }
        if let Some(begun) = &checkpoint.begun {
            for (word, sums) in [("input", &begun.inputs), ("began", &begun.states)] {
                for (name, sum) in sums {
                    let _ = writeln!(head, "{word} {sum:08x} {}", one_line(name)?);
                }
            }
            for (path, (len, sum)) in &begun.files {
                let _ = writeln!(head, "data {len} {sum:08x} {}", one_line(path)?);
            }
        }
        for (key, _) in &self.tensors {
            let _ = writeln!(head, "tensor {}", one_line(key)?);
        }
        Ok(head + &self.lists + &text)
    }

    fn level(&mut self, level: &Level, text: &mut String) -> Result<()> {
        let _ = writeln!(text, "level {}", level.step);
        for (word, sizes) in [("known", &level.known), ("sizes", &level.sizes)] {
            let pairs = sizes.iter().map(|(symbol, size)| format!(" {symbol}={size}"));
            let _ = writeln!(text, "{word}{}", pairs.collect::<String>());
        }
        for (id, value) in &level.values {
            let _ = writeln!(text, "value {id} {}", self.value(value, None)?);
        }
        let ids: String = level.in_state.iter().map(|id| format!(" {id}")).collect();
        let _ = writeln!(text, "in_state{ids}");
        let Some(point) = &level.point else { return Ok(()) };
        text.push_str("begun\n");
        for (word, values) in [("state_of_loop", &point.state), ("args", &point.args)] {
            let Some(values) = values else { continue };
            let references = values.iter().map(|value| self.value(value, None));
            let references = references.collect::<Result<Vec<String>>>()?.join(" ");
            let space = if references.is_empty() { "" } else { " " };
            let _ = writeln!(text, "{word}{space}{references}");
        }
        Ok(())
    }

    fn channel(&mut self, channel: &Channel) -> Result<String> {
        if let Some(known) = self.channels.iter().position(|other| other.same(channel)) {
            return Ok(format!("c{known}"));
        }
        let Contents { message, capacity, is_closed, mut messages, timer } = channel.contents()?;
        let n = messages.len();
        let after = timer.map(|(seconds, value)| {
            messages.push(value);
            seconds
        });
        let references = messages.iter().map(|message| self.value(message, None));
        let mut references = references.collect::<Result<Vec<String>>>()?;
        let timer = match after {
            Some(seconds) => format!("{seconds:?}={}", references.pop().unwrap_or_default()),
            None => "-".to_string(),
        };
        references.push(timer);
        let references = references.join(" ");
        let _ = writeln!(self.lists, "channel {capacity} {is_closed} {n} {references} {message}");
        // Small tensors are told apart by where they lie, so that place must not be used again.
        self.messages.push(messages);
        self.channels.push(channel.clone());
        Ok(format!("c{}", self.channels.len() - 1))
    }

    fn value(&mut self, value: &Value, name: Option<&str>) -> Result<String> {
        Ok(match value {
            Value::Tensor(tensor) => format!("t{}", self.tensor(tensor, name)),
            Value::List(list) => {
                let mut references: Vec<String> =
                    list.iter().map(|value| self.value(value, None)).collect::<Result<_>>()?;
                references.reverse();
                let count = references.len();
                let references = references.join(" ");
                let _ = writeln!(self.lists, "list {count} {references} {}", list.element());
                self.n_lists += 1;
                format!("l{}", self.n_lists - 1)
            }
            Value::Device(here) => format!("t{}", self.tensor(here.host()?, name)),
            Value::Channel(channel) => self.channel(channel)?,
        })
    }

    fn tensor(&mut self, tensor: &Tensor, name: Option<&str>) -> usize {
        let place = tensor.data_ptr() as usize;
        let identity = (place, tensor.dtype(), tensor.dims().to_vec(), tensor.strides().to_vec());
        // One tensor may be the value of two states: each has it under its name.
        let is_shared = name.is_none() && tensor.numel() > 0;
        if let Some(&known) = self.known.get(&identity).filter(|_| is_shared) {
            return known;
        }
        let number = self.tensors.len();
        self.known.insert(identity, number);
        let key = name.map_or_else(|| format!("#{number}"), str::to_string);
        self.tensors.push((key, tensor.clone()));
        number
    }
}

fn one_line(name: &str) -> Result<&str> {
    match name.contains(['\n', '\r']) {
        false => Ok(name),
        true => Err(Error::state(format!("{name:?} has a line end in its name"))),
    }
}

#[derive(Default)]
struct Reader {
    /// By key.
    tensors: HashMap<String, Tensor>,
    numbered: Vec<Tensor>,
    lists: Vec<List>,
    channels: Vec<Channel>,
    standing: Option<Standing>,
    version: Option<u32>,
    program: u64,
    step: u64,
    run: u64,
    begun: Begun,
    states: Vec<(Arc<str>, Role, Value)>,
    levels: Vec<Level>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<()> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut words = rest.split_whitespace();
        match word {
            "checkpoint" => {
                let version = number(words.next())?;
                if version > VERSION {
                    let message = format!("checkpoints of version {version} cannot be read");
                    return Err(Error::new(ErrorKind::Version, message)
                        .remedy("use the version of Fluvial that wrote it, or a newer one"));
                }
                self.version = Some(version);
            }
            "program" => self.program = hexadecimal(rest)?,
            "step" => self.step = number(words.next())?,
            "run" => self.run = hexadecimal(rest)?,
            "input" | "began" => {
                let (sum, name) = rest.split_once(' ').ok_or_else(|| bad("a name"))?;
                let sums = match word {
                    "input" => &mut self.begun.inputs,
                    _ => &mut self.begun.states,
                };
                sums.insert(name.to_string(), checksum(sum)?);
            }
            "data" => {
                let (len, rest) = rest.split_once(' ').ok_or_else(|| bad("a checksum"))?;
                let (sum, path) = rest.split_once(' ').ok_or_else(|| bad("a path"))?;
                let file = (number(Some(len))?, checksum(sum)?);
                self.begun.files.insert(path.to_string(), file);
            }
            "tensor" => {
                let tensor = self.tensors.get(rest).ok_or_else(|| bad("a tensor of the file"))?;
                self.numbered.push(tensor.clone());
            }
            "list" => self.list(words)?,
            "channel" => self.channel(words)?,
            "schedule" => {
                let random = hexadecimal(words.next().unwrap_or_default())?;
                let passed = seconds(words.next().unwrap_or_default())?;
                self.standing = Some(Standing { random, passed });
            }
            "state" => {
                let (role, rest) = rest.split_once(' ').ok_or_else(|| bad("a role"))?;
                let (value, name) = rest.split_once(' ').ok_or_else(|| bad("a name"))?;
                let role = Role::parse(role).ok_or_else(|| bad("a role"))?;
                let value = self.value(value)?;
                self.states.push((name.into(), role, value));
            }
            "level" => self.levels.push(Level {
                step: number(words.next())?,
                values: Vec::new(),
                in_state: Vec::new(),
                known: Sizes::default(),
                sizes: Sizes::default(),
                point: None,
                noted: Vec::new(),
            }),
            "known" => self.level()?.known = sizes(words)?,
            "sizes" => self.level()?.sizes = sizes(words)?,
            "value" => {
                let id: ValueId = number(words.next())?;
                let value = self.value(words.next().unwrap_or_default())?;
                self.level()?.values.push((id, value));
            }
            "in_state" => {
                let ids = words.map(|word| number(Some(word))).collect::<Result<_>>()?;
                self.level()?.in_state = ids;
            }
            "begun" => self.level()?.point = Some(Point::default()),
            "state_of_loop" | "args" => {
                let values = words.map(|word| self.value(word)).collect::<Result<Values>>()?;
                let point = self.level()?.point.get_or_insert_default();
                *(if word == "args" { &mut point.args } else { &mut point.state }) = Some(values);
            }
            _ => return Err(bad("a known word")),
        }
        Ok(())
    }

    fn level(&mut self) -> Result<&mut Level> {
        self.levels.last_mut().ok_or_else(|| bad("a level first"))
    }

    fn list(&mut self, mut words: SplitWhitespace<'_>) -> Result<()> {
        let count: usize = number(words.next())?;
        let mut values = Vec::new();
        for _ in 0..count {
            let word = words.next().ok_or_else(|| bad("more values"))?;
            values.push(self.value(word)?);
        }
        let ty = Type::parse(&words.collect::<Vec<_>>().join(" "))?;
        self.lists.push(List::from_bottom(ty, values)?);
        Ok(())
    }

    fn channel(&mut self, mut words: SplitWhitespace<'_>) -> Result<()> {
        let capacity: usize = number(words.next())?;
        let is_closed: bool = number(words.next())?;
        let count: usize = number(words.next())?;
        let mut messages = Vec::new();
        for _ in 0..count {
            let word = words.next().ok_or_else(|| bad("more messages"))?;
            messages.push(self.value(word)?);
        }
        let timer = match words.next().ok_or_else(|| bad("a timer or a dash"))? {
            "-" => None,
            timer => {
                let (after, value) = timer.split_once('=').ok_or_else(|| bad("a timer"))?;
                Some((seconds(after)?, self.value(value)?))
            }
        };
        let message = Type::parse(&words.collect::<Vec<_>>().join(" "))?;
        let is_one = |value: &Value| tasks::fits(&message, &value.ty());
        if !messages.iter().chain(timer.iter().map(|(_, value)| value)).all(is_one)
            || messages.len() > capacity
        {
            return Err(bad("messages that the channel holds"));
        }
        let contents = Contents { message, capacity, is_closed, messages, timer };
        self.channels.push(contents.channel(Loc::Unknown)?);
        Ok(())
    }

    fn value(&self, reference: &str) -> Result<Value> {
        let found = match reference.split_at_checked(1) {
            Some(("t", at)) => {
                self.numbered.get(number::<usize>(Some(at))?).cloned().map(Value::Tensor)
            }
            Some(("l", at)) => self.lists.get(number::<usize>(Some(at))?).cloned().map(Value::List),
            Some(("c", at)) => {
                self.channels.get(number::<usize>(Some(at))?).cloned().map(Value::Channel)
            }
            _ => None,
        };
        found.ok_or_else(|| bad("a tensor, a list or a channel"))
    }

    fn finish(&mut self) -> Result<Checkpoint> {
        let version = self.version.ok_or_else(|| bad("a version"))?;
        Ok(Checkpoint {
            step: self.step,
            run: self.run,
            program: self.program,
            // The first version did not say it.
            begun: (version > 1).then(|| std::mem::take(&mut self.begun)),
            states: std::mem::take(&mut self.states),
            suspension: Suspension {
                levels: std::mem::take(&mut self.levels),
                standing: self.standing,
                ..Suspension::default()
            },
        })
    }
}

fn bad(expected: &str) -> Error {
    files::fault(format!("the note is broken: expected {expected}"))
}

fn hexadecimal(digits: &str) -> Result<u64> {
    u64::from_str_radix(digits, 16).map_err(|_| bad("a number in hexadecimal"))
}

fn checksum(digits: &str) -> Result<u32> {
    hexadecimal(digits)?.try_into().map_err(|_| bad("a checksum"))
}

/// A time from 0 to 1e9 seconds.
fn seconds(text: &str) -> Result<f64> {
    let found = text.parse().ok().filter(|seconds| (0.0..=1e9).contains(seconds));
    found.ok_or_else(|| bad("a number of seconds"))
}

fn number<T: std::str::FromStr>(word: Option<&str>) -> Result<T> {
    word.and_then(|word| word.parse().ok()).ok_or_else(|| bad("a number"))
}

fn sizes(words: SplitWhitespace<'_>) -> Result<Sizes> {
    words
        .map(|word| {
            let (symbol, size) = word.split_once('=').ok_or_else(|| bad("a size"))?;
            Ok((Dim::symbol(symbol)?, Dim::parse(size)?))
        })
        .collect()
}
