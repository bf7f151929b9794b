//! The files of an exported program.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use fluvial_compile::memory::{Lifetime, layout};
use fluvial_compile::{Options as Compiling, compile};
use fluvial_core::structural::{Assign, Read};
use fluvial_core::{
    Block, Call, Dim, Error, Kernel, ListKernel, Program, Result, State, Tensor, Type,
};

use crate::block::{Emit, Named};
use crate::constants::array;
use crate::names::{self, Names};
use crate::place::{Place, Root, c_type};
use crate::sizes::{most_elements, symbol_in_c};
use crate::{Blas, Export, Language, Options, Size, cuda, prelude};

pub fn export(program: &Program, state: &State, options: &Options) -> Result<Export> {
    let outputs: Vec<&str> = match options.outputs.is_empty() {
        true => program.outputs.iter().map(|name| &**name).collect(),
        false => options.outputs.iter().map(|name| &**name).collect(),
    };
    if options.language == Language::Cuda {
        cuda::check(options)?;
    }
    if names::in_c(&options.name) != options.name {
        return Err(Error::argument(format!("`{}` is not a name in C", options.name))
            .remedy("use letters, digits and underscores, not starting with a digit"));
    }
    // What follows a product is a loop of its own in C.
    let compiling = Compiling { without: vec!["epilogues".into()], ..Compiling::default() };
    let compiled = compile(program, &outputs, &compiling)?.program;
    let main = known(&compiled.main, &options.sizes)?;
    let values = first_values(program, &compiled, state)?;
    let written = Written::new(&compiled, &main, options)?;
    match options.language {
        Language::C => written.files(&values, options),
        Language::Cuda => cuda::files(&written, &values, options),
    }
}

/// The block with the sizes that are given.
pub fn known(block: &Block, sizes: &[Size]) -> Result<Block> {
    let number = |symbol: Dim| {
        let name = symbol.symbol_name()?;
        let size = sizes.iter().find(|size| *size.name == *name && !size.is_bound)?;
        Some(Dim::size(size.number))
    };
    block.substitute(&number)
}

/// The states that a program has to do with, and their initial values.
pub fn first_values(
    program: &Program,
    compiled: &Program,
    state: &State,
) -> Result<Vec<(String, Tensor)>> {
    let used = used_states(&compiled.main);
    let scope = state.fork()?.bound_to(&program.bound());
    program.initialise(&scope)?;
    let names = compiled.states.keys().filter(|name| used.contains(*name));
    names
        .map(|name| Ok((name.to_string(), scope.read(name)?.value()?.tensor()?.contiguous()?)))
        .collect()
}

/// The states that a block reads or assigns.
fn used_states(block: &Block) -> BTreeSet<Arc<str>> {
    let state = |call: &'_ Call| -> Option<Arc<str>> {
        let read = call.op.downcast::<Read>().map(|read| read.state.clone());
        read.or_else(|| call.op.downcast::<Assign>().map(|assign| assign.state.clone()))
    };
    block.calls.iter().filter_map(state).collect()
}

/// The parts of the source.
pub struct Written {
    pub states: Vec<Named>,
    pub inputs: Vec<Named>,
    pub outputs: Vec<Named>,
    pub sizes: Vec<String>,
    pub code: String,
    pub arena_bytes: usize,
    /// What there is besides, in CUDA.
    pub device: cuda::Parts,
}

