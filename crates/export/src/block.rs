//! The calls of a block, one after the other, and where their values are.

use std::collections::{HashMap, HashSet};

use fluvial_core::structural::{Assign, Note, Read};
use fluvial_core::{Block, Call, Error, Kernel, Result, Tensor, Type, ValueId};

use crate::constants::Constants;
use crate::device::DeviceKernel;
use crate::names::Names;
use crate::place::{Place, Root, c_type, is_written};
use crate::prelude::Sources;
use crate::sizes::{most, most_elements};
use crate::writer::Writer;
use crate::{Language, Options};

/// A program while it is written down.
pub struct Emit<'a> {
    pub options: &'a Options,
    pub states: Vec<Named>,
    pub inputs: Vec<Named>,
    pub to: Writer,
    pub buffers: Vec<Buffer>,
    pub constants: Constants,
    pub sources: Sources,
    pub names: Names,
    /// How many elements lists take.
    pub capacity: usize,
    /// The number of the step that is written.
    pub step: usize,
    /// What runs on the device.
    pub kernels: Vec<DeviceKernel>,
    /// Whether what is written is a part of a kernel.
    pub in_kernel: bool,
    /// Whether outputs must not be written to states at once.
    pub spares_states: bool,
    /// The line of the user and the op that are written.
    pub about: String,
    loops: Vec<OpenLoop>,
}

/// A state or an input.
pub struct Named {
    pub name: String,
    pub in_c: String,
    pub ty: Type,
}

/// A range of the arena.
pub struct Buffer {
    pub name: String,
    pub c_type: &'static str,
    pub ty: Type,
    pub bytes: usize,
    /// The first and the last step that need it.
    pub from: usize,
    pub to: usize,
}

struct OpenLoop {
    start: usize,
    touched: HashSet<usize>,
}

/// The calls of a block with what is known of them.
pub struct Walk<'b> {
    pub block: &'b Block,
    what: Vec<What>,
    /// By value: the last call that needs what it shows.
    last: Vec<usize>,
    pub places: Vec<Option<Place>>,
    /// What belongs to others.
    protected: HashSet<Root>,
    goals: HashMap<ValueId, Goal>,
}

/// Where a value is to end up.
struct Goal {
    root: Root,
    /// The call that brings it there.
    at: usize,
}

enum What {
    Kernel(Kernel),
    Constants(Vec<Tensor>),
    Read(usize),
    Assign(usize),
    Nothing,
}

/// Which inputs an output can take the place of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    Never,
    /// Any that has the same elements in the same places.
    Elementwise,
    /// That of the same number, for the first ones.
    First(usize),
}

