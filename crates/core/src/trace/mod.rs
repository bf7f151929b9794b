//! Building: the stack of blocks under construction in this thread, and how an op is appended.
//!
//! The top frame takes the ops. A value of a lower frame used in the top one is *captured*: it
//! becomes a parameter of each frame between. So a finished block sees its parameters only.

mod close;
mod faults;
pub(crate) mod frame;
mod freed;
mod grads;
mod history;
mod joins;
mod left;
mod states;
mod versions;

use std::cell::RefCell;
use std::sync::Arc;

use fluvial_tensor::{Dim, Error, Loc, Result, Tensor, Type, interrupt};
use smallvec::SmallVec;

pub use close::{Closed, Traced, close};
pub use faults::{FaultHook, note_value, on_fault};
pub(crate) use frame::{Frame, FrameKind, Pending};
pub use freed::{FreedBy, freed_behind};
pub(crate) use freed::{is_freed, perhaps_freed};
pub(crate) use grads::{flush as flush_grads, going_back, leaves, origin};
pub use grads::{follows_lines, grad_of_run, inputs_are_said, leaf_input, tracked_input};
pub(crate) use history::Lost;
pub use joins::Runs;
pub use left::Gradients;
pub(crate) use states::{
    adopt_states, assign_cell, assign_symbolic, declare_cell, declare_symbolic, names_of,
    read_cell, read_symbolic, root,
};
pub use states::{building_states, hold_cell, hold_states, release_cell, release_states};
pub use versions::LeafHooks;
pub(crate) use versions::{hooks_of, leaf_again};

use crate::bind::{Outputs, judged};
use crate::block::{Block, ValueId};
use crate::op::OpRef;
use crate::scope::{self, Mode};
use crate::structural;
use crate::tape::Hook;
use crate::value::Value;
use crate::var::{Repr, Symbol, Var};

thread_local! {
    static FRAMES: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
}

/// Runs `f` on the stack of frames. `f` must not call `bind`.
pub(crate) fn with_frames<R>(f: impl FnOnce(&mut Vec<Frame>) -> R) -> R {
    FRAMES.with_borrow_mut(f)
}

fn top<R>(f: impl FnOnce(&mut Frame) -> Result<R>) -> Result<R> {
    with_frames(|frames| f(frames.last_mut().ok_or_else(nothing_is_built)?))
}

/// Shows `f` the calls of the block under construction from this number on, and those in their blocks, with the
/// types of their inputs. Returns the number of the next call.
pub fn visit_calls_from(first: usize, f: &mut dyn FnMut(&OpRef, &[&Type], Loc)) -> usize {
    with_frames(|frames| {
        let Some(frame) = frames.last() else { return 0 };
        for call in frame.calls.iter().skip(first) {
            let types: SmallVec<[&Type; 4]> =
                call.inputs.iter().map(|&id| &frame.types[id as usize]).collect();
            f(&call.op, &types, call.loc);
            call.op.blocks().iter().for_each(|block| visit_block(block, f));
        }
        frame.calls.len()
    })
}

fn visit_block(block: &Block, f: &mut dyn FnMut(&OpRef, &[&Type], Loc)) {
    for call in &block.calls {
        f(&call.op, &block.input_types(call), call.loc);
        call.op.blocks().iter().for_each(|block| visit_block(block, f));
    }
}

#[cold]
pub(crate) fn nothing_is_built() -> Error {
    Error::symbolic("no program is being built in this thread")
        .remedy("build inside `Program::build`, or between `begin_program` and `end_program`")
}

/// Opens a block with parameters of these types inside the block being built.
pub fn begin_block(params: &[Type]) -> Result<Vec<Var>> {
    if with_frames(|frames| frames.is_empty()) {
        return Err(nothing_is_built());
    }
    // A block sees gradients as states, which a loop carries from trip to trip.
    grads::flush()?;
    Ok(push(FrameKind::Nested, params))
}

