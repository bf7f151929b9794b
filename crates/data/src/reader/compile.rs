//! From descriptions to nodes: what is opened, found and checked.

use std::sync::Arc;

use fluvial_tensor::{DType, Dim, Error, Number, Result, Type};

use super::each::{Each, Padding, scaled};
use super::node::{Node, Op, field_of, phases};
use super::{Pad, Reader, Source, Stage, host};
use crate::formats;
use crate::source::Field;

/// Opens a reader.
pub(super) fn compile(reader: &Reader) -> Result<Arc<Node>> {
    reader.check_depth()?;
    let mut node = source(reader.source())?;
    for stage in reader.stages() {
        let noted = |error: Error| error.note(format!("in the stage `{stage}` of a reader"));
        stage.check().map_err(noted)?;
        node = add(Arc::new(node), stage).map_err(noted)?;
    }
    Ok(Arc::new(node))
}

fn source(source: &Source) -> Result<Node> {
    match source {
        Source::Files { format, paths, settings } => {
            let dataset = formats::open(format, paths, settings)?;
            Ok(leaf(dataset.fields().to_vec(), Some(dataset.len()), Op::Dataset(dataset)))
        }
        Source::Memory(named) => {
            let dataset = host::find_dataset(named)?;
            let leaf = leaf(dataset.fields().to_vec(), Some(dataset.len()), Op::Dataset(dataset));
            Ok(Node { is_fixed: true, ..leaf })
        }
        Source::Stream(named) => {
            let stream = host::find_stream(named)?;
            Ok(leaf(stream.fields().to_vec(), None, Op::Stream(stream)))
        }
        Source::Zip(readers) => zip(inputs(readers, "zip")?),
        Source::Interleave(readers) => interleave(inputs(readers, "interleave")?),
    }
}

fn leaf(fields: Vec<Field>, len: Option<u64>, op: Op) -> Node {
    Node { pads: vec![None; fields.len()], fields, len, is_threaded: false, is_fixed: false, op }
}

fn inputs(readers: &[Reader], name: &str) -> Result<Vec<Arc<Node>>> {
    match readers.is_empty() {
        true => Err(Error::argument(format!("`{name}` has no readers"))),
        false => readers.iter().map(compile).collect(),
    }
}

fn zip(nodes: Vec<Arc<Node>>) -> Result<Node> {
    let mut fields: Vec<Field> = Vec::new();
    for field in nodes.iter().flat_map(|node| &node.fields) {
        let mut field = field.clone();
        // What was called by its number within one input is called by that within all.
        if field.name.parse::<usize>().is_ok() {
            field.name = fields.len().to_string().into();
        }
        if fields.iter().any(|other| other.name == field.name) {
            return Err(Error::argument(format!(
                "two readers of `zip` have a field `{}`",
                field.name
            ))
            .remedy("rename one of them"));
        }
        fields.push(field);
    }
    let lens: Option<Vec<u64>> = nodes.iter().map(|node| node.len).collect();
    let len = lens.as_ref().map(|lens| lens[0]);
    if let Some(other) = lens.iter().flatten().find(|&&other| Some(other) != len) {
        return Err(Error::argument(format!(
            "readers of `zip` have {} and {other} results in a pass",
            len.unwrap_or(0)
        ))
        .remedy("shorten the longer one by `take`"));
    }
    Ok(Node {
        fields,
        pads: nodes.iter().flat_map(|node| node.pads.clone()).collect(),
        len,
        is_threaded: nodes.iter().any(|node| node.is_threaded),
        is_fixed: nodes.iter().all(|node| node.is_fixed),
        op: Op::Zip(nodes),
    })
}

