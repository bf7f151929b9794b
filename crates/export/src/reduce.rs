//! Reductions in C.

use fluvial_core::kernel::meeting;
use fluvial_core::{DType, Dim, Elements, Result, Type, Whole, broadcast};
use fluvial_kernels::Reduce;

use crate::block::Emit;
use crate::device::Threads;
use crate::elements::{converted, instructions, literal};
use crate::loops::{Nest, Trips, Walk};
use crate::place::{Place, c_type};

impl Emit<'_> {
    /// Writes a reduction of inputs.
    pub fn reduce(
        &mut self,
        inputs: &[Place],
        of: Option<&(Elements, DType)>,
        kind: Reduce,
        axes: &[usize],
        out: &Place,
    ) -> Result<()> {
        let mut dims: Vec<Dim> = Vec::new();
        for input in inputs {
            dims = broadcast(&dims, input.ty.dims())?.to_vec();
        }
        let element = of.map_or(inputs[0].ty.dtype(), |(_, dtype)| *dtype);
        let acc = meeting(kind, element, out.ty.dtype());
        let kept: Vec<usize> = (0..dims.len()).filter(|axis| !axes.contains(axis)).collect();
        let kept_dims: Vec<Dim> = kept.iter().map(|&axis| dims[axis]).collect();
        let kept_ty = Type::new(out.ty.dtype(), &kept_dims)?;
        let of_kept = Place::plain(out.root, kept_ty)?.steps;
        let mut out_steps = vec![Whole::Number(0); dims.len()];
        kept.iter().zip(of_kept).for_each(|(&axis, step)| out_steps[axis] = step);
        let mut walks: Vec<Walk> = inputs
            .iter()
            .map(|input| Walk {
                pointer: self.pointer(input.root),
                first: input.first,
                steps: input.steps_to(&dims),
            })
            .collect();
        walks.push(Walk { pointer: self.pointer(out.root), first: out.first, steps: out_steps });
        let is_reduced = |axis: usize| axes.contains(&axis);
        // An axis that is reduced is never one with an axis that is kept.
        let order: Vec<(Dim, bool)> =
            (0..dims.len()).map(|axis| (dims[axis], is_reduced(axis))).collect();
        let nest = Nest::merged_by(&dims, walks, |a, b| order[a].1 == order[b].1)?;
        let nest = Nest { hides_back: !self.is_host_of_device(), ..nest };
        let n_inputs = inputs.len();
        // After merging, an axis is reduced if the output does not move along it: one of more than one element always moves.
        let reduced: Vec<usize> = (0..nest.dims.len())
            .filter(|&axis| nest.walks[n_inputs].steps[axis] == Whole::Number(0))
            .collect();
        let kept: Vec<usize> =
            (0..nest.dims.len()).filter(|axis| !reduced.contains(axis)).collect();
        let dtypes: Vec<DType> = inputs.iter().map(|input| input.ty.dtype()).collect();
        let columns = out.ty.dtype() == acc
            && matches!(kind, Reduce::Sum)
            && kept.last().is_some_and(|last| reduced.iter().all(|axis| axis < last))
            && !reduced.is_empty();
        let value = |emit: &mut Emit<'_>, counters: &[String]| -> Result<String> {
            let load = |k: usize, as_type: DType| {
                converted(&nest.element(k, counters), dtypes[k], as_type)
            };
            let as_type = match kind {
                Reduce::Any | Reduce::All => DType::Bool,
                _ => acc,
            };
            let Some((of, element)) = of else { return Ok(load(0, as_type)) };
            let result = instructions(&mut emit.to, of, |k| Ok(load(k, of.compute)))?;
            // The result is rounded to the element type before it is added.
            let rounded = converted(&result[0], of.compute, *element);
            Ok(converted(&rounded, *element, as_type))
        };
        let wide = if kind == Reduce::Sum && acc == DType::F32 { DType::F64 } else { acc };
        if self.is_host_of_device() {
            let sizes = &self.options.sizes;
            let most = |axes: &[usize]| {
                let dims: Vec<Dim> = axes.iter().map(|&axis| nest.dims[axis]).collect();
                crate::sizes::most_elements(&Type::new(DType::U8, &dims)?, sizes)
            };
            // Few results of many elements take a block each; else each takes a thread.
            let together = most(&reduced)? >= 32 && most(&kept)? < 4096;
            let count = nest.count(&kept);
            let threads = if together { Threads::Blocks(count) } else { Threads::Many(count) };
            return self.kernel_of(threads, |emit| {
                let (first_kept, all_kept) =
                    if together { ("blockIdx.x", "gridDim.x") } else { ("FL_ME", "FL_ALL") };
                nest.spread(&mut emit.to, &kept, first_kept, all_kept);
                emit.to.line(&format!("{} sum = {};", c_type(wide), first(kind, wide)));
                let counters = match together {
                    true => nest.spread(&mut emit.to, &reduced, "threadIdx.x", "blockDim.x"),
                    false => nest.open(&mut emit.to, &reduced, Trips::InOrder),
                };
                let x = converted(&value(emit, &counters)?, acc, wide);
                emit.to.line(&format!("sum = {};", combined(kind, "sum", &x, wide)));
                emit.to.close(if together { 1 } else { reduced.len() });
                let target = nest.element(n_inputs, &counters);
                let done = converted(&converted("sum", wide, acc), acc, out.ty.dtype());
                if together {
                    let both = combined(kind, "lanes[0]", "lanes[half]", wide);
                    emit.to.line(&format!("FL_TREE({}, sum, {both})", c_type(wide)));
                    emit.to.line(&format!("if (threadIdx.x == 0) {target} = {done};"));
                } else {
                    emit.to.line(&format!("{target} = {done};"));
                }
                emit.to.close(1);
                Ok(())
            });
        }
        if columns {
            self.clear_bytes(
                &self.pointer(out.root),
                &format!(
                    "sizeof({}) * (size_t){}",
                    c_type(acc),
                    crate::place::count_in_c(kept_ty.dims())?
                ),
            );
            let split = reduced.iter().chain(&kept).copied().collect::<Vec<_>>();
            let counters = nest.open(&mut self.to, &split, Trips::InnerApart);
            let x = value(self, &counters)?;
            let target = nest.element(n_inputs, &counters);
            let sum = combined(kind, &target, &x, acc);
            self.to.line(&format!("{target} = {sum};"));
            self.to.close(split.len());
            return Ok(());
        }
        let counters = nest.open(&mut self.to, &kept, Trips::InOrder);
        self.to.open("{");
        self.to.line(&format!("{} sum = {};", c_type(wide), first(kind, wide)));
        if let [.., inner] = reduced[..]
            && kind == Reduce::Sum
            && acc.is_float()
        {
            nest.open(&mut self.to, &reduced[..reduced.len() - 1], Trips::InOrder);
            self.to.line("FL_SUM(sum)");
            nest.open(&mut self.to, &[inner], Trips::InOrder);
        } else {
            nest.open(&mut self.to, &reduced, Trips::InOrder);
        }
        let x = value(self, &counters)?;
        let x = converted(&x, acc, wide);
        self.to.line(&format!("sum = {};", combined(kind, "sum", &x, wide)));
        self.to.close(reduced.len());
        let target = nest.element(n_inputs, &counters);
        let done = converted(&converted("sum", wide, acc), acc, out.ty.dtype());
        self.to.line(&format!("{target} = {done};"));
        self.to.close(1 + kept.len());
        Ok(())
    }
}