pub(crate) fn push(kind: FrameKind, params: &[Type]) -> Vec<Var> {
    let guard = scope::with_mode(Mode::Building);
    let guard = match kind {
        FrameKind::Program(_) => scope::recorded(scope::unmarked(guard)),
        FrameKind::Free | FrameKind::Startup => scope::recorded(guard),
        FrameKind::Nested | FrameKind::Outline => guard,
    };
    with_frames(|frames| {
        let mut frame = Frame::new(kind, guard);
        let params = params.iter().map(|&ty| frame.param(ty)).collect();
        frames.push(frame);
        params
    })
}

/// Closes the block opened last, also if it fails; `results` are what it returns.
#[track_caller]
pub fn end_block(results: &[&Var]) -> Result<Traced> {
    end_block_at(scope::user_line(), results)
}

fn end_block_at(loc: Loc, results: &[&Var]) -> Result<Traced> {
    let is_nested = with_frames(|frames| frames.last().is_some_and(Frame::is_nested));
    let ids = {
        // What was made where nothing is recorded leaves a block without its history, whoever asks for it.
        let _recording = is_nested.then(scope::enable_grad);
        let ids = results.iter().map(|var| localise(var, loc)).collect::<Result<Vec<_>>>();
        ids.and_then(|ids| if is_nested { grads::flush().map(|()| ids) } else { Ok(ids) })
    };
    let frame = with_frames(Vec::pop).ok_or_else(nothing_is_built)?.leave();
    let ids = ids?;
    states::check_waited(&frame)?;
    Ok(Traced::new(frame, ids))
}

/// Gives up the block opened last, for callers that met an exception of their own.
pub fn abort_block() {
    drop(with_frames(Vec::pop));
}

/// Traces `f` as a block inside the block being built.
#[track_caller]
pub fn trace_block(params: &[Type], f: impl FnOnce(&[Var]) -> Result<Vec<Var>>) -> Result<Traced> {
    trace_block_at(scope::user_line(), params, f)
}

/// [`trace_block`] on behalf of the line `loc`: constants that `f` returns stand there.
pub fn trace_block_at(
    loc: Loc,
    params: &[Type],
    f: impl FnOnce(&[Var]) -> Result<Vec<Var>>,
) -> Result<Traced> {
    let _depth = Depth::here();
    let params = begin_block(params)?;
    end_block_at(loc, &f(&params)?.iter().collect::<Vec<_>>())
}

/// Traces `f` as a block of its own, which can capture nothing.
pub(crate) fn trace_free(
    params: &[Type],
    f: impl FnOnce(&[Var]) -> Result<Vec<Var>>,
) -> Result<Traced> {
    let _depth = Depth::here();
    let params = push(FrameKind::Free, params);
    end_block(&f(&params)?.iter().collect::<Vec<_>>())
}

/// The block that `f` makes of parameters of these types, in either mode. It sees nothing from outside.
pub fn free_block(
    params: &[Type],
    f: impl FnOnce(&[Var]) -> Result<Vec<Var>>,
) -> Result<Arc<Block>> {
    let (block, _) = trace_free(params, f)?.into_block();
    Ok(Arc::new(block))
}

/// The types of what `f` returns for parameters of these types, in either mode, without running or
/// building anything: what it reads from outside is opaque, and what it assigns is forgotten.
pub fn outline(params: &[Type], f: impl FnOnce(&[Var]) -> Result<Vec<Var>>) -> Result<Vec<Type>> {
    let _depth = Depth::here();
    let params = push(FrameKind::Outline, params);
    let results = f(&params)?;
    end_block(&results.iter().collect::<Vec<_>>()).map(|traced| traced.result_types())
}

/// Gives up the frames that an error or a panic has left open above this depth when dropped.
pub(crate) struct Depth(usize);

impl Depth {
    pub fn here() -> Depth {
        Depth(with_frames(|frames| frames.len()))
    }

