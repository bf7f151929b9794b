//! Saving and loading: the layout of the files, and what is said when they do not fit.

use std::fs;
use std::path::{Path, PathBuf};

use fluvial::data::safetensors;
use fluvial::io::{self, Load, Loaded, load_states, save_states};
use fluvial::prelude::*;

/// A folder that is gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("fluvial-io-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A step of training, as from a file: takes `x` and `y`, gives the guess and the loss.
fn training() -> Result<Program> {
    let x = Type::new(DType::F32, &[Dim::symbol("batch")?, Dim::size(2)])?;
    let y = Type::new(DType::F32, &[Dim::symbol("batch")?, Dim::size(1)])?;
    let program = Program::build(&[("x", x), ("y", y)], |v| {
        let net = Sequential::new("net")
            .add(|at| Linear::new(at, 2, 3))
            .add(|at| BatchNorm1d::new(at, 3))
            .add(|at| Dropout::new(at, 0.5))
            .add(|at| Linear::new(at, 3, 1));
        let guess = net.forward(&v[0])?;
        let loss = mean(&square(&(&guess - &v[1]))?, &[], false)?;
        Adam::new(net.parameters(), 0.1).minimize(&loss)?;
        Ok(vec![guess, loss])
    })?;
    Ok(program.unbound())
}

/// A scope in which the program has been run.
fn trained(program: &Program) -> Result<State> {
    let state = State::new();
    let x = Tensor::from_slice(&[0.5f32, -1.0, 2.0, 0.25], &[2, 2])?;
    let feeds = [("x", x), ("y", Tensor::full(&[2, 1], 1.0f32)?)];
    Executor::new(program, state.clone())?.run(&feeds)?;
    Ok(state)
}

fn read(path: &Path) -> Result<safetensors::File> {
    let bytes = fs::read(path).unwrap();
    safetensors::read_all(&mut &bytes[..], bytes.len() as u64, "test")
}

/// The header and the data of a file.
fn parted(bytes: &[u8]) -> (&str, &[u8]) {
    let (length, rest) = bytes.split_first_chunk().unwrap();
    let (header, data) = rest.split_at(u64::from_le_bytes(*length) as usize);
    (std::str::from_utf8(header).unwrap(), data)
}

fn same_models(a: &State, b: &State, names: &[String]) -> Result<()> {
    for name in names {
        assert!(a.tensor(name)?.bitwise_eq(&b.tensor(name)?), "{name}");
        assert_eq!(a.declaration(name).unwrap(), b.declaration(name).unwrap());
    }
    Ok(())
}