fn first(kind: Reduce, acc: DType) -> String {
    let (lowest, highest) = match acc {
        DType::F32 => ("-INFINITY", "INFINITY"),
        DType::F64 => ("-(double)INFINITY", "(double)INFINITY"),
        DType::I64 => ("INT64_MIN", "INT64_MAX"),
        DType::I32 => ("INT32_MIN", "INT32_MAX"),
        DType::I8 => ("INT8_MIN", "INT8_MAX"),
        _ => ("0", "UINT8_MAX"),
    };
    match kind {
        Reduce::Sum | Reduce::Any => literal(0.0, acc),
        Reduce::Prod | Reduce::All => literal(1.0, acc),
        Reduce::Max => lowest.into(),
        Reduce::Min => highest.into(),
    }
}

fn combined(kind: Reduce, sum: &str, x: &str, acc: DType) -> String {
    let (c, t) = (c_type(acc), crate::elements::short(acc));
    let wrapping = |sign: &str| match acc {
        DType::I64 => format!("(int64_t)((uint64_t){sum} {sign} (uint64_t)({x}))"),
        DType::I32 => format!("(int32_t)((uint32_t){sum} {sign} (uint32_t)({x}))"),
        DType::F32 | DType::F64 => format!("{sum} {sign} {x}"),
        _ => format!("({c})({sum} {sign} {x})"),
    };
    match kind {
        Reduce::Sum => wrapping("+"),
        Reduce::Prod => wrapping("*"),
        Reduce::Max => format!("fl_max_{t}({sum}, {x})"),
        Reduce::Min => format!("fl_min_{t}({sum}, {x})"),
        Reduce::Any => format!("(uint8_t)({sum} | (({x}) != 0))"),
        Reduce::All => format!("(uint8_t)({sum} & (({x}) != 0))"),
    }
}