    pub fn at(depth: usize) -> Depth {
        Depth(depth)
    }
}

impl Drop for Depth {
    fn drop(&mut self) {
        // One by one, the last first, so that scopes are put back in order.
        while with_frames(|frames| frames.len() > self.0) {
            abort_block();
        }
    }
}

/// Appends a call to the block being built.
pub(crate) fn append(op: OpRef, inputs: &[&Var], loc: Loc) -> Result<Outputs> {
    faults::tell(&op, inputs, loc)?;
    let mut ids: SmallVec<[ValueId; 4]> = SmallVec::new();
    for var in inputs {
        ids.push(localise(var, loc)?);
    }
    let types: SmallVec<[Type; 4]> =
        top(|frame| Ok(ids.iter().map(|&id| frame.types[id as usize]).collect()))?;
    let outs = judged(&op, &types, loc, |refs| crate::op::inferred(&*op, refs))?;
    let outs = match top(|frame| Ok(frame.suggested.take()))? {
        Some(declared) if declared.len() == outs.len() => declared,
        _ => name_fresh_sizes(&outs)?,
    };
    let outputs = top(|frame| Ok(frame.call(op, ids, &outs, loc)))?;
    match scope::is_recording() {
        true => Ok(outputs),
        false => Ok(outputs.into_iter().map(Var::into_recorded).collect()),
    }
}

/// Replaces sizes that only a run will know by new symbols, the same for equal placeholders.
pub(crate) fn name_fresh_sizes(types: &[Type]) -> Result<SmallVec<[Type; 2]>> {
    let minted = RefCell::new(Vec::<(u8, Result<Dim>)>::new());
    let name = |dim: Dim| {
        let k = dim.fresh_index()?;
        let mut minted = minted.borrow_mut();
        if !minted.iter().any(|(known, _)| *known == k) {
            minted.push((k, mint_symbol()));
        }
        minted.iter().find(|(known, _)| *known == k)?.1.clone().ok()
    };
    let named = types.iter().map(|ty| match ty.is_symbolic() {
        true => ty.substitute(&name),
        false => Ok(*ty),
    });
    let named = named.collect::<Result<_>>()?;
    minted.into_inner().into_iter().try_for_each(|(_, symbol)| symbol.map(drop))?;
    Ok(named)
}

/// The types with a new symbol for each one in them: for blocks whose parameters have sizes that only a run
/// knows.
pub fn new_symbols(types: &[Type]) -> Result<Vec<Type>> {
    let minted = RefCell::new(Vec::<(Dim, Result<Dim>)>::new());
    let name = |dim: Dim| {
        dim.symbol_name()?;
        let mut minted = minted.borrow_mut();
        if !minted.iter().any(|(known, _)| *known == dim) {
            minted.push((dim, mint_symbol()));
        }
        minted.iter().find(|(known, _)| *known == dim)?.1.clone().ok()
    };
    let named = types.iter().map(|ty| ty.substitute(&name)).collect::<Result<_>>()?;
    minted.into_inner().into_iter().try_for_each(|(_, symbol)| symbol.map(drop))?;
    Ok(named)
}

/// Gives the types of the outputs of the next call, whose open sizes have names already.
pub(crate) fn suggest_types(types: SmallVec<[Type; 2]>) {
    with_frames(|frames| {
        if let Some(frame) = frames.last_mut() {
            frame.suggested = Some(types);
        }
    });
}

/// Keeps the names of open sizes in these types from being given again.
pub(crate) fn reserve_symbols(types: &[Type]) -> Result<()> {
    let names = types.iter().flat_map(|ty| ty.dims().to_vec()).flat_map(Dim::symbols);
    let numbers = names.filter_map(|dim| dim.symbol_name()?.strip_prefix('_')?.parse::<u32>().ok());
    let next = numbers.max().map_or(0, |last| last.saturating_add(1));
    with_frames(|frames| {
        let lowest = frames.first_mut().ok_or_else(nothing_is_built)?;
        lowest.n_fresh = lowest.n_fresh.max(next);
        Ok(())
    })
}

