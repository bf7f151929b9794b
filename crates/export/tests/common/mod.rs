//! Exported programs, compiled by the C compiler of the machine and run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use fluvial_core::{DType, Error, Program, Result, State, Tensor};
use fluvial_export::{Export, Options, export};

/// A folder that is removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fluvial-export-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// How programs are compiled so that faults are found.
pub const SANITIZED: &[&str] =
    &["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

pub const ALWAYS: &[&str] = &[
    "-std=c11",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-strict-aliasing",
];

/// Compiles what was exported.
pub fn built(exported: &Export, folder: &Path, flags: &[&str]) -> Result<()> {
    exported.write(folder)?;
    if exported.text("model.cu").is_some() {
        return built_of_cuda(folder, flags);
    }
    let mut sources = vec!["main.c", "model.c"];
    if folder.join("model_weights.c").exists() {
        sources.push("model_weights.c");
    }
    compiler("gcc", folder, ALWAYS, flags, &sources)
}

/// Compiles CUDA C++ for this machine: a header runs its threads.
fn built_of_cuda(folder: &Path, flags: &[&str]) -> Result<()> {
    let headers = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/tests/cuda");
    let always = [
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-ffp-contract=fast",
        "-fno-strict-aliasing",
        headers,
        "-xc++",
    ];
    compiler("g++", folder, &always, flags, &["main.cu", "model.cu"])
}

fn compiler(
    name: &str,
    folder: &Path,
    always: &[&str],
    flags: &[&str],
    sources: &[&str],
) -> Result<()> {
    let output = Command::new(name)
        .current_dir(folder)
        .args(always)
        .args(flags)
        .args(["-o", "model"])
        .args(sources)
        .arg("-lm")
        .output()
        .map_err(|error| Error::program(format!("{name}: {error}")))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Error::program(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

/// Starts a compiled program. A sanitizer reserves more addresses than tests may have; what it really takes is
/// bounded instead.
pub fn shell() -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -S -v unlimited 2>/dev/null; exec ./model \"$@\"", "model"]);
    command.env("ASAN_OPTIONS", "hard_rss_limit_mb=2048");
    command
}

/// Runs a compiled program on inputs, and gives what it prints, or says if it fails.
pub fn run(folder: &Path, inputs: &[(&str, &Tensor)], more: &[&str]) -> Result<String> {
    let mut command = shell();
    command.current_dir(folder).args(more);
    for (name, tensor) in inputs {
        let file = format!("in_{name}.npy");
        std::fs::write(folder.join(&file), npy(tensor)?)
            .map_err(|error| Error::program(error.to_string()))?;
        command.arg(format!("{name}={file}"));
    }
    let output = command.output().map_err(|error| Error::program(error.to_string()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(Error::program(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

/// An output of a run, like this tensor.
pub fn output(folder: &Path, name: &str, like: &Tensor) -> Result<Tensor> {
    let bytes = std::fs::read(folder.join(format!("{name}.npy")))
        .map_err(|error| Error::program(format!("{name}: {error}")))?;
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    filled(like, &bytes[start..])
}

pub fn filled(like: &Tensor, bytes: &[u8]) -> Result<Tensor> {
    if like.dtype() == DType::Bool {
        let values: Vec<bool> = bytes.iter().map(|&byte| byte != 0).collect();
        return Tensor::from_vec(values, like.dims());
    }
    let mut tensor = Tensor::zeros(like.dtype(), like.dims())?;
    let to = tensor.as_bytes_mut()?;
    if to.len() != bytes.len() {
        return Err(Error::program(format!("{} bytes for {}", bytes.len(), like.ty())));
    }
    to.copy_from_slice(bytes);
    Ok(tensor)
}

fn npy(tensor: &Tensor) -> Result<Vec<u8>> {
    let descr = match tensor.dtype() {
        DType::Bool => "|b1",
        DType::U8 => "|u1",
        DType::I8 => "|i1",
        DType::I16 => "<i2",
        DType::U16 => "<u2",
        DType::U32 => "<u4",
        DType::U64 => "<u8",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::F16 => "<f2",
        DType::BF16 => "<u2",
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::F8E4M3 | DType::F8E5M2 => "|u1",
        DType::C64 => "<c8",
        DType::C128 => "<c16",
    };
    let shape: String = tensor.dims().iter().map(|n| format!("{n}, ")).collect();
    let head = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((head.len() as u16).to_le_bytes());
    bytes.extend(head.as_bytes());
    let whole = tensor.contiguous()?;
    bytes.extend(whole.as_bytes().unwrap_or(&[]));
    Ok(bytes)
}

/// Exports, compiles and runs a program, and compares its outputs with these.
pub fn agrees(
    program: &Program,
    options: &Options,
    flags: &[&str],
    inputs: &[(&str, &Tensor)],
    expected: &[Tensor],
    more: &[&str],
) -> Result<()> {
    let folder = Folder::new();
    let exported = export(program, &State::new(), options)?;
    built(&exported, &folder.0, flags)?;
    run(&folder.0, inputs, more)?;
    let is_narrow = is_narrow(program);
    for (name, like) in program.outputs.iter().zip(expected) {
        let found = output(&folder.0, name, like)?;
        near(&found, like, is_narrow, 0.0)
            .map_err(|error| Error::program(format!("{name}: {error}")))?;
    }
    Ok(())
}

/// Digits that narrow floats on the way do not have cannot be compared.
pub fn is_narrow(program: &Program) -> bool {
    let narrow = |dtype: DType| matches!(dtype, DType::F32 | DType::F16 | DType::BF16);
    program.main.types.iter().any(|ty| narrow(ty.dtype()))
}

/// Whether values are the same up to rounding, which is that of narrow floats if there are some, and up to this besides:
/// integers exactly.
pub fn near(found: &Tensor, expected: &Tensor, is_narrow: bool, besides: f64) -> Result<()> {
    let (found, all) = (found.to_f64s(), expected.to_f64s());
    let scale = all.iter().filter(|x| x.is_finite()).fold(0.0f64, |most, x| most.max(x.abs()));
    let (relative, absolute) = match expected.dtype() {
        DType::F64 if !is_narrow => (1e-9, 1e-11),
        DType::F64 | DType::F32 => (1e-5, 1e-6),
        DType::F16 | DType::BF16 => (2e-2, 2e-2),
        _ => (0.0, 0.0),
    };
    let close = |a: f64, b: f64| {
        a == b
            || a.is_nan() && b.is_nan()
            || (a - b).abs() <= relative * a.abs().max(b.abs()) + absolute * scale + besides
    };
    match found.iter().zip(&all).position(|(&a, &b)| !close(a, b)) {
        None => Ok(()),
        Some(at) => Err(Error::program(format!(
            "element {at} of {} is {}, not {}",
            expected.ty(),
            found[at],
            all[at]
        ))),
    }
}
