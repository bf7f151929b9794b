//! Features of what is not an image or a signal: counts of short runs of words, thresholds, columns.

use fluvial_core::{DType, Dim, Result, Var};
use fluvial_ops as ops;

use super::node::Node;
use super::table::Entry;

const DOMAIN: &str = "ai.onnx.ml";

pub const OPS: &[Entry] = &[
    Entry::one("ArrayFeatureExtractor", 1, |n| {
        let index = ops::cast(&ops::flatten(&n.var(1)?, 0, -1)?, DType::I64)?;
        let found = ops::gather(&n.var(0)?, &index, -1)?;
        // Of one axis, it becomes a row.
        if found.rank() == 1 { ops::unsqueeze(&found, 0) } else { Ok(found) }
    })
    .of(DOMAIN),
    Entry::one("Binarizer", 1, |n| {
        let x = n.var(0)?;
        let threshold = x.literal(n.float("threshold", 0.0));
        ops::cast(&ops::gt(&x, &threshold)?, x.dtype())
    })
    .of(DOMAIN),
    Entry::one("TfIdfVectorizer", 9, count_runs)
        .refuses("texts; rows whose length only the run knows"),
];

/// The runs of one length that are counted.
struct Runs {
    length: usize,
    /// One run after the other.
    words: Vec<i64>,
    /// Where each run is counted.
    places: Vec<i64>,
}

/// How often each run of words of a pool stands in a row, also with as many words left out between any two.
fn count_runs(n: &Node<'_>) -> Result<Var> {
    let x = ops::cast(&n.var(0)?, DType::I64)?;
    let is_one = x.rank() == 1;
    let rows = if is_one { ops::unsqueeze(&x, 0)? } else { x };
    let &[n_rows, columns] = &*rows.dims() else {
        return Err(n.refuse("its input does not have one or two axes"));
    };
    let columns = columns.value().ok_or_else(|| n.refuse("the length of its rows is open"))?;
    let skips = n.int("max_skip_count", 0).clamp(0, columns as i64) as usize;
    let (pool, weights) = pool(n)?;
    let n_places = Dim::size(weights.len());
    let mut all = ops::zeros(&[n_rows, n_places], DType::F32)?;
    for runs in pool {
        let places = Var::of(&runs.places, &[runs.places.len()])?;
        // Between the words of a run of one there is nothing.
        let most = if runs.length == 1 { 1 } else { skips + 1 };
        for distance in 1..=most {
            let starts = columns.saturating_sub((runs.length - 1).saturating_mul(distance));
            if starts == 0 {
                break;
            }
            let found = counted(&rows, &runs, distance, starts)?;
            all = ops::add(&all, &ops::index_add(&found, &places, 1, n_places)?)?;
        }
    }
    let weights = Var::of(&weights, &[weights.len()])?;
    let weighted = match n.string("mode", "TF").as_str() {
        "TF" => all,
        "IDF" => ops::where_(&ops::gt(&all, &all.literal(0.0))?, &weights, &all.literal(0.0))?,
        "TFIDF" => ops::mul(&all, &weights)?,
        other => return Err(n.refuse(format!("`{other}` is not a mode"))),
    };
    if is_one { ops::squeeze(&weighted, &[0]) } else { Ok(weighted) }
}

/// By row and run: how often it stands there with its words so far apart.
fn counted(rows: &Var, runs: &Runs, distance: usize, starts: usize) -> Result<Var> {
    let n_runs = runs.places.len();
    let mut all: Option<Var> = None;
    for i in 0..runs.length {
        let at = ops::narrow(rows, 1, Dim::size(i * distance), Dim::size(starts))?;
        let words: Vec<i64> = runs.words.iter().skip(i).step_by(runs.length).copied().collect();
        let is_it = ops::eq(&ops::unsqueeze(&at, 2)?, &Var::of(&words, &[n_runs])?)?;
        all = Some(match all {
            Some(all) => ops::logical_and(&all, &is_it)?,
            None => is_it,
        });
    }
    let all = all.ok_or_else(|| fluvial_core::Error::internal("a run has no words"))?;
    ops::sum(&ops::cast(&all, DType::F32)?, &[1], false)
}

/// The runs by length, and the weights of the places where they are counted.
fn pool(n: &Node<'_>) -> Result<(Vec<Runs>, Vec<f32>)> {
    let ints = |name: &str| n.ints(name).unwrap_or_default();
    let (words, starts, places) =
        (ints("pool_int64s"), ints("ngram_counts"), ints("ngram_indexes"));
    if n.strings("pool_strings").is_some_and(|texts| !texts.is_empty()) {
        return Err(n.refuse("texts are not elements of tensors here"));
    }
    let most = places.iter().copied().max().unwrap_or(-1);
    if places.iter().any(|&place| place < 0) || most >= 1 << 24 {
        return Err(n.refuse("a place of `ngram_indexes` is out of range"));
    }
    let mut weights = vec![1.0; (most + 1) as usize];
    if let Some(given) = n.floats("weights").filter(|given| !given.is_empty()) {
        if given.len() != places.len() {
            return Err(n.refuse("`weights` has another number of runs than `ngram_indexes`"));
        }
        for (&place, &weight) in places.iter().zip(&given) {
            weights[place as usize] = weight as f32;
        }
    }
    let lengths = n.int("min_gram_length", 1)..=n.int("max_gram_length", 1);
    let (mut all, mut seen) = (Vec::new(), 0);
    for (i, &start) in starts.iter().enumerate() {
        let (length, end) = (i + 1, starts.get(i + 1).copied().unwrap_or(words.len() as i64));
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        let own = range.and_then(|(start, end)| words.get(start..end));
        let own = own.filter(|own| own.len().is_multiple_of(length));
        let count = own.map(|own| own.len() / length);
        let at = count.and_then(|count| places.get(seen..seen + count));
        let (Some(own), Some(at)) = (own, at) else {
            return Err(n.refuse("`ngram_counts` does not fit the pool"));
        };
        seen += at.len();
        if lengths.contains(&(length as i64)) && !at.is_empty() {
            all.push(Runs { length, words: own.to_vec(), places: at.to_vec() });
        }
    }
    Ok((all, weights))
}