/// A symbol that no block under construction uses yet. Counted from the lowest frame, so that
/// building the same code again gives the same names.
pub(crate) fn mint_symbol() -> Result<Dim> {
    let number = with_frames(|frames| {
        let lowest = frames.first_mut().ok_or_else(nothing_is_built)?;
        lowest.n_fresh += 1;
        Ok(lowest.n_fresh - 1)
    })?;
    Dim::symbol(&format!("_{number}"))
}

/// The number of `var` in the top frame: its own, that of a constant, or that of a capture.
pub(crate) fn localise(var: &Var, loc: Loc) -> Result<ValueId> {
    match &var.0.repr {
        Repr::Failed(error) => Err(error.clone()),
        Repr::Value(_) if in_outline() => opaque(var),
        Repr::Value(_) if var.is_tracked() => Err(Error::gradient(
            "a tensor that is tracked for gradients was used while building a program, \
             where it would become a constant",
        )
        .remedy("make it a state (`parameter`), pass it as an input, or `detach` it")
        .at(loc)),
        Repr::Value(value) => constant(var, value, loc),
        Repr::Symbol(symbol) => {
            let cut = symbol.constant && scope::is_recording();
            capture(symbol, cut, loc).map_err(|error| error.at(loc))
        }
    }
}

fn in_outline() -> bool {
    with_frames(|frames| frames.iter().any(|frame| matches!(frame.kind, FrameKind::Outline)))
}

/// A parameter of the outline that stands for a value from outside; blocks in it capture it.
fn opaque(var: &Var) -> Result<ValueId> {
    with_frames(|frames| {
        let is_outline = |frame: &Frame| matches!(frame.kind, FrameKind::Outline);
        let home = frames.iter().rposition(is_outline).ok_or_else(nothing_is_built)?;
        let id = frames[home].param(var.ty()).symbol_id();
        capture_from(frames, home, id)
    })
}

fn constant(var: &Var, value: &Value, loc: Loc) -> Result<ValueId> {
    let Ok(tensor) = value.tensor() else {
        return Err(Error::symbolic("a list cannot become a constant of a program").at(loc));
    };
    let key = Arc::as_ptr(&var.0) as usize;
    with_frames(|frames| {
        let top = frames.len().checked_sub(1).ok_or_else(nothing_is_built)?;
        // Numbers stand where they are used; larger tensors stand once, outside all loops.
        let home = match tensor.numel() <= 1 {
            true => top,
            false => frames.iter().rposition(|frame| !frame.is_nested()).unwrap_or(top),
        };
        let frame = &mut frames[home];
        let id = match frame.constants.get(&key) {
            Some((_, id)) => *id,
            None => {
                let op = OpRef::new(structural::Constant { value: tensor.clone() });
                let outputs = frame.call(op, SmallVec::new(), &[tensor.ty()], loc);
                let id = outputs[0].symbol_id();
                frame.constants.insert(key, (var.clone(), id));
                id
            }
        };
        capture_from(frames, home, id)
    })
}

/// The number of a value in the top frame; with `cut`, of the value without its history.
fn capture(symbol: &Symbol, cut: bool, loc: Loc) -> Result<ValueId> {
    with_frames(|frames| match frames.iter().rposition(|frame| frame.id == symbol.frame) {
        Some(home) => {
            let id = match cut {
                true => frames[home].without_history(symbol.id, loc),
                false => symbol.id,
            };
            capture_from(frames, home, id)
        }
        None => Err(Error::symbolic(format!(
            "a value of type {} belongs to a block that is already closed, or to another thread",
            symbol.ty
        ))
        .remedy("return it from that block, and use what the call of the block returns")),
    })
}

