//! One call in C.

use fluvial_core::{
    Arg, Call, DType, Dim, Elements, Error, Kernel, Native, Placed, Result, Type, Whole,
};

use crate::block::{Emit, Reuse, Walk as Block};
use crate::constants::{f64_literal, i64_literal, text_literal};
use crate::device::{FEW, Threads, apart};
use crate::elements::{check, converted, instructions};
use crate::loops::{Nest, Trips, Walk};
use crate::place::{Place, c_type, count_in_c};
use crate::prelude::Runs;
use crate::sizes::in_c;

impl Emit<'_> {
    pub fn kernel(
        &mut self,
        walk: &mut Block<'_>,
        index: usize,
        call: &Call,
        kernel: &Kernel,
    ) -> Result<()> {
        let id = call.first_output as usize;
        let ty = walk.block.types.get(id).copied();
        match kernel {
            Kernel::Elementwise(of) => {
                let inputs = walk.inputs(call)?;
                let outs = self.outputs(walk, index, Reuse::Elementwise)?;
                self.elementwise(&inputs, of, &outs)
            }
            Kernel::Reduce { of, kind, axes } => {
                let inputs = walk.inputs(call)?;
                let outs = self.outputs(walk, index, Reuse::Never)?;
                self.reduce(&inputs, of.as_ref(), *kind, axes, &outs[0])
            }
            Kernel::View(view) => {
                let place = walk.place(call.inputs[0])?.view(view, walk.block.types[id])?;
                walk.places[id] = Some(place);
                Ok(())
            }
            Kernel::Same(input) => {
                let ty = walk.block.types[id];
                let place = walk.place(call.inputs[*input])?.clone();
                let place = match place.ty.is_list() || place.ty.dims() == ty.dims() {
                    true => Place { ty, ..place },
                    false => reshaped(&self.plain(&place)?, ty)?,
                };
                walk.places[id] = Some(place);
                Ok(())
            }
            Kernel::Fill(number) => {
                let ty = ty.ok_or_else(|| Error::internal("a value without a type"))?;
                let one = fluvial_core::Tensor::from_f64s(ty.dtype(), &[*number], &[])?;
                walk.places[id] = Some(Place::uniform(self.constants.add(&one)?, ty));
                Ok(())
            }
            Kernel::Size(size) => {
                let outs = self.outputs(walk, index, Reuse::Never)?;
                let value = converted(&in_c(*size), DType::I64, outs[0].ty.dtype());
                let line = format!("{}[0] = {value};", self.pointer(outs[0].root));
                self.kernel_of(Threads::One, |emit| {
                    emit.to.line(&line);
                    Ok(())
                })
            }
            Kernel::Placed { zero, add, parts } => {
                let inputs = walk.inputs(call)?;
                let outs = self.outputs(walk, index, Reuse::Never)?;
                self.placed(&inputs, *zero, *add, parts, &outs[0])
            }
            Kernel::Calls(calls) => {
                let inputs = walk.inputs(call)?;
                let n_over = call.op.n_over(call.inputs.len());
                let reuse = if n_over > 0 { Reuse::First(n_over) } else { Reuse::Never };
                // What the host calls goes on after a fault, and nobody may see that in a state.
                self.spares_states = self.is_host_of_device()
                    && calls.iter().any(|call| Runs::of(call.source) == Runs::Host);
                let outs = self.outputs(walk, index, reuse);
                self.spares_states = false;
                let outs = outs?;
                calls.iter().try_for_each(|native| self.native(call, native, &inputs, &outs))
            }
            Kernel::While { carried, keeps } => {
                self.while_loop(walk, index, call, *carried, *keeps)
            }
            Kernel::Cond { n_results, lists } => self.cond(walk, index, call, *n_results, lists),
            Kernel::List(kind) => self.list(walk, index, call, *kind),
        }
    }

    fn walk_of(&self, place: &Place, dims: &[Dim]) -> Walk {
        Walk { pointer: self.pointer(place.root), first: place.first, steps: place.steps_to(dims) }
    }

    fn elementwise(&mut self, inputs: &[Place], of: &Elements, outs: &[Place]) -> Result<()> {
        check(of)?;
        let dims = outs[0].ty.dims().to_vec();
        let walks = inputs.iter().chain(outs).map(|place| self.walk_of(place, &dims)).collect();
        let nest = Nest::merged(&dims, walks)?;
        self.each(&nest, |emit, counters| {
            let load = |k: usize| match inputs.get(k) {
                Some(input) => {
                    Ok(converted(&nest.element(k, counters), input.ty.dtype(), of.compute))
                }
                None => Err(Error::internal("an expression of more inputs than there are")),
            };
            let results = instructions(&mut emit.to, of, load)?;
            for (k, (out, result)) in outs.iter().zip(&results).enumerate() {
                let target = nest.element(inputs.len() + k, counters);
                let value = converted(result, of.compute, out.ty.dtype());
                emit.to.line(&format!("{target} = {value};"));
            }
            Ok(())
        })
    }

    /// Copies elements, and converts them.
    pub fn copy(&mut self, from: &Place, to: &Place) -> Result<()> {
        self.touch(from.root);
        self.touch(to.root);
        if from.ty.is_list() {
            return self.copy_list(from, to);
        }
        let dims = to.ty.dims().to_vec();
        let same = from.ty.dtype() == to.ty.dtype();
        if same && from.ty.dims() == to.ty.dims() && from.is_plain()? && to.is_plain()? {
            let count = count_in_c(&dims)?;
            let (a, b) = (self.at(to), self.at(from));
            let c = c_type(to.ty.dtype());
            self.copy_bytes(&a, &b, &format!("sizeof({c}) * (size_t){count}"));
            return Ok(());
        }
        let walks = vec![self.walk_of(from, &dims), self.walk_of(to, &dims)];
        let nest = Nest::merged(&dims, walks)?;
        self.each(&nest, |emit, counters| {
            let value = converted(&nest.element(0, counters), from.ty.dtype(), to.ty.dtype());
            emit.to.line(&format!("{} = {value};", nest.element(1, counters)));
            Ok(())
        })
    }

    /// Copies elements to where a pointer says.
    pub fn copy_out(&mut self, from: &Place, to: &Place, pointer: &str) -> Result<()> {
        self.touch(from.root);
        let dims = to.ty.dims().to_vec();
        let target = Walk { pointer: pointer.into(), first: to.first, steps: to.steps.clone() };
        let nest = Nest::merged(&dims, vec![self.walk_of(from, &dims), target])?;
        self.each(&nest, |emit, counters| {
            emit.to.line(&format!(
                "{} = {};",
                nest.element(1, counters),
                nest.element(0, counters)
            ));
            Ok(())
        })
    }

    /// The same elements in memory of their own, one behind the other.
    pub fn copied(&mut self, place: &Place, name: &str) -> Result<Place> {
        let copy = self.buffer(name, place.ty)?;
        self.copy(place, &copy)?;
        Ok(copy)
    }

    /// The same elements one behind the other; a copy, if they are not.
    pub fn plain(&mut self, place: &Place) -> Result<Place> {
        if place.is_plain()? { Ok(place.clone()) } else { self.copied(place, "plain") }
    }

    /// A pointer to the first element.
    pub fn at(&self, place: &Place) -> String {
        let pointer = self.pointer(place.root);
        match place.first {
            Whole::Number(0) => pointer,
            first => format!("{pointer} + {}", crate::sizes::whole_in_c(first)),
        }
    }

    fn placed(
        &mut self,
        inputs: &[Place],
        zero: bool,
        add: bool,
        parts: &[Placed],
        out: &Place,
    ) -> Result<()> {
        let dtype = out.ty.dtype();
        if zero {
            self.zero(out)?;
        }
        for (input, part) in inputs.iter().zip(parts) {
            let dims = input.ty.dims().to_vec();
            let target = Walk {
                pointer: self.pointer(out.root),
                first: Whole::from(part.first),
                steps: part.steps.to_vec(),
            };
            let nest = Nest::merged(&dims, vec![self.walk_of(input, &dims), target])?;
            let put = |emit: &mut Self, counters: &[String]| {
                let (x, y) = (nest.element(0, counters), nest.element(1, counters));
                let value = match add {
                    true => {
                        let compute = dtype.compute();
                        let x = converted(&x, input.ty.dtype(), compute);
                        let y = converted(&y, dtype, compute);
                        let sum = match compute {
                            DType::I64 => format!("(int64_t)((uint64_t){y} + (uint64_t){x})"),
                            DType::I32 => format!("(int32_t)((uint32_t){y} + (uint32_t){x})"),
                            DType::F32 | DType::F64 => format!("{y} + {x}"),
                            _ => format!("({})({y} + {x})", c_type(compute)),
                        };
                        converted(&sum, compute, dtype)
                    }
                    false => converted(&x, input.ty.dtype(), dtype),
                };
                emit.to.line(&format!("{y} = {value};"));
                Ok(())
            };
            match add {
                true => self.adding(&nest, put)?,
                false => self.each(&nest, put)?,
            }
        }
        Ok(())
    }

    /// Writes a loop over elements, several of which may come to one place of the second walk.
    fn adding(
        &mut self,
        nest: &Nest,
        put: impl FnOnce(&mut Self, &[String]) -> Result<()>,
    ) -> Result<()> {
        let axes: Vec<usize> = (0..nest.dims.len()).collect();
        if !self.is_host_of_device() {
            let counters = nest.open(&mut self.to, &axes, Trips::InOrder);
            put(self, &counters)?;
            self.to.close(axes.len());
            return Ok(());
        }
        let free = apart(&nest.dims, &nest.walks[1].steps);
        let rest: Vec<usize> = axes.into_iter().filter(|axis| !free.contains(axis)).collect();
        let threads = if free.is_empty() { Threads::One } else { Threads::Many(nest.count(&free)) };
        self.kernel_of(threads, |emit| {
            if !free.is_empty() {
                nest.spread(&mut emit.to, &free, "FL_ME", "FL_ALL");
            }
            let counters = nest.open(&mut emit.to, &rest, Trips::InOrder);
            put(emit, &counters)?;
            emit.to.close(rest.len() + usize::from(!free.is_empty()));
            Ok(())
        })
    }

    /// Fills a place with zeros.
    pub fn zero(&mut self, place: &Place) -> Result<()> {
        let count = count_in_c(place.ty.dims())?;
        let c = c_type(place.ty.dtype());
        self.clear_bytes(&self.at(place), &format!("sizeof({c}) * (size_t){count}"));
        Ok(())
    }

    fn native(
        &mut self,
        call: &Call,
        native: &Native,
        inputs: &[Place],
        outs: &[Place],
    ) -> Result<()> {
        // Half floats are computed in f32, and rounded at the end.
        let is_half = |dtype: DType| matches!(dtype, DType::F16 | DType::BF16);
        let types: Vec<DType> = native
            .types
            .iter()
            .map(|dtype| if is_half(*dtype) { DType::F32 } else { *dtype })
            .collect();
        let mut rounded: Vec<(Place, Place)> = Vec::new();
        let runs = Runs::of(native.source);
        let is_device = self.is_host_of_device();
        if is_device && native.source.text.contains("FL_PRINT") {
            return Err(Error::program(format!("`{}` cannot be exported to CUDA", call.op.name()))
                .remedy("give the value as an output, or export to C"));
        }
        let name = self.sources.add(native.source, &types, self.options.language);
        let mut numbers: Vec<String> = Vec::new();
        let mut listed = |all: &[String]| match is_device {
            false => in_place(all),
            true => {
                let list = if all.is_empty() { "0".into() } else { all.join(", ") };
                numbers.push(format!("const int64_t numbers_{}[] = {{{list}}};", numbers.len()));
                format!("numbers_{}", numbers.len() - 1)
            }
        };
        let mut args: Vec<String> = Vec::new();
        for arg in &native.args {
            args.push(match arg {
                Arg::In(i) | Arg::As(i, _) => {
                    let own = inputs[*i].ty.dtype();
                    let wanted = if let Arg::As(_, dtype) = arg { *dtype } else { own };
                    let wanted = if is_half(wanted) { DType::F32 } else { wanted };
                    let plain = match own == wanted {
                        true => self.plain(&inputs[*i])?,
                        false => {
                            let cast = self.buffer("cast", inputs[*i].ty.with_dtype(wanted))?;
                            self.copy(&inputs[*i], &cast)?;
                            cast
                        }
                    };
                    self.at(&plain)
                }
                Arg::Out(i) if is_half(outs[*i].ty.dtype()) => {
                    let wide = self.buffer("wide", outs[*i].ty.with_dtype(DType::F32))?;
                    rounded.push((wide.clone(), outs[*i].clone()));
                    self.at(&wide)
                }
                Arg::Out(i) => self.at(&outs[*i]),
                Arg::Size(dim) => in_c(*dim),
                Arg::Sizes(dims) => {
                    let sizes = dims.iter().map(|&dim| in_c(dim)).collect::<Vec<_>>();
                    listed(&sizes)
                }
                Arg::Int(number) => i64_literal(*number),
                Arg::Ints(all) => {
                    listed(&all.iter().map(|&number| i64_literal(number)).collect::<Vec<_>>())
                }
                Arg::Number(number) => f64_literal(*number),
                Arg::Work(bytes) => {
                    let bytes = self.most(*bytes)?;
                    match is_device {
                        false => format!("(void *){}", self.work(bytes)),
                        true if runs == Runs::Few => {
                            let all = bytes.checked_mul(FEW).ok_or_else(|| {
                                Error::shape("a step takes too much memory of its own")
                            })?;
                            format!("fl_any{{{}}}", self.work(all))
                        }
                        true => format!("fl_any{{{}}}", self.work(bytes)),
                    }
                }
                Arg::Text(text) => text_literal(text),
                Arg::Nothing => "NULL".into(),
            });
        }
        let first = if is_device && runs == Runs::Host { "fl, " } else { "" };
        let text = format!("{name}({first}{})", args.join(", "));
        let threads = match runs {
            Runs::Host => None,
            Runs::One => Some(Threads::One),
            Runs::Few => Some(Threads::Few),
            Runs::Block => Some(Threads::Block),
            Runs::Many => Some(Threads::Many(self.parts(inputs, outs)?)),
        };
        let write = |emit: &mut Self| {
            numbers.iter().for_each(|line| emit.to.line(line));
            match native.fails {
                true => emit.failing(call, &text),
                false => emit.to.line(&format!("{text};")),
            }
            Ok(())
        };
        match threads {
            Some(threads) => self.kernel_of(threads, write)?,
            None if is_device => {
                self.to.open("{");
                write(self)?;
                self.to.close(1);
            }
            None => write(self)?,
        }
        rounded.iter().try_for_each(|(wide, out)| self.copy(wide, out))
    }

    /// Into how many parts the work of a function falls, at most: the elements of its largest operand.
    fn parts(&self, inputs: &[Place], outs: &[Place]) -> Result<String> {
        let mut largest = (0, "1".to_string());
        for place in inputs.iter().chain(outs).filter(|place| !place.ty.is_list()) {
            let most = crate::sizes::most_elements(&place.ty, &self.options.sizes)?;
            if most > largest.0 {
                largest = (most, count_in_c(place.ty.dims())?);
            }
        }
        Ok(largest.1)
    }

    /// Writes a call that gives a text where it fails.
    pub fn failing(&mut self, call: &Call, text: &str) {
        let place = place_of(call);
        if self.is_in_kernel() {
            self.to.line(&format!("const char *const fault = {text};"));
            self.to.open("if (fault != NULL) {");
        } else {
            self.to.open(&format!("if ((fault = {text}) != NULL) {{"));
        }
        let fails = self.fails(&place, "fault");
        self.to.line(&fails);
        self.to.close(1);
    }
}

/// The op and the user's line, for messages.
pub fn place_of(call: &Call) -> String {
    let name = call.op.name();
    if !call.loc.is_known() {
        return name.into();
    }
    let file = call.loc.file();
    let file = file.rsplit(['/', '\\']).next().unwrap_or("").replace('"', "'");
    format!("{file}:{}: {name}", call.loc.line())
}

fn in_place(all: &[String]) -> String {
    match all.is_empty() {
        true => "(const int64_t[]){0}".into(),
        false => format!("(const int64_t[]){{{}}}", all.join(", ")),
    }
}

fn reshaped(plain: &Place, ty: Type) -> Result<Place> {
    let place = Place::plain(plain.root, ty)?;
    Ok(Place { first: plain.first, ..place })
}
