//! Runs the passes and keeps account of what they do.

use std::sync::Arc;

use fluvial_core::{Block, Call, Loc, Program, Result, map_blocks, verify};

use crate::passes;
use crate::pipeline::{Pass, pipeline};

/// How to compile.
#[derive(Clone, Debug)]
pub struct Options {
    /// Stop after so many patches, to find the one that is at fault by bisection.
    pub max_patches: Option<usize>,
    /// The most bytes that a run may hold at once beside inputs and states. To keep to it, values are
    /// computed again instead of being kept; a run for whose sizes that is not enough is an error.
    pub memory_limit: Option<usize>,
    /// The passes to leave out, by name.
    pub without: Vec<String>,
    /// Whether results may differ in their last bits from what the interpreter gives, where that is faster: one
    /// op runs for a spelling of it with small ones. Otherwise all bits are the same.
    pub fast: bool,
    /// Whether the program is verified after each pass. Costs about as much as the passes.
    pub verify: bool,
    /// Whether the program is kept as it was after each pass.
    pub keep_stages: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            max_patches: None,
            memory_limit: None,
            without: Vec::new(),
            fast: false,
            verify: cfg!(debug_assertions),
            keep_stages: false,
        }
    }
}

/// One change that a pass made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The pass.
    pub pass: &'static str,
    /// What was done, in a few words.
    pub what: String,
    /// The line of the user's code that the changed call belongs to.
    pub loc: Loc,
}

/// A program that has been through the passes.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The program.
    pub program: Program,
    /// What was done, in order.
    pub patches: Vec<Patch>,
    /// If asked for: the name of each pass and the program after it.
    pub stages: Vec<(&'static str, Program)>,
}

/// Compiles the part of a program that the named outputs need, and all its effects. Results
/// have the bits that the interpreter gives, unless [`Options::fast`] allows others.
///
/// ```
/// use fluvial_compile::{Options, compile};
/// use fluvial_core::{DType, Program, Type};
///
/// let ty = Type::of(DType::F32, &[2])?;
/// let program = Program::build(&[("x", ty)], |x| {
///     let d = &x[0] * &x[0];
///     Ok(vec![&d + 1.0])
/// })?;
/// let compiled = compile(&program, &["out0"], &Options::default())?;
/// assert_eq!(compiled.program.main.calls.len(), 1);
/// # Ok::<(), fluvial_core::Error>(())
/// ```
pub fn compile(program: &Program, outputs: &[&str], options: &Options) -> Result<Compiled> {
    verify(program)?;
    let positions = outputs.iter().map(|name| program.output(name)).collect::<Result<Vec<_>>>()?;
    let results = positions.iter().map(|&i| program.main.results[i]).collect();
    let mut program = Program {
        main: passes::dead::with_results(&program.main, results)?,
        outputs: outputs.iter().map(|&name| name.into()).collect(),
        ..program.clone()
    };
    let mut patches = Patches { done: Vec::new(), max: options.max_patches, pass: "" };
    let mut stages = Vec::new();
    for pass in pipeline() {
        let is_left_out = options.without.iter().any(|name| name == pass.name);
        if is_left_out || !options.fast && !pass.exact {
            continue;
        }
        patches.pass = pass.name;
        program.main = on_all_blocks(pass, &program.main, &mut patches)?;
        if options.verify {
            verify(&program)
                .map_err(|error| error.note(format!("after the pass `{}`", pass.name)))?;
        }
        if options.keep_stages {
            stages.push((pass.name, program.clone()));
        }
    }
    Ok(Compiled { program, patches: patches.done, stages })
}

/// Runs a pass on the blocks of the calls, and then on the block itself.
fn on_all_blocks(pass: &Pass, block: &Block, patches: &mut Patches) -> Result<Block> {
    let has_blocks = |call: &Call| !call.op.blocks().is_empty();
    if !block.calls.iter().any(has_blocks) {
        return (pass.run)(block, patches);
    }
    let inner = block.rewrite(|on, _, call| {
        if !has_blocks(call) {
            return Ok(None);
        }
        let op =
            map_blocks(&call.op, &mut |inner| on_all_blocks(pass, inner, patches).map(Arc::new))?;
        Ok(Some(on.push(op, &call.inputs, block.output_types(call), call.loc)))
    })?;
    (pass.run)(&inner, patches)
}

/// The patches so far, and whether there may be more.
#[derive(Default)]
pub(crate) struct Patches {
    done: Vec<Patch>,
    max: Option<usize>,
    pass: &'static str,
}

impl Patches {
    /// Whether the next patch is allowed. Asked before anything is written.
    pub(crate) fn allowed(&self) -> bool {
        self.max.is_none_or(|max| self.done.len() < max)
    }

    /// Notes a patch.
    pub(crate) fn add(&mut self, loc: Loc, what: impl FnOnce() -> String) {
        self.done.push(Patch { pass: self.pass, what: what(), loc });
    }
}
