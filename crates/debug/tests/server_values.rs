//! What a client sees and edits while the program is stopped, and what stops it, over real sockets.

mod mock;

use std::sync::Arc;

use fluvial_debug::server::{Options, Server};
use mock::client::Client;
use mock::{Mock, Script};
use serde_json::{Value, json};

fn serve(script: Script) -> (Arc<Mock>, Server) {
    let mock = Mock::start(script);
    let options = Options { token: Some("secret".to_string()), ..Options::default() };
    let server = Server::start(mock.clone(), options).unwrap();
    (mock, server)
}

/// A client whose program is stopped before its first op.
fn stopped() -> (Arc<Mock>, Server, Client) {
    let (mock, server) = serve(Script { waits: true, ..Script::default() });
    let mut client = Client::start(server.port(), &[]);
    client.ok("pause", Value::Null);
    mock.release();
    client.stopped();
    (mock, server, client)
}

fn texts<'a>(rows: &'a [Value], field: &str) -> Vec<&'a str> {
    rows.iter().map(|row| row[field].as_str().unwrap()).collect()
}

#[test]
fn breakpoints_on_lines() {
    let (mock, server) = serve(Script { waits: true, ..Script::default() });
    let mut client = Client::attach(server.port());
    let source = json!({"path": "file:///mock/train.py"});
    let wanted = json!([
        {"line": 1, "condition": "step == 2"},
        {"line": 12, "hitCondition": "2"},
        {"line": 13, "logMessage": "at {step}"},
        {"line": 99},
        {"line": "x"},
    ]);
    let body = client.ok("setBreakpoints", json!({"source": source, "breakpoints": wanted}));
    let answers = body["breakpoints"].as_array().unwrap();
    let verified: Vec<bool> =
        answers.iter().map(|one| one["verified"].as_bool().unwrap()).collect();
    assert_eq!(verified, [true, true, true, false, false]);
    assert_eq!((&answers[0]["line"], &answers[3]["line"]), (&json!(10), &json!(99)));
    assert_eq!(answers[0]["source"]["path"], "/mock/train.py");
    assert_eq!(answers[3]["message"], "no op was made at or behind this line");
    // What stays keeps its number; other files are not touched.
    let other = json!({"source": {"path": "late.py"}, "lines": [3]});
    assert_eq!(client.ok("setBreakpoints", other)["breakpoints"][0]["id"], 5);
    let again = client.ok("setBreakpoints", json!({"source": source, "breakpoints": wanted}));
    assert_eq!(again["breakpoints"], body["breakpoints"]);
    assert_eq!(mock.n_breakpoints(), 5);
    client.ok("configurationDone", Value::Null);
    mock.release();
    let output = client.event("output");
    assert_eq!((&output["output"], &output["line"]), (&json!("at 0\n"), &json!(13)));
    assert_eq!(client.event("stopped")["hitBreakpointIds"], json!([2]));
    assert_eq!(mock.position(), 8);
    client.ok("continue", Value::Null);
    assert_eq!(client.event("stopped")["hitBreakpointIds"], json!([1]));
    assert_eq!(mock.position(), 10);
    client.ok("setBreakpoints", json!({"source": source}));
    assert_eq!(mock.n_breakpoints(), 1);
    let body =
        client.ok("breakpointLocations", json!({"source": source, "line": 11, "endLine": 12}));
    assert_eq!(body["breakpoints"], json!([{"line": 11}, {"line": 12}]));
    let body = client.ok("breakpointLocations", json!({"source": {"path": "a.py"}, "line": 11}));
    assert_eq!(body["breakpoints"], json!([]));
    client.refused("breakpointLocations", json!({}));
    client.refused("setBreakpoints", json!({"breakpoints": [{"line": 1}]}));
    client.refused("setBreakpoints", json!({"source": {"sourceReference": 4}}));
    let many: Vec<Value> = (0..5000).map(|i| json!({"line": i + 1})).collect();
    let body = client.ok("setBreakpoints", json!({"source": source, "breakpoints": many}));
    assert_eq!(body["breakpoints"][4999]["message"], "there are 4096 breakpoints; remove some");
}