impl<'a> Emit<'a> {
    pub fn new(
        options: &'a Options,
        states: Vec<Named>,
        inputs: Vec<Named>,
        capacity: usize,
    ) -> Emit<'a> {
        Emit {
            options,
            states,
            inputs,
            to: Writer::within(1),
            buffers: Vec::new(),
            constants: Constants::default(),
            sources: Sources::default(),
            names: Names::default(),
            capacity,
            step: 0,
            kernels: Vec::new(),
            in_kernel: false,
            spares_states: false,
            about: String::new(),
            loops: Vec::new(),
        }
    }

    /// Writes the calls of a block, and tells where its results are. `goals` says by result where it would best be.
    pub fn block(
        &mut self,
        block: &Block,
        params: Vec<Place>,
        goals: &[Option<Root>],
    ) -> Result<Vec<Place>> {
        let mut walk = self.walk(block, params, goals)?;
        for (index, call) in block.calls.iter().enumerate() {
            self.step += 1;
            let done = self.call(&mut walk, index, call);
            done.map_err(|error| error.at(call.loc))?;
        }
        self.step += 1;
        block.results.iter().map(|&id| walk.place(id).cloned()).collect()
    }

    fn walk<'b>(
        &self,
        block: &'b Block,
        params: Vec<Place>,
        goals: &[Option<Root>],
    ) -> Result<Walk<'b>> {
        let what = block
            .calls
            .iter()
            .map(|call| self.what(block, call).map_err(|error| error.at(call.loc)))
            .collect::<Result<Vec<_>>>()?;
        let mut last = vec![0; block.types.len()];
        for (index, call) in block.calls.iter().enumerate() {
            for id in call.outputs().chain(call.inputs.iter().copied()) {
                last[id as usize] = index;
            }
        }
        block.results.iter().for_each(|&id| last[id as usize] = usize::MAX);
        for (what, call) in what.iter().zip(&block.calls).rev() {
            let shown = match what {
                What::Kernel(Kernel::View(_)) => call.inputs[0],
                What::Kernel(Kernel::Same(input)) => call.inputs[*input],
                _ => continue,
            };
            last[shown as usize] = last[shown as usize].max(last[call.first_output as usize]);
        }
        let mut wanted = HashMap::new();
        for (&id, goal) in block.results.iter().zip(goals) {
            if let Some(root) = *goal {
                wanted.entry(id).or_insert(Goal { root, at: usize::MAX });
            }
        }
        for (index, (what, call)) in what.iter().zip(&block.calls).enumerate() {
            if let What::Assign(state) = what {
                let goal = Goal { root: Root::State(*state), at: index };
                wanted.entry(call.inputs[0]).or_insert(goal);
            }
        }
        let protected = params.iter().map(|place| place.root).collect();
        let mut places: Vec<Option<Place>> = params.into_iter().map(Some).collect();
        places.resize(block.types.len(), None);
        Ok(Walk { block, what, last, places, protected, goals: wanted })
    }

    fn what(&self, block: &Block, call: &Call) -> Result<What> {
        let state = |name: &str| {
            let known = self.states.iter().position(|state| state.name == name);
            known.ok_or_else(|| Error::internal(format!("the program does not declare `{name}`")))
        };
        if let Some(read) = call.op.downcast::<Read>() {
            return state(&read.state).map(What::Read);
        }
        if let Some(assign) = call.op.downcast::<Assign>() {
            return state(&assign.state).map(What::Assign);
        }
        if call.op.downcast::<Note>().is_some() {
            return Ok(What::Nothing);
        }
        let (inputs, outs) = (block.input_types(call), block.output_types(call));
        if let Some(ty) = inputs.iter().copied().chain(outs).find(|ty| !is_written(ty.dtype())) {
            let (name, dtype) = (call.op.name(), ty.dtype());
            return Err(Error::program(format!(
                "`{name}` of {dtype} cannot be exported to {}",
                self.language()
            ))
            .remedy("use i32 or i64 in the program"));
        }
        if let Some(kernel) = call.op.kernel(&inputs, outs)? {
            return Ok(What::Kernel(kernel));
        }
        let is_known = outs.iter().all(|ty| !ty.is_symbolic() && !ty.is_list());
        if inputs.is_empty() && is_known && !call.op.properties().effect {
            let values = call.op.eval(&[], outs)?;
            let tensors = values.iter().map(|value| value.tensor().cloned());
            return tensors.collect::<Result<_>>().map(What::Constants);
        }
        let types: Vec<String> = inputs.iter().map(|ty| ty.to_string()).collect();
        Err(Error::program(format!(
            "`{}` cannot be exported to {}",
            call.op.name(),
            self.language()
        ))
        .note(format!("on {}", types.join(", ")))
        .remedy("leave it outside of the program, or use the library with a C interface"))
    }

    /// The language, for messages.
    pub fn language(&self) -> &'static str {
        match self.options.language {
            Language::C => "C",
            Language::Cuda => "CUDA",
        }
    }

    fn call(&mut self, walk: &mut Walk<'_>, index: usize, call: &Call) -> Result<()> {
        let what = std::mem::replace(&mut walk.what[index], What::Nothing);
        self.comment(walk.block, call, &what);
        match &what {
            What::Read(state) => {
                let place = Place::plain(Root::State(*state), self.states[*state].ty)?;
                let id = call.first_output;
                let is_assigned = |later: &What| matches!(later, What::Assign(s) if s == state);
                let next = walk.what.iter().skip(index + 1).position(is_assigned);
                let place = match next {
                    // What is read must not change with the state.
                    Some(distance) if walk.last[id as usize] > index + 1 + distance => {
                        self.copied(&place, "before")?
                    }
                    _ => place,
                };
                walk.places[id as usize] = Some(place);
            }
            What::Assign(state) => {
                let to = Place::plain(Root::State(*state), self.states[*state].ty)?;
                let from = walk.place(call.inputs[0])?.clone();
                if from.root != to.root || !from.is_whole()? {
                    let from =
                        if from.root == to.root { self.copied(&from, "before")? } else { from };
                    self.copy(&from, &to)?;
                }
            }
            What::Constants(tensors) => {
                for (id, tensor) in call.outputs().zip(tensors) {
                    let root = self.constants.add(tensor)?;
                    let place = match tensor.numel() == 1 {
                        true => Place::uniform(root, tensor.ty()),
                        false => Place::plain(root, tensor.ty())?,
                    };
                    walk.places[id as usize] = Some(place);
                }
            }
            What::Kernel(kernel) => self.kernel(walk, index, call, kernel)?,
            What::Nothing => {}
        }
        for id in call.inputs.iter().copied().chain(call.outputs()) {
            if let Some(place) = &walk.places[id as usize] {
                self.touch(place.root);
            }
        }
        walk.what[index] = what;
        Ok(())
    }

    /// Notes that the step needs what is there.
    pub fn touch(&mut self, root: Root) {
        let Root::Buffer(number) = root else { return };
        let buffer = &mut self.buffers[number];
        buffer.to = buffer.to.max(self.step);
        for open in &mut self.loops {
            if buffer.from <= open.start {
                open.touched.insert(number);
            }
        }
    }

    /// Begins a loop: what it uses from outside stays until its end.
    pub fn open_loop(&mut self) {
        self.loops.push(OpenLoop { start: self.step, touched: HashSet::new() });
        self.step += 1;
    }

    pub fn close_loop(&mut self) {
        self.step += 1;
        for number in self.loops.pop().into_iter().flat_map(|open| open.touched) {
            self.buffers[number].to = self.buffers[number].to.max(self.step);
        }
    }

    /// Memory for a value of a type.
    pub fn buffer(&mut self, name: &str, ty: Type) -> Result<Place> {
        let bytes = self.bytes(&ty)?;
        let c_type = if ty.is_list() { "unsigned char" } else { c_type(ty.dtype()) };
        let root = self.memory(name, c_type, ty, bytes);
        Place::plain(root, ty)
    }

    /// Memory for the step that is written.
    pub fn work(&mut self, bytes: usize) -> String {
        let root =
            self.memory("work", "unsigned char", Type::scalar(fluvial_core::DType::U8), bytes);
        self.pointer(root)
    }

    fn memory(&mut self, name: &str, c_type: &'static str, ty: Type, bytes: usize) -> Root {
        let name = self.names.fresh(name);
        self.buffers.push(Buffer { name, c_type, ty, bytes, from: self.step, to: self.step });
        Root::Buffer(self.buffers.len() - 1)
    }

    /// The most bytes of a value.
    pub fn bytes(&self, ty: &Type) -> Result<usize> {
        let too_many = || Error::shape(format!("{ty} takes too many bytes"));
        match ty.element() {
            Some(element) => {
                let each = self.bytes(&element)?.next_multiple_of(64);
                each.checked_mul(self.capacity)
                    .and_then(|all| all.checked_add(64))
                    .ok_or_else(too_many)
            }
            None => most_elements(ty, &self.options.sizes)?
                .checked_mul(ty.dtype().size())
                .ok_or_else(too_many),
        }
    }

    /// The most that a size can be.
    pub fn most(&self, dim: fluvial_core::Dim) -> Result<usize> {
        most(dim, &self.options.sizes)
    }

    /// A pointer to what holds elements, in C.
    pub fn pointer(&self, root: Root) -> String {
        match root {
            Root::Buffer(number) => self.buffers[number].name.clone(),
            Root::State(number) => {
                format!("{}state->{}", self.from_run(), self.states[number].in_c)
            }
            Root::Input(number) => match self.options.language {
                Language::C => format!("in->{}", self.inputs[number].in_c),
                Language::Cuda => format!("fl.in.{}", self.inputs[number].in_c),
            },
            Root::Constant(number) => format!("fl_constant_{number}"),
        }
    }

    fn from_run(&self) -> &'static str {
        if self.options.language == Language::C { "" } else { "fl." }
    }

    /// Where the outputs of a call are to be written.
    pub fn outputs(
        &mut self,
        walk: &mut Walk<'_>,
        index: usize,
        reuse: Reuse,
    ) -> Result<Vec<Place>> {
        let call = &walk.block.calls[index];
        let mut made: Vec<Place> = Vec::new();
        for (k, id) in call.outputs().enumerate() {
            let ty = walk.block.types[id as usize];
            let taken: Vec<Root> = made.iter().map(|place| place.root).collect();
            let spared = |root: &Root| self.spares_states && matches!(root, Root::State(_));
            let goal = walk.goal(index, k, id, reuse)?;
            let root = match goal.filter(|root| !taken.contains(root) && !spared(root)) {
                Some(root) => Some(root),
                None => walk.replaced(index, k, id, reuse, &taken)?,
            };
            let place = match root {
                Some(root) => Place::plain(root, ty)?,
                None => {
                    let name = self.value_name(walk.block, call, id);
                    self.buffer(&name, ty)?
                }
            };
            made.push(place);
        }
        for (id, place) in call.outputs().zip(&made) {
            walk.places[id as usize] = Some(place.clone());
        }
        Ok(made)
    }

    fn value_name(&self, block: &Block, call: &Call, id: ValueId) -> String {
        match block.names.get(&id) {
            Some(name) => name.to_string(),
            None => call.op.name().replace('.', "_"),
        }
    }

    fn comment(&mut self, block: &Block, call: &Call, what: &What) {
        if matches!(what, What::Nothing | What::Read(_) | What::Constants(_)) {
            return;
        }
        let mut text = String::from("// ");
        if call.loc.is_known() {
            let file = call.loc.file();
            let file = file.rsplit(['/', '\\']).next().unwrap_or("");
            text.push_str(&format!("{file}:{} ", call.loc.line()));
        }
        text.push_str(call.op.name());
        if let What::Assign(state) = what {
            text.push_str(&format!(" {}", self.states[*state].name));
        }
        if let Some(twin) = &call.twin {
            let ops: Vec<&str> = twin.calls.iter().map(|call| call.op.name()).collect();
            text.push_str(&format!(" ({})", ops.join(", ")));
        }
        let outs: Vec<String> = block.output_types(call).iter().map(|ty| ty.to_string()).collect();
        if !outs.is_empty() {
            text.push_str(&format!(" -> {}", outs.join(", ")));
        }
        self.about = text.replace(['\n', '\\'], " ");
        self.to.line(&self.about);
    }
}

