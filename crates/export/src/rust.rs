//! A program as a crate of Rust: the compiled program and its weights as bytes, and the few ops that it calls.
//!
//! Nothing of the compiler, the planner, the debugger, or of readers of other files is linked: the program was compiled
//! here, and the core's own interpreter applies it, call by call.

use std::collections::BTreeSet;
use std::sync::Arc;

use fluvial_compile::{Options as Compiling, compile};
use fluvial_core::{
    Block, Call, Error, Loc, OpDef, Program, Result, State, Tensor, map_blocks, structural,
};
use fluvial_data::safetensors;

use crate::{Export, Size, files};

/// How a program becomes a crate.
#[derive(Clone, Debug)]
pub struct RustOptions {
    /// The name of the crate and of its files.
    pub name: String,
    /// Sizes that are settled; others stay open.
    pub sizes: Vec<Size>,
    /// The outputs; all of them, if there are none.
    pub outputs: Vec<String>,
    /// The folder of the crates of Fluvial; without it, they are named by their version.
    pub crates: Option<String>,
}

impl Default for RustOptions {
    fn default() -> RustOptions {
        RustOptions { name: "model".into(), sizes: Vec::new(), outputs: Vec::new(), crates: None }
    }
}

/// A program as a crate of Rust, with a library and a binary that reads and writes `.npy` files. Initial values of states
/// are those that `state` has, or those that the program computes.
///
/// ```
/// use fluvial_core::{DType, Program, State, Type};
/// use fluvial_export::{RustOptions, export_rust};
///
/// let ty = Type::of(DType::F32, &[2])?;
/// let program = Program::build(&[("x", ty)], |x| Ok(vec![&x[0] * 2.0 + 1.0]))?;
/// let exported = export_rust(&program, &State::new(), &RustOptions::default())?;
/// assert!(exported.text("src/lib.rs").is_some_and(|text| text.contains("op(\"fused\")")));
/// # Ok::<(), fluvial_core::Error>(())
/// ```
pub fn export_rust(program: &Program, state: &State, options: &RustOptions) -> Result<Export> {
    check(options)?;
    let outputs: Vec<&str> = match options.outputs.is_empty() {
        true => program.outputs.iter().map(|name| &**name).collect(),
        false => options.outputs.iter().map(|name| &**name).collect(),
    };
    let compiled = compile(program, &outputs, &Compiling::default())?.program;
    let values = files::first_values(program, &compiled, state)?;
    let main = plain(&files::known(&compiled.main, &options.sizes)?)?;
    let mut ops = BTreeSet::new();
    named(&main, &mut ops)?;
    let mut states = compiled.states.clone();
    states.retain(|name, _| values.iter().any(|(known, _)| **known == **name));
    let crated = Program { states, startup: Block::default(), main, ..compiled }.unbound();
    let name = &options.name;
    let ops: String = ops.iter().map(|name| format!("    op(\"{name}\"),\n")).collect();
    let lib = include_str!("../rust/lib.rs").replace("@NAME@", name).replace("@OPS@", &ops);
    let main = include_str!("../rust/main.rs")
        .replace("@NAME@", name)
        .replace("@CRATE@", &name.replace('-', "_"));
    Ok(Export {
        files: vec![
            ("Cargo.toml".into(), manifest(options).into_bytes()),
            ("src/lib.rs".into(), lib.into_bytes()),
            ("src/main.rs".into(), main.into_bytes()),
            (format!("src/{name}.flb"), crated.to_bytes()),
            (format!("src/{name}.safetensors"), weights(&values)?),
        ],
        arena_bytes: 0,
    })
}

fn check(options: &RustOptions) -> Result<()> {
    let name = &options.name;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(fits) {
        return Err(Error::argument(format!("`{name}` is not a name of a crate"))
            .remedy("use letters, digits, `-` and `_`, beginning with a letter"));
    }
    match options.sizes.iter().find(|size| size.is_bound) {
        Some(size) => Err(Error::argument(format!("the size `{}` has a bound", size.name))
            .remedy("leave it open, which needs no bound in Rust, or give it: `NAME=NUMBER`")),
        None => Ok(()),
    }
}

/// The block with lines that name files without their folders, and without what only a debugger asks for.
fn plain(block: &Block) -> Result<Block> {
    let mut plained = block.clone();
    for call in &mut plained.calls {
        call.loc = without_folder(call.loc);
        call.twin = None;
        if !call.op.blocks().is_empty() {
            call.op = map_blocks(&call.op, &mut |inner| plain(inner).map(Arc::new))?;
        }
    }
    Ok(plained)
}

fn without_folder(loc: Loc) -> Loc {
    if !loc.is_known() {
        return loc;
    }
    let file = loc.file();
    let file = file.rsplit(['/', '\\']).next().unwrap_or_default();
    Loc::intern(file, loc.line(), loc.column(), loc.function().as_deref(), None)
        .with_marks(loc.marks())
}

/// The names of the ops that a block calls, apart from those of the core, which are always there.
fn named(block: &Block, names: &mut BTreeSet<&'static str>) -> Result<()> {
    let has = |defs: &[OpDef], call: &Call| defs.iter().any(|def| def.name == call.op.name());
    for call in &block.calls {
        if !has(structural::OPS, call) {
            if !has(fluvial_ops::OPS, call) && !has(fluvial_compile::OPS, call) {
                return Err(Error::program(format!(
                    "the op `{}` is not one of Fluvial's own",
                    call.op.name()
                ))
                .remedy("write it with ops of Fluvial, or use the crate `fluvial` itself")
                .at(call.loc));
            }
            names.insert(call.op.name());
        }
        call.op.blocks().iter().try_for_each(|inner| named(inner, names))?;
    }
    Ok(())
}

fn manifest(options: &RustOptions) -> String {
    let source = match &options.crates {
        Some(folder) => format!("path = \"{}/", folder.replace('\\', "/").trim_end_matches('/')),
        None => format!("version = \"{}\", package = \"fluvial-", env!("CARGO_PKG_VERSION")),
    };
    include_str!("../rust/Cargo.toml").replace("@NAME@", &options.name).replace("@SOURCE@", &source)
}

fn weights(values: &[(String, Tensor)]) -> Result<Vec<u8>> {
    let all: Vec<(&str, &Tensor)> = values.iter().map(|(name, x)| (&**name, x)).collect();
    let mut bytes = Vec::new();
    safetensors::write(&mut bytes, &all, "the weights")?;
    Ok(bytes)
}
