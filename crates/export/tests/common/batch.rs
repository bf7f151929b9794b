//! Many exported programs that are compiled apart, linked and run together.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use fluvial_core::{Error, Program, Result, Tensor};
use fluvial_export::Export;

use crate::common::{ALWAYS, Folder, filled, is_narrow, near, shell};

/// A program as C under a name of its own, and what it must give.
pub struct Compiled {
    pub name: String,
    pub exported: Export,
    pub inputs: Vec<(String, Tensor)>,
    /// The sizes that are inputs.
    pub sizes: Vec<(String, usize)>,
    pub expected: Vec<Tensor>,
    /// How far rounding of the inputs moves each of them.
    pub moved: Vec<f64>,
    pub program: Program,
}

/// The bytes that a program says an error in.
const ERROR_BYTES: usize = 256;

/// Compiles the programs with these flags, runs each once, and compares what they give; what is wrong with each.
pub fn together(cases: &[Compiled], flags: &[&str]) -> Result<Vec<Error>> {
    let folder = Folder::new();
    let fault = |error: std::io::Error| Error::program(error.to_string());
    let mut given = Vec::new();
    for case in cases {
        case.exported.write(&folder.0)?;
        for (_, tensor) in &case.inputs {
            given.extend(tensor.contiguous()?.as_bytes().unwrap_or(&[]));
        }
    }
    std::fs::write(folder.0.join("given"), given).map_err(fault)?;
    std::fs::write(folder.0.join("driver.c"), driver(cases)?).map_err(fault)?;
    compiled(cases, flags, &folder.0)?;
    let objects: Vec<String> = cases.iter().map(|case| format!("{}.o", case.name)).collect();
    let mut link = Command::new("gcc");
    link.current_dir(&folder.0).args(ALWAYS).args(flags).args(["-o", "model", "driver.c"]);
    ran(link.args(objects).arg("-lm"))?;
    ran(shell().current_dir(&folder.0))?;
    let found = std::fs::read(folder.0.join("found")).map_err(fault)?;
    let mut at = 0;
    let mut take = |bytes: usize| {
        at += bytes;
        found.get(at - bytes..at).ok_or_else(|| Error::program("results are missing"))
    };
    let mut faults = Vec::new();
    for case in cases {
        let mut judge = || -> Result<()> {
            let said = take(ERROR_BYTES)?;
            let mut fault = match said[0] {
                0 => None,
                _ => Some(Error::program(String::from_utf8_lossy(said).into_owned())),
            };
            for (like, &moved) in case.expected.iter().zip(&case.moved) {
                let result = filled(like, take(like.numel() * like.dtype().size())?)?;
                fault = fault.or(near(&result, like, is_narrow(&case.program), moved).err());
            }
            fault.map_or(Ok(()), Err)
        };
        if let Err(error) = judge() {
            faults.push(error.note(format!("{}: {:#}", case.name, case.program)));
        }
    }
    Ok(faults)
}

/// Compiles each program to an object file, on all cores.
fn compiled(cases: &[Compiled], flags: &[&str], folder: &Path) -> Result<()> {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut gcc = Command::new("gcc");
            gcc.current_dir(folder).args(ALWAYS).args(flags).arg("-c");
            ran(gcc.arg(format!("{}.c", case.name)))?;
        }
        Ok(())
    };
    let n_threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..n_threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a compiler does not panic"))
    })
}

fn ran(command: &mut Command) -> Result<()> {
    let output = command.output().map_err(|error| Error::program(error.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Error::program(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

/// A program in C that runs one after the other: it reads their inputs from one file, and writes to another what went
/// wrong and their outputs. Memory of inputs and outputs is exactly as large as it must be.
fn driver(cases: &[Compiled]) -> Result<String> {
    let mut text = String::from("#include <stdio.h>\n#include <string.h>\n\n");
    for case in cases {
        let _ = writeln!(text, "#include \"{}.h\"", case.name);
    }
    let mut calls = String::new();
    for case in cases {
        let name = &case.name;
        let header = case.exported.text(&format!("{name}.h")).unwrap_or_default();
        let (head, outputs) = header.split_once(&format!("struct {name}_outputs")).unwrap();
        let (_, inputs) = head.split_once(&format!("struct {name}_inputs")).unwrap();
        let (mut memory, mut before, mut after) = (String::new(), String::new(), String::new());
        for (i, (input, tensor)) in case.inputs.iter().enumerate() {
            let bytes = tensor.numel() * tensor.dtype().size();
            let _ = writeln!(memory, "    static _Alignas(64) char in_{i}[{}];", bytes.max(1));
            let field = member(inputs, input)?;
            let _ = writeln!(
                before,
                "    if (fread(in_{i}, 1, {bytes}, from) != {bytes}) return 1;\n    in.{field} = (const void *)in_{i};"
            );
        }
        for (size, number) in &case.sizes {
            let _ = writeln!(before, "    in.{} = {number};", member(inputs, size)?);
        }
        for (i, (output, like)) in case.program.outputs.iter().zip(&case.expected).enumerate() {
            let bytes = like.numel() * like.dtype().size();
            let _ = writeln!(memory, "    static _Alignas(64) char out_{i}[{}];", bytes.max(1));
            let _ = writeln!(before, "    out.{} = (void *)out_{i};", member(outputs, output)?);
            let _ = writeln!(after, "    fwrite(out_{i}, 1, {bytes}, to);");
        }
        let _ = write!(
            text,
            "
static int run_{name}(FILE *from, FILE *to) {{
    static {name}_arena arena;
    static {name}_state state;
    {name}_inputs in;
    {name}_outputs out;
{memory}    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    (void)from;
    if ({name}_load(&state, \"{name}.bin\") != 0) return 1;
{before}    {name}_run(&state, &in, &out, &arena);
    fwrite(arena.error, 1, {ERROR_BYTES}, to);
{after}    return 0;
}}
"
        );
        let _ = writeln!(calls, "    failed = failed || run_{name}(from, to);");
    }
    let _ = write!(
        text,
        "
int main(void) {{
    FILE *from = fopen(\"given\", \"rb\"), *to = fopen(\"found\", \"wb\");
    int failed = from == NULL || to == NULL;
{calls}    return failed || fclose(to) != 0 || fclose(from) != 0;
}}
"
    );
    Ok(text)
}

/// The member of a struct that stands for a name, by the comment beside it.
fn member<'a>(fields: &'a str, name: &str) -> Result<&'a str> {
    let found = fields.lines().find_map(|line| {
        let (field, comment) = line.split_once("; // ")?;
        let (told, _) = comment.split_once(": ").unwrap_or((comment, ""));
        (told == name).then(|| field.rsplit([' ', '*']).next()).flatten()
    });
    found.ok_or_else(|| Error::program(format!("the header has no `{name}`")))
}
