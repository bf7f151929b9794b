//! Whole shaders, for the kinds of work that devices are asked to do.

use std::collections::BTreeSet;
use std::fmt::Write;

use fluvial_core::DType;
use fluvial_core::device::{Given, Span, Task, Work};
use fluvial_core::{Elements, Shader};
use fluvial_kernels::Reduce;

use crate::elements::{computed, converted, instructions, literal, loaded, stored};

const SCALARS: &str = include_str!("scalars.wgsl");
const WIDE: &str = include_str!("wide.wgsl");

/// How many threads run one piece of work that they share.
pub const LANES: u32 = 64;

/// How many threads stand together where each has a piece of its own.
pub const THREADS: u32 = 256;

/// Reductions of more elements than this are shared by threads.
const LONG: usize = 128;

/// How far work may be counted in one direction.
pub const MOST_GROUPS: u32 = 65_535;

/// A shader, and what it is run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The text.
    pub text: String,
    /// Sizes, steps and numbers.
    pub params: Vec<u32>,
    /// How many groups of threads there are.
    pub groups: u32,
}

/// How elements of a type stand in memory; nothing, if devices have none.
pub fn in_memory(dtype: DType) -> Option<&'static str> {
    match dtype {
        DType::F32 => Some("f32"),
        DType::I32 => Some("i32"),
        DType::I64 => Some("vec2<u32>"),
        DType::Bool | DType::U8 => Some("u32"),
        _ => None,
    }
}

/// The shader for some work; nothing, if there is none. `wide` says whether the device computes with whole numbers of 64 bits.
pub fn form(work: &Work<'_>, wide: bool) -> Option<Form> {
    let mut made = Maker::default();
    for (name, spans) in [("x", work.inputs), ("y", work.outs)] {
        for (i, span) in spans.iter().enumerate() {
            made.bind(&format!("{name}{i}"), span.dtype, name == "y")?;
        }
    }
    match &work.task {
        Task::Elementwise { of, dims } => made.elementwise(of, dims, work, wide)?,
        Task::Reduce { of, kind, meeting, dims, reduced } => {
            made.reduce(*of, *kind, *meeting, dims, reduced, work, wide)?;
        }
        Task::Call { shader, types, args, fails } => {
            made.call(shader, types, args, *fails, work.outs.len())?;
        }
    }
    made.finish()
}

#[derive(Default)]
struct Maker {
    heads: String,
    body: String,
    params: Vec<u32>,
    n_bound: usize,
    /// How many pieces of work there are.
    count: u64,
    is_shared: bool,
}

/// Axes that are gone through together, and how far apart neighbours are by span.
struct Nest {
    dims: Vec<usize>,
    steps: Vec<Vec<isize>>,
}

impl Nest {
    /// The chosen axes without those of one element, and with neighbours as one where they can be.
    fn new(dims: &[usize], spans: &[&Span], chosen: impl Fn(usize) -> bool) -> Nest {
        let mut nest = Nest { dims: Vec::new(), steps: vec![Vec::new(); spans.len()] };
        for axis in (0..dims.len()).filter(|&axis| chosen(axis) && dims[axis] != 1) {
            let size = dims[axis];
            let fits = nest.dims.last().is_some()
                && spans
                    .iter()
                    .zip(&nest.steps)
                    .all(|(span, steps)| steps.last() == Some(&(span.steps[axis] * size as isize)));
            if fits && let Some(last) = nest.dims.last_mut() {
                *last *= size;
                for (steps, span) in nest.steps.iter_mut().zip(spans) {
                    steps.pop();
                    steps.push(span.steps[axis]);
                }
                continue;
            }
            nest.dims.push(size);
            nest.steps.iter_mut().zip(spans).for_each(|(steps, span)| steps.push(span.steps[axis]));
        }
        nest
    }

    fn count(&self) -> usize {
        self.dims.iter().product()
    }
}

