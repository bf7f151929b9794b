//! Sequences of different lengths.

use fluvial_core::{DType, Dim, Result, Var};
use fluvial_ops::{
    self as ops, SequenceConvOptions, SequenceMaskOptions, SequencePoolOptions, SequencePooling,
    WarpctcOptions,
};

use super::arithmetic::out;
use super::call::Call;
use super::index::ids;
use super::table::Entry;
use super::value::Val;

pub const OPS: &[Entry] = &[
    Entry::many("crf_decoding", |c| {
        let (x, lengths) = rows(c, "Emission", "Length")?;
        let path = ops::crf_decoding(&x, &c.var("Transition")?, &lengths)?;
        let path = ops::reshape(&path, &[x.dims()[0], Dim::size(1)])?;
        let path = match c.opt_val("Label") {
            None => path,
            Some(_) => {
                let label = super::value::like(&ids(c, "Label")?, &path.dims())?;
                ops::cast(&ops::eq(&path, &label)?, DType::I64)?
            }
        };
        Ok(vec![("ViterbiPath", vec![Val::Dense(path, c.val("Emission")?.lengths().to_vec())])])
    }),
    Entry::many("linear_chain_crf", |c| {
        let (x, lengths) = rows(c, "Emission", "Length")?;
        let label = ops::flatten(&ids(c, "Label")?, 0, -1)?;
        let cost = ops::linear_chain_crf(&x, &c.var("Transition")?, &label, &lengths)?;
        Ok(vec![("LogLikelihood", vec![cost.into()])])
    }),
    Entry::many("lod_reset", |c| {
        let x = c.var("X")?;
        if let Some(like) = c.opt_val("Y") {
            if !like.lengths().is_empty() {
                return out(Val::Dense(x, like.lengths().to_vec()));
            }
            let lengths = ops::sequence_lengths(&ids(c, "Y")?)?;
            return out(Val::Dense(x, vec![lengths]));
        }
        let offsets = c.ints("target_lod").unwrap_or_default();
        let count = offsets.len();
        let offsets = Var::of(&offsets, &[count])?;
        out(Val::Dense(x, vec![ops::sequence_lengths(&offsets)?]))
    }),
    Entry::one("row_conv", |c| ops::row_conv(&c.var("X")?, &c.lengths("X")?, &c.var("Filter")?)),
    Entry::many("sequence_concat", |c| {
        let (vals, mut lengths) = (c.vals("X"), Vec::new());
        for val in &vals {
            let own = val.lengths().last().cloned();
            lengths.push(own.ok_or_else(|| c.refuse("an input has no sequences"))?);
        }
        let parts = c.vars("X")?;
        let (parts, each): (Vec<&Var>, Vec<&Var>) =
            (parts.iter().collect(), lengths.iter().collect());
        let (found, lengths) = ops::sequence_concat(&parts, &each)?;
        out(Val::Dense(found, vec![lengths]))
    }),
    Entry::one("sequence_conv", |c| {
        if c.int("contextStride", 1) != 1 {
            return Err(c.refuse("`contextStride`"));
        }
        let options = SequenceConvOptions {
            size: c.count("contextLength", 3)?,
            start: Some(c.int("contextStart", 0)),
        };
        let padding = match c.flag("paddingTrainable", false) {
            true => c.opt("PaddingData")?,
            false => None,
        };
        let (x, filter) = (c.var("X")?, c.var("Filter")?);
        ops::sequence_conv(&x, &c.lengths("X")?, &filter, padding.as_ref(), options)
    }),
    Entry::one("sequence_enumerate", |c| {
        let (size, value) = (c.count("win_size", 1)?, c.int("pad_value", 0));
        let x = c.var("X")?;
        let own = x.dtype();
        let flat = ops::flatten(&ids(c, "X")?, 0, -1)?;
        ops::cast(&ops::sequence_enumerate(&flat, &c.lengths("X")?, size, value)?, own)
    }),
    Entry::many("sequence_erase", |c| {
        let x = c.var("X")?;
        let flat = ops::flatten(&ids(c, "X")?, 0, -1)?;
        let tokens = c.ints("tokens").unwrap_or_default();
        let (found, lengths) = ops::sequence_erase(&flat, &c.lengths("X")?, &tokens)?;
        let found = ops::reshape(&found, &[found.dims()[0], Dim::size(1)])?;
        out(Val::Dense(ops::cast(&found, x.dtype())?, vec![lengths]))
    }),
    Entry::many("sequence_expand", |c| {
        let like = c.val("Y")?.lengths();
        let level = match c.int("ref_level", -1) {
            -1 => like.len().checked_sub(1),
            level => usize::try_from(level).ok(),
        };
        let counts = level.and_then(|level| like.get(level));
        let counts = counts.ok_or_else(|| c.refuse("`Y` has no sequences at that level"))?;
        let x = c.var("X")?;
        if let Some(own) = c.val("X")?.lengths().first() {
            let (found, lengths) = ops::sequence_expand(&x, own, counts)?;
            return out(Val::Dense(found, vec![lengths]));
        }
        let found = ops::repeat_interleave_counts(&x, counts, 0)?;
        out(Val::new(found))
    }),
    Entry::many("sequence_expand_as", |c| {
        let (x, like, lengths) = (c.var("X")?, c.var("Y")?, c.lengths("Y")?);
        out(Val::Dense(ops::sequence_expand_as(&x, &like, &lengths)?, vec![lengths]))
    }),
    Entry::to("sequence_mask", "Y", |c| {
        let x = c.var("X")?;
        let steps = match c.known("MaxLenTensor")? {
            Some(tensor) => tensor.to_f64s().first().map(|&steps| steps as usize),
            None => usize::try_from(c.int("maxlen", -1)).ok(),
        };
        let options = SequenceMaskOptions { steps, dtype: c.dtype("out_dtype")? };
        ops::sequence_mask(&ops::cast(&x, DType::I64)?, options)
    }),
    Entry::many("sequence_pad", |c| {
        let (x, lengths, value) = (c.var("X")?, c.lengths("X")?, c.var("PadValue")?);
        let value = match value.dims()[..] {
            [one] if one == Dim::size(1) => ops::reshape(&value, &[])?,
            _ => value,
        };
        let steps = usize::try_from(c.int("padded_length", -1)).ok();
        let found = ops::sequence_pad(&x, &lengths, Some(&value), steps)?;
        Ok(vec![("Out", vec![found.into()]), ("Length", vec![lengths.into()])])
    }),
    Entry::many("sequence_pool", |c| {
        let pool = match c.text("pooltype", "AVERAGE").to_ascii_uppercase().as_str() {
            "AVERAGE" => SequencePooling::Average,
            "SUM" => SequencePooling::Sum,
            "SQRT" => SequencePooling::Sqrt,
            "MAX" => SequencePooling::Max,
            "LAST" => SequencePooling::Last,
            "FIRST" => SequencePooling::First,
            other => return Err(c.refuse(format!("`{other}` is not a pool"))),
        };
        let options = SequencePoolOptions { pool, pad_value: c.float("pad_value", 0.0).into() };
        let found = ops::sequence_pool(&c.var("X")?, &c.lengths("X")?, options)?;
        let levels = c.val("X")?.lengths();
        out(Val::Dense(found, levels[..levels.len() - 1].to_vec()))
    }),
    Entry::many("sequence_reshape", |c| {
        let width = c.count("new_dim", 1)?;
        let (found, lengths) = ops::sequence_reshape(&c.var("X")?, &c.lengths("X")?, width)?;
        out(Val::Dense(found, vec![lengths]))
    }),
    Entry::to("sequence_reverse", "Y", |c| ops::sequence_reverse(&c.var("X")?, &c.lengths("X")?)),
    Entry::one("sequence_scatter", |c| {
        let index = ops::flatten(&ids(c, "Ids")?, 0, -1)?;
        let updates = ops::flatten(&c.var("Updates")?, 0, -1)?;
        ops::sequence_scatter(&c.var("X")?, &index, &updates, &c.lengths("Ids")?)
    }),
    Entry::many("sequence_slice", |c| {
        let (offset, length) = (ids(c, "Offset")?, ids(c, "Length")?);
        let (offset, length) = (ops::flatten(&offset, 0, -1)?, ops::flatten(&length, 0, -1)?);
        let found = ops::sequence_slice(&c.var("X")?, &c.lengths("X")?, &offset, &length)?;
        out(Val::Dense(found, vec![length]))
    }),
    Entry::one("sequence_softmax", |c| {
        let x = c.var("X")?;
        let flat = ops::sequence_softmax(&ops::flatten(&x, 0, -1)?, &c.lengths("X")?)?;
        ops::reshape(&flat, &x.dims())
    }),
    Entry::many("sequence_unpad", |c| {
        let lengths = ops::flatten(&ids(c, "Length")?, 0, -1)?;
        out(Val::Dense(ops::sequence_unpad(&c.var("X")?, &lengths)?, vec![lengths]))
    }),
    Entry::many("warpctc", |c| {
        let options = WarpctcOptions {
            blank: c.count("blank", 0)?,
            norm_by_times: c.flag("norm_by_times", false),
        };
        if c.opt_val("LogitsLength").is_some() {
            return Err(c.refuse("padded sequences"));
        }
        let labels = ops::flatten(&ids(c, "Label")?, 0, -1)?;
        let (logits, steps) = (c.var("Logits")?, c.lengths("Logits")?);
        let loss = ops::warpctc(&logits, &steps, &labels, &c.lengths("Label")?, options)?;
        Ok(vec![("Loss", vec![loss.into()])])
    })
    .refuses("padded sequences"),
];

/// The rows of sequences and their lengths; padded ones are refused.
fn rows(c: &Call<'_>, slot: &str, padded: &str) -> Result<(Var, Var)> {
    match c.opt_val(padded) {
        Some(_) => Err(c.refuse("padded sequences")),
        None => Ok((c.var(slot)?, c.lengths(slot)?)),
    }
}