fn interleave(nodes: Vec<Arc<Node>>) -> Result<Node> {
    let first = &nodes[0];
    let (mut fields, pads) = (first.fields.clone(), first.pads.clone());
    for node in &nodes[1..] {
        let alike = |(a, b): (&Field, &Field)| {
            a.name == b.name && a.ty.dtype() == b.ty.dtype() && a.ty.rank() == b.ty.rank()
        };
        let all = node.fields.len() == fields.len()
            && node.pads == pads
            && fields.iter().zip(&node.fields).all(alike);
        if !all {
            return Err(Error::argument(format!(
                "readers of `interleave` have different fields: {} and {}",
                show(&fields),
                show(&node.fields)
            ))
            .remedy("make them equal by `select`, `rename` and `cast`"));
        }
        for (i, (field, other)) in fields.iter_mut().zip(&node.fields).enumerate() {
            field.ty = common(field.ty, other.ty, i)?;
        }
    }
    let lens: Option<Vec<u64>> = nodes.iter().map(|node| node.len).collect();
    let len = match &lens {
        Some(lens) => {
            Some(counted(lens.iter().try_fold(0, |sum: u64, &len| sum.checked_add(len)))?)
        }
        None => None,
    };
    let phases = phases(&lens.unwrap_or_default());
    let is_threaded = nodes.iter().any(|node| node.is_threaded);
    let is_fixed = nodes.iter().all(|node| node.is_fixed);
    Ok(Node { fields, pads, len, is_threaded, is_fixed, op: Op::Interleave(nodes, phases) })
}

/// The type of both: sizes that differ become symbols.
fn common(a: Type, b: Type, field: usize) -> Result<Type> {
    let dims = a.dims().iter().zip(b.dims()).enumerate().map(|(axis, (&a, &b))| match a == b {
        true => Ok(a),
        false => Dim::symbol(&format!("size_{field}_{axis}")),
    });
    a.with_dims(&dims.collect::<Result<Vec<Dim>>>()?)
}

fn show(fields: &[Field]) -> String {
    let fields: Vec<String> =
        fields.iter().map(|field| format!("`{}`: {}", field.name, field.ty)).collect();
    fields.join(", ")
}

fn counted(n: Option<u64>) -> Result<u64> {
    n.ok_or_else(|| Error::argument("a pass has more results than can be counted"))
}

/// A node whose results are those of its input, or fewer, or more, or in another order.
fn same(input: &Arc<Node>, len: Option<u64>, op: Op) -> Node {
    let (fields, pads) = (input.fields.clone(), input.pads.clone());
    Node { fields, pads, len, is_threaded: input.is_threaded, is_fixed: input.is_fixed, op }
}

fn add(input: Arc<Node>, stage: &Stage) -> Result<Node> {
    let len = input.len;
    Ok(match stage {
        Stage::Shuffle { seed, buffer } => match (len, *buffer) {
            (Some(_), _) => same(&input.clone(), len, Op::Permute { input, seed: *seed }),
            (None, Some(buffer)) => {
                same(&input.clone(), None, Op::Window { input, seed: *seed, buffer })
            }
            (None, None) => {
                return Err(Error::argument(
                    "results that come one after another are shuffled within a window",
                )
                .remedy("say how many are held: `shuffle(seed, buffer=1000)`"));
            }
        },
        Stage::Batch { size, drop_last } => {
            let n_batches = len.map(|len| match drop_last {
                true => len / size,
                false => len.div_ceil(*size),
            });
            let fields = batched(&input, rows(&input, *size, *drop_last)?)?;
            let op = Op::Batch { input: input.clone(), size: *size, drop_last: *drop_last };
            made(&input, fields, n_batches, op)
        }
        Stage::Bucket { size, field, sizes, drop_last } => {
            bucket(input, *size, field, sizes, *drop_last)?
        }
        Stage::Prefetch(n) => {
            let ahead = *n as usize;
            Node { is_threaded: true, ..same(&input.clone(), len, Op::Prefetch { input, ahead }) }
        }
        Stage::Filter(named) => {
            let keeps = host::find_predicate(named)?;
            same(&input.clone(), None, Op::Filter { input, keeps })
        }
        Stage::Take(n) => {
            let op = Op::Slice { input: input.clone(), start: 0, limit: *n };
            same(&input, len.map(|len| len.min(*n)), op)
        }
        Stage::Skip(n) => {
            let op = Op::Slice { input: input.clone(), start: *n, limit: u64::MAX };
            same(&input, len.map(|len| len.saturating_sub(*n)), op)
        }
        Stage::Repeat(times) => {
            let len = len.map(|len| counted(len.checked_mul(*times))).transpose()?;
            same(&input.clone(), len, Op::Repeat { input, times: *times })
        }
        Stage::Shard { rank, world } => {
            let op = Op::Shard { input: input.clone(), rank: *rank, world: *world };
            same(&input, len.map(|len| len / world), op)
        }
        Stage::ShardOfRun { of } => {
            let ranks = fluvial_dist::current();
            let (rank, world) = (ranks.rank() as u64, of.unwrap_or(ranks.world() as u64));
            if rank >= world {
                return Err(Error::argument(format!(
                    "rank {rank} is none of the {world} that read"
                )));
            }
            let op = Op::Shard { input: input.clone(), rank, world };
            same(&input, len.map(|len| len / world), op)
        }
        Stage::Cast { .. }
        | Stage::Scale { .. }
        | Stage::Select(_)
        | Stage::Rename { .. }
        | Stage::Map(_)
        | Stage::Pad(_)
        | Stage::Image { .. } => each(input, stage)?,
    })
}