/// Brings a value of frame `home` up to the top frame.
fn capture_from(frames: &mut [Frame], home: usize, mut id: ValueId) -> Result<ValueId> {
    for level in home + 1..frames.len() {
        let (lower, upper) = frames.split_at_mut(level);
        let (outer, frame) = (&lower[level - 1], &mut upper[0]);
        id = frame.capture(outer, id)?;
    }
    Ok(id)
}

/// Captures, for each symbol that the top frame uses and the frame below binds, a value that has it
/// as a size: for blocks that will not run inside the one below.
pub(crate) fn capture_sizes() -> Result<()> {
    with_frames(|frames| {
        let Some((frame, [.., outer])) = frames.split_last_mut() else { return Ok(()) };
        let has = |ty: &Type, symbol: Dim| !ty.is_list() && ty.dims().contains(&symbol);
        let mut used: Vec<Dim> = Vec::new();
        for call in &frame.calls {
            call.op.attrs().symbols(&mut used);
        }
        used.extend(frame.types.iter().flat_map(|ty| ty.dims().to_vec()).flat_map(Dim::symbols));
        used.sort_unstable_by_key(|symbol| symbol.symbol_name());
        used.dedup();
        for symbol in used {
            let binds = |id: &ValueId, types: &[Type]| has(&types[*id as usize], symbol);
            let bound = frame.params.iter().any(|id| binds(id, &frame.types))
                || outer.params.iter().any(|id| binds(id, &outer.types));
            let source = outer.types.iter().position(|ty| has(ty, symbol));
            if let Some(id) = source.filter(|_| !bound) {
                frame.capture(outer, id as ValueId)?;
            }
        }
        Ok(())
    })
}

/// What a number is, also one of the program being built that follows from constants only.
pub fn known_value(var: &Var) -> Option<Tensor> {
    match &var.0.repr {
        Repr::Value(value) => value.tensor().ok().cloned(),
        Repr::Failed(_) => None,
        Repr::Symbol(symbol) => with_frames(|frames| {
            let level = frames.iter().rposition(|frame| frame.id == symbol.frame)?;
            known_in(frames, level, symbol.id, 8)?.tensor().ok().cloned()
        }),
    }
}

fn known_in(frames: &[Frame], level: usize, id: ValueId, depth: usize) -> Option<Value> {
    let frame = &frames[level];
    if depth == 0 || frame.types[id as usize].numel() != Some(1) {
        return None;
    }
    let Some(producer) = frame.producers[id as usize] else {
        let (outer, _) = frame.captures.iter().find(|(_, param)| *param == id)?;
        return known_in(frames, level.checked_sub(1)?, outer.symbol_id(), depth - 1);
    };
    let call = &frame.calls[producer as usize];
    if let Some(constant) = call.op.downcast::<structural::Constant>() {
        return Some(constant.value.clone().into());
    }
    let properties = call.op.properties();
    if call.inputs.is_empty() || properties.effect || properties.residuals {
        return None;
    }
    let inputs = call.inputs.iter().map(|&input| known_in(frames, level, input, depth - 1));
    let inputs = inputs.collect::<Option<SmallVec<[Value; 4]>>>()?;
    let outs: SmallVec<[Type; 2]> =
        call.outputs.iter().map(|&output| frame.types[output as usize]).collect();
    let _whole = interrupt::hear(false);
    let values = call.op.eval(&inputs.iter().collect::<SmallVec<[&Value; 4]>>(), &outs).ok()?;
    let position = call.outputs.iter().position(|&output| output == id)?;
    values.into_iter().nth(position)
}

/// Whether two values of the program being built are one.
pub fn same_value(a: &Var, b: &Var) -> bool {
    let local = |var: &Var| capture(&symbol_of(var)?, false, Loc::Unknown).ok();
    matches!((local(a), local(b)), (Some(a), Some(b)) if a == b)
}

