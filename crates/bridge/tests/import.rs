//! Models become programs that compute what the same ops of ours compute.

mod common;

use common::*;
use fluvial_bridge::onnx::proto::{FunctionProto, OperatorSetIdProto};
use fluvial_bridge::onnx::{Options, load_bytes, supported};
use fluvial_core::{Program, Result, Role, Tensor, Type, Var};
use fluvial_ops as ops;
use prost::Message;

fn load(graph: fluvial_bridge::onnx::proto::GraphProto) -> Program {
    load_bytes(&bytes(graph), &Options::default()).unwrap()
}

fn var(values: &[f32], dims: &[usize]) -> Var {
    Var::of(values, dims).unwrap()
}

fn same(a: &Var, b: &Var) {
    assert!(a.tensor().unwrap().bitwise_eq(b.tensor().unwrap()), "{a} is not {b}");
}

#[test]
fn a_layer_is_our_layer() -> Result<()> {
    let program = load(mlp());
    assert_eq!(program.input_types()[0].to_string(), "f32[batch, 3]");
    assert_eq!(program.output_types().next().unwrap().to_string(), "f32[batch, 2]");
    let names: Vec<&str> = program.states.keys().map(|name| &**name).collect();
    assert_eq!(names, ["fc.bias", "fc.weight"]);
    let x = var(&[1.0, -2.0, 3.0, 0.5, 0.0, -1.0], &[2, 3]);
    let weight = var(&[0.5, -1.0, 2.0, 1.5, 0.25, -0.75], &[2, 3]);
    let expected = ops::relu(&ops::linear(&x, &weight, Some(&var(&[0.125, -0.5], &[2])))?)?;
    same(&program.apply(&[&x])?[0], &expected);
    Ok(())
}

#[test]
fn a_file_of_the_program_has_the_weights() -> Result<()> {
    let program = load(mlp());
    let again = Program::from_bytes(&program.to_bytes(), &ops::registry())?.unbound();
    let x = var(&[1.0, -2.0, 3.0], &[1, 3]);
    let _scope = fluvial_core::State::new().enter();
    same(&again.apply(&[&x])?[0], &program.apply(&[&x])?[0]);
    Ok(())
}

/// What the inner body captures from outside is known when the outer one is outlined.
#[test]
fn loops_in_loops_with_constants() -> Result<()> {
    let inner = graph(
        vec![node("Mul", &["a", "half"], &["b"]), node("Identity", &["go"], &["on"])],
        vec![info("i", 7, &[]), info("go", 9, &[]), info("a", 1, &[])],
        vec![info("on", 9, &[]), info("b", 1, &[])],
        vec![],
    );
    let outer = graph(
        vec![
            node("Loop", &["two", "more", "x1"], &["y1"]).graph("body", inner),
            node("Add", &["y1", "half"], &["y2"]),
            node("Identity", &["more"], &["on1"]),
        ],
        vec![info("i1", 7, &[]), info("more", 9, &[]), info("x1", 1, &[])],
        vec![info("on1", 9, &[]), info("y2", 1, &[])],
        vec![],
    );
    let half = floats("half", &Tensor::scalar(0.5f32));
    let program = load(graph(
        vec![node("Loop", &["two", "", "x"], &["y"]).graph("body", outer)],
        vec![info("x", 1, &[])],
        vec![info("y", 1, &[])],
        vec![ints("two", &[2], &[]), half],
    ));
    let y = program.apply(&[&Var::scalar(8.0f32)])?;
    assert_eq!(y[0].item::<f32>()?, 1.125);
    Ok(())
}

#[test]
fn initialisers_train_on_request() -> Result<()> {
    let options = Options { trainable: true, ..Options::default() };
    let program = load_bytes(&bytes(mlp()), &options)?;
    assert!(program.states.values().all(|state| state.role == Role::Parameter));
    let x = var(&[1.0, -2.0, 3.0], &[1, 3]);
    let loss = ops::sum(&program.apply(&[&x])?[0], &[], false)?;
    loss.backward()?;
    let cell = program.states["fc.weight"].cell.clone().unwrap();
    assert_eq!(cell.grad().unwrap().to_vec::<f32>()?, [1.0, -2.0, 3.0, 0.0, 0.0, 0.0]);
    Ok(())
}

#[test]
fn shapes_that_are_computed_stay_symbols() -> Result<()> {
    // [batch, 2, 3] becomes [batch, 6] by the size that `Shape` gives.
    let program = load(graph(
        vec![
            node("Shape", &["x"], &["s"]),
            node("Gather", &["s", "zero"], &["b"]).int("axis", 0),
            node("Unsqueeze", &["b", "axes"], &["b1"]),
            node("Concat", &["b1", "rest"], &["to"]).int("axis", 0),
            node("Reshape", &["x", "to"], &["y"]),
        ],
        vec![info("x", 1, &["batch size", "2", "3"])],
        vec![info("y", 1, &["batch size", "6"])],
        vec![ints("zero", &[0], &[]), ints("axes", &[0], &[1]), ints("rest", &[-1], &[1])],
    ));
    assert_eq!(program.output_types().next().unwrap().to_string(), "f32[batch_size, 6]");
    assert_eq!(program.main.calls.len(), 1, "{program}");
    Ok(())
}