impl Maker {
    fn bind(&mut self, name: &str, dtype: DType, written: bool) -> Option<()> {
        let access = if written { "read_write" } else { "read" };
        let ty = in_memory(dtype)?;
        self.n_bound += 1;
        let at = self.n_bound;
        let _ = writeln!(
            self.heads,
            "@group(0) @binding({at}) var<storage, {access}> {name}: array<{ty}>;"
        );
        Some(())
    }

    /// A number that is given when the shader runs.
    fn param(&mut self, value: u32) -> String {
        // The first two are the count and a spare one.
        self.params.push(value);
        format!("p[{}]", self.params.len() + 1)
    }

    fn line(&mut self, text: &str) {
        self.body.push_str(text);
        self.body.push('\n');
    }

    /// Lines that take a counter apart into a place along each axis: `c0`, `c1` …
    fn places(&mut self, counter: &str, prefix: &str, nest: &Nest) {
        let rank = nest.dims.len();
        self.line(&format!("var {prefix}_rest = {counter};"));
        for axis in (0..rank).rev() {
            if axis == 0 {
                self.line(&format!("let {prefix}0 = {prefix}_rest;"));
                break;
            }
            let size = self.param(nest.dims[axis] as u32);
            self.line(&format!(
                "let {prefix}{axis} = {prefix}_rest % {size}; {prefix}_rest = {prefix}_rest / {size};"
            ));
        }
    }

    /// Where an element of a span is.
    fn offset(&mut self, span: Option<&Span>, parts: &[(&str, &[isize])]) -> String {
        let mut text = match span {
            Some(span) => self.param(span.first as u32),
            None => "0u".into(),
        };
        for (prefix, steps) in parts {
            for (axis, &step) in steps.iter().enumerate() {
                let step = self.param(step as i32 as u32);
                let _ = write!(text, " + {prefix}{axis} * {step}");
            }
        }
        text
    }

    fn elementwise(
        &mut self,
        of: &Elements,
        dims: &[usize],
        work: &Work<'_>,
        wide: bool,
    ) -> Option<()> {
        let spans: Vec<&Span> = work.inputs.iter().chain(work.outs).collect();
        if !wide && spans.iter().any(|span| span.dtype == DType::I64) {
            return None;
        }
        let nest = Nest::new(dims, &spans, |_| true);
        self.count = nest.count() as u64;
        self.line("fn each(i: u32) {");
        self.places("i", "c", &nest);
        for (k, span) in spans.iter().enumerate() {
            let offset = self.offset(Some(span), &[("c", &nest.steps[k])]);
            self.line(&format!("let a{k} = {offset};"));
        }
        let load = |k: usize| {
            let dtype = work.inputs[k].dtype;
            converted(&loaded(&format!("x{k}[a{k}]"), dtype), dtype, of.compute)
        };
        let results = self.compute(of, wide, load)?;
        for (k, (out, result)) in work.outs.iter().zip(&results).enumerate() {
            let value = stored(&converted(result, of.compute, out.dtype), out.dtype);
            self.line(&format!("y{k}[a{}] = {value};", work.inputs.len() + k));
        }
        self.line("}");
        Some(())
    }

    fn compute(
        &mut self,
        of: &Elements,
        wide: bool,
        load: impl Fn(usize) -> String,
    ) -> Option<Vec<String>> {
        let mut lines = Vec::new();
        let results = instructions(&mut lines, of, wide, load, |value| {
            format!("of_bits({})", self.param(value.to_bits()))
        })?;
        lines.iter().for_each(|line| self.line(line));
        Some(results)
    }

