//! Running a body over whole tensors, tile by tile.

use std::marker::PhantomData;
use std::mem::take;
use std::ops::Range;

use fluvial_tensor::{DType, Error, Result, Tensor, dispatch, dispatch_compute};
use smallvec::SmallVec;

use super::body::Body;
use super::compute::{Compute, ToOne, ToPair};
use super::inst::Inst;
use super::tile::{BinaryTile, Pair, Target, UnaryTile, Value};
use crate::lanes::{Ahead, run_tasks};
use crate::scratch::Scratch;
use crate::simd::{vectorized, with_mul_add};
use crate::strided::{View, store};

/// The longest tile: 4 KB of `f32`, so that the values of a usual body stay in the L1 cache.
const TILE: usize = 1024;

/// Rows shorter than this are not worth a tile of their own.
const SHORT_ROW: usize = 256;

/// Elements that one task computes. A chunk has the same elements however many threads there are.
const CHUNK: usize = 32 * TILE;

/// Less work than this, in additions, is not worth a second thread.
const SMALL_WORK: usize = 16 * 1024;

/// Slots lie apart by a multiple of this many bytes. A load that follows a store to an address with the
/// same last twelve bits has to wait for it; so laid out, only loads that come before the store have them.
const SLOT_ALIGN: usize = 4096;

impl Body {
    /// Runs the body over tensors and writes the result to `out`.
    ///
    /// Inputs may have any layout, any dtype, and any shape that broadcasts to that of `out`; they are
    /// converted to `compute` (one of u8, i8, i32, i64, f32, f64), and the result to the dtype of `out`.
    /// Integers wrap. An operation that `compute` does not have is an error.
    pub fn run(
        &self,
        inputs: &[&Tensor],
        params: &[f64],
        compute: DType,
        out: &mut Tensor,
    ) -> Result<()> {
        let source = Source::new(self, inputs, params, compute, out.dims())?;
        self.run_source(&source, &[output_of(out, 0)?])
    }