#[test]
fn the_layout_is_that_of_the_python_package() -> Result<()> {
    let folder = Folder::new("layout");
    let state = State::new();
    let ty = Type::of(DType::F32, &[2])?;
    let program = Program::build(&[("x", ty)], |x| {
        let one = || fluvial::core::structural::fill(1.0, &Type::of(DType::F32, &[2])?);
        let w = declare_state("w", Type::of(DType::F32, &[2])?, Role::Parameter, one)?;
        let m = declare_state("m", Type::of(DType::F32, &[2])?, Role::Buffer, one)?;
        let k =
            declare_state("k", Type::scalar(DType::I64), Role::Counter, || Ok(Var::scalar(3i64)))?;
        Ok(vec![&x[0] * w + m, k])
    })?;
    io::save_model(&folder.0, &program, &state)?;
    // What has no part in the model is not saved with it; names are in order.
    let header = concat!(
        r#"{"__metadata__":{"role:m":"buffer","role:w":"parameter"},"#,
        r#""m":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"#,
        r#""w":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}"#,
    );
    let bytes = fs::read(folder.file("model.safetensors")).unwrap();
    let (found, data) = parted(&bytes);
    assert_eq!(found.len() % 8, 0);
    // Checksums of the header and of both tensors stand before other notes.
    let start = r#"{"__metadata__":{"#;
    let (sums, rest) = found.strip_prefix(start).unwrap().split_once(r#"crc32","#).unwrap();
    assert!(sums.starts_with(r#""fluvial.checksum":"crc32 "#), "{found}");
    assert_eq!(sums.split(' ').count(), 4, "{found}");
    assert_eq!(format!("{start}{rest}").trim_end(), header);
    assert_eq!(data, [1.0f32; 4].map(f32::to_le_bytes).as_flattened());
    assert_eq!(fs::read(folder.file("program.flb")).unwrap(), program.to_bytes());

    let single = folder.file("one.safetensors");
    io::save_model(&single, &program, &state)?;
    let notes = read(&single)?.notes;
    let text = program.to_string();
    let expected = [("role:m", "buffer"), ("role:w", "parameter"), ("fluvial.program", &*text)];
    let expected: Vec<_> = expected.map(|(a, b)| (a.to_string(), b.to_string())).into();
    assert_eq!(notes, expected);
    Ok(())
}

#[test]
fn a_model_comes_back_from_a_folder_and_from_one_file() -> Result<()> {
    let folder = Folder::new("back");
    let program = training()?;
    let state = trained(&program)?;
    for path in [folder.file("deep/model"), folder.file("one.safetensors")] {
        io::save_model(&path, &program, &state)?;
        let again = State::new();
        assert_eq!(io::load_model(&path, &again)?, program);
        let names: Vec<String> = again.names().iter().map(ToString::to_string).collect();
        assert!(names.contains(&"net.1.running_mean".to_string()), "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with("adam")), "{names:?}");
        same_models(&state, &again, &names)?;
    }
    Ok(())
}

#[test]
fn a_model_for_use_has_no_training_in_it() -> Result<()> {
    let folder = Folder::new("use");
    let program = training()?;
    let state = trained(&program)?;
    let saved = io::save_inference_model(&folder.0, &program, &["out0"], &state)?;
    let again = State::new();
    let loaded = io::load_model(&folder.0, &again)?;
    assert_eq!(loaded, saved);
    assert!(fluvial::core::verify(&loaded).is_ok(), "{loaded}");
    assert_eq!(loaded.inputs, ["x".into()]);
    assert_eq!(loaded.outputs, ["out0".into()]);
    assert!(loaded.states.values().all(|known| known.role != Role::Optimizer));
    let executor = Executor::new(&loaded, again)?;
    let x = Tensor::from_slice(&[0.5f32, -1.0], &[1, 2])?;
    let first = executor.run(&[("x", x.clone())])?;
    let whole = program.prune(&["out0"])?.for_inference()?;
    let feeds = [("x", x), ("y", Tensor::full(&[1, 1], 0.0f32)?)];
    assert!(Executor::new(&whole, state)?.run(&feeds)?[0].bitwise_eq(&first[0]));
    // Nothing is dropped at random, and nothing changes.
    assert!(executor.run(&feeds[..1])?[0].bitwise_eq(&first[0]));
    let error = io::save_inference_model(&folder.0, &program, &["logits"], &State::new())
        .expect_err("there is no such output");
    assert!(error.to_string().contains("its outputs are: out0, out1"), "{error}");
    Ok(())
}

#[test]
fn an_input_stays_that_alone_tells_a_size() -> Result<()> {
    let folder = Folder::new("sizes");
    let n = Dim::symbol("n")?;
    let (x, unused) = (Type::new(DType::F32, &[n])?, Type::of(DType::F32, &[2])?);
    let program = Program::build(&[("unused", unused), ("x", x)], |v| {
        Ok(vec![fluvial::core::structural::fill(2.0, &v[1].ty())?])
    })?;
    let saved = io::save_inference_model(&folder.0, &program, &["out0"], &State::new())?;
    assert_eq!(saved.inputs, ["x".into()]);
    let y = Executor::new(&saved, State::new())?.run(&[("x", Tensor::full(&[3], 0.0f32)?)])?;
    assert_eq!(y[0].to_vec::<f32>()?, [2.0; 3]);
    Ok(())
}

#[test]
fn states_are_saved_by_their_roles_and_go_on_as_they_were() -> Result<()> {
    let folder = Folder::new("roles");
    let state = trained(&training()?)?;
    let all = folder.file("all.safetensors");
    save_states(&all, &state, &Role::ALL)?;
    let again = State::new();
    let loaded = load_states(&all, &again, Load::default())?;
    assert_eq!(again.names(), state.names());
    same_models(&state, &again, &loaded.names)?;
    assert_eq!(loaded.to_string(), format!("{} states", state.names().len()));

    let some = folder.file("some.safetensors");
    save_states(&some, &state, &[Role::Buffer])?;
    let loaded = load_states(&some, &State::new(), Load::default())?;
    let buffers = ["num_batches_tracked", "running_mean", "running_var"];
    assert_eq!(loaded.names, buffers.map(|name| format!("net.1.{name}")));
    Ok(())
}

#[test]
fn everything_that_does_not_fit_is_told_at_once() -> Result<()> {
    let folder = Folder::new("fit");
    let path = folder.file("s.safetensors");
    let saved = State::new();
    saved.insert("a", Role::Parameter, Tensor::full(&[2], 1.0f32)?)?;
    saved.insert("b", Role::Buffer, Tensor::full(&[3], 1.0f32)?)?;
    saved.insert("e", Role::Counter, Tensor::full(&[], 7i64)?)?;
    save_states(&path, &saved, &Role::ALL)?;

    let state = State::new();
    state.insert("a", Role::Parameter, Tensor::zeros(DType::F32, &[5])?)?;
    state.insert("b", Role::Parameter, Tensor::zeros(DType::F64, &[3])?)?;
    let names: &[&str] = &["a", "b", "c", "d"];
    let wanted = Load { names: Some(names), ..Load::default() };
    let error = load_states(&path, &state, wanted).expect_err("nothing fits").to_string();
    for part in [
        "`a` is f32[5], in the file f32[2]",
        "`b` is f64[3], in the file f32[3]",
        "`c` is not in the file",
        "`d` is not in the file",
        "not asked for, but in the file: `e`",
        "remedy: rename keys",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    // One fault is enough for nothing to change.
    let error = load_states(&path, &state, Load { cast: true, ..Load::default() });
    assert!(error.expect_err("`a` is of another size").to_string().contains("`a` is f32[5]"));
    assert_eq!(state.tensor("b")?.to_f64s(), [0.0; 3]);
    assert_eq!(state.names().len(), 2);

    let names: &[&str] = &["b", "z"];
    let some = Load { names: Some(names), strict: false, cast: true, ..Load::default() };
    let loaded = load_states(&path, &state, some)?;
    let texts = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let expected =
        Loaded { names: texts(&["b"]), missing: texts(&["z"]), unexpected: texts(&["a", "e"]) };
    assert_eq!(loaded, expected);
    assert_eq!(loaded.to_string(), "1 states; missing: z; unexpected: a, e");
    assert_eq!(state.tensor("b")?.to_vec::<f64>()?, [1.0; 3]);
    // A state keeps its role.
    assert_eq!(state.declaration("b").unwrap().role, Role::Parameter);
    Ok(())
}

#[test]
fn keys_are_renamed_left_out_and_may_not_meet() -> Result<()> {
    let folder = Folder::new("rename");
    let path = folder.file("s.safetensors");
    let saved = State::new();
    saved.insert("m.a", Role::Parameter, Tensor::full(&[2], 1.0f32)?)?;
    saved.insert("m.n", Role::Counter, Tensor::full(&[], 7i64)?)?;
    saved.insert("other", Role::Buffer, Tensor::full(&[], 0i64)?)?;
    save_states(&path, &saved, &Role::ALL)?;
    let state = State::new();
    let rename = |key: &str| Some(format!("net.{}", key.strip_prefix("m.")?));
    let loaded = load_states(&path, &state, Load { rename: Some(&rename), ..Load::default() })?;
    assert_eq!(loaded.names, ["net.a", "net.n"]);
    assert_eq!(state.declaration("net.n").unwrap().role, Role::Counter);

    let all_one = |_: &str| Some("w".to_string());
    let meet = Load { rename: Some(&all_one), ..Load::default() };
    let error = load_states(&path, &state, meet).expect_err("they meet").to_string();
    assert!(error.contains("`m.n` and `m.a` are both to be `w`"), "{error}");
    assert!(error.contains("`other` and `m.a` are both to be `w`"), "{error}");
    assert!(!state.contains("w"));
    Ok(())
}

#[test]
fn a_model_with_other_weights_is_refused_as_a_whole() -> Result<()> {
    let folder = Folder::new("other");
    let program = training()?;
    let state = trained(&program)?;
    io::save_model(&folder.0, &program, &state)?;
    let weights = folder.file("model.safetensors");
    let fewer = State::new();
    fewer.insert("net.0.weight", Role::Parameter, Tensor::zeros(DType::F64, &[3, 2])?)?;
    fewer.insert("net.3.bias", Role::Parameter, Tensor::zeros(DType::F32, &[4])?)?;
    save_states(&weights, &fewer, &Role::ALL)?;
    let again = State::new();
    let error = io::load_model(&folder.0, &again).expect_err("most are missing").to_string();
    for part in [
        "`net.0.weight` is f32[3, 2], in the file f64[3, 2]",
        "`net.3.bias` is f32[1], in the file f32[4]",
        "`net.3.weight` is not in the file",
        "`net.1.running_var` is not in the file",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(again.names().is_empty());
    Ok(())
}

#[test]
fn what_is_no_model_is_told_from_what_is_broken() -> Result<()> {
    let folder = Folder::new("none");
    let fault =
        |path: &Path| io::load_model(path, &State::new()).expect_err("no model").to_string();
    assert!(fault(&folder.0).contains("there is no model in"), "{}", fault(&folder.0));
    let path = folder.file("s.safetensors");
    save_states(&path, &State::new(), &Role::ALL)?;
    assert!(fault(&path).contains("has tensors, but no program"), "{}", fault(&path));

    let program = training()?;
    io::save_model(&path, &program, &trained(&program)?)?;
    let bytes = fs::read(&path).unwrap();
    for cut in (0..bytes.len()).step_by(37) {
        fs::write(&path, &bytes[..cut]).unwrap();
        assert!(fault(&path).contains("s.safetensors"), "{}", fault(&path));
    }
    let state = State::new();
    state.insert("w", Role::Parameter, Tensor::full(&[1], 0.0f32)?)?;
    save_states(&path, &state, &Role::ALL)?;
    let bytes = fs::read(&path).unwrap();
    let (header, data) = parted(&bytes);
    // Without checksums, as older versions wrote it.
    let (_, rest) = header.split_once(r#"crc32","#).unwrap();
    let header = format!(r#"{{"__metadata__":{{{}"#, rest.replace("parameter", "superuser"));
    let header = format!("{header:<width$}", width = header.len().next_multiple_of(8));
    let length = (header.len() as u64).to_le_bytes();
    fs::write(&path, [&length[..], header.as_bytes(), data].concat()).unwrap();
    let error = load_states(&path, &State::new(), Load::default()).expect_err("no such role");
    assert!(error.to_string().contains("`w` has the unknown role `superuser`"), "{error}");
    Ok(())
}
