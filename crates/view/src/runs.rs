//! Runs: folders with event files, read as they grow.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};

use crate::events::{Entry, Histogram, Image, Tail, What};
use crate::series::{Point, Series};

/// Folders deeper than this below a given one are not looked into.
const DEEPEST: usize = 8;

/// So many runs are shown at most.
const MOST_RUNS: usize = 1000;

/// So many texts and events of a run are kept at most.
const MOST_TEXTS: usize = 1000;

/// A run that has told something within so many seconds is under way.
const FRESH: f64 = 20.0;

/// All runs below the folders that were given.
#[derive(Default)]
pub struct Runs {
    folders: Vec<PathBuf>,
    runs: BTreeMap<String, Run>,
    /// Grows with everything that is new.
    version: u64,
    has_more: bool,
    /// Whether not all has been read yet that is there.
    is_behind: bool,
}

/// What a run has told so far.
#[derive(Default)]
pub struct Run {
    folder: PathBuf,
    files: Vec<Tail>,
    /// Curves by tag.
    pub scalars: BTreeMap<String, Series>,
    /// Histograms by tag: step, time and how values were spread.
    pub histograms: BTreeMap<String, Vec<(i64, f64, Histogram)>>,
    /// Images by tag: step, time and where it is.
    pub images: BTreeMap<String, Vec<(i64, f64, Image)>>,
    texts: Vec<(String, i64, f64, String)>,
    events: Vec<(String, i64, f64, String)>,
    config: Option<Json>,
    machine: Option<Json>,
    began: Option<f64>,
    last: f64,
}

impl Runs {
    /// Runs below these folders. Nothing is read yet.
    pub fn new(folders: Vec<PathBuf>) -> Runs {
        Runs { folders, ..Runs::default() }
    }

    /// Reads what is new, for so long at most, and returns a number that is another one if there was something.
    pub fn refresh(&mut self, time: Option<Duration>) -> u64 {
        let until = time.map(|time| Instant::now() + time);
        let folders = self.folders.clone();
        let stems: Vec<String> = folders.iter().map(|folder| stem(folder)).collect();
        for (folder, stem) in folders.iter().zip(&stems) {
            // Two folders of one name are told apart by their paths.
            let is_unique = stems.iter().filter(|other| *other == stem).count() == 1;
            let whole = folder.display().to_string();
            let name = if is_unique { stem } else { whole.trim_end_matches('/') };
            self.scan(folder, name, folders.len() == 1, 0);
        }
        self.is_behind = false;
        for run in self.runs.values_mut() {
            let (n, is_done) = run.refresh(until);
            self.version += n;
            self.is_behind |= !is_done;
        }
        self.version
    }

    fn scan(&mut self, folder: &Path, name: &str, is_only: bool, depth: usize) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        let mut entries: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        entries.sort();
        for path in entries {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // Links may lead out of the folders that were given.
            let Ok(kind) = std::fs::symlink_metadata(&path) else { continue };
            if kind.is_dir() && depth < DEEPEST {
                let below = if depth == 0 && is_only { file } else { format!("{name}/{file}") };
                self.scan(&path, &below, is_only, depth + 1);
            } else if kind.is_file() && file.contains("tfevents") {
                self.has_more |= self.runs.len() >= MOST_RUNS && !self.runs.contains_key(name);
                if self.runs.len() < MOST_RUNS || self.runs.contains_key(name) {
                    let run = self.runs.entry(name.to_string()).or_default();
                    run.folder = folder.to_path_buf();
                    if !run.files.iter().any(|known| known.path() == path) {
                        run.files.push(Tail::new(&path));
                        self.version += 1;
                    }
                }
            }
        }
    }

    /// The run of a name.
    pub fn get(&self, name: &str) -> Option<&Run> {
        self.runs.get(name)
    }

    /// Whether not all has been read yet that is there.
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// What there is.
    pub fn index(&self) -> Json {
        json!({
            "version": self.version,
            "has_more": self.has_more,
            "is_behind": self.is_behind,
            "folders": self.folders.iter().map(|f| f.display().to_string()).collect::<Vec<_>>(),
            "runs": self.runs.iter().map(|(name, run)| run.index(name)).collect::<Vec<_>>(),
        })
    }
}

impl Run {
    /// When it told something first.
    pub fn began(&self) -> f64 {
        self.began.unwrap_or(0.0)
    }