    /// Runs a body of any number of results, each of which is written to one of `outs`; they all have the
    /// same shape. An input may be what one of them holds so far, if its elements are of the type in which
    /// the body computes.
    ///
    /// ```
    /// use fluvial_kernels::{Body, Given};
    /// use fluvial_tensor::{DType, Tensor};
    ///
    /// let double = Body::unary(|x| x + x);
    /// let mut out = [Tensor::from_slice(&[1.0f32, 2.0], &[2])?];
    /// double.run_many(&[Given::Out(0)], &[], DType::F32, &mut out)?;
    /// assert_eq!(out[0].to_vec::<f32>()?, [2.0, 4.0]);
    /// # Ok::<(), fluvial_tensor::Error>(())
    /// ```
    pub fn run_many(
        &self,
        inputs: &[Given<'_>],
        params: &[f64],
        compute: DType,
        outs: &mut [Tensor],
    ) -> Result<()> {
        self.check(inputs.len(), params.len(), compute)?;
        let Some((first, others)) = outs.split_first() else {
            return Err(Error::argument("a scalar body has results"));
        };
        if outs.len() != self.results().len() || others.iter().any(|out| out.dims() != first.dims())
        {
            return Err(Error::argument(
                "the outputs are not one of the same shape for each result",
            ));
        }
        let dims: SmallVec<[usize; 8]> = first.dims().into();
        let outputs: SmallVec<[Output<'_>; 4]> =
            outs.iter_mut().map(|out| output_of(out, 0)).collect::<Result<_>>()?;
        let mut views: SmallVec<[View<'_>; 4]> = SmallVec::new();
        for input in inputs {
            views.push(match *input {
                Given::Tensor(tensor) => View::broadcast(tensor, &dims)?,
                Given::Out(k) => match outputs.get(k) {
                    // SAFETY: the memory of the output holds its elements one after the other. A tile of
                    // it is written after it has been read, by the task that has read it.
                    Some(out) if out.dtype == compute => unsafe {
                        View::flat(out.data, out.dtype, out.numel)
                    },
                    _ => {
                        return Err(Error::argument("an input is not an output of the right type"));
                    }
                },
            });
        }
        let in_place = inputs.iter().any(|input| matches!(input, Given::Out(_)));
        let tiles = Tiles::new(&views, dims.iter().product());
        let source = Source { body: self, views, params, compute, tiles, in_place };
        self.run_source(&source, &outputs)
    }

    fn run_source(&self, source: &Source<'_>, outs: &[Output<'_>]) -> Result<()> {
        let numel = outs[0].numel;
        if numel == 0 {
            return Ok(());
        }
        let chunk = chunk_len(self, numel);
        run_tasks(numel.div_ceil(chunk), |number| {
            let start = number * chunk;
            source.run(start..numel.min(start + chunk), outs)
        })
    }
}

/// An input of [`Body::run_many`].
#[derive(Clone, Copy)]
pub enum Given<'a> {
    /// A tensor that broadcasts to the shape of the outputs.
    Tensor(&'a Tensor),
    /// What the output of this number holds so far.
    Out(usize),
}

/// A body with the numbers it is run on.
pub(super) struct Source<'a> {
    body: &'a Body,
    views: SmallVec<[View<'a>; 4]>,
    params: &'a [f64],
    compute: DType,
    tiles: Tiles,
    /// Whether an input lies in the memory of an output.
    in_place: bool,
}

impl<'a> Source<'a> {
    /// The inputs are broadcast to the shape `dims`.
    pub(super) fn new(
        body: &'a Body,
        inputs: &[&'a Tensor],
        params: &'a [f64],
        compute: DType,
        dims: &[usize],
    ) -> Result<Source<'a>> {
        body.check(inputs.len(), params.len(), compute)?;
        let mut views: SmallVec<[View<'_>; 4]> = SmallVec::new();
        for input in inputs {
            views.push(View::broadcast(input, dims)?);
        }
        let tiles = Tiles::new(&views, dims.iter().product());
        Ok(Source { body, views, params, compute, tiles, in_place: false })
    }

    /// Computes the elements of `range`.
    pub(super) fn run(&self, range: Range<usize>, outs: &[Output<'_>]) -> Result<()> {
        for out in outs {
            assert!(out.first <= range.start && range.end <= out.first + out.numel);
        }
        let tiles = Tiles { at: range.start, end: range.end, ..self.tiles.clone() };
        dispatch_compute!(self.compute, C => run_range::<C>(self, tiles, outs))
    }
}

/// Memory for elements of the result from number `first` on.
pub(super) struct Output<'a> {
    data: *mut u8,
    dtype: DType,
    first: usize,
    numel: usize,
    tensor: PhantomData<&'a mut Tensor>,
}

/// The memory of `out` for the elements from number `first` on.
pub(super) fn output_of(out: &mut Tensor, first: usize) -> Result<Output<'_>> {
    let (dtype, numel) = (out.dtype(), out.numel());
    let data = dispatch!(dtype, T => out.as_mut_slice::<T>()?.as_mut_ptr().cast());
    Ok(Output { data, dtype, first, numel, tensor: PhantomData })
}

impl Output<'_> {
    fn at(&self, start: usize) -> *mut u8 {
        self.data.wrapping_add((start - self.first) * self.dtype.size())
    }
}

// SAFETY: tasks write to parts of the memory that do not overlap.
unsafe impl Sync for Output<'_> {}

/// How many elements a task computes: enough to pay for the hand-over, and at least four tasks if there
/// is work for two.
fn chunk_len(body: &Body, numel: usize) -> usize {
    // Most functions are far from as slow, in this comparison, as the one that `cost_hint` has in mind.
    let cost = (body.cost_hint() as usize + body.n_inputs()).clamp(1, 9);
    if numel.saturating_mul(cost) < 2 * SMALL_WORK {
        return numel;
    }
    (numel / 4).next_multiple_of(TILE).clamp((SMALL_WORK / cost).next_multiple_of(TILE), CHUNK)
}

/// Computes the tiles of one task.
fn run_range<C: Compute>(source: &Source<'_>, tiles: Tiles, outs: &[Output<'_>]) -> Result<()> {
    let &Source { body, ref views, params, in_place, .. } = source;
    let slot_len = tiles.len.next_multiple_of(SLOT_ALIGN / size_of::<C>());
    let mut scratch = Scratch::take::<C>(body.plan().n_slots * slot_len)?;
    let mut values: SmallVec<[Value<C>; 16]> = SmallVec::new();
    values.resize(body.insts().len(), Value::Uniform(C::default()));
    let slots = scratch.as_mut_ptr::<C>();
    let mut machine = Machine { body, views, slots, slot_len, values: &mut values, in_place };
    machine.prepare(params);
    if !C::WIDEST {
        return with_mul_add(
            #[inline(always)]
            || machine.run_tiles(tiles, outs),
        );
    }
    vectorized(
        #[inline(always)]
        || machine.run_tiles(tiles, outs),
    )
}