    fn reduce(
        &mut self,
        of: Option<(&Elements, DType)>,
        kind: Reduce,
        meeting: DType,
        dims: &[usize],
        reduced: &[bool],
        work: &Work<'_>,
        wide: bool,
    ) -> Option<()> {
        let out = &work.outs[0];
        let has_wide = work.inputs.iter().chain(work.outs).any(|span| span.dtype == DType::I64);
        if has_wide && !wide {
            return None;
        }
        let ty = computed(meeting, wide)?;
        let spans: Vec<&Span> = work.inputs.iter().chain(work.outs).collect();
        let (kept, along) = (
            Nest::new(dims, &spans, |axis| !reduced[axis]),
            Nest::new(dims, &spans[..work.inputs.len()], |axis| reduced[axis]),
        );
        let n = along.count();
        self.count = kept.count() as u64;
        self.is_shared = n > LONG;
        self.line(&format!("fn element(i: u32, j: u32) -> {ty} {{"));
        self.places("i", "c", &kept);
        self.places("j", "d", &along);
        for (k, span) in work.inputs.iter().enumerate() {
            let offset = self.offset(Some(span), &[("c", &kept.steps[k]), ("d", &along.steps[k])]);
            self.line(&format!("let a{k} = {offset};"));
        }
        // What is asked is only whether a number is one.
        let wanted = match kind {
            Reduce::Any | Reduce::All => DType::Bool,
            _ => meeting,
        };
        let load = |k: usize, to: DType| {
            let dtype = work.inputs[k].dtype;
            converted(&loaded(&format!("x{k}[a{k}]"), dtype), dtype, to)
        };
        let value = match of {
            None => load(0, wanted),
            Some((of, element)) => {
                let results = self.compute(of, wide, |k| load(k, of.compute))?;
                let rounded = converted(&results[0], of.compute, element);
                converted(&rounded, element, wanted)
            }
        };
        self.line(&format!("return {value};\n}}"));
        let least = |dtype| match dtype {
            DType::F32 => Some("-infinity()".to_string()),
            DType::I64 => Some("i64(-9223372036854775807li) - 1li".into()),
            DType::I32 => literal(f64::from(i32::MIN), DType::I32),
            _ => Some("0u".into()),
        };
        let most = |dtype| match dtype {
            DType::F32 => Some("infinity()".to_string()),
            DType::I64 => Some("9223372036854775807li".into()),
            DType::I32 => literal(f64::from(i32::MAX), DType::I32),
            _ => Some("255u".into()),
        };
        let (first, both) = match kind {
            Reduce::Sum if meeting == DType::U8 => ("0u".into(), "((a + b) & 255u)".into()),
            Reduce::Prod if meeting == DType::U8 => ("1u".into(), "((a * b) & 255u)".into()),
            Reduce::Sum => (literal(0.0, meeting)?, "a + b".to_string()),
            Reduce::Prod => (literal(1.0, meeting)?, "a * b".into()),
            Reduce::Any => ("0u".into(), "a | b".into()),
            Reduce::All => ("1u".into(), "a & b".into()),
            Reduce::Max | Reduce::Min => {
                let name = if kind == Reduce::Max { "max" } else { "min" };
                let prefix = if meeting == DType::F32 { "fl_" } else { "" };
                let first = if kind == Reduce::Max { least(meeting)? } else { most(meeting)? };
                (first, format!("{prefix}{name}(a, b)"))
            }
        };
        self.line(&format!("fn both(a: {ty}, b: {ty}) -> {ty} {{ return {both}; }}"));
        // A sum keeps what rounding takes away.
        let careful = kind == Reduce::Sum && meeting == DType::F32;
        let step = match careful {
            true => {
                "let v = element(i, j) - lost; let now = sum + v; \
                     if (is_finite(now)) { lost = (now - sum) - v; } sum = now;"
            }
            false => "sum = both(sum, element(i, j));",
        };
        let count = self.param(n as u32);
        let lost = if careful { "var lost = 0.0;" } else { "" };
        let (from, by) = if self.is_shared { ("lane", "LANES") } else { ("0u", "1u") };
        match self.is_shared {
            true => {
                self.line(&format!("var<workgroup> part: array<{ty}, LANES>;"));
                self.line("fn group(i: u32, lane: u32) {");
            }
            false => self.line("fn each(i: u32) {"),
        }
        self.line(&format!("var sum: {ty} = {first}; {lost}"));
        self.line(&format!("for (var j = {from}; j < {count}; j += {by}) {{ {step} }}"));
        if self.is_shared {
            self.line(
                "part[lane] = sum; workgroupBarrier();\n\
                 for (var half = LANES / 2u; half > 0u; half = half / 2u) {\n\
                 if (lane < half) { part[lane] = both(part[lane], part[lane + half]); }\n\
                 workgroupBarrier();\n}\n\
                 if (lane > 0u) { return; }\nsum = part[0];",
            );
        }
        self.places("i", "c", &kept);
        let offset = self.offset(Some(out), &[("c", &kept.steps[work.inputs.len()])]);
        let value = stored(&converted("sum", meeting, out.dtype), out.dtype);
        self.line(&format!("y0[{offset}] = {value};\n}}"));
        Some(())
    }

