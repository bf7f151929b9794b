//! `fluvial convert`, `fluvial diff` and `fluvial export`.

use expect_test::expect;
use fluvial::core::DType;

use crate::sandbox::{Sandbox, tensor};

#[test]
fn text_and_binary_forms() {
    let sandbox = Sandbox::new();
    sandbox.run("convert programs/train.fl train.flb").fine();
    sandbox.run("convert train.flb again.fl").fine();
    assert_eq!(sandbox.run("show train.flb").fine(), sandbox.run("show programs/train.fl").fine());
    for file in ["train.flb", "again.fl"] {
        let done = sandbox.run(&format!("diff programs/train.fl {file} --lines"));
        assert_eq!((done.status, done.stderr.as_str()), (0, "equal\n"));
    }
}

#[test]
fn programs_as_c() {
    let sandbox = Sandbox::new();
    sandbox.run("export programs/train.fl -o out --size batch=2").fine();
    for file in ["model.h", "main.c", "Makefile", "CMakeLists.txt"] {
        assert!(!sandbox.read(&format!("out/{file}")).is_empty());
    }
    assert!(sandbox.read("out/model.c").contains("model_run"));
    sandbox.run("export programs/train.fl --to cuda -o device --size batch=2").fine();
    assert!(sandbox.read("device/model.cu").contains("model_run"));
    let done = sandbox.run("export programs/train.fl --to metal -o out");
    assert_eq!(done.status, 2);
    assert!(done.stderr.contains("cannot be exported to `metal`"), "{}", done.stderr);
    let done = sandbox.run("export programs/train.fl -o out");
    assert_eq!(done.status, 1);
    assert!(done.stderr.contains("--size"), "{}", done.stderr);
}

