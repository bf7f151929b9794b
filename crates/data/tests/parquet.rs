//! Parquet and Arrow files.
#![cfg(feature = "parquet")]

mod common;
#[path = "common/exercise.rs"]
mod exercise;

use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Int64Array, ListArray, RecordBatch,
    StringArray, UInt64Array,
};
use common::{Rng, settings, shown, texts};
use fluvial_data::Dataset;
use fluvial_data::formats::{Input, Settings, open_inputs};
use fluvial_tensor::Result;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

const N: i64 = 50;

fn batch() -> RecordBatch {
    let pair = |i: i64| Some(vec![Some(i), Some(-i)]);
    let columns: [(&str, ArrayRef); 6] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..N))),
        (
            "x",
            Arc::new(
                (0..N).map(|i| (i % 7 != 3).then_some(i as f32 / 2.0)).collect::<Float32Array>(),
            ),
        ),
        (
            "text",
            Arc::new(StringArray::from_iter_values((0..N).map(|i| "ab".repeat(i as usize % 4)))),
        ),
        ("flag", Arc::new((0..N).map(|i| Some(i % 2 == 0)).collect::<BooleanArray>())),
        (
            "pair",
            Arc::new(FixedSizeListArray::from_iter_primitive::<Int64Type, _, _>(
                (0..N).map(pair),
                2,
            )),
        ),
        (
            "list",
            Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(
                (0..N).map(|i| Some((0..i % 3).map(Some).collect::<Vec<_>>())),
            )),
        ),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn parquet_file(batch: &RecordBatch) -> Vec<u8> {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(20)).build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn arrow_file(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = arrow_ipc::writer::FileWriter::try_new(&mut bytes, &batch.schema()).unwrap();
    for start in [0, 20, 40] {
        writer.write(&batch.slice(start, 20.min(N as usize - start))).unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    bytes
}

fn open(format: &str, bytes: &[u8], settings: &Settings) -> Result<Arc<dyn Dataset>> {
    open_inputs(format, vec![Input::memory("x", bytes.to_vec())], settings)
}

#[test]
fn columns_are_fields() {
    for (format, bytes) in [("parquet", parquet_file(&batch())), ("arrow", arrow_file(&batch()))] {
        let data = open(format, &bytes, &Settings::new()).unwrap();
        let expected = [
            "id: i64[]",
            "x: f32[]",
            "text: u8[length2]",
            "flag: bool[]",
            "pair: i64[2]",
            "list: i64[length5]",
        ];
        assert_eq!(shown(data.fields()), expected);
        assert_eq!(data.len(), N as u64);
        for i in (0..N).rev() {
            let row = data.get(i as u64).unwrap();
            assert_eq!(row[0].item::<i64>().unwrap(), i);
            let x = row[1].item::<f32>().unwrap();
            assert!(if i % 7 == 3 { x.is_nan() } else { x == i as f32 / 2.0 });
            assert_eq!(row[2].to_vec::<u8>().unwrap(), "ab".repeat(i as usize % 4).into_bytes());
            assert_eq!(row[3].item::<bool>().unwrap(), i % 2 == 0);
            assert_eq!(row[4].to_vec::<i64>().unwrap(), [i, -i]);
            assert_eq!(row[5].to_vec::<i64>().unwrap(), (0..i % 3).collect::<Vec<_>>());
        }
        let chosen = settings(&[("columns", texts(&["pair", "id"]))]);
        let data = open(format, &bytes, &chosen).unwrap();
        let batch = data.gather(&[45, 3, 21]).unwrap();
        assert_eq!(batch[0].to_vec::<i64>().unwrap(), [45, -45, 3, -3, 21, -21]);
        assert_eq!(batch[1].to_vec::<i64>().unwrap(), [45, 3, 21]);
        let missing = settings(&[("columns", texts(&["y"]))]);
        let error = open(format, &bytes, &missing).err().unwrap().to_string();
        assert!(error.contains("there is no column `y`\n  remedy: it has: id, x,"), "{error}");
    }
}

#[test]
fn what_no_tensor_holds_is_refused() {
    let column: ArrayRef = Arc::new(UInt64Array::from(vec![1]));
    let bytes = parquet_file(&RecordBatch::try_from_iter([("big", column)]).unwrap());
    let error = open("parquet", &bytes, &Settings::new()).err().unwrap().to_string();
    assert!(error.contains("the column `big` is UInt64, which no tensor holds"), "{error}");
    let column: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let bytes = parquet_file(&RecordBatch::try_from_iter([("id", column)]).unwrap());
    let data = open("parquet", &bytes, &Settings::new()).unwrap();
    let error = data.get(0).unwrap_err().to_string();
    assert!(error.contains("column `id`: number 1 is missing"), "{error}");
}

#[test]
fn damaged_files_are_refused() {
    let mut rng = Rng::new(5);
    for (format, bytes) in [("parquet", parquet_file(&batch())), ("arrow", arrow_file(&batch()))] {
        for at in (0..bytes.len()).step_by(31) {
            assert!(!exercise::dataset(format, &bytes[..at], &Settings::new()), "{at}");
        }
        for _ in 0..300 {
            let mut damaged = bytes.clone();
            let at = rng.below(damaged.len());
            damaged[at] ^= 1 << rng.below(8);
            exercise::dataset(format, &damaged, &Settings::new());
        }
    }
}