/// A node with fields of its own, of which none is to be lengthened any more.
fn made(input: &Node, fields: Vec<Field>, len: Option<u64>, op: Op) -> Node {
    let (is_threaded, is_fixed) = (input.is_threaded, input.is_fixed);
    Node { pads: vec![None; fields.len()], fields, len, is_threaded, is_fixed, op }
}

/// How many samples are in each batch. Files may have another number of samples when a saved program runs, so
/// theirs is open even if the last batch is a whole one now.
fn rows(input: &Node, size: u64, drop_last: bool) -> Result<Dim> {
    let constant = |n: u64| Ok(Dim::size(n as usize));
    match input.len.filter(|_| input.is_fixed) {
        _ if drop_last => constant(size),
        Some(len) if len > 0 && len % size == 0 => constant(size),
        Some(len) if len > 0 && len < size => constant(len),
        _ => free_symbol(input),
    }
}

/// `batch`, or if a size is called so, `batch_2` and so on.
fn free_symbol(input: &Node) -> Result<Dim> {
    let dims = input.fields.iter().flat_map(|field| field.ty.dims());
    let taken: Vec<Dim> = dims.flat_map(|dim| dim.symbols()).collect();
    let (mut symbol, mut number) = (Dim::symbol("batch")?, 1);
    while taken.contains(&symbol) {
        number += 1;
        symbol = Dim::symbol(&format!("batch_{number}"))?;
    }
    Ok(symbol)
}

fn batched(input: &Node, rows: Dim) -> Result<Vec<Field>> {
    let stacked = |field: &Field| {
        let dims: Vec<Dim> = std::iter::once(rows).chain(field.ty.dims().iter().copied()).collect();
        Ok(Field { name: field.name.clone(), ty: field.ty.with_dims(&dims)? })
    };
    input.fields.iter().map(stacked).collect()
}

fn bucket(
    input: Arc<Node>,
    size: u64,
    field: &str,
    sizes: &[u64],
    drop_last: bool,
) -> Result<Node> {
    let at = input.field(field)?;
    if input.fields[at].ty.rank() == 0 {
        return Err(Error::shape(format!("field `{field}` has no first axis to sort by")));
    }
    let rows = match drop_last {
        true => Dim::size(size as usize),
        false => free_symbol(&input)?,
    };
    let fields = batched(&input, rows)?;
    let op = Op::Bucket { input: input.clone(), size, field: at, sizes: sizes.to_vec(), drop_last };
    Ok(made(&input, fields, None, op))
}