impl Written {
    fn new(program: &Program, main: &Block, options: &Options) -> Result<Written> {
        let mut members = Names::default();
        let used = used_states(main);
        let mut states = Vec::new();
        for (name, decl) in program.states.iter().filter(|(name, _)| used.contains(*name)) {
            if decl.ty.is_symbolic() || decl.ty.is_list() {
                return Err(Error::program(format!(
                    "the state `{name}` is {}: its size is not known",
                    decl.ty
                )));
            }
            states.push(Named { name: name.to_string(), in_c: members.fresh(name), ty: decl.ty });
        }
        let mut members = Names::default();
        let sizes: Vec<String> =
            options.sizes.iter().filter(|s| s.is_bound).map(|s| s.name.clone()).collect();
        sizes.iter().for_each(|name| drop(members.fresh(&symbol_in_c(name))));
        let named = |name: &str, ty: &Type, members: &mut Names| {
            if ty.is_list() {
                return Err(Error::program(format!(
                    "`{name}` is a list, which C programs do not give or take"
                )));
            }
            Ok(Named { name: name.to_string(), in_c: members.fresh(name), ty: *ty })
        };
        let mut inputs = Vec::new();
        for (name, ty) in program.inputs.iter().zip(main.param_types()) {
            inputs.push(named(name, ty, &mut members)?);
        }
        let mut members = Names::default();
        let mut outputs = Vec::new();
        for (name, ty) in program.outputs.iter().zip(main.result_types()) {
            outputs.push(named(name, ty, &mut members)?);
        }
        let capacity = longest_list(main, options)?.max(options.list_capacity);
        let mut emit = Emit::new(options, states, inputs, capacity);
        let mut params = Vec::new();
        for (number, input) in emit.inputs.iter().enumerate() {
            params.push(Place::plain(Root::Input(number), input.ty)?);
        }
        let results = emit.block(main, params, &[])?;
        for (result, output) in results.iter().zip(&outputs) {
            write_output(&mut emit, result, output)?;
        }
        let lives: Vec<Lifetime> = emit
            .buffers
            .iter()
            .map(|b| Lifetime {
                bytes: b.bytes.max(1).next_multiple_of(64),
                from: b.from,
                to: b.to,
            })
            .collect();
        let ranges = layout(&lives);
        let arena_bytes = ranges.iter().map(|range| range.end).max().unwrap_or(0).max(64);
        if options.language == Language::Cuda {
            let (code, device) = cuda::code(&mut emit, &ranges, options)?;
            let Emit { states, inputs, .. } = emit;
            return Ok(Written { states, inputs, outputs, sizes, code, arena_bytes, device });
        }
        let mut code = String::new();
        let name = &options.name;
        let body = std::mem::take(&mut emit.to).into_text();
        let mut run = format!(
            "int {name}_run({name}_state *state, const {name}_inputs *in, {name}_outputs *out, {name}_arena *arena) {{\n"
        );
        run.push_str("    unsigned char *const at = arena->bytes;\n");
        if body.contains("fault = ") {
            run.push_str("    const char *fault;\n");
        }
        for (size, bound) in
            options.sizes.iter().filter(|s| s.is_bound).map(|s| (&s.name, s.number))
        {
            let c = symbol_in_c(size);
            let _ = write!(
                run,
                "    const int64_t {c} = in->{c};\n    if ({c} < 0 || {c} > {bound}) {{\n        return fl_fail(arena, \"{size}\", \"is not between 0 and {bound}\");\n    }}\n"
            );
        }
        for (buffer, range) in emit.buffers.iter().zip(&ranges) {
            let _ = writeln!(
                run,
                "    {c} *const {n} = ({c} *)(void *)(at + {start}); // {ty}",
                c = buffer.c_type,
                n = buffer.name,
                start = range.start,
                ty = buffer.ty
            );
        }
        for unused in ["state", "in", "out", "at"] {
            let _ = writeln!(run, "    (void){unused};");
        }
        run.push_str(&body);
        run.push_str("    return 0;\n}\n");
        let templates = emit.sources.text();
        code.push_str(&prelude::scalars(&format!("{templates}{run}")));
        code.push_str(templates);
        code.push_str(&emit.constants.declared(&run)?);
        code.push('\n');
        code.push_str(&run);
        let Emit { states, inputs, .. } = emit;
        let device = cuda::Parts::default();
        Ok(Written { states, inputs, outputs, sizes, code, arena_bytes, device })
    }

    fn files(&self, values: &[(String, Tensor)], options: &Options) -> Result<Export> {
        let name = &options.name;
        let mut files = vec![
            (format!("{name}.h"), self.header(options)?.into_bytes()),
            (format!("{name}.c"), self.source(options)?.into_bytes()),
            ("main.c".into(), self.main(options)?.into_bytes()),
            ("Makefile".into(), makefile(options).into_bytes()),
            ("CMakeLists.txt".into(), cmake(options).into_bytes()),
        ];
        match options.embed {
            true => files
                .push((format!("{name}_weights.c"), self.embedded(values, options)?.into_bytes())),
            false => files.push((format!("{name}.bin"), weights(values)?)),
        }
        Ok(Export { files, arena_bytes: self.arena_bytes })
    }