/// What exporters of others write: `?` for sizes that they do not know, far ends of slices, one element behind a size.
#[test]
fn sizes_that_say_nothing() -> Result<()> {
    let program = load(graph(
        vec![
            node("Slice", &["x", "from", "far", "axes"], &["s"]),
            node("Slice", &["s", "from", "last", "axes"], &["t"]),
            node("Squeeze", &["t", "second"], &["y"]),
        ],
        vec![info("x", 1, &["?", "?", "-1"])],
        vec![info("y", 1, &["?", "?"])],
        vec![
            ints("from", &[0, 0], &[2]),
            ints("far", &[1_000_000_000, 1_000_000_000], &[2]),
            ints("last", &[i64::MAX, i64::from(i32::MAX)], &[2]),
            ints("axes", &[0, 1], &[2]),
            ints("second", &[1], &[1]),
        ],
    ));
    let x = var(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 1, 3]);
    assert_eq!(program.apply(&[&x])?[0].ty().to_string(), "f32[2, 3]");
    assert!(program.apply(&[&var(&[1.0, 2.0, 3.0, 4.0], &[1, 2, 2])]).is_err());
    Ok(())
}

/// A call that nothing but sizes need stays where training is taken out.
#[test]
fn sizes_of_the_run_stay_for_inference() -> Result<()> {
    let program = load(graph(
        vec![node("Range", &["zero", "count", "one"], &["r"]), node("Mul", &["r", "r"], &["y"])],
        vec![info("count", 7, &[])],
        vec![info("y", 7, &["n"])],
        vec![ints("zero", &[0], &[]), ints("one", &[1], &[])],
    ));
    let count = Var::scalar(4i64);
    for program in [program.for_inference()?, program] {
        assert_eq!(program.apply(&[&count])?[0].to_vec::<i64>()?, [0, 1, 4, 9]);
    }
    Ok(())
}

#[test]
fn shapes_that_only_the_run_knows_are_taken_then() -> Result<()> {
    let program = load(graph(
        vec![node("Reshape", &["x", "to"], &["y"])],
        vec![info("x", 1, &["n"]), info("to", 7, &["2"])],
        vec![info("y", 1, &["a", "b"])],
        vec![],
    ));
    let x = var(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[6]);
    for (to, expected) in [([2i64, 3], "f32[2, 3]"), ([-1, 2], "f32[3, 2]"), ([0, -1], "f32[6, 1]")]
    {
        let found = program.apply(&[&x, &Var::of(&to, &[2])?])?;
        assert_eq!(found[0].ty().to_string(), expected);
    }
    assert!(program.apply(&[&x, &Var::of(&[4i64, 4], &[2])?]).is_err());
    Ok(())
}

#[test]
fn branches_and_loops() -> Result<()> {
    let negated = graph(vec![node("Neg", &["x"], &["t"])], vec![], vec![info("t", 1, &[])], vec![]);
    let kept =
        graph(vec![node("Identity", &["x"], &["e"])], vec![], vec![info("e", 1, &[])], vec![]);
    let program = load(graph(
        vec![
            node("Less", &["x", "zero"], &["c"]),
            node("If", &["c"], &["y"]).graph("then_branch", negated).graph("else_branch", kept),
        ],
        vec![info("x", 1, &[])],
        vec![info("y", 1, &[])],
        vec![floats("zero", &Tensor::scalar(0.0f32))],
    ));
    assert_eq!(program.apply(&[&Var::scalar(-3.0f32)])?[0].item::<f32>()?, 3.0);
    assert_eq!(program.apply(&[&Var::scalar(2.0f32)])?[0].item::<f32>()?, 2.0);

    // Doubles so often as `n` says, and stacks what it had.
    let body = graph(
        vec![node("Add", &["a", "a"], &["b"]), node("Identity", &["go"], &["on"])],
        vec![info("i", 7, &[]), info("go", 9, &[]), info("a", 1, &["2"])],
        vec![info("on", 9, &[]), info("b", 1, &["2"]), info("b", 1, &["2"])],
        vec![],
    );
    let program = load(graph(
        vec![node("Loop", &["n", "", "x"], &["last", "all"]).graph("body", body)],
        vec![info("n", 7, &[]), info("x", 1, &["2"])],
        vec![info("last", 1, &["2"]), info("all", 1, &["n", "2"])],
        vec![],
    ));
    let found = program.apply(&[&Var::scalar(3i64), &var(&[1.0, -1.0], &[2])])?;
    assert_eq!(found[0].to_vec::<f32>()?, [8.0, -8.0]);
    assert_eq!(found[1].to_vec::<f32>()?, [2.0, -2.0, 4.0, -4.0, 8.0, -8.0]);
    let found = program.apply(&[&Var::scalar(0i64), &var(&[1.0, -1.0], &[2])])?;
    assert_eq!(found[1].ty(), Type::of(fluvial_core::DType::F32, &[0, 2])?);
    Ok(())
}