#[test]
fn breakpoints_on_names_values_and_listings() {
    let (mock, server) = serve(Script { waits: true, ..Script::default() });
    let names = json!([{"name": "mean"}, {"name": "nobody"}, {}]);
    let mut client = Client::attach(server.port());
    let body = client.ok("setFunctionBreakpoints", json!({"breakpoints": names}));
    assert_eq!(body["breakpoints"][1]["message"], "no op has this name");
    assert_eq!(body["breakpoints"][2]["verified"], false);
    client.ok("configurationDone", Value::Null);
    mock.release();
    assert_eq!((client.stopped().as_str(), mock.position()), ("function breakpoint", 3));
    client.ok("setFunctionBreakpoints", json!({"breakpoints": []}));
    let scope = client.scope("Parameters");
    let info = client.ok("dataBreakpointInfo", json!({"variablesReference": scope, "name": "w"}));
    assert_eq!((&info["dataId"], &info["canPersist"]), (&json!("w"), &json!(true)));
    let row = client.variable("Inputs", "w")["variablesReference"].clone();
    let info = client.ok("dataBreakpointInfo", json!({"variablesReference": row, "name": "[1]"}));
    assert_eq!((&info["dataId"], &info["canPersist"]), (&json!("w"), &json!(false)));
    assert_eq!(client.ok("dataBreakpointInfo", json!({"name": "zz"}))["dataId"], Value::Null);
    assert_eq!(client.ok("dataBreakpointInfo", json!({"name": "loss"}))["dataId"], "loss");
    let data = json!([
        {"dataId": "w", "accessType": "write", "condition": "step > 2"},
        {"dataId": "w", "accessType": "read"},
    ]);
    let body = client.ok("setDataBreakpoints", json!({"breakpoints": data}));
    assert_eq!(
        (&body["breakpoints"][0]["verified"], &body["breakpoints"][1]["verified"]),
        (&json!(true), &json!(false))
    );
    client.ok("continue", Value::Null);
    assert_eq!((client.stopped().as_str(), mock.position()), ("data breakpoint", 15));
    client.ok("setDataBreakpoints", json!({"breakpoints": []}));
    let listed = json!({"source": {"sourceReference": 5}, "breakpoints": [{"line": 5}]});
    assert_eq!(client.ok("setBreakpoints", listed)["breakpoints"][0]["line"], 5);
    client.ok("continue", Value::Null);
    assert_eq!((client.stopped().as_str(), mock.position()), ("breakpoint", 18));
}

#[test]
fn nan_is_found_and_explained() {
    let (mock, server) = serve(Script { nan_at: Some(3), waits: true, ..Script::default() });
    let mut client = Client::attach(server.port());
    let filters = json!({"filters": ["inf"], "filterOptions": [{"filterId": "nan", "condition": "step > 1"}, {"filterId": "no"}]});
    let body = client.ok("setExceptionBreakpoints", filters);
    assert_eq!(
        body["breakpoints"][2]["message"],
        "no filter is named no; there are nan, nan-anywhere, inf, loss-spike, error"
    );
    client.ok("configurationDone", Value::Null);
    mock.release();
    let stop = client.event("stopped");
    assert_eq!(
        (&stop["reason"], &stop["text"]),
        (&json!("exception"), &json!("op log made NaN in `h2`"))
    );
    let info = client.ok("exceptionInfo", json!({"threadId": 1}));
    assert_eq!((&info["exceptionId"], &info["breakMode"]), (&json!("nan"), &json!("always")));
    let story = info["details"]["stackTrace"].as_str().unwrap();
    assert!(story.contains("Output: h2 = f32[300, 3] mean=") && story.contains("nan=1"), "{story}");
    assert!(story.contains("  %h2 = log(%h) (/mock/train.py:11)"), "{story}");
    client.ok("next", Value::Null);
    client.stopped();
    client.refused("exceptionInfo", Value::Null);
}