    /// The fields of the structs of states, inputs and outputs.
    pub fn fields(&self, options: &Options) -> Result<[String; 3]> {
        let mut states = String::new();
        for state in &self.states {
            let count = most_elements(&state.ty, &options.sizes)?.max(1);
            let _ = writeln!(
                states,
                "    _Alignas(64) {} {}[{count}]; // {}: {}",
                c_type(state.ty.dtype()),
                state.in_c,
                state.name,
                state.ty
            );
        }
        if states.is_empty() {
            states.push_str("    char nothing;\n");
        }
        let mut inputs = String::new();
        for size in &self.sizes {
            let _ = writeln!(inputs, "    int64_t {}; // {size}", symbol_in_c(size));
        }
        let mut outputs = String::new();
        for (fields, list, qualifier) in
            [(&self.inputs, &mut inputs, "const "), (&self.outputs, &mut outputs, "")]
        {
            for field in fields {
                let count = most_elements(&field.ty, &options.sizes)?;
                let _ = writeln!(
                    list,
                    "    {qualifier}{} *{}; // {}: {}, at most {count} elements",
                    c_type(field.ty.dtype()),
                    field.in_c,
                    field.name,
                    field.ty
                );
            }
            if list.is_empty() {
                list.push_str("    char nothing;\n");
            }
        }
        Ok([states, inputs, outputs])
    }

    fn header(&self, options: &Options) -> Result<String> {
        let name = &options.name;
        let upper = name.to_uppercase();
        let mut text = include_str!("../c/head.h").to_string();
        let [states, inputs, outputs] = self.fields(options)?;
        for (mark, value) in [
            ("@STATES@", states),
            ("@INPUTS@", inputs),
            ("@OUTPUTS@", outputs),
            ("@BYTES@", self.arena_bytes.to_string()),
            ("@UPPER@", upper),
            ("@NAME@", name.clone()),
        ] {
            text = text.replace(mark, &value);
        }
        Ok(text)
    }

    /// The lines that read states from a file, and write them.
    pub fn reads_and_writes(&self) -> [String; 2] {
        let (mut load, mut save) = (String::new(), String::new());
        for state in &self.states {
            let _ = writeln!(
                load,
                "    ok = ok && fread(state->{0}, sizeof state->{0}, 1, file) == 1;",
                state.in_c
            );
            let _ = writeln!(
                save,
                "    ok = ok && fwrite(state->{0}, sizeof state->{0}, 1, file) == 1;",
                state.in_c
            );
        }
        let empty = "    (void)state;\n".to_string();
        if load.is_empty() { [empty.clone(), empty] } else { [load, save] }
    }

    fn source(&self, options: &Options) -> Result<String> {
        let name = &options.name;
        let [load, save] = self.reads_and_writes();
        let include = match options.blas {
            Blas::None => "",
            Blas::Mkl => "#define FL_CBLAS 1\n#include <mkl_cblas.h>\n",
            Blas::Cblas | Blas::OpenBlas => "#define FL_CBLAS 1\n#include <cblas.h>\n",
        };
        let mut text = include_str!("../c/source.c").to_string();
        for (mark, value) in [
            ("@BLAS@", include),
            ("@LOAD@", &load),
            ("@SAVE@", &save),
            ("@CODE@", &self.code),
            ("@NAME@", name),
        ] {
            text = text.replace(mark, value);
        }
        Ok(text)
    }