/// Stages that make one result of one.
fn each(input: Arc<Node>, stage: &Stage) -> Result<Node> {
    let (mut fields, mut pads) = (input.fields.clone(), input.pads.clone());
    let each = match stage {
        Stage::Cast { field, dtype } => {
            let field = input.field(field)?;
            fields[field].ty = fields[field].ty.with_dtype(*dtype);
            Each::Cast { field, dtype: *dtype }
        }
        Stage::Scale { field, factor, offset } => {
            let field = input.field(field)?;
            fields[field].ty = fields[field].ty.with_dtype(scaled(fields[field].ty.dtype()));
            Each::Scale { field, factor: *factor, offset: *offset }
        }
        Stage::Select(names) => {
            let picked: Vec<usize> =
                names.iter().map(|name| input.field(name)).collect::<Result<_>>()?;
            if let Some(twice) = (1..picked.len()).find(|&i| picked[..i].contains(&picked[i])) {
                return Err(Error::argument(format!(
                    "the field `{}` is named twice",
                    names[twice]
                )));
            }
            fields = picked.iter().map(|&field| input.fields[field].clone()).collect();
            pads = picked.iter().map(|&field| input.pads[field]).collect();
            Each::Select(picked)
        }
        Stage::Rename { from, to } => {
            let field = input.field(from)?;
            fields[field].name = to.clone();
            check_names(&fields)?;
            Each::Rename
        }
        Stage::Map(named) => {
            let function = host::find_function(named)?;
            if let Some(results) = &function.fields {
                fields = results.clone();
                pads = vec![None; fields.len()];
                check_names(&fields)?;
            }
            Each::Map { function, name: named.name().into() }
        }
        Stage::Pad(pad) => Each::Pad(padding(&mut fields, &mut pads, pad)?),
        Stage::Image { field: name, edit } => {
            let field = input.field(name)?;
            fields[field].ty = edit.infer(name, fields[field].ty)?;
            pads[field] = None;
            Each::Image { field, edit: edit.clone() }
        }
        _ => return Err(Error::internal("a stage of one result each was expected")),
    };
    let (len, is_threaded, is_fixed) = (input.len, input.is_threaded, input.is_fixed);
    let op = Op::Each { input, each: Arc::new(each) };
    Ok(Node { fields, pads, len, is_threaded, is_fixed, op })
}

fn check_names(fields: &[Field]) -> Result<()> {
    let twice =
        (1..fields.len()).find(|&i| fields[..i].iter().any(|field| field.name == fields[i].name));
    match twice {
        None => Ok(()),
        Some(i) => Err(Error::argument(format!("two fields are called `{}`", fields[i].name))),
    }
}

fn padding(fields: &mut Vec<Field>, pads: &mut Vec<Option<f64>>, pad: &Pad) -> Result<Padding> {
    let differs = |field: &Field| field.ty.dims().first().is_some_and(|dim| dim.is_symbolic());
    let picked: Vec<usize> = match pad.fields.is_empty() {
        true => (0..fields.len()).filter(|&i| differs(&fields[i])).collect(),
        false => pad.fields.iter().map(|name| field_of(fields, name)).collect::<Result<_>>()?,
    };
    let Some(&first) = picked.first() else {
        return Err(Error::argument("no field differs in its first size")
            .remedy("name the fields to pad, or leave the stage out"));
    };
    let before = fields[first].ty.dim(0);
    for &i in &picked {
        let ty = fields[i].ty;
        if ty.rank() == 0 {
            return Err(Error::shape(format!("field `{}` has no axis to pad", fields[i].name)));
        }
        let mut dims = ty.dims().to_vec();
        dims[0] = padded(dims[0], pad)?;
        fields[i].ty = ty.with_dims(&dims)?;
        let held = Number::from(pad.value).check(ty.dtype());
        held.map_err(|error| error.note(format!("the padding of field `{}`", fields[i].name)))?;
        pads[i] = Some(pad.value);
    }
    if let Some(name) = &pad.length {
        fields.push(Field { name: name.clone(), ty: Type::scalar(DType::I64) });
        pads.push(None);
    }
    if let Some(name) = &pad.mask {
        let ty = Type::new(DType::Bool, &[padded(before, pad)?])?;
        fields.push(Field { name: name.clone(), ty });
        pads.push(Some(0.0));
    }
    check_names(fields)?;
    Ok(Padding {
        fields: picked,
        size: pad.size,
        multiple: pad.multiple,
        value: pad.value,
        length: pad.length.is_some(),
        mask: pad.mask.is_some(),
    })
}

/// The size that follows from padding.
fn padded(before: Dim, pad: &Pad) -> Result<Dim> {
    match (pad.size, pad.multiple, before.value()) {
        (Some(size), _, Some(n)) if n as u64 > size => {
            Err(Error::shape(format!("sequences of {n} elements cannot be padded to {size}"))
                .remedy("pad to a larger size"))
        }
        (Some(size), ..) => Ok(Dim::size(size as usize)),
        (None, Some(multiple), Some(n)) => {
            let size = (n as u64).checked_next_multiple_of(multiple);
            counted(size).map(|size| Dim::size(size as usize))
        }
        // Rounded up: another size than that of fields which are not padded.
        (None, Some(multiple), None) => {
            let m = Dim::size(multiple as usize);
            before.add(Dim::size(multiple as usize - 1))?.floor_div(m)?.mul(m)
        }
        (None, None, _) => Ok(before),
    }
}