impl Walk<'_> {
    pub fn place(&self, id: ValueId) -> Result<&Place> {
        let place = self.places.get(id as usize).and_then(Option::as_ref);
        place.ok_or_else(|| Error::internal("a value has no place"))
    }

    /// The places of a call's inputs.
    pub fn inputs(&self, call: &Call) -> Result<Vec<Place>> {
        call.inputs.iter().map(|&id| self.place(id).cloned()).collect()
    }

    /// Whether nothing needs a value behind this call, neither what shows the same memory.
    pub fn ends(&self, root: Root, index: usize) -> bool {
        let shows = |(id, place): (usize, &Option<Place>)| {
            place.as_ref().is_some_and(|place| place.root == root) && self.last[id] > index
        };
        !self.places.iter().enumerate().any(shows)
    }

    /// Whether a call may write to what holds some of its inputs.
    fn may_write(
        &self,
        index: usize,
        k: usize,
        ty: &Type,
        root: Root,
        reuse: Reuse,
    ) -> Result<bool> {
        if !self.ends(root, index) {
            return Ok(false);
        }
        for (i, place) in self.inputs(&self.block.calls[index])?.iter().enumerate() {
            if place.root != root {
                continue;
            }
            let fits = match reuse {
                Reuse::Never => false,
                Reuse::Elementwise => true,
                Reuse::First(n) => k < n && i == k,
            };
            if !fits || place.ty != *ty || !place.is_whole()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What an output is to be brought to, if it can be written there at once.
    fn goal(&self, index: usize, k: usize, id: ValueId, reuse: Reuse) -> Result<Option<Root>> {
        let Some(goal) = self.goals.get(&id) else { return Ok(None) };
        let ty = &self.block.types[id as usize];
        if !self.may_write(index, k, ty, goal.root, reuse)? {
            return Ok(None);
        }
        let Root::State(state) = goal.root else { return Ok(Some(goal.root)) };
        // Until it is assigned, nobody may see the state, nor may the run fail.
        let failing = self.block.failing_calls();
        let is_seen = |i: usize| {
            failing[i] || matches!(&self.what[i], What::Read(s) | What::Assign(s) if *s == state)
        };
        let assigned_again = |later: &What| matches!(later, What::Assign(s) if *s == state);
        let is_free = !failing[index]
            && !(index + 1..goal.at).any(is_seen)
            && !self.what.iter().skip(goal.at + 1).any(assigned_again);
        Ok(is_free.then_some(goal.root))
    }

    /// An input that ends here, whose memory an output can have.
    fn replaced(
        &self,
        index: usize,
        k: usize,
        id: ValueId,
        reuse: Reuse,
        taken: &[Root],
    ) -> Result<Option<Root>> {
        let ty = &self.block.types[id as usize];
        if reuse == Reuse::Never {
            return Ok(None);
        }
        for place in self.inputs(&self.block.calls[index])? {
            let is_own =
                matches!(place.root, Root::Buffer(_)) && !self.protected.contains(&place.root);
            if is_own
                && !taken.contains(&place.root)
                && place.ty == *ty
                && place.is_whole()?
                && self.may_write(index, k, ty, place.root, reuse)?
                && (reuse == Reuse::Elementwise || {
                    let first = self.block.calls[index].inputs.get(k);
                    first.is_some_and(|&id| {
                        self.places[id as usize].as_ref().is_some_and(|p| p.root == place.root)
                    })
                })
            {
                return Ok(Some(place.root));
            }
        }
        Ok(None)
    }

    /// Whether a value is memory of this block that nothing else needs behind this call.
    pub fn can_take(&self, id: ValueId, index: usize) -> Result<bool> {
        let place = self.place(id)?;
        let is_own = matches!(place.root, Root::Buffer(_)) && !self.protected.contains(&place.root);
        let is_once = self.block.calls[index].inputs.iter().filter(|&&input| {
            self.places[input as usize].as_ref().is_some_and(|other| other.root == place.root)
        });
        Ok(is_own && is_once.count() == 1 && place.is_whole()? && self.ends(place.root, index))
    }
}
