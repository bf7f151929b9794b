//! What the page may ask for.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fluvial::core::{Program, Result, Tensor};
use serde_json::{Value as Json, json};

use crate::events::Histogram;
use crate::http::{Answer, JSON};
use crate::program::Shown;
use crate::runs::{Run, Runs};
use crate::series::Window;
use crate::{memory, source, tensors, trace};

/// So many histograms of a tag are shown, evenly spread over its steps.
const MOST_HISTOGRAMS: usize = 80;

/// What is looked at: runs, programs and profiles. Nothing else is ever read, apart from sources below `sources`.
#[derive(Default)]
pub struct Site {
    runs: Mutex<Runs>,
    programs: Vec<Shown>,
    profiles: Vec<(String, PathBuf)>,
    tensors: Vec<(String, Json)>,
    sources: Vec<PathBuf>,
}

impl Site {
    /// Nothing yet.
    pub fn new() -> Site {
        Site::default()
    }

    /// With the runs below these folders.
    #[must_use]
    pub fn runs(mut self, folders: Vec<PathBuf>) -> Site {
        self.runs = Mutex::new(Runs::new(folders));
        self
    }

    /// With a program. One of the same name gets a number.
    #[must_use]
    pub fn program(mut self, name: &str, program: Program) -> Site {
        let mut unique = name.to_string();
        let mut number = 2;
        while self.programs.iter().any(|known| known.name == unique) {
            unique = format!("{name} ({number})");
            number += 1;
        }
        self.programs.push(Shown::new(unique, program));
        self
    }

    /// With a trace that a profile has written.
    #[must_use]
    pub fn profile(mut self, path: PathBuf) -> Site {
        let name = path.display().to_string();
        self.profiles.push((name, path));
        self
    }

    /// With the tensors of a file.
    #[must_use]
    pub fn tensors(mut self, name: &str, all: Vec<(String, Tensor)>) -> Site {
        self.tensors.push((name.to_string(), tensors::about(&all)));
        self
    }

    /// With a folder below which sources of programs may be shown.
    #[must_use]
    pub fn source(mut self, folder: PathBuf) -> Site {
        self.sources.push(folder);
        self
    }

    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what runs have told since, for so long at most; returns a number that is another one if there was something,
    /// and whether there is more.
    pub fn refresh(&self, time: Option<Duration>) -> (u64, bool) {
        let mut runs = self.lock();
        (runs.refresh(time), runs.is_behind())
    }

    /// Answers a question of the page; none if there is no such question.
    pub fn answer(&self, path: &str, query: &BTreeMap<String, String>) -> Option<Answer> {
        let of = |name: &str| query.get(name).map(String::as_str).unwrap_or_default();
        let known = match path {
            "index" => Ok(self.index()),
            "series" => self.with_run(of("run"), |run| series(run, query)),
            "histograms" => self.with_run(of("run"), |run| {
                run.histograms
                    .get(of("tag"))
                    .map(|all| histograms(all))
                    .ok_or_else(|| absent("histogram", of("tag")))
            }),
            "images" => self.with_run(of("run"), |run| {
                let all = run.images.get(of("tag")).ok_or_else(|| absent("image", of("tag")))?;
                Ok(all.iter().map(|(step, time, _)| json!({"step": step, "time": time})).collect())
            }),
            "program" => self.with_program(of("program"), |shown| Ok(shown.overview())),
            "stage" => self
                .with_program(of("program"), |shown| shown.stage(of("stage").parse().unwrap_or(0))),
            "memory" => self.with_program(of("program"), |shown| {
                let sizes = query.iter().filter_map(|(name, value)| {
                    Some((name.strip_prefix("size.")?.to_string(), value.parse().ok()?))
                });
                memory::plan(&shown.program, &sizes.collect(), of("limit").parse().ok())
            }),
            "profile" => match self.profiles.iter().find(|(name, _)| name == of("profile")) {
                Some((_, path)) => trace::read(path).map_err(|error| error.to_string()),
                None => Err(absent("profile", of("profile"))),
            },
            "tensors" => match self.tensors.iter().find(|(name, _)| name == of("tensors")) {
                Some((_, about)) => Ok(about.clone()),
                None => Err(absent("file", of("tensors"))),
            },
            "source" => source::lines(&self.sources, of("file"), of("line").parse().unwrap_or(0)),
            "image" => return Some(self.image(query)),
            "csv" => return Some(self.csv(query)),
            _ => return None,
        };
        Some(match known {
            Ok(json) => Answer::of(JSON, json.to_string()),
            Err(text) => Answer::fault(404, text),
        })
    }

    /// What there is to look at.
    fn index(&self) -> Json {
        let mut index = self.lock().index();
        index["programs"] = self.programs.iter().map(|shown| json!(shown.name)).collect();
        index["profiles"] = self.profiles.iter().map(|(name, _)| json!(name)).collect();
        index["tensors"] = self.tensors.iter().map(|(name, _)| json!(name)).collect();
        index["fluvial"] = json!(env!("CARGO_PKG_VERSION"));
        index
    }

    fn with_run(
        &self,
        name: &str,
        f: impl FnOnce(&Run) -> std::result::Result<Json, String>,
    ) -> std::result::Result<Json, String> {
        f(self.lock().get(name).ok_or_else(|| absent("run", name))?)
    }

    fn with_program(
        &self,
        name: &str,
        f: impl FnOnce(&Shown) -> Result<Json>,
    ) -> std::result::Result<Json, String> {
        let shown = self.programs.iter().find(|shown| shown.name == name);
        f(shown.ok_or_else(|| absent("program", name))?).map_err(|error| error.to_string())
    }

