//! `fluvial view`, and what `fluvial run --log` writes for it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use fluvial_view::events::{Entry, Tail, What};
use serde_json::Value as Json;

use crate::sandbox::Sandbox;

/// What the only event file of a folder tells.
fn told(sandbox: &Sandbox, folder: &str) -> Vec<Entry> {
    let files: Vec<_> = std::fs::read_dir(sandbox.path(folder)).unwrap().collect();
    assert_eq!(files.len(), 1);
    let mut tail = Tail::new(&files[0].as_ref().unwrap().path());
    let mut entries = Vec::new();
    tail.read(&mut |entry| entries.push(entry));
    assert_eq!(tail.fault(), None);
    entries
}

fn numbers(entries: &[Entry], tag: &str) -> Vec<(i64, f64)> {
    let number = |entry: &Entry| match entry.what {
        What::Scalar(x) if entry.tag == tag => Some((entry.step, x)),
        _ => None,
    };
    entries.iter().filter_map(number).collect()
}

fn texts(entries: &[Entry], tag: &str) -> Vec<String> {
    let text = |entry: &Entry| match &entry.what {
        What::Text(text) if entry.tag == tag => Some(text.clone()),
        _ => None,
    };
    entries.iter().filter_map(text).collect()
}

#[test]
fn a_run_tells_the_numbers_of_each_trip() {
    let sandbox = Sandbox::new();
    sandbox.run("run programs/while.fl --set x=1 --set w=2 --log runs/first -q").fine();
    let entries = told(&sandbox, "runs/first");
    assert_eq!(numbers(&entries, "y"), [(1, 2.0), (2, 4.0), (3, 8.0), (4, 16.0)]);
    let config: Json = serde_json::from_str(&texts(&entries, "config")[0]).unwrap();
    assert_eq!(
        (&config["program"], &config["set"][1]),
        (&"programs/while.fl".into(), &"w=2".into())
    );
    assert_eq!(texts(&entries, "events/start"), ["the run begins"]);
    assert!(texts(&entries, "events/end")[0].starts_with("the run is over after"));
}

#[test]
fn why_a_run_has_ended_is_told() {
    let sandbox = Sandbox::new();
    let program =
        sandbox.read("programs/while.fl").replace("lt(%next, %bound)", "ne(%next, %bound)");
    sandbox.write("endless.fl", &program);
    let run = "run endless.fl --set x=1 --set w=1e200 --log runs/first --max-steps 5 -q";
    assert_eq!(sandbox.run(run).status, 1);
    let entries = told(&sandbox, "runs/first");
    assert_eq!(
        numbers(&entries, "y")[1..],
        [(2, f64::INFINITY), (3, f64::INFINITY), (4, f64::INFINITY), (5, f64::INFINITY)]
    );
    let ends = texts(&entries, "events/end");
    assert!(ends.len() == 1 && ends[0].contains('5'), "{ends:?}");
}

#[test]
fn a_log_is_a_folder() {
    let sandbox = Sandbox::new();
    sandbox.write("log.txt", "mine");
    let fault = sandbox.run("run programs/while.fl --set x=1 --set w=2 --log log.txt").fault();
    assert!(fault.starts_with("exit code 2\n") && fault.contains("--trace FILE"), "{fault}");
    assert_eq!(sandbox.read("log.txt"), "mine");
    let fault = sandbox
        .run("run programs/while.fl --set x=1 --set w=2 --log runs --mode interpreted")
        .fault();
    assert!(fault.contains("`--log` works on compiled programs only"), "{fault}");
}

#[test]
fn what_cannot_be_shown_is_said() {
    let sandbox = Sandbox::new();
    let fault = |line: &str| sandbox.run(line).fault();
    let nothing = fault("view");
    assert!(
        nothing.starts_with("exit code 2\n") && nothing.contains("--log runs/first"),
        "{nothing}"
    );
    assert!(fault("view nowhere.flb").contains("nowhere.flb"));
    assert!(fault("view nowhere.json").contains("nowhere.json"));
    assert!(
        fault("view programs/while.fl --source nowhere --export page.html")
            .contains("is not a folder")
    );
    assert!(
        fault("view programs/while.fl --export programs/while.fl/page.html").contains("page.html")
    );
}

#[test]
fn a_page_is_served_until_it_is_stopped() {
    let sandbox = Sandbox::new();
    sandbox
        .run("run programs/while.fl --set x=1 --set w=2 --log runs/first -q --profile trace.json")
        .fine();
    let mut command =
        sandbox.command(&["view", "runs", "programs/while.fl", "trace.json", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let event: Json = serde_json::from_str(&line).unwrap();
    let url = event["url"].as_str().unwrap();
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let get = |question: &str| {
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let request = format!("GET /{path}api/{question} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str::<Json>(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    };
    let index = get("index");
    assert_eq!(index["runs"][0]["name"], "first");
    assert_eq!(index["programs"][0], "programs/while.fl");
    let stage = get("stage?program=programs/while.fl&stage=0");
    assert_eq!(stage["blocks"].as_array().unwrap().len(), 2);
    assert_eq!(get("profile?profile=trace.json")["by_op"][0]["n"].as_u64().is_some(), true);
    // What a loop holds is told of its block.
    let steps = get("memory?program=programs/while.fl")["block"]["steps"].clone();
    assert!(steps.as_array().unwrap().iter().any(|step| step["blocks"].is_array()), "{steps}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_page_is_written_as_one_file() {
    let sandbox = Sandbox::new();
    sandbox.run("view programs/while.fl programs/train.fl --export page.html").fine();
    let page = sandbox.read("page.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("programs/train.fl"));
    assert!(!page.contains("src=\"app.js\""));
}
