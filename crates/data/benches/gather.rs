//! Batches of shuffled samples of MNIST's size, from the page cache and from chunks in memory.
//!
//! `cargo bench -p fluvial-data`; prints GB/s of batches, the best of several passes.

use std::hint::black_box;
use std::time::Instant;

use fluvial_data::formats::Input;
use fluvial_data::formats::records::{Cache, Compression, Options, Records, Writer};
use fluvial_data::{Dataset, Field, files};
use fluvial_tensor::{DType, Tensor, Type};

const N_RECORDS: usize = 60_000;
const BATCH: usize = 128;

fn main() {
    let folder = std::env::temp_dir().join(format!("fluvial-bench-{}", std::process::id()));
    files::set_root(Some(&folder));
    println!("{:6} {:8} {:>12} {:>12}", "dtype", "stored", "first pass", "next passes");
    for dtype in [DType::U8, DType::F32] {
        for compression in [Compression::None, Compression::Snappy, Compression::Zstd] {
            let path = "mnist.rec";
            write(path, dtype, compression);
            let mut first = f64::INFINITY;
            let mut next = f64::INFINITY;
            for _ in 0..4 {
                let cache = Cache::new(Cache::DEFAULT);
                let records = Records::with_cache(Input::open(path).unwrap(), cache).unwrap();
                first = first.min(pass(&records, 0));
                next = (1..15).map(|epoch| pass(&records, epoch)).fold(next, f64::min);
            }
            let bytes = (N_RECORDS * (784 * dtype.size() + 8)) as f64 / 1e9;
            let name = format!("{compression:?}").to_lowercase();
            println!("{:6} {name:8} {:7.2} GB/s {:7.2} GB/s", dtype, bytes / first, bytes / next);
        }
    }
    std::fs::remove_dir_all(&folder).ok();
}

fn write(path: &str, dtype: DType, compression: Compression) {
    let field = |name: &str, ty| Field { name: name.into(), ty };
    let fields = vec![
        field("image", Type::of(dtype, &[784]).unwrap()),
        field("label", Type::scalar(DType::I64)),
    ];
    let options = Options { compression, ..Options::default() };
    let mut writer = Writer::create(path, fields, options).unwrap();
    for i in 0..N_RECORDS {
        // Most of a digit is background.
        let pixel = |k: usize| if k % 28 < 20 { 0.0 } else { ((i * 31 + k * 17) % 251) as f64 };
        let values: Vec<f64> = (0..784).map(pixel).collect();
        let image = Tensor::from_f64s(dtype, &values, &[784]).unwrap();
        writer.write(&[&image, &Tensor::scalar((i % 10) as i64)]).unwrap();
    }
    writer.finish().unwrap();
}

/// The seconds that it takes to read all records in a shuffled order.
fn pass(records: &Records, epoch: u64) -> f64 {
    let mut order: Vec<u64> = (0..N_RECORDS as u64).collect();
    let mut state = 88_172_645_463_325_252_u64 + epoch;
    for i in (1..order.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(i, (state % (i as u64 + 1)) as usize);
    }
    let start = Instant::now();
    for numbers in order.chunks(BATCH) {
        black_box(records.gather(numbers).unwrap());
    }
    start.elapsed().as_secs_f64()
}