    fn call(
        &mut self,
        shader: &Shader,
        types: &[DType],
        args: &[Given],
        fails: bool,
        n_outs: usize,
    ) -> Option<()> {
        let mut names: Vec<(String, String)> = Vec::new();
        for (given, name) in args.iter().zip(shader.args) {
            let has = !matches!(given, Given::Nothing);
            names.push((format!("has_{name}"), has.to_string()));
            let text = match given {
                Given::In(k) => format!("x{k}"),
                Given::Out(k) => format!("y{k}"),
                Given::Int(number) => {
                    let fits = i32::try_from(*number).map(|number| number as u32);
                    format!("i32({})", self.param(fits.or(u32::try_from(*number)).ok()?))
                }
                Given::Number(number) => {
                    let rest = (*number - f64::from(*number as f32)) as f32;
                    let rest = format!("of_bits({})", self.param(rest.to_bits()));
                    names.push((format!("{name}_rest"), rest));
                    format!("of_bits({})", self.param((*number as f32).to_bits()))
                }
                Given::Ints(numbers) => {
                    // The first one comes behind what there is so far.
                    let at = self.params.len() + 2;
                    for &number in numbers {
                        self.param(i32::try_from(number).ok()? as u32);
                    }
                    let _ = writeln!(
                        self.heads,
                        "fn ints_{name}(i: i32) -> i32 {{ return i32(p[{at}u + u32(i)]); }}"
                    );
                    format!("ints_{name}")
                }
                Given::Nothing => "none".into(),
            };
            names.push(((*name).into(), text));
        }
        for (dtype, name) in types.iter().zip(["T", "U"]) {
            if let Some(ty) = computed(*dtype, false) {
                names.push((name.into(), ty.into()));
            }
        }
        if fails {
            let _ = writeln!(self.heads, "fn fail() {{ y{}[0] = 1; }}", n_outs - 1);
        }
        self.is_shared = shader.text.contains("fn group(");
        self.count = u64::try_from((shader.count)(args)).ok()?;
        let text = filled(shader.text, &names)?;
        self.line(&text);
        Some(())
    }

    fn finish(self) -> Option<Form> {
        let Maker { heads, body, params, count, is_shared, .. } = self;
        let threads = if is_shared { LANES } else { THREADS };
        let (name, index) = match is_shared {
            true => ("group(i, lane)", "g.x + g.y * MOST"),
            false => ("each(i)", "(g.x + g.y * MOST) * THREADS + lane"),
        };
        // Places are counted in 32 bits.
        if count > u64::from(i32::MAX as u32) {
            return None;
        }
        let groups = if is_shared { count } else { count.div_ceil(u64::from(THREADS)) } as u32;
        if groups > MOST_GROUPS * MOST_GROUPS {
            return None;
        }
        let mut text = format!(
            "const LANES = {LANES}u;\nconst THREADS = {THREADS}u;\nconst MOST = {MOST_GROUPS}u;\n\
             @group(0) @binding(0) var<storage, read> p: array<u32>;\n{heads}\
             var<private> none: array<f32, 1>;\n"
        );
        if is_shared {
            text.push_str("var<workgroup> lanes_part: array<f32, LANES>;\n");
        }
        let main = format!(
            "{body}@compute @workgroup_size({threads})\n\
             fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{\n\
             let i = {index};\nif (i >= p[0]) {{ return; }}\n{name};\n}}\n"
        );
        text.push_str(&used(&main));
        text.push_str(&main);
        let params = [count as u32, 0].into_iter().chain(params).collect();
        Some(Form { text, params, groups })
    }
}

