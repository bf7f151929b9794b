use super::sandbox::{Done, Sandbox};

const WHILE: &str = "debug programs/while.fl --set x=1 --set w=2 --commands commands.txt";

/// Runs a program that doubles 1 until it is 10, with these commands.
fn debug(commands: &[&str]) -> Done {
    let sandbox = Sandbox::new();
    sandbox.write("commands.txt", &format!("{}\n", commands.join("\n")));
    sandbox.run(WHILE)
}

#[test]
fn ops_inside_of_a_loop_that_was_fused_are_stops() {
    let done = debug(&["s", "p w * 2", "b mul", "c", "c", "d", "c"]);
    assert_eq!(done.status, 0, "{}", done.stderr);
    let said = |text: &str| assert!(done.stdout.contains(text), "{text}:\n{}", done.stdout);
    said("(fluvial) p w * 2\n4.0\n");
    said("(fluvial) b mul\n1 `mul`\n");
    assert_eq!(done.stdout.matches("name 1: ").count(), 2, "{}", done.stdout);
    said("y       f64[]  16.0");
}

#[test]
fn in_a_program_without_lines_each_op_is_one() {
    let done = debug(&["b mul if x > 3", "c", "n", "p next", "back", "p x", "d", "c"]);
    let said = |text: &str| assert!(done.stdout.contains(text), "{text}:\n{}", done.stdout);
    said("(fluvial) p next\n8.0\n");
    said("(fluvial) p x\n4.0\n");
    said("y       f64[]  16.0");
}

#[test]
fn an_edit_changes_the_result() {
    let done = debug(&["s", "set w = 3", "c"]);
    assert!(done.stdout.contains("y       f64[]  27.0"), "{}", done.stdout);
}

#[test]
fn without_more_commands_the_program_goes_on() {
    let done = debug(&["b mul", "c"]);
    assert_eq!(done.status, 0, "{}", done.stderr);
    assert!(done.stdout.contains("y       f64[]  16.0"), "{}", done.stdout);
}

#[test]
fn who_quits_gets_no_result() {
    let done = debug(&["quit"]);
    assert_eq!(done.status, 0, "{}", done.stderr);
    assert!(!done.stdout.contains("y       f64[]"), "{}", done.stdout);
}

#[test]
fn what_cannot_be_debugged_is_an_error() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run("debug programs/missing.fl").status, 1);
    assert_eq!(sandbox.run("--json debug programs/while.fl").status, 2);
    assert_eq!(sandbox.run("debug programs/while.fl --commands missing.txt").status, 1);
}