    pub fn main(&self, options: &Options) -> Result<String> {
        let name = &options.name;
        let (mut memory, mut read, mut write) = (String::new(), String::new(), String::new());
        for size in &self.sizes {
            let c = symbol_in_c(size);
            let _ = writeln!(
                read,
                "    const int64_t {c} = size_of(argc, argv, \"{size}\");\n    in.{c} = {c};"
            );
        }
        let is_c = options.language == Language::C;
        for input in &self.inputs {
            let count = most_elements(&input.ty, &options.sizes)?.max(1);
            let (c, field) = (c_type(input.ty.dtype()), &input.in_c);
            let _ = writeln!(memory, "static {c} memory_in_{field}[{count}];");
            let _ = write!(
                read,
                "    const int64_t sizes_in_{field}[] = {{{dims}}};\n    read_npy(find(argc, argv, \"{name}\"), \"{type}\", memory_in_{field}, sizeof(memory_in_{field}[0]), {rank}, sizes_in_{field});\n",
                dims = dims_in_c(&input.ty),
                name = input.name,
                type = descr(&input.ty),
                rank = input.ty.rank()
            );
            let _ = match is_c {
                true => writeln!(read, "    in.{field} = memory_in_{field};"),
                false => writeln!(
                    read,
                    "    in.{field} = ({c} *)there(memory_in_{field}, sizeof memory_in_{field});"
                ),
            };
        }
        for output in &self.outputs {
            let count = most_elements(&output.ty, &options.sizes)?.max(1);
            let (c, field) = (c_type(output.ty.dtype()), &output.in_c);
            let _ = writeln!(memory, "static {c} memory_out_{field}[{count}];");
            let _ = match is_c {
                true => writeln!(read, "    out.{field} = memory_out_{field};"),
                false => writeln!(
                    read,
                    "    out.{field} = ({c} *)there(memory_out_{field}, sizeof memory_out_{field});"
                ),
            };
            if !is_c {
                let _ = writeln!(
                    write,
                    "    here(memory_out_{field}, out.{field}, sizeof memory_out_{field});"
                );
            }
            let _ = write!(
                write,
                "    const int64_t sizes_out_{field}[] = {{{dims}}};\n    write_npy(argc, argv, \"{name}\", \"{type}\", memory_out_{field}, sizeof(memory_out_{field}[0]), {rank}, sizes_out_{field});\n",
                dims = dims_in_c(&output.ty),
                name = output.name,
                type = descr(&output.ty),
                rank = output.ty.rank()
            );
        }
        let init = match options.embed {
            true => format!("{name}_init(&state);"),
            false if !is_c => format!(
                "if ({name}_open(&device, 0) != 0 || {name}_load(&device, weights) != 0) {{\n        fprintf(stderr, \"%s\\n\", device.error);\n        return 1;\n    }}"
            ),
            false => format!(
                "if ({name}_load(&state, weights) != 0) {{ fprintf(stderr, \"cannot read the weights from %s\\n\", weights); return 1; }}"
            ),
        };
        let mut text = include_str!("../c/main.c").to_string();
        let machine = match is_c {
            true => format!("static {name}_arena arena;\nstatic {name}_state state;\n"),
            false => include_str!("../c/main_device.cu").replace("@NAME@", name),
        };
        let [run, error, save] = match is_c {
            true => [
                format!("{name}_run(&state, &in, &out, &arena)"),
                "arena.error".into(),
                format!("{name}_save(&state, save)"),
            ],
            false => [
                format!("{name}_run(&device, &in, &out)"),
                "device.error".into(),
                format!("{name}_save(&device, save)"),
            ],
        };
        for (mark, value) in [
            ("@MACHINE@", &machine),
            ("@RUN@", &run),
            ("@ERROR@", &error),
            ("@SAVE@", &save),
            ("@MEMORY@", &memory),
            ("@READ@", &read),
            ("@WRITE@", &write),
            ("@INIT@", &init),
            ("@NAME@", name),
        ] {
            text = text.replace(mark, value);
        }
        Ok(text)
    }

    fn embedded(&self, values: &[(String, Tensor)], options: &Options) -> Result<String> {
        let name = &options.name;
        let mut text = format!(
            "// The initial values of the states.\n\n#include \"{name}.h\"\n\n#include <math.h>\n#include <string.h>\n\n"
        );
        let mut body = String::new();
        for (state, (_, tensor)) in self.states.iter().zip(values) {
            text.push_str(&array("static const", &format!("first_{}", state.in_c), tensor)?);
            let _ =
                writeln!(body, "    memcpy(state->{0}, first_{0}, sizeof state->{0});", state.in_c);
        }
        if body.is_empty() {
            body.push_str("    (void)state;\n");
        }
        let _ = write!(text, "\nvoid {name}_init({name}_state *state) {{\n{body}}}\n");
        Ok(text)
    }
}