    fn image(&self, query: &BTreeMap<String, String>) -> Answer {
        let of = |name: &str| query.get(name).map(String::as_str).unwrap_or_default();
        let image = self.lock().get(of("run")).and_then(|run| {
            let all = run.images.get(of("tag"))?;
            all.get(of("index").parse::<usize>().ok()?).map(|(_, _, image)| image.clone())
        });
        let Some(image) = image else { return Answer::fault(404, absent("image", of("tag"))) };
        match image.read() {
            Ok(bytes) => match image_kind(&bytes) {
                Some(kind) => Answer::of(kind, bytes),
                None => Answer::fault(404, "the image is neither PNG, JPEG nor GIF"),
            },
            Err(error) => Answer::fault(404, error.to_string()),
        }
    }

    fn csv(&self, query: &BTreeMap<String, String>) -> Answer {
        let of = |name: &str| query.get(name).map(String::as_str).unwrap_or_default();
        let runs = self.lock();
        let series = runs.get(of("run")).and_then(|run| run.scalars.get(of("tag")));
        match series {
            Some(series) => Answer {
                file: Some(format!("{}.{}.csv", of("run"), of("tag"))),
                ..Answer::of("text/csv; charset=utf-8", series.csv())
            },
            None => Answer::fault(404, absent("curve", of("tag"))),
        }
    }

    /// All that a page shows, for one that has nobody to ask: answers by question.
    pub fn everything(&self) -> BTreeMap<String, Json> {
        let mut all = BTreeMap::new();
        let mut put = |path: &str, query: &[(&str, &str)]| {
            let question: BTreeMap<String, String> =
                query.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            let Some(answer) = self.answer(path, &question) else { return };
            let text = String::from_utf8_lossy(&answer.body);
            let answer = match answer.status {
                200 => serde_json::from_str(&text).unwrap_or(Json::Null),
                _ => json!({"fault": text}),
            };
            let key = query.iter().filter(|(name, _)| *name != "n" && *name != "by");
            let by = query.iter().any(|(name, value)| *name == "by" && *value == "time");
            let key: Vec<String> = key.map(|(_, value)| value.to_string()).collect();
            let path = if by { format!("{path} by time") } else { path.to_string() };
            all.insert(format!("{path} {}", key.join(" ")).trim().to_string(), answer);
        };
        put("index", &[]);
        let index = self.index();
        let texts = |list: &Json| -> Vec<String> {
            let of =
                |item: &Json| item.as_str().or_else(|| item["tag"].as_str()).map(str::to_string);
            list.as_array().into_iter().flatten().filter_map(of).collect()
        };
        for run in index["runs"].as_array().into_iter().flatten() {
            let name = run["name"].as_str().unwrap_or_default();
            for tag in texts(&run["scalars"]) {
                for by in ["step", "time"] {
                    put("series", &[("run", name), ("tag", &tag), ("n", "1000"), ("by", by)]);
                }
            }
            for tag in texts(&run["histograms"]) {
                put("histograms", &[("run", name), ("tag", &tag)]);
            }
        }
        for program in texts(&index["programs"]) {
            put("program", &[("program", &program)]);
            put("memory", &[("program", &program)]);
            let shown = self.programs.iter().find(|shown| shown.name == program);
            let n_stages = shown.map_or(0, |shown| {
                shown.overview()["stages"].as_array().map_or(1, |stages| stages.len().max(1))
            });
            for stage in 0..n_stages {
                put("stage", &[("program", &program), ("stage", &stage.to_string())]);
            }
        }
        for file in texts(&index["tensors"]) {
            put("tensors", &[("tensors", &file)]);
        }
        for profile in texts(&index["profiles"]) {
            put("profile", &[("profile", &profile)]);
        }
        all
    }
}

fn absent(what: &str, name: &str) -> String {
    format!("there is no {what} `{name}` here any more; load the page again")
}

fn series(run: &Run, query: &BTreeMap<String, String>) -> std::result::Result<Json, String> {
    let tag = query.get("tag").map(String::as_str).unwrap_or_default();
    let series = run.scalars.get(tag).ok_or_else(|| absent("curve", tag))?;
    let number = |name: &str| query.get(name)?.parse::<f64>().ok().filter(|x| x.is_finite());
    Ok(series.window(&Window {
        range: number("from").zip(number("to")),
        parts: query.get("n").and_then(|n| n.parse().ok()).unwrap_or(1000),
        smoothing: number("smooth").unwrap_or(0.0),
        since: (query.get("by").map(String::as_str) == Some("time")).then(|| run.began()),
    }))
}

fn histograms(all: &[(i64, f64, Histogram)]) -> Json {
    let each = all.len().div_ceil(MOST_HISTOGRAMS).max(1);
    let last = all.len().saturating_sub(1);
    let finite = |x: &f64| if x.is_finite() { json!(x) } else { Json::Null };
    let shown = all.iter().enumerate().filter(|(i, _)| i % each == 0 || *i == last);
    let shown = shown.map(|(_, (step, time, histogram))| {
        let [min, max, count, sum, squares] = histogram.moments;
        let mean = sum / count;
        json!({
            "step": step,
            "time": time,
            "min": finite(&min),
            "max": finite(&max),
            "count": finite(&count),
            "mean": finite(&mean),
            "deviation": finite(&(squares / count - mean * mean).max(0.0).sqrt()),
            "limits": histogram.limits.iter().map(finite).collect::<Vec<_>>(),
            "counts": histogram.counts.iter().map(finite).collect::<Vec<_>>(),
        })
    });
    json!({"n": all.len(), "rows": shown.collect::<Vec<_>>()})
}

fn image_kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        _ => None,
    }
}