/// The symbol behind a value of a program being built.
pub(crate) fn symbol_of(var: &Var) -> Option<Symbol> {
    match &var.0.repr {
        Repr::Symbol(symbol) => Some(*symbol),
        _ => None,
    }
}

fn frame_of<R>(symbol: &Symbol, f: impl FnOnce(&mut Frame) -> R) -> Option<R> {
    with_frames(|frames| frames.iter_mut().find(|frame| frame.id == symbol.frame).map(f))
}

/// A new leaf of this value.
pub(crate) fn leaf_of(var: &Var) -> Result<Var> {
    let _recording = scope::enable_grad();
    let leaf = structural::stop_gradient(var)?;
    top(|frame| {
        frame.leaves.push(leaf.symbol_id());
        Ok(())
    })?;
    Ok(leaf)
}

pub(crate) fn is_leaf(symbol: &Symbol) -> bool {
    frame_of(symbol, |frame| frame.leaves.contains(&symbol.id)).unwrap_or(false)
}

pub(crate) fn leaf_grad(symbol: &Symbol) -> Option<Var> {
    if let Some(of_parameter) = grads::get(symbol) {
        return of_parameter;
    }
    frame_of(symbol, |frame| frame.grads.get(&symbol.id).cloned()).flatten()
}

/// Adds to the gradient of a leaf.
pub(crate) fn add_leaf_grad(leaf: &Var, grad: Var) -> Result<()> {
    let Some(symbol) = symbol_of(leaf) else { return Ok(()) };
    if grads::add(&symbol, &grad)? {
        return Ok(());
    }
    let sum = match leaf.grad() {
        Some(before) => structural::accumulate(&before, &grad)?,
        None => grad,
    };
    set_leaf_grad(&symbol, Some(sum));
    Ok(())
}

pub(crate) fn set_leaf_grad(symbol: &Symbol, grad: Option<Var>) {
    if grads::set(symbol, grad.clone()) {
        return;
    }
    frame_of(symbol, |frame| match grad {
        Some(grad) => frame.grads.insert(symbol.id, grad),
        None => frame.grads.remove(&symbol.id),
    });
}

pub(crate) fn add_hook(symbol: &Symbol, hook: Hook) -> Result<()> {
    let is_outer = |frames: &mut Vec<Frame>| {
        let above = frames.iter().skip_while(|frame| frame.id != symbol.frame).skip(1);
        above.into_iter().any(Frame::is_nested)
    };
    if with_frames(is_outer) {
        return Err(Error::gradient(
            "a hook was put on a value from outside of a loop or branch of a program: it would be there once, \
             and not once for each trip",
        )
        .remedy("put it there before the loop or the branch, or on a value that is made inside"));
    }
    match if symbol.constant { Some(false) } else { grads::is_reached(symbol) } {
        Some(true) => {}
        Some(false) => return Err(unreached_hook()),
        None => {
            return Err(Error::symbolic(
                "a hook was put on a value of which only the run knows whether a gradient reaches it",
            )
            .remedy("put it there inside of the branch or loop that makes the value, or track what the other path gives"));
        }
    }
    frame_of(symbol, |frame| frame.hooks.entry(symbol.id).or_default().push(hook))
        .ok_or_else(nothing_is_built)
}

/// Whether gradients pass a value: it is tracked. Nothing, if only the run of the program being built knows.
pub fn is_reached(var: &Var) -> Option<bool> {
    match symbol_of(var) {
        Some(symbol) => {
            if symbol.constant {
                Some(false)
            } else {
                grads::is_reached(&symbol)
            }
        }
        None => Some(var.is_tracked()),
    }
}

#[cold]
pub(crate) fn unreached_hook() -> Error {
    Error::gradient("a hook was put on a value that no gradient reaches")
        .remedy("call `track` on the leaf first, outside `no_grad`")
}

pub(crate) fn set_name(symbol: &Symbol, name: &str) {
    frame_of(symbol, |frame| frame.set_name(symbol.id, name));
}
