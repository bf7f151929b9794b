//! Recordings: what is kept of a run, in a file, with which it can be debugged later and elsewhere.
//!
//! The file begins with [`MAGIC`] and has sections: the length of a name, the name, the length of the contents, their
//! checksum (CRC-32), the contents; numbers are little-endian. `about` is a text with a line per fact, `program` the
//! program in its binary form, `source` a file in which its lines stand; runs, snapshots, edits and what came from outside
//! are checkpoints.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use fluvial_compile::Options;
use fluvial_core::{Error, ErrorKind, Program, Registry, Result, Role, State, Value};
use fluvial_data::files;
use fluvial_runtime::attach::Start;
use fluvial_runtime::{Checkpoint, Executor, Suspension};

use super::blocks::each_part;
use super::each_call;
use super::history::{History, Run, Snapshot};
use super::pos::Pos;
use super::shared::{Edit, Edited};
use super::source::read;

const MAGIC: &[u8; 8] = b"FLUVREC1";
/// So many snapshots are written: the first, and the latest ones.
const MAX_SNAPSHOTS: usize = 16;
/// So many files of the user are written.
const MAX_SOURCES: usize = 100;
/// No name of a section is longer.
const MAX_NAME: usize = 100;

/// A run that was recorded, which [`Engine::play`](super::Engine::play) takes up where it was stopped.
pub struct Recording {
    pub(super) history: History,
    /// Where it was stopped.
    pub(super) pos: Pos,
    pub(super) edits: Vec<Edit>,
    /// The files in which the lines of its program stand, as they were then.
    pub(super) sources: HashMap<Arc<str>, Arc<str>>,
}

impl Recording {
    /// Reads a recording from its file. `registry` has the ops that its program may use.
    pub fn read(path: &Path, registry: &Registry) -> Result<Recording> {
        let shown = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| files::io(&shown, error))?;
        Recording::from_bytes(&bytes, registry)
            .map_err(|error| error.note(format!("in the recording `{shown}`")))
    }

    /// Reads a recording from the bytes of its file. Any bytes give a recording or an error.
    pub fn from_bytes(bytes: &[u8], registry: &Registry) -> Result<Recording> {
        parsed(bytes, registry)
    }
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording").field("snapshots", &self.history.snapshots.len()).finish()
    }
}

type States = Vec<(Arc<str>, Role, Value)>;