#[test]
fn stack_and_sources() {
    let (_mock, _server, mut client) = stopped();
    let page = client.ok("stackTrace", json!({"threadId": 1, "startFrame": 1, "levels": 2}));
    assert_eq!(page["totalFrames"], 5);
    let frames = page["stackFrames"].as_array().unwrap();
    assert_eq!(texts(frames, "name"), ["fc1", "forward"]);
    assert_eq!(texts(frames, "presentationHint"), ["normal", "label"]);
    let all = client.ok("stackTrace", Value::Null);
    let top = &all["stackFrames"][0];
    assert_eq!((&top["line"], &top["column"]), (&json!(10), &json!(5)));
    assert_eq!(
        (&top["source"]["name"], &top["source"]["path"]),
        (&json!("train.py"), &json!("/mock/train.py"))
    );
    let reference = top["source"]["sources"][0]["sourceReference"].clone();
    let listing = client
        .ok("source", json!({"source": {"sourceReference": reference}, "sourceReference": 0}));
    assert!(listing["content"].as_str().unwrap().starts_with("program train"));
    let loaded = client.ok("loadedSources", Value::Null);
    assert_eq!(
        texts(loaded["sources"].as_array().unwrap(), "name"),
        ["train (program 1)", "train (program 1, compiled)"]
    );
    let compiled =
        client.ok("source", json!({"sourceReference": loaded["sources"][1]["sourceReference"]}));
    assert!(compiled["content"].as_str().unwrap().starts_with("// compiled"));
    client.refused("source", json!({"sourceReference": 77}));
    client.refused("source", Value::Null);
    // Steps by instruction are shown in the listing.
    client.ok("stepIn", json!({"threadId": 1, "granularity": "instruction"}));
    client.stopped();
    let all = client.ok("stackTrace", Value::Null);
    let top = &all["stackFrames"][0];
    assert_eq!((&top["line"], &top["source"]["sourceReference"]), (&json!(3), &reference));
    client.ok("next", Value::Null);
    client.stopped();
    assert_eq!(client.stack()[0], "%loss = mean(%a):12");
}

#[test]
fn clients_may_count_from_zero_and_use_addresses() {
    let (mock, server) = serve(Script { waits: true, ..Script::default() });
    let mut client = Client::connect(server.port());
    client.ok("initialize", json!({"linesStartAt1": false, "columnsStartAt1": false, "pathFormat": "uri", "clientname": 7}));
    client.ok("attach", json!({"token": "secret"}));
    let body = client.ok(
        "setBreakpoints",
        json!({"source": {"path": "file:///mock/train.py"}, "breakpoints": [{"line": 9}]}),
    );
    assert_eq!(
        (&body["breakpoints"][0]["line"], &body["breakpoints"][0]["verified"]),
        (&json!(9), &json!(true))
    );
    client.ok("configurationDone", Value::Null);
    mock.release();
    client.stopped();
    let frame = client.ok("stackTrace", Value::Null)["stackFrames"][0].clone();
    assert_eq!((&frame["line"], &frame["column"]), (&json!(9), &json!(4)));
    assert_eq!(frame["source"]["path"], "file:///mock/train.py");
}

