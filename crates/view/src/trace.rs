//! Traces of profiles: what `fl.profile` and `fluvial run --profile` write, and others in Chrome's format.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use fluvial::core::{Error, ErrorKind, Result};
use serde_json::{Value as Json, json};

/// A longer file is not read.
const LONGEST: u64 = 1 << 29;

/// So many steps are told one by one; of a longer trace the first ones. Sums are of all.
const MOST_STEPS: usize = 20_000;

/// Reads a trace: its steps in order, in microseconds, and sums by layer, line and op of the time that each took without
/// the steps inside of it.
pub fn read(path: &Path) -> Result<Json> {
    let shown = path.display();
    let bad = |what: String| {
        Error::new(ErrorKind::File, format!("`{shown}`: {what}"))
            .remedy("write it by `fluvial run --profile` or `fl.profile`")
    };
    let mut text = String::new();
    let file = File::open(path).map_err(|error| bad(error.to_string()))?;
    let n = file.take(LONGEST).read_to_string(&mut text).map_err(|error| bad(error.to_string()))?;
    if n as u64 == LONGEST {
        return Err(bad(format!("it is longer than {LONGEST} bytes")));
    }
    let json: Json = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    let events = json.as_array().or_else(|| json.get("traceEvents")?.as_array());
    let events = events.ok_or_else(|| bad("it is not a trace".to_string()))?;
    Ok(steps(events))
}

/// A step of a trace.
struct Step<'a> {
    name: &'a str,
    thread: String,
    begin: f64,
    time: f64,
    own: f64,
    depth: usize,
    args: &'a Json,
}

fn steps(events: &[Json]) -> Json {
    let number = |event: &Json, key: &str| event.get(key).and_then(Json::as_f64);
    let mut steps: Vec<Step<'_>> = events
        .iter()
        .filter(|event| event.get("ph").and_then(Json::as_str) == Some("X"))
        .filter_map(|event| {
            let time = number(event, "dur")?;
            Some(Step {
                name: event.get("name").and_then(Json::as_str).unwrap_or("?"),
                thread: format!("{}/{}", event["pid"], event["tid"]),
                begin: number(event, "ts")?,
                time,
                own: time,
                depth: 0,
                args: &event["args"],
            })
        })
        .collect();
    steps.sort_by(|a, b| a.begin.total_cmp(&b.begin).then(b.time.total_cmp(&a.time)));
    // By thread, the steps under way.
    let mut open: HashMap<String, Vec<usize>> = HashMap::new();
    for i in 0..steps.len() {
        let (begin, end) = (steps[i].begin, steps[i].begin + steps[i].time);
        let inside = open.entry(steps[i].thread.clone()).or_default();
        while inside.last().is_some_and(|&j| steps[j].begin + steps[j].time < end.min(begin + 1e-3))
        {
            inside.pop();
        }
        if let Some(&around) = inside.last() {
            steps[around].own -= steps[i].time;
        }
        steps[i].depth = inside.len();
        inside.push(i);
    }
    let first = steps.first().map_or(0.0, |step| step.begin);
    let end = steps.iter().map(|step| step.begin + step.time).fold(first, f64::max);
    let text = |step: &Step<'_>, key: &str| {
        step.args
            .get(key)
            .and_then(Json::as_str)
            .filter(|text| !text.is_empty())
            .map(str::to_string)
    };
    let sums = |key: &dyn Fn(&Step<'_>) -> Vec<String>| -> Vec<Json> {
        let mut sums: HashMap<Vec<String>, (f64, usize)> = HashMap::new();
        for step in &steps {
            let sum = sums.entry(key(step)).or_default();
            *sum = (sum.0 + step.own.max(0.0), sum.1 + 1);
        }
        let mut rows: Vec<_> = sums.into_iter().collect();
        rows.sort_by(|a, b| b.1.0.total_cmp(&a.1.0).then_with(|| a.0.cmp(&b.0)));
        rows.into_iter()
            .map(|(path, (time, n))| json!({"path": path, "us": time, "n": n}))
            .collect()
    };
    let line = |step: &Step<'_>| text(step, "line").unwrap_or_else(|| "no line".to_string());
    let by_layer = |step: &Step<'_>| {
        let mut path = vec![text(step, "phase").unwrap_or_else(|| "forward".to_string())];
        match text(step, "layer") {
            Some(layer) => path.extend(layer.split('.').map(str::to_string)),
            None => path.push("no layer".to_string()),
        }
        path.push(step.name.to_string());
        path
    };
    let shown = steps.iter().take(MOST_STEPS).map(|step| {
        json!({
            "name": step.name,
            "thread": step.thread,
            "begin": step.begin - first,
            "us": step.time,
            "own": step.own.max(0.0),
            "depth": step.depth,
            "line": text(step, "line"),
            "layer": text(step, "layer"),
            "phase": text(step, "phase"),
            "bytes": step.args.get("bytes"),
        })
    });
    json!({
        "n": steps.len(),
        "us": end - first,
        "steps": shown.collect::<Vec<_>>(),
        "by_layer": sums(&by_layer),
        "by_line": sums(&|step| vec![line(step), step.name.to_string()]),
        "by_op": sums(&|step| vec![step.name.to_string()]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_steps_inside_is_not_counted_twice() {
        let step = |name: &str, ts: f64, dur: f64, layer: &str| {
            json!({"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur,
                   "args": {"layer": layer, "line": "a.py:3"}})
        };
        let events = [
            step("matmul", 10.0, 20.0, "net.0"),
            step("while", 5.0, 100.0, ""),
            step("add", 40.0, 10.0, "net.0"),
            step("exp", 200.0, 1.0, ""),
        ];
        let found = steps(&events);
        assert_eq!(found["us"], json!(196.0));
        let shown: Vec<_> = found["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| {
                (
                    s["name"].as_str().unwrap(),
                    s["own"].as_f64().unwrap(),
                    s["depth"].as_u64().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [("while", 70.0, 0), ("matmul", 20.0, 1), ("add", 10.0, 1), ("exp", 1.0, 0)]
        );
        assert_eq!(
            found["by_layer"][1],
            json!({"path": ["forward", "net", "0", "matmul"], "us": 20.0, "n": 1})
        );
        assert_eq!(found["by_line"][0]["path"], json!(["a.py:3", "while"]));
    }
}