/// Writes the last run of a history, up to a point.
pub fn write(history: &History, pos: &Pos, edits: &[Edit], path: &Path) -> Result<String> {
    let Some(last) = history.run(pos.run()) else {
        return Err(Error::state("the run is not kept, so that it cannot be recorded"));
    };
    let program = last.executor.compiled().program.fingerprint();
    let is_same = |run: &&Run| std::ptr::eq(run.executor.compiled(), last.executor.compiled());
    // Runs of other programs in between end what can be run again.
    let others = history.runs.iter().filter(|run| run.number <= pos.run() && !is_same(run));
    let first = others.map(|run| run.number + 1).max().unwrap_or(0);
    let known: Vec<&Snapshot> = history
        .snapshots
        .iter()
        .filter(|snapshot| snapshot.pos.run() >= first && snapshot.pos <= *pos)
        .collect();
    let skipped = known.len().saturating_sub(MAX_SNAPSHOTS);
    let snapshots = known.iter().take(1).chain(known.iter().skip(1 + skipped));
    let snapshots: Vec<&&Snapshot> = snapshots.collect();
    let Some(first) = snapshots.first().map(|snapshot| snapshot.pos.run()) else {
        return Err(Error::state("no snapshot was kept, so that the run cannot be recorded"));
    };
    let mut about = String::from("recording 1\n");
    let _ = writeln!(about, "pos {}", numbers(pos.numbers()));
    let _ = writeln!(about, "fast {}", last.executor.options().fast);
    for output in &last.executor.compiled().program.outputs {
        let _ = writeln!(about, "output {output}");
    }
    let mut sections: Vec<(String, Vec<u8>)> = Vec::new();
    let runs = history.runs.iter().filter(|run| (first..=pos.run()).contains(&run.number));
    for run in runs {
        let (trips, steps) = &run.trips;
        let _ = writeln!(about, "run {} steps {steps} trips {}", run.number, numbers(trips));
        let start = suspension(&run.start, run);
        let bytes = Checkpoint::of(program, Vec::new(), start).to_bytes()?;
        sections.push((format!("run {}", run.number), bytes));
    }
    for (k, snapshot) in snapshots.iter().enumerate() {
        let (pos, steps, trips) =
            (numbers(snapshot.pos.numbers()), snapshot.steps, &snapshot.trips);
        let trips = numbers(trips);
        let _ = writeln!(about, "snapshot {k} pos {pos} steps {steps} trips {trips}");
        let Some(run) = history.run(snapshot.pos.run()) else { continue };
        let start = suspension(&snapshot.start, run);
        let bytes = Checkpoint::of(program, snapshot.states().to_vec(), start).to_bytes()?;
        sections.push((format!("snapshot {k}"), bytes));
    }
    let mut values: States = Vec::new();
    for (k, edit) in edits.iter().enumerate() {
        let (what, value) = match &edit.what {
            Edited::Value(id, value) => (format!("value {id}"), value),
            Edited::Output(output, value) => (format!("output {output}"), value),
            Edited::State(name, value) => (format!("state {name}"), value),
        };
        let text = edit.text.replace(['\n', '\r'], " ");
        let _ = writeln!(about, "edit {k} pos {} {what}", numbers(edit.pos.numbers()));
        let _ = writeln!(about, "text {text}");
        values.push((format!("edit {k}").into(), Role::Buffer, value.clone()));
    }
    for (k, (pos, outputs)) in history.all_outside().enumerate() {
        let _ = writeln!(about, "outside {k} {} pos {}", outputs.len(), numbers(pos.numbers()));
        let outputs = outputs.iter().enumerate();
        values
            .extend(outputs.map(|(j, value)| {
                (format!("outside {k} {j}").into(), Role::Buffer, value.clone())
            }));
    }
    let bytes = Checkpoint::of(program, values, Suspension::default()).to_bytes()?;
    sections.push(("values".into(), bytes));
    // Who opens it elsewhere sees the lines and the names of variables, too.
    for (k, (path, text)) in sources_of(last.executor.source()).into_iter().enumerate() {
        let _ = writeln!(about, "source {k} {path}");
        sections.push((format!("source {k}"), text.into_bytes()));
    }
    sections.insert(0, ("program".into(), last.executor.source().to_bytes()));
    sections.insert(0, ("about".into(), about.into_bytes()));
    let n_bytes: usize = sections.iter().map(|(_, bytes)| bytes.len()).sum();
    let shown = path.display().to_string();
    files::write_at(path, |to| {
        let mut put = |bytes: &[u8]| to.write_all(bytes).map_err(|error| files::io(&shown, error));
        put(MAGIC)?;
        for (name, bytes) in &sections {
            put(&(name.len() as u32).to_le_bytes())?;
            put(name.as_bytes())?;
            put(&(bytes.len() as u64).to_le_bytes())?;
            put(&crc32fast::hash(bytes).to_le_bytes())?;
            put(bytes)?;
        }
        Ok(())
    })?;
    let reads = match super::shared::reads(&last.executor.compiled().program.main) {
        true => "; what the program reads is not in it and must be where it was",
        false => "",
    };
    let (n, kb) = (snapshots.len(), n_bytes.div_ceil(1024));
    Ok(format!("{n} snapshots, {kb} KB: `fluvial debug {shown}` opens it{reads}"))
}

/// The files in which the lines of a program stand, by path, as far as they can be read.
fn sources_of(program: &Program) -> BTreeMap<Arc<str>, String> {
    let mut paths = BTreeSet::new();
    each_call(&program.main, &mut |call| {
        each_part(call, &mut |part| {
            let callers = std::iter::successors(Some(part.loc), |loc| loc.parent());
            paths.extend(callers.filter(|loc| loc.is_known()).map(|loc| loc.file()));
        });
    });
    let lines = paths.into_iter().filter(|path| !path.contains(['\n', '\r']));
    lines.filter_map(|path| Some((path.clone(), read(&path)?))).take(MAX_SOURCES).collect()
}

