//! Building: the same code that runs imperatively, run in a building scope.

use std::sync::Arc;

use fluvial_tensor::{Error, Result, Type};

use super::Program;
use crate::block::{Block, ValueId};
use crate::trace::{self, Depth, Frame, FrameKind, Traced, with_frames};
use crate::var::Var;

impl Program {
    /// The program of `f` on inputs of these names and types. Its outputs are named `out0`,
    /// `out1`, …; use [`begin_program`] and [`end_program`] to name them.
    ///
    /// ```
    /// use fluvial_core::{DType, Dim, Program, Type};
    ///
    /// let ty = Type::new(DType::F32, &[Dim::symbol("batch")?, Dim::size(2)])?;
    /// let program = Program::build(&[("x", ty)], |x| Ok(vec![&x[0] * 2.0 + 1.0]))?;
    /// assert_eq!(program.output_types().next().unwrap().to_string(), "f32[batch, 2]");
    /// # Ok::<(), fluvial_core::Error>(())
    /// ```
    pub fn build(
        inputs: &[(&str, Type)],
        f: impl FnOnce(&[Var]) -> Result<Vec<Var>>,
    ) -> Result<Program> {
        let _depth = Depth::here();
        begin_program();
        let inputs = inputs.iter().map(|(name, ty)| program_input(name, *ty));
        let results = f(&inputs.collect::<Result<Vec<_>>>()?)?;
        let names: Vec<String> = (0..results.len()).map(|i| format!("out{i}")).collect();
        end_program(&names.iter().map(String::as_str).zip(&results).collect::<Vec<_>>())
    }
}

impl Program {
    /// Declares the states of this program in the one being built, with their initialisers.
    pub(super) fn declare_states(&self) -> Result<()> {
        self.startup.check_form()?;
        trace::adopt_states(&self.states, &self.startup)
    }
}

/// Begins a program: from here on, ops of this thread are appended to it.
pub fn begin_program() {
    trace::push(FrameKind::Program(Box::default()), &[]);
}

/// An input of the program being built; blocks inside of it may ask for one, too.
#[track_caller]
pub fn program_input(name: &str, ty: Type) -> Result<Var> {
    let loc = crate::scope::user_line();
    let reserved =
        ty.dims().iter().find(|dim| dim.symbol_name().is_some_and(|name| name.starts_with('_')));
    if let Some(symbol) = reserved {
        return Err(Error::argument(format!("the size `{symbol}` of input `{name}` is reserved"))
            .remedy("name symbols without a leading underscore")
            .at(loc));
    }
    with_frames(|frames| {
        let nested = frames.iter().rev().take_while(|frame| frame.is_nested()).count();
        let home = frames.len().checked_sub(nested + 1);
        let Some(frame) = home.and_then(|home| frames.get_mut(home)) else {
            return Err(trace::nothing_is_built().at(loc));
        };
        let FrameKind::Program(root) = &frame.kind else {
            return Err(
                Error::program("inputs belong to a program, not to its initialisers").at(loc)
            );
        };
        if root.inputs.iter().any(|(known, _)| &**known == name) {
            return Err(Error::argument(format!("two inputs are named `{name}`")).at(loc));
        }
        let var = frame.param(ty);
        let id = var.symbol_id();
        frame.set_name(id, name);
        if let FrameKind::Program(root) = &mut frame.kind {
            root.inputs.push((name.into(), id));
        }
        Ok(var)
    })
}

/// Ends the program begun last. If it fails, the program is given up.
#[track_caller]
pub fn end_program(outputs: &[(&str, &Var)]) -> Result<Program> {
    let depth = with_frames(|frames| {
        frames.iter().rposition(|frame| matches!(frame.kind, FrameKind::Program(_)))
    });
    let Some(depth) = depth else { return Err(trace::nothing_is_built()) };
    let _given_up = Depth::at(depth);
    if with_frames(|frames| frames.len() > depth + 1) {
        return Err(Error::program("a block inside the program is still open")
            .remedy("end every block before the program"));
    }
    for (i, (name, _)) in outputs.iter().enumerate() {
        if outputs[..i].iter().any(|(earlier, _)| earlier == name) {
            return Err(Error::argument(format!("two outputs are named `{name}`")));
        }
    }
    trace::flush_grads()?;
    let results: Vec<&Var> = outputs.iter().map(|(_, var)| *var).collect();
    let traced = trace::end_block(&results)?;
    finish(traced, outputs.iter().map(|(name, _)| Arc::from(*name)).collect())
}