/// The functions of the preludes that a text uses, and those that they use.
fn used(code: &str) -> String {
    let parts: Vec<(&str, String)> = [SCALARS, WIDE]
        .into_iter()
        .flat_map(|text| {
            text.split("\nfn ").enumerate().map(|(i, part)| {
                let part = if i == 0 { part.trim_start_matches("fn ") } else { part };
                (part.split('(').next().unwrap_or(""), format!("fn {part}\n"))
            })
        })
        .collect();
    let mut taken = vec![false; parts.len()];
    let mut texts = vec![code.to_string()];
    while let Some(text) = texts.pop() {
        let words: BTreeSet<&str> =
            text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect();
        for (i, (name, part)) in parts.iter().enumerate() {
            if !taken[i] && words.contains(name) {
                taken[i] = true;
                texts.push(part.clone());
            }
        }
    }
    parts
        .iter()
        .zip(taken)
        .filter(|(_, taken)| *taken)
        .map(|((_, part), _)| part.as_str())
        .collect()
}

/// A text with names filled in; nothing, if one is unknown.
fn filled(text: &str, names: &[(String, String)]) -> Option<String> {
    let mut parts = text.split('$');
    let mut out = parts.next()?.to_string();
    for part in parts {
        let end = part.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let (name, rest) = part.split_at(end.unwrap_or(part.len()));
        let (_, value) = names.iter().find(|(known, _)| known == name)?;
        out.push_str(value);
        out.push_str(rest);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fluvial_kernels::Body;
    use smallvec::SmallVec;

    use super::*;

    fn span(first: usize, steps: &[isize]) -> Span {
        Span { memory: Arc::new(()), dtype: DType::F32, first, steps: steps.into() }
    }

    fn made(dims: &[usize], body: Body, inputs: &[Span], outs: &[Span]) -> Form {
        let of = Elements { body: Arc::new(body), compute: DType::F32, params: SmallVec::new() };
        let task = Task::Elementwise { of: &of, dims };
        form(&Work { task, inputs, outs }, false).expect("every device has this")
    }

    #[test]
    fn neighbouring_axes_are_one_where_they_can_be() {
        let (x, y) = (span(3, &[12, 4, 1]), span(0, &[12, 4, 1]));
        let whole = made(&[2, 3, 4], Body::unary(|x| x + 1.0), &[x], std::slice::from_ref(&y));
        // Count, a spare one, and first element and step of both.
        assert_eq!(whole.params, [24, 0, 3, 1, 0, 1]);
        let turned = made(&[2, 3, 4], Body::unary(|x| x + 1.0), &[span(0, &[1, 8, 2])], &[y]);
        assert_eq!(turned.params, [24, 0, 12, 0, 1, 2, 0, 12, 1]);
        assert_eq!((whole.groups, turned.groups), (1, 1));
    }

    #[test]
    fn one_text_serves_all_sizes() {
        let of = |n: usize| {
            let (x, y) = (span(0, &[1]), span(0, &[1]));
            made(&[n], Body::unary(|x| x.tanh()), &[x], &[y])
        };
        let (a, b) = (of(5), of(100_000));
        assert_eq!(a.text, b.text);
        assert_eq!(b.groups, 391);
        assert!(a.text.contains("fn fl_expm1") && !a.text.contains("fn fl_erf"));
    }

    #[test]
    fn names_of_arguments_are_filled_in() {
        let names = [("x".to_string(), "x0".to_string()), ("has_x".into(), "true".into())];
        let text = filled("if ($has_x) { $x[i] }", &names);
        assert_eq!(text.as_deref(), Some("if (true) { x0[i] }"));
        assert_eq!(filled("$y[0]", &names), None);
    }
}