#[test]
fn functions_of_the_model_are_called() -> Result<()> {
    let mut call = node("Twice", &["x"], &["y"]);
    call.domain = "mine".into();
    let mut whole =
        model(graph(vec![call], vec![info("x", 1, &["2"])], vec![info("y", 1, &["2"])], vec![]));
    whole.functions.push(FunctionProto {
        name: "Twice".into(),
        domain: "mine".into(),
        input: vec!["a".into()],
        output: vec!["b".into()],
        node: vec![node("Add", &["a", "a"], &["b"])],
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: 17 }],
        ..FunctionProto::default()
    });
    let program = load_bytes(&whole.encode_to_vec(), &Options::default())?;
    assert_eq!(program.apply(&[&var(&[1.0, 2.0], &[2])])?[0].to_vec::<f32>()?, [2.0, 4.0]);

    // One that calls itself ends.
    whole.functions[0].node[0].op_type = "Twice".into();
    whole.functions[0].node[0].domain = "mine".into();
    whole.functions[0].node[0].input = vec!["a".into()];
    let error = load_bytes(&whole.encode_to_vec(), &Options::default()).unwrap_err();
    assert!(error.to_string().contains("deep in each other"), "{error}");
    Ok(())
}

#[test]
fn inputs_may_be_known() -> Result<()> {
    let whole = bytes(graph(
        vec![node("MelWeightMatrix", &["bands", "length", "rate", "low", "high"], &["y"])],
        ["bands", "length", "rate"]
            .map(|name| info(name, 7, &[]))
            .into_iter()
            .chain(["low", "high"].map(|name| info(name, 1, &[])))
            .collect(),
        vec![info("y", 1, &["3", "2"])],
        vec![],
    ));
    let error = load_bytes(&whole, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("must be known when the model is loaded"), "{error}");
    let integers =
        [("bands", 2i64), ("length", 4), ("rate", 8)].map(|(n, x)| (n, Tensor::scalar(x)));
    let floats = [("low", 0.0f32), ("high", 4.0)].map(|(n, x)| (n, Tensor::scalar(x)));
    let known = integers.into_iter().chain(floats).map(|(n, x)| (n.to_string(), x)).collect();
    let program = load_bytes(&whole, &Options { known, ..Options::default() })?;
    assert_eq!(program.apply(&[])?[0].to_vec::<f32>()?, [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    Ok(())
}

#[test]
fn the_number_of_greatest_elements_may_be_open() -> Result<()> {
    let whole = bytes(graph(
        vec![node("TopK", &["x", "k"], &["v", "i"])],
        vec![info("x", 1, &["4"]), info("k", 7, &["1"])],
        vec![info("v", 1, &["2"]), info("i", 7, &["2"])],
        vec![],
    ));
    let x = var(&[1.0, 4.0, 2.0, 3.0], &[4]);
    let open = load_bytes(&whole, &Options::default())?;
    let found = open.apply(&[&x, &Var::of(&[2i64], &[1])?])?;
    assert_eq!(found[1].to_vec::<i64>()?, [1, 3]);
    assert!(open.apply(&[&x, &Var::of(&[5i64], &[1])?]).is_err());
    let known = vec![("k".to_string(), Tensor::from_slice(&[2i64], &[1])?)];
    let program = load_bytes(&whole, &Options { known, ..Options::default() })?;
    let found = program.apply(&[&x])?;
    assert_eq!(found[1].to_vec::<i64>()?, [1, 3]);
    Ok(())
}

#[test]
fn what_is_refused_says_where() {
    let whole = bytes(graph(
        vec![node("Frobnicate", &["x"], &["y"])],
        vec![info("x", 1, &["n", "3"])],
        vec![info("y", 1, &[])],
        vec![],
    ));
    let error = load_bytes(&whole, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("the ONNX op Frobnicate is not supported"), "{error}");
    assert!(error.contains("`/model/frobnicate`: Frobnicate(f32[n, 3])"), "{error}");
}

#[test]
fn names_of_ops_differ() {
    let all = supported();
    for pair in all.windows(2) {
        assert!((pair[0].domain, pair[0].name) != (pair[1].domain, pair[1].name), "{pair:?}");
    }
}