/// The sizes of a type in C.
fn dims_in_c(ty: &Type) -> String {
    let sizes: Vec<String> = ty.dims().iter().map(|&dim| crate::sizes::in_c(dim)).collect();
    if sizes.is_empty() { "0".into() } else { sizes.join(", ") }
}

fn write_output(emit: &mut Emit<'_>, result: &Place, output: &Named) -> Result<()> {
    let target = match emit.options.language {
        Language::C => format!("out->{}", output.in_c),
        Language::Cuda => format!("fl.out.{}", output.in_c),
    };
    emit.about = format!("// the output {}", output.name);
    emit.to.open(&format!("if ({target} != NULL) {{"));
    let to = Place::plain(Root::Buffer(usize::MAX), output.ty)?;
    emit.copy_out(result, &to, &target)?;
    emit.to.close(1);
    Ok(())
}

/// The most elements that a list of the program surely gets.
fn longest_list(block: &Block, options: &Options) -> Result<usize> {
    let mut longest = 0;
    for call in &block.calls {
        let (inputs, outs) = (block.input_types(call), block.output_types(call));
        let dim = match call.op.kernel(&inputs, outs) {
            Ok(Some(Kernel::List(ListKernel::Stack(dim, _)))) => Some(dim),
            Ok(Some(Kernel::List(ListKernel::Unstack(_)))) => Some(inputs[0].dim(0)),
            _ => None,
        };
        if let Some(dim) = dim {
            longest = longest.max(crate::sizes::most(dim, &options.sizes).unwrap_or(0));
        }
        for inner in call.op.blocks() {
            longest = longest.max(longest_list(inner, options)?);
        }
    }
    Ok(longest)
}

/// The element type in the words of `.npy` files.
fn descr(ty: &Type) -> &'static str {
    use fluvial_core::DType;
    match ty.dtype() {
        DType::Bool => "|b1",
        DType::U8 => "|u1",
        DType::I8 => "|i1",
        DType::I16 => "<i2",
        DType::U16 => "<u2",
        DType::U32 => "<u4",
        DType::U64 => "<u8",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::F16 => "<f2",
        DType::BF16 => "<u2",
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::F8E4M3 | DType::F8E5M2 => "|u1",
        DType::C64 => "<c8",
        DType::C128 => "<c16",
    }
}

/// The file of initial values: a word by which it is known, then the elements of one state after the other.
pub fn weights(values: &[(String, Tensor)]) -> Result<Vec<u8>> {
    let mut bytes = b"FLUVIALC".to_vec();
    for (_, tensor) in values {
        let elements = tensor.as_bytes().ok_or_else(|| Error::internal("a copy has its bytes"))?;
        bytes.extend_from_slice(elements);
        if elements.is_empty() {
            bytes.extend(std::iter::repeat_n(0, tensor.dtype().size()));
        }
    }
    Ok(bytes)
}

fn makefile(options: &Options) -> String {
    let blas = match options.blas {
        Blas::None => "",
        Blas::Cblas => "-lcblas",
        Blas::OpenBlas => "-lopenblas",
        Blas::Mkl => "-lmkl_rt",
    };
    let weights = if options.embed { format!("{}_weights.c", options.name) } else { String::new() };
    include_str!("../c/Makefile")
        .replace("@NAME@", &options.name)
        .replace("@BLAS@", blas)
        .replace("@WEIGHTS@", &weights)
}

fn cmake(options: &Options) -> String {
    let (find, link) = match options.blas {
        Blas::None => ("", ""),
        Blas::Cblas => ("find_library(FL_BLAS cblas REQUIRED)\n", " ${FL_BLAS}"),
        Blas::OpenBlas => ("find_library(FL_BLAS openblas REQUIRED)\n", " ${FL_BLAS}"),
        Blas::Mkl => ("find_library(FL_BLAS mkl_rt REQUIRED)\n", " ${FL_BLAS}"),
    };
    let weights =
        if options.embed { format!(" {}_weights.c", options.name) } else { String::new() };
    include_str!("../c/CMakeLists.txt")
        .replace("@NAME@", &options.name)
        .replace("@FIND@", find)
        .replace("@LINK@", link)
        .replace("@WEIGHTS@", &weights)
}
