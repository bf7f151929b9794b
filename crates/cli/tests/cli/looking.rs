//! Commands that look at programs: `show`, `plan`, `check`, `bench`, `doctor`, `completions`, `help`.

use expect_test::expect;

use crate::sandbox::Sandbox;

#[test]
fn the_text_of_a_program() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "lines.fl",
        "fluvial 1\nmain(%x: f64[2]) {\n  %y = neg(%x) : f64[2]  at model.py:3:1\n  return %y\n}\n",
    );
    let text = sandbox.run("show lines.fl").fine();
    assert_eq!(text, "fluvial 1\n\nmain(%x: f64[2]) {\n  %y = neg(%x) : f64[2]\n  return %y\n}\n");
    assert!(sandbox.run("show lines.fl --lines").fine().contains("at model.py:3:1"));
    let events = sandbox.run("show programs/train.fl --json").events();
    assert_eq!(events[0]["states"][0]["role"], "parameter");
    assert_eq!(events[0]["inputs"][0]["type"], "f64[batch, 2]");
    let pruned = sandbox.run("show programs/matmul.fl --fetch y").fine();
    assert!(!pruned.contains("loss"), "{pruned}");
}

#[test]
fn passes_and_the_program_after_each() {
    let sandbox = Sandbox::new();
    let listed = sandbox.run("show programs/elementwise.fl --passes").fine();
    assert!(listed.lines().any(|line| line.starts_with("fuse elementwise ")), "{listed}");
    assert!(listed.contains("\nfuse elementwise:\n  fused "), "{listed}");
    let before = sandbox.words(&["show", "programs/elementwise.fl", "--pass", "order"]);
    assert_eq!(before.fine(), sandbox.run("show programs/elementwise.fl --compiled").fine());
    let first = sandbox.words(&["show", "programs/elementwise.fl", "--pass", "dead code"]).fine();
    assert_eq!(first, sandbox.run("show programs/elementwise.fl").fine());
    let events = sandbox.run("show programs/elementwise.fl --passes --json").events();
    assert!(events.iter().any(|event| event["name"] == "simplify" && event["calls"] == 7));
}