#[test]
fn programs_that_differ() {
    let sandbox = Sandbox::new();
    let program = sandbox.read("programs/counter.fl");
    sandbox.write("other.fl", &program.replace("i64[](1)", "i64[](2)"));
    let done = sandbox.run("diff programs/counter.fl other.fl");
    assert_eq!(done.status, 1);
    let expected = expect![[r#"
          .. 9 lines are the same
          main(%x: f64[]) {
            %before = read{state="count", ty=i64[]}() : i64[]
        -   %one = constant{value=i64[](1)}() : i64[]
        +   %one = constant{value=i64[](2)}() : i64[]
            %after = add(%before, %one) : i64[]
            assign{state="count"}(%after)
          .. 4 lines are the same
    "#]];
    expected.assert_eq(&done.stdout);
    let events = sandbox.run("diff programs/counter.fl other.fl --json").events();
    assert_eq!(events[0]["gone"].as_array().map(Vec::len), Some(1));
    // The lines of the source are not a difference unless they are asked for.
    let placed = program.replace("(%x, %times) : f64[]", "(%x, %times) : f64[]  at a.py:1:1");
    sandbox.write("placed.fl", &placed);
    let done = sandbox.run("diff programs/counter.fl placed.fl");
    assert_eq!(done.stderr, "equal, except for the lines of the source\n");
    assert_eq!(done.status, 0);
    assert_eq!(sandbox.run("diff programs/counter.fl placed.fl --lines").status, 1);
}

#[test]
fn tensors_that_differ() {
    let sandbox = Sandbox::new();
    let (x, y) = (tensor(&[1.0, 2.0, 3.0], &[3]), tensor(&[1.0, 2.5, 3.0], &[3]));
    let (z, flat) = (tensor(&[0.0; 4], &[2, 2]), tensor(&[0.0; 4], &[4]));
    sandbox.safetensors("a.safetensors", &[("x", &x), ("z", &z), ("first", &z), ("same", &z)]);
    sandbox.safetensors("b.safetensors", &[("x", &y), ("z", &flat), ("second", &z), ("same", &z)]);
    let done = sandbox.run("diff a.safetensors b.safetensors");
    assert_eq!(done.status, 1);
    let expected = expect![[r#"
        tensor  difference               largest  relative
        first   only in the first file
        x       1 of 3 elements          5.00e-1   2.00e-1
        z       f64[2, 2] and f64[4]
        second  only in the second file
    "#]];
    expected.assert_eq(&done.stdout);
    assert_eq!(sandbox.run("diff a.safetensors b.safetensors --json").events().len(), 4);

    sandbox.npy("x.npy", &x);
    sandbox.npy("y.npy", &y);
    assert_eq!(sandbox.run("diff x.npy y.npy --atol 0.4").status, 1);
    let close = "close: 1 tensor, 1 of them not equal\n";
    for tolerance in ["--atol 0.5", "--rtol 0.2"] {
        let done = sandbox.run(&format!("diff x.npy y.npy {tolerance}"));
        assert_eq!((done.status, done.stderr.as_str()), (0, close));
    }
}

#[test]
fn tensors_keep_their_bits_in_all_formats() {
    let sandbox = Sandbox::new();
    let x = tensor(&[0.1, -0.0, f64::INFINITY, f64::NAN], &[2, 2]);
    sandbox.safetensors("a.safetensors", &[("x", &x), ("y", &tensor(&[], &[0, 3]))]);
    sandbox.run("convert a.safetensors b.npz").fine();
    sandbox.run("convert b.npz c.safetensors").fine();
    let done = sandbox.run("diff a.safetensors c.safetensors");
    assert_eq!((done.status, done.stderr.as_str()), (0, "equal: 2 tensors\n"));
    let fault = sandbox.run("convert a.safetensors x.npy").fault();
    assert!(fault.contains("`x.npy` takes one tensor, but there are 2"), "{fault}");
    // Nothing is left of what failed.
    assert!(!sandbox.path("x.npy").exists());
}

#[test]
fn programs_on_bytes() {
    let sandbox = Sandbox::new();
    let weights = ["0.5, -0.25"; 64].join(", ");
    let text = format!(
        "fluvial 1

state @w : f32[16, 8] parameter

startup {{
  %0 = constant{{value=f32[16, 8]({weights})}}() : f32[16, 8]
  assign{{state=\"w\"}}(%0)
}}

main(%x: f32[batch, 16]) {{
  %w = read{{state=\"w\", ty=f32[16, 8]}}() : f32[16, 8]
  %y = matmul{{transpose_a=false, transpose_b=false}}(%x, %w) : f32[batch, 8]
  return %y
}}
"
    );
    sandbox.write("net.fl", &text);
    let x = tensor(&[1.0; 16], &[1, 16]).cast(DType::F32).unwrap();
    sandbox.npy("x.npy", &x);
    let told = sandbox.run("quantize net.fl --samples x.npy -o small.flb").fine();
    assert!(told.contains("w       matmul  int8, scale 0.003921569, zero point 0"), "{told}");
    let told = sandbox.run("run small.flb --feed x.npy").fine();
    assert!(told.contains("f32[1, 8]"), "{told}");
    sandbox.run("quantize net.fl --dynamic -o dynamic.fl").fine();
    assert!(sandbox.read("dynamic.fl").contains("dynamic_quantize_linear"));
    for (line, status, words) in [
        ("quantize net.fl -o small.flb", 2, "there are none"),
        ("quantize net.fl --samples x.npy --dynamic -o small.flb", 2, "need no samples"),
        ("quantize net.fl --dynamic -o small.npz", 2, "does not name a program"),
        ("quantize net.fl --dynamic --skip other -o small.flb", 1, "is named `other`"),
        ("quantize programs/counter.fl --dynamic -o small.flb", 1, "reads the state"),
    ] {
        let done = sandbox.run(line);
        assert_eq!(done.status, status, "{line}: {}", done.stderr);
        assert!(done.stderr.contains(words), "{line}: {}", done.stderr);
    }
}
