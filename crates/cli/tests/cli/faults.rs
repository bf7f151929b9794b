//! Wrong usage, and faults of programs and files: what is told, and the exit code.

use std::fs;

use expect_test::{Expect, expect};
use fluvial::core::Tensor;

use crate::sandbox::{Done, Sandbox, tensor};

fn check(sandbox: &Sandbox, line: &str, expected: Expect) {
    expected.assert_eq(&sandbox.run(line).fault());
}

#[test]
fn files_that_are_not_there() {
    let sandbox = Sandbox::new();
    let expected = expect![[r#"
        exit code 1
        error: `missing.fl`: No such file or directory (os error 2)
          remedy: check the path; it is relative to the current folder
    "#]];
    check(&sandbox, "run missing.fl", expected);
    let expected = expect![[r#"
        exit code 1
        error: `missing.npy`: No such file or directory (os error 2)
          remedy: check the path; it is relative to the current folder
    "#]];
    check(&sandbox, "run programs/rows.fl --feed missing.npy", expected);
    let expected = expect![[r#"
        exit code 1
        error: `programs/rows.txt` does not name a program
          remedy: a program ends in `.fl` (text), `.flb` (binary) or `.py` (a script), or is a saved model: a folder or a `.safetensors` file
    "#]];
    check(&sandbox, "show programs/rows.txt", expected);
    let expected = expect![[r#"
        exit code 2
        error: the root `nowhere` is not a folder
          remedy: make it, or name another one
    "#]];
    check(&sandbox, "run programs/while.fl --set x=1 --set w=1 --root nowhere", expected);
}

#[test]
fn feeds_that_do_not_fit() {
    let sandbox = Sandbox::new();
    let expected = expect![[r#"
        exit code 2
        error: the input `x` is not fed: f64[batch, 2]
          remedy: --feed x=FILE.npy
    "#]];
    check(&sandbox, "run programs/matmul.fl", expected);
    sandbox.npy("x.npy", &tensor(&[1.0, 2.0, 3.0], &[1, 3]));
    let expected = expect![[r#"
        exit code 2
        error: the program has no input `z`, which `z=x.npy` names
          remedy: its inputs: w, x
    "#]];
    check(&sandbox, "run programs/matmul.fl --feed z=x.npy", expected);
    let expected = expect![[r#"
        exit code 2
        error: `x.npy` does not say which input it is for
          remedy: write NAME=x.npy; inputs: x, w
    "#]];
    check(&sandbox, "run programs/matmul.fl --feed x.npy", expected);
    let expected = expect![[r#"
        exit code 1
        error: the input `x` is f64[batch, 2], but `x.npy` has f64[1, 3]
          remedy: give it the sizes that the program declares
          note: expected f64[batch, 2], found f64[1, 3]
    "#]];
    check(&sandbox, "run programs/matmul.fl --feed x=x.npy", expected);
    sandbox.npy("x.npy", &Tensor::from_slice(&[1.0f32, 2.0], &[1, 2]).unwrap());
    let expected = expect![[r#"
        exit code 1
        error: the input `x` is f64[batch, 2], but `x.npy` has f32[1, 2]
          remedy: save it with elements of type f64
          note: expected f64[batch, 2], found f32[1, 2]
    "#]];
    check(&sandbox, "run programs/matmul.fl --feed x=x.npy", expected);
    let expected = expect![[r#"
        exit code 2
        error: the input `x` is fed twice: by `x.npy` and by `x.npy`
          remedy: feed each input once
    "#]];
    check(&sandbox, "run programs/matmul.fl --feed x=x.npy --feed x=x.npy", expected);
}

#[test]
fn sizes_that_contradict_each_other() {
    let sandbox = Sandbox::new();
    sandbox.npy("x.npy", &tensor(&[1.0; 4], &[2, 2]));
    sandbox.npy("y.npy", &tensor(&[1.0; 3], &[3, 1]));
    let fault = sandbox.run("run programs/train.fl -f x=x.npy -f y=y.npy").fault();
    assert!(fault.starts_with("exit code 1\nerror: the input `y` is f64[batch, 1]"), "{fault}");
}

#[test]
fn names_that_are_not_known_are_listed_with_close_ones_first() {
    let sandbox = Sandbox::new();
    let expected = expect![[r#"
        exit code 2
        error: the program has no state and no input `coutn`
          remedy: what there is: count, x
    "#]];
    check(&sandbox, "run programs/counter.fl --set coutn=1", expected);
    let expected = expect![[r#"
        exit code 2
        error: the program has no output and no state `lost`
          remedy: what there is: loss, w
    "#]];
    check(&sandbox, "run programs/train.fl --fetch lost", expected);
    let expected = expect![[r#"
        exit code 2
        error: there is no pass `fuse`
          remedy: passes: fuse elementwise, fuse reductions, order, recognise, recompute, clean up, dead code, epilogues, simplify, states apart, fold constants, carried for nobody, hoist out of loops, scales into weights, clean up after fusion, common subexpressions
    "#]];
    check(&sandbox, "show programs/train.fl --pass fuse", expected);
    let expected = expect![[r#"
        exit code 2
        error: no input of the program has the size `bach`
          remedy: its symbols: batch
    "#]];
    check(&sandbox, "plan programs/train.fl --size bach=3", expected);
}

#[test]
fn values_that_cannot_be_set() {
    let sandbox = Sandbox::new();
    for (value, fault) in [
        ("abc", "`abc` is not a value for `count`, which is i64[]"),
        ("[1]", "`[1]` does not have the sizes of `count`, which is i64[]"),
        ("0.5", "`0.5` has other elements than `count`, which is i64[]"),
    ] {
        let found = sandbox.run(&format!("run programs/counter.fl --set count={value}")).fault();
        assert!(found.starts_with(&format!("exit code 2\nerror: {fault}\n")), "{found}");
    }
    for value in ["[[1,2],[3]]", "[[1],[2],[3]]", "[1,[2]]", "[[1],[{}]]", "0.5"] {
        let found = sandbox.run(&format!("run programs/train.fl --set w={value}")).fault();
        assert!(found.starts_with("exit code 2\nerror: "), "{found}");
    }
    let found = sandbox.run("run programs/counter.fl --set count").fault();
    assert!(found.starts_with("exit code 2\nerror: `count` sets nothing\n"), "{found}");
    let found = sandbox.run("run programs/counter.fl --epochs 3").fault();
    assert!(found.starts_with("exit code 2\nerror: the program has no loop over a reader\n"));
}

#[test]
fn broken_programs() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "broken.fl",
        "fluvial 1\nmain(%x: f64[2]) {\n  %y = neg(%x, %x) : f64[2]\n  return %y\n}\n",
    );
    let fault = sandbox.run("run broken.fl").fault();
    assert!(fault.starts_with("exit code 1\nerror: "), "{fault}");
    assert!(fault.contains("`neg` takes one input, got 2"), "{fault}");
    sandbox.write("newer.fl", "fluvial 99\nmain() {\n}\n");
    let fault = sandbox.run("check newer.fl").fault();
    assert!(fault.contains("format 99"), "{fault}");
    sandbox.write("text.flb", "this is not a program");
    fs::write(sandbox.path("bytes.fl"), [0xff, 0xfe, 0x00]).unwrap();
    for file in ["text.flb", "bytes.fl"] {
        for command in ["run", "show", "plan", "check", "bench"] {
            let fault = sandbox.run(&format!("{command} {file}")).fault();
            assert!(fault.starts_with("exit code 1\nerror: "), "{fault}");
        }
    }
}

#[test]
fn faults_of_a_run_have_op_and_place() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "asserts.fl",
        "fluvial 1\nmain(%i: i64[1], %t: f64[2]) {\n  \
         %y = gather{axis=0}(%t, %i) : f64[1]  at model.py:7:3 in forward\n  return %y\n}\n",
    );
    for mode in ["compiled", "interpreted"] {
        let run = format!("run asserts.fl --set i=[5] --set t=[1,2] --mode {mode}");
        let fault = sandbox.run(&run).fault();
        assert!(fault.starts_with("exit code 1\nerror: model.py:7:3: gather("), "{fault}");
        assert!(!fault.contains("src/"), "no line of our own code is shown: {fault}");
    }
}

#[test]
fn broken_files_of_tensors() {
    let sandbox = Sandbox::new();
    for (name, bytes) in [
        ("a.npy", &b"no array"[..]),
        ("b.npz", b"PK\x05\x06 no archive"),
        ("c.safetensors", b"\xff\xff\xff\xff\xff\xff\xff\xff{}"),
        ("d.safetensors", b"\x02\0\0\0\0\0\0\0[]"),
        ("e.npy", b""),
    ] {
        fs::write(sandbox.path(name), bytes).unwrap();
        let fault = sandbox.run(&format!("run programs/rows.fl -f x={name}")).fault();
        assert!(fault.starts_with("exit code 1\nerror: ") && fault.contains(name), "{fault}");
    }
    let fault = sandbox.run("run programs/rows.fl -f x=programs").fault();
    assert!(fault.contains("does not name a file of tensors"), "{fault}");
    fs::create_dir(sandbox.path("folder.npy")).unwrap();
    let fault = sandbox.run("run programs/rows.fl -f x=folder.npy").fault();
    assert!(fault.contains("`folder.npy` is not a file"), "{fault}");
}

#[test]
fn tensors_that_share_bytes_are_refused() {
    let sandbox = Sandbox::new();
    let entry = |name: &str| {
        format!("\"{name}\":{{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}")
    };
    let header = format!("{{{},{}}}", entry("a"), entry("b"));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    file.extend([0; 8]);
    fs::write(sandbox.path("shared.safetensors"), file).unwrap();
    let fault = sandbox.run("convert shared.safetensors x.npz").fault();
    assert!(fault.contains("`b` overlaps another tensor"), "{fault}");
}

#[test]
fn states_of_another_program() {
    let sandbox = Sandbox::new();
    sandbox.safetensors("w.safetensors", &[("w", &tensor(&[1.0; 3], &[3, 1]))]);
    let expected = expect![[r#"
        exit code 1
        error: states in `w.safetensors` have other types than those of the program
          remedy: load the file that belongs to it
          note: `w` is f64[2, 1], but the file has f64[3, 1]
    "#]];
    check(&sandbox, "run programs/train.fl --load w.safetensors", expected);
    let expected = expect![[r#"
        exit code 1
        error: `w.safetensors` has no state of the program
          remedy: its states: count
    "#]];
    check(&sandbox, "run programs/counter.fl --load w.safetensors", expected);
}

#[test]
fn options_that_do_not_go_together() {
    let sandbox = Sandbox::new();
    for line in [
        "run programs/while.fl --no-such-option",
        "run",
        "walk programs/while.fl",
        "run programs/while.fl --every 5m",
        "run programs/while.fl --checkpoint dir --every 5d",
        "run programs/while.fl --checkpoint dir --keep 0",
        "run programs/while.fl --resume",
        "run programs/while.fl --mode fast",
        "run programs/while.fl --threads none",
        "run programs/while.fl --set x=1 --set w=1 --threads 0",
        "run programs/while.fl --mode interpreted --profile trace.json",
        "run programs/while.fl -o out.txt",
        "run programs/cond.fl -o out.npy",
        "show programs/while.fl --passes --dot",
        "show programs/while.fl --pass recognise",
        "diff programs/while.fl x.npz",
        "convert programs/while.fl x.npz",
        "build train.py -o train.txt",
        "bench programs/while.fl --runs 0",
        "bench programs/while.fl --seconds -1",
        "completions powerfish",
        "data head",
        "data head programs/while.fl",
    ] {
        let done = sandbox.run(line);
        assert_eq!(done.status, 2, "{line}: {}{}", done.stdout, done.stderr);
        assert!(done.stderr.starts_with("error: "), "{line}: {}", done.stderr);
    }
}

#[test]
fn threads_of_the_environment() {
    let sandbox = Sandbox::new();
    let args = ["run", "programs/while.fl", "--set", "x=1", "--set", "w=2"];
    let done = Done::of(sandbox.command(&args).env("FLUVIAL_THREADS", "many"));
    let expected = expect![[r#"
        exit code 2
        error: FLUVIAL_THREADS is `many`
          remedy: set it to a number, or not at all
    "#]];
    expected.assert_eq(&done.fault());
    Done::of(sandbox.command(&args).env("FLUVIAL_THREADS", "1")).fine();
}

#[test]
fn scripts_without_python() {
    let sandbox = Sandbox::new();
    sandbox.write("train.py", "print('built nothing')\n");
    for args in [&["build", "train.py", "-o", "train.flb"][..], &["run", "train.py"]] {
        let done = Done::of(sandbox.command(args).env("FLUVIAL_PYTHON", "no-such-python"));
        let expected = expect![[r#"
            exit code 1
            error: `no-such-python` cannot be started: No such file or directory (os error 2)
              remedy: install Python, or name it in FLUVIAL_PYTHON; `.fl` and `.flb` need none
        "#]];
        expected.assert_eq(&done.fault());
    }
}

/// Stand-ins for Python: what the command makes of its exit code and of the file it writes.
#[cfg(unix)]
#[test]
fn scripts_and_what_python_says_of_them() {
    use std::os::unix::fs::PermissionsExt;

    let sandbox = Sandbox::new();
    sandbox.write("train.py", "");
    let stand_in = |name: &str, lines: &str| {
        sandbox.write(name, &format!("#!/bin/sh\n{lines}\n"));
        let path = sandbox.path(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let build = |python: &std::path::Path| {
        let args = ["build", "train.py", "-o", "train.fl", "--", "--hidden", "64"];
        Done::of(sandbox.command(&args).env("FLUVIAL_PYTHON", python))
    };
    let without = stand_in("without", "exit 1");
    let fault = build(&without).fault();
    assert!(fault.contains("has no package `fluvial`"), "{fault}");
    let fails = stand_in("fails", "[ $1 = -c ] || { echo line 3: oops >&2; exit 1; }");
    let fault = build(&fails).fault();
    assert!(
        fault.contains("line 3: oops\nerror: `train.py` failed with exit status: 1"),
        "{fault}"
    );
    let nothing = stand_in("nothing", "exit 0");
    let fault = build(&nothing).fault();
    assert!(fault.contains("`train.py` did not build a program"), "{fault}");
    let works = stand_in("works", "echo $* > args.txt; cp programs/counter.fl $5");
    let done = build(&works);
    assert_eq!(done.stderr, "train.fl: (x) -> (y), 1 state\n");
    done.fine();
    let args = sandbox.read("args.txt");
    assert_eq!(args, "-m fluvial._build train.py -o train.fl -- --hidden 64\n");
    // The program of a script, which is binary, is run and removed.
    sandbox.run("convert programs/counter.fl counter.flb").fine();
    let works = stand_in("works", "cp counter.flb $5");
    let args = ["run", "train.py", "--set", "x=2"];
    let done = Done::of(sandbox.command(&args).env("FLUVIAL_PYTHON", works));
    assert_eq!(done.fine(), "output  type   value\ny       f64[]  2.0\n");
}
