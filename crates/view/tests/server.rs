//! Who may look, and at what: the server as programs on the same machine meet it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fluvial::core::{DType, Dim, Program, Type};
use fluvial_view::events::{Histogram, Writer};
use fluvial_view::{Server, Site};
use serde_json::{Value as Json, json};

struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("fluvial-view-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Address and token of a server.
fn parts(server: &Server) -> (String, String) {
    let url = server.url();
    let (host, token) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    (host.to_string(), token.trim_end_matches('/').to_string())
}

fn raw(server: &Server, text: &str) -> String {
    let (host, _) = parts(server);
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(server: &Server, text: &str) -> u16 {
    let answer = raw(server, text);
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

fn get(server: &Server, path: &str) -> (u16, String) {
    let (host, token) = parts(server);
    let answer = raw(server, &format!("GET /{token}/{path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_string())
}

fn ask(server: &Server, question: &str) -> Json {
    let (status, body) = get(server, &format!("api/{question}"));
    assert_eq!(status, 200, "{question}: {body}");
    serde_json::from_str(&body).unwrap()
}

#[test]
fn who_does_not_know_the_address_sees_nothing() {
    let server = Server::start(Site::new(), 0).unwrap();
    let (host, token) = parts(&server);
    assert!(host.starts_with("127.0.0.1:"));
    let asks =
        |path: &str, head: &str| status(&server, &format!("GET {path} HTTP/1.1\r\n{head}\r\n"));
    let own = format!("Host: {host}\r\n");
    assert_eq!(asks(&format!("/{token}/"), &own), 200);
    assert_eq!(asks(&format!("/{token}/api/index"), &own), 200);
    let port = host.split_once(':').unwrap().1;
    assert_eq!(asks(&format!("/{token}/"), &format!("Host: localhost:{port}\r\n")), 200);
    for path in [
        "/",
        "/index.html",
        "/api/index",
        &format!("/{}/", "0".repeat(32)),
        &format!("/{}/", &token[1..]),
        &format!("/{token}0/"),
        &format!("//{token}/"),
    ] {
        assert_eq!(asks(path, &own), 403, "{path}");
    }
    // A name that leads here, an address beside it, none at all, two of them.
    for head in [
        "Host: evil.example\r\n",
        &format!("Host: evil.example:{port}\r\n"),
        "Host: 127.0.0.1\r\n",
        "",
        &format!("{own}Origin: http://evil.example\r\n"),
        &format!("{own}Origin: null\r\n"),
    ] {
        assert_eq!(asks(&format!("/{token}/"), head), 403, "{head}");
    }
    assert_eq!(asks(&format!("/{token}/"), &format!("{own}Host: evil.example\r\n")), 400);
    assert_eq!(asks(&format!("/{token}/"), &format!("{own}Origin: http://{host}\r\n")), 200);
    assert_eq!(status(&server, &format!("POST /{token}/api/index HTTP/1.1\r\n{own}\r\n")), 405);
}

#[test]
fn no_path_leads_out() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("secret.py"), "secret = 1").unwrap();
    std::fs::create_dir_all(folder.0.join("given")).unwrap();
    std::fs::write(folder.0.join("given/a.py"), "one\ntwo\nthree").unwrap();
    std::fs::write(folder.0.join("given/notes.txt"), "notes").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.0.join("secret.py"), folder.0.join("given/link.py")).unwrap();
    let server = Server::start(Site::new().source(folder.0.join("given")), 0).unwrap();
    for path in [
        "../../etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "app.js/../../x",
        "/etc/passwd",
        "api/../index.html",
        "api/",
        "page/app.js",
    ] {
        assert_eq!(get(&server, path).0, 404, "{path}");
    }
    let source = |file: &str| get(&server, &format!("api/source?line=2&file={file}"));
    let (status, body) = source("a.py");
    assert_eq!((status, body.contains("\"two\"")), (200, true), "{body}");
    let absolute = folder.0.join("secret.py").display().to_string();
    for file in [
        "../secret.py",
        "notes.txt",
        "link.py",
        "/etc/passwd",
        "..%2Fsecret.py",
        &absolute,
        "",
        ".",
    ] {
        let (status, body) = source(file);
        assert_eq!(status, 404, "{file}");
        assert!(!body.contains("secret = 1"), "{file}");
    }
    assert!(source("../secret.py").1.contains("--source"));
}

#[test]
fn answers_may_load_nothing_from_elsewhere() {
    let server = Server::start(Site::new(), 0).unwrap();
    let (host, token) = parts(&server);
    let page = raw(&server, &format!("GET /{token}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    assert!(page.contains("default-src 'none'"));
    assert!(page.contains("no-store") && page.contains("nosniff") && page.contains("no-referrer"));
    let (_, script) = get(&server, "app.js");
    let (_, style) = get(&server, "app.css");
    for far in ["src=\"http", "@import", "url(http", "fetch(\"http"] {
        assert!(![&page, &script, &style].iter().any(|text| text.contains(far)), "{far}");
    }
    assert!(script.len() + style.len() < 1_500_000, "the page is too large for the package");
}

#[test]
fn a_run_is_shown_as_it_grows() {
    let folder = Folder::new();
    let mut writer = Writer::new(&folder.0.join("first")).unwrap();
    writer.config(&json!({"rate": 0.1})).unwrap();
    for step in 0..10 {
        writer.scalars([("loss", 1.0 / (step + 1) as f32), ("größe/x", 2.0)], step).unwrap();
    }
    let server = Server::start(Site::new().runs(vec![folder.0.clone()]), 0).unwrap();
    let run = ask(&server, "index")["runs"][0].clone();
    assert_eq!((run["name"].as_str(), run["is_live"].as_bool()), (Some("first"), Some(true)));
    assert_eq!(run["config"], json!({"rate": 0.1}));
    assert_eq!(
        run["scalars"][1],
        json!({"tag": "loss", "n": 10, "step": 9, "last": 0.1f32 as f64})
    );
    assert_eq!(ask(&server, "series?run=first&tag=gr%C3%B6%C3%9Fe%2Fx")["n"], json!(10));

    writer.scalars([("loss", f32::NAN)], 10).unwrap();
    writer
        .histogram(
            "w",
            Histogram {
                moments: [0.0, 2.0, 3.0, 3.0, 5.0],
                limits: vec![1.0, 2.0],
                counts: vec![1.0, 2.0],
            },
            3,
        )
        .unwrap();
    let png = b"\x89PNG\r\n\x1a\nrest".to_vec();
    writer.image("picture", [1, 1, 1], png.clone(), 3).unwrap();
    writer.image("odd", [1, 1, 1], b"<svg onload=x>".to_vec(), 3).unwrap();
    let run = ask(&server, "index")["runs"][0].clone();
    assert_eq!(run["events"][0]["tag"], json!("nan"));
    assert_eq!(run["scalars"][1]["last"], json!("NaN"));
    assert_eq!(ask(&server, "series?run=first&tag=loss")["y"][10], Json::Null);
    assert_eq!(
        ask(&server, "series?run=first&tag=loss&from=3&to=5&by=step")["x"],
        json!([2.0, 3.0, 4.0, 5.0, 6.0])
    );
    assert_eq!(ask(&server, "histograms?run=first&tag=w")["rows"][0]["mean"], json!(1.0));
    let (status, body) = get(&server, "api/image?run=first&tag=picture&index=0");
    assert_eq!((status, body), (200, String::from_utf8_lossy(&png).into_owned()));
    assert_eq!(get(&server, "api/image?run=first&tag=odd&index=0").0, 404);
    assert!(get(&server, "api/csv?run=first&tag=loss").1.starts_with("step,time,value\n0,"));
    for absent in [
        "series?run=x&tag=loss",
        "series?run=first&tag=x",
        "image?run=first&tag=x",
        "program?program=x",
        "memory",
        "stage",
        "profile",
    ] {
        assert_eq!(get(&server, &format!("api/{absent}")).0, 404, "{absent}");
    }
}

#[test]
fn folders_of_one_name_are_told_apart() {
    let folder = Folder::new();
    for (at, value) in [("a/runs/x", 1.0), ("b/runs/x", 2.0)] {
        Writer::new(&folder.0.join(at)).unwrap().scalars([("loss", value)], 1).unwrap();
    }
    let both = vec![folder.0.join("a/runs"), folder.0.join("b/runs/")];
    let server = Server::start(Site::new().runs(both), 0).unwrap();
    let runs = ask(&server, "index")["runs"].clone();
    let last = |i: usize| runs[i]["scalars"][0]["last"].clone();
    assert_eq!((last(0), last(1)), (json!(1.0), json!(2.0)), "{runs}");
}

#[test]
fn a_page_is_told_when_there_is_something_new() {
    let folder = Folder::new();
    let mut writer = Writer::new(&folder.0).unwrap();
    let server = Server::start(Site::new().runs(vec![folder.0.clone()]), 0).unwrap();
    let (host, token) = parts(&server);
    let mut stream = TcpStream::connect(&host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
        .write_all(format!("GET /{token}/api/live HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())
        .unwrap();
    let mut text = String::new();
    let mut told = |n: usize| {
        let until = Instant::now() + Duration::from_secs(20);
        while text.matches("data: ").count() < n && Instant::now() < until {
            let mut chunk = [0; 1024];
            let read = stream.read(&mut chunk).unwrap();
            text += str::from_utf8(&chunk[..read]).unwrap();
        }
        assert!(text.matches("data: ").count() >= n, "{text}");
    };
    told(1);
    writer.scalars([("loss", 1.0)], 1).unwrap();
    told(2);
}

#[test]
fn damaged_files_are_read_up_to_the_damage() {
    let folder = Folder::new();
    let mut writer = Writer::new(&folder.0.join("a")).unwrap();
    for step in 0..5 {
        writer.scalars([("loss", 1.0)], step).unwrap();
    }
    let bytes = std::fs::read(writer.path()).unwrap();
    let other = folder.0.join("b");
    std::fs::create_dir(&other).unwrap();
    // A part of a record waits; a wrong byte is told.
    std::fs::write(other.join("events.out.tfevents.1"), &bytes[..bytes.len() - 7]).unwrap();
    let mut wrong = bytes.clone();
    let at = wrong.len() - 6;
    wrong[at] ^= 1;
    let third = folder.0.join("c");
    std::fs::create_dir(&third).unwrap();
    std::fs::write(third.join("events.out.tfevents.1"), &wrong).unwrap();
    std::fs::create_dir(folder.0.join("d")).unwrap();
    std::fs::write(folder.0.join("d/events.out.tfevents.1"), b"this is not an event file at all")
        .unwrap();
    let server = Server::start(Site::new().runs(vec![folder.0.clone()]), 0).unwrap();
    let runs = ask(&server, "index")["runs"].clone();
    assert_eq!(runs[0]["scalars"][0]["n"], json!(5));
    assert_eq!((&runs[1]["scalars"][0]["n"], &runs[1]["events"]), (&json!(4), &json!([])));
    assert_eq!(runs[2]["scalars"][0]["n"], json!(4));
    assert_eq!(
        (&runs[2]["events"][0]["tag"], &runs[3]["events"][0]["tag"]),
        (&json!("damaged"), &json!("damaged"))
    );
    // The rest of the record arrives.
    std::fs::write(other.join("events.out.tfevents.1"), &bytes).unwrap();
    assert_eq!(ask(&server, "index")["runs"][1]["scalars"][0]["n"], json!(5));
    // Any prefix with any wrong byte is read without a panic.
    for i in (0..bytes.len()).step_by(3) {
        let mut junk = bytes.clone();
        junk[i] = junk[i].wrapping_add(37);
        std::fs::write(folder.0.join("junk.tfevents"), &junk).unwrap();
        let mut tail = fluvial_view::events::Tail::new(&folder.0.join("junk.tfevents"));
        tail.read(&mut |_| {});
        assert!(tail.fault().is_some() || i >= bytes.len() - 60, "{i}");
    }
}

fn program() -> Program {
    let ty = Type::new(DType::F32, &[Dim::symbol("n").unwrap(), Dim::size(4)]).unwrap();
    Program::build(&[("x", ty)], |x| {
        let scaled = &x[0] * 2.0 + 1.0;
        let squared = &scaled * &scaled;
        Ok(vec![fluvial::ops::mean(&squared, &[], false)?, &squared + &x[0]])
    })
    .unwrap()
}

#[test]
fn a_program_is_shown_pass_by_pass() {
    let server =
        Server::start(Site::new().program("small", program()).program("small", program()), 0)
            .unwrap();
    assert_eq!(ask(&server, "index")["programs"], json!(["small", "small (2)"]));
    let about = ask(&server, "program?program=small");
    assert_eq!(about["symbols"], json!(["n"]));
    assert_eq!(about["inputs"][0], json!({"name": "x", "type": "f32[n, 4]", "bytes": null}));
    let n_stages = about["stages"].as_array().unwrap().len();
    assert!(n_stages > 5);
    let written = ask(&server, "stage?program=small&stage=0");
    let calls = |stage: &Json| {
        let main = stage["main"].as_u64().unwrap() as usize;
        stage["blocks"][main]["calls"].as_array().unwrap().clone()
    };
    assert!(calls(&written).iter().any(|call| call["op"] == "mul"));
    let place = calls(&written).iter().find_map(|call| call["at"].as_u64()).unwrap() as usize;
    assert!(written["places"][place]["file"].as_str().unwrap().ends_with("tests/server.rs"));
    let compiled = ask(&server, &format!("stage?program=small&stage={}", n_stages - 1));
    let fused = calls(&compiled).into_iter().find(|call| call["op"] == "fused").unwrap();
    assert!(
        fused["kernel"]
            .as_array()
            .unwrap()
            .iter()
            .any(|line| line.as_str().unwrap().contains("mul("))
    );
    assert!(fused["parts"].is_u64());
    assert_eq!(get(&server, "api/stage?program=small&stage=999").0, 404);
}

#[test]
fn the_memory_of_a_run_is_shown() {
    let server = Server::start(Site::new().program("small", program()), 0).unwrap();
    let plan = ask(&server, "memory?program=small&size.n=1000");
    assert_eq!(plan["sizes"], json!({"n": 1000}));
    assert_eq!(plan["input_bytes"], json!(16_000));
    let values = plan["block"]["values"].as_array().unwrap();
    let n_steps = plan["block"]["steps"].as_array().unwrap().len() as u64;
    // The second output outlives the run.
    assert!(
        values
            .iter()
            .any(|value| value["to"] == json!(n_steps) && value["bytes"].as_u64() >= Some(16_000))
    );
    assert!(values.iter().all(|value| value["from"].as_u64() <= value["to"].as_u64()));
    let small = ask(&server, "memory?program=small");
    assert_eq!(small["sizes"], json!({"n": 8}));
    assert!(small["peak_bytes"].as_u64() < plan["peak_bytes"].as_u64());
}

#[test]
fn values_that_live_at_the_same_time_lie_apart() {
    use fluvial::prelude::*;
    let batch = Dim::symbol("batch").unwrap();
    let x = Type::new(DType::F32, &[batch, Dim::size(8)]).unwrap();
    let y = Type::new(DType::I64, &[batch]).unwrap();
    let net = Sequential::new("net")
        .add(|at| Linear::new(at, 8, 16))
        .then(relu)
        .add(|at| Linear::new(at, 16, 4));
    let adam = Adam::new(net.parameters(), 1e-3);
    let step = Program::build(&[("x", x), ("y", y)], |inputs| {
        let logits = net.forward(&inputs[0])?;
        let loss = cross_entropy(&logits, &inputs[1], None, CrossEntropyOptions::default())?;
        adam.minimize(&loss)?;
        Ok(vec![loss])
    });
    let server = Server::start(Site::new().program("step", step.unwrap()), 0).unwrap();
    let plan = ask(&server, "memory?program=step&size.batch=64");
    let arena = plan["block"]["arena_bytes"].as_u64().unwrap();
    let number = |value: &Json, key: &str| value[key].as_u64().unwrap();
    let all: Vec<&Json> = plan["block"]["values"].as_array().unwrap().iter().collect();
    let placed: Vec<[u64; 4]> = all
        .iter()
        .filter(|value| value["at"].is_u64())
        .map(|v| {
            [
                number(v, "from"),
                number(v, "to"),
                number(v, "at"),
                number(v, "at") + number(v, "bytes"),
            ]
        })
        .collect();
    assert!(placed.len() > 5, "{plan}");
    for (i, a) in placed.iter().enumerate() {
        assert!(a[3] <= arena);
        for b in &placed[..i] {
            let at_once = a[0] <= b[1] && b[0] <= a[1];
            let in_one_place = a[2] < b[3] && b[2] < a[3];
            assert!(!(at_once && in_one_place), "{a:?} {b:?}");
        }
    }
    // What is held at once is never more than what the plan says the run needs.
    let n_steps = plan["block"]["steps"].as_array().unwrap().len() as u64;
    let held = |step: u64| -> u64 {
        let lives = |v: &&&Json| number(v, "from") <= step && step <= number(v, "to");
        all.iter().filter(lives).map(|v| number(v, "bytes")).sum()
    };
    let most = (0..=n_steps).map(held).max().unwrap();
    assert!(
        most > 0 && most <= plan["peak_bytes"].as_u64().unwrap() + 4096,
        "{most} {}",
        plan["peak_bytes"]
    );
    // A limit that is kept changes nothing; one that nothing can keep is an error that says so.
    let peak = plan["peak_bytes"].as_u64().unwrap();
    let within = ask(&server, &format!("memory?program=step&size.batch=64&limit={peak}"));
    assert_eq!(within["peak_bytes"].as_u64(), Some(peak));
    let (status, fault) = get(&server, "api/memory?program=step&size.batch=64&limit=100");
    assert!(status == 404 && fault.contains("raise the limit"), "{fault}");
    // The layers of the model own most of it.
    let steps = plan["block"]["steps"].as_array().unwrap();
    assert!(steps.iter().any(|step| step["layer"] == "net.0"));
}

#[test]
fn an_exported_page_holds_its_answers() {
    let folder = Folder::new();
    let mut writer = Writer::new(&folder.0.join("first")).unwrap();
    writer.scalars([("loss", 1.0)], 1).unwrap();
    writer.text("note", "</script><script>alert(1)</script>", 0).unwrap();
    let site = Site::new().runs(vec![folder.0.clone()]).program("small", program());
    let page = fluvial_view::export(&site);
    assert!(!page.contains("app.js\"") && !page.contains("app.css\""));
    assert!(!page.contains("<script>alert"));
    let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: Json = serde_json::from_str(data).unwrap();
    assert_eq!(data["index"]["programs"], json!(["small"]));
    assert_eq!(data["series first loss"]["y"], json!([1.0]));
    assert_eq!(data["series by time first loss"]["x"], json!([0.0]));
    assert!(
        data["stage small 0"]["blocks"].is_array() && data["memory small"]["block"].is_object()
    );
}

#[test]
fn a_server_ends_with_its_object() {
    let server = Server::start(Site::new(), 0).unwrap();
    let (host, _) = parts(&server);
    drop(server);
    assert!(TcpStream::connect(host).is_err());
}
