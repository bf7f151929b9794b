//! The files of a program as CUDA C++.

use std::collections::HashSet;
use std::fmt::Write;
use std::ops::Range;

use fluvial_core::{Error, Result, Tensor};

use crate::block::Emit;
use crate::files::{Written, weights};
use crate::place::c_type;
use crate::sizes::symbol_in_c;
use crate::{Blas, Export, Options, prelude};

/// What the source in CUDA has besides its code.
#[derive(Default)]
pub struct Parts {
    /// The lines that bring constants to the device.
    constants: String,
    constant_bytes: usize,
}

/// So many pointers fit among the arguments of a kernel.
const MOST_POINTERS: usize = 400;

/// Refuses what is only for C.
pub fn check(options: &Options) -> Result<()> {
    if options.embed {
        return Err(Error::argument("initial values are not embedded in CUDA")
            .remedy("leave `embed` out: a file beside the source has them"));
    }
    if options.blas != Blas::None {
        return Err(Error::argument("in CUDA, products of matrices are always those of cuBLAS")
            .remedy("leave `blas` out"));
    }
    Ok(())
}

/// The kernels, and the function that starts them.
pub fn code(
    emit: &mut Emit<'_>,
    ranges: &[Range<usize>],
    options: &Options,
) -> Result<(String, Parts)> {
    let pointers = emit.inputs.len();
    if pointers > MOST_POINTERS {
        return Err(Error::program(format!(
            "a program of {pointers} inputs cannot be exported to CUDA"
        ))
        .remedy(format!("give it at most {MOST_POINTERS}")));
    }
    let name = &options.name;
    let body = std::mem::take(&mut emit.to).into_text();
    let sizes: Vec<(String, &str, usize)> = options
        .sizes
        .iter()
        .filter(|size| size.is_bound)
        .map(|size| (symbol_in_c(&size.name), &*size.name, size.number))
        .collect();
    let (arrays, offsets, parts) = constants(emit, &body)?;
    let declared = |text: &str| {
        let words: HashSet<&str> = words(text).collect();
        let mut lines = String::new();
        for (c, _, _) in sizes.iter().filter(|(c, _, _)| words.contains(&**c)) {
            let _ = writeln!(lines, "    const int64_t {c} = fl.{c};");
        }
        for (buffer, range) in emit.buffers.iter().zip(ranges) {
            if words.contains(&*buffer.name) {
                let _ = writeln!(
                    lines,
                    "    {c} *const {n} = ({c} *)(void *)(fl.at + {start}); // {ty}",
                    c = buffer.c_type,
                    n = buffer.name,
                    start = range.start,
                    ty = buffer.ty
                );
            }
        }
        for (constant, c, start) in offsets.iter().filter(|(name, _, _)| words.contains(&**name)) {
            let _ = writeln!(
                lines,
                "    const {c} *const {constant} = (const {c} *)(const void *)(fl.constants + {start});"
            );
        }
        lines
    };
    let mut kernels = String::new();
    for kernel in &emit.kernels {
        let _ = write!(
            kernels,
            "{}\nstatic __global__ void {}(const fl_run fl) {{\n    if (fl.told->is) return;\n{}{}}}\n\n",
            kernel.about,
            kernel.name,
            declared(&kernel.body),
            kernel.body
        );
    }
    let mut run = format!(
        "int {name}_run({name}_device *device, const {name}_inputs *in, {name}_outputs *out) {{\n    int failed = 0;\n"
    );
    run.push_str(
        "    const fl_run fl = {device->arena, device->constants, device->state, *in, *out, (fl_told *)device->fault,\n",
    );
    run.push_str("                       device->stream, device->blas, &failed");
    sizes.iter().for_each(|(c, _, _)| run.push_str(&format!(", in->{c}")));
    run.push_str("};\n");
    run.push_str(
        "    FL_ASK(cudaMemsetAsync(device->fault, 0, sizeof(fl_told), device->stream));\n",
    );
    for (c, size, bound) in &sizes {
        let _ = write!(
            run,
            "    if (fl.{c} < 0 || fl.{c} > {bound}) {{\n        snprintf(device->error, sizeof device->error, \"{size}: is not between 0 and {bound}\");\n        return 1;\n    }}\n"
        );
    }
    run.push_str(&declared(&body));
    run.push_str(&body);
    run.push_str("    return fl_went_wrong(fl, device);\n}\n");
    let templates = emit.sources.text();
    let scalars = prelude::scalars(&format!("{templates}{kernels}"));
    let mut code = prelude::on_device(&format!("{scalars}{templates}"));
    code.push_str(&arrays);
    code.push('\n');
    code.push_str(&kernels);
    code.push_str(&run);
    Ok((code, parts))
}