/// Cuts the output into tiles that, where possible, do not cross the rows of the inputs.
#[derive(Clone)]
struct Tiles {
    at: usize,
    end: usize,
    row: usize,
    len: usize,
}

impl Tiles {
    fn new(views: &[View<'_>], numel: usize) -> Tiles {
        let rows = views.iter().filter_map(View::row_len).filter(|&len| len >= SHORT_ROW);
        let row = rows.min().unwrap_or(numel);
        let len = if row == numel { TILE.min(numel) } else { row.div_ceil(row.div_ceil(TILE)) };
        Tiles { at: 0, end: numel, row, len }
    }
}

impl Iterator for Tiles {
    type Item = (usize, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<(usize, usize)> {
        if self.at == self.end {
            return None;
        }
        let start = self.at;
        let left_in_row = self.row - start % self.row;
        let len = self.len.min(left_in_row).min(self.end - start);
        self.at += len;
        Some((start, len))
    }
}

/// A body with the places of its values.
struct Machine<'a, C> {
    body: &'a Body,
    views: &'a [View<'a>],
    /// `n_slots` slots of `slot_len` elements each, which is at least a tile.
    slots: *mut C,
    slot_len: usize,
    values: &'a mut [Value<C>],
    /// Whether outputs may be written only after all inputs of the tile have been read.
    in_place: bool,
}

