//! Running a body over whole tensors, tile by tile.

use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use fluvial_tensor::{DType, Error, Result, Tensor, dispatch, dispatch_compute};
use smallvec::SmallVec;

use super::body::Body;
use super::compute::{Compute, ToOne, ToPair};
use super::inst::Inst;
use super::tile::{BinaryTile, Target, UnaryTile, Value};
use crate::scratch::Scratch;
use crate::simd::vectorized;
use crate::strided::{View, store};
use crate::threads;

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
        self.check(inputs.len(), params.len(), compute)?;
        let mut views: SmallVec<[View<'_>; 4]> = SmallVec::new();
        for input in inputs {
            views.push(View::broadcast(input, out.dims())?);
        }
        if out.numel() == 0 {
            return Ok(());
        }
        let out = Output::new(out)?;
        dispatch_compute!(compute, C => run_in::<C>(self, &views, params, out))
    }
}

/// The memory of the output.
struct Output<'a> {
    data: *mut u8,
    dtype: DType,
    numel: usize,
    tensor: PhantomData<&'a mut Tensor>,
}

impl<'a> Output<'a> {
    fn new(out: &'a mut Tensor) -> Result<Output<'a>> {
        let (dtype, numel) = (out.dtype(), out.numel());
        let data = dispatch!(dtype, T => out.as_mut_slice::<T>()?.as_mut_ptr().cast());
        Ok(Output { data, dtype, numel, tensor: PhantomData })
    }

    fn at(&self, start: usize) -> *mut u8 {
        self.data.wrapping_add(start * self.dtype.size())
    }
}

// SAFETY: tasks write to parts of the memory that do not overlap.
unsafe impl Sync for Output<'_> {}

/// Computes the output in chunks, on several threads if it is large.
fn run_in<C: Compute>(
    body: &Body,
    views: &[View<'_>],
    params: &[f64],
    out: Output<'_>,
) -> Result<()> {
    let numel = out.numel;
    let tiles = Tiles::new(views, numel);
    let chunk = chunk_len(body, numel);
    if chunk >= numel {
        return run_range::<C>(body, views, params, tiles, &out);
    }
    let failure = Mutex::new(None);
    threads::run(numel.div_ceil(chunk), |number| {
        let start = number * chunk;
        let part = Tiles { at: start, end: numel.min(start + chunk), ..tiles.clone() };
        if let Err(error) = run_range::<C>(body, views, params, part, &out) {
            *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

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
fn run_range<C: Compute>(
    body: &Body,
    views: &[View<'_>],
    params: &[f64],
    tiles: Tiles,
    out: &Output<'_>,
) -> Result<()> {
    let slot_len = tiles.len.next_multiple_of(SLOT_ALIGN / size_of::<C>());
    let mut scratch = Scratch::take::<C>(body.plan().n_slots * slot_len)?;
    let mut values: SmallVec<[Value<C>; 16]> = SmallVec::new();
    values.resize(body.insts().len(), Value::Uniform(C::default()));
    let slots = scratch.as_mut_ptr::<C>();
    let mut machine = Machine { body, views, slots, slot_len, values: &mut values };
    machine.prepare(params);
    vectorized(
        #[inline(always)]
        || {
            for (start, len) in tiles {
                machine.run_tile(start, len, out)?;
            }
            Ok(())
        },
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

/// Asks for the memory after a tile, where the next tile of a usual input is: tiles are too short for the
/// machine to find that out by itself in time.
#[inline(always)]
fn prefetch_after<C>(tile: &[C]) {
    #[cfg(target_arch = "x86_64")]
    if tile.len() >= SHORT_ROW {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let next = tile.as_ptr_range().end.cast::<i8>();
        for line in (0..size_of_val(tile)).step_by(64) {
            // SAFETY: a prefetch never faults and needs no instructions beyond those of every machine.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(next.wrapping_add(line)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = tile;
}

/// A body with the places of its values.
struct Machine<'a, C> {
    body: &'a Body,
    views: &'a [View<'a>],
    /// `n_slots` slots of `slot_len` elements each, which is at least a tile.
    slots: *mut C,
    slot_len: usize,
    values: &'a mut [Value<C>],
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

    /// Computes elements `start..start + len` of the output.
    #[inline(always)]
    fn run_tile(&mut self, start: usize, len: usize, out: &Output<'_>) -> Result<()> {
        let insts = self.body.insts();
        let last = insts.len() - 1;
        let direct = out.dtype == C::DTYPE && !insts[last].is_leaf();
        for (index, &inst) in insts.iter().enumerate() {
            if let Value::Uniform(_) = self.values[index] {
                continue;
            }
            let to = if index == last && direct { out.at(start).cast() } else { self.slot(index) };
            let value = |operand: u16| self.values[operand as usize];
            // SAFETY: a slot has room for a tile, and so has the output from `start` on. The plan never
            // gives a value the slot of an operand or of another value that is still needed, and no input
            // shares memory with the output.
            let target = unsafe { Target::new(to, len) };
            let done = match inst {
                Inst::Const(_) | Inst::Param(_) => Some(()),
                Inst::Input(k) => {
                    let view = &self.views[k as usize];
                    let tile = view.read(start..start + len, target.into_slice());
                    prefetch_after(tile);
                    self.values[index] = Value::Tile(tile.as_ptr());
                    Some(())
                }
                Inst::Unary(op, a) => C::unary(op, UnaryTile(target, value(a))),
                Inst::Binary(op, a, b) => C::binary(op, BinaryTile(target, value(a), value(b))),
                Inst::Select(c, a, b) => {
                    target.select(value(c), value(a), value(b));
                    Some(())
                }
            };
            done.ok_or_else(|| {
                Error::internal("a body was run in a dtype it was not checked for")
            })?;
        }
        match self.values[last] {
            Value::Tile(_) if direct => {}
            result => self.store(last, result, start, len, out),
        }
        Ok(())
    }

    /// Converts the result to the output.
    fn store(&self, last: usize, result: Value<C>, start: usize, len: usize, out: &Output<'_>) {
        let tile = match result {
            Value::Tile(tile) => tile,
            Value::Uniform(_) => {
                let slot = self.slot(last);
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
mod tests {
    use super::*;
    use crate::scalar::compute::is_defined;
    use crate::simd::{self, Level};
    use crate::testing::Rng;
    use crate::{Binary, Unary};

    const COMPUTE: [DType; 6] =
        [DType::U8, DType::I8, DType::I32, DType::I64, DType::F32, DType::F64];

    /// Runs the body over whole tensors, and checks the result element by element against `run_one`.
    fn check(body: &Body, inputs: &[&Tensor], params: &[f64], compute: DType, dims: &[usize]) {
        for out_dtype in [compute, DType::Bool, DType::F16, DType::I64] {
            let mut out = Tensor::empty(out_dtype, dims).unwrap();
            body.run(inputs, params, compute, &mut out).unwrap();
            let flat: Vec<Tensor> = inputs
                .iter()
                .map(|x| x.expand(dims).unwrap().reshape(&[out.numel()]).unwrap())
                .collect();
            let got = out.reshape(&[out.numel()]).unwrap();
            for i in 0..out.numel() {
                let elements: Vec<Tensor> = flat.iter().map(|x| x.index(0, i).unwrap()).collect();
                let elements: Vec<&Tensor> = elements.iter().collect();
                let want = body.run_one(&elements, params, compute, out_dtype).unwrap();
                let got = got.index(0, i).unwrap();
                let both_nan =
                    got.item::<f64>().unwrap().is_nan() && want.item::<f64>().unwrap().is_nan();
                assert!(
                    both_nan || got.bitwise_eq(&want),
                    "{body} in {compute:?}, element {i} of {dims:?} is {got}, run_one has {want}"
                );
            }
        }
    }

    /// Numbers of a dtype with all that is special about it.
    fn edge_values(compute: DType) -> Tensor {
        let floats = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -2.5,
            3.75,
            1e30,
            -1e-30,
            1e-42,
            f64::MAX,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        let ints =
            [0.0, 1.0, 2.0, 3.0, 7.0, 100.0, 127.0, 255.0, -1.0, -2.0, -7.0, -128.0, 1e10, -1e18];
        let values = if compute.is_float() { floats } else { ints };
        match compute {
            DType::U8 | DType::I8 | DType::I32 => {
                let wide = Tensor::from_f64s(DType::I64, &values, &[values.len()]).unwrap();
                wide.cast(compute).unwrap()
            }
            _ => Tensor::from_f64s(compute, &values, &[values.len()]).unwrap(),
        }
    }

    #[test]
    fn every_operation_has_the_bits_of_run_one() {
        for compute in COMPUTE {
            let x = edge_values(compute);
            let n = x.numel();
            for &op in Unary::ALL {
                let body = Body::from_insts(1, 0, &[Inst::Input(0), Inst::Unary(op, 0)]).unwrap();
                if body.check(1, 0, compute).is_ok() {
                    check(&body, &[&x], &[], compute, &[n]);
                }
            }
            let column = x.reshape(&[n, 1]).unwrap();
            for &op in Binary::ALL {
                let insts = [Inst::Input(0), Inst::Input(1), Inst::Binary(op, 0, 1)];
                let body = Body::from_insts(2, 0, &insts).unwrap();
                if body.check(2, 0, compute).is_ok() {
                    check(&body, &[&column, &x], &[], compute, &[n, n]);
                }
            }
            let select = Body::ternary(|c, a, b| c.select(a, b));
            check(&select, &[&x, &column, &x], &[], compute, &[n, n]);
        }
    }

    #[test]
    fn any_layout_dtype_and_shape() {
        let mut rng = Rng::new(5);
        let body = Body::build(3, 2, |x, p| (x[0] * p[0] + x[1]).max(x[2] - p[1]) * 3.0);
        let shapes: [(&[usize], [&[usize]; 3]); 8] = [
            (&[], [&[], &[], &[]]),
            (&[0, 4], [&[0, 4], &[4], &[]]),
            (&[7], [&[7], &[1], &[]]),
            (&[2, 3, 4], [&[2, 3, 4], &[3, 1], &[2, 1, 4]]),
            (&[5, 700], [&[5, 700], &[700], &[5, 1]]),
            (&[3, 2500], [&[2500], &[3, 2500], &[3, 1]]),
            (&[900, 3], [&[900, 3], &[3], &[900, 1]]),
            (&[1, 2, 1, 3], [&[3], &[2, 1, 3], &[1, 1, 1, 1]]),
        ];
        for (dims, input_dims) in shapes {
            for compute in COMPUTE {
                let inputs = input_dims.map(|dims| {
                    let dtype = DType::ALL[rng.below(9)];
                    let x = rng.tensor(dtype, dims);
                    rng.scramble(&x)
                });
                check(&body, &[&inputs[0], &inputs[1], &inputs[2]], &[2.0, 1.0], compute, dims);
            }
        }
    }

    #[test]
    fn a_fused_body_equals_its_parts_in_turn() {
        let mut rng = Rng::new(6);
        let inner = Body::build(2, 1, |x, p| (x[0] * x[1] + p[0]).tanh() / 3.0);
        let outer = Body::ternary(|a, b, c| a.exp() * b - (b / c).erf());
        let fused = outer.fuse(1, &inner).unwrap();
        for dtype in [DType::F32, DType::F64] {
            let dims = [3, 700];
            let [a, c, x, y] = [(); 4].map(|_| rng.tensor(dtype, &dims));
            let [mut middle, mut want, mut got] =
                [(); 3].map(|_| Tensor::empty(dtype, &dims).unwrap());
            inner.run(&[&x, &y], &[0.3], dtype, &mut middle).unwrap();
            outer.run(&[&a, &middle, &c], &[], dtype, &mut want).unwrap();
            fused.run(&[&a, &c, &x, &y], &[0.3], dtype, &mut got).unwrap();
            let same = |(a, b): (f64, f64)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            assert!(got.to_f64s().into_iter().zip(want.to_f64s()).all(same));
        }
    }

    /// A body of random instructions that `compute` has.
    fn random_body(rng: &mut Rng, compute: DType, n_inputs: u8, len: usize) -> Body {
        let mut insts: Vec<Inst> = (0..n_inputs).map(Inst::Input).collect();
        while insts.len() < len {
            let [a, b, c] = [(); 3].map(|_| rng.below(insts.len()) as u16);
            let inst = match rng.below(10) {
                0 => Inst::Const(rng.uniform(-4.0, 4.0)),
                1 => Inst::Param(rng.below(2) as u8),
                2 => Inst::Select(a, b, c),
                3 | 4 => Inst::Unary(Unary::ALL[rng.below(Unary::ALL.len())], a),
                5 => Inst::Binary(Binary::ALL[rng.below(Binary::ALL.len())], a, a),
                _ => Inst::Binary(Binary::ALL[rng.below(Binary::ALL.len())], a, b),
            };
            if is_defined(inst, compute) {
                insts.push(inst);
            }
        }
        Body::from_insts(n_inputs, 2, &insts).unwrap()
    }

    #[test]
    fn random_bodies_have_the_bits_of_run_one() {
        let mut rng = Rng::new(19);
        for compute in COMPUTE {
            for round in 0..40 {
                let body = random_body(&mut rng, compute, 3, 5 + round);
                let x = rng.tensor(compute, &[4, 9]);
                let row = rng.tensor(DType::F32, &[9]);
                let uniform = rng.tensor(DType::I64, &[]);
                check(&body, &[&x, &row, &uniform], &[0.5, -3.0], compute, &[4, 9]);
            }
        }
    }

    #[test]
    fn bits_depend_neither_on_threads_nor_on_instructions() {
        let mut rng = Rng::new(23);
        let bodies = [
            Body::binary(|x, y| (x * y + 1.0).tanh()),
            Body::binary(|x, b| (x + b).gelu() - (x * 9.0).silu()),
            Body::binary(|x, y| x.abs().pow(y) + y.erf().exp() * (x * 50.0).sin()),
            Body::binary(|x, y| (x * 40.0).sigmoid() - (y * y).log() / x.log1p()),
        ];
        for dims in [&[37, 1031][..], &[100_003], &[5000, 7], &[70_000]] {
            for dtype in [DType::F32, DType::F64] {
                let x = rng.tensor(dtype, dims);
                let x = rng.scramble(&x);
                let y = rng.tensor(dtype, &dims[dims.len() - 1..]);
                for body in &bodies {
                    let mut want = Tensor::empty(dtype, dims).unwrap();
                    threads::set_count(1);
                    body.run(&[&x, &y], &[], dtype, &mut want).unwrap();
                    for (count, level) in
                        [(2, Level::Avx512), (3, Level::Avx2), (8, Level::Portable)]
                    {
                        let _forced = simd::force(level);
                        threads::set_count(count);
                        let mut got = Tensor::empty(dtype, dims).unwrap();
                        body.run(&[&x, &y], &[], dtype, &mut got).unwrap();
                        let same = |(a, b): (f64, f64)| {
                            a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
                        };
                        let mut pairs = got.to_f64s().into_iter().zip(want.to_f64s());
                        assert!(pairs.all(same), "{body} {dtype} {dims:?} at {level:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn long_bodies_run() {
        let body = Body::unary(|x| (0..300).fold(x, |sum, k| sum * 0.5 + (x - k as f64)));
        let mut rng = Rng::new(7);
        let x = rng.tensor(DType::F32, &[1500]);
        check(&body, &[&x], &[], DType::F32, &[1500]);
    }

    #[test]
    fn bodies_without_instructions_on_inputs() {
        let x = Tensor::from_slice(&[1.5f32, -2.5], &[2]).unwrap();
        for (body, want) in [
            (Body::unary(|x| x), [1.5, -2.5]),
            (Body::unary(|x| x.constant(4.0)), [4.0, 4.0]),
            (Body::build(1, 1, |_, p| p[0]), [0.25, 0.25]),
        ] {
            let mut out = Tensor::empty(DType::F32, &[2]).unwrap();
            let params = &[0.25][..body.n_params()];
            body.run(&[&x], params, DType::F32, &mut out).unwrap();
            assert_eq!(out.to_vec::<f32>().unwrap(), want, "{body}");
            check(&body, &[&x], params, DType::F64, &[2]);
        }
    }

    #[test]
    fn faults_are_errors_even_without_elements() {
        let x = Tensor::zeros(DType::I32, &[0]).unwrap();
        let mut out = Tensor::empty(DType::I32, &[0]).unwrap();
        let error = Body::unary(|x| x.sin()).run(&[&x], &[], DType::I32, &mut out).unwrap_err();
        assert_eq!(error.message(), "sin is not defined for i32");
        let y = Tensor::zeros(DType::I32, &[2]).unwrap();
        let error = Body::unary(|x| -x).run(&[&y], &[], DType::I32, &mut out).unwrap_err();
        assert_eq!(error.message(), "shape [2] does not broadcast to [0]");
    }
}