#[test]
fn values_open_page_by_page() {
    let (_mock, _server, mut client) = stopped();
    let frame = client.frame(0);
    let scopes = client.ok("scopes", json!({"frameId": frame}))["scopes"].clone();
    assert_eq!(
        texts(scopes.as_array().unwrap(), "name"),
        ["Inputs", "Output", "Parameters", "Loop", "All live tensors"]
    );
    assert_eq!(
        (&scopes[0]["presentationHint"], &scopes[4]["expensive"]),
        (&json!("arguments"), &json!(true))
    );
    client.refused("scopes", json!({"frameId": frame + 9}));
    let step = client.variable("Loop", "step");
    assert_eq!(
        (&step["value"], &step["variablesReference"], &step["type"]),
        (&json!("0"), &json!(0), &json!("i64[]"))
    );
    assert_eq!(client.variable("Loop", "loss")["value"], "1 (of the last step)");
    let x = client.variable("Inputs", "x");
    assert_eq!(x["value"], "f32[300, 4] mean=599.5 sd=346.4 min=0 max=1199 nan=0 inf=0 #597e");
    assert_eq!((&x["namedVariables"], &x["indexedVariables"]), (&json!(9), &json!(300)));
    let handle = x["variablesReference"].clone();
    let named = client.variables(json!({"variablesReference": handle, "filter": "named"}));
    assert_eq!(
        texts(&named, "name"),
        ["shape", "dtype", "mean", "sd", "min", "max", "nan", "inf", "hash"]
    );
    assert_eq!(named[0]["value"], "[300, 4]");
    let rows = client.variables(
        json!({"variablesReference": handle, "filter": "indexed", "start": 298, "count": 100}),
    );
    assert_eq!(texts(&rows, "name"), ["[298]", "[299]"]);
    assert_eq!(rows[0]["value"], "[1192, 1193, 1194, 1195]");
    let row = client.variables(json!({"variablesReference": rows[0]["variablesReference"]}));
    assert_eq!((&row[3]["evaluateName"], &row[3]["value"]), (&json!("x[298, 3]"), &json!("1195")));
    // Without pages, long axes come in ranges.
    let all = client.variables(json!({"variablesReference": handle}));
    assert_eq!(texts(&all[9..], "name"), ["[0..99]", "[100..199]", "[200..299]"]);
    let range = client.variables(json!({"variablesReference": all[10]["variablesReference"]}));
    assert_eq!(
        (range.len(), &range[0]["name"], &range[99]["name"]),
        (100, &json!("[100]"), &json!("[199]"))
    );
    let big = client.variable("All live tensors", "big")["variablesReference"].clone();
    let ranges = client.variables(json!({"variablesReference": big, "filter": "indexed"}));
    assert_eq!((ranges.len(), &ranges[24]["name"]), (25, &json!("[240000..249999]")));
    let inner = client.variables(json!({"variablesReference": ranges[24]["variablesReference"]}));
    assert_eq!((inner.len(), &inner[99]["name"]), (100, &json!("[249900..249999]")));
    // An answer stays short, whatever is asked for.
    let body = client.ok(
        "variables",
        json!({"variablesReference": big, "filter": "indexed", "start": 0, "count": 250_000}),
    );
    let rows = body["variables"].as_array().unwrap();
    assert!(body.to_string().len() < 65_536 && rows.len() > 100);
    assert_eq!(rows.last().unwrap()["name"], "…");
    let hex = client
        .ok("evaluate", json!({"expression": "step", "context": "watch", "format": {"hex": true}}));
    assert_eq!(hex["result"], "0x0");
    // Numbers are good while the program is stopped.
    client.ok("next", Value::Null);
    client.stopped();
    client.refused("variables", json!({"variablesReference": handle}));
    client.refused("scopes", json!({"frameId": frame}));
    client.refused("readMemory", json!({"memoryReference": x["memoryReference"], "count": 4}));
}

#[test]
fn memory_is_read_as_it_is() {
    let (_mock, _server, mut client) = stopped();
    let reference = client.variable("Inputs", "w")["memoryReference"].clone();
    let mut read = |offset: i64, count: i64| {
        client.request(
            "readMemory",
            json!({"memoryReference": reference, "offset": offset, "count": count}),
        )["body"]
            .clone()
    };
    assert_eq!(read(4, 8), json!({"address": "4", "data": "AACAPwAAAEA="}));
    assert_eq!(read(44, 8), json!({"address": "44", "data": "AAAwQQ==", "unreadableBytes": 4}));
    assert_eq!(read(1000, 1), json!({"address": "1000", "data": "", "unreadableBytes": 1}));
    assert!(read(-1, 1)["error"]["format"].as_str().unwrap().contains("nothing before"));
    let big = client.variable("All live tensors", "big")["memoryReference"].clone();
    let body = client.ok("readMemory", json!({"memoryReference": big, "count": 4_000_000}));
    assert_eq!(
        (body["data"].as_str().unwrap().len(), &body["unreadableBytes"]),
        (65_536, &Value::Null)
    );
    client.refused("readMemory", json!({"memoryReference": "tensor:-5", "count": 1}));
}

