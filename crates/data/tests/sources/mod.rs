//! Sources and functions that the tests of readers share.
#![allow(dead_code, reason = "each test file uses some of them")]

use std::sync::{Arc, Once};

use fluvial_data::reader::{Arrays, Function, register_dataset, register_function};
use fluvial_data::reader::{register_predicate, register_stream};
use fluvial_data::{Dataset, Field, Reader, Sample, Samples, Stream};
use fluvial_tensor::{Result, Tensor, Type};

/// The samples `0..n` in a field `x`, with the square in a field `y` of another type.
pub fn numbers(n: i64) -> Reader {
    Reader::of(number_arrays(n)).unwrap()
}

pub fn number_arrays(n: i64) -> [(&'static str, Tensor); 2] {
    let x = Tensor::from_vec((0..n).collect(), &[n as usize]).unwrap();
    let y = Tensor::from_vec((0..n).map(|i| (i * i) as f32).collect(), &[n as usize, 1]).unwrap();
    [("x", x), ("y", y)]
}

pub fn field(name: &str, ty: &str) -> Field {
    Field { name: name.into(), ty: Type::parse(ty).unwrap() }
}

/// As `numbers`, one after another; pass `e` starts at `e`.
pub struct Counting {
    pub fields: Vec<Field>,
    pub n: i64,
}

impl Counting {
    pub fn new(n: i64) -> Arc<Counting> {
        Arc::new(Counting { fields: vec![field("x", "i64[]"), field("y", "f32[1]")], n })
    }
}

impl Stream for Counting {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn start(&self, epoch: u64) -> Result<Samples> {
        let first = epoch as i64;
        Ok(Box::new((first..first + self.n).map(|i| {
            let y = Tensor::full(&[1], (i * i) as f32)?;
            Ok(vec![Tensor::scalar(i), y])
        })))
    }
}

/// Sequences: sample `i` has `1 + 5*i % 7` elements `i` in a field `s`, and `i` in a field `x`.
pub struct Sequences {
    fields: Vec<Field>,
    n: u64,
}

impl Sequences {
    pub fn new(n: u64) -> Arc<Sequences> {
        Arc::new(Sequences { fields: vec![field("s", "i64[n]"), field("x", "i64[]")], n })
    }

    pub fn size(i: u64) -> usize {
        1 + (5 * i % 7) as usize
    }
}

impl Dataset for Sequences {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn len(&self) -> u64 {
        self.n
    }

    fn gather(&self, numbers: &[u64]) -> Result<Vec<Tensor>> {
        unreachable!("samples of different sizes are not gathered: {numbers:?}")
    }

    fn get(&self, number: u64) -> Result<Sample> {
        self.check(number)?;
        let s = Tensor::full(&[Sequences::size(number)], number as i64)?;
        Ok(vec![s, Tensor::scalar(number as i64)])
    }
}

/// Registers what readers of the tests name.
pub fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        register_dataset("numbers", Arc::new(Arrays::new(number_arrays(23)).unwrap()));
        register_dataset("others", Arc::new(Arrays::new(number_arrays(9)).unwrap()));
        register_dataset("sequences", Sequences::new(23));
        register_stream("counting", Counting::new(19));
        register_function("negate", Arc::new(Function { call: Box::new(negate), fields: None }));
        register_predicate(
            "odd",
            Arc::new(|sample: &[Tensor]| {
                Ok(sample[sample.len() - 1].to_f64s().iter().sum::<f64>() as i64 % 2 != 0)
            }),
        );
    });
}

fn negate(sample: Sample) -> Result<Sample> {
    sample
        .iter()
        .map(|x| {
            let values: Vec<f64> = x.to_f64s().iter().map(|x| -x).collect();
            Tensor::from_f64s(x.dtype(), &values, x.dims())
        })
        .collect()
}

/// The elements of a field in each result of the first pass.
pub fn seen(reader: &Reader, field: usize) -> Vec<Vec<f64>> {
    let open = reader.open().unwrap_or_else(|error| panic!("{reader}: {error}"));
    let results: Result<Vec<Sample>> = open.iter_from(Default::default()).unwrap().collect();
    let results = results.unwrap_or_else(|error| panic!("{reader}: {error}"));
    results.iter().map(|sample| sample[field].to_f64s()).collect()
}

/// The same for a reader given as text, all results in one list.
pub fn all(text: &str) -> Vec<i64> {
    register();
    seen(&text.parse().unwrap(), 0).concat().iter().map(|&x| x as i64).collect()
}