impl<C: Compute> Machine<'_, C> {
    /// Computes the values that are the same for all elements, and gives the others their slots.
    fn prepare(&mut self, params: &[f64]) {
        for (index, &inst) in self.body.insts().iter().enumerate() {
            let uniform = |operand: u16| match self.values[operand as usize] {
                Value::Uniform(value) => Some(value),
                Value::Tile(_) => None,
            };
            let value = match inst {
                Inst::Const(value) => Some(C::from_f64(value)),
                Inst::Param(k) => Some(C::from_f64(params[k as usize])),
                Inst::Input(k) => {
                    let view = &self.views[k as usize];
                    view.is_uniform().then(|| view.read(0..1, &mut [C::default()])[0])
                }
                Inst::Unary(op, a) => uniform(a).and_then(|a| C::unary(op, ToOne(a))),
                Inst::Binary(op, a, b) => match (uniform(a), uniform(b)) {
                    (Some(a), Some(b)) => C::binary(op, ToPair(a, b)),
                    _ => None,
                },
                Inst::Select(..) => None,
            };
            self.values[index] = match value {
                Some(value) => Value::Uniform(value),
                None => Value::Tile(self.slot(index)),
            };
        }
    }

    fn slot(&self, index: usize) -> *mut C {
        self.slots.wrapping_add(self.body.plan().slots[index] as usize * self.slot_len)
    }

    #[inline(always)]
    fn run_tiles(&mut self, tiles: Tiles, outs: &[Output<'_>]) -> Result<()> {
        for (start, len) in tiles {
            self.run_tile(start, len, outs)?;
        }
        Ok(())
    }

    /// Computes elements `start..start + len` of the outputs.
    #[inline(always)]
    fn run_tile(&mut self, start: usize, len: usize, outs: &[Output<'_>]) -> Result<()> {
        let insts = self.body.insts();
        // The last result, if that is the last instruction, is written where it belongs at once.
        let last = insts.len() - 1;
        let of_last = outs.len() - 1;
        let results = self.body.results();
        let direct = outs[of_last].dtype == C::DTYPE
            && results[of_last] as usize == last
            && !results[..of_last].contains(&(last as u16))
            && !insts[last].is_leaf()
            && !self.in_place;
        // The next tiles of inputs that have been read. Tiles are too short for the machine to find out by
        // itself in time what comes after them.
        let mut ahead = Ahead::default();
        for (index, &inst) in insts.iter().enumerate() {
            if let Value::Uniform(_) = self.values[index] {
                continue;
            }
            let to = match index == last && direct {
                true => outs[of_last].at(start).cast(),
                false => self.slot(index),
            };
            let value = |operand: u16| self.values[operand as usize];
            // SAFETY: a slot has room for a tile, and so has the output from `start` on. The plan never
            // gives a value the slot of an operand or of another value that is still needed, and no input
            // shares memory with the output.
            let target = unsafe { Target::new(to, len) };
            let computes = index >= self.body.plan().asks_from && !inst.is_leaf();
            let asks = if computes { take(&mut ahead) } else { Ahead::default() };
            let done = match inst {
                Inst::Const(_) | Inst::Param(_) => Some(()),
                Inst::Input(k) => {
                    let view = &self.views[k as usize];
                    let tile = view.read(start..start + len, target.into_slice());
                    // Of others it is not known what follows, and asking for memory that does not exist
                    // takes long.
                    if view.row_len().is_none() && tile.as_ptr() != to && len >= SHORT_ROW {
                        ahead = ahead.and(tile.as_ptr_range().end);
                    }
                    self.values[index] = Value::Tile(tile.as_ptr());
                    Some(())
                }
                Inst::Unary(op, a) => match value(a) {
                    Value::Tile(a) => C::unary(op, UnaryTile(target.with_ahead(asks), a)),
                    Value::Uniform(_) => None,
                },
                Inst::Binary(op, a, b) => match Pair::new(value(a), value(b)) {
                    Some(pair) => C::binary(op, BinaryTile(target.with_ahead(asks), pair)),
                    None => None,
                },
                Inst::Select(c, a, b) => {
                    target.select(value(c), value(a), value(b));
                    Some(())
                }
            };
            done.ok_or_else(|| {
                Error::internal("a body was run in a dtype it was not checked for")
            })?;
        }
        for (k, (&result, out)) in self.body.results().iter().zip(outs).enumerate() {
            match self.values[result as usize] {
                Value::Tile(_) if direct && k == of_last => {}
                value => self.store(result as usize, value, start, len, out),
            }
        }
        Ok(())
    }

    /// Converts a result to its output.
    fn store(&self, index: usize, result: Value<C>, start: usize, len: usize, out: &Output<'_>) {
        let tile = match result {
            Value::Tile(tile) => tile,
            Value::Uniform(_) => {
                let slot = self.slot(index);
                // SAFETY: the slot has room for a tile, and no value is in it.
                unsafe { Target::new(slot, len) }.copy(result);
                slot
            }
        };
        // SAFETY: the tile has `len` elements, and the output has room for them, in memory that nothing
        // else refers to.
        unsafe { store(std::slice::from_raw_parts(tile, len), out.dtype, out.at(start)) };
    }
}

#[cfg(test)]
mod tests;