    /// Reads what is new, and returns how much it was, and whether that was all.
    fn refresh(&mut self, until: Option<Instant>) -> (u64, bool) {
        let (mut new, mut is_done) = (Vec::new(), true);
        for file in &mut self.files {
            let fault = file.fault().is_some();
            is_done &= file.read_until(until, &mut |entry| new.push(entry));
            if let Some(text) = file.fault().filter(|_| !fault) {
                let name = file.path().file_name().unwrap_or_default().to_string_lossy();
                let text = format!("{name} cannot be read further, {text}");
                add(&mut self.events, ("damaged".to_string(), 0, self.last, text));
            }
        }
        let n = new.len() as u64;
        new.into_iter().for_each(|entry| self.add(entry));
        (n, is_done)
    }

    fn add(&mut self, entry: Entry) {
        let Entry { tag, step, time, what } = entry;
        self.began = Some(self.began.unwrap_or(time).min(time));
        self.last = self.last.max(time);
        match what {
            What::Scalar(value) => {
                let series = self.scalars.entry(tag.clone()).or_default();
                let was_finite = series.last().is_none_or(|last| last.value.is_finite());
                if let Some(before) = series.push(Point { step, time, value }) {
                    let text = format!("`{tag}` went back from step {before} to step {step}");
                    let known =
                        self.events.iter().any(|(kind, at, ..)| kind == "restart" && *at == step);
                    if !known {
                        add(&mut self.events, ("restart".to_string(), step, time, text));
                    }
                }
                if was_finite && !value.is_finite() {
                    let text = format!("`{tag}` became {value} at step {step}");
                    add(&mut self.events, ("nan".to_string(), step, time, text));
                }
            }
            What::Histogram(histogram) => {
                self.histograms.entry(tag).or_default().push((step, time, histogram));
            }
            What::Image(image) => self.images.entry(tag).or_default().push((step, time, image)),
            What::Text(text) => match (tag.as_str(), tag.strip_prefix("events/")) {
                (_, Some(kind)) => add(&mut self.events, (kind.to_string(), step, time, text)),
                ("config", _) if let Ok(json) = serde_json::from_str(&text) => {
                    self.config = Some(json);
                }
                ("machine", _) if let Ok(json) = serde_json::from_str(&text) => {
                    self.machine = Some(json);
                }
                _ => add(&mut self.texts, (tag, step, time, text)),
            },
        }
    }

    fn index(&self, name: &str) -> Json {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let number = |x: f64| if x.is_finite() { json!(x) } else { json!(x.to_string()) };
        let scalars = self.scalars.iter().map(|(tag, series)| {
            let last = series.last();
            json!({
                "tag": tag,
                "n": series.len(),
                "step": last.map(|last| last.step),
                "last": last.map(|last| number(last.value)),
            })
        });
        let counted = |tags: Vec<(&String, usize)>| -> Vec<Json> {
            tags.iter().map(|(tag, n)| json!({"tag": tag, "n": n})).collect()
        };
        let listed = |all: &[(String, i64, f64, String)]| -> Vec<Json> {
            let one = |(tag, step, time, text): &(String, i64, f64, String)| json!({"tag": tag, "step": step, "time": time, "text": text});
            all.iter().map(one).collect()
        };
        json!({
            "name": name,
            "folder": self.folder.display().to_string(),
            "began": self.began,
            "last": self.last,
            "is_live": self.began.is_some() && now - self.last < FRESH
                && !self.events.iter().any(|(kind, ..)| kind == "end"),
            "scalars": scalars.collect::<Vec<_>>(),
            "histograms": counted(self.histograms.iter().map(|(tag, all)| (tag, all.len())).collect()),
            "images": counted(self.images.iter().map(|(tag, all)| (tag, all.len())).collect()),
            "texts": listed(&self.texts),
            "events": listed(&self.events),
            "config": self.config,
            "machine": self.machine,
        })
    }
}

/// The last part of a path.
fn stem(folder: &Path) -> String {
    let path = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    path.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned()
}

/// Adds to a list that is bounded; the oldest goes.
fn add<T>(to: &mut Vec<T>, entry: T) {
    if to.len() >= MOST_TEXTS {
        to.remove(0);
    }
    to.push(entry);
}