/// The constants that are used as arrays of the host, where each is on the device, and the lines that bring it there.
fn constants(
    emit: &Emit<'_>,
    body: &str,
) -> Result<(String, Vec<(String, &'static str, usize)>, Parts)> {
    let mut all = body.to_string();
    emit.kernels.iter().for_each(|kernel| all.push_str(&kernel.body));
    let used: HashSet<&str> = words(&all).collect();
    let (mut arrays, mut offsets, mut lines, mut at) =
        (String::new(), Vec::new(), String::new(), 0);
    for (name, tensor) in emit.constants.named().filter(|(name, _)| used.contains(&**name)) {
        let _ = writeln!(arrays, "// {}", tensor.ty());
        arrays.push_str(&crate::constants::array(
            "static const",
            &format!("{name}_first"),
            tensor,
        )?);
        let _ = writeln!(
            lines,
            "    if (status == cudaSuccess) status = cudaMemcpy(device->constants + {at}, {name}_first, sizeof {name}_first, cudaMemcpyHostToDevice);"
        );
        offsets.push((name, c_type(tensor.dtype()), at));
        at += (tensor.numel() * tensor.dtype().size()).max(1).next_multiple_of(64);
    }
    Ok((arrays, offsets, Parts { constants: lines, constant_bytes: at.max(64) }))
}

/// The words of a text, but for those of comments and of texts within it.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| {
        let (mut is_text, mut is_escaped) = (false, false);
        line.split(move |c: char| {
            let was_text = is_text;
            is_text ^= c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            was_text || !(c.is_ascii_alphanumeric() || c == '_')
        })
    })
}

/// All files.
pub fn files(written: &Written, values: &[(String, Tensor)], options: &Options) -> Result<Export> {
    let name = &options.name;
    let [states, inputs, outputs] = written.fields(options)?;
    let [load, save] = written.reads_and_writes();
    let bytes = written.arena_bytes.to_string();
    let constant_bytes = written.device.constant_bytes.to_string();
    let upper = name.to_uppercase();
    let filled = |text: &str| {
        let mut text = text.to_string();
        for (mark, value) in [
            ("@STATES@", &states.replace("_Alignas", "alignas")),
            ("@INPUTS@", &inputs),
            ("@OUTPUTS@", &outputs),
            ("@BYTES@", &bytes),
            ("@LOAD@", &load),
            ("@SAVE@", &save),
            ("@CONSTANTS@", &written.device.constants),
            ("@CONSTANT_BYTES@", &constant_bytes),
            ("@UPPER@", &upper),
            ("@CODE@", &written.code),
            ("@NAME@", name),
        ] {
            text = text.replace(mark, value);
        }
        text
    };
    // The names of sizes are fields of what a run has to do with, too.
    let fields: String = options
        .sizes
        .iter()
        .filter(|size| size.is_bound)
        .map(|size| format!("    int64_t {};\n", symbol_in_c(&size.name)))
        .collect();
    let source = include_str!("../c/source.cu").replace("@SIZES@", &fields);
    Ok(Export {
        files: vec![
            (format!("{name}.h"), filled(include_str!("../c/device.h")).into_bytes()),
            (format!("{name}.cu"), filled(&source).into_bytes()),
            ("main.cu".into(), written.main(options)?.into_bytes()),
            ("Makefile".into(), filled(include_str!("../c/Makefile.cuda")).into_bytes()),
            (
                "CMakeLists.txt".into(),
                filled(include_str!("../c/CMakeLists.cuda.txt")).into_bytes(),
            ),
            (format!("{name}.bin"), weights(values)?),
        ],
        arena_bytes: written.arena_bytes,
    })
}