fn suspension(start: &Start, run: &Run) -> Suspension {
    match start {
        Start::Inputs(inputs) => Suspension::at_start(&run.plan, inputs),
        Start::Suspension(suspension) => suspension.clone(),
    }
}

fn parsed(bytes: &[u8], registry: &Registry) -> Result<Recording> {
    let sections = sections(bytes)?;
    let section = |name: &str| {
        sections.get(name).copied().ok_or_else(|| bad(&format!("there is no section `{name}`")))
    };
    let about = std::str::from_utf8(section("about")?).map_err(|_| bad("`about` is not text"))?;
    let program = Program::from_bytes(section("program")?, registry)?;
    let mut lines = about.lines().peekable();
    if lines.next() != Some("recording 1") {
        return Err(Error::new(ErrorKind::Version, "recordings of this version cannot be read")
            .remedy("use the version of Fluvial that wrote it, or a newer one"));
    }
    let values: HashMap<Arc<str>, Value> = {
        let (_, states, _) = checkpoint(section("values")?)?;
        states.into_iter().map(|(name, _, value)| (name, value)).collect()
    };
    let value = |name: String| {
        values.get(&*name).cloned().ok_or_else(|| bad(&format!("there is no value `{name}`")))
    };
    let (mut outputs, mut fast, mut pos) = (Vec::new(), false, None);
    let mut edits: Vec<Edit> = Vec::new();
    let mut sources = HashMap::new();
    let mut executor: Option<Executor> = None;
    let mut history = History::default();
    for line in lines {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words: Vec<&str> = rest.split(' ').collect();
        match (word, &words[..]) {
            ("pos", [numbers]) => pos = Some(position(numbers)?),
            ("fast", [word]) => fast = *word == "true",
            ("output", _) => outputs.push(rest.to_string()),
            ("run" | "snapshot", _) => {
                let executor = match &executor {
                    Some(executor) => executor,
                    None => {
                        let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
                        let options = Options { fast, ..Options::default() };
                        let made = Executor::with(&program, &outputs, State::new(), &options)?;
                        executor.insert(made)
                    }
                };
                let (of, states, suspension) = checkpoint(section(&first_two(line))?)?;
                if of != executor.compiled().program.fingerprint() {
                    return Err(Error::new(
                        ErrorKind::Version,
                        "its program is compiled otherwise here",
                    )
                    .remedy("use the version of Fluvial that wrote it"));
                }
                let plan = executor.plan_of(&suspension)?;
                let start = Start::Suspension(suspension);
                match (word, &words[..]) {
                    ("run", [run, "steps", steps, "trips", trips]) => {
                        let trips = (list(trips)?, number(steps)?);
                        let (number, executor) = (number(run)?, executor.clone());
                        history.runs.push_back(Run { number, executor, plan, start, trips });
                    }
                    ("snapshot", [_, "pos", pos, "steps", steps, "trips", trips]) => {
                        let trips = (list(trips)?, number(steps)?);
                        history.put(position(pos)?, start, trips, states);
                    }
                    _ => return Err(bad(line)),
                }
            }
            ("edit", [k, "pos", pos, kind, what @ ..]) => {
                let value = value(format!("edit {k}"))?;
                let what = match (*kind, what) {
                    ("value", [id]) => Edited::Value(number(id)? as u32, value),
                    ("output", [output]) => Edited::Output(number(output)? as usize, value),
                    ("state", name) => Edited::State(name.join(" ").into(), value),
                    _ => return Err(bad(line)),
                };
                edits.push(Edit { thread: 1, pos: position(pos)?, what, text: String::new() });
            }
            ("source", [_, _, ..]) => {
                let text = std::str::from_utf8(section(&first_two(line))?);
                let text = text.map_err(|_| bad("a source is not text"))?;
                let path = rest.split_once(' ').map_or("", |(_, path)| path);
                sources.insert(path.into(), text.into());
            }
            ("text", _) => {
                if let Some(edit) = edits.last_mut() {
                    edit.text = rest.to_string();
                }
            }
            ("outside", [k, n, "pos", pos]) => {
                let mut outputs = Vec::new();
                for j in 0..number(n)? {
                    outputs.push(value(format!("outside {k} {j}"))?);
                }
                history.note_outside(position(pos)?, &outputs);
            }
            _ => return Err(bad(line)),
        }
    }
    let pos = pos.ok_or_else(|| bad("it is not said where it was stopped"))?;
    if history.run(pos.run()).is_none() || history.snapshots.is_empty() {
        return Err(bad("it has no run"));
    }
    Ok(Recording { history, pos, edits, sources })
}

