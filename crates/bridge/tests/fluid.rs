//! Programs of Fluid, written by hand: what is computed, and what is refused.

use fluvial_bridge::fluid::proto::{
    BlockDesc, LoDTensorDesc, OpDesc, ProgramDesc, TensorDesc, VarDesc, VarType, op_desc,
};
use fluvial_bridge::fluid::{
    Options, load_inference_model, model_from_bytes, program_from_bytes, read_tensors, supported,
};
use fluvial_core::{Program, Tensor, Var};
use prost::Message;

fn var(name: &str, dims: &[i64], persistable: bool) -> VarDesc {
    let tensor = TensorDesc { data_type: 5, dims: dims.to_vec() };
    let lod_tensor = LoDTensorDesc { tensor: Some(tensor), lod_level: 0 };
    let ty = VarType { r#type: 7, lod_tensor: Some(lod_tensor), ..VarType::default() };
    VarDesc { name: name.into(), r#type: Some(ty), persistable, ..VarDesc::default() }
}

fn slots(slots: &[(&str, &[&str])]) -> Vec<op_desc::Slot> {
    let slot = |&(parameter, names): &(&str, &[&str])| op_desc::Slot {
        parameter: parameter.into(),
        arguments: names.iter().map(|&name| name.into()).collect(),
    };
    slots.iter().map(slot).collect()
}

fn op(name: &str, inputs: &[(&str, &[&str])], outputs: &[(&str, &[&str])]) -> OpDesc {
    let (inputs, outputs) = (slots(inputs), slots(outputs));
    OpDesc { r#type: name.into(), inputs, outputs, attrs: Vec::new() }
}

fn float(mut op: OpDesc, name: &str, number: f32) -> OpDesc {
    let attr = op_desc::Attr { name: name.into(), r#type: 1, f: number, ..Default::default() };
    op.attrs.push(attr);
    op
}

fn ints(mut op: OpDesc, name: &str, numbers: &[i32]) -> OpDesc {
    let ints = numbers.to_vec();
    op.attrs.push(op_desc::Attr { name: name.into(), r#type: 3, ints, ..Default::default() });
    op
}

fn sub_block(mut op: OpDesc, number: i32) -> OpDesc {
    let attr = op_desc::Attr {
        name: "sub_block".into(),
        r#type: 8,
        block_idx: number,
        ..Default::default()
    };
    op.attrs.push(attr);
    op
}

fn program(blocks: Vec<(i32, Vec<VarDesc>, Vec<OpDesc>)>) -> Vec<u8> {
    let block = |(idx, (parent_idx, vars, ops)): (usize, (i32, Vec<VarDesc>, Vec<OpDesc>))| {
        BlockDesc { idx: idx as i32, parent_idx, vars, ops, forward_block_idx: -1 }
    };
    let blocks = blocks.into_iter().enumerate().map(block).collect();
    ProgramDesc { blocks, ..ProgramDesc::default() }.encode_to_vec()
}

fn filled(name: &str, dims: &[i32], value: f32) -> OpDesc {
    float(ints(op("fill_constant", &[], &[("Out", &[name])]), "shape", dims), "value", value)
}

/// `w -= 0.5 * d(mean((x w)^2)) / dw`.
fn training() -> (Vec<u8>, Vec<u8>) {
    let vars = vec![
        var("x", &[-1, 2], false),
        var("w", &[2, 1], true),
        var("rate", &[1], true),
        var("y", &[-1, 1], false),
        var("square", &[-1, 1], false),
        var("loss", &[1], false),
    ];
    let ops = vec![
        op("mul", &[("X", &["x"]), ("Y", &["w"])], &[("Out", &["y"])]),
        op("square", &[("X", &["y"])], &[("Out", &["square"])]),
        op("mean", &[("X", &["square"])], &[("Out", &["loss"])]),
        filled("loss@GRAD", &[1], 1.0),
        op(
            "mean_grad",
            &[("X", &["square"]), ("Out@GRAD", &["loss@GRAD"])],
            &[("X@GRAD", &["square@GRAD"])],
        ),
        op(
            "square_grad",
            &[("X", &["y"]), ("Out@GRAD", &["square@GRAD"])],
            &[("X@GRAD", &["y@GRAD"])],
        ),
        op(
            "mul_grad",
            &[("X", &["x"]), ("Y", &["w"]), ("Out@GRAD", &["y@GRAD"])],
            &[("X@GRAD", &["@EMPTY@"]), ("Y@GRAD", &["w@GRAD"])],
        ),
        op(
            "sgd",
            &[("Param", &["w"]), ("Grad", &["w@GRAD"]), ("LearningRate", &["rate"])],
            &[("ParamOut", &["w"])],
        ),
    ];
    let main = program(vec![(-1, vars, ops)]);
    let vars = vec![var("w", &[2, 1], true), var("rate", &[1], true)];
    let ops = vec![filled("w", &[2, 1], 1.0), filled("rate", &[1], 0.5)];
    (main, program(vec![(-1, vars, ops)]))
}

fn fetching(names: &[&str]) -> Options {
    let fetch = names.iter().map(|name| name.to_string()).collect();
    Options { fetch, ..Options::default() }
}

fn refused(bytes: &[u8], names: &[&str]) -> String {
    let error = program_from_bytes(bytes, None, &fetching(names)).expect_err("it is refused");
    format!("{error:?}")
}

#[test]
fn a_training_step_trains() {
    let (main, startup) = training();
    let program: Program =
        program_from_bytes(&main, Some(&startup), &fetching(&["loss"])).expect("a program");
    let x = Var::of(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2]).expect("values");
    let loss = |program: &Program| {
        program.apply(&[&x]).expect("it runs")[0].to_vec::<f32>().expect("floats")[0]
    };
    // Rows sum to 3 and 7: (9 + 49) / 2. The gradient is (3 * [1, 2] + 7 * [3, 4]).
    assert_eq!(loss(&program), 29.0);
    let (a, b) = (1.0 - 0.5 * 24.0, 1.0 - 0.5 * 34.0);
    let rows: [f32; 2] = [a + 2.0 * b, 3.0 * a + 4.0 * b];
    assert_eq!(loss(&program), (rows[0] * rows[0] + rows[1] * rows[1]) / 2.0);
}

#[test]
fn losses_and_leaves_are_outputs_where_none_are_named() {
    let (main, startup) = training();
    let program = program_from_bytes(&main, Some(&startup), &Options::default()).expect("one");
    assert!(!program.outputs.is_empty());
}

#[test]
fn a_missing_op_is_named_with_its_place() {
    let vars = vec![var("x", &[-1, 2], false), var("y", &[-1, 2], false)];
    let ops = vec![op("frobnicate", &[("X", &["x"])], &[("Out", &["y"])])];
    let said = refused(&program(vec![(-1, vars, ops)]), &["y"]);
    assert!(said.contains("frobnicate"), "{said}");
    assert!(said.contains("block 0, op 0") && said.contains("f32[batch, 2]"), "{said}");
}

#[test]
fn a_gradient_without_its_op_is_refused() {
    let vars = vec![var("x", &[-1, 2], false), var("y", &[-1, 2], false)];
    let grad = op("tanh_grad", &[("Out", &["x"])], &[("X@GRAD", &["y"])]);
    let said = refused(&program(vec![(-1, vars, vec![grad])]), &["y"]);
    assert!(said.contains("no op tanh before it"), "{said}");
}

#[test]
fn blocks_in_circles_are_refused() {
    let vars = || vec![var("c", &[1], false)];
    let turn = |to| {
        let slots: &[(&str, &[&str])] = &[("Condition", &["c"])];
        sub_block(op("while", slots, &[("Out", &["c"])]), to)
    };
    let blocks = vec![
        (-1, vars(), vec![turn(1)]),
        (0, vec![], vec![turn(2), turn(2), turn(2)]),
        (1, vec![], vec![turn(1), turn(1), turn(1)]),
    ];
    let said = refused(&program(blocks), &["c"]);
    assert!(said.contains("deep in each other") || said.contains("ops are run"), "{said}");
}

#[test]
fn states_without_first_values_are_refused() {
    let (main, _) = training();
    let said = refused(&main, &["loss"]);
    assert!(said.contains("nothing gives it a first value") && said.contains("`w`"), "{said}");
    let tensor = |numbers: &[f32], dims: &[usize]| Tensor::from_slice(numbers, dims).expect("one");
    let values = vec![
        ("w".to_string(), tensor(&[1.0, 1.0], &[2, 1])),
        ("rate".to_string(), tensor(&[0.5], &[1])),
    ];
    let options = Options { values, ..fetching(&["loss"]) };
    let program = program_from_bytes(&main, None, &options).expect("a program");
    let x = Var::of(&[1.0f32, 2.0], &[1, 2]).expect("values");
    let loss = program.apply(&[&x]).expect("it runs");
    assert_eq!(loss[0].to_vec::<f32>().expect("floats"), [9.0]);
}

fn record(dims: &[i64], data: &[f32]) -> Vec<u8> {
    let head = TensorDesc { data_type: 5, dims: dims.to_vec() }.encode_to_vec();
    let mut bytes = vec![0; 4 + 8 + 4];
    bytes.extend((head.len() as i32).to_le_bytes());
    bytes.extend(head);
    bytes.extend(data.iter().flat_map(|number| number.to_le_bytes()));
    bytes
}

#[test]
fn models_have_their_parameters_from_a_file() {
    let vars = vec![var("x", &[-1, 2], false), var("w", &[2, 1], true), var("y", &[-1, 1], false)];
    let ops = vec![op("mul", &[("X", &["x"]), ("Y", &["w"])], &[("Out", &["y"])])];
    let model = program(vec![(-1, vars, ops)]);
    let params = record(&[2, 1], &[3.0, 5.0]);
    let program = model_from_bytes(&model, &params, &Options::default()).expect("a model");
    let x = Var::of(&[1.0f32, 2.0], &[1, 2]).expect("values");
    let y = program.apply(&[&x]).expect("it runs");
    assert_eq!(y[0].to_vec::<f32>().expect("floats"), [13.0]);
    let more = [params.clone(), params].concat();
    assert!(model_from_bytes(&model, &more, &Options::default()).is_err());
}

#[test]
fn a_parameter_outside_of_the_folder_is_refused() {
    let folder = std::env::temp_dir().join(format!("fluvial-fluid-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let vars = vec![var("../w", &[2, 1], true), var("y", &[2, 1], false)];
    let ops = vec![op("square", &[("X", &["../w"])], &[("Out", &["y"])])];
    std::fs::write(folder.join("__model__"), program(vec![(-1, vars, ops)])).expect("written");
    let error = load_inference_model(&folder, None, &Options::default()).expect_err("refused");
    std::fs::remove_dir_all(&folder).expect("removed");
    assert!(format!("{error:?}").contains("leads out of"), "{error:?}");
}

#[test]
fn enormous_and_cut_tensors_are_refused() {
    let whole = record(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let read: Vec<Tensor> =
        read_tensors(&whole).expect("a tensor").into_iter().map(|record| record.tensor).collect();
    assert_eq!(read[0].to_f64s(), [1.0, 2.0, 3.0, 4.0]);
    for end in 1..whole.len() {
        assert!(read_tensors(&whole[..end]).is_err(), "{end} bytes");
    }
    assert!(read_tensors(&record(&[1 << 40, 1 << 40], &[1.0])).is_err());
    assert!(read_tensors(&record(&[-1, 2], &[1.0])).is_err());
}

#[test]
fn damaged_programs_are_errors() {
    let (main, startup) = training();
    for at in 0..main.len() {
        for bit in [0, 3, 7] {
            let mut bytes = main.clone();
            bytes[at] ^= 1 << bit;
            let _ = program_from_bytes(&bytes, Some(&startup), &fetching(&["loss"]));
        }
        let _ = program_from_bytes(&main[..at], Some(&startup), &Options::default());
    }
}

#[test]
fn each_op_stands_once_in_the_table() {
    let all = supported();
    assert!(all.windows(2).all(|pair| pair[0].0 < pair[1].0), "{all:?}");
    assert!(all.len() >= 250, "{}", all.len());
}

/// A field of the wire format that holds bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut all = whole(number, bytes.len() as u64);
    all[0] |= 2;
    all.extend(bytes);
    all
}

/// A field that holds a whole number.
fn whole(number: u8, mut value: u64) -> Vec<u8> {
    let mut all = vec![number << 3];
    while value > 127 {
        all.push(value as u8 | 128);
        value >>= 7;
    }
    all.push(value as u8);
    all
}

#[test]
fn programs_of_all_versions_load() {
    let (main, startup) = training();
    let pair = |value: Vec<u8>| [field(1, b"mul"), field(2, &value)].concat();
    // Version 0.12 says nothing of itself; where others do has moved, and what they say of ops, too.
    let versions: [(&str, Vec<u8>); 6] = [
        ("0.12", Vec::new()),
        ("1.3", field(2, &whole(1, 1_003_000))),
        ("1.5", field(2, &whole(1, 0))),
        ("1.7", [field(3, &pair(whole(1, 2))), field(4, &whole(1, 1_007_002))].concat()),
        ("2.0", [field(4, &whole(1, 2_000_000)), field(5, &field(1, &pair(whole(1, 1))))].concat()),
        ("2.6", [field(4, &whole(1, 2_006_002)), field(5, &field(1, &pair(whole(1, 3))))].concat()),
    ];
    let x = Var::of(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2]).expect("values");
    for (version, said) in versions {
        let (main, startup) = ([&main[..], &said].concat(), [&startup[..], &said].concat());
        assert!(fluvial_bridge::fluid::is_program(&main), "{version}");
        let program = program_from_bytes(&main, Some(&startup), &fetching(&["loss"]));
        let program = program.unwrap_or_else(|error| panic!("{version}: {error}"));
        let loss = program.apply(&[&x]).expect("it runs")[0].to_vec::<f32>().expect("floats");
        assert_eq!(loss, [29.0], "{version}");
    }
}

#[test]
fn channels_of_the_oldest_programs_are_refused_by_name() {
    // A variable of the type 16, with a description in the field 6, as version 0.12 wrote it.
    let ty = [whole(1, 16), field(6, &[whole(1, 5), whole(2, 4)].concat())].concat();
    let channel = [field(1, b"channel"), field(2, &ty)].concat();
    let send = op("channel_send", &[("Channel", &["channel"]), ("X", &["x"])], &[]);
    let block = [
        whole(1, 0),
        whole(2, u64::MAX),
        field(3, &channel),
        field(3, &var("x", &[1], false).encode_to_vec()),
        field(4, &filled("x", &[1], 1.0).encode_to_vec()),
        field(4, &send.encode_to_vec()),
    ];
    let text = refused(&field(1, &block.concat()), &["x"]);
    assert!(text.contains("channel_send"), "{text}");
}