/// Gives up the program begun last, and the blocks open inside it.
pub fn abort_program() {
    let depth = with_frames(|frames| {
        frames.iter().rposition(|frame| matches!(frame.kind, FrameKind::Program(_)))
    });
    drop(depth.map(Depth::at));
}

/// The program being built as it is now, with these outputs. Building goes on.
///
/// ```
/// use fluvial_core::{DType, Type, abort_program, begin_program, program_input, snapshot_program};
///
/// begin_program();
/// let x = program_input("x", Type::of(DType::F32, &[2])?)?;
/// let y = &x * 2.0;
/// let first = snapshot_program(&[("y", &y)])?;
/// let second = snapshot_program(&[("z", &(&y + 1.0))])?;
/// assert!(first.main.calls.len() < second.main.calls.len());
/// abort_program();
/// # Ok::<(), fluvial_core::Error>(())
/// ```
#[track_caller]
pub fn snapshot_program(outputs: &[(&str, &Var)]) -> Result<Program> {
    let loc = crate::scope::user_line();
    let ids = outputs.iter().map(|(_, var)| trace::localise(var, loc));
    let ids = ids.collect::<Result<Vec<ValueId>>>()?;
    with_frames(|frames| {
        let Some(frame) = frames.last() else { return Err(trace::nothing_is_built().at(loc)) };
        let FrameKind::Program(root) = &frame.kind else {
            return Err(Error::program("a block inside the program is still open")
                .remedy("end every block before the program is run or saved")
                .at(loc));
        };
        let startup = root.startup.as_ref().map(|startup| Traced::preview(startup, &[]));
        Ok(Program {
            states: root.states.clone(),
            startup: startup.unwrap_or_default(),
            main: Traced::preview(frame, &ids),
            inputs: root.inputs.iter().map(|(name, _)| name.clone()).collect(),
            outputs: outputs.iter().map(|(name, _)| Arc::from(*name)).collect(),
        })
    })
}

/// A program under construction that takes no ops at the moment.
///
/// ```
/// use fluvial_core::{Program, Type, begin_program, end_program, program_input};
/// use fluvial_core::{DType, Mode, mode, resume_program, suspend_program};
///
/// begin_program();
/// let x = program_input("x", Type::of(DType::F32, &[2])?)?;
/// let draft = suspend_program()?;
/// assert_eq!(mode(), Mode::Imperative);
/// resume_program(draft);
/// let program: Program = end_program(&[("y", &(x * 2.0))])?;
/// # Ok::<(), fluvial_core::Error>(())
/// ```
pub struct Draft(Frame);

impl Draft {
    /// Grows with everything that is appended, so that a program of an earlier version can be told
    /// from what there is now.
    pub fn version(&self) -> usize {
        self.0.types.len() + self.0.calls.len()
    }

    /// Whether the value belongs to this program.
    pub fn owns(&self, var: &Var) -> bool {
        trace::symbol_of(var).is_some_and(|symbol| symbol.frame == self.0.id)
    }
}

/// Stops building for a while: ops of this thread run as they did before the program was begun.
pub fn suspend_program() -> Result<Draft> {
    with_frames(|frames| match frames.last().map(|frame| &frame.kind) {
        Some(FrameKind::Program(_)) => frames.pop(),
        _ => None,
    })
    .map(|frame| Draft(frame.leave()))
    .ok_or_else(|| {
        Error::program("a block inside the program is still open, or none is being built")
            .remedy("end every block before the program is left")
    })
}

/// Goes on with a program under construction: ops of this thread are appended to it again.
pub fn resume_program(draft: Draft) {
    let guard = crate::scope::with_mode(crate::scope::Mode::Building);
    with_frames(|frames| frames.push(draft.0.enter(guard)));
}

fn finish(traced: Traced, outputs: Vec<Arc<str>>) -> Result<Program> {
    let (main, frame) = traced.into_block();
    let FrameKind::Program(root) = frame.kind else {
        return Err(Error::internal("the frame of a program is of another kind"));
    };
    let startup = match root.startup {
        Some(frame) => Traced::new(frame, Vec::<ValueId>::new()).into_block().0,
        None => Block::default(),
    };
    let inputs = root.inputs.into_iter().map(|(name, _)| name).collect();
    Ok(Program { states: root.states, startup, main, inputs, outputs })
}