/// The sections of a file, by name.
fn sections(bytes: &[u8]) -> Result<HashMap<String, &[u8]>> {
    let Some(mut rest) = bytes.strip_prefix(MAGIC) else {
        return Err(bad("it does not begin like one"));
    };
    let mut sections = HashMap::new();
    while !rest.is_empty() {
        let mut take = |n: usize| -> Result<&[u8]> {
            let (taken, behind) =
                rest.split_at_checked(n).ok_or_else(|| bad("it ends in the middle"))?;
            rest = behind;
            Ok(taken)
        };
        let length = u32::from_le_bytes(array(take(4)?)?) as usize;
        if length > MAX_NAME {
            return Err(bad("a section has a name that is too long"));
        }
        let name =
            String::from_utf8(take(length)?.to_vec()).map_err(|_| bad("a name is not text"))?;
        let length = u64::from_le_bytes(array(take(8)?)?);
        let checksum = u32::from_le_bytes(array(take(4)?)?);
        let length = usize::try_from(length).map_err(|_| bad("it ends in the middle"))?;
        let contents = take(length)?;
        if crc32fast::hash(contents) != checksum {
            return Err(bad(&format!(
                "the checksum of `{name}` is another one: the file is damaged"
            )));
        }
        sections.insert(name, contents);
    }
    Ok(sections)
}

fn array<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| bad("it ends in the middle"))
}

fn first_two(line: &str) -> String {
    line.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

fn numbers(numbers: &[u64]) -> String {
    match numbers.is_empty() {
        true => "-".to_string(),
        false => numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(","),
    }
}

fn list(text: &str) -> Result<Vec<u64>> {
    match text {
        "-" => Ok(Vec::new()),
        text => text.split(',').map(number).collect(),
    }
}

fn position(text: &str) -> Result<Pos> {
    Ok(Pos::of(&list(text)?))
}

fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| bad(&format!("`{text}` is not a number")))
}

fn bad(what: &str) -> Error {
    files::fault(format!("it is not a recording that can be read: {what}"))
}

fn checkpoint(bytes: &[u8]) -> Result<(u64, States, Suspension)> {
    Checkpoint::from_bytes(bytes).map(Checkpoint::into_parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any bytes are sections or an error.
    #[test]
    fn damaged_files_are_errors() {
        let mut file = MAGIC.to_vec();
        for (name, bytes) in [("about", &b"recording 1\npos 1,0,0\n"[..]), ("program", &[1, 2, 3])]
        {
            file.extend((name.len() as u32).to_le_bytes());
            file.extend(name.as_bytes());
            file.extend((bytes.len() as u64).to_le_bytes());
            file.extend(crc32fast::hash(bytes).to_le_bytes());
            file.extend(bytes);
        }
        let registry = Registry::structural();
        assert_eq!(sections(&file).unwrap().len(), 2);
        assert!(parsed(&file, &registry).is_err());
        for end in 0..file.len() {
            assert!(parsed(&file[..end], &registry).is_err(), "{end}");
        }
        for at in 0..file.len() {
            for bit in 0..8 {
                let mut damaged = file.clone();
                damaged[at] ^= 1 << bit;
                assert!(parsed(&damaged, &registry).is_err(), "{at}");
            }
        }
    }
}
