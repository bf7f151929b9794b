//! Random programs as ONNX models are read as programs that give the same bits.

use std::path::{Path, PathBuf};

use fluvial_bridge::onnx::{self, SaveOptions, exported, load_bytes, to_bytes};
use fluvial_core::{Block, Call, DType, Dim, ErrorKind, Program, Result, Tensor, Type, Var};
use fluvial_data::{files, safetensors};
use fluvial_testkit::random::Case;

/// onnxruntime has most ops for these types.
const DTYPES: [DType; 6] =
    [DType::F32, DType::F32, DType::F32, DType::F32, DType::I64, DType::Bool];

/// Ops that no single op of ONNX is, so that their last bits may be others when they are read again.
const COMPOSED: [&str; 23] = [
    "arange",
    "attention",
    "elu",
    "exp2",
    "expm1",
    "floor_div",
    "gelu",
    "gelu_tanh",
    "hard_sigmoid",
    "log10",
    "log1p",
    "log2",
    "log_sigmoid",
    "logcumsumexp",
    "lstm_update",
    "normalise",
    "gru_update",
    "remainder",
    "resample",
    "rsqrt",
    "silu",
    "softplus",
    "square",
];

/// So many are written; `FLUVIAL_ONNX_CASES` asks for more, and `FLUVIAL_ONNX_FOLDER` keeps the models, with inputs and
/// results, for other runtimes.
fn n_cases() -> usize {
    let text = std::env::var("FLUVIAL_ONNX_CASES").ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(60)
}

fn kept() -> Option<PathBuf> {
    std::env::var_os("FLUVIAL_ONNX_FOLDER").map(PathBuf::from)
}

fn program(case: &Case) -> Result<Program> {
    let names: Vec<String> = (0..case.types.len()).map(|i| format!("x{i}")).collect();
    let inputs = names.iter().map(String::as_str).zip(case.types.iter().copied());
    Program::build(&inputs.collect::<Vec<_>>(), |x| case.apply(x))
}

fn applied(program: &Program, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let vars: Vec<Var> = inputs.iter().cloned().map(Var::new).collect();
    let found = program.apply(&vars.iter().collect::<Vec<_>>())?;
    found.iter().map(|var| var.tensor().cloned()).collect()
}

fn has_composed(program: &Program) -> bool {
    let text = program.to_string();
    COMPOSED
        .iter()
        .any(|name| ["(", "{"].iter().any(|end| text.contains(&format!("= {name}{end}"))))
}

fn has_empty(program: &Program, case: &Case) -> bool {
    let known = |symbol| case.sizes.iter().find(|(own, _)| *own == symbol).map(|(_, size)| *size);
    fn within(block: &Block, known: &dyn Fn(Dim) -> Option<Dim>) -> bool {
        let is_empty = |ty: &Type| ty.substitute(known).is_ok_and(|ty| ty.numel() == Some(0));
        let inner = |call: &Call| call.op.blocks().iter().any(|block| within(block, known));
        block.types.iter().any(is_empty) || block.calls.iter().any(inner)
    }
    within(&program.main, &known)
}

fn keep(folder: &Path, bytes: &[u8], values: &[(&str, Vec<(String, &Tensor)>)]) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| files::io("folder", error))?;
    std::fs::write(folder.join("model.onnx"), bytes).map_err(|error| files::io("model", error))?;
    for (name, tensors) in values {
        let all: Vec<(&str, &Tensor)> = tensors.iter().map(|(name, x)| (&**name, *x)).collect();
        let mut file = Vec::new();
        safetensors::write(&mut file, &all, name)?;
        std::fs::write(folder.join(name), file).map_err(|error| files::io(name, error))?;
    }
    Ok(())
}

/// Whether values are the same up to the last digits, as sums in another order leave them.
fn near(found: &Tensor, expected: &Tensor) -> bool {
    let (found, expected) = (found.to_f64s(), expected.to_f64s());
    let most = expected.iter().filter(|x| x.is_finite()).fold(0.0f64, |most, x| most.max(x.abs()));
    let close = |a: f64, b: f64| {
        a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-5 * b.abs() + 1e-6 * most
    };
    found.len() == expected.len() && found.iter().zip(&expected).all(|(&a, &b)| close(a, b))
}

/// What came of a case.
enum Outcome {
    /// It was written and read again; whether all bits are the same, by single ops.
    Right(bool),
    /// It does not run, or has values without elements, of which runtimes do not agree what follows.
    Skipped,
    /// It cannot be written.
    Refused,
}

fn check(seed: u64, only: &[&str], kept: Option<&Path>) -> Result<Outcome, String> {
    let case = Case::random_of(seed, Some(only), &DTYPES);
    let program = program(&case).map_err(|error| error.to_string())?;
    let told = |what: &dyn std::fmt::Display| format!("{what}\n{program:#}");
    if has_empty(&program, &case) {
        return Ok(Outcome::Skipped);
    }
    let Ok(expected) = applied(&program, &case.inputs) else { return Ok(Outcome::Skipped) };
    let bytes = match to_bytes(&program, SaveOptions::default()) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::Internal => return Err(told(&error)),
        Err(_) => return Ok(Outcome::Refused),
    };
    let again = match load_bytes(&bytes, &onnx::Options::default()) {
        Ok(again) => again,
        // A size that is open here must be known when it is read.
        Err(error) if error.kind() == ErrorKind::Symbolic => return Ok(Outcome::Refused),
        Err(error) => return Err(told(&error)),
    };
    let found = applied(&again, &case.inputs).map_err(|error| told(&error))?;
    let is_exact = !has_composed(&program);
    for (expected, found) in expected.iter().zip(&found) {
        let agrees = if is_exact { found.bitwise_eq(expected) } else { near(found, expected) };
        if !agrees {
            return Err(format!("{found} is not {expected}\n{program:#}\n{again:#}"));
        }
    }
    if let Some(folder) = kept {
        let inputs = case.inputs.iter().enumerate().map(|(i, x)| (format!("x{i}"), x));
        let outputs = program.outputs.iter().map(|name| name.to_string()).zip(&expected);
        let values = [
            ("inputs.safetensors", inputs.collect::<Vec<_>>()),
            ("outputs.safetensors", outputs.collect::<Vec<_>>()),
        ];
        keep(&folder.join(seed.to_string()), &bytes, &values).map_err(|error| error.to_string())?;
    }
    Ok(Outcome::Right(is_exact))
}

#[test]
fn they_are_read_again() {
    let only: Vec<&str> = exported();
    let (n_cases, kept) = (n_cases(), kept());
    let (mut written, mut same, mut refused) = (0, 0, 0);
    let mut faults: Vec<String> = Vec::new();
    for seed in 0..4 * n_cases as u64 {
        match check(seed, &only, kept.as_deref()) {
            Ok(Outcome::Right(is_exact)) => {
                written += 1;
                same += usize::from(is_exact);
            }
            Ok(Outcome::Skipped) => {}
            Ok(Outcome::Refused) => refused += 1,
            Err(fault) => faults.push(format!("seed {seed}: {fault}")),
        }
        if written + faults.len() == n_cases {
            break;
        }
    }
    println!("{written} models, {same} of them with the same bits, {refused} refused");
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n\n"));
    assert_eq!(written, n_cases, "{refused} were refused");
    assert!(12 * same >= written, "only {same} of {written} are made of single ops");
}
