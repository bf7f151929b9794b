//! `fluvial run`.

use expect_test::{Expect, expect};
use fluvial::core::Tensor;

use crate::sandbox::{Done, Sandbox, tensor};

fn check(sandbox: &Sandbox, line: &str, expected: Expect) {
    expected.assert_eq(&sandbox.run(line).fine());
}

#[test]
fn numbers_on_the_command_line() {
    let sandbox = Sandbox::new();
    for mode in ["compiled", "interpreted"] {
        let expected = expect![[r#"
            output  type   value
            y       f64[]  16.0
        "#]];
        check(
            &sandbox,
            &format!("run programs/while.fl --set x=1 --set w=2 --mode {mode}"),
            expected,
        );
    }
    let expected = expect![[r#"
        output  type       value
        y       f64[2, 3]  [[1.0, 2.0, 0.0], [3.0, 4.0, 2.0]]
        loss    f64[]      12.0
    "#]];
    check(
        &sandbox,
        "run programs/matmul.fl --set x=[[1,2],[3,4]] --set w=[[1,0,2],[0,1,-1]]",
        expected,
    );
}

#[test]
fn feeds_and_fetches() {
    let sandbox = Sandbox::new();
    sandbox.npy("x.npy", &tensor(&[1.0, 2.0, 3.0, 4.0], &[2, 2]));
    sandbox.npy("w.npy", &tensor(&[1.0, 0.0, 2.0, 0.0, 1.0, -1.0], &[2, 3]));
    let run = "run programs/matmul.fl --feed x=x.npy -f w=w.npy --fetch loss y";
    let expected = expect![[r#"
        output  type       value
        loss    f64[]      12.0
        y       f64[2, 3]  [[1.0, 2.0, 0.0], [3.0, 4.0, 2.0]]
    "#]];
    check(&sandbox, &format!("{run} -o out.npz"), expected);
    assert_eq!(sandbox.run(&format!("-q {run} -o quiet.safetensors")).fine(), "");
    assert_eq!(sandbox.run("diff quiet.safetensors out.npz").fine(), "");

    // What was written feeds another run.
    sandbox.safetensors(
        "feeds.safetensors",
        &[("w", &tensor(&[0.0; 6], &[2, 3])), ("x", &tensor(&[0.0; 2], &[1, 2]))],
    );
    check(&sandbox, "convert feeds.safetensors feeds.npz", expect![""]);
    for feeds in ["feeds.safetensors", "feeds.npz"] {
        let expected = expect![[r#"
            output  type   value
            loss    f64[]  0.0
        "#]];
        check(&sandbox, &format!("run programs/matmul.fl -f {feeds} --fetch loss"), expected);
    }
}

#[test]
fn an_only_input_needs_no_name() {
    let sandbox = Sandbox::new();
    sandbox.npy("rows.npy", &tensor(&[-1.0, 2.0], &[2]));
    let expected = expect![[r#"
        output  type    value
        y       f64[2]  [1.0, 20.0]
    "#]];
    check(&sandbox, "run programs/rows.fl --feed rows.npy --fetch y -o y.npy", expected);
    check(&sandbox, "convert y.npy y.npz", expect![""]);
    let expected = expect![[r#"
        sample  y: f64[]
        0       1
        1       20
    "#]];
    check(&sandbox, "data head y.npz", expected);
}

#[test]
fn states_are_set_loaded_fetched_and_saved() {
    let sandbox = Sandbox::new();
    let expected = expect![[r#"
        output  type   value
        y       f64[]  50.0
        count   i64[]  10
    "#]];
    let run = "run programs/counter.fl --set x=5 --fetch y --fetch @count";
    check(&sandbox, &format!("{run} --set count=9 --save a.safetensors"), expected);
    let expected = expect![[r#"
        output  type   value
        y       f64[]  55.0
        count   i64[]  11
    "#]];
    check(&sandbox, &format!("{run} --load a.safetensors --save b.npz"), expected);
    let done = sandbox.run("diff a.safetensors b.npz");
    let expected = expect![[r#"
        tensor  difference       largest  relative
        count   1 of 1 elements   1.00e0   9.09e-2
    "#]];
    expected.assert_eq(&done.stdout);
    assert_eq!(done.status, 1);
}

#[test]
fn the_end_of_a_name_will_do() {
    let sandbox = Sandbox::new();
    let program = sandbox.read("programs/counter.fl").replace("count\"", "adam.count\"");
    sandbox.write("adam.fl", &program.replace("@count : ", "@adam.count : "));
    let expected = expect![[r#"
        output      type   value
        adam.count  i64[]  8
    "#]];
    check(&sandbox, "run adam.fl --set count=7 --set x=1 --fetch adam.count", expected);
}

#[test]
fn events_for_machines() {
    let sandbox = Sandbox::new();
    let done = sandbox.run("run programs/while.fl --set x=1 --set w=2 --json");
    let events = done.events();
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(kinds, ["loop", "output", "done"]);
    assert_eq!(events[0]["trips"], 4);
    assert_eq!((&events[1]["name"], &events[1]["values"]), (&"y".into(), &16.0.into()));
    assert!(events[2]["seconds"].as_f64().unwrap() > 0.0);

    let done = sandbox.run("run programs/gather.fl --json");
    assert_eq!(done.status, 2);
    assert_eq!(done.events()[0]["event"], "error");
    assert_eq!(done.stderr, "");
}

#[test]
fn what_is_no_number_is_a_word_for_machines() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "divide.fl",
        "fluvial 1\nmain(%x: f32[n]) {\n  %y = div(%x, %x) : f32[n]\n  return %y\n}\n",
    );
    let events = sandbox.run("run divide.fl --set x=[0,2] --json").events();
    assert_eq!(events[0]["values"].to_string(), "[\"NaN\",1.0]");
    assert_eq!(events[0]["type"], "f32[2]");
}

#[test]
fn prints_are_results() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "prints.fl",
        "fluvial 1\nmain(%x: f64[]) {\n  %y = print{message=\"x\"}(%x) : f64[]\n  return %y\n}\n",
    );
    let expected = expect![[r#"
        x: f64[] 3.0
        output  type   value
        y       f64[]  3.0
    "#]];
    check(&sandbox, "run prints.fl --set x=3", expected);
    let events = sandbox.run("run prints.fl --set x=3 --json").events();
    assert_eq!(events[0], serde_json::json!({"event": "print", "text": "x: f64[] 3.0"}));
    // Where the results are bytes, prints stand beside them.
    sandbox.run("run prints.fl --set x=3 -o y.safetensors").fine();
    let piped = sandbox.command(&["run", "prints.fl", "--set", "x=3", "-o", "-"]).output().unwrap();
    assert_eq!(piped.stdout, std::fs::read(sandbox.path("y.safetensors")).unwrap());
    assert!(String::from_utf8(piped.stderr).unwrap().contains("x: f64[] 3.0"));
}

#[test]
fn programs_on_standard_input_may_begin_with_comments() {
    let sandbox = Sandbox::new();
    let text = "# Twice.\n\n// ä\nfluvial 1\nmain(%x: f64[]) {\n  %y = add(%x, %x) : f64[]\n  return %y\n}\n";
    sandbox.write("twice.fl", text);
    sandbox.run("convert twice.fl twice.flb").fine();
    for name in ["twice.fl", "twice.flb"] {
        let mut command = sandbox.command(&["run", "-", "--set", "x=3"]);
        command.stdin(std::fs::File::open(sandbox.path(name)).unwrap());
        assert_eq!(Done::of(&mut command).fine(), "output  type   value\ny       f64[]  6.0\n");
    }
    sandbox.write("none.fl", "hello\n");
    let mut command = sandbox.command(&["run", "-"]);
    command.stdin(std::fs::File::open(sandbox.path("none.fl")).unwrap());
    assert!(Done::of(&mut command).fault().contains("expected `fluvial 1`"));
}

#[test]
fn the_log_has_the_compiler_and_the_steps() {
    let sandbox = Sandbox::new();
    let run = "run programs/counter.fl --set x=5";
    sandbox.run(&format!("{run} --trace log.txt --profile trace.json --threads 1")).fine();
    let log = sandbox.read("log.txt");
    assert!(log.contains("@count = i64[] 1"), "{log}");
    let trace: serde_json::Value = serde_json::from_str(&sandbox.read("trace.json")).unwrap();
    assert!(trace.as_array().is_some_and(|steps| steps.iter().any(|step| step["name"] == "mul")));
    let done = sandbox.run(&format!("{run} --trace -"));
    assert!(done.stderr.contains("@count = i64[] 1"), "{}", done.stderr);
}

#[test]
fn files_of_a_program_lie_below_the_root() {
    let sandbox = Sandbox::new();
    let saves = |path: &str| {
        format!("fluvial 1\nmain(%x: f64[]) {{\n  save{{path=\"{path}\"}}(%x)\n  return %x\n}}\n")
    };
    std::fs::create_dir(sandbox.path("root")).unwrap();
    sandbox.write("inside.fl", &saves("deep/x.npy"));
    sandbox.run("run inside.fl --set x=1 --root root -q").fine();
    assert!(sandbox.path("root/deep/x.npy").is_file());
    sandbox.run("run inside.fl --set x=1").fine();
    assert!(sandbox.path("deep/x.npy").is_file());

    let outside = sandbox.path("outside.npy").display().to_string();
    sandbox.write("outside.fl", &saves(&outside));
    let fault = sandbox.run("run outside.fl --set x=1 --root root").fault();
    assert!(fault.starts_with("exit code 1\n"), "{fault}");
    assert!(fault.contains("is not below the root of files"), "{fault}");
    assert!(!sandbox.path("outside.npy").exists());
}

#[test]
fn steps_of_a_training_are_those_of_the_interpreter() {
    let sandbox = Sandbox::new();
    sandbox.npy("x.npy", &tensor(&[1.0, 0.0, 0.0, 1.0], &[2, 2]));
    sandbox.npy("y.npy", &tensor(&[0.0, 0.0], &[2, 1]));
    let run = "-q run programs/train.fl -f x=x.npy -f y=y.npy --fetch w loss";
    sandbox.run(&format!("{run} -o a.safetensors --threads 1")).fine();
    sandbox.run(&format!("{run} -o b.safetensors --mode interpreted")).fine();
    sandbox.run(&format!("{run} -o c.npz --set w=[[2],[4]]")).fine();
    assert_eq!(sandbox.run("diff a.safetensors b.safetensors").status, 0);
    assert_eq!(sandbox.run("diff a.safetensors c.npz").status, 1);
}

#[test]
fn every_program_of_the_repository_runs_alike_in_all_modes() {
    let sandbox = Sandbox::new();
    // Inputs are made up, except where that would make an endless loop or break a promise.
    for entry in std::fs::read_dir(sandbox.path("programs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let options = match name.as_str() {
            "dims.fl" => "--size m=3",
            "while.fl" => "--set x=1 --set w=2",
            _ => "",
        };
        let done = sandbox.run(&format!("check programs/{name} {options}"));
        assert_eq!(done.status, 0, "{name}: {}", done.stderr);
    }
}

#[test]
fn large_outputs_are_shortened() {
    let sandbox = Sandbox::new();
    let x = Tensor::full(&[100, 100], 1.5f64).unwrap();
    sandbox.npy("x.npy", &x.reshape(&[10_000]).unwrap());
    let shown = sandbox.run("run programs/rows.fl -f x.npy --fetch y").fine();
    assert_eq!(shown, "output  type        value\ny       f64[10000]  [15.0, 15.0, ..]\n");
}