#[test]
fn the_graph_of_a_program() {
    let sandbox = Sandbox::new();
    let expected = expect![[r#"
        digraph program {
          node [shape=box, fontname="Helvetica"];
          edge [fontname="Helvetica", fontsize=10];
          n0 [label="x", shape=ellipse];
          n1 [label="@count", shape=cylinder];
          n2 [label="constant\nvalue=i64[] 1"];
          n3 [label="add"];
          n1 -> n3 [label="i64[]"];
          n2 -> n3 [label="i64[]"];
          n3 -> n1 [label="i64[]"];
          n4 [label="cast\ndtype=f64"];
          n3 -> n4 [label="i64[]"];
          n5 [label="mul"];
          n0 -> n5 [label="f64[]"];
          n4 -> n5 [label="f64[]"];
          n6 [label="y", shape=ellipse, style=bold];
          n5 -> n6 [label="f64[]"];
        }
    "#]];
    expected.assert_eq(&sandbox.run("show programs/counter.fl --dot").fine());
    let nested = sandbox.run("show programs/cond.fl --dot").fine();
    assert_eq!(nested.matches("subgraph").count(), 2, "{nested}");
    assert_eq!(nested.matches('{').count(), nested.matches('}').count());
}

#[test]
fn the_plan_of_a_run() {
    let sandbox = Sandbox::new();
    let expected = expect![[r#"
        inputs: x f64[100, 2], w f64[2, 3]
        peak: 2.4 KB, beside inputs and states (2.4 KB if nothing were planned)

         bytes  step    how  line
        2.3 KB  matmul
           8 B  sum
    "#]];
    let plan = sandbox.run("plan programs/matmul.fl --size batch=100 --fetch loss").fine();
    expected.assert_eq(&plan);
    let events = sandbox.run("plan programs/matmul.fl --json").events();
    assert_eq!(events[0]["steps"][0]["op"], "matmul");
    let fault = sandbox
        .run("plan programs/matmul.fl --size batch=100000 --fetch loss --memory-limit 1000")
        .fault();
    assert!(fault.starts_with("exit code 1\n"), "{fault}");
}

#[test]
fn checks_name_what_they_checked() {
    let sandbox = Sandbox::new();
    let expected = expect![[r#"
        verify   fine: 1 state
        forms    fine: text and binary
        modes    fine: line by line, op by op and compiled agree by bits; inputs: x f64[3, 2], y f64[3, 1]
        threads  fine: the bits do not depend on their number
        passes   fine: passes that are not exact change outputs by at most 0.0e0, relative
    "#]];
    expected.assert_eq(&sandbox.run("check programs/train.fl --size batch=3 --seed 5").fine());
    assert_eq!(sandbox.run("check programs/train.fl -q").fine(), "");
    assert_eq!(sandbox.run("check programs/train.fl --no-run --json").events().len(), 2);
    // Some made-up inputs are not what a program takes.
    let fault = sandbox.run("check programs/dims.fl --size m=4").fault();
    assert!(fault.contains("does not have the sizes [3]"), "{fault}");
    assert!(fault.contains("note: in the check of the modes"), "{fault}");
}

#[test]
fn times_of_runs() {
    let sandbox = Sandbox::new();
    let bench =
        "bench programs/train.fl --size batch=4 --runs 5 --mode compiled --mode interpreted";
    let shown = sandbox.run(bench).fine();
    let rows: Vec<Vec<&str>> =
        shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["mode", "median", "minimum", "mean", "runs", "runs/s"]);
    assert_eq!((rows[1][0], rows[2][0]), ("compiled", "interpreted"));
    let events = sandbox.run(&format!("{bench} --json")).events();
    assert_eq!(events.len(), 2);
    for event in events {
        assert_eq!(event["runs"], 5);
        assert!(event["minimum"].as_f64() <= event["median"].as_f64());
    }
}

#[test]
fn the_doctor_finds_faults() {
    let sandbox = Sandbox::new();
    let shown = sandbox.run("doctor").fine();
    for title in ["version", "processor", "threads", "memory", "python", "folder", "self-test"] {
        assert!(shown.lines().any(|line| line.starts_with(title)), "{shown}");
    }
    let done = sandbox.run("doctor --root nowhere --json");
    assert_eq!(done.status, 1);
    let events = done.events();
    let folder = events.iter().find(|event| event["title"] == "folder").unwrap();
    assert_eq!(folder["ok"], false);
}

#[test]
fn completions_know_the_commands() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.run(&format!("completions {shell}")).fine();
        assert!(script.contains("fluvial") && script.contains("doctor"), "{shell}");
    }
}

#[test]
fn every_command_has_help_with_examples() {
    let sandbox = Sandbox::new();
    let help = sandbox.run("--help").fine();
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands: Vec<&str> = commands
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert_eq!(commands.len(), 18, "{commands:?}");
    let data = ["data convert", "data head", "data stat"];
    for command in commands.into_iter().chain(data) {
        let help = sandbox.run(&format!("{command} --help")).fine();
        assert!(help.contains(&format!("\n  fluvial {command}")), "{command}: {help}");
        // The short form says the same in fewer words.
        let short = sandbox.run(&format!("{command} -h")).fine();
        assert!(short.len() <= help.len() && short.contains("Usage: fluvial "), "{short}");
    }
    assert!(sandbox.run("--version").fine().starts_with("fluvial 0."));
}

/// A reader that goes away, as `head` does, is not a fault.
#[cfg(unix)]
#[test]
fn output_that_nobody_reads() {
    let sandbox = Sandbox::new();
    let mut child = sandbox
        .command(&["completions", "bash"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}
