//! The update of Adam, which programs spell with single ops, as one loop: tile by tile, each of its dozen
//! operations would write to the cache and read again. The bits are the same.

use std::ops::Range;

use fluvial_tensor::DType;

use super::{Inst, Output, Source, View};
use crate::lanes::{prefetch, prefetch_to_write};
use crate::optimizer::AdamStep;
use crate::scalar::inst::{Binary, Unary};
use crate::simd::vectorized;

/// Elements that are updated together, and how far ahead memory is asked for.
const LANES: usize = 32;
const AHEAD: usize = 1024;

/// An update: the numbers, and where parameters, gradients, means and means of squares lie.
pub(super) struct Update {
    step: AdamStep<f32>,
    inputs: [*const f32; 4],
}

impl Update {
    /// The update that a body is, if it is one: its results are the new means, the new means of squares and
    /// the new parameters, all of them `f32`.
    pub(super) fn of(source: &Source<'_>, outs: &[Output<'_>]) -> Option<Update> {
        let body = Reading { insts: source.body.insts(), views: &source.views };
        let &[mean, square, param] = source.body.results() else { return None };
        if source.compute != DType::F32 || outs.iter().any(|out| out.dtype != DType::F32) {
            return None;
        }
        // square = old * stay + grad * grad * new
        let [a, b] = body.binary(Binary::Add, square)?.map(|at| body.scaled(at));
        let (old_square, new_square, grad) = match (a?, b?) {
            (old, new) if body.root(new.0).is_some() => (old, new, body.root(new.0)?),
            (new, old) => (old, new, body.root(new.0)?),
        };
        // mean = old * stay + grad * new
        let [a, b] = body.binary(Binary::Add, mean)?.map(|at| body.scaled(at));
        let (old_mean, new_mean) = match (a?, b?) {
            (old, new) if new.0 == grad => (old, new),
            (new, old) if new.0 == grad => (old, new),
            _ => return None,
        };
        // param = old * keep - rate * (mean / (sqrt(square) / root + eps))
        let [kept, moved] = body.binary(Binary::Sub, param)?;
        let (quotient, rate) = body.scaled(moved)?;
        let [above, size] = body.binary(Binary::Div, quotient)?;
        let (deviation, eps) = body.with_number(body.binary(Binary::Add, size)?)?;
        let [root_of, root] = body.binary(Binary::Div, deviation)?;
        if above != mean || body.inst(root_of) != Inst::Unary(Unary::Sqrt, square) {
            return None;
        }
        let (old_param, keep) = match body.input(kept) {
            Some(_) => (kept, 1.0),
            None => body.scaled(kept)?,
        };
        let step = AdamStep {
            rate,
            root: body.number(root)?,
            eps,
            stays: [old_mean.1, old_square.1],
            news: [new_mean.1, new_square.1],
            decay: 0.0,
            coupled: false,
            keep,
        };
        let [a, b, c, d] = [old_param, grad, old_mean.0, old_square.0].map(|at| body.input(at));
        Some(Update { step, inputs: [a?, b?, c?, d?] })
    }

    /// Updates the elements of `range`, which the outputs have.
    pub(super) fn run(&self, range: Range<usize>, outs: &[Output<'_>]) {
        let [mean, square, param] = outs else { return };
        let outs = [param, mean, square].map(|out| out.at(range.start).cast::<f32>());
        let inputs = self.inputs.map(|input| input.wrapping_add(range.start));
        let is_in_place = [0, 2, 3].iter().zip(outs).all(|(&k, out)| inputs[k] == out.cast_const());
        let n = range.len();
        vectorized(
            #[inline(always)]
            || {
                for at in (0..n).step_by(LANES) {
                    for out in outs {
                        prefetch_to_write::<f32, LANES>(out.wrapping_add(at), AHEAD);
                    }
                    prefetch::<f32, LANES>(inputs[1].wrapping_add(at), AHEAD);
                    if !is_in_place {
                        for input in [inputs[0], inputs[2], inputs[3]] {
                            prefetch::<f32, LANES>(input.wrapping_add(at), AHEAD);
                        }
                    }
                    if n - at >= LANES {
                        // SAFETY: the inputs and the outputs have the elements of the range. An output may
                        // lie in the memory of an input, whose elements have been read before.
                        unsafe { self.block::<LANES>(at, inputs, outs) };
                        continue;
                    }
                    for at in at..n {
                        // SAFETY: as above.
                        unsafe { self.block::<1>(at, inputs, outs) };
                    }
                }
            },
        );
    }

    /// Updates `N` elements.
    ///
    /// # Safety
    ///
    /// The inputs and the outputs have them, and nothing else writes to these meanwhile.
    #[inline(always)]
    unsafe fn block<const N: usize>(
        &self,
        at: usize,
        inputs: [*const f32; 4],
        outs: [*mut f32; 3],
    ) {
        // SAFETY: by the caller's promise.
        let [mut param, grad, mut mean, mut square] = inputs
            .map(|input| unsafe { input.wrapping_add(at).cast::<[f32; N]>().read_unaligned() });
        for i in 0..N {
            self.step.moments(param[i], &mut mean[i], &mut square[i], grad[i]);
            param[i] = self.step.moved(param[i], mean[i], square[i]);
        }
        for (out, values) in outs.into_iter().zip([param, mean, square]) {
            // SAFETY: as above.
            unsafe { out.wrapping_add(at).cast::<[f32; N]>().write_unaligned(values) };
        }
    }
}

/// A look at the instructions of a body.
struct Reading<'a, 'b> {
    insts: &'a [Inst],
    views: &'a [View<'b>],
}

impl Reading<'_, '_> {
    fn inst(&self, at: u16) -> Inst {
        self.insts[at as usize]
    }

    /// The operands of an instruction, if it is this one.
    fn binary(&self, wanted: Binary, at: u16) -> Option<[u16; 2]> {
        match self.inst(at) {
            Inst::Binary(op, a, b) if op == wanted => Some([a, b]),
            _ => None,
        }
    }

    /// A number that is the same for all elements.
    fn number(&self, at: u16) -> Option<f32> {
        match self.inst(at) {
            Inst::Const(number) => Some(number as f32),
            Inst::Input(k) => {
                let view = &self.views[k as usize];
                view.is_uniform().then(|| view.read(0..1, &mut [0.0])[0])
            }
            _ => None,
        }
    }

    /// Of two operands, of which one is a number: the other, and the number.
    fn with_number(&self, [a, b]: [u16; 2]) -> Option<(u16, f32)> {
        let number = |at: u16, other: u16| self.number(at).map(|number| (other, number));
        number(b, a).or_else(|| number(a, b))
    }

    /// A product with a number.
    fn scaled(&self, at: u16) -> Option<(u16, f32)> {
        self.with_number(self.binary(Binary::Mul, at)?)
    }

    /// The input whose square this is.
    fn root(&self, at: u16) -> Option<u16> {
        let [a, b] = self.binary(Binary::Mul, at)?;
        (a == b && self.input(a).is_some()).then_some(a)
    }

    /// The memory of an input whose elements lie there one after the other.
    fn input(&self, at: u16) -> Option<*const f32> {
        match self.inst(at) {
            Inst::Input(k) => self.views[k as usize].flat_data(DType::F32).map(<*const u8>::cast),
            _ => None,
        }
    }
}