#[test]
fn values_are_edited() {
    let (mock, _server, mut client) = stopped();
    let scope = client.scope("Parameters");
    let w = client.variable("Parameters", "w")["variablesReference"].clone();
    let rows = client
        .variables(json!({"variablesReference": w, "filter": "indexed", "start": 1, "count": 1}));
    let row = rows[0]["variablesReference"].clone();
    let set =
        client.ok("setVariable", json!({"variablesReference": row, "name": "[2]", "value": "42"}));
    assert_eq!((&set["value"], &set["variablesReference"]), (&json!("42"), &json!(0)));
    assert_eq!(client.event("invalidated"), json!({"areas": ["variables"]}));
    // Numbers from before the edit show what is there now.
    let rows = client
        .variables(json!({"variablesReference": w, "filter": "indexed", "start": 1, "count": 1}));
    assert_eq!(rows[0]["value"], "[3, 4, 42]");
    let why = client
        .refused("setVariable", json!({"variablesReference": w, "name": "[2]", "value": "1"}));
    assert_eq!(why, "[2] is not an element of f32[4, 3]");
    let why = client
        .refused("setVariable", json!({"variablesReference": w, "name": "mean", "value": "1"}));
    assert!(why.contains("cannot be set"));
    let set =
        client.ok("setVariable", json!({"variablesReference": scope, "name": "w", "value": "0.5"}));
    assert!(set["value"].as_str().unwrap().starts_with("f32[4, 3] mean=0.5 sd=0"));
    let rows = client.variables(
        json!({"variablesReference": set["variablesReference"], "filter": "indexed", "count": 1}),
    );
    client.ok(
        "setVariable",
        json!({"variablesReference": rows[0]["variablesReference"], "name": "[0]", "value": "3"}),
    );
    let set = client.ok("setExpression", json!({"expression": "w[0, 1]", "value": "loss"}));
    assert_eq!(set["value"], "1");
    client.refused("setExpression", json!({"expression": "w + 1", "value": "2"}));
    client.refused("setExpression", json!({"expression": "w"}));
    let row = client.ok("evaluate", json!({"expression": "w[0]", "context": "watch"}));
    assert_eq!(row["result"], "f32[3] [3, 1, 0.5]");
    client.ok(
        "setVariable",
        json!({"variablesReference": row["variablesReference"], "name": "[2]", "value": "9"}),
    );
    let row = client.ok("evaluate", json!({"expression": "w[0]", "context": "hover"}));
    assert_eq!(row["result"], "f32[3] [3, 1, 9]");
    assert_eq!(fluvial_debug::target::Target::edits(&*mock).len(), 5);
    client.ok("next", Value::Null);
    assert_eq!(client.event("output")["output"], "values were edited\n");
}

#[test]
fn the_console() {
    let (mock, _server, mut client) = stopped();
    let mut type_in = |line: &str| {
        client.ok("evaluate", json!({"expression": line, "context": "repl"}))["result"].clone()
    };
    assert_eq!(type_in("loss < 0.5"), "false");
    assert_eq!(type_in("step"), "0");
    assert_eq!(type_in("edits"), "Nothing was edited.");
    assert_eq!(type_in("w[0, 0] = 7"), "w was edited");
    assert_eq!(type_in("w[0, 0]"), "7");
    assert_eq!(type_in("edits"), "step 0: w[0, 0] = 7");
    assert_eq!(type_in("programs"), "1 train");
    assert!(type_in("help").as_str().unwrap().contains("goto N"));
    client.event("invalidated");
    for (line, at, reason) in [
        ("step 4", 20, "goto"),
        ("back", 19, "step"),
        ("goto 2", 10, "goto"),
        ("iteration", 15, "step"),
    ] {
        client.ok("evaluate", json!({"expression": line, "context": "repl"}));
        client.event("continued");
        assert_eq!((client.stopped().as_str(), mock.position()), (reason, at), "{line}");
    }
    assert_eq!(client.refused("evaluate", json!({"expression": "zz"})), "nothing is named `zz`");
    client.refused("evaluate", json!({"expression": " "}));
    let why = client.refused("evaluate", json!({"expression": "w = 1", "context": "watch"}));
    assert_eq!(why, "`w = 1` is an edit; type it into the console");
    let copied = client.ok("evaluate", json!({"expression": "w[0]", "context": "clipboard"}));
    assert_eq!(copied["result"], "[7, 1, 2]");
    let body = client.ok("completions", json!({"text": "😀 + lo", "column": 8}));
    assert_eq!(
        body["targets"],
        json!([{"label": "loss", "text": "loss", "type": "variable", "start": 6, "length": 2}])
    );
    let body = client.ok("completions", json!({"text": "he", "column": 3}));
    assert_eq!(texts(body["targets"].as_array().unwrap(), "label"), ["help"]);
    client.ok("continue", Value::Null);
    assert!(client.refused("evaluate", json!({"expression": "w"})).contains("pause it first"));
    assert!(client.ok("evaluate", json!({"expression": "help"}))["result"].is_string());
}
